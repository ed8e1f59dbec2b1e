"""Cones: cells in any dimension, by double description on the cone over a cell.

A cell is kept by its extreme rays (x, w) in homogeneous coordinates, absolute values adding up to
1, each with the bits of the facets it lies on. ``w = 0`` for the directions of unbounded
cells. Only pointed cones come here: those that contain no line. Where no sign is in doubt all cells
are simple, and two rays are neighbours if they share d - 1 facets; cells that come from exact
arithmetic, or from float arithmetic with its zeros, may be not simple, and get the full test.

The kernels here and in `_cone_cut` and `_cone_tests` are what `_search` needs to
know of cones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tropicell._runtime.jit import bit_count, inner_kernel
from tropicell.engines.cells._bounds import cone_roundings, inside_bound
from tropicell.engines.cells._cone_cut import compress
from tropicell.engines.cells._cone_tests import facet_row, meet
from tropicell.engines.cells._state import (
    CONFLICT_AT,
    CORNER_AT,
    CORNERS,
    FACET_AT,
    FACET_BITS,
    FACETS,
    INFINITE,
    N_CORNERS,
    N_FACETS,
    NONE,
    OUT,
    OUT_CORNERS,
    OUT_FACETS,
    PIECES_AT,
    SEED,
    SIMPLE,
    TABLE_END,
    TOP,
)
from tropicell.engines.cells._volume import volume

#: Vertices of stored regions are at least this sharp, relative to the scaled coordinates: step 6 of
#: docs/error-bound.md.
_SHARP = 1e-3


@inner_kernel
def seed_fits(stack: Any, seeds: Any, k: int) -> bool:
    """Whether there is room for a seed on the empty stack."""
    n_rays = seeds.ray_ends[k] - (seeds.ray_ends[k - 1] if k else 0)
    return bool(n_rays < len(stack.old_corners))


@inner_kernel
def n_facets(record: Any) -> int:
    """Number of facets of a cell."""
    return int(record[N_FACETS])


@inner_kernel
def facet_label(stack: Any, record: Any, i: int) -> int:
    """Label of a facet of a cell."""
    facet = stack.facets[record[FACET_AT] + i]
    label = stack.table_labels[abs(facet) - 1]
    return int(label if facet > 0 else -label)


@inner_kernel
def sharpen(program: Any, pattern: Any, stack: Any, record: Any) -> bool:
    """There are no more digits for cones: False, the cell goes to exact arithmetic."""
    return False


@inner_kernel
def _witness(stack: Any, record: Any, d: int, point: Any, exact: bool) -> bool:
    """Write a point inside the cell, in scaled coordinates; False if the cell is not well known.

    Well known means: the point is surely inside, and no vertex may be off by more than `_SHARP`
    (step 6 of docs/error-bound.md).
    """
    n, start = record[N_CORNERS], record[CORNER_AT]
    rays, tight, table = stack.corners, stack.tags, stack.table
    finite = 0
    for j in range(d):
        point[j] = 0.0
    for i in range(start, start + n):
        finite += tight[i] & INFINITE == NONE
    sharp = True
    for i in range(start, start + n):
        ray = tight[i] & INFINITE != NONE
        share = 1.0 if ray else 1.0 / (rays[i, d] * finite)
        for j in range(d):
            point[j] += rays[i, j] * share
        sharp = sharp and (ray or rays[i, d + 1] < _SHARP * rays[i, d])
    if not exact:
        return True
    size = 1.0
    for j in range(d):
        size += abs(point[j])
    for f in range(record[N_FACETS]):
        facet = stack.facets[record[FACET_AT] + f]
        at = abs(facet) - 1
        value = table[at, d]
        total = abs(value)
        for j in range(d):
            value += table[at, j] * point[j]
            total += abs(table[at, j] * point[j])
        if facet < 0:
            value = -value
        bound = inside_bound(table[at, d + 1], size, total, cone_roundings(d))
        sharp = sharp and value > bound
    return sharp


@inner_kernel
def emit(lines: Any, stack: Any, record: Any, out: Any, options: Any, state: Any) -> bool:
    """Store the geometry of the top cell as that of a region; False if it needs more digits."""
    d = lines.dimension
    k, c, o = state[OUT], state[OUT_CORNERS], state[OUT_FACETS]
    scale, witness = lines.scale, out.witnesses[k]
    compress(stack, record, d)
    if not _witness(stack, record, d, witness, options.exact):
        return False
    n, start = record[N_CORNERS], record[CORNER_AT]
    rays, tight, vertices = stack.corners, stack.tags, out.vertices
    for j in range(d):
        witness[j] /= scale[j]
    count = record[N_FACETS]
    for f in range(count):
        out.labels[o + f] = facet_label(stack, record, f)
    bounded = True
    for i in range(n):
        ray = tight[start + i] & INFINITE != NONE
        bounded = bounded and not ray
        w = 1.0 if ray else rays[start + i, d]
        for j in range(d):
            vertices[c + i, j] = rays[start + i, j] / w / scale[j]
        vertices[c + i, d] = 0.0 if ray else 1.0
    out.bounded[k] = bounded
    out.volumes[k] = np.nan if bounded else np.inf
    if bounded and options.form.volumes:
        points, on = vertices[c : c + n], tight[start : start + n]
        simple = record[SIMPLE] != 0
        out.volumes[k] = volume(points, on, count, simple, stack.faces, stack.square)
    return True


@inner_kernel
def plant(lines: Any, before: Any, stack: Any, seeds: Any, options: Any, state: Any) -> None:
    """Put the next seed on the empty stack; the maps are those of its pattern."""
    d = lines.dimension
    k, record = state[SEED], stack.records[0]
    first = seeds.facet_ends[k - 1] if k else 0
    first_ray = seeds.ray_ends[k - 1] if k else 0
    n, n_rays = seeds.facet_ends[k] - first, seeds.ray_ends[k] - first_ray
    for i in range(n):
        label = seeds.labels[first + i]
        facet_row(lines, before, label, options.exact, stack.table, i)
        stack.table_labels[i] = label
        stack.facets[i] = i + 1
    simple = 1
    for i in range(n_rays):
        for j in range(d):
            stack.basis[j] = seeds.bases[first_ray + i, j]
        meet(stack, d, seeds.signs[first_ray + i], 0, stack.corners, i)
        if not options.exact:
            stack.corners[i, d + 1] = options.tolerance
        stack.tags[i] = seeds.tight[first_ray + i]
        if bit_count(stack.tags[i] & FACET_BITS) != d:
            simple = 0
    record[N_CORNERS], record[CORNER_AT], record[CONFLICT_AT], record[PIECES_AT] = n_rays, 0, 0, 0
    record[N_FACETS], record[FACET_AT], record[TABLE_END], record[SIMPLE] = n, 0, n, simple
    state[TOP] = 1
    state[CORNERS] = n_rays
    state[FACETS] = n
    state[SEED] += 1
