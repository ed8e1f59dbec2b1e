"""Volumes of polytopes that are given by their vertices and the facets these lie on.

A polytope is a fan of pyramids from its first vertex over the facets that do not contain it, and
so on down to points: a sum of simplices.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial
from typing import Any

import numpy as np

from tropicell._runtime.jit import bit_count, kernel, lowest_bit
from tropicell.geometry.generators import simplices

_ONE = np.uint64(1)
_NONE = np.uint64(0)


@kernel(inner=True)
def volume(
    points: Any, tight: Any, corners: Any, facets: int, simple: bool, faces: Any, square: Any
) -> float:
    """Volume of a polytope.

    Parameters
    ----------
    points, tight, corners : ndarray
        Points, and for each the bits of the facets that it lies on; which of them are the vertices.
    facets : int
        Number of facets.
    simple : bool
        Whether every vertex lies on d facets only.
    faces : ndarray
        Room for the vertices of the face at each level, and in its last two rows for their number
        and the facet that is next.
    square : ndarray, shape (d, d)
        Room for a matrix.
    """
    return measure_fan(points, tight, corners, facets, simple, faces, square, square[0, :0])


@kernel(inner=True)
def measure_fan(
    points: Any,
    tight: Any,
    corners: Any,
    facets: int,
    simple: bool,
    faces: Any,
    square: Any,
    moment: Any,
) -> float:
    """Volume of a polytope; the integrals of its coordinates are added to `moment`, if it has room.

    For all else see `volume`.
    """
    n, d = len(corners), len(square)
    total = 0.0
    for i in range(n):
        faces[0, i] = corners[i]
    sizes, places = faces[d + 1], faces[d + 2]
    sizes[0], places[0] = n, 0
    level = 0
    scale = 1.0
    for j in range(2, d + 1):
        scale *= j
    while level >= 0:
        size = sizes[level]
        k = d - level
        if k == 0:
            for i in range(d):
                for c in range(d):
                    square[i, c] = points[faces[i + 1, 0], c] - points[faces[0, 0], c]
            part = _determinant(square, d)
            total += part
            for c in range(len(moment)):
                centre = 0.0
                for i in range(d + 1):
                    centre += points[faces[i, 0], c]
                moment[c] += part * centre / ((d + 1) * scale)
            level -= 1
            continue
        f = places[level]
        if f >= facets:
            level -= 1
            continue
        places[level] = f + 1
        bit = _ONE << np.uint64(f)
        if tight[faces[level, 0]] & bit != _NONE:
            continue
        # In a simple polytope every facet that meets a face cuts a facet of the face from it.
        if not simple and not _is_facet(tight, faces[level], size, facets, f, k):
            continue
        count = 0
        for i in range(size):
            if tight[faces[level, i]] & bit != _NONE:
                faces[level + 1, count] = faces[level, i]
                count += 1
        if count == 0:
            continue
        level += 1
        sizes[level], places[level] = count, 0
    return total / scale


@kernel(inner=True)
def volume_3(points: Any, tight: Any, corners: Any, first: Any, ends: Any) -> float:
    """Volume of a simple polytope in three dimensions, from its edges.

    Every edge and a corner of a facet on either side make a triangle: the same fan.

    Parameters
    ----------
    points, tight, corners : ndarray
        See `volume`.
    first, ends : ndarray
        Room for the first vertex of every facet, and for as many numbers as there are vertices.
    """
    n = len(corners)
    for k in range(n - 1, 0, -1):
        at = np.uint64(corners[k])
        on = tight[at]
        while on != _NONE:
            first[np.uint64(lowest_bit(on))] = at
            on &= on - _ONE
    start = np.uint64(corners[0])
    x, y, z = points[start, 0], points[start, 1], points[start, 2]
    total = 0.0
    for i in range(1, n):
        p = np.uint64(corners[i])
        mine, count = tight[p], 0
        # Every pair is written, and stays if the list grows: no jumps.
        for j in range(i + 1, n):
            other = np.uint64(corners[j])
            ends[np.uint64(count)] = other
            count += int(bit_count(mine & tight[other]) >= 2)
        a0, a1, a2 = points[p, 0] - x, points[p, 1] - y, points[p, 2] - z
        for e in range(count):
            q = np.uint64(ends[e])
            # Facets with the first vertex of all on them are seen edge-on from there.
            common = mine & tight[q] & ~tight[start]
            more = common & (common - _ONE) if common != _NONE else _NONE
            b0, b1, b2 = points[q, 0] - x, points[q, 1] - y, points[q, 2] - z
            c0, c1, c2 = a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0
            f = np.uint64(first[np.uint64(lowest_bit(common))] if common != _NONE else 0)
            size = abs(c0 * (points[f, 0] - x) + c1 * (points[f, 1] - y) + c2 * (points[f, 2] - z))
            total += size if common != _NONE else 0.0
            g = np.uint64(first[np.uint64(lowest_bit(more))] if more != _NONE else 0)
            size = abs(c0 * (points[g, 0] - x) + c1 * (points[g, 1] - y) + c2 * (points[g, 2] - z))
            total += size if more != _NONE else 0.0
    return total / 6.0


@kernel(inner=True)
def _is_facet(tight: Any, face: Any, n: int, facets: int, f: int, k: int) -> bool:
    """Whether facet f is the first that cuts this (k - 1)-face from a k-dimensional face."""
    bit = _ONE << np.uint64(f)
    mine = _on(tight, face, n, bit)
    if mine < k or mine == n:
        return False
    for g in range(facets):
        if g == f:
            continue
        other = _ONE << np.uint64(g)
        both, total = 0, 0
        for i in range(n):
            t = tight[face[i]]
            total += t & other != _NONE
            both += t & other != _NONE and t & bit != _NONE
        if both == mine and total < n and (total > mine or g < f):
            return False
    return True


@kernel(inner=True)
def _on(tight: Any, face: Any, n: int, bit: Any) -> int:
    """How many of the vertices of a face lie on a facet."""
    count = 0
    for i in range(n):
        count += tight[face[i]] & bit != _NONE
    return count


@kernel(inner=True)
def _determinant(square: Any, d: int) -> float:
    """Absolute value of the determinant, by elimination in place."""
    product = 1.0
    for i in range(d):
        pivot = i
        for r in range(i + 1, d):
            if abs(square[r, i]) > abs(square[pivot, i]):
                pivot = r
        if square[pivot, i] == 0.0:
            return 0.0
        if pivot != i:
            for c in range(d):
                square[i, c], square[pivot, c] = square[pivot, c], square[i, c]
        product *= square[i, i]
        for r in range(i + 1, d):
            factor = square[r, i] / square[i, i]
            for c in range(i, d):
                square[r, c] -= factor * square[i, c]
    return abs(product)


def polytope_volume(points: Sequence[Sequence[float]], tight: Sequence[int], facets: int) -> float:
    """The same in Python, for any number of facets.

    Examples
    --------
    >>> polytope_volume([[0, 0], [2, 0], [0, 1]], [0b011, 0b101, 0b110], 3)
    1.0
    """
    corners = np.asarray(points, dtype=np.float64)
    d = corners.shape[1]
    on = [frozenset(i for i, t in enumerate(tight) if t >> f & 1) for f in range(facets)]
    sizes = [
        abs(np.linalg.det(corners[list(s[1:])] - corners[s[0]]))
        for s in simplices(frozenset(range(len(corners))), on, d)
    ]
    return float(sum(sizes)) / factorial(d)
