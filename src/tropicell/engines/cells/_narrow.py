"""Kernels that look at fewer neurons while the search is inside of one cell.

The focus of a unit (`_focus`) is for all of its cells. A cell that only half of the boundaries
cross, or fewer, gets a further *level*: the neurons that can change on this cell alone. Those of
the level before it that can't are folded into base and weights; when the search leaves the cell, it
returns to the level before. So most cells are cut with a handful of neurons in view, and nothing is
asked of the whole network. Bounds and proofs: step 9 of docs/error-bound.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tropicell._runtime.jit import kernel
from tropicell.engines.cells import _plane as plane
from tropicell.engines.cells._focus import add_exactly
from tropicell.engines.cells._state import (
    AT_INFINITY,
    CONFLICT_AT,
    CORNER_AT,
    ERROR,
    LAYER,
    N_CONFLICTS,
    N_CORNERS,
    PIECES_AT,
    TOP,
    W,
    X,
    Y,
)
from tropicell.geometry._double import exact_sum
from tropicell.geometry.rounding import INFLATE, ROUND, TINY
from tropicell.network._layer_maps import _anchor, _length, _sum_rounding

#: Levels of a focus; neurons of a further level; corners of a cell that gets one.
MOST_LEVELS, MOST_NARROWED, MOST_CORNERS = 12, 192, 64

#: Boundaries that cross a cell as a part of those of the level, at most: a half; and as a part of
#: those of a cell that was tried in vain.
_PART, _PART_OF_TRIED = 0.5, 0.7

# Places of the columns: sums of the squares of all factors; the largest of them; the anchor; the
# errors of all outputs before a layer; the errors of the layer.
SQUARES, LARGEST, ANCHOR, CARRIED, WRONG = 0, 1, 2, 3, 4
COLUMN_PLACES = 5

# Places of the forms. A neuron lies within RADIUS of SLOPE_X x + SLOPE_Y y + OFFSET, and if it is
# of the new level, its output within MIDDLE + FACTOR RADIUS of FACTOR times that, plus MIDDLE; it
# is at most HIGHEST, and SIZE bounds the absolute values of all terms. For neurons of a layer that
# is looked at LOWEST and HIGHEST are sums of the least and the most that outputs add.
SLOPE_X, SLOPE_Y, OFFSET, RADIUS, FACTOR, MIDDLE, HIGHEST, SIZE, LOWEST = 0, 1, 2, 3, 4, 5, 6, 7, 8
LOW, HIGH, BASE_LOW, BASE_HIGH = 9, 10, 11, 12
FORM_PLACES = 13


@kernel(inner=True)
def widen(focus: Any, state: Any) -> None:
    """Return to the level of the cell that is on top of the stack now."""
    if focus.on:
        while focus.now[0] > 0 and state[TOP] <= focus.cell[focus.now[0]]:
            focus.now[0] -= 1


@kernel(inner=True)
def split(flat: Any, current: Any, stack: Any, options: Any, state: Any) -> bool:
    """Cut the top cell as `tropicell.engines.cells._plane.split` does, in a narrower view."""
    narrow(flat, current, stack, state, options.exact)
    return plane.split(flat, current, stack, options, state)


@kernel(inner=True)
def narrow(flat: Any, current: Any, stack: Any, state: Any, exact: bool) -> None:
    """Make a further level for the top cell, if that is worth it."""
    focus = stack.focus
    if not focus.on:
        return
    record, level, depth = stack.records[state[TOP] - 1], focus.now[0], flat.lines.depth
    layer, count = record[LAYER], record[N_CONFLICTS]
    start = focus.start[level]
    behind = start[depth + 1] - start[layer + 1]
    if (
        count < focus.worth[0]
        or behind < focus.worth[1]
        or count > _PART * (start[layer + 1] - start[layer])
        or count > _PART_OF_TRIED * focus.tried[level]
        or count > MOST_NARROWED
        or level + 1 >= len(focus.cell)
    ):
        return
    x, y, off = _take_corners(stack, record)
    n = record[N_CORNERS]
    if not (x < np.inf and y < np.inf):
        return
    _begin(flat.lines, current, stack, record, level, exact)
    _first_forms(current, focus, level + 1, layer, n, x, y, off)
    most = min(MOST_NARROWED, count + behind * 3 // 4)
    for after in range(layer + 1, depth + 1):
        _fold(current, focus, level, after, exact)
        _bound(focus, level, after, n, x, y, off)
        if not _sort(flat.lines, focus, level, layer, after, x, y, most):
            focus.tried[level] = count
            return
    focus.cell[level + 1] = state[TOP] - 1
    focus.first[level + 1] = layer
    focus.tried[level + 1] = len(focus.rows)
    focus.now[0] = level + 1


@kernel(inner=True)
def _take_corners(stack: Any, record: Any) -> tuple[float, float, float]:
    """Take down the corners of a cell; bounds on |x| and |y|, and on what these are off by.

    Infinite bounds: it can't be done.
    """
    start, n = record[CORNER_AT], record[N_CORNERS]
    poly, to = stack.corners, stack.focus.room.corners
    x = y = off = 0.0
    if n > to.shape[1]:
        return np.inf, np.inf, 0.0
    for i in range(n):
        w, error = poly[start + i, W], poly[start + i, ERROR]
        if poly[start + i, AT_INFINITY] != 0.0 or not w > 2.0 * error:
            return np.inf, np.inf, 0.0
        to[X, i], to[Y, i] = poly[start + i, X] / w, poly[start + i, Y] / w
        size = max(abs(to[X, i]), abs(to[Y, i]))
        # |x / w - x̂ / ŵ| <= (ε + ε |x̂ / ŵ|) / (ŵ - ε)
        off = max(off, error / (w - error) * (1.0 + size) + 4.0 * ROUND * size)
        x, y = max(x, abs(to[X, i])), max(y, abs(to[Y, i]))
    off *= INFLATE
    return x + off, y + off, off


@kernel(inner=True)
def _begin(lines: Any, current: Any, stack: Any, record: Any, level: int, exact: bool) -> None:
    """Outputs up to the layer of the cell: known rows, or neurons of the new level."""
    focus, layer, d = stack.focus, record[LAYER], lines.dimension
    start, new, room = focus.start[level], focus.start[level + 1], focus.room
    columns, begin, first = room.columns, lines.row_start[layer], lines.row_start[1]
    count, place = record[N_CONFLICTS], start[lines.depth + 1]
    own = stack.patterns[record[PIECES_AT] :]
    for c in range(d + 1 + count):
        columns[SQUARES, c] = columns[LARGEST, c] = columns[CARRIED, c] = 0.0
    for k in range(count):
        row = lines.line_row[stack.conflicts[record[CONFLICT_AT] + k]]
        focus.rows[place + k] = row
        focus.fixed[row - first] = 2
        columns[SQUARES, d + 1 + k] = columns[LARGEST, d + 1 + k] = 1.0
    k = 0
    for i in range(start[layer + 1] - start[0]):
        row = focus.rows[start[0] + i]
        if start[0] + i < start[layer]:
            if current.after[d + 1, row] == 0.0:
                room.extent[i] = 0
                continue
            for c in range(d + 1):
                room.folded[i, c] = current.after[c, row]
                room.folded_low[i, c] = current.after_low[c, row] if exact else 0.0
        elif focus.fixed[row - first] == 2 or own[row - begin] == 0:
            room.extent[i] = 0
            continue
        else:
            for c in range(d + 1):
                room.folded[i, c] = current.before[c, row]
                room.folded_low[i, c] = current.low[c, row] if exact else 0.0
        room.extent[i] = d + 1
        _count_factors(room, i, d + 1)
    # In the order of the level before, which is that of its columns.
    for i in range(start[layer] - start[0], start[layer + 1] - start[0]):
        row = focus.rows[start[0] + i]
        if focus.fixed[row - first] == 2:
            focus.fixed[row - first] = 0
            room.extent[i] = -(k + 1)
            focus.rows[place + k] = row
            k += 1
    if exact:
        for c in range(d + 1):
            total = current.error[layer, c]
            for source in range(focus.first[level], layer):
                total += current.output_error[source, c]
            columns[CARRIED, c] = total * INFLATE
    for other in range(layer + 1):
        new[other] = place
    new[layer + 1] = place + count


@kernel(inner=True)
def _count_factors(room: Any, i: int, n: int) -> None:
    """Take down the sizes of the numbers of a folded row."""
    columns, row = room.columns, room.folded[i]
    for c in range(n):
        columns[SQUARES, c] += row[c] * row[c]
        columns[LARGEST, c] = max(columns[LARGEST, c], abs(row[c]))


@kernel(inner=True)
def _first_forms(
    current: Any, focus: Any, level: int, layer: int, n: int, x: float, y: float, off: float
) -> None:
    """What the neurons of the first layer of a level can be: their rows are known."""
    forms, corners, before = focus.room.forms, focus.room.corners, current.before
    first = focus.start[level, layer]
    for k in range(focus.start[level, layer + 1] - first):
        row = focus.rows[first + k]
        a, b, c = before[X, row], before[Y, row], before[W, row]
        size = abs(a) * x + abs(b) * y + abs(c)
        radius = before[ERROR, row] * (x + y + 1.0) + 8.0 * 23.0 * ROUND * size + TINY
        low = high = a * corners[X, 0] + b * corners[Y, 0] + c
        for p in range(1, n):
            value = a * corners[X, p] + b * corners[Y, p] + c
            low, high = min(low, value), max(high, value)
        wide = (abs(a) + abs(b)) * off
        forms[SLOPE_X, k], forms[SLOPE_Y, k], forms[OFFSET, k] = a, b, c
        forms[RADIUS, k], forms[SIZE, k] = radius * INFLATE, size
        _relax(forms, k, low - (wide + radius) * INFLATE, high + (wide + radius) * INFLATE)


@kernel(inner=True)
def _relax(forms: Any, k: int, low: float, high: float) -> None:
    """What the output of a neuron can be that is between two numbers, one on each side of 0."""
    low, high = min(low, 0.0), max(high, 0.0)
    factor = 0.0
    if high > low:
        factor = min(max(high / (high - low), 0.0), 1.0)
    # relu(z) - λ z is between 0 and the larger of its values at both ends.
    middle = 0.5 * max(-factor * low, (1.0 - factor) * high) * INFLATE
    forms[FACTOR, k], forms[MIDDLE, k], forms[HIGHEST, k] = factor, middle, high
    forms[SIZE, k] += forms[RADIUS, k] + 2.0 * middle + high


# --- rows -----------------------------------------------------------------------------------------


@kernel(inner=True)
def _fold(current: Any, focus: Any, level: int, layer: int, exact: bool) -> None:
    """The rows of a layer's neurons, as maps of the coordinates, 1, and the new level's neurons."""
    start, new, room = focus.start[level], focus.start[level + 1], focus.room
    columns, d = room.columns, current.after.shape[0] - 2
    begin, end, known = start[layer], start[layer + 1], new[layer] - new[0]
    width, sources = end - begin, begin - start[0]
    n = d + 1 + known
    used = 0
    for i in range(sources):
        used += room.extent[i] != 0
    row, error, norm = (
        focus.largest_row[level, layer],
        focus.weights_error[level, layer],
        focus.weights_norm[level, layer],
    )
    for c in range(n):
        high, low = room.sums[c, :width], room.sums_low[c, :width]
        length = _length(columns[SQUARES, c], columns[LARGEST, c])
        largest = focus.largest_base[level, layer, c] if c <= d else 0.0
        anchor = _anchor((row * length + largest) * INFLATE)
        columns[ANCHOR, c] = anchor
        if c <= d:
            base, base_low = focus.base[c, begin:end], focus.base[d + 1 + c, begin:end]
            for r in range(width):
                high[r] = anchor + base[r]
                low[r] = base_low[r] + (base[r] - (high[r] - anchor))
        else:
            for r in range(width):
                high[r] = anchor
                low[r] = 0.0
        # Step 9, with the rows that are folded for the outputs.
        total = error * length + (norm + error) * columns[CARRIED, c]
        if c <= d:
            total += focus.base_error[level, layer, c]
        if row * length > 0.0 or largest > 0.0:
            total += np.sqrt(float(width)) * _sum_rounding(used + 1, anchor)
        columns[WRONG, c] = (total + TINY) * INFLATE if total > 0.0 else 0.0
    at = focus.weights_at[level, layer]
    for i in range(sources):
        extent = room.extent[i]
        if extent == 0:
            continue
        w = focus.weights[at + i * width : at + (i + 1) * width]
        w_low = focus.weights_low[at + i * width : at + (i + 1) * width]
        if _all_zero(w):
            continue
        if extent < 0:
            c = d - extent
            add_exactly(w, w_low, 1.0, 0.0, room.sums[c, :width], room.sums_low[c, :width])
            continue
        for c in range(extent):
            f, rest = room.folded[i, c], room.folded_low[i, c]
            if f != 0.0:
                add_exactly(w, w_low, f, rest, room.sums[c, :width], room.sums_low[c, :width])
    for c in range(n):
        high, low, anchor = room.sums[c, :width], room.sums_low[c, :width], columns[ANCHOR, c]
        for r in range(width):
            h, t = exact_sum(high[r] - anchor, low[r])
            high[r] = h
            low[r] = t


@kernel(inner=True)
def _all_zero(numbers: Any) -> bool:
    for r in range(len(numbers)):
        if numbers[r] != 0.0:
            return False
    return True


# --- who can change -------------------------------------------------------------------------------


@kernel(inner=True)
def _bound(focus: Any, level: int, layer: int, n: int, x: float, y: float, off: float) -> None:
    """Between which numbers the neurons of a layer are on the cell."""
    new, room = focus.start[level + 1], focus.room
    width = focus.start[level, layer + 1] - focus.start[level, layer]
    forms, columns, corners = room.forms, room.columns, room.corners
    known, own, base, d = new[layer] - new[0], room.own, room.sums, 2
    wrong = columns[WRONG, 0] * x + columns[WRONG, 1] * y + columns[WRONG, 2]
    for r in range(width):
        own[SLOPE_X, r], own[SLOPE_Y, r], own[OFFSET, r] = base[X, r], base[Y, r], base[W, r]
        own[RADIUS, r] = own[LOWEST, r] = own[HIGHEST, r] = 0.0
        own[SIZE, r] = abs(base[X, r]) * x + abs(base[Y, r]) * y + abs(base[W, r])
    for k in range(known):
        weights, factor, middle = base[d + 1 + k, :width], forms[FACTOR, k], forms[MIDDLE, k]
        _add_form(
            weights,
            factor * forms[SLOPE_X, k],
            factor * forms[SLOPE_Y, k],
            factor * forms[OFFSET, k] + middle,
            own[SLOPE_X],
            own[SLOPE_Y],
            own[OFFSET],
        )
        radius = factor * forms[RADIUS, k] + middle
        _add_sizes(weights, radius, forms[SIZE, k], own[RADIUS], own[SIZE])
        _add_ends(weights, forms[HIGHEST, k], own[LOWEST], own[HIGHEST])
        wrong += columns[WRONG, d + 1 + k] * forms[HIGHEST, k]
    low, high, base_low, base_high = own[LOW], own[HIGH], own[BASE_LOW], own[BASE_HIGH]
    for r in range(width):
        low[r] = base_low[r] = np.inf
        high[r] = base_high[r] = -np.inf
    for p in range(n):
        px, py = corners[X, p], corners[Y, p]
        _stretch(own[SLOPE_X], own[SLOPE_Y], px, py, low, high, width)
        _stretch(base[X], base[Y], px, py, base_low, base_high, width)
    unit = 8.0 * (known + 23) * ROUND
    for r in range(width):
        size = own[SIZE, r] + abs(own[SLOPE_X, r]) * x + abs(own[SLOPE_Y, r]) * y
        slack = unit * (size + abs(own[OFFSET, r])) + 2.0 * wrong + TINY
        # Between the ends of its form, and of the sum of the least and the most of all terms.
        radius = (own[RADIUS, r] + slack) * INFLATE
        wide = radius + (abs(own[SLOPE_X, r]) + abs(own[SLOPE_Y, r])) * off * INFLATE
        least, most = low[r] + own[OFFSET, r] - wide, high[r] + own[OFFSET, r] + wide
        wide = (slack + (abs(base[X, r]) + abs(base[Y, r])) * off) * INFLATE
        low[r] = max(least, base_low[r] + base[W, r] + own[LOWEST, r] - wide)
        high[r] = min(most, base_high[r] + base[W, r] + own[HIGHEST, r] + wide)
        own[RADIUS, r] = radius


@kernel(sums="fused", inner=True)
def _add_form(weights: Any, a: float, b: float, c: float, x: Any, y: Any, w: Any) -> None:
    for r in range(len(weights)):
        x[r] += weights[r] * a
        y[r] += weights[r] * b
        w[r] += weights[r] * c


@kernel(sums="fused", inner=True)
def _add_sizes(weights: Any, radius: float, size: float, radii: Any, sizes: Any) -> None:
    for r in range(len(weights)):
        radii[r] += abs(weights[r]) * radius
        sizes[r] += abs(weights[r]) * size


@kernel(sums="fused", inner=True)
def _add_ends(weights: Any, highest: float, low: Any, high: Any) -> None:
    for r in range(len(weights)):
        low[r] += min(weights[r], 0.0) * highest
        high[r] += max(weights[r], 0.0) * highest


@kernel(sums="fused", inner=True)
def _stretch(a: Any, b: Any, x: float, y: float, low: Any, high: Any, width: int) -> None:
    for r in range(width):
        value = a[r] * x + b[r] * y
        low[r] = min(low[r], value)
        high[r] = max(high[r], value)


@kernel(inner=True)
def _sort(
    lines: Any, focus: Any, level: int, first: int, layer: int, x: float, y: float, most: int
) -> bool:
    """Fix the neurons of a layer that can't change; the others join the new level.

    False if they become more than `most`, there is no room for them, or bounds overflow.
    """
    start, new, room = focus.start[level], focus.start[level + 1], focus.room
    forms, columns, sums, d = room.forms, room.columns, room.sums, lines.dimension
    begin, width, place = start[layer], start[layer + 1] - start[layer], new[layer]
    known = place - new[0]
    n, count = d + 1 + known, 0
    own = room.own
    for r in range(width):
        i, row = begin - start[0] + r, focus.rows[begin + r]
        low, high = own[LOW, r], own[HIGH, r]
        if low > 0.0 or high < 0.0:
            focus.fixed[row - lines.row_start[1]] = low > 0.0
            room.extent[i] = n if low > 0.0 else 0
            if low > 0.0:
                for c in range(n):
                    room.folded[i, c], room.folded_low[i, c] = sums[c, r], room.sums_low[c, r]
                _count_factors(room, i, n)
            continue
        if known + count >= most or place + count >= len(focus.rows):
            return False
        if not (low > -np.inf and high < np.inf):
            return False
        focus.rows[place + count] = row
        room.extent[i] = -(known + count + 1)
        count += 1
    new[layer + 1] = place + count
    at = _next_weights(focus, level + 1, first, layer)
    focus.weights_at[level + 1, layer] = at
    if at + known * count > len(focus.weights):
        return False
    base_error, largest = focus.base_error[level + 1, layer], focus.largest_base[level + 1, layer]
    for c in range(d + 1):
        base_error[c], largest[c] = columns[WRONG, c], 0.0
    wrong = worst = squares = longest = biggest = 0.0
    for k in range(known):
        wrong += columns[WRONG, d + 1 + k] * columns[WRONG, d + 1 + k]
        worst = max(worst, columns[WRONG, d + 1 + k])
    for c in range(n):
        columns[CARRIED, c] = (columns[CARRIED, c] + columns[WRONG, c]) * INFLATE
    for r in range(width):
        extent = room.extent[begin - start[0] + r]
        if extent >= 0:
            continue
        j = -extent - 1 - known
        for c in range(d + 1):
            focus.base[c, place + j], focus.base[d + 1 + c, place + j] = (
                sums[c, r],
                room.sums_low[c, r],
            )
            largest[c] = max(largest[c], abs(sums[c, r]))
        length = 0.0
        for k in range(known):
            w = sums[d + 1 + k, r]
            focus.weights[at + k * count + j] = w
            focus.weights_low[at + k * count + j] = room.sums_low[d + 1 + k, r]
            length += w * w
            biggest = max(biggest, abs(w))
        squares += length
        longest = max(longest, length)
        k = known + j
        for c in (SLOPE_X, SLOPE_Y, OFFSET, RADIUS):
            forms[c, k] = own[c, r]
        forms[SIZE, k] = abs(own[SLOPE_X, r]) * x + abs(own[SLOPE_Y, r]) * y + abs(own[OFFSET, r])
        _relax(forms, k, own[LOW, r], own[HIGH, r])
        columns[SQUARES, d + 1 + k] = columns[LARGEST, d + 1 + k] = 1.0
        columns[CARRIED, d + 1 + k] = 0.0
    focus.weights_error[level + 1, layer] = _length(wrong, worst)
    focus.weights_norm[level + 1, layer] = _length(squares, biggest) * INFLATE
    focus.largest_row[level + 1, layer] = _length(longest, biggest) * INFLATE
    return True


@kernel(inner=True)
def _next_weights(focus: Any, level: int, first: int, layer: int) -> int:
    """Where the weights of a layer begin: behind those of the layers and levels before it."""
    if layer > first + 1:
        before, start = layer - 1, focus.start[level]
    else:
        level -= 1
        start, before = focus.start[level], len(focus.start[level]) - 2
    width = start[before + 1] - start[before]
    return int(focus.weights_at[level, before] + (start[before] - start[0]) * width)
