"""Integrals over cells of all layers but the last: against rationals, and sums over regions."""

from __future__ import annotations

from fractions import Fraction
from math import factorial
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from random_networks import KINDS, random_network
from tropicell import Affine, Box, Layer, Network, Region, Regions, enumerate_regions
from tropicell.analysis import measure
from tropicell.analysis.integrals import can_be_integrated, cell_integrals
from tropicell.geometry.generators import generators, simplices, volume
from tropicell.network import activations


def without_corners(network: Network, box: Box | None = None) -> Regions:
    return enumerate_regions(network, box or Box(-1, 1), engine="halfspaces")


def exact_over(region: Region) -> list[Fraction]:
    """The integral of each output over a region: volumes of simplices times the corners' mean."""
    rows, d = list(dict.fromkeys(region.cell.rows)), region.network.n_inputs
    corners = [[Fraction(x, v[-1]) for x in v[:-1]] for v in generators(rows, d).vertices]
    homogeneous = [[*corner, 1] for corner in corners]
    on = [frozenset(np.flatnonzero(np.dot(homogeneous, row) == 0).tolist()) for row in rows]
    values = region.affine_map.matrix @ np.array(corners, dtype=object).T
    total = [Fraction(0)] * region.network.n_outputs
    for simplex in simplices(frozenset(range(len(corners))), on, d):
        first, *others = (corners[i] for i in simplex)
        edges = [[a - b for a, b in zip(other, first, strict=True)] for other in others]
        size = abs(determinant(edges)) / factorial(d)
        for k, offset in enumerate(region.affine_map.offset):
            total[k] += size * (sum(values[k, i] for i in simplex) / Fraction(d + 1) + offset)
    return total


def determinant(rows: list[list[Fraction]]) -> Fraction:
    if not rows:
        return Fraction(1)
    total = Fraction(0)
    for c, x in enumerate(rows[0]):
        if x:
            total += (-1) ** c * x * determinant([row[:c] + row[c + 1 :] for row in rows[1:]])
    return total


def over_regions(regions: Regions, **options: Any) -> np.ndarray:
    """The integral as a sum over regions."""
    with mock.patch.object(measure, "can_be_integrated", return_value=False):
        return measure.integral(regions, **options)


def scale_of(regions: Regions) -> np.ndarray:
    """What the integral of the absolute value is at most."""
    low, high = regions.domain.corners(regions.network.n_inputs)
    found = measure.extrema(regions)
    return np.prod(high - low) * np.maximum(np.abs(found.minimum), np.abs(found.maximum))


@settings(max_examples=40)
@given(
    st.integers(0, 10**6),
    st.sampled_from(KINDS),
    st.integers(3, 4),
    st.integers(1, 2),
    st.booleans(),
)
def test_against_rationals(seed: int, kind: str, inputs: int, depth: int, skip: bool) -> None:
    """Generic and degenerate networks of all kinds, with all activations, and skips."""
    network = random_network(seed, kind, inputs, depth, 3)
    if skip:  # the output reads the input and every layer
        rng = np.random.default_rng(seed)
        terms = {
            k: rng.integers(-2, 3, size=(2, width))
            for k, width in enumerate((inputs, *network.widths))
        }
        network = Network(inputs, network.layers, Affine(terms, [0.5, 0.0]))
    regions = without_corners(network)
    expected = np.sum([exact_over(region) for region in regions], axis=0).astype(float)
    found = measure.integral(regions, workers=2)
    assert (np.abs(found - expected) <= 1e-8 * scale_of(regions) + 1e-150).all()


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.sampled_from(["generic", "scaled"]), st.integers(4, 6))
def test_against_the_sum_over_regions(seed: int, kind: str, inputs: int) -> None:
    regions = without_corners(random_network(seed, kind, inputs, 2, 4))
    limit = 1e-8 * scale_of(regions) + 1e-150
    assert (np.abs(measure.integral(regions) - over_regions(regions)) <= limit).all()


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.integers(3, 6))
def test_cells_are_as_good_as_they_say(seed: int, inputs: int) -> None:
    """In general position every cell is known, with the integral of its regions."""
    regions = without_corners(random_network(seed, "generic", inputs, 2, 5))
    found = cell_integrals(regions)
    assert (found.errors <= 1e-7 * scale_of(regions)).all()
    for cell in range(min(3, len(found.values))):
        expected = over_regions(regions[found.cells == cell])
        limit = found.errors[cell] + 1e-12 * scale_of(regions)
        assert (np.abs(found.values[cell] - expected) <= limit).all()


@pytest.mark.parametrize("inputs", [3, 4, 5, 6])
def test_level_edges(inputs: int) -> None:
    """Bends along the sides of a cube are level there, so their corners say nothing: faces decide.

    ∫ max(x + … + x_k - 1/2, 0) and ∫ max(x_1 - x_2, 0) over [0, 1]^d.
    """
    first, second = np.zeros(inputs), np.zeros(inputs)
    first[:3], second[:2] = 1.0, [1.0, -1.0]
    network = Network.mlp([[first, second], np.eye(2)], [[-0.5, 0.0], [0.0, 0.0]])
    regions = without_corners(network, Box(0, 1))
    found = cell_integrals(regions)
    # without the bend 3/2 - 1/2; below it is the simplex x + y + z <= 1/2, whose mean is 3/8
    expected = [1.0 + (0.5 - 3 / 8) * 0.5**3 / 6, 1 / 6]
    np.testing.assert_allclose(found.values, [expected], rtol=1e-13)


def test_workers_do_not_change_a_bit() -> None:
    regions = without_corners(random_network(3, "generic", 5, 2, 8))
    one, three = cell_integrals(regions), cell_integrals(regions, workers=3, progress=True)
    assert (one.values == three.values).all()
    assert (measure.integral(regions) == measure.integral(regions, workers=2)).all()


def test_the_mean_needs_no_volumes() -> None:
    regions = without_corners(random_network(5, "generic", 5, 2, 6))
    with mock.patch.object(measure, "_moments", side_effect=AssertionError):
        mean = measure.mean(regions)
    np.testing.assert_allclose(mean, over_regions(regions) / 2.0**5)


def test_regions_that_are_not_all_are_summed() -> None:
    regions = without_corners(random_network(6, "generic", 5, 2, 5))
    parts = regions[: len(regions) // 2], regions[len(regions) // 2 :]
    assert not any(can_be_integrated(part) for part in parts)
    total = np.sum([measure.integral(part) for part in parts], axis=0)
    np.testing.assert_allclose(total, measure.integral(regions))


def test_cells_that_are_not_simple_are_left_to_regions() -> None:
    """Four planes through one edge of few cells: the others are integrated at once."""
    rng = np.random.default_rng(8)
    weights = [rng.normal(size=(7, 4)), rng.normal(size=(5, 7)), rng.normal(size=(2, 5))]
    biases = [rng.normal(size=7), rng.normal(size=5), np.zeros(2)]
    weights[0][2], biases[0][2] = weights[0][0] + weights[0][1], biases[0][0] + biases[0][1]
    regions = without_corners(Network.mlp(weights, biases))
    found = cell_integrals(regions)
    unknown = np.isnan(found.values).any(axis=1)
    assert 0 < unknown.sum() < len(unknown)
    limit = 1e-9 * scale_of(regions)
    assert (np.abs(measure.integral(regions) - over_regions(regions)) <= limit).all()


def test_a_slice_with_a_last_layer_that_nobody_reads() -> None:
    """The outputs read the first layer alone; the box is one of a plane in R^6."""
    rng = np.random.default_rng(9)
    layers = [
        Layer(Affine({0: rng.normal(size=(6, 4))}, rng.normal(size=6)), activations.hard_tanh()),
        Layer(Affine({1: rng.normal(size=(3, 6))}, rng.normal(size=3))),
    ]
    network = Network(4, layers, Affine({1: rng.normal(size=(2, 6))}, [1.0, 2.0]))
    regions = without_corners(network)
    limit = 1e-9 * scale_of(regions)
    assert (np.abs(measure.integral(regions) - over_regions(regions)) <= limit).all()


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(["zero_bias", "integer", "repeated", "tenths"]),
    inputs=st.integers(3, 4),
)
def test_corners_on_many_facets(seed: int, kind: str, inputs: int) -> None:
    """What the cells engine finds of degenerate networks, against rationals."""
    regions = enumerate_regions(
        random_network(seed, kind, inputs, 2, 3), Box(-1, 1), engine="cells"
    )
    expected = np.sum([exact_over(region) for region in regions], axis=0).astype(float)
    assert (np.abs(measure.integral(regions) - expected) <= 1e-9 * scale_of(regions) + 1e-150).all()
    sizes = measure.volumes(regions)
    exact = [float(volume(region.cell.rows, inputs)) for region in regions]
    np.testing.assert_allclose(sizes, exact, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("inputs", [3, 4, 5])
def test_without_biases_no_hull_is_needed(inputs: int) -> None:
    """All boundaries go through one point: kernels measure what is around it."""
    rng = np.random.default_rng(inputs)
    sizes = [(7, inputs), (6, 7), (2, 6)]
    regions = enumerate_regions(
        Network.mlp([rng.normal(size=size) for size in sizes]), Box(-1, 1), engine="cells"
    )
    with mock.patch.object(measure, "_polytope", side_effect=AssertionError):
        found = measure.integral(regions)
    # f(t x) = t f(x): the cube of half the size has 2^-(d + 1) of the integral
    half = measure.integral(enumerate_regions(regions.network, Box(-0.5, 0.5), engine="cells"))
    np.testing.assert_allclose(half * 2.0 ** (inputs + 1), found, rtol=1e-10)
    np.testing.assert_allclose(measure.volumes(regions).sum(), 2.0**inputs, rtol=1e-12)
