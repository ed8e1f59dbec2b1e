"""Searches for the regions that a set of outputs meets, against Z3 on every region there is."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import searching
from oracles import is_met
from searching import assert_same_columns, small_units
from strategies import cancelling_networks, domains, networks
from tropicell import (
    Affine,
    Ball,
    Box,
    CheckpointError,
    DecisionBoundary,
    DecisionRegion,
    InvalidDomainError,
    InvalidInputError,
    Level,
    Network,
    Region,
    RegionLocator,
    Slice,
    Sublevel,
    Superlevel,
    count_regions,
    enumerate_regions,
    iter_regions,
    load_regions,
)
from tropicell.errors import IncompleteError


def random_network(sizes, seed=0):
    """With weights that are multiples of 1/8, so that Z3 has small numbers."""
    network = searching.random_network(sizes, seed)
    affine = [*(layer.affine for layer in network.layers), network.output]
    weights = [np.round(8 * next(iter(one.terms.values()))) / 8 for one in affine]
    return Network.mlp(weights, [np.round(8 * one.bias) / 8 for one in affine])


def expected(network, domain, where, regions=None):
    """Patterns of the regions that a set meets: all are looked at."""
    regions = regions or enumerate_regions(network, domain)
    parts = where.parts(network.n_outputs)
    return {
        pattern.tobytes()
        for pattern in regions.patterns
        if any(is_met(Region(regions.network, pattern, regions.domain), part) for part in parts)
    }


def found(network, domain, where, **options):
    regions = enumerate_regions(network, domain, where=where, **options)
    assert regions.complete
    patterns = [pattern.tobytes() for pattern in regions.patterns]
    assert len(set(patterns)) == len(patterns)
    return set(patterns)


def with_classes(network, classes, seed):
    """The same network with so many outputs, of small whole weights: ties are common."""
    rng = np.random.default_rng(seed)
    terms = {
        k: rng.integers(-2, 3, size=(classes, np.shape(m)[1])).astype(float)
        for k, m in network.output.terms.items()
    }
    bias = rng.integers(-1, 2, size=classes).astype(float)
    return Network(network.n_inputs, network.layers, Affine(terms, bias))


SETS = st.one_of(
    st.builds(Level, st.sampled_from([0.0, 1.0, -0.5, 0.1]), st.sampled_from([0, 1])),
    st.builds(Sublevel, st.sampled_from([0.0, 1.0, -0.5, -2.0])),
    st.builds(Superlevel, st.sampled_from([0.0, 1.0, 3.0]), st.just(1)),
    st.builds(DecisionBoundary, st.sampled_from([None, 0]), st.sampled_from([None, 1])),
    st.builds(DecisionRegion, st.sampled_from([0, 1])),
)


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_exactly_the_regions_that_a_set_meets(data):
    network = data.draw(st.one_of(networks(), cancelling_networks(skip=True)))
    classes = data.draw(st.sampled_from([None, 3, 4]))
    if classes is not None:
        network = with_classes(network, classes, data.draw(st.integers(0, 99)))
    domain, where = data.draw(domains(network.n_inputs)), data.draw(SETS)
    assert found(network, domain, where) == expected(network, domain, where)


@pytest.mark.parametrize("sizes", [[2, 8, 8, 3], [3, 5, 4, 3], [4, 4, 3, 3]])
@pytest.mark.parametrize("where", [Level(0.25), DecisionBoundary(0, 1), DecisionRegion(2)])
def test_networks_of_which_most_is_left_out(sizes, where):
    network, domain = random_network(sizes, seed=3), Box(-1, 1)
    regions = enumerate_regions(network, domain)
    mine = enumerate_regions(network, domain, where=where)
    assert {p.tobytes() for p in mine.patterns} == expected(network, domain, where, regions)
    assert mine.stats["left_out"] > 0
    assert mine.stats["where"] == repr(where)
    assert count_regions(network, domain, where=where) == len(mine) < len(regions)


def test_deep_networks_are_searched_along_the_set():
    network = searching.random_network([3, 12, 12, 12, 12, 1], seed=1)
    domain, where = Box(-0.5, 0.5), Level(0.0)
    regions = enumerate_regions(network, domain)
    mine = enumerate_regions(network, domain, where=where)
    maps, corners = regions.affine_maps, regions.corners.values
    owner = np.repeat(np.arange(len(regions)), regions.corners.counts)
    values = np.einsum("ki,ki->k", maps[owner, 0, :3], corners[:, :3]) + maps[owner, 0, 3]
    low, high = np.full((2, len(regions)), np.inf)
    np.minimum.at(low, owner, values)
    np.minimum.at(high, owner, -values)
    assert min(np.abs(low).min(), np.abs(high).min()) > 1e-9  # so floats decide
    wanted = regions.packed.words[(low < 0) & (high < 0)]
    assert sorted(map(bytes, mine.packed.words)) == sorted(map(bytes, wanted))
    assert mine.stats["left_out"] + len(mine) < len(regions) / 2


def test_sets_that_touch_a_region():
    # |x|: its least value is at the boundary of two regions, and belongs to both.
    network = Network.mlp([[[1.0], [-1.0]], [[1.0, 1.0]]])
    assert count_regions(network, where=Level(0.0)) == 2
    assert count_regions(network, where=Sublevel(-1e-300)) == 0
    assert not len(enumerate_regions(network, where=Level(-1.0)))
    assert enumerate_regions(network, where=Level(-1.0)).complete


def test_outputs_that_read_inputs_which_no_neuron_does():
    # Regions depend on x₁ alone, the output also on x₂.
    layers = Network.mlp([[[1.0, 0.0]], [[1.0]]]).layers
    network = Network(2, layers, Affine({0: [[0.0, 1.0]], 1: [[1.0]]}, [0.0]))
    assert count_regions(network, Box([-1, 1], [1, 2]), where=Level(0.0)) == 0
    assert count_regions(network, Box([-1, -2], [1, -0.5]), where=Level(0.0)) == 1


def test_slices():
    network = random_network([5, 8, 6, 1], seed=2)
    plane = Slice(np.zeros(5), np.eye(5)[:2], inside=Box(-2, 2))
    assert found(network, plane, Level(0.1)) == expected(network, plane, Level(0.1))


def test_workers_units_batches_and_budgets(tmp_path):
    network, domain = random_network([3, 9, 9, 1], seed=5), Box(-2, 2)
    where = Level(network(np.zeros(3))[0])
    alone = enumerate_regions(network, domain, where=where)
    assert len(alone) > 40
    with small_units(3):
        many = enumerate_regions(network, domain, where=where, workers=2)
        again = enumerate_regions(network, domain, where=where)
        assert_same_columns(many, again)
    assert sorted(map(bytes, many.packed.words)) == sorted(map(bytes, alone.packed.words))
    batches = list(iter_regions(network, domain, where=where))
    assert sum(map(len, batches)) == len(alone)
    some = enumerate_regions(network, domain, where=where, max_regions=10)
    assert len(some) == 10
    assert not some.complete
    with pytest.raises(IncompleteError):
        count_regions(network, domain, where=where, max_regions=10)


def test_checkpoints_know_the_set(tmp_path):
    network, domain = random_network([2, 9, 9, 1], seed=5), Box(-2, 2)
    where = Level(network(np.zeros(2))[0])
    whole = enumerate_regions(network, domain, where=where)
    with small_units(2):
        folder = tmp_path / "begun"
        some = enumerate_regions(network, domain, where=where, checkpoint=folder, max_regions=7)
        assert not some.complete
        for other in (None, Level(where.value + 1), Sublevel(where.value)):
            with pytest.raises(CheckpointError, match="another enumeration"):
                enumerate_regions(network, domain, where=other, checkpoint=folder)
        rest = enumerate_regions(network, domain, where=where, checkpoint=folder)
    assert rest.complete
    assert sorted(map(bytes, rest.packed.words)) == sorted(map(bytes, whole.packed.words))


def test_these_are_not_all_regions_of_the_domain(tmp_path):
    """What needs all of them treats regions of a set as a part: no proof, no locator."""
    network = searching.random_network([2, 12, 12, 1])
    some = enumerate_regions(network, Box(-2, 2), where=Level(float(network([0.5, 0.5])[0])))
    assert some.complete
    assert not some.covers
    assert 0 < len(some) < count_regions(network, Box(-2, 2))
    certificate = some.certify()
    assert certificate.ok
    assert not certificate.complete
    assert len(some.neighbours) > 0
    with pytest.raises(InvalidInputError, match="without where"):
        RegionLocator(some)
    points = np.random.default_rng(0).uniform(-2, 2, (200, 2))
    found = some.locate(points)
    np.testing.assert_array_equal(
        network.patterns(points)[found >= 0], some.patterns[found[found >= 0]]
    )
    assert (found < 0).any()
    some.save(tmp_path / "some.npz")
    assert not load_regions(tmp_path / "some.npz").covers


def test_folders(tmp_path):
    pytest.importorskip("pyarrow")
    network, domain = random_network([2, 9, 9, 1], seed=5), Box(-2, 2)
    where = Level(network(np.zeros(2))[0])
    stored = enumerate_regions(network, domain, where=where, out=tmp_path / "regions")
    assert len(stored) == count_regions(network, domain, where=where)


@pytest.mark.parametrize(
    ("where", "options", "message"),
    [
        (lambda y: y > 0, {}, "where must be a set by the outputs"),
        (Level(0.0), {"engine": "halfspaces"}, "engine='halfspaces'"),
        (Level(0.0), {"arithmetic": "float"}, "arithmetic='float'"),
        (Level(0.0), {"device": "cuda"}, "device='cuda'"),
        (Level(0.0), {"engine_backend": "ray"}, "engine_backend='ray'"),
        (Level(0.0, output=2), {}, "output must be an output of the network, 0 … 1, not 2"),
        (DecisionBoundary(1, 1), {}, "two classes"),
        (DecisionRegion(-1), {}, "winner"),
    ],
)
def test_refusals(where, options, message):
    with pytest.raises(InvalidInputError, match=message):
        count_regions(random_network([2, 3, 2]), Box(-1, 1), where=where, **options)


def test_more_refusals():
    for value in (np.nan, np.inf, "0", True):
        with pytest.raises(InvalidInputError, match="finite number"):
            Level(value)
    assert Level(Fraction(1, 4)).value == 0.25
    with pytest.raises(InvalidInputError, match="float64"):
        Level(Fraction(1, 3))
    one = random_network([2, 3, 1])
    for where in (DecisionBoundary(), DecisionRegion(0)):
        with pytest.raises(InvalidInputError, match="at least two"):
            count_regions(one, Box(-1, 1), where=where)
    with pytest.raises(InvalidDomainError, match="balls"):
        count_regions(one, Ball([0.0, 0.0], 1.0, norm="l2"), where=Level(0.0))
