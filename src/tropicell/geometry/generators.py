"""Vertices, rays and lineality of a convex cell: the double description method, in integers.

The cell ``{x : a·x + c >= 0}`` is the slice t = 1 of the cone of all (x, t) with ``a·x + c t >= 0``
and ``t >= 0``. Extreme rays of that cone with t > 0 are the cell's vertices, those with t = 0 its
rays; the lineality are directions that lie in the cone both ways.

References
----------
.. [1] K. Fukuda and A. Prodon, "Double description method revisited", 1996.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from math import factorial, gcd, prod

from flint import fmpq, fmpz_mat

from tropicell._runtime.interruption import check
from tropicell.geometry.polyhedra import Row

Vector = tuple[int, ...]


@dataclass(frozen=True)
class Generators:
    """A cell as the convex hull of points plus a cone of rays plus its lineality space.

    Attributes
    ----------
    vertices : list of Vector
        Points, with their common denominator last; in 2-D in counter-clockwise order if there
        are no rays and no lineality.
    rays, lineality : list of Vector
        Directions.
    """

    vertices: list[Vector]
    rays: list[Vector]
    lineality: list[Vector]


def generators(rows: Sequence[Row], dimension: int) -> Generators:
    """All vertices, rays and lineality of a cell.

    Parameters
    ----------
    rows : sequence of Row
        Inequalities ``a·x + c >= 0``.
    dimension : int

    Examples
    --------
    >>> quadrant = generators([(1, 0, 0), (0, 1, 0)], 2)
    >>> quadrant.vertices, sorted(quadrant.rays), quadrant.lineality
    ([(0, 0, 1)], [(0, 1), (1, 0)], [])
    """
    lines, rays = _described(rows, dimension)
    vertices = [ray for ray, _ in rays if ray[-1] > 0]
    directions = [ray[:-1] for ray, _ in rays if ray[-1] == 0]
    if dimension == 2 and not directions and not lines:
        vertices = _counter_clockwise(vertices)
    return Generators(vertices, directions, [line[:-1] for line in lines])


def extreme_rays(rows: Sequence[Row], dimension: int) -> list[tuple[Vector, int]]:
    """Vertices and rays of a cell in homogeneous coordinates, and on which rows each of them lies.

    Parameters
    ----------
    rows : sequence of Row
    dimension : int

    Returns
    -------
    list of tuple
        A vertex with its denominator last, or a ray with 0 last; and a set of bits: the first one
        for infinity, then one for each row.

    Examples
    --------
    >>> extreme_rays([(2, -1), (-1, 3)], 1)
    [((1, 2), 2), ((3, 1), 4)]
    """
    return _described(rows, dimension)[1]


def _described(
    rows: Sequence[Row], dimension: int
) -> tuple[list[Vector], list[tuple[Vector, int]]]:
    """Lines of a cell's cone, and rays with the sets of rows that are zero on them, as bits."""
    size = dimension + 1
    lines: list[Vector] = [tuple(int(i == j) for j in range(size)) for i in range(size)]
    rays: list[tuple[Vector, int]] = []
    at_infinity: Row = (0,) * dimension + (1,)
    for index, row in enumerate([at_infinity, *rows]):
        lines, rays = _add(row, 1 << index, lines, rays)
    return lines, rays


def simplices(
    face: frozenset[int], on: Sequence[frozenset[int]], k: int
) -> Iterator[tuple[int, ...]]:
    """Simplices that a face of dimension k is made of: from one vertex to all sides beyond it.

    Parameters
    ----------
    face : frozenset of int
        The vertices of a face of a polytope, or of the polytope itself.
    on : sequence of frozenset of int
        For every facet of the polytope the vertices that lie on it.
    k : int

    Examples
    --------
    A square is made of two triangles:

    >>> sides = [frozenset(side) for side in ((0, 1), (1, 2), (2, 3), (3, 0))]
    >>> sorted(simplices(frozenset(range(4)), sides, 2))
    [(0, 1, 2), (0, 2, 3)]
    """
    check()
    apex = min(face)
    if k == 0:
        yield (apex,)
        return
    parts = {face & facet for facet in on} - {face}
    largest = [part for part in parts if not any(part < other for other in parts)]
    for side in largest:
        if apex not in side and len(side) >= k:
            for simplex in simplices(side, on, k - 1):
                yield (apex, *simplex)


def volume(rows: Sequence[Row], dimension: int) -> fmpq:
    """The exact volume of a bounded cell.

    Examples
    --------
    >>> volume([(1, 0, 0), (0, 1, 0), (-1, -2, 2)], 2)
    1
    """
    vertices = generators(rows, dimension).vertices
    on = [
        frozenset(i for i, vertex in enumerate(vertices) if _dot(row, vertex) == 0)
        for row in dict.fromkeys(rows)
    ]
    total = fmpq(0)
    for simplex in simplices(frozenset(range(len(vertices))), on, dimension):
        corners = [list(vertices[i]) for i in simplex]
        weight = prod(corner[-1] for corner in corners)
        total += fmpq(abs(int(fmpz_mat(corners).det())), weight)
    return total / factorial(dimension)


def _add(
    row: Row, bit: int, lines: list[Vector], rays: list[tuple[Vector, int]]
) -> tuple[list[Vector], list[tuple[Vector, int]]]:
    """Intersect the cone with one more half-space."""
    crossing = next((i for i, line in enumerate(lines) if _dot(row, line) != 0), None)
    if crossing is not None:
        # A line leaves the half-space: it becomes a ray, and all else is moved into the boundary.
        line = lines[crossing]
        if _dot(row, line) < 0:
            line = tuple(-x for x in line)
        others = [_combine(row, other, line) for i, other in enumerate(lines) if i != crossing]
        moved = [(_combine(row, ray, line), zeros | bit) for ray, zeros in rays]
        return others, [*moved, (line, bit - 1)]  # the line was zero on all earlier rows
    values = [_dot(row, ray) for ray, _ in rays]
    kept = [
        (ray, zeros | bit if value == 0 else zeros)
        for (ray, zeros), value in zip(rays, values, strict=True)
        if value >= 0
    ]
    positive = [i for i, value in enumerate(values) if value > 0]
    negative = [i for i, value in enumerate(values) if value < 0]
    for i in positive:
        check()
        for j in negative:
            common = rays[i][1] & rays[j][1]
            if _adjacent(common, i, j, rays):
                kept.append((_combine(row, rays[j][0], rays[i][0]), common | bit))
    return lines, kept


def _adjacent(common: int, i: int, j: int, rays: list[tuple[Vector, int]]) -> bool:
    """Whether two rays span a face: no third one lies in all the boundaries they share."""
    return not any(common & zeros == common for k, (_, zeros) in enumerate(rays) if k not in (i, j))


def _dot(row: Row, vector: Vector) -> int:
    return sum(a * b for a, b in zip(row, vector, strict=True))


def _combine(row: Row, vector: Vector, positive: Vector) -> Vector:
    """The combination of two vectors that is zero on a row that is positive on the second."""
    up, value = _dot(row, positive), _dot(row, vector)
    mixed = [up * x - value * y for x, y in zip(vector, positive, strict=True)]
    divisor = gcd(*mixed)
    return tuple(mixed) if divisor <= 1 else tuple(x // divisor for x in mixed)


def _counter_clockwise(vertices: list[Vector]) -> list[Vector]:
    """Vertices of a polygon in order, from the lowest (leftmost if there are several)."""

    def height(p: Vector, q: Vector) -> int:
        return p[1] * q[2] - q[1] * p[2] or p[0] * q[2] - q[0] * p[2]

    start = min(vertices, key=cmp_to_key(height))

    def turn(p: Vector, q: Vector) -> int:
        px, py = p[0] * start[2] - start[0] * p[2], p[1] * start[2] - start[1] * p[2]
        qx, qy = q[0] * start[2] - start[0] * q[2], q[1] * start[2] - start[1] * q[2]
        return qx * py - px * qy

    others = [vertex for vertex in vertices if vertex != start]
    return [start, *sorted(others, key=cmp_to_key(turn))]
