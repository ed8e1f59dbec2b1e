"""A unit of the half-spaces engine in one call of a kernel; see `_unit_kernels`.

Nodes that wait (frames) are kept as a *block* of memory, for all units that are left of one
together: a head with the numbers of frames, points and pieces, then the parts (see `block_parts`).
A unit is a number of frames that follow each other.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tropicell._runtime.jit import bit_count, kernel
from tropicell.engines._column_kernels import copy_points
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
from tropicell.engines.halfspaces._flat import (
    COST,
    COUNT,
    CUT,
    EMITTED,
    FRAME_CUT,
    FRAME_POINTS,
    FRAME_START,
    FRAME_STOP,
    LAYER,
    NEGATIVE,
    PHASE,
    POSITIVE,
    SIDE,
    SIDES,
    SIGNS,
    STALE,
    TOP_LAYER,
)
from tropicell.engines.halfspaces._kernel import BACK, DONE, activate, compose, run
from tropicell.engines.halfspaces._tree import ONE, ZERO, clear, has_bit, set_bit

#: Further steps and reasons to end: the rows of all layers are made, only frames are to be put
#: there; rows are to be made exactly (SIZE says of which layer); witnesses are to be improved.
FRAMES = 16
NEED_ROWS, NEED_WITNESSES = 104, 105

#: Place of a result: whether the unit has no further regions.
COMPLETE = LINES

#: Words of a block's head: frames, points, pieces, whether points have vertices; and its size.
HEAD_FRAMES, HEAD_POINTS, HEAD_PIECES, HEAD_VERTICES = range(4)
HEAD = 8

#: So many points of a waiting node are handed on with it; others are found anew.
_POINTS = 16

#: A cut for which no such points are known counts as so many that cross a frame; this is what fits
#: random networks.
_UNKNOWN = 0.75

#: A witness closer to a boundary than this (relative) is replaced by a better one.
MARGIN = 1e-11


class BlockParts(NamedTuple):
    """Where the parts of a block begin, in words, and where it ends."""

    layers: int  # of each frame
    cuts: int
    ends: int  # where the points of each frame end
    decided: int  # masks of cuts
    masks: int  # of each point
    basis: int
    vertex: int
    piece: int  # of each neuron of the layers before, in bytes
    end: int


def block_parts(
    frames: int, points: int, pieces: int, vertices: bool, words: int, d: int
) -> BlockParts:
    """The parts of a block with so many frames, points and pieces, and `words` in a mask."""
    cuts = HEAD + frames
    ends = cuts + frames
    decided = ends + frames
    masks = decided + SIDES * words * frames
    basis = masks + SIGNS * words * points
    vertex = basis + d * points
    piece = vertex + (d * (d + 1) * points if vertices else 0)
    end = piece + (pieces + 7) // 8
    return BlockParts(HEAD, cuts, ends, decided, masks, basis, vertex, piece, end)


_parts = kernel(block_parts)


class UnitOrder(NamedTuple):
    """What is to be done with a unit.

    Attributes
    ----------
    mode : int
        Steps: `PUT`, `FRAMES`, `RUN`, `COLUMNS`, `STACK`.
    limit, visits : int
        The search ends at this cost, and pauses after so many nodes.
    unsure : int
        A layer whose rows were made exactly, or -1.
    source, source_at : Piece, int
        The block with the unit's frames, and where it begins, in words.
    first, last : int
        Its frames are first … last - 1.
    """

    mode: int
    limit: int
    visits: int
    unsure: int
    source: Any
    source_at: int
    first: int
    last: int


class UnitPlaces(NamedTuple):
    """Where what is found goes: waiting frames (place in words), columns of regions (in bytes)."""

    blocks: Any
    block_at: int
    columns: Any
    column_at: int


@kernel(sums="in any order", inner=True)
def _parts_of(words, begin, tree):
    """The parts of a block that is there."""
    return _parts(
        words[begin + HEAD_FRAMES],
        words[begin + HEAD_POINTS],
        words[begin + HEAD_PIECES],
        words[begin + HEAD_VERTICES] != 0,
        tree.all_bits.shape[1],
        tree.basis.shape[2],
    )


@kernel(sums="in any order", inner=True)
def _count_points(tree, top, layer):
    """Frames of a search, and points that go with them."""
    frames, points = 0, 0
    for k in range(top, layer + 1):
        for f in range(tree.n_frames[k]):
            cut, found = tree.frames[k, f, FRAME_CUT], 0
            for q in range(tree.frames[k, f, FRAME_START], tree.frames[k, f, FRAME_STOP]):
                if not has_bit(tree.masks[k, tree.members[k, q], POSITIVE], cut):
                    found += 1
                    if found == _POINTS:
                        break
            points += found
            frames += 1
    return frames, points


@kernel(sums="in any order", inner=True)
def _crossed(tree, layer, frame, naturals, masks, first, last):
    """How many cuts probably cross a frame, whose points first … last - 1 are in a block.

    Those that have points on both sides do; others that are not decided often do not.
    """
    n_words, cut = tree.all_bits.shape[1], tree.frames[layer, frame, FRAME_CUT]
    decided = tree.frame_decided[layer, frame]
    crossed = 0.0
    for w in range(n_words):
        free = tree.all_bits[layer, w] & ~(decided[POSITIVE, w] | decided[NEGATIVE, w])
        if cut >> 6 == w:
            free &= ~(ONE << np.uint64(cut & 63))
        positive, negative, on = ZERO, ZERO, ZERO
        for p in range(first, last):
            at = masks + SIGNS * n_words * p + w
            positive |= naturals[at]
            negative |= naturals[at + n_words]
            on |= naturals[at + 2 * n_words]
        known = bit_count(free & (on | (positive & negative)))
        crossed += known + _UNKNOWN * (bit_count(free) - known)
    return crossed


@kernel(sums="in any order", inner=True)
def _take(flat, work, options, places):
    """Write all frames to a block, the bottom one first, and cut them into groups for new units.

    Each has at most `_POINTS` fitting points. Returns whether there is room for it; work.result
    says how many bytes are needed.
    """
    tree, state, result, store = work.tree, work.state, work.result, options.store
    top, layer = state[TOP_LAYER], state[LAYER]
    n_words, d = tree.all_bits.shape[1], tree.basis.shape[2]
    result[GROUPS] = 0
    result[SIZE] = 0
    frames, n_points = _count_points(tree, top, layer)
    if frames == 0:
        return True
    pieces = flat.first_neuron[layer]
    parts = _parts(frames, n_points, pieces, store, n_words, d)
    result[SIZE] = 8 * ((parts.end + 7) // 8 * 8)
    blocks, b = places.blocks, places.block_at
    words, naturals, reals = blocks.words, blocks.naturals, blocks.reals
    if b + parts.end + frames > len(words):
        result[SIZE] += 8 * frames
        return False
    words[b + HEAD_FRAMES], words[b + HEAD_POINTS] = frames, n_points
    words[b + HEAD_PIECES], words[b + HEAD_VERTICES] = pieces, store
    layers, cuts, ends = b + parts.layers, b + parts.cuts, b + parts.ends
    decided, masks = b + parts.decided, b + parts.masks
    basis, vertex = b + parts.basis, b + parts.vertex
    weights = reals[b + parts.end : b + parts.end + frames]
    frame, point = 0, 0
    for k in range(top, layer + 1):
        for f in range(tree.n_frames[k]):
            cut = tree.frames[k, f, FRAME_CUT]
            words[layers + frame] = k
            words[cuts + frame] = cut
            for w in range(n_words):
                for side in range(SIDES):
                    bits = tree.frame_decided[k, f, side, w]
                    naturals[decided + (SIDES * frame + side) * n_words + w] = bits
            found = 0
            for q in range(tree.frames[k, f, FRAME_START], tree.frames[k, f, FRAME_STOP]):
                p = tree.members[k, q]
                if has_bit(tree.masks[k, p, POSITIVE], cut):
                    continue
                for side in range(SIGNS):
                    for w in range(n_words):
                        at = masks + (SIGNS * point + side) * n_words + w
                        naturals[at] = tree.masks[k, p, side, w]
                for c in range(d):
                    words[basis + d * point + c] = tree.basis[k, p, c]
                if store:
                    at = vertex + d * (d + 1) * point
                    for c in range(d + 1):
                        for j in range(d):
                            reals[at + d * c + j] = tree.vertex[k, p, c, j]
                point += 1
                found += 1
                if found == _POINTS:
                    break
            words[ends + frame] = point
            lines = _crossed(tree, k, f, naturals, masks, point - found, point)
            weights[frame] = guessed_cells(lines, d, 1.0) * options.growth[k]
            frame += 1
    at = 8 * (b + parts.piece)
    for i in range(pieces):
        blocks.bytes[at + i] = work.maps.piece[i]
    cut_into_groups(weights, options.few, result)
    return True


@kernel(sums="in any order", inner=True)
def _put(tree, store, order):
    """The unit's frames and their points, on layers that have none.

    Returns whether there is room for them.
    """
    n_words, d = tree.all_bits.shape[1], tree.basis.shape[2]
    source, b, first, last = order.source, order.source_at, order.first, order.last
    words, naturals, reals = source.words, source.naturals, source.reals
    parts = _parts_of(words, b, tree)
    layers, cuts, ends = b + parts.layers, b + parts.cuts, b + parts.ends
    decided, masks = b + parts.decided, b + parts.masks
    basis, vertex = b + parts.basis, b + parts.vertex
    point = words[ends + first - 1] if first else 0
    if words[ends + last - 1] - point > min(tree.masks.shape[1], tree.members.shape[1]):
        return False
    for frame in range(first, last):
        k = words[layers + frame]
        f = tree.n_frames[k]
        tree.frames[k, f, FRAME_CUT] = words[cuts + frame]
        tree.frames[k, f, FRAME_START] = tree.n_points[k]
        for w in range(n_words):
            for side in range(SIDES):
                bits = naturals[decided + (SIDES * frame + side) * n_words + w]
                tree.frame_decided[k, f, side, w] = bits
        while point < words[ends + frame]:
            p = tree.n_points[k]
            for side in range(SIGNS):
                for w in range(n_words):
                    bits = naturals[masks + (SIGNS * point + side) * n_words + w]
                    tree.masks[k, p, side, w] = bits
            for c in range(d):
                tree.basis[k, p, c] = words[basis + d * point + c]
            if store:
                at = vertex + d * (d + 1) * point
                for c in range(d + 1):
                    for j in range(d):
                        tree.vertex[k, p, c, j] = reals[at + d * c + j]
            tree.members[k, p] = p
            tree.n_points[k] = p + 1
            point += 1
        tree.frames[k, f, FRAME_STOP] = tree.n_points[k]
        tree.n_frames[k] = f + 1
    # Points that come later are looked through when a frame is left; those that were here are not.
    for frame in range(first, last):
        k = words[layers + frame]
        for f in range(tree.n_frames[k]):
            tree.frames[k, f, FRAME_POINTS] = tree.n_points[k]
    return True


@kernel(sums="in any order", inner=True)
def _go_down(flat, work, options, first, layer, composed):
    """Make the rows of the layers first … `layer` on the cell of the given pieces.

    Returns a layer whose constant cuts must be found exactly (call again with it, `composed`), or
    -1.
    """
    maps, table, tree = work.maps, work.table, work.tree
    d, base = flat.dimension, flat.cuts_at
    for k in range(first, layer + 1):
        begin, end = flat.first_cut[k], flat.first_cut[k + 1]
        if not (k == first and composed):
            unsure = compose(flat, maps, k, options.snap)
            if unsure >= 0 and options.exact:
                return k
        for i in range(base + begin):
            if k > 0:
                table.sign[k, i] = table.sign[k - 1, i]
            else:
                table.sign[k, i] = 1.0 if i >= d else 0.0
        table.drift[k] = STALE
        tree.n_points[k] = 0
        tree.n_frames[k] = 0
        for slot in range(SIDES * (end - begin)):
            tree.n_farkas[k, slot] = 0
        if k == layer:
            break
        clear(tree.decided[k])
        for cut in range(begin, end):
            neuron = flat.cut_neuron[cut]
            above = maps.piece[neuron] > cut - flat.neuron_cut[neuron]
            set_bit(tree.decided[k, POSITIVE if above else NEGATIVE], cut - begin)
            sign = 1.0 if above else -1.0
            table.sign[k, base + cut] = 0.0 if maps.constant[base + cut] else sign
        activate(flat, maps, tree.decided[k], k)
    return -1


@kernel(sums="in any order", inner=True)
def _restore(flat, work, options, order):
    """Make the rows of all layers down to that of the last frame, on the cell of the unit.

    They are those that the search had there before, bit for bit. Returns a layer whose rows must be
    made exactly, or -1.
    """
    state, words, b, unsure = work.state, order.source.words, order.source_at, order.unsure
    parts = _parts_of(words, b, work.tree)
    layer, top = words[b + parts.layers + order.last - 1], words[b + parts.layers + order.first]
    if unsure < 0:
        state[COST] = state[COUNT] = state[EMITTED] = state[CUT] = state[SIDE] = 0
        for k in range(len(work.maps.formal_ready)):
            work.maps.formal_ready[k] = False
        at = 8 * (b + parts.piece)
        for i in range(flat.first_neuron[layer]):
            work.maps.piece[i] = order.source.bytes[at + i]
    state[LAYER] = layer
    state[TOP_LAYER] = top
    state[PHASE] = BACK
    return _go_down(flat, work, options, max(unsure, 0), layer, unsure >= 0)


@kernel(sums="in any order")
def run_unit(flat, work, options, order, places):
    """All that is to be done with a unit, or those steps of it that the order says.

    Parameters are a `HalfspaceNetwork`, `Work`, `HalfspaceOptions`, `UnitOrder` and `UnitPlaces`.
    Returns why it ends; ENDED if all is done.
    """
    state, result, out, mode = work.state, work.result, work.out, order.mode
    if mode & PUT:
        layer = _restore(flat, work, options, order)
        if layer >= 0:
            result[SIZE] = layer
            return NEED_ROWS
    if mode & (PUT | FRAMES) and not _put(work.tree, options.store, order):
        return TOO_SMALL
    if mode & RUN:
        why = run(flat, work, options, order.limit, order.visits)
        result[COMPLETE] = why == DONE
        if not (why == DONE or (state[COST] >= order.limit and state[PHASE] == BACK)):
            return why
    if mode & COLUMNS and options.store:
        n = state[EMITTED]
        for k in range(n):
            if out.margins[k] < MARGIN:
                return NEED_WITNESSES
        if n and not copy_points(
            out.patterns, out.eights, out.witnesses, n, len(flat.bias), options.bits,
            places.columns, places.column_at,
        ):  # fmt: skip
            return COLUMNS_FULL
    result[GROUPS] = 0
    result[SIZE] = 0
    if mode & STACK and not result[COMPLETE] and not _take(flat, work, options, places):
        return BLOCK_FULL
    return ENDED
