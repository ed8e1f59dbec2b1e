"""Polygons whose corners float64 does not prove sharp enough, worked out anew in twice the digits.

Numbers are unevaluated sums of two floats. ``fine.before`` and ``fine.after`` hold, for every row,
the first and the second floats of its d + 1 = 3 columns, a bound on the error of each column, and
the largest absolute value: see `_state`. The bounds are those of step 6 of
docs/error-bound.md, "twice the digits".
"""

from __future__ import annotations

from typing import Any

from tropicell._runtime.jit import inner_kernel, kernel
from tropicell.engines.cells._bounds import scaled_row_error
from tropicell.engines.cells._state import (
    COORDINATES,
    CORNER_AT,
    EDGE_ERROR,
    EDGE_X,
    ERROR,
    FINE_ERROR,
    FINE_PLACES,
    FINE_SIZE,
    LAYER,
    LOW,
    N_CORNERS,
    W,
    X,
    Y,
)
from tropicell.geometry.rounding import INFLATE, ROUND, TINY
from tropicell.network.flat import COLUMNS_AT, IS_SPARSE, SOURCE, WEIGHTS_AT

#: Splits a float64 into two halves of 26 digits.
_SPLIT = 134217729.0


@inner_kernel
def _sum(a: float, b: float) -> tuple[float, float]:
    """The sum as two floats, without error."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@inner_kernel
def _product(a: float, b: float) -> tuple[float, float]:
    """The product as two floats, without error."""
    p = a * b
    c, d = _SPLIT * a, _SPLIT * b
    a1, b1 = c - (c - a), d - (d - b)
    a2, b2 = a - a1, b - b1
    return p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2


@inner_kernel
def _add_source(
    weights: Any, step: int, targets: Any, first: int, count: int, fine: Any, begin: int, row: int
) -> None:
    """Add one neuron's output to the rows of a layer; `step` is 0 where targets are listed."""
    before, after = fine.before, fine.after
    size, error = after[FINE_SIZE, row], after[FINE_ERROR, row]
    for k in range(count):
        r = begin + (k if step else targets[k])
        w = weights[first + k]
        for c in range(COORDINATES):
            p, e = _product(w, after[c, row])
            s, t = _sum(before[c, r], p)
            before[c, r] = s
            before[LOW + c, r] += t + (e + w * after[LOW + c, row])
        before[FINE_ERROR, r] += abs(w) * error
        before[FINE_SIZE, r] += abs(w) * size


@inner_kernel
def _sum_layer(maps: Any, fine: Any, layer: int) -> None:
    """Pre-activations of a layer, from the outputs of its sources."""
    before, after = fine.before, fine.after
    begin, end = maps.row_start[layer], maps.row_start[layer + 1]
    for r in range(begin, end):
        for c in range(FINE_PLACES):
            before[c, r] = 0.0
        before[W, r] = maps.bias[r]
        before[FINE_SIZE, r] = abs(maps.bias[r])
    terms = 1
    for term in range(maps.term_start[layer], maps.term_start[layer + 1]):
        source = maps.terms[term, SOURCE]
        at = maps.terms[term, WEIGHTS_AT]
        for row in range(maps.row_start[source], maps.row_start[source + 1]):
            if after[FINE_SIZE, row] == 0.0 and after[FINE_ERROR, row] == 0.0:
                continue
            terms += 1
            j = row - maps.row_start[source]
            if maps.terms[term, IS_SPARSE]:
                column = maps.terms[term, COLUMNS_AT] + j
                first = at + maps.columns[column]
                count = at + maps.columns[column + 1] - first
                _add_source(maps.weights, 0, maps.targets[first:], first, count, fine, begin, row)
            else:
                first = at + j * (end - begin)
                _add_source(maps.weights, 1, maps.targets, first, end - begin, fine, begin, row)
    # Σ |W_j| f_j + 4 (n + 4)² u² T
    gamma = 4.0 * (terms + 4.0) * (terms + 4.0) * ROUND * ROUND
    for r in range(begin, end):
        for c in range(COORDINATES):
            before[c, r], before[LOW + c, r] = _sum(before[c, r], before[LOW + c, r])
        before[FINE_ERROR, r] = (
            before[FINE_ERROR, r] + gamma * before[FINE_SIZE, r] + TINY
        ) * INFLATE


@inner_kernel
def _set_piece(maps: Any, fine: Any, row: int, piece: int) -> None:
    """Output of one neuron that is on the given piece."""
    before, after = fine.before, fine.after
    slope, intercept = maps.slopes[row, piece], maps.intercepts[row, piece]
    largest = 0.0
    for c in range(COORDINATES):
        p, e = _product(slope, before[c, row])
        s, t = _sum(p, intercept if c == W else 0.0)
        after[c, row], after[LOW + c, row] = _sum(s, t + (e + slope * before[LOW + c, row]))
        largest = max(largest, abs(p) + abs(s))
    error = abs(slope) * before[FINE_ERROR, row] + ROUND * abs(intercept)  # c itself is rounded
    if not (slope == 0.0 and intercept == 0.0):
        # 16 u² (|s R| + |N| + |c|)
        error += 16.0 * ROUND * ROUND * (largest + abs(intercept)) + TINY
    after[FINE_ERROR, row] = error * INFLATE
    after[FINE_SIZE, row] = largest * INFLATE


@kernel
def refine(maps: Any, depth: int, pattern: Any, fine: Any) -> None:
    """Bring the rows of all layers up to date; only what the pattern changes is done again.

    ``fine.known[0]`` layers have rows that belong to ``fine.pattern``.
    """
    known = fine.known[0]
    if known == 0:
        for row in range(maps.row_start[1]):
            largest = 0.0
            for c in range(COORDINATES):
                fine.after[c, row] = maps.input_rows[row, c]
                fine.after[LOW + c, row] = 0.0
                largest = max(largest, abs(maps.input_rows[row, c]))
            fine.after[FINE_ERROR, row] = maps.gamma[0] * largest * INFLATE
            fine.after[FINE_SIZE, row] = largest
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


@inner_kernel
def _edge(lines: Any, fine: Any, label: int, edges: Any, i: int) -> None:
    """Write the row of an edge and its error; the sign of its label says which side is inside."""
    line = abs(label) - 1
    row = lines.line_row[line]
    sign = 1.0 if label > 0 else -1.0
    if row < 0:
        for c in range(COORDINATES):
            edges[i, c], edges[i, LOW + c] = sign * lines.domain_rows[line, c], 0.0
        edges[i, FINE_ERROR] = 0.0
        return
    before, at = fine.before, lines.line_at[line]
    for c in range(W):
        edges[i, c], edges[i, LOW + c] = sign * before[c, row], sign * before[LOW + c, row]
    s, t = _sum(before[W, row], -at)
    s, t = _sum(s, t + before[LOW + W, row])
    edges[i, W], edges[i, LOW + W] = sign * s, sign * t
    # R - t adds 4 u² (|R| + |t|).
    rounding = 4.0 * ROUND * ROUND * (abs(before[W, row]) + abs(at)) + TINY
    edges[i, FINE_ERROR] = (before[FINE_ERROR, row] + rounding) * INFLATE


@inner_kernel
def _minor(edges: Any, i: int, j: int, c: int, d: int) -> Any:
    """The 2 × 2 minor of two edges and two columns."""
    p, e = _product(edges[i, c], edges[j, d])
    e += edges[i, c] * edges[j, LOW + d] + edges[i, LOW + c] * edges[j, d]
    q, f = _product(edges[i, d], edges[j, c])
    f += edges[i, d] * edges[j, LOW + c] + edges[i, LOW + d] * edges[j, c]
    s, t = _sum(p, -q)
    return s + (t + (e - f))


@inner_kernel
def sharpen(program: Any, pattern: Any, stack: Any, record: Any) -> bool:
    """Work out the top cell's rows and corners again, with the bounds that they deserve now.

    `pattern` has the pieces of all layers before the cell's. Returns True: it can be done.
    """
    lines, fine = program.lines, stack.fine
    n, start = record[N_CORNERS], record[CORNER_AT]
    poly, edges = stack.corners, stack.old_corners
    refine(program.maps, record[LAYER], pattern, fine)
    for i in range(n):
        _edge(lines, fine, stack.tags[start + i], edges, i)
        largest = max(abs(edges[i, X]), abs(edges[i, Y]), abs(edges[i, W]))
        for c in range(COORDINATES):
            poly[start + i, EDGE_X + c] = edges[i, c] / largest
        poly[start + i, EDGE_ERROR] = scaled_row_error(edges[i, FINE_ERROR], largest)
        edges[i, FINE_SIZE] = largest
    for i in range(n):
        j = i - 1 if i else n - 1
        v0, v1, v2 = _minor(edges, j, i, Y, W), _minor(edges, j, i, W, X), _minor(edges, j, i, X, Y)
        a, b = edges[j, FINE_SIZE], edges[i, FINE_SIZE]
        ea, eb = edges[j, FINE_ERROR], edges[i, FINE_ERROR]
        # A minor of two rows of sizes a and b: 2 (a e_b + b e_a + e_a e_b) + 128 u² a b
        error = 2.0 * (a * eb + b * ea + ea * eb) + 128.0 * ROUND * ROUND * a * b + TINY
        size = abs(v0) + abs(v1) + abs(v2)
        at = start + i
        poly[at, X], poly[at, Y], poly[at, W] = v0 / size, v1 / size, v2 / size
        poly[at, ERROR] = error / size * INFLATE + 8.0 * ROUND
    return True
