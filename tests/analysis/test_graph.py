"""Neighbours and merged regions, against exact geometry done the slow way."""

from __future__ import annotations

from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import merged_labels, shared_facets
from strategies import KINDS, cancelling_networks, domains, networks, random_network
from tropicell import (
    Affine,
    Box,
    InvalidInputError,
    Layer,
    Network,
    Regions,
    WholeSpace,
    enumerate_regions,
)
from tropicell.analysis import graph
from tropicell.regions import exact_columns


@settings(max_examples=25)
@given(networks(max_inputs=2, max_depth=2))
def test_neighbours_are_the_pairs_that_share_a_facet(network: Network) -> None:
    regions = enumerate_regions(network, Box(-1, 1))
    expected = shared_facets(list(regions))
    assert {tuple(pair) for pair in regions.neighbours.pairs.tolist()} == expected
    for i, region in enumerate(regions):
        assert region.neighbours == sorted({a + b - i for a, b in expected if i in (a, b)})
    for (i, j), changed in zip(
        regions.neighbours.pairs,
        map(regions.neighbours.neurons.__getitem__, range(10**6)),
        strict=False,
    ):
        different = np.flatnonzero(regions.patterns[i] != regions.patterns[j])
        assert changed.tolist() == different.tolist()


def behind_facets(regions: Regions) -> dict[tuple[int, int], list[int]]:
    """Pairs that share a facet, and the neurons that change: every facet in exact arithmetic."""
    found, maps = {}, regions.network.maps("exact")
    for i, region in enumerate(regions):
        for facet in region.facets:
            if all(source.layer for source in facet.sources):
                pattern = graph.pattern_behind(maps, region.cell, facet.row)
                j = regions.find(pattern)
                changed = np.flatnonzero(pattern != region.pattern).tolist()
                assert j is not None
                assert found.setdefault((min(i, j), max(i, j)), changed) == changed
    return found


@settings(max_examples=60)
@given(st.data(), st.integers(0, 2**32 - 1), st.sampled_from(KINDS), st.booleans())
def test_neighbours_need_no_facets(data: st.DataObject, seed: int, kind: str, relu: bool) -> None:
    """From patterns alone, as of regions that the half-spaces engine has found."""
    inputs = data.draw(st.integers(1, 4))
    depth, width = (3, 3) if inputs < 3 else (2, 3)
    network = random_network(seed, kind, inputs, depth, width, relu=relu)
    regions = enumerate_regions(network, data.draw(domains(inputs)), engine="halfspaces")
    assert regions.known("facet_lines") is None
    neighbours, expected = regions.neighbours, behind_facets(regions)
    assert list(map(tuple, neighbours.pairs.tolist())) == sorted(expected)
    for k, pair in enumerate(map(tuple, neighbours.pairs.tolist())):
        assert sorted(neighbours.neurons[k].tolist()) == expected[pair]
    known = enumerate_regions(network, regions.domain, engine="cells")
    places = known.packed.find(regions.patterns)
    others = np.sort(places[neighbours.pairs], axis=1).tolist()
    assert sorted(others) == known.neighbours.pairs.tolist()


@settings(max_examples=40)
@given(st.data(), st.integers(0, 2**32 - 1), st.sampled_from(KINDS), st.booleans())
def test_facets_from_patterns_are_those_of_rationals(
    data: st.DataObject, seed: int, kind: str, relu: bool
) -> None:
    inputs = data.draw(st.integers(1, 4))
    network = random_network(seed, kind, inputs, 2, 3, relu=relu)
    regions = enumerate_regions(network, data.draw(domains(inputs)), engine="halfspaces")
    expected = exact_columns.facet_lines(regions)
    found = regions.prepare(["facet_lines"], workers=2).facet_lines
    assert found.counts.tolist() == expected.counts.tolist()
    assert found.values.tolist() == expected.values.tolist()


def test_facets_of_generic_regions_need_no_rationals() -> None:
    rng = np.random.default_rng(5)
    network = Network.mlp(
        [rng.normal(size=size) for size in ((6, 5), (5, 6), (1, 5))],
        [rng.normal(size=size) for size in (6, 5, 1)],
    )
    regions = enumerate_regions(network, Box(-1, 1), engine="halfspaces")
    exactly = mock.Mock(wraps=exact_columns.facet_lines)
    with mock.patch.object(exact_columns, "facet_lines", exactly):
        assert len(graph.facet_lines(regions)) == len(regions) > 50
    assert len(exactly.call_args.args[1]) <= len(regions) // 20


@pytest.mark.parametrize("workers", [1, 2])
def test_neighbours_of_regions_that_touch_but_share_no_facet(workers: int) -> None:
    """|x| = 1 / 2 apart: both regions are on in layer 2, and differ in one neuron of layer 1."""
    first = Layer(Affine({0: [[1.0, 0.0], [-1.0, 0.0]]}, [0.0, 0.0]), "relu")
    second = Layer(Affine({1: [[1.0, 1.0]]}, [-0.5]), "relu")
    network = Network(2, [first, second], Affine({2: [[1.0]]}))
    for domain in (Box(-1, 1), WholeSpace()):
        regions = enumerate_regions(network, domain, engine="halfspaces")
        found = graph.neighbours(regions, workers=workers)
        assert {tuple(pair) for pair in found.pairs.tolist()} == set(behind_facets(regions))


@pytest.mark.parametrize("seed", [1, 2])
def test_neighbours_in_the_whole_space_are_proved_without_rationals(seed: int) -> None:
    """Boundaries that miss a region are told by weights with which slopes cancel.

    What is left are the neurons of layer 2 that are constant, where all of layer 1 is off.
    """
    rng = np.random.default_rng(seed)
    network = Network.mlp(
        [rng.normal(size=size) for size in ((5, 4), (4, 5), (1, 4))],
        [rng.normal(size=size) for size in (5, 4, 1)],
    )
    regions = enumerate_regions(network, engine="halfspaces")
    exactly = mock.Mock(wraps=graph._behind_shared_boundaries)
    with mock.patch.object(graph, "_behind_shared_boundaries", exactly):
        found = graph.neighbours(regions)
    off = np.flatnonzero(~regions.patterns[:, :5].any(axis=1)).tolist()
    assert exactly.call_args.args[1].tolist() == off * 4
    assert {tuple(pair) for pair in found.pairs.tolist()} == set(behind_facets(regions))


def test_what_is_no_regions_is_refused() -> None:
    network = random_network(3, "generic", 2, 1, 3)
    for ask in (graph.neighbours, graph.facet_lines, graph.merge):
        with pytest.raises(InvalidInputError, match="expected Regions, not Network"):
            ask(network)  # type: ignore[arg-type]


def test_neighbours_of_some_regions_only() -> None:
    network = random_network(3, "generic", 3, 2, 5)
    whole = enumerate_regions(network, Box(-1, 1), engine="halfspaces")
    some = enumerate_regions(network, Box(-1, 1), engine="halfspaces", max_regions=len(whole) // 2)
    assert not some.complete
    places = whole.packed.find(some.patterns)
    inside = {tuple(pair) for pair in whole.neighbours.pairs.tolist() if set(pair) <= set(places)}
    pairs = np.sort(places[some.neighbours.pairs], axis=1).tolist()
    assert {tuple(pair) for pair in pairs} == inside


@given(networks(max_depth=2))
def test_regions_of_a_convex_domain_are_connected(network: Network) -> None:
    regions = enumerate_regions(network)
    graph = regions.to_networkx()
    import networkx

    assert networkx.is_connected(graph)
    assert graph.number_of_nodes() == len(regions)


def test_a_neuron_that_is_constant_on_one_side_only() -> None:
    """relu(relu(x)): crossing x = 0 changes both layers, yet layer 2 has no boundary at x < 0."""
    regions = enumerate_regions(Network.mlp([[[1.0]], [[1.0]], [[1.0]]]))
    assert set(regions.texts()) == {"0|0", "1|1"}
    assert regions.neighbours.pairs.tolist() == [[0, 1]]
    assert regions.neighbours.neurons[0].tolist() == [0, 1]


def test_general_position_has_known_adjacency() -> None:
    """N lines in general position have n² edges between regions in the plane."""
    network = random_network(5, "generic", 2, 0, 1)
    rng = np.random.default_rng(0)
    network = Network.mlp([rng.normal(size=(6, 2)), np.ones((1, 6))], [rng.normal(size=6), [0.0]])
    assert len(enumerate_regions(network).neighbours) == 36


@settings(max_examples=30)
@given(networks(max_inputs=2, max_depth=2))
def test_merged_regions_have_one_map_and_neighbours_of_them_another(network: Network) -> None:
    regions = enumerate_regions(network, Box(-1, 1))
    merged = regions.merged()
    maps = [network.affine_map(pattern) for pattern in regions.patterns]

    def same(i: int, j: int) -> bool:
        return (maps[i].matrix == maps[j].matrix).all() and (maps[i].offset == maps[j].offset).all()

    for index in range(len(merged)):
        members = merged.members(index)
        assert members.size
        assert all(same(members[0], member) for member in members)
    for i, j in regions.neighbours.pairs.tolist():
        assert (merged.labels[i] == merged.labels[j]) == same(i, j)


def test_maximum_of_two_inputs_has_two_merged_regions() -> None:
    """max(x, y) = y + relu(x - y), next to a neuron that the output does not use."""
    layer = Layer(Affine({0: [[1.0, -1.0], [1.0, 1.0]]}))
    network = Network(2, [layer], Affine({0: [[0.0, 1.0]], 1: [[1.0, 0.0]]}))
    regions = enumerate_regions(network)
    assert (len(regions), len(regions.merged())) == (4, 2)


@pytest.mark.parametrize(
    ("output", "count"),
    [
        ([1e12 + 0.5, -1e12, -0.5], 1),
        ([1e16, 1.0, -1e16], 2),  # different maps that float64 takes for equal ones
        ([0.1, 0.2, -0.3], 2),
        ([1.0, 5e-324, -1.0], 2),
        ([2.0**-1000, 2.0**-1040, -(2.0**-1000) - 2.0**-1040], 1),
    ],
)
def test_maps_are_merged_by_what_they_are_not_by_what_is_left_of_them(
    output: list[float], count: int
) -> None:
    """Three neurons relu(x) whose weights cancel, all or nearly."""
    exact = sum(map(Fraction, output)) == 0
    assert exact == (count == 1)
    for deep in (False, True):
        weights = [[[1.0]], [[1.0]] * 3, [output]] if deep else [[[1.0]] * 3, [output]]
        network = Network.mlp(weights)
        assert len(enumerate_regions(network).merged()) == count


@pytest.mark.parametrize("large", [1e8, 1e12, 1e16, 1e200])
def test_equal_maps_that_float64_takes_for_different_ones(large: float) -> None:
    """0.1 relu(x + 10) and, for x > 0, neurons that cancel: 0.1 + 1e16 - 1e16 is 0 in float64."""
    network = Network.mlp([[[1.0]] * 3, [[0.1, large, -large]]], [[10.0, 0.0, 0.0], [0.0]])
    regions = enumerate_regions(network)
    assert sorted(regions.texts()) == ["000", "100", "111"]
    labels = regions.merged().labels
    assert labels[regions.find("100")] == labels[regions.find("111")] != labels[regions.find("000")]


@given(cancelling_networks(max_inputs=2))
def test_merged_regions_under_cancellation(network: Network) -> None:
    regions = enumerate_regions(network, Box(-1, 1))
    pairs = regions.neighbours.pairs.tolist()
    expected = merged_labels(list(regions), pairs)
    labels = regions.merged().labels
    assert len(set(labels.tolist())) == len(set(expected))
    assert len(set(zip(labels.tolist(), expected, strict=True))) == len(set(expected))


def test_a_tolerance_is_no_longer_asked_for() -> None:
    regions = enumerate_regions(Network.mlp([[[1.0]], [[1.0]]]))
    with pytest.warns(DeprecationWarning, match="no tolerance"):
        assert len(graph.merge(regions, tolerance=1e-9)) == 2
