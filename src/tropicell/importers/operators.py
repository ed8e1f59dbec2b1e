"""The one table of supported operators: what they are, how they are spelled, how they are read.

Both front ends take their handlers' spellings from here: a handler for a spelling that is not in
the table can't be registered (`Registry`), and a spelling without a handler fails a test. What is
refused, and why, is in `REFUSED`. ``docs/operators.md`` is made of both by `operators_page`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from tropicell.errors import ModelImportError, UnsupportedOperatorError

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
    Operator("gemm", "affine", ("addmm", "baddbmm", "addmv"), ("Gemm",), "one factor constant"),
    Operator("matmul", "affine", ("matmul", "mm", "bmm", "mv", "dot"), ("MatMul",), _CONST),
    Operator(
        "convolution",
        "affine",
        ("conv1d", "conv2d", "conv3d", "convolution"),
        ("Conv",),
        "a sparse matrix, or filters if that would be large; stride, padding, dilation and groups; "
        "weight constant",
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
        ("batch_norm", "_native_batch_norm_legit_no_training", "instance_norm"),
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
    Operator(
        "einsum",
        "affine",
        ("einsum",),
        ("Einsum",),
        "one factor at most depends on the input",
    ),
    Operator(
        "resize",
        "affine",
        (
            "upsample_nearest1d",
            "upsample_nearest2d",
            "upsample_nearest3d",
            "_upsample_nearest_exact1d",
            "_upsample_nearest_exact2d",
            "_upsample_nearest_exact3d",
            "upsample_linear1d",
            "upsample_bilinear2d",
            "upsample_trilinear3d",
            "upsample_bicubic2d",
            "_upsample_bilinear2d_aa",
            "_upsample_bicubic2d_aa",
        ),
        ("Resize", "Upsample"),
        "a matrix for each axis; nearest, linear and cubic",
    ),
    Operator(
        "scattered sum",
        "affine",
        ("index_add", "scatter_add"),
        (),
        "with constant indices",
    ),
    Operator("fold", "affine", ("col2im",), ("Col2Im",), "windows added up where they overlap"),
    Operator("mean of tensors", "affine", (), ("Mean",)),
    Operator("mean", "affine", ("mean",), ("ReduceMean",)),
    Operator("sum", "affine", ("sum",), ("ReduceSum",)),
    Operator("differences", "affine", ("diff",), (), "of neighbours along an axis"),
    Operator("cumulative sum", "affine", ("cumsum",), ("CumSum",)),
    Operator("add", "affine", ("add",), ("Add", "Sum")),
    Operator("interpolation", "affine", ("lerp",), (), "with constant weights"),
    Operator("subtract", "affine", ("sub", "rsub", "subtract"), ("Sub",)),
    Operator("multiply", "affine", ("mul", "multiply"), ("Mul",), _CONST),
    Operator("divide", "affine", ("div", "divide", "true_divide"), ("Div",), "by a constant"),
    Operator("negate", "affine", ("neg",), ("Neg",)),
    Operator("power", "affine", ("pow",), ("Pow",), "by the constant 1"),
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
        "expand",
        "shape",
        ("expand", "expand_as", "repeat", "broadcast_to", "repeat_interleave", "tile"),
        ("Expand", "Tile"),
    ),
    Operator("concatenate", "shape", ("cat", "concat"), ("Concat",)),
    Operator("stack", "shape", ("stack",)),
    Operator("split", "shape", ("split", "split_with_sizes", "chunk", "unbind"), ("Split",)),
    Operator("slice", "shape", ("slice", "narrow"), ("Slice",)),
    Operator(
        "index",
        "shape",
        ("select", "index", "index_select", "gather", "masked_select"),
        ("Gather", "GatherND", "GatherElements"),
        "with constant indices",
    ),
    Operator("flip and roll", "shape", ("flip", "roll", "rot90")),
    Operator(
        "shuffle",
        "shape",
        ("pixel_shuffle", "pixel_unshuffle", "channel_shuffle", "native_channel_shuffle"),
        ("DepthToSpace", "SpaceToDepth"),
    ),
    Operator("unfold", "shape", ("unfold", "im2col")),
    Operator("triangle and diagonal", "shape", ("tril", "triu", "diagonal"), ("Trilu",)),
    Operator(
        "overwrite",
        "shape",
        (
            "copy",
            "slice_scatter",
            "select_scatter",
            "scatter",
            "index_copy",
            "index_fill",
            "index_put",
        ),
        ("ScatterND", "ScatterElements"),
        "what assignments to parts of a tensor become; constant indices; ONNX: also sums, the "
        "largest and the smallest",
    ),
    Operator(
        "pad",
        "shape",
        (
            "constant_pad_nd",
            "pad",
            "reflection_pad1d",
            "reflection_pad2d",
            "reflection_pad3d",
            "replication_pad1d",
            "replication_pad2d",
            "replication_pad3d",
        ),
        ("Pad",),
        "constant, reflected, replicated and circular",
    ),
    Operator(
        "where",
        "shape",
        ("where", "masked_fill"),
        ("Where",),
        "with a constant condition; or where(h > 0, a, b) if a - b is a multiple of h, so that it "
        "does not jump: decided exactly, and then a layer",
    ),
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
            "nan_to_num",
            "positive",
        ),
        ("Identity", "Dropout", "Cast", "CastLike"),
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
        ("maximum", "max", "fmax"),
        ("Max",),
        "b + relu(a - b): one boundary per comparison; a clip where one side is constant",
    ),
    Operator("minimum", "activation", ("minimum", "min", "fmin"), ("Min",), "a - relu(a - b)"),
    Operator(
        "max pool",
        "activation",
        (
            "max_pool1d",
            "max_pool2d",
            "max_pool3d",
            "max_pool1d_with_indices",
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
        ("amax", "amin", "aminmax"),
        ("ReduceMax", "ReduceMin"),
        "a tournament of maxima",
    ),
    Operator(
        "scattered largest and smallest",
        "activation",
        ("scatter_reduce",),
        (),
        "with constant indices; sums and means, too, but no products",
    ),
    Operator(
        "running maximum and minimum",
        "activation",
        ("cummax", "cummin"),
        (),
        "log2(n) layers of maxima",
    ),
    Operator(
        "sorting",
        "activation",
        ("sort", "msort", "topk", "median", "nanmedian", "kthvalue"),
        ("TopK",),
        "the values, not the indices: Batcher's sorting network, one ReLU for each comparison; "
        "comparisons that the wanted ranks do not need are left out",
    ),
    Operator(
        "norms of order 1 and inf",
        "activation",
        ("linalg_vector_norm", "norm", "cdist"),
        ("ReduceL1",),
        "absolute values, then a sum or a tournament; other orders are not piecewise linear",
    ),
    Operator("recurrent layer", "activation", (), ("RNN",), "with the activation Relu, unrolled"),
    Operator(
        "comparison",
        "activation",
        (
            "gt",
            "ge",
            "lt",
            "le",
            "greater",
            "greater_equal",
            "less",
            "less_equal",
            "logical_not",
            "bitwise_not",
        ),
        ("Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Not"),
        "only as the condition of a `where`, `masked_fill`, or product `(h > 0) * a` that does "
        "not jump",
    ),
    # constants
    Operator(
        "shape",
        "constant",
        (
            *("zeros_like", "ones_like", "full_like", "empty_like"),
            *("new_zeros", "new_ones", "new_full", "new_empty"),
        ),
        ("Shape", "Size"),
        "of any tensor: a constant",
    ),
    Operator(
        "not a number, infinite",
        "constant",
        ("isnan", "isinf", "isfinite"),
        ("IsNaN", "IsInf"),
        "never, always for `isfinite`: the inputs of a network are real numbers",
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


#: Spellings whose results do not depend on the input even if what they take does.
CONSTANTS: dict[FrontEnd, frozenset[str]] = {
    "torch": frozenset(s for row in OPERATORS if row.group == "constant" for s in row.torch),
    "onnx": frozenset(s for row in OPERATORS if row.group == "constant" for s in row.onnx),
}


# --- the table of operators that are known and refused, with what to do instead -------------------


@dataclass(frozen=True)
class Refused:
    """One operator (or family) that is known and refused, with what to do instead."""

    name: str
    advice: str
    torch: tuple[str, ...] = ()
    onnx: tuple[str, ...] = ()


_ITSELF = "it is not piecewise linear"
_LAST = "; if it is the model's last operator, import the model without it (the logits)"

#: Advice for lookups by whole numbers.
EMBEDDING_ADVICE = (
    "it looks up vectors by whole numbers, between which nothing is defined; import what comes "
    "after it, with the vectors as inputs"
)

REFUSED: tuple[Refused, ...] = (
    Refused("embeddings", EMBEDDING_ADVICE, ("embedding", "embedding_bag", "_embedding_bag"), ()),
    Refused(
        "sigmoid",
        f"{_ITSELF}; use hardsigmoid instead, and train again{_LAST}",
        ("sigmoid", "log_sigmoid", "glu"),
        ("Sigmoid",),
    ),
    Refused("tanh", f"{_ITSELF}; use hardtanh instead, and train again", ("tanh",), ("Tanh",)),
    Refused(
        "softmax",
        f"{_ITSELF}{_LAST}",
        ("softmax", "_softmax", "log_softmax", "_log_softmax", "logsumexp"),
        ("Softmax", "LogSoftmax", "ReduceLogSumExp"),
    ),
    Refused(
        "attention",
        f"{_ITSELF}: it multiplies parts of the input with each other",
        ("scaled_dot_product_attention", "_native_multi_head_attention"),
        ("Attention", "MultiHeadAttention"),
    ),
    Refused(
        "trigonometric and hyperbolic functions",
        _ITSELF,
        (
            *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinc", "hypot"),
            *("sinh", "cosh", "asinh", "acosh", "atanh"),
        ),
        (
            *("Sin", "Cos", "Tan", "Asin", "Acos", "Atan"),
            *("Sinh", "Cosh", "Asinh", "Acosh", "Atanh"),
        ),
    ),
    Refused(
        "exponential and logarithm",
        _ITSELF,
        (
            *("exp", "exp2", "log", "log2", "log10", "expm1", "log1p", "logcumsumexp", "logaddexp"),
            *("xlogy", "logit", "erf", "erfc", "erfinv", "lgamma", "digamma"),
        ),
        ("Exp", "Log", "Erf", "ReduceLogSum"),
    ),
    Refused(
        "determinants and inverses",
        f"{_ITSELF}; only those of constants can be read",
        (
            *("det", "linalg_det", "inverse", "linalg_inv", "linalg_inv_ex", "linalg_solve"),
            *("linalg_pinv", "linalg_svd", "linalg_svdvals", "matrix_power", "cumprod"),
        ),
        ("Det",),
    ),
    Refused("roots and squares", _ITSELF, ("sqrt", "rsqrt", "square"), ("Sqrt",)),
    Refused("reciprocal", _ITSELF, ("reciprocal",), ("Reciprocal",)),
    Refused(
        "smooth relatives of relu",
        f"{_ITSELF}; use relu or leaky_relu instead, and train again",
        ("gelu", "silu", "elu", "celu", "selu", "softplus", "mish", "softsign"),
        ("Gelu", "Elu", "Celu", "Selu", "Softplus", "Mish", "Softsign", "Swish"),
    ),
    Refused(
        "hardswish",
        "it is piecewise quadratic, not piecewise linear; use relu6 instead, and train again",
        ("hardswish",),
        ("HardSwish",),
    ),
    Refused(
        "layer, group and instance normalisation",
        f"{_ITSELF}: it divides by a deviation of its input; use batch normalisation instead",
        (
            "layer_norm",
            "native_layer_norm",
            "group_norm",
            "native_group_norm",
            "rms_norm",
        ),
        (
            "LayerNormalization",
            "GroupNormalization",
            "InstanceNormalization",
            "RMSNormalization",
            "SimplifiedLayerNormalization",
            "MeanVarianceNormalization",
            "LpNormalization",
            "LRN",
        ),
    ),
    Refused(
        "batch normalisation in training mode",
        "it normalises by the batch it sees; call .eval() on the module first",
        ("_native_batch_norm_legit", "native_batch_norm", "_batch_norm_with_update"),
    ),
    Refused(
        "random numbers",
        "the model's output is random; call .eval() on the module first",
        (
            "native_dropout",
            "rand",
            "randn",
            "rand_like",
            "randn_like",
            "randint",
            "randperm",
            "normal",
            "multinomial",
            "bernoulli",
            "fractional_max_pool2d",
            "fractional_max_pool3d",
        ),
        ("RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli"),
    ),
    Refused(
        "control flow",
        "what is computed depends on the data; write it with relu, clamp, maximum or minimum",
        ("cond", "while_loop", "scan", "map"),
        ("If", "Loop", "Scan"),
    ),
    Refused(
        "numbers for Python",
        "it hands an entry over to Python as a number, so that it is lost for the network; keep it "
        "a tensor",
        ("item", "_local_scalar_dense"),
    ),
    Refused(
        "jumps",
        "it jumps, so it is not continuous; write it with relu, clamp, maximum or minimum",
        (
            "eq",
            "ne",
            "sign",
            "floor",
            "ceil",
            "round",
            "trunc",
            "hardshrink",
            "heaviside",
            "max_unpool2d",
            "max_unpool3d",
            "argmax",
            "argmin",
            "argsort",
            "remainder",
            "fmod",
            "floor_divide",
            "bucketize",
            "nonzero",
            "count_nonzero",
            "all",
            "any",
            "frac",
            "mode",
            "copysign",
            "signbit",
            "isclose",
            "searchsorted",
            "histc",
            "bincount",
            "_unique2",
            "logical_and",
            "logical_or",
            "logical_xor",
            "bitwise_and",
            "bitwise_or",
            "bitwise_xor",
            "__and__",
            "__or__",
            "__xor__",
        ),
        (
            "Equal",
            "Sign",
            "Floor",
            "Ceil",
            "Round",
            "ThresholdedRelu",
            "ArgMax",
            "ArgMin",
            "Mod",
            "Hardmax",
            "NonZero",
            "Unique",
            "And",
            "Or",
            "Xor",
        ),
    ),
    Refused(
        "products and deviations of entries",
        f"{_ITSELF}: it multiplies parts of the input with each other",
        ("prod", "std", "var", "var_mean"),
        ("ReduceProd",),
    ),
    Refused(
        "norms",
        f"{_ITSELF}; the norms of order 1 and inf are",
        ("cosine_similarity",),
        ("ReduceL2", "ReduceSumSquare", "LpPool", "GlobalLpPool"),
    ),
    Refused(
        "recurrent layers",
        f"{_ITSELF}",
        ("lstm", "gru", "rnn_tanh", "lstm_cell", "gru_cell", "rnn_tanh_cell"),
        ("LSTM", "GRU"),
    ),
    Refused(
        "mixed precision",
        "it rounds to half precision; import the model without autocast",
        ("wrap_with_autocast",),
    ),
    Refused(
        "weights in whole numbers",
        "numbers that are kept as whole numbers are not read; import the model before quantisation",
        (),
        ("DequantizeLinear",),
    ),
    Refused(
        "quantisation",
        "it rounds, so it jumps; import the model before quantisation",
        (
            "quantize_per_tensor",
            "fake_quantize_per_tensor_affine",
            "fake_quantize_per_channel_affine",
        ),
        (
            "QuantizeLinear",
            "QLinearConv",
            "QLinearMatMul",
            "MatMulInteger",
            "DynamicQuantizeLinear",
        ),
    ),
)

#: Advice for powers.
POWER_ADVICE = f"{_ITSELF}, unless the exponent is the constant 1"

#: Advice for a product or quotient in which no side is constant.
PRODUCT_ADVICE = (
    "both sides depend on the input, and products of such tensors are not piecewise linear; "
    "only products with constants are supported"
)

#: Advice for what is in neither table.
UNKNOWN_ADVICE = (
    "it is not in the table of operators (docs/operators.md); rewrite the model with operators "
    "that are, or add it: the page says how"
)


def refusal(
    front_end: FrontEnd, spelling: str, operator: str, where: str
) -> UnsupportedOperatorError:
    """The error for an operator that is not supported.

    Examples
    --------
    >>> print(refusal("onnx", "Sigmoid", "Sigmoid", "node 'out'"))
    operator 'Sigmoid' (at node 'out') is not supported: it is not piecewise linear; use ...
    """
    for row in REFUSED:
        if spelling in getattr(row, front_end):
            return UnsupportedOperatorError(operator, where, row.advice)
    return UnsupportedOperatorError(operator, where, UNKNOWN_ADVICE)


# --- ties the handlers of a front end to the table of operators -----------------------------------

Handler = TypeVar("Handler", bound=Callable[..., object])


class Registry(Generic[Handler]):
    """The handlers of one front end, by spelling; each must have a row in the table.

    Examples
    --------
    >>> Registry("onnx").handles("NoSuchOperator")
    Traceback (most recent call last):
    ...
    LookupError: 'NoSuchOperator' has no row in the table of operators
    """

    def __init__(self, front_end: FrontEnd) -> None:
        self.front_end = front_end
        self.handlers: dict[str, Handler] = {}

    def handles(self, *names: str) -> Callable[[Handler], Handler]:
        """Register a function for one or more spellings."""
        for name in names:
            if name not in spellings(self.front_end):
                raise LookupError(f"{name!r} has no row in the table of operators")

        def register(function: Handler) -> Handler:
            for name in names:
                if name in self.handlers:
                    raise LookupError(f"{name!r} has two handlers")
                self.handlers[name] = function
            return function

        return register

    def missing(self) -> set[str]:
        """Spellings of the table that have no handler."""
        return set(spellings(self.front_end)) - set(self.handlers)


@contextmanager
def at_node(where: str, operator: str) -> Iterator[None]:
    """Whatever goes wrong while one node is read names the node.

    Examples
    --------
    >>> with at_node("node 'n'", "Add"):
    ...     raise ValueError("shapes do not fit")
    Traceback (most recent call last):
    ...
    tropicell.errors.ModelImportError: node 'n', operator 'Add': shapes do not fit
    """
    try:
        yield
    except UnsupportedOperatorError:
        raise
    except KeyError as error:  # a form of an operator that takes other arguments
        raise UnsupportedOperatorError(
            operator, where, f"it is read only with its argument {error}"
        ) from error
    except IndexError as error:
        text = str(error)
        if text == "list index out of range":  # the list of what the node has
            text = "an input or an attribute that is not optional is missing"
        raise ModelImportError(f"{where}, operator {operator!r}: {text}") from error
    except (ValueError, TypeError, AttributeError) as error:
        raise ModelImportError(f"{where}, operator {operator!r}: {error}") from error
