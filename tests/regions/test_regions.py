"""Region: views of one region, exact and in float64."""

from __future__ import annotations

import pickle
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pointsets import telling_points
from strategies import domains, networks, random_network
from tropicell import (
    Ball,
    Box,
    EmptyRegion,
    InvalidInputError,
    InvalidPatternError,
    Network,
    Polytope,
    Region,
    enumerate_regions,
    find_region,
    time_limit,
)
from tropicell.errors import TimeLimitError, TropicellError, require
from tropicell.geometry import containment
from tropicell.geometry.arithmetic import to_fractions, to_rationals
from tropicell.network.patterns import from_paper_v, paper_v
from tropicell.regions import region as region_module
from tropicell.regions import regions as regions_module


@given(networks(), st.integers(0, 99))
def test_float_regions_are_exact_ones_rounded(network: Network, seed: int) -> None:
    regions = enumerate_regions(network, Box(-1, 1))
    index = seed % len(regions)
    exact = regions[index]
    rounded = find_region(network, exact.pattern, Box(-1, 1), arithmetic="float")
    if isinstance(rounded, EmptyRegion) or not rounded.certain:
        return  # too small for float64 to tell, and it says so
    scale = np.abs(exact.inequalities.A.astype(float)).max(initial=1.0)
    np.testing.assert_allclose(
        rounded.inequalities.A, exact.inequalities.A.astype(float), atol=1e-9 * scale
    )
    np.testing.assert_allclose(
        rounded.affine_map.matrix, exact.affine_map.matrix.astype(float), rtol=1e-6, atol=1e-6
    )
    assert exact.contains([rounded.witness]).all()


@given(networks(), st.integers(0, 99))
def test_float_arithmetic_is_never_sure_of_a_wrong_answer(network: Network, seed: int) -> None:
    rng = np.random.default_rng(seed)
    pattern = rng.integers(0, network.pieces, dtype=np.intp)
    exact = find_region(network, pattern, Box(-1, 1))
    rounded = find_region(network, pattern, Box(-1, 1), arithmetic="float")
    if rounded.certain:
        assert bool(rounded) == bool(exact)


def test_contains_agrees_with_patterns() -> None:
    network = random_network(4, "generic", 2, 2, 4, relu=True)
    regions = enumerate_regions(network, Box(-2, 2))
    points = np.random.default_rng(0).uniform(-2, 2, size=(200, 2))
    patterns = network.patterns(points)
    for region in regions:
        assert (region.contains(points) == (patterns == region.pattern).all(axis=1)).all()


def test_empty_pattern_has_no_witness() -> None:
    network = Network.mlp([[[1.0], [1.0]], [[1.0, 1.0]]])
    with pytest.raises(InvalidPatternError, match="01 has no region"):
        _ = Region(network, "01").witness


def test_a_constant_neuron_at_its_breakpoint_is_inactive() -> None:
    network = Network.mlp([[[0.0]], [[1.0]]])
    assert find_region(network, "0")
    assert find_region(network, "1").layer == 1
    assert not Region(network, "1").certain
    assert not find_region(network, "1", arithmetic="float").certain


def test_a_pre_activation_that_cancels_to_rounding_errors_is_not_certain() -> None:
    """0.1 + 0.2 - 0.3 is not 0 in float64, and exactly it is not either; float can't tell."""
    network = Network.mlp([[[0.1], [0.2], [0.3]], [[1.0, 1.0, -1.0]], [[1.0]]])
    for pattern in ("111|0", "111|1"):
        assert not find_region(network, pattern, arithmetic="float").certain
    assert bool(find_region(network, "111|1")) != bool(find_region(network, "111|0"))


def test_domain_without_interior_is_empty_at_layer_0() -> None:
    from tropicell import Polytope

    network = Network.mlp([[[1.0]], [[1.0]]])
    nothing = Polytope([[1.0], [-1.0]], [0.0, -1.0])
    assert find_region(network, "1", nothing).layer == 0


def test_inequalities_print_with_their_neurons() -> None:
    network = Network.mlp([[[1.0, -2.0]], [[1.0]]], [[0.5], [0.0]])
    assert str(find_region(network, "1").inequalities) == (
        "-1·x1 + 2·x2 ≤ 1/2    (layer 1, neuron 0)"
    )


def test_contains_refuses_points_of_another_dimension() -> None:
    network = Network.mlp([[[1.0]], [[1.0]]])
    with pytest.raises(InvalidInputError, match=r"shape \(points, 1\)"):
        find_region(network, "1").contains([[1.0, 2.0]])


def test_paper_v_and_back() -> None:
    pattern = np.array([1, 0, 1], dtype=np.uint8)
    assert from_paper_v(paper_v(pattern, np.array([2, 2, 2]))).tolist() == pattern.tolist()
    with pytest.raises(InvalidPatternError, match="two linear pieces"):
        paper_v(pattern, np.array([2, 3, 2]))
    with pytest.raises(InvalidPatternError, match="has entries -1 and"):
        from_paper_v([0, 1])


def test_missing_extras_are_named() -> None:
    with pytest.raises(TropicellError, match=r"pip install 'tropicell\[onnx\]'"):
        require("surely_not_installed", extra="onnx", why="reading ONNX files")


@given(networks(), st.integers(0, 99))
def test_points_are_located(network: Network, seed: int) -> None:
    regions = enumerate_regions(network, Box(-1, 1))
    points = np.random.default_rng(seed).uniform(-1.2, 1.2, size=(40, network.n_inputs))
    points[:3] = 0.0  # where degenerate networks have boundaries
    found = regions.locate(points)
    for point, index in zip(points, found, strict=True):
        if (np.abs(point) > 1).any():
            assert index == -1
        else:
            assert regions[index].contains([point]).all()


@given(networks())
def test_maps_of_all_regions_at_once(network: Network) -> None:
    regions = enumerate_regions(network, Box(-1, 1))
    maps = regions.affine_maps
    for i in range(len(regions)):
        one = regions.affine_map(i)
        np.testing.assert_array_equal(maps[i, :, :-1], one.matrix)
        np.testing.assert_array_equal(maps[i, :, -1], one.offset)
        exact = regions[i].affine_map.matrix.astype(float)
        np.testing.assert_allclose(one.matrix, exact, rtol=1e-6, atol=1e-9 * (1 + abs(exact).max()))


@given(networks(max_depth=3))
def test_coarser_subdivisions_are_those_of_the_first_layers(network: Network) -> None:
    regions = enumerate_regions(network, Box(-1, 1))
    for layer in range(network.depth + 1):
        coarse = regions.after_layer(layer)
        again = enumerate_regions(network.first_layers(layer), Box(-1, 1))
        assert sorted(coarse.texts()) == sorted(again.texts())
        for region, witness in zip(coarse, coarse.witnesses, strict=True):
            assert region.contains([witness]).all()


def test_boundedness_comes_from_the_recession_cone() -> None:
    """A strip between parallel lines has a largest inner ball, yet it is unbounded."""
    network = Network.mlp([[[1.0, 0.0], [1.0, 0.0]], [[1.0, 1.0]]], [[0.0, -1.0], [0.0]])
    regions = enumerate_regions(network)
    assert regions.bounded.tolist() == [False, False, False]
    assert enumerate_regions(network, Box(-1, 1)).bounded.all()
    assert regions.volumes.tolist() == [np.inf] * 3


def test_views_tables_and_shapes() -> None:
    network = random_network(4, "generic", 2, 2, 4, relu=True)
    regions = enumerate_regions(network, Box(-2, 2))
    assert regions.find(regions.texts()[3]) == 3
    assert regions[-1].text == regions.texts()[-1]
    with pytest.raises(IndexError, match=f"there are {len(regions)} regions"):
        _ = regions[len(regions)]
    with pytest.raises(IndexError, match="no number 999"):
        _ = regions[[0, 999]]
    table = regions.to_dataframe()
    np.testing.assert_allclose(table["volume"].sum(), 16.0)
    np.testing.assert_allclose(sum(shape.area for shape in regions.to_shapely()), 16.0)
    assert "&lt;" not in regions._repr_html_()
    assert f"{len(regions)}" in regions._repr_html_()
    assert (regions.facet_lines.counts >= 3).all()
    with pytest.raises(InvalidInputError, match="layer must be"):
        regions.after_layer(9)


@given(st.data(), networks())
def test_many_points_are_located_as_few_are(data: st.DataObject, network: Network) -> None:
    """By the tree, in parts and threads, and by patterns: the same, or right where floats err."""
    regions = enumerate_regions(network, data.draw(domains(network.n_inputs)))
    points = telling_points(regions)
    points = np.concatenate([points, np.full((1, network.n_inputs), np.nan)])
    points[-1, 1:] = 0.0
    floats = regions.by_patterns(points, arithmetic="float")
    few = points[::7]
    exact = regions.by_patterns(few, arithmetic="exact")
    with mock.patch.multiple(regions_module, _PER_REGION=0, _POINTS=16):
        found = regions.locate(points, workers=2)
        np.testing.assert_array_equal(regions.locate(few, arithmetic="exact"), exact)
    assert regions.known("_finder") is not None or not len(regions)
    assert ((found == floats)[::7] | (found[::7] == exact)).all()
    np.testing.assert_array_equal(found[::7] < 0, exact < 0)
    assert "_finder" not in vars(pickle.loads(pickle.dumps(regions)))


def test_a_tree_is_built_for_many_points_of_proved_regions_only() -> None:
    network = Network.mlp([[[1.0], [1.0]], [[1.0, 1.0]]], [[0.0, -1.0], [0.0]])
    points = np.linspace(-2, 2, 300)[:, None]
    for options, proved in (
        ({}, True),
        ({"arithmetic": "float"}, False),
        ({"max_regions": 2}, False),
    ):
        regions = enumerate_regions(network, Box(-1, 3), **options)  # type: ignore[arg-type]
        expected = regions.by_patterns(points, arithmetic="float")
        np.testing.assert_array_equal(regions.locate(points[:3]), expected[:3])
        assert regions.known("_finder") is None
        np.testing.assert_array_equal(regions.locate(points), expected)
        assert (regions.known("_finder") is not None) == proved


@given(networks(max_depth=2), st.integers(0, 99))
def test_points_are_located_in_some_of_the_regions(network: Network, seed: int) -> None:
    whole = enumerate_regions(network, Box(-1, 1))
    rng = np.random.default_rng(seed)
    some = whole[np.flatnonzero(rng.random(len(whole)) < 0.5)]
    corners = np.concatenate([points[:, :-1] for points in whole.corners][:5])
    points = np.round(np.concatenate([rng.uniform(-1, 1, (5, network.n_inputs)), corners]), 3)
    found = some.locate(points, arithmetic="exact")
    for point, index in zip(points, found.tolist(), strict=True):
        inside = [region for region in some if region.contains([point]).all()]
        assert bool(inside) == (index >= 0)
        assert index < 0 or some[index].contains([point]).all()


def test_the_tip_of_a_thin_region_is_in_it() -> None:
    """No direction that is tried at random leads into the region between x2 = 0 and 1e-9 x1."""
    wedge = Network.mlp([[[0.0, 1.0], [-1e-9, 1.0]], [[1.0, 1.0]]])
    regions = enumerate_regions(wedge)
    row = regions.find("10")
    assert regions[[row]].locate([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0]]).tolist() == [0, 0, -1]


@settings(max_examples=40)
@given(networks(), st.integers(0, 99))
def test_some_regions_have_the_points_that_they_contain(network: Network, seed: int) -> None:
    rng = np.random.default_rng(seed)
    regions = enumerate_regions(network, Box(-1, 1))
    some = regions[np.sort(rng.choice(len(regions), (len(regions) + 1) // 2, replace=False))]
    points = np.concatenate([*(r.vertices.astype(float)[:3] for r in list(regions)[:8])])
    points = np.concatenate([points, np.round(rng.uniform(-1, 1, (20, network.n_inputs)) * 2) / 2])
    inside = np.array([region.contains(points) for region in some])
    for arithmetic in ("exact", "float"):
        found = some.locate(points, arithmetic=arithmetic)  # type: ignore[arg-type]
        if arithmetic == "exact":
            np.testing.assert_array_equal(found >= 0, inside.any(axis=0))
            sure = np.flatnonzero(found >= 0)
            assert inside[found[sure], sure].all()


def test_points_outside_the_regions_of_a_list_need_no_rationals() -> None:
    rng = np.random.default_rng(0)
    network = Network.mlp([rng.normal(size=size) for size in ((6, 3), (5, 6), (1, 5))])
    whole = enumerate_regions(network, Box(-1, 1))
    some, points = whole[:3], rng.uniform(-1, 1, (2000, 3))
    with mock.patch.object(regions_module.Regions, "_on_boundary") as exactly:
        found = some.locate(points)
    assert not exactly.called
    expected = whole.locate(points)
    assert found.tolist() == np.where(expected < 3, expected, -1).tolist()
    assert (found >= 0).any()
    assert whole[[]].locate(points).tolist() == [-1] * len(points)


def test_locating_ends_with_the_time() -> None:
    regions = enumerate_regions(Network.mlp([[[1.0]], [[1.0]]]))
    with pytest.raises(TimeLimitError), time_limit(0):
        regions.locate(np.zeros((100_000, 1)))
    with pytest.raises(InvalidInputError, match="workers"):
        regions.locate([[1.0]], workers=0)


def test_points_are_tested_in_parts() -> None:
    network = Network.mlp([[[1.0], [1.0]], [[1.0, 1.0]]], [[0.0, -1.0], [0.0]])
    points = np.linspace(-3, 3, 1000)[:, None]
    for arithmetic in ("exact", "float"):
        region = Region(network, "10", arithmetic=arithmetic)  # type: ignore[arg-type]
        expected = (points[:, 0] >= 0) & (points[:, 0] <= 1)
        with (
            mock.patch.object(region_module, "_VALUES", 1),
            mock.patch.object(containment, "_NUMBERS", 7),
        ):
            np.testing.assert_array_equal(region.contains(points), expected)
            if arithmetic == "exact":
                fractions = to_fractions(to_rationals(points))
                np.testing.assert_array_equal(region.contains(fractions), expected)


@given(networks(), st.integers(0, 99))
def test_no_rounding_decides_whether_a_region_contains_a_point(network: Network, seed: int) -> None:
    """Points on boundaries, next to them, and anywhere; against rationals alone."""
    rng = np.random.default_rng(seed)
    region = next(iter(enumerate_regions(network, Box(-1, 1))))
    corners = region.vertices.astype(float)
    next_to = np.nextafter(corners, rng.choice([-9.0, 9.0], corners.shape))
    points = np.concatenate([corners, next_to, rng.uniform(-1, 1, (20, network.n_inputs))])
    rows = region.inequalities
    exact = to_fractions(to_rationals(points))
    expected = (exact @ rows.A.T <= rows.b).all(axis=1) if len(rows) else np.ones(len(points))
    np.testing.assert_array_equal(region.contains(points), expected)
    odd = np.full((2, network.n_inputs), np.nan)
    odd[1] = np.inf
    assert not region.contains(odd).any()


def test_what_contains_many_points_ends_in_time() -> None:
    region = Region(Network.mlp([[[1.0], [1.0]], [[1.0, 1.0]]], [[0.0, -1.0], [0.0]]), "10")
    points = np.zeros((1_000_000, 1))  # all of them on a boundary
    domains = Polytope([[1.0], [-1.0]], [0.0, 1.0]), Ball([1.0], 1.0, "l2")
    for ask in (region.contains, *(domain.contains for domain in domains)):
        with pytest.raises(TimeLimitError), time_limit(0.2):
            ask(points)
