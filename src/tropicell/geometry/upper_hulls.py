"""Which of many affine functions are ever the largest alone: upper hulls, decided in rationals.

The maximum of affine functions ``c_i + a_i·x`` is the upper hull of the points ``(a_i, c_i)`` seen
from the other side: a function is needed where its point is a vertex of that hull. Floats guess
(Qhull), rationals decide: a function that is needed has a point at which it is larger than all
others; one that is not lies below, or on, a convex combination of others. What a guess leaves open
goes through Clarkson's method: a linear program against those that are known to be needed.

References
----------
.. [1] K. L. Clarkson, "More output-sensitive geometric algorithms", FOCS 1994.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat, fmpz_mat
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

from tropicell._runtime.arrays import FloatArray
from tropicell._runtime.interruption import check
from tropicell.geometry.arithmetic import to_floats, to_rationals
from tropicell.geometry.polyhedra import from_point, integer_row, maximise, to_point

Numbers = NDArray[Any]

#: Qhull is asked up to so many dimensions; beyond, its hulls have too many facets.
_QHULL = 4
#: So many facets are tried for a point that lies below the hull.
_FACETS = 12
#: Comparisons, or facets times points, that are made at a time.
_AT_ONCE = 2**20


def spanning_columns(exponents: Numbers) -> list[int]:
    """Coordinates that tell all points of their affine span apart.

    Parameters
    ----------
    exponents : ndarray of flint.fmpq, shape (points, dimension)

    Examples
    --------
    >>> spanning_columns(to_rationals([[1, 2, 0], [2, 4, 0], [3, 6, 1]]))
    [0, 2]
    """
    differences = exponents[1:] - exponents[:1]
    if not differences.size:
        return []
    rows, columns = differences.shape
    reduced, rank = fmpq_mat(rows, columns, differences.ravel().tolist()).rref()
    width = exponents.shape[1]
    return [next(c for c in range(width) if reduced[row, c] != 0) for row in range(rank)]


def needed(coefficients: Numbers, exponents: Numbers) -> NDArray[np.bool_]:
    """Which affine functions ``c_i + a_i·x`` are somewhere larger than all others.

    Parameters
    ----------
    coefficients : ndarray of flint.fmpq, shape (functions,)
    exponents : ndarray of flint.fmpq, shape (functions, dimension)
        All different.

    Returns
    -------
    ndarray of bool
        The maximum of these functions is that of all.

    Examples
    --------
    The middle one of max(0, x, 2x) is largest at 0 only, and never alone:

    >>> needed(to_rationals([0, 0, 0]), to_rationals([[0], [1], [2]]))
    array([ True, False,  True])
    """
    count = len(coefficients)
    if count <= 2:
        return np.ones(count, dtype=np.bool_)
    columns = spanning_columns(exponents)
    points = exponents[:, columns]
    if len(columns) == 1:
        return _on_a_line(coefficients, points[:, 0])
    return _Hull(coefficients, points).needed()


def _on_a_line(heights: Numbers, places: Numbers) -> NDArray[np.bool_]:
    """Andrew's scan from left to right."""
    stack: list[int] = []
    for i in sorted(range(len(places)), key=lambda i: places[i]):
        while len(stack) >= 2:
            a, b = stack[-2], stack[-1]
            left = (heights[b] - heights[a]) * (places[i] - places[b])
            if left > (heights[i] - heights[b]) * (places[b] - places[a]):
                break
            stack.pop()
        stack.append(i)
    found = np.zeros(len(places), dtype=np.bool_)
    found[stack] = True
    return found


class _Hull:
    """Points that span their space, and what is known of them."""

    def __init__(self, heights: Numbers, points: Numbers) -> None:
        self.heights, self.points = heights, points
        self.dimension = points.shape[1]
        self.forms = np.concatenate([points, heights[:, None]], axis=1)
        self.is_needed = np.zeros(len(heights), dtype=np.bool_)
        self.is_open = np.ones(len(heights), dtype=np.bool_)

    def needed(self) -> NDArray[np.bool_]:
        if self.dimension <= _QHULL:
            self._guess()
        for i in np.flatnonzero(self.is_open).tolist():
            while self.is_open[i]:
                self._decide(i)
        return self.is_needed

    # --- Clarkson's method ----------------------------------------------------------------------

    def _decide(self, i: int) -> None:
        """Decide about a point, or find another one that is needed."""
        check()
        others = np.flatnonzero(self.is_needed)
        if not len(others):
            self._winner(np.array([fmpq(0)] * self.dimension, dtype=object))
            return
        # In (x, t): t <= l_i(x) - l_j(x), and t <= 1. At x = 0 there is room below.
        gaps = self.forms[i] - self.forms[others]
        rows = [integer_row([*gap[:-1], fmpq(-1), gap[-1]]) for gap in gaps]
        top = (0,) * self.dimension + (-1, 1)
        lowest = min(0, *(int(gap[-1].floor()) for gap in gaps)) - 1
        start = (0,) * self.dimension + (lowest, 1)
        goal = (0,) * self.dimension + (1, 0)
        found = maximise([*rows, top], goal, start)
        if found is None:
            self.is_open[i] = False
        else:
            self._winner(to_rationals(np.array(from_point(found)[:-1], dtype=object)))

    def _winner(self, x: Numbers) -> None:
        """What is largest at x; of several, the one that is alone a little further on."""
        values = self.forms[:, :-1] @ x + self.forms[:, -1]
        best = max(values.tolist())
        ties = [i for i, value in enumerate(values.tolist()) if value == best]
        winner = max(ties, key=lambda i: tuple(self.points[i]))
        self.is_needed[winner], self.is_open[winner] = True, False

    # --- guesses, and their proofs --------------------------------------------------------------

    def _guess(self) -> None:
        scaled = _Scaled(self.heights, self.points)
        if not scaled.is_fine:
            return
        try:
            upper = _upper_facets(scaled.points, scaled.heights)
            sides = ConvexHull(scaled.points).equations
        except (QhullError, ValueError):
            return
        if not len(upper.simplices):
            return
        vertices = np.unique(upper.simplices)
        beneath = np.setdiff1d(np.arange(len(self.heights)), vertices)
        # A point on, or next to, an edge may lie under any of the facets there.
        for rank in range(min(_FACETS, len(upper.simplices))):
            if len(left := beneath[self.is_open[beneath]]):
                self._prove_below(left, upper, rank)
        rivals = np.flatnonzero(self.is_open)  # what lies below these need not be compared with
        for share in (1.0, 1e-3, 1e3):
            left = vertices[~self.is_needed[vertices]]
            if len(left):
                self._prove_needed(left, rivals, upper.witnesses(left, sides, share), scaled)

    def _prove_needed(
        self, some: NDArray[np.intp], rivals: NDArray[np.intp], x: FloatArray, scaled: _Scaled
    ) -> None:
        """Those of some points that are largest, alone, at the points x."""
        at = to_rationals(scaled.back(x))
        right = fmpz_mat(_integers(self.forms[rivals])).transpose()
        step = max(1, _AT_ONCE // len(rivals))
        for start in range(0, len(some), step):
            check()
            part = slice(start, start + step)
            values = (fmpz_mat([to_point(point) for point in at[part]]) * right).tolist()
            for row, i in zip(values, some[part].tolist(), strict=True):
                best = max(row)
                if row[int(np.searchsorted(rivals, i))] == best and row.count(best) == 1:
                    self.is_needed[i], self.is_open[i] = True, False

    def _prove_below(self, some: NDArray[np.intp], upper: _Upper, rank: int) -> None:
        """Those of some points that lie below, or on, a simplex of the hull: the nearest, or …."""
        for simplex, members in upper.above(some, rank):
            check()
            corners = upper.simplices[simplex]
            size = self.dimension + 1
            ones = np.array([[fmpq(1)]] * size, dtype=object)
            square = np.concatenate([self.points[corners], ones], axis=1)
            one_row = np.array([[fmpq(1)] * len(members)], dtype=object)
            right = np.concatenate([self.points[members].T, one_row])
            try:
                shares = fmpq_mat(size, size, square.T.ravel().tolist()).solve(
                    fmpq_mat(size, len(members), right.ravel().tolist())
                )
            except ZeroDivisionError:
                continue
            for column, i in enumerate(members.tolist()):
                share = [shares[row, column] for row in range(size)]
                if all(q >= 0 for q in share) and self.heights[i] <= sum(
                    (q * h for q, h in zip(share, self.heights[corners], strict=True)), fmpq(0)
                ):
                    self.is_open[i] = False


def _integers(rationals: Numbers) -> list[list[int]]:
    """All entries times one positive number that makes them whole."""
    width = rationals.shape[1]
    whole = integer_row(rationals.ravel().tolist())
    return [list(whole[i : i + width]) for i in range(0, len(whole), width)]


class _Scaled:
    """The points in floats, moved and scaled such that Qhull can tell them apart."""

    def __init__(self, heights: Numbers, points: Numbers) -> None:
        a, c = to_floats(points), to_floats(heights)
        self.is_fine = bool(np.isfinite(a).all() and np.isfinite(c).all())
        if not self.is_fine:
            return
        low, high = a.min(axis=0), a.max(axis=0)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            self._width = high - low
            self.points = (a - low) / self._width
            self.is_fine = bool(np.isfinite(self.points).all())
            if not self.is_fine:
                return
            plane = np.concatenate([self.points, np.ones((len(a), 1))], axis=1)
            fit = np.linalg.lstsq(plane, c, rcond=None)[0]
            rest = c - plane @ fit
            self._slopes = fit[:-1]
            self._size = float(np.abs(rest).max()) or 1.0
            self.heights = rest / self._size
        self.is_fine = bool(np.isfinite(self.heights).all())

    def back(self, x: FloatArray) -> FloatArray:
        """Where the same functions are largest, in the coordinates that were given."""
        with np.errstate(over="ignore", invalid="ignore"):
            found = (self._size * x - self._slopes) / self._width
        return np.asarray(np.nan_to_num(found, nan=0.0, posinf=0.0, neginf=0.0))


class _Upper:
    """The upper facets of a hull, and where the functions of a facet are equal."""

    def __init__(self, points: FloatArray, simplices: NDArray[np.intp], planes: FloatArray) -> None:
        self.points, self.simplices = points, simplices
        self.duals = planes[:, :-2] / planes[:, -2:-1]
        self.levels = -planes[:, -1] / planes[:, -2]

    def witnesses(self, some: NDArray[np.intp], sides: FloatArray, share: float) -> FloatArray:
        """For every vertex a guess at a point at which its function is the largest alone."""
        count = len(self.points)
        total, number = np.zeros((count, self.points.shape[1])), np.zeros(count)
        for column in self.simplices.T:
            np.add.at(total, column, self.duals)
            np.add.at(number, column, 1.0)
        middle = total[some] / number[some, None]
        outside = self.points[some] @ sides[:, :-1].T + sides[:, -1] > -1e-9
        outward = outside.astype(np.float64) @ sides[:, :-1]
        return np.asarray(middle + share * (1.0 + np.abs(self.duals).max(initial=0.0)) * outward)

    def above(self, some: NDArray[np.intp], rank: int) -> Iterator[tuple[int, NDArray[np.intp]]]:
        """The facets that are lowest above some points (by rank), each with its points."""
        facet = np.empty(len(some), dtype=np.intp)
        step = max(1, _AT_ONCE // len(self.simplices))
        for start in range(0, len(some), step):
            part = self.points[some[start : start + step]]
            heights = self.levels - part @ self.duals.T
            facet[start : start + step] = heights.argpartition(rank, axis=1)[:, rank]
        order = np.argsort(facet, kind="stable")
        firsts = np.flatnonzero(np.diff(facet[order], prepend=-1))
        for first, last in zip(firsts, [*firsts[1:], len(order)], strict=True):
            yield int(facet[order[first]]), some[order[first:last]]


def _upper_facets(points: FloatArray, heights: FloatArray) -> _Upper:
    """The upper hull of lifted points, in floats; a point far below makes it a body."""
    lifted = np.concatenate([points, heights[:, None]], axis=1)
    below = np.append(points.mean(axis=0), heights.min() - 1e3)
    hull = ConvexHull(np.concatenate([lifted, below[None]]), qhull_options="Qt")
    upper = (hull.simplices != len(points)).all(axis=1) & (hull.equations[:, -2] > 1e-12)
    return _Upper(points, hull.simplices[upper].astype(np.intp), hull.equations[upper])
