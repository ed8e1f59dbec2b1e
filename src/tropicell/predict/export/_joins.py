"""Unions of regions that are convex: fewer polyhedra for the same piecewise-affine function.

All is decided in integers. A union of polyhedra that fit together facet by facet is convex if the
inequalities of those facets at which it ends hold on all of it: a segment between two points of it
that leaves it would have to cross such a facet, and on the other side the inequality is violated.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.interruption import check

if TYPE_CHECKING:
    from tropicell.regions.region import Region
    from tropicell.regions.regions import Regions

#: ``a·x <= b`` as ``(*a, b)``, or a point ``(*x, 1)`` or ray ``(*r, 0)``: integers without a common
#: factor.
Row = tuple[int, ...]


@dataclass(frozen=True)
class Part:
    """A convex union of regions.

    Attributes
    ----------
    regions : list of int
        Sorted.
    rows : set of Row
        Its facets.
    generators : set of Row
        Points and rays of which it is the hull, and maybe others of its own.
    """

    regions: list[int]
    rows: set[Row]
    generators: set[Row]

    def inequalities(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Its facets ``A x <= b`` in rationals, in an order that depends on nothing else."""
        columns = len(next(iter(self.generators)))
        rows = np.array([[Fraction(x) for x in row] for row in sorted(self.rows)], dtype=object)
        rows = rows.reshape(len(self.rows), columns)
        return rows[:, :-1], rows[:, -1]


def joined(regions: Regions, labels: NDArray[np.int64]) -> list[list[int] | Part]:
    """Regions with one label in convex parts: a list of one region, or a union of several.

    In the order of their first regions.
    """
    found: list[list[int] | Part] = []
    order = np.argsort(labels, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
    if all(len(group) == 1 for group in groups):
        return [[i] for i in range(len(regions))]
    pairs = regions.neighbours.pairs
    inside = pairs[labels[pairs[:, 0]] == labels[pairs[:, 1]]]
    shared = defaultdict(list)
    for i, j in inside.tolist():
        shared[int(labels[i])].append((i, j))
    for group in groups:
        if len(group) == 1:
            found.append([int(group[0])])
            continue
        check()
        own = {int(i): _part_of(regions[int(i)], int(i)) for i in group}
        whole = _whole(list(own.values()), _outer(own, shared[int(labels[group[0]])]))
        parts = [whole] if whole else _pairwise(list(own.values()))
        found += [part if len(part.regions) > 1 else part.regions for part in parts]
    return sorted(found, key=lambda part: part[0] if isinstance(part, list) else part.regions[0])


def _part_of(region: Region, number: int) -> Part:
    rows = {_integers([*facet.a, facet.b]) for facet in region.facets}
    points = [[*x, 1] for x in region.vertices] + [[*r, 0] for r in region.rays]
    for line in region.lineality:
        points += [[*line, 0], [*(-line), 0]]
    return Part([number], rows, {_integers(point) for point in points})


def _integers(row: list[Any]) -> Row:
    """Times what makes integers of it, without a common factor; never turned over."""
    exact = [Fraction(x) for x in row]
    scale = lcm(*(x.denominator for x in exact))
    whole = [int(x * scale) for x in exact]
    factor = gcd(*whole) or 1
    return tuple(x // factor for x in whole)


def _negative(row: Row) -> Row:
    return tuple(-x for x in row)


def _holds(row: Row, generators: set[Row]) -> bool:
    """Whether an inequality holds on a hull."""
    a, b = row[:-1], row[-1]
    return all(sum(p * q for p, q in zip(a, x, strict=False)) <= b * x[-1] for x in generators)


def _outer(own: dict[int, Part], pairs: list[tuple[int, int]]) -> set[Row]:
    """The rows of facets behind which there is no other region of the same group."""
    inner = defaultdict(set)
    for i, j in pairs:
        # Two regions with a common facet have only one row that is the other's, turned over.
        row = next(row for row in own[i].rows if _negative(row) in own[j].rows)
        inner[i].add(row)
        inner[j].add(_negative(row))
    return {row for i, part in own.items() for row in part.rows - inner[i]}


def _whole(parts: list[Part], outer: set[Row]) -> Part | None:
    """All parts as one, if that is convex."""
    generators = set().union(*(part.generators for part in parts))
    if not all(_holds(row, generators) for row in outer):
        return None
    return Part(sorted(part.regions[0] for part in parts), outer, generators)


def _pairwise(parts: list[Part]) -> list[Part]:
    """Join two parts after the other."""
    alive = dict(enumerate(parts))
    with_row: defaultdict[Row, set[int]] = defaultdict(set)
    for k, part in alive.items():
        for row in part.rows:
            with_row[row].add(k)
    waiting, count = deque(alive), len(parts)
    while waiting:
        check()
        k = waiting.popleft()
        if k not in alive:
            continue
        partner = _partner(alive, with_row, k)
        if partner is None:
            continue
        other, row = partner
        one, two = alive.pop(k), alive.pop(other)
        new = Part(
            sorted(one.regions + two.regions),
            (one.rows - {row}) | (two.rows - {_negative(row)}),
            one.generators | two.generators,
        )
        alive[count] = new
        for old in new.rows:
            with_row[old].add(count)
        waiting.append(count)
        count += 1
    return list(alive.values())


def _partner(
    alive: dict[int, Part], with_row: dict[Row, set[int]], k: int
) -> tuple[int, Row] | None:
    """A part on the other side of one of the facets of a part, whose union with it is convex."""
    mine = alive[k]
    for row in sorted(mine.rows):
        behind = _negative(row)
        for other in sorted(with_row.get(behind, ())):
            if other not in alive:
                continue
            rows = alive[other].rows - {behind}
            if all(_holds(r, mine.generators) for r in rows) and all(
                _holds(r, alive[other].generators) for r in mine.rows - {row}
            ):
                return other, row
    return None
