"""Nodes of the `halfspaces` tree as bit masks: points that fit them, certificates, splits."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from tropicell._runtime.jit import inner_function, kernel_function

ONE = np.uint64(1)
ZERO = np.uint64(0)


@inner_function
def has_bit(mask, b):
    return (mask[b >> 6] >> np.uint64(b & 63)) & ONE != ZERO


@inner_function
def set_bit(mask, b):
    mask[b >> 6] |= ONE << np.uint64(b & 63)


@inner_function
def clear(masks):
    for k in range(masks.shape[0]):
        for w in range(masks.shape[1]):
            masks[k, w] = ZERO


@inner_function
def copy(source, target):
    for k in range(source.shape[0]):
        for w in range(source.shape[1]):
            target[k, w] = source[k, w]


@inner_function
def lowest_bit(word):
    """Index of the lowest set bit."""
    n = 0
    for step in (32, 16, 8, 4, 2, 1):
        if word & ((ONE << np.uint64(step)) - ONE) == ZERO:
            word >>= np.uint64(step)
            n += step
    return n


@kernel_function
def add_point(tree, table, layer, d, store):
    """Append the working dictionary's basis, with the masks found, to the points and the node."""
    masks = tree.found
    p = tree.n_points[layer]
    for w in range(masks.shape[1]):
        for side in range(3):
            tree.masks[layer, p, side, w] = masks[side, w]
        tree.known[layer, 0, w] |= masks[0, w] | masks[2, w]
        tree.known[layer, 1, w] |= masks[1, w] | masks[2, w]
    for c in range(d):
        tree.basis[layer, p, c] = table.nonbasic[layer, c + 1]
    if store:
        for k in range(d):
            tree.vertex[layer, p, 0, k] = table.T[layer, 0, k]
            for c in range(1, d + 1):
                tree.vertex[layer, p, c, k] = table.T[layer, c, k]
    tree.n_points[layer] = p + 1
    tree.members[layer, tree.node[layer, 1]] = p
    tree.node[layer, 1] += 1


@inner_function
def member(tree, layer, p):
    """Append a point to the node's list, and what it knows to the node."""
    tree.members[layer, tree.node[layer, 1]] = p
    tree.node[layer, 1] += 1
    for w in range(tree.decided.shape[2]):
        both = tree.masks[layer, p, 2, w]
        tree.known[layer, 0, w] |= tree.masks[layer, p, 0, w] | both
        tree.known[layer, 1, w] |= tree.masks[layer, p, 1, w] | both


@kernel_function
def add_certificate(tree, layer, b, side):
    """Keep the signs in tree.found[0:2] as a reason why cut `b` is on a side (ring buffer)."""
    slot = 2 * b + side
    k = tree.n_certificates[layer, slot] % tree.certificates.shape[2]
    tree.n_certificates[layer, slot] += 1
    for w in range(tree.decided.shape[2]):
        tree.certificates[layer, slot, k, 0, w] = tree.found[0, w]
        tree.certificates[layer, slot, k, 1, w] = tree.found[1, w]


@inner_function
def forced(tree, layer, b, side):
    """Whether a certificate says that the node lies on that side of the cut."""
    slot = 2 * b + side
    count = min(tree.n_certificates[layer, slot], tree.certificates.shape[2])
    n_words = tree.decided.shape[2]
    for k in range(count):
        fits = True
        for w in range(n_words):
            for part in range(2):
                needed = tree.certificates[layer, slot, k, part, w]
                if needed & ~tree.decided[layer, part, w] != ZERO:
                    fits = False
        if fits:
            return True
    return False


@inner_function
def split(tree, layer, b):
    """Push a frame for cut `b` and go to its positive side."""
    f = tree.n_frames[layer]
    start, stop = tree.node[layer, 0], tree.node[layer, 1]
    tree.frames[layer, f, 0] = b
    tree.frames[layer, f, 1] = start
    tree.frames[layer, f, 2] = stop
    tree.frames[layer, f, 3] = tree.n_points[layer]
    copy(tree.decided[layer], tree.frame_decided[layer, f])
    tree.n_frames[layer] = f + 1
    set_bit(tree.decided[layer, 0], b)
    clear(tree.known[layer])
    tree.node[layer, 0] = stop
    for q in range(start, stop):
        p = tree.members[layer, q]
        if not has_bit(tree.masks[layer, p, 1], b):
            member(tree, layer, p)


@inner_function
def back(tree, layer):
    """Pop a frame and go to its negative side; False if none is left."""
    f = tree.n_frames[layer] - 1
    if f < 0:
        return False
    tree.n_frames[layer] = f
    b, start = tree.frames[layer, f, 0], tree.frames[layer, f, 1]
    stop, log = tree.frames[layer, f, 2], tree.frames[layer, f, 3]
    n_words = tree.all_bits.shape[1]
    for w in range(n_words):
        tree.pending[w] = ZERO
    for g in range(f + 1):
        set_bit(tree.pending, tree.frames[layer, g, 0])
    copy(tree.frame_decided[layer, f], tree.decided[layer])
    set_bit(tree.decided[layer, 1], b)
    clear(tree.known[layer])
    tree.node[layer, 0] = stop
    tree.node[layer, 1] = stop
    for q in range(start, stop):
        p = tree.members[layer, q]
        if not has_bit(tree.masks[layer, p, 0], b):
            member(tree, layer, p)
    # Points found on the positive side: keep those that lie on the boundary of a waiting node.
    kept = log
    for p in range(log, tree.n_points[layer]):
        useful, fits = False, True
        for w in range(n_words):
            positive, negative = tree.masks[layer, p, 0, w], tree.masks[layer, p, 1, w]
            if tree.pending[w] & ~(positive | negative) != ZERO:
                useful = True
            if (positive & tree.decided[layer, 1, w]) | (
                negative & tree.decided[layer, 0, w]
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


@inner_function
def choose(tree, layer):
    """How many cuts cross the node, the point at which most of them meet, and a cut to split.

    Splitting by a cut that does not pass through that point brings one half closer to being
    covered by it. Returns (cuts, point, cut); cut is -1 if all of them meet at the point.
    """
    decided, all_bits = tree.decided[layer], tree.all_bits[layer]
    free, chosen, point, fewest = 0, -1, -1, 1 << 30
    for w in range(all_bits.shape[0]):
        todo = all_bits[w] & ~(decided[0, w] | decided[1, w])
        while todo != ZERO:
            todo &= todo - ONE
            free += 1
    if free == 0:
        return free, point, chosen
    for q in range(tree.node[layer, 0], tree.node[layer, 1]):
        p = tree.members[layer, q]
        missing, cut = 0, -1
        for w in range(all_bits.shape[0]):
            todo = all_bits[w] & ~(decided[0, w] | decided[1, w]) & ~tree.masks[layer, p, 2, w]
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


@inner_function
def first_undecided(tree, layer):
    """The undecided cut with the lowest number."""
    for w in range(tree.all_bits.shape[1]):
        todo = tree.all_bits[layer, w] & ~(tree.decided[layer, 0, w] | tree.decided[layer, 1, w])
        if todo != ZERO:
            return 64 * w + lowest_bit(todo)
    return -1
