"""Sign tests and corners in the plane, with their error bounds.

For the columns of a corner see `_state`; steps are those of docs/error-bound.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tropicell._runtime.jit import inner_fused_kernel, inner_kernel, template
from tropicell.engines.cells._bounds import (
    PLANE_ROUNDINGS,
    scaled_corner_error,
    scaled_row_error,
    sign_bound,
)
from tropicell.engines.cells._state import (
    CORNER_AT,
    CROSSES,
    DOUBTFUL,
    EDGE_ERROR,
    EDGE_W,
    EDGE_X,
    EDGE_Y,
    ERROR,
    N_CORNERS,
    NEGATIVE,
    POSITIVE,
    W,
    X,
    Y,
)
from tropicell.geometry.rounding import INFLATE, ROUND


@template
def _row(lines: Any, before: Any, line: int, exact: bool) -> tuple[float, float, float, float]:
    """The row of a neuron's boundary, R - t, and its error e = E + γ (|b| + |t|): step 1.

    In float arithmetic bounds have no part that comes from the maps.
    """
    row = lines.line_row[line]
    error = before[ERROR, row] + lines.line_slack[line] if exact else 0.0
    return before[X, row], before[Y, row], before[W, row] - lines.line_at[line], error


@inner_kernel
def side(lines: Any, before: Any, line: int, poly: Any, start: int, n: int, exact: bool) -> int:
    """On which sides of a boundary the corners of a cell lie, as a set of bits: steps 3 and 4."""
    m0, m1, m2, error = _row(lines, before, line, exact)
    size = abs(m0) + abs(m1) + abs(m2)
    seen = 0
    for i in range(start, start + n):
        s = m0 * poly[i, X] + m1 * poly[i, Y] + m2 * poly[i, W]
        bound = sign_bound(size, error, poly[i, ERROR], 2, PLANE_ROUNDINGS)
        if s > bound:
            seen |= POSITIVE
        elif s < -bound:
            seen |= NEGATIVE
        else:
            seen |= DOUBTFUL
        if seen & CROSSES == CROSSES:
            return CROSSES
    if seen & DOUBTFUL:
        if not exact:
            return seen & CROSSES
        row = lines.line_row[line]
        if m0 == 0.0 and m1 == 0.0 and before[ERROR, row] == 0.0:
            # Step 1, constant neurons: nothing was summed, bias and breakpoint are both floats.
            return POSITIVE if before[W, row] > lines.line_at[line] else NEGATIVE
    return seen


@inner_kernel
def pair(lines: Any, before: Any, line: int, poly: Any, i: int, j: int, exact: bool) -> int:
    """Sides of two corners: POSITIVE or NEGATIVE if they agree surely, else CROSSES or 0."""
    m0, m1, m2, error = _row(lines, before, line, exact)
    size = abs(m0) + abs(m1) + abs(m2)
    eps = max(poly[i, ERROR], poly[j, ERROR])
    bound = sign_bound(size, error, eps, 2, PLANE_ROUNDINGS)
    a = m0 * poly[i, X] + m1 * poly[i, Y] + m2 * poly[i, W]
    b = m0 * poly[j, X] + m1 * poly[j, Y] + m2 * poly[j, W]
    if a > bound:
        return POSITIVE if b > bound else (CROSSES if b < -bound else 0)
    if a < -bound:
        return NEGATIVE if b < -bound else (CROSSES if b > bound else 0)
    return 0


@inner_kernel
def signs(lines: Any, before: Any, line: int, stack: Any, start: int, n: int, exact: bool) -> bool:
    """Fill ``stack.values`` with a boundary's row at all corners; False if a sign is doubtful.

    In float arithmetic doubtful values are 0, and False says that the signs do not
    make one run of each kind.
    """
    poly, values = stack.corners, stack.values
    m0, m1, m2, error = _row(lines, before, line, exact)
    size = abs(m0) + abs(m1) + abs(m2)
    for i in range(n):
        k = start + i
        s = m0 * poly[k, X] + m1 * poly[k, Y] + m2 * poly[k, W]
        bound = sign_bound(size, error, poly[k, ERROR], 2, PLANE_ROUNDINGS)
        if not (s > bound or s < -bound):
            if exact:
                return False
            s = 0.0
        values[i] = s
    if exact:
        return True
    rises = falls = 0
    for i in range(n):
        before_i = values[i - 1] if i else values[n - 1]
        rises += values[i] > 0.0 and before_i <= 0.0
        falls += values[i] < 0.0 and before_i >= 0.0
    return rises == 1 and falls == 1


@inner_fused_kernel
def _scan_four(rows: Any, poly: Any, first: int, last: int, eps: float, to: Any) -> None:
    """Sides of all neurons of a plain layer for the (at most four) corners first … last.

    `rows` has the columns of their rows, the errors of these, and what breakpoints and biases add
    to them. Writes 1 where all values are surely positive, -1 where surely negative, 0 elsewhere.
    One array is written, so that the loop becomes vector code.
    """
    m0, m1, m2, m3, slack = rows
    b, c, d = min(first + 1, last), min(first + 2, last), last
    a0, a1, a2 = poly[first, X], poly[first, Y], poly[first, W]
    b0, b1, b2 = poly[b, X], poly[b, Y], poly[b, W]
    c0, c1, c2 = poly[c, X], poly[c, Y], poly[c, W]
    d0, d1, d2 = poly[d, X], poly[d, Y], poly[d, W]
    for r in range(len(to)):
        x, y, z = m0[r], m1[r], m2[r]
        size, error = abs(x) + abs(y) + abs(z), m3[r] + slack[r]
        bound = sign_bound(size, error, eps, 2, PLANE_ROUNDINGS)
        va = x * a0 + y * a1 + z * a2
        vb = x * b0 + y * b1 + z * b2
        vc = x * c0 + y * c1 + z * c2
        vd = x * d0 + y * d1 + z * d2
        low1 = va if va < vb else vb
        low2 = vc if vc < vd else vd
        low = low1 if low1 < low2 else low2
        high1 = va if va > vb else vb
        high2 = vc if vc > vd else vd
        high = high1 if high1 > high2 else high2
        to[r] = (1.0 if low > bound else 0.0) - (1.0 if high < -bound else 0.0)


@inner_kernel
def scan(lines: Any, before: Any, layer: int, stack: Any, record: Any, exact: bool) -> None:
    """Fill ``stack.sides`` for a plain layer; 0 means that the neuron needs a closer look."""
    start, n = record[CORNER_AT], record[N_CORNERS]
    begin, end = lines.row_start[layer], lines.row_start[layer + 1]
    first = lines.line_start[layer]
    # In float arithmetic the bound has no part that comes from the maps.
    zero = stack.sides[2, : end - begin]
    m3 = before[ERROR, begin:end] if exact else zero
    slack = lines.line_slack[first : first + end - begin] if exact else zero
    eps = 0.0
    for i in range(start, start + n):
        eps = max(eps, stack.corners[i, ERROR])
    rows = before[X, begin:end], before[Y, begin:end], before[W, begin:end], m3, slack
    sides = stack.sides[0, : end - begin]
    _scan_four(rows, stack.corners, start, start + min(n, 4) - 1, eps, sides)
    for i in range(4, n, 4):
        more = stack.sides[1, : end - begin]
        _scan_four(rows, stack.corners, start + i, start + min(n, i + 4) - 1, eps, more)
        for r in range(end - begin):
            sides[r] = sides[r] if sides[r] == more[r] else 0.0


@inner_kernel
def edge_row(lines: Any, before: Any, label: int, exact: bool, poly: Any, i: int) -> None:
    """Write the row of an edge; the sign of its label says which side is inside."""
    line = abs(label) - 1
    sign = 1.0 if label > 0 else -1.0
    if lines.line_row[line] < 0:
        rows = lines.domain_rows
        m0, m1, m2, error = rows[line, X], rows[line, Y], rows[line, W], 0.0
    else:
        m0, m1, m2, error = _row(lines, before, line, exact)
    largest = max(abs(m0), abs(m1), abs(m2))
    factor = sign / largest
    poly[i, EDGE_X] = m0 * factor
    poly[i, EDGE_Y] = m1 * factor
    poly[i, EDGE_W] = m2 * factor
    poly[i, EDGE_ERROR] = scaled_row_error(error, largest)


@inner_kernel
def meet(poly: Any, a: int, b: int, sign: float, to: int) -> None:
    """Write the vertex where the edges of two corners meet, sign * (a × b), to a third: step 2."""
    a0, a1, a2, ea = poly[a, EDGE_X], poly[a, EDGE_Y], poly[a, EDGE_W], poly[a, EDGE_ERROR]
    b0, b1, b2, eb = poly[b, EDGE_X], poly[b, EDGE_Y], poly[b, EDGE_W], poly[b, EDGE_ERROR]
    v0 = sign * (a1 * b2 - a2 * b1)
    v1 = sign * (a2 * b0 - a0 * b2)
    v2 = sign * (a0 * b1 - a1 * b0)
    # 2 (η_a + η_b + η_a η_b) + 8 u
    error = (2.0 * (ea + eb + ea * eb) + 8.0 * ROUND) * INFLATE
    size = abs(v0) + abs(v1) + abs(v2)
    if size > 0.0:
        poly[to, X], poly[to, Y], poly[to, W] = v0 / size, v1 / size, v2 / size
        poly[to, ERROR] = scaled_corner_error(error, size)
    else:
        poly[to, X], poly[to, Y], poly[to, W], poly[to, ERROR] = 0.0, 0.0, 0.0, np.inf


@inner_kernel
def between(poly: Any, i: int, si: float, j: int, sj: float, tol: float, to: int) -> None:
    """Write the point where a boundary meets the edge from corner i to j, in float arithmetic.

    `si` and `sj` are the boundary's values there.
    """
    a, b = abs(si), abs(sj)
    v0 = b * poly[i, X] + a * poly[j, X]
    v1 = b * poly[i, Y] + a * poly[j, Y]
    v2 = b * poly[i, W] + a * poly[j, W]
    size = abs(v0) + abs(v1) + abs(v2)
    poly[to, X], poly[to, Y], poly[to, W] = v0 / size, v1 / size, v2 / size
    poly[to, ERROR] = tol
