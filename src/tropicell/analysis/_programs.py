"""Kernels that bound an affine function on regions: small linear programs, with proofs.

Docs: docs/exactness.md, "Extrema". The largest value of ``g·x + c`` on a region of a box is found
by the dual simplex method: from the corner of the box where it is largest, boundary by boundary.
Every step makes the value smaller, and all of them are upper bounds, so a region that can't win is
left as soon as one of them says so.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tropicell._runtime.arrays import FloatArray, IntArray
from tropicell._runtime.jit import kernel
from tropicell.analysis._flips import FlipRoom, load_pattern, value_of, write_rows
from tropicell.geometry.rounding import INFLATE, ROUND, TINY

#: Numbers that are taken for 0 in the linear program, which proves nothing by itself.
_NOTHING = 1e-11

#: Steps of a linear program; no proof needs the last one.
_STEPS = 200

#: A bound that is so much below what it has to reach (times the size of the function) ends it.
_NEAR = 1e-10

#: The first share of the way to the witness after which a point shall surely be inside, by what it
#: grows, and how often.
_INWARDS, _FURTHER, _TRIES = 2.0**-44, 16.0, 5


class Objectives(NamedTuple):
    """Affine functions whose largest values on regions are asked for, in scaled coordinates.

    Attributes
    ----------
    output, sign : ndarray of int64, shape (objectives,)
        Of an output, or of its negative.
    low, high : ndarray, shape (inputs,)
        The box, scaled.
    """

    output: IntArray
    sign: IntArray
    low: FloatArray
    high: FloatArray


class Solution(NamedTuple):
    """What is known of the largest values on regions.

    Attributes
    ----------
    upper, lower, value : ndarray, shape (regions, objectives)
        Proved bounds, -inf where nothing is proved; and what float64 says, nan where a bound was
        enough.
    point : ndarray, shape (regions, objectives, inputs)
        Where that value is, in the inputs' own coordinates.
    """

    upper: FloatArray
    lower: FloatArray
    value: FloatArray
    point: FloatArray


class ProgramRoom(NamedTuple):
    """What one thread needs, besides a `FlipRoom`.

    Attributes
    ----------
    flip : FlipRoom
    slopes : ndarray, shape (inputs,)
        The function's, scaled.
    basis : ndarray, shape (inputs,)
        Rows that are 0 at the current corner.
    used : ndarray, shape (inputs + lines,)
        The rows of the linear program, from place `inputs` on: those that are known well enough.
    table : ndarray, shape (inputs, inputs + lines)
        All inputs, and then these rows, as combinations of the rows in the basis.
    value : ndarray, shape (inputs + lines,)
        What they are at the current corner.
    duals, column : ndarray, shape (inputs,)
        Factors of the rows in the basis; those of the row that comes in.
    """

    flip: FlipRoom
    slopes: FloatArray
    basis: IntArray
    used: IntArray
    table: FloatArray
    value: FloatArray
    duals: FloatArray
    column: FloatArray


def program_room(flip: FlipRoom) -> ProgramRoom:
    """Room for one thread."""
    d, lines = len(flip.point), len(flip.lines)
    return ProgramRoom(
        flip,
        slopes=np.zeros(d),
        basis=np.zeros(d, np.int64),
        used=np.zeros(d + lines, np.int64),
        table=np.zeros((d, d + lines)),
        value=np.zeros(d + lines),
        duals=np.zeros(d),
        column=np.zeros(d),
    )


@kernel
def largest_on_regions(
    flat: Any, flips: Any, regions: Any, asked: Any, part: Any, found: Any
) -> None:
    """Bounds on the largest values of some functions on some regions.

    Parameters
    ----------
    flat : FlatNetwork
    flips : FlipLines
    regions : tuple
        Packed patterns and bits of a neuron, witnesses, and affine maps of all regions.
    asked : tuple
        `Objectives`; for each of them what a bound has to reach to be of interest; for each region
        and objective whether it is asked for, and what slopes (in the inputs' own coordinates) and
        offset may be wrong by.
    part : tuple
        Which regions, in order; room.
    found : Solution
        Gets what is known, in the order of `part`.
    """
    words, bits, witnesses, maps = regions
    objectives, enough, wanted, slope_error, offset_error = asked
    which, room = part
    room.flip.maps.changes[:] = -1
    for i in range(len(which)):
        region = which[i]
        load_pattern(flat, words[region], bits, i == 0, room.flip)
        work = room, flips.first - 1, write_rows(flat, flips, room.flip)
        for k in range(len(enough)):
            if wanted[i, k]:
                what = k, enough[k], slope_error[i, k], offset_error[i, k]
                _largest(flat.lines.scale, (objectives, maps[region], what), work, found, i)
                if not np.isnan(found.value[i, k]):
                    found.lower[i, k] = _lower_bound(
                        flat.lines.scale, (objectives, maps[region], what), work,
                        (witnesses[region], found.point[i, k]),
                    )  # fmt: skip


@kernel(inner=True)
def _largest(scale: Any, asked: Any, work: Any, found: Any, i: int) -> None:
    """One linear program, and the bound that it proves."""
    objectives, affine, what = asked
    room, k, d = work[0], what[0], len(scale)
    offset, wrong, total = _set_objective(scale, objectives, affine, what, room)
    solved = solve(objectives, work, offset, what[1] - wrong - _NEAR * total)
    found.upper[i, k] = upper_bound(objectives, room, offset) + wrong + TINY
    found.lower[i, k], found.value[i, k] = -np.inf, np.nan
    if solved:
        here = offset
        for c in range(d):
            here += room.slopes[c] * room.flip.point[c]
            found.point[i, k, c] = room.flip.point[c] / scale[c]
        found.value[i, k] = here


@kernel(inner=True)
def _set_objective(
    scale: Any, objectives: Any, affine: Any, what: Any, room: Any
) -> tuple[float, float, float]:
    """The slopes of the function; its offset, what it may be wrong by on the box, and its size."""
    k, _, slope_error, offset_error = what
    d = len(scale)
    row, sign = affine[objectives.output[k]], float(objectives.sign[k])
    offset = sign * row[d]
    wrong, total = offset_error, abs(offset)
    for c in range(d):
        room.slopes[c] = sign * row[c] / scale[c]
        size = max(abs(objectives.low[c]), abs(objectives.high[c]))
        wrong += slope_error * size / scale[c]
        total += abs(room.slopes[c]) * size
    return offset, (wrong + (d + 8) * ROUND * total) * INFLATE, total


@kernel(inner=True)
def _lower_bound(scale: Any, asked: Any, work: Any, where: Any) -> float:
    """What the function surely reaches next to a point, on the way to the witness."""
    objectives, affine, what = asked
    room, _, count = work
    witness, point = where
    x, d = room.flip.point, len(scale)
    offset, wrong, _ = _set_objective(scale, objectives, affine, what, room)
    share = _INWARDS
    for _ in range(_TRIES):
        inner = offset
        for c in range(d):
            x[c] = (point[c] + share * (witness[c] - point[c])) * scale[c]
            inner += room.slopes[c] * x[c]
        if _is_inside(room.flip, count):
            return inner - wrong
        share *= _FURTHER
    return -np.inf


@kernel(sums="fused", inner=True)
def solve(objectives: Any, work: Any, offset: float, enough: float) -> bool:
    """The dual simplex method; False if it ended before the best point was found.

    The rows in the basis hold at the current point, which is the best one of the cone that they
    make: their factors, with which they add up to minus the slopes, are not negative.
    """
    room, domain, count = work
    basis, duals, column = room.basis, room.duals, room.column
    table, value, x = room.table, room.value, room.flip.point
    d = len(x)
    n = _begin(objectives, room, domain, count)
    reach = 1.0
    for c in range(d):
        reach = max(reach, abs(objectives.low[c]), abs(objectives.high[c]))
    solved = False
    for _ in range(_STEPS):
        best = offset
        for c in range(d):
            best += room.slopes[c] * value[c]
        if best < enough:
            break
        entering, least = n, -_NOTHING * reach
        for k in range(d, n):
            if value[k] < least:
                entering, least = k, value[k]
        # Negative numbers are sides of the box: first those from below, then those from above.
        for c in range(d):
            if value[c] - objectives.low[c] < least:
                entering, least = -1 - c, value[c] - objectives.low[c]
            if objectives.high[c] - value[c] < least:
                entering, least = -1 - d - c, objectives.high[c] - value[c]
        if entering == n:
            solved = True
            break
        # The row that comes in as a combination of those in the basis.
        place = entering if entering >= 0 else (-1 - entering) % d
        sign = -1.0 if entering < -d else 1.0
        leaving, ratio = -1, np.inf
        for i in range(d):
            column[i] = sign * table[i, place]
            if column[i] > 1e-9:
                this = max(duals[i], 0.0) / column[i]
                if this < ratio or (this == ratio and column[i] > column[leaving]):
                    leaving, ratio = i, this
        if leaving < 0:
            break
        for i in range(d):
            duals[i] -= ratio * column[i]
        duals[leaving] = ratio
        basis[leaving] = room.used[entering] if entering >= 0 else entering
        _exchange(room, n, leaving, least)
    for c in range(d):
        x[c] = value[c]
    return solved


@kernel(inner=True)
def _begin(objectives: Any, room: Any, domain: int, count: int) -> int:
    """The table of the best corner of the box; how many inputs and rows it has."""
    rows, errors, used = room.flip.rows, room.flip.errors, room.used
    table, value, d = room.table, room.value, len(room.slopes)
    n = d
    for i in range(domain, count):
        if errors[i] < np.inf:
            used[n] = i
            n += 1
    for j in range(d):
        up = room.slopes[j] > 0.0
        room.basis[j] = -1 - j if not up else -1 - d - j
        room.duals[j] = abs(room.slopes[j])
        value[j] = objectives.high[j] if up else objectives.low[j]
        for c in range(d):
            table[j, c] = 0.0
        table[j, j] = -1.0 if up else 1.0
    for k in range(d, n):
        row = rows[used[k]]
        total = row[d]
        for c in range(d):
            total += row[c] * value[c]
            table[c, k] = row[c] * table[c, c]
        value[k] = total
    return n


@kernel(sums="fused", inner=True)
def _exchange(room: Any, n: int, leaving: int, least: float) -> None:
    """Let the row in ``room.column`` take a place in the basis, and move to where it is 0."""
    table, value, column = room.table, room.value[:n], room.column
    pivot, factor = table[leaving, :n], 1.0 / column[leaving]
    for k in range(n):
        pivot[k] *= factor
    for k in range(n):
        value[k] -= least * pivot[k]
    for i in range(len(column)):
        share = column[i]
        if i != leaving and share != 0.0:
            line = table[i, :n]
            for k in range(n):
                line[k] -= share * pivot[k]


@kernel(inner=True)
def upper_bound(objectives: Any, room: Any, offset: float) -> float:
    """What the factors prove: any that are not negative will do, docs/exactness.md."""
    rows, errors, rest, d = room.flip.rows, room.flip.errors, room.flip.step, len(room.slopes)
    reach = 1.0
    for c in range(d):
        rest[c] = room.slopes[c]
        reach += max(abs(objectives.low[c]), abs(objectives.high[c]))
    total, wrong, size = offset, 0.0, abs(offset)
    for i in range(d):
        which, weight = room.basis[i], room.duals[i]
        if which < 0 or not weight > 0.0:
            continue
        total += weight * rows[which, d]
        size += weight * (abs(rows[which, d]) + reach)
        wrong += weight * errors[which] * reach
        for c in range(d):
            rest[c] += weight * rows[which, c]
    for c in range(d):
        total += max(rest[c] * objectives.low[c], rest[c] * objectives.high[c])
        size += abs(rest[c]) * reach + abs(room.slopes[c]) * reach
    return total + (wrong + (3 * d + 16) * ROUND * size) * INFLATE


@kernel(inner=True)
def _is_inside(flip: Any, count: int) -> bool:
    """Whether a point surely is in the region."""
    x, d = flip.point, len(flip.point)
    reach = 1.0
    for c in range(d):
        reach += abs(x[c])
    for i in range(count):
        value, size = value_of(flip.rows, i, x, d)
        if not value > (flip.errors[i] * reach + (d + 4) * ROUND * size) * INFLATE:
            return False
    return True


@kernel
def values_at_corners(maps: Any, corners: Any, part: Any, found: Any) -> None:
    """The largest and the smallest value of each output at the vertices of some regions.

    Parameters
    ----------
    maps : ndarray
        `Regions.affine_maps`.
    corners : tuple
        Values and ends of `Regions.corners`.
    part : tuple
        The first of the regions, and the one after the last.
    found : tuple
        Gets for each region and output the largest values and their corners, for the smallest ones
        the same, and for each region the largest sum of a vertex's absolute coordinates.
    """
    points, ends = corners
    first, last = part
    high, high_at, low, low_at, reach = found
    d = points.shape[1] - 1
    for region in range(first, last):
        begin = ends[region - 1] if region else 0
        reach[region] = 0.0
        for o in range(maps.shape[1]):
            high[region, o], low[region, o] = -np.inf, np.inf
            high_at[region, o], low_at[region, o] = begin, begin
        for i in range(begin, ends[region]):
            if points[i, d] == 0.0:
                continue
            size = 0.0
            for c in range(d):
                size += abs(points[i, c])
            reach[region] = max(reach[region], size)
            for o in range(maps.shape[1]):
                value = maps[region, o, d]
                for c in range(d):
                    value += maps[region, o, c] * points[i, c]
                if value > high[region, o]:
                    high[region, o], high_at[region, o] = value, i
                if value < low[region, o]:
                    low[region, o], low_at[region, o] = value, i
