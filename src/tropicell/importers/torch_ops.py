"""Handlers for ATen operators: arguments by their schema names, values in, values out.

A handler gets the builder, the arguments (tensors are values, see `expressions`) and the name of
the node; it returns one value, or a list for operators with several results. It is only called
if an argument depends on the input: operators on constants are run by torch itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tropicell import activations
from tropicell.errors import ModelImportError, UnsupportedOperatorError
from tropicell.importers import lowering, nonlinear, shapes
from tropicell.importers.builder import Builder
from tropicell.importers.expressions import (
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
from tropicell.importers.operators import PRODUCT_ADVICE, REFUSED, Registry

Args = dict[str, Any]
TorchHandler = Callable[[Builder, Args, str], "Value | list[Value | None]"]

registry: Registry[TorchHandler] = Registry("torch")
_handles = registry.handles


def _product_refused(operator: str, name: str) -> UnsupportedOperatorError:
    return UnsupportedOperatorError(operator, name, PRODUCT_ADVICE)


def _constant(value: Any, operator: str, what: str, name: str) -> Any:
    if isinstance(value, Expression):
        raise UnsupportedOperatorError(operator, name, f"its {what} depends on the input")
    return value


# --- affine ---------------------------------------------------------------------------------------


@_handles("linear")
def _linear(_: Builder, a: Args, name: str) -> Value:
    weight = _constant(a["weight"], "aten.linear", "weight", name)
    result = lowering.matmul(a["input"], np.swapaxes(weight, -1, -2) if weight.ndim > 1 else weight)
    return result if a["bias"] is None else add(result, a["bias"])


@_handles("addmm", "baddbmm")
def _addmm(_: Builder, a: Args, name: str) -> Value:
    left, right = (a["mat1"], a["mat2"]) if "mat1" in a else (a["batch1"], a["batch2"])
    if not (is_constant(left) or is_constant(right)):
        raise _product_refused("aten.addmm", name)
    product = scale(lowering.matmul(left, right), np.asarray(float(a["alpha"])))
    return add(product, a["self"], scale=float(a["beta"]))


@_handles("matmul", "mm", "bmm", "mv", "dot")
def _matmul(_: Builder, a: Args, name: str) -> Value:
    right = next(a[key] for key in ("other", "mat2", "vec", "tensor") if key in a)
    if not (is_constant(a["self"]) or is_constant(right)):
        raise _product_refused("aten.matmul", name)
    return lowering.matmul(a["self"], right)


def _pair(values: Any, dims: int) -> list[int]:
    """One number for every spatial axis: torch writes a single one for all."""
    numbers = [values] if isinstance(values, int) else list(values)
    return numbers * dims if len(numbers) == 1 else numbers


def _pads(padding: Any, weight: Any, dilation: Sequence[int]) -> list[tuple[int, int]]:
    dims = weight.ndim - 2
    if padding == "valid":
        return [(0, 0)] * dims
    if padding == "same":
        totals = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:], strict=True)]
        return [(total // 2, total - total // 2) for total in totals]
    return [(p, p) for p in _pair(padding, dims)]


@_handles(
    "conv1d", "conv2d", "conv3d", "convolution",
    "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
)  # fmt: skip
def _convolution(_: Builder, a: Args, name: str) -> Value:
    weight = _constant(a["weight"], "aten.convolution", "weight", name)
    bias = _constant(a["bias"], "aten.convolution", "bias", name)
    dims = weight.ndim - 2
    dilation = _pair(a["dilation"], dims)
    transposed = bool(a.get("transposed", "output_padding" in a))
    return lowering.convolution(
        a["input"],
        weight,
        bias,
        Window(
            weight.shape[2:],
            _pair(a["stride"], dims),
            _pads(a["padding"], weight, dilation),
            dilation,
        ),
        groups=int(a["groups"]),
        transposed=transposed,
        output_padding=_pair(a["output_padding"], dims) if transposed else (),
    )


@_handles("batch_norm", "_native_batch_norm_legit_no_training")
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


def _window(a: Args, dims: int) -> Window:
    kernel = _pair(a["kernel_size"], dims)
    stride = _pair(a["stride"], dims) if a["stride"] not in (None, []) else kernel
    pads = [(p, p) for p in _pair(a["padding"], dims)]
    return Window(kernel, stride, pads, _pair(a.get("dilation", 1), dims), bool(a["ceil_mode"]))


def _average_pool(dims: int) -> TorchHandler:
    def handler(_: Builder, a: Args, name: str) -> Value:
        return lowering.average_pool(
            a["self"],
            _window(a, dims),
            count_padding=bool(a["count_include_pad"]),
            divisor=a.get("divisor_override"),
        )

    return handler


def _max_pool(dims: int, results: int) -> TorchHandler:
    def handler(builder: Builder, a: Args, name: str) -> Value | list[Value | None]:
        result = nonlinear.max_pool(builder, a["self"], _window(a, dims), name)
        return result if results == 1 else [result, None]

    return handler


for _n in (1, 2, 3):
    _handles(f"avg_pool{_n}d")(_average_pool(_n))
    _handles(f"max_pool{_n}d")(_max_pool(_n, 1))
    if _n > 1:
        _handles(f"max_pool{_n}d_with_indices")(_max_pool(_n, 2))


@_handles(
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d",
    "_adaptive_avg_pool2d", "_adaptive_avg_pool3d",
)  # fmt: skip
def _adaptive_average(_: Builder, a: Args, name: str) -> Value:
    return lowering.adaptive_average_pool(a["self"], a["output_size"])


@_handles("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
def _adaptive_max(builder: Builder, a: Args, name: str) -> list[Value | None]:
    return [nonlinear.adaptive_max_pool(builder, a["self"], a["output_size"], name), None]


def _axes(dim: Any) -> list[int] | None:
    if dim is None or dim == []:
        return None
    return [dim] if isinstance(dim, int) else list(dim)


@_handles("mean")
def _mean(_: Builder, a: Args, name: str) -> Value:
    return lowering.reduce(a["self"], _axes(a.get("dim")), keep=bool(a.get("keepdim")), mean=True)


@_handles("sum")
def _sum(_: Builder, a: Args, name: str) -> Value:
    return lowering.reduce(a["self"], _axes(a.get("dim")), keep=bool(a.get("keepdim")), mean=False)


@_handles("cumsum")
def _cumsum(_: Builder, a: Args, name: str) -> Value:
    return shapes.cumulative_sum(a["self"], a["dim"])


def _value(number: Any) -> Value:
    return number if isinstance(number, Expression) else np.asarray(number)


@_handles("add")
def _add(_: Builder, a: Args, name: str) -> Value:
    return add(a["self"], _value(a["other"]), scale=float(a["alpha"]))


@_handles("sub", "subtract")
def _sub(_: Builder, a: Args, name: str) -> Value:
    return add(a["self"], _value(a["other"]), scale=-float(a["alpha"]))


@_handles("rsub")
def _rsub(_: Builder, a: Args, name: str) -> Value:
    return add(_value(a["other"]), a["self"], scale=-float(a["alpha"]))


@_handles("mul", "multiply")
def _mul(_: Builder, a: Args, name: str) -> Value:
    left, right = _value(a["self"]), _value(a["other"])
    if is_constant(right):
        return scale(left, right)
    if is_constant(left):
        return scale(right, left)
    raise _product_refused("aten.mul", name)


@_handles("div", "divide", "true_divide")
def _div(_: Builder, a: Args, name: str) -> Value:
    if not is_constant(a["other"]):
        raise _product_refused("aten.div", name)
    if a.get("rounding_mode") is not None:
        raise UnsupportedOperatorError("aten.div with rounding", name, "it rounds, so it jumps")
    with np.errstate(divide="ignore"):
        return scale(a["self"], 1.0 / np.asarray(a["other"], dtype=np.float64))


@_handles("neg")
def _neg(_: Builder, a: Args, name: str) -> Value:
    return scale(a["self"], np.asarray(-1.0))


# --- shapes ---------------------------------------------------------------------------------------


@_handles("view", "reshape", "_unsafe_view")
def _view(_: Builder, a: Args, name: str) -> Value:
    if "dtype" in a:
        raise UnsupportedOperatorError("aten.view.dtype", name, "it reinterprets bits")
    return shapes.reshape(a["self"], a["size"] if "size" in a else a["shape"])


@_handles("flatten")
def _flatten(_: Builder, a: Args, name: str) -> Value:
    return shapes.flatten(a["self"], a["start_dim"], a["end_dim"])


@_handles("ravel")
def _ravel(_: Builder, a: Args, name: str) -> Value:
    return shapes.reshape(a["self"], [-1])


@_handles("unflatten")
def _unflatten(_: Builder, a: Args, name: str) -> Value:
    x, axis = a["self"], a["dim"] % a["self"].ndim
    sizes = list(a["sizes"])
    if -1 in sizes:
        known = -int(np.prod(sizes))
        sizes[sizes.index(-1)] = x.shape[axis] // known
    return shapes.reshape(x, [*x.shape[:axis], *sizes, *x.shape[axis + 1 :]])


@_handles("permute", "numpy_T")
def _permute(_: Builder, a: Args, name: str) -> Value:
    return shapes.transpose(a["self"], a.get("dims"))


@_handles("transpose", "swapaxes")
def _transpose(_: Builder, a: Args, name: str) -> Value:
    first, second = (a["dim0"], a["dim1"]) if "dim0" in a else (a["axis0"], a["axis1"])
    return take(a["self"], lambda at: np.swapaxes(at, first, second))


@_handles("t")
def _t(_: Builder, a: Args, name: str) -> Value:
    return take(a["self"], np.transpose)


@_handles("movedim")
def _movedim(_: Builder, a: Args, name: str) -> Value:
    return take(a["self"], lambda at: np.moveaxis(at, a["source"], a["destination"]))


@_handles("squeeze")
def _squeeze(_: Builder, a: Args, name: str) -> Value:
    dim = a.get("dim")
    return shapes.squeeze(a["self"], [dim] if isinstance(dim, int) else dim)


@_handles("unsqueeze")
def _unsqueeze(_: Builder, a: Args, name: str) -> Value:
    return shapes.unsqueeze(a["self"], [a["dim"]])


@_handles("expand", "broadcast_to")
def _expand(_: Builder, a: Args, name: str) -> Value:
    return shapes.expand(a["self"], a["size"])


@_handles("expand_as")
def _expand_as(_: Builder, a: Args, name: str) -> Value:
    return shapes.expand(a["self"], a["other"].shape)


@_handles("repeat")
def _repeat(_: Builder, a: Args, name: str) -> Value:
    return shapes.tile(a["self"], a["repeats"])


@_handles("cat", "concat")
def _cat(_: Builder, a: Args, name: str) -> Value:
    return shapes.concatenate(a["tensors"], a["dim"])


@_handles("stack")
def _stack(_: Builder, a: Args, name: str) -> Value:
    return join(a["tensors"], lambda at: np.stack(at, axis=a["dim"]))


@_handles("split", "split_with_sizes")
def _split(_: Builder, a: Args, name: str) -> list[Value | None]:
    size = a["split_size"] if "split_size" in a else a["split_sizes"]
    length = a["self"].shape[a["dim"]]
    sizes = shapes.chunks(length, size) if isinstance(size, int) else size
    return [*shapes.split(a["self"], sizes, a["dim"])]


@_handles("chunk")
def _chunk(_: Builder, a: Args, name: str) -> list[Value | None]:
    length = a["self"].shape[a["dim"]]
    return [*shapes.split(a["self"], shapes.chunks(length, -(-length // a["chunks"])), a["dim"])]


@_handles("unbind")
def _unbind(_: Builder, a: Args, name: str) -> list[Value | None]:
    count = a["self"].shape[a["dim"]]
    return [shapes.gather(a["self"], i, a["dim"]) for i in range(count)]


@_handles("slice")
def _slice(_: Builder, a: Args, name: str) -> Value:
    return shapes.part(a["self"], a["dim"], a["start"], a["end"], a["step"])


@_handles("narrow")
def _narrow(_: Builder, a: Args, name: str) -> Value:
    start = int(a["start"]) % max(a["self"].shape[a["dim"]], 1)
    return shapes.part(a["self"], a["dim"], start, start + a["length"])


@_handles("select")
def _select(_: Builder, a: Args, name: str) -> Value:
    return shapes.gather(a["self"], a["index"], a["dim"])


@_handles("index_select")
def _index_select(_: Builder, a: Args, name: str) -> Value:
    return shapes.gather(
        a["self"], _constant(a["index"], "aten.index_select", "index", name), a["dim"]
    )


@_handles("index")
def _index(_: Builder, a: Args, name: str) -> Value:
    for index in a["indices"]:
        _constant(index, "aten.index", "index", name)
    where = tuple(slice(None) if i is None else np.asarray(i) for i in a["indices"])
    return take(a["self"], lambda at: at[where])


@_handles("flip")
def _flip(_: Builder, a: Args, name: str) -> Value:
    return take(a["self"], lambda at: np.flip(at, tuple(a["dims"])))


@_handles("roll")
def _roll(_: Builder, a: Args, name: str) -> Value:
    return take(a["self"], lambda at: np.roll(at, a["shifts"], tuple(a["dims"]) or None))


@_handles(
    "constant_pad_nd", "pad",
    "reflection_pad1d", "reflection_pad2d", "replication_pad1d", "replication_pad2d",
)  # fmt: skip
def _pad(_: Builder, a: Args, name: str) -> Value:
    numbers = list(a["pad"] if "pad" in a else a["padding"])
    mode = a.get("mode") or ("constant" if "pad" in a else a["__mode__"])
    # torch lists the last axis first
    pairs = list(zip(numbers[0::2], numbers[1::2], strict=True))[::-1]
    pairs = [(0, 0)] * (a["self"].ndim - len(pairs)) + pairs
    return shapes.pad(a["self"], pairs, mode, a.get("value"))


@_handles("copy")
def _copy(_: Builder, a: Args, name: str) -> Value:
    return broadcast(a["src"], tuple(a["self"].shape))


@_handles("slice_scatter")
def _slice_scatter(_: Builder, a: Args, name: str) -> Value:
    return _overwritten(a, slice(a["start"], a["end"], a["step"]))


@_handles("select_scatter")
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


@_handles("where")
def _where(_: Builder, a: Args, name: str) -> Value:
    yes, no = _value(a["self"]), _value(a["other"])
    return nonlinear.where(a["condition"], yes, no, "aten.where", name)


@_handles("masked_fill")
def _masked_fill(_: Builder, a: Args, name: str) -> Value:
    return nonlinear.where(a["mask"], _value(a["value"]), a["self"], "aten.masked_fill", name)


@_handles(
    "clone", "contiguous", "alias", "detach", "lift_fresh_copy", "_assert_tensor_metadata"
)  # fmt: skip
def _same(_: Builder, a: Args, name: str) -> Value:
    return next(iter(a.values()))  # type: ignore[no-any-return]


@_handles("dropout", "feature_dropout", "alpha_dropout")
def _dropout(_: Builder, a: Args, name: str) -> Value:
    if a["train"] and a["p"] > 0:
        raise UnsupportedOperatorError(
            "aten.dropout (training mode)", name, "its output is random; call .eval() first"
        )
    return a["input"]  # type: ignore[no-any-return]


@_handles("_to_copy", "to", "type_as")
def _cast(_: Builder, a: Args, name: str) -> Value:
    dtype = a.get("dtype") or getattr(a.get("other"), "dtype", None)
    floating = getattr(dtype, "is_floating_point", None)
    if floating is None and dtype is not None:
        floating = np.dtype(dtype).kind == "f"
    if dtype is not None and not floating:
        raise UnsupportedOperatorError(f"cast to {dtype}", name, "it rounds, so it jumps")
    return a["self"]  # type: ignore[no-any-return]


@_handles("zeros_like", "new_zeros")
def _zeros(_: Builder, a: Args, name: str) -> Value:
    return np.zeros(a.get("size", a["self"].shape))


@_handles("ones_like", "new_ones")
def _ones(_: Builder, a: Args, name: str) -> Value:
    return np.ones(a.get("size", a["self"].shape))


@_handles("full_like", "new_full")
def _full(_: Builder, a: Args, name: str) -> Value:
    return np.full(a.get("size", a["self"].shape), float(a["fill_value"]))


# --- activations ----------------------------------------------------------------------------------


@_handles("relu")
def _relu(builder: Builder, a: Args, name: str) -> Value:
    return builder.activate(a["self"], activations.relu(), name)


@_handles("leaky_relu")
def _leaky_relu(builder: Builder, a: Args, name: str) -> Value:
    return builder.activate(a["self"], activations.leaky_relu(float(a["negative_slope"])), name)


@_handles("rrelu")
def _rrelu(builder: Builder, a: Args, name: str) -> Value:
    if a["training"]:
        raise UnsupportedOperatorError(
            "aten.rrelu (training mode)", name, "its output is random; call .eval() first"
        )
    slope = (float(a["lower"]) + float(a["upper"])) / 2
    return builder.activate(a["self"], activations.leaky_relu(slope), name)


@_handles("prelu")
def _prelu(builder: Builder, a: Args, name: str) -> Value:
    slopes = finite(_constant(a["weight"], "aten.prelu", "slope", name), "the slope of a prelu")
    x = a["self"]
    if slopes.size > 1:
        slopes = slopes.reshape([-1, *[1] * (x.ndim - 2)])
    return nonlinear.prelu(builder, x, slopes, name)


@_handles("_prelu_kernel")
def _prelu_kernel(builder: Builder, a: Args, name: str) -> Value:
    slopes = _constant(a["weight"], "aten.prelu", "slope", name)
    return nonlinear.prelu(builder, a["self"], slopes, name)


@_handles("relu6")
def _relu6(builder: Builder, a: Args, name: str) -> Value:
    return builder.activate(a["self"], activations.relu6(), name)


@_handles("hardtanh")
def _hardtanh(builder: Builder, a: Args, name: str) -> Value:
    return nonlinear.clip(builder, a["self"], a["min_val"], a["max_val"], name, label="hard_tanh")


@_handles("clamp", "clip", "clamp_min", "clamp_max")
def _clamp(builder: Builder, a: Args, name: str) -> Value:
    value, low, high = _value(a["self"]), a.get("min"), a.get("max")
    if isinstance(low, Expression) or (is_constant(value) and low is not None):
        value, low = nonlinear.maximum(builder, value, _value(low), name), None
    if isinstance(high, Expression):
        value, high = nonlinear.minimum(builder, value, high, name), None
    return nonlinear.clip(builder, value, low, high, name)


@_handles("threshold")
def _threshold(builder: Builder, a: Args, name: str) -> Value:
    if float(a["threshold"]) != float(a["value"]):
        raise UnsupportedOperatorError(
            "aten.threshold", name, "it jumps unless its value equals its threshold; use relu"
        )
    return nonlinear.clip(builder, a["self"], float(a["value"]), None, name)


@_handles("abs")
def _abs(builder: Builder, a: Args, name: str) -> Value:
    return builder.activate(a["self"], activations.absolute(), name)


@_handles("hardsigmoid")
def _hardsigmoid(builder: Builder, a: Args, name: str) -> Value:
    return builder.activate(a["self"], activations.hard_sigmoid(), name)


@_handles("softshrink")
def _softshrink(builder: Builder, a: Args, name: str) -> Value:
    return builder.activate(a["self"], activations.soft_shrink(float(a["lambd"])), name)


def _extreme(largest: bool) -> TorchHandler:
    pairwise = nonlinear.maximum if largest else nonlinear.minimum

    def handler(builder: Builder, a: Args, name: str) -> Value | list[Value | None]:
        if "other" in a:
            return pairwise(builder, _value(a["self"]), _value(a["other"]), name)
        keep = bool(a.get("keepdim"))
        axes = _axes(a.get("dim"))
        result = nonlinear.reduce_extreme(
            builder, a["self"], axes, name, keep=keep, largest=largest
        )
        return [result, None] if isinstance(a.get("dim"), int) else result

    return handler


_handles("maximum", "max", "amax")(_extreme(True))
_handles("minimum", "min", "amin")(_extreme(False))


def run(builder: Builder, operator: str, arguments: Args, name: str) -> list[Value | None]:
    """Call the handler of one operator; always a list of results."""
    if operator.startswith(("reflection_pad", "replication_pad")):
        mode = "reflect" if operator.startswith("refl") else "replicate"
        arguments = {**arguments, "__mode__": mode}
    try:
        result = registry.handlers[operator](builder, arguments, name)
    except (ValueError, IndexError, TypeError) as error:
        if isinstance(error, ModelImportError):
            raise
        raise ModelImportError(
            f"{name}: operator {operator!r} could not be read: {error}"
        ) from error
    return result if isinstance(result, list) else [result]
