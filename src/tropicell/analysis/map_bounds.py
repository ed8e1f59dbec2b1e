"""The maps of patterns in float64, with a proved bound on the error of every number.

The bound is that of docs/error-bound.md, step 8, with one change: the slopes of a map and its
offset have bounds of their own, since biases are no part of slopes. So slopes that are 0 because
nothing depends on the input have the error 0.

Where the numbers of a network are not of ordinary size (see `tropicell.network.flat`) all
bounds are infinite.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell._runtime.interruption import check
from tropicell.geometry.rounding import INFLATE, ROUND, TINY
from tropicell.network.domains import WholeSpace
from tropicell.network.patterns import PatternArray, split_layers

if TYPE_CHECKING:
    from tropicell.network.layers import Affine
    from tropicell.network.network import Network
    from tropicell.regions.columns import PackedPatterns

#: Roundings beyond one for each summand; more than any order of a sum has.
_MORE_ROUNDINGS = 16
#: Numbers of a layer that are worked on at a time.
_AT_ONCE = 2**18


@dataclass(frozen=True, eq=False)
class Bounded:
    """Affine maps with bounds on the errors of their numbers.

    Attributes
    ----------
    slopes : ndarray, shape (patterns, inputs, width)
    offsets : ndarray, shape (patterns, width)
    slope_error, offset_error : ndarray, shape (patterns, width)
        Bounds on the error of each slope, and of the offset.
    """

    slopes: FloatArray
    offsets: FloatArray
    slope_error: FloatArray
    offset_error: FloatArray

    def infinite(self) -> Bounded:
        """Bounds that promise nothing: all errors are infinite."""
        error = np.full(self.offsets.shape, np.inf)
        return Bounded(self.slopes, self.offsets, error, error)


def bounded_maps(network: Network, patterns: PatternArray) -> Iterator[Bounded]:
    """The pre-activations of layer 1, 2, … and at last the outputs, for all patterns at once.

    Parameters
    ----------
    network : Network
    patterns : ndarray of uint8, shape (patterns, neurons)

    Yields
    ------
    Bounded

    Examples
    --------
    The true slope is that of the float64 numbers 0.1 + 0.2 - 0.3, about 2.8e-17:

    >>> from tropicell import Network
    >>> network = Network.mlp([[[1.0]] * 3, [[0.1, 0.2, -0.3]]])
    >>> *_, output = bounded_maps(network, np.ones((1, 3), dtype=np.uint8))
    >>> error = abs(output.slopes[0, 0, 0] - 2.0**-55)
    >>> bool(error <= output.slope_error[0, 0] < 1e-13)
    True
    """
    tame = has_tame_outputs(network)
    start, _ = network.maps("float").coordinates()
    count = len(patterns)
    layers = [_repeated(start, count, exact=network.embedding is None)]
    for layer, pieces in enumerate(split_layers(patterns, network.widths), start=1):
        before = _before(network, layer, layers)
        yield before if tame else before.infinite()
        layers.append(_after(network, layer, before, pieces))
    output = _before(network, network.depth + 1, layers)
    yield output if tame else output.infinite()


def strictly_inside(
    network: Network, points: FloatArray, patterns: PatternArray
) -> NDArray[np.bool_]:
    """Which points surely have some patterns, and so have all points around them.

    Parameters
    ----------
    network : Network
    points : ndarray, shape (points, inputs)
    patterns : ndarray of uint8, shape (points, neurons)

    Examples
    --------
    >>> from tropicell import Network
    >>> network = Network.mlp([[[1.0]], [[1.0]]])
    >>> points = np.array([[1.0], [0.0], [-1.0]])
    >>> strictly_inside(network, points, network.patterns(points))
    array([ True, False,  True])
    """
    sure = np.ones(len(points), dtype=np.bool_)
    step = max(1, _AT_ONCE // (max([1, *network.widths]) * max(1, points.shape[1])))
    for start in range(0, len(points) if network.depth else 0, step):
        check()
        part = slice(start, start + step)
        x, reach = points[part], np.abs(points[part])
        pieces = split_layers(patterns[part], network.widths)
        for layer, maps in enumerate(bounded_maps(network, patterns[part]), start=1):
            if layer > network.depth:
                break
            values = np.einsum("nc,ncw->nw", x, maps.slopes) + maps.offsets
            sizes = np.einsum("nc,ncw->nw", reach, np.abs(maps.slopes)) + np.abs(maps.offsets)
            errors = maps.slope_error * reach.sum(axis=1)[:, None] + maps.offset_error
            errors += (points.shape[1] + _MORE_ROUNDINGS) * ROUND * sizes
            errors = INFLATE * errors + TINY
            bends = network.maps("float").activation(layer)[0]
            ends = np.full((len(bends), 1), np.inf)
            bends = np.concatenate([-ends, bends, ends], axis=1)
            neurons, piece = np.arange(len(bends)), pieces[layer - 1].astype(np.int64)
            with np.errstate(invalid="ignore"):
                above = values - bends[neurons, piece] > errors
                below = bends[neurons, piece + 1] - values > errors
            sure[part] &= (above & below).all(axis=1)
    return sure


def output_bounds(network: Network, packed: PackedPatterns) -> Bounded:
    """The maps of the outputs alone, for any number of patterns.

    Parameters
    ----------
    network : Network
    packed : PackedPatterns

    Examples
    --------
    >>> from tropicell import Network, enumerate_regions
    >>> regions = enumerate_regions(Network.mlp([[[1.0]], [[3.0]]]))
    >>> sorted(output_bounds(regions.network, regions.packed).slopes.ravel().tolist())
    [0.0, 3.0]
    """
    count, outputs = len(packed), network.n_outputs
    found = Bounded(
        np.empty((count, network.n_inputs, outputs)),
        *(np.empty((count, outputs)) for _ in range(3)),
    )
    numbers = max([1, *network.widths]) * network.n_inputs
    step = max(1, _AT_ONCE // numbers)
    for start in range(0, count, step):
        part = slice(start, start + step)
        *_, maps = bounded_maps(network, packed[part])
        for name, column in vars(maps).items():
            getattr(found, name)[part] = column
    return found


def largest_errors(network: Network) -> tuple[FloatArray, FloatArray]:
    """Bounds on the errors of the outputs' maps in float64 that hold for all patterns.

    Parameters
    ----------
    network : Network

    Returns
    -------
    slopes, offsets : ndarray, shape (outputs,)
        For maps that are summed in any order, such as `Regions.affine_maps`.

    Notes
    -----
    Much larger than those of `bounded_maps`, the more so the deeper the network, but there at once.

    Examples
    --------
    >>> from tropicell import Network
    >>> largest_errors(Network.mlp([[[1.0]] * 3, [[0.1, 0.2, -0.3]]]))[0] < 1e-13
    array([ True])
    """
    if not has_tame_outputs(network):
        return np.full(network.n_outputs, np.inf), np.full(network.n_outputs, np.inf)
    start, _ = network.maps("float").coordinates()
    share = 0.0 if network.embedding is None else 2 * ROUND
    sizes = np.stack([np.abs(start[:, :-1]).max(axis=1), np.abs(start[:, -1])])
    layers = [(sizes, share * sizes)]  # of each neuron: slopes, then the offset
    for layer in range(1, network.depth + 2):
        affine = network.affine(layer)
        gamma = _gamma(affine)
        sizes = np.stack([np.zeros(affine.width), np.abs(affine.bias)])
        errors = gamma * sizes + TINY
        for source, matrix in affine.terms.items():
            weights = (abs(matrix) if sp.issparse(matrix) else np.abs(matrix)).T
            size, error = layers[source]
            sizes = sizes + size @ weights
            errors = errors + (error + gamma * size + TINY) @ weights
        if layer <= network.depth:
            _, slopes, intercepts = network.maps("float").activation(layer)
            slope = np.abs(slopes).max(axis=1)
            shift = np.stack([np.zeros(affine.width), np.abs(intercepts).max(axis=1)])
            errors = slope * errors + 4 * ROUND * (slope * sizes + shift)
            sizes = slope * sizes + shift
        layers.append((INFLATE * sizes, INFLATE * errors))
    slope_error, offset_error = layers[-1][1]
    return slope_error, offset_error


def _gamma(affine: Affine) -> float:
    """Bound on the relative error of the sums that make a layer's rows."""
    summands = 1 + sum(matrix.shape[1] for matrix in affine.terms.values())
    return float((summands + _MORE_ROUNDINGS) * ROUND * 1.001)


def has_tame_outputs(network: Network) -> bool:
    """Whether all numbers, those of the output included, are of ordinary size.

    Examples
    --------
    >>> from tropicell import Network
    >>> has_tame_outputs(Network.mlp([[[1.0]], [[1e-200]]]))
    False
    """
    from tropicell.network.flat import LARGEST, SMALLEST, is_tame  # noqa: PLC0415 - needs Network

    matrices = network.output.terms.values()
    numbers = [network.output.bias, *(m.data if sp.issparse(m) else m for m in matrices)]
    sizes = np.concatenate([np.abs(np.ravel(array)) for array in numbers])
    ordinary = (sizes == 0) | ((sizes >= SMALLEST) & (sizes <= LARGEST))
    return bool(ordinary.all()) and is_tame(network, WholeSpace())


def _repeated(start: FloatArray, count: int, *, exact: bool) -> Bounded:
    """Layer 0; a slice's numbers may have been rounded once."""
    slopes = np.broadcast_to(start[:, :-1].T, (count, start.shape[1] - 1, len(start)))
    offsets = np.broadcast_to(start[:, -1], (count, len(start)))
    share = 0.0 if exact else 2 * ROUND
    sizes = np.abs(slopes).max(axis=1)
    return Bounded(slopes, offsets, share * sizes, share * np.abs(offsets))


def _before(network: Network, layer: int, layers: list[Bounded]) -> Bounded:
    affine = network.affine(layer)
    gamma = _gamma(affine)
    count, inputs = layers[0].slopes.shape[:2]
    slopes = np.zeros((count, inputs, affine.width))
    offsets = np.tile(affine.bias, (count, 1))
    slope_error = np.zeros((count, affine.width))
    offset_error = np.tile(gamma * np.abs(affine.bias) + TINY, (count, 1))
    for source, matrix in affine.terms.items():
        values = layers[source]
        flat = values.slopes.reshape(count * inputs, -1)
        slopes += np.asarray(flat @ matrix.T).reshape(slopes.shape)
        offsets += values.offsets @ matrix.T
        sizes = abs(matrix).T if sp.issparse(matrix) else np.abs(matrix).T
        largest = np.abs(values.slopes).max(axis=1, initial=0.0)
        share = values.slope_error + gamma * largest
        slope_error += np.where(share > 0, share + TINY, 0.0) @ sizes
        share = values.offset_error + gamma * np.abs(values.offsets)
        offset_error += np.where(share > 0, share + TINY, 0.0) @ sizes
    return Bounded(slopes, offsets, INFLATE * slope_error, INFLATE * offset_error)


def _after(network: Network, layer: int, before: Bounded, pieces: PatternArray) -> Bounded:
    _, slopes, intercepts = network.maps("float").activation(layer)
    neurons = np.arange(pieces.shape[1])
    slope, intercept = slopes[neurons, pieces], intercepts[neurons, pieces]
    scaled, offsets = before.slopes * slope[:, None], before.offsets * slope
    sizes = np.abs(scaled).max(axis=1, initial=0.0)
    rounded = 4 * ROUND * ((slope != 0) & (slope != 1))
    slope_error = np.abs(slope) * before.slope_error + rounded * sizes
    # an intercept, which follows from the breakpoints, may have been rounded itself
    shifted = 4 * ROUND * (np.abs(offsets) + np.abs(intercept)) * (intercept != 0)
    offset_error = np.abs(slope) * before.offset_error + rounded * np.abs(offsets) + shifted
    return Bounded(scaled, offsets + intercept, INFLATE * slope_error, INFLATE * offset_error)
