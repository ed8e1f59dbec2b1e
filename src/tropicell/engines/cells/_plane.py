"""Polygons: how cells in two dimensions are tested, cut and handed out by the search (`_search`).

A cell is a list of corners in counter-clockwise order. Corner i has a vertex (x, y, w), whose
absolute coordinates add up to 1, and the edge from it to the next corner: the row a with
``a · v >= 0`` inside, largest coefficient 1, and its label. ``w = 0`` for rays; the line at
infinity is an edge like any other. For the columns of a corner see `_state`.

The stack of cells lies in flat arrays, the top cell last, so that a cell is replaced by its two
halves in place. Steps are those of docs/error-bound.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tropicell._runtime.jit import (
    kernel,
    template,
)
from tropicell.engines.cells._bounds import (
    PLANE_ROUNDINGS,
    inside_bound,
    scaled_corner_error,
    scaled_row_error,
    sign_bound,
)
from tropicell.engines.cells._focus import enter_focus
from tropicell.engines.cells._signs import (
    BOUND,
    HIGH,
    LOW_HALF,
    UNKNOWN,
    few_sources,
    fine_corner,
    fine_sign,
    is_facet,
    is_zero_there,
    sign_of_bias,
    sources_vanish,
    zero_columns,
    zero_columns_of,
)
from tropicell.engines.cells._state import (
    AT_INFINITY,
    CONFLICT_AT,
    CONFLICTS,
    COORDINATES,
    CORNER_AT,
    CORNERS,
    CROSSES,
    CUT_ROOM,
    DOUBTFUL,
    EDGE_ERROR,
    EDGE_W,
    EDGE_X,
    EDGE_Y,
    ERROR,
    IN_DOUBT,
    LAYER,
    N_CONFLICTS,
    N_CORNERS,
    NEGATIVE,
    OUT,
    OUT_CORNERS,
    OUT_FACETS,
    PATTERNS,
    PIECES_AT,
    POLYGON_SIZE,
    POSITIVE,
    SEED,
    SIDES,
    SIDES_OF_MORE,
    SPLITS,
    TESTS,
    TOP,
    W,
    X,
    Y,
)
from tropicell.geometry.rounding import INFLATE, ROUND
from tropicell.network._layer_maps import enter_layer, enter_layers

#: Vertices of stored regions are at least this sharp, relative to the scaled coordinates: step 6.
_SHARP = 1e-7


# --- a cell on the stack --------------------------------------------------------------------------


@kernel(inner=True)
def seed_fits(stack: Any, seeds: Any, k: int) -> bool:
    """Whether there is room for a seed on the empty stack."""
    n = seeds.facet_ends[k] - (seeds.facet_ends[k - 1] if k else 0)
    return bool(n + CUT_ROOM <= len(stack.corners) and n + CUT_ROOM <= len(stack.old_corners))


@kernel(inner=True)
def plant(flat: Any, current: Any, stack: Any, seeds: Any, options: Any, state: Any) -> None:
    """Put the next seed on the empty stack; the maps are those of its pattern."""
    k, record, lines, before = state[SEED], stack.records[0], flat.lines, current.before
    first = seeds.facet_ends[k - 1] if k else 0
    n = seeds.facet_ends[k] - first
    p = stack.corners
    for i in range(n):
        stack.tags[i] = seeds.labels[first + i]
        edge_row(lines, before, stack.tags[i], options.exact, p, i)
    for i in range(n):
        meet(p, i - 1 if i else n - 1, i, 1.0, i)
        p[i, AT_INFINITY] = seeds.signs[first + i]
        if not options.exact:
            p[i, ERROR] = options.tolerance
    record[N_CORNERS], record[CORNER_AT], record[CONFLICT_AT], record[PIECES_AT] = n, 0, 0, 0
    state[TOP] = 1
    state[CORNERS] = n
    state[SEED] += 1


@kernel(inner=True)
def n_facets(record: Any) -> int:
    """Number of edges of a cell."""
    return int(record[N_CORNERS])


@kernel(inner=True)
def facet_label(stack: Any, record: Any, i: int) -> int:
    """Label of an edge of a cell."""
    return int(stack.tags[record[CORNER_AT] + i])


# --- on which sides of boundaries a cell lies -----------------------------------------------------


@kernel(inner=True)
def scan(lines: Any, before: Any, layer: int, stack: Any, poly: Any, start: int, n: int) -> None:
    """Fill ``stack.sides`` for some corners; 0 means that the neuron needs a closer look."""
    begin, end = lines.row_start[layer], lines.row_start[layer + 1]
    # In float arithmetic the errors are 0.
    rows = (
        before[X, begin:end],
        before[Y, begin:end],
        before[W, begin:end],
        before[ERROR, begin:end],
    )
    _scan(rows, stack, poly, start, n)


@kernel(inner=True)
def _scan(rows: Any, stack: Any, poly: Any, start: int, n: int) -> None:
    """The same for the columns of some rows, and their errors."""
    width, eps = len(rows[0]), 0.0
    for i in range(start, start + n):
        eps = max(eps, poly[i, ERROR])
    sides = stack.sides[SIDES, :width]
    _scan_four(rows, poly, start, start + min(n, 4) - 1, eps, sides)
    for i in range(4, n, 4):
        more = stack.sides[SIDES_OF_MORE, :width]
        _scan_four(rows, poly, start + i, start + min(n, i + 4) - 1, eps, more)
        for r in range(width):
            sides[r] = sides[r] if sides[r] == more[r] else 0.0


@kernel(sums="fused", inner=True)
def _scan_four(rows: Any, poly: Any, first: int, last: int, eps: float, to: Any) -> None:
    """Sides of all neurons of a plain layer for the (at most four) corners first … last: step 3.

    `rows` has the columns of their rows, and the errors of these. Writes 1 where all values are
    surely positive, -1 where surely negative, 0 elsewhere. One array is written, so that
    the loop becomes vector code.
    """
    m0, m1, m2, m3 = rows
    b, c, d = min(first + 1, last), min(first + 2, last), last
    a0, a1, a2 = poly[first, X], poly[first, Y], poly[first, W]
    b0, b1, b2 = poly[b, X], poly[b, Y], poly[b, W]
    c0, c1, c2 = poly[c, X], poly[c, Y], poly[c, W]
    d0, d1, d2 = poly[d, X], poly[d, Y], poly[d, W]
    for r in range(len(to)):
        x, y, z = m0[r], m1[r], m2[r]
        size, error = abs(x) + abs(y) + abs(z), m3[r]
        bound = sign_bound(size, error, eps, 2, PLANE_ROUNDINGS)
        va = x * a0 + y * a1 + z * a2
        vb = x * b0 + y * b1 + z * b2
        vc = x * c0 + y * c1 + z * c2
        vd = x * d0 + y * d1 + z * d2
        low1 = va if va < vb else vb
        low2 = vc if vc < vd else vd
        low = low1 if low1 < low2 else low2
        high1 = va if va > vb else vb
        high2 = vc if vc > vd else vd
        high = high1 if high1 > high2 else high2
        to[r] = (1.0 if low > bound else 0.0) - (1.0 if high < -bound else 0.0)


@kernel(inner=True)
def side(lines: Any, before: Any, line: int, poly: Any, start: int, n: int, exact: bool) -> int:
    """On which sides of a boundary the corners of a cell lie, as a set of bits: steps 3 and 4."""
    m0, m1, m2, error = _row(lines, before, line, exact)
    size = abs(m0) + abs(m1) + abs(m2)
    seen = 0
    for i in range(start, start + n):
        s = m0 * poly[i, X] + m1 * poly[i, Y] + m2 * poly[i, W]
        bound = sign_bound(size, error, poly[i, ERROR], 2, PLANE_ROUNDINGS)
        if s > bound:
            seen |= POSITIVE
        elif s < -bound:
            seen |= NEGATIVE
        else:
            seen |= DOUBTFUL
        if seen & CROSSES == CROSSES:
            return CROSSES
    if seen & DOUBTFUL:
        if not exact:
            return seen & CROSSES
        if is_constant(lines, before, line):
            return POSITIVE if m2 > 0.0 else NEGATIVE
    return seen


@kernel(inner=True)
def is_constant(lines: Any, before: Any, line: int) -> bool:
    """Step 1, constant neurons: nothing was summed, bias and breakpoint are both floats."""
    row = lines.line_row[line]
    return bool(before[X, row] == 0.0 and before[Y, row] == 0.0 and before[ERROR, row] == 0.0)


# What `in_doubt` is asked for.
_SIDES_OF_LINE, _SIGNS_OF_LINE, _OTHERS_OF_LAYER = 0, 1, 2


@kernel(late=True)
def in_doubt(
    flat: Any, current: Any, stack: Any, asked: int, number: int, start: int, n: int
) -> int:
    """What float64 leaves in doubt, compiled when a search gets there: steps 6 and 7.

    `number` is that of a boundary for `_decide` and `_decide_signs`, of a layer for `_copy_others`.
    """
    if asked == _SIDES_OF_LINE:
        return _decide(flat, current, stack, number, start, n)
    if asked == _SIGNS_OF_LINE:
        return int(_decide_signs(flat, current, stack, number, start, n))
    return _copy_others(flat, current, stack, number, start, n)


@kernel(inner=True)
def _decide(flat: Any, current: Any, stack: Any, line: int, start: int, n: int) -> int:
    """The same where a sign is in doubt, with as many digits as it takes: steps 6 and 7.

    `DOUBTFUL` is left only where even that does not suffice.
    """
    seen = 0
    for i in range(n):
        s = _corner_sign(flat, current, stack, line, start, n, i)
        if s == UNKNOWN:
            seen |= DOUBTFUL
        elif s != 0:
            seen |= POSITIVE if s > 0 else NEGATIVE
        if seen & CROSSES == CROSSES:
            return CROSSES
    return seen if seen else NEGATIVE  # a row that is 0 on the whole cell


@kernel(inner=True)
def _corner_sign(flat: Any, current: Any, stack: Any, line: int, start: int, n: int, i: int) -> int:
    """The sign of a boundary's row at corner i of a cell: step 3, and 6 or 7 where needed."""
    lines, poly, fine, k = flat.lines, stack.corners, stack.fine, start + i
    m0, m1, m2, error = _row(lines, current.before, line, True)
    size = abs(m0) + abs(m1) + abs(m2)
    s = m0 * poly[k, X] + m1 * poly[k, Y] + m2 * poly[k, W]
    bound = sign_bound(size, error, poly[k, ERROR], 2, PLANE_ROUNDINGS)
    if s > bound:
        return 1
    if s < -bound:
        return -1
    fine.facets[0], fine.facets[1] = stack.tags[k - 1 if i else start + n - 1], stack.tags[k]
    if is_facet(lines, fine, line):
        return 0
    if is_zero_there(lines, current, line, zero_columns(lines, current, fine)):
        return 0
    if few_sources(flat, current, fine, lines.line_layer[line]):
        return 0
    # With a focus, only its neurons have outputs.
    if not stack.focus.on and sources_vanish(flat, current, fine, lines.line_layer[line]):
        known = sign_of_bias(flat, fine, line, int(poly[k, W] > poly[k, ERROR]))
        if known != UNKNOWN:
            return int(known)
    fine_corner(lines, current, fine)
    return int(fine_sign(flat, current, fine, line))


@kernel(inner=True)
def _copy_others(flat: Any, current: Any, stack: Any, layer: int, start: int, n: int) -> int:
    """Copy the corners at which not all rows of a layer are known to be 0; returns how many.

    At the others (where boundaries of a network without biases meet, or those of few sources) no
    boundary of the layer is on any side, so these say nothing.
    """
    lines, fine, to = flat.lines, stack.fine, stack.old_corners
    if n > len(to):
        return n
    zero = zero_columns_of(lines, current, layer)
    kept = 0
    for i in range(n):
        k = start + i
        fine.facets[0], fine.facets[1] = stack.tags[k - 1 if i else start + n - 1], stack.tags[k]
        known = zero != 0 and zero & zero_columns(lines, current, fine) != 0
        if not known and not few_sources(flat, current, fine, layer):
            for c in range(stack.corners.shape[1]):
                to[kept, c] = stack.corners[k, c]
            kept += 1
    return kept


@kernel(inner=True)
def pair(lines: Any, before: Any, line: int, poly: Any, i: int, j: int, exact: bool) -> int:
    """Sides of two corners, step 3: POSITIVE or NEGATIVE if surely the same, else CROSSES or 0."""
    m0, m1, m2, error = _row(lines, before, line, exact)
    size = abs(m0) + abs(m1) + abs(m2)
    eps = max(poly[i, ERROR], poly[j, ERROR])
    bound = sign_bound(size, error, eps, 2, PLANE_ROUNDINGS)
    a = m0 * poly[i, X] + m1 * poly[i, Y] + m2 * poly[i, W]
    b = m0 * poly[j, X] + m1 * poly[j, Y] + m2 * poly[j, W]
    if a > bound:
        return POSITIVE if b > bound else (CROSSES if b < -bound else 0)
    if a < -bound:
        return NEGATIVE if b < -bound else (CROSSES if b > bound else 0)
    return 0


@kernel(inner=True)
def signs(lines: Any, before: Any, line: int, stack: Any, start: int, n: int, exact: bool) -> bool:
    """Fill ``stack.values`` with a boundary's row at all corners; False if a sign is doubtful.

    Steps 3 and 4: a cell is cut only where all signs are certain. In float arithmetic doubtful
    values are 0, and False says that the signs do not make one run of each kind.
    """
    poly, values = stack.corners, stack.values
    m0, m1, m2, error = _row(lines, before, line, exact)
    size = abs(m0) + abs(m1) + abs(m2)
    for i in range(n):
        k = start + i
        s = m0 * poly[k, X] + m1 * poly[k, Y] + m2 * poly[k, W]
        bound = sign_bound(size, error, poly[k, ERROR], 2, PLANE_ROUNDINGS)
        if not (s > bound or s < -bound):
            if exact:
                return False
            s = 0.0
        values[i] = s
    if exact:
        return True
    rises = falls = 0
    for i in range(n):
        before_i = values[i - 1] if i else values[n - 1]
        rises += values[i] > 0.0 and before_i <= 0.0
        falls += values[i] < 0.0 and before_i >= 0.0
    return rises == 1 and falls == 1


@kernel(inner=True)
def _decide_signs(flat: Any, current: Any, stack: Any, line: int, start: int, n: int) -> bool:
    """The same where a sign is in doubt; False if one can't be worked out."""
    for i in range(n):
        s = _corner_sign(flat, current, stack, line, start, n, i)
        if s == UNKNOWN:
            return False
        stack.values[i] = float(s)
    return True


@template
def _row(lines: Any, before: Any, line: int, exact: bool) -> tuple[float, float, float, float]:
    """The row of a neuron's boundary, R - t, and its error e: step 1.

    In float arithmetic bounds have no part that comes from the maps.
    """
    row = lines.line_row[line]
    error = before[ERROR, row] if exact else 0.0
    return before[X, row], before[Y, row], before[W, row] - lines.line_at[line], error


@kernel(inner=True)
def enter_all(flat: Any, current: Any, stack: Any, pieces: Any, layers: int, exact: bool) -> None:
    """Make the maps of the first layers anew, from the pieces of all of them."""
    enter_layers(flat.maps, current, pieces, layers, exact)


@kernel(inner=True)
def enter(flat: Any, current: Any, layer: int, stack: Any, at: int, exact: bool) -> None:
    """Fix the pieces of a layer, ``stack.patterns[at]`` …, and make the rows of the next one."""
    enter_layer(flat.maps, current, layer, stack.patterns, at, exact)


@kernel(inner=True)
def enter_all_focused(
    flat: Any, current: Any, stack: Any, pieces: Any, layers: int, exact: bool
) -> None:
    """`enter_all` for the neurons in the focus, if there is one."""
    if not stack.focus.on:
        enter_layers(flat.maps, current, pieces, layers, exact)
        return
    row_start = flat.maps.row_start
    for layer in range(layers):
        at = row_start[layer] - row_start[1]
        enter_focus(flat.maps, current, stack.focus, layer, pieces, at, exact)


@kernel(inner=True)
def enter_focused(flat: Any, current: Any, layer: int, stack: Any, at: int, exact: bool) -> None:
    """`enter` for the neurons in the focus, if there is one."""
    if stack.focus.on:
        enter_focus(flat.maps, current, stack.focus, layer, stack.patterns, at, exact)
    else:
        enter_layer(flat.maps, current, layer, stack.patterns, at, exact)


@kernel(inner=True)
def start_layer(flat: Any, current: Any, layer: int, stack: Any, options: Any, state: Any) -> None:
    """Let the top cell enter `layer`: find the boundaries that cross it."""
    lines, before, focus, exact = flat.lines, current.before, stack.focus, options.exact
    record = stack.records[state[TOP] - 1]
    start, n = record[CORNER_AT], record[N_CORNERS]
    conflict, pattern = record[CONFLICT_AT], record[PIECES_AT]
    begin = lines.row_start[layer]
    width = lines.row_start[layer + 1] - begin
    pieces = stack.patterns[pattern : pattern + width]
    first, last = lines.line_start[layer], lines.line_start[layer + 1]
    focused, plain = focus.on, lines.plain[layer]
    sides = stack.sides[SIDES]
    if focused:
        fixed = focus.fixed[begin - lines.row_start[1] :]
        for j in range(width):
            pieces[j] = fixed[j]
        at, last = focus.start[focus.now[0], layer], focus.start[focus.now[0], layer + 1]
        for k in range(at, last):
            pieces[focus.rows[k] - begin] = 0
        last = first + last - at
        scan_focus(focus, layer, stack, stack.corners, start, n)
    else:
        at = 0
        pieces[:] = 0
        if plain:
            scan(lines, before, layer, stack, stack.corners, start, n)
    state[TESTS] += n * (last - first)
    count, doubtful, others = 0, 0, -1
    for k in range(first, last):
        r, line = k - first, k
        if focused:  # a network with a focus is plain: neurons have one boundary each
            line = first + focus.rows[at + r] - begin
        if plain and sides[r] != 0.0:
            pieces[line - first] = sides[r] > 0.0
            continue
        seen = side(lines, before, line, stack.corners, start, n, exact)
        if exact and seen & DOUBTFUL:
            if others < 0:
                # Nearly always a layer has no doubt, so only now.
                others = in_doubt(flat, current, stack, _OTHERS_OF_LAYER, layer, start, n)
                if plain and 0 < others < n:
                    if focused:
                        scan_focus(focus, layer, stack, stack.old_corners, 0, others)
                    else:
                        scan(lines, before, layer, stack, stack.old_corners, 0, others)
                    if sides[r] != 0.0:
                        pieces[line - first] = sides[r] > 0.0
                        continue
            if others == 0:
                seen = NEGATIVE  # a row that is 0 on the whole cell
            elif others < n:
                seen = side(lines, before, line, stack.old_corners, 0, others, exact)
            if seen & DOUBTFUL:
                seen = in_doubt(flat, current, stack, _SIDES_OF_LINE, line, start, n)
        if seen == POSITIVE:
            pieces[lines.line_row[line] - begin] += 1
        elif seen & CROSSES == CROSSES:
            stack.conflicts[conflict + count] = line
            count += 1
        elif seen & DOUBTFUL:
            # A cell that comes from within the layer has facets on some of its boundaries.
            known = 0
            for i in range(n_facets(record)):
                label = facet_label(stack, record, i)
                if abs(label) == line + 1:
                    known = label
            if known > 0:
                pieces[lines.line_row[line] - begin] += 1
            elif known == 0:
                stack.conflicts[conflict + count] = line
                count += 1
                doubtful = 1
    record[LAYER] = layer
    record[N_CONFLICTS] = count
    record[IN_DOUBT] = doubtful
    state[CONFLICTS] = conflict + count
    state[PATTERNS] = pattern + width


@kernel(inner=True)
def scan_focus(focus: Any, layer: int, stack: Any, poly: Any, start: int, n: int) -> None:
    """`scan` for the neurons of a layer that are in the focus."""
    level = focus.now[0]
    begin, end = focus.start[level, layer], focus.start[level, layer + 1]
    rows = (
        focus.compact[X, begin:end],
        focus.compact[Y, begin:end],
        focus.compact[W, begin:end],
        focus.compact[len(focus.compact) - 1, begin:end],
    )
    _scan(rows, stack, poly, start, n)


# --- cutting a cell in two ------------------------------------------------------------------------


@kernel(inner=True)
def split(flat: Any, current: Any, stack: Any, options: Any, state: Any) -> bool:
    """Cut the top cell by the last boundary of its conflict list; False if there is no room."""
    lines, before = flat.lines, current.before
    exact, top = options.exact, state[TOP] - 1
    record, other = stack.records[top], stack.records[top + 1]
    layer, start, n = record[LAYER], record[CORNER_AT], record[N_CORNERS]
    conflict, count, pattern = record[CONFLICT_AT], record[N_CONFLICTS], record[PIECES_AT]
    if state[CORNERS] + CUT_ROOM > len(stack.corners) or n + CUT_ROOM > len(stack.old_corners):
        return False
    begin = lines.row_start[layer]
    width = lines.row_start[layer + 1] - begin
    line = stack.conflicts[conflict + count - 1]
    neuron = lines.line_row[line] - begin
    state[TESTS] += n
    certain = signs(lines, before, line, stack, start, n, exact)
    if exact and not certain and not in_doubt(flat, current, stack, _SIGNS_OF_LINE, line, start, n):
        record[IN_DOUBT] = 1
        return True
    if not exact and not certain:
        # In float arithmetic rounding made nonsense of a boundary that barely touches the cell: it
        # does not cross.
        total = 0.0
        for i in range(n):
            total += stack.values[i]
        stack.patterns[pattern + neuron] += total > 0.0
        record[N_CONFLICTS] = count - 1
        state[CONFLICTS] -= 1
        return True
    state[SPLITS] += 1
    np_, nn = _halve(lines, before, line, stack, start, n, exact, options.tolerance)
    # A count does not need the pieces of the last layer.
    keep = options.store or layer < lines.depth
    if keep:
        for j in range(width):
            stack.patterns[pattern + width + j] = stack.patterns[pattern + j]
        stack.patterns[pattern + neuron] += 1
    kept, handed = 0, 0
    doubtful_p, doubtful_n = 0, 0
    enter, leave = start, start + np_ - 1  # the ends of the cut
    for k in range(count - 1):
        line = stack.conflicts[conflict + k]
        ends = pair(lines, before, line, stack.corners, enter, leave, exact)
        if ends == CROSSES:
            seen = seen_n = CROSSES
        elif ends == 0:
            seen = side(lines, before, line, stack.corners, start, np_, exact)
            seen_n = side(lines, before, line, stack.corners, start + np_, nn, exact)
            if seen & DOUBTFUL:
                seen = in_doubt(flat, current, stack, _SIDES_OF_LINE, line, start, np_)
            if seen_n & DOUBTFUL:
                seen_n = in_doubt(flat, current, stack, _SIDES_OF_LINE, line, start + np_, nn)
        else:
            # Step 4: the boundary crosses the whole cell but not the cut, so exactly one of the
            # halves, and the other one lies on the side of the cut.
            seen = side(lines, before, line, stack.corners, start + 1, np_ - 2, exact)
            if seen & DOUBTFUL and exact:
                seen = in_doubt(flat, current, stack, _SIDES_OF_LINE, line, start, np_)
            if (seen | ends) & CROSSES == CROSSES:
                seen, seen_n = CROSSES, ends
            elif seen & DOUBTFUL:
                seen_n = DOUBTFUL
            else:
                seen, seen_n = ends, CROSSES
        if seen & CROSSES == CROSSES:
            stack.conflicts[conflict + kept] = line
            kept += 1
        elif seen & DOUBTFUL:
            stack.conflicts[conflict + kept] = line
            kept += 1
            doubtful_p = 1
        elif seen == POSITIVE and keep:
            stack.patterns[pattern + lines.line_row[line] - begin] += 1
        if seen_n & CROSSES == CROSSES:
            stack.handed[handed] = line
            handed += 1
        elif seen_n & DOUBTFUL:
            stack.handed[handed] = line
            handed += 1
            doubtful_n = 1
        elif seen_n == POSITIVE and keep:
            stack.patterns[pattern + width + lines.line_row[line] - begin] += 1
    state[TESTS] += (count - 1) * (np_ + nn)
    for k in range(handed):
        stack.conflicts[conflict + kept + k] = stack.handed[k]
    record[N_CORNERS], record[N_CONFLICTS], record[IN_DOUBT] = np_, kept, doubtful_p
    other[LAYER], other[PIECES_AT], other[IN_DOUBT] = layer, pattern + width, doubtful_n
    other[CORNER_AT], other[N_CORNERS] = start + np_, nn
    other[CONFLICT_AT], other[N_CONFLICTS] = conflict + kept, handed
    state[TOP] += 1
    state[CORNERS] = start + np_ + nn
    state[CONFLICTS] = conflict + kept + handed
    state[PATTERNS] = pattern + 2 * width
    return True


@kernel(inner=True)
def _halve(
    lines: Any, before: Any, line: int, stack: Any, start: int, n: int, exact: bool, tol: float
) -> tuple[int, int]:
    """Replace the cell at `start` by its positive half and, right after it, its negative half.

    ``stack.values`` holds the boundary's row at the corners, one run of each sign. Returns the
    numbers of corners of the halves.
    """
    poly, labels, values = stack.corners, stack.tags, stack.values
    old, old_labels = stack.old_corners, stack.old_tags
    for i in range(n):
        _copy_corner(poly, labels, start + i, old, old_labels, i)
    # a … b are the positive corners, c … e the negative ones, in cyclic order.
    a = b = c = e = 0
    for i in range(n):
        last = i - 1 if i else n - 1
        if values[i] > 0.0 and values[last] <= 0.0:
            a = i
        if values[i] <= 0.0 and values[last] > 0.0:
            b = last
        if values[i] < 0.0 and values[last] >= 0.0:
            c = i
        if values[i] >= 0.0 and values[last] < 0.0:
            e = last
    into, out = (a - 1 if a else n - 1), b  # the edges that the cut crosses, or ends at
    # Behind the old corners: the cut's edge, the vertex where it enters the positive half, and that
    # where it leaves it.
    row, enter, leave = n, n + 1, n + 2
    edge_row(lines, before, line + 1, exact, old, row)
    # Step 2: a vertex is derived anew from its two edges; their order decides the sign of a × b.
    if values[into] == 0.0:
        _copy_vertex(old, into, old, enter)
    elif exact:
        meet(old, row, into, 1.0, enter)
    else:
        between(old, into, values[into], a, values[a], tol, enter)
    if values[into] != 0.0:
        old[enter, AT_INFINITY] = old[into, AT_INFINITY] * old[a, AT_INFINITY]
    after_b = b + 1 if b + 1 < n else 0
    if values[after_b] == 0.0:
        _copy_vertex(old, after_b, old, leave)
    elif exact:
        meet(old, row, out, -1.0, leave)
    else:
        between(old, b, values[b], after_b, values[after_b], tol, leave)
    if values[after_b] != 0.0:
        old[leave, AT_INFINITY] = old[b, AT_INFINITY] * old[after_b, AT_INFINITY]
    # The positive half: enter, a … b, leave.
    k = start
    _copy_vertex(old, enter, poly, k)
    _copy_edge(old, old_labels, into, poly, labels, k)
    k += 1
    i = a
    while True:
        _copy_corner(old, old_labels, i, poly, labels, k)
        k += 1
        if i == b:
            break
        i = i + 1 if i + 1 < n else 0
    _copy_vertex(old, leave, poly, k)
    _copy_edge(old, old_labels, row, poly, labels, k)
    labels[k] = line + 1
    k += 1
    positive = k - start
    # The negative half: leave (or the last of several zeros), c … e, enter (or the first zero).
    before_c = c - 1 if c else n - 1
    if values[before_c] == 0.0:
        _copy_corner(old, old_labels, before_c, poly, labels, k)
    else:
        _copy_vertex(old, leave, poly, k)
        _copy_edge(old, old_labels, out, poly, labels, k)
    k += 1
    i = c
    while True:
        _copy_corner(old, old_labels, i, poly, labels, k)
        k += 1
        if i == e:
            break
        i = i + 1 if i + 1 < n else 0
    after_e = e + 1 if e + 1 < n else 0
    _copy_vertex(old, after_e if values[after_e] == 0.0 else enter, poly, k)
    for col in range(EDGE_X, EDGE_ERROR):
        poly[k, col] = -old[row, col]
    poly[k, EDGE_ERROR] = old[row, EDGE_ERROR]
    labels[k] = -(line + 1)
    k += 1
    return positive, k - start - positive


@kernel(inner=True)
def _copy_corner(source: Any, labels: Any, i: int, poly: Any, to: Any, j: int) -> None:
    for c in range(POLYGON_SIZE):
        poly[j, c] = source[i, c]
    to[j] = labels[i]


@kernel(inner=True)
def _copy_edge(source: Any, labels: Any, i: int, poly: Any, to: Any, j: int) -> None:
    for c in range(EDGE_X, POLYGON_SIZE):
        poly[j, c] = source[i, c]
    to[j] = labels[i]


@kernel(inner=True)
def _copy_vertex(source: Any, i: int, poly: Any, j: int) -> None:
    for c in range(EDGE_X):
        poly[j, c] = source[i, c]


@template
def cut_steps(n: int) -> int:
    """As how many steps more the cut of a polygon of n corners counts: it is soon done."""
    return 0


@template
def is_halted(stack: Any) -> bool:
    """Whether another thread wants the kernel to come back: in the plane it does so by itself."""
    return False


# --- edges and vertices ---------------------------------------------------------------------------


@kernel(inner=True)
def edge_row(lines: Any, before: Any, label: int, exact: bool, poly: Any, i: int) -> None:
    """Write the row of an edge, step 2; the sign of its label says which side is inside."""
    line = abs(label) - 1
    sign = 1.0 if label > 0 else -1.0
    if lines.line_row[line] < 0:
        rows = lines.domain_rows
        m0, m1, m2, error = rows[line, X], rows[line, Y], rows[line, W], 0.0
    else:
        m0, m1, m2, error = _row(lines, before, line, exact)
    largest = max(abs(m0), abs(m1), abs(m2))
    factor = sign / largest
    poly[i, EDGE_X] = m0 * factor
    poly[i, EDGE_Y] = m1 * factor
    poly[i, EDGE_W] = m2 * factor
    poly[i, EDGE_ERROR] = scaled_row_error(error, largest)


@kernel(inner=True)
def meet(poly: Any, a: int, b: int, sign: float, to: int) -> None:
    """Write the vertex where the edges of two corners meet, sign * (a × b), to a third: step 2."""
    a0, a1, a2, ea = poly[a, EDGE_X], poly[a, EDGE_Y], poly[a, EDGE_W], poly[a, EDGE_ERROR]
    b0, b1, b2, eb = poly[b, EDGE_X], poly[b, EDGE_Y], poly[b, EDGE_W], poly[b, EDGE_ERROR]
    v0 = sign * (a1 * b2 - a2 * b1)
    v1 = sign * (a2 * b0 - a0 * b2)
    v2 = sign * (a0 * b1 - a1 * b0)
    # 2 (η_a + η_b + η_a η_b) + 8 u
    error = (2.0 * (ea + eb + ea * eb) + 8.0 * ROUND) * INFLATE
    size = abs(v0) + abs(v1) + abs(v2)
    if size > 0.0:
        poly[to, X], poly[to, Y], poly[to, W] = v0 / size, v1 / size, v2 / size
        poly[to, ERROR] = scaled_corner_error(error, size)
    else:
        poly[to, X], poly[to, Y], poly[to, W], poly[to, ERROR] = 0.0, 0.0, 0.0, np.inf


@kernel(inner=True)
def between(poly: Any, i: int, si: float, j: int, sj: float, tol: float, to: int) -> None:
    """Write the point where a boundary meets the edge from corner i to j, in float arithmetic.

    `si` and `sj` are the boundary's values there.
    """
    a, b = abs(si), abs(sj)
    v0 = b * poly[i, X] + a * poly[j, X]
    v1 = b * poly[i, Y] + a * poly[j, Y]
    v2 = b * poly[i, W] + a * poly[j, W]
    size = abs(v0) + abs(v1) + abs(v2)
    poly[to, X], poly[to, Y], poly[to, W] = v0 / size, v1 / size, v2 / size
    poly[to, ERROR] = tol


# --- a finished cell as a region ------------------------------------------------------------------


@kernel(inner=True)
def emit(
    lines: Any, stack: Any, record: Any, out: Any, options: Any, state: Any, sharpened: bool
) -> bool:
    """Store the geometry of the top cell as that of a region; False if it needs more digits."""
    k, c, f = state[OUT], state[OUT_CORNERS], state[OUT_FACETS]
    n, start = record[N_CORNERS], record[CORNER_AT]
    poly, vertices, facets = stack.corners, out.vertices, 0
    sharp, x, y = _witness(stack, start, n, options.exact)
    if not sharp:
        return False
    s0, s1 = lines.scale[X], lines.scale[Y]
    out.witnesses[k, X], out.witnesses[k, Y] = x / s0, y / s1
    bounded = True
    for i in range(n):
        at = start + i
        w = poly[at, W]
        if poly[at, AT_INFINITY] != 0.0:
            bounded = False
            w = 1.0
        vertices[c + i, X] = poly[at, X] / w / s0
        vertices[c + i, Y] = poly[at, Y] / w / s1
        vertices[c + i, W] = 0.0 if poly[at, AT_INFINITY] != 0.0 else 1.0
        line = abs(stack.tags[at]) - 1
        if line != 0:  # not infinity
            out.lines[f + facets] = line
            facets += 1
    out.facet_counts[k] = facets
    area = np.nan if bounded else np.inf
    if bounded and options.volumes:
        area = 0.0
        x, y = vertices[c, X], vertices[c, Y]
        for i in range(1, n - 1):
            ax, ay = vertices[c + i, X] - x, vertices[c + i, Y] - y
            bx, by = vertices[c + i + 1, X] - x, vertices[c + i + 1, Y] - y
            area += 0.5 * (ax * by - ay * bx)
    out.volumes[k] = area
    out.bounded[k] = bounded
    return True


@kernel(inner=True)
def _witness(stack: Any, start: int, n: int, exact: bool) -> tuple[bool, float, float]:
    """A point inside the cell, in scaled coordinates, and whether the cell is well known.

    That is: the point is surely inside, and no vertex may be off by more than `_SHARP` (step 6).
    """
    poly = stack.corners
    x = y = rx = ry = 0.0
    finite = 0
    sharp = True
    for i in range(start, start + n):
        if poly[i, AT_INFINITY] != 0.0:
            rx += poly[i, X]
            ry += poly[i, Y]
        else:
            w = poly[i, W]
            x += poly[i, X] / w
            y += poly[i, Y] / w
            finite += 1
            sharp = sharp and poly[i, ERROR] < _SHARP * w
    x, y = x / finite + rx, y / finite + ry
    if not exact:
        return True, x, y
    for i in range(start, start + n):
        a0, a1, a2 = poly[i, EDGE_X] * x, poly[i, EDGE_Y] * y, poly[i, EDGE_W]
        size, total = abs(x) + abs(y) + 1.0, abs(a0) + abs(a1) + abs(a2)
        bound = inside_bound(poly[i, EDGE_ERROR], size, total, PLANE_ROUNDINGS)
        sharp = sharp and a0 + a1 + a2 > bound
    return sharp, x, y


@kernel(late=True)
def sharpen(flat: Any, current: Any, stack: Any, record: Any) -> bool:
    """Work out the top cell's rows and corners again, with twice the digits: step 6.

    Returns True: it can be done.
    """
    lines, n, start = flat.lines, record[N_CORNERS], record[CORNER_AT]
    poly, fine = stack.corners, stack.fine
    for i in range(n):
        at = start + i
        fine.facets[0], fine.facets[1] = stack.tags[at - 1 if i else start + n - 1], stack.tags[at]
        fine_corner(lines, current, fine)
        corner, row = fine.corner, fine.rows[:, 1]
        sign, largest, wrong = (1.0 if stack.tags[at] > 0 else -1.0), 0.0, 0.0
        for c in range(COORDINATES):
            largest = max(largest, abs(row[HIGH, c]))
            wrong = max(wrong, row[BOUND, c] + abs(row[LOW_HALF, c]))
        for c in range(COORDINATES):
            poly[at, EDGE_X + c] = sign * row[HIGH, c] / largest
        poly[at, EDGE_ERROR] = scaled_row_error(wrong, largest)
        size, wrong = 0.0, 0.0
        for c in range(COORDINATES):
            size += abs(corner[HIGH, c])
            wrong = max(wrong, corner[BOUND, c] + abs(corner[LOW_HALF, c]))
        for c in range(COORDINATES):
            poly[at, c] = corner[HIGH, c] / size
        poly[at, ERROR] = scaled_corner_error(wrong, size) + 4.0 * ROUND
    return True
