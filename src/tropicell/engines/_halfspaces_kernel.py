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
def _lowest(word):  # type: ignore[no-untyped-def]
    """Index of the lowest set bit."""
    n = 0
    for step in (32, 16, 8, 4, 2, 1):
        if word & ((_ONE << np.uint64(step)) - _ONE) == _ZERO:
            word >>= np.uint64(step)
            n += step
    return n


@kernel_function
def compose(program, work, layer, d, snap):  # type: ignore[no-untyped-def]
    """The layer's cuts as rows in x on this cell, with running bounds on their size.

    Coefficients below `snap` times their bound are rounding only and become 0. Rows are scaled by
    powers of two. Returns the first cut that may be constant without being plainly so, or -1.
    """
    n_in = program.inputs.shape[0]
    base = d + program.domain.shape[0]
    unsure = -1
    for j in range(program.first_neuron[layer], program.first_neuron[layer + 1]):
        z, g = work.z[j], work.z_bound[j]
        z[:] = 0.0
        g[:] = 0.0
        z[0] = program.bias[j]
        g[0] = abs(program.bias[j])
        for e in range(program.indptr[j], program.indptr[j + 1]):
            u, weight = program.indices[e], program.weights[e]
            if u >= n_in and work.flat[u - n_in]:
                z[0] += weight * work.y[u, 0]
                g[0] += abs(weight) * work.y_bound[u, 0]
                continue
            size = abs(weight)
            for k in range(d + 1):
                z[k] += weight * work.y[u, k]
                g[k] += size * work.y_bound[u, k]
        largest, doubtful = 0.0, False
        for k in range(1, d + 1):
            if abs(z[k]) <= snap[layer] * g[k]:
                doubtful = doubtful or g[k] > 0.0
            else:
                largest = max(largest, abs(z[k]))
        for cut in range(program.neuron_cut[j], program.neuron_cut[j + 1]):
            row = base + cut
            work.constant[row] = largest == 0.0
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
            work.rows[row, 0] = offset * scale
            work.bounds[row, 0] = size * scale
            for k in range(1, d + 1):
                big = abs(z[k]) > snap[layer] * g[k]
                work.rows[row, k] = z[k] * scale if big else 0.0
                work.bounds[row, k] = g[k] * scale
            work.row_error[row] = 2.0 * program.roundoff[layer]
    return unsure


@kernel_function
def activate(program, work, layer, d):  # type: ignore[no-untyped-def]
    """Read the pieces off the decided cuts, and write the layer's outputs as functions of x."""
    n_in = program.inputs.shape[0]
    first = program.first_cut[layer]
    for j in range(program.first_neuron[layer], program.first_neuron[layer + 1]):
        p = 0
        for cut in range(program.neuron_cut[j], program.neuron_cut[j + 1]):
            if _bit(work.decided[layer, 0], cut - first):
                p += 1
        work.piece[j] = p
        if layer == program.first_neuron.shape[0] - 2:
            continue
        slope, intercept = program.slopes[j, p], program.intercepts[j, p]
        work.flat[j] = slope == 0.0
        for k in range(d + 1):
            work.y[n_in + j, k] = slope * work.z[j, k]
            work.y_bound[n_in + j, k] = abs(slope) * work.z_bound[j, k]
        work.y[n_in + j, 0] += intercept
        work.y_bound[n_in + j, 0] += abs(intercept)


@kernel_function
def signs_of_node(program, work, layer, d):  # type: ignore[no-untyped-def]
    """What the node asks of this layer's cuts, for the linear program."""
    first = program.first_cut[layer]
    base = d + program.domain.shape[0] + first
    sign, decided = work.sign[layer], work.decided[layer]
    for b in range(program.first_cut[layer + 1] - first):
        value = 0.0
        if not work.constant[base + b]:
            if _bit(decided[0], b):
                value = 1.0
            elif _bit(decided[1], b):
                value = -1.0
        sign[base + b] = value


@kernel_function
def add_point(work, layer, d, masks, store):  # type: ignore[no-untyped-def]
    """Append the working dictionary's basis, with these masks, to the points and the node."""
    p = work.n_points[layer]
    for w in range(masks.shape[1]):
        for side in range(3):
            work.masks[layer, p, side, w] = masks[side, w]
        work.known[layer, 0, w] |= masks[0, w] | masks[2, w]
        work.known[layer, 1, w] |= masks[1, w] | masks[2, w]
    for c in range(d):
        work.basis[layer, p, c] = work.nonbasic[layer, c + 1]
    if store:
        for k in range(d):
            work.vertex[layer, p, 0, k] = work.T[layer, 0, k]
            for c in range(1, d + 1):
                work.vertex[layer, p, c, k] = work.T[layer, c, k]
    work.n_points[layer] = p + 1
    work.members[layer, work.node[layer, 1]] = p
    work.node[layer, 1] += 1


@kernel_function
def enter(program, work, layer, d, snap, exact, relative, store):  # type: ignore[no-untyped-def]
    """Start a layer on the cell of the decided layers before it; its first point is given."""
    unsure = compose(program, work, layer, d, snap)
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
    work.decided[layer] = _ZERO
    for cut in range(first, last):
        if work.constant[base + cut]:
            _set(work.decided[layer, 0 if work.rows[base + cut, 0] > 0.0 else 1], cut - first)
    if layer > work.state[TOP_LAYER]:
        for i in range(base + first):
            work.sign[layer, i] = work.sign[layer - 1, i]
    signs_of_node(program, work, layer, d)
    T, nonbasic, column_of = work.T[layer], work.nonbasic[layer], work.column_of[layer]
    load(T, nonbasic, column_of, work.rows, n_rows, d)
    go_to_basis(T, nonbasic, column_of, n_rows, d, work.start[layer], work.wanted)
    work.n_points[layer] = 0
    work.n_frames[layer] = 0
    work.n_certificates[layer] = 0
    work.node[layer] = 0
    work.known[layer] = _ZERO
    if classify(work, layer, d, n_rows, base + first, 0, exact, relative, work.found) == UNSURE:
        work.found[:] = _ZERO  # a point that claims nothing: only its basis is used
    add_point(work, layer, d, work.found, store)


@kernel_function
def forced(work, layer, b, side):  # type: ignore[no-untyped-def]
    """Whether a certificate says that the node lies on that side of the cut."""
    slot = 2 * b + side
    count = min(work.n_certificates[layer, slot], work.certificates.shape[2])
    n_words = work.decided.shape[2]
    for k in range(count):
        fits = True
        for w in range(n_words):
            for part in range(2):
                needed = work.certificates[layer, slot, k, part, w]
                if needed & ~work.decided[layer, part, w] != _ZERO:
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
    T, nonbasic, column_of = work.T[layer], work.nonbasic[layer], work.column_of[layer]
    sign = work.sign[layer]
    signs_of_node(program, work, layer, d)
    if work.drift[layer] > 200:
        load(T, nonbasic, column_of, work.rows, n_rows, d)
        work.drift[layer] = 0
        go_to_basis(
            T, nonbasic, column_of, n_rows, d,
            work.basis[layer, work.members[layer, work.node[layer, 1] - 1]], work.wanted,
        )  # fmt: skip
    elif not feasible(T, sign, n_rows, 1e-9):
        go_to_basis(
            T, nonbasic, column_of, n_rows, d,
            work.basis[layer, work.members[layer, work.node[layer, 1] - 1]], work.wanted,
        )  # fmt: skip
        work.drift[layer] += d
    outcome, pivots, column = minimise(
        T, nonbasic, column_of, sign, n_rows, d, h, s, pivot_tolerance
    )
    work.state[LPS] += 1
    work.state[PIVOTS] += pivots
    work.drift[layer] += pivots
    if outcome == OPTIMAL:
        largest = 0.0
        for c in range(1, d + 1):
            largest = max(largest, abs(T[c, h]))
        count = 0
        work.found[:] = _ZERO
        for c in range(1, d + 1):
            if abs(T[c, h]) > pivot_tolerance * largest:
                row = nonbasic[c]
                work.support[count] = row
                count += 1
                if row >= first_row:
                    _set(work.found[0 if sign[row] > 0.0 else 1], row - first_row)
        if exact and not certify(
            program, work, layer, d, first_row, h, s, work.support, count, cert
        ):
            return False
        side = 0 if s > 0.0 else 1
        add_certificate(work, layer, b, side)
        _set(work.decided[layer, side], b)
        return True
    if outcome != CROSSED and outcome != PASSED:
        return False
    kind = classify(work, layer, d, n_rows, first_row, 0, exact, relative, work.found)
    if kind == UNSURE:
        return False
    if outcome == PASSED:
        if not _bit(work.found[1 if s > 0.0 else 0], b):
            return False
    elif kind != SIMPLE:
        step, _ = ratio(T, sign, n_rows, column, -s, h, pivot_tolerance)
        step = 0.5 * step if step < np.inf else 1.0 + abs(T[0, h])
        for k in range(d):
            work.x[k] = T[0, k] - s * step * T[column, k]
        kind = classify(work, layer, d, n_rows, first_row, column, exact, relative, work.found)
        if kind == UNSURE or not _bit(work.found[1 if s > 0.0 else 0], b):
            return False
    add_point(work, layer, d, work.found, store)
    return True


@kernel_function
def add_certificate(work, layer, b, side):  # type: ignore[no-untyped-def]
    """Keep the signs in work.found[0:2] as a reason why cut `b` is on a side (ring buffer)."""
    slot = 2 * b + side
    k = work.n_certificates[layer, slot] % work.certificates.shape[2]
    work.n_certificates[layer, slot] += 1
    for w in range(work.decided.shape[2]):
        work.certificates[layer, slot, k, 0, w] = work.found[0, w]
        work.certificates[layer, slot, k, 1, w] = work.found[1, w]


@kernel_function
def member(work, layer, p):  # type: ignore[no-untyped-def]
    """Append a point to the node's list, and what it knows to the node."""
    work.members[layer, work.node[layer, 1]] = p
    work.node[layer, 1] += 1
    for w in range(work.decided.shape[2]):
        both = work.masks[layer, p, 2, w]
        work.known[layer, 0, w] |= work.masks[layer, p, 0, w] | both
        work.known[layer, 1, w] |= work.masks[layer, p, 1, w] | both


@kernel_function
def split(work, layer, b):  # type: ignore[no-untyped-def]
    """Push a frame for cut `b` and go to its positive side."""
    f = work.n_frames[layer]
    start, stop = work.node[layer, 0], work.node[layer, 1]
    work.frames[layer, f, 0] = b
    work.frames[layer, f, 1] = start
    work.frames[layer, f, 2] = stop
    work.frames[layer, f, 3] = work.n_points[layer]
    work.frame_decided[layer, f] = work.decided[layer]
    work.n_frames[layer] = f + 1
    _set(work.decided[layer, 0], b)
    work.known[layer] = _ZERO
    work.node[layer, 0] = stop
    for q in range(start, stop):
        p = work.members[layer, q]
        if not _bit(work.masks[layer, p, 1], b):
            member(work, layer, p)


@kernel_function
def back(work, layer, all_bits):  # type: ignore[no-untyped-def]
    """Pop a frame and go to its negative side; False if none is left."""
    f = work.n_frames[layer] - 1
    if f < 0:
        return False
    work.n_frames[layer] = f
    b, start = work.frames[layer, f, 0], work.frames[layer, f, 1]
    stop, log = work.frames[layer, f, 2], work.frames[layer, f, 3]
    n_words = all_bits.shape[0]
    work.pending[:] = _ZERO
    for g in range(f + 1):
        _set(work.pending, work.frames[layer, g, 0])
    work.decided[layer] = work.frame_decided[layer, f]
    _set(work.decided[layer, 1], b)
    work.known[layer] = _ZERO
    work.node[layer, 0] = stop
    work.node[layer, 1] = stop
    for q in range(start, stop):
        p = work.members[layer, q]
        if not _bit(work.masks[layer, p, 0], b):
            member(work, layer, p)
    # Points found on the positive side: keep those that lie on the boundary of a waiting node.
    kept = log
    for p in range(log, work.n_points[layer]):
        useful, fits = False, True
        for w in range(n_words):
            positive, negative = work.masks[layer, p, 0, w], work.masks[layer, p, 1, w]
            if work.pending[w] & ~(positive | negative) != _ZERO:
                useful = True
            if (positive & work.decided[layer, 1, w]) | (
                negative & work.decided[layer, 0, w]
            ) != _ZERO:
                fits = False
        if useful:
            if p != kept:
                work.masks[layer, kept] = work.masks[layer, p]
                work.basis[layer, kept] = work.basis[layer, p]
                if work.vertex.shape[1] > 1:
                    work.vertex[layer, kept] = work.vertex[layer, p]
            if fits:
                member(work, layer, kept)
            kept += 1
    work.n_points[layer] = kept
    return True


@kernel_function
def witness(program, work, layer, d, n_rows, out):  # type: ignore[no-untyped-def]
    """A point well inside the leaf: from a vertex along the sum of its edges, half way out."""
    signs_of_node(program, work, layer, d)
    sign = work.sign[layer]
    best = 0.0
    n_members = work.node[layer, 1] - work.node[layer, 0]
    for q in range(min(n_members, 4)):
        p = work.members[layer, work.node[layer, 0] + q]
        origin, edges = work.vertex[layer, p, 0], work.vertex[layer, p]
        for k in range(d):
            work.delta[k] = 0.0
        for c in range(1, d + 1):
            row = work.basis[layer, p, c - 1]
            if sign[row] != 0.0:
                largest = 1e-300
                for k in range(d):
                    largest = max(largest, abs(edges[c, k]))
                for k in range(d):
                    work.delta[k] += sign[row] * edges[c, k] / largest
        step, scale = np.inf, 0.0
        for k in range(d):
            scale = max(scale, abs(origin[k]))
        for i in range(d, n_rows):
            if sign[i] != 0.0:
                value, rate = work.rows[i, 0], 0.0
                for k in range(d):
                    value += work.rows[i, k + 1] * origin[k]
                    rate += work.rows[i, k + 1] * work.delta[k]
                if sign[i] * rate < -1e-12:
                    step = min(step, max(sign[i] * value, 0.0) / (-sign[i] * rate))
        step = 0.5 * step if step < np.inf else 1.0 + scale
        for k in range(d):
            work.x[k] = origin[k] + step * work.delta[k]
        margin = np.inf
        for i in range(d, n_rows):
            if sign[i] != 0.0:
                value, size = work.rows[i, 0], work.bounds[i, 0]
                for k in range(d):
                    value += work.rows[i, k + 1] * work.x[k]
                    size += work.bounds[i, k + 1] * abs(work.x[k])
                margin = min(margin, sign[i] * value / size if size > 0.0 else 0.0)
        if margin > best:
            best = margin
            for k in range(d):
                out[k] = work.x[k]
        if best > 1e-6:
            break
    return best


@kernel_function
def run(program, work, cert, options, snap, limit_count, limit_visits):  # type: ignore[no-untyped-def]
    """Go on until all is done, a budget is used up, a buffer is full or help is needed."""
    exact, store = options.exact, options.store
    relative, pivot_tolerance = options.relative, options.pivot
    state = work.state
    d = work.rows.shape[1] - 1
    base = d + program.domain.shape[0]
    last_layer = program.first_neuron.shape[0] - 2
    n_words = work.decided.shape[2]
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
            room = work.masks.shape[1] - work.n_points[layer] - 2 * n_cuts
            if room < 2 or work.members.shape[1] - work.node[layer, 1] < 2 * work.masks.shape[1]:
                return GROW
            all_bits = work.all_bits[layer]
            decided, known = work.decided[layer], work.known[layer]
            for w in range(n_words):
                while True:
                    todo = all_bits[w] & ~(decided[0, w] | decided[1, w])
                    todo &= ~(known[0, w] & known[1, w])
                    if todo == _ZERO:
                        break
                    b = 64 * w + _lowest(todo)
                    positive, negative = _bit(known[0], b), _bit(known[1], b)
                    if not negative and forced(work, layer, b, 0):
                        _set(decided[0], b)
                        state[BY_CERTIFICATE] += 1
                        continue
                    if not positive and forced(work, layer, b, 1):
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
                for q in range(work.node[layer, 0], work.node[layer, 1]):
                    p = work.members[layer, q]
                    inside = True
                    for w in range(n_words):
                        todo = all_bits[w] & ~(decided[0, w] | decided[1, w])
                        if todo & ~work.masks[layer, p, 2, w] != _ZERO:
                            inside = False
                    if inside:
                        covered = True
                        break
                if covered and free < 60:
                    state[COUNT] += 1 << free
                    state[PHASE] = BACK
                    continue
            split(work, layer, chosen)
        elif phase == LEAF:
            if layer < last_layer:
                activate(program, work, layer, d)
                signs_of_node(program, work, layer, d)
                work.start[layer + 1] = work.basis[layer, work.members[layer, work.node[layer, 0]]]
                state[LAYER] = layer + 1
                state[PHASE] = ENTER
                continue
            if store:
                k = state[EMITTED]
                if k >= work.patterns.shape[0]:
                    return PAUSE
                activate(program, work, layer, d)
                for j in range(work.piece.shape[0]):
                    work.patterns[k, j] = work.piece[j]
                n_rows = base + program.first_cut[layer + 1]
                work.margins[k] = witness(program, work, layer, d, n_rows, work.witnesses[k])
                state[EMITTED] = k + 1
            state[COUNT] += 1
            state[PHASE] = BACK
        elif back(work, layer, work.all_bits[layer]):
            state[PHASE] = NODE
        elif layer == state[TOP_LAYER]:
            return DONE
        else:
            state[LAYER] = layer - 1
