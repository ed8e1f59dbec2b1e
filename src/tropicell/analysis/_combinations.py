"""Affine functions that are sums of pre-activations on a pattern, backwards through the layers.

A combination has a factor for every neuron: ``sum of f_i z_i(x)``, where the z_i are the maps of
the neurons before their activation on one pattern. One pass backwards gives its slopes and its
offset, in float64 with a bound on the errors or in rationals, without any neuron's own map.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell.geometry.arithmetic import EXACT, to_rationals
from tropicell.geometry.rounding import INFLATE, ROUND, TINY
from tropicell.network.layers import Affine
from tropicell.network.network import Network
from tropicell.network.patterns import PatternArray, split_layers

#: Roundings beyond one for each summand; more than any order of a sum has.
_MORE_ROUNDINGS = 16


class Combined(NamedTuple):
    """An affine function of the input, in float64, with bounds on its errors.

    Attributes
    ----------
    slopes, slope_errors : ndarray, shape (inputs,)
    offset, offset_error : float
    """

    slopes: FloatArray
    slope_errors: FloatArray
    offset: float
    offset_error: float

    def at(self, x: FloatArray) -> tuple[float, float]:
        """The value at a point, and a bound on its error."""
        value = float(self.slopes @ x) + self.offset
        size = float(np.abs(self.slopes) @ np.abs(x)) + abs(self.offset)
        error = float(self.slope_errors @ np.abs(x)) + self.offset_error
        return value, (error + (len(x) + _MORE_ROUNDINGS) * ROUND * size + TINY) * INFLATE


def combined(network: Network, pattern: PatternArray, factors: FloatArray) -> Combined:
    """A combination of pre-activations in float64; infinite errors if numbers are not ordinary.

    Parameters
    ----------
    network : Network
        Without a map in front of layer 0.
    pattern : ndarray of uint8, shape (neurons,)
    factors : ndarray, shape (neurons,)

    Examples
    --------
    >>> network = Network.mlp([[[2.0]], [[3.0]], [[1.0]]], [[1.0], [0.5], [0.0]])
    >>> found = combined(network, np.array([1, 1], np.uint8), np.array([0.0, 1.0]))
    >>> found.slopes, found.offset
    (array([6.]), 3.5)
    """
    pieces, own = split_layers(pattern, network.widths), _split(factors, network)
    values: list[Any] = [np.zeros(network.n_inputs), *(f.copy() for f in own)]
    errors: list[Any] = [np.zeros(len(value)) for value in values]
    seen: list[Any] = [None, *(np.zeros(len(f)) for f in own)]
    offset = off = 0.0
    for layer in range(network.depth, 0, -1):
        outer, outer_error = seen[layer], errors[layer]
        _, slopes, intercepts = network.maps("float").activation(layer)
        rows = np.arange(len(outer))
        slope, shift = slopes[rows, pieces[layer - 1]], intercepts[rows, pieces[layer - 1]]
        through = outer * slope
        factor = values[layer] + through
        error = outer_error * np.abs(slope) + 2 * ROUND * (np.abs(through) + np.abs(factor))
        affine = network.affine(layer)
        terms = np.concatenate([outer * shift, factor * affine.bias])
        offset += float(terms.sum())
        # an intercept, which follows from the breakpoints, may have been rounded itself
        off += float(outer_error @ np.abs(shift) + error @ np.abs(affine.bias))
        off += (len(terms) + _MORE_ROUNDINGS) * ROUND * float(np.abs(terms).sum())
        off += 2 * ROUND * abs(offset)
        for source, matrix in affine.terms.items():
            sizes = absolute(network, layer, source).T
            gamma = (len(factor) + _MORE_ROUNDINGS) * ROUND
            more = factor @ matrix
            bound = np.asarray(sizes @ (error + gamma * np.abs(factor)))
            target = values if source == 0 else seen
            target[source] = target[source] + more
            errors[source] = (
                errors[source] + bound + 2 * ROUND * np.abs(target[source]) + TINY
            ) * INFLATE
    if not is_ordinary(network):
        errors[0] = np.full(network.n_inputs, np.inf)
        off = np.inf
    return Combined(values[0], errors[0], offset, (off + TINY) * INFLATE)


def _split(numbers: NDArray[Any], network: Network) -> list[NDArray[Any]]:
    """Numbers of all neurons, layer by layer."""
    return np.split(numbers, np.cumsum(network.widths)[:-1]) if network.depth else []


def absolute(network: Network, layer: int, source: int) -> Any:
    """The absolute values of a layer's weights; made once, then kept."""
    matrix: Any = network.affine(layer).terms[source]
    return network.remember(("absolute", layer, source), lambda: abs(matrix))


def roundings(affine: Affine) -> int:
    """What a sum over all that a layer reads may be rounded, in any order, with some to spare.

    Examples
    --------
    >>> roundings(Network.mlp([[[1.0, 2.0]], [[1.0]]]).affine(1))
    19
    """
    summands = 1 + sum(matrix.shape[1] for matrix in affine.terms.values())
    return int(summands + _MORE_ROUNDINGS)


def values_with_errors(
    network: Network, point: FloatArray
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """The pre-activations of layer 1, 2, … and at last the outputs at a point, with error bounds.

    The bounds hold for networks of ordinary numbers (`is_ordinary`).

    Examples
    --------
    >>> network = Network.mlp([[[0.1]], [[3.0]]])
    >>> for value, error in values_with_errors(network, np.array([3.0])):
    ...     print(value.round(9), bool(error[0] < 1e-14))
    [0.3] True
    [0.9] True
    """
    values, errors = [point[None]], [np.zeros(len(point))]
    for layer in range(1, network.depth + 2):
        affine = network.affine(layer)
        before = affine(values)
        gamma = roundings(affine) * ROUND
        error = gamma * np.abs(affine.bias) + TINY
        for source in affine.terms:
            share = errors[source] + gamma * np.abs(values[source][0])
            error = error + absolute(network, layer, source) @ share
        error = error * INFLATE
        yield before[0], error
        if layer <= network.depth:
            activation = network.layers[layer - 1].activation
            steep = np.abs(activation.slopes).max(axis=1)
            shift = np.abs(activation.intercepts).max(axis=1)
            values.append(activation(before))
            error = steep * error + 8 * ROUND * (steep * np.abs(before[0]) + shift)
            errors.append(error * INFLATE)


def is_ordinary(network: Network) -> bool:
    """Whether all numbers of the layers are of ordinary size, as bounds on roundings require."""
    from tropicell.network.domains import WholeSpace  # noqa: PLC0415
    from tropicell.network.flat import is_tame  # noqa: PLC0415

    known = network.remember("ordinary", lambda: (is_tame(network, WholeSpace()),))
    return bool(known[0])


def combined_exactly(
    network: Network, pattern: PatternArray, factors: NDArray[Any]
) -> tuple[NDArray[Any], Any]:
    """A combination of pre-activations in rationals: its slopes, and its offset.

    Parameters
    ----------
    network : Network
    pattern : ndarray of uint8, shape (neurons,)
    factors : ndarray, shape (neurons,)
        Floats or rationals.

    Examples
    --------
    >>> network = Network.mlp([[[2.0]], [[3.0]], [[1.0]]], [[1.0], [0.5], [0.0]])
    >>> combined_exactly(network, np.array([1, 1], np.uint8), np.array([0.0, 1.0]))
    (array([6], dtype=object), 7/2)
    """
    pieces = split_layers(pattern, network.widths)
    own = _split(to_rationals(factors), network)
    width = network.first_layers(0).n_outputs
    seen: list[Any] = [to_rationals(np.zeros(width))]
    seen += [to_rationals(np.zeros(n)) for n in network.widths]
    offset = to_rationals(0.0).item()
    for layer in range(network.depth, 0, -1):
        _, slopes, intercepts = network.maps("exact").activation(layer)
        rows = np.arange(len(own[layer - 1]))
        outer = seen[layer]
        slope, shift = slopes[rows, pieces[layer - 1]], intercepts[rows, pieces[layer - 1]]
        factor = own[layer - 1] + outer * slope
        affine = network.affine(layer)
        used = np.flatnonzero(factor != 0)
        bias = to_rationals(affine.bias[used])
        offset = offset + (outer * shift).sum() + (factor[used] * bias).sum()
        for source, matrix in affine.terms.items():
            if used.size:
                part: Any = matrix[used]
                few: Any = sp.csr_array(part.transpose()) if sp.issparse(matrix) else part.T.copy()
                product = EXACT.matmul(EXACT.matrix(few), factor[used, None])
                seen[source] = seen[source] + product[:, 0]
    slopes_0 = seen[0]
    if network.embedding is not None:
        embedding = network.embedding
        offset = offset + (slopes_0 * to_rationals(np.asarray(embedding.offset))).sum()
        slopes_0 = slopes_0 @ to_rationals(np.asarray(embedding.matrix))
    return slopes_0, offset
