"""Lengths, areas, volumes and centroids of many regions, compiled.

Polytopes with three and more inputs: from a corner of a polytope, its apex, go pyramids over all
facets that do not contain it, and so on down to points. That is a sum over chains of faces, each a
simplex. With ``s_g(v)`` the value of the row of facet g at a corner v and ``A_v`` the rows that are
0 there, a simplex that ends at v has d! times the volume ``Π s_g(apex) / |det A_v|``: one factor
for each face of the chain, from its facet g and the apex of the face before it. So a face F has the
weight

    W(v) = 1 / |det A_v|,    W(F) = Σ s_g(apex of F) W(F ∩ g)

over its facets F ∩ g without the apex. All summands are positive; each face is worked out once,
however many chains go through it. (All corners must lie on d facets only.)
With three and four inputs most polytopes are small, and `_solids` is faster.
Where corners lie on more facets, as in networks without biases, the pyramids are followed one by
one, as in the cells engine.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray, IntArray
from tropicell._runtime.jit import kernel, lowest_bit
from tropicell.analysis._solids import (
    MOST_CORNERS,
    SolidRoom,
    find_corners,
    solid_room,
    weigh_polygons,
)
from tropicell.engines.cells._volume import measure_fan
from tropicell.geometry.rounding import ROUND
from tropicell.network._layer_maps import LayerMaps, enter_layer, layer_maps
from tropicell.network.flat import FlatNetwork

#: A corner lies on a row if its value is less than this part of that of the nearest other row.
_APART = 1e-3

#: The row is good enough if it is even less than this part of it, or what rounding makes of 0.
_ACCURATE, _ROUNDED = 1e-10, 2.0**-44

#: What rounding may make of a weight by polygons: this part of it.
_DOUBT = 1e-11

#: Polytopes with so many facets have a bit for each.
MOST_FACETS = 60

#: Faces of one dimension that a polytope may have.
MOST_FACES = 1 << 17

#: Places in the table for each corner: there are fewer faces of one dimension than half of that.
_PER_CORNER = 32

#: With so few facets the place of a face in the table is the number that its bits make.
_DIRECT = 13

_ONE = np.uint64(1)
_NONE = np.uint64(0)


@kernel(allocates=True)
def _is_bounded(
    corners: NDArray[np.float64], first: int, last: int
) -> bool:  # pragma: no cover - compiled
    """Whether there are enough corners, and none of them is a ray."""
    d = corners.shape[1] - 1
    bounded = last - first > d
    for i in range(first, last):
        bounded = bounded and corners[i, d] != 0.0
    return bool(bounded)


@kernel(allocates=True)
def segments(
    corners: NDArray[np.float64],
    ends: NDArray[np.int64],
    begin: int,
    end: int,
    sizes: NDArray[np.float64],
    centroids: NDArray[np.float64],
) -> None:  # pragma: no cover - compiled
    """Lengths and middles of the bounded regions from `begin` to `end`."""
    for region in range(begin, end):
        first, last = ends[region - 1] if region else 0, ends[region]
        if _is_bounded(corners, first, last):
            low, high = corners[first, 0], corners[first, 0]
            for i in range(first + 1, last):
                low, high = min(low, corners[i, 0]), max(high, corners[i, 0])
            sizes[region], centroids[region, 0] = high - low, low + (high - low) / 2


@kernel(allocates=True)
def polygons(
    corners: NDArray[np.float64],
    ends: NDArray[np.int64],
    begin: int,
    end: int,
    sizes: NDArray[np.float64],
    centroids: NDArray[np.float64],
) -> None:  # pragma: no cover - compiled
    """Areas and centroids of the bounded regions from `begin` to `end`.

    Shoelace formula relative to the first corner, which keeps it exact for tiny polygons.
    """
    for region in range(begin, end):
        first, last = ends[region - 1] if region else 0, ends[region]
        if not _is_bounded(corners, first, last):
            continue
        x, y = corners[first, 0], corners[first, 1]
        area, cx, cy, mx, my = 0.0, 0.0, 0.0, 0.0, 0.0
        for i in range(first, last):
            j = i + 1 if i + 1 < last else first
            ax, ay = corners[i, 0] - x, corners[i, 1] - y
            bx, by = corners[j, 0] - x, corners[j, 1] - y
            cross = ax * by - ay * bx
            area += cross / 2
            cx, cy = cx + (ax + bx) * cross, cy + (ay + by) * cross
            mx, my = mx + ax, my + ay
        if area == 0.0:
            cx, cy = mx / (last - first), my / (last - first)
        else:
            cx, cy = cx / (6 * area), cy / (6 * area)
        sizes[region] = abs(area)
        centroids[region, 0], centroids[region, 1] = x + cx, y + cy


class MomentRoom(NamedTuple):
    """What one thread needs for polytopes.

    Attributes
    ----------
    maps : LayerMaps
    pieces : ndarray of uint8, shape (neurons,)
        The pattern that the maps belong to.
    lines : ndarray, shape (lines, inputs + 1)
        The rows of all lines, with slopes of length 1, as they were when they were last needed.
    lines_of, layers_of : ndarray, shape (lines,) and (layers,)
        For which maps of its layer each of them was written, and which ones these are now.
    rows : ndarray, shape (facets, inputs + 1)
    values : ndarray, shape (corners, facets)
        The rows at the corners.
    points : ndarray, shape (corners, inputs)
        Relative to the first one, scaled.
    tight : ndarray of uint64, shape (corners,)
        The facets that each corner lies on, as bits.
    square : ndarray, shape (inputs, inputs)
    faces : ndarray of uint64, shape (2, faces)
        The faces of one dimension and of the next: the facets that they lie on.
    apex, children : ndarray, shape (2, faces)
        Their first corners, and how many faces of the dimension below they have.
    weight, doubt : ndarray, shape (2, faces)
        Weights, and about how much rounding makes of them.
    moment : ndarray, shape (2, faces, inputs)
        Sums of the points of chains times their weights.
    table, stamps, turn : ndarray
        Where a face is found, and when that was written; how often something was looked for.
    links : ndarray
        For each face and each of its facets the face of the next dimension that leaves it out.
    order, fan : ndarray
        For polytopes with corners on more facets: all corners, and those of a face at each level.
    solid : SolidRoom
    """

    maps: LayerMaps
    pieces: NDArray[np.uint8]
    lines: FloatArray
    lines_of: IntArray
    layers_of: IntArray
    rows: FloatArray
    values: FloatArray
    points: FloatArray
    tight: NDArray[np.uint64]
    square: FloatArray
    faces: NDArray[np.uint64]
    apex: IntArray
    children: IntArray
    weight: FloatArray
    doubt: FloatArray
    moment: FloatArray
    table: IntArray
    stamps: IntArray
    turn: IntArray
    links: IntArray
    order: IntArray
    fan: IntArray
    solid: SolidRoom


def moment_room(
    flat: FlatNetwork, corners: int, faces: int, free: Any = lambda array: array
) -> MomentRoom:
    """Room for polytopes with so many corners and faces of a dimension.

    For `free` see `tropicell._runtime.memory.Blueprint`.
    """
    d = flat.dimension
    size = 1 << max(_DIRECT, (4 * faces).bit_length())
    return MomentRoom(
        maps=layer_maps(d, flat.maps.row_start, exact=False, free=free),
        pieces=np.zeros(flat.neurons, np.uint8),
        lines=free(np.zeros((len(flat.lines.line_row), d + 1))),
        lines_of=np.full(len(flat.lines.line_row), -1),
        layers_of=np.zeros(flat.depth + 1, np.int64),
        rows=free(np.zeros((MOST_FACETS, d + 1))),
        values=free(np.zeros((corners, MOST_FACETS))),
        points=free(np.zeros((corners, d))),
        tight=np.zeros(corners, np.uint64),
        square=free(np.zeros((d, d))),
        faces=np.zeros((2, faces), np.uint64),
        apex=np.zeros((2, faces), np.int64),
        children=np.zeros((2, faces), np.int64),
        weight=free(np.zeros((2, faces))),
        doubt=free(np.zeros((2, faces))),
        moment=free(np.zeros((2, faces, d))),
        table=np.zeros(size, np.int64),
        stamps=np.zeros(size, np.int64),
        turn=np.zeros(1, np.int64),
        links=np.zeros(faces * d, np.int64),
        order=np.zeros(corners, np.int64),
        fan=np.zeros((d + 3, corners), np.int64),
        solid=solid_room(d, MOST_FACETS, free),
    )


@kernel
def polytopes(
    flat: Any, first_line: int, regions: Any, corners: Any, facets: Any, part: Any, found: Any
) -> None:
    """Volumes and centroids of some bounded regions; nan where this is not the way to find them.

    Parameters
    ----------
    flat : FlatNetwork
    first_line : int
        The first line of a neuron.
    regions : tuple
        Packed patterns, bits of a neuron; for each line from the first one its neuron and its
        breakpoint.
    corners, facets : tuple
        Values and ends of `Regions.corners` and `Regions.facet_lines`.
    part : tuple
        Which regions (the first one, and the one after the last); whether centroids are wanted;
        room.
    found : tuple
        Gets sizes, centroids, and about how much rounding makes of the sizes.
    """
    words, bits, neuron, breakpoint = regions
    points, ends = corners
    lines, line_ends = facets
    first, last, centred, room = part
    sizes, centroids, doubts = found
    room.maps.changes[:] = -1
    scale, d = flat.lines.scale, flat.lines.dimension
    unit = 1.0
    for c in range(d):
        unit *= scale[c] * (c + 1)
    loaded = -1
    for region in range(first, last):
        begin, end = ends[region - 1] if region else 0, ends[region]
        if not _is_bounded(points, begin, end):
            continue
        _load(flat, words, (region, loaded), bits, room)
        loaded = region
        sizes[region] = np.nan
        start, stop = line_ends[region - 1] if region else 0, line_ends[region]
        n, m = end - begin, stop - start
        if m > MOST_FACETS or n > len(room.points) or n > room.faces.shape[1]:
            continue
        for f in range(m):
            line, piece = int(lines[start + f]), 1
            if line >= first_line:
                piece = int(room.pieces[neuron[line - first_line]]) - breakpoint[line - first_line]
            _take_row(flat, line, 1.0 if piece > 0 else -1.0, room, f)
        if d <= 4 and n <= MOST_CORNERS:
            solid = room.solid
            _take_corners(points, begin, n, scale, solid)
            if find_corners(room.rows, solid, n, m, _ROUNDED, _APART):
                weight, doubt = weigh_polygons(room.rows, solid, n, m, centred)
                if weight > 0.0 and doubt <= _DOUBT * weight:
                    sizes[region], doubts[region] = weight / unit, doubt / unit
                    if centred:
                        for c in range(d):
                            centre = solid.whole[c] / ((d + 1) * weight)
                            centroids[region, c] = points[begin, c] + centre / scale[c]
                    continue
        for i in range(n):
            for c in range(d):
                room.points[i, c] = points[begin + i, c] * scale[c]
        weight = _weigh_any(room, n, m, centred)
        if not weight > 0.0:
            continue
        sizes[region], doubts[region] = weight / unit, room.doubt[0, 0] / unit
        if centred:
            for c in range(d):
                centre = room.moment[0, 0, c] / ((d + 1) * weight)
                centroids[region, c] = points[begin, c] + centre / scale[c]


@kernel(late=True)
def _weigh_any(room: Any, n: int, m: int, centred: bool) -> float:
    """The weight of a polytope; its moment is the first one in the room. 0.0: that can't be said.

    Late, since in 3-D and 4-D nearly all are weighed by polygons.
    """
    if not _find_facets(room, n, m):
        return _follow(room, n, m) if _find_all_facets(room, n, m) else 0.0
    weight, at = weigh(room, n, m, centred)
    room.doubt[0, 0] = room.doubt[at, 0]
    for c in range(room.moment.shape[2]):
        room.moment[0, 0, c] = room.moment[at, 0, c]
    return weight


@kernel(inner=True)
def _load(flat: Any, words: Any, which: Any, bits: int, room: Any) -> None:
    """Bring the maps of all layers to a pattern; layers before the first change stay.

    ``which`` says the number of the pattern, and that of the one before (-1: none).
    """
    maps, pieces = flat.maps, room.pieces
    depth, base = flat.lines.depth, maps.row_start[1]
    region, loaded = which
    changed = depth if loaded >= 0 else 0
    mask = (_ONE << np.uint64(bits)) - _ONE
    for place in range(words.shape[1]):
        different = words[region, place]
        if loaded >= 0:
            different ^= words[loaded, place]
        else:
            different = ~_NONE
        while different != _NONE:
            neuron = 64 * place + lowest_bit(different)
            neuron = neuron if bits == 1 else neuron // bits  # a division takes long
            different &= different - _ONE
            if neuron >= len(pieces):
                break
            at, shift = (neuron * bits) >> 6, np.uint64((neuron * bits) & 63)
            piece = words[region, at] >> shift
            if shift + np.uint64(bits) > np.uint64(64):
                piece |= words[region, at + 1] << (np.uint64(64) - shift)
            pieces[neuron] = piece & mask
            layer = 1
            while changed == depth and neuron >= maps.row_start[layer + 1] - base:
                layer += 1
            changed = min(changed, layer)
    for layer in range(changed, depth):
        enter_layer(maps, room.maps, layer, pieces, maps.row_start[layer] - base, False)
        room.layers_of[layer + 1] += 1


@kernel(inner=True, inlined=True)
def _take_row(flat: Any, line: int, sign: float, room: Any, f: int) -> None:
    """The row of a facet, positive inside, with slopes of length 1."""
    layer, row, own = flat.lines.line_layer[line], room.rows[f], room.lines[line]
    if room.lines_of[line] != room.layers_of[layer]:
        room.lines_of[line] = room.layers_of[layer]
        _write_line(flat, line, room)
    for c in range(len(row)):
        row[c] = sign * own[c]


@kernel(inner=True)
def _write_line(flat: Any, line: int, room: Any) -> None:
    """The row of a line where the maps of the layers are as they are now."""
    row, before, d = room.lines[line], room.maps.before, room.points.shape[1]
    at = flat.lines.line_row[line]
    for c in range(d + 1):
        row[c] = flat.lines.domain_rows[line, c] if at < 0 else before[c, at]
    row[d] -= flat.lines.line_at[line]
    square = 0.0
    for c in range(d):
        square += row[c] * row[c]
    share = 1.0 / np.sqrt(square) if square > 0.0 else np.nan
    for c in range(d + 1):
        row[c] *= share


@kernel(inner=True, inlined=True)
def _take_corners(points: Any, begin: int, n: int, scale: Any, solid: Any) -> None:
    """The corners of a polytope in 3-D or 4-D, scaled, coordinate by coordinate."""
    x, y, z, w = solid.points[0], solid.points[1], solid.points[2], solid.points[3]
    p, q, r = scale[0], scale[1], scale[2]
    s = scale[3] if len(scale) > 3 else 0.0  # in 3-D there is a 1 behind the coordinates
    for i in range(n):
        point = points[begin + i]
        x[i], y[i], z[i], w[i] = p * point[0], q * point[1], r * point[2], s * point[3]


@kernel(inner=True)
def _find_facets(room: Any, n: int, m: int) -> bool:
    """Which corners lie on which facets; False if it is not clearly d facets for each corner."""
    d = room.points.shape[1]
    values, rows = room.values, room.rows
    for i in range(n):
        for f in range(m):
            value = rows[f, d]
            for c in range(d):
                value += rows[f, c] * room.points[i, c]
            values[i, f] = value
    for i in range(n):
        bits, largest, reach = _NONE, 0.0, 1.0
        for c in range(d):
            reach += abs(room.points[i, c])
        for _ in range(d):
            best, least = -1, np.inf
            for f in range(m):
                if bits >> np.uint64(f) & _ONE == _NONE and abs(values[i, f]) < least:
                    best, least = f, abs(values[i, f])
            if best < 0:
                return False
            bits |= _ONE << np.uint64(best)
            largest = least
        share = _APART if largest <= _ROUNDED * reach else _ACCURATE
        for f in range(m):
            if bits >> np.uint64(f) & _ONE == _NONE and not values[i, f] * share > largest:
                return False
        room.tight[i] = bits
    _see_from_first(room, n)
    return True


@kernel(inner=True)
def _see_from_first(room: Any, n: int) -> None:
    """Points relative to the first one."""
    for i in range(n - 1, -1, -1):
        for c in range(room.points.shape[1]):
            room.points[i, c] -= room.points[0, c]


@kernel(inner=True)
def _find_all_facets(room: Any, n: int, m: int) -> bool:
    """Which corners lie on which facets, of whatever number; False if that is not clear.

    Needs the values that `_find_facets` has written.
    """
    d = room.points.shape[1]
    for i in range(n):
        bits, count, reach = _NONE, 0, 1.0
        for c in range(d):
            reach += abs(room.points[i, c])
        for f in range(m):
            value = abs(room.values[i, f])
            if value <= _ROUNDED * reach:
                bits |= _ONE << np.uint64(f)
                count += 1
            elif not value * _APART > _ROUNDED * reach:
                return False
        if count < d:
            return False
        room.tight[i] = bits
    _see_from_first(room, n)
    return True


@kernel(inner=True)
def _follow(room: Any, n: int, m: int) -> float:
    """The weight of any polytope, pyramid by pyramid; its moment is the first one in the room."""
    d, whole, reach, surface = room.points.shape[1], 1.0, 1.0, 0.0
    moment = room.moment[0, 0]
    for c in range(d):
        moment[c] = 0.0
        whole *= c + 1
    for f in range(m):
        reach = max(reach, abs(room.rows[f, d]))
    for c in range(d):  # of the box around it: errors of corners move that
        side = 1.0
        for other in range(d):
            if other != c:
                low, high = 0.0, 0.0
                for i in range(n):
                    x = room.points[i, other]
                    low, high = min(low, x), max(high, x)
                side *= high - low
        surface += side
    for i in range(n):
        room.order[i] = i
    corners = room.order[:n]
    weight = whole * measure_fan(
        room.points, room.tight, corners, m, False, room.fan, room.square, moment
    )
    for c in range(d):
        moment[c] *= whole * (d + 1)
    room.doubt[0, 0] = whole * 8.0 * d * ROUND * reach * surface
    return weight


@kernel(inner=True)
def weigh(room: Any, n: int, m: int, centred: bool) -> tuple[float, int]:
    """The weight of a polytope, and where its moments are; 0.0 if its faces do not fit."""
    d = room.points.shape[1]
    count, now, reach = n, 0, 1.0
    for f in range(m):
        reach = max(reach, abs(room.rows[f, d]))
    for i in range(n):
        room.faces[0, i], room.apex[0, i] = room.tight[i], i
        area = determinant(room, room.tight[i])
        if not area > 0.0:
            return 0.0, 0
        room.weight[0, i] = 1.0 / area
        room.doubt[0, i] = 2 * d * ROUND / area / area
        if centred:
            for c in range(d):
                room.moment[0, i, c] = room.points[i, c] / area
    size = places_for(room, n)
    for level in range(d):
        room.turn[0] += 1
        after = join_faces(room, count, now, (m, size), room.turn[0])
        if after == 0 or (level == d - 1 and after != 1):
            return 0.0, 0
        if level == 0:
            for j in range(after):  # an edge has two ends
                if room.children[1 - now, j] != 2:
                    return 0.0, 0
        sum_pyramids(room, count, now, 4 * ROUND * reach, centred)
        if centred:
            for j in range(after):
                a, w = room.apex[1 - now, j], room.weight[1 - now, j]
                for c in range(d):
                    room.moment[1 - now, j, c] += room.points[a, c] * w
        count, now = after, 1 - now
    return room.weight[now, 0], now


@kernel(inner=True)
def places_for(room: Any, n: int) -> int:
    """How much of the table polytopes with n corners use: what is large enough stays near."""
    size = 1 << _DIRECT
    while size < _PER_CORNER * n and 2 * size <= len(room.table):
        size *= 2
    return size


@kernel(inner=True)
def join_faces(room: Any, count: int, now: int, form: Any, stamp: int) -> int:
    """The faces of the next dimension: each lies on one facet less. How many; 0: too many."""
    faces, apex, table, stamps = room.faces, room.apex, room.table, room.stamps
    m, places = form
    then, size = 1 - now, np.uint64(places - 1)
    found, link = 0, 0
    for i in range(count):
        left = faces[now, i]
        while left != _NONE:
            bit = left & (~left + _ONE)
            left ^= bit
            face = faces[now, i] ^ bit
            slot = face
            if m > _DIRECT:
                slot = (face * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20) & size
                while stamps[slot] == stamp and faces[then, table[slot]] != face:
                    slot = slot + _ONE & size
            if stamps[slot] != stamp:
                if found == faces.shape[1] or 2 * found > places:
                    return 0
                stamps[slot], table[slot] = stamp, found
                faces[then, found], apex[then, found] = face, apex[now, i]
                room.children[then, found] = 0
                room.weight[then, found] = 0.0
                room.doubt[then, found] = 0.0
                for c in range(room.moment.shape[2]):
                    room.moment[then, found, c] = 0.0
                found += 1
            at = table[slot]
            room.links[link] = at
            link += 1
            room.children[then, at] += 1
            apex[then, at] = min(apex[then, at], apex[now, i])
    return found


@kernel(inner=True)
def sum_pyramids(room: Any, count: int, now: int, error: float, centred: bool) -> None:
    """Weights of the faces of the next dimension, from those of their facets.

    The value of a row at a corner is off by about `error`.
    """
    then, link, d = 1 - now, 0, room.points.shape[1]
    for i in range(count):
        left, w = room.faces[now, i], room.weight[now, i]
        while left != _NONE:
            g = lowest_bit(left)
            left &= left - _ONE
            at = room.links[link]
            link += 1
            a = room.apex[then, at]
            if room.tight[a] >> np.uint64(g) & _ONE != _NONE:
                continue
            value = room.values[a, g]
            room.weight[then, at] += value * w
            room.doubt[then, at] += value * room.doubt[now, i] + error * w
            if centred:
                for c in range(d):
                    room.moment[then, at, c] += value * room.moment[now, i, c]


@kernel(inner=True)
def determinant(room: Any, tight: Any) -> float:
    """Absolute value of the determinant of some rows' slopes, by elimination."""
    square, d = room.square, room.points.shape[1]
    i = 0
    while tight != _NONE:
        f = lowest_bit(tight)
        tight &= tight - _ONE
        for c in range(d):
            square[i, c] = room.rows[f, c]
        i += 1
    product = 1.0
    for i in range(d):
        pivot = i
        for r in range(i + 1, d):
            if abs(square[r, i]) > abs(square[pivot, i]):
                pivot = r
        if square[pivot, i] == 0.0:
            return 0.0
        if pivot != i:
            for c in range(i, d):
                square[i, c], square[pivot, c] = square[pivot, c], square[i, c]
        product *= square[i, i]
        for r in range(i + 1, d):
            factor = square[r, i] / square[i, i]
            for c in range(i, d):
                square[r, c] -= factor * square[i, c]
    return abs(product)
