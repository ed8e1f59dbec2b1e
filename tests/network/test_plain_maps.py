"""Rows in float64 alone stay within bounds that are known before the search."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from strategies import random_network
from tropicell import WholeSpace
from tropicell._runtime.jit import kernel
from tropicell.geometry.arithmetic import EXACT
from tropicell.network._plain_maps import enter_plainly, plain_maps
from tropicell.network.flat import flatten
from tropicell.network.maps import NetworkMaps


@kernel
def _enter(maps, rows, layer, pieces, at, d):  # type: ignore[no-untyped-def]
    enter_plainly(maps, rows, layer, pieces, at, d)


@settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["generic", "tenths", "scaled", "dead"]),
    st.integers(1, 5),
    st.integers(2, 4),
)
def test_bounds_hold_for_every_pattern(seed: int, kind: str, inputs: int, depth: int) -> None:
    """After sums and after changes, of few neurons and of many, and where none is on."""
    network = random_network(seed, kind, inputs, depth, 9, relu=True)
    flat = flatten(network, WholeSpace())
    rng, d = np.random.default_rng(seed), inputs
    rows = plain_maps(flat.maps, exact=True)
    assume(len(rows.errors))
    exact = NetworkMaps(network, EXACT)
    pieces = rng.integers(0, 2, flat.neurons).astype(np.uint8)
    for step in range(12):
        flips = rng.integers(0, flat.neurons, rng.integers(1, 4))
        pieces[flips] ^= 1
        if step == 8:
            pieces[:] = 0
        start, unit = exact.coordinates()
        start[:, :-1] /= EXACT.array(flat.lines.scale)
        columns = [start]
        for layer in range(network.depth):
            at = flat.first_neuron(layer) if layer else 0
            _enter(flat.maps, rows, layer, pieces, at, d)
            if layer:
                part = pieces[at : flat.first_neuron(layer + 1)]
                columns.append(exact.after(layer, columns.pop(), part, unit))
            first, last = flat.maps.row_start[layer + 1 : layer + 3]
            expected = exact.before(layer + 1, columns, unit)
            found = EXACT.array(rows.before[: d + 1, first:last].T)
            bound = EXACT.array(rows.before[d + 1, first:last])[:, None]
            assert (np.abs(found - expected) <= bound).all()
            columns.append(expected)
