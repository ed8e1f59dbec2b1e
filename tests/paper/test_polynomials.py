"""Tropical polynomials and fractions: their algebra, and that they are functions."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tropicell import InvalidInputError, TropicalPolynomial, TropicalRationalFunction

#: These take tens of milliseconds an example.
FEW = settings(max_examples=max(1, settings().max_examples // 3))
NUMBERS = st.fractions(-3, 3, max_denominator=4)


@st.composite
def polynomials(draw: st.DrawFn, variables: int = 2, most: int = 3) -> TropicalPolynomial:
    rows = st.lists(
        st.lists(NUMBERS, min_size=variables + 1, max_size=variables + 1), min_size=1, max_size=most
    )
    found = draw(rows)
    return TropicalPolynomial([row[0] for row in found], [row[1:] for row in found])


@st.composite
def pairs(draw: st.DrawFn) -> tuple[TropicalPolynomial, TropicalPolynomial]:
    variables = draw(st.integers(1, 2))
    return draw(polynomials(variables)), draw(polynomials(variables))


def points(f: TropicalPolynomial, count: int = 6) -> np.ndarray:
    rng = np.random.default_rng(len(f))
    rows = [
        [Fraction(int(n), 3) for n in row] for row in rng.integers(-20, 21, (count, f.n_variables))
    ]
    return np.array(rows, dtype=object)


@given(pairs(), st.fractions(0, 3, max_denominator=3))
def test_operations_are_those_of_numbers(two: tuple[TropicalPolynomial, ...], k: Fraction) -> None:
    f, g = two
    x = points(f)
    a, b = f.evaluate(x), g.evaluate(x)
    assert ((f + g).evaluate(x) == np.maximum(a, b)).all()
    assert ((f * g).evaluate(x) == a + b).all()
    assert ((f**k).evaluate(x) == k * a).all()
    assert ((f / g).evaluate(x) == a - b).all()
    assert (((f / g) ** -k).evaluate(x) == k * (b - a)).all()
    assert ((f / g + g / f).evaluate(x) == np.maximum(a - b, b - a)).all()
    assert ((f / g / (f + g)).evaluate(x) == a - b - np.maximum(a, b)).all()
    np.testing.assert_allclose((f / g)(x.astype(float)), (a - b).astype(float), atol=1e-12)


@FEW
@given(pairs())
def test_equality_is_that_of_functions(two: tuple[TropicalPolynomial, ...]) -> None:
    f, g = two
    assert f.reduced() == f
    assert hash(f.reduced()) == hash(f)
    assert (f + g) ** 2 == f**2 + f * g + g**2
    assert (f * g) / g == f
    assert hash(f * g / g) == hash(TropicalRationalFunction(f, f**0))
    assert (f == g) == (
        len(f.reduced()) == len((f.reduced() + g.reduced()).reduced()) == len(g.reduced())
        and bool((f.evaluate(points(f, 40)) == g.evaluate(points(f, 40))).all())
    )
    assert f != f * 1
    assert len(f.reduced()) <= len(f)


@FEW
@given(pairs())
def test_what_is_reduced_is_least(two: tuple[TropicalPolynomial, ...]) -> None:
    f = two[0].reduced()
    for i in range(len(f)):
        others = [j for j in range(len(f)) if j != i]
        if others:
            assert TropicalPolynomial(f.coefficients[others], f.exponents[others]) != f


@FEW
@given(pairs())
def test_quotients_are_found(two: tuple[TropicalPolynomial, ...]) -> None:
    f, g = two
    product = f * g
    assert product.quotient(g) == f
    found = f.quotient(g)
    if found is not None:
        assert found * g == f
    assert (product / g).simplified().denominator == 0
    assert (product / g).simplified() == f


@FEW
@given(pairs())
def test_simplified_fractions_are_the_same_function(two: tuple[TropicalPolynomial, ...]) -> None:
    f, g = two
    x = TropicalPolynomial.variables(f.n_variables)[0]
    shared = (x + 1) ** 3
    found = (f * shared / (g * shared)).simplified()
    assert found == f / g
    assert len(found.numerator) <= len(f.reduced())
    assert len(found.denominator) <= len(g.reduced())


@FEW
@given(pairs(), pairs())
def test_common_factors_are_found_whatever_they_are(
    two: tuple[TropicalPolynomial, ...], more: tuple[TropicalPolynomial, ...]
) -> None:
    f, g = (each.reduced() for each in two)
    shared = more[0].reduced()
    if shared.n_variables != f.n_variables or len(f) * len(g) * len(shared) ** 2 > 400:
        return
    a, b = f * shared, g * shared
    factor = a.common_factor(b)
    above, below = a.over(factor), b.over(factor)
    assert above / below == f / g
    assert len(above.common_factor(below)) == 1  # nothing is left
    if len(shared) > 1:
        assert len(factor) > 1
    if f.n_variables == 1:  # there it is unique
        assert factor.quotient(shared) is not None


def test_numbers_beside_polynomials() -> None:
    x, y = TropicalPolynomial.variables(2)
    two = TropicalPolynomial.constant(2, 2)
    assert len({two, 2, Fraction(2), two / 0, two * x / x}) == 1  # equal, so equal hashes
    assert sum([x, y], -math.inf) == x + y
    assert (x / y) + -math.inf == x / y
    with pytest.raises(InvalidInputError, match="finite"):
        x * -math.inf
    with pytest.raises(InvalidInputError, match="finite"):
        (x / y) ** math.inf
    with pytest.raises(TypeError, match="unsupported operand"):
        x**y


@st.composite
def monomials(draw: st.DrawFn) -> tuple[int, list[tuple[Fraction, ...]]]:
    """Coefficients and exponents of any size and sign; many are redundant, equal or on a line."""
    variables = draw(st.integers(1, 3))
    digits = draw(st.sampled_from([0, 0, 40, 400]))
    short = st.fractions(-4, 4, max_denominator=3)
    number = st.one_of(short, short, short.map(lambda q: q * 10**digits), short.map(round))
    row = st.tuples(*[number] * (variables + 1))
    rows = draw(st.lists(row, min_size=1, max_size=4))
    between = draw(st.fractions(0, 1, max_denominator=4))
    first, last = rows[0], rows[-1]
    mixed = tuple(between * a + (1 - between) * b for a, b in zip(first, last, strict=True))
    return variables, [*rows, mixed]


def made(rows: list[tuple[Fraction, ...]]) -> TropicalPolynomial:
    return TropicalPolynomial([r[0] for r in rows], [r[1:] for r in rows])


@FEW
@given(monomials(), st.randoms(use_true_random=False))
def test_degenerate_polynomials_against_brute_force(
    drawn: tuple[int, list[tuple[Fraction, ...]]], random: Random
) -> None:
    """Values, redundant monomials and equality, by maxima of Fractions alone."""
    variables, rows = drawn
    f = made(rows)
    largest = max(abs(q) for row in rows for q in row)
    at = [
        [Fraction(random.randint(-9, 9), 2) * random.choice([1, 1 + largest]) for _ in "x" * 3]
        for _ in range(6)
    ]
    x = np.array([row[:variables] for row in at], dtype=object)

    def value(row: tuple[Fraction, ...], point: np.ndarray) -> Fraction:
        return row[0] + sum(a * q for a, q in zip(row[1:], point, strict=True))

    expected = [max(value(row, point) for row in rows) for point in x]
    assert f.evaluate(x).tolist() == expected
    assert f.reduced().evaluate(x).tolist() == expected
    # the order of the monomials, equal ones, and smaller ones do not matter
    again = [*rows, *((row[0] - 1, *row[1:]) for row in rows)]
    random.shuffle(again)
    assert made(again) == f
    assert hash(made(again)) == hash(f)
    assert len(made(again).reduced()) == len(f.reduced())
    # every monomial that stays is alone the largest at some point, so raising it is seen
    g = f.reduced()
    kept = [(c, *a) for c, a in zip(g.coefficients, g.exponents.tolist(), strict=True)]
    for i, point in enumerate(g.subdivision().inside()):
        values = [value(row, point) for row in kept]
        assert all(values[i] > other for j, other in enumerate(values) if j != i)
        raised = list(g.coefficients)
        raised[i] += Fraction(1, 10**9)
        assert TropicalPolynomial(raised, g.exponents) != f


def test_equality_answers_for_anything() -> None:
    x, y = TropicalPolynomial.variables(2)
    z = TropicalPolynomial.variables(1)[0]
    for f in (x, x + y, x / y, x / x):
        for other in (math.nan, math.inf, -math.inf, np.float32("inf"), "x", None, z, z / z):
            assert f != other
    assert x == x / 0
    assert np.float64(2) == TropicalPolynomial.constant(2, 2)


def test_what_is_shared_may_have_many_monomials() -> None:
    x, y = TropicalPolynomial.variables(2)
    triangle, square = 0 + x + y, (0 + x) * (0 + 3 * y)
    fraction = triangle * square / (triangle**2 * (x + 7 * y)).reduced()
    found = fraction.simplified()
    assert found == fraction
    assert (len(found.numerator), len(found.denominator)) == (len(square), 5)
    # both bend along a half-line, but no factor does
    assert triangle.common_factor(0 + x) == 0
    # a hexagon is a sum of three segments, and one of two triangles
    hexagon = (0 + x) * (0 + y) * (x + y)
    assert hexagon == triangle * (x + y + x * y)
    assert hexagon.common_factor(triangle**3) == triangle
    assert hexagon.common_factor((0 + x) ** 2 * (x + y)) == (0 + x) * (x + y)
    assert (hexagon / triangle).simplified().denominator == 0
    with pytest.raises(InvalidInputError, match="not divisible"):
        triangle.over(square)
    with pytest.raises(InvalidInputError, match="expected a TropicalPolynomial"):
        triangle.common_factor("x")  # type: ignore[arg-type]


@FEW
@given(pairs())
def test_a_subdivision_is_dual_to_its_cells(two: tuple[TropicalPolynomial, ...]) -> None:
    f = two[0]
    found = f.subdivision()
    g = found.polynomial
    assert len(found.cells) == len(g) == len(f.reduced())
    for point, members in zip(found.points, found.polytopes, strict=True):
        values = [m.evaluate([point])[0] for m in g]
        assert [i for i, value in enumerate(values) if value == max(values)] == list(members)
    for i, j in found.pairs:  # both are largest somewhere on the common side, and nothing else is
        assert i < j
        assert (g.monomial(i) + g.monomial(j)) == TropicalPolynomial(
            g.coefficients[[i, j]], g.exponents[[i, j]]
        )
    if g.n_variables == 1:
        assert found.pairs == [(i, i + 1) for i in range(len(g) - 1)]
        assert len(found.points) == len(g) - 1 or len(g) == 1


def test_euler_holds_in_the_plane() -> None:
    """Vertices - edges + polygons of the dual subdivision of a polygon is 1."""
    rng = np.random.default_rng(0)
    f = TropicalPolynomial(rng.integers(-9, 10, 20), rng.integers(0, 5, (20, 2)))
    found = f.subdivision()
    assert len(found.cells) - len(found.pairs) + len(found.points) == 1
    assert set(found.newton_vertices) <= set(range(len(found.cells)))


@FEW
@given(pairs())
def test_numbers_of_regions_bound_each_other(two: tuple[TropicalPolynomial, ...]) -> None:
    f, g = two
    found = (f / g).region_numbers()
    assert max(found.numerator, found.denominator) <= found.overlay
    assert found.overlay <= found.numerator * found.denominator
    assert found.pieces <= found.overlay
    assert (f * g / g).region_numbers().pieces == len(f.reduced())


def test_bad_input_is_refused() -> None:
    x, y = TropicalPolynomial.variables(2)
    with pytest.raises(InvalidInputError, match="at least one"):
        TropicalPolynomial([], [])
    with pytest.raises(InvalidInputError, match="finite"):
        TropicalPolynomial([float("nan")], [[1]])
    for infinite in (np.float32("inf"), np.float64("-inf"), np.float16("nan")):
        with pytest.raises(InvalidInputError, match="finite"):
            TropicalPolynomial([infinite], [[1]])
    assert x + np.float32("-inf") == x
    for index in (1, -2, 0.5, "0"):
        with pytest.raises(InvalidInputError, match="there is no monomial"):
            x.monomial(index)  # type: ignore[arg-type]
    for count in (-1, 2.5, "2"):
        with pytest.raises(InvalidInputError, match="number of variables"):
            TropicalPolynomial.variables(count)  # type: ignore[arg-type]
        with pytest.raises(InvalidInputError, match="number of variables"):
            TropicalPolynomial.constant(1, count)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="2 and 1 variables"):
        x + TropicalPolynomial.variables(1)[0]
    big = TropicalPolynomial(np.zeros(1000), np.arange(1000)[:, None] ** 2)
    with pytest.raises(InvalidInputError, match="would have 1,000,000"):
        big * big
    with pytest.raises(TypeError):
        x + "y"
    assert x != y
    assert str(x / y) == "x1 ⊘ x2"
