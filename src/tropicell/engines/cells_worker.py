"""Runs units of the cells engine: drives the kernels, and decides exactly where they can't."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tropicell.engines import _cells_buffers as buffers
from tropicell.engines import cells_stack
from tropicell.engines._cells_cone import run_cones
from tropicell.engines._cells_maps import enter_layers
from tropicell.engines._cells_plane import run_plane
from tropicell.engines._cells_result import as_columns, exact_batch, sizes_of
from tropicell.engines._cells_state import (
    COUNT,
    DONE,
    GROW,
    OUT,
    OUT_CORNERS,
    OUT_FACETS,
    SEED,
    SPLITS,
    STATE_SIZE,
    TESTS,
    TOP,
    UNSURE,
    UNSURE_CONFLICTS,
    UNSURE_CORNERS,
    UNSURE_FULL,
    Batch,
    Seeds,
)
from tropicell.engines._exact_cells import MOST_FACETS, ExactCell
from tropicell.engines.batch import Columns
from tropicell.engines.slab import Slab
from tropicell.engines.units import Outcome, Unit, chunks

if TYPE_CHECKING:
    from tropicell.engines.cells import CellTask

#: The kernel comes back to look at the clock after so many steps.
_STEPS = 50_000
_SEEDS_AT_ONCE = 64

#: A cell that is finished in exact arithmetic takes as long as so many regions, or longer.
_PRICE = 50


@dataclass
class CellStats:
    """What a run has cost.

    Attributes
    ----------
    tests, splits : int
        Signs of a line at a corner in floating point; cells cut in two.
    unsure_cells, exact_decisions : int
        Cells for which the error bound did not suffice, and lines that were compared with a cell
        in exact arithmetic (those needed to start on an unbounded domain included).
    unproved_witnesses : int
        Regions so thin that their witness, rounded to float64, may not be inside. A `Region` works
        out an exact one when asked.
    """

    tests: int = 0
    splits: int = 0
    unsure_cells: int = 0
    exact_decisions: int = 0
    unproved_witnesses: int = 0


class CellWorker:
    """Runs units of a `CellTask`."""

    def __init__(self, task: CellTask) -> None:
        self._task = task
        self._exact = task.exact_cells.copy()
        self._stats = CellStats()
        program, plane = task.program, task.plane
        d, rows = program.dimension, program.rows
        self._state = np.zeros(STATE_SIZE, np.int64)
        self._stack: Any = buffers.plane_stack(program) if plane else buffers.cone_stack(program)
        self._records = np.zeros((256, 11), np.int64)
        self._out = buffers.batch_arrays(program, task.store)
        self._unsure = buffers.unsure_arrays(program)
        self._pattern = np.zeros(program.neurons, np.uint8)
        self._maps = (
            np.zeros((d + 2, rows)),
            np.zeros((d + 3, rows)),
            self._pattern,
            np.full(program.depth + 2, -1, np.int64),
        )
        self._no_seeds = self._seeds_of([])
        self._seeds = self._no_seeds
        self._planted: list[ExactCell] = []
        self._waiting: list[ExactCell] = []
        self._finished: list[ExactCell] = []
        self._found: list[Columns] = []
        self._room = Slab()
        self._doubtful = False

    def stats(self) -> dict[str, Any]:
        """What all units have cost."""
        state = self._state
        self._stats.tests, self._stats.splits = int(state[TESTS]), int(state[SPLITS])
        self._stats.exact_decisions = self._exact.decisions
        return asdict(self._stats)

    def run(self, unit: Unit, limit: int, stop: Callable[[], bool]) -> Outcome:
        """Cut cells until `limit` regions are found, or all of the unit's."""
        self._begin(unit)
        state = self._state
        paid = self._costs()
        while state[TOP] or self._has_seeds() or self._waiting:
            most = limit - (self._costs() - paid)
            if state[COUNT] >= most:
                break
            if stop():
                return Outcome(self._take_all(), int(state[COUNT]), None)
            if state[TOP] or self._has_seeds():
                self._run_kernel(most, stop)
            else:
                self._plant(stop)
        if state[UNSURE]:
            self._decide_unsure(stop)
        columns = self._take_all()
        if stop():
            return Outcome(columns, int(state[COUNT]), None)
        return Outcome(columns, int(state[COUNT]), self._left(unit.generation + 1))

    def _costs(self) -> int:
        """What exact arithmetic has cost so far, measured in regions."""
        return _PRICE * self._stats.unsure_cells + self._exact.decisions

    def _begin(self, unit: Unit) -> None:
        task, state = self._task, self._state
        counters = state[[TESTS, SPLITS]]
        state[:] = 0
        state[[TESTS, SPLITS]] = counters
        self._seeds, self._planted = self._no_seeds, []
        self._waiting = list(unit.cells)
        self._finished, self._found = [], []
        self._doubtful = unit.doubtful
        if unit.stack:
            before, after, pattern, changes = self._maps
            self._stack, self._records = cells_stack.put(
                task.program, self._stack, self._records, unit.stack, state
            )
            layer = int(unit.stack["records"][-1, 0])
            enter_layers(
                task.program.maps,
                before,
                after,
                pattern,
                unit.stack["pattern"],
                layer,
                changes,
                task.arithmetic == "exact",
                self._stack.rows,
                self._stack.change,
            )

    def _left(self, generation: int) -> list[Unit]:
        """What remains to be done, as new units, in the order in which it would be done."""
        task = self._task
        units = cells_stack.take(
            task.program,
            self._stack,
            self._records,
            self._pattern,
            self._state,
            generation,
            self._doubtful,
        )
        waiting = self._waiting + self._planted[int(self._state[SEED]) :][::-1]
        units += [Unit(generation, {}, part, self._doubtful) for part in chunks(waiting)]
        return units

    # --- cells in and out ---------------------------------------------------------------------

    def _has_seeds(self) -> bool:
        return int(self._state[SEED]) < len(self._planted)

    def _for_kernel(self, cell: ExactCell) -> bool:
        task = self._task
        few = task.plane or len(cell.cone.rows) <= MOST_FACETS
        return task.tame and cell.cone.pointed and few

    def _plant(self, stop: Callable[[], bool]) -> None:
        """Make seeds of the cells that come next; one that is not fit for it is cut exactly."""
        waiting = self._waiting
        cell = waiting[-1]
        if cell.layer > self._task.program.depth or not self._for_kernel(cell):
            self._place(waiting.pop(), stop)
            return
        self._planted = []
        while waiting and len(self._planted) < _SEEDS_AT_ONCE and self._for_kernel(waiting[-1]):
            self._planted.append(waiting.pop())
        self._seeds = self._seeds_of(self._planted)
        self._state[SEED] = 0

    def _seeds_of(self, cells: list[ExactCell]) -> Seeds:
        make = buffers.plane_seeds if self._task.plane else buffers.cone_seeds
        return make(self._task.program, cells)

    def _place(self, cell: ExactCell, stop: Callable[[], bool]) -> None:
        """A finished region is kept; another cell is cut by one layer, exactly."""
        if cell.layer > self._task.program.depth:
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
            if cell.layer > self._task.program.depth:
                self._keep(cell)
            else:
                self._waiting.append(cell)
            if stop():
                return

    def _keep(self, cell: ExactCell) -> None:
        self._state[COUNT] += 1
        if self._task.store:
            self._take_batch()  # first what the kernel found before it
            self._finished.append(cell)

    def _run_kernel(self, limit: int, stop: Callable[[], bool]) -> None:
        task, state = self._task, self._state
        run = run_plane if task.plane else run_cones
        code = run(
            task.program,
            *self._maps,
            self._stack,
            self._records,
            self._seeds,
            self._out,
            self._unsure,
            state,
            task.arithmetic == "exact",
            task.tolerance,
            task.store,
            task.volumes,
            limit,
            _STEPS,
        )
        if code == GROW:
            self._stack = buffers.grown(self._stack)
            self._records = buffers.twice(self._records)
            return
        out = self._out
        if (
            state[OUT] > len(out.volumes) // 2
            or state[OUT_CORNERS] > len(out.vertices) // 2
            or state[OUT_FACETS] > len(out.labels) // 2
        ):
            self._take_batch()
        if code in (DONE, UNSURE_FULL) and state[UNSURE]:
            self._decide_unsure(stop)

    def _decide_unsure(self, stop: Callable[[], bool]) -> None:
        """Finish the layer of every unsure cell exactly; its parts become seeds again."""
        state, exact = self._state, self._exact
        self._doubtful = True
        self._stats.unsure_cells += int(state[UNSURE])
        found = buffers.unsure_cells(self._task.program, self._unsure, state)
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

    def _take_batch(self) -> None:
        """The kernel's regions."""
        state = self._state
        if not self._task.store or state[OUT] == 0:
            return
        self._take_finished()
        n, corners, facets = state[OUT], state[OUT_CORNERS], state[OUT_FACETS]
        if self._task.plane:
            facets = corners
        self._add(self._out, (int(n), int(corners), int(facets)))
        state[OUT] = state[OUT_CORNERS] = state[OUT_FACETS] = 0

    def _take_finished(self) -> None:
        """Regions that were finished in exact arithmetic."""
        if self._finished:
            task = self._task
            batch = exact_batch(task.program, self._finished, volumes=task.volumes)
            if task.arithmetic == "exact":  # those of the kernels are proved
                self._stats.unproved_witnesses += int((~batch.inside).sum())
            self._add(batch, sizes_of(batch))
            self._finished = []

    def _add(self, batch: Batch, sizes: tuple[int, int, int]) -> None:
        task = self._task
        columns = as_columns(
            batch, task.program.neurons, task.bits, sizes, self._room, task.volumes
        )
        if self._task.program.dimension > 3 and self._doubtful:
            # Cells that come back from exact arithmetic may list a redundant inequality there.
            columns = columns._replace(facet_lines=None, facet_counts=None)
        self._found.append(columns)
