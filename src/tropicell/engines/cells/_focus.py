"""Kernels for cells on which few neurons of a large network can change their piece.

All other neurons are fixed there, and the network is affine in the outputs of the few: the row of
one of them is a *base*, which is the same on all of the cells, plus *weights* times the rows of the
outputs of those in earlier layers. `tropicell.engines.cells.focus` finds the few, and makes base
and weights, in twice the digits; the search goes from layer to layer with `enter_focus` instead of
`tropicell.network._layer_maps.enter_layer`. All of that is step 9 of docs/error-bound.md.

Patterns, boundaries and rows keep their numbers, those of the whole network. So a cell is the same
with and without a focus, and signs that need all digits are asked of the whole network.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.jit import fma, kernel
from tropicell.geometry._double import exact_sum
from tropicell.geometry.rounding import INFLATE, TINY
from tropicell.network._layer_maps import _anchor, _length, _sum_rounding, set_piece


class Focus(NamedTuple):
    """The neurons that may change on some cells, on several levels; those of level 0 are K.

    Level 0 is for all cells of a unit; each further one for one of the cells of the level before it
    and what becomes of that (`tropicell.engines.cells._narrow`). A level has its neurons layer by
    layer, rows increasing but for those of its first layer, and all levels lie behind each other.

    Attributes
    ----------
    on : bool
        Whether there is a focus; if not, the rest is empty.
    now : ndarray, shape (1,)
        The level that the search is on.
    cell : ndarray, shape (levels,)
        The place on the stack of the cell that a level is for.
    first : ndarray, shape (levels,)
        The first layer with neurons.
    tried : ndarray, shape (levels,)
        The boundaries that crossed the last cell for which no further level was worth it.
    worth : ndarray, shape (2,)
        A cell gets no level if fewer boundaries cross it, or if fewer neurons of later layers are
        in the focus.
    start : ndarray, shape (levels, depth + 2)
        The neurons of layer ℓ are ``start[level, ℓ] : start[level, ℓ + 1]``.
    rows : ndarray
        Their rows.
    fixed : ndarray of uint8, shape (neurons,)
        The pieces of all neurons that are not in the focus.
    base : ndarray, shape (2 d + 2, all)
        Slopes and offset that do not change; second halves behind them.
    weights, weights_low : ndarray
        For each layer a matrix (neurons before it, its own neurons), rows one after the other.
    weights_at : ndarray, shape (levels, depth + 2)
        Where these matrices begin.
    base_error : ndarray, shape (levels, depth + 2, d + 1)
        For each layer and column a bound on the length of the vector of the errors of the bases.
    weights_error, weights_norm, largest_row : ndarray, shape (levels, depth + 2)
        Frobenius norms, bounds from above: of the errors of a layer's weights, and of the weights;
        and the length of the longest of its rows.
    largest_base : ndarray, shape (levels, depth + 2, d + 1)
        Largest absolute values of the bases.
    compact : ndarray, shape (2 d + 3, all)
        Scratch: the current rows, second halves behind them, and the bounds on their errors.
    sources : ndarray, shape (K,)
        Scratch: the neurons whose output is not 0.
    factors : ndarray, shape (2 d + 2, K)
        Scratch: their outputs, and second halves.
    room : NarrowRoom
        Scratch of `tropicell.engines.cells._narrow`.
    """

    on: bool
    now: NDArray[np.int64]
    cell: NDArray[np.int64]
    first: NDArray[np.int64]
    tried: NDArray[np.int64]
    worth: NDArray[np.int64]
    start: NDArray[np.int64]
    rows: NDArray[np.int64]
    fixed: NDArray[np.uint8]
    base: NDArray[np.float64]
    weights: NDArray[np.float64]
    weights_low: NDArray[np.float64]
    weights_at: NDArray[np.int64]
    base_error: NDArray[np.float64]
    weights_error: NDArray[np.float64]
    weights_norm: NDArray[np.float64]
    largest_row: NDArray[np.float64]
    largest_base: NDArray[np.float64]
    compact: NDArray[np.float64]
    sources: NDArray[np.int64]
    factors: NDArray[np.float64]
    room: NarrowRoom


class NarrowRoom(NamedTuple):
    """What a narrower focus is made with; K neurons of level 0, and at most M of a further one.

    Attributes
    ----------
    sums, sums_low : ndarray, shape (d + 1 + M, widest layer)
        The rows of a layer, as maps of the coordinates, 1, and the neurons of the new level.
    folded, folded_low : ndarray, shape (K, d + 1 + M)
        The same for outputs of neurons that are not of the new level.
    extent : ndarray, shape (K,)
        How many numbers of these rows there are; 0 where the output is 0, and -(k + 1) for neuron
        k of the new level, which is a column by itself.
    columns : ndarray, shape (COLUMN_PLACES, d + 1 + M)
        For each column: see `SQUARES` … `WRONG` in `_narrow`.
    forms, own : ndarray, shapes (FORM_PLACES, M) and (FORM_PLACES, widest layer)
        What neurons of the new level, and those of a layer, can be: see `SLOPE_X` in `_narrow`.
    corners : ndarray, shape (2, corners)
        Corners of the cell.
    """

    sums: NDArray[np.float64]
    sums_low: NDArray[np.float64]
    folded: NDArray[np.float64]
    folded_low: NDArray[np.float64]
    extent: NDArray[np.int64]
    columns: NDArray[np.float64]
    forms: NDArray[np.float64]
    own: NDArray[np.float64]
    corners: NDArray[np.float64]


def no_focus() -> Focus:
    """All neurons may change.

    Examples
    --------
    >>> no_focus().on
    False
    """
    none, nowhere, flat = np.zeros(0), np.zeros(0, np.int64), np.zeros((0, 0))
    places, boxes = np.zeros((0, 0), np.int64), np.zeros((0, 0, 0))
    return Focus(
        on=False,
        now=nowhere,
        cell=nowhere,
        first=nowhere,
        tried=nowhere,
        worth=nowhere,
        start=places,
        rows=nowhere,
        fixed=np.zeros(0, np.uint8),
        base=flat,
        weights=none,
        weights_low=none,
        weights_at=places,
        base_error=boxes,
        weights_error=flat,
        weights_norm=flat,
        largest_row=flat,
        largest_base=boxes,
        compact=flat,
        sources=nowhere,
        factors=flat,
        room=NarrowRoom(flat, flat, flat, flat, nowhere, flat, flat, flat, flat),
    )


# --- the search -----------------------------------------------------------------------------------


@kernel(late=True)
def enter_focus(
    maps: Any, current: Any, focus: Any, layer: int, pieces: Any, at: int, exact: bool
) -> None:
    """What `tropicell.network._layer_maps.enter_layer` does, for the neurons in the focus alone."""
    d, begin, level = maps.dimension, maps.row_start[layer], focus.now[0]
    if layer > 0:
        first, steepest = begin - maps.row_start[1], 0.0
        own, pattern = pieces[at:], current.pattern[first:]
        for j in range(maps.row_start[layer + 1] - begin):
            pattern[j] = own[j]
        if exact:
            for c in range(d + 1):
                current.output_rounding[layer, c] = 0.0
        for i in range(focus.start[level, layer], focus.start[level, layer + 1]):
            row = focus.rows[i]
            piece = own[row - begin]
            set_piece(maps, current, layer, row, piece, exact)
            steepest = max(steepest, abs(maps.slopes[row, piece]))
        if exact:
            for c in range(d + 1):
                error = steepest * current.error[layer, c] + current.output_rounding[layer, c]
                current.output_error[layer, c] = error * INFLATE
    _sum_focus(maps, current, focus, layer + 1, exact)


@kernel(inner=True)
def _sum_focus(maps: Any, current: Any, focus: Any, layer: int, exact: bool) -> None:
    """The rows of a layer's neurons in the focus."""
    d, level = maps.dimension, focus.now[0]
    start = focus.start[level]
    place, begin, end = start[0], start[layer], start[layer + 1]
    width, factors, compact = end - begin, focus.factors, focus.compact
    count = 0
    for i in range(begin - place):
        row = focus.rows[place + i]
        if current.after[d + 1, row] == 0.0:
            continue
        focus.sources[count] = i
        for c in range(d + 1):
            factors[c, count] = current.after[c, row]
            if exact:
                factors[d + 1 + c, count] = current.after_low[c, row]
        count += 1
    weights_at, worst = focus.weights_at[level, layer], 0.0
    errors = compact[2 * d + 2, begin:end]
    for r in range(width):
        errors[r] = 0.0
    for c in range(d + 1):
        base, high = focus.base[c, begin:end], compact[c, begin:end]
        if not exact:
            for r in range(width):
                high[r] = base[r]
            for k in range(count):
                at = weights_at + focus.sources[k] * width
                _add(focus.weights[at : at + width], factors[c, k], high)
            continue
        squares, largest = 0.0, 0.0
        for k in range(count):
            squares += factors[c, k] * factors[c, k]
            largest = max(largest, abs(factors[c, k]))
        length = _length(squares, largest)
        growth = focus.largest_row[level, layer] * length
        anchor = _anchor((growth + focus.largest_base[level, layer, c]) * INFLATE)
        low, base_low = compact[d + 1 + c, begin:end], focus.base[d + 1 + c, begin:end]
        for r in range(width):
            high[r] = anchor + base[r]
            low[r] = base_low[r] + (base[r] - (high[r] - anchor))
        for k in range(count):
            at = weights_at + focus.sources[k] * width
            w, w_low = focus.weights[at : at + width], focus.weights_low[at : at + width]
            add_exactly(w, w_low, factors[c, k], factors[d + 1 + c, k], high, low)
        for r in range(width):
            h, t = exact_sum(high[r] - anchor, low[r])
            high[r] = h
            low[r] = t
        for r in range(width):
            errors[r] = max(errors[r], abs(low[r]))
        wrong = 0.0
        for source in range(focus.first[level], layer):
            wrong += current.output_error[source, c]
        total = focus.base_error[level, layer, c] + focus.weights_error[level, layer] * length
        total += (focus.weights_norm[level, layer] + focus.weights_error[level, layer]) * wrong
        if focus.largest_base[level, layer, c] > 0.0 or growth > 0.0:
            total += np.sqrt(float(width)) * _sum_rounding(count + 1, anchor)
        if total > 0.0:
            total = (total + TINY) * INFLATE
        current.error[layer, c] = total
        worst = max(worst, total)
    for r in range(width):
        errors[r] = (errors[r] + worst) * INFLATE
    for r in range(width):
        row = focus.rows[begin + r]
        for c in range(d + 1):
            current.before[c, row] = compact[c, begin + r]
            if exact:
                current.low[c, row] = compact[d + 1 + c, begin + r]
        current.before[d + 1, row] = errors[r]


@kernel(sums="fused", inner=True)
def _add(weights: Any, factor: float, out: Any) -> None:
    """out[r] += weights[r] * factor."""
    for r in range(len(out)):
        out[r] += weights[r] * factor


@kernel(inner=True)
def add_exactly(
    weights: Any, weights_low: Any, factor: float, rest: float, out: Any, low: Any
) -> None:
    """The same in twice the digits, with an anchor, for weights and a factor of two halves each."""
    for r in range(len(out)):
        w, a = weights[r], out[r]
        b = fma(w, factor, a)
        low[r] += fma(weights_low[r], factor, fma(w, rest, fma(w, factor, a - b)))
        out[r] = b
