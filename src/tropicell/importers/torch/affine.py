"""Handlers for ATen operators: affine ones; see `torch_registry`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tropicell.errors import UnsupportedOperatorError
from tropicell.importers import lowering, shapes
from tropicell.importers.builder import Builder
from tropicell.importers.expressions import (
    Value,
    add,
    is_constant,
    scale,
)
from tropicell.importers.lowering import Window
from tropicell.importers.operators import REFUSED
from tropicell.importers.torch.registry import (
    Args,
    TorchHandler,
    axes_of,
    constant,
    handles,
    numbers_of,
    product_refused,
    value_of,
    window_of,
)


@handles("linear")
def _linear(_: Builder, a: Args, name: str) -> Value:
    weight = constant(a["weight"], "aten.linear", "weight", name)
    result = lowering.matmul(a["input"], np.swapaxes(weight, -1, -2) if weight.ndim > 1 else weight)
    return result if a["bias"] is None else add(result, a["bias"])


@handles("addmm", "baddbmm")
def _addmm(_: Builder, a: Args, name: str) -> Value:
    left, right = (a["mat1"], a["mat2"]) if "mat1" in a else (a["batch1"], a["batch2"])
    if not (is_constant(left) or is_constant(right)):
        raise product_refused("aten.addmm", name)
    product = scale(lowering.matmul(left, right), np.asarray(float(a["alpha"])))
    return add(product, a["self"], scale=float(a["beta"]))


@handles("matmul", "mm", "bmm", "mv", "dot")
def _matmul(_: Builder, a: Args, name: str) -> Value:
    right = next(a[key] for key in ("other", "mat2", "vec", "tensor") if key in a)
    if not (is_constant(a["self"]) or is_constant(right)):
        raise product_refused("aten.matmul", name)
    return lowering.matmul(a["self"], right)


def _pads(padding: Any, weight: Any, dilation: Sequence[int]) -> list[tuple[int, int]]:
    dims = weight.ndim - 2
    if padding == "valid":
        return [(0, 0)] * dims
    if padding == "same":
        totals = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:], strict=True)]
        return [(total // 2, total - total // 2) for total in totals]
    return [(p, p) for p in numbers_of(padding, dims)]


@handles(
    "conv1d", "conv2d", "conv3d", "convolution",
    "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
)  # fmt: skip
def _convolution(_: Builder, a: Args, name: str) -> Value:
    weight = constant(a["weight"], "aten.convolution", "weight", name)
    bias = constant(a["bias"], "aten.convolution", "bias", name)
    dims = weight.ndim - 2
    dilation = numbers_of(a["dilation"], dims)
    transposed = bool(a.get("transposed", "output_padding" in a))
    return lowering.convolution(
        a["input"],
        weight,
        bias,
        Window(
            weight.shape[2:],
            numbers_of(a["stride"], dims),
            _pads(a["padding"], weight, dilation),
            dilation,
        ),
        groups=int(a["groups"]),
        transposed=transposed,
        output_padding=numbers_of(a["output_padding"], dims) if transposed else (),
    )


@handles("batch_norm", "_native_batch_norm_legit_no_training")
def _batch_norm(_: Builder, a: Args, name: str) -> Value | list[Value | None]:
    if a.get("training") or a["running_mean"] is None or a["running_var"] is None:
        advice = next(row.advice for row in REFUSED if row.name.startswith("batch norm"))
        raise UnsupportedOperatorError("aten.batch_norm (training mode)", name, advice)
    result = lowering.batch_norm(
        a["input"],
        weight=a["weight"],
        bias=a["bias"],
        mean=a["running_mean"],
        variance=a["running_var"],
        epsilon=float(a["eps"]),
    )
    return result if "training" in a else [result, None, None]


def _average_pool(dims: int) -> TorchHandler:
    def handler(_: Builder, a: Args, name: str) -> Value:
        return lowering.average_pool(
            a["self"],
            window_of(a, dims),
            count_padding=bool(a["count_include_pad"]),
            divisor=a.get("divisor_override"),
        )

    return handler


for _n in (1, 2, 3):
    handles(f"avg_pool{_n}d")(_average_pool(_n))


@handles(
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d",
    "_adaptive_avg_pool2d", "_adaptive_avg_pool3d",
)  # fmt: skip
def _adaptive_average(_: Builder, a: Args, name: str) -> Value:
    return lowering.adaptive_average_pool(a["self"], a["output_size"])


@handles("mean")
def _mean(_: Builder, a: Args, name: str) -> Value:
    return lowering.reduce(a["self"], axes_of(a.get("dim")), keep=bool(a.get("keepdim")), mean=True)


@handles("sum")
def _sum(_: Builder, a: Args, name: str) -> Value:
    return lowering.reduce(
        a["self"], axes_of(a.get("dim")), keep=bool(a.get("keepdim")), mean=False
    )


@handles("cumsum")
def _cumsum(_: Builder, a: Args, name: str) -> Value:
    return shapes.cumulative_sum(a["self"], a["dim"])


@handles("add")
def _add(_: Builder, a: Args, name: str) -> Value:
    return add(a["self"], value_of(a["other"]), scale=float(a["alpha"]))


@handles("sub", "subtract")
def _sub(_: Builder, a: Args, name: str) -> Value:
    return add(a["self"], value_of(a["other"]), scale=-float(a["alpha"]))


@handles("rsub")
def _rsub(_: Builder, a: Args, name: str) -> Value:
    return add(value_of(a["other"]), a["self"], scale=-float(a["alpha"]))


@handles("mul", "multiply")
def _mul(_: Builder, a: Args, name: str) -> Value:
    left, right = value_of(a["self"]), value_of(a["other"])
    if is_constant(right):
        return scale(left, right)
    if is_constant(left):
        return scale(right, left)
    raise product_refused("aten.mul", name)


@handles("div", "divide", "true_divide")
def _div(_: Builder, a: Args, name: str) -> Value:
    if not is_constant(a["other"]):
        raise product_refused("aten.div", name)
    if a.get("rounding_mode") is not None:
        raise UnsupportedOperatorError("aten.div with rounding", name, "it rounds, so it jumps")
    with np.errstate(divide="ignore"):
        return scale(a["self"], 1.0 / np.asarray(a["other"], dtype=np.float64))


@handles("neg")
def _neg(_: Builder, a: Args, name: str) -> Value:
    return scale(a["self"], np.asarray(-1.0))
