"""The one table of supported operators: what they are, how they are spelled, how they are read.

Both front ends take their handlers' spellings from here: a handler for a spelling that is not in
the table can't be registered (`registry`), and a spelling without a handler fails a test. What is
refused, and why, is in `refused`. ``docs/operators.md`` is made of both by `operators_page`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

FrontEnd = Literal["torch", "onnx"]


@dataclass(frozen=True)
class Operator:
    """One supported operator.

    Attributes
    ----------
    name : str
        What the docs call it.
    group : str
        ``"affine"``, ``"shape"``, ``"activation"`` or ``"constant"``.
    torch, onnx : tuple of str
        Spellings: ATen operators without ``aten.`` and overload, ONNX operator types.
    note : str
        How it is lowered, and its limits.
    """

    name: str
    group: str
    torch: tuple[str, ...] = ()
    onnx: tuple[str, ...] = ()
    note: str = ""


_CONST = "one of the two must not depend on the input"

OPERATORS: tuple[Operator, ...] = (
    # affine
    Operator("linear", "affine", ("linear",), (), "weight and bias constant"),
    Operator("gemm", "affine", ("addmm", "baddbmm"), ("Gemm",), "one factor constant"),
    Operator("matmul", "affine", ("matmul", "mm", "bmm", "mv", "dot"), ("MatMul",), _CONST),
    Operator(
        "convolution",
        "affine",
        ("conv1d", "conv2d", "conv3d", "convolution"),
        ("Conv",),
        "a sparse matrix; stride, padding, dilation and groups; weight constant",
    ),
    Operator(
        "transposed convolution",
        "affine",
        ("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"),
        ("ConvTranspose",),
        "the transpose of the matrix of a convolution",
    ),
    Operator(
        "batch normalisation",
        "affine",
        ("batch_norm", "_native_batch_norm_legit_no_training"),
        ("BatchNormalization",),
        "with fixed statistics (evaluation mode) only; folded into the layers around it",
    ),
    Operator(
        "average pool",
        "affine",
        ("avg_pool1d", "avg_pool2d", "avg_pool3d"),
        ("AveragePool",),
        "a sparse matrix",
    ),
    Operator(
        "adaptive average pool",
        "affine",
        (
            "adaptive_avg_pool1d",
            "adaptive_avg_pool2d",
            "adaptive_avg_pool3d",
            "_adaptive_avg_pool2d",
            "_adaptive_avg_pool3d",
        ),
        ("GlobalAveragePool",),
        "a sparse matrix",
    ),
    Operator("mean", "affine", ("mean",), ("ReduceMean",)),
    Operator("sum", "affine", ("sum",), ("ReduceSum",)),
    Operator("cumulative sum", "affine", ("cumsum",), ("CumSum",)),
    Operator("add", "affine", ("add",), ("Add", "Sum")),
    Operator("subtract", "affine", ("sub", "rsub", "subtract"), ("Sub",)),
    Operator("multiply", "affine", ("mul", "multiply"), ("Mul",), _CONST),
    Operator("divide", "affine", ("div", "divide", "true_divide"), ("Div",), "by a constant"),
    Operator("negate", "affine", ("neg",), ("Neg",)),
    # shape
    Operator(
        "reshape",
        "shape",
        ("view", "reshape", "_unsafe_view", "flatten", "unflatten", "ravel"),
        ("Reshape", "Flatten"),
    ),
    Operator(
        "permute",
        "shape",
        ("permute", "transpose", "t", "numpy_T", "swapaxes", "movedim"),
        ("Transpose",),
    ),
    Operator("squeeze", "shape", ("squeeze",), ("Squeeze",)),
    Operator("unsqueeze", "shape", ("unsqueeze",), ("Unsqueeze",)),
    Operator(
        "expand", "shape", ("expand", "expand_as", "repeat", "broadcast_to"), ("Expand", "Tile")
    ),
    Operator("concatenate", "shape", ("cat", "concat"), ("Concat",)),
    Operator("stack", "shape", ("stack",)),
    Operator("split", "shape", ("split", "split_with_sizes", "chunk", "unbind"), ("Split",)),
    Operator("slice", "shape", ("slice", "narrow"), ("Slice",)),
    Operator(
        "index",
        "shape",
        ("select", "index", "index_select", "gather"),
        ("Gather", "GatherND", "GatherElements"),
        "with constant indices",
    ),
    Operator("flip and roll", "shape", ("flip", "roll")),
    Operator(
        "overwrite",
        "shape",
        ("copy", "slice_scatter", "select_scatter"),
        (),
        "what assignments to parts of a tensor become",
    ),
    Operator(
        "pad",
        "shape",
        (
            "constant_pad_nd",
            "pad",
            "reflection_pad1d",
            "reflection_pad2d",
            "replication_pad1d",
            "replication_pad2d",
        ),
        ("Pad",),
        "constant, reflected, replicated and circular",
    ),
    Operator("where", "shape", ("where", "masked_fill"), ("Where",), "with a constant condition"),
    Operator(
        "identity",
        "shape",
        (
            "clone",
            "contiguous",
            "alias",
            "detach",
            "lift_fresh_copy",
            "dropout",
            "feature_dropout",
            "alpha_dropout",
            "_to_copy",
            "to",
            "type_as",
            "_assert_tensor_metadata",
        ),
        ("Identity", "Dropout", "Cast"),
        "dropout in evaluation mode; casts between floats (their rounding is left out)",
    ),
    # activations
    Operator("relu", "activation", ("relu",), ("Relu",)),
    Operator("leaky_relu", "activation", ("leaky_relu",), ("LeakyRelu",)),
    Operator("rrelu", "activation", ("rrelu",), (), "in evaluation mode: the mean slope"),
    Operator("prelu", "activation", ("prelu", "_prelu_kernel"), ("PRelu",), "constant slopes"),
    Operator("relu6", "activation", ("relu6",)),
    Operator("hardtanh", "activation", ("hardtanh",)),
    Operator(
        "clamp",
        "activation",
        ("clamp", "clip", "clamp_min", "clamp_max"),
        ("Clip",),
        "constant bounds: numbers or tensors",
    ),
    Operator("threshold", "activation", ("threshold",), (), "where it does not jump"),
    Operator("abs", "activation", ("abs",), ("Abs",)),
    Operator("hardsigmoid", "activation", ("hardsigmoid",), ("HardSigmoid",)),
    Operator(
        "softshrink", "activation", ("softshrink",), ("Shrink",), "bias equal to lambd (no jump)"
    ),
    Operator(
        "maximum",
        "activation",
        ("maximum", "max"),
        ("Max",),
        "b + relu(a - b): one boundary per comparison; a clip where one side is constant",
    ),
    Operator("minimum", "activation", ("minimum", "min"), ("Min",), "a - relu(a - b)"),
    Operator(
        "max pool",
        "activation",
        (
            "max_pool1d",
            "max_pool2d",
            "max_pool3d",
            "max_pool2d_with_indices",
            "max_pool3d_with_indices",
        ),
        ("MaxPool",),
        "a tournament of maxima; windows at the border without their padding",
    ),
    Operator(
        "adaptive max pool",
        "activation",
        ("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d"),
        ("GlobalMaxPool",),
        "a tournament of maxima for each axis",
    ),
    Operator(
        "largest and smallest",
        "activation",
        ("amax", "amin"),
        ("ReduceMax", "ReduceMin"),
        "a tournament of maxima",
    ),
    # constants
    Operator(
        "shape",
        "constant",
        ("zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full"),
        ("Shape", "Size"),
        "of any tensor: a constant",
    ),
)


def spellings(front_end: FrontEnd) -> frozenset[str]:
    """All supported spellings of one front end.

    Examples
    --------
    >>> "Relu" in spellings("onnx")
    True
    """
    return frozenset(s for row in OPERATORS for s in getattr(row, front_end))
