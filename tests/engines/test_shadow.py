"""The shadow engine against the exact oracle and the wide engine, in boxes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from searching import small_units
from strategies import KINDS, cancelling_network, default_network, random_network
from tropicell import (
    Affine,
    Ball,
    Box,
    Layer,
    Network,
    Slice,
    WholeSpace,
    count_regions,
    enumerate_regions,
)
from tropicell.engines.scheduler import UnitRun
from tropicell.engines.shadow.task import ShadowPlan, ShadowTask
from tropicell.errors import InvalidDomainError
from tropicell.geometry.arithmetic import to_fractions, to_rationals
from tropicell.network import activations
from tropicell.network.shadow import shadow_of
from tropicell.paper.algorithm2 import traverse

BOXES = [Box(-1, 1), Box(0, 1), Box(-10, 10), Box(-0.125, 3), Box([-1, 0, 0, 0.5, -3], 4)]


def narrow(seed, kind, inputs, seen, depth, width, *, relu=False):
    """A network whose layers read a few combinations of the inputs, with small whole factors."""
    inner = random_network(seed, kind, seen, depth, width, relu=relu)
    rng = np.random.default_rng(seed)
    mixed = rng.integers(-2, 3, size=(seen, inputs)).astype(float)

    def read(affine):
        terms = {k: m @ mixed if k == 0 else m for k, m in affine.terms.items()}
        return Affine(terms, affine.bias)

    layers = [Layer(read(x.affine), x.activation) for x in inner.layers]
    return Network(inputs, layers, read(inner.output))


def shadows(network, box, units=None):
    """All patterns, after a look at the witnesses; and the statistics."""
    run = UnitRun(ShadowTask(network, box), units=units)
    batches = [columns for columns in run.batches() if columns is not None]
    assert run.complete
    patterns = np.concatenate(
        [np.empty((0, network.n_neurons), np.uint8)] + [b.packed[:] for b in batches]
    )
    witnesses = np.concatenate([np.empty((0, network.n_inputs))] + [b.witnesses for b in batches])
    found = {tuple(pattern) for pattern in patterns.tolist()}
    assert len(found) == len(patterns) == run.count
    stats = run.stats()
    wrong = (network.patterns(witnesses, arithmetic="exact") != patterns).any(axis=1)
    assert wrong.sum() <= stats["unproved_witnesses"]
    assert box.contains(witnesses).all()
    return found, stats


def oracle(network, box):
    return {tuple(pattern.tolist()) for pattern, _ in traverse(network, box)}


@given(
    st.integers(0, 10**6),
    st.sampled_from(KINDS),
    st.integers(1, 3),
    st.integers(1, 3),
    st.sampled_from(BOXES),
)
@settings(max_examples=60)
def test_boxes(seed, kind, seen, depth, box):
    network = narrow(seed, kind, 5, seen, depth, 3)
    if shadow_of(network) is None:
        with pytest.raises(InvalidDomainError, match="combinations of their 5 inputs"):
            ShadowTask(network, box)
        return
    assert shadows(network, box)[0] == oracle(network, box)


@given(st.integers(0, 10**6), st.sampled_from(KINDS))
@settings(max_examples=15)
def test_shadows_with_more_dimensions(seed, kind):
    """So many that candidates are found by half-spaces."""
    network = narrow(seed, kind, 7, 5, 1, 6, relu=True)
    if shadow_of(network) is not None:
        assert shadows(network, Box(-1, 1))[0] == oracle(network, Box(-1, 1))


@given(st.integers(0, 10**6), st.booleans())
@settings(max_examples=20)
def test_weights_that_cancel(seed, skip):
    network = cancelling_network(seed, 5, 1, skip=skip)
    if shadow_of(network) is not None:
        assert shadows(network, Box(-1, 1))[0] == oracle(network, Box(-1, 1))


def test_a_region_that_touches_the_box_only():
    """On [0, 1]^3, x + y + z <= 3: beyond there is nothing; just below, a corner of size 2^-50."""
    one = np.ones((1, 3))
    for bias, count in [(-3.0, 1), (np.nextafter(-3.0, 0.0), 2), (0.0, 1), (-(2.0**-50), 2)]:
        network = Network.mlp([one, [[1.0]]], [[bias], [0.0]])
        found, stats = shadows(network, Box(0, 1))
        assert len(found) == count
        assert found == oracle(network, Box(0, 1))
        assert stats["exact_decisions"] == 1


def test_candidates_that_the_box_does_not_have():
    """The corner of the box around a zonotope: candidates are more than regions."""
    rows = np.array([[1.0] * 6, [1.0, 1.0, 1.0, -1.0, -1.0, -1.0]])
    network = Network.mlp([rows, np.eye(2), np.ones((1, 2))], [[-4.25, -2.0], [0.0, 0.0], [0.0]])
    found, stats = shadows(network, Box(0, 1))
    assert found == oracle(network, Box(0, 1))
    assert len(found) < stats["candidates"]


@pytest.mark.parametrize("seed", range(4))
def test_many_inputs_against_the_wide_engine(seed):
    network = default_network([40, 5, 6, 4, 2], seed)
    box = Box(-1, 1)
    expected = enumerate_regions(network, box, engine="wide")
    found, stats = shadows(network, box)
    assert found == {tuple(p) for p in expected.packed[:].tolist()}
    assert stats["exact_decisions"] == 0
    assert stats["unproved_witnesses"] == 0
    assert count_regions(network, box) == len(expected)
    assert enumerate_regions(network, box).stats["engine"] == "shadow"


def test_every_step_agrees_with_rationals(monkeypatch):
    """Where floats prove nothing, all candidates are decided in rationals: the same regions."""
    network = narrow(3, "generic", 6, 2, 2, 4)
    box = Box(-1, 1)
    expected = shadows(network, box)[0]
    monkeypatch.setattr("tropicell.engines.shadow.task._LARGE", 0.0)
    found, stats = shadows(network.first_layers(network.depth), box)
    assert found == expected
    assert stats["exact_decisions"] >= len(found)


def test_activations_with_many_pieces():
    rng = np.random.default_rng(5)
    layers = [
        Layer(Affine({0: rng.normal(size=(3, 12))}, rng.normal(size=3)), activations.relu6()),
        Layer(Affine({1: rng.normal(size=(4, 3))}, rng.normal(size=4)), activations.hard_tanh()),
    ]
    network = Network(12, layers, Affine({2: np.ones((1, 4))}, [0.0]))
    expected = enumerate_regions(network, Box(-2, 2), engine="wide")
    assert shadows(network, Box(-2, 2))[0] == {tuple(p) for p in expected.packed[:].tolist()}


# --- shadows of networks --------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.sampled_from(KINDS), st.integers(1, 3), st.integers(1, 3))
@settings(max_examples=40)
def test_a_shadow_has_the_same_patterns(seed, kind, seen, depth):
    network = narrow(seed, kind, 5, seen, depth, 4)
    shadow = shadow_of(network)
    if shadow is None:
        return
    assert 0 < shadow.dimension < 5
    x = np.random.default_rng(seed).integers(-3, 4, size=(20, 5)).astype(float)
    u = to_fractions(to_rationals(x) @ to_rationals(shadow.rows.T))
    expected = network.patterns(x, arithmetic="exact")
    assert (shadow.network.patterns(u, arithmetic="exact") == expected).all()


def test_rows_that_depend_on_others():
    rows = np.array([[1.0, 2.0, 3.0, 4.0], [2.0, 4.0, 6.0, 8.0], [0.0, 1.0, 0.0, 1.0]])
    both = np.concatenate([rows, [rows[0] + rows[2]], np.zeros((1, 4))])
    shadow = shadow_of(Network.mlp([both, np.ones((1, 5))]))
    assert shadow.dimension == 2
    factors = shadow.network.affine(1).terms[0]
    assert (factors @ shadow.rows == both).all()
    # Each of these is a part of the other, but a seventh and a third are no float64 numbers.
    odd = np.array([[3.0, 0.0, 6.0], [7.0, 0.0, 14.0]])
    assert shadow_of(Network.mlp([odd, np.ones((1, 2))])) is None
    assert shadow_of(Network.mlp([np.eye(3), np.ones((1, 3))])) is None
    assert shadow_of(Network.mlp([np.zeros((2, 3)), np.ones((1, 2))])) is None


# --- searches -------------------------------------------------------------------------------------


def test_units_threads_and_checkpoints(tmp_path):
    network, domain = default_network((32, 5, 6, 1), 1), Box(-1, 1)
    expected = enumerate_regions(network, domain, engine="shadow")
    with small_units(2):
        several = enumerate_regions(network, domain, engine="shadow", workers=3)
        alone = enumerate_regions(network, domain, engine="shadow")
        kept = {"checkpoint": tmp_path / "c", "engine": "shadow"}
        part = enumerate_regions(network, domain, max_regions=20, **kept)
        assert not part.complete
        whole = enumerate_regions(network, domain, **kept)
    assert (several.packed.words == alone.packed.words).all()
    assert (several.witnesses == alone.witnesses).all()
    for regions in (alone, whole):
        assert regions.complete
        assert {p.tobytes() for p in regions.packed[:]} == {p.tobytes() for p in expected.packed[:]}


def test_parts_of_a_search_without_regions_are_no_mistake():
    """A corner of the box around the shadow has many candidates, and no image among them."""
    rows = np.array([[1.0] * 6, [1.0, 1.0, 1.0, -1.0, -1.0, -1.0]])
    cuts = [[1.0, 1.0]] * 20 + [[1.0, 0.5], [0.25, 1.0]]  # x1 + x2 + x3 is at most 3
    biases = [*(-9.125 - 0.125 * np.arange(20)), -3.0, -4.0]
    network = Network.mlp([rows, cuts, np.ones((1, 22))], [[0.0, 3.0], biases, [0.0]])
    with small_units(1):
        found, stats = shadows(network, Box(0, 1))
    assert found == oracle(network, Box(0, 1))
    assert stats["candidates"] > 20 > len(found)


def test_regions_in_all_coordinates():
    network, box = default_network((12, 3, 4, 2), 0), Box(0, 1)
    regions = enumerate_regions(network, box, engine="shadow")
    assert regions.witnesses.shape == (len(regions), 12)
    assert (regions.locate(regions.witnesses) == np.arange(len(regions))).all()
    assert regions.quotient.is_trivial
    assert regions[0].inequalities.A.shape[1] == 12


def test_refused():
    network = default_network((6, 3, 1))
    for domain in (WholeSpace(), Box(0, np.inf)):
        with pytest.raises(InvalidDomainError, match="bounded boxes"):
            count_regions(network, domain, engine="shadow")
    with pytest.raises(InvalidDomainError, match="balls"):
        count_regions(network, Ball(np.zeros(6), 1.0, "l2"), engine="shadow")
    plane = Slice(np.zeros(6), np.eye(6)[:2], Box(-1, 1))
    with pytest.raises(InvalidDomainError, match="combinations of their 2 inputs"):
        count_regions(network, plane, engine="shadow")
    huge = Network.mlp([np.full((1, 3), 1e308), [[1.0]]])
    with pytest.raises(InvalidDomainError, match="as large as"):
        ShadowPlan(huge, Box(-10, 10))
