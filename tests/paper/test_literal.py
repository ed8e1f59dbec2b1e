"""Algorithm 2 as printed and all that came after it find the same regions; their costs."""

from __future__ import annotations

import itertools
import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings

from strategies import networks
from tropicell import Box, EmptyRegion, InvalidInputError, Network, find_region
from tropicell.paper.algorithm2 import traverse
from tropicell.paper.example import walkthrough
from tropicell.paper.literal import Printed, gains

#: These take tens of milliseconds an example.
FEW = settings(max_examples=max(1, settings().max_examples // 3))


@FEW
@given(networks(max_inputs=2, max_depth=2, max_width=3))
def test_all_ways_find_what_the_oracle_finds(network: Network) -> None:
    """`gains` compares the regions of all ways with each other."""
    found = gains(network, Box(-3, 3))
    assert found[-1].regions == len(list(traverse(network, Box(-3, 3))))


def test_every_pattern_is_tried_in_a_last_layer_that_can_fail() -> None:
    run = Printed(walkthrough())
    assert (len(run.results), run.calls, run.tests) == (9, 16, 32)
    # With a third layer, failures of layers before it end the loops over it.
    rng = np.random.default_rng(0)
    deep = Network.mlp([rng.normal(size=s) for s in ((3, 2), (3, 3), (3, 3), (1, 3))])
    run = Printed(deep)
    assert len(run.results) < run.calls < 2**9
    patterns = {tuple(v.tolist()) for v, _ in traverse(deep)}
    assert set(run.results) == patterns


@FEW
@given(networks(max_inputs=2, max_depth=3, max_width=3))
def test_the_number_of_patterns_has_a_formula(network: Network) -> None:
    inner = range(1, network.depth)
    regions = [1, *(len(list(traverse(network.first_layers(k)))) for k in inner)][: network.depth]
    choices = [math.prod(layer.activation.pieces.tolist()) for layer in network.layers]
    assert Printed(network).calls == 1 + sum(
        (count - 1) * r for count, r in zip(choices, regions, strict=True)
    )


def test_407_of_4096() -> None:
    rng = np.random.default_rng(4)
    sizes = pairwise([2, 3, 3, 3, 3, 1])
    drawn = [(rng.standard_normal((n, m)), rng.standard_normal(n)) for m, n in sizes]
    run = Printed(Network.mlp([w for w, _ in drawn], [b for _, b in drawn]))
    assert (run.calls, 2**run.network.n_neurons, len(run.results)) == (407, 4096, 47)


def test_a_failure_above_ends_the_loop_below() -> None:
    """Layer 1 has three of four assignments: the fourth costs one call for each of layer 2."""
    network = Network.mlp(
        [[[1.0], [1.0]], [[1.0, 1.0], [1.0, -1.0]], [[1.0, 1.0]]], [[0.0, -1.0], [5.0, 5.0], [0.0]]
    )
    run = Printed(network)
    # "01" is empty at layer 1 (index 0), found at depth 2, and ends the loop at depth 1 at once.
    assert run.calls == 3 * 4 + 1


def test_costs_fall() -> None:
    rng = np.random.default_rng(1)
    network = Network.mlp(
        [rng.normal(size=s) for s in ((3, 2), (3, 3), (3, 3), (1, 3))],
        [rng.normal(size=n) for n in (3, 3, 3, 1)],
        skips=[(1, 3)],
    )
    every, printed, layer, neuron, cells, lists = gains(network)
    assert every.calls == 512 > printed.calls > printed.regions
    assert printed.tests > layer.tests > neuron.tests > cells.questions
    assert cells.tests == lists.tests == 0
    assert lists.questions > 0


@FEW
@given(networks(max_inputs=2, max_depth=3, max_width=2))
def test_tests_of_every_pattern_are_those_of_algorithm_1(network: Network) -> None:
    """Counted by calling it for all of them."""
    choices = itertools.product(*(range(count) for count in network.pieces.tolist()))
    results = [find_region(network, pattern) for pattern in choices]
    tests = [r.layer if isinstance(r, EmptyRegion) else network.depth for r in results]
    assert (gains(network)[0].calls, gains(network)[0].tests) == (len(tests), sum(tests))


def test_large_networks_skip_what_is_exponential() -> None:
    rng = np.random.default_rng(0)
    network = Network.mlp(
        [rng.normal(size=(18, 1)), rng.normal(size=(1, 18))], [rng.normal(size=18), None]
    )
    names = [gain.name for gain in gains(network)]
    assert names == ["every pattern", "prune per neuron", "cells", "conflict lists"]
    with pytest.raises(InvalidInputError, match="262,144 patterns"):
        Printed(network)


@pytest.mark.parametrize("ask", [Printed, gains])
def test_what_is_no_network_is_refused(ask) -> None:
    with pytest.raises(InvalidInputError, match="expected a Network, not NoneType"):
        ask(None)
