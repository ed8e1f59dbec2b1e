"""Lengths, areas and centroids of many regions, compiled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.jit import kernel


@kernel(allocates=True)
def _is_bounded(
    corners: NDArray[np.float64], first: int, last: int
) -> bool:  # pragma: no cover - compiled
    """Whether there are enough corners, and none of them is a ray."""
    d = corners.shape[1] - 1
    bounded = last - first > d
    for i in range(first, last):
        bounded = bounded and corners[i, d] != 0.0
    return bool(bounded)


@kernel(allocates=True)
def segments(
    corners: NDArray[np.float64],
    ends: NDArray[np.int64],
    begin: int,
    end: int,
    sizes: NDArray[np.float64],
    centroids: NDArray[np.float64],
) -> None:  # pragma: no cover - compiled
    """Lengths and middles of the bounded regions from `begin` to `end`."""
    for region in range(begin, end):
        first, last = ends[region - 1] if region else 0, ends[region]
        if _is_bounded(corners, first, last):
            low, high = corners[first, 0], corners[first, 0]
            for i in range(first + 1, last):
                low, high = min(low, corners[i, 0]), max(high, corners[i, 0])
            sizes[region], centroids[region, 0] = high - low, low + (high - low) / 2


@kernel(allocates=True)
def polygons(
    corners: NDArray[np.float64],
    ends: NDArray[np.int64],
    begin: int,
    end: int,
    sizes: NDArray[np.float64],
    centroids: NDArray[np.float64],
) -> None:  # pragma: no cover - compiled
    """Areas and centroids of the bounded regions from `begin` to `end`.

    Shoelace formula relative to the first corner, which keeps it exact for tiny polygons.
    """
    for region in range(begin, end):
        first, last = ends[region - 1] if region else 0, ends[region]
        if not _is_bounded(corners, first, last):
            continue
        x, y = corners[first, 0], corners[first, 1]
        area, cx, cy, mx, my = 0.0, 0.0, 0.0, 0.0, 0.0
        for i in range(first, last):
            j = i + 1 if i + 1 < last else first
            ax, ay = corners[i, 0] - x, corners[i, 1] - y
            bx, by = corners[j, 0] - x, corners[j, 1] - y
            cross = ax * by - ay * bx
            area += cross / 2
            cx, cy = cx + (ax + bx) * cross, cy + (ay + by) * cross
            mx, my = mx + ax, my + ay
        if area == 0.0:
            cx, cy = mx / (last - first), my / (last - first)
        else:
            cx, cy = cx / (6 * area), cy / (6 * area)
        sizes[region] = abs(area)
        centroids[region, 0], centroids[region, 1] = x + cx, y + cy
