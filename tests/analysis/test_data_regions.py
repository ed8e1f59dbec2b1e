"""Distances to the regions of data, against counting neuron by neuron and walking the graph."""

from __future__ import annotations

from itertools import pairwise

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import networks, random_network
from tropicell import (
    Box,
    DataRegions,
    InvalidInputError,
    Network,
    TimeLimitError,
    auroc,
    enumerate_regions,
    occupancy,
    time_limit,
)
from tropicell._runtime import progress
from tropicell.analysis import data_regions
from tropicell.analysis.graph import path_lengths

seeds = st.integers(0, 2**32 - 1)


def differing_neurons(network: Network, points: np.ndarray, data: np.ndarray) -> np.ndarray:
    """In how many neurons each point (row) differs from each data point (column)."""
    return (network.patterns(points)[:, None, :] != network.patterns(data)[None]).sum(axis=2)


def layered(sizes: list[int], activation: str = "relu") -> Network:
    """A network of these widths with normally distributed weights."""
    rng = np.random.default_rng(sum(sizes))
    weights = [rng.normal(size=(n, m)) for m, n in pairwise(sizes)]
    biases = [rng.normal(size=n) for n in sizes[1:]]
    return Network.mlp(weights, biases, activation=activation)


# --- distances ----------------------------------------------------------------------------------


@given(networks(max_depth=4, max_width=30), seeds, st.sampled_from([1, 2, 3]))
def test_distance_is_the_smallest_number_of_flips(
    network: Network, seed: int, workers: int
) -> None:
    rng = np.random.default_rng(seed)
    data = rng.normal(size=(int(rng.integers(1, 40)), network.n_inputs))
    points = rng.normal(size=(int(rng.integers(0, 40)), network.n_inputs)) * rng.choice([1, 5])
    points[::3] = data[0]
    known = DataRegions(network, data)
    flips = differing_neurons(network, points, data).min(axis=1)
    assert known.distance(points, workers=workers).tolist() == flips.tolist()
    nearest = known.nearest(points, workers=workers)
    changed = network.patterns(points) != known.packed[nearest]
    assert changed.sum(axis=1).tolist() == flips.tolist()


@pytest.mark.parametrize(
    ("widths", "activation"), [([30, 20], "relu"), ([60, 70], "relu"), ([30, 20], "hard_tanh")]
)
def test_many_blocks_of_data(
    widths: list[int], activation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More data than fit one block, with far and near queries."""
    network = layered([12, *widths, 2], activation)
    rng = np.random.default_rng(0)
    data, points = rng.normal(size=(3000, 12)), rng.normal(size=(400, 12))
    points[:200] = data[:200] + rng.normal(size=(200, 12)) * 0.05
    points[300:] *= 100
    known = DataRegions(network, data)
    assert len(known) > 2000
    expected = np.concatenate(
        [differing_neurons(network, part, data).min(axis=1) for part in np.split(points, 10)]
    )
    assert len(set(expected.tolist())) > 5
    assert known.distance(points, workers=2).tolist() == expected.tolist()
    monkeypatch.setattr("tropicell.analysis.data_regions._BATCH", 10_000)
    assert DataRegions(network, data).distance(points).tolist() == expected.tolist()


def test_neurons_with_many_pieces_count_once() -> None:
    network = Network.mlp([[[1.0], [2.0]], [[1.0, 1.0]]], activation=["hard_tanh"])
    known = DataRegions(network, [[-5.0]])
    assert known.distance([[-5.0], [-0.7], [0.0], [5.0]]).tolist() == [0, 1, 2, 2]


@given(networks(), seeds)
def test_regions_and_counts(network: Network, seed: int) -> None:
    data = np.random.default_rng(seed).normal(size=(50, network.n_inputs))
    known = DataRegions(network, data)
    patterns, counts = np.unique(network.patterns(data), axis=0, return_counts=True)
    expected = {p.tobytes(): c for p, c in zip(patterns, counts, strict=True)}
    found = zip(known.packed[:], known.counts, strict=True)
    assert {p.tobytes(): c for p, c in found} == expected
    np.testing.assert_array_equal(network.patterns(known.points), known.packed[:])
    assert not known.distance(data).any()


def test_bad_arguments() -> None:
    network = random_network(0, "generic", 2, 2, 3)
    with pytest.raises(InvalidInputError, match="no data points"):
        DataRegions(network, np.empty((0, 2)))
    with pytest.raises(InvalidInputError, match="point 1 has the value inf at input 0"):
        DataRegions(network, [[0.0, 0.0], [np.inf, 0.0]])
    with pytest.raises(InvalidInputError, match="workers"):
        DataRegions(network, [[0.0, 0.0]]).distance([[1.0, 1.0]], workers=0)


# --- paths --------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(networks(max_inputs=2, max_depth=2), seeds)
def test_path_lengths_are_those_of_the_region_graph(network: Network, seed: int) -> None:
    rng = np.random.default_rng(seed)
    regions = enumerate_regions(network, Box(-2, 2))
    data, points = (rng.uniform(-2, 2, size=(count, network.n_inputs)) for count in (3, 20))
    sources = set(regions.locate(data).tolist())
    lengths = networkx.multi_source_dijkstra_path_length(regions.to_networkx(), sources)
    expected = [lengths[i] for i in regions.locate(points).tolist()]
    known = DataRegions(network, data)
    assert known.path_length(points, regions).tolist() == expected
    assert known.path_length(np.full((1, network.n_inputs), 9.0), regions).tolist() == [-1]


def test_a_path_is_at_least_as_long_as_the_flips_in_general_position() -> None:
    network = layered([2, 10, 10, 1])
    regions = enumerate_regions(network)
    rng = np.random.default_rng(0)
    known = DataRegions(network, rng.normal(size=(10, 2)) * 0.1)
    points = rng.normal(size=(300, 2)) * 5
    lengths, flips = known.path_length(points, regions), known.distance(points)
    assert (lengths >= flips).all()
    assert flips.max() > 3
    assert ((lengths == 0) == (flips == 0)).all()


def test_parts_that_are_not_connected() -> None:
    """Where not all regions were found, some may be out of reach."""
    network = Network.mlp([[[1.0]] * 5, [[1.0] * 5]], [-np.arange(5.0), [0.0]])
    regions = enumerate_regions(network, engine="traverse")
    middle = regions.find("11100")
    from tropicell import Regions
    from tropicell.regions.columns import PackedPatterns

    kept = np.delete(np.arange(6), middle)
    packed = PackedPatterns.pack(regions.patterns[kept], 1)
    parts = Regions(network, regions.domain, packed, regions.witnesses[kept], complete=False)
    start = parts.find("00000")
    lengths = path_lengths(parts, [start])
    reached = dict(zip(parts.texts(), lengths.tolist(), strict=True))
    assert reached == {"00000": 0, "10000": 1, "11000": 2, "11110": -1, "11111": -1}


def test_regions_of_another_network_or_place_are_refused() -> None:
    network = random_network(0, "generic", 2, 2, 3)
    known = DataRegions(network, [[0.0, 0.0]])
    other = enumerate_regions(random_network(1, "generic", 2, 2, 3), Box(-1, 1))
    with pytest.raises(InvalidInputError, match="another network"):
        known.path_length([[0.0, 0.0]], other)
    with pytest.raises(InvalidInputError, match="none of the 1 data regions"):
        known.path_length([[0.0, 0.0]], enumerate_regions(network, Box(5, 6)))


# --- tables and scores --------------------------------------------------------------------------


@given(networks(), seeds)
def test_occupancy_counts_points_and_classes(network: Network, seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(40, network.n_inputs))
    labels = rng.choice(["x", "y", "z"], size=40)
    patterns = [network.parse_pattern(p).tobytes() for p in network.patterns(points)]
    table = occupancy(network, points, labels)
    assert table["points"].tolist() == sorted(table["points"], reverse=True)
    assert table["points"].sum() == 40
    for _, row in table.iterrows():
        pattern = network.parse_pattern(row["pattern"]).tobytes() if network.depth else b""
        inside = labels[[p == pattern for p in patterns]].tolist()
        assert row["points"] == len(inside)
        for name in set(labels.tolist()):
            assert row[name] == inside.count(name)
        assert row["purity"] == inside.count(row["class"]) / len(inside)
        assert inside.count(row["class"]) == max(map(inside.count, inside))
    classes = occupancy(network, points, labels, by="class")
    assert classes["points"].to_dict() == {
        name: labels.tolist().count(name) for name in classes.index
    }
    for name in classes.index:
        assert classes.loc[name, "regions"] == (table[name] > 0).sum()
        assert classes.loc[name, "own"] == (table[name] == table["points"]).sum()
        right = table.loc[table["class"] == name, name].sum()
        assert classes.loc[name, "purity"] == right / table[name].sum()
    plain = occupancy(network, points)
    assert list(plain.columns) == ["pattern", "points"]


def test_occupancy_of_nothing_and_bad_arguments() -> None:
    network = random_network(0, "generic", 2, 2, 3)
    assert len(occupancy(network, np.empty((0, 2)))) == 0
    assert len(occupancy(network, np.empty((0, 2)), [])) == 0
    with pytest.raises(InvalidInputError, match="one label for each"):
        occupancy(network, [[0.0, 0.0]], [1, 2])
    with pytest.raises(InvalidInputError, match="by must be"):
        occupancy(network, [[0.0, 0.0]], by="layer")
    with pytest.raises(InvalidInputError, match="labels"):
        occupancy(network, [[0.0, 0.0]], by="class")


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=20),
    st.lists(st.integers(0, 5), min_size=1, max_size=20),
)
def test_auroc_is_the_part_of_pairs_in_order(inside: list[int], outside: list[int]) -> None:
    a, b = np.array(inside), np.array(outside)[:, None]
    assert auroc(a, b) == pytest.approx(((b > a) + 0.5 * (b == a)).mean())


def test_auroc_needs_scores() -> None:
    with pytest.raises(InvalidInputError, match="outside"):
        auroc([1.0], [])
    with pytest.raises(InvalidInputError, match="inside"):
        auroc([np.nan], [1.0])


def test_data_in_threads_with_a_bar_and_a_limit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    network = layered([3, 20, 20, 1])
    rng = np.random.default_rng(0)
    data, points = rng.normal(size=(300, 3)), rng.normal(size=(200, 3))
    known = DataRegions(network, data)
    expected = known.distance(points)
    monkeypatch.setattr(data_regions, "_BATCH", 500)
    monkeypatch.setattr(data_regions, "_COMPARISONS", 500)
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    again = DataRegions(network, data, workers=3, progress=True)
    np.testing.assert_array_equal(again.packed.words, known.packed.words)
    np.testing.assert_array_equal(again.distance(points, workers=2, progress=True), expected)
    shown = capsys.readouterr().err
    assert "300/300" in shown
    assert "patterns" in shown
    for work in (lambda: DataRegions(network, data), lambda: known.distance(points)):
        with pytest.raises(TimeLimitError), time_limit(0):
            work()
