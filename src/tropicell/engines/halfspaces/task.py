"""The `halfspaces` engine: all regions in any dimension, from points, certificates and small LPs.

See `tropicell.engines.halfspaces._kernel` for the method and docs/halfspaces-proof.md for what is
proved. This module drives the kernel: buffers, budgets, batches, and exact decisions where
floats prove nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tropicell._runtime.interruption import check
from tropicell._runtime.jit import Entry
from tropicell._runtime.memory import Slab
from tropicell.engines import tuning, unit_files
from tropicell.engines._column_kernels import copy_points, point_sections
from tropicell.engines._unit_kernels import (
    BLOCK_FULL,
    COLUMNS,
    COLUMNS_FULL,
    ENDED,
    GROUPS,
    PUT,
    RUN,
    SIZE,
    STACK,
    TOO_SMALL,
)
from tropicell.engines.halfspaces._kernel import COUNT, EMITTED
from tropicell.engines.halfspaces._program import build_program
from tropicell.engines.halfspaces._search import HalfspacePlan, HalfspaceSearch, HalfspaceTolerance
from tropicell.engines.halfspaces._units import COMPLETE, FRAMES, NEED_ROWS, run_unit
from tropicell.engines.halfspaces.stack import FrameLayout
from tropicell.engines.packed import Packed, source_of
from tropicell.engines.units import (
    Arrays,
    Outcome,
    Unit,
    children,
    few_of,
    first_generation,
    growth_of,
    weight_of,
)
from tropicell.errors import TimeLimitError
from tropicell.geometry.arithmetic import ArithmeticName
from tropicell.network.domains import Domain, resolve
from tropicell.network.network import Network
from tropicell.regions.columns import Columns, PackedPatterns

#: Bytes of a piece of memory for what is left of units: as long as one of them waits, all is kept.
_BLOCK_BYTES = 2**18

#: So many steps of one linear program, the longest that there may be, take more than a tenth of a
#: second.
_MANY_STEPS = 10**8


class HalfspaceTask:
    """The half-spaces engine on a network and a domain; see `tropicell.engines.units.Task`.

    Parameters
    ----------
    network : Network
    domain : Domain, optional
        Default: all of R^n.
    arithmetic : {"exact", "float"}
        "exact": the regions of the float64 weights taken as rationals, on every input.
        "float": decisions within `tolerance`.
    tolerance : HalfspaceTolerance, optional
    store : bool
        False: count only.

    Examples
    --------
    >>> task = HalfspaceTask(Network.mlp([np.eye(6), np.ones((1, 6))]))
    >>> outcome = task.worker().run(task.root(), 1000, lambda: False)
    >>> outcome.count, outcome.left
    (64, [])
    """

    def __init__(
        self,
        network: Network,
        domain: Domain | None = None,
        arithmetic: ArithmeticName = "exact",
        *,
        tolerance: HalfspaceTolerance | None = None,
        store: bool = True,
    ) -> None:
        self.network, inside = resolve(network, domain)
        self.store = store
        self.grain = tuning.current.halfspace_grain[not store]
        self._few = few_of(self.grain)
        self.plan = self._remembered(inside, arithmetic, tolerance or HalfspaceTolerance())
        self.program = self.plan.program
        self.bits = self.plan.options.bits
        self.layout = FrameLayout(self.program, store=store)
        self.columns = (self.network.n_neurons, self.bits, self.network.n_inputs)
        self.kernel = Entry(run_unit)
        # Pivots of a linear program (see `_lp.minimise`) times the size of its table.
        d, n = self.network.n_inputs, len(self.plan.program.cut_break)
        rows = d + len(self.plan.program.domain) + n
        self.slow = (60 + 12 * d) * (d + 1) * rows > _MANY_STEPS

    @property
    def few(self) -> float:
        """Regions expected for which there is a unit: the kernels got it when this was made."""
        return self._few

    def _remembered(
        self, domain: Domain, arithmetic: ArithmeticName, tolerance: HalfspaceTolerance
    ) -> HalfspacePlan:
        network = self.network
        a, b = domain.inequalities(network.n_inputs)
        where = a.tobytes(), b.tobytes()
        program = network.remember(("halfspaces", *where), lambda: build_program(network, domain))

        def make() -> HalfspacePlan:
            check()
            options: dict[str, Any] = {"arithmetic": arithmetic, "tolerance": tolerance}
            return HalfspacePlan(network, program, **options, store=self.store, few=self._few)

        key = "halfspaces", *where, arithmetic, tolerance, self.store, self._few
        plan: HalfspacePlan = network.remember(key, make)
        return plan

    def root(self) -> Unit:
        """The whole domain."""
        lines = np.diff(self.program.first_cut).tolist()
        regions = growth_of([1, *lines], self.network.n_inputs)[0]
        return Unit(first_generation(regions, self.grain), {})

    def worker(self) -> HalfspaceWorker:
        """A worker with buffers of its own."""
        return HalfspaceWorker(self)

    def describe(self, unit: Unit) -> dict[str, Any]:
        """All of a unit but its arrays, as JSON."""
        return {"generation": unit.generation, "weight": unit.weight}

    def restored(self, described: dict[str, Any], stack: Arrays) -> Unit:
        """A unit from a file, checked."""
        if stack:
            unit_files.check_halfspaces(self.program, stack, store=self.store)
        return Unit(int(described["generation"]), stack, weight=weight_of(described))


class HalfspaceWorker:
    """Runs units of a `HalfspaceTask`."""

    def __init__(self, task: HalfspaceTask) -> None:
        self._task = task
        self._unproved = 0
        self._room = Slab()
        self._blocks = Slab(largest=_BLOCK_BYTES)
        self._search = HalfspaceSearch(task.plan)
        self._result = self._search.result
        self._gather()

    def _gather(self) -> None:
        """The arguments of the kernel that stay the same from call to call."""
        search = self._search
        eights = search.work.out.patterns.view(np.uint64)
        self._arguments = (
            *(search.program, search.work, eights, search.certificate, search.options),
            *(search.snap, self._result),
        )

    def _call(
        self, mode: int, limit: int = 0, stack: Packed | None = None, unsure: int = -1
    ) -> int:
        """Let the kernel do some steps (see `_unit_kernels`) with a unit; returns why it ended."""
        room, blocks, task = self._room, self._blocks, self._task
        numbers = limit, tuning.current.visits, mode, unsure
        places = blocks.piece, blocks.used >> 3, room.piece, room.used
        source = source_of(stack, blocks.piece)
        return int(task.kernel(*self._arguments, *numbers, *source, *places))

    def stats(self) -> dict[str, Any]:
        """What all units have cost."""
        return self._search.stats() | {"unproved_witnesses": self._unproved}

    def run(self, unit: Unit, limit: int, stop: Callable[[], bool]) -> Outcome:
        """Search until regions found and pivots are `limit`, or all of the unit is done."""
        columns: list[Columns] = []
        try:
            return self._run(unit, limit, stop, columns)
        except TimeLimitError:  # in the middle of an exact decision
            self._take(columns)
            return Outcome(columns, self._search.count - self._search.dropped, None)

    def _run(
        self, unit: Unit, limit: int, stop: Callable[[], bool], columns: list[Columns]
    ) -> Outcome:
        search, stack = self._search, unit.stack
        decided = search.exact_decisions
        if not stack:
            search.start()
        else:
            if not isinstance(stack, Packed):
                stack = self._task.layout.packed(dict(stack))
            search.complete = search.paused = search.rewritten = False
            code = self._put(stack, limit)
            if code in (ENDED, COLUMNS_FULL, BLOCK_FULL) and not search.rewritten:
                return self._end(code, unit)  # most units do without what follows
            self._look_at(code, limit)
        while not (search.complete or search.paused):
            if stop():
                self._take(columns)
                return Outcome(columns, search.count - search.dropped, None)
            most = limit - tuning.current.price * (search.exact_decisions - decided)
            self._look_at(self._call(RUN, most), most)
            if search.is_full:
                self._take(columns)
        self._take(columns)
        if search.dropped:
            return Outcome(columns, search.count - search.dropped, None)
        left = [] if search.complete else self._children(self._call(STACK), unit.generation + 1)
        return Outcome(columns, search.count, left)

    def _put(self, stack: Packed, limit: int) -> int:
        """Begin with the frames of a unit; all is done in one call unless something is needed."""
        mode, unsure, search = PUT | RUN | COLUMNS | STACK, -1, self._search
        while True:
            code = self._call(mode, limit, stack, unsure)
            if code == NEED_ROWS:
                unsure = int(self._result[SIZE])
                search.write_rows(unsure)
                mode = PUT | RUN  # witnesses will be looked at
            elif code == TOO_SMALL:
                search.grow()
                self._gather()
                mode = mode & ~PUT | FRAMES
            else:
                return code

    def _look_at(self, code: int, limit: int) -> None:
        """Do what the kernel needs to go on."""
        search = self._search
        if code >= ENDED:
            search.complete = bool(self._result[COMPLETE])
            search.paused = not search.complete
        else:
            search.look_at(code, limit)
            self._gather()

    def _end(self, code: int, unit: Unit) -> Outcome:
        """What the kernel has written."""
        state = self._search.work.state.tolist()
        n = state[EMITTED]
        columns = []
        if n:
            if code == COLUMNS_FULL:
                neurons, bits, d = self._task.columns
                size = point_sections(n, PackedPatterns.words_for(neurons, bits), d)[-1]
                self._room.reserve(size)
                code = self._call(COLUMNS | STACK)
            columns.append(self._columns(n))
        return Outcome(columns, state[COUNT], self._children(code, unit.generation + 1))

    def _children(self, code: int, generation: int) -> list[Unit]:
        """The frames as units, after the kernel has written them or ended by `code`."""
        blocks = self._blocks
        if code == BLOCK_FULL:
            blocks.reserve(int(self._result[SIZE]))
            self._call(STACK)
        result = self._result.tolist()
        if not result[GROUPS]:
            return []
        frames = int(blocks.piece.words[blocks.used >> 3])
        return children(self._task.layout, blocks, result, frames, generation, False)

    def _take(self, columns: list[Columns]) -> None:
        """Regions whose witnesses are looked at first."""
        batch = self._search.batch()
        n = len(batch.margins)
        if not n:
            return
        # A margin of 0: the witness is a rounded exact point, which may not be inside any more.
        self._unproved += n - int(np.count_nonzero(batch.margins))
        neurons, bits, d = self._task.columns
        size = point_sections(n, PackedPatterns.words_for(neurons, bits), d)[-1]
        self._room.reserve(size)
        eights = batch.patterns.view(np.uint64)
        where = self._room.piece, self._room.used
        copy_points(batch.patterns, eights, batch.witnesses, n, neurons, bits, *where)
        columns.append(self._columns(n))

    def _columns(self, n: int) -> Columns:
        """The n regions that a kernel has written to the slab."""
        neurons, bits, d = self._task.columns
        width = PackedPatterns.words_for(neurons, bits)
        _, second, size = point_sections(n, width, d)
        room = self._room
        memory, at = room.piece.bytes, room.used
        room.used += size
        words = np.ndarray((n, width), np.uint64, memory, at)
        witnesses = np.ndarray((n, d), np.float64, memory, at + second)
        return Columns(PackedPatterns(words, neurons, bits), witnesses)
