"""Cutting a polygon in two, and handing the boundaries that still cross it down to the halves.

Step 4 of docs/error-bound.md says why the halves are known as soon as all signs are.
"""

from __future__ import annotations

from typing import Any

from tropicell._runtime.jit import inner_kernel, template
from tropicell.engines.cells._plane_tests import between, edge_row, meet, pair, side, signs
from tropicell.engines.cells._state import (
    AT_INFINITY,
    CONFLICT_AT,
    CONFLICTS,
    CORNER_AT,
    CORNERS,
    CROSSES,
    CUT_ROOM,
    DOUBTFUL,
    EDGE_ERROR,
    EDGE_X,
    IN_DOUBT,
    LAYER,
    N_CONFLICTS,
    N_CORNERS,
    PATTERNS,
    PIECES_AT,
    POLYGON_SIZE,
    POSITIVE,
    SPLITS,
    TESTS,
    TOP,
)


@template
def cut_steps(n: int) -> int:
    """As how many steps more the cut of a polygon of n corners counts: it is soon done."""
    return 0


@template
def is_halted(stack: Any) -> bool:
    """Whether another thread wants the kernel to come back: in the plane it does so by itself."""
    return False


@inner_kernel
def _copy_corner(source: Any, labels: Any, i: int, poly: Any, to: Any, j: int) -> None:
    for c in range(POLYGON_SIZE):
        poly[j, c] = source[i, c]
    to[j] = labels[i]


@inner_kernel
def _copy_edge(source: Any, labels: Any, i: int, poly: Any, to: Any, j: int) -> None:
    for c in range(EDGE_X, POLYGON_SIZE):
        poly[j, c] = source[i, c]
    to[j] = labels[i]


@inner_kernel
def _copy_vertex(source: Any, i: int, poly: Any, j: int) -> None:
    for c in range(EDGE_X):
        poly[j, c] = source[i, c]


@inner_kernel
def _halve(
    lines: Any, before: Any, line: int, stack: Any, start: int, n: int, exact: bool, tol: float
) -> tuple[int, int]:
    """Replace the cell at `start` by its positive half and, right after it, its negative half.

    ``stack.values`` holds the boundary's row at the corners, one run of each sign. Returns the
    numbers of corners of the halves.
    """
    poly, labels, values = stack.corners, stack.tags, stack.values
    old, old_labels = stack.old_corners, stack.old_tags
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
    into, out = (a - 1 if a else n - 1), b  # the edges that the cut crosses, or ends at
    # Behind the old corners: the cut's edge, the vertex where it enters the positive half, and that
    # where it leaves it.
    row, enter, leave = n, n + 1, n + 2
    edge_row(lines, before, line + 1, exact, old, row)
    # Step 2: a vertex is derived anew from its two edges; their order decides the sign of a × b.
    if values[into] == 0.0:
        _copy_vertex(old, into, old, enter)
    elif exact:
        meet(old, row, into, 1.0, enter)
    else:
        between(old, into, values[into], a, values[a], tol, enter)
    if values[into] != 0.0:
        old[enter, AT_INFINITY] = old[into, AT_INFINITY] * old[a, AT_INFINITY]
    after_b = b + 1 if b + 1 < n else 0
    if values[after_b] == 0.0:
        _copy_vertex(old, after_b, old, leave)
    elif exact:
        meet(old, row, out, -1.0, leave)
    else:
        between(old, b, values[b], after_b, values[after_b], tol, leave)
    if values[after_b] != 0.0:
        old[leave, AT_INFINITY] = old[b, AT_INFINITY] * old[after_b, AT_INFINITY]
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
    for col in range(EDGE_X, EDGE_ERROR):
        poly[k, col] = -old[row, col]
    poly[k, EDGE_ERROR] = old[row, EDGE_ERROR]
    labels[k] = -(line + 1)
    k += 1
    return positive, k - start - positive


@inner_kernel
def split(lines: Any, before: Any, stack: Any, options: Any, state: Any) -> bool:
    """Cut the top cell by the last boundary of its conflict list; False if there is no room."""
    exact, top = options.exact, state[TOP] - 1
    record, other = stack.records[top], stack.records[top + 1]
    layer, start, n = record[LAYER], record[CORNER_AT], record[N_CORNERS]
    conflict, count, pattern = record[CONFLICT_AT], record[N_CONFLICTS], record[PIECES_AT]
    if state[CORNERS] + CUT_ROOM > len(stack.corners) or n + CUT_ROOM > len(stack.old_corners):
        return False
    begin = lines.row_start[layer]
    width = lines.row_start[layer + 1] - begin
    line = stack.conflicts[conflict + count - 1]
    neuron = lines.line_row[line] - begin
    state[TESTS] += n
    if not signs(lines, before, line, stack, start, n, exact):
        if exact:
            record[IN_DOUBT] = 1
            return True
        # In float arithmetic rounding made nonsense of a boundary that barely touches the cell: it
        # does not cross.
        total = 0.0
        for i in range(n):
            total += stack.values[i]
        stack.patterns[pattern + neuron] += total > 0.0
        record[N_CONFLICTS] = count - 1
        state[CONFLICTS] -= 1
        return True
    state[SPLITS] += 1
    np_, nn = _halve(lines, before, line, stack, start, n, exact, options.tolerance)
    # A count does not need the pieces of the last layer.
    keep = options.store or layer < lines.depth
    if keep:
        for j in range(width):
            stack.patterns[pattern + width + j] = stack.patterns[pattern + j]
        stack.patterns[pattern + neuron] += 1
    kept, handed = 0, 0
    doubtful_p, doubtful_n = 0, 0
    enter, leave = start, start + np_ - 1  # the ends of the cut
    for k in range(count - 1):
        line = stack.conflicts[conflict + k]
        ends = pair(lines, before, line, stack.corners, enter, leave, exact)
        if ends == CROSSES:
            seen = seen_n = CROSSES
        elif ends == 0:
            seen = side(lines, before, line, stack.corners, start, np_, exact)
            seen_n = side(lines, before, line, stack.corners, start + np_, nn, exact)
        else:
            # Step 4: the boundary crosses the whole cell but not the cut, so exactly one of the
            # halves, and the other one lies on the side of the cut.
            seen = side(lines, before, line, stack.corners, start + 1, np_ - 2, exact)
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
    record[N_CORNERS], record[N_CONFLICTS], record[IN_DOUBT] = np_, kept, doubtful_p
    other[LAYER], other[PIECES_AT], other[IN_DOUBT] = layer, pattern + width, doubtful_n
    other[CORNER_AT], other[N_CORNERS] = start + np_, nn
    other[CONFLICT_AT], other[N_CONFLICTS] = conflict + kept, handed
    state[TOP] += 1
    state[CORNERS] = start + np_ + nn
    state[CONFLICTS] = conflict + kept + handed
    state[PATTERNS] = pattern + 2 * width
    return True
