"""Kernels that keep the affine maps of all layers up to date while the pattern changes.

``before[c, row]`` holds column c of the pre-activation of a row (d slopes, then the offset), and
``before[d + 1, row]`` a bound on the error of each of them, without the part that comes from
the bias (`LineArrays.line_slack`). ``after`` holds the same for the outputs; its row d + 1 is the
error bound, its row d + 2 the largest absolute value. See docs/error-bound.md for the bound.
"""

from __future__ import annotations

from typing import Any

from tropicell._runtime.jit import fused_kernel, kernel
from tropicell.geometry.rounding import INFLATE, ROUND, TINY

#: After so many rank-one changes a layer's rows are summed anew; see `EXTRA_ROUNDINGS`.
MOST_CHANGES = 120


@kernel
def load_input(maps: Any, after: Any) -> None:
    """Outputs of layer 0."""
    d = maps.dimension
    for row in range(maps.row_start[1]):
        largest = 0.0
        for c in range(d + 1):
            value = maps.input_rows[row, c]
            after[c, row] = value
            largest = max(largest, abs(value))
        after[d + 1, row] = 0.0
        after[d + 2, row] = largest


@kernel
def set_piece(maps: Any, before: Any, after: Any, row: int, gamma: float, piece: int) -> None:
    """Output of one neuron that is on the given piece."""
    d = maps.dimension
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


@fused_kernel
def _add_four(
    weights: Any,
    a0: int,
    a1: int,
    a2: int,
    a3: int,
    f0: float,
    f1: float,
    f2: float,
    f3: float,
    out: Any,
) -> None:
    """out[r] += f0 * weights[a0 + r] + … + f3 * weights[a3 + r]."""
    width = len(out)
    w0, w1 = weights[a0 : a0 + width], weights[a1 : a1 + width]
    w2, w3 = weights[a2 : a2 + width], weights[a3 : a3 + width]
    for r in range(width):
        out[r] += (w0[r] * f0 + w1[r] * f1) + (w2[r] * f2 + w3[r] * f3)


@fused_kernel
def _add_four_bounds(
    weights: Any,
    a0: int,
    a1: int,
    a2: int,
    a3: int,
    f0: float,
    f1: float,
    f2: float,
    f3: float,
    out: Any,
) -> None:
    """The same with the absolute values of the weights."""
    width = len(out)
    w0, w1 = weights[a0 : a0 + width], weights[a1 : a1 + width]
    w2, w3 = weights[a2 : a2 + width], weights[a3 : a3 + width]
    for r in range(width):
        out[r] += (abs(w0[r]) * f0 + abs(w1[r]) * f1) + (abs(w2[r]) * f2 + abs(w3[r]) * f3)


@kernel
def _add_dense(
    maps: Any, before: Any, after: Any, term: int, layer: int, bounds: bool, scratch: Any
) -> None:
    """Add a dense term, four source neurons at a time; neurons that are off cost nothing."""
    d = maps.dimension
    source = maps.terms[term, 0]
    first, last = maps.row_start[source], maps.row_start[source + 1]
    begin, end = maps.row_start[layer], maps.row_start[layer + 1]
    width = end - begin
    gamma = maps.gamma[layer]
    count = 0
    for row in range(first, last):
        if after[d + 2, row] != 0.0 or after[d + 1, row] != 0.0:
            scratch[count] = row
            count += 1
    at = maps.terms[term, 2] - first * width
    for i in range(0, count, 4):
        # A block that is not full repeats its last neuron, with factor 0.
        j0, j1 = scratch[i], scratch[min(i + 1, count - 1)]
        j2, j3 = scratch[min(i + 2, count - 1)], scratch[min(i + 3, count - 1)]
        o1 = 1.0 if i + 1 < count else 0.0
        o2 = 1.0 if i + 2 < count else 0.0
        o3 = 1.0 if i + 3 < count else 0.0
        a0, a1, a2, a3 = at + j0 * width, at + j1 * width, at + j2 * width, at + j3 * width
        for c in range(d + 1):
            line = after[c]
            _add_four(
                maps.weights,
                a0,
                a1,
                a2,
                a3,
                line[j0],
                line[j1] * o1,
                line[j2] * o2,
                line[j3] * o3,
                before[c, begin:end],
            )
        if bounds:
            error, size = after[d + 1], after[d + 2]
            _add_four_bounds(
                maps.weights,
                a0,
                a1,
                a2,
                a3,
                (error[j0] + gamma * size[j0] + TINY) * INFLATE,
                (error[j1] + gamma * size[j1] + TINY) * INFLATE * o1,
                (error[j2] + gamma * size[j2] + TINY) * INFLATE * o2,
                (error[j3] + gamma * size[j3] + TINY) * INFLATE * o3,
                before[d + 1, begin:end],
            )


@kernel
def _add_column(
    maps: Any, before: Any, term: int, layer: int, row: int, change: Any, bounds: bool
) -> None:
    """Add the contribution `change` (d + 1 columns and a bound) of one source neuron."""
    d = maps.dimension
    source_row = row - maps.row_start[maps.terms[term, 0]]
    begin, end = maps.row_start[layer], maps.row_start[layer + 1]
    at = maps.terms[term, 2]
    if maps.terms[term, 1]:
        column = maps.terms[term, 3] + source_row
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


@kernel
def sum_layer(
    maps: Any, before: Any, after: Any, layer: int, bounds: bool, scratch: Any, change: Any
) -> None:
    """Pre-activations of a layer, from the outputs of its sources."""
    d = maps.dimension
    begin, end = maps.row_start[layer], maps.row_start[layer + 1]
    for c in range(d + 2):
        for row in range(begin, end):
            before[c, row] = maps.bias[row] if c == d else 0.0
    gamma = maps.gamma[layer]
    for term in range(maps.term_start[layer], maps.term_start[layer + 1]):
        if not maps.terms[term, 1]:
            _add_dense(maps, before, after, term, layer, bounds, scratch)
            continue
        source = maps.terms[term, 0]
        for row in range(maps.row_start[source], maps.row_start[source + 1]):
            if after[d + 2, row] == 0.0 and after[d + 1, row] == 0.0:
                continue
            for c in range(d + 1):
                change[c] = after[c, row]
            change[d + 1] = (after[d + 1, row] + gamma * after[d + 2, row] + TINY) * INFLATE
            _add_column(maps, before, term, layer, row, change, bounds)


@kernel
def change_piece(
    maps: Any,
    before: Any,
    after: Any,
    layer: int,
    row: int,
    piece: int,
    bounds: bool,
    change: Any,
) -> None:
    """Put a neuron of `layer` on another piece, and correct the rows of the next layer."""
    d = maps.dimension
    for c in range(d + 1):
        change[c] = -after[c, row]
    set_piece(maps, before, after, row, maps.gamma[layer], piece)
    largest = 0.0
    for c in range(d + 1):
        change[c] += after[c, row]
        largest = max(largest, abs(change[c]))
    # The old output's contribution stays in the bound, which is therefore too large, not small.
    change[d + 1] = (after[d + 1, row] + maps.gamma[layer + 1] * largest + TINY) * INFLATE
    for term in range(maps.term_start[layer + 1], maps.term_start[layer + 2]):
        if maps.terms[term, 0] == layer:
            _add_column(maps, before, term, layer + 1, row, change, bounds)


@kernel
def enter_layer(
    maps: Any,
    before: Any,
    after: Any,
    pattern: Any,
    layer: int,
    pieces: Any,
    at: int,
    changes: Any,
    bounds: bool,
    scratch: Any,
    change: Any,
) -> None:
    """Fix the pieces of `layer`, and bring the pre-activations of the next layer up to date.

    The pieces are ``pieces[at], …``; layer 0 has none.
    ``changes[layer + 1]`` counts the rank-one changes since the next layer was summed; it is
    negative where its rows belong to another map of `layer` and must be summed anew.
    """
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
                    change_piece(maps, before, after, layer, begin + j, piece, bounds, change)
            changes[layer + 1] += flips
            return
    if layer == 0:
        load_input(maps, after)
    else:
        for j in range(width):
            pattern[first + j] = pieces[at + j]
            set_piece(maps, before, after, begin + j, maps.gamma[layer], pieces[at + j])
    sum_layer(maps, before, after, layer + 1, bounds, scratch, change)
    changes[layer + 1] = 0


@kernel
def enter_layers(
    maps: Any,
    before: Any,
    after: Any,
    pattern: Any,
    pieces: Any,
    layers: int,
    changes: Any,
    bounds: bool,
    scratch: Any,
    change: Any,
) -> None:
    """Make the maps of the first layers anew, from the pieces of all of them."""
    for layer in range(layers):
        changes[layer + 1] = -1
        at = maps.row_start[layer] - maps.row_start[1]
        enter_layer(
            maps,
            before,
            after,
            pattern,
            layer,
            pieces,
            at,
            changes,
            bounds,
            scratch,
            change,
        )
