"""Edges between regions with the layers that they come from, and level sets of affine forms."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell.network.network import Network
from tropicell.plotting.frame import ON_LINE, polygons_in
from tropicell.regions.regions import Regions

#: Polygons that are looked at together.
_BATCH = 10_000


def boundary_edges(
    regions: Regions, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, NDArray[np.int64]]:
    """The edges between regions in a frame, each once, and the layer that bends there.

    Returns
    -------
    segments : ndarray, shape (edges, 2, 2)
    layers : ndarray
        1 … L.
    """
    polygons, rows = polygons_in(regions, low, high)
    segments, layers = [np.empty((0, 2, 2))], [np.empty(0, dtype=np.int64)]
    for start in range(0, len(polygons), _BATCH):
        part = polygons[start : start + _BATCH]
        before = pre_activations(regions.network, np.concatenate(part))
        ends = np.cumsum([len(polygon) for polygon in part])
        for polygon, z, row in zip(
            part, np.split(before, ends[:-1]), rows[start : start + _BATCH], strict=True
        ):
            found, layer = _edges_of(regions, int(row), polygon, z)
            segments.append(found)
            layers.append(layer)
    return _once(np.concatenate(segments), np.concatenate(layers), float((high - low).max()))


def pre_activations(network: Network, points: FloatArray) -> FloatArray:
    """What every neuron gets before its activation at points, shape (points, neurons)."""
    values = [points if network.float_embedding is None else network.float_embedding(points)]
    parts = [np.empty((len(points), 0))]
    for layer in network.layers:
        parts.append(layer.affine(values))
        values.append(layer.activation(parts[-1]))
    return np.concatenate(parts, axis=1)


def _edges_of(
    regions: Regions, row: int, polygon: FloatArray, before: FloatArray
) -> tuple[FloatArray, NDArray[np.int64]]:
    """Edges of a polygon that lie on a neuron's boundary: both ends are at its breakpoint."""
    lines = regions.lines
    numbers = np.sort(regions.facet_lines[row].astype(np.int64))
    numbers = numbers[numbers >= lines.first] - lines.first
    layer, index = lines.layer[numbers], lines.index[numbers]
    thresholds = [
        regions.network.layers[k - 1].activation.breakpoints[n, t]
        for k, n, t in zip(layer, index, lines.breakpoint[numbers], strict=True)
    ]
    away = np.abs(before[:, lines.neuron[numbers]] - np.array(thresholds))
    away /= np.maximum(away.max(axis=0), 1e-300)
    both = np.maximum(away, np.roll(away, -1, axis=0))
    if not both.size:
        return np.empty((0, 2, 2)), np.empty(0, dtype=np.int64)
    closest = both.argmin(axis=1)
    on_line = both[np.arange(len(both)), closest] < 1e-6
    edges = np.stack([polygon, np.roll(polygon, -1, axis=0)], axis=1)
    return edges[on_line], layer[closest[on_line]].astype(np.int64)


def _once(
    segments: FloatArray, layers: NDArray[np.int64], size: float
) -> tuple[FloatArray, NDArray[np.int64]]:
    """Every edge is found from both sides: keep one, the earlier layer's if they differ."""
    order = np.argsort(layers, kind="stable")
    segments, layers = segments[order], layers[order]
    middles = np.round(segments.mean(axis=1) / (size * ON_LINE))
    first = np.sort(np.unique(middles, axis=0, return_index=True)[1])
    return segments[first], layers[first]


def level_segments(polygons: list[FloatArray], forms: FloatArray) -> list[FloatArray]:
    """Where an affine form of each convex polygon (coefficients, then the offset) is 0.

    Examples
    --------
    >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> level_segments([square], np.array([[2.0, 0.0, -1.0]]))[0].tolist()
    [[0.5, 0.0], [0.5, 1.0]]
    """
    segments: list[FloatArray] = []
    edges: set[bytes] = set()
    size = max((float(np.abs(polygon).max()) for polygon in polygons), default=1.0)
    for polygon, form in zip(polygons, forms, strict=True):
        values = polygon @ form[:-1] + form[-1]
        values[np.abs(values) <= 1e-12 * np.abs(values).max()] = 0.0
        crosses = (values > 0).any() and (values < 0).any()
        if not values.any() or not (crosses or (values == 0).sum() >= 2):
            continue
        following, after = np.roll(polygon, -1, axis=0), np.roll(values, -1)
        crossed = values * after < 0
        share = values[crossed] / (values[crossed] - after[crossed])
        ends = polygon[crossed] + share[:, None] * (following - polygon)[crossed]
        ends = np.concatenate([ends, polygon[values == 0]])
        if len(ends) >= 2:
            segment = ends[np.lexsort(ends.T[::-1])][[0, -1]]
            # An edge on which the form is 0 may belong to two polygons.
            key = (np.round(segment / (ON_LINE * size)) + 0.0).tobytes()
            if crosses or key not in edges:
                segments.append(segment)
                edges.add(key)
    return segments
