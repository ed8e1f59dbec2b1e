"""The affine maps that a network's layers make, in float64 or in exact rationals.

One recursion serves two purposes. Its *columns* are arrays with a row for every neuron of a layer:

- for the **map** of a pattern they are the d coefficients and the offset of every neuron
  (d + 1 columns);
- for the **values** at p points they are the neuron's values (p columns).

The two differ in where a bias goes: into the last column, or into every column. The constant 1 in
these columns is `one`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropicell.geometry.arithmetic import EXACT, Arithmetic, to_floats, to_fractions, to_rationals
from tropicell.network.patterns import PatternArray, split_layers

if TYPE_CHECKING:
    from tropicell.network.activations import Activation
    from tropicell.network.layers import Affine
    from tropicell.network.network import Network


@dataclass(frozen=True, eq=False)
class AffineMap:
    """The map ``x -> matrix @ x + offset``, in floats or in exact rationals.

    Attributes
    ----------
    matrix : ndarray, shape (outputs, inputs)
        float64, or objects of type `fractions.Fraction`.
    offset : ndarray, shape (outputs,)

    Examples
    --------
    >>> AffineMap(np.array([[2.0, 0.0]]), np.array([1.0]))([[3.0, 4.0]])
    array([[7.]])
    """

    matrix: NDArray[Any]
    offset: NDArray[Any]

    def __call__(self, points: ArrayLike) -> NDArray[Any]:
        """Values at points (rows)."""
        x = np.asarray(points)
        if x.ndim == 1:
            return np.asarray(self.matrix @ x + self.offset)
        return np.asarray(x @ self.matrix.T + self.offset)

    def astype_float(self) -> AffineMap:
        """The same map with its numbers rounded to float64, infinite where they are too large.

        Examples
        --------
        >>> from fractions import Fraction
        >>> exact = AffineMap(np.array([[Fraction(1, 3)]]), np.array([Fraction(1, 2)]))
        >>> exact.astype_float().offset
        array([0.5])
        """
        return AffineMap(to_floats(self.matrix), to_floats(self.offset))

    @property
    def is_float(self) -> bool:
        """Whether its numbers are float64, so that `astype_float` rounds nothing."""
        return self.matrix.dtype == self.offset.dtype == np.float64

    def simplified(self) -> AffineMap:
        """The same map, with float64 numbers if these hold all of it, else with Fractions.

        Examples
        --------
        >>> from fractions import Fraction
        >>> AffineMap(np.array([[Fraction(1, 2)]]), np.array([Fraction(3)])).simplified().matrix
        array([[0.5]])
        """
        if self.is_float:
            return self
        parts = [to_rationals(self.matrix), to_rationals(self.offset)]
        floats = [to_floats(part) for part in parts]
        if all(
            np.isfinite(one).all() and (to_rationals(one) == part).all()
            for one, part in zip(floats, parts, strict=True)
        ):
            return AffineMap(*floats)
        return AffineMap(*(to_fractions(part) for part in parts))

    def after(self, inner: AffineMap) -> AffineMap:
        """The map ``x -> self(inner(x))``, not rounded; `simplified`.

        Examples
        --------
        0.1 times 0.1 is no float64 number:

        >>> tenth = AffineMap(np.array([[0.1]]), np.array([0.0]))
        >>> tenth.after(tenth).is_float, tenth.after(tenth).matrix[0, 0] == 0.1 * 0.1
        (False, False)
        """
        columns = np.concatenate([inner.matrix, inner.offset[:, None]], axis=1)
        product = EXACT.matmul(EXACT.matrix(self.matrix), EXACT.array(columns))
        offset = product[:, -1] + EXACT.array(self.offset)
        return AffineMap(to_fractions(product[:, :-1]), to_fractions(offset)).simplified()


class NetworkMaps:
    """A network's numbers in one arithmetic, and the recursion over its layers.

    Parameters
    ----------
    network : Network
    arithmetic : Arithmetic

    Notes
    -----
    Layers are counted from 1, as everywhere; `columns` is the list of the columns of the
    layers 0, 1, … so far.
    """

    def __init__(self, network: Network, arithmetic: Arithmetic) -> None:
        self.network = network
        self.arithmetic = arithmetic
        self._affine: dict[int, tuple[list[tuple[int, Any]], NDArray[Any]]] = {}
        self._pieces: dict[int, tuple[NDArray[Any], NDArray[Any], NDArray[Any]]] = {}

    def coordinates(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Columns of layer 0 as a map of the inputs, and the `one` that belongs to it."""
        network, arithmetic = self.network, self.arithmetic
        inputs = network.n_inputs
        embedding = self._embedding()
        if embedding is None:
            columns = np.concatenate([np.eye(inputs), np.zeros((inputs, 1))], axis=1)
        else:
            columns = np.concatenate([embedding.matrix, embedding.offset[:, None]], axis=1)
        one = np.zeros(inputs + 1)
        one[-1] = 1.0
        return arithmetic.array(columns), arithmetic.array(one)

    def values(self, points: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Columns of layer 0 at points (rows), and the `one` that belongs to them."""
        arithmetic, embedding = self.arithmetic, self._embedding()
        columns = arithmetic.array(points).T
        if embedding is not None:
            matrix = arithmetic.matrix(embedding.matrix)
            offset = arithmetic.array(embedding.offset)[:, None]
            columns = arithmetic.matmul(matrix, columns) + offset
        return columns, arithmetic.array(np.ones(len(points)))

    def _embedding(self) -> AffineMap | None:
        network = self.network
        return network.embedding if self.arithmetic.name == "exact" else network.float_embedding

    def before(
        self, layer: int, columns: Sequence[NDArray[Any]], one: NDArray[Any]
    ) -> NDArray[Any]:
        """Columns of a layer's pre-activations; layer L + 1 is the output."""
        if layer not in self._affine:
            self._affine[layer] = self._numbers(self.network.affine(layer))
        terms, bias = self._affine[layer]
        total = bias[:, None] * one[None, :]
        for source, matrix in terms:
            total = total + self.arithmetic.matmul(matrix, columns[source])
        return np.asarray(total)

    def after(
        self,
        layer: int,
        before: NDArray[Any],
        pieces: NDArray[Any],
        one: NDArray[Any],
    ) -> NDArray[Any]:
        """Columns of a layer's outputs, with one piece per neuron (or per neuron and column)."""
        _, slopes, intercepts = self.activation(layer)
        piece = pieces[:, None] if pieces.ndim == 1 else pieces
        slope = np.take_along_axis(slopes, piece.astype(np.intp), axis=1)
        intercept = np.take_along_axis(intercepts, piece.astype(np.intp), axis=1)
        return np.asarray(slope * before + intercept * one[None, :])

    def activation(self, layer: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Breakpoints, slopes and intercepts of a layer, padded as in `Activation`.

        Exact breakpoints beyond a neuron's own are None.
        """
        if layer not in self._pieces:
            activation = self.network.layers[layer - 1].activation
            if self.arithmetic.name == "float":
                self._pieces[layer] = (
                    activation.breakpoints,
                    activation.slopes,
                    activation.intercepts,
                )
            else:
                self._pieces[layer] = _exact_pieces(activation)
        return self._pieces[layer]

    def pattern_of(self, layer: int, before: NDArray[Any]) -> PatternArray:
        """Piece of each neuron (row) at each point (column)."""
        breakpoints, _, _ = self.activation(layer)
        pattern = np.zeros(before.shape, dtype=np.uint8)
        for index in range(breakpoints.shape[1]):
            rows = np.array([t is not None for t in breakpoints[:, index]])
            pattern[rows] += before[rows] > breakpoints[rows, index, None]
        return pattern

    def of_pattern(self, pattern: PatternArray) -> NDArray[Any]:
        """Columns of the output as a map of the inputs, on the region of a pattern."""
        start, one = self.coordinates()
        columns = [start]
        parts = split_layers(pattern, self.network.widths)
        for layer, part in enumerate(parts, start=1):
            columns.append(self.after(layer, self.before(layer, columns, one), part, one))
        return self.before(self.network.depth + 1, columns, one)

    def of_patterns(self, patterns: PatternArray) -> NDArray[Any]:
        """Maps of many patterns (rows) at once, shape (patterns, outputs, inputs + 1)."""
        # All maps side by side: the columns of pattern i are i * (inputs + 1) … .
        start, one = self.coordinates()
        count, size = len(patterns), len(one)
        columns, units = [np.tile(start, (1, count))], np.tile(one, count)
        for layer, part in enumerate(split_layers(patterns, self.network.widths), start=1):
            before = self.before(layer, columns, units)
            columns.append(self.after(layer, before, np.repeat(part.T, size, axis=1), units))
        output = self.before(self.network.depth + 1, columns, units)
        return np.moveaxis(output.reshape(-1, count, size), 1, 0)

    def pre_activations(self, patterns: PatternArray) -> NDArray[Any]:
        """Maps of all neurons before their activation on many patterns (rows) at once.

        The shape is (neurons, patterns, inputs + 1).
        """
        start, one = self.coordinates()
        count, size = len(patterns), len(one)
        columns, units = [np.tile(start, (1, count))], np.tile(one, count)
        found = [np.empty((0, count, size), dtype=start.dtype)]
        for layer, part in enumerate(split_layers(patterns, self.network.widths), start=1):
            before = self.before(layer, columns, units)
            found.append(before.reshape(-1, count, size))
            columns.append(self.after(layer, before, np.repeat(part.T, size, axis=1), units))
        return np.concatenate(found)

    def at_points(self, points: NDArray[Any]) -> tuple[PatternArray, NDArray[Any]]:
        """Patterns (points × neurons) and outputs (points × outputs) at points (rows)."""
        start, one = self.values(points)
        columns, patterns = [start], []
        for layer in range(1, self.network.depth + 1):
            before = self.before(layer, columns, one)
            patterns.append(self.pattern_of(layer, before))
            columns.append(self.after(layer, before, patterns[-1], one))
        outputs = self.before(self.network.depth + 1, columns, one)
        stacked = np.concatenate(patterns) if patterns else np.empty((0, len(points)), np.uint8)
        return np.ascontiguousarray(stacked.T), outputs.T

    def pieces_at(self, point: NDArray[Any]) -> tuple[PatternArray, NDArray[np.bool_]]:
        """The pattern of a point, and which neurons are at a breakpoint there; exact ones only.

        A closed region contains the point if and only if its pattern differs in such neurons alone,
        and there by the next piece: activations are continuous, so all neurons take the values that
        they have there under the patterns of all these regions.

        Examples
        --------
        >>> from tropicell import Network
        >>> maps = Network.mlp([[[1.0], [1.0]], [[1.0, 1.0]]], [[0.0, -1.0], [0.0]]).maps("exact")
        >>> maps.pieces_at(np.array([1.0]))
        (array([1, 0], dtype=uint8), array([False,  True]))
        """
        start, one = self.values(np.asarray(point)[None])
        columns, patterns, ties = [start], [], []
        for layer in range(1, self.network.depth + 1):
            before = self.before(layer, columns, one)
            breakpoints, _, _ = self.activation(layer)
            patterns.append(self.pattern_of(layer, before))
            ties.append((breakpoints == before).any(axis=1))
            columns.append(self.after(layer, before, patterns[-1], one))
        if not patterns:
            return np.empty(0, np.uint8), np.empty(0, np.bool_)
        return np.concatenate(patterns)[:, 0], np.concatenate(ties).astype(np.bool_)

    def magnitudes(self, pattern: PatternArray) -> list[NDArray[np.float64]]:
        """For every neuron the size of the numbers that its map on a pattern is computed from.

        Absolute values are added up where the map itself adds and subtracts, so rounding errors
        are small multiples of 1e-16 times these. For float64 only.
        """
        start, one = self.coordinates()
        columns, sizes = [np.abs(start)], []
        for layer, pieces in enumerate(split_layers(pattern, self.network.widths), start=1):
            affine = self.network.affine(layer)
            before = np.abs(affine.bias)[:, None] * one
            for source, matrix in affine.operators.items():
                before = before + abs(matrix) @ columns[source]
            sizes.append(before.sum(axis=1))
            _, slopes, intercepts = self.activation(layer)
            rows = np.arange(len(pieces))
            slope, intercept = slopes[rows, pieces], intercepts[rows, pieces]
            columns.append(np.abs(slope)[:, None] * before + np.abs(intercept)[:, None] * one)
        return sizes

    def _numbers(self, affine: Affine) -> tuple[list[tuple[int, Any]], NDArray[Any]]:
        terms = [(source, self.arithmetic.matrix(m)) for source, m in affine.operators.items()]
        return terms, self.arithmetic.array(affine.bias)


@lru_cache(maxsize=64)
def _exact_pieces(
    activation: Activation,
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Breakpoints, slopes and intercepts of an activation: networks share them."""
    breakpoints = np.full(activation.breakpoints.shape, None, dtype=object)
    slopes = EXACT.array(activation.slopes)
    intercepts = EXACT.array(activation.intercepts)
    for row in range(activation.rows):
        row_t, row_s, row_c = activation.exact_row(row)
        breakpoints[row, : len(row_t)] = EXACT.array(np.array(row_t, dtype=object))
        intercepts[row, : len(row_s)] = EXACT.array(np.array(row_c, dtype=object))
    return breakpoints, slopes, intercepts
