"""RegionLocator and LastRegionPredictor against the network and Regions.locate."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pointsets import assert_equal_to_network, slivers, telling_points
from strategies import KINDS, domains, networks, random_network
from tropicell import (
    Affine,
    Box,
    InvalidInputError,
    LastRegionPredictor,
    Layer,
    Network,
    Polytope,
    RegionLocator,
    Regions,
    Slice,
    enumerate_regions,
)
from tropicell.predict.cut_tree import CutTree


def strictly_inside(regions: Regions, index: int, point: np.ndarray) -> bool:
    """Whether a point lies in the interior of a region, in exact arithmetic."""
    rows = regions[index].inequalities
    x = np.array([Fraction(float(value)) for value in point], dtype=object)
    return all(a @ x < b or not a.any() for a, b in zip(rows.A, rows.b, strict=True))


@given(data=st.data(), network=networks(max_inputs=4))
def test_equal_to_the_network_everywhere(data: st.DataObject, network: Network) -> None:
    regions = enumerate_regions(network, data.draw(domains(network.n_inputs)))
    points = telling_points(regions)
    few = points[::5]
    where = regions.locate(few, arithmetic="exact")
    for locator in (RegionLocator(regions), LastRegionPredictor(regions)):
        assert_equal_to_network(network, points, locator.predict(points))
        one_by_one = np.array([locator.predict_one(point) for point in few])
        assert_equal_to_network(network, few, one_by_one)
        np.testing.assert_array_equal(locator.locate(few), where)


@given(networks(max_inputs=2), st.integers(0, 99))
@settings(max_examples=20)
def test_found_regions_hold_their_points(network: Network, seed: int) -> None:
    regions = enumerate_regions(network)
    points = np.random.default_rng(seed).normal(size=(5, network.n_inputs))
    for index, point in zip(RegionLocator(regions).locate(points), points, strict=True):
        assert strictly_inside(regions, int(index), point)


def test_witnesses_are_found_in_their_regions() -> None:
    regions = enumerate_regions(random_network(3, "generic", 3, 3, 6), Box(-2, 2))
    for locator in (RegionLocator(regions), LastRegionPredictor(regions)):
        np.testing.assert_array_equal(locator.locate(regions.witnesses), np.arange(len(regions)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sizes", [(2, 3, 9), (3, 3, 6), (2, 4, 6)])
def test_rows_of_a_tree_are_as_sharp_as_they_say(kind: str, sizes: tuple[int, int, int]) -> None:
    """They are made from prefix to prefix by changes; here each is made anew, in rationals."""
    network = random_network(5, kind, *sizes)
    regions = enumerate_regions(network, Box(-2, 2))
    tree = CutTree.of(regions)
    below = np.zeros(len(tree.rows), np.int64)  # a region of each node
    for node in range(len(tree.rows) - 1, -1, -1):
        child = int(tree.children[node, 0])
        below[node] = below[child] if child >= 0 else -1 - child
    points = np.array(
        [[*p, 1.0] for p in [[0.0] * sizes[0], [1.0] * sizes[0], [-3.0, 2.0, 7.0][: sizes[0]]]]
    )
    some = np.arange(0, len(tree.rows), 1 + len(tree.rows) // 100)
    maps = network.maps("exact").pre_activations(regions.packed[below[some]])
    for node, own in zip(some.tolist(), maps.transpose(1, 0, 2), strict=True):
        boundary = regions.lines.boundary(int(tree.lines[node]))
        neuron = sum(network.widths[: boundary.layer - 1]) + boundary.neuron
        row = np.array([Fraction(str(value)) for value in own[neuron]], dtype=object)
        bend = network.layers[boundary.layer - 1].activation.breakpoints
        row[-1] -= Fraction(float(bend[boundary.neuron, boundary.breakpoint]))
        largest = int(np.abs(tree.rows[node]).argmax())
        shift = round(np.log2(tree.rows[node, largest] / float(row[largest])))
        for point in points:
            exact = sum(Fraction(x) * a for x, a in zip(point.tolist(), row, strict=True))
            error = abs(exact * Fraction(2) ** shift - Fraction(float(tree.rows[node] @ point)))
            assert error < np.abs(point).max()


def test_slivers_between_nearly_equal_boundaries() -> None:
    network, points = slivers()
    regions = enumerate_regions(network, Box(-10, 10))
    for locator in (RegionLocator(regions), LastRegionPredictor(regions)):
        assert_equal_to_network(network, points, locator.predict(points))
        np.testing.assert_array_equal(
            locator.locate(points), regions.locate(points, arithmetic="exact")
        )


@pytest.mark.parametrize("kind", KINDS)
def test_paths_are_walked(kind: str) -> None:
    network = random_network(7, kind, 2, 3, 6)
    predictor = LastRegionPredictor(enumerate_regions(network, Box(-2, 2)))
    angle = np.linspace(0, 6, 400)
    path = np.stack([np.cos(angle), 1.5 * np.sin(3 * angle)], axis=1)
    assert_equal_to_network(network, path, predictor.predict(path))
    assert predictor.walked + predictor.searched == len(path)
    assert predictor.walked > 200
    assert predictor.last == predictor.regions.locate(path[-1:])[0]
    predictor.reset()
    assert (predictor.last, predictor.walked, predictor.searched) == (-1, 0, 0)


def test_walking_gives_up_after_its_steps() -> None:
    network = Network.mlp([np.ones((40, 1)), np.ones((1, 40))], [-np.arange(40.0), [0.0]])
    predictor = LastRegionPredictor(enumerate_regions(network), steps=5)
    predictor.predict([[0.5], [3.5], [39.5], [38.5]])
    assert (predictor.walked, predictor.searched) == (2, 2)


def test_the_last_region_is_not_lost_outside() -> None:
    network = Network.mlp([[[1.0]], [[1.0]]])
    predictor = LastRegionPredictor(enumerate_regions(network, Box(-1, 1)))
    right = int(predictor.regions.locate([[0.5]])[0])
    assert predictor.locate([[0.5], [7.0], [0.5]]).tolist() == [right, -1, right]
    assert (predictor.walked, predictor.searched) == (2, 1)


def test_outside_of_the_domain() -> None:
    network = random_network(1, "generic", 2, 2, 4)
    regions = enumerate_regions(network, Polytope([[1.0, 1.0], [-1, 0], [0, -1]], [1, 0, 0]))
    points = np.array([[0.2, 0.2], [2.0, 2.0], [0.5, 0.5]])
    np.testing.assert_array_equal(RegionLocator(regions).locate(points) >= 0, [True, False, True])
    np.testing.assert_allclose(RegionLocator(regions).predict(points), network(points))
    missing = np.isnan(RegionLocator(regions, outside="nan").predict(points)).any(axis=1)
    np.testing.assert_array_equal(missing, [False, True, False])
    strict = RegionLocator(regions, outside="error")
    with pytest.raises(InvalidInputError, match=r"point 1, \[2.0, 2.0\], lies outside"):
        strict.predict(points)
    with pytest.raises(InvalidInputError, match="outside"):
        strict.predict_one(points[1])


def test_infinite_and_missing_coordinates() -> None:
    network = random_network(1, "generic", 2, 2, 4)
    locator = RegionLocator(enumerate_regions(network))
    points = np.array([[np.nan, 0.0], [np.inf, 0.0], [1e300, -1e300], [0.3, 0.1]])
    np.testing.assert_array_equal(locator.locate(points)[[0, 1]], [-1, -1])
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(locator.predict(points), network(points))


def test_large_batches_are_shared_by_threads() -> None:
    network = random_network(5, "generic", 2, 3, 8)
    locator = RegionLocator(enumerate_regions(network, Box(-1, 1)))
    points = np.random.default_rng(0).uniform(-1.2, 1.2, size=(50_001, 2))
    values = locator.predict(points, workers=3)
    np.testing.assert_array_equal(values, locator.predict(points, workers=1))
    assert_equal_to_network(network, points, values)
    np.testing.assert_array_equal(locator.locate(points, workers=3), locator.regions.locate(points))


def test_slices() -> None:
    network = random_network(2, "generic", 4, 2, 5)
    plane = Slice([0.5, 0, 0, 1], [[1, 0, 1, 0], [0, 1, 0, 1]], Box(-1, 1))
    regions = enumerate_regions(network, plane)
    points = telling_points(regions)
    values = RegionLocator(regions).predict(points)
    assert_equal_to_network(regions.network, points, values)
    np.testing.assert_allclose(values, network(plane.embed(points)), rtol=1e-9, atol=1e-12)


def test_one_region_and_bias_only() -> None:
    regions = enumerate_regions(Network(2, [], Affine({0: [[1.0, 2.0]]}, [3.0])))
    assert RegionLocator(regions).predict_one([1.0, 1.0]) == pytest.approx([6.0])
    constant = Network(1, [Layer(Affine({}, [1.0]))], Affine({1: [[2.0]]}))
    for kind in (RegionLocator, LastRegionPredictor):
        assert kind(enumerate_regions(constant)).predict([[5.0]]).tolist() == [[2.0]]


def test_weights_make_regions_quick_to_find() -> None:
    network = Network.mlp([np.ones((64, 1)), np.ones((1, 64))], [-np.arange(64.0), [0.0]])
    regions = enumerate_regions(network)
    wanted = int(regions.locate([[10.5]])[0])
    weights = np.zeros(len(regions))
    weights[wanted] = 1.0
    plain, weighted = RegionLocator(regions), RegionLocator(regions, weights=weights)
    assert plain.tree.levels <= 7
    children = weighted.tree.children
    assert -1 - wanted in children[: 2 + 1]  # found by the first tests
    np.testing.assert_array_equal(weighted.locate(regions.witnesses), np.arange(len(regions)))


def test_memory_is_what_the_documentation_says() -> None:
    regions = enumerate_regions(random_network(5, "generic", 2, 3, 8, relu=True), Box(-1, 1))
    locator = RegionLocator(regions)
    outputs = regions.network.n_outputs
    assert locator.nbytes == pytest.approx(8 * (4 + 3 * outputs) * len(regions), rel=0.05, abs=64)
    assert LastRegionPredictor(regions).nbytes > locator.nbytes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"outside": "zero"}, "outside must be"),
        ({"weights": [1.0]}, "weights must be"),
        ({"weights": [-1.0, 1.0]}, "weights must be"),
    ],
)
def test_bad_options(options: dict, message: str) -> None:
    regions = enumerate_regions(Network.mlp([[[1.0]], [[1.0]]]))
    with pytest.raises(InvalidInputError, match=message):
        RegionLocator(regions, **options)


def test_bad_regions_and_points() -> None:
    network = random_network(5, "generic", 2, 3, 8)
    with pytest.raises(InvalidInputError, match="not complete"):
        RegionLocator(enumerate_regions(network, max_regions=3))
    locator = RegionLocator(enumerate_regions(network))
    with pytest.raises(InvalidInputError, match="expected points of shape"):
        locator.predict([[1.0, 2.0, 3.0]])
    with pytest.raises(InvalidInputError, match="expected points of shape"):
        locator.predict_one([1.0, 2.0, 3.0])
    with pytest.raises(InvalidInputError, match="steps"):
        LastRegionPredictor(locator.regions, steps=-1)
