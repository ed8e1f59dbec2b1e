"""What the filter's kernels share: inequalities of patterns in float64, with error bounds.

The bounds are those of docs/error-bound.md, made from the weights for every pattern; layers whose
pattern did not change since the last region are kept.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from tropicell._runtime._hashing import find_row
from tropicell.certificate._jit import inner, kernel
from tropicell.geometry.rounding import ROUND, TINY


@inner
def _rows_of_layer(program, state, layer):  # pragma: no cover - compiled
    """Pre-activations of a layer as rows, and bounds on the errors of their coefficients."""
    starts, gamma, size = program.starts, program.gamma[layer - 1], program.inputs.shape[1]
    first = starts[layer] - starts[1]
    width = starts[layer + 1] - starts[layer]
    last = first + width
    errors = state.rows[size, first:last]
    for j in range(first, last):
        for column in range(size + 1):
            state.rows[column, j] = 0.0
        state.rows[size - 1, j] = program.bias[j]
    for term in range(program.term_starts[layer - 1], program.term_starts[layer]):
        source, begin = program.terms[term, 0], program.terms[term, 1]
        for i in range(starts[source], starts[source + 1]):
            weights = program.weights[begin : begin + width]
            begin += width
            largest = 0.0
            for column in range(size):
                value = state.outputs[i, column]
                if not abs(value) <= largest:
                    largest = abs(value)
            if largest == 0.0 and state.outputs[i, size] == 0.0:
                continue
            for column in range(size):
                value = state.outputs[i, column]
                if value != 0.0:
                    row = state.rows[column, first:last]
                    for j in range(width):
                        row[j] += weights[j] * value
            error = state.outputs[i, size] + gamma * largest + TINY
            for j in range(width):
                errors[j] += abs(weights[j]) * error
    for j in range(width):
        if errors[j] != 0.0:
            errors[j] = 1.0001 * (errors[j] + gamma * abs(program.bias[first + j]))


@inner
def _outputs_of_layer(program, state, layer):  # pragma: no cover - compiled
    """Outputs of a layer as rows, on its part of the pattern."""
    starts, size = program.starts, program.inputs.shape[1]
    for i in range(starts[layer], starts[layer + 1]):
        j = i - starts[1]
        slope = program.slopes[j, state.pattern[j]]
        offset = program.intercepts[j, state.pattern[j]]
        largest = abs(offset)
        for column in range(size):
            value = slope * state.rows[column, j]
            largest += abs(value)
            state.outputs[i, column] = value
        state.outputs[i, size - 1] += offset
        error = abs(slope) * state.rows[size, j]
        if slope * (slope - 1.0) != 0.0 or offset != 0.0:  # else nothing was rounded
            error = 1.0001 * error + 8.0 * ROUND * largest + TINY
        state.outputs[i, size] = error


@inner
def _inequalities_of_layer(program, state, layer):  # pragma: no cover - compiled
    """The inequalities of a layer, on its part of the pattern."""
    starts, size, bends = program.starts, program.inputs.shape[1], program.breakpoints.shape[1]
    found, errors = state.inequalities, state.rows[size]
    count = len(program.domain) + 2 * (starts[layer] - starts[1])
    fine = True
    for i in range(starts[layer], starts[layer + 1]):
        j = i - starts[1]
        for bend in range(bends):
            if program.breakpoints[j, bend] < np.inf:
                state.places[program.first_lines[j] + bend] = -1
        for upper in range(2):
            bend = state.pattern[j] - 1 + upper
            if bend < 0 or bend >= bends or program.breakpoints[j, bend] == np.inf:
                continue
            offset = state.rows[size - 1, j] - program.breakpoints[j, bend]
            if errors[j] == 0.0:  # constant, and known exactly: on its piece, or not
                fine = fine and (offset > 0.0) == (upper == 0)
                continue
            sign = 1.0 - 2.0 * upper
            total = abs(offset)
            for column in range(size - 1):
                total += abs(state.rows[column, j])
                found[column, count] = sign * state.rows[column, j]
            found[size - 1, count] = sign * offset
            found[size, count] = total
            found[size + 1, count] = 1.01 * errors[j] + 20.0 * ROUND * total + TINY
            state.places[program.first_lines[j] + bend] = count
            count += 1
    state.ends[layer] = count if fine else -1


@inner
def _piece(words, bits, j):  # pragma: no cover - compiled
    """The piece of one neuron of a packed pattern."""
    place, shift = (j * bits) >> 6, np.uint64((j * bits) & 63)
    piece = words[place] >> shift
    if shift + np.uint64(bits) > np.uint64(64):
        piece |= words[place + 1] << (np.uint64(64) - shift)
    return np.int64(piece & ((np.uint64(1) << np.uint64(bits)) - np.uint64(1)))


@inner
def _unpack(words, bits, pattern):  # pragma: no cover - compiled
    """Unpack a pattern; the first neuron that changed."""
    changed = len(pattern)
    for j in range(len(pattern)):
        value = _piece(words, bits, j)
        if value != pattern[j]:
            pattern[j] = value
            changed = min(changed, j)
    return changed


@inner
def go_to(program, state, words, bits):  # pragma: no cover - compiled
    """Work out the inequalities of a packed pattern; how many, or -1 if it is wrong."""
    starts, layers = program.starts, len(program.starts) - 2
    changed = _unpack(words, bits, state.pattern)
    ready = state.ready[0]
    fresh = ready < 0
    ready = max(ready, 0)
    while ready > 0 and starts[ready + 1] - starts[1] > changed:
        ready -= 1
    for layer in range(ready + 1, layers + 1):
        # The pre-activations of the first layer that changed depend on those before it alone.
        if layer > ready + 1 or fresh:
            _rows_of_layer(program, state, layer)
        if layer < layers:
            _outputs_of_layer(program, state, layer)
        _inequalities_of_layer(program, state, layer)
    state.ready[0] = layers
    count = state.ends[0]
    for layer in range(1, layers + 1):
        if state.ends[layer] < 0:
            return -1
        count += state.ends[layer] - len(program.domain) - 2 * (starts[layer] - starts[1])
    return count


@inner
def _doubtful_in_plane(  # pragma: no cover - compiled
    found, start, end, x, y, w, share, whole
):
    a, b, c = found[0, start:end], found[1, start:end], found[2, start:end]
    sizes, errors = found[3, start:end], found[4, start:end]
    doubts = 0
    for i in range(len(a)):  # from 0, so that it is vectorised
        value = a[i] * x + b[i] * y + c[i] * w
        doubts += 0 if value > sizes[i] * share + errors[i] * whole else 1
    return doubts


@inner
def _doubtful_in_space(  # pragma: no cover - compiled
    found, start, end, point, offset, share, whole
):
    d = len(point)
    doubts = 0
    for i in range(start, end):
        value = found[d, i] * offset
        for column in range(d):
            value += found[column, i] * point[column]
        doubts += 0 if value > found[d + 1, i] * share + found[d + 2, i] * whole else 1
    return doubts


@inner
def doubtful(program, state, point, offset, share, whole):  # pragma: no cover - compiled
    """How many inequalities are not surely positive at a point.

    The bound is `share` times the size of the row plus `whole` times the bound on its errors.
    """
    doubts, start = 0, 0
    for layer in range(len(program.starts) - 1):
        if layer > 0:
            start = len(program.domain) + 2 * (program.starts[layer] - program.starts[1])
        found, end = state.inequalities, state.ends[layer]
        if len(point) == 2:
            x, y = point[0], point[1]
            doubts += _doubtful_in_plane(found, start, end, x, y, offset, share, whole)
        else:
            doubts += _doubtful_in_space(found, start, end, point, offset, share, whole)
    return doubts


@inner
def gather(program, state, lines, facets):  # pragma: no cover - compiled
    """Facets scaled to a largest coefficient of 1, with error bounds; False if one is none."""
    size = program.inputs.shape[1]
    for k in range(len(lines)):
        if lines[k] < 1 or lines[k] >= len(state.places) or state.places[lines[k]] < 0:
            return False
        place = state.places[lines[k]]
        largest = 0.0
        for column in range(size):
            largest = max(largest, abs(state.inequalities[column, place]))
        for column in range(size):
            facets[k, column] = state.inequalities[column, place] / largest
        facets[k, size] = state.inequalities[size + 1, place] / largest + 4.0 * ROUND
    return True


@inner
def set_aside(program, state, lines, saved):  # pragma: no cover - compiled
    """Let facets pass every test, and keep what brings them back."""
    size = program.inputs.shape[1]
    for k in range(len(lines)):
        place = state.places[lines[k]]
        saved[k] = state.inequalities[size + 1, place]
        state.inequalities[size + 1, place] = -np.inf


@inner
def bring_back(program, state, lines, saved):  # pragma: no cover - compiled
    """Undo `set_aside`."""
    size = program.inputs.shape[1]
    for k in range(len(lines) - 1, -1, -1):
        state.inequalities[size + 1, state.places[lines[k]]] = saved[k]


@inner
def scaled(point, unscale, room):  # pragma: no cover - compiled
    """A point in the kernels' coordinates."""
    for i in range(len(unscale)):
        room[i] = point[i] * unscale[i]


@inner
def is_inside(facets, point):  # pragma: no cover - compiled
    """Whether all facets are surely positive at a point."""
    d = len(point)
    size = 1.0
    for i in range(d):
        size += abs(point[i])
    for facet in facets:
        value = facet[d]
        for i in range(d):
            value += facet[i] * point[i]
        if not value > 1.0001 * (facet[d + 1] + 20.0 * ROUND) * size:
            return False
    return True


@inner
def behind(program, state, line, words, row, bits, table, flipped):  # pragma: no cover - compiled
    """The region that differs in the neuron of one line alone: its row; -1 if there is none.

    `flipped` is room for a pattern.
    """
    neuron = program.neurons[line]
    bend = line - program.first_lines[neuron]
    piece = bend if state.pattern[neuron] > bend else bend + 1
    for place in range(len(flipped)):
        flipped[place] = words[row, place]
    for b in range(bits):
        place = (neuron * bits + b) >> 6
        bit = np.uint64(1) << np.uint64((neuron * bits + b) & 63)
        if (piece >> b) & 1:
            flipped[place] |= bit
        else:
            flipped[place] &= ~bit
    return find_row(table, words, flipped)


@kernel
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


@kernel
def check_witnesses(  # pragma: no cover - compiled
    program, state, room, begin, end, words, bits, witnesses, unscale, proved
):
    """Check that witnesses are strictly inside their regions; the number of signs decided.

    Parameters
    ----------
    room : ndarray, shape (D,)
    witnesses : ndarray, shape (regions, inputs)
    unscale : ndarray, shape (inputs,)
        What makes scaled coordinates of them.
    proved : ndarray of bool, shape (regions,)
        Set where they surely are.
    """
    signs = 0
    for region in range(begin, end):
        total = go_to(program, state, words[region], bits)
        scaled(witnesses[region], unscale, room)
        size = 1.0
        for i in range(len(room)):
            size += abs(room[i])
        if total >= 0 and doubtful(program, state, room, 1.0, 0.0, 1.01 * size) == 0:
            proved[region] = True
            signs += total
    return signs


@kernel
def close_up(bases, ends, counts, kept_ends, begin, end, kept):  # pragma: no cover - compiled
    """Copy the bases of the regions from `begin` to `end` to where no gaps are between them."""
    for region in range(begin, end):
        first = ends[region - 1] if region else 0
        at = kept_ends[region - 1] if region else 0
        for c in range(counts[region]):
            for i in range(bases.shape[1]):
                kept[at + c, i] = bases[first + c, i]
