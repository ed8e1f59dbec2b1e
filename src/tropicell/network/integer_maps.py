"""The affine maps and values of a network in integers: exact, and fast for thousands of patterns.

The recursion is that of `tropicell.network.maps`, in homogeneous coordinates: columns are integers,
and a scale says of which multiple. So no fraction is ever reduced on the way, and all products are
FLINT's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm
from typing import Any

import numpy as np
from flint import fmpq, fmpz, fmpz_mat
from numpy.typing import NDArray

from tropicell._runtime.interruption import check
from tropicell.geometry.arithmetic import to_fractions, to_rationals
from tropicell.geometry.polyhedra import to_point
from tropicell.network.network import Network
from tropicell.network.patterns import PatternArray

#: Points at which a network is evaluated in one go.
_AT_ONCE = 1024

_ZERO = fmpz(0)


@dataclass(frozen=True)
class ScaledColumns:
    """A row for every neuron of a layer: ``numbers / scale``, for the point or input of a column.

    Attributes
    ----------
    numbers : fmpz_mat
    scale : fmpz
        Positive.
    """

    numbers: Any
    scale: Any


@dataclass(frozen=True)
class _Activation:
    """A layer's pieces in integers: breakpoints times `unit`, slopes and intercepts times `factor`.

    `plain` says which neurons are ReLU.
    """

    breakpoints: list[list[Any]]
    unit: Any
    slopes: list[list[Any]]
    intercepts: list[list[Any]]
    factor: Any
    plain: list[bool]


class IntegerMaps:
    """A network's numbers in integers, and the recursion over its layers.

    Parameters
    ----------
    network : Network
        With dense matrices alone: see `fits`.

    Examples
    --------
    >>> network = Network.mlp([[[1.0], [-1.0]], [[0.5, 0.25]]])
    >>> maps = IntegerMaps(network)
    >>> maps.outputs_at(to_fractions(to_rationals([[3.0], [-3.0]])))
    array([[Fraction(3, 2)],
           [Fraction(3, 4)]], dtype=object)
    """

    def __init__(self, network: Network) -> None:
        self.network = network
        self._affine: dict[int, tuple[list[tuple[int, Any]], Any, Any]] = {}
        self._activation: dict[int, _Activation] = {}
        self._inputs = _integers(network.maps("exact").coordinates()[0])

    @staticmethod
    def fits(network: Network) -> bool:
        """Whether all matrices are dense: sparse ones and convolutions are not written out."""
        layers = range(1, network.depth + 2)
        return all(
            isinstance(operator, np.ndarray)
            for layer in layers
            for operator in network.affine(layer).operators.values()
        )

    def coordinates(self) -> tuple[ScaledColumns, Any]:
        """Columns of layer 0 as a map of the inputs, and the constant 1 as such a map."""
        numbers, scale = self._inputs
        inputs = self.network.n_inputs
        return ScaledColumns(numbers, scale), fmpz_mat(1, inputs + 1, [0] * inputs + [1])

    def before(self, layer: int, columns: Sequence[ScaledColumns], one: Any) -> ScaledColumns:
        """Columns of a layer's pre-activations; layer L + 1 is the output."""
        if layer not in self._affine:
            self._affine[layer] = self._numbers(layer)
        terms, bias, unit = self._affine[layer]
        scale = fmpz(lcm(*(int(columns[source].scale) for source, _ in terms)))
        total = bias * (one * scale)
        for source, matrix in terms:
            product = matrix * columns[source].numbers
            factor = scale // columns[source].scale
            total = total + (product if factor == 1 else product * factor)
        return ScaledColumns(total, scale * unit)

    def after(
        self, layer: int, before: ScaledColumns, pieces: PatternArray, one: Any
    ) -> ScaledColumns:
        """Columns of a layer's outputs, on one piece of each neuron."""
        known, size = self.activation(layer), one.ncols()
        values, units = before.numbers.entries(), [x * before.scale for x in one.entries()]
        found: list[Any] = []
        for neuron, piece in enumerate(pieces.tolist()):
            own = values[neuron * size : (neuron + 1) * size]
            if known.plain[neuron]:
                found += own if piece else [_ZERO] * size
                continue
            slope, shift = known.slopes[neuron][piece], known.intercepts[neuron][piece]
            found += [slope * x + shift * u for x, u in zip(own, units, strict=True)]
        numbers = fmpz_mat(len(pieces), size, found)
        return ScaledColumns(numbers, before.scale * known.factor)

    def boundary(
        self, layer: int, neuron: int, breakpoint_: int, before: ScaledColumns
    ) -> list[Any]:
        """A multiple of a neuron's map less a breakpoint: 0 where the neuron is at that."""
        known, size = self.activation(layer), before.numbers.ncols()
        row = [before.numbers[neuron, j] * known.unit for j in range(size)]
        row[-1] -= known.breakpoints[neuron][breakpoint_] * before.scale
        return row

    def outputs_at(self, points: NDArray[Any]) -> NDArray[Any]:
        """Outputs at points (rows) of Fractions, shape (points, outputs), in Fractions."""
        outputs = self.network.n_outputs
        found = np.empty((len(points), outputs), dtype=object)
        for start in range(0, len(points), _AT_ONCE):
            part = [to_point(point) for point in points[start : start + _AT_ONCE].tolist()]
            size = len(part)
            last = self._values(fmpz_mat(part).transpose())
            values = last.numbers.entries()
            for j, point in enumerate(part):
                below = last.scale * point[-1]
                own = [fmpq(values[k * size + j], below) for k in range(outputs)]
                found[start + j] = to_fractions(np.array(own, dtype=object))
        return found

    def _values(self, points: Any) -> ScaledColumns:
        """The outputs at points, which are columns with a common denominator as last number."""
        numbers, scale = self._inputs
        size = points.ncols()
        below = points.entries()[-size:]
        one = fmpz_mat(1, size, below)
        columns = [ScaledColumns(numbers * points, scale)]
        for layer in range(1, self.network.depth + 1):
            check()
            before, known = self.before(layer, columns, one), self.activation(layer)
            values, units = before.numbers.entries(), [x * before.scale for x in below]
            found: list[Any] = []
            for neuron, plain in enumerate(known.plain):
                own = values[neuron * size : (neuron + 1) * size]
                if plain:
                    found += [x if x > _ZERO else _ZERO for x in own]
                    continue
                breakpoints = known.breakpoints[neuron]
                slopes, shifts = known.slopes[neuron], known.intercepts[neuron]
                for x, u in zip(own, units, strict=True):
                    piece = sum(x * known.unit > t * u for t in breakpoints)
                    found.append(slopes[piece] * x + shifts[piece] * u)
            after = fmpz_mat(len(known.plain), size, found)
            columns.append(ScaledColumns(after, before.scale * known.factor))
        return self.before(self.network.depth + 1, columns, one)

    def activation(self, layer: int) -> _Activation:
        """The pieces of a layer."""
        if layer not in self._activation:
            breakpoints, slopes, intercepts = self.network.maps("exact").activation(layer)
            own = [[t for t in row if t is not None] for row in breakpoints.tolist()]
            unit = _denominator([t for row in own for t in row])
            factor = _denominator([*slopes.ravel().tolist(), *intercepts.ravel().tolist()])
            whole = [[_times(t, unit) for t in row] for row in own]
            steep = [[_times(s, factor) for s in row] for row in slopes.tolist()]
            shifts = [[_times(c, factor) for c in row] for row in intercepts.tolist()]
            plain = [
                factor == 1 and t == [0] and s[:2] == [0, 1] and c[:2] == [0, 0]
                for t, s, c in zip(whole, steep, shifts, strict=True)
            ]
            self._activation[layer] = _Activation(whole, unit, steep, shifts, factor, plain)
        return self._activation[layer]

    def _numbers(self, layer: int) -> tuple[list[tuple[int, Any]], Any, Any]:
        """Matrices and bias of a layer, times one number, which comes last."""
        affine = self.network.affine(layer)
        parts = [to_rationals(np.asarray(matrix)) for matrix in affine.operators.values()]
        bias = to_rationals(affine.bias)[:, None]
        unit = _denominator([x for part in (*parts, bias) for x in part.ravel().tolist()])
        whole = [_multiple(part, unit) for part in parts]
        return list(zip(affine.operators, whole, strict=True)), _multiple(bias, unit), unit


def _denominator(rationals: list[Any]) -> Any:
    """The least common denominator of rationals."""
    return fmpz(lcm(*{int(x.q) for x in rationals}))


def _times(rational: Any, unit: Any) -> Any:
    """A rational times a multiple of its denominator."""
    return rational.p * (unit // rational.q)


def _multiple(rationals: NDArray[Any], unit: Any) -> Any:
    """A matrix of rationals times a common denominator."""
    rows, columns = rationals.shape
    return fmpz_mat(rows, columns, [_times(x, unit) for x in rationals.ravel().tolist()])


def _integers(rationals: NDArray[Any]) -> tuple[Any, Any]:
    """A matrix of rationals times its common denominator, and that."""
    unit = _denominator(rationals.ravel().tolist())
    return _multiple(rationals, unit), unit
