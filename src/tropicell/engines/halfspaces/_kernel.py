"""The search of `halfspaces`: a tree over neurons, in Numba.

For one layer on one cell the kernel looks for all sign patterns of the layer's cuts. What it
knows are *points* of the closed cell (with the cuts' signs there, as bit masks) and *Farkas
vectors* ("these signs force that sign"). A node of the tree is a set of decided cuts with the
points that fit it. A cut with points on both sides crosses the node; one forced by a Farkas vector
does not; only where neither is known a linear program is solved, and it yields a new point or
Farkas vector, which serves all later nodes. A simple vertex is worth 2^k patterns if k cuts meet
there. Why that is right is section 1 of docs/halfspaces-proof.md.

All state lives in arrays (`_flat.Work`), so the kernel can return at any time (budget, full buffer,
a decision that needs exact arithmetic) and go on where it stopped.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from tropicell._runtime.jit import is_set, kernel
from tropicell.engines.halfspaces._finer import (
    FORCED,
    UNKNOWN,
    decide,
    leave_extra,
    simple,
    vanishes,
)
from tropicell.engines.halfspaces._flat import (
    BOTH,
    BY_FARKAS,
    COST,
    COUNT,
    CUT,
    EMITTED,
    FINER,
    LAYER,
    LPS,
    NEGATIVE,
    NODE_START,
    NODE_STOP,
    OFFSET,
    PHASE,
    PIVOTS,
    POSITIVE,
    SIDE,
    SIDES,
    SLOPE,
    SPLITS,
    STALE,
    TOP_LAYER,
    VALUE,
    VISITS,
)
from tropicell.engines.halfspaces._lp import (
    CROSSED,
    OPTIMAL,
    PASSED,
    Dictionary,
    absorb,
    feasible,
    go_to_basis,
    load,
    minimise,
    ratio,
)
from tropicell.engines.halfspaces._proof import (
    SIMPLE,
    UNSURE,
    classify,
    proves,
    proves_in_x,
    tidy,
)
from tropicell.engines.halfspaces._tree import (
    ONE,
    ZERO,
    add_farkas,
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
from tropicell.geometry._double import exact_product, exact_sum
from tropicell.geometry.rounding import ROUND

# Phases: what to do next.
ENTER, NODE, BACK = range(3)
# Why the kernel returns.
DONE, PAUSE, GROW, NEED_EXACT, NEED_CONSTANT = range(5)

#: Pivots after which a dictionary is made anew from the rows, so that errors do not add up.
_FRESH = 200
#: A witness with this relative margin is good enough.
_GOOD_MARGIN = 1e-6
#: A row that falls more slowly along a direction does not end it.
_SLOW = 1e-12
#: So many points of a node are tried for a witness.
_TRIED = 4
#: At most 2 to this power leaves are counted or written at once.
_MOST_AT_ONCE = 12
MOST_EMITTED = 1 << _MOST_AT_ONCE

# --------------------------------------------------------------------------------------------------
# A layer's cuts and outputs as affine functions of x on one cell, with running bounds.
# --------------------------------------------------------------------------------------------------


@kernel
def compose(flat, work, layer, options):
    """The layer's cuts as rows in x on this cell, with bounds on the errors of their coefficients.

    Coefficients below their error are rounding only and become 0. Rows are scaled by powers of two.
    Returns the first cut that may be constant without being plainly so, or -1; where numbers may
    over- or underflow (an error is infinite) none is known to be what it seems.
    docs/halfspaces-proof.md, section 2: `z_bound` is the sum for `z` in absolute values.
    """
    d, maps = flat.dimension, work.maps
    # In exact arithmetic: what a coefficient may be wrong by is so many roundings of its bound.
    part = flat.fine[layer] if options.exact else options.snap[layer]
    unsure = -1 if np.isfinite(part) else flat.first_cut[layer]
    for j in range(flat.first_neuron[layer], flat.first_neuron[layer + 1]):
        z, low, g = maps.z[j], maps.z_low[j], maps.z_bound[j]
        if options.exact:
            _sum_finely(flat, maps, j)
        else:
            _sum(flat, maps, j)
        largest, doubtful = 0.0, False
        for k in range(SLOPE, SLOPE + d):
            if abs(z[k]) <= part * g[k]:
                doubtful = doubtful or g[k] > 0.0
            else:
                largest = max(largest, abs(z[k]))
        if largest == 0.0 and options.exact and part < np.inf:
            doubtful = False
            for k in range(d + 1):
                if g[k] > 0.0 and abs(z[k]) <= part * g[k]:
                    if vanishes(
                        flat.whole, work.residues, maps.z, maps.z_bound, maps.piece, layer, j, k
                    ):
                        z[k] = low[k] = g[k] = 0.0
                    else:
                        doubtful = doubtful or k != OFFSET
        for cut in range(flat.neuron_cut[j], flat.neuron_cut[j + 1]):
            row = flat.cuts_at + cut
            maps.constant[row] = largest == 0.0
            maps.ignored[row] = largest == 0.0 or flat.twin[cut] != cut
            t = flat.cut_break[cut]
            offset, size = z[OFFSET] - t, g[OFFSET] + abs(t)
            if options.exact:
                s, rest = exact_sum(z[OFFSET], -t)
                offset = s + (rest + low[OFFSET])
            if largest == 0.0:
                near = abs(offset) <= part * size
                if (doubtful or (near and size > 0.0)) and unsure < 0:
                    unsure = cut
                offset = 0.0 if near else offset
            scale = 1.0
            if largest > 0.0:
                scale = 2.0 ** -np.floor(np.log2(largest))
            maps.rows[row, OFFSET] = offset * scale
            maps.bounds[row, OFFSET] = size * scale
            for k in range(SLOPE, SLOPE + d):
                big = abs(z[k]) > part * g[k]
                maps.rows[row, k] = z[k] * scale if big else 0.0
                maps.bounds[row, k] = g[k] * scale
            maps.row_error[row] = 0.0
            if options.exact:
                # Low halves are left out, and entries below their errors were set to 0 (section 2).
                for k in range(d + 1):
                    size = abs(maps.rows[row, k]) + maps.bounds[row, k] * (part / ROUND)
                    maps.bounds[row, k] = size
                maps.row_error[row] = 4.0 * ROUND
    return unsure


@kernel(sums="in any order", inner=True)
def _sum(flat, maps, j):
    """A neuron before its activation, as a row in x, and the sum of its terms' absolute values."""
    n_in, d = flat.width_0, flat.dimension
    z, g = maps.z[j], maps.z_bound[j]
    for k in range(d + 1):
        z[k] = 0.0
        g[k] = 0.0
    z[OFFSET] = flat.bias[j]
    g[OFFSET] = abs(flat.bias[j])
    for e in range(flat.indptr[j], flat.indptr[j + 1]):
        u, weight = flat.indices[e], flat.weights[e]
        if u >= n_in and maps.constant_output[u - n_in]:
            z[OFFSET] += weight * maps.y[u, OFFSET]
            g[OFFSET] += abs(weight) * maps.y_bound[u, OFFSET]
            continue
        size = abs(weight)
        for k in range(d + 1):
            z[k] += weight * maps.y[u, k]
            g[k] += size * maps.y_bound[u, k]


@kernel(inner=True)
def _sum_finely(flat, maps, j):
    """The same with twice the digits: step 8 of docs/error-bound.md, without an anchor."""
    n_in, d = flat.width_0, flat.dimension
    z, low, g = maps.z[j], maps.z_low[j], maps.z_bound[j]
    for k in range(d + 1):
        z[k] = low[k] = g[k] = 0.0
    z[OFFSET] = flat.bias[j]
    g[OFFSET] = abs(flat.bias[j])
    for e in range(flat.indptr[j], flat.indptr[j + 1]):
        u, weight = flat.indices[e], flat.weights[e]
        size = abs(weight)
        y, rest, bound = maps.y[u], maps.y_low[u], maps.y_bound[u]
        last = 1 if u >= n_in and maps.constant_output[u - n_in] else d + 1
        for k in range(last):  # the offset, and slopes if it has any
            p, q = exact_product(weight, y[k])
            s, t = exact_sum(z[k], p)
            z[k] = s
            low[k] += (t + q) + weight * rest[k]
            g[k] += size * bound[k]
    for k in range(d + 1):
        z[k], low[k] = exact_sum(z[k], low[k])


@kernel
def activate(flat, maps, decided, layer, exact):
    """Read the pieces off the decided cuts, and write the layer's outputs as functions of x."""
    n_in, d = flat.width_0, flat.dimension
    first = flat.first_cut[layer]
    for j in range(flat.first_neuron[layer], flat.first_neuron[layer + 1]):
        p = 0
        for cut in range(flat.neuron_cut[j], flat.neuron_cut[j + 1]):
            lead, side = cut, POSITIVE
            if flat.twin[cut] != cut and not maps.constant[flat.cuts_at + cut]:
                lead, side = flat.twin[cut], NEGATIVE if flat.opposite[cut] else POSITIVE
            if has_bit(decided[side], lead - first):
                p += 1
        maps.piece[j] = p
        if layer == flat.first_neuron.shape[0] - 2:
            continue
        slope, intercept = flat.slopes[j, p], flat.intercepts[j, p]
        maps.constant_output[j] = slope == 0.0
        y, low = maps.y[n_in + j], maps.y_low[n_in + j]
        for k in range(d + 1):
            maps.y_bound[n_in + j, k] = abs(slope) * maps.z_bound[j, k]
            added = intercept if k == OFFSET else 0.0
            if exact:
                s, rest = exact_product(slope, maps.z[j, k])
                rest += slope * maps.z_low[j, k]
                s, more = exact_sum(s, added)
                y[k], low[k] = exact_sum(s, rest + more)
            else:
                y[k] = slope * maps.z[j, k] + added
        maps.y_bound[n_in + j, OFFSET] += abs(intercept)


@kernel(sums="in any order", inner=True)
def signs_of_node(flat, ignored, decided, sign, layer):
    """What the node asks of this layer's cuts, for the linear program."""
    first = flat.first_cut[layer]
    base = flat.cuts_at + first
    for b in range(flat.first_cut[layer + 1] - first):
        value = 0.0
        if not ignored[base + b]:
            if has_bit(decided[POSITIVE], b):
                value = 1.0
            elif has_bit(decided[NEGATIVE], b):
                value = -1.0
        sign[base + b] = value


# mypy: disable-error-code="no-untyped-def"

# --------------------------------------------------------------------------------------------------
# Nodes: what is known, what must be asked, what is found.
# --------------------------------------------------------------------------------------------------


@kernel(sums="in any order", inner=True)
def dictionary_of(table, layer, n_rows):
    """The dictionary of a layer."""
    return Dictionary(
        table.T[layer],
        table.nonbasic[layer],
        table.column_of[layer],
        table.sign[layer],
        n_rows,
        table.halt,
    )


@kernel(sums="in any order")
def begin(flat, work, options, layer):
    """Start a layer on the cell of those before it; its rows are made, constant cuts known."""
    maps, table, tree = work.maps, work.table, work.tree
    d, base = flat.dimension, flat.cuts_at
    first, last = flat.first_cut[layer], flat.first_cut[layer + 1]
    clear(tree.decided[layer])
    for cut in range(first, last):
        if maps.constant[base + cut]:
            side = POSITIVE if maps.rows[base + cut, OFFSET] > 0.0 else NEGATIVE
            set_bit(tree.decided[layer, side], cut - first)
    if layer > work.state[TOP_LAYER]:
        for i in range(base + first):
            table.sign[layer, i] = table.sign[layer - 1, i]
    signs_of_node(flat, maps.ignored, tree.decided[layer], table.sign[layer], layer)
    tree.n_points[layer] = 0
    tree.n_frames[layer] = 0
    for slot in range(SIDES * (last - first)):
        tree.n_farkas[layer, slot] = 0
    tree.node[layer, NODE_START] = 0
    tree.node[layer, NODE_STOP] = 0
    clear(tree.known[layer])
    clear(tree.found)
    table.drift[layer] = 0
    dictionary = dictionary_of(table, layer, base + last)
    load(dictionary, maps.rows)
    if go_to_basis(dictionary, table.start[layer], table.wanted):
        kind = classify(maps, table, options, layer, base + first, base + last, 0, 0.0, tree.found)
        if kind == UNSURE:
            clear(tree.found)  # a point that claims nothing: only its basis is used
    add_point(tree, table, layer, d, options.store)


@kernel(sums="in any order", inner=True)
def solve(flat, work, options, layer, b, s):
    """One linear program: is cut `b` of the layer ever on side -s in the node? False if unsure.

    If not, it is decided, with a new Farkas vector; if so, there is a new point on that side. With
    exact arithmetic nothing is believed that `_proof` has not proved.
    """
    maps, table, tree = work.maps, work.table, work.tree
    d = flat.dimension
    first_row = flat.cuts_at + flat.first_cut[layer]
    n_rows = flat.cuts_at + flat.first_cut[layer + 1]
    h, side = first_row + b, POSITIVE if s > 0.0 else NEGATIVE
    dictionary = dictionary_of(table, layer, n_rows)
    T = dictionary.T
    signs_of_node(flat, maps.ignored, tree.decided[layer], dictionary.sign, layer)
    stale = table.drift[layer] > _FRESH
    if stale:
        load(dictionary, maps.rows)
        table.drift[layer] = 0
    if stale or not feasible(dictionary, options.pivot):
        newest = tree.members[layer, tree.node[layer, NODE_STOP] - 1]
        table.drift[layer] += d
        if not go_to_basis(dictionary, tree.basis[layer, newest], table.wanted):
            table.drift[layer] = _FRESH + 1
            return False
    tidy(maps, table, layer, d, n_rows)
    outcome, pivots, column = minimise(dictionary, h, s, options.pivot)
    work.state[LPS] += 1
    work.state[PIVOTS] += pivots
    work.state[COST] += pivots
    table.drift[layer] += pivots
    if outcome == OPTIMAL:
        count = reasons(table, tree, layer, d, h, first_row, options.pivot)
        if (
            options.exact
            and not (count == d and proves_in_x(maps, table, layer, d, h, s))
            and not proves(flat, maps, table, work.farkas, layer, h, s, count)
        ):
            return False
        add_farkas(tree, layer, b, side)
        set_bit(tree.decided[layer, side], b)
        return True
    if outcome == CROSSED:
        table.drift[layer] += absorb(dictionary, maps.ignored, first_row)
    elif outcome != PASSED:
        return False
    kind = classify(maps, table, options, layer, first_row, n_rows, 0, 0.0, tree.found)
    if kind == UNSURE:
        return False
    if kind != SIMPLE and outcome == CROSSED:
        # Several boundaries meet here: look at a point on the edge that leads beyond this one.
        step, _ = ratio(dictionary, column, -s, h, options.pivot)
        step = 0.5 * step if step < np.inf else 1.0 + abs(T[VALUE, h])
        kind = classify(
            maps, table, options, layer, first_row, n_rows, column, -s * step, tree.found
        )
        if kind == UNSURE:
            return False
    if not (has_bit(tree.found[1 - side], b) or has_bit(tree.found[BOTH], b)):
        return False
    add_point(tree, table, layer, d, options.store)
    return True


@kernel(sums="in any order", inner=True)
def solve_finely(flat, work, options, layer, b, s):
    """The same linear program with more digits; False if these are not enough."""
    maps, table, tree, finer = work.maps, work.table, work.tree, work.finer
    d = flat.dimension
    first_row = flat.cuts_at + flat.first_cut[layer]
    n_rows = flat.cuts_at + flat.first_cut[layer + 1]
    h, side = first_row + b, POSITIVE if s > 0.0 else NEGATIVE
    if len(flat.whole.moduli.primes) == 0:
        return False  # and there is no room
    for i in range(n_rows):
        finer.sign[i] = table.sign[layer, i]
    outcome, turns = decide(
        flat.whole,
        work.residues,
        finer,
        maps,
        table.nonbasic[layer],
        table.halt,
        options.exact,
        layer,
        first_row,
        n_rows,
        h,
        s,
    )
    work.state[COST] += turns
    if outcome == UNKNOWN:
        return False
    work.state[FINER] += 1
    clear(tree.found)
    if outcome == FORCED:
        for c in range(1, d + 1):
            row = finer.nonbasic[c]
            if row >= first_row and finer.modular[c, h] != 0.0:
                on = POSITIVE if finer.sign[row] > 0.0 else NEGATIVE
                set_bit(tree.found[on], row - first_row)
        add_farkas(tree, layer, b, side)
        set_bit(tree.decided[layer, side], b)
        return True
    _signs_there(maps, finer, tree, first_row, n_rows)
    leave_extra(finer, n_rows, h, s)
    dictionary = dictionary_of(table, layer, n_rows)
    load(dictionary, maps.rows)
    table.drift[layer] = d
    for c in range(1, d + 1):
        table.basis[c - 1] = finer.nonbasic[c]
    if not go_to_basis(dictionary, table.basis, table.wanted):
        table.drift[layer] = STALE
        for c in range(1, d + 1):
            table.nonbasic[layer, c] = finer.nonbasic[c]
    add_point(tree, table, layer, d, options.store)
    if simple(finer, maps.ignored, d, first_row, n_rows):
        clear(tree.found)
        _signs_there(maps, finer, tree, first_row, n_rows)
        for c in range(1, d + 1):
            if finer.nonbasic[c] >= first_row:
                set_bit(tree.found[BOTH], finer.nonbasic[c] - first_row)
        add_point(tree, table, layer, d, options.store)
    return True


@kernel(sums="in any order", inner=True)
def _signs_there(maps, finer, tree, first_row, n_rows):
    """Masks of the layer's cuts that are not 0 at the vertex of a finer dictionary."""
    for i in range(first_row, n_rows):
        if finer.high[VALUE, i] != 0.0 and not maps.ignored[i]:
            on = POSITIVE if finer.high[VALUE, i] > 0.0 else NEGATIVE
            set_bit(tree.found[on], i - first_row)


@kernel(sums="in any order", inner=True)
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
                set_bit(tree.found[POSITIVE if sign[row] > 0.0 else NEGATIVE], row - first_row)
    return count


@kernel(sums="in any order", inner=True)
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
        scale = max(scale, abs(edges[VALUE, k]))
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
            value, rate = maps.rows[i, OFFSET], 0.0
            for k in range(d):
                value += maps.rows[i, SLOPE + k] * edges[VALUE, k]
                rate += maps.rows[i, SLOPE + k] * direction[k]
            if sign[i] * rate < -_SLOW:
                step = min(step, max(sign[i] * value, 0.0) / (-sign[i] * rate))
    step = 0.5 * step if step < np.inf else 1.0 + scale
    for k in range(d):
        x[k] = edges[VALUE, k] + step * direction[k]
    margin = np.inf
    for i in range(d, n_rows):
        if sign[i] != 0.0:
            value, size = maps.rows[i, OFFSET], maps.bounds[i, OFFSET]
            for k in range(d):
                value += maps.rows[i, SLOPE + k] * x[k]
                size += maps.bounds[i, SLOPE + k] * abs(x[k])
            margin = min(margin, sign[i] * value / size if size > 0.0 else 0.0)
    if not margin > best:
        return best
    for k in range(d):
        out[k] = x[k]
    return margin


@kernel(sums="in any order", inner=True)
def emit(flat, work, layer, free, point):
    """Write the 2^free leaves around a simple vertex at which all undecided cuts meet.

    Or one leaf (`free` = 0), with a witness from any of its points (`point` = -1).
    """
    maps, table, tree, out = work.maps, work.table, work.tree, work.out
    decided, all_bits = tree.decided[layer], tree.all_bits[layer]
    n_rows = maps.rows.shape[0]
    for number in range(1 << free):
        position = 0
        for w in range(all_bits.shape[0]):
            tree.pending[w] = all_bits[w] & ~(decided[POSITIVE, w] | decided[NEGATIVE, w])
            todo = tree.pending[w]
            while todo != ZERO:
                decided[(number >> position) & 1, w] |= todo & (~todo + ONE)
                todo &= todo - ONE
                position += 1
        activate(flat, maps, decided, layer, False)  # the last layer: only its pieces
        signs_of_node(flat, maps.ignored, decided, table.sign[layer], layer)
        k = work.state[EMITTED]
        for j in range(maps.piece.shape[0]):
            out.patterns[k, j] = maps.piece[j]
        for c in range(out.witnesses.shape[1]):
            out.witnesses[k, c] = 0.0  # in case none of the points has a margin
        best, q = 0.0, tree.node[layer, NODE_START]
        stop, p = min(tree.node[layer, NODE_STOP], q + _TRIED), point
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
            decided[POSITIVE, w] &= ~tree.pending[w]
            decided[NEGATIVE, w] &= ~tree.pending[w]


@kernel(sums="in any order", inner=True)
def next_question(tree, state, layer):
    """An undecided cut with no known points on both sides, or -1; Farkas vectors are used up first.

    Returns the cut, and the side on which it has points (+1 if there are none).
    """
    decided, known, all_bits = tree.decided[layer], tree.known[layer], tree.all_bits[layer]
    for w in range(all_bits.shape[0]):
        while True:
            todo = all_bits[w] & ~(decided[POSITIVE, w] | decided[NEGATIVE, w])
            todo &= ~(known[POSITIVE, w] & known[NEGATIVE, w])
            if todo == ZERO:
                break
            b = 64 * w + lowest_bit(todo)
            positive, negative = has_bit(known[POSITIVE], b), has_bit(known[NEGATIVE], b)
            if not negative and forced(tree, layer, b, POSITIVE):
                set_bit(decided[POSITIVE], b)
            elif not positive and forced(tree, layer, b, NEGATIVE):
                set_bit(decided[NEGATIVE], b)
            else:
                return b, -1.0 if negative else 1.0
            state[BY_FARKAS] += 1
    return -1, 0.0


@kernel(sums="in any order")
def run(flat, work, options, limit_cost, limit_visits):
    """Go on until all is done, a budget is used up, a buffer is full or help is needed.

    The cost is that of regions and pivots: it is the same whenever a unit is run, and
    the time that it takes nearly is.
    """
    state, tree = work.state, work.tree
    d = flat.dimension
    last_layer = flat.first_neuron.shape[0] - 2
    stop_visits = state[VISITS] + limit_visits
    while True:
        layer, phase = state[LAYER], state[PHASE]
        free, point, cut = 0, -1, -1
        if phase == ENTER:
            unsure = compose(flat, work, layer, options)
            if unsure >= 0 and options.exact:
                return NEED_CONSTANT
            begin(flat, work, options, layer)
            state[PHASE] = NODE
            if is_set(work.table.halt):
                return PAUSE
            continue
        if phase == NODE:
            state[VISITS] += 1
            if state[VISITS] >= stop_visits:
                return PAUSE
            n_cuts = flat.first_cut[layer + 1] - flat.first_cut[layer]
            capacity = tree.masks.shape[1]
            if (
                capacity - tree.n_points[layer] < 2 * n_cuts + 2
                or tree.members.shape[1] - tree.node[layer, NODE_STOP] < 2 * capacity
            ):
                return GROW
            while True:
                b, s = next_question(tree, state, layer)
                if b < 0:
                    break
                if is_set(work.table.halt):
                    return PAUSE
                if not solve(flat, work, options, layer, b, s):
                    if solve_finely(flat, work, options, layer, b, s):
                        continue
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
            activate(flat, work.maps, tree.decided[layer], layer, options.exact)
            signs_of_node(
                flat, work.maps.ignored, tree.decided[layer], work.table.sign[layer], layer
            )
            p = tree.members[layer, tree.node[layer, NODE_START]]
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
            emit(flat, work, layer, free, point)
            state[PHASE] = BACK
