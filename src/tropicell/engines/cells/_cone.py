"""Cones: how cells in any dimension are tested, cut and handed out by the search (`_search`).

A cell is kept by the extreme rays (x, w) of the cone over it, in homogeneous coordinates, absolute
values adding up to 1, each with the bits of the facets it lies on (double description).
``w = 0`` for the directions of unbounded cells. Only pointed cones come here: those that contain no
line. Where no ray lies on a cut all cells are simple, and two rays are neighbours if they share
d - 1 facets; others get the full test.

Rays are kept once, in a pool, with d facets that meet in them and with their sides of all
boundaries that may cross the cell that entered their layer: the *frame* of the layer. So a cell
that is cut is two lists of places in the pool, and the boundaries that cross each half are
found from bits. Of a ray on the edge between two others, most sides are those of its ends.

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
    sign_bound,
    to_below_1,
    unit_sign_bound,
)
from tropicell.engines.cells._cone_count import NO_ROOM, count_regions
from tropicell.engines.cells._rays import facet_row, meet, orient, row_value
from tropicell.engines.cells._signs import (
    BOUND,
    HIGH,
    LOW_HALF,
    UNKNOWN,
    few_sources,
    fine_corner,
    fine_sign,
    is_facet,
    is_zero_there,
    late_sign,
    sharp_corner,
    sign_of_bias,
    sources_vanish,
    zero_columns,
)
from tropicell.engines.cells._state import (
    BIT_WORDS,
    CONFLICT_AT,
    CONFLICTS,
    CORNER_AT,
    CORNERS,
    COUNT,
    FACET_AT,
    FACET_BITS,
    FACET_ROOM,
    FACETS,
    HIGHEST,
    IN_DOUBT,
    INFINITE,
    LAYER,
    LOWEST,
    MASK_ABOVE,
    MASK_ABOVE_N,
    MASK_KEPT,
    MASK_KEPT_N,
    MASK_OPEN,
    MOST_COUNTED,
    MOST_FACETS,
    N_CONFLICTS,
    N_CORNERS,
    N_FACETS,
    NEGATIVE_BITS,
    NONE,
    ONE,
    OUT,
    OUT_CORNERS,
    OUT_FACETS,
    OUT_POINTS,
    PATTERNS,
    PIECES_AT,
    POSITIVE_BITS,
    RAY_END,
    SEED,
    SIDES,
    SIMPLE,
    SPLITS,
    TABLE_END,
    TESTS,
    TOP,
    VALUE,
    ZERO_BITS,
    X,
)
from tropicell.engines.cells._volume import volume, volume_3
from tropicell.network._layer_maps import enter_layer, enter_layers
from tropicell.network._plain_maps import (
    bring_up,
    catch_up,
    enter_all_plainly,
    enter_finely,
    enter_plainly,
)
from tropicell.network.flat import BLOCK

#: Vertices of stored regions are at least this sharp, relative to the scaled coordinates; and so
#: sharp, if their rays have been sharpened and each coordinate is rounded by itself: step 6.
SHARP, SHARPENED = 1e-11, 1e-3

#: What `_cut_edges` returns instead of a number.
_DOUBT = -1

#: Cutting a cell of n corners takes as long as n * n / 2 to this power steps in addition.
_COSTLY = 9

#: Boundaries of a word of bits.
_WORD = 64

#: What `_side_of` says of a boundary that a cell is above, and of one that surely crosses it.
_ABOVE, _ACROSS = 1.0, 2.0

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@template
def dimension_of(lines: Any, stack: Any) -> int:
    """The dimension d: a constant where kernels are compiled for it."""
    return len(stack.axes) if len(stack.axes) > 0 else lines.dimension


# --- a cell on the stack --------------------------------------------------------------------------


@kernel(inner=True)
def seed_fits(stack: Any, seeds: Any, k: int) -> bool:
    """Whether there is room for a seed on the empty stack."""
    n_rays = seeds.ray_ends[k] - (seeds.ray_ends[k - 1] if k else 0)
    return bool(2 * n_rays < len(stack.corners))


@kernel(inner=True)
def plant(flat: Any, current: Any, stack: Any, seeds: Any, options: Any, state: Any) -> None:
    """Put the next seed on the empty stack; the maps are those of its pattern."""
    lines = flat.lines
    d = dimension_of(lines, stack)
    k, record, before = state[SEED], stack.records[0], stack.rows.before
    if options.exact and options.store:
        bring_up(flat.maps, current, stack.rows.pattern, seeds.layers[k])
        before = current.before
    first = seeds.facet_ends[k - 1] if k else 0
    first_ray = seeds.ray_ends[k - 1] if k else 0
    n, n_rays = seeds.facet_ends[k] - first, seeds.ray_ends[k] - first_ray
    for i in range(n):
        label = seeds.labels[first + i]
        facet_row(lines, before, label, options.exact, stack.table, i, d)
        stack.table_labels[i] = label
        stack.facets[i] = i + 1
    simple = 1
    for i in range(n_rays):
        for j in range(d):
            stack.bases[i, j] = seeds.bases[first_ray + i, j]
        meet(stack, d, i)
        for c in range(d + 1):
            stack.rays[i, c] *= seeds.signs[first_ray + i]
        if not options.exact:
            stack.rays[i, d + 1] = options.tolerance
        stack.corners[i] = i
        stack.tags[i] = seeds.tight[first_ray + i]
        if bit_count(stack.tags[i] & FACET_BITS) != d:
            simple = 0
    record[N_CORNERS], record[CORNER_AT], record[CONFLICT_AT], record[PIECES_AT] = n_rays, 0, 0, 0
    record[N_FACETS], record[FACET_AT], record[TABLE_END], record[SIMPLE] = n, 0, n, simple
    record[RAY_END] = n_rays
    state[TOP] = 1
    state[CORNERS] = n_rays
    state[FACETS] = n
    state[SEED] += 1


@kernel(inner=True, inlined=True)
def n_facets(record: Any) -> int:
    """Number of facets of a cell."""
    return int(record[N_FACETS])


@kernel(inner=True, inlined=True)
def facet_label(stack: Any, record: Any, i: int) -> int:
    """Label of a facet of a cell."""
    facet = stack.facets[record[FACET_AT] + i]
    label = stack.table_labels[abs(facet) - 1]
    return int(label if facet > 0 else -label)


# --- a cell enters a layer ------------------------------------------------------------------------


@kernel(inner=True)
def enter_all(flat: Any, current: Any, stack: Any, pieces: Any, layers: int, exact: bool) -> None:
    """Make the maps of the first layers anew, from the pieces of all of them."""
    if len(stack.rows.errors) > 0:
        d = dimension_of(flat.lines, stack)
        enter_all_plainly(flat.maps, current, stack.rows, pieces, layers, d)
    else:
        enter_layers(flat.maps, current, pieces, layers, exact)


@kernel(inner=True, inlined=True)
def enter(flat: Any, current: Any, layer: int, stack: Any, at: int, exact: bool) -> None:
    """Fix the pieces of a layer, ``stack.patterns[at]`` …, and make the rows of the next one."""
    if len(stack.rows.errors) > 0:
        d = dimension_of(flat.lines, stack)
        if layer < stack.rows.fine[0]:
            enter_finely(flat.maps, current, stack.rows, layer, stack.patterns, at)
        else:
            enter_plainly(flat.maps, stack.rows, layer, stack.patterns, at, d)
    else:
        enter_layer(flat.maps, current, layer, stack.patterns, at, exact)


@kernel(inner=True, inlined=True)
def start_layer(flat: Any, current: Any, layer: int, stack: Any, options: Any, state: Any) -> None:
    """Let the top cell enter `layer`: find the boundaries that cross it, and make its frame.

    A cell that surely no boundary crosses needs no frame; nor one that is crossed by one of the
    last layer, if regions are only counted.
    """
    lines = flat.lines
    d = dimension_of(lines, stack)
    record = stack.records[state[TOP] - 1]
    conflict, at = record[CONFLICT_AT], record[PIECES_AT]
    begin = lines.row_start[layer]
    width = lines.row_start[layer + 1] - begin
    pieces = stack.patterns[at : at + width]
    start, n = record[CORNER_AT], record[N_CORNERS]
    first = lines.line_start[layer]
    state[TESTS] += n * (lines.line_start[layer + 1] - first)
    record[LAYER] = layer
    record[IN_DOUBT] = 0
    state[PATTERNS] = at + width
    most, count, sure = 0, 1, 0
    if lines.plain[layer]:
        mine = stack.corners[start : start + n]
        _scan(stack.axes, d, stack.rows.before, begin, width, stack.rays, mine, stack.sides)
        sides = stack.sides[SIDES, :width]
        most = 1 if layer == lines.depth and not options.store else 0
        count = 0
        for r in range(width):
            pieces[r] = sides[r] == _ABOVE
            stack.conflicts[np.uint64(conflict + count)] = first + r
            count += abs(sides[r]) != 1.0
            sure += sides[r] == _ACROSS
    else:
        pieces[:] = 0
    if count == sure and count <= most:
        record[N_CONFLICTS] = count
        state[CONFLICTS] = conflict + count
    else:
        sharp = options.exact and options.store
        _make_frame(flat, current, layer, stack, options.exact, sharp, state)


@kernel(inner=True, inlined=True)
def _make_frame(
    flat: Any, current: Any, layer: int, stack: Any, exact: bool, sharp: bool, state: Any
) -> None:
    """Make the frame of the top cell in its layer, after the scan of a plain one.

    `sharp`: of rows that are rounded once, as the vertices of stored regions need them.
    """
    lines = flat.lines
    d = dimension_of(lines, stack)
    before = stack.rows.before
    if sharp:
        bring_up(flat.maps, current, stack.rows.pattern, layer)
        before = current.before
    record = stack.records[state[TOP] - 1]
    conflict, pattern = record[CONFLICT_AT], record[PIECES_AT]
    begin = lines.row_start[layer]
    width = lines.row_start[layer + 1] - begin
    pieces = stack.patterns[pattern : pattern + width]
    _own_rays(stack, record, state, d)
    start, n = record[CORNER_AT], record[N_CORNERS]
    first, last = lines.line_start[layer], lines.line_start[layer + 1]
    plain, sides = lines.plain[layer], stack.sides[SIDES]
    size = 0
    for line in range(first, last):
        if plain and abs(sides[line - first]) == 1.0:
            continue
        row = lines.line_row[line]
        if exact and _is_flat(before, row, d):
            # Step 1, constant neurons: nothing was summed, bias and breakpoint are both floats.
            pieces[row - begin] += before[d, row] > lines.line_at[line]
            continue
        _to_frame(lines, before, layer, line, size, stack, exact, d)
        size += 1
    stack.frame_sizes[layer] = size
    for i in range(start, start + n):
        _all_signs(stack, first, size, stack.corners[i], exact, d)
        if exact:
            _decide_all(flat, current, stack, first, size, stack.corners[i], d)
    count, doubtful = 0, 0
    for w in range((size + _WORD - 1) // _WORD):
        _, above, below, known = _seen(stack, stack.corners, start, n, w)
        for b in range(min(size - w * _WORD, _WORD)):
            bit = ONE << np.uint64(b)
            line = stack.frame_lines[first + w * _WORD + b]
            if above & below & bit != NONE:
                stack.conflicts[conflict + count] = line
                count += 1
            elif known & bit == NONE:
                # A cell that comes from within the layer has facets on some of its boundaries.
                side = 0
                for i in range(record[N_FACETS]):
                    label = facet_label(stack, record, i)
                    if abs(label) == line + 1:
                        side = label
                if side > 0:
                    pieces[lines.line_row[line] - begin] += 1
                elif side == 0:
                    stack.conflicts[conflict + count] = line
                    count += 1
                    doubtful = 1
            elif above & bit != NONE:
                pieces[lines.line_row[line] - begin] += 1
    record[N_CONFLICTS] = count
    record[IN_DOUBT] = doubtful
    state[CONFLICTS] = conflict + count


@template
def _is_flat(before: Any, row: int, d: int) -> Any:
    """Whether nothing was added to a neuron's bias."""
    flat = before[d + 1, row] == 0.0
    for c in range(d):
        flat = flat and before[c, row] == 0.0
    return flat


@kernel(inner=True, inlined=True)
def _own_rays(stack: Any, record: Any, state: Any, d: int) -> None:
    """Give the top cell rays of its own in the pool, right behind those of the cells below."""
    base = stack.records[state[TOP] - 2, RAY_END] if state[TOP] > 1 else 0
    start, n = record[CORNER_AT], record[N_CORNERS]
    rays, bases, corners = stack.rays, stack.bases, stack.corners
    rising = True
    for i in range(start + 1, start + n):
        rising = rising and corners[i] > corners[i - 1]
    if not rising:
        # Behind the cell's own rays there is room for as many.
        for i in range(n):
            _copy_ray(rays, bases, corners[start + i], record[RAY_END] + i, d)
            corners[start + i] = record[RAY_END] + i
    # The first ones go up, and the last of them first; the others go down. So none is lost.
    up = 0
    while up < n and corners[start + up] <= base + up:
        up += 1
    for i in range(up - 1, -1, -1):
        _copy_ray(rays, bases, corners[start + i], base + i, d)
        corners[start + i] = base + i
    for i in range(up, n):
        _copy_ray(rays, bases, corners[start + i], base + i, d)
        corners[start + i] = base + i
    record[RAY_END] = base + n


@template
def _copy_ray(rays: Any, bases: Any, at: int, to: int, d: int) -> None:
    """Copy a ray within the pool."""
    i, k = np.uint64(at), np.uint64(to)
    for c in range(d + 2):
        rays[k, c] = rays[i, c]
    for c in range(d):
        bases[k, c] = bases[i, c]


@kernel(sums="fused", inner=True, inlined=True)
def _scan(
    axes: Any,
    dimension: int,
    before: Any,
    begin: int,
    width: int,
    rays: Any,
    corners: Any,
    work: Any,
) -> None:
    """Fill the first row of `work` for a plain layer, whose rows are from `begin` on: `_side_of`.

    `corners`: the rays of the cell. Whole blocks of rows are read and written.
    """
    d = len(axes) if len(axes) > 0 else dimension
    width = (width + BLOCK - 1) // BLOCK * BLOCK
    end = begin + width
    low, high, value = work[LOWEST, :width], work[HIGHEST, :width], work[VALUE, :width]
    n = len(corners)
    eps = 0.0
    for i in range(n):
        error = rays[np.uint64(corners[i]), d + 1]
        eps = max(eps, error if error < 1.0 else np.inf)  # not a number is infinite, too
    sides, error = work[SIDES, :width], before[d + 1, begin:end]
    if d == 3:
        for i in range(0, n, 4):
            _reach_3(before, begin, rays, corners, (i, n - 1), low, high)
        a, b = before[0, begin:end], before[1, begin:end]
        c, e = before[2, begin:end], before[3, begin:end]
        for r in range(width):
            size = abs(a[r]) + abs(b[r]) + abs(c[r]) + abs(e[r])
            sides[r] = _side_of(low[r], high[r], size, error[r], eps, d)
        return
    if d == 4:
        for i in range(0, n, 4):
            _reach_4(before, begin, rays, corners, (i, n - 1), low, high)
        a, b = before[0, begin:end], before[1, begin:end]
        c, e, f = before[2, begin:end], before[3, begin:end], before[4, begin:end]
        for r in range(width):
            size = abs(a[r]) + abs(b[r]) + abs(c[r]) + abs(e[r]) + abs(f[r])
            sides[r] = _side_of(low[r], high[r], size, error[r], eps, d)
        return
    for i in range(n):
        ray = corners[i]
        x = rays[ray, X]
        m = before[X, begin:end]
        for r in range(width):
            value[r] = m[r] * x
        for c in range(1, d + 1):
            x = rays[ray, c]
            m = before[c, begin:end]
            for r in range(width):
                value[r] += m[r] * x
        if i == 0:
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
    for r in range(width):
        sides[r] = _side_of(low[r], high[r], value[r], error[r], eps, d)


@template
def _side_of(low: float, high: float, size: float, error: float, eps: float, d: int) -> float:
    """On which side of a row values from `low` to `high` are.

    `_ABOVE` or -`_ABOVE`; `_ACROSS` if they surely are on both; 0 if it needs a closer look. Step
    3, written so that a value that is not a number counts as doubtful.
    """
    bound = sign_bound(size, error, eps, d, cone_roundings(d))
    side = (_ABOVE if low > bound else 0.0) - (_ABOVE if high < -bound else 0.0)
    both = (1.0 if low < -bound else 0.0) * (1.0 if high > bound else 0.0)
    return side + _ACROSS * both


@template
def _reach_3(
    before: Any, begin: int, rays: Any, places: Any, some: Any, low: Any, high: Any
) -> None:
    """Let the lowest and highest values of rows include those at four more rays.

    `some`: the first of the four, and the last one of the cell.
    """
    i, last = some
    n = len(low)
    p, q = np.uint64(places[i]), np.uint64(places[min(i + 1, last)])
    s, t = np.uint64(places[min(i + 2, last)]), np.uint64(places[min(i + 3, last)])
    px, py, pz, pw = rays[p, 0], rays[p, 1], rays[p, 2], rays[p, 3]
    qx, qy, qz, qw = rays[q, 0], rays[q, 1], rays[q, 2], rays[q, 3]
    sx, sy, sz, sw = rays[s, 0], rays[s, 1], rays[s, 2], rays[s, 3]
    tx, ty, tz, tw = rays[t, 0], rays[t, 1], rays[t, 2], rays[t, 3]
    a, b = before[0, begin : begin + n], before[1, begin : begin + n]
    c, e = before[2, begin : begin + n], before[3, begin : begin + n]
    if i == 0:
        for r in range(n):
            low[r] = np.inf
            high[r] = -np.inf
    for r in range(n):
        x, y, z, w = a[r], b[r], c[r], e[r]
        v0 = x * px + y * py + z * pz + w * pw
        v1 = x * qx + y * qy + z * qz + w * qw
        v2 = x * sx + y * sy + z * sz + w * sw
        v3 = x * tx + y * ty + z * tz + w * tw
        low[r], high[r] = _widened(low[r], high[r], v0, v1, v2, v3)


@template
def _reach_4(
    before: Any, begin: int, rays: Any, places: Any, some: Any, low: Any, high: Any
) -> None:
    """The same in four dimensions."""
    i, last = some
    n = len(low)
    p, q = np.uint64(places[i]), np.uint64(places[min(i + 1, last)])
    s, t = np.uint64(places[min(i + 2, last)]), np.uint64(places[min(i + 3, last)])
    px, py, pz, pu, pw = rays[p, 0], rays[p, 1], rays[p, 2], rays[p, 3], rays[p, 4]
    qx, qy, qz, qu, qw = rays[q, 0], rays[q, 1], rays[q, 2], rays[q, 3], rays[q, 4]
    sx, sy, sz, su, sw = rays[s, 0], rays[s, 1], rays[s, 2], rays[s, 3], rays[s, 4]
    tx, ty, tz, tu, tw = rays[t, 0], rays[t, 1], rays[t, 2], rays[t, 3], rays[t, 4]
    a, b = before[0, begin : begin + n], before[1, begin : begin + n]
    c, e = before[2, begin : begin + n], before[3, begin : begin + n]
    f = before[4, begin : begin + n]
    if i == 0:
        for r in range(n):
            low[r] = np.inf
            high[r] = -np.inf
    for r in range(n):
        x, y, z, u, w = a[r], b[r], c[r], e[r], f[r]
        v0 = x * px + y * py + z * pz + u * pu + w * pw
        v1 = x * qx + y * qy + z * qz + u * qu + w * qw
        v2 = x * sx + y * sy + z * sz + u * su + w * sw
        v3 = x * tx + y * ty + z * tz + u * tu + w * tw
        low[r], high[r] = _widened(low[r], high[r], v0, v1, v2, v3)


@template
def _widened(
    low: float, high: float, a: float, b: float, c: float, d: float
) -> tuple[float, float]:
    """An interval that has four more numbers in it; without those that are no numbers."""
    low1, high1 = (a, b) if a < b else (b, a)
    low2, high2 = (c, d) if c < d else (d, c)
    low3 = low1 if low1 < low2 else low2
    high3 = high1 if high1 > high2 else high2
    return (low3 if low3 < low else low), (high3 if high3 > high else high)


@kernel(inner=True, inlined=True)
def _to_frame(
    lines: Any, before: Any, layer: int, line: int, place: int, stack: Any, exact: bool, d: int
) -> None:
    """Write the row of a boundary into the frame of its layer."""
    at = lines.line_start[layer] + place
    facet_row(lines, before, line + 1, exact, stack.frame, at, d)
    weight = 1.0001
    if not exact:
        weight = 0.0
        for c in range(d + 1):
            weight += abs(stack.frame[at, c])
        stack.frame[at, d + 1] = 0.0
    stack.frame[at, d + 2] = weight
    stack.frame_lines[at] = line
    stack.places[line] = place


@kernel(inner=True)
def resume(flat: Any, current: Any, stack: Any, state: Any, options: Any) -> None:
    """Make the frames of the layers of all cells on the stack, and the bits of their rays.

    The maps are those of the top cell, and so those of every layer with cells.
    """
    lines, before, exact = flat.lines, stack.rows.before, options.exact
    d = dimension_of(lines, stack)
    if exact and options.store:
        bring_up(flat.maps, current, stack.rows.pattern, stack.records[state[TOP] - 1, LAYER])
        before = current.before
    k, used = 0, 0
    while k < state[TOP]:
        layer = stack.records[k, LAYER]
        first, last = lines.line_start[layer], lines.line_start[layer + 1]
        for line in range(first, last):
            stack.places[line] = -1
        size = 0
        while k < state[TOP] and stack.records[k, LAYER] == layer:
            record = stack.records[k]
            for i in range(record[CONFLICT_AT], record[CONFLICT_AT] + record[N_CONFLICTS]):
                line = stack.conflicts[i]
                if stack.places[line] < 0:
                    _to_frame(lines, before, layer, line, size, stack, exact, d)
                    size += 1
            k += 1
        stack.frame_sizes[layer] = size
        end = stack.records[k - 1, RAY_END]
        for ray in range(used, end):
            _all_signs(stack, first, size, ray, exact, d)
            if exact:
                _decide_all(flat, current, stack, first, size, ray, d)
        used = end


# --- on which sides of boundaries rays lie --------------------------------------------------------


@kernel(sums="fused", inner=True, inlined=True)
def _all_signs(stack: Any, first: int, size: int, ray: int, exact: bool, d: int) -> None:
    """Fill the bits of a ray for all boundaries of a frame, which begins at `first`: step 3."""
    frame, rays, bits = stack.frame, stack.rays, stack.bits
    eps = rays[ray, d + 1]
    for w in range((size + _WORD - 1) // _WORD):
        above, below, every = NONE, NONE, NONE
        for b in range(min(size - w * _WORD, _WORD)):
            at = first + w * _WORD + b
            s = row_value(frame, at, rays, ray, d)
            bound = unit_sign_bound(frame[at, d + 2], frame[at, d + 1], eps, d)
            place = np.uint64(b)
            above |= (ONE if s > bound else NONE) << place
            below |= (ONE if s < -bound else NONE) << place
            every |= ONE << place
        bits[ray, BIT_WORDS * w + POSITIVE_BITS] = above
        bits[ray, BIT_WORDS * w + NEGATIVE_BITS] = below
        bits[ray, BIT_WORDS * w + ZERO_BITS] = NONE if exact else every & ~(above | below)


@kernel(sums="fused", inner=True, inlined=True)
def _signs(stack: Any, first: int, asked: Any, ray: int, d: int) -> Any:
    """On which sides of some boundaries, a word of bits from row `first` on, a ray lies: step 3.

    Returns the bits of those on whose positive, and on whose negative side it surely lies.
    """
    frame, rays = stack.frame, stack.rays
    eps = rays[ray, d + 1]
    above, below = NONE, NONE
    while asked != NONE:
        b = lowest_bit(asked)
        bit = asked & (~asked + ONE)
        asked ^= bit
        at = first + b
        s = row_value(frame, at, rays, ray, d)
        bound = unit_sign_bound(frame[at, d + 2], frame[at, d + 1], eps, d)
        if s > bound:
            above |= bit
        elif s < -bound:
            below |= bit
    return above, below


@kernel(inner=True)
def _decide_all(
    flat: Any, current: Any, stack: Any, first: int, size: int, ray: int, d: int
) -> None:
    """Find the sides of boundaries of a frame on which a ray lies that float64 left in doubt."""
    bits = stack.bits
    for w in range((size + _WORD - 1) // _WORD):
        k = BIT_WORDS * w
        rest = _ALL
        if size < (w + 1) * _WORD:
            rest = (ONE << np.uint64(size - w * _WORD)) - ONE
        rest &= ~(bits[ray, k + POSITIVE_BITS] | bits[ray, k + NEGATIVE_BITS])
        if rest != NONE:
            more, less, zero = decide(flat, current, stack, first + w * _WORD, rest, ray, d)
            bits[ray, k + POSITIVE_BITS] |= more
            bits[ray, k + NEGATIVE_BITS] |= less
            bits[ray, k + ZERO_BITS] = zero


@kernel(inner=True)
def decide(flat: Any, current: Any, stack: Any, first: int, asked: Any, ray: int, d: int) -> Any:
    """The same as `_signs`, and those that it lies on, with as many digits as it takes: steps 6, 7.

    What is in none of the three words is still in doubt.
    """
    above, below, on = NONE, NONE, NONE
    lines, fine = flat.lines, stack.fine
    layer = lines.line_layer[stack.frame_lines[first]]
    catch_up(flat.maps, current, stack.rows, layer)
    for j in range(d):
        fine.facets[j] = stack.table_labels[stack.bases[ray, j]]
    columns = zero_columns(lines, current, fine)
    rest = asked
    while rest != NONE:
        bit = rest & (~rest + ONE)
        rest ^= bit
        line = stack.frame_lines[first + lowest_bit(bit)]
        if is_facet(lines, fine, line) or is_zero_there(lines, current, line, columns):
            on |= bit
    asked &= ~on
    if asked != NONE and few_sources(flat, current, fine, layer):
        return above, below, on | asked
    if asked != NONE and sources_vanish(flat, current, fine, layer):
        positive = int(stack.rays[ray, d] > stack.rays[ray, d + 1])
        rest = asked
        while rest != NONE:
            bit = rest & (~rest + ONE)
            rest ^= bit
            line = stack.frame_lines[first + lowest_bit(bit)]
            sign = sign_of_bias(flat, fine, line, positive)
            if sign == UNKNOWN:
                continue
            asked ^= bit
            if sign == 0:
                on |= bit
            elif sign > 0:
                above |= bit
            else:
                below |= bit
    if asked == NONE:
        return above, below, on
    turn = _late_ray(lines, current, stack, ray, d)
    if turn == 0:
        return above, below, on
    while asked != NONE:
        b = lowest_bit(asked)
        bit = asked & (~asked + ONE)
        asked ^= bit
        sign = late_sign(flat, current, fine, stack.frame_lines[first + b])
        if sign == 0:
            on |= bit
        elif sign == turn:
            above |= bit
        elif sign == -turn:
            below |= bit
    return above, below, on


@kernel(inner=True)
def _fine_ray(lines: Any, current: Any, stack: Any, ray: int, d: int) -> int:
    """Work out where the facets of a ray's basis meet, with twice the digits.

    Returns 1 if that is the ray, -1 if it is its opposite, 0 if that is in doubt.
    """
    _basis_labels(stack, ray, d)
    fine_corner(lines, current, stack.fine)
    return _turn(stack, ray, d)


@template
def _basis_labels(stack: Any, ray: int, d: int) -> None:
    """Name the facets of a ray's basis to `_signs`."""
    for j in range(d):
        stack.fine.facets[j] = stack.table_labels[stack.bases[ray, j]]


@kernel(inner=True)
def _turn(stack: Any, ray: int, d: int) -> int:
    """Whether ``fine.corner`` is a ray, 1, or its opposite, -1; 0 if that is in doubt."""
    fine, rays = stack.fine, stack.rays
    size, wrong, length, value = 0.0, 0.0, 0.0, 0.0
    for c in range(d + 1):
        x = fine.corner[HIGH, c]
        size += abs(x)
        wrong = max(wrong, fine.corner[BOUND, c])
        length += abs(rays[ray, c])
        value += x * rays[ray, c]
    # Two vectors of which one is a multiple of the other, each off by less than a hundredth.
    if not (wrong * (d + 1) < 0.01 * size and rays[ray, d + 1] * (d + 1) < 0.01 * length):
        return 0
    return 1 if value > 0.0 else -1


@kernel(late=True)
def _late_ray(lines: Any, current: Any, stack: Any, ray: int, d: int) -> int:
    """The same, compiled when it is asked for."""
    return _fine_ray(lines, current, stack, ray, d)


@template
def between(
    p_above: Any, p_below: Any, p_zero: Any, q_above: Any, q_below: Any, q_zero: Any
) -> Any:
    """Sides of all points between two rays that follow from those of the rays: step 4."""
    above = p_above & (q_above | q_zero) | p_zero & q_above
    below = p_below & (q_below | q_zero) | p_zero & q_below
    return above, below, p_zero & q_zero


@template
def _seen(stack: Any, places: Any, start: int, n: int, w: int) -> Any:
    """What rays know of a word of boundaries.

    Those with all rays above, or all below; with rays above; with rays below; known for all rays.
    """
    bits = stack.bits
    above, below, all_above, all_below, known = NONE, NONE, _ALL, _ALL, _ALL
    word = np.uint64(BIT_WORDS * w)
    for i in range(start, start + n):
        ray = np.uint64(places[np.uint64(i)])
        a = bits[ray, word + np.uint64(POSITIVE_BITS)]
        b = bits[ray, word + np.uint64(NEGATIVE_BITS)]
        z = bits[ray, word + np.uint64(ZERO_BITS)]
        above |= a
        below |= b
        all_above &= a
        all_below &= b
        known &= a | b | z
    return (all_above, all_below), above, below, known


# --- cutting a cell in two ------------------------------------------------------------------------


@kernel(inner=True, inlined=True)
def split(flat: Any, current: Any, stack: Any, options: Any, state: Any) -> bool:
    """Cut the top cell by the last boundary of its conflict list; False if there is no room.

    Where only the number of regions is wanted, the last layer's are counted without cutting.
    """
    lines = flat.lines
    d, top = dimension_of(lines, stack), state[TOP] - 1
    record, other = stack.records[top], stack.records[top + 1]
    layer, start, n = record[LAYER], record[CORNER_AT], record[N_CORNERS]
    conflict, count, at = record[CONFLICT_AT], record[N_CONFLICTS], record[PIECES_AT]
    new, end = record[TABLE_END], record[RAY_END]
    first = lines.line_start[layer]
    # In the pool: new rays, and twice those of a half that enters the next layer.
    if (
        state[FACETS] + FACET_ROOM > len(stack.facets)
        or new + _WORD > len(stack.table)
        or end + 4 * n > len(stack.rays)
    ):
        return False
    if layer == lines.depth and not options.store and count <= MOST_COUNTED and record[SIMPLE] != 0:
        found = count_regions(stack, record, first, d)
        if found == NO_ROOM:
            return False
        if found > 0:
            state[COUNT] += found - 1
            record[N_CONFLICTS] = 0
            return True
    begin = lines.row_start[layer]
    width = lines.row_start[layer + 1] - begin
    line = stack.conflicts[conflict + count - 1]
    neuron, place = lines.line_row[line] - begin, stack.places[line]
    state[TESTS] += n
    np_, nn, on = _sort_rays(stack, record, place)
    if np_ + nn + on < n:
        record[IN_DOUBT] = 1
        return True
    if np_ == 0 or nn == 0:
        # In float arithmetic rounding made nonsense of a boundary that barely touches the cell: it
        # does not cross.
        stack.patterns[at + neuron] += np_ > 0
        record[N_CONFLICTS] = count - 1
        state[CONFLICTS] -= 1
        return True
    for c in range(d + 2):
        stack.table[new, c] = stack.frame[first + place, c]
    stack.table_labels[new] = line + 1
    made = _cut_edges(flat, current, stack, record, (np_, nn, place), options, d)
    if made == _DOUBT:
        record[IN_DOUBT] = 1
        return True
    total = np_ + nn + 2 * (on + made)
    if (
        made == NO_ROOM
        or start + total > len(stack.corners)
        or end + made + 2 * (max(np_, nn) + on + made) > len(stack.rays)
    ):
        return False
    state[SPLITS] += 1
    facets_n, facet_at = record[N_FACETS], record[FACET_AT]
    bit = ONE << np.uint64(facets_n)
    to = _write_half(stack, (stack.old_corners, stack.old_tags), (np_, on, made, end), start, bit)
    _write_half(stack, (stack.low_corners, stack.low_tags), (nn, on, made, end), to, bit)
    facets = stack.facets
    for f in range(facets_n):
        facets[facet_at + facets_n + 1 + f] = facets[facet_at + f]
    facets[facet_at + facets_n] = new + 1
    facets[facet_at + 2 * facets_n + 1] = -(new + 1)
    keep = options.store or layer < lines.depth
    if keep:
        for j in range(width):
            stack.patterns[at + width + j] = stack.patterns[at + j]
        stack.patterns[at + neuron] += 1
    _hand_down(lines, stack, (np_, nn, on, made), keep, state)
    record[N_CORNERS], other[N_CORNERS] = np_ + on + made, nn + on + made
    other[LAYER], other[CORNER_AT], other[PIECES_AT] = layer, to, at + width
    record[N_FACETS] = other[N_FACETS] = facets_n + 1
    other[FACET_AT] = facet_at + facets_n + 1
    record[TABLE_END] = other[TABLE_END] = new + 1
    record[RAY_END] = other[RAY_END] = end + made
    if on:
        record[SIMPLE] = 0
    other[SIMPLE] = record[SIMPLE]
    if facets_n + 1 >= MOST_FACETS:
        compress(stack.tags, facets, record, d)
        compress(stack.tags, facets, other, d)
    state[TOP] += 1
    state[CORNERS] = start + total
    state[PATTERNS] = at + 2 * width
    state[FACETS] = facet_at + 2 * facets_n + 2
    return True


@kernel(inner=True, inlined=True)
def _sort_rays(stack: Any, record: Any, place: int) -> tuple[int, int, int]:
    """Sort the rays of a cell into those above a boundary of the frame, below, and on it."""
    start, n = record[CORNER_AT], record[N_CORNERS]
    word, shift = np.uint64(BIT_WORDS * (place // _WORD)), np.uint64(place % _WORD)
    bits, corners, tags = stack.bits, stack.corners, stack.tags
    np_, nn, on = 0, 0, 0
    for k in range(start, start + n):
        i = np.uint64(k)
        ray = corners[i]
        at = np.uint64(ray)
        # Each is written to both lists, and stays in the one whose length grows.
        above = (bits[at, word + np.uint64(POSITIVE_BITS)] >> shift) & ONE
        below = (bits[at, word + np.uint64(NEGATIVE_BITS)] >> shift) & ONE
        stack.old_corners[np.uint64(np_)] = ray
        stack.old_tags[np.uint64(np_)] = tags[i]
        stack.low_corners[np.uint64(nn)] = ray
        stack.low_tags[np.uint64(nn)] = tags[i]
        np_ += int(above)
        nn += int(below)
        if above | below == NONE and (bits[at, word + np.uint64(ZERO_BITS)] >> shift) & ONE != NONE:
            stack.on_corners[on] = ray
            stack.on_tags[on] = tags[i]
            on += 1
    return np_, nn, on


@kernel(inner=True, inlined=True)
def _cut_edges(
    flat: Any, current: Any, stack: Any, record: Any, cut: Any, options: Any, d: int
) -> int:
    """Write the rays where the new facet cuts edges of the cell: step 2.

    `cut`: how many rays lie above and below, and the place of the boundary in the frame. Returns
    the number of new rays, or `_DOUBT`, or `NO_ROOM`: no room, or no time.
    """
    np_, nn, place = cut
    n, exact = record[N_CORNERS], options.exact
    end, first = record[RAY_END], flat.lines.line_start[record[LAYER]]
    above, high = stack.old_corners, stack.old_tags
    below, low = stack.low_corners, stack.low_tags
    tags, start = stack.tags, record[CORNER_AT]
    simple = record[SIMPLE] != 0
    words = (stack.frame_sizes[record[LAYER]] + _WORD - 1) // _WORD
    for w in range(words):
        stack.masks[MASK_OPEN, w] = NONE
    for k in range(record[CONFLICT_AT], record[CONFLICT_AT] + record[N_CONFLICTS] - 1):
        other = stack.places[stack.conflicts[k]]
        stack.masks[MASK_OPEN, other // _WORD] |= ONE << np.uint64(other % _WORD)
    made = 0
    for i in range(np_):
        if is_set(stack.halt):
            return NO_ROOM
        for j in range(nn):
            common = high[i] & low[j]
            if bit_count(common & FACET_BITS) < d - 1:
                continue
            if not simple and not _neighbours(tags, start, n, common):
                continue
            ray = end + made
            if ray >= len(stack.rays):
                return NO_ROOM
            stack.new_tags[made] = common
            if exact:
                if not _basis(stack, record, common, simple, ray, d):
                    return _DOUBT
                meet(stack, d, ray)
                # A facet of ray j that is not one of ray i is positive on the edge between them.
                apart = low[j] & ~high[i] & FACET_BITS
                facet = stack.facets[record[FACET_AT] + lowest_bit(apart)]
                if not orient(stack, ray, common, facet, d) and not fine_meet(
                    flat, current, stack, record[LAYER], ray, facet, d
                ):
                    return _DOUBT
            else:
                blend(stack, first + place, above[i], below[j], ray, options.tolerance, d)
            _inherit(flat, current, stack, first, words, (above[i], below[j], ray), exact, d)
            made += 1
    return made


@template
def _neighbours(tags: Any, start: int, n: int, common: Any) -> bool:
    """Whether no third ray lies on all facets that two rays share."""
    on = 0
    for k in range(start, start + n):
        on += tags[k] & common == common
    return on == 2


@kernel(inner=True, inlined=True)
def _basis(stack: Any, record: Any, common: Any, simple: bool, ray: int, d: int) -> bool:
    """Choose d - 1 of the facets on an edge, and the new one, as the basis of the ray there.

    Where more facets than that contain the edge, independent ones are chosen: False if none are
    found. Whether they are is for `meet` to prove.
    """
    facets, at, bases = stack.facets, record[FACET_AT], stack.bases
    bits = common & FACET_BITS
    bases[ray, d - 1] = record[TABLE_END]
    if simple or bit_count(bits) == d - 1:
        for k in range(d - 1):
            bases[ray, k] = abs(facets[at + lowest_bit(bits)]) - 1
            bits &= bits - ONE
        return True
    rows = stack.pivots
    count = 1
    for c in range(d + 1):
        rows[0, c] = stack.table[record[TABLE_END], c]
    while bits != NONE:
        place = abs(facets[at + lowest_bit(bits)]) - 1
        bits &= bits - ONE
        for c in range(d + 1):
            rows[count, c] = stack.table[place, c]
        rows[count, d + 1] = place
        count += 1
    # The row that is farthest from those chosen, again and again; the first one is the cut's.
    pivot = 0
    for k in range(d):
        if k > 0:
            largest = 0.0
            for r in range(k, count):
                square = 0.0
                for c in range(d + 1):
                    square += rows[r, c] * rows[r, c]
                if square > largest:
                    pivot, largest = r, square
            if not largest > 0.0:
                return False
            bases[ray, k - 1] = int(rows[pivot, d + 1])
            for c in range(d + 2):
                rows[k, c], rows[pivot, c] = rows[pivot, c], rows[k, c]
        square = 0.0
        for c in range(d + 1):
            square += rows[k, c] * rows[k, c]
        for r in range(k + 1, count):
            share = 0.0
            for c in range(d + 1):
                share += rows[k, c] * rows[r, c]
            share /= square
            for c in range(d + 1):
                rows[r, c] -= share * rows[k, c]
    return True


@kernel(inner=True)
def blend(stack: Any, row: int, p: int, q: int, ray: int, tolerance: float, d: int) -> None:
    """Write the ray between two others where a row of the frame is 0: float arithmetic."""
    rays = stack.rays
    a = row_value(stack.frame, row, rays, p, d)
    b = -row_value(stack.frame, row, rays, q, d)
    size = 0.0
    for c in range(d + 1):
        x = b * rays[p, c] + a * rays[q, c]
        rays[ray, c] = x
        size += abs(x)
    factor = to_below_1(size)
    for c in range(d + 1):
        rays[ray, c] *= factor
    rays[ray, d + 1] = tolerance


@template
def _inherit(
    flat: Any, current: Any, stack: Any, first: int, words: int, places: Any, exact: bool, d: int
) -> None:
    """Fill the bits of a new ray between two others, for all boundaries that are open.

    `places`: of the two rays, and of the new one.
    """
    bits = stack.bits
    p, q, ray = places
    i, j, to = np.uint64(p), np.uint64(q), np.uint64(ray)
    for w in range(words):
        k = np.uint64(BIT_WORDS * w)
        above_at, below_at = k + np.uint64(POSITIVE_BITS), k + np.uint64(NEGATIVE_BITS)
        zero_at = k + np.uint64(ZERO_BITS)
        above, below, zero = between(
            bits[i, above_at],
            bits[i, below_at],
            bits[i, zero_at],
            bits[j, above_at],
            bits[j, below_at],
            bits[j, zero_at],
        )
        rest = stack.masks[MASK_OPEN, w] & ~(above | below | zero)
        if rest != NONE:
            more, less = _signs(stack, first + w * _WORD, rest, ray, d)
            above |= more
            below |= less
            rest &= ~(more | less)
            if not exact:
                zero |= rest
            elif rest != NONE:
                at = first + w * _WORD
                more, less, on = decide(flat, current, stack, at, rest, ray, d)
                above |= more
                below |= less
                zero |= on
        bits[to, above_at] = above
        bits[to, below_at] = below
        bits[to, zero_at] = zero


@template
def _write_half(stack: Any, side: Any, sizes: Any, to: int, bit: Any) -> Any:
    """Write the rays of one half: those on its side, those on the cut, the new ones."""
    corners, tags = stack.corners, stack.tags
    places, on_facets = side
    n, on, made, end = sizes
    for i in range(n):
        corners[to + i] = places[i]
        tags[to + i] = on_facets[i]
    for i in range(on):
        corners[to + n + i] = stack.on_corners[i]
        tags[to + n + i] = stack.on_tags[i] | bit
    for i in range(made):
        corners[to + n + on + i] = end + i
        tags[to + n + on + i] = stack.new_tags[i] | bit
    return to + n + on + made


@kernel(inner=True, inlined=True)
def _hand_down(lines: Any, stack: Any, sizes: Any, keep: bool, state: Any) -> None:
    """Make the conflict lists of the two halves of the top cell.

    `sizes`: the numbers of rays above and below the cut, on it, and of new ones.
    """
    record, other = stack.records[state[TOP] - 1], stack.records[state[TOP]]
    layer, start, at = record[LAYER], record[CORNER_AT], record[PIECES_AT]
    conflict, count = record[CONFLICT_AT], record[N_CONFLICTS]
    begin = lines.row_start[layer]
    width = lines.row_start[layer + 1] - begin
    conflicts, handed_on, masks = stack.conflicts, stack.handed, stack.masks
    np_, nn, on, made = sizes
    doubtful_p, doubtful_n = NONE, NONE
    for w in range((stack.frame_sizes[layer] + _WORD - 1) // _WORD):
        is_open = masks[MASK_OPEN, w]
        _, above, below, known = _seen(stack, stack.old_corners, 0, np_, w)
        _, above_n, below_n, known_n = _seen(stack, stack.low_corners, 0, nn, w)
        # The rays of the cut, which belong to both halves.
        cut, above_c, below_c, known_c = _seen(stack, stack.corners, start + np_, on + made, w)
        above, below, known = above | above_c, below | below_c, known & known_c
        above_n, below_n, known_n = above_n | above_c, below_n | below_c, known_n & known_c
        crosses, crosses_n = above & below, above_n & below_n
        # Step 4: a boundary that crosses the whole cell but not the cut crosses exactly one of the
        # halves, and the other one lies on the side of the cut.
        sure = (cut[0] | cut[1]) & is_open
        sure_p, sure_n = sure & crosses_n, sure & crosses
        doubt = is_open & ~(crosses | known | sure_p)
        doubt_n = is_open & ~(crosses_n | known_n | sure_n)
        doubtful_p |= doubt
        doubtful_n |= doubt_n
        masks[MASK_KEPT, w] = crosses & is_open | doubt
        masks[MASK_KEPT_N, w] = crosses_n & is_open | doubt_n
        masks[MASK_ABOVE, w] = above
        masks[MASK_ABOVE_N, w] = above_n
    kept, handed = 0, 0
    for k in range(count - 1):
        line = conflicts[conflict + k]
        place = stack.places[line]
        w, shift = place // _WORD, np.uint64(place % _WORD)
        if (masks[MASK_KEPT, w] >> shift) & ONE != NONE:
            conflicts[conflict + kept] = line
            kept += 1
        elif keep and (masks[MASK_ABOVE, w] >> shift) & ONE != NONE:
            stack.patterns[at + lines.line_row[line] - begin] += 1
        if (masks[MASK_KEPT_N, w] >> shift) & ONE != NONE:
            handed_on[handed] = line
            handed += 1
        elif keep and (masks[MASK_ABOVE_N, w] >> shift) & ONE != NONE:
            stack.patterns[at + width + lines.line_row[line] - begin] += 1
    for k in range(handed):
        conflicts[conflict + kept + k] = handed_on[k]
    record[N_CONFLICTS], record[IN_DOUBT] = kept, int(doubtful_p != NONE)
    other[N_CONFLICTS], other[IN_DOUBT] = handed, int(doubtful_n != NONE)
    other[CONFLICT_AT] = conflict + kept
    state[CONFLICTS] = conflict + kept + handed


@kernel(inner=True)
def compress(tags: Any, facets: Any, record: Any, d: int) -> None:
    """Forget facets that too few rays lie on, and renumber the bits."""
    n, start = record[N_CORNERS], record[CORNER_AT]
    count, at = record[N_FACETS], record[FACET_AT]
    kept = 0
    if record[SIMPLE] != 0:
        # A simple cell has a facet wherever a ray lies on it.
        used = NONE
        for i in range(start, start + n):
            used |= tags[np.uint64(i)]
        used &= FACET_BITS
        record[N_FACETS] = bit_count(used)
        if record[N_FACETS] >= MOST_FACETS:
            record[IN_DOUBT] = 1
        if record[N_FACETS] == count:
            return
        for i in range(start, start + n):
            ray = np.uint64(i)
            rest, new = tags[ray] & FACET_BITS, tags[ray] & INFINITE
            while rest != NONE:
                below = used & ((rest & (~rest + ONE)) - ONE)
                new |= ONE << np.uint64(bit_count(below))
                rest &= rest - ONE
            tags[ray] = new
        while used != NONE:
            facets[np.uint64(at + kept)] = facets[np.uint64(at + lowest_bit(used))]
            used &= used - ONE
            kept += 1
        return
    for f in range(count):
        old = ONE << np.uint64(f)
        keep = _is_facet(tags, start, n, f, d)
        new = ONE << np.uint64(kept)
        for i in range(start, start + n):
            was = tags[i] & old != NONE
            tags[i] &= ~old
            if keep and was:
                tags[i] |= new
        if keep:
            facets[at + kept] = facets[at + f]
            kept += 1
    record[N_FACETS] = kept
    if kept >= MOST_FACETS:
        record[IN_DOUBT] = 1


@kernel(inner=True)
def _is_facet(tags: Any, start: int, n: int, f: int, d: int) -> bool:
    """Whether the rays on an inequality span a facet: no other one has all of them and more."""
    bit = ONE << np.uint64(f)
    on, common = 0, FACET_BITS
    for i in range(start, start + n):
        if tags[i] & bit != NONE:
            on += 1
            common &= tags[i]
    if on < d:
        return False
    common &= ~bit
    while common != NONE:
        other = common & (~common + ONE)
        common ^= other
        count = 0
        for i in range(start, start + n):
            count += tags[i] & other != NONE
        if count > on or other < bit:
            return False
    return True


@template
def cut_steps(n: int) -> int:
    """As how many steps more the cut of a cell of n corners counts."""
    return n * n >> _COSTLY


@template
def is_halted(stack: Any) -> bool:
    """Whether another thread wants the kernel to come back."""
    return is_set(stack.halt)


# --- rays in twice the digits ---------------------------------------------------------------------


@kernel(late=True)
def fine_meet(
    flat: Any, current: Any, stack: Any, layer: int, ray: int, facet: int, d: int
) -> bool:
    """The same with as many digits as it takes, and the ray itself: steps 6, 7."""
    fine = stack.fine
    bring_up(flat.maps, current, stack.rows.pattern, layer)
    for j in range(d):
        fine.facets[j] = stack.table_labels[stack.bases[ray, j]]
    fine_corner(flat.lines, current, fine)
    at = abs(facet) - 1
    sign = fine_sign(flat, current, fine, abs(stack.table_labels[at]) - 1)
    if sign not in (1, -1):
        return False
    if (stack.table_labels[at] > 0) != (facet > 0):
        sign = -sign
    return _write_fine(stack, ray, float(sign), d)


@kernel(inner=True)
def _write_fine(stack: Any, ray: int, sign: float, d: int) -> bool:
    """Write ``fine.corner``, times a sign, as a ray; False if it is not known."""
    corner, rays = stack.fine.corner, stack.rays
    size, wrong = 0.0, 0.0
    for c in range(d + 1):
        size += abs(corner[HIGH, c])
        wrong += corner[BOUND, c] + abs(corner[LOW_HALF, c])
    if not wrong < 0.01 * size:
        return False
    factor = to_below_1(size)
    for c in range(d + 1):
        rays[ray, c] = sign * factor * corner[HIGH, c]
    rays[ray, d + 1] = scaled_corner_error(wrong, 1.0 / factor)
    return True


# --- a finished cell as a region ------------------------------------------------------------------


@kernel(inner=True, inlined=True)
def emit(
    lines: Any, stack: Any, record: Any, out: Any, options: Any, state: Any, sharpened: bool
) -> bool:
    """Store the geometry of the top cell as that of a region; False if it needs more digits."""
    d, simple = dimension_of(lines, stack), record[SIMPLE] != 0
    n, start = record[N_CORNERS], record[CORNER_AT]
    if not simple:
        compress(stack.tags, stack.facets, record, d)
    tags, limit = stack.tags[start : start + n], SHARPENED if sharpened else SHARP
    points, corners, sharp = out.vertices[state[OUT_POINTS] :], stack.old_corners[:n], True
    for i in range(n):
        ray = np.uint64(stack.corners[start + i])
        sharp = sharp and is_sharp(stack.rays, ray, tags[i], limit, d)
        write_point(stack.rays, ray, tags[i] & INFINITE != NONE, points[i], d)
        corners[i] = i
    facets = record[FACET_AT], record[N_FACETS]
    if (sharp or not options.exact) and write_region(
        lines, stack, (points, tags, corners), facets, simple, out, options, state
    ):
        hand_out_points(lines, points, n, out, state, d)
        return True
    if simple:  # exact arithmetic is given facets alone
        compress(stack.tags, stack.facets, record, d)
    return False


@template
def write_point(rays: Any, ray: Any, infinite: bool, point: Any, d: int) -> None:
    """Write the coordinates of a ray as they are handed out, but scaled."""
    w = 1.0 if infinite else rays[ray, d]
    for j in range(d):
        point[j] = rays[ray, j] / w
    point[d] = 0.0 if infinite else 1.0


@template
def hand_out_points(lines: Any, points: Any, n: int, out: Any, state: Any, d: int) -> None:
    """Write points in scaled coordinates as they are handed out, which rounds nothing."""
    to = out.vertices[state[OUT_POINTS] :]
    for j in range(d):
        factor = 1.0 / lines.scale[j]
        for i in range(n):
            to[i, j] = points[i, j] * factor
    for i in range(n):
        to[i, d] = points[i, d]
    state[OUT_POINTS] += n


@kernel(inner=True, inlined=True)
def write_region(
    lines: Any,
    stack: Any,
    shape: Any,
    among: Any,
    simple: bool,
    out: Any,
    options: Any,
    state: Any,
) -> bool:
    """Write the geometry of a finished cell; False if its witness needs more digits.

    Its vertices are among the points that are handed out next.

    Parameters
    ----------
    lines, stack, out, options, state
        See `emit`.
    shape : tuple of ndarray
        Points in scaled coordinates; the facets that they lie on, as bits; which of them are the
        vertices.
    among : tuple of int
        Where those facets begin in ``stack.facets`` that the bits stand for, and how many these
        are. In a simple cell, one that no vertex lies on is none.
    simple : bool
        Whether every vertex lies on d facets only.
    """
    points, tags, corners = shape
    d, n = dimension_of(lines, stack), len(corners)
    k, c, o = state[OUT], state[OUT_CORNERS], state[OUT_FACETS]
    witness, first = out.witnesses[k], state[OUT_POINTS]
    finite, used = 0, NONE
    for i in range(n):
        at = np.uint64(corners[i])
        finite += tags[at] & INFINITE == NONE
        used |= tags[at]
        out.places[c + i] = first + corners[i]
    used &= FACET_BITS
    _middle(points, corners, 1.0 / finite if finite else 0.0, witness, d)
    if options.exact and not _is_inside(stack, among[0], used, d, witness):
        return False
    # Scales are powers of two, which round nothing.
    for j in range(d):
        witness[j] *= 1.0 / lines.scale[j]
    facets, rest = 0, used
    while rest != NONE:
        facet = stack.facets[np.uint64(among[0] + lowest_bit(rest))]
        line = abs(stack.table_labels[np.uint64(abs(facet) - 1)]) - 1
        rest &= rest - ONE
        if line != 0:  # not infinity
            out.lines[o + facets] = line
            facets += 1
    out.facet_counts[k] = facets
    bounded = finite == n
    out.bounded[k] = bounded
    if options.volumes:
        write_volume(lines, stack, shape, among[1], simple, bounded, out, k, d)
    return True


@kernel(inner=True)
def write_volume(
    lines: Any,
    stack: Any,
    shape: Any,
    facets: int,
    simple: bool,
    bounded: bool,
    out: Any,
    k: int,
    d: int,
) -> None:
    """Write the volume of a region; for `shape` and `simple` see `write_region`."""
    points, tags, corners = shape
    if not bounded:
        out.volumes[k] = np.inf
        return
    if d == 3 and simple:
        size = volume_3(points, tags, corners, stack.faces[0], stack.faces[1])
    else:
        size = volume(points, tags, corners, facets, simple, stack.faces, stack.square)
    for j in range(d):
        size *= 1.0 / lines.scale[j]
    out.volumes[k] = size


@template
def _middle(points: Any, corners: Any, share: float, witness: Any, d: int) -> None:
    """Write the sum of rays at infinity and of the others times `share`."""
    n = len(corners)
    if d == 3:
        x, y, z = 0.0, 0.0, 0.0
        for i in range(n):
            at = np.uint64(corners[i])
            part = share if points[at, 3] > 0.0 else 1.0
            x += points[at, 0] * part
            y += points[at, 1] * part
            z += points[at, 2] * part
        witness[0], witness[1], witness[2] = x, y, z
        return
    if d == 4:
        x, y, z, u = 0.0, 0.0, 0.0, 0.0
        for i in range(n):
            at = np.uint64(corners[i])
            part = share if points[at, 4] > 0.0 else 1.0
            x += points[at, 0] * part
            y += points[at, 1] * part
            z += points[at, 2] * part
            u += points[at, 3] * part
        witness[0], witness[1], witness[2], witness[3] = x, y, z, u
        return
    for j in range(d):
        total = 0.0
        for i in range(n):
            at = np.uint64(corners[i])
            total += points[at, j] * (share if points[at, d] > 0.0 else 1.0)
        witness[j] = total


@template
def _is_inside(stack: Any, at: int, used: Any, d: int, point: Any) -> bool:
    """Whether a point, in scaled coordinates, is surely inside the cell: step 6.

    `used`: its facets, as bits; they stand for those from ``stack.facets[at]`` on.
    """
    table, inside = stack.table, True
    size = 1.0
    for j in range(d):
        size += abs(point[j])
    while used != NONE:
        facet = stack.facets[np.uint64(at + lowest_bit(used))]
        used &= used - ONE
        place = np.uint64(abs(facet) - 1)
        value = table[place, d]
        total = abs(value)
        for j in range(d):
            value += table[place, j] * point[j]
            total += abs(table[place, j] * point[j])
        if facet < 0:
            value = -value
        bound = inside_bound(table[place, d + 1], size, total, cone_roundings(d))
        inside = inside and value > bound
    return inside


@kernel(late=True)
def sharpen(flat: Any, current: Any, stack: Any, record: Any) -> bool:
    """Work out rays of the top cell with twice the digits: step 6. False if that is no use.

    Those that are not sharp; or else all, since the witness needs them. So what becomes of a ray
    does not depend on which of the cells around it comes first.
    """
    d, rays, layer = dimension_of(flat.lines, stack), stack.rays, record[LAYER]
    begin, end = record[CORNER_AT], record[CORNER_AT] + record[N_CORNERS]
    blurred = 0
    for i in range(begin, end):
        blurred += not is_sharp(rays, stack.corners[i], stack.tags[i], SHARP, d)
    for i in range(begin, end):
        ray = stack.corners[i]
        if blurred and is_sharp(rays, ray, stack.tags[i], SHARP, d):
            continue
        if not sharpen_ray(flat, current, stack, layer, ray, d):
            return False
    return True


@kernel(inner=True)
def sharpen_ray(flat: Any, current: Any, stack: Any, layer: int, ray: int, d: int) -> bool:
    """Work out a ray with twice the digits; False if that is no use.

    With a bound for each coordinate only if one for all of them says too little.
    """
    bring_up(flat.maps, current, stack.rows.pattern, layer)
    _basis_labels(stack, ray, d)
    sharp_corner(flat.lines, current, stack.fine)
    turn = _turn(stack, ray, d)
    if (
        turn != 0
        and _write_fine(stack, ray, float(turn), d)
        and stack.rays[ray, d + 1] < SHARPENED * stack.rays[ray, d]
    ):
        return True
    turn = _fine_ray(flat.lines, current, stack, ray, d)
    return turn != 0 and _write_fine(stack, ray, float(turn), d)


@template
def is_sharp(rays: Any, ray: Any, tag: Any, limit: float, d: int) -> bool:
    """Whether a ray is known well enough for a vertex; one at infinity always is."""
    return bool(tag & INFINITE != NONE or rays[ray, d + 1] < limit * rays[ray, d])
