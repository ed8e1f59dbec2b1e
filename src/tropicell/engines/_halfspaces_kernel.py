"""The tree over neurons of `halfspaces`, in Numba.

For one layer on one cell the kernel looks for all sign patterns of the layer's cuts. What it
knows are *points* of the closed cell (with the cuts' signs there, as bit masks) and *certificates*
("these signs force that sign"). A node of the tree is a set of decided cuts with the points that
fit it. A cut with points on both sides crosses the node; one forced by a certificate does not; only
where neither is known a linear program is solved, and it yields a new point or certificate,
which serves all later nodes. A simple vertex is worth 2^k patterns if k cuts meet there.

All state lives in arrays (`Work`), so the kernel can return at any time (budget, full buffer,
a decision that needs exact arithmetic) and go on where it stopped.
"""

from __future__ import annotations

import numpy as np

from tropicell.engines._jit import kernel_function
from tropicell.engines._halfspaces_proof import SIMPLE, UNSURE, certify, classify
from tropicell.engines._lp import (
    CROSSED,
    OPTIMAL,
    PASSED,
    feasible,
    go_to_basis,
    load,
    minimise,
    ratio,
)

# Slots of Work.state.
(
    LAYER,
    PHASE,
    COUNT,
    EMITTED,
    CUT,
    SIDE,
    TOP_LAYER,
    LPS,
    PIVOTS,
    BY_POINTS,
    BY_CERTIFICATE,
    VISITS,
    STATE_SIZE,
) = range(13)
# Phases: what to do next.
ENTER, NODE, LEAF, BACK = range(4)
# Why the kernel returns.
DONE, PAUSE, GROW, NEED_EXACT, NEED_CONSTANT = range(5)

_ONE = np.uint64(1)
_ZERO = np.uint64(0)


@kernel_function
def _bit(mask, b):  # type: ignore[no-untyped-def]
    return (mask[b >> 6] >> np.uint64(b & 63)) & _ONE != _ZERO


@kernel_function
def _set(mask, b):  # type: ignore[no-untyped-def]
    mask[b >> 6] |= _ONE << np.uint64(b & 63)


@kernel_function
def _clear(masks):  # type: ignore[no-untyped-def]
    for k in range(masks.shape[0]):
        for w in range(masks.shape[1]):
            masks[k, w] = _ZERO


@kernel_function
def _copy(source, target):  # type: ignore[no-untyped-def]
    for k in range(source.shape[0]):
        for w in range(source.shape[1]):
            target[k, w] = source[k, w]


@kernel_function
def _lowest(word):  # type: ignore[no-untyped-def]
    """Index of the lowest set bit."""
    n = 0
    for step in (32, 16, 8, 4, 2, 1):
        if word & ((_ONE << np.uint64(step)) - _ONE) == _ZERO:
            word >>= np.uint64(step)
            n += step
    return n


@kernel_function
def compose(program, maps, layer, d, snap):  # type: ignore[no-untyped-def]
    """The layer's cuts as rows in x on this cell, with running bounds on their size.

    Coefficients below `snap` times their bound are rounding only and become 0. Rows are scaled by
    powers of two. Returns the first cut that may be constant without being plainly so, or -1.
    """
    n_in = program.inputs.shape[0]
    base = d + program.domain.shape[0]
    unsure = -1
    for j in range(program.first_neuron[layer], program.first_neuron[layer + 1]):
        z, g = maps.z[j], maps.z_bound[j]
        for k in range(d + 1):
            z[k] = 0.0
            g[k] = 0.0
        z[0] = program.bias[j]
        g[0] = abs(program.bias[j])
        for e in range(program.indptr[j], program.indptr[j + 1]):
            u, weight = program.indices[e], program.weights[e]
            if u >= n_in and maps.flat[u - n_in]:
                z[0] += weight * maps.y[u, 0]
                g[0] += abs(weight) * maps.y_bound[u, 0]
                continue
            size = abs(weight)
            for k in range(d + 1):
                z[k] += weight * maps.y[u, k]
                g[k] += size * maps.y_bound[u, k]
        largest, doubtful = 0.0, False
        for k in range(1, d + 1):
            if abs(z[k]) <= snap[layer] * g[k]:
                doubtful = doubtful or g[k] > 0.0
            else:
                largest = max(largest, abs(z[k]))
        for cut in range(program.neuron_cut[j], program.neuron_cut[j + 1]):
            row = base + cut
            maps.constant[row] = largest == 0.0
            t = program.cut_break[cut]
            offset, size = z[0] - t, g[0] + abs(t)
            if largest == 0.0:
                near = abs(offset) <= snap[layer] * size
                if (doubtful or near) and size > 0.0 and unsure < 0:
                    unsure = cut
                offset = 0.0 if near else offset
            scale = 1.0
            if largest > 0.0:
                scale = 2.0 ** -np.floor(np.log2(largest))
            maps.rows[row, 0] = offset * scale
            maps.bounds[row, 0] = size * scale
            for k in range(1, d + 1):
                big = abs(z[k]) > snap[layer] * g[k]
                maps.rows[row, k] = z[k] * scale if big else 0.0
                maps.bounds[row, k] = g[k] * scale
            maps.row_error[row] = 2.0 * program.roundoff[layer]
    return unsure


@kernel_function
def activate(program, maps, decided, layer, d):  # type: ignore[no-untyped-def]
    """Read the pieces off the decided cuts, and write the layer's outputs as functions of x."""
    n_in = program.inputs.shape[0]
    first = program.first_cut[layer]
    for j in range(program.first_neuron[layer], program.first_neuron[layer + 1]):
        p = 0
        for cut in range(program.neuron_cut[j], program.neuron_cut[j + 1]):
            if _bit(decided[0], cut - first):
                p += 1
        maps.piece[j] = p
        if layer == program.first_neuron.shape[0] - 2:
            continue
        slope, intercept = program.slopes[j, p], program.intercepts[j, p]
        maps.flat[j] = slope == 0.0
        for k in range(d + 1):
            maps.y[n_in + j, k] = slope * maps.z[j, k]
            maps.y_bound[n_in + j, k] = abs(slope) * maps.z_bound[j, k]
        maps.y[n_in + j, 0] += intercept
        maps.y_bound[n_in + j, 0] += abs(intercept)


@kernel_function
def signs_of_node(program, constant, decided, sign, layer, d):  # type: ignore[no-untyped-def]
    """What the node asks of this layer's cuts, for the linear program."""
    first = program.first_cut[layer]
    base = d + program.domain.shape[0] + first
    for b in range(program.first_cut[layer + 1] - first):
        value = 0.0
        if not constant[base + b]:
            if _bit(decided[0], b):
                value = 1.0
            elif _bit(decided[1], b):
                value = -1.0
        sign[base + b] = value


@kernel_function
def add_point(tree, table, layer, d, masks, store):  # type: ignore[no-untyped-def]
    """Append the working dictionary's basis, with these masks, to the points and the node."""
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


@kernel_function
def enter(program, work, layer, d, snap, exact, relative, store):  # type: ignore[no-untyped-def]
    """Start a layer on the cell of the decided layers before it; its first point is given."""
    unsure = compose(program, work.maps, layer, d, snap)
    if unsure >= 0 and exact:
        work.state[CUT] = unsure
        return False
    begin(program, work, layer, d, exact, relative, store)
    return True


@kernel_function
def begin(program, work, layer, d, exact, relative, store):  # type: ignore[no-untyped-def]
    """Second half of `enter`, after it is known which cuts are constant."""
    base = d + program.domain.shape[0]
    first, last = program.first_cut[layer], program.first_cut[layer + 1]
    n_rows = base + last
    _clear(work.tree.decided[layer])
    for cut in range(first, last):
        if work.maps.constant[base + cut]:
            _set(
                work.tree.decided[layer, 0 if work.maps.rows[base + cut, 0] > 0.0 else 1],
                cut - first,
            )
    if layer > work.state[TOP_LAYER]:
        for i in range(base + first):
            work.table.sign[layer, i] = work.table.sign[layer - 1, i]
    signs_of_node(
        program, work.maps.constant, work.tree.decided[layer], work.table.sign[layer], layer, d
    )
    T, nonbasic, column_of = (
        work.table.T[layer],
        work.table.nonbasic[layer],
        work.table.column_of[layer],
    )
    load(T, nonbasic, column_of, work.maps.rows, n_rows, d)
    go_to_basis(T, nonbasic, column_of, n_rows, d, work.table.start[layer], work.table.wanted)
    work.tree.n_points[layer] = 0
    work.tree.n_frames[layer] = 0
    for slot in range(2 * (last - first)):
        work.tree.n_certificates[layer, slot] = 0
    work.tree.node[layer, 0] = 0
    work.tree.node[layer, 1] = 0
    _clear(work.tree.known[layer])
    if (
        classify(
            work.maps,
            work.table,
            layer,
            d,
            n_rows,
            base + first,
            0,
            exact,
            relative,
            work.tree.found,
        )
        == UNSURE
    ):
        _clear(work.tree.found)  # a point that claims nothing: only its basis is used
    add_point(work.tree, work.table, layer, d, work.tree.found, store)


@kernel_function
def forced(tree, layer, b, side):  # type: ignore[no-untyped-def]
    """Whether a certificate says that the node lies on that side of the cut."""
    slot = 2 * b + side
    count = min(tree.n_certificates[layer, slot], tree.certificates.shape[2])
    n_words = tree.decided.shape[2]
    for k in range(count):
        fits = True
        for w in range(n_words):
            for part in range(2):
                needed = tree.certificates[layer, slot, k, part, w]
                if needed & ~tree.decided[layer, part, w] != _ZERO:
                    fits = False
        if fits:
            return True
    return False


@kernel_function
def solve(program, work, cert, layer, d, b, s, exact, relative, pivot_tolerance, store):  # type: ignore[no-untyped-def]
    """One linear program: is cut `b` of the layer ever on side -s in the node? False if unsure."""
    base = d + program.domain.shape[0]
    first_row = base + program.first_cut[layer]
    n_rows = base + program.first_cut[layer + 1]
    h = first_row + b
    T, nonbasic, column_of = (
        work.table.T[layer],
        work.table.nonbasic[layer],
        work.table.column_of[layer],
    )
    sign = work.table.sign[layer]
    signs_of_node(
        program, work.maps.constant, work.tree.decided[layer], work.table.sign[layer], layer, d
    )
    if work.table.drift[layer] > 200:
        load(T, nonbasic, column_of, work.maps.rows, n_rows, d)
        work.table.drift[layer] = 0
        go_to_basis(
            T, nonbasic, column_of, n_rows, d,
            work.tree.basis[layer, work.tree.members[layer, work.tree.node[layer, 1] - 1]], work.table.wanted,
        )  # fmt: skip
    elif not feasible(T, sign, n_rows, 1e-9):
        go_to_basis(
            T, nonbasic, column_of, n_rows, d,
            work.tree.basis[layer, work.tree.members[layer, work.tree.node[layer, 1] - 1]], work.table.wanted,
        )  # fmt: skip
        work.table.drift[layer] += d
    outcome, pivots, column = minimise(
        T, nonbasic, column_of, sign, n_rows, d, h, s, pivot_tolerance
    )
    work.state[LPS] += 1
    work.state[PIVOTS] += pivots
    work.table.drift[layer] += pivots
    if outcome == OPTIMAL:
        largest = 0.0
        for c in range(1, d + 1):
            largest = max(largest, abs(T[c, h]))
        count = 0
        _clear(work.tree.found)
        for c in range(1, d + 1):
            if abs(T[c, h]) > pivot_tolerance * largest:
                row = nonbasic[c]
                work.table.support[count] = row
                count += 1
                if row >= first_row:
                    _set(work.tree.found[0 if sign[row] > 0.0 else 1], row - first_row)
        if exact and not certify(
            program,
            work.maps.piece,
            work.table.sign[layer],
            layer,
            d,
            h,
            s,
            work.table.support,
            count,
            cert,
        ):
            return False
        side = 0 if s > 0.0 else 1
        add_certificate(work.tree, layer, b, side)
        _set(work.tree.decided[layer, side], b)
        return True
    if outcome != CROSSED and outcome != PASSED:
        return False
    kind = classify(
        work.maps, work.table, layer, d, n_rows, first_row, 0, exact, relative, work.tree.found
    )
    if kind == UNSURE:
        return False
    if outcome == PASSED:
        if not _bit(work.tree.found[1 if s > 0.0 else 0], b):
            return False
    elif kind != SIMPLE:
        step, _ = ratio(T, sign, n_rows, column, -s, h, pivot_tolerance)
        step = 0.5 * step if step < np.inf else 1.0 + abs(T[0, h])
        for k in range(d):
            work.table.x[k] = T[0, k] - s * step * T[column, k]
        kind = classify(
            work.maps,
            work.table,
            layer,
            d,
            n_rows,
            first_row,
            column,
            exact,
            relative,
            work.tree.found,
        )
        if kind == UNSURE or not _bit(work.tree.found[1 if s > 0.0 else 0], b):
            return False
    add_point(work.tree, work.table, layer, d, work.tree.found, store)
    return True


@kernel_function
def add_certificate(tree, layer, b, side):  # type: ignore[no-untyped-def]
    """Keep the signs in tree.found[0:2] as a reason why cut `b` is on a side (ring buffer)."""
    slot = 2 * b + side
    k = tree.n_certificates[layer, slot] % tree.certificates.shape[2]
    tree.n_certificates[layer, slot] += 1
    for w in range(tree.decided.shape[2]):
        tree.certificates[layer, slot, k, 0, w] = tree.found[0, w]
        tree.certificates[layer, slot, k, 1, w] = tree.found[1, w]


@kernel_function
def member(tree, layer, p):  # type: ignore[no-untyped-def]
    """Append a point to the node's list, and what it knows to the node."""
    tree.members[layer, tree.node[layer, 1]] = p
    tree.node[layer, 1] += 1
    for w in range(tree.decided.shape[2]):
        both = tree.masks[layer, p, 2, w]
        tree.known[layer, 0, w] |= tree.masks[layer, p, 0, w] | both
        tree.known[layer, 1, w] |= tree.masks[layer, p, 1, w] | both


@kernel_function
def split(tree, layer, b):  # type: ignore[no-untyped-def]
    """Push a frame for cut `b` and go to its positive side."""
    f = tree.n_frames[layer]
    start, stop = tree.node[layer, 0], tree.node[layer, 1]
    tree.frames[layer, f, 0] = b
    tree.frames[layer, f, 1] = start
    tree.frames[layer, f, 2] = stop
    tree.frames[layer, f, 3] = tree.n_points[layer]
    _copy(tree.decided[layer], tree.frame_decided[layer, f])
    tree.n_frames[layer] = f + 1
    _set(tree.decided[layer, 0], b)
    _clear(tree.known[layer])
    tree.node[layer, 0] = stop
    for q in range(start, stop):
        p = tree.members[layer, q]
        if not _bit(tree.masks[layer, p, 1], b):
            member(tree, layer, p)


@kernel_function
def back(tree, layer, all_bits):  # type: ignore[no-untyped-def]
    """Pop a frame and go to its negative side; False if none is left."""
    f = tree.n_frames[layer] - 1
    if f < 0:
        return False
    tree.n_frames[layer] = f
    b, start = tree.frames[layer, f, 0], tree.frames[layer, f, 1]
    stop, log = tree.frames[layer, f, 2], tree.frames[layer, f, 3]
    n_words = all_bits.shape[0]
    for w in range(n_words):
        tree.pending[w] = _ZERO
    for g in range(f + 1):
        _set(tree.pending, tree.frames[layer, g, 0])
    _copy(tree.frame_decided[layer, f], tree.decided[layer])
    _set(tree.decided[layer, 1], b)
    _clear(tree.known[layer])
    tree.node[layer, 0] = stop
    tree.node[layer, 1] = stop
    for q in range(start, stop):
        p = tree.members[layer, q]
        if not _bit(tree.masks[layer, p, 0], b):
            member(tree, layer, p)
    # Points found on the positive side: keep those that lie on the boundary of a waiting node.
    kept = log
    for p in range(log, tree.n_points[layer]):
        useful, fits = False, True
        for w in range(n_words):
            positive, negative = tree.masks[layer, p, 0, w], tree.masks[layer, p, 1, w]
            if tree.pending[w] & ~(positive | negative) != _ZERO:
                useful = True
            if (positive & tree.decided[layer, 1, w]) | (
                negative & tree.decided[layer, 0, w]
            ) != _ZERO:
                fits = False
        if useful:
            if p != kept:
                _copy(tree.masks[layer, p], tree.masks[layer, kept])
                for k in range(tree.basis.shape[2]):
                    tree.basis[layer, kept, k] = tree.basis[layer, p, k]
                if tree.vertex.shape[1] > 1:
                    _copy(tree.vertex[layer, p], tree.vertex[layer, kept])
            if fits:
                member(tree, layer, kept)
            kept += 1
    tree.n_points[layer] = kept
    return True


@kernel_function
def witness(program, work, layer, d, n_rows, out):  # type: ignore[no-untyped-def]
    """A point well inside the leaf: from a vertex along the sum of its edges, half way out."""
    signs_of_node(
        program, work.maps.constant, work.tree.decided[layer], work.table.sign[layer], layer, d
    )
    sign = work.table.sign[layer]
    best = 0.0
    n_members = work.tree.node[layer, 1] - work.tree.node[layer, 0]
    for q in range(min(n_members, 4)):
        p = work.tree.members[layer, work.tree.node[layer, 0] + q]
        origin, edges = work.tree.vertex[layer, p, 0], work.tree.vertex[layer, p]
        for k in range(d):
            work.table.delta[k] = 0.0
        for c in range(1, d + 1):
            row = work.tree.basis[layer, p, c - 1]
            if sign[row] != 0.0:
                largest = 1e-300
                for k in range(d):
                    largest = max(largest, abs(edges[c, k]))
                for k in range(d):
                    work.table.delta[k] += sign[row] * edges[c, k] / largest
        step, scale = np.inf, 0.0
        for k in range(d):
            scale = max(scale, abs(origin[k]))
        for i in range(d, n_rows):
            if sign[i] != 0.0:
                value, rate = work.maps.rows[i, 0], 0.0
                for k in range(d):
                    value += work.maps.rows[i, k + 1] * origin[k]
                    rate += work.maps.rows[i, k + 1] * work.table.delta[k]
                if sign[i] * rate < -1e-12:
                    step = min(step, max(sign[i] * value, 0.0) / (-sign[i] * rate))
        step = 0.5 * step if step < np.inf else 1.0 + scale
        for k in range(d):
            work.table.x[k] = origin[k] + step * work.table.delta[k]
        margin = np.inf
        for i in range(d, n_rows):
            if sign[i] != 0.0:
                value, size = work.maps.rows[i, 0], work.maps.bounds[i, 0]
                for k in range(d):
                    value += work.maps.rows[i, k + 1] * work.table.x[k]
                    size += work.maps.bounds[i, k + 1] * abs(work.table.x[k])
                margin = min(margin, sign[i] * value / size if size > 0.0 else 0.0)
        if margin > best:
            best = margin
            for k in range(d):
                out[k] = work.table.x[k]
        if best > 1e-6:
            break
    return best


@kernel_function
def run(program, work, cert, options, snap, limit_count, limit_visits):  # type: ignore[no-untyped-def]
    """Go on until all is done, a budget is used up, a buffer is full or help is needed."""
    exact, store = options.exact, options.store
    relative, pivot_tolerance = options.relative, options.pivot
    state = work.state
    d = work.maps.rows.shape[1] - 1
    base = d + program.domain.shape[0]
    last_layer = program.first_neuron.shape[0] - 2
    n_words = work.tree.decided.shape[2]
    stop_visits = state[VISITS] + limit_visits
    while True:
        layer, phase = state[LAYER], state[PHASE]
        if phase == ENTER:
            if not enter(program, work, layer, d, snap, exact, relative, store):
                return NEED_CONSTANT
            state[PHASE] = NODE
        elif phase == NODE:
            state[VISITS] += 1
            if state[COUNT] >= limit_count or state[VISITS] >= stop_visits:
                return PAUSE
            n_cuts = program.first_cut[layer + 1] - program.first_cut[layer]
            room = work.tree.masks.shape[1] - work.tree.n_points[layer] - 2 * n_cuts
            if (
                room < 2
                or work.tree.members.shape[1] - work.tree.node[layer, 1]
                < 2 * work.tree.masks.shape[1]
            ):
                return GROW
            all_bits = work.tree.all_bits[layer]
            decided, known = work.tree.decided[layer], work.tree.known[layer]
            for w in range(n_words):
                while True:
                    todo = all_bits[w] & ~(decided[0, w] | decided[1, w])
                    todo &= ~(known[0, w] & known[1, w])
                    if todo == _ZERO:
                        break
                    b = 64 * w + _lowest(todo)
                    positive, negative = _bit(known[0], b), _bit(known[1], b)
                    if not negative and forced(work.tree, layer, b, 0):
                        _set(decided[0], b)
                        state[BY_CERTIFICATE] += 1
                        continue
                    if not positive and forced(work.tree, layer, b, 1):
                        _set(decided[1], b)
                        state[BY_CERTIFICATE] += 1
                        continue
                    s = -1.0 if negative else 1.0
                    if not solve(
                        program, work, cert, layer, d, b, s, exact, relative, pivot_tolerance, store
                    ):
                        state[CUT], state[SIDE] = b, 1 if s > 0.0 else -1
                        return NEED_EXACT
            free, chosen = 0, -1
            for w in range(n_words):
                todo = all_bits[w] & ~(decided[0, w] | decided[1, w])
                if todo != _ZERO:
                    if chosen < 0:
                        chosen = 64 * w + _lowest(todo)
                    while todo != _ZERO:
                        todo &= todo - _ONE
                        free += 1
            if free == 0:
                state[PHASE] = LEAF
                continue
            state[BY_POINTS] += 1
            if layer == last_layer and not store:
                covered = False
                for q in range(work.tree.node[layer, 0], work.tree.node[layer, 1]):
                    p = work.tree.members[layer, q]
                    inside = True
                    for w in range(n_words):
                        todo = all_bits[w] & ~(decided[0, w] | decided[1, w])
                        if todo & ~work.tree.masks[layer, p, 2, w] != _ZERO:
                            inside = False
                    if inside:
                        covered = True
                        break
                if covered and free < 60:
                    state[COUNT] += 1 << free
                    state[PHASE] = BACK
                    continue
            split(work.tree, layer, chosen)
        elif phase == LEAF:
            if layer < last_layer:
                activate(program, work.maps, work.tree.decided[layer], layer, d)
                signs_of_node(
                    program,
                    work.maps.constant,
                    work.tree.decided[layer],
                    work.table.sign[layer],
                    layer,
                    d,
                )
                p = work.tree.members[layer, work.tree.node[layer, 0]]
                for k in range(d):
                    work.table.start[layer + 1, k] = work.tree.basis[layer, p, k]
                state[LAYER] = layer + 1
                state[PHASE] = ENTER
                continue
            if store:
                k = state[EMITTED]
                if k >= work.out.patterns.shape[0]:
                    return PAUSE
                activate(program, work.maps, work.tree.decided[layer], layer, d)
                for j in range(work.maps.piece.shape[0]):
                    work.out.patterns[k, j] = work.maps.piece[j]
                n_rows = base + program.first_cut[layer + 1]
                work.out.margins[k] = witness(
                    program, work, layer, d, n_rows, work.out.witnesses[k]
                )
                state[EMITTED] = k + 1
            state[COUNT] += 1
            state[PHASE] = BACK
        elif back(work.tree, layer, work.tree.all_bits[layer]):
            state[PHASE] = NODE
        elif layer == state[TOP_LAYER]:
            return DONE
        else:
            state[LAYER] = layer - 1
