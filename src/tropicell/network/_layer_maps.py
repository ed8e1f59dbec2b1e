"""Kernels that keep the affine maps of all layers up to date while the pattern changes.

``before[c, row]`` holds column c of the pre-activation of a row (d slopes, then the offset), and
``before[d + 1, row]`` a bound E on the error of each of them, without the part that comes from
the bias (`LineArrays.line_slack`). ``after`` holds the same for the outputs; its row d + 1 is the
error bound f, its row d + 2 the largest absolute value a. All bounds are those of step 1 of
docs/error-bound.md.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.jit import (
    kernel,
    template,
)
from tropicell.geometry.rounding import INFLATE, ROUND, TINY
from tropicell.network.flat import COLUMNS_AT, IS_SPARSE, SOURCE, WEIGHTS_AT

#: After so many rank-one changes a layer's rows are summed anew; see `EXTRA_ROUNDINGS`.
MOST_CHANGES = 120


class LayerMaps(NamedTuple):
    """The affine maps of all layers on the current cell.

    Attributes
    ----------
    before : ndarray, shape (d + 2, rows)
        Of every neuron before its activation: slopes, offset, and a bound on their errors.
    after : ndarray, shape (d + 3, rows)
        The same after it, and the largest absolute value.
    pattern : ndarray of uint8, shape (neurons,)
        The pieces to which `after` belongs.
    changes : ndarray, shape (depth + 2,)
        Changes of rank one since a layer was summed; negative where it must be summed anew.
    sources : ndarray, shape (widest layer,)
        Scratch: the neurons of a layer whose output is not 0.
    change : ndarray, shape (d + 2,)
        Scratch: what one neuron adds to the next layer.
    """

    before: NDArray[np.float64]
    after: NDArray[np.float64]
    pattern: NDArray[np.uint8]
    changes: NDArray[np.int64]
    sources: NDArray[np.int64]
    change: NDArray[np.float64]


@kernel(inner=True)
def enter_layers(maps: Any, current: Any, pieces: Any, layers: int, bounds: bool) -> None:
    """Make the maps of the first layers anew, from the pieces of all of them."""
    for layer in range(layers):
        current.changes[layer + 1] = -1
        at = maps.row_start[layer] - maps.row_start[1]
        enter_layer(maps, current, layer, pieces, at, bounds)


@kernel
def enter_layer(maps: Any, current: Any, layer: int, pieces: Any, at: int, bounds: bool) -> None:
    """Fix the pieces of `layer`, and bring the pre-activations of the next layer up to date.

    Parameters
    ----------
    maps : MapArrays
    current : LayerMaps
        ``current.changes[layer + 1]`` counts the rank-one changes since the next layer was summed;
        it is negative where its rows belong to another map of `layer` and must be summed anew.
    layer : int
    pieces : ndarray of uint8
    at : int
        The pieces are ``pieces[at], …``; layer 0 has none.
    bounds : bool
        Whether bounds on the errors are wanted.
    """
    pattern, changes = current.pattern, current.changes
    begin = maps.row_start[layer]
    width = maps.row_start[layer + 1] - begin
    first = begin - maps.row_start[1]
    changes[layer + 2] = -1
    if layer > 0 and changes[layer + 1] >= 0:
        flips = 0
        for j in range(width):
            flips += pieces[at + j] != pattern[first + j]
        if flips * 4 <= width + 8 and changes[layer + 1] + flips <= MOST_CHANGES:
            for j in range(width):
                piece = pieces[at + j]
                if piece != pattern[first + j]:
                    pattern[first + j] = piece
                    change_piece(maps, current, layer, begin + j, piece, bounds)
            changes[layer + 1] += flips
            return
    if layer == 0:
        load_input(maps, current)
    else:
        for j in range(width):
            pattern[first + j] = pieces[at + j]
            set_piece(maps, current, begin + j, maps.gamma[layer], pieces[at + j])
    sum_layer(maps, current, layer + 1, bounds)
    changes[layer + 1] = 0


@kernel(inner=True)
def change_piece(maps: Any, current: Any, layer: int, row: int, piece: int, bounds: bool) -> None:
    """Put a neuron of `layer` on another piece, and correct the rows of the next layer.

    Step 1, changes of rank one.
    """
    d, after, change = maps.dimension, current.after, current.change
    for c in range(d + 1):
        change[c] = -after[c, row]
    set_piece(maps, current, row, maps.gamma[layer], piece)
    largest = 0.0
    for c in range(d + 1):
        change[c] += after[c, row]
        largest = max(largest, abs(change[c]))
    # The old output's contribution stays in the bound, which is therefore too large, not small.
    change[d + 1] = contribution(after[d + 1, row], largest, maps.gamma[layer + 1])
    for term in range(maps.term_start[layer + 1], maps.term_start[layer + 2]):
        if maps.terms[term, SOURCE] == layer:
            _add_column(maps, current, term, layer + 1, row, bounds)


@kernel(inner=True)
def load_input(maps: Any, current: Any) -> None:
    """Outputs of layer 0."""
    d, after = maps.dimension, current.after
    for row in range(maps.row_start[1]):
        largest = 0.0
        for c in range(d + 1):
            value = maps.input_rows[row, c]
            after[c, row] = value
            largest = max(largest, abs(value))
        after[d + 1, row] = 0.0
        after[d + 2, row] = largest


@template
def set_piece(maps: Any, current: Any, row: int, gamma: float, piece: int) -> None:
    """Output of one neuron that is on the given piece: step 1, activations."""
    d, before, after = maps.dimension, current.before, current.after
    slope = maps.slopes[row, piece]
    intercept = maps.intercepts[row, piece]
    largest = 0.0
    biggest = 0.0
    for c in range(d + 1):
        value = slope * before[c, row]
        biggest = max(biggest, abs(value))
        if c == d:
            value += intercept
        after[c, row] = value
        largest = max(largest, abs(value))
    after[d + 2, row] = largest
    error = abs(slope) * (before[d + 1, row] + gamma * abs(maps.bias[row]) + TINY)
    if not ((slope == 1.0 or slope == 0.0) and intercept == 0.0):
        error += 4.0 * ROUND * (biggest + abs(intercept))
    after[d + 1, row] = error * INFLATE


@kernel(inner=True)
def sum_layer(maps: Any, current: Any, layer: int, bounds: bool) -> None:
    """Pre-activations of a layer, from the outputs of its sources."""
    d, before, after, change = maps.dimension, current.before, current.after, current.change
    begin, end = maps.row_start[layer], maps.row_start[layer + 1]
    for c in range(d + 2):
        for row in range(begin, end):
            before[c, row] = maps.bias[row] if c == d else 0.0
    gamma = maps.gamma[layer]
    for term in range(maps.term_start[layer], maps.term_start[layer + 1]):
        if not maps.terms[term, IS_SPARSE]:
            _add_dense(maps, current, term, layer, bounds)
            continue
        source = maps.terms[term, SOURCE]
        for row in range(maps.row_start[source], maps.row_start[source + 1]):
            if after[d + 2, row] == 0.0 and after[d + 1, row] == 0.0:
                continue
            for c in range(d + 1):
                change[c] = after[c, row]
            change[d + 1] = contribution(after[d + 1, row], after[d + 2, row], gamma)
            _add_column(maps, current, term, layer, row, bounds)


@kernel(inner=True)
def _add_dense(maps: Any, current: Any, term: int, layer: int, bounds: bool) -> None:
    """Add a dense term, four source neurons at a time; neurons that are off cost nothing."""
    d, before, after, sources = maps.dimension, current.before, current.after, current.sources
    source = maps.terms[term, SOURCE]
    first, last = maps.row_start[source], maps.row_start[source + 1]
    begin, end = maps.row_start[layer], maps.row_start[layer + 1]
    width = end - begin
    gamma = maps.gamma[layer]
    count = 0
    for row in range(first, last):
        if after[d + 2, row] != 0.0 or after[d + 1, row] != 0.0:
            sources[count] = row
            count += 1
    weights_at = maps.terms[term, WEIGHTS_AT] - first * width
    for i in range(0, count, 4):
        # A block that is not full repeats its last neuron, with factor 0.
        j0, j1 = sources[i], sources[min(i + 1, count - 1)]
        j2, j3 = sources[min(i + 2, count - 1)], sources[min(i + 3, count - 1)]
        o1 = 1.0 if i + 1 < count else 0.0
        o2 = 1.0 if i + 2 < count else 0.0
        o3 = 1.0 if i + 3 < count else 0.0
        at = (
            weights_at + j0 * width,
            weights_at + j1 * width,
            weights_at + j2 * width,
            weights_at + j3 * width,
        )
        for c in range(d + 1):
            line = after[c]
            factors = line[j0], line[j1] * o1, line[j2] * o2, line[j3] * o3
            _add_four(maps.weights, at, factors, before[c, begin:end])
        if bounds:
            error, size = after[d + 1], after[d + 2]
            factors = (
                contribution(error[j0], size[j0], gamma),
                contribution(error[j1], size[j1], gamma) * o1,
                contribution(error[j2], size[j2], gamma) * o2,
                contribution(error[j3], size[j3], gamma) * o3,
            )
            _add_four_bounds(maps.weights, at, factors, before[d + 1, begin:end])


@kernel(inner=True)
def _add_column(maps: Any, current: Any, term: int, layer: int, row: int, bounds: bool) -> None:
    """Add ``current.change`` (d + 1 columns and a bound) times the weights of one source neuron."""
    d, before, change = maps.dimension, current.before, current.change
    source_row = row - maps.row_start[maps.terms[term, SOURCE]]
    begin, end = maps.row_start[layer], maps.row_start[layer + 1]
    at = maps.terms[term, WEIGHTS_AT]
    if maps.terms[term, IS_SPARSE]:
        column = maps.terms[term, COLUMNS_AT] + source_row
        for k in range(at + maps.columns[column], at + maps.columns[column + 1]):
            target = begin + maps.targets[k]
            weight = maps.weights[k]
            for c in range(d + 1):
                before[c, target] += weight * change[c]
            before[d + 1, target] += abs(weight) * change[d + 1]
        return
    width = end - begin
    weights = maps.weights[at + source_row * width : at + (source_row + 1) * width]
    for c in range(d + 1):
        out, factor = before[c, begin:end], change[c]
        for r in range(width):
            out[r] += weights[r] * factor
    if bounds:
        out, factor = before[d + 1, begin:end], change[d + 1]
        for r in range(width):
            out[r] += abs(weights[r]) * factor


@kernel(sums="fused", inner=True)
def _add_four(weights: Any, at: Any, factors: Any, out: Any) -> None:
    """out[r] += factors[0] * weights[at[0] + r] + … + factors[3] * weights[at[3] + r]."""
    width = len(out)
    f0, f1, f2, f3 = factors
    w0, w1 = weights[at[0] : at[0] + width], weights[at[1] : at[1] + width]
    w2, w3 = weights[at[2] : at[2] + width], weights[at[3] : at[3] + width]
    for r in range(width):
        out[r] += (w0[r] * f0 + w1[r] * f1) + (w2[r] * f2 + w3[r] * f3)


@kernel(sums="fused", inner=True)
def _add_four_bounds(weights: Any, at: Any, factors: Any, out: Any) -> None:
    """The same with the absolute values of the weights."""
    width = len(out)
    f0, f1, f2, f3 = factors
    w0, w1 = weights[at[0] : at[0] + width], weights[at[1] : at[1] + width]
    w2, w3 = weights[at[2] : at[2] + width], weights[at[3] : at[3] + width]
    for r in range(width):
        out[r] += (abs(w0[r]) * f0 + abs(w1[r]) * f1) + (abs(w2[r]) * f2 + abs(w3[r]) * f3)


@template
def contribution(error: float, size: float, gamma: float) -> float:
    """Step 1: what a neuron adds to the error of a row, for each unit of its weight: f + γ a."""
    return (error + gamma * size + TINY) * INFLATE
