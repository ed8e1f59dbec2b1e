"""Rows of all neurons of a layer, as maps of the coordinates, 1, and the neurons in a focus.

`tropicell.engines.cells.focus` goes through a whole network with them. In a convolutional network a
neuron reads few of those in the focus, so the numbers that are not 0 are listed. All numbers have
two halves, and are summed with anchors: step 9 of docs/error-bound.md.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.jit import fma, kernel
from tropicell.geometry._double import exact_sum
from tropicell.geometry.rounding import INFLATE, ROUND

#: What the output of a neuron is: 0, its row, or, from 0 on, the column with this number.
OFF, ROW = -2, -1


class SparseRows(NamedTuple):
    """Rows of a layer, or its outputs.

    Attributes
    ----------
    kind : ndarray, shape (n,)
        What the outputs are: `OFF`, `ROW`, or numbers of columns.
    base, base_low : ndarray, shape (n, d + 1)
        Slopes and offsets, and second halves.
    begin, end : ndarray, shape (n,)
        Where the weights of a row are in the other arrays.
    columns, high, low : ndarray
        For which neuron in the focus a weight is, in increasing order; the weight, and its second
        half. A row with as many weights as columns from its first to its last one has them all.
    """

    kind: NDArray[np.int64]
    base: NDArray[np.float64]
    base_low: NDArray[np.float64]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    columns: NDArray[np.int32]
    high: NDArray[np.float64]
    low: NDArray[np.float64]


class SumRoom(NamedTuple):
    """Scratch: a row's weights so far (for filters, those of all filters), and which there are.

    ``anchors[c]`` is where the sums of column c begin, those of the base first.
    """

    anchors: NDArray[np.float64]
    high: NDArray[np.float64]
    low: NDArray[np.float64]
    known: NDArray[np.bool_]


@kernel
def add_terms(
    matrix: Any, read: Any, old: Any, new: Any, room: Any, at: int, first: int, last: int
) -> tuple[int, int]:
    """Add a matrix times outputs to rows with anchors.

    Parameters
    ----------
    matrix : tuple of ndarray
        A sparse matrix: where its rows begin, columns, numbers.
    read : SparseRows
        The outputs.
    old, new : SparseRows
        The rows before, and after that. They share the bases.
    room : SumRoom
        ``high`` and ``low`` have one row: anchors, and 0.
    at : int
        The used part of the weights of `new`.
    first, last : int
        Only rows first … last - 1.

    Returns
    -------
    tuple of int
        The row that comes next, for which there is no room if it is not `last`; and the used part.
    """
    ends, columns, numbers = matrix
    d, width = read.base.shape[1] - 1, room.high.shape[1]
    anchors, total, rest, known = room.anchors[d + 1 :], room.high[0], room.low[0], room.known
    for i in range(first, last):
        if at + width > len(new.columns):
            return i, at
        least, most = width, -1
        for e in range(old.begin[i], old.end[i]):
            c = old.columns[e]
            total[c], rest[c], known[c] = old.high[e], old.low[e], True
            least, most = min(least, c), max(most, c)
        base, base_low = new.base[i], new.base_low[i]
        for k in range(ends[i], ends[i + 1]):
            weight, j = numbers[k], columns[k]
            kind = read.kind[j]
            if kind == OFF:
                continue
            if kind >= 0:
                total[kind], rest[kind] = _plus(weight, 1.0, 0.0, total[kind], rest[kind])
                known[kind] = True
                least, most = min(least, kind), max(most, kind)
                continue
            _add_row(weight, read.base[j], read.base_low[j], base, base_low)
            begin, end = read.begin[j], read.end[j]
            if begin == end:
                continue
            one, other = read.columns[begin], read.columns[end - 1] + 1
            least, most = min(least, one), max(most, other - 1)
            if other - one == end - begin:
                high, low = read.high[begin:end], read.low[begin:end]
                _add_row(weight, high, low, total[one:other], rest[one:other])
                for c in range(one, other):
                    known[c] = True
            else:
                for e in range(begin, end):
                    c = read.columns[e]
                    total[c], rest[c] = _plus(weight, read.high[e], read.low[e], total[c], rest[c])
                    known[c] = True
        new.begin[i] = at
        every = _nearly_all(known, least, most)
        for c in range(least, most + 1):
            if known[c] or every:
                new.columns[at], new.high[at], new.low[at] = c, total[c], rest[c]
                at += 1
                total[c], rest[c], known[c] = anchors[c], 0.0, False
        new.end[i] = at
    return last, at


@kernel(inner=True)
def _nearly_all(known: Any, least: int, most: int) -> bool:
    """Whether it pays to list all columns, for they are added faster."""
    count = 0
    for c in range(least, most + 1):
        count += known[c]
    return 2 * count >= most + 1 - least


@kernel(inner=True, inlined=True)
def _plus(weight: float, f: float, g: float, a: float, low: float) -> tuple[float, float]:
    """Add weight * (f + g) to a sum of two halves, with an anchor."""
    b = fma(weight, f, a)
    return b, low + fma(weight, g, fma(weight, f, a - b))


@kernel(inner=True)
def _add_row(weight: float, high: Any, low: Any, out: Any, out_low: Any) -> None:
    for c in range(len(out)):
        f, a = high[c], out[c]
        b = fma(weight, f, a)
        out_low[c] += fma(weight, low[c], fma(weight, f, a - b))
        out[c] = b


@kernel
def add_filters(
    filters: Any, read: Any, old: Any, new: Any, room: Any, at: int, first: int, last: int
) -> tuple[int, int]:
    """The same for a convolution, and places first … last - 1.

    Parameters
    ----------
    filters : tuple of ndarray
        Which position each tap sees from each place (places, taps), -1 for none; and the numbers
        of the taps (taps, channels, filters).
    read, old, new, at, first, last
        See `add_terms`.
    room : SumRoom
        ``high`` and ``low`` have a row for each column, of the base as well, with a number for each
        filter; whatever these are.
    """
    sources, numbers = filters
    places, taps = sources.shape
    channels, count = numbers.shape[1], numbers.shape[2]
    positions, d, width = len(read.kind) // channels, read.base.shape[1] - 1, len(room.high)
    total, rest, known = room.high, room.low, room.known
    for place in range(first, last):
        if at + count * width > len(new.columns):
            return place, at
        for f in range(count):
            row = f * places + place
            for c in range(d + 1):
                total[c, f], rest[c, f] = new.base[row, c], new.base_low[row, c]
            for e in range(old.begin[row], old.end[row]):
                c = d + 1 + old.columns[e]
                _touch(room, c)
                total[c, f], rest[c, f] = old.high[e], old.low[e]
        for tap in range(taps):
            position = sources[place, tap]
            if position < 0:
                continue
            for channel in range(channels):
                j = channel * positions + position
                kind = read.kind[j]
                if kind == OFF:
                    continue
                weights = numbers[tap, channel]
                if kind >= 0:
                    c = d + 1 + kind
                    _touch(room, c)
                    _add_all(weights, 1.0, 0.0, total[c], rest[c])
                    continue
                for c in range(d + 1):
                    _add_all(weights, read.base[j, c], read.base_low[j, c], total[c], rest[c])
                for e in range(read.begin[j], read.end[j]):
                    c = d + 1 + read.columns[e]
                    _touch(room, c)
                    _add_all(weights, read.high[e], read.low[e], total[c], rest[c])
        for f in range(count):
            row = f * places + place
            for c in range(d + 1):
                new.base[row, c], new.base_low[row, c] = total[c, f], rest[c, f]
            new.begin[row] = at
            for c in range(d + 1, width):
                if known[c - d - 1]:
                    new.columns[at] = c - d - 1
                    new.high[at], new.low[at] = total[c, f], rest[c, f]
                    at += 1
            new.end[row] = at
        for c in range(width - d - 1):
            known[c] = False
    return last, at


@kernel(inner=True)
def _touch(room: Any, c: int) -> None:
    """Begin the sums of a column for all filters, unless they have begun."""
    k = c - (len(room.high) - len(room.known))
    if not room.known[k]:
        room.known[k] = True
        high, low, anchor = room.high[c], room.low[c], room.anchors[c]
        for f in range(len(high)):
            high[f] = anchor
            low[f] = 0.0


@kernel(inner=True)
def _add_all(weights: Any, factor: float, rest: float, out: Any, low: Any) -> None:
    """The same factor times the weights of all filters."""
    for f in range(len(out)):
        w, a = weights[f], out[f]
        b = fma(w, factor, a)
        low[f] += fma(w, rest, fma(w, factor, a - b))
        out[f] = b


@kernel
def settle(anchors: Any, rows: Any) -> None:
    """Take the anchors of the columns off, and make two halves of each number."""
    d = rows.base.shape[1] - 1
    for i in range(len(rows.kind)):
        base, low = rows.base[i], rows.base_low[i]
        for c in range(d + 1):
            base[c], low[c] = exact_sum(base[c] - anchors[c], low[c])
        for e in range(rows.begin[i], rows.end[i]):
            high = rows.high[e] - anchors[d + 1 + rows.columns[e]]
            rows.high[e], rows.low[e] = exact_sum(high, rows.low[e])


@kernel
def add_squares(rows: Any, squares: Any, largest: Any) -> int:
    """Sum the squares of each column of outputs, find the largest; returns how many are not 0."""
    d, alive = rows.base.shape[1] - 1, 0
    for i in range(len(rows.kind)):
        kind = rows.kind[i]
        if kind == OFF:
            continue
        alive += 1
        if kind >= 0:
            squares[d + 1 + kind] += 1.0
            largest[d + 1 + kind] = max(largest[d + 1 + kind], 1.0)
            continue
        for c in range(d + 1):
            value = rows.base[i, c]
            squares[c] += value * value
            largest[c] = max(largest[c], abs(value))
        for e in range(rows.begin[i], rows.end[i]):
            c, value = d + 1 + rows.columns[e], rows.high[e]
            squares[c] += value * value
            largest[c] = max(largest[c], abs(value))
    return alive


@kernel
def bound(
    rows: Any, corners: Any, x: Any, off: float, outputs: Any, wrong: float, low: Any, high: Any
) -> None:
    """Between which numbers neurons are, by what the outputs in the focus can be.

    Parameters
    ----------
    rows : SparseRows
    corners : ndarray, shape (corners, d)
        Corners of a polytope.
    x : ndarray, shape (d + 1,)
        Bounds on its coordinates; 1.
    off : float
        What coordinates of corners may be off by.
    outputs : ndarray, shape (2, columns)
        Least and largest outputs, none negative.
    wrong : float
        What the errors of the rows can make.
    low, high : ndarray
        The result.
    """
    d = rows.base.shape[1] - 1
    for i in range(len(rows.kind)):
        base, size, wide = rows.base[i], 0.0, 0.0
        for c in range(d + 1):
            size += abs(base[c]) * x[c]
        for c in range(d):
            wide += abs(base[c]) * off
        least, most = np.inf, -np.inf
        for p in range(len(corners)):
            value = base[d]
            for c in range(d):
                value += base[c] * corners[p, c]
            least, most = min(least, value), max(most, value)
        for e in range(rows.begin[i], rows.end[i]):
            w, k = rows.high[e], rows.columns[e]
            size += abs(w) * outputs[1, k]
            least += w * outputs[0 if w > 0.0 else 1, k]
            most += w * outputs[1 if w > 0.0 else 0, k]
        n = rows.end[i] - rows.begin[i] + 23
        wide = (wide + 8.0 * n * ROUND * size + wrong) * INFLATE
        low[i], high[i] = least - wide, most + wide
