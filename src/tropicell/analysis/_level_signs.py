"""Kernels for the set where two outputs are equal: signs at all corners, and pieces in space.

The maps of all layers but the last are brought from region to region as in the engines, in twice
the digits, with the bounds of docs/error-bound.md, step 1. The difference of the outputs is then a
sum over neurons in float64. From one region to the next mostly a few neurons of the last layer
change, and so many terms of that sum. Docs: docs/exactness.md, "Decision boundaries".
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell._runtime.jit import kernel, lowest_bit
from tropicell.geometry.rounding import INFLATE, ROUND, TINY
from tropicell.network._layer_maps import LayerMaps, enter_layer, layer_maps

# What is known of a region.
NOTHING, CROSSED, DOUBTFUL = 0, 1, 2

#: Values that are smaller than this part of a region's largest are taken for 0 when pieces are cut
#: out; whether there is a piece was decided before.
_ZERO = 1e-12

#: After so many changes of neurons the difference is summed anew.
_MOST_CHANGES = 64

#: Points nearer than this part of a polygon's size to the line through two others are no corners.
_STRAIGHT = 1e-12


class Difference(NamedTuple):
    """The first output less the second, as a sum over all layers.

    Attributes
    ----------
    weights : ndarray, shape (rows,)
        Of each neuron (row of the flat network), rounded once.
    lengths : ndarray, shape (layers,)
        Bounds on the Euclidean lengths of the weights of each layer, the input included; 0 for
        layers that neither output reads.
    bias : float
        Rounded once.
    """

    weights: FloatArray
    lengths: FloatArray
    bias: float


class SignRoom(NamedTuple):
    """What one thread needs.

    Attributes
    ----------
    maps : LayerMaps
    pieces : ndarray of uint8, shape (neurons,)
        The pattern of the region.
    row : ndarray, shape (inputs + 1,)
        The difference of the outputs on the region.
    size : ndarray, shape (inputs + 1,)
        The absolute values of all that was ever added to it.
    wrong : ndarray, shape (inputs + 1,)
        By how much that may be off.
    counts : ndarray, shape (2,)
        How many numbers were added to each; how many neurons have changed since it was summed.
    """

    maps: LayerMaps
    pieces: NDArray[np.uint8]
    row: FloatArray
    size: FloatArray
    wrong: FloatArray
    counts: NDArray[np.int64]


def sign_room(maps: Any, free: Any = lambda array: array) -> SignRoom:
    """Room for one thread; for `free` see `tropicell._runtime.memory.Blueprint`."""
    d = maps.dimension
    return SignRoom(
        maps=layer_maps(d, maps.row_start, exact=True, free=free),
        pieces=np.zeros(int(maps.row_start[-1] - maps.row_start[1]), np.uint8),
        row=np.zeros(d + 1),
        size=np.zeros(d + 1),
        wrong=np.zeros(d + 1),
        counts=np.zeros(2, np.int64),
    )


@kernel
def signs_at_corners(
    maps: Any,
    output: Any,
    packed: Any,
    corners: Any,
    where: Any,
    part: Any,
    values: Any,
    verdicts: Any,
) -> None:
    """The difference of two outputs at the corners of some regions, and what its signs say.

    Parameters
    ----------
    maps : MapArrays
    output : Difference
    packed : tuple
        All patterns as words, and the bits of a neuron.
    corners : tuple
        Of all regions, without the last coordinate; and where those of each region end.
    where : tuple
        The scale of each coordinate, and how far corners may be off: so much times one plus their
        size, scaled.
    part : tuple
        Which regions (the first one, and the one after the last), and a `SignRoom`.
    values : ndarray, shape (corners,)
        Gets the values; those that are nearly 0 on the region's scale are 0.
    verdicts : ndarray of uint8, shape (regions,)
        Gets `CROSSED` where both signs surely occur, `DOUBTFUL` where one is not sure and that
        matters.
    """
    d, last = maps.dimension, len(maps.row_start) - 2
    words, bits = packed
    points, ends = corners
    scale, off = where
    begin, end, room = part
    room.maps.changes[:] = -1
    row = room.row
    for region in range(begin, end):
        changed = 0
        if region > begin:
            changed = _first_change(maps.row_start, words[region - 1], words[region], bits)
        if changed < last or room.counts[1] > _MOST_CHANGES:
            first = max(changed, 1)
            _unpack(words[region], bits, maps.row_start[first] - maps.row_start[1], room.pieces)
            for layer in range(changed, last):
                at = maps.row_start[layer] - maps.row_start[1]
                enter_layer(maps, room.maps, layer, room.pieces, at, True)
            _sum_difference(maps, output, room)
        else:
            _change_difference(maps, output, words[region - 1], words[region], bits, room)
        above, below, unknown, largest = False, False, False, 0.0
        # Each of n additions rounds by at most u times the sum of all absolute values; products,
        # weights and second halves that are left out by a few u of each of these.
        share = (room.counts[0] + 24.0 + 2.0 * d) * ROUND * INFLATE
        start = ends[region - 1] if region else 0
        for k in range(start, ends[region]):
            value, bound = row[d], room.wrong[d] + share * room.size[d]
            for c in range(d):
                x = points[k, c] * scale[c]
                far = off * (1.0 + abs(x))
                value += row[c] * x
                bound += abs(row[c]) * far + (room.wrong[c] + share * room.size[c]) * (abs(x) + far)
            bound = bound * 1.000001 + 1e-150
            values[k] = value
            largest = max(largest, abs(value))
            if value > bound:
                above = True
            elif value < -bound:
                below = True
            else:
                unknown = True  # nan, too
        verdicts[region] = NOTHING
        if above and below:
            verdicts[region] = CROSSED
            _clear(values, start, ends[region], largest)
        elif unknown:
            verdicts[region] = DOUBTFUL


@kernel
def have_both_signs(
    maps: Any, errors: Any, corners: Any, where: Any, part: Any, found: Any
) -> None:
    """Whether affine functions may be 0 somewhere on their regions.

    Parameters
    ----------
    maps : ndarray, shape (regions, inputs + 1)
        The function of each region, the offset last.
    errors : tuple
        What each slope, and the offset, may be wrong by.
    corners, where : tuple
        As in `signs_at_corners`, but with the last coordinate.
    part : tuple
        The first of the regions, and the one after the last.
    found : ndarray of bool, shape (regions,)
    """
    points, ends = corners
    scale, off = where
    slope_error, offset_error = errors
    d = len(scale)
    for region in range(part[0], part[1]):
        above, below = True, True
        for k in range(ends[region - 1] if region else 0, ends[region]):
            value, bound, size = maps[region, d], offset_error, abs(maps[region, d])
            for c in range(d):
                x, slope = points[k, c], maps[region, c]
                far = off * (1.0 / scale[c] + abs(x))
                value += slope * x
                size += abs(slope * x)
                bound += abs(slope) * far + slope_error * (abs(x) + far)
            bound = (bound + (2 * d + 8) * ROUND * size) * 1.000001 + 1e-150
            above = above and value > bound  # not if it is nan
            below = below and value < -bound
        found[region] = not (above or below)


@kernel(inner=True)
def _clear(values: Any, start: int, end: int, largest: float) -> None:
    """Values that are nearly 0 on a region's scale become 0."""
    for k in range(start, end):
        if abs(values[k]) <= _ZERO * largest:
            values[k] = 0.0


@kernel(allocates=True)
def both_signs(ends: Any, some: Any, values: Any) -> Any:
    """Whether values at the corners of some regions have both signs, without those nearly 0.

    Parameters
    ----------
    ends : ndarray
        Where the corners of each region end.
    some : ndarray
        The regions.
    values : ndarray, shape (corners,)
        Those of regions with both signs that are nearly 0 on the region's scale become 0.
    """
    found = np.zeros(len(some), np.bool_)
    for i in range(len(some)):
        start, end = ends[some[i] - 1] if some[i] else 0, ends[some[i]]
        high, low = 0.0, 0.0
        for k in range(start, end):
            high, low = max(high, values[k]), min(low, values[k])
        largest = max(high, -low)
        found[i] = min(high, -low) > _ZERO * largest
        if found[i]:
            _clear(values, start, end, largest)
    return found


@kernel(inner=True)
def _first_change(row_start: Any, old: Any, new: Any, bits: int) -> int:
    """The first layer on which two packed patterns differ; the last one if on none before it."""
    layer, last = 1, len(row_start) - 2
    for place in range(len(new)):
        different = old[place] ^ new[place]
        if different != np.uint64(0):
            neuron = (64 * place + lowest_bit(different)) // bits
            while layer < last and neuron >= row_start[layer + 1] - row_start[1]:
                layer += 1
            return layer
    return last


@kernel(inner=True)
def _unpack(words: Any, bits: int, first: int, pieces: Any) -> None:
    """The pieces of all neurons of a packed pattern from the first of these on."""
    for neuron in range(first, len(pieces)):
        pieces[neuron] = _piece(words, neuron, bits)


@kernel(inner=True)
def _piece(words: Any, neuron: int, bits: int) -> int:
    """The piece of a neuron in a packed pattern."""
    at, shift = (neuron * bits) >> 6, np.uint64((neuron * bits) & 63)
    piece = words[at] >> shift
    if shift + np.uint64(bits) > np.uint64(64):
        piece |= words[at + 1] << (np.uint64(64) - shift)
    return int(piece & ((np.uint64(1) << np.uint64(bits)) - np.uint64(1)))


@kernel(inner=True)
def _sum_difference(maps: Any, output: Any, room: Any) -> None:
    """Sum the difference anew, over all layers that the outputs read."""
    d, last, current = maps.dimension, len(maps.row_start) - 2, room.maps
    row, size, wrong = room.row, room.size, room.wrong
    for c in range(d + 1):
        row[c], size[c], wrong[c] = 0.0, 0.0, TINY
    row[d], size[d] = output.bias, abs(output.bias)
    room.counts[0], room.counts[1] = 1, 0
    for layer in range(last):
        length = output.lengths[layer]
        if length == 0.0:
            continue
        for c in range(d + 1):
            wrong[c] += length * current.output_error[layer, c] * INFLATE
        for at in range(maps.row_start[layer], maps.row_start[layer + 1]):
            if output.weights[at] == 0.0 or current.after[d + 1, at] == 0.0:
                continue
            room.counts[0] += 1
            for c in range(d + 1):
                term = output.weights[at] * current.after[c, at]
                row[c] += term
                size[c] += abs(term)
    if output.lengths[last] > 0.0:
        for at in range(maps.row_start[last], maps.row_start[last + 1]):
            piece = room.pieces[at - maps.row_start[1]]
            _add(maps, output.weights[at], at, piece, room)


@kernel(inner=True)
def _add(maps: Any, weight: float, at: int, piece: int, room: Any) -> None:
    """Add a neuron of the last layer, on some piece, times a weight."""
    d, before = maps.dimension, room.maps.before
    slope, intercept = weight * maps.slopes[at, piece], weight * maps.intercepts[at, piece]
    if slope == 0.0 and intercept == 0.0:
        return
    room.counts[0] += 1
    wrong = abs(slope) * before[d + 1, at] * INFLATE
    for c in range(d + 1):
        term = slope * before[c, at]
        room.row[c] += term
        room.size[c] += abs(term)
        room.wrong[c] += wrong
    if intercept != 0.0:
        room.counts[0] += 1
        room.row[d] += intercept
        room.size[d] += abs(intercept)


@kernel(inner=True)
def _change(maps: Any, output: Any, neuron: int, piece: int, room: Any) -> None:
    """Put a neuron of the last layer on another piece."""
    at, old = neuron + maps.row_start[1], room.pieces[neuron]
    room.pieces[neuron] = piece
    room.counts[1] += 1
    if output.weights[at] != 0.0:
        _add(maps, -output.weights[at], at, old, room)
        _add(maps, output.weights[at], at, piece, room)


@kernel(inner=True)
def _change_difference(maps: Any, output: Any, old: Any, new: Any, bits: int, room: Any) -> None:
    """Go from one pattern to the next, which differs from it in the last layer alone."""
    if bits > 1:
        first = maps.row_start[len(maps.row_start) - 2] - maps.row_start[1]
        for neuron in range(first, len(room.pieces)):
            piece = _piece(new, neuron, bits)
            if piece != room.pieces[neuron]:
                _change(maps, output, neuron, piece, room)
        return
    for place in range(len(new)):
        different = old[place] ^ new[place]
        while different != np.uint64(0):
            neuron = 64 * place + lowest_bit(different)
            different &= different - np.uint64(1)
            _change(maps, output, neuron, 1 - int(room.pieces[neuron]), room)


# --- pieces in space ------------------------------------------------------------------------------


@kernel
def sections(points: Any, ends: Any, values: Any, room: Any, found: Any, counts: Any) -> int:
    """The polygons in which an affine function is 0 on polytopes, corners in order.

    Parameters
    ----------
    points : ndarray, shape (corners, 3)
    ends : ndarray
        Where the corners of each polytope end.
    values : ndarray, shape (corners,)
        The function's values; both signs occur on each polytope.
    room : tuple of ndarray
        Shape (most points, 3), twice; and (most points,), whole numbers.
    found : ndarray, shape (points, 3)
        Gets the polygons, one after the other.
    counts : ndarray, shape (polytopes,)
        Gets the number of corners of each polygon; 0 where it is too thin to tell which these are.

    Returns
    -------
    int
        The number of points found; -1 if there was no room for more.
    """
    cut, chain, order = room
    total = 0
    for k in range(len(ends)):
        start = ends[k - 1] if k else 0
        count = _crossings(points, values, start, ends[k], cut)
        if count < 3:
            counts[k] = 0
            continue
        size = _convex_polygon(cut, count, chain, order)
        counts[k] = size
        if total + size > len(found):
            return -1
        for i in range(size):
            for c in range(3):
                found[total + i, c] = chain[i, c]
        total += size
    return total


@kernel(inner=True)
def _crossings(points: Any, values: Any, start: int, end: int, cut: Any) -> int:
    """Where the function is 0 between corners on both sides, and at corners; how many."""
    count = 0
    for i in range(start, end):
        if values[i] == 0.0:
            for c in range(3):
                cut[count, c] = points[i, c]
            count += 1
        if not values[i] > 0.0:
            continue
        for j in range(start, end):
            if values[j] < 0.0:
                for c in range(3):
                    a, b = points[i, c] * -values[j], points[j, c] * values[i]
                    cut[count, c] = (a + b) / (values[i] - values[j])
                count += 1
    return count


@kernel(inner=True)
def _convex_polygon(cut: Any, count: int, chain: Any, order: Any) -> int:
    """The convex hull of points of a plane in space, in `chain`; 0 if it is too thin."""
    # Seen along the axis along which the plane is flattest: the one with the largest normal.
    u, v, size, length = _axes(cut, count)
    if not size > 0.0:
        return 0
    same = _STRAIGHT * length
    for i in range(count):
        order[i] = i
    for i in range(1, count):  # few points: by insertion
        k, this = i, order[i]
        while k > 0 and _before(cut, this, order[k - 1], u, v, same):
            order[k] = order[k - 1]
            k -= 1
        order[k] = this
    limit = _STRAIGHT * size
    found = 0
    for half in range(2):
        least = found if half else 1
        for step in range(half, count):
            at = order[count - 1 - step] if half else order[step]
            while found > least and _turn(chain, found, cut, at, u, v) <= limit:
                found -= 1
            for c in range(3):
                chain[found, c] = cut[at, c]
            found += 1
    found -= 1  # the first point again
    return found if found >= 3 else 0


@kernel(inner=True)
def _axes(cut: Any, count: int) -> Any:
    """Two axes in which a flat set of points is seen well, what it spans, and its length.

    It spans twice the area of its largest triangle; 0 if it is nearly a segment.
    """
    best, far = 0.0, 0
    for i in range(1, count):
        square = 0.0
        for c in range(3):
            square += (cut[i, c] - cut[0, c]) ** 2
        if square > best:
            best, far = square, i
    size, axis = 0.0, 0
    for i in range(1, count):
        for c in range(3):
            a, b = (c + 1) % 3, (c + 2) % 3
            area = (cut[far, a] - cut[0, a]) * (cut[i, b] - cut[0, b])
            area -= (cut[far, b] - cut[0, b]) * (cut[i, a] - cut[0, a])
            if abs(area) > size:
                size, axis = abs(area), c
    thin = not size > 1e-9 * best
    return (axis + 1) % 3, (axis + 2) % 3, 0.0 if thin else size, np.sqrt(best)


@kernel(inner=True)
def _before(cut: Any, i: int, j: int, u: int, v: int, same: float) -> bool:
    """Whether a point is left of another one, or below it if only rounding tells left from right.

    Otherwise the ends of an edge across the axis might come in the wrong order.
    """
    if abs(cut[i, u] - cut[j, u]) > same:
        return bool(cut[i, u] < cut[j, u])
    return bool(cut[i, v] < cut[j, v])


@kernel(inner=True)
def _turn(chain: Any, length: int, cut: Any, at: int, u: int, v: int) -> float:
    """Twice the area of the triangle of the last two points of a chain and one more."""
    a0, a1 = chain[length - 2, u], chain[length - 2, v]
    left = (chain[length - 1, u] - a0) * (cut[at, v] - a1)
    return float(left - (chain[length - 1, v] - a1) * (cut[at, u] - a0))
