"""A unit of the cells engine in one call of a kernel; see `_unit_kernels`.

Cells that wait are kept as a *block* of memory, for all units that are left of one together: a head
with the sizes of its parts, then the parts (see `block_parts`). A unit is a number of records that
follow each other; places in the records count from the beginning of the block.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.jit import inner_kernel, kernel, template
from tropicell._runtime.memory import Piece
from tropicell.engines._column_kernels import BatchSizes, ColumnForm, copy_cells
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
from tropicell.engines.cells._search import search_cones, search_polygons
from tropicell.engines.cells._state import (
    CONFLICT_AT,
    CONFLICTS,
    CORNER_AT,
    CORNERS,
    COUNT,
    DONE,
    FACET_AT,
    FACETS,
    LAYER,
    N_CONFLICTS,
    N_CORNERS,
    N_FACETS,
    OUT,
    OUT_CORNERS,
    OUT_FACETS,
    PATTERNS,
    PIECES_AT,
    RECORD_SIZE,
    SPLITS,
    STATE_SIZE,
    TABLE_END,
    TESTS,
    TOP,
    UNSURE,
)
from tropicell.network._layer_maps import enter_layers

#: Words of a block's head; those after the sizes are 0.
HEAD = 8

#: See `guessed_cells`; this is what fits random networks.
_INSIDE = 0.5


# --- what a kernel is told ------------------------------------------------------------------------


class CellOptions(NamedTuple):
    """Fixed choices of one run; for `few` and `growth` see `units`."""

    exact: bool
    tolerance: float
    store: bool
    form: ColumnForm
    few: float
    growth: NDArray[np.float64]


class UnitOrder(NamedTuple):
    """What a kernel is to do with a unit: the steps in `mode`, and when to stop searching."""

    mode: int
    most_regions: int
    most_steps: int


class UnitSource(NamedTuple):
    """Where a unit's cells are: records first … last - 1 of the block at word `at` of a piece."""

    piece: Piece
    at: int
    first: int
    last: int


class UnitTargets(NamedTuple):
    """Where what is left of a unit goes (from a word on), and its regions (from a byte on)."""

    blocks: Piece
    block_at: int
    columns: Piece
    column_at: int


# --- a unit ---------------------------------------------------------------------------------------


@kernel
def plane_unit(
    flat: Any, room: Any, seeds: Any, options: Any, order: Any, source: Any, targets: Any
) -> int:
    """All that is to be done with a unit in the plane.

    Parameters
    ----------
    flat : FlatNetwork
    room : CellRoom
    seeds : Seeds
        Cells to begin with when the stack is empty.
    options : CellOptions
    order : UnitOrder
    source : UnitSource
    targets : UnitTargets

    Returns
    -------
    int
        Why it ends (see `_unit_kernels` and `_state`); `ENDED` if all is done.
    """
    return _unit(search_polygons, flat, room, seeds, options, order, source, targets)


@kernel
def cone_unit(
    flat: Any, room: Any, seeds: Any, options: Any, order: Any, source: Any, targets: Any
) -> int:
    """The same for other dimensions than two."""
    return _unit(search_cones, flat, room, seeds, options, order, source, targets)


@template
def _unit(
    search: Any,
    flat: Any,
    room: Any,
    seeds: Any,
    options: Any,
    order: Any,
    source: Any,
    targets: Any,
) -> int:
    """All that is to be done with a unit, or those steps of it that are in ``order.mode``.

    `search` is the kernel that cuts cells.
    """
    lines, stack, state = flat.lines, room.stack, room.state
    if order.mode & PUT:
        at = _put(lines.row_start, stack, state, source)
        if at < 0:
            return TOO_SMALL
        layer = stack.records[state[TOP] - 1, LAYER]
        enter_layers(flat.maps, room.maps, source.piece.bytes[at:], layer, options.exact)
    if order.mode & RUN:
        code = search(flat, room, seeds, options, order.most_regions, order.most_steps)
        if state[UNSURE] or not (code == DONE or state[COUNT] >= order.most_regions):
            return int(code)
    if order.mode & COLUMNS:
        room.result[LINES] = 0
        if state[OUT]:
            sizes = BatchSizes(state[OUT], state[OUT_CORNERS], state[OUT_FACETS])
            where = targets.columns, targets.column_at
            room.result[LINES] = copy_cells(room.out, sizes, options.form, *where)
            if room.result[LINES] < 0:
                return COLUMNS_FULL
    if order.mode & STACK and not _take(lines, room, options, targets.blocks, targets.block_at):
        return BLOCK_FULL
    return ENDED


# --- blocks of cells that wait --------------------------------------------------------------------


class BlockSizes(NamedTuple):
    """The head of a block: the lengths of its parts."""

    records: int
    corners: int
    facets: int
    conflicts: int
    pieces: int
    table: int
    pattern: int


class BlockParts(NamedTuple):
    """Where the parts of a block begin, in words from its beginning, and where it ends.

    Corners have their coordinates in one part, and their tags (labels of edges, or bits of facets)
    in another one; likewise the facets of the table. Pieces and pattern are bytes.
    """

    records: int
    corners: int
    tags: int
    facets: int
    table: int
    table_labels: int
    conflicts: int
    pieces: int
    pattern: int
    end: int


def block_parts(sizes: BlockSizes, wide: int) -> BlockParts:
    """Where the parts of a block begin; corners and facets of the table have `wide` numbers."""
    corners = HEAD + RECORD_SIZE * sizes.records
    tags = corners + wide * sizes.corners
    facets = tags + sizes.corners
    table = facets + sizes.facets
    table_labels = table + wide * sizes.table
    conflicts = table_labels + sizes.table
    pieces = conflicts + sizes.conflicts
    pattern = pieces + (sizes.pieces + 7) // 8
    end = pattern + (sizes.pattern + 7) // 8
    return BlockParts(
        HEAD, corners, tags, facets, table, table_labels, conflicts, pieces, pattern, end
    )


_parts = inner_kernel(block_parts)


@inner_kernel
def _put(row_start: Any, stack: Any, state: Any, source: Any) -> int:
    """Fill the empty stack with the records of a unit, and what belongs to them.

    Returns where the pattern of the layers before begins, in bytes; -1 if the stack is too small.
    """
    words, reals, b = source.piece.words, source.piece.reals, source.at
    records, corners, tags, wide = stack.records, stack.corners, stack.tags, stack.corners.shape[1]
    top = source.last - source.first
    sizes = BlockSizes(
        words[b], words[b + 1], words[b + 2], words[b + 3],
        words[b + 4], words[b + 5], words[b + 6],
    )  # fmt: skip
    parts = _parts(sizes, wide)
    low = b + parts.records + RECORD_SIZE * source.first
    high = low + RECORD_SIZE * (top - 1)
    layer = words[high + LAYER]
    width = row_start[layer + 1] - row_start[layer]
    corner, conflict = words[low + CORNER_AT], words[low + CONFLICT_AT]
    piece, facet = words[low + PIECES_AT], 0
    n_corners = words[high + CORNER_AT] + words[high + N_CORNERS] - corner
    n_conflicts = words[high + CONFLICT_AT] + words[high + N_CONFLICTS] - conflict
    n_pieces = words[high + PIECES_AT] + width - piece
    n_facets = n_table = 0
    if len(stack.table):
        facet = words[low + FACET_AT]
        n_facets = words[high + FACET_AT] + words[high + N_FACETS] - facet
        n_table = words[high + TABLE_END]
    if (
        n_corners > len(corners)
        or n_conflicts > len(stack.conflicts)
        or n_pieces > len(stack.patterns)
        or n_facets > len(stack.facets)
        or n_table > len(stack.table)
        or top + 2 > len(records)
    ):
        return -1
    for k in range(top):
        for c in range(RECORD_SIZE):
            records[k, c] = words[low + RECORD_SIZE * k + c]
        records[k, CORNER_AT] -= corner
        records[k, CONFLICT_AT] -= conflict
        records[k, PIECES_AT] -= piece
        if n_table:
            records[k, FACET_AT] -= facet
    at, tag = b + parts.corners + wide * corner, b + parts.tags + corner
    for i in range(n_corners):
        for c in range(wide):
            corners[i, c] = reals[at + wide * i + c]
        tags[i] = words[tag + i]
    at = b + parts.facets + facet
    for i in range(n_facets):
        stack.facets[i] = words[at + i]
    at, tag = b + parts.table, b + parts.table_labels
    for i in range(n_table):
        for c in range(wide):
            stack.table[i, c] = reals[at + wide * i + c]
        stack.table_labels[i] = words[tag + i]
    at = b + parts.conflicts + conflict
    for i in range(n_conflicts):
        stack.conflicts[i] = words[at + i]
    at = 8 * (b + parts.pieces) + piece
    for i in range(n_pieces):
        stack.patterns[i] = source.piece.bytes[at + i]
    for k in range(STATE_SIZE):
        if k not in (TESTS, SPLITS):
            state[k] = 0
    state[TOP] = top
    state[CORNERS] = n_corners
    state[CONFLICTS] = n_conflicts
    state[PATTERNS] = n_pieces
    state[FACETS] = n_facets
    return int(8 * (b + parts.pattern))


@inner_kernel
def _take(lines: Any, room: Any, options: Any, blocks: Any, begin: int) -> bool:
    """Write the cells of the stack to a block, and cut them into groups for new units.

    Returns whether there is room for it; ``room.result`` says how many bytes are needed.
    """
    stack, row_start, result = room.stack, lines.row_start, room.result
    records, corners, top = stack.records, stack.corners, room.state[TOP]
    result[GROUPS] = 0
    result[SIZE] = 0
    if top == 0:
        return True
    words, reals, wide = blocks.words, blocks.reals, corners.shape[1]
    last = records[top - 1]
    layer = last[LAYER]
    n_facets = n_table = 0
    if len(stack.table):
        n_facets, n_table = last[FACET_AT] + last[N_FACETS], last[TABLE_END]
    sizes = BlockSizes(
        top,
        last[CORNER_AT] + last[N_CORNERS],
        n_facets,
        last[CONFLICT_AT] + last[N_CONFLICTS],
        last[PIECES_AT] + row_start[layer + 1] - row_start[layer],
        n_table,
        row_start[layer] - row_start[1],
    )
    parts = _parts(sizes, wide)
    result[SIZE] = 8 * ((parts.end + 7) // 8 * 8)
    end = begin + parts.end
    if end + top > len(words):
        result[SIZE] += 8 * top
        return False
    b = begin
    for i in range(len(sizes)):
        words[b + i] = sizes[i]
    for i in range(len(sizes), HEAD):
        words[b + i] = 0
    at = b + parts.records
    for k in range(top):
        for c in range(RECORD_SIZE):
            words[at + c] = records[k, c]
        at += RECORD_SIZE
    at, tag = b + parts.corners, b + parts.tags
    for i in range(sizes.corners):
        for c in range(wide):
            reals[at + wide * i + c] = corners[i, c]
        words[tag + i] = stack.tags[i]
    at = b + parts.facets
    for i in range(n_facets):
        words[at + i] = stack.facets[i]
    at, tag = b + parts.table, b + parts.table_labels
    for i in range(n_table):
        for c in range(wide):
            reals[at + wide * i + c] = stack.table[i, c]
        words[tag + i] = stack.table_labels[i]
    at = b + parts.conflicts
    for i in range(sizes.conflicts):
        words[at + i] = stack.conflicts[i]
    at = 8 * (b + parts.pieces)
    for i in range(sizes.pieces):
        blocks.bytes[at + i] = stack.patterns[i]
    at = 8 * (b + parts.pattern)
    for i in range(sizes.pattern):
        blocks.bytes[at + i] = room.maps.pattern[i]
    weights, d = reals[end : end + top], lines.dimension
    for k in range(top):
        growth = options.growth[records[k, LAYER]]
        cells = guessed_cells(records[k, N_CONFLICTS], d, _INSIDE) * growth
        weights[k] = cells * records[k, N_CORNERS] / 2.0**d  # large cells have many corners
    cut_into_groups(weights, options.few, result)
    return True
