"""Homology and persistence of complexes, against dense linear algebra, GUDHI and known shapes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import label

from strategies import KINDS, random_network
from tropicell import Box, Network, WholeSpace, enumerate_regions
from tropicell.analysis.complex import Complex
from tropicell.analysis.topology import homology
from tropicell.errors import InvalidInputError


def rank_modulo_2(matrix: np.ndarray) -> int:
    """By elimination, row by row."""
    rows = matrix.astype(np.int64) % 2
    rank = 0
    for column in range(rows.shape[1]):
        below = np.flatnonzero(rows[rank:, column]) + rank
        if not below.size:
            continue
        rows[[rank, below[0]]] = rows[[below[0], rank]]
        others = np.flatnonzero(rows[:, column])
        rows[others[others != rank]] ^= rows[rank]
        rank += 1
    return rank


def slow_betti(complex_: Complex, *, infinity: bool) -> tuple[int, ...]:
    """The ranks of all boundaries, as they are; with a vertex at infinity or without."""
    counts = [len(sides.ends) for sides in complex_.sides]
    if infinity and len(counts) > 1 and complex_.unbounded[1].any():
        counts[0] += 1
    ranks = [0]
    for k in range(1, len(counts)):
        ranks.append(rank_modulo_2(complex_.boundary(k, infinity=infinity).toarray()))
    ranks.append(0)
    return tuple(n - ranks[k] - ranks[k + 1] for k, n in enumerate(counts))


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS), st.integers(1, 3), st.booleans())
def test_betti_numbers_are_those_of_plain_ranks(
    seed: int, kind: str, inputs: int, bounded: bool
) -> None:
    network = random_network(seed, kind, inputs, 2, 3, relu=True)
    complex_ = enumerate_regions(network, Box(-1, 1) if bounded else WholeSpace()).complex()
    mask = np.random.default_rng(seed).random(len(complex_.sides[-1].ends)) < 0.5
    if not mask.any():
        return
    part = complex_.select(mask)
    assert part.betti() == slow_betti(part.bounded_part(), infinity=False)[: len(part.betti())] + (
        0,
    ) * (len(part.betti()) - len(part.bounded_part().sides))
    assert part.betti(unbounded="open") == slow_betti(part, infinity=False)
    assert part.betti(unbounded="point") == slow_betti(part, infinity=True)
    assert homology(part).ranks == part.betti()  # sets in R^3 have no torsion
    assert len(np.unique(part.components())) == part.betti()[0]


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS), st.integers(1, 3), st.booleans())
def test_betti_numbers_of_what_is_cut_out(seed: int, kind: str, inputs: int, bounded: bool) -> None:
    """The same for level sets at a vertex's value, what is below and above, and decision sets."""
    network = random_network(seed, kind, inputs, 2, 4 if inputs < 3 else 2)
    complex_ = enumerate_regions(network, Box(-1, 1) if bounded else WholeSpace()).complex()
    if not complex_.quotient.is_trivial or not complex_.dimension or len(complex_) > 400:
        return
    values = [x for x in complex_.exact_outputs()[:, 0].tolist() if x == float(x)]
    value = float(values[len(values) // 2]) if values else 0.0
    parts = [make(0, value) for make in (complex_.level_set, complex_.sublevel_set)]
    parts += [complex_.superlevel_set(0, value), complex_.decision_region(0)]
    for part in (*parts, complex_.decision_boundary(0, 1)):
        if part.dimension < 0:
            continue
        known = slow_betti(part.bounded_part(), infinity=False)
        assert part.betti() == known + (0,) * (len(part.sides) - len(known))
        assert part.betti(unbounded="open") == slow_betti(part, infinity=False)
        assert part.betti(unbounded="point") == slow_betti(part, infinity=True)


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS), st.integers(1, 3))
def test_persistence_is_that_of_gudhi(seed: int, kind: str, inputs: int) -> None:
    """GUDHI gets the barycentric subdivision: chains of faces, with the largest of their values."""
    gudhi = pytest.importorskip("gudhi")
    network = random_network(seed, kind, inputs, 2, 3, relu=True)
    complex_ = enumerate_regions(network, Box(-1, 1)).complex()
    found = complex_.persistence()
    level = complex_._level(0, 0.0)
    exact = complex_.exact_vertices()
    values = [np.empty(len(exact))]
    for i, owner in enumerate(complex_.owners(0).tolist()):
        affine = complex_.regions[owner].affine_map
        values[0][i] = float(affine.matrix[0] @ exact[i] + affine.offset[0])
    assert level.value == 0.0
    tree, starts = gudhi.SimplexTree(), np.cumsum([0, *complex_.f_vector])
    for k in range(1, len(complex_.sides)):
        sides = complex_.sides[k]
        values.append(
            np.maximum.reduceat(
                values[-1][sides.faces], sides.ends - np.diff(sides.ends, prepend=0)
            )
        )
    every = np.concatenate(values)

    def chains(k: int, face: int) -> list[list[int]]:
        own = [int(starts[k]) + face]
        if not k:
            return [own]
        sides = complex_.sides[k]
        lower = sides.faces[(sides.ends[face - 1] if face else 0) : sides.ends[face]]
        return [own + chain for side in lower.tolist() for chain in chains(k - 1, side)]

    for cell in range(complex_.f_vector[-1]):
        for chain in chains(len(complex_.sides) - 1, cell):
            tree.insert(chain)
    for simplex, _ in list(tree.get_simplices()):
        tree.assign_filtration(simplex, float(every[simplex].max()))
    tree.compute_persistence(homology_coeff_field=2, min_persistence=0, persistence_dim_max=True)
    for k in range(inputs + 1):
        expected = np.array(tree.persistence_intervals_in_dimension(k)).reshape(-1, 2)
        expected = expected[expected[:, 1] - expected[:, 0] > 1e-9]
        own = found.pairs(k)
        own = own[own[:, 1] - own[:, 0] > 1e-9]
        order = np.lexsort((expected[:, 1], expected[:, 0]))
        assert len(own) == len(expected)
        assert np.allclose(np.sort(own, axis=0), np.sort(expected[order], axis=0))


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS), st.integers(1, 3), st.booleans())
def test_betti_curves_are_betti_numbers_of_sublevel_sets(
    seed: int, kind: str, inputs: int, bounded: bool
) -> None:
    network = random_network(seed, kind, inputs, 2, 3, relu=True)
    complex_ = enumerate_regions(network, Box(-1, 1) if bounded else WholeSpace()).complex()
    if not complex_.quotient.is_trivial:
        return
    found = complex_.persistence()
    finite = np.concatenate([found.births, found.deaths])
    at = np.unique(finite[np.isfinite(finite)])
    middles = (at[1:] + at[:-1]) / 2 if len(at) > 1 else np.array([0.125])
    for value in middles[:4]:  # a value itself may have been rounded
        betti = complex_.sublevel_set(0, float(value)).betti()
        betti += (0,) * (inputs + 1 - len(betti))
        for k, number in enumerate(betti):
            assert found.betti_curve(k, value).tolist() == [number]


def ring() -> Network:
    """|‖(x, y)‖∞ - 2| + |z|, a torus of squares around it at small levels."""
    axes = np.array([[1.0, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]])
    # max(a, b) = a + relu(b - a) with a = |x|, b = |y|
    first = np.array([[1.0, 1, 0, 0, 0, 0], [-1, -1, 1, 1, 0, 0], [0, 0, 0, 0, 1, 1]])
    second = np.array([[1.0, 1, 0], [-1, -1, 0], [0, 0, 1]])
    return Network.mlp(
        [axes, first, second, np.ones((1, 3))],
        [np.zeros(6), np.zeros(3), [-2.0, 2.0, 0.0], np.zeros(1)],
    )


def test_a_torus() -> None:
    complex_ = enumerate_regions(ring(), Box(-4, 4)).complex()
    assert complex_.sublevel_set(0, 1.0).betti() == (1, 1, 0, 0)
    torus = complex_.level_set(0, 1.0)
    assert torus.betti() == (1, 2, 1)
    assert str(torus.homology()) == "Z, Z^2, Z"
    assert torus.euler_characteristic == 0
    assert not torus.boundary(2).astype(int).sum(axis=1).any()
    assert complex_.superlevel_set(0, 1.0).betti() == (1, 1, 1, 0)
    # The whole ring of minima is there at 0; at 2 the hole is filled.
    found = complex_.persistence()
    assert found.pairs(0).tolist() == [[0.0, np.inf]]
    assert found.pairs(1).tolist() == [[0.0, 2.0]]


def rings(first: np.ndarray, second: np.ndarray) -> Network:
    """The smaller of two such functions, each of axes of its own: ``x -> rows @ x + offset``."""
    one = ring()
    terms = [layer.affine for layer in one.layers]
    layers, bias = [], []
    for k, affine in enumerate([*terms, one.output]):
        (matrix,) = affine.terms.values()
        rows = np.zeros((2 * matrix.shape[0], 3 if k == 0 else 2 * matrix.shape[1]))
        for half, axes in enumerate((first, second)):
            own = slice(half * matrix.shape[0], (half + 1) * matrix.shape[0])
            if k == 0:
                rows[own] = matrix @ axes[:, :3]
                bias.append(matrix @ axes[:, 3])
            else:
                rows[own, half * matrix.shape[1] : (half + 1) * matrix.shape[1]] = matrix
        own_bias = np.concatenate(bias[-2:]) if k == 0 else np.tile(affine.bias, 2)
        layers.append((rows, own_bias))
    # min(a, b) = a - relu(a - b), and a is not negative
    (last, offset), least = layers[-1], np.array([[1.0, 0.0], [1.0, -1.0]])
    layers[-1] = (least @ last, least @ offset)
    weights, biases = [w for w, _ in layers], [b for _, b in layers]
    return Network.mlp([*weights, [[1.0, -1.0]]], [*biases, [0.0]])


def test_two_linked_rings() -> None:
    """Each goes through the other one: two pieces, two loops, and so has the space around them."""
    plain = np.concatenate([np.eye(3), np.zeros((3, 1))], axis=1)
    turned = np.array([[1.0, 0, 0, -2], [0, 0, 1, 0], [0, 1, 0, 0]])  # around (2, 0, 0)
    complex_ = enumerate_regions(rings(plain, turned), Box([-4, -4, -4], [6, 4, 4])).complex()
    low, high = complex_.sublevel_set(0, 0.5), complex_.superlevel_set(0, 0.5)
    assert (low.betti(), high.betti()) == ((2, 2, 0, 0), (1, 2, 2, 0))
    surfaces = complex_.level_set(0, 0.5)
    assert surfaces.betti() == (2, 4, 2)
    assert str(surfaces.homology()) == "Z^2, Z^4, Z^2"
    assert surfaces.to_mesh().is_watertight
    # At 1 they touch, and grow into one.
    assert complex_.sublevel_set(0, 1.25).betti()[0] == 1
    found = complex_.persistence()
    assert found.pairs(0).tolist() == [[0.0, 1.0], [0.0, np.inf]]


def test_a_sphere_a_shell_and_an_annulus() -> None:
    """|‖x‖₁ - 2| up to 1/2: around the middle nothing is there."""
    for inputs, low, surface in ((2, (1, 1, 0), (2, 2)), (3, (1, 0, 1, 0), (2, 0, 2))):
        rows = np.concatenate([np.eye(inputs), -np.eye(inputs)])
        weights = [rows, np.tile(np.ones(2 * inputs), (2, 1)) * [[1.0], [-1.0]], [[1.0, 1.0]]]
        network = Network.mlp(weights, [np.zeros(2 * inputs), [-2.0, 2.0], [0.0]])
        complex_ = enumerate_regions(network, Box(-3, 3)).complex()
        shell, ends = complex_.sublevel_set(0, 0.5), complex_.level_set(0, 0.5)
        assert shell.betti() == low
        assert ends.betti() == surface
        assert complex_.sublevel_set(0, 0.0).betti() == (low[:-1])  # the sphere in its middle
        assert not ends.boundary(inputs - 1).astype(int).sum(axis=1).any()
        # Inside and outside. With a point at infinity the outside is a ball, and without it an
        # open end: nothing that Borel and Moore see.
        rest, nothing = enumerate_regions(network).complex().superlevel_set(0, 0.5), [0] * inputs
        assert rest.betti() == (2, *low[1:])
        assert rest.betti(unbounded="point") == (2, *nothing)
        assert rest.betti(unbounded="open") == (1, *nothing)


def test_against_a_grid() -> None:
    """Components of sublevel sets, and of their complements, of pixels."""
    rng = np.random.default_rng(3)
    sizes = [2, 12, 12, 1]
    weights = [rng.normal(size=(b, a)) for a, b in pairwise(sizes)]
    network = Network.mlp(weights, [rng.normal(size=len(w)) for w in weights])
    complex_ = enumerate_regions(network, Box(-2, 2)).complex()
    axis = np.linspace(-2, 2, 601)
    values = network(np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)).reshape(601, 601)
    for value in np.quantile(values, [0.1, 0.35, 0.5, 0.8]):
        low = complex_.sublevel_set(0, float(value))
        assert low.betti()[0] == label(values <= value, np.ones((3, 3)))[1]
        assert complex_.superlevel_set(0, float(value)).betti()[0] == label(values >= value)[1]


def test_critical_points_of_a_tent() -> None:
    """A hat on the plane: one maximum, and minima on the sides of the box."""
    network = Network.mlp([[[1.0], [1.0], [1.0]], [[1.0, -2.0, 1.0]]], [[1.0, 0.0, -1.0], [0.0]])
    complex_ = enumerate_regions(network, Box(-2, 2)).complex()
    found = complex_.persistence()
    assert found.pairs(0).tolist() == [[0.0, 1.0], [0.0, np.inf]]
    points = [(float(complex_.vertices[v, 0]), int(i)) for v, i in found.critical_points()]
    assert (0.0, 1) in points
    assert len(points) == 3
    axes = found.plot()
    assert axes.get_xlabel() == "birth"
    assert found.plot_betti_curves().get_ylabel() == "Betti number"


def test_births_where_float64_cancels() -> None:
    """Weights of a million whose products cancel: float64 has two digits of the minimum."""
    network = random_network(349943840, "scaled", 3, 3, 4, relu=True)
    complex_ = enumerate_regions(network, Box(0, 2)).complex()
    values = complex_.exact_outputs()[:, 1]
    found = complex_.persistence(1)
    assert found.births[0] == pytest.approx(float(values.min()), rel=1e-9)
    ends = found.birth_vertices, found.births, found.death_vertices, found.deaths
    for at, numbers in (ends[:2], ends[2:]):
        for vertex, number in zip(at.tolist(), numbers.tolist(), strict=True):
            assert vertex < 0 or number == pytest.approx(float(values[vertex]), rel=1e-9)


@pytest.mark.filterwarnings("error")
def test_nothing_is_plotted_of_nothing() -> None:
    complex_ = enumerate_regions(ring(), Box(-4, 4)).complex()
    found = complex_.superlevel_set(0, 99.0).persistence()
    assert not len(found)
    assert found.plot().get_legend() is None
    assert found.plot_betti_curves().get_legend() is None


def test_functions_without_bounds() -> None:
    found = enumerate_regions(Network.mlp([[[1.0], [-1.0]], [[1.0, -1.0]]])).complex().persistence()
    assert found.pairs(0).tolist() == [[-np.inf, np.inf]]  # the identity
    saddle = Network.mlp([[[1.0, 0], [-1, 0], [0, 1], [0, -1]], [[1.0, 1, -1, -1]]])
    found = enumerate_regions(saddle).complex().persistence()
    assert found.pairs(0).tolist() == [[-np.inf, 0.0], [-np.inf, np.inf]]
    with pytest.raises(InvalidInputError, match="truncate"):
        enumerate_regions(saddle).complex().betti(unbounded="closed")  # type: ignore[arg-type]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS), st.integers(1, 3), st.booleans())
def test_cells_that_come_one_after_the_other(
    seed: int, kind: str, inputs: int, bounded: bool
) -> None:
    """At every value the Betti numbers are those of the cells that are there."""
    network = random_network(seed, kind, inputs, 2, 3, relu=True)
    complex_ = enumerate_regions(network, Box(-1, 1) if bounded else WholeSpace()).complex()
    cells = complex_.f_vector[-1]
    values = np.random.default_rng(seed).integers(0, 4, cells).astype(float)
    values[values == 3] = np.inf
    found = complex_.persistence_of_cells(values)
    for value in (0.0, 1.0, 2.0):
        here = complex_.select(values <= value)
        numbers = (*here.betti(), *[0] * complex_.dimension)
        for k in range(complex_.dimension + 1):
            assert found.betti_curve(k, [value])[0] == (
                numbers[k] if (values <= value).any() else 0
            )
    with pytest.raises(InvalidInputError, match="one number for each"):
        complex_.persistence_of_cells([0.0] * (cells + 1))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS), st.integers(1, 3))
def test_the_boundary_of_a_neuron(seed: int, kind: str, inputs: int) -> None:
    """It is where the neuron, as the output of a smaller network, is at its breakpoint."""
    network = random_network(seed, kind, inputs, 2, 3, relu=True)
    complex_ = enumerate_regions(network, Box(-1, 1)).complex()
    for layer in (1, 2):
        boundary = complex_.neuron_boundary(layer, 0)
        whole = Network(inputs, network.layers[: layer - 1], network.affine(layer))
        level = enumerate_regions(whole, Box(-1, 1)).complex().level_set(0, 0.0)
        assert boundary.euler_characteristic == level.euler_characteristic
        size = max(boundary.dimension, level.dimension) + 1
        numbers = [(*part.betti(), *[0] * size)[:size] for part in (boundary, level)]
        assert numbers[0] == numbers[1]
    with pytest.raises(InvalidInputError, match="no neuron"):
        complex_.neuron_boundary(3, 0)
