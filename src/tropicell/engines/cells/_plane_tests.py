"""Sign tests and corners in the plane, with their error bounds.

See docs/error-bound.md, and _cells_plane.py for the columns of a corner.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tropicell._runtime.jit import fused_kernel, kernel
from tropicell.engines.cells._state import CROSSES, DOUBTFUL, NEGATIVE, POSITIVE
from tropicell.geometry.rounding import INFLATE, ROUND


@kernel
def side(lines: Any, before: Any, line: int, poly: Any, start: int, n: int, exact: bool) -> int:
    """On which sides of a line the corners of a cell lie, as a set of bits."""
    row = lines.line_row[line]
    m0, m1, m2 = before[0, row], before[1, row], before[2, row] - lines.line_at[line]
    size = abs(m0) + abs(m1) + abs(m2)
    error = before[3, row] + lines.line_slack[line] if exact else 0.0
    seen = 0
    for i in range(start, start + n):
        s = m0 * poly[i, 0] + m1 * poly[i, 1] + m2 * poly[i, 2]
        eps = poly[i, 3]
        bound = size * (eps + 8.0 * ROUND) + error * (1.0001 + 3.0 * eps)
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
        if m0 == 0.0 and m1 == 0.0 and before[3, row] == 0.0:
            # Nothing was summed: the neuron is its bias, a float, and so is the breakpoint.
            return POSITIVE if before[2, row] > lines.line_at[line] else NEGATIVE
    return seen


@kernel
def pair(lines: Any, before: Any, line: int, poly: Any, i: int, j: int, exact: bool) -> int:
    """Sides of two corners: POSITIVE or NEGATIVE if they agree surely, else CROSSES or 0."""
    row = lines.line_row[line]
    m0, m1, m2 = before[0, row], before[1, row], before[2, row] - lines.line_at[line]
    size = abs(m0) + abs(m1) + abs(m2)
    error = before[3, row] + lines.line_slack[line] if exact else 0.0
    eps = max(poly[i, 3], poly[j, 3])
    bound = size * (eps + 8.0 * ROUND) + error * (1.0001 + 3.0 * eps)
    a = m0 * poly[i, 0] + m1 * poly[i, 1] + m2 * poly[i, 2]
    b = m0 * poly[j, 0] + m1 * poly[j, 1] + m2 * poly[j, 2]
    if a > bound:
        return POSITIVE if b > bound else (CROSSES if b < -bound else 0)
    if a < -bound:
        return NEGATIVE if b < -bound else (CROSSES if b > bound else 0)
    return 0


@kernel
def signs(lines: Any, before: Any, line: int, stack: Any, start: int, n: int, exact: bool) -> bool:
    """Fill ``stack.values`` with the line at all corners; False if one is doubtful.

    In float arithmetic doubtful values are 0, and False says that the signs do not
    make one run of each kind.
    """
    row = lines.line_row[line]
    poly, values = stack.poly, stack.values
    m0, m1, m2 = before[0, row], before[1, row], before[2, row] - lines.line_at[line]
    size = abs(m0) + abs(m1) + abs(m2)
    error = before[3, row] + lines.line_slack[line] if exact else 0.0
    for i in range(n):
        k = start + i
        s = m0 * poly[k, 0] + m1 * poly[k, 1] + m2 * poly[k, 2]
        eps = poly[k, 3]
        bound = size * (eps + 8.0 * ROUND) + error * (1.0001 + 3.0 * eps)
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


@fused_kernel
def _scan_four(
    m0: Any, m1: Any, m2: Any, m3: Any, slack: Any, p: Any, s: int, last: int, eps: float, to: Any
) -> None:
    """Sides of all neurons of a plain layer for the (at most four) corners s … last.

    Writes 1 where all values are surely positive, -1 where surely negative, 0 elsewhere. One array
    is written, so that the loop becomes vector code.
    """
    b, c, d = min(s + 1, last), min(s + 2, last), last
    a0, a1, a2 = p[s, 0], p[s, 1], p[s, 2]
    b0, b1, b2 = p[b, 0], p[b, 1], p[b, 2]
    c0, c1, c2 = p[c, 0], p[c, 1], p[c, 2]
    d0, d1, d2 = p[d, 0], p[d, 1], p[d, 2]
    relative = eps + 8.0 * ROUND
    factor = 1.0001 + 3.0 * eps
    for r in range(len(to)):
        x, y, z = m0[r], m1[r], m2[r]
        bound = (abs(x) + abs(y) + abs(z)) * relative + (m3[r] + slack[r]) * factor
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


@kernel
def scan_plain(
    lines: Any, before: Any, layer: int, stack: Any, start: int, n: int, exact: bool
) -> None:
    """Fill ``stack.sides`` for a plain layer; 0 means that the neuron needs a closer look."""
    begin, end = lines.row_start[layer], lines.row_start[layer + 1]
    first = lines.line_start[layer]
    # In float arithmetic the bound has no part that comes from the maps.
    zero = stack.sides[2, : end - begin]
    m3 = before[3, begin:end] if exact else zero
    slack = lines.line_slack[first : first + end - begin] if exact else zero
    eps = 0.0
    for i in range(start, start + n):
        eps = max(eps, stack.poly[i, 3])
    m0, m1, m2 = before[0, begin:end], before[1, begin:end], before[2, begin:end]
    sides = stack.sides[0, : end - begin]
    last = start + min(n, 4) - 1
    _scan_four(m0, m1, m2, m3, slack, stack.poly, start, last, eps, sides)
    for i in range(4, n, 4):
        more = stack.sides[1, : end - begin]
        last = start + min(n, i + 4) - 1
        _scan_four(m0, m1, m2, m3, slack, stack.poly, start + i, last, eps, more)
        for r in range(end - begin):
            sides[r] = sides[r] if sides[r] == more[r] else 0.0


@kernel
def edge_row(lines: Any, before: Any, label: int, exact: bool, poly: Any, i: int) -> None:
    """Write the row of an edge; the sign of its label says which side is inside."""
    line = abs(label) - 1
    row = lines.line_row[line]
    sign = 1.0 if label > 0 else -1.0
    if row < 0:
        m0, m1, m2 = (
            lines.domain_rows[line, 0],
            lines.domain_rows[line, 1],
            lines.domain_rows[line, 2],
        )
        error = 0.0
    else:
        m0, m1, m2 = before[0, row], before[1, row], before[2, row] - lines.line_at[line]
        error = before[3, row] + lines.line_slack[line] if exact else 0.0
    largest = max(abs(m0), abs(m1), abs(m2))
    factor = sign / largest
    poly[i, 5] = m0 * factor
    poly[i, 6] = m1 * factor
    poly[i, 7] = m2 * factor
    poly[i, 8] = error / largest * INFLATE + 8.0 * ROUND


@kernel
def meet(
    a0: float, a1: float, a2: float, ea: float, b: Any, j: int, sign: float, out: Any, i: int
) -> None:
    """Write the vertex sign * (a × b), b the edge of corner j, with its error bound."""
    b0, b1, b2, eb = b[j, 5], b[j, 6], b[j, 7], b[j, 8]
    v0 = sign * (a1 * b2 - a2 * b1)
    v1 = sign * (a2 * b0 - a0 * b2)
    v2 = sign * (a0 * b1 - a1 * b0)
    error = (2.0 * (ea + eb + ea * eb) + 8.0 * ROUND) * INFLATE
    size = abs(v0) + abs(v1) + abs(v2)
    if size > 0.0:
        out[i, 0], out[i, 1], out[i, 2] = v0 / size, v1 / size, v2 / size
        out[i, 3] = error / size * INFLATE + 4.0 * ROUND
    else:
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = 0.0, 0.0, 0.0, np.inf


@kernel
def between(p: Any, i: int, si: float, j: int, sj: float, tol: float, out: Any, k: int) -> None:
    """Write the point where the line meets the edge from corner i to j, in float arithmetic."""
    a, b = abs(si), abs(sj)
    v0 = b * p[i, 0] + a * p[j, 0]
    v1 = b * p[i, 1] + a * p[j, 1]
    v2 = b * p[i, 2] + a * p[j, 2]
    size = abs(v0) + abs(v1) + abs(v2)
    out[k, 0], out[k, 1], out[k, 2], out[k, 3] = v0 / size, v1 / size, v2 / size, tol
