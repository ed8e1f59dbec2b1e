"""Signs with twice the digits, and with all of them, against rationals."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from flint import fmpq, fmpq_mat
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from strategies import KINDS, random_network
from tropicell import Box, Network, WholeSpace, count_regions, enumerate_regions
from tropicell._runtime.jit import kernel
from tropicell.engines.cells._buffers import room_for
from tropicell.engines.cells._signs import (
    UNKNOWN,
    few_sources,
    fine_corner,
    fine_sign,
    sharp_corner,
)
from tropicell.geometry.arithmetic import EXACT
from tropicell.network._layer_maps import enter_layers
from tropicell.network.flat import flatten
from tropicell.network.maps import NetworkMaps


@kernel
def _signs(flat, room, pattern, facets, lines, to, few):  # type: ignore[no-untyped-def]
    enter_layers(flat.maps, room.maps, pattern, flat.lines.depth, True)
    fine = room.stack.fine
    for k in range(len(lines)):
        for i in range(facets.shape[1]):
            fine.facets[i] = facets[k, i]
        fine_corner(flat.lines, room.maps, fine)
        to[k] = fine_sign(flat, room.maps, fine, lines[k])
        few[k] = few_sources(flat, room.maps, fine, flat.lines.line_layer[lines[k]])


@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(KINDS),
    st.integers(1, 4),
    st.integers(1, 4),
    st.booleans(),
)
def test_signs_are_those_of_rationals(
    seed: int, kind: str, inputs: int, depth: int, relu: bool
) -> None:
    """Of determinants of any boundaries, many of which are 0 in degenerate networks."""
    network = random_network(seed, kind, inputs, depth, 4, relu=relu)
    flat = flatten(network, Box(-1, 2))
    rng, d = np.random.default_rng(seed), inputs
    pattern = (rng.random(flat.neurons) * network.pieces).astype(np.uint8)
    room = room_for(flat, exact=True, store=False, bits=1).build()
    rows = _exact_rows(network, flat, pattern)
    facets = rng.integers(1, len(rows) + 1, size=(40, d)) * rng.choice([-1, 1], size=(40, d))
    facets[::2, 0] = 1  # at infinity
    lines = rng.integers(flat.lines.line_start[1], len(rows), size=40)
    found, few = np.zeros(40, np.int64), np.zeros(40, np.bool_)
    _signs(flat, room, pattern, facets, lines, found, few)
    for labels, line, sign, zero in zip(facets, lines, found, few, strict=True):
        signed = [[x * int(np.sign(k)) for x in rows[abs(k) - 1]] for k in labels]
        matrix = [rows[line], *signed]
        determinant = fmpq_mat(d + 1, d + 1, [x for row in matrix for x in row]).det()
        assert sign != UNKNOWN
        assert sign == (determinant > 0) - (determinant < 0)
        assert not zero or determinant == 0


@kernel
def _corners(flat, room, pattern, facets, to, shifts):  # type: ignore[no-untyped-def]
    enter_layers(flat.maps, room.maps, pattern, flat.lines.depth, True)
    fine = room.stack.fine
    for k in range(len(facets)):
        for i in range(facets.shape[1]):
            fine.facets[i] = facets[k, i]
        sharp_corner(flat.lines, room.maps, fine)
        for part in range(to.shape[1]):
            for c in range(to.shape[2]):
                to[k, part, c] = fine.corner[part, c]
        for i in range(facets.shape[1]):
            shifts[k] += fine.shifts[i]


@settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS), st.integers(1, 4), st.integers(1, 4))
def test_corners_are_as_sharp_as_is_said(seed: int, kind: str, inputs: int, depth: int) -> None:
    network = random_network(seed, kind, inputs, depth, 4)
    flat = flatten(network, Box(-1, 2))
    rng, d = np.random.default_rng(seed), inputs
    pattern = (rng.random(flat.neurons) * network.pieces).astype(np.uint8)
    room = room_for(flat, exact=True, store=False, bits=1).build()
    rows = _exact_rows(network, flat, pattern)
    facets = rng.integers(1, len(rows) + 1, size=(20, d)) * rng.choice([-1, 1], size=(20, d))
    found, shifts = np.zeros((20, 3, d + 1)), np.zeros(20, np.int64)
    _corners(flat, room, pattern, facets, found, shifts)
    for labels, (high, low, bound), shift in zip(facets, found, shifts, strict=True):
        signed = [[x * int(np.sign(k)) for x in rows[abs(k) - 1]] for k in labels]
        for c in range(d + 1):
            entries = [x for row in signed for i, x in enumerate(row) if i != c]
            exact = fmpq_mat(d, d, entries).det() * (-1) ** c * fmpq(2) ** int(-shift)
            off = Fraction(int(exact.p), int(exact.q)) - Fraction(high[c]) - Fraction(low[c])
            assert abs(off) <= Fraction(bound[c])
            # rows whose coefficients cancel are only rounding, and have no digits to be sharp with
            assert bound[c] < 1e-24 or shift < -40


def test_parallel_boundaries_meet_at_infinity_without_arithmetic() -> None:
    """One neuron is on in the first layer, so all boundaries of the next two have its direction."""
    rng = np.random.default_rng(0)
    sizes = [2, 3, 3, 3, 1]
    weights = [rng.normal(size=(b, a)) for a, b in pairwise(sizes)]
    flat = flatten(Network.mlp(weights, [rng.normal(size=b) for b in sizes[1:]]), WholeSpace())
    room = room_for(flat, exact=True, store=False, bits=1).build()
    lines = np.arange(flat.lines.line_start[1], len(flat.lines.line_row))
    facets = np.array([[1, int(flat.lines.line_start[2]) + 1]] * len(lines))  # one of layer 2
    for on, known in ([0, 1, 0], [0, 0, 0, 1, 1, 1, 1, 1, 1]), ([1, 1, 0], [0] * 9):
        found, few = np.zeros(len(lines), np.int64), np.zeros(len(lines), np.bool_)
        pattern = np.array([*on, 1, 1, 0, 0, 0, 0], np.uint8)
        _signs(flat, room, pattern, facets, lines, found, few)
        assert few.tolist() == known
        assert not found[few].any()


def _exact_rows(network, flat, pattern):  # type: ignore[no-untyped-def]
    """Rows of all boundaries as rationals, in scaled coordinates."""
    rows = [[_rational(x) for x in row] for row in flat.lines.domain_rows.tolist()]
    exact = NetworkMaps(network, EXACT)
    start, unit = exact.coordinates()
    start[:, :-1] /= EXACT.array(flat.lines.scale)
    columns, before = [start], []
    for layer in range(1, network.depth + 1):
        before.append(exact.before(layer, columns, unit))
        at = flat.first_neuron(layer)
        part = pattern[at : at + flat.layer_width(layer)]
        columns.append(exact.after(layer, before[-1], part, unit))
    everything = np.concatenate(before)
    first = int(flat.maps.row_start[1])
    for line in range(len(rows), len(flat.lines.line_row)):
        row = list(everything[flat.lines.line_row[line] - first])
        row[-1] = row[-1] - _rational(flat.lines.line_at[line])
        rows.append([fmpq(int(x.p), int(x.q)) for x in row])
    return rows


def _rational(x: float) -> fmpq:
    return fmpq(*Fraction(float(x)).as_integer_ratio())


def test_a_sliver_beside_a_cut() -> None:
    """A boundary that leaves one half by less than float64 can tell does not cross the other."""
    rng = np.random.default_rng(29)
    sizes = [2, 5, 5, 5, 4, 1]
    weights = [rng.integers(-10, 11, size=(b, a)) / 10 for a, b in pairwise(sizes)]
    biases = [rng.integers(-10, 11, size=b) / 10 for b in sizes[1:]]
    network = Network.mlp(weights, biases)
    expected = enumerate_regions(network, Box(-3, 3), engine="traverse")
    found = enumerate_regions(network, Box(-3, 3), engine="cells")
    assert sorted(found.texts()) == sorted(expected.texts())


@pytest.mark.parametrize("inputs", [1, 2, 3, 4])
def test_boundaries_through_one_point_are_counted_once(inputs: int) -> None:
    """More than d of them through an inner point of the domain, and twins."""
    rng = np.random.default_rng(inputs)
    first = rng.integers(-3, 4, size=(inputs + 3, inputs)).astype(float)
    first = np.concatenate([first, -first[:1], 2 * first[1:2]])
    network = Network.mlp([first, np.ones((1, len(first)))], [first @ np.ones(inputs), [0.0]])
    for domain in (Box(-3, 2), WholeSpace()):
        expected = len(enumerate_regions(network, domain, engine="traverse"))
        assert count_regions(network, domain, engine="cells") == expected
        assert len(enumerate_regions(network, domain, engine="cells")) == expected
