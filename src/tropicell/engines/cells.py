"""The cells engine: cut convex cells layer by layer, neuron by neuron, depth first.

Every cell is kept by its corners and rays, so bounded and unbounded regions are one case, and
vertices, volumes and facets come for free. Good for 1 to about 5 inputs: the number of
corners of a cell grows fast with the dimension.

In exact arithmetic, the kernels decide a sign only where a proved error bound allows it (see
docs/error-bound.md); cells with a sign in doubt are finished for one layer in integers.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from tropicell.arithmetic import ArithmeticName
from tropicell.columns import PackedPatterns
from tropicell.domains import Domain, resolve
from tropicell.engines import _cells_buffers as buffers
from tropicell.engines._cells_buffers import UnsureCell
from tropicell.engines._cells_cone import run_cones
from tropicell.engines._cells_deal import deal
from tropicell.engines._cells_plane import run_plane
from tropicell.engines._cells_result import as_columns, exact_batch
from tropicell.engines._cells_state import (
    CONFLICTS,
    CORNERS,
    COUNT,
    DONE,
    FACETS,
    GROW,
    OUT,
    OUT_CORNERS,
    OUT_FACETS,
    PATTERNS,
    SEED,
    SHARE,
    SHARE_LAYER,
    SHARES,
    SPLITS,
    STATE_SIZE,
    TESTS,
    TOP,
    UNSURE,
    UNSURE_CONFLICTS,
    UNSURE_CORNERS,
    Batch,
    Seeds,
)
from tropicell.engines._exact_cells import MOST_FACETS, ExactCell, ExactCells
from tropicell.engines.batch import Columns
from tropicell.engines.program import Program, compile_program, is_tame
from tropicell.errors import InvalidInputError
from tropicell.network import Network

#: The kernel comes back to look at the clock after so many steps.
_STEPS = 50_000


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
    seconds : float
        Time spent so far.
    tests, splits : int
        Signs of a line at a corner in floating point; cells cut in two.
    unsure_cells, exact_decisions : int
        Cells for which the error bound did not suffice, and lines that were compared with a cell
        in exact arithmetic (those needed to start on an unbounded domain included).
    unproved_witnesses : int
        Regions so thin that their witness, rounded to float64, may not be inside. A `Region` works
        out an exact one when asked.
    """

    seconds: float = 0.0
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


@dataclass
class CellRun:
    """One enumeration: iterate over `batches`; stop early to stop the enumeration.

    Parameters
    ----------
    network : Network
    domain : Domain, optional
        Default: the whole space. Slices are resolved here.
    arithmetic : {"exact", "float"}
    tolerance : Tolerance
        For float arithmetic.
    store : bool
        False: only count.
    max_regions, max_seconds : optional
        Budgets; `complete` tells whether they sufficed.
    volumes : bool, optional
        Whether to compute volumes; default: up to three dimensions. Otherwise those
        of bounded regions are ``nan``.
    cells : list of ExactCell, optional
        Where to start instead of the domain: cells that another run's `remaining` gave away.
    share : (int, int, int), optional
        ``(layer, k, n)``: of n runs that share the work, this is number k; the cells of the first
        layers up to `layer` are dealt out.

    Attributes
    ----------
    count : int
        Regions found so far.
    complete : bool
        True once everything has been found.
    stats : CellStats

    Examples
    --------
    >>> run = CellRun(Network.mlp([[[1.0], [-1.0]], [[1.0, 1.0]]], [[0.0, -1.0], [0.0]]))
    >>> sum(len(batch.packed) for batch in run.batches() if batch is not None)
    3
    >>> run.count, run.complete
    (3, True)
    """

    network: Network
    domain: Domain | None = None
    arithmetic: ArithmeticName = "exact"
    tolerance: Tolerance = field(default_factory=Tolerance)
    store: bool = True
    max_regions: int | None = None
    max_seconds: float | None = None
    volumes: bool | None = None
    cells: list[ExactCell] | None = None
    share: tuple[int, int, int] | None = None

    #: The kernel starts from so many cells at a time.
    seeds_at_once: ClassVar[int] = 256

    def __post_init__(self) -> None:
        if self.arithmetic not in ("exact", "float"):
            raise InvalidInputError(
                f"arithmetic must be 'exact' or 'float', not {self.arithmetic!r}"
            )
        network, domain = resolve(self.network, self.domain)
        self.count = 0
        self.complete = False
        self.stats = CellStats()
        plan = _plan(network, domain)
        self.program = plan.program
        self._exact = plan.exact.copy()
        self._root = plan.root
        self._tame = self.arithmetic == "float" or plan.tame
        self._plane = network.n_inputs == 2
        self._bits = PackedPatterns.bits_for(network.pieces)
        self._seeds: list[ExactCell] = list(self.cells or [])
        self._started = self.cells is not None
        self._regions: list[ExactCell] = []
        self._state = np.zeros(STATE_SIZE, np.int64)
        self._share_layer, *dealt = self.share or (-1, 0, 1)
        self._state[[SHARE_LAYER, SHARE, SHARES]] = self._share_layer, *dealt

    def batches(self) -> Iterator[Columns | None]:
        """Batches of regions, and None between them as a chance to look at the clock.

        After a budget was spent, raise it and call this again to go on.
        """
        started = time.perf_counter()
        spent = False
        try:
            if not self._started:
                self._plant_root()
            yield from self._flush_exact()
            while self._seeds and not spent:
                if self._over_budget(started):
                    spent = True
                    break
                some = self._seeds[-self.seeds_at_once :]
                del self._seeds[-self.seeds_at_once :]
                for batch, spent in self._grow(some, started):
                    yield batch
                    self.stats.seconds = time.perf_counter() - started
                    if spent:
                        break
            self.complete = not spent
        finally:
            self.stats.seconds = time.perf_counter() - started
            self.stats.exact_decisions = self._exact.decisions

    def rest(self) -> Iterator[Columns]:
        """Regions found and not yet handed over, after the run was broken off."""
        if hasattr(self, "_out"):
            batch = self._take_batch(full=True)
            if batch is not None:
                yield batch
        yield from self._flush_exact()

    def _over_budget(self, started: float) -> bool:
        if self.max_regions is not None and self.count >= self.max_regions:
            return True
        return self.max_seconds is not None and time.perf_counter() - started > self.max_seconds

    def _plant_root(self) -> None:
        """Cut the domain exactly until its parts have corners, and make them seeds."""
        self._started = True
        cells = [] if self._root is None else [self._root]
        while cells:
            self._sort(cells.pop(), cells)

    def _sort(self, cell: ExactCell, more: list[ExactCell]) -> None:
        """A finished region, a seed for the kernel, or a cell that stays exact."""
        exact = self._exact
        if cell.layer == self._share_layer + 1 and not self._is_mine(cell):
            return
        if cell.layer > self.program.depth:
            self.count += 1
            if self.store:
                self._regions.append(cell)
        elif (
            self._tame and cell.cone.pointed and (self._plane or len(cell.cone.rows) <= MOST_FACETS)
        ):
            self._seeds.append(cell)
        else:
            width = self.network.widths[cell.layer - 1]
            lines = exact.lines_of(cell.layer)
            more.extend(
                exact.finish_layer(cell, bytearray(width), lines, stop_when_pointed=self._tame)
            )

    def _is_mine(self, cell: ExactCell) -> bool:
        pieces = np.frombuffer(cell.pattern, np.uint8)
        return bool(deal(pieces, pieces[:0]) % self._state[SHARES] == self._state[SHARE])

    def _grow(
        self, cells: list[ExactCell], started: float
    ) -> Iterator[tuple[Columns | None, bool]]:
        """Run the kernel from some seeds until all below them is done, or a budget is spent."""
        program, state = self.program, self._state
        plane = self._plane
        rows, neurons, d = program.rows, program.neurons, program.dimension
        seeds: Seeds = (
            buffers.plane_seeds(program, cells) if plane else buffers.cone_seeds(program, cells)
        )
        if not hasattr(self, "_stack"):
            self._stack = buffers.plane_stack(program) if plane else buffers.cone_stack(program)
            self._records = np.zeros((256, 11), np.int64)
            self._out = buffers.batch_arrays(program, self.store)
            self._unsure = buffers.unsure_arrays(program)
            self._maps = (
                np.zeros((d + 2, rows)),
                np.zeros((d + 3, rows)),
                np.zeros(neurons, np.uint8),
                np.full(program.depth + 2, -1, np.int64),
            )
        state[SEED] = 0
        most = self.max_regions if self.max_regions is not None else 1 << 62
        volumes = self.volumes if self.volumes is not None else d <= 3
        run = run_plane if plane else run_cones
        while True:
            state[COUNT] = self.count
            code = run(
                program,
                *self._maps,
                self._stack,
                self._records,
                seeds,
                self._out,
                self._unsure,
                state,
                self.arithmetic == "exact",
                self.tolerance.relative,
                self.store,
                volumes,
                most,
                _STEPS,
            )
            self.count = int(state[COUNT])
            self.stats.tests, self.stats.splits = int(state[TESTS]), int(state[SPLITS])
            if code == GROW:
                self._stack = buffers.grown(self._stack)
                self._records = buffers.twice(self._records)
                continue
            self._decide_unsure()
            batch = self._take_batch(full=code == DONE)
            yield batch, False
            yield from ((batch, False) for batch in self._flush_exact())
            if code == DONE:
                return
            if self._over_budget(started):
                self._seeds += cells[int(state[SEED]) :]
                self._seeds += self._take_cells()
                yield self._take_batch(full=True), True
                return

    def remaining(self) -> list[ExactCell]:
        """What is left to do after a budget was spent; give it to other runs to share it."""
        left, self._seeds = self._seeds, []
        return left

    def _take_cells(self) -> list[ExactCell]:
        """Take away all cells that are still on the kernel's stack; see `remaining`."""
        if not hasattr(self, "_stack"):
            return []
        labels = buffers.stacked_labels(self._stack, self._records, self._state, self._plane)
        pattern = self._maps[2].tobytes()
        taken = []
        for layer, names in labels:
            prefix = self.program.first_neuron(layer)
            cone = self._exact.rebuild(layer, pattern[:prefix], names)
            taken.append(ExactCell(layer, pattern[:prefix], cone))
        self._state[[TOP, CORNERS, CONFLICTS, PATTERNS, FACETS]] = 0
        return taken

    def _take_batch(self, *, full: bool) -> Columns | None:
        """The kernel's regions, once there are enough of them."""
        state, out = self._state, self._out
        few = state[OUT] < len(out.volumes) // 2 and state[OUT_CORNERS] < len(out.vertices) // 2
        few = few and state[OUT_FACETS] < len(out.labels) // 2
        if not self.store or state[OUT] == 0 or (few and not full):
            return None
        columns = self._columns(buffers.used_part(out, state, self._plane))
        state[OUT] = state[OUT_CORNERS] = state[OUT_FACETS] = 0
        return columns

    def _columns(self, batch: Batch) -> Columns:
        if self.arithmetic == "exact":
            self.stats.unproved_witnesses += int((~batch.inside).sum())
        columns = as_columns(batch, self._bits)
        if self.program.dimension > 3 and self.stats.unsure_cells:
            # Cells that come back from exact arithmetic may list a redundant inequality there.
            return columns._replace(facet_lines=None, facet_counts=None)
        return columns

    def _decide_unsure(self) -> None:
        """Finish the layer of every cell that the kernel is unsure of."""
        state = self._state
        if state[UNSURE] == 0:
            return
        found = buffers.unsure_cells(self.program, self._unsure, state)
        state[UNSURE] = state[UNSURE_CORNERS] = state[UNSURE_CONFLICTS] = 0
        self._decide(found)

    def _decide(self, found: list[UnsureCell]) -> None:
        """Finish the layer of unsure cells exactly; their parts become seeds again."""
        exact = self._exact
        self.stats.unsure_cells += len(found)
        for layer, pattern, pieces, labels, lines in found:
            cone = exact.rebuild(layer, pattern, labels)
            cell = ExactCell(layer, pattern, cone)
            cells = list(exact.finish_layer(cell, pieces, lines, stop_when_pointed=False))
            while cells:
                self._sort(cells.pop(), cells)

    def _flush_exact(self) -> Iterator[Columns]:
        """Regions that were finished in exact arithmetic."""
        if self._regions:
            wanted = self.volumes if self.volumes is not None else self.program.dimension <= 3
            yield self._columns(exact_batch(self.program, self._regions, volumes=wanted))
            self._regions = []


def count_cells(
    network: Network,
    domain: Domain | None = None,
    *,
    arithmetic: ArithmeticName = "exact",
    tolerance: Tolerance | None = None,
    max_regions: int | None = None,
    max_seconds: float | None = None,
) -> CellRun:
    """Count the regions of a network on a domain, in constant memory.

    Returns
    -------
    CellRun
        Finished; see its `count`, `complete` and `stats`.

    Examples
    --------
    >>> count_cells(Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])).count
    4
    """
    run = CellRun(
        network,
        domain,
        arithmetic,
        tolerance or Tolerance(),
        False,
        max_regions,
        max_seconds,
    )
    for _ in run.batches():
        pass
    return run
