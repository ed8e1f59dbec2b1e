"""Cutting a polygon in two, and handing its open lines down to the halves."""

from __future__ import annotations

from typing import Any

from tropicell._runtime.jit import kernel
from tropicell.engines.cells._plane_tests import between, edge_row, meet, pair, side, signs
from tropicell.engines.cells._state import (
    CONFLICTS,
    CORNERS,
    CROSSES,
    DOUBTFUL,
    PATTERNS,
    POSITIVE,
    SPLITS,
    TESTS,
    TOP,
)


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
    edge_row(lines, before, line + 1, exact, old, row)
    r0, r1, r2, er = old[row, 5], old[row, 6], old[row, 7], old[row, 8]
    # Where the line enters the positive half: vertex n + 1; where it leaves it: n + 2.
    enter, leave = n + 1, n + 2
    if values[into] == 0.0:
        _copy_vertex(old, into, old, enter)
    elif exact:
        meet(r0, r1, r2, er, old, into, 1.0, old, enter)
    else:
        between(old, into, values[into], a, values[a], tol, old, enter)
    if values[into] != 0.0:
        old[enter, 4] = old[into, 4] * old[a, 4]
    after_b = b + 1 if b + 1 < n else 0
    if values[after_b] == 0.0:
        _copy_vertex(old, after_b, old, leave)
    elif exact:
        meet(r0, r1, r2, er, old, out, -1.0, old, leave)
    else:
        between(old, b, values[b], after_b, values[after_b], tol, old, leave)
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


@kernel
def split(
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
    if not signs(lines, before, line, stack, start, n, exact):
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
        ends = pair(lines, before, line, stack.poly, enter, leave, exact)
        if ends == CROSSES:
            seen = seen_n = CROSSES
        elif ends == 0:
            seen = side(lines, before, line, stack.poly, start, np_, exact)
            seen_n = side(lines, before, line, stack.poly, start + np_, nn, exact)
        else:
            # The line crosses the whole cell but not the cut, so exactly one of the halves,
            # and the other one lies on the side of the cut.
            seen = side(lines, before, line, stack.poly, start + 1, np_ - 2, exact)
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
