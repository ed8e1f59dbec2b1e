"""Runs units of the cells engine: drives the kernels, and decides exactly where they can't.

What a unit leaves for others is a block of memory, which only the kernels read and write;
`CellLayout` turns it into plain arrays and back, for files and other machines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.interruption import current, using
from tropicell._runtime.memory import Slab, piece_of
from tropicell.engines import tuning
from tropicell.engines._column_kernels import BatchSizes, cell_sections
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
from tropicell.engines.cells._exact_cells import ExactCell
from tropicell.engines.cells._result import as_columns, columns_in, exact_batch, sizes_of
from tropicell.engines.cells._state import (
    CONFLICT_AT,
    CORNER_AT,
    COUNT,
    DONE,
    FACET_AT,
    GROW,
    LAYER,
    MOST_SEED_FACETS,
    N_CONFLICTS,
    N_CORNERS,
    N_FACETS,
    OUT,
    OUT_CORNERS,
    OUT_FACETS,
    PIECES_AT,
    POLYGON_SIZE,
    RECORD_SIZE,
    SEED,
    SPLITS,
    TABLE_END,
    TESTS,
    TOP,
    UNSURE,
    UNSURE_CONFLICTS,
    UNSURE_CORNERS,
    UNSURE_FULL,
    CellBatch,
)
from tropicell.engines.cells._units import (
    BlockParts,
    BlockSizes,
    UnitOrder,
    UnitSource,
    UnitTargets,
    block_parts,
)
from tropicell.engines.packed import Arrays, Packed, source_of
from tropicell.engines.units import Outcome, Unit, children, chunks
from tropicell.errors import TimeLimitError
from tropicell.network.flat import FlatNetwork
from tropicell.regions.columns import Columns

if TYPE_CHECKING:
    from tropicell.engines.cells.task import CellTask

#: Bytes of a piece of memory for what is left of units: as long as one of them waits, all is kept.
BLOCK_BYTES = 2**18


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
        self._columns = Slab()  # where regions go
        self._blocks = Slab(largest=BLOCK_BYTES)  # where goes what is left of units
        self._room = task.room.build()
        halt = current()
        if halt is not None and not task.plane:
            stack = self._room.stack._replace(halt=halt.flag)
            self._room = self._room._replace(stack=stack)
        self._out, self._state, self._result = self._room.out, self._room.state, self._room.result
        self._no_seeds = task.no_seeds
        self._seeds = self._no_seeds
        self._planted: list[ExactCell] = []
        self._waiting: list[ExactCell] = []
        self._finished: list[ExactCell] = []
        self._found: list[Columns] = []
        self._doubtful = False
        # A step is one of all boundaries of a layer: fewer where layers are wide.
        now = tuning.current
        self._steps = now.steps * now.wide_layer // max(now.wide_layer, task.program.width)

    def _call(self, mode: int, most: int = 0, stack: Packed | None = None) -> int:
        """Let the kernel do some steps (see `_unit_kernels`) with a unit; returns why it ended."""
        task, columns, blocks = self._task, self._columns, self._blocks
        code = task.kernel(
            task.program,
            self._room,
            self._seeds,
            task.options,
            UnitOrder(mode, most, self._steps),
            UnitSource(*source_of(stack, blocks.piece)),
            UnitTargets(blocks.piece, blocks.used >> 3, columns.piece, columns.used),
        )
        return int(code)

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
        columns = []
        if state[OUT]:
            form, room = self._task.form, self._columns
            sizes = BatchSizes(state[OUT], state[OUT_CORNERS], state[OUT_FACETS])
            if code == COLUMNS_FULL:
                room.reserve(cell_sections(sizes, form).end)
                code = self._call(COLUMNS | STACK)
            found = columns_in(room, sizes, form, int(self._result[LINES]))
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
        self._room = self._room._replace(stack=buffers.grown(self._room.stack))

    def _costs(self) -> int:
        """What exact arithmetic has cost so far, measured in regions."""
        return tuning.current.price * self._stats.unsure_cells + self._exact.decisions

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
        few = task.plane or len(cell.cone.rows) <= MOST_SEED_FACETS
        return task.tame and cell.cone.pointed and few

    def _plant(self, stop: Callable[[], bool]) -> None:
        """Make seeds of the cells that come next; one that is not fit for it is cut exactly."""
        waiting = self._waiting
        cell = waiting[-1]
        if cell.layer > self._task.program.depth or not self._for_kernel(cell):
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
        found = buffers.unsure_cells(self._task.program, self._room.unsure, state)
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
        sizes = int(state[OUT]), int(state[OUT_CORNERS]), int(state[OUT_FACETS])
        self._add(self._out, BatchSizes(*sizes))
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

    def _add(self, batch: CellBatch, sizes: BatchSizes) -> None:
        columns = as_columns(batch, sizes, self._task.form, self._columns)
        self._found.append(self._without_doubtful_facets(columns))

    def _without_doubtful_facets(self, columns: Columns) -> Columns:
        """Cells that come back from exact arithmetic may list a redundant inequality beyond 3-D."""
        if self._doubtful and self._task.program.dimension > 3:
            return columns._replace(facet_lines=None, facet_counts=None)
        return columns


class CellLayout:
    """See `tropicell.engines.packed.Layout`, and `_units`."""

    def __init__(self, program: FlatNetwork) -> None:
        self._program = program
        self._plane = program.dimension == 2
        self._wide = POLYGON_SIZE if self._plane else program.dimension + 2

    def arrays(self, stack: Packed) -> Arrays:
        """The cells as plain arrays; all places in the records count from 0."""
        program, words, wide = self._program, stack.piece.words, self._wide
        sizes = BlockSizes(*words[stack.at : stack.at + len(BlockSizes._fields)].tolist())
        starts = BlockParts(*(stack.at + start for start in block_parts(sizes, wide)))

        def part(begin: int, end: int, width: int, start: int) -> NDArray[np.int64]:
            return words[start + width * begin : start + width * end].copy()

        records = part(stack.first, stack.last, RECORD_SIZE, starts.records)
        records = records.reshape(-1, RECORD_SIZE)
        first, last = records[0].tolist(), records[-1].tolist()
        corners = first[CORNER_AT], last[CORNER_AT] + last[N_CORNERS]
        conflicts = first[CONFLICT_AT], last[CONFLICT_AT] + last[N_CONFLICTS]
        found: Arrays = {"conflicts": part(*conflicts, 1, starts.conflicts)}
        coordinates = part(*corners, wide, starts.corners).view(np.float64).reshape(-1, wide)
        tags = part(*corners, 1, starts.tags)
        if self._plane:
            found |= {"poly": coordinates, "labels": tags}
        else:
            end = last[TABLE_END]
            facets = first[FACET_AT], last[FACET_AT] + last[N_FACETS]
            found |= {
                "rays": coordinates,
                "tight": tags.view(np.uint64),
                "facets": part(*facets, 1, starts.facets),
                "table": part(0, end, wide, starts.table).view(np.float64).reshape(-1, wide),
                "table_labels": part(0, end, 1, starts.table_labels),
            }
            records[:, FACET_AT] -= first[FACET_AT]
        room, pieces, pattern = stack.piece.bytes, 8 * starts.pieces, 8 * starts.pattern
        end = last[PIECES_AT] + program.layer_width(last[LAYER])
        found["pieces"] = room[pieces + first[PIECES_AT] : pieces + end].copy()
        found["pattern"] = room[pattern : pattern + program.first_neuron(last[LAYER])].copy()
        for place in (CORNER_AT, CONFLICT_AT, PIECES_AT):
            records[:, place] -= first[place]
        found["records"] = records
        return found

    def packed(self, arrays: Arrays) -> Packed:
        """A block of its own for these cells, which were checked."""
        none = np.zeros(0, np.int64)
        corners, tags = ("poly", "labels") if self._plane else ("rays", "tight")
        parts = {
            "records": arrays["records"],
            "corners": arrays[corners],
            "tags": arrays[tags],
            "facets": arrays.get("facets", none),
            "table": arrays.get("table", none),
            "table_labels": arrays.get("table_labels", none),
            "conflicts": arrays["conflicts"],
            "pieces": arrays["pieces"],
            "pattern": arrays["pattern"],
        }
        sizes = BlockSizes(*(len(parts[name]) for name in BlockSizes._fields))
        starts = block_parts(sizes, self._wide)
        piece = piece_of(8 * starts.end)
        piece.words[: starts.records] = 0
        piece.words[: len(sizes)] = sizes
        for name, part in parts.items():
            flat = np.ascontiguousarray(part).reshape(-1).view(np.uint8)
            start = 8 * getattr(starts, name)
            piece.bytes[start : start + len(flat)] = flat
        return Packed(self, piece, 0, 0, sizes.records)
