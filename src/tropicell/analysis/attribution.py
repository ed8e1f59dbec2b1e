"""Integrated gradients without steps: an integral is a sum over the regions of a path.

Within a region the gradient is constant. So the integral of the gradient from a baseline to a point
is the sum of the gradients of the regions in between, times the shares of the segment that lie in
them: no step size, and the attributions add up to the difference of the outputs (completeness), in
rationals exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell._runtime.interruption import check
from tropicell.analysis.paths import Path, PathRegions
from tropicell.errors import InvalidInputError
from tropicell.geometry.arithmetic import ArithmeticName, get_arithmetic, to_rationals
from tropicell.geometry.rounding import INFLATE, ROUND, TINY
from tropicell.importers.models import as_network
from tropicell.network.network import Network
from tropicell.network.patterns import split_layers

#: Pieces of segments whose gradients are worked out at a time.
_AT_ONCE = 1024

#: Roundings beyond one for each summand; more than any order of a sum has.
_MORE_ROUNDINGS = 16


@dataclass(frozen=True, eq=False)
class IntegratedGradients:
    """The integrals of gradients, times the way from the baseline.

    Attributes
    ----------
    attributions : ndarray, shape (points, inputs)
        What each input contributes to the difference of the outputs: float64, or Fractions.
    errors : ndarray, shape (points, inputs)
        How far they may be from the exact numbers, at most; 0 if exact.
    differences : ndarray, shape (points,)
        The output at the point minus that at the baseline.
    outputs : ndarray of int64, shape (points,)
        Which output was looked at.
    path : PathRegions
        The regions between baselines and points.

    Examples
    --------
    >>> network = Network.mlp([[[1.0, 2.0]], [[3.0]]], [[-1.0], [0.0]])
    >>> found = integrated_gradients(network, [1.0, 1.0], [0.0, 0.0], arithmetic="exact")
    >>> found.attributions[0].tolist(), found.completeness.tolist()
    ([Fraction(2, 1), Fraction(4, 1)], [Fraction(0, 1)])
    """

    attributions: NDArray[Any]
    errors: FloatArray
    differences: NDArray[Any]
    outputs: NDArray[np.int64]
    path: PathRegions

    @property
    def completeness(self) -> NDArray[Any]:
        """What the attributions of a point add up to, minus the difference of the outputs.

        In rationals this is 0; in float64 it is rounding.

        Examples
        --------
        >>> network = Network.mlp([[[1.0, 2.0]], [[3.0]]], [[-1.0], [0.0]])
        >>> integrated_gradients(network, [1.0, 1.0], arithmetic="exact").completeness
        array([Fraction(0, 1)], dtype=object)
        """
        return np.asarray(self.attributions.sum(axis=1) - self.differences)


def integrated_gradients(
    network: Network,
    x: ArrayLike,
    baseline: ArrayLike = 0.0,
    *,
    output: int | ArrayLike | None = None,
    arithmetic: ArithmeticName = "float",
    workers: int = 1,
) -> IntegratedGradients:
    """Integrated gradients of an output from a baseline to points, without steps.

    Parameters
    ----------
    network : Network
    x : array_like, shape (points, inputs) or (inputs,)
    baseline : array_like, shape (points, inputs), (inputs,) or ()
        Where paths begin: one for all, or one for each point.
    output : int or array_like of int, optional
        Which output, for all points or for each; default: the largest one at each point.
    arithmetic : {"float", "exact"}
        float64 with a bound on the error of each number, or Fractions, which takes far longer.
    workers : int
        Number of threads for the paths.

    Returns
    -------
    IntegratedGradients

    Notes
    -----
    A path that runs along a boundary, where the network has no gradient across it, takes that of
    the lower piece; the sum of the attributions does not depend on it.

    References
    ----------
    M. Sundararajan, A. Taly, Q. Yan: Axiomatic attribution for deep networks, ICML 2017.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> network = Network.mlp([rng.normal(size=(8, 3)), rng.normal(size=(2, 8))])
    >>> found = integrated_gradients(network, rng.normal(size=(5, 3)))
    >>> found.attributions.shape, bool(abs(found.completeness).max() < 1e-14)
    ((5, 3), True)
    """
    network = as_network(network)
    kind = get_arithmetic(arithmetic)
    points = network.check_points(np.atleast_2d(np.asarray(x, np.float64)), finite=True)
    try:
        origins = np.broadcast_to(np.asarray(baseline, np.float64), points.shape).copy()
    except ValueError:
        raise InvalidInputError(
            f"baseline has shape {np.shape(baseline)}, the points {points.shape}: expected one "
            "point, or as many as there are points"
        ) from None
    values = network(points)
    chosen = values.argmax(axis=1) if output is None else np.asarray(output)
    if chosen.dtype.kind not in "iu" or not ((chosen >= 0) & (chosen < network.n_outputs)).all():
        raise InvalidInputError(
            f"output must be a whole number from 0 to {network.n_outputs - 1}, not {output!r}"
        )
    outputs = np.broadcast_to(chosen, len(points)).astype(np.int64)
    path = Path(np.stack([origins, points], axis=1)).regions(
        network, arithmetic=arithmetic, workers=workers
    )
    gradients, errors = _mean_gradients(network, path, outputs, arithmetic, len(points))
    steps = kind.array(points) - kind.array(origins)
    attributions = kind.public((gradients * steps.T).T)
    if arithmetic == "exact":
        at = network.evaluate(points), network.evaluate(origins)
        differences = np.array([a[k] - b[k] for a, b, k in zip(*at, outputs, strict=True)])
        bounds = np.zeros(points.shape)
    else:
        rows = np.arange(len(points))
        differences = values[rows, outputs] - network(origins)[rows, outputs]
        # the difference and the product are rounded
        bounds = np.abs(steps) * errors.T + 4 * ROUND * np.abs(attributions) + TINY
        bounds = bounds * INFLATE
    return IntegratedGradients(attributions, bounds, differences, outputs, path)


def _mean_gradients(
    network: Network,
    path: PathRegions,
    outputs: NDArray[np.int64],
    arithmetic: ArithmeticName,
    points: int,
) -> tuple[NDArray[Any], FloatArray]:
    """The mean gradient along each segment, shape (inputs, points), and bounds on the errors."""
    shape = (network.first_layers(0).n_outputs, points)
    total: Any = np.zeros(shape) if arithmetic == "float" else to_rationals(np.zeros(shape))
    errors = np.zeros(shape)
    steps = _Backward(network, arithmetic)
    for first in range(0, len(path), _AT_ONCE):
        check()
        part = slice(first, first + _AT_ONCE)
        steps.add(path, part, outputs, total, errors)
    return steps.through_embedding(total, errors)


class _Backward:
    """Gradients of many pieces at once, backwards through the layers; columns are pieces."""

    def __init__(self, network: Network, arithmetic: ArithmeticName) -> None:
        self.network, self.arithmetic = network, get_arithmetic(arithmetic)
        self.exact = arithmetic == "exact"
        self._matrices: dict[tuple[int, int], tuple[Any, Any]] = {}

    def matrix(self, layer: int, source: int) -> tuple[Any, Any]:
        """A transposed matrix, and its absolute values (without, if exact)."""
        key = layer, source
        if key not in self._matrices:
            matrix = self.network.affine(layer).terms[source]
            turned: Any = sp.csr_array(matrix.T) if sp.issparse(matrix) else np.asarray(matrix).T
            sizes = None if self.exact else abs(turned)
            self._matrices[key] = self.arithmetic.matrix(turned), sizes
        return self._matrices[key]

    def add(
        self, path: PathRegions, part: slice, outputs: Any, total: NDArray[Any], errors: FloatArray
    ) -> None:
        """Add the gradients of some pieces, times their shares, to the sums of their segments."""
        network, kind = self.network, self.arithmetic
        segments = path.segments[part]
        shares = kind.array(path.ends[part] - path.starts[part])
        share_errors = 2 * path.errors[part] + 2 * ROUND * (np.abs(path.ends[part].astype(float)))
        pieces = split_layers(path.packed[part], network.widths)
        owners, columns = np.unique(segments, return_inverse=True)
        one_hot = np.zeros((network.n_outputs, len(segments)))
        one_hot[outputs[segments], np.arange(len(segments))] = 1.0
        values: dict[int, Any] = {network.depth + 1: kind.array(one_hot)}
        wrong: dict[int, Any] = {network.depth + 1: np.zeros(one_hot.shape)}
        for layer in range(network.depth + 1, 0, -1):
            if layer not in values:
                continue
            value, error = values.pop(layer), wrong.pop(layer)
            if layer <= network.depth:
                _, slopes, _ = network.maps(kind.name).activation(layer)
                piece = pieces[layer - 1].T.astype(np.intp)
                slope = np.take_along_axis(slopes, piece, axis=1)
                value = value * slope
                if not self.exact:
                    error = (error + 2 * ROUND * np.abs(value)) * np.abs(slope) * INFLATE + (
                        2 * ROUND * np.abs(value)
                    )
            for source, _ in network.affine(layer).terms.items():
                if source == 0:
                    self._add_to_input(
                        layer,
                        (value, error),
                        (shares, share_errors),
                        (owners, columns),
                        total,
                        errors,
                    )
                    continue
                more, bound = self._through(layer, source, value, error)
                values[source] = values[source] + more if source in values else more
                if not self.exact:
                    bound = bound + 2 * ROUND * np.abs(values[source])
                    wrong[source] = wrong[source] + bound if source in wrong else bound
                else:
                    wrong[source] = None

    def _through(self, layer: int, source: int, value: Any, error: Any) -> tuple[Any, Any]:
        """The gradient by the outputs of a source, from that by a layer's pre-activations."""
        matrix, sizes = self.matrix(layer, source)
        more = self.arithmetic.matmul(matrix, value)
        if self.exact:
            return more, None
        gamma = (value.shape[0] + _MORE_ROUNDINGS) * ROUND * 1.001
        return more, (sizes @ (error + gamma * np.abs(value)) + TINY) * INFLATE

    def _add_to_input(
        self, layer: int, given: Any, shares: Any, owners: Any, total: Any, errors: FloatArray
    ) -> None:
        """Sum over the pieces of each segment before the largest matrix, that of the input."""
        (value, error), (share, off), (rows, columns) = given, shares, owners
        shape = (value.shape[0], len(rows))
        weighted = value * share
        place: Any = (slice(None), columns)
        if self.exact:
            sums = to_rationals(np.zeros(shape))
            np.add.at(sums, place, weighted)
            bound: Any = None
        else:
            sums, bound, size = np.zeros(shape), np.zeros(shape), np.zeros(shape)
            np.add.at(sums, place, weighted)
            np.add.at(bound, place, error * share + np.abs(value) * off)
            np.add.at(size, place, np.abs(weighted))
            most = int(np.bincount(columns).max(initial=0)) + _MORE_ROUNDINGS
            bound = (bound * (1 + most * ROUND) + most * ROUND * size) * INFLATE
        more, bound = self._through(layer, 0, sums, bound)
        total[:, rows] += more
        if not self.exact:
            errors[:, rows] += bound + 2 * ROUND * np.abs(total[:, rows])

    def through_embedding(
        self, total: NDArray[Any], errors: FloatArray
    ) -> tuple[NDArray[Any], FloatArray]:
        """The gradients by the network's inputs, if layer 0 is a map of these."""
        embedding = self.network.embedding
        if embedding is None:
            return total, errors
        if self.exact:
            matrix = to_rationals(np.asarray(embedding.matrix).T)
            return np.asarray(matrix @ total), errors
        matrix = np.asarray(embedding.matrix, np.float64).T
        gamma = (matrix.shape[1] + _MORE_ROUNDINGS) * ROUND
        bound = np.abs(matrix) @ (errors + gamma * np.abs(total)) + TINY
        return matrix @ total, bound * INFLATE
