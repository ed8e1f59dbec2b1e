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

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from tropicell._runtime.jit import inner_function, is_set, kernel_function
from tropicell.engines.halfspaces._certificate import certify
from tropicell.engines.halfspaces._layers import activate, compose, signs_of_node
from tropicell.engines.halfspaces._lp import (
    CROSSED,
    OPTIMAL,
    PASSED,
    absorb,
    feasible,
    go_to_basis,
    load,
    minimise,
    ratio,
)
from tropicell.engines.halfspaces._proof import SIMPLE, UNSURE, certify_in_x, classify
from tropicell.engines.halfspaces._tree import (
    ONE,
    ZERO,
    add_certificate,
    add_point,
    back,
    choose,
    clear,
    first_undecided,
    forced,
    has_bit,
    lowest_bit,
    set_bit,
    split,
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
    SPLITS,
    BY_CERTIFICATE,
    VISITS,
    COST,
    STATE_SIZE,
) = range(14)
# Phases: what to do next.
ENTER, NODE, BACK = range(3)
# Why the kernel returns.
DONE, PAUSE, GROW, NEED_EXACT, NEED_CONSTANT = range(5)

#: Pivots after which a dictionary is made anew from the rows, so that errors do not add up.
_FRESH = 200
#: A witness with this relative margin is good enough.
_GOOD_MARGIN = 1e-6
#: At most 2 to this power leaves are counted or written at once.
_MOST_AT_ONCE = 12
MOST_EMITTED = 1 << _MOST_AT_ONCE


@kernel_function
def begin(program, work, options, layer):
    """Start a layer on the cell of those before it; its rows are made, constant cuts known."""
    maps, table, tree = work.maps, work.table, work.tree
    d = program.inputs.shape[1] - 1
    base = d + program.domain.shape[0]
    first, last = program.first_cut[layer], program.first_cut[layer + 1]
    clear(tree.decided[layer])
    for cut in range(first, last):
        if maps.constant[base + cut]:
            side = 0 if maps.rows[base + cut, 0] > 0.0 else 1
            set_bit(tree.decided[layer, side], cut - first)
    if layer > work.state[TOP_LAYER]:
        for i in range(base + first):
            table.sign[layer, i] = table.sign[layer - 1, i]
    signs_of_node(program, maps.constant, tree.decided[layer], table.sign[layer], layer)
    tree.n_points[layer] = 0
    tree.n_frames[layer] = 0
    for slot in range(2 * (last - first)):
        tree.n_certificates[layer, slot] = 0
    tree.node[layer, 0] = 0
    tree.node[layer, 1] = 0
    clear(tree.known[layer])
    clear(tree.found)
    table.drift[layer] = 0
    maps.formal_ready[layer] = False
    T, nonbasic, column_of = table.T[layer], table.nonbasic[layer], table.column_of[layer]
    load(T, nonbasic, column_of, maps.rows, base + last, d)
    target = table.start[layer]
    if go_to_basis(T, nonbasic, column_of, base + last, d, target, table.wanted, table.halt):
        kind = classify(maps, table, options, layer, base + first, base + last, 0, tree.found)
        if kind == UNSURE:
            clear(tree.found)  # a point that claims nothing: only its basis is used
    add_point(tree, table, layer, d, options.store)


@inner_function
def solve(program, work, cert, options, layer, b, s):
    """One linear program: is cut `b` of the layer ever on side -s in the node? False if unsure.

    If not, it is decided, with a new certificate; if so, there is a new point on that side.
    """
    maps, table, tree = work.maps, work.table, work.tree
    d = program.inputs.shape[1] - 1
    base = d + program.domain.shape[0]
    first_row, n_rows = base + program.first_cut[layer], base + program.first_cut[layer + 1]
    h, side = first_row + b, 0 if s > 0.0 else 1
    T, nonbasic, column_of = table.T[layer], table.nonbasic[layer], table.column_of[layer]
    sign = table.sign[layer]
    signs_of_node(program, maps.constant, tree.decided[layer], sign, layer)
    stale = table.drift[layer] > _FRESH
    if stale:
        load(T, nonbasic, column_of, maps.rows, n_rows, d)
        table.drift[layer] = 0
    if stale or not feasible(T, sign, n_rows, options.pivot):
        newest = tree.members[layer, tree.node[layer, 1] - 1]
        table.drift[layer] += d
        target = tree.basis[layer, newest]
        if not go_to_basis(T, nonbasic, column_of, n_rows, d, target, table.wanted, table.halt):
            table.drift[layer] = _FRESH + 1
            return False
    outcome, pivots, column = minimise(
        T, nonbasic, column_of, sign, n_rows, d, h, s, options.pivot, table.halt
    )
    work.state[LPS] += 1
    work.state[PIVOTS] += pivots
    work.state[COST] += pivots
    table.drift[layer] += pivots
    if outcome == OPTIMAL:
        count = reasons(table, tree, layer, d, h, first_row, options.pivot)
        if (
            options.exact
            and not (count == d and certify_in_x(maps, table, layer, d, h, s))
            and not certify(
                program, maps, sign, layer, h, s, table.support, count, cert, table.halt
            )
        ):
            return False
        add_certificate(tree, layer, b, side)
        set_bit(tree.decided[layer, side], b)
        return True
    if outcome == CROSSED:
        table.drift[layer] += absorb(T, nonbasic, column_of, sign, n_rows, d, first_row, table.halt)
    elif outcome != PASSED:
        return False
    kind = classify(maps, table, options, layer, first_row, n_rows, 0, tree.found)
    if kind == UNSURE:
        return False
    if kind != SIMPLE and outcome == CROSSED:
        # Several boundaries meet here: look at a point on the edge that leads beyond this one.
        step, _ = ratio(T, sign, n_rows, column, -s, h, options.pivot)
        step = 0.5 * step if step < np.inf else 1.0 + abs(T[0, h])
        for k in range(d):
            table.x[k] = T[0, k] - s * step * T[column, k]
        kind = classify(maps, table, options, layer, first_row, n_rows, column, tree.found)
        if kind == UNSURE:
            return False
    if not (has_bit(tree.found[1 - side], b) or has_bit(tree.found[2], b)):
        return False
    add_point(tree, table, layer, d, options.store)
    return True


@inner_function
def reasons(table, tree, layer, d, h, first_row, tolerance):
    """The rows whose signs hold `h` at its minimum, in table.support and (masks) tree.found."""
    T, sign = table.T[layer], table.sign[layer]
    largest, count = 0.0, 0
    for c in range(1, d + 1):
        largest = max(largest, abs(T[c, h]))
    clear(tree.found)
    for c in range(1, d + 1):
        if abs(T[c, h]) > tolerance * largest:
            row = table.nonbasic[layer, c]
            table.support[count] = row
            count += 1
            if row >= first_row:
                set_bit(tree.found[0 if sign[row] > 0.0 else 1], row - first_row)
    return count


@inner_function
def witness(maps, table, tree, layer, n_rows, p, best, out):
    """A point inside the leaf: from vertex `p` along the sum of its edges, half way through.

    Written to `out` if its margin is better than `best`; the better of the two is returned.
    """
    d = maps.rows.shape[1] - 1
    sign, x, direction = table.sign[layer], table.x, table.delta
    edges = tree.vertex[layer, p]
    scale = 0.0
    for k in range(d):
        direction[k] = 0.0
        scale = max(scale, abs(edges[0, k]))
    for c in range(1, d + 1):
        towards = sign[tree.basis[layer, p, c - 1]]
        if towards != 0.0:
            largest = 1e-300
            for k in range(d):
                largest = max(largest, abs(edges[c, k]))
            for k in range(d):
                direction[k] += towards / largest * edges[c, k]
    step = np.inf
    for i in range(d, n_rows):
        if sign[i] != 0.0:
            value, rate = maps.rows[i, 0], 0.0
            for k in range(d):
                value += maps.rows[i, k + 1] * edges[0, k]
                rate += maps.rows[i, k + 1] * direction[k]
            if sign[i] * rate < -1e-12:
                step = min(step, max(sign[i] * value, 0.0) / (-sign[i] * rate))
    step = 0.5 * step if step < np.inf else 1.0 + scale
    for k in range(d):
        x[k] = edges[0, k] + step * direction[k]
    margin = np.inf
    for i in range(d, n_rows):
        if sign[i] != 0.0:
            value, size = maps.rows[i, 0], maps.bounds[i, 0]
            for k in range(d):
                value += maps.rows[i, k + 1] * x[k]
                size += maps.bounds[i, k + 1] * abs(x[k])
            margin = min(margin, sign[i] * value / size if size > 0.0 else 0.0)
    if not margin > best:
        return best
    for k in range(d):
        out[k] = x[k]
    return margin


@inner_function
def emit(program, work, layer, free, point):
    """Write the 2^free leaves around a simple vertex at which all undecided cuts meet.

    Or one leaf (`free` = 0), with a witness from any of its points (`point` = -1).
    """
    maps, table, tree, out = work.maps, work.table, work.tree, work.out
    decided, all_bits = tree.decided[layer], tree.all_bits[layer]
    n_rows = maps.rows.shape[0]
    for number in range(1 << free):
        position = 0
        for w in range(all_bits.shape[0]):
            tree.pending[w] = all_bits[w] & ~(decided[0, w] | decided[1, w])
            todo = tree.pending[w]
            while todo != ZERO:
                decided[(number >> position) & 1, w] |= todo & (~todo + ONE)
                todo &= todo - ONE
                position += 1
        activate(program, maps, decided, layer)
        signs_of_node(program, maps.constant, decided, table.sign[layer], layer)
        k = work.state[EMITTED]
        for j in range(maps.piece.shape[0]):
            out.patterns[k, j] = maps.piece[j]
        for c in range(out.witnesses.shape[1]):
            out.witnesses[k, c] = 0.0  # in case none of the points has a margin
        best, q = 0.0, tree.node[layer, 0]
        stop, p = min(tree.node[layer, 1], q + 4), point
        while not best > _GOOD_MARGIN and (p >= 0 or q < stop):
            if p < 0:
                p = tree.members[layer, q]
                q += 1
            best = witness(maps, table, tree, layer, n_rows, p, best, out.witnesses[k])
            p = -1
        out.margins[k] = best
        work.state[EMITTED] = k + 1
        work.state[COUNT] += 1
        work.state[COST] += 1
        for w in range(all_bits.shape[0]):
            decided[0, w] &= ~tree.pending[w]
            decided[1, w] &= ~tree.pending[w]


@inner_function
def next_question(tree, state, layer):
    """An undecided cut with no known points on both sides, or -1; certificates are used up first.

    Returns the cut, and the side on which it has points (+1 if there are none).
    """
    decided, known, all_bits = tree.decided[layer], tree.known[layer], tree.all_bits[layer]
    for w in range(all_bits.shape[0]):
        while True:
            todo = all_bits[w] & ~(decided[0, w] | decided[1, w])
            todo &= ~(known[0, w] & known[1, w])
            if todo == ZERO:
                break
            b = 64 * w + lowest_bit(todo)
            positive, negative = has_bit(known[0], b), has_bit(known[1], b)
            if not negative and forced(tree, layer, b, 0):
                set_bit(decided[0], b)
            elif not positive and forced(tree, layer, b, 1):
                set_bit(decided[1], b)
            else:
                return b, -1.0 if negative else 1.0
            state[BY_CERTIFICATE] += 1
    return -1, 0.0


@kernel_function
def run(program, work, cert, options, snap, limit_cost, limit_visits):
    """Go on until all is done, a budget is used up, a buffer is full or help is needed.

    The cost is that of regions and pivots: it is the same whenever a unit is run, and
    the time that it takes nearly is.
    """
    state, tree = work.state, work.tree
    d = program.inputs.shape[1] - 1
    last_layer = program.first_neuron.shape[0] - 2
    stop_visits = state[VISITS] + limit_visits
    while True:
        layer, phase = state[LAYER], state[PHASE]
        free, point, cut = 0, -1, -1
        if phase == ENTER:
            unsure = compose(program, work.maps, layer, snap)
            if unsure >= 0 and options.exact:
                return NEED_CONSTANT
            begin(program, work, options, layer)
            state[PHASE] = NODE
            if is_set(work.table.halt):
                return PAUSE
            continue
        if phase == NODE:
            state[VISITS] += 1
            if state[VISITS] >= stop_visits:
                return PAUSE
            n_cuts = program.first_cut[layer + 1] - program.first_cut[layer]
            capacity = tree.masks.shape[1]
            if (
                capacity - tree.n_points[layer] < 2 * n_cuts + 2
                or tree.members.shape[1] - tree.node[layer, 1] < 2 * capacity
            ):
                return GROW
            while True:
                b, s = next_question(tree, state, layer)
                if b < 0:
                    break
                if is_set(work.table.halt):
                    return PAUSE
                if not solve(program, work, cert, options, layer, b, s):
                    if is_set(work.table.halt):
                        return PAUSE  # it was given up
                    state[CUT], state[SIDE] = b, 1 if s > 0.0 else -1
                    return NEED_EXACT
            free, point, cut = choose(tree, layer)
            if free > 0 and (cut >= 0 or layer < last_layer or free > _MOST_AT_ONCE):
                state[SPLITS] += 1
                split(tree, layer, cut if cut >= 0 else first_undecided(tree, layer))
                continue
        if phase == BACK:
            if state[COST] >= limit_cost:
                return PAUSE  # between two nodes: what is left are the frames
            if back(tree, layer):
                state[PHASE] = NODE
            elif layer == state[TOP_LAYER]:
                return DONE
            else:
                state[LAYER] = layer - 1
        elif layer < last_layer:
            activate(program, work.maps, tree.decided[layer], layer)
            signs_of_node(
                program, work.maps.constant, tree.decided[layer], work.table.sign[layer], layer
            )
            p = tree.members[layer, tree.node[layer, 0]]
            for k in range(d):
                work.table.start[layer + 1, k] = tree.basis[layer, p, k]
            state[LAYER] = layer + 1
            state[PHASE] = ENTER
        elif not options.store:
            state[COUNT] += 1 << free
            state[COST] += 1 << free
            state[PHASE] = BACK
        elif state[EMITTED] + (1 << free) > work.out.patterns.shape[0]:
            return PAUSE
        else:
            emit(program, work, layer, free, point)
            state[PHASE] = BACK
