"""A small dense simplex method for cells, in Numba.

A *dictionary* writes all rows (affine functions of x, see `_flat`) as functions of d of them, the
nonbasic ones: ``row_i = T[VALUE, i] + sum_c T[c, i] * row_{nonbasic[c]}``, c = 1 … d. Where
all nonbasic rows are 0 is its vertex. Columns are contiguous, so that a pivot is a few long
vector operations. A row's `sign` says what the cell asks of it: +1 (>= 0), -1 (<= 0) or 0
(nothing). Nonbasic rows with sign 0 are free to move both ways, so cells without vertices
(whole space, strips) need no special case and no big box.

Nothing here is proved: what the simplex method finds is checked by `_proof`.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tropicell._runtime.jit import is_set, kernel
from tropicell.engines.halfspaces._flat import VALUE

OPTIMAL, CROSSED, PASSED, STUCK = range(4)

#: Pivots that are only for convenience are not made with smaller elements than this.
_WELL_CONDITIONED = 1e-2

#: A pivot as large as this is taken at once, without looking for a larger one.
_LARGE_PIVOT = 0.1

#: A matrix whose largest pivot is smaller counts as singular.
_SINGULAR = 1e-11

#: A row that falls more slowly along an edge does not end it.
_SLOW = 1e-12

#: A cut is reached if it is nearer than whatever stops the way to it, by this part.
_NEARER = 1e-9


class Dictionary(NamedTuple):
    """The dictionary of one layer: parts of a `LayerTable`."""

    T: Any
    nonbasic: Any
    column_of: Any
    sign: Any
    n_rows: int  # rows up to those of the layer's last cut
    halt: Any


@kernel(sums="in any order")
def load(dictionary, rows):
    """Start with the coordinates as nonbasic rows: the dictionary is the rows themselves."""
    T, nonbasic, column_of = dictionary.T, dictionary.nonbasic, dictionary.column_of
    n_rows, d = dictionary.n_rows, len(nonbasic) - 1
    for c in range(d + 1):
        for i in range(n_rows):
            T[c, i] = rows[i, c]
    for i in range(n_rows):
        column_of[i] = 0
    for c in range(1, d + 1):
        nonbasic[c] = c - 1
        column_of[c - 1] = c


@kernel(sums="in any order", inner=True)
def pivot(dictionary, c, r):
    """Make row `r` nonbasic instead of the one in column `c`."""
    T, nonbasic, column_of = dictionary.T, dictionary.nonbasic, dictionary.column_of
    n_rows, d = dictionary.n_rows, len(nonbasic) - 1
    inverse = 1.0 / T[c, r]
    for i in range(n_rows):
        T[c, i] *= inverse
    for j in range(d + 1):
        if j != c:
            f = T[j, r]
            if f != 0.0:
                for i in range(n_rows):
                    T[j, i] -= f * T[c, i]
            T[j, r] = 0.0
    T[c, r] = 1.0
    column_of[nonbasic[c]] = 0
    nonbasic[c] = r
    column_of[r] = c


@kernel(sums="in any order")
def go_to_basis(dictionary, target, wanted):
    """Pivot until the nonbasic rows are those in `target`; False if that is singular, or late.

    `wanted` is a mask of rows, all False before and after.
    """
    T, nonbasic, column_of = dictionary.T, dictionary.nonbasic, dictionary.column_of
    d = len(nonbasic) - 1
    for k in range(d):
        wanted[target[k]] = True
    good = True
    for _ in range(d):
        best, best_c, best_r = 0.0, 0, -1
        missing = False
        for k in range(d):
            r = target[k]
            if column_of[r] != 0:
                continue
            missing = True
            for c in range(1, d + 1):
                if not wanted[nonbasic[c]] and abs(T[c, r]) > best:
                    best, best_c, best_r = abs(T[c, r]), c, r
            if best > _LARGE_PIVOT:
                break
        if not missing:
            break
        if best < _SINGULAR or is_set(dictionary.halt):
            good = False
            break
        pivot(dictionary, best_c, best_r)
    for k in range(d):
        wanted[target[k]] = False
    return good


@kernel(sums="in any order", inner=True)
def feasible(dictionary, tolerance):
    """Whether the vertex satisfies every row's sign."""
    T, sign = dictionary.T, dictionary.sign
    worst = 0.0
    for i in range(dictionary.n_rows):
        worst = min(worst, sign[i] * T[VALUE, i])
    return worst >= -tolerance


@kernel(sums="in any order", inner=True)
def ratio(dictionary, c, direction, skip, tolerance):
    """How far the nonbasic row of column `c` can move, and the row that stops it (or -1)."""
    T, sign = dictionary.T, dictionary.sign
    step, row, rate_of = np.inf, -1, 0.0
    for i in range(dictionary.n_rows):
        rate = -sign[i] * T[c, i] * direction
        if rate > tolerance and i != skip:
            limit = max(sign[i] * T[VALUE, i], 0.0)
            if limit < step * rate:
                step, row, rate_of = limit / rate, i, rate
            elif row >= 0 and limit <= step * rate and rate > rate_of:
                row, rate_of = i, rate
    return step, row


@kernel(sums="in any order", inner=True)
def minimise(dictionary, h, s, tolerance):
    """Lower ``s * row_h`` over the cell until it is 0 and could go on (CROSSED), or is minimal.

    When crossed, `h` is made nonbasic: the vertex lies on its boundary, in both halves. PASSED:
    the vertex is beyond the boundary already (it was so at the start).
    Returns the outcome, the number of pivots and, when crossed, the column of `h`.
    """
    T, nonbasic, sign = dictionary.T, dictionary.nonbasic, dictionary.sign
    d = len(nonbasic) - 1
    limit = 60 + 12 * d
    for turn in range(limit):
        if is_set(dictionary.halt):
            return STUCK, turn, 0
        if s * T[VALUE, h] < -tolerance * tolerance and dictionary.column_of[h] == 0:
            return PASSED, turn, 0
        largest = 0.0
        for c in range(1, d + 1):
            largest = max(largest, abs(T[c, h]))
        best, best_c, direction = tolerance * largest, 0, 0.0
        bland = turn > limit // 2
        for c in range(1, d + 1):
            gain = -s * T[c, h]
            status = sign[nonbasic[c]]
            size = abs(gain)
            if size > best and (status == 0.0 or status * gain > 0.0):
                if bland and best_c > 0 and nonbasic[c] > nonbasic[best_c]:
                    continue
                if not bland:
                    best = size
                best_c, direction = c, 1.0 if gain > 0.0 else -1.0
        if best_c == 0:
            return OPTIMAL, turn, 0
        step, row = ratio(dictionary, best_c, direction, h, tolerance)
        to_zero = max(s * T[VALUE, h], 0.0) / abs(T[best_c, h])
        if to_zero < step * (1.0 - _NEARER):
            pivot(dictionary, best_c, h)
            return CROSSED, turn + 1, best_c
        if row < 0:
            return STUCK, turn, 0
        pivot(dictionary, best_c, row)
    return STUCK, limit, 0


@kernel(sums="in any order", inner=True)
def absorb(dictionary, ignored, first_row):
    """Slide along edges until the vertex lies on as many undecided cuts as can be reached.

    Cuts of the layer are the rows from `first_row` on; some are `ignored`. Returns the number of
    pivots.
    """
    T, nonbasic, column_of = dictionary.T, dictionary.nonbasic, dictionary.column_of
    sign, d = dictionary.sign, len(nonbasic) - 1
    count = 0
    for c in range(1, d + 1):
        q = nonbasic[c]
        if q >= first_row or is_set(dictionary.halt):
            continue
        direction = sign[q] if sign[q] != 0.0 else 1.0
        step, row, cut = np.inf, -1, False
        for i in range(d, dictionary.n_rows):
            t = T[c, i] * direction
            v = T[VALUE, i]
            if column_of[i] != 0 or ignored[i]:
                continue
            if sign[i] != 0.0:
                rate = -sign[i] * t
                value = max(sign[i] * v, 0.0)
            elif i >= first_row:
                rate = -t if v > 0.0 else t
                value = abs(v)
            else:
                continue
            if rate > _SLOW and value < step * rate:
                step, row, cut = value / rate, i, sign[i] == 0.0 and rate > _WELL_CONDITIONED
        if cut and step > 0.0:
            pivot(dictionary, c, row)
            count += 1
    return count
