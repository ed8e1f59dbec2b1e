"""Rows in float64 alone stay within bounds that are known before the search."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from strategies import random_network
from tropicell import Box, Network, WholeSpace
from tropicell._runtime.jit import kernel
from tropicell.geometry.arithmetic import EXACT
from tropicell.network._layer_maps import layer_maps
from tropicell.network._plain_maps import (
    carried_bounds,
    catch_up,
    enter_all_plainly,
    enter_finely,
    enter_plainly,
    plain_maps,
)
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


@kernel
def _enter_all(maps, current, rows, pieces, layers, d):  # type: ignore[no-untyped-def]
    enter_all_plainly(maps, current, rows, pieces, layers, d)


@kernel
def _enter_some(maps, current, rows, layer, pieces, at, d):  # type: ignore[no-untyped-def]
    if layer < rows.fine[0]:
        enter_finely(maps, current, rows, layer, pieces, at)
    else:
        enter_plainly(maps, rows, layer, pieces, at, d)


@kernel
def _catch_up(maps, current, rows, layer):  # type: ignore[no-untyped-def]
    catch_up(maps, current, rows, layer)


@settings(
    deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["generic", "tenths", "scaled", "dead", "skips"]),
    st.integers(1, 5),
    st.integers(0, 3),
)
def test_bounds_that_are_carried_along_hold(seed: int, kind: str, inputs: int, fine: int) -> None:
    """After sums and changes, with finer rows in some layers, and where bounds begin anew."""
    depth = 5
    network = random_network(seed, kind, inputs, depth, 7, relu=True)
    flat, rng, d = flatten(network, WholeSpace()), np.random.default_rng(seed), inputs
    maps, current = flat.maps, layer_maps(inputs, flat.maps.row_start, exact=True)
    errors, roundings = carried_bounds(maps)
    rows = plain_maps(maps, exact=True)._replace(errors=errors, roundings=roundings)
    rows.fine[0] = fine
    exact = NetworkMaps(network, EXACT)
    anew = bool(rng.random() < 0.5)
    pieces = rng.integers(0, 2, flat.neurons).astype(np.uint8)
    _enter_all(maps, current, rows, pieces, depth - 1, d)
    for step in range(14):
        first_changed = int(rng.integers(1, depth))
        low, high = flat.first_neuron(first_changed), flat.first_neuron(first_changed + 1)
        pieces[rng.integers(low, high, rng.integers(1, 3))] ^= 1
        if step == 8:
            pieces[low:high] = 0
        columns = _exact_columns(network, flat, exact, pieces)
        for layer in range(first_changed, depth):
            _enter_some(maps, current, rows, layer, pieces, flat.first_neuron(layer), d)
            if anew and rng.random() < 0.3:
                _catch_up(maps, current, rows, layer + 1)
        for layer in range(1, depth + 1):
            first, last = maps.row_start[layer : layer + 2]
            found = EXACT.array(rows.before[: d + 1, first:last].T)
            bound = EXACT.array(rows.before[d + 1, first:last])[:, None]
            assert (np.abs(found - columns[layer]) <= bound).all()
            if layer > fine and not anew and rows.roundings[layer]:
                least = _carried_on(network, maps, rows, pieces, layer)
                is_constant = rows.active[layer] == 0
                assert ((rows.before[d + 1, first:last] >= least) | is_constant).all()


def _carried_on(network, maps, rows, pieces, layer):  # type: ignore[no-untyped-def]
    """What the bounds of a layer's rows are at least, by those of the outputs that it reads."""
    start, bound = maps.row_start, network.n_inputs + 1
    total = rows.roundings[layer] * np.abs(maps.bias[start[layer] : start[layer + 1]])
    for source, matrix in network.layers[layer - 1].affine.terms.items():
        part = slice(start[source], start[source + 1])
        errors, sizes = rows.errors[part], np.abs(maps.input_rows).max(axis=1)
        if source:
            on = pieces[start[source] - start[1] : start[source + 1] - start[1]]
            errors = rows.before[bound, part] * on
            sizes = np.abs(rows.before[:bound, part]).max(axis=0) * on
        total += np.abs(np.asarray(matrix)) @ (errors + rows.roundings[layer] * sizes)
    return total * (1.0 - 1e-12)


def _exact_columns(network, flat, exact, pieces):  # type: ignore[no-untyped-def]
    """The rows of all layers before their activations, in rationals; first the input."""
    start, unit = exact.coordinates()
    start[:, :-1] /= EXACT.array(flat.lines.scale)
    after, before = [start], [start]
    for layer in range(1, network.depth + 1):
        before.append(exact.before(layer, after, unit))
        part = pieces[
            flat.first_neuron(layer) : flat.first_neuron(layer) + network.widths[layer - 1]
        ]
        after.append(exact.after(layer, before[-1], part, unit))
    return before


def test_deep_narrow_networks_carry_bounds_along() -> None:
    """Where bounds for every pattern explode; behind finer rows, if those grow too much, too."""

    def rows_of(inputs: int, width: int, depth: int):  # type: ignore[no-untyped-def]
        rng, sizes = np.random.default_rng(1), [inputs, *[width] * depth, 1]
        pairs = list(zip(sizes[1:], sizes[:-1], strict=True))
        weights = [rng.normal(size=(n, m)) * np.sqrt(2 / m) for n, m in pairs]
        network = Network.mlp(weights, [rng.normal(size=n) * 0.5 for n in sizes[1:]])
        flat = flatten(network, Box([-3.0] * inputs, [3.0] * inputs))
        rows = flat.lines.domain_rows
        return [plain_maps(flat.maps, exact=True, domain=rows, carried=c) for c in (False, True)]

    without, carried = rows_of(4, 8, 30)
    assert not len(without.errors)
    assert len(carried.errors)
    assert carried.roundings.any()
    assert rows_of(3, 20, 30)[1].fine[0] > carried.fine[0]
    shallow, same = rows_of(3, 8, 3)
    assert len(shallow.errors)
    assert not same.roundings.any()
