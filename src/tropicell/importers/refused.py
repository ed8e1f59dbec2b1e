"""The table of operators that are known and refused, with what to do instead."""

from __future__ import annotations

from dataclasses import dataclass

from tropicell.errors import UnsupportedOperatorError
from tropicell.importers.operators import FrontEnd


@dataclass(frozen=True)
class Refused:
    """One operator (or family) that is known and refused, with what to do instead."""

    name: str
    advice: str
    torch: tuple[str, ...] = ()
    onnx: tuple[str, ...] = ()


_ITSELF = "it is not piecewise linear"
_LAST = "; if it is the model's last operator, import the model without it (the logits)"

REFUSED: tuple[Refused, ...] = (
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
        "trigonometric functions", _ITSELF, ("sin", "cos", "tan", "atan"), ("Sin", "Cos", "Tan")
    ),
    Refused(
        "exponential and logarithm",
        _ITSELF,
        ("exp", "log", "expm1", "log1p", "erf"),
        ("Exp", "Log", "Erf"),
    ),
    Refused("power and roots", _ITSELF, ("pow", "sqrt", "rsqrt", "square"), ("Pow", "Sqrt")),
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
            "instance_norm",
            "rms_norm",
        ),
        (
            "LayerNormalization",
            "GroupNormalization",
            "InstanceNormalization",
            "RMSNormalization",
            "SimplifiedLayerNormalization",
            "LpNormalization",
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
        ("native_dropout", "rand", "randn", "rand_like", "randn_like", "bernoulli"),
        ("RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli"),
    ),
    Refused(
        "control flow",
        "what is computed depends on the data; write it with relu, clamp, maximum or minimum",
        ("cond", "while_loop", "scan", "map"),
        ("If", "Loop", "Scan"),
    ),
    Refused(
        "comparisons and other jumps",
        "it jumps, so it is not continuous; write it with relu, clamp, maximum or minimum",
        (
            "gt",
            "lt",
            "ge",
            "le",
            "eq",
            "ne",
            "sign",
            "floor",
            "ceil",
            "round",
            "trunc",
            "hardshrink",
            "heaviside",
            "argmax",
            "argmin",
            "remainder",
            "fmod",
        ),
        (
            "Greater",
            "Less",
            "GreaterOrEqual",
            "LessOrEqual",
            "Equal",
            "Not",
            "Sign",
            "Floor",
            "Ceil",
            "Round",
            "ThresholdedRelu",
            "ArgMax",
            "ArgMin",
            "Mod",
            "Hardmax",
        ),
    ),
    Refused(
        "sorting",
        "it is piecewise linear, but not supported; write it with maximum and minimum",
        ("sort", "topk", "median", "kthvalue"),
        ("TopK",),
    ),
    Refused(
        "products and deviations of entries",
        f"{_ITSELF}: it multiplies parts of the input with each other",
        ("prod", "std", "var", "var_mean"),
        ("ReduceProd",),
    ),
    Refused(
        "norms",
        f"{_ITSELF} in general; write the 1-norm with abs and sum",
        ("norm", "linalg_vector_norm", "cdist"),
        ("ReduceL2", "ReduceL1", "ReduceSumSquare"),
    ),
    Refused(
        "recurrent layers",
        f"{_ITSELF}",
        ("lstm", "gru", "rnn_tanh"),
        ("LSTM", "GRU", "RNN"),
    ),
    Refused(
        "quantisation",
        "it rounds, so it jumps; import the model before quantisation",
        ("quantize_per_tensor", "fake_quantize_per_tensor_affine"),
        (
            "QuantizeLinear",
            "DequantizeLinear",
            "QLinearConv",
            "QLinearMatMul",
            "MatMulInteger",
            "DynamicQuantizeLinear",
        ),
    ),
    Refused(
        "products of two tensors that depend on the input",
        f"{_ITSELF}; only products with constants are",
        ("einsum",),
        ("Einsum",),
    ),
)

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
