"""Exact volumes of regions, and their sum: a second proof that none is missing."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from flint import fmpq

from tropicell._runtime.interruption import check
from tropicell._runtime.progress import each
from tropicell.certificate._rows import PatternRows
from tropicell.errors import InvalidInputError
from tropicell.geometry.generators import volume
from tropicell.geometry.polyhedra import is_bounded
from tropicell.regions.columns import Ragged

if TYPE_CHECKING:
    from tropicell.regions.regions import Regions

_MOST_INPUTS = 3


def volumes_add_up(
    regions: Regions, exact: PatternRows, facets: Ragged, show: bool = False
) -> Fraction | None:
    """The volume of the domain, or None if those of the regions do not add up to it.

    Parameters
    ----------
    regions : Regions
    exact : PatternRows
        Of the same network and domain.
    facets : Ragged
        Lines whose inequalities make up each region, as proved.
    show : bool
        Show a progress bar if it takes longer than two seconds.
    """
    rows, dimension = list(exact.domain.values()), exact.dimension
    if dimension > _MOST_INPUTS or not is_bounded(rows, dimension):
        raise InvalidInputError(
            f"volumes are added up on bounded domains with at most {_MOST_INPUTS} inputs; leave "
            "out volumes=True: the proof by facets needs no volumes"
        )
    sizes = []
    for index in each(range(len(regions)), " volumes", show):
        check()
        inequalities = exact.of_pattern(regions.packed[index])
        assert not isinstance(inequalities, int)
        sizes.append(volume([inequalities[line] for line in facets[index].tolist()], dimension))
    total, whole = _sum(sizes), volume(rows, dimension)
    return Fraction(int(whole.p), int(whole.q)) if total == whole else None


def _sum(values: list[fmpq]) -> fmpq:
    """The sum, by halves: so most additions are of short numbers."""
    if len(values) <= 2:
        return sum(values, fmpq(0))
    middle = len(values) // 2
    return _sum(values[:middle]) + _sum(values[middle:])
