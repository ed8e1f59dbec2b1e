"""Tropical polynomials as text: what people read, and what other programs make of it."""

from __future__ import annotations

import re
import shutil
import subprocess
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tropicell import InvalidInputError, TropicalPolynomial
from tropicell.paper import notation
from tropicell.paper.example import walkthrough

NUMBERS = st.fractions(-3, 3, max_denominator=3)
ROWS = st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=4)


def numerator() -> TropicalPolynomial:
    return walkthrough().tropical().output[0].numerator


def test_text_and_latex_of_the_walkthrough() -> None:
    f = walkthrough().tropical(cancel=True).output[0]
    assert str(f.numerator) == "16⊗x1^31⊗x2^(63/4) ⊕ 12⊗x1^51⊗x2^(19/4) ⊕ 3⊗x1^63⊗x2^(31/4)"
    shown = f.latex(["x", "y"])
    assert r"16 \otimes x^{\otimes 31} \otimes y^{\otimes \frac{63}{4}} \oplus" in shown
    assert r"\right) \oslash \left(" in shown
    assert shown.count("{") == shown.count("}")
    assert f._repr_latex_().startswith("$")
    assert "4 monomials" in f.denominator.latex(most=2)


def test_latex_of_fractions_is_as_short_as_their_text() -> None:
    x, y = TropicalPolynomial.variables(2)
    assert (x / y).latex(["x", "y"]) == r"x \oslash y"
    assert ((0 + x) / y).latex(["x", "y"]) == r"\left(0 \oplus x\right) \oslash y"
    assert ((0 + x) / 0).latex(["x", "y"]) == r"0 \oplus x"
    assert (0 / (0 + x)).latex(["x", "y"]) == r"0 \oslash \left(0 \oplus x\right)"


def test_numbers_of_any_size_are_shown() -> None:
    huge, tiny = 10**5000, Fraction(1, 10**400)
    f = TropicalPolynomial([huge, tiny], [[1], [-huge]])
    assert str(f) == "1e-400⊗x1^(-1e+5000) ⊕ 1e+5000⊗x1"
    assert f.latex(["x"]).endswith(r"\oplus 1 \cdot 10^{5000} \otimes x")
    assert r"x^{\otimes -1 \cdot 10^{5000}}" in f.latex(["x"])
    assert notation.number(Fraction(10**9)) == "1e+09"
    assert notation.number(Fraction(9999999, 1)) == "1e+07"
    assert notation.number(Fraction(999999, 1)) == "999999"


def test_what_is_no_polynomial_is_refused() -> None:
    x, y = TropicalPolynomial.variables(2)
    for write in (
        notation.to_polymake,
        notation.to_oscar,
        notation.to_gfan,
        notation.to_macaulay2,
    ):
        with pytest.raises(InvalidInputError, match="its numerator or denominator"):
            write(x / y)  # type: ignore[arg-type]
        with pytest.raises(InvalidInputError, match="got str"):
            write("x")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="must be texts"):
        x.latex([1, 2])  # type: ignore[list-item]


@given(ROWS)
def test_oscar_has_the_same_function(rows: list[tuple[Fraction, ...]]) -> None:
    """Its grammar is that of ``T(c)*x1^a*…``: read back, it is the polynomial, scaled and moved."""
    f = TropicalPolynomial([r[0] for r in rows], [r[1:] for r in rows])
    text = notation.to_oscar(f)
    terms = re.search(r"^f = (.*)$", text, re.MULTILINE)[1].split(" + ")
    coefficients, exponents = [], []
    for term in terms:
        first, *powers = term.split("*")
        coefficients.append(
            Fraction(re.fullmatch(r"T\((-?\d+(?://\d+)?)\)", first)[1].replace("//", "/"))
        )
        row = [0, 0]
        for power in powers:
            name, a = re.fullmatch(r"x([12])(?:\^(\d+))?", power).groups()
            row[int(name) - 1] = int(a or 1)
        exponents.append(row)
    scale = int((re.search(r"multiplied by (\d+)", text) or [0, 1])[1])
    back = TropicalPolynomial(
        coefficients, [[Fraction(a, scale) for a in row] for row in exponents]
    )
    moved = f.exponents.min(axis=0)
    assert back * TropicalPolynomial([0], [moved.tolist()]) == f
    assert (back.exponents >= 0).all()


def run(program: list[str], given: str) -> str:
    if shutil.which(program[0]) is None:
        pytest.skip(f"{program[0]} is not installed")
    done = subprocess.run(
        program, input=given, capture_output=True, text=True, timeout=240, check=True
    )
    return done.stdout


def test_gfan_finds_the_same_vertices() -> None:
    f = numerator()
    fan = run(["gfan", "_tropicalhypersurface"], notation.to_gfan(f))
    rays = re.search(r"RAYS\n(.*?)\n\n", fan, re.DOTALL)[1]
    rows = [[int(n) for n in line.split("#")[0].split()] for line in rays.splitlines()]
    # Exponents of t are twice the coefficients, those of x four times the exponents.
    found = {(Fraction(4 * a, 2 * t), Fraction(4 * b, 2 * t)) for t, a, b in rows if t > 0}
    assert found == set(f.subdivision().points)


def test_polymake_finds_the_same_subdivision(tmp_path) -> None:
    f = numerator()
    script = tmp_path / "f.pl"
    ask = (
        'print $f->DUAL_SUBDIVISION->N_MAXIMAL_CELLS, " ", $f->N_MAXIMAL_POLYTOPES, "\n";'
        "print $f->VERTICES;"
    )
    script.write_text(notation.to_polymake(f) + ask, encoding="utf-8")
    first, *rows = run(["polymake", "--script", str(script)], "").strip().splitlines()
    found = f.subdivision()
    assert first.split() == [str(len(found.points)), str(len(found.pairs))]
    vertices = {tuple(4 * Fraction(n) for n in row.split()[2:]) for row in rows if row[0] == "1"}
    assert vertices == set(found.points)


def test_polymake_agrees_on_degenerate_polynomials(tmp_path) -> None:
    """On a line, with monomials that are never needed, fractions, in one to three variables."""
    half = Fraction(1, 2)
    polynomials = [
        TropicalPolynomial([0, 1, -3], [[0], [1], [2]]),
        TropicalPolynomial([0, 2, 2, -1], [[0, 0], [1, 2], [2, 4], [3, 6]]),  # parallel lines
        TropicalPolynomial([0, -5, 0, 0, 0], [[0, 0], [1, 1], [2, 0], [0, 2], [2, 2]]),
        TropicalPolynomial([half, 0, half], [[half, 0], [0, Fraction(1, 3)], [-1, -1]]),
        TropicalPolynomial([0, 0, 0, 0, 1], [*np.eye(3, dtype=int).tolist(), [0] * 3, [1] * 3]),
        TropicalPolynomial([0, 1, 2], [[0, 0, 0], [1, 1, 0], [0, 1, 1]]),  # a plane of exponents
    ]
    script = tmp_path / "f.pl"
    script.write_text(
        "".join(
            notation.to_polymake(f).replace("my $f", f"my $f{k}")
            + f'print "found ", $f{k}->DUAL_SUBDIVISION->N_MAXIMAL_CELLS, " ", '
            + f'$f{k}->N_MAXIMAL_POLYTOPES, "\\n";\n'
            for k, f in enumerate(polynomials)
        ),
        encoding="utf-8",
    )
    lines = run(["polymake", "--script", str(script)], "").splitlines()
    found = [tuple(map(int, line.split()[1:])) for line in lines if line.startswith("found")]
    ours = [f.subdivision() for f in polynomials]
    assert found == [(len(s.points), len(s.pairs)) for s in ours]


def test_macaulay2_finds_the_same_monomials(tmp_path) -> None:
    """All monomials are needed, so all are vertices of the lifted Newton polytope."""
    f = numerator()
    script = tmp_path / "f.m2"
    script.write_text(notation.to_macaulay2(f) + "print numColumns vertices P\n", encoding="utf-8")
    assert run(["M2", "--script", str(script)], "").split() == [str(len(f))]
