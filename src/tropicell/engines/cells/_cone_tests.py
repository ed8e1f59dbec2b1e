"""Sign tests and corners for cones in any dimension, with their error bounds.

For the columns of rays and facets see `_state`; steps are those of docs/error-bound.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tropicell._runtime.jit import inner_fused_kernel, inner_kernel
from tropicell.engines.cells._bounds import (
    cone_roundings,
    scaled_corner_error,
    scaled_row_error,
    sign_bound,
)
from tropicell.engines.cells._state import (
    CORNER_AT,
    CROSSES,
    DOUBTFUL,
    N_CORNERS,
    NEGATIVE,
    POSITIVE,
    TERM_COLUMN,
    TERM_MINOR,
    TERM_ROW,
    TERM_SIGN,
    TERM_SMALLER,
)
from tropicell.geometry.rounding import ROUND


@inner_fused_kernel
def side(lines: Any, before: Any, line: int, rays: Any, start: int, n: int, exact: bool) -> int:
    """On which sides of a boundary the rays of a cell lie, as a set of bits: steps 3 and 4."""
    d = lines.dimension
    row = lines.line_row[line]
    last = before[d, row] - lines.line_at[line]
    size = abs(last)
    for c in range(d):
        size += abs(before[c, row])
    error = before[d + 1, row] + lines.line_slack[line] if exact else 0.0
    seen = 0
    for i in range(start, start + n):
        s = last * rays[i, d]
        for c in range(d):
            s += before[c, row] * rays[i, c]
        bound = sign_bound(size, error, rays[i, d + 1], d, cone_roundings(d))
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
        flat = before[d + 1, row] == 0.0
        for c in range(d):
            flat = flat and before[c, row] == 0.0
        if flat:
            # Step 1, constant neurons: nothing was summed, bias and breakpoint are both floats.
            return POSITIVE if before[d, row] > lines.line_at[line] else NEGATIVE
    return seen


@inner_fused_kernel
def signs(lines: Any, before: Any, line: int, stack: Any, start: int, n: int, exact: bool) -> int:
    """Fill ``stack.values`` with a boundary's row at all rays.

    Returns the number of zeros (float arithmetic only), or -1 if a sign is in doubt.
    """
    d = lines.dimension
    row = lines.line_row[line]
    rays, values = stack.corners, stack.values
    last = before[d, row] - lines.line_at[line]
    size = abs(last)
    for c in range(d):
        size += abs(before[c, row])
    error = before[d + 1, row] + lines.line_slack[line] if exact else 0.0
    zeros = 0
    for i in range(n):
        k = start + i
        s = last * rays[k, d]
        for c in range(d):
            s += before[c, row] * rays[k, c]
        bound = sign_bound(size, error, rays[k, d + 1], d, cone_roundings(d))
        if not (s > bound or s < -bound):
            if exact:
                return -1
            s = 0.0
            zeros += 1
        values[i] = s
    return zeros


@inner_fused_kernel
def scan(lines: Any, before: Any, layer: int, stack: Any, record: Any, exact: bool) -> None:
    """Fill ``stack.sides`` for a plain layer; 0 means that the neuron needs a closer look."""
    d = lines.dimension
    start, n = record[CORNER_AT], record[N_CORNERS]
    begin, end = lines.row_start[layer], lines.row_start[layer + 1]
    width = end - begin
    low, high, value = stack.low[:width], stack.high[:width], stack.value[:width]
    rays = stack.corners
    eps = 0.0
    for i in range(start, start + n):
        eps = max(eps, rays[i, d + 1])
        x = rays[i, 0]
        m = before[0, begin:end]
        for r in range(width):
            value[r] = m[r] * x
        for c in range(1, d + 1):
            x = rays[i, c]
            m = before[c, begin:end]
            for r in range(width):
                value[r] += m[r] * x
        if i == start:
            for r in range(width):
                low[r] = value[r]
                high[r] = value[r]
        else:
            for r in range(width):
                low[r] = value[r] if value[r] < low[r] else low[r]
                high[r] = value[r] if value[r] > high[r] else high[r]
    for r in range(width):
        value[r] = 0.0
    for c in range(d + 1):
        m = before[c, begin:end]
        for r in range(width):
            value[r] += abs(m[r])
    sides = stack.sides[0, :width]
    for r in range(width):
        sides[r] = 0.0
    if exact:
        slack = lines.line_slack[lines.line_start[layer] :]
        m = before[d + 1, begin:end]
        for r in range(width):
            sides[r] = m[r] + slack[r]
    for r in range(width):
        # Written so that a value that is not a number counts as doubtful.
        bound = sign_bound(value[r], sides[r], eps, d, cone_roundings(d))
        sides[r] = (1.0 if low[r] > bound else 0.0) - (1.0 if high[r] < -bound else 0.0)


@inner_kernel
def facet_row(lines: Any, before: Any, label: int, exact: bool, table: Any, k: int) -> None:
    """Write the row of a facet; the sign of its label says which side is inside."""
    d = lines.dimension
    line = abs(label) - 1
    row = lines.line_row[line]
    error = 0.0
    largest = 0.0
    for c in range(d + 1):
        if row < 0:
            x = lines.domain_rows[line, c]
        else:
            x = before[c, row]
            if c == d:
                x -= lines.line_at[line]
        table[k, c] = x
        largest = max(largest, abs(x))
    if row >= 0 and exact:
        error = before[d + 1, row] + lines.line_slack[line]
    factor = (1.0 if label > 0 else -1.0) / largest
    for c in range(d + 1):
        table[k, c] *= factor
    table[k, d + 1] = scaled_row_error(error, largest)


@inner_kernel
def meet(stack: Any, d: int, sign: float, facet: int, rays: Any, k: int) -> bool:
    """Write the ray in which the facets of ``stack.basis`` meet, with its error bound: step 2.

    It is the vector of the d × d minors of their rows, times `sign`; if that is 0, of the
    sign that makes it positive on `facet` (False if that is in doubt).
    """
    table, basis, minors, terms = stack.table, stack.basis, stack.minors, stack.terms
    errors = 0.0
    for j in range(d):
        errors += table[basis[j], d + 1]
    for m in range(1, 1 << (d + 1)):
        minors[m] = 0.0
    minors[0] = 1.0
    for t in range(len(terms)):
        x = table[basis[terms[t, TERM_ROW]], terms[t, TERM_COLUMN]] * minors[terms[t, TERM_SMALLER]]
        if terms[t, TERM_SIGN] > 0:
            minors[terms[t, TERM_MINOR]] += x
        else:
            minors[terms[t, TERM_MINOR]] -= x
    everything = (1 << (d + 1)) - 1
    size = 0.0
    for c in range(d + 1):
        x = minors[everything ^ (1 << c)]
        rays[k, c] = x if c % 2 == 0 else -x
        size += abs(x)
    permutations = 1.0
    for j in range(2, d + 1):
        permutations *= j
    # d! (1.01 Σ η + (d² + 3 d + 4) u), if Σ η is small
    bound = permutations * (1.01 * errors + (d * d + 3 * d + 4) * ROUND)
    if not (size > 0.0 and errors < 0.01):
        rays[k, d + 1] = np.inf
        return False
    bound = scaled_corner_error(bound, size)
    rays[k, d + 1] = bound
    if sign == 0.0:
        at = abs(facet) - 1
        value, length = 0.0, 0.0
        for c in range(d + 1):
            value += table[at, c] * rays[k, c]
            length += abs(table[at, c])
        value /= size
        doubt = sign_bound(length, table[at, d + 1], bound, d, cone_roundings(d))
        if not abs(value) > doubt:
            return False
        sign = 1.0 if (value > 0.0) == (facet > 0) else -1.0
    for c in range(d + 1):
        rays[k, c] = rays[k, c] * sign / size
    return True
