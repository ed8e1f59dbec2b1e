"""Kernels that keep the affine maps of all layers up to date while the pattern changes.

``before[c, row]`` holds column c of the pre-activation of a row (d slopes, then the offset), and
``before[d + 1, row]`` a bound on the error of each of them. ``after`` holds the same columns of the
outputs; its row d + 1 is 0 where a neuron is off, else the largest absolute value.

In float arithmetic that is all. Otherwise every number has a second half, ``low`` and
``after_low``, and there are bounds on the errors of the sums of both halves: one for each layer and
column, on the Euclidean length of the vector of the errors of all neurons. Layers are summed with
an anchor (`_add_four_exactly`), which takes little longer than in float64, and the bounds do
not explode with depth. All of that is step 1 of docs/error-bound.md.
"""

from __future__ import annotations

from math import frexp, ldexp
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.jit import fma, kernel, template
from tropicell.geometry._double import exact_product, exact_sum
from tropicell.geometry.rounding import INFLATE, ROUND, TINY
from tropicell.network.flat import BLOCK, COLUMNS_AT, FILTERS, IS_SPARSE, SOURCE, WEIGHTS_AT

#: After so many changes of single neurons a layer's rows are summed anew.
MOST_CHANGES = 120

#: Exponents of float64 below this can be 3 larger.
_LARGEST_EXPONENT = 2043

#: More than the length of a vector whose squares underflow.
_UNDERFLOW = 1e-140


class LayerMaps(NamedTuple):
    """The affine maps of all layers on the current cell.

    Attributes
    ----------
    before : ndarray, shape (d + 2, rows and more)
        Of every neuron before its activation: slopes, offset, and a bound on their errors.
    low : ndarray, shape (d + 1, rows and more)
        Second halves of slopes and offset.
    after : ndarray, shape (d + 2, rows)
        Slopes and offset after it, and the largest absolute value.
    after_low : ndarray, shape (d + 1, rows)
        Second halves.
    pattern : ndarray of uint8, shape (neurons,)
        The pieces to which `after` belongs.
    changes : ndarray, shape (depth + 2,)
        Changes of neurons since a layer was summed; negative where it must be summed anew.
    span, rounding, error : ndarray, shape (depth + 2, d + 1)
        For each column of the rows of a layer: a bound on their absolute values; on the rounding of
        each in the sums that made it; on the length of the vector of all errors.
    output_rounding, output_error : ndarray, shape (depth + 2, d + 1)
        The last two for the outputs.
    sources : ndarray, shape (widest layer,)
        Scratch: the neurons whose output, or its change, is added to the next layer.
    factors : ndarray, shape (2 d + 2, widest layer)
        Scratch: these outputs or changes, and their second halves.
    anchor : ndarray, shape (d + 1,)
        Scratch: what the sums of a column begin with.
    """

    before: NDArray[np.float64]
    low: NDArray[np.float64]
    after: NDArray[np.float64]
    after_low: NDArray[np.float64]
    pattern: NDArray[np.uint8]
    changes: NDArray[np.int64]
    span: NDArray[np.float64]
    rounding: NDArray[np.float64]
    error: NDArray[np.float64]
    output_rounding: NDArray[np.float64]
    output_error: NDArray[np.float64]
    sources: NDArray[np.int64]
    factors: NDArray[np.float64]
    anchor: NDArray[np.float64]


def layer_maps(
    dimension: int, row_start: Any, *, exact: bool, free: Any = lambda array: array
) -> LayerMaps:
    """Room for the maps of layers; for `free` see `tropicell._runtime.memory.Blueprint`."""
    d, layers, rows = dimension, len(row_start), int(row_start[-1])
    widest = int(np.diff(row_start).max(initial=1))
    fine = rows if exact else 0
    bounds = layers if exact else 0
    return LayerMaps(
        before=free(np.zeros((d + 2, rows + spare(rows)))),
        low=free(np.zeros((d + 1, fine + (spare(fine) if exact else 0)))),
        after=free(np.zeros((d + 2, rows))),
        after_low=free(np.zeros((d + 1, fine))),
        pattern=np.zeros(rows - int(row_start[1]), np.uint8),
        changes=np.full(layers, -1),
        span=free(np.zeros((bounds, d + 1))),
        rounding=free(np.zeros((bounds, d + 1))),
        error=free(np.zeros((bounds, d + 1))),
        output_rounding=free(np.zeros((bounds, d + 1))),
        output_error=free(np.zeros((bounds, d + 1))),
        sources=np.zeros(widest, np.int64),
        factors=free(np.zeros((2 * d + 2, widest))),
        anchor=free(np.zeros(d + 1)),
    )


def spare(rows: int) -> int:
    """How many more numbers a row of an array needs, so that kernels may read whole blocks."""
    return BLOCK + -rows % BLOCK


# --- entering a layer -----------------------------------------------------------------------------


@kernel(inner=True)
def enter_layers(maps: Any, current: Any, pieces: Any, layers: int, exact: bool) -> None:
    """Make the maps of the first layers anew, from the pieces of all of them."""
    for layer in range(layers):
        current.changes[layer + 1] = -1
        at = maps.row_start[layer] - maps.row_start[1]
        enter_layer(maps, current, layer, pieces, at, exact)


@kernel
def enter_layer(maps: Any, current: Any, layer: int, pieces: Any, at: int, exact: bool) -> None:
    """Fix the pieces of `layer`, and bring the pre-activations of the next layer up to date.

    Parameters
    ----------
    maps : MapArrays
    current : LayerMaps
        ``current.changes[layer + 1]`` counts the changes of neurons since the next layer was
        summed; it is negative where its rows belong to another map of `layer` and must be summed
        anew.
    layer : int
    pieces : ndarray of uint8
    at : int
        The pieces are ``pieces[at], …``; layer 0 has none.
    exact : bool
        Whether second halves and bounds on the errors are wanted.
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
            if flips:
                _change_pieces(maps, current, layer, pieces, at, exact)
            changes[layer + 1] += flips
            return
    if layer == 0:
        load_input(maps, current, exact)
    else:
        if exact:
            for c in range(maps.dimension + 1):
                current.output_rounding[layer, c] = 0.0
        for j in range(width):
            pattern[first + j] = pieces[at + j]
            set_piece(maps, current, layer, begin + j, pieces[at + j], exact)
        if exact:
            bound_outputs(maps, current, layer)
    sum_layer(maps, current, layer + 1, exact)
    changes[layer + 1] = 0


@kernel(inner=True, inlined=True)
def _change_pieces(maps: Any, current: Any, layer: int, pieces: Any, at: int, exact: bool) -> None:
    """Put neurons of `layer` on other pieces, and correct the rows of the next layer."""
    d, pattern, factors = maps.dimension, current.pattern, current.factors
    begin = maps.row_start[layer]
    first = begin - maps.row_start[1]
    count = 0
    for j in range(maps.row_start[layer + 1] - begin):
        piece = pieces[at + j]
        if piece == pattern[first + j]:
            continue
        row = begin + j
        pattern[first + j] = piece
        for c in range(d + 1):
            factors[c, count] = -current.after[c, row]
            if exact:
                factors[d + 1 + c, count] = -current.after_low[c, row]
        set_piece(maps, current, layer, row, piece, exact)
        for c in range(d + 1):
            old, new = factors[c, count], current.after[c, row]
            factors[c, count] = new + old
            if exact:
                high, rest = exact_sum(new, old)
                rest += current.after_low[c, row] + factors[d + 1 + c, count]
                factors[c, count], factors[d + 1 + c, count] = exact_sum(high, rest)
        current.sources[count] = row
        count += 1
    if exact:
        bound_outputs(maps, current, layer)
    for term in range(maps.term_start[layer + 1], maps.term_start[layer + 2]):
        if maps.terms[term, SOURCE] == layer:
            if exact:
                _anchor_changes(maps, current, layer + 1, term, count)
            _add(maps, current, term, layer + 1, count, exact)
            if exact:
                _settle(maps, current, layer + 1)


@kernel(inner=True)
def load_input(maps: Any, current: Any, exact: bool) -> None:
    """Outputs of layer 0."""
    d, after = maps.dimension, current.after
    for row in range(maps.row_start[1]):
        largest = 0.0
        for c in range(d + 1):
            value = maps.input_rows[row, c]
            after[c, row] = value
            largest = max(largest, abs(value))
            if exact:
                current.after_low[c, row] = maps.input_low[row, c]
        after[d + 1, row] = largest
    if exact:
        for c in range(d + 1):
            # 0 unless the map of layer 0 is rounded, and then off by at most 2 u² in each place.
            total = 0.0
            for row in range(maps.row_start[1]):
                if maps.input_low[row, c] != 0.0:
                    total += abs(maps.input_rows[row, c])
            current.output_error[0, c] = 2.0 * ROUND * ROUND * total * INFLATE


@kernel(inner=True, inlined=True)
def set_piece(maps: Any, current: Any, layer: int, row: int, piece: int, exact: bool) -> None:
    """Output of one neuron that is on the given piece."""
    d, before, after = maps.dimension, current.before, current.after
    slope = maps.slopes[row, piece]
    intercept = maps.intercepts[row, piece]
    largest = 0.0
    for c in range(d + 1):
        value = slope * before[c, row]
        if c == d:
            value += intercept
        after[c, row] = value
        largest = max(largest, abs(value))
    after[d + 1, row] = largest
    if not exact:
        return
    low, after_low = current.low, current.after_low
    if maps.unit[layer]:  # nothing is rounded
        for c in range(d + 1):
            after_low[c, row] = slope * low[c, row]
        return
    for c in range(d + 1):
        p, e = exact_product(slope, before[c, row])
        e += slope * low[c, row]
        s, t = exact_sum(p, intercept if c == d else 0.0)
        if c == d:
            t += maps.intercepts_low[row, piece]
        after[c, row], after_low[c, row] = exact_sum(s, t + e)
        # 8 u² (|s R| + |N| + |c|)
        size = abs(p) + abs(s) + (abs(intercept) if c == d else 0.0)
        current.output_rounding[layer, c] += 8.0 * ROUND * ROUND * size * INFLATE


@kernel(inner=True, inlined=True)
def bound_outputs(maps: Any, current: Any, layer: int) -> None:
    """Step 1, activations: bounds on the errors of the outputs of a layer, |s| ε + rounding."""
    first = maps.row_start[1]
    steepest = 0.0
    for row in range(maps.row_start[layer], maps.row_start[layer + 1]):
        steepest = max(steepest, abs(maps.slopes[row, current.pattern[row - first]]))
    for c in range(maps.dimension + 1):
        error = steepest * current.error[layer, c] + current.output_rounding[layer, c]
        current.output_error[layer, c] = error * INFLATE


@kernel(inner=True, inlined=True)
def sum_layer(maps: Any, current: Any, layer: int, exact: bool) -> None:
    """Pre-activations of a layer, from the outputs of its sources."""
    d, before, low = maps.dimension, current.before, current.low
    begin, end = maps.row_start[layer], maps.row_start[layer + 1]
    if exact:
        _anchor_sum(maps, current, layer)
    for c in range(d + 1):
        start = current.anchor[c] if exact else 0.0
        for row in range(begin, end):
            before[c, row] = start
    for row in range(begin, end):
        before[d, row] += maps.bias[row]
    if exact:
        for c in range(d):
            for row in range(begin, end):
                low[c, row] = 0.0
        for row in range(begin, end):
            low[d, row] = maps.bias[row] - (before[d, row] - current.anchor[d])
    else:
        for row in range(begin, end):
            before[d + 1, row] = 0.0
    for term in range(maps.term_start[layer], maps.term_start[layer + 1]):
        count = _gather(maps, current, term, exact)
        _add(maps, current, term, layer, count, exact)
    if exact:
        _settle(maps, current, layer)


@kernel(inner=True, inlined=True)
def _gather(maps: Any, current: Any, term: int, exact: bool) -> int:
    """Take the outputs of a term's source that are not 0; returns their number."""
    d, after, factors = maps.dimension, current.after, current.factors
    source = maps.terms[term, SOURCE]
    count = 0
    for row in range(maps.row_start[source], maps.row_start[source + 1]):
        if after[d + 1, row] == 0.0:
            continue
        current.sources[count] = row
        for c in range(d + 1):
            factors[c, count] = after[c, row]
            if exact:
                factors[d + 1 + c, count] = current.after_low[c, row]
        count += 1
    return count


# --- anchors, and the bounds of sums --------------------------------------------------------------


@kernel(inner=True, inlined=True)
def _anchor_sum(maps: Any, current: Any, layer: int) -> None:
    """Choose the anchors of a layer that is summed anew, and bound what the sum rounds."""
    d, after = maps.dimension, current.after
    most = 0
    for term in range(maps.term_start[layer], maps.term_start[layer + 1]):
        source = maps.terms[term, SOURCE]
        for row in range(maps.row_start[source], maps.row_start[source + 1]):
            most += after[d + 1, row] != 0.0
    for c in range(d + 1):
        growth = 0.0
        for term in range(maps.term_start[layer], maps.term_start[layer + 1]):
            source = maps.terms[term, SOURCE]
            squares, largest = 0.0, 0.0
            for row in range(maps.row_start[source], maps.row_start[source + 1]):
                squares += after[c, row] * after[c, row]
                largest = max(largest, abs(after[c, row]))
            growth += maps.largest_row[term] * _length(squares, largest)
        total = (growth + (maps.biggest_bias[layer] if c == d else 0.0)) * INFLATE
        current.span[layer, c] = total
        anchor = _anchor(total)
        current.anchor[c] = anchor
        # Nothing is rounded where nothing is added.
        current.rounding[layer, c] = _sum_rounding(most, anchor) if growth > 0.0 else 0.0


@kernel(inner=True, inlined=True)
def _anchor_changes(maps: Any, current: Any, layer: int, term: int, count: int) -> None:
    """The same for changes that are added to the rows of a layer, which are made ready for that."""
    d, factors, before, low = maps.dimension, current.factors, current.before, current.low
    source = maps.terms[term, SOURCE]
    for c in range(d + 1):
        squares, largest, size = 0.0, 0.0, 0.0
        for k in range(count):
            squares += factors[c, k] * factors[c, k]
            largest = max(largest, abs(factors[c, k]))
            size += abs(factors[c, k]) + 2.0 * abs(current.after[c, current.sources[k]])
        growth = maps.largest_row[term] * _length(squares, largest)
        total = (current.span[layer, c] + growth) * INFLATE
        current.span[layer, c] = total
        anchor = _anchor(total)
        current.anchor[c] = anchor
        if growth > 0.0:
            current.rounding[layer, c] += _sum_rounding(count, anchor)
        if not maps.unit[source]:  # the changes are differences, 4 u² (|new| + |old|) off
            current.rounding[layer, c] += maps.largest_row[term] * 4.0 * ROUND * ROUND * size
        begin, width = _whole_blocks(maps, layer)
        high, rest = before[c, begin : begin + width], low[c, begin : begin + width]
        for r in range(width):
            start = anchor + high[r]
            rest[r] += high[r] - (start - anchor)
            high[r] = start


@template
def _whole_blocks(maps: Any, layer: int) -> Any:
    """Where the rows of a layer begin, and how many there are, up to whole blocks.

    With so many, loops become vector code also for narrow layers. What is written behind the last
    row belongs to the next layer, which is summed anew before it is read.
    """
    begin = maps.row_start[layer]
    return begin, (maps.row_start[layer + 1] - begin + BLOCK - 1) // BLOCK * BLOCK


@kernel(inner=True, inlined=True)
def _length(squares: float, largest: float) -> float:
    """The length of a vector from the sum of its squares, some of which may have underflowed."""
    return float(np.sqrt(squares)) * INFLATE + (_UNDERFLOW if largest > 0.0 else 0.0)


@kernel(inner=True, inlined=True)
def _anchor(total: float) -> float:
    """1.5 2^k with 2^(k - 2) above the sums: with it they stay between 2^k and 2^(k + 1)."""
    bits = np.float64(total).view(np.int64) >> 52
    if bits > 0 and bits < _LARGEST_EXPONENT:  # read off the bits, which is faster
        return float(np.int64((bits + 3) << 52 | 1 << 51).view(np.float64))
    _, exponent = frexp(total)
    return ldexp(1.5, exponent + 2)


@kernel(inner=True, inlined=True)
def _sum_rounding(n: int, anchor: float) -> float:
    """What the sum of n terms with an anchor may round: (n² / 2 + 4 n + 8) 2^-105 2^k."""
    return 2.0 * ROUND * ROUND * anchor * (n * (0.5 * n + 4.0) + 8.0)


@kernel(inner=True, inlined=True)
def _settle(maps: Any, current: Any, layer: int) -> None:
    """Take the anchors off, make two halves of each number, and bound the errors."""
    d, before, low = maps.dimension, current.before, current.low
    begin, n = _whole_blocks(maps, layer)
    error = before[d + 1, begin : begin + n]
    for r in range(n):
        error[r] = 0.0
    largest = 0.0
    width = float(maps.row_start[layer + 1] - begin)
    for c in range(d + 1):
        anchor = current.anchor[c]
        high, rest = before[c, begin : begin + n], low[c, begin : begin + n]
        for r in range(n):
            h, t = exact_sum(high[r] - anchor, rest[r])
            high[r] = h
            rest[r] = t
        for r in range(n):
            error[r] = max(error[r], abs(rest[r]))
        total = np.sqrt(width) * current.rounding[layer, c]
        for term in range(maps.term_start[layer], maps.term_start[layer + 1]):
            source = maps.terms[term, SOURCE]
            total += maps.spectral_norm[term] * current.output_error[source, c]
        if total > 0.0:
            total = (total + TINY) * INFLATE
        current.error[layer, c] = total
        largest = max(largest, total)
    for r in range(n):
        error[r] = (error[r] + largest) * INFLATE


# --- adding outputs, or their changes, to the rows of a layer -------------------------------------


@kernel(inner=True, inlined=True)
def _add(maps: Any, current: Any, term: int, layer: int, count: int, exact: bool) -> None:
    """Add the factors of the neurons in ``current.sources`` times their weights of a term."""
    begin, end = maps.row_start[layer], maps.row_start[layer + 1]
    kind = maps.terms[term, IS_SPARSE]
    if kind:
        for i in range(count):
            if kind == FILTERS:
                _add_filters(maps, current, term, begin, i, exact)
            else:
                _add_column(maps, current, term, begin, i, exact)
        return
    d, before, low = maps.dimension, current.before, current.low
    sources, factors = current.sources, current.factors
    width, whole = end - begin, _whole_blocks(maps, layer)[1]
    weights_at = maps.terms[term, WEIGHTS_AT] - maps.row_start[maps.terms[term, SOURCE]] * width
    for i in range(0, count, 4):
        # A block that is not full repeats its last neuron, with factor 0.
        i1, i2, i3 = min(i + 1, count - 1), min(i + 2, count - 1), min(i + 3, count - 1)
        o1 = 1.0 if i + 1 < count else 0.0
        o2 = 1.0 if i + 2 < count else 0.0
        o3 = 1.0 if i + 3 < count else 0.0
        at = (
            weights_at + sources[i] * width,
            weights_at + sources[i1] * width,
            weights_at + sources[i2] * width,
            weights_at + sources[i3] * width,
        )
        for c in range(d + 1):
            f = factors[c]
            high = f[i], f[i1] * o1, f[i2] * o2, f[i3] * o3
            if exact:
                f = factors[d + 1 + c]
                rest = f[i], f[i1] * o1, f[i2] * o2, f[i3] * o3
                to, lower = before[c, begin : begin + whole], low[c, begin : begin + whole]
                _add_four_exactly(maps.weights, at, high, rest, to, lower)
            else:
                _add_four(maps.weights, at, high, before[c, begin:end])


@kernel(inner=True, inlined=True)
def _add_column(maps: Any, current: Any, term: int, begin: int, i: int, exact: bool) -> None:
    """Add the factors of one source neuron times its weights, which are listed."""
    d, before, low, factors = maps.dimension, current.before, current.low, current.factors
    at = maps.terms[term, WEIGHTS_AT]
    first = maps.row_start[maps.terms[term, SOURCE]]
    column = maps.terms[term, COLUMNS_AT] + current.sources[i] - first
    for k in range(at + maps.columns[column], at + maps.columns[column + 1]):
        target = begin + maps.targets[k]
        weight = maps.weights[k]
        for c in range(d + 1):
            if exact:
                f, a = factors[c, i], before[c, target]
                b = fma(weight, f, a)
                low[c, target] += fma(weight, factors[d + 1 + c, i], fma(weight, f, a - b))
                before[c, target] = b
            else:
                before[c, target] += weight * factors[c, i]


@kernel(inner=True)
def _add_filters(maps: Any, current: Any, term: int, begin: int, i: int, exact: bool) -> None:
    """The same for a source neuron that filters of a convolution look at; see `FILTERS`."""
    d, before, low, factors = maps.dimension, current.before, current.low, current.factors
    table = maps.columns[maps.terms[term, COLUMNS_AT] :]
    positions, places, filters, taps = table[0], table[1], table[2], table[3]
    neuron = current.sources[i] - maps.row_start[maps.terms[term, SOURCE]]
    channel, position = neuron // positions, neuron % positions
    pairs = table[4 + positions + 1 :]
    for k in range(table[4 + position], table[5 + position]):
        at = maps.terms[term, WEIGHTS_AT] + (channel * taps + pairs[2 * k]) * filters
        first = begin + pairs[2 * k + 1]
        for c in range(d + 1):
            f, rest = factors[c, i], 0.0
            if exact:
                rest = factors[d + 1 + c, i]
            for j in range(filters):
                weight, target = maps.weights[at + j], first + j * places
                a = before[c, target]
                if exact:
                    b = fma(weight, f, a)
                    low[c, target] += fma(weight, rest, fma(weight, f, a - b))
                    before[c, target] = b
                else:
                    before[c, target] = a + weight * f


@kernel(sums="fused", inner=True, inlined=True)
def _add_four(weights: Any, at: Any, factors: Any, out: Any) -> None:
    """out[r] += factors[0] * weights[at[0] + r] + … + factors[3] * weights[at[3] + r]."""
    width = len(out)
    f0, f1, f2, f3 = factors
    w0, w1 = weights[at[0] : at[0] + width], weights[at[1] : at[1] + width]
    w2, w3 = weights[at[2] : at[2] + width], weights[at[3] : at[3] + width]
    for r in range(width):
        out[r] += (w0[r] * f0 + w1[r] * f1) + (w2[r] * f2 + w3[r] * f3)


@kernel(inner=True, inlined=True)
def _add_four_exactly(weights: Any, at: Any, high: Any, rest: Any, out: Any, low: Any) -> None:
    """The same in twice the digits, with an anchor.

    ``out`` holds anchor + sum: numbers between one power of two and the next, a grid on which they
    are rounded. So the difference of two of them is a float; what a product lacks of it is worked
    out with one more rounding, far down, and goes to ``low``.
    """
    width = len(out) // BLOCK * BLOCK  # which it is
    f0, f1, f2, f3 = high
    g0, g1, g2, g3 = rest
    w0, w1 = weights[at[0] : at[0] + width], weights[at[1] : at[1] + width]
    w2, w3 = weights[at[2] : at[2] + width], weights[at[3] : at[3] + width]
    for r in range(width):
        w, a, t = w0[r], out[r], low[r]
        b = fma(w, f0, a)
        t += fma(w, g0, fma(w, f0, a - b))
        w = w1[r]
        a = fma(w, f1, b)
        t += fma(w, g1, fma(w, f1, b - a))
        w = w2[r]
        b = fma(w, f2, a)
        t += fma(w, g2, fma(w, f2, a - b))
        w = w3[r]
        a = fma(w, f3, b)
        t += fma(w, g3, fma(w, f3, b - a))
        out[r] = a
        low[r] = t
