"""Cones: how cells in any dimension are tested, cut and handed out by the search (`_search`).

A cell is kept by the extreme rays (x, w) of the cone over it, in homogeneous coordinates, absolute
values adding up to 1, each with the bits of the facets it lies on (double description).
``w = 0`` for the directions of unbounded cells. Only pointed cones come here: those that contain no
line. Where no sign is in doubt all cells are simple, and two rays are neighbours if they share
d - 1 facets; cells that come from exact arithmetic, or from float arithmetic with its zeros, may be
not simple, and get the full test.

For the columns of rays and facets see `_state`; steps are those of docs/error-bound.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tropicell._runtime.jit import (
    bit_count,
    is_set,
    kernel,
    lowest_bit,
    template,
)
from tropicell.engines.cells._bounds import (
    cone_roundings,
    inside_bound,
    scaled_corner_error,
    scaled_row_error,
    sign_bound,
)
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
    INFINITE,
    LAYER,
    MOST_FACETS,
    N_CONFLICTS,
    N_CORNERS,
    N_FACETS,
    NEGATIVE,
    NONE,
    ONE,
    OUT,
    OUT_CORNERS,
    OUT_FACETS,
    PATTERNS,
    PIECES_AT,
    POSITIVE,
    SEED,
    SIDES,
    SIMPLE,
    SPLITS,
    TABLE_END,
    TERM_COLUMN,
    TERM_MINOR,
    TERM_ROW,
    TERM_SIGN,
    TERM_SMALLER,
    TESTS,
    TOP,
    X,
)
from tropicell.engines.cells._volume import volume
from tropicell.geometry.rounding import ROUND

#: Vertices of stored regions are at least this sharp, relative to the scaled coordinates: step 6.
_SHARP = 1e-3

#: What `_cut_edges` returns instead of a number of rays.
_DOUBT, _NO_ROOM = -1, -2

#: Cutting a cell of n corners takes as long as n * n / 2 to this power steps in addition.
_COSTLY = 9


# --- a cell on the stack --------------------------------------------------------------------------


@kernel(inner=True)
def seed_fits(stack: Any, seeds: Any, k: int) -> bool:
    """Whether there is room for a seed on the empty stack."""
    n_rays = seeds.ray_ends[k] - (seeds.ray_ends[k - 1] if k else 0)
    return bool(n_rays < len(stack.old_corners))


@kernel(inner=True)
def plant(lines: Any, before: Any, stack: Any, seeds: Any, options: Any, state: Any) -> None:
    """Put the next seed on the empty stack; the maps are those of its pattern."""
    d = lines.dimension
    k, record = state[SEED], stack.records[0]
    first = seeds.facet_ends[k - 1] if k else 0
    first_ray = seeds.ray_ends[k - 1] if k else 0
    n, n_rays = seeds.facet_ends[k] - first, seeds.ray_ends[k] - first_ray
    for i in range(n):
        label = seeds.labels[first + i]
        facet_row(lines, before, label, options.exact, stack.table, i)
        stack.table_labels[i] = label
        stack.facets[i] = i + 1
    simple = 1
    for i in range(n_rays):
        for j in range(d):
            stack.basis[j] = seeds.bases[first_ray + i, j]
        meet(stack, d, seeds.signs[first_ray + i], 0, stack.corners, i)
        if not options.exact:
            stack.corners[i, d + 1] = options.tolerance
        stack.tags[i] = seeds.tight[first_ray + i]
        if bit_count(stack.tags[i] & FACET_BITS) != d:
            simple = 0
    record[N_CORNERS], record[CORNER_AT], record[CONFLICT_AT], record[PIECES_AT] = n_rays, 0, 0, 0
    record[N_FACETS], record[FACET_AT], record[TABLE_END], record[SIMPLE] = n, 0, n, simple
    state[TOP] = 1
    state[CORNERS] = n_rays
    state[FACETS] = n
    state[SEED] += 1


@kernel(inner=True)
def n_facets(record: Any) -> int:
    """Number of facets of a cell."""
    return int(record[N_FACETS])


@kernel(inner=True)
def facet_label(stack: Any, record: Any, i: int) -> int:
    """Label of a facet of a cell."""
    facet = stack.facets[record[FACET_AT] + i]
    label = stack.table_labels[abs(facet) - 1]
    return int(label if facet > 0 else -label)


# --- on which sides of boundaries a cell lies -----------------------------------------------------


@kernel(sums="fused", inner=True)
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
        x = rays[i, X]
        m = before[X, begin:end]
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
    sides = stack.sides[SIDES, :width]
    for r in range(width):
        sides[r] = 0.0
    if exact:
        slack = lines.line_slack[lines.line_start[layer] :]
        m = before[d + 1, begin:end]
        for r in range(width):
            sides[r] = m[r] + slack[r]
    for r in range(width):
        # Step 3, written so that a value that is not a number counts as doubtful.
        bound = sign_bound(value[r], sides[r], eps, d, cone_roundings(d))
        sides[r] = (1.0 if low[r] > bound else 0.0) - (1.0 if high[r] < -bound else 0.0)


@kernel(sums="fused", inner=True)
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


@kernel(inner=True)
def decide(flat: Any, current: Any, stack: Any, line: int, start: int, n: int) -> int:
    """The same where a sign is in doubt: it stays so."""
    return DOUBTFUL


@kernel(sums="fused", inner=True)
def signs(lines: Any, before: Any, line: int, stack: Any, start: int, n: int, exact: bool) -> int:
    """Fill ``stack.values`` with a boundary's row at all rays: steps 3 and 4.

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


# --- cutting a cell in two ------------------------------------------------------------------------


@kernel(inner=True)
def split(flat: Any, current: Any, stack: Any, options: Any, state: Any) -> bool:
    """Cut the top cell by the last boundary of its conflict list; False if there is no room."""
    lines, before = flat.lines, current.before
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
    if made == _DOUBT:
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


@kernel(inner=True)
def _cut_edges(stack: Any, record: Any, new: int, d: int, options: Any) -> int:
    """Write the rays where the new facet (place in the table) cuts edges of the cell: step 2.

    Returns their number, or `_DOUBT`, or `_NO_ROOM`: no room, or no time.
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
                    return _DOUBT
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


@kernel(inner=True)
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


@kernel(inner=True)
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


@kernel(inner=True)
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


@kernel(inner=True)
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


@template
def cut_steps(n: int) -> int:
    """As how many steps more the cut of a cell of n corners counts."""
    return n * n >> _COSTLY


@template
def is_halted(stack: Any) -> bool:
    """Whether another thread wants the kernel to come back."""
    return is_set(stack.halt)


# --- facets and rays ------------------------------------------------------------------------------


@kernel(inner=True)
def facet_row(lines: Any, before: Any, label: int, exact: bool, table: Any, k: int) -> None:
    """Write the row of a facet, step 2; the sign of its label says which side is inside."""
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


@kernel(inner=True)
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
        # Step 2, the sign of a new corner, which must be certain by step 3.
        doubt = sign_bound(length, table[at, d + 1], bound, d, cone_roundings(d))
        if not abs(value) > doubt:
            return False
        sign = 1.0 if (value > 0.0) == (facet > 0) else -1.0
    for c in range(d + 1):
        rays[k, c] = rays[k, c] * sign / size
    return True


# --- a finished cell as a region ------------------------------------------------------------------


@kernel(inner=True)
def emit(lines: Any, stack: Any, record: Any, out: Any, options: Any, state: Any) -> bool:
    """Store the geometry of the top cell as that of a region; False if it needs more digits."""
    d = lines.dimension
    k, c, o = state[OUT], state[OUT_CORNERS], state[OUT_FACETS]
    scale, witness = lines.scale, out.witnesses[k]
    compress(stack, record, d)
    if not _witness(stack, record, d, witness, options.exact):
        return False
    n, start = record[N_CORNERS], record[CORNER_AT]
    rays, tight, vertices = stack.corners, stack.tags, out.vertices
    for j in range(d):
        witness[j] /= scale[j]
    facets = 0
    for f in range(record[N_FACETS]):
        line = abs(facet_label(stack, record, f)) - 1
        if line != 0:  # not infinity
            out.lines[o + facets] = line
            facets += 1
    out.facet_counts[k] = facets
    bounded = True
    for i in range(n):
        ray = tight[start + i] & INFINITE != NONE
        bounded = bounded and not ray
        w = 1.0 if ray else rays[start + i, d]
        for j in range(d):
            vertices[c + i, j] = rays[start + i, j] / w / scale[j]
        vertices[c + i, d] = 0.0 if ray else 1.0
    out.bounded[k] = bounded
    out.volumes[k] = np.nan if bounded else np.inf
    if bounded and options.volumes:
        points, on = vertices[c : c + n], tight[start : start + n]
        simple = record[SIMPLE] != 0
        out.volumes[k] = volume(points, on, record[N_FACETS], simple, stack.faces, stack.square)
    return True


@kernel(inner=True)
def _witness(stack: Any, record: Any, d: int, point: Any, exact: bool) -> bool:
    """Write a point inside the cell, in scaled coordinates; False if the cell is not well known.

    Well known means: the point is surely inside, and no vertex may be off by more than `_SHARP`
    (step 6).
    """
    n, start = record[N_CORNERS], record[CORNER_AT]
    rays, tight, table = stack.corners, stack.tags, stack.table
    finite = 0
    for j in range(d):
        point[j] = 0.0
    for i in range(start, start + n):
        finite += tight[i] & INFINITE == NONE
    sharp = True
    for i in range(start, start + n):
        ray = tight[i] & INFINITE != NONE
        share = 1.0 if ray else 1.0 / (rays[i, d] * finite)
        for j in range(d):
            point[j] += rays[i, j] * share
        sharp = sharp and (ray or rays[i, d + 1] < _SHARP * rays[i, d])
    if not exact:
        return True
    size = 1.0
    for j in range(d):
        size += abs(point[j])
    for f in range(record[N_FACETS]):
        facet = stack.facets[record[FACET_AT] + f]
        at = abs(facet) - 1
        value = table[at, d]
        total = abs(value)
        for j in range(d):
            value += table[at, j] * point[j]
            total += abs(table[at, j] * point[j])
        if facet < 0:
            value = -value
        bound = inside_bound(table[at, d + 1], size, total, cone_roundings(d))
        sharp = sharp and value > bound
    return sharp


@kernel(inner=True)
def sharpen(lines: Any, current: Any, stack: Any, record: Any) -> bool:
    """There are no more digits for cones: False, the cell goes to exact arithmetic."""
    return False
