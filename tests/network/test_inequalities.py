"""Lines that are the same on every cell."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tropicell import Box, Network, Polytope, count_regions
from tropicell.network.activations import piecewise
from tropicell.network.inequalities import twin_lines
from tropicell.network.layers import Affine, Layer

FLOATS = st.one_of(
    st.integers(-6, 6).map(float),
    st.floats(-4, 4, allow_subnormal=False),
    st.sampled_from([1e-300, 1e300, 5e-324, 0.1, -0.0]),
)
FACTORS = st.sampled_from([1.0, -1.0, 2.0, -0.5, 0.25, 1024.0, 3.0, -1.5])


def proportional(one: list[float], other: list[float]) -> bool:
    """Whether the one is the other times a factor other than 0, in rationals."""
    a, b = [Fraction(x) for x in one], [Fraction(x) for x in other]
    if any(a) != any(b):
        return False
    return all(x * v == y * u for x, y in zip(a, b, strict=True) for u, v in zip(a, b, strict=True))


@given(
    rows=st.lists(st.lists(FLOATS, min_size=3, max_size=3), min_size=1, max_size=4), data=st.data()
)
def test_twins_are_multiples(rows: list[list[float]], data: st.DataObject) -> None:
    """All that is said is true; and powers of two, and small integers, are all found."""
    row = data.draw(st.sampled_from(rows))
    factor = data.draw(FACTORS)
    rows = [*rows, [factor * x for x in row]]
    weights = np.array([row[:2] for row in rows])
    network = Network.mlp([weights, np.ones((1, len(rows)))], [[row[2] for row in rows], [0.0]])
    twins = twin_lines(network).tolist()
    for i, first in enumerate(twins):
        assert first <= i
        assert twins[first] == first
        assert proportional(rows[i], rows[first])
        for k in range(i):
            small = all(x == int(x) and abs(x) < 100 for x in rows[i] + rows[k])
            if small and proportional(rows[i], rows[k]):
                assert first == twins[k]
    if abs(factor) in (1.0, 2.0, 0.5, 0.25) and all(x == 0 or abs(x) > 1e-290 for x in row):
        assert twins[-1] == twins[rows.index(row)]


def test_breakpoints_belong_to_lines() -> None:
    """A neuron with twice the weights, bias and breakpoints has the same lines."""
    tanh = piecewise(
        [[-1.0, 1.0], [-2.0, 2.0], [-1.0, 1.0]],
        [[0.0, 1.0, 0.0]] * 3,
        [[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]],
    )
    affine = Affine({0: [[1.0, 3.0], [2.0, 6.0], [2.0, 6.0]]}, [0.5, 1.0, 1.0])
    network = Network(2, [Layer(affine, tanh)], Affine({1: np.ones((1, 3))}))
    assert twin_lines(network).tolist() == [0, 1, 0, 1, 4, 5]
    assert count_regions(network, Box(-3, 3)) == 5


@pytest.mark.parametrize("factor", [2.0, -0.5, 3.0, -4.0])
def test_regions_of_multiples(factor: float) -> None:
    """Multiples of neurons, layer by layer, add no regions."""
    rng = np.random.default_rng(5)
    weights, biases, more_weights, more_biases = [], [], [], []
    width = 2
    for _ in range(3):
        w, b = rng.integers(-3, 4, (4, width)).astype(float), rng.integers(-2, 3, 4).astype(float)
        weights.append(w)
        biases.append(b)
        # Its multiple is read by nobody, so that the function is the same.
        read = np.hstack([w, np.zeros((4, w.shape[1] if more_weights else 0))])
        more_weights.append(np.vstack([read, factor * read]))
        more_biases.append(np.concatenate([b, factor * b]))
        width = 4
    domain = Polytope([[-1.0, 0.0], [0.0, -1.0], [1.0, 1.0]], [2.0, 2.0, 3.0])
    network = Network.mlp([*weights, np.ones((1, 4))], [*biases, [0.0]])
    doubled = Network.mlp(
        [*more_weights, np.hstack([np.ones((1, 4)), np.zeros((1, 4))])], [*more_biases, [0.0]]
    )
    assert count_regions(doubled, domain) == count_regions(network, domain)
    assert count_regions(doubled) == count_regions(network)
