"""`from_onnx`: every operator of the table, exports of torch, models made by others, refusals."""

import warnings

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from torch import nn

import tropicell
from tropicell import from_onnx
from tropicell.errors import (
    MissingDependencyError,
    ModelFileError,
    ModelImportError,
    UnsupportedOperatorError,
    WeakComparisonWarning,
)
from tropicell.importers import onnx as front_end
from tropicell.importers import onnx_ops
from tropicell.importers.operators import spellings
from tropicell.importers.refused import REFUSED

RNG = np.random.default_rng(3)
W34, W5, B4 = RNG.normal(size=(3, 4)), RNG.normal(size=(2, 3, 5)), RNG.normal(size=4)
ints = lambda *n: np.array(n, dtype=np.int64)  # noqa: E731


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


def case(nodes, shape, opset=17, **constants):
    return nodes, shape, opset, constants


# At least one case for every spelling of the table, old and new forms of an operator.
CASES = {
    "Gemm": [
        case(node("Gemm", "x", "w", "b", alpha=0.5, beta=2.0), (1, 3), w=W34, b=B4),
        case(node("Gemm", "w", "x", transA=1, transB=1), (4, 2), w=W34[:2]),
    ],
    "MatMul": [
        case(node("MatMul", "x", "w"), (2, 3), w=W34),
        case(node("MatMul", "w", "x"), (4, 2), w=W34),
        case(node("MatMul", "x", "w"), (3,), w=W5),
        case(node("MatMul", "w", "x"), (5, 2), w=W5),
        case(node("MatMul", "w", "x"), (4,), w=B4),
        case(node("MatMul", "w", "x"), (2, 4, 3), w=B4),
    ],
    "Conv": [
        case(
            node("Conv", "x", "w", "b", strides=[2, 1], pads=[1, 0, 0, 2], dilations=[1, 2]),
            (1, 2, 5, 6),
            w=RNG.normal(size=(4, 2, 3, 2)),
            b=B4,
        ),
        case(
            node("Conv", "x", "w", auto_pad="SAME_UPPER", strides=[2], group=2),
            (2, 2, 5),
            w=RNG.normal(size=(4, 1, 3)),
        ),
        case(node("Conv", "x", "w", auto_pad="VALID"), (1, 1, 5), w=RNG.normal(size=(2, 1, 3))),
        case(
            node("Conv", "x", "w", auto_pad="SAME_LOWER"), (1, 1, 5), w=RNG.normal(size=(2, 1, 4))
        ),
    ],
    "ConvTranspose": [
        case(
            node("ConvTranspose", "x", "w", "b", strides=[2, 1], pads=[1, 0, 0, 1]),
            (1, 2, 3, 3),
            w=RNG.normal(size=(2, 4, 3, 2)),
            b=B4,
        ),
        case(
            node("ConvTranspose", "x", "w", strides=[2], output_padding=[1]),
            (1, 2, 3),
            w=RNG.normal(size=(2, 2, 3)),
        ),
    ],
    "BatchNormalization": [
        case(
            node("BatchNormalization", "x", "s", "b", "m", "v", epsilon=1e-3),
            (1, 4, 2),
            s=B4,
            b=B4 + 1,
            m=B4 - 1,
            v=np.abs(B4) + 0.5,
        ),
        case(node("BatchNormalization", "x", "s", "s", "s", "s"), (1, 4), s=np.abs(B4)),
    ],
    "AveragePool": [
        case(
            node("AveragePool", "x", kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1]),
            (1, 2, 5, 4),
        ),
        case(
            node("AveragePool", "x", kernel_shape=[3], pads=[1, 1], count_include_pad=1), (1, 1, 5)
        ),
    ],
    "GlobalAveragePool": [case(node("GlobalAveragePool", "x"), (1, 2, 3, 2))],
    "ReduceMean": [
        case(node("ReduceMean", "x", axes=[1, -1], keepdims=0), (1, 2, 3)),
        case(node("ReduceMean", "x", "a"), (1, 2, 3), 18, a=ints(2)),
    ],
    "ReduceSum": [
        case(node("ReduceSum", "x"), (1, 2, 3)),
        case(node("ReduceSum", "x", axes=[1]), (1, 2, 3), 11),
        case(node("ReduceSum", "x", "", noop_with_empty_axes=1), (1, 2)),
    ],
    "CumSum": [
        case(node("CumSum", "x", "a"), (1, 4), a=np.array(1)),
        case(node("CumSum", "x", "a", exclusive=1, reverse=1), (1, 4), a=np.array(1)),
    ],
    "Add": [case(node("Add", "w", "x"), (1, 4), w=W34)],
    "Sum": [case(node("Sum", "x", "b", "x"), (1, 4), b=B4)],
    "Sub": [case(node("Sub", "b", "x"), (1, 4), b=B4)],
    "Mul": [case([node("Mul", "b", "x", outputs=["t"]), node("Mul", "t", "b")], (1, 4), b=B4)],
    "Div": [case(node("Div", "x", "b"), (1, 4), b=B4)],
    "Neg": [case(node("Neg", "x"), (1, 4))],
    "Reshape": [case(node("Reshape", "x", "s"), (1, 6), s=ints(0, 2, -1))],
    "Flatten": [case(node("Flatten", "x"), (1, 2, 3)), case(node("Flatten", "x", axis=0), (2, 3))],
    "Transpose": [
        case(node("Transpose", "x", perm=[0, 2, 1]), (1, 2, 3)),
        case(node("Transpose", "x"), (2, 3)),
    ],
    "Squeeze": [
        case(node("Squeeze", "x", "a"), (1, 1, 3), a=ints(1)),
        case(node("Squeeze", "x", axes=[0]), (1, 1, 3), 11),
        case(node("Squeeze", "x"), (1, 1, 3)),
    ],
    "Unsqueeze": [
        case(node("Unsqueeze", "x", "a"), (1, 3), a=ints(0, -1)),
        case(node("Unsqueeze", "x", axes=[1]), (1, 3), 11),
    ],
    "Expand": [case(node("Expand", "x", "s"), (1, 3), s=ints(2, 1))],
    "Tile": [case(node("Tile", "x", "r"), (1, 3), r=ints(2, 2))],
    "Concat": [case(node("Concat", "x", "w", "x", axis=-1), (3, 2), w=W34)],
    "Split": [
        case(
            [node("Split", "x", "s", outputs=["a", "b"], axis=1), node("Neg", "b")],
            (1, 5),
            s=ints(2, 3),
        ),
        case(
            [node("Split", "x", outputs=["a", "b"], axis=1, num_outputs=2), node("Neg", "b")],
            (1, 5),
            18,
        ),
        case(
            [node("Split", "x", outputs=["a", "b"], axis=1, split=[1, 4]), node("Neg", "b")],
            (1, 5),
            11,
        ),
    ],
    "Slice": [
        case(
            node("Slice", "x", "s", "e", "a", "t"),
            (1, 6),
            s=ints(-1),
            e=ints(-100),
            a=ints(1),
            t=ints(-2),
        ),
        case(node("Slice", "x", "s", "e"), (3, 6), s=ints(1, 1), e=ints(9, 3)),
        case(node("Slice", "x", axes=[1], starts=[1], ends=[-1]), (1, 5), 9),
    ],
    "Gather": [case(node("Gather", "x", "i", axis=1), (1, 4), i=np.array([[0, -1]]))],
    "GatherElements": [
        case(node("GatherElements", "x", "i", axis=1), (2, 3), i=np.array([[1, 0], [2, -1]])),
    ],
    "GatherND": [
        case(node("GatherND", "x", "i"), (2, 3), i=np.array([[1, 0], [0, 2]])),
        case(node("GatherND", "x", "i", batch_dims=1), (2, 3, 2), i=np.array([[[1]], [[2]]])),
    ],
    "Pad": [
        case(node("Pad", "x", "p", "v"), (1, 3), p=ints(0, 1, 0, 2), v=np.array(0.5)),
        case(node("Pad", "x", "p", "", "a", mode="reflect"), (1, 4), 18, p=ints(1, 2), a=ints(1)),
        case(node("Pad", "x", pads=[0, 1, 0, 0], value=2.0), (1, 3), 10),
        case(node("Pad", "x", "p", mode="edge"), (1, 3), p=ints(0, 1, 0, 2)),
    ],
    "Where": [case(node("Where", "c", "x", "b"), (1, 4), c=B4 > 0, b=B4)],
    "Identity": [case(node("Identity", "x"), (1, 3))],
    "Dropout": [case(node("Dropout", "x"), (1, 3))],
    "Cast": [
        case([node("Cast", "x", outputs=["t"], to=TensorProto.DOUBLE), node("Abs", "t")], (1, 3))
    ],
    "Shape": [
        case(
            [
                node("Shape", "x", outputs=["s"]),
                node("Gather", "s", "i", outputs=["n"]),
                node("Concat", "n", "m", outputs=["t"], axis=0),
                node("Reshape", "x", "t"),
            ],
            (1, 2, 3),
            i=ints(0),
            m=ints(-1),
        )
    ],
    "Size": [
        case(
            [
                node("Size", "x", outputs=["s"]),
                node("Cast", "s", outputs=["f"], to=TensorProto.DOUBLE),
                node("Div", "x", "f"),
            ],
            (1, 4),
        )
    ],
    "Relu": [case(node("Relu", "x"), (1, 3))],
    "LeakyRelu": [
        case(node("LeakyRelu", "x", alpha=0.3), (1, 3)),
        case(node("LeakyRelu", "x"), (1, 3)),
    ],
    "PRelu": [case(node("PRelu", "x", "s"), (1, 4, 2), s=B4[:, None])],
    "Clip": [
        case(node("Clip", "x", "", "b"), (1, 3), b=np.array(0.5)),
        case(node("Clip", "x", "a"), (1, 3), a=np.array(-0.5)),
        case(node("Clip", "x", "a", "b"), (1, 3), a=np.array(-0.5), b=np.array(1.0)),
    ],
    "Abs": [case(node("Abs", "x"), (1, 3))],
    "HardSigmoid": [
        case(node("HardSigmoid", "x"), (1, 3)),
        case(node("HardSigmoid", "x", alpha=0.3), (1, 3)),
    ],
    "Shrink": [case(node("Shrink", "x", lambd=0.5, bias=0.5), (1, 3))],
    "Max": [
        case([node("Neg", "x", outputs=["n"]), node("Max", "x", "n", "b")], (1, 4), b=B4),
        case(node("Max", "x"), (1, 4)),
    ],
    "Min": [case([node("Neg", "x", outputs=["n"]), node("Min", "x", "n", "b")], (1, 4), b=B4)],
    "MaxPool": [
        case(
            node("MaxPool", "x", kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1]),
            (1, 2, 5, 4),
        ),
        case(node("MaxPool", "x", kernel_shape=[2], strides=[2], ceil_mode=1), (1, 1, 5)),
        case(node("MaxPool", "x", kernel_shape=[2], dilations=[2]), (1, 1, 5)),
    ],
    "GlobalMaxPool": [case(node("GlobalMaxPool", "x"), (1, 2, 3, 2))],
    "ReduceMax": [
        case(node("ReduceMax", "x", axes=[1], keepdims=0), (1, 3, 2)),
        case(node("ReduceMax", "x"), (1, 3, 2)),
    ],
    "ReduceMin": [case(node("ReduceMin", "x", "a"), (1, 3, 2), 18, a=ints(1))],
}


def write(made, tmp_path):
    onnx.save(made, tmp_path / "m.onnx")
    return tmp_path / "m.onnx"


def assert_same(network, made, shape, rng):
    points = rng.normal(size=(4, *shape)) * 2
    session = ReferenceEvaluator(made)
    expected = np.stack([np.ravel(session.run(None, {"x": p})[0]) for p in points])
    got = network(points.reshape(4, -1))
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_every_spelling_has_a_handler_and_a_case():
    assert onnx_ops.registry.missing() == set()
    assert set(CASES) == spellings("onnx")


@pytest.mark.parametrize(
    ("spelling", "index"), [(name, i) for name, rows in CASES.items() for i in range(len(rows))]
)
def test_operator(spelling, index, rng, tmp_path):
    nodes, shape, opset, constants = CASES[spelling][index]
    made = model(nodes, shape, constants, opset=opset)
    assert_same(from_onnx(write(made, tmp_path)), made, shape, rng)


def test_old_clip_with_attributes_in_float32(tmp_path):
    made = model(node("Clip", "x", min=-0.5, max=1.0), (1, 3), opset=10, kind=TensorProto.FLOAT)
    assert from_onnx(write(made, tmp_path))([[-3.0, 0.25, 4.0]]).tolist() == [[-0.5, 0.25, 1.0]]


def test_constants_are_folded(tmp_path, rng):
    nodes = [
        node("Constant", outputs=["two"], value_float=2.0),
        node("ConstantOfShape", "s", outputs=["zeros"]),
        node("Exp", "two", outputs=["e"]),
        node("Mul", "x", "e", outputs=["t"]),
        node("Add", "t", "zeros"),
    ]
    made = model(nodes, ("batch", 3), {"s": ints(1, 3)}, kind=TensorProto.FLOAT)
    network = from_onnx(write(made, tmp_path))
    np.testing.assert_allclose(network([[1.0, 2.0, 3.0]]), np.exp(2.0) * np.array([[1.0, 2, 3]]))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.down = nn.Conv2d(4, 4, 3, stride=2, padding=1, groups=2)
        self.act = nn.PReLU(4)
        self.skip = nn.Linear(36, 5)
        self.last = nn.Linear(9, 2)

    def forward(self, x):
        y = nn.functional.relu(self.norm(self.conv(x)))
        y = nn.functional.max_pool2d(y, 2)
        y = self.act(self.down(y)).mean((2, 3))
        a, b = self.skip(x.flatten(1)).split([2, 3], 1)
        z = torch.cat([nn.functional.relu6(a), y, torch.clamp(b, -1, 1)], 1)
        return self.last(z[:, [0, 1, 2, 3, 4, 5, 6, 7, 8]]) + nn.functional.hardtanh(a)


@pytest.mark.parametrize("modern", [True, False])
def test_export_of_torch(modern, tmp_path, rng):
    torch.manual_seed(0)
    module = Net().eval()
    with torch.no_grad():
        module.norm.running_mean.normal_()
        module.norm.running_var.uniform_(0.5, 2)
    path = tmp_path / "net.onnx"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module, (torch.zeros(1, 1, 6, 6),), str(path), dynamo=modern, verbose=False
        )
    network = from_onnx(path)
    points = rng.normal(size=(5, 1, 6, 6))
    expected = module.double()(torch.from_numpy(points)).detach().numpy()
    # the exporter folds the normalisation in float32
    np.testing.assert_allclose(network(points.reshape(5, -1)), expected, rtol=1e-4, atol=1e-4)


# --- models made by others ------------------------------------------------------------------------

SHAPES = {
    "acasxu_1_1": (5, (50,) * 6, 5),
    "acasxu_4_3": (5, (50,) * 6, 5),
    "cifar_resnet_3b": (3072, (4096, 2048, 2048, 1024, 1024, 512, 512, 100), 10),
    "mnist_cnn": (784, (6272, 3136, 100), 10),
    "mnist_fc_256x2": (784, (256, 256), 10),
    "nano": (1, (1,), 1),
    "slice_concat_4d": (4, (256, 256, 256, 256, 16, 8, 8), 2),
}


@pytest.mark.parametrize("name", SHAPES)
def test_models_of_others(models, name):
    network = tropicell.load(models / f"{name}.onnx")
    assert (network.n_inputs, network.widths, network.n_outputs) == SHAPES[name]


def test_every_model_of_others_is_tested(models):
    assert {path.stem for path in models.glob("*.onnx")} == set(SHAPES)


def test_residual_network_keeps_its_skips_and_sparsity(models):
    network = tropicell.load(models / "cifar_resnet_3b.onnx")
    assert network.skips == [(1, 3), (3, 5), (5, 7)]
    stored = sum(
        matrix.size if isinstance(matrix, np.ndarray) else matrix.nnz
        for layer in network.layers
        for matrix in layer.affine.terms.values()
    )
    assert stored < 4e6


@pytest.mark.parametrize(
    ("name", "operator"), [("acopf_sigmoid", "Sigmoid"), ("quadrotor_sin_cos", "Sin")]
)
def test_models_of_others_refused(models, name, operator):
    with pytest.raises(UnsupportedOperatorError, match=name) as caught:
        tropicell.load(models / "refuse" / f"{name}.onnx")
    assert caught.value.operator == operator


# --- refusals -------------------------------------------------------------------------------------

UNARY = sorted({s for row in REFUSED for s in row.onnx} | {"DepthToSpace", "SomethingNew"})


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
        (node("Cast", "x", to=TensorProto.INT64), "Cast"),
        (node("Relu", "x", domain="my.ops"), "my.ops::Relu"),
        (
            node("BatchNormalization", "x", "b", "b", "b", "b", training_mode=1),
            "BatchNormalization (training mode)",
        ),
    ],
)
def test_refused_use_of_an_operator(nodes, operator, tmp_path):
    with pytest.raises(UnsupportedOperatorError) as caught:
        from_onnx(write(model(nodes, (3, 3), {"b": np.ones(3)}), tmp_path))
    assert caught.value.operator == operator


def test_nan_weights_are_refused_by_name(tmp_path):
    made = model(node("Add", "x", "bad"), (1, 2), {"bad": np.array([1.0, np.nan])})
    with pytest.raises(ModelImportError, match=r"'bad' is not a number at \(1,\)"):
        from_onnx(write(made, tmp_path))
    made = model(node("Add", "x", "bad"), (1, 2), {"bad": np.array([1.0, np.inf])})
    with pytest.raises(ModelImportError, match="inf"):
        from_onnx(write(made, tmp_path))


def test_several_inputs_outputs_and_unknown_shapes(tmp_path):
    info = helper.make_tensor_value_info("z", TensorProto.DOUBLE, [1, 2])
    made = model(node("Add", "x", "z"), (1, 2))
    made.graph.input.append(info)
    with pytest.raises(ModelImportError, match="2 inputs"):
        from_onnx(write(made, tmp_path))
    made = model([node("Relu", "x"), node("Abs", "x", outputs=["z"])], (1, 2))
    made.graph.output.append(info)
    with pytest.raises(ModelImportError, match="2 outputs"):
        from_onnx(write(made, tmp_path))
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
    made = model(node("MatMul", "x", "w"), (1, 3), {"w": W34}).SerializeToString()
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
