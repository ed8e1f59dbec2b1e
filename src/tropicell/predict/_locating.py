"""Kernels that follow a tree of cuts or walk from region to region, compiled.

The tree comes as one table with rows of d + 2 numbers, where the last one holds two int32 (they are
read through `links`, a view of the same memory; the columns ``2 d + 2`` and ``2 d + 3``):

- rows 0 and 1: the lowest and the highest coordinates of the domain (finite ones always); the
  next number of row 0 is the size of points up to which no value overflows; the
  links of row 0 are the number D of rows that follow, and where the tree begins,
- D rows of the domain: the value is positive inside,
- the nodes; links: where a negative and where a positive value leads to.

A link that is negative is a region, ``-1 - region``. One table, because every array that is
handed to a compiled function takes time, which counts when there is one point only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.jit import kernel

#: Answers that are no region; the last one for points that are not finite.
OUTSIDE, UNSURE, NOWHERE = -1, -2, -3

#: Points that go down the tree side by side, so that one's memory access hides another's.
LANES = 8


@kernel(sums="fused", inlined=True)
def _value(
    table: NDArray[np.float64], row: int, x: NDArray[np.float64]
) -> Any:  # pragma: no cover - compiled
    d = len(x)
    value = table[row, d]
    for j in range(d):
        value += table[row, j] * x[j]
    return value


@kernel(sums="fused", inlined=True)
def _inside(
    x: NDArray[np.float64], size: float, table: NDArray[np.float64], count: int
) -> int:  # pragma: no cover - compiled
    """0 if a point is in the domain for sure, else `OUTSIDE`, `UNSURE` or `NOWHERE`."""
    answer = 0
    for j in range(len(x)):
        if not (x[j] >= table[0, j] and x[j] <= table[1, j]):
            if not np.isfinite(x[j]):
                return NOWHERE
            answer = OUTSIDE
    if answer != 0:
        return answer
    if size > table[0, len(x)]:
        return UNSURE
    for row in range(2, 2 + count):
        value = _value(table, row, x)
        if value < -size:
            return OUTSIDE
        if not value > size:
            answer = UNSURE
    return answer


@kernel(sums="fused", inlined=True)
def _size(x: NDArray[np.float64]) -> float:  # pragma: no cover - compiled
    """What a value must exceed to have the right sign for sure."""
    size = 1.0
    for j in range(len(x)):
        size = max(size, abs(x[j]))
    return size


@kernel(sums="fused", inlined=True)
def locate_one(
    x: NDArray[np.float64], table: NDArray[np.float64], links: NDArray[np.int32]
) -> Any:  # pragma: no cover - compiled
    """The region of a point, or `OUTSIDE`, or `UNSURE`."""
    d = len(x)
    size = _size(x)
    answer = _inside(x, size, table, links[0, 2 * d + 2])
    if answer != 0:
        return answer
    node = links[0, 2 * d + 3]
    while node >= 0:
        value = _value(table, node, x)
        if not abs(value) > size:
            return UNSURE
        node = links[node, 2 * d + 2 + (1 if value > 0.0 else 0)]
    return -1 - node


@kernel(sums="fused", inlined=True)
def evaluate_one(
    x: NDArray[np.float64], matrix: NDArray[np.float64], out: NDArray[np.float64]
) -> None:  # pragma: no cover - compiled
    """An affine map (offset in the last column) at a point."""
    d = len(x)
    for i in range(len(out)):
        value = matrix[i, d]
        for j in range(d):
            value += matrix[i, j] * x[j]
        out[i] = value


@kernel(sums="fused")
def predict_one(
    x: NDArray[np.float64],
    table: NDArray[np.float64],
    links: NDArray[np.int32],
    maps: NDArray[np.float64],
    out: NDArray[np.float64],
) -> Any:  # pragma: no cover - compiled
    """`locate_one`, and the region's map at the point, if it has been found."""
    region = locate_one(x, table, links)
    if region >= 0:
        evaluate_one(x, maps[region], out)
    return region


@kernel(sums="fused")
def locate_many(
    x: NDArray[np.float64],
    table: NDArray[np.float64],
    links: NDArray[np.int32],
    node: NDArray[np.int64],
    size: NDArray[np.float64],
    sure: NDArray[np.bool_],
    found: NDArray[np.int64],
) -> None:  # pragma: no cover - compiled
    """`locate_one` for many points, some of them side by side.

    `node`, `size` and `sure` are room for the `LANES` points that are under way.
    """
    d = x.shape[1]
    root = links[0, 2 * d + 3]
    whole = len(x) - len(x) % LANES
    for start in range(0, whole, LANES):
        for k in range(LANES):
            node[k] = root
            size[k] = _size(x[start + k])
            sure[k] = True
        live = LANES if root >= 0 else 0
        while live > 0:
            live = 0
            for k in range(LANES):
                row = node[k]
                if row >= 0:
                    value = table[row, d]
                    for j in range(d):
                        value += table[row, j] * x[start + k, j]
                    sure[k] &= abs(value) > size[k]
                    row = links[row, 2 * d + 2 + (1 if value > 0.0 else 0)]
                    node[k] = row
                    live += 1 if row >= 0 else 0
        for k in range(LANES):
            answer = _inside(x[start + k], size[k], table, links[0, 2 * d + 2])
            if answer == 0 and not sure[k]:
                answer = UNSURE
            found[start + k] = -1 - node[k] if answer == 0 else answer
    for i in range(whole, len(x)):
        found[i] = locate_one(x[i], table, links)


@kernel(sums="fused")
def evaluate_many(
    x: NDArray[np.float64],
    maps: NDArray[np.float64],
    found: NDArray[np.int64],
    out: NDArray[np.float64],
) -> None:  # pragma: no cover - compiled
    """The map of each point's region, where it has been found."""
    for i in range(len(x)):
        if found[i] >= 0:
            evaluate_one(x[i], maps[found[i]], out[i])


@kernel(sums="fused", inlined=True)
def _walk(
    x: NDArray[np.float64],
    table: NDArray[np.float64],
    links: NDArray[np.int32],
    sides: NDArray[np.int32],
    ends: NDArray[np.int64],
    region: int,
    steps: int,
) -> int:  # pragma: no cover - compiled
    """Go from a region to a point, always through the side that is violated most.

    Parameters
    ----------
    sides : ndarray of int32, shape (sides, 2)
        For every side of a region: twice its row in the table, plus 1 if the region is where values
        are positive; and the region behind it, or -1.
    ends : ndarray, shape (regions,)
        Where the sides of each region end.

    Returns
    -------
    int
        The region, or `OUTSIDE`, or `UNSURE` after so many steps, at a boundary, or where no region
        is known behind.
    """
    size = _size(x)
    answer = _inside(x, size, table, links[0, 2 * len(x) + 2])
    if answer != 0:
        return answer
    for _ in range(steps + 1):
        worst, lowest = -1, np.inf
        for side in range(ends[region - 1] if region else 0, ends[region]):
            value = _value(table, sides[side, 0] >> 1, x)
            if not sides[side, 0] & 1:
                value = -value
            if not value >= lowest:
                lowest, worst = value, side
        if lowest > size:
            return region
        if not lowest < -size or sides[worst, 1] < 0:
            return UNSURE
        region = sides[worst, 1]
    return UNSURE


@kernel(sums="fused", inlined=True)
def follow_one(
    x: NDArray[np.float64],
    table: NDArray[np.float64],
    links: NDArray[np.int32],
    sides: NDArray[np.int32],
    ends: NDArray[np.int64],
    maps: NDArray[np.float64],
    state: NDArray[np.int64],
    steps: int,
    out: NDArray[np.float64],
) -> int:  # pragma: no cover - compiled
    """`predict_one` for the next point of a path.

    `state` is the last region (or -1), and the numbers of points that were found by walking and
    that the tree was asked for.
    """
    region = UNSURE
    if state[0] >= 0:
        region = _walk(x, table, links, sides, ends, state[0], steps)
    if region == UNSURE:
        region = locate_one(x, table, links)
        state[2] += 1
    else:
        state[1] += 1
    if region >= 0:
        state[0] = region
        evaluate_one(x, maps[region], out)
    return region


@kernel(sums="fused")
def follow_many(
    x: NDArray[np.float64],
    table: NDArray[np.float64],
    links: NDArray[np.int32],
    sides: NDArray[np.int32],
    ends: NDArray[np.int64],
    maps: NDArray[np.float64],
    state: NDArray[np.int64],
    steps: int,
    found: NDArray[np.int64],
    out: NDArray[np.float64],
) -> None:  # pragma: no cover - compiled
    """`follow_one` for all points of a path, one after the other."""
    for i in range(len(x)):
        found[i] = follow_one(x[i], table, links, sides, ends, maps, state, steps, out[i])
