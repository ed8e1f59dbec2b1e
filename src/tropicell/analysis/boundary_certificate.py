"""Proofs, checked in rationals alone, that a ball around a point is free of the decision boundary.

A proof is a list of parts, for every other output some that cover the ball. A part keeps neurons
to some of their pieces. In it, going backwards through the layers, each activation is replaced by a
line below or above it, and factors, none negative, of the restrictions are taken off: what is left
is an affine function that is at most 0 wherever the other output is as large. If it is positive at
the center and has the slopes a, no such point is nearer than its value divided by the dual norm
of a. Nothing here is shared with the search of `robustness`, and no float decides anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import inf, nextafter
from typing import Any

import numpy as np
import scipy.sparse as sp
from flint import fmpq
from numpy.typing import NDArray

from tropicell._runtime.interruption import check
from tropicell.geometry.arithmetic import EXACT, to_rationals
from tropicell.geometry.exact_programs import nearest_point, zeros
from tropicell.network.network import Network

Numbers = NDArray[Any]


@dataclass(frozen=True)
class FreePart:
    """A part of the ball, and what proves it free.

    Attributes
    ----------
    target : int
        The output that is nowhere as large in it.
    pieces : dict
        Neurons (places in a pattern), and the first and the last piece that they are on.
    weight : Fraction
        The factor of the difference of the two outputs.
    factors : dict
        Factors of ``z >=`` the lower end of a neuron's pieces (key ``(neuron, 1)``) and of ``z <=``
        the upper end (key ``(neuron, -1)``).
    """

    target: int
    pieces: dict[int, tuple[int, int]]
    weight: Fraction = Fraction(1)
    factors: dict[tuple[int, int], Fraction] = field(default_factory=dict)


@dataclass(frozen=True)
class BoundaryCertificate:
    """That no point nearer than a distance has another class; see `Robustness.certify`.

    Attributes
    ----------
    network : Network
    x : ndarray
    norm : str
    output : int
        The class.
    distance : Fraction
        What is proved; for l2 its square.
    parts : list of FreePart

    Examples
    --------
    >>> from tropicell import robustness
    >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]])
    >>> certificate = robustness(network, [3.0, 1.0], gap=0).certify()
    >>> certificate.distance, certificate.verify()
    (Fraction(1, 1), True)
    """

    network: Network
    x: NDArray[np.float64]
    norm: str
    output: int
    distance: Fraction
    parts: list[FreePart] = field(repr=False)

    def verify(self) -> bool:
        """Whether the parts prove what is claimed, in rationals, from the weights alone.

        Examples
        --------
        >>> from tropicell import robustness
        >>> network = Network.mlp([[[1.0], [-1.0]], [[1.0, 0.0], [0.0, 1.0]]], [[0.0, 1.0], None])
        >>> robustness(network, [2.0], norm="l1").certify().verify()
        True
        """
        ball = _Ball(self.network, self.x, self.norm, self.output, self.distance)
        values = to_rationals(self.network.evaluate(self.x[None])[0])
        if self.network.n_outputs > 1 and any(value > values[self.output] for value in values):
            return False
        for target in ball.targets:
            mine = [part for part in self.parts if part.target == target]
            if not _cover([part.pieces for part in mine], ball.pieces):
                return False
            for part in mine:
                check()
                if part.weight < 0 or any(factor < 0 for factor in part.factors.values()):
                    return False
                if not ball.is_free(part):
                    return False
        return True


def _cover(boxes: list[dict[int, tuple[int, int]]], pieces: list[int]) -> bool:
    """Whether every choice of pieces is in one of the boxes."""
    if any(not box for box in boxes):
        return True
    if not boxes:
        return False
    counts: dict[int, int] = {}
    for box in boxes:
        for neuron in box:
            counts[neuron] = counts.get(neuron, 0) + 1
    neuron = max(counts, key=lambda k: counts[k])
    for piece in range(pieces[neuron]):
        some = []
        for box in boxes:
            first, last = box.get(neuron, (0, pieces[neuron] - 1))
            if first <= piece <= last:
                some.append({k: ends for k, ends in box.items() if k != neuron})
        if not _cover(some, pieces):
            return False
    return True


def _up(value: Any) -> float:
    """A float that is not smaller."""
    exact = Fraction(int(value.p), int(value.q))
    found = float(exact)
    while Fraction(found) < exact:
        found = nextafter(found, inf)
    return found


@dataclass
class _Bounds:
    """Between which numbers neurons lie, layer by layer, and the lines that follow from it."""

    low: list[Numbers]
    high: list[Numbers]
    lines: list[tuple[Numbers, Numbers, Numbers, Numbers]]
    is_empty: bool = False


class _Ball:
    """What can be said in rationals about a network in a ball."""

    def __init__(
        self, network: Network, x: NDArray[np.float64], norm: str, output: int, distance: Fraction
    ) -> None:
        self.network, self.norm, self.output, self.distance = network, norm, output, distance
        self.x = to_rationals(x)
        self.key = fmpq(distance.numerator, distance.denominator)
        radius = _up(self.key)
        if norm == "l2":
            radius = float(np.sqrt(radius))
            while Fraction(radius) ** 2 < distance:
                radius = nextafter(radius, inf)
        self.radius = to_rationals(radius).item()
        self.ends = np.cumsum([0, *network.widths]).tolist()
        self.pieces = [int(count) for count in network.pieces]
        count = network.n_outputs
        self.targets = [0] if count == 1 else [k for k in range(count) if k != output]
        self.sign = 1
        if count == 1:
            value = to_rationals(network.evaluate(x[None])[0])[0]
            self.sign = 1 if value > 0 else -1
        self.rows: list[list[Any]] = []
        for layer in network.layers:
            activation = layer.activation
            shared = len(activation.slopes) == 1
            exact: list[Any] = [
                activation.exact_row(0 if shared else j)
                for j in range(1 if shared else layer.affine.width)
            ]
            exact = [tuple(map(to_rationals, map(_list, row))) for row in exact]
            self.rows.append(exact * (layer.affine.width if shared else 1))
        self.matrices = {
            (layer, source): EXACT.matrix(
                sp.csr_array(matrix.T) if sp.issparse(matrix) else np.asarray(matrix.T)
            )
            for layer in range(1, network.depth + 2)
            for source, matrix in network.affine(layer).terms.items()
        }

    def margin(self, target: int) -> Numbers:
        """The factors of the outputs: what is positive as long as the class is the same."""
        found = zeros(self.network.n_outputs)
        found[self.output] = fmpq(self.sign)
        if self.network.n_outputs > 1:
            found[target] = fmpq(-1)
        return found

    def interval(self, neuron: int, ends: tuple[int, int]) -> tuple[Any, Any]:
        """The ends of some pieces of a neuron; None for infinite ones."""
        layer = int(np.searchsorted(self.ends, neuron, side="right"))
        bends = self.rows[layer - 1][neuron - self.ends[layer - 1]][0]
        first, last = ends
        return (bends[first - 1] if first > 0 else None, bends[last] if last < len(bends) else None)

    def bounds(self, pieces: dict[int, tuple[int, int]]) -> _Bounds:
        """Bounds on all neurons in a part, rounded outward to floats."""
        found = _Bounds([], [], [])
        for layer in range(1, self.network.depth + 1):
            check()
            width = self.network.widths[layer - 1]
            unit = zeros(width * width).reshape(width, width)
            unit[np.arange(width), np.arange(width)] = fmpq(1)
            both = np.concatenate([unit, -unit])
            slopes, values, _ = self.below(layer, both, found, {})
            least = values - self.radius * self._dual(slopes)
            low, high = zeros(width), zeros(width)
            for j in range(width):
                low[j] = to_rationals(-_up(-least[j])).item()
                high[j] = to_rationals(_up(-least[width + j])).item()
                ends = pieces.get(self.ends[layer - 1] + j)
                if ends is not None:
                    start, stop = self.interval(self.ends[layer - 1] + j, ends)
                    low[j] = low[j] if start is None else max(low[j], start)
                    high[j] = high[j] if stop is None else min(high[j], stop)
                if low[j] > high[j]:
                    found.is_empty = True
                    return found
            found.low.append(low)
            found.high.append(high)
            lines = [
                _lines(bends, slopes, intercepts, low[j], high[j])
                for j, (bends, slopes, intercepts) in enumerate(self.rows[layer - 1])
            ]
            found.lines.append(tuple(np.array(part, object) for part in zip(*lines, strict=True)))  # type: ignore[arg-type]
        return found

    def _dual(self, slopes: Numbers) -> Numbers:
        """Dual norms of rows, for l2 something that is not smaller."""
        if self.norm == "linf":
            return np.asarray(np.abs(slopes).sum(axis=1))
        if self.norm == "l1":
            return np.asarray(np.abs(slopes).max(axis=1))
        found = zeros(len(slopes))
        for i, square in enumerate((slopes * slopes).sum(axis=1)):
            root = float(np.sqrt(_up(square)))
            while Fraction(root) ** 2 < Fraction(int(square.p), int(square.q)):
                root = nextafter(root, inf)
            found[i] = to_rationals(root).item()
        return found

    def below(
        self, top: int, factors: Numbers, bounds: _Bounds, change: dict[tuple[int, int], Any]
    ) -> tuple[Numbers, Numbers, list[Any]]:
        """Affine functions below combinations of what a layer gets: slopes, and values at x."""
        network, count = self.network, len(factors)
        outer: list[Any] = [None] * (network.depth + 2)
        constant = zeros(count)
        slopes = zeros(count * len(self.x)).reshape(count, len(self.x))
        for layer in range(top, 0, -1):
            inner = factors
            if layer < top:
                width = network.widths[layer - 1]
                given = zeros(count * width).reshape(count, width)
                given = given if outer[layer] is None else outer[layer]
                outer[layer] = given
                below, low_shift, above, high_shift = bounds.lines[layer - 1]
                over = np.asarray(given >= 0, np.bool_)
                inner = given * np.where(over, below, above)
                constant = constant + (given * np.where(over, low_shift, high_shift)).sum(axis=1)
                for (neuron, side), (factor, end) in change.items():
                    j = neuron - self.ends[layer - 1]
                    if 0 <= j < width:
                        inner[:, j] = inner[:, j] - side * factor
                        constant = constant + side * factor * end
            affine = network.affine(layer)
            constant = constant + inner @ to_rationals(affine.bias)
            for source in affine.terms:
                more = EXACT.matmul(self.matrices[layer, source], inner.T).T
                if source == 0:
                    slopes = slopes + more
                else:
                    outer[source] = more if outer[source] is None else outer[source] + more
        return slopes, constant + slopes @ self.x, outer

    def is_free(self, part: FreePart) -> bool:
        """Whether a part has no point that is nearer than the distance, with the other class."""
        bounds = self.bounds(part.pieces)
        if bounds.is_empty:
            return True
        change = {}
        for (neuron, side), factor in part.factors.items():
            start, stop = self.interval(
                neuron, part.pieces.get(neuron, (0, self.pieces[neuron] - 1))
            )
            end = start if side == 1 else stop
            if end is None:
                return False  # nothing to take off
            change[neuron, side] = _rational(factor), end
        margin = (_rational(part.weight) * self.margin(part.target))[None]
        slopes, values, _ = self.below(self.network.depth + 1, margin, bounds, change)
        return self.reaches(slopes[0], values[0])

    def reaches(self, slopes: Numbers, value: Any) -> bool:
        """Whether an affine function is positive up to the distance."""
        if self.key == 0:
            return True
        if value <= 0:
            return False
        if self.norm == "l2":
            return bool(value * value >= self.key * (slopes * slopes).sum())
        sizes = np.abs(slopes)
        return bool(value >= self.key * (sizes.sum() if self.norm == "linf" else max(sizes)))


def _list(values: Any) -> Any:
    found = np.empty(len(values), dtype=object)
    found[:] = list(values)
    return found


def _rational(value: Fraction) -> Any:
    return fmpq(value.numerator, value.denominator)


def _lines(bends: Numbers, slopes: Numbers, intercepts: Numbers, low: Any, high: Any) -> Any:
    """Slopes and intercepts of a line below an activation between two numbers, and of one above."""
    points = [low, *(bend for bend in bends if low < bend < high), high]
    values = []
    for z in points:
        piece = sum(z > bend for bend in bends)
        values.append(slopes[piece] * z + intercepts[piece])
    if low == high:
        return fmpq(0), values[0], fmpq(0), values[0]
    steps = [
        (values[i + 1] - values[i]) / (points[i + 1] - points[i]) for i in range(len(points) - 1)
    ]
    if len(steps) > 1:
        chord = to_rationals(float((values[-1] - values[0]) / (high - low))).item()  # few digits
        flat = min(steps) if chord < (min(steps) + max(steps)) / 2 else max(steps)
        bulge = sum(v - values[0] - chord * (p - low) for v, p in zip(values, points, strict=True))
        below, above = (flat, chord) if bulge <= 0 else (chord, flat)
    else:
        below = above = steps[0]
    low_shift = min(v - below * p for v, p in zip(values, points, strict=True))
    high_shift = max(v - above * p for v, p in zip(values, points, strict=True))
    return below, low_shift, above, high_shift


def certified(
    network: Network, x: NDArray[np.float64], norm: str, output: int, distance: Fraction
) -> BoundaryCertificate:
    """Find a proof that no point nearer than a distance (for l2 its square) has another class.

    Parts are cut in two until each is proved free; where all is affine, the nearest point says so.

    Raises
    ------
    ArithmeticError
        If there is a nearer point: what was claimed is wrong.
    """
    ball = _Ball(network, x, norm, output, distance)
    parts: list[FreePart] = []
    for target in ball.targets:
        stack: list[dict[int, tuple[int, int]]] = [{}]
        while stack:
            check()
            pieces = stack.pop()
            part = FreePart(target, pieces)
            bounds = ball.bounds(pieces)
            if bounds.is_empty:
                parts.append(part)
                continue
            top = network.depth + 1
            slopes, values, outer = ball.below(top, ball.margin(target)[None], bounds, {})
            if ball.reaches(slopes[0], values[0]):
                parts.append(part)
                continue
            cut = _worst(ball, bounds, outer)
            if cut is None:
                parts.append(_solved(ball, bounds, part))
                continue
            neuron, piece = cut
            first, last = pieces.get(neuron, (0, ball.pieces[neuron] - 1))
            stack.append({**pieces, neuron: (first, piece)})
            stack.append({**pieces, neuron: (piece + 1, last)})
    return BoundaryCertificate(network, x, norm, output, distance, parts)


def _worst(ball: _Ball, bounds: _Bounds, outer: list[Any]) -> tuple[int, int] | None:
    """The neuron whose lines are farthest apart, and the piece after which to cut; None if none."""
    best, found = -1.0, None
    for layer in range(1, ball.network.depth + 1):
        low, high, weights = bounds.low[layer - 1], bounds.high[layer - 1], outer[layer]
        for j, (bends, _, _) in enumerate(ball.rows[layer - 1]):
            inside = [k for k, bend in enumerate(bends) if low[j] < bend < high[j]]
            if not inside:
                continue
            room = max(min(bends[k] - low[j], high[j] - bends[k]) for k in inside)
            weight = fmpq(0) if weights is None else abs(weights[0, j])
            score = float(room * weight)
            if score > best:
                best, found = score, (ball.ends[layer - 1] + j, inside[len(inside) // 2])
    return found


def _solved(ball: _Ball, bounds: _Bounds, part: FreePart) -> FreePart:
    """A part on which all is affine, with the factors of its nearest point."""
    network = ball.network
    keys: list[tuple[int, int]] = []
    rows, offsets = [], []
    slopes, values, _ = ball.below(network.depth + 1, ball.margin(part.target)[None], bounds, {})
    rows.append(-slopes[0])
    offsets.append(-values[0])
    for neuron, ends in part.pieces.items():
        layer = int(np.searchsorted(ball.ends, neuron, side="right"))
        unit = zeros(network.widths[layer - 1])
        unit[neuron - ball.ends[layer - 1]] = fmpq(1)
        slopes, values, _ = ball.below(layer, unit[None], bounds, {})
        for side, end in zip((1, -1), ball.interval(neuron, ends), strict=True):
            if end is not None:
                keys.append((neuron, side))
                rows.append(side * slopes[0])
                offsets.append(side * (values[0] - end))
    found = nearest_point(_matrix(rows), _list(offsets), ball.norm, ball.radius)
    if found.distance is not None and found.distance < ball.key:
        raise ArithmeticError("there is a point of another class that is nearer than was claimed")
    numbers = [Fraction(int(f.p), int(f.q)) for f in found.factors]
    factors = {key: f for key, f in zip(keys, numbers[1:], strict=True) if f}
    return FreePart(part.target, part.pieces, numbers[0], factors)


def _matrix(rows: list[Numbers]) -> Numbers:
    return np.array(rows, dtype=object).reshape(len(rows), -1)
