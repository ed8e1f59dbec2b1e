"""Maps of patterns modulo primes: whether two of them are equal, without rounding, in float64.

Weights, biases and breakpoints are float64 numbers, so every coefficient of every map is a whole
number divided by a power of two, and has a residue modulo any odd prime p. Residues are added and
multiplied like the numbers themselves. Two facts follow:

- Maps whose residues differ are different. One prime, and the value at one point instead of all
  coefficients, tell nearly all different maps apart (`fingerprints`).
- If ``2^low`` divides both of two coefficients, which are at most ``2^top`` in absolute value, and
  their residues agree modulo primes whose product is more than ``2^(top + 1 - low)``, then they are
  equal: their difference is a whole multiple of that product times ``2^low``, and smaller than it
  (`residues` takes as many primes).

Residues are kept as whole numbers in float64, primes so small that no sum of products reaches
``2^53``: then BLAS multiplies matrices of them without rounding, in whatever order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell.network.patterns import PatternArray, split_layers

if TYPE_CHECKING:
    from tropicell.network.network import Network
    from tropicell.regions.columns import PackedPatterns

#: Larger primes are not used: more bits would not tell more maps apart.
_LARGEST = 2**24
#: Numbers of one layer that are worked on at a time.
_AT_ONCE = 2**18


def fingerprints(network: Network, packed: PackedPatterns) -> FloatArray:
    """Values of the maps of patterns at one point, modulo one prime.

    Equal maps have equal values. Different ones have different values, but for about one in a
    million (or fewer, if layers are wide).

    Parameters
    ----------
    network : Network
    packed : PackedPatterns

    Returns
    -------
    ndarray, shape (patterns, outputs)
        Whole numbers.

    Examples
    --------
    >>> from tropicell import Network, enumerate_regions
    >>> network = Network.mlp([[[1.0], [2.0]], [[1.0, 0.0]]], [[0.0, -1.0], [0.0]])
    >>> regions = enumerate_regions(network, engine="traverse")
    >>> regions.texts(), fingerprints(network, regions.packed)[:, 0].tolist()
    (['00', '10', '11'], [0.0, 14271103.0, 14271103.0])
    """
    field = _Field(network, next(_primes(network)))
    point = np.random.default_rng(0).integers(0, field.prime, size=(1, network.n_inputs))
    start, one = network.maps("exact").values(point.astype(object))
    return field.maps(packed, field.rationals(start), field.rationals(one))[:, :, 0]


def residues(network: Network, packed: PackedPatterns) -> Iterator[FloatArray]:
    """The maps of patterns modulo so many primes that equal residues prove equal numbers.

    Parameters
    ----------
    network : Network
    packed : PackedPatterns

    Yields
    ------
    ndarray, shape (patterns, outputs, inputs + 1)
        Whole numbers, offsets last; for one prime after the other. Two coefficients of maps (of the
        same pattern or of two) are equal if and only if they are so for every prime.

    Examples
    --------
    >>> from tropicell import Network, enumerate_regions
    >>> network = Network.mlp([[[1.0]] * 3, [[0.1, 0.2, -0.3]]])
    >>> regions = enumerate_regions(network, engine="traverse")
    >>> zero = [(found[:, 0, 0] == 0).tolist() for found in residues(network, regions.packed)]
    >>> zero[0]  # 0.1 + 0.2 - 0.3 is not 0 in float64's own numbers
    [True, False]
    """
    top, low = _size(network)
    start, one = network.maps("exact").coordinates()
    enough, product = 2 ** max(1, top + 1 - low), 1
    for prime in _primes(network):
        field = _Field(network, prime)
        yield field.maps(packed, field.rationals(start), field.rationals(one))
        product *= prime
        if product > enough:
            return


class _Field:
    """A network's numbers modulo a prime.

    All residues but those that are handed out are at most p/2 + 4 in absolute value.
    """

    def __init__(self, network: Network, prime: int) -> None:
        self.network = network
        self.prime = prime
        # 2^e for all exponents of float64, from -1126 on, as whole numbers
        powers = [pow(2, -1126, prime)]
        for _ in range(-1125, 1025):
            powers.append(powers[-1] * 2 % prime)
        self._powers = np.array(powers, dtype=np.int64)
        layers = range(1, network.depth + 2)
        self._affine = [self._numbers(network, layer) for layer in layers]
        self._pieces = [self._activation(layer) for layer in range(1, network.depth + 1)]

    def rationals(self, values: NDArray[Any]) -> FloatArray:
        """Residues of rational numbers whose denominators are powers of two."""
        p = self.prime
        flat = [int(q.p) % p * pow(int(q.q), -1, p) % p for q in values.ravel().tolist()]
        return self._reduced(np.array(flat, dtype=np.float64).reshape(values.shape))

    def maps(self, packed: PackedPatterns, start: FloatArray, one: FloatArray) -> FloatArray:
        """Columns of the outputs, shape (patterns, outputs, columns), from 0 to p - 1.

        Columns of layer 0 and `one` as in `NetworkMaps`.
        """
        found = np.empty((len(packed), len(one), self.network.n_outputs))
        step = max(1, _AT_ONCE // (max((1, *self.network.widths)) * len(one)))
        for first in range(0, len(packed), step):
            part = slice(first, first + step)
            found[part] = self._maps(packed[part], start.T, one)
        return np.where(found < 0, found + self.prime, found).transpose(0, 2, 1)

    def _maps(self, patterns: PatternArray, start: FloatArray, one: FloatArray) -> FloatArray:
        """A layer is worked out once for patterns in a row that agree up to it."""
        # For each layer so far its columns, shape (runs, columns, width), and each pattern's run.
        columns, runs = [start[None]], [np.zeros(len(patterns), dtype=np.intp)]
        first = np.zeros(1, dtype=np.intp)  # where the runs begin
        fresh = np.arange(len(patterns)) == 0
        for layer, part in enumerate(split_layers(patterns, self.network.widths), start=1):
            before = self._before(layer, columns, runs, first, one)
            row = np.cumsum(fresh) - 1
            fresh[1:] |= (part[1:] != part[:-1]).any(axis=1)
            first = np.flatnonzero(fresh)
            if len(first) > len(before):
                before = before[row[first]]
            columns.append(self._after(layer, before, part[first], one))
            runs.append(np.cumsum(fresh) - 1)
        return self._before(self.network.depth + 1, columns, runs, first, one)[runs[-1]]

    def _before(
        self,
        layer: int,
        columns: list[FloatArray],
        runs: list[NDArray[np.intp]],
        patterns: NDArray[np.intp],
        one: FloatArray,
    ) -> FloatArray:
        """Pre-activations of a layer for some patterns, shape (patterns, columns, width)."""
        terms, bias = self._affine[layer - 1]
        total: Any = one[:, None] * bias
        for source, matrix in terms:
            values = columns[source]
            if len(values) != len(patterns):
                values = values[runs[source][patterns]]
            flat = values.reshape(-1, values.shape[2])
            total = total + (flat @ matrix).reshape(*values.shape[:2], len(bias))
        return self._reduced(np.broadcast_to(total, (len(patterns), len(one), len(bias))))

    def _after(
        self, layer: int, before: FloatArray, pieces: PatternArray, one: FloatArray
    ) -> FloatArray:
        """The residues of a layer's outputs, from those of its pre-activations."""
        slopes, intercepts = self._pieces[layer - 1]
        if slopes.shape[1] == 2 and not intercepts.any() and (slopes == (0.0, 1.0)).all():
            return before * pieces[:, None]  # ReLU
        neurons = np.arange(pieces.shape[1])
        found = before * slopes[neurons, pieces][:, None]
        return self._reduced(found + one[:, None] * intercepts[neurons, pieces][:, None])

    def _numbers(self, network: Network, layer: int) -> tuple[list[tuple[int, Any]], FloatArray]:
        affine = network.affine(layer)
        terms: list[tuple[int, Any]] = []
        for source, matrix in affine.terms.items():
            if isinstance(matrix, sp.csr_array):
                data = self._floats(matrix.data)
                parts = (data, matrix.indices, matrix.indptr)
                terms.append((source, sp.csr_array(parts, shape=matrix.shape).T))
            else:
                terms.append((source, self._floats(matrix).T))
        return terms, self._floats(affine.bias)

    def _activation(self, layer: int) -> tuple[FloatArray, FloatArray]:
        _, slopes, intercepts = self.network.maps("exact").activation(layer)
        return self.rationals(slopes), self.rationals(intercepts)

    def _floats(self, values: FloatArray) -> FloatArray:
        """Residues of float64 numbers."""
        mantissas, exponents = _as_integers(values)
        powers = self._powers[exponents + 1126]
        return self._reduced((mantissas % self.prime * powers).astype(np.float64))

    def _reduced(self, values: FloatArray) -> FloatArray:
        """Residues near 0 of whole numbers below 2^53: nothing here is rounded but the quotient."""
        return np.asarray(values - np.rint(values * (1.0 / self.prime)) * self.prime)


def _primes(network: Network) -> Iterator[int]:
    """Primes, from the largest on for which no sum of products of residues reaches 2^53."""
    summands = 2 + max(
        sum(matrix.shape[1] for matrix in network.affine(layer).terms.values())
        for layer in range(1, network.depth + 2)
    )
    # residues are at most p/2 + 4 with p > 100, so products of two of them are below 0.3 p²
    largest = int((2.0**53 / (0.3 * summands)) ** 0.5)
    yield from (n for n in range(min(_LARGEST, largest), 100, -1) if _is_prime(n))


def _is_prime(number: int) -> bool:
    return number % 2 == 1 and all(number % k for k in range(3, int(number**0.5) + 1, 2))


def _as_integers(values: FloatArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Whole numbers m below 2^53 and exponents e from -1126 on with values = m 2^e."""
    mantissas, exponents = np.frexp(values)
    return (mantissas * 2.0**53).astype(np.int64), exponents.astype(np.int64) - 53


def _size(network: Network) -> tuple[int, int]:
    """Exponents of two: one that all coefficients stay below, and one that divides them all.

    In absolute value the coefficients of all maps of patterns are at most ``2^top``, and they are
    whole multiples of ``2^low``.
    """
    maps = network.maps("exact")
    sizes = [_size_of_rationals(maps.coordinates()[0])]
    for layer in range(1, network.depth + 2):
        affine = network.affine(layer)
        parts, summands = [_size_of_floats(affine.bias)], 1
        for source, matrix in affine.terms.items():
            top, low = _size_of_floats(matrix.data if sp.issparse(matrix) else matrix)
            parts.append((top + sizes[source][0], low + sizes[source][1]))
            summands += matrix.shape[1]
        top, low = _joined(parts, summands)
        if layer <= network.depth:
            _, slopes, intercepts = maps.activation(layer)
            factor = _size_of_rationals(slopes)
            parts = [(factor[0] + top, factor[1] + low), _size_of_rationals(intercepts)]
            top, low = _joined(parts, 2)
        sizes.append((top, low))
    return sizes[-1]


def _joined(parts: Sequence[tuple[int, int]], summands: int) -> tuple[int, int]:
    """The sizes of sums of so many numbers."""
    top = max(part[0] for part in parts) + (summands - 1).bit_length()
    return top, min(part[1] for part in parts)


def _size_of_floats(values: FloatArray) -> tuple[int, int]:
    mantissas, exponents = _as_integers(values[values != 0])
    if not mantissas.size:
        return 0, 0
    lowest = np.log2((mantissas & -mantissas).astype(np.float64)).astype(np.int64)
    return int(exponents.max()) + 53, int((exponents + lowest).min())


def _size_of_rationals(values: NDArray[Any]) -> tuple[int, int]:
    """Bits that numerators and denominators need; the latter are powers of two."""
    there = [q for q in values.ravel().tolist() if q != 0]
    top = max((int(q.p).bit_length() - int(q.q).bit_length() + 1 for q in there), default=0)
    return top, min((1 - int(q.q).bit_length() for q in there), default=0)
