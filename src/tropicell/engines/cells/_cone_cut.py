"""Cutting a cone in two, and handing the boundaries that still cross it down to the halves.

Step 4 of docs/error-bound.md says why the halves are known as soon as all signs are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tropicell._runtime.jit import bit_count, inner_kernel, is_set, lowest_bit, template
from tropicell.engines.cells._cone_tests import facet_row, meet, side, signs
from tropicell.engines.cells._state import (
    CONFLICT_AT,
    CONFLICTS,
    CORNER_AT,
    CORNERS,
    CROSSES,
    DOUBTFUL,
    FACET_AT,
    FACET_BITS,
    FACET_ROOM,
    FACETS,
    IN_DOUBT,
    LAYER,
    MOST_FACETS,
    N_CONFLICTS,
    N_CORNERS,
    N_FACETS,
    NEGATIVE,
    NONE,
    ONE,
    PATTERNS,
    PIECES_AT,
    POSITIVE,
    SIMPLE,
    SPLITS,
    TABLE_END,
    TESTS,
    TOP,
)

#: What `_cut_edges` returns instead of a number of rays.
_IN_DOUBT, _NO_ROOM = -1, -2

#: Cutting a cell of n corners takes as long as n * n / 2 to this power steps in addition.
_COSTLY = 9


@template
def cut_steps(n: int) -> int:
    """As how many steps more the cut of a cell of n corners counts."""
    return n * n >> _COSTLY


@template
def is_halted(stack: Any) -> bool:
    """Whether another thread wants the kernel to come back."""
    return is_set(stack.halt)


@inner_kernel
def _neighbours(tight: Any, n: int, i: int, j: int, d: int, simple: bool) -> bool:
    """Whether two rays of a cell span a face of dimension two."""
    common = tight[i] & tight[j]
    if bit_count(common & FACET_BITS) < d - 1:
        return False
    if simple:
        return True
    for k in range(n):
        if k != i and k != j and tight[k] & common == common:
            return False
    return True


@inner_kernel
def _cut_edges(stack: Any, record: Any, new: int, d: int, options: Any) -> int:
    """Write the rays where the new facet (place in the table) cuts edges of the cell: step 2.

    Returns their number, or `_IN_DOUBT`, or `_NO_ROOM`: no room, or no time.
    """
    n, exact = record[N_CORNERS], options.exact
    old, tight, values = stack.old_corners, stack.old_tags, stack.values
    rays, new_tight = stack.new_corners, stack.new_tags
    facets, at = stack.facets, record[FACET_AT]
    basis = stack.basis
    simple = record[SIMPLE] != 0
    count = 0
    for i in range(n):
        if not values[i] > 0.0:
            continue
        if is_set(stack.halt):
            return _NO_ROOM
        for j in range(n):
            if not values[j] < 0.0 or not _neighbours(tight, n, i, j, d, simple):
                continue
            if count >= len(rays):
                return _NO_ROOM
            common = tight[i] & tight[j]
            new_tight[count] = common
            if exact:
                bits = common & FACET_BITS
                for k in range(d - 1):
                    basis[k] = abs(facets[at + lowest_bit(bits)]) - 1
                    bits &= bits - ONE
                basis[d - 1] = new
                # The sign of the corner: a facet of ray j that is not one of ray i is positive on
                # the edge between them.
                apart = tight[j] & ~tight[i] & FACET_BITS
                facet = facets[at + lowest_bit(apart)]
                if not meet(stack, d, 0.0, facet, rays, count):
                    return _IN_DOUBT
            else:
                a, b = values[i], -values[j]
                size = 0.0
                for c in range(d + 1):
                    x = b * old[i, c] + a * old[j, c]
                    rays[count, c] = x
                    size += abs(x)
                for c in range(d + 1):
                    rays[count, c] /= size
                rays[count, d + 1] = options.tolerance
            count += 1
    return count


@inner_kernel
def _write_half(stack: Any, n: int, made: int, sign: float, to: int, bit: Any, d: int) -> int:
    """Write the rays of one half: those on its side, those on the cut, the new ones."""
    rays, tight, values = stack.corners, stack.tags, stack.values
    k = to
    for i in range(n):
        if values[i] * sign >= 0.0:
            for c in range(d + 2):
                rays[k, c] = stack.old_corners[i, c]
            tight[k] = stack.old_tags[i] | (bit if values[i] == 0.0 else NONE)
            k += 1
    for i in range(made):
        for c in range(d + 2):
            rays[k, c] = stack.new_corners[i, c]
        tight[k] = stack.new_tags[i] | bit
        k += 1
    return k - to


@inner_kernel
def compress(stack: Any, record: Any, d: int) -> None:
    """Forget facets that too few rays lie on, and renumber the bits."""
    n, start = record[N_CORNERS], record[CORNER_AT]
    count, at = record[N_FACETS], record[FACET_AT]
    tight, facets = stack.tags, stack.facets
    kept = 0
    for f in range(count):
        old = ONE << np.uint64(f)
        on = 0
        for i in range(start, start + n):
            on += tight[i] & old != NONE
        keep = on >= d
        new = ONE << np.uint64(kept)
        for i in range(start, start + n):
            was = tight[i] & old != NONE
            tight[i] &= ~old
            if keep and was:
                tight[i] |= new
        if keep:
            facets[at + kept] = facets[at + f]
            kept += 1
    record[N_FACETS] = kept
    if kept >= MOST_FACETS:
        record[IN_DOUBT] = 1


@inner_kernel
def _hand_down(
    lines: Any, before: Any, stack: Any, sizes: Any, keep: bool, exact: bool, state: Any
) -> None:
    """Make the conflict lists of the two halves of the top cell.

    `sizes`: the numbers of rays of the halves, of new rays, and of old rays on the cut.
    """
    record, other = stack.records[state[TOP] - 1], stack.records[state[TOP]]
    layer, start, at = record[LAYER], record[CORNER_AT], record[PIECES_AT]
    conflict, count = record[CONFLICT_AT], record[N_CONFLICTS]
    begin = lines.row_start[layer]
    width = lines.row_start[layer + 1] - begin
    rays, conflicts, handed_on = stack.corners, stack.conflicts, stack.handed
    np_, nn, made, zeros = sizes
    kept, handed = 0, 0
    doubtful_p, doubtful_n = 0, 0
    for k in range(count - 1):
        line = conflicts[conflict + k]
        # With old rays on the cut (float arithmetic only) the new ones are not all of it.
        ends = 0
        if zeros == 0:
            ends = side(lines, before, line, rays, start + np_ - made, made, exact)
        if ends == CROSSES:
            seen = seen_n = CROSSES
        elif ends in (POSITIVE, NEGATIVE):
            # Step 4: the boundary crosses the whole cell but not the cut, so exactly one of the
            # halves, and the other one lies on the side of the cut.
            seen = ends | side(lines, before, line, rays, start, np_ - made, exact)
            if seen & CROSSES == CROSSES:
                seen_n = ends
            else:
                seen, seen_n = ends, CROSSES
        else:
            seen = side(lines, before, line, rays, start, np_, exact)
            seen_n = side(lines, before, line, rays, start + np_, nn, exact)
        if seen & CROSSES == CROSSES or seen & DOUBTFUL:
            conflicts[conflict + kept] = line
            kept += 1
            doubtful_p |= seen & CROSSES != CROSSES
        elif seen == POSITIVE and keep:
            stack.patterns[at + lines.line_row[line] - begin] += 1
        if seen_n & CROSSES == CROSSES or seen_n & DOUBTFUL:
            handed_on[handed] = line
            handed += 1
            doubtful_n |= seen_n & CROSSES != CROSSES
        elif seen_n == POSITIVE and keep:
            stack.patterns[at + width + lines.line_row[line] - begin] += 1
    for k in range(handed):
        conflicts[conflict + kept + k] = handed_on[k]
    record[N_CONFLICTS], record[IN_DOUBT] = kept, int(doubtful_p)
    other[N_CONFLICTS], other[CONFLICT_AT], other[IN_DOUBT] = (
        handed,
        conflict + kept,
        int(doubtful_n),
    )
    state[CONFLICTS] = conflict + kept + handed


@inner_kernel
def split(lines: Any, before: Any, stack: Any, options: Any, state: Any) -> bool:
    """Cut the top cell by the last boundary of its conflict list; False if there is no room."""
    d, exact, top = lines.dimension, options.exact, state[TOP] - 1
    record, other = stack.records[top], stack.records[top + 1]
    layer, start, n = record[LAYER], record[CORNER_AT], record[N_CORNERS]
    conflict, count, at = record[CONFLICT_AT], record[N_CONFLICTS], record[PIECES_AT]
    new = record[TABLE_END]
    if (
        n > len(stack.old_corners)
        or state[FACETS] + FACET_ROOM > len(stack.facets)
        or new + 1 > len(stack.table)
    ):
        return False
    begin = lines.row_start[layer]
    width = lines.row_start[layer + 1] - begin
    line = stack.conflicts[conflict + count - 1]
    neuron = lines.line_row[line] - begin
    state[TESTS] += n
    zeros = signs(lines, before, line, stack, start, n, exact)
    if zeros < 0:
        record[IN_DOUBT] = 1
        return True
    for i in range(n):
        for c in range(d + 2):
            stack.old_corners[i, c] = stack.corners[start + i, c]
        stack.old_tags[i] = stack.tags[start + i]
    facet_row(lines, before, line + 1, exact, stack.table, new)
    stack.table_labels[new] = line + 1
    made = _cut_edges(stack, record, new, d, options)
    if made == _IN_DOUBT:
        record[IN_DOUBT] = 1
        return True
    if made == _NO_ROOM or start + 2 * (n + made) > len(stack.corners):
        return False
    state[SPLITS] += 1
    facets_n, facet_at = record[N_FACETS], record[FACET_AT]
    bit = ONE << np.uint64(facets_n)
    np_ = _write_half(stack, n, made, 1.0, start, bit, d)
    nn = _write_half(stack, n, made, -1.0, start + np_, bit, d)
    for f in range(facets_n):
        stack.facets[facet_at + facets_n + 1 + f] = stack.facets[facet_at + f]
    stack.facets[facet_at + facets_n] = new + 1
    stack.facets[facet_at + 2 * facets_n + 1] = -(new + 1)
    keep = options.store or layer < lines.depth
    if keep:
        for j in range(width):
            stack.patterns[at + width + j] = stack.patterns[at + j]
        stack.patterns[at + neuron] += 1
    _hand_down(lines, before, stack, (np_, nn, made, zeros), keep, exact, state)
    record[N_CORNERS], other[N_CORNERS] = np_, nn
    other[LAYER], other[CORNER_AT], other[PIECES_AT] = layer, start + np_, at + width
    record[N_FACETS] = other[N_FACETS] = facets_n + 1
    other[FACET_AT] = facet_at + facets_n + 1
    record[TABLE_END] = other[TABLE_END] = new + 1
    if zeros:
        record[SIMPLE] = 0
    other[SIMPLE] = record[SIMPLE]
    if facets_n + 1 >= MOST_FACETS:
        compress(stack, record, d)
        compress(stack, other, d)
    state[TOP] += 1
    state[CORNERS] = start + np_ + nn
    state[PATTERNS] = at + 2 * width
    state[FACETS] = facet_at + 2 * facets_n + 2
    return True
