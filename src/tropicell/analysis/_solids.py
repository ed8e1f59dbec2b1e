"""Volumes and centroids of simple polytopes with three or four inputs, polygon by polygon.

As in `_moments`, pyramids go from a corner over all facets that do not contain it; in 4-D from a
corner of such a facet, its apex, over its own facets in turn. What remains are polygons, each in
the plane on which one row g (3-D) or two rows g and h (4-D) are 0. Seen along the other
coordinates, a polygon is its shadow in two coordinates, and its area is that of the shadow divided
by the number g_k, or the minor g_k h_l - g_l h_k, of the coordinates that were left out (rows have
length 1; the sine of the angle between g and h cancels with a height). So with the largest of them

    6 V = Σ s_g(first) 2 shadow / |g_k|,
    24 V = Σ (s_g(first) s_h(apex of g) + s_h(first) s_g(apex of h)) 2 shadow / |minor|

over facets, and over pairs of them; all summands are positive. Corners on a facet are the bits of a
number, so the corners of a polygon, and the ends of an edge, are bits that two or three numbers
have in common.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray, IntArray
from tropicell._runtime.jit import bit_count, kernel, lowest_bit
from tropicell.geometry.rounding import ROUND

#: Polytopes with so many corners have a bit for each.
MOST_CORNERS = 64

#: Corners that a processor looks at together.
_VECTOR = 4

_ONE = np.uint64(1)
_NONE = np.uint64(0)


class SolidRoom(NamedTuple):
    """What one thread needs.

    Attributes
    ----------
    points : ndarray, shape (4, corners)
        Coordinates of the corners, scaled; later relative to the first one. In 3-D the last are 0.
    values : ndarray, shape (facets, corners)
        The rows of the facets at the corners; 0 where they are so small that this is meant.
    near : ndarray, shape (corners,)
        What counts as 0 at a corner.
    corners : ndarray of uint64, shape (facets,)
        The corners on each facet, as bits.
    tight : ndarray of uint64, shape (corners,)
        The facets through each corner, as bits.
    apex : ndarray, shape (facets,)
        One of the corners on a facet, if possible at the end of an edge from the first corner of
        all: few other facets do not contain it.
    shadow, whole : ndarray, shape (inputs,)
        Sums of the points of chains times their weights, for a polygon and the polytope.
    """

    points: FloatArray
    values: FloatArray
    near: FloatArray
    corners: NDArray[np.uint64]
    tight: NDArray[np.uint64]
    apex: IntArray
    shadow: FloatArray
    whole: FloatArray


def solid_room(dimension: int, facets: int, free: Any = lambda array: array) -> SolidRoom:
    """Room for polytopes; for `free` see `tropicell._runtime.memory.Blueprint`."""
    return SolidRoom(
        points=np.zeros((4, MOST_CORNERS)),
        values=free(np.zeros((facets, MOST_CORNERS))),
        near=free(np.zeros(MOST_CORNERS)),
        corners=np.zeros(facets, np.uint64),
        tight=np.zeros(MOST_CORNERS, np.uint64),
        apex=np.zeros(facets, np.int64),
        shadow=free(np.zeros(dimension)),
        whole=free(np.zeros(dimension)),
    )


@kernel(inner=True)
def find_corners(rows: Any, room: Any, n: int, m: int, rounded: float, apart: float) -> bool:
    """Which corners lie on which facets; False if it is not clearly d facets for each corner.

    A row is 0 at a corner if it is at most `rounded` times the size of the corner's coordinates,
    and not if it is larger than that divided by `apart`.
    """
    points, near, tight, d = room.points, room.near, room.tight, len(room.whole)
    x, y, z, w = points[0], points[1], points[2], points[3]
    for i in range(n):
        near[i] = rounded * (1.0 + (abs(x[i]) + abs(y[i])) + (abs(z[i]) + abs(w[i])))
    # Whole vectors of corners: some that are there twice, and lie on nothing.
    whole = (n + _VECTOR - 1) // _VECTOR * _VECTOR
    for i in range(n, whole):
        x[i], y[i], z[i], w[i], near[i] = x[0], y[0], z[0], w[0], -1.0
    for i in range(whole):
        tight[i] = _NONE
    far, doubtful = 1.0 / apart, _NONE
    for f in range(m):
        value = room.values[f]
        a, b, c = rows[f, 0], rows[f, 1], rows[f, 2]
        e = rows[f, 3] if d == 4 else 0.0
        offset = rows[f, d]
        bits, facet = _NONE, _ONE << np.uint64(f)
        for i in range(whole):
            found = (offset + (a * x[i] + b * y[i])) + (c * z[i] + e * w[i])
            on = abs(found) <= near[i]
            bits |= np.uint64(on) << np.uint64(i)
            tight[i] |= facet if on else _NONE
            doubtful |= np.uint64(not (on or found > far * near[i]))
            value[i] = 0.0 if on else found
        room.corners[f] = bits
    strange = 0
    for i in range(n):
        strange |= bit_count(tight[i]) ^ d
    return bool(doubtful == _NONE and strange == 0)


@kernel(inner=True)
def weigh_polygons(rows: Any, room: Any, n: int, m: int, centred: bool) -> tuple[float, float]:
    """The volume of a polytope times d!, and about how much rounding makes of it.

    0.0 if its faces are not those of a simple polytope. If centroids are wanted, ``room.whole``
    gets d + 1 times the first moments, relative to the first corner, in the same measure.
    """
    points, corners, values, d = room.points, room.corners, room.values, len(room.whole)
    reach = 1.0
    for f in range(m):
        reach = max(reach, abs(rows[f, d]))
    error, spread = 4 * ROUND * reach, _centre(room, n)
    for c in range(d):
        room.whole[c] = 0.0
    weight, doubt = 0.0, 0.0
    if d == 3:
        for g in range(m):
            factor = values[g, 0]
            if factor == 0.0:
                continue
            k = 0
            for c in range(1, 3):
                k = c if abs(rows[g, c]) > abs(rows[g, k]) else k
            axes = (k + 1) % 3, (k + 2) % 3
            size, edges = _shadow(room, (m, g, g), corners[g], axes, centred)
            if edges == 0:
                return 0.0, 0.0
            share = 1.0 / abs(rows[g, k])
            weight += factor * size * share
            wrong = 4 * ROUND * size + error * spread * edges
            doubt += (error * size + factor * wrong) * share
            if centred:
                apex = lowest_bit(corners[g])
                for c in range(d):
                    room.whole[c] += factor * share * (room.shadow[c] + size * points[c, apex])
        return weight, doubt
    if not _choose_apexes(room, m):
        return 0.0, 0.0
    tight = room.tight
    outside = ~_NONE >> np.uint64(64 - m) & ~tight[0]
    first = outside
    while first != _NONE:  # a facet that does not contain the first corner of all
        g = lowest_bit(first)
        first &= first - _ONE
        a = room.apex[g]
        # Another one like it, each pair once; or one through that corner, but not through the apex.
        second = first | ~(outside | tight[a]) & (~_NONE >> np.uint64(64 - m))
        while second != _NONE:
            h = lowest_bit(second)
            second &= second - _ONE
            polygon = corners[g] & corners[h]
            if polygon == _NONE:
                continue
            b = room.apex[h]
            one, other = values[g, 0] * values[h, a], values[h, 0] * values[g, b]
            factor = one + other
            if factor == 0.0:
                continue
            minor, axes = _largest_minor(rows[g], rows[h])
            if centred:
                size, edges = _shadow(room, (m, g, h), polygon, axes, centred)
            elif bit_count(polygon) <= 4:
                size, edges = _small_shadow(room, polygon, axes)
            else:
                size, edges = _large_shadow(room, (g, h), polygon, axes)
            if edges == 0 or minor == 0.0:
                return 0.0, 0.0
            share = 1.0 / minor
            weight += factor * size * share
            heights = values[g, 0] + values[h, a] + values[h, 0] + values[g, b]
            wrong = 4 * ROUND * size * share + error * spread * edges
            doubt += (error * heights * size + factor * wrong) * share
            if centred:
                ground = lowest_bit(polygon)
                for c in range(d):
                    middle = factor * points[c, ground] + one * points[c, a] + other * points[c, b]
                    room.whole[c] += share * (factor * room.shadow[c] + size * middle)
    return weight, doubt


@kernel(inner=True, inlined=True)
def _centre(room: Any, n: int) -> float:
    """Make coordinates relative to the first corner; returns about how far the others are."""
    points, sizes = room.points, room.near
    x, y, z, w = points[0], points[1], points[2], points[3]
    a, b, c, d = x[0], y[0], z[0], w[0]
    for i in range(n):
        x[i] -= a
        y[i] -= b
        z[i] -= c
        w[i] -= d
    for i in range(n):
        sizes[i] = (abs(x[i]) + abs(y[i])) + (abs(z[i]) + abs(w[i]))
    one, other = sizes[0], sizes[n - 1]
    for i in range((n + 1) // 2):  # two at a time do not wait for each other
        one, other = max(one, sizes[i]), max(other, sizes[n - 1 - i])
    return float(max(one, other))


@kernel(inner=True, inlined=True)
def _choose_apexes(room: Any, m: int) -> bool:
    """An apex for every facet of a polytope in 4-D; False if there is none."""
    corners = room.corners
    # Corners that lie on one, two, three facets of the first corner, at least.
    once, twice, thrice = _NONE, _NONE, _NONE
    for f in range(m):
        if corners[f] & _ONE != _NONE:
            thrice |= twice & corners[f]
            twice |= once & corners[f]
            once |= corners[f]
    near = thrice & ~_ONE
    for f in range(m):
        if corners[f] == _NONE:
            return False
        likely = corners[f] & near
        room.apex[f] = lowest_bit(likely if likely != _NONE else corners[f])
    return True


@kernel(inner=True, inlined=True)
def _largest_minor(g: Any, h: Any) -> tuple[float, tuple[int, int]]:
    """The largest minor of two rows, and the coordinates that are no part of it."""
    a, b, c, d = g[0], g[1], g[2], g[3]
    p, q, r, s = h[0], h[1], h[2], h[3]
    best, i, j = abs(a * q - b * p), 2, 3
    one = abs(a * r - c * p)
    best, i, j = (one, 1, 3) if one > best else (best, i, j)
    one = abs(a * s - d * p)
    best, i, j = (one, 1, 2) if one > best else (best, i, j)
    one = abs(b * r - c * q)
    best, i, j = (one, 0, 3) if one > best else (best, i, j)
    one = abs(b * s - d * q)
    best, i, j = (one, 0, 2) if one > best else (best, i, j)
    one = abs(c * s - d * r)
    best, i, j = (one, 0, 1) if one > best else (best, i, j)
    return best, (i, j)


@kernel(inner=True, inlined=True)
def _small_shadow(room: Any, polygon: Any, axes: Any) -> tuple[float, int]:
    """The same as `_shadow`, for at most four corners and without moments.

    A triangle is a quadrilateral whose third corner is there twice. With an edge between corners
    that lie on a third facet in common, there are four of them, and the two pairs of corners
    without one are the diagonals: twice the area is their cross product.
    """
    x, y, tight = room.points[axes[0]], room.points[axes[1]], room.tight
    p = np.uint64(lowest_bit(polygon))
    rest = polygon & (polygon - _ONE)
    q = np.uint64(lowest_bit(rest if rest != _NONE else polygon))
    rest &= rest - _ONE
    few = rest == _NONE
    r = np.uint64(lowest_bit(polygon if few else rest))
    rest &= rest - _ONE
    three = rest == _NONE
    s = r if three else np.uint64(lowest_bit(rest))
    on_p, on_q, on_r, on_s = tight[p], tight[q], tight[r], tight[s]
    pq, rs = bit_count(on_p & on_q), bit_count(on_r & on_s)
    pr, qs = bit_count(on_p & on_r), bit_count(on_q & on_s)
    ps, qr = bit_count(on_p & on_s), bit_count(on_q & on_r)
    # Which pair has no edge: with q, with r or with s (the last two are one corner of a triangle).
    by_q, by_r, by_s = (pq == 2) & (rs == 2), (pr == 2) & (qs == 2), (ps == 2) & (qr == 2)
    cycle = (pq + rs + pr + qs + ps + qr == 16) & (int(by_q) + int(by_r) + int(by_s) == 1)
    cycle |= three & (pq == 3) & (pr == 3) & (qr == 3)
    qx, qy, rx, ry, sx, sy = x[q], y[q], x[r], y[r], x[s], y[s]
    if by_q:
        qx, qy, rx, ry = rx, ry, qx, qy
    elif by_s:
        rx, ry, sx, sy = sx, sy, rx, ry
    size = abs((rx - x[p]) * (sy - qy) - (ry - y[p]) * (sx - qx))
    return size, (3 if three else 4) if cycle and not few else 0


@kernel(inner=True, inlined=True)
def _large_shadow(room: Any, faces: Any, polygon: Any, axes: Any) -> tuple[float, int]:
    """The same as `_shadow` without moments, in a walk around the polygon."""
    x, y, tight, corners = room.points[axes[0]], room.points[axes[1]], room.tight, room.corners
    ours = ~(_ONE << np.uint64(faces[0]) | _ONE << np.uint64(faces[1]))
    apex = np.uint64(lowest_bit(polygon))
    ax, ay, bx, by = x[apex], y[apex], 0.0, 0.0
    at, edge = apex, tight[apex] & ours
    edge &= ~edge + _ONE
    size, count = 0.0, int(bit_count(polygon))
    for steps in range(1, count + 1):
        end = polygon & corners[np.uint64(lowest_bit(edge))] & ~(_ONE << at)
        if end == _NONE or end & (end - _ONE) != _NONE:
            return 0.0, 0
        at = np.uint64(lowest_bit(end))
        if (at == apex) != (steps == count):
            return 0.0, 0
        cx, cy = x[at] - ax, y[at] - ay
        size += abs(bx * cy - cx * by)
        bx, by = cx, cy
        edge ^= tight[at] & ours
    return size, count


@kernel(inner=True, inlined=True)
def _shadow(room: Any, faces: Any, polygon: Any, axes: Any, centred: bool) -> tuple[float, int]:
    """Twice the area of a polygon's shadow in two coordinates, and how many edges it has.

    Triangles go from its first corner to all edges; those with that corner, and facets that do not
    meet it, have triangles without area, so that nothing has to be guessed. 0 edges: it is
    no polygon. If centroids are wanted, ``room.shadow`` gets the ends of the edges times the
    triangles' areas.

    Parameters
    ----------
    faces : tuple
        How many facets there are, and the two that all of the polygon lies on.
    """
    points, corners, d = room.points, room.corners, len(room.whole)
    m, g, h = faces
    x, y = points[axes[0]], points[axes[1]]
    apex = lowest_bit(polygon)
    ax, ay = x[apex], y[apex]
    size, edges, strange = 0.0, 0, _NONE
    if centred:
        for c in range(d):
            room.shadow[c] = 0.0
    for k in range(m):
        edge = polygon & corners[k]
        edge = _NONE if (k == g) | (k == h) else edge
        rest = edge & (edge - _ONE)
        edges += edge != _NONE
        strange |= rest & (rest - _ONE) | np.uint64((edge != _NONE) & (rest == _NONE))
        u = lowest_bit(edge) if edge != _NONE else apex
        v = lowest_bit(rest) if rest != _NONE else apex
        area = abs((x[u] - ax) * (y[v] - ay) - (x[v] - ax) * (y[u] - ay))
        size += area
        if centred:
            for c in range(d):
                room.shadow[c] += area * (points[c, u] + points[c, v])
    return size, edges if strange == _NONE and edges == bit_count(polygon) else 0
