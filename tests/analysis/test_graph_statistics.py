"""Degrees, distances and spectra of dual graphs, against networkx and NumPy."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from searching import random_network
from strategies import domains, networks
from tropicell import (
    Box,
    InvalidInputError,
    Level,
    RegionTracker,
    enumerate_regions,
    f_vectors,
    graph_statistics,
)
from tropicell.analysis import graph_statistics as module
from tropicell.analysis import tracking


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_figures_are_those_of_networkx(data):
    network = data.draw(networks())
    regions = enumerate_regions(network, data.draw(domains(network.n_inputs)))
    found, graph = graph_statistics(regions), regions.to_networkx()
    degrees = [degree for _, degree in sorted(graph.degree)]
    assert found.degrees.tolist() == degrees
    assert found.components == nx.number_connected_components(graph) == 1
    assert found.diameter == (nx.diameter(graph),) * 2
    lengths = dict(nx.all_pairs_shortest_path_length(graph))
    pairs = [lengths[i][j] for i in graph for j in graph if i <= j]
    assert found.distance_counts.tolist() == np.bincount(pairs).tolist()
    assert found.distances(0).tolist() == [lengths[0][j] for j in range(len(regions))]
    spectrum = np.linalg.eigvalsh(nx.laplacian_matrix(graph, nodelist=sorted(graph)).toarray())
    np.testing.assert_allclose(found.spectrum(3), spectrum[:3], atol=1e-9)


def test_the_mean_degree_is_below_its_bound():
    for sizes in ([2, 20, 20, 1], [3, 10, 10, 1], [4, 8, 6, 1]):
        found = graph_statistics(enumerate_regions(random_network(sizes), Box(-3, 3)))
        assert found.degree_bound == 2 * sizes[0]
        assert 1 < found.mean_degree < found.degree_bound
        assert found.summary()["edges"] * 2 == found.degrees.sum()


def test_large_graphs_get_bounds_and_a_sparse_spectrum(monkeypatch):
    regions = enumerate_regions(random_network([2, 24, 24, 1], seed=1), Box(-2, 2))
    exact = graph_statistics(regions)
    low, high = exact.diameter
    monkeypatch.setattr(module, "_ALL_PAIRS", 1)
    monkeypatch.setattr(module, "_DENSE", 1)
    bounds = graph_statistics(regions)
    assert bounds.distance_counts is None
    assert bounds.diameter[0] <= low == high <= bounds.diameter[1]
    assert bounds.diameter[0] >= low - 2
    assert bounds.diameter[1] < 2 * high
    np.testing.assert_allclose(bounds.spectrum(5), exact.spectrum(5), atol=1e-8)


def test_faces_layer_by_layer():
    network = random_network([2, 5, 4, 1], seed=3)
    regions = enumerate_regions(network, Box(-1, 1))
    found = f_vectors(regions)
    assert found[-1] == regions.complex().f_vector
    first = enumerate_regions(network.first_layers(1), Box(-1, 1))
    assert found[0] == first.complex().f_vector
    assert [vertices - edges + cells for vertices, edges, cells in found] == [1, 1]


def test_faces_while_training():
    networks = iter([random_network([2, 4, 1], seed=1), random_network([2, 6, 1], seed=2)])
    tracker = RegionTracker(lambda: next(networks), Box(-1, 1), faces=True)
    for step in range(2):
        values = tracker.record(step).values
        assert values["faces_2"] == tracker.counts[-1]
        assert values["faces_0"] - values["faces_1"] + values["faces_2"] == 1
    deep = random_network([2, 5, 4, 1], seed=3)
    values = RegionTracker(lambda: deep, Box(-1, 1), faces="layers").record(0).values
    for layer, counts in enumerate(f_vectors(enumerate_regions(deep, Box(-1, 1))), 1):
        assert [values[f"layer_{layer}_faces_{k}"] for k in range(3)] == list(counts)
    assert [values[f"faces_{k}"] for k in range(3)] == list(counts)
    short = RegionTracker(
        lambda: random_network([2, 30, 30, 1]), Box(-1, 1), faces=True, max_seconds=0.0
    )
    assert not short.record(0).complete
    assert not short.record(0).values
    with pytest.raises(InvalidInputError, match="'layers'"):
        RegionTracker(lambda: deep, Box(-1, 1), faces="each")


def test_no_time_is_left_for_faces(monkeypatch):
    """The regions are counted all the same."""
    network = random_network([2, 4, 1], seed=1)
    tracker = RegionTracker(lambda: network, Box(-1, 1), faces=True, max_seconds=60.0)
    late = tracking.time_limit
    monkeypatch.setattr(tracking, "time_limit", lambda seconds: late(0.0 * seconds))
    found = tracker.record(0)
    assert found.complete
    assert found.count == len(enumerate_regions(network, Box(-1, 1)))
    assert not found.values


def test_a_part_is_refused():
    network = random_network([2, 8, 1])
    for options in ({"max_regions": 3}, {"where": Level(0.0)}):
        with pytest.raises(InvalidInputError, match="all regions"):
            graph_statistics(enumerate_regions(network, Box(-1, 1), **options))
    found = graph_statistics(enumerate_regions(network, Box(-1, 1)))
    with pytest.raises(InvalidInputError, match="there is no"):
        found.distances(-1)
    with pytest.raises(InvalidInputError, match="count"):
        found.spectrum(0)
