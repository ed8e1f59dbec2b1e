"""What the tests of the ONNX importer share: models of a few nodes, written and compared."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator


def node(kind, *inputs, outputs=("y",), **attributes):
    return helper.make_node(kind, list(inputs), list(outputs), **attributes)


def model(nodes, shape, constants=None, *, opset=17, kind=TensorProto.DOUBLE, output="y"):
    initializers = [numpy_helper.from_array(v, k) for k, v in (constants or {}).items()]
    graph = helper.make_graph(
        nodes if isinstance(nodes, list) else [nodes],
        "g",
        [helper.make_tensor_value_info("x", kind, shape)],
        [helper.make_tensor_value_info(output, kind, None)],
        initializers,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def ints(*numbers):
    return np.array(numbers, dtype=np.int64)


def write(made, tmp_path):
    onnx.save(made, tmp_path / "m.onnx")
    return tmp_path / "m.onnx"


def assert_same(network, made, shape, rng, tolerance=1e-9):
    points = rng.normal(size=(4, *shape)) * 2
    session = ReferenceEvaluator(made)
    expected = np.stack([np.ravel(session.run(None, {"x": p})[0]) for p in points])
    got = network(points.reshape(4, -1))
    np.testing.assert_allclose(
        got, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max()
    )
