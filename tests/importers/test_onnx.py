"""`from_onnx`: every operator of the table, in its old and new forms."""

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

from onnx_models import assert_same, ints, model, node, write
from tropicell import WeakComparisonWarning, from_onnx
from tropicell.importers.onnx import handlers as onnx_handlers
from tropicell.importers.operators import spellings

RNG = np.random.default_rng(3)
ZERO = np.array(0.0)
W34, W5, B4 = RNG.normal(size=(3, 4)), RNG.normal(size=(2, 3, 5)), RNG.normal(size=4)


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
    "Einsum": [
        case(node("Einsum", "x", "w", equation="bi,io->bo"), (2, 3), w=W34),
        case(node("Einsum", "w", "x", equation="...ij, j->...i"), (5,), w=W5),
        case(node("Einsum", "x", equation="iij->j"), (2, 2, 3)),
        case(node("Einsum", "x", "w", equation="bi,ij"), (2, 3), w=W34),
    ],
    "Resize": [
        case(
            node("Resize", "x", "", "s", mode=mode, coordinate_transformation_mode=places, **more),
            (1, 2, 4, 3),
            s=np.array([1.0, 1.0, 1.5, 2.0], np.float32),
        )
        for mode in ("nearest", "linear", "cubic")
        for places in ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel")
        for more in ([{}] if mode != "nearest" else [{}, {"nearest_mode": "floor"}])
    ]
    + [
        case(node("Resize", "x", "", "", "s", mode="linear"), (1, 1, 5), s=ints(1, 1, 3)),
        case(
            node("Resize", "x", "", "", "s", mode="cubic", axes=[2], exclude_outside=1),
            (1, 1, 5),
            18,
            s=ints(7),
        ),
    ]
    + [  # 5 · 0.5 is no whole number: the window of the last entry reaches over the border
        case(
            node("Resize", "x", "", "s", mode=mode, antialias=1, exclude_outside=outside),
            (1, 1, 5),
            18,
            s=np.array([1.0, 1.0, 0.5], np.float32),
        )
        for mode in ("linear", "cubic")
        for outside in (0, 1)
    ],
    "Upsample": [
        case(node("Upsample", "x", "s"), (1, 1, 3), 9, s=np.array([1.0, 1.0, 2.0], np.float32))
    ],
    "Mean": [case(node("Mean", "x", "b", "x"), (1, 4), b=B4)],
    "DepthToSpace": [
        case(node("DepthToSpace", "x", blocksize=2), (1, 8, 2, 3)),
        case(node("DepthToSpace", "x", blocksize=2, mode="CRD"), (1, 8, 2, 3)),
    ],
    "SpaceToDepth": [case(node("SpaceToDepth", "x", blocksize=2), (1, 2, 4, 2))],
    "Trilu": [
        case(node("Trilu", "x"), (2, 3, 3)),
        case(node("Trilu", "x", "k", upper=0), (3, 3), k=np.array(1)),
    ],
    "ScatterND": [
        case(node("ScatterND", "x", "i", "u"), (3, 4), i=np.array([[2], [0]]), u=W34[:2]),
        case(
            node("ScatterND", "w", "i", "x", reduction="add"),
            (3,),
            18,
            w=W34,
            i=np.array([[2, 1], [0, 0], [2, 1]]),
        ),
    ],
    "ScatterElements": [
        case(node("ScatterElements", "w", "i", "x", axis=1), (1, 2), w=W34, i=np.array([[3, 0]])),
        case(
            node("ScatterElements", "x", "i", "u", axis=1, reduction="add"),
            (1, 4),
            18,
            i=np.array([[3, 3]]),
            u=B4[None, :2],
        ),
        case(
            node("ScatterElements", "x", "i", "u", axis=1, reduction="max"),
            (1, 4),
            18,
            i=np.array([[3, 3]]),
            u=B4[None, :2],
        ),
    ],
    "RNN": [],  # below: it runs in float32 only
    "Col2Im": [
        case(
            node("Col2Im", "x", "i", "k", pads=[1, 0, 0, 1], strides=[1, 2]),
            (1, 4, 9),
            18,
            i=ints(3, 4),
            k=ints(2, 1),
        )
    ],
    "IsNaN": [
        case([node("IsNaN", "x", outputs=["c"]), node("Where", "c", "b", "x")], (1, 4), b=B4)
    ],
    "IsInf": [
        case([node("IsInf", "x", outputs=["c"]), node("Where", "c", "b", "x")], (1, 4), b=B4)
    ],
    "CastLike": [case(node("CastLike", "x", "b"), (1, 4), b=B4)],
    "ReduceL1": [
        case(node("ReduceL1", "x", axes=[1], keepdims=0), (1, 3, 2)),
        case(node("ReduceL1", "x"), (1, 3)),
    ],
    "TopK": [
        case([node("TopK", "x", "k", outputs=["v", "i"]), node("Neg", "v")], (1, 5), k=ints(3)),
        case(
            [node("TopK", "x", "k", outputs=["v", "i"], axis=1, largest=0), node("Neg", "v")],
            (1, 4, 2),
            k=ints(1),
        ),
    ],
    "Greater": [
        case(
            [node("Greater", "x", "z", outputs=["c"]), node("Where", "c", "x", "z")], (1, 4), z=ZERO
        )
    ],
    "GreaterOrEqual": [
        case(
            [
                node("GreaterOrEqual", "x", "b", outputs=["c"]),
                node("Where", "c", "x", "b"),
            ],
            (1, 4),
            b=B4,
        )
    ],
    "Less": [
        case(
            [
                node("Less", "z", "x", outputs=["c"]),
                node("Cast", "c", outputs=["m"], to=TensorProto.DOUBLE),
                node("Mul", "m", "x"),
            ],
            (1, 4),
            z=ZERO,
        )
    ],
    "LessOrEqual": [
        case(
            [
                node("Mul", "x", "a", outputs=["s"]),
                node("LessOrEqual", "x", "z", outputs=["c"]),
                node("Where", "c", "s", "x"),
            ],
            (1, 4),
            z=ZERO,
            a=B4,
        )
    ],
    "Not": [
        case(
            [
                node("Less", "x", "z", outputs=["c"]),
                node("Not", "c", outputs=["d"]),
                node("Where", "d", "x", "z"),
            ],
            (1, 4),
            z=ZERO,
        )
    ],
    "Add": [case(node("Add", "w", "x"), (1, 4), w=W34)],
    "Sum": [case(node("Sum", "x", "b", "x"), (1, 4), b=B4)],
    "Sub": [case(node("Sub", "b", "x"), (1, 4), b=B4)],
    "Mul": [case([node("Mul", "b", "x", outputs=["t"]), node("Mul", "t", "b")], (1, 4), b=B4)],
    "Div": [case(node("Div", "x", "b"), (1, 4), b=B4)],
    "Neg": [case(node("Neg", "x"), (1, 4))],
    "Pow": [case(node("Pow", "x", "b"), (1, 4), b=np.ones((2, 1)))],
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


def test_every_spelling_has_a_handler_and_a_case():
    assert onnx_handlers.registry.missing() == set()
    assert set(CASES) == spellings("onnx")


@pytest.mark.parametrize(
    ("spelling", "index"), [(name, i) for name, rows in CASES.items() for i in range(len(rows))]
)
def test_operator(spelling, index, rng, tmp_path):
    nodes, shape, opset, constants = CASES[spelling][index]
    made = model(nodes, shape, constants, opset=opset)
    # the reference evaluator works out the weights of a Resize in float32
    tolerance = 3e-6 if spelling == "Resize" else 1e-9
    assert_same(from_onnx(write(made, tmp_path)), made, shape, rng, tolerance)


def test_old_clip_with_attributes_in_float32(tmp_path):
    made = model(node("Clip", "x", min=-0.5, max=1.0), (1, 3), opset=10, kind=TensorProto.FLOAT)
    assert from_onnx(write(made, tmp_path))([[-3.0, 0.25, 4.0]]).tolist() == [[-0.5, 0.25, 1.0]]


def test_old_resize_in_float32(tmp_path):
    scales = {"s": np.array([1.0, 1.0, 2.0], np.float32)}
    made = model(node("Resize", "x", "s"), (1, 1, 2), scales, opset=10, kind=TensorProto.FLOAT)
    with pytest.warns(WeakComparisonWarning):
        network = from_onnx(write(made, tmp_path))
    assert network([[1.0, 2.0]]).tolist() == [[1.0, 1.0, 2.0, 2.0]]


@pytest.mark.parametrize("way", ["forward", "reverse", "bidirectional"])
def test_recurrent_layers_with_relu(way, tmp_path):
    kinds = ["Relu", "Relu"] if way == "bidirectional" else ["Relu"]
    numbers = np.random.default_rng(0).normal(size=(2, 2, 7)).astype(np.float32)[: len(kinds)]
    recurrent = node(
        "RNN", "x", "w", "r", "b", "", "s",
        outputs=["y", "last"], activations=kinds, hidden_size=2, direction=way,
    )  # fmt: skip
    parts = {"w": numbers[..., :3], "r": numbers[..., 3:5], "s": numbers[:, :1, 5:7]}
    parts["b"] = numbers[..., 3:5].reshape(-1, 4)
    nodes = [recurrent, node("Neg", "last", outputs=["z"])]
    made = model(nodes, (4, 1, 3), parts, kind=TensorProto.FLOAT)
    made.graph.output.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, None))
    with pytest.warns(WeakComparisonWarning):  # compared with onnxruntime all the same
        network = from_onnx(write(made, tmp_path))
    assert (network.depth, network.n_outputs) == (4 * len(kinds), 10 * len(kinds))


@pytest.mark.filterwarnings("ignore")
def test_sizes_of_a_resize_are_rounded_as_in_float32(tmp_path):
    scales = {"s": np.array([1.0, 1.0, 1.4], np.float32)}  # 5 * 1.4 is less than 7 in float64
    made = model(node("Resize", "x", "", "s"), (1, 1, 5), scales, kind=TensorProto.FLOAT)
    assert from_onnx(write(made, tmp_path)).n_outputs == 7


def test_a_batch_of_length_minus_one(tmp_path):
    made = model(node("Relu", "x"), (1, 2), kind=TensorProto.FLOAT)
    made.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -1
    assert from_onnx(write(made, tmp_path)).n_inputs == 2


def test_what_no_output_needs_is_not_looked_at(tmp_path):
    made = model([node("Relu", "x"), node("Softmax", "y", outputs=["p"])], (1, 2))
    assert from_onnx(write(made, tmp_path)).depth == 1


def test_an_output_that_is_given_twice(tmp_path):
    made = model(node("Relu", "x"), (1, 2))
    made.graph.output.append(made.graph.output[0])
    network = from_onnx(write(made, tmp_path))
    assert network.output_parts == {"y": slice(0, 2), "y (2)": slice(2, 4)}


def test_parts_of_a_split_without_a_name(tmp_path):
    made = model(node("Split", "x", "s", outputs=["y", ""], axis=1), (1, 3), {"s": ints(2, 1)})
    assert from_onnx(write(made, tmp_path))([[1.0, 2.0, 3.0]]).tolist() == [[1.0, 2.0]]


def test_an_axis_of_a_sum_that_is_a_list(tmp_path):
    nodes = [node("CumSum", "c", "a", outputs=["t"]), node("Add", "x", "t")]
    made = model(nodes, (1, 3), {"c": np.ones(3), "a": ints(0)})
    assert from_onnx(write(made, tmp_path))([[0.0, 0.0, 0.0]]).tolist() == [[1.0, 2.0, 3.0]]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("mode", "places", "nearest"),
    [
        ("nearest", "half_pixel", "floor"),  # 1.5 / 0.6 - 0.5 is 2 in float32, less in float64
        ("nearest", "tf_half_pixel_for_nn", "floor"),
        ("linear", "align_corners", "floor"),  # sizes that are rounded are meant
        ("cubic", "align_corners", "floor"),
    ],
)
def test_resizes_are_those_of_onnxruntime(mode, places, nearest, tmp_path):
    """Where the reference evaluator reads the standard in another way."""
    scales = {"s": np.array([1.0, 1.0, 0.6, 1.7], np.float32)}
    resize = node(
        "Resize", "x", "", "s",
        mode=mode, coordinate_transformation_mode=places, nearest_mode=nearest,
    )  # fmt: skip
    file = write(model(resize, (1, 2, 4, 4), scales, opset=13, kind=TensorProto.FLOAT), tmp_path)
    network = from_onnx(file)
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    point = np.random.default_rng(0).normal(size=32)
    (expected,) = session.run(None, {"x": point.reshape(1, 2, 4, 4).astype(np.float32)})
    np.testing.assert_allclose(network(point), expected.ravel(), atol=1e-5)


@pytest.mark.filterwarnings("ignore")
def test_an_evaluator_that_gives_other_sizes_is_not_asked(tmp_path):
    """The reference evaluator takes the maximum over all channels where there is one axis."""
    made = model(node("GlobalMaxPool", "x"), (1, 2, 3), kind=TensorProto.FLOAT)
    assert from_onnx(write(made, tmp_path)).n_outputs == 2


def test_several_inputs_and_outputs(tmp_path, rng):
    info = helper.make_tensor_value_info("z", TensorProto.DOUBLE, [2])
    made = model([node("Add", "x", "z"), node("Abs", "z", outputs=["w"])], (1, 2))
    made.graph.input.append(info)
    made.graph.output.append(helper.make_tensor_value_info("w", TensorProto.DOUBLE, [2]))
    network = from_onnx(write(made, tmp_path))
    assert network.input_parts == {"x": slice(0, 2), "z": slice(2, 4)}
    assert network.output_parts == {"y": slice(0, 2), "w": slice(2, 4)}
    assert network([[1.0, 2.0, -3.0, 4.0]]).tolist() == [[-2.0, 6.0, 3.0, 4.0]]


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
