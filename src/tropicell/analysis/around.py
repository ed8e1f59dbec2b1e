"""`regions_around`: the regions next to a point, nearest first, in any number of dimensions.

From the region of the point on, every boundary of a region that was found is crossed. The regions
that meet a ball around the point are connected through facets inside the ball, so whoever always
goes on with the nearest region that is not done finds them in the order of their distances. A
distance is a projection onto a polyhedron (a dual active-set method in float64); its factors prove
a lower bound, and a point strictly inside proves that there is a region at all.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from tropicell._runtime.arrays import FloatArray, IntArray
from tropicell._runtime.interruption import Halt, check, current, using
from tropicell._runtime.progress import bar_of
from tropicell.analysis._combinations import (
    absolute,
    combined,
    is_ordinary,
    roundings,
    values_with_errors,
)
from tropicell.analysis.graph import patterns_around
from tropicell.certificate._rows import PatternRows
from tropicell.errors import InvalidInputError, InvalidNetworkError, TimeLimitError
from tropicell.geometry.arithmetic import to_floats, to_rationals
from tropicell.geometry.norms import euclidean
from tropicell.geometry.rounding import INFLATE, ROUND, TINY
from tropicell.importers.models import as_network
from tropicell.network.domains import WholeSpace
from tropicell.network.inequalities import twin_lines
from tropicell.network.layers import Layer
from tropicell.network.network import Network
from tropicell.network.patterns import PatternArray
from tropicell.regions.columns import PackedPatterns
from tropicell.regions.region import Region
from tropicell.regions.regions import Regions

#: Steps of the projection for each inequality, at most, and what counts as 0 in it.
_TURNS, _NOTHING = 6, 1e-11

#: How far inside a witness is looked for, as parts of 1 + the distance.
_INSIDE = (1e-2, 1e-4, 1e-6, 1e-9, 1e-12)

#: Up to so many inputs doubtful regions are decided in rationals.
_FEW_INPUTS = 12

#: Regions whose distance is so close to the radius are kept, whether they meet the ball or not.
_TOUCHING = 1e-6

#: Rows of that many regions are kept.
_KEPT = 64


class NearRegions(Regions):
    """The regions around a point: as `Regions`, with their distances.

    Attributes
    ----------
    distances : ndarray, shape (regions,)
        Euclidean distances from the point, increasing; 0 for those that it lies in.
    lower : ndarray, shape (regions,)
        Proved lower bounds on them.
    flips : ndarray of int64, shape (regions,)
        How many boundaries were crossed on the way that found each.
    within : float
        Every region nearer than this is here: proved.
    """

    distances: FloatArray
    lower: FloatArray
    flips: IntArray
    within: float


def regions_around(
    network: Network,
    x: ArrayLike,
    *,
    flips: int | None = None,
    max_regions: int | None = None,
    radius: float | None = None,
    max_seconds: float | None = None,
    progress: bool | None = None,
) -> NearRegions:
    """The regions around a point, nearest first.

    Parameters
    ----------
    network : Network
        Any number of inputs.
    x : array_like, shape (inputs,)
    flips : int, optional
        Only regions that are reached by crossing at most so many boundaries, one after the other.
    max_regions : int, optional
        Stop after so many; default: 100 if neither `flips` nor `radius` is given.
    radius : float, optional
        Only regions that meet the open ball of this Euclidean radius.
    max_seconds : float, optional
        Stop after so many seconds, with what was found.
    progress : bool, optional
        Show a progress bar if it takes longer than two seconds; default: if standard error is
        a terminal.

    Returns
    -------
    NearRegions
        `Regions` with ``complete`` False, since these are not all regions of the network, and with
        ``distances`` (increasing), ``lower`` (proved lower bounds on them), ``flips`` (how many
        boundaries were crossed) and ``within``: the distance up to which none is missing.

    Notes
    -----
    A point on a boundary lies in several regions, all of them at distance 0. Whether a region is
    there is proved by a point strictly inside. That there is none is proved up to ``within``: what
    was passed over is farther away. Regions whose distance is `radius` up to one part in a million
    are kept, and counted in ``stats["undecided"]``.

    Examples
    --------
    >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
    >>> near = regions_around(network, [3.0, 1.0], radius=3.5)
    >>> near.texts(), near.distances.round(9).tolist(), near.complete
    (['11', '10', '01', '00'], [0.0, 1.0, 3.0, 3.16227766], False)
    >>> regions_around(network, [3.0, 1.0], flips=1).texts()
    ['11', '10', '01']
    """
    network = as_network(network)
    if flips is not None and not (isinstance(flips, int) and flips >= 0):
        raise InvalidInputError(f"flips must be a whole number from 0 on, not {flips!r}")
    if radius is not None and not radius > 0:
        raise InvalidInputError(f"radius must be positive, not {radius!r}")
    if max_regions is not None and not max_regions >= 1:
        raise InvalidInputError(f"max_regions must be at least 1, not {max_regions!r}")
    if flips is None and radius is None and max_regions is None:
        max_regions = 100
    if network.embedding is not None:
        raise InvalidNetworkError(
            "regions_around works on whole networks; for a slice use enumerate_regions with a Box"
        )
    point = network.check_points(np.asarray(x, np.float64).reshape(1, -1), finite=True)[0]
    search = _NearestFirst(network, point, inf if radius is None else float(radius), flips)
    halt = Halt(max_seconds, current())
    with bar_of(max_regions or 0, " regions", progress) as bar:
        try:
            with using(halt):
                search.start()
                while search.step():
                    bar.update(1)
                    if max_regions is not None and len(search.found) >= max_regions:
                        break
        except TimeLimitError:
            outer = current()
            if outer is not None and outer.is_over():
                raise
    return search.result()


@dataclass
class _Found:
    """A region that was found."""

    pattern: PatternArray
    distance: float
    lower: float
    flips: int
    witness: FloatArray


class _NearestFirst:
    """Candidates in a heap, by lower bounds on their distances."""

    def __init__(self, network: Network, x: FloatArray, radius: float, flips: int | None) -> None:
        self.network, self.x, self.radius, self.flips = network, x, radius, flips
        self.rows = _Rows(network, x)
        self.found: list[_Found] = []
        self.heap: list[tuple[Any, ...]] = []
        self.seen: set[bytes] = set()
        self.doubtful = inf  # the distance of the nearest candidate that nobody could decide on
        self.tries = self.undecided = 0
        self.reached = 0.0  # every region that is nearer has been found, but for those left out
        self.passed = inf  # what was left out is at least so far away

    @cached_property
    def exact(self) -> PatternRows:
        """Inequalities in rationals."""
        return PatternRows(self.network, WholeSpace())

    @cached_property
    def twins(self) -> NDArray[np.int64]:
        """For every line the first one that is the same."""
        return twin_lines(self.network)

    def start(self) -> None:
        """The regions that the point lies in, or on the boundary of."""
        pattern = self.network.patterns(self.x[None])[0]
        if self.rows.is_inside(pattern, self.x):
            self._push(pattern, 0.0, 0)
            return
        for pattern in patterns_around(self.network, self.x):
            self._push(pattern, 0.0, 0)

    def _push(self, pattern: PatternArray, lower: float, flips: int) -> None:
        key = pattern.tobytes()
        if key in self.seen:
            return
        if lower >= self.radius or (self.flips is not None and flips > self.flips):
            if self.flips is None or flips <= self.flips:
                self.passed = min(self.passed, lower)
            return
        self.seen.add(key)
        rank = flips if self.flips is not None else 0
        heapq.heappush(self.heap, (rank, lower, len(self.seen), pattern, flips, None))

    def step(self) -> bool:
        """Find one more region; False if there are no candidates left."""
        while self.heap:
            check()
            rank, lower, number, pattern, flips, known = heapq.heappop(self.heap)
            if self.flips is None:
                # All others are at least as far: what is nearer has been found, since the regions
                # that meet a ball are connected inside it.
                self.reached = max(self.reached, lower)
            if known is not None:
                self._add(known)
                return True
            self.tries += 1
            known, lower = self._decide(pattern, lower, flips)
            if lower >= self.radius:
                self.passed = min(self.passed, lower)
                continue
            if known is None:
                self.passed = min(self.passed, lower)
                continue
            if known.distance > self.radius * (1 - _TOUCHING):
                self.undecided += 1  # it touches the ball, or just about: kept
            heapq.heappush(self.heap, (rank, known.lower, number, pattern, flips, known))
        return False

    def _decide(
        self, pattern: PatternArray, lower: float, flips: int
    ) -> tuple[_Found | None, float]:
        """A region with its distance, or None; and a proved lower bound on its distance."""
        rows, values, neurons, signs, bends = self.rows.of(pattern)
        step, active, factors = project(rows, values)
        proved = max(
            lower, self._prove(pattern, neurons[active], signs[active], bends[active], factors)
        )
        if step is None:
            return None, proved
        distance = float(np.sqrt(step @ step))
        if proved >= self.radius:
            return None, proved
        sizes = np.sqrt((rows * rows).sum(axis=1))
        for share in _INSIDE:
            inner, _, _ = project(rows, values - share * (1 + distance) * sizes)
            if inner is not None:
                witness = self.x + inner
                if self.rows.is_inside(pattern, witness):
                    return _Found(pattern, distance, min(proved, distance), flips, witness), proved
        exact = self._decide_exactly(pattern)
        if exact is None:
            return None, inf
        if len(exact):
            return _Found(pattern, distance, min(proved, distance), flips, exact), proved
        self.doubtful = min(self.doubtful, proved)
        return None, proved

    def _decide_exactly(self, pattern: PatternArray) -> FloatArray | None:
        """A witness in rationals, rounded; None: there is no region; empty: not decided."""
        if self.network.n_inputs > _FEW_INPUTS:
            return np.empty(0)
        region = Region(self.network, pattern)
        if not region.certain:
            return None
        return to_floats(to_rationals(region.witness))

    def _prove(
        self, pattern: PatternArray, neurons: IntArray, signs: Any, bends: Any, factors: FloatArray
    ) -> float:
        """A lower bound on the distance of all points at which some rows are not negative."""
        # Any factors do, if none is negative. Of two of one neuron the larger: no sum is rounded.
        order = np.argsort(factors, kind="stable")
        last = np.zeros(self.network.n_neurons, np.int64)
        last[neurons[order]] = order
        kept = last[np.unique(neurons)]
        neurons, factors = neurons[kept], factors[kept]
        signs, bends = signs[kept], bends[kept]
        weights = np.zeros(self.network.n_neurons)
        weights[neurons] = signs * factors
        offset = -float((signs * factors * bends).sum())
        off = 8 * (len(factors) + 1) * ROUND * float(np.abs(factors * bends).sum())
        sums = combined(self.network, pattern, weights)
        value, error = sums.at(self.x)
        value, error = value + offset, error + off + 4 * ROUND * (abs(value) + abs(offset))
        size = float(euclidean(sums.slopes)) * (1 + (len(self.x) + 16) * ROUND)
        size += float(euclidean(sums.slope_errors)) + TINY
        if not (np.isfinite(size) and -value > error * INFLATE):
            return 0.0
        return max(0.0, (-value - error * INFLATE) / (size * INFLATE))

    def _add(self, found: _Found) -> None:
        """Take a region, and push what lies behind its boundaries."""
        self.found.append(found)
        rows, values, neurons, signs, bends = self.rows.of(found.pattern)
        sizes = euclidean(rows)
        row_errors, value_errors = self.rows.errors(neurons, bends)
        low = (values - value_errors) / (sizes + row_errors)  # > 0: the point is on this side
        low = np.where(np.isfinite(low), np.maximum(low, 0.0), 0.0) * (1 - 8 * ROUND)
        for k in np.flatnonzero(sizes > 0).tolist():
            self._push_behind(found, [k], neurons, signs, float(low[k]))
        for group in self._groups(rows, values, sizes, row_errors, value_errors):
            self._push_shared(found, group, neurons, signs, low)
        constant = (sizes <= row_errors) & (np.abs(values) <= value_errors) & self.rows.fed[neurons]
        last = int(neurons[constant].max(initial=-1))
        # A neuron that is at a breakpoint all over this region may leave it behind any boundary.
        for k in np.flatnonzero((sizes > 0) & (neurons < last)).tolist():
            self._push_shared(found, np.array([k]), neurons, signs, low)

    def _push_behind(
        self, found: _Found, group: list[int], neurons: IntArray, signs: Any, lower: float
    ) -> None:
        """What lies behind a boundary if just these neurons change there."""
        pattern = found.pattern.copy()
        for k in group:
            pattern[neurons[k]] = int(pattern[neurons[k]]) - int(signs[k])
        self._push(pattern, lower, found.flips + 1)

    def _push_shared(
        self, found: _Found, group: IntArray, neurons: IntArray, signs: Any, low: FloatArray
    ) -> None:
        """What lies behind boundaries at which others may change, too: those that really do."""
        lines = self.rows.first[neurons[group]] + found.pattern[neurons[group]] - (signs[group] > 0)
        if self.network.n_inputs > _FEW_INPUTS:
            lower = float(low[group].min())
            if len(set(neurons[group].tolist())) == len(group):
                self._push_behind(found, group.tolist(), neurons, signs, lower)
            if len(group) == 1 or len(set(self.twins[lines.astype(np.intp)].tolist())) > 1:
                self.doubtful = min(self.doubtful, lower)  # others may change there
            return
        for lower, line in zip(low[group].tolist(), lines.astype(np.intp).tolist(), strict=True):
            if lower >= self.radius:
                self.passed = min(self.passed, lower)
                continue
            check()
            (row,) = self.exact.of_lines(found.pattern, [1 + line])
            if any(row[:-1]):
                self._push(self.exact.behind(row), lower, found.flips + 1)

    def _groups(
        self, rows: Any, values: Any, sizes: Any, row_errors: Any, value_errors: Any
    ) -> Iterator[IntArray]:
        """Inequalities that may have one boundary together."""
        usable = np.flatnonzero(sizes > 0)
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = np.concatenate([rows, values[:, None]], axis=1)[usable] / sizes[usable, None]
            chosen = np.random.default_rng(0).normal(size=scaled.shape[1])
            keys = np.abs(scaled @ chosen)
            errors = np.abs(chosen).sum() * (row_errors + value_errors)[usable] / sizes[usable]
            room = 1e-9 * (1 + keys) + 2 * errors * (1 + keys)
        keys, room = np.nan_to_num(keys, nan=0.0), np.nan_to_num(room, nan=inf, posinf=inf)
        order = np.argsort(keys - room, kind="stable")
        reached = np.maximum.accumulate((keys + room)[order])
        ends = np.flatnonzero((keys - room)[order][1:] > reached[:-1]) + 1
        for part in np.split(order, ends):
            if len(part) > 1:
                yield usable[part]

    def result(self) -> NearRegions:
        """What was found, nearest first."""
        left = min((entry[1] for entry in self.heap), default=inf)
        within = min(self.radius, self.passed, self.doubtful, max(self.reached, left))
        if self.flips is not None:
            within = min(
                [within, *(entry.lower for entry in self.found if entry.flips == self.flips)]
            )
        found = sorted(self.found, key=lambda one: (one.distance, one.flips))
        network, count = self.network, len(found)
        patterns = np.array([one.pattern for one in found], np.uint8)
        packed = PackedPatterns.pack(
            patterns.reshape(count, network.n_neurons), PackedPatterns.bits_for(network.pieces)
        )
        witnesses = np.array([one.witness for one in found]).reshape(count, network.n_inputs)
        stats = {
            "engine": "around",
            "reason": "a search around a point",
            "arithmetic": "exact",
            "tries": self.tries,
            "within": within,
            "undecided": self.undecided,
        }
        near = NearRegions(network, WholeSpace(), packed, witnesses, complete=False, stats=stats)
        near.distances = np.array([one.distance for one in found])
        near.lower = np.array([one.lower for one in found])
        near.flips = np.array([one.flips for one in found], np.int64)
        near.within = within
        return near


class _Rows:
    """The inequalities of patterns in float64, seen from a point, with bounds for all patterns."""

    def __init__(self, network: Network, x: FloatArray) -> None:
        self.network, self.x = network, x
        self.kept: dict[bytes, NDArray[Any]] = {}
        self.ends = np.cumsum([0, *network.widths])
        self.last = int(self.ends[-2]) if network.depth else 0
        self.slope_errors, self.value_errors = _row_errors(network, x)
        self.first = np.cumsum(network.pieces - 1) - (network.pieces - 1)  # line of each neuron
        self.fed = np.concatenate([np.empty(0, np.bool_), *map(_fed, network.layers)])
        parts = [layer.activation.breakpoints for layer in network.layers]
        most = max([1, *(part.shape[1] for part in parts)])
        bends = [
            np.pad(p, ((0, 0), (1, most + 1 - p.shape[1])), constant_values=inf) for p in parts
        ]
        self.bends = np.concatenate([np.empty((0, most + 2)), *bends])
        self.bends[:, 0] = -inf

    def of(self, pattern: PatternArray) -> tuple[FloatArray, FloatArray, IntArray, Any, Any]:
        """Rows ``row · step + value >= 0`` of a pattern; their neurons, signs and breakpoints."""
        maps = self._maps(pattern)
        neurons = np.arange(self.network.n_neurons)
        piece = pattern.astype(np.intp)
        low, high = self.bends[neurons, piece], self.bends[neurons, piece + 1]
        at = maps[:, :-1] @ self.x + maps[:, -1]
        above, below = np.flatnonzero(np.isfinite(low)), np.flatnonzero(np.isfinite(high))
        which = np.concatenate([above, below])
        signs = np.concatenate([np.ones(len(above)), -np.ones(len(below))])
        bends = np.concatenate([low[above], high[below]])
        return signs[:, None] * maps[which, :-1], signs * (at[which] - bends), which, signs, bends

    def _maps(self, pattern: PatternArray) -> FloatArray:
        """The maps of all neurons before their activation; the last layer's pieces play no part."""
        key = pattern[: self.last].tobytes()
        found = self.kept.get(key)
        if found is None:
            while len(self.kept) >= _KEPT:
                self.kept.pop(next(iter(self.kept)))
            found = self.kept[key] = self.network.maps("float").pre_activations(pattern[None])[:, 0]
        return found

    def errors(self, neurons: IntArray, bends: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bounds on the errors of rows' lengths, and of their values."""
        root = np.sqrt(self.network.n_inputs)
        rows = root * self.slope_errors[neurons]
        return rows, self.value_errors[neurons] + 2 * ROUND * np.abs(bends)

    def is_inside(self, pattern: PatternArray, point: FloatArray) -> bool:
        """Whether a point is proved to lie strictly inside the region of a pattern."""
        network = self.network
        pieces = pattern.astype(np.intp)
        neurons = np.arange(network.n_neurons)
        low, high = self.bends[neurons, pieces], self.bends[neurons, pieces + 1]
        sure = is_ordinary(network)
        for layer, (value, error) in enumerate(values_with_errors(network, point)):
            if layer < network.depth and sure:
                part = slice(self.ends[layer], self.ends[layer + 1])
                sure = bool(((value - error > low[part]) & (value + error < high[part])).all())
        return sure or self._is_inside_exactly(pattern, point)

    def _is_inside_exactly(self, pattern: PatternArray, point: FloatArray) -> bool:
        """The same in rationals: neurons that are constant may be at a breakpoint."""
        network = self.network
        if network.n_inputs > _FEW_INPUTS:
            return False
        rows = Region(network, pattern).inequalities
        exact = to_rationals(rows.A) @ to_rationals(point)
        room = to_rationals(rows.b) - exact
        constant = np.array([not row.any() for row in rows.A], np.bool_)
        good = (room > 0) | (constant & rows.closed & (room == 0))
        return bool(np.asarray(good, np.bool_).all())


def _fed(layer: Layer) -> NDArray[np.bool_]:
    """Which neurons of a layer have a weight that is not 0."""
    terms: Any = layer.affine.terms.values()
    sizes = [np.asarray(abs(matrix).sum(axis=1)).ravel() for matrix in terms]
    return np.asarray(sum(sizes, np.zeros(layer.affine.width)) != 0)


def _row_errors(network: Network, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """For each neuron, on any pattern: bounds on the errors of its slopes and of its value at x."""
    if not is_ordinary(network):
        infinite = np.full(network.n_neurons, inf)
        return infinite, infinite
    inputs = network.n_inputs
    total = float(np.abs(x).sum())
    # of each neuron: slopes, then offset; sizes and errors
    layers: list[Any] = [(np.stack([np.ones(inputs), np.zeros(inputs)]), np.zeros((2, inputs)))]
    found = []
    for layer in range(1, network.depth + 1):
        affine = network.affine(layer)
        sizes = np.stack([np.zeros(affine.width), np.abs(affine.bias)])
        gamma = roundings(affine) * ROUND
        errors = gamma * sizes + TINY
        for source, matrix in affine.terms.items():
            size, error = layers[source]
            weights = absolute(network, layer, source)
            if source == 0:  # a slope is one weight, not a sum
                largest: Any = weights.max(axis=1)
                largest = np.asarray(largest.todense()).ravel() if sp.issparse(matrix) else largest
                sizes = sizes + np.stack([largest, np.zeros(affine.width)])
                errors = errors + np.stack([gamma * largest, np.zeros(affine.width)])
            else:
                sizes = sizes + size @ weights.T
                errors = errors + (error + gamma * size) @ weights.T
        found.append((errors[0], errors[0] * total + errors[1], sizes[0] * total + sizes[1]))
        activation = network.layers[layer - 1].activation
        slope = np.abs(activation.slopes).max(axis=1)
        shift = np.stack([np.zeros(affine.width), np.abs(activation.intercepts).max(axis=1)])
        errors = slope * errors + 4 * ROUND * (slope * sizes + shift)
        layers.append((INFLATE * (slope * sizes + shift), INFLATE * errors))
    slopes = np.concatenate([np.empty(0), *(part[0] for part in found)])
    values = [part[1] + (inputs + 16) * ROUND * part[2] for part in found]
    return slopes * INFLATE, np.concatenate([np.empty(0), *values]) * INFLATE


def project(rows: FloatArray, values: FloatArray) -> tuple[FloatArray | None, IntArray, FloatArray]:
    """The shortest step with ``rows @ step + values >= 0``, by Goldfarb's and Idnani's method.

    Parameters
    ----------
    rows : ndarray, shape (rows, inputs)
    values : ndarray, shape (rows,)

    Returns
    -------
    step : ndarray or None
        None if there seems to be none.
    active : ndarray of int
        Rows whose sum, with the factors, keeps points away.
    factors : ndarray
        None negative. Nothing here is proved.

    Examples
    --------
    >>> step, active, factors = project(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([-2.0, 1.0]))
    >>> step, active
    (array([2., 0.]), array([0]))
    """
    count, inputs = rows.shape
    sizes = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    usable = sizes > 1e-150
    safe = np.where(usable, sizes, 1.0)
    unit, level = rows / safe[:, None], values / safe
    if (~usable & (values < 0)).any():
        worst = int(np.argmin(np.where(usable, 0.0, values)))
        return None, np.array([worst]), np.array([1.0])
    active: list[int] = []
    step, factors = np.zeros(inputs), np.zeros(0)
    for _ in range(_TURNS * (count + 10)):
        room = unit @ step + level
        room[~usable] = 0.0
        scale = 1.0 + float(np.abs(step).max(initial=0.0))
        worst = int(room.argmin()) if count else -1
        if worst < 0 or room[worst] >= -_NOTHING * scale or worst in active:
            return step, np.array(active, np.int64), factors / safe[active] if active else factors
        more = 0.0
        while True:
            check()
            normals = unit[active]
            if active:
                pull = np.linalg.lstsq(normals.T, unit[worst], rcond=None)[0]
                free = unit[worst] - normals.T @ pull
            else:
                pull, free = np.zeros(0), unit[worst]
            square = float(free @ free)
            falling = pull > _NOTHING
            ratios = np.full(len(active), inf)
            ratios[falling] = factors[falling] / pull[falling]
            first = int(ratios.argmin()) if active else -1
            limit = float(ratios[first]) if first >= 0 else inf
            length = -float(unit[worst] @ step + level[worst]) / square if square > 1e-18 else inf
            move = min(limit, length)
            if move == inf:
                held = np.append(np.maximum(-pull, 0.0), 1.0)
                which = np.array([*active, worst], np.int64)
                return None, which, held / safe[which]
            factors = np.maximum(factors - move * pull, 0.0)
            more += move
            if length < inf:
                step = step + move * free
            if move == length:
                active.append(worst)
                factors = np.append(factors, more)
                break
            active.pop(first)
            factors = np.delete(factors, first)
    return None, np.array(active, np.int64), factors / safe[active] if active else factors
