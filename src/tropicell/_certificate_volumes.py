"""Exact volumes of regions, and their sum: a second proof that none is missing."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import factorial
from typing import TYPE_CHECKING

from flint import fmpq, fmpz_mat

from tropicell._certificate_rows import ExactRows
from tropicell.columns import Ragged
from tropicell.errors import InvalidInputError
from tropicell.generators import Vector, generators, simplices
from tropicell.polyhedra import Row, is_bounded

if TYPE_CHECKING:
    from tropicell.regions import Regions

_MOST_INPUTS = 3


def volumes_add_up(regions: Regions, exact: ExactRows, facets: Ragged) -> Fraction | None:
    """The volume of the domain, or None if those of the regions do not add up to it.

    Parameters
    ----------
    regions : Regions
    exact : ExactRows
        Of the same network and domain.
    facets : Ragged
        Lines whose inequalities make up each region, as proved.
    """
    rows, dimension = list(exact.domain.values()), exact.dimension
    if dimension > _MOST_INPUTS or not is_bounded(rows, dimension):
        raise InvalidInputError(
            f"volumes are added up on bounded domains with at most {_MOST_INPUTS} inputs; leave "
            "out volumes=True: the proof by facets needs no volumes"
        )
    sizes = []
    for index in range(len(regions)):
        inequalities = exact.of_pattern(regions.packed[index])
        assert not isinstance(inequalities, int)
        sizes.append(volume([inequalities[line] for line in facets[index].tolist()], dimension))
    total, whole = _sum(sizes), volume(rows, dimension)
    return Fraction(int(whole.p), int(whole.q)) if total == whole else None


def volume(rows: Sequence[Row], dimension: int) -> fmpq:
    """The exact volume of a bounded cell.

    Examples
    --------
    >>> volume([(1, 0, 0), (0, 1, 0), (-1, -2, 2)], 2)
    1
    """
    vertices = generators(rows, dimension).vertices
    on = [
        frozenset(i for i, v in enumerate(vertices) if _value(row, v) == 0)
        for row in dict.fromkeys(rows)
    ]
    total = fmpq(0)
    for simplex in simplices(frozenset(range(len(vertices))), on, dimension):
        corners = [list(vertices[i]) for i in simplex]
        weight = 1
        for corner in corners:
            weight *= corner[-1]
        total += fmpq(abs(int(fmpz_mat(corners).det())), weight)
    return total / factorial(dimension)


def _value(row: Row, vertex: Vector) -> int:
    return sum(a * b for a, b in zip(row, vertex, strict=True))


def _sum(values: list[fmpq]) -> fmpq:
    """The sum, by halves: so most additions are of short numbers."""
    if len(values) <= 2:
        return sum(values, fmpq(0))
    middle = len(values) // 2
    return _sum(values[:middle]) + _sum(values[middle:])
