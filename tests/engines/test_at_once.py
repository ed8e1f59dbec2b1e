"""Regions that a last layer makes of a cell, found all at once: those that cutting finds."""

from __future__ import annotations

from unittest import mock

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from searching import assert_same, small_units, tuned
from strategies import KINDS, default_network, random_network
from tropicell import Box, Network, Polytope, Regions, WholeSpace, enumerate_regions
from tropicell.engines import column_store
from tropicell.engines.cells import worker
from tropicell.geometry.arithmetic import ArithmeticName
from tropicell.network.domains import Domain

some = settings(
    deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


def cut_one_by_one(
    network: Network, domain: Domain, arithmetic: ArithmeticName = "exact"
) -> Regions:
    with tuned(at_once=0):
        return enumerate_regions(network, domain, engine="cells", arithmetic=arithmetic)


def domain_of(name: str, inputs: int) -> Domain:
    corner = np.concatenate([-np.eye(inputs), np.ones((1, inputs))])
    choices: dict[str, Domain] = {
        "box": Box(-1, 1),
        "far": Box(-300.0, 1e5),
        "space": WholeSpace(),
        "simplex": Polytope(corner, np.append(np.zeros(inputs), 1.0)),
    }
    return choices[name]


@some
@given(
    st.integers(0, 10**6),
    st.sampled_from(KINDS),
    st.integers(3, 5),
    st.integers(1, 3),
    st.sampled_from(["box", "far", "space", "simplex"]),
    st.booleans(),
)
def test_the_same_columns_as_by_cutting(
    seed: int, kind: str, inputs: int, depth: int, where: str, relu: bool
) -> None:
    network = random_network(seed, kind, inputs, depth, 7 if inputs < 5 else 5, relu=relu)
    domain = domain_of(where, inputs)
    found = enumerate_regions(network, domain, engine="cells")
    assert_same(found, cut_one_by_one(network, domain))
    if len(found) < 60:
        oracle = enumerate_regions(network, domain, engine="traverse")
        assert sorted(found.texts()) == sorted(oracle.texts())


@some
@given(st.integers(0, 10**6), st.integers(3, 4), st.booleans())
def test_float_arithmetic(seed: int, inputs: int, bounded: bool) -> None:
    network = random_network(seed, "generic", inputs, 2, 6, relu=True)
    domain: Domain = Box(-2, 2) if bounded else WholeSpace()
    with tuned(limits=(10**6,) * 3):  # rows are rounded in another way where units begin
        found = enumerate_regions(network, domain, engine="cells", arithmetic="float")
        assert_same(found, cut_one_by_one(network, domain, "float"))


def test_buffers_that_are_full() -> None:
    network, domain = default_network([3, 9, 9, 1]), Box(-2, 2)
    expected = enumerate_regions(network, domain)
    for regions in (8, 64):
        with tuned(batch_regions=regions):
            copy = Network(network.n_inputs, network.layers, network.output)
            assert_same(enumerate_regions(copy, domain), expected)
            assert_same(enumerate_regions(copy, domain, workers=2), expected)


def test_nearly_the_same_point() -> None:
    """Tenths are rounded: planes that would meet in one corner of the box nearly do."""
    rng = np.random.default_rng(1010)
    for sizes in ((12, 10), (8, 8, 8), (16,)):
        weights, biases, m = [], [], 3
        for n in (*sizes, 1):
            weights.append(np.round(rng.normal(size=(n, m)) * np.sqrt(2 / m), 1))
            biases.append(np.round(rng.normal(size=n) * 0.5, 1))
            m = n
        network, box = Network.mlp(weights, biases), Box(-3, 3)
        found = enumerate_regions(network, box, engine="cells")
        assert_same(found, cut_one_by_one(network, box))


@some
@given(
    st.integers(0, 10**6),
    st.sampled_from(KINDS),
    st.integers(1, 5),
    st.sampled_from(["box", "far", "space", "simplex"]),
    st.integers(1, 3),
)
def test_regions_that_are_written_where_they_stay(
    seed: int, kind: str, inputs: int, where: str, limit: int
) -> None:
    network = random_network(seed, kind, inputs, 2, 7 if inputs < 5 else 5)
    domain = domain_of(where, inputs)
    with small_units(limit):
        expected = enumerate_regions(network, domain, engine="cells")
        # Places are taken after every unit, and left where exact arithmetic finds regions.
        soon = mock.patch.multiple(worker, _FIRST_TIME=10**9, _LATER=10**9)
        little = mock.patch.multiple(column_store, _AHEAD=2, _FAR=0 if limit > 1 else 10**6)
        with tuned(batch_regions=64), soon, little:
            found = enumerate_regions(network, domain, engine="cells")
            assert_same(found, expected)
            if len(found) > 1:
                some = enumerate_regions(
                    network, domain, engine="cells", max_regions=len(found) - 1
                )
                assert_same(some, found[: len(found) - 1])


def test_a_place_is_used_and_left() -> None:
    network = default_network([3, 18, 16, 1])
    taken = []

    def go_to(self: worker.CellWorker, place: column_store.Place) -> None:
        original(self, place)
        taken.append(self._in_place)

    original = worker.CellWorker._go_to
    with mock.patch.object(worker.CellWorker, "_go_to", go_to), small_units(2):
        expected = enumerate_regions(network, Box(-1, 1), engine="cells")
        assert not taken
        soon = mock.patch.multiple(worker, _FIRST_TIME=10**9, _LATER=10**9)
        with soon, mock.patch.multiple(column_store, _AHEAD=2, _FAR=0):
            found = enumerate_regions(network, Box(-1, 1), engine="cells")
    assert len(found) > 400
    assert taken.count(True) > 1  # the first one is soon full
    assert_same(found, expected)
