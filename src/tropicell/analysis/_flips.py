"""Kernels that find neighbours: flip a neuron, look the pattern up, prove that a facet is shared.

Docs: docs/exactness.md, "Neighbours". A line of a region is a boundary next to its pattern; its row
is positive inside. Lines that are the same on every cell (twins) are flipped together.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime._hashing import find_row
from tropicell._runtime.arrays import FloatArray, IntArray
from tropicell._runtime.jit import kernel
from tropicell.geometry.rounding import INFLATE, ROUND
from tropicell.network._layer_maps import LayerMaps, enter_layer, layer_maps
from tropicell.network.flat import FlatNetwork

# What is known of a facet that two regions may share.
NO, YES, UNSURE = 0, 1, 2

#: Steps towards a point of a facet before the linear program is solved, and pivots of that.
_STEPS, _PIVOTS = 24, 200

#: Numbers that are taken for 0 in the linear program, which proves nothing by itself.
_NOTHING = 1e-11

#: How far a step goes beyond a boundary, and how far inside every point shall be.
_BEYOND, _INSIDE = 1.5, 1e-9


class FlipLines(NamedTuple):
    """Which neurons the lines belong to, and which lines are twins.

    Attributes
    ----------
    first : int
        The first line of a neuron.
    neuron, breakpoint : ndarray
        Of the lines from `first` on, as in `tropicell.network.inequalities.Lines`.
    twin : ndarray, shape (lines,)
        The first of the lines that are the same.
    start : ndarray, shape (lines + 1,)
        If that is line k, all of them are ``members[start[k] : start[k + 1]]``.
    members : ndarray
    free : ndarray of bool, shape (depth + 1,)
        Layers that no layer reads: whether such a neuron is flipped changes no other boundary.
    bounds : ndarray, shape (inputs,)
        How large coordinates can be in the domain, scaled; infinite where nobody knows.
    """

    first: int
    neuron: IntArray
    breakpoint: IntArray
    twin: IntArray
    start: IntArray
    members: IntArray
    free: NDArray[np.bool_]
    bounds: FloatArray


class KnownPatterns(NamedTuple):
    """All regions, by their patterns.

    Attributes
    ----------
    words : ndarray of uint64, shape (regions, words)
    bits : int
        Bits of a neuron.
    table : ndarray
        Where they are found: see `tropicell._runtime._hashing`.
    """

    words: NDArray[np.uint64]
    bits: int
    table: IntArray


class FlipRoom(NamedTuple):
    """What one thread needs.

    Attributes
    ----------
    maps : LayerMaps
    pieces : ndarray of uint8, shape (neurons,)
        The pattern of the region.
    query : ndarray of uint64, shape (words,)
        A pattern that is looked up.
    lines : ndarray
        The lines of the region: the domain's, then those of neurons.
    rows : ndarray, shape (lines, inputs + 1)
        Their rows, divided by the length of the slopes.
    errors : ndarray, shape (lines,)
        What their coefficients may be wrong by.
    point, step : ndarray, shape (inputs,)
        Scratch.
    basis : ndarray, shape (inputs + 1,)
        The basis of a linear program: numbers of lines, or negative.
    inverse : ndarray, shape (inputs + 1, inputs + 1)
        The inverse of its matrix.
    levels, column, duals : ndarray, shape (inputs + 1,)
        The values of the basic variables; scratch; the solution.
    """

    maps: LayerMaps
    pieces: NDArray[np.uint8]
    query: NDArray[np.uint64]
    lines: IntArray
    rows: FloatArray
    errors: FloatArray
    point: FloatArray
    step: FloatArray
    basis: IntArray
    inverse: FloatArray
    levels: FloatArray
    column: FloatArray
    duals: FloatArray


def flip_room(flat: FlatNetwork, words: int, free: Any = lambda array: array) -> FlipRoom:
    """Room for one thread; for `free` see `tropicell._runtime.memory.Blueprint`."""
    d, lines = flat.dimension, len(flat.lines.line_row)
    return FlipRoom(
        maps=layer_maps(d, flat.maps.row_start, exact=True, free=free),
        pieces=np.zeros(flat.neurons, np.uint8),
        query=np.zeros(words, np.uint64),
        lines=np.zeros(lines, np.int64),
        rows=np.zeros((lines, d + 1)),
        errors=np.zeros(lines),
        point=np.zeros(d),
        step=np.zeros(d),
        basis=np.zeros(d + 1, np.int64),
        inverse=np.zeros((d + 1, d + 1)),
        levels=np.zeros(d + 1),
        column=np.zeros(d + 1),
        duals=np.zeros(d + 1),
    )


# --- patterns -------------------------------------------------------------------------------------


@kernel(inner=True)
def piece_of(words: Any, neuron: int, bits: int) -> int:
    """The piece of a neuron in a packed pattern."""
    at, shift = (neuron * bits) >> 6, np.uint64((neuron * bits) & 63)
    piece = words[at] >> shift
    if shift + np.uint64(bits) > np.uint64(64):
        piece |= words[at + 1] << (np.uint64(64) - shift)
    return int(piece & ((np.uint64(1) << np.uint64(bits)) - np.uint64(1)))


@kernel(inner=True)
def _change(words: Any, neuron: int, bits: int, change: Any) -> None:
    """Xor the piece of a neuron in a packed pattern with some bits."""
    at, shift = (neuron * bits) >> 6, np.uint64((neuron * bits) & 63)
    words[at] ^= change << shift
    if shift + np.uint64(bits) > np.uint64(64):
        words[at + 1] ^= change >> (np.uint64(64) - shift)


@kernel(inner=True)
def _behind(flips: Any, known: Any, region: int, line: int, query: Any) -> int:
    """The region behind a line, if only its neuron and the line's twins change; -1 if none."""
    words, bits = known.words, known.bits
    for w in range(words.shape[1]):
        query[w] = words[region, w]
    for k in range(flips.start[line], flips.start[line + 1]):
        at = flips.members[k] - flips.first
        neuron, b = flips.neuron[at], flips.breakpoint[at]
        old = piece_of(query, neuron, bits)
        _change(query, neuron, bits, np.uint64(old ^ (b if old > b else b + 1)))
    return int(find_row(known.table, words, query))


@kernel(inner=True)
def _sort(pairs: Any, start: int, end: int) -> int:
    """Sort some pairs by their second regions, each once; returns where they end."""
    for i in range(start + 1, end):
        k = i
        while k > start and pairs[k, 1] < pairs[k - 1, 1]:
            for c in range(3):
                pairs[k, c], pairs[k - 1, c] = pairs[k - 1, c], pairs[k, c]
            k -= 1
    kept = start
    for i in range(start, end):
        if i > start and pairs[i, 1] == pairs[kept - 1, 1]:
            continue
        for c in range(3):
            pairs[kept, c] = pairs[i, c]
        kept += 1
    return kept


# --- regions whose facets are known ---------------------------------------------------------------


@kernel
def pairs_of_facets(
    flips: Any, known: Any, facets: Any, ends: Any, part: Any, pairs: Any, unsure: Any
) -> tuple[int, int]:
    """Neighbours of some regions from the lines of their facets.

    Parameters
    ----------
    flips : FlipLines
    known : KnownPatterns
    facets, ends : ndarray
        Lines of all facets, and where those of each region end.
    part : tuple
        Which regions (the first one, and the one after the last); room for one pattern.
    pairs : ndarray, shape (facets of these, 3)
        Gets each pair from its smaller number: two regions, and the line.
    unsure : ndarray, shape (facets of these, 2)
        Gets regions and lines behind which more than one neuron changes.

    Returns
    -------
    pairs, unsure : int
        How many there are.
    """
    found, left = 0, 0
    first, last, query = part
    for region in range(first, last):
        start = found
        begin = ends[region - 1] if region else 0
        for i in range(begin, ends[region]):
            line = int(facets[i])
            if line < flips.first:
                continue
            line = int(flips.twin[line])
            other = _behind(flips, known, region, line, query)
            if other > region:
                pairs[found, 0], pairs[found, 1], pairs[found, 2] = region, other, line
                found += 1
            elif other < 0 or not _has_facet(flips, facets, ends, other, line):
                unsure[left, 0], unsure[left, 1] = region, facets[i]
                left += 1
        found = _sort(pairs, start, found)
    return found, left


@kernel(inner=True)
def _has_facet(flips: Any, facets: Any, ends: Any, region: int, line: int) -> bool:
    """Whether a line, the first of its twins, is among the facets of a region."""
    for i in range(ends[region - 1] if region else 0, ends[region]):
        if flips.twin[facets[i]] == line:
            return True
    return False


# --- regions of which only the patterns are known -------------------------------------------------


@kernel
def pairs_of_patterns(
    flat: Any, flips: Any, known: Any, witnesses: Any, part: Any, pairs: Any, unsure: Any
) -> tuple[int, int]:
    """Neighbours of some regions from their patterns: see docs/exactness.md.

    As `pairs_of_facets`. Here the last of `part` is a `FlipRoom`, and `unsure` are lines that may
    be facets, behind which more may change.
    """
    found, left = 0, 0
    first, last, room = part
    room.maps.changes[:] = -1
    for region in range(first, last):
        load_pattern(flat, known.words[region], known.bits, region == first, room)
        domain = flips.first - 1
        count = write_rows(flat, flips, room)
        start = found
        for k in range(domain, count):
            line = room.lines[k]
            if flips.twin[line] != line:
                continue
            other = _behind(flips, known, region, line, room.query)
            verdict = NO
            if other > region:
                verdict = YES
                if not flips.free[flat.lines.line_layer[line]]:
                    p, q = witnesses[region], witnesses[other]
                    verdict = _share_facet(flips, room, count, k, p, q, flat.lines.scale)
                if verdict == YES:
                    pairs[found, 0], pairs[found, 1], pairs[found, 2] = region, other, line
                    found += 1
            elif other < 0 and _may_be_others(flips, room, domain, count, k):
                verdict = UNSURE
            if verdict == UNSURE:
                unsure[left, 0], unsure[left, 1] = region, line
                left += 1
        found = _sort(pairs, start, found)
    return found, left


@kernel
def facets_of_patterns(
    flat: Any, flips: Any, patterns: Any, witnesses: Any, part: Any, lines: Any, counts: Any
) -> int:
    """The lines of the facets of some regions, from their patterns.

    Parameters
    ----------
    flat : FlatNetwork
    flips : FlipLines
    patterns : tuple
        Packed patterns of all regions, and the bits of a neuron.
    witnesses : ndarray, shape (regions, inputs)
    part : tuple
        Which regions (the first one, and the one after the last); a `FlipRoom`.
    lines : ndarray
        Gets the lines, region by region.
    counts : ndarray, shape (regions of the part,)
        Gets how many these are; -1 where a line may be a facet or not, and none is written.

    Returns
    -------
    int
        How many lines there are.
    """
    words, bits = patterns
    first, last, room = part
    room.maps.changes[:] = -1
    total, d = 0, room.rows.shape[1] - 1
    for region in range(first, last):
        load_pattern(flat, words[region], bits, region == first, room)
        count, begin, sure = write_rows(flat, flips, room), total, True
        p = witnesses[region]
        for k in range(count):
            line = room.lines[k]
            if flips.twin[line] != line:
                continue
            if room.errors[k] == 0.0 and _is_constant(room.rows, k, d):
                continue  # not 0, and nothing was rounded
            verdict = _share_facet(flips, room, count, k, p, p, flat.lines.scale)
            if verdict == YES:
                lines[total] = line
                total += 1
            elif verdict == UNSURE:
                sure = False
                break
        if not sure:
            total = begin
        counts[region - first] = total - begin if sure else -1
    return total


@kernel
def alone_on_facets(
    flat: Any, flips: Any, patterns: Any, facets: Any, part: Any, alone: Any
) -> None:
    """Which facets of regions surely lie on no boundary but that of their line and its twins.

    Parameters
    ----------
    flat : FlatNetwork
    flips : FlipLines
    patterns : tuple
        Packed patterns of all regions, and the bits of a neuron.
    facets : tuple
        Lines of facets, and the regions that they belong to, ascending.
    part : tuple
        Which facets (the first one, and the one after the last); a `FlipRoom`.
    alone : ndarray of bool, shape (facets,)
        Gets what is proved.
    """
    words, bits = patterns
    lines, owners = facets
    first, last, room = part
    room.maps.changes[:] = -1
    domain, count = flips.first - 1, 0
    for i in range(first, last):
        region = owners[i]
        if i == first or region != owners[i - 1]:
            load_pattern(flat, words[region], bits, i == first, room)
            count = write_rows(flat, flips, room)
        line = flips.twin[lines[i]]
        alone[i] = False
        # Lines are ascending; those far from the pattern are not there.
        low, high = domain, count
        while low < high:
            middle = (low + high) // 2
            if room.lines[middle] < line:
                low = middle + 1
            else:
                high = middle
        if low < count and room.lines[low] == line:
            alone[i] = not _may_be_others(flips, room, domain, count, low)


@kernel(inner=True)
def load_pattern(flat: Any, words: Any, bits: int, anew: bool, room: Any) -> None:
    """Bring the maps of all layers to a pattern; layers before the first change stay."""
    maps, pieces, current = flat.maps, room.pieces, room.maps
    depth, base = flat.lines.depth, maps.row_start[1]
    changed = 0 if anew else depth
    for neuron in range(len(pieces)):
        piece = np.uint8(piece_of(words, neuron, bits))
        if piece != pieces[neuron]:
            pieces[neuron] = piece
            if changed == depth:
                changed = 1
                while neuron >= maps.row_start[changed + 1] - base:
                    changed += 1
    for layer in range(changed, depth):
        enter_layer(maps, current, layer, pieces, maps.row_start[layer] - base, True)


@kernel(inner=True)
def write_rows(flat: Any, flips: Any, room: Any) -> int:
    """Write the domain's rows, and those of all boundaries next to the pattern; their number."""
    count = 0
    for line in range(1, flips.first):
        write_row(flat, flips, room, line, count)
        count += 1
    for line in range(flips.first, len(flat.lines.line_row)):
        piece = int(room.pieces[flips.neuron[line - flips.first]])
        b = flips.breakpoint[line - flips.first]
        if piece == b or piece == b + 1:
            write_row(flat, flips, room, line, count)
            count += 1
    return count


@kernel(inner=True)
def write_row(flat: Any, flips: Any, room: Any, line: int, k: int) -> None:
    """Write the row of one line, of the domain or next to the pattern, as number k."""
    lines, before, d = flat.lines, room.maps.before, flat.lines.dimension
    room.lines[k] = line
    if line < flips.first:
        for c in range(d + 1):
            room.rows[k, c] = lines.domain_rows[line, c]
        _normalise(room, k, 0.0, d)
        return
    own = line - flips.first
    above = room.pieces[flips.neuron[own]] > flips.breakpoint[own]
    row, sign = lines.line_row[line], 1.0 if above else -1.0
    for c in range(d + 1):
        room.rows[k, c] = sign * before[c, row]
    room.rows[k, d] -= sign * lines.line_at[line]
    # R - t is rounded once.
    _normalise(room, k, before[d + 1, row] + ROUND * abs(room.rows[k, d]), d)


@kernel(inner=True)
def _normalise(room: Any, k: int, error: float, d: int) -> None:
    """Divide a row by the length of its slopes; a constant one by its offset: its error says so."""
    square = 0.0
    for c in range(d):
        square += room.rows[k, c] * room.rows[k, c]
    length = np.sqrt(square)
    if not (length > 1e-120 and length > 1e-9 * abs(room.rows[k, d])):
        # Nearly constant: as large an error as there is makes everything about it unsure, except
        # if nothing was rounded.
        known = error == 0.0 and length == 0.0 and room.rows[k, d] != 0.0
        room.errors[k] = 0.0 if known else np.inf
        for c in range(d):
            room.rows[k, c] = 0.0
        room.rows[k, d] = (1.0 if room.rows[k, d] > 0.0 else -1.0) if known else 0.0
        return
    size = abs(room.rows[k, d]) / length
    for c in range(d + 1):
        room.rows[k, c] /= length
    room.errors[k] = (error / length + 2.0 * ROUND * (1.0 + size)) * INFLATE


@kernel(inner=True)
def _may_be_others(flips: Any, room: Any, domain: int, count: int, k: int) -> bool:
    """Whether another boundary, not a twin, may vanish wherever this one does."""
    rows, errors, d = room.rows, room.errors, room.rows.shape[1] - 1
    if not errors[k] < np.inf:
        return True
    if _is_constant(rows, k, d):
        return False  # no facet
    pivot = 0
    for c in range(1, d):
        if abs(rows[k, c]) > abs(rows[k, pivot]):
            pivot = c
    for i in range(domain, count):
        if i == k or flips.twin[room.lines[i]] == room.lines[k]:
            continue
        if not errors[i] < np.inf:
            return True
        if _is_constant(rows, i, d):
            continue  # not 0
        apart = False
        e = errors[i] + errors[k] + errors[i] * errors[k]
        for c in range(d + 1):
            if c == pivot:
                continue
            p, q = rows[k, pivot] * rows[i, c], rows[i, pivot] * rows[k, c]
            # Slopes are at most 1; each number may be wrong by its error.
            size = 2.0 + abs(rows[k, c]) + abs(rows[i, c])
            if abs(p - q) > (e * size + 4.0 * ROUND * (abs(p) + abs(q))) * INFLATE:
                apart = True
                break
        if not apart:
            return True
    return False


@kernel(inner=True)
def _is_constant(rows: Any, k: int, d: int) -> bool:
    for c in range(d):
        if rows[k, c] != 0.0:
            return False
    return True


# --- whether two regions share a facet ------------------------------------------------------------


@kernel(inner=True)
def _share_facet(flips: Any, room: Any, count: int, k: int, p: Any, q: Any, scale: Any) -> int:
    """Whether the boundary of row k has a point at which all other rows are positive.

    First where it crosses the segment between the witnesses of the two regions, then nearer and
    nearer to the rows that are not positive; in the end a linear program knows.
    """
    rows, x, d = room.rows, room.point, room.rows.shape[1] - 1
    if not room.errors[k] < np.inf or _is_constant(rows, k, d):
        return UNSURE
    here, there = rows[k, d], rows[k, d]
    for c in range(d):
        here += rows[k, c] * p[c] * scale[c]
        there += rows[k, c] * q[c] * scale[c]
    share = here / (here - there) if here > 0.0 > there else 0.5
    for c in range(d):
        x[c] = (p[c] + share * (q[c] - p[c])) * scale[c]
    for step in range(_STEPS):
        worst = _worst(flips, room, count, k)
        if worst == count:
            return YES
        if not (step < _STEPS - 1 and _step(room, k, worst)):
            break
    if not _solve(flips, room, count, k):
        return UNSURE
    return _verdict(flips, room, count, k)


@kernel(inner=True)
def _worst(flips: Any, room: Any, count: int, k: int) -> int:
    """The row that is least positive at a point of row k's boundary next to ``room.point``.

    `count`, if all are surely positive there: docs/exactness.md.
    """
    rows, errors, x, d = room.rows, room.errors, room.point, room.rows.shape[1] - 1
    reach = 1.0
    for c in range(d):
        reach += abs(x[c])
    value, size = value_of(rows, k, x, d)
    root = np.sqrt(float(d))
    # The boundary is so near; slopes have length 1, but for roundings and their errors.
    error = errors[k] * reach + (d + 4) * ROUND * size
    distance = (abs(value) + error) / (0.999 - root * errors[k]) * INFLATE
    sure = root * errors[k] < 0.5
    worst, least = count, np.inf
    for i in range(count):
        if flips.twin[room.lines[i]] == room.lines[k]:
            continue
        value, size = value_of(rows, i, x, d)
        error = errors[i] * reach + (d + 4) * ROUND * size + (1.001 + root * errors[i]) * distance
        sure = sure and value > error * INFLATE
        if value < least:
            worst, least = i, value
    return count if sure else worst


@kernel(inner=True)
def value_of(rows: Any, k: int, x: Any, d: int) -> tuple[float, float]:
    """A row at a point, and the sum of the absolute values of its terms."""
    value, size = rows[k, d], abs(rows[k, d])
    for c in range(d):
        term = rows[k, c] * x[c]
        value += term
        size += abs(term)
    return value, size


@kernel(inner=True)
def _step(room: Any, k: int, worst: int) -> bool:
    """Move ``room.point`` along row k's boundary to where another row is positive, if it is so."""
    rows, x, step, d = room.rows, room.point, room.step, room.rows.shape[1] - 1
    value, _ = value_of(rows, k, x, d)
    along, reach = 0.0, 1.0
    for c in range(d):
        x[c] -= value * rows[k, c]
        along += rows[k, c] * rows[worst, c]
        reach = max(reach, abs(x[c]))
    square = 0.0
    for c in range(d):
        step[c] = rows[worst, c] - along * rows[k, c]
        square += step[c] * step[c]
    if not square > _NOTHING:
        return False
    value, _ = value_of(rows, worst, x, d)
    length = (_BEYOND * max(-value, 0.0) + _INSIDE * reach) / square
    for c in range(d):
        x[c] += length * step[c]
    return True


# --- a small linear program -----------------------------------------------------------------------
# The largest m such that all other rows are at least m somewhere on row k's boundary (and m <= 1).
# Its dual: weights that add up to 1, at least 0 but for that of row k, with which the slopes of all
# rows add up to 0; they make the sum of the offsets small. The simplex method goes from weights to
# weights; `duals` are then the point, times -1, and m.

_ARTIFICIAL, _CAP, _FREE = -1, -2, -3


@kernel(inner=True)
def _solve(flips: Any, room: Any, count: int, k: int) -> bool:
    """Solve it; False if that was not possible."""
    rows, basis, inverse, d = room.rows, room.basis, room.inverse, room.rows.shape[1] - 1
    for i in range(d + 1):
        basis[i] = _ARTIFICIAL if i < d else _CAP
        room.levels[i] = 0.0 if i < d else 1.0
        for c in range(d + 1):
            inverse[i, c] = 1.0 if i == c else 0.0
    largest = 0
    for c in range(d):
        room.column[c] = rows[k, c]
        largest = c if abs(rows[k, c]) > abs(rows[k, largest]) else largest
    room.column[d] = 0.0
    _pivot(room, largest, _FREE)
    for _ in range(_PIVOTS):
        _price(room, k)
        entering, least = -1, -_NOTHING
        for i in range(count):
            if flips.twin[room.lines[i]] == room.lines[k]:
                continue
            cost = rows[i, d] - room.duals[d]
            for c in range(d):
                cost -= room.duals[c] * rows[i, c]
            if not cost < np.inf:
                return False
            if cost < least:
                entering, least = i, cost
        if entering < 0:
            return True
        for i in range(d + 1):
            total = inverse[i, d]
            for c in range(d):
                total += inverse[i, c] * rows[entering, c]
            room.column[i] = total
        leaving = _leaving(room, d)
        if leaving < 0:
            return False
        _pivot(room, leaving, entering)
    return False


@kernel(inner=True)
def _price(room: Any, k: int) -> None:
    """The solution that belongs to the basis."""
    d = room.rows.shape[1] - 1
    for c in range(d + 1):
        room.duals[c] = 0.0
    for i in range(d + 1):
        which, cost = room.basis[i], 0.0
        if which >= 0:
            cost = room.rows[which, d]
        elif which == _CAP:
            cost = 1.0
        elif which == _FREE:
            cost = room.rows[k, d]
        if cost != 0.0:
            for c in range(d + 1):
                room.duals[c] += cost * room.inverse[i, c]


@kernel(inner=True)
def _leaving(room: Any, d: int) -> int:
    """Which of the basis becomes 0 first; what was never wanted goes before all others."""
    found, best = -1, _NOTHING
    for i in range(d + 1):
        if room.basis[i] == _ARTIFICIAL and abs(room.column[i]) > max(best, 1e-9):
            found, best = i, abs(room.column[i])
    if found >= 0:
        return found
    ratio = np.inf
    for i in range(d + 1):
        if room.basis[i] in (_ARTIFICIAL, _FREE) or room.column[i] <= 1e-9:
            continue
        this = max(room.levels[i], 0.0) / room.column[i]
        if this < ratio:
            found, ratio = i, this
    return found


@kernel(inner=True)
def _pivot(room: Any, leaving: int, entering: int) -> None:
    """Bring the variable in whose column, times the inverse, is in ``room.column``."""
    inverse, column, levels, size = room.inverse, room.column, room.levels, len(room.levels)
    factor = 1.0 / column[leaving]
    for c in range(size):
        inverse[leaving, c] *= factor
    levels[leaving] *= factor
    for i in range(size):
        if i != leaving and column[i] != 0.0:
            for c in range(size):
                inverse[i, c] -= column[i] * inverse[leaving, c]
            levels[i] -= column[i] * levels[leaving]
    room.basis[leaving] = entering


@kernel(inner=True)
def _verdict(flips: Any, room: Any, count: int, k: int) -> int:
    """What the solution proves: a point of the facet, or weights that show that there is none."""
    rows, errors, duals, d = room.rows, room.errors, room.duals, room.rows.shape[1] - 1
    for c in range(d):
        room.point[c] = -duals[c]
    if duals[d] > 0.0:
        return YES if _worst(flips, room, count, k) == count else UNSURE
    # If the boundary had a point x in the closed region, the weighted sum of the rows at x would be
    # at least 0. It is `total`, plus a small row times x, whose coordinates are bounded.
    reach = 1.0
    for c in range(d):
        reach += flips.bounds[c]
    total, wrong, size = 0.0, 0.0, 0.0
    for c in range(d):
        room.step[c] = 0.0
    for i in range(d + 1):
        which, weight = room.basis[i], room.levels[i]
        if which == _FREE:
            which = k
        elif which >= 0:
            weight = max(weight, 0.0)
        else:
            continue
        total += weight * rows[which, d]
        size += abs(weight) * (abs(rows[which, d]) + reach)
        wrong += abs(weight) * errors[which] * reach
        for c in range(d):
            room.step[c] += weight * rows[which, c]
    for c in range(d):
        wrong += abs(room.step[c]) * flips.bounds[c]
    wrong += (d + 8) * ROUND * size
    if total + wrong * INFLATE < 0.0 or _is_never_met(room, k):
        return NO
    return UNSURE


@kernel(inner=True)
def _entry(room: Any, k: int, i: int, c: int) -> float:
    """A number of the basis: slopes of a row, then 1, or 0 for row k."""
    which, d = room.basis[i], room.rows.shape[1] - 1
    if c == d:
        return 1.0 if which >= 0 else 0.0
    return float(room.rows[which if which >= 0 else k, c])


@kernel(inner=True)
def _is_never_met(room: Any, k: int) -> bool:
    """Whether the basis proves that row k's boundary misses the region, wherever that reaches.

    Docs: docs/exactness.md, "Neighbours".
    """
    rows, errors, basis, levels = room.rows, room.errors, room.basis, room.levels
    inverse, left, n = room.inverse, room.column, len(room.levels)
    for i in range(n):
        if basis[i] < 0 and basis[i] != _FREE:
            return False
    for c in range(n):  # what is left of the equations that the weights solve
        value = -1.0 if c == n - 1 else 0.0
        size, wrong = abs(value), 0.0
        for i in range(n):
            term = _entry(room, k, i, c) * levels[i]
            value += term
            size += abs(term)
            if c < n - 1:
                wrong += errors[basis[i] if basis[i] >= 0 else k] * abs(levels[i])
        left[c] = abs(value) + wrong + (n + 4) * ROUND * size
    defect, gap = 0.0, 0.0
    for i in range(n):
        total, length, share = 0.0, 0.0, 0.0
        for c in range(n):
            length += abs(inverse[i, c])
            share += abs(inverse[i, c]) * left[c]
        for j in range(n):
            product, size = -1.0 if i == j else 0.0, 1.0
            for c in range(n):
                term = inverse[i, c] * _entry(room, k, j, c)
                product += term
                size += abs(term)
            error = errors[basis[j] if basis[j] >= 0 else k]
            total += abs(product) + (n + 4) * ROUND * size + length * error
        defect, gap = max(defect, total * INFLATE), max(gap, share)
    if not defect < 0.5:
        return False
    off = gap / (1.0 - defect) * INFLATE
    total, wrong = 0.0, 0.0
    for i in range(n):
        which = basis[i] if basis[i] >= 0 else k
        if basis[i] >= 0 and not levels[i] > off:
            return False
        offset = rows[which, n - 1]
        total += levels[i] * offset
        wrong += off * abs(offset) + (abs(levels[i]) + off) * errors[which]
        wrong += (n + 8) * ROUND * abs(levels[i] * offset)
    return bool(total + wrong * INFLATE < 0.0)
