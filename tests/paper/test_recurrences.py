"""The tropical map is the network, exactly, and so are the affine maps of patterns."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import networks, random_network
from tropicell import Network, TropicalRationalMap, find_region, recurrences
from tropicell.geometry.arithmetic import to_fractions, to_rationals


def random_points(network: Network, seed: int, count: int = 5) -> np.ndarray:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(count, network.n_inputs)) * 3
    points[0] = 0  # where zero-bias networks bend
    return points


@given(networks(), st.integers(0, 99))
def test_tropical_map_equals_the_network_exactly(network: Network, seed: int) -> None:
    points = random_points(network, seed)
    tropical = TropicalRationalMap(network)
    assert (tropical(points) == network.evaluate(points)).all()


@given(networks(), st.integers(0, 99))
def test_numerator_and_denominator_are_convex(network: Network, seed: int) -> None:
    points = to_fractions(to_rationals(random_points(network, seed, 6)))
    a, b = points[::2], points[1::2]
    tropical = TropicalRationalMap(network)
    for part in (tropical.numerator, tropical.denominator):
        assert (2 * part((a + b) / 2) <= part(a) + part(b)).all()


@given(networks(), st.integers(0, 99))
def test_affine_map_of_a_points_pattern_reproduces_the_output(network: Network, seed: int) -> None:
    points = random_points(network, seed)
    exact_points = to_fractions(to_rationals(points))
    outputs = network.evaluate(points)
    for point, pattern, output in zip(
        exact_points, network.patterns(points, arithmetic="exact"), outputs, strict=True
    ):
        assert (network.affine_map(pattern)(point) == output).all()
        close = network.affine_map(pattern, arithmetic="float")(point.astype(float))
        scale = 1 + np.abs(output.astype(float)).max()
        np.testing.assert_allclose(close, output.astype(float), rtol=1e-9, atol=1e-9 * scale)


@given(networks(relu=True), st.integers(0, 99))
def test_float_evaluation_is_close_to_exact(network: Network, seed: int) -> None:
    points = random_points(network, seed)
    exact = network.evaluate(points).astype(float)
    np.testing.assert_allclose(
        network(points), exact, rtol=1e-9, atol=1e-9 * (1 + abs(exact).max())
    )


@given(networks(), st.integers(0, 99))
def test_both_forms_of_the_recurrences_give_the_same_layers(network: Network, seed: int) -> None:
    pattern = network.patterns(random_points(network, seed, 1))[0]
    paper = recurrences(network, pattern, form="paper")
    polynomial = recurrences(network, pattern, form="polynomial")
    for p, q in zip(paper, polynomial, strict=True):
        assert (p.H - p.G == q.H - q.G).all()
        assert (p.F - p.G_after == q.F - q.G_after).all()


@given(networks(max_depth=2), st.integers(0, 99))
def test_find_region_says_empty_where_the_prefix_is(network: Network, seed: int) -> None:
    """The layer of an empty region: the first one whose prefix has no region."""
    rng = np.random.default_rng(seed)
    pattern = rng.integers(0, network.pieces, dtype=np.intp)
    region = find_region(network, pattern)
    if region:
        return
    ends = np.cumsum([0, *network.widths])
    for layer in range(region.layer + 1):
        shorter = Network(network.n_inputs, network.layers[:layer], network.layers[0].affine)
        prefix = find_region(shorter, pattern[: ends[layer]])
        assert bool(prefix) == (layer < region.layer)


def test_plain_relu_layers_leave_the_denominator_alone() -> None:
    network = random_network(0, "generic", 2, 3, 3, relu=True)
    for layer in recurrences(network, [0] * network.n_neurons):
        assert layer.G_after.tolist() == layer.G.tolist()


def test_skip_recurrence_as_printed() -> None:
    """Section 4 of the paper: G(3) and H(3) of a network with the skip 1→3, written out."""
    rng = np.random.default_rng(1)
    W = [rng.integers(-3, 4, size=(2, 2)).astype(float) for _ in range(3)]
    b = [rng.integers(-3, 4, size=2).astype(float) for _ in range(3)]
    network = Network.mlp([*W, [[1.0, 1.0]]], [*b, [0.0]], skips=[(1, 3)])
    one, two, three = recurrences(network, "10|01|11", arithmetic="float")
    plus, minus = np.maximum(W[2], 0), np.maximum(-W[2], 0)
    nu_A, nu_b = one.F_A - one.G_A, one.f_b - one.g_b
    np.testing.assert_array_equal(three.G_A, plus @ two.G_A + minus @ two.F_A + minus @ nu_A)
    np.testing.assert_array_equal(three.H_A, plus @ two.F_A + minus @ two.G_A + plus @ nu_A)
    np.testing.assert_array_equal(three.g_b, plus @ two.g_b + minus @ two.f_b + minus @ nu_b)
    np.testing.assert_array_equal(three.h_b, plus @ two.f_b + minus @ two.g_b + plus @ nu_b + b[2])


def test_float_tropical_map_loses_digits_where_exact_does_not() -> None:
    """Why inequalities are not computed from F and G in float64."""
    rng = np.random.default_rng(0)
    network = Network.mlp([rng.normal(size=(8, 8)) for _ in range(12)])
    points = rng.normal(size=(3, 8))
    exact = TropicalRationalMap(network)(points)
    assert (exact == network.evaluate(points)).all()
    rounded = TropicalRationalMap(network, arithmetic="float")(points)
    direct = np.abs(network(points) - exact.astype(float)).max()
    assert np.abs(rounded - exact.astype(float)).max() > 10 * direct


def test_exact_values_are_fractions() -> None:
    network = random_network(3, "generic", 2, 2, 2)
    value = TropicalRationalMap(network)([[0.1, 0.2]])[0, 0]
    assert isinstance(value, Fraction)


@pytest.mark.parametrize("form", ["", "Paper"])
def test_unknown_form_is_refused(form: str) -> None:
    with pytest.raises(ValueError, match="form must be"):
        recurrences(random_network(0, "generic", 2, 1, 2), "00", form=form)
