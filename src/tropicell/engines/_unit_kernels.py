"""Kernels that take a search apart into units and put it together again.

They do nothing that Python could not do; but Python would do it under its global lock, for which
all threads wait.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from tropicell.engines._halfspaces_layers import activate, compose
from tropicell.engines._halfspaces_tree import clear, has_bit, set_bit
from tropicell.engines._jit import kernel, kernel_function

#: Guess of how many regions a cell has for each of them in the layer before.
_GROWTH = 4.0


@kernel
def cut_into_groups(lines, layers, dimension, few, most, weights, ends):
    """Cut a stack of nodes (the top one last) into groups of about equal weight, the top first.

    A node that is crossed by n lines of its layer is guessed to have C(n, 0) + … + C(n, d) cells,
    the most that n hyperplanes make, and some more for each layer to come. Returns the number of
    groups; `ends` says where each begins, counted from the bottom.
    """
    n = len(lines)
    total = 0.0
    for i in range(n):
        weight, term = 1.0, 1.0
        for k in range(min(dimension, 24)):
            term = term * max(lines[i] - k, 0) / (k + 1)
            weight += term
        for _ in range(layers[n - 1] - layers[i]):
            weight *= _GROWTH
        weights[i] = weight
        total += weight
    parts = min(most, max(1, int(min(total / few, 1e6))))
    count, before, group = 0, 0.0, 0
    for i in range(n - 1, -1, -1):
        number = min(int(before * parts / total), parts - 1)
        if number != group:
            ends[count] = i + 1
            count += 1
            group = number
        before += weights[i]
    ends[count] = 0
    return count + 1


@kernel_function
def collect_frames(
    program, tree, top, layer, most, store, layers, cuts, free, decided, ends, masks, basis, vertex
):
    """All frames of a search, the bottom one first, each with at most `most` fitting points.

    Returns the number of points.
    """
    frame, points = 0, 0
    n_words, d = tree.all_bits.shape[1], tree.basis.shape[2]
    for k in range(top, layer + 1):
        n_cuts = program.first_cut[k + 1] - program.first_cut[k]
        for f in range(tree.n_frames[k]):
            cut = tree.frames[k, f, 0]
            layers[frame], cuts[frame], free[frame] = k, cut, n_cuts - 1
            for w in range(n_words):
                for side in range(2):
                    decided[frame, side, w] = tree.frame_decided[k, f, side, w]
            for b in range(n_cuts):
                if has_bit(decided[frame, 0], b) or has_bit(decided[frame, 1], b):
                    free[frame] -= 1
            found = 0
            for q in range(tree.frames[k, f, 1], tree.frames[k, f, 2]):
                p = tree.members[k, q]
                if has_bit(tree.masks[k, p, 0], cut):
                    continue
                for side in range(3):
                    for w in range(n_words):
                        masks[points, side, w] = tree.masks[k, p, side, w]
                for c in range(d):
                    basis[points, c] = tree.basis[k, p, c]
                if store:
                    for c in range(d + 1):
                        for j in range(d):
                            vertex[points, c, j] = tree.vertex[k, p, c, j]
                points += 1
                found += 1
                if found == most:
                    break
            ends[frame] = points
            frame += 1
    return points


@kernel_function
def put_frames(tree, store, layers, cuts, decided, ends, masks, basis, vertex):
    """Frames and their points, on layers that have none."""
    n_words, d = tree.all_bits.shape[1], tree.basis.shape[2]
    point = 0
    for frame in range(len(layers)):
        k = layers[frame]
        f = tree.n_frames[k]
        tree.frames[k, f, 0] = cuts[frame]
        tree.frames[k, f, 1] = tree.n_points[k]
        for w in range(n_words):
            for side in range(2):
                tree.frame_decided[k, f, side, w] = decided[frame, side, w]
        while point < ends[frame]:
            p = tree.n_points[k]
            for side in range(3):
                for w in range(n_words):
                    tree.masks[k, p, side, w] = masks[point, side, w]
            for c in range(d):
                tree.basis[k, p, c] = basis[point, c]
            if store:
                for c in range(d + 1):
                    for j in range(d):
                        tree.vertex[k, p, c, j] = vertex[point, c, j]
            tree.members[k, p] = p
            tree.n_points[k] = p + 1
            point += 1
        tree.frames[k, f, 2] = tree.n_points[k]
        tree.n_frames[k] = f + 1
    # Points that come later are looked through when a frame is left; those that were here are not.
    for frame in range(len(layers)):
        k = layers[frame]
        for f in range(tree.n_frames[k]):
            tree.frames[k, f, 3] = tree.n_points[k]


@kernel_function
def go_down(program, work, snap, first, layer, composed, exact):
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
