"""Handlers for ATen operators, one function each: activations, affine maps, moved entries.

What a handler gets and returns says `tropicell.importers.torch.registry`; which operators there
are, and how they are written, says the table in `tropicell.importers.operators`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tropicell.errors import UnsupportedOperatorError, require
from tropicell.importers import lowering, nonlinear, shapes
from tropicell.importers.builder import Builder
from tropicell.importers.expressions import (
    Condition,
    Expression,
    Value,
    add,
    broadcast,
    finite,
    is_constant,
    join,
    scale,
    take,
)
from tropicell.importers.lowering import Window
from tropicell.importers.operators import POWER_ADVICE, REFUSED, at_node
from tropicell.importers.torch.registry import (
    Args,
    TorchHandler,
    axes_of,
    constant,
    handles,
    numbers_of,
    product_refused,
    registry,
    value_of,
    window_of,
)
from tropicell.network import activations

# --- piecewise-linear operators -------------------------------------------------------------------


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
    handles(f"max_pool{_n}d_with_indices")(_max_pool(_n, 2))


@handles("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
def _adaptive_max(builder: Builder, a: Args, name: str) -> list[Value | None]:
    return [nonlinear.adaptive_max_pool(builder, a["self"], a["output_size"], name), None]


@handles("fmax")
def _fmax(builder: Builder, a: Args, name: str) -> Value:
    return nonlinear.maximum(builder, a["self"], a["other"], name)


@handles("fmin")
def _fmin(builder: Builder, a: Args, name: str) -> Value:
    return nonlinear.minimum(builder, a["self"], a["other"], name)


@handles("aminmax")
def _aminmax(builder: Builder, a: Args, name: str) -> list[Value | None]:
    axes, keep = axes_of(a["dim"]), bool(a["keepdim"])
    return [
        nonlinear.reduce_extreme(builder, a["self"], axes, name, keep=keep, largest=largest)
        for largest in (False, True)
    ]


@handles("cummax")
def _cummax(builder: Builder, a: Args, name: str) -> list[Value | None]:
    return [nonlinear.running_extreme(builder, a["self"], a["dim"], name, largest=True), None]


@handles("cummin")
def _cummin(builder: Builder, a: Args, name: str) -> list[Value | None]:
    return [nonlinear.running_extreme(builder, a["self"], a["dim"], name, largest=False), None]


@handles("sort", "msort")
def _sort(builder: Builder, a: Args, name: str) -> Value | list[Value | None]:
    x, axis = a["self"], a.get("dim", 0)
    ranks = range(x.shape[axis])
    order = ranks[::-1] if a.get("descending") else ranks
    result = nonlinear.sort_along(builder, x, axis, order, name)
    return [result, None] if "dim" in a else result


@handles("topk")
def _topk(builder: Builder, a: Args, name: str) -> list[Value | None]:
    x, axis = a["self"], a["dim"]
    ranks = range(x.shape[axis])
    order = ranks[::-1] if a["largest"] else ranks
    return [nonlinear.sort_along(builder, x, axis, order[: a["k"]], name), None]


@handles("median", "nanmedian", "kthvalue")
def _rank(builder: Builder, a: Args, name: str) -> Value | list[Value | None]:
    x, axis = a["self"], a.get("dim")
    if axis is None:
        flat = shapes.reshape(x, [-1])
        middle = nonlinear.sort_along(builder, flat, 0, [(x.size - 1) // 2], name)
        return shapes.reshape(middle, [])
    rank = a["k"] - 1 if "k" in a else (x.shape[axis] - 1) // 2  # torch's median is the lower one
    found = nonlinear.sort_along(builder, x, axis, [rank], name)
    return [found if a["keepdim"] else shapes.squeeze(found, [axis]), None]


@handles("linalg_vector_norm", "norm")
def _norm(builder: Builder, a: Args, name: str) -> Value:
    order = a["ord"] if "ord" in a else a["p"]
    return nonlinear.vector_norm(
        builder,
        a["self"],
        2.0 if order is None else float(order),
        axes_of(a.get("dim")),
        name,
        keep=bool(a.get("keepdim")),
        operator="aten.norm",
    )


@handles("cdist")
def _cdist(builder: Builder, a: Args, name: str) -> Value:
    left = take(value_of(a["x1"]), lambda at: at[..., :, None, :])
    right = take(value_of(a["x2"]), lambda at: at[..., None, :, :])
    apart, order = add(left, right, scale=-1.0), float(a["p"])
    return nonlinear.vector_norm(
        builder, apart, order, (-1,), name, keep=False, operator="aten.cdist"
    )


def _comparison(sign: str, spelling: str) -> TorchHandler:
    def handler(_: Builder, a: Args, name: str) -> Any:
        left, right = value_of(a["self"]), value_of(a["other"])
        return nonlinear.compared(left, right, sign, f"aten.{spelling}", name)

    return handler


for _sign, _spellings in {
    ">": ("gt", "greater"),
    ">=": ("ge", "greater_equal"),
    "<": ("lt", "less"),
    "<=": ("le", "less_equal"),
}.items():
    for _spelling in _spellings:
        handles(_spelling)(_comparison(_sign, _spelling))


@handles("logical_not", "bitwise_not")
def _not(_: Builder, a: Args, name: str) -> Any:
    return _condition(a["self"], "aten.logical_not", name).opposite()


def _condition(value: Any, operator: str, name: str) -> Condition:
    if not isinstance(value, Condition):
        raise UnsupportedOperatorError(
            operator, name, "it asks whether numbers are 0, which jumps; write it with relu"
        )
    return value


# --- affine operators -----------------------------------------------------------------------------


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


@handles("addmv")
def _addmv(_: Builder, a: Args, name: str) -> Value:
    if not (is_constant(a["mat"]) or is_constant(a["vec"])):
        raise product_refused("aten.addmv", name)
    product = scale(lowering.matmul(a["mat"], a["vec"]), np.asarray(float(a["alpha"])))
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


@handles("instance_norm")
def _instance_norm(_: Builder, a: Args, name: str) -> Value:
    if a["use_input_stats"] or a["running_mean"] is None or a["running_var"] is None:
        advice = next(row.advice for row in REFUSED if row.name.startswith("layer, group"))
        raise UnsupportedOperatorError("aten.instance_norm", name, advice)
    return lowering.batch_norm(
        a["input"],
        weight=a["weight"],
        bias=a["bias"],
        mean=a["running_mean"],
        variance=a["running_var"],
        epsilon=float(a["eps"]),
    )


@handles("pow")
def _power(_: Builder, a: Args, name: str) -> Value:
    base, exponent = value_of(a["self"]), a["exponent"]
    if isinstance(exponent, Expression) or not np.all(np.asarray(exponent) == 1):
        raise UnsupportedOperatorError("aten.pow", name, POWER_ADVICE)
    return scale(base, np.ones(np.shape(exponent)))


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


@handles("diff")
def _diff(_: Builder, a: Args, name: str) -> Value:
    axis, ends = a["dim"], (a["prepend"], a["self"], a["append"])
    parts = [value_of(part) for part in ends if part is not None]
    value = shapes.concatenate(parts, axis) if len(parts) > 1 else a["self"]
    for _time in range(a["n"]):
        later = shapes.part(value, axis, 1, value.shape[axis], 1)
        value = add(later, shapes.part(value, axis, 0, value.shape[axis] - 1, 1), scale=-1.0)
    return value


@handles("lerp")
def _lerp(_: Builder, a: Args, name: str) -> Value:
    if not is_constant(a["weight"]):
        raise product_refused("aten.lerp", name)
    way = add(value_of(a["end"]), value_of(a["self"]), scale=-1.0)
    return add(value_of(a["self"]), scale(way, np.asarray(a["weight"], dtype=np.float64)))


@handles("sub", "subtract")
def _sub(_: Builder, a: Args, name: str) -> Value:
    return add(a["self"], value_of(a["other"]), scale=-float(a["alpha"]))


@handles("rsub")
def _rsub(_: Builder, a: Args, name: str) -> Value:
    return add(value_of(a["other"]), a["self"], scale=-float(a["alpha"]))


@handles("mul", "multiply")
def _mul(builder: Builder, a: Args, name: str) -> Value:
    for mask, value in ((a["self"], a["other"]), (a["other"], a["self"])):
        if isinstance(mask, Condition):
            if isinstance(value, Condition):
                raise value.refusal()
            return nonlinear.cases(builder, mask, value_of(value), "aten.mul", name)
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


@handles("einsum")
def _einsum(_: Builder, a: Args, name: str) -> Value:
    if sum(not is_constant(value) for value in a["tensors"]) > 1:
        raise product_refused("aten.einsum", name)
    return lowering.einsum(a["equation"], a["tensors"])


@handles("index_add")
def _index_add(_: Builder, a: Args, name: str) -> Value:
    index = np.asarray(constant(a["index"], "aten.index_add", "index", name))
    x, axis = a["self"], a["dim"] % a["self"].ndim
    at = np.take(np.arange(x.size).reshape(x.shape), index.ravel(), axis=axis)
    source = scale(broadcast(a["source"], at.shape), np.asarray(float(a["alpha"])))
    return lowering.scatter_add(x, source, at)


@handles("scatter_add")
def _scatter_add(_: Builder, a: Args, name: str) -> Value:
    index = np.asarray(constant(a["index"], "aten.scatter_add", "index", name))
    at = shapes.gather_elements(np.arange(a["self"].size).reshape(a["self"].shape), index, a["dim"])
    source = take(a["src"], lambda here: here[tuple(slice(0, n) for n in index.shape)])
    return lowering.scatter_add(a["self"], source, np.asarray(at))


@handles("scatter_reduce")
def _scatter_reduce(builder: Builder, a: Args, name: str) -> Value:
    index = np.asarray(constant(a["index"], "aten.scatter_reduce", "index", name))
    x, how, itself = value_of(a["self"]), str(a["reduce"]), bool(a["include_self"])
    everything = np.arange(math.prod(x.shape)).reshape(x.shape)
    at = np.asarray(shapes.gather_elements(everything, index, a["dim"]))
    source = take(value_of(a["src"]), lambda here: here[tuple(slice(0, n) for n in index.shape)])
    if how in ("amax", "amin"):
        return nonlinear.scatter_extreme(
            builder, x, source, at, name, largest=how == "amax", itself=itself
        )
    if how == "prod":
        raise product_refused("aten.scatter_reduce", name)
    counts = np.bincount(at.ravel(), minlength=everything.size).reshape(x.shape)
    own = np.ones(x.shape) if itself else np.where(counts == 0, 1.0, 0.0)
    total = lowering.scatter_add(scale(x, own), source, at)
    return total if how == "sum" else scale(total, 1.0 / (counts + own))


@handles("col2im")
def _col2im(_: Builder, a: Args, name: str) -> Value:
    pads = [(p, p) for p in numbers_of(a["padding"], 2)]
    spans = (numbers_of(a[key], 2) for key in ("kernel_size", "stride", "dilation"))
    kernel, stride, dilation = spans
    image = tuple(a["output_size"])
    return lowering.fold(a["self"], image, Window(kernel, stride, pads, dilation))


def _upsample(spelling: str) -> TorchHandler:
    """Resized axes: the matrix of each axis is what torch makes of the identity."""
    aten = f"{spelling[:-2]}1d" if "nearest" in spelling else "upsample_linear1d"
    flat = "cubic" not in spelling and not spelling.endswith("_aa")

    def handler(_: Builder, a: Args, name: str) -> Value:
        torch = require("torch", extra="torch", why="reading a torch model")
        x = a["input"] if "input" in a else a["self"]
        dims = x.ndim - 2
        scales = a.get("scale_factors") or [a[k] for k in a if k.startswith("scales")]
        scales = list(scales) or [None] * dims
        align = [bool(a["align_corners"])] if "align_corners" in a else []
        matrices = []
        for axis, n in enumerate(x.shape[2:]):
            m = a["output_size"][axis] if a["output_size"] else int(n * scales[axis])
            eye = torch.eye(n, dtype=torch.float64)
            if flat:
                rows = getattr(torch.ops.aten, aten).default(eye[None], [m], *align, scales[axis])
            else:
                operator = getattr(torch.ops.aten, spelling).default
                rows = operator(eye[None, :, None], [1, m], *align, None, scales[axis])
            matrices.append(rows.reshape(n, m).T.numpy())
        return lowering.along_axes(x, matrices)

    return handler


for _spelling in (
    "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d",
    "_upsample_nearest_exact1d", "_upsample_nearest_exact2d", "_upsample_nearest_exact3d",
    "upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d", "upsample_bicubic2d",
    "_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa",
):  # fmt: skip
    handles(_spelling)(_upsample(_spelling))


# --- operators that move entries around -----------------------------------------------------------


@handles("view", "reshape", "_unsafe_view")
def _view(_: Builder, a: Args, name: str) -> Value:
    if "dtype" in a:
        raise UnsupportedOperatorError("aten.view.dtype", name, "it reinterprets bits")
    return shapes.reshape(a["self"], a["size"] if "size" in a else a["shape"])


@handles("flatten")
def _flatten(_: Builder, a: Args, name: str) -> Value:
    return shapes.flatten(a["self"], a["start_dim"], a["end_dim"])


@handles("ravel")
def _ravel(_: Builder, a: Args, name: str) -> Value:
    return shapes.reshape(a["self"], [-1])


@handles("unflatten")
def _unflatten(_: Builder, a: Args, name: str) -> Value:
    x, axis = a["self"], a["dim"] % a["self"].ndim
    sizes = list(a["sizes"])
    if -1 in sizes:
        known = -int(np.prod(sizes))
        sizes[sizes.index(-1)] = x.shape[axis] // known
    return shapes.reshape(x, [*x.shape[:axis], *sizes, *x.shape[axis + 1 :]])


@handles("permute", "numpy_T")
def _permute(_: Builder, a: Args, name: str) -> Value:
    return shapes.transpose(a["self"], a.get("dims"))


@handles("transpose", "swapaxes")
def _transpose(_: Builder, a: Args, name: str) -> Value:
    first, second = (a["dim0"], a["dim1"]) if "dim0" in a else (a["axis0"], a["axis1"])
    return take(a["self"], lambda at: np.swapaxes(at, first, second))


@handles("t")
def _t(_: Builder, a: Args, name: str) -> Value:
    return take(a["self"], np.transpose)


@handles("movedim")
def _movedim(_: Builder, a: Args, name: str) -> Value:
    return take(a["self"], lambda at: np.moveaxis(at, a["source"], a["destination"]))


@handles("squeeze")
def _squeeze(_: Builder, a: Args, name: str) -> Value:
    dim = a.get("dim")
    return shapes.squeeze(a["self"], [dim] if isinstance(dim, int) else dim)


@handles("unsqueeze")
def _unsqueeze(_: Builder, a: Args, name: str) -> Value:
    return shapes.unsqueeze(a["self"], [a["dim"]])


@handles("expand", "broadcast_to")
def _expand(_: Builder, a: Args, name: str) -> Value:
    return shapes.expand(a["self"], a["size"])


@handles("expand_as")
def _expand_as(_: Builder, a: Args, name: str) -> Value:
    return shapes.expand(a["self"], a["other"].shape)


@handles("repeat")
def _repeat(_: Builder, a: Args, name: str) -> Value:
    return shapes.tile(a["self"], a["repeats"])


@handles("cat", "concat")
def _cat(_: Builder, a: Args, name: str) -> Value:
    return shapes.concatenate(a["tensors"], a["dim"])


@handles("stack")
def _stack(_: Builder, a: Args, name: str) -> Value:
    return join(a["tensors"], lambda at: np.stack(at, axis=a["dim"]))


@handles("split", "split_with_sizes")
def _split(_: Builder, a: Args, name: str) -> list[Value | None]:
    size = a["split_size"] if "split_size" in a else a["split_sizes"]
    length = a["self"].shape[a["dim"]]
    sizes = shapes.chunks(length, size) if isinstance(size, int) else size
    return [*shapes.split(a["self"], sizes, a["dim"])]


@handles("chunk")
def _chunk(_: Builder, a: Args, name: str) -> list[Value | None]:
    length = a["self"].shape[a["dim"]]
    return [*shapes.split(a["self"], shapes.chunks(length, -(-length // a["chunks"])), a["dim"])]


@handles("unbind")
def _unbind(_: Builder, a: Args, name: str) -> list[Value | None]:
    count = a["self"].shape[a["dim"]]
    return [shapes.gather(a["self"], i, a["dim"]) for i in range(count)]


@handles("slice")
def _slice(_: Builder, a: Args, name: str) -> Value:
    return shapes.part(a["self"], a["dim"], a["start"], a["end"], a["step"])


@handles("narrow")
def _narrow(_: Builder, a: Args, name: str) -> Value:
    start = int(a["start"]) % max(a["self"].shape[a["dim"]], 1)
    return shapes.part(a["self"], a["dim"], start, start + a["length"])


@handles("select")
def _select(_: Builder, a: Args, name: str) -> Value:
    return shapes.gather(a["self"], a["index"], a["dim"])


@handles("index_select")
def _index_select(_: Builder, a: Args, name: str) -> Value:
    return shapes.gather(
        a["self"], constant(a["index"], "aten.index_select", "index", name), a["dim"]
    )


@handles("index")
def _index(_: Builder, a: Args, name: str) -> Value:
    for index in a["indices"]:
        constant(index, "aten.index", "index", name)
    where = tuple(slice(None) if i is None else np.asarray(i) for i in a["indices"])
    return take(a["self"], lambda at: at[where])


@handles("gather")
def _gather(_: Builder, a: Args, name: str) -> Value:
    indices = constant(a["index"], "aten.gather", "index", name)
    return shapes.gather_elements(a["self"], indices, a["dim"])


@handles("flip")
def _flip(_: Builder, a: Args, name: str) -> Value:
    return take(a["self"], lambda at: np.flip(at, tuple(a["dims"])))


@handles("roll")
def _roll(_: Builder, a: Args, name: str) -> Value:
    return take(a["self"], lambda at: np.roll(at, a["shifts"], tuple(a["dims"]) or None))


@handles(
    "constant_pad_nd", "pad",
    "reflection_pad1d", "reflection_pad2d", "reflection_pad3d",
    "replication_pad1d", "replication_pad2d", "replication_pad3d",
)  # fmt: skip
def _pad(_: Builder, a: Args, name: str) -> Value:
    numbers = list(a["pad"] if "pad" in a else a["padding"])
    mode = a.get("mode") or ("constant" if "pad" in a else a["__mode__"])
    # torch lists the last axis first
    pairs = list(zip(numbers[0::2], numbers[1::2], strict=True))[::-1]
    pairs = [(0, 0)] * (a["self"].ndim - len(pairs)) + pairs
    return shapes.pad(a["self"], pairs, mode, a.get("value"))


@handles("copy")
def _copy(_: Builder, a: Args, name: str) -> Value:
    return broadcast(a["src"], tuple(a["self"].shape))


@handles("slice_scatter")
def _slice_scatter(_: Builder, a: Args, name: str) -> Value:
    return _overwritten(a, slice(a["start"], a["end"], a["step"]))


@handles("select_scatter")
def _select_scatter(_: Builder, a: Args, name: str) -> Value:
    return _overwritten(a, a["index"])


def _overwritten(a: Args, where: slice | int) -> Value:
    """The tensor with another one in a place along one axis."""
    place: list[Any] = [slice(None)] * a["self"].ndim
    place[a["dim"]] = where

    def move(at: list[Any]) -> Any:
        result = at[0].copy()
        result[tuple(place)] = at[1]
        return result

    return join([a["self"], a["src"]], move)


@handles("scatter", "index_copy", "index_fill", "index_put")
def _scattered(builder: Builder, a: Args, name: str) -> Value:
    x = a["self"]
    what = next(a[key] for key in ("src", "source", "value", "values") if key in a)
    source = what if isinstance(what, Expression) else np.asarray(what, dtype=np.float64)
    indices = a["indices"] if "indices" in a else [a["index"]]
    if len(indices) == 1 and isinstance(indices[0], Condition):
        return nonlinear.where(builder, indices[0], source, x, "aten.index_put", name)
    for index in indices:
        constant(index, "aten.index_put", "index", name)
    positions = np.arange(math.prod(x.shape)).reshape(x.shape)
    if "src" in a or ("value" in a and np.ndim(a["index"]) == x.ndim):  # scatter
        at = np.asarray(shapes.gather_elements(positions, a["index"], a["dim"]))
        if source.ndim:
            source = take(source, lambda here: here[tuple(slice(0, n) for n in at.shape)])
    elif "indices" in a:
        at = positions[tuple(slice(None) if i is None else np.asarray(i) for i in indices)]
    else:
        at = np.take(positions, np.ravel(a["index"]), axis=a["dim"])
    full = broadcast(source, at.shape)
    if a.get("accumulate"):
        return lowering.scatter_add(x, full, at)

    def move(parts: list[Any]) -> Any:
        result = parts[0].copy()
        result.ravel()[np.ravel(at)] = np.ravel(parts[1])
        return result

    return join([x, full], move)


def _moved(spelling: str) -> TorchHandler:
    """What moves entries, or puts zeros there: torch does it with the entries' numbers."""

    def handler(_: Builder, a: Args, name: str) -> Value:
        torch = require("torch", extra="torch", why="reading a torch model")
        others = {k: constant(v, f"aten.{spelling}", k, name) for k, v in a.items() if k != "self"}
        ready = {
            k: torch.from_numpy(v) if isinstance(v, np.ndarray) else v for k, v in others.items()
        }

        def move(at: list[Any]) -> Any:
            numbered = torch.from_numpy(at[0].astype(np.float64) + 1)
            moved = getattr(torch.ops.aten, spelling)(numbered, **ready).numpy().astype(np.intp)
            return np.where(moved > 0, moved - 1, at[1])

        return join([a["self"], np.zeros(())], move)

    return handler


for _spelling in (
    "pixel_shuffle", "pixel_unshuffle", "channel_shuffle", "native_channel_shuffle", "unfold",
    "im2col", "tril", "triu", "diagonal", "rot90", "repeat_interleave", "tile", "masked_select",
):  # fmt: skip
    handles(_spelling)(_moved(_spelling))


@handles("where")
def _where(builder: Builder, a: Args, name: str) -> Value:
    yes, no = value_of(a["self"]), value_of(a["other"])
    return nonlinear.where(builder, a["condition"], yes, no, "aten.where", name)


@handles("masked_fill")
def _masked_fill(builder: Builder, a: Args, name: str) -> Value:
    fill = value_of(a["value"])
    return nonlinear.where(builder, a["mask"], fill, a["self"], "aten.masked_fill", name)


@handles(
    "clone", "contiguous", "alias", "detach", "lift_fresh_copy", "_assert_tensor_metadata",
    "nan_to_num", "positive",
)  # fmt: skip
def _same(_: Builder, a: Args, name: str) -> Value:
    return next(iter(a.values()))  # type: ignore[no-any-return]


@handles("dropout", "feature_dropout", "alpha_dropout")
def _dropout(_: Builder, a: Args, name: str) -> Value:
    if a["train"] and a["p"] > 0:
        raise UnsupportedOperatorError(
            "aten.dropout (training mode)", name, "its output is random; call .eval() first"
        )
    return a["input"]  # type: ignore[no-any-return]


@handles("_to_copy", "to", "type_as")
def _cast(_: Builder, a: Args, name: str) -> Value:
    dtype = a.get("dtype") or getattr(a.get("other"), "dtype", None)
    floating = getattr(dtype, "is_floating_point", None)
    if floating is None and dtype is not None:
        floating = np.dtype(dtype).kind == "f"
    if dtype is not None and not floating and not isinstance(a["self"], Condition):
        raise UnsupportedOperatorError(f"cast to {dtype}", name, "it rounds, so it jumps")
    if str(dtype).endswith("bfloat16"):
        raise UnsupportedOperatorError(
            f"cast to {dtype}", name, "it keeps two decimal digits; import the model without it"
        )
    return a["self"]  # type: ignore[no-any-return]


@handles("zeros_like", "new_zeros", "empty_like", "new_empty")
def _zeros(_: Builder, a: Args, name: str) -> Value:
    return np.zeros(a.get("size", a["self"].shape))


@handles("isnan", "isinf")
def _never(_: Builder, a: Args, name: str) -> Value:
    return np.zeros(a["self"].shape, bool)


@handles("isfinite")
def _always(_: Builder, a: Args, name: str) -> Value:
    return np.ones(a["self"].shape, bool)


@handles("ones_like", "new_ones")
def _ones(_: Builder, a: Args, name: str) -> Value:
    return np.ones(a.get("size", a["self"].shape))


@handles("full_like", "new_full")
def _full(_: Builder, a: Args, name: str) -> Value:
    return np.full(a.get("size", a["self"].shape), float(a["fill_value"]))


#: Operators that may take what a comparison gives.
_TAKE_CONDITIONS = frozenset(
    {"where", "masked_fill", "index_put", "mul", "multiply", "logical_not", "bitwise_not"}
    | {"_to_copy", "to", "type_as", "clone", "contiguous", "alias", "detach"}
    | {"_assert_tensor_metadata"}
)

# --- calling a handler ----------------------------------------------------------------------------


def run(builder: Builder, operator: str, arguments: Args, name: str) -> list[Value | None]:
    """Call the handler of one operator; always a list of results."""
    if operator.startswith(("reflection_pad", "replication_pad")):
        mode = "reflect" if operator.startswith("refl") else "replicate"
        arguments = {**arguments, "__mode__": mode}
    if operator not in _TAKE_CONDITIONS:
        for value in arguments.values():
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, Condition):
                    raise part.refusal()
    with at_node(name, operator):
        result = registry.handlers[operator](builder, arguments, name)
    return result if isinstance(result, list) else [result]
