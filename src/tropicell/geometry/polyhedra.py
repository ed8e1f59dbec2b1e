"""Exact geometry of convex cells: interior points, facets, vertices and rays.

A cell is given by rows ``(a_1, …, a_d, c)`` of integers, each the inequality ``a·x + c >= 0``.
Rational rows are scaled to integers first (a positive factor changes nothing), and every decision
is made in integer arithmetic, so there is no tolerance anywhere in this file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd
from typing import Any

import numpy as np
from flint import fmpz_mat
from numpy.typing import NDArray

from tropicell._runtime.interruption import check

#: One inequality ``a·x + c >= 0``: Python integers, the constant last.
Row = tuple[int, ...]
#: A rational point: integer numerators and one common positive denominator, denominator last.
Point = tuple[int, ...]

#: So many entries of a table are worked out between two looks at the clock; rows with more
#: entries than the other number are long.
_AT_ONCE, _LONG = 20_000, 32


def integer_row(row: Iterable[Any]) -> Row:
    """Rational numbers as the smallest integers in the same proportion, signs kept.

    Parameters
    ----------
    row : iterable of flint.fmpq or Fraction

    Examples
    --------
    >>> integer_row([Fraction(1, 2), Fraction(-3, 4)])
    (2, -3)
    """
    pairs = [_ratio(value) for value in row]
    common = 1
    for _, denominator in pairs:
        common = common // gcd(common, denominator) * denominator
    integers = [numerator * (common // denominator) for numerator, denominator in pairs]
    divisor = gcd(*integers)
    return tuple(integers) if divisor <= 1 else tuple(value // divisor for value in integers)


def _ratio(value: Any) -> tuple[int, int]:
    if isinstance(value, Fraction):
        return value.numerator, value.denominator
    return int(value.p), int(value.q)


def to_point(coordinates: Iterable[Any]) -> Point:
    """Rational coordinates over one common denominator.

    Examples
    --------
    >>> to_point([Fraction(1, 2), Fraction(1, 3)])
    (3, 2, 6)
    """
    return integer_row([*coordinates, Fraction(1)])


def from_point(point: Point) -> list[Fraction]:
    """The coordinates of a point.

    Examples
    --------
    >>> from_point((3, 2, 6))
    [Fraction(1, 2), Fraction(1, 3)]
    """
    return [Fraction(numerator, point[-1]) for numerator in point[:-1]]


def value_at(row: Row, point: Point) -> int:
    """Value of ``a·x + c`` at a point, times the point's (positive) denominator."""
    return sum(a * p for a, p in zip(row, point, strict=True))


def values_at(rows: Iterable[Row], point: Point) -> Iterator[int]:
    """The same for many rows, with looks at the clock if these are long."""
    long = len(point) > _LONG
    for row in rows:
        if long:
            check()
        yield value_at(row, point)


@dataclass(frozen=True)
class Cell:
    """A convex set with interior: its inequalities, and a witness strictly inside.

    Attributes
    ----------
    rows : tuple of Row
    witness : Point
        All rows are positive there.
    """

    rows: tuple[Row, ...]
    witness: Point

    @classmethod
    def whole_space(cls, dimension: int) -> Cell:
        """All of R^d.

        Examples
        --------
        >>> Cell.whole_space(2).witness
        (0, 0, 1)
        """
        return cls((), (0,) * dimension + (1,))

    def cut(self, row: Row, *, closed: bool = False) -> Cell | None:
        """The part of the cell where ``a·x + c >= 0``, or None if that has no interior.

        Parameters
        ----------
        row : Row
        closed : bool
            Only matters if the row is constant: whether ``0 >= 0`` counts as true.

        Examples
        --------
        >>> half_plane = Cell.whole_space(2).cut((1, 0, -3))
        >>> half_plane.cut((-1, 0, 2)) is None
        True
        """
        check()
        value = value_at(row, self.witness)
        if not any(row[:-1]):
            return self if value > 0 or (closed and value == 0) else None
        if value > 0:
            return Cell((*self.rows, row), self.witness)
        if value == 0:
            target = self._beside(row)
        else:
            found = maximise(self.rows, row, self.witness)
            if found is None:
                return None
            # The segment from the witness to the point found crosses the boundary at `crossing`;
            # beyond it, and before the point itself, it is strictly inside.
            above = Fraction(value_at(row, found), found[-1])
            below = Fraction(value, self.witness[-1])
            crossing = below / (below - above)
            target = _between(self.witness, found, (1 + crossing) / 2)
        rows = (*self.rows, row)
        return Cell(rows, _simple(rows, target))

    def _beside(self, row: Row) -> Point:
        """A point strictly inside, on the positive side of a boundary through the witness."""
        w = self.witness
        step = Fraction(1)
        for other in self.rows:
            check()
            slope = sum(a * b for a, b in zip(other[:-1], row[:-1], strict=True))
            if slope < 0:
                step = min(step, Fraction(value_at(other, w), -2 * slope * w[-1]))
        return to_point(x + step * a for x, a in zip(from_point(w), row[:-1], strict=True))

    def facets(self) -> list[int]:
        """Indices of the inequalities that are not redundant, one for each facet.

        Of several inequalities that say the same, the first is taken.
        """
        first: dict[Row, int] = {}
        for index, row in enumerate(self.rows):
            first.setdefault(row, index)
        indices = list(first.values())
        found = []
        for index in indices:
            others = [self.rows[i] for i in indices if i != index]
            outside = tuple(-value for value in self.rows[index])
            if maximise(others, outside, self.witness) is not None:
                found.append(index)
        return found


def _between(start: Point, end: Point, share: Fraction) -> Point:
    pairs = zip(from_point(start), from_point(end), strict=True)
    return to_point(a + share * (b - a) for a, b in pairs)


def _simple(rows: Sequence[Row], point: Point) -> Point:
    """The point rounded to float64 if that is still strictly inside, or else the point itself.

    Witnesses are made of witnesses: without this their denominators would grow with every cut.
    """
    try:
        rounded = to_point(Fraction(float(x)) for x in from_point(point))
    except OverflowError:
        return point
    return rounded if all(value > 0 for value in values_at(rows, rounded)) else point


def maximise(rows: Sequence[Row], objective: Row, witness: Point) -> Point | None:
    """A point of a cell at which an affine function is positive, or None if there is none.

    This is the simplex method on the dictionary of the inequalities, in integers (Edmonds'
    fraction-free pivoting), with Bland's rule, so it ends. Seen from a witness strictly inside
    all slacks are positive: the first dictionary is feasible, and there is no first phase.

    Parameters
    ----------
    rows : sequence of Row
        The cell.
    objective : Row
        The affine function.
    witness : Point
        Strictly inside all rows.

    Returns
    -------
    Point or None
        A point of the closed cell where the function is positive.

    Examples
    --------
    >>> square = [(1, 0, 1), (-1, 0, 1), (0, 1, 1), (0, -1, 1)]
    >>> maximise(square, (1, 1, -2), (0, 0, 1)) is None
    True
    >>> maximise(square, (1, 1, -1), (0, 0, 1))
    (1, 1, 1)
    """
    return _Dictionary(rows, objective, witness).solve()


def largest(rows: Sequence[Row], objective: Row, witness: Point) -> Point | None:
    """A point of a cell at which an affine function is largest; None if it has no upper bound.

    Parameters
    ----------
    rows, objective, witness
        As in `maximise`.

    Examples
    --------
    >>> square = [(1, 0, 1), (-1, 0, 1), (0, 1, 1), (0, -1, 1)]
    >>> largest(square, (1, -1, 0), (0, 0, 1))
    (1, -1, 1)
    >>> largest(square[:3], (1, -1, 0), (0, 0, 1)), largest(square[:3], (1, 1, 0), (0, 0, 1))
    ((1, -1, 1), None)
    """
    return _Dictionary(rows, objective, witness).best()


def implied_by(rows: Sequence[Row], row: Row, witness: Point) -> tuple[int, ...] | None:
    """Indices of rows from which another one follows, or None if it does not follow from all.

    Parameters
    ----------
    rows : sequence of Row
        The cell.
    row : Row
        The inequality in question.
    witness : Point
        Strictly inside all rows.

    Returns
    -------
    tuple of int or None
        At most d rows, linearly independent, of which `row` is a combination with factors that are
        not negative, plus a constant that is not negative.

    Examples
    --------
    >>> square = [(1, 0, 1), (-1, 0, 1), (0, 1, 1), (0, -1, 1)]
    >>> implied_by(square, (-1, -1, 2), (0, 0, 1))
    (1, 3)
    >>> implied_by(square, (-1, -1, 1), (0, 0, 1)) is None
    True
    """
    dictionary = _Dictionary(rows, tuple(-value for value in row), witness)
    if dictionary.solve() is not None:
        return None
    slacks = [v - dictionary.dimension for v in dictionary.outside if v >= dictionary.dimension]
    return tuple(sorted(slacks))


def is_bounded(rows: Sequence[Row], dimension: int) -> bool:
    """Whether a cell is bounded, decided by its recession cone ``{r : a·r >= 0}``.

    Examples
    --------
    >>> is_bounded([(1, 0), (-1, 1)], 1), is_bounded([(1, 0), (1, 1)], 1)
    (True, False)
    """
    directions = [row[:-1] for row in rows]
    if not directions or fmpz_mat(directions).rank() < dimension:
        return False  # the cell contains a line
    # No line: the cone has a ray r != 0 if and only if the sum of all a·r can grow without end
    # where every a·r >= -1.
    total = tuple(sum(column) for column in zip(*directions, strict=True))
    relaxed = [(*direction, 1) for direction in directions]
    return not _Dictionary(relaxed, (*total, 0), (0,) * dimension + (1,)).is_unbounded()


def grows(rows: Sequence[Row], slopes: Row) -> bool:
    """Whether a linear function has no upper bound on a cell, decided by the recession cone.

    Parameters
    ----------
    rows : sequence of Row
        The cell, which must not be empty.
    slopes : Row
        The function, without a constant.

    Examples
    --------
    >>> grows([(1, 0, 0), (0, 1, 0)], (1, -5)), grows([(1, 0, 0), (0, 1, 0)], (-1, 0))
    (True, False)
    """
    # It grows along r with a·r >= 0 if and only if it has no upper bound where all a·r >= -1.
    relaxed = [(*row[:-1], 1) for row in rows]
    origin = (0,) * len(slopes) + (1,)
    return _Dictionary(relaxed, (*slopes, 0), origin).is_unbounded()


class _Dictionary:
    """Basic variables as affine functions of the non-basic ones, over a common denominator.

    The variables 0 … d-1 are the coordinates relative to the witness (scaled by its denominator,
    and free), the variables d … d+m-1 the slacks of the m rows (never negative). The last row of
    the table is the objective; column 0 the constants.
    """

    def __init__(self, rows: Sequence[Row], objective: Row, witness: Point) -> None:
        self.dimension = len(witness) - 1
        self.witness = witness
        every = (*rows, objective)
        values = values_at(every, witness)
        table = [[value, *row[:-1]] for row, value in zip(every, values, strict=True)]
        self.table: NDArray[Any] = np.array(table, dtype=object)
        self.denominator = 1
        self.outside = list(range(self.dimension))  # variable of each column (column 0 apart)
        self.inside = [self.dimension + i for i in range(len(rows))]  # variable of each row

    def solve(self) -> Point | None:
        while self.table[-1, 0] <= 0:
            column = self._entering()
            if column is None:
                return None
            upwards = self.table[-1, column] > 0
            row = self._leaving(column, upwards)
            if row is None:
                return self._along(column, upwards)
            self._pivot(row, column)
        return self._coordinates(self.table[:-1, 0], self.denominator, [])

    def is_unbounded(self) -> bool:
        """Whether the objective has no upper bound."""
        while (column := self._entering()) is not None:
            row = self._leaving(column, self.table[-1, column] > 0)
            if row is None:
                return True
            self._pivot(row, column)
        return False

    def best(self) -> Point | None:
        """Where the objective is largest; None if it has no upper bound."""
        if self.is_unbounded():
            return None
        return self._coordinates(self.table[:-1, 0], self.denominator, [])

    def _entering(self) -> int | None:
        """Bland's rule: the first variable that improves the objective, free ones both ways."""
        best = None
        for column, variable in enumerate(self.outside, start=1):
            slope = self.table[-1, column]
            improves = slope != 0 if variable < self.dimension else slope > 0
            if improves and (best is None or variable < self.outside[best - 1]):
                best = column
        return best

    def _leaving(self, column: int, upwards: bool) -> int | None:
        """The row that stops the entering variable first; free variables stop nothing."""
        best, best_value, best_slope = None, 0, 1
        for row, variable in enumerate(self.inside):
            if variable < self.dimension:
                continue
            slope = -self.table[row, column] if upwards else self.table[row, column]
            if slope <= 0:
                continue
            value = self.table[row, 0]
            difference = 0 if best is None else value * best_slope - best_value * slope
            if best is None or difference < 0 or (difference == 0 and variable < self.inside[best]):
                best, best_value, best_slope = row, value, slope
        return best

    def _pivot(self, row: int, column: int) -> None:
        table, pivot = self.table, self.table[row, column]
        sign = 1 if pivot > 0 else -1
        pivot_row, pivot_column = table[row].copy(), table[:, column].copy()
        # Edmonds: the division by the previous denominator leaves no remainder.
        size = max(1, _AT_ONCE // table.shape[1])
        parts = []
        for start in range(0, len(table), size):
            check()
            part = slice(start, start + size)
            outer = np.outer(pivot_column[part], pivot_row)
            parts.append((pivot * table[part] - outer) * sign // self.denominator)
        updated = parts[0] if len(parts) == 1 else np.concatenate(parts)
        updated[:, column] = sign * pivot_column
        updated[row] = -sign * pivot_row
        updated[row, column] = sign * self.denominator
        self.table, self.denominator = updated, sign * pivot
        self.inside[row], self.outside[column - 1] = self.outside[column - 1], self.inside[row]

    def _along(self, column: int, upwards: bool) -> Point:
        """A point far enough along an unbounded direction for the objective to be positive."""
        table = self.table
        step = (-table[-1, 0]) // abs(table[-1, column]) + 1
        signed = step if upwards else -step
        # In units of the entering variable itself: rows change by table[:, column] per unit.
        values = table[:-1, 0] + table[:-1, column] * signed
        extra = [(self.outside[column - 1], signed * self.denominator)]
        return self._coordinates(values, self.denominator, extra)

    def _coordinates(
        self, values: NDArray[Any], denominator: int, extra: list[tuple[int, int]]
    ) -> Point:
        offsets = [0] * self.dimension
        for variable, value in [*zip(self.inside, values.tolist(), strict=True), *extra]:
            if variable < self.dimension:
                offsets[variable] = value
        scale = self.witness[-1] * denominator
        numerators = [
            w * denominator + offset for w, offset in zip(self.witness[:-1], offsets, strict=True)
        ]
        divisor = gcd(*numerators, scale)
        return (*(n // divisor for n in numerators), scale // divisor)
