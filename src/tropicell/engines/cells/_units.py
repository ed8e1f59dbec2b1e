"""A unit of the cells engine in one call of a kernel; see `tropicell.engines._unit_kernels`.

Cells that wait are plain arrays, `CellNodes`, which all units share that are left of one: each has
a number of records that follow each other.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.jit import (
    kernel,
    template,
)
from tropicell.engines._unit_kernels import ENDED, TOO_SMALL, cut_into_groups, guessed_cells
from tropicell.engines.cells import _cone as cone
from tropicell.engines.cells import _plane as plane
from tropicell.engines.cells._search import search_cones, search_focused, search_polygons
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
    LEFT_OUT,
    N_CONFLICTS,
    N_CORNERS,
    N_FACETS,
    OUT,
    OUT_CORNERS,
    OUT_FACETS,
    OUT_POINTS,
    PATTERNS,
    PIECES_AT,
    RAY_END,
    SPLITS,
    STATE_SIZE,
    TABLE_END,
    TESTS,
    TOP,
    UNSURE,
    CellRoom,
    ConeStack,
)
from tropicell.engines.cells._where import Where, forget

#: See `guessed_cells`; this is what fits random networks.
_INSIDE = 0.5


class CellOptions(NamedTuple):
    """Fixed choices of one run.

    Attributes
    ----------
    exact, tolerance
        Whether signs are proved; what float arithmetic takes for zero.
    store, bits, volumes
        Whether regions are stored, with how many bits a neuron, and with volumes.
    few, at_once, growth
        See `tropicell.engines.tuning.Tuning` and `tropicell.engines.units.growth_of`.
    where
        The set that regions have to meet, if any.
    """

    exact: bool
    tolerance: float
    store: bool
    bits: int
    volumes: bool
    few: float
    at_once: float
    growth: NDArray[np.float64]
    where: Where


class CellNodes(NamedTuple):
    """Cells that wait: the used parts of the first eight arrays of a stack, rays, and the pattern.

    See `tropicell.engines.cells._state.PlaneStack`, and `ConeStack` for `rays` and `bases`, which
    are empty in the plane; `pattern` has the pieces of all layers before that of the last cell, and
    may be longer.
    """

    records: NDArray[np.int64]
    corners: NDArray[Any]
    tags: NDArray[Any]
    conflicts: NDArray[np.int64]
    patterns: NDArray[np.uint8]
    facets: NDArray[np.int64]
    table: NDArray[np.float64]
    table_labels: NDArray[np.int64]
    rays: NDArray[np.float64]
    bases: NDArray[np.int64]
    pattern: NDArray[np.uint8]

    @classmethod
    def of(cls, room: CellRoom, top: int) -> CellNodes:
        """The first cells of a worker's stack; all are copied."""
        stack, pieces = room.stack, room.stack.patterns[: int(room.state[PATTERNS])]
        is_cone = isinstance(stack, ConeStack)
        pool = (stack.rays, stack.bases) if is_cone else (stack.table, stack.records[:0])
        pattern = stack.rows.pattern if is_cone else room.maps.pattern
        used = (stack.records[:top], *stack[1:4], pieces, *stack[5:8], *pool, pattern)
        return cls._make(used).part(0, top)

    def part(self, first: int, last: int) -> CellNodes:
        """Cells first … last - 1, copied; places in the records count from 0."""
        records = self.records[first:last].copy()
        begin, end = records[0].tolist(), records[-1].tolist()
        corners = slice(begin[CORNER_AT], end[CORNER_AT] + end[N_CORNERS])
        conflicts = slice(begin[CONFLICT_AT], end[CONFLICT_AT] + end[N_CONFLICTS])
        facets = slice(begin[FACET_AT], end[FACET_AT] + end[N_FACETS])
        pieces = self.records[last:, PIECES_AT][:1].tolist()  # where those of the next one begin
        if first:
            for place in (CORNER_AT, CONFLICT_AT, PIECES_AT, FACET_AT):
                records[:, place] -= begin[place]
        return CellNodes(
            records,
            self.corners[corners].copy(),
            self.tags[corners].copy(),
            self.conflicts[conflicts].copy(),
            self.patterns[begin[PIECES_AT] : pieces[0] if pieces else None].copy(),
            self.facets[facets].copy(),
            self.table[: end[TABLE_END]].copy(),
            self.table_labels[: end[TABLE_END]].copy(),
            self.rays[: end[RAY_END]].copy(),
            self.bases[: end[RAY_END]].copy(),
            self.pattern.copy(),
        )


# --- a unit ---------------------------------------------------------------------------------------


@kernel
def plane_unit(
    flat: Any,
    room: Any,
    seeds: Any,
    options: Any,
    nodes: Any,
    most_regions: int,
    most_steps: int,
) -> int:
    """All that is to be done with a unit in the plane.

    Parameters
    ----------
    flat : FlatNetwork
    room : CellRoom
    seeds : Seeds
        Cells to begin with when the stack is empty.
    options : CellOptions
    nodes : Nodes
        Cells to begin with; if there are none, what is on the stack.
    most_regions, most_steps : int
        When to stop.

    Returns
    -------
    int
        Why it ends (see `_unit_kernels` and `_state`); `ENDED` if all is done, and what is left is
        cut into groups.
    """
    return _unit(
        search_polygons,
        _put_polygons,
        plane.enter_all,
        _nothing,
        flat,
        room,
        seeds,
        options,
        nodes,
        most_regions,
        most_steps,
    )


@kernel
def focus_unit(
    flat: Any,
    room: Any,
    seeds: Any,
    options: Any,
    nodes: Any,
    most_regions: int,
    most_steps: int,
) -> int:
    """The same with a focus, if there is one: see `tropicell.engines.cells._focus`."""
    return _unit(
        search_focused,
        _put_polygons,
        plane.enter_all_focused,
        _nothing,
        flat,
        room,
        seeds,
        options,
        nodes,
        most_regions,
        most_steps,
    )


@kernel
def cone_unit(
    flat: Any,
    room: Any,
    seeds: Any,
    options: Any,
    nodes: Any,
    most_regions: int,
    most_steps: int,
) -> int:
    """The same for other dimensions than two."""
    return _unit(
        search_cones,
        _put_cones,
        cone.enter_all,
        cone.resume,
        flat,
        room,
        seeds,
        options,
        nodes,
        most_regions,
        most_steps,
    )


@template
def _unit(
    search: Any,
    put_corners: Any,
    enter_all: Any,
    prepare: Any,
    flat: Any,
    room: Any,
    seeds: Any,
    options: Any,
    nodes: Any,
    most_regions: int,
    most_steps: int,
) -> int:
    """All that is to be done with a unit; `search` is the kernel that cuts cells.

    `put_corners` puts corners on the stack, `enter_all` makes the maps of the layers, `prepare`
    what the search wants to know of corners.
    """
    lines, stack, state = flat.lines, room.stack, room.state
    if nodes.last > nodes.first:
        if not (
            _put(lines.row_start, stack, state, nodes.arrays, nodes.first, nodes.last)
            and put_corners(stack, state, nodes.arrays, nodes.first, nodes.last)
        ):
            return TOO_SMALL
        layer = stack.records[state[TOP] - 1, LAYER]
        enter_all(flat, room.maps, stack, nodes.arrays.pattern, layer, options.exact)
        prepare(flat, room.maps, stack, state, options)
        if options.where.on:  # what is known is that of other cells
            for one in range(lines.depth + 2):
                forget(room.where, one)
    code = search(flat, room, seeds, options, most_regions, most_steps)
    if state[UNSURE] or not (code == DONE or state[COUNT] >= most_regions):
        return int(code)
    _group_cells(lines, room, options)
    return ENDED


@kernel(inner=True)
def _put(row_start: Any, stack: Any, state: Any, nodes: Any, first: int, last: int) -> bool:
    """Fill the stack with cells first … last - 1, and with nothing else; False if it is too small.

    Counters of costs stay, and regions that were found.
    """
    records, top = stack.records, last - first
    low, high = nodes.records[first], nodes.records[last - 1]
    width = row_start[high[LAYER] + 1] - row_start[high[LAYER]]
    n_corners = high[CORNER_AT] + high[N_CORNERS] - low[CORNER_AT]
    n_conflicts = high[CONFLICT_AT] + high[N_CONFLICTS] - low[CONFLICT_AT]
    n_pieces = high[PIECES_AT] + width - low[PIECES_AT]
    n_facets = n_table = 0
    if len(stack.table):
        n_facets = high[FACET_AT] + high[N_FACETS] - low[FACET_AT]
        n_table = high[TABLE_END]
    if (
        n_corners > len(stack.corners)
        or n_conflicts > len(stack.conflicts)
        or n_pieces > len(stack.patterns)
        or n_facets > len(stack.facets)
        or n_table > len(stack.table)
        or top + 2 > len(records)
    ):
        return False
    _copy_rows(records, nodes.records, first, top)
    for k in range(top):
        records[k, CORNER_AT] -= low[CORNER_AT]
        records[k, CONFLICT_AT] -= low[CONFLICT_AT]
        records[k, PIECES_AT] -= low[PIECES_AT]
        records[k, FACET_AT] -= low[FACET_AT]
    _copy(stack.tags, nodes.tags, low[CORNER_AT], n_corners)
    _copy(stack.conflicts, nodes.conflicts, low[CONFLICT_AT], n_conflicts)
    _copy(stack.patterns, nodes.patterns, low[PIECES_AT], n_pieces)
    _copy(stack.facets, nodes.facets, low[FACET_AT], n_facets)
    _copy_rows(stack.table, nodes.table, 0, n_table)
    _copy(stack.table_labels, nodes.table_labels, 0, n_table)
    for k in range(STATE_SIZE):
        if k not in (TESTS, SPLITS, OUT, OUT_CORNERS, OUT_FACETS, OUT_POINTS, LEFT_OUT):
            state[k] = 0
    state[TOP] = top
    state[CORNERS] = n_corners
    state[CONFLICTS] = n_conflicts
    state[PATTERNS] = n_pieces
    state[FACETS] = n_facets
    return True


@kernel(inner=True)
def _put_cones(stack: Any, state: Any, nodes: Any, first: int, last: int) -> bool:
    """Put the rays of cells first … last - 1 on the stack, and into the pool if there is room.

    Those before the first ray that they need are left out.
    """
    records, corners = stack.records, stack.corners
    _copy(corners, nodes.corners, nodes.records[first, CORNER_AT], state[CORNERS])
    begin, end, most = nodes.records[last - 1, RAY_END], nodes.records[last - 1, RAY_END], 0
    for i in range(state[CORNERS]):
        begin = min(begin, corners[i])
    for k in range(last - first):
        most = max(most, records[k, N_CORNERS])
    # Behind them a cell needs room when it enters a layer.
    if end - begin + 2 * most > len(stack.rays):
        return False
    for i in range(state[CORNERS]):
        corners[i] -= begin
    for k in range(last - first):
        records[k, RAY_END] = max(records[k, RAY_END] - begin, 0)
    _copy_rows(stack.rays, nodes.rays, begin, end - begin)
    _copy_rows(stack.bases, nodes.bases, begin, end - begin)
    return True


@kernel(inner=True)
def _put_polygons(stack: Any, state: Any, nodes: Any, first: int, last: int) -> bool:
    """Put the corners of cells first … last - 1 on the stack, where there is room."""
    _copy_rows(stack.corners, nodes.corners, nodes.records[first, CORNER_AT], state[CORNERS])
    return True


@template
def _nothing(flat: Any, current: Any, stack: Any, state: Any, options: Any) -> None:
    """Polygons need nothing else."""


@kernel(inner=True)
def _copy(to: Any, numbers: Any, first: int, n: int) -> None:
    """Copy n numbers, from the first one on."""
    for i in range(n):
        to[i] = numbers[first + i]


@kernel(inner=True)
def _copy_rows(to: Any, rows: Any, first: int, n: int) -> None:
    """Copy n rows, from the first one on."""
    for i in range(n):
        for c in range(rows.shape[1]):
            to[i, c] = rows[first + i, c]


@kernel(inner=True)
def _group_cells(lines: Any, room: Any, options: Any) -> None:
    """Cut what is on the stack into groups for new units; see `cut_into_groups`."""
    records, top, d = room.stack.records, room.state[TOP], lines.dimension
    weights = room.stack.values[:top]  # there are as many as corners, which every cell has
    for k in range(top):
        growth = options.growth[records[k, LAYER]]
        cells = guessed_cells(records[k, N_CONFLICTS], d, _INSIDE) * growth
        weights[k] = cells * records[k, N_CORNERS] / 2.0**d  # large cells have many corners
    cut_into_groups(weights, options.few, room.result)
