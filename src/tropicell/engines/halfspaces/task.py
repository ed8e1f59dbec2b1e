"""The `halfspaces` engine: all regions in any dimension, from points, Farkas vectors and small LPs.

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
from tropicell.engines import tuning
from tropicell.engines._unit_kernels import COMPLETE, ENDED, GROUPS, NEEDED, TOO_SMALL
from tropicell.engines.column_store import Place
from tropicell.engines.halfspaces import saved
from tropicell.engines.halfspaces._flat import COUNT, EMITTED, flatten_for_halfspaces
from tropicell.engines.halfspaces._search import HalfspacePlan, HalfspaceSearch, HalfspaceTolerance
from tropicell.engines.halfspaces._units import (
    COLUMNS,
    COLUMNS_FULL,
    FRAMES,
    LEFT,
    LEFT_FULL,
    NEED_ROWS,
    PUT,
    RUN,
    UnitOrder,
    UnitPlaces,
    run_unit,
)
from tropicell.engines.units import (
    Arrays,
    Nodes,
    Outcome,
    Unit,
    children,
    first_generation,
    growth_of,
    weight_of,
)
from tropicell.errors import TimeLimitError
from tropicell.geometry.arithmetic import ArithmeticName
from tropicell.network.domains import Domain, resolve
from tropicell.network.network import Network
from tropicell.regions.columns import Columns, PackedPatterns

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
        self.plan = self._remembered(inside, arithmetic, tolerance or HalfspaceTolerance())
        self.flat = self.plan.flat
        self.bits = self.plan.options.bits
        self.kernel = Entry(run_unit)
        # Pivots of a linear program (see `_lp.minimise`) times the size of its table.
        d, n = self.network.n_inputs, len(self.plan.flat.cut_break)
        rows = d + len(self.plan.flat.domain) + n
        self.shared = False
        self.settle: Callable[[float], Place | None] | None = None
        self.slow = (60 + 12 * d) * (d + 1) * rows > _MANY_STEPS

    def _remembered(
        self, domain: Domain, arithmetic: ArithmeticName, tolerance: HalfspaceTolerance
    ) -> HalfspacePlan:
        network = self.network
        a, b = domain.inequalities(network.n_inputs)
        where, few = (a.tobytes(), b.tobytes()), tuning.current.few * self.grain
        flat = network.remember(
            ("halfspaces", *where), lambda: flatten_for_halfspaces(network, domain)
        )

        def make() -> HalfspacePlan:
            check()
            options: dict[str, Any] = {"arithmetic": arithmetic, "tolerance": tolerance}
            return HalfspacePlan(network, flat, **options, store=self.store, few=few)

        key = "halfspaces", *where, arithmetic, tolerance, self.store, few
        plan: HalfspacePlan = network.remember(key, make)
        return plan

    def root(self) -> Unit:
        """The whole domain."""
        lines = np.diff(self.flat.first_cut).tolist()
        regions = growth_of([1, *lines], self.network.n_inputs)[0]
        return Unit(first_generation(regions, self.grain))

    def worker(self) -> HalfspaceWorker:
        """A worker with buffers of its own."""
        return HalfspaceWorker(self)

    def describe(self, unit: Unit) -> tuple[dict[str, Any], Arrays]:
        """A unit as JSON and arrays."""
        nodes = unit.nodes
        arrays = {} if nodes is None else saved.frame_arrays(self.flat, nodes)
        if not self.store:
            arrays.pop("vertex", None)
        return {"generation": unit.generation, "weight": unit.weight}, arrays

    def restored(self, described: dict[str, Any], arrays: Arrays) -> Unit:
        """A unit from a file, checked."""
        nodes = saved.frame_nodes(self.flat, arrays, store=self.store) if arrays else None
        return Unit(int(described["generation"]), nodes, weight=weight_of(described))


class HalfspaceWorker:
    """Runs units of a `HalfspaceTask`."""

    def __init__(self, task: HalfspaceTask) -> None:
        self._task = task
        self._unproved = 0
        self._no_nodes = Nodes(saved.frames(task.flat, 0, 0, store=task.store), 0, 0)
        self._room_for_left(frames=64, points=512)
        self._new_columns()
        self._search = HalfspaceSearch(task.plan)
        self._result = self._search.work.result

    def _room_for_left(self, frames: int, points: int) -> None:
        """Room for what is left of a unit."""
        task = self._task
        self._left = saved.frames(task.flat, frames, points, store=task.store)
        self._weights = np.empty(frames)

    def _new_columns(self, least: int = 0) -> None:
        """Buffers for regions: further ones go behind those that are there."""
        task = self._task
        rows = max(least, tuning.current.batch_regions) if task.store else 0
        width = PackedPatterns.words_for(task.network.n_neurons, task.bits)
        self._words = np.empty((rows, width), np.uint64)
        self._witnesses = np.empty((rows, task.network.n_inputs))
        self._used = 0

    def _call(self, mode: int, limit: int = 0, nodes: Nodes | None = None, unsure: int = -1) -> int:
        """Let the kernel do some steps (see `_units`) with a unit; returns why it ended."""
        search, visits = self._search, tuning.current.visits
        order = UnitOrder(mode, limit, visits, unsure, nodes or self._no_nodes)
        columns = self._words, self._witnesses, self._used
        places = UnitPlaces(self._left, self._weights, *columns)
        return int(self._task.kernel(search.flat, search.work, search.options, order, places))

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
        search, nodes = self._search, unit.nodes
        decided = search.exact_decisions
        if nodes is None:
            search.start()
        else:
            search.complete = search.paused = search.rewritten = False
            code = self._put(nodes, limit)
            if code in (ENDED, COLUMNS_FULL, LEFT_FULL) and not search.rewritten:
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
        left = [] if search.complete else self._children(self._call(LEFT), unit.generation + 1)
        return Outcome(columns, search.count, left)

    def _put(self, nodes: Nodes, limit: int) -> int:
        """Begin with the frames of a unit; all is done in one call unless something is needed."""
        mode, unsure, search = PUT | RUN | COLUMNS | LEFT, -1, self._search
        while True:
            code = self._call(mode, limit, nodes, unsure)
            if code == NEED_ROWS:
                unsure = int(self._result[NEEDED])
                search.write_rows(unsure)
                mode = PUT | RUN  # witnesses will be looked at
            elif code == TOO_SMALL:
                search.grow()
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

    def _end(self, code: int, unit: Unit) -> Outcome:
        """What the kernel has written."""
        count, n = (int(self._search.work.state[place]) for place in (COUNT, EMITTED))
        if code == COLUMNS_FULL:
            self._new_columns(least=n)
            code = self._call(COLUMNS | LEFT)
        columns = [self._columns(n)] if n else []
        return Outcome(columns, count, self._children(code, unit.generation + 1))

    def _children(self, code: int, generation: int) -> list[Unit]:
        """The frames as units, after the kernel has written them or ended by `code`."""
        frames, points = self._result[NEEDED : NEEDED + 2].tolist()
        if code == LEFT_FULL:
            self._room_for_left(2 * frames, 2 * points)
            self._call(LEFT)
        if not self._result[GROUPS]:
            return []
        return children(self._left.part(0, frames), frames, self._result, generation, False)

    def _take(self, columns: list[Columns]) -> None:
        """Regions whose witnesses are looked at first."""
        batch = self._search.batch()
        n = len(batch.margins)
        if not n:
            return
        # A margin of 0: the witness is a rounded exact point, which may not be inside any more.
        self._unproved += n - int(np.count_nonzero(batch.margins))
        if self._used + n > len(self._words):
            self._new_columns(least=n)
        rows = slice(self._used, self._used + n)
        neurons = self._task.network.n_neurons
        packed = PackedPatterns.pack(batch.patterns[:, :neurons], self._task.bits)
        self._words[rows], self._witnesses[rows] = packed.words, batch.witnesses
        columns.append(self._columns(n))

    def _columns(self, n: int) -> Columns:
        """The n regions that were written to the buffers."""
        rows = slice(self._used, self._used + n)
        self._used = rows.stop
        packed = PackedPatterns(self._words[rows], self._task.network.n_neurons, self._task.bits)
        return Columns(packed, self._witnesses[rows])
