"""The layouts of the arrays that the kernels of the cells engine share with each other and Python.

A kernel keeps all that it needs to go on after a stop in these arrays: it can stop after any step.
What the columns and places of the arrays mean is said here, once; kernels use the names.

=====================  =============================================================================
array                  what its places are
=====================  =============================================================================
`CellRoom.state`       how much of every array is in use, and counters: `TOP` … `CUT_FROM`
`records`              one row for every cell on the stack, the top one last: `LAYER` … `SIMPLE`
corners of polygons    `X`, `Y`, `W`, `ERROR`, `AT_INFINITY` of a corner, and `EDGE_X`, `EDGE_Y`,
                       `EDGE_W`, `EDGE_ERROR` of the edge from it to the next corner
rays of cones          d coordinates, w at place d, the error bound at place d + 1
rows of the table      the same for facets: d slopes, offset, error bound
rows of the frame      the same for boundaries, and at place d + 2 what the error of a ray counts
``LayerMaps.before``   d slopes, offset, error bound, each an array over all neurons: in the plane
                       `X`, `Y`, `W`, `ERROR`
``LayerMaps.after``    d slopes, offset, and at place d + 1 the largest absolute value
=====================  =============================================================================

Error bounds are those of docs/error-bound.md; the formulas are in `_bounds`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell.network._layer_maps import LayerMaps
from tropicell.network._plain_maps import PlainMaps

# --- places in the state array --------------------------------------------------------------------

TOP = 0  # records on the stack
CORNERS = 1  # used part of the stack's corners
CONFLICTS = 2  # used part of the stack's conflict lists
PATTERNS = 3  # used part of the stack's pieces
SEED = 4  # the next seed
COUNT = 5  # regions found
OUT = 6  # regions in the batch
OUT_CORNERS = 7  # their corners
UNSURE = 8  # cells handed to exact arithmetic
UNSURE_CORNERS = 9  # their facets
UNSURE_CONFLICTS = 10  # their conflicts
TESTS = 11  # signs that were computed
SPLITS = 12  # cells that were cut
STEPS = 13  # steps of the driver
FACETS = 14  # used part of the stack's facets (cones only)
OUT_FACETS = 15  # facets of the regions in the batch
LEFT_OUT = 16  # cells that the wanted set does not meet
CUT_FROM = 17  # where the cell lies whose parts are to be cut one by one, counted from 1; or 0
OUT_POINTS = 18  # points that are corners of the regions in the batch (cones only)
STATE_SIZE = 19

# What a kernel returns.
DONE, BATCH_FULL, UNSURE_FULL, GROW = 0, 1, 2, 3

# --- places in a record, the description of a cell on the stack -----------------------------------
# Checkpoints hold records: these places do not change.

LAYER = 0  # the layer by whose boundaries the cell is being cut
N_CORNERS = 1  # number of corners (of a cone: rays)
CORNER_AT = 2  # where they begin
N_CONFLICTS = 3  # number of boundaries that still cross the cell: its conflict list
CONFLICT_AT = 4  # where the list begins
PIECES_AT = 5  # where the pieces of the layer's neurons begin, as far as they are known
IN_DOUBT = 6  # 1 if the cell must be decided in exact arithmetic
# Only cones use the others.
N_FACETS = 7  # number of facets
FACET_AT = 8  # where they begin
TABLE_END = 9  # used part of the facet table, where the next facet goes
SIMPLE = 10  # 1 if every ray lies on d facets only
RAY_END = 11  # used part of the pool of rays, where the next ray goes
RECORD_SIZE = 12

# --- columns of a polygon's corner ----------------------------------------------------------------
# Checkpoints hold them, too.

X, Y, W = 0, 1, 2  # homogeneous coordinates; their absolute values add up to 1
ERROR = 3  # bound on the error of each of them
AT_INFINITY = 4  # 1 if w = 0: known from where the corner comes from, not from w
EDGE_X, EDGE_Y, EDGE_W = 5, 6, 7  # the row of the edge, positive inside, largest coefficient 1
EDGE_ERROR = 8  # bound on the error of each coefficient
POLYGON_SIZE = 9

#: Homogeneous coordinates of the plane.
COORDINATES = 3

#: Rows beyond the corners of a polygon that a cut may write to.
CUT_ROOM = 8

# --- words of `ConeStack.bits` --------------------------------------------------------------------
# Three words for every 64 boundaries of a frame: where a ray lies surely. A bit that is in none of
# them is not known.

POSITIVE_BITS, NEGATIVE_BITS, ZERO_BITS = 0, 1, 2
BIT_WORDS = 3

# --- rows of `ConeStack.masks` --------------------------------------------------------------------
# Sets of boundaries of a frame: those that crossed the cell that was cut; of each half those that
# may cross it, and those that it lies on the positive side of.

MASK_OPEN, MASK_KEPT, MASK_KEPT_N, MASK_ABOVE, MASK_ABOVE_N = 0, 1, 2, 3, 4
MASK_ROWS = 5

# --- columns of `ConeStack.terms` -----------------------------------------------------------------
# One term of the expansion of a minor: sign * (row, column) * (smaller minor).

TERM_ROW, TERM_COLUMN, TERM_SMALLER, TERM_MINOR, TERM_SIGN = 0, 1, 2, 3, 4
TERM_PLACES = 5

# --- places in `margin`: what entering a layer may add to the stack -------------------------------

MOST_CONFLICTS, MOST_PIECES = 0, 1

# --- rows of `sides`, with a number for every neuron of a layer -----------------------------------

SIDES = 0  # 1 or -1 if the cell surely lies on that side of the neuron's boundary, else 0
# Only polygons use these.
SIDES_OF_MORE = 1  # the same for some more of the corners
SIDES_ROWS = 2
# And only cones these: the smallest and largest values at the rays of a cell, and scratch.
LOWEST, HIGHEST, VALUE = 1, 2, 3
CONE_SIDES_ROWS = 4

#: Regions of a last layer are counted without cutting if no more boundaries cross the cell: so many
#: that it does not take long, for there is no way to stop in between.
MOST_COUNTED = 20

#: Of regions that are stored all at once there may be so many, and as many points (`Arrangement`).
MOST_AT_ONCE = 1536

# --- facets of cones, and signs -------------------------------------------------------------------

#: Facets of a cone are bits of a word; cells with more facets are decided in exact arithmetic.
MOST_FACETS = 62

#: A cell that comes from exact arithmetic may have so many facets, so that it can be cut.
MOST_SEED_FACETS = 56

#: Places that a cut of a cone may add to the stack's facets: those of a half, and some to spare.
FACET_ROOM = MOST_FACETS + 8

#: Bits of the sides of a boundary on which something lies.
POSITIVE, NEGATIVE, DOUBTFUL = 1, 2, 4
CROSSES = POSITIVE | NEGATIVE

# This bit of a ray says that it lies at infinity; the others stand for facets.
INFINITE = np.uint64(1 << 63)
FACET_BITS = np.uint64((1 << 63) - 1)
ONE, NONE = np.uint64(1), np.uint64(0)


class Seeds(NamedTuple):
    """Cells to start from.

    Attributes
    ----------
    layers : ndarray, shape (seeds,)
        The layer by whose boundaries a cell is to be cut next.
    patterns : ndarray of uint8, shape (seeds * neurons,)
        Pieces of the neurons of all layers before.
    labels, facet_ends : ndarray
        Facets of every seed: plus or minus (boundary + 1), minus where the cell lies on the
        negative side. In the plane in counter-clockwise order.
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


class PlaneStack(NamedTuple):
    """The stack of polygons, and scratch space.

    The first eight arrays mean the same in `ConeStack`, so that drivers can use either stack.

    Attributes
    ----------
    records : ndarray, shape (cells, RECORD_SIZE)
        What is known of every cell, and where its parts begin in the other arrays.
    corners : ndarray, shape (corners, POLYGON_SIZE)
        Corners and edges, counter-clockwise.
    tags : ndarray
        Label of the edge of every corner, see `Seeds`.
    conflicts : ndarray
        Boundaries that cross a cell.
    patterns : ndarray of uint8
        Pieces of a layer's neurons.
    facets, table, table_labels : ndarray
        Empty: polygons keep their edges with their corners.
    old_corners, old_tags : ndarray
        The polygon that is being cut.
    values : ndarray
        A boundary's row at its corners.
    handed : ndarray
        The conflict list of the negative half.
    sides : ndarray, shape (SIDES_ROWS, widest layer)
        See `SIDES`.
    margin : ndarray
        See `MOST_CONFLICTS`, `MOST_PIECES`.
    fine : Fine
        For signs in doubt: see `tropicell.engines.cells._signs`.
    focus : Focus
        The neurons that can change on the cells, if these are few: see
        `tropicell.engines.cells._focus`.
    """

    records: NDArray[np.int64]
    corners: NDArray[np.float64]
    tags: NDArray[np.int64]
    conflicts: NDArray[np.int64]
    patterns: NDArray[np.uint8]
    facets: NDArray[np.int64]
    table: NDArray[np.float64]
    table_labels: NDArray[np.int64]
    old_corners: NDArray[np.float64]
    old_tags: NDArray[np.int64]
    values: NDArray[np.float64]
    handed: NDArray[np.int64]
    sides: NDArray[np.float64]
    margin: NDArray[np.int64]
    fine: Any
    focus: Any


class Arrangement(NamedTuple):
    """What boundaries make of a cell, all at once: see `tropicell.engines.cells._cone_regions`.

    Attributes
    ----------
    rays : ndarray, shape (points,)
        The points where boundaries and facets meet, rays of the cell included: their places in the
        pool.
    tags : ndarray of uint64, shape (points,)
        The facets, and then the boundaries, that they lie on.
    sides : ndarray of uint64, shape (BIT_WORDS, points)
        The boundaries that they lie above, below, and on.
    errors, squares, table_at : ndarray, shape (facets,)
        Of the facets, and then of the boundaries: error bounds of their rows, the squares of the
        lengths of these, and where they are in the table.
    edges, crossing : ndarray, shape (edges,)
        Pairs of points that are joined by an edge, and the boundaries that are yet to be laid and
        cross it; edges that none of them crosses are left out.
    places : ndarray, shape (points, d + 1)
        Their coordinates as they are handed out, but scaled.
    rows : ndarray, shape (boundaries,)
        Places of the boundaries in the frame.
    table : ndarray
        For every set of boundaries, as bits, how many corners the region has that lies above these
        and below the others; and then, which region that is.
    keys, ends : ndarray, shape (regions,)
        The boundaries that a region lies above, as bits; where its corners end.
    shares, used, middles : ndarray, shape (regions,) or (regions, 4 or d)
        What a corner counts; the facets, and then the boundaries, that the corners lie on, as bits;
        the witness, scaled.
    signs, labels, facet_rows : ndarray, shape (facets,) or (d + 2, facets)
        Of the facets, and then of the boundaries: on which side of its row the cell lies; its line;
        its row, positive inside, with its error.
    order, spare : ndarray, shape (points,)
        Lists of points.
    pairs, corners : ndarray, shape (corners,)
        Pairs of points; and the points that are corners of regions, region after region.
    """

    rays: NDArray[np.int64]
    tags: NDArray[np.uint64]
    sides: NDArray[np.uint64]
    errors: NDArray[np.float64]
    squares: NDArray[np.float64]
    table_at: NDArray[np.int64]
    edges: NDArray[np.int64]
    crossing: NDArray[np.uint64]
    places: NDArray[np.float64]
    rows: NDArray[np.int64]
    table: NDArray[np.int64]
    keys: NDArray[np.uint64]
    ends: NDArray[np.int64]
    shares: NDArray[np.float64]
    used: NDArray[np.uint64]
    middles: NDArray[np.float64]
    signs: NDArray[np.float64]
    labels: NDArray[np.int64]
    facet_rows: NDArray[np.float64]
    order: NDArray[np.int64]
    spare: NDArray[np.int64]
    pairs: NDArray[np.int64]
    corners: NDArray[np.int64]


class ConeStack(NamedTuple):
    """The stack of cones, and scratch space; for what is not said here see `PlaneStack`.

    The rays of all cells are kept once, in a pool; those of a cell lie in front of its `RAY_END`.
    A cell that enters a layer gets rays of its own, so a ray belongs to cells of one layer.

    Attributes
    ----------
    corners : ndarray
        Rays of a cell: their places in the pool.
    tags : ndarray of uint64
        Bits of the facets that a ray lies on, and `INFINITE`.
    facets : ndarray
        Facets of a cell: plus or minus (place in the table + 1).
    table, table_labels : ndarray
        Rows and labels of facets, kept once, as long as a cell on the stack needs them.
    rays : ndarray, shape (rays, d + 2)
        The pool: d + 1 coordinates and a bound on the length of their error.
    bases : ndarray, shape (rays, d)
        The places in the table of d facets that meet in the ray alone.
    rows : PlainMaps
        The rows that rays are tested against: those of `tropicell.network._plain_maps`, or those
        of ``CellRoom.maps``.
    bits : ndarray of uint64, shape (rays, BIT_WORDS * words)
        On which sides of the boundaries of its layer's frame a ray lies: see `POSITIVE_BITS`.
    frame, frame_lines, frame_sizes, places : ndarray
        For every layer the boundaries that may cross the cell that entered it, from ``line_start``
        on: rows, divided by their length; the boundaries; how many there are; and the place of a
        boundary among those of its layer.
    old_corners, old_tags, low_corners, low_tags, on_corners, on_tags : ndarray
        The rays of a cell that is being cut: above the cut, below, and on it.
    new_tags : ndarray of uint64
        Bits of the rays where the new facet cuts edges; they are the last ones of the pool.
    masks : ndarray of uint64, shape (MASK_ROWS, words)
        See `MASK_OPEN`.
    section_bits, section_tags : ndarray of uint64
        Corners of sections of a cell: on which sides of boundaries, and on which facets they lie.
    section_values, section_errors : ndarray
        The values of boundaries there, and bounds on their errors.
    levels : ndarray
        How many corners there are up to every section.
    open_bits : ndarray of uint64
        Boundaries that cross a section, as far as they were not looked at.
    minors, terms : ndarray
        The minors of the rows of d facets, and how these are expanded: see `TERM_ROW`.
    pivots : ndarray
        Scratch: the rows from which independent ones are chosen.
    faces, square : ndarray
        Scratch of `tropicell.engines.cells._volume.volume`.
    fine : Fine
        See `PlaneStack`.
    arrangement : Arrangement
        For the regions that the boundaries of a last layer make of a cell.
    axes : tuple
        Its length is the dimension, or 0. So kernels are compiled for a dimension, if that pays.
    halt : ndarray of uint8
        Where it is set, by another thread, a cell is left as it is.
    """

    records: NDArray[np.int64]
    corners: NDArray[np.int64]
    tags: NDArray[np.uint64]
    conflicts: NDArray[np.int64]
    patterns: NDArray[np.uint8]
    facets: NDArray[np.int64]
    table: NDArray[np.float64]
    table_labels: NDArray[np.int64]
    rays: NDArray[np.float64]
    bases: NDArray[np.int64]
    rows: PlainMaps
    bits: NDArray[np.uint64]
    frame: NDArray[np.float64]
    frame_lines: NDArray[np.int64]
    frame_sizes: NDArray[np.int64]
    places: NDArray[np.int64]
    old_corners: NDArray[np.int64]
    old_tags: NDArray[np.uint64]
    low_corners: NDArray[np.int64]
    low_tags: NDArray[np.uint64]
    on_corners: NDArray[np.int64]
    on_tags: NDArray[np.uint64]
    new_tags: NDArray[np.uint64]
    masks: NDArray[np.uint64]
    section_bits: NDArray[np.uint64]
    section_tags: NDArray[np.uint64]
    section_values: NDArray[np.float64]
    section_errors: NDArray[np.float64]
    levels: NDArray[np.int64]
    open_bits: NDArray[np.uint64]
    values: NDArray[np.float64]
    handed: NDArray[np.int64]
    sides: NDArray[np.float64]
    minors: NDArray[np.float64]
    terms: NDArray[np.int64]
    pivots: NDArray[np.float64]
    margin: NDArray[np.int64]
    faces: NDArray[np.int64]
    square: NDArray[np.float64]
    fine: Any
    arrangement: Arrangement
    axes: tuple[int, ...]
    halt: NDArray[np.uint8]


class CellBatch(NamedTuple):
    """Where the regions go that kernels find, in the form in which they are handed out.

    For what is not said here see `tropicell.regions.columns.Columns`.

    Attributes
    ----------
    words : ndarray of uint64, shape (regions, words)
        Packed patterns.
    vertices, places : ndarray
        In the plane `vertices` are what `Columns` calls `corners`. Elsewhere they are points, each
        once for all regions of a cell, and the corners of regions are places among them.
    vertex_counts, lines : ndarray
        What `Columns` calls `corner_counts`, `facet_lines`.
    pattern : ndarray of uint8
        Scratch: the pattern that is being packed, see `tropicell.engines._unit_kernels`.
    """

    words: NDArray[np.uint64]
    witnesses: NDArray[np.float64]
    bounded: NDArray[np.bool_]
    volumes: NDArray[np.float64]
    vertices: NDArray[np.float64]
    places: NDArray[np.int32]
    vertex_counts: NDArray[np.int64]
    lines: NDArray[np.int32]
    facet_counts: NDArray[np.int64]
    pattern: NDArray[np.uint8]


class Unsure(NamedTuple):
    """Cells that the float filter could not decide: see `Seeds`, plus their conflict lists."""

    layers: NDArray[np.int64]
    patterns: NDArray[np.uint8]
    labels: NDArray[np.int64]
    facet_ends: NDArray[np.int64]
    conflicts: NDArray[np.int64]
    conflict_ends: NDArray[np.int64]


class CellRoom(NamedTuple):
    """All arrays that a worker writes to.

    Attributes
    ----------
    maps : LayerMaps
        Of a cell that `ConeStack.rows` do not suffice for: see `bring_up` in `_plain_maps`.
    stack : PlaneStack or ConeStack
    out : CellBatch
    unsure : Unsure
    where : WhereRoom
    state : ndarray
        See `TOP` … `CUT_FROM`.
    result : ndarray
        What a unit's kernel says of itself, see `_unit_kernels`.
    """

    maps: LayerMaps
    stack: Any
    out: CellBatch
    unsure: Unsure
    where: Any
    state: NDArray[np.int64]
    result: NDArray[np.int64]
