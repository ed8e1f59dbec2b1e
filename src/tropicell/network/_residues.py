"""Rows of boundaries modulo primes: whole numbers, exactly, in compiled loops.

All numbers of a network are floats, so whole numbers times powers of two; and so are the rows of a
layer on a cell: times 2 to a *grain* that depends on the layer alone they are whole. Modulo a prime
below 2^50 they are kept as float64 numbers from 0 to the prime, exactly: a product of two of them
is taken without error (`multiply`). A determinant of rows that is 0 modulo so many primes that
their product is larger than it can be is 0; and otherwise its digits in the mixed base of these
primes (Garner) say its sign: step 7 of docs/error-bound.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from math import floor
from typing import Any, NamedTuple

import numpy as np
from flint import fmpz
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray, IntArray
from tropicell._runtime.jit import fma, kernel
from tropicell.network.flat import COLUMNS_AT, FILTERS, IS_SPARSE, SOURCE, WEIGHTS_AT, FlatNetwork

#: Primes are between two powers of two; a product of n of them has more than n BITS bits.
BITS = 49

#: Numbers that are made whole may have so many bits.
_MOST_BITS = 98

#: At most so many primes are used, and so much memory by the rows modulo them.
_MOST_PRIMES, _MOST_BYTES = 160, 1 << 25

#: The grain of numbers that can't be made whole.
_TOO_FINE = 1 << 30


class Moduli(NamedTuple):
    """What is needed to know rows modulo primes.

    Numbers are made whole by powers of two, their scales; what a scale falls short of the grain of
    a layer are more powers of two, with the exponents in `term_power` and so on.

    Attributes
    ----------
    primes, inverses : ndarray, shape (primes,)
        Empty where this can't be done.
    mixed : ndarray, shape (primes,)
        Inverse of the product of all primes before, modulo each.
    grain : ndarray, shape (L + 1,)
        Exponents: rows of a layer are whole numbers times 2^-grain. Those of the domain come first.
    domain_scale, input_scale : float
        For the rows of the domain, and of layer 0.
    term_scale, term_power : ndarray, shape (terms,)
        For the weights of a term.
    scales, powers : ndarray, shape (4, L + 1)
        For what else a layer has: see `BIAS`, `BREAKPOINT`, `SLOPE`, `INTERCEPT`.
    """

    primes: FloatArray
    inverses: FloatArray
    mixed: FloatArray
    grain: IntArray
    domain_scale: float
    input_scale: float
    term_scale: FloatArray
    term_power: IntArray
    scales: FloatArray
    powers: IntArray


# Rows of `Moduli.scales` and `Moduli.powers`.
BIAS, BREAKPOINT, SLOPE, INTERCEPT = 0, 1, 2, 3


class ResidueRows(NamedTuple):
    """Rows modulo primes, on the cell that was asked for last.

    Attributes
    ----------
    before, after : ndarray, shape (primes, d + 1, rows)
    pattern : ndarray of uint8, shape (primes, neurons)
        The pieces that they belong to.
    known : ndarray, shape (primes,)
        Layers whose rows are known.
    weights : ndarray, shape (widest layer,)
        Scratch.
    corner : ndarray, shape (primes, d + 1)
        Where facets meet, whose rows are given.
    corners : ndarray, shape (1,)
        The number of primes for which that is known.
    minors : ndarray, shape (2^(d + 1),)
        Scratch: minors of their rows.
    values, digits : ndarray, shape (primes,)
        Scratch: a number modulo the primes, and its digits in their mixed base.
    """

    before: FloatArray
    after: FloatArray
    pattern: NDArray[np.uint8]
    known: IntArray
    weights: FloatArray
    corner: FloatArray
    corners: IntArray
    minors: FloatArray
    values: FloatArray
    digits: FloatArray


# --- in Python, once ------------------------------------------------------------------------------


@cache
def _primes() -> FloatArray:
    """The largest primes below 2^(BITS + 1)."""
    found: list[int] = []
    number = (1 << (BITS + 1)) - 1
    while len(found) < _MOST_PRIMES:
        if fmpz(number).is_prime():
            found.append(number)
        number -= 2
    return np.array(found, dtype=np.float64)


@cache
def _mixed() -> FloatArray:
    """For every prime the inverse of the product of those before it."""
    primes = [int(p) for p in _primes()]
    found, product = [], 1
    for p in primes:
        found.append(pow(product % p, -1, p))
        product *= p
    return np.array(found, dtype=np.float64)


def grains_of_terms(flat: FlatNetwork) -> list[int]:
    """The powers of two that make the weights of each term whole.

    Examples
    --------
    >>> from tropicell import Box, Network
    >>> from tropicell.network.flat import flatten
    >>> grains_of_terms(flatten(Network.mlp([[[1.0, 0.75]], [[1.0]]]), Box(-1, 1)))
    [2]
    """
    ends = np.append(flat.maps.terms[:, WEIGHTS_AT], len(flat.maps.weights)).tolist()
    return _grains(flat.maps.weights, ends)


def moduli_of(
    flat: FlatNetwork, *, exact: bool = True, terms: Sequence[int] | None = None
) -> Moduli:
    """What a network's rows modulo primes are made from; no primes where they can't be had.

    `terms`: what `grains_of_terms` returns, if it is known.

    Examples
    --------
    >>> from tropicell import Box, Network
    >>> from tropicell.network.flat import flatten
    >>> moduli = moduli_of(flatten(Network.mlp([[[1.0, 0.75]], [[1.0]]]), Box(-1, 1)))
    >>> moduli.grain.tolist(), len(moduli.primes)
    ([0, 2], 4)
    """
    maps, lines = flat.maps, flat.lines
    inputs, domain = _grain(maps.input_rows), _grain(lines.domain_rows)
    terms = grains_of_terms(flat) if terms is None else terms
    starts = maps.row_start[1:].tolist()
    places = np.searchsorted(lines.line_row, starts).tolist()
    parts = np.array(
        [
            _grains(maps.bias, starts),
            _grains(lines.line_at, places),
            _grains(maps.slopes, starts),
            np.maximum(_grains(maps.intercepts, starts), _grains(maps.intercepts_low, starts)),
        ]
    )
    grain, output, powers, term_power = [domain], [inputs], [[0, 0, 0, 0]], []
    for layer, (bias, breakpoint_, slope, intercept) in enumerate(parts.T.tolist(), 1):
        mine = range(int(maps.term_start[layer]), int(maps.term_start[layer + 1]))
        before = [terms[t] + output[int(maps.terms[t, SOURCE])] for t in mine]
        grain.append(max([bias, breakpoint_, *before]))
        output.append(max(slope + grain[-1], intercept))
        term_power += [grain[-1] - part for part in before]
        powers.append(
            [
                grain[-1] - bias,
                grain[-1] - breakpoint_,
                output[-1] - slope - grain[-1],
                output[-1] - intercept,
            ]
        )
    largest = max([domain, inputs, *terms, *parts.ravel().tolist()])
    possible = exact and largest < _TOO_FINE and maps.whole
    count = _wanted(flat, grain) if possible else 0
    scales = np.exp2(np.insert(parts, 0, 0, axis=1)) if count else np.ones((4, len(grain)))
    primes = _primes()[:count]
    return Moduli(
        primes=primes,
        inverses=1.0 / primes,
        mixed=_mixed()[:count],
        grain=np.array(grain, dtype=np.int64),
        domain_scale=2.0**domain if count else 1.0,
        input_scale=2.0**inputs if count else 1.0,
        term_scale=np.exp2(terms) if count else np.ones(len(terms)),
        term_power=np.array(term_power, dtype=np.int64),
        scales=np.ascontiguousarray(scales),
        powers=np.ascontiguousarray(np.array(powers, dtype=np.int64).T),
    )


def residue_rows(flat: FlatNetwork, moduli: Moduli, free: Any = lambda array: array) -> ResidueRows:
    """Room for rows modulo primes; for `free` see `tropicell._runtime.memory.Blueprint`."""
    count, d, zeros = len(moduli.primes), flat.dimension, np.zeros
    return ResidueRows(
        before=free(zeros((count, d + 1, flat.rows))),
        after=free(zeros((count, d + 1, flat.rows))),
        pattern=zeros((count, flat.neurons), np.uint8),
        known=zeros(count, np.int64),
        weights=free(zeros(flat.width)),
        corner=free(zeros((count, d + 1))),
        corners=zeros(1, np.int64),
        minors=free(zeros(1 << (d + 1))),
        values=free(zeros(count)),
        digits=free(zeros(count)),
    )


def _wanted(flat: FlatNetwork, grain: list[int]) -> int:
    """So many primes suffice for the largest determinants that are not certain otherwise."""
    bits = (flat.dimension + 1) * (max(grain) + 50)
    a_prime = 16 * (flat.dimension + 1) * flat.rows + flat.neurons
    return int(min(bits // BITS + 1, _MOST_PRIMES, _MOST_BYTES // a_prime))


def _grain(numbers: FloatArray) -> int:
    """The power of two that makes numbers whole; `_TOO_FINE` if they are too large then."""
    return _grains(np.ravel(numbers), [0, numbers.size])[0]


def _grains(numbers: FloatArray, ends: Sequence[int]) -> list[int]:
    """The same for parts of an array, along its first axis."""
    mantissas, exponents = np.frexp(numbers)
    whole = np.ldexp(mantissas, 53).astype(np.int64)
    last = np.frexp((whole & -whole).astype(np.float64))[1]
    lowest = np.where(whole == 0, 0, 54 - exponents - last)
    highest = np.where(whole == 0, 0, exponents)
    found = []
    for begin, end in pairwise(ends):
        grain = max(0, int(lowest[begin:end].max(initial=0)))
        bits = grain + int(highest[begin:end].max(initial=0))
        found.append(grain if bits <= _MOST_BITS else _TOO_FINE)
    return found


# --- arithmetic modulo a prime --------------------------------------------------------------------


@kernel(inner=True, inlined=True)
def multiply(a: float, b: float, p: float, inverse: float) -> float:
    """A product modulo p.

    a b = h + l without error, |l| <= 2^46. The quotient h / p is known up to 1/4, so h - q p lies
    between -p / 4 and 5 p / 4, a float without error, and so is its sum with l.
    """
    h = a * b
    t = fma(-floor(h * inverse), p, h) + fma(a, b, -h)
    t = t + p if t < 0.0 else t
    return float(t - p if t >= p else t)


@kernel(inner=True, inlined=True)
def reduce(x: float, p: float, inverse: float) -> float:
    """A whole number of at most 98 bits modulo p."""
    t = fma(-floor(x * inverse), p, x)
    t = t + p if t < 0.0 else t
    return float(t - p if t >= p else t)


@kernel(inner=True, inlined=True)
def add(a: float, b: float, p: float) -> float:
    """A sum modulo p."""
    t = a + b
    return t - p if t >= p else t


@kernel(inner=True)
def power_of_two(exponent: int, p: float, inverse: float) -> float:
    """2 to a power modulo p."""
    total, square = 1.0, 2.0
    while exponent > 0:
        if exponent & 1:
            total = multiply(total, square, p, inverse)
        square = multiply(square, square, p, inverse)
        exponent >>= 1
    return total


@kernel(inner=True)
def residue(moduli: Any, kind: int, layer: int, number: float, k: int) -> float:
    """A bias, breakpoint, slope or intercept of a layer, made whole, modulo prime k."""
    p, inverse = moduli.primes[k], moduli.inverses[k]
    x = reduce(number * moduli.scales[kind, layer], p, inverse)
    return multiply(x, power_of_two(moduli.powers[kind, layer], p, inverse), p, inverse)


# --- rows -----------------------------------------------------------------------------------------


@kernel(inner=True)
def bring_up(maps: Any, moduli: Any, rows: Any, k: int, layer: int, pattern: Any) -> None:
    """Make the rows of all layers up to `layer` modulo prime k those of a pattern."""
    known, first = rows.known[k], maps.row_start[1]
    if known == 0:
        p, inverse = moduli.primes[k], moduli.inverses[k]
        for row in range(first):
            for c in range(maps.dimension + 1):
                x = maps.input_rows[row, c] * moduli.input_scale
                rows.after[k, c, row] = reduce(x, p, inverse)
        _sum(maps, moduli, rows, k, 1)
        known = 1
    for below in range(1, layer):
        begin, end = maps.row_start[below], maps.row_start[below + 1]
        same = below < known
        for row in range(begin, end):
            same = same and rows.pattern[k, row - first] == pattern[row - first]
        if same:
            continue
        for row in range(begin, end):
            rows.pattern[k, row - first] = pattern[row - first]
            _activate(maps, moduli, rows, k, below, row, pattern[row - first])
        _sum(maps, moduli, rows, k, below + 1)
        known = below + 1
    rows.known[k] = known


@kernel(inner=True)
def _activate(maps: Any, moduli: Any, rows: Any, k: int, layer: int, row: int, piece: int) -> None:
    """Output of one neuron on a piece."""
    p, inverse, d = moduli.primes[k], moduli.inverses[k], maps.dimension
    slope = maps.slopes[row, piece]
    if slope == 0.0:
        for c in range(d + 1):
            rows.after[k, c, row] = 0.0
    else:
        s = residue(moduli, SLOPE, layer, slope, k)
        for c in range(d + 1):
            rows.after[k, c, row] = multiply(rows.before[k, c, row], s, p, inverse)
    intercept, low = maps.intercepts[row, piece], maps.intercepts_low[row, piece]
    if intercept != 0.0:
        t = residue(moduli, INTERCEPT, layer, intercept, k)
        t = add(t, residue(moduli, INTERCEPT, layer, low, k), p)
        rows.after[k, d, row] = add(rows.after[k, d, row], t, p)


@kernel(inner=True)
def _sum(maps: Any, moduli: Any, rows: Any, k: int, layer: int) -> None:
    """Pre-activations of a layer."""
    p, inverse, d = moduli.primes[k], moduli.inverses[k], maps.dimension
    begin, end = maps.row_start[layer], maps.row_start[layer + 1]
    for row in range(begin, end):
        for c in range(d):
            rows.before[k, c, row] = 0.0
        rows.before[k, d, row] = reduce(maps.bias[row] * moduli.scales[BIAS, layer], p, inverse)
    factor = power_of_two(moduli.powers[BIAS, layer], p, inverse)
    for row in range(begin, end):
        rows.before[k, d, row] = multiply(rows.before[k, d, row], factor, p, inverse)
    for term in range(maps.term_start[layer], maps.term_start[layer + 1]):
        source, at = maps.terms[term, SOURCE], maps.terms[term, WEIGHTS_AT]
        first = maps.row_start[source]
        factor = power_of_two(moduli.term_power[term], p, inverse)
        for row in range(first, maps.row_start[source + 1]):
            off = True
            for c in range(d + 1):
                off = off and rows.after[k, c, row] == 0.0
            if off:
                continue
            if maps.terms[term, IS_SPARSE] == FILTERS:
                _add_filters(maps, moduli, rows, k, term, row - first, begin)
                continue
            if maps.terms[term, IS_SPARSE]:
                column = maps.terms[term, COLUMNS_AT] + row - first
                for i in range(at + maps.columns[column], at + maps.columns[column + 1]):
                    w = reduce(maps.weights[i] * moduli.term_scale[term], p, inverse)
                    w = multiply(w, factor, p, inverse)
                    target = begin + maps.targets[i]
                    for c in range(d + 1):
                        t = multiply(w, rows.after[k, c, row], p, inverse)
                        rows.before[k, c, target] = add(rows.before[k, c, target], t, p)
                continue
            width = end - begin
            numbers = maps.weights[at + (row - first) * width : at + (row - first + 1) * width]
            weights = rows.weights[:width]
            _reduce_all(numbers, moduli.term_scale[term], p, inverse, weights)
            for c in range(d + 1):
                t = multiply(factor, rows.after[k, c, row], p, inverse)
                _add_all(weights, t, p, inverse, rows.before[k, c, begin:end])


@kernel(inner=True)
def _add_filters(
    maps: Any, moduli: Any, rows: Any, k: int, term: int, neuron: int, begin: int
) -> None:
    """Add the output of a neuron that filters of a convolution look at."""
    p, inverse, d = moduli.primes[k], moduli.inverses[k], maps.dimension
    factor = power_of_two(moduli.term_power[term], p, inverse)
    table = maps.columns[maps.terms[term, COLUMNS_AT] :]
    positions, places, filters, taps = table[0], table[1], table[2], table[3]
    channel, position = neuron // positions, neuron % positions
    source = maps.row_start[maps.terms[term, SOURCE]] + neuron
    pairs, weights = table[4 + positions + 1 :], rows.weights[:filters]
    for pair in range(table[4 + position], table[5 + position]):
        at = maps.terms[term, WEIGHTS_AT] + (channel * taps + pairs[2 * pair]) * filters
        numbers = maps.weights[at : at + filters]
        _reduce_all(numbers, moduli.term_scale[term], p, inverse, weights)
        first = begin + pairs[2 * pair + 1]
        for c in range(d + 1):
            t = multiply(factor, rows.after[k, c, source], p, inverse)
            for j in range(filters):
                target = first + j * places
                product = multiply(weights[j], t, p, inverse)
                rows.before[k, c, target] = add(rows.before[k, c, target], product, p)


@kernel(inner=True)
def _reduce_all(numbers: Any, scale: float, p: float, inverse: float, to: Any) -> None:
    for r in range(len(to)):
        to[r] = reduce(numbers[r] * scale, p, inverse)


@kernel(inner=True)
def _add_all(weights: Any, factor: float, p: float, inverse: float, to: Any) -> None:
    for r in range(len(to)):
        to[r] = add(to[r], multiply(weights[r], factor, p, inverse), p)


@kernel(inner=True)
def sign_of(moduli: Any, rows: Any, n: int) -> int:
    """The sign of the whole number with the residues in ``rows.values``, n of them.

    Twice its absolute value must be smaller than the product of the first n primes. Its digits in
    their mixed base are worked out from the lowest; half of that product, rounded down, has the
    digits (p - 1) / 2, and larger numbers stand for negative ones.
    """
    digits, sign = rows.digits, 0
    for k in range(n):
        p, inverse = moduli.primes[k], moduli.inverses[k]
        known, power = 0.0, 1.0
        for i in range(k):
            known = add(known, multiply(reduce(digits[i], p, inverse), power, p, inverse), p)
            power = multiply(power, reduce(moduli.primes[i], p, inverse), p, inverse)
        rest = rows.values[k] - known
        rest = rest + p if rest < 0.0 else rest
        digits[k] = multiply(rest, moduli.mixed[k], p, inverse)
    for k in range(n):
        half = (moduli.primes[k] - 1.0) * 0.5
        if digits[k] > half:
            sign = -1
        elif digits[k] < half:
            sign = 1 if digits[k] > 0.0 or sign != 0 else 0
        elif sign == 0:
            sign = 1
    return sign
