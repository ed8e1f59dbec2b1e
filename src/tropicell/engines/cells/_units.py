"""A unit of the cells engine in one call of a kernel; see `_unit_kernels`.

Cells that wait are kept as a *block* of memory, for all units that are left of one together: a head
with the sizes of its parts, then the parts (see `block_parts`). A unit is a number of records that
follow each other; places in the records count from the beginning of the block.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.jit import kernel
from tropicell.engines._column_kernels import copy_cells
from tropicell.engines._unit_kernels import (
    BLOCK_FULL,
    COLUMNS,
    COLUMNS_FULL,
    ENDED,
    GROUPS,
    LINES,
    PUT,
    RUN,
    SIZE,
    STACK,
    TOO_SMALL,
    cut_into_groups,
    guessed_cells,
)
from tropicell.engines.cells._cone import run_cones
from tropicell.engines.cells._plane import run_plane
from tropicell.engines.cells._state import (
    CONFLICTS,
    CORNERS,
    COUNT,
    DONE,
    FACET_AT,
    FACETS,
    N_FACETS,
    OUT,
    OUT_CORNERS,
    OUT_FACETS,
    PATTERNS,
    SPLITS,
    STATE_SIZE,
    TABLE,
    TESTS,
    TOP,
    UNSURE,
)
from tropicell.network._layer_maps import enter_layers

#: Words of a block's head: records, corners, facets, conflicts, pieces, table, pattern.
HEAD = 8

#: See `guessed_cells`; this is what fits random networks.
_INSIDE = 0.5


class CellOptions(NamedTuple):
    """Fixed choices of one run; for `few` and `growth` see `units`."""

    exact: bool
    tolerance: float
    store: bool
    volumes: bool
    bits: int
    few: float
    growth: NDArray[np.float64]


def block_parts(
    records: int,
    corners: int,
    facets: int,
    conflicts: int,
    pieces: int,
    table: int,
    pattern: int,
    wide: int,
) -> tuple[int, int, int, int, int, int, int, int, int, int]:
    """Where the parts of a block begin, in words, and where it ends.

    Records, corners (polygons or rays, of `wide` numbers), their labels or tight facets, facets,
    table, its labels, conflicts, pieces and pattern (bytes).
    """
    at = HEAD + 11 * records
    tags = at + wide * corners
    facet = tags + corners
    tables = facet + facets
    labels = tables + wide * table
    conflict = labels + table
    piece = conflict + conflicts
    prefix = piece + (pieces + 7) // 8
    end = prefix + (pattern + 7) // 8
    return HEAD, at, tags, facet, tables, labels, conflict, piece, prefix, end


_parts = kernel(block_parts)


@kernel
def _put(
    row_start: Any,
    corners: Any,
    tags: Any,
    facets: Any,
    table: Any,
    table_labels: Any,
    conflicts: Any,
    patterns: Any,
    records: Any,
    state: Any,
    source: Any,
    begin: int,
    first: int,
    last: int,
) -> int:
    """Fill the empty stack with records first … last - 1 of a block.

    Returns where the pattern of the layers before begins, in bytes; -1 if the stack is too small.
    """
    words, reals = source.words, source.reals
    wide = corners.shape[1]
    b = begin
    parts = _parts(
        words[b], words[b + 1], words[b + 2], words[b + 3],
        words[b + 4], words[b + 5], words[b + 6], wide,
    )  # fmt: skip
    low, high = b + parts[0] + 11 * first, b + parts[0] + 11 * (last - 1)
    layer = words[high]
    width = row_start[layer + 1] - row_start[layer]
    corner, n_corners = words[low + 2], words[high + 2] + words[high + 1] - words[low + 2]
    conflict, n_conflicts = words[low + 4], words[high + 4] + words[high + 3] - words[low + 4]
    piece, n_pieces = words[low + 5], words[high + 5] + width - words[low + 5]
    facet = n_facets = n_table = 0
    if len(table):
        facet = words[low + FACET_AT]
        n_facets = words[high + FACET_AT] + words[high + N_FACETS] - facet
        n_table = words[high + TABLE]
    if (
        n_corners > len(corners)
        or n_conflicts > len(conflicts)
        or n_pieces > len(patterns)
        or n_facets > len(facets)
        or n_table > len(table)
        or last - first + 2 > len(records)
    ):
        return -1
    for k in range(last - first):
        for c in range(11):
            records[k, c] = words[low + 11 * k + c]
        records[k, 2] -= corner
        records[k, 4] -= conflict
        records[k, 5] -= piece
        if n_table:
            records[k, FACET_AT] -= facet
    at, tag = b + parts[1] + wide * corner, b + parts[2] + corner
    for i in range(n_corners):
        for c in range(wide):
            corners[i, c] = reals[at + wide * i + c]
        tags[i] = words[tag + i]
    at = b + parts[3] + facet
    for i in range(n_facets):
        facets[i] = words[at + i]
    at, tag = b + parts[4], b + parts[5]
    for i in range(n_table):
        for c in range(wide):
            table[i, c] = reals[at + wide * i + c]
        table_labels[i] = words[tag + i]
    at = b + parts[6] + conflict
    for i in range(n_conflicts):
        conflicts[i] = words[at + i]
    at = 8 * (b + parts[7]) + piece
    for i in range(n_pieces):
        patterns[i] = source.bytes[at + i]
    for k in range(STATE_SIZE):
        if k not in (TESTS, SPLITS):
            state[k] = 0
    state[TOP] = last - first
    state[CORNERS] = n_corners
    state[CONFLICTS] = n_conflicts
    state[PATTERNS] = n_pieces
    state[FACETS] = n_facets
    return 8 * (b + parts[8])


@kernel
def _take(
    row_start: Any,
    dimension: int,
    corners: Any,
    tags: Any,
    facets: Any,
    table: Any,
    table_labels: Any,
    conflicts: Any,
    patterns: Any,
    pattern: Any,
    records: Any,
    state: Any,
    few: float,
    growth: Any,
    blocks: Any,
    begin: int,
    result: Any,
) -> bool:
    """Write the cells of the stack to a block, and cut them into groups for new units.

    Returns whether there is room for it; `result` says how many bytes are needed.
    """
    top = state[TOP]
    result[GROUPS] = 0
    result[SIZE] = 0
    if top == 0:
        return True
    words, reals, wide = blocks.words, blocks.reals, corners.shape[1]
    last = records[top - 1]
    layer = last[0]
    n_corners, n_conflicts = last[2] + last[1], last[4] + last[3]
    n_pieces = last[5] + row_start[layer + 1] - row_start[layer]
    n_pattern = row_start[layer] - row_start[1]
    n_facets = n_table = 0
    if len(table):
        n_facets, n_table = last[FACET_AT] + last[N_FACETS], last[TABLE]
    parts = _parts(top, n_corners, n_facets, n_conflicts, n_pieces, n_table, n_pattern, wide)
    result[SIZE] = 8 * ((parts[9] + 7) // 8 * 8)
    end = begin + parts[9]
    if end + top > len(words):
        result[SIZE] += 8 * top
        return False
    b = begin
    words[b], words[b + 1], words[b + 2], words[b + 3] = top, n_corners, n_facets, n_conflicts
    words[b + 4], words[b + 5], words[b + 6], words[b + 7] = n_pieces, n_table, n_pattern, 0
    at = b + parts[0]
    for k in range(top):
        for c in range(11):
            words[at + c] = records[k, c]
        at += 11
    at, tag = b + parts[1], b + parts[2]
    for i in range(n_corners):
        for c in range(wide):
            reals[at + wide * i + c] = corners[i, c]
        words[tag + i] = tags[i]
    at = b + parts[3]
    for i in range(n_facets):
        words[at + i] = facets[i]
    at, tag = b + parts[4], b + parts[5]
    for i in range(n_table):
        for c in range(wide):
            reals[at + wide * i + c] = table[i, c]
        words[tag + i] = table_labels[i]
    at = b + parts[6]
    for i in range(n_conflicts):
        words[at + i] = conflicts[i]
    at = 8 * (b + parts[7])
    for i in range(n_pieces):
        blocks.bytes[at + i] = patterns[i]
    at = 8 * (b + parts[8])
    for i in range(n_pattern):
        blocks.bytes[at + i] = pattern[i]
    weights = reals[end : end + top]
    for k in range(top):
        cells = guessed_cells(records[k, 3], dimension, _INSIDE) * growth[records[k, 0]]
        weights[k] = cells * records[k, 1] / 2.0**dimension  # large cells have many corners
    cut_into_groups(weights, few, result)
    return True


@kernel
def _columns(
    out: Any, eights: Any, state: Any, neurons: int, bits: int, volumes: bool, facets: int,
    columns: Any, begin: int, result: Any,
) -> bool:  # fmt: skip
    """Write the batch to columns; returns whether there is room."""
    result[LINES] = 0
    if state[OUT]:
        n, corners = state[OUT], state[OUT_CORNERS]
        result[LINES] = copy_cells(
            out, eights, n, corners, facets, neurons, bits, volumes, columns, begin
        )
    return bool(result[LINES] >= 0)


@kernel
def plane_unit(
    flat: Any,
    before: Any,
    after: Any,
    pattern: Any,
    changes: Any,
    stack: Any,
    records: Any,
    seeds: Any,
    out: Any,
    eights: Any,
    unsure: Any,
    state: Any,
    result: Any,
    options: Any,
    most_regions: int,
    most_steps: int,
    mode: int,
    source: Any,
    source_at: int,
    first: int,
    last: int,
    blocks: Any,
    block_at: int,
    columns: Any,
    column_at: int,
) -> int:
    """All that is to be done with a unit, or those steps of it that are in `mode`.

    Returns why it ends; ENDED if all is done.
    """
    lines, maps, none = flat.lines, flat.maps, stack.conflicts[:0]
    if mode & PUT:
        at = _put(
            lines.row_start, stack.poly, stack.labels, none, stack.poly[:0], none,
            stack.conflicts, stack.patterns, records, state, source, source_at, first, last,
        )  # fmt: skip
        if at < 0:
            return TOO_SMALL
        layer = records[state[TOP] - 1, 0]
        pieces = source.bytes[at:]
        enter_layers(
            maps, before, after, pattern, pieces, layer, changes, options.exact,
            stack.rows, stack.change,
        )  # fmt: skip
    if mode & RUN:
        code = run_plane(
            flat, before, after, pattern, changes, stack, records, seeds, out, unsure, state,
            options.exact, options.tolerance, options.store, options.volumes,
            most_regions, most_steps,
        )  # fmt: skip
        if state[UNSURE] or not (code == DONE or state[COUNT] >= most_regions):
            return code
    if mode & COLUMNS and not _columns(
        out, eights, state, len(pattern), options.bits, options.volumes, state[OUT_CORNERS],
        columns, column_at, result,
    ):  # fmt: skip
        return COLUMNS_FULL
    if mode & STACK and not _take(
        lines.row_start, 2, stack.poly, stack.labels, none, stack.poly[:0], none,
        stack.conflicts, stack.patterns, pattern, records, state,
        options.few, options.growth, blocks, block_at, result,
    ):  # fmt: skip
        return BLOCK_FULL
    return ENDED


@kernel
def cone_unit(
    flat: Any,
    before: Any,
    after: Any,
    pattern: Any,
    changes: Any,
    stack: Any,
    records: Any,
    seeds: Any,
    out: Any,
    eights: Any,
    unsure: Any,
    state: Any,
    result: Any,
    options: Any,
    most_regions: int,
    most_steps: int,
    mode: int,
    source: Any,
    source_at: int,
    first: int,
    last: int,
    blocks: Any,
    block_at: int,
    columns: Any,
    column_at: int,
) -> int:
    """The same for other dimensions than two."""
    lines, maps = flat.lines, flat.maps
    if mode & PUT:
        at = _put(
            lines.row_start, stack.rays, stack.tight, stack.facets, stack.table,
            stack.table_labels, stack.conflicts, stack.patterns, records, state,
            source, source_at, first, last,
        )  # fmt: skip
        if at < 0:
            return TOO_SMALL
        layer = records[state[TOP] - 1, 0]
        pieces = source.bytes[at:]
        enter_layers(
            maps, before, after, pattern, pieces, layer, changes, options.exact,
            stack.rows, stack.change,
        )  # fmt: skip
    if mode & RUN:
        code = run_cones(
            flat, before, after, pattern, changes, stack, records, seeds, out, unsure, state,
            options.exact, options.tolerance, options.store, options.volumes,
            most_regions, most_steps,
        )  # fmt: skip
        if state[UNSURE] or not (code == DONE or state[COUNT] >= most_regions):
            return code
    if mode & COLUMNS and not _columns(
        out, eights, state, len(pattern), options.bits, options.volumes, state[OUT_FACETS],
        columns, column_at, result,
    ):  # fmt: skip
        return COLUMNS_FULL
    if mode & STACK and not _take(
        lines.row_start, lines.dimension, stack.rays, stack.tight, stack.facets, stack.table,
        stack.table_labels, stack.conflicts, stack.patterns, pattern, records, state,
        options.few, options.growth, blocks, block_at, result,
    ):  # fmt: skip
        return BLOCK_FULL
    return ENDED
