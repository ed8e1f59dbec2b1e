"""Runs units of the cells engine: drives the kernels, and decides exactly where they can't."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tropicell._runtime.interruption import current, using
from tropicell.engines import tuning
from tropicell.engines._unit_kernels import ENDED, HEAVIEST, TOO_SMALL
from tropicell.engines.cells import _buffers as buffers
from tropicell.engines.cells._exact_cells import ExactCell
from tropicell.engines.cells._focus import no_focus
from tropicell.engines.cells._result import columns_of, exact_columns
from tropicell.engines.cells._state import (
    BATCH_FULL,
    COORDINATES,
    COUNT,
    DONE,
    GROW,
    LEFT_OUT,
    MOST_SEED_FACETS,
    OUT,
    OUT_CORNERS,
    OUT_FACETS,
    OUT_POINTS,
    SEED,
    SPLITS,
    STEPS,
    TESTS,
    TOP,
    UNSURE,
    UNSURE_CONFLICTS,
    UNSURE_CORNERS,
    UNSURE_FULL,
)
from tropicell.engines.cells._units import CellNodes
from tropicell.engines.cells.focus import focus_of
from tropicell.engines.column_store import Place
from tropicell.engines.units import Nodes, Outcome, Unit, children, chunks
from tropicell.errors import TimeLimitError
from tropicell.regions.columns import Columns

if TYPE_CHECKING:
    from tropicell.engines.cells.task import CellTask


#: Buffers are used anew when such a part of them is in use: for the first time in the plane, in
#: more dimensions (where a place is used, the sooner the better), and later.
_FIRST_IN_PLANE, _FIRST_TIME, _LATER = 3, 12, 8

#: A place is left when such a part of it is left, and taken only if there is twice as much.
_LEFT = 8

#: The columns of a place that kernels write to, as `CellBatch` calls them.
_IN_PLACE = {
    "words": "words",
    "witnesses": "witnesses",
    "bounded": "bounded",
    "vertices": "points",
    "places": "corner_places",
    "vertex_counts": "corner_counts",
    "lines": "facet_lines",
    "facet_counts": "facet_counts",
}


def _steps(width: int) -> int:
    """Steps of a kernel: each looks at all boundaries of a layer, so fewer if there are many."""
    now = tuning.current
    return now.steps * now.wide_layer // max(now.wide_layer, width)


def _parts(unit: Unit, nodes: Nodes) -> list[Unit]:
    """The upper half of a unit's stack, the lower half, and its first cell, the largest, alone."""
    middle, alone = (nodes.first + nodes.last + 1) // 2, nodes.first + 1
    cuts = [(middle, nodes.last), (alone, middle), (nodes.first, alone)]
    cuts = [(first, last) for first, last in cuts if first < last]
    return [
        unit._replace(nodes=nodes._replace(first=first, last=last), weight=unit.weight / len(cuts))
        for first, last in cuts
    ]


def _shared(columns: Columns) -> Columns:
    """Columns in the form of those that share points, if other columns do."""
    corners = columns.corners
    if corners is None or corners.shape[1] == COORDINATES:  # in the plane
        return columns
    places = np.arange(len(corners), dtype=np.int32)
    return columns._replace(corners=None, points=corners, corner_places=places)


@dataclass
class CellStats:
    """What a run has cost.

    Attributes
    ----------
    tests, splits : int
        Signs of a boundary's row at a corner in floating point; cells cut in two.
    unsure_cells, exact_decisions : int
        Cells for which the error bound did not suffice, and boundaries that were compared with
        a cell in exact arithmetic (those needed to start on an unbounded domain included).
    unproved_witnesses : int
        Regions so thin that their witness, rounded to float64, may not be inside. A `Region` works
        out an exact one when asked.
    left_out : int
        Cells that the wanted set does not meet.
    """

    tests: int = 0
    splits: int = 0
    unsure_cells: int = 0
    exact_decisions: int = 0
    unproved_witnesses: int = 0
    left_out: int = 0


class CellWorker:
    """Runs units of a `CellTask`."""

    def __init__(self, task: CellTask) -> None:
        self._task = task
        self._exact = task.exact_cells.copy()
        self._stats = CellStats()
        self._room = buffers.joined(task.room.build())
        halt = current()
        if halt is not None and not task.plane:
            stack = self._room.stack._replace(halt=halt.flag)
            self._room = self._room._replace(stack=stack)
        self._state = self._room.state
        # Regions, corners, facets and points that were taken out of the buffers.
        self._taken = (0, 0, 0, 0)
        self._part = _FIRST_IN_PLANE if task.plane else _FIRST_TIME
        # Whether regions are written where they will stay, and whether there was no room for more.
        self._in_place = self._no_room = False
        self._expected = 0.0  # regions in the units that are left of those that it has done
        self._no_seeds = task.no_seeds
        self._seeds = self._no_seeds
        self._planted: list[ExactCell] = []
        self._waiting: list[ExactCell] = []
        self._finished: list[ExactCell] = []
        self._found: list[Columns] = []
        self._doubtful = False
        self._steps = _steps(task.flat.width)

    def _call(self, most: int, nodes: Nodes | None = None) -> int:
        """Let the kernel begin with some cells, or go on; returns why it ended."""
        task, steps = self._task, int(self._state[STEPS])
        code = int(
            task.kernel(
                task.flat,
                self._room,
                self._seeds,
                task.options,
                nodes or task.no_nodes,
                most,
                self._steps,
            )
        )
        # It counts steps where it comes back for another reason.
        self._no_room = code == BATCH_FULL and self._state[STEPS] == steps
        return code

    def stats(self) -> dict[str, Any]:
        """What all units have cost."""
        state = self._state
        self._stats.tests, self._stats.splits = int(state[TESTS]), int(state[SPLITS])
        self._stats.exact_decisions = self._exact.decisions
        self._stats.left_out = int(state[LEFT_OUT])
        return asdict(self._stats)

    def run(self, unit: Unit, limit: int, stop: Callable[[], bool]) -> Outcome:
        """Cut cells until `limit` regions are found, or all of the unit's."""
        left_out = int(self._state[LEFT_OUT])
        try:
            outcome = self._run(unit, limit, stop)
        except TimeLimitError:  # in the middle of an exact decision
            with using(None):
                outcome = Outcome(self._take_all(), int(self._state[COUNT]), None)
        outcome.passed = int(self._state[LEFT_OUT]) - left_out
        self._expected += sum(part.weight for part in outcome.left or ())
        self._expected -= unit.weight if unit.weight < HEAVIEST else 0.0
        if not self._task.handed_out:
            outcome.columns = []
        return outcome

    def _run(self, unit: Unit, limit: int, stop: Callable[[], bool]) -> Outcome:
        self._finished, self._found = [], []
        self._doubtful = unit.doubtful
        self._begin_anew()
        if self._task.focus is not None and not self._look_closer(unit):
            if unit.nodes is not None and unit.nodes.last - unit.nodes.first > 1:
                return Outcome([], 0, _parts(unit, unit.nodes))
            limit = 1  # what is left are smaller cells
        self._waiting = list(unit.cells)
        if self._planted:
            self._planted, self._seeds = [], self._no_seeds
        paid = self._costs()
        if self._waiting or unit.nodes is None:
            self._empty()
            return self._go_on(unit, limit + paid, stop)
        while (code := self._call(limit, unit.nodes)) == TOO_SMALL:
            self._grow()
        if code != ENDED:  # most units do without what follows
            self._look_at(code, stop)
            return self._go_on(unit, limit + paid, stop)
        self._take_batch()
        count, top = int(self._state[COUNT]), int(self._state[TOP])
        return Outcome(self._found, count, self._children(top, unit.generation + 1))

    def _look_closer(self, unit: Unit) -> bool:
        """Find the neurons that can change on the unit's cells; whether these are few."""
        task = self._task
        assert task.focus is not None
        found = focus_of(task.focus, task.flat, unit)
        stack = self._room.stack._replace(focus=found or no_focus())
        self._room = self._room._replace(stack=stack)
        self._steps = _steps(task.flat.width if found is None else found.start[0, -1])
        return found is not None

    def _go_on(self, unit: Unit, limit: int, stop: Callable[[], bool]) -> Outcome:
        """Run a unit step by step, with cells that are cut exactly in between.

        The limit is one on regions and costs together.
        """
        state = self._state
        while state[TOP] or self._has_seeds() or self._waiting:
            most = limit - self._costs()
            if state[COUNT] >= most:
                break
            if stop():
                return Outcome(self._take_all(), int(state[COUNT]), None)
            if state[TOP] or self._has_seeds():
                self._look_at(self._call(most), stop)
            else:
                self._plant(stop)
        if state[UNSURE]:
            self._decide_unsure(stop)
        columns = self._take_all()
        if stop():
            return Outcome(columns, int(state[COUNT]), None)
        return Outcome(columns, int(state[COUNT]), self._left(unit.generation + 1))

    def _children(self, top: int, generation: int) -> list[Unit]:
        """The cells on the stack as units, after the kernel has grouped them."""
        if not top:
            return []
        nodes, result = CellNodes.of(self._room, top), self._room.result
        return children(nodes, top, result, generation, self._doubtful)

    def _grow(self) -> None:
        self._room = self._room._replace(stack=buffers.grown(self._room.stack))

    def _costs(self) -> int:
        """What exact arithmetic has cost so far, measured in regions."""
        return tuning.current.price * self._stats.unsure_cells + self._exact.decisions

    def _empty(self) -> None:
        """Nothing is on the stack, and nothing found."""
        kept = [TESTS, SPLITS, OUT, OUT_CORNERS, OUT_FACETS, OUT_POINTS, LEFT_OUT]
        numbers = self._state[kept]
        self._state[:] = 0
        self._state[kept] = numbers

    def _left(self, generation: int) -> list[Unit]:
        """What remains to be done, as new units, in the order in which it would be done."""
        if self._state[TOP]:
            self._call(0)  # which cuts no cell, but groups those that are there
        units = self._children(int(self._state[TOP]), generation)
        waiting = self._waiting + self._planted[int(self._state[SEED]) :][::-1]
        units += [
            Unit(generation, None, part, self._doubtful) for part in chunks(waiting, generation)
        ]
        return units

    # --- cells in and out ---------------------------------------------------------------------

    def _has_seeds(self) -> bool:
        return int(self._state[SEED]) < len(self._planted)

    def _for_kernel(self, cell: ExactCell) -> bool:
        task = self._task
        few = task.plane or len(cell.cone.rows) <= MOST_SEED_FACETS
        return task.tame and cell.cone.pointed and few

    def _plant(self, stop: Callable[[], bool]) -> None:
        """Make seeds of the cells that come next; one that is not fit for it is cut exactly."""
        waiting = self._waiting
        cell = waiting[-1]
        if cell.layer > self._task.flat.depth or not self._for_kernel(cell):
            self._place(waiting.pop(), stop)
            return
        self._planted = []
        while (
            waiting and len(self._planted) < tuning.current.seeds and self._for_kernel(waiting[-1])
        ):
            self._planted.append(waiting.pop())
        self._seeds = self._task.seeds_of(self._planted)
        self._state[SEED] = 0

    def _place(self, cell: ExactCell, stop: Callable[[], bool]) -> None:
        """A finished region is kept; another cell is cut by one layer, exactly."""
        if cell.layer > self._task.flat.depth:
            self._keep(cell)
            return
        exact = self._exact
        parts = exact.finish_layer(
            cell,
            bytearray(self._task.network.widths[cell.layer - 1]),
            exact.lines_of(cell.layer),
            stop_when_pointed=self._task.tame,
        )
        self._sort(parts, stop)

    def _sort(self, cells: Any, stop: Callable[[], bool]) -> None:
        """Keep the finished regions among some cells; the others wait."""
        for cell in cells:
            if cell.layer > self._task.flat.depth:
                self._keep(cell)
            else:
                self._waiting.append(cell)
            if stop():
                return

    def _keep(self, cell: ExactCell) -> None:
        wanted = self._task.where
        if wanted is not None and not wanted.meets(cell):
            self._state[LEFT_OUT] += 1
            return
        self._state[COUNT] += 1
        if self._task.store:
            self._take_batch()  # first what the kernel found before it
            if self._in_place:  # others come in between
                self._take_new_buffers()
            self._finished.append(cell)

    def _look_at(self, code: int, stop: Callable[[], bool]) -> None:
        """Do what the kernel needs to go on."""
        if code == GROW:
            self._grow()
            return
        if self._is_full():
            self._take_batch()
        if code in (DONE, UNSURE_FULL) and self._state[UNSURE]:
            self._decide_unsure(stop)

    def _decide_unsure(self, stop: Callable[[], bool]) -> None:
        """Finish the layer of every unsure cell exactly; its parts become seeds again."""
        state, exact = self._state, self._exact
        self._doubtful = True
        self._stats.unsure_cells += int(state[UNSURE])
        found = buffers.unsure_cells(self._task.flat, self._room.unsure, state)
        state[UNSURE] = state[UNSURE_CORNERS] = state[UNSURE_CONFLICTS] = 0
        for layer, pattern, pieces, labels, lines in found:
            if stop():
                return
            cell = ExactCell(layer, pattern, exact.rebuild(layer, pattern, labels))
            parts = exact.finish_layer(cell, pieces, lines, stop_when_pointed=False)
            self._sort(parts, stop)

    # --- regions out --------------------------------------------------------------------------

    def _take_all(self) -> list[Columns]:
        self._take_batch()
        self._take_finished()
        return self._found

    def _is_full(self) -> bool:
        """Whether new buffers should be taken: half of these are in use, or most of a place."""
        if self._in_place:
            return self._no_room or self._room_left() * _LEFT < 1
        return self._room_left() < 0.5

    def _room_left(self) -> float:
        """The part of the buffers that is left."""
        state, out = self._state, self._room.out
        used = (
            state[OUT] / len(out.words),
            state[OUT_CORNERS] / len(out.places),
            state[OUT_POINTS] / len(out.vertices),
            state[OUT_FACETS] / len(out.lines),
        )
        return 1.0 - float(max(used))

    def _take_new_buffers(self) -> None:
        """Write what comes next to other memory; what is there stays."""
        task = self._task
        out = buffers.batch_arrays(task.flat, task.store, task.bits)
        self._room, self._taken = self._room._replace(out=out), (0, 0, 0, 0)
        self._state[[OUT, OUT_CORNERS, OUT_FACETS, OUT_POINTS]] = 0
        self._in_place = self._no_room = False

    def _take_batch(self) -> None:
        """The kernel's regions since the last call.

        They stay where they are; later ones go behind them, or to new buffers.
        """
        state, task = self._state, self._task
        regions, corners = int(state[OUT]), int(state[OUT_CORNERS])
        found = regions, corners, int(state[OUT_FACETS]), int(state[OUT_POINTS])
        if regions > self._taken[0]:
            self._take_finished()
            form = task.flat.neurons, task.bits
            how = task.volumes, task.shared, self._in_place
            self._add(columns_of(self._room.out, self._taken, found, form, *how))
            self._taken = found
        if self._is_full():
            self._take_new_buffers()

    def _begin_anew(self) -> None:
        """Let the regions of the next unit go where those before lie, if these may be copied.

        That is not done before there are many: small searches join all regions at the end.
        """
        settle, taken = self._task.settle, self._taken[0]
        if self._in_place or settle is None or taken < len(self._room.out.words) // self._part:
            return
        place = settle(self._expected)
        self._part = _LATER
        self._taken = (0, 0, 0, 0)
        self._state[[OUT, OUT_CORNERS, OUT_FACETS, OUT_POINTS]] = 0
        if place is not None and not self._task.plane and not self._task.volumes:
            self._go_to(place)

    def _go_to(self, place: Place) -> None:
        """Write regions where they will stay, if there is room for them."""
        own, used = self._room.out, place.used
        arrays = {name: place.arrays[column] for name, column in _IN_PLACE.items()}
        for name, array in arrays.items():
            if array is None or array.dtype != getattr(own, name).dtype:
                return
            if (len(array) - used[_IN_PLACE[name]]) * _LEFT < 2 * len(array):
                return
        self._room = self._room._replace(out=own._replace(**arrays))
        columns = "words", "corner_places", "facet_lines", "points"
        regions, corners, facets, points = (used[column] for column in columns)
        self._taken = regions, corners, facets, points
        self._state[[OUT, OUT_CORNERS, OUT_FACETS, OUT_POINTS]] = self._taken
        self._in_place = True

    def _take_finished(self) -> None:
        """Regions that were finished in exact arithmetic."""
        if self._finished:
            task = self._task
            columns, unproved = exact_columns(
                task.flat, self._finished, task.bits, volumes=task.volumes
            )
            if task.arithmetic == "exact":  # those of the kernels are proved
                self._stats.unproved_witnesses += unproved
            self._add(_shared(columns) if task.shared else columns)
            self._finished = []

    def _add(self, columns: Columns) -> None:
        """Keep regions.

        Cells that come back from exact arithmetic may list a redundant inequality beyond 3-D.
        """
        if self._doubtful and self._task.flat.dimension > 3:
            columns = columns._replace(facet_lines=None, facet_counts=None)
        self._found.append(columns)
