"""The filter for three and more inputs: regions by their vertices, float64 with error bounds.

For each region the kernel is told which lines may be its facets and where its vertices may be. The
facets near a vertex give *bases*, sets of d facets that are surely independent: one if there are d
of them, else the parts into which their cone is cut (see `_bases_at`). Each of the d edges of a
basis must lead to another one, whose new facet surely falls along the edge, or go to infinity. Then
the cones of the normals of all bases have no boundary but at infinity. If no other inequality is
negative where the facets of a basis meet, or along an edge to infinity, its normal is in one of
these cones, and it follows from the facets there. What float64 leaves in doubt is decided by
`tropicell.certificate._signs`. The argument and the bounds: docs/certificate-proof.md.

What is called for each vertex or region is inlined: a call hands over all arrays of the tuples one
by one, which are hundreds of numbers.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.jit import bit_count, kernel, lowest_bit, template
from tropicell.certificate._flat import COVER_MORE, FilterNetwork
from tropicell.certificate._kernels import (
    ERROR,
    OFFSET,
    behind,
    behind_all,
    bring_back,
    gather,
    go_to,
    is_central,
    is_inside,
    scaled,
    set_aside,
)
from tropicell.certificate._signs import (
    INFINITY,
    FineSigns,
    find_spans,
    fine_sign,
    is_spanned,
    meet,
    surely_positive,
    turn,
)
from tropicell.certificate._vertices import invert, prove_vertex
from tropicell.geometry.rounding import ROUND

#: Regions with more facets or vertices are left to exact arithmetic.
_MOST_FACETS, _MOST_VERTICES = 64, 512

#: How near a facet a vertex must be to be taken for one of its vertices: a guess, which is checked.
_NEAR = 1e-7

#: Coordinates of vertices below this count as large as this there.
_NEAR_ZERO = 1e-3


#: Factors below this count as 0 where bases are chosen: a guess, too.
_NOTHING = 1e-9

#: Vertices with more sets of d facets near them are left to exact arithmetic.
_MOST_SETS = 20_000

#: How far behind a facet neurons are looked at, as a part of its size: a guess.
_BEHIND = 1e-5

#: Room for bases of regions that have more of them than the engine named vertices.
_SPILL, _SPILL_REGIONS = 1 << 15, 256


class Spill(NamedTuple):
    """Bases of regions that have more of them than the engine named vertices.

    Attributes
    ----------
    counts : ndarray, shape (2,)
        Regions, and bases of all of them.
    regions, ends : ndarray
        The regions, and where their bases end.
    bases : ndarray, shape (bases, D)
    """

    counts: NDArray[np.int64]
    regions: NDArray[np.int64]
    ends: NDArray[np.int64]
    bases: NDArray[np.int64]


class FacetTable(NamedTuple):
    """Room for one region."""

    saved: NDArray[np.float64]  # bounds of facets that are set aside
    facets: NDArray[np.float64]
    coordinates: NDArray[np.float64]  # the same, one coordinate of all of them after the other
    values_of_facets: NDArray[np.float64]  # at a point
    places: NDArray[np.int64]  # of each facet: where it is among the inequalities
    central: NDArray[np.uint64]  # as bits: the facets whose offset is exactly 0
    bases: NDArray[np.int64]  # the d facets of each
    masks: NDArray[np.uint64]  # the same as bits
    inverses: NDArray[np.float64]  # of each basis: the inverse of their matrix, edges as columns
    vertices: NDArray[np.float64]  # where they meet
    vertex_errors: NDArray[np.float64]  # of the coordinates of a vertex
    edge_errors: NDArray[np.float64]  # of the coordinates of its edges
    ends: NDArray[np.int64]  # of each edge: the basis where it ends, or -2 minus its number
    columns: NDArray[np.float64]  # homogeneous: all vertices, then all edges to infinity
    shares: NDArray[np.float64]  # of each column: a bound on the errors of its coordinates
    wholes: NDArray[np.float64]  # of each column: its size
    heights: NDArray[np.float64]  # parts of the values of inequalities at a column
    doubts: NDArray[np.bool_]  # of each column: whether an inequality may not be positive there
    table: NDArray[np.float64]  # a matrix, then its inverse
    swaps: NDArray[np.int64]  # rows that were swapped on the way
    edge: NDArray[np.float64]
    point: NDArray[np.float64]
    witness: NDArray[np.float64]
    flipped: NDArray[np.uint64]  # a pattern
    near: NDArray[np.int64]  # facets near a vertex
    chosen: NDArray[np.int64]  # d of them
    fine: FineSigns
    touched: NDArray[np.int64]  # inequalities that are 0 at a vertex, first their number
    touch: NDArray[np.int64]  # of each inequality: where it is among them, or -1
    zeros: NDArray[np.bool_]  # of each of them: at which vertices, and along which edges
    may_flip: NDArray[np.int64]  # of each neuron: a breakpoint that it is at on a facet, or -1
    values: NDArray[np.float64]  # of all neurons at a point
    spill: Spill
    axes: tuple[int, ...]  # as many as there are inputs, in space; else none


def new_polytope(flat: FilterNetwork, words: int, fine: FineSigns) -> FacetTable:
    """Room for any region."""
    d = flat.inputs.shape[1] - 1
    most, units = len(flat.domain) + 2 * len(flat.bias), int(flat.starts[-1])
    return FacetTable(
        np.zeros(_MOST_FACETS),
        np.zeros((_MOST_FACETS, d + 2)),
        np.zeros((d + 1, _MOST_FACETS)),
        np.zeros(_MOST_FACETS),
        np.zeros(_MOST_FACETS, np.int64),
        np.zeros(1, np.uint64),
        np.zeros((_MOST_VERTICES, d), np.int64),
        np.zeros(_MOST_VERTICES, np.uint64),
        np.zeros((_MOST_VERTICES, d, d)),
        np.zeros((_MOST_VERTICES, d)),
        np.zeros(_MOST_VERTICES),
        np.zeros(_MOST_VERTICES),
        np.zeros((_MOST_VERTICES, d), np.int64),
        np.zeros((d + 1, 2 * _MOST_VERTICES)),
        np.zeros(2 * _MOST_VERTICES),
        np.zeros(2 * _MOST_VERTICES),
        np.zeros(most),
        np.zeros(2 * _MOST_VERTICES, np.bool_),
        np.zeros((d, d)),
        np.zeros(d, np.int64),
        np.zeros(d),
        np.zeros(d),
        np.zeros(d),
        np.zeros(words, np.uint64),
        np.zeros(_MOST_FACETS, np.int64),
        np.zeros(d, np.int64),
        fine,
        np.zeros(most + 1, np.int64),
        np.full(most, -1),
        np.zeros((most, 2 * _MOST_VERTICES), np.bool_),
        np.full(len(flat.bias), -1),
        np.zeros(units),
        Spill(
            np.zeros(2, np.int64),
            np.zeros(_SPILL_REGIONS, np.int64),
            np.zeros(_SPILL_REGIONS, np.int64),
            np.zeros((_SPILL, d), np.int64),
        ),
        (0, 1, 2) if d == 3 else (),
    )


@template
def _dimension_of(room):  # pragma: no cover - compiled
    """The dimension; where it is the length of ``room.axes``, loops over it are unrolled."""
    return len(room.axes) if len(room.axes) > 0 else room.bases.shape[1]


@kernel(sums="fused", inner=True, inlined=True)
def _near_facets(room, count):  # pragma: no cover - compiled
    """List the facets near ``room.point``; how many."""
    vertex, values = room.point, room.values_of_facets
    d = _dimension_of(room)
    found, largest = 0, 1.0
    for k in range(count):
        values[k] = room.coordinates[d, k]
    for i in range(d):
        largest += max(abs(vertex[i]), _NEAR_ZERO)
        coordinates, factor = room.coordinates[i], vertex[i]
        for k in range(count):
            values[k] += coordinates[k] * factor
    for k in range(count):
        if abs(values[k]) > _NEAR * largest:  # no coefficient of a facet is above 1
            continue
        facet = room.facets[k]
        size = abs(facet[OFFSET])
        for i in range(d):
            size += abs(facet[i]) * max(abs(vertex[i]), _NEAR_ZERO)
        if abs(values[k]) <= _NEAR * size:
            room.near[found] = k
            found += 1
    return found


@kernel(sums="fused", inner=True)
def _sum(vector):  # pragma: no cover - compiled
    total = 0.0
    for value in vector:
        total += abs(value)
    return total


@kernel(sums="fused", inner=True, inlined=True)
def _turns_away(facet, edge, error, rounding, d):  # pragma: no cover - compiled
    """Whether a facet's inequality surely falls along an edge."""
    value, size, length = 0.0, 0.0, 0.0
    for i in range(d):
        value += facet[i] * edge[i]
        size += abs(facet[i])
        length += abs(edge[i])
    slack = (facet[ERROR] + rounding) * (length + d * error)
    return value < -COVER_MORE * (size * error + slack)


@kernel(sums="fused", inner=True, inlined=True)
def _exchange(room, v, mask):  # pragma: no cover - compiled
    """Write the inverse for a basis that differs in one facet from basis v to ``room.table``."""
    d, table, inverse, products = _dimension_of(room), room.table, room.inverses[v], room.edge
    both = room.masks[v] ^ mask
    slot = bit_count(room.masks[v] & ((both & room.masks[v]) - np.uint64(1)))
    new = lowest_bit(both & mask)
    for i in range(d):
        products[i] = 0.0
        for j in range(d):
            products[i] += room.facets[new, j] * inverse[j, i]
    scale = 1.0 / products[slot]
    for i in range(d):
        facet = new if i == slot else room.bases[v, i]
        to = bit_count(mask & ((np.uint64(1) << np.uint64(facet)) - np.uint64(1)))
        factor = products[i] * scale
        for j in range(d):
            along = inverse[j, slot]
            table[j, to] = along * scale if i == slot else inverse[j, i] - factor * along


@kernel(sums="fused", inner=True, inlined=True)
def _add_basis(flat, room, mask, found):  # pragma: no cover - compiled
    """Add a basis, its facets as bits, unless it is there; their new number, -1 if in doubt."""
    d, nearby = _dimension_of(room), -1
    for other in range(found):
        both = room.masks[other] ^ mask
        if both == np.uint64(0):
            return found
        if bit_count(both) == 2:
            nearby = other
    if found == _MOST_VERTICES:
        return -1
    basis, vertex, rest = room.bases[found], room.vertices[found], mask
    for i in range(d):
        basis[i] = lowest_bit(rest)
        rest &= rest - np.uint64(1)
    sharp, error, edge_error = False, np.inf, np.inf
    if nearby >= 0:
        _exchange(room, nearby, mask)
        error, edge_error, sharp = prove_vertex(
            room.facets, basis, room.table, vertex, flat.rounding, d
        )
    if not sharp:
        if not invert(room.facets, basis, room.table, room.swaps, 0.0, d):
            return -1
        error, edge_error, _ = prove_vertex(
            room.facets, basis, room.table, vertex, flat.rounding, d
        )
    if not error < np.inf:
        return -1
    room.masks[found] = mask
    room.vertex_errors[found], room.edge_errors[found] = error, edge_error
    for i in range(d):
        for j in range(d):
            room.inverses[found, i, j] = room.table[i, j]
    return found + 1


@kernel(sums="fused", inner=True)
def _last_basis(room, count):  # pragma: no cover - compiled
    """The last d facets near a vertex that are independent, as bits; 0 if in doubt."""
    near, chosen, d = room.near, room.chosen, len(room.chosen)
    if count == d:  # whether they are independent is found out later
        mask = np.uint64(0)
        for n in range(d):
            mask |= np.uint64(1) << np.uint64(near[n])
        return mask
    least = np.inf
    for n in range(count):
        size = 0.0
        for i in range(d):
            size = max(size, abs(room.facets[near[n], i]))
        least = min(least, _NOTHING * size)
    picks = room.edge  # d numbers from 0 to count, as floats: places from the end
    for i in range(d):
        picks[i] = float(i)
    for _ in range(_MOST_SETS):
        mask = np.uint64(0)
        for i in range(d):
            chosen[i] = near[count - 1 - int(picks[i])]
            mask |= np.uint64(1) << np.uint64(chosen[i])
        if invert(room.facets, chosen, room.table, room.swaps, least, d):
            return mask
        i = d - 1
        while i >= 0 and picks[i] == float(count - d + i):
            i -= 1
        if i < 0:
            break
        picks[i] += 1.0
        for j in range(i + 1, d):
            picks[j] = picks[j - 1] + 1.0
    return np.uint64(0)


@kernel(sums="fused", inner=True)
def _moved(room, v, facet, other):  # pragma: no cover - compiled
    """By how much a facet is farther from basis v's vertex if another facet is moved outwards."""
    if other == facet:
        return 1.0
    bit = np.uint64(1) << np.uint64(other)
    if room.masks[v] & bit == np.uint64(0):
        return 0.0
    slot = bit_count(room.masks[v] & (bit - np.uint64(1)))
    far = 0.0
    for j in range(room.bases.shape[1]):
        far -= room.facets[facet, j] * room.inverses[v, j, slot]
    return far


@kernel(sums="fused", inner=True)
def _next_facet(room, count, v, slot):  # pragma: no cover - compiled
    """The first of the facets near a vertex to be met along an edge of basis v; -1 if none.

    They are moved outwards as `_bases_at` says.
    """
    near, best, steepest = room.near, -1, 0.0
    for n in range(count):
        facet = near[n]
        if room.masks[v] >> np.uint64(facet) & np.uint64(1):
            continue
        fall = _moved(room, v, facet, room.bases[v, slot])
        if not fall > _NOTHING:
            continue
        is_first = best < 0
        for m in range(count):
            if is_first:
                break
            mine = _moved(room, v, facet, near[m]) / fall
            its = _moved(room, v, best, near[m]) / steepest
            if abs(mine - its) > _NOTHING * (1.0 + abs(mine)):
                is_first = mine < its
                break
        if is_first:
            best, steepest = facet, fall
    return best


@kernel(sums="fused", inner=True, inlined=True)
def _bases_at(flat, room, count, found):  # pragma: no cover - compiled
    """Add the bases of the facets near a vertex; their new number, or -1 if in doubt.

    If facet 0 is moved outwards by much more than facet 1, that one by much more than facet 2 and
    so on, the vertex splits into vertices of d facets each, whose cones are the parts of the cone
    of all. That of the last facets is one of them, and edges lead to the others.
    """
    d = len(room.chosen)
    mask = _last_basis(room, count) if count >= d else np.uint64(0)
    if mask == np.uint64(0):
        return -1
    v = found
    found = _add_basis(flat, room, mask, found)
    if count == d:
        return found
    while v < found:
        for slot in range(d):
            facet = _next_facet(room, count, v, slot)
            if facet >= 0:
                bits = np.uint64(1) << np.uint64(facet)
                bits |= room.masks[v] ^ (np.uint64(1) << np.uint64(room.bases[v, slot]))
                found = _add_basis(flat, room, bits, found)
                if found < 0:
                    return -1
        v += 1
    return found


@kernel(inner=True)
def _name_vertex(room, v, slot):  # pragma: no cover - compiled
    """Say which rows meet in a vertex, or with a slot at the end of one of its edges."""
    for i in range(room.bases.shape[1]):
        room.fine.places[i] = room.places[room.bases[v, i]]
    if slot >= 0:
        room.fine.places[slot] = INFINITY


@kernel(inner=True)
def _go_to_vertex(flat, state, room, v, slot):  # pragma: no cover - compiled
    """Work out a vertex, or with a slot one of its edges, in twice the digits; False in doubt."""
    fine = room.fine
    if not fine.usable[0]:
        return False
    _name_vertex(room, v, slot)
    meet(flat, state, fine)
    # Its weight is positive; along an edge the facet that is left grows.
    reference = room.places[room.bases[v, slot]] if slot >= 0 else INFINITY
    sign = fine_sign(flat, state, fine, reference)
    if sign == -1:
        turn(fine)
    return sign in (-1, 1)


@kernel(inner=True)
def _touches(flat, state, room, v, slot, column):  # pragma: no cover - compiled
    """Whether no inequality but the facets is negative at a vertex, or along an edge.

    Those that are 0 there are noted in a column of ``room.zeros``.
    """
    found, d, ready = state.inequalities, room.bases.shape[1], False
    touched, touch, points = room.touched, room.touch, room.columns
    share, whole = room.shares[column], room.wholes[column]
    _name_vertex(room, v, slot)
    spans = find_spans(flat, state, room.fine)
    for layer in range(len(found.begins)):
        for place in range(found.begins[layer], found.ends[layer]):
            value = 0.0
            for i in range(d + 1):
                value += found.rows[i, place] * points[i, column]
            if value > found.sizes[place] * share + found.bounds[place] * whole:
                continue
            if not (spans and is_spanned(flat, state, room.fine, place)):
                if not ready and not _go_to_vertex(flat, state, room, v, slot):
                    return False
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
                room.zeros[t, :] = False
            room.zeros[t, column] = True
    return True


@kernel(inner=True)
def _end_of_edge(flat, state, room, count, v, slot):  # pragma: no cover - compiled
    """The basis where an edge ends, if twice the digits of float64 say so; -2 if in doubt."""
    facet = room.bases[v, slot]
    key = room.masks[v] ^ (np.uint64(1) << np.uint64(facet))
    if not _go_to_vertex(flat, state, room, v, slot):
        return -2
    for other in range(count):
        if other != v and room.masks[other] & key == key:
            new = room.places[lowest_bit(room.masks[other] ^ key)]
            if fine_sign(flat, state, room.fine, new) == -1:
                return other
    return -2


@kernel(inner=True, inlined=True)
def _join(flat, room, v, other, both):  # pragma: no cover - compiled
    """Let an edge of one basis end at another one, and the other way round, if it surely does.

    `both` has the two facets that only one of them has. With f and g these, and f · r = 1 along
    the edge r of the first one: if g · r < 0, then r / (g · r) is the edge of the second one, and f
    falls along it. So one sign proves both ends. Where it is in doubt, that is noted as -2.
    """
    d, edge, ends = _dimension_of(room), room.edge, room.ends
    mine, its = both & room.masks[v], both & room.masks[other]
    # Facets of a basis are in order.
    slot = bit_count(room.masks[v] & (mine - np.uint64(1)))
    back = bit_count(room.masks[other] & (its - np.uint64(1)))
    for i in range(d):
        edge[i] = room.inverses[v, i, slot]
    if _turns_away(room.facets[lowest_bit(its)], edge, room.edge_errors[v], flat.rounding, d):
        ends[v, slot], ends[other, back] = other, v
    else:
        ends[v, slot] = ends[v, slot] if ends[v, slot] >= 0 else -2
        ends[other, back] = ends[other, back] if ends[other, back] >= 0 else -2


@kernel(inner=True, inlined=True)
def _find_ends(flat, state, room, count):  # pragma: no cover - compiled
    """Find where edges end; how many of them go to infinity, -1 if in doubt."""
    d, masks, ends, rays = _dimension_of(room), room.masks, room.ends, 0
    for v in range(count):
        for slot in range(d):
            ends[v, slot] = -1
    for v in range(count):
        for other in range(v):
            both = masks[v] ^ masks[other]
            if bit_count(both) == 2:
                _join(flat, room, v, other, both)
    for v in range(count):
        for slot in range(d):
            if ends[v, slot] == -2:
                ends[v, slot] = _end_of_edge(flat, state, room, count, v, slot)
                if ends[v, slot] == -2:
                    return -1
            elif ends[v, slot] == -1:
                if rays == _MOST_VERTICES:
                    return -1
                ends[v, slot] = -2 - rays
                rays += 1
    return rays


@kernel(sums="fused", inner=True, inlined=True)
def _write_columns(room, count):  # pragma: no cover - compiled
    """Write all vertices and edges to infinity to ``room.columns``, with their sizes and errors."""
    d, columns = _dimension_of(room), room.columns
    for v in range(count):
        error, size = room.vertex_errors[v], 1.0
        for i in range(d):
            columns[i, v] = room.vertices[v, i]
            size += abs(room.vertices[v, i])
        columns[d, v] = 1.0
        room.shares[v], room.wholes[v] = error, COVER_MORE * (size + d * error)
        error = room.edge_errors[v]
        for slot in range(d):
            if room.ends[v, slot] >= 0:
                continue
            column, size = count - 2 - room.ends[v, slot], 0.0
            for i in range(d):
                columns[i, column] = room.inverses[v, i, slot]
                size += abs(room.inverses[v, i, slot])
            columns[d, column] = 0.0
            room.shares[column], room.wholes[column] = error, COVER_MORE * (size + d * error)


@kernel(sums="fused", inner=True)
def _heights(found, room, place, end, v):  # pragma: no cover - compiled
    """Write the values of inequalities at a column, but for their first four coefficients."""
    heights, rows = room.heights[: end - place], found.rows
    a, x = rows[4, place:end], room.columns[4, v]
    for i in range(len(heights)):
        heights[i] = a[i] * x
    for c in range(5, len(rows)):
        a, x = rows[c, place:end], room.columns[c, v]
        for i in range(len(heights)):
            heights[i] += a[i] * x


@kernel(sums="fused", inner=True)
def _doubts_at(found, room, place, end, v):  # pragma: no cover - compiled
    """How many inequalities are not surely positive at a column; as `doubtful`."""
    rows, points = found.rows, room.columns
    a, b, c, e = rows[0, place:end], rows[1, place:end], rows[2, place:end], rows[3, place:end]
    p, q, r, s = points[0, v], points[1, v], points[2, v], points[3, v]
    sizes, bounds = found.sizes[place:end], found.bounds[place:end]
    share, whole, doubts = room.shares[v], room.wholes[v], 0
    # Facets are set aside, with bounds of minus infinity.
    if len(rows) == 4:
        for i in range(len(sizes)):  # from 0, so that it is vectorised
            value = a[i] * p + b[i] * q + c[i] * r + e[i] * s
            doubts += 0 if value > sizes[i] * share + bounds[i] * whole else 1
        return doubts
    _heights(found, room, place, end, v)
    heights = room.heights[: end - place]
    for i in range(len(sizes)):
        value = a[i] * p + b[i] * q + c[i] * r + e[i] * s + heights[i]
        doubts += 0 if value > sizes[i] * share + bounds[i] * whole else 1
    return doubts


@kernel(inner=True)
def _find_doubts(found, room, count):  # pragma: no cover - compiled
    """Note the columns where an inequality is not surely positive; whether there are any."""
    any_doubt = False
    for v in range(count):
        doubts = 0
        for layer in range(len(found.begins)):
            doubts += _doubts_at(found, room, found.begins[layer], found.ends[layer], v)
        room.doubts[v] = doubts > 0
        any_doubt = any_doubt or doubts > 0
    return any_doubt


@kernel(inner=True)
def _find_central(flat, state, room, count):  # pragma: no cover - compiled
    """Note which facets go through the origin for sure."""
    central = np.uint64(0)
    for k in range(count):
        if is_central(flat, state, room.places[k]):
            central |= np.uint64(1) << np.uint64(k)
    room.central[0] = central


@kernel(inner=True)
def _none_is_cut_off(flat, state, room, count):  # pragma: no cover - compiled
    """Whether no inequality is negative at the columns where ``room.doubts`` says that one may be.

    Those that are 0 there are noted in ``room.zeros``.
    """
    center = -1
    for v in range(count):
        is_center = room.masks[v] & room.central[0] == room.masks[v]
        if is_center and center >= 0:  # the same point: the origin
            for t in range(room.touched[0]):
                room.zeros[t, v] = room.zeros[t, center]
        elif room.doubts[v] and not _touches(flat, state, room, v, -1, v):
            return False
        if is_center and center < 0:
            center = v
        for slot in range(room.bases.shape[1]):
            column = count - 2 - room.ends[v, slot]
            to_infinity = room.ends[v, slot] < 0
            if (
                to_infinity
                and room.doubts[column]
                and not _touches(flat, state, room, v, slot, column)
            ):
                return False
    return True


@kernel(inner=True, inlined=True)
def _is_closed(flat, state, room, count):  # pragma: no cover - compiled
    """Whether no edge leads nowhere and no inequality cuts something off; tests made, 0 if not."""
    for t in range(room.touched[0]):
        room.touch[room.touched[1 + t]] = -1
    room.touched[0] = 0
    rays = _find_ends(flat, state, room, count)
    if rays < 0:
        return 0
    tests = count + rays
    _write_columns(room, count)
    if not _find_doubts(state.inequalities, room, tests):
        return tests
    if not _none_is_cut_off(flat, state, room, count):
        return 0
    for t in range(room.touched[0]):
        everywhere = True
        for column in range(tests):
            everywhere = everywhere and room.zeros[t, column]
        place = room.touched[1 + t]
        if everywhere and place >= len(flat.domain):
            # A neuron that may always be at a breakpoint must be on the piece below it.
            line = state.inequalities.lines[place]
            neuron = flat.neurons[line]
            if state.pattern[neuron] > line - flat.first_lines[neuron]:
                return 0
    return tests


@kernel(inner=True)
def _middle(flat, room, lines, count, k):  # pragma: no cover - compiled
    """Write a point of facet k to ``room.point``; whether all other facets are positive there.

    It is the mean of the points of all bases with facet k, plus a vector along the edges of these
    to infinity. How large the facet is is written to ``room.edge``.
    """
    d, bit = room.bases.shape[1], np.uint64(1) << np.uint64(k)
    point, edge, facets = room.point, room.edge, room.facets
    for i in range(d):
        point[i] = edge[i] = 0.0
    on, rays, size, error, edge_error, largest = 0.0, 0.0, 0.0, 0.0, 0.0, 1.0
    for v in range(count):
        if room.masks[v] & bit == np.uint64(0):
            continue
        on += 1.0
        error = max(error, room.vertex_errors[v])
        for i in range(d):
            point[i] += room.vertices[v, i]
            largest = max(largest, abs(room.vertices[v, i]))
        for slot in range(d):
            end = room.ends[v, slot]
            if room.bases[v, slot] == k:
                continue
            if end < 0:
                rays += 1.0
                edge_error += room.edge_errors[v]
            for i in range(d):
                if end < 0:
                    edge[i] += room.inverses[v, i, slot]
                else:
                    size = max(size, abs(room.vertices[v, i] - room.vertices[end, i]))
    if on == 0.0:
        return False
    far = _sum(edge)
    if rays > 0.0 and not far > 0.0:
        return False
    whole = 1.0
    for i in range(d):
        point[i] = point[i] / on + (edge[i] / far if rays > 0.0 else 0.0)
        whole += abs(point[i])
    if rays > 0.0:
        error += edge_error / far
        size = max(size, 1.0)
    error += 4.0 * (on + rays + 8.0) * ROUND * largest
    edge[0] = size
    for g in range(len(lines)):
        if g == k:
            continue
        value, length = facets[g, OFFSET], 0.0
        for i in range(d):
            value += facets[g, i] * point[i]
            length += abs(facets[g, i])
        slack = (facets[g, ERROR] + flat.rounding) * (whole + d * error) + length * error
        if not value > COVER_MORE * slack:
            return False
    return True


@kernel(inner=True)
def _is_on_facet(room, count, k, t):  # pragma: no cover - compiled
    """Whether an inequality that touches is 0 at all bases with facet k and along their edges."""
    d, bit = room.bases.shape[1], np.uint64(1) << np.uint64(k)
    for v in range(count):
        if room.masks[v] & bit == np.uint64(0):
            continue
        if not room.zeros[t, v]:
            return False
        for slot in range(d):
            end = room.ends[v, slot]
            if room.bases[v, slot] != k and end < 0 and not room.zeros[t, count - 2 - end]:
                return False
    return True


@kernel(inner=True)
def _behind_fine(flat, state, room, regions, region, lines, count, k):  # pragma: no cover
    """The region behind facet k if several neurons change there, or -1."""
    if not _middle(flat, room, lines, count, k):
        return -1
    d, point = room.bases.shape[1], room.point
    for neuron in range(len(room.may_flip)):
        room.may_flip[neuron] = state.at_break[neuron]
    for t in range(room.touched[0] + 1):
        line = np.int64(lines[k])
        if t > 0:
            place = room.touched[t]
            if place < len(flat.domain) or not _is_on_facet(room, count, k, t - 1):
                continue
            line = state.inequalities.lines[place]
        neuron = flat.neurons[line]
        room.may_flip[neuron] = line - flat.first_lines[neuron]
    length = 0.0
    for i in range(d):
        length = max(length, abs(room.facets[k, i]))
    for i in range(d):
        point[i] -= _BEHIND * room.edge[0] * room.facets[k, i] / length
    return behind_all(
        flat, state, regions.patterns, region, room.may_flip, point, room.values, room.flipped
    )


@kernel(inner=True, inlined=True)
def _find_bases(flat, room, regions, region, count):  # pragma: no cover - compiled
    """Bases of a region with so many facets, from where its vertices may be; 0 if in doubt."""
    d = _dimension_of(room)
    first = regions.corner_ends[region - 1] if region else 0
    found = 0
    for c in range(first, regions.corner_ends[region]):
        if regions.corners[c, d] == 0.0:
            continue
        scaled(regions.corners[c], regions.unscale, room.point)
        near = _near_facets(room, count)
        found = _bases_at(flat, room, near, found)
        if found < 0:
            return 0
    return found


@kernel(inner=True)
def _write_bases(room, regions, proofs, region, count):  # pragma: no cover - compiled
    """Write the bases of a region; False if there is no room."""
    d = room.bases.shape[1]
    first = regions.corner_ends[region - 1] if region else 0
    proofs.basis_counts[region] = count
    if count <= regions.corner_ends[region] - first:
        for b in range(count):
            for i in range(d):
                proofs.bases[first + b, i] = room.bases[b, i]
        return True
    spill = room.spill
    at, n = spill.counts[1], spill.counts[0]
    if at + count > len(spill.bases) or n == len(spill.regions):
        proofs.basis_counts[region] = 0
        return False
    for b in range(count):
        for i in range(d):
            spill.bases[at + b, i] = room.bases[b, i]
    spill.regions[n], spill.ends[n] = region, at + count
    spill.counts[0], spill.counts[1] = n + 1, at + count
    proofs.spilled[region] = True
    return True


@kernel(sums="fused")
def check_polytopes(  # pragma: no cover - compiled
    flat, state, room, regions, proofs, begin, end
):
    """Check the regions from `begin` to `end`; the number of signs that were decided.

    Parameters are a `FilterNetwork`, `PatternState`, `FacetTable`, `RegionColumns` and
    `ProofColumns`.
    """
    d = flat.inputs.shape[1] - 1
    signs = 0
    for region in range(begin, end):
        first = regions.line_ends[region - 1] if region else 0
        first_corner = regions.corner_ends[region - 1] if region else 0
        lines = regions.lines[first : regions.line_ends[region]]
        total = go_to(flat, state, regions.patterns, region)
        fine = total >= 0 and len(lines) <= _MOST_FACETS
        fine = fine and regions.corner_ends[region] - first_corner <= _MOST_VERTICES
        if not fine or not gather(flat, state, lines, room.facets):
            continue
        for k in range(len(lines)):
            room.places[k] = state.places[lines[k]]
            for i in range(d + 1):
                room.coordinates[i, k] = room.facets[k, i]
        scaled(regions.witnesses[region], regions.unscale, room.witness)
        inside = is_inside(room.facets[: len(lines)], room.witness, flat.rounding)
        if not inside:
            inside = True
            for k in range(len(lines)):
                inside = inside and surely_positive(
                    flat, state, room.fine, room.places[k], room.witness
                )
        count = _find_bases(flat, room, regions, region, len(lines))
        if count == 0:
            continue
        _find_central(flat, state, room, len(lines))
        # No other may be negative at a vertex or along an edge to infinity: then they follow.
        set_aside(state, lines, room.saved)
        tests = _is_closed(flat, state, room, count)
        bring_back(state, lines, room.saved)
        if tests == 0:
            continue
        signs += tests * (total - len(lines)) + len(lines) + count * d
        complete = True
        for k in range(len(lines)):
            at = first + k
            proofs.facets[at], proofs.neighbours[at] = lines[k], -1
            if complete and lines[k] > flat.domain_lines:
                other = behind(
                    flat, state.pattern, regions.patterns, region, lines[k], room.flipped
                )
                if other < 0:
                    other = _behind_fine(flat, state, room, regions, region, lines, count, k)
                proofs.neighbours[at] = other
                complete = other >= 0
        proofs.proved[region] = complete and _write_bases(room, regions, proofs, region, count)
        proofs.inside[region] = inside
    return signs
