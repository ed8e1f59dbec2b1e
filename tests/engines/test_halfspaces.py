"""The half-space engine against the exact oracle, on generic and degenerate networks."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from benchmarks.deep_networks import BIAS_FREE
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import KINDS, default_network, domains, networks, random_network
from tropicell import Affine, Box, Layer, Network, Polytope, Slice, enumerate_regions
from tropicell.engines.halfspaces import _flat as _halfspaces_flat
from tropicell.engines.halfspaces import _search as _halfspaces_search
from tropicell.engines.halfspaces._exact import decide, interior_point, likely_point
from tropicell.engines.halfspaces.task import HalfspaceTask, HalfspaceWorker
from tropicell.engines.scheduler import UnitRun
from tropicell.errors import InvalidDomainError
from tropicell.network import activations
from tropicell.network.domains import resolve
from tropicell.paper.algorithm2 import traverse


def oracle(network, domain=None):
    on, inside = resolve(network, domain)
    return {tuple(pattern.tolist()) for pattern, _ in traverse(on, inside)}


class Result(NamedTuple):
    """What a run found, with the margins of the witnesses."""

    count: int
    complete: bool
    patterns: np.ndarray
    witnesses: np.ndarray
    margins: np.ndarray
    stats: dict


def enumerate_halfspaces(network, domain=None, *, store=True, arithmetic="exact"):
    task = HalfspaceTask(network, domain, arithmetic, store=store)
    margins = [np.empty(0)]
    patterns = [np.empty((0, task.network.n_neurons), np.uint8)]
    witnesses = [np.empty((0, task.network.n_inputs))]
    original = HalfspaceWorker._columns

    def recorded(self, n):
        margins.append(self._search.work.out.margins[:n].copy())
        return original(self, n)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HalfspaceWorker, "_columns", recorded)
        run = UnitRun(task)
        for columns in run.batches():
            if columns is not None:
                patterns.append(columns.packed[:])
                witnesses.append(columns.witnesses)
    found = (np.concatenate(parts) for parts in (patterns, witnesses, margins))
    return Result(run.count, run.complete, *found, run.stats())


def found(result: Result):
    patterns = {tuple(pattern) for pattern in result.patterns.tolist()}
    assert len(patterns) == len(result.patterns) == result.count
    assert result.complete
    return patterns


def check_witnesses(network, domain, result):
    on, inside = resolve(network, domain)
    sure = result.margins > 0
    points = result.witnesses[sure]
    if len(points):
        assert (on.patterns(points) == result.patterns[sure]).all()
        assert inside.contains(points).all()
    return sure


def check(network, domain=None):
    expected = oracle(network, domain)
    result = enumerate_halfspaces(network, domain)
    assert found(result) == expected
    check_witnesses(network, domain, result)
    assert enumerate_halfspaces(network, domain, store=False).count == len(expected)
    return result


@given(networks(max_inputs=4, max_depth=3, max_width=4), st.data())
@settings(max_examples=300)
def test_same_regions_as_the_oracle(network, data):
    check(network, data.draw(domains(network.n_inputs)))


@given(st.integers(0, 10**6), st.sampled_from(KINDS), st.integers(5, 6))
@settings(max_examples=25)
def test_same_regions_in_more_dimensions(seed, kind, inputs):
    check(random_network(seed, kind, inputs, 2, 4))


@given(st.integers(0, 10**6), st.sampled_from(KINDS), st.integers(1, 2), st.booleans())
@settings(max_examples=40)
def test_slices(seed, kind, dimension, boxed):
    network = random_network(seed, kind, 4, 2, 4)
    rng = np.random.default_rng(seed)
    directions = np.eye(4)[:dimension] + rng.integers(-2, 3, size=(dimension, 4)) * 0.125
    if np.linalg.matrix_rank(directions) == dimension:
        inside = Box(-1, 2) if boxed else None
        check(network, Slice(rng.integers(-1, 2, size=4), directions, inside))


@pytest.mark.parametrize(
    ("weights", "biases"),
    [
        ([[[1.0], [-1.0]], [[1.0, 1.0]]], None),  # relu(x) next to relu(-x)
        ([[[0.1, 0.2], [3 * 0.1, 3 * 0.2]], [[1.0, 1.0]]], [[0.3, 3 * 0.3], [0.0]]),
        ([[[0.1, 0.2], [0.1, 0.2]], [[1.0, -1.0], [2.0, 1.0]], [[1.0, 1.0]]], None),
        ([[[1.0, 1.0, 0.0]], [[1.0], [-1.0], [0.5]], [[1.0, 1.0, 1.0]]], None),  # strips
        ([np.zeros((3, 2)), np.ones((2, 3)), np.ones((1, 2))], [[0, 1, -1], [0, -1], [0]]),
        ([np.eye(3) * 1e-9, np.ones((2, 3)) * 1e9, np.ones((1, 2))], [[1e-9] * 3, [-1, 1], [0]]),
        ([[[1e-200, 1.0]], [[1e-200], [1.0]], [[1.0, 1.0]]], None),  # no float proof is safe
        ([[[1e-310, 1.0], [1.0, 1e-310]], [[1.0, -1.0]], [[1.0]]], [[0.0, 1.0], [0.0], [0.0]]),
        ([[[1e-310], [1.0]], [[1.0, -1.0]], [[1.0]]], [[1.0, 1.0], [0.0], [0.0]]),
        ([[[1e130], [1.0]], [[1e130, -1e130]], [[1.0]]], [[1.0, 1.0], [0.0], [0.0]]),
    ],
)
def test_degenerate_by_hand(weights, biases):
    check(Network.mlp(weights, biases))


@pytest.mark.parametrize(
    ("sizes", "seed"), [((4, 5, 4, 1), 0), ((5, 5, 3, 1), 1), ((3, 6, 5, 1), 2)]
)
@pytest.mark.parametrize("domain", [None, Box(-3, 3), Box(0, np.inf)])
def test_without_biases_all_boundaries_meet_in_a_vertex(sizes, seed, domain):
    rng = np.random.default_rng(seed)
    network = Network.mlp([rng.normal(size=(n, m)) for m, n in pairwise(sizes)])
    result = check(network, domain)
    # Most decisions are made by floats: that rows vanish at 0 is known.
    assert result.stats["exact_decisions"] < len(result.patterns) / 2


def test_float_counts_a_network_without_biases():
    network = BIAS_FREE[1].network()
    counts = [
        enumerate_halfspaces(network, Box(-3, 3), store=False, arithmetic=arithmetic).count
        for arithmetic in ("float", "exact")
    ]
    assert counts == [1126, 1126]  # as the cells engine finds


def test_many_pieces_and_skips():
    tent = activations.piecewise([0, 1, 2], [0, 1, -1, 0], [0, 0, 2, 0])
    rng = np.random.default_rng(3)
    layers = [
        Layer(Affine({0: rng.normal(size=(3, 3))}, rng.normal(size=3)), tent),
        Layer(Affine({0: rng.normal(size=(2, 3)), 1: rng.normal(size=(2, 3))}), "hard_tanh"),
    ]
    check(Network(3, layers, Affine({2: np.ones((1, 2))})), Box(-2, 2))


def test_float_agrees_on_generic_networks():
    for seed, sizes in enumerate([(2, 8, 8, 1), (3, 6, 6, 6, 1), (6, 7, 5, 1), (8, 6, 4, 1)]):
        network = default_network(sizes, seed)
        exact = enumerate_halfspaces(network)
        floats = enumerate_halfspaces(network, arithmetic="float")
        assert found(exact) == found(floats)
        assert exact.stats["exact_decisions"] == 0
        assert check_witnesses(network, None, exact).all()


def test_generic_high_dimension():
    result = enumerate_halfspaces(default_network((8, 10, 10, 1)), store=False)
    assert (result.count, result.complete) == (109_597, True)
    assert result.stats["exact_decisions"] == 0
    assert result.stats["lps"] < result.count


def test_arrangements_have_the_known_number_of_cells():
    rng = np.random.default_rng(0)
    network = Network.mlp([rng.normal(size=(70, 2)), np.ones((1, 70))], [rng.normal(size=70), [0]])
    result = enumerate_halfspaces(network)  # more than 64 cuts: two words a mask
    assert len(found(result)) == 1 + 70 + 70 * 69 // 2
    assert check_witnesses(network, None, result).all()
    central = Network.mlp([rng.normal(size=(9, 3)), np.ones((1, 9))])
    assert enumerate_halfspaces(central, store=False).count == 2 * (1 + 8 + 8 * 7 // 2)


def test_buffers_grow_and_batches_add_up(monkeypatch):
    network = default_network((4, 14, 12, 1))
    expected = found(enumerate_halfspaces(network))
    monkeypatch.setattr(_halfspaces_flat, "POINTS", 16)
    monkeypatch.setattr(_halfspaces_search, "BATCH", 5000)  # less than the first units have
    assert found(enumerate_halfspaces(network)) == expected


def test_refused_input():
    network = default_network((2, 3, 1))
    with pytest.raises(InvalidDomainError, match="interior"):
        enumerate_halfspaces(network, Polytope([[1, 0], [-1, 0]], [0, 0]))


def test_network_without_layers():
    network = Network(2, [], Affine({0: np.ones((1, 2))}))
    result = enumerate_halfspaces(network, Box(0, 1))
    assert result.patterns.shape == (1, 0)
    assert Box(0, 1).contains(result.witnesses).all()


def test_exact_linear_program():
    from tropicell.geometry.arithmetic import to_rationals

    rows = to_rationals([[0, 1, 0], [0, 0, 1], [0, 1, 0], [0, 0, 1], [3, -1, -1], [1, 1, 1]])
    rows = rows.tolist()
    sign = [0, 0, 1, 1, 1, 0]  # the triangle x, y >= 0, x + y <= 3
    outcome = decide(rows, sign, 5, 1, [0, 1])
    assert outcome.forced
    assert set(outcome.support) == {2, 3}
    beyond = decide(rows, sign, 5, -1, [0, 1])
    assert not beyond.forced
    assert beyond.point[0] + beyond.point[1] + 1 > 0
    inside = interior_point(rows, sign)
    assert inside is not None
    assert min(*inside, 3 - inside[0] - inside[1]) > 0
    assert interior_point(rows, [0, 0, 1, 1, -1, -1]) is None
    likely = likely_point(rows, sign)
    assert likely is not None
    assert min(*likely, 3 - likely[0] - likely[1]) > 0
    assert likely_point(rows, [0, 0, 1, 1, -1, -1]) is None


def test_a_likely_point_is_proved_or_not_used():
    from tropicell.geometry.arithmetic import to_rationals

    thin = [[0, 1, 0], [0, 0, 1], [0, 1, 0], [2.0**-80, -1, 0], [1, 0, 1], [1, 0, -1]]
    rows = to_rationals(thin).tolist()  # 0 < x < 2^-80: too thin for the tolerance of floats
    sign = [0, 0, 1, 1, 1, 1]
    point = likely_point(rows, sign)
    assert point is None or 0 < point[0] < to_rationals([2.0**-80])[0]
    inside = interior_point(rows, sign)
    assert inside is not None
    assert 0 < inside[0] < to_rationals([2.0**-80])[0]


def test_points_whose_signs_are_not_certain_are_not_on_a_boundary() -> None:
    """Between two breakpoints of a steep neuron lie 10⁻⁹ of the box: a cell there was no region."""
    network = random_network(5128, "scaled", 5, 2, 5)
    expected = enumerate_regions(network, Box(-1, 1), engine="traverse")
    found = enumerate_regions(network, Box(-1, 1), engine="halfspaces")
    assert sorted(found.texts()) == sorted(expected.texts())
