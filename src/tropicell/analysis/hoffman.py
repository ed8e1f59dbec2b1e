"""Hoffman constants and effective radii of tropical functions, in exact arithmetic.

For a matrix A the Hoffman constant H is the smallest number with: every point x is at most H times
the largest entry of ``max(0, A x - b)`` away from the set ``{A y <= b}``, for all b for which that
is not empty; distances are those of the largest coordinate. Every cell of a tropical polynomial is
such a set, so the largest constant of its cells, times the largest violation at the origin, is a
radius: the box of that size around the origin meets every linear region. TropicalNN.jl has these
quantities in floating point; here they are rationals.

References
----------
.. [1] J. Peña, J. C. Vera and L. F. Zuluaga, "New characterizations of Hoffman constants for
   systems of linear constraints", Mathematical Programming 187, 2021.
.. [2] P. Lezeau, T. Walker, Y. Cao, S. Bhatia and A. Monod, "Tropical expressivity of neural
   networks", 2024 (TropicalNN.jl).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import ArrayLike, NDArray

from tropicell._runtime.interruption import check
from tropicell.errors import InvalidInputError
from tropicell.geometry.arithmetic import to_rationals
from tropicell.geometry.exact_programs import solved, zeros
from tropicell.paper.polynomials import TropicalPolynomial, TropicalRationalFunction

Numbers = NDArray[Any]

#: So many sets of rows, each a small linear program, are looked at.
MOST_PROGRAMS = 50_000


def hoffman_constant(
    function: TropicalPolynomial | TropicalRationalFunction | ArrayLike,
) -> Fraction:
    """The Hoffman constant of a matrix, or the largest of all cells of a tropical function.

    Parameters
    ----------
    function : array_like, TropicalPolynomial or TropicalRationalFunction
        Of a fraction, cells are those of numerator and denominator together.

    Returns
    -------
    Fraction
        For the largest coordinate as norm, on both sides.

    Raises
    ------
    InvalidInputError
        If more than 50,000 linear programs are needed, with their number.

    Notes
    -----
    It is the largest ``1 / t(J)`` over all sets J of linearly independent rows, where t(J) is the
    distance of the origin, in the sum of absolute coordinates, from the simplex that the rows
    span [1]_. Larger sets have smaller t(J), so only those of full rank are looked at: a binomial
    coefficient of exact linear programs for every cell.

    References
    ----------
    .. [1] J. Peña, J. C. Vera and L. F. Zuluaga, Mathematical Programming 187, 2021.

    Examples
    --------
    >>> hoffman_constant([[1, 0], [0, 1], [-1, -1]])
    Fraction(2, 1)
    >>> x = TropicalPolynomial.variables(1)[0]
    >>> hoffman_constant(0 + x**2 + -1 * x**3)
    Fraction(1, 1)
    """
    matrices = list(_matrices(function))
    sizes = [(len(rows), _rank(rows)) for rows in matrices]
    programs = sum(comb(count, rank) for count, rank in sizes if rank)
    if programs > MOST_PROGRAMS:
        raise InvalidInputError(
            f"the Hoffman constant takes {programs:,} linear programs, more than {MOST_PROGRAMS:,};"
            " use a polynomial with fewer monomials, a smaller network or one with fewer inputs"
        )
    best = fmpq(0)
    for rows, (_, rank) in zip(matrices, sizes, strict=True):
        best = max(best, _constant(rows, rank))
    return Fraction(int(best.p), int(best.q))


def effective_radius(function: TropicalPolynomial | TropicalRationalFunction) -> Fraction:
    """A radius such that the box of this size around the origin meets every linear region.

    Parameters
    ----------
    function : TropicalPolynomial or TropicalRationalFunction
        Redundant monomials do not count.

    Returns
    -------
    Fraction
        The Hoffman constant times the largest difference of coefficients: a bound, not the least
        such radius.

    Examples
    --------
    >>> x = TropicalPolynomial.variables(1)[0]
    >>> f = 0 + -3 * x + -10 * x**3  # bends at 3 and 7/2
    >>> effective_radius(f)
    Fraction(10, 1)
    """
    if not isinstance(function, (TropicalPolynomial, TropicalRationalFunction)):
        raise InvalidInputError(
            f"expected a tropical polynomial or fraction, got {type(function).__name__}"
        )
    parts = (
        (function.numerator, function.denominator)
        if isinstance(function, TropicalRationalFunction)
        else (function,)
    )
    spread = max(max(f.coefficients) - min(f.coefficients) for f in (p.reduced() for p in parts))
    return hoffman_constant(function) * Fraction(spread)


def _matrices(function: Any) -> Iterator[Numbers]:
    """For every cell the rows a with ``a·x <= c``: differences of exponents."""
    if isinstance(function, TropicalPolynomial):
        a = to_rationals(function.reduced().exponents)
        for own in a:
            yield _rows(a - own)
    elif isinstance(function, TropicalRationalFunction):
        F, G = function.numerator.reduced(), function.denominator.reduced()
        above, below = to_rationals(F.exponents), to_rationals(G.exponents)
        both = (F * G).reduced().subdivision()
        at = np.array(both.inside(), dtype=object)
        pairs = set(zip(F.active(at).tolist(), G.active(at).tolist(), strict=True))
        for i, j in sorted(pairs):
            yield _rows(np.concatenate([above - above[i], below - below[j]]))
    else:
        rows = np.asarray(function)
        if rows.ndim != 2:
            raise InvalidInputError(f"expected a matrix, got an array of shape {rows.shape}")
        try:
            exact = to_rationals(rows)
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidInputError(f"expected a matrix of finite numbers: {error}") from None
        yield _rows(exact)


def _rows(rows: Numbers) -> Numbers:
    """Rows that are not 0, each once."""
    kept = {tuple(row) for row in rows.tolist() if any(value != 0 for value in row)}
    found = np.empty((len(kept), rows.shape[1]), dtype=object)
    if kept and rows.shape[1]:
        found[:] = sorted(kept)
    return found


def _rank(rows: Numbers) -> int:
    if not rows.size:
        return 0
    return int(fmpq_mat(rows.shape[0], rows.shape[1], rows.ravel().tolist()).rank())


def _constant(rows: Numbers, rank: int) -> fmpq:
    best = fmpq(0)
    for chosen in combinations(range(len(rows)), rank):
        part = rows[list(chosen)]
        if rank and _rank(part) == rank:
            best = max(best, 1 / _distance(part))
    return best


def _distance(rows: Numbers) -> fmpq:
    """The smallest sum of absolute coordinates of a convex combination of rows."""
    check()
    count, dimension = rows.shape
    # v: shares of the rows; u >= |combination|. Maximise -Σ u.
    size = count + dimension
    one = fmpq(1)
    inequalities, offsets = [], []
    for k in range(dimension):
        for sign in (one, -one):
            row = zeros(size)
            row[:count] = sign * rows[:, k]
            row[count + k] = one
            inequalities.append(row)
            offsets.append(fmpq(0))
    for sign in (one, -one):
        row = zeros(size)
        row[:count] = sign
        inequalities.append(row)
        offsets.append(-sign)
    objective, high = zeros(size), zeros(size)
    objective[count:] = -one
    high[:count] = one
    high[count:] = max(abs(value) for value in rows.ravel().tolist())
    found = solved(
        np.array(inequalities, dtype=object),
        np.array(offsets, dtype=object),
        objective,
        zeros(size),
        high,
    )
    least: fmpq = -found.value
    return least
