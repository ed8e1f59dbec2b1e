"""Nodes of the `halfspaces` tree as bit masks: points that fit them, Farkas vectors, splits.

A node is a set of decided cuts, and the points known to lie in its closed cell; every step here
keeps the invariant of docs/halfspaces-proof.md, section 1, that this cell has interior points.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from tropicell._runtime.jit import kernel
from tropicell.engines.halfspaces._flat import (
    BOTH,
    FRAME_CUT,
    FRAME_POINTS,
    FRAME_START,
    FRAME_STOP,
    NEGATIVE,
    NODE_START,
    NODE_STOP,
    POSITIVE,
    SIDES,
    SIGNS,
    VALUE,
)

ONE = np.uint64(1)
ZERO = np.uint64(0)


@kernel(sums="in any order", inner=True)
def has_bit(mask, b):
    return (mask[b >> 6] >> np.uint64(b & 63)) & ONE != ZERO


@kernel(sums="in any order", inner=True)
def set_bit(mask, b):
    mask[b >> 6] |= ONE << np.uint64(b & 63)


@kernel(sums="in any order", inner=True)
def clear(masks):
    for k in range(masks.shape[0]):
        for w in range(masks.shape[1]):
            masks[k, w] = ZERO


@kernel(sums="in any order", inner=True)
def copy(source, target):
    for k in range(source.shape[0]):
        for w in range(source.shape[1]):
            target[k, w] = source[k, w]


@kernel(sums="in any order", inner=True)
def lowest_bit(word):
    """Index of the lowest set bit."""
    n = 0
    for step in (32, 16, 8, 4, 2, 1):
        if word & ((ONE << np.uint64(step)) - ONE) == ZERO:
            word >>= np.uint64(step)
            n += step
    return n


@kernel(sums="in any order")
def add_point(tree, table, layer, d, store):
    """Append the working dictionary's basis, with the masks found, to the points and the node."""
    masks = tree.found
    p = tree.n_points[layer]
    for w in range(masks.shape[1]):
        for side in range(SIGNS):
            tree.masks[layer, p, side, w] = masks[side, w]
        tree.known[layer, POSITIVE, w] |= masks[POSITIVE, w] | masks[BOTH, w]
        tree.known[layer, NEGATIVE, w] |= masks[NEGATIVE, w] | masks[BOTH, w]
    for c in range(d):
        tree.basis[layer, p, c] = table.nonbasic[layer, c + 1]
    if store:
        for k in range(d):
            tree.vertex[layer, p, VALUE, k] = table.T[layer, VALUE, k]
            for c in range(1, d + 1):
                tree.vertex[layer, p, c, k] = table.T[layer, c, k]
    tree.n_points[layer] = p + 1
    tree.members[layer, tree.node[layer, NODE_STOP]] = p
    tree.node[layer, NODE_STOP] += 1


@kernel(sums="in any order", inner=True)
def member(tree, layer, p):
    """Append a point to the node's list, and what it knows to the node."""
    tree.members[layer, tree.node[layer, NODE_STOP]] = p
    tree.node[layer, NODE_STOP] += 1
    for w in range(tree.decided.shape[2]):
        both = tree.masks[layer, p, BOTH, w]
        tree.known[layer, POSITIVE, w] |= tree.masks[layer, p, POSITIVE, w] | both
        tree.known[layer, NEGATIVE, w] |= tree.masks[layer, p, NEGATIVE, w] | both


@kernel(sums="in any order")
def add_farkas(tree, layer, b, side):
    """Keep the signs in tree.found as the reason why cut `b` is on a side (ring buffer).

    They are those of the decided cuts that a Farkas vector combines.
    """
    slot = SIDES * b + side
    k = tree.n_farkas[layer, slot] % tree.farkas.shape[2]
    tree.n_farkas[layer, slot] += 1
    for w in range(tree.decided.shape[2]):
        tree.farkas[layer, slot, k, POSITIVE, w] = tree.found[POSITIVE, w]
        tree.farkas[layer, slot, k, NEGATIVE, w] = tree.found[NEGATIVE, w]


@kernel(sums="in any order", inner=True)
def forced(tree, layer, b, side):
    """Whether a known Farkas vector says that the node lies on that side of the cut.

    It does where the node has decided the cuts that it combines as it needs them (section 1).
    """
    slot = SIDES * b + side
    count = min(tree.n_farkas[layer, slot], tree.farkas.shape[2])
    n_words = tree.decided.shape[2]
    for k in range(count):
        fits = True
        for w in range(n_words):
            for part in range(SIDES):
                needed = tree.farkas[layer, slot, k, part, w]
                if needed & ~tree.decided[layer, part, w] != ZERO:
                    fits = False
        if fits:
            return True
    return False


@kernel(sums="in any order", inner=True)
def split(tree, layer, b):
    """Push a frame for cut `b` and go to its positive side."""
    f = tree.n_frames[layer]
    start, stop = tree.node[layer, NODE_START], tree.node[layer, NODE_STOP]
    tree.frames[layer, f, FRAME_CUT] = b
    tree.frames[layer, f, FRAME_START] = start
    tree.frames[layer, f, FRAME_STOP] = stop
    tree.frames[layer, f, FRAME_POINTS] = tree.n_points[layer]
    copy(tree.decided[layer], tree.frame_decided[layer, f])
    tree.n_frames[layer] = f + 1
    set_bit(tree.decided[layer, POSITIVE], b)
    clear(tree.known[layer])
    tree.node[layer, NODE_START] = stop
    for q in range(start, stop):
        p = tree.members[layer, q]
        if not has_bit(tree.masks[layer, p, NEGATIVE], b):
            member(tree, layer, p)


@kernel(sums="in any order", inner=True)
def back(tree, layer):
    """Pop a frame and go to its negative side; False if none is left."""
    f = tree.n_frames[layer] - 1
    if f < 0:
        return False
    tree.n_frames[layer] = f
    b, n_before = tree.frames[layer, f, FRAME_CUT], tree.frames[layer, f, FRAME_POINTS]
    start, stop = tree.frames[layer, f, FRAME_START], tree.frames[layer, f, FRAME_STOP]
    n_words = tree.all_bits.shape[1]
    for w in range(n_words):
        tree.pending[w] = ZERO
    for g in range(f + 1):
        set_bit(tree.pending, tree.frames[layer, g, FRAME_CUT])
    copy(tree.frame_decided[layer, f], tree.decided[layer])
    set_bit(tree.decided[layer, NEGATIVE], b)
    clear(tree.known[layer])
    tree.node[layer, NODE_START] = stop
    tree.node[layer, NODE_STOP] = stop
    for q in range(start, stop):
        p = tree.members[layer, q]
        if not has_bit(tree.masks[layer, p, POSITIVE], b):
            member(tree, layer, p)
    # Points found on the positive side: keep those that lie on the boundary of a waiting node.
    kept = n_before
    for p in range(n_before, tree.n_points[layer]):
        useful, fits = False, True
        for w in range(n_words):
            positive = tree.masks[layer, p, POSITIVE, w]
            negative = tree.masks[layer, p, NEGATIVE, w]
            if tree.pending[w] & ~(positive | negative) != ZERO:
                useful = True
            if (positive & tree.decided[layer, NEGATIVE, w]) | (
                negative & tree.decided[layer, POSITIVE, w]
            ) != ZERO:
                fits = False
        if useful:
            if p != kept:
                copy(tree.masks[layer, p], tree.masks[layer, kept])
                for k in range(tree.basis.shape[2]):
                    tree.basis[layer, kept, k] = tree.basis[layer, p, k]
                if tree.vertex.shape[1] > 1:
                    copy(tree.vertex[layer, p], tree.vertex[layer, kept])
            if fits:
                member(tree, layer, kept)
            kept += 1
    tree.n_points[layer] = kept
    return True


@kernel(sums="in any order", inner=True)
def choose(tree, layer):
    """How many cuts cross the node, the point at which most of them meet, and a cut to split.

    Splitting by a cut that does not pass through that point brings one half closer to being
    covered by it. Returns (cuts, point, cut); cut is -1 if all of them meet at the point.
    """
    decided, all_bits = tree.decided[layer], tree.all_bits[layer]
    free, chosen, point, fewest = 0, -1, -1, 1 << 30
    for w in range(all_bits.shape[0]):
        todo = all_bits[w] & ~(decided[POSITIVE, w] | decided[NEGATIVE, w])
        while todo != ZERO:
            todo &= todo - ONE
            free += 1
    if free == 0:
        return free, point, chosen
    for q in range(tree.node[layer, NODE_START], tree.node[layer, NODE_STOP]):
        p = tree.members[layer, q]
        missing, cut = 0, -1
        for w in range(all_bits.shape[0]):
            todo = all_bits[w] & ~(decided[POSITIVE, w] | decided[NEGATIVE, w])
            todo &= ~tree.masks[layer, p, BOTH, w]
            if todo != ZERO and cut < 0:
                cut = 64 * w + lowest_bit(todo)
            while todo != ZERO:
                todo &= todo - ONE
                missing += 1
        if missing < fewest:
            fewest, chosen, point = missing, cut, p
            if missing == 0:
                break
    return free, point, chosen


@kernel(sums="in any order", inner=True)
def first_undecided(tree, layer):
    """The undecided cut with the lowest number."""
    decided, all_bits = tree.decided[layer], tree.all_bits[layer]
    for w in range(all_bits.shape[0]):
        todo = all_bits[w] & ~(decided[POSITIVE, w] | decided[NEGATIVE, w])
        if todo != ZERO:
            return 64 * w + lowest_bit(todo)
    return -1
