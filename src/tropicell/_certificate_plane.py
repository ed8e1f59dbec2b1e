"""The filter for one and two inputs: regions as polygons, float64 with proved error bounds.

For each region the kernel is told which lines may be its facets. It sorts them by direction; where two
that follow each other turn to the left for sure, they meet in a corner; at one gap the region is
unbounded, and there are two rays. If every other inequality is surely positive at all corners and
rays, it follows from the facets: its normal lies between those of two facets that follow each other,
and at their corner it is positive. Why the bounds hold is in docs/certificates.md.
"""

from __future__ import annotations

from typing import Any, cast

import numba
import numpy as np

from tropicell._certificate_program import ROUND

_jit = cast(
    Any,
    numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"}),
)

#: Covers underflow in all sums of products; see `tropicell._certificate_program`.
_TINY = 1e-200

#: Facets of one region that are looked at; others have too many.
_MOST = 64


@_jit
def _add_source(  # pragma: no cover - compiled
    weights, begin, width, a, b, c, error, r0, r1, r2, re
):
    """Add a source's row, times its weights, to the rows of all targets."""
    for j in range(width):
        w = weights[begin + j]
        r0[j] += w * a
        r1[j] += w * b
        r2[j] += w * c
        re[j] += abs(w) * error


@_jit
def _layer_rows(  # pragma: no cover - compiled
    program, layer, out, out_error, rows0, rows1, rows2, errors
):
    """Pre-activations of a layer as rows, and bounds on the errors of their coefficients.

    An error of 0 means: this neuron is constant, and exactly its bias.
    """
    starts, gamma = program.starts, program.gamma[layer - 1]
    first = starts[layer] - starts[1]
    width = starts[layer + 1] - starts[layer]
    r0, r1 = rows0[first : first + width], rows1[first : first + width]
    r2, re = rows2[first : first + width], errors[first : first + width]
    for j in range(width):
        r0[j], r1[j], r2[j], re[j] = 0.0, 0.0, program.bias[first + j], 0.0
    for term in range(program.term_starts[layer - 1], program.term_starts[layer]):
        source, begin = program.terms[term, 0], program.terms[term, 1]
        for i in range(starts[source], starts[source + 1]):
            a, b, c = out[i, 0], out[i, 1], out[i, 2]
            largest = max(abs(a), abs(b), abs(c))
            if largest > 0.0 or out_error[i] > 0.0 or largest != largest:
                error = out_error[i] + gamma * largest + _TINY
                _add_source(program.weights, begin, width, a, b, c, error, r0, r1, r2, re)
            begin += width
    for j in range(width):
        if re[j] > 0.0 or re[j] != re[j]:
            re[j] = 1.0001 * (re[j] + gamma * abs(program.bias[first + j]))


@_jit
def _layer_outputs(  # pragma: no cover - compiled
    program, layer, pattern, rows0, rows1, rows2, errors, out, out_error
):
    """Outputs of a layer as rows, on its part of a pattern."""
    starts = program.starts
    for i in range(starts[layer], starts[layer + 1]):
        j = i - starts[1]
        s, c = program.slopes[j, pattern[j]], program.intercepts[j, pattern[j]]
        a, b = s * rows0[j], s * rows1[j]
        offset = s * rows2[j]
        error = abs(s) * errors[j]
        if not (s == 0.0 or s == 1.0) or c != 0.0:
            largest = max(abs(a), abs(b), abs(offset)) + abs(c)
            error = 1.0001 * error + 8.0 * ROUND * largest + _TINY
        out[i, 0], out[i, 1], out[i, 2], out_error[i] = a, b, offset + c, error


@_jit
def _layer_inequalities(  # pragma: no cover - compiled
    program, layer, pattern, rows0, rows1, rows2, errors, start, ineq, lines, places
):
    """The inequalities of a layer on its part of a pattern; how many, or -1 if one is wrong.

    Columns of `ineq`: the row, the sum of its absolute values, and the bound on its errors.
    """
    starts = program.starts
    count = start
    bends = program.breakpoints.shape[1]
    for i in range(starts[layer], starts[layer + 1]):
        j = i - starts[1]
        for bend in range(bends):
            if program.breakpoints[j, bend] < np.inf:
                places[program.first_lines[j] + bend] = -1
        for upper in range(2):
            bend = pattern[j] - 1 + upper
            if bend < 0 or bend >= bends or program.breakpoints[j, bend] == np.inf:
                continue
            line = program.first_lines[j] + bend
            offset = rows2[j] - program.breakpoints[j, bend]
            if errors[j] == 0.0:  # constant, and known exactly
                if (offset > 0.0) == (upper == 1):
                    return -1
                continue
            sign = 1.0 - 2.0 * upper
            size = abs(rows0[j]) + abs(rows1[j]) + abs(offset)
            ineq[0, count] = sign * rows0[j]
            ineq[1, count] = sign * rows1[j]
            ineq[2, count] = sign * offset
            ineq[3, count] = size
            ineq[4, count] = 1.01 * errors[j] + 20.0 * ROUND * size + _TINY
            lines[count] = line
            places[line] = count
            count += 1
    return count


@_jit
def _direction(x, y):  # pragma: no cover - compiled
    """A number that grows with the angle of a vector, from 0 to 4."""
    share = y / (abs(x) + abs(y))
    if x < 0.0:
        return 2.0 - share
    return share if share >= 0.0 else 4.0 + share


@_jit
def _sorted_facets(  # pragma: no cover - compiled
    candidates, count, ineq, places, facets, order, keys
):
    """Facets by direction, scaled to a largest coefficient of 1; False if one is no inequality."""
    for k in range(count):
        place = places[candidates[k]]
        if place < 0:
            return False
        key = _direction(ineq[0, place], ineq[1, place])
        at = k
        while at > 0 and keys[at - 1] > key:
            keys[at], order[at] = keys[at - 1], order[at - 1]
            at -= 1
        keys[at], order[at] = key, k
    for k in range(count):
        place = places[candidates[order[k]]]
        largest = max(abs(ineq[0, place]), abs(ineq[1, place]), abs(ineq[2, place]))
        for column in range(3):
            facets[k, column] = ineq[column, place] / largest
        facets[k, 3] = ineq[4, place] / largest + 4.0 * ROUND
    return True


@_jit
def _corners(facets, count, corners, meets):  # pragma: no cover - compiled
    """Corners and rays of the polygon between facets in order, with error bounds; how many, or 0.

    `meets` says which facets surely meet the next one.
    """
    found, gaps = 0, 0
    for k in range(count):
        a, b = facets[k], facets[(k + 1) % count]
        error = 2.0 * (a[3] + b[3] + a[3] * b[3]) + 10.0 * ROUND
        w = a[0] * b[1] - a[1] * b[0]
        meets[k] = w > error
        if meets[k]:
            x, y = a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2]
            size = abs(x) + abs(y) + w
            corners[found, 0], corners[found, 1], corners[found, 2] = x / size, y / size, w / size
            corners[found, 3] = 1.0001 * (error / size + 4.0 * ROUND)
            found += 1
            continue
        gaps += 1
        if gaps > 1 or count < 2:
            return 0
        for side in range(2):  # along the last facet before the gap, and the first one after it
            facet, sign = (a, 1.0) if side == 0 else (b, -1.0)
            size = abs(facet[0]) + abs(facet[1])
            corners[found, 0], corners[found, 1] = sign * facet[1] / size, -sign * facet[0] / size
            corners[found, 2] = 0.0
            corners[found, 3] = 1.0001 * (facet[3] / size + 4.0 * ROUND)
            found += 1
    for k in range(found):
        if not corners[k, 3] < 1e-3:
            return 0
    return found


@_jit
def _doubtful(ineq, start, end, corner):  # pragma: no cover - compiled
    """How many inequalities are not surely positive at a corner."""
    x, y, w, error = corner[0], corner[1], corner[2], corner[3]
    count = 0
    for i in range(start, end):
        value = ineq[0, i] * x + ineq[1, i] * y + ineq[2, i] * w
        count += 0 if value > ineq[3, i] * error + ineq[4, i] else 1
    return count


@_jit
def _is_inside(facets, count, x, y):  # pragma: no cover - compiled
    """Whether all facets are surely positive at a point."""
    size = abs(x) + abs(y) + 1.0
    for k in range(count):
        value = facets[k, 0] * x + facets[k, 1] * y + facets[k, 2]
        if not value > 1.0001 * (facets[k, 3] + 8.0 * ROUND) * size:
            return False
    return True


@_jit
def _unpack(words, bits, pattern):  # pragma: no cover - compiled
    """Unpack a pattern; the first neuron that changed."""
    mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    changed = len(pattern)
    for j in range(len(pattern)):
        place, shift = (j * bits) >> 6, np.uint64((j * bits) & 63)
        piece = words[place] >> shift
        if shift + np.uint64(bits) > np.uint64(64):
            piece |= words[place + 1] << (np.uint64(64) - shift)
        value = np.int64(piece & mask)
        if value != pattern[j]:
            pattern[j] = value
            changed = min(changed, j)
    return changed


@_jit
def _flip(words, bits, neuron, piece, flipped):  # pragma: no cover - compiled
    """A packed pattern with one neuron on another piece."""
    flipped[:] = words
    for b in range(bits):
        place = (neuron * bits + b) >> 6
        bit = np.uint64(1) << np.uint64((neuron * bits + b) & 63)
        if (piece >> b) & 1:
            flipped[place] |= bit
        else:
            flipped[place] &= ~bit


@_jit
def check_regions(  # pragma: no cover - compiled
    program, begin, end, words, bits, candidates, ends, witnesses, proved, facet_lines, meets, flips
):
    """Check the regions from `begin` to `end`; the number of signs that were decided.

    Parameters
    ----------
    candidates, ends : ndarray
        The lines that may be each region's facets, and where they end.
    witnesses : ndarray, shape (regions, 2)
        In scaled coordinates.
    proved : ndarray of bool, shape (regions,)
        Set where everything holds, if only all `flips` are regions.
    facet_lines, meets, flips : ndarray
        Filled, parallel to `candidates`: the lines in order, whether each meets the next one in a
        corner, and the packed pattern behind it.
    """
    starts, layers = program.starts, len(program.starts) - 2
    neurons, n_domain = starts[-1] - starts[1], len(program.domain)
    dummies = n_domain - program.domain_lines
    pattern = np.full(neurons, -1, np.int64)
    rows0, rows1, rows2 = np.empty(neurons), np.empty(neurons), np.empty(neurons)
    errors = np.empty(neurons)
    out, out_error = np.empty((starts[-1], 3)), np.zeros(starts[-1])
    out[: starts[1]] = program.inputs
    most = n_domain + 2 * neurons
    ineq, lines = np.empty((5, most)), np.empty(most, np.int64)
    n_lines = 1 + program.domain_lines + neurons * program.breakpoints.shape[1]
    places = np.full(n_lines + 2, -1, np.int64)
    dummy_line = n_lines  # two lines that belong to nobody, for networks with one input
    area_end = np.zeros(layers + 1, np.int64)
    for i in range(n_domain):
        size = 0.0
        for column in range(3):
            ineq[column, i] = program.domain[i, column]
            size += abs(program.domain[i, column])
        ineq[3, i], ineq[4, i] = size, 20.0 * ROUND * size + _TINY
        line = i + 1 if i < program.domain_lines else dummy_line + i - program.domain_lines
        lines[i], places[line] = line, i
    area_end[0] = n_domain
    facets, order, keys = np.empty((_MOST, 4)), np.empty(_MOST, np.int64), np.empty(_MOST)
    chosen, meet = np.empty(_MOST, np.int64), np.empty(_MOST, np.bool_)
    corners = np.empty((_MOST + 1, 4))
    saved = np.empty(_MOST)
    signs = 0
    ready = 0  # layers that are known, for the current pattern
    for region in range(begin, end):
        first = ends[region - 1] if region else 0
        count = ends[region] - first
        changed = _unpack(words[region], bits, pattern)
        while ready > 0 and starts[ready + 1] - starts[1] > changed:
            ready -= 1
        known = ready  # pre-activations of the next layer are known as well
        fine = True
        for layer in range(ready + 1, layers + 1):
            if layer > known + 1 or region == begin:
                _layer_rows(program, layer, out, out_error, rows0, rows1, rows2, errors)
            _layer_outputs(
                program, layer, pattern, rows0, rows1, rows2, errors, out, out_error
            )
            start = n_domain + 2 * (starts[layer] - starts[1])
            area_end[layer] = _layer_inequalities(
                program, layer, pattern, rows0, rows1, rows2, errors, start, ineq, lines, places
            )
        ready = layers
        total = n_domain
        for layer in range(1, layers + 1):
            fine = fine and area_end[layer] >= 0
            total += area_end[layer] - n_domain - 2 * (starts[layer] - starts[1])
        if not fine or count + dummies > _MOST:
            continue
        for k in range(count):
            chosen[k] = candidates[first + k]
        for k in range(dummies):
            chosen[count + k] = dummy_line + k
        count += dummies
        if not _sorted_facets(chosen, count, ineq, places, facets, order, keys):
            continue
        n_corners = _corners(facets, count, corners, meet)
        if n_corners == 0:
            continue
        for k in range(count):
            place = places[chosen[k]]
            saved[k], ineq[4, place] = ineq[4, place], -np.inf
        doubts = 0
        for k in range(n_corners):
            doubts += _doubtful(ineq, 0, n_domain, corners[k])
            for layer in range(1, layers + 1):
                start = n_domain + 2 * (starts[layer] - starts[1])
                doubts += _doubtful(ineq, start, area_end[layer], corners[k])
        for k in range(count):
            ineq[4, places[chosen[k]]] = saved[k]
        if doubts > 0 or not _is_inside(facets, count, witnesses[region, 0], witnesses[region, 1]):
            continue
        proved[region] = True
        signs += n_corners * (total - count) + count + n_corners
        at = first
        for k in range(count):
            line = chosen[order[k]]
            if line >= dummy_line:
                continue
            facet_lines[at], meets[at] = line, meet[k]
            if line > program.domain_lines:
                j = np.searchsorted(program.first_lines, line, side="right") - 1
                bend = line - program.first_lines[j]
                piece = bend if pattern[j] > bend else bend + 1
                _flip(words[region], bits, j, piece, flips[at])
            at += 1
    return signs
