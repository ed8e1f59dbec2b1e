"""The kernel for two dimensions: polygons with ordered homogeneous vertices.

A cell is a list of corners in counter-clockwise order. Corner i has a vertex (x, y, w), whose
absolute coordinates add up to 1, and the edge from it to the next corner: the row a with
``a · v >= 0`` inside, largest coefficient 1, and its label. ``w = 0`` for rays; the line at
infinity is an edge like any other. The columns of a corner are: vertex (3), its error bound,
1 if it is a ray (known from where it comes from, not from w), row of the edge (3), its error
bound.

The stack of cells lies in flat arrays, the top cell last, so that a cell is replaced by its two
halves in place, and the kernel can stop after any step and go on later.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tropicell._runtime.jit import kernel
from tropicell.engines.cells._plane_cut import split
from tropicell.engines.cells._plane_tests import edge_row, meet, scan_plain, side
from tropicell.engines.cells._sharp import sharpen
from tropicell.engines.cells._state import (
    BATCH_FULL,
    CONFLICTS,
    CORNERS,
    COUNT,
    CROSSES,
    DONE,
    DOUBTFUL,
    GROW,
    OUT,
    OUT_CORNERS,
    PATTERNS,
    POSITIVE,
    SEED,
    STEPS,
    TESTS,
    TOP,
    UNSURE,
    UNSURE_CONFLICTS,
    UNSURE_CORNERS,
    UNSURE_FULL,
)
from tropicell.geometry.rounding import INFLATE, ROUND
from tropicell.network._layer_maps import enter_layer, enter_layers

#: Vertices of stored regions are at least this sharp, relative to the scaled coordinates.
_SHARP = 1e-7


@kernel
def start_layer(
    lines: Any, before: Any, layer: int, stack: Any, record: Any, exact: bool, state: Any
) -> None:
    """Turn the top record into one of `layer`: find the lines that cross the cell."""
    start, n, conflict, pattern = record[2], record[1], record[4], record[5]
    begin = lines.row_start[layer]
    width = lines.row_start[layer + 1] - begin
    pieces = stack.patterns[pattern : pattern + width]
    pieces[:] = 0
    first, last = lines.line_start[layer], lines.line_start[layer + 1]
    count, doubtful = 0, 0
    plain = lines.plain[layer]
    sides = stack.sides[0]
    if plain:
        scan_plain(lines, before, layer, stack, start, n, exact)
    state[TESTS] += n * (last - first)
    for line in range(first, last):
        if plain:
            r = line - first
            if sides[r] != 0.0:
                pieces[r] = sides[r] > 0.0
                continue
        seen = side(lines, before, line, stack.poly, start, n, exact)
        if seen == POSITIVE:
            pieces[lines.line_row[line] - begin] += 1
        elif seen & CROSSES == CROSSES:
            stack.conflicts[conflict + count] = line
            count += 1
        elif seen & DOUBTFUL:
            # A cell that comes from within the layer has edges on some of its lines.
            known = 0
            for i in range(start, start + n):
                if abs(stack.labels[i]) == line + 1:
                    known = stack.labels[i]
            if known > 0:
                pieces[lines.line_row[line] - begin] += 1
            elif known == 0:
                stack.conflicts[conflict + count] = line
                count += 1
                doubtful = 1
    record[0] = layer
    record[3] = count
    record[6] = doubtful
    state[CONFLICTS] = conflict + count
    state[PATTERNS] = pattern + width


@kernel
def pop(state: Any, record: Any) -> None:
    state[TOP] -= 1
    state[CORNERS] = record[2]
    state[CONFLICTS] = record[4]
    state[PATTERNS] = record[5]


@kernel
def _witness(stack: Any, start: int, n: int, exact: bool) -> tuple[bool, float, float]:
    """A point inside the cell, in scaled coordinates, and whether the cell is well known.

    That is: the point is surely inside, and no vertex may be off by more than `_SHARP`.
    """
    poly = stack.poly
    x = y = rx = ry = 0.0
    finite = 0
    sharp = True
    for i in range(start, start + n):
        if poly[i, 4] != 0.0:
            rx += poly[i, 0]
            ry += poly[i, 1]
        else:
            w = poly[i, 2]
            x += poly[i, 0] / w
            y += poly[i, 1] / w
            finite += 1
            sharp = sharp and poly[i, 3] < _SHARP * w
    x, y = x / finite + rx, y / finite + ry
    if not exact:
        return True, x, y
    for i in range(start, start + n):
        a0, a1, a2 = poly[i, 5] * x, poly[i, 6] * y, poly[i, 7]
        bound = poly[i, 8] * (abs(x) + abs(y) + 1.0) * INFLATE
        bound += 8.0 * ROUND * (abs(a0) + abs(a1) + abs(a2))
        sharp = sharp and a0 + a1 + a2 > bound
    return sharp, x, y


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
    """Store the top cell as a region; False if its geometry needs more digits."""
    k, c = state[OUT], state[OUT_CORNERS]
    n, start, layer = record[1], record[2], record[0]
    poly, vertices = stack.poly, out.vertices
    sharp, x, y = _witness(stack, start, n, exact)
    if not sharp:
        return False
    s0, s1 = lines.scale[0], lines.scale[1]
    out.witnesses[k, 0], out.witnesses[k, 1] = x / s0, y / s1
    neurons = lines.row_start[layer + 1] - lines.row_start[1]
    prefix = lines.row_start[layer] - lines.row_start[1]
    row, own = out.patterns[k], stack.patterns[record[5] :]
    for j in range(prefix):
        row[j] = pattern[j]
    rest = row[prefix:neurons]
    for j in range(len(rest)):
        rest[j] = own[j]
    bounded = True
    for i in range(n):
        at = start + i
        w = poly[at, 2]
        if poly[at, 4] != 0.0:
            bounded = False
            w = 1.0
        vertices[c + i, 0] = poly[at, 0] / w / s0
        vertices[c + i, 1] = poly[at, 1] / w / s1
        vertices[c + i, 2] = 0.0 if poly[at, 4] != 0.0 else 1.0
        out.labels[c + i] = stack.labels[at]
    area = np.nan if bounded else np.inf
    if bounded and volumes:
        area = 0.0
        x, y = vertices[c, 0], vertices[c, 1]
        for i in range(1, n - 1):
            ax, ay = vertices[c + i, 0] - x, vertices[c + i, 1] - y
            bx, by = vertices[c + i + 1, 0] - x, vertices[c + i + 1, 1] - y
            area += 0.5 * (ax * by - ay * bx)
    out.volumes[k] = area
    out.bounded[k] = bounded
    out.inside[k] = exact
    out.vertex_counts[k] = n
    out.facet_counts[k] = n
    state[OUT] += 1
    state[OUT_CORNERS] += n
    return True


@kernel
def hand_out(lines: Any, stack: Any, record: Any, pattern: Any, unsure: Any, state: Any) -> bool:
    """Put the top cell on the list of those that need exact arithmetic."""
    k, c, f = state[UNSURE], state[UNSURE_CORNERS], state[UNSURE_CONFLICTS]
    layer, n, count = record[0], record[1], record[3]
    if k >= len(unsure.layers) or c + n > len(unsure.labels) or f + count > len(unsure.conflicts):
        return False
    prefix = lines.row_start[layer] - lines.row_start[1]
    width = lines.row_start[layer + 1] - lines.row_start[layer]
    for j in range(prefix):
        unsure.patterns[k, j] = pattern[j]
    for j in range(width):
        unsure.patterns[k, prefix + j] = stack.patterns[record[5] + j]
    for i in range(n):
        unsure.labels[c + i] = stack.labels[record[2] + i]
    for i in range(count):
        unsure.conflicts[f + i] = stack.conflicts[record[4] + i]
    unsure.layers[k] = layer
    unsure.facet_ends[k] = c + n
    unsure.conflict_ends[k] = f + count
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
    k = state[SEED]
    first = seeds.facet_ends[k - 1] if k else 0
    n = seeds.facet_ends[k] - first
    p = stack.poly
    for i in range(n):
        stack.labels[i] = seeds.labels[first + i]
        edge_row(lines, before, stack.labels[i], exact, p, i)
    for i in range(n):
        j = i - 1 if i else n - 1
        meet(p[j, 5], p[j, 6], p[j, 7], p[j, 8], p, i, 1.0, p, i)
        p[i, 4] = seeds.signs[first + i]
        if not exact:
            p[i, 3] = tol
    record[1], record[2], record[4], record[5] = n, 0, 0, 0
    state[TOP] = 1
    state[CORNERS] = n
    state[SEED] += 1


@kernel
def run_plane(
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
            if state[SEED] >= len(seeds.layers):
                return DONE
            k = state[SEED]
            n = seeds.facet_ends[k] - (seeds.facet_ends[k - 1] if k else 0)
            if n + 4 > len(stack.poly) or n + 4 > len(stack.old_poly):
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
                if state[OUT] >= len(out.volumes) or state[OUT_CORNERS] + n > len(out.labels):
                    return BATCH_FULL
                stored = emit(lines, stack, record, pattern, out, exact, volumes, state)
                if not stored:
                    sharpen(flat, pattern, stack, record)
                    stored = emit(lines, stack, record, pattern, out, exact, volumes, state)
                if stored:
                    state[COUNT] += 1
                    pop(state, record)
                else:
                    record[6] = 1
                continue
            if count > 0:
                if (
                    state[CORNERS] + 8 > len(stack.poly)
                    or n + 8 > len(stack.old_poly)
                    or top + 1 >= len(records)
                    or state[CONFLICTS] + 2 * stack.margin[0] > len(stack.conflicts)
                    or state[PATTERNS] + 2 * stack.margin[1] > len(stack.patterns)
                ):
                    return GROW
                split(lines, before, stack, records, exact, tol, store, state)
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
