"""Cells in exact integers: double description with a lineality space.

A cell is the cone over it in homogeneous coordinates (x, w), w >= 0: all sums of its rays with
weights >= 0, plus its lineality space. A ray with w > 0 is the vertex x / w, one with w = 0 a
direction. All numbers are Python integers, rows and rays have no common divisor.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd

from flint import fmpz_mat

from tropicell._runtime.interruption import check

Vector = tuple[int, ...]


@dataclass(frozen=True)
class Cone:
    """A full-dimensional cone.

    Attributes
    ----------
    rows, labels : lists
        Inequalities ``row · v >= 0`` and what they are called; only facets are kept.
    rays : list of vectors
        Extreme rays (modulo the lineality space).
    tight : list of int
        For every ray the facets it lies on, as bits.
    lines : list of vectors
        A basis of the lineality space.
    """

    rows: list[Vector]
    labels: list[int]
    rays: list[Vector]
    tight: list[int]
    lines: list[Vector]

    @property
    def pointed(self) -> bool:
        """Whether the cone contains no line."""
        return not self.lines


def whole_space(size: int) -> Cone:
    """All of R^size."""
    lines = [tuple(int(i == j) for j in range(size)) for i in range(size)]
    return Cone([], [], [], [], lines)


def dot(a: Vector, b: Vector) -> int:
    """Inner product."""
    return sum(x * y for x, y in zip(a, b, strict=True))


def reduced(vector: list[int]) -> Vector:
    """The vector divided by its greatest common divisor."""
    divisor = gcd(*vector)
    return tuple(x // divisor for x in vector) if divisor > 1 else tuple(vector)


def _blend(a: int, u: Vector, b: int, v: Vector) -> Vector:
    return reduced([a * x + b * y for x, y in zip(u, v, strict=True)])


def _onto(value: int, vector: Vector, row: Vector, line: Vector) -> Vector:
    """A vector moved along a line, on which the row has a value, to where the row is 0."""
    check()
    return _blend(value, vector, -dot(row, vector), line)


def side(cone: Cone, row: Vector) -> int:
    """Where the cone lies: 1 row >= 0, -1 row <= 0 (0 everywhere included), 0 on both sides."""
    check()
    if any(dot(row, line) for line in cone.lines):
        return 0
    positive = negative = False
    for ray in cone.rays:
        value = dot(row, ray)
        positive |= value > 0
        negative |= value < 0
        if positive and negative:
            return 0
    return 1 if positive else -1


def halves(cone: Cone, row: Vector, label: int) -> tuple[Cone, Cone]:
    """The two parts of a cone on both sides of a row that crosses it."""
    for index, line in enumerate(cone.lines):
        value = dot(row, line)
        if value:
            return _halve_lines(cone, row, label, index, value)
    return _halve_rays(cone, row, label)


def cut(cone: Cone, row: Vector, label: int) -> Cone | None:
    """The part with row >= 0; None if it has no interior."""
    where = side(cone, row)
    if where < 0:
        return None
    return cone if where > 0 else halves(cone, row, label)[0]


def _negative(vector: Vector) -> Vector:
    return tuple(-x for x in vector)


def _halve_lines(cone: Cone, row: Vector, label: int, index: int, value: int) -> tuple[Cone, Cone]:
    """Cut across the lineality space: one line becomes a ray, the rest is moved onto the row."""
    line = cone.lines[index] if value > 0 else _negative(cone.lines[index])
    value = abs(value)
    others = [x for i, x in enumerate(cone.lines) if i != index]
    lines = [_onto(value, x, row, line) for x in others]
    rays = [_onto(value, x, row, line) for x in cone.rays]
    bit = 1 << len(cone.rows)
    tight = [t | bit for t in cone.tight]
    everything = bit - 1
    positive = Cone(
        [*cone.rows, row], [*cone.labels, label], [*rays, line], [*tight, everything], lines
    )
    negative = Cone(
        [*cone.rows, _negative(row)],
        [*cone.labels, -label],
        [*rays, _negative(line)],
        [*tight, everything],
        lines,
    )
    return positive, negative


def _halve_rays(cone: Cone, row: Vector, label: int) -> tuple[Cone, Cone]:
    values = [dot(row, ray) for ray in cone.rays]
    bit = 1 << len(cone.rows)
    on = [(r, t | bit) for r, t, v in zip(cone.rays, cone.tight, values, strict=True) if v == 0]
    above = [i for i, v in enumerate(values) if v > 0]
    below = [i for i, v in enumerate(values) if v < 0]
    size = len(row) - len(cone.lines)
    for i in above:
        check()
        for j in below:
            common = cone.tight[i] & cone.tight[j]
            if _adjacent(cone.tight, i, j, common, size):
                ray = _blend(values[i], cone.rays[j], -values[j], cone.rays[i])
                on.append((ray, common | bit))
    parts = []
    for keep, sign in ((above, 1), (below, -1)):
        both = [(cone.rays[i], cone.tight[i]) for i in keep] + on
        new_row = row if sign > 0 else _negative(row)
        parts.append(
            _only_facets(
                [*cone.rows, new_row],
                [*cone.labels, sign * label],
                [r for r, _ in both],
                [t for _, t in both],
                cone.lines,
            )
        )
    return parts[0], parts[1]


def _adjacent(tight: list[int], i: int, j: int, common: int, size: int) -> bool:
    if common.bit_count() < size - 2:
        return False
    return all(t & common != common for k, t in enumerate(tight) if k not in (i, j))


def bits(number: int) -> Iterator[int]:
    """Places of the ones of a number.

    Examples
    --------
    >>> list(bits(0b1010))
    [1, 3]
    """
    while number:
        low = number & -number
        yield low.bit_length() - 1
        number ^= low


def _only_facets(
    rows: list[Vector], labels: list[int], rays: list[Vector], tight: list[int], lines: list[Vector]
) -> Cone:
    """Drop the inequalities that have become redundant, and renumber the bits."""
    on: list[list[int]] = [[] for _ in rows]
    for k, t in enumerate(tight):
        check()
        for f in bits(t):
            on[f].append(k)
    place: dict[int, int] = {}
    for f, mine in enumerate(on):
        if not mine:
            continue
        check()
        common = tight[mine[0]]
        for k in mine[1:]:
            common &= tight[k]
        # Others that hold all my rays hold more of them, or just these and came first.
        larger = any(len(on[g]) > len(mine) or g < f for g in bits(common) if g != f)
        if not larger:
            place[f] = len(place)
    if len(place) < len(rows):
        tight = [sum(1 << place[f] for f in bits(t) if f in place) for t in tight]
    return Cone([rows[f] for f in place], [labels[f] for f in place], rays, tight, lines)


def polygon(cone: Cone) -> list[int]:
    """Facets of a pointed cone in three dimensions, in counter-clockwise order of the cell."""
    by_facet: list[list[int]] = [[] for _ in cone.rows]
    for k, t in enumerate(cone.tight):
        for f in bits(t):
            by_facet[f].append(k)
    order = [0]
    ray = by_facet[0][1]
    while True:
        following = next(f for f in bits(cone.tight[ray]) if f != order[-1])
        if following == order[0]:
            break
        order.append(following)
        ends = by_facet[following]
        ray = ends[0] if ends[1] == ray else ends[1]
    a, b = cone.rows[order[0]], cone.rows[order[1]]
    meeting = cross(a, b)
    common = 1 << order[0] | 1 << order[1]
    corner = next(r for r, t in zip(cone.rays, cone.tight, strict=True) if t & common == common)
    return order if dot(meeting, corner) > 0 else order[::-1]


def cross(a: Vector, b: Vector) -> Vector:
    """Cross product in three dimensions."""
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


def ray_basis(cone: Cone, ray: Vector, tight: int) -> tuple[list[int], float]:
    """Facets that meet in a ray alone, and the sign that makes their minors the ray.

    The minors are those with the columns 0, 1, … left out, with alternating signs.
    """
    check()
    chosen = [f for f in range(len(cone.rows)) if tight >> f & 1]
    if len(chosen) >= len(ray):  # more facets than needed meet here: keep independent ones
        candidates, chosen = chosen, []
        for f in candidates:
            rows = [cone.rows[g] for g in [*chosen, f]]
            if fmpz_mat(rows).rank() == len(rows):
                chosen.append(f)
    column = next(i for i, x in enumerate(ray) if x)
    matrix = fmpz_mat([[x for i, x in enumerate(cone.rows[f]) if i != column] for f in chosen])
    minor = int(matrix.det()) * (-1) ** column
    return chosen, 1.0 if (minor > 0) == (ray[column] > 0) else -1.0
