"""Meshes: on the surface exactly, closed, and the same for libraries that read their files."""

from __future__ import annotations

import json
import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from searching import random_network
from strategies import KINDS, networks
from strategies import random_network as degenerate_network
from tropicell import (
    Affine,
    Box,
    DecisionBoundary,
    InvalidInputError,
    Layer,
    Level,
    Network,
    Slice,
    Sublevel,
    WholeSpace,
    enumerate_regions,
    explore,
    surface_mesh,
)
from tropicell.explorer import Mesh as Shown
from tropicell.geometry.arithmetic import to_fractions, to_rationals

OCTAHEDRON = Network.mlp(
    [np.concatenate([np.eye(3), -np.eye(3)]), np.ones((1, 6))], [np.zeros(6), [-1.0]]
)


def ball_with_a_skip(seed=3, width=7):
    """A network like DeepSDF, whose third layer reads the point again; 0 on a closed surface."""
    rng = np.random.default_rng(seed)
    first = rng.normal(size=(width, 3))
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    layers = [
        Layer(Affine({0: np.concatenate([first, -first])}, np.zeros(2 * width))),
        Layer(Affine({1: rng.uniform(0.5, 1, size=(width, 2 * width)) / width}, np.zeros(width))),
        Layer(
            Affine(
                {2: rng.uniform(0.5, 1, size=(width, width)), 0: 0.2 * rng.normal(size=(width, 3))},
                rng.normal(size=width) * 0.1,
            )
        ),
    ]
    return Network(3, layers, Affine({3: np.ones((1, width)) / width}, [-1.0]))


def on_the_surface(mesh, function):
    """Whether a function of exact outputs is 0 at all vertices of a mesh."""
    exact = mesh.exact_vertices()
    outputs = mesh.complex.regions.network.maps("exact").at_points(exact)[1]
    return all(function(row) == 0 for row in outputs)


def test_an_octahedron():
    mesh = surface_mesh(OCTAHEDRON, Box(-2, 2))
    assert sorted(map(tuple, mesh.vertices.tolist())) == sorted(
        tuple(sign * (k == axis) + 0.0 for k in range(3))
        for axis in range(3)
        for sign in (-1.0, 1.0)
    )
    assert (len(mesh), mesh.is_watertight, mesh.euler_characteristic) == (8, True, 2)
    assert mesh.volume == pytest.approx(4 / 3)
    assert mesh.area == pytest.approx(8 * np.sqrt(3) / 2)
    assert not mesh.sharpened().radii.any() or np.array_equal(
        mesh.sharpened().vertices, mesh.vertices
    )


def test_a_surface_that_is_made_of_facets():
    """A neuron is at its breakpoint all over the surface: nothing is cut, faces are only kept."""
    rows = np.concatenate([np.eye(3), -np.eye(3)])
    norm_twice = np.ones((2, 6))
    network = Network.mlp(
        [rows, norm_twice, np.ones((1, 2))], [np.zeros(6), [0.0, -1.0], np.zeros(1)]
    )
    complex_ = enumerate_regions(network, Box(-2, 2)).complex()
    level = complex_.level_set(0, 1.0)
    assert {int(dim) for dim in level.carriers[2][0]} == {2}
    mesh = level.to_mesh()
    assert (len(mesh), mesh.is_watertight) == (8, True)
    assert mesh.volume == pytest.approx(4 / 3)
    assert surface_mesh(network, Box(-2, 2), Level(1.0)).volume == pytest.approx(4 / 3)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([kind for kind in KINDS if kind != "generic"]),
    st.sampled_from([Box(-1, 1), Box(-3, 2), WholeSpace()]),
    st.integers(0, 3),
)
def test_triangles_show_where_the_output_is_larger(seed, kind, domain, which):
    """At levels that vertices have, too. No triangle is flat; all that is decided in rationals."""
    network = degenerate_network(seed, kind, 3, 2, 4)
    complex_ = enumerate_regions(network, domain).complex()
    if not complex_.quotient.is_trivial or complex_.dimension < 3:
        return
    values = sorted(x for x in complex_.exact_outputs()[:, 0].tolist() if x == float(x))
    value = float(values[which * len(values) // 4]) if which and values else 0.0
    level = complex_.level_set(0, value)
    if level.dimension != 2:
        return
    mesh = level.to_mesh()
    if not len(mesh):
        return
    exact = mesh.exact_vertices()
    assert (mesh.exact_outputs()[:, 0] == value).all()
    a, b, c = (exact[mesh.triangles[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    assert (normals != 0).any(axis=1).all()
    step = normals * Fraction(1, 2**80) / np.abs(normals).max()
    maps, signs = complex_.regions.network.maps("exact"), []
    for side in (1, -1):
        points = to_rationals((a + b + c) / 3 + side * step)
        outputs = to_fractions(maps.at_points(points)[1][:, 0])
        signs.append(np.array([(x > value) - (x < value) for x in outputs]))
    assert (signs[0] >= signs[1]).all()
    here, there = mesh._edges()
    pairs = np.unique(np.sort(np.stack([here, there]), axis=0), axis=1, return_counts=True)[1]
    if (signs[0] > signs[1]).all() and (pairs == 2).all():
        assert mesh.is_watertight


def test_a_network_with_a_skip_becomes_a_closed_mesh():
    trimesh = pytest.importorskip("trimesh")
    network = ball_with_a_skip()
    mesh = surface_mesh(network, Box(-8, 8))
    assert len(mesh) > 30
    assert mesh.is_watertight
    solid = mesh.to_trimesh()
    assert isinstance(solid, trimesh.Trimesh)
    assert solid.is_watertight
    assert solid.is_winding_consistent
    assert solid.volume == pytest.approx(mesh.volume)
    assert mesh.volume > 0  # normals point to where the output is larger
    assert on_the_surface(mesh, lambda outputs: outputs[0])
    sharp = mesh.sharpened()
    exact = mesh.exact_vertices()
    nearest = np.array([[float(x) for x in row] for row in exact])
    assert np.array_equal(sharp.vertices, nearest)
    off = np.abs(mesh.vertices - nearest)
    assert (off <= mesh.radii + 1e-15 * np.abs(nearest)).all()
    # The same surface, cut out of the complex of all regions.
    whole = enumerate_regions(network, Box(-8, 8)).complex().level_set().to_mesh()
    assert (len(whole), len(whole.vertices)) == (len(mesh), len(mesh.vertices))
    assert {tuple(p) for p in whole.exact_vertices()} == {tuple(p) for p in exact}


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_without_the_others_the_surface_is_the_same(data):
    network = data.draw(networks(max_depth=2).filter(lambda network: network.n_inputs == 3))
    where = data.draw(st.sampled_from([Level(0.0), Level(0.5, 1), DecisionBoundary(0, 1)]))
    complex_ = enumerate_regions(network, Box(-1, 1)).complex()
    if isinstance(where, Level):
        other = complex_.level_set(where.output, where.value)
    else:
        other = complex_.decision_boundary(0, 1)
    if other.dimension > 2:
        with pytest.raises(InvalidInputError, match="has cells"):
            surface_mesh(network, Box(-1, 1), where)
        return
    mesh, other = surface_mesh(network, Box(-1, 1), where), other.to_mesh()
    assert len(mesh) == len(other)
    assert mesh.is_watertight == other.is_watertight
    assert {tuple(p) for p in mesh.exact_vertices()} == {tuple(p) for p in other.exact_vertices()}


def test_decision_boundaries_and_slices():
    network = random_network([5, 8, 8, 3], seed=1)
    space = Slice(np.zeros(5), np.eye(5)[:3], inside=Box(-1, 1))
    mesh = surface_mesh(network, space, DecisionBoundary(0, 1))
    assert len(mesh)
    assert on_the_surface(mesh, lambda outputs: outputs[0] - outputs[1])
    outputs = mesh.complex.regions.network(mesh.vertices)
    assert (outputs[:, 2] <= outputs[:, 0] + 1e-9).all()


def test_the_boundary_of_a_class():
    """1 - |x|₁ against x₁ and -x₁: it wins in an octahedron, whose sides are two boundaries."""
    rows = np.concatenate([np.eye(3), -np.eye(3)])
    outputs = np.concatenate([-np.ones((1, 6)), [[1, 0, 0, -1, 0, 0], [-1, 0, 0, 1, 0, 0]]])
    network = Network.mlp([rows, outputs], [np.zeros(6), [1.0, 0.0, 0.0]])
    mesh = surface_mesh(network, Box(-2, 2), DecisionBoundary(0))
    assert mesh.is_watertight
    assert mesh.volume == pytest.approx(2 / 3)
    parts = [surface_mesh(network, Box(-2, 2), DecisionBoundary(0, k)) for k in (1, 2)]
    assert mesh.area == pytest.approx(sum(part.area for part in parts))
    assert surface_mesh(network, Box(-2, 2), DecisionBoundary(second=0)).volume == mesh.volume
    exact = mesh.exact_outputs()
    assert (exact[:, 0] == exact[:, 1:].max(axis=1)).all()
    with pytest.raises(InvalidInputError, match="say of which class"):
        surface_mesh(network, Box(-2, 2), DecisionBoundary())


@pytest.mark.parametrize("seed", range(4))
def test_boundaries_of_classes_of_random_networks(seed):
    """Between classes and the sides of the box nothing is left open, and all is turned one way."""
    network = random_network([3, 7, 6, 3], seed=seed)
    complex_ = enumerate_regions(network, Box(-1, 1)).complex()
    for label in range(3):
        found = complex_.decision_boundary(label)
        if found.dimension != 2:
            continue
        sides = found.boundary(2).astype(int)
        at_end = (found.signs(1)[:, : found.lines.first - 1] == 0).any(axis=1)
        assert not sides.sum(axis=1)[~at_end].any()
        assert (abs(sides).sum(axis=1) == np.where(at_end, 1, 2)).all()
        area = sum(
            complex_.decision_boundary(label, other).to_mesh().area
            for other in range(3)
            if other != label
        )
        assert found.to_mesh().area == pytest.approx(area)


def test_the_plane(tmp_path):
    regions = enumerate_regions(random_network([2, 8, 8, 1], seed=2), Box(-1, 1))
    mesh = regions.to_mesh()
    assert len(mesh) == len(regions)
    assert mesh.regions.tolist() == list(range(len(regions)))
    assert mesh.area == pytest.approx(4.0)
    assert mesh.euler_characteristic == 1
    assert not mesh.is_watertight
    mesh.save(tmp_path / "plane.geojson")
    shapes = json.loads((tmp_path / "plane.geojson").read_text("utf-8"))
    shapely = pytest.importorskip("shapely.geometry")
    areas = [shapely.shape(feature["geometry"]).area for feature in shapes["features"]]
    np.testing.assert_allclose(areas, regions.volumes, atol=1e-12)
    assert [feature["properties"]["region"] for feature in shapes["features"]] == list(
        range(len(regions))
    )


@pytest.mark.parametrize("ending", ["ply", "obj", "glb", "gltf", "stl", "vtk", "vtu"])
def test_files_are_read_by_others(ending, tmp_path):
    trimesh = pytest.importorskip("trimesh")
    meshio = pytest.importorskip("meshio")
    mesh = surface_mesh(ball_with_a_skip(width=4), Box(-16, 16))
    path = tmp_path / f"surface.{ending}"
    mesh.save(path)
    if ending in ("vtk", "vtu"):
        found = meshio.read(path)
        assert np.array_equal(found.points, mesh.vertices)
        assert np.array_equal(found.cells_dict["triangle"], mesh.triangles)
        assert np.array_equal(found.cell_data["region"][0], mesh.triangle_regions)
        return
    found = trimesh.load(path, force="mesh", process=ending == "stl")
    assert found.is_watertight
    assert len(found.faces) == len(mesh.triangles)
    assert found.volume == pytest.approx(mesh.volume, rel=1e-5)
    if ending in ("ply", "obj"):
        assert np.array_equal(found.vertices, mesh.vertices)


def test_the_explorer_shows_them(tmp_path):
    mesh = surface_mesh(OCTAHEDRON, Box(-2, 2))
    explore(mesh, tmp_path / "alone.html")
    regions = enumerate_regions(OCTAHEDRON, Box(-2, 2))
    explore(regions, tmp_path / "both.html", meshes=[mesh, Shown(mesh.vertices, mesh.triangles)])
    assert "8 polygons" in (tmp_path / "alone.html").read_text("utf-8")
    assert (tmp_path / "both.html").stat().st_size > 1000


def test_a_bunny(request):
    folder = os.environ.get("TROPICELL_MODELS")
    if not folder or not (Path(folder) / "bunny_3d_3x16.npz").exists():
        pytest.skip("TROPICELL_MODELS names no folder with bunny_3d_3x16.npz")
    trimesh = pytest.importorskip("trimesh")
    with np.load(Path(folder) / "bunny_3d_3x16.npz") as data:
        weights = [data[f"W{k}"].astype(float) for k in range(4)]
        biases = [data[f"b{k}"].astype(float) for k in range(4)]
    mesh = surface_mesh(Network.mlp(weights, biases), Box(-1, 1))
    # What edge subdivision finds, too.
    assert (len(mesh.vertices), len(mesh)) == (2874, 2876)
    solid = mesh.to_trimesh()
    assert isinstance(solid, trimesh.Trimesh)
    assert solid.is_watertight
    assert solid.body_count == 1
    outputs = mesh.exact_outputs()
    assert outputs.shape == (2874, 1)
    assert all(value == 0 for value in outputs.ravel())


def test_refusals(tmp_path):
    with pytest.raises(InvalidInputError, match="must be a surface"):
        surface_mesh(OCTAHEDRON, Box(-2, 2), Sublevel(0.0))
    with pytest.raises(InvalidInputError, match="three inputs"):
        surface_mesh(random_network([2, 4, 1]), Box(-1, 1))
    with pytest.raises(InvalidInputError, match="has cells"):
        enumerate_regions(OCTAHEDRON, Box(-2, 2)).to_mesh()
    nothing = surface_mesh(OCTAHEDRON, Box(3, 4))
    assert not len(nothing.exact_vertices())
    for ending in ("vtk", "vtu"):
        with pytest.raises(InvalidInputError, match="needs a polygon"):
            nothing.save(tmp_path / f"nothing.{ending}")
    assert not len(surface_mesh(OCTAHEDRON, Box(-2, 2), Level(-1.0)))  # one point
    mesh = surface_mesh(OCTAHEDRON, Box(-2, 2))
    for name, message in (("a.xyz", r"\.xyz"), ("a.geojson", "plane"), ("a", "without an ending")):
        with pytest.raises(InvalidInputError, match=message):
            mesh.save(tmp_path / name)
    with pytest.raises(InvalidInputError, match="watertight"):
        _ = surface_mesh(OCTAHEDRON, Box(0, 2)).volume
