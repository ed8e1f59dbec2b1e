"""Families of networks whose number of regions is known by a theorem.

For tests, for benchmarks that must scale, and for whoever wants a network with a million regions
at hand. All weights are whole numbers, so nothing is rounded and the theorem holds to the letter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, prod

import numpy as np

from tropicell._runtime.arrays import FloatArray
from tropicell.errors import InvalidInputError
from tropicell.geometry.arithmetic import to_rationals
from tropicell.network.domains import Box, Domain, WholeSpace
from tropicell.network.network import Network


@dataclass(frozen=True)
class Known:
    """A network, where to look, and how many regions there are.

    Attributes
    ----------
    network : Network
    domain : Domain
    count : int
        Number of regions on the domain.
    reason : str
        Why, in one line.

    Examples
    --------
    >>> known = parallel(5)
    >>> known.network, known.count, known.reason
    (Network(2 → 5 → 1), 6, '5 hyperplanes that do not meet')
    """

    network: Network
    domain: Domain
    count: int
    reason: str


def sawtooth(depth: int, *, whole: bool = False) -> Known:
    """Telgarsky's sawtooth: one input, two neurons a layer, ``2^depth`` pieces on [0, 1].

    Parameters
    ----------
    depth : int
        Number of hidden layers.
    whole : bool
        All of R instead of [0, 1].

    References
    ----------
    .. [1] M. Telgarsky, "Benefits of depth in neural networks", COLT 2016.

    Examples
    --------
    >>> from tropicell import count_regions
    >>> teeth = sawtooth(5)
    >>> teeth.count, count_regions(teeth.network, teeth.domain)
    (32, 32)
    """
    return folding([2] * depth, whole=whole)


def folding(folds: Sequence[int], inputs: int = 1, *, whole: bool = False) -> Known:
    """Montúfar's folding network: every layer folds the unit cube onto itself.

    Layer ℓ folds each axis ``folds[ℓ]`` times, by as many neurons for each input. So the unit cube
    falls into ``(folds[0] · folds[1] ···)^inputs`` regions, which grow exponentially with the
    depth.

    Parameters
    ----------
    folds : sequence of int
        For every hidden layer, how often it folds each axis (at least 1).
    inputs : int
    whole : bool
        All of R^n instead of the unit cube.

    References
    ----------
    .. [1] G. Montúfar, R. Pascanu, K. Cho, Y. Bengio, "On the number of linear regions of deep
       neural networks", NeurIPS 2014.

    Examples
    --------
    >>> known = folding([2, 3], inputs=2)
    >>> known.network, known.count
    (Network(2 → 4 → 6 → 2), 36)
    >>> folding([10, 10, 10], inputs=2).count
    1000000
    """
    if min([inputs, *folds]) < 1:
        raise InvalidInputError(f"inputs and folds must be at least 1, got {inputs}, {folds}")
    weights, biases = [], []
    back: FloatArray = np.eye(inputs)  # from the neurons of the layer before to the folded cube
    for count in folds:
        # The neurons p·x, p·x - 1, …, p·x - (p - 1) of every coordinate x of the folded cube.
        weights.append(np.kron(back, np.full((count, 1), float(count))))
        biases.append(np.tile(-np.arange(count, dtype=float), inputs))
        # Up, down, up, …: slopes 1, -1, 1, … by the coefficients 1, -2, 2, ….
        zigzag = np.where(np.arange(count) % 2, -2.0, 2.0)
        zigzag[0] = 1.0
        back = np.asarray(np.kron(np.eye(inputs), zigzag), dtype=np.float64)
    network = Network.mlp([*weights, back], [*biases, np.zeros(inputs)])
    if whole:
        on_a_line = _folds_on_the_line(tuple(folds))
        reason = f"{on_a_line} intervals of the line, to the power of the inputs"
        return Known(network, WholeSpace(), on_a_line**inputs, reason)
    reason = "(" + " · ".join(map(str, folds)) + f")^{inputs}, every layer folds the cube"
    return Known(network, Box(0, 1), prod(folds) ** inputs, reason)


def _folds_on_the_line(folds: tuple[int, ...]) -> int:
    """Regions of the one-dimensional folding network on all of R.

    All x < 0 are one region: every neuron is off. Each fold but the last is mapped onto [0, 1].
    The last one goes on for ever: upwards if the number of folds is odd, else downwards below 0.
    """
    if not folds:
        return 1

    def upwards(rest: tuple[int, ...]) -> int:  # regions on [0, ∞)
        if not rest:
            return 1
        return (rest[0] - 1) * prod(rest[1:]) + last(rest)

    def last(rest: tuple[int, ...]) -> int:
        after = rest[1:]
        if rest[0] % 2:
            return upwards(after)
        return 1 + prod(after) if after else 1

    return 1 + upwards(folds)


def general_position(inputs: int, neurons: int) -> Known:
    """One hidden layer in general position: Zaslavsky's ``C(n, 0) + … + C(n, inputs)`` regions.

    The hyperplanes are ``x_1 + t x_2 + … + t^(d-1) x_d + t^d = 0`` for different whole numbers t;
    any d + 1 of them have no point in common, by Vandermonde's determinant.

    References
    ----------
    .. [1] T. Zaslavsky, "Facing up to arrangements", Memoirs of the AMS 154, 1975.

    Examples
    --------
    >>> from tropicell import count_regions
    >>> known = general_position(3, 6)
    >>> known.count, count_regions(known.network)
    (42, 42)
    """
    powers = _moment_curve(neurons, inputs + 1)
    count = sum(comb(neurons, j) for j in range(inputs + 1))
    reason = f"Zaslavsky: the sum of C({neurons}, j) for j ≤ {inputs}"
    return Known(_shallow(powers[:, :-1], powers[:, -1]), WholeSpace(), count, reason)


def cones(inputs: int, neurons: int, apex: Sequence[float] | None = None) -> Known:
    """One hidden layer whose hyperplanes meet in one point: ``2 (C(n-1, 0) + … + C(n-1, d-1))``.

    Parameters
    ----------
    inputs, neurons : int
    apex : sequence of float, optional
        The point; default: the origin, so that all biases are 0. Numbers such as 0.1 are refused:
        the hyperplanes would miss it by a rounding error.

    Examples
    --------
    In the plane n lines through one point make 2n regions:

    >>> cones(2, 7).count, cones(3, 7).count
    (14, 44)
    """
    normals = _moment_curve(neurons, inputs)
    point = np.zeros(inputs) if apex is None else np.asarray(apex, dtype=float)
    offsets = -normals @ point
    exact = -to_rationals(normals) @ to_rationals(point)
    if not (np.isfinite(offsets).all() and (to_rationals(offsets) == exact).all()):
        raise InvalidInputError(
            f"float64 has no room for hyperplanes that all meet in {point.tolist()}: "
            "take whole numbers, or fractions such as 0.5 and 0.25"
        )
    count = 2 * sum(comb(neurons - 1, j) for j in range(inputs)) if neurons else 1
    reason = f"Zaslavsky, all through one point: twice the sum of C({neurons - 1}, j), j < {inputs}"
    return Known(_shallow(normals, offsets), WholeSpace(), count, reason)


def parallel(neurons: int, inputs: int = 2, *, spacing: float = 1.0) -> Known:
    """One hidden layer of parallel hyperplanes: one region more than neurons.

    Examples
    --------
    >>> parallel(1000).count
    1001
    """
    if not 0 < abs(spacing) < np.inf:
        raise InvalidInputError(f"the spacing must be a finite number other than 0, got {spacing}")
    normals = np.ones((neurons, inputs))
    reason = f"{neurons} hyperplanes that do not meet"
    network = _shallow(normals, -spacing * np.arange(neurons, dtype=np.float64))
    return Known(network, WholeSpace(), neurons + 1, reason)


def _moment_curve(count: int, powers: int) -> FloatArray:
    """Rows 1, t, t², … for whole numbers t around 0, as exact floats."""
    t = np.arange(count) - count // 2
    if powers > 1 and int(np.abs(t).max(initial=0)) ** (powers - 1) >= 2**53:
        raise InvalidInputError(
            f"{count} neurons in so many dimensions need weights that float64 can't hold"
        )
    return np.asarray(np.power.outer(t.astype(float), np.arange(powers)))


def _shallow(normals: FloatArray, offsets: FloatArray) -> Network:
    return Network.mlp([normals, np.ones((1, len(normals)))], [offsets, np.zeros(1)])
