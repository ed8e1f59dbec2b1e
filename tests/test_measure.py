"""Exact answers from regions, against dense sampling and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import networks, random_network
from tropicell import (
    Box,
    InvalidInputError,
    InvalidNetworkError,
    Network,
    Slice,
    compare,
    enumerate_regions,
    measure,
    output_maps,
)
from tropicell.comparison import difference


def sample(network: Network, count: int = 400) -> np.ndarray:
    return np.random.default_rng(0).uniform(-1, 1, size=(count, network.n_inputs))


@given(networks(max_depth=2))
def test_volumes_add_up_to_the_box(network: Network) -> None:
    regions = enumerate_regions(network, Box(-1, 1))
    assert regions.bounded.all()
    np.testing.assert_allclose(regions.volumes.sum(), 2.0**network.n_inputs, rtol=1e-9)
    again = measure.volumes(regions, workers=2)
    np.testing.assert_allclose(again, regions.volumes, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("inputs", [2, 4])
def test_threads_give_the_same_columns(inputs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "_AT_ONCE", 7)
    monkeypatch.setattr(output_maps, "_PART", 7)
    network = random_network(3, "generic", inputs, 2, 8)
    alone, together = (enumerate_regions(network, Box(-1, 1)) for _ in range(2))
    together.prepare(workers=3)
    assert {"affine_maps", "volumes"} <= vars(together).keys()
    assert (alone.affine_maps == together.affine_maps).all()
    assert (alone.volumes == together.volumes).all()
    assert (measure.volumes(alone, workers=2) == measure.volumes(alone)).all()
    assert len(alone) > 20
    with pytest.raises(InvalidInputError, match="affine_maps, volumes, not 'area'"):
        alone.prepare(["area"])
    with pytest.raises(InvalidInputError, match="workers"):
        measure.volumes(alone, workers=0)


@pytest.mark.parametrize("engine", ["cells", "halfspaces"])
@pytest.mark.parametrize("kind", ["generic", "integer", "zero_bias"])
def test_volumes_in_more_dimensions(kind: str, engine: str) -> None:
    """Two ways: facets and corners of the cells engine, and hulls of corners alone."""
    network = random_network(1, kind, 4, 2, 4)
    regions = enumerate_regions(network, Box(-1, 1), engine=engine)
    hulls, _ = measure._moments(regions)
    np.testing.assert_allclose(measure.volumes(regions, workers=2), hulls, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(regions.volumes.sum(), 16.0, rtol=1e-12)
    # A part of them is measured by its corners: the cells engine would find all.
    some = enumerate_regions(network, Box(-1, 1), engine=engine, max_regions=3)
    assert not some.complete
    rows = regions.packed.find(some.patterns)
    np.testing.assert_allclose(some.volumes, hulls[rows], rtol=1e-9)


def test_volumes_of_unbounded_regions() -> None:
    regions = enumerate_regions(random_network(0, "generic", 4, 1, 6))
    assert (np.isinf(regions.volumes) == ~regions.bounded).all()
    assert regions.bounded.any()


@given(networks(max_depth=2))
def test_extrema_bound_every_sample_and_are_attained(network: Network) -> None:
    found = measure.extrema(enumerate_regions(network, Box(-1, 1)))
    values = network(sample(network))
    slack = 1e-9 * (1 + np.abs(found.maximum) + np.abs(found.minimum))
    assert (values <= found.maximum + slack).all()
    assert (values >= found.minimum - slack).all()
    for k in range(network.n_outputs):
        np.testing.assert_allclose(
            network(found.argmax[k : k + 1])[0, k], found.maximum[k], atol=slack[k], rtol=1e-9
        )
        np.testing.assert_allclose(
            network(found.argmin[k : k + 1])[0, k], found.minimum[k], atol=slack[k], rtol=1e-9
        )


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
@settings(max_examples=30)
@given(network=networks(max_depth=2), seed=st.integers(0, 99))
def test_lipschitz_constant_bounds_every_slope_and_is_attained(
    norm: str, network: Network, seed: int
) -> None:
    regions = enumerate_regions(network, Box(-1, 1))
    constant, region = measure.lipschitz(regions, norm)
    order = {"l1": 1, "l2": 2, "linf": np.inf}[norm]
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(-1, 1, size=(2, 200, network.n_inputs))
    rise = np.linalg.norm(network(a) - network(b), ord=order, axis=1)
    run = np.linalg.norm(a - b, ord=order, axis=1)
    assert (rise <= constant * run * (1 + 1e-9) + 1e-9 * (1 + abs(network(a)).max())).all()
    exact = np.linalg.norm(regions[region].affine_map.matrix.astype(float), ord=order)
    np.testing.assert_allclose(constant, exact, rtol=1e-9, atol=1e-300)


@given(networks(max_inputs=2, max_depth=2))
def test_integral_agrees_with_a_fine_grid(network: Network) -> None:
    regions = enumerate_regions(network, Box(-1, 1))
    n = {1: 4000, 2: 200}[network.n_inputs]
    axis = (np.arange(n) + 0.5) * 2 / n - 1
    grid = np.stack(np.meshgrid(*[axis] * network.n_inputs, indexing="ij"), axis=-1)
    values = network(grid.reshape(-1, network.n_inputs))
    steepness = measure.lipschitz(regions, "linf")[0]
    np.testing.assert_allclose(
        measure.mean(regions), values.mean(axis=0), atol=2 * steepness / n + 1e-9, rtol=1e-9
    )


def test_integral_in_three_dimensions() -> None:
    """relu(x + y + z) over [0, 1]³ is its integral without the relu: 3/2."""
    network = Network.mlp([[[1.0, 1.0, 1.0], [1.0, -1.0, 0.0]], [[1.0, 0.0]]])
    np.testing.assert_allclose(measure.integral(enumerate_regions(network, Box(0, 1))), [1.5])


@settings(max_examples=30)
@given(networks(max_depth=2))
def test_decision_boundary_is_where_outputs_are_equal(network: Network) -> None:
    regions = enumerate_regions(network, Box(-1, 1))
    scale = 1 + np.abs(network(sample(network))).max()
    for piece in measure.decision_boundary(regions):
        values = network(piece)
        np.testing.assert_allclose(values[:, 0], values[:, 1], atol=1e-7 * scale)
    signs = np.sign(np.diff(network(sample(network)), axis=1))
    if len(np.unique(signs)) == 2 and 0 not in signs:
        assert measure.decision_boundary(regions)


def test_decision_boundary_of_a_square() -> None:
    """|x| + |y| = 1 on [-2, 2]²: four segments of length √2."""
    weights = [[1.0, 0], [-1, 0], [0, 1], [0, -1]]
    network = Network.mlp([weights, [[1, 1, 1, 1], [0, 0, 0, 0]]], [[0] * 4, [0, 1]])
    segments = measure.decision_boundary(enumerate_regions(network, Box(-2, 2)))
    lengths = [np.linalg.norm(b - a) for a, b in segments]
    np.testing.assert_allclose(lengths, [np.sqrt(2)] * 4)


def test_unbounded_domains() -> None:
    network = Network.mlp([[[1.0], [-1.0]], [[1.0, 1.0]]])  # |x|
    regions = enumerate_regions(network)
    assert regions.volumes.tolist() == [np.inf, np.inf]
    found = measure.extrema(regions)
    assert (found.minimum[0], found.maximum[0]) == (0.0, np.inf)
    assert np.isnan(found.argmax).all()
    with pytest.raises(InvalidInputError, match="unbounded"):
        measure.integral(regions)
    with pytest.raises(InvalidInputError, match="unbounded"):
        measure.decision_boundary(regions, 0, 0)


@settings(max_examples=30)
@given(networks(max_inputs=2, max_depth=2), st.integers(0, 99))
def test_largest_difference_of_two_networks(network: Network, seed: int) -> None:
    other = random_network(seed, "generic", network.n_inputs, 1, 3)
    found = compare(network, other, Box(-1, 1))
    points = sample(network)
    gap = np.abs(network(points) - other(points)).max()
    assert gap <= found.largest * (1 + 1e-9) + 1e-9
    at = found.point[None]
    here = np.abs(network(at) - other(at))[0, found.output]
    np.testing.assert_allclose(here, found.largest, rtol=1e-9, atol=1e-9 * (1 + found.largest))


def test_a_pruned_network_differs_by_what_was_pruned() -> None:
    network = random_network(1, "generic", 2, 2, 4, relu=True)
    assert compare(network, network, Box(-1, 1)).largest < 1e-15
    plane = Slice([0.0, 0.0], [[1.0, 1.0]], Box(-1, 1))
    assert compare(network, network, plane).largest < 1e-15


def test_a_difference_of_rounding_errors_is_not_unbounded() -> None:
    network = random_network(1, "generic", 2, 2, 4, relu=True)
    assert compare(network, network).largest < 1e-12
    assert compare(network, random_network(2, "generic", 2, 2, 4, relu=True)).largest == np.inf


def test_networks_that_do_not_fit_are_not_compared() -> None:
    with pytest.raises(InvalidNetworkError, match="can't be compared"):
        difference(Network.mlp([np.eye(2)]), Network.mlp([np.eye(3)]))
