"""Exact decisions for `halfspaces`, in rationals (FLINT), where floats prove nothing.

The linear program is solved by the criss-cross method with the least-index rule: it starts from
any basis, needs no first phase and cannot cycle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray
from scipy.optimize import linprog

from tropicell._runtime.interruption import check
from tropicell.geometry.arithmetic import to_floats, to_rationals
from tropicell.network.network import Network

Row = list[Any]

#: FLINT inverts matrices faster than pivots do, but nobody can look at the clock meanwhile: up to
#: this size a matrix is inverted at once, and up to the other one piece by piece.
_SMALL, _LARGE = 32, 200

#: Pieces that took fewer seconds are followed by larger ones.
_QUICK = 0.01


def _in_pieces(count: int, each: Callable[[int, int], list[Any]], least: int) -> list[Any]:
    """What a call of FLINT gives for 0 … count - 1, so few at a time that each takes not long."""
    found: list[Any] = []
    start, size = 0, least
    while start < count:
        check()
        began = perf_counter()
        found += each(start, min(start + size, count))
        start += size
        if perf_counter() - began < _QUICK:
            size *= 2
    return found


def _inverse(square: fmpq_mat) -> fmpq_mat:
    """The inverse of a matrix; of a large one column by column, which takes no longer."""
    d = square.nrows()
    if d <= _SMALL:
        return square.inv()

    def columns(start: int, stop: int) -> list[Any]:
        ones = [int(i == c) for i in range(d) for c in range(start, stop)]
        return square.solve(fmpq_mat(d, stop - start, ones)).transpose().entries()

    return fmpq_mat(d, d, _in_pieces(d, columns, 1)).transpose()


def _rewritten(rows: list[Row], vertex: fmpq_mat, inverse: fmpq_mat) -> list[Row]:
    """Rows as functions of others: their values at a vertex, and products with an inverse."""
    d = inverse.nrows()

    def some(start: int, stop: int) -> list[Row]:
        part = rows[start:stop]
        full = fmpq_mat(len(part), d, [q for row in part for q in row[1:]])
        values, products = full * vertex, full * inverse
        return [
            [row[0] + values[i, 0], *(products[i, c] for c in range(d))]
            for i, row in enumerate(part)
        ]

    return _in_pieces(len(rows), some, len(rows) if d <= _SMALL else 1)


@dataclass
class RationalDictionary:
    """All rows as functions of d nonbasic ones; see `tropicell.engines.halfspaces._lp`.

    ``rows[i] = [value, coefficient of nonbasic[0], …]``.
    """

    rows: list[Row]
    nonbasic: list[int]

    @classmethod
    def at(cls, rows: list[Row], basis: list[int]) -> RationalDictionary:
        """The dictionary of a basis; a basis that is exactly singular is repaired."""
        d = len(basis)
        if d <= _LARGE and not all(i < d for i in basis):
            square = fmpq_mat(d, d, [q for i in basis for q in rows[i][1:]])
            if square.det() != 0:
                offset = fmpq_mat(d, 1, [-rows[i][0] for i in basis])
                return cls(_rewritten(rows, square.solve(offset), _inverse(square)), list(basis))
        start = cls([list(row) for row in rows], list(range(d)))
        for i in basis:
            column = next(
                (c for c, n in enumerate(start.nonbasic) if n < d and start.rows[i][c + 1] != 0),
                None,
            )
            if column is not None and i >= d and i not in start.nonbasic:
                start.pivot(column, i)
        return start

    def pivot(self, column: int, row: int) -> None:
        """Make `row` nonbasic instead of the one in `column`."""
        d, c = len(self.nonbasic), column + 1
        source = self.rows[row]
        inverse = 1 / source[c]
        factors = [source[j] * inverse for j in range(d + 1)]
        active = [j for j in range(d + 1) if j != c and factors[j] != 0]
        long = d > _SMALL
        for target in self.rows:
            f = target[c]
            if f != 0:
                if long:
                    check()
                for j in active:
                    target[j] -= f * factors[j]
                target[c] = f * inverse
        self.nonbasic[column] = row


@dataclass
class LpOutcome:
    """What an exact linear program found.

    `forced`: the cut never leaves its side; `support` are the rows (nonbasic, with positive
    multiplier) that prove it. Otherwise `point` lies strictly on the other side, and `basis`
    with its `dictionary` is a vertex of the other half.
    """

    forced: bool
    support: list[int] = field(default_factory=list)
    point: list[Any] = field(default_factory=list)
    basis: list[int] = field(default_factory=list)
    dictionary: RationalDictionary | None = None


def _free_columns_out(table: RationalDictionary, sign: list[int]) -> None:
    """Make rows with no sign basic, wherever a row with one can take their place."""
    for c in range(len(table.nonbasic)):
        if sign[table.nonbasic[c]] == 0:
            row = next(
                (
                    i
                    for i, target in enumerate(table.rows)
                    if sign[i] != 0 and target[c + 1] != 0 and i not in table.nonbasic
                ),
                None,
            )
            if row is not None:
                table.pivot(c, row)


def criss_cross(table: RationalDictionary, sign: list[int], objective: int, s: int) -> bool:
    """Minimise ``s * row[objective]`` over all rows' signs; False if there is no solution.

    The minimum must be bounded. Least-index criss-cross method (Terlaky 1985).
    """
    _free_columns_out(table, sign)
    while True:
        check()
        best, column, row = len(table.rows), -1, -1
        for c, n in enumerate(table.nonbasic):
            gain = table.rows[objective][c + 1]
            if n < best and sign[n] != 0 and s * sign[n] * gain < 0:
                best, column, row = n, c, -1
        for i in range(best):
            if sign[i] != 0 and sign[i] * table.rows[i][0] < 0 and i not in table.nonbasic:
                best, column, row = i, -1, i
                break
        if column < 0 and row < 0:
            return True
        if row >= 0:
            options = [
                (n, c)
                for c, n in enumerate(table.nonbasic)
                if sign[n] != 0 and sign[row] * sign[n] * table.rows[row][c + 1] > 0
            ]
            if not options:
                return False
            column = min(options)[1]
        else:
            n = table.nonbasic[column]
            row = next(
                i
                for i, target in enumerate(table.rows)
                if sign[i] != 0 and sign[i] * sign[n] * target[column + 1] < 0
                and i not in table.nonbasic
            )  # fmt: skip
        table.pivot(column, row)


def decide(rows: list[Row], sign: list[int], h: int, s: int, basis: list[int]) -> LpOutcome:
    """Whether ``s * row_h >= 0`` on the cell of `sign`, which has interior points.

    Parameters
    ----------
    rows : list of rows of rationals
        Offset and d coefficients each; the first d are the coordinates.
    sign : list of int
        What the cell asks of each row.
    h, s : int
        The row in question, and its side.
    basis : list of int
        Where to start.
    """
    d = len(basis)
    extra = len(rows)
    bound = [s * q for q in rows[h]]
    bound[0] = bound[0] + 1
    nothing = [bound[0] * 0] * (d + 1)
    table = RationalDictionary.at([*rows, bound, nothing], basis)
    signs = [*sign, 0, 0]
    if not criss_cross(table, signs, extra + 1, 1):
        raise ArithmeticError("the cell is empty")
    table.rows.pop()
    if s * table.rows[h][0] < 0:
        table.rows.pop()
        point = [table.rows[k][0] for k in range(d)]
        return LpOutcome(False, point=point, basis=list(table.nonbasic), dictionary=table)
    signs = [*sign, 1]
    criss_cross(table, signs, h, s)
    if s * table.rows[h][0] >= 0:
        support = [
            n for c, n in enumerate(table.nonbasic) if signs[n] != 0 and table.rows[h][c + 1] != 0
        ]
        return LpOutcome(True, support=support)
    point = [table.rows[k][0] for k in range(d)]
    if extra in table.nonbasic:
        signs[extra], signs[h] = 0, -s
        c = table.nonbasic.index(extra)
        for direction in (-1, 1):
            limit, blocking = None, -1
            for i, target in enumerate(table.rows):
                rate = -signs[i] * target[c + 1] * direction
                if rate > 0 and i not in table.nonbasic:
                    step = signs[i] * target[0] / rate
                    if limit is None or step < limit:
                        limit, blocking = step, i
            if blocking >= 0:
                table.pivot(c, blocking)
                break
    table.rows.pop()
    return LpOutcome(False, point=point, basis=list(table.nonbasic), dictionary=table)


class RationalRows:
    """The exact rows of a network on the cell of a pattern prefix; the last one is kept."""

    def __init__(self, network: Network, domain: NDArray[np.float64]) -> None:
        self.network = network
        self.maps = network.maps("exact")
        d = network.n_inputs
        zero, one = fmpq(0), fmpq(1)
        self.first: list[Row] = [
            [zero, *(one if c == k else zero for c in range(d))] for k in range(d)
        ]
        self.first += to_rationals(domain).tolist()
        start, self._unit = self.maps.coordinates()
        self._columns: list[NDArray[Any]] = [start]
        self._cuts: list[list[Row]] = []
        self._prefix: list[bytes] = []

    def up_to(self, layer: int, pieces: NDArray[np.uint8]) -> list[Row]:
        """All rows up to a layer (counted from 0); `pieces` of the layers before it."""
        ends = np.concatenate([[0], np.cumsum(self.network.widths)])
        parts = [pieces[ends[k] : ends[k + 1]] for k in range(layer)]
        same = 0
        while same < min(layer, len(self._prefix)) and self._prefix[same] == parts[same].tobytes():
            same += 1
        del self._prefix[same:], self._columns[same + 1 :], self._cuts[same + 1 :]
        for k in range(len(self._cuts), layer + 1):
            if k > 0 and len(self._columns) <= k:
                before = self.maps.before(k, self._columns, self._unit)
                part = parts[k - 1]
                self._columns.append(self.maps.after(k, before, part, self._unit))
                self._prefix.append(part.tobytes())
            self._cuts.append(self._cuts_of(k))
        return self.first + [row for cuts in self._cuts[: layer + 1] for row in cuts]

    def _cuts_of(self, layer: int) -> list[Row]:
        before = self.maps.before(layer + 1, self._columns, self._unit)
        breakpoints, _, _ = self.maps.activation(layer + 1)
        cuts: list[Row] = []
        for row, thresholds in zip(before, breakpoints, strict=True):
            check()
            for t in thresholds:
                if t is not None:
                    cuts.append([row[-1] - t, *row[:-1]])
        return cuts


def interior_point(rows: list[Row], sign: list[int], most: int = 1) -> list[Any] | None:
    """A rational point strictly inside the cell of `sign`, or None if it has no interior.

    Maximises the common slack t <= `most` of all signs in d + 1 dimensions.
    """
    d = len(rows[0]) - 1
    zero, one = fmpq(0), fmpq(1)
    lifted: list[Row] = [
        [zero, *(one if c == k else zero for c in range(d + 1))] for k in range(d + 1)
    ]
    for row, wanted in zip(rows[d:], sign[d:], strict=True):
        check()
        if wanted != 0:
            size = max((abs(q) for q in row[1:]), default=zero)
            if size == 0:
                if wanted * row[0] < 0:
                    return None
                continue
            lifted.append([wanted * q for q in row] + [-size])
    lifted.append([fmpq(most), *([zero] * d), -one])
    signs = [0] * (d + 1) + [1] * (len(lifted) - d - 1)
    table = RationalDictionary.at(lifted, list(range(d + 1)))
    if not criss_cross(table, signs, d, -1) or table.rows[d][0] <= 0:
        return None
    return [table.rows[k][0] for k in range(d)]


def likely_point(rows: list[Row], sign: list[int], most: int = 1) -> list[Any] | None:
    """The same as `interior_point`, if floats find one: then it is proved to be inside.

    None says nothing.
    """
    d = len(rows[0]) - 1
    used = [i for i in range(d, len(rows)) if sign[i] != 0 and any(q != 0 for q in rows[i][1:])]
    if not used or d > _SMALL:
        return None
    sizes = [max(abs(q) for q in rows[i][1:]) for i in used]
    scaled = [sign[i] * q / size for i, size in zip(used, sizes, strict=True) for q in rows[i]]
    table = to_floats(np.array(scaled, dtype=object)).reshape(len(used), d + 1)
    if not np.isfinite(table).all():
        return None
    slopes = np.hstack([-table[:, 1:], np.ones((len(used), 1))])
    bounds = [(None, None)] * d + [(None, float(most))]
    found = linprog([0.0] * d + [-1.0], A_ub=slopes, b_ub=table[:, 0], bounds=bounds)
    if found.status != 0 or found.x is None:
        return None
    point: list[Any] = to_rationals(found.x[:d]).tolist()
    for i in range(d, len(rows)):
        if sign[i] != 0:
            value = rows[i][0] + sum(
                (q * x for q, x in zip(rows[i][1:], point, strict=True)), rows[i][0] * 0
            )
            if sign[i] * value <= 0 and (i in used or value != 0):
                return None
    return point


def start_basis(rows: list[Row], sign: list[int]) -> list[int] | None:
    """A basis whose vertex lies in the closed cell of `sign`, or None if it has no interior."""
    if interior_point(rows, sign) is None:
        return None
    d = len(rows[0]) - 1
    zero = [fmpq(0)] * (d + 1)
    table = RationalDictionary.at([*rows, zero], list(range(d)))
    criss_cross(table, [*sign, 0], len(rows), 1)
    return list(table.nonbasic)
