"""Linear programs and projections in rationals (FLINT), with the factors that prove their answers.

Programs have few rows and many columns with two bounds each: the dual simplex method begins without
any active row, or from a basis that somebody guessed, and ends.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray

from tropicell._runtime.interruption import check

Numbers = NDArray[Any]


def zeros(n: int) -> Numbers:
    """So many rational zeros."""
    found = np.empty(n, dtype=object)
    found[:] = fmpq(0)
    return found


def _solve(rows: Numbers, right: Numbers) -> Numbers:
    """The solution of a square system."""
    q = len(right)
    found = np.empty(q, dtype=object)
    if q:
        square = fmpq_mat(q, q, rows.ravel().tolist())
        found[:] = square.solve(fmpq_mat(q, 1, right.tolist())).entries()
    return found


def maximum(
    rows: Numbers, offsets: Numbers, objective: Numbers, low: Numbers, high: Numbers, enough: Any
) -> tuple[Any, Numbers | None]:
    """The maximum of ``objective · y`` over ``rows · y + offsets >= 0`` and ``low <= y <= high``.

    Returns the maximum and a point; or, as soon as it is sure to be at most `enough`, a bound and
    None.

    Raises
    ------
    ArithmeticError
        If there is no such y.
    """
    found = solved(rows, offsets, objective, low, high, enough)
    return found.value, found.point


class Solved(NamedTuple):
    """What a linear program comes to.

    Attributes
    ----------
    value : rational
        The maximum, or a bound that is enough.
    point : ndarray or None
    factors : ndarray
        Of the rows, none negative: ``objective + factors · rows`` and ``factors · offsets`` prove
        that there is no larger value.
    """

    value: Any
    point: Numbers | None
    factors: Numbers


def solved(
    rows: Numbers,
    offsets: Numbers,
    objective: Numbers,
    low: Numbers,
    high: Numbers,
    enough: Any = None,
    start: tuple[list[int], list[int]] | None = None,
) -> Solved:
    """As `maximum`, with factors; dual simplex method, least violated and tied indices first.

    Parameters
    ----------
    rows, offsets, objective, low, high : ndarray of rationals
    enough : rational, optional
        Stop as soon as the maximum is sure to be at most this.
    start : (active rows, basic columns), optional
        A guess at the last basis; one that is of no use is dropped.

    Raises
    ------
    ArithmeticError
        If there is no such y.

    Examples
    --------
    >>> from tropicell.geometry.arithmetic import to_rationals as q
    >>> found = solved(q([[-1.0, -1.0]]), q([1.0]), q([2.0, 1.0]), q([0.0, 0.0]), q([3.0, 3.0]))
    >>> found.value, found.point.tolist(), found.factors.tolist()
    (2, [1, 0], [2])
    """
    n, k = len(objective), len(rows)
    active: list[int] = []
    basic: list[int] = []
    at_high = np.array([q > 0 for q in objective], dtype=np.bool_)
    if start is not None and _is_dual_feasible(rows, objective, *start):
        active, basic = list(start[0]), list(start[1])
        square = rows[np.ix_(active, basic)]
        factors = _solve(square.T, -objective[basic])
        at_high = np.array([q > 0 for q in objective + factors @ rows[active]], dtype=np.bool_)

    def all_factors() -> Numbers:
        found = zeros(k)
        found[active] = factors
        return found

    while True:
        check()
        square = rows[np.ix_(active, basic)] if active else np.empty((0, 0), dtype=object)
        factors = _solve(square.T, -objective[basic])
        g = objective + (factors @ rows[active] if active else 0)
        y = np.where(at_high, high, low)
        y[basic] = fmpq(0)
        if active:
            y[basic] = _solve(square, -offsets[active] - rows[active] @ y)
        if enough is not None:
            bound = sum(factors * offsets[active], fmpq(0)) + sum(
                (q * (high[j] if at_high[j] else low[j]) for j, q in enumerate(g) if q != 0),
                fmpq(0),
            )
            if bound <= enough:
                return Solved(bound, None, all_factors())
        values = rows @ y + offsets if k else np.empty(0, dtype=object)
        leaving, side = -1, 0
        for j in sorted(basic):
            if y[j] < low[j] or y[j] > high[j]:
                leaving, side = j, 1 if y[j] > high[j] else -1
                break
        row = -1
        if leaving < 0:
            row = next((i for i in range(k) if values[i] < 0 and i not in active), -1)
            if row < 0:
                return Solved(sum(objective * y, fmpq(0)), y, all_factors())
        right = zeros(len(basic))
        if row >= 0:
            right[:] = -rows[row, basic]
        else:
            right[basic.index(leaving)] = fmpq(side)
        change = _solve(square.T, right)
        alpha = (rows[row] if row >= 0 else zeros(n)) + (change @ rows[active] if active else 0)
        best, entering, dropped = None, -1, -1
        is_basic = np.zeros(n, np.bool_)
        is_basic[basic] = True
        for j in np.flatnonzero(~is_basic).tolist():
            a = alpha[j]
            if (a < 0) if at_high[j] else (a > 0):
                step = -g[j] / a
                if best is None or step < best:
                    best, entering = step, j
        for r, i in enumerate(active):
            if change[r] < 0:
                step = factors[r] / -change[r]
                if best is None or step < best or (step == best and entering < 0 and i < dropped):
                    best, entering, dropped = step, -1, i
        if best is None:
            raise ArithmeticError("the cell is empty")
        if row >= 0 and entering >= 0:
            active.append(row)
            basic.append(entering)
        elif row >= 0:
            active[active.index(dropped)] = row
        else:
            at_high[leaving] = side > 0
            if entering >= 0:
                basic[basic.index(leaving)] = entering
            else:
                active.remove(dropped)
                basic.remove(leaving)


def _is_dual_feasible(
    rows: Numbers, objective: Numbers, active: list[int], basic: list[int]
) -> bool:
    """Whether a guess is a basis whose factors are not negative."""
    if len(active) != len(basic) or not active:
        return False
    try:
        factors = _solve(rows[np.ix_(active, basic)].T, -objective[basic])
    except ZeroDivisionError:
        return False
    return all(factor >= 0 for factor in factors)


def square_distance(rows: Numbers, offsets: Numbers) -> tuple[Any, Numbers] | None:
    """The squared distance of 0 from ``rows · y + offsets >= 0``, and the nearest point.

    None if there is no such y.
    """
    factors = projection(rows, offsets)
    if factors is None:
        return None
    y = factors @ rows if len(rows) else zeros(rows.shape[1])
    return sum(y * y, fmpq(0)), y


def projection(rows: Numbers, offsets: Numbers) -> Numbers | None:
    """Factors, none negative, with which ``factors · rows`` is the shortest y as above.

    None if there is none. Criss-cross method for the linear complementarity problem of the
    rows' scalar products (den Hertog, Roos, Terlaky 1993): finite, from any start.
    """
    k = len(rows)
    table = rows @ rows.T if k else np.empty((0, 0), dtype=object)
    b = offsets.copy()
    is_in = np.zeros(k, np.bool_)

    def pivot(r: int, s: int) -> None:
        nonlocal table, b
        d = table[r, s]
        column, line, right = table[:, s].copy(), table[r].copy(), b[r]
        new = table - np.outer(column, line) / d
        new[r] = -line / d
        new[:, s] = column / d
        new[r, s] = 1 / d
        b = b - column * right / d
        b[r] = -right / d
        table = new

    while True:
        check()
        r = next((i for i in range(k) if b[i] < 0), -1)
        if r < 0:
            break
        if table[r, r] > 0:
            pivot(r, r)
            is_in[r] = not is_in[r]
            continue
        s = next((j for j in range(k) if table[r, j] > 0), -1)
        if s < 0:
            return None
        pivot(r, s)
        # Rows r and s now stand for each other's variables: put them in their own places.
        pivot(s, r)
        table[[r, s]] = table[[s, r]]
        table[:, [r, s]] = table[:, [s, r]]
        b[[r, s]] = b[[s, r]]
        is_in[[r, s]] = ~is_in[[r, s]]
    factors = b.copy()
    factors[~is_in] = fmpq(0)
    return factors


def _projection_on(rows: Numbers, offsets: Numbers, active: list[int]) -> Numbers | None:
    """The factors of a projection, if these rows are the tight ones."""
    some = rows[active]
    try:
        mine = _solve(some @ some.T, -offsets[active])
    except ZeroDivisionError:
        return None
    factors = zeros(len(rows))
    factors[active] = mine
    if any(factor < 0 for factor in mine) or (rows @ (mine @ some) + offsets < 0).any():
        return None
    return factors


class NearestPoint(NamedTuple):
    """The point of a polyhedron that is nearest to 0, and why none is nearer.

    Attributes
    ----------
    distance : rational or None
        For l2 its square; None if there is no point within the radius that was asked for.
    point : ndarray or None
    factors : ndarray
        Of the rows, none negative; `distance_of` says what they prove.
    """

    distance: Any
    point: Numbers | None
    factors: Numbers


def distance_of(rows: Numbers, offsets: Numbers, factors: Numbers, norm: str) -> Any:
    """How far, at least, points with ``rows · y + offsets >= 0`` are from 0: for l2 the square.

    At such a point ``factors · offsets + (factors · rows) · y >= 0``. None: there are no points.

    Examples
    --------
    >>> from tropicell.geometry.arithmetic import to_rationals as q
    >>> distance_of(q([[3.0, 4.0]]), q([-10.0]), q([1.0]), "linf")
    10/7
    """
    missing = -sum(factors * offsets, fmpq(0))
    if missing <= 0:
        return fmpq(0)
    used = np.flatnonzero(factors != 0)
    slopes = factors[used] @ rows[used]
    if norm == "l2":
        size, missing = sum(slopes * slopes, fmpq(0)), missing * missing
    elif norm == "linf":
        size = sum(np.abs(slopes), fmpq(0))
    else:
        size = max(np.abs(slopes), default=fmpq(0))
    return None if size == 0 else missing / size


def nearest_point(
    rows: Numbers,
    offsets: Numbers,
    norm: str,
    radius: Any,
    guess: tuple[Numbers, list[int], list[int]] | None = None,
) -> NearestPoint:
    """The point with ``rows · y + offsets >= 0`` that is nearest to 0, if it is in a ball.

    Parameters
    ----------
    rows, offsets : ndarray of rationals
    norm : {"linf", "l2", "l1"}
    radius : rational
        Points farther away than this are of no interest.
    guess : (factors, rows, columns), optional
        What the factors are about, none negative; which rows are probably tight, and which
        coordinates are not at a bound (for linf).

    Notes
    -----
    For linf: the least violation of all rows within a distance r is convex in r, and its factors
    say from which r on it may be 0. The steps from one r to the next (Newton's method) end, as
    there are finitely many bases.

    Examples
    --------
    >>> from tropicell.geometry.arithmetic import to_rationals as q
    >>> found = nearest_point(q([[3.0, 4.0]]), q([-10.0]), "linf", 5)
    >>> found.distance, found.point.tolist()
    (10/7, [10/7, 10/7])
    """
    n, k = rows.shape[1], len(rows)
    if (offsets >= 0).all():
        return NearestPoint(fmpq(0), zeros(n), zeros(k))
    if norm == "l2":
        factors = None if guess is None else _projection_on(rows, offsets, guess[1])
        factors = projection(rows, offsets) if factors is None else factors
        if factors is not None:
            point = factors @ rows
            return NearestPoint(sum(point * point, fmpq(0)), point, factors)
    ones = np.array([[fmpq(1)]] * k, dtype=object)
    most = max(-offset for offset in offsets)
    wide = np.concatenate([rows, ones], axis=1)
    goal = zeros(n + 1)
    goal[n] = fmpq(-1)
    # The last column is how much rows may be violated by.
    reach, factors = fmpq(0) if norm == "linf" else radius, zeros(k)
    factors[int(np.argmax(-offsets))] = fmpq(1)
    start = None
    if guess is not None:
        start = guess[1], [*guess[2], n]
        if sum(guess[0] * offsets, fmpq(0)) < 0:
            factors = guess[0]
    while True:
        check()
        if norm == "linf":
            least = distance_of(rows, offsets, factors, norm)
            if least is None or least > radius:
                return NearestPoint(None, None, factors)
            reach = least
        low, high = (
            np.array([-reach] * n + [fmpq(0)], object),
            np.array([reach] * n + [most], object),
        )
        found = solved(wide, offsets, goal, low, high, start=start)
        if found.value < 0:
            factors = found.factors
            if norm == "linf":
                continue
            return NearestPoint(None, None, factors)
        assert found.point is not None
        if norm == "linf":
            return NearestPoint(reach, found.point[:n], factors)
        break
    both, limits = np.concatenate([rows, -rows], axis=1), np.array([radius] * (2 * n), object)
    try:
        best = solved(both, offsets, np.array([fmpq(-1)] * (2 * n), object), zeros(2 * n), limits)
    except ArithmeticError:  # only far away
        return NearestPoint(None, None, factors)
    assert best.point is not None
    return NearestPoint(-best.value, best.point[:n] - best.point[n:], best.factors)
