"""Complexes of regions, against faces that are found in rationals, the slow way."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import sign_vectors
from strategies import KINDS, random_network
from tropicell import (
    Affine,
    Box,
    Layer,
    Level,
    Network,
    Polytope,
    Slice,
    WholeSpace,
    enumerate_regions,
    load_regions,
)
from tropicell.analysis import faces as making
from tropicell.analysis.complex import Complex
from tropicell.errors import InvalidInputError
from tropicell.network import activations


def check_complex(complex_: Complex) -> None:
    """What holds for every complex: boundaries have no boundary, faces have vertices."""
    for k in range(1, len(complex_.sides)):
        sides = complex_.sides[k]
        assert (np.diff(sides.ends, prepend=0) > 0).all()
        assert set(np.unique(sides.signs).tolist()) <= {-1, 1}
        if k > 1:
            twice = complex_.boundary(k - 1).astype(int) @ complex_.boundary(k).astype(int)
            assert not abs(twice).sum()
    if len(complex_.sides) > 1:
        closed = complex_.boundary(1, infinity=True)
        assert not closed.astype(int).sum(axis=0).any()
        counts = np.diff(complex_.sides[1].ends, prepend=0)
        assert ((counts == 1) == complex_.unbounded[1]).all()


def box_or_space(inputs: int, which: int) -> Box | WholeSpace | Polytope:
    wedge = Polytope(-np.eye(inputs), np.ones(inputs))
    return (Box(-1, 1), WholeSpace(), wedge)[which]


@settings(max_examples=30)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(KINDS),
    st.integers(1, 3),
    st.integers(0, 3),
    st.integers(0, 2),
)
def test_eulers_relation(seed: int, kind: str, inputs: int, depth: int, where: int) -> None:
    network = random_network(seed, kind, inputs, depth, 4 if inputs < 3 else 3)
    complex_ = enumerate_regions(network, box_or_space(inputs, where)).complex()
    check_complex(complex_)
    assert complex_.euler_characteristic == complex_.expected_characteristic
    assert complex_.bounded_characteristic == 1
    stats = complex_.stats
    assert stats.get("mean_degree", 0) <= stats.get("mean_degree_bound", 0)


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS), st.integers(1, 3), st.integers(0, 2))
def test_faces_are_those_of_rationals(seed: int, kind: str, inputs: int, where: int) -> None:
    network = random_network(seed, kind, inputs, 2, 3)
    regions = enumerate_regions(network, box_or_space(inputs, where))
    complex_ = regions.complex()
    if not complex_.quotient.is_trivial:
        return
    expected = sign_vectors(list(regions))
    for k, faces in enumerate(expected):
        signs = complex_.signs(k)
        assert len(signs) == complex_.f_vector[k] == len(faces)
        assert set(map(tuple, signs.tolist())) == faces
    exact = complex_.exact_vertices()
    assert (np.abs(exact.astype(float) - complex_.vertices) <= complex_.radii).all()
    points, radii = complex_.faces.sharp
    assert (radii <= complex_.radii).all()
    for row, point, radius in zip(exact, points, radii, strict=True):
        for x, near, off in zip(row, point, radius, strict=True):
            assert off == np.inf or abs(x - Fraction(float(near))) <= Fraction(float(off))


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS), st.booleans())
def test_polygons_are_glued_as_cells_are(seed: int, kind: str, bounded: bool) -> None:
    """In the plane corners are glued by their order; elsewhere by the lines that they lie on."""
    network = random_network(seed, kind, 2, 3, 4)
    complex_ = enumerate_regions(network, Box(-1, 1) if bounded else WholeSpace()).complex()
    if complex_.vertices.shape[1] != 2:
        return
    given_ = complex_.faces.whole, complex_.regions, complex_.quotient
    faces = making._of_cells(given_, 1, None)
    assert tuple(len(sides.ends) for sides in faces.sides) == complex_.f_vector
    assert [int(u.sum()) for u in faces.unbounded] == [int(u.sum()) for u in complex_.unbounded]
    scale = 1e-6 * (1 + np.abs(complex_.vertices).max())
    places = [np.rint(v / scale).tolist() for v in (faces.vertices, complex_.vertices)]
    assert sorted(places[0]) == sorted(places[1])


@settings(max_examples=25)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(KINDS),
    st.integers(1, 3),
    st.integers(0, 2),
    st.sampled_from([0.0, 0.25, -1.0]),
)
def test_cuts_fit_together(seed: int, kind: str, inputs: int, where: int, value: float) -> None:
    network = random_network(seed, kind, inputs, 2, 3)
    complex_ = enumerate_regions(network, box_or_space(inputs, where)).complex()
    if not complex_.quotient.is_trivial:
        region = complex_.faces.whole[0]
        if (region.affine_map.matrix[0] @ region.lineality.T).any():
            with pytest.raises(InvalidInputError, match="both ways"):
                complex_.level_set(0, value)
            return
    level = complex_.level_set(0, value)
    low, high = complex_.sublevel_set(0, value), complex_.superlevel_set(0, value)
    both = complex_.cut(0, value)
    for part in (level, low, high, both):
        check_complex(part)
    total = low.euler_characteristic + high.euler_characteristic - level.euler_characteristic
    assert total == both.euler_characteristic == complex_.euler_characteristic
    points = level.exact_vertices()
    owners = level.owners(0)
    for point, owner in zip(points, owners.tolist(), strict=True):
        affine = level.regions[owner].affine_map
        assert affine.matrix[0][: len(point)] @ point + affine.offset[0] == value
    near = np.abs(points.astype(float) - level.vertices)
    assert (near <= level.radii).all()


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS), st.integers(1, 3))
def test_decision_regions_cover_everything(seed: int, kind: str, inputs: int) -> None:
    """Inclusion and exclusion: three closed sets, their pairs, and what all have in common."""
    rng = np.random.default_rng(seed)
    inner = random_network(seed, kind, inputs, 2, 3)
    width = inner.layers[-1].width
    integers = rng.integers(-2, 3, size=(3, width)).astype(float)
    network = Network(inputs, inner.layers, Affine({inner.depth: integers}, rng.integers(-1, 2, 3)))
    complex_ = enumerate_regions(network, Box(-1, 1)).complex()
    single = [complex_.decision_region(k) for k in range(3)]
    pairs = [complex_.decision_boundary(*pair) for pair in ((0, 1), (0, 2), (1, 2))]
    triple = pairs[0].level_set([1.0, 0.0, -1.0])
    for part in (*single, *pairs, triple):
        check_complex(part)
    total = sum(part.euler_characteristic for part in single)
    total -= sum(part.euler_characteristic for part in pairs)
    assert total + triple.euler_characteristic == 1
    # The boundary of one class with all others, in one piece.
    for k, (i, j) in enumerate(((0, 1), (0, 2), (1, 2))):
        alone = complex_.decision_boundary(k)
        check_complex(alone)
        both = pairs[i].euler_characteristic + pairs[j].euler_characteristic
        assert alone.euler_characteristic == both - triple.euler_characteristic
    with pytest.raises(InvalidInputError, match="say of which class"):
        complex_.decision_boundary()
    with pytest.raises(InvalidInputError, match="not 1 and 1"):
        complex_.decision_boundary(1, 1)


def diamond(inputs: int) -> Network:
    """The l1 norm of the input."""
    rows = np.concatenate([np.eye(inputs), -np.eye(inputs)])
    return Network.mlp([rows, np.ones((1, 2 * inputs))])


@pytest.mark.parametrize("inputs", [2, 3, 4])
def test_spheres_are_closed_and_oriented(inputs: int) -> None:
    complex_ = enumerate_regions(diamond(inputs), Box(-2, 2)).complex()
    sphere = complex_.level_set(0, 1.0)
    facets = {2: (4, 4), 3: (6, 12, 8), 4: (8, 24, 32, 16)}[inputs]
    assert sphere.f_vector == facets
    boundary = sphere.boundary(inputs - 1)
    # Each ridge is in two facets, once with each sign: closed, and oriented consistently.
    assert not boundary.astype(int).sum(axis=1).any()
    assert (abs(boundary).astype(int).sum(axis=1) == 2).all()
    if inputs == 3:
        loops = sphere.polygons()
        volume = 0.0
        for i in range(len(loops)):
            a, b, c = sphere.vertices[loops[i]]
            volume += float(np.dot(a, np.cross(b, c))) / 6
        assert volume == pytest.approx(4 / 3)  # outwards, as the boundary of what is inside


def test_a_level_through_vertices() -> None:
    """All four corners of the diamond lie on axes, and the level 2 touches the box there."""
    complex_ = enumerate_regions(diamond(2), Box(-2, 2)).complex()
    assert complex_.level_set(0, 2.0).f_vector == (4, 4)
    assert complex_.level_set(0, 4.0).f_vector == (4,)
    assert complex_.level_set(0, 0.0).f_vector == (1,)
    assert complex_.sublevel_set(0, 0.0).f_vector == (1,)
    assert complex_.level_set(0, -1.0).f_vector == ()


def test_a_plateau_is_part_of_its_level() -> None:
    network = Network.mlp([np.eye(2), [[1.0, 1.0]]], [[-1.0, -1.0], [0.0]])
    complex_ = enumerate_regions(network, Box(0, 2)).complex()
    flat = complex_.level_set(0, 0.0)
    assert flat.f_vector == (4, 4, 1)
    assert flat.select({2: [0]}).f_vector == (4, 4, 1)


def test_neurons_that_touch_a_region_in_one_point() -> None:
    """A deep neuron may be 0 at a vertex without being a facet of any region there."""
    network = Network(
        2,
        [
            Layer(Affine({0: np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]])}, np.zeros(4))),
            Layer(Affine({1: np.ones((1, 4))}, np.zeros(1)), activations.relu()),
        ],
        Affine({2: np.ones((1, 1))}, np.zeros(1)),
    )
    complex_ = enumerate_regions(network, Box(-1, 1)).complex()
    signs = complex_.signs(0)
    middle = np.flatnonzero((complex_.vertices == 0).all(axis=1))
    assert signs[middle].tolist() == [[1, 1, 1, 1, 0, 0, 0, 0, 0]]


def test_only_all_regions_make_a_complex() -> None:
    regions = enumerate_regions(diamond(2), Box(-1, 1))
    with pytest.raises(InvalidInputError, match="not complete"):
        regions[:2].complex()
    complex_ = regions.complex()
    with pytest.raises(InvalidInputError, match="dimension"):
        complex_.boundary(3)
    with pytest.raises(InvalidInputError, match="no number 1"):
        complex_.level_set(1)
    with pytest.raises(InvalidInputError, match="one value for each"):
        complex_.select(np.array([True]))


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS), st.integers(2, 3), st.booleans())
def test_regions_along_a_level(
    tmp_path_factory: pytest.TempPathFactory, seed: int, kind: str, inputs: int, bounded: bool
) -> None:
    """The level set is that of all regions; also where corners are not known, as from a file."""
    network, domain = random_network(seed, kind, inputs, 2, 4), Box(-1, 1) if bounded else None
    value = float(network(np.zeros(inputs))[0])
    whole = enumerate_regions(network, domain)
    along = enumerate_regions(network, domain, where=Level(value))
    path = tmp_path_factory.mktemp("along") / "along.npz"
    along.save(path)
    complex_ = whole.complex()
    for some in (along, load_regions(path)):
        part = some.complex()
        check_complex(part)
        assert not part.is_whole
        assert "expected_characteristic" not in part.stats
        try:
            level = complex_.level_set(0, value)
        except InvalidInputError:
            with pytest.raises(InvalidInputError, match="both ways"):
                part.level_set(0, value)
            continue
        found = part.level_set(0, value)
        assert found.f_vector == level.f_vector
        assert found.betti() == level.betti()
        assert found.betti(unbounded="open") == level.betti(unbounded="open")


@pytest.mark.parametrize("engine", ["halfspaces", "traverse"])
def test_regions_of_other_engines_in_five_dimensions(engine: str) -> None:
    network = random_network(5, "generic", 5, 1, 6, relu=True)
    regions = enumerate_regions(network, Box(-1, 1), engine=engine)
    complex_ = regions.complex()
    check_complex(complex_)
    assert complex_.euler_characteristic == 1
    assert len(complex_.f_vector) == 6
    flat = enumerate_regions(diamond(2), Box(-1, 1), engine=engine).complex()
    assert flat.f_vector == (9, 12, 4)


@pytest.mark.parametrize(("inputs", "neurons"), [(2, 30), (3, 14), (4, 16)])
def test_hyperplanes_in_general_position(inputs: int, neurons: int) -> None:
    """Thousands of cells: the numbers of faces, bounded and not, are a theorem (Buck, 1943)."""
    rng = np.random.default_rng(inputs)
    weights = [rng.normal(size=(neurons, inputs)), np.ones((1, neurons))]
    network = Network.mlp(weights, [rng.normal(size=neurons), [0.0]])
    complex_ = enumerate_regions(network).complex()
    for k, count in enumerate(complex_.f_vector):
        planes = math.comb(neurons, inputs - k)
        left = neurons - inputs + k
        assert count == planes * sum(math.comb(left, i) for i in range(k + 1))
        bounded = int((~complex_.unbounded[k]).sum())
        assert bounded == planes * (math.comb(left - 1, k) if k else 1)


@pytest.mark.parametrize(("inputs", "width"), [(3, 8), (4, 5)])
def test_a_hyperplane_is_a_slice(inputs: int, width: int) -> None:
    """Faces on a neuron's boundary are those of the network on that hyperplane, found alone."""
    rng = np.random.default_rng(inputs)
    shapes = [(width, inputs), (width, width), (width, width), (1, width)]
    weights, biases = [rng.normal(size=s) for s in shapes], [rng.normal(size=s[0]) for s in shapes]
    weights[0][0], biases[0][0] = np.eye(inputs)[-1], -0.25
    network = Network.mlp(weights, biases)
    wall = enumerate_regions(network).complex().neuron_boundary(1, 0)
    axes = np.eye(inputs)
    inside = enumerate_regions(network, Slice(0.25 * axes[-1], axes[:-1])).complex()
    assert wall.f_vector == inside.f_vector
    counts = [[int(own.sum()) for own in part.unbounded] for part in (wall, inside)]
    assert counts[0] == counts[1]


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS), st.integers(1, 3), st.integers(0, 2))
def test_boundaries_of_neurons_are_in_the_signs(
    seed: int, kind: str, inputs: int, where: int
) -> None:
    network = random_network(seed, kind, inputs, 2, 3)
    complex_ = enumerate_regions(network, box_or_space(inputs, where)).complex()
    lines, some = complex_.lines, np.random.default_rng(seed)
    layer = int(some.integers(1, network.depth + 1))
    neuron = int(some.integers(network.layers[layer - 1].width))
    own = np.flatnonzero((lines.layer == layer) & (lines.index == neuron)) + lines.first - 1
    found = complex_.neuron_boundary(layer, neuron)
    for k in range(len(complex_.sides)):
        on = (complex_.signs(k)[:, own] == 0).any(axis=1)
        here = found.carriers[k][1] if k < len(found.sides) else []
        assert np.flatnonzero(on).tolist() == sorted(here)


def test_a_region_with_many_facets() -> None:
    """Masks of more than 64 facets: a polytope around a ball."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 3))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    ball = Polytope(rows, np.ones(200))
    network = Network.mlp([[[1.0, 0.1, 0.2]], [[1.0]]], [[0.3], [0.0]])
    complex_ = enumerate_regions(network, ball).complex()
    check_complex(complex_)
    assert complex_.euler_characteristic == 1
    assert np.diff(complex_.sides[3].ends, prepend=0).max() > 64


def test_what_is_chosen_is_checked() -> None:
    """Masks are masks, not the numbers 0 and 1; what means nothing is refused with a reason."""
    complex_: Any = enumerate_regions(diamond(2), Box(-1, 1)).complex()
    right = complex_.vertices[:, 0] > 0
    assert len(complex_.exact_vertices(right)) == len(complex_.signs(0, right)) == right.sum() == 3
    assert (complex_.exact_vertices(right)[:, 0] == 1).all()
    assert (complex_.exact_outputs(right) >= 1).all()
    mesh = complex_.to_mesh()
    assert (mesh.exact_vertices(mesh.vertices[:, 0] > 0)[:, 0] == 1).all()
    refused: list[tuple[Callable[[], Any], str]] = [
        (lambda: complex_.exact_vertices([0.5]), "whole numbers"),
        (lambda: complex_.exact_vertices([-1]), "0 to 8"),
        (lambda: complex_.exact_outputs([9]), "0 to 8"),
        (lambda: complex_.exact_vertices([True]), "a mask"),
        (lambda: mesh.exact_vertices([99]), "0 to 8"),
        (lambda: complex_.signs(0.0), "dimension 0.0"),
        (lambda: complex_.signs(0, [99]), "0 to 8"),
        (lambda: complex_.boundary("1"), "dimension"),
        (lambda: complex_.boundary(1.0), "dimension"),
        (lambda: complex_.incidence(0, 2.0), "dimensions"),
        (lambda: complex_.select("cells"), "whole numbers"),
        (lambda: complex_.select([1.0]), "whole numbers"),
        (lambda: complex_.select({"cells": [0]}), "no faces"),
        (lambda: complex_.level_set("0"), "number of an output"),
        (lambda: complex_.level_set(True), "number of an output"),
        (lambda: complex_.level_set([1j]), "finite numbers"),
        (lambda: complex_.level_set(0, "0"), "finite number"),
        (lambda: complex_.level_set(0, [0.0]), "finite number"),
        (lambda: complex_.level_set(0, Fraction(1, 3)), "float64"),
        (lambda: complex_.level_set(0, 10**400), "finite"),
        (lambda: complex_.neuron_boundary(1.0, 0), "no neuron"),
        (lambda: complex_.neuron_boundary(1, "0"), "no neuron"),
        (lambda: complex_.decision_region(True), "classes"),
        (lambda: complex_.decision_region(0, threshold=np.nan), "finite"),
        (lambda: complex_.exact_direction(0), "unbounded"),
        (lambda: complex_.persistence("0"), "number of an output"),
        (lambda: complex_.persistence_of_cells(["a"]), "numbers"),
        (lambda: complex_.level_set(0, 0.5).to_mesh(), "polygons"),
    ]
    for call, message in refused:
        with pytest.raises(InvalidInputError, match=message):
            call()
    assert complex_.level_set(0, Fraction(1, 2)).f_vector == (4, 4)
    network = Network.mlp([np.eye(2), np.eye(2)])
    with pytest.raises(InvalidInputError, match="one output"):
        enumerate_regions(network, Box(-1, 1)).complex().decision_region(0, threshold=0.5)


@pytest.mark.parametrize(
    ("domain", "known"),
    [
        (None, 1),
        (Box(0, np.inf), 0),
        (Box([-np.inf, 0], [np.inf, 1]), -1),
        (Polytope([[1, 1], [-1, -1]], [1, 1]), -1),
        (Polytope([[1e-12, 1e-13], [-1e-12, 1e-20]], [1e-12, 1e-12]), 0),  # a strip that widens
        (Polytope([[1e12, 1e-3], [-1e12, 1e-3]], [1, 1]), 0),
        (Polytope([[1e-200, 0], [-1e-200, 0]], [1e-200, 1e-200]), -1),
    ],
)
def test_what_eulers_relation_says_is_exact(domain: Box | Polytope | None, known: int) -> None:
    """Whether the domain is unbounded both ways is not a matter of tolerances."""
    network = Network.mlp([np.eye(2), [[1.0, 1.0]]], [[1.0, 2.0], [0.0]])
    complex_ = enumerate_regions(network, domain).complex()
    assert complex_.euler_characteristic == complex_.expected_characteristic == known
