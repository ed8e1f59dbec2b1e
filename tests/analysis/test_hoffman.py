"""Hoffman constants bound distances, and every region meets the box of the effective radius."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from strategies import networks
from tropicell import InvalidInputError, Network, TropicalPolynomial
from tropicell.analysis.hoffman import effective_radius, hoffman_constant

FEW = settings(max_examples=max(1, settings().max_examples // 4))


def distance(A: np.ndarray, b: np.ndarray, x: np.ndarray) -> float | None:
    """How far x is from ``A y <= b``, by a linear program; None if that is empty."""
    n = A.shape[1]
    rows = np.block(
        [[A, np.zeros((len(A), 1))], [np.eye(n), -np.ones((n, 1))], [-np.eye(n), -np.ones((n, 1))]]
    )
    found = linprog(
        np.append(np.zeros(n), 1.0), rows, np.concatenate([b, x, -x]), bounds=(None, None)
    )
    return float(found.fun) if found.status == 0 else None


@FEW
@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.integers(1, 4))
def test_no_point_is_farther_away(seed: int, columns: int, rows: int) -> None:
    rng = np.random.default_rng(seed)
    A = rng.integers(-3, 4, size=(rows, columns)).astype(float)
    constant = float(hoffman_constant(A))
    for _ in range(5):
        b, x = rng.normal(size=rows), 3 * rng.normal(size=columns)
        far = distance(A, b, x)
        if far is not None:
            assert far <= constant * max(0.0, float((A @ x - b).max())) + 1e-7


def test_the_constant_is_attained() -> None:
    """For [[1, 0], [-1, -1]] and x = 0: y1 <= -1 and -y1 - y2 <= -1 is 2 away."""
    assert distance(
        np.array([[1.0, 0.0], [-1.0, -1.0]]), -np.ones(2), np.zeros(2)
    ) == pytest.approx(2)
    assert hoffman_constant([[1, 0], [-1, -1]]) == 2
    assert hoffman_constant([[0, 0]]) == 0


def test_values_of_tropicalnn() -> None:
    """What the tests of TropicalNN.jl expect; its `prune` is our `reduced`."""
    simplex = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert hoffman_constant(simplex) == 1
    assert hoffman_constant([*simplex, [-1, -1, -1]]) == 3
    assert hoffman_constant([*simplex, [-1, 0, 0], [0, -1, 0], [0, 0, -1]]) == 1
    one = TropicalPolynomial([0], [[0, 0]])
    assert (hoffman_constant(one), effective_radius(one)) == (0, 0)
    bent = TropicalPolynomial([0, -1, 0], [[0], [1], [2]])  # x - 1 is never larger than max(0, 2x)
    assert (hoffman_constant(bent), effective_radius(bent)) == (Fraction(1, 2), 0)


@FEW
@given(networks(max_inputs=2, max_depth=1, max_width=3))
def test_every_region_meets_the_box(network: Network) -> None:
    fraction = network.tropical().output[0]
    radius = effective_radius(fraction)
    n = network.n_inputs
    both, _ = fraction.pieces()
    for k, own in enumerate(both.exponents):
        # Some point of the box is in the cell: exactly, by the other monomials being no larger.
        A = (both.exponents - own).astype(float)
        b = (both.coefficients[k] - both.coefficients).astype(float)
        far = distance(A, b, np.zeros(n))
        assert far is not None
        assert far <= float(radius) * (1 + 1e-9) + 1e-9


def test_sizes_are_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(InvalidInputError, match="linear programs, more than"):
        hoffman_constant(rng.normal(size=(60, 6)))
    with pytest.raises(InvalidInputError, match="matrix of finite numbers"):
        hoffman_constant([["a"]])
    with pytest.raises(InvalidInputError, match="matrix of finite numbers"):
        hoffman_constant([[float("nan")]])
    with pytest.raises(InvalidInputError, match="polynomial or fraction, got NoneType"):
        effective_radius(None)
    with pytest.raises(InvalidInputError, match="expected a matrix"):
        hoffman_constant([1.0, 2.0])
    constant = TropicalPolynomial([Fraction(1, 3)], [[0, 0]])
    assert effective_radius(constant) == 0
