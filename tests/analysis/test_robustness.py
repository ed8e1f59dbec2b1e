"""The distance to the decision boundary, exactly, against other ways to decide the same."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import networks, random_network

from tropicell import Network, enumerate_regions, robustness
from tropicell.geometry.arithmetic import to_fractions, to_rationals
from tropicell.geometry.exact_programs import distance_of, nearest_point, square_distance
from tropicell.network import activations


def outputs_at(network: Network, point: list[Fraction]) -> list[Fraction]:
    """The outputs at a rational point, by plain loops."""
    outputs = [list(point)]
    for layer in range(1, network.depth + 2):
        affine = network.affine(layer)
        before = [Fraction(float(b)) for b in affine.bias]
        for source, matrix in affine.terms.items():
            for j in range(affine.width):
                for k, value in enumerate(outputs[source]):
                    before[j] += Fraction(float(matrix[j, k])) * value
        if layer == network.depth + 1:
            return before
        activation = network.layers[layer - 1].activation
        after = []
        for j, z in enumerate(before):
            bends, slopes, intercepts = activation.exact_row(min(j, len(activation.slopes) - 1))
            piece = sum(z > bend for bend in bends)
            after.append(slopes[piece] * z + intercepts[piece])
        outputs.append(after)
    raise AssertionError


def real(value: Fraction) -> z3.ArithRef:
    return z3.RatVal(value.numerator, value.denominator)


def is_free(network: Network, x: np.ndarray, norm: str, distance: Fraction, top: int) -> bool:
    """Whether no point nearer than a distance has another class: by Z3, from the weights."""
    solver = z3.Solver()
    inputs = [z3.Real(f"x{i}") for i in range(network.n_inputs)]
    sizes = []
    for i, value in enumerate(x):
        step = inputs[i] - real(Fraction(float(value)))
        sizes.append(z3.If(step >= 0, step, -step))
    if norm == "l1":
        solver.add(z3.Sum(sizes) < real(distance))
    else:
        solver.add(*(size < real(distance) for size in sizes))
    outputs: list[list] = [inputs]
    for layer in range(1, network.depth + 2):
        affine = network.affine(layer)
        before = [real(Fraction(float(b))) for b in affine.bias]
        for source, matrix in affine.terms.items():
            for j in range(affine.width):
                terms = [
                    real(Fraction(float(matrix[j, k]))) * y for k, y in enumerate(outputs[source])
                ]
                before[j] = z3.Sum([before[j], *terms])
        if layer == network.depth + 1:
            break
        activation = network.layers[layer - 1].activation
        after = []
        for j, formula in enumerate(before):
            z, y = z3.Real(f"z{layer}_{j}"), z3.Real(f"y{layer}_{j}")
            solver.add(z == formula)
            bends, slopes, intercepts = activation.exact_row(min(j, len(activation.slopes) - 1))
            value = real(slopes[-1]) * z + real(intercepts[-1])
            for k in range(len(bends) - 1, -1, -1):
                piece = real(slopes[k]) * z + real(intercepts[k])
                value = z3.If(z <= real(bends[k]), piece, value)
            solver.add(y == value)
            after.append(y)
        outputs.append(after)
    solver.add(z3.Or([before[top] <= before[k] for k in range(len(before)) if k != top]))
    return solver.check() == z3.unsat


def check_exact(network: Network, x: np.ndarray, norm: str) -> Fraction | None:
    """All that is promised of an exact distance; what it is."""
    found = robustness(network, x, norm=norm, gap=0)
    if found.exact is None:
        assert found.upper == np.inf
        return None
    power = 2 if norm == "l2" else 1
    assert found.complete
    assert Fraction(found.lower) ** power <= found.exact <= Fraction(found.upper) ** power
    point = list(found.exact_point)
    steps = [abs(c - Fraction(float(m))) for c, m in zip(point, x, strict=True)]
    size = {"linf": max(steps), "l1": sum(steps), "l2": sum(s * s for s in steps)}[norm]
    assert size == found.exact
    values = outputs_at(network, point)
    assert values[found.target] >= values[found.output]
    return found.exact


@settings(deadline=None, max_examples=12)
@given(
    networks(max_inputs=3, max_depth=2, max_width=3),
    st.integers(0, 10**6),
    st.sampled_from(["linf", "l1"]),
)
def test_no_point_is_nearer_says_another_program(network: Network, seed: int, norm: str) -> None:
    x = np.round(np.random.default_rng(seed).normal(size=network.n_inputs) * 8) / 8
    distance = check_exact(network, x, norm)
    if distance:
        values = outputs_at(network, [Fraction(float(c)) for c in x])
        assert is_free(network, x, norm, distance, values.index(max(values)))


@settings(deadline=None, max_examples=12)
@given(networks(max_inputs=4, max_depth=2, max_width=3), st.integers(0, 10**6))
def test_the_square_is_the_smallest_of_all_regions(network: Network, seed: int) -> None:
    x = np.round(np.random.default_rng(seed).normal(size=network.n_inputs) * 8) / 8
    found = check_exact(network, x, "l2")
    values = outputs_at(network, [Fraction(float(c)) for c in x])
    top = values.index(max(values))
    smallest = None
    for region in enumerate_regions(network, engine="traverse", progress=False):
        rows = region.inequalities
        maps = network.affine_map(region.pattern)
        for k in range(network.n_outputs):
            if k != top:
                a = np.concatenate([-rows.A, (maps.matrix[k] - maps.matrix[top])[None]])
                b = np.append(rows.b, maps.offset[k] - maps.offset[top])
                a, b = to_rationals(a), to_rationals(b)
                near = square_distance(a, b + a @ to_rationals(x))
                if near is not None and (smallest is None or near[0] < smallest):
                    smallest = near[0]
    wanted = None if smallest is None else to_fractions(np.array([smallest], dtype=object))[0]
    if found is None:  # none was found, and there is none within the ball that was looked at
        assert wanted is None or wanted > 10**14
    else:
        assert found == wanted


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from(["linf", "l1", "l2"]))
def test_nearest_points_of_polyhedra_are_proved_by_their_factors(seed: int, norm: str) -> None:
    rng = np.random.default_rng(seed)
    n, k = rng.integers(1, 4), rng.integers(1, 6)
    rows = to_rationals(rng.integers(-2, 3, size=(k, n)).astype(float))
    offsets = to_rationals(rng.integers(-3, 3, size=k).astype(float))
    radius = to_rationals(20.0).item()
    found = nearest_point(rows, offsets, norm, radius)
    proved = distance_of(rows, offsets, found.factors, norm)
    assert all(factor >= 0 for factor in found.factors)
    if found.distance is None:
        assert proved is None or proved >= (radius**2 if norm == "l2" else radius)
        return
    assert found.distance in (0, proved)
    assert (rows @ found.point + offsets >= 0).all()
    sizes = np.abs(found.point)
    size = {"linf": max(sizes), "l1": sum(sizes), "l2": sum(sizes * sizes)}[norm]
    assert size == found.distance


@pytest.mark.parametrize("norm", ["linf", "l1", "l2"])
def test_degenerate_networks_have_exact_distances(norm: str) -> None:
    # relu(x) - relu(-x) = x: the pattern 11 is a hyperplane, and the distance is 1.
    twins = Network.mlp([[[1.0, 0.0], [-1.0, 0.0]], [[1.0, -1.0], [0.0, 0.0]]])
    assert check_exact(twins, np.array([1.0, 5.0]), norm) == 1
    # All boundaries meet in the nearest point.
    corner = Network.mlp(
        [[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]],
    )
    wanted = {"linf": 1, "l1": 2, "l2": 2}[norm]
    assert check_exact(corner, np.array([1.0, 1.0]), norm) == wanted
    # A constant classifier has no boundary.
    flat = Network.mlp([[[0.0, 0.0]], [[1.0], [0.0]]], [[1.0], [0.0, 0.0]])
    found = robustness(flat, [0.0, 0.0], norm=norm, gap=0, radius=10.0)
    assert (found.exact, found.upper, found.complete) == (None, np.inf, True)
    on = robustness(twins, [0.0, 1.0], norm=norm, gap=0)
    assert on.exact == 0


def test_activations_with_several_breakpoints() -> None:
    network = Network.mlp(
        [[[1.0, 0.5], [0.25, -1.0]], [[1.0, 0.0], [0.0, 1.0]]],
        [[0.0, 0.125], [0.25, 0.0]],
        activation=activations.hard_tanh(),
    )
    for norm in ("linf", "l1"):
        distance = check_exact(network, np.array([0.5, 0.25]), norm)
        assert is_free(network, np.array([0.5, 0.25]), norm, distance, 0)


# --- certificates ---------------------------------------------------------------------------------


@settings(deadline=None, max_examples=10)
@given(
    networks(max_inputs=3, max_depth=2, max_width=3),
    st.integers(0, 10**6),
    st.sampled_from(["linf", "l1", "l2"]),
)
def test_distances_have_proofs(network: Network, seed: int, norm: str) -> None:
    x = np.round(np.random.default_rng(seed).normal(size=network.n_inputs) * 8) / 8
    found = robustness(network, x, norm=norm, gap=0)
    certificate = found.certify()
    assert certificate.verify()
    if found.exact is not None:
        assert certificate.distance == found.exact
        # A larger distance is wrong, by however little: there is no proof, and this is none.
        larger = replace(certificate, distance=found.exact * (1 + Fraction(1, 10**30)))
        assert not larger.verify() or found.exact == 0


def test_damaged_proofs_are_refused() -> None:
    network = random_network(4, "generic", 3, 2, 6, relu=True)
    x = np.random.default_rng(0).normal(size=3)
    found = robustness(network, x, gap=0)
    certificate = found.certify()
    assert certificate.verify()
    assert len(certificate.parts) > 1
    for i in range(len(certificate.parts)):
        rest = [part for k, part in enumerate(certificate.parts) if k != i]
        assert not replace(certificate, parts=rest).verify()
    solved = next(part for part in certificate.parts if part.factors)
    for changed in (
        replace(solved, factors={key: -value for key, value in solved.factors.items()}),
        replace(solved, factors={}),
        replace(solved, weight=Fraction(0)),
        replace(solved, factors={(0, 1): Fraction(10**9), **solved.factors}, pieces={}),
    ):
        parts = [changed if part is solved else part for part in certificate.parts]
        assert not replace(certificate, parts=parts).verify()
    assert not replace(certificate, output=1 - certificate.output).verify()


def test_bounds_that_a_budget_left_have_proofs() -> None:
    network = random_network(5, "generic", 4, 2, 6, relu=True)
    found = robustness(network, np.random.default_rng(0).normal(size=4), gap=0.1)
    assert found.exact is None
    assert found.certify().verify()
    assert found.certify().distance == Fraction(found.lower)
