"""Kernels that tell cells which a set of outputs can't meet: they are left out of a search.

On a cell, each output of each layer lies between two affine functions of the inputs: m - r and
m + r. Layers whose pieces are known on the cell give m alone; where a neuron may be on several
pieces, its activation lies between two lines. Affine functions on a cell are least and largest at
its corners. All roundings are added to the constant of r, so nothing is left out that is not surely
outside: docs/error-bound.md, "Cells that a set does not meet".
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray, IntArray
from tropicell._runtime.jit import kernel, template
from tropicell.engines.cells._state import AT_INFINITY, ERROR, INFINITE, W
from tropicell.geometry.rounding import ROUND, TINY
from tropicell.network.flat import COLUMNS_AT, IS_SPARSE, SOURCE, WEIGHTS_AT

# What is known of a cell and a set.
OUTSIDE, UNKNOWN, MEETS = 0, 1, 2

#: Cells with more corners are not looked at.
MOST_POINTS = 256

#: Sums of this size may overflow: nothing is concluded from them.
_HUGE = 1e250

#: More than what rounds a convex combination of two numbers, relative to them.
_BLEND = 1e-9


class Where(NamedTuple):
    """A set of inputs, as affine functions of all neurons' outputs.

    Attributes
    ----------
    on : bool
        Whether there is one.
    weights : ndarray, shape (functions, rows)
        Of each neuron (row of the flat network), rounded once.
    bias : ndarray, shape (functions,)
    part_start : ndarray, shape (parts + 1,)
        The set is a union of parts; these are the functions of each.
    is_equal : ndarray of bool, shape (functions,)
        Whether a function has to be 0 (then it is the first one of its part), or not negative.
    first_row : int
        Neurons before this one (row of the flat network) have no weight.
    last_reader : ndarray, shape (depth + 1,)
        The last layer that reads each layer's outputs; depth + 1 for the functions.
    first_line : ndarray, shape (rows + 1,)
        The boundaries of each neuron begin here.
    """

    on: bool
    weights: FloatArray
    bias: FloatArray
    part_start: IntArray
    is_equal: NDArray[np.bool_]
    first_row: int
    last_reader: IntArray
    first_line: IntArray


class WhereRoom(NamedTuple):
    """What one thread needs.

    Attributes
    ----------
    middle, radius : ndarray, shape (d + 1, rows + functions)
        The functions m and r of every neuron and of every function.
    size : ndarray, shape (rows + functions,)
        At least m and r on the cell, in absolute values, and all that they were summed from.
    is_flat : ndarray of bool, shape (rows + functions,)
        Whether r is a constant.
    low, high, value, spread : ndarray, shape (widest layer or functions,)
        The least and largest values on the cell; scratch.
    sources : ndarray, shape (rows,)
        Neurons that a layer reads and that are not 0 on the cell.
    points : ndarray, shape (MOST_POINTS, d)
        Corners of the cell.
    off, reach : ndarray, shape (d + 1,)
        By how much corners may be wrong, and absolute values of the cell's coordinates and of 1.
    values : ndarray, shape (functions, MOST_POINTS)
        At the corners of a finished cell.
    wrong : ndarray, shape (functions,)
        By how much these may be off.
    kept : ndarray, shape (depth + 2, functions, 2 d + 3)
        For every layer the functions m and r of the cell that entered it last, and the size of
        both: all cells that lie in it have them, too. The size is infinite if there are none.
    loose : ndarray, shape (depth + 2,)
        For every layer how many of its neurons may be on several pieces on that cell.
    """

    middle: FloatArray
    radius: FloatArray
    size: FloatArray
    is_flat: NDArray[np.bool_]
    low: FloatArray
    high: FloatArray
    value: FloatArray
    spread: FloatArray
    sources: IntArray
    points: FloatArray
    off: FloatArray
    reach: FloatArray
    values: FloatArray
    wrong: FloatArray
    kept: FloatArray
    loose: IntArray


def nowhere() -> Where:
    """No set: all regions are wanted."""
    none = np.zeros(0, np.int64)
    return Where(False, np.zeros((0, 0)), np.zeros(0), none, np.zeros(0, np.bool_), 0, none, none)


def where_room(dimension: int, rows: int, width: int, depth: int, functions: int) -> WhereRoom:
    """Room for one thread; without functions there is none."""
    d, used = dimension, functions > 0
    total, widest = (rows + functions) * used, max(width, functions) * used
    points = MOST_POINTS * used
    return WhereRoom(
        middle=np.zeros((d + 1, total)),
        radius=np.zeros((d + 1, total)),
        size=np.zeros(total),
        is_flat=np.zeros(total, np.bool_),
        low=np.zeros(widest),
        high=np.zeros(widest),
        value=np.zeros(widest),
        spread=np.zeros(widest),
        sources=np.zeros(rows * used, np.int64),
        points=np.zeros((points, d)),
        off=np.zeros(d + 1),
        reach=np.zeros(d + 1),
        values=np.zeros((functions, points)),
        wrong=np.zeros(functions),
        kept=np.full((depth + 2, functions, 2 * d + 3), np.inf),
        loose=np.ones(depth + 2, np.int64),
    )


# --- corners --------------------------------------------------------------------------------------


@kernel(late=True)
def polygon_points(stack: Any, start: int, n: int, d: int, room: Any) -> bool:
    """Take down the corners of a polygon; False if it is not bounded, or they are too many."""
    if n > MOST_POINTS:
        return False
    room.off[:] = 0.0
    for i in range(n):
        corner = stack.corners[start + i]
        if corner[AT_INFINITY] != 0.0 or not _take(corner, W, corner[ERROR], i, room):
            return False
    _measure(n, d, room)
    return True


@kernel(late=True)
def cone_points(stack: Any, start: int, n: int, d: int, room: Any) -> bool:
    """The same for a cell by its rays."""
    if n > MOST_POINTS:
        return False
    room.off[:] = 0.0
    for i in range(n):
        ray = stack.rays[stack.corners[start + i]]
        if stack.tags[start + i] & INFINITE or not _take(ray, d, ray[d + 1], i, room):
            return False
    _measure(n, d, room)
    return True


@template
def _take(ray: Any, d: int, eps: float, i: int, room: Any) -> bool:
    """Write corner i: the first d of d + 1 coordinates, each wrong by `eps`, over the last."""
    w = ray[d]
    sure = bool(w > 4.0 * eps)
    if sure:
        for c in range(d):
            x = ray[c] / w
            room.points[i, c] = x
            off = (eps * (1.0 + abs(x)) / (w - eps) + 4.0 * ROUND * abs(x)) * 1.0001 + TINY
            room.off[c] = max(room.off[c], off)
    return sure


@kernel(inner=True)
def _measure(n: int, d: int, room: Any) -> None:
    """How large coordinates are on the cell."""
    for c in range(d):
        most = 0.0
        for i in range(n):
            most = max(most, abs(room.points[i, c]))
        room.reach[c] = (most + room.off[c]) * 1.0001
    room.reach[d] = 1.0


# --- affine functions on a cell -------------------------------------------------------------------


@kernel(inner=True)
def forget(room: Any, layer: int) -> None:
    """Nothing is known of the cell that enters a layer."""
    for f in range(room.kept.shape[1]):
        room.kept[layer, f, room.kept.shape[2] - 1] = np.inf
    room.loose[layer] = 1


@kernel(inner=True)
def was_same(room: Any, layer: int) -> bool:
    """Whether the cell that enters a layer is the one that entered the layer before, uncut.

    Then nothing new can be known of it; what is known is handed on.
    """
    if room.loose[layer - 1] != 0:
        return False
    for f in range(room.kept.shape[1]):
        for c in range(room.kept.shape[2]):
            room.kept[layer, f, c] = room.kept[layer - 1, f, c]
    return True


@kernel(late=True)
def can_still_meet(where: Any, room: Any, layer: int, n: int) -> bool:
    """Whether a set may meet a part of the cell that entered `layer`, by what was known of that.

    The n corners of the part are in `room`.
    """
    d = room.points.shape[1]
    for f in range(len(where.bias)):
        row = room.kept[layer, f]
        size = row[2 * d + 2]
        if not size < _HUGE:
            return True
        low, high = np.inf, -np.inf
        for i in range(n):
            value, spread = row[d], row[2 * d + 1]
            for c in range(d):
                value += row[c] * room.points[i, c]
                spread += row[d + 1 + c] * room.points[i, c]
            low, high = min(low, value - spread), max(high, value + spread)
        wrong = (2.0 * d + 12.0) * ROUND * size
        for c in range(d):
            wrong += (abs(row[c]) + abs(row[d + 1 + c])) * room.off[c]
        room.low[f], room.high[f] = low - wrong * 1.0001, high + wrong * 1.0001
    return _is_possible(where, room)


@kernel(inner=True)
def _is_possible(where: Any, room: Any) -> bool:
    """Whether a part of the set may be met, given the least and largest values of functions."""
    for part in range(len(where.part_start) - 1):
        possible = True
        for f in range(where.part_start[part], where.part_start[part + 1]):
            if room.high[f] < 0.0 or (where.is_equal[f] and room.low[f] > 0.0):
                possible = False
        if possible:
            return True
    return False


@kernel(late=True)
def can_meet(
    flat: Any, where: Any, room: Any, before: Any, pattern: Any, layer: int, n: int
) -> bool:
    """Whether a set may meet a cell that enters `layer`; its n corners are in `room`.

    Parameters
    ----------
    flat : FlatNetwork
    where : Where
    room : WhereRoom
    before : ndarray, shape (d + 2, rows)
        Maps of all layers up to `layer` before their activations, and bounds on the errors.
    pattern : ndarray of uint8
        The pieces of all layers before it.
    """
    maps, d = flat.maps, flat.maps.dimension
    for one in range(layer, flat.lines.depth + 1):
        forget(room, one)
    _known_outputs(maps, where, room, before, pattern, layer)
    for one in range(layer, flat.lines.depth + 1):
        begin, end = maps.row_start[one], maps.row_start[one + 1]
        if one == layer:
            _load_rows(maps, room, before, begin, end)
        else:
            _sum_rows(maps, room, one)
        if not _ranges(room, begin, end, n, d):
            return True
        loose = 0
        for row in range(begin, end):
            loose += _relax(flat, where, room, row, room.low[row - begin], room.high[row - begin])
        room.loose[one] = loose
    begin = maps.row_start[len(maps.row_start) - 1]
    end = begin + len(where.bias)
    _sum_functions(maps, where, room, begin)
    if not _ranges(room, begin, end, n, d):
        return True
    for f in range(len(where.bias)):
        for c in range(d + 1):
            room.kept[layer, f, c] = room.middle[c, begin + f]
            room.kept[layer, f, d + 1 + c] = room.radius[c, begin + f]
        room.kept[layer, f, 2 * d + 2] = room.size[begin + f]
    return _is_possible(where, room)


@kernel(late=True)
def meets(
    flat: Any, where: Any, room: Any, before: Any, pattern: Any, own: Any, at: int, n: int
) -> int:
    """What is known of a set and a finished cell: `OUTSIDE`, `UNKNOWN` or `MEETS`.

    `pattern` has the pieces of all layers but the last one, ``own[at]``, … those of that.
    """
    maps, depth, d = flat.maps, flat.lines.depth, flat.maps.dimension
    _known_outputs(maps, where, room, before, pattern, depth)
    for row in range(maps.row_start[depth], maps.row_start[depth + 1]):
        _set_known(maps, room, before, row, own[at + row - maps.row_start[depth]])
    begin = maps.row_start[len(maps.row_start) - 1]
    _sum_functions(maps, where, room, begin)
    functions = len(where.bias)
    for f in range(functions):
        wrong = room.radius[d, begin + f] + (d + 6) * ROUND * room.size[begin + f]
        for c in range(d):
            wrong += abs(room.middle[c, begin + f]) * room.off[c]
        room.wrong[f] = wrong * 1.0001
        if not room.size[begin + f] < _HUGE:
            return UNKNOWN
        for i in range(n):
            value = room.middle[d, begin + f]
            for c in range(d):
                value += room.middle[c, begin + f] * room.points[i, c]
            room.values[f, i] = value
    found = OUTSIDE
    for part in range(len(where.part_start) - 1):
        first, last = where.part_start[part], where.part_start[part + 1]
        known = _part_verdict(where, room, first, last, n)
        if known == MEETS:
            return MEETS
        if known == UNKNOWN:
            found = UNKNOWN
    return found


@kernel(inner=True)
def _part_verdict(where: Any, room: Any, first: int, last: int, n: int) -> int:
    """What the values at the corners say of one part."""
    values, wrong = room.values, room.wrong
    for f in range(first, last):
        above = below = False  # whether it may be so somewhere
        for i in range(n):
            above |= values[f, i] >= -wrong[f]
            below |= values[f, i] <= wrong[f]
        if not above or (where.is_equal[f] and not below):
            return OUTSIDE
    if not where.is_equal[first]:
        for i in range(n):
            sure = True
            for f in range(first, last):
                sure &= values[f, i] > wrong[f]
            if sure:
                return MEETS
        return UNKNOWN
    for i in range(n):
        if not values[first, i] > wrong[first]:
            continue
        for j in range(n):
            if values[first, j] < -wrong[first] and _holds_between(room, first, last, i, j):
                return MEETS
    return UNKNOWN


@kernel(inner=True)
def _holds_between(room: Any, first: int, last: int, i: int, j: int) -> bool:
    """Whether all other functions are positive where the first one is 0 between two corners."""
    values, wrong = room.values, room.wrong
    a, b, e = values[first, i], -values[first, j], wrong[first]
    if first + 1 == last:
        return True
    if not (a > 4.0 * e and b > 4.0 * e):
        return False
    share = a / (a + b)  # of the second corner
    off = 4.001 * e / (a + b) + _BLEND
    for f in range(first + 1, last):
        u, v = values[f, i], values[f, j]
        least = u + (v - u) * share - abs(v - u) * off
        if not least > wrong[f] * 1.0001 + _BLEND * (abs(u) + abs(v)):
            return False
    return True


@kernel(inner=True)
def _known_outputs(
    maps: Any, where: Any, room: Any, before: Any, pattern: Any, layers: int
) -> None:
    """The outputs of the layers before `layers`, as far as later ones read them."""
    d, first = maps.dimension, maps.row_start[1]
    if where.last_reader[0] > layers:
        for row in range(first):
            size = 0.0
            for c in range(d + 1):
                room.middle[c, row] = maps.input_rows[row, c]
                room.radius[c, row] = 0.0
                size += abs(maps.input_rows[row, c]) * room.reach[c]
            room.radius[d, row] = 8.0 * ROUND * size
            room.size[row] = size * 1.0001
            room.is_flat[row] = True
    for layer in range(1, layers):
        if where.last_reader[layer] > layers:
            for row in range(maps.row_start[layer], maps.row_start[layer + 1]):
                _set_known(maps, room, before, row, pattern[row - first])


@kernel(inner=True)
def _set_known(maps: Any, room: Any, before: Any, row: int, piece: int) -> None:
    """The output of a neuron whose piece is known."""
    d = maps.dimension
    slope, intercept = maps.slopes[row, piece], maps.intercepts[row, piece]
    size, reach = abs(intercept), 0.0
    for c in range(d + 1):
        value = slope * before[c, row]
        size += abs(value) * room.reach[c]
        reach += room.reach[c]
        room.middle[c, row] = value + intercept if c == d else value
        room.radius[c, row] = 0.0
    off = slope == 0.0 and intercept == 0.0
    error = abs(slope) * before[d + 1, row] * reach
    room.radius[d, row] = 0.0 if off else (error + 8.0 * ROUND * size) * 1.0001 + TINY
    room.size[row] = 0.0 if off else (size + error) * 1.0001 + TINY
    room.is_flat[row] = True


@kernel(inner=True)
def _load_rows(maps: Any, room: Any, before: Any, begin: int, end: int) -> None:
    """The rows of a layer before its activations, which the search has."""
    d = maps.dimension
    reach = 0.0
    for c in range(d + 1):
        reach += room.reach[c]
    for row in range(begin, end):
        size = 0.0
        for c in range(d + 1):
            room.middle[c, row] = before[c, row]
            room.radius[c, row] = 0.0
            size += abs(before[c, row]) * room.reach[c]
        room.radius[d, row] = before[d + 1, row] * reach * 1.0001 + TINY
        room.size[row] = (size + room.radius[d, row]) * 1.0001
        room.is_flat[row] = True


@kernel(sums="fused", inner=True)
def _add(to: Any, weights: Any, sources: Any, first: int, values: Any) -> None:
    """Add the values of some neurons, times their weights; four at once, which saves time."""
    width, n = len(to), len(sources)
    for i in range(0, n - 3, 4):
        a, b, c, d = sources[i], sources[i + 1], sources[i + 2], sources[i + 3]
        e, f, g, h = values[a], values[b], values[c], values[d]
        p = weights[(a - first) * width : (a - first + 1) * width]
        q = weights[(b - first) * width : (b - first + 1) * width]
        r = weights[(c - first) * width : (c - first + 1) * width]
        s = weights[(d - first) * width : (d - first + 1) * width]
        for j in range(width):
            to[j] += p[j] * e + q[j] * f + r[j] * g + s[j] * h
    for i in range(n - n % 4, n):
        k, value = (sources[i] - first) * width, values[sources[i]]
        p = weights[k : k + width]
        for j in range(width):
            to[j] += p[j] * value


@kernel(sums="fused", inner=True)
def _add_sizes(to: Any, weights: Any, sources: Any, first: int, values: Any) -> None:
    """The same with the absolute values of the weights."""
    width, n = len(to), len(sources)
    for i in range(0, n - 3, 4):
        a, b, c, d = sources[i], sources[i + 1], sources[i + 2], sources[i + 3]
        e, f, g, h = values[a], values[b], values[c], values[d]
        p = weights[(a - first) * width : (a - first + 1) * width]
        q = weights[(b - first) * width : (b - first + 1) * width]
        r = weights[(c - first) * width : (c - first + 1) * width]
        s = weights[(d - first) * width : (d - first + 1) * width]
        for j in range(width):
            to[j] += abs(p[j]) * e + abs(q[j]) * f + abs(r[j]) * g + abs(s[j]) * h
    for i in range(n - n % 4, n):
        k, value = (sources[i] - first) * width, values[sources[i]]
        p = weights[k : k + width]
        for j in range(width):
            to[j] += abs(p[j]) * value


@kernel(sums="fused", inner=True)
def _sum_rows(maps: Any, room: Any, layer: int) -> None:
    """The rows of a layer from the outputs of those that it reads."""
    d, middle, radius, size = maps.dimension, room.middle, room.radius, room.size
    begin, end = maps.row_start[layer], maps.row_start[layer + 1]
    width, count = end - begin, 0
    for c in range(d + 1):
        for row in range(begin, end):
            middle[c, row] = maps.bias[row] if c == d else 0.0
            radius[c, row] = 0.0
    for row in range(begin, end):
        size[row] = abs(maps.bias[row])
        room.is_flat[row] = True
    for term in range(maps.term_start[layer], maps.term_start[layer + 1]):
        source = maps.terms[term, SOURCE]
        first, last = maps.row_start[source], maps.row_start[source + 1]
        count += last - first
        at = maps.terms[term, WEIGHTS_AT]
        if maps.terms[term, IS_SPARSE]:
            for k in range(first, last):
                column = maps.terms[term, COLUMNS_AT] + k - first
                for p in range(at + maps.columns[column], at + maps.columns[column + 1]):
                    row, weight = begin + maps.targets[p], maps.weights[p]
                    for c in range(d + 1):
                        middle[c, row] += weight * middle[c, k]
                        radius[c, row] += abs(weight) * radius[c, k]
                    size[row] += abs(weight) * size[k]
                    room.is_flat[row] &= room.is_flat[k]
            continue
        # Those whose r is not a constant come first.
        sources, loose, used = room.sources, 0, 0
        for k in range(first, last):
            if size[k] == 0.0:
                continue
            sources[used] = k
            if not room.is_flat[k]:
                sources[used], sources[loose] = sources[loose], k
                loose += 1
            used += 1
        weights = maps.weights[at : at + (last - first) * width]
        for c in range(d + 1):
            _add(middle[c, begin:end], weights, sources[:used], first, middle[c])
            some = used if c == d else loose
            _add_sizes(radius[c, begin:end], weights, sources[:some], first, radius[c])
        _add_sizes(size[begin:end], weights, sources[:used], first, size)
        if loose:
            room.is_flat[begin:end] = False
    for row in range(begin, end):
        size[row] = size[row] * 1.0001 + TINY
        radius[d, row] += (count + 8.0) * ROUND * size[row]


@kernel(inner=True)
def _sum_functions(maps: Any, where: Any, room: Any, begin: int) -> None:
    """The functions of the set from the outputs of all layers."""
    d, middle, radius, size = maps.dimension, room.middle, room.radius, room.size
    for f in range(len(where.bias)):
        row, count = begin + f, 0
        for c in range(d + 1):
            middle[c, row], radius[c, row] = 0.0, 0.0
        middle[d, row], size[row] = where.bias[f], abs(where.bias[f])
        room.is_flat[row] = False
        for k in range(where.first_row, begin):
            weight = where.weights[f, k]
            if weight == 0.0:
                continue
            count += 1
            for c in range(d + 1):
                middle[c, row] += weight * middle[c, k]
                radius[c, row] += abs(weight) * radius[c, k]
            size[row] += abs(weight) * size[k]
        size[row] = size[row] * 1.0001 + TINY
        radius[d, row] += (count + 12.0) * ROUND * size[row]


@kernel(sums="fused", inner=True)
def _ranges(room: Any, begin: int, end: int, n: int, d: int) -> bool:
    """The least and largest values of rows on the cell; False if they may have overflown."""
    width = end - begin
    low, high, value, spread = room.low, room.high, room.value, room.spread
    for j in range(width):
        low[j], high[j] = np.inf, -np.inf
        if not room.size[begin + j] < _HUGE:
            return False
    middle, radius, loose = room.middle, room.radius, False
    for row in range(begin, end):
        loose |= not room.is_flat[row]
    for i in range(n):
        # Rows that are cut out one by one have no gaps: loops over them are quick.
        m, r = middle[d, begin:end], radius[d, begin:end]
        for j in range(width):
            value[j] = m[j]
            spread[j] = r[j]
        for c in range(d):
            x, m, r = room.points[i, c], middle[c, begin:end], radius[c, begin:end]
            for j in range(width):
                value[j] += m[j] * x
            if loose:
                for j in range(width):
                    spread[j] += r[j] * x
        for j in range(width):
            low[j] = min(low[j], value[j] - spread[j])
            high[j] = max(high[j], value[j] + spread[j])
    for j in range(width):
        wrong = (2.0 * d + 12.0) * ROUND * room.size[begin + j]
        for c in range(d):
            wrong += (abs(middle[c, begin + j]) + abs(radius[c, begin + j])) * room.off[c]
        low[j] -= wrong * 1.0001
        high[j] += wrong * 1.0001
    return True


@kernel(inner=True)
def _relax(flat: Any, where: Any, room: Any, row: int, low: float, high: float) -> int:
    """Make the output of a neuron from its row, which lies between two numbers.

    Returns 0 if that is on one piece, else 1.
    """
    maps, at = flat.maps, flat.lines.line_at
    d, first, last = maps.dimension, where.first_line[row], where.first_line[row + 1]
    p, q = 0, 0
    for line in range(first, last):
        p += at[line] <= low
        q += at[line] < high
    if p >= q:
        s, t = maps.slopes[row, q], maps.intercepts[row, q]
        if s == 0.0 and t == 0.0:
            for c in range(d + 1):
                room.middle[c, row], room.radius[c, row] = 0.0, 0.0
            room.size[row], room.is_flat[row] = 0.0, True
        elif s != 1.0 or t != 0.0:
            _between_lines(room, row, s, t, s, t, d)
        return 0
    rising = falling = True
    for k in range(p, q):
        rising &= maps.slopes[row, k] <= maps.slopes[row, k + 1]
        falling &= maps.slopes[row, k] >= maps.slopes[row, k + 1]
    start = maps.slopes[row, p] * low + maps.intercepts[row, p]
    end = maps.slopes[row, q] * high + maps.intercepts[row, q]
    size = abs(start) + abs(end)
    size += abs(maps.intercepts[row, p]) + abs(maps.intercepts[row, q])
    if not (rising or falling):
        least, most = min(start, end), max(start, end)
        for k in range(p, q):
            value = maps.slopes[row, k] * at[first + k] + maps.intercepts[row, k]
            size += abs(value) + abs(maps.intercepts[row, k])
            least, most = min(least, value), max(most, value)
        size *= 16.0 * ROUND
        _between_lines(room, row, 0.0, least - size, 0.0, most + size, d)
        return 1
    # The chord, and the line of the piece in the middle: the activation lies between the two.
    chord = (end - start) / (high - low)
    a, b = start - chord * low, end - chord * high
    size += abs(chord) * (abs(low) + abs(high))
    middle, k = 0.5 * (low + high), p
    while k < q and at[first + k] < middle:
        k += 1
    s, t = maps.slopes[row, k], maps.intercepts[row, k]
    size = 16.0 * ROUND * (size + abs(s) * (abs(low) + abs(high)) + abs(t))
    if rising:
        _between_lines(room, row, s, t - size, chord, max(a, b) + size, d)
    else:
        _between_lines(room, row, chord, min(a, b) - size, s, t + size, d)
    return 1


@kernel(inner=True, inlined=True)
def _between_lines(
    room: Any, row: int, s: float, t: float, upper_s: float, upper_t: float, d: int
) -> None:
    """What lies between the lines s z + t and upper_s z + upper_t, for z from m - r to m + r."""
    by, shift = 0.5 * (s + upper_s), 0.5 * (abs(upper_s) - abs(s))
    grow, apart = 0.5 * (abs(s) + abs(upper_s)), 0.5 * (upper_s - s)
    flat = room.is_flat[row] and apart == 0.0
    for c in range(d + 1):
        m, r = room.middle[c, row], room.radius[c, row]
        room.middle[c, row] = by * m + shift * r
        room.radius[c, row] = apart * m + grow * r
    room.middle[d, row] += 0.5 * (t + upper_t)
    room.radius[d, row] += 0.5 * (upper_t - t)
    size = (abs(s) + abs(upper_s)) * room.size[row] + abs(t) + abs(upper_t)
    room.radius[d, row] += 8.0 * ROUND * size
    room.size[row] = size * 1.0001 + (TINY if size > 0.0 else 0.0)
    room.is_flat[row] = flat
