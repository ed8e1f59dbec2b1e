"""Bounds on the number of linear regions that need no search, in whole numbers of any size."""

from __future__ import annotations

from functools import cache
from math import comb, log10

import numpy as np

from tropicell.geometry.polyhedra import Row, integer_row
from tropicell.network.activations import Activation
from tropicell.network.network import Network

#: More steps than this and the sharper bound is left out.
_MOST_STEPS = 200_000
#: Larger first layers are not looked at for a lower bound.
_MOST_WEIGHTS = 100_000


def upper_bound(network: Network) -> int:
    """No network with these layers has more regions.

    Notes
    -----
    On a region of the earlier layers, layer ℓ is an affine map of the inputs, so each of its
    neurons cuts along as many parallel hyperplanes as its activation has breakpoints. By Zaslavsky,
    ``n`` neurons with ``p_i`` pieces make at most ``e_0 + e_1 + … + e_d`` cells in dimension d,
    where ``e_j`` is the j-th elementary symmetric polynomial of the ``p_i - 1`` (for ReLU the
    binomial coefficient ``C(n, j)``). The bound is the product over the layers, with d the number
    of inputs or, without skips, the smallest width so far.

    For ReLU without skips it is sharper [1]_: the sum of ``C(n_1, j_1) ··· C(n_L, j_L)`` over all
    ``j`` with ``0 <= j_ℓ <= min(n_0, n_1 - j_1, …, n_{ℓ-1} - j_{ℓ-1}, n_ℓ)``.

    References
    ----------
    .. [1] T. Serra, C. Tjandraatmadja, S. Ramalingam, "Bounding and Counting Linear Regions of
       Deep Neural Networks", ICML 2018, Theorem 1.

    Examples
    --------
    >>> upper_bound(Network.mlp([np.ones((3, 2)), np.ones((1, 3))]))
    7
    >>> upper_bound(Network.mlp([np.ones((3, 2)), np.ones((3, 3)), np.ones((1, 3))]))
    40
    """
    relu = all(_is_relu(layer.activation) for layer in network.layers)
    steps = network.depth * network.n_inputs * min(network.n_inputs, max((0, *network.widths)))
    if relu and not network.skips and steps <= _MOST_STEPS:
        return _serra(network.n_inputs, network.widths)
    dimension, product = network.n_inputs, 1
    for layer in network.layers:
        product *= sum(_symmetric(layer.activation.pieces.tolist(), dimension))
        if not network.skips:
            dimension = min(dimension, layer.width)
    return product


def _is_relu(activation: Activation) -> bool:
    """Whether all neurons have one breakpoint and are constant below it, whatever the name."""
    return bool((activation.pieces == 2).all() and (activation.slopes[:, 0] == 0).all())


def _serra(inputs: int, widths: tuple[int, ...]) -> int:
    @cache
    def cells(layer: int, dimension: int) -> int:
        if layer == len(widths):
            return 1
        n = widths[layer]
        return sum(
            comb(n, j) * cells(layer + 1, min(dimension, n - j))
            for j in range(min(dimension, n) + 1)
        )

    for layer in range(len(widths) - 1, -1, -1):  # from the end, so that no recursion is deep
        for dimension in range(inputs + 1):
            cells(layer, dimension)
    return cells(0, inputs)


def _symmetric(pieces: list[int], most: int) -> list[int]:
    """The elementary symmetric polynomials of ``pieces - 1``, up to degree `most`."""
    total = [1]
    for kind in sorted(set(pieces)):
        count = pieces.count(kind)
        factor = [comb(count, j) * (kind - 1) ** j for j in range(min(count, most) + 1)]
        degree = min(most, len(total) + len(factor) - 2)
        total = [
            sum(total[i] * factor[k - i] for i in range(len(total)) if 0 <= k - i < len(factor))
            for k in range(degree + 1)
        ]
    return total


def lower_bound(network: Network) -> int:
    """At least so many regions does the network have in the whole space.

    Notes
    -----
    Neurons of the first layer cut along m different hyperplanes, r of which have independent
    normals: these make ``2^r`` cells, and each of the others cuts at least one more in two. Counted
    in exact arithmetic; 1 for very large first layers.

    Examples
    --------
    >>> lower_bound(Network.mlp([[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 2.0]], [[1.0] * 4]]))
    5
    """
    if network.depth == 0 or network.widths[0] * (network.n_inputs + 1) > _MOST_WEIGHTS:
        return 1
    from flint import fmpz_mat  # noqa: PLC0415 - slow to import

    rows = _first_hyperplanes(network)
    if not rows:
        return 1
    rank = int(fmpz_mat([list(row[:-1]) for row in rows]).rank())
    return int(2**rank + len(rows) - rank)


def _first_hyperplanes(network: Network) -> set[Row]:
    """Hyperplanes of the first layer's breakpoints, each once."""
    maps = network.maps("exact")
    start, unit = maps.coordinates()
    before, breakpoints = maps.before(1, [start], unit), maps.activation(1)[0]
    rows = set()
    for neuron, row in enumerate(before):
        for threshold in breakpoints[neuron]:
            if threshold is None:
                continue
            numbers = integer_row([*row[:-1], row[-1] - threshold])
            leading = next((value for value in numbers[:-1] if value), 0)
            if leading:
                rows.add(numbers if leading > 0 else tuple(-value for value in numbers))
    return rows


def magnitude(number: int) -> str:
    """A whole number for people: with commas, or as a power of ten if it is long.

    Examples
    --------
    >>> magnitude(1234567), magnitude(2**200)
    ('1,234,567', 'about 1.6·10^60')
    """
    if number < 10**15:
        return f"{number:,}"
    logarithm = logarithm10(number)
    exponent = int(logarithm)
    return f"about {10 ** (logarithm - exponent):.1f}·10^{exponent}"


def logarithm10(number: int) -> float:
    """The decimal logarithm of a positive whole number of any size."""
    shift = max(0, number.bit_length() - 1000)
    return log10(number >> shift) + shift * float(np.log10(2.0))
