"""Runs units of the cells engine: drives the kernels, and decides exactly where they can't."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tropicell._runtime.interruption import current, using
from tropicell._runtime.memory import Slab
from tropicell.engines._column_kernels import cell_sections
from tropicell.engines._unit_kernels import (
    BLOCK_FULL,
    COLUMNS,
    COLUMNS_FULL,
    ENDED,
    LINES,
    PUT,
    RUN,
    SIZE,
    STACK,
    TOO_SMALL,
)
from tropicell.engines.cells import _buffers as buffers
from tropicell.engines.cells._exact_cells import MOST_FACETS, ExactCell
from tropicell.engines.cells._result import as_columns, columns_in, exact_batch, sizes_of
from tropicell.engines.cells._state import (
    COUNT,
    DONE,
    GROW,
    OUT,
    OUT_CORNERS,
    OUT_FACETS,
    SEED,
    SPLITS,
    TESTS,
    TOP,
    UNSURE,
    UNSURE_CONFLICTS,
    UNSURE_CORNERS,
    UNSURE_FULL,
    CellBatch,
)
from tropicell.engines.packed import Packed, source_of
from tropicell.engines.units import Outcome, Unit, children, chunks
from tropicell.errors import TimeLimitError
from tropicell.regions.columns import Columns, PackedPatterns

if TYPE_CHECKING:
    from tropicell.engines.cells.task import CellTask

#: The kernel comes back to look at the clock after so many steps; fewer of wide layers, since a
#: step is one of all lines of a layer then.
_STEPS, _WIDE = 50_000, 64
_SEEDS_AT_ONCE = 64

#: Bytes of a piece of memory for what is left of units: as long as one of them waits, all is kept.
BLOCK_BYTES = 2**18

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
        self._room = Slab()
        room = task.room.build()
        self._maps, self._stack, self._records, self._out, self._unsure = room[:5]
        halt = current()
        if halt is not None and not task.plane:
            self._stack = self._stack._replace(halt=halt.flag)
        self._state, self._result = room[5:]
        self._no_seeds = task.no_seeds
        self._seeds = self._no_seeds
        self._planted: list[ExactCell] = []
        self._waiting: list[ExactCell] = []
        self._finished: list[ExactCell] = []
        self._found: list[Columns] = []
        self._blocks = Slab(largest=BLOCK_BYTES)
        self._doubtful = False
        self._options = task.options
        self._steps = _STEPS * _WIDE // max(_WIDE, task.flat.width)
        self._gather()

    def _gather(self) -> None:
        """The arguments of the kernel that stay the same from call to call."""
        task, out = self._task, self._out
        self._arguments = (
            *(task.flat, *self._maps, self._stack, self._records, self._seeds, out),
            *(out.patterns.view(np.uint64), self._unsure, self._state, self._result),
            self._options,
        )

    def _call(self, mode: int, most: int = 0, stack: Packed | None = None) -> int:
        """Let the kernel do some steps (see `_unit_kernels`) with a unit; returns why it ended."""
        room, blocks, task = self._room, self._blocks, self._task
        numbers = most, self._steps, mode
        places = blocks.piece, blocks.used >> 3, room.piece, room.used
        source = source_of(stack, blocks.piece)
        return int(task.kernel(*self._arguments, *numbers, *source, *places))

    def stats(self) -> dict[str, Any]:
        """What all units have cost."""
        state = self._state
        self._stats.tests, self._stats.splits = int(state[TESTS]), int(state[SPLITS])
        self._stats.exact_decisions = self._exact.decisions
        return asdict(self._stats)

    def run(self, unit: Unit, limit: int, stop: Callable[[], bool]) -> Outcome:
        """Cut cells until `limit` regions are found, or all of the unit's."""
        try:
            return self._run(unit, limit, stop)
        except TimeLimitError:  # in the middle of an exact decision
            with using(None):
                return Outcome(self._take_all(), int(self._state[COUNT]), None)

    def _run(self, unit: Unit, limit: int, stop: Callable[[], bool]) -> Outcome:
        stack = unit.stack
        self._finished, self._found = [], []
        self._doubtful = unit.doubtful
        self._waiting = list(unit.cells)
        if self._planted:
            self._planted, self._seeds = [], self._no_seeds
            self._gather()
        paid = self._costs()
        if self._waiting or not stack:
            self._empty()
            return self._go_on(unit, limit + paid, stop)
        if not isinstance(stack, Packed):
            stack = self._task.layout.packed(dict(stack))
        while (code := self._call(PUT | RUN | COLUMNS | STACK, limit, stack)) == TOO_SMALL:
            self._grow()
        if code < ENDED:  # most units do without what follows
            self._look_at(code, stop)
            return self._go_on(unit, limit + paid, stop)
        return self._end(code, unit)

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
                self._look_at(self._call(RUN, most), stop)
            else:
                self._plant(stop)
        if state[UNSURE]:
            self._decide_unsure(stop)
        columns = self._take_all()
        if stop():
            return Outcome(columns, int(state[COUNT]), None)
        return Outcome(columns, int(state[COUNT]), self._left(unit.generation + 1))

    def _end(self, code: int, unit: Unit) -> Outcome:
        """What the kernel has written."""
        state = self._state.tolist()
        n, corners = state[OUT], state[OUT_CORNERS]
        columns = []
        if n:
            task, room = self._task, self._room
            sizes = n, corners, corners if task.plane else state[OUT_FACETS]
            neurons, bits, d, volumes = task.columns
            if code == COLUMNS_FULL:
                width = PackedPatterns.words_for(neurons, bits)
                room.reserve(cell_sections(*sizes, width, d, volumes)[-1])
                code = self._call(COLUMNS | STACK)
            lines = int(self._result[LINES])
            found = columns_in(room, neurons, bits, (*sizes, lines), d, volumes)
            columns.append(self._without_doubtful_facets(found))
        return Outcome(columns, state[COUNT], self._children(code, state[TOP], unit.generation + 1))

    def _children(self, code: int, nodes: int, generation: int) -> list[Unit]:
        """The cells on the stack as units, after the kernel has written them or ended by `code`."""
        if not nodes:
            return []
        if code == BLOCK_FULL:
            self._blocks.reserve(int(self._result[SIZE]))
            self._call(STACK)
        result = self._result.tolist()
        layout, blocks = self._task.layout, self._blocks
        return children(layout, blocks, result, nodes, generation, self._doubtful)

    def _grow(self) -> None:
        self._stack = buffers.grown(self._stack)
        self._records = buffers.twice(self._records)
        self._gather()

    def _costs(self) -> int:
        """What exact arithmetic has cost so far, measured in regions."""
        return _PRICE * self._stats.unsure_cells + self._exact.decisions

    def _empty(self) -> None:
        """Nothing is on the stack, and nothing found."""
        state = self._state
        counters = state[[TESTS, SPLITS]]
        state[:] = 0
        state[[TESTS, SPLITS]] = counters

    def _left(self, generation: int) -> list[Unit]:
        """What remains to be done, as new units, in the order in which it would be done."""
        units = self._children(self._call(STACK), int(self._state[TOP]), generation)
        waiting = self._waiting + self._planted[int(self._state[SEED]) :][::-1]
        units += [
            Unit(generation, {}, part, self._doubtful) for part in chunks(waiting, generation)
        ]
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
        if cell.layer > self._task.flat.depth or not self._for_kernel(cell):
            self._place(waiting.pop(), stop)
            return
        self._planted = []
        while waiting and len(self._planted) < _SEEDS_AT_ONCE and self._for_kernel(waiting[-1]):
            self._planted.append(waiting.pop())
        self._seeds = self._task.seeds_of(self._planted)
        self._state[SEED] = 0
        self._gather()

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
        self._state[COUNT] += 1
        if self._task.store:
            self._take_batch()  # first what the kernel found before it
            self._finished.append(cell)

    def _look_at(self, code: int, stop: Callable[[], bool]) -> None:
        """Do what the kernel needs to go on."""
        if code == GROW:
            self._grow()
            return
        state = self._state
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
        found = buffers.unsure_cells(self._task.flat, self._unsure, state)
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
            batch = exact_batch(task.flat, self._finished, volumes=task.volumes)
            if task.arithmetic == "exact":  # those of the kernels are proved
                self._stats.unproved_witnesses += int((~batch.inside).sum())
            self._add(batch, sizes_of(batch))
            self._finished = []

    def _add(self, batch: CellBatch, sizes: tuple[int, int, int]) -> None:
        task = self._task
        columns = as_columns(batch, task.flat.neurons, task.bits, sizes, self._room, task.volumes)
        self._found.append(self._without_doubtful_facets(columns))

    def _without_doubtful_facets(self, columns: Columns) -> Columns:
        """Cells that come back from exact arithmetic may list a redundant inequality beyond 3-D."""
        if self._doubtful and self._task.flat.dimension > 3:
            return columns._replace(facet_lines=None, facet_counts=None)
        return columns
