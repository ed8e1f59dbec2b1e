"""Which points satisfy linear inequalities: float64 with a bound decides, or else rationals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell._runtime.interruption import check
from tropicell.geometry.arithmetic import to_floats, to_rationals
from tropicell.geometry.rounding import ROUND

#: Numbers that are worked on at a time.
_NUMBERS = 2**18
#: Pairs of a point and a row that are decided in rationals at a time.
_PAIRS = 1024
#: Covers underflow, of products and of numbers that were rounded; the least float64.
_TINY, _LEAST = 1e-290, 5e-324


def by_parts(
    decide: Callable[[FloatArray], NDArray[np.bool_]], points: FloatArray, numbers: int
) -> NDArray[np.bool_]:
    """What is decided of points, few at a time: memory does not grow with their number.

    Parameters
    ----------
    decide : callable
        Gets some of the points.
    points : ndarray, shape (points, inputs)
    numbers : int
        How many numbers `decide` makes of each point.

    Examples
    --------
    >>> by_parts(lambda x: x[:, 0] > 0, np.array([[1.0], [-1.0]]), 1)
    array([ True, False])
    """
    step = max(1, _NUMBERS // max(1, numbers))
    parts = [decide(points[:step])]
    for start in range(step, len(points), step):
        check()
        parts.append(decide(points[start : start + step]))
    return np.concatenate(parts)


def satisfy(a: NDArray[Any], b: NDArray[Any], points: FloatArray) -> NDArray[np.bool_]:
    """Which points ``x`` have ``a·x <= b`` for all rows; no rounding decides.

    Parameters
    ----------
    a : ndarray, shape (rows, inputs)
        Floats, or Fractions.
    b : ndarray, shape (rows,)
    points : ndarray of float64, shape (points, inputs)
        Those with an infinite coordinate, or nan, do not.

    Notes
    -----
    Each side is a sum of d products and a number. Rows that are no floats are rounded once. All of
    that is off by less than ``2 (d + 4) u`` times the sum of the absolute values, and what
    underflows.

    Examples
    --------
    >>> third = to_rationals([[1]]) / 3
    >>> satisfy(third, to_rationals([1]), np.array([[3.0], [3.0000000000000004], [np.nan]]))
    array([ True, False, False])
    """
    rows, bounds = to_floats(a), to_floats(b)

    def decide(x: FloatArray) -> NDArray[np.bool_]:
        found = np.asarray(np.isfinite(x).all(axis=1))
        some = x[found]
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            left = bounds - some @ rows.T
            reach = np.abs(some)
            sizes = reach @ np.abs(rows).T + np.abs(bounds)
            errors = 2.0 * (x.shape[1] + 4) * ROUND * sizes + _TINY
            errors += _LEAST * reach.sum(axis=1)[:, None]
            unsure = ~(np.abs(left) > errors) | ~np.isfinite(sizes + errors)
        # a point that surely violates another row needs no rationals
        surely_out = ((left < 0) & ~unsure).any(axis=1)
        unsure[surely_out] = False
        left[unsure] = _signs(a, b, some, unsure)
        found[found] = (left >= 0).all(axis=1)
        return found

    return by_parts(decide, points, max(points.shape[1], len(rows)))


def _signs(
    a: NDArray[Any], b: NDArray[Any], x: FloatArray, which: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """The signs of ``b - a x`` for some points and rows, in exact arithmetic."""
    points, rows = np.nonzero(which)
    signs = np.empty(len(points))
    for start in range(0, len(points), _PAIRS):
        check()
        row, point = rows[start : start + _PAIRS], points[start : start + _PAIRS]
        values = to_rationals(b[row]) - (to_rationals(a[row]) * to_rationals(x[point])).sum(axis=1)
        signs[start : start + _PAIRS] = [(value > 0) - (value < 0) for value in values]
    return signs
