"""The kernel for two dimensions: polygons with ordered homogeneous vertices.

A cell is a list of corners in counter-clockwise order. Corner i has a vertex (x, y, w), whose
absolute coordinates add up to 1, and the edge from it to the next corner: the row a with
``a · v >= 0`` inside, largest coefficient 1, and its label. ``w = 0`` for rays; the line at infinity
is an edge like any other. The columns of a corner are: vertex (3), its error bound, 1 if it is
a ray (known from where it comes from, not from w), row of the edge (3), its error bound.

The stack of cells lies in flat arrays, the top cell last, so that a cell is replaced by its two
halves in place, and the kernel can stop after any step and go on later.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from tropicell.engines._jit import fused_kernel, kernel

from tropicell.engines._cells_maps import enter_layer
from tropicell.engines._cells_state import (
    BATCH_FULL,
    CONFLICTS,
    CORNERS,
    COUNT,
    DONE,
    GROW,
    OUT,
    OUT_CORNERS,
    PATTERNS,
    SEED,
    SPLITS,
    STEPS,
    TESTS,
    TOP,
    UNSURE,
    UNSURE_CONFLICTS,
    UNSURE_CORNERS,
    UNSURE_FULL,
)

_ROUND = 2.0**-53
_INFLATE = 1.0000001
POSITIVE, NEGATIVE, DOUBTFUL = 1, 2, 4
CROSSES = 3

#: Vertices of stored regions are at least this sharp, relative to the scaled coordinates.
_SHARP = 1e-7


@kernel
def _side(
    lines: Any, before: Any, line: int, poly: Any, start: int, n: int, exact: bool
) -> int:
    """On which sides of a line the corners of a cell lie, as a set of bits."""
    row = lines.line_row[line]
    m0, m1, m2 = before[0, row], before[1, row], before[2, row] - lines.line_at[line]
    size = abs(m0) + abs(m1) + abs(m2)
    error = before[3, row] + lines.line_slack[line] if exact else 0.0
    seen = 0
    for i in range(start, start + n):
        s = m0 * poly[i, 0] + m1 * poly[i, 1] + m2 * poly[i, 2]
        eps = poly[i, 3]
        bound = size * (eps + 8.0 * _ROUND) + error * (1.0001 + 3.0 * eps)
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
def _edge(lines: Any, before: Any, label: int, exact: bool, poly: Any, i: int) -> None:
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
    poly[i, 8] = error / largest * _INFLATE + 8.0 * _ROUND


@kernel
def _meet(
    a0: float, a1: float, a2: float, ea: float, b: Any, j: int, sign: float, out: Any, i: int
) -> None:
    """Write the vertex sign * (a × b), b the edge of corner j, with its error bound."""
    b0, b1, b2, eb = b[j, 5], b[j, 6], b[j, 7], b[j, 8]
    v0 = sign * (a1 * b2 - a2 * b1)
    v1 = sign * (a2 * b0 - a0 * b2)
    v2 = sign * (a0 * b1 - a1 * b0)
    error = (2.0 * (ea + eb + ea * eb) + 8.0 * _ROUND) * _INFLATE
    size = abs(v0) + abs(v1) + abs(v2)
    if size > 0.0:
        out[i, 0], out[i, 1], out[i, 2] = v0 / size, v1 / size, v2 / size
        out[i, 3] = error / size * _INFLATE + 4.0 * _ROUND
    else:
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = 0.0, 0.0, 0.0, np.inf


@kernel
def _between(p: Any, i: int, si: float, j: int, sj: float, tol: float, out: Any, k: int) -> None:
    """Write the point where the line meets the edge from corner i to j, in float arithmetic."""
    a, b = abs(si), abs(sj)
    v0 = b * p[i, 0] + a * p[j, 0]
    v1 = b * p[i, 1] + a * p[j, 1]
    v2 = b * p[i, 2] + a * p[j, 2]
    size = abs(v0) + abs(v1) + abs(v2)
    out[k, 0], out[k, 1], out[k, 2], out[k, 3] = v0 / size, v1 / size, v2 / size, tol


@kernel
def _copy_corner(source: Any, labels: Any, i: int, poly: Any, to: Any, j: int) -> None:
    for c in range(9):
        poly[j, c] = source[i, c]
    to[j] = labels[i]


@kernel
def _copy_edge(source: Any, labels: Any, i: int, poly: Any, to: Any, j: int) -> None:
    for c in range(5, 9):
        poly[j, c] = source[i, c]
    to[j] = labels[i]


@kernel
def _copy_vertex(source: Any, i: int, poly: Any, j: int) -> None:
    for c in range(5):
        poly[j, c] = source[i, c]


@kernel
def _signs(
    lines: Any, before: Any, line: int, stack: Any, start: int, n: int, exact: bool
) -> bool:
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
        bound = size * (eps + 8.0 * _ROUND) + error * (1.0001 + 3.0 * eps)
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


@kernel
def _halve(
    lines: Any, before: Any, line: int, stack: Any, start: int, n: int, exact: bool, tol: float
) -> tuple[int, int]:
    """Replace the cell at `start` by its positive half and, right after it, its negative half.

    ``stack.values`` holds the line at the corners, one run of each sign.
    """
    poly, labels, values = stack.poly, stack.labels, stack.values
    old, old_labels = stack.old_poly, stack.old_labels
    for i in range(n):
        _copy_corner(poly, labels, start + i, old, old_labels, i)
    # a … b are the positive corners, c … e the negative ones, in cyclic order.
    a = b = c = e = 0
    for i in range(n):
        last = i - 1 if i else n - 1
        if values[i] > 0.0 and values[last] <= 0.0:
            a = i
        if values[i] <= 0.0 and values[last] > 0.0:
            b = last
        if values[i] < 0.0 and values[last] >= 0.0:
            c = i
        if values[i] >= 0.0 and values[last] < 0.0:
            e = last
    into, out = (a - 1 if a else n - 1), b  # the edges that the line crosses, or ends at
    row = n
    _edge(lines, before, line + 1, exact, old, row)
    r0, r1, r2, er = old[row, 5], old[row, 6], old[row, 7], old[row, 8]
    # Where the line enters the positive half: vertex n + 1; where it leaves it: n + 2.
    enter, leave = n + 1, n + 2
    if values[into] == 0.0:
        _copy_vertex(old, into, old, enter)
    elif exact:
        _meet(r0, r1, r2, er, old, into, 1.0, old, enter)
    else:
        _between(old, into, values[into], a, values[a], tol, old, enter)
    if values[into] != 0.0:
        old[enter, 4] = old[into, 4] * old[a, 4]
    after_b = b + 1 if b + 1 < n else 0
    if values[after_b] == 0.0:
        _copy_vertex(old, after_b, old, leave)
    elif exact:
        _meet(r0, r1, r2, er, old, out, -1.0, old, leave)
    else:
        _between(old, b, values[b], after_b, values[after_b], tol, old, leave)
    if values[after_b] != 0.0:
        old[leave, 4] = old[b, 4] * old[after_b, 4]
    # The positive half: enter, a … b, leave.
    k = start
    _copy_vertex(old, enter, poly, k)
    _copy_edge(old, old_labels, into, poly, labels, k)
    k += 1
    i = a
    while True:
        _copy_corner(old, old_labels, i, poly, labels, k)
        k += 1
        if i == b:
            break
        i = i + 1 if i + 1 < n else 0
    _copy_vertex(old, leave, poly, k)
    _copy_edge(old, old_labels, row, poly, labels, k)
    labels[k] = line + 1
    k += 1
    positive = k - start
    # The negative half: leave (or the last of several zeros), c … e, enter (or the first zero).
    before_c = c - 1 if c else n - 1
    if values[before_c] == 0.0:
        _copy_corner(old, old_labels, before_c, poly, labels, k)
    else:
        _copy_vertex(old, leave, poly, k)
        _copy_edge(old, old_labels, out, poly, labels, k)
    k += 1
    i = c
    while True:
        _copy_corner(old, old_labels, i, poly, labels, k)
        k += 1
        if i == e:
            break
        i = i + 1 if i + 1 < n else 0
    after_e = e + 1 if e + 1 < n else 0
    _copy_vertex(old, after_e if values[after_e] == 0.0 else enter, poly, k)
    for col in range(5, 8):
        poly[k, col] = -old[row, col]
    poly[k, 8] = er
    labels[k] = -(line + 1)
    k += 1
    return positive, k - start - positive


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
    relative = eps + 8.0 * _ROUND
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
def _scan_plain(
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
def _pair(
    lines: Any, before: Any, line: int, poly: Any, i: int, j: int, exact: bool
) -> int:
    """Sides of two corners: POSITIVE or NEGATIVE if they agree surely, else CROSSES or 0."""
    row = lines.line_row[line]
    m0, m1, m2 = before[0, row], before[1, row], before[2, row] - lines.line_at[line]
    size = abs(m0) + abs(m1) + abs(m2)
    error = before[3, row] + lines.line_slack[line] if exact else 0.0
    eps = max(poly[i, 3], poly[j, 3])
    bound = size * (eps + 8.0 * _ROUND) + error * (1.0001 + 3.0 * eps)
    a = m0 * poly[i, 0] + m1 * poly[i, 1] + m2 * poly[i, 2]
    b = m0 * poly[j, 0] + m1 * poly[j, 1] + m2 * poly[j, 2]
    if a > bound:
        return POSITIVE if b > bound else (CROSSES if b < -bound else 0)
    if a < -bound:
        return NEGATIVE if b < -bound else (CROSSES if b > bound else 0)
    return 0


@kernel
def _start_layer(
    lines: Any, before: Any, layer: int, stack: Any, record: Any, exact: bool, state: Any
) -> None:
    """Turn the top record into one of `layer`: which of its lines cross the cell?"""
    start, n, conflict, pattern = record[2], record[1], record[4], record[5]
    begin = lines.row_start[layer]
    width = lines.row_start[layer + 1] - begin
    pieces = stack.patterns[pattern : pattern + width]
    pieces[:] = 0
    first, last = lines.line_start[layer], lines.line_start[layer + 1]
    count, doubtful = 0, 0
    plain = lines.plain[layer]
    sides = stack.sides[0]
    if plain:
        _scan_plain(lines, before, layer, stack, start, n, exact)
    state[TESTS] += n * (last - first)
    for line in range(first, last):
        if plain:
            r = line - first
            if sides[r] != 0.0:
                pieces[r] = sides[r] > 0.0
                continue
        seen = _side(lines, before, line, stack.poly, start, n, exact)
        if seen == POSITIVE:
            pieces[lines.line_row[line] - begin] += 1
        elif seen & CROSSES == CROSSES:
            stack.conflicts[conflict + count] = line
            count += 1
        elif seen & DOUBTFUL:
            # A cell that comes from within the layer has edges on some of its lines.
            known = 0
            for i in range(start, start + n):
                if abs(stack.labels[i]) == line + 1:
                    known = stack.labels[i]
            if known > 0:
                pieces[lines.line_row[line] - begin] += 1
            elif known == 0:
                stack.conflicts[conflict + count] = line
                count += 1
                doubtful = 1
    record[0] = layer
    record[3] = count
    record[6] = doubtful
    state[CONFLICTS] = conflict + count
    state[PATTERNS] = pattern + width


@kernel
def _split(
    lines: Any,
    before: Any,
    stack: Any,
    records: Any,
    exact: bool,
    tol: float,
    store: bool,
    state: Any,
) -> None:
    """Cut the top cell by the last line of its conflict list."""
    top = state[TOP] - 1
    record = records[top]
    layer, n, start, count, conflict, pattern = (
        record[0],
        record[1],
        record[2],
        record[3],
        record[4],
        record[5],
    )
    begin = lines.row_start[layer]
    width = lines.row_start[layer + 1] - begin
    line = stack.conflicts[conflict + count - 1]
    neuron = lines.line_row[line] - begin
    state[TESTS] += n
    if not _signs(lines, before, line, stack, start, n, exact):
        if exact:
            record[6] = 1
            return
        # Rounding made nonsense of a line that barely touches the cell: it does not cross.
        total = 0.0
        for i in range(n):
            total += stack.values[i]
        stack.patterns[pattern + neuron] += total > 0.0
        record[3] = count - 1
        state[CONFLICTS] -= 1
        return
    state[SPLITS] += 1
    np_, nn = _halve(lines, before, line, stack, start, n, exact, tol)
    other = records[top + 1]
    # Who only counts does not need the pieces of the last layer.
    keep = store or layer < lines.depth
    if keep:
        for j in range(width):
            stack.patterns[pattern + width + j] = stack.patterns[pattern + j]
        stack.patterns[pattern + neuron] += 1
    kept, handed = 0, 0
    doubtful_p, doubtful_n = 0, 0
    enter, leave = start, start + np_ - 1  # the ends of the cut
    for k in range(count - 1):
        line = stack.conflicts[conflict + k]
        ends = _pair(lines, before, line, stack.poly, enter, leave, exact)
        if ends == CROSSES:
            seen = seen_n = CROSSES
        elif ends == 0:
            seen = _side(lines, before, line, stack.poly, start, np_, exact)
            seen_n = _side(lines, before, line, stack.poly, start + np_, nn, exact)
        else:
            # The line crosses the whole cell but not the cut, so exactly one of the halves,
            # and the other one lies on the side of the cut.
            seen = _side(lines, before, line, stack.poly, start + 1, np_ - 2, exact)
            if (seen | ends) & CROSSES == CROSSES:
                seen, seen_n = CROSSES, ends
            else:
                seen, seen_n = ends, CROSSES
        if seen & CROSSES == CROSSES:
            stack.conflicts[conflict + kept] = line
            kept += 1
        elif seen & DOUBTFUL:
            stack.conflicts[conflict + kept] = line
            kept += 1
            doubtful_p = 1
        elif seen == POSITIVE and keep:
            stack.patterns[pattern + lines.line_row[line] - begin] += 1
        if seen_n & CROSSES == CROSSES:
            stack.handed[handed] = line
            handed += 1
        elif seen_n & DOUBTFUL:
            stack.handed[handed] = line
            handed += 1
            doubtful_n = 1
        elif seen_n == POSITIVE and keep:
            stack.patterns[pattern + width + lines.line_row[line] - begin] += 1
    state[TESTS] += (count - 1) * (np_ + nn)
    for k in range(handed):
        stack.conflicts[conflict + kept + k] = stack.handed[k]
    record[1], record[3], record[6] = np_, kept, doubtful_p
    other[0], other[1], other[2], other[3] = layer, nn, start + np_, handed
    other[4], other[5], other[6] = conflict + kept, pattern + width, doubtful_n
    state[TOP] += 1
    state[CORNERS] = start + np_ + nn
    state[CONFLICTS] = conflict + kept + handed
    state[PATTERNS] = pattern + 2 * width


@kernel
def _pop(state: Any, record: Any) -> None:
    state[TOP] -= 1
    state[CORNERS] = record[2]
    state[CONFLICTS] = record[4]
    state[PATTERNS] = record[5]


@kernel
def _witness(stack: Any, start: int, n: int, exact: bool) -> tuple[bool, float, float]:
    """A point inside the cell, in scaled coordinates, and whether the cell is well known.

    That is: the point is surely inside, and no vertex may be off by more than `_SHARP`.
    """
    poly = stack.poly
    x = y = rx = ry = 0.0
    finite = 0
    sharp = True
    for i in range(start, start + n):
        if poly[i, 4] != 0.0:
            rx += poly[i, 0]
            ry += poly[i, 1]
        else:
            w = poly[i, 2]
            x += poly[i, 0] / w
            y += poly[i, 1] / w
            finite += 1
            sharp = sharp and poly[i, 3] < _SHARP * w
    x, y = x / finite + rx, y / finite + ry
    if not exact:
        return True, x, y
    for i in range(start, start + n):
        a0, a1, a2 = poly[i, 5] * x, poly[i, 6] * y, poly[i, 7]
        bound = poly[i, 8] * (abs(x) + abs(y) + 1.0) * _INFLATE
        bound += 8.0 * _ROUND * (abs(a0) + abs(a1) + abs(a2))
        sharp = sharp and a0 + a1 + a2 > bound
    return sharp, x, y


@kernel
def _emit(
    lines: Any,
    stack: Any,
    record: Any,
    pattern: Any,
    out: Any,
    exact: bool,
    volumes: bool,
    state: Any,
) -> bool:
    """Store the top cell as a region; False if its geometry needs exact arithmetic."""
    k, c = state[OUT], state[OUT_CORNERS]
    n, start, layer = record[1], record[2], record[0]
    poly, vertices = stack.poly, out.vertices
    sharp, x, y = _witness(stack, start, n, exact)
    if not sharp:
        return False
    s0, s1 = lines.scale[0], lines.scale[1]
    out.witnesses[k, 0], out.witnesses[k, 1] = x / s0, y / s1
    neurons = lines.row_start[layer + 1] - lines.row_start[1]
    prefix = lines.row_start[layer] - lines.row_start[1]
    row, own = out.patterns[k], stack.patterns[record[5] :]
    for j in range(prefix):
        row[j] = pattern[j]
    rest = row[prefix:neurons]
    for j in range(len(rest)):
        rest[j] = own[j]
    bounded = True
    for i in range(n):
        at = start + i
        w = poly[at, 2]
        if poly[at, 4] != 0.0:
            bounded = False
            w = 1.0
        vertices[c + i, 0] = poly[at, 0] / w / s0
        vertices[c + i, 1] = poly[at, 1] / w / s1
        vertices[c + i, 2] = 0.0 if poly[at, 4] != 0.0 else 1.0
        out.labels[c + i] = stack.labels[at]
    area = np.nan if bounded else np.inf
    if bounded and volumes:
        area = 0.0
        x, y = vertices[c, 0], vertices[c, 1]
        for i in range(1, n - 1):
            ax, ay = vertices[c + i, 0] - x, vertices[c + i, 1] - y
            bx, by = vertices[c + i + 1, 0] - x, vertices[c + i + 1, 1] - y
            area += 0.5 * (ax * by - ay * bx)
    out.volumes[k] = area
    out.bounded[k] = bounded
    out.inside[k] = exact
    out.vertex_counts[k] = n
    out.facet_counts[k] = n
    state[OUT] += 1
    state[OUT_CORNERS] += n
    return True


@kernel
def _hand_out(lines: Any, stack: Any, record: Any, pattern: Any, unsure: Any, state: Any) -> bool:
    """Put the top cell on the list of those that need exact arithmetic."""
    k, c, f = state[UNSURE], state[UNSURE_CORNERS], state[UNSURE_CONFLICTS]
    layer, n, count = record[0], record[1], record[3]
    if (
        k >= len(unsure.layers)
        or c + n > len(unsure.labels)
        or f + count > len(unsure.conflicts)
    ):
        return False
    prefix = lines.row_start[layer] - lines.row_start[1]
    width = lines.row_start[layer + 1] - lines.row_start[layer]
    for j in range(prefix):
        unsure.patterns[k, j] = pattern[j]
    for j in range(width):
        unsure.patterns[k, prefix + j] = stack.patterns[record[5] + j]
    for i in range(n):
        unsure.labels[c + i] = stack.labels[record[2] + i]
    for i in range(count):
        unsure.conflicts[f + i] = stack.conflicts[record[4] + i]
    unsure.layers[k] = layer
    unsure.facet_ends[k] = c + n
    unsure.conflict_ends[k] = f + count
    state[UNSURE] += 1
    state[UNSURE_CORNERS] += n
    state[UNSURE_CONFLICTS] += count
    return True


@kernel
def _plant(
    lines: Any, before: Any, stack: Any, record: Any, seeds: Any, exact: bool, tol: float, state: Any
) -> None:
    """Put the next seed on the empty stack; the maps are those of its pattern."""
    k = state[SEED]
    first = seeds.facet_ends[k - 1] if k else 0
    n = seeds.facet_ends[k] - first
    p = stack.poly
    for i in range(n):
        stack.labels[i] = seeds.labels[first + i]
        _edge(lines, before, stack.labels[i], exact, p, i)
    for i in range(n):
        j = i - 1 if i else n - 1
        _meet(p[j, 5], p[j, 6], p[j, 7], p[j, 8], p, i, 1.0, p, i)
        p[i, 4] = seeds.signs[first + i]
        if not exact:
            p[i, 3] = tol
    record[1], record[2], record[4], record[5] = n, 0, 0, 0
    state[TOP] = 1
    state[CORNERS] = n
    state[SEED] += 1


@kernel
def run_plane(
    program: Any,
    before: Any,
    after: Any,
    pattern: Any,
    changes: Any,
    stack: Any,
    records: Any,
    seeds: Any,
    out: Any,
    unsure: Any,
    state: Any,
    exact: bool,
    tol: float,
    store: bool,
    volumes: bool,
    most_regions: int,
    most_steps: int,
) -> int:
    """Cut cells until all is done, a buffer is full, or a budget is spent."""
    maps, lines = program.maps, program.lines
    depth = lines.depth
    neurons = lines.row_start[depth + 1] - lines.row_start[1]
    steps = 0
    while True:
        if steps >= most_steps or state[COUNT] >= most_regions:
            state[STEPS] += steps
            return BATCH_FULL
        steps += 1
        top = state[TOP]
        if top == 0:
            if state[SEED] >= len(seeds.layers):
                return DONE
            k = state[SEED]
            n = seeds.facet_ends[k] - (seeds.facet_ends[k - 1] if k else 0)
            if n + 4 > len(stack.poly) or n + 4 > len(stack.old_poly):
                return GROW
            layer, target = 0, seeds.layers[k]
            pieces = seeds.patterns
        else:
            record = records[top - 1]
            if record[6]:
                if not _hand_out(lines, stack, record, pattern, unsure, state):
                    return UNSURE_FULL
                _pop(state, record)
                continue
            layer, n, count = record[0], record[1], record[3]
            if layer == depth and count <= 1 and not store:
                state[COUNT] += 1 + count
                _pop(state, record)
                continue
            if count == 0 and layer == depth:
                if state[OUT] >= len(out.volumes) or state[OUT_CORNERS] + n > len(out.labels):
                    return BATCH_FULL
                if _emit(lines, stack, record, pattern, out, exact, volumes, state):
                    state[COUNT] += 1
                    _pop(state, record)
                else:
                    record[6] = 1
                continue
            if count > 0:
                if (
                    state[CORNERS] + 8 > len(stack.poly)
                    or n + 8 > len(stack.old_poly)
                    or top + 1 >= len(records)
                    or state[CONFLICTS] + 2 * stack.margin[0] > len(stack.conflicts)
                    or state[PATTERNS] + 2 * stack.margin[1] > len(stack.patterns)
                ):
                    return GROW
                _split(lines, before, stack, records, exact, tol, store, state)
                continue
            target, pieces = layer + 1, stack.patterns
        # From here: enter the layers up to `target`, and see which of its lines cross the cell.
        for at in range(layer, target):
            if top == 0:
                changes[at + 1] = -1
                place = k * neurons + lines.row_start[at] - lines.row_start[1]
            else:
                place = records[top - 1, 5]
            enter_layer(
                maps,
                before,
                after,
                pattern,
                at,
                pieces,
                place,
                changes,
                exact,
                stack.rows,
                stack.change,
            )
        if top == 0:
            _plant(lines, before, stack, records[0], seeds, exact, tol, state)
        _start_layer(lines, before, target, stack, records[state[TOP] - 1], exact, state)
