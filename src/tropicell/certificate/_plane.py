"""The filter for one and two inputs: regions as polygons, float64 with proved error bounds.

For each region the kernel is told which lines may be its facets. It sorts them by direction; where
two that follow each other turn to the left for sure, they meet in a corner; at one gap the region
is unbounded, and there are two rays. If every other inequality is surely positive at all corners
and rays, it follows from the facets: its normal lies between those of two facets that follow each
other, and at their corner it is positive. It may also be 0 there, which float64 can't prove: what
float64 leaves in doubt is decided by `tropicell.certificate._signs`. Why the bounds hold is in
docs/certificate-proof.md.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.jit import kernel
from tropicell.certificate._flat import COVER, COVER_MORE, FilterNetwork
from tropicell.certificate._kernels import (
    ERROR,
    behind,
    behind_all,
    bring_back,
    doubtful,
    doubtful_in_plane,
    gather,
    go_to,
    is_central,
    is_inside,
    lines_of_layer,
    scaled,
    set_aside,
)
from tropicell.certificate._signs import (
    INFINITY,
    UNKNOWN,
    FineSigns,
    fine_sign,
    meet,
    rounded_point,
    surely_positive,
    turn,
)
from tropicell.geometry.rounding import ROUND

#: Parts of facets (as rows) and of corners; behind them is a bound on their errors (`ERROR`).
_X, _Y, _W = range(3)
_PARTS = 4

#: Errors of corners from here on prove nothing.
_LARGEST_ERROR = 1e-3

#: How far behind a facet neurons are looked at, as a part of its length: a guess.
_BEHIND = 1e-5

#: Regions with more facets are left to exact arithmetic.
_MOST = 64


class Polygon(NamedTuple):
    """Room for one region."""

    lines: NDArray[np.int64]  # of its facets
    aside: NDArray[np.int64]  # the same, and their twins
    saved: NDArray[np.float64]  # bounds of facets that are set aside
    facets: NDArray[np.float64]  # as they come
    in_order: NDArray[np.float64]  # by the direction of their normals
    order: NDArray[np.int64]
    keys: NDArray[np.float64]
    meets: NDArray[np.bool_]  # which facet in order surely meets the next one
    corners: NDArray[np.float64]
    witness: NDArray[np.float64]
    flipped: NDArray[np.uint64]  # a pattern
    fine: FineSigns
    pairs: NDArray[np.int64]  # of each corner: the two inequalities, and whether it is turned
    at: NDArray[np.int64]  # which corner follows each facet in order
    touched: NDArray[np.int64]  # inequalities that are 0 at a corner, first their number
    touch: NDArray[np.int64]  # of each inequality: where it is among them, or -1
    zeros: NDArray[np.bool_]  # of each of them: at which corners
    may_flip: NDArray[np.int64]  # of each neuron: a breakpoint that it is at on a facet, or -1
    point: NDArray[np.float64]
    values: NDArray[np.float64]  # of all neurons at a point


def new_polygon(flat: FilterNetwork, words: int, fine: FineSigns) -> Polygon:
    """Room for any region in the plane."""
    most, units = len(flat.domain) + 2 * len(flat.bias), int(flat.starts[-1])
    return Polygon(
        np.zeros(_MOST, np.int64),
        np.zeros(_MOST + most, np.int64),
        np.zeros(_MOST + most),
        np.zeros((_MOST, _PARTS)),
        np.zeros((_MOST, _PARTS)),
        np.zeros(_MOST, np.int64),
        np.zeros(_MOST),
        np.zeros(_MOST, np.bool_),
        np.zeros((_MOST + 1, _PARTS)),
        np.zeros(2),
        np.zeros(words, np.uint64),
        fine,
        np.zeros((_MOST + 1, 3), np.int64),
        np.zeros(_MOST, np.int64),
        np.zeros(most + 1, np.int64),
        np.full(most, -1),
        np.zeros((most, _MOST + 1), np.bool_),
        np.full(len(flat.bias), -1),
        np.zeros(2),
        np.zeros(units),
    )


@kernel(sums="fused", inner=True)
def _direction(x, y):  # pragma: no cover - compiled
    """A number that grows with the angle of a vector, from 0 to 4."""
    share = y / (abs(x) + abs(y))
    if x < 0.0:
        return 2.0 - share
    return share if share >= 0.0 else 4.0 + share


@kernel(sums="fused", inner=True)
def _sort(facets, count, order, keys, in_order):  # pragma: no cover - compiled
    """Facets by the direction of their normals."""
    for k in range(count):
        key = _direction(facets[k, _X], facets[k, _Y])
        at = k
        while at > 0 and keys[at - 1] > key:
            keys[at], order[at] = keys[at - 1], order[at - 1]
            at -= 1
        keys[at], order[at] = key, k
    for k in range(count):
        for column in range(_PARTS):
            in_order[k, column] = facets[order[k], column]


@kernel(sums="fused", inner=True)
def _corners(facets, count, corners, meets):  # pragma: no cover - compiled
    """Corners and rays between facets in order, with error bounds; how many, or 0 if in doubt.

    `meets` says which facets surely meet the next one. docs/error-bound.md, step 2: the error
    of a determinant of two facets.
    """
    found, gaps = 0, 0
    for k in range(count):
        a, b = facets[k], facets[(k + 1) % count]
        error = 2.0 * (a[ERROR] + b[ERROR] + a[ERROR] * b[ERROR]) + 10.0 * ROUND
        w = a[_X] * b[_Y] - a[_Y] * b[_X]
        meets[k] = w > error  # they surely turn to the left
        if meets[k]:
            x, y = a[_Y] * b[_W] - a[_W] * b[_Y], a[_W] * b[_X] - a[_X] * b[_W]
            size = abs(x) + abs(y) + w
            corner = corners[found]
            corner[_X], corner[_Y], corner[_W] = x / size, y / size, w / size
            corner[ERROR] = COVER * (error / size + 4.0 * ROUND)
            found += 1
            continue
        gaps += 1
        if gaps > 1 or count < 2:
            return 0
        for side in range(2):  # along the last facet before the gap, and the first one after it
            facet, sign = (a, 1.0) if side == 0 else (b, -1.0)
            size = abs(facet[_X]) + abs(facet[_Y])
            corner = corners[found]
            corner[_X], corner[_Y] = sign * facet[_Y] / size, -sign * facet[_X] / size
            corner[_W] = 0.0
            corner[ERROR] = COVER * (facet[ERROR] / size + 4.0 * ROUND)
            found += 1
    for k in range(found):
        if not corners[k, ERROR] < _LARGEST_ERROR:
            return 0
    return found


@kernel(inner=True)
def _go_to_corner(flat, state, room, k):  # pragma: no cover - compiled
    """Work out corner k in twice the digits."""
    room.fine.places[0], room.fine.places[1] = room.pairs[k, 0], room.pairs[k, 1]
    meet(flat, state, room.fine)
    if room.pairs[k, 2] < 0:
        turn(room.fine)


@kernel(inner=True)
def _fine_corners(flat, state, room, count):  # pragma: no cover - compiled
    """The corners and rays of `_corners` in twice the digits; how many, or 0 if in doubt."""
    fine, corners, pairs = room.fine, room.corners, room.pairs
    found, gaps = 0, 0
    for k in range(count):
        a = state.places[room.lines[room.order[k]]]
        b = state.places[room.lines[room.order[(k + 1) % count]]]
        pairs[found, 0], pairs[found, 1], pairs[found, 2] = a, b, 1
        room.at[k] = found
        _go_to_corner(flat, state, room, found)
        sign = fine_sign(flat, state, fine, INFINITY)  # whether they turn to the left
        room.meets[k] = sign == 1
        if sign == 1:
            corners[found, ERROR] = rounded_point(fine, corners[found])
            found += 1
            continue
        gaps += 1
        if sign == UNKNOWN or gaps > 1 or count < 2:
            return 0
        for side in range(2):
            pairs[found, 0], pairs[found, 1] = (a if side == 0 else b), INFINITY
            pairs[found, 2] = 1 - 2 * side
            _go_to_corner(flat, state, room, found)
            corners[found, ERROR] = rounded_point(fine, corners[found])
            found += 1
    return found


@kernel(inner=True)
def _is_origin(flat, state, pair):  # pragma: no cover - compiled
    """Whether the inequalities of a corner meet in the origin for sure; they do meet."""
    for i in range(2):
        if pair[i] == INFINITY or not is_central(flat, state, pair[i]):
            return False
    return True


@kernel(inner=True)
def _fine_tests(flat, state, room, found):  # pragma: no cover - compiled
    """Whether no inequality but the facets is negative at a corner, or 0 where it must not be."""
    inequalities, touched, touch = state.inequalities, room.touched, room.touch
    rows, sizes, bounds = inequalities.rows, inequalities.sizes, inequalities.bounds
    for t in range(touched[0]):
        touch[touched[1 + t]] = -1
    touched[0] = 0
    for k in range(found):
        corner, ready = room.corners[k], False
        at_origin = _is_origin(flat, state, room.pairs[k])
        x, y, w, error = corner[_X], corner[_Y], corner[_W], corner[ERROR]
        for layer in range(len(inequalities.begins)):
            start, end = inequalities.begins[layer], inequalities.ends[layer]
            if doubtful_in_plane(inequalities, start, end, corner, w, error, 1.0) == 0:
                continue
            for place in range(start, end):
                value = rows[0, place] * x + rows[1, place] * y + rows[2, place] * w
                if value > sizes[place] * error + bounds[place]:
                    continue
                sign = 0
                if not (at_origin and is_central(flat, state, place)):
                    if not ready:
                        _go_to_corner(flat, state, room, k)
                        ready = True
                    sign = fine_sign(flat, state, room.fine, place)
                if sign == 1:
                    continue
                if sign != 0:
                    return False
                t = touch[place]
                if t < 0:
                    t = touched[0]
                    touch[place], touched[1 + t] = t, place
                    touched[0] += 1
                    for other in range(found):
                        room.zeros[t, other] = False
                room.zeros[t, k] = True
    for t in range(touched[0]):
        everywhere = True
        for k in range(found):
            everywhere = everywhere and room.zeros[t, k]
        place = touched[1 + t]
        if everywhere and place >= len(flat.domain):
            # A neuron that is always at a breakpoint is on the piece below it.
            line = inequalities.lines[place]
            neuron = flat.neurons[line]
            if state.pattern[neuron] > line - flat.first_lines[neuron]:
                return False
    return True


@kernel(inner=True)
def _is_fine(flat, state, room, count):  # pragma: no cover - compiled
    """Everything again where float64 was in doubt; how many corners, or 0 if it still is."""
    found = _fine_corners(flat, state, room, count)
    if found == 0:
        return 0
    set_aside(state, room.lines[:count], room.saved)
    fine = _fine_tests(flat, state, room, found)
    bring_back(state, room.lines[:count], room.saved)
    return found if fine else 0


@kernel(inner=True)
def _apart(p, q):  # pragma: no cover - compiled
    """Whether two corners that are no rays are surely different."""
    error = 0.0
    for corner in (p, q):
        if not corner[ERROR] < 0.25 * corner[_W]:
            return False
        size = 1.0 + (abs(corner[_X]) + abs(corner[_Y])) / corner[_W]
        error += (2.0 * corner[ERROR] + 8.0 * ROUND) * size / corner[_W]
    return abs(p[_X] / p[_W] - q[_X] / q[_W]) > error or abs(p[_Y] / p[_W] - q[_Y] / q[_W]) > error


@kernel(inner=True)
def _behind_fine(flat, state, room, regions, region, count, k):  # pragma: no cover - compiled
    """The region behind facet k in order if several neurons change there, or -1."""
    before = (k + count - 1) % count
    first = room.at[before] + (0 if room.meets[before] else 1)
    second = room.at[k]
    p, q = room.corners[first], room.corners[second]
    p_is_ray, q_is_ray = room.pairs[first, 1] == INFINITY, room.pairs[second, 1] == INFINITY
    if not (p_is_ray != q_is_ray or (not p_is_ray and _apart(p, q))):
        return -1
    for neuron in range(len(room.may_flip)):
        room.may_flip[neuron] = state.at_break[neuron]
    # What is 0 at two points of a facet is 0 on all of it.
    for t in range(room.touched[0] + 1):
        line = room.lines[room.order[k]]
        if t > 0:
            place = room.touched[t]
            on = (
                place >= len(flat.domain) and room.zeros[t - 1, first] and room.zeros[t - 1, second]
            )
            if not on:
                continue
            line = state.inequalities.lines[place]
        neuron = flat.neurons[line]
        room.may_flip[neuron] = line - flat.first_lines[neuron]
    # A point behind the middle of the facet; far out if there is a ray.
    size, length = 0.0, 0.0
    for i in range(2):
        if p_is_ray or q_is_ray:
            start, along = (q, p) if p_is_ray else (p, q)
            size = max(1.0, size)
            room.point[i] = start[i] / start[_W] + along[i]
        else:
            a, b = p[i] / p[_W], q[i] / q[_W]
            size = max(size, abs(a - b))
            room.point[i] = 0.5 * (a + b)
        length = max(length, abs(room.in_order[k, i]))
    for i in range(2):
        room.point[i] -= _BEHIND * size * room.in_order[k, i] / length
    return behind_all(
        flat,
        state,
        regions.patterns,
        region,
        room.may_flip,
        room.point,
        room.values,
        room.flipped,
    )


@kernel(inner=True)
def _write(  # pragma: no cover - compiled
    flat, state, room, regions, proofs, region, count, fine
):
    """Write facets, the regions behind them, and bases; whether there is one behind each."""
    nobody = len(state.places) - 2
    first = regions.line_ends[region - 1] if region else 0
    at, place, complete = first, first, True
    for k in range(count):
        line = room.lines[room.order[k]]
        if line >= nobody:
            continue
        proofs.facets[at], proofs.neighbours[at] = line, -1
        if line > flat.domain_lines:
            other = behind(flat, state.pattern, regions.patterns, region, line, room.flipped)
            if other < 0 and fine:
                other = _behind_fine(flat, state, room, regions, region, count, k)
            proofs.neighbours[at] = other
            complete = complete and other >= 0
        if len(regions.unscale) == 1:
            proofs.bases[place, 0] = at - first
            place += 1
        elif room.meets[k]:
            proofs.bases[place, 0], proofs.bases[place, 1] = k, (k + 1) % count
            place += 1
        at += 1
    proofs.basis_counts[region] = place - first
    return complete


@kernel(inner=True)
def _with_twins(flat, state, room, count, has_twins):  # pragma: no cover - compiled
    """List facets, and twins of them that are surely positive at the witness: they follow."""
    found, size = state.inequalities, 1.0 + abs(room.witness[0]) + abs(room.witness[1])
    listed = count
    for k in range(count):
        room.aside[k] = room.lines[k]
    for k in range(count if has_twins else 0):
        line = room.lines[k]
        if line <= flat.domain_lines or line >= len(flat.neurons):
            continue
        first, last = lines_of_layer(flat, flat.layers[flat.neurons[line]])
        for twin in range(first, last):
            place = state.places[twin]
            if flat.twins[twin] != flat.twins[line] or twin == line or place < 0:
                continue
            value = found.rows[2, place]
            for column in range(2):
                value += found.rows[column, place] * room.witness[column]
            if value > COVER_MORE * size * found.bounds[place]:
                room.aside[listed] = twin
                listed += 1
    return listed


@kernel(sums="fused")
def check_polygons(  # pragma: no cover - compiled
    flat, state, room, regions, proofs, begin, end
):
    """Check the regions from `begin` to `end`; the number of signs that were decided.

    Parameters are a `FilterNetwork`, `PatternState`, `Polygon`, `RegionColumns` and `ProofColumns`.
    """
    added = len(flat.domain) - flat.domain_lines  # lines of the second input, if it is none
    nobody = len(state.places) - 2
    lines, facets, order, corners = room.lines, room.facets, room.order, room.corners
    signs, has_twins = 0, False
    for line in range(1, len(flat.twins)):
        has_twins = has_twins or flat.twins[line] != line
    for region in range(begin, end):
        first = regions.line_ends[region - 1] if region else 0
        count = regions.line_ends[region] - first + added
        total = go_to(flat, state, regions.patterns, region)
        if total < 0 or count > _MOST:
            continue
        for k in range(count - added):
            lines[k] = regions.lines[first + k]
        for k in range(added):
            lines[count - added + k] = nobody + k
        if not gather(flat, state, lines[:count], facets):
            continue
        _sort(facets, count, order, room.keys, room.in_order)
        found = _corners(room.in_order, count, corners, room.meets)
        scaled(regions.witnesses[region], regions.unscale, room.witness)
        sure = found > 0 and is_inside(facets[:count], room.witness, flat.rounding)
        if sure:
            # All others must be positive at all corners: then they follow from the facets.
            aside = room.aside[: _with_twins(flat, state, room, count, has_twins)]
            set_aside(state, aside, room.saved)
            doubts = 0
            for k in range(found):
                corner = corners[k]
                doubts += doubtful(state.inequalities, corner[:_W], corner[_W], corner[ERROR], 1.0)
            bring_back(state, aside, room.saved)
            sure = doubts == 0
        complete = sure and _write(flat, state, room, regions, proofs, region, count, False)
        inside = True
        if not complete:
            found = _is_fine(flat, state, room, count)
            if found == 0:
                continue
            for k in range(count):
                facet = state.places[lines[k]]
                inside = inside and surely_positive(flat, state, room.fine, facet, room.witness)
            complete = _write(flat, state, room, regions, proofs, region, count, True)
        signs += found * (total - count) + count + found
        proofs.proved[region], proofs.inside[region] = complete, inside
    return signs
