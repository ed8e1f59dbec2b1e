"""Tropical polynomials as text: for people, for LaTeX, and for other programs.

polymake, OSCAR and Macaulay2 want whole exponents: with the least common multiple D of the
exponents' denominators, ``c + a·x`` is ``c + (D a)·y`` at ``y = x / D``. gfan and Macaulay2 know no
coefficients of the tropical semiring: there a polynomial has one more variable t, a power of t
stands for the coefficient, and the part of the fan with t > 0 is the cone over the hypersurface.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import MAX_EMAX, MIN_EMIN, Decimal, localcontext
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING, Any, NamedTuple

from numpy.typing import NDArray

from tropicell.errors import InvalidInputError

if TYPE_CHECKING:
    from tropicell.paper.polynomials import TropicalPolynomial

#: In a notebook so many monomials are shown.
SHOWN = 24

#: Numbers with more digits than this are shown rounded.
_DIGITS = 7
#: Between these, numbers are rounded as float64.
_SMALLEST, _LARGEST = Fraction(1, 10**300), 10**300


def number(value: Fraction) -> str:
    """A rational number: exact if it is short, else rounded, of any size.

    Examples
    --------
    >>> number(Fraction(-21, 4)), number(Fraction(0.1)), number(Fraction(-(10**400), 3))
    ('-21/4', '0.1', '-3.3333e+399')
    """
    bits = value.numerator.bit_length() + value.denominator.bit_length()
    if bits <= 4 * _DIGITS and len(f"{value.numerator}{value.denominator}") <= _DIGITS:
        return str(value)
    if _SMALLEST < abs(value) < _LARGEST:
        return f"{float(value):.5g}"
    with localcontext() as context:  # beyond float64
        context.Emax, context.Emin = MAX_EMAX, MIN_EMIN
        digits, power = f"{Decimal(value.numerator) / Decimal(value.denominator):.4e}".split("e")
        return f"{digits.rstrip('0').rstrip('.')}e{power}"


def text(coefficients: NDArray[Any], exponents: NDArray[Any]) -> str:
    """A polynomial in the notation of tropical algebra; factors 0 are left out.

    Examples
    --------
    >>> import numpy as np
    >>> text(np.array([Fraction(2), Fraction(0)]), np.array([[Fraction(0)], [Fraction(3, 2)]]))
    '2 ⊕ x1^(3/2)'
    """
    terms = []
    for c, row in zip(coefficients.tolist(), exponents.tolist(), strict=True):
        factors = [number(c)] if c != 0 or not any(row) else []
        for k, a in enumerate(row, start=1):
            if a != 0:
                power = number(a)
                power = f"({power})" if set("/e") & set(power) else power
                factors.append(f"x{k}" if a == 1 else f"x{k}^{power}")
        terms.append("⊗".join(factors))
    return " ⊕ ".join(terms)


def latex(
    coefficients: NDArray[Any],
    exponents: NDArray[Any],
    names: Sequence[str] | None = None,
    most: int | None = None,
) -> str:
    r"""A polynomial in LaTeX, all of it or its first monomials.

    Examples
    --------
    >>> import numpy as np
    >>> latex(np.array([Fraction(2)]), np.array([[Fraction(1), Fraction(-3, 2)]]), ["x", "y"])
    '2 \\otimes x \\otimes y^{\\otimes -\\frac{3}{2}}'
    """
    width = exponents.shape[1]
    if names is None:
        names = [f"x_{{{k}}}" for k in range(1, width + 1)]
    if len(names) != width:
        raise InvalidInputError(f"expected {width} names of variables, got {len(names)}")
    if not all(isinstance(name, str) for name in names):
        raise InvalidInputError(f"names of variables must be texts, got {list(names)!r}")
    shown = len(coefficients) if most is None else max(0, min(most, len(coefficients)))
    terms = []
    for c, row in zip(coefficients[:shown].tolist(), exponents[:shown].tolist(), strict=True):
        factors = [_latex_number(c)] if c != 0 or not any(row) else []
        for name, a in zip(names, row, strict=True):
            if a != 0:
                factors.append(name if a == 1 else rf"{name}^{{\otimes {_latex_number(a)}}}")
        terms.append(r" \otimes ".join(factors))
    if shown < len(coefficients):
        terms.append(rf"\cdots \text{{ ({len(coefficients):,} monomials)}}")
    return r" \oplus ".join(terms)


def _latex_number(value: Fraction) -> str:
    shown = number(value)
    if "e" in shown:
        digits, power = shown.split("e")
        return rf"{digits} \cdot 10^{{{int(power)}}}"
    if "/" not in shown:
        return shown
    sign = "-" if value < 0 else ""
    return rf"{sign}\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"


class _Whole(NamedTuple):
    """A polynomial with whole exponents that are not negative, in y = x / scale."""

    coefficients: list[Fraction]
    exponents: list[list[int]]
    scale: int


def _whole(f: TropicalPolynomial) -> _Whole:
    _check_polynomial(f)
    rows = f.exponents.tolist()
    scale = lcm(*(a.denominator for row in rows for a in row))
    whole = [[int(a * scale) for a in row] for row in rows]
    lowest = [min(column) for column in zip(*whole, strict=True)]
    moved = [[a - low for a, low in zip(row, lowest, strict=True)] for row in whole]
    return _Whole(f.coefficients.tolist(), moved, scale)


def _check_polynomial(f: object) -> None:
    """These programs know polynomials; a fraction has two."""
    if not hasattr(f, "exponents"):
        raise InvalidInputError(
            f"expected a TropicalPolynomial, got {type(f).__name__}"
            + ("; take its numerator or denominator" if hasattr(f, "numerator") else "")
        )


def _comment(f: TropicalPolynomial, whole: _Whole, sign: str) -> str:
    lines = [f"{len(f)} monomials in {f.n_variables} variables, max convention."]
    if whole.scale != 1:
        lines.append(f"Exponents are multiplied by {whole.scale}: y = x / {whole.scale}.")
    lowest = f.exponents.min(axis=0) if f.n_variables else []
    if any(low != 0 for low in lowest):
        lines.append("A common monomial is taken out, which moves no cell.")
    return "".join(f"{sign} {line}\n" for line in lines)


def to_polymake(f: TropicalPolynomial) -> str:
    """A script for polymake that makes the tropical hypersurface ``$f``.

    Examples
    --------
    >>> from tropicell import TropicalPolynomial
    >>> print(to_polymake(TropicalPolynomial([0, 0.5], [[0, 0], [1, 2]])))
    # 2 monomials in 2 variables, max convention.
    use application "tropical";
    my $f = new Hypersurface<Max>(
      MONOMIALS=>[[3,0,0],[0,1,2]],
      COEFFICIENTS=>["0","1/2"]);
    <BLANKLINE>
    """
    whole = _whole(f)
    degree = max((sum(row) for row in whole.exponents), default=0)
    rows = [[degree - sum(row), *row] for row in whole.exponents]
    monomials = ",".join("[" + ",".join(map(str, row)) + "]" for row in rows)
    coefficients = ",".join(f'"{c}"' for c in whole.coefficients)
    return (
        _comment(f, whole, "#")
        + 'use application "tropical";\nmy $f = new Hypersurface<Max>(\n'
        + f"  MONOMIALS=>[{monomials}],\n  COEFFICIENTS=>[{coefficients}]);\n"
    )


def to_oscar(f: TropicalPolynomial) -> str:
    """A script for OSCAR (Julia) that makes the tropical polynomial ``f`` and its hypersurface.

    Examples
    --------
    >>> from tropicell import TropicalPolynomial
    >>> print(to_oscar(TropicalPolynomial([0, 0.5], [[0, 0], [1, 2]])))
    # 2 monomials in 2 variables, max convention.
    using Oscar
    T = tropical_semiring(max)
    R, (x1, x2) = polynomial_ring(T, ["x1", "x2"])
    f = T(0) + T(1//2)*x1*x2^2
    hypersurface = tropical_hypersurface(f)
    <BLANKLINE>
    """
    whole = _whole(f)
    names = [f"x{k}" for k in range(1, f.n_variables + 1)]
    terms = [
        "*".join([f"T({str(c).replace('/', '//')})", *_powers(names, row)])
        for c, row in zip(whole.coefficients, whole.exponents, strict=True)
    ]
    quoted = ", ".join(f'"{name}"' for name in names)
    listed = ", ".join(names) + ("," if len(names) == 1 else "")
    return (
        _comment(f, whole, "#")
        + f"using Oscar\nT = tropical_semiring(max)\nR, ({listed}) = polynomial_ring(T, [{quoted}])"
        + f"\nf = {' + '.join(terms)}\nhypersurface = tropical_hypersurface(f)\n"
    )


def to_gfan(f: TropicalPolynomial) -> str:
    """Input for ``gfan_tropicalhypersurface``: an ordinary polynomial with one more variable t.

    Exponents are multiplied by the smallest D, coefficients (powers of t) by the smallest C that
    make them whole, so that with t = 1 the programs' y is C / D times x. `to_macaulay2` has the
    same polynomial, and says C and D in a comment; gfan does not read comments.

    Examples
    --------
    >>> from tropicell import TropicalPolynomial
    >>> print(to_gfan(TropicalPolynomial([0, 0.5], [[0, 0], [1, 2]])))
    Q[t,x1,x2]
    {1+t*x1*x2^2}
    <BLANKLINE>
    """
    _check_polynomial(f)
    names, terms, _ = _homogenised(f)
    return f"Q[{','.join(names)}]\n{{{'+'.join(terms)}}}\n"


def to_macaulay2(f: TropicalPolynomial) -> str:
    """A script for Macaulay2 that makes the Newton polytope ``P`` and its normal fan ``F``.

    Examples
    --------
    >>> from tropicell import TropicalPolynomial
    >>> print(to_macaulay2(TropicalPolynomial([0, 0.5], [[0, 0], [1, 2]])))
    -- 2 monomials in 2 variables, max convention.
    -- Exponents are multiplied by 1, coefficients (powers of t) by 2: at t = 1, y = 2 x.
    needsPackage "Polyhedra"
    R = QQ[t,x1,x2]
    f = 1+t*x1*x2^2
    P = newtonPolytope f
    F = normalFan P
    <BLANKLINE>
    """
    _check_polynomial(f)
    names, terms, (own, heights) = _homogenised(f)
    scales = (
        f"-- Exponents are multiplied by {own}, coefficients (powers of t) by {heights}: at t = 1, "
        f"y = {Fraction(heights, own)} x.\n"
        if (own, heights) != (1, 1)
        else ""
    )
    return (
        _comment(f, _Whole([], [], 1), "--")
        + scales
        + f'needsPackage "Polyhedra"\nR = QQ[{",".join(names)}]\nf = {"+".join(terms)}\n'
        + "P = newtonPolytope f\nF = normalFan P\n"
    )


def _homogenised(f: TropicalPolynomial) -> tuple[list[str], list[str], tuple[int, int]]:
    """Variables and terms of the ordinary polynomial Σ t^(C c) x^(D a); then D and C as needed."""
    own = lcm(*(a.denominator for a in f.exponents.ravel().tolist()))
    heights = lcm(*(c.denominator for c in f.coefficients.tolist()))
    c = [int(value * heights) for value in f.coefficients.tolist()]
    a = [[int(value * own) for value in row] for row in f.exponents.tolist()]
    rows = [[height, *row] for height, row in zip(c, a, strict=True)]
    lowest = [min(column) for column in zip(*rows, strict=True)]
    names = ["t", *(f"x{k}" for k in range(1, f.n_variables + 1))]
    terms = []
    for row in rows:
        factors = list(_powers(names, [n - low for n, low in zip(row, lowest, strict=True)]))
        terms.append("*".join(factors) or "1")
    return names, terms, (own, heights)


def _powers(names: Sequence[str], exponents: Iterable[int]) -> list[str]:
    return [
        name if a == 1 else f"{name}^{a}" for name, a in zip(names, exponents, strict=True) if a
    ]
