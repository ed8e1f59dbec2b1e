"""Rows modulo primes are the exact ones, and so are signs of whole numbers that are known so."""

from fractions import Fraction
from math import prod

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from strategies import KINDS, random_network
from tropicell import Box, WholeSpace
from tropicell._runtime.jit import kernel
from tropicell.geometry.arithmetic import EXACT
from tropicell.network._residues import (
    bring_up,
    moduli_of,
    multiply,
    reduce,
    residue_rows,
    sign_of,
)
from tropicell.network.flat import flatten
from tropicell.network.maps import NetworkMaps


@kernel
def _rows(maps, moduli, rows, k, layer, pattern):  # type: ignore[no-untyped-def]
    bring_up(maps, moduli, rows, k, layer, pattern)


@kernel
def _sign(moduli, rows, n):  # type: ignore[no-untyped-def]
    return sign_of(moduli, rows, n)


@kernel
def _product(a, b, p, inverse):  # type: ignore[no-untyped-def]
    return multiply(a, b, p, inverse), reduce(a * 2.0**40, p, inverse)


FLAT = flatten(random_network(0, "normal", 2, 3, 3), Box(-1, 1))
MODULI = moduli_of(FLAT)
PRIMES = [int(p) for p in MODULI.primes]


@given(st.integers(0, 2**52), st.integers(0, 2**52), st.integers(0, len(PRIMES) - 1))
def test_products(a: int, b: int, k: int) -> None:
    p = PRIMES[k]
    a, b = a % p, b % p
    got = _product(float(a), float(b), float(p), 1.0 / p)
    assert got == (a * b % p, (a << 40) % p)


@given(st.integers(1, 6), st.data())
def test_signs(n: int, data: st.DataObject) -> None:
    half = prod(PRIMES[:n]) // 2
    number = data.draw(st.one_of(st.integers(-half, half), st.integers(-3, 3)))
    number = data.draw(st.sampled_from([number, half - abs(number) % 5, abs(number) % 5 - half]))
    rows = residue_rows(FLAT, MODULI)
    rows.values[:n] = [number % p for p in PRIMES[:n]]
    assert _sign(MODULI, rows, n) == (number > 0) - (number < 0)


@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS), st.booleans())
def test_rows(seed: int, kind: str, relu: bool) -> None:
    """Also after changes of the pattern."""
    network = random_network(seed, kind, 2, 3, 4, relu=relu)
    flat = flatten(network, WholeSpace())
    moduli = moduli_of(flat)
    rows, exact = residue_rows(flat, moduli), NetworkMaps(network, EXACT)
    rng = np.random.default_rng(seed)
    pieces = np.zeros(flat.neurons, np.uint8)
    for _ in range(3 if len(moduli.primes) else 0):
        changed = rng.random(flat.neurons) < 0.3
        pieces[changed] = (rng.random(flat.neurons) * network.pieces).astype(np.uint8)[changed]
        _rows(flat.maps, moduli, rows, 1, network.depth, pieces)
        start, unit = exact.coordinates()
        start[:, :-1] /= EXACT.array(flat.lines.scale)
        columns, p = [start], int(moduli.primes[1])
        for layer in range(1, network.depth + 1):
            first, last = flat.maps.row_start[layer : layer + 2]
            expected = exact.before(layer, columns, unit)
            for found, number in zip(
                rows.before[1, :, first:last].T.flat, expected.flat, strict=True
            ):
                whole = Fraction(int(number.p), int(number.q)) * 2 ** int(moduli.grain[layer])
                assert whole.denominator == 1
                assert int(found) == whole.numerator % p
            part = pieces[flat.first_neuron(layer) :][: last - first]
            columns.append(exact.after(layer, expected, part, unit))
