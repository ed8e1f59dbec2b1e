"""A unit of the half-spaces engine in one call of a kernel; see `_unit_kernels`.

Nodes that wait (frames) are kept as a *block* of memory, for all units that are left of one
together: a head with the numbers of frames, points and pieces, then the parts (see `block_parts`).
A unit is a number of frames that follow each other.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from tropicell._runtime.jit import bit_count, inner_function, kernel, kernel_function
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
from tropicell.engines.halfspaces._kernel import (
    BACK,
    COST,
    COUNT,
    CUT,
    DONE,
    EMITTED,
    LAYER,
    PHASE,
    SIDE,
    TOP_LAYER,
    run,
)
from tropicell.engines.halfspaces._layers import activate, compose
from tropicell.engines.halfspaces._tree import ONE, ZERO, clear, has_bit, set_bit

#: Further steps and reasons to end: the rows of all layers are made, only frames are to be put
#: there; rows are to be made exactly (SIZE says of which layer); witnesses are to be improved.
FRAMES = 16
NEED_ROWS, NEED_WITNESSES = 104, 105

#: Place of a result: whether the unit has no further regions.
COMPLETE = LINES

#: Words of a block's head: frames, points, pieces, whether points have vertices.
HEAD = 8

#: So many points of a waiting node are handed on with it; others are found anew.
_POINTS = 16

#: A cut for which no such points are known counts as so many that cross a frame; this is what fits
#: random networks.
_UNKNOWN = 0.75

#: A witness closer to a boundary than this (relative) is replaced by a better one.
MARGIN = 1e-11


def block_parts(
    frames: int, points: int, pieces: int, vertices: bool, words: int, d: int
) -> tuple[int, int, int, int, int, int, int, int, int]:
    """Where the parts of a block begin, in words, and where it ends.

    Layers, cuts, ends of the points of each frame, decided cuts, masks, bases, vertices, pieces
    (bytes).
    """
    cuts = HEAD + frames
    ends = cuts + frames
    decided = ends + frames
    masks = decided + 2 * words * frames
    basis = masks + 3 * words * points
    vertex = basis + d * points
    piece = vertex + (d * (d + 1) * points if vertices else 0)
    end = piece + (pieces + 7) // 8
    return HEAD, cuts, ends, decided, masks, basis, vertex, piece, end


_parts = kernel(block_parts)


@inner_function
def _count_points(tree, top, layer):
    """Frames of a search, and points that go with them."""
    frames, points = 0, 0
    for k in range(top, layer + 1):
        for f in range(tree.n_frames[k]):
            cut, found = tree.frames[k, f, 0], 0
            for q in range(tree.frames[k, f, 1], tree.frames[k, f, 2]):
                if not has_bit(tree.masks[k, tree.members[k, q], 0], cut):
                    found += 1
                    if found == _POINTS:
                        break
            points += found
            frames += 1
    return frames, points


@inner_function
def _crossed(tree, layer, frame, naturals, masks, first, last):
    """How many cuts probably cross a frame, whose points first … last - 1 are in a block.

    Those that have points on both sides do; others that are not decided often do not.
    """
    n_words, cut = tree.all_bits.shape[1], tree.frames[layer, frame, 0]
    crossed = 0.0
    for w in range(n_words):
        sides = tree.frame_decided[layer, frame, 0, w] | tree.frame_decided[layer, frame, 1, w]
        free = tree.all_bits[layer, w] & ~sides
        if cut >> 6 == w:
            free &= ~(ONE << np.uint64(cut & 63))
        positive, negative, on = ZERO, ZERO, ZERO
        for p in range(first, last):
            at = masks + 3 * n_words * p + w
            positive |= naturals[at]
            negative |= naturals[at + n_words]
            on |= naturals[at + 2 * n_words]
        known = bit_count(free & (on | (positive & negative)))
        crossed += known + _UNKNOWN * (bit_count(free) - known)
    return crossed


@inner_function
def _take(program, work, options, blocks, begin, result):
    """Write all frames to a block, the bottom one first, and cut them into groups for new units.

    Each has at most `_POINTS` fitting points. Returns whether there is room for it; `result` says
    how many bytes are needed.
    """
    tree, state, store = work.tree, work.state, options.store
    top, layer = state[TOP_LAYER], state[LAYER]
    n_words, d = tree.all_bits.shape[1], tree.basis.shape[2]
    result[GROUPS] = 0
    result[SIZE] = 0
    frames, n_points = _count_points(tree, top, layer)
    if frames == 0:
        return True
    pieces = program.first_neuron[layer]
    parts = _parts(frames, n_points, pieces, store, n_words, d)
    result[SIZE] = 8 * ((parts[8] + 7) // 8 * 8)
    words, naturals, reals, b = blocks.words, blocks.naturals, blocks.reals, begin
    if b + parts[8] + frames > len(words):
        result[SIZE] += 8 * frames
        return False
    words[b], words[b + 1], words[b + 2], words[b + 3] = frames, n_points, pieces, store
    layers, cuts, ends = b + parts[0], b + parts[1], b + parts[2]
    decided, masks, basis, vertex = b + parts[3], b + parts[4], b + parts[5], b + parts[6]
    weights = reals[b + parts[8] : b + parts[8] + frames]
    frame, point = 0, 0
    for k in range(top, layer + 1):
        for f in range(tree.n_frames[k]):
            cut = tree.frames[k, f, 0]
            words[layers + frame] = k
            words[cuts + frame] = cut
            for w in range(n_words):
                for side in range(2):
                    bits = tree.frame_decided[k, f, side, w]
                    naturals[decided + (2 * frame + side) * n_words + w] = bits
            found = 0
            for q in range(tree.frames[k, f, 1], tree.frames[k, f, 2]):
                p = tree.members[k, q]
                if has_bit(tree.masks[k, p, 0], cut):
                    continue
                for side in range(3):
                    for w in range(n_words):
                        at = masks + (3 * point + side) * n_words + w
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
    at = 8 * (b + parts[7])
    for i in range(pieces):
        blocks.bytes[at + i] = work.maps.piece[i]
    cut_into_groups(weights, options.few, result)
    return True


@inner_function
def _put(tree, store, source, begin, first, last):
    """Frames first … last - 1 of a block and their points, on layers that have none.

    Returns whether there is room for them.
    """
    n_words, d = tree.all_bits.shape[1], tree.basis.shape[2]
    words, naturals, reals, b = source.words, source.naturals, source.reals, begin
    parts = _parts(words[b], words[b + 1], words[b + 2], words[b + 3] != 0, n_words, d)
    layers, cuts, ends = b + parts[0], b + parts[1], b + parts[2]
    decided, masks, basis, vertex = b + parts[3], b + parts[4], b + parts[5], b + parts[6]
    point = words[ends + first - 1] if first else 0
    if words[ends + last - 1] - point > min(tree.masks.shape[1], tree.members.shape[1]):
        return False
    for frame in range(first, last):
        k = words[layers + frame]
        f = tree.n_frames[k]
        tree.frames[k, f, 0] = words[cuts + frame]
        tree.frames[k, f, 1] = tree.n_points[k]
        for w in range(n_words):
            for side in range(2):
                bits = naturals[decided + (2 * frame + side) * n_words + w]
                tree.frame_decided[k, f, side, w] = bits
        while point < words[ends + frame]:
            p = tree.n_points[k]
            for side in range(3):
                for w in range(n_words):
                    bits = naturals[masks + (3 * point + side) * n_words + w]
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
        tree.frames[k, f, 2] = tree.n_points[k]
        tree.n_frames[k] = f + 1
    # Points that come later are looked through when a frame is left; those that were here are not.
    for frame in range(first, last):
        k = words[layers + frame]
        for f in range(tree.n_frames[k]):
            tree.frames[k, f, 3] = tree.n_points[k]
    return True


@inner_function
def _go_down(program, work, snap, first, layer, composed, exact):
    """Make the rows of the layers first … `layer` on the cell of the given pieces.

    Returns a layer whose constant cuts must be found exactly (call again with it, `composed`), or
    -1.
    """
    maps, table, tree = work.maps, work.table, work.tree
    d = program.inputs.shape[1] - 1
    base = d + program.domain.shape[0]
    for k in range(first, layer + 1):
        begin, end = program.first_cut[k], program.first_cut[k + 1]
        if not (k == first and composed):
            unsure = compose(program, maps, k, snap)
            if unsure >= 0 and exact:
                return k
        for i in range(base + begin):
            if k > 0:
                table.sign[k, i] = table.sign[k - 1, i]
            else:
                table.sign[k, i] = 1.0 if i >= d else 0.0
        table.drift[k] = 1 << 40  # the dictionary is made anew
        tree.n_points[k] = 0
        tree.n_frames[k] = 0
        for slot in range(2 * (end - begin)):
            tree.n_certificates[k, slot] = 0
        if k == layer:
            break
        clear(tree.decided[k])
        for cut in range(begin, end):
            neuron = program.cut_neuron[cut]
            above = maps.piece[neuron] > cut - program.neuron_cut[neuron]
            set_bit(tree.decided[k, 0 if above else 1], cut - begin)
            sign = 1.0 if above else -1.0
            table.sign[k, base + cut] = 0.0 if maps.constant[base + cut] else sign
        activate(program, maps, tree.decided[k], k)
    return -1


@inner_function
def _restore(program, work, snap, exact, source, begin, first, last, unsure):
    """Make the rows of all layers down to that of the last frame, on the cell of the unit.

    They are those that the search had there before, bit for bit. Returns a layer whose rows must be
    made exactly, or -1; `unsure` is a layer for which this was done, or -1.
    """
    state, words = work.state, source.words
    d, n_words = work.tree.basis.shape[2], work.tree.all_bits.shape[1]
    b = begin
    parts = _parts(words[b], words[b + 1], words[b + 2], words[b + 3] != 0, n_words, d)
    layer, top = words[b + parts[0] + last - 1], words[b + parts[0] + first]
    if unsure < 0:
        state[COST] = state[COUNT] = state[EMITTED] = state[CUT] = state[SIDE] = 0
        for k in range(len(work.maps.formal_ready)):
            work.maps.formal_ready[k] = False
        at = 8 * (b + parts[7])
        for i in range(program.first_neuron[layer]):
            work.maps.piece[i] = source.bytes[at + i]
    state[LAYER] = layer
    state[TOP_LAYER] = top
    state[PHASE] = BACK
    return _go_down(program, work, snap, max(unsure, 0), layer, unsure >= 0, exact)


@kernel_function
def run_unit(
    program, work, eights, cert, options, snap, result, limit, visits, mode, unsure,
    source, source_at, first, last, blocks, block_at, columns, column_at,
):  # fmt: skip
    """All that is to be done with a unit, or those steps of it that are in `mode`.

    Returns why it ends; ENDED if all is done.
    """
    state, out = work.state, work.out
    if mode & PUT:
        layer = _restore(program, work, snap, options.exact, source, source_at, first, last, unsure)
        if layer >= 0:
            result[SIZE] = layer
            return NEED_ROWS
    if mode & (PUT | FRAMES) and not _put(work.tree, options.store, source, source_at, first, last):
        return TOO_SMALL
    if mode & RUN:
        why = run(program, work, cert, options, snap, limit, visits)
        result[COMPLETE] = why == DONE
        if not (why == DONE or (state[COST] >= limit and state[PHASE] == BACK)):
            return why
    if mode & COLUMNS and options.store:
        n = state[EMITTED]
        for k in range(n):
            if out.margins[k] < MARGIN:
                return NEED_WITNESSES
        if n and not copy_points(
            out.patterns, eights, out.witnesses, n, len(program.bias), options.bits,
            columns, column_at,
        ):  # fmt: skip
            return COLUMNS_FULL
    result[GROUPS] = 0
    result[SIZE] = 0
    if (
        mode & STACK
        and not result[COMPLETE]
        and not _take(program, work, options, blocks, block_at, result)
    ):
        return BLOCK_FULL
    return ENDED
