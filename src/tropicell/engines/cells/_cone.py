"""The kernel for any dimension: double description on the cone over a cell.

A cell is kept by its extreme rays (x, w) in homogeneous coordinates, absolute values adding up to
1, each with the bits of the facets it lies on. ``w = 0`` for the directions of unbounded
cells. Only cones without lines come here. Where no sign is in doubt all cells are simple, and
two rays are neighbours if they share d - 1 facets; cells that come from exact arithmetic, or
from float arithmetic with its zeros, may be not simple, and get the full test.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tropicell._runtime.jit import bit_count, is_set, kernel
from tropicell.engines.cells._cone_cut import compress, split
from tropicell.engines.cells._cone_tests import facet_row, meet, scan_layer, side
from tropicell.engines.cells._state import (
    BATCH_FULL,
    CONFLICTS,
    CORNERS,
    COUNT,
    CROSSES,
    DONE,
    DOUBTFUL,
    FACET_AT,
    FACET_BITS,
    FACETS,
    GROW,
    INFINITE,
    N_FACETS,
    NONE,
    OUT,
    OUT_CORNERS,
    OUT_FACETS,
    PATTERNS,
    POSITIVE,
    SEED,
    SIMPLE,
    STEPS,
    TABLE,
    TESTS,
    TOP,
    UNSURE,
    UNSURE_CONFLICTS,
    UNSURE_CORNERS,
    UNSURE_FULL,
)
from tropicell.engines.cells._volume import volume
from tropicell.geometry.rounding import INFLATE, ROUND
from tropicell.network._layer_maps import enter_layer, enter_layers

#: Vertices of stored regions are at least this sharp, relative to the scaled coordinates.
_SHARP = 1e-3

#: Cutting a cell of n corners takes as long as n * n / 2 to this power steps in addition.
_COSTLY = 9


@kernel
def start_layer(
    lines: Any, before: Any, layer: int, stack: Any, record: Any, exact: bool, state: Any
) -> None:
    """Turn the top record into one of `layer`: find the lines that cross the cell."""
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
            for i in range(record[N_FACETS]):
                facet = stack.facets[record[FACET_AT] + i]
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
def pop(state: Any, record: Any) -> None:
    state[TOP] -= 1
    state[CORNERS] = record[2]
    state[CONFLICTS] = record[4]
    state[PATTERNS] = record[5]
    state[FACETS] = record[FACET_AT]


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
        bound = table[at, d + 1] * size * INFLATE + (2 * d + 8) * ROUND * total
        sharp = sharp and value > bound
    return sharp


@kernel
def emit(
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
    compress(stack, record, d)
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
    count, at = record[N_FACETS], record[FACET_AT]
    for f in range(count):
        facet = stack.facets[at + f]
        label = stack.table_labels[abs(facet) - 1]
        out.labels[o + f] = label if facet > 0 else -label
    bounded = True
    for i in range(n):
        ray = tight[start + i] & INFINITE != NONE
        bounded = bounded and not ray
        w = 1.0 if ray else rays[start + i, d]
        for j in range(d):
            vertices[c + i, j] = rays[start + i, j] / w / scale[j]
        vertices[c + i, d] = 0.0 if ray else 1.0
    out.bounded[k] = bounded
    out.inside[k] = exact
    out.volumes[k] = np.nan if bounded else np.inf
    if bounded and volumes:
        simple = record[SIMPLE] != 0
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
def hand_out(lines: Any, stack: Any, record: Any, pattern: Any, unsure: Any, state: Any) -> bool:
    """Put the top cell on the list of those that need exact arithmetic."""
    k, c, o = state[UNSURE], state[UNSURE_CORNERS], state[UNSURE_CONFLICTS]
    layer, count = record[0], record[3]
    n, at = record[N_FACETS], record[FACET_AT]
    if k >= len(unsure.layers) or c + n > len(unsure.labels) or o + count > len(unsure.conflicts):
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
def plant(
    lines: Any,
    before: Any,
    stack: Any,
    record: Any,
    seeds: Any,
    exact: bool,
    tol: float,
    state: Any,
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
        if bit_count(stack.tight[i] & FACET_BITS) != d:
            simple = 0
    record[1], record[2], record[4], record[5] = n_rays, 0, 0, 0
    record[N_FACETS], record[FACET_AT], record[TABLE], record[SIMPLE] = n, 0, n, simple
    state[TOP] = 1
    state[CORNERS] = n_rays
    state[FACETS] = n
    state[SEED] += 1


@kernel
def run_cones(
    flat: Any,
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
    maps, lines = flat.maps, flat.lines
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
        else:
            record = records[top - 1]
            if record[6]:
                if not hand_out(lines, stack, record, pattern, unsure, state):
                    return UNSURE_FULL
                pop(state, record)
                continue
            layer, n, count = record[0], record[1], record[3]
            if layer == depth and count <= 1 and not store:
                state[COUNT] += 1 + count
                pop(state, record)
                continue
            if count == 0 and layer == depth:
                if (
                    state[OUT] >= len(out.volumes)
                    or state[OUT_CORNERS] + n > len(out.vertices)
                    or state[OUT_FACETS] + record[N_FACETS] > len(out.labels)
                ):
                    return BATCH_FULL
                if n > stack.faces.shape[1]:
                    return GROW
                if emit(lines, stack, record, pattern, out, exact, volumes, state):
                    state[COUNT] += 1
                    pop(state, record)
                else:
                    record[6] = 1
                continue
            if count > 0:
                if (
                    n > len(stack.old_rays)
                    or top + 1 >= len(records)
                    or state[FACETS] + 70 > len(stack.facets)
                    or record[TABLE] + 1 > len(stack.table)
                    or state[CONFLICTS] + 2 * stack.margin[0] > len(stack.conflicts)
                    or state[PATTERNS] + 2 * stack.margin[1] > len(stack.patterns)
                    or not split(lines, before, stack, records, exact, tol, store, state)
                ):
                    return BATCH_FULL if is_set(stack.halt) else GROW
                steps += n * n >> _COSTLY
                continue
            target = layer + 1
        # From here: enter the layers up to `target`, and see which of its lines cross the cell.
        room, change = stack.rows, stack.change
        if top == 0:
            pieces = seeds.patterns[k * neurons :]
            enter_layers(maps, before, after, pattern, pieces, target, changes, exact, room, change)
            plant(lines, before, stack, records[0], seeds, exact, tol, state)
        else:
            at = records[top - 1, 5]
            pieces = stack.patterns
            enter_layer(
                maps, before, after, pattern, layer, pieces, at, changes, exact, room, change
            )
        start_layer(lines, before, target, stack, records[state[TOP] - 1], exact, state)
