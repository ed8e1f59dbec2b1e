"""Handlers for ATen operators: those that move entries around; see `torch_registry`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tropicell.errors import UnsupportedOperatorError
from tropicell.importers import nonlinear, shapes
from tropicell.importers.builder import Builder
from tropicell.importers.expressions import (
    Value,
    broadcast,
    join,
    take,
)
from tropicell.importers.torch.registry import (
    Args,
    constant,
    handles,
    value_of,
)


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
    "reflection_pad1d", "reflection_pad2d", "replication_pad1d", "replication_pad2d",
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


@handles("where")
def _where(_: Builder, a: Args, name: str) -> Value:
    yes, no = value_of(a["self"]), value_of(a["other"])
    return nonlinear.where(a["condition"], yes, no, "aten.where", name)


@handles("masked_fill")
def _masked_fill(_: Builder, a: Args, name: str) -> Value:
    return nonlinear.where(a["mask"], value_of(a["value"]), a["self"], "aten.masked_fill", name)


@handles(
    "clone", "contiguous", "alias", "detach", "lift_fresh_copy", "_assert_tensor_metadata"
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
    if dtype is not None and not floating:
        raise UnsupportedOperatorError(f"cast to {dtype}", name, "it rounds, so it jumps")
    return a["self"]  # type: ignore[no-any-return]


@handles("zeros_like", "new_zeros")
def _zeros(_: Builder, a: Args, name: str) -> Value:
    return np.zeros(a.get("size", a["self"].shape))


@handles("ones_like", "new_ones")
def _ones(_: Builder, a: Args, name: str) -> Value:
    return np.ones(a.get("size", a["self"].shape))


@handles("full_like", "new_full")
def _full(_: Builder, a: Args, name: str) -> Value:
    return np.full(a.get("size", a["self"].shape), float(a["fill_value"]))
