"""What the filter's kernels share: inequalities of patterns in float64, with error bounds.

Rows are summed in twice the digits of float64. The bounds are those of docs/certificate-proof.md,
"The filter"; they are made from the weights for every pattern. Layers whose pattern did not change
since the last region are kept.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from math import frexp, ldexp

import numpy as np

from tropicell._runtime._hashing import find_row
from tropicell._runtime.jit import fma, kernel
from tropicell.certificate._flat import COVER, COVER_MORE, FIRST_WEIGHT, SOURCE, bound_of
from tropicell.geometry._double import exact_product, exact_sum
from tropicell.geometry.rounding import INFLATE, ROUND, TINY

#: Rows that may be larger than this are not worked out.
_HUGE = 1e250

#: More than the length of a vector whose squares underflow.
_UNDERFLOW = 1e-140

#: Where facets (see `gather`) have their offset, and the bound on their errors.
OFFSET, ERROR = -2, -1

_bound_of = kernel(sums="fused", inner=True)(bound_of)


@kernel(inner=True)
def _sources_of_layer(flat, state, layer):  # pragma: no cover - compiled
    """List the outputs that a layer sums, and where their weights begin; how many."""
    starts = flat.starts
    width = starts[layer + 1] - starts[layer]
    count = 0
    for term in range(flat.term_starts[layer - 1], flat.term_starts[layer]):
        source, begin = flat.terms[term, SOURCE], flat.terms[term, FIRST_WEIGHT]
        for i in range(starts[source], starts[source + 1]):
            if state.live[i]:
                state.sources[count] = i
                state.at[count] = begin + (i - starts[source]) * width
                count += 1
    return count


@kernel(inner=True)
def _add_four(weights, at, high, low, sums, rest):  # pragma: no cover - compiled
    """Add four outputs times their weights to sums that began with an anchor."""
    width = len(sums)
    f0, f1, f2, f3 = high
    g0, g1, g2, g3 = low
    w0, w1 = weights[at[0] : at[0] + width], weights[at[1] : at[1] + width]
    w2, w3 = weights[at[2] : at[2] + width], weights[at[3] : at[3] + width]
    for j in range(width):
        w, a, t = w0[j], sums[j], rest[j]
        b = fma(w, f0, a)
        t += fma(w, g0, fma(w, f0, a - b))
        w = w1[j]
        a = fma(w, f1, b)
        t += fma(w, g1, fma(w, f1, b - a))
        w = w2[j]
        b = fma(w, f2, a)
        t += fma(w, g2, fma(w, f2, a - b))
        w = w3[j]
        a = fma(w, f3, b)
        t += fma(w, g3, fma(w, f3, b - a))
        sums[j] = a
        rest[j] = t


@kernel(inner=True)
def _rows_of_layer(flat, state, layer):  # pragma: no cover - compiled
    """Pre-activations of a layer as rows in two halves, and bounds on their errors.

    docs/certificate-proof.md, "Rows".
    """
    starts, size = flat.starts, flat.inputs.shape[1]
    first = starts[layer] - starts[1]
    width = starts[layer + 1] - starts[layer]
    last = first + width
    errors = state.row_errors[first:last]
    count = _sources_of_layer(flat, state, layer)
    sources, at = state.sources, state.at
    for j in range(width):
        errors[j] = 0.0
    worst = 0.0
    for column in range(size):
        sums, rest = state.rows[column, first:last], state.lows[column, first:last]
        values, lows = state.outputs[column], state.output_lows[column]
        growth, error = 0.0, 0.0
        for term in range(flat.term_starts[layer - 1], flat.term_starts[layer]):
            source = flat.terms[term, SOURCE]
            squares, largest = 0.0, 0.0
            for i in range(starts[source], starts[source + 1]):
                squares += values[i] * values[i]
                largest = max(largest, abs(values[i]))
            length = np.sqrt(squares) * INFLATE + (_UNDERFLOW if largest > 0.0 else 0.0)
            growth += flat.longest[term] * length
            error += flat.norms[term] * state.output_errors[source, column]
        is_offset = column == size - 1
        total = (growth + (flat.largest_bias[layer] if is_offset else 0.0)) * INFLATE
        _, exponent = frexp(total)
        anchor = ldexp(1.5, exponent + 2) if total < _HUGE else np.nan
        for j in range(width):
            bias = flat.bias[first + j] if is_offset else 0.0
            sums[j] = anchor + bias
            rest[j] = bias - (sums[j] - anchor)
        if growth > 0.0:
            for k in range(0, count, 4):
                # A block that is not full repeats its last output, times 0.
                k1, k2, k3 = min(k + 1, count - 1), min(k + 2, count - 1), min(k + 3, count - 1)
                o1 = 1.0 if k + 1 < count else 0.0
                o2 = 1.0 if k + 2 < count else 0.0
                o3 = 1.0 if k + 3 < count else 0.0
                i0, i1, i2, i3 = sources[k], sources[k1], sources[k2], sources[k3]
                _add_four(
                    flat.weights,
                    (at[k], at[k1], at[k2], at[k3]),
                    (values[i0], values[i1] * o1, values[i2] * o2, values[i3] * o3),
                    (lows[i0], lows[i1] * o1, lows[i2] * o2, lows[i3] * o3),
                    sums,
                    rest,
                )
            summed = count * (0.5 * count + 4.0) + 8.0
            error += np.sqrt(float(width)) * 2.0 * ROUND * ROUND * anchor * summed
        if error != 0.0:
            error = (error + TINY) * INFLATE
        state.errors[layer, column] = error
        worst = error if not error <= worst else worst
        for j in range(width):
            high, low = exact_sum(sums[j] - anchor, rest[j])
            sums[j] = high
            rest[j] = low
        for j in range(width):
            errors[j] = max(errors[j], abs(rest[j]))
    for j in range(width):
        errors[j] = (errors[j] + worst) * INFLATE
    _mark_constant(flat, state, layer, count, worst)


@kernel(inner=True)
def _mark_constant(flat, state, layer, count, worst):  # pragma: no cover - compiled
    """Let the error of neurons be 0 where nothing is added to the bias."""
    starts, size = flat.starts, flat.inputs.shape[1]
    first = starts[layer] - starts[1]
    for j in range(starts[layer + 1] - starts[layer]):
        flat_row = True
        for column in range(size - 1):
            flat_row = flat_row and state.rows[column, first + j] == 0.0
        if not flat_row or worst == 0.0:
            continue
        for k in range(count):
            flat_row = flat_row and flat.weights[state.at[k] + j] == 0.0
        if flat_row:
            state.rows[size - 1, first + j] = flat.bias[first + j]
            state.lows[size - 1, first + j] = 0.0
            state.row_errors[first + j] = 0.0


@kernel(inner=True)
def _outputs_of_layer(flat, state, layer):  # pragma: no cover - compiled
    """Outputs of a layer as rows, on its part of the pattern."""
    starts, size = flat.starts, flat.inputs.shape[1]
    steepest, on = 0.0, 0
    for i in range(starts[layer], starts[layer + 1]):
        j = i - starts[1]
        slope = flat.slopes[j, state.pattern[j]]
        on += 1 if slope != 0.0 else 0
        offset = flat.intercepts[j, state.pattern[j]]
        steepest = max(steepest, abs(slope))
        constant = state.row_errors[j] == 0.0 and flat.bias[j] == 0.0
        state.live[i] = (slope != 0.0 and not constant) or offset != 0.0
    state.on[layer] = on
    unit = flat.unit[layer]
    for column in range(size):
        rounded = 0.0
        for i in range(starts[layer], starts[layer + 1]):
            j = i - starts[1]
            slope = flat.slopes[j, state.pattern[j]]
            high, low = slope * state.rows[column, j], slope * state.lows[column, j]
            if not unit:
                p, e = exact_product(slope, state.rows[column, j])
                offset, more = 0.0, 0.0
                if column == size - 1:
                    offset = flat.intercepts[j, state.pattern[j]]
                    more = flat.intercepts_low[j, state.pattern[j]]
                s, t = exact_sum(p, offset)
                rounded += abs(p) + abs(s) + abs(offset)
                high, low = exact_sum(s, (t + more) + (e + low))
            state.outputs[column, i] = high
            state.output_lows[column, i] = low
        error = steepest * state.errors[layer, column] + 8.0 * ROUND * ROUND * rounded
        if not unit:
            error += TINY
        state.output_errors[layer, column] = error * INFLATE


@kernel(inner=True)
def _side_of_constant(flat, state, layer, j, breakpoint):  # pragma: no cover - compiled
    """Of a neuron's pre-activation and a breakpoint, if it is surely constant.

    1 if it is surely larger, 0 if it is the same, -1 if it is surely smaller, 2 if in doubt or if
    it may not be constant.
    """
    last, errors, finest = flat.inputs.shape[1] - 1, state.errors[layer], flat.finest[layer]
    t = flat.breakpoints[j, breakpoint]
    if state.row_errors[j] == 0.0:  # nothing was added to the bias
        value = state.rows[last, j] - t
        return 1 if value > 0.0 else (0 if value == 0.0 else -1)
    for column in range(last):
        # A multiple of `finest` that is smaller than it is 0.
        is_zero = state.rows[column, j] == 0.0
        if not (is_zero and (errors[column] == 0.0 or errors[column] < finest)):
            return 2
    high, low = exact_sum(state.rows[last, j], -t)
    value = high + (low + state.lows[last, j])
    slack = errors[last] + 4.0 * ROUND * abs(high) + 4.0 * ROUND * abs(low)
    slack = (slack + 4.0 * ROUND * abs(state.lows[last, j])) * INFLATE
    if value > slack:
        return 1
    if value < -slack:
        return -1
    return 0 if abs(value) + slack < finest else 2


@kernel(inner=True)
def _inequalities_of_layer(flat, state, layer):  # pragma: no cover - compiled
    """The inequalities of a layer, on its part of the pattern."""
    starts, size, breakpoint_count = flat.starts, flat.inputs.shape[1], flat.breakpoints.shape[1]
    found, errors = state.inequalities, state.row_errors
    count = found.begins[layer]
    fine = True
    for i in range(starts[layer], starts[layer + 1]):
        j = i - starts[1]
        state.at_break[j] = -1
        for breakpoint in range(breakpoint_count):
            if flat.breakpoints[j, breakpoint] < np.inf:
                state.places[flat.first_lines[j] + breakpoint] = -1
        may_be_constant = True
        for column in range(size - 1):
            may_be_constant = may_be_constant and state.rows[column, j] == 0.0
        for upper in range(2):
            breakpoint = state.pattern[j] - 1 + upper
            if (
                breakpoint < 0
                or breakpoint >= breakpoint_count
                or flat.breakpoints[j, breakpoint] == np.inf
            ):
                continue
            if may_be_constant:
                side = _side_of_constant(flat, state, layer, j, breakpoint)
                if side < 2:  # on its piece, or not
                    fine = fine and (side > 0) == (upper == 0)
                    if side == 0:
                        state.at_break[j] = breakpoint
                    continue
            offset = state.rows[size - 1, j] - flat.breakpoints[j, breakpoint]
            sign = 1.0 - 2.0 * upper
            total = abs(offset)
            for column in range(size - 1):
                total += abs(state.rows[column, j])
                found.rows[column, count] = sign * state.rows[column, j]
            found.rows[size - 1, count] = sign * offset
            found.lines[count] = flat.first_lines[j] + breakpoint
            found.sizes[count] = total
            found.bounds[count] = _bound_of(errors[j], total, flat.rounding)
            state.places[flat.first_lines[j] + breakpoint] = count
            count += 1
    found.ends[layer] = count if fine else -1


@kernel(sums="fused", inner=True)
def _piece(words, bits, j):  # pragma: no cover - compiled
    """The piece of one neuron of a packed pattern."""
    place, shift = (j * bits) >> 6, np.uint64((j * bits) & 63)
    piece = words[place] >> shift
    if shift + np.uint64(bits) > np.uint64(64):
        piece |= words[place + 1] << (np.uint64(64) - shift)
    return np.int64(piece & ((np.uint64(1) << np.uint64(bits)) - np.uint64(1)))


@kernel(sums="fused", inner=True)
def _unpack(words, bits, pattern, moved):  # pragma: no cover - compiled
    """Unpack a pattern, and list the neurons that changed; how many did."""
    count = 0
    for j in range(len(pattern)):
        value = _piece(words, bits, j)
        moved[count] = j
        count += value != pattern[j]
        pattern[j] = value
    return count


@kernel(inner=True)
def _turn_round(flat, state, layer, count):  # pragma: no cover - compiled
    """Turn the inequalities of neurons of a layer that went to their other piece.

    That is all if its rows are the same as before. `count`: how many neurons ``state.moved`` lists.
    False if nothing was done, since not each of them has two pieces and one inequality.
    """
    starts, found = flat.starts, state.inequalities
    if flat.breakpoints.shape[1] != 1 or found.ends[layer] < 0:
        return False
    begin, end = starts[layer] - starts[1], starts[layer + 1] - starts[1]
    for k in range(count):
        j = state.moved[k]
        if begin <= j < end and state.places[flat.first_lines[j]] < 0:
            return False
    for k in range(count):
        j = state.moved[k]
        if begin <= j < end:
            place = state.places[flat.first_lines[j]]
            for column in range(len(found.rows)):
                found.rows[column, place] = -found.rows[column, place]
    return True


@kernel(sums="fused", inner=True, inlined=True)
def go_to(flat, state, patterns, region):  # pragma: no cover - compiled
    """Work out the inequalities of a packed pattern; how many, or -1 if it is wrong."""
    starts, layers = flat.starts, len(flat.starts) - 2
    count = _unpack(patterns.words[region], patterns.bits, state.pattern, state.moved)
    changed = state.moved[0] if count > 0 else len(state.pattern)
    ready = state.ready[0]
    fresh = ready < 0
    ready = max(ready, 0)
    while ready > 0 and starts[ready + 1] - starts[1] > changed:
        ready -= 1
    for layer in range(ready + 1, layers + 1):
        # The pre-activations of the first layer that changed depend on those before it alone.
        same = layer == ready + 1 and not fresh
        if not same:
            _rows_of_layer(flat, state, layer)
        if layer < layers:
            _outputs_of_layer(flat, state, layer)
        if not (same and _turn_round(flat, state, layer, count)):
            _inequalities_of_layer(flat, state, layer)
    state.ready[0] = layers
    found = state.inequalities
    count = found.ends[0]
    for layer in range(1, layers + 1):
        if found.ends[layer] < 0:
            return -1
        count += found.ends[layer] - found.begins[layer]
    return count


@kernel(sums="fused", inner=True, inlined=True)
def doubtful_in_plane(  # pragma: no cover - compiled
    found, start, end, point, offset, share, whole
):
    x, y, w = point[0], point[1], offset
    a, b, c = found.rows[0, start:end], found.rows[1, start:end], found.rows[2, start:end]
    sizes, bounds = found.sizes[start:end], found.bounds[start:end]
    doubts = 0
    for i in range(len(a)):  # from 0, so that it is vectorised
        value = a[i] * x + b[i] * y + c[i] * w
        doubts += 0 if value > sizes[i] * share + bounds[i] * whole else 1
    return doubts


@kernel(sums="fused", inner=True, inlined=True)
def _doubtful_in_space(  # pragma: no cover - compiled
    found, start, end, point, offset, share, whole
):
    d = len(point)
    doubts = 0
    for i in range(start, end):
        value = found.rows[d, i] * offset
        for column in range(d):
            value += found.rows[column, i] * point[column]
        doubts += 0 if value > found.sizes[i] * share + found.bounds[i] * whole else 1
    return doubts


@kernel(sums="fused", inner=True, inlined=True)
def doubtful(found, point, offset, share, whole):  # pragma: no cover - compiled
    """How many of the `InequalityArrays` are not surely positive at a point.

    The error of a value is at most `share` (a bound on the errors of the point's coordinates) times
    the size of the row, plus `whole` (the size of the point) times the bound of the row: step 3 of
    docs/error-bound.md. A NaN is in doubt.
    """
    doubts = 0
    for layer in range(len(found.begins)):
        start, end = found.begins[layer], found.ends[layer]
        if len(point) == 2:
            doubts += doubtful_in_plane(found, start, end, point, offset, share, whole)
        else:
            doubts += _doubtful_in_space(found, start, end, point, offset, share, whole)
    return doubts


@kernel(sums="fused", inner=True)
def gather(flat, state, lines, facets):  # pragma: no cover - compiled
    """Facets scaled to a largest coefficient of 1; False if one is none.

    Each gets D coefficients, its offset, and a bound on its errors (`OFFSET`, `ERROR`).
    """
    size, found = flat.inputs.shape[1], state.inequalities
    for k in range(len(lines)):
        if lines[k] < 1 or lines[k] >= len(state.places) or state.places[lines[k]] < 0:
            return False
        place = state.places[lines[k]]
        largest = 0.0
        for column in range(size):
            largest = max(largest, abs(found.rows[column, place]))
        for column in range(size):
            facets[k, column] = found.rows[column, place] / largest
        facets[k, ERROR] = found.bounds[place] / largest + 4.0 * ROUND
    return True


@kernel(sums="fused", inner=True)
def set_aside(state, lines, saved):  # pragma: no cover - compiled
    """Let facets pass every test, and keep what brings them back."""
    for k in range(len(lines)):
        place = state.places[lines[k]]
        saved[k] = state.inequalities.bounds[place]
        state.inequalities.bounds[place] = -np.inf


@kernel(sums="fused", inner=True)
def bring_back(state, lines, saved):  # pragma: no cover - compiled
    """Undo `set_aside`."""
    for k in range(len(lines) - 1, -1, -1):
        state.inequalities.bounds[state.places[lines[k]]] = saved[k]


@kernel(sums="fused", inner=True)
def scaled(point, unscale, room):  # pragma: no cover - compiled
    """A point in the kernels' coordinates."""
    for i in range(len(unscale)):
        room[i] = point[i] * unscale[i]


@kernel(sums="fused", inner=True)
def is_inside(facets, point, rounding):  # pragma: no cover - compiled
    """Whether all facets are surely positive at a point."""
    d = len(point)
    size = 1.0
    for i in range(d):
        size += abs(point[i])
    for facet in facets:
        value = facet[OFFSET]
        for i in range(d):
            value += facet[i] * point[i]
        if not value > COVER * (facet[ERROR] + rounding) * size:
            return False
    return True


@kernel(inner=True)
def is_central(flat, state, place):  # pragma: no cover - compiled
    """Whether an inequality's hyperplane goes through the origin for sure."""
    found, d = state.inequalities, flat.inputs.shape[1] - 1
    if found.rows[d, place] != 0.0:
        return False
    if place < len(flat.domain):
        return True
    line = found.lines[place]
    neuron = flat.neurons[line]
    exact = state.errors[flat.layers[neuron], d] == 0.0
    return exact and flat.breakpoints[neuron, line - flat.first_lines[neuron]] == 0.0


@kernel(sums="fused", inner=True)
def flip(flipped, bits, neuron, piece):  # pragma: no cover - compiled
    """Put a neuron of a packed pattern on another piece."""
    for b in range(bits):
        place = (neuron * bits + b) >> 6
        bit = np.uint64(1) << np.uint64((neuron * bits + b) & 63)
        if (piece >> b) & 1:
            flipped[place] |= bit
        else:
            flipped[place] &= ~bit


@kernel(inner=True)
def lines_of_layer(flat, layer):  # pragma: no cover - compiled
    """The first of the lines of a layer, and the first one after them."""
    end, count = flat.starts[layer + 1] - flat.starts[1], len(flat.first_lines)
    last = flat.first_lines[end] if end < count else len(flat.neurons)
    return flat.first_lines[flat.starts[layer] - flat.starts[1]], last


@kernel(sums="fused", inner=True)
def behind(flat, pattern, patterns, region, line, flipped):  # pragma: no cover - compiled
    """The region that differs in the neuron of one line, or in it and its twins: its row, or -1.

    `pattern` is that of the given region, unpacked; `flipped` is room for a packed one.
    """
    words, bits = patterns.words, patterns.bits
    neuron = flat.neurons[line]
    breakpoint = line - flat.first_lines[neuron]
    for place in range(len(flipped)):
        flipped[place] = words[region, place]
    flip(flipped, bits, neuron, breakpoint if pattern[neuron] > breakpoint else breakpoint + 1)
    other = find_row(patterns.table, words, flipped)
    if other >= 0:
        return other
    first, last = lines_of_layer(flat, flat.layers[neuron])
    twins = 0
    for twin in range(first, last):
        if flat.twins[twin] == flat.twins[line] and flat.neurons[twin] != neuron:
            neighbour = flat.neurons[twin]
            at = twin - flat.first_lines[neighbour]
            if pattern[neighbour] == at or pattern[neighbour] == at + 1:
                flip(flipped, bits, neighbour, 2 * at + 1 - pattern[neighbour])
                twins += 1
    return find_row(patterns.table, words, flipped) if twins > 0 else -1


@kernel(sums="fused", inner=True)
def behind_all(  # pragma: no cover - compiled
    flat, state, patterns, region, may_flip, point, values, flipped
):
    """The same if several neurons may change: as they do at a point behind the facet.

    Parameters
    ----------
    may_flip : ndarray, shape (neurons,)
        For neurons that are at a breakpoint on the whole facet that breakpoint; else -1.
    point, values : ndarray, shapes (D,) and (units,)
        The point, in float64; room for the outputs of all neurons there.

    The point is a guess. What is found differs in neurons that may change only, by one piece each.
    """
    words, bits, starts, d = patterns.words, patterns.bits, flat.starts, flat.inputs.shape[1] - 1
    for place in range(len(flipped)):
        flipped[place] = words[region, place]
    for i in range(starts[1]):
        values[i] = flat.inputs[i, d]
        for column in range(d):
            values[i] += flat.inputs[i, column] * point[column]
    for layer in range(1, len(starts) - 1):
        width = starts[layer + 1] - starts[layer]
        ours = values[starts[layer] : starts[layer + 1]]
        first = starts[layer] - starts[1]
        for j in range(width):
            ours[j] = flat.bias[first + j]
        for term in range(flat.term_starts[layer - 1], flat.term_starts[layer]):
            source, begin = flat.terms[term, SOURCE], flat.terms[term, FIRST_WEIGHT]
            for i in range(starts[source], starts[source + 1]):
                if values[i] != 0.0:
                    weights = flat.weights[begin : begin + width]
                    for j in range(width):
                        ours[j] += weights[j] * values[i]
                begin += width
        for j in range(width):
            neuron = first + j
            piece, breakpoint = state.pattern[neuron], may_flip[neuron]
            if breakpoint >= 0:
                above = ours[j] > flat.breakpoints[neuron, breakpoint]
                piece = breakpoint + 1 if above else breakpoint
                if piece != state.pattern[neuron]:
                    flip(flipped, bits, neuron, piece)
            slope, offset = flat.slopes[neuron, piece], flat.intercepts[neuron, piece]
            ours[j] = slope * ours[j] + offset
    other = find_row(patterns.table, words, flipped)
    return -1 if other == region else other


@kernel(sums="fused")
def wrong_pattern(words, begin, end, bits, used, few, pieces):  # pragma: no cover - compiled
    """The first row from `begin` to `end` that is no packed pattern, or -1.

    Parameters
    ----------
    used : int
        Bits of a row that belong to neurons.
    few, pieces : ndarray
        The neurons with fewer pieces than their bits can say, and how many those have.
    """
    for row in range(begin, end):
        wrong = False
        for j in range(len(few)):
            wrong |= _piece(words[row], bits, few[j]) >= pieces[j]
        # Bits that belong to no neuron could make equal patterns look different.
        for place in range(used >> 6, words.shape[1]):
            spare = words[row, place]
            if place == used >> 6:
                spare >>= np.uint64(used & 63)
            wrong |= spare != np.uint64(0)
        if wrong:
            return row
    return -1


@kernel(sums="fused")
def check_witnesses(  # pragma: no cover - compiled
    flat, state, room, regions, proved, begin, end
):
    """Check that witnesses are strictly inside their regions; the number of signs decided.

    Parameters
    ----------
    flat, state, regions : FilterNetwork, PatternState, RegionColumns
    room : ndarray, shape (D,)
    proved : ndarray of bool, shape (regions,)
        Set where they surely are.
    begin, end : int
        Which regions.
    """
    signs = 0
    for region in range(begin, end):
        total = go_to(flat, state, regions.patterns, region)
        scaled(regions.witnesses[region], regions.unscale, room)
        size = 1.0
        for i in range(len(room)):
            size += abs(room[i])
        if total >= 0 and doubtful(state.inequalities, room, 1.0, 0.0, COVER_MORE * size) == 0:
            proved[region] = True
            signs += total
    return signs


@kernel(sums="fused")
def close_up(  # pragma: no cover - compiled
    bases, ends, counts, kept_ends, spilled, begin, end, kept
):
    """Copy the bases of the regions from `begin` to `end` to where no gaps are between them."""
    for region in range(begin, end):
        if spilled[region]:
            continue
        first = ends[region - 1] if region else 0
        at = kept_ends[region - 1] if region else 0
        for c in range(counts[region]):
            for i in range(bases.shape[1]):
                kept[at + c, i] = bases[first + c, i]
