"""Kernels that follow a tree of cuts or walk from region to region, compiled.

The tree comes as one table with rows of d + 2 numbers, where the last one holds two int32 (they are
read through `links`, a view of the same memory; the columns ``2 d + 2`` and ``2 d + 3``):

- rows 0 and 1: the lowest and the highest coordinates of the domain (infinite ones too);
  the links of row 0 are the number D of rows that follow, and where the tree begins,
- D rows of the domain: the value is positive inside,
- the nodes; links: where a negative and where a positive value leads to.

A link that is negative is a region, ``-1 - region``. One table, because every array that is
handed to a compiled function takes time, which counts when there is one point only.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

#: Answers that are no region.
OUTSIDE, UNSURE = -1, -2

#: Points that go down the tree side by side, so that one's memory access hides another's.
_LANES = 8


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _value(
    table: NDArray[np.float64], row: int, x: NDArray[np.float64]
) -> float:  # pragma: no cover - compiled
    d = len(x)
    value = table[row, d]
    for j in range(d):
        value += table[row, j] * x[j]
    return value


@njit(cache=True, nogil=True, error_model="numpy")
def _inside(
    x: NDArray[np.float64], size: float, table: NDArray[np.float64], count: int
) -> int:  # pragma: no cover - compiled
    """0 if a point is in the domain for sure, else `OUTSIDE` or `UNSURE`."""
    for j in range(len(x)):
        if not (x[j] >= table[0, j] and x[j] <= table[1, j]):
            return UNSURE if np.isnan(x[j]) else OUTSIDE
    answer = 0
    for row in range(2, 2 + count):
        value = _value(table, row, x)
        if value < -size:
            return OUTSIDE
        if not value > size:
            answer = UNSURE
    return answer


@njit(cache=True, nogil=True, error_model="numpy")
def _size(x: NDArray[np.float64]) -> float:  # pragma: no cover - compiled
    """What a value must exceed to have the right sign for sure."""
    size = 1.0
    for j in range(len(x)):
        size = max(size, abs(x[j]))
    return size


@njit(cache=True, nogil=True, error_model="numpy")
def locate_one(
    x: NDArray[np.float64], table: NDArray[np.float64], links: NDArray[np.int32]
) -> int:  # pragma: no cover - compiled
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


@njit(cache=True, nogil=True, error_model="numpy")
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


@njit(cache=True, nogil=True, error_model="numpy")
def predict_one(
    x: NDArray[np.float64],
    table: NDArray[np.float64],
    links: NDArray[np.int32],
    maps: NDArray[np.float64],
    out: NDArray[np.float64],
) -> int:  # pragma: no cover - compiled
    """`locate_one`, and the region's map at the point, if it has been found."""
    region = locate_one(x, table, links)
    if region >= 0:
        evaluate_one(x, maps[region], out)
    return region


@njit(cache=True, nogil=True, error_model="numpy")
def locate_many(
    x: NDArray[np.float64],
    table: NDArray[np.float64],
    links: NDArray[np.int32],
    found: NDArray[np.int64],
) -> None:  # pragma: no cover - compiled
    """`locate_one` for many points, some of them side by side."""
    d = x.shape[1]
    root = links[0, 2 * d + 3]
    node = np.empty(_LANES, np.int64)
    size = np.empty(_LANES, np.float64)
    sure = np.empty(_LANES, np.bool_)
    whole = len(x) - len(x) % _LANES
    for start in range(0, whole, _LANES):
        for k in range(_LANES):
            node[k] = root
            size[k] = _size(x[start + k])
            sure[k] = True
        live = _LANES if root >= 0 else 0
        while live > 0:
            live = 0
            for k in range(_LANES):
                row = node[k]
                if row >= 0:
                    value = table[row, d]
                    for j in range(d):
                        value += table[row, j] * x[start + k, j]
                    sure[k] &= abs(value) > size[k]
                    row = links[row, 2 * d + 2 + (1 if value > 0.0 else 0)]
                    node[k] = row
                    live += 1 if row >= 0 else 0
        for k in range(_LANES):
            answer = _inside(x[start + k], size[k], table, links[0, 2 * d + 2])
            if answer == 0 and not sure[k]:
                answer = UNSURE
            found[start + k] = -1 - node[k] if answer == 0 else answer
    for i in range(whole, len(x)):
        found[i] = locate_one(x[i], table, links)


@njit(cache=True, nogil=True, error_model="numpy")
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


@njit(cache=True, nogil=True, error_model="numpy")
def _walk(
    x: NDArray[np.float64],
    facets: NDArray[np.float64],
    behind: NDArray[np.int32],
    starts: NDArray[np.int64],
    region: int,
    steps: int,
) -> int:  # pragma: no cover - compiled
    """Go from a region to a point, always through the facet that is violated most.

    Parameters
    ----------
    facets : ndarray, shape (facets, d + 1)
        Rows like those of the tree; values are positive inside the facet's region.
    behind : ndarray of int32, shape (facets,)
        The region on the other side, or -1.
    starts : ndarray, shape (regions + 1,)
        The facets of each region.

    Returns
    -------
    int
        The region, or `UNSURE` after so many steps, at a boundary, or where nothing is behind.
    """
    size = _size(x)
    for _ in range(steps + 1):
        worst, lowest = -1, np.inf
        for facet in range(starts[region], starts[region + 1]):
            value = _value(facets, facet, x)
            if not value >= lowest:
                lowest, worst = value, facet
        if lowest > size:
            return region
        if not lowest < -size or behind[worst] < 0:
            return UNSURE
        region = behind[worst]
    return UNSURE


@njit(cache=True, nogil=True, error_model="numpy")
def follow(
    x: NDArray[np.float64],
    table: NDArray[np.float64],
    links: NDArray[np.int32],
    facets: NDArray[np.float64],
    behind: NDArray[np.int32],
    starts: NDArray[np.int64],
    maps: NDArray[np.float64],
    last: int,
    steps: int,
    found: NDArray[np.int64],
    out: NDArray[np.float64],
) -> int:  # pragma: no cover - compiled
    """Regions and values of points that come as a path; the number of points that were walked to.

    Each search begins in the region of the point before; where walking gives up, the tree is asked.
    """
    walked = 0
    for i in range(len(x)):
        region = _walk(x[i], facets, behind, starts, last, steps) if last >= 0 else UNSURE
        if region >= 0:
            walked += 1
        else:
            region = locate_one(x[i], table, links)
        if region >= 0:
            last = region
            evaluate_one(x[i], maps[region], out[i])
        found[i] = region
    return walked
