"""Polygons: cells in two dimensions, as ordered homogeneous vertices.

A cell is a list of corners in counter-clockwise order. Corner i has a vertex (x, y, w), whose
absolute coordinates add up to 1, and the edge from it to the next corner: the row a with
``a · v >= 0`` inside, largest coefficient 1, and its label. ``w = 0`` for rays; the line at
infinity is an edge like any other. For the columns of a corner see `_state`.

The stack of cells lies in flat arrays, the top cell last, so that a cell is replaced by its two
halves in place. The kernels here and in `_plane_cut` and `_plane_tests` are what
`_search` needs to know of polygons.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tropicell._runtime.jit import inner_kernel
from tropicell.engines.cells._bounds import PLANE_ROUNDINGS, inside_bound
from tropicell.engines.cells._plane_tests import edge_row, meet
from tropicell.engines.cells._state import (
    AT_INFINITY,
    CONFLICT_AT,
    CORNER_AT,
    CORNERS,
    CUT_ROOM,
    EDGE_ERROR,
    EDGE_W,
    EDGE_X,
    EDGE_Y,
    ERROR,
    N_CORNERS,
    OUT,
    OUT_CORNERS,
    PIECES_AT,
    SEED,
    TOP,
    W,
    X,
    Y,
)

#: Vertices of stored regions are at least this sharp, relative to the scaled coordinates: step 6 of
#: docs/error-bound.md.
_SHARP = 1e-7


@inner_kernel
def seed_fits(stack: Any, seeds: Any, k: int) -> bool:
    """Whether there is room for a seed on the empty stack."""
    n = seeds.facet_ends[k] - (seeds.facet_ends[k - 1] if k else 0)
    return bool(n + CUT_ROOM <= len(stack.corners) and n + CUT_ROOM <= len(stack.old_corners))


@inner_kernel
def n_facets(record: Any) -> int:
    """Number of edges of a cell."""
    return int(record[N_CORNERS])


@inner_kernel
def facet_label(stack: Any, record: Any, i: int) -> int:
    """Label of an edge of a cell."""
    return int(stack.tags[record[CORNER_AT] + i])


@inner_kernel
def _witness(stack: Any, start: int, n: int, exact: bool) -> tuple[bool, float, float]:
    """A point inside the cell, in scaled coordinates, and whether the cell is well known.

    That is: the point is surely inside, and no vertex may be off by more than `_SHARP` (step 6 of
    docs/error-bound.md).
    """
    poly = stack.corners
    x = y = rx = ry = 0.0
    finite = 0
    sharp = True
    for i in range(start, start + n):
        if poly[i, AT_INFINITY] != 0.0:
            rx += poly[i, X]
            ry += poly[i, Y]
        else:
            w = poly[i, W]
            x += poly[i, X] / w
            y += poly[i, Y] / w
            finite += 1
            sharp = sharp and poly[i, ERROR] < _SHARP * w
    x, y = x / finite + rx, y / finite + ry
    if not exact:
        return True, x, y
    for i in range(start, start + n):
        a0, a1, a2 = poly[i, EDGE_X] * x, poly[i, EDGE_Y] * y, poly[i, EDGE_W]
        size, total = abs(x) + abs(y) + 1.0, abs(a0) + abs(a1) + abs(a2)
        bound = inside_bound(poly[i, EDGE_ERROR], size, total, PLANE_ROUNDINGS)
        sharp = sharp and a0 + a1 + a2 > bound
    return sharp, x, y


@inner_kernel
def emit(lines: Any, stack: Any, record: Any, out: Any, options: Any, state: Any) -> bool:
    """Store the geometry of the top cell as that of a region; False if it needs more digits."""
    k, c = state[OUT], state[OUT_CORNERS]
    n, start = record[N_CORNERS], record[CORNER_AT]
    poly, vertices = stack.corners, out.vertices
    sharp, x, y = _witness(stack, start, n, options.exact)
    if not sharp:
        return False
    s0, s1 = lines.scale[0], lines.scale[1]
    out.witnesses[k, 0], out.witnesses[k, 1] = x / s0, y / s1
    bounded = True
    for i in range(n):
        at = start + i
        w = poly[at, W]
        if poly[at, AT_INFINITY] != 0.0:
            bounded = False
            w = 1.0
        vertices[c + i, X] = poly[at, X] / w / s0
        vertices[c + i, Y] = poly[at, Y] / w / s1
        vertices[c + i, W] = 0.0 if poly[at, AT_INFINITY] != 0.0 else 1.0
        out.labels[c + i] = stack.tags[at]
    area = np.nan if bounded else np.inf
    if bounded and options.form.volumes:
        area = 0.0
        x, y = vertices[c, X], vertices[c, Y]
        for i in range(1, n - 1):
            ax, ay = vertices[c + i, X] - x, vertices[c + i, Y] - y
            bx, by = vertices[c + i + 1, X] - x, vertices[c + i + 1, Y] - y
            area += 0.5 * (ax * by - ay * bx)
    out.volumes[k] = area
    out.bounded[k] = bounded
    return True


@inner_kernel
def plant(lines: Any, before: Any, stack: Any, seeds: Any, options: Any, state: Any) -> None:
    """Put the next seed on the empty stack; the maps are those of its pattern."""
    k, record = state[SEED], stack.records[0]
    first = seeds.facet_ends[k - 1] if k else 0
    n = seeds.facet_ends[k] - first
    p = stack.corners
    for i in range(n):
        stack.tags[i] = seeds.labels[first + i]
        edge_row(lines, before, stack.tags[i], options.exact, p, i)
    for i in range(n):
        meet(p, i - 1 if i else n - 1, i, 1.0, i)
        p[i, AT_INFINITY] = seeds.signs[first + i]
        if not options.exact:
            p[i, ERROR] = options.tolerance
    record[N_CORNERS], record[CORNER_AT], record[CONFLICT_AT], record[PIECES_AT] = n, 0, 0, 0
    state[TOP] = 1
    state[CORNERS] = n
    state[SEED] += 1
