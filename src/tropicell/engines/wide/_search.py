"""The search below one node: depth first over the cuts of open neurons, layer by layer, in Numba.

A *cut* is a breakpoint of an open neuron: on a cell it is the affine function ``z_i - t``. A node
is a set of decided cuts. Cuts that cross their cell become rows of it; cuts that do not are decided
by a proof: the domain's own width, or factors λ >= 0 of the rows (a Farkas vector) such that the
cut plus the sum of these rows is negative on all of the domain. A Farkas vector holds as long as
the rows that it needs stay on the stack, so it is not looked for again in sibling nodes. That a cut
crosses is proved by two points strictly inside, which are handed on to the children.

All proofs are checked with bounds on rounding (docs/wide-proof.md). Where a cut can be decided
neither way, the kernel returns and asks for an exact decision.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tropicell._runtime.jit import is_set, kernel
from tropicell.engines.wide._programs import BEST, NEGATIVE, dot, maximise, nearest
from tropicell.geometry.rounding import UNSEEN

LINF, L1, L2 = range(3)

#: Decisions of a cut: its side, and 2 more if it crosses the cell.
BELOW, ABOVE, CROSSED, OPEN = 0, 1, 2, 255

#: Places of the state.
CUT, ROWS, POINTS, LISTED, FRAMES, READY, COUNT, STAMP, ASKED, ANSWER, LPS, EMITTED = range(12)
STATE = 12

#: Why the kernel returns: all below the node is done; enough regions were found; an exact decision
#: on the cut `ASKED` is needed (the sides that exist go to `ANSWER`: 1 below, 2 above); there is no
#: room for regions; somebody has set the flag.
DONE, ENOUGH, DOUBT, FULL, HALTED = range(5)

#: Points of a cell that are kept.
LIST = 8

_ROUND = 2.0**-53
#: Points are moved towards the middle of their cell if a row is less than this part of its size.
_THIN = 1e-5
_STEPS = 400


class Flat(NamedTuple):
    """A reduced network (`reduction.Reduced`) as arrays; neurons and cuts are in order."""

    rows: Any
    values: Any
    links: Any
    errors: Any
    slopes: Any
    intercepts: Any
    low_piece: Any
    cut_neuron: Any
    cut_break: Any
    cut_layer: Any
    first_neuron: Any  # of every layer that has open neurons, and the end
    first_cut: Any
    center: Any
    scale: Any
    low: Any
    high: Any
    norm: int
    halt: Any


class Cells(NamedTuple):
    """What is known of the cell: the neurons' rows on it, decisions, rows that bound it."""

    row: Any
    value: Any
    error: Any
    width: Any
    total: Any  # factors of the open neurons in the row of one
    piece: Any
    decision: Any
    known_side: Any
    known_at: Any
    known_stamp: Any
    factors: Any  # of the last proof for a cut, by the cuts of its rows; may be too small to use
    row_cut: Any
    G: Any
    v: Any
    e: Any
    size: Any
    stamp: Any
    H: Any
    state: Any


class Points(NamedTuple):
    """Points strictly inside cells (a stack), those of the current cell, and nodes that wait."""

    delta: Any
    x: Any
    current: Any
    signs: Any
    trial: Any
    trial_x: Any
    frame_cut: Any
    frame_rows: Any
    frame_points: Any
    frame_count: Any
    frame_list: Any


class Found(NamedTuple):
    """Regions: pieces of the open neurons, and points; and whether these are proved."""

    pieces: Any
    points: Any
    proved: Any


@kernel(sums="in any order", inner=True)
def _width(flat, row, n):
    """How far a row gets from its value at the centre."""
    total = 0.0
    if flat.norm == LINF:
        for j in range(n):
            total += abs(row[j])
    elif flat.norm == L1:
        for j in range(n):
            total = max(total, abs(row[j]))
    else:
        some = False
        for j in range(n):
            total += row[j] * row[j]
            some |= row[j] != 0.0
        total = np.sqrt(total)
        if some:
            total += UNSEEN
    return total


@kernel(sums="in any order", inner=True)
def enter_layer(flat, cells, layer):
    """The rows of a layer's open neurons on the cell of the decisions before it."""
    n = flat.rows.shape[1]
    begin, end = flat.first_neuron[layer], flat.first_neuron[layer + 1]
    for i in range(begin):
        cells.piece[i] = flat.low_piece[i]
    for j in range(flat.first_cut[layer]):
        cells.piece[flat.cut_neuron[j]] += cells.decision[j] & 1
    total = cells.total
    for j in range(begin, end):
        value, error = flat.values[j], flat.errors[j]
        row = cells.row[j]
        for c in range(n):
            row[c] = flat.rows[j, c]
        for i in range(begin):
            total[i] = flat.links[j, i]
        for i in range(begin - 1, -1, -1):
            if total[i] == 0.0:
                continue
            factor = total[i] * flat.slopes[i, cells.piece[i]]
            value += total[i] * flat.intercepts[i, cells.piece[i]]
            if factor == 0.0:
                continue
            value += factor * flat.values[i]
            error += abs(factor) * flat.errors[i]
            source = flat.rows[i]
            for c in range(n):
                row[c] += factor * source[c]
            for before in range(i):
                total[before] += factor * flat.links[i, before]
        cells.value[j] = value
        cells.error[j] = 3.0 * error
        cells.width[j] = _width(flat, row, n)
    for j in range(flat.first_cut[layer], flat.first_cut[layer + 1]):
        cells.known_side[j] = OPEN


@kernel(sums="in any order", inner=True)
def proves(flat, cells, program, k, i, side, t):
    """Whether the factors of a program prove that a cut is not on a side; where they end.

    Returns one more than the last row that is used, or -1.
    """
    n = flat.rows.shape[1]
    shift = 1 if flat.norm == L1 else 0
    sign = 1.0 if side == ABOVE else -1.0
    g = program.alpha
    value = sign * (cells.value[i] - t)
    error = cells.error[i] + 8.0 * _ROUND * abs(t)
    size = 0.0
    last = 0
    for c in range(n):
        g[c] = sign * cells.row[i, c]
    for r in range(k):
        f = program.lam[r + shift]
        if f > 0.0:
            last = r + 1
            value += f * cells.v[r + shift]
            error += f * cells.e[r + shift]
            size += f
            source = cells.G[r + shift]
            factor = 2.0 * f if flat.norm == L1 else f
            for c in range(n):
                g[c] += factor * source[c]
    # A NaN, or an infinite error, proves nothing.
    if value + _width(flat, g, n) * (1.0 + 1e-12) + 1.01 * error < 0.0 and size < 1e90:
        return last
    return -1


@kernel(sums="in any order", inner=True)
def _cut_at(cells, i, t, delta, n):
    """The sign of a cut at a point of its cell; 0 if it is not proved."""
    value = cells.value[i] - t + dot(cells.row[i], delta, n)
    error = cells.error[i] + 8.0 * _ROUND * abs(t)
    if value > error:
        return 1
    if value < -error:
        return -1
    return 0


@kernel(sums="in any order", inner=True)
def _admit(flat, points, n):
    """How far the point `trial` is inside the domain, once it is rounded; sets `trial_x`."""
    total, largest = 0.0, 0.0
    for c in range(n):
        x = flat.center[c] + flat.scale[c] * points.trial[c]
        points.trial_x[c] = x
        delta = (x - flat.center[c]) / flat.scale[c]
        points.trial[c] = delta
        if flat.norm == LINF:
            largest = max(largest, abs(delta))
            if not flat.low[c] < x < flat.high[c]:
                return 0.0
        elif flat.norm == L1:
            total += abs(delta)
        else:
            total += delta * delta
    if flat.norm == LINF:
        return max(1.0 - largest, 1e-16)
    return max(0.0, 1.0 - total - 8.0 * (n + 8) * _ROUND)


@kernel(inner=True)
def _row_at(flat, cells, r, delta, n):
    """What a row of the cell is worth at a point."""
    twice = 2.0 if flat.norm == L1 else 1.0
    return cells.v[r] + twice * dot(cells.G[r], delta, n)


@kernel(sums="in any order", inner=True)
def _is_inside(flat, cells, points, k):
    """Whether the point `trial` is strictly inside the cell, and how far (0: not proved)."""
    n = flat.rows.shape[1]
    least = _admit(flat, points, n)
    if least == 0.0:
        return 0.0
    shift = 1 if flat.norm == L1 else 0
    for r in range(shift, k + shift):
        value = _row_at(flat, cells, r, points.trial, n)
        if not value > cells.e[r]:
            return 0.0
        least = min(least, value / cells.size[r])
    return least


@kernel(sums="in any order", inner=True)
def _off_the_sides(flat, cells, points, k):
    """Move the point `trial` towards the centre of the domain, as far as its rows allow."""
    n = flat.rows.shape[1]
    shift = 1 if flat.norm == L1 else 0
    part = 0.05
    for r in range(shift, k + shift):
        value = _row_at(flat, cells, r, points.trial, n)
        if value > cells.v[r]:
            part = min(part, max(0.0, 0.5 * value / (value - cells.v[r])))
    for c in range(n):
        points.trial[c] *= 1.0 - part


@kernel(inner=True)
def push_row(flat, cells, j, side):
    """The cut becomes a row of the cell, with the sign that makes it positive."""
    n = flat.rows.shape[1]
    i, t = flat.cut_neuron[j], flat.cut_break[j]
    state = cells.state
    sign = 1.0 if side == ABOVE else -1.0
    at = state[ROWS] + (1 if flat.norm == L1 else 0)
    half = 0.5 if flat.norm == L1 else 1.0
    size = 0.0
    for c in range(n):
        entry = sign * half * cells.row[i, c]
        cells.G[at, c] = entry
        size += abs(entry)
        if flat.norm == L1:
            cells.G[at, n + c] = -entry
    columns = 2 * n if flat.norm == L1 else n
    cells.G[at, columns] = 0.0
    cells.v[at] = sign * (cells.value[i] - t)
    cells.e[at] = cells.error[i] + 8.0 * _ROUND * abs(t)
    cells.size[at] = size + abs(cells.v[at]) + 1e-200
    state[STAMP] += 1
    cells.stamp[state[ROWS]] = state[STAMP]
    cells.row_cut[state[ROWS]] = j
    state[ROWS] += 1


@kernel(inner=True)
def _from_columns(flat, program, points, n):
    """The point of a program's columns, to `trial`."""
    for c in range(n):
        if flat.norm == L1:
            points.trial[c] = 0.5 * (program.eta[c] - program.eta[n + c])
        else:
            points.trial[c] = program.eta[c]


@kernel(sums="in any order", inner=True)
def _to_columns(flat, cells, program, delta, n):
    """A point inside the cell as columns of a program, and what the rows are worth there."""
    k = cells.state[ROWS]
    if flat.norm == L1:
        rest = 1.0
        for c in range(n):
            rest -= abs(delta[c])
        for c in range(n):
            program.inner[c] = max(delta[c], 0.0) * 2.0 - 1.0 + 0.5 * rest / n
            program.inner[n + c] = max(-delta[c], 0.0) * 2.0 - 1.0 + 0.5 * rest / n
        for r in range(k + 1):
            program.inner_vals[r] = cells.v[r] + dot(cells.G[r], program.inner, 2 * n)
    else:
        for c in range(n):
            program.inner[c] = delta[c]
        for r in range(k):
            program.inner_vals[r] = cells.v[r] + dot(cells.G[r], delta, n)


@kernel(sums="in any order", inner=True)
def _suggest(flat, cells, points, program, j, side, inner, noisy):
    """Maximise a cut, or its negative, on the cell: factors or a point."""
    n = flat.rows.shape[1]
    i, t = flat.cut_neuron[j], flat.cut_break[j]
    state = cells.state
    k = state[ROWS]
    sign = 1.0 if side == ABOVE else -1.0
    state[LPS] += 1
    H = cells.H
    if flat.norm == L2:
        return _round_suggestion(flat, cells, program, j, side)
    columns = n
    for c in range(n):
        H[c] = sign * cells.row[i, c]
    rest = 0.0
    value = sign * (cells.value[i] - t)
    here = 1.0
    if inner >= 0:
        here = min(0.0, value + dot(H, points.delta[inner], n))
        _to_columns(flat, cells, program, points.delta[inner], n)
    if flat.norm == L1:
        k += 1
        columns = 2 * n
        rest = -1.0
        for c in range(n):
            H[c] *= 0.5
            H[n + c] = -H[c]
    error = cells.error[i] + 8.0 * _ROUND * abs(t)
    return maximise(
        program, cells.G, cells.v, cells.size, cells.e, k, H, value, error, columns, rest,
        noisy, here, _STEPS,
    )  # fmt: skip


@kernel(sums="in any order", inner=True)
def _round_suggestion(flat, cells, program, j, side):
    """The same in an l2 ball: the point of the half that is nearest to the centre, and beyond."""
    n = flat.rows.shape[1]
    k = cells.state[ROWS]
    stamp = cells.state[STAMP]
    push_row(flat, cells, j, side)
    cells.state[ROWS], cells.state[STAMP] = k, stamp
    start, step = cells.v[k], cells.width[flat.cut_neuron[j]]
    code = nearest(program, cells.G, cells.v, cells.size, k + 1, n, _STEPS)
    last = program.lam[k]
    if code == NEGATIVE or (code == BEST and dot(program.eta, program.eta, n) >= 1.0):
        if last > 0.0:
            for r in range(k + 1):
                program.lam[r] /= last
            return NEGATIVE
        return 2
    away = np.sqrt(dot(program.eta, program.eta, n))
    part = 0.5 * (1.0 - away)
    while part > 1e-9:
        cells.v[k] = start - part * step
        code = nearest(program, cells.G, cells.v, cells.size, k + 1, n, _STEPS)
        if code == BEST and dot(program.eta, program.eta, n) < 1.0:
            return BEST
        part *= 0.1
    return 2


@kernel(inner=True)
def _to_the_round_middle(cells, program, k, n):
    """The same in an l2 ball, about: rows are asked for less and less until there is a point."""
    part, taken = 0.1, 0.0
    while part > 1e-10:
        for r in range(k):
            cells.v[r] -= (part - taken) * cells.size[r]
        taken = part
        code = nearest(program, cells.G, cells.v, cells.size, k, n, _STEPS)
        if code == BEST and dot(program.eta, program.eta, n) < (1.0 - 0.5 * part) ** 2:
            break
        part *= 0.1
    for r in range(k):
        cells.v[r] += taken * cells.size[r]
    return part > 1e-10


@kernel(sums="in any order", inner=True)
def _to_the_middle(flat, cells, program, k):
    """The point of a cell whose rows are all as large as can be, relative to their sizes."""
    n = flat.rows.shape[1]
    cells.state[LPS] += 1
    if flat.norm == L2:
        return _to_the_round_middle(cells, program, k, n)
    shift = 1 if flat.norm == L1 else 0
    columns = 2 * n if flat.norm == L1 else n
    for r in range(shift, k + shift):
        cells.G[r, columns] = -cells.size[r]
    H = cells.H
    for c in range(columns):
        H[c] = 0.0
    H[columns] = 1.0
    rest = -1.0 if flat.norm == L1 else 0.0
    code = maximise(
        program, cells.G, cells.v, cells.size, cells.e, k + shift, H, 0.0, 0.0, columns + 1,
        rest, False, 1.0, _STEPS,
    )  # fmt: skip
    for r in range(shift, k + shift):
        cells.G[r, columns] = 0.0
    return code == BEST and program.eta[columns] > 0.0


@kernel(inner=True)
def _add_point(points, state, n):
    """The point `trial` goes on the stack; its place, or -1 if there is no room."""
    at = state[POINTS]
    if at == len(points.delta):
        return -1
    for c in range(n):
        points.delta[at, c] = points.trial[c]
        points.x[at, c] = points.trial_x[c]
    state[POINTS] += 1
    return at


@kernel(sums="in any order", inner=True)
def _point_on(flat, cells, points, program, j, side, inner):
    """A proved point of the cell on a side of a cut, from a program's best one; -1: none.

    `inner` is a point of the cell, on the other side or nowhere; -1: there is none.
    """
    n = flat.rows.shape[1]
    state = cells.state
    k, stamp = state[ROWS], state[STAMP]
    i, t = flat.cut_neuron[j], flat.cut_break[j]
    push_row(flat, cells, j, side)
    found = 0.0
    if inner >= 0:
        sign = 1.0 if side == ABOVE else -1.0
        _from_columns(flat, program, points, n)
        best = sign * (cells.value[i] - t + dot(cells.row[i], points.trial, n))
        other = sign * (cells.value[i] - t + dot(cells.row[i], points.delta[inner], n))
        _off_the_sides(flat, cells, points, k + 1)
        found = _is_inside(flat, cells, points, k + 1)  # so it is after a shortcut
        if found == 0.0 and best > 0.0 and best > other:
            _from_columns(flat, program, points, n)
            part = 0.5 * best / (best - min(other, 0.0))
            for c in range(n):
                points.trial[c] += part * (points.delta[inner, c] - points.trial[c])
            _off_the_sides(flat, cells, points, k + 1)
            found = _is_inside(flat, cells, points, k + 1)
    at = -1
    if found > 0.0:
        at = _add_point(points, state, n)
    if found < _THIN and _to_the_middle(flat, cells, program, k + 1):
        _from_columns(flat, program, points, n)
        _off_the_sides(flat, cells, points, k + 1)
        better = _is_inside(flat, cells, points, k + 1)
        if better > found:
            if at >= 0:
                state[POINTS] -= 1
            at = _add_point(points, state, n)
    state[ROWS], state[STAMP] = k, stamp
    return at


@kernel(inner=True)
def _emit(flat, cells, points, found):
    """A region."""
    state = cells.state
    at = state[EMITTED]
    m, n = flat.rows.shape
    if len(found.proved) > 0:
        for i in range(m):
            found.pieces[at, i] = flat.low_piece[i]
        for j in range(len(flat.cut_neuron)):
            found.pieces[at, flat.cut_neuron[j]] += cells.decision[j] & 1
        found.proved[at] = state[LISTED] > 0
        if state[LISTED] > 0:
            for c in range(n):
                found.points[at, c] = points.x[points.current[0], c]
        state[EMITTED] += 1
    state[COUNT] += 1


@kernel(inner=True)
def _take_frame(flat, cells, points, program):
    """Go on with the node that waits on top; False if there is none."""
    state = cells.state
    if state[FRAMES] == 0:
        return False
    state[FRAMES] -= 1
    at = state[FRAMES]
    j = points.frame_cut[at]
    state[ROWS] = points.frame_rows[at]
    state[POINTS] = points.frame_points[at]
    state[LISTED] = points.frame_count[at]
    for p in range(state[LISTED]):
        points.current[p] = points.frame_list[at, p]
    state[READY] = flat.cut_layer[j]
    push_row(flat, cells, j, ABOVE)
    cells.decision[j] = CROSSED | ABOVE
    state[CUT] = j + 1
    return True


@kernel(sums="in any order", inner=True)
def _decide(flat, cells, points, program, j):
    """Which sides of a cut the cell has: 1 below, 2 above, 3 both; 0: not known.

    Signs of the cell's points are left in ``points.signs``; new points join them.
    """
    n = flat.rows.shape[1]
    state = cells.state
    i, t = flat.cut_neuron[j], flat.cut_break[j]
    value, error = cells.value[i] - t, cells.error[i] + 8.0 * _ROUND * abs(t)
    if value + cells.width[i] * (1.0 + 1e-12) < -error:
        return 1
    if value - cells.width[i] * (1.0 + 1e-12) > error:
        return 2
    k = state[ROWS]
    if cells.known_side[j] != OPEN:
        at = cells.known_at[j]
        if at == 0 or (at <= k and cells.stamp[at - 1] == cells.known_stamp[j]):
            return 1 + cells.known_side[j]
    sides = 0
    for p in range(state[LISTED]):
        sign = _cut_at(cells, i, t, points.delta[points.current[p]], n)
        points.signs[p] = sign
        if sign != 0:
            sides |= 2 if sign > 0 else 1
    if sides == 3:
        return 3
    inner = points.current[0] if state[LISTED] > 0 else -1
    for side in (ABOVE, BELOW):
        if sides & (1 + side):
            continue
        if _again(flat, cells, program, j, side):
            return 2 - side
        at = -1
        for noisy in (True, False):
            code = _suggest(flat, cells, points, program, j, side, inner, noisy)
            if (code in (NEGATIVE, BEST)) and _is_never(flat, cells, program, j, side):
                return 2 - side
            if code == BEST:
                at = _point_on(flat, cells, points, program, j, side, inner)
            if at >= 0:
                break
        if at < 0:
            return 0
        sides |= 1 + side
        _list_point(points, state, at, side)
    return sides


@kernel(inner=True)
def _is_never(flat, cells, program, j, side):
    """Whether a program's factors prove that the cell is not on a side of a cut; keeps that."""
    i, t = flat.cut_neuron[j], flat.cut_break[j]
    last = proves(flat, cells, program, cells.state[ROWS], i, side, t)
    if last < 0:
        return False
    cells.known_side[j] = 1 - side
    cells.known_at[j] = last
    cells.known_stamp[j] = cells.stamp[last - 1] if last > 0 else 0
    if len(cells.factors) > 0:
        shift = 1 if flat.norm == L1 else 0
        cells.factors[j, :] = 0.0
        for r in range(cells.state[ROWS]):
            cells.factors[j, cells.row_cut[r]] = program.lam[r + shift]
    return True


@kernel(inner=True)
def _again(flat, cells, program, j, side):
    """Whether the factors of the last proof for this cut prove it here as well."""
    if len(cells.factors) == 0:
        return False
    shift = 1 if flat.norm == L1 else 0
    program.lam[0] = 0.0
    for r in range(cells.state[ROWS]):
        program.lam[r + shift] = cells.factors[j, cells.row_cut[r]]
    return _is_never(flat, cells, program, j, side)


@kernel(inner=True)
def _list_point(points, state, at, side):
    """A new point of the cell, on a side of the cut."""
    if state[LISTED] < LIST:
        slot = state[LISTED]
        state[LISTED] += 1
    else:
        slot = LIST - 1
    points.current[slot] = at
    points.signs[slot] = 1 if side == ABOVE else -1


@kernel
def judge(flat, cells, points, program, j, side):
    """Look at factors and columns that somebody else has put into a program.

    Returns 1 if they prove that the cell is not on that side of a cut, 2 if they lead to a point
    there, which joins the cell's points, else 0.
    """
    if _is_never(flat, cells, program, j, side):
        return 1
    state = cells.state
    inner = points.current[0] if state[LISTED] > 0 else -1
    at = _point_on(flat, cells, points, program, j, side, inner)
    if at < 0:
        return 0
    _list_point(points, state, at, side)
    return 2


@kernel
def search(flat, cells, points, program, found, most):
    """Go on below the current node, until so many regions are found in all; see `DONE` …."""
    state = cells.state
    cuts = len(flat.cut_neuron)
    while True:
        j = state[CUT]
        if j == cuts:
            if len(found.proved) > 0 and state[EMITTED] == len(found.proved):
                return FULL
            _emit(flat, cells, points, found)
            if not _take_frame(flat, cells, points, program):
                state[CUT] = -1
                return DONE
            if state[COUNT] >= most:
                return ENOUGH
            continue
        if is_set(flat.halt):
            return HALTED
        layer = flat.cut_layer[j]
        if state[READY] < layer:
            enter_layer(flat, cells, layer)
            state[READY] = layer
        i = flat.cut_neuron[j]
        if j > 0 and flat.cut_neuron[j - 1] == i and cells.decision[j - 1] & 1 == BELOW:
            cells.decision[j] = BELOW
            state[CUT] = j + 1
            continue
        if state[ASKED] == j and state[ANSWER] != 0:
            sides = state[ANSWER]
            for p in range(state[LISTED]):
                points.signs[p] = _cut_at(
                    cells, i, flat.cut_break[j], points.delta[points.current[p]],
                    flat.rows.shape[1],
                )  # fmt: skip
            if sides < 3:
                cells.known_side[j] = sides - 1
                cells.known_at[j] = state[ROWS]
                cells.known_stamp[j] = cells.stamp[state[ROWS] - 1] if state[ROWS] > 0 else 0
            state[ASKED] = -1
            state[ANSWER] = 0
        else:
            sides = _decide(flat, cells, points, program, j)
            if sides == 0:
                state[ASKED] = j
                state[ANSWER] = 0
                return DOUBT
        if sides < 3:
            cells.decision[j] = sides - 1
            state[CUT] = j + 1
            continue
        at = state[FRAMES]
        points.frame_cut[at] = j
        points.frame_rows[at] = state[ROWS]
        points.frame_points[at] = state[POINTS]
        above, below = 0, 0
        for p in range(state[LISTED]):
            if points.signs[p] > 0:
                points.frame_list[at, above] = points.current[p]
                above += 1
            elif points.signs[p] < 0:
                points.current[below] = points.current[p]
                below += 1
        points.frame_count[at] = above
        state[LISTED] = below
        state[FRAMES] += 1
        push_row(flat, cells, j, BELOW)
        cells.decision[j] = CROSSED | BELOW
        state[CUT] = j + 1


@kernel
def start(flat, cells, points, program, decisions, point, has_point):
    """Begin with a node: decisions of its first cuts (others are `OPEN`), and a point, if any."""
    state = cells.state
    n = flat.rows.shape[1]
    state[:] = 0
    state[READY] = -1
    state[ASKED] = -1
    cuts = len(flat.cut_neuron)
    if flat.norm == L1:  # the first row: all columns together are at most 1
        for c in range(2 * n):
            cells.G[0, c] = -0.5
        cells.G[0, 2 * n] = 0.0
        cells.v[0] = 1.0 - n
        cells.e[0] = 0.0
        cells.size[0] = 1.0 + 2 * n
    for j in range(cuts):
        if decisions[j] == OPEN:
            break
        if state[READY] < flat.cut_layer[j]:
            enter_layer(flat, cells, flat.cut_layer[j])
            state[READY] = flat.cut_layer[j]
        cells.decision[j] = decisions[j]
        if decisions[j] & CROSSED:
            push_row(flat, cells, j, decisions[j] & 1)
        state[CUT] = j + 1
    if has_point:
        for c in range(n):
            points.trial[c] = (point[c] - flat.center[c]) / flat.scale[c]
        if _is_inside(flat, cells, points, state[ROWS]) > 0.0:
            points.current[0] = _add_point(points, state, n)
            state[LISTED] = 1
