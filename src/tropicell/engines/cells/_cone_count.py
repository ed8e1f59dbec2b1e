"""Counting the regions that the boundaries of a last layer make of a cell, without cutting it.

The number of regions is the number of all intersections of boundaries that meet the cell, the cell
itself included: a boundary adds as many regions as the others make of its section with the cell,
and so on down to sections that are points. Of the corners of a section only the values of the
boundaries are worked out, each from those at the two ends of the edge that it lies on: step 4 of
docs/error-bound.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tropicell._runtime.jit import bit_count, kernel, lowest_bit
from tropicell.engines.cells._bounds import between_error, unit_sign_bound
from tropicell.engines.cells._rays import row_value
from tropicell.engines.cells._state import (
    CONFLICT_AT,
    CORNER_AT,
    FACET_BITS,
    N_CONFLICTS,
    N_CORNERS,
    NEGATIVE_BITS,
    NONE,
    ONE,
    POSITIVE_BITS,
)
from tropicell.network.flat import BLOCK

#: What kernels return instead of a number.
_DOUBT, NO_ROOM = -1, -2


@kernel(sums="fused", inner=True, inlined=True)
def count_regions(stack: Any, record: Any, first: int, d: int) -> int:
    """How many regions the boundaries that cross a simple cell make of it.

    `first`: where the rows of their layer's frame begin. Returns 0 where it is not sure, or
    `NO_ROOM`.
    """
    n, count = record[N_CORNERS], record[N_CONFLICTS]
    bits, tags, values = stack.section_bits, stack.section_tags, stack.section_values
    if n > len(tags):
        return NO_ROOM
    every = (ONE << np.uint64(count)) - ONE
    for i in range(n):
        ray = stack.corners[record[CORNER_AT] + i]
        above, below, error = NONE, NONE, 0.0
        for k in range(count):
            at: Any = np.uint64(first + stack.places[stack.conflicts[record[CONFLICT_AT] + k]])
            value = row_value(stack.frame, at, stack.rays, ray, d)
            eps, eta = stack.rays[ray, d + 1], stack.frame[at, d + 1]
            bound = unit_sign_bound(stack.frame[at, d + 2], eta, eps, d)
            values[i, k] = value
            error = max(error, bound)
            above |= (ONE if value > bound else NONE) << np.uint64(k)
            below |= (ONE if value < -bound else NONE) << np.uint64(k)
        if above | below != every:
            return 0
        tags[i] = stack.tags[record[CORNER_AT] + i]
        bits[i, POSITIVE_BITS] = above
        bits[i, NEGATIVE_BITS] = below
        stack.section_errors[i] = error
    level, total = 0, 1
    levels, todo = stack.levels, stack.open_bits
    levels[0], todo[0] = n, every
    while level >= 0:
        if todo[level] == NONE:
            level -= 1
            continue
        chosen = lowest_bit(todo[level])
        todo[level] &= todo[level] - ONE
        total += 1
        if todo[level] == NONE:
            continue
        low = levels[level - 1] if level else 0
        used, crosses = _section(
            stack, low, levels[level], chosen, todo[level], count, d - 1 - level
        )
        if used < 0:
            return 0 if used == _DOUBT else used
        # Of several points on a segment, which is the last section but one, it must be sure that no
        # two are the same.
        if bit_count(crosses) == 1:
            total += 1
        elif crosses != NONE:
            level += 1
            todo[level] = crosses
            levels[level] = used
    return total


@kernel(sums="fused", inner=True, inlined=True)
def _section(
    stack: Any, low: int, high: int, chosen: int, wanted: Any, count: int, shared: int
) -> Any:
    """Write the corners of the section by a boundary of the cell, or section, of some corners.

    These are `low` … `high` - 1; two are joined by an edge if they share so many facets of the
    cell. Returns where the new ones end, or `_DOUBT` or `NO_ROOM`, and which of the boundaries that
    are `wanted` cross the section. If only one is wanted, not all corners may be written.
    """
    bits, tags, values = stack.section_bits, stack.section_tags, stack.section_values
    errors, above, below = stack.section_errors, stack.old_corners, stack.low_corners
    shift, width = np.uint64(chosen), (count + BLOCK - 1) // BLOCK * BLOCK
    alone = wanted & (wanted - ONE) == NONE
    n_above, n_below = 0, 0
    for i in range(low, high):
        is_above = (bits[np.uint64(i), POSITIVE_BITS] >> shift) & ONE
        above[np.uint64(n_above)] = i
        below[np.uint64(n_below)] = i
        n_above += int(is_above)
        n_below += int(ONE - is_above)
    made = high
    some_above, some_below = NONE, NONE
    for i in range(n_above):
        p = np.uint64(above[np.uint64(i)])
        for j in range(n_below):
            q = np.uint64(below[np.uint64(j)])
            common = tags[p] & tags[q]
            if bit_count(common & FACET_BITS) < shared:
                continue
            if made >= len(tags):
                return NO_ROOM, NONE
            to = np.uint64(made)
            more = bits[p, POSITIVE_BITS] & bits[q, POSITIVE_BITS]
            less = bits[p, NEGATIVE_BITS] & bits[q, NEGATIVE_BITS]
            if not alone or wanted & ~(more | less) != NONE:
                at_p, at_q = values[p, shift], values[q, shift]
                factor = 1.0 / (at_p - at_q)
                share, rest = at_p * factor, -at_q * factor
                error = between_error(max(errors[p], errors[q]), factor)
                errors[to] = error
                ends, others, new = values[p, :width], values[q, :width], values[to, :width]
                for k in range(width):
                    new[k] = share * others[k] + rest * ends[k]
                for k in range(count):
                    place = np.uint64(k)
                    more |= (ONE if new[place] > error else NONE) << place
                    less |= (ONE if new[place] < -error else NONE) << place
                if wanted & ~(more | less) != NONE:
                    return _DOUBT, NONE
            bits[to, POSITIVE_BITS] = more
            bits[to, NEGATIVE_BITS] = less
            tags[to] = common
            some_above |= more
            some_below |= less
            made += 1
            if alone and some_above & some_below & wanted != NONE:
                return made, wanted
    return made, some_above & some_below & wanted
