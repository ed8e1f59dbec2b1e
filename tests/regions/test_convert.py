"""Tables, graphs and shapes of all regions against versions that take region by region."""

from __future__ import annotations

import networkx
import numpy as np
import pandas
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import domains, networks, random_network
from tropicell import (
    Box,
    InvalidInputError,
    InvalidPatternError,
    Level,
    Network,
    Regions,
    TimeLimitError,
    enumerate_regions,
    time_limit,
)
from tropicell._runtime import progress
from tropicell.geometry.arithmetic import to_floats
from tropicell.network.activations import piecewise
from tropicell.network.patterns import to_text, to_texts
from tropicell.regions import convert
from tropicell.regions.columns import PackedPatterns
from tropicell.regions.convert import polygons


def slow_graph(regions: Regions) -> networkx.Graph:
    graph = networkx.Graph()
    for index, pattern in enumerate(regions.patterns):
        graph.add_node(index, pattern=to_text(pattern, regions.network.widths))
    found = regions.neighbours
    for index, (i, j) in enumerate(found.pairs.tolist()):
        graph.add_edge(i, j, neurons=found.neurons[index].tolist())
    return graph


def slow_table(regions: Regions) -> pandas.DataFrame:
    rows = []
    for i, pattern in enumerate(regions.patterns):
        row = {
            "pattern": to_text(pattern, regions.network.widths),
            "bounded": bool(regions.bounded[i]),
            "volume": float(regions.volumes[i]),
            "facets": len(regions.facet_lines[i]),
        }
        point = to_floats(regions.witnesses[i])
        row |= {f"x{k + 1}": float(x) for k, x in enumerate(point)}
        for output, columns in enumerate(regions.affine_maps[i]):
            names = [*(f"x{k + 1}" for k in range(len(point))), "1"]
            row |= {f"y{output + 1}/{n}": float(v) for n, v in zip(names, columns, strict=True)}
        rows.append(row)
    return pandas.DataFrame(rows)


@given(st.data(), networks(max_inputs=3))
def test_graphs_and_tables(data: st.DataObject, network: Network) -> None:
    regions = enumerate_regions(network, data.draw(domains(network.n_inputs)))
    expected = slow_graph(regions)
    graph = regions.to_networkx()
    assert dict(graph.nodes(data=True)) == dict(expected.nodes(data=True))
    assert list(graph.edges(data=True)) == list(expected.edges(data=True))
    table = slow_table(regions)
    if len(regions):
        pandas.testing.assert_frame_equal(regions.to_dataframe(), table)
    arrow = regions.to_arrow()
    assert arrow.num_rows == len(regions)
    assert arrow["facets"].to_pylist() == [
        regions.facet_lines[i].tolist() for i in range(len(regions))
    ]
    assert arrow["corners"].to_pylist() == [
        regions.corners[i].tolist() for i in range(len(regions))
    ]
    for name in table.columns.drop("facets", errors="ignore"):
        assert arrow[name].to_pylist() == table[name].tolist()


def test_polars_and_geopandas() -> None:
    network = Network.mlp([np.array([[1.0, 2.0], [-3.0, 1.0], [1.0, 0.0]]), np.ones((2, 3))])
    regions = enumerate_regions(network, Box(-1, 1))
    table, frame, shapes = regions.to_arrow(), regions.to_polars(), regions.to_geopandas()
    assert frame.columns == table.column_names
    assert frame.to_dict(as_series=False) == table.to_pydict()
    assert shapes.drop(columns="geometry").equals(regions.to_dataframe())
    np.testing.assert_allclose(shapes.area, regions.volumes)


def test_notebooks_show_networks_and_regions() -> None:
    network = Network.mlp([np.eye(3), np.ones((10, 3))], [np.zeros(3), np.arange(10.0)])
    shown = network._repr_html_()
    assert "3 in 1 layers" in shown
    assert "relu" in shown
    region = enumerate_regions(network)[0]._repr_html_()
    assert "y1 = 0" in region
    assert "… 2 more" in region
    assert "WholeSpace()" in region
    part = enumerate_regions(network, max_regions=2)
    assert "at least 2" in part._repr_html_()


@given(networks(max_inputs=2))
def test_shapes(network: Network) -> None:
    regions = enumerate_regions(network, Box(-1, 1))
    if network.n_inputs != 2:
        with pytest.raises(InvalidInputError, match="polygons need 2 inputs"):
            regions.to_shapely()
        return
    expected = [shapely.Polygon(regions.corners[i][:, :2]) for i in range(len(regions))]
    found = regions.to_shapely()
    assert len(found) == len(expected)
    assert all(one.equals_exact(two) for one, two in zip(found, expected, strict=True))
    for i, polygon in enumerate(polygons(regions)):
        np.testing.assert_array_equal(polygon, regions.corners[i][:, :2])


@given(networks(max_depth=3))
def test_coarser_subdivisions_come_in_the_order_of_their_patterns(network: Network) -> None:
    regions = enumerate_regions(network, Box(-1, 1))
    for layer in range(network.depth + 1):
        neurons = sum(network.widths[:layer])
        prefixes, first = np.unique(regions.patterns[:, :neurons], axis=0, return_index=True)
        coarse = regions.after_layer(layer)
        np.testing.assert_array_equal(coarse.patterns, prefixes)
        np.testing.assert_array_equal(coarse.witnesses, regions.witnesses[first])
        assert coarse.packed.bits == PackedPatterns.bits_for(coarse.network.pieces)


@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.integers(0, 150))
@settings(max_examples=50)
def test_patterns_are_sorted_and_cut_with_any_number_of_bits(
    seed: int, bits: int, neurons: int
) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, min(3, 2**bits), size=(40, neurons)).astype(np.uint8)
    rows[20:] = np.where(rng.random((20, neurons)) < 0.1, rows[20:], rows[:20])
    packed = PackedPatterns.pack(rows, bits)
    expected = np.lexsort(rows.T[::-1]) if neurons else np.arange(40)
    np.testing.assert_array_equal(packed.sorted(), expected)
    for first in {0, neurons // 2, neurons}:
        np.testing.assert_array_equal(packed.first_neurons(first)[:], rows[:, :first])
    np.testing.assert_array_equal(packed.with_bits(8)[:], rows)


def test_a_coarser_subdivision_of_some_regions_is_not_all_of_it() -> None:
    """Regions of a search with `where` are complete, but do not cover the domain."""
    network = Network.mlp([[[1.0], [1.0]], [[1.0, 1.0]]], [[0.0, -1.0], [0.0]])
    regions = enumerate_regions(network, Box(-2, 2), where=Level(2.0))
    coarse = regions.after_layer(1)
    assert (coarse.complete, coarse.covers) == (True, False)
    proof = coarse.certify()
    assert (proof.ok, proof.complete) == (True, False)
    assert not coarse[[0]].covers
    wide = Network.mlp(
        [[[1.0, 2.0, 3.0]], [[1.0], [2.0]], [[1.0, 1.0]]], [[0.0], [0.0, -1.0], [0.0]]
    )
    lifted = enumerate_regions(wide, Box(-2, 2), where=Level(2.0)).after_layer(1)
    assert lifted.complete
    assert not lifted.covers
    whole = enumerate_regions(network, Box(-2, 2)).after_layer(1)
    assert whole.covers
    assert whole.stats == {"arithmetic": "exact"}


def test_texts_of_many_pieces() -> None:
    bends = np.arange(39.0)
    steps = piecewise(bends, np.arange(40) % 2, _intercepts(bends))
    network = Network.mlp([[[1.0]], [[1.0]]], activation=steps)
    few = enumerate_regions(network, Box(-1, 30))
    assert few.texts() == [to_text(pattern, network.widths) for pattern in few.patterns]
    assert "u" in few.texts()
    many = enumerate_regions(network, Box(-1, 60))
    with pytest.raises(InvalidPatternError, match="has no digit"):
        many.texts()
    assert to_texts(np.empty((0, 3), np.uint8), [2, 1]) == []
    assert to_texts(np.empty((2, 0), np.uint8), []) == ["", ""]


def _intercepts(bends: np.ndarray) -> np.ndarray:
    """What makes the pieces with slopes 0, 1, 0, 1, … continuous."""
    found = [0.0]
    for k, bend in enumerate(bends):
        found.append(found[-1] + (k % 2 - (k + 1) % 2) * bend)
    return np.array(found)


def test_no_regions_at_all() -> None:
    nothing = enumerate_regions(Network.mlp([[[1.0, 0.0]], [[1.0]]]), Box(-1, 1), max_regions=0)
    assert nothing.to_networkx().number_of_nodes() == 0
    assert nothing.to_arrow().num_rows == len(nothing.to_dataframe()) == 0
    assert nothing.to_shapely() == nothing.texts() == []


def test_graphs_and_shapes_are_made_in_parts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    regions = enumerate_regions(random_network(2, "generic", 2, 2, 8), Box(-1, 1))
    shapes = regions.to_shapely()
    monkeypatch.setattr(convert, "_OBJECTS", 7)
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    graph, expected = regions.to_networkx(progress=True), slow_graph(regions)
    assert list(graph.nodes(data=True)) == list(expected.nodes(data=True))
    assert list(graph.edges(data=True)) == list(expected.edges(data=True))
    assert "nodes and edges" in capsys.readouterr().err
    assert regions.to_shapely() == shapes
    for work in (regions.to_networkx, regions.to_shapely, regions.texts):
        with pytest.raises(TimeLimitError), time_limit(0):
            work()


def test_tables_are_the_same_in_threads_and_show_a_bar(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """From patterns alone: all columns are worked out here."""
    network = random_network(3, "generic", 3, 2, 5)
    tables = [enumerate_regions(network, Box(-1, 1), engine="halfspaces") for _ in range(2)]
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    one = tables[0].to_dataframe(progress=False)
    full = f"{len(one)}/{len(one)}"
    assert full not in capsys.readouterr().err
    two = tables[1].to_dataframe(workers=3, progress=True)
    assert one.equals(two)
    assert full in capsys.readouterr().err
    with pytest.raises(InvalidInputError, match="workers"):
        enumerate_regions(network, Box(-1, 1)).to_arrow(workers=0)
