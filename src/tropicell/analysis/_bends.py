"""Kernels that integrate outputs over cells of all layers but the last one.

Docs: docs/exactness.md, "Integrals". On a cell P of the layers before the last one, the inputs z of
the last layer's neurons are affine, and an output is an affine function plus a sum of bends
``max(z - t, 0)``. So no cell of the whole network is needed: only the corners of P, its edges, and
the heights ``h = z - t`` of its corners.

*From corners.* With the heights of corners and how fast they change along edges, `_cones` has a
formula of a few hundred operations. Where edges are nearly level its terms are large and cancel.
Then the other side is taken, ``max(h, 0) = h + max(-h, 0)``, and if that is no better:

*From faces.* Around a point p with h(p) = 0, max(h, 0) is homogeneous. So its integral over a
k-dimensional face F through p is a sum over F's facets G of their distances from p times the
integrals over G, divided by k + 1: as in `_moments`, with a crossing of h = 0 and an edge of F in
the place of F's first corner. All summands are positive, so nothing cancels. A face on which h is
positive everywhere has its volume and moment instead.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray, IntArray
from tropicell._runtime.jit import kernel, lowest_bit
from tropicell.analysis._cones import ConeRoom, cone_room, cone_share, measure_cones
from tropicell.analysis._moments import (
    join_faces,
    places_for,
    sum_pyramids,
)
from tropicell.analysis._vertices import WalkRoom, find_corners, measure_faces, write_values
from tropicell.geometry.rounding import INFLATE, ROUND

#: What rounding may make of an integral over a cell: this part of the cell's volume times the
#: largest absolute value there. With more inputs it takes much longer to do better.
_LIMIT, _FEW_INPUTS, _MORE = 1e-9, 6, 1e-7

_ONE = np.uint64(1)
_NONE = np.uint64(0)

#: On which side of a level a face has corners.
_ABOVE, _BELOW, _BOTH = 1, 2, 3


class BendRoom(NamedTuple):
    """What one thread needs.

    Attributes
    ----------
    walk : WalkRoom
    cones : ConeRoom
    value, wrong : ndarray, shape (corners,)
        The input of a neuron at the corners, and about what rounding makes of it.
    direction : ndarray, shape (inputs,)
        Its slopes.
    affine : ndarray, shape (outputs, inputs + 1)
        What is left of the outputs without bends.
    size, slack : ndarray, shape (outputs,)
        What was added up for it at most, in absolute values; what its values may be wrong by.
    total, unsure : ndarray, shape (2, faces)
        Integrals over faces, and what rounding makes of them.
    side : ndarray, shape (2, faces)
        On which side of the level they have corners.
    crossing : ndarray, shape (2, faces)
        An edge of each face that crosses it; -1: none.
    upper, lower : ndarray, shape (faces,)
        Its ends.
    """

    walk: WalkRoom
    cones: ConeRoom
    value: FloatArray
    wrong: FloatArray
    direction: FloatArray
    affine: FloatArray
    size: FloatArray
    slack: FloatArray
    total: FloatArray
    unsure: FloatArray
    side: NDArray[np.uint8]
    crossing: IntArray
    upper: IntArray
    lower: IntArray


def bend_room(walk: WalkRoom, outputs: int) -> BendRoom:
    """Room for cells with as many corners and faces as there is room for walks."""
    corners, d = walk.bases.shape
    faces = walk.moments.faces.shape[1]
    return BendRoom(
        walk,
        cone_room(corners, d),
        value=np.zeros(corners),
        wrong=np.zeros(corners),
        direction=np.zeros(d),
        affine=np.zeros((outputs, d + 1)),
        size=np.zeros(outputs),
        slack=np.zeros(outputs),
        total=np.zeros((2, faces)),
        unsure=np.zeros((2, faces)),
        side=np.zeros((2, faces), np.uint8),
        crossing=np.zeros((2, faces), np.int64),
        upper=np.zeros(faces, np.int64),
        lower=np.zeros(faces, np.int64),
    )


@kernel
def integrate_cells(
    flat: Any, flips: Any, box: Any, patterns: Any, last_layer: Any, part: Any, found: Any
) -> None:
    """Integrals of the outputs over cells of a box; nan where this is not the way to find them.

    Parameters
    ----------
    flat : FlatNetwork
        The layers before the last one; then the last one and the outputs without it, both as layers
        without an activation.
    flips : FlipLines
    box : Objectives
    patterns : tuple
        Of the cells: packed patterns, bits of a neuron, and for each line of a neuron whether it
        reads nothing.
    last_layer : tuple
        Weights of the outputs for the last layer, shape (outputs, neurons); breakpoints, slopes
        and intercepts of its activation.
    part : tuple
        Which cells (the first one, and the one after the last); room.
    found : tuple
        Gets for each cell and output the integral, and what rounding may make of it.
    """
    first, last, room = part
    integrals, errors = found
    walk = room.walk
    flip, d = walk.program.flip, flat.lines.dimension
    flip.maps.changes[:] = -1
    unit, reach, limit = 1.0, 1.0, _LIMIT if d <= _FEW_INPUTS else _MORE
    for c in range(d):
        unit *= flat.lines.scale[c]
        reach += flips.bounds[c]
    for cell in range(first, last):
        integrals[cell] = np.nan
        n, m = find_corners(flat, flips, box, patterns, (cell, first), walk)
        if n <= d:
            continue
        volume, doubt = measure_cones(walk, room.cones, n, limit)
        if volume == 0.0:
            volume, doubt = measure_faces(walk, n, m, True)
            if not volume > 0.0:
                continue
        _start_outputs(flat, room, integrals[cell], errors[cell], reach)
        if not _add_bends(flat, room, (n, m, reach, volume * limit), last_layer, found, cell):
            integrals[cell] = np.nan
            continue
        for o in range(len(room.size)):
            value, size = room.affine[o, d] * volume, abs(room.affine[o, d])
            for c in range(d):
                value += room.affine[o, c] * walk.moment[c]
                size += abs(room.affine[o, c]) * flips.bounds[c]
            error = 2.0 * doubt * size + volume * room.slack[o]
            error += volume * (len(flip.pieces) + d + 8.0) * ROUND * (room.size[o] + size)
            integrals[cell, o] = (integrals[cell, o] + value) / unit
            errors[cell, o] = (errors[cell, o] + error) * INFLATE / unit


# --- the outputs ----------------------------------------------------------------------------------


@kernel(inner=True)
def _start_outputs(flat: Any, room: Any, integrals: Any, errors: Any, reach: float) -> None:
    """The outputs without the last layer."""
    lines, before, d = flat.lines, room.walk.program.flip.maps.before, flat.lines.dimension
    start = lines.row_start[lines.depth]
    for o in range(len(room.size)):
        integrals[o], errors[o], size = 0.0, 0.0, 0.0
        for c in range(d + 1):
            room.affine[o, c] = before[c, start + o]
            size += abs(before[c, start + o])
        room.size[o], room.slack[o] = size * reach, before[d + 1, start + o] * reach


@kernel(inner=True)
def _add_bends(flat: Any, room: Any, form: Any, last_layer: Any, found: Any, cell: int) -> bool:
    """All neurons of the last layer: their bends, and what is affine of them."""
    n, m, reach, accuracy = form
    weights, bends, slopes, intercepts = last_layer
    integrals, errors = found
    lines, before, d = flat.lines, room.walk.program.flip.maps.before, flat.lines.dimension
    start, ready = lines.row_start[lines.depth - 1], False
    for k in range(weights.shape[1]):
        row = start + k
        slope, intercept, slack = slopes[k, 0], intercepts[k, 0], 0.0
        low, high, blur = _heights(room, before, row, (n, d, reach))
        for b in range(bends.shape[1]):
            at = bends[k, b]
            jump = slopes[k, b + 1] - slopes[k, b]
            if jump == 0.0 or not high > at:  # nowhere above
                slack += abs(jump) * (blur if high > at - blur else 0.0)
                continue
            if not low < at:  # nowhere below
                slack += abs(jump) * (blur if low < at + blur else 0.0)
                slope += jump
                intercept -= jump * at
                continue
            limit = accuracy * max(high - at, at - low)
            above, value, doubt = _from_corners(room, n, (before, row), at, limit)
            if not doubt <= limit:
                if not ready:
                    write_values(room.walk.moments, n, m)
                    ready = True
                above = True
                value, doubt = _from_faces(room, n, m, at)
                if not doubt <= limit:
                    return False
            if not above:
                slope += jump
                intercept -= jump * at
            for o in range(len(room.size)):
                factor = weights[o, k] * jump
                integrals[cell, o] += factor * value
                errors[cell, o] += abs(factor) * (doubt + 4.0 * ROUND * value)
        size = abs(intercept)
        for c in range(d + 1):
            size += abs(slope * before[c, row]) * reach
        slack += abs(slope) * before[d + 1, row] * reach
        for o in range(len(room.size)):
            weight = weights[o, k]
            for c in range(d + 1):
                room.affine[o, c] += weight * (slope * before[c, row])
            room.affine[o, d] += weight * intercept
            room.size[o] += abs(weight) * size
            room.slack[o] += abs(weight) * slack
    return True


@kernel(inner=True)
def _heights(room: Any, before: Any, row: int, form: Any) -> tuple[float, float, float]:
    """The input of a neuron at all corners: the least, the largest, the largest error."""
    n, d, reach = form
    points = room.walk.moments.points
    low, high, most, slopes = np.inf, -np.inf, 0.0, 0.0
    for c in range(d):
        slopes += before[c, row] * before[c, row]
    slopes = np.sqrt(slopes)
    for v in range(n):
        value, terms = before[d, row], abs(before[d, row])
        for c in range(d):
            term = before[c, row] * points[v, c]
            value += term
            terms += abs(term)
        error = slopes * room.walk.apart[v] + 2.0 * ROUND * terms
        error += before[d + 1, row] * reach
        room.value[v], room.wrong[v] = value, error
        low, high, most = min(low, value), max(high, value), max(most, error)
    return low, high, most


@kernel(inner=True)
def _from_corners(
    room: Any, n: int, slopes: Any, at: float, limit: float
) -> tuple[bool, float, float]:
    """The integral of max(z - at, 0), or of max(at - z, 0); which of them; and its error.

    First on the side with fewer corners.
    """
    before, row = slopes
    height, count, length = room.cones.height, 0, 0.0
    for v in range(n):
        height[v] = room.value[v] - at
        count += height[v] > 0.0
    for c in range(len(room.direction)):
        room.direction[c] = before[c, row]
        length += before[c, row] * before[c, row]
    above, length = 2 * count <= n, np.sqrt(length)
    value, doubt = _sum_corners(room, n, 1.0 if above else -1.0, length)
    if not doubt <= limit:
        above = not above
        value, doubt = _sum_corners(room, n, 1.0 if above else -1.0, length)
    return above, value, doubt


@kernel(inner=True)
def _sum_corners(room: Any, n: int, sign: float, length: float) -> tuple[float, float]:
    """The sum over corners on one side, and what rounding makes of it."""
    d, total, doubt = len(room.direction), 0.0, 0.0
    for v in range(n):
        high, wrong = sign * room.cones.height[v], room.wrong[v]
        if not high > -wrong:
            continue
        factor, part = cone_share(room.walk, room.cones, v, room.direction, length)
        rise = max(abs(high), wrong)
        for c in range(d + 1):
            factor *= rise / (c + 1)
        for _ in range(d if sign < 0.0 else 0):
            factor = -factor
        part += (d + 1) * (wrong / rise + 4.0 * ROUND)
        if high > 0.0:
            total += factor
        else:
            part = 1.0
        doubt += abs(factor) * part
    return total, doubt


@kernel(inner=True)
def _from_faces(room: Any, n: int, m: int, at: float) -> tuple[float, float]:
    """The integral of max(z - at, 0), from crossings of edges; and its error (nan: not known)."""
    moments, d, now, count = room.walk.moments, room.walk.bases.shape[1], 0, n
    reach = 1.0
    for f in range(m):
        reach = max(reach, abs(moments.rows[f, d]))
    error, places = 4.0 * ROUND * reach, places_for(moments, n)
    for v in range(n):
        height, share = room.value[v] - at, 2.0 * d * ROUND / room.walk.area[v]
        weight = 1.0 / room.walk.area[v]
        room.cones.height[v] = height
        moments.faces[0, v], moments.apex[0, v] = moments.tight[v], v
        moments.weight[0, v], moments.doubt[0, v] = weight, weight * share
        room.side[0, v] = _ABOVE if height > 0.0 else _BELOW
        room.crossing[0, v] = -1
        room.total[0, v] = max(height, 0.0) * weight
        room.unsure[0, v] = (max(height, 0.0) * share + room.wrong[v]) * weight
    for level in range(d):
        moments.turn[0] += 1
        after = join_faces(moments, count, now, (m, places), moments.turn[0])
        if after == 0 or (level == d - 1 and after != 1):
            return np.nan, np.nan
        sum_pyramids(moments, count, now, error, False)
        _find_sides(room, count, after, now, level == 0)
        _sum_crossings(room, count, now, error)
        then = 1 - now
        for j in range(after):
            if room.side[then, j] == _ABOVE:
                v = moments.apex[then, j]
                room.total[then, j] += room.cones.height[v] * moments.weight[then, j]
                unsure = room.cones.height[v] * moments.doubt[then, j]
                room.unsure[then, j] += unsure + room.wrong[v] * moments.weight[then, j]
        count, now = after, then
    unit = 1.0
    for c in range(d + 1):
        unit *= c + 1
    return room.total[now, 0] / unit, room.unsure[now, 0] / unit


@kernel(inner=True)
def _find_sides(room: Any, count: int, after: int, now: int, are_edges: bool) -> None:
    """On which sides of the level the faces of the next dimension lie, and where they cross it."""
    moments, then, link = room.walk.moments, 1 - now, 0
    for j in range(after):
        room.side[then, j], room.crossing[then, j] = 0, -1
        room.total[then, j], room.unsure[then, j] = 0.0, 0.0
    for i in range(count):
        left = moments.faces[now, i]
        while left != _NONE:
            left &= left - _ONE
            j = moments.links[link]
            link += 1
            room.side[then, j] |= room.side[now, i]
            if are_edges and room.side[now, i] == _ABOVE:
                room.upper[j] = i
            elif are_edges:
                room.lower[j] = i
            elif room.crossing[now, i] >= 0:
                room.crossing[then, j] = room.crossing[now, i]
    if are_edges:
        for j in range(after):
            room.crossing[then, j] = j if room.side[then, j] == _BOTH else -1


@kernel(inner=True)
def _sum_crossings(room: Any, count: int, now: int, error: float) -> None:
    """Integrals over the faces of the next dimension, from those over their facets."""
    moments, then, link = room.walk.moments, 1 - now, 0
    values, height = moments.values, room.cones.height
    for i in range(count):
        left = moments.faces[now, i]
        while left != _NONE:
            g = lowest_bit(left)
            left &= left - _ONE
            j = moments.links[link]
            link += 1
            side = room.side[then, j]
            if side == _BOTH:
                v, w = room.upper[room.crossing[then, j]], room.lower[room.crossing[then, j]]
                value = (values[w, g] * height[v] - values[v, g] * height[w]) / (
                    height[v] - height[w]
                )
            else:
                a = moments.apex[then, j]
                if side == _BELOW or moments.tight[a] >> np.uint64(g) & _ONE != _NONE:
                    continue
                value = values[a, g]
            room.total[then, j] += value * room.total[now, i]
            room.unsure[then, j] += value * room.unsure[now, i] + error * room.total[now, i]
