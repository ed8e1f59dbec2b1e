"""Values that are shaded as they are: linear on every region, so neither sampled nor stepped."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell._runtime.interruption import check
from tropicell.errors import require
from tropicell.regions.columns import Ragged

#: Of the range of all values, the most that one triangle may span: colours are mixed in between.
_SPAN = 1 / 12

#: Shaded triangles that a vector graphic may have.
_MANY = 5_000


def triangles_of(polygons: Ragged) -> NDArray[np.int64]:
    """Convex polygons as fans of triangles, by the numbers of their corners.

    Examples
    --------
    >>> triangles_of(Ragged.from_counts(np.zeros((7, 2)), np.array([3, 4]))).tolist()
    [[0, 1, 2], [3, 4, 5], [3, 5, 6]]
    """
    counts = np.maximum(polygons.counts - 2, 0)
    starts = np.repeat(polygons.ends - polygons.counts, counts)
    step = np.arange(len(starts)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.column_stack([starts, starts + step + 1, starts + step + 2])


def divided(corners: FloatArray, parts: int) -> FloatArray:
    """Triangles, shape (triangles, 3, columns), each cut into ``parts ** 2`` of the same shape.

    Examples
    --------
    >>> divided(np.array([[[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]]]), 2).tolist()[0]
    [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    """
    weights = []
    for i in range(parts):
        for j in range(parts - i):
            weights.append([(i, j), (i + 1, j), (i, j + 1)])
            if i + j + 1 < parts:
                weights.append([(i + 1, j), (i + 1, j + 1), (i, j + 1)])
    ab = np.array(weights) / parts
    mixed = np.concatenate([1 - ab.sum(axis=2, keepdims=True), ab], axis=2)
    cut = np.einsum("pcw,twk->tpck", mixed, corners)
    return np.asarray(cut.reshape(-1, 3, corners.shape[2]))


def shaded(polygons: Ragged, values: FloatArray, **options: Any) -> Any:
    """A collection of matplotlib that shows a value for each corner, and in between linearly.

    Parameters
    ----------
    polygons : Ragged
        Corners of convex polygons, in order.
    values : ndarray
        A number for each corner; triangles with one that is not finite are left out.
    **options
        Of the collection, such as ``cmap``.
    """
    collections: Any = require("matplotlib.collections", extra="plot", why="drawing regions")
    tri: Any = require("matplotlib.tri", extra="plot", why="drawing regions")
    rows = triangles_of(polygons)
    corners = np.concatenate([polygons.values[rows], values[rows][:, :, None]], axis=2)
    corners = corners[np.isfinite(corners).all(axis=(1, 2))]
    spread = np.ptp(corners[:, :, 2], axis=1) if len(corners) else np.empty(0)
    total = float(np.ptp(corners[:, :, 2])) if len(corners) else 0.0
    parts = np.ones(len(corners), dtype=np.int64)
    if total > 0:
        parts = np.maximum(1, np.ceil(spread / (_SPAN * total) - 1e-9).astype(np.int64))
    small = []
    for count in np.unique(parts).tolist():
        check()
        small.append(divided(corners[parts == count], count))
    points = np.concatenate([np.empty((0, 3, 3)), *small]).reshape(-1, 3)
    if not len(points):  # nothing that could be shown
        points = np.zeros((3, 3))
    grid = tri.Triangulation(points[:, 0], points[:, 1], np.arange(len(points)).reshape(-1, 3))
    # A file of vectors with very many shaded triangles is of no use to anybody.
    many = len(points) > 3 * _MANY
    return collections.TriMesh(grid, array=points[:, 2], rasterized=many, **options)
