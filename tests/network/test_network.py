"""The canonical form: what it takes, what it refuses, what it computes."""

from __future__ import annotations

import copy
import pickle
import threading
from itertools import pairwise
from typing import Any
from unittest import mock

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from strategies import default_network, networks, random_network
from tropicell import (
    Affine,
    Box,
    InvalidDomainError,
    InvalidInputError,
    InvalidNetworkError,
    InvalidPatternError,
    Layer,
    Network,
    Slice,
    count_many,
    enumerate_regions,
)
from tropicell.geometry.arithmetic import to_fractions, to_rationals
from tropicell.network import network as network_module
from tropicell.network.activations import hard_tanh


def relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0)


def test_mlp_with_skips_is_the_papers_network() -> None:
    rng = np.random.default_rng(0)
    sizes = [2, 4, 4, 4, 4, 4]
    W = [rng.normal(size=(n, m)) for m, n in pairwise(sizes)]
    W.append(rng.normal(size=(1, 4)))
    b = [rng.normal(size=len(w)) for w in W]
    network = Network.mlp(W, b, skips=[(1, 3), (2, 4), (2, 6)])
    X = rng.normal(size=(7, 2))
    nu1 = relu(X @ W[0].T + b[0])
    nu2 = relu(nu1 @ W[1].T + b[1])
    nu3 = relu((nu2 + nu1) @ W[2].T + b[2])
    nu4 = relu((nu3 + nu2) @ W[3].T + b[3])
    nu5 = relu(nu4 @ W[4].T + b[4])
    np.testing.assert_allclose(network(X), (nu5 + nu2) @ W[5].T + b[5], rtol=1e-12)
    assert network.skips == [(1, 3), (2, 4), (2, 6)]
    assert network.widths == (4, 4, 4, 4, 4)
    assert repr(network) == "Network(2 → 4 → 4 → 4 → 4 → 4 → 1, skips 1→3, 2→4, 2→6)"


def test_concatenation_is_two_matrices() -> None:
    """DenseNet: layer 2 sees the input next to layer 1."""
    rng = np.random.default_rng(0)
    W1, W2 = rng.normal(size=(3, 2)), rng.normal(size=(4, 5))
    network = Network(
        2,
        [Layer(Affine({0: W1})), Layer(Affine({0: W2[:, :2], 1: W2[:, 2:]}))],
        Affine({2: np.eye(4)}),
    )
    X = rng.normal(size=(5, 2))
    expected = relu(np.concatenate([X, relu(X @ W1.T)], axis=1) @ W2.T)
    np.testing.assert_allclose(network(X), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(weights=[]), "the network is empty"),
        (dict(weights=[np.zeros((1, 0))]), "no inputs"),
        (dict(weights=[np.zeros((0, 2)), np.zeros((1, 0))]), "layer 1 has no neurons"),
        (
            dict(weights=[[[np.nan, 1.0]]]),
            r"weights of the output has the value nan at index \(0, 0",
        ),
        (dict(weights=[[[1.0]], [[np.inf]]]), "weights of the output has the value inf"),
        (dict(weights=[[[1.0]], [[1.0]]], biases=[[np.inf], [0]]), "bias of layer 1"),
        (dict(weights=[np.eye(2), np.eye(3)]), "the output have 3 columns, but layer 1 has 2"),
        (dict(weights=[[1.0, 2.0]]), "not a matrix"),
        (dict(weights=[["a"]]), "not an array of numbers"),
        (dict(weights=[np.eye(2)], biases=[[0.0]]), "the bias of the output has shape"),
        (dict(weights=[np.eye(2)], biases=[]), "as many biases as weights"),
        (dict(weights=[np.eye(2)] * 3, activation="gelu"), "unknown activation 'gelu'"),
        (dict(weights=[np.eye(2)] * 3, activation=["relu"]), "each of the 2 hidden layers"),
        (dict(weights=[np.eye(2)] * 4, skips=[(1, 2)]), "skip 1→2: expected"),
        (dict(weights=[np.eye(2)] * 4, skips=[(1, 5)]), "skip 1→5: expected"),
        (dict(weights=[np.eye(2)] * 4, skips=[(-1, 3)]), "skip -1→3: expected"),
        (dict(weights=[np.eye(2)] * 4, skips=[(1, 3), (1, 3)]), "given twice"),
        (dict(weights=[np.eye(2)] * 4, skips=[1]), "expected a pair"),
        (dict(weights=[np.eye(2)] * 4, skips=3), "expected pairs"),
        (
            dict(weights=[np.ones((3, 2)), np.ones((2, 3)), np.ones((1, 2))], skips=[(1, 3)]),
            "skip 1→3: layer 1 has 3 neurons, but the output takes 2 .the width of layer 2",
        ),
    ],
)
def test_bad_mlp_is_refused_by_name(arguments: dict, message: str) -> None:
    with pytest.raises(InvalidNetworkError, match=message):
        Network.mlp(**arguments)


def test_bad_layers_are_refused_by_name() -> None:
    with pytest.raises(InvalidNetworkError, match="layer 1 takes its input from layer 1"):
        Network(1, [Layer(Affine({1: [[1.0]]}))], Affine({1: [[1.0]]}))
    with pytest.raises(InvalidNetworkError, match="the output expects 2 values from layer 0"):
        Network(1, [], Affine({0: [[1.0, 1.0]]}))
    with pytest.raises(InvalidNetworkError, match="no inputs"):
        Network(0, [], Affine({}, [1.0]))
    with pytest.raises(InvalidNetworkError, match="a matrix or a bias"):
        Affine({})
    with pytest.raises(InvalidNetworkError, match="has 1 rows, but the bias has 2"):
        Affine({0: [[1.0]]}, [1.0, 2.0])
    with pytest.raises(InvalidNetworkError, match="value nan"):
        Affine({0: sp.csr_array(np.array([[np.nan]]))})


@pytest.mark.parametrize(
    "points", [[1.0], [[1.0]], [["a", "b"]], np.zeros((1, 2, 1)), [[1.0], [1.0, 2.0]]]
)
def test_bad_points_are_refused(points: object) -> None:
    network = Network.mlp([np.eye(2)])
    with pytest.raises(InvalidInputError, match="points"):
        network(points)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("11|1", r"layers of \[2, 1\] neurons"),
        ("111", "3 entries"),
        ("12|00", "layer 1, neuron 1: piece 2 does not exist"),
        ("1x|?0", "expected digits"),
        ([[1, 1], [1]], "layers of"),
        ([1, 1, 0.5, 0], "layer 2, neuron 0: piece 0.5"),
        ([1, 1, "a", 0], "not a number"),
        ([[1, 1], 1, 0], "one sequence per layer"),
    ],
)
def test_bad_patterns_are_refused(pattern: object, message: str) -> None:
    with pytest.raises(InvalidPatternError, match=message):
        Network.mlp([np.eye(2)] * 3).parse_pattern(pattern)


@given(networks(max_inputs=4), st.integers(0, 99))
def test_restriction_to_a_slice_is_the_network_on_it(network: Network, seed: int) -> None:
    rng = np.random.default_rng(seed)
    dimension = int(rng.integers(1, network.n_inputs + 1))
    points = rng.integers(-8, 9, size=(dimension + 1, network.n_inputs)) / 4
    if np.linalg.matrix_rank(points[1:] - points[0]) < dimension:
        return
    plane = Slice.through(points)
    t = rng.integers(-8, 9, size=(4, dimension)) / 4  # exact in float64, so is the embedding
    restricted = network.restrict(plane)
    assert restricted.n_inputs == dimension
    assert (restricted.evaluate(t) == network.evaluate(plane.embed(t))).all()
    assert (
        restricted.patterns(t, arithmetic="exact")
        == network.patterns(plane.embed(t), arithmetic="exact")
    ).all()


def test_regions_on_a_slice_tile_its_box() -> None:
    network = random_network(0, "generic", 4, 3, 4, relu=True)
    plane = Slice([0.5, 0, 0, 1], [[1, 0, 1, 0], [0, 1, 0, -1]], Box(-2, 2))
    regions = enumerate_regions(network, plane)
    assert regions.network.n_inputs == 2
    t = np.random.default_rng(0).uniform(-2, 2, size=(500, 2))
    found = {p.tobytes() for p in regions.patterns}
    assert {p.tobytes() for p in network.patterns(plane.embed(t))} <= found


def test_slice_of_another_space_is_refused() -> None:
    with pytest.raises(InvalidDomainError, match=r"lies in R\^3, the network has 2 inputs"):
        Network.mlp([np.eye(2)]).restrict(Slice([0, 0, 0], [[1, 0, 0]]))


@given(networks(), st.integers(0, 99))
def test_sparse_matrices_change_nothing(network: Network, seed: int) -> None:
    def sparse(affine: Affine) -> Affine:
        return Affine({k: sp.csr_array(m) for k, m in affine.terms.items()}, affine.bias)

    twin = Network(
        network.n_inputs,
        [Layer(sparse(layer.affine), layer.activation) for layer in network.layers],
        sparse(network.output),
    )
    points = np.random.default_rng(seed).normal(size=(3, network.n_inputs))
    np.testing.assert_allclose(twin(points), network(points), rtol=1e-12, atol=1e-12)
    assert (twin.evaluate(points) == network.evaluate(points)).all()
    pattern = network.patterns(points)[0]
    assert (twin.affine_map(pattern).matrix == network.affine_map(pattern).matrix).all()


def test_wide_layers_use_flint_and_agree() -> None:
    """Beyond a size the exact product goes through FLINT's matrices."""
    rng = np.random.default_rng(0)
    network = Network.mlp([rng.normal(size=(n, m)) for m, n in ((2, 60), (60, 60), (60, 1))])
    x = rng.normal(size=(1, 2))
    pattern = network.patterns(x)[0]
    exact = network.affine_map(pattern)(to_fractions(to_rationals(x[0])))
    assert exact == network.evaluate(x)[0]
    assert abs(float(exact[0]) - network(x)[0, 0]) < 1e-9


def test_arrays_of_a_network_cannot_be_changed() -> None:
    weight = np.eye(2)
    network = Network.mlp([weight])
    weight[0, 0] = 5.0
    assert network([[1.0, 1.0]]).tolist() == [[1.0, 1.0]]
    with pytest.raises(ValueError, match="read-only"):
        network.output.terms[0][0, 0] = 5.0


def test_diagram_draws_every_skip() -> None:
    network = Network.mlp([np.eye(2)] * 5, skips=[(1, 3), (1, 5), (2, 4)])
    assert network.diagram().splitlines() == [
        "input   2",
        "  1     2  relu  ──┬───┐",
        "  2     2  relu  ──┼─┐ │",
        "  3     2  relu  ←─┘ │ │",
        "  4     2  relu  ←───┘ │",
        "output  2        ←─────┘",
    ]


def test_diagram_of_a_dense_network_lists_sources() -> None:
    depth = 8
    skips = [(k, t) for t in range(2, depth + 2) for k in range(t - 1)]
    text = Network.mlp([np.eye(2)] * (depth + 1), skips=skips).diagram()
    assert text.splitlines()[2].endswith("← 1, input")


def sent(network: Network) -> Any:
    return pickle.loads(pickle.dumps(network))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, sent])
def test_copies_are_counted_like_the_networks(copied: Any) -> None:
    networks = [default_network([2, 5, 5, 1], seed) for seed in range(20)]
    expected = count_many(networks)
    copies = [copied(network) for network in networks]
    del networks
    np.testing.assert_array_equal(count_many(copies), expected)


def test_what_a_network_remembers_stays_here() -> None:
    network = default_network([2, 3, 1])
    network.remember("a lock", threading.Lock)
    assert sent(network).remember("a lock", lambda: 1) == 1


@given(networks(max_inputs=3), st.integers(0, 99))
def test_patterns_of_many_points_are_those_of_each(network: Network, seed: int) -> None:
    """The kernel, and parts, against one pass; sums in another order may decide at a boundary."""
    points = np.random.default_rng(seed).normal(size=(70, network.n_inputs)).round(1)
    expected = network.patterns(points)
    with mock.patch.multiple(network_module, _MANY_POINTS=0, _LEAST_POINTS=33, _VALUES=1):
        found = network.patterns(points, workers=2)
    exact = network.patterns(points, arithmetic="exact")
    sure = (expected == exact) & (found == exact)
    assert (sure.all(axis=1) | _next_to_a_boundary(network, points)).all()
    with mock.patch.multiple(network_module, _EXACT_POINTS=9):
        np.testing.assert_array_equal(network.patterns(points, arithmetic="exact"), exact)


def _next_to_a_boundary(network: Network, points: np.ndarray) -> np.ndarray:
    values, near = [points], np.zeros(len(points), dtype=bool)
    for layer in network.layers:
        z = layer.affine(values)
        bends = layer.activation.breakpoints
        away = np.abs(z[:, :, None] - bends) / (1 + np.abs(z[:, :, None]).max())
        near |= (away < 1e-12).any(axis=(1, 2))
        values.append(layer.activation(z))
    return near


def test_patterns_of_many_points_with_sparse_layers_and_slices() -> None:
    rng = np.random.default_rng(0)
    matrix = sp.csr_array(np.where(rng.random((9, 5)) < 0.3, rng.normal(size=(9, 5)), 0.0))
    first = Layer(Affine({0: matrix}, rng.normal(size=9)), hard_tanh())
    second = Layer(Affine({0: rng.normal(size=(3, 5)), 1: rng.normal(size=(3, 9))}))
    network = Network(5, [first, second], Affine({2: np.eye(3)}))
    points = rng.normal(size=(3000, 5))
    np.testing.assert_array_equal(network.patterns(points), network._forward(points)[1])
    plane = network.restrict(Slice(np.zeros(5), rng.normal(size=(2, 5))))
    on_plane = points[:, :2]
    np.testing.assert_array_equal(plane.patterns(on_plane), plane._forward(on_plane)[1])
    large = np.concatenate([points, np.full((1, 5), 1e308)])
    np.testing.assert_array_equal(network.patterns(large)[:-1], network.patterns(points))
