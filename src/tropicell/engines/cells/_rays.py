"""The rays and facets of cones: rows, where d of them meet, and values of rows there.

For the columns of rays and of rows see `_state`; steps are those of docs/error-bound.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tropicell._runtime.jit import kernel, template
from tropicell.engines.cells._bounds import (
    minors_error,
    scaled_ray_error,
    to_below_1,
    unit_row_error,
    unit_sign_bound,
)
from tropicell.engines.cells._state import (
    INFINITE,
    NONE,
    TERM_COLUMN,
    TERM_MINOR,
    TERM_ROW,
    TERM_SIGN,
    TERM_SMALLER,
)

#: Squares of lengths between these lose no digits.
_LEAST_SQUARE, _MOST_SQUARE = 1e-250, 1e250


@template
def row_value(rows: Any, at: int, rays: Any, ray: int, d: int) -> Any:
    """A row's value at a ray."""
    i, k = np.uint64(at), np.uint64(ray)
    s = rows[i, d] * rays[k, d]
    for c in range(d):
        s += rows[i, c] * rays[k, c]
    return s


@kernel(inner=True, inlined=True)
def facet_row(lines: Any, before: Any, label: int, exact: bool, table: Any, k: int, d: int) -> None:
    """Write the row of a facet, step 2; the sign of its label says which side is inside."""
    line = abs(label) - 1
    row = lines.line_row[line]
    error = 0.0
    square = 0.0
    for c in range(d + 1):
        if row < 0:
            x = lines.domain_rows[line, c]
        else:
            x = before[c, row]
            if c == d:
                x -= lines.line_at[line]
        table[k, c] = x
        square += x * x
    if row >= 0 and exact:
        error = before[d + 1, row]
    divided = not (square > _LEAST_SQUARE and square < _MOST_SQUARE)
    if divided:
        largest, square = 0.0, 0.0
        for c in range(d + 1):
            largest = max(largest, abs(table[k, c]))
        for c in range(d + 1):
            table[k, c] /= largest
            square += table[k, c] * table[k, c]
        error /= largest
    factor = to_below_1(np.sqrt(square))
    table[k, d + 1] = unit_row_error(error, factor, np.sqrt(d + 1.0), divided)
    if label < 0:
        factor = -factor
    for c in range(d + 1):
        table[k, c] *= factor


@kernel(sums="fused", inner=True, inlined=True)
def meet(stack: Any, d: int, ray: int) -> None:
    """Write the ray in which the facets of its basis meet, up to sign, with its error: step 2.

    It is the vector of the d × d minors of their rows.
    """
    table, basis, rays = stack.table, stack.bases[np.uint64(ray)], stack.rays
    errors, squares = 0.0, 1.0
    for j in range(d):
        row = np.uint64(basis[j])
        errors += table[row, d + 1]
        square = table[row, d] * table[row, d]
        for c in range(d):
            square += table[row, c] * table[row, c]
        squares *= square
    at = np.uint64(ray)
    if d == 3:
        x, y, z, w = minors_3(table, basis[0], basis[1], basis[2])
        rays[at, 0], rays[at, 1], rays[at, 2], rays[at, 3] = x, y, z, w
    elif d == 4:
        x, y, z, u, w = minors_4(table, basis[0], basis[1], basis[2], basis[3])
        rays[at, 0], rays[at, 1], rays[at, 2], rays[at, 3], rays[at, 4] = x, y, z, u, w
    elif d == 5:
        _minors_5(table, basis, rays, ray)
    else:
        _minors(stack, d, basis, ray)
    size = 0.0
    for c in range(d + 1):
        size += abs(rays[at, c])
    for j in range(2, d + 1):
        squares *= j
    bound = minors_error(errors, d, np.sqrt(squares))
    factor = to_below_1(size)
    for c in range(d + 1):
        rays[at, c] *= factor
    # Minors that may all be 0 make every sign doubtful.
    rays[at, d + 1] = scaled_ray_error(bound, factor) if size > 0.0 else np.inf


@template
def minors_3(table: Any, first: int, second: int, third: int) -> Any:
    """The minors of three rows, with alternating signs."""
    i, j, k = np.uint64(first), np.uint64(second), np.uint64(third)
    a0, a1, a2, a3 = table[i, 0], table[i, 1], table[i, 2], table[i, 3]
    b0, b1, b2, b3 = table[j, 0], table[j, 1], table[j, 2], table[j, 3]
    c0, c1, c2, c3 = table[k, 0], table[k, 1], table[k, 2], table[k, 3]
    m01, m02, m03 = a0 * b1 - a1 * b0, a0 * b2 - a2 * b0, a0 * b3 - a3 * b0
    m12, m13, m23 = a1 * b2 - a2 * b1, a1 * b3 - a3 * b1, a2 * b3 - a3 * b2
    return (
        c1 * m23 - c2 * m13 + c3 * m12,
        c2 * m03 - c0 * m23 - c3 * m02,
        c0 * m13 - c1 * m03 + c3 * m01,
        c1 * m02 - c0 * m12 - c2 * m01,
    )


@template
def minors_4(table: Any, first: int, second: int, third: int, fourth: int) -> Any:
    """The minors of four rows, with alternating signs: products of those of two and two rows."""
    i, j, k, m = np.uint64(first), np.uint64(second), np.uint64(third), np.uint64(fourth)
    a0, a1, a2, a3, a4 = table[i, 0], table[i, 1], table[i, 2], table[i, 3], table[i, 4]
    b0, b1, b2, b3, b4 = table[j, 0], table[j, 1], table[j, 2], table[j, 3], table[j, 4]
    m01, m02, m03, m04 = a0 * b1 - a1 * b0, a0 * b2 - a2 * b0, a0 * b3 - a3 * b0, a0 * b4 - a4 * b0
    m12, m13, m14 = a1 * b2 - a2 * b1, a1 * b3 - a3 * b1, a1 * b4 - a4 * b1
    m23, m24, m34 = a2 * b3 - a3 * b2, a2 * b4 - a4 * b2, a3 * b4 - a4 * b3
    a0, a1, a2, a3, a4 = table[k, 0], table[k, 1], table[k, 2], table[k, 3], table[k, 4]
    b0, b1, b2, b3, b4 = table[m, 0], table[m, 1], table[m, 2], table[m, 3], table[m, 4]
    n01, n02, n03, n04 = a0 * b1 - a1 * b0, a0 * b2 - a2 * b0, a0 * b3 - a3 * b0, a0 * b4 - a4 * b0
    n12, n13, n14 = a1 * b2 - a2 * b1, a1 * b3 - a3 * b1, a1 * b4 - a4 * b1
    n23, n24, n34 = a2 * b3 - a3 * b2, a2 * b4 - a4 * b2, a3 * b4 - a4 * b3
    return (
        m12 * n34 - m13 * n24 + m14 * n23 + m23 * n14 - m24 * n13 + m34 * n12,
        -(m02 * n34 - m03 * n24 + m04 * n23 + m23 * n04 - m24 * n03 + m34 * n02),
        m01 * n34 - m03 * n14 + m04 * n13 + m13 * n04 - m14 * n03 + m34 * n01,
        -(m01 * n24 - m02 * n14 + m04 * n12 + m12 * n04 - m14 * n02 + m24 * n01),
        m01 * n23 - m02 * n13 + m03 * n12 + m12 * n03 - m13 * n02 + m23 * n01,
    )


@template
def _minors_5(table: Any, basis: Any, rays: Any, ray: int) -> None:
    """The minors of five rows, with alternating signs, from those of two and two, then of four."""
    i, j, k, m = np.uint64(basis[0]), np.uint64(basis[1]), np.uint64(basis[2]), np.uint64(basis[3])
    n, to = np.uint64(basis[4]), np.uint64(ray)
    a0, a1, a2 = table[i, 0], table[i, 1], table[i, 2]
    a3, a4, a5 = table[i, 3], table[i, 4], table[i, 5]
    b0, b1, b2 = table[j, 0], table[j, 1], table[j, 2]
    b3, b4, b5 = table[j, 3], table[j, 4], table[j, 5]
    p01, p02, p03 = a0 * b1 - a1 * b0, a0 * b2 - a2 * b0, a0 * b3 - a3 * b0
    p04, p05 = a0 * b4 - a4 * b0, a0 * b5 - a5 * b0
    p12, p13, p14 = a1 * b2 - a2 * b1, a1 * b3 - a3 * b1, a1 * b4 - a4 * b1
    p15 = a1 * b5 - a5 * b1
    p23, p24, p25 = a2 * b3 - a3 * b2, a2 * b4 - a4 * b2, a2 * b5 - a5 * b2
    p34, p35 = a3 * b4 - a4 * b3, a3 * b5 - a5 * b3
    p45 = a4 * b5 - a5 * b4
    a0, a1, a2 = table[k, 0], table[k, 1], table[k, 2]
    a3, a4, a5 = table[k, 3], table[k, 4], table[k, 5]
    b0, b1, b2 = table[m, 0], table[m, 1], table[m, 2]
    b3, b4, b5 = table[m, 3], table[m, 4], table[m, 5]
    q01, q02, q03 = a0 * b1 - a1 * b0, a0 * b2 - a2 * b0, a0 * b3 - a3 * b0
    q04, q05 = a0 * b4 - a4 * b0, a0 * b5 - a5 * b0
    q12, q13, q14 = a1 * b2 - a2 * b1, a1 * b3 - a3 * b1, a1 * b4 - a4 * b1
    q15 = a1 * b5 - a5 * b1
    q23, q24, q25 = a2 * b3 - a3 * b2, a2 * b4 - a4 * b2, a2 * b5 - a5 * b2
    q34, q35 = a3 * b4 - a4 * b3, a3 * b5 - a5 * b3
    q45 = a4 * b5 - a5 * b4
    r0123 = p01 * q23 - p02 * q13 + p03 * q12
    r0123 += p12 * q03 - p13 * q02 + p23 * q01
    r0124 = p01 * q24 - p02 * q14 + p04 * q12
    r0124 += p12 * q04 - p14 * q02 + p24 * q01
    r0125 = p01 * q25 - p02 * q15 + p05 * q12
    r0125 += p12 * q05 - p15 * q02 + p25 * q01
    r0134 = p01 * q34 - p03 * q14 + p04 * q13
    r0134 += p13 * q04 - p14 * q03 + p34 * q01
    r0135 = p01 * q35 - p03 * q15 + p05 * q13
    r0135 += p13 * q05 - p15 * q03 + p35 * q01
    r0145 = p01 * q45 - p04 * q15 + p05 * q14
    r0145 += p14 * q05 - p15 * q04 + p45 * q01
    r0234 = p02 * q34 - p03 * q24 + p04 * q23
    r0234 += p23 * q04 - p24 * q03 + p34 * q02
    r0235 = p02 * q35 - p03 * q25 + p05 * q23
    r0235 += p23 * q05 - p25 * q03 + p35 * q02
    r0245 = p02 * q45 - p04 * q25 + p05 * q24
    r0245 += p24 * q05 - p25 * q04 + p45 * q02
    r0345 = p03 * q45 - p04 * q35 + p05 * q34
    r0345 += p34 * q05 - p35 * q04 + p45 * q03
    r1234 = p12 * q34 - p13 * q24 + p14 * q23
    r1234 += p23 * q14 - p24 * q13 + p34 * q12
    r1235 = p12 * q35 - p13 * q25 + p15 * q23
    r1235 += p23 * q15 - p25 * q13 + p35 * q12
    r1245 = p12 * q45 - p14 * q25 + p15 * q24
    r1245 += p24 * q15 - p25 * q14 + p45 * q12
    r1345 = p13 * q45 - p14 * q35 + p15 * q34
    r1345 += p34 * q15 - p35 * q14 + p45 * q13
    r2345 = p23 * q45 - p24 * q35 + p25 * q34
    r2345 += p34 * q25 - p35 * q24 + p45 * q23
    a0, a1, a2 = table[n, 0], table[n, 1], table[n, 2]
    a3, a4, a5 = table[n, 3], table[n, 4], table[n, 5]
    rays[to, 0] = a1 * r2345 - a2 * r1345 + a3 * r1245 - a4 * r1235 + a5 * r1234
    rays[to, 1] = a2 * r0345 - a0 * r2345 - a3 * r0245 + a4 * r0235 - a5 * r0234
    rays[to, 2] = a0 * r1345 - a1 * r0345 + a3 * r0145 - a4 * r0135 + a5 * r0134
    rays[to, 3] = a1 * r0245 - a0 * r1245 - a2 * r0145 + a4 * r0125 - a5 * r0124
    rays[to, 4] = a0 * r1235 - a1 * r0235 + a2 * r0135 - a3 * r0125 + a5 * r0123
    rays[to, 5] = a1 * r0234 - a0 * r1234 - a2 * r0134 + a3 * r0124 - a4 * r0123


@template
def _minors(stack: Any, d: int, basis: Any, ray: int) -> None:
    """The minors of d rows, with alternating signs, row by row."""
    table, minors, terms = stack.table, stack.minors, stack.terms
    for m in range(1, 1 << (d + 1)):
        minors[m] = 0.0
    minors[0] = 1.0
    for t in range(len(terms)):
        at = np.uint64(t)
        row = np.uint64(basis[np.uint64(terms[at, TERM_ROW])])
        x = table[row, np.uint64(terms[at, TERM_COLUMN])]
        x *= minors[np.uint64(terms[at, TERM_SMALLER])]
        minors[np.uint64(terms[at, TERM_MINOR])] += x * float(terms[at, TERM_SIGN])
    everything = (1 << (d + 1)) - 1
    for c in range(d + 1):
        x = minors[everything ^ (1 << c)]
        stack.rays[ray, c] = x if c % 2 == 0 else -x


@template
def orient(stack: Any, ray: int, common: Any, facet: int, d: int) -> bool:
    """Give a new ray its sign: step 2. False if that is in doubt.

    It is positive where `facet` is; and unless it lies at infinity, so is w.
    """
    rays, table, k = stack.rays, stack.table, np.uint64(ray)
    eps = rays[k, d + 1]
    value = rays[k, d]
    if not (abs(value) > eps and common & INFINITE == NONE):
        at = abs(facet) - 1
        value = row_value(table, at, rays, ray, d)
        if not abs(value) > unit_sign_bound(1.0001, table[at, d + 1], eps, d):
            return False
        if facet < 0:
            value = -value
    if value < 0.0:
        for c in range(d + 1):
            rays[k, c] = -rays[k, c]
    return True
