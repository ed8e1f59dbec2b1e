"""All faces of all regions: what `tropicell.analysis.complex` is made from.

Nothing is found by comparing coordinates. Facets are glued by patterns (a flipped neuron is looked
up), corners by the lines that they lie on, and faces by the faces that bound them. What float64
can't tell is worked out in integers. Docs: docs/exactness.md, "Faces".
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell._runtime.interruption import check
from tropicell._runtime.parts import in_parts
from tropicell._runtime.progress import bar_of
from tropicell.analysis.graph import flip_lines, pattern_behind
from tropicell.analysis.left_out import leads_to_one_flip
from tropicell.errors import InternalError, InvalidInputError
from tropicell.geometry.arithmetic import nearest_float
from tropicell.geometry.generators import Vector, extreme_rays
from tropicell.network.domains import resolve
from tropicell.network.flat import FlatNetwork, flatten, is_tame
from tropicell.network.quotient import Quotient
from tropicell.regions.columns import Ragged
from tropicell.regions.exact_columns import known_rows

if TYPE_CHECKING:
    from tropicell.analysis._flips import FlipLines
    from tropicell.regions.regions import Regions

#: Regions that a thread looks at in one go.
_AT_ONCE = 4096

#: Inputs up to which the cells engine knows corners and facets.
_FEW_INPUTS = 4

#: How far corners of polygons may be off, times one plus their size, scaled: twice what
#: docs/error-bound.md says in step 6.
_OFF = 2e-7


class Sides(NamedTuple):
    """The faces that bound each face: those of face i are ``faces[ends[i - 1]:ends[i]]``.

    Attributes
    ----------
    ends : ndarray of int64
    faces : ndarray of int64
        Numbers of faces of one dimension less.
    signs : ndarray of int8
        Whether their orientations agree with that of the face.
    """

    ends: NDArray[np.int64]
    faces: NDArray[np.int64]
    signs: NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Faces:
    """All faces of a complex of regions.

    Attributes
    ----------
    whole : Regions
        With all inputs.
    regions : Regions
        In the inputs that matter; the faces of the largest dimension, in their order.
    quotient : Quotient
        Which inputs these are.
    vertices : ndarray, shape (vertices, inputs)
    radii : ndarray, shape (vertices, inputs)
        How far they may be off.
    sides : list of Sides
        Of edges, of polygons, …; the first one is that of vertices, and empty.
    unbounded : list of ndarray of bool
        Which faces of each dimension are unbounded.
    owners : list of ndarray of int64
        A region of which each is a face.
    lines : list of Ragged
        The facets of that region on which it lies, as lines.
    directions : ndarray, shape (edges, inputs)
        Where an unbounded edge leads to; 0 for others.
    direction_errors : ndarray, shape (edges,)
        How far coordinates of that may be off; infinite where nobody knows.
    """

    whole: Regions
    regions: Regions
    quotient: Quotient
    vertices: FloatArray
    radii: FloatArray
    sides: list[Sides]
    unbounded: list[NDArray[np.bool_]]
    owners: list[NDArray[np.int64]]
    lines: list[Ragged]
    directions: FloatArray
    direction_errors: FloatArray

    @cached_property
    def sharp(self) -> tuple[FloatArray, FloatArray]:
        """Vertices, and how far they may be off, as sharp as float64 can have them.

        Those of polygons are at first as sharp as the search has them.
        """
        return _sharpened(self)


NO_SIDES = Sides(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int8))


def all_faces(regions: Regions, *, workers: int = 1, progress: bool | None = None) -> Faces:
    """The faces of all regions of a complete enumeration; see `tropicell.Regions.complex`."""
    if regions.complete and not len(regions):
        raise InvalidInputError("a complex needs regions, and there are none")
    if not regions.complete:
        raise InvalidInputError(
            "a complex needs all regions of its domain: these are not complete; enumerate them "
            "without a budget, make the complex, and select some of its cells then"
        )
    whole = regions
    regions, quotient = _with_corners(regions.reduced, whole.quotient)
    if not regions.network.n_inputs or not quotient.dimension:
        return _point(whole, regions, quotient)
    if regions.network.n_inputs == 2:
        return _of_polygons((whole, regions, quotient), workers, progress)
    return _of_cells((whole, regions, quotient), workers, progress)


# --- regions that have vertices, with corners and facets ------------------------------------------


def _with_corners(regions: Regions, quotient: Quotient) -> tuple[Regions, Quotient]:
    """The regions by the cells engine, if these are not; without directions that no line sees."""
    from tropicell.search.enumeration import enumerate_regions  # noqa: PLC0415 - imports engines

    network, domain = regions.network, regions.domain
    free = _lineality(regions)
    if len(free):
        kept = np.setdiff1d(np.arange(network.n_inputs), free)
        if not len(kept):
            return regions, Quotient(quotient.whole, quotient.around, quotient.inputs[kept])
        inner = Quotient(network, domain, kept)
        quotient = Quotient(quotient.whole, quotient.around, quotient.inputs[kept])
        network, domain = inner.network, inner.domain
    by_cells = regions.stats.get("engine") == "cells" and regions.known("corners") is not None
    if (by_cells and not len(free)) or (network.n_inputs > _FEW_INPUTS and not len(free)):
        return regions, quotient
    few = network.n_inputs <= _FEW_INPUTS
    found = enumerate_regions(network, domain, engine="cells" if few else "auto").reduced
    rows = found.packed.find_words(regions.packed.with_bits(found.packed.bits).words)
    missing = {"where": regions.stats["where"]} if "where" in regions.stats else {}
    if (len(found) != len(regions) and not missing) or (rows < 0).any():
        raise InternalError(
            "regions could not be found again by the cells engine: they may be those of float "
            "arithmetic, which need not be the true ones"
        )
    found = found[rows]
    found.stats |= missing
    return found, quotient


def _lineality(regions: Regions) -> NDArray[np.int64]:
    """Inputs that can be left out since no boundary changes along some directions.

    Along these a region is unbounded both ways, and so are all others.
    """
    if bool(regions.known("bounded") is not None and regions.bounded[0]):
        return np.empty(0, np.int64)
    directions = regions[0].lineality
    if not len(directions):
        return np.empty(0, np.int64)
    pivots: list[int] = []
    rows = [list(row) for row in directions]
    for column in range(regions.network.n_inputs):
        k = len(pivots)
        row = next((i for i in range(k, len(rows)) if rows[i][column]), None)
        if row is None:
            continue
        rows[k], rows[row] = rows[row], rows[k]
        for i in range(k + 1, len(rows)):
            factor = rows[i][column] / rows[k][column]
            rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
        pivots.append(column)
    return np.array(pivots, dtype=np.int64)


def _point(whole: Regions, regions: Regions, quotient: Quotient) -> Faces:
    """One region without any boundary: a point, times a linear space."""
    return Faces(
        whole,
        regions,
        quotient,
        np.zeros((1, 0)),
        np.zeros((1, 0)),
        [Sides(np.zeros(1, np.int64), *NO_SIDES[1:])],
        [np.zeros(1, np.bool_)],
        [np.zeros(1, np.int64)],
        [Ragged(np.empty(0, np.int64), np.zeros(1, np.int64))],
        np.zeros((0, 0)),
        np.zeros(0),
    )


# --- facets ---------------------------------------------------------------------------------------


def _matched(
    regions: Regions, flat: FlatNetwork, flips: FlipLines, workers: int, bar: Any
) -> tuple[NDArray[np.int64], Ragged]:
    """For each half-facet (region after region) the other half, -1 at the domain; the facets."""
    from tropicell.analysis import _faces, _flips  # noqa: PLC0415 - imports Numba

    packed = regions.packed
    words = np.ascontiguousarray(packed.words, dtype=np.uint64)
    known = _flips.KnownPatterns(words, packed.bits, packed.table())
    lines = regions.facet_lines
    facets = Ragged(lines.values.astype(np.int64), lines.ends.astype(np.int64))
    other = np.empty(len(facets.values), np.int64)

    def work(part: slice) -> None:
        query = np.zeros(words.shape[1], np.uint64)
        here = part.start, part.stop, query
        _faces.match_facets(flips, known, facets.values, facets.ends, here, other)
        bar.update(part.stop - part.start)

    in_parts(work, len(regions), workers, _AT_ONCE * 4)
    # What one half knows, the other one does.
    sure = np.flatnonzero(other >= 0)
    lonely = other[other[sure]] != sure
    for h in sure[lonely]:
        if other[other[h]] < 0:
            other[other[h]] = h
        elif other[other[h]] != h:
            other[h] = _faces.UNSURE
    unsure = np.flatnonzero(other == _faces.UNSURE)
    if unsure.size and "where" in regions.stats:  # what is not there was left out
        left = leads_to_one_flip(regions, flat, flips, facets, unsure, workers=workers)
        other[unsure[left]] = _faces.OUTSIDE
        unsure = unsure[~left]
    if unsure.size:
        _match_exactly(regions, facets, other, unsure)
    return other, facets


def _match_exactly(
    regions: Regions, facets: Ragged, other: NDArray[np.int64], unsure: NDArray[np.int64]
) -> None:
    """Match half-facets at which several neurons change, in exact arithmetic."""
    from tropicell.analysis import _faces  # noqa: PLC0415 - imports Numba

    maps = regions.network.maps("exact")
    owners = np.searchsorted(facets.ends, unsure, side="right")
    behind: dict[int, int] = {}
    starts = facets.ends - facets.counts

    def region_behind(h: int, owner: int) -> int:
        """The region behind a half-facet; -1: the domain ends there."""
        if h not in behind:
            check()
            region = regions[owner]
            names = [regions.lines.boundary(int(line)) for line in facets[owner]]
            cell = region.cell_of(names)
            row = cell.rows[h - starts[owner]]
            sides = [s for s in region.inequalities.sources if s.layer == 0 and region.has_row(s)]
            if row in region.cell_of(sides).rows:
                behind[h] = -1
            else:
                pattern = pattern_behind(maps, cell, int(h - starts[owner]))
                behind[h] = int(regions.packed.find(pattern[None])[0])
                if behind[h] < 0 and "where" not in regions.stats:
                    raise InternalError(f"region {owner} has a facet that leads to no region")
        return behind[h]

    for h, owner in zip(unsure.tolist(), owners.tolist(), strict=True):
        if other[h] != _faces.UNSURE:
            continue
        there = region_behind(h, owner)
        if there < 0:
            other[h] = _faces.OUTSIDE
            continue
        own = range(int(starts[there]), int(facets.ends[there]))
        open_ones = [g for g in own if other[g] == _faces.UNSURE]
        match = open_ones[0] if len(open_ones) == 1 else None
        if match is None:
            match = next((g for g in open_ones if region_behind(g, there) == owner), None)
        if match is None:
            raise InternalError(
                f"regions {owner} and {there} share a facet that only one of them has"
            )
        other[h], other[match] = match, h


# --- two inputs -----------------------------------------------------------------------------------


def _of_polygons(
    given: tuple[Regions, Regions, Quotient], workers: int, progress: bool | None
) -> Faces:
    """The faces of polygons, whose corners and facets are in order."""
    from tropicell.analysis import _faces  # noqa: PLC0415 - imports Numba

    regions = given[1]
    network, domain = resolve(regions.network, regions.domain)
    flat = flatten(network, domain)
    with bar_of(len(regions), " regions", progress) as bar:
        other, facets = _matched(regions, flat, flip_lines(regions, flat), workers, bar)
    corners = regions.corners
    corner_ends = np.ascontiguousarray(corners.ends, dtype=np.int64)
    rays = np.ascontiguousarray(corners.values[:, -1] == 0)
    start, end = np.empty((2, len(other)), np.int64)
    wrong = _faces.walk_polygons(rays, corner_ends, facets.ends, start, end)
    if wrong >= 0:
        raise InternalError(f"corners and facets of region {wrong} do not fit together")
    check()
    parent = np.arange(len(rays))
    _faces.glue_polygons(other, start, end, parent)
    labels = np.empty(len(rays), np.int64)
    n_vertices, n_classes = _faces.number_classes(parent, rays, labels)
    check()
    # Vertices: where their first corners are.
    first = np.full(n_classes, -1, np.int64)
    first[labels[::-1]] = np.arange(len(labels))[::-1]
    at = first[:n_vertices]
    owner_of_corner = Ragged(corners.values, corner_ends).owners()
    vertices = np.ascontiguousarray(corners.values[at, :-1], dtype=np.float64)
    after, before = np.empty((2, len(rays)), np.int64)
    after[start], before[end] = facets.values, facets.values
    vertex_lines = Ragged(
        np.stack([before[at], after[at]], axis=1).ravel(), 2 * np.arange(1, n_vertices + 1)
    )
    # Edges: the first half of each.
    halves = np.flatnonzero((other < 0) | (other > np.arange(len(other))))
    n_edges = len(halves)
    number = np.empty(len(other), np.int64)
    number[halves] = np.arange(n_edges)
    inner = other[halves] >= 0
    number[other[halves][inner]] = np.flatnonzero(inner)
    ends = np.stack([labels[start[halves]], labels[end[halves]]], axis=1)
    is_ray = ends >= n_vertices
    signs = np.tile(np.array([-1, 1], np.int8), n_edges)
    kept = ~is_ray.ravel()
    edges = Sides(np.cumsum((~is_ray).sum(axis=1)), ends.ravel()[kept], signs[kept])
    directions = np.zeros((n_edges, 2))
    for column, corner in enumerate((start, end)):
        open_ones = is_ray[:, column]
        directions[open_ones] = corners.values[corner[halves[open_ones]], :-1]
    owner = facets.owners()
    half_signs = np.where((other < 0) | (other > np.arange(len(other))), 1, -1).astype(np.int8)
    cells = Sides(facets.ends, number, half_signs)
    edge_lines = Ragged(facets.values[halves], np.arange(1, n_edges + 1))
    with np.errstate(over="ignore"):
        radii = _OFF * (1.0 / flat.lines.scale + np.abs(vertices))
    if not is_tame(regions.network, regions.domain) or regions.stats.get("arithmetic") != "exact":
        radii[:] = np.inf
    no_lines = Ragged(np.empty(0, np.int64), np.zeros(len(regions), np.int64))
    return Faces(
        *given,
        vertices,
        radii,
        [_no_sides(n_vertices), edges, cells],
        [np.zeros(n_vertices, np.bool_), np.asarray(is_ray.any(axis=1)), ~regions.bounded],
        [owner_of_corner[at], owner[halves], np.arange(len(regions))],
        [vertex_lines, edge_lines, no_lines],
        directions,
        np.full(n_edges, np.inf),
    )


def _sharpened(faces: Faces) -> tuple[FloatArray, FloatArray]:
    """Vertices of polygons from the rows of the two lines on which they lie."""
    from tropicell.analysis import _faces, _flips  # noqa: PLC0415 - imports Numba

    regions, d = faces.regions, faces.vertices.shape[1]
    if d != 2 or not np.isfinite(faces.radii).all():
        return faces.vertices, faces.radii
    flat = flatten(*resolve(regions.network, regions.domain))
    words = np.ascontiguousarray(regions.packed.words, dtype=np.uint64)
    points, radii = faces.vertices.copy(), faces.radii.copy()
    order = np.argsort(faces.owners[0], kind="stable")
    lines = np.ascontiguousarray(faces.lines[0].values.reshape(-1, 2))
    room = _faces.corner_room(_flips.flip_room(flat, words.shape[1]), 2)
    vertices, patterns = (order, faces.owners[0], lines), (words, regions.packed.bits)
    flips = flip_lines(regions, flat)

    def work(part: slice) -> None:
        check()
        here = part.start, part.stop, room
        _faces.sharpen_vertices(flat, flips, patterns, vertices, here, (points, radii))

    in_parts(work, len(order), 1, _AT_ONCE * 4)
    return points, radii


def _no_sides(count: int) -> Sides:
    return Sides(np.zeros(count, np.int64), *NO_SIDES[1:])


# --- any number of inputs -------------------------------------------------------------------------


class _Corners:
    """The corners of all regions, and on which facets each lies.

    Attributes
    ----------
    points : ndarray, shape (corners, inputs + 1)
    ends : ndarray
    masks : ndarray of uint64
        See `tropicell.analysis._faces`.
    radii : ndarray, shape (corners,)
        How far they may be off, in scaled coordinates.
    """

    def __init__(
        self, regions: Regions, flat: FlatNetwork, flips: FlipLines, workers: int, bar: Any
    ) -> None:
        self.regions = regions
        self.d = regions.network.n_inputs
        facets = regions.facet_lines
        words = -(-(int(facets.counts.max(initial=0)) + 1) // 64)
        self.words = words
        self.exactly = lru_cache(maxsize=4096)(self._exactly)
        if regions.known("corners") is not None and is_tame(regions.network, regions.domain):
            corners = regions.corners
            self.points = np.array(corners.values, dtype=np.float64)
            self.ends = np.ascontiguousarray(corners.ends, dtype=np.int64)
            proved = self._prove(flat, flips, workers, bar)
            left = np.flatnonzero(~proved)
        else:
            self.points, self.ends = np.empty((0, self.d + 1)), np.empty(0, np.int64)
            self.masks = np.empty((0, words), np.uint64)
            self.radii = np.empty(0)
            left = np.arange(len(regions))
        if left.size:
            self._work_out(left)

    def _prove(
        self, flat: FlatNetwork, flips: FlipLines, workers: int, bar: Any
    ) -> NDArray[np.bool_]:
        from tropicell._runtime.memory import Blueprint  # noqa: PLC0415 - imports Numba
        from tropicell.analysis import _faces, _flips  # noqa: PLC0415

        regions = self.regions
        words = np.ascontiguousarray(regions.packed.words, dtype=np.uint64)
        lines = regions.facet_lines
        facets = lines.values.astype(np.int64), lines.ends.astype(np.int64)
        most = int(lines.counts.max(initial=1))
        self.masks = np.zeros((len(self.points), self.words), np.uint64)
        self.radii = np.zeros(len(self.points))
        proved = np.zeros(len(regions), np.bool_)
        room = Blueprint(lambda free: _flips.flip_room(flat, words.shape[1], free))
        mine = threading.local()

        def work(part: slice) -> None:
            if not hasattr(mine, "room"):
                mine.room = _faces.corner_room(room.build(), most)
            here = part.start, part.stop, mine.room
            patterns, corners = (words, regions.packed.bits), (self.points, self.ends)
            found = self.masks, self.radii, proved
            _faces.prove_corners(flat, flips, patterns, corners, facets, here, found)
            bar.update(part.stop - part.start)

        in_parts(work, len(regions), workers, _AT_ONCE)
        return proved

    def _exactly(self, region: int) -> list[tuple[Vector, int]]:
        """The corners of a region as integers, with their masks."""
        check()
        rows = known_rows(self.regions, region)
        rays = extreme_rays(rows, self.d)
        if any(ray[-1] > 0 for ray, _ in rays):
            return rays
        raise InternalError(f"region {region} has no vertices")

    def _work_out(self, left: NDArray[np.int64]) -> None:
        """Put what exact arithmetic finds in the place of some regions' corners."""
        counts = (
            np.diff(self.ends, prepend=0) if len(self.ends) else np.zeros(len(self.regions), int)
        )
        found = {int(region): self._exactly(int(region)) for region in left}
        for region, corners in found.items():
            counts[region] = len(corners)
        ends = np.cumsum(counts).astype(np.int64)
        points = np.zeros((int(ends[-1]), self.d + 1))
        masks = np.zeros((len(points), self.words), np.uint64)
        radii = np.zeros(len(points))
        kept = np.ones(len(self.regions), np.bool_)
        kept[left] = False
        if len(self.ends):
            old = np.repeat(kept, np.diff(self.ends, prepend=0))
            new = np.repeat(kept, counts)
            points[new], masks[new] = self.points[old], self.masks[old]
            radii[new] = self.radii[old]
        full = (1 << 64) - 1
        for region, corners in found.items():
            start = int(ends[region] - counts[region])
            for i, (vector, mask) in enumerate(corners):
                points[start + i] = as_floats(vector)
                masks[start + i] = [mask >> (64 * w) & full for w in range(self.words)]
                radii[start + i] = 0.0
        self.points, self.ends, self.masks, self.radii = points, ends, masks, radii

    def exact_corner(self, region: int, corner: int) -> Vector:
        """One corner as integers, its denominator (or 0) last."""
        mask = sum(int(word) << (64 * w) for w, word in enumerate(self.masks[corner]))
        for vector, own in self.exactly(region):
            if own == mask:
                return vector
        raise InternalError(f"region {region} has no such corner")


def as_floats(vector: Sequence[int]) -> list[float]:
    """A vertex or a direction of integers, in homogeneous coordinates, rounded."""
    if vector[-1] > 0:
        return [nearest_float(x, vector[-1]) for x in vector[:-1]] + [1.0]
    largest = max(abs(x) for x in vector)
    return [nearest_float(x, largest) for x in vector[:-1]] + [0.0]


def _of_cells(
    given: tuple[Regions, Regions, Quotient], workers: int, progress: bool | None
) -> Faces:
    """The faces of regions with any number of inputs."""
    from tropicell.analysis import _faces  # noqa: PLC0415 - imports Numba

    regions = given[1]
    d = regions.network.n_inputs
    network, domain = resolve(regions.network, regions.domain)
    flat = flatten(network, domain)
    flips = flip_lines(regions, flat)
    with bar_of(2 * len(regions), " regions", progress) as bar:
        other, facets = _matched(regions, flat, flips, workers, bar)
        corners = _Corners(regions, flat, flips, workers, bar)
    owner = facets.owners()
    parent, doubtful = np.arange(len(corners.points)), np.zeros(len(other), np.bool_)
    masks, sides = (corners.masks, corners.ends), (facets.values, facets.ends)
    room = np.zeros(len(flips.twin), np.int64), np.zeros(corners.words, np.uint64)
    left = _faces.glue_corners(flips.twin, other, owner, masks, sides, parent, doubtful, room)
    if left < 0:
        raise InternalError(f"the halves of a facet of region {owner[-1 - left]} differ")
    if left:
        _glue_exactly(corners, facets, other, np.flatnonzero(doubtful), parent)
    rays = corners.points[:, -1] == 0
    labels = np.empty(len(rays), np.int64)
    n_vertices, n_classes = _faces.number_classes(parent, rays, labels)
    levels = _Levels(d, corners, facets, labels)
    return levels.faces(given, flat, other, n_vertices, n_classes)


def _glue_exactly(
    corners: _Corners,
    facets: Ragged,
    other: NDArray[np.int64],
    doubtful: NDArray[np.int64],
    parent: NDArray[np.int64],
) -> None:
    """Join corners of half-facets that are one, by their exact coordinates."""
    starts = facets.ends - facets.counts
    first = corners.ends - np.diff(corners.ends, prepend=0)

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = int(parent[i])
        return i

    def on(h: int) -> dict[Vector, int]:
        region = int(np.searchsorted(facets.ends, h, side="right"))
        bit = h - int(starts[region]) + 1
        own = np.arange(first[region], corners.ends[region])
        own = own[(corners.masks[own, bit >> 6] >> np.uint64(bit & 63)) & np.uint64(1) == 1]
        return {corners.exact_corner(region, int(c)): int(c) for c in own}

    for h in doubtful.tolist():
        check()
        here, there = on(h), on(int(other[h]))
        if here.keys() != there.keys():
            raise InternalError("two regions share a facet, and its corners differ")
        for vector, corner in here.items():
            i, j = sorted((root(corner), root(there[vector])))
            parent[j] = i


class _Levels:
    """Faces of all regions, level by level: first as each region sees them, then glued."""

    def __init__(
        self, d: int, corners: _Corners, facets: Ragged, labels: NDArray[np.int64]
    ) -> None:
        self.d, self.corners, self.facets, self.labels = d, corners, facets, labels
        #: For each dimension from 1 on: where the sides of each face end, and the sides.
        self.ends: list[NDArray[np.int64]] = [np.empty(0, np.int64)] * d
        self.sides: list[NDArray[np.int32]] = [np.empty(0, np.int32)] * d
        if d > 1:
            self._list()

    def _list(self) -> None:
        from tropicell.analysis import _faces  # noqa: PLC0415 - imports Numba

        d, ends = self.d, self.corners.ends
        counts = np.diff(ends, prepend=0)
        most_corners, most_facets = int(counts.max()), int(self.facets.counts.max())
        faces, room_faces = 8 * _AT_ONCE * d, 4 * (most_corners + most_facets)
        sides = 4 * faces
        parts: list[list[tuple[NDArray[np.int64], NDArray[np.int32]]]] = [[] for _ in range(d)]
        offsets, written = np.zeros((2, d), np.int64)
        start = 0
        while start < len(ends):
            check()
            stop = min(start + _AT_ONCE, len(ends))
            room = _faces.lattice_room(d, most_facets, most_corners, room_faces)
            found_ends, found = np.empty((d, faces), np.int64), np.empty((d, sides), np.int64)
            totals = np.zeros((d, 2), np.int64)
            which = start, stop, room
            masks = self.corners.masks, ends
            done = _faces.list_faces(d, masks, self.facets.ends, which, found_ends, found, totals)
            if done < stop:
                faces, sides, room_faces = 2 * faces, 2 * sides, 2 * room_faces
                continue
            base = int(ends[start - 1]) if start else 0
            for k in range(1, d):
                shift = base if k == 1 else offsets[k - 1]
                self._check_count(int(shift + totals[k, 1]))
                parts[k].append(
                    (
                        found_ends[k, : totals[k, 0]] + written[k],
                        (found[k, : totals[k, 1]] + shift).astype(np.int32),
                    )
                )
            offsets += totals[:, 0]
            written += totals[:, 1]
            start = stop
        for k in range(1, d):
            self.ends[k] = np.concatenate([own for own, _ in parts[k]])
            self.sides[k] = np.concatenate([own for _, own in parts[k]])
            parts[k].clear()

    @staticmethod
    def _check_count(count: int) -> None:
        """Numbers of faces, as regions see them, must fit into 32 bits."""
        if count >= 2**31:
            raise InternalError("there are too many faces")

    def faces(
        self,
        given: tuple[Regions, Regions, Quotient],
        flat: FlatNetwork,
        other: NDArray[np.int64],
        n_vertices: int,
        n_classes: int,
    ) -> Faces:
        """All faces, each once."""
        from tropicell.analysis import _faces  # noqa: PLC0415 - imports Numba

        d, corners, facets, regions = self.d, self.corners, self.facets, given[1]
        corner_owner = Ragged(corners.points, corners.ends).owners()
        first = np.full(n_classes, -1, np.int64)
        first[self.labels[::-1]] = np.arange(len(self.labels))[::-1]
        at = first[:n_vertices]
        vertices = np.ascontiguousarray(corners.points[at, :-1])
        radii = corners.radii[at, None] / flat.lines.scale + 2.0**-52 * np.abs(vertices)
        owners = [corner_owner[at]]
        lines = [self._lines_of(corners.masks[at], owners[0])]
        sides = [_no_sides(n_vertices)]
        unbounded = [np.zeros(n_vertices, np.bool_)]
        ids, masks, open_ones = self.labels, corners.masks, corners.points[:, -1] == 0
        instance_owner = corner_owner
        directions, wrong_by = np.zeros((0, d)), np.zeros(0)
        for k in range(1, d):
            check()
            ends, own = self.ends[k], self.sides[k]
            # They are needed here for the last time.
            self.ends[k], self.sides[k] = self.ends[k][:0], self.sides[k][:0]
            counts = np.diff(ends, prepend=0)
            seen = masks, open_ones, instance_owner
            masks = np.empty((len(ends), corners.words), np.uint64)
            open_ones, instance_owner = np.empty(len(ends), np.bool_), np.empty(len(ends), np.int64)
            _faces.gather(ends, own, seen, (masks, open_ones, instance_owner))
            del seen
            if k == d - 1:
                number = np.empty(len(ends), np.int64)
                halves = np.flatnonzero((other < 0) | (other > np.arange(len(other))))
                number[halves] = np.arange(len(halves))
                inner = other[halves] >= 0
                number[other[halves][inner]] = np.flatnonzero(inner)
            else:
                keys = np.empty((len(ends), 2), np.int64)
                _faces.two_smallest(ends, own, ids, keys)
                if len(ids) and int(ids.max()) >= 2**31:
                    raise InternalError("there are too many faces")
                halves, number = _numbered(keys[:, 0] << 32 | keys[:, 1])
                del keys
            chosen = Ragged(own, ends).places(halves)
            below = ids[own[chosen]]
            chosen_ends = np.cumsum(counts[halves])
            unbounded.append(open_ones[halves])
            owners.append(instance_owner[halves])
            lines.append(self._lines_of(masks[halves], owners[-1]))
            if k == 1:
                finite = below < n_vertices
                edge = np.repeat(np.arange(len(halves)), counts[halves])
                directions = np.zeros((len(halves), d))
                directions[edge[~finite]] = corners.points[own[chosen][~finite], :-1]
                wrong_by = np.zeros(len(halves))
                # The largest scaled coordinate of a ray is 1; so much of it may be off.
                wrong = corners.radii[own[chosen][~finite]] / flat.lines.scale.min()
                wrong_by[edge[~finite]] = wrong + 2.0**-52 * np.abs(directions[edge[~finite]]).max(
                    axis=1, initial=0.0
                )
                # From the smaller number to the larger one; rays come last.
                two = below.reshape(-1, 2)
                larger = (below == np.repeat(two.max(axis=1), 2)).astype(np.int8) * 2 - 1
                ends_kept = np.cumsum(np.bincount(edge[finite], minlength=len(halves)))
                sides.append(Sides(ends_kept, below[finite], larger[finite]))
            else:
                signs = np.empty(len(below), np.int8)
                scratch = np.empty(int(counts.max()), np.int64)
                ridges = _faces.ridge_room(len(sides[-2].ends))
                wrong = _faces.orient(chosen_ends, below, tuple(sides[-1]), signs, scratch, ridges)
                if wrong >= 0:
                    raise InternalError(
                        f"face {wrong} of dimension {k} has sides that do not close"
                    )
                sides.append(Sides(chosen_ends, below, signs))
            ids = number
        if d == 1:
            sides.append(self._intervals(n_vertices))
            directions, wrong_by = np.zeros((len(regions), 1)), np.zeros(len(regions))
            open_corner = corners.points[:, -1] == 0
            directions[corner_owner[open_corner]] = np.sign(corners.points[open_corner, :-1])
        else:
            signs = np.empty(len(ids), np.int8)
            scratch = np.empty(int(facets.counts.max()), np.int64)
            ridges = _faces.ridge_room(len(sides[-2].ends))
            wrong = _faces.orient(facets.ends, ids, tuple(sides[-1]), signs, scratch, ridges)
            queue, turned = np.empty(len(regions), np.int64), np.zeros(len(regions), np.int8)
            if wrong < 0:
                half_owner = facets.owners()
                wrong = _faces.agree(facets.ends, half_owner, signs, other, queue, turned)
            if wrong >= 0:
                raise InternalError(f"region {wrong} has sides that do not close")
            sides.append(Sides(facets.ends, ids, signs))
        open_cells = np.bitwise_or.reduceat(
            corners.points[:, -1] == 0, corners.ends - np.diff(corners.ends, prepend=0)
        )
        unbounded.append(open_cells)
        owners.append(np.arange(len(regions)))
        lines.append(Ragged(np.empty(0, np.int64), np.zeros(len(regions), np.int64)))
        found = Faces(
            *given, vertices, radii, sides, unbounded, owners, lines, directions, wrong_by
        )
        if d > 1:
            _turn(found)
        return found

    def _intervals(self, n_vertices: int) -> Sides:
        """The end points of intervals: from the smaller coordinate to the larger one."""
        corners = self.corners
        points, counts = corners.points, np.diff(corners.ends, prepend=0)
        finite = points[:, -1] != 0
        owner = np.repeat(np.arange(len(counts)), counts)
        middle = np.zeros(len(counts))
        witness = np.asarray(corners.regions.witnesses, dtype=np.float64)[:, 0]
        middle[:] = witness
        signs = np.where(points[:, 0] > middle[owner], 1, -1).astype(np.int8)
        two = np.bincount(owner[finite], minlength=len(counts))
        # Of two corners that rounding can't tell from the witness, one is the larger.
        for i in np.flatnonzero(two == 2):
            own = slice(int(corners.ends[i]) - 2, int(corners.ends[i]))
            if signs[own].sum() != 0:
                a, b = (corners.exact_corner(int(i), c) for c in range(own.start, own.stop))
                signs[own] = (-1, 1) if a[0] * b[1] < b[0] * a[1] else (1, -1)
        return Sides(np.cumsum(two), self.labels[finite], signs[finite])

    def _lines_of(self, masks: NDArray[np.uint64], owners: NDArray[np.int64]) -> Ragged:
        """The lines of masks of some regions."""
        from tropicell.analysis import _faces  # noqa: PLC0415 - imports Numba

        counts = np.empty(len(masks), np.int64)
        _faces.count_lines(masks, counts)
        values = np.empty(int(counts.sum()), np.int64)
        _faces.write_lines(masks, owners, self.facets.values, self.facets.ends, values)
        return Ragged.from_counts(values, counts)


def _numbered(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each different key comes first, in that order, and the number of each key."""
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return first[order], rank[inverse]


def _turn(faces: Faces) -> None:
    """Orient regions as space is: all that hang together are turned over if one is wrong."""
    d = faces.vertices.shape[1]
    for some in _connected(faces, d):
        best, sign = 0.0, 1.0
        for region in some[np.linspace(0, len(some) - 1, 8).astype(int)].tolist():
            size, own = _flag_sign(faces, d, region)
            if size > best:
                best, sign = size, own
        if sign < 0:
            ends, below, signs = faces.sides[d]
            signs[Ragged(below, ends).places(some)] *= -1


def _connected(faces: Faces, d: int) -> list[NDArray[np.int64]]:
    """The regions, in parts between which no facet leads: one part if the regions are all."""
    from scipy.sparse import csgraph  # noqa: PLC0415 - slow to import

    if "where" not in faces.regions.stats:
        return [np.arange(len(faces.regions))]
    ends, below, _ = faces.sides[d]
    starts = np.concatenate([[0], ends])
    shape = (len(ends), int(below.max(initial=-1)) + 1)
    sides = sp.csr_array((np.ones(len(below)), below, starts), shape=shape)
    labels = csgraph.connected_components(sides @ sides.T, directed=False)[1]
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)


def _flag_sign(faces: Faces, d: int, region: int) -> tuple[float, float]:
    """The orientation of a region by a chain of its faces: how sure, and its sign.

    With b the middles of faces F_d ⊃ … ⊃ F_0, the vectors b_(d-1) - b_d, …, b_0 - b_1 point
    outwards; so their determinant has the sign of the product of all incidences.
    """
    face, sign, middles = region, 1.0, [_middle(faces, d, region)]
    for k in range(d, 0, -1):
        ends, below, signs = faces.sides[k]
        at = int(ends[face - 1]) if face else 0
        sign *= float(signs[at])
        face = int(below[at])
        middles.append(_middle(faces, k - 1, face))
    steps = np.diff(np.array(middles), axis=0)
    lengths = np.linalg.norm(steps, axis=1)
    if not (lengths > 0).all():
        return 0.0, 1.0
    determinant = float(np.linalg.det(steps / lengths[:, None]))
    return abs(determinant), float(np.sign(determinant)) * sign


def _middle(faces: Faces, k: int, face: int) -> FloatArray:
    """A point inside a face, about."""
    current = {face}
    direction = np.zeros(faces.vertices.shape[1])
    for level in range(k, 0, -1):
        ends, below, _ = faces.sides[level]
        if level == 1:
            direction = sum((faces.directions[f] for f in current), start=direction)
        current = {int(v) for f in current for v in below[(ends[f - 1] if f else 0) : ends[f]]}
    return np.asarray(faces.vertices[sorted(current)].mean(axis=0) + direction)
