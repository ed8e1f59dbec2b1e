"""Extrema, volumes and integrals, with and without corners, against the slow exact way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import largest_value
from strategies import KINDS, cancelling_networks, networks, random_network
from tropicell import (
    Affine,
    Box,
    InvalidInputError,
    Network,
    TimeLimitError,
    enumerate_regions,
    time_limit,
)
from tropicell._runtime.progress import bar_of
from tropicell.analysis import best_regions, measure
from tropicell.geometry.generators import generators, volume


def without_corners(network: Network, **options: Any) -> Any:
    return enumerate_regions(network, Box(-1, 1), engine="halfspaces", **options)


def check_against_rationals(regions: Any, found: Any) -> None:
    for k in range(regions.network.n_outputs):
        high = float(largest_value(regions, k))
        low = -float(largest_value(regions, k, -1))
        np.testing.assert_allclose(found.maximum[k], high, rtol=2e-9, atol=1e-149)
        np.testing.assert_allclose(found.minimum[k], low, rtol=2e-9, atol=1e-149)


@given(networks(max_depth=2))
def test_extrema_without_corners_are_those_of_rationals(network: Network) -> None:
    regions = without_corners(network)
    assert regions.known("corners") is None
    check_against_rationals(regions, measure.extrema(regions))
    assert regions.known("corners") is None


@given(cancelling_networks())
def test_extrema_of_weights_that_cancel(network: Network) -> None:
    regions = without_corners(network)
    check_against_rationals(regions, measure.extrema(regions))


@settings(max_examples=15)
@given(st.sampled_from(KINDS), st.integers(0, 50), st.integers(5, 7))
def test_extrema_in_more_dimensions(kind: str, seed: int, inputs: int) -> None:
    """With bounds, and with a linear program in integers for each region."""
    regions = without_corners(random_network(seed, kind, inputs, 2, 3))
    found = measure.extrema(regions)
    parts = np.array_split(np.arange(len(regions)), 1 + len(regions) // 32)
    for k in range(2):
        for sign, value in ((1, found.maximum[k]), (-1, -found.minimum[k])):
            best = max(best_regions.exact_best(regions, k, sign, part)[0] for part in parts)
            np.testing.assert_allclose(value, best, rtol=2e-9, atol=1e-149)


@settings(max_examples=15)
@given(st.sampled_from(KINDS), st.integers(0, 99), st.integers(1, 4), st.integers(1, 3))
def test_bounds_on_groups_hold_on_every_region(
    kind: str, seed: int, inputs: int, depth: int
) -> None:
    """Nothing is small enough here: all groups are taken apart, down to single regions."""
    regions = without_corners(random_network(seed, kind, inputs, depth, 6))
    race = best_regions._Race(regions, 1)
    race.lower[:] = -np.inf
    race.bound_groups()
    for i in np.linspace(0, len(regions) - 1, 6).astype(int).tolist():
        for k, bound in enumerate(race.upper[i]):
            best, _ = best_regions.exact_best(regions, k % 2, 1 - k // 2 * 2, np.array([i]))
            assert bound >= np.nextafter(best, -np.inf)


def test_groups_leave_few_regions() -> None:
    rng = np.random.default_rng(3)
    network = Network.mlp(
        [rng.normal(size=size) for size in ((8, 6), (7, 8), (2, 7))],
        [rng.normal(size=size) for size in (8, 7, 2)],
    )
    regions = without_corners(network)
    race = best_regions._Race(regions, 1)
    race.look_at(race.likely())
    before = len(race.left())
    race.bound_groups()
    assert len(race.left()) < before / 3


def test_threads_and_bars_change_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    network = random_network(1, "generic", 5, 2, 8)
    alone = measure.extrema(without_corners(network))
    monkeypatch.setattr(best_regions, "_AT_ONCE", 5)
    together = measure.extrema(without_corners(network), workers=3, progress=True)
    for name, column in vars(alone).items():
        assert (column == vars(together)[name]).all()


def test_a_part_of_the_regions_has_the_extrema_of_that_part() -> None:
    regions = without_corners(random_network(4, "generic", 5, 2, 6), max_regions=5)
    assert not regions.complete
    check_against_rationals(regions, measure.extrema(regions))


def test_outputs_that_grow_without_end_need_no_corners() -> None:
    network = Network.mlp(
        [np.random.default_rng(0).normal(size=size) for size in ((7, 6), (6, 7), (2, 6))]
    )
    regions = enumerate_regions(network, engine="halfspaces")
    found = measure.extrema(regions)
    assert (found.maximum == np.inf).all()
    assert (found.minimum == -np.inf).all()
    assert regions.known("corners") is None


def test_time_is_limited() -> None:
    regions = without_corners(random_network(1, "generic", 6, 2, 8))
    for question in (measure.extrema, measure.volumes, measure.integral):
        with pytest.raises(TimeLimitError), time_limit(0):
            question(regions)


def check_volumes(regions: Any, some: int = 6) -> None:
    """Against the box, and for some regions against rationals."""
    inputs = regions.network.n_inputs
    sizes = measure.volumes(regions)
    np.testing.assert_allclose(sizes.sum(), 2.0**inputs, rtol=1e-11)
    for i in np.linspace(0, len(regions) - 1, some).astype(int).tolist():
        exact = float(volume(regions[i].cell.rows, inputs))
        np.testing.assert_allclose(sizes[i], exact, rtol=1e-9, atol=1e-12)


def check_integral(regions: Any) -> None:
    """Against hulls of all corners, in the order of the cells engine."""
    found = measure.integral(regions, workers=2)
    regions = enumerate_regions(regions.network, regions.domain, engine="cells")
    measured = [measure._polytope(points[:, :-1]) for points in regions.corners]
    sizes, centres = (np.array(column) for column in zip(*measured, strict=True))
    maps = regions.affine_maps
    values = np.einsum("noc,nc->no", maps[:, :, :-1], centres) + maps[:, :, -1]
    scale = sizes @ np.abs(values)
    assert (np.abs(found - sizes @ values) <= 1e-9 * scale + 1e-12).all()


@settings(max_examples=15)
@given(st.sampled_from(KINDS), st.integers(0, 50), st.integers(3, 5), st.booleans())
def test_volumes_and_integrals_are_those_of_rationals(
    kind: str, seed: int, inputs: int, cells: bool
) -> None:
    network = random_network(seed, kind, inputs, 2, 3)
    engine: Any = "cells" if cells else "halfspaces"
    regions = enumerate_regions(network, Box(-1, 1), engine=engine)
    check_volumes(regions)
    check_integral(regions)


@settings(max_examples=20)
@given(st.sampled_from(KINDS), st.integers(0, 999), st.integers(3, 4), st.integers(1, 3))
def test_polygons_measure_what_hulls_do(kind: str, seed: int, inputs: int, depth: int) -> None:
    """Every region in 3-D and 4-D, and its centroid; nan is left to others."""
    network = random_network(seed, kind, inputs, depth, 5)
    regions = enumerate_regions(network, Box(-1, 1), engine="cells")
    with bar_of(0, "", False) as bar:
        sizes, centres = measure._moments(regions, 1, bar, centred=True)
        shared, _ = measure._moments(regions, 2, bar, centred=True)
        alone, _ = measure._moments(regions, 1, bar, centred=False)
    np.testing.assert_array_equal(sizes, shared)
    np.testing.assert_allclose(sizes, alone, rtol=1e-12)  # other loops, other roundings
    known = np.flatnonzero(~np.isnan(sizes))
    for i in known.tolist():
        size, centre = measure._polytope(np.asarray(regions.corners[i])[:, :-1])
        np.testing.assert_allclose(sizes[i], size, rtol=1e-9, atol=1e-13)
        if size > 1e-9:
            np.testing.assert_allclose(centres[i], centre, atol=1e-7)
    if kind == "generic":
        assert len(known) == len(regions)


def walked(regions: Any) -> Any:
    """What the walk from corner to corner knows of volumes: nan, where it proves nothing."""
    n = len(regions)
    found = np.empty(n), np.empty((n, regions.network.n_inputs)), np.zeros(n)
    with bar_of(0, "", False) as bar:
        measure._by_walks(regions, found, 1, True, bar)
    return found[0]


def test_rows_that_are_only_rounding_are_no_facets() -> None:
    """Neurons of the second layer read 0 in some regions: the sums of earlier patterns left 1e-17.

    That was taken for a facet, and 3 % of the box were missing.
    """
    regions = without_corners(random_network(0, "zero_bias", 5, 2, 4))
    sizes = walked(regions)
    known = ~np.isnan(sizes)
    assert known[[13, 314]].all()
    expected = measure._by_cells(regions, 1)
    np.testing.assert_allclose(sizes[known], expected[known], rtol=1e-11)
    check_volumes(regions, 2)


@settings(max_examples=30)
@given(st.sampled_from(KINDS), st.integers(0, 999), st.integers(3, 5), st.integers(1, 3))
def test_walks_know_what_they_measure(kind: str, seed: int, inputs: int, depth: int) -> None:
    """Region by region: one that is not simple is left to others, and no other one is wrong."""
    regions = without_corners(random_network(seed, kind, inputs, depth, 4))
    sizes, expected = walked(regions), measure._by_cells(regions, 1)
    known = ~np.isnan(sizes)
    np.testing.assert_allclose(sizes[known], expected[known], rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("engine", ["cells", "halfspaces"])
def test_facets_that_are_nearly_parallel(engine: Any) -> None:
    """Their corners are known to few digits: a sum in float64 was off by 4e-8."""
    network = random_network(5100, "scaled", 6, 3, 2)
    regions = enumerate_regions(network, Box(-1, 1), engine=engine)
    sizes = measure.volumes(regions)
    for i in np.argsort(-sizes)[:6].tolist():
        exact = float(volume(regions[i].cell.rows, 6))
        np.testing.assert_allclose(sizes[i], exact, rtol=1e-10)


def test_simple_regions_are_measured_by_walks() -> None:
    regions = without_corners(random_network(0, "generic", 5, 2, 5))
    np.testing.assert_allclose(walked(regions).sum(), 32.0, rtol=1e-12)


def test_corners_on_more_facets_are_noticed() -> None:
    """A pyramid over a square: its top lies on four facets."""
    weights = np.array([[1.0, 0, 1], [-1.0, 0, 1], [0, 1.0, 1], [0, -1.0, 1]])
    regions = without_corners(Network.mlp([weights, np.ones((1, 4))], [-np.ones(4), [0.0]]))
    pyramid = regions.texts().index("0000")
    assert np.isnan(walked(regions)[pyramid])
    expected = float(volume(regions[pyramid].cell.rows, 3))
    np.testing.assert_allclose(measure.volumes(regions)[pyramid], expected, rtol=1e-12)
    check_volumes(regions)
    check_integral(regions)


@pytest.mark.parametrize("cells", [True, False])
def test_parts_and_whole_spaces_are_measured_region_by_region(cells: bool) -> None:
    network = random_network(0, "zero_bias", 4, 2, 4)
    engine: Any = "cells" if cells else "halfspaces"
    everywhere = enumerate_regions(network, engine=engine)
    assert np.isinf(measure.volumes(everywhere)).any()
    assert (np.isinf(measure.volumes(everywhere)) == ~everywhere.bounded).all()
    part = enumerate_regions(network, engine=engine, max_regions=5)
    assert not part.complete
    assert (np.isinf(measure.volumes(part)) == ~part.bounded).all()
    for regions in (everywhere, part):
        with pytest.raises(InvalidInputError, match="unbounded"):
            measure.integral(regions)
    boxed = enumerate_regions(network, Box(-1, 1), engine=engine, max_regions=9)
    sizes = measure.volumes(boxed)
    exact = [float(volume(region.cell.rows, 4)) for region in boxed]
    np.testing.assert_allclose(sizes, exact, rtol=1e-11)
    assert np.isfinite(measure.integral(boxed)).all()


@pytest.mark.parametrize(
    "network",
    [
        Network.mlp([np.zeros((2, 3)), np.ones((1, 2))]),
        Network(3, [], Affine({0: np.ones((1, 3))})),
    ],
)
def test_a_box_without_boundaries(network: Network) -> None:
    regions = without_corners(network)
    assert measure.volumes(regions).tolist() == [8.0]
    np.testing.assert_allclose(measure.integral(regions), [0.0], atol=1e-15)


def test_rationals_keep_to_the_time_limit() -> None:
    regions = without_corners(random_network(0, "zero_bias", 4, 2, 8), max_regions=5)
    assert np.isnan(walked(regions)).all()  # each is measured in rationals
    rows = regions[0].cell.rows
    with pytest.raises(TimeLimitError), time_limit(0):
        volume(rows, 4)
    with pytest.raises(TimeLimitError), time_limit(0):
        generators(rows, 4)


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
@settings(max_examples=30)
@given(network=networks(max_depth=2))
def test_lipschitz_is_the_largest_norm(norm: Any, network: Network) -> None:
    regions = enumerate_regions(network, Box(-1, 1))
    order = {"l1": 1, "l2": 2, "linf": np.inf}[norm]
    exact = [region.affine_map.astype_float().matrix for region in regions]
    most = max(float(np.linalg.norm(matrix, ord=order)) for matrix in exact)
    found, where = measure.lipschitz(regions, norm, workers=2)
    np.testing.assert_allclose(found, most, rtol=2e-9, atol=1e-149)
    np.testing.assert_allclose(
        np.linalg.norm(exact[where], ord=order), most, rtol=2e-9, atol=1e-149
    )
