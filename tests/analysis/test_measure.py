"""Exact answers from regions, against dense sampling and closed forms."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import equal_pieces, largest_value, polygon_area
from strategies import (
    KINDS,
    cancelling_network,
    cancelling_networks,
    domains,
    networks,
    random_network,
)
from tropicell import (
    Affine,
    Ball,
    Box,
    InvalidInputError,
    InvalidNetworkError,
    Layer,
    Network,
    Polytope,
    Regions,
    Slice,
    TimeLimitError,
    compare,
    enumerate_regions,
    time_limit,
)
from tropicell._runtime import progress
from tropicell._runtime.progress import bar_of
from tropicell.analysis import level_sets, measure
from tropicell.analysis.comparison import difference
from tropicell.analysis.graph import path_lengths
from tropicell.engines.cells.task import CellTask
from tropicell.engines.scheduler import UnitRun
from tropicell.geometry.generators import volume
from tropicell.regions import exact_columns, output_maps
from tropicell.regions.columns import Ragged
from tropicell.regions.exact_columns import exact_vertices


def sample(network: Network, count: int = 400) -> np.ndarray:
    return np.random.default_rng(0).uniform(-1, 1, size=(count, network.n_inputs))


@given(
    st.integers(0, 10**6),
    st.sampled_from(KINDS),
    st.integers(3, 4),
    st.sampled_from([Box(-1, 1), None]),
)
def test_volumes_that_are_worked_out_later_are_those_of_the_search(
    seed: int, kind: str, inputs: int, domain: Box | None
) -> None:
    network = random_network(seed, kind, inputs, 2, 5)
    regions = enumerate_regions(network, domain, engine="cells")
    assert regions.known("volumes") is None
    run = UnitRun(CellTask(network, domain, volumes=True))
    batches = [batch for batch in run.batches() if batch is not None]
    # The regions themselves may have been found in fewer inputs, and in another order.
    rows = regions.packed.find_words(np.concatenate([batch.packed.words for batch in batches]))
    assert sorted(rows.tolist()) == list(range(len(regions)))
    known = np.concatenate([batch.volumes for batch in batches])  # type: ignore[misc]
    np.testing.assert_array_equal(np.isinf(known), np.isinf(regions.volumes[rows]))
    same = np.isclose(regions.volumes[rows], known, rtol=1e-9, atol=1e-12)
    # Far out the search knows few digits: there the volume is that of rationals.
    for index in rows[~same][:2].tolist():
        assert domain is None
        exact = float(volume(regions[index].cell.rows, inputs))
        np.testing.assert_allclose(regions.volumes[index], exact, rtol=1e-9)


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
    with pytest.raises(
        InvalidInputError, match="affine_maps, volumes, facet_lines, neighbours, not 'area'"
    ):
        alone.prepare(["area"])
    with pytest.raises(InvalidInputError, match="workers"):
        measure.volumes(alone, workers=0)


@pytest.mark.parametrize("engine", ["cells", "halfspaces"])
@pytest.mark.parametrize("kind", ["generic", "integer", "zero_bias"])
def test_volumes_in_more_dimensions(kind: str, engine: str) -> None:
    """Three ways: faces of corners and facets, simplices of the cells engine, hulls of corners."""
    network = random_network(1, kind, 4, 2, 4)
    regions = enumerate_regions(network, Box(-1, 1), engine=engine)
    hulls = np.array([measure._polytope(points[:, :-1])[0] for points in regions.corners])
    np.testing.assert_allclose(measure._by_cells(regions, 1), hulls, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(measure.volumes(regions, workers=2), hulls, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(regions.volumes.sum(), 16.0, rtol=1e-12)
    # A part of them is measured by its corners: the cells engine would find all.
    some = enumerate_regions(network, Box(-1, 1), engine=engine, max_regions=3)
    assert not some.complete
    rows = regions.packed.find(some.patterns)
    np.testing.assert_allclose(some.volumes, hulls[rows], rtol=1e-9)


@settings(max_examples=40)
@given(st.data(), st.integers(0, 2**32 - 1), st.sampled_from(KINDS))
def test_corners_that_are_found_again_are_those_of_rationals(
    data: st.DataObject, seed: int, kind: str
) -> None:
    inputs = data.draw(st.integers(1, 4))
    network = random_network(seed, kind, inputs, 2, 3)
    regions = enumerate_regions(network, data.draw(domains(inputs)), engine="halfspaces")
    with mock.patch.object(measure, "_MANY", 1):
        found, bounded = measure.corners(regions, workers=2), measure.bounded(regions, workers=2)
    expected = exact_columns.corners(regions)
    assert bounded.tolist() == exact_columns.bounded(regions).tolist()
    assert found.counts.tolist() == expected.counts.tolist()
    for some, others in zip(found, expected, strict=True):
        for points in (some, others):  # rays have no length
            rays = points[:, -1] == 0
            points[rays] /= np.abs(points[rays]).max(axis=1, keepdims=True)
        gaps = np.abs(some[:, None] - others).max(axis=2, initial=0.0)
        reach = 1 + np.abs(others).max(initial=0.0)
        assert (gaps.min(axis=0, initial=np.inf) < 1e-9 * reach).all()
        assert (gaps.min(axis=1, initial=np.inf) < 1e-9 * reach).all()


def test_regions_of_bounded_domains_are_bounded_without_a_look_at_them() -> None:
    network = random_network(1, "generic", 3, 1, 4)
    square = np.concatenate([np.eye(3), -np.eye(3)])
    for domain in (Box(-1, 1), Polytope(square, np.ones(6)), Ball(np.zeros(3), 1.0, "l2")):
        regions = enumerate_regions(network, domain)
        vars(regions).pop("bounded", None)
        with mock.patch.object(exact_columns, "bounded") as exactly:
            assert regions.bounded.all()
        assert not exactly.called
    assert not enumerate_regions(network, engine="halfspaces").bounded.all()


@pytest.mark.parametrize("column", ["bounded", "corners"])
def test_columns_in_rationals_end_in_time(column: str) -> None:
    rng = np.random.default_rng(0)
    network = Network.mlp([rng.normal(size=(5, 3)), rng.normal(size=(1, 5))])
    regions = enumerate_regions(network, engine="halfspaces")
    assert regions.known(column) is None
    with pytest.raises(TimeLimitError), time_limit(0):
        getattr(regions, column)
    assert len(getattr(regions, column)) == len(regions)


def test_no_regions_have_no_largest_value() -> None:
    regions = enumerate_regions(random_network(1, "generic", 2, 1, 4), Box(-1, 1))
    for ask in (measure.extrema, measure.lipschitz, measure.mean):
        with pytest.raises(InvalidInputError, match="there are no regions"):
            ask(regions[[]])
    assert measure.integral(regions[[]]).tolist() == [0.0] * regions.network.n_outputs
    with pytest.raises(InvalidInputError, match=f"there are {len(regions)} regions, no number"):
        path_lengths(regions, [len(regions)])


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


def exact_integral(regions: Regions) -> np.ndarray:
    """By rational corners and maps, for one input and two."""
    total = np.zeros(regions.network.n_outputs)
    for region in regions:
        corners, affine = region.vertices, region.affine_map
        if len(corners[0]) == 1:
            parts = [(abs(corners[1] - corners[0])[0], corners.sum(axis=0) / 2)]
        else:
            parts = [
                (polygon_area(np.array([corners[0], b, c])), (corners[0] + b + c) / Fraction(3))
                for b, c in pairwise(corners[1:])
            ]
        for size, centre in parts:
            total = total + size * (affine.matrix @ centre + affine.offset)
    return total.astype(float)


@settings(max_examples=40)
@given(cancelling_networks(max_inputs=2, skip=True))
def test_integrals_agree_with_rationals(network: Network) -> None:
    """Maps that float64 gets wrong altogether: 1e16 x - 6e15 x - 4e15 x."""
    regions = enumerate_regions(network, Box(-1, 1))
    expected = exact_integral(regions)
    absolute = sum(
        float(volume) * np.abs(network.evaluate(region.vertices)).max(axis=0).astype(float)
        for volume, region in zip(regions.volumes, regions, strict=True)
    )
    for some in (regions, regions[::-1]):
        found = measure.integral(some)
        assert (np.abs(found - expected) <= 1e-6 * absolute + 1e-150).all()
    means = measure.mean(regions) * regions.volumes.sum()
    np.testing.assert_allclose(means, measure.integral(regions))


def test_an_integral_without_end_is_refused_at_once() -> None:
    """All of R^5: it is not asked region by region."""
    regions = enumerate_regions(random_network(0, "generic", 5, 1, 9), engine="halfspaces")
    with (
        mock.patch.object(measure, "_moments", side_effect=AssertionError),
        pytest.raises(InvalidInputError, match="unbounded"),
    ):
        measure.integral(regions)
    some = regions[np.flatnonzero(regions.bounded)[:1]]
    if len(some):
        assert np.isfinite(measure.integral(some)).all()


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
    assert compare(network, network, Box(-1, 1)).largest == 0.0
    plane = Slice([0.0, 0.0], [[1.0, 1.0]], Box(-1, 1))
    assert compare(network, network, plane).largest == 0.0


def test_a_difference_of_rounding_errors_is_not_unbounded() -> None:
    network = random_network(1, "generic", 2, 2, 4, relu=True)
    assert compare(network, network).largest == 0.0
    assert compare(network, random_network(2, "generic", 2, 2, 4, relu=True)).largest == np.inf


def test_networks_that_do_not_fit_are_not_compared() -> None:
    with pytest.raises(InvalidNetworkError, match="can't be compared"):
        difference(Network.mlp([np.eye(2)]), Network.mlp([np.eye(3)]))


# --- what rounding must not decide ---------------------------------------------------------------

#: Slopes of relu(x) for x > 0 that are positive, and 0 in float64 (or the other way round).
SLOPES = [[1e16, 1.0, -1e16], [1.0, 2.0**-52, -1.0], [3.0, 1e-20, -3.0], [1.0, 5e-324, -1.0]]


@pytest.mark.parametrize("weights", SLOPES)
@pytest.mark.parametrize("sign", [1, -1])
def test_a_slope_that_rounds_to_zero_is_a_slope(weights: list[float], sign: int) -> None:
    network = Network.mlp([[[1.0]] * 3, [[sign * w for w in weights]]])
    found = measure.extrema(enumerate_regions(network))
    assert (found.maximum[0] == np.inf) == (sign > 0)
    assert (found.minimum[0] == -np.inf) == (sign < 0)
    # In a box it is a value. The network is positively homogeneous, so it is largest at x = 2.
    found = measure.extrema(enumerate_regions(network, Box(-1, 2)))
    true = float(2 * sign * sum(map(Fraction, weights)))
    assert (found.maximum[0], found.minimum[0]) == (max(0.0, true), min(0.0, true))


def test_a_slope_of_zero_that_rounds_to_something_is_none() -> None:
    weights = [1e12 + 0.5, -1e12, -0.5]
    found = measure.extrema(enumerate_regions(Network.mlp([[[1.0]] * 3, [weights]])))
    assert (found.minimum[0], found.maximum[0]) == (0.0, 0.0)


@pytest.mark.parametrize("engine", ["auto", "halfspaces"])
@settings(max_examples=30)
@given(network=cancelling_networks(), box=st.booleans())
def test_extrema_agree_with_rationals(engine: str, network: Network, box: bool) -> None:
    regions = enumerate_regions(network, Box(-1, 2) if box else None, engine=engine)  # type: ignore[arg-type]
    found = measure.extrema(regions)
    exact = list(regions)
    for k in range(network.n_outputs):
        for sign, value in ((1, found.maximum[k]), (-1, -found.minimum[k])):
            np.testing.assert_allclose(value, float(largest_value(exact, k, sign)), rtol=1e-8)


@settings(max_examples=40)
@given(networks(max_depth=2))
def test_extrema_of_unbounded_domains_agree_with_rationals(network: Network) -> None:
    regions = enumerate_regions(network)
    found = measure.extrema(regions)
    exact = list(regions)
    for k in range(network.n_outputs):
        assert (found.maximum[k] == np.inf) == (largest_value(exact, k) == np.inf)
        assert (found.minimum[k] == -np.inf) == (largest_value(exact, k, -1) == np.inf)


def floats(pieces: set[frozenset[tuple[Fraction, ...]]]) -> list[np.ndarray]:
    return [np.array(sorted(piece)).astype(float) for piece in pieces]


def test_outputs_that_touch_are_equal_there_once() -> None:
    """|x| and 0, in one and in two dimensions; the other way round nothing was found."""
    for inputs, expected in ((1, [[[0.0]]]), (2, [[[0.0, -1.0], [0.0, 1.0]]])):
        weights = np.eye(2, inputs) * 0
        weights[:, 0] = 1.0, -1.0
        network = Network.mlp([weights, [[1.0, 1.0], [0.0, 0.0]]])
        regions = enumerate_regions(network, Box(-1, 1))
        for pair in ((0, 1), (1, 0)):
            found = measure.decision_boundary(regions, *pair)
            assert [piece.tolist() for piece in found] == expected


def test_outputs_that_are_equal_on_whole_regions() -> None:
    """relu(x) and 0 are equal for x <= 0: the boundary of that set is x = 0, not x < 0."""
    network = Network.mlp([[[1.0], [1.0]], [[1.0, 0.0], [0.0, 0.0]]], [[0.0, 0.5], [0.0, 0.0]])
    regions = enumerate_regions(network, Box(-1, 1))
    assert len(regions) == 3
    for pair in ((0, 1), (1, 0)):
        assert [piece.tolist() for piece in measure.decision_boundary(regions, *pair)] == [[[0.0]]]
    assert measure.decision_boundary(regions, 1, 1) == []
    with pytest.raises(InvalidInputError, match="2 outputs, no number 2"):
        measure.decision_boundary(regions, 0, 2)


@pytest.mark.parametrize("engine", ["auto", "traverse"])
@settings(max_examples=40)
@given(network=st.one_of(networks(max_inputs=2, max_depth=2), cancelling_networks(max_inputs=2)))
def test_decision_boundary_agrees_with_rationals(engine: str, network: Network) -> None:
    regions = enumerate_regions(network, Box(-1, 1), engine=engine)  # type: ignore[arg-type]
    expected = floats(equal_pieces(list(regions), 0, 1))
    found = measure.decision_boundary(regions, 0, 1)
    again = measure.decision_boundary(regions, 1, 0)
    assert [piece.tolist() for piece in found] == [piece.tolist() for piece in again]
    assert len(found) == len(expected)
    gaps = [[np.abs(one - two).max() for two in expected] for one in found]
    if found:  # every piece has its counterpart
        assert np.max(np.min(gaps, axis=0)) < 1e-6
        assert np.max(np.min(gaps, axis=1)) < 1e-6


@settings(max_examples=20)
@given(networks(max_depth=2))
def test_decision_boundary_is_the_same_both_ways(network: Network) -> None:
    regions = enumerate_regions(network, Box(-1, 1))
    one, two = (measure.decision_boundary(regions, *pair) for pair in ((0, 1), (1, 0)))
    assert [piece.tolist() for piece in one] == [piece.tolist() for piece in two]


def test_a_difference_is_not_rounded() -> None:
    """Weights of skips and biases whose differences float64 has no room for."""
    layer = Layer(Affine({0: [[1.0], [-1.0]]}))
    a = Network(1, [layer], Affine({0: [[1.0]], 1: [[0.0, 0.0]]}, [1e16]))
    b = Network(1, [layer], Affine({0: [[1e-20]], 1: [[1.0, -1.0]]}, [1e16 - 2.0]))
    # a - b = x + 2 - 1e-20 x - (relu(x) - relu(-x)) = 2 - 1e-20 x
    assert compare(a, b).largest == np.inf
    whole = difference(a, b)
    assert (whole.evaluate([[3.0]]) == a.evaluate([[3.0]]) - b.evaluate([[3.0]])).all()
    c = Network(1, [layer], Affine({0: [[1e-20]], 1: [[1.0, -1.0]]}, [1e16]))
    found = compare(a, c, Box(-1, 3))
    assert (found.largest, found.point.tolist()) == (float(3 * Fraction(1e-20)), [3.0])
    huge = Network(1, [layer], Affine({1: [[0.0, 0.0]]}, [1.7e308]))
    low = Network(1, [layer], Affine({1: [[0.0, 0.0]]}, [-1.7e308]))
    assert difference(huge, low).evaluate([[1.0]])[0, 0] == 2 * Fraction(1.7e308)


@settings(max_examples=15)
@given(cancelling_networks(max_inputs=2, skip=True), st.integers(0, 999))
def test_differences_agree_with_rationals(network: Network, seed: int) -> None:
    other = cancelling_network(seed, network.n_inputs, 2, skip=True)
    for second in (other, shuffled(network, seed)):
        found = compare(network, second, Box(-1, 1))
        points = np.concatenate([region.vertices for region in found.regions])
        gaps = np.abs(network.evaluate(points) - second.evaluate(points)).max()
        if gaps:
            np.testing.assert_allclose(found.largest, float(gaps), rtol=1e-8)
        else:
            assert found.largest == 0.0


def shuffled(network: Network, seed: int) -> Network:
    """The same function: neurons in another order."""
    order = np.random.default_rng(seed).permutation(network.widths[0])
    (layer,) = network.layers
    moved = Layer(Affine({0: layer.affine.terms[0][order]}, layer.affine.bias[order]))
    terms = {**network.output.terms, 1: network.output.terms[1][:, order]}
    return Network(network.n_inputs, [moved], Affine(terms, network.output.bias))


def slow_pieces(regions: Regions) -> list[np.ndarray]:
    """Pieces of the decision boundary in regions that float64 surely sees crossed, one by one."""
    maps = regions.affine_maps
    difference = maps[:, 0] - maps[:, 1]
    found = []
    for i in range(len(regions)):
        points = regions.corners[i]
        values = points @ difference[i]
        values[np.abs(values) <= 1e-12 * np.abs(values).max()] = 0.0
        if (values > 1e-9).any() and (values < -1e-9).any():
            found.append(level_sets._level_set(points[:, :-1], values))
    return found


@given(networks(max_inputs=2, max_depth=3))
def test_pieces_made_together_are_those_made_one_by_one(network: Network) -> None:
    regions = enumerate_regions(network, Box(-1, 1))
    found = measure.decision_boundary(regions, workers=2)
    for piece in slow_pieces(regions):
        assert any(
            each.shape == piece.shape and np.allclose(each, piece, rtol=1e-9, atol=1e-12)
            for each in found
        )
    with mock.patch.object(level_sets, "_flat_level_sets", _none_together):
        expected = measure.decision_boundary(regions)
    assert len(found) == len(expected)
    for one, two in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-12)


def _none_together(corners: Ragged, crossed: np.ndarray, _: np.ndarray) -> tuple[Any, np.ndarray]:
    inputs = corners.values.shape[1] - 1
    return level_sets._Pieces(crossed[:0], np.empty((0, inputs, inputs))), crossed


def area(polygon: np.ndarray) -> float:
    """Of a flat polygon in space, corners in order."""
    fan = polygon[1:] - polygon[0]
    return float(np.linalg.norm(np.cross(fan[:-1], fan[1:]).sum(axis=0)) / 2)


@settings(max_examples=25)
@given(st.integers(0, 999), st.sampled_from(["generic", "integer"]), st.integers(1, 2))
def test_polygons_cut_out_together_are_those_cut_out_one_by_one(
    seed: int, kind: str, depth: int
) -> None:
    network = random_network(seed, kind, 3, depth, 5)
    regions = enumerate_regions(network, Box(-1, 1))
    forms = np.random.default_rng(seed).normal(size=(len(regions), 4)) * [1, 1, 1, 0.3]
    corners = regions.corners
    values = np.einsum("nd,nd->n", forms[corners.owners()], corners.values)
    both = [(values[corners.places(np.array([i]))] > 0).any() for i in range(len(regions))]
    below = [(values[corners.places(np.array([i]))] < 0).any() for i in range(len(regions))]
    crossed = np.flatnonzero(np.array(both) & np.array(below))
    found, left = level_sets._solid_level_sets(corners, crossed, values)
    pieces = list(found.values)
    assert sorted([*found.rows, *left]) == crossed.tolist()
    assert len(pieces) == len(found.rows)
    for row, piece in zip(found.rows, pieces, strict=True):
        own = corners.places(np.array([row]))
        expected = level_sets._level_set(corners.values[own, :-1], values[own])
        assert 3 <= len(piece) <= len(expected)
        size = np.abs(expected - expected[0]).max()
        np.testing.assert_allclose(area(piece), area(expected), rtol=1e-7, atol=1e-11 * size**2)
        gaps = np.abs(piece[:, None] - expected[None]).max(axis=2).min(axis=1)
        assert gaps.max() <= 1e-9 * size


@settings(max_examples=30)
@given(st.one_of(networks(max_inputs=3, max_depth=3), cancelling_networks(skip=True)))
def test_signs_on_regions_are_those_of_rationals(network: Network) -> None:
    """Those at corners, and what linear programs say: these are asked of all regions here."""
    regions = enumerate_regions(network, Box(-1, 1))
    every = np.arange(len(regions))
    with bar_of(0, "", False) as bar:
        at, *by_corners = level_sets._by_signs(regions, 0, 1, 2, bar)
    by_programs = level_sets._by_programs(regions, (0, 1), every, at, 2)
    for index in range(len(regions)):
        affine = regions[index].affine_map
        slopes = affine.matrix[0] - affine.matrix[1]
        values = exact_vertices(regions, index) @ slopes + (affine.offset[0] - affine.offset[1])
        for crossed, doubtful in (by_corners, by_programs):
            if index not in doubtful:
                assert (index in crossed) == bool((values > 0).any() and (values < 0).any())
                assert index in crossed or (values > 0).all() or (values < 0).all()


def test_linear_programs_leave_little_to_rationals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Corners that may be anywhere, so no sign at one is sure: the pieces are the same."""
    network = random_network(8, "generic", 3, 2, 9)
    regions = enumerate_regions(network, Box(-1, 1))
    expected = measure.decision_boundary(regions)
    monkeypatch.setattr(level_sets, "_OFF_ELSEWHERE", 1e6)
    with mock.patch.object(level_sets._Exact, "piece", side_effect=AssertionError):
        found = measure.decision_boundary(regions, workers=2)
    assert len(found) == len(expected) > 5
    assert all((one == two).all() for one, two in zip(found, expected, strict=True))


def test_decision_boundary_in_threads_with_a_limit_and_a_bar(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    regions = enumerate_regions(random_network(1, "generic", 2, 3, 8), Box(-2, 2))
    expected = measure.decision_boundary(regions)
    monkeypatch.setattr(level_sets, "_AT_ONCE", 16)
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    found = measure.decision_boundary(regions, workers=3, progress=True)
    assert len(found) == len(expected)
    for one, two in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-14)
    assert f"{len(regions)}/{len(regions)}" in capsys.readouterr().err
    with pytest.raises(TimeLimitError), time_limit(0):
        measure.decision_boundary(regions)


@pytest.mark.parametrize("engine", ["cells", "halfspaces", "traverse"])
def test_volumes_where_the_facets_of_cells_are_in_doubt(engine: str) -> None:
    """Beyond 3-D, cells that went through exact arithmetic have no facets to walk along."""
    simplex = Polytope([*(-np.eye(4)), np.ones(4)], [0.0, 0.0, 0.0, 0.0, 1.0])
    tube = Box(-1, [1.0, 1.0, 1.0, np.inf])
    for seed, domain in ((2, simplex), (33, simplex), (24, tube), (28, tube)):
        rng = np.random.default_rng(seed)
        weights, bias = rng.integers(-3, 4, (4, 4)) * 0.1, rng.integers(-3, 4, 4) * 0.1
        network = Network.mlp([weights, np.ones((1, 4))], [bias, [0.0]])
        regions = enumerate_regions(network, domain, engine=engine)
        sizes = regions.volumes
        assert (np.isfinite(sizes) == [region.bounded for region in regions]).all()
        if domain is simplex:
            assert sizes.sum() == pytest.approx(1 / 24, rel=1e-12)
            assert np.isfinite(measure.mean(regions)).all()


@pytest.mark.parametrize("engine", ["cells", "halfspaces", "traverse"])
def test_areas_of_thin_regions_that_are_far_out(engine: str) -> None:
    """Two nearly parallel boundaries meet beyond 10^16: rounded corners say nothing of the area."""
    weights = [[0.3, 0.1], [0.6000000000000001, 0.2], [0.1, 0.3]]
    network = Network.mlp([weights, np.ones((1, 3))], [[0.1, 0.3, 0.2], [0.0]])
    regions = enumerate_regions(network, engine=engine)
    assert np.isfinite(regions.volumes).any()
    for region, size in zip(regions, regions.volumes, strict=True):
        assert size == pytest.approx(measure._exact_volume(region), rel=1e-6)


@pytest.mark.parametrize("seed", [397])
def test_areas_between_nearly_parallel_boundaries(seed: int) -> None:
    """Corners far out, as the cells engine has them, made areas wrong by some percent."""
    rng = np.random.default_rng(seed)
    first = rng.normal(size=(4, 2))
    first[1] = first[0] + rng.normal(size=2) * 10.0 ** rng.uniform(-16, -6)
    weights = [first, rng.normal(size=(3, 4)), np.ones((1, 3))]
    network = Network.mlp(weights, [rng.normal(size=4), rng.normal(size=3), np.zeros(1)])
    regions = enumerate_regions(network, engine="cells")
    total = regions.volumes[np.isfinite(regions.volumes)].sum()
    for region, size in zip(regions, regions.volumes, strict=True):
        exact = measure._exact_volume(region)
        assert size == pytest.approx(exact, rel=1e-5, abs=1e-11 * total)


@pytest.mark.parametrize("whole", [False, True])
def test_polygons_of_all_sizes_add_up_in_four_dimensions(whole: bool) -> None:
    """Triangles, quadrilaterals and larger ones have each a way of their own to be measured."""
    rng = np.random.default_rng(41)
    for widths in ((7, 5), (5, 4, 4)):
        sizes = [4, *widths, 1]
        draw = rng.normal if not whole else lambda size: rng.integers(-2, 3, size).astype(float)
        weights = [draw(size=(m, n)) for n, m in pairwise(sizes)]
        network = Network.mlp(weights, [draw(size=len(w)) for w in weights])
        regions = enumerate_regions(network, Box([-2.0] * 4, [2.0] * 4), progress=False)
        sizes_found = regions.volumes
        assert sizes_found.sum() == pytest.approx(4.0**4, rel=1e-12)
        for i in rng.choice(len(regions), 8).tolist():
            exact = measure._exact_volume(regions[i])
            assert sizes_found[i] == pytest.approx(exact, rel=1e-9, abs=1e-11)


@pytest.mark.parametrize("e", [1e-9, 1e-12, 1e-14])
def test_volumes_of_far_regions(e: float) -> None:
    """Three slabs, nearly parallel to one line, meet far out: rounded corners say little there."""
    matrix = np.array([[0.1, 0.2, 0.3], [0.3, -0.1, 0.2], [0.4, 0.1, 0.5 + e]])
    network = Network.mlp([matrix, np.ones((1, 3))], activation="hard_tanh")
    regions = enumerate_regions(network, engine="cells")
    sizes = measure.volumes(regions)
    assert np.isfinite(sizes).sum() == 1
    a, b, c = ([Fraction(x) for x in row] for row in matrix.tolist())
    cross = [b[1] * c[2] - b[2] * c[1], b[2] * c[0] - b[0] * c[2], b[0] * c[1] - b[1] * c[0]]
    exact = 8 / abs(sum(x * y for x, y in zip(a, cross, strict=True)))
    np.testing.assert_allclose(sizes[np.isfinite(sizes)], float(exact), rtol=1e-13)


def test_hulls_in_thin_boxes() -> None:
    """The centroid is as good along a short side as along a long one."""
    sides = np.array([1e-6, 1.0, 1e3, 1e-3])
    points = np.random.default_rng(0).integers(0, 9, (12, 4)).astype(float)
    size, centre = measure._hull(points)
    thin, middle = measure._hull(points * sides + [1e-6, 0, 5.0, 1.0])
    np.testing.assert_allclose(thin, size * np.prod(sides), rtol=1e-10)
    np.testing.assert_allclose(middle - [1e-6, 0, 5.0, 1.0], centre * sides, rtol=1e-8)
