"""Regions of the cells engine as columns."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from tropicell.columns import PackedPatterns
from tropicell.engines._cells_state import Batch
from tropicell.engines._column_kernels import (
    BatchSizes,
    ColumnForm,
    cell_sections,
    copy_cells,
    pattern_rows,
)
from tropicell.engines._exact_cells import ExactCell
from tropicell.engines._exact_cone import polygon
from tropicell.engines._volume import polytope_volume
from tropicell.engines.batch import Columns, PlacedColumns
from tropicell.engines.program import Program
from tropicell.engines.slab import Slab


def as_columns(batch: Batch, sizes: BatchSizes, form: ColumnForm, room: Slab) -> Columns:
    """A batch with its patterns packed and the labels of its facets as boundaries; all is copied.

    Parameters
    ----------
    batch : Batch
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


def columns_in(room: Slab, sizes: BatchSizes, form: ColumnForm, kept: int) -> PlacedColumns:
    """The columns that `copy_cells` has just written; so many facets were `kept`."""
    n, corners, _ = sizes
    neurons, bits, d, volumes = form
    width = PackedPatterns.words_for(neurons, bits)
    at, memory, to = room.used, room.piece.bytes, cell_sections(sizes, form)
    found = PlacedColumns(
        PackedPatterns(np.ndarray((n, width), np.uint64, memory, at + to.patterns), neurons, bits),
        np.ndarray((n, d), np.float64, memory, at + to.witnesses),
        np.ndarray(n, np.bool_, memory, at + to.bounded),
        np.ndarray(n, np.float64, memory, at + to.volumes) if volumes else None,
        np.ndarray((corners, d + 1), np.float64, memory, at + to.vertices),
        np.ndarray(n, np.int64, memory, at + to.vertex_counts),
        np.ndarray(kept, np.int32, memory, at + to.lines),
        np.ndarray(n, np.int64, memory, at + to.facet_counts),
    )
    at += room.address
    found.places = (
        *(at + to.patterns, 8 * n * width, at + to.witnesses, 8 * n * d, at + to.bounded, n),
        *((at + to.volumes, 8 * n) if volumes else (0, 0)),
        *(at + to.vertices, 8 * corners * (d + 1), at + to.vertex_counts, 8 * n),
        *(at + to.lines, 4 * kept, at + to.facet_counts, 8 * n),
    )
    room.used += to.end
    return found


def sizes_of(batch: Batch) -> BatchSizes:
    """Regions, corners and facets of a batch that is full."""
    return BatchSizes(len(batch.bounded), len(batch.vertices), len(batch.labels))


def exact_batch(program: Program, cells: Sequence[ExactCell], *, volumes: bool) -> Batch:
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
        witnesses.append(_witness(cone.rays, d))
        point = [*map(Fraction, witnesses[-1]), Fraction(1)]
        rows = cone.rows
        inside.append(all(sum(a * x for a, x in zip(r, point, strict=True)) > 0 for r in rows))
        bounded.append(closed)
        if not closed:
            sizes.append(np.inf)
        elif not volumes:
            sizes.append(np.nan)
        else:
            sizes.append(polytope_volume([point[:-1] for point in points], tight, len(names)))
    return Batch(
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
    if ray[-1] > 0:
        return [x / ray[-1] for x in ray[:-1]] + [1.0]
    largest = max(abs(x) for x in ray)
    return [x / largest for x in ray[:-1]] + [0.0]


def _witness(rays: Sequence[Sequence[int]], d: int) -> list[float]:
    """Mean of the vertices plus the sum of the rays, rounded once."""
    total = [Fraction(0)] * d
    finite = [ray for ray in rays if ray[-1] > 0]
    for ray in finite:
        total = [t + Fraction(x, ray[-1] * len(finite)) for t, x in zip(total, ray, strict=False)]
    for ray in rays:
        if ray[-1] == 0:
            largest = max(abs(x) for x in ray)
            total = [t + Fraction(x, largest) for t, x in zip(total, ray, strict=False)]
    return [float(t) for t in total]
