"""Many networks in one call: the same counts as one by one, in order, errors with an index."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import KINDS, random_network, weights
from tropicell import (
    Affine,
    Box,
    InvalidInputError,
    Layer,
    ModelFileError,
    Network,
    Polytope,
    Slice,
    count_many,
    count_regions,
)
from tropicell.engines.cells import _buffers as _cells_buffers
from tropicell.engines.cells import _many
from tropicell.network import activations
from tropicell.search import many

DOMAINS = (
    None,
    Box(-10, 10),
    Box([0, -np.inf], np.inf),
    Polytope([[-1, 0], [0, -1], [1, 1]], [1, 1, 1]),
)


@settings(max_examples=25)
@given(
    st.sampled_from(KINDS),
    st.sampled_from(DOMAINS),
    st.sampled_from(["relu", "absolute", "hard_tanh"]),
    st.integers(0, 2**20),
    st.tuples(st.integers(1, 6), st.integers(1, 5)),
)
def test_counts_are_those_of_single_calls(
    kind: str, domain: object, activation: str, seed: int, widths: tuple[int, int]
) -> None:
    rng = np.random.default_rng(seed)
    function = getattr(activations, activation)()
    nets = []
    for _ in range(6):
        first, second = weights(rng, kind, widths[0], 2), weights(rng, kind, widths[1], widths[0])
        skip = weights(rng, kind, widths[1], 2)[0]
        layers = [
            Layer(Affine({0: first[0]}, first[1]), function),
            Layer(Affine({0: skip, 1: second[0]}, second[1]), function),
        ]
        nets.append(Network(2, layers, Affine({2: np.ones((1, widths[1]))})))
    expected = [count_regions(network, domain, max_regions=10**9) for network in nets]  # a search
    np.testing.assert_array_equal(count_many(nets, domain, workers=2), expected)
    # By now the loop is loaded: after the first of a shape, others need no search either.
    for arithmetic in ("exact", "float"):
        found = [count_regions(network, domain, arithmetic=arithmetic) for network in nets]
        searched = [
            count_regions(network, domain, arithmetic=arithmetic, max_regions=10**9)
            for network in nets
        ]
        assert found == searched


def test_networks_that_take_long_are_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    nets = [
        Network.mlp([rng.normal(size=(6, 2)), rng.normal(size=(6, 6)), np.ones((1, 6))])
        for _ in range(4)
    ]
    expected = count_many(nets, Box(-7, 7)).tolist()
    monkeypatch.setattr(_many, "_shapes", _many._Shapes())
    assert [count_regions(net, Box(-7, 7)) for net in nets] == expected
    ((_, spare),) = _many._shapes._known.items()
    assert len(spare) == 1  # the counter of this thread
    monkeypatch.setattr(_many.Counter, "try_one", lambda self, network: _many.PAUSED)
    assert [count_regions(net, Box(-7, 7)) for net in nets] == expected
    assert not spare or not _many._shapes._known.popitem()[1]


def test_networks_of_several_shapes_keep_their_order() -> None:
    shapes = [(2, 2, 4), (1, 2, 4), (2, 2, 4), (2, 3, 5), (3, 1, 4), (2, 2, 4), (2, 3, 5)]
    nets = [random_network(i, "generic", *s, relu=True) for i, s in enumerate(shapes)]
    nets.append(Network.mlp([np.eye(2)]))  # no hidden layer
    expected = [count_regions(network) for network in nets]
    for workers in (1, 3):
        np.testing.assert_array_equal(count_many(iter(nets), workers=workers), expected)
    np.testing.assert_array_equal(count_many(nets, engine="traverse"), expected)
    assert count_many([]).shape == (0,)


def test_every_network_is_counted_once_whatever_the_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = [(2, 1, 3), (2, 1, 4), (2, 1, 4)]
    nets = [random_network(i, "generic", *shapes[i % 3], relu=True) for i in range(400)]
    nets += [random_network(i, "generic", 2, 1, 3, relu=True) for i in range(300)]
    expected = [count_regions(network, Box(-1, 1)) for network in nets]
    for most, fewest, workers in ((1, 1, 2), (10**9, 1, 1), (200, 50, 3), (200, 50, 12)):
        monkeypatch.setattr(many, "_MOST_NUMBERS", most)
        monkeypatch.setattr(many, "_FEWEST_NUMBERS", fewest)
        blocks = many._blocks(nets, Box(-1, 1), "exact", workers)
        assert sorted(chain.from_iterable(block for _, block in blocks)) == list(range(len(nets)))
        found = count_many(nets, Box(-1, 1), workers=workers)
        np.testing.assert_array_equal(found, expected)


def test_a_stack_that_is_too_small_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    grown: list[object] = []
    grow = _cells_buffers.grown
    monkeypatch.setattr(_cells_buffers, "grown", lambda old: grown.append(old) or grow(old))
    angles = np.linspace(0.01, 1.5, 100)  # of tangents of a circle: each cuts all others
    tangents = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    rng = np.random.default_rng(1)
    nets = [
        Network.mlp([lines, np.ones((1, 100))], [np.full(100, -1.0), [0]])
        for lines in (rng.normal(size=(100, 2)), tangents, rng.normal(size=(100, 2)))
    ]
    found = count_many(nets)
    assert grown
    assert found.tolist() == [count_regions(network) for network in nets]
    assert found[1] == 1 + 100 + 100 * 99 // 2


def test_float_arithmetic_and_slices() -> None:
    nets = [random_network(i, "generic", 2, 2, 6, relu=True) for i in range(5)]
    expected = [count_regions(network, Box(-1, 1), arithmetic="float") for network in nets]
    np.testing.assert_array_equal(count_many(nets, Box(-1, 1), arithmetic="float"), expected)
    line = Slice([0, 0], [[1, 2]])
    np.testing.assert_array_equal(
        count_many(nets, line), [count_regions(network, line) for network in nets]
    )


def test_numbers_of_unusual_size() -> None:
    rng = np.random.default_rng(0)
    nets = [
        Network.mlp([rng.normal(size=(4, 2)) * scale, np.ones((1, 4))], [rng.normal(size=4), [0]])
        for scale in (1.0, 1e-200, 1e150, 1.0)
    ]
    expected = [count_regions(network, Box(-1, 1)) for network in nets]
    np.testing.assert_array_equal(count_many(nets, Box(-1, 1)), expected)


def test_zeros_and_sparse_matrices() -> None:
    rng = np.random.default_rng(3)
    nets = []
    for _ in range(6):
        first, second = (
            rng.normal(size=(5, 2)),
            rng.normal(size=(6, 5)) * (rng.random((6, 5)) < 0.2),
        )
        affine = Affine({1: sp.csr_array(second) if len(nets) % 3 == 2 else second}, np.ones(6))
        layers = [Layer(Affine({0: first}, rng.normal(size=5))), Layer(affine)]
        nets.append(Network(2, layers, Affine({2: np.ones((1, 6))})))
    expected = [count_regions(network, Box(-3, 3)) for network in nets]
    np.testing.assert_array_equal(count_many(nets, Box(-3, 3)), expected)


def test_kinds_are_equal_if_numbers_alone_differ() -> None:
    rng = np.random.default_rng(0)
    slopes = [0.1, 0.1, 0.2]
    nets = [
        Network.mlp(
            [rng.normal(size=(4, 2)), rng.normal(size=(1, 4))], activation=activations.leaky_relu(s)
        )
        for s in slopes
    ]
    assert nets[0].kind is nets[1].kind
    assert nets[0].kind != nets[2].kind
    assert nets[0].layers[0].activation is nets[1].layers[0].activation
    wider = Network.mlp([rng.normal(size=(4, 3)), np.ones((1, 4))])
    assert wider.kind != Network.mlp([rng.normal(size=(4, 2)), np.ones((1, 4))]).kind


def test_errors_name_the_network() -> None:
    nets = [random_network(i, "generic", n, 1, 3) for i, n in enumerate((2, 2, 3))]
    with pytest.raises(InvalidInputError, match="network 2: the box has 2 coordinates"):
        count_many(nets, Box([0, 0], [1, 1]))
    with pytest.raises(InvalidInputError, match="network 0: the box has 3 coordinates"):
        count_many(nets[:2], Box([0, 0, 0], [1, 1, 1]))
    with pytest.raises(ModelFileError, match="network 1: net: no such file"):
        count_many([nets[0], "net"])
    with pytest.raises(InvalidInputError, match="network 0: engine must be"):
        count_many(nets, engine="fast")
    with pytest.raises(InvalidInputError, match="workers must be"):
        count_many(nets, workers=0)
