"""A search by the `halfspaces` engine: buffers, and exact decisions for the kernel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from tropicell._runtime.interruption import check, current
from tropicell._runtime.memory import Blueprint
from tropicell.engines.halfspaces import _kernel as kernel
from tropicell.engines.halfspaces._exact import (
    LpOutcome,
    RationalRows,
    decide,
    interior_point,
    likely_point,
    start_basis,
)
from tropicell.engines.halfspaces._flat import (
    BOTH,
    BY_FARKAS,
    COST,
    COUNT,
    CUT,
    EMITTED,
    FINER,
    LAYER,
    LPS,
    NEGATIVE,
    PHASE,
    PIVOTS,
    POSITIVE,
    SIDE,
    SPLITS,
    STALE,
    TOP_LAYER,
    VISITS,
    HalfspaceNetwork,
    HalfspaceOptions,
    grow,
    make_work,
    with_flag,
)
from tropicell.engines.halfspaces._lp import Dictionary, go_to_basis, load
from tropicell.engines.halfspaces._tree import add_farkas, add_point
from tropicell.engines.halfspaces._units import MARGIN
from tropicell.engines.units import growth_of
from tropicell.errors import InvalidDomainError, TimeLimitError
from tropicell.geometry.arithmetic import FAR, ArithmeticName, to_floats
from tropicell.geometry.rounding import ROUND
from tropicell.network.network import Network
from tropicell.network.patterns import PatternArray
from tropicell.regions.columns import PackedPatterns

#: Regions that the kernel may emit before it returns to Python.
BATCH = 32_768
#: A replaced witness must have its pattern in floats also when moved by this (relative).
_NUDGE = 1e-13


@dataclass(frozen=True)
class HalfspaceTolerance:
    """What counts as zero with ``arithmetic="float"``, relative to the sizes of the summands.

    Attributes
    ----------
    relative : float
        A cut's value at a point is zero if it is below this times the sum of its terms' sizes.
    snap : float
        A coefficient of a composed row is zero if below this times its running bound.
    pivot : float
        Smallest coefficient (rows have size 1) that the simplex method reacts to. It steers the
        search with both arithmetics, but with "exact" nothing is believed because of it.
    """

    relative: float = 1e-10
    snap: float = 1e-12
    pivot: float = 1e-9


class HalfspaceBatch(NamedTuple):
    """Some regions: patterns, a point strictly inside each, and how clearly it is inside.

    A row of patterns is longer than there are neurons; see `_unit_kernels.pattern_rows`.
    A margin is the smallest distance to a boundary, relative to the sizes of the terms that are
    summed up to compute it. It is 0 for a region so thin or far away that the point is an exact
    one, rounded, and need not have the pattern any more when evaluated in floats.
    """

    patterns: PatternArray
    witnesses: NDArray[np.float64]
    margins: NDArray[np.float64]


class HalfspacePlan:
    """What all searches with the same network, domain and options share.

    Parameters are those of `HalfspaceTask`, and its network on its domain as flat arrays.
    """

    def __init__(
        self,
        network: Network,
        flat: HalfspaceNetwork,
        *,
        arithmetic: ArithmeticName,
        tolerance: HalfspaceTolerance,
        store: bool,
        few: float,
    ) -> None:
        self.network = network
        self.flat = flat
        self.exact = arithmetic == "exact"
        bits = PackedPatterns.bits_for(network.pieces)
        depth = network.depth
        self.options = HalfspaceOptions(
            exact=self.exact,
            store=store,
            relative=tolerance.relative,
            pivot=tolerance.pivot,
            bits=bits,
            few=few,
            growth=growth_of(np.diff(flat.first_cut).tolist(), network.n_inputs),
            snap=flat.roundoff.copy() if self.exact else np.full(depth, tolerance.snap),
        )
        self.room = Blueprint(lambda free: make_work(flat, store, BATCH, free))


class HalfspaceSearch:
    """A search that is started anywhere in the tree, and advanced step by step."""

    def __init__(self, plan: HalfspacePlan) -> None:
        self.network = plan.network
        self.flat = plan.flat
        self.exact = plan.exact
        self.options = plan.options
        halt = current()
        self.work = with_flag(plan.room.build(), None if halt is None else halt.flag)
        self.complete = False
        self.paused = False
        self.exact_decisions = 0
        self.rewritten = False
        self.dropped = 0

    @cached_property
    def _rows(self) -> RationalRows:
        """Made when first needed, which most workers never do."""
        return RationalRows(self.network, self.flat.domain)

    @property
    def count(self) -> int:
        """Regions found so far."""
        return int(self.work.state[COUNT])

    def stats(self) -> dict[str, float]:
        """What the search has cost: linear programs, pivots, exact decisions."""
        state = self.work.state
        return {
            "lps": int(state[LPS]),
            "pivots": int(state[PIVOTS]),
            "lps_avoided": int(state[BY_FARKAS] + state[SPLITS]),
            "finer_decisions": int(state[FINER]),
            "exact_decisions": self.exact_decisions,
            "nodes": int(state[VISITS]),
        }

    def look_at(self, why: int, limit: int) -> None:
        """Do what the kernel needs to go on."""
        state = self.work.state
        if why == kernel.DONE:
            self.complete = True
        elif why == kernel.GROW:
            self.grow()
        elif why == kernel.NEED_CONSTANT:
            self._decide_constant()
        elif why == kernel.NEED_EXACT:
            self._decide_cut()
        elif state[COST] >= limit and state[PHASE] == kernel.BACK:
            self.paused = True

    def grow(self) -> None:
        """Make room for more points."""
        self.work = grow(self.work)

    @property
    def is_full(self) -> bool:
        """Whether the batch should be taken before going on."""
        return bool(self.work.state[EMITTED] + kernel.MOST_EMITTED > BATCH)

    def batch(self) -> HalfspaceBatch:
        """Take what was found since the last call; it is there until the search goes on.

        If the time is over, regions whose witness is not proved are `dropped`.
        """
        n = int(self.work.state[EMITTED])
        self.work.state[EMITTED] = 0
        out = self.work.out
        found = HalfspaceBatch(out.patterns[:n], out.witnesses[:n], out.margins[:n])
        if self.rewritten and n:
            patterns = found.patterns[:, : self.network.n_neurons]
            wrong = (self._patterns(found.witnesses) != patterns).any(axis=1)
            found.margins[wrong] = 0.0
        doubtful = np.flatnonzero(found.margins < MARGIN)
        for done, k in enumerate(doubtful.tolist()):
            try:
                self._better_witness(found, k)
            except TimeLimitError:
                self.dropped += len(doubtful) - done
                return HalfspaceBatch._make(
                    np.delete(column, doubtful[done:], axis=0) for column in found
                )
        return found

    # --- the beginning ------------------------------------------------------------------------

    def reset(self) -> None:
        """Forget where the search is; only counters of costs are kept."""
        self.complete = self.paused = self.rewritten = False
        now = [COST, COUNT, EMITTED, CUT, SIDE]
        self.work.state[now] = 0

    def start(self) -> None:
        """Start at the root: the whole domain."""
        self.reset()
        work, d = self.work, self.network.n_inputs
        sign = [0] * d + [1] * len(self.flat.domain)
        if self.network.depth == 0:
            point = interior_point(self._rows.first, sign)
            if point is None:
                raise InvalidDomainError("the domain has no interior points")
            self.complete = True
            work.state[COUNT] = 1
            if self.options.store:
                work.state[EMITTED] = 1
                work.out.witnesses[0] = to_floats(np.array(point, dtype=object))
                work.out.margins[0] = 1.0
            return
        basis = start_basis(self._rows.first, sign)
        if basis is None:
            raise InvalidDomainError("the domain has no interior points")
        work.table.sign[0, : len(sign)] = sign
        work.table.start[0] = basis
        work.state[LAYER] = work.state[TOP_LAYER] = 0
        work.state[PHASE] = kernel.ENTER

    def write_rows(self, layer: int) -> None:
        """Make the rows of a layer exactly, on the cell of the current pieces."""
        base = self.flat.cuts_at
        first, last = self.flat.first_cut[layer : layer + 2].tolist()
        rows = self._rows.up_to(layer, self.work.maps.piece)
        self._write_exact_rows(rows, range(base + first, base + last))

    def _order(self, cut: int) -> int:
        """Which breakpoint of its neuron a cut is."""
        return int(cut - self.flat.neuron_cut[self.flat.cut_neuron[cut]])

    # --- exact decisions ----------------------------------------------------------------------

    def _write_exact_rows(self, rows: list[list[Any]], which: range) -> None:
        """Round exact rows to floats: each entry is then right to one rounding."""
        work = self.work
        self.rewritten = True
        for i in which:
            check()
            row = rows[i]
            size = max(abs(q) for q in row[1:])
            numbers = [q / size for q in row] if size else [(row[0] > 0) - (row[0] < 0), *row[1:]]
            rounded = _rounded(numbers)
            cut = i - self.flat.cuts_at
            work.maps.constant[i] = size == 0
            work.maps.ignored[i] = size == 0 or self.flat.twin[cut] != cut
            if rounded is None:  # no float proof will use this row
                work.maps.rows[i], work.maps.bounds[i], work.maps.row_error[i] = 0.0, np.inf, np.inf
            else:
                work.maps.rows[i], work.maps.bounds[i] = rounded, np.abs(rounded)
                work.maps.row_error[i] = 4.0 * ROUND

    def _decide_constant(self) -> None:
        """Find out exactly which cuts of a new layer are constant, then begin it."""
        flat, work = self.flat, self.work
        layer = int(work.state[LAYER])
        self.write_rows(layer)
        self.exact_decisions += 1
        kernel.begin(flat, work, self.options, layer)
        work.state[PHASE] = kernel.NODE

    def _decide_cut(self) -> None:
        """Find out exactly whether a cut crosses the node; add a Farkas vector or points."""
        flat, work = self.flat, self.work
        layer, d = int(work.state[LAYER]), self.network.n_inputs
        b, side = int(work.state[CUT]), int(work.state[SIDE])
        rows = self._rows.up_to(layer, work.maps.piece)
        first_row = flat.cuts_at + int(flat.first_cut[layer])
        sign = [int(s) for s in work.table.sign[layer, : len(rows)]]
        # Where floats ended: mostly this is the right place, and only the proof is missing.
        basis = work.table.nonbasic[layer, 1:].tolist()
        known = work.tree.known[layer]
        self.exact_decisions += 1
        for s in (side, -side):
            mine, other = (POSITIVE, NEGATIVE) if s > 0 else (NEGATIVE, POSITIVE)
            if _get_bit(known[other], b):
                continue  # a point is already known there
            try:
                outcome = decide(rows, sign, first_row + b, s, basis)
            except ArithmeticError:
                if self.exact:
                    raise
                outcome = LpOutcome(True)  # the node is there within the tolerance only
            work.tree.found[:] = 0
            if outcome.forced:
                for row in outcome.support:
                    if row >= first_row:
                        _set_bit(work.tree.found[_side(sign[row])], row - first_row)
                add_farkas(work.tree, layer, b, mine)
                _set_bit(work.tree.decided[layer, mine], b)
                return
            table = outcome.dictionary
            assert table is not None
            self._go_to(layer, outcome.basis, len(rows))
            for i in range(first_row, len(rows)):
                check()
                value = rows[i][0] + sum(
                    (q * x for q, x in zip(rows[i][1:], outcome.point, strict=True)), rows[i][0] * 0
                )
                if value != 0 and not work.maps.ignored[i]:
                    _set_bit(work.tree.found[_side(value)], i - first_row)
            add_point(work.tree, work.table, layer, d, self.options.store)
            self._add_vertex_if_simple(layer, first_row, table.rows, sign)

    def _add_vertex_if_simple(
        self, layer: int, first_row: int, values: list[list[Any]], sign: list[int]
    ) -> None:
        """The vertex itself, if it lies in the node and no further row vanishes there."""
        work, d = self.work, self.network.n_inputs
        nonbasic = set(work.table.nonbasic[layer, 1:].tolist())
        work.tree.found[:] = 0
        for i in range(d, len(values)):
            if work.maps.ignored[i] or (i < first_row and sign[i] == 0):
                continue
            value = values[i][0]
            if i in nonbasic:
                if i >= first_row:
                    _set_bit(work.tree.found[BOTH], i - first_row)
            elif value == 0 or sign[i] * value < 0:
                return
            elif i >= first_row:
                _set_bit(work.tree.found[_side(value)], i - first_row)
        add_point(work.tree, work.table, layer, d, self.options.store)

    def _go_to(self, layer: int, basis: list[int], n_rows: int) -> None:
        """Bring the working dictionary to a basis; if floats can't, it is made anew later."""
        table = self.work.table
        T, nonbasic, column_of = table.T[layer], table.nonbasic[layer], table.column_of[layer]
        dictionary = Dictionary(T, nonbasic, column_of, table.sign[layer], n_rows, table.halt)
        load(dictionary, self.work.maps.rows)
        table.drift[layer] = 0
        if not go_to_basis(dictionary, np.array(basis, dtype=np.int32), table.wanted):
            table.drift[layer] = STALE
        nonbasic[1:] = basis

    def _patterns(self, points: NDArray[np.float64]) -> PatternArray:
        """Patterns in floats; a point that is beyond float64 has none, which equals no other."""
        finite = np.isfinite(points).all(axis=1)
        found = np.full((len(points), self.network.n_neurons), 255, np.uint8)
        found[finite] = self.network.patterns(points[finite])
        return found

    def _better_witness(self, found: HalfspaceBatch, k: int) -> None:
        """Replace a witness too close to a boundary by an exact interior point, rounded."""
        pattern = found.patterns[k, : self.network.n_neurons]
        flat = self.flat
        depth = self.network.depth
        rows = self._rows.up_to(depth - 1, pattern)
        d = self.network.n_inputs
        base = flat.cuts_at
        sign = [0] * d + [1] * len(flat.domain)
        for i in range(base, len(rows)):
            cut = i - base
            if any(q != 0 for q in rows[i][1:]):
                sign.append(1 if pattern[flat.cut_neuron[cut]] > self._order(cut) else -1)
            else:
                sign.append(0)
        found.margins[k] = 0.0
        for slack in (0, 20, 60, 200):
            point = likely_point(rows, sign, 2**slack) or interior_point(rows, sign, 2**slack)
            if point is None:
                if self.exact:
                    raise ArithmeticError(f"pattern {pattern.tolist()} has no region")
                return  # a region within the tolerance only
            if slack == 0:
                found.witnesses[k] = to_floats(np.array(point, dtype=object))
                if not np.isfinite(found.witnesses[k]).all():
                    point = self._within_reach(rows, sign, point)
                    found.witnesses[k] = to_floats(np.array(point, dtype=object))
            rounded = _rounded(point)
            if rounded is None:
                continue
            nearby = rounded * (1.0 + 4.0 * _NUDGE * _nudges(d))
            if (self._patterns(nearby) == pattern).all():
                found.witnesses[k] = rounded
                found.margins[k] = _NUDGE
                return

    def _within_reach(self, rows: list[list[Any]], sign: list[int], point: list[Any]) -> list[Any]:
        """A point inside that float64 can hold; if there is none, the one that is known."""
        d = self.network.n_inputs
        for far in FAR:
            box = [
                [fmpq(far), *(fmpq(s if c == k else 0) for c in range(d))]
                for k in range(d)
                for s in (1, -1)
            ]
            found = interior_point([*rows, *box], [*sign, *([1] * len(box))])
            if found is not None:
                return found
        return point


def _rounded(values: list[Any]) -> NDArray[np.float64] | None:
    """Rationals as floats, each right to one rounding, or None if one is too large or small."""
    floats = to_floats(np.array(values, dtype=object))
    tiny = (np.abs(floats) < 1e-290) & np.array([q != 0 for q in values])
    return None if tiny.any() or not np.isfinite(floats).all() else floats


def _nudges(d: int) -> NDArray[np.float64]:
    """Some vectors with entries between -1 and 1, always the same."""
    return np.random.default_rng(0).uniform(-1.0, 1.0, size=(16, d))


def _side(value: Any) -> int:
    """The side of a cut on which it has a value that is not 0."""
    return POSITIVE if value > 0 else NEGATIVE


def _set_bit(mask: NDArray[np.uint64], b: int) -> None:
    mask[b >> 6] |= np.uint64(1 << (b & 63))


def _get_bit(mask: NDArray[np.uint64], b: int) -> bool:
    return bool(int(mask[b >> 6]) >> (b & 63) & 1)
