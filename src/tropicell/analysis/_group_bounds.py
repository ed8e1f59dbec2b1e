"""Kernels that bound outputs on many regions at once: on a witness, on the box, on groups.

Docs: docs/exactness.md, "Extrema". A group are regions with the same pieces in all layers but the
last one. There the neurons of the last layer are affine functions z of the input, and an output is
that of the group's first region, plus for every neuron whose piece is not the same throughout a
function of z alone. Where z is between two bounds, that is at most a straight line: so one linear
program bounds the output on the whole group. Where that is not enough, it is taken apart.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray, IntArray
from tropicell._runtime.jit import kernel
from tropicell.analysis._flips import FlipRoom, load_pattern, piece_of, write_rows
from tropicell.analysis._programs import ProgramRoom, program_room, solve, upper_bound
from tropicell.geometry.rounding import INFLATE, ROUND, TINY

#: A group is bounded if it has so many times as many programs of its own as that takes.
_WORTH = 2

#: Roundings of a straight line above a neuron's function, in parts of its terms.
_LINE_ROUNDINGS = 32.0

_ONE, _NONE = np.uint64(1), np.uint64(0)


class LastLayer(NamedTuple):
    """What outputs read of the last layer.

    Attributes
    ----------
    weights : ndarray, shape (outputs, width)
    breakpoints : ndarray, shape (width, pieces - 1)
        Of its neurons, increasing; inf where there are no more.
    """

    weights: FloatArray
    breakpoints: FloatArray


class GroupRoom(NamedTuple):
    """What one thread needs.

    Attributes
    ----------
    program : ProgramRoom
    changed : ndarray of uint64, shape (words,)
        Bits that are not the same in all patterns of a group.
    open : ndarray, shape (width of the last layer,)
        Its neurons that are on several pieces.
    twice : ndarray of uint64, shape (words,)
        Bits that change more than once from pattern to pattern.
    low, high : ndarray, shape (width of the last layer,)
        Bounds on its neurons.
    stack : ndarray, shape (regions, 2)
        Parts of a group that are to be looked at.
    wanted : ndarray of bool, shape (objectives,)
    errors : ndarray, shape (lines,)
        What the rows of a group may be wrong by.
    written : ndarray, shape (1,)
        How many rows it has.
    """

    program: ProgramRoom
    changed: NDArray[np.uint64]
    open: IntArray
    low: FloatArray
    high: FloatArray
    twice: NDArray[np.uint64]
    stack: IntArray
    wanted: NDArray[np.bool_]
    errors: FloatArray
    written: IntArray


def group_room(flip: FlipRoom, width: int, objectives: int, regions: int) -> GroupRoom:
    """Room for one thread, a last layer with so many neurons, and groups of so many regions."""
    return GroupRoom(
        program_room(flip),
        changed=np.zeros_like(flip.query),
        open=np.zeros(width, np.int64),
        low=np.zeros(width),
        high=np.zeros(width),
        twice=np.zeros_like(flip.query),
        stack=np.zeros((regions + 1, 2), np.int64),
        wanted=np.zeros(objectives, np.bool_),
        errors=np.zeros_like(flip.errors),
        written=np.zeros(1, np.int64),
    )


@kernel
def sample_regions(
    maps: Any, witnesses: Any, box: Any, errors: Any, part: Any, here: Any, upper: Any
) -> None:
    """Outputs at the witnesses of some regions, and bounds on them on the whole box.

    Parameters
    ----------
    maps : ndarray, shape (regions, outputs, inputs + 1)
    witnesses : ndarray, shape (regions, inputs)
    box : tuple of ndarray
        Its lowest and its highest corner.
    errors : tuple of ndarray
        What slopes and offsets of each output may be wrong by.
    part : tuple
        The first of the regions, and the one after the last.
    here, upper : ndarray, shape (regions, 2 outputs)
        Get, for each output and then for their negatives, what it surely reaches and what it surely
        does not exceed.
    """
    low, high = box
    slope_error, offset_error = errors
    d, outputs = len(low), maps.shape[1]
    reach = 0.0
    for c in range(d):
        reach += max(abs(low[c]), abs(high[c]))
    for region in range(part[0], part[1]):
        for o in range(outputs):
            offset = maps[region, o, d]
            value, most, least, size = offset, offset, offset, abs(offset)
            for c in range(d):
                slope = maps[region, o, c]
                at_low, at_high = slope * low[c], slope * high[c]
                value += slope * witnesses[region, c]
                most += max(at_low, at_high)
                least += min(at_low, at_high)
                size += max(abs(at_low), abs(at_high))
            wrong = slope_error[o] * reach + offset_error[o] + 1e-14 * (d + 8) * size
            here[region, o], here[region, outputs + o] = value - wrong, -value - wrong
            upper[region, o], upper[region, outputs + o] = most + wrong, wrong - least


@kernel
def bound_groups(
    flat: Any, flips: Any, regions: Any, asked: Any, output: Any, part: Any, upper: Any
) -> None:
    """Bounds on the largest values of some functions on groups of regions.

    Parameters
    ----------
    flat : FlatNetwork
    flips : FlipLines
    regions : tuple
        Packed patterns and bits of a neuron, witnesses, and affine maps of all regions.
    asked : tuple
        `Objectives`; for each of them what a bound has to reach to be of interest, and what slopes
        (in the inputs' own coordinates) and offset of any region may be wrong by.
    output : LastLayer
    part : tuple
        The first of the regions, and the one after the last; a `GroupRoom`.
    upper : ndarray, shape (regions, objectives)
        Bounds that are known; smaller ones are written there.
    """
    words, bits, _, _ = regions
    begin, last, room = part
    depth = flat.lines.depth
    before = bits * (flat.maps.row_start[depth] - flat.maps.row_start[1])
    room.program.flip.maps.changes[:] = -1
    anew = True
    while begin < last:
        end = begin + 1
        while end < last and _is_same(words[begin], words[end], before):
            end += 1
        programs, wanted = _wanted(asked[1], begin, end, room, upper)
        if programs > _WORTH * wanted:
            count = _find_open(flat, words, bits, begin, end, room)
            _write_rows(flat, flips, words[begin], bits, anew, room)
            anew = False
            _bound_neurons(flat, flips, regions, asked[0], (begin, count, room), False)
            node = begin, end, count, room
            _bound_part(flat, flips, regions, asked, output, node, upper)
            programs, wanted = _wanted(asked[1], begin, end, room, upper)
            if programs > _WORTH * (2 * count + wanted):
                _bound_neurons(flat, flips, regions, asked[0], (begin, count, room), True)
                _bound_parts(flat, flips, regions, asked, output, (begin, end, room), upper)
        begin = end


@kernel(inner=True)
def _wanted(enough: Any, begin: int, end: int, room: Any, upper: Any) -> tuple[int, int]:
    """Programs that some regions have by themselves, and how many objectives these are of."""
    programs, wanted = 0, 0
    for k in range(len(enough)):
        room.wanted[k] = False
        for region in range(begin, end):
            if not upper[region, k] < enough[k]:
                programs += 1
                room.wanted[k] = True
        wanted += room.wanted[k]
    return programs, wanted


@kernel(inner=True)
def _bound_parts(
    flat: Any, flips: Any, regions: Any, asked: Any, output: Any, group: Any, upper: Any
) -> None:
    """All objectives on a group, then on parts of it where that was not enough."""
    words, bits, _, _ = regions
    begin, end, room = group
    room.stack[0, 0], room.stack[0, 1] = begin, end
    height = 1
    while height:
        height -= 1
        begin, end = room.stack[height]
        programs, wanted = _wanted(asked[1], begin, end, room, upper)
        if programs == 0:
            continue
        count = _find_open(flat, words, bits, begin, end, room)
        if begin + 1 == end or programs > wanted:
            node = begin, end, count, room
            _bound_part(flat, flips, regions, asked, output, node, upper)
            programs, _ = _wanted(asked[1], begin, end, room, upper)
        if programs and end > begin + 1:
            middle = _split(words, begin, end, room)
            room.stack[height, 0], room.stack[height, 1] = begin, middle
            room.stack[height + 1, 0], room.stack[height + 1, 1] = middle, end
            height += 2


@kernel(inner=True)
def _split(words: Any, begin: int, end: int, room: Any) -> int:
    """Where to take a part in two: where a neuron changes that changes nowhere else, if any does.

    Searches go down a tree of such changes. Any place will do.
    """
    once, twice = room.changed, room.twice
    once[:], twice[:] = _NONE, _NONE
    for region in range(begin + 1, end):
        for w in range(words.shape[1]):
            change = words[region, w] ^ words[region - 1, w]
            twice[w] |= once[w] & change
            once[w] |= change
    found, middle = (begin + end) // 2, begin + end
    nearest = end - begin
    for region in range(begin + 1, end):
        for w in range(words.shape[1]):
            change = words[region, w] ^ words[region - 1, w]
            if change & once[w] & ~twice[w] != _NONE and abs(2 * region - middle) < nearest:
                found, nearest = region, abs(2 * region - middle)
    return found


@kernel(inner=True)
def _is_same(one: Any, two: Any, before: int) -> bool:
    """Whether two packed patterns have the same bits before some bit."""
    whole = before >> 6
    for w in range(whole):
        if one[w] != two[w]:
            return False
    left = np.uint64(before & 63)
    if left == _NONE:
        return True
    return bool((one[whole] ^ two[whole]) & ((_ONE << left) - _ONE) == _NONE)


@kernel(inner=True)
def _find_open(flat: Any, words: Any, bits: int, begin: int, end: int, room: Any) -> int:
    """The neurons of the last layer that are on several pieces in some regions; how many."""
    depth, count = flat.lines.depth, 0
    base = flat.maps.row_start[1]
    room.changed[:] = _NONE
    for region in range(begin + 1, end):
        for w in range(words.shape[1]):
            room.changed[w] |= words[begin, w] ^ words[region, w]
    for row in range(flat.maps.row_start[depth], flat.maps.row_start[depth + 1]):
        if _has_changed(room.changed, row - base, bits):
            room.open[count] = row
            count += 1
    return count


@kernel(inner=True)
def _has_changed(changed: Any, neuron: int, bits: int) -> bool:
    for bit in range(neuron * bits, (neuron + 1) * bits):
        if changed[bit >> 6] >> np.uint64(bit & 63) & _ONE != _NONE:
            return True
    return False


@kernel(inner=True)
def _write_rows(flat: Any, flips: Any, words: Any, bits: int, anew: bool, room: Any) -> None:
    """The rows of a pattern."""
    flip = room.program.flip
    load_pattern(flat, words, bits, anew, flip)
    room.written[0] = write_rows(flat, flips, flip)
    for k in range(room.written[0]):
        room.errors[k] = flip.errors[k]


@kernel(inner=True)
def _share_rows(flat: Any, flips: Any, words: Any, bits: int, room: Any) -> tuple[int, int]:
    """The rows that all regions of a part have; where those of neurons begin, and how many.

    The part's first pattern is `words`. From one pattern of a group to another, rows of neurons
    with one breakpoint change their signs, and no others change.
    """
    flip, domain = room.program.flip, flips.first - 1
    if bits > 1:
        _write_rows(flat, flips, words, bits, False, room)
    depth, d = flat.lines.depth, flat.lines.dimension
    first = flat.maps.row_start[depth] - flat.maps.row_start[1]
    rows = room.written[0]
    for k in range(rows - 1, domain - 1, -1):
        neuron = flips.neuron[flip.lines[k] - flips.first]
        if neuron < first:  # all that are left are the same throughout
            break
        piece = piece_of(words, neuron, bits)
        if piece != flip.pieces[neuron]:
            flip.pieces[neuron] = piece
            for c in range(d + 1):
                flip.rows[k, c] = -flip.rows[k, c]
        same = not _has_changed(room.changed, neuron, bits)
        flip.errors[k] = room.errors[k] if same else np.inf
    return domain, rows


@kernel(inner=True)
def _bound_neurons(
    flat: Any, flips: Any, regions: Any, objectives: Any, group: Any, programs: bool
) -> None:
    """Bounds on the open neurons of a group.

    By linear programs, or without: then they hold on the whole box.
    """
    words, bits, _, _ = regions
    begin, count, room = group
    domain, rows = 0, 0
    if programs:
        domain, rows = _share_rows(flat, flips, words[begin], bits, room)
    work = room.program, domain, rows
    first = flat.maps.row_start[flat.lines.depth]
    for j in range(count):
        row = room.open[j]
        room.high[row - first] = _largest_of_neuron(objectives, work, row, 1.0)
        room.low[row - first] = -_largest_of_neuron(objectives, work, row, -1.0)


@kernel(inner=True)
def _bound_part(
    flat: Any, flips: Any, regions: Any, asked: Any, output: Any, group: Any, upper: Any
) -> None:
    """All objectives on a part of a group."""
    words, bits, _, maps = regions
    objectives, enough, slope_error, offset_error = asked
    begin, end, count, room = group
    domain, rows = _share_rows(flat, flips, words[begin], bits, room)
    work = room.program, domain, rows
    for k in range(len(enough)):
        if room.wanted[k]:
            wrong = slope_error[k], offset_error[k]
            what = objectives, maps[begin], k, enough[k], wrong
            bound = _largest_of_output(flat, what, output, work, (count, room))
            for region in range(begin, end):
                if bound < upper[region, k]:  # noqa: PLR1730 - not if it is nan
                    upper[region, k] = bound


@kernel(inner=True)
def _largest_of_neuron(objectives: Any, work: Any, row: int, sign: float) -> float:
    """A bound on a neuron of the last layer, or on its negative, before its activation."""
    program = work[0]
    before, d = program.flip.maps.before, len(program.slopes)
    offset = sign * before[d, row]
    reach, total = 1.0, abs(offset)
    for c in range(d):
        program.slopes[c] = sign * before[c, row]
        size = max(abs(objectives.low[c]), abs(objectives.high[c]))
        reach += size
        total += abs(program.slopes[c]) * size
    solve(objectives, work, offset, -np.inf)
    wrong = (before[d + 1, row] * reach + (d + 8) * ROUND * total) * INFLATE
    return float(upper_bound(objectives, program, offset) + wrong + TINY)


@kernel(inner=True)
def _largest_of_output(flat: Any, what: Any, output: Any, work: Any, group: Any) -> float:
    """A bound on an objective on a part of a group."""
    objectives, affine, k, enough, errors = what
    count, room = group
    program = work[0]
    before, scale, d = program.flip.maps.before, flat.lines.scale, len(program.slopes)
    row, sign = affine[objectives.output[k]], float(objectives.sign[k])
    offset = sign * row[d]
    wrong, total, reach = errors[1], abs(offset), 1.0
    for c in range(d):
        program.slopes[c] = sign * row[c] / scale[c]
        size = max(abs(objectives.low[c]), abs(objectives.high[c]))
        reach += size
        wrong += errors[0] * size / scale[c]
        total += abs(program.slopes[c]) * size
    first = flat.maps.row_start[flat.lines.depth]
    for j in range(count):
        at = room.open[j]
        weight = sign * output.weights[objectives.output[k], at - first]
        if weight == 0.0:
            continue
        points = room.low[at - first], room.high[at - first], output.breakpoints[at - first]
        piece = program.flip.pieces[at - flat.maps.row_start[1]]
        slope, height = _line_above(flat.maps, at, piece, weight, points)
        wrong += abs(slope) * before[d + 1, at] * reach
        offset += height + slope * before[d, at]
        total += abs(height) + abs(slope * before[d, at])
        for c in range(d):
            size = max(abs(objectives.low[c]), abs(objectives.high[c]))
            program.slopes[c] += slope * before[c, at]
            total += abs(slope * before[c, at]) * size
    wrong = (wrong + (2 * count + d + 16) * ROUND * total) * INFLATE
    solve(objectives, work, offset, enough - wrong)
    return float(upper_bound(objectives, program, offset) + wrong + TINY)


@kernel(inner=True)
def _line_above(maps: Any, row: int, piece: int, weight: float, points: Any) -> tuple[float, float]:
    """A straight line, slope and height at 0, that a neuron's function does not exceed.

    The function is what the weighted neuron has more than on its given piece; it is looked at
    between two bounds. Between breakpoints it is straight, so nowhere above the line if it is not
    so at the bounds and at the breakpoints between them.
    """
    low, high, breakpoints = points
    left, _ = _more(maps, row, piece, weight, low, breakpoints)
    right, _ = _more(maps, row, piece, weight, high, breakpoints)
    slope = (right - left) / (high - low) if high > low else 0.0
    if not abs(slope) < np.inf:
        return 0.0, np.inf
    height = -np.inf
    for i in range(-2, len(breakpoints)):
        p = low if i == -2 else high if i == -1 else breakpoints[i]
        if i >= 0 and not low < p < high:
            continue
        value, size = _more(maps, row, piece, weight, p, breakpoints)
        size += abs(slope * p)
        height = max(height, value - slope * p + _LINE_ROUNDINGS * ROUND * size)
    return slope, height + TINY


@kernel(inner=True)
def _more(
    maps: Any, row: int, piece: int, weight: float, at: float, breakpoints: Any
) -> tuple[float, float]:
    """What a weighted neuron has more than on a given piece; the sum of the terms' sizes."""
    own = 0
    while own < len(breakpoints) and breakpoints[own] < at:
        own += 1
    slope, other = maps.slopes[row, own], maps.slopes[row, piece]
    offset, shift = maps.intercepts[row, own], maps.intercepts[row, piece]
    value = weight * ((slope - other) * at + (offset - shift))
    size = (abs(slope) + abs(other)) * abs(at) + abs(offset) + abs(shift)
    return value, abs(weight) * size
