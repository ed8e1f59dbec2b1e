"""Kernels for cells on which few neurons of a large network can change their piece.

All other neurons are fixed there, and the network is affine in the outputs of the few: the row of
one of them is a *base*, which is the same on all of the cells, plus *weights* times the rows of the
outputs of those in earlier layers. `tropicell.engines.cells.focus` finds the few, and makes base
and weights, in twice the digits, with `add_terms` and `settle`; the search goes from layer to layer
with `enter_focus` instead of `tropicell.network._layer_maps.enter_layer`. All of that is step 9 of
docs/error-bound.md.

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
    """The neurons that may change on some cells, K in all; layer by layer, rows increasing.

    Attributes
    ----------
    on : bool
        Whether there is a focus; if not, the rest is empty.
    start : ndarray, shape (depth + 2,)
        Those of layer ℓ are ``start[ℓ] : start[ℓ + 1]``.
    rows : ndarray, shape (K,)
        Their rows.
    fixed : ndarray of uint8, shape (neurons,)
        The pieces of all other neurons.
    base : ndarray, shape (2 d + 2, K)
        Slopes and offset that do not change; second halves behind them.
    weights, weights_low : ndarray
        For each layer a matrix (neurons before it, its own neurons), rows one after the other.
    weights_at : ndarray, shape (depth + 2,)
        Where these matrices begin.
    base_error : ndarray, shape (depth + 2, d + 1)
        For each layer and column a bound on the length of the vector of the errors of the bases.
    weights_error, weights_norm, largest_row : ndarray, shape (depth + 2,)
        Frobenius norms, bounds from above: of the errors of a layer's weights, and of the weights;
        and the length of the longest of its rows.
    largest_base : ndarray, shape (depth + 2, d + 1)
        Largest absolute values of the bases.
    compact : ndarray, shape (2 d + 3, K)
        Scratch: the current rows, second halves behind them, and the bounds on their errors.
    sources : ndarray, shape (K,)
        Scratch: the neurons whose output is not 0.
    factors : ndarray, shape (2 d + 2, K)
        Scratch: their outputs, and second halves.
    """

    on: bool
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


def no_focus() -> Focus:
    """All neurons may change.

    Examples
    --------
    >>> no_focus().on
    False
    """
    none, nowhere = np.zeros(0), np.zeros(0, np.int64)
    flat = np.zeros((0, 0))
    return Focus(
        on=False,
        start=nowhere,
        rows=nowhere,
        fixed=np.zeros(0, np.uint8),
        base=flat,
        weights=none,
        weights_low=none,
        weights_at=nowhere,
        base_error=flat,
        weights_error=none,
        weights_norm=none,
        largest_row=none,
        largest_base=flat,
        compact=flat,
        sources=nowhere,
        factors=flat,
    )


# --- the search -----------------------------------------------------------------------------------


@kernel(inner=True)
def enter_focus(
    maps: Any, current: Any, focus: Any, layer: int, pieces: Any, at: int, exact: bool
) -> None:
    """What `tropicell.network._layer_maps.enter_layer` does, for the neurons in the focus alone."""
    d, begin = maps.dimension, maps.row_start[layer]
    if layer > 0:
        first, steepest = begin - maps.row_start[1], 0.0
        own, pattern = pieces[at:], current.pattern[first:]
        for j in range(maps.row_start[layer + 1] - begin):
            pattern[j] = own[j]
        if exact:
            for c in range(d + 1):
                current.output_rounding[layer, c] = 0.0
        for i in range(focus.start[layer], focus.start[layer + 1]):
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
    d, begin, end = maps.dimension, focus.start[layer], focus.start[layer + 1]
    width, factors, compact = end - begin, focus.factors, focus.compact
    count = 0
    for i in range(begin):
        row = focus.rows[i]
        if current.after[d + 1, row] == 0.0:
            continue
        focus.sources[count] = i
        for c in range(d + 1):
            factors[c, count] = current.after[c, row]
            if exact:
                factors[d + 1 + c, count] = current.after_low[c, row]
        count += 1
    weights_at, worst = focus.weights_at[layer], 0.0
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
        growth = focus.largest_row[layer] * length
        anchor = _anchor((growth + focus.largest_base[layer, c]) * INFLATE)
        low, base_low = compact[d + 1 + c, begin:end], focus.base[d + 1 + c, begin:end]
        for r in range(width):
            high[r] = anchor + base[r]
            low[r] = base_low[r] + (base[r] - (high[r] - anchor))
        for k in range(count):
            at = weights_at + focus.sources[k] * width
            w, w_low = focus.weights[at : at + width], focus.weights_low[at : at + width]
            _add_exactly(w, w_low, factors[c, k], factors[d + 1 + c, k], high, low)
        for r in range(width):
            h, t = exact_sum(high[r] - anchor, low[r])
            high[r] = h
            low[r] = t
        for r in range(width):
            errors[r] = max(errors[r], abs(low[r]))
        wrong = 0.0
        for source in range(1, layer):
            wrong += current.output_error[source, c]
        total = focus.base_error[layer, c] + focus.weights_error[layer] * length
        total += (focus.weights_norm[layer] + focus.weights_error[layer]) * wrong
        if focus.largest_base[layer, c] > 0.0 or growth > 0.0:
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
def _add_exactly(
    weights: Any, weights_low: Any, factor: float, rest: float, out: Any, low: Any
) -> None:
    """The same in twice the digits, with an anchor, for weights and a factor of two halves each."""
    for r in range(len(out)):
        w, a = weights[r], out[r]
        b = fma(w, factor, a)
        low[r] += fma(weights_low[r], factor, fma(w, rest, fma(w, factor, a - b)))
        out[r] = b


# --- base and weights -----------------------------------------------------------------------------


@kernel
def add_terms(matrix: Any, alive: Any, high: Any, low: Any, out: Any, out_low: Any) -> None:
    """Add a matrix times rows of two halves each to rows with an anchor.

    Parameters
    ----------
    matrix : tuple of ndarray
        A sparse matrix: where its rows begin, columns, numbers.
    alive : ndarray of bool
        Which rows of the factor are not 0.
    high, low : ndarray
        The factor.
    out, out_low : ndarray
        What is added to; it may have more columns.
    """
    ends, columns, numbers = matrix
    width = high.shape[1]
    for i in range(len(ends) - 1):
        to, rest = out[i, :width], out_low[i, :width]
        for k in range(ends[i], ends[i + 1]):
            j = columns[k]
            if alive[j]:
                _add_row(numbers[k], high[j], low[j], to, rest)


@kernel(inner=True)
def _add_row(weight: float, high: Any, low: Any, out: Any, out_low: Any) -> None:
    for c in range(len(out)):
        f, a = high[c], out[c]
        b = fma(weight, f, a)
        out_low[c] += fma(weight, low[c], fma(weight, f, a - b))
        out[c] = b


@kernel
def settle(anchors: Any, out: Any, out_low: Any) -> None:
    """Take the anchors of the columns off, and make two halves of each number."""
    for i in range(len(out)):
        high, low = out[i], out_low[i]
        for c in range(len(anchors)):
            high[c], low[c] = exact_sum(high[c] - anchors[c], low[c])
