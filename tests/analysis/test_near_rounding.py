"""The bounds on rounding that answers near a point rest on, attacked with hostile numbers.

Each test states a bound and compares it with rationals: cancellation, underflow, numbers of very
different sizes, many terms, -0.0. What broke a bound once is saved at the end.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tropicell import Affine, Ball, Box, Layer, Network, enumerate_regions, nearest_boundary
from tropicell.analysis._combinations import (
    combined,
    combined_exactly,
    is_ordinary,
    values_with_errors,
)
from tropicell.analysis._relaxations import Branches, Relaxation
from tropicell.analysis.around import regions_around
from tropicell.engines.wide.reduction import reduce_network
from tropicell.errors import InvalidNetworkError
from tropicell.geometry.arithmetic import to_fractions, to_rationals
from tropicell.geometry.norms import euclidean
from tropicell.network import activations

#: Numbers that cancel, vanish or dwarf each other; all are of ordinary size (1e-60 to 1e60).
HOSTILE = (
    *(0.0, -0.0, 1.0, -1.0, 1.0 + 2.0**-52, -1.0 + 2.0**-53, 2.0**-53, -(2.0**-53) * 1.25),
    *(0.1, -0.3, 1e16, -1e16, 1e-17, 3.0, -1 / 3, 1e60, -1e60, 1e-60, -1e-60, 1e30, -1e-30),
)

#: Points may be anything finite.
POINTS = (*HOSTILE, 5e-324, -5e-324, 1e-310, 1e-200, -1e150)


def hostile_activation(rng: np.random.Generator) -> activations.Activation:
    far = float(rng.choice([1e10, 3e7, 0.1, 1e-20]))
    rise, fall = rng.uniform(0.1, 9.0, size=2)
    return [
        activations.relu(),
        activations.leaky_relu(1e-17),
        activations.piecewise([far], [rise, -fall], [-rise * far, fall * far]),
        activations.piecewise([0.0, far], [0.0, rise, 0.0], [0.0, 0.0, rise * far]),
        activations.absolute(),
    ][rng.integers(5)]


def hostile_network(seed: int, depth: int, width: int, inputs: int) -> Network:
    """Few values, drawn so that layers cancel; every layer may read all layers before."""
    rng = np.random.default_rng(seed)
    values = rng.choice(HOSTILE, size=rng.integers(2, 6))
    widths, layers = [inputs], []
    for layer in range(1, depth + 1):
        size = int(rng.integers(1, width + 1))
        sources = [k for k in range(layer) if k == layer - 1 or rng.random() < 0.5]
        terms = {k: rng.choice(values, size=(size, widths[k])) for k in sources}
        layers.append(Layer(Affine(terms, rng.choice(values, size=size)), hostile_activation(rng)))
        widths.append(size)
    sources = [k for k in range(depth + 1) if k == depth or rng.random() < 0.5]
    terms = {k: rng.choice(values, size=(2, widths[k])) for k in sources}
    return Network(inputs, layers, Affine(terms, rng.choice(values, size=2)))


@st.composite
def hostile_networks(draw: st.DrawFn, *, max_depth: int = 5) -> Network:
    seed = draw(st.integers(0, 2**32 - 1))
    return hostile_network(
        seed, draw(st.integers(1, max_depth)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    )


def hostile_points(network: Network, seed: int, count: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.choice(POINTS, size=(count, network.n_inputs))


def exact_layers(network: Network, point: np.ndarray) -> list[list[Fraction]]:
    """The pre-activations of all layers and the outputs, by plain loops over fractions."""
    outputs = [[_fraction(value) for value in point]]
    found = []
    for layer in range(1, network.depth + 2):
        affine = network.affine(layer)
        before = [Fraction(float(b)) for b in affine.bias]
        for source, matrix in affine.terms.items():
            for j in range(affine.width):
                for k, value in enumerate(outputs[source]):
                    before[j] += Fraction(float(matrix[j, k])) * value
        found.append(before)
        if layer <= network.depth:
            activation = network.layers[layer - 1].activation
            after = []
            for j, z in enumerate(before):
                row = j if len(activation.slopes) > 1 else 0
                bends, slopes, intercepts = activation.exact_row(row)
                piece = sum(z > bend for bend in bends)
                after.append(slopes[piece] * z + intercepts[piece])
            outputs.append(after)
    return found


def exact_outputs(network: Network, layers: list[list[Fraction]]) -> list[list[Fraction]]:
    """The outputs of all layers, given their pre-activations."""
    return [
        [
            slopes[piece] * z + intercepts[piece]
            for z, (bends, slopes, intercepts) in zip(
                before, _rows_of(layer.activation, len(before)), strict=True
            )
            for piece in [sum(z > bend for bend in bends)]
        ]
        for before, layer in zip(layers, network.layers, strict=False)
    ]


def _fraction(value: object) -> Fraction:
    return value if isinstance(value, Fraction) else Fraction(float(value))  # type: ignore[arg-type]


def inside(value: Fraction, low: float, high: float) -> bool:
    """Between two floats, infinite ones included; nothing is claimed by NaN."""
    return not (np.isfinite(low) and value < Fraction(float(low))) and not (
        np.isfinite(high) and value > Fraction(float(high))
    )


# --- values and combinations ----------------------------------------------------------------------


@settings(deadline=None, max_examples=150)
@given(hostile_networks(), st.integers(0, 10**6))
def test_errors_of_values_hold(network: Network, seed: int) -> None:
    assert is_ordinary(network)
    point = hostile_points(network, seed, 1)[0]
    with np.errstate(all="ignore"):
        computed = list(values_with_errors(network, point))
    for (values, errors), true in zip(computed, exact_layers(network, point), strict=True):
        for value, error, exact in zip(values, errors, true, strict=True):
            if np.isfinite(value) and np.isfinite(error):
                assert abs(Fraction(float(value)) - exact) <= Fraction(float(error))


@settings(deadline=None, max_examples=150)
@given(hostile_networks(), st.integers(0, 10**6))
def test_errors_of_combinations_hold(network: Network, seed: int) -> None:
    rng = np.random.default_rng(seed)
    pattern = (rng.random(network.n_neurons) * network.pieces).astype(np.uint8)
    factors = rng.choice([*POINTS, 1e-300, 1e100], size=network.n_neurons)
    with np.errstate(all="ignore"):
        found = combined(network, pattern, factors)
    slopes, offset = combined_exactly(network, pattern, factors)
    point = hostile_points(network, seed, 1)[0]
    with np.errstate(all="ignore"):
        value, error = found.at(point)
    claims = [
        *zip(found.slopes, found.slope_errors, to_fractions(slopes), strict=True),
        (found.offset, found.offset_error, to_fractions(np.array([offset]))[0]),
    ]
    true = sum((Fraction(float(c)) * s for c, s in zip(point, to_fractions(slopes), strict=True)))
    claims.append((value, error, true + to_fractions(np.array([offset]))[0]))
    for number, bound, exact in claims:
        if np.isfinite(number) and np.isfinite(bound):
            assert abs(Fraction(float(number)) - exact) <= Fraction(float(bound))


# --- balls ----------------------------------------------------------------------------------------


def points_of_ball(center: np.ndarray, radius: float, norm: str, seed: int) -> list[list[Fraction]]:
    """Rational points of a closed ball, most of them on its boundary."""
    rng = np.random.default_rng(seed)
    middle, size = [Fraction(float(c)) for c in center], Fraction(float(radius))
    found = [middle]
    for _ in range(6):
        step = [Fraction(int(k), 8) for k in rng.integers(-8, 9, size=len(middle))]
        if norm == "linf":
            step = [Fraction(int(s)) for s in rng.choice([-1, 1], size=len(middle))]
        elif norm == "l1":
            step = [s / max(1, sum(map(abs, step))) for s in step]
        elif len(step) > 1:  # (3/5, 4/5) in some plane
            step = [Fraction(0)] * len(middle)
            i, j = rng.choice(len(middle), size=2, replace=False)
            step[i], step[j] = Fraction(3, 5), Fraction(-4, 5) * int(rng.choice([-1, 1]))
        else:
            step = [Fraction(int(rng.choice([-1, 1])))]
        found.append([m + size * s for m, s in zip(middle, step, strict=True)])
    return found


def branches_of(
    ball: Relaxation, network: Network, rng: np.random.Generator, count: int
) -> Branches:
    varying = len(ball.varying)
    low, high = ball.root()
    return Branches(
        np.zeros((count, varying), np.uint8),
        np.tile((network.pieces[ball.varying] - 1).astype(np.uint8), (count, 1)),
        rng.random((count, varying)),
        *(rng.choice([0.0, 1.0, 1e10, 1e-10], size=(count, varying)) for _ in range(2)),
        np.zeros(count, np.int64),
        np.tile(low, (count, 1)),
        np.tile(high, (count, 1)),
        np.zeros(count),
    )


def check_ball(network: Network, center: np.ndarray, radius: float, norm: str, seed: int) -> None:
    with np.errstate(all="ignore"):
        try:
            ball = Relaxation(network, center, radius, norm)
        except InvalidNetworkError:
            return  # said plainly
        points = points_of_ball(center, radius, norm, seed)
        values = [exact_layers(network, point) for point in points]
        for layers, after in zip(values, (exact_outputs(network, v) for v in values), strict=True):
            for layer in range(network.depth):
                least, most = ball._outputs(layer + 1)
                for j, (z, y) in enumerate(zip(layers[layer], after[layer], strict=True)):
                    assert inside(z, ball.low[layer][j], ball.high[layer][j])
                    assert inside(y, least[j], most[j])
                    lines = [float(part[j]) for part in ball.base[layer]]
                    if np.isfinite(lines).all():
                        below, low_shift, above, high_shift = map(Fraction, lines)
                        assert below * z + low_shift <= y <= above * z + high_shift
        rng = np.random.default_rng(seed)
        count = 3
        nodes = branches_of(ball, network, rng, count)
        patterns = np.array([_pattern(network, layers) for layers in values], np.uint8)
        fixed = rng.random((count, len(ball.varying))) < 0.6
        for pieces in (nodes.first, nodes.last):
            pieces[fixed] = patterns[:count][:, ball.varying][fixed]
        ball.refine(nodes)
        linear, _ = ball.margins(np.eye(network.n_outputs), nodes)
        distances = ball.distances(linear)
    for i in range(count):
        for point, layers, pattern in zip(points, values, patterns[:, ball.varying], strict=True):
            if ((pattern < nodes.first[i]) | (pattern > nodes.last[i])).any():
                continue
            assert np.isfinite(nodes.bound[i])  # not empty: the point is in it
            if not (np.isfinite(linear.slopes[i]).all() and np.isfinite(linear.at_center[i])):
                continue
            below = Fraction(float(linear.at_center[i]))
            for slope, c, m in zip(linear.slopes[i], point, center, strict=True):
                below += Fraction(float(slope)) * (c - Fraction(float(m)))
            assert below <= layers[-1][0]
            if layers[-1][0] <= 0:
                step = [c - Fraction(float(m)) for c, m in zip(point, center, strict=True)]
                assert _at_least(step, norm, Fraction(float(distances[i])))


def _at_least(step: list[Fraction], norm: str, distance: Fraction) -> bool:
    sizes = [abs(s) for s in step]
    if norm == "l2":
        return sum(s * s for s in step) >= distance**2
    return (max(sizes) if norm == "linf" else sum(sizes)) >= distance


def _pattern(network: Network, layers: list[list[Fraction]]) -> list[int]:
    found = []
    for layer, before in enumerate(layers[:-1]):
        activation = network.layers[layer].activation
        for j, z in enumerate(before):
            bends, _, _ = activation.exact_row(j if len(activation.slopes) > 1 else 0)
            found.append(sum(z > bend for bend in bends))
    return found


@settings(deadline=None, max_examples=150)
@given(hostile_networks(), st.integers(0, 10**6), st.sampled_from(["linf", "l2", "l1"]))
def test_bounds_in_balls_hold_in_rationals(network: Network, seed: int, norm: str) -> None:
    rng = np.random.default_rng(seed)
    radius = float(10.0 ** rng.choice([-300, -90, -16, -3, 0, 0, 3, 20]))
    check_ball(network, hostile_points(network, seed, 1)[0], radius, norm, seed)


@settings(deadline=None, max_examples=100)
@given(hostile_networks(max_depth=4), st.integers(0, 10**6), st.sampled_from(["linf", "l2", "l1"]))
def test_what_is_left_of_a_network_holds_in_rationals(
    network: Network, seed: int, norm: str
) -> None:
    rng = np.random.default_rng(seed)
    center = hostile_points(network, seed, 1)[0]
    check_reduced(network, center, float(10.0 ** rng.choice([-85, -16, -3, 0, 3])), norm, seed)


def check_reduced(
    network: Network, center: np.ndarray, radius: float, norm: str, seed: int
) -> None:
    if norm == "linf" and not ((center - radius < center) & (center < center + radius)).all():
        return  # not a box
    domain = Box(center - radius, center + radius) if norm == "linf" else Ball(center, radius, norm)
    with np.errstate(all="ignore"):
        reduced = reduce_network(network, domain)
    assert reduced is not None
    frame = reduced.frame
    numbers = {int(k): j for j, k in enumerate(reduced.neurons)}
    for point in points_of_ball(frame.center, float(frame.scale.min()), frame.norm, seed):
        if norm == "linf":
            limits = zip(point, frame.low, frame.high, strict=True)
            if not all(Fraction(float(a)) <= c <= Fraction(float(b)) for c, a, b in limits):
                continue
        layers = exact_layers(network, point)
        pattern = _pattern(network, layers)
        flat = [z for before in layers[:-1] for z in before]
        rows = [
            row
            for layer in network.layers
            for row in _rows_of(layer.activation, layer.affine.width)
        ]
        outputs: list[Fraction] = []
        for number, (z, piece, (_, slopes, intercepts)) in enumerate(
            zip(flat, pattern, rows, strict=True)
        ):
            if number not in numbers:
                assert piece == reduced.base[number]
                continue
            j = numbers[number]
            if np.isfinite(reduced.errors[j]):
                guess = Fraction(float(reduced.values[j]))
                for row, c, m, s in zip(
                    reduced.rows[j], point, frame.center, frame.scale, strict=True
                ):
                    delta = (c - Fraction(float(m))) / Fraction(float(s))
                    guess += Fraction(float(row)) * delta
                for link, y in zip(reduced.links[j], outputs, strict=False):
                    guess += Fraction(float(link)) * y
                assert abs(guess - z) <= Fraction(float(reduced.errors[j]))
                assert inside(z, reduced.low[j], reduced.high[j])
            outputs.append(slopes[piece] * z + intercepts[piece])


def _rows_of(activation: activations.Activation, width: int) -> list:
    return [activation.exact_row(j if len(activation.slopes) > 1 else 0) for j in range(width)]


@settings(deadline=None, max_examples=200)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_euclidean_norms_of_any_size(numbers: list[float]) -> None:
    found = float(euclidean(np.array([numbers]))[0])
    square = sum(Fraction(v) ** 2 for v in numbers)
    if np.isfinite(found) and found > 1e-300:
        share = Fraction(len(numbers) + 8) * Fraction(2) ** -53
        low, high = Fraction(found) * (1 - share), Fraction(found) * (1 + share)
        assert low**2 <= square <= high**2
    assert (found == 0) == (square == 0)


# --- what broke a bound once ----------------------------------------------------------------------


def many_sources(count: int, bias: float) -> Network:
    """A layer that adds up one neuron of each of many layers: half a unit of rounding each."""
    small = np.array([[2.0**-53 * 1.0000001]])
    layers = [Layer(Affine({0: small}, np.zeros(1))) for _ in range(count)]
    last = Layer(Affine({k + 1: np.ones((1, 1)) for k in range(count)}, np.array([bias])))
    return Network(1, [*layers, last], Affine({count + 1: np.ones((1, 1))}, np.zeros(1)))


def test_a_layer_that_reads_many_layers_is_rounded_as_often() -> None:
    network, point = many_sources(60, 1.0), np.array([1.0])
    *_, (values, errors) = values_with_errors(network, point)
    exact = exact_layers(network, point)[-1][0]
    assert abs(Fraction(float(values[0])) - exact) <= Fraction(float(errors[0]))
    check_ball(network, point, 1e-300, "linf", 0)
    near = regions_around(network, point, max_regions=3)
    assert near.within > 0


def test_squares_of_slopes_underflow() -> None:
    network = Network.mlp([[[1e-60]], [[1e-60]], [[1e-60]]], [[1e-60], [0.0], [0.0]])
    check_ball(network, np.array([0.5]), 10.0, "l2", 0)
    ball = Relaxation(network, np.array([0.5]), 100.0, "l2")
    with np.errstate(all="ignore"):
        nodes = branches_of(ball, network, np.random.default_rng(0), 1)
        nodes.above[:] = nodes.below[:] = 0.0
        linear, _ = ball.margins(np.ones((1, 1)), nodes)
    assert ball.distances(linear)[0] <= 1.5  # it is 0 from x = -1 on


def test_the_nearest_boundary_may_have_tiny_slopes() -> None:
    """X + 10 - 2 (x + 4) in layer 4, times 1e-180: its square is 0 in float64."""
    small = 1e-60 * np.eye(2)
    network = Network.mlp(
        [[[1.0], [1.0]], small, small, [[1e-60, -2e-60]], [[1.0]]],
        [[10.0, 4.0], None, None, None, None],
    )
    for norm in ("l2", "linf", "l1"):
        found = nearest_boundary(network, [[0.5]], norm=norm)
        assert found.boundary(0).layer == 4
        assert abs(found.distances[0] - 1.5) < 1e-9


def test_parts_of_an_activation_may_cancel() -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        bend = float(rng.uniform(0.5, 1.0) * 1e10)
        rise, fall = rng.uniform(0.1, 9.0, size=2)
        bent = activations.piecewise([bend], [rise, -fall], [-rise * bend, fall * bend])
        network = Network.mlp([[[1.0]], [[1.0]]], activation=bent)
        center = bend + rng.normal() * 10 ** rng.uniform(-6, 0)
        check_ball(network, np.array([center]), 10 ** rng.uniform(-7, -2), "linf", seed)


def test_underflow_times_a_huge_value_counts() -> None:
    """Weights 1e60, then 1e-60: factors of the first layers vanish, their outputs do not."""
    sizes = [1e60, 1e60, 1e60, *([1e-60] * 5), -1e-60]
    network = Network.mlp([[[size]] for size in sizes], [[1e59], *([[0.0]] * 8)])
    check_ball(network, np.array([1.0]), 0.5, "linf", 0)
    with pytest.raises(InvalidNetworkError, match="no bound can be proved"):
        Relaxation(network, np.array([1.0]), 0.5, "linf")


def test_tiny_points_under_huge_weights() -> None:
    sizes = [1e-60, *([1e55] * 2)]
    network = Network.mlp([[[s]] for s in sizes] + [[[1.0], [-1.0]]])
    for norm in ("linf", "l2", "l1"):
        check_ball(network, np.array([1e-290]), 1e-310, norm, 0)


def test_a_ball_whose_rows_have_squares_that_underflow() -> None:
    network = Network.mlp([[[1e-80, 1e-80]], [[1.0]]], [[1e-170], [0.0]])
    ball = Ball(np.zeros(2), 1e-85, norm="l2")
    check_reduced(network, np.zeros(2), 1e-85, "l2", 0)
    assert len(enumerate_regions(network, ball, engine="wide", progress=False)) == 2
    assert (to_rationals(ball.center) == 0).all()


def test_a_layer_beyond_float64_leaves_no_claims_on_those_before() -> None:
    network = Network.mlp([[[1e16]], [[1e60]], [[1e60]], [[1.0]]], [[1.0], [1.0], [1.0], [0.0]])
    check_reduced(network, np.zeros(1), 1000.0, "linf", 0)
    assert np.isinf(reduce_network(network, Box(-1000, 1000)).errors).all()
