"""Piecewise-linear functions against their definitions, in floats and in rationals."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tropicell import InvalidNetworkError
from tropicell.network import activations

Z = np.concatenate([np.linspace(-8, 8, 65), [0.0, 1e-300, -1e-300]])[:, None]

DEFINITIONS = {
    "relu": (activations.relu(), lambda z: np.maximum(z, 0)),
    "leaky_relu": (activations.leaky_relu(0.2), lambda z: np.where(z > 0, z, 0.2 * z)),
    "prelu": (activations.prelu([-0.5]), lambda z: np.where(z > 0, z, -0.5 * z)),
    "clip": (activations.clip(-2, 3), lambda z: np.clip(z, -2, 3)),
    "clip_below": (activations.clip(low=-2), lambda z: np.maximum(z, -2)),
    "clip_above": (activations.clip(high=3), lambda z: np.minimum(z, 3)),
    "constant": (activations.clip(2, 2), lambda z: np.full_like(z, 2)),
    "hard_tanh": (activations.hard_tanh(), lambda z: np.clip(z, -1, 1)),
    "relu6": (activations.relu6(), lambda z: np.clip(z, 0, 6)),
    "abs": (activations.absolute(), np.abs),
    "hard_sigmoid": (activations.hard_sigmoid(), lambda z: np.clip(z / 6 + 0.5, 0, 1)),
    "soft_shrink": (
        activations.soft_shrink(0.5),
        lambda z: np.sign(z) * np.maximum(np.abs(z) - 0.5, 0),
    ),
    "no_shrink": (activations.soft_shrink(0), lambda z: z),
    "identity": (activations.identity(), lambda z: z),
}


@pytest.mark.parametrize("name", DEFINITIONS)
def test_values_are_those_of_the_definition(name: str) -> None:
    activation, definition = DEFINITIONS[name]
    np.testing.assert_allclose(activation(Z), definition(Z), rtol=1e-15, atol=1e-15)


@pytest.mark.parametrize("name", DEFINITIONS)
def test_exact_pieces_are_continuous_and_close_to_the_floats(name: str) -> None:
    activation, _ = DEFINITIONS[name]
    breakpoints, slopes, intercepts = activation.exact_row(0)
    for i, t in enumerate(breakpoints):
        assert slopes[i] * t + intercepts[i] == slopes[i + 1] * t + intercepts[i + 1]
        assert slopes[i] != slopes[i + 1]
    assert [float(c) for c in intercepts] == activation.intercepts[0].tolist()


def test_the_boundary_belongs_to_the_lower_piece() -> None:
    assert activations.relu().pattern(np.array([[0.0]])).tolist() == [[0]]
    assert activations.hard_tanh().pattern(np.array([[-1.0], [1.0], [1.5]])).tolist() == [
        [0],
        [1],
        [2],
    ]


def test_bends_that_bend_nothing_are_dropped() -> None:
    assert activations.leaky_relu(1.0).pieces.tolist() == [1]
    mixed = activations.prelu([0.5, 1.0])
    assert mixed.pieces.tolist() == [2, 1]
    assert mixed.pattern(np.array([[3.0, 3.0]])).tolist() == [[1, 0]]


@given(
    st.lists(st.integers(-20, 20), min_size=1, max_size=5, unique=True),
    st.lists(st.integers(-3, 3), min_size=6, max_size=6),
)
def test_any_function_evaluates_piece_by_piece(bends: list[int], slopes: list[int]) -> None:
    """Against the sum s_0 z + c + Σ δ_j relu(z - t_j) that the tropical form uses."""
    t = sorted(bends)
    s = slopes[: len(t) + 1]
    c = [5]
    for j, bend in enumerate(t):
        c.append(c[-1] + (s[j] - s[j + 1]) * bend)
    activation = activations.piecewise(t, s, c)
    z = np.arange(-25, 26, dtype=float)[:, None]
    expected = s[0] * z + 5
    for j, bend in enumerate(t):
        expected = expected + (s[j + 1] - s[j]) * np.maximum(z - bend, 0)
    np.testing.assert_array_equal(activation(z), expected)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.0], [0.0, 1.0], [0.0, 1.0]), "jumps from 0.0 to 1.0 at 0.0"),
        (([1.0, 0.0], [0, 1, 0], [0, 0, 1]), "must increase"),
        (([0.0], [0.0, np.nan], [0.0, 0.0]), "not a finite number"),
        (([0.0], [0.0], [0.0]), "expected breakpoints of shape"),
        ((np.arange(300.0), np.zeros(301), np.zeros(301)), "at most 256"),
    ],
)
def test_what_is_no_activation_is_refused(arguments: tuple, message: str) -> None:
    with pytest.raises(InvalidNetworkError, match=message):
        activations.piecewise(*arguments)


def test_bad_parameters_are_refused() -> None:
    with pytest.raises(InvalidNetworkError, match="low <= high"):
        activations.clip(3, 2)
    with pytest.raises(InvalidNetworkError, match="positive slope"):
        activations.hard_sigmoid(slope=0)
    with pytest.raises(InvalidNetworkError, match="threshold"):
        activations.soft_shrink(-1)
    with pytest.raises(InvalidNetworkError, match="for 2 neurons, but its layer has 3"):
        activations.prelu([1, 2]).expand(3)


def test_hard_sigmoid_is_continuous_although_a_sixth_is_not_a_float() -> None:
    breakpoints, slopes, intercepts = activations.hard_sigmoid().exact_row(0)
    assert slopes[1] == Fraction(1 / 6)
    assert intercepts[2] == 6 * Fraction(1 / 6) != 1
    assert breakpoints == [-3, 3]
