"""Regions of the cells engine as columns."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import zip_longest

import numpy as np
from flint import fmpq

from tropicell._runtime.memory import Slab
from tropicell.engines._column_kernels import (
    BatchSizes,
    ColumnForm,
    cell_sections,
    copy_cells,
    pattern_rows,
)
from tropicell.engines.cells._exact_cells import Cone, ExactCell, Vector, cut, polygon
from tropicell.engines.cells._state import CellBatch
from tropicell.engines.cells._volume import polytope_volume
from tropicell.geometry.arithmetic import FAR, nearest_float
from tropicell.geometry.generators import volume
from tropicell.network.flat import FlatNetwork
from tropicell.regions.columns import Columns, PackedPatterns


def as_columns(batch: CellBatch, sizes: BatchSizes, form: ColumnForm, room: Slab) -> Columns:
    """A batch with its patterns packed and the labels of its facets as boundaries; all is copied.

    Parameters
    ----------
    batch : CellBatch
    sizes : BatchSizes
        Regions, corners and facets that count.
    form : ColumnForm
        Without volumes: they are left to be worked out when they are asked for.
    room : Slab
        Where the columns go.
    """
    room.reserve(cell_sections(sizes, form).end)
    kept = copy_cells(batch, sizes, form, room.piece, room.used)
    return columns_in(room, sizes, form, kept)


def columns_in(room: Slab, sizes: BatchSizes, form: ColumnForm, kept: int) -> Columns:
    """The columns that `copy_cells` has just written; so many facets were `kept`."""
    n, corners, _ = sizes
    neurons, bits, d, volumes = form
    width = PackedPatterns.words_for(neurons, bits)
    at, memory, to = room.used, room.piece.bytes, cell_sections(sizes, form)
    found = Columns(
        PackedPatterns(np.ndarray((n, width), np.uint64, memory, at + to.patterns), neurons, bits),
        np.ndarray((n, d), np.float64, memory, at + to.witnesses),
        np.ndarray(n, np.bool_, memory, at + to.bounded),
        np.ndarray(n, np.float64, memory, at + to.volumes) if volumes else None,
        np.ndarray((corners, d + 1), np.float64, memory, at + to.vertices),
        np.ndarray(n, np.int64, memory, at + to.vertex_counts),
        np.ndarray(kept, np.int32, memory, at + to.lines),
        np.ndarray(n, np.int64, memory, at + to.facet_counts),
    )
    room.used += to.end
    return found


def sizes_of(batch: CellBatch) -> BatchSizes:
    """Regions, corners and facets of a batch that is full."""
    return BatchSizes(len(batch.bounded), len(batch.vertices), len(batch.labels))


def exact_batch(program: FlatNetwork, cells: Sequence[ExactCell], *, volumes: bool) -> CellBatch:
    """Regions that were finished in exact arithmetic, as columns."""
    d = program.dimension
    vertices: list[list[float]] = []
    vertex_counts, labels, facet_counts = [], [], []
    witnesses, sizes, bounded, inside = [], [], [], []
    patterns = pattern_rows(len(cells), program.neurons)
    for row, cell in zip(patterns, cells, strict=True):
        row[: len(cell.pattern)] = np.frombuffer(cell.pattern, np.uint8)
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
        lines = [*cone.lines, *(tuple(-x for x in line) for line in cone.lines)]
        points = [_to_floats(ray) for ray in [*rays, *lines]]
        closed = all(ray[-1] > 0 for ray in rays) and not lines
        vertices += points
        vertex_counts.append(len(points))
        labels += names
        facet_counts.append(len(names))
        witnesses.append(_witness(cone, d))
        inside.append(_is_inside(cone, witnesses[-1]))
        bounded.append(closed)
        if not closed:
            sizes.append(np.inf)
        elif not volumes:
            sizes.append(np.nan)
        else:
            sizes.append(_volume(cone, points, tight))
    return CellBatch(
        patterns=patterns,
        witnesses=np.array(witnesses).reshape(-1, d),
        volumes=np.array(sizes),
        bounded=np.array(bounded, np.bool_),
        inside=np.array(inside, np.bool_),
        vertices=np.array(vertices).reshape(-1, d + 1),
        vertex_counts=np.array(vertex_counts, np.int64),
        labels=np.array(labels, np.int64),
        facet_counts=np.array(facet_counts, np.int64),
    )


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
