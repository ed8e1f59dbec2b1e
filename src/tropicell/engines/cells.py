"""The cells engine: cut convex cells layer by layer, neuron by neuron, depth first.

Every cell is kept by its corners and rays, so bounded and unbounded regions are one case, and
vertices, volumes and facets come for free. Good for 1 to about 5 inputs: the number of
corners of a cell grows fast with the dimension.

In exact arithmetic, the kernels decide a sign only where a proved error bound allows it (see
docs/error-bound.md); cells with a sign in doubt are finished for one layer in integers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from tropicell.arithmetic import ArithmeticName
from tropicell.columns import PackedPatterns
from tropicell.domains import Domain, resolve
from tropicell.engines import _cells_buffers as buffers
from tropicell.engines import cells_stack, unit_files
from tropicell.engines._cells_cone import run_cones
from tropicell.engines._cells_maps import enter_layers
from tropicell.engines._cells_plane import run_plane
from tropicell.engines._cells_result import as_columns, exact_batch
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
from tropicell.engines._exact_cells import MOST_FACETS, ExactCell, ExactCells
from tropicell.engines.batch import Columns
from tropicell.engines.program import Program, compile_program, is_tame
from tropicell.engines.units import Arrays, Outcome, Unit, chunks
from tropicell.network import Network

#: The kernel comes back to look at the clock after so many steps.
_STEPS = 50_000
_SEEDS_AT_ONCE = 64

#: In the plane, time goes to the lines of a layer: a unit of networks so wide has the usual limit.
_WIDTH = 640

#: A cell that is finished in exact arithmetic takes as long as so many regions, or longer.
_PRICE = 50


@dataclass(frozen=True)
class Tolerance:
    """What float arithmetic takes for zero.

    Attributes
    ----------
    relative : float
        A row r is taken to vanish at a corner v (in homogeneous, scaled coordinates) where
        ``|r · v| <= relative * |r|_1 * |v|_1``.
    """

    relative: float = 1e-12


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


class _Plan(NamedTuple):
    """What can be made of a network and a domain before a run, and used again by others."""

    program: Program
    exact: ExactCells
    root: ExactCell | None
    tame: bool


def _plan(network: Network, domain: Domain) -> _Plan:
    a, b = domain.inequalities(network.n_inputs)

    def make() -> _Plan:
        program = compile_program(network, domain)
        exact = ExactCells(network, domain, program)
        return _Plan(program, exact, exact.root(), is_tame(network, domain))

    plan: _Plan = network.remember(("cells", a.tobytes(), b.tobytes()), make)
    return plan


def _grain(program: Program, store: bool) -> int:
    """So that a unit takes some milliseconds: see `tropicell.engines.units.Task`."""
    if program.dimension == 2:
        return max(2, min(_WIDTH // max(program.width, 1), 8 if store else 16))
    return 3 if store else 8


class CellTask:
    """The cells engine on a network and a domain; see `tropicell.engines.units.Task`.

    Parameters
    ----------
    network : Network
    domain : Domain, optional
        Default: the whole space. Slices are resolved here.
    arithmetic : {"exact", "float"}
    tolerance : Tolerance, optional
        For float arithmetic.
    store : bool
        False: only count.
    volumes : bool, optional
        Whether to compute volumes; default: up to three dimensions. Otherwise those
        of bounded regions are ``nan``.

    Examples
    --------
    >>> task = CellTask(Network.mlp([[[1.0], [-1.0]], [[1.0, 1.0]]], [[0.0, -1.0], [0.0]]))
    >>> outcome = task.worker().run(task.root(), 100, lambda: False)
    >>> outcome.count, outcome.left
    (3, [])
    """

    def __init__(
        self,
        network: Network,
        domain: Domain | None = None,
        arithmetic: ArithmeticName = "exact",
        *,
        tolerance: Tolerance | None = None,
        store: bool = True,
        volumes: bool | None = None,
    ) -> None:
        network, domain = resolve(network, domain)
        plan = _plan(network, domain)
        self.network = network
        self.program = plan.program
        self.exact_cells = plan.exact
        self.arithmetic = arithmetic
        self.tolerance = (tolerance or Tolerance()).relative
        self.store = store
        self.grain = _grain(plan.program, store)
        self.volumes = network.n_inputs <= 3 if volumes is None else volumes
        self.tame = arithmetic == "float" or plan.tame
        self.plane = network.n_inputs == 2
        self.bits = PackedPatterns.bits_for(network.pieces)
        self._root = plan.root

    def root(self) -> Unit:
        """The whole domain; nothing if it has no interior."""
        return Unit(0, {}, () if self._root is None else (self._root,))

    def worker(self) -> CellWorker:
        """A worker with buffers of its own."""
        return CellWorker(self)

    def describe(self, unit: Unit) -> dict[str, Any]:
        """All of a unit but its arrays, as JSON."""
        return {
            "generation": unit.generation,
            "doubtful": unit.doubtful,
            "cells": [unit_files.cell_to_json(cell) for cell in unit.cells],
        }

    def restored(self, described: dict[str, Any], stack: Arrays) -> Unit:
        """A unit from a file, checked."""
        if stack:
            unit_files.check_cells(self.program, self.network, stack)
        exact = self.exact_cells.copy()
        cells = tuple(
            unit_files.cell_from_json(data, self.program, self.network, exact)
            for data in described["cells"]
        )
        return Unit(int(described["generation"]), stack, cells, bool(described["doubtful"]))


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
            self._add(batch)
            self._finished = []

    def _add(self, batch: Batch, sizes: tuple[int, int, int] | None = None) -> None:
        columns = as_columns(batch, self._task.program.neurons, self._task.bits, sizes)
        if self._task.program.dimension > 3 and self._doubtful:
            # Cells that come back from exact arithmetic may list a redundant inequality there.
            columns = columns._replace(facet_lines=None, facet_counts=None)
        self._found.append(columns)
