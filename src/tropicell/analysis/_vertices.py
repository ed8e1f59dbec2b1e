"""Kernels that walk from corner to corner of regions of a box, and measure them on the way.

Docs: docs/exactness.md, "Volumes". A corner of a simple polytope lies on d facets, and each of them
that is left leads along an edge to another corner: where the next row becomes 0. So all corners are
found from one of them, with the facets that they lie on, which is what `_moments` needs. Which
facets these are is proved, corner by corner; a region where that can't be done, because a corner
lies on more facets or may do so, is left to others.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray, IntArray
from tropicell._runtime.jit import kernel
from tropicell._runtime.memory import Blueprint
from tropicell.analysis._flips import FlipRoom, flip_room, load_pattern, value_of, write_rows
from tropicell.analysis._moments import (
    MOST_FACES,
    MOST_FACETS,
    MomentRoom,
    determinant,
    moment_room,
    weigh,
)
from tropicell.analysis._programs import ProgramRoom, program_room, solve
from tropicell.geometry.rounding import INFLATE, ROUND
from tropicell.network.flat import FlatNetwork

#: At a corner every row but its d is so many times larger than what it may be wrong by.
_APART = 64.0

#: What the coefficients of a facet may be wrong by, the slopes being of length 1.
_CLEAR = 1e-10

#: Corners that a region may have.
_MOST_CORNERS = 4096

#: Boxes that reach further are left to others.
_FAR = 1e6

_ONE = np.uint64(1)
_NONE = np.uint64(0)


class WalkRoom(NamedTuple):
    """What one thread needs.

    Attributes
    ----------
    program : ProgramRoom
    moments : MomentRoom
    use : ndarray, shape (lines,)
        Rows that may be facets.
    used : ndarray, shape (1,)
        How many they are.
    facet : ndarray, shape (lines,)
        The number of a row among the facets; -1: it is none so far.
    row : ndarray, shape (facets,)
        The row of each facet.
    bases : ndarray, shape (corners, inputs)
        The rows that are 0 at each corner.
    inverses : ndarray, shape (corners, inputs, inputs)
        The inverse of the matrix of each of them: its columns are the edges.
    column, product, size : ndarray, shape (inputs,)
        Scratch.
    slopes : ndarray, shape (inputs, lines)
        The slopes of the rows that may be facets, in the order of `use`.
    offset, wrong : ndarray, shape (lines,)
        Their constants, and what their coefficients may be wrong by.
    place : ndarray, shape (lines,)
        Where a row is in that order; -1: it is none of them.
    value : ndarray, shape (lines,)
        The rows that may be facets at a corner (infinite where they are 0).
    error, rate : ndarray, shape (lines,)
        What their values may be wrong by, and how they change along an edge.
    apart : ndarray, shape (corners,)
        About how far rounding moves a corner.
    slant : ndarray, shape (corners,)
        About what rounding makes of its edges, the columns of the inverse.
    area, turned : ndarray, shape (corners,)
        The absolute value of the determinant, and about what part of that rounding makes.
    moment : ndarray, shape (inputs,)
        Integrals of the coordinates over the region.
    corner_keys, edge_keys : ndarray of uint64
        Corners and edges that are known, by the facets that they lie on.
    corner_stamps, edge_stamps : ndarray
        When that was written, see `MomentRoom.turn`.
    """

    program: ProgramRoom
    moments: MomentRoom
    use: IntArray
    used: IntArray
    facet: IntArray
    row: IntArray
    bases: IntArray
    inverses: FloatArray
    column: FloatArray
    product: FloatArray
    size: FloatArray
    slopes: FloatArray
    offset: FloatArray
    wrong: FloatArray
    place: IntArray
    value: FloatArray
    error: FloatArray
    rate: FloatArray
    apart: FloatArray
    slant: FloatArray
    area: FloatArray
    turned: FloatArray
    moment: FloatArray
    corner_keys: NDArray[np.uint64]
    edge_keys: NDArray[np.uint64]
    corner_stamps: IntArray
    edge_stamps: IntArray


def walk_rooms(flat: FlatNetwork, words: int) -> Callable[[], WalkRoom]:
    """What makes a room for each thread, for patterns of so many words."""
    d = flat.dimension
    faces = min(_MOST_CORNERS * comb(d, d // 2), MOST_FACES)
    rows = Blueprint(lambda free: flip_room(flat, words, free))
    sums = Blueprint(lambda free: moment_room(flat, _MOST_CORNERS, faces, free))
    return lambda: walk_room(rows.build(), sums.build())


def walk_room(flip: FlipRoom, moments: MomentRoom) -> WalkRoom:
    """Room for as many corners as there is room for moments of."""
    corners, d = moments.points.shape
    lines = len(flip.lines)
    corner_table, edge_table = (1 << (2 * n).bit_length() for n in (corners, corners * d))
    return WalkRoom(
        program_room(flip),
        moments,
        use=np.zeros(lines, np.int64),
        used=np.zeros(1, np.int64),
        facet=np.zeros(lines, np.int64),
        row=np.zeros(MOST_FACETS, np.int64),
        bases=np.zeros((corners, d), np.int64),
        inverses=np.zeros((corners, d, d)),
        column=np.zeros(d),
        product=np.zeros(d),
        size=np.zeros(d),
        slopes=np.zeros((d, lines)),
        offset=np.zeros(lines),
        wrong=np.zeros(lines),
        place=np.zeros(lines, np.int64),
        value=np.zeros(lines),
        error=np.zeros(lines),
        rate=np.zeros(lines),
        apart=np.zeros(corners),
        slant=np.zeros(corners),
        area=np.zeros(corners),
        turned=np.zeros(corners),
        moment=np.zeros(d),
        corner_keys=np.zeros(corner_table, np.uint64),
        edge_keys=np.zeros(edge_table, np.uint64),
        corner_stamps=np.full(corner_table, -1, np.int64),
        edge_stamps=np.full(edge_table, -1, np.int64),
    )


@kernel
def measure_patterns(
    flat: Any, flips: Any, objectives: Any, patterns: Any, part: Any, found: Any
) -> None:
    """Volumes and centroids of regions of a box; nan where this is not the way to find them.

    Parameters
    ----------
    flat : FlatNetwork
    flips : FlipLines
    objectives : Objectives
        The box.
    patterns : tuple
        Packed patterns, bits of a neuron, and for each line of a neuron whether it reads nothing.
    part : tuple
        Which regions (the first one, and the one after the last); whether centroids are wanted;
        room.
    found : tuple
        Gets sizes, centroids, and about how much rounding makes of the sizes.
    """
    first, last, centred, room = part
    sizes, centroids, doubts = found
    room.program.flip.maps.changes[:] = -1
    scale, d = flat.lines.scale, flat.lines.dimension
    unit = 1.0
    for c in range(d):
        unit *= scale[c]
    for region in range(first, last):
        sizes[region] = np.nan
        n, m = find_corners(flat, flips, objectives, patterns, (region, first), room)
        if n <= d:
            continue
        size, doubt = measure_faces(room, n, m, centred)
        if not size > 0.0:
            continue
        sizes[region], doubts[region] = size / unit, doubt / unit
        if centred:
            for c in range(d):
                centroids[region, c] = room.moment[c] / (size * scale[c])


@kernel(inner=True)
def measure_faces(room: Any, n: int, m: int, centred: bool) -> tuple[float, float]:
    """Volume of a polytope, and about what rounding makes of it; 0.0 if its faces do not fit.

    If it is to be `centred`, its moment goes to the room.
    """
    moments, d, unit = room.moments, len(room.moment), 1.0
    for c in range(d):
        unit *= c + 1
    write_values(moments, n, m)
    weight, at = weigh(moments, n, m, centred)
    if not weight > 0.0:
        return 0.0, 0.0
    if centred:
        for c in range(d):
            room.moment[c] = moments.moment[at, 0, c] / ((d + 1) * unit)
    return weight / unit, moments.doubt[at, 0] / unit


@kernel(inner=True)
def find_corners(
    flat: Any, flips: Any, objectives: Any, patterns: Any, which: Any, room: Any
) -> tuple[int, int]:
    """All corners of a region, and the rows of its facets: how many of both; 0 if not all are sure.

    ``which`` says the number of the region, and of the first one that this thread looks at.
    """
    words, bits, still = patterns
    region, first = which
    flip, moments, d = room.program.flip, room.moments, flat.lines.dimension
    load_pattern(flat, words[region], bits, region == first, flip)
    count = write_rows(flat, flips, flip)
    moments.turn[0] += 1
    if not _choose_rows(flat, flips, still, room, count):
        # What is left of rows that cancel may be the rounding of earlier patterns.
        flip.maps.changes[:] = -1
        load_pattern(flat, words[region], bits, True, flip)
        count = write_rows(flat, flips, flip)
        if not _choose_rows(flat, flips, still, room, count):
            return 0, 0
    n, m = _walk(flips, objectives, room, count, moments.turn[0])
    for f in range(m):
        for c in range(d + 1):
            moments.rows[f, c] = flip.rows[room.row[f], c]
    return n, m


@kernel(inner=True)
def write_values(moments: Any, n: int, m: int) -> None:
    """The rows of all facets at all corners."""
    for i in range(n):
        for f in range(m):
            value, _ = value_of(moments.rows, f, moments.points[i], moments.points.shape[1])
            moments.values[i, f] = value


@kernel(inner=True)
def _is_known(keys: Any, stamps: Any, stamp: int, key: Any) -> bool:
    """Whether a set of facets was seen before; from now on it was."""
    size = np.uint64(len(keys) - 1)
    slot = (key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20) & size
    while stamps[slot] == stamp:
        if keys[slot] == key:
            return True
        slot = slot + _ONE & size
    stamps[slot], keys[slot] = stamp, key
    return False


@kernel(inner=True)
def _start(flips: Any, objectives: Any, room: Any, count: int) -> bool:
    """One corner, as the first one: where a function is largest."""
    program, flip = room.program, room.program.flip
    d, domain = len(program.slopes), flips.first - 1
    for c in range(d):
        program.slopes[c] = 1.0 + 0.618 * c % 1.0
    if not solve(objectives, (program, domain, count), 0.0, -np.inf):
        return False
    for i in range(d):
        which = program.basis[i]
        if which < 0:  # a side of the box: its row is among those of the domain
            c, sign = (-1 - which) % d, 1.0 if which >= -d else -1.0
            for k in range(domain):
                if flip.rows[k, c] * sign > 0.5:
                    which = k
        if which < 0:
            return False
        room.bases[0, i] = which
        room.moments.points[0, i] = flip.point[i]
        for c in range(d):
            room.inverses[0, c, i] = program.table[i, c]
    return True


@kernel(inner=True)
def _choose_rows(flat: Any, flips: Any, still: Any, room: Any, count: int) -> bool:
    """Write down which rows may be facets; False if one of them is not known well enough."""
    flip, used, d = room.program.flip, 0, len(room.column)
    for k in range(count):
        room.facet[k], room.place[k] = -1, -1
        if not flip.errors[k] <= _CLEAR:
            if _cuts_nothing(flat, flips, still, flip, k):
                continue
            return False
        square = 0.0
        for c in range(d):
            square += flip.rows[k, c] * flip.rows[k, c]
        if square > 0.5 and flips.twin[flip.lines[k]] == flip.lines[k]:
            room.use[used], room.place[k] = k, used
            for c in range(d):
                room.slopes[c, used] = flip.rows[k, c]
            room.offset[used], room.wrong[used] = flip.rows[k, d], flip.errors[k]
            used += 1
    room.used[0] = used
    return True


@kernel(inner=True)
def _cuts_nothing(flat: Any, flips: Any, still: Any, flip: Any, k: int) -> bool:
    """Whether a row surely is 0 nowhere in the box, or constant without any rounding."""
    line, maps, d = flip.lines[k], flip.maps, len(flip.point)
    if line < flips.first or still[line - flips.first]:
        return bool(line >= flips.first)
    row, layer = flat.lines.line_row[line], flat.lines.line_layer[line]
    constant, swing, reach = True, 0.0, 1.0
    for c in range(d):
        slope = maps.before[c, row]
        constant &= slope == 0.0 and maps.low[c, row] == 0.0 and maps.error[layer, c] == 0.0
        swing += abs(slope) * flips.bounds[c]
        reach += flips.bounds[c]
    offset = abs(maps.before[d, row] - flat.lines.line_at[line])
    error = maps.before[d + 1, row] * reach + (d + 4) * ROUND * (swing + offset)
    return constant or offset > (swing + error) * INFLATE


@kernel(inner=True)
def _walk(flips: Any, objectives: Any, room: Any, count: int, stamp: int) -> tuple[int, int]:
    """All corners of a region, and its facets: how many; no corners where that is not sure."""
    flip, moments, bases = room.program.flip, room.moments, room.bases
    points, tight = moments.points, moments.tight
    d, facets, reach = len(flip.point), 0, 0.0
    for c in range(d):
        reach += flips.bounds[c]
    if not (reach < _FAR and _start(flips, objectives, room, count)):
        return 0, 0
    tight[0] = _NONE
    for i in range(d):
        k = bases[0, i]
        if room.facet[k] >= 0 or room.place[k] < 0:
            return 0, 0
        room.facet[k], room.row[facets] = facets, k
        tight[0] |= _ONE << np.uint64(facets)
        facets += 1
    for f in range(d):
        for c in range(d + 1):
            moments.rows[f, c] = flip.rows[room.row[f], c]
    room.area[0] = determinant(moments, tight[0])
    room.turned[0] = 2.0 * d * ROUND / room.area[0] if room.area[0] > 0.0 else np.inf
    _is_known(room.corner_keys, room.corner_stamps, stamp, tight[0])
    n, at = 1, 0
    while at < n:
        if not _look_around(room, at):
            return 0, 0
        for i in range(d):
            edge = tight[at] ^ (_ONE << np.uint64(room.facet[bases[at, i]]))
            if _is_known(room.edge_keys, room.edge_stamps, stamp, edge):
                continue
            entering, length = _end_of_edge(room, at, i)
            if entering < 0:
                return 0, 0
            if room.facet[entering] < 0:
                if facets == MOST_FACETS:
                    return 0, 0
                room.facet[entering], room.row[facets] = facets, entering
                facets += 1
            corner = edge | (_ONE << np.uint64(room.facet[entering]))
            if _is_known(room.corner_keys, room.corner_stamps, stamp, corner):
                continue
            if n == len(points):
                return 0, 0
            tight[n] = corner
            _go(room, at, i, entering, length, n)
            n += 1
        at += 1
    return n, facets


@kernel(inner=True)
def _look_around(room: Any, at: int) -> bool:
    """The values of all rows at a corner; False unless it surely lies on its d facets only.

    Docs: docs/exactness.md, "Volumes".
    """
    flip, inverse, basis = room.program.flip, room.inverses[at], room.bases[at]
    rows, errors, x, apart = flip.rows, flip.errors, room.moments.points[at], room.column
    d = len(x)
    for i in range(d):  # one step nearer to the corner
        flip.step[i], _ = value_of(rows, basis[i], x, d)
    reach = 1.0
    for c in range(d):
        for i in range(d):
            x[c] -= inverse[c, i] * flip.step[i]
        reach += abs(x[c])
    gap, defect, left, off, square = 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(d):
        room.column[j] = 0.0
    for c in range(d):
        for j in range(d):
            room.column[j] += abs(inverse[c, j])
    product, size = room.product, room.size
    for i in range(d):
        k, total = basis[i], 0.0
        value, terms = value_of(rows, k, x, d)
        left = max(left, abs(value))
        gap = max(gap, abs(value) + errors[k] * reach + (d + 4) * ROUND * terms)
        for j in range(d):
            product[j], size[j] = 0.0, 0.0
        product[i], size[i] = -1.0, 1.0
        for c in range(d):
            slope = rows[k, c]
            for j in range(d):
                term = slope * inverse[c, j]
                product[j] += term
                size[j] += abs(term)
        for j in range(d):
            off = max(off, abs(product[j]) + 2.0 * ROUND * size[j])
            total += abs(product[j]) + (d + 4) * ROUND * size[j] + errors[k] * room.column[j]
        defect = max(defect, total * INFLATE)
    if not defect < 0.5:
        return False
    room.apart[at] = 0.0
    for c in range(d):  # the corner is at most so far away
        total = 0.0
        for i in range(d):
            total += abs(inverse[c, i])
            square += inverse[c, i] * inverse[c, i]
        apart[c] = total * gap / (1.0 - defect) * INFLATE
        room.apart[at] = max(room.apart[at], total * (left + 2.0 * ROUND * reach))
    room.slant[at] = off * np.sqrt(square)
    return _values_at(room, basis, x, apart, reach)


@kernel(inner=True)
def _values_at(room: Any, basis: Any, x: Any, apart: Any, reach: float) -> bool:
    """The rows at a corner known up to `apart`; False unless all but its d are surely positive."""
    used, d = room.used[0], len(x)
    value, error, distance = room.value, room.error, 0.0
    for c in range(d):
        distance += apart[c]
    rounding = (d + 4) * ROUND
    for j in range(used):
        value[j] = room.offset[j]
        error[j] = room.wrong[j] * (reach + distance) + rounding * abs(room.offset[j])
    for c in range(d):
        at, near = x[c], apart[c] + rounding * abs(x[c])
        for j in range(used):
            slope = room.slopes[c, j]
            value[j] += slope * at
            error[j] += abs(slope) * near
    for i in range(d):
        j = room.place[basis[i]]
        value[j], error[j] = np.inf, 0.0
    sure = True
    for j in range(used):
        sure &= value[j] > _APART * error[j] * INFLATE
    return sure


@kernel(inner=True)
def _end_of_edge(room: Any, at: int, i: int) -> tuple[int, float]:
    """The row that seems to end an edge, and how far away; -1: none. The corner there knows."""
    inverse, value, rate, used = room.inverses[at], room.value, room.rate, room.used[0]
    d, entering, length = inverse.shape[0], -1, np.inf
    for j in range(used):
        rate[j] = 0.0
    for c in range(d):
        step = inverse[c, i]
        for j in range(used):
            rate[j] += room.slopes[c, j] * step
    for j in range(used):
        if rate[j] < -1e-12 and value[j] < -rate[j] * length:
            entering, length = room.use[j], value[j] / -rate[j]
    return entering, length


@kernel(inner=True)
def _go(room: Any, at: int, i: int, entering: int, length: float, n: int) -> None:
    """The corner at the end of an edge, as a new one."""
    rows, old, new = room.program.flip.rows, room.inverses[at], room.inverses[n]
    points, column, d = room.moments.points, room.column, room.moments.points.shape[1]
    for b in range(d):
        room.bases[n, b] = room.bases[at, b]
        points[n, b] = points[at, b] + length * old[b, i]
        total = 0.0
        for c in range(d):
            total += rows[entering, c] * old[c, b]
        column[b] = total
    room.bases[n, i] = entering
    factor = 1.0 / column[i]
    room.area[n] = room.area[at] * abs(column[i])
    room.turned[n] = room.turned[at] + (room.slant[at] + 2.0 * d * ROUND) * abs(factor)
    for c in range(d):
        new[c, i] = old[c, i] * factor
        for b in range(d):
            if b != i:
                new[c, b] = old[c, b] - column[b] * new[c, i]
