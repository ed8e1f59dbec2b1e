"""The kernel for any dimension: double description on the cone over a cell.

A cell is kept by its extreme rays (x, w) in homogeneous coordinates, absolute values adding up to 1,
each with the bits of the facets it lies on. ``w = 0`` for the directions of unbounded
cells. Only cones without lines come here. Where no sign is in doubt all cells are simple, and
two rays are neighbours if they share d - 1 facets; cells that come from exact arithmetic, or
from float arithmetic with its zeros, may be not simple, and get the full test.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tropicell.engines._cells_cone_tests import (
    CROSSES,
    DOUBTFUL,
    NEGATIVE,
    POSITIVE,
    facet_row,
    meet,
    scan_layer,
    side,
    signs,
)
from tropicell.engines._cells_maps import enter_layer
from tropicell.engines._cells_state import (
    BATCH_FULL,
    CONFLICTS,
    CORNERS,
    COUNT,
    DONE,
    FACETS,
    GROW,
    OUT,
    OUT_CORNERS,
    OUT_FACETS,
    PATTERNS,
    SEED,
    SPLITS,
    STEPS,
    TESTS,
    TOP,
    UNSURE,
    UNSURE_CONFLICTS,
    UNSURE_CORNERS,
    UNSURE_FULL,
)
from tropicell.engines._jit import bit_count, kernel, lowest_bit
from tropicell.engines._volume import volume

_ROUND = 2.0**-53
_INFLATE = 1.0000001

#: Vertices of stored regions are at least this sharp, relative to the scaled coordinates.
_SHARP = 1e-3

_ONE = np.uint64(1)
_NONE = np.uint64(0)
#: This bit of a ray says that it lies at infinity; the others stand for facets.
_INFINITE = np.uint64(1 << 63)
_FACET_BITS = np.uint64((1 << 63) - 1)

#: A cell with more facets than this is handed to exact arithmetic.
_MOST_FACETS = 62

# Places in a record beyond those of the plane kernel.
_N_FACETS, _FACET_AT, _TABLE, _SIMPLE = 7, 8, 9, 10


@kernel
def _start_layer(
    lines: Any, before: Any, layer: int, stack: Any, record: Any, exact: bool, state: Any
) -> None:
    """Turn the top record into one of `layer`: which of its lines cross the cell?"""
    n, start, conflict, at = record[1], record[2], record[4], record[5]
    begin = lines.row_start[layer]
    width = lines.row_start[layer + 1] - begin
    patterns, conflicts, line_row = stack.patterns, stack.conflicts, lines.line_row
    for j in range(width):
        patterns[at + j] = 0
    first, last = lines.line_start[layer], lines.line_start[layer + 1]
    plain = lines.plain[layer]
    if plain:
        scan_layer(lines, before, layer, stack, start, n, exact)
    state[TESTS] += n * (last - first)
    low, high = stack.low, stack.high
    count, doubtful = 0, 0
    for line in range(first, last):
        if plain:
            if low[line - first] > 0.0:
                patterns[at + line - first] = 1
                continue
            if high[line - first] < 0.0:
                continue
        seen = side(lines, before, line, stack.rays, start, n, exact)
        if seen == POSITIVE:
            patterns[at + line_row[line] - begin] += 1
        elif seen & CROSSES == CROSSES:
            conflicts[conflict + count] = line
            count += 1
        elif seen & DOUBTFUL:
            # A cell that comes from within the layer has facets on some of its lines.
            known = 0
            for i in range(record[_N_FACETS]):
                facet = stack.facets[record[_FACET_AT] + i]
                label = stack.table_labels[abs(facet) - 1]
                if abs(label) == line + 1:
                    known = label if facet > 0 else -label
            if known > 0:
                patterns[at + line_row[line] - begin] += 1
            elif known == 0:
                conflicts[conflict + count] = line
                count += 1
                doubtful = 1
    record[0] = layer
    record[3] = count
    record[6] = doubtful
    state[CONFLICTS] = conflict + count
    state[PATTERNS] = at + width


@kernel
def _neighbours(tight: Any, n: int, i: int, j: int, d: int, simple: bool) -> bool:
    """Whether two rays of a cell span a face of dimension two."""
    common = tight[i] & tight[j]
    if bit_count(common & _FACET_BITS) < d - 1:
        return False
    if simple:
        return True
    for k in range(n):
        if k != i and k != j and tight[k] & common == common:
            return False
    return True


@kernel
def _cut_edges(
    lines: Any, stack: Any, record: Any, new: int, exact: bool, tol: float, state: Any
) -> int:
    """Write the rays where the new facet (place in the table) cuts edges of the cell.

    Returns their number, -1 if a number is in doubt, -2 if there is no room.
    """
    d = lines.dimension
    n = record[1]
    old, tight, values = stack.old_rays, stack.old_tight, stack.values
    rays, new_tight = stack.new_rays, stack.new_tight
    facets, at = stack.facets, record[_FACET_AT]
    basis = stack.basis
    simple = record[_SIMPLE] != 0
    count = 0
    for i in range(n):
        if not values[i] > 0.0:
            continue
        for j in range(n):
            if not values[j] < 0.0 or not _neighbours(tight, n, i, j, d, simple):
                continue
            if count >= len(rays):
                return -2
            common = tight[i] & tight[j]
            new_tight[count] = common
            if exact:
                bits = common & _FACET_BITS
                for k in range(d - 1):
                    basis[k] = abs(facets[at + lowest_bit(bits)]) - 1
                    bits &= bits - _ONE
                basis[d - 1] = new
                # A facet of ray j that is not one of ray i is positive on the edge between them.
                apart = tight[j] & ~tight[i] & _FACET_BITS
                facet = facets[at + lowest_bit(apart)]
                if not meet(stack, d, 0.0, facet, rays, count):
                    return -1
            else:
                a, b = values[i], -values[j]
                size = 0.0
                for c in range(d + 1):
                    x = b * old[i, c] + a * old[j, c]
                    rays[count, c] = x
                    size += abs(x)
                for c in range(d + 1):
                    rays[count, c] /= size
                rays[count, d + 1] = tol
            count += 1
    return count


@kernel
def _write_half(
    stack: Any,
    n: int,
    made: int,
    sign: float,
    to: int,
    bit: Any,
    d: int,
) -> int:
    """Write the rays of one half: those on its side, those on the cut, the new ones."""
    rays, tight, values = stack.rays, stack.tight, stack.values
    k = to
    for i in range(n):
        if values[i] * sign >= 0.0:
            for c in range(d + 2):
                rays[k, c] = stack.old_rays[i, c]
            tight[k] = stack.old_tight[i] | (bit if values[i] == 0.0 else _NONE)
            k += 1
    for i in range(made):
        for c in range(d + 2):
            rays[k, c] = stack.new_rays[i, c]
        tight[k] = stack.new_tight[i] | bit
        k += 1
    return k - to


@kernel
def _compress(stack: Any, record: Any, d: int) -> None:
    """Forget facets that too few rays lie on, and renumber the bits."""
    n, start, count, at = record[1], record[2], record[_N_FACETS], record[_FACET_AT]
    tight, facets = stack.tight, stack.facets
    kept = 0
    for f in range(count):
        old = _ONE << np.uint64(f)
        on = 0
        for i in range(start, start + n):
            on += tight[i] & old != _NONE
        keep = on >= d
        new = _ONE << np.uint64(kept)
        for i in range(start, start + n):
            was = tight[i] & old != _NONE
            tight[i] &= ~old
            if keep and was:
                tight[i] |= new
        if keep:
            facets[at + kept] = facets[at + f]
            kept += 1
    record[_N_FACETS] = kept
    if kept >= _MOST_FACETS:
        record[6] = 1


@kernel
def _hand_down(
    lines: Any, before: Any, stack: Any, record: Any, other: Any, sizes: Any, keep: bool,
    exact: bool, state: Any
) -> None:
    """Conflict lists of the two halves. `sizes`: rays of the halves, new ones, old ones on the cut."""
    layer, start, count = record[0], record[2], record[3]
    conflict, at = record[4], record[5]
    begin = lines.row_start[layer]
    width = lines.row_start[layer + 1] - begin
    rays, conflicts, handed_on = stack.rays, stack.conflicts, stack.handed
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
            # The line crosses the whole cell but not the cut, so exactly one of the halves,
            # and the other one lies on the side of the cut.
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
    record[3], record[6] = kept, int(doubtful_p)
    other[3], other[4], other[6] = handed, conflict + kept, int(doubtful_n)
    state[CONFLICTS] = conflict + kept + handed


@kernel
def _split(
    lines: Any,
    before: Any,
    stack: Any,
    records: Any,
    exact: bool,
    tol: float,
    store: bool,
    state: Any,
) -> bool:
    """Cut the top cell by the last line of its conflict list; False if there is no room."""
    d = lines.dimension
    top = state[TOP] - 1
    record, other = records[top], records[top + 1]
    layer, n, start, count, conflict, at = (
        record[0],
        record[1],
        record[2],
        record[3],
        record[4],
        record[5],
    )
    begin = lines.row_start[layer]
    width = lines.row_start[layer + 1] - begin
    line = stack.conflicts[conflict + count - 1]
    neuron = lines.line_row[line] - begin
    state[TESTS] += n
    zeros = signs(lines, before, line, stack, start, n, exact)
    if zeros < 0:
        record[6] = 1
        return True
    for i in range(n):
        for c in range(d + 2):
            stack.old_rays[i, c] = stack.rays[start + i, c]
        stack.old_tight[i] = stack.tight[start + i]
    new = record[_TABLE]
    facet_row(lines, before, line + 1, exact, stack.table, new)
    stack.table_labels[new] = line + 1
    made = _cut_edges(lines, stack, record, new, exact, tol, state)
    if made == -1:
        record[6] = 1
        return True
    if made == -2 or start + 2 * (n + made) > len(stack.rays):
        return False
    state[SPLITS] += 1
    facets_n, facet_at = record[_N_FACETS], record[_FACET_AT]
    bit = _ONE << np.uint64(facets_n)
    np_ = _write_half(stack, n, made, 1.0, start, bit, d)
    nn = _write_half(stack, n, made, -1.0, start + np_, bit, d)
    for f in range(facets_n):
        stack.facets[facet_at + facets_n + 1 + f] = stack.facets[facet_at + f]
    stack.facets[facet_at + facets_n] = new + 1
    stack.facets[facet_at + 2 * facets_n + 1] = -(new + 1)
    keep = store or layer < lines.depth
    if keep:
        for j in range(width):
            stack.patterns[at + width + j] = stack.patterns[at + j]
        stack.patterns[at + neuron] += 1
    _hand_down(lines, before, stack, record, other, (np_, nn, made, zeros), keep, exact, state)
    record[1], other[1] = np_, nn
    other[0], other[2], other[5] = layer, start + np_, at + width
    record[_N_FACETS] = other[_N_FACETS] = facets_n + 1
    other[_FACET_AT] = facet_at + facets_n + 1
    record[_TABLE] = other[_TABLE] = new + 1
    if zeros:
        record[_SIMPLE] = 0
    other[_SIMPLE] = record[_SIMPLE]
    if facets_n + 1 >= _MOST_FACETS:
        _compress(stack, record, d)
        _compress(stack, other, d)
    state[TOP] += 1
    state[CORNERS] = start + np_ + nn
    state[PATTERNS] = at + 2 * width
    state[FACETS] = facet_at + 2 * facets_n + 2
    return True


@kernel
def _pop(state: Any, record: Any) -> None:
    state[TOP] -= 1
    state[CORNERS] = record[2]
    state[CONFLICTS] = record[4]
    state[PATTERNS] = record[5]
    state[FACETS] = record[_FACET_AT]


@kernel
def _witness(stack: Any, record: Any, d: int, point: Any, exact: bool) -> bool:
    """Write a point inside the cell, in scaled coordinates; False if the cell is not well known.

    Well known means: the point is surely inside, and no vertex may be off by more than `_SHARP`.
    """
    n, start = record[1], record[2]
    rays, tight, table = stack.rays, stack.tight, stack.table
    finite = 0
    for j in range(d):
        point[j] = 0.0
    for i in range(start, start + n):
        finite += tight[i] & _INFINITE == _NONE
    sharp = True
    for i in range(start, start + n):
        ray = tight[i] & _INFINITE != _NONE
        share = 1.0 if ray else 1.0 / (rays[i, d] * finite)
        for j in range(d):
            point[j] += rays[i, j] * share
        sharp = sharp and (ray or rays[i, d + 1] < _SHARP * rays[i, d])
    if not exact:
        return True
    size = 1.0
    for j in range(d):
        size += abs(point[j])
    for f in range(record[_N_FACETS]):
        facet = stack.facets[record[_FACET_AT] + f]
        at = abs(facet) - 1
        value = table[at, d]
        total = abs(value)
        for j in range(d):
            value += table[at, j] * point[j]
            total += abs(table[at, j] * point[j])
        if facet < 0:
            value = -value
        bound = table[at, d + 1] * size * _INFLATE + (2 * d + 8) * _ROUND * total
        sharp = sharp and value > bound
    return sharp


@kernel
def _emit(
    lines: Any,
    stack: Any,
    record: Any,
    pattern: Any,
    out: Any,
    exact: bool,
    volumes: bool,
    state: Any,
) -> bool:
    """Store the top cell as a region; False if its geometry needs exact arithmetic."""
    d = lines.dimension
    k, c, o = state[OUT], state[OUT_CORNERS], state[OUT_FACETS]
    scale, witness = lines.scale, out.witnesses[k]
    _compress(stack, record, d)
    if not _witness(stack, record, d, witness, exact):
        return False
    n, start, layer = record[1], record[2], record[0]
    rays, tight, vertices = stack.rays, stack.tight, out.vertices
    neurons = lines.row_start[layer + 1] - lines.row_start[1]
    prefix = lines.row_start[layer] - lines.row_start[1]
    row, own = out.patterns[k], stack.patterns[record[5] :]
    for j in range(prefix):
        row[j] = pattern[j]
    for j in range(prefix, neurons):
        row[j] = own[j - prefix]
    for j in range(d):
        witness[j] /= scale[j]
    count, at = record[_N_FACETS], record[_FACET_AT]
    for f in range(count):
        facet = stack.facets[at + f]
        label = stack.table_labels[abs(facet) - 1]
        out.labels[o + f] = label if facet > 0 else -label
    bounded = True
    for i in range(n):
        ray = tight[start + i] & _INFINITE != _NONE
        bounded = bounded and not ray
        w = 1.0 if ray else rays[start + i, d]
        for j in range(d):
            vertices[c + i, j] = rays[start + i, j] / w / scale[j]
        vertices[c + i, d] = 0.0 if ray else 1.0
    out.bounded[k] = bounded
    out.inside[k] = exact
    out.volumes[k] = np.nan if bounded else np.inf
    if bounded and volumes:
        simple = record[_SIMPLE] != 0
        out.volumes[k] = volume(
            vertices, c, tight, start, n, count, d, simple, stack.faces, stack.square
        )
    out.vertex_counts[k] = n
    out.facet_counts[k] = count
    state[OUT] += 1
    state[OUT_CORNERS] += n
    state[OUT_FACETS] += count
    return True


@kernel
def _hand_out(lines: Any, stack: Any, record: Any, pattern: Any, unsure: Any, state: Any) -> bool:
    """Put the top cell on the list of those that need exact arithmetic."""
    k, c, o = state[UNSURE], state[UNSURE_CORNERS], state[UNSURE_CONFLICTS]
    layer, count = record[0], record[3]
    n, at = record[_N_FACETS], record[_FACET_AT]
    if (
        k >= len(unsure.layers)
        or c + n > len(unsure.labels)
        or o + count > len(unsure.conflicts)
    ):
        return False
    prefix = lines.row_start[layer] - lines.row_start[1]
    width = lines.row_start[layer + 1] - lines.row_start[layer]
    for j in range(prefix):
        unsure.patterns[k, j] = pattern[j]
    for j in range(width):
        unsure.patterns[k, prefix + j] = stack.patterns[record[5] + j]
    for i in range(n):
        facet = stack.facets[at + i]
        label = stack.table_labels[abs(facet) - 1]
        unsure.labels[c + i] = label if facet > 0 else -label
    for i in range(count):
        unsure.conflicts[o + i] = stack.conflicts[record[4] + i]
    unsure.layers[k] = layer
    unsure.facet_ends[k] = c + n
    unsure.conflict_ends[k] = o + count
    state[UNSURE] += 1
    state[UNSURE_CORNERS] += n
    state[UNSURE_CONFLICTS] += count
    return True


@kernel
def _plant(
    lines: Any, before: Any, stack: Any, record: Any, seeds: Any, exact: bool, tol: float, state: Any
) -> None:
    """Put the next seed on the empty stack; the maps are those of its pattern."""
    d = lines.dimension
    k = state[SEED]
    first = seeds.facet_ends[k - 1] if k else 0
    first_ray = seeds.ray_ends[k - 1] if k else 0
    n, n_rays = seeds.facet_ends[k] - first, seeds.ray_ends[k] - first_ray
    for i in range(n):
        label = seeds.labels[first + i]
        facet_row(lines, before, label, exact, stack.table, i)
        stack.table_labels[i] = label
        stack.facets[i] = i + 1
    simple = 1
    for i in range(n_rays):
        for j in range(d):
            stack.basis[j] = seeds.bases[first_ray + i, j]
        meet(stack, d, seeds.signs[first_ray + i], 0, stack.rays, i)
        if not exact:
            stack.rays[i, d + 1] = tol
        stack.tight[i] = seeds.tight[first_ray + i]
        if bit_count(stack.tight[i] & _FACET_BITS) != d:
            simple = 0
    record[1], record[2], record[4], record[5] = n_rays, 0, 0, 0
    record[_N_FACETS], record[_FACET_AT], record[_TABLE], record[_SIMPLE] = n, 0, n, simple
    state[TOP] = 1
    state[CORNERS] = n_rays
    state[FACETS] = n
    state[SEED] += 1


@kernel
def run_cones(
    program: Any,
    before: Any,
    after: Any,
    pattern: Any,
    changes: Any,
    stack: Any,
    records: Any,
    seeds: Any,
    out: Any,
    unsure: Any,
    state: Any,
    exact: bool,
    tol: float,
    store: bool,
    volumes: bool,
    most_regions: int,
    most_steps: int,
) -> int:
    """Cut cells until all is done, a buffer is full, or a budget is spent."""
    maps, lines = program.maps, program.lines
    depth = lines.depth
    neurons = lines.row_start[depth + 1] - lines.row_start[1]
    steps = 0
    while True:
        if steps >= most_steps or state[COUNT] >= most_regions:
            state[STEPS] += steps
            return BATCH_FULL
        steps += 1
        top = state[TOP]
        if top == 0:
            k = state[SEED]
            if k >= len(seeds.layers):
                return DONE
            n_rays = seeds.ray_ends[k] - (seeds.ray_ends[k - 1] if k else 0)
            if n_rays >= len(stack.old_rays):
                return GROW
            layer, target = 0, seeds.layers[k]
            pieces = seeds.patterns
        else:
            record = records[top - 1]
            if record[6]:
                if not _hand_out(lines, stack, record, pattern, unsure, state):
                    return UNSURE_FULL
                _pop(state, record)
                continue
            layer, n, count = record[0], record[1], record[3]
            if layer == depth and count <= 1 and not store:
                state[COUNT] += 1 + count
                _pop(state, record)
                continue
            if count == 0 and layer == depth:
                if (
                    state[OUT] >= len(out.volumes)
                    or state[OUT_CORNERS] + n > len(out.vertices)
                    or state[OUT_FACETS] + record[_N_FACETS] > len(out.labels)
                ):
                    return BATCH_FULL
                if n > stack.faces.shape[1]:
                    return GROW
                if _emit(lines, stack, record, pattern, out, exact, volumes, state):
                    state[COUNT] += 1
                    _pop(state, record)
                else:
                    record[6] = 1
                continue
            if count > 0:
                if (
                    n > len(stack.old_rays)
                    or top + 1 >= len(records)
                    or state[FACETS] + 70 > len(stack.facets)
                    or record[_TABLE] + 1 > len(stack.table)
                    or state[CONFLICTS] + 2 * stack.margin[0] > len(stack.conflicts)
                    or state[PATTERNS] + 2 * stack.margin[1] > len(stack.patterns)
                    or not _split(lines, before, stack, records, exact, tol, store, state)
                ):
                    return GROW
                continue
            target, pieces = layer + 1, stack.patterns
        # From here: enter the layers up to `target`, and see which of its lines cross the cell.
        for at in range(layer, target):
            if top == 0:
                changes[at + 1] = -1
                place = k * neurons + lines.row_start[at] - lines.row_start[1]
            else:
                place = records[top - 1, 5]
            enter_layer(
                maps,
                before,
                after,
                pattern,
                at,
                pieces,
                place,
                changes,
                exact,
                stack.rows,
                stack.change,
            )
        if top == 0:
            _plant(lines, before, stack, records[0], seeds, exact, tol, state)
        _start_layer(lines, before, target, stack, records[state[TOP] - 1], exact, state)
