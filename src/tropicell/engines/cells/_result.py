"""Regions of the cells engine as columns."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import zip_longest

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from tropicell.engines.cells._exact_cells import Cone, ExactCell, Vector, cut, polygon
from tropicell.engines.cells._state import CellBatch
from tropicell.engines.cells._volume import polytope_volume
from tropicell.geometry.arithmetic import FAR, nearest_float
from tropicell.geometry.generators import volume
from tropicell.network.flat import FlatNetwork
from tropicell.regions.columns import Columns, PackedPatterns


def columns_of(
    batch: CellBatch,
    begin: Sequence[int],
    end: Sequence[int],
    form: tuple[int, int],
    volumes: bool,
    shared: bool,
    in_place: bool = False,
) -> Columns:
    """Some regions of a batch, which are not copied.

    Parameters
    ----------
    batch : CellBatch
    begin, end : sequence of int
        How many regions, corners, facets and points come before them, and with them.
    form : tuple of int
        Neurons, and bits for each.
    volumes : bool
        False: they are left to be worked out when they are asked for.
    shared : bool
        Whether corners may be places among points.
    in_place : bool
        Whether these count from the first point of all: see `tropicell.engines.column_store.Place`.
    """
    rows, corners, facets, some = map(slice, begin, end)
    vertices, places = batch.vertices[corners], None
    points: NDArray[np.float64] | None = None
    if batch.witnesses.shape[1] != 2:
        points, places = batch.vertices[some], batch.places[corners]
        if begin[3] and not in_place:
            places = places - np.int32(begin[3])
        if not shared:
            vertices, points, places = points.take(places, axis=0), None, None
    return Columns(
        PackedPatterns(batch.words[rows], *form),
        batch.witnesses[rows],
        batch.bounded[rows],
        batch.volumes[rows] if volumes else None,
        vertices if points is None else None,
        batch.vertex_counts[rows],
        batch.lines[facets],
        batch.facet_counts[rows],
        points,
        places,
    )


def exact_columns(
    flat: FlatNetwork, cells: Sequence[ExactCell], bits: int, *, volumes: bool
) -> tuple[Columns, int]:
    """Regions that were finished in exact arithmetic, and how many witnesses are not inside."""
    d = flat.dimension
    vertices: list[list[float]] = []
    vertex_counts, facet_lines, facet_counts = [], [], []
    witnesses, sizes, bounded, outside = [], [], [], 0
    for cell in cells:
        cone = cell.cone
        tight = cone.tight
        rays = cone.rays
        names = cone.labels
        if d == 2 and cone.pointed:
            order = polygon(cone)
            names = [cone.labels[f] for f in order]
            corners = [1 << f | 1 << order[i - 1] for i, f in enumerate(order)]
            by_corner = dict(zip(tight, rays, strict=True))
            rays, tight = [by_corner[corner] for corner in corners], corners
        lines = [*cone.lineality, *(tuple(-x for x in line) for line in cone.lineality)]
        points = [_to_floats(ray) for ray in [*rays, *lines]]
        closed = all(ray[-1] > 0 for ray in rays) and not lines
        vertices += points
        vertex_counts.append(len(points))
        boundaries = [abs(name) - 1 for name in names if abs(name) != 1]  # without infinity
        facet_lines += boundaries
        facet_counts.append(len(boundaries))
        witnesses.append(_witness(cone, d))
        outside += not _is_inside(cone, witnesses[-1])
        bounded.append(closed)
        if volumes:
            sizes.append(_volume(cone, points, tight) if closed else np.inf)
    patterns = np.frombuffer(b"".join(cell.pattern for cell in cells), np.uint8)
    columns = Columns(
        PackedPatterns.pack(patterns.reshape(len(cells), flat.neurons), bits),
        np.array(witnesses).reshape(-1, d),
        np.array(bounded, np.bool_),
        np.array(sizes) if volumes else None,
        np.array(vertices).reshape(-1, d + 1),
        np.array(vertex_counts, np.int64),
        np.array(facet_lines, np.int32),
        np.array(facet_counts, np.int64),
    )
    return columns, outside


def _to_floats(ray: Sequence[int]) -> list[float]:
    """A vertex or direction in float64; what is too large for it is infinite."""
    if ray[-1] > 0:
        return [nearest_float(x, ray[-1]) for x in ray[:-1]] + [1.0]
    largest = max(abs(x) for x in ray)
    return [x / largest for x in ray[:-1]] + [0.0]


def _volume(cone: Cone, points: Sequence[Sequence[float]], tight: Sequence[int]) -> float:
    """The volume of a bounded cell: in floats, or exactly where these over- or underflow."""
    corners = [point[:-1] for point in points]
    if np.isfinite(corners).all():
        with np.errstate(all="ignore"):
            size = polytope_volume(corners, tight, len(cone.rows))
        if 0 < size < np.inf:
            return size
    exact = volume(cone.rows, len(corners[0]))
    return nearest_float(int(exact.p), int(exact.q))


def _witness(cone: Cone, d: int) -> list[float]:
    """A point inside a cell, rounded once; infinite if no finite float64 point is inside."""
    point = _middle(cone.rays, d)
    if np.isfinite(point).all():
        return point
    for far in FAR:
        part: Cone | None = cone
        for i in range(d):
            for sign in (1, -1):
                row = [0] * (d + 1)
                row[i], row[-1] = sign, far
                part = None if part is None else cut(part, tuple(row), 0)
        if part is not None:
            return _middle(part.rays, d)
    return point


def _middle(rays: Sequence[Vector], d: int) -> list[float]:
    """Mean of the vertices plus the sum of the rays, rounded once."""
    finite = [ray for ray in rays if ray[-1] > 0]
    scales = [ray[-1] * len(finite) if ray[-1] > 0 else max(map(abs, ray)) for ray in rays]
    middle = []
    for i in range(d):
        terms = [fmpq(ray[i], scale) for ray, scale in zip(rays, scales, strict=True)]
        while len(terms) > 1:  # in pairs: a sum of thousands of fractions has a long denominator
            terms = [a + b for a, b in zip_longest(terms[::2], terms[1::2], fillvalue=fmpq(0))]
        total = terms[0] if terms else fmpq(0)
        middle.append(nearest_float(int(total.p), int(total.q)))
    return middle


def _is_inside(cone: Cone, witness: Sequence[float]) -> bool:
    if not np.isfinite(witness).all():
        return False
    point = [*map(Fraction, witness), Fraction(1)]
    return all(sum(a * x for a, x in zip(r, point, strict=True)) > 0 for r in cone.rows)
