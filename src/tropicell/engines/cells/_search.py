"""The search of the cells engine: one driver, which cuts polygons or cones.

A cell is cut by the boundaries of a layer that cross it, one after the other, until none is left;
then it enters the next layer. Cells that wait lie on a stack (`_state`), the next one on top.
What is done in another way in the plane than elsewhere are the kernels of a `CellShape`; the driver
is compiled once for each.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tropicell._runtime.jit import (
    kernel,
    template,
)
from tropicell.engines._unit_kernels import pack_pattern
from tropicell.engines.cells import _cone as cone
from tropicell.engines.cells import _cone_regions as at_once
from tropicell.engines.cells import _narrow as narrowing
from tropicell.engines.cells import _plane as plane
from tropicell.engines.cells import _where as sets
from tropicell.engines.cells._state import (
    BATCH_FULL,
    CONFLICT_AT,
    CONFLICTS,
    CORNER_AT,
    CORNERS,
    COUNT,
    DONE,
    FACET_AT,
    FACETS,
    GROW,
    IN_DOUBT,
    LAYER,
    LEFT_OUT,
    MOST_CONFLICTS,
    MOST_PIECES,
    N_CONFLICTS,
    N_CORNERS,
    OUT,
    OUT_CORNERS,
    OUT_FACETS,
    OUT_POINTS,
    PATTERNS,
    PIECES_AT,
    SEED,
    STEPS,
    TOP,
    UNSURE,
    UNSURE_CONFLICTS,
    UNSURE_CORNERS,
    UNSURE_FULL,
)


class CellShape(NamedTuple):
    """The kernels that depend on how a cell is kept.

    Attributes
    ----------
    seed_fits, plant
        Whether there is room for a seed; put it on the empty stack.
    enter_all, enter, start_layer
        Make the maps of the first layers; make those of the next one; let the top cell enter a
        layer: find the boundaries that cross it.
    widen
        Return to the neurons that can change on the top cell, after others.
    split, cut_steps, is_halted
        Cut the top cell by the last boundary of its conflict list; as how many steps more that of a
        cell of so many corners counts; whether another thread wants the kernel to come back.
    n_facets, facet_label
        How many facets a cell has, and the label of one.
    emit, sharpen
        Store the geometry of a finished cell; work it out with more digits.
    points
        Take down the corners of a cell, for the wanted set.
    """

    seed_fits: Any
    plant: Any
    enter_all: Any
    enter: Any
    start_layer: Any
    widen: Any
    split: Any
    cut_steps: Any
    is_halted: Any
    n_facets: Any
    facet_label: Any
    emit: Any
    sharpen: Any
    points: Any


@template
def _as_before(levels: Any, state: Any) -> None:
    """All neurons are looked at."""


POLYGONS = CellShape(
    seed_fits=plane.seed_fits,
    plant=plane.plant,
    enter_all=plane.enter_all,
    enter=plane.enter,
    start_layer=plane.start_layer,
    widen=_as_before,
    split=plane.split,
    cut_steps=plane.cut_steps,
    is_halted=plane.is_halted,
    n_facets=plane.n_facets,
    facet_label=plane.facet_label,
    emit=plane.emit,
    sharpen=plane.sharpen,
    points=sets.polygon_points,
)

#: Polygons of large networks, with a focus where there is one.
FOCUSED = POLYGONS._replace(
    enter_all=plane.enter_all_focused,
    enter=plane.enter_focused,
    widen=narrowing.widen,
    split=narrowing.split,
)


CONES = CellShape(
    seed_fits=cone.seed_fits,
    plant=cone.plant,
    enter_all=cone.enter_all,
    enter=cone.enter,
    start_layer=cone.start_layer,
    widen=_as_before,
    split=cone.split,
    cut_steps=cone.cut_steps,
    is_halted=cone.is_halted,
    n_facets=cone.n_facets,
    facet_label=cone.facet_label,
    emit=cone.emit,
    sharpen=cone.sharpen,
    points=sets.cone_points,
)


@kernel(inner=True)
def search_polygons(
    flat: Any, room: Any, seeds: Any, options: Any, most_regions: int, most_steps: int
) -> int:
    """The search in the plane.

    Parameters
    ----------
    flat : FlatNetwork
    room : CellRoom
    seeds : Seeds
        Cells to begin with when the stack is empty.
    options : CellOptions
    most_regions, most_steps : int
        Stop when so many regions are found, or after so many steps.

    Returns
    -------
    int
        Why it stopped: `DONE`, `BATCH_FULL`, `UNSURE_FULL` or `GROW`.
    """
    known = room.maps.before, room.maps.pattern, room.state
    return _search(POLYGONS, flat, room, known, seeds, options, most_regions, most_steps)


@kernel(inner=True)
def search_focused(
    flat: Any, room: Any, seeds: Any, options: Any, most_regions: int, most_steps: int
) -> int:
    """The search in the plane, with a focus; see `search_polygons`."""
    known = room.maps.before, room.maps.pattern, room.stack.focus
    return _search(FOCUSED, flat, room, known, seeds, options, most_regions, most_steps)


@kernel(inner=True)
def search_cones(
    flat: Any, room: Any, seeds: Any, options: Any, most_regions: int, most_steps: int
) -> int:
    """The search in any dimension; see `search_polygons`."""
    known = room.stack.rows.before, room.stack.rows.pattern, room.state
    return _search(CONES, flat, room, known, seeds, options, most_regions, most_steps)


@template
def _search(
    shape: Any,
    flat: Any,
    room: Any,
    known: Any,
    seeds: Any,
    options: Any,
    most_regions: int,
    most_steps: int,
) -> int:
    """Cut cells until all is done, a buffer is full, or a budget is spent.

    `known`: where the maps of the layers up to that of the top cell are, the pieces of those before
    it, and the levels of the focus, where there is one.
    """
    lines, state = flat.lines, room.state
    before, pattern, levels = known
    current, stack, out = room.maps, room.stack, room.out
    records, exact = stack.records, options.exact
    depth, neurons = lines.depth, lines.row_start[lines.depth + 1] - lines.row_start[1]
    steps = 0
    while True:
        if steps >= most_steps or state[COUNT] >= most_regions:
            state[STEPS] += steps
            return BATCH_FULL
        steps += 1
        shape.widen(levels, state)
        top = state[TOP]
        if top == 0:
            k = state[SEED]
            if k >= len(seeds.layers):
                return DONE
            if not shape.seed_fits(stack, seeds, k):
                return GROW
            target = seeds.layers[k]
            shape.enter_all(flat, current, stack, seeds.patterns[k * neurons :], target, exact)
            shape.plant(flat, current, stack, seeds, options, state)
        else:
            record = records[top - 1]
            if record[IN_DOUBT]:
                if not _hand_out(shape, lines.row_start, room, pattern, record):
                    return UNSURE_FULL
                _pop(state, record)
                continue
            layer, n, count = record[LAYER], record[N_CORNERS], record[N_CONFLICTS]
            if layer == depth and count <= 1 and not options.store:
                state[COUNT] += 1 + count
                _pop(state, record)
                continue
            if options.where.on and _is_beyond(shape, flat, room, record, options):
                state[LEFT_OUT] += 1
                _pop(state, record)
                continue
            if count > 0:
                # In the plane, cells are cut one by one.
                if layer == depth and options.store and lines.dimension != 2:
                    found = at_once.store_regions(flat, room, pattern, record, options)
                    if found == at_once.NO_PLACE:
                        return BATCH_FULL
                    if found == at_once.STORED:
                        steps += cone.cut_steps(n) * count
                        _pop(state, record)
                        continue
                if (
                    top + 1 >= len(records)
                    or state[CONFLICTS] + 2 * stack.margin[MOST_CONFLICTS] > len(stack.conflicts)
                    or state[PATTERNS] + 2 * stack.margin[MOST_PIECES] > len(stack.patterns)
                    or not shape.split(flat, current, stack, options, state)
                ):
                    return BATCH_FULL if shape.is_halted(stack) else GROW
                steps += shape.cut_steps(n)
                continue
            if layer == depth:
                if (
                    state[OUT] >= len(out.words)
                    or state[OUT_CORNERS] + n > len(out.places)
                    or state[OUT_POINTS] + n > len(out.vertices)
                    or state[OUT_FACETS] + shape.n_facets(record) > len(out.lines)
                ):
                    return BATCH_FULL
                if n > len(stack.old_corners):
                    return GROW
                if options.where.on:
                    found = _verdict(shape, flat, room, before, pattern, record, options)
                    if found == sets.OUTSIDE:
                        state[LEFT_OUT] += 1
                        _pop(state, record)
                        continue
                    if found == sets.UNKNOWN:
                        record[IN_DOUBT] = 1
                        continue
                if _store(shape, flat, room, pattern, record, options):
                    state[COUNT] += 1
                    _pop(state, record)
                else:
                    record[IN_DOUBT] = 1
                continue
            shape.enter(flat, current, layer, stack, record[PIECES_AT], exact)
            target = layer + 1
        if options.where.on:
            record = records[state[TOP] - 1]
            if (top == 0 or not sets.was_same(room.where, target)) and _is_outside(
                shape, flat, room, before, pattern, record, target, options
            ):
                state[LEFT_OUT] += 1
                _pop(state, record)
                continue
        shape.start_layer(flat, current, target, stack, options, state)


@template
def _is_beyond(shape: Any, flat: Any, room: Any, record: Any, options: Any) -> bool:
    """Whether the wanted set surely does not meet the top cell, by what is known around it."""
    n, d = record[N_CORNERS], flat.lines.dimension
    if not shape.points(room.stack, record[CORNER_AT], n, d, room.where):
        return False
    return not sets.can_still_meet(options.where, room.where, record[LAYER], n)


@template
def _is_outside(
    shape: Any,
    flat: Any,
    room: Any,
    before: Any,
    pattern: Any,
    record: Any,
    layer: int,
    options: Any,
) -> bool:
    """Whether the wanted set surely does not meet the top cell, which enters a layer."""
    n, d = record[N_CORNERS], flat.lines.dimension
    if not shape.points(room.stack, record[CORNER_AT], n, d, room.where):
        sets.forget(room.where, layer)
        return False
    return not sets.can_meet(flat, options.where, room.where, before, pattern, layer, n)


@template
def _verdict(
    shape: Any, flat: Any, room: Any, before: Any, pattern: Any, record: Any, options: Any
) -> int:
    """What is known of the wanted set and the top cell, which is finished."""
    n, d, own = record[N_CORNERS], flat.lines.dimension, room.stack.patterns
    if not shape.points(room.stack, record[CORNER_AT], n, d, room.where):
        return sets.UNKNOWN
    at = record[PIECES_AT]
    return sets.meets(flat, options.where, room.where, before, pattern, own, at, n)


@template
def _store(shape: Any, flat: Any, room: Any, pattern: Any, record: Any, options: Any) -> bool:
    """Store the top cell as a region; False if its geometry needs exact arithmetic."""
    lines, stack, out, state = flat.lines, room.stack, room.out, room.state
    if not shape.emit(lines, stack, record, out, options, state, False) and not (
        shape.sharpen(flat, room.maps, stack, record)
        and shape.emit(lines, stack, record, out, options, state, True)
    ):
        return False
    k = state[OUT]
    _copy_pattern(lines.row_start, stack.patterns, record, pattern, out.pattern)
    neurons = lines.row_start[lines.depth + 1] - lines.row_start[1]
    pack_pattern(out.pattern, neurons, options.bits, out.words[k])
    out.vertex_counts[k] = record[N_CORNERS]
    state[OUT] += 1
    state[OUT_CORNERS] += out.vertex_counts[k]
    state[OUT_FACETS] += out.facet_counts[k]
    return True


@template
def _hand_out(shape: Any, row_start: Any, room: Any, pattern: Any, record: Any) -> bool:
    """Put the top cell on the list of those that need exact arithmetic; False if that is full."""
    stack, unsure, state = room.stack, room.unsure, room.state
    k, c, f = state[UNSURE], state[UNSURE_CORNERS], state[UNSURE_CONFLICTS]
    n, count = shape.n_facets(record), record[N_CONFLICTS]
    if k >= len(unsure.layers) or c + n > len(unsure.labels) or f + count > len(unsure.conflicts):
        return False
    _copy_pattern(row_start, stack.patterns, record, pattern, unsure.patterns[k])
    for i in range(n):
        unsure.labels[c + i] = shape.facet_label(stack, record, i)
    for i in range(count):
        unsure.conflicts[f + i] = stack.conflicts[record[CONFLICT_AT] + i]
    unsure.layers[k] = record[LAYER]
    unsure.facet_ends[k] = c + n
    unsure.conflict_ends[k] = f + count
    state[UNSURE] += 1
    state[UNSURE_CORNERS] += n
    state[UNSURE_CONFLICTS] += count
    return True


@template
def _copy_pattern(row_start: Any, patterns: Any, record: Any, pattern: Any, to: Any) -> None:
    """Write the pieces of all layers up to the cell's own: `pattern`, then those in `patterns`."""
    layer = record[LAYER]
    prefix = row_start[layer] - row_start[1]
    # Places from 0 on, which can't be negative: so these loops become vector code.
    own, rest = patterns[record[PIECES_AT] :], to[prefix:]
    for j in range(prefix):
        to[j] = pattern[j]
    for j in range(row_start[layer + 1] - row_start[layer]):
        rest[j] = own[j]


@kernel(inner=True)
def _pop(state: Any, record: Any) -> None:
    """Take the top cell off the stack."""
    state[TOP] -= 1
    state[CORNERS] = record[CORNER_AT]
    state[CONFLICTS] = record[CONFLICT_AT]
    state[PATTERNS] = record[PIECES_AT]
    state[FACETS] = record[FACET_AT]
