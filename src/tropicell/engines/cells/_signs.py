"""On which side of a boundary a corner lies, where float64 can't tell: more digits, then all.

A corner is where d facets meet; the row of a boundary there has the sign of the determinant of
their d rows and its own. `fine_corner` and `fine_sign` work it out with twice the digits of
float64, with the bounds of step 6 of docs/error-bound.md, and where that does not suffice, modulo
primes: step 7. A sign is 1, -1, 0 (proved to be zero), or `UNKNOWN`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import frexp, ldexp
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.jit import kernel, template
from tropicell.engines.cells._state import (
    TERM_COLUMN,
    TERM_MINOR,
    TERM_ROW,
    TERM_SIGN,
    TERM_SMALLER,
)
from tropicell.geometry._double import exact_product, exact_sum
from tropicell.geometry.rounding import INFLATE, ROUND
from tropicell.network._residues import (
    BITS,
    BREAKPOINT,
    Moduli,
    ResidueRows,
    add,
    bring_up,
    multiply,
    reduce,
    residue,
    residue_rows,
    sign_of,
)
from tropicell.network.flat import SOURCE, FlatNetwork

#: The sign that could not be worked out.
UNKNOWN = 2

#: Products below this may have lost digits to underflow, at most `_LOST` each.
_SMALL, _LOST = 1e-250, 1e-290

#: Places of the three parts of a number: two halves, and a bound on the error of their sum.
HIGH, LOW_HALF, BOUND = 0, 1, 2
PARTS = 3


class Fine(NamedTuple):
    """What finer signs are worked out with.

    Attributes
    ----------
    moduli : Moduli
    residues : ResidueRows
    terms : ndarray
        How minors are expanded, see `tropicell.engines.cells._state.TERM_ROW`.
    facets : ndarray, shape (d,)
        Labels of the facets of a corner: plus or minus (boundary + 1).
    rows : ndarray, shape (PARTS, d + 1, d + 1)
        Rows of the facets and of a boundary, scaled by powers of two.
    shifts : ndarray, shape (d + 1,)
        Exponents of these powers.
    minors : ndarray, shape (PARTS, 2^(d + 1))
        Minors of the rows of the facets.
    corner : ndarray, shape (PARTS, d + 1)
        Where the facets meet: their largest minors, with signs.
    """

    moduli: Moduli
    residues: ResidueRows
    terms: NDArray[np.int64]
    facets: NDArray[np.int64]
    rows: NDArray[np.float64]
    shifts: NDArray[np.int64]
    minors: NDArray[np.float64]
    corner: NDArray[np.float64]


def fine_room(
    flat: FlatNetwork, moduli: Moduli, terms: NDArray[np.int64], free: Callable[[Any], Any]
) -> Fine:
    """Room for finer signs; for `free` see `tropicell._runtime.memory.Blueprint`."""
    d, zeros = flat.dimension, np.zeros
    return Fine(
        moduli=moduli,
        residues=residue_rows(flat, moduli, free),
        terms=terms,
        facets=zeros(d, np.int64),
        rows=free(zeros((PARTS, d + 1, d + 1))),
        shifts=zeros(d + 1, np.int64),
        minors=free(zeros((PARTS, 1 << (d + 1)))),
        corner=free(zeros((PARTS, d + 1))),
    )


# --- twice the digits -----------------------------------------------------------------------------


@kernel(inner=True)
def fine_row(lines: Any, current: Any, line: int, fine: Any, i: int) -> None:
    """Write the row of a boundary to place i, largest coefficient between 1/2 and 1."""
    d, rows = lines.dimension, fine.rows
    row, largest = lines.line_row[line], 0.0
    for c in range(d + 1):
        if row < 0:
            rows[HIGH, i, c] = lines.domain_rows[line, c]
            rows[LOW_HALF, i, c] = rows[BOUND, i, c] = 0.0
        else:
            rows[HIGH, i, c] = current.before[c, row]
            rows[LOW_HALF, i, c] = current.low[c, row]
            rows[BOUND, i, c] = current.error[lines.line_layer[line], c]
    if row >= 0 and lines.line_at[line] != 0.0:
        # R - t adds 4 u² (|R| + |t|).
        at, value = lines.line_at[line], rows[HIGH, i, d]
        s, t = exact_sum(value, -at)
        rows[HIGH, i, d], rows[LOW_HALF, i, d] = exact_sum(s, t + rows[LOW_HALF, i, d])
        rows[BOUND, i, d] += 4.0 * ROUND * ROUND * (abs(value) + abs(at)) * INFLATE
    for c in range(d + 1):
        largest = max(largest, abs(rows[HIGH, i, c]))
    _, shift = frexp(largest)
    fine.shifts[i] = shift
    factor = ldexp(1.0, -shift)
    for part in range(PARTS):
        for c in range(d + 1):
            rows[part, i, c] *= factor


@kernel(inner=True)
def zero_columns(lines: Any, current: Any, fine: Any) -> int:
    """The columns, as bits, in which the rows of all of ``fine.facets`` are exactly 0.

    Where a boundary's row is 0 in one of them, too, its determinant with these is 0: so it is where
    boundaries of a network without biases meet.
    """
    zero = 0
    for c in range(lines.dimension + 1):
        every = True
        for i in range(lines.dimension):
            every = every and _is_zero(lines, current, abs(fine.facets[i]) - 1, c)
        zero |= every << c
    return zero


@kernel(inner=True)
def zero_columns_of(lines: Any, current: Any, layer: int) -> int:
    """The columns, as bits, in which the rows of all boundaries of a layer are exactly 0."""
    zero = 0
    for c in range(lines.dimension + 1):
        every = current.error[layer, c] == 0.0
        line = lines.line_start[layer]
        while every and line < lines.line_start[layer + 1]:
            every = _is_zero(lines, current, line, c)
            line += 1
        zero |= every << c
    return zero


@kernel(inner=True)
def is_facet(lines: Any, fine: Any, line: int) -> bool:
    """Whether a boundary is one of ``fine.facets``, or the same as one."""
    for i in range(lines.dimension):
        if lines.line_twin[line] == lines.line_twin[abs(fine.facets[i]) - 1]:
            return True
    return False


@kernel(inner=True)
def is_zero_there(lines: Any, current: Any, line: int, columns: int) -> bool:
    """Whether a boundary's row is exactly 0 in one of some columns."""
    for c in range(lines.dimension + 1):
        if columns >> c & 1 and _is_zero(lines, current, line, c):
            return True
    return False


@kernel(inner=True)
def sources_vanish(flat: Any, current: Any, fine: Any, layer: int) -> bool:
    """Whether all outputs that a layer reads are 0 where ``fine.facets`` meet.

    So it is where the corner lies on the boundaries of all neurons that are on. There a neuron of
    the layer is its bias, times w.
    """
    maps, lines = flat.maps, flat.lines
    for term in range(maps.term_start[layer], maps.term_start[layer + 1]):
        source = maps.terms[term, SOURCE]
        if source == 0 or not maps.unit[source]:
            return False
        for row in range(maps.row_start[source], maps.row_start[source + 1]):
            known = current.after[lines.dimension + 1, row] == 0.0
            for i in range(lines.dimension):
                facet = abs(fine.facets[i]) - 1
                known = known or (lines.line_row[facet] == row and lines.line_at[facet] == 0.0)
            if not known:
                return False
    return True


@kernel(inner=True)
def few_sources(flat: Any, current: Any, fine: Any, layer: int) -> bool:
    """Whether all boundaries of a layer must pass through the point where ``fine.facets`` meet.

    Their rows are combinations of those of the neurons that are on in the layers that it reads, and
    of w. If as many of the facets are such combinations as there are of these, every row is one of
    the facets', and 0 there. The same with what a layer below reads, if all between is made of it.
    """
    maps, d = flat.maps, flat.lines.dimension
    low = layer
    while True:
        first, last = maps.term_start[low], maps.term_start[low + 1]
        rank = 1
        for term in range(first, last):
            source = maps.terms[term, SOURCE]
            if source == 0:
                return False
            for row in range(maps.row_start[source], maps.row_start[source + 1]):
                rank += _is_on(maps, current, row)
        if rank <= d:
            for i in range(d):
                rank -= _is_among(flat, current, abs(fine.facets[i]) - 1, low, layer)
            if rank <= 0:
                return True
        if low == 1:
            return False
        for term in range(first, last):
            source = maps.terms[term, SOURCE]
            known = source == low - 1
            for other in range(maps.term_start[low - 1], maps.term_start[low]):
                known = known or maps.terms[other, SOURCE] == source
            if not known:
                return False
        low -= 1


@kernel(inner=True)
def _is_on(maps: Any, current: Any, row: int) -> bool:
    """Whether a neuron's output is not constant, as far as its piece says."""
    return bool(maps.slopes[row, current.pattern[row - maps.row_start[1]]] != 0.0)


@kernel(inner=True)
def _is_among(flat: Any, current: Any, facet: int, low: int, layer: int) -> bool:
    """Whether a facet's row is a combination of what layer `low` reads, and of w: `few_sources`."""
    maps, lines = flat.maps, flat.lines
    row, at = lines.line_row[facet], lines.line_layer[facet]
    if row < 0:
        return bool(facet == 0)  # infinity
    if at >= low:
        return bool(at <= layer)
    for term in range(maps.term_start[low], maps.term_start[low + 1]):
        if maps.terms[term, SOURCE] == at:
            return _is_on(maps, current, row)
    return False


@kernel(inner=True)
def sign_of_bias(flat: Any, fine: Any, line: int, w: int) -> int:
    """The sign of a boundary's row there; `w`: 1 if w is surely positive, else 0."""
    offset = flat.maps.bias[flat.lines.line_row[line]] - flat.lines.line_at[line]
    if offset == 0.0:
        return 0
    for i in range(flat.lines.dimension):
        if abs(fine.facets[i]) == 1:  # at infinity
            return 0
    if w == 0:
        return UNKNOWN
    return 1 if offset > 0.0 else -1


@kernel(inner=True)
def _is_zero(lines: Any, current: Any, line: int, c: int) -> bool:
    row = lines.line_row[line]
    if row < 0:
        return bool(lines.domain_rows[line, c] == 0.0)
    return bool(
        current.before[c, row] == 0.0
        and current.error[lines.line_layer[line], c] == 0.0
        and (c < lines.dimension or lines.line_at[line] == 0.0)
    )


@kernel(inner=True)
def fine_corner(lines: Any, current: Any, fine: Any) -> None:
    """Write the corner where ``fine.facets`` meet, up to a positive factor."""
    minors, terms = fine.minors, fine.terms
    sign = _facet_rows(lines, current, fine)
    for m in range(1, 1 << (lines.dimension + 1)):
        minors[HIGH, m] = minors[LOW_HALF, m] = minors[BOUND, m] = 0.0
    minors[HIGH, 0], minors[LOW_HALF, 0], minors[BOUND, 0] = 1.0, 0.0, 0.0
    for t in range(len(terms)):
        m = terms[t, TERM_MINOR]
        i, c, smaller = terms[t, TERM_ROW], terms[t, TERM_COLUMN], terms[t, TERM_SMALLER]
        _add_product(minors, m, fine.rows[:, i], c, minors, smaller, float(terms[t, TERM_SIGN]))
    _take_corner(fine, lines.dimension, sign)


@kernel(inner=True)
def sharp_corner(lines: Any, current: Any, fine: Any) -> None:
    """The same with one bound for all coordinates, which is enough for points: much faster."""
    d, minors, terms = lines.dimension, fine.minors, fine.terms
    sign = _facet_rows(lines, current, fine)
    rows, wrong = fine.rows, 0.0
    for row in range(d):
        for column in range(d + 1):
            wrong = max(wrong, rows[BOUND, row, column])
    bound = sharp_bound(wrong, d)
    minors[HIGH, 0], minors[LOW_HALF, 0] = 1.0, 0.0
    t = 0
    while t < len(terms):  # the terms of a minor follow each other
        m, high, low = terms[t, TERM_MINOR], 0.0, 0.0
        while t < len(terms) and terms[t, TERM_MINOR] == m:
            i, c = np.uint64(terms[t, TERM_ROW]), np.uint64(terms[t, TERM_COLUMN])
            smaller, turn = np.uint64(terms[t, TERM_SMALLER]), float(terms[t, TERM_SIGN])
            x, y = turn * rows[HIGH, i, c], minors[HIGH, smaller]
            p, e = exact_product(x, y)
            e += x * minors[LOW_HALF, smaller] + turn * rows[LOW_HALF, i, c] * y
            high, rest = exact_sum(high, p)
            low += rest + e
            t += 1
        minors[HIGH, m], minors[LOW_HALF, m] = exact_sum(high, low)
        minors[BOUND, m] = bound
    _take_corner(fine, d, sign)


@template
def sharp_bound(wrong: float, d: int) -> float:
    """Step 6: how far minors of d rows are off, whose coefficients are off by `wrong` or less."""
    size, bound = 1.0, wrong
    for k in range(2, d + 1):
        bound = k * (bound + (size + bound) * wrong + 24.0 * ROUND * ROUND * (2 * k + 1) * size)
        size *= k
    return bound * INFLATE + _LOST


@kernel(inner=True)
def _facet_rows(lines: Any, current: Any, fine: Any) -> float:
    """Write the rows of ``fine.facets``; returns the sign of the corner that their minors are."""
    fine.residues.corners[0] = 0
    sign = 1.0
    for i in range(lines.dimension):
        label = fine.facets[i]
        fine_row(lines, current, abs(label) - 1, fine, i)
        sign = sign if label > 0 else -sign
    return sign


@kernel(inner=True)
def _take_corner(fine: Any, d: int, sign: float) -> None:
    """Write the corner from the largest minors."""
    minors, everything = fine.minors, (1 << (d + 1)) - 1
    for c in range(d + 1):
        m = everything ^ (1 << c)
        s = sign if c % 2 == 0 else -sign
        fine.corner[HIGH, c], fine.corner[LOW_HALF, c] = (
            s * minors[HIGH, m],
            s * minors[LOW_HALF, m],
        )
        fine.corner[BOUND, c] = minors[BOUND, m]


@kernel(inner=True)
def _add_product(to: Any, m: int, a: Any, i: int, b: Any, j: int, sign: float) -> None:
    """Add sign * a[i] * b[j] to a number, each in three parts: step 6."""
    x, y = sign * a[HIGH, i], b[HIGH, j]
    p, e = exact_product(x, y)
    e += x * b[LOW_HALF, j] + sign * a[LOW_HALF, i] * y
    s, t = exact_sum(to[HIGH, m], p)
    bound = abs(x) * b[BOUND, j] + abs(y) * a[BOUND, i] + a[BOUND, i] * b[BOUND, j]
    # 8 u² for the product, 16 u² for the sum
    bound += 24.0 * ROUND * ROUND * (abs(to[HIGH, m]) + abs(p) + abs(s))
    if abs(p) < _SMALL and x != 0.0 and y != 0.0:
        bound += _LOST
    to[HIGH, m], to[LOW_HALF, m] = exact_sum(s, to[LOW_HALF, m] + (t + e))
    to[BOUND, m] = (to[BOUND, m] + bound) * INFLATE


@kernel(inner=True)
def fine_sign(flat: Any, current: Any, fine: Any, line: int) -> int:
    """The sign of a boundary's row at ``fine.corner``, where ``fine.facets`` meet."""
    lines, d = flat.lines, flat.lines.dimension
    if is_facet(lines, fine, line):
        return 0
    fine_row(lines, current, line, fine, d)
    minors = fine.minors  # of which place 0 is free now
    minors[HIGH, 0] = minors[LOW_HALF, 0] = minors[BOUND, 0] = 0.0
    for c in range(d + 1):
        _add_product(minors, 0, fine.rows[:, d], c, fine.corner, c, 1.0)
    value, bound = minors[HIGH, 0], minors[BOUND, 0]
    bound += 2.0 * ROUND * abs(value)  # the low half
    if value > bound:
        return 1
    if value < -bound:
        return -1
    size = (abs(value) + bound) * INFLATE
    if size == 0.0:
        return 0
    if not size < 1.0e9:  # or not a number
        return UNKNOWN
    return _exact_sign(flat, current, fine, line, size)


@kernel(late=True)
def late_sign(flat: Any, current: Any, fine: Any, line: int) -> int:
    """The same, compiled when it is asked for."""
    return fine_sign(flat, current, fine, line)


# --- all digits -----------------------------------------------------------------------------------


@kernel(inner=True)
def _exact_sign(flat: Any, current: Any, fine: Any, line: int, size: float) -> int:
    """The same modulo primes: the determinant is at most `size`, for rows that were scaled."""
    lines, d, moduli, residues = flat.lines, flat.lines.dimension, fine.moduli, fine.residues
    if len(moduli.primes) == 0:
        return UNKNOWN
    _, bits = frexp(size)
    layer = 0
    for i in range(d + 1):
        facet = abs(fine.facets[i]) - 1 if i < d else line
        at = lines.line_layer[facet]
        layer = max(layer, at)
        bits += moduli.grain[at] + fine.shifts[i]
    if bits <= 0:
        return 0  # a whole number below 1
    n = (bits + BITS) // BITS
    if n > len(moduli.primes):
        return UNKNOWN
    zero = True
    for k in range(n):
        bring_up(flat.maps, moduli, residues, k, layer, current.pattern)
        if k >= residues.corners[0]:
            _exact_corner(lines, fine, k)
            residues.corners[0] = k + 1
        residues.values[k] = _exact_value(lines, fine, line, k)
        zero = zero and residues.values[k] == 0.0
    if zero:
        return 0
    sign = sign_of(moduli, residues, n)
    for i in range(d):
        sign = sign if fine.facets[i] > 0 else -sign
    return sign


@kernel(inner=True)
def _exact_corner(lines: Any, fine: Any, k: int) -> None:
    """Where ``fine.facets`` meet, up to sign, modulo prime k: for all boundaries that are asked."""
    d, moduli, terms, minors = lines.dimension, fine.moduli, fine.terms, fine.residues.minors
    p, inverse = moduli.primes[k], moduli.inverses[k]
    for m in range(1, 1 << (d + 1)):
        minors[m] = 0.0
    minors[0] = 1.0
    for t in range(len(terms)):
        facet = abs(fine.facets[terms[t, TERM_ROW]]) - 1
        x = _residue(lines, fine, facet, terms[t, TERM_COLUMN], k)
        x = multiply(x, minors[terms[t, TERM_SMALLER]], p, inverse)
        if terms[t, TERM_SIGN] < 0 and x > 0.0:
            x = p - x
        m = terms[t, TERM_MINOR]
        minors[m] = add(minors[m], x, p)
    everything = (1 << (d + 1)) - 1
    for c in range(d + 1):
        x = minors[everything ^ (1 << c)]
        fine.residues.corner[k, c] = p - x if c % 2 == 1 and x > 0.0 else x


@kernel(inner=True)
def _exact_value(lines: Any, fine: Any, line: int, k: int) -> float:
    """A boundary's row there, modulo prime k: the determinant of all rows."""
    p, inverse, total = fine.moduli.primes[k], fine.moduli.inverses[k], 0.0
    for c in range(lines.dimension + 1):
        x = _residue(lines, fine, line, c, k)
        total = add(total, multiply(x, fine.residues.corner[k, c], p, inverse), p)
    return total


@kernel(inner=True)
def _residue(lines: Any, fine: Any, line: int, c: int, k: int) -> float:
    """A coefficient of a boundary's row, made whole, modulo prime k."""
    moduli = fine.moduli
    p, inverse = moduli.primes[k], moduli.inverses[k]
    row = lines.line_row[line]
    if row < 0:
        return reduce(lines.domain_rows[line, c] * moduli.domain_scale, p, inverse)
    x = fine.residues.before[k, c, row]
    if c == lines.dimension and lines.line_at[line] != 0.0:
        x -= residue(moduli, BREAKPOINT, lines.line_layer[line], lines.line_at[line], k)
        x = x + p if x < 0.0 else x
    return float(x)
