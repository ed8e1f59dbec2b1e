"""The `shadow` engine: regions in a box of hundreds of dimensions, of which the network sees few.

The search is that of another engine in the few dimensions of `tropicell.network.shadow`, in a box
around the box's shadow. It gives candidates, each with a point; `_points` decides which of them
have points in the box itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from tropicell._runtime.arrays import FloatArray
from tropicell._runtime.interruption import Halt, check, current
from tropicell._runtime.jit import Entry
from tropicell.engines.cells.task import CellTask
from tropicell.engines.column_store import Place
from tropicell.engines.halfspaces.task import HalfspaceTask
from tropicell.engines.shadow._points import (
    CANDIDATES,
    DOUBT,
    INSIDE,
    OUTSIDE,
    PROGRAMS,
    STEPS,
    ShadowFlat,
    decide_candidates,
    judge_candidate,
    shadow_work,
    write_candidate,
)
from tropicell.engines.units import Arrays, Outcome, Task, Unit
from tropicell.engines.wide._exact import ExactDomain, rounded
from tropicell.engines.wide._programs import program
from tropicell.engines.wide.reduction import Frame, frame_of, gamma
from tropicell.errors import InvalidDomainError, TimeLimitError
from tropicell.geometry.arithmetic import ArithmeticName, to_rationals
from tropicell.network.domains import Box, Domain, WholeSpace, resolve
from tropicell.network.inequalities import layer_inequalities
from tropicell.network.network import Network
from tropicell.network.patterns import split_layers
from tropicell.network.shadow import Shadow, shadow_of
from tropicell.regions.columns import Columns, PackedPatterns

#: Candidates that are decided at a time.
_AT_ONCE = 256

#: Up to so many dimensions of the shadow candidates are found by their corners.
_FEW = 4

#: What HiGHS is asked for: as little beyond its bounds as it can do.
_SHARP: Any = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}

#: Numbers beyond this, or radii below its inverse: floats prove nothing.
_LARGE = 1e90


class ShadowPlan:
    """What all workers share.

    Parameters
    ----------
    network : Network
    domain : Domain
        A bounded `Box`.
    """

    def __init__(self, network: Network, domain: Domain) -> None:
        frame = frame_of(domain, network.n_inputs)
        if frame is None or frame.norm != "linf":
            raise InvalidDomainError(
                f"the engine 'shadow' is for bounded boxes, not for {domain!r}; use 'wide' for "
                "balls, and 'halfspaces' for other domains"
            )
        shadow = shadow_of(network)
        if shadow is None:
            raise InvalidDomainError(
                f"the engine 'shadow' is for networks that read fewer combinations of their "
                f"{network.n_inputs} inputs than these are, without rounding; use 'wide'"
            )
        self.frame: Frame = frame
        self.shadow: Shadow = shadow
        rows = shadow.rows
        with np.errstate(over="ignore", invalid="ignore"):
            self.center = rows @ frame.center
            most = np.abs(rows) @ (np.abs(frame.center) + frame.scale)
            self.most = most * (1 + 1e-9) + 1e-200
            reach = np.abs(rows) @ frame.scale + 2 * gamma(network.n_inputs + 8) * self.most
            low, high = self.center - reach, self.center + reach
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            raise InvalidDomainError(
                "the engine 'shadow' can't add up numbers as large as those of this box and this "
                "network; use 'wide'"
            )
        self.around = Box(np.nextafter(low, -np.inf), np.nextafter(high, np.inf))

    @cached_property
    def _weights(self) -> FloatArray:
        """What every neuron reads of u and of all neurons before, in one table."""
        network = self.shadow.network
        m = self.shadow.dimension
        starts = np.concatenate([[0, m], m + np.cumsum(network.widths)])
        table = np.zeros((network.n_neurons, m + network.n_neurons))
        for layer in range(1, network.depth + 1):
            place = slice(starts[layer] - m, starts[layer + 1] - m)
            for source, matrix in network.affine(layer).terms.items():
                dense = matrix.toarray() if hasattr(matrix, "toarray") else matrix
                table[place, starts[source] : starts[source + 1]] = dense
        return table

    def flat(self, halt: Halt | None) -> ShadowFlat:
        """The arrays that kernels read."""
        frame, rows, network = self.frame, self.shadow.rows, self.shadow.network
        weights = self._weights
        present = weights != 0
        first = np.where(present.any(axis=1), present.argmax(axis=1), 0)
        last = np.where(present.any(axis=1), weights.shape[1] - present[:, ::-1].argmax(axis=1), 0)
        pieces = max(layer.activation.slopes.shape[1] for layer in network.layers)
        slopes, intercepts = np.zeros((2, network.n_neurons, pieces))
        breakpoints = np.full((network.n_neurons, pieces - 1), np.inf)
        at = 0
        for layer in network.layers:
            place, kind = slice(at, at + layer.width), layer.activation
            here = kind.slopes.shape[1]
            slopes[place, :here], intercepts[place, :here] = kind.slopes, kind.intercepts
            breakpoints[place, : here - 1] = kind.breakpoints
            at += layer.width
        bias = np.concatenate([layer.affine.bias for layer in network.layers])
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = rows * frame.scale
            gram = scaled @ scaled.T
        numbers = [rows, weights, bias, slopes, intercepts, frame.low, frame.high]
        numbers.append(breakpoints[np.isfinite(breakpoints)])
        sane = all(np.abs(x).max(initial=0.0) < _LARGE for x in numbers) and bool(
            (frame.scale > 1 / _LARGE).all()
        )
        try:
            inverse = np.linalg.inv(gram)
        except np.linalg.LinAlgError:
            inverse = np.zeros_like(gram)
        m, n = rows.shape
        return ShadowFlat(
            rows=np.ascontiguousarray(rows),
            scaled=scaled,
            gram=gram,
            inverse=inverse,
            center=frame.center,
            scale=frame.scale,
            low=frame.low,
            high=frame.high,
            u_center=self.center,
            u_most=self.most,
            weights=weights,
            first=first.astype(np.int64),
            last=last.astype(np.int64),
            bias=bias,
            gamma=np.array([gamma(k) for k in (last - first + 1).tolist()]),
            slopes=slopes,
            intercepts=intercepts,
            breakpoints=breakpoints,
            big_gamma=2 * gamma(n + m + len(bias) * pieces + 64) if sane else np.inf,
            halt=np.zeros(1, np.uint8) if halt is None else halt.flag,
        )

    # --- decisions in rationals -------------------------------------------------------------------

    @cached_property
    def _exact(self) -> tuple[NDArray[Any], ExactDomain]:
        return to_rationals(self.shadow.rows), ExactDomain(self.frame)

    def point(self, pattern: NDArray[np.uint8]) -> NDArray[np.float64] | None:
        """A point of a region of the shadow's network that is inside the box, rounded; None: none.

        Parameters
        ----------
        pattern : ndarray of uint8
            Of a region in R^m: rows that are constant need no look.
        """
        matrix, domain = self._exact
        network = self.shadow.network
        maps = network.maps("exact")
        columns, one = maps.coordinates()
        known, rows = [columns], []
        for layer, pieces in enumerate(split_layers(pattern, network.widths), start=1):
            check()
            before = maps.before(layer, known, one)
            found = layer_inequalities(network, layer, before, pieces, "exact")
            for a, b in zip(found.A, found.b, strict=True):
                if (a != 0).any():
                    check()
                    rows.append(np.append(-(a @ matrix), b))
            known.append(maps.after(layer, before, pieces, one))
        x = domain.inner_point(rows)
        return None if x is None else rounded(x)


class ShadowTask:
    """The shadow engine on a network and a box; see `tropicell.engines.units.Task`.

    Parameters
    ----------
    network : Network
        All of its neurons together read fewer combinations of the inputs than there are inputs.
    domain : Domain
        A bounded `Box`.
    arithmetic : {"exact", "float"}
        Of the search for candidates. Which of them have points in the box is decided exactly.
    store : bool
        False: count only.

    Examples
    --------
    >>> network = Network.mlp([np.ones((2, 6)), np.ones((1, 2))], [[-1.0, -7.0], [0.0]])
    >>> task = ShadowTask(network, Box(0, 1))
    >>> outcome = task.worker().run(task.root(), 1000, lambda: False)
    >>> outcome.count, outcome.left
    (2, [])
    """

    slow = True
    shared = False
    settle: Callable[[float], Place | None] | None = None

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
        self.plan: ShadowPlan = self.network.remember(
            ("shadow", inside.key(self.network.n_inputs)), lambda: ShadowPlan(self.network, inside)
        )
        shadow, around = self.plan.shadow, self.plan.around
        make: Any = CellTask if shadow.dimension <= _FEW else HalfspaceTask
        self.candidates: Task = make(shadow.network, around, arithmetic, store=True)
        self.grain = self.candidates.grain

    def root(self) -> Unit:
        """The whole box."""
        return self.candidates.root()

    def worker(self) -> ShadowWorker:
        """A worker with buffers of its own."""
        return ShadowWorker(self)

    def describe(self, unit: Unit) -> tuple[dict[str, Any], Arrays]:
        """A unit as JSON and arrays."""
        return self.candidates.describe(unit)

    def restored(self, described: dict[str, Any], arrays: Arrays) -> Unit:
        """A unit from a file, checked."""
        return self.candidates.restored(described, arrays)


class ShadowWorker:
    """Runs units of a `ShadowTask`."""

    def __init__(self, task: ShadowTask) -> None:
        self._task, self._plan = task, task.plan
        self._worker = task.candidates.worker()
        self._flat = flat = self._plan.flat(current())
        m, n = flat.rows.shape
        rows = len(flat.bias) * min(2, max(1, flat.breakpoints.shape[1])) + 1
        self._work = shadow_work(m, n, len(flat.bias), rows)
        self._program = program(rows + 1, n + 1)
        self._found = np.empty((_AT_ONCE if task.store else 0, n))
        self._answers = np.zeros(_AT_ONCE, np.uint8)
        self._decide = Entry(decide_candidates)
        self._decisions = self._unproved = self._others = 0

    def stats(self) -> dict[str, Any]:
        """What all units have cost."""
        counters, inner = self._work.counters, self._worker.stats()
        return {
            "exact_decisions": inner["exact_decisions"] + self._decisions,
            "second_opinions": self._others,
            "unproved_witnesses": self._unproved,
            "candidates": int(counters[CANDIDATES]),
            "programs": int(counters[STEPS]),
            "lps": int(counters[PROGRAMS]),
        }

    def run(self, unit: Unit, limit: int, stop: Callable[[], bool]) -> Outcome:
        """Find about `limit` candidates, and which of them are regions in the box."""
        outcome = self._worker.run(unit, limit, stop)
        columns: list[Columns] = []
        count, left = 0, outcome.left
        try:
            for part in outcome.columns:
                for start in range(0, len(part.packed), _AT_ONCE):
                    count += self._take(part, slice(start, start + _AT_ONCE), columns)
        except TimeLimitError:
            left = None
        return Outcome(columns, count, left, passed=outcome.count - count)

    def _take(self, part: Columns, some: slice, columns: list[Columns]) -> int:
        """Decide some candidates; the number of regions among them.

        Raises
        ------
        TimeLimitError
            If it is over.
        """
        words = part.packed.words[some]
        packed = PackedPatterns(words, part.packed.neurons, part.packed.bits)
        patterns, points = np.ascontiguousarray(packed[:]), np.asarray(part.witnesses[some], float)
        answers = self._answers[: len(words)]
        done = self._decide(
            self._flat,
            self._work,
            self._program,
            patterns,
            np.ascontiguousarray(points),
            0,
            answers,
            self._found,
        )
        if done < len(words):
            raise TimeLimitError("the time is over")
        for k in np.flatnonzero(answers == DOUBT).tolist():
            answers[k] = self._second_opinion(patterns[k])
            if answers[k] != DOUBT:
                if self._task.store:
                    self._found[k] = self._work.x
                continue
            self._decisions += 1
            point = self._plan.point(patterns[k])
            answers[k] = OUTSIDE if point is None else INSIDE
            if point is not None:
                self._unproved += 1
                if self._task.store:
                    self._found[k] = point
        return self._keep(packed, answers, columns)

    def _second_opinion(self, pattern: NDArray[np.uint8]) -> int:
        """What HiGHS finds, judged like what our own methods do."""
        flat, work, memory = self._flat, self._work, self._program
        if not np.isfinite(flat.big_gamma):
            return DOUBT
        self._others += 1
        rows, n = int(write_candidate(flat, work, pattern)), flat.rows.shape[1]
        sizes = work.sizes[:rows]
        goal = np.zeros(n + 1)
        goal[n] = -1.0
        table, right = -work.G[:rows] / sizes[:, None], work.v[:rows] / sizes
        found = linprog(goal, A_ub=table, b_ub=right, bounds=(-1, 1), options=_SHARP)
        check()
        if found.status != 0 or found.x is None:
            return DOUBT
        memory.lam[:rows] = np.maximum(0.0, -found.ineqlin.marginals) / sizes
        memory.eta[: n + 1] = found.x
        return int(judge_candidate(flat, work, memory, pattern, rows))

    def _keep(
        self, packed: PackedPatterns, answers: NDArray[np.uint8], columns: list[Columns]
    ) -> int:
        """Hand over the candidates that are regions; their number."""
        kept = np.flatnonzero(answers == INSIDE)
        if len(kept) and self._task.store:
            chosen = PackedPatterns(packed.words[kept], packed.neurons, packed.bits)
            columns.append(Columns(chosen, self._found[kept]))
        return len(kept)
