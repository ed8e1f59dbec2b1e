"""Nonlinear operators: each appends layers to the builder.

Maxima become ReLUs, ``max(a, b) = b + relu(a - b)``; a maximum of more than two is a tournament.
Every comparison made is a neuron, and so a boundary of regions: a pool of four makes three
comparisons, two of them between entries that need not be the largest, where the output does not
bend. Merged regions do not see such boundaries.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any
from weakref import ref

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tropicell._runtime.arrays import IndexArray
from tropicell.errors import InvalidNetworkError, ModelImportError, UnsupportedOperatorError
from tropicell.importers.builder import Builder
from tropicell.importers.expressions import (
    Condition,
    Expression,
    Outline,
    Value,
    add,
    as_expression,
    broadcast,
    finite,
    is_constant,
    join,
    scale,
    take,
    written,
)
from tropicell.importers.lowering import (
    Window,
    adaptive_spans,
    reduce,
    window_counts,
    windows,
)
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
    if isinstance(value, Outline):
        return Outline((len(groups),), value.ledger)
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
    if isinstance(x, Outline):
        return Outline((*lead, *window_counts(spatial, window)), x.ledger)
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


def scatter_extreme(
    builder: Builder,
    value: Value,
    source: Value,
    positions: IndexArray,
    name: str,
    *,
    largest: bool = True,
    itself: bool = True,
) -> Value:
    """The largest or smallest of what is scattered to each flat position, and the entry there.

    With ``itself=False`` entries to which something is scattered do not count themselves; constant
    ones that are infinite never do.
    """
    size, at = math.prod(value.shape), positions.ravel()
    if at.size and not -1 < at.min() <= at.max() < size:
        raise ModelImportError(f"{name}: an index is out of range")
    order = np.argsort(at, kind="stable")
    counts = np.bincount(at, minlength=size)
    groups = np.full((size, 1 + int(counts.max(initial=0))), -1)
    groups[:, 0] = np.arange(size)
    rank = np.arange(at.size) - np.repeat(np.cumsum(counts) - counts, counts)
    groups[at[order], 1 + rank] = size + order
    sign = np.asarray(1.0 if largest else -1.0)
    replaced = counts > 0
    if is_constant(value):
        replaced &= (not itself) | (np.ravel(value) == -sign * np.inf)
        value = np.where(replaced.reshape(value.shape), 0.0, value)
    elif itself:
        replaced[:] = False
    groups[replaced, 0] = -1
    flat = [take(part, np.ravel) for part in (value, source)]
    both = scale(join(flat, np.concatenate), sign)
    return scale(tournament(builder, both, groups, name).reshape(value.shape), sign)


def compared(left: Value, right: Value, comparison: str, operator: str, name: str) -> Condition:
    """The condition ``left > right``; `comparison` is one of ``>``, ``>=``, ``<`` and ``<=``."""
    if comparison.startswith("<"):
        left, right = right, left
    if is_constant(right) and not np.any(right):
        difference = broadcast(left, np.broadcast_shapes(left.shape, right.shape))
    else:
        difference = add(left, right, scale=-1.0)
    return Condition(as_expression(difference), "=" not in comparison, operator, name)


def where(
    builder: Builder,
    condition: Value | Condition,
    yes: Value,
    no: Value,
    operator: str,
    name: str,
) -> Value:
    """Entries of one value or another.

    The condition is constant, or that an expression h is positive: ``where(h > 0, a, b)``. Two
    cases of that are continuous, and read:

    - h, a and b are functions of one and the same value z, as their making shows: ``p * z + q``
      with constants, and b (or a) perhaps a `where` of that kind. That is a piecewise function of
      z, and `activations.piecewise` decides whether it jumps.
    - ``a - b = c * h`` for constants c, in exact arithmetic: then it is ``b + c * relu(h)``.
    """
    if isinstance(condition, Condition):
        shape = np.broadcast_shapes(condition.shape, yes.shape, no.shape)
        if condition.shape == shape:
            yes, no = broadcast(yes, shape), broadcast(no, shape)
            found = _piecewise_choice(builder, condition, yes, no, name)
            if found is None:
                found = _exact_choice(builder, condition, yes, no, name)
            if found is not None:
                return found
        raise UnsupportedOperatorError(
            operator,
            name,
            "its condition depends on the input, and its two values are not seen to agree where "
            "it changes: where(h > 0, a, b) is supported if a - b is a multiple of h (exactly). "
            "Write it with relu, clamp, maximum or minimum",
        )
    if isinstance(condition, Expression):
        raise UnsupportedOperatorError(
            operator,
            name,
            "its condition depends on the input and is not a comparison; write it with relu, "
            "clamp, maximum or minimum",
        )
    mask = np.asarray(condition, dtype=bool)
    shape = np.broadcast_shapes(mask.shape, yes.shape, no.shape)
    full = np.broadcast_to(mask, shape)
    return join(
        [broadcast(yes, shape), broadcast(no, shape)], lambda at: np.where(full, at[0], at[1])
    )


def _piecewise_choice(
    builder: Builder, condition: Condition, yes: Value, no: Value, name: str
) -> Value | None:
    """The choice between two functions of one value: a piecewise function of it."""
    for z in condition.ancestors:
        factors, offsets = condition.difference.affine_in(z) or (None, None)
        sides = [_function_of(z, value) for value in (yes, no)]
        if factors is None or offsets is None or None in sides or not np.all(factors):
            continue
        ends = -offsets.ravel() / factors.ravel()
        rows = [
            _joined_rows(end, *((no_row, yes_row) if factor > 0 else (yes_row, no_row)))
            for end, factor, yes_row, no_row in zip(
                ends.tolist(),
                factors.ravel().tolist(),
                *(_rows_of(side, z.size) for side in sides if side is not None),
                strict=True,
            )
        ]
        padded = activations.stacked(rows, "where")
        try:
            activation = activations.piecewise(
                padded.breakpoints, padded.slopes, padded.intercepts, name="where"
            )
        except InvalidNetworkError:  # it jumps
            return None
        result = builder.activate(z, activation, name)
        result.function = (ref(z), activation)
        return result
    return None


def _function_of(z: Expression, value: Value) -> activations.Activation | None:
    """A value as a piecewise function of another one, if it is known to be that."""
    if not isinstance(value, Expression):
        pieces = np.zeros(value.size), np.ravel(value)
    elif value.function is not None and value.function[0]() is z:
        return value.function[1]
    else:
        made = value.affine_in(z)
        if made is None:
            return None
        pieces = made[0].ravel(), made[1].ravel()
    nothing = np.empty((value.size, 0))
    return activations.Activation(nothing, pieces[0][:, None], pieces[1][:, None], "")


def _rows_of(function: activations.Activation, size: int) -> Iterator[activations.Row]:
    for index in range(size):
        row = index if function.rows > 1 else 0
        pieces = 1 + int(np.isfinite(function.breakpoints[row]).sum())
        yield (
            function.breakpoints[row, : pieces - 1].tolist(),
            function.slopes[row, :pieces].tolist(),
            function.intercepts[row, :pieces].tolist(),
        )


def _joined_rows(end: float, left: activations.Row, right: activations.Row) -> activations.Row:
    """One function up to a point, another one beyond it."""
    if end == math.inf:
        return left
    before = [i for i, t in enumerate(left[0]) if t < end]
    after = [i for i, t in enumerate(right[0]) if t > end]
    start = len(right[0]) - len(after)
    return (
        [*(left[0][i] for i in before), end, *(right[0][i] for i in after)],
        [*left[1][: len(before) + 1], *right[1][start:]],
        [*left[2][: len(before) + 1], *right[2][start:]],
    )


def _exact_choice(
    builder: Builder, condition: Condition, yes: Value, no: Value, name: str
) -> Value | None:
    """The choice between two values whose difference is a multiple of what is compared with 0."""
    h = condition.difference
    if isinstance(h, Outline):
        return h  # decided when the numbers are there
    a, b = as_expression(yes), as_expression(no)
    factors = np.zeros(h.size)
    fixed = np.zeros(h.size, dtype=bool)  # entries where h does not depend on the input
    rows = zip(exact_rows(h), exact_rows(a), exact_rows(b), strict=True)
    for index, (h_row, a_row, b_row) in enumerate(rows):
        keys = a_row.keys() | b_row.keys()
        gap = {key: a_row.get(key, _ZERO) - b_row.get(key, _ZERO) for key in keys}
        gap = {key: number for key, number in gap.items() if number}
        if all(key is None for key in h_row):
            fixed[index] = True
            continue
        if not gap:
            continue
        key = next(iter(gap))
        if gap.keys() != h_row.keys():
            return None
        ratio = gap[key] / h_row[key]
        if any(gap[key] != ratio * h_row[key] for key in gap):
            return None
        factors[index] = float(ratio)
    bend = builder.activate(h, activations.relu(), name)
    chosen = add(no, scale(bend, factors.reshape(h.shape)))
    if not fixed.any():
        return chosen
    holds = h.bias > 0 if condition.strict else h.bias >= 0
    which = np.where(fixed, np.where(holds, 1, 2), 0).reshape(h.shape)
    return join([chosen, yes, no], lambda at: np.choose(which, at))


_ZERO = Fraction(0)


def exact_rows(value: Expression) -> Iterator[dict[tuple[int, int] | None, Fraction]]:
    """For every entry what it is made of: (layer, neuron) to factor, and None to the bias.

    Examples
    --------
    >>> next(exact_rows(add(Expression.of_layer(0, (1,)), np.array([0.5]))))
    {(0, 0): Fraction(1, 1), None: Fraction(1, 2)}
    """
    terms = {layer: sp.csr_array(written(matrix)) for layer, matrix in value.terms.items()}
    for index in range(value.size):
        row: dict[tuple[int, int] | None, Fraction] = {}
        for layer, matrix in terms.items():
            part = slice(matrix.indptr[index], matrix.indptr[index + 1])
            for column, number in zip(matrix.indices[part], matrix.data[part], strict=True):
                if number:
                    key = (layer, int(column))
                    row[key] = row.get(key, _ZERO) + Fraction(float(number))
        if value.bias[index]:
            row[None] = Fraction(float(value.bias[index]))
        yield row


def cases(builder: Builder, condition: Condition, value: Value, operator: str, name: str) -> Value:
    """``(h > 0) * value``, where it does not jump."""
    shape = np.broadcast_shapes(condition.shape, value.shape)
    return where(builder, condition, value, np.zeros(shape), operator, name)


# --- sorting --------------------------------------------------------------------------------------


def sort_along(
    builder: Builder,
    value: Value,
    axis: int,
    wanted: Sequence[int],
    name: str,
) -> Value:
    """Entries along an axis by rank: `wanted` lists ranks, 0 for the smallest.

    A sorting network (Batcher's merge exchange) of comparisons ``(a, b) → (min, max)``, each with
    one ReLU: ``d = relu(a - b)``, then ``a - d`` and ``b + d``. Comparisons that no wanted rank
    needs are left out; those that do not wait for each other make one layer.

    Parameters
    ----------
    builder : Builder
    value : Value
    axis : int
    wanted : sequence of int
    name : str
        The node, for the names of the layers.
    """
    if isinstance(value, np.ndarray):
        return np.asarray(np.take(np.sort(value, axis=axis), wanted, axis=axis))
    axis %= max(value.ndim, 1)
    n = value.shape[axis] if value.ndim else 1
    if any(not 0 <= rank < n for rank in wanted):
        raise ModelImportError(f"{name}: an axis of length {n} has no entry of rank {max(wanted)}")
    lanes = as_expression(take(value, lambda at: np.moveaxis(np.atleast_1d(at), axis, 0)))
    rows, shape = math.prod(lanes.shape[1:]), lanes.shape[1:]
    current = lanes.reshape((n, rows))
    for low, high in sorting_layers(n, wanted):
        builder.charge(2 * len(low) * rows)
        if isinstance(current, Outline):
            continue
        a = as_expression(take(current, partial(np.take, indices=low, axis=0)))
        b = as_expression(take(current, partial(np.take, indices=high, axis=0)))
        swap = builder.activate(add(a, b, scale=-1.0), activations.relu(), name)
        where_now = np.arange(n)
        where_now[low], where_now[high] = (
            n + np.arange(len(low)),
            n + len(low) + np.arange(len(low)),
        )
        parts = [current, add(a, swap, scale=-1.0), add(b, swap)]
        moved = join(parts, lambda at, w=where_now: np.concatenate(at)[w])  # type: ignore[misc]
        current = as_expression(moved)
    kept = as_expression(take(current, lambda at: at[list(wanted)]))
    result = kept.reshape((len(wanted), *shape))
    return take(result, lambda at: np.moveaxis(at, 0, axis)) if value.ndim else result.reshape(())


def sorting_layers(n: int, wanted: Sequence[int]) -> list[tuple[IndexArray, IndexArray]]:
    """The comparisons of a sorting network that the wanted ranks need, layer by layer.

    Examples
    --------
    >>> [(low.tolist(), high.tolist()) for low, high in sorting_layers(3, [0, 1, 2])]
    [([0], [2]), ([0], [1]), ([1], [2])]
    >>> sum(len(low) for low, _ in sorting_layers(8, [7]))
    7
    """
    pairs: list[tuple[int, int]] = []  # Batcher's merge exchange: Knuth, volume 3, algorithm 5.2.2M
    top = 1 << max((n - 1).bit_length() - 1, 0)
    p = top if n > 1 else 0
    while p > 0:
        q, r, d = top, 0, p
        while True:
            pairs.extend((i, i + d) for i in range(n - d) if i & p == r)
            if q == p:
                break
            d, q, r = q - p, q // 2, p
        p //= 2
    needed = set(wanted)
    kept = []
    for low, high in reversed(pairs):
        if low in needed or high in needed:
            needed |= {low, high}
            kept.append((low, high))
    ready = [0] * n  # the layer from which on each lane is free
    layers: list[list[tuple[int, int]]] = []
    for low, high in reversed(kept):
        layer = max(ready[low], ready[high])
        ready[low] = ready[high] = layer + 1
        if layer == len(layers):
            layers.append([])
        layers[layer].append((low, high))
    return [(np.array(layer)[:, 0], np.array(layer)[:, 1]) for layer in layers]


def vector_norm(
    builder: Builder,
    value: Value,
    order: float,
    axes: Sequence[int] | None,
    name: str,
    *,
    keep: bool,
    operator: str,
) -> Value:
    """The 1-norm, or the largest or smallest absolute value (order inf or -inf)."""
    if order not in (1.0, math.inf, -math.inf):
        raise UnsupportedOperatorError(
            operator,
            name,
            f"the norm of order {order:g} is not piecewise linear; those of order 1 and inf are",
        )
    sizes = builder.activate(value, activations.absolute(), name)
    if order == 1.0:
        return reduce(sizes, axes, keep=keep, mean=False)
    return reduce_extreme(builder, sizes, axes, name, keep=keep, largest=order > 0)


def running_extreme(
    builder: Builder, value: Value, axis: int, name: str, *, largest: bool
) -> Value:
    """The largest (or smallest) entry up to each, along an axis: log2(n) layers."""
    pairwise = maximum if largest else minimum
    x = as_expression(take(value, lambda at: np.moveaxis(at, axis, 0)))
    step = 1
    while step < x.shape[0]:
        later = take(x, lambda at, k=step: at[k:])  # type: ignore[misc]
        earlier = take(x, lambda at, k=step: at[:-k])  # type: ignore[misc]
        best = pairwise(builder, later, earlier, name)
        first = take(x, lambda at, k=step: at[:k])  # type: ignore[misc]
        x = as_expression(join([first, best], np.concatenate))
        step *= 2
    return take(x, lambda at: np.moveaxis(at, 0, axis))
