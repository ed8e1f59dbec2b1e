"""What Python writes into the page, read back."""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64decode
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tropicell import (
    Affine,
    Ball,
    Box,
    InvalidDomainError,
    InvalidInputError,
    Layer,
    Network,
    Regions,
    Slice,
    enumerate_regions,
    explore,
)
from tropicell.explorer import Mesh, page
from tropicell.explorer.data import neighbours_of_sides
from tropicell.explorer.shapes import Polyhedra, outline


def random_network(sizes: list[int], seed: int = 0, activation: str = "relu") -> Network:
    rng = np.random.default_rng(seed)
    pairs = list(pairwise(sizes))
    return Network.mlp(
        [rng.normal(size=(n, m)) for m, n in pairs],
        [rng.normal(size=n) for _, n in pairs],
        activation=activation,
    )


def decoded(html: str, index: int = 0) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    header = re.search(r'id="about">(.*?)</script>', html, re.DOTALL)
    block = re.search(rf'id="picture-{index}">(.*?)</script>', html)
    assert header
    assert block
    about = json.loads(header[1])
    data = zlib.decompress(b64decode(block[1]))
    arrays = {
        name: np.frombuffer(data, dtype=kind, count=length, offset=offset)
        for name, (kind, offset, length) in about["pictures"][index]["arrays"].items()
    }
    return about, arrays


@pytest.fixture(scope="module")
def regions() -> Regions:
    return enumerate_regions(random_network([2, 16, 16, 2]), Box(-3, 3))


def test_arrays_come_back(regions: Regions) -> None:
    about, arrays = decoded(page(regions))
    corners = arrays["corners"].reshape(-1, 2) * about["scale"] + about["centre"]
    np.testing.assert_allclose(corners, regions.corners.values[:, :2], atol=1e-6)
    np.testing.assert_array_equal(arrays["counts"], regions.corners.counts)
    np.testing.assert_array_equal(arrays["sides"], regions.facet_lines.values)
    np.testing.assert_allclose(arrays["areas"], regions.volumes, rtol=1e-6)
    maps = arrays["maps"].reshape(regions.affine_maps.shape)
    np.testing.assert_allclose(maps, regions.affine_maps, rtol=1e-5, atol=1e-5)
    rows = np.bitwise_xor.accumulate(arrays["patterns"].reshape(-1, len(regions)), axis=1).T
    bits = np.unpackbits(np.ascontiguousarray(rows), axis=1, bitorder="little")
    np.testing.assert_array_equal(bits[:, : regions.network.n_neurons], regions.patterns)
    assert about["pictures"][0]["after"] == [len(regions.after_layer(1)), len(regions)]


@pytest.mark.parametrize("activation", ["relu", "hard_tanh"])
def test_neighbours_are_those_of_the_graph(activation: str) -> None:
    network = random_network([2, 6, 6, 1], 1, activation)
    found = enumerate_regions(network, Box(-3, 3))
    shape = outline(found)
    behind, owner = neighbours_of_sides(found, shape), shape.corners.owners()
    inner = behind >= 0
    pairs = {tuple(sorted(pair)) for pair in zip(owner[inner], behind[inner], strict=True)}
    assert pairs == {tuple(pair) for pair in found.neighbours.pairs.tolist()}


def test_shared_boundaries_have_neighbours() -> None:
    network = Network.mlp([[[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]], [[1.0, 1.0, 1.0]]])
    found = enumerate_regions(network, Box(-1, 1))
    behind = neighbours_of_sides(found, outline(found))
    assert len(found) == 4
    assert (behind >= 0).sum() == 8


def test_bytes_per_region() -> None:
    found = enumerate_regions(random_network([2, 48, 48, 48, 2]), Box(-4, 4))
    html = page(found)
    _, arrays = decoded(html)
    block = re.search(r'id="picture-0">(.*?)</script>', html)
    assert block
    coordinates = 4 * len(zlib.compress(arrays["corners"].tobytes(), 9)) / 3
    weights = sum(array.nbytes for name, array in arrays.items() if name[-1].isdigit())
    assert len(found) > 5000
    assert (len(block[1]) - coordinates - 4 * weights / 3) / len(found) <= 60


@pytest.mark.parametrize("engine", ["traverse", "halfspaces", "cells"])
def test_unbounded_regions_are_cut_off(engine: Any) -> None:
    found = enumerate_regions(random_network([2, 4, 3, 1]), engine=engine)
    shape = outline(found)
    low, high = shape.extent
    area = 0.0
    for i in range(len(found)):
        x, y = shape.corners[i].T
        area += abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))) / 2
        middle = shape.corners[i].mean(axis=0)
        assert found.locate(middle[None])[0] == i
    assert area == pytest.approx(np.prod(high - low), rel=1e-9)


def test_text_of_a_model_is_escaped() -> None:
    evil = "</script><script>alert(1)</script>"
    network = Network(2, [Layer(Affine({0: np.eye(2)}), "relu", name=evil)], Affine({1: np.eye(2)}))
    html = page(enumerate_regions(network, Box(-1, 1)), labels=[evil])
    assert "<script>alert" not in html
    about, _ = decoded(html)
    assert about["pictures"][0]["names"] == [evil]
    assert about["pictures"][0]["label"] == evil


def test_nothing_is_fetched(regions: Regions) -> None:
    html = page(regions)
    assert not re.search(r"(src|href)=.http", html)
    assert "default-src 'none'" in html


def test_errors(regions: Regions, tmp_path: Any) -> None:
    with pytest.raises(InvalidInputError, match="2 or 3 inputs, this one has 4"):
        page(enumerate_regions(random_network([4, 3, 1]), Box(-1, 1)))
    with pytest.raises(InvalidInputError, match="empty list"):
        page([])
    with pytest.raises(InvalidInputError, match="2 Regions but 1 labels"):
        explore([regions, regions], tmp_path / "x.html", labels=["one"])
    with pytest.raises(InvalidInputError, match="finite points"):
        page(regions, points=[[1.0, 2.0, 3.0]])
    with pytest.raises(InvalidInputError, match="2 points but 3 point_labels"):
        page(regions, points=[[1.0, 2.0], [0.0, 0.0]], point_labels=[1, 2, 3])
    with pytest.raises(InvalidInputError, match="need points"):
        page(regions, point_labels=[1])
    with pytest.raises(InvalidInputError, match="no setting 'color'; there are view, colour"):
        page(regions, settings={"color": "value"})
    with pytest.raises(InvalidInputError, match="two or more Regions"):
        page(regions, side_by_side=True)
    with pytest.raises(InvalidInputError, match="same length, got 2 of lengths"):
        page([[regions, regions], [regions]], side_by_side=True)
    with pytest.raises(InvalidInputError, match="on a Slice through images"):
        page(regions, image_shape=(8, 8))
    with pytest.raises(InvalidInputError, match="meshes are shown with networks of 3 inputs"):
        page(regions, meshes=Mesh(np.eye(3), [[0, 1, 2]]))
    with pytest.raises(InvalidInputError, match="not complete"):
        page(enumerate_regions(random_network([2, 8, 1]), engine="traverse", max_regions=5))
    with pytest.raises(InvalidDomainError, match="norm l2 has no list of inequalities"):
        page(enumerate_regions(random_network([2, 8, 1]), Ball([0.0, 0.0], 1.0, norm="l2")))
    assert not list(tmp_path.iterdir())


def test_notebooks(regions: Regions) -> None:
    shown = regions.explore(height=300)._repr_html_()
    assert shown.startswith("<iframe")
    assert 'height="300"' in shown
    assert "<script" not in shown


def test_unbounded_pictures_of_a_film_share_a_border() -> None:
    film = [enumerate_regions(random_network([2, 5, 1], seed)) for seed in (0, 1)]
    html = page(film)
    extents = []
    for index in range(2):
        about, arrays = decoded(html, index)
        corners = arrays["corners"].reshape(-1, 2)
        extents.append([corners.min(axis=0), corners.max(axis=0)])
    np.testing.assert_allclose(extents[0], extents[1], atol=1e-6)
    low, high = np.array(about["first"])
    assert (np.array(about["low"]) <= low).all()
    assert (low < high).all()
    assert (high <= about["high"]).all()


@given(
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    seed=st.integers(0, 2**31),
    integer=st.booleans(),
    bounded=st.booleans(),
)
@settings(max_examples=25, deadline=None)
def test_polyhedra_are_closed(sizes: list[int], seed: int, *, integer: bool, bounded: bool) -> None:
    rng = np.random.default_rng(seed)
    pairs = list(pairwise([3, *sizes, 1]))
    draw = (lambda *n: rng.integers(-2, 3, size=n)) if integer else (lambda *n: rng.normal(size=n))
    network = Network.mlp(
        [draw(n, m).astype(float) for m, n in pairs], [draw(n).astype(float) for _, n in pairs]
    )
    found = enumerate_regions(network, Box(-2, 3) if bounded else None)
    shape = outline(found)
    assert isinstance(shape, Polyhedra)
    owner, starts = shape.owners(), shape.corners.ends - shape.corners.counts
    volumes = np.zeros(len(found))
    for facet, region in enumerate(owner):
        corners = shape.corners.values[starts[region] + shape.faces[facet]]
        assert len(corners) >= 3
        middle = shape.corners[region].mean(axis=0)
        fan = corners - middle
        cone = sum(np.linalg.det([fan[0], fan[k], fan[k + 1]]) for k in range(1, len(fan) - 1))
        volumes[region] += abs(cone) / 6
    # Cones over facets in the right order fill each region, and all regions the frame.
    low, high = shape.extent
    assert volumes.sum() == pytest.approx(np.prod(high - low), rel=1e-6)
    if bounded:
        np.testing.assert_allclose(volumes, found.volumes, rtol=1e-6, atol=1e-9)
    # Every edge of a polyhedron belongs to two of its facets (or four, if one is but an edge:
    # the frame is rounded, so that corners may have the same coordinates).
    for region in range(len(found)):
        edges: Counter[frozenset[tuple[float, ...]]] = Counter()
        for facet in np.flatnonzero(owner == region):
            corners = shape.corners.values[starts[region] + shape.faces[int(facet)]]
            face = [tuple(corner) for corner in corners.round(9).tolist()]
            edges.update(frozenset(pair) for pair in zip(face, face[1:] + face[:1], strict=True))
        assert all(count % 2 == 0 for edge, count in edges.items() if len(edge) == 2)


def test_meshes_come_back() -> None:
    vertices = [[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 2.0, 0.0]]
    mesh = Mesh(vertices, [[0, 1, 2]], colors=np.eye(3), label="</script>")
    html = page(mesh)
    header = re.search(r'id="about">(.*?)</script>', html, re.DOTALL)
    block = re.search(r'id="mesh-0">(.*?)</script>', html)
    assert header
    assert block
    about = json.loads(header[1])
    assert about["title"] == "</script>"
    data = zlib.decompress(b64decode(block[1]))
    kind, offset, length = about["meshes"][0]["arrays"]["vertices"]
    places = np.frombuffer(data, dtype=kind, count=length, offset=offset).reshape(-1, 3)
    np.testing.assert_allclose(places * about["scale"] + about["centre"], vertices)
    kind, offset, length = about["meshes"][0]["arrays"]["colours"]
    colours = np.frombuffer(data, dtype=kind, count=length, offset=offset)
    assert colours.reshape(3, 3).tolist() == (255 * np.eye(3)).tolist()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0.0, 0.0]], [[0, 0, 0]]), "shape \\(vertices, 3\\), got \\(1, 2\\)"),
        (([[0.0, 0.0, np.nan]], [[0, 0, 0]]), "finite vertices"),
        ((np.eye(3), [[0, 1]]), "triangles as integers"),
        ((np.eye(3), [[0.0, 1.0, 2.0]]), "triangles as integers"),
        ((np.eye(3), [[0, 1, 3]]), "from 0 to 2"),
        ((np.eye(3), [[0, 1, 2]], np.ones((2, 3))), "each of its 3 vertices"),
        ((np.eye(3), [[0, 1, 2]], 2 * np.eye(3)), "floats from 0 to 1"),
    ],
)
def test_bad_meshes_are_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Mesh(*arguments)


def test_image_shapes() -> None:
    rng = np.random.default_rng(0)

    def about(size: int, shape: Any = None) -> Any:
        network = Network.mlp([rng.normal(size=(3, size)), rng.normal(size=(1, 3))])
        plane = Slice.through(rng.random((3, size)), inside=Box(-1, 1))
        html = page(enumerate_regions(network, plane), image_shape=shape)
        return decoded(html)[0]["image"]

    square = {"height": 8, "width": 8, "channels": 1, "low": 0.0, "high": 1.0}
    assert about(64) == square
    assert about(192) == square | {"channels": 3}
    assert about(65) is None
    assert about(128, (8, 16)) == square | {"width": 16}
    with pytest.raises(InvalidInputError, match="128 numbers in all, got \\(3, 8, 8\\)"):
        about(128, (3, 8, 8))
