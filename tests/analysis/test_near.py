"""What is near a point: paths, gradients along them, boundaries, regions, distances."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from tests.strategies import networks
from tests.strategies import random_network as any_network

from tropicell import (
    Box,
    InvalidInputError,
    Network,
    Path,
    Region,
    RegionTracker,
    Slice,
    enumerate_regions,
    integrated_gradients,
    local_complexity,
    nearest_boundary,
    regions_around,
    robustness,
)
from tropicell.analysis._relaxations import Branches, Relaxation
from tropicell.analysis.around import project
from tropicell.analysis.paths import exact_pieces
from tropicell.geometry.arithmetic import to_fractions
from tropicell.network.patterns import PatternArray

CORNER = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])


def points_of(network: Network, seed: int, count: int) -> np.ndarray:
    """Points that lie anywhere, or on many boundaries."""
    rng = np.random.default_rng(seed)
    shape = (count, network.n_inputs)
    if seed % 2:
        return rng.integers(-2, 3, size=shape).astype(float)
    return rng.normal(size=shape) * 2


def random_network(sizes: list[int], seed: int) -> Network:
    rng = np.random.default_rng(seed)
    weights = [rng.normal(size=(n, m)) / np.sqrt(m) for m, n in pairwise(sizes)]
    return Network.mlp(weights, [rng.normal(size=n) / 3 for n in sizes[1:]])


# --- paths ----------------------------------------------------------------------------------------


@settings(deadline=None)
@given(networks(), st.integers(0, 10**6))
def test_pieces_of_segments_are_those_of_rationals(network: Network, seed: int) -> None:
    ends = points_of(network, seed, 6).reshape(3, 2, -1)
    found = Path(ends).regions(network)
    for segment, (start, end) in enumerate(ends):
        patterns, places = exact_pieces(network, start, end)
        mine = found.segments == segment
        assert (found.patterns[mine] == patterns).all()
        exact = to_fractions(places)
        for got, true in ((found.starts[mine], exact[:-1]), (found.ends[mine], exact[1:])):
            for value, wanted, error in zip(got, true, found.errors[mine], strict=True):
                assert abs(Fraction(value) - wanted) <= Fraction(error)


@settings(deadline=None, max_examples=20)
@given(networks(), st.integers(0, 10**6))
def test_pieces_are_the_regions_of_a_slice(network: Network, seed: int) -> None:
    start, end = np.round(points_of(network, seed, 2) * 4) / 4  # the difference is not rounded
    if (start == end).all():
        return
    line = Slice(start, [end - start], Box(0, 1))
    regions = enumerate_regions(network, line, engine="traverse", progress=False)
    found = Path([start, end]).regions(network)
    assert {bytes(p) for p in found.patterns} == {bytes(p) for p in regions.patterns}
    assert len(found) == len(regions)


def test_a_path_along_a_boundary_has_the_lower_pieces() -> None:
    found = Path([[0.0, -1.0], [0.0, 1.0]]).regions(CORNER)
    assert found.texts() == ["00", "01"]
    assert found.ends.tolist() == [0.5, 1.0]


def test_a_segment_without_length_is_one_piece() -> None:
    found = Path([[1.0, 1.0], [1.0, 1.0]]).regions(CORNER)
    assert found.texts() == ["11"]
    assert found.lengths.tolist() == [0.0]


def test_threads_and_arithmetics_agree_on_paths() -> None:
    network = random_network([6, 12, 12, 2], 0)
    path = Path(np.random.default_rng(1).normal(size=(40, 3, 6)) * 2)
    one, two = path.regions(network), path.regions(network, workers=2)
    assert (one.patterns == two.patterns).all()
    assert (one.starts == two.starts).all()
    assert one.counts(80).sum() == len(one)
    few = Path(path.points[:2])
    exact = few.regions(network, arithmetic="exact")
    assert (exact.patterns == few.regions(network).patterns).all()
    assert np.abs(exact.ends.astype(float) - few.regions(network).ends).max() < 1e-14
    assert np.allclose(few.regions(network).to_dataframe()["length"], exact.lengths)


def test_twins_on_a_path_change_together() -> None:
    network = Network.mlp([[[1.0, 2.0], [-1.0, -2.0], [1.0, 2.0]], [[1.0, 1.0, 1.0]]])
    found = Path([[-1.0, -1.1], [1.0, 1.0]]).regions(network)
    assert found.texts() == ["010", "101"]
    assert found.exactly == 0


def test_paths_without_points_or_with_nan_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="at least two points"):
        Path([[1.0, 2.0]])
    with pytest.raises(InvalidInputError, match="finite"):
        Path([[1.0], [float("nan")]])


# --- integrated gradients -------------------------------------------------------------------------


@settings(deadline=None, max_examples=30)
@given(networks(), st.integers(0, 10**6))
def test_integrated_gradients_are_complete_and_within_their_bounds(
    network: Network, seed: int
) -> None:
    x, baseline = points_of(network, seed, 2)
    exact = integrated_gradients(network, x, baseline, output=0, arithmetic="exact")
    assert exact.completeness[0] == 0
    found = integrated_gradients(network, x, baseline, output=0)
    for value, wanted, error in zip(
        found.attributions[0], exact.attributions[0], found.errors[0], strict=True
    ):
        assert abs(Fraction(value) - wanted) <= Fraction(error)


def test_integrated_gradients_are_the_limit_of_sums() -> None:
    network = random_network([3, 6, 6, 2], 3)
    x = np.random.default_rng(0).normal(size=3) * 2
    found = integrated_gradients(network, x, output=1)
    steps = 10**6
    total = np.zeros(3)
    for part in np.array_split((np.arange(steps) + 0.5) / steps, 50):
        patterns, counts = np.unique(
            network.patterns(part[:, None] * x), axis=0, return_counts=True
        )
        for pattern, count in zip(patterns, counts, strict=True):
            total += count * network.affine_map(pattern, arithmetic="float").matrix[1]
    assert np.abs(total / steps * x - found.attributions[0]).max() < 1e-4
    assert abs(found.completeness[0]) < 1e-14


# --- the nearest boundary -------------------------------------------------------------------------


@settings(deadline=None, max_examples=40)
@given(networks(), st.integers(0, 10**6), st.sampled_from(["l2", "linf", "l1"]))
def test_nearest_boundaries_are_those_of_rationals(network: Network, seed: int, norm: str) -> None:
    x = points_of(network, seed, 2)
    found = nearest_boundary(network, x, norm=norm)
    for i, point in enumerate(x):
        best = exact_nearest(network, point, norm)
        if best is None:
            assert found.boundary(i) is None
            assert found.distances[i] == np.inf
            continue
        key, sources = best
        assert found.boundary(i) in sources
        low, high = (Fraction(max(0.0, found.distances[i] + s * found.errors[i])) for s in (-1, 1))
        power = 2 if norm == "l2" else 1
        assert low**power <= key <= high**power
        assert (found.distances[i] == 0) == (key == 0)


def exact_nearest(network: Network, point: np.ndarray, norm: str) -> tuple | None:
    pattern = network.patterns(point[None], arithmetic="exact")[0]
    rows = Region(network, pattern).inequalities
    found: list = []
    for a, b, source in zip(rows.A, rows.b, rows.sources, strict=True):
        sizes = [abs(value) for value in a]
        size = {"l2": sum(v * v for v in a), "linf": sum(sizes), "l1": max(sizes)}[norm]
        if size:
            room = b - sum(v * Fraction(c) for v, c in zip(a, point, strict=True))
            found.append((room * room / size if norm == "l2" else room / size, source))
    if not found:
        return None
    best = min(key for key, _ in found)
    return best, {source for key, source in found if key == best}


# --- regions around a point -----------------------------------------------------------------------


@settings(deadline=None, max_examples=25)
@given(networks(max_depth=2, max_width=4), st.integers(0, 10**6))
def test_regions_around_a_point_are_all_regions(network: Network, seed: int) -> None:
    x = points_of(network, seed, 1)[0]
    every = enumerate_regions(network, engine="traverse", progress=False)
    near = regions_around(network, x, max_regions=300, max_seconds=20)
    known = {bytes(pattern) for pattern in every.patterns}
    found = {bytes(pattern) for pattern in near.patterns}
    assert found <= known
    assert not near.complete
    assert (np.diff(near.distances) >= 0).all()
    assert (near.lower <= near.distances).all()
    for pattern in known - found:  # none of those that are missing is nearer
        distance = exact_distance(network, np.frombuffer(pattern, np.uint8), x)
        assert distance >= near.within * (1 - 1e-6)


def exact_distance(network: Network, pattern: PatternArray, x: np.ndarray) -> float:
    rows = Region(network, pattern).inequalities
    a, b = rows.A.astype(float), rows.b.astype(float)
    step, _, _ = project(-a, b - a @ x)
    return np.inf if step is None else float(np.sqrt(step @ step))


def test_neurons_that_leave_a_breakpoint_behind_a_boundary() -> None:
    """Where the first layer is off, the second one is constantly 0: it changes behind one."""
    first, second = [[1.0, 1.0], [1.0, -1.0]], [[1.0, 1.0], [1.0, 1.0]]
    network = Network.mlp([first, second, [[1.0, 1.0]]], [[-1.0, -1.0], [0.0, -1.0], [0.0]])
    near = regions_around(network, [0.0, 0.0], radius=0.9)
    assert sorted(near.texts()) == ["00|00", "01|10", "10|10"]
    assert near.within == 0.9
    padded = [np.hstack([first, np.zeros((2, 18))]), second, [[1.0, 1.0]]]  # too many for rationals
    wide = Network.mlp(padded, [[-1.0, -1.0], [0.0, -1.0], [0.0]])
    near = regions_around(wide, np.zeros(20), radius=0.9)
    assert len(near) == 3 or near.within <= np.sqrt(0.5)


@pytest.mark.parametrize("kind", ["zero_bias", "integer", "repeated", "dead"])
def test_no_region_is_missing_around_points_of_degenerate_networks(kind: str) -> None:
    for seed in range(12):
        network = any_network(seed, kind, inputs=1 + seed % 3, depth=2 + seed % 2, width=3)
        every = enumerate_regions(network, engine="traverse", progress=False)
        near = regions_around(network, points_of(network, seed, 1)[0], max_regions=300)
        found = {bytes(pattern) for pattern in near.patterns}
        assert near.within > 0
        for pattern in {bytes(pattern) for pattern in every.patterns} - found:
            x = points_of(network, seed, 1)[0]
            distance = exact_distance(network, np.frombuffer(pattern, np.uint8), x)
            assert distance >= near.within * (1 - 1e-6)


def test_a_corner_lies_in_four_regions() -> None:
    near = regions_around(CORNER, [0.0, 0.0], radius=1.0)
    assert sorted(near.texts()) == ["00", "01", "10", "11"]
    assert near.distances.tolist() == [0.0] * 4
    assert near.within == 1.0


def test_flips_and_budgets_limit_the_search() -> None:
    network = random_network([60, 20, 20, 2], 1)
    x = np.random.default_rng(0).normal(size=60)
    near = regions_around(network, x, max_regions=15)
    assert len(near) == 15
    assert near.within >= near.distances[-1] * (1 - 1e-5) > 0
    one = regions_around(network, x, flips=1)
    assert one.flips.max() == 1
    assert len(one) > 10
    assert len(regions_around(network, x, max_regions=500, max_seconds=0.0)) == 0
    ball = regions_around(network, x, radius=float(near.distances[5] * 1.0001))
    assert len(ball) >= 6
    sample = x + np.random.default_rng(1).normal(size=(2000, 60)) * near.within / 20
    inside = np.linalg.norm(sample - x, axis=1) < near.within
    known = {bytes(pattern) for pattern in near.patterns}
    assert {bytes(pattern) for pattern in network.patterns(sample[inside])} <= known


def test_local_complexity_counts_what_is_in_the_ball() -> None:
    network = random_network([3, 8, 8, 1], 2)
    x = np.random.default_rng(0).normal(size=(4, 3))
    table = local_complexity(network, x, 0.3, workers=2)
    assert table["complete"].all()
    rng = np.random.default_rng(1)
    for i, row in table.iterrows():
        steps = rng.normal(size=(20_000, 3))
        steps *= (
            0.3 * rng.random((len(steps), 1)) ** (1 / 3) / np.linalg.norm(steps, axis=1)[:, None]
        )
        seen = len(np.unique(network.patterns(x[i] + steps), axis=0))
        assert 1 <= seen <= row["regions"]
    assert list(table.columns) == ["regions", "complete", "distance", "layer_1", "layer_2"]


def test_the_tracker_keeps_local_complexity() -> None:
    tracker = RegionTracker(lambda: CORNER, Box(-1, 1), points=[[0.1, 0.1]], radius=1.0)
    assert tracker.record(0).values["local_regions"] == 4.0
    with pytest.raises(InvalidInputError, match="belong together"):
        RegionTracker(lambda: CORNER, points=[[0.1, 0.1]])


# --- bounds in balls, and distances to decision boundaries ----------------------------------------


@settings(deadline=None, max_examples=30)
@given(networks(), st.integers(0, 10**6), st.sampled_from(["linf", "l2", "l1"]))
def test_bounds_in_balls_hold_at_points(network: Network, seed: int, norm: str) -> None:
    rng = np.random.default_rng(seed)
    center, radius = rng.normal(size=network.n_inputs), 10 ** rng.uniform(-3, 1)
    ball = Relaxation(network, center, radius, norm)
    steps = rng.normal(size=(200, network.n_inputs))
    order = {"linf": np.inf, "l2": 2, "l1": 1}[norm]
    steps *= radius * rng.random((200, 1)) / np.linalg.norm(steps, ord=order, axis=1)[:, None]
    points = center + steps
    patterns = network.patterns(points)[:, ball.varying]
    count, varying = 6, len(ball.varying)
    low, high = ball.root()
    nodes = Branches(
        np.zeros((count, varying), np.uint8),
        np.tile((network.pieces[ball.varying] - 1).astype(np.uint8), (count, 1)),
        *(rng.random((count, varying)) for _ in range(3)),
        np.zeros(count, np.int64),
        np.tile(low, (count, 1)),
        np.tile(high, (count, 1)),
        np.zeros(count),
    )
    fixed = rng.random((count, varying)) < 0.5
    for pieces in (nodes.first, nodes.last):
        pieces[fixed] = patterns[:count][fixed]
    ball.refine(nodes)
    linear, _ = ball.margins(np.eye(network.n_outputs), nodes)
    values = network(points)[:, 0]
    slack = 1e-9 * (1 + np.abs(values))
    for i in range(count):
        inside = ((patterns >= nodes.first[i]) & (patterns <= nodes.last[i])).all(axis=1)
        assert inside[i]
        bound = linear.at_center[i] + steps @ linear.slopes[i]
        assert (bound <= values + slack)[inside].all()


@pytest.mark.parametrize("norm", ["linf", "l1"])
@pytest.mark.parametrize("seed", range(3))
def test_distances_are_the_smallest_of_all_regions(seed: int, norm: str) -> None:
    network = random_network([2 + seed % 2, 4, 3, 3], seed)
    x = np.random.default_rng(seed).normal(size=network.n_inputs)
    found = robustness(network, x, norm=norm)
    smallest = by_regions(network, x, norm)
    assert found.complete
    assert found.lower <= smallest * (1 + 1e-7)
    assert smallest <= found.upper * (1 + 1e-7)
    assert found.lower >= found.upper * (1 - 2e-4)
    values = network.evaluate(found.point[None])[0]
    assert values[found.target] >= values[found.output]
    assert all(part["bound"] >= found.lower * (1 - 1e-9) for part in found.parts)
    # For each target, the parts cover the ball: every pattern in it is in one of them.
    rng = np.random.default_rng(1)
    order = np.inf if norm == "linf" else 1
    steps = rng.normal(size=(300, network.n_inputs))
    steps *= found.lower * rng.random((300, 1)) / np.linalg.norm(steps, order, axis=1)[:, None]
    patterns = network.patterns(x + steps)
    for target in {part["target"] for part in found.parts}:
        covered = np.zeros(300, np.bool_)
        for part in found.parts:
            mine = patterns[:, part["neurons"]]
            inside = (mine >= part["first"]) & (mine <= part["last"])
            covered |= inside.all(axis=1) & (part["target"] == target)
        assert covered.all()


def by_regions(network: Network, x: np.ndarray, norm: str) -> float:
    """The smallest distance, by a linear program for every region and output."""
    inputs, top = network.n_inputs, int(network(x[None])[0].argmax())
    best = np.inf
    for region in enumerate_regions(network, engine="traverse", progress=False):
        rows = region.inequalities
        a, b = rows.A.astype(float), rows.b.astype(float)
        columns = network.affine_map(region.pattern, arithmetic="float")
        for target in set(range(network.n_outputs)) - {top}:
            slopes = columns.matrix[top] - columns.matrix[target]
            offset = columns.offset[top] - columns.offset[target]
            left = np.concatenate([a, slopes[None]])
            right = np.append(b, -offset) - left @ x
            if norm == "linf":
                eye, ones = np.eye(inputs), np.ones((inputs, 1))
                left = np.block([[left, np.zeros((len(left), 1))], [eye, -ones], [-eye, -ones]])
                right = np.append(right, np.zeros(2 * inputs))
                bounds = [(None, None)] * inputs + [(0, None)]
                done = linprog(np.append(np.zeros(inputs), 1.0), left, right, bounds=bounds)
            else:
                done = linprog(
                    np.ones(2 * inputs), np.hstack([left, -left]), right, bounds=(0, None)
                )
            if done.status == 0:
                best = min(best, done.fun)
    return best


def test_l2_distances_agree_with_a_known_one() -> None:
    network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]])
    found = robustness(network, [3.0, 1.0], norm="l2")
    assert found.complete
    assert abs(found.upper - np.sqrt(2)) < 1e-3


def test_a_point_on_the_decision_boundary_has_the_distance_0() -> None:
    network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]]])
    found = robustness(network, [1.0, 1.0])
    assert (found.lower, found.upper, found.complete) == (0.0, 0.0, True)


def test_budgets_leave_bounds() -> None:
    network = random_network([30, 24, 24, 4], 5)
    x = np.random.default_rng(0).normal(size=30)
    found = robustness(network, x, max_nodes=1)
    assert 0 <= found.lower <= found.upper
    assert found.point is not None
    small = robustness(network, x, radius=found.upper / 100)
    assert small.upper == np.inf
    assert small.lower >= found.upper / 100 * (1 - 1e-9)


def test_options_are_checked() -> None:
    with pytest.raises(InvalidInputError, match="norm"):
        robustness(CORNER, [1.0, 1.0], norm="l3")
    with pytest.raises(InvalidInputError, match="norm"):
        nearest_boundary(CORNER, [[1.0, 1.0]], norm="l3")
    with pytest.raises(InvalidInputError, match="radius"):
        regions_around(CORNER, [1.0, 1.0], radius=-1.0)
    with pytest.raises(InvalidInputError, match="output"):
        integrated_gradients(CORNER, [1.0, 1.0], output=3)
