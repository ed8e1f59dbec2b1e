"""What the filter of certificates takes for proved: rows against exact ones, and doubtful signs."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import flint
import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import random_network
from tropicell import Box, Network, WholeSpace, enumerate_regions
from tropicell.certificate._branches import TreeProofs
from tropicell.certificate._filter import usual_scale
from tropicell.certificate._flat import (
    FilterNetwork,
    PatternTable,
    RegionColumns,
    filter_network,
    in_whole_numbers,
    new_state,
)
from tropicell.certificate._kernels import check_witnesses
from tropicell.certificate._signs import (
    INFINITY,
    _expansion,
    find_spans,
    fine_signs,
    is_spanned,
)
from tropicell.certificate.prover import RegionProofs
from tropicell.network import activations
from tropicell.network.domains import Domain
from tropicell.regions.regions import Regions
from tropicell.verify_certificate import verify


def chain(inputs: int, widths: list[int], how: str, seed: int = 0, skips: bool = False) -> Network:
    """A network of one of the families that are hard for float64."""
    rng = np.random.default_rng(seed)
    matrices, biases, before = [], [], inputs
    for width in [*widths, 1]:
        matrix = rng.normal(size=(width, before)) * np.sqrt(2 / before)
        bias = rng.normal(size=width) * 0.5
        if how == "integer":
            matrix = rng.integers(-3, 4, size=matrix.shape).astype(float)
            bias = rng.integers(-3, 4, size=width).astype(float)
        elif how == "tenths":
            matrix = rng.integers(-10, 11, size=matrix.shape) / 10
            bias = rng.integers(-10, 11, size=width) / 10
        elif how == "unbiased":
            bias[:] = 0.0
        elif how == "twins" and width > 1:
            half = width // 2
            signs = np.where(np.arange(half) % 2, 1.0, -1.0)
            matrix[half : 2 * half] = matrix[:half] * signs[:, None]
            bias[half : 2 * half] = bias[:half] * signs
        elif how == "dead" and len(matrices) == 1:
            bias -= 3.0
        matrices.append(matrix)
        biases.append(bias)
        before = width
    pairs = [(k, k + 2) for k in range(1, len(widths) - 1, 2)] if skips else []
    return Network.mlp(matrices, biases, skips=pairs)


def columns_of(regions: Regions, unscale: np.ndarray) -> RegionColumns:
    packed, ends = regions.packed, np.zeros(len(regions), np.int64)
    corners = np.empty((0, regions.network.n_inputs + 1))
    patterns = PatternTable(packed.words, packed.bits, packed.table())
    empty = np.empty(0, np.int32)
    return RegionColumns(patterns, regions.witnesses, unscale, empty, ends, corners, ends)


def flat_of(network: Network, domain: Domain, scale: np.ndarray) -> FilterNetwork:
    flat = filter_network(network, domain, scale)
    assert flat is not None
    in_whole_numbers(flat, network)
    return flat


def exact_rows(network: Network, pattern: np.ndarray, scale: np.ndarray) -> list[np.ndarray]:
    """Pre-activations of all layers in Fractions, in scaled coordinates."""
    maps = network.maps("exact")
    columns, one = maps.coordinates()
    factors = np.array([*(Fraction(float(s)) for s in scale), Fraction(1)], dtype=object)
    outputs, rows, at = [columns], [], 0
    for layer in range(1, network.depth + 1):
        before = maps.before(layer, outputs, one)
        width = network.widths[layer - 1]
        outputs.append(maps.after(layer, before, pattern[at : at + width], one))
        numbers = [[Fraction(int(x.numerator), int(x.denominator)) for x in r] for r in before]
        rows.append(np.array(numbers, dtype=object) * factors)
        at += width
    return rows


NETWORKS = {
    "deep": chain(2, [8] * 14, "generic"),
    "deep and residual": chain(2, [8] * 10, "generic", skips=True),
    "integers": chain(3, [6] * 4, "integer"),
    "tenths": chain(2, [6] * 4, "tenths"),
    "unbiased": chain(3, [5] * 4, "unbiased"),
    "dead": chain(2, [6] * 4, "dead"),
    "any pieces": random_network(5, "generic", 2, 4, 6),
    "any tenths": random_network(9, "tenths", 2, 4, 6),
    "leaky": Network.mlp(
        [np.random.default_rng(k).normal(size=(6, n)) for k, n in enumerate([2, 6, 6, 6])],
        [np.random.default_rng(k + 9).normal(size=6) for k in range(4)],
        activation=activations.leaky_relu(0.01),
    ),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_rows_in_two_halves_are_as_far_from_exact_ones_as_their_bounds_say(name: str) -> None:
    network = NETWORKS[name]
    regions = enumerate_regions(network, Box(-0.5, 0.5), engine="cells")
    scale = np.exp2(np.arange(network.n_inputs) - 1.0)
    flat = flat_of(network, regions.domain, scale)
    state, proved = new_state(flat), np.zeros(len(regions), dtype=bool)
    room, columns = np.zeros(network.n_inputs), columns_of(regions, 1 / scale)
    worst = 0.0
    for i in np.linspace(0, len(regions) - 1, 6).astype(int).tolist():
        check_witnesses(flat, state, room, columns, proved, i, i + 1)
        at = 0
        for layer, exact in enumerate(exact_rows(network, regions.packed[i], scale), start=1):
            end = at + len(exact)
            for c in range(network.n_inputs + 1):
                pairs = zip(state.rows[c, at:end], state.lows[c, at:end], strict=True)
                found = [Fraction(float(h)) + Fraction(float(low)) for h, low in pairs]
                square = sum((x - y) ** 2 for x, y in zip(found, exact[:, c], strict=True))
                bound = Fraction(float(state.errors[layer, c]))
                assert square <= bound**2
                size = max(abs(float(x)) for x in exact[:, c])
                worst = max(worst, float(bound) / size if size else 0.0)
            for j in range(at, end):
                error = Fraction(float(state.row_errors[j]))
                row = [Fraction(float(x)) for x in state.rows[:, j]]
                assert all(abs(x - y) <= error for x, y in zip(row, exact[j - at], strict=True))
                if error == 0:
                    assert row == [0] * network.n_inputs + [Fraction(float(flat.bias[j]))]
            at = end
    assert worst < 1e-15  # far better than float64, at any depth


@pytest.mark.parametrize("d", [2, 3, 4])
def test_minors_are_expanded_with_the_right_signs(d: int) -> None:
    rng = np.random.default_rng(d)
    rows = rng.integers(-9, 10, size=(d + 1, d + 1)).astype(float)
    minors = {0: 1.0}
    for row, column, smaller, minor, sign in _expansion(d).tolist():
        minors[minor] = minors.get(minor, 0.0) + sign * rows[row, column] * minors[smaller]
    everything = (1 << (d + 1)) - 1
    total = sum((-1) ** c * rows[d, c] * minors[everything ^ (1 << c)] for c in range(d + 1))
    assert abs(total) == pytest.approx(abs(np.linalg.det(rows)))
    assert INFINITY < 0


@numba.njit
def claims_zero(flat: Any, state: Any, fine: Any, place: int) -> bool:
    return find_spans(flat, state, fine) and is_spanned(flat, state, fine, place)


def exact_row(flat: FilterNetwork, state: Any, place: int, rows: np.ndarray) -> list[flint.fmpq]:
    """The row of an inequality, up to its sign; `rows` has the pre-activations of all neurons."""
    if place == INFINITY:
        row = [Fraction(0)] * (len(state.rows) - 1) + [Fraction(1)]
    elif place < len(flat.domain):
        row = [Fraction(float(x)) for x in flat.domain[place]]
    else:
        line = state.inequalities.lines[place]
        neuron = flat.neurons[line]
        t = flat.breakpoints[neuron, line - flat.first_lines[neuron]]
        row = [*rows[neuron, :-1], rows[neuron, -1] - Fraction(float(t))]
    return [flint.fmpq(x.numerator, x.denominator) for x in row]


FEW = {
    "narrow": chain(4, [6, 3, 3, 3], "generic"),
    "narrow and residual": chain(4, [3, 3, 3, 3, 3], "generic", skips=True),
    "unbiased": chain(4, [5, 4, 4], "unbiased"),
    "any pieces": random_network(3, "generic", 3, 4, 4),
}


@pytest.mark.parametrize("name", FEW)
def test_rows_that_few_sources_make_0_are_0(name: str) -> None:
    network, rng = FEW[name], np.random.default_rng(0)
    d = network.n_inputs
    regions = enumerate_regions(network, Box(-2, 2), engine="cells")
    flat = flat_of(network, regions.domain, np.ones(d))
    fine = fine_signs(flat, *in_whole_numbers(flat, network))
    state, proved = new_state(flat), np.zeros(len(regions), dtype=bool)
    room, columns = np.zeros(d), columns_of(regions, np.ones(d))
    found = state.inequalities
    claims = 0
    for i in rng.integers(len(regions), size=40).tolist():
        check_witnesses(flat, state, room, columns, proved, i, i + 1)
        exact = np.concatenate(exact_rows(network, regions.packed[i], np.ones(d)))
        ranges = zip(found.begins, found.ends, strict=True)
        places = [place for begin, end in ranges for place in range(begin, end)]
        neurons = [place for place in places if place >= len(flat.domain)]
        for _ in range(20):
            chosen = rng.permutation([INFINITY, *neurons, *rng.choice(places, 2)])[:d]
            if len(chosen) < d:
                continue
            fine.places[:d] = chosen
            rows = [exact_row(flat, state, place, exact) for place in chosen.tolist()]
            for place in places:
                if claims_zero(flat, state, fine, place):
                    claims += 1
                    row = exact_row(flat, state, place, exact)
                    assert flint.fmpq_mat([*rows, row]).det() == 0
    assert claims > 100


HARD = [
    (2, [12] * 12, "generic", Box(-2, 2)),
    (2, [8, 8, 8], "integer", Box(-3, 3)),
    (2, [8, 8, 8], "integer", WholeSpace()),
    (2, [8, 8, 8], "tenths", Box(-3, 3)),
    (2, [8, 8, 8], "twins", Box(-3, 3)),
    (2, [8, 8, 8], "unbiased", Box(-3, 3)),
    (2, [8, 8, 8], "unbiased", WholeSpace()),
    (2, [8, 8, 8], "dead", WholeSpace()),
    (3, [6, 5], "integer", Box(-3, 3)),
    (3, [6, 5], "twins", Box(-3, 3)),
    (3, [6, 5], "unbiased", Box(-3, 3)),
    (4, [5, 4], "unbiased", Box(-3, 3)),
    (4, [4, 4, 3], "generic", WholeSpace()),
    (5, [5, 4], "unbiased", Box(-3, 3)),
    (4, [5, 4], "tenths", Box(-3, 3)),
]


@pytest.mark.parametrize(("inputs", "widths", "how", "domain"), HARD)
def test_deep_and_degenerate_networks_need_next_to_no_integers(
    inputs: int, widths: list[int], how: str, domain: Domain, tmp_path: Path
) -> None:
    for seed in range(3):
        regions = enumerate_regions(chain(inputs, widths, how, seed), domain, engine="cells")
        certificate = regions.certify()
        assert certificate.ok
        assert certificate.complete
        assert certificate.counts["regions_exact"] <= 2 + len(regions) / 20
        if len(regions) < 150:
            certificate.save(tmp_path / "proof.npz")
            assert verify(tmp_path / "proof.npz")["complete"]


@pytest.mark.parametrize(
    ("widths", "how", "kind"),
    [
        ([5] * 9, "generic", RegionProofs),
        ([16, 12], "generic", RegionProofs),
        ([8, 6, 6], "twins", TreeProofs),
    ],
)
def test_in_space_networks_without_twins_are_proved_by_facets(
    widths: list[int], how: str, kind: type, tmp_path: Path
) -> None:
    regions = enumerate_regions(chain(3, widths, how), Box(-3, 3), engine="cells")
    certificate = regions.certify()
    assert certificate.ok
    assert isinstance(certificate.proofs, kind)
    certificate.save(tmp_path / "proof.npz")
    assert len(regions) > 400 or verify(tmp_path / "proof.npz")["complete"]
    some = regions[np.arange(len(regions)) != len(regions) // 2]
    some.complete = True
    missed = some.certify()
    assert not missed.ok
    assert missed.failures


@pytest.mark.parametrize("name", NETWORKS)
def test_inequalities_do_not_depend_on_the_pattern_before(name: str) -> None:
    network = NETWORKS[name]
    regions = enumerate_regions(network, Box(-0.5, 0.5), engine="cells")
    flat = flat_of(network, regions.domain, np.ones(network.n_inputs))
    columns = columns_of(regions, np.ones(network.n_inputs))
    room, proved = np.zeros(network.n_inputs), np.zeros(len(regions), dtype=bool)
    state = new_state(flat)
    some = np.random.default_rng(3).permutation(len(regions))[:40]
    # Nearly sorted, so that often few neurons of the last layer change, and sometimes all do.
    for i in [*np.sort(some).tolist(), *some[:20].tolist()]:
        check_witnesses(flat, state, room, columns, proved, i, i + 1)
        fresh = new_state(flat)
        check_witnesses(flat, fresh, room, columns, proved, i, i + 1)
        np.testing.assert_array_equal(state.pattern, fresh.pattern)
        np.testing.assert_array_equal(state.places, fresh.places)
        np.testing.assert_array_equal(state.at_break, fresh.at_break)
        ours, its = state.inequalities, fresh.inequalities
        np.testing.assert_array_equal(ours.ends, its.ends)
        for begin, end in zip(ours.begins, ours.ends, strict=True):
            part = slice(begin, end)
            np.testing.assert_array_equal(ours.rows[:, part], its.rows[:, part])
            np.testing.assert_array_equal(ours.lines[part], its.lines[part])
            np.testing.assert_array_equal(ours.sizes[part], its.sizes[part])
            np.testing.assert_array_equal(ours.bounds[part], its.bounds[part])


def test_twins_in_the_plane_flip_together_without_integers() -> None:
    for seed in range(4):
        network = chain(2, [10, 8, 6], "twins", seed)
        regions = enumerate_regions(network, Box(-3, 3), engine="cells")
        certificate = regions.certify()
        assert certificate.complete
        assert certificate.counts["signs_exact"] == 0
        proofs = certificate.proofs
        assert isinstance(proofs, RegionProofs)
        owners = np.repeat(np.arange(len(regions)), proofs.facets.counts)
        inner = proofs.neighbours >= 0
        ours = regions.patterns[owners[inner]]
        changed = (ours != regions.patterns[proofs.neighbours[inner]]).sum(axis=1)
        assert (changed >= 1).all()
        assert (changed > 1).any()


@given(seed=st.integers(0, 10**6), count=st.integers(1, 9))
def test_the_usual_scale_is_the_median_of_what_says_something(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.choice([-1.0, 1.0], (count, 3)) * np.exp2(rng.uniform(-60, 60, (count, 3)))
    points[rng.random((count, 3)) < 0.3] = 0.0
    points[rng.random((count, 3)) < 0.1] = np.inf
    for column, scale in zip(points.T, usual_scale(points), strict=True):
        sizes = np.where(np.isfinite(column), np.abs(column), 1.0)
        some = sizes[sizes != 0.0] if sizes.any() else np.ones(1)
        assert scale == np.exp2(np.clip(np.round(np.median(np.log2(some))), -40, 40))
