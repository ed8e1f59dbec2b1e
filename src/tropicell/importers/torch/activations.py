"""Handlers for ATen operators: piecewise-linear ones; see `torch_registry`."""

from __future__ import annotations

from tropicell.errors import UnsupportedOperatorError
from tropicell.importers import nonlinear
from tropicell.importers.builder import Builder
from tropicell.importers.expressions import (
    Expression,
    Value,
    finite,
    is_constant,
)
from tropicell.importers.torch.registry import (
    Args,
    TorchHandler,
    axes_of,
    constant,
    handles,
    value_of,
    window_of,
)
from tropicell.network import activations


@handles("relu")
def _relu(builder: Builder, a: Args, name: str) -> Value:
    return builder.activate(a["self"], activations.relu(), name)


@handles("leaky_relu")
def _leaky_relu(builder: Builder, a: Args, name: str) -> Value:
    return builder.activate(a["self"], activations.leaky_relu(float(a["negative_slope"])), name)


@handles("rrelu")
def _rrelu(builder: Builder, a: Args, name: str) -> Value:
    if a["training"]:
        raise UnsupportedOperatorError(
            "aten.rrelu (training mode)", name, "its output is random; call .eval() first"
        )
    slope = (float(a["lower"]) + float(a["upper"])) / 2
    return builder.activate(a["self"], activations.leaky_relu(slope), name)


@handles("prelu")
def _prelu(builder: Builder, a: Args, name: str) -> Value:
    slopes = finite(constant(a["weight"], "aten.prelu", "slope", name), "the slope of a prelu")
    x = a["self"]
    if slopes.size > 1:
        slopes = slopes.reshape([-1, *[1] * (x.ndim - 2)])
    return nonlinear.prelu(builder, x, slopes, name)


@handles("_prelu_kernel")
def _prelu_kernel(builder: Builder, a: Args, name: str) -> Value:
    slopes = constant(a["weight"], "aten.prelu", "slope", name)
    return nonlinear.prelu(builder, a["self"], slopes, name)


@handles("relu6")
def _relu6(builder: Builder, a: Args, name: str) -> Value:
    return builder.activate(a["self"], activations.relu6(), name)


@handles("hardtanh")
def _hardtanh(builder: Builder, a: Args, name: str) -> Value:
    return nonlinear.clip(builder, a["self"], a["min_val"], a["max_val"], name, label="hard_tanh")


@handles("clamp", "clip", "clamp_min", "clamp_max")
def _clamp(builder: Builder, a: Args, name: str) -> Value:
    value, low, high = value_of(a["self"]), a.get("min"), a.get("max")
    if isinstance(low, Expression) or (is_constant(value) and low is not None):
        value, low = nonlinear.maximum(builder, value, value_of(low), name), None
    if isinstance(high, Expression):
        value, high = nonlinear.minimum(builder, value, high, name), None
    return nonlinear.clip(builder, value, low, high, name)


@handles("threshold")
def _threshold(builder: Builder, a: Args, name: str) -> Value:
    if float(a["threshold"]) != float(a["value"]):
        raise UnsupportedOperatorError(
            "aten.threshold", name, "it jumps unless its value equals its threshold; use relu"
        )
    return nonlinear.clip(builder, a["self"], float(a["value"]), None, name)


@handles("abs")
def _abs(builder: Builder, a: Args, name: str) -> Value:
    return builder.activate(a["self"], activations.absolute(), name)


@handles("hardsigmoid")
def _hardsigmoid(builder: Builder, a: Args, name: str) -> Value:
    return builder.activate(a["self"], activations.hard_sigmoid(), name)


@handles("softshrink")
def _softshrink(builder: Builder, a: Args, name: str) -> Value:
    return builder.activate(a["self"], activations.soft_shrink(float(a["lambd"])), name)


def _extreme(largest: bool) -> TorchHandler:
    pairwise = nonlinear.maximum if largest else nonlinear.minimum

    def handler(builder: Builder, a: Args, name: str) -> Value | list[Value | None]:
        if "other" in a:
            return pairwise(builder, value_of(a["self"]), value_of(a["other"]), name)
        keep = bool(a.get("keepdim"))
        axes = axes_of(a.get("dim"))
        result = nonlinear.reduce_extreme(
            builder, a["self"], axes, name, keep=keep, largest=largest
        )
        return [result, None] if isinstance(a.get("dim"), int) else result

    return handler


handles("maximum", "max", "amax")(_extreme(True))
handles("minimum", "min", "amin")(_extreme(False))


def _max_pool(dims: int, results: int) -> TorchHandler:
    def handler(builder: Builder, a: Args, name: str) -> Value | list[Value | None]:
        result = nonlinear.max_pool(builder, a["self"], window_of(a, dims), name)
        return result if results == 1 else [result, None]

    return handler


for _n in (1, 2, 3):
    handles(f"max_pool{_n}d")(_max_pool(_n, 1))
    if _n > 1:
        handles(f"max_pool{_n}d_with_indices")(_max_pool(_n, 2))


@handles("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
def _adaptive_max(builder: Builder, a: Args, name: str) -> list[Value | None]:
    return [nonlinear.adaptive_max_pool(builder, a["self"], a["output_size"], name), None]
