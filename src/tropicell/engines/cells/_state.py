"""What the kernels and Python share: the meaning of the state array, and the buffers.

The kernels keep everything that they need to go on after a stop in these arrays. The stack of cells
is a stack of *records* of seven integers: layer, number of corners (or rays), where they begin,
number of lines in the conflict list, where it begins, where the pieces of the layer begin, and
whether the cell must be decided exactly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Places in the state array.
TOP = 0  # records on the stack
CORNERS = 1  # used part of the stack's corners
CONFLICTS = 2  # used part of the stack's conflict lists
PATTERNS = 3  # used part of the stack's pieces
SEED = 4  # next seed
COUNT = 5  # regions found
OUT = 6  # regions in the batch
OUT_CORNERS = 7  # their corners
UNSURE = 8  # cells handed out
UNSURE_CORNERS = 9
UNSURE_CONFLICTS = 10
TESTS = 11  # sign tests
SPLITS = 12
STEPS = 13
FACETS = 14  # used part of the stack's facets (cones only)
OUT_FACETS = 15
STATE_SIZE = 16

# What a kernel returns.
DONE, BATCH_FULL, UNSURE_FULL, GROW = 0, 1, 2, 3


# Places in a record of the cone kernel beyond the first seven: number of facets, where they
# begin, used part of the facet table, and whether all rays lie on d facets only.
N_FACETS, FACET_AT, TABLE, SIMPLE = 7, 8, 9, 10

#: Bits of the sides of a line on which something lies.
POSITIVE, NEGATIVE, DOUBTFUL = 1, 2, 4
CROSSES = 3

# This bit of a ray says that it lies at infinity; the others stand for facets.
INFINITE = np.uint64(1 << 63)
FACET_BITS = np.uint64((1 << 63) - 1)
ONE, NONE = np.uint64(1), np.uint64(0)


class Seeds(NamedTuple):
    """Cells to start from.

    Attributes
    ----------
    layers : ndarray, shape (seeds,)
        The layer whose lines are to be cut next.
    patterns : ndarray of uint8, shape (seeds * neurons,)
        Pieces of the neurons of all layers before.
    labels, facet_ends : ndarray
        Facets of every seed: plus or minus (line + 1), minus where the cell lies on the negative
        side. In the plane in counter-clockwise order.
    bases, signs, tight, ray_ends : ndarray
        Not in the plane: for every ray d facets that meet in it alone, the sign that
        turns the minors of their rows into the ray, and the bits of all facets it is on; bit 63
        is set where w = 0. In the plane `signs` is 1 for every corner with w = 0, else 0.
    """

    layers: NDArray[np.int64]
    patterns: NDArray[np.uint8]
    labels: NDArray[np.int64]
    facet_ends: NDArray[np.int64]
    bases: NDArray[np.int64]
    signs: NDArray[np.float64]
    tight: NDArray[np.uint64]
    ray_ends: NDArray[np.int64]


class Fine(NamedTuple):
    """Maps in twice the digits of float64; see `_cells_sharp`."""

    before: NDArray[np.float64]
    after: NDArray[np.float64]
    pattern: NDArray[np.uint8]
    known: NDArray[np.int64]


class PlaneStack(NamedTuple):
    """Arrays of the plane kernel's stack, and its scratch space."""

    poly: NDArray[np.float64]
    labels: NDArray[np.int64]
    conflicts: NDArray[np.int64]
    patterns: NDArray[np.uint8]
    old_poly: NDArray[np.float64]
    old_labels: NDArray[np.int64]
    values: NDArray[np.float64]
    handed: NDArray[np.int64]
    sides: NDArray[np.float64]
    rows: NDArray[np.int64]
    change: NDArray[np.float64]
    margin: NDArray[np.int64]
    fine: Fine


class ConeStack(NamedTuple):
    """Arrays of the cone kernel's stack, and its scratch space.

    A ray has d + 1 coordinates and its error bound. Facets are kept once, in `table`, as long
    as a cell on the stack needs them; `facets` holds plus or minus (place in the table + 1).
    Where `halt` is set, by another thread, a cell is left as it is.
    """

    rays: NDArray[np.float64]
    tight: NDArray[np.uint64]
    facets: NDArray[np.int64]
    table: NDArray[np.float64]
    table_labels: NDArray[np.int64]
    conflicts: NDArray[np.int64]
    patterns: NDArray[np.uint8]
    old_rays: NDArray[np.float64]
    old_tight: NDArray[np.uint64]
    new_rays: NDArray[np.float64]
    new_tight: NDArray[np.uint64]
    values: NDArray[np.float64]
    handed: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    value: NDArray[np.float64]
    rows: NDArray[np.int64]
    change: NDArray[np.float64]
    basis: NDArray[np.int64]
    minors: NDArray[np.float64]
    terms: NDArray[np.int64]
    margin: NDArray[np.int64]
    faces: NDArray[np.int64]
    square: NDArray[np.float64]
    halt: NDArray[np.uint8]


class CellBatch(NamedTuple):
    """Regions that the kernel hands over."""

    patterns: NDArray[np.uint8]
    witnesses: NDArray[np.float64]
    volumes: NDArray[np.float64]
    bounded: NDArray[np.bool_]
    inside: NDArray[np.bool_]
    vertices: NDArray[np.float64]
    vertex_counts: NDArray[np.int64]
    labels: NDArray[np.int64]
    facet_counts: NDArray[np.int64]


class Unsure(NamedTuple):
    """Cells that the float filter could not decide: see `Seeds`, plus their conflict lists."""

    layers: NDArray[np.int64]
    patterns: NDArray[np.uint8]
    labels: NDArray[np.int64]
    facet_ends: NDArray[np.int64]
    conflicts: NDArray[np.int64]
    conflict_ends: NDArray[np.int64]
