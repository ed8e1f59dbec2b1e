"""A unit of the half-spaces engine in one call of a kernel; see `_unit_kernels`.

Nodes that wait (frames) are plain arrays, `FrameNodes`, which all units share that are left of one:
each has a number of frames that follow each other.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.jit import bit_count, kernel
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
from tropicell.engines.halfspaces._flat import (
    BOTH,
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


class UnitOrder(NamedTuple):
    """What is to be done with a unit.

    Attributes
    ----------
    mode : int
        Steps: `PUT`, `FRAMES`, `RUN`, `COLUMNS`, `LEFT`.
    limit, visits : int
        The search ends at this cost, and pauses after so many nodes.
    unsure : int
        A layer whose rows were made exactly, or -1.
    nodes : Nodes
        The frames of the unit.
    """

    mode: int
    limit: int
    visits: int
    unsure: int
    nodes: Any


class UnitPlaces(NamedTuple):
    """Where what is found goes.

    Attributes
    ----------
    left, weights : FrameNodes, ndarray
        Frames that are left, and how many regions each may have.
    words, witnesses : ndarray
        Columns of regions, from row `at` on.
    """

    left: Any
    weights: NDArray[np.float64]
    words: NDArray[np.uint64]
    witnesses: NDArray[np.float64]
    at: int


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
def _crossed(tree, layer, frame, masks, first, last):
    """How many cuts probably cross a frame, whose points first … last - 1 have these masks.

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
            positive |= masks[p, POSITIVE, w]
            negative |= masks[p, NEGATIVE, w]
            on |= masks[p, BOTH, w]
        known = bit_count(free & (on | (positive & negative)))
        crossed += known + _UNKNOWN * (bit_count(free) - known)
    return crossed


@kernel(sums="in any order", inner=True)
def _take(flat, work, options, places):
    """Write all frames to `places`, the bottom one first, and cut them into groups for new units.

    Each has at most `_POINTS` fitting points. Returns whether there is room for it; the
    result says how many frames and points there are.
    """
    tree, state, result, store = work.tree, work.state, work.result, options.store
    left, weights = places.left, places.weights
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
            cut = tree.frames[k, f, FRAME_CUT]
            left.layers[frame] = k
            left.cuts[frame] = cut
            for side in range(SIDES):
                for w in range(n_words):
                    left.decided[frame, side, w] = tree.frame_decided[k, f, side, w]
            found = 0
            for q in range(tree.frames[k, f, FRAME_START], tree.frames[k, f, FRAME_STOP]):
                p = tree.members[k, q]
                if has_bit(tree.masks[k, p, POSITIVE], cut):
                    continue
                for side in range(SIGNS):
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
    for i in range(flat.first_neuron[layer]):
        left.pieces[i] = work.maps.piece[i]
    cut_into_groups(weights[:frames], options.few, result)
    return True


@kernel(sums="in any order", inner=True)
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
        tree.frames[k, f, FRAME_CUT] = nodes.cuts[frame]
        tree.frames[k, f, FRAME_START] = tree.n_points[k]
        for side in range(SIDES):
            for w in range(n_words):
                tree.frame_decided[k, f, side, w] = nodes.decided[frame, side, w]
        while point < nodes.point_ends[frame]:
            p = tree.n_points[k]
            for side in range(SIGNS):
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
        tree.frames[k, f, FRAME_STOP] = tree.n_points[k]
        tree.n_frames[k] = f + 1
    # Points that come later are looked through when a frame is left; those that were here are not.
    for frame in range(first, last):
        k = nodes.layers[frame]
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
            unsure = compose(flat, work, k, options)
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
            table.sign[k, base + cut] = 0.0 if maps.ignored[base + cut] else sign
        activate(flat, maps, tree.decided[k], k, options.exact)
    return -1


@kernel(sums="in any order", inner=True)
def _restore(flat, work, options, order):
    """Make the rows of all layers down to that of the last frame, on the cell of the unit.

    They are those that the search had there before, bit for bit. Returns a layer whose rows must be
    made exactly, or -1.
    """
    state, unsure, nodes = work.state, order.unsure, order.nodes.arrays
    layer, top = nodes.layers[order.nodes.last - 1], nodes.layers[order.nodes.first]
    if unsure < 0:
        state[COST] = state[COUNT] = state[EMITTED] = state[CUT] = state[SIDE] = 0
        for i in range(flat.first_neuron[layer]):
            work.maps.piece[i] = nodes.pieces[i]
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
    nodes = order.nodes
    if mode & PUT:
        layer = _restore(flat, work, options, order)
        if layer >= 0:
            result[NEEDED] = layer
            return NEED_ROWS
    if mode & (PUT | FRAMES) and not _put(
        work.tree, options.store, nodes.arrays, nodes.first, nodes.last
    ):
        return TOO_SMALL
    if mode & RUN:
        why = run(flat, work, options, order.limit, order.visits)
        result[COMPLETE] = why == DONE
        if not (why == DONE or (state[COST] >= order.limit and state[PHASE] == BACK)):
            return why
    if mode & COLUMNS and options.store:
        n, words, witnesses, at = state[EMITTED], places.words, places.witnesses, places.at
        for k in range(n):
            if out.margins[k] < MARGIN:
                return NEED_WITNESSES
        if at + n > len(words):
            return COLUMNS_FULL
        for k in range(n):
            pack_pattern(out.patterns[k], len(flat.bias), options.bits, words[at + k])
            for c in range(out.witnesses.shape[1]):
                witnesses[at + k, c] = out.witnesses[k, c]
    result[GROUPS] = 0
    if mode & LEFT and not result[COMPLETE] and not _take(flat, work, options, places):
        return LEFT_FULL
    return ENDED
