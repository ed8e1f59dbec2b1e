"""Kernels that walk along segments: which pieces are in use, and from where to where.

A segment is ``start + t (end - start)`` for t from 0 to 1. On an interval on which the pieces of
all layers below are fixed, the pre-activations of a layer are affine in t: its crossings are found,
sorted, and the next layer looks at each interval between two of them. All signs and the order of
crossings are decided with the bounds of `network._layer_maps` (docs/exactness.md, "Along a
segment"); a segment on which one of them does not suffice is left to rationals.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray, IntArray
from tropicell._runtime.jit import kernel
from tropicell.geometry._double import exact_sum
from tropicell.geometry.rounding import INFLATE, ROUND
from tropicell.network._layer_maps import LayerMaps, enter_layer, layer_maps
from tropicell.network.flat import FlatNetwork

#: What is known of a segment.
DONE, UNSURE, NO_ROOM = 0, 1, 2


class PathRoom(NamedTuple):
    """What one thread needs.

    Attributes
    ----------
    maps : LayerMaps
    pieces : ndarray of uint8, shape (neurons,)
        The pattern on the current interval.
    at, error, line : ndarray, shape (lines,)
        The crossings of each layer, from its first line on: where, off by how much, and whose.
    low, low_error, high, high_error : ndarray, shape (depth + 2,)
        The interval that a layer looks at.
    here, here_error : ndarray, shape (depth + 2,)
        Where its current part begins.
    count, ahead : ndarray, shape (depth + 2,)
        How many crossings it has, and which one ends the current part.
    """

    maps: LayerMaps
    pieces: NDArray[np.uint8]
    at: FloatArray
    error: FloatArray
    line: IntArray
    low: FloatArray
    low_error: FloatArray
    high: FloatArray
    high_error: FloatArray
    here: FloatArray
    here_error: FloatArray
    count: IntArray  # type: ignore[assignment]  # hides a method of tuples
    ahead: IntArray


def path_room(flat: FlatNetwork) -> PathRoom:
    """Room for one thread."""
    lines, layers = len(flat.lines.line_row), flat.depth + 2
    return PathRoom(
        maps=layer_maps(1, flat.maps.row_start, exact=True),
        pieces=np.zeros(flat.neurons, np.uint8),
        at=np.zeros(lines),
        error=np.zeros(lines),
        line=np.zeros(lines, np.int64),
        low=np.zeros(layers),
        low_error=np.zeros(layers),
        high=np.zeros(layers),
        high_error=np.zeros(layers),
        here=np.zeros(layers),
        here_error=np.zeros(layers),
        count=np.zeros(layers, np.int64),
        ahead=np.zeros(layers, np.int64),
    )


@kernel
def walk(
    flat: Any, room: Any, starts: Any, ends: Any, part: Any, words: Any, places: Any, verdicts: Any
) -> tuple[int, int]:
    """Walk along some segments.

    Parameters
    ----------
    flat : FlatNetwork
        With one input; its rows of layer 0 are written here.
    room : PathRoom
    starts, ends : ndarray, shape (segments, width of layer 0)
    part : tuple
        The first segment, the one after the last, and the bits of a neuron (1, 2, 4 or 8).
    words : ndarray of uint64, shape (intervals, words)
        Gets patterns.
    places : ndarray, shape (intervals, 4)
        Gets where intervals begin and end, how far off that may be, and their segment.
    verdicts : ndarray of uint8, shape (segments,)
        Gets what is known.

    Returns
    -------
    segment, intervals : int
        The segment at which the room was full (or the one after the last), and what was written.
    """
    first, last, bits = part
    written = 0
    for segment in range(first, last):
        _load_segment(flat.maps, room, starts[segment], ends[segment])
        verdict, total = _walk_one(flat, room, bits, segment, words, places, written)
        if verdict == NO_ROOM:
            return segment, written
        verdicts[segment] = verdict
        if verdict == DONE:
            written = total
    return last, written


@kernel(inner=True)
def _load_segment(maps: Any, room: Any, start: Any, end: Any) -> None:
    """Layer 0 as a map of t: the differences of the ends as two floats each, without error."""
    for i in range(len(start)):
        high, low = exact_sum(end[i], -start[i])
        maps.input_rows[i, 0], maps.input_low[i, 0] = high, low
        maps.input_rows[i, 1], maps.input_low[i, 1] = start[i], 0.0
    for k in range(len(room.maps.changes)):
        room.maps.changes[k] = -1


@kernel(inner=True)
def _walk_one(
    flat: Any, room: Any, bits: int, segment: int, words: Any, places: Any, written: int
) -> tuple[int, int]:
    """Walk along one segment; what is known, and how many intervals are written then."""
    depth = flat.lines.depth
    room.low[1], room.low_error[1], room.high[1], room.high_error[1] = 0.0, 0.0, 1.0, 0.0
    layer = 1
    if not _open(flat, room, 1):
        return UNSURE, written
    while True:
        if layer == depth:
            while True:
                if written == len(words):
                    return NO_ROOM, written
                _write(room, bits, words[written])
                end, error = _end_of_part(flat.lines, room, layer)
                places[written, 0], places[written, 1] = room.here[layer], end
                places[written, 2] = max(room.here_error[layer], error)
                places[written, 3] = segment
                written += 1
                if not _advance(flat.lines, room, layer):
                    break
            layer -= 1
            while layer >= 1 and not _advance(flat.lines, room, layer):
                layer -= 1
            if layer == 0:
                return DONE, written
        else:
            end, error = _end_of_part(flat.lines, room, layer)
            room.low[layer + 1], room.low_error[layer + 1] = (
                room.here[layer],
                room.here_error[layer],
            )
            room.high[layer + 1], room.high_error[layer + 1] = end, error
            layer += 1
            if not _open(flat, room, layer):
                return UNSURE, written


@kernel(inner=True)
def _end_of_part(lines: Any, room: Any, layer: int) -> tuple[float, float]:
    """Where the current part of a layer's interval ends, and how far off that may be."""
    k = room.ahead[layer]
    if k == room.count[layer]:
        return room.high[layer], room.high_error[layer]
    return room.at[lines.line_start[layer] + k], room.error[lines.line_start[layer] + k]


@kernel(inner=True)
def _write(room: Any, bits: int, words: Any) -> None:
    """Write the current pattern down."""
    for w in range(len(words)):
        words[w] = np.uint64(0)
    for j in range(len(room.pieces)):
        at = j * bits
        words[at >> 6] |= np.uint64(room.pieces[j]) << np.uint64(at & 63)


@kernel(inner=True)
def _advance(lines: Any, room: Any, layer: int) -> bool:
    """Go on behind the next crossing of a layer: neurons change there; False if there is none."""
    k, count, start = room.ahead[layer], room.count[layer], lines.line_start[layer]
    if k == count:
        return False
    group = lines.line_twin[room.line[start + k]]
    room.here[layer], room.here_error[layer] = room.at[start + k], room.error[start + k]
    while k < count and lines.line_twin[room.line[start + k]] == group:
        row = lines.line_row[room.line[start + k]]
        neuron = row - lines.row_start[1]
        if room.maps.before[0, row] > 0.0:
            room.pieces[neuron] += np.uint8(1)
        else:
            room.pieces[neuron] -= np.uint8(1)
        k += 1
    room.ahead[layer] = k
    return True


@kernel(inner=True)
def _open(flat: Any, room: Any, layer: int) -> bool:
    """Find the crossings of a layer on its interval, and its pieces at the beginning of it.

    False if a sign or the order of two crossings is not sure.
    """
    lines, maps, current = flat.lines, flat.maps, room.maps
    base = maps.row_start[1]
    enter_layer(maps, current, layer - 1, room.pieces, maps.row_start[layer - 1] - base, True)
    for row in range(maps.row_start[layer], maps.row_start[layer + 1]):
        room.pieces[row - base] = np.uint8(0)
    low, high = room.low[layer], room.high[layer]
    low_error, high_error = room.low_error[layer], room.high_error[layer]
    start, count = lines.line_start[layer], 0
    for line in range(start, lines.line_start[layer + 1]):
        row, bend = lines.line_row[line], lines.line_at[line]
        slope, offset = current.before[0, row], current.before[1, row] - bend
        # R - t is rounded once.
        error = current.before[2, row] + (ROUND * abs(offset) if bend != 0.0 else 0.0)
        begins = _sign(slope, offset, error, low, low_error)
        ends = _sign(slope, offset, error, high, high_error)
        twin = _crossing_of_twin(lines, room, line, start, count)
        if begins == 2 or ends == 2:
            # It may be 0 at an end, and cross there or not: the first of its twins says which.
            other = ends if begins == 2 else begins
            if lines.line_twin[line] == line or other in (0, 2):
                return False
            if twin < 0:
                begins, ends = other, other
            elif begins == 2:
                begins = -other
            else:
                ends = -other
        elif begins == 0:
            begins = ends
        if begins > 0:
            room.pieces[row - base] += np.uint8(1)
        if begins * ends >= 0:
            if twin >= 0:
                return False
            continue
        if not abs(slope) > error * INFLATE:
            return False
        if twin >= 0:
            at, off = room.at[start + twin], room.error[start + twin]
        elif lines.line_twin[line] != line:
            return False  # the first of the twins did not cross
        else:
            at = -offset / slope
            size = error * (1.0 + abs(at)) + 2.0 * ROUND * abs(slope * at)
            off = size / (abs(slope) - error * INFLATE) * INFLATE
        k = count
        while k > 0 and room.at[start + k - 1] > at:
            _move(room, start + k - 1, start + k)
            k -= 1
        room.at[start + k], room.error[start + k], room.line[start + k] = at, off, line
        count += 1
    room.count[layer], room.ahead[layer] = count, 0
    room.here[layer], room.here_error[layer] = low, low_error
    return _are_apart(lines, room, layer, count)


@kernel(inner=True)
def _sign(slope: float, offset: float, error: float, t: float, t_error: float) -> int:
    """The sign of a row at t: -1, 0, 1, or 2 if it is not sure."""
    value, bound = offset, error
    if t != 0.0 or t_error != 0.0:
        value += slope * t
        bound += error * (abs(t) + t_error) + abs(slope) * t_error
        bound += 4.0 * ROUND * (abs(slope * t) + abs(offset))
    if abs(value) > bound * INFLATE:
        return 1 if value > 0.0 else -1
    return 0 if bound == 0.0 else 2


@kernel(inner=True)
def _crossing_of_twin(lines: Any, room: Any, line: int, start: int, count: int) -> int:
    """Which crossing is that of the first of a line's twins; -1 if it is none of them."""
    first = lines.line_twin[line]
    if first != line:
        for k in range(count):
            if room.line[start + k] == first:
                return k
    return -1


@kernel(inner=True)
def _move(room: Any, old: int, new: int) -> None:
    room.at[new], room.error[new], room.line[new] = room.at[old], room.error[old], room.line[old]


@kernel(inner=True)
def _are_apart(lines: Any, room: Any, layer: int, count: int) -> bool:
    """Whether the crossings of a layer, and the ends of its interval, surely differ."""
    start = lines.line_start[layer]
    last, group = room.low[layer] + room.low_error[layer], -1
    for k in range(count):
        at, off = room.at[start + k], room.error[start + k]
        twin = lines.line_twin[room.line[start + k]]
        if twin == group:
            continue
        if not at - off > last + 4.0 * ROUND * (abs(at) + abs(last)):
            return False
        last, group = at + off, twin
    high = room.high[layer] - room.high_error[layer]
    return count == 0 or high > last + 4.0 * ROUND * (abs(high) + abs(last))
