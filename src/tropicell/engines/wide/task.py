"""The `wide` engine: regions in bounded boxes and balls, whatever the number of inputs.

Neurons that can't change their piece leave first (`reduction`); the few others are decided one
after the other (`_search`). What it costs depends on those few, not on the network's size.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from tropicell._runtime.interruption import Halt, current
from tropicell._runtime.jit import Entry
from tropicell.engines.column_store import Place
from tropicell.engines.units import Arrays, Nodes, Outcome, Unit, need, weight_of
from tropicell.engines.wide._exact import ExactDomain, OpenRows, rounded
from tropicell.engines.wide._programs import program
from tropicell.engines.wide._search import (
    ANSWER,
    ASKED,
    BELOW,
    COUNT,
    CROSSED,
    CUT,
    DOUBT,
    EMITTED,
    ENOUGH,
    FRAMES,
    FULL,
    HALTED,
    LIST,
    LISTED,
    LPS,
    OPEN,
    ROWS,
    STATE,
    Cells,
    Flat,
    Found,
    Points,
    judge,
    search,
    start,
)
from tropicell.engines.wide.reduction import Reduced, reduce_network
from tropicell.errors import InvalidDomainError, TimeLimitError
from tropicell.geometry.arithmetic import ArithmeticName
from tropicell.network.domains import Domain, WholeSpace, resolve
from tropicell.network.network import Network
from tropicell.regions.columns import Columns, PackedPatterns

_NORMS = {"linf": 0, "l1": 1, "l2": 2}

#: Regions for which a worker has room before it hands them over.
_ROOM = 256

#: With more cuts, factors of earlier proofs are not kept.
_MANY_CUTS = 1024

#: Regions (and exact decisions) that a unit has at least.
_GRAIN = 8


class WideNodes(NamedTuple):
    """Nodes that wait: the decisions of their cuts, and points strictly inside.

    Attributes
    ----------
    decisions : ndarray of uint8, shape (nodes, cuts)
    points : ndarray, shape (nodes, inputs)
        NaN where no point is known.
    """

    decisions: NDArray[np.uint8]
    points: NDArray[np.float64]

    def part(self, first: int, last: int) -> WideNodes:
        """Copies of some nodes."""
        return WideNodes(self.decisions[first:last].copy(), self.points[first:last].copy())


class WidePlan:
    """What all workers share: the reduced network as arrays, and exact rows when needed."""

    def __init__(self, network: Network, domain: Domain) -> None:
        reduced = reduce_network(network, domain)
        if reduced is None:
            raise InvalidDomainError(
                f"the engine 'wide' is for bounded boxes and balls, not for {domain!r}; "
                "use 'cells' or 'halfspaces'"
            )
        self.reduced: Reduced = reduced
        self.rows = OpenRows(network, reduced)
        counts = reduced.high_piece - reduced.low_piece
        m = len(counts)
        self.cut_neuron = np.repeat(np.arange(m), counts)
        number = np.arange(len(self.cut_neuron)) - np.repeat(np.cumsum(counts) - counts, counts)
        self.cut_break = reduced.breakpoints[
            self.cut_neuron, reduced.low_piece[self.cut_neuron] + number
        ]
        names, first = np.unique(reduced.layers, return_index=True)
        self.first_neuron = np.append(first, m).astype(np.int64)
        order = np.searchsorted(names, reduced.layers)
        self.cut_layer = order[self.cut_neuron].astype(np.int64)
        ends = np.concatenate([[0], np.cumsum(counts)])
        self.first_cut = ends[self.first_neuron].astype(np.int64)

    @cached_property
    def domain(self) -> ExactDomain:
        """For exact decisions."""
        return ExactDomain(self.reduced.frame)

    def flat(self, halt: Halt | None) -> Flat:
        """The arrays that kernels read."""
        reduced, frame = self.reduced, self.reduced.frame
        return Flat(
            reduced.rows,
            reduced.values,
            reduced.links,
            reduced.errors,
            reduced.slopes,
            reduced.intercepts,
            reduced.low_piece,
            self.cut_neuron,
            self.cut_break,
            self.cut_layer,
            self.first_neuron,
            self.first_cut,
            frame.center,
            frame.scale,
            frame.low,
            frame.high,
            _NORMS[frame.norm],
            np.zeros(1, np.uint8) if halt is None else halt.flag,
        )


class WideTask:
    """The wide engine on a network and a domain; see `tropicell.engines.units.Task`.

    Parameters
    ----------
    network : Network
    domain : Domain
        A bounded `Box`, or a `Ball`.
    arithmetic : {"exact", "float"}
        It is exact in either case.
    store : bool
        False: count only.

    Examples
    --------
    >>> from tropicell import Box
    >>> task = WideTask(Network.mlp([np.eye(6), np.ones((1, 6))]), Box(-1, 1))
    >>> outcome = task.worker().run(task.root(), 1000, lambda: False)
    >>> outcome.count, outcome.left
    (64, [])
    """

    slow = True
    shared = False
    settle: Callable[[float], Place | None] | None = None
    grain = _GRAIN

    def __init__(
        self,
        network: Network,
        domain: Domain | None = None,
        arithmetic: ArithmeticName = "exact",
        *,
        store: bool = True,
    ) -> None:
        self.network, inside = resolve(network, WholeSpace() if domain is None else domain)
        self.store = store
        self.plan: WidePlan = self.network.remember(
            ("wide", inside.key(self.network.n_inputs)), lambda: WidePlan(self.network, inside)
        )
        self.bits = PackedPatterns.bits_for(self.network.pieces)

    def root(self) -> Unit:
        """The whole domain."""
        few = len(self.plan.cut_neuron) <= 12
        return Unit(2 if few else 0)

    def worker(self) -> WideWorker:
        """A worker with buffers of its own."""
        return WideWorker(self)

    def describe(self, unit: Unit) -> tuple[dict[str, Any], Arrays]:
        """A unit as JSON and arrays."""
        arrays: Arrays = {}
        if unit.nodes is not None:
            arrays = unit.nodes.arrays.part(unit.nodes.first, unit.nodes.last)._asdict()
        return {"generation": unit.generation, "weight": unit.weight}, arrays

    def restored(self, described: dict[str, Any], arrays: Arrays) -> Unit:
        """A unit from a file, checked."""
        nodes = None
        if arrays:
            need(set(arrays) == set(WideNodes._fields), f"arrays {sorted(arrays)}")
            decisions, points = (np.array(arrays[name], order="C") for name in WideNodes._fields)
            cuts, n = len(self.plan.cut_neuron), self.network.n_inputs
            need(decisions.dtype == np.uint8 and decisions.shape[1:] == (cuts,), "decisions")
            need(points.dtype == np.float64 and points.shape == (len(decisions), n), "points")
            need(((decisions < 4) | (decisions == OPEN)).all(), "decisions")
            nodes = Nodes(WideNodes(decisions, points), 0, len(decisions))
        return Unit(int(described["generation"]), nodes, weight=weight_of(described))


class WideWorker:
    """Runs units of a `WideTask`."""

    def __init__(self, task: WideTask) -> None:
        self._task, plan = task, task.plan
        self._plan = plan
        self._flat = flat = plan.flat(current())
        m, n = flat.rows.shape
        cuts = len(plan.cut_neuron)
        rows = cuts + 3
        columns = (2 * n if flat.norm == 1 else n) + 1
        self._cells = Cells(
            np.empty((m, n)),
            np.empty(m),
            np.empty(m),
            np.empty(m),
            np.empty(m),
            np.zeros(m, np.int64),
            np.zeros(cuts, np.uint8),
            np.zeros(cuts, np.uint8),
            np.zeros(cuts, np.int64),
            np.zeros(cuts, np.int64),
            np.zeros((cuts, cuts) if cuts <= _MANY_CUTS else (0, 0)),
            np.zeros(rows, np.int64),
            np.zeros((rows, columns)),
            np.zeros(rows),
            np.zeros(rows),
            np.zeros(rows),
            np.zeros(rows, np.int64),
            np.zeros(columns),
            np.zeros(STATE, np.int64),
        )
        self._points = Points(
            np.empty((2 * cuts + 4, n)),
            np.empty((2 * cuts + 4, n)),
            np.zeros(LIST, np.int64),
            np.zeros(LIST, np.int64),
            np.empty(n),
            np.empty(n),
            np.zeros(cuts + 1, np.int64),
            np.zeros(cuts + 1, np.int64),
            np.zeros(cuts + 1, np.int64),
            np.zeros(cuts + 1, np.int64),
            np.zeros((cuts + 1, LIST), np.int64),
        )
        self._program = program(rows, columns)
        room = _ROOM if task.store else 0
        self._found = Found(
            np.zeros((room, m), np.uint8), np.zeros((room, n)), np.zeros(room, bool)
        )
        self._search, self._start = Entry(search), Entry(start)
        self._decisions = self._others = self._unproved = self._lps = self._nodes = 0

    def stats(self) -> dict[str, Any]:
        """What all units have cost."""
        return {
            "exact_decisions": self._decisions,
            "second_opinions": self._others,
            "unproved_witnesses": self._unproved,
            "lps": self._lps + int(self._cells.state[LPS]),
            "pivots": int(self._program.counts[0]),
            "nodes": self._nodes,
        }

    def run(self, unit: Unit, limit: int, stop: Callable[[], bool]) -> Outcome:
        """Search until `limit` regions are found, or all of the unit is done."""
        columns: list[Columns] = []
        counts = [0]
        try:
            left = self._run(unit, limit, stop, columns, counts)
        except TimeLimitError:  # in the middle of an exact decision
            left = None
        if left is None:
            self._take(columns, patient=False)
        return Outcome(columns, counts[0] + int(self._cells.state[COUNT]), left)

    def _run(
        self,
        unit: Unit,
        limit: int,
        stop: Callable[[], bool],
        columns: list[Columns],
        counts: list[int],
    ) -> list[Unit] | None:
        nodes = self._nodes_of(unit)
        self._cells.state[COUNT] = self._cells.state[EMITTED] = 0
        decided = self._decisions
        for at in range(len(nodes.decisions) - 1, -1, -1):
            counts[0] += int(self._cells.state[COUNT])
            self._begin(nodes.decisions[at], nodes.points[at])
            while True:
                most = limit - counts[0] - 8 * (self._decisions - decided)
                code = self._search(
                    self._flat, self._cells, self._points, self._program, self._found, most
                )
                if code == FULL:
                    self._take(columns)
                elif code == DOUBT:
                    if stop():
                        return None
                    self._answer()
                elif code == HALTED or stop():
                    return None
                else:
                    break
            if code == ENOUGH or (at > 0 and counts[0] + self._cells.state[COUNT] >= limit):
                self._take(columns)
                return self._left(nodes, at, code == ENOUGH, unit.generation + 1)
        self._take(columns)
        return []

    def _nodes_of(self, unit: Unit) -> WideNodes:
        """The nodes of a unit, the next one last."""
        if unit.nodes is not None:
            return unit.nodes.arrays.part(unit.nodes.first, unit.nodes.last)  # type: ignore[no-any-return]
        cuts = len(self._plan.cut_neuron)
        center = self._flat.center[None]
        return WideNodes(np.full((1, cuts), OPEN, np.uint8), center.copy())

    def _begin(self, decisions: NDArray[np.uint8], point: NDArray[np.float64]) -> None:
        emitted, lps = int(self._cells.state[EMITTED]), int(self._cells.state[LPS])
        self._lps += lps
        self._nodes += 1
        has_point = bool(np.isfinite(point).all())
        self._start(
            self._flat, self._cells, self._points, self._program, decisions, point, has_point
        )
        self._cells.state[EMITTED] = emitted

    def _left(self, nodes: WideNodes, at: int, begun: bool, generation: int) -> list[Unit]:
        """What is left: the node that was begun, in parts, and those that wait below it."""
        cells, points, flat = self._cells, self._points, self._flat
        decisions, inside = [*nodes.decisions[:at]], [*nodes.points[:at]]
        if begun:
            nowhere = np.full(flat.rows.shape[1], np.nan)
            for frame in range(int(cells.state[FRAMES])):
                cut = int(points.frame_cut[frame])
                row = np.full(len(cells.decision), OPEN, np.uint8)
                row[:cut], row[cut] = cells.decision[:cut], CROSSED | 1
                decisions.append(row)
                count = int(points.frame_count[frame])
                inside.append(points.x[points.frame_list[frame, 0]].copy() if count else nowhere)
            # The node that comes next has been taken off the stack already.
            cut = int(cells.state[CUT])
            row = np.full(len(cells.decision), OPEN, np.uint8)
            row[:cut] = cells.decision[:cut]
            decisions.append(row)
            listed = int(cells.state[LISTED])
            inside.append(points.x[points.current[0]].copy() if listed else nowhere)
        arrays = WideNodes(np.array(decisions), np.array(inside))
        units = []
        for k in range(len(decisions) - 1, -1, -1):
            undecided = int((arrays.decisions[k] == OPEN).sum())
            weight = 2.0 ** min(undecided, 50)
            units.append(Unit(generation, Nodes(arrays, k, k + 1), weight=weight))
        return units

    # --- exact decisions ----------------------------------------------------------------------

    def _answer(self) -> None:
        """Decide in rationals which sides of a cut the cell has."""
        state = self._cells.state
        cut = int(state[ASKED])
        known = {int(sign) for sign in self._signs(cut)}
        rows: list[Any] | None = None
        sides = 0
        for side, sign in ((2, 1), (1, -1)):
            if sign in known:
                sides |= side
                continue
            if side == 1 and sides == 0:  # one of the two there must be
                sides = 1
                continue
            found = self._second_opinion(cut, sign)
            if not found:
                self._decisions += 1
                rows = self._exact_rows(cut) if rows is None else rows
                found = 1 + self._plan.domain.has(rows, sign * self._exact_cut(cut))
            sides |= side * (found - 1)
        state[ANSWER] = sides

    def _second_opinion(self, cut: int, sign: int) -> int:
        """Whether HiGHS finds what our own method did not: 1 the cell is not there, 2 it is.

        Its factors and its point are judged like ours; 0: nothing is proved.
        """
        flat, cells, memory = self._flat, self._cells, self._program
        i = int(flat.cut_neuron[cut])
        if flat.norm == _NORMS["l2"] or not np.isfinite(cells.error[i]):
            return 0
        self._others += 1
        k, row = int(cells.state[ROWS]), sign * cells.row[i]
        if flat.norm == _NORMS["l1"]:
            k, row = k + 1, np.concatenate([row, -row]) / 2
        columns = len(row)
        sizes = cells.size[:k]
        rows = cells.G[:k, :columns] / sizes[:, None]
        found = linprog(-row, A_ub=-rows, b_ub=cells.v[:k] / sizes, bounds=(-1, 1))
        if found.status != 0 or found.x is None:
            return 0
        memory.lam[:k] = np.maximum(0.0, -found.ineqlin.marginals) / sizes
        memory.eta[:columns] = found.x
        side = 1 if sign > 0 else 0
        if judged := int(judge(flat, cells, self._points, memory, cut, side)):
            return judged
        # The cell's own point may be too close to a row: the middle of the part on this side.
        value = sign * (cells.value[i] - flat.cut_break[cut])
        size = np.abs(row).sum() + abs(value) + 1e-200
        table = np.column_stack([np.vstack([-rows, -row / size]), np.ones(k + 1)])
        right = np.append(cells.v[:k] / sizes, value / size)
        goal = np.append(np.zeros(columns), -1.0)
        bounds = [(-1.0, 1.0)] * columns + [(0.0, 1.0)]
        found = linprog(goal, A_ub=table, b_ub=right, bounds=bounds)
        if found.status != 0 or found.x is None or not found.x[-1] > 0.0:
            return 0
        memory.lam[:k] = 0.0
        memory.eta[:columns] = found.x[:columns]
        return int(judge(flat, cells, self._points, memory, cut, side))

    def _signs(self, cut: int) -> NDArray[np.int64]:
        """The sides on which points are known to be."""
        cells, flat, points = self._cells, self._flat, self._points
        i, listed = int(flat.cut_neuron[cut]), int(cells.state[LISTED])
        inside = points.delta[points.current[:listed]]
        values = cells.value[i] - flat.cut_break[cut] + inside @ cells.row[i]
        error = cells.error[i] + 1e-15 * abs(flat.cut_break[cut])
        return np.asarray(np.sign(values[np.abs(values) > error]), np.int64)

    def _exact_cut(self, cut: int) -> Any:
        """A cut on the current cell, as an exact row."""
        flat, cells = self._flat, self._cells
        pieces = self._plan.reduced.low_piece.copy()
        before = int(self._plan.first_cut[flat.cut_layer[cut]])
        np.add.at(pieces, flat.cut_neuron[:before], cells.decision[:before] & 1)
        row = self._plan.rows.on_cell(int(flat.cut_neuron[cut]), pieces).copy()
        row[-1] = row[-1] - _exactly(flat.cut_break[cut])
        return row

    def _exact_rows(self, cut: int) -> list[Any]:
        """The rows of the current cell, positive inside."""
        rows = []
        for j in np.flatnonzero(self._cells.decision[:cut] & CROSSED).tolist():
            below = self._cells.decision[j] & 1 == BELOW
            row = self._exact_cut(j)
            rows.append(-row if below else row)
        return rows

    # --- regions ------------------------------------------------------------------------------

    def _take(self, columns: list[Columns], *, patient: bool = True) -> None:
        """Hand over the regions that wait in the buffers."""
        n = int(self._cells.state[EMITTED])
        self._cells.state[EMITTED] = 0
        if not n:
            return
        reduced, found = self._plan.reduced, self._found
        patterns = np.repeat(reduced.base[None], n, axis=0)
        patterns[:, reduced.neurons] = found.pieces[:n]
        witnesses = found.points[:n].copy()
        for k in np.flatnonzero(~found.proved[:n]).tolist():
            self._unproved += 1
            witnesses[k] = self._witness(found.pieces[k]) if patient else self._flat.center
        columns.append(Columns(PackedPatterns.pack(patterns, self._task.bits), witnesses))

    def _witness(self, pieces: NDArray[np.uint8]) -> NDArray[np.float64]:
        """A point of a region, found in rationals and rounded."""
        plan = self._plan
        rows = []
        for cut, i in enumerate(plan.cut_neuron.tolist()):
            row = plan.rows.on_cell(i, pieces).copy()
            row[-1] = row[-1] - _exactly(plan.cut_break[cut])
            if (row[:-1] != 0).any():
                first = int(np.searchsorted(plan.cut_neuron, i))
                above = pieces[i] - plan.reduced.low_piece[i] > cut - first
                rows.append(row if above else -row)
        return rounded(plan.domain.point(rows))


def _exactly(value: float) -> Any:
    from tropicell.geometry.arithmetic import to_rationals  # noqa: PLC0415

    return to_rationals(value).item()
