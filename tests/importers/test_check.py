"""The comparison after every import, and importers broken on purpose."""

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper
from sklearn.neural_network import MLPRegressor

from tropicell import Network, from_onnx, from_sklearn, from_torch
from tropicell.errors import ImportMismatchError, ModelImportError
from tropicell.importers import lowering, sklearn
from tropicell.importers.check import compare
from tropicell.importers.onnx import handlers as onnx_handlers
from tropicell.importers.torch import handlers as torch_handlers

NETWORK = Network.mlp([[[1.0], [-1.0]], [[1.0, 1.0]]])


def test_small_differences_are_found():
    for factor, agree in ((1.0, True), (1 + 1e-12, True), (1 + 1e-8, False)):
        run = lambda x, f=factor: np.abs(x) * f  # noqa: E731
        if agree:
            compare(NETWORK, run, what="m", tolerance=1e-9)
        else:
            with pytest.raises(ImportMismatchError, match="differ by"):
                compare(NETWORK, run, what="m", tolerance=1e-9)


def test_small_outputs_are_compared_relatively():
    tiny = Network.mlp([[[1e-9], [-1e-9]], [[1.0, 1.0]]])
    with pytest.raises(ImportMismatchError):
        compare(tiny, lambda x: np.abs(x) * 1.1e-9, what="m", tolerance=1e-4)


def test_wrong_number_of_outputs_and_bad_numbers():
    with pytest.raises(ImportMismatchError, match="2 outputs"):
        compare(NETWORK, lambda x: np.hstack([x, x]), what="m", tolerance=1e-9)
    with pytest.raises(ModelImportError, match="nan"):
        compare(NETWORK, lambda x: x * np.nan, what="m", tolerance=1e-9)


def broken(real):
    """A handler that gets the largest entry slightly wrong."""

    def handler(builder, *rest):
        value = real(builder, *rest)
        value.bias = value.bias + 1e-6
        return value

    return handler


def test_broken_torch_importer(monkeypatch):
    handlers = torch_handlers.registry.handlers
    monkeypatch.setitem(handlers, "relu", broken(handlers["relu"]))
    with pytest.raises(ImportMismatchError, match=r"module Sequential.*differ by 1e-06"):
        from_torch(torch.nn.Sequential(torch.nn.ReLU()), torch.zeros(1, 2))


def test_broken_onnx_importer(monkeypatch, tmp_path):
    value = lambda n: helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 2])  # noqa: E731
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])], "g", [value("x")], [value("y")]
    )
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), tmp_path / "m.onnx")
    handlers = onnx_handlers.registry.handlers
    monkeypatch.setitem(handlers, "Relu", broken(handlers["Relu"]))
    with pytest.raises(ImportMismatchError, match=r"m\.onnx"):
        from_onnx(tmp_path / "m.onnx")


def test_broken_sklearn_importer(monkeypatch):
    x = np.linspace(-1, 1, 20).reshape(-1, 1)
    estimator = MLPRegressor(hidden_layer_sizes=(3,), solver="lbfgs", tol=1.0, random_state=0)
    estimator.fit(x, x.ravel())
    monkeypatch.setattr(sklearn, "matmul", lambda a, b: lowering.matmul(a, b * 1.001))
    with pytest.raises(ImportMismatchError, match="MLPRegressor"):
        from_sklearn(estimator)
