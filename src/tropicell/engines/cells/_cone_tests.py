"""Sign tests and corners for cones in any dimension, with their error bounds.

See docs/error-bound.md. Rows of facets are scaled to largest coefficient 1; column d + 1 of
a facet or ray is the error bound of each of its coefficients.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tropicell._runtime.jit import fused_kernel, kernel
from tropicell.engines.cells._state import CROSSES, DOUBTFUL, NEGATIVE, POSITIVE
from tropicell.geometry.rounding import INFLATE, ROUND


@fused_kernel
def side(lines: Any, before: Any, line: int, rays: Any, start: int, n: int, exact: bool) -> int:
    """On which sides of a line the rays of a cell lie, as a set of bits."""
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
        eps = rays[i, d + 1]
        bound = size * (eps + (2 * d + 8) * ROUND) + error * (1.0001 + (d + 1) * eps)
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
            # Nothing was summed: the neuron is its bias, a float, and so is the breakpoint.
            return POSITIVE if before[d, row] > lines.line_at[line] else NEGATIVE
    return seen


@fused_kernel
def signs(lines: Any, before: Any, line: int, stack: Any, start: int, n: int, exact: bool) -> int:
    """Fill ``stack.values`` with the line at all rays.

    Returns the number of zeros (float arithmetic only), or -1 if a sign is in doubt.
    """
    d = lines.dimension
    row = lines.line_row[line]
    rays, values = stack.rays, stack.values
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
        eps = rays[k, d + 1]
        bound = size * (eps + (2 * d + 8) * ROUND) + error * (1.0001 + (d + 1) * eps)
        if not (s > bound or s < -bound):
            if exact:
                return -1
            s = 0.0
            zeros += 1
        values[i] = s
    return zeros


@fused_kernel
def scan_layer(
    lines: Any, before: Any, layer: int, stack: Any, start: int, n: int, exact: bool
) -> None:
    """Smallest value minus bound in ``stack.low``, largest plus bound in ``stack.high``."""
    d = lines.dimension
    begin, end = lines.row_start[layer], lines.row_start[layer + 1]
    width = end - begin
    low, high, value = stack.low[:width], stack.high[:width], stack.value[:width]
    rays = stack.rays
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
    relative = eps + (2 * d + 8) * ROUND
    for r in range(width):
        value[r] = 0.0
    if exact:
        factor = 1.0001 + (d + 1) * eps
        slack = lines.line_slack[lines.line_start[layer] :]
        m = before[d + 1, begin:end]
        for r in range(width):
            value[r] = (m[r] + slack[r]) * factor
    for c in range(d + 1):
        m = before[c, begin:end]
        for r in range(width):
            value[r] += abs(m[r]) * relative
    for r in range(width):
        # Written so that a value that is not a number counts as doubtful.
        low[r] = 1.0 if low[r] > value[r] else 0.0
        high[r] = -1.0 if high[r] < -value[r] else 0.0


@kernel
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
    table[k, d + 1] = error / largest * INFLATE + 8.0 * ROUND


@kernel
def meet(stack: Any, d: int, sign: float, facet: int, rays: Any, k: int) -> bool:
    """Write the ray in which the facets of ``stack.basis`` meet, with its error bound.

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
        x = table[basis[terms[t, 0]], terms[t, 1]] * minors[terms[t, 2]]
        if terms[t, 4] > 0:
            minors[terms[t, 3]] += x
        else:
            minors[terms[t, 3]] -= x
    everything = (1 << (d + 1)) - 1
    size = 0.0
    for c in range(d + 1):
        x = minors[everything ^ (1 << c)]
        rays[k, c] = x if c % 2 == 0 else -x
        size += abs(x)
    permutations = 1.0
    for j in range(2, d + 1):
        permutations *= j
    bound = permutations * (1.01 * errors + (d * d + 3 * d + 4) * ROUND)
    if not (size > 0.0 and errors < 0.01):
        rays[k, d + 1] = np.inf
        return False
    bound = bound / size * INFLATE + 4.0 * ROUND
    rays[k, d + 1] = bound
    if sign == 0.0:
        at = abs(facet) - 1
        value, length = 0.0, 0.0
        for c in range(d + 1):
            value += table[at, c] * rays[k, c]
            length += abs(table[at, c])
        value /= size
        doubt = length * (bound + (2 * d + 8) * ROUND) + table[at, d + 1] * (
            1.0001 + (d + 1) * bound
        )
        if not abs(value) > doubt:
            return False
        sign = 1.0 if (value > 0.0) == (facet > 0) else -1.0
    for c in range(d + 1):
        rays[k, c] = rays[k, c] * sign / size
    return True
