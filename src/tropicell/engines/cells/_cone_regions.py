"""Storing the regions that the boundaries of a last layer make of a cell, without cutting it.

Cutting one cell after the other would find most points where boundaries meet several times, once
in each cell on the way. Here every point is worked out once: boundary after boundary is laid
through all that those before it made, where it crosses edges. A point lies above some boundaries,
below others and on the rest, so it belongs to the regions that lie above the former and on either
side of the latter: a region is the set of boundaries that it lies above, and its corners are the
points that are found to belong to it.

That is for simple cells, where no point lies on more hyperplanes than it must. Where one does, or a
sign is in doubt, cells are cut one by one. Points, regions and their corners are the same as then,
in the same order: docs/error-bound.md has the same steps for both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tropicell._runtime.jit import bit_count, kernel, lowest_bit, template
from tropicell.engines._unit_kernels import guessed_cells, pack_pattern
from tropicell.engines.cells._bounds import (
    cone_roundings,
    inside_bound,
    minors_error,
    scaled_ray_error,
    to_below_1,
    unit_sign_bound,
)
from tropicell.engines.cells._cone import (
    SHARP,
    SHARPENED,
    between,
    blend,
    decide,
    dimension_of,
    fine_meet,
    hand_out_points,
    is_sharp,
    sharpen_ray,
    write_point,
    write_volume,
)
from tropicell.engines.cells._rays import meet, minors_3, minors_4, orient, row_value
from tropicell.engines.cells._state import (
    BIT_WORDS,
    CONFLICT_AT,
    CORNER_AT,
    COUNT,
    CUT_FROM,
    FACET_AT,
    FACET_BITS,
    INFINITE,
    LAYER,
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
    PIECES_AT,
    POSITIVE_BITS,
    RAY_END,
    SIMPLE,
    SPLITS,
    TABLE_END,
    TESTS,
    TOP,
    ZERO_BITS,
)

#: What `store_regions` returns: nothing was done, there is no room for the regions, all are stored.
CUT_IT, NO_PLACE, STORED = 0, 1, 2

#: What kernels return instead of a number: a sign is in doubt; there are too many points.
_DOUBT, _TOO_MANY = -1, -2

#: For `guessed_cells`: rather too many than too few.
_INSIDE = 0.6

#: Boundaries, or neurons, of a word of bits; a pair of points is one number: i * this + j.
_WORD, _CODE = 64, 1 << 20

#: Facets that a processor looks at together.
_VECTOR = 8


@kernel(late=True)
def store_regions(flat: Any, room: Any, pattern: Any, record: Any, options: Any) -> int:
    """Store all regions of the top cell, which has entered the last layer.

    `pattern`: the pieces of the layers before. Returns `CUT_IT` if it must be cut one by one,
    `NO_PLACE` if the regions that are stored must be taken away before, or `STORED`.
    """
    lines, stack, state, out = flat.lines, room.stack, room.state, room.out
    d, count = dimension_of(lines, stack), record[N_CONFLICTS]
    if state[CUT_FROM] > 0:
        if state[TOP] >= state[CUT_FROM]:
            return CUT_IT
        state[CUT_FROM] = 0
    if (
        d < 3
        or record[SIMPLE] == 0
        or options.where.on
        or count > MOST_COUNTED
        or 1 << count > len(stack.arrangement.table)
        or record[N_FACETS] + count >= MOST_FACETS
        or record[FACET_AT] + record[N_FACETS] + count > len(stack.facets)
        or record[TABLE_END] + count > len(stack.table)
        or record[N_CORNERS] > len(stack.arrangement.rays) // 2
        or guessed_cells(count, d, _INSIDE) > options.at_once
    ):
        return CUT_IT
    points = _arrange(flat, room.maps, stack, record, options, d)
    if points == _TOO_MANY or points > stack.faces.shape[1]:
        return CUT_IT
    if points < 0:
        state[CUT_FROM] = state[TOP]
        return CUT_IT
    if not _locate(flat, room.maps, stack, record[LAYER], points, options, d):
        state[CUT_FROM] = state[TOP]
        return CUT_IT
    regions = _gather(stack.arrangement, points, count, d)
    if regions < 0:
        return CUT_IT
    corners = stack.arrangement.ends[regions - 1]
    if (
        state[OUT] + regions > len(out.words)
        or state[OUT_CORNERS] + corners > len(out.places)
        or state[OUT_POINTS] + points > len(out.vertices)
        or state[OUT_FACETS] + corners > len(out.lines)
    ):
        # If that can't be helped by taking them away, they are cut one by one.
        fits = 2 * regions <= len(out.words) and 2 * corners <= min(len(out.places), len(out.lines))
        fits = fits and 2 * points <= len(out.vertices)
        return NO_PLACE if fits else CUT_IT
    before = state[OUT], state[OUT_CORNERS], state[OUT_FACETS]
    if not _write_all(flat, room, pattern, record, options, regions):
        state[OUT], state[OUT_CORNERS], state[OUT_FACETS] = before
        state[CUT_FROM] = state[TOP]
        return CUT_IT
    hand_out_points(lines, stack.arrangement.places, points, out, state, d)
    state[COUNT] += regions
    state[SPLITS] += regions - 1
    state[TESTS] += points * count
    return STORED


# --- points ---------------------------------------------------------------------------------------


@kernel(inner=True, inlined=True)
def _arrange(flat: Any, current: Any, stack: Any, record: Any, options: Any, d: int) -> int:
    """Find all points where boundaries and facets of a simple cell meet.

    The boundaries are laid through the cell from the last one of its conflict list to the first,
    and a new point is written for every edge that they cross, as when cells are cut. Returns the
    number of points, `_DOUBT` or `_TOO_MANY`.
    """
    found, lines = stack.arrangement, flat.lines
    n, count, facets = record[N_CORNERS], record[N_CONFLICTS], record[N_FACETS]
    first, at, new = lines.line_start[record[LAYER]], record[FACET_AT], record[TABLE_END]
    for k in range(count):
        line = stack.conflicts[record[CONFLICT_AT] + k]
        row, step = first + stack.places[line], count - 1 - k
        found.rows[k] = row
        for c in range(d + 2):
            stack.table[new + step, c] = stack.frame[row, c]
        stack.table_labels[new + step] = line + 1
        stack.facets[at + facets + step] = new + step + 1
    if not _take_rays(stack, record, first):
        return _DOUBT
    _take_facets(stack, at, facets + count, d)
    edges = _join_rays(found, n, d) if count > 1 else 0
    if edges < 0:
        return _DOUBT
    points = n
    for step in range(count):
        boundary, old = np.uint64(count - 1 - step), points
        if count > 1:
            edges, crossed = _crossed_edges(found, edges, boundary)
        else:
            crossed = _crossed_pairs(found, n, d)
        if old + crossed > len(found.rays) or record[RAY_END] + old + crossed - n > len(stack.rays):
            return _TOO_MANY
        if edges + 2 * crossed > len(found.edges):
            return _TOO_MANY
        # All rays first, and then on which sides they lie: the former takes no jumps.
        if not _write_rays(stack, record, options, crossed, points, step, d):
            return _DOUBT
        for i in range(crossed):
            p, q = found.pairs[i] // _CODE, found.pairs[i] % _CODE
            if not _write_point(flat, current, stack, record, options, (p, q, points, i), step, d):
                return _DOUBT
            edges = _put_edge(found, edges, p, points, boundary)
            edges = _put_edge(found, edges, points, q, boundary)
            points += 1
        if step + 1 < count:
            edges = _join(found, edges, old, points, boundary, d)
            if edges < 0:
                return _DOUBT
    return int(points)


@template
def _take_rays(stack: Any, record: Any, first: int) -> bool:
    """Let the first points be the rays of the cell; False if one is on a boundary, or in doubt."""
    found, bits = stack.arrangement, stack.bits
    n, count, start = record[N_CORNERS], record[N_CONFLICTS], record[CORNER_AT]
    every = (ONE << np.uint64(count)) - ONE
    in_order = 0
    for k in range(count):
        in_order += found.rows[k] - first == k
    for i in range(n):
        ray = np.uint64(stack.corners[start + i])
        above, below = NONE, NONE
        if in_order == count:
            above = bits[ray, np.uint64(POSITIVE_BITS)] & every
            below = bits[ray, np.uint64(NEGATIVE_BITS)] & every
        else:
            for k in range(count):
                place, at = found.rows[k] - first, np.uint64(k)
                word, shift = np.uint64(BIT_WORDS * (place // _WORD)), np.uint64(place % _WORD)
                above |= ((bits[ray, word + np.uint64(POSITIVE_BITS)] >> shift) & ONE) << at
                below |= ((bits[ray, word + np.uint64(NEGATIVE_BITS)] >> shift) & ONE) << at
        if above | below != every:
            return False
        found.rays[i] = ray
        found.tags[i] = stack.tags[start + i]
        found.sides[POSITIVE_BITS, i] = above
        found.sides[NEGATIVE_BITS, i] = below
        found.sides[ZERO_BITS, i] = NONE
    return True


@template
def _take_facets(stack: Any, at: int, many: int, d: int) -> None:
    """Note what `_meet` wants to know of the facets from ``stack.facets[at]`` on."""
    found, table = stack.arrangement, stack.table
    for f in range(many):
        place = abs(stack.facets[at + f]) - 1
        row, to = np.uint64(place), np.uint64(f)
        square = table[row, d] * table[row, d]
        for c in range(d):
            square += table[row, c] * table[row, c]
        found.errors[to], found.squares[to] = table[row, d + 1], square
        found.table_at[to] = place
        found.signs[to] = 1.0 if stack.facets[at + f] > 0 else -1.0


@template
def _across(above: Any, below: Any, sides: Any, q: Any) -> Any:
    """The boundaries that points lie on different sides of: one above and below these, one q."""
    return above & sides[NEGATIVE_BITS, q] | below & sides[POSITIVE_BITS, q]


@template
def _join_rays(found: Any, n: int, d: int) -> int:
    """List the edges of the cell that boundaries cross: how many; `_DOUBT` if it is not simple."""
    tags, sides, edges, crossing = found.tags, found.sides, found.edges, found.crossing
    if n * d > len(edges):
        return _DOUBT
    count, every = 0, 0
    for i in range(n):
        p = np.uint64(i)
        mine, above, below = tags[p] & FACET_BITS, sides[POSITIVE_BITS, p], sides[NEGATIVE_BITS, p]
        # Every pair is written, and stays if the list grows: no jumps.
        for j in range(i + 1, n):
            q = np.uint64(j)
            across = _across(above, below, sides, q)
            edges[np.uint64(count)], crossing[np.uint64(count)] = i * _CODE + j, across
            joined = int(bit_count(mine & tags[q]) >= d - 1)
            count += joined & int(across != NONE)
            every += joined
        if 2 * every > n * d:
            return _DOUBT
    return count if 2 * every == n * d else _DOUBT


@template
def _crossed_edges(found: Any, edges: int, k: Any) -> Any:
    """List the edges that boundary k crosses: by their end above, then by that below.

    Returns how many edges are left that others cross, and how many are listed.
    """
    codes, crossing, pairs, sides = found.edges, found.crossing, found.pairs, found.sides
    kept, count, later = 0, 0, (ONE << k) - ONE
    for e in range(edges):
        code, across = codes[np.uint64(e)], crossing[np.uint64(e)]
        crossed = int((across >> k) & ONE)
        pairs[np.uint64(count)] = code
        count += crossed
        codes[np.uint64(kept)], crossing[np.uint64(kept)] = code, across
        kept += (1 - crossed) & int(across & later != NONE)
    for i in range(count):
        edge = pairs[np.uint64(i)]
        p, q = edge // _CODE, edge % _CODE
        if (sides[POSITIVE_BITS, np.uint64(p)] >> k) & ONE == NONE:
            edge = q * _CODE + p
        place = i
        while place > 0 and pairs[np.uint64(place - 1)] > edge:
            pairs[np.uint64(place)] = pairs[np.uint64(place - 1)]
            place -= 1
        pairs[np.uint64(place)] = edge
    return kept, count


@template
def _put_edge(found: Any, edges: int, p: int, q: int, k: Any) -> int:
    """List an edge, if boundaries cross it that are laid after boundary k; returns how many are."""
    sides, at = found.sides, np.uint64(p)
    across = _across(sides[POSITIVE_BITS, at], sides[NEGATIVE_BITS, at], sides, np.uint64(q))
    found.edges[np.uint64(edges)], found.crossing[np.uint64(edges)] = p * _CODE + q, across
    return edges + int(across & ((ONE << k) - ONE) != NONE)


@template
def _crossed_pairs(found: Any, n: int, d: int) -> int:
    """The same for the only boundary, of the rays of a cell."""
    sides, tags, above, below = found.sides, found.tags, found.order, found.spare
    edges = found.pairs
    n_above, n_below, count = 0, 0, 0
    for i in range(n):
        above[np.uint64(n_above)] = i
        below[np.uint64(n_below)] = i
        is_above = int(sides[POSITIVE_BITS, np.uint64(i)] & ONE)
        n_above += is_above
        n_below += 1 - is_above
    for i in range(n_above):
        p = above[i]
        mine = tags[p] & FACET_BITS
        for j in range(n_below):
            q = below[np.uint64(j)]
            edges[np.uint64(count)] = p * _CODE + q
            count += int(bit_count(mine & tags[np.uint64(q)]) >= d - 1)
    return count


@template
def _write_rays(
    stack: Any, record: Any, options: Any, crossed: int, first: int, step: int, d: int
) -> bool:
    """Write the rays in which a boundary crosses the listed edges; False if one can't be written.

    They are those of the points from `first` on; ``order`` says of which the sign is sure.
    """
    found, tags = stack.arrangement, stack.arrangement.tags
    facets, k = record[N_FACETS], record[N_CONFLICTS] - 1 - step
    at, wrong = record[RAY_END] + first - record[N_CORNERS], 0
    for i in range(crossed):
        edge = found.pairs[np.uint64(i)]
        p, q = np.uint64(edge // _CODE), np.uint64(edge % _CODE)
        common = tags[p] & tags[q]
        if options.exact:
            rest = common & FACET_BITS
            if bit_count(rest) != d - 1:
                wrong += 1
                continue
            sure = _meet(stack, rest, facets + step, at + i, common & INFINITE, d)
            found.order[np.uint64(i)] = int(sure)
        else:
            ends = found.rays[p], found.rays[q]
            blend(stack, found.rows[k], ends[0], ends[1], at + i, options.tolerance, d)
            found.order[np.uint64(i)] = 1
    return wrong == 0


@template
def _write_point(
    flat: Any, current: Any, stack: Any, record: Any, options: Any, places: Any, step: int, d: int
) -> bool:
    """Write the point where a boundary crosses the edge between two others; False if in doubt.

    `places`: of the ends above and below, of the new point, and among those of this boundary. See
    `_cut_edges` in `_cone`.
    """
    found, frame, rays = stack.arrangement, stack.frame, stack.rays
    p, q, v, i = places
    tags, sides = found.tags, found.sides
    count, facets, at = record[N_CONFLICTS], record[N_FACETS], record[FACET_AT]
    ray = record[RAY_END] + v - record[N_CORNERS]
    common = tags[p] & tags[q]
    k = count - 1 - step
    if found.order[np.uint64(i)] == 0:
        # A facet of the end below that is not one of the end above is positive on the edge; so is a
        # boundary, if the end above lies above it.
        apart = lowest_bit(tags[q] & ~tags[p] & FACET_BITS)
        facet = stack.facets[at + apart]
        if apart >= facets:
            other = np.uint64(count - 1 - (apart - facets))
            if (sides[NEGATIVE_BITS, p] >> other) & ONE != NONE:
                facet = -facet
        if not orient(stack, ray, common, facet, d) and not fine_meet(
            flat, current, stack, record[LAYER], ray, facet, d
        ):
            return False
    above, below, _ = between(
        sides[POSITIVE_BITS, p],
        sides[NEGATIVE_BITS, p],
        sides[ZERO_BITS, p],
        sides[POSITIVE_BITS, q],
        sides[NEGATIVE_BITS, q],
        sides[ZERO_BITS, q],
    )
    rest = ((ONE << np.uint64(k)) - ONE) & ~(above | below)
    while rest != NONE:
        bit, row = rest & (~rest + ONE), found.rows[np.uint64(lowest_bit(rest))]
        value = row_value(frame, row, rays, ray, d)
        bound = unit_sign_bound(frame[row, d + 2], frame[row, d + 1], rays[ray, d + 1], d)
        higher, lower = value > bound, value < -bound
        if not (higher or lower):
            side = _side(flat, current, stack, record, row, ray, options, d)
            if side == 0:
                return False
            higher, lower = side > 0, side < 0
        above |= bit if higher else NONE
        below |= bit if lower else NONE
        rest ^= bit
    found.rays[v] = ray
    tags[v] = common | ONE << np.uint64(facets + step)
    sides[POSITIVE_BITS, v] = above
    sides[NEGATIVE_BITS, v] = below
    sides[ZERO_BITS, v] = sides[ZERO_BITS, p] & sides[ZERO_BITS, q] | ONE << np.uint64(k)
    return True


@kernel(sums="fused", inner=True, inlined=True)
def _meet(stack: Any, rest: Any, last: int, ray: int, infinite: Any, d: int) -> bool:
    """Write the ray in which facets meet, as `meet` and `orient` in `_rays` do.

    `rest`: all but the `last` of the facets, as bits; `infinite`: not 0 if it lies at infinity.
    False if its sign is in doubt.
    """
    found, bases, table = stack.arrangement, stack.bases[np.uint64(ray)], stack.table
    rays, at, end = stack.rays, np.uint64(ray), np.uint64(last)
    bases[d - 1] = found.table_at[end]
    errors, squares = found.errors[end], found.squares[end]
    for j in range(d - 1):
        facet = np.uint64(lowest_bit(rest))
        bases[j] = found.table_at[facet]
        errors += found.errors[facet]
        squares *= found.squares[facet]
        rest &= rest - ONE
    if d > 4:
        meet(stack, d, ray)
        return False
    for j in range(2, d + 1):
        squares *= j
    bound = minors_error(errors, d, np.sqrt(squares))
    if d == 3:
        x, y, z, w = minors_3(table, bases[0], bases[1], bases[2])
        u, size = 0.0, abs(x) + abs(y) + abs(z) + abs(w)
    else:
        x, y, z, u, w = minors_4(table, bases[0], bases[1], bases[2], bases[3])
        size = abs(x) + abs(y) + abs(z) + abs(u) + abs(w)
    factor = to_below_1(size)
    eps = scaled_ray_error(bound, factor) if size > 0.0 else np.inf
    sure = abs(w * factor) > eps and infinite == NONE
    if sure and w < 0.0:
        factor = -factor
    rays[at, 0], rays[at, 1], rays[at, 2] = x * factor, y * factor, z * factor
    if d == 4:
        rays[at, 3] = u * factor
    rays[at, d], rays[at, d + 1] = w * factor, eps
    return bool(sure)


@template
def _side(
    flat: Any, current: Any, stack: Any, record: Any, row: int, ray: int, options: Any, d: int
) -> int:
    """The same for one that float64 leaves in doubt: 1 or -1; 0 if on the boundary, or in doubt."""
    if not options.exact:
        return 0
    first = flat.lines.line_start[record[LAYER]]
    word, shift = (row - first) // _WORD, np.uint64((row - first) % _WORD)
    asked = ONE << shift
    above, below, _ = decide(flat, current, stack, first + word * _WORD, asked, ray, d)
    if above != NONE:
        return 1
    return -1 if below != NONE else 0


@template
def _join(found: Any, edges: int, begin: int, end: int, k: Any, d: int) -> int:
    """List the edges on boundary k, between points `begin` … `end` - 1, that others are to cross.

    Their ends lie on one line, and no boundary that was laid before separates them. Returns how
    many edges are listed then, or `_DOUBT`.
    """
    tags, sides, codes, crossing = found.tags, found.sides, found.edges, found.crossing
    room, later = len(codes) - (end - begin), (ONE << k) - ONE
    for i in range(begin, end):
        p = np.uint64(i)
        mine, above, below = tags[p] & FACET_BITS, sides[POSITIVE_BITS, p], sides[NEGATIVE_BITS, p]
        if edges > room:
            return _DOUBT
        # Every pair is written, and stays if the list grows: no jumps.
        for j in range(i + 1, end):
            q = np.uint64(j)
            across = _across(above, below, sides, q)
            codes[np.uint64(edges)], crossing[np.uint64(edges)] = i * _CODE + j, across
            crossed = int(across >> k == NONE) & int(across & later != NONE)
            edges += crossed & int(bit_count(mine & tags[q]) >= d - 1)
    return edges


@kernel(inner=True, inlined=True)
def _locate(
    flat: Any, current: Any, stack: Any, layer: int, points: int, options: Any, d: int
) -> bool:
    """Work out the coordinates of all points, as sharp as they have to be; False if that fails."""
    found, rays = stack.arrangement, stack.rays
    for v in range(points):
        ray, tag = np.uint64(found.rays[v]), found.tags[v]
        if options.exact and not is_sharp(rays, ray, tag, SHARP, d):
            if not sharpen_ray(flat, current, stack, layer, found.rays[v], d):
                return False
            if not is_sharp(rays, ray, tag, SHARPENED, d):
                return False
        write_point(rays, ray, tag & INFINITE != NONE, found.places[np.uint64(v)], d)
    return True


# --- regions --------------------------------------------------------------------------------------


@kernel(inner=True, inlined=True)
def _gather(found: Any, points: int, count: int, d: int) -> int:
    """Find the regions that points belong to: the corners of each, its facets, and its middle.

    Returns the number of regions, or `_TOO_MANY`. They are handed out as they are when cells are
    cut: what lies below the boundary that is laid first comes first, so by their keys as numbers.
    So are their corners, whose sum is the same then, bit for bit.
    """
    table, keys, ends, shares = found.table, found.keys, found.ends, found.shares
    tags, sides, corners, used = found.tags, found.sides, found.corners, found.used
    sets, all_tags = 1 << count, NONE
    for key in range(sets):
        table[key] = 0
    for v in range(points):
        on, above = sides[ZERO_BITS, np.uint64(v)], sides[POSITIVE_BITS, np.uint64(v)]
        all_tags |= tags[v]
        some = on
        while some != NONE:
            table[above | some] += 1
            some = (some - ONE) & on
        table[above] += 1
    regions, total, room = 0, 0, len(keys) - 1
    # Every set is written, and stays if it has corners: no jumps.
    for key in range(sets):
        if regions > room:
            return _TOO_MANY
        many, at = table[key], np.uint64(regions)
        table[key] = regions
        keys[at], ends[at], shares[at] = key, total, float(many)
        total += many
        regions += int(many != 0)
    if total > len(corners):
        return _TOO_MANY
    if all_tags & INFINITE != NONE:
        _count_finite(found, points, regions)
    width = 4 if d <= 4 else d
    for r in range(regions):
        shares[r] = 1.0 / shares[r] if shares[r] > 0.0 else 0.0
        used[r] = NONE
        for c in range(width):
            found.middles[r, c] = 0.0
    for v in range(points):
        at, tag = np.uint64(v), tags[v]
        on, above = sides[ZERO_BITS, at], sides[POSITIVE_BITS, at]
        some = on
        while some != NONE:
            _add_corner(found, np.uint64(table[above | some]), at, tag, d)
            some = (some - ONE) & on
        _add_corner(found, np.uint64(table[above]), at, tag, d)
    return regions


@template
def _count_finite(found: Any, points: int, regions: int) -> None:
    """Count the corners of each region that do not lie at infinity."""
    table, sides, shares = found.table, found.sides, found.shares
    for r in range(regions):
        shares[r] = 0.0
    for v in range(points):
        if found.tags[v] & INFINITE != NONE:
            continue
        on, above = sides[ZERO_BITS, np.uint64(v)], sides[POSITIVE_BITS, np.uint64(v)]
        some = on
        while some != NONE:
            shares[table[above | some]] += 1.0
            some = (some - ONE) & on
        shares[table[above]] += 1.0


@template
def _add_corner(found: Any, r: Any, v: Any, tag: Any, d: int) -> None:
    """Let a point be the next corner of a region: of its middle, and on its facets."""
    middles, places, at = found.middles, found.places, found.ends[r]
    found.corners[np.uint64(at)] = v
    found.ends[r] = at + 1
    found.used[r] |= tag
    part = found.shares[r] if tag & INFINITE == NONE else 1.0
    for c in range(d):
        middles[r, c] += places[v, c] * part


@kernel(inner=True, inlined=True)
def _write_all(flat: Any, room: Any, pattern: Any, record: Any, options: Any, regions: int) -> bool:
    """Write all regions; False if one needs exact arithmetic."""
    lines, stack, state, out = flat.lines, room.stack, room.state, room.out
    found, layer, d = stack.arrangement, record[LAYER], dimension_of(lines, stack)
    count, facets = record[N_CONFLICTS], record[N_FACETS]
    prefix = lines.row_start[layer] - lines.row_start[1]
    width = lines.row_start[layer + 1] - lines.row_start[layer]
    for j in range(prefix):
        out.pattern[j] = pattern[j]
    for j in range(width):
        out.pattern[prefix + j] = stack.patterns[record[PIECES_AT] + j]
    _write_patterns(lines, stack, record, options.bits, prefix + width, out, state[OUT], regions)
    _take_rows(stack, facets, count, d)
    first, total = state[OUT_POINTS], found.ends[regions - 1]
    places, corners = out.places[state[OUT_CORNERS] :], found.corners[:total]
    for i in range(total):
        places[i] = first + corners[i]
    state[OUT_CORNERS] += total
    begin = 0
    for r in range(regions):
        at, k, o = np.uint64(r), state[OUT], state[OUT_FACETS]
        used = found.used[at]
        rest = used & FACET_BITS
        if options.exact and not _is_inside(found, at, rest, facets, count, d):
            return False
        # Scales are powers of two, which round nothing.
        for j in range(d):
            out.witnesses[k, j] = found.middles[at, j] * (1.0 / lines.scale[j])
        while rest != NONE:
            line = found.labels[np.uint64(lowest_bit(rest))]
            out.lines[o] = line
            o += int(line != 0)  # which is infinity
            rest &= rest - ONE
        bounded = used & INFINITE == NONE
        out.bounded[k] = bounded
        out.vertex_counts[k] = found.ends[at] - begin
        out.facet_counts[k] = o - state[OUT_FACETS]
        if options.volumes:
            shape = found.places, found.tags, found.corners[begin : found.ends[at]]
            write_volume(lines, stack, shape, facets + count, True, bounded, out, k, d)
        begin = found.ends[at]
        state[OUT] += 1
        state[OUT_FACETS] = o
    return True


@template
def _take_rows(stack: Any, facets: int, count: int, d: int) -> None:
    """Write the rows of the facets, positive inside, and of the boundaries, one by one coordinate.

    Whole vectors of them: those that are nothing have rows of 0.
    """
    found, table, rows = stack.arrangement, stack.table, stack.arrangement.facet_rows
    many = facets + count
    for f in range(many):
        place, to = np.uint64(found.table_at[f]), np.uint64(f)
        sign = 1.0 if f >= facets else found.signs[to]
        for c in range(d + 1):
            rows[c, to] = table[place, c] * sign
        rows[d + 1, to] = table[place, d + 1]
        found.labels[to] = abs(stack.table_labels[place]) - 1
    for f in range(many, _whole(many)):
        for c in range(d + 2):
            rows[c, np.uint64(f)] = 0.0


@template
def _whole(many: int) -> int:
    """So many facets make whole vectors."""
    return (many + _VECTOR - 1) // _VECTOR * _VECTOR


@template
def _is_inside(found: Any, r: Any, used: Any, facets: int, count: int, d: int) -> bool:
    """Whether the middle of a region, in scaled coordinates, is surely inside: step 6.

    `used`: its facets and the boundaries that it lies at, as bits.
    """
    rows, point, key = found.facet_rows, found.middles, found.keys[r]
    size = 1.0
    for j in range(d):
        size += abs(point[r, j])
    above, below = NONE, NONE
    for f in range(_whole(facets + count)):
        value = rows[d, f]
        total = abs(value)
        for j in range(d):
            value += rows[j, f] * point[r, j]
            total += abs(rows[j, f] * point[r, j])
        bound = inside_bound(rows[d + 1, f], size, total, cone_roundings(d))
        above |= np.uint64(value > bound) << np.uint64(f)
        below |= np.uint64(-value > bound) << np.uint64(f)
    wanted = (ONE << np.uint64(facets)) - ONE
    for k in range(count):
        wanted |= ((key >> np.uint64(k)) & ONE) << np.uint64(facets + count - 1 - k)
    return bool(used & ~(above & wanted | below & ~wanted) == NONE)


@template
def _write_patterns(
    lines: Any, stack: Any, record: Any, bits: int, neurons: int, out: Any, first: int, regions: int
) -> None:
    """Write the patterns of all regions, from number `first` on; `out.pattern` is that of key 0.

    Where neurons have two pieces only, bits are put into the words of the first one.
    """
    found, words, count = stack.arrangement, out.words, record[N_CONFLICTS]
    keys, switched = found.keys, found.spare
    for k in range(count):
        line = stack.conflicts[record[CONFLICT_AT] + k]
        switched[k] = lines.line_row[line] - lines.row_start[1]
    if bits == 1:
        pack_pattern(out.pattern, neurons, bits, words[first])
    if bits == 1 and words.shape[1] == 1:
        word = words[first, 0]
        for r in range(regions):
            mine = word
            for k in range(count):
                mine |= ((keys[r] >> np.uint64(k)) & ONE) << np.uint64(switched[k])
            words[first + r, 0] = mine
        return
    for i in range(regions):
        r = regions - 1 - i  # the first one last: others begin with its words
        to, rest = words[first + r], keys[r]
        if bits == 1:
            for w in range(len(to)):
                to[w] = words[first, w]
        while rest != NONE:
            neuron = switched[lowest_bit(rest)]
            if bits == 1:
                to[neuron // _WORD] |= ONE << np.uint64(neuron % _WORD)
            else:
                out.pattern[neuron] += 1
            rest &= rest - ONE
        if bits != 1:
            pack_pattern(out.pattern, neurons, bits, to)
            rest = keys[r]
            while rest != NONE:
                out.pattern[switched[lowest_bit(rest)]] -= 1
                rest &= rest - ONE
