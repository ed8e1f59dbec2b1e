"""Polygons whose corners float64 does not prove sharp enough, worked out anew in twice the digits.

Numbers are unevaluated sums of two floats. ``fine.before`` and ``fine.after`` hold, for every row,
the first and the second floats of its d + 1 = 3 columns and a bound on the error of each
column; ``fine.after`` also the largest absolute value. docs/error-bound.md has the bounds.
"""

from __future__ import annotations

from typing import Any

from tropicell._runtime.jit import kernel
from tropicell.geometry.rounding import INFLATE, ROUND, TINY

#: Splits a float64 into two halves of 26 digits.
_SPLIT = 134217729.0

#: Places in `Fine`: second floats, error, size.
_LOW, _ERROR, _SIZE = 3, 6, 7


@kernel
def _sum(a: float, b: float) -> tuple[float, float]:
    """The sum as two floats, without error."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@kernel
def _product(a: float, b: float) -> tuple[float, float]:
    """The product as two floats, without error."""
    p = a * b
    c, d = _SPLIT * a, _SPLIT * b
    a1, b1 = c - (c - a), d - (d - b)
    a2, b2 = a - a1, b - b1
    return p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2


@kernel
def _add_source(
    weights: Any, step: int, targets: Any, first: int, count: int, fine: Any, begin: int, row: int
) -> None:
    """Add one neuron's output to the rows of a layer; `step` is 0 where targets are listed."""
    before, after = fine.before, fine.after
    size, error = after[_SIZE, row], after[_ERROR, row]
    for k in range(count):
        r = begin + (k if step else targets[k])
        w = weights[first + k]
        for c in range(3):
            p, e = _product(w, after[c, row])
            s, t = _sum(before[c, r], p)
            before[c, r] = s
            before[_LOW + c, r] += t + (e + w * after[_LOW + c, row])
        before[_ERROR, r] += abs(w) * error
        before[_SIZE, r] += abs(w) * size


@kernel
def _sum_layer(maps: Any, fine: Any, layer: int) -> None:
    """Pre-activations of a layer, from the outputs of its sources."""
    before, after = fine.before, fine.after
    begin, end = maps.row_start[layer], maps.row_start[layer + 1]
    for r in range(begin, end):
        for c in range(8):
            before[c, r] = 0.0
        before[2, r] = maps.bias[r]
        before[_SIZE, r] = abs(maps.bias[r])
    terms = 1
    for term in range(maps.term_start[layer], maps.term_start[layer + 1]):
        source = maps.terms[term, 0]
        at = maps.terms[term, 2]
        for row in range(maps.row_start[source], maps.row_start[source + 1]):
            if after[_SIZE, row] == 0.0 and after[_ERROR, row] == 0.0:
                continue
            terms += 1
            j = row - maps.row_start[source]
            if maps.terms[term, 1]:
                column = maps.terms[term, 3] + j
                first = at + maps.columns[column]
                count = at + maps.columns[column + 1] - first
                _add_source(maps.weights, 0, maps.targets[first:], first, count, fine, begin, row)
            else:
                first = at + j * (end - begin)
                _add_source(maps.weights, 1, maps.targets, first, end - begin, fine, begin, row)
    gamma = 4.0 * (terms + 4.0) * (terms + 4.0) * ROUND * ROUND
    for r in range(begin, end):
        for c in range(3):
            before[c, r], before[_LOW + c, r] = _sum(before[c, r], before[_LOW + c, r])
        before[_ERROR, r] = (before[_ERROR, r] + gamma * before[_SIZE, r] + TINY) * INFLATE


@kernel
def _set_piece(maps: Any, fine: Any, row: int, piece: int) -> None:
    """Output of one neuron that is on the given piece."""
    before, after = fine.before, fine.after
    slope, intercept = maps.slopes[row, piece], maps.intercepts[row, piece]
    largest = 0.0
    for c in range(3):
        p, e = _product(slope, before[c, row])
        s, t = _sum(p, intercept if c == 2 else 0.0)
        after[c, row], after[_LOW + c, row] = _sum(s, t + (e + slope * before[_LOW + c, row]))
        largest = max(largest, abs(p) + abs(s))
    error = abs(slope) * before[_ERROR, row] + ROUND * abs(intercept)  # it is a rounded one
    if not (slope == 0.0 and intercept == 0.0):
        error += 16.0 * ROUND * ROUND * (largest + abs(intercept)) + TINY
    after[_ERROR, row] = error * INFLATE
    after[_SIZE, row] = largest * INFLATE


@kernel
def refine(maps: Any, depth: int, pattern: Any, fine: Any) -> None:
    """Bring the rows of all layers up to date; only what the pattern changes is done again.

    ``fine.known[0]`` layers have rows that belong to ``fine.pattern``.
    """
    known = fine.known[0]
    if known == 0:
        for row in range(maps.row_start[1]):
            largest = 0.0
            for c in range(3):
                fine.after[c, row] = maps.input_rows[row, c]
                fine.after[_LOW + c, row] = 0.0
                largest = max(largest, abs(maps.input_rows[row, c]))
            fine.after[_ERROR, row] = maps.gamma[0] * largest * INFLATE
            fine.after[_SIZE, row] = largest
        _sum_layer(maps, fine, 1)
        known = 1
    for layer in range(1, depth):
        begin, end = maps.row_start[layer], maps.row_start[layer + 1]
        first = maps.row_start[1]
        same = layer < known
        for row in range(begin, end):
            same = same and fine.pattern[row - first] == pattern[row - first]
        if same:
            continue
        for row in range(begin, end):
            fine.pattern[row - first] = pattern[row - first]
            _set_piece(maps, fine, row, pattern[row - first])
        _sum_layer(maps, fine, layer + 1)
        known = layer + 1
    fine.known[0] = known


@kernel
def _edge(lines: Any, fine: Any, label: int, edges: Any, i: int) -> None:
    """Write the row of an edge and its error; the sign of its label says which side is inside."""
    line = abs(label) - 1
    row = lines.line_row[line]
    sign = 1.0 if label > 0 else -1.0
    if row < 0:
        for c in range(3):
            edges[i, c], edges[i, _LOW + c] = sign * lines.domain_rows[line, c], 0.0
        edges[i, _ERROR] = 0.0
        return
    before, at = fine.before, lines.line_at[line]
    for c in range(2):
        edges[i, c], edges[i, _LOW + c] = sign * before[c, row], sign * before[_LOW + c, row]
    s, t = _sum(before[2, row], -at)
    s, t = _sum(s, t + before[_LOW + 2, row])
    edges[i, 2], edges[i, _LOW + 2] = sign * s, sign * t
    rounding = 4.0 * ROUND * ROUND * (abs(before[2, row]) + abs(at)) + TINY
    edges[i, _ERROR] = (before[_ERROR, row] + rounding) * INFLATE


@kernel
def _minor(edges: Any, i: int, j: int, c: int, d: int) -> Any:
    """The 2 × 2 minor of two edges and two columns."""
    p, e = _product(edges[i, c], edges[j, d])
    e += edges[i, c] * edges[j, _LOW + d] + edges[i, _LOW + c] * edges[j, d]
    q, f = _product(edges[i, d], edges[j, c])
    f += edges[i, d] * edges[j, _LOW + c] + edges[i, _LOW + d] * edges[j, c]
    s, t = _sum(p, -q)
    return s + (t + (e - f))


@kernel
def sharpen(flat: Any, pattern: Any, stack: Any, record: Any) -> None:
    """Work out the top cell's rows and corners again, with the bounds that they deserve now.

    `pattern` has the pieces of all layers before the cell's.
    """
    lines, fine = flat.lines, stack.fine
    n, start = record[1], record[2]
    poly, edges = stack.poly, stack.old_poly
    refine(flat.maps, record[0], pattern, fine)
    for i in range(n):
        _edge(lines, fine, stack.labels[start + i], edges, i)
        largest = max(abs(edges[i, 0]), abs(edges[i, 1]), abs(edges[i, 2]))
        for c in range(3):
            poly[start + i, 5 + c] = edges[i, c] / largest
        poly[start + i, 8] = edges[i, _ERROR] / largest * INFLATE + 8.0 * ROUND
        edges[i, _SIZE] = largest
    for i in range(n):
        j = i - 1 if i else n - 1
        v0, v1, v2 = _minor(edges, j, i, 1, 2), _minor(edges, j, i, 2, 0), _minor(edges, j, i, 0, 1)
        a, b = edges[j, _SIZE], edges[i, _SIZE]
        ea, eb = edges[j, _ERROR], edges[i, _ERROR]
        error = 2.0 * (a * eb + b * ea + ea * eb) + 128.0 * ROUND * ROUND * a * b + TINY
        size = abs(v0) + abs(v1) + abs(v2)
        at = start + i
        poly[at, 0], poly[at, 1], poly[at, 2] = v0 / size, v1 / size, v2 / size
        poly[at, 3] = error / size * INFLATE + 8.0 * ROUND
