"""Proved linear bounds on outputs in a ball, backwards through the layers.

In a ball around a point every neuron lies between two numbers, and between these its activation
lies between two lines. Going backwards from a combination of outputs, each neuron is replaced by
the line on the right side: the result is an affine function of the input below the combination
(CROWN, DeepPoly). Neurons that are restricted to some of their pieces come with factors β
(β-CROWN), and lines that may turn around a breakpoint with slopes α; both are free, and chosen to
make the bound good.

Every bound is proved: each number that was computed counts as what it is, and what it may differ
from what it should be, times the largest value that it is multiplied with in the ball, is taken off
(docs/exactness.md, "Distances to the decision boundary").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray, IntArray
from tropicell._runtime.interruption import check
from tropicell.analysis._combinations import roundings
from tropicell.errors import InvalidNetworkError
from tropicell.geometry.norms import euclidean
from tropicell.geometry.rounding import INFLATE, ROUND, TINY, UNDERFLOW
from tropicell.network.network import Network

#: Roundings beyond one for each summand; more than any order of a sum has.
_MORE = 16

#: Neurons of a layer whose bounds are worked out at a time.
_ROWS = 512

#: Numbers of neurons and outputs in the ball; beyond, products of bounds could overflow.
_LARGEST = 1e120


def dual_norm(vectors: FloatArray, norm: str) -> FloatArray:
    """The dual norm of rows: what a linear function changes by within a distance of 1."""
    if norm == "linf":
        return np.asarray(np.abs(vectors).sum(axis=-1))
    if norm == "l2":
        return euclidean(vectors)
    return np.asarray(np.abs(vectors).max(axis=-1, initial=0.0))


def steepest(vectors: FloatArray, norm: str) -> FloatArray:
    """Steps of length 1 along which linear functions (rows) fall most."""
    if norm == "linf":
        return np.asarray(-np.sign(vectors))
    if norm == "l2":
        sizes = euclidean(vectors)[..., None]
        return np.asarray(-vectors / np.where(sizes > 0, sizes, 1.0))
    steps = np.zeros_like(vectors)
    rows, largest = np.arange(len(vectors)), np.abs(vectors).argmax(axis=-1)
    steps[rows, largest] = -np.sign(vectors[rows, largest])
    return steps


@dataclass
class Branches:
    """Parts of the ball: which pieces neurons are on, and what bounds are made with.

    Attributes
    ----------
    first, last : ndarray of uint8, shape (nodes, neurons that vary)
        The lowest and the highest piece that a neuron may be on.
    slope : ndarray, shape (nodes, neurons that vary)
        α: the slope of the line that may turn, from 0 (that of the piece below) to 1.
    above, below : ndarray, shape (nodes, neurons that vary)
        β: factors of ``z >= `` the lower end of the pieces, and of ``z <= `` the upper end.
    target : ndarray of int64, shape (nodes,)
        Which margin is bounded.
    low, high : ndarray, shape (nodes, neurons that vary)
        Between which numbers a neuron lies before its activation.
    bound : ndarray, shape (nodes,)
        A proved lower bound on the distance.
    """

    first: NDArray[np.uint8]
    last: NDArray[np.uint8]
    slope: FloatArray
    above: FloatArray
    below: FloatArray
    target: IntArray
    low: FloatArray
    high: FloatArray
    bound: FloatArray

    def __len__(self) -> int:
        return len(self.target)

    def take(self, rows: Any) -> Branches:
        """Some of the nodes."""
        return Branches(*(getattr(self, name)[rows].copy() for name in self.__dataclass_fields__))

    @staticmethod
    def join(parts: list[Branches]) -> Branches:
        """Several lists of nodes as one."""
        names = Branches.__dataclass_fields__
        return Branches(
            *(np.concatenate([getattr(part, name) for part in parts]) for name in names)
        )


@dataclass
class Linear:
    """Affine functions below the margins, and what they were made of.

    Attributes
    ----------
    slopes : ndarray, shape (nodes, inputs)
    at_center : ndarray, shape (nodes,)
        Values at the center of the ball, errors taken off.
    outer : list of ndarray, shape (nodes, width)
        The factors of each layer's outputs.
    """

    slopes: FloatArray
    at_center: FloatArray
    outer: list[Any]


class Bends(NamedTuple):
    """The activations of some neurons, as in `Activation`."""

    breakpoints: FloatArray
    slopes: FloatArray
    intercepts: FloatArray


def _corners(bends: Bends, low: FloatArray, high: FloatArray) -> tuple[FloatArray, ...]:
    """Ends and breakpoints between them (ends where there are fewer), the activation there, slack.

    The slack is more than what the values of the activation may be off by: its two parts, slope
    times point and intercept, may cancel.
    """
    at = bends.breakpoints
    inner = np.clip(at, low[..., None], high[..., None])
    points = np.concatenate([low[..., None], inner, high[..., None]], axis=-1)
    pieces = (points[..., None] > at[..., None, :]).sum(axis=-1)
    rows = np.arange(len(at))[:, None]
    parts = bends.slopes[rows, pieces] * points, bends.intercepts[rows, pieces]
    sizes = (np.abs(parts[0]) + np.abs(parts[1])).max(axis=-1)
    slack = np.where(sizes > 0, 4 * ROUND * sizes + TINY, 0.0)
    return points, parts[0] + parts[1], slack


def lines_of(bends: Bends, low: FloatArray, high: FloatArray, turn: Any) -> Any:
    """Lines below and above activations between two numbers: slope and intercept of each.

    Where an activation is convex, the one above is the chord, and the one below may turn around the
    breakpoint: from 0 (the first slope) to 1 (the last one), as `turn` says; where it is concave,
    the other way round. None: whichever end leaves less room.

    Examples
    --------
    >>> relu = Bends(np.array([[0.0]]), np.array([[0.0, 1.0]]), np.array([[0.0, 0.0]]))
    >>> below, _, above, shift = lines_of(relu, np.array([-1.0]), np.array([3.0]), None)
    >>> float(below[0]), float(above[0]), round(float(shift[0]), 9)
    (1.0, 0.75, 0.75)
    """
    points, values, off = _corners(bends, low, high)
    span = points[..., -1] - points[..., 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.diff(values, axis=-1) / np.diff(points, axis=-1)
        chord = (values[..., -1] - values[..., 0]) / span
    chord = np.where(span > 0, chord, 0.0)
    steps = np.where(np.isfinite(steps), steps, chord[..., None])
    first, last = steps.min(axis=-1), steps.max(axis=-1)
    bulge = values - (values[..., :1] + chord[..., None] * (points - points[..., :1]))
    convex = bulge.max(axis=-1) <= -bulge.min(axis=-1)
    if turn is None:
        # for ReLU: the identity if the upper end is farther from the breakpoint
        turn = (chord > (first + last) / 2).astype(np.float64)
    turned = first + turn * (last - first)
    below, above = np.where(convex, turned, chord), np.where(convex, chord, turned)
    steep = np.maximum(np.abs(below), np.abs(above))
    size = np.abs(values).max(axis=-1) + steep * np.abs(points).max(axis=-1)
    slack = off + np.where(size > 0, 8 * ROUND * size + TINY, 0.0)
    low_shift = (values - below[..., None] * points).min(axis=-1) - slack
    high_shift = (values - above[..., None] * points).max(axis=-1) + slack
    return below, low_shift, above, high_shift


class Relaxation:
    """A network in a ball: bounds on all neurons, and bounds on combinations of outputs.

    Parameters
    ----------
    network : Network
        Of ordinary numbers, without a map in front of layer 0.
    center : ndarray, shape (inputs,)
    radius : float
    norm : {"linf", "l2", "l1"}
    """

    def __init__(self, network: Network, center: FloatArray, radius: float, norm: str) -> None:
        self.network, self.center, self.radius, self.norm = network, center, radius, norm
        self.ends = np.cumsum([0, *network.widths])
        self.low: list[FloatArray] = []
        self.high: list[FloatArray] = []
        self.largest: list[FloatArray] = [np.abs(center) + radius]  # of the outputs of layers
        self.sizes: dict[tuple[int, int], FloatArray] = {}
        self.base: list[tuple[FloatArray, ...]] = []
        self.varying = np.empty(0, np.int64)
        self.place: list[Any] = []  # per layer: columns of varying neurons, and which they are
        for layer in range(1, network.depth + 1):
            check()
            self._bound_layer(layer)
        self._find_varying()

    # --- bounds on neurons ------------------------------------------------------------------------

    def _bound_layer(self, layer: int) -> None:
        width = self.network.widths[layer - 1]
        self._measure(layer)
        low, high = self._intervals(layer)
        doubtful = np.arange(width)
        if layer > 1:
            bends = self.network.layers[layer - 1].activation.breakpoints
            crossed = (low[:, None] < bends) & (bends < high[:, None])
            doubtful = np.flatnonzero(crossed.any(axis=1))
        for start in range(0, len(doubtful), _ROWS):
            check()
            rows = doubtful[start : start + _ROWS]
            unit = np.zeros((len(rows), width))
            unit[np.arange(len(rows)), rows] = 1.0
            low[rows] = np.fmax(low[rows], self._smallest(layer, unit))
            high[rows] = np.fmin(high[rows], -self._smallest(layer, -unit))
        self.low.append(low)
        self.high.append(high)
        activation = self.network.layers[layer - 1].activation
        slopes = np.abs(activation.slopes).max(axis=1)
        reach = np.maximum(np.abs(low), np.abs(high))
        shift = np.abs(activation.intercepts).max(axis=1)
        self.largest.append((slopes * reach + shift) * INFLATE)
        largest = float(max(reach.max(initial=0.0), self.largest[-1].max(initial=0.0)))
        if not largest < _LARGEST:
            raise InvalidNetworkError(
                f"numbers of layer {layer} reach {largest:.0e} in a ball of radius "
                f"{self.radius:g}: no bound can be proved beyond {_LARGEST:.0e}; scale the weights"
            )
        self.base.append(lines_of(self._bends(layer), low, high, None))

    def _measure(self, layer: int) -> None:
        """For each term, and each neuron, the sum of |weights| times the largest inputs."""
        for source, matrix in self.network.affine(layer).terms.items():
            weights: Any = abs(matrix)
            self.sizes[layer, source] = np.asarray(weights @ self.largest[source]) * INFLATE

    def _intervals(self, layer: int) -> tuple[FloatArray, FloatArray]:
        """Bounds by the bounds of the layers before."""
        affine = self.network.affine(layer)
        gamma = roundings(affine) * ROUND
        middle, reach = affine.bias.astype(np.float64), np.abs(affine.bias) * 2 * gamma + TINY
        for source, matrix in affine.terms.items():
            size = self.sizes[layer, source]
            if source == 0:
                middle = middle + matrix @ self.center
                # within a distance of 1 the product changes by the dual norms of the rows
                dense = matrix.toarray() if sp.issparse(matrix) else matrix
                grown = self.radius * dual_norm(dense, self.norm)
            else:
                low, high = self._outputs(source)
                middle = middle + matrix @ ((low + high) / 2)
                weights: Any = abs(matrix)
                grown = weights @ ((high - low) / 2 * (1 + 4 * ROUND) + TINY)
            reach = reach + (grown * (1 + 2 * gamma) + 4 * gamma * size) * INFLATE
        return middle - reach, middle + reach

    def _outputs(self, layer: int) -> tuple[FloatArray, FloatArray]:
        """Bounds on the outputs of a layer."""
        _, values, off = _corners(self._bends(layer), self.low[layer - 1], self.high[layer - 1])
        slack = off + 4 * ROUND * np.abs(values).max(axis=-1) + TINY
        return values.min(axis=-1) - slack, values.max(axis=-1) + slack

    def _smallest(self, layer: int, factors: FloatArray) -> FloatArray:
        """Proved lower bounds on combinations of a layer's pre-activations in the ball."""
        linear = self._backwards(layer, factors, [(*lines, None) for lines in self.base])
        return self._in_ball(linear)

    def _in_ball(self, linear: Linear) -> FloatArray:
        return np.asarray(linear.at_center - self.radius * self._steepness(linear) * INFLATE)

    def _steepness(self, linear: Linear) -> FloatArray:
        """The dual norms of slopes, rounded up."""
        sizes = dual_norm(linear.slopes, self.norm)
        gamma = (linear.slopes.shape[1] + _MORE) * ROUND
        return np.asarray(sizes * (1 + gamma) + (sizes > 0) * _MORE * UNDERFLOW)

    def _find_varying(self) -> None:
        found, places = [], []
        count = 0
        for layer, (low, high) in enumerate(zip(self.low, self.high, strict=True), start=1):
            bends = self.network.layers[layer - 1].activation.breakpoints
            crossed = ((low[:, None] < bends) & (bends < high[:, None])).any(axis=1)
            columns = np.flatnonzero(crossed)
            found.append(self.ends[layer - 1] + columns)
            places.append((columns, slice(count, count + len(columns))))
            count += len(columns)
        self.varying = np.concatenate([np.empty(0, np.int64), *found])
        self.place = places

    def _bends(self, layer: int, columns: Any = slice(None)) -> Bends:
        activation = self.network.layers[layer - 1].activation
        return Bends(
            activation.breakpoints[columns],
            activation.slopes[columns],
            activation.intercepts[columns],
        )

    # --- bounds on margins ------------------------------------------------------------------------

    def ends_of(self, nodes: Branches) -> tuple[FloatArray, FloatArray]:
        """The breakpoints between which nodes restrict the varying neurons; infinite if none."""
        lows, highs = [np.empty((len(nodes), 0))], [np.empty((len(nodes), 0))]
        for layer, (columns, part) in enumerate(self.place, start=1):
            bends = self.network.layers[layer - 1].activation.breakpoints[columns]
            padded = np.pad(bends, ((0, 0), (1, 1)), constant_values=np.inf)
            padded[:, 0] = -np.inf
            rows = np.arange(len(columns))
            lows.append(padded[rows, nodes.first[:, part]])
            highs.append(padded[rows, nodes.last[:, part].astype(np.intp) + 1])
        return np.concatenate(lows, axis=1), np.concatenate(highs, axis=1)

    def root(self) -> tuple[FloatArray, FloatArray]:
        """Between which numbers the varying neurons lie in the ball."""
        parts = [columns for columns, _ in self.place]
        low = [row[columns] for row, columns in zip(self.low, parts, strict=True)]
        high = [row[columns] for row, columns in zip(self.high, parts, strict=True)]
        return np.concatenate([np.empty(0), *low]), np.concatenate([np.empty(0), *high])

    def restrict(self, nodes: Branches) -> None:
        """Bring the numbers of neurons in line with the pieces they are on."""
        low, high = self.ends_of(nodes)
        np.maximum(nodes.low, low, out=nodes.low)
        np.minimum(nodes.high, high, out=nodes.high)
        nodes.bound[(nodes.low > nodes.high).any(axis=1)] = np.inf

    def refine(self, nodes: Branches) -> None:
        """Make the bounds on the varying neurons better by what is known of the layers before."""
        self.restrict(nodes)
        for layer, (columns, part) in enumerate(self.place, start=1):
            if layer == 1 or not len(columns):
                continue
            bends = self.network.layers[layer - 1].activation.breakpoints[columns]
            low, high = nodes.low[:, part], nodes.high[:, part]
            open_ = ((low[..., None] < bends) & (bends < high[..., None])).any(axis=-1)
            open_ &= np.isfinite(np.where(np.isinf(nodes.bound), np.inf, 0.0))[:, None]
            which, neuron = np.nonzero(open_)
            lines = self.all_lines(nodes, layer - 1, betas=False)
            for start in range(0, len(which), 2 * _ROWS):
                check()
                some, places = which[start : start + 2 * _ROWS], neuron[start : start + 2 * _ROWS]
                unit = np.zeros((len(some), self.network.widths[layer - 1]))
                unit[np.arange(len(some)), columns[places]] = 1.0
                given = [
                    (*(line if line.ndim == 1 else line[some] for line in row[:4]), None)
                    for row in lines
                ]
                least = self._in_ball(self._backwards(layer, unit, given))
                most = -self._in_ball(self._backwards(layer, -unit, given))
                at = part.start + places
                nodes.low[some, at] = np.fmax(nodes.low[some, at], least)
                nodes.high[some, at] = np.fmin(nodes.high[some, at], most)
        nodes.bound[(nodes.low > nodes.high).any(axis=1)] = np.inf

    def all_lines(
        self, nodes: Branches, depth: int | None = None, *, betas: bool = True
    ) -> list[Any]:
        """The lines of all neurons for each node, and its factors β with what they belong to."""
        ends = self.ends_of(nodes) if betas else None
        found: list[Any] = []
        for layer, (columns, part) in enumerate(self.place[:depth], start=1):
            base = self.base[layer - 1]
            if not len(columns):
                found.append((*base, None))
                continue
            low, high = nodes.low[:, part], np.maximum(nodes.low[:, part], nodes.high[:, part])
            own = lines_of(self._bends(layer, columns), low, high, nodes.slope[:, part])
            full = []
            for whole, some in zip(base, own, strict=True):
                spread = np.tile(whole, (len(nodes), 1))
                spread[:, columns] = some
                full.append(spread)
            factors = None
            if ends is not None:
                known_low, known_high = np.isfinite(ends[0][:, part]), np.isfinite(ends[1][:, part])
                factors = (
                    columns,
                    nodes.above[:, part] * known_low,
                    nodes.below[:, part] * known_high,
                    np.where(known_low, ends[0][:, part], 0.0),
                    np.where(known_high, ends[1][:, part], 0.0),
                )
            found.append((*full, factors))
        return list(found)

    def margins(self, targets: FloatArray, nodes: Branches) -> tuple[Linear, list[Any]]:
        """Affine functions below margins (rows of factors of the outputs) on nodes."""
        lines = self.all_lines(nodes)
        return self._backwards(self.network.depth + 1, targets[nodes.target], lines), lines

    def distances(self, linear: Linear) -> FloatArray:
        """Proved lower bounds on the distance at which an affine function reaches 0.

        None is larger than the radius: beyond the ball nothing is known.
        """
        sizes = self._steepness(linear)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.where(
                linear.at_center > 0, linear.at_center / (sizes * INFLATE) * (1 - 4 * ROUND), 0.0
            )
        return np.minimum(np.where(np.isnan(found), 0.0, found), self.radius)

    def _backwards(self, top: int, factors: FloatArray, lines: list[Any]) -> Linear:
        """An affine function below combinations of the pre-activations of a layer."""
        network, count = self.network, len(factors)
        outer: list[Any] = [None] * (network.depth + 2)
        constant, error = np.zeros(count), np.zeros(count)
        size = np.zeros(count)
        slopes = np.zeros((count, network.n_inputs))
        for layer in range(top, 0, -1):
            if layer == top:
                inner = factors
            elif outer[layer] is None:
                continue
            else:
                inner, shift, slack = self._through(layer, outer[layer], lines[layer - 1])
                constant = constant + shift
                size = size + np.abs(shift)
                error = error + slack
            affine = network.affine(layer)
            terms = inner @ affine.bias
            constant = constant + terms
            share = np.abs(inner) @ np.abs(affine.bias)
            size = size + share
            error = error + (affine.width + _MORE) * ROUND * share
            gamma = (affine.width + _MORE + 2 * len(outer)) * ROUND
            for source, matrix in affine.terms.items():
                more = np.asarray(
                    inner @ matrix if not sp.issparse(matrix) else (matrix.T @ inner.T).T
                )
                error = error + gamma * (np.abs(inner) @ self.sizes_of(layer, source))
                error = error + (affine.width + _MORE) * UNDERFLOW * self.largest[source].sum()
                if source == 0:
                    slopes = slopes + more
                else:
                    outer[source] = more if outer[source] is None else outer[source] + more
        value = constant + slopes @ self.center
        gamma = (network.n_inputs + 4 * len(outer) + _MORE) * ROUND
        size = size + np.abs(slopes) @ np.abs(self.center)
        error = (error + gamma * size + TINY) * INFLATE
        return Linear(slopes, value - error, outer)

    def sizes_of(self, layer: int, source: int) -> FloatArray:
        """See `_measure`."""
        if (layer, source) not in self.sizes:
            self._measure(layer)
        return self.sizes[layer, source]

    def _through(self, layer: int, outer: FloatArray, lines: Any) -> tuple[Any, Any, Any]:
        """Replace a layer's outputs by lines; errors are bounded by the largest values."""
        below, low_shift, above, high_shift, betas = lines
        over = outer >= 0
        slope = np.where(over, below, above)
        inner = outer * slope
        shift = outer * np.where(over, low_shift, high_shift)
        constant = shift.sum(axis=1)
        reach = np.maximum(np.abs(self.low[layer - 1]), np.abs(self.high[layer - 1]))
        error = 2 * ROUND * (np.abs(inner) @ reach) + 4 * UNDERFLOW * reach.sum()
        error = error + (outer.shape[1] + _MORE) * ROUND * np.abs(shift).sum(axis=1)
        if betas is not None:
            columns, up, down, low, high = betas
            change = down - up
            inner[:, columns] += change
            parts = up * low, down * high
            constant = constant + (parts[0] - parts[1]).sum(axis=1)
            error = (
                error + (4 * ROUND * (np.abs(inner[:, columns]) + np.abs(change))) @ reach[columns]
            )
            sizes = (np.abs(parts[0]) + np.abs(parts[1])).sum(axis=1)
            error = error + (len(columns) + _MORE) * ROUND * sizes
        return inner, constant, error

    def forward(self, points: FloatArray, linear: Linear, lines: list[Any]) -> FloatArray:
        """The varying neurons at points, if all neurons are on the lines that a bound took."""
        network = self.network
        outputs: list[Any] = [points]
        found = [np.empty((len(points), 0))]
        for layer in range(1, network.depth + 1):
            before = network.affine(layer)(outputs)
            columns, _ = self.place[layer - 1]
            found.append(before[:, columns])
            below, low_shift, above, high_shift, _ = lines[layer - 1]
            outer = linear.outer[layer]
            over = True if outer is None else outer >= 0
            outputs.append(
                np.where(over, below, above) * before + np.where(over, low_shift, high_shift)
            )
        return np.concatenate(found, axis=1)

    def outer_of(self, linear: Linear) -> FloatArray:
        """The factors of the varying neurons' outputs, shape (nodes, varying)."""
        count = len(linear.at_center)
        parts = [np.zeros((count, 0))]
        for layer, (columns, _) in enumerate(self.place, start=1):
            outer = linear.outer[layer]
            parts.append(np.zeros((count, len(columns))) if outer is None else outer[:, columns])
        return np.concatenate(parts, axis=1)
