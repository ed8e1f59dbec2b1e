"""Units: a search as a list of small parts that do not depend on who does them.

A *task* is a search: an engine on a network and a domain. A *unit* is a part of it that one worker
does: some open nodes of the tree of cells, as plain arrays (patterns, polygons or bases; no affine
maps). A worker runs a unit until it has found a fixed number of regions, and hands back what it
found and what is left, as new units. What a unit gives depends on nothing but the unit, so the
regions of all units, each followed by those of the units that are left of it, come in one order,
whatever the number of threads, and also when a run is broken off and continued.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tropicell.engines import tuning
from tropicell.engines._unit_kernels import GROUPS, HEAVIEST, MOST_CHILDREN, STARTS, WEIGHTS
from tropicell.engines.cells._exact_cells import ExactCell
from tropicell.engines.column_store import Place
from tropicell.errors import InternalError
from tropicell.regions.columns import Columns

Arrays = dict[str, NDArray[Any]]


class Nodes(NamedTuple):
    """Some of the open nodes that an engine has written to arrays.

    Units that are left of one share the arrays: nothing is cut or copied until one of them is run,
    by a kernel, or goes to another process.

    Attributes
    ----------
    arrays : tuple of arrays
        In the form of the engine; ``arrays.part(first, last)`` are copies for some nodes alone.
    first, last : int
        Nodes first … last - 1.
    """

    arrays: Any
    first: int
    last: int

    def __reduce__(self) -> Any:
        alone = self.arrays.part(self.first, self.last)
        return Nodes, (alone, 0, self.last - self.first)


class Unit(NamedTuple):
    """A part of a search.

    Attributes
    ----------
    generation : int
        How often it was split off.
    nodes : Nodes or None
        Where to begin; None: at the root, or with `cells`.
    cells : tuple of ExactCell
        Cells in exact form that wait (cells engine only).
    doubtful : bool
        Whether it has cells that were finished in exact arithmetic.
    weight : float
        A guess of how many regions it has.
    """

    generation: int
    nodes: Nodes | None = None
    cells: tuple[ExactCell, ...] = ()
    doubtful: bool = False
    weight: float = HEAVIEST

    @property
    def least(self) -> int:
        """Regions that it has at least: every cell that waits has interior points.

        Examples
        --------
        >>> Unit(1).least, Unit(1, Nodes(None, 3, 8)).least
        (1, 5)
        """
        waiting = 0 if self.nodes is None else self.nodes.last - self.nodes.first
        return max(1, waiting + len(self.cells))

    def limit(self, grain: int) -> int:
        """Regions after which the unit ends.

        Examples
        --------
        >>> [Unit(9, weight=weight).limit(grain=10) for weight in (100, 2000, 9000)]
        [1280, 2560, 5120]
        """
        now = tuning.current
        if self.generation < len(now.limits) - 1:
            return now.limits[self.generation] * grain
        usual = now.limits[-1] * grain
        doublings = min(max(0, (self.generation - now.late) // 4), 20)
        doublings += (self.weight >= usual) + (self.weight >= 4 * usual)
        return min(usual << doublings, now.last_limit * grain)


@dataclass(slots=True)
class Outcome:
    """What became of a unit.

    `left` are the units that remain, in order; None if the worker was told to stop: then `columns`
    and `count` are a part of what the unit has. `passed` counts regions that were found and passed
    over, since they are none of those that are asked for.
    """

    columns: list[Columns]
    count: int
    left: list[Unit] | None
    passed: int = 0


def check_outcome(unit: Unit, outcome: Outcome) -> None:
    """Raise unless each cell of a unit became a region or is left, or was passed over.

    So a search that has ended has found at least one region of each cell that it ever had.

    Raises
    ------
    InternalError
        If cells are missing.
    """
    if outcome.left is None:  # it was told to stop, and says so
        return
    found = outcome.count + outcome.passed + sum(part.least for part in outcome.left)
    if found < unit.least:
        raise InternalError(
            f"a part of a search with at least {unit.least} regions ended with {found} of them"
        )


class Worker(Protocol):
    """Runs units one after the other; has buffers of its own, so every thread needs one."""

    def run(self, unit: Unit, limit: int, stop: Callable[[], bool]) -> Outcome:
        """Find about `limit` regions, or all; look at `stop` now and then.

        What takes as long as a region does may be counted like one.
        """

    def stats(self) -> dict[str, Any]:
        """Counters of all that it has done."""


class Task(Protocol):
    """A search: an engine on a network and a domain.

    Attributes
    ----------
    grain : int
        The number of regions after which a unit ends is a multiple of it: more where regions are
        found faster.
    slow : bool
        Whether one call of a kernel may take more than a tenth of a second; it sees the flag of
        the `Halt` of the thread that made the worker.
    shared : bool
        Whether corners may be handed out as places among points (`Columns.points`), which takes
        less memory. Whoever wants that says so before there are workers.
    settle : callable or None
        If there is one worker, and whoever takes its columns copies them before the next unit, or
        when this is called, which may be at the beginning of a unit: then the worker uses their
        memory again, or goes on in the place that it may be given. It is told how many regions are
        likely to come yet. None: columns stay as they are.
    """

    grain: int
    slow: bool
    shared: bool
    settle: Callable[[float], Place | None] | None

    def root(self) -> Unit:
        """The unit that is all of the search."""

    def worker(self) -> Worker:
        """A worker, with memory of its own: every thread needs one."""

    def describe(self, unit: Unit) -> tuple[dict[str, Any], Arrays]:
        """A unit as JSON and arrays, for files."""

    def restored(self, described: dict[str, Any], arrays: Arrays) -> Unit:
        """A unit from its description and arrays, which may come from anywhere.

        Raises
        ------
        ValueError
            If a worker could not run it safely.
        """


def first_generation(regions: float, grain: int) -> int:
    """The generation of the root of a search that is expected to have so many regions.

    Examples
    --------
    >>> [first_generation(regions, grain=16) for regions in (22, 5000, 1e6)]
    [2, 1, 0]
    """
    if regions <= tuning.current.small * grain:
        return 2
    return 1 if regions <= tuning.current.medium * grain else 0


def need(fine: Any, what: str) -> None:
    """Raise ValueError that names a part of a unit in a file, unless it is fine."""
    if not fine:
        raise ValueError(what)


def weight_of(described: dict[str, Any]) -> float:
    """The weight of a unit in a file.

    Raises
    ------
    ValueError
        If there can't be such a weight.
    """
    weight = float(described.get("weight", HEAVIEST))  # it was not always written
    need(0 <= weight <= HEAVIEST, f"weight {weight}")
    return weight


def growth_of(lines: Sequence[int], dimension: int) -> NDArray[np.float64]:
    """For every layer a guess of how many regions a cell of it has.

    Of so many cells as N hyperplanes make a further one crosses the part C(N, < d) / C(N, <= d),
    where C(N, <= d) is the number of subsets of at most d. So a layer's lines are guessed
    to cross a cell of all layers before it.

    Parameters
    ----------
    lines : sequence of int
        How many lines each layer has.
    dimension : int

    Examples
    --------
    >>> growth_of([20, 16], 5).round().tolist()
    [24.0, 1.0]
    """
    growth = np.ones(len(lines))
    for layer in range(len(lines) - 1, 0, -1):
        before = sum(lines[:layer])
        part = _subsets(before, dimension - 1) / _subsets(before, dimension)
        cells = min(_subsets(part * lines[layer], dimension), 1e6)
        growth[layer - 1] = min(growth[layer] * cells, 1e12)
    return growth


def _subsets(n: float, most: int) -> float:
    """Number of subsets of at most so many of n things, for any n."""
    total, term = 1.0, 1.0
    for k in range(min(most, 24)):
        term *= max(n - k, 0.0) / (k + 1)
        total += term
    return total


def children(
    arrays: Any, count: int, result: NDArray[np.int64], generation: int, doubtful: bool
) -> list[Unit]:
    """Open nodes as units, those on top of the stack first.

    Parameters
    ----------
    arrays, count
        See `Nodes`: so many nodes, the bottom one first.
    result : ndarray
        How `cut_into_groups` has cut them.
    generation, doubtful
        Of the units.
    """
    units, end, numbers = [], count, result.tolist()
    for k in range(numbers[GROUPS]):
        begin = numbers[STARTS + k]
        weight = numbers[WEIGHTS + k]
        units.append(Unit(generation, Nodes(arrays, begin, end), (), doubtful, weight))
        end = begin
    return units


def chunks(cells: Sequence[ExactCell], generation: int) -> list[tuple[ExactCell, ...]]:
    """Cut a list of waiting cells (the next one last) into a few parts, the next first.

    In the first generation of a large search other threads have nothing to do yet: a part may be a
    single cell.
    """
    fewest = 1 if generation == 1 else 8
    size = max(fewest, -(-len(cells) // MOST_CHILDREN))
    return [tuple(cells[max(0, end - size) : end]) for end in range(len(cells), 0, -size)]
