"""Pictures, by their geometry: what is drawn covers the frame exactly once, in the right place."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import KINDS, domains
from strategies import random_network as any_network
from tropicell import (
    Box,
    Network,
    Polytope,
    Region,
    Regions,
    Slice,
    WholeSpace,
    enumerate_regions,
    plotting,
)
from tropicell.analysis.measure import decision_boundary
from tropicell.errors import InvalidInputError
from tropicell.plotting import (
    plot_boundaries,
    plot_decision_boundary,
    plot_function,
    plot_points,
    plot_regions,
    plot_slices,
    plot_surface,
    plot_walkthrough,
)
from tropicell.plotting.colors import PALETTE, color_names, color_numbers
from tropicell.plotting.frame import ON_LINE, cut, polygons_in, window_of
from tropicell.plotting.graphs import surface_pieces
from tropicell.plotting.plane import boundary_edges, level_segments, paths_of

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _closed_figures() -> Iterator[None]:
    yield
    matplotlib.pyplot.close("all")


def random_network(sizes: list[int], seed: int, **options: object) -> Network:
    rng = np.random.default_rng(seed)
    shapes = [(n, m) for m, n in pairwise(sizes)]
    weights = [rng.normal(size=shape) for shape in shapes]
    return Network.mlp(weights, [rng.normal(size=n) for n, _ in shapes], **options)


def area(polygon: np.ndarray) -> float:
    x, y = (polygon - polygon[0]).T
    return float(abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2)


def drawn(ax: matplotlib.axes.Axes) -> list[np.ndarray]:
    """The polygons of the first collection, without the repeated first corner."""
    return [path.vertices[:-1] for path in ax.collections[0].get_paths()]


NETWORKS = {
    "generic": random_network([2, 6, 6, 1], 0),
    "skips": random_network([2, 5, 5, 5, 2], 1, skips=[(1, 3), (1, 4)], activation="hard_tanh"),
    "no bias": Network.mlp([[[1.0, 2.0], [2.0, -1.0], [1.0, 2.0]], [[1.0, 1.0, 1.0]]]),
    "strips": Network.mlp([[[1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0]]], [[0.0, 1.0], [0.0]]),
    "one region": Network.mlp([[[0.0, 0.0]], [[1.0]]], [[1.0], [0.0]]),
}


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("window", [None, Box(-2, 2), Box([0.5, -3], [4, 0.25])])
@pytest.mark.parametrize("domain", [WholeSpace(), Box(-3, 3)])
def test_polygons_cover_the_frame_exactly_once(name: str, window: Box, domain: object) -> None:
    regions = enumerate_regions(NETWORKS[name], domain)
    ax = plot_regions(regions, window=window)
    low, high = window_of(regions, window)
    assert (*ax.get_xlim(), *ax.get_ylim()) == (low[0], high[0], low[1], high[1])
    ragged, rows = polygons_in(regions, low, high)
    polygons = [ragged[i] for i in range(len(ragged))]
    assert len(drawn(ax)) == len(polygons)
    total = sum(map(area, drawn(ax)))
    if isinstance(domain, Box):
        low, high = np.maximum(low, -3), np.minimum(high, 3)
    assert total == pytest.approx(np.prod(high - low), rel=1e-9)
    # Each lies in its own region, so none lies on another: middles have the region's pattern.
    for polygon, row in zip(polygons, rows, strict=True):
        if area(polygon) > 1e-6:
            middle = polygon.mean(axis=0)[None]
            assert (regions.network.patterns(middle)[0] == regions.packed[row]).all()
        assert (polygon >= low - 1e-9).all()
        assert (polygon <= high + 1e-9).all()


def test_unbounded_polytopes_and_slices_are_cut_to_the_frame() -> None:
    half_plane = Polytope([[-1.0, 0.0]], [0.0])
    regions = enumerate_regions(NETWORKS["generic"], half_plane)
    ax = plot_regions(regions, window=Box(-1, 1))
    assert sum(map(area, drawn(ax))) == pytest.approx(2)
    plane = Slice(np.zeros(5), np.eye(5)[:2] + 1)
    ax = plot_regions(enumerate_regions(random_network([5, 6, 1], 3), plane), window=Box(-2, 2))
    assert sum(map(area, drawn(ax))) == pytest.approx(16)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("t1", "t2")


def test_what_is_not_there_is_not_drawn() -> None:
    part = enumerate_regions(NETWORKS["generic"], Box(-2, 2), max_regions=5)
    assert not part.complete
    assert len(drawn(plot_regions(part))) == 5
    nothing = enumerate_regions(NETWORKS["generic"], Box(-2, 2), max_regions=0)
    for picture in (plot_regions, plot_boundaries, plot_decision_boundary, plot_surface):
        picture(nothing)
    plot_regions(nothing, color="area")


def test_a_picture_says_that_regions_are_missing() -> None:
    network = Network.mlp([[[1.0, 2.0], [2.0, -1.0]], [[1.0, 1.0]]])
    found = enumerate_regions(network, Box(-1, 1), max_regions=2)
    assert plot_regions(found).get_title() == "at least 2 linear regions"
    assert plot_regions(enumerate_regions(network, Box(-1, 1))).get_title() == ""


def test_cutting_keeps_corners_in_order() -> None:
    angles = np.linspace(0, 2 * np.pi, 7, endpoint=False)
    polygon = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    rng = np.random.default_rng(0)
    for _ in range(50):
        a, b = rng.normal(size=2), rng.normal() / 2
        parts = [cut(polygon, a, b), cut(polygon, -a, -b)]
        assert sum(area(part) for part in parts if len(part)) == pytest.approx(area(polygon))
    assert len(cut(polygon, np.array([1.0, 0.0]), -2.0)) == 0


@pytest.mark.parametrize("name", NETWORKS)
def test_neighbours_have_different_colours_in_every_run(name: str) -> None:
    regions = enumerate_regions(NETWORKS[name])
    numbers = color_numbers(regions)
    pairs = regions.neighbours.pairs
    assert (numbers[pairs[:, 0]] != numbers[pairs[:, 1]]).all()
    assert len(set(color_names(np.arange(10)))) == 10
    again = enumerate_regions(NETWORKS[name], engine="traverse")
    found = color_numbers(again)[[again.find(text) for text in regions.texts()]]
    assert (found == numbers).all()


def test_more_neighbours_than_colours() -> None:
    # A big cell with 40 sides: every side has a neighbour.
    angles = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    normals = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    regions = enumerate_regions(Network.mlp([normals, np.ones((1, 40))], [-np.ones(40), None]))
    numbers = color_numbers(regions)
    pairs = regions.neighbours.pairs
    assert (numbers[pairs[:, 0]] != numbers[pairs[:, 1]]).all()
    assert len(color_names(numbers)) == len(regions)


@given(seed=st.integers(0, 2**31))
@settings(max_examples=15)
def test_values_are_shaded_as_they_are(seed: int) -> None:
    network = random_network([2, 5, 4, 2], seed)
    shown = plot_regions(enumerate_regions(network, Box(-2, 2)), color="value", output=1)
    mesh = shown.collections[0]
    (x, y), values = (mesh._triangulation.x, mesh._triangulation.y), mesh.get_array()
    corners = np.stack([x, y], axis=1).reshape(-1, 3, 2)
    at_corners = values.reshape(-1, 3)
    expected = network(corners.reshape(-1, 2))[:, 1].reshape(-1, 3)
    np.testing.assert_allclose(at_corners, expected, rtol=1e-9, atol=1e-9)
    # The value is linear on each triangle, so that nothing else can be seen between its corners.
    middle = network(corners.mean(axis=1))[:, 1]
    np.testing.assert_allclose(at_corners.mean(axis=1), middle, rtol=1e-9, atol=1e-9)
    edges = np.diff(corners, axis=1)
    area = np.abs(edges[:, 0, 0] * edges[:, 1, 1] - edges[:, 0, 1] * edges[:, 1, 0]).sum() / 2
    assert area == pytest.approx(16)
    assert np.ptp(at_corners, axis=1).max() <= np.ptp(values) / 12 * (1 + 1e-9)
    matplotlib.pyplot.close(shown.figure)


@pytest.mark.parametrize("color", ["gradient", "area", "neighbours"])
def test_colours_are_the_numbers_they_stand_for(color: str) -> None:
    network = Network.mlp([[[3.0, 4.0]], [[1.0]]])
    regions = enumerate_regions(network)
    values = plot_regions(regions, color=color).collections[0].get_array()
    expected = {
        "gradient": [0.0, 5.0] if regions.patterns[0, 0] == 0 else [5.0, 0.0],
        "neighbours": [1, 1],
    }
    if color == "area":
        assert values.mask.all()
    else:
        assert values.tolist() == pytest.approx(list(expected[color]))


@pytest.mark.parametrize("name", NETWORKS)
def test_boundaries_lie_where_their_layer_bends(name: str) -> None:
    network = NETWORKS[name]
    low, high = np.array([-2.5, -2.0]), np.array([2.0, 2.5])
    segments, layers = boundary_edges(enumerate_regions(network), low, high)
    starts = np.cumsum([0, *network.widths])
    for (start, end), layer in zip(segments, layers, strict=True):
        if np.linalg.norm(end - start) < 1e-4:
            continue
        across = np.array([start[1] - end[1], end[0] - start[0]])
        across *= 1e-6 / np.linalg.norm(across)
        middle = (start + end) / 2
        one, two = network.patterns([middle - across, middle + across])
        assert np.searchsorted(starts, np.flatnonzero(one != two)[0], side="right") == layer


def test_every_boundary_is_drawn_once() -> None:
    regions = enumerate_regions(NETWORKS["generic"], Box(-2, 2))
    ax = plot_boundaries(regions)
    segments = np.concatenate([lines.get_segments() for lines in ax.collections])
    assert len(segments) == len(regions.neighbours)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["layer 1", "layer 2"]


def test_decision_boundaries_are_those_of_measure() -> None:
    network = random_network([2, 8, 8, 2], 2)
    regions = enumerate_regions(network, Box(-3, 3))
    drawn_segments = plot_decision_boundary(regions).collections[0].get_segments()
    expected = decision_boundary(regions)
    assert np.allclose(sorted(np.ravel(drawn_segments)), sorted(np.ravel(expected)))
    everywhere = plot_decision_boundary(enumerate_regions(network), window=Box(-3, 3))
    framed = everywhere.collections[0].get_segments()
    assert np.allclose(sorted(np.ravel(framed)), sorted(np.ravel(expected)))
    values = network(np.concatenate(framed))
    assert np.allclose(values[:, 0], values[:, 1])


def test_functions_go_through_all_breakpoints() -> None:
    network = random_network([1, 6, 6, 2], 5)
    ax = plot_function(network, window=Box(-3, 3))
    curve, dots = ax.lines[0].get_xydata(), ax.lines[1].get_xydata()
    x = np.linspace(-3, 3, 1001)
    assert np.allclose(np.interp(x, *curve.T), network(x[:, None])[:, 0])
    assert len(dots) == len(enumerate_regions(network, Box(-3, 3))) - 1
    low, high = plot_function(enumerate_regions(network), output=1).get_xlim()
    assert low < high


def test_surfaces_have_the_network_as_height() -> None:
    network = NETWORKS["skips"]
    low, high = np.array([-1.0, -1.0]), np.array([1.0, 1.0])
    for output in (0, 1):
        pieces, _ = surface_pieces(enumerate_regions(network), output, low, high)
        corners = np.concatenate(pieces)
        assert np.allclose(network(corners[:, :2])[:, output], corners[:, 2])
        assert sum(area(piece[:, :2]) for piece in pieces) == pytest.approx(4)
    for color in ("value", "pattern"):
        ax = plot_surface(network, window=Box(-1, 1), color=color, output=1)
        assert ax.get_zlim() == pytest.approx((corners[:, 2].min(), corners[:, 2].max()))


@pytest.mark.parametrize(("bias", "empty"), [([3, -11 / 4], False), ([-4, 1], True)])
def test_the_papers_walkthrough(bias: list[float], empty: bool) -> None:
    weights = [[[-4, 1], [-4, -1]], [[-8, 3], [-21 / 4, 19 / 4]], [[1, 1]]]
    network = Network.mlp(weights, [[2, 3], bias, [0]])
    axes = plot_walkthrough(network, "11|10")
    assert len(axes) == 4
    assert axes[-1].get_title().endswith(": empty") == empty
    left = [patch.get_path().vertices[:-1] for patch in axes[-1].patches]
    assert len(left) == (1 if empty else 2)
    if not empty:
        corners = {(51 / 178, 14 / 89), (21 / 38, 4 / 19), (5 / 8, 1 / 2), (37 / 64, 11 / 16)}
        assert np.allclose(sorted(map(tuple, left[1])), sorted(corners))
    figure = matplotlib.pyplot.figure()
    given = figure.subplots(2, 2)
    assert plot_walkthrough(network, "11|10", given, window=Box(0, 1))[3] is given[1, 1]


def test_slices_of_three_inputs() -> None:
    network = random_network([3, 5, 5, 1], 2)
    axes = plot_slices(network, Box([-1, -2, -3], [1, 2, 3]), axis=0, levels=[0.0, 0.5])
    for ax in axes:
        assert sum(map(area, drawn(ax))) == pytest.approx(24)
    assert axes[1].get_title() == "x1 = 0.5"
    assert axes[1].get_xlabel() == "x2"


def test_points_go_on_top_without_moving_the_frame() -> None:
    ax = plot_regions(NETWORKS["generic"], window=Box(-1, 1), points=[[5.0, 5.0]], labels=[1])
    assert ax.get_xlim() == (-1, 1)
    assert plot_points([[0.0, 0.0]], ax) is ax
    assert len(ax.collections) == 3


def test_vector_files_hold_one_collection() -> None:
    ax = plot_regions(NETWORKS["generic"], window=Box(-1, 1), color="value")
    for kind in ("svg", "pdf"):
        file = io.BytesIO()
        ax.figure.savefig(file, format=kind)
        assert file.tell() > 1000


def test_bad_requests_are_refused() -> None:
    plane, line = NETWORKS["generic"], random_network([1, 2, 1], 0)
    for call in (
        lambda: plot_regions(line, window=Box(-1, 1)),
        lambda: plot_function(plane, window=Box(-1, 1)),
        lambda: plot_regions(plane, window=Box(-1, 1), color="flavour"),
        lambda: plot_regions(plane, window=Box(-1, 1), color="value", output=7),
        lambda: plot_regions(plane, window=Box(-1, 1), color="value", cmap="flavour"),
        lambda: plot_regions(plane, window=Box(-1, np.inf)),
        lambda: plot_regions(plane, window=Box(-1, 1), points=[[1.0]]),
        lambda: plot_regions(plane, window=Box(-1, 1), points=[[1.0, 1.0]], labels=[1, 2]),
        lambda: plot_walkthrough(line, "00"),
        lambda: plot_walkthrough(plane, "1" * 12, [None]),
        lambda: plot_slices(plane, Box(-1, 1)),
        lambda: plot_slices(random_network([3, 2, 1], 0), Box(-1, 1), axis=3),
    ):
        with pytest.raises(InvalidInputError):
            call()


def test_outputs_are_called_what_tables_call_them() -> None:
    regions = enumerate_regions(NETWORKS["generic"], Box(-2, 2))
    figure = plot_regions(regions, color="value").figure
    assert figure.axes[1].get_ylabel() == "y1"
    assert "y1/1" in regions.to_dataframe().columns
    two = random_network([1, 4, 2], 4)
    ax = plot_function(two, window=Box(-3, 3))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["y1", "y2"]


def test_every_picture_function_has_an_image_in_the_docs() -> None:
    docs = Path(__file__).parents[2] / "docs"
    page = (docs / "pictures.md").read_text(encoding="utf-8")
    scripts = [docs / "make_pictures.py", *(docs.parent / "examples/gallery").glob("*.py")]
    script = "".join(file.read_text(encoding="utf-8") for file in scripts)
    for name in set(plotting.__all__) - {"plot_points"}:  # drawn with plot_regions(points=…)
        assert name in page
        assert f"plotting.{name}(" in script
    for image in re.findall(r'src="([^"]+)"', page):
        assert (docs / image).stat().st_size < 150_000


# --- arrays against polygon by polygon ------------------------------------------------------------


def slow_polygons(
    regions: Regions, low: np.ndarray, high: np.ndarray
) -> tuple[list[np.ndarray], list[int]]:
    polygons, kept = [], []
    for i in range(len(regions)):
        corners = regions.corners[i]
        if regions.bounded[i] and np.isfinite(corners).all():
            polygon, sides = corners[:, :2], []
            for a, b in ((-np.eye(2), -low), (np.eye(2), high)):
                sides += [(a[k], b[k]) for k in range(2)]
        else:
            polygon = np.array([low, [high[0], low[1]], high, [low[0], high[1]]])
            facets = {regions.lines.boundary(int(line)) for line in regions.facet_lines[i]}
            rows = Region(
                regions.network, regions.packed[i], regions.domain, arithmetic="float"
            ).inequalities
            every = zip(rows.A, rows.b, rows.sources, strict=True)
            sides = [(a, b) for a, b, source in every if source in facets]
        for a, b in sides:
            polygon = cut(polygon, a, b) if len(polygon) else polygon
        if len(polygon) >= 3:
            polygons.append(polygon)
            kept.append(i)
    return polygons, kept


def slow_colors(regions: Regions) -> np.ndarray:
    words = regions.packed.words
    beside: list[list[int]] = [[] for _ in range(len(regions))]
    for i, j in regions.neighbours.pairs.tolist():
        beside[i].append(j)
        beside[j].append(i)
    numbers = np.full(len(regions), -1)
    for i in np.lexsort(words.T).tolist():
        taken = {int(numbers[j]) for j in beside[i]}
        free = [k for k in range(len(PALETTE)) if k not in taken]
        if free:
            numbers[i] = free[crc32(words[i].tobytes()) % len(free)]
        else:
            numbers[i] = next(k for k in range(len(PALETTE), len(regions) + 1) if k not in taken)
    return numbers


def slow_segments(polygons: list[np.ndarray], forms: np.ndarray) -> list[np.ndarray]:
    segments, edges = [], set()
    size = max((float(np.abs(polygon).max()) for polygon in polygons), default=1.0)
    for polygon, form in zip(polygons, forms, strict=True):
        values = polygon @ form[:-1] + form[-1]
        values[np.abs(values) <= 1e-12 * np.abs(values).max()] = 0.0
        crosses = (values > 0).any() and (values < 0).any()
        if not values.any() or not (crosses or (values == 0).sum() >= 2):
            continue
        following, after = np.roll(polygon, -1, axis=0), np.roll(values, -1)
        crossed = values * after < 0
        share = values[crossed] / (values[crossed] - after[crossed])
        ends = polygon[crossed] + share[:, None] * (following - polygon)[crossed]
        ends = np.concatenate([ends, polygon[values == 0]])
        if len(ends) >= 2:
            segment = ends[np.lexsort(ends.T[::-1])][[0, -1]]
            key = (np.round(segment / (ON_LINE * size)) + 0.0).tobytes()
            if crosses or key not in edges:
                segments.append(segment)
                edges.add(key)
    return segments


@given(st.data(), st.integers(0, 2**32 - 1), st.sampled_from(KINDS), st.integers(0, 3))
@settings(max_examples=60)
def test_arrays_are_what_polygon_by_polygon_gives(
    data: st.DataObject, seed: int, kind: str, depth: int
) -> None:
    network = any_network(seed, kind, 2, depth, 4)
    regions = enumerate_regions(network, data.draw(domains(2)))
    low, high = np.array([-0.5, -0.75]), np.array([1.0, 0.5])
    shown, rows = polygons_in(regions, low, high)
    polygons, kept = slow_polygons(regions, low, high)
    large = [k for k, polygon in enumerate(polygons) if area(polygon) > 1e-9]
    assert {kept[k] for k in large} <= set(rows.tolist())
    at = {row: i for i, row in enumerate(rows.tolist())}
    for k in large:
        if len(shown[at[kept[k]]]) == len(polygons[k]):
            np.testing.assert_allclose(shown[at[kept[k]]], polygons[k], rtol=1e-7, atol=1e-7)
        assert area(shown[at[kept[k]]]) == pytest.approx(area(polygons[k]), abs=1e-9)
    if len(regions.neighbours):
        np.testing.assert_array_equal(color_numbers(regions), slow_colors(regions))
    forms = regions.affine_maps[rows, 0] - regions.affine_maps[rows, 1]
    drawn_polygons = [shown[i] for i in range(len(shown))]
    np.testing.assert_allclose(
        level_segments(shown, forms),
        np.array(slow_segments(drawn_polygons, forms)).reshape(-1, 2, 2),
        atol=1e-12,
    )
    paths = [matplotlib.path.Path._create_closed(polygon) for polygon in drawn_polygons]
    for one, two in zip(paths_of(shown), paths, strict=True):
        np.testing.assert_array_equal(one.vertices, two.vertices)
        np.testing.assert_array_equal(one.codes, two.codes)


def test_sides_that_are_known_are_those_at_breakpoints() -> None:
    network = random_network([2, 8, 8, 1], 7)
    regions = enumerate_regions(network, Box(-2, 2))
    low, high = np.array([-1.5, -2.0]), np.array([2.0, 1.0])
    segments, layers = boundary_edges(regions, low, high)
    regions.stats["engine"] = "another"
    again, others = boundary_edges(regions, low, high)
    order = [np.lexsort(edges.mean(axis=1).round(9).T) for edges in (segments, again)]
    np.testing.assert_array_equal(layers[order[0]], others[order[1]])
    middles = segments.mean(axis=1)[order[0]], again.mean(axis=1)[order[1]]
    np.testing.assert_allclose(*middles, atol=1e-12)
