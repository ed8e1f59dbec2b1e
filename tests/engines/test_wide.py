"""The wide engine against the exact oracle: boxes and balls, generic and degenerate networks."""

from __future__ import annotations

import os
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from searching import small_units
from strategies import KINDS, default_network, networks, random_network
from tropicell import (
    Affine,
    Ball,
    Box,
    Layer,
    Network,
    Polytope,
    Region,
    Slice,
    WholeSpace,
    count_regions,
    enumerate_regions,
    load,
    load_regions,
)
from tropicell.engines.scheduler import UnitRun
from tropicell.engines.wide._exact import maximum, square_distance
from tropicell.engines.wide.reduction import reduce_network
from tropicell.engines.wide.task import WideTask
from tropicell.errors import InvalidDomainError
from tropicell.geometry.arithmetic import to_rationals
from tropicell.network import activations
from tropicell.network.domains import resolve
from tropicell.paper.algorithm2 import traverse

BOXES = [Box(-1, 1), Box(-10, 10), Box(0, 1), Box(-0.125, 3)]


def oracle(network, domain):
    on, inside = resolve(network, domain)
    return {tuple(pattern.tolist()) for pattern, _ in traverse(on, inside)}


def wide(network, domain, units=None):
    """All patterns, after a look at the witnesses; and the statistics."""
    task = WideTask(network, domain)
    run = UnitRun(task, units=units)
    batches = [columns for columns in run.batches() if columns is not None]
    assert run.complete
    on, inside = resolve(network, domain)
    patterns = np.concatenate(
        [np.empty((0, on.n_neurons), np.uint8)] + [b.packed[:] for b in batches]
    )
    witnesses = np.concatenate([np.empty((0, on.n_inputs))] + [b.witnesses for b in batches])
    assert run.count == len(patterns)
    found = {tuple(pattern) for pattern in patterns.tolist()}
    assert len(found) == len(patterns)
    stats = run.stats()
    wrong = (on.patterns(witnesses, arithmetic="exact") != patterns).any(axis=1)
    assert wrong.sum() <= stats["unproved_witnesses"]
    assert inside.contains(witnesses).all()
    return found, stats


def l1_polytope(center, radius):
    """An l1 ball by its 2^n inequalities; for numbers that float64 can add without rounding."""
    signs = np.array(list(product((-1.0, 1.0), repeat=len(center))))
    return Polytope(signs, radius + signs @ center)


def meets_ball(region, ball):
    """Whether a region has interior points in the interior of an l2 ball, by Z3."""
    solver = z3.Solver()
    x = [z3.Real(f"x{i}") for i in range(len(ball.center))]

    def real(value):
        exact = Fraction(value)
        return z3.RatVal(exact.numerator, exact.denominator)

    rows = region.inequalities
    for row, bound, closed in zip(rows.A, rows.b, rows.closed, strict=True):
        if not row.any():
            if bound < 0 or (bound == 0 and not closed):
                return False
            continue
        left = z3.Sum([real(a) * xi for a, xi in zip(row, x, strict=True)])
        solver.add(left < real(bound))
    away = [xi - real(c) for xi, c in zip(x, ball.center.tolist(), strict=True)]
    solver.add(z3.Sum([d * d for d in away]) < real(ball.radius) * real(ball.radius))
    answer = solver.check()
    assert answer != z3.unknown
    return answer == z3.sat


def centers(inputs):
    return st.lists(st.sampled_from([0.0, 0.5, -0.25, 1.0]), min_size=inputs, max_size=inputs)


@given(networks(max_inputs=4, max_depth=3, max_width=4), st.sampled_from(BOXES))
@settings(max_examples=40)
def test_boxes(network, box):
    assert wide(network, box)[0] == oracle(network, box)


@given(st.integers(0, 10**6), st.sampled_from(KINDS), st.integers(5, 6))
@settings(max_examples=25)
def test_boxes_in_more_dimensions(seed, kind, inputs):
    network = random_network(seed, kind, inputs, 2, 4)
    assert wide(network, Box(-1, 1))[0] == oracle(network, Box(-1, 1))


@given(networks(max_inputs=4, max_depth=3, max_width=4), st.data())
@settings(max_examples=40)
def test_l1_balls(network, data):
    center = np.array(data.draw(centers(network.n_inputs)))
    radius = data.draw(st.sampled_from([0.25, 1.0, 2.5]))
    expected = oracle(network, l1_polytope(center, radius))
    assert wide(network, Ball(center, radius, "l1"))[0] == expected


@given(networks(max_inputs=3, max_depth=2, max_width=4), st.data())
@settings(max_examples=40)
def test_l2_balls(network, data):
    center = np.array(data.draw(centers(network.n_inputs)))
    radius = data.draw(st.sampled_from([0.25, 0.5, 1.0, 2.5]))
    ball = Ball(center, radius, "l2")
    around = oracle(network, Box(center - radius, center + radius))
    regions = ((p, Region(network, np.array(p, np.uint8))) for p in around)
    expected = {pattern for pattern, region in regions if meets_ball(region, ball)}
    assert wide(network, ball)[0] == expected


@given(st.integers(0, 10**6), st.sampled_from(KINDS), st.integers(1, 2))
@settings(max_examples=30)
def test_slices(seed, kind, dimension):
    network = random_network(seed, kind, 4, 2, 4)
    rng = np.random.default_rng(seed)
    directions = np.eye(4)[:dimension] + rng.integers(-2, 3, size=(dimension, 4)) * 0.125
    if np.linalg.matrix_rank(directions) == dimension:
        domain = Slice(rng.integers(-1, 2, size=4), directions, Box(-1, 2))
        assert wide(network, domain)[0] == oracle(network, domain)


@pytest.mark.parametrize(
    ("weights", "biases"),
    [
        ([[[1.0], [-1.0]], [[1.0, 1.0]]], None),  # relu(x) next to relu(-x)
        ([[[0.1, 0.2], [3 * 0.1, 3 * 0.2]], [[1.0, 1.0]]], [[0.3, 3 * 0.3], [0.0]]),
        ([[[0.1, 0.2], [0.1, 0.2]], [[1.0, -1.0], [2.0, 1.0]], [[1.0, 1.0]]], None),
        ([[[1.0, 1.0]], [[1.0]]], [[-2.0], [0.0]]),  # touches a corner of the box
        ([[[1.0, 1.0], [1.0, -1.0]], [[1.0, 1.0]]], [[-2.0, 0.0], [0.0]]),
        ([np.zeros((3, 2)), np.ones((2, 3)), np.ones((1, 2))], [[0, 1, -1], [0, -1], [0]]),
        ([np.eye(3) * 1e-9, np.ones((2, 3)) * 1e9, np.ones((1, 2))], [[1e-9] * 3, [-1, 1], [0]]),
        ([[[1e-200, 1.0]], [[1e-200], [1.0]], [[1.0, 1.0]]], None),
        ([[[1e-310, 1.0], [1.0, 1e-310]], [[1.0, -1.0]], [[1.0]]], [[0.0, 1.0], [0.0], [0.0]]),
        ([[[1e130], [1.0]], [[1e130, -1e130]], [[1.0]]], [[1.0, 1.0], [0.0], [0.0]]),
        ([[[1.0], [1.0]], [[1.0, -1.0]], [[1.0]]], [[0.0, -(2.0**-52)], [0.0], [0.0]]),  # thin
    ],
)
def test_degenerate_by_hand(weights, biases):
    network = Network.mlp(weights, biases)
    for box in BOXES:
        assert wide(network, box)[0] == oracle(network, box)


def test_many_pieces_and_skips():
    tent = activations.piecewise([0, 1, 2], [0, 1, -1, 0], [0, 0, 2, 0])
    rng = np.random.default_rng(3)
    layers = [
        Layer(Affine({0: rng.normal(size=(3, 3))}, rng.normal(size=3)), tent),
        Layer(Affine({0: rng.normal(size=(2, 3)), 1: rng.normal(size=(2, 3))}), "hard_tanh"),
    ]
    network = Network(3, layers, Affine({2: np.ones((1, 2))}))
    assert wide(network, Box(-2, 2))[0] == oracle(network, Box(-2, 2))


def test_boxes_that_floats_can_not_enter():
    network = Network.mlp([[[1.0], [2.0]], [[1.0, 1.0]]], [[-1.0, -2.0], [0.0]])
    box = Box(np.nextafter(1.0, 0.0), np.nextafter(1.0, 2.0))
    assert wide(network, box)[0] == oracle(network, box)
    between = Box(1.0, np.nextafter(1.0, 2.0))  # no float is strictly inside
    assert wide(network, between)[0] == {(1, 1)}


def test_generic_networks_need_no_exact_decision():
    for seed, sizes in enumerate([(4, 4, 4, 1), (20, 6, 5, 1), (50, 5, 4, 4, 1)]):
        network = default_network(sizes, seed)
        found, stats = wide(network, Box(-1, 1))
        assert stats["exact_decisions"] == stats["unproved_witnesses"] == 0
        if sizes[0] < 10:
            assert found == oracle(network, Box(-1, 1))


@given(networks(max_inputs=3, max_depth=3, max_width=4), st.integers(0, 99), st.floats(0.001, 3))
def test_errors_of_the_reduced_network_hold(network, seed, radius):
    """In rationals: the reduced network gives the true pre-activations, up to its errors."""
    rng = np.random.default_rng(seed)
    n = network.n_inputs
    center = rng.normal(size=n)
    reduced = reduce_network(network, Box(center - radius, center + radius))
    frame = reduced.frame
    points = rng.uniform(frame.low, frame.high, size=(4, n))
    maps = network.maps("exact")
    for x in points:
        exact = to_rationals(x)
        pattern = maps.at_points(exact[None])[0][0]
        fixed = np.setdiff1d(np.arange(network.n_neurons), reduced.neurons)
        assert (pattern[fixed] == reduced.base[fixed]).all()
        truth = maps.pre_activations(pattern[None])[reduced.neurons, 0]
        values = truth[:, :-1] @ exact + truth[:, -1]
        delta = (exact - to_rationals(frame.center)) / to_rationals(frame.scale)
        rows, offsets = to_rationals(reduced.rows), to_rationals(reduced.values)
        links = to_rationals(reduced.links)
        outputs = []
        for j, value in enumerate(values):
            guess = offsets[j] + sum(rows[j] * delta)
            guess += sum(links[j, i] * outputs[i] for i in range(j))
            if np.isfinite(reduced.errors[j]):
                assert abs(guess - value) <= to_rationals(reduced.errors[j]).item()
                low, high = to_rationals([reduced.low[j], reduced.high[j]])
                assert low <= value <= high
            layer = int(reduced.layers[j])
            ends = np.concatenate([[0], np.cumsum(network.widths)])
            _, slopes, intercepts = maps.activation(layer)
            at, piece = reduced.neurons[j] - ends[layer - 1], pattern[reduced.neurons[j]]
            outputs.append(slopes[at, piece] * value + intercepts[at, piece])


# --- searches -------------------------------------------------------------------------------------


def test_units_threads_and_checkpoints(tmp_path):
    network = default_network((32, 7, 4, 1), 1)
    domain = Ball(np.zeros(32), 1.0)
    engine = "wide"
    expected = enumerate_regions(network, domain, engine=engine)
    with small_units(2):
        several = enumerate_regions(network, domain, engine=engine, workers=3)
        alone = enumerate_regions(network, domain, engine=engine)
        kept = {"checkpoint": tmp_path / "c", "engine": engine}
        part = enumerate_regions(network, domain, max_regions=20, **kept)
        assert not part.complete
        whole = enumerate_regions(network, domain, **kept)
    assert (several.packed.words == alone.packed.words).all()
    assert (several.witnesses == alone.witnesses).all()
    for regions in (alone, whole):
        assert regions.complete
        assert (regions.packed.sorted() >= 0).all()
        assert {p.tobytes() for p in regions.packed[:]} == {p.tobytes() for p in expected.packed[:]}


def test_units_from_files_are_checked():
    task = WideTask(default_network((8, 6, 1)), Box(-1, 1))
    left = task.worker().run(task.root(), 2, lambda: False).left
    described, arrays = task.describe(left[0])
    again = task.restored(described, arrays)
    assert (again.nodes.arrays.decisions == arrays["decisions"]).all()
    for name, wrong in [
        ("decisions", arrays["decisions"] + np.uint8(9)),
        ("decisions", arrays["decisions"][:, 1:]),
        ("points", arrays["points"][:, 1:]),
    ]:
        with pytest.raises(ValueError, match=name):
            task.restored(described, arrays | {name: wrong})


def test_balls_are_domains(tmp_path):
    network = default_network((3, 5, 1))
    center = np.array([0.1, -0.2, 0.3])
    expected = oracle(network, Box(center - 0.5, center + 0.5))
    assert oracle(network, Ball(center, 0.5)) == wide(network, Ball(center, 0.5))[0] == expected
    for norm in ("l1", "l2"):
        regions = enumerate_regions(network, Ball(center, 0.5, norm))
        assert regions.complete
        assert regions.stats["engine"] == "wide"
        regions.save(tmp_path / "r.npz")
        again = load_regions(tmp_path / "r.npz")
        assert repr(again.domain) == repr(regions.domain)
        assert again.domain.key(3) == regions.domain.key(3)
        assert (regions.locate(regions.witnesses) == np.arange(len(regions))).all()
        with pytest.raises(InvalidDomainError, match="no list of inequalities"):
            regions.certify()
        with pytest.raises(InvalidDomainError, match="no list of inequalities"):
            enumerate_regions(network, Ball(center, 0.5, norm), engine="cells")


def test_what_a_ball_contains_is_decided_exactly():
    third = Ball([0.1, 0.2], 0.3, "l1")
    points = np.array([[0.4, 0.2], [0.25, 0.35], [0.1, -0.1], [0.1, 0.5]])
    exact = [
        abs(Fraction(x) - Fraction(0.1)) + abs(Fraction(y) - Fraction(0.2)) <= Fraction(0.3)
        for x, y in points
    ]
    assert third.contains(points).tolist() == exact
    assert Ball([0.0, 0.0], 5.0, "l2").contains(
        [[3.0, 4.0], [3.0, np.nextafter(4.0, 5.0)]]
    ).tolist() == [
        True,
        False,
    ]
    assert Ball([1.0], 1.0).contains([[2.0], [2.1], [np.nan]]).tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.0], 0.0), "radius"),
        (([0.0], np.nan), "radius"),
        (([np.inf], 1.0), "center"),
        (([], 1.0), "center"),
        (([0.0], 1.0, "l3"), "norm"),
    ],
)
def test_refused_balls(arguments, message):
    with pytest.raises(InvalidDomainError, match=message):
        Ball(*arguments)


def test_refused_domains():
    network = default_network((2, 3, 1))
    for domain in (WholeSpace(), Box(0, np.inf), Polytope([[1.0, 0.0]], [1.0])):
        with pytest.raises(InvalidDomainError, match="bounded boxes and balls"):
            count_regions(network, domain, engine="wide")
    with pytest.raises(InvalidDomainError, match="3 coordinates"):
        count_regions(network, Ball(np.zeros(3), 1.0, "l2"))


# --- exact decisions ------------------------------------------------------------------------------


def test_exact_programs():
    rng = np.random.default_rng(0)
    from scipy.optimize import linprog

    for _ in range(60):
        n, k = rng.integers(1, 6), rng.integers(0, 5)
        rows = rng.integers(-3, 4, size=(k, n)).astype(float)
        offsets = rng.integers(0, 3, size=k).astype(float)
        objective = rng.integers(-3, 4, size=n).astype(float)
        best = linprog(
            -objective, A_ub=-rows if k else None, b_ub=offsets if k else None, bounds=(-1, 1)
        )
        low, high = to_rationals(-np.ones(n)), to_rationals(np.ones(n))
        exact = to_rationals(rows).reshape(k, n), to_rationals(offsets), to_rationals(objective)
        most, point = maximum(*exact, low, high, None)
        assert float(most.p) / float(most.q) == pytest.approx(-best.fun, abs=1e-9)
        assert all(value >= 0 for value in exact[0] @ point + exact[1])


def test_exact_distances():
    rng = np.random.default_rng(1)
    for _ in range(60):
        n, k = rng.integers(1, 4), rng.integers(0, 5)
        rows = to_rationals(rng.integers(-3, 4, size=(k, n))).reshape(k, n)
        offsets = to_rationals(rng.integers(-3, 4, size=k))
        found = square_distance(rows, offsets)
        solver = z3.Solver()
        x = [z3.Real(f"x{i}") for i in range(n)]
        for row, offset in zip(rows, offsets, strict=True):
            solver.add(
                sum((int(a.p) * xi for a, xi in zip(row, x, strict=True)), int(offset.p)) >= 0
            )
        if found is None:
            assert solver.check() == z3.unsat
            continue
        square, point = found
        assert all(value >= 0 for value in rows @ point + offsets)
        solver.add(z3.Sum([xi * xi for xi in x]) < z3.RatVal(int(square.p), int(square.q)))
        assert solver.check() == z3.unsat


# --- networks made by others ----------------------------------------------------------------------


@pytest.mark.skipif("TROPICELL_MODELS" not in os.environ, reason="needs TROPICELL_MODELS")
def test_small_boxes_of_large_networks():
    folder = Path(os.environ["TROPICELL_MODELS"])
    rng = np.random.default_rng(0)
    for name in ("mnist_fc_256x2", "mnist_cnn", "cifar_resnet_3b"):
        network = load(folder / f"{name}.onnx")
        x = rng.uniform(0.1, 0.9, network.n_inputs)
        regions = enumerate_regions(network, Box(x - 1e-9, x + 1e-9))
        assert len(regions) == 1
        assert regions.complete
        assert (regions.patterns[0] == network.patterns(x[None])[0]).all()


def test_networks_without_layers_or_open_neurons():
    assert wide(Network(2, [], Affine({0: np.eye(2)})), Box(-1, 1))[0] == {()}
    network = Network.mlp([np.eye(2), np.ones((1, 2))], [[5.0, -5.0], [0.0]])
    assert wide(network, Box(-1, 1))[0] == {(1, 0)}
