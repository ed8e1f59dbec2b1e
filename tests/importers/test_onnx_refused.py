"""What `from_onnx` refuses, and says why: operators, hostile and damaged files."""

import numpy as np
import pytest
from onnx import TensorProto

import tropicell
from onnx_models import ints, model, node, write
from tropicell import from_onnx
from tropicell.errors import (
    InvalidInputError,
    MissingDependencyError,
    ModelFileError,
    ModelImportError,
    UnsupportedOperatorError,
    WeakComparisonWarning,
)
from tropicell.importers.onnx import importer as front_end
from tropicell.importers.operators import REFUSED

UNARY = sorted({s for row in REFUSED for s in row.onnx} | {"SomethingNew", "GridSample"})


@pytest.mark.parametrize("operator", UNARY)
def test_refused_by_name(operator, tmp_path):
    with pytest.raises(UnsupportedOperatorError) as caught:
        from_onnx(write(model(node(operator, "x"), (1, 3)), tmp_path))
    assert caught.value.operator == operator
    assert len(caught.value.advice) > 10


@pytest.mark.parametrize(
    ("nodes", "operator"),
    [
        (node("Mul", "x", "x"), "Mul"),
        (node("Div", "b", "x"), "Div"),
        (node("MatMul", "x", "x"), "MatMul"),
        (node("Gemm", "x", "x"), "Gemm"),
        (node("Where", "x", "x", "x"), "Where"),
        (node("Gather", "b", "x"), "Gather"),
        (node("Shrink", "x"), "Shrink"),
        (node("TopK", "x", "k", sorted=0), "TopK"),
        (node("Cast", "x", to=TensorProto.INT64), "Cast"),
        (node("Relu", "x", domain="my.ops"), "my.ops::Relu"),
        (node("Pow", "x", "k"), "Pow"),
        (node("Pow", "b", "x"), "Pow"),
        (
            [
                node("TopK", "x", "k", outputs=["v", "i"]),
                node("Cast", "i", outputs=["j"], to=TensorProto.DOUBLE),
                node("Neg", "j"),
            ],
            "Cast",
        ),
        (
            [node("DequantizeLinear", "k", "b", outputs=["w"]), node("Add", "x", "w")],
            "DequantizeLinear",
        ),
        (
            node("BatchNormalization", "x", "b", "b", "b", "b", training_mode=1),
            "BatchNormalization (training mode)",
        ),
        (
            node("BatchNormalization", "x", "b", "b", "b", "b", outputs=["y", "mean", "variance"]),
            "BatchNormalization (training mode)",
        ),
        (node("RNN", "x", "b", "b"), "RNN"),
        (node("TopK", "x", "k", outputs=["values", "y"]), "positions as the output 'y'"),
    ],
)
def test_refused_use_of_an_operator(nodes, operator, tmp_path):
    with pytest.raises(UnsupportedOperatorError) as caught:
        from_onnx(write(model(nodes, (3, 3), {"b": np.ones(3), "k": ints(2)}), tmp_path))
    assert caught.value.operator == operator


def test_nan_weights_are_refused_by_name(tmp_path):
    made = model(node("Add", "x", "bad"), (1, 2), {"bad": np.array([1.0, np.nan])})
    with pytest.raises(ModelImportError, match=r"'bad' is not a number at \(1,\)"):
        from_onnx(write(made, tmp_path))
    made = model(node("Add", "x", "bad"), (1, 2), {"bad": np.array([1.0, np.inf])})
    with pytest.raises(ModelImportError, match="inf"):
        from_onnx(write(made, tmp_path))


def test_inputs_of_unknown_shape(tmp_path):
    with pytest.raises(ModelImportError, match="unknown length"):
        from_onnx(write(model(node("Relu", "x"), (1, "n")), tmp_path))


@pytest.mark.parametrize(
    ("nodes", "shape", "constants"),
    [
        (node("Relu", "x"), (1, 10**12), {}),
        (
            [node("ConstantOfShape", "s", outputs=["c"]), node("Add", "x", "c")],
            (1, 2),
            {"s": ints(10**6, 10**6)},
        ),
        (node("Expand", "x", "s"), (1, 2), {"s": ints(10**6, 10**6, 2)}),
        (node("Tile", "x", "s"), (1, 2), {"s": ints(10**6, 10**6)}),
        (node("Pad", "x", "s"), (1, 2), {"s": ints(0, 0, 10**9, 10**9)}),
    ],
)
def test_huge_claims_are_refused(nodes, shape, constants, tmp_path):
    with pytest.raises(ModelImportError, match="too large"):
        from_onnx(write(model(nodes, shape, constants), tmp_path))


def test_huge_tensor_claim(tmp_path):
    made = model(node("Add", "x", "b"), (1, 2), {"b": np.ones(2)})
    made.graph.initializer[0].dims[:] = [10**7, 10**7]
    with pytest.raises(ModelFileError, match="claims the shape"):
        from_onnx(write(made, tmp_path))
    made.graph.initializer[0].dims[:] = [100]
    with pytest.raises(ModelFileError, match="can't be read"):
        from_onnx(write(made, tmp_path))


def external(location):
    made = model(node("Add", "x", "b"), (1, 2), {"b": np.ones(2)})
    tensor = made.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    return made


@pytest.mark.posix
def test_external_data(tmp_path):
    folder = tmp_path / "inner"
    folder.mkdir()
    (tmp_path / "secret.bin").write_bytes(np.ones(2).tobytes())
    (folder / "good.bin").write_bytes(np.array([1.0, 2.0]).tobytes())
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    assert from_onnx(write(external("good.bin"), folder))([[0.0, 0.0]]).tolist() == [[1.0, 2.0]]
    for location in ("../secret.bin", str(tmp_path / "secret.bin"), "link.bin"):
        with pytest.raises(ModelFileError, match="outside the model's folder"):
            from_onnx(write(external(location), folder))
    with pytest.raises(ModelFileError, match="missing"):
        from_onnx(write(external("no.bin"), folder))


@pytest.mark.parametrize("content", [b"", b"garbage" * 20, b"\x00" * 64, b"<html>"])
def test_garbage(content, tmp_path):
    (tmp_path / "m.onnx").write_bytes(content)
    with pytest.raises(ModelFileError, match=r"m\.onnx"):
        tropicell.load(tmp_path / "m.onnx")


def test_truncated(tmp_path):
    made = model(node("MatMul", "x", "w"), (1, 3), {"w": np.ones((3, 4))}).SerializeToString()
    for length in range(1, len(made), 37):
        (tmp_path / "m.onnx").write_bytes(made[:length])
        with pytest.raises((ModelFileError, ModelImportError)):
            tropicell.load(tmp_path / "m.onnx")


def test_old_operator_sets_are_refused(tmp_path):
    with pytest.raises(ModelImportError, match="version_converter"):
        from_onnx(write(model(node("Relu", "x"), (1, 2), opset=6), tmp_path))


def test_without_onnxruntime_the_reference_evaluator_is_used(tmp_path, monkeypatch):
    real = front_end.require

    def require(name, **keywords):
        if name == "onnxruntime":
            raise MissingDependencyError("no onnxruntime")
        return real(name, **keywords)

    monkeypatch.setattr(front_end, "require", require)
    path = write(model(node("Relu", "x"), (1, 2), kind=TensorProto.FLOAT), tmp_path)
    assert from_onnx(path).depth == 1
    monkeypatch.setattr(front_end, "_reference", lambda *arguments: None)
    with pytest.raises(ModelImportError, match="can't be run"):
        from_onnx(path)


def test_a_model_that_runs_in_float32_only_is_reported(tmp_path, monkeypatch):
    real = front_end._runtime

    def in_float32(wanted, given, kind, problems):
        if kind is np.float64:
            problems.append("no kernel in float64")
            return None
        return real(wanted, given, kind, problems)

    monkeypatch.setattr(front_end, "_runtime", in_float32)
    monkeypatch.setattr(front_end, "_reference", lambda *arguments: None)
    path = write(model(node("Relu", "x"), (1, 2), kind=TensorProto.FLOAT), tmp_path)
    with pytest.warns(WeakComparisonWarning, match=r"no kernel in float64.*0\.001 only"):
        assert from_onnx(path).depth == 1


@pytest.mark.parametrize("nodes", [node("Gemm", "x"), node("MaxPool", "x")])
def test_what_is_missing_is_said(nodes, tmp_path):
    with pytest.raises(ModelImportError, match="that is not optional is missing"):
        from_onnx(write(model(nodes, (1, 2, 3, 3)), tmp_path))


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        (node("Gemm", "x", "c"), "it takes matrices"),
        (node("ConvTranspose", "x", "c", kernel_shape=[3, 3]), "kernel_shape"),
        (node("Conv", "x", "c", auto_pad="BEST"), "auto_pad is 'BEST'"),
        (node("AveragePool", "x", kernel_shape=[2, 2], pads=[3, 3, 3, 3]), "the mean of nothing"),
        (node("Resize", "x", "", "", "s"), "too large"),
    ],
)
def test_what_does_not_fit_is_said(nodes, said, tmp_path):
    constants = {"c": np.ones((2, 2, 2, 2)), "s": ints(1, 2, 2**40, 2)}
    with pytest.raises(ModelImportError, match=said):
        from_onnx(write(model(nodes, (1, 2, 3, 3), constants), tmp_path))


@pytest.mark.parametrize("operator", ["GlobalMaxPool", "GlobalAveragePool"])
def test_global_pools_need_places(operator, tmp_path):
    with pytest.raises(ModelImportError, match="behind batch and channels"):
        from_onnx(write(model(node(operator, "x"), (1, 4)), tmp_path))


def test_models_in_memory_are_told_where_to_go():
    with pytest.raises(InvalidInputError, match=r"onnx\.save") as caught:
        from_onnx(model(node("Relu", "x"), (1, 3)))
    assert len(str(caught.value)) < 200
