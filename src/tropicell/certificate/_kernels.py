"""What the filter's kernels share: inequalities of patterns in float64, with error bounds.

The bounds are those of docs/error-bound.md, made from the weights for every pattern; layers whose
pattern did not change since the last region are kept.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from tropicell._runtime._hashing import find_row
from tropicell._runtime.jit import kernel
from tropicell.certificate._flat import COVER, COVER_MORE, FIRST_WEIGHT, SOURCE, bound_of
from tropicell.geometry.rounding import ROUND, TINY

#: Where facets (see `gather`) have their offset, and the bound on their errors.
OFFSET, ERROR = -2, -1

_bound_of = kernel(sums="fused", inner=True)(bound_of)


@kernel(sums="fused", inner=True)
def _rows_of_layer(flat, state, layer):  # pragma: no cover - compiled
    """Pre-activations of a layer as rows, and bounds on the errors of their coefficients.

    docs/error-bound.md, step 1.
    """
    starts, gamma, size = flat.starts, flat.gamma[layer - 1], flat.inputs.shape[1]
    first = starts[layer] - starts[1]
    width = starts[layer + 1] - starts[layer]
    last = first + width
    errors = state.row_errors[first:last]
    for j in range(first, last):
        for column in range(size):
            state.rows[column, j] = 0.0
        state.row_errors[j] = 0.0
        state.rows[size - 1, j] = flat.bias[j]
    for term in range(flat.term_starts[layer - 1], flat.term_starts[layer]):
        source, begin = flat.terms[term, SOURCE], flat.terms[term, FIRST_WEIGHT]
        for i in range(starts[source], starts[source + 1]):
            weights = flat.weights[begin : begin + width]
            begin += width
            largest = 0.0
            for column in range(size):
                value = state.outputs[i, column]
                if not abs(value) <= largest:
                    largest = abs(value)
            if largest == 0.0 and state.output_errors[i] == 0.0:
                continue
            for column in range(size):
                value = state.outputs[i, column]
                if value != 0.0:
                    row = state.rows[column, first:last]
                    for j in range(width):
                        row[j] += weights[j] * value
            error = state.output_errors[i] + gamma * largest + TINY
            for j in range(width):
                errors[j] += abs(weights[j]) * error
    for j in range(width):
        if errors[j] != 0.0:
            errors[j] = COVER * (errors[j] + gamma * abs(flat.bias[first + j]))


@kernel(sums="fused", inner=True)
def _outputs_of_layer(flat, state, layer):  # pragma: no cover - compiled
    """Outputs of a layer as rows, on its part of the pattern."""
    starts, size = flat.starts, flat.inputs.shape[1]
    for i in range(starts[layer], starts[layer + 1]):
        j = i - starts[1]
        slope = flat.slopes[j, state.pattern[j]]
        offset = flat.intercepts[j, state.pattern[j]]
        largest = abs(offset)
        for column in range(size):
            value = slope * state.rows[column, j]
            largest += abs(value)
            state.outputs[i, column] = value
        state.outputs[i, size - 1] += offset
        error = abs(slope) * state.row_errors[j]
        if slope * (slope - 1.0) != 0.0 or offset != 0.0:  # else nothing was rounded
            error = COVER * error + 8.0 * ROUND * largest + TINY
        state.output_errors[i] = error


@kernel(sums="fused", inner=True)
def _inequalities_of_layer(flat, state, layer):  # pragma: no cover - compiled
    """The inequalities of a layer, on its part of the pattern."""
    starts, size, breakpoint_count = flat.starts, flat.inputs.shape[1], flat.breakpoints.shape[1]
    found, errors = state.inequalities, state.row_errors
    count = found.begins[layer]
    fine = True
    for i in range(starts[layer], starts[layer + 1]):
        j = i - starts[1]
        for breakpoint in range(breakpoint_count):
            if flat.breakpoints[j, breakpoint] < np.inf:
                state.places[flat.first_lines[j] + breakpoint] = -1
        for upper in range(2):
            breakpoint = state.pattern[j] - 1 + upper
            if (
                breakpoint < 0
                or breakpoint >= breakpoint_count
                or flat.breakpoints[j, breakpoint] == np.inf
            ):
                continue
            offset = state.rows[size - 1, j] - flat.breakpoints[j, breakpoint]
            if errors[j] == 0.0:  # constant, and known exactly: on its piece, or not
                fine = fine and (offset > 0.0) == (upper == 0)
                continue
            sign = 1.0 - 2.0 * upper
            total = abs(offset)
            for column in range(size - 1):
                total += abs(state.rows[column, j])
                found.rows[column, count] = sign * state.rows[column, j]
            found.rows[size - 1, count] = sign * offset
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
def _unpack(words, bits, pattern):  # pragma: no cover - compiled
    """Unpack a pattern; the first neuron that changed."""
    changed = len(pattern)
    for j in range(len(pattern)):
        value = _piece(words, bits, j)
        if value != pattern[j]:
            pattern[j] = value
            changed = min(changed, j)
    return changed


@kernel(sums="fused", inner=True, inlined=True)
def go_to(flat, state, patterns, region):  # pragma: no cover - compiled
    """Work out the inequalities of a packed pattern; how many, or -1 if it is wrong."""
    starts, layers = flat.starts, len(flat.starts) - 2
    changed = _unpack(patterns.words[region], patterns.bits, state.pattern)
    ready = state.ready[0]
    fresh = ready < 0
    ready = max(ready, 0)
    while ready > 0 and starts[ready + 1] - starts[1] > changed:
        ready -= 1
    for layer in range(ready + 1, layers + 1):
        # The pre-activations of the first layer that changed depend on those before it alone.
        if layer > ready + 1 or fresh:
            _rows_of_layer(flat, state, layer)
        if layer < layers:
            _outputs_of_layer(flat, state, layer)
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
def _doubtful_in_plane(  # pragma: no cover - compiled
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
            doubts += _doubtful_in_plane(found, start, end, point, offset, share, whole)
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


@kernel(sums="fused", inner=True, inlined=True)
def behind(flat, pattern, patterns, region, line, flipped):  # pragma: no cover - compiled
    """The region that differs in the neuron of one line alone: its row; -1 if there is none.

    `pattern` is that of the given region, unpacked; `flipped` is room for a packed one.
    """
    words, bits = patterns.words, patterns.bits
    neuron = flat.neurons[line]
    breakpoint = line - flat.first_lines[neuron]
    piece = breakpoint if pattern[neuron] > breakpoint else breakpoint + 1
    for place in range(len(flipped)):
        flipped[place] = words[region, place]
    for b in range(bits):
        place = (neuron * bits + b) >> 6
        bit = np.uint64(1) << np.uint64((neuron * bits + b) & 63)
        if (piece >> b) & 1:
            flipped[place] |= bit
        else:
            flipped[place] &= ~bit
    return find_row(patterns.table, words, flipped)


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
def close_up(bases, ends, counts, kept_ends, begin, end, kept):  # pragma: no cover - compiled
    """Copy the bases of the regions from `begin` to `end` to where no gaps are between them."""
    for region in range(begin, end):
        first = ends[region - 1] if region else 0
        at = kept_ends[region - 1] if region else 0
        for c in range(counts[region]):
            for i in range(bases.shape[1]):
                kept[at + c, i] = bases[first + c, i]
