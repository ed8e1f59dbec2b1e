"""Tropical polynomials, fractions of them, and the complexes of polyhedra that they make.

A tropical polynomial is a maximum of finitely many affine functions, its monomials: ⊕ is the
maximum, ⊗ the sum, and ``c ⊗ x^a`` stands for ``c + a·x``. Coefficients and exponents are exact
rationals, and every decision here (which monomials are redundant, whether two polynomials are the
same function, whether one divides another) is exact. Exponents need not be whole or positive:
weights of networks are not.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from flint import fmpq, fmpz_mat
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import connected_components

from tropicell._runtime.arrays import FloatArray
from tropicell._runtime.interruption import check
from tropicell.errors import InvalidInputError
from tropicell.geometry.arithmetic import to_floats, to_fractions, to_rationals
from tropicell.geometry.generators import Generators, generators
from tropicell.geometry.polyhedra import Row, integer_row
from tropicell.geometry.upper_hulls import needed
from tropicell.network.checks import checked_points
from tropicell.paper import common_factors, notation

Numbers = NDArray[Any]

#: A product of polynomials has no more monomials than this, before redundant ones are removed.
MOST_MONOMIALS = 200_000

#: Values of monomials that are worked out at a time.
_AT_ONCE = 2**20


class TropicalPolynomial:
    """A maximum of affine functions with exact coefficients and exponents.

    Parameters
    ----------
    coefficients : array_like, shape (monomials,)
        Floats, integers or Fractions; floats are taken as the rationals that they are.
    exponents : array_like, shape (monomials, variables)
        Of several monomials with the same exponents the largest coefficient is kept.

    Notes
    -----
    ``f + g`` is ⊕ (the maximum), ``f * g`` is ⊗ (the sum), ``f ** k`` is the tropical power (k
    times), and ``f / g`` is ⊘, a `TropicalRationalFunction`. A number stands for a constant:
    ``2 * x`` is 2 + x. ``f == g`` asks whether both are the same *function*, and is exact.
    ``f(points)`` is vectorised in float64, ``f.evaluate(points)`` exact.

    -∞ is neutral for ⊕, so ``sum(polynomials, -math.inf)`` is the ⊕ of all of them. (Without it,
    Python's ``sum`` begins with 0, which is a constant here.)

    See Also
    --------
    tropicell.Network.tropical : the polynomials of a network.

    Examples
    --------
    >>> x, y = TropicalPolynomial.variables(2)
    >>> f = 0 + 1 * x * y + x**2
    >>> print(f)
    0 ⊕ 1⊗x1⊗x2 ⊕ x1^2
    >>> f([[1.0, 2.0], [3.0, -5.0]])
    array([4., 6.])
    >>> (x + y) ** 2 == x**2 + x * y + y**2
    True
    >>> len(x**2 + x * y + y**2), len((x**2 + x * y + y**2).reduced())
    (3, 2)
    """

    __slots__ = ("__dict__", "_a", "_c", "_is_reduced")

    def __init__(self, coefficients: ArrayLike, exponents: ArrayLike) -> None:
        c, a = _numbers(coefficients), _numbers(exponents)
        if a.ndim == 1 and c.ndim == 1 and len(a) == len(c):
            a = a[:, None]
        if c.ndim != 1 or a.ndim != 2 or len(a) != len(c) or not len(c):
            raise InvalidInputError(
                "a tropical polynomial needs one coefficient and one row of exponents for each "
                f"of its monomials, at least one; got shapes {c.shape} and {a.shape}"
            )
        self._set(*_sorted(to_rationals(c), to_rationals(a)), is_reduced=False)

    def _set(self, c: Numbers, a: Numbers, *, is_reduced: bool) -> None:
        self._c, self._a, self._is_reduced = c, a, is_reduced or len(c) <= 2

    @classmethod
    def of(cls, c: Numbers, a: Numbers, *, is_reduced: bool = False) -> TropicalPolynomial:
        """From rationals of FLINT, sorted and without equal exponents.

        Examples
        --------
        >>> print(TropicalPolynomial.of(to_rationals([1, 2]), to_rationals([[0], [3]])))
        1 ⊕ 2⊗x1^3
        """
        made = cls.__new__(cls)
        made._set(c, a, is_reduced=is_reduced)
        return made

    @classmethod
    def variables(cls, count: int) -> list[TropicalPolynomial]:
        """The polynomials x1, …, xn.

        Examples
        --------
        >>> [str(x) for x in TropicalPolynomial.variables(2)]
        ['x1', 'x2']
        """
        size = _count(count)
        return [cls([0], np.eye(size, dtype=np.int64)[i : i + 1]) for i in range(size)]

    @classmethod
    def constant(cls, value: Any, variables: int) -> TropicalPolynomial:
        """A constant.

        Examples
        --------
        >>> print(TropicalPolynomial.constant(0.5, 2))
        1/2
        """
        return cls([value], np.zeros((1, _count(variables)), dtype=np.int64))

    # --- what it is made of ---------------------------------------------------------------------

    @property
    def coefficients(self) -> Numbers:
        """The coefficients, as `fractions.Fraction`."""
        return to_fractions(self._c)

    @property
    def exponents(self) -> Numbers:
        """The exponents, one row a monomial, as `fractions.Fraction`."""
        return to_fractions(self._a)

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return int(self._a.shape[1])

    def __len__(self) -> int:
        """Number of monomials."""
        return len(self._c)

    def __iter__(self) -> Iterator[TropicalPolynomial]:
        for i in range(len(self)):
            yield self.monomial(i)

    def monomial(self, index: int) -> TropicalPolynomial:
        """One of its monomials; negative numbers count from the last one.

        Raises
        ------
        InvalidInputError
            If there is no such monomial.

        Examples
        --------
        >>> print(TropicalPolynomial([3, 1], [[0], [2]]).monomial(1))
        1⊗x1^2
        """
        if not isinstance(index, numbers.Integral) or not -len(self) <= index < len(self):
            raise InvalidInputError(
                f"there is no monomial {index!r}: they have the numbers 0 to {len(self) - 1}"
            )
        part = slice(int(index) % len(self), int(index) % len(self) + 1)
        return TropicalPolynomial.of(self._c[part], self._a[part], is_reduced=True)

    # --- values ---------------------------------------------------------------------------------

    def __call__(self, points: ArrayLike) -> Any:
        """Values at points (rows), or at one point, in float64."""
        x = checked_points(np.atleast_2d(points), self.n_variables)
        c, a = self._floats
        found = np.empty(len(x))
        step = max(1, _AT_ONCE // len(c))
        for start in range(0, len(x), step):
            check()
            found[start : start + step] = (x[start : start + step] @ a.T + c).max(axis=1)
        return float(found[0]) if np.ndim(points) == 1 else found

    def evaluate(self, points: ArrayLike) -> Any:
        """Values at points (rows), or at one point, as `fractions.Fraction`.

        Examples
        --------
        >>> TropicalPolynomial([0, 1], [[0], [0.5]]).evaluate([[1.5]])
        array([Fraction(7, 4)], dtype=object)
        """
        found = to_fractions(self._exact(points).max(axis=1))
        return found[0] if np.ndim(points) == 1 else found

    def active(self, points: ArrayLike) -> NDArray[np.intp]:
        """For every point (row) the first monomial that is largest there, decided exactly.

        Examples
        --------
        >>> TropicalPolynomial([0, 1], [[0], [1]]).active([[-3.0], [2.0]])
        array([0, 1])
        """
        return np.asarray(self._exact(points).argmax(axis=1))

    def _exact(self, points: ArrayLike) -> Numbers:
        x = checked_points(np.atleast_2d(points), self.n_variables, exact=True, finite=True)
        return np.asarray(to_rationals(x) @ self._a.T + self._c)

    @cached_property
    def _floats(self) -> tuple[FloatArray, FloatArray]:
        return to_floats(self._c), to_floats(self._a)

    # --- arithmetic -----------------------------------------------------------------------------

    def _other(self, other: Any) -> TropicalPolynomial | None:
        if isinstance(other, (numbers.Real, fmpq)):
            return TropicalPolynomial.constant(other, self.n_variables)
        if not isinstance(other, TropicalPolynomial):
            return None
        if other.n_variables != self.n_variables:
            raise InvalidInputError(
                f"these polynomials have {self.n_variables} and {other.n_variables} variables"
            )
        return other

    def __add__(self, other: Any) -> TropicalPolynomial:
        """The maximum of both, ⊕."""
        if _is_zero(other):
            return self
        if (g := self._other(other)) is None:
            return NotImplemented
        joined = np.concatenate([self._c, g._c]), np.concatenate([self._a, g._a])
        return TropicalPolynomial.of(*_sorted(*joined))

    __radd__ = __add__

    def __mul__(self, other: Any) -> TropicalPolynomial:
        """The sum of both, ⊗."""
        if (g := self._other(other)) is None:
            return NotImplemented
        return self.times(g)

    __rmul__ = __mul__

    def times(self, g: TropicalPolynomial, most: int = MOST_MONOMIALS) -> TropicalPolynomial:
        """The product f ⊗ g, unless it has more than so many monomials.

        Raises
        ------
        InvalidInputError
            With the number of monomials, before the work begins.

        Examples
        --------
        >>> x = TropicalPolynomial.variables(1)[0]
        >>> (x + 1).times(x + 2, most=3)
        Traceback (most recent call last):
        tropicell.errors.InvalidInputError: the product of polynomials with 2 and 2 monomials ...
        """
        if len(self) * len(g) > most:
            raise InvalidInputError(
                f"the product of polynomials with {len(self):,} and {len(g):,} monomials would have"
                f" {len(self) * len(g):,}, more than {most:,}; remove redundant ones first (reduced"
                "), or look at fewer layers, a slice, or single neurons"
            )
        check()
        c = (self._c[:, None] + g._c[None, :]).ravel()
        a = (self._a[:, None, :] + g._a[None, :, :]).reshape(len(c), -1)
        alone = min(len(self), len(g)) == 1
        kept = self._is_reduced and g._is_reduced and alone
        return TropicalPolynomial.of(*_sorted(c, a), is_reduced=kept)

    def __pow__(self, exponent: Any) -> Any:
        """So many times itself: a polynomial, or for negative exponents a fraction.

        As a function f ⊗ f is 2 f, so a power has no more monomials than its base, and exponents
        may be any rationals.
        """
        if (k := _exponent(exponent)) is None:
            return NotImplemented
        if k < 0 and len(self) > 1:
            return TropicalRationalFunction(self._power(fmpq(0)), self._power(-k))
        return self._power(k)

    def _power(self, k: Any) -> TropicalPolynomial:
        if k == 0:
            return TropicalPolynomial.constant(0, self.n_variables)
        flipped = slice(None) if k > 0 else slice(None, None, -1)
        scaled = (self._c * k)[flipped], (self._a * k)[flipped]
        return TropicalPolynomial.of(*scaled, is_reduced=self._is_reduced)

    def __truediv__(self, other: Any) -> TropicalRationalFunction:
        """The difference of both, ⊘."""
        if (g := self._other(other)) is None:
            return NotImplemented
        return TropicalRationalFunction(self, g)

    def __rtruediv__(self, other: Any) -> TropicalRationalFunction:
        if (g := self._other(other)) is None:
            return NotImplemented
        return TropicalRationalFunction(g, self)

    # --- as a function --------------------------------------------------------------------------

    def reduced(self) -> TropicalPolynomial:
        """The same function without redundant monomials, decided exactly.

        A monomial stays if it is somewhere larger than all others, so these are as many as the
        linear regions of the polynomial. Two polynomials are the same function if and only if
        their reduced forms have the same monomials.

        Examples
        --------
        >>> f = TropicalPolynomial([0, -1, 0], [[0], [1], [2]])
        >>> print(f.reduced())
        0 ⊕ x1^2
        """
        if self._is_reduced:
            return self
        found: TropicalPolynomial = self._reduced_form
        return found

    @cached_property
    def _reduced_form(self) -> TropicalPolynomial:
        keep = needed(self._c, self._a)
        return TropicalPolynomial.of(self._c[keep], self._a[keep], is_reduced=True)

    def __eq__(self, other: object) -> Any:
        if _is_infinite_or_nan(other):
            return False
        if isinstance(other, (numbers.Real, fmpq)):
            other = TropicalPolynomial.constant(other, self.n_variables)
        if not isinstance(other, TropicalPolynomial):
            return NotImplemented
        if self.n_variables != other.n_variables:
            return False
        f, g = self.reduced(), other.reduced()
        return len(f) == len(g) and bool((f._c == g._c).all() and (f._a == g._a).all())

    def __hash__(self) -> int:
        """From values at a few points, which are equal for equal functions."""
        probes = (np.arange(3 * self.n_variables).reshape(3, -1) * 7 + 3) % 11 - 5
        return _hash(self.evaluate(probes).tolist())

    def quotient(self, other: TropicalPolynomial) -> TropicalPolynomial | None:
        """The polynomial q with ``q * other == self``, or None if there is none.

        Examples
        --------
        >>> x, y = TropicalPolynomial.variables(2)
        >>> print((x * x + y * x + x + y).quotient(x + y))
        0 ⊕ x1
        >>> (x + y + 0).quotient(x + y) is None
        True
        """
        divisor = self._other(other)
        if divisor is None:
            raise InvalidInputError(f"expected a TropicalPolynomial, got {type(other).__name__}")
        f, g = self.reduced(), divisor.reduced()
        # Where a quotient is convex and f affine, g is affine: one point of each cell says which.
        at = f.subdivision().inside()
        which = g.active(np.array(at, dtype=object).reshape(len(f), self.n_variables))
        c, a = f._c - g._c[which], f._a - g._a[which]
        q = TropicalPolynomial.of(*_sorted(c, a)).reduced()
        return q if q * g == f else None

    def over(self, other: TropicalPolynomial) -> TropicalPolynomial:
        """The quotient by a polynomial that divides this one.

        Raises
        ------
        InvalidInputError
            If it does not.

        Examples
        --------
        >>> x, y = TropicalPolynomial.variables(2)
        >>> print(((x + y) * (x + 2)).over(x + y))
        2 ⊕ x1
        """
        found = self.quotient(other)
        if found is None:
            raise InvalidInputError("the polynomial is not divisible by the other one")
        return found

    def common_factor(self, other: TropicalPolynomial) -> TropicalPolynomial:
        """A polynomial that divides both, such that the quotients have no common factor left.

        Parameters
        ----------
        other : TropicalPolynomial

        Returns
        -------
        TropicalPolynomial
            One monomial, 0, if there is none.

        Raises
        ------
        InvalidInputError
            If the product of both would have more than 200,000 monomials.

        Notes
        -----
        A common factor p bends only where both polynomials do, and there at most as much as either.
        With the cells of both together, that makes it a linear program: one number for every wall
        that both have, between 0 and the smaller bend, and around every closed path of cells the
        changes cancel. Its optimum has no room for a further factor. It is solved in rationals. In
        one variable the factor is unique but for a monomial, in more there can be several.

        Examples
        --------
        >>> x, y = TropicalPolynomial.variables(2)
        >>> f, g = (0 + x + y) * (x + 1), (0 + x + y) * (y + 5)
        >>> print(f.common_factor(g))
        0 ⊕ x2 ⊕ x1
        """
        divisor = self._other(other)
        if divisor is None:
            raise InvalidInputError(f"expected a TropicalPolynomial, got {type(other).__name__}")
        monomials = common_factors.common_factor(self.reduced(), divisor.reduced())
        found = TropicalPolynomial.of(*_sorted(monomials[:, -1], monomials[:, :-1])).reduced()
        first = TropicalPolynomial.of(found._c[:1], found._a.min(axis=0)[None, :], is_reduced=True)
        return found * first._power(fmpq(-1))

    # --- geometry -------------------------------------------------------------------------------

    def subdivision(self) -> TropicalSubdivision:
        """The cells in which it is affine, its hypersurface, and the dual subdivision; kept.

        Examples
        --------
        >>> x, y = TropicalPolynomial.variables(2)
        >>> found = (0 + x + y).subdivision()
        >>> found.points, found.polytopes, found.pairs
        ([(Fraction(0, 1), Fraction(0, 1))], [(0, 1, 2)], [(0, 1), (0, 2), (1, 2)])
        """
        found: TropicalSubdivision = self._subdivision
        return found

    @cached_property
    def _subdivision(self) -> TropicalSubdivision:
        return _subdivided(self.reduced())

    # --- how it looks ---------------------------------------------------------------------------

    def __str__(self) -> str:
        return notation.text(self.coefficients, self.exponents)

    def __repr__(self) -> str:
        words = f"{len(self):,} monomial{'s' if len(self) > 1 else ''}"
        return f"TropicalPolynomial({words} in {self.n_variables} variables)"

    def latex(self, names: Sequence[str] | None = None, most: int | None = None) -> str:
        r"""The polynomial in LaTeX, all of it or its first monomials.

        Examples
        --------
        >>> TropicalPolynomial([0, 0.5], [[0], [2]]).latex()
        '0 \\oplus \\frac{1}{2} \\otimes x_{1}^{\\otimes 2}'
        """
        return notation.latex(self.coefficients, self.exponents, names, most)

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex(most=notation.SHOWN)}$"


class RegionNumbers(NamedTuple):
    """How many linear regions a fraction F ⊘ G has, and the polynomials that it is made of.

    Attributes
    ----------
    numerator, denominator : int
        Linear regions of F and of G, which are convex functions.
    overlay : int
        Cells of both together: linear regions of F ⊗ G. There are at least as many as F or G has,
        and at most their product.
    pieces : int
        Linear regions of F ⊘ G: neighbouring cells of the overlay with the same map are one.

    Examples
    --------
    >>> x = TropicalPolynomial.variables(1)[0]
    >>> ((0 + x**2) / (0 + x)).region_numbers().pieces
    2
    """

    numerator: int
    denominator: int
    overlay: int
    pieces: int


class TropicalRationalFunction:
    """A fraction F ⊘ G of tropical polynomials: a difference of two convex functions.

    Parameters
    ----------
    numerator, denominator : TropicalPolynomial

    Notes
    -----
    Fractions form a semifield: ⊕, ⊗, ⊘ and powers (``+``, ``*``, ``/``, ``**``) stay inside, and
    ``==`` is exact equality of functions.

    Examples
    --------
    The absolute value, twice:

    >>> x = TropicalPolynomial.variables(1)[0]
    >>> f = (0 + x**2) / x
    >>> f([[-3.0], [2.0]]), f == x + x**-1
    (array([3., 2.]), True)
    >>> print(f.simplified())
    x1^-1 ⊕ x1
    """

    def __init__(self, numerator: TropicalPolynomial, denominator: TropicalPolynomial) -> None:
        for part in (numerator, denominator):
            if not isinstance(part, TropicalPolynomial):
                raise InvalidInputError(f"expected TropicalPolynomials, got {type(part).__name__}")
        if numerator.n_variables != denominator.n_variables:
            raise InvalidInputError(
                f"numerator and denominator have {numerator.n_variables} and "
                f"{denominator.n_variables} variables"
            )
        self.numerator, self.denominator = numerator, denominator

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return self.numerator.n_variables

    def __call__(self, points: ArrayLike) -> Any:
        """Values at points (rows), or at one point, in float64: F - G."""
        return self.numerator(points) - self.denominator(points)

    def evaluate(self, points: ArrayLike) -> Any:
        """Values at points (rows), or at one point, as `fractions.Fraction`.

        Examples
        --------
        >>> x = TropicalPolynomial.variables(1)[0]
        >>> (x / (0 + x)).evaluate([[-0.5]])
        array([Fraction(-1, 2)], dtype=object)
        """
        return self.numerator.evaluate(points) - self.denominator.evaluate(points)

    def _other(self, other: Any) -> TropicalRationalFunction | None:
        if isinstance(other, TropicalRationalFunction):
            return other
        if isinstance(other, TropicalPolynomial):
            one = TropicalPolynomial.constant(0, other.n_variables)
            return TropicalRationalFunction(other, one)
        if isinstance(other, (numbers.Real, fmpq)):
            one = TropicalPolynomial.constant(0, self.n_variables)
            return TropicalRationalFunction(one * other, one)
        return None

    def __add__(self, other: Any) -> TropicalRationalFunction:
        """The maximum of both, ⊕."""
        if _is_zero(other):
            return self
        if (g := self._other(other)) is None:
            return NotImplemented
        left, right = self.numerator * g.denominator, g.numerator * self.denominator
        return TropicalRationalFunction(left + right, self.denominator * g.denominator)

    __radd__ = __add__

    def __mul__(self, other: Any) -> TropicalRationalFunction:
        """The sum of both, ⊗."""
        if (g := self._other(other)) is None:
            return NotImplemented
        return TropicalRationalFunction(
            self.numerator * g.numerator, self.denominator * g.denominator
        )

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> TropicalRationalFunction:
        """The difference of both, ⊘."""
        if (g := self._other(other)) is None:
            return NotImplemented
        return self * TropicalRationalFunction(g.denominator, g.numerator)

    def __rtruediv__(self, other: Any) -> TropicalRationalFunction:
        if (g := self._other(other)) is None:
            return NotImplemented
        return g / self

    def __pow__(self, exponent: Any) -> TropicalRationalFunction:
        """So many times itself; negative exponents turn the fraction over."""
        if (k := _exponent(exponent)) is None:
            return NotImplemented
        parts = (self.numerator, self.denominator) if k >= 0 else (self.denominator, self.numerator)
        return TropicalRationalFunction(*(part ** (k if k >= 0 else -k) for part in parts))

    def __eq__(self, other: object) -> Any:
        if _is_infinite_or_nan(other):
            return False
        if (g := self._other(other)) is None:
            return NotImplemented
        if self.n_variables != g.n_variables:
            return False
        f = self.reduced()
        g = g.reduced()
        return bool(f.numerator * g.denominator == g.numerator * f.denominator)

    def __hash__(self) -> int:
        probes = (np.arange(3 * self.n_variables).reshape(3, -1) * 7 + 3) % 11 - 5
        return _hash(self.evaluate(probes).tolist())

    def reduced(self) -> TropicalRationalFunction:
        """The same fraction without redundant monomials above and below.

        Examples
        --------
        >>> x = TropicalPolynomial.variables(1)[0]
        >>> print(((0 + x + x**2) / (0 + x)).reduced())
        (0 ⊕ x1^2) ⊘ (0 ⊕ x1)
        """
        return TropicalRationalFunction(self.numerator.reduced(), self.denominator.reduced())

    def simplified(self) -> TropicalRationalFunction:
        """The same function with what numerator and denominator share taken out.

        If one of them divides the other, nothing is left of it. Otherwise a largest common factor
        is cancelled (`TropicalPolynomial.common_factor`), and a common monomial. What is left
        has no common factor with two or more monomials, in any number of variables.

        Raises
        ------
        InvalidInputError
            If F ⊗ G would have more than 200,000 monomials.

        Notes
        -----
        In two and more variables fractions in lowest terms are not unique: the same function may
        have several, which differ in more than a monomial.

        Examples
        --------
        >>> x, y = TropicalPolynomial.variables(2)
        >>> shared = (x + y + 0) * (x + y) ** 3
        >>> print((shared * (x + 1) / (shared * (y + 0))).simplified())
        (1 ⊕ x1) ⊘ (0 ⊕ x2)
        """
        F, G = self.numerator.reduced(), self.denominator.reduced()
        one = TropicalPolynomial.constant(0, self.n_variables)
        if (whole := F.quotient(G)) is not None:
            return TropicalRationalFunction(whole, one)
        if (whole := G.quotient(F)) is not None:
            return TropicalRationalFunction(one, whole)
        factor = F.common_factor(G)
        F, G = F.over(factor), G.over(factor)
        shared = np.concatenate([F._a, G._a]).min(axis=0)
        common = TropicalPolynomial.of(-G._c[:1], -shared[None, :], is_reduced=True)
        return TropicalRationalFunction(F * common, G * common)

    def pieces(self) -> tuple[TropicalPolynomial, NDArray[np.intp]]:
        """The cells of F and G together, and for each of them its linear region, numbered.

        Returns
        -------
        both : TropicalPolynomial
            F ⊗ G without redundant monomials: one for each cell.
        labels : ndarray
            Neighbouring cells on which F ⊘ G is the same affine function have the same number.

        Examples
        --------
        >>> x = TropicalPolynomial.variables(1)[0]
        >>> both, labels = ((0 + x) * (1 + x) / (0 + x)).pieces()
        >>> len(both), labels
        (3, array([0, 0, 1]))
        """
        F, G = self.numerator.reduced(), self.denominator.reduced()
        both = (F * G).reduced()
        found = both.subdivision()
        at = np.array(found.inside(), dtype=object)
        i, j = F.active(at), G.active(at)
        maps = [
            (c, *a) for c, a in zip(F._c[i] - G._c[j], (F._a[i] - G._a[j]).tolist(), strict=True)
        ]
        same = [(k, m) for k, m in found.pairs if maps[k] == maps[m]]
        ones, pairs = np.ones(len(same)), np.array(same, dtype=np.intp).reshape(-1, 2)
        graph = sp.coo_array((ones, (pairs[:, 0], pairs[:, 1])), (len(both), len(both)))
        return both, connected_components(graph, directed=False)[1].astype(np.intp)

    def region_numbers(self) -> RegionNumbers:
        """How many linear regions F, G, both together and F ⊘ G have, exactly.

        Examples
        --------
        >>> x, y = TropicalPolynomial.variables(2)
        >>> ((0 + x + y) / (0 + x)).region_numbers()
        RegionNumbers(numerator=3, denominator=2, overlay=4, pieces=3)
        """
        F, G = self.numerator.reduced(), self.denominator.reduced()
        both, labels = self.pieces()
        return RegionNumbers(len(F), len(G), len(both), int(labels.max()) + 1)

    def __str__(self) -> str:
        above, below = str(self.numerator), str(self.denominator)
        if below == "0":
            return above
        above = f"({above})" if len(self.numerator) > 1 else above
        return f"{above} ⊘ ({below})" if len(self.denominator) > 1 else f"{above} ⊘ {below}"

    def __repr__(self) -> str:
        return (
            f"TropicalRationalFunction({len(self.numerator):,} ⊘ {len(self.denominator):,} "
            f"monomials in {self.n_variables} variables)"
        )

    def latex(self, names: Sequence[str] | None = None, most: int | None = None) -> str:
        r"""The fraction in LaTeX.

        Examples
        --------
        >>> x = TropicalPolynomial.variables(1)[0]
        >>> (x / (0 + x)).latex()
        'x_{1} \\oslash \\left(0 \\oplus x_{1}\\right)'
        """
        above, below = self.numerator.latex(names, most), self.denominator.latex(names, most)
        if below == "0":
            return above
        above = rf"\left({above}\right)" if len(self.numerator) > 1 else above
        below = rf"\left({below}\right)" if len(self.denominator) > 1 else below
        return rf"{above} \oslash {below}"

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex(most=notation.SHOWN)}$"


@dataclass(frozen=True, eq=False)
class TropicalSubdivision:
    """The cells of a polynomial, its hypersurface, and the regular subdivision dual to it.

    Attributes
    ----------
    polynomial : TropicalPolynomial
        Without redundant monomials: cell i is where monomial i is largest, and its exponents are
        vertex i of the dual subdivision.
    cells : list of Generators
        Vertices, rays and lineality of every cell.
    points : list of tuple of Fraction
        Vertices of the hypersurface (if cells contain lines, one point for each smallest face).
    polytopes : list of tuple of int
        For every one of these points the monomials that are largest there: the vertices of a
        largest polytope of the dual subdivision of the Newton polytope.
    pairs : list of (int, int)
        Neighbouring cells: edges of the dual subdivision.

    Examples
    --------
    >>> x, y = TropicalPolynomial.variables(2)
    >>> found = (0 + x + y + -1 * x * y).subdivision()
    >>> found.points[0], found.polytopes
    ((Fraction(0, 1), Fraction(0, 1)), [(0, 1, 2), (1, 2, 3)])
    """

    polynomial: TropicalPolynomial
    cells: list[Generators]
    points: list[tuple[Fraction, ...]]
    polytopes: list[tuple[int, ...]]
    pairs: list[tuple[int, int]]

    def inside(self) -> list[list[Fraction]]:
        """A point strictly inside every cell.

        Examples
        --------
        >>> TropicalPolynomial([0, 0], [[0], [1]]).subdivision().inside()
        [[Fraction(-1, 1)], [Fraction(1, 1)]]
        """
        return [_inside(cell) for cell in self.cells]

    @property
    def newton_vertices(self) -> list[int]:
        """Monomials whose exponents are vertices of the Newton polytope.

        Examples
        --------
        >>> TropicalPolynomial([0, 5, 0], [[0], [1], [2]]).subdivision().newton_vertices
        [0, 2]
        """
        a = self.polynomial._a
        zeros = to_rationals(np.zeros(len(a), dtype=np.int64))
        return np.flatnonzero(needed(zeros, a)).tolist()


def _numbers(values: ArrayLike) -> Numbers:
    """An array whose numbers are finite."""
    found = np.asarray(values, dtype=object) if isinstance(values, list) else np.asarray(values)
    if found.dtype == object:
        fine = all(isinstance(v, (numbers.Real, fmpq)) for v in found.ravel().tolist())
        fine = fine and not any(_is_infinite_or_nan(v) for v in found.ravel().tolist())
    else:
        fine = found.dtype.kind in "biuf" and bool(np.isfinite(found).all())
    if not fine:
        raise InvalidInputError(
            "coefficients and exponents must be finite numbers (floats, integers or Fractions)"
        )
    return found


def _count(variables: Any) -> int:
    """A number of variables."""
    if not isinstance(variables, numbers.Integral) or variables < 0:
        raise InvalidInputError(
            f"the number of variables must be a whole number from 0 on, not {variables!r}"
        )
    return int(variables)


def _exponent(value: Any) -> fmpq | None:
    """The rational that a power asks for; None for what is no number."""
    if not isinstance(value, (numbers.Real, fmpq)):
        return None
    one: list[Any] = [value]
    found: fmpq = to_rationals(_numbers(one))[0]
    return found


def _hash(values: Sequence[Fraction]) -> int:
    """From values at a few points; constants have the hash of their number, which they equal."""
    return hash(values[0]) if len(set(values)) == 1 else hash(tuple(values))


def _is_infinite_or_nan(value: Any) -> bool:
    """Floats of Python and of NumPy can be; integers and Fractions are neither, however large."""
    return isinstance(value, (float, np.floating)) and not math.isfinite(value)


def _is_zero(other: Any) -> bool:
    """Whether this is -∞, which ⊕ does not see."""
    return _is_infinite_or_nan(other) and other < 0


def _sorted(c: Numbers, a: Numbers) -> tuple[Numbers, Numbers]:
    """Monomials in the order of their exponents; of equal ones the largest coefficient."""
    best: dict[tuple[Any, ...], Any] = {}
    for key, value in zip(map(tuple, a.tolist()), c.tolist(), strict=True):
        old = best.get(key)
        if old is None or old < value:
            best[key] = value
    order = sorted(best)
    coefficients = np.empty(len(order), dtype=object)
    coefficients[:] = [best[key] for key in order]
    exponents = np.empty((len(order), a.shape[1]), dtype=object)
    if a.shape[1]:
        exponents[:] = order
    return coefficients, exponents


def _rows_of(f: TropicalPolynomial, i: int) -> list[Row]:
    """The inequalities of a cell: its monomial is at least as large as the others."""
    gaps_a, gaps_c = f._a[i] - f._a, f._c[i] - f._c
    return [
        integer_row([*a, c]) for j, (a, c) in enumerate(zip(gaps_a, gaps_c, strict=True)) if j != i
    ]


def _subdivided(f: TropicalPolynomial) -> TropicalSubdivision:
    dimension = f.n_variables
    cells, polytopes = [], {}
    pairs = []
    for i in range(len(f)):
        check()
        rows = _rows_of(f, i)
        cell = generators(rows, dimension)
        cells.append(cell)
        points = [*cell.vertices]
        infinite = [(*ray, 0) for ray in [*cell.rays, *cell.lineality]]
        every = [*points, *infinite]
        others = [j for j in range(len(f)) if j != i]
        for j, row in zip(others, rows, strict=True):
            if j < i:
                continue
            on = [g for g in every if sum(r * q for r, q in zip(row, g, strict=True)) == 0]
            if len(on) >= dimension and fmpz_mat(on).rank() == dimension:
                pairs.append((i, j))
        for vertex in points:
            place = tuple(Fraction(n, vertex[-1]) for n in vertex[:-1])
            if place not in polytopes:
                values = f._exact(np.array([place], dtype=object))[0]
                best = max(values.tolist())
                polytopes[place] = tuple(k for k, v in enumerate(values.tolist()) if v == best)
    if any(cell.lineality for cell in cells):  # one point for each face, not one for each cell
        kept: dict[tuple[int, ...], tuple[Fraction, ...]] = {}
        for place, members in polytopes.items():
            kept.setdefault(members, place)
        polytopes = {place: members for members, place in kept.items()}
    places = sorted(polytopes)
    return TropicalSubdivision(f, cells, places, [polytopes[p] for p in places], sorted(pairs))


def _inside(cell: Generators) -> list[Fraction]:
    """A point strictly inside a cell."""
    count = len(cell.vertices)
    points = [[Fraction(n, v[-1]) for n in v[:-1]] for v in cell.vertices]
    middle = [sum(column, Fraction(0)) / count for column in zip(*points, strict=True)]
    for ray in cell.rays:
        middle = [m + r for m, r in zip(middle, ray, strict=True)]
    return middle
