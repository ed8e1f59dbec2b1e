"""Nonlinear operators: each appends layers to the builder.

Maxima become ReLUs, ``max(a, b) = b + relu(a - b)``; a maximum of more than two is a tournament.
Every comparison made is a neuron, and so a boundary of regions: a pool of four makes three
comparisons, two of them between entries that need not be the largest, where the output does not
bend. Merged regions do not see such boundaries.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.arrays import IndexArray
from tropicell.errors import ModelImportError, UnsupportedOperatorError
from tropicell.importers.builder import Builder
from tropicell.importers.expressions import (
    Expression,
    Value,
    add,
    as_expression,
    broadcast,
    finite,
    is_constant,
    join,
    scale,
    take,
)
from tropicell.importers.lowering import Window, adaptive_spans, windows
from tropicell.network import activations


def clip(
    builder: Builder, value: Value, low: Any, high: Any, name: str, *, label: str = "clip"
) -> Value:
    """``min(max(value, low), high)`` with constant bounds; None is no bound."""
    lows = np.asarray(-np.inf if low is None else low, dtype=np.float64)
    highs = np.asarray(np.inf if high is None else high, dtype=np.float64)
    if np.isnan(lows).any() or np.isnan(highs).any():
        raise ModelImportError(f"{name}: a bound of a clip is not a number")
    lows = np.minimum(lows, highs)  # where low > high, every library gives high
    shape = np.broadcast_shapes(value.shape, lows.shape, highs.shape)
    if np.isneginf(lows).all() and np.isposinf(highs).all():
        return broadcast(value, shape)
    if lows.size > 1 or highs.size > 1:
        lows = np.broadcast_to(lows, shape).ravel()
        highs = np.broadcast_to(highs, shape).ravel()
    activation = activations.clip(lows.ravel(), highs.ravel(), name=label)
    return builder.activate(broadcast(value, shape), activation, name)


def prelu(builder: Builder, value: Value, slopes: NDArray[Any], name: str) -> Value:
    """Leaky ReLU with constant slopes that broadcast to the value's shape."""
    numbers = np.broadcast_to(finite(slopes, f"the slope of {name}"), value.shape)
    return builder.activate(value, activations.prelu(numbers.ravel()), name)


def maximum(builder: Builder, left: Value, right: Value, name: str) -> Value:
    """The larger of two values, entry by entry."""
    if is_constant(left) and is_constant(right):
        return np.asarray(np.maximum(left, right))
    if is_constant(left):
        left, right = right, left
    if is_constant(right):
        return clip(builder, left, right, None, name, label="max")
    difference = builder.activate(add(left, right, scale=-1.0), activations.relu(), name)
    return add(right, difference)


def minimum(builder: Builder, left: Value, right: Value, name: str) -> Value:
    """The smaller of two values: ``min(a, b) = a - relu(a - b)``."""
    if is_constant(left) and is_constant(right):
        return np.asarray(np.minimum(left, right))
    if is_constant(left):
        left, right = right, left
    if is_constant(right):
        return clip(builder, left, None, right, name, label="min")
    difference = builder.activate(add(left, right, scale=-1.0), activations.relu(), name)
    return add(left, difference, scale=-1.0)


def tournament(builder: Builder, value: Value, groups: IndexArray, name: str) -> Expression:
    """The largest entry of each group.

    Parameters
    ----------
    builder : Builder
    value : Value
        Its entries in row-major order are what `groups` counts.
    groups : ndarray, shape (groups, entries)
        Positions; negative ones are no entries, and a group needs at least one that is.
    name : str
        The node, for the names of the layers.

    Notes
    -----
    Comparisons that several groups share (pools with overlapping windows) are made once.
    """
    # Entries first, gaps last; the order among the entries stays.
    order = np.argsort(groups < 0, axis=1, kind="stable")
    groups = np.take_along_axis(groups, order, axis=1)
    if groups.size == 0 or (groups[:, 0] < 0).any():
        raise ModelImportError(f"{name}: the maximum of nothing: a window lies in the padding")
    current = as_expression(value).reshape((-1,))
    while groups.shape[1] > 1:
        if groups.shape[1] % 2:
            groups = np.column_stack([groups, np.full(len(groups), -1)])
        first, second = groups[:, 0::2], groups[:, 1::2]
        both = second >= 0
        pairs = np.column_stack([first[both], second[both]])
        pairs, which = np.unique(pairs, axis=0, return_inverse=True)
        winners = maximum(
            builder, _entries(current, pairs[:, 0]), _entries(current, pairs[:, 1]), name
        )
        following = first.copy()
        following[both] = current.size + which.ravel()
        groups = following[:, (following >= 0).any(axis=0)]
        current = as_expression(join([current, winners], np.concatenate))
        used, renumbered = np.unique(groups[groups >= 0], return_inverse=True)
        groups = groups.copy()
        groups[groups >= 0] = renumbered.ravel()
        current = _entries(current, used)
    return _entries(current, groups[:, 0])


def _entries(value: Expression, positions: IndexArray) -> Expression:
    return as_expression(take(value, lambda at: at[positions]))


def max_pool(builder: Builder, x: Expression, window: Window, name: str) -> Expression:
    """Maxima over windows of the last axes; padding is left out of the windows."""
    dims = len(window.kernel)
    spatial, lead = x.shape[-dims:], x.shape[: x.ndim - dims]
    shape, positions = windows(spatial, window)
    starts = np.arange(math.prod(lead))[:, None, None] * math.prod(spatial)
    groups = np.where(positions >= 0, positions + starts, -1)
    result = tournament(builder, x, groups.reshape(-1, positions.shape[1]), name)
    return result.reshape((*lead, *shape))


def adaptive_max_pool(
    builder: Builder, x: Expression, sizes: Sequence[int | None], name: str
) -> Expression:
    """Maxima over the last axes, in as many windows as asked for (torch's rule)."""
    result = x
    for offset, wanted in enumerate(sizes):
        axis = x.ndim - len(sizes) + offset
        n = x.shape[axis]
        m = n if wanted is None else int(wanted)
        spans = adaptive_spans(n, m)
        longest = max(map(len, spans))
        table = np.array([[*span, *[-1] * (longest - len(span))] for span in spans])
        at = np.moveaxis(np.arange(result.size).reshape(result.shape), axis, -1)
        groups = np.where(table >= 0, at[..., table], -1)
        maxima = tournament(builder, result, groups.reshape(-1, longest), name)
        back = partial(np.moveaxis, source=-1, destination=axis)
        result = as_expression(take(maxima.reshape(groups.shape[:-1]), back))
    return result


def reduce_extreme(
    builder: Builder,
    value: Value,
    axes: Sequence[int] | None,
    name: str,
    *,
    keep: bool,
    largest: bool = True,
) -> Value:
    """Maximum or minimum over axes (None: over all)."""
    chosen = range(value.ndim) if axes is None else [int(a) % max(value.ndim, 1) for a in axes]
    x = as_expression(value)
    last = [axis for axis in range(x.ndim) if axis not in chosen]
    at = np.arange(x.size).reshape(x.shape).transpose([*last, *chosen])
    shape = tuple(x.shape[axis] for axis in last)
    groups = at.reshape(math.prod(shape), -1)
    sign = np.array(1.0 if largest else -1.0)
    signed = x if largest else scale(x, sign)
    result = scale(tournament(builder, signed, groups, name), sign)
    kept = tuple(1 if axis in chosen else n for axis, n in enumerate(x.shape))
    return as_expression(result).reshape(kept if keep else shape)


def where(condition: Value, yes: Value, no: Value, operator: str, name: str) -> Value:
    """Entries of one value or another, by a constant condition."""
    if not is_constant(condition):
        raise UnsupportedOperatorError(
            operator,
            name,
            "its condition depends on the input; write it with relu, clamp, maximum or minimum",
        )
    mask = np.asarray(condition, dtype=bool)
    shape = np.broadcast_shapes(mask.shape, yes.shape, no.shape)
    full = np.broadcast_to(mask, shape)
    return join(
        [broadcast(yes, shape), broadcast(no, shape)], lambda at: np.where(full, at[0], at[1])
    )
