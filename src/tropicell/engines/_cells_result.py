"""Regions as columns: what the cells engine returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell.engines._cells_state import Batch
from tropicell.engines._exact_cells import ExactCell
from tropicell.engines._exact_cone import polygon
from tropicell.engines._volume import polytope_volume
from tropicell.engines.program import Program


@dataclass(frozen=True, eq=False)
class CellRegions:
    """Regions found by the cells engine, as columns.

    Attributes
    ----------
    packed : ndarray of uint8
        Patterns, eight neurons a byte where no neuron has more than two pieces, else as they are.
    witnesses : ndarray, shape (regions, d)
        A point inside each region.
    inside : ndarray of bool
        Whether that is proved. Never in float arithmetic; and a region may be so thin
        that the point, rounded to float64, falls out of it.
    bounded : ndarray of bool
    volumes : ndarray
        ``inf`` where unbounded.
    vertices, vertex_offsets : ndarray
        Homogeneous: rows (x, 1) for vertices, (x, 0) for rays; those of region i are
        ``vertex_offsets[i] : vertex_offsets[i + 1]``. In the plane in counter-clockwise order.
    facets, facet_offsets : ndarray
        Facets of each region as plus or minus (line + 1): minus where the region lies on the
        negative side of the line. In the plane facet i begins at vertex i.
    line_layers, line_neurons, line_breakpoints : ndarray
        What a line is: layer (0: the domain, whose row ``neuron - 1`` it is; neuron 0 is
        infinity), neuron within the layer, and index of the breakpoint.
    neurons : int
    complete : bool
    stats : CellStats
    """

    packed: NDArray[np.uint8]
    witnesses: NDArray[np.float64]
    inside: NDArray[np.bool_]
    bounded: NDArray[np.bool_]
    volumes: NDArray[np.float64]
    vertices: NDArray[np.float64]
    vertex_offsets: NDArray[np.int64]
    facets: NDArray[np.int32]
    facet_offsets: NDArray[np.int64]
    line_layers: NDArray[np.int64]
    line_neurons: NDArray[np.int64]
    line_breakpoints: NDArray[np.int64]
    neurons: int
    is_packed: bool
    complete: bool
    stats: Any

    def __len__(self) -> int:
        return len(self.volumes)

    @property
    def patterns(self) -> NDArray[np.uint8]:
        """Patterns, one row a region, one column a neuron."""
        if not self.is_packed:
            return self.packed
        return np.unpackbits(self.packed, axis=1, count=self.neurons)

    @property
    def nbytes(self) -> int:
        """Bytes of all columns."""
        columns = (
            self.packed,
            self.witnesses,
            self.inside,
            self.bounded,
            self.volumes,
            self.vertices,
            self.vertex_offsets,
            self.facets,
            self.facet_offsets,
        )
        return sum(column.nbytes for column in columns)

    @classmethod
    def gather(
        cls, program: Program, batches: Sequence[Batch], *, complete: bool, stats: Any
    ) -> CellRegions:
        """All batches of a run as one object."""
        neurons = program.neurons
        d = program.dimension
        packs = bool(program.maps.slopes.shape[1] <= 2)
        patterns = [np.packbits(b.patterns, axis=1) if packs else b.patterns for b in batches]
        empty = np.empty((0, (neurons + 7) // 8 if packs else neurons), np.uint8)
        layers, numbers, breakpoints = _line_table(program)
        return cls(
            packed=np.concatenate([empty, *patterns]),
            witnesses=np.concatenate([np.empty((0, d)), *(b.witnesses for b in batches)]),
            inside=np.concatenate([np.empty(0, np.bool_), *(b.inside for b in batches)]),
            bounded=np.concatenate([np.empty(0, np.bool_), *(b.bounded for b in batches)]),
            volumes=np.concatenate([np.empty(0), *(b.volumes for b in batches)]),
            vertices=np.concatenate([np.empty((0, d + 1)), *(b.vertices for b in batches)]),
            vertex_offsets=_offsets([b.vertex_counts for b in batches]),
            facets=np.concatenate([np.empty(0, np.int32), *(b.labels for b in batches)]).astype(
                np.int32
            ),
            facet_offsets=_offsets([b.facet_counts for b in batches]),
            line_layers=layers,
            line_neurons=numbers,
            line_breakpoints=breakpoints,
            neurons=neurons,
            is_packed=packs,
            complete=complete,
            stats=stats,
        )


def _offsets(counts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), *counts]).cumsum()


def _line_table(
    program: Program,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    layers = np.repeat(np.arange(program.depth + 1), np.diff(program.lines.line_start))
    neurons = np.where(
        layers == 0,
        np.arange(len(layers)),
        program.lines.line_row - program.lines.row_start[layers],
    )
    same = np.concatenate([[False], (neurons[1:] == neurons[:-1]) & (layers[1:] == layers[:-1])])
    breakpoints = np.zeros(len(layers), np.int64)
    for index in np.flatnonzero(same):
        breakpoints[index] = breakpoints[index - 1] + 1
    return layers.astype(np.int64), neurons.astype(np.int64), breakpoints


def exact_batch(program: Program, cells: Sequence[ExactCell], *, volumes: bool) -> Batch:
    """Regions that were finished in exact arithmetic, as columns."""
    d = program.dimension
    vertices: list[list[float]] = []
    vertex_counts, labels, facet_counts = [], [], []
    witnesses, sizes, bounded, inside = [], [], [], []
    patterns = [np.frombuffer(cell.pattern, np.uint8) for cell in cells]
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
        patterns=np.array(patterns, np.uint8).reshape(len(cells), -1),
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
