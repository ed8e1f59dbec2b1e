"""A unit of the half-spaces engine in one call of a kernel; see `_unit_kernels`.

Nodes that wait (frames) are plain arrays, `FrameNodes`, which all units share that are left of one:
each has a number of frames that follow each other.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.jit import bit_count, inner_function, kernel_function
from tropicell.engines._unit_kernels import (
    COMPLETE,
    ENDED,
    GROUPS,
    NEEDED,
    TOO_SMALL,
    cut_into_groups,
    guessed_cells,
    pack_pattern,
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

#: Steps of what a kernel does with a unit: make the rows of its layers and put its frames on the
#: stack, or only the latter; search; write columns of regions; write what is left.
PUT, FRAMES, RUN, COLUMNS, LEFT = 1, 2, 4, 8, 16

#: Further reasons to end: there is no room for columns, or for what is left (NEEDED are numbers of
#: frames and points); rows are to be made exactly (NEEDED is their layer); witnesses are to be
#: improved.
COLUMNS_FULL, LEFT_FULL, NEED_ROWS, NEED_WITNESSES = 102, 103, 104, 105

#: So many points of a waiting node are handed on with it; others are found anew.
_POINTS = 16

#: A cut for which no such points are known counts as so many that cross a frame; this is what fits
#: random networks.
_UNKNOWN = 0.75

#: A witness closer to a boundary than this (relative) is replaced by a better one.
MARGIN = 1e-11


class FrameNodes(NamedTuple):
    """Frames that wait, and points that fit them.

    Attributes
    ----------
    layers, cuts, point_ends : ndarray, shape (frames,)
        The layer and the cut of every frame, and where its points end.
    decided : ndarray of uint64, shape (frames, 2, words)
        Cuts that are decided in it, by their sides.
    masks, basis, vertex : ndarray, shapes (points, 3, words), (points, d), (points, d + 1, d)
        Of every point; no vertices if regions are only counted.
    pieces : ndarray of uint8
        Of the neurons of all layers before that of the last frame; there may be more.
    """

    layers: NDArray[np.int64]
    cuts: NDArray[np.int64]
    point_ends: NDArray[np.int64]
    decided: NDArray[np.uint64]
    masks: NDArray[np.uint64]
    basis: NDArray[np.int32]
    vertex: NDArray[np.float64]
    pieces: NDArray[np.uint8]

    def part(self, first: int, last: int) -> FrameNodes:
        """Frames first … last - 1 and their points, copied."""
        begin = int(self.point_ends[first - 1]) if first else 0
        frames, points = slice(first, last), slice(begin, int(self.point_ends[last - 1]))
        return FrameNodes(
            self.layers[frames].copy(),
            self.cuts[frames].copy(),
            self.point_ends[frames] - begin,
            self.decided[frames].copy(),
            self.masks[points].copy(),
            self.basis[points].copy(),
            self.vertex[points].copy(),
            self.pieces.copy(),
        )


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
def _crossed(tree, layer, frame, masks, first, last):
    """How many cuts probably cross a frame, whose points first … last - 1 have these masks.

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
            positive |= masks[p, 0, w]
            negative |= masks[p, 1, w]
            on |= masks[p, 2, w]
        known = bit_count(free & (on | (positive & negative)))
        crossed += known + _UNKNOWN * (bit_count(free) - known)
    return crossed


@inner_function
def _take(program, work, options, left, weights, result):
    """Write all frames to `left`, the bottom one first, and cut them into groups for new units.

    Each has at most `_POINTS` fitting points. Returns whether there is room for it; `result` says
    how many frames and points there are.
    """
    tree, state, store = work.tree, work.state, options.store
    top, layer = state[TOP_LAYER], state[LAYER]
    n_words, d = tree.all_bits.shape[1], tree.basis.shape[2]
    frames, points = _count_points(tree, top, layer)
    result[GROUPS] = 0
    result[NEEDED] = frames
    result[NEEDED + 1] = points
    if frames > len(left.layers) or points > len(left.masks):
        return False
    if frames == 0:
        return True
    frame, point = 0, 0
    for k in range(top, layer + 1):
        for f in range(tree.n_frames[k]):
            cut = tree.frames[k, f, 0]
            left.layers[frame] = k
            left.cuts[frame] = cut
            for side in range(2):
                for w in range(n_words):
                    left.decided[frame, side, w] = tree.frame_decided[k, f, side, w]
            found = 0
            for q in range(tree.frames[k, f, 1], tree.frames[k, f, 2]):
                p = tree.members[k, q]
                if has_bit(tree.masks[k, p, 0], cut):
                    continue
                for side in range(3):
                    for w in range(n_words):
                        left.masks[point, side, w] = tree.masks[k, p, side, w]
                for c in range(d):
                    left.basis[point, c] = tree.basis[k, p, c]
                if store:
                    for c in range(d + 1):
                        for j in range(d):
                            left.vertex[point, c, j] = tree.vertex[k, p, c, j]
                point += 1
                found += 1
                if found == _POINTS:
                    break
            left.point_ends[frame] = point
            lines = _crossed(tree, k, f, left.masks, point - found, point)
            weights[frame] = guessed_cells(lines, d, 1.0) * options.growth[k]
            frame += 1
    for i in range(program.first_neuron[layer]):
        left.pieces[i] = work.maps.piece[i]
    cut_into_groups(weights[:frames], options.few, result)
    return True


@inner_function
def _put(tree, store, nodes, first, last):
    """Frames first … last - 1 and their points, on layers that have none.

    Returns whether there is room for them.
    """
    n_words, d = tree.all_bits.shape[1], tree.basis.shape[2]
    point = nodes.point_ends[first - 1] if first else 0
    if nodes.point_ends[last - 1] - point > min(tree.masks.shape[1], tree.members.shape[1]):
        return False
    for frame in range(first, last):
        k = nodes.layers[frame]
        f = tree.n_frames[k]
        tree.frames[k, f, 0] = nodes.cuts[frame]
        tree.frames[k, f, 1] = tree.n_points[k]
        for side in range(2):
            for w in range(n_words):
                tree.frame_decided[k, f, side, w] = nodes.decided[frame, side, w]
        while point < nodes.point_ends[frame]:
            p = tree.n_points[k]
            for side in range(3):
                for w in range(n_words):
                    tree.masks[k, p, side, w] = nodes.masks[point, side, w]
            for c in range(d):
                tree.basis[k, p, c] = nodes.basis[point, c]
            if store:
                for c in range(d + 1):
                    for j in range(d):
                        tree.vertex[k, p, c, j] = nodes.vertex[point, c, j]
            tree.members[k, p] = p
            tree.n_points[k] = p + 1
            point += 1
        tree.frames[k, f, 2] = tree.n_points[k]
        tree.n_frames[k] = f + 1
    # Points that come later are looked through when a frame is left; those that were here are not.
    for frame in range(first, last):
        k = nodes.layers[frame]
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
def _restore(program, work, snap, exact, nodes, first, last, unsure):
    """Make the rows of all layers down to that of the last frame, on the cell of the unit.

    They are those that the search had there before, bit for bit. Returns a layer whose rows must be
    made exactly, or -1; `unsure` is a layer for which this was done, or -1.
    """
    state, layer, top = work.state, nodes.layers[last - 1], nodes.layers[first]
    if unsure < 0:
        state[COST] = state[COUNT] = state[EMITTED] = state[CUT] = state[SIDE] = 0
        for k in range(len(work.maps.formal_ready)):
            work.maps.formal_ready[k] = False
        for i in range(program.first_neuron[layer]):
            work.maps.piece[i] = nodes.pieces[i]
    state[LAYER] = layer
    state[TOP_LAYER] = top
    state[PHASE] = BACK
    return _go_down(program, work, snap, max(unsure, 0), layer, unsure >= 0, exact)


@kernel_function
def run_unit(
    program, work, cert, options, snap, result, left, weights, nodes, words, witnesses, at,
    limit, visits, mode, unsure,
):  # fmt: skip
    """All that is to be done with a unit, or those steps of it that are in `mode`.

    Its frames are `nodes`, what is left of it goes to `left` and `weights`, and its regions to
    rows `at` … of `words` and `witnesses`. Returns why it ends; ENDED if all is done.
    """
    state, out, store = work.state, work.out, options.store
    arrays, first, last = nodes.arrays, nodes.first, nodes.last
    if mode & PUT:
        layer = _restore(program, work, snap, options.exact, arrays, first, last, unsure)
        if layer >= 0:
            result[NEEDED] = layer
            return NEED_ROWS
    if mode & (PUT | FRAMES) and not _put(work.tree, store, arrays, first, last):
        return TOO_SMALL
    if mode & RUN:
        why = run(program, work, cert, options, snap, limit, visits)
        result[COMPLETE] = why == DONE
        if not (why == DONE or (state[COST] >= limit and state[PHASE] == BACK)):
            return why
    if mode & COLUMNS and store:
        n = state[EMITTED]
        for k in range(n):
            if out.margins[k] < MARGIN:
                return NEED_WITNESSES
        if at + n > len(words):
            return COLUMNS_FULL
        for k in range(n):
            pack_pattern(out.patterns[k], len(program.bias), options.bits, words[at + k])
            for c in range(out.witnesses.shape[1]):
                witnesses[at + k, c] = out.witnesses[k, c]
    result[GROUPS] = 0
    if (
        mode & LEFT
        and not result[COMPLETE]
        and not _take(program, work, options, left, weights, result)
    ):
        return LEFT_FULL
    return ENDED
