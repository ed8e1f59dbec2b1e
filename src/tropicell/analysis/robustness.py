"""`robustness`: how far a point is from the decision boundary, between two proved bounds.

From above: a point at which, in rationals, another output is at least as large. From below: branch
and bound. In the ball up to the nearest such point, the difference of two outputs lies above an
affine function (`_relaxations`), which reaches 0 at some distance: a lower bound. Where that is too
small, the ball is cut in two by the boundary of a neuron, and each part gets a bound of its own.
Parts whose bounds exceed the distance of the point that was found hold nothing nearer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf, nextafter
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linprog, nnls

from tropicell._runtime.arrays import FloatArray, IntArray
from tropicell._runtime.interruption import (
    Halt,
    check,
    clock,
    current,
    seconds_left,
    time_limit,
    using,
)
from tropicell.analysis._combinations import combined_exactly, values_with_errors
from tropicell.analysis._relaxations import Branches, Linear, Relaxation, dual_norm, steepest
from tropicell.analysis.boundary_certificate import BoundaryCertificate, certified
from tropicell.analysis.map_bounds import has_tame_outputs
from tropicell.errors import InvalidInputError, InvalidNetworkError, TimeLimitError
from tropicell.geometry.arithmetic import to_floats, to_fractions, to_rationals
from tropicell.geometry.exact_programs import nearest_point
from tropicell.geometry.norms import euclidean
from tropicell.geometry.rounding import INFLATE, ROUND, UNDERFLOW
from tropicell.importers.models import as_network
from tropicell.network.network import Network
from tropicell.network.patterns import split_layers

Norm = Literal["linf", "l2", "l1"]

#: Parts of the ball that are bounded at a time; steps that make a bound better, at first and later.
_AT_ONCE, _FIRST_STEPS, _STEPS = 64, 60, 12

#: Steps of the search for a near point, and starts for each output.
_ATTACK_STEPS, _STARTS = 200, 2

#: How far the next ball goes between what is proved and the nearest point known, when it is taken
#: to be all of it, and how often the first one is halved.
_STAGE, _CLOSE, _HALVES = 0.4, 0.04, 7

#: How close bounds are before rationals take over.
_GAP = 1e-4

#: Rows with smaller slopes are constant.
_UNDERFLOW = 1e-150

#: The least part that a margin has among the factors of a linear program.
_LEAST = 1e-9

#: The search for a near point begins no farther away than this, times the size of the input.
_FAR = 1e6

#: If the nearest point known is so much nearer, all bounds on neurons are made anew.
_NEARER = 0.98


@dataclass(frozen=True, eq=False)
class Robustness:
    """How far a point is from the decision boundary.

    Attributes
    ----------
    lower, upper : float
        The distance is between these, both proved. `upper` is infinite if no point was found.
    point : ndarray, shape (inputs,) or None
        A point at most `upper` away, at which output `target` is at least as large as `output`.
    output, target : int
        The largest output at the point that was asked about, and the one that is as large at
        `point`; -1 if none is.
    norm : str
    complete : bool
        Whether the bounds are as close as was asked for; False if a budget ended the search.
    exact : Fraction or None
        With ``gap=0``, the distance itself; for l2 its square.
    exact_point : ndarray of Fraction or None
        If `point` is this one, rounded: the nearest point of a part that was solved in rationals.
        There, exactly, `target` is at least as large as `output`.
    network, x : Network and ndarray
        What was asked about.
    nodes : int
        Parts of the ball that were bounded.
    seconds : float
    parts : list of dict
        What was proved, part by part: for each target the parts cover the ball of the last stage.
        ``"neurons"`` (places in a pattern) are restricted to the pieces from ``"first"`` to
        ``"last"``, and no point of the part nearer than ``"bound"`` has the target as its class.

    Examples
    --------
    >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]])
    >>> found = robustness(network, [3.0, 1.0], norm="linf")
    >>> found.complete, round(found.upper, 6), found.point.round(5).tolist()
    (True, 1.0, [2.0, 2.0])
    """

    lower: float
    upper: float
    point: FloatArray | None
    output: int
    target: int
    norm: str
    complete: bool
    nodes: int
    seconds: float
    parts: list[dict[str, Any]] = field(repr=False, default_factory=list)
    exact: Fraction | None = None
    exact_point: NDArray[Any] | None = field(repr=False, default=None)
    network: Network | None = field(repr=False, default=None)
    x: FloatArray | None = field(repr=False, default=None)

    def certify(self, max_seconds: float | None = None) -> BoundaryCertificate:
        """A proof of the lower bound (of `exact`, if known) that is checked in rationals alone.

        Parameters
        ----------
        max_seconds : float, optional
            Raise `TimeLimitError` after so many seconds. A proof is found anew, in rationals: for
            networks with hundreds of neurons that vary this takes long.

        Returns
        -------
        BoundaryCertificate
            Its method ``verify()`` uses nothing of the search.

        Examples
        --------
        >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]])
        >>> found = robustness(network, [3.0, 1.0], norm="l2", gap=0)
        >>> found.exact, found.exact_point.tolist(), found.certify().verify()
        (Fraction(2, 1), [Fraction(2, 1), Fraction(2, 1)], True)
        """
        assert self.network is not None
        assert self.x is not None
        power = 2 if self.norm == "l2" else 1
        distance = Fraction(self.lower) ** power if self.exact is None else self.exact
        with time_limit(max_seconds):
            return certified(self.network, self.x, self.norm, self.output, distance)

    @property
    def distance(self) -> float:
        """The upper bound: that of a point on the other side."""
        return self.upper


def robustness(
    network: Network,
    x: ArrayLike,
    *,
    norm: Norm = "linf",
    gap: float = 1e-4,
    max_seconds: float | None = None,
    max_nodes: int | None = None,
    radius: float = inf,
) -> Robustness:
    """The distance to the nearest point at which another output is at least as large.

    Parameters
    ----------
    network : Network
        A classifier: the largest output is the class. With one output, its sign is.
    x : array_like, shape (inputs,)
    norm : {"linf", "l2", "l1"}
        How distances are measured.
    gap : float
        The search ends when ``lower >= (1 - gap) * upper``. With 0 it ends with the distance
        itself, as a rational number, and a rational point.
    max_seconds : float, optional
    max_nodes : int, optional
        Budgets; when one is spent, the bounds so far are returned, with ``complete`` False.
    radius : float
        Look no farther than this: if nothing is nearer, ``lower`` is `radius`, ``upper`` infinite.

    Returns
    -------
    Robustness

    Raises
    ------
    InvalidNetworkError
        If numbers of the network are beyond what proved bounds allow (1e-60 to 1e60).

    Notes
    -----
    Both bounds are proved, whatever float64 rounds: `point` is checked in rationals, and lower
    bounds take their own rounding off. A point on the decision boundary has the distance 0.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> sizes = [4, 8, 8, 3]
    >>> network = Network.mlp([rng.normal(size=(n, m)) for m, n in zip(sizes, sizes[1:])])
    >>> found = robustness(network, rng.normal(size=4), norm="l2")
    >>> found.complete, found.lower <= found.upper <= 1.001 * found.lower
    (True, True)
    """
    network = as_network(network)
    if norm not in ("linf", "l2", "l1"):
        raise InvalidInputError(f"norm must be 'linf', 'l2' or 'l1', not {norm!r}")
    if not 0 <= gap < 1:
        raise InvalidInputError(f"gap must be from 0 to 1, 1 excluded, not {gap!r}")
    if not radius > 0:
        raise InvalidInputError(f"radius must be positive, not {radius!r}")
    if network.embedding is not None:
        raise InvalidNetworkError(
            "robustness works on whole networks, not on a slice: distances in the slice's "
            "coordinates are not those of the input"
        )
    point = network.check_points(np.asarray(x, np.float64).reshape(1, -1), finite=True)[0]
    if not has_tame_outputs(network):
        raise InvalidNetworkError(
            "the network has weights or biases below 1e-60 or above 1e60: no bound can be proved"
        )
    halt = Halt(max_seconds, current())
    search = _BranchAndBound(network, point, norm, gap, radius)
    started = clock()
    complete = True
    try:
        with using(halt):
            search.attack()
            complete = search.run(max_nodes)
    except TimeLimitError:
        outer = current()
        if outer is not None and outer.is_over():
            raise
        complete = False
    return search.result(complete, clock() - started)


class _BranchAndBound:
    """One search: the nearest point so far, and parts of the ball that may hold a nearer one."""

    def __init__(
        self, network: Network, x: FloatArray, norm: Norm, gap: float, radius: float
    ) -> None:
        self.network, self.x, self.norm, self.gap, self.radius = network, x, norm, gap, radius
        self.upper, self.target = inf, -1
        self.point: FloatArray | None = None
        values, errors = self._outputs(x)
        if not self._are_apart(values, errors):
            values = network.evaluate(x[None])[0]
        if network.n_outputs == 1:
            self.output = 0
            self.names = np.array([0])
            self.margins = np.array([[1.0 if values[0] > 0 else -1.0]])
        else:
            self.output = int(max(range(len(values)), key=lambda k: values[k]))
            self.names = np.array([k for k in range(len(values)) if k != self.output])
            self.margins = -np.eye(len(values))[self.names]
            self.margins[:, self.output] = 1.0
        self.nodes: Branches | None = None
        self.done: list[tuple[Branches, IntArray]] = []
        self._last_factors: dict[str, Any] = {}
        self.count = 0
        self.lower = 0.0
        self.stage = inf
        self.relaxation: Relaxation | None = None
        # the last phase: parts are taken apart until rationals decide
        self.settling = False
        self.best: _Exact | None = None

    # --- from above -------------------------------------------------------------------------------

    def margin_values(self, points: FloatArray) -> FloatArray:
        """All margins at points, in float64."""
        return np.asarray(self.network(points) @ self.margins.T)

    def offer(self, point: FloatArray, row: int) -> bool:
        """Take a point if it is nearer and, in rationals, on the other side."""
        distance = self._distance(point)
        if not distance < min(self.upper, self.radius):
            return False
        if not self._is_behind(point, row):
            return False
        self.upper, self.point, self.target = distance, point.copy(), int(self.names[row])
        if self.network.n_outputs == 1:
            self.target = 0
        return True

    def _is_behind(self, point: FloatArray, row: int) -> bool:
        """Whether a margin is at most 0 at a point: by float64 if its errors allow it."""
        values, errors = self._outputs(point)
        margin = float(self.margins[row] @ values)
        bound = float(np.abs(self.margins[row]) @ (errors + 8 * ROUND * np.abs(values)))
        if abs(margin) > bound * INFLATE:
            return margin <= 0
        exact = to_rationals(self.network.evaluate(point[None])[0])
        return bool((exact * to_rationals(self.margins[row])).sum() <= 0)

    def _outputs(self, point: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The outputs at a point in float64, and bounds on their errors."""
        *_, last = values_with_errors(self.network, point)
        return last

    def _are_apart(self, values: FloatArray, errors: FloatArray) -> bool:
        """Whether outputs are known well enough to say which is the largest (or their sign)."""
        if len(values) == 1:
            return bool(abs(values[0]) > errors[0])
        top = int(values.argmax())
        others = np.delete(values + errors, top) + 8 * ROUND * np.abs(np.delete(values, top))
        return bool(values[top] - errors[top] > others.max() + 8 * ROUND * abs(values[top]))

    def _distance(self, point: FloatArray) -> float:
        """The distance of a point, rounded up."""
        step = point - self.x
        value = float(self._sizes(step[None])[0])
        return value * (1 + (len(step) + 8) * ROUND) if value else 0.0

    def attack(self) -> None:
        """Look for near points on the other side: downhill, in a ball that shrinks and grows."""
        rows = np.arange(len(self.margins))
        if self.offer(self.x, int(self.margin_values(self.x[None])[0].argmin())):
            return
        for row in rows:  # ties
            if self.margin_values(self.x[None])[0, row] <= 0:
                self.offer(self.x, int(row))
        if self.upper == 0.0:
            return
        rng = np.random.default_rng(0)
        owners = np.repeat(rows, _STARTS)
        y = np.tile(self.x, (len(owners), 1))
        value, gradient = self._gradients(y, owners)
        steep = dual_norm(gradient, self.norm)
        size = np.abs(value) / np.where(steep > _UNDERFLOW, steep, 1.0)
        size = np.minimum(size, _FAR * (1.0 + np.abs(self.x).max()))
        radii = 2.0 * size
        y += rng.normal(size=y.shape) * (radii * 0.05 / np.sqrt(y.shape[1]))[:, None]
        best = np.full(len(owners), inf)
        for step in range(_ATTACK_STEPS):
            check()
            value, gradient = self._gradients(y, owners)
            good = value <= 0
            distance = self._sizes(y - self.x)
            for i in np.flatnonzero(good & (distance < best)):
                best[i] = distance[i]
                if distance[i] < self.upper:
                    self.offer(y[i], int(owners[i]))
            rate = 0.1 * (1 - step / _ATTACK_STEPS) + 0.001
            radii = np.where(good, np.minimum(radii, distance) * (1 - rate), radii * (1 + rate))
            radii = np.minimum(radii, np.where(np.isfinite(best), best, inf))
            length = radii * (0.5 * (1 - step / _ATTACK_STEPS) + 0.02)
            y = y + self._ascent(gradient) * length[:, None]
            y = self.x + self._into_ball(y - self.x, radii)
        self._polish()

    def _ascent(self, gradient: FloatArray) -> FloatArray:
        """Steps of length 1 that make margins smaller."""
        if self.norm == "l1":  # a few coordinates at a time
            count = max(1, gradient.shape[1] // 20)
            limit = np.partition(np.abs(gradient), -count, axis=1)[:, -count, None]
            kept = np.where(np.abs(gradient) >= limit, np.sign(gradient), 0.0)
            return np.asarray(-kept / np.maximum(np.abs(kept).sum(axis=1, keepdims=True), 1.0))
        return steepest(gradient, self.norm)

    def _sizes(self, steps: FloatArray) -> FloatArray:
        if self.norm == "linf":
            return np.asarray(np.abs(steps).max(axis=1))
        if self.norm == "l1":
            return np.asarray(np.abs(steps).sum(axis=1))
        return euclidean(steps)

    def _into_ball(self, steps: FloatArray, radii: FloatArray) -> FloatArray:
        if self.norm == "linf":
            return np.asarray(np.clip(steps, -radii[:, None], radii[:, None]))
        sizes = self._sizes(steps)
        factors = np.minimum(1.0, radii / np.maximum(sizes, 1e-300))
        return np.asarray(steps * factors[:, None])

    def _gradients(self, points: FloatArray, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """Margins (one for each point) and their gradients, in float64."""
        network = self.network
        patterns = split_layers(network.patterns(points), network.widths)
        outer: dict[int, Any] = {network.depth + 1: self.margins[rows]}
        values = (network(points) * self.margins[rows]).sum(axis=1)
        slopes = np.zeros_like(points)
        for layer in range(network.depth + 1, 0, -1):
            if layer not in outer:
                continue
            inner = outer.pop(layer)
            if layer <= network.depth:
                activation = network.layers[layer - 1].activation
                neurons = np.arange(inner.shape[1])
                inner = inner * activation.slopes[neurons, patterns[layer - 1]]
            for source, matrix in network.affine(layer).terms.items():
                more = np.asarray(matrix.T @ inner.T).T
                if source == 0:
                    slopes = slopes + more
                else:
                    outer[source] = outer[source] + more if source in outer else more
        return values, slopes

    def _polish(self) -> None:
        """Go to the nearest point of the region that the best point is in, and on from there."""
        for _ in range(20):
            check()
            if self.point is None or not self.upper > 0:
                return
            before = self.upper
            row = (
                0
                if self.network.n_outputs == 1
                else int(np.flatnonzero(self.names == self.target)[0])
            )
            pattern = self.network.patterns(self.point[None])[0]
            a, values = _rows_near(self.network, pattern, self.x, self.upper * 1.001, self.norm)
            margin = self.margins[row] @ self.network.maps("float").of_pattern(pattern)
            at_center = float(margin[:-1] @ self.x + margin[-1])
            _, step = _best_factors(-a, values, margin[:-1], at_center, self.norm)
            if step is None:
                return
            self._offer_near(-a, values, margin[:-1], at_center, step, row)
            if not self.upper < before * (1 - 1e-7):
                return

    def _offer_near(
        self,
        a: FloatArray,
        values: FloatArray,
        margin: FloatArray,
        at_center: float,
        step: Any,
        row: int,
    ) -> None:
        """Offer points next to the shortest step of a region: behind it, then a little inside."""
        if not self._sizes(step[None])[0] < self.upper:
            return
        for more in (1e-13, 1e-10, 1e-7):
            if self.offer(self.x + step * (1 + more), row):
                return
        # The boundary of the region is there, too: keep away from both.
        sizes, size = np.sqrt((a * a).sum(axis=1)), float(np.sqrt(margin @ margin))
        length = float(np.sqrt(step @ step))
        for share in (1e-10, 1e-8, 1e-6):
            room = share * length
            _, inner = _best_factors(
                a, values - room * sizes, margin, at_center + room * size, self.norm
            )
            if inner is not None and self.offer(self.x + inner, row):
                return

    # --- from below -------------------------------------------------------------------------------

    def run(self, max_nodes: int | None) -> bool:
        """Branch and bound until the bounds are close; False if the nodes are spent."""
        if self.upper == 0.0:
            return True
        while not np.isfinite(min(self.upper, self.radius)):
            # Nothing was found: there may be nothing. Look in balls that grow.
            if not self._grow():
                return False
        self._first_bound()
        while self.lower < self._goal():
            # Balls that grow: what is proved in a small one holds, whatever happens later.
            goal = self._goal()
            near = self.lower + _STAGE * (goal - self.lower)
            self.stage = goal if near > (1 - _CLOSE) * goal else near
            if not self._prove(max_nodes):
                return False
        return self.upper > self.radius or self.gap > 0 or self._settle(max_nodes)

    def _settle(self, max_nodes: int | None) -> bool:
        """Find the distance itself: parts that may hold a nearest point are solved in rationals."""
        self.settling = True
        if not self._prove(max_nodes):
            return False
        assert self.best is not None  # the point known is in a part that was solved
        return True

    def _first_bound(self) -> None:
        """A ball that the bound of all of it proves free, by halves."""
        low, high = 0.0, self._limit()
        for _ in range(_HALVES):
            self.stage = high if low == 0.0 and high == self._limit() else (low + high) / 2
            self._start()
            assert self.nodes is not None
            if (self.nodes.bound >= self.stage).all():
                low = self.stage
                self.done = []
                self._forget(self.nodes, None)
            else:
                high = self.stage
            if low >= self._goal():
                break
        self.lower = max(self.lower, min(low, self._goal()))

    def _prove(self, max_nodes: int | None) -> bool:
        """Branch and bound in the ball of this stage; False if the nodes are spent."""
        self.done = []
        self.stage = self._goal() if self.settling else self.stage
        self._start()
        while True:
            check()
            self.stage = min(self.stage, self._goal())  # a nearer point was found
            nodes = self._open()
            if not len(nodes):
                self.lower = max(self.lower, self.stage)
                return True
            if max_nodes is not None and self.count >= max_nodes:
                return False
            order = np.argsort(nodes.bound, kind="stable")
            batch, self.nodes = nodes.take(order[:_AT_ONCE]), nodes.take(order[_AT_ONCE:])
            children = self._branch(batch)
            self._bound(children, _STEPS)
            self.nodes = Branches.join([self.nodes, children])
            if self.relaxation is not None and self.stage < _NEARER * self.relaxation.radius:
                self._renew()

    def _limit(self) -> float:
        return min(self.upper, self.radius)

    def _goal(self) -> float:
        """What is to be proved: nothing is nearer than this."""
        if self.settling:  # more than the distance: what is closed holds no nearest point
            return self._limit() * (1 + 1e-12) + UNDERFLOW
        if self.gap == 0:
            return self._limit() * (1 - _GAP) if self.upper <= self.radius else self.radius
        return self._limit() * (1 - self.gap) if self.upper <= self.radius else self.radius

    def _grow(self) -> bool:
        """A ball in which a point is found, by its own radius; False if there seems to be none."""
        size = max(1.0, float(np.abs(self.x).max()))
        for power in range(8):
            rng = np.random.default_rng(power)
            steps = self._into_ball(
                rng.normal(size=(256, len(self.x))) * size * 10.0**power,
                np.full(256, size * 10.0**power),
            )
            values = self.margin_values(self.x + steps)
            for i, row in zip(*np.nonzero(values <= 0), strict=True):
                self.offer(self.x + steps[i], int(row))
            if np.isfinite(self.upper):
                self._polish()
                return True
        self.radius = min(self.radius, size * 10.0**8)
        return True

    def _start(self) -> None:
        self.relaxation = Relaxation(self.network, self.x, self.stage, self.norm)
        count, varying = len(self.margins), self.relaxation.varying
        pieces = (self.network.pieces[varying] - 1).astype(np.uint8)
        shape, root = (count, len(varying)), self.relaxation.root()
        self.nodes = Branches(
            np.zeros(shape, np.uint8),
            np.tile(pieces, (count, 1)),
            np.full(shape, 0.5),
            np.zeros(shape),
            np.zeros(shape),
            np.arange(count),
            np.tile(root[0], (count, 1)),
            np.tile(root[1], (count, 1)),
            np.zeros(count),
        )
        self._bound(self.nodes, _FIRST_STEPS)

    def _renew(self) -> None:
        """All bounds on neurons anew, in the smaller ball; parts keep their restrictions."""
        old, nodes = self.relaxation, self.nodes
        assert old is not None
        assert nodes is not None
        new = Relaxation(self.network, self.x, self.stage, self.norm)
        kept = np.isin(old.varying, new.varying)
        # A neuron that does not vary any more is on one piece: parts that want another are empty.
        fixed = np.flatnonzero(~kept)
        empty = np.zeros(len(nodes), np.bool_)
        for k in fixed.tolist():
            layer = int(np.searchsorted(new.ends, old.varying[k], side="right"))
            neuron = int(old.varying[k] - new.ends[layer - 1])
            bends = self.network.layers[layer - 1].activation.breakpoints[neuron]
            piece = int((new.low[layer - 1][neuron] >= bends).sum())
            empty |= (nodes.first[:, k] > piece) | (nodes.last[:, k] < piece)
        self._forget(nodes.take(empty), inf)
        nodes = nodes.take(~empty)
        names = ("first", "last", "slope", "above", "below", "low", "high")
        for name in names:
            setattr(nodes, name, getattr(nodes, name)[:, kept])
        low, high = new.root()
        np.maximum(nodes.low, low, out=nodes.low)
        np.minimum(nodes.high, high, out=nodes.high)
        new.restrict(nodes)
        self.relaxation, self.nodes = new, nodes

    def _open(self) -> Branches:
        """The parts that may hold a nearer point; the others are done."""
        nodes = self.nodes
        assert nodes is not None
        closed = nodes.bound >= self.stage
        if closed.any():
            self._forget(nodes.take(closed), None)
            self.nodes = nodes.take(~closed)
        return self.nodes  # type: ignore[return-value]

    def _forget(self, nodes: Branches, bound: float | None) -> None:
        if bound is not None:
            nodes.bound[:] = bound
        assert self.relaxation is not None
        self.done.append((nodes, self.relaxation.varying))

    def _bound(self, nodes: Branches, steps: int) -> None:
        """Make the bounds of parts as good as some steps do; offers points on the way."""
        relaxation = self.relaxation
        assert relaxation is not None
        self.count += len(nodes)
        ends = [np.where(np.isfinite(end), end, 0.0) for end in relaxation.ends_of(nodes)]
        moments = _Adam(nodes)
        kept = (nodes.slope.copy(), nodes.above.copy(), nodes.below.copy())
        for step in range(steps):
            check()
            linear, lines = relaxation.margins(self.margins, nodes)
            found = relaxation.distances(linear)
            better = found > nodes.bound
            nodes.bound[better] = found[better]
            for old, new in zip(kept, (nodes.slope, nodes.above, nodes.below), strict=True):
                old[better] = new[better]
            y = self.x + self.stage * steepest(linear.slopes, self.norm)
            if step in (0, steps - 1):
                self._try(y, nodes)
            self._last = linear, lines
            if step == steps - 1 or (nodes.bound >= self.stage).all():
                break
            values = relaxation.forward(y, linear, lines)
            outer = relaxation.outer_of(linear)
            moments.step(nodes, values, outer, ends, steps)
        nodes.slope, nodes.above, nodes.below = kept

    def _try(self, points: FloatArray, nodes: Branches) -> None:
        """Offer points that a bound points to, if they are on the other side."""
        values = self.margin_values(points)
        for i in np.flatnonzero((values <= 0).any(axis=1))[:4]:
            row = int(values[i].argmin())
            check()
            # nearer on the segment: where the margin vanishes, by halves
            near, far = 0.0, 1.0
            for _ in range(30):
                middle = (near + far) / 2
                point = self.x + middle * (points[i] - self.x)
                if self.margin_values(point[None])[0, row] <= 0:
                    far = middle
                else:
                    near = middle
            before = self.upper
            if self.offer(self.x + far * (points[i] - self.x), row) and self.upper < before * 0.999:
                self._polish()

    def _branch(self, nodes: Branches) -> Branches:
        """Each part cut in two, at the neuron whose line is worst for the bound."""
        relaxation = self.relaxation
        assert relaxation is not None
        linear, lines = relaxation.margins(self.margins, nodes)
        y = self.x + self.stage * steepest(linear.slopes, self.norm)
        score = self._scores(nodes, linear, lines, y)
        bends = self._bends(nodes)
        free = bends.any(axis=-1)
        score = np.where(free, score, -1.0)
        if not score.shape[1]:  # all is affine
            score = np.full((len(nodes), 1), -1.0)
        chosen = score.argmax(axis=1)
        some = score[np.arange(len(nodes)), chosen] >= 0
        leaves = nodes.take(~some)
        if len(leaves):
            self._solve_leaves(leaves)
        nodes, chosen = nodes.take(some), chosen[some]
        rows = np.arange(len(nodes))
        lower, upper = nodes.take(rows), nodes.take(rows)
        middle = self._cuts(nodes, chosen, bends[some])
        lower.last[rows, chosen] = middle
        upper.first[rows, chosen] = middle + 1
        children = Branches.join([lower, upper])
        relaxation.refine(children)
        return children

    def _bends(self, nodes: Branches) -> NDArray[np.bool_]:
        """Which breakpoints lie strictly between the numbers of the varying neurons."""
        bends = self._breakpoints()
        return np.asarray((nodes.low[..., None] < bends) & (bends < nodes.high[..., None]))

    def _breakpoints(self) -> FloatArray:
        """The breakpoints of the varying neurons, shape (varying, most breakpoints)."""
        relaxation = self.relaxation
        assert relaxation is not None
        parts = [
            self.network.layers[layer].activation.breakpoints[columns]
            for layer, (columns, _) in enumerate(relaxation.place)
        ]
        most = max([1, *(part.shape[1] for part in parts)])
        padded = [
            np.pad(part, ((0, 0), (0, most - part.shape[1])), constant_values=inf) for part in parts
        ]
        return np.concatenate([np.empty((0, most)), *padded])

    def _cuts(
        self, nodes: Branches, chosen: IntArray, open_: NDArray[np.bool_]
    ) -> NDArray[np.uint8]:
        """The piece after which a part is cut: at the breakpoint nearest to the middle."""
        rows = np.arange(len(chosen))
        middle = (nodes.low[rows, chosen] + nodes.high[rows, chosen]) / 2
        away = np.abs(self._breakpoints()[chosen] - middle[:, None])
        nearest = np.where(open_[rows, chosen], away, inf).argmin(axis=1)
        return np.asarray(nearest, np.uint8)

    def _scores(
        self, nodes: Branches, linear: Linear, lines: list[Any], y: FloatArray
    ) -> FloatArray:
        """How much of a bound is lost by the line of each neuron that varies."""
        relaxation = self.relaxation
        assert relaxation is not None
        outer = relaxation.outer_of(linear)
        values = relaxation.forward(y, linear, lines)
        low, high = nodes.low, np.maximum(nodes.low, nodes.high)
        values = np.clip(values, low, high)
        parts = [np.zeros((len(nodes), 0))]
        for layer, (columns, part) in enumerate(relaxation.place, start=1):
            if not len(columns):
                continue
            below, low_shift, above, high_shift, _ = lines[layer - 1]
            over = outer[:, part] >= 0
            slope = np.where(over, below[:, columns], above[:, columns])
            shift = np.where(over, low_shift[:, columns], high_shift[:, columns])
            z = values[:, part]
            activation = self.network.layers[layer - 1].activation
            bends = activation.breakpoints[columns]
            pieces = (z[..., None] > bends).sum(axis=-1)
            true = activation.slopes[columns][np.arange(len(columns)), pieces] * z
            true = true + activation.intercepts[columns][np.arange(len(columns)), pieces]
            here = np.abs(slope * z + shift - true)
            room = np.minimum(np.abs(low[:, part]), np.abs(high[:, part]))
            parts.append(np.abs(outer[:, part]) * (here + 0.05 * room))
        return np.concatenate(parts, axis=1)

    def _solve_leaves(self, leaves: Branches) -> None:
        """Parts on which all is affine: their bounds by a linear program's factors, then proved."""
        relaxation = self.relaxation
        assert relaxation is not None
        for i in range(len(leaves)):
            check()
            leaf = leaves.take([i])
            self._solve_leaf(leaf)
            leaf.bound[:] = np.maximum(leaf.bound, leaves.bound[i])
            if leaf.bound[0] < self.stage:
                self._solve_exactly(leaf)
            self._forget(leaf, None)

    def _solve_leaf(self, leaf: Branches) -> None:
        """Factors of a linear program (or of many steps) for one part."""
        relaxation = self.relaxation
        assert relaxation is not None
        network, inputs = self.network, self.network.n_inputs
        pattern = self._leaf_pattern(leaf)
        columns, one = network.maps("float").coordinates()
        rows, signs, bends_at, which = [], [], [], []
        layers = [columns]
        low, high = relaxation.ends_of(leaf)
        for layer, pieces in enumerate(split_layers(pattern, network.widths), start=1):
            before = network.maps("float").before(layer, layers, one)
            layers.append(network.maps("float").after(layer, before, pieces, one))
            places, part = relaxation.place[layer - 1]
            for k, column in zip(range(part.start, part.stop), places.tolist(), strict=True):
                for sign, at in ((1.0, low[0, k]), (-1.0, high[0, k])):
                    if np.isfinite(at):
                        rows.append(before[column])
                        signs.append(sign)
                        bends_at.append(at)
                        which.append(k)
        output = network.maps("float").before(network.depth + 1, layers, one)
        margin = self.margins[leaf.target[0]] @ output
        a = np.array([s * r[:-1] for s, r in zip(signs, rows, strict=True)]).reshape(-1, inputs)
        values = np.array(
            [
                s * (r[:-1] @ self.x + r[-1] - t)
                for s, r, t in zip(signs, rows, bends_at, strict=True)
            ]
        )
        at_center = float(margin[:-1] @ self.x + margin[-1])
        slopes, row = margin[:-1], int(leaf.target[0])
        for _ in range(3):
            factors, step = _best_factors(a, values, slopes, at_center, self.norm)
            if step is not None:  # there is a nearest point
                self._offer_near(a, values, slopes, at_center, step, row)
                self.stage = min(self.stage, self._goal())
            elif self.norm != "l2":
                factors = _emptying_factors(a, values, slopes, at_center, self.norm, self.stage)
            leaf.above[:], leaf.below[:] = 0.0, 0.0
            for k, sign, factor in zip(which, signs, factors, strict=True):
                (leaf.above if sign > 0 else leaf.below)[0, k] = factor
            self._last_factors = {"above": leaf.above[0], "below": leaf.below[0], "step": step}
            linear, _ = relaxation.margins(self.margins, leaf)
            leaf.bound[:] = np.maximum(leaf.bound, relaxation.distances(linear))
            if leaf.bound[0] >= self.stage or step is None:
                return

    def _solve_exactly(self, leaf: Branches) -> None:
        """The nearest point of a part on which all is affine, in rationals."""
        relaxation = self.relaxation
        assert relaxation is not None
        network, row = self.network, int(leaf.target[0])
        pattern = self._leaf_pattern(leaf)
        low, high = relaxation.ends_of(leaf)
        x = to_rationals(self.x)
        output = network.maps("exact").of_pattern(pattern)
        margin = to_rationals(self.margins[row]) @ output
        rows, offsets = [-margin[:-1]], [-(margin[:-1] @ x + margin[-1])]
        first = self._last_factors.get("above"), self._last_factors.get("below")
        factors = [1.0]
        for k, neuron in enumerate(relaxation.varying.tolist()):
            for sign, end, own, given in (
                (1, low[0, k], leaf.low[0, k] <= low[0, k], first[0]),
                (-1, high[0, k], leaf.high[0, k] >= high[0, k], first[1]),
            ):
                if np.isfinite(end) and own:  # else it holds in all of the ball
                    check()
                    unit = np.zeros(network.n_neurons)
                    unit[neuron] = 1.0
                    slopes, offset = combined_exactly(network, pattern, unit)
                    rows.append(sign * slopes)
                    offsets.append(sign * (slopes @ x + offset - to_rationals(end).item()))
                    factors.append(0.0 if given is None else float(given[k]))
        g, h = np.array(rows, dtype=object), np.array(offsets, dtype=object)
        limit = to_rationals(self.stage).item()
        found = nearest_point(g, h, self.norm, limit, self._guess(np.array(factors)))
        power = 2 if self.norm == "l2" else 1
        if found.distance is None or found.distance >= limit**power:
            leaf.bound[:] = self.stage
            return
        if self.best is None or found.distance < self.best.distance:
            assert found.point is not None
            self.best = _Exact(found.distance, x + found.point, int(self.names[row]))
            self.upper = min(self.upper, _root_above(found.distance, power))
            self.stage = min(self.stage, self._goal())
        leaf.bound[:] = self.stage  # nothing in it is nearer than what is known

    def _guess(self, factors: FloatArray) -> tuple[Any, list[int], list[int]] | None:
        """What a linear program in float64 says about the one in rationals."""
        step = self._last_factors.get("step")
        if step is None or not np.isfinite(factors).all():
            return None
        active = np.flatnonzero(factors > 1e-9 * factors.max()).tolist()
        sizes = np.abs(step)
        columns = np.argsort(sizes, kind="stable")[: len(active) - 1].tolist()
        return to_rationals(factors), active, columns

    def _leaf_pattern(self, leaf: Branches) -> Any:
        relaxation = self.relaxation
        assert relaxation is not None
        pattern = np.empty(self.network.n_neurons, np.uint8)
        for layer, (low, high) in enumerate(
            zip(relaxation.low, relaxation.high, strict=True), start=1
        ):
            bends = self.network.layers[layer - 1].activation.breakpoints
            middle = (low + high) / 2
            part = slice(relaxation.ends[layer - 1], relaxation.ends[layer])
            pattern[part] = (middle[:, None] > bends).sum(axis=1)
        middle = (leaf.low[0] + leaf.high[0]) / 2
        pieces = (middle[:, None] > self._breakpoints()).sum(axis=1)
        pattern[relaxation.varying] = np.clip(pieces, leaf.first[0], leaf.last[0])
        return pattern

    # --- at the end -------------------------------------------------------------------------------

    def result(self, complete: bool, seconds: float) -> Robustness:
        lower = self.lower
        if self.upper == 0.0:
            lower = 0.0
        lower = min(lower, self.upper, self.radius)
        exact, exact_point = None, None
        if self.gap == 0 and self.upper == 0.0:
            exact, exact_point = Fraction(0), to_fractions(to_rationals(self.x))
        elif self.best is not None:
            least = _root_above(self.best.distance, 2 if self.norm == "l2" else 1)
            if least <= self.upper:  # else a nearer one was found in float64
                exact_point, self.target = to_fractions(self.best.point), self.best.target
                self.point = to_floats(self.best.point)
            if self.settling and complete:
                exact = to_fractions(np.array([self.best.distance], dtype=object))[0]
                self.upper, lower = least, max(0.0, nextafter(nextafter(least, 0.0), 0.0))
        complete = complete and (exact is not None or lower >= self._goal() * (1 - 1e-12))
        parts = [
            part
            for nodes, varying in self.done
            for part in _described(nodes, varying, self.names, self.network.pieces)
        ]
        upper = nextafter(self.upper, inf) if 0 < self.upper < inf else self.upper
        return Robustness(
            lower,
            upper,
            self.point,
            self.output,
            self.target,
            self.norm,
            complete,
            self.count,
            seconds,
            parts,
            exact,
            exact_point,
            self.network,
            self.x,
        )


class _Exact(NamedTuple):
    """The nearest point that rationals found; of the distance the square for l2."""

    distance: Any
    point: NDArray[Any]
    target: int


def _root_above(value: Any, power: int) -> float:
    """A rational, or its root, rounded up to one of the next two floats."""
    guess = float(Fraction(int(value.p), int(value.q)))
    guess = guess if power == 1 else float(np.sqrt(guess))
    while Fraction(guess) ** power >= Fraction(int(value.p), int(value.q)) and guess > 0:
        guess = nextafter(guess, 0.0)
    while Fraction(guess) ** power < Fraction(int(value.p), int(value.q)):
        guess = nextafter(guess, inf)
    return guess


def _described(
    nodes: Branches, varying: IntArray, names: IntArray, pieces: NDArray[np.intp]
) -> Iterator[dict[str, Any]]:
    """Parts as dictionaries: the neurons that are restricted, and the bound."""
    restricted = (nodes.first > 0) | (nodes.last < pieces[varying] - 1)
    for i in range(len(nodes)):
        yield {
            "target": int(names[nodes.target[i]]),
            "bound": float(nodes.bound[i]),
            "neurons": varying[restricted[i]].tolist(),
            "first": nodes.first[i, restricted[i]].tolist(),
            "last": nodes.last[i, restricted[i]].tolist(),
        }


class _Adam:
    """Steps uphill for the slopes and factors of parts (Adam)."""

    def __init__(self, nodes: Branches) -> None:
        shape = nodes.slope.shape
        self.mean = [np.zeros(shape) for _ in range(3)]
        self.square = [np.zeros(shape) for _ in range(3)]
        self.time = 0
        self.scale: Any = None

    def step(
        self, nodes: Branches, values: FloatArray, outer: FloatArray, ranges: Any, total: int
    ) -> None:
        """One step: `values` are the varying neurons where the bound is attained."""
        low, high = ranges
        self.time += 1
        if self.scale is None:
            self.scale = np.abs(outer).sum(axis=1, keepdims=True) / max(1, outer.shape[1]) + 1e-12
        gradients = (
            np.where(outer > 0, outer * values, 0.0),
            low - values,
            values - high,
        )
        rate = 0.98**self.time * (1 - self.time / (total + 1) * 0.5)
        sizes = (0.3 * rate, 0.2 * rate * self.scale, 0.2 * rate * self.scale)
        places = (nodes.slope, nodes.above, nodes.below)
        for k in range(3):
            gradient = gradients[k]
            self.mean[k] = 0.9 * self.mean[k] + 0.1 * gradient
            self.square[k] = 0.99 * self.square[k] + 0.01 * gradient**2
            mean = self.mean[k] / (1 - 0.9**self.time)
            root = np.sqrt(self.square[k] / (1 - 0.99**self.time))
            places[k][:] = places[k] + sizes[k] * mean / (root + 1e-12)
        np.clip(nodes.slope, 0.0, 1.0, out=nodes.slope)
        np.maximum(nodes.above, 0.0, out=nodes.above)
        np.maximum(nodes.below, 0.0, out=nodes.below)


def _program(*given: Any, **options: Any) -> Any:
    """A linear program by HiGHS, which ends with the time that is left."""
    left = seconds_left()
    limit = {} if left == inf else {"time_limit": max(left, 0.01)}
    solve: Any = linprog
    done = solve(*given, options=limit, **options)
    check()
    return done


def _best_factors(
    a: FloatArray, values: FloatArray, margin: FloatArray, at_center: float, norm: str
) -> tuple[FloatArray, FloatArray | None]:
    """Factors, none negative, of rows that push the zero of a margin as far away as possible.

    The rows say ``a · step + values >= 0``; with factors f, the margin minus their sum is
    ``at_center - f · values + (margin - f a) · step``, and reaches 0 no nearer than
    its value at the center divided by the dual norm of its slopes. For linf and l1 that is a linear
    program, whose solution, the shortest step with margin <= 0, is returned with them.
    """
    count, inputs = a.shape
    if norm == "l2":
        return _factors_l2(a, values, margin, at_center)
    # The primal: the shortest step with margin <= 0 and all rows >= 0; its factors are the duals.
    if norm == "linf":
        ones, eye = sp.csr_array(np.ones((inputs, 1))), sp.eye_array(inputs)
        stack: Any = sp.vstack
        left: Any = stack(
            [
                sp.csr_array(np.append(margin, 0.0)[None]),
                sp.csr_array(np.concatenate([-a, np.zeros((count, 1))], axis=1)),
                sp.block_array([[eye, -ones], [-eye, -ones]]),
            ]
        ).tocsr()
        right = np.concatenate([[-at_center], values, np.zeros(2 * inputs)])
        cost = np.append(np.zeros(inputs), 1.0)
        done = _program(
            cost, left, right, bounds=[(None, None)] * inputs + [(0, None)], method="highs"
        )
    else:
        left = np.concatenate([margin[None], -a])
        left = np.concatenate([left, -left], axis=1)
        right = np.concatenate([[-at_center], values])
        done = _program(np.ones(2 * inputs), left, right, bounds=(0, None), method="highs")
    if done.status != 0:
        return np.zeros(count), None
    solution = np.asarray(done.x)
    step = solution[:inputs] if norm == "linf" else solution[:inputs] - solution[inputs:]
    duals = np.maximum(-np.asarray(done.ineqlin.marginals)[: count + 1], 0.0)
    # Rows alone may keep points away: then the margin has hardly any part in it.
    return duals[1:] / max(duals[0], _LEAST * float(duals.max()), 1e-300), step


def _emptying_factors(
    a: FloatArray,
    values: FloatArray,
    margin: FloatArray,
    at_center: float,
    norm: str,
    radius: float,
) -> FloatArray:
    """Factors with which a margin is positive in the whole ball, if nothing is left of that.

    The smallest s such that all inequalities hold up to s, somewhere in the ball, is positive
    then; its factors, divided by that of the margin, are what is looked for.
    """
    count, inputs = a.shape
    g, h = np.concatenate([-margin[None], a]), np.append(-at_center, values)
    scale = np.sqrt((g * g).sum(axis=1))
    scale = np.where(scale > _UNDERFLOW, scale, 1.0)
    g, h = g / scale[:, None], h / scale / radius
    slack = np.ones((count + 1, 1))
    if norm == "l1":
        left = np.concatenate(
            [np.concatenate([-g, g, -slack], axis=1), np.ones((1, 2 * inputs + 1))]
        )
        left[-1, -1] = 0.0
        bounds: list[Any] = [(0, None)] * (2 * inputs) + [(None, None)]
        right = np.append(h, 1.0)
    else:
        left, right = np.concatenate([-g, -slack], axis=1), h
        bounds = [(-1, 1)] * inputs + [(None, None)]
    cost = np.zeros(left.shape[1])
    cost[-1] = 1.0
    done = _program(cost, left, right, bounds=bounds, method="highs")
    if done.status != 0:
        return np.zeros(count)
    duals = np.maximum(-np.asarray(done.ineqlin.marginals)[: count + 1], 0.0) / scale
    return np.asarray(duals[1:] / max(duals[0], _LEAST * float(duals.max()), 1e-300))


def _factors_l2(
    a: FloatArray, values: FloatArray, margin: FloatArray, at_center: float
) -> tuple[FloatArray, FloatArray | None]:
    """The same for l2: the projection onto the rows and the margin, by its dual."""
    # min |step| with G step >= h: nnls of [G^T; h^T] u = e_last (Lawson, Hanson: LDP)
    g = np.concatenate([-margin[None], a])
    h = np.append(at_center, -values)
    scale = np.sqrt((g * g).sum(axis=1))
    scale = np.where(scale > _UNDERFLOW, scale, 1.0)
    g, h = g / scale[:, None], h / scale
    unit = np.zeros(g.shape[1] + 1)
    unit[-1] = 1.0
    try:
        u, _ = nnls(np.concatenate([g.T, h[None]]), unit)
    except RuntimeError:
        return np.zeros(len(a)), None
    rest = np.concatenate([g.T, h[None]]) @ u - unit
    step = -rest[:-1] / rest[-1] if rest[-1] < -1e-12 else None
    factors = u / scale
    return factors[1:] / max(factors[0], _LEAST * float(factors.max()), 1e-300), step


def _rows_near(
    network: Network, pattern: Any, x: FloatArray, reach: float, norm: str
) -> tuple[FloatArray, FloatArray]:
    """The inequalities ``a · (y - x) <= b`` of a region that may fail within a distance of x."""
    maps = network.maps("float")
    columns, one = maps.coordinates()
    layers = [columns]
    rows, bounds = [np.empty((0, len(x)))], [np.empty(0)]
    for layer, pieces in enumerate(split_layers(pattern, network.widths), start=1):
        before = maps.before(layer, layers, one)
        layers.append(maps.after(layer, before, pieces, one))
        bends = network.layers[layer - 1].activation.breakpoints
        padded = np.concatenate(
            [np.full((len(bends), 1), -np.inf), bends, np.full((len(bends), 1), np.inf)], axis=1
        )
        neurons = np.arange(len(pieces))
        at = before[:, :-1] @ x + before[:, -1]
        sizes = reach * dual_norm(before[:, :-1], norm)
        above = padded[neurons, pieces.astype(np.intp) + 1] - at
        below = at - padded[neurons, pieces]
        for sign, room in ((1.0, above), (-1.0, below)):
            near = np.flatnonzero(room < sizes)
            rows.append(sign * before[near, :-1])
            bounds.append(room[near])
    return np.concatenate(rows), np.concatenate(bounds)
