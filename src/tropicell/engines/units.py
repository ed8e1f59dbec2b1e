"""Units of work: an enumeration as a list of small jobs that do not depend on who does them.

A *unit* is a part of the tree of cells: some open nodes, as plain arrays (patterns, polygons or
bases; no affine maps). A worker runs a unit until it has found a fixed number of regions, and hands
back what it found and what is left, as new units. What a unit gives depends on nothing but the
unit, so the regions of all units, each followed by those of the units that are left of it, come in
one order, whatever the number of threads, and also when a run is broken off and continued.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tropicell.engines._exact_cells import ExactCell
from tropicell.engines.batch import Columns

Arrays = dict[str, NDArray[Any]]

#: A unit of generation g ends after so many regions times 2^g, but never more than the second
#: number. So a small enumeration spreads quickly, and a large one is not made of crumbs.
FIRST_LIMIT, LAST_LIMIT = 1024, 16_384

#: What is left of a unit becomes at most so many units: many at first, later only a few.
_MOST_CHILDREN, _MOST_LATER = 16, 4
_EARLY = 3

#: No more units than one for so many regions expected.
FEW = 256

#: Guess of how many regions a cell has for each of them in the layer before.
_GROWTH = 4.0


class Unit(NamedTuple):
    """A part of an enumeration.

    Attributes
    ----------
    generation : int
        How often it was split off.
    stack : dict of arrays
        Open nodes, in the form of the engine.
    cells : tuple of ExactCell
        Cells in exact form that wait (cells engine only).
    doubtful : bool
        Whether it has cells that were finished in exact arithmetic.
    """

    generation: int
    stack: Arrays
    cells: tuple[ExactCell, ...] = ()
    doubtful: bool = False

    @property
    def limit(self) -> int:
        """Regions after which the unit ends."""
        return min(FIRST_LIMIT << min(self.generation, 20), LAST_LIMIT)


@dataclass(frozen=True)
class Outcome:
    """What became of a unit.

    `left` are the units that remain, in order; None if the worker was told to stop: then `columns`
    and `count` are a part of what the unit has.
    """

    columns: list[Columns]
    count: int
    left: list[Unit] | None


class Worker(Protocol):
    """Runs units one after the other; has buffers of its own, so every thread needs one."""

    def run(self, unit: Unit, limit: int, stop: Callable[[], bool]) -> Outcome:
        """Find `limit` regions or somewhat more, or all; look at `stop` now and then."""

    def stats(self) -> dict[str, Any]:
        """Counters of all that it has done."""


class Task(Protocol):
    """An engine on a network and a domain."""

    def root(self) -> Unit:
        """All that there is to do."""

    def worker(self) -> Worker:
        """Somebody who does it."""

    def describe(self, unit: Unit) -> dict[str, Any]:
        """All of a unit but its arrays, as JSON."""

    def restored(self, described: dict[str, Any], stack: Arrays) -> Unit:
        """A unit from its description and arrays, which may come from anywhere.

        Raises
        ------
        ValueError
            If a worker could not run it safely.
        """


def estimates(
    lines: NDArray[np.int64], layers: NDArray[np.int64], dimension: int
) -> NDArray[np.float64]:
    """Rough numbers of regions of nodes that are crossed by so many lines of a layer.

    n hyperplanes in general position make at most C(n, 0) + … + C(n, d) cells.
    """
    n = lines.astype(np.float64)
    total, term = np.ones(len(n)), np.ones(len(n))
    for k in range(1, min(dimension, 24) + 1):
        term = term * np.maximum(n - k + 1, 0.0) / k
        total += term
    depth = int(layers.max(initial=0))
    return np.asarray(total * _GROWTH ** (depth - layers))


def groups(weights: NDArray[np.float64], generation: int) -> list[slice]:
    """Cut a stack of nodes (the top one last) into parts of about equal weight, the top first."""
    if not len(weights):
        return []
    most = _MOST_CHILDREN if generation < _EARLY else _MOST_LATER
    total = float(weights.sum())
    parts = int(min(most, max(1.0, total / FEW)))
    before = np.cumsum(weights[::-1]) - weights[::-1]
    number = np.minimum((before * (parts / total)).astype(np.int64), parts - 1)
    ends = np.flatnonzero(np.diff(number, append=parts)) + 1
    starts = np.concatenate([[0], ends[:-1]])
    n = len(weights)
    return [slice(n - int(e), n - int(s)) for s, e in zip(starts, ends, strict=True)]


def chunks(cells: Sequence[ExactCell], generation: int) -> list[tuple[ExactCell, ...]]:
    """Cut a list of waiting cells (the next one last) into a few parts, the next first."""
    most = _MOST_CHILDREN if generation < _EARLY else _MOST_LATER
    size = max(8, -(-len(cells) // most))
    return [tuple(cells[max(0, end - size) : end]) for end in range(len(cells), 0, -size)]
