"""Regions as what one sees: polygons in the plane, polyhedra in space; unbounded ones cut off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime import interruption
from tropicell.errors import InvalidInputError
from tropicell.geometry.arithmetic import to_floats
from tropicell.network.domains import Box, Domain, Polytope
from tropicell.network.inequalities import Lines
from tropicell.network.network import Network
from tropicell.plotting.frame import thresholds
from tropicell.plotting.plane import pre_activations
from tropicell.regions.columns import Ragged
from tropicell.regions.regions import Regions
from tropicell.search.enumeration import all_regions

#: Room around the outermost corners when regions are unbounded, as a share of their extent.
_MARGIN = 0.1

#: A corner is on a facet if it misses it by at most this share of what is compared.
_NEAR = 1e-9

#: Pairs of a facet and a corner that are compared in one go.
_PAIRS = 2**22


@dataclass(frozen=True, eq=False)
class Outline:
    """Regions as polygons, in the order of the regions.

    Attributes
    ----------
    corners : Ragged
        Corners of each region, shape (corners, inputs); in the plane in order around it.
    sides : ndarray
        For every corner the line (see `tropicell.network.inequalities`) of the side that starts
        there.
    lines : Lines
        What the numbers in `sides` stand for.
    """

    corners: Ragged
    sides: NDArray[np.int64]
    lines: Lines

    @property
    def extent(self) -> NDArray[np.float64]:
        """Smallest and largest coordinates, shape (2, 2)."""
        return np.stack([self.corners.values.min(axis=0), self.corners.values.max(axis=0)])

    def owners(self) -> NDArray[np.int64]:
        """For every side the region that it belongs to."""
        return self.corners.owners()

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What the page needs besides corners and sides."""
        return {}


@dataclass(frozen=True, eq=False)
class Polyhedra(Outline):
    """Regions as polyhedra: facets with their corners in order.

    Attributes
    ----------
    facet_counts : ndarray
        Number of facets of every region; `sides` has one line for each of them.
    faces : Ragged
        For each facet its corners in order around it, counted within its region.
    """

    facet_counts: NDArray[np.int64]
    faces: Ragged

    def owners(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(len(self.facet_counts)), self.facet_counts)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {
            "facetCounts": self.facet_counts.astype(np.uint16),
            "faceSizes": self.faces.counts.astype(np.uint16),
            "faceCorners": self.faces.values.astype(np.uint16),
        }


def check_inputs(inputs: int) -> None:
    """Refuse networks that can't be drawn."""
    if inputs not in (2, 3):
        raise InvalidInputError(
            f"the explorer shows networks with 2 or 3 inputs, this one has {inputs}; enumerate its "
            "regions on a Slice (on the command line: --slice), a plane or a space of 3 dimensions"
        )


def check(regions: Regions) -> None:
    """Refuse what can't be drawn."""
    check_inputs(regions.network.n_inputs)
    if not len(regions):
        raise InvalidInputError("there are no regions to explore")


def outline(regions: Regions, border: Box | None = None) -> Outline:
    """Regions as polygons, or as polyhedra; unbounded ones are cut off by a border (a `frame`).

    Examples
    --------
    >>> from tropicell import enumerate_regions
    >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
    >>> outline(enumerate_regions(network)).corners.counts
    array([4, 4, 4, 4])
    """
    check(regions)
    network, inputs = regions.network, regions.network.n_inputs
    bounded = bool(regions.bounded.all())
    if bounded and (inputs == 3 or regions.stats.get("engine") == "cells"):
        facets = regions.facet_lines
        shape = Outline(_flat(regions.corners, inputs), facets.values, regions.lines)
        return shape if inputs == 2 else polyhedra(shape, facets, network, regions.domain)
    if not regions.covers:
        raise InvalidInputError(
            "these regions are not complete, and some are unbounded or without corners in order: "
            "enumerate them in a Box with the engine 'cells'"
        )
    domain = regions.domain
    domain.inequalities(inputs)  # a round ball has none: it says so
    if not bounded:
        domain = _within(domain, frame([regions]) if border is None else border, inputs)
    again = all_regions(network, domain, engine="cells", progress=False)
    rows = again.packed.find(regions.patterns)
    if (rows < 0).any():
        raise InvalidInputError(
            f"{(rows < 0).sum()} regions could not be cut off by a frame: enumerate them in a Box"
        )
    corners = _flat(_taken(again.corners, rows), inputs)
    facets = _taken(again.facet_lines, rows)
    shape = Outline(corners, facets.values, again.lines)
    return shape if inputs == 2 else polyhedra(shape, facets, network, domain)


def _taken(ragged: Ragged, rows: NDArray[np.int64]) -> Ragged:
    return Ragged.from_counts(ragged.values[ragged.places(rows)], ragged.counts[rows])


def _flat(corners: Ragged, inputs: int) -> Ragged:
    return Ragged(corners.values[:, :inputs].astype(np.float64), corners.ends)


def _landmarks(regions: Regions) -> NDArray[np.float64]:
    """All vertices, and the witnesses of regions without any."""
    corners, inputs = regions.corners, regions.network.n_inputs
    vertex = corners.values[:, inputs] != 0
    with_vertex = np.zeros(len(regions), dtype=np.bool_)
    with_vertex[corners.owners()[vertex]] = True
    witnesses = to_floats(regions.witnesses[~with_vertex])
    points = np.concatenate([corners.values[vertex, :inputs], witnesses])
    finite = np.isfinite(points).all(axis=1)  # some may be beyond what float64 can hold
    return np.asarray(points[finite])


def frame(pictures: Sequence[Regions]) -> Box:
    """A box with a point of every region, and all corners, inside."""
    points = np.concatenate([_landmarks(regions) for regions in pictures])
    low, high = points.min(axis=0), points.max(axis=0)
    room = _MARGIN * np.maximum((high - low).max(), 1.0)
    return Box(low - room, high + room)


def first_view(pictures: Sequence[Regions], extent: NDArray[np.float64]) -> NDArray[np.float64]:
    """What the page shows at first: everything, or where most corners are if there is no border.

    Two lines that are almost parallel meet far away, and the frame must reach until there.
    """
    if all(bool(regions.bounded.all()) for regions in pictures):
        return extent
    points = np.concatenate([_landmarks(regions) for regions in pictures])
    low, high = np.quantile(points, [0.1, 0.9], axis=0)
    room = np.maximum(0.5 * (high - low).max(), 1e-3 * (extent[1] - extent[0]).max())
    return np.stack([np.maximum(low - room, extent[0]), np.minimum(high + room, extent[1])])


def _within(domain: Domain, box: Box, inputs: int) -> Polytope:
    parts = [domain.inequalities(inputs), box.inequalities(inputs)]
    return Polytope(np.concatenate([a for a, _ in parts]), np.concatenate([b for _, b in parts]))


def polyhedra(shape: Outline, facets: Ragged, network: Network, domain: Domain) -> Polyhedra:
    """Find the corners of every facet.

    Parameters
    ----------
    shape : Outline
        With corners in any order.
    facets : Ragged
        The lines of every region's facets.
    network, domain
        What the lines belong to.

    Examples
    --------
    >>> from tropicell import Box, enumerate_regions
    >>> regions = enumerate_regions(Network.mlp([np.eye(3), [[1.0, 1.0, 1.0]]]), Box(-1, 1))
    >>> cubes = outline(regions)
    >>> len(cubes.faces), set(cubes.faces.counts.tolist())
    (48, {4})
    """
    corners = shape.corners
    owner = facets.owners()
    starts = corners.ends - corners.counts
    found, sizes = [], np.zeros(len(owner), dtype=np.int64)
    counts = corners.counts[owner]
    # Facets are taken in parts, so that all pairs of a facet and a corner of its region fit.
    parts = np.split(
        np.arange(len(owner)), np.flatnonzero(np.diff(np.cumsum(counts) // _PAIRS)) + 1
    )
    misses = _Misses(network, domain, shape, corners.values)
    for part in parts:
        interruption.check()
        row = np.repeat(part, counts[part])
        local = np.arange(len(row)) - np.repeat(
            np.cumsum(counts[part]) - counts[part], counts[part]
        )
        place = starts[owner[row]] + local
        on = misses.on(facets.values[row], place)
        row, local, place = row[on], local[on], place[on]
        order = _around(row, corners.values[place])
        found.append(local[order])
        sizes += np.bincount(row, minlength=len(owner))
    faces = Ragged.from_counts(np.concatenate(found), sizes)
    return Polyhedra(corners, facets.values, shape.lines, facets.counts, faces)


class _Misses:
    """Which corners are on which lines: numbers before activations, and inequalities."""

    def __init__(
        self, network: Network, domain: Domain, shape: Outline, points: NDArray[np.float64]
    ) -> None:
        self.lines = shape.lines
        a, b = domain.inequalities(network.n_inputs)
        self.before = pre_activations(network, points)
        self.limits = thresholds(network, self.lines)
        self.outside = points @ a.T - b
        self.size = np.abs(points @ a.T).max(axis=0, initial=1.0)
        self.largest = np.abs(self.before).max(axis=0, initial=0.0)

    def on(self, line: NDArray[np.int64], place: NDArray[np.int64]) -> NDArray[np.bool_]:
        inner = line >= self.lines.first
        result = np.zeros(len(line), dtype=np.bool_)
        k = line[inner] - self.lines.first
        neuron = self.lines.neuron[k]
        size = np.maximum(self.largest[neuron], np.abs(self.limits[k]))
        miss = np.abs(self.before[place[inner], neuron] - self.limits[k])
        result[inner] = miss <= _NEAR * size
        row = line[~inner] - 1
        result[~inner] = np.abs(self.outside[place[~inner], row]) <= _NEAR * self.size[row]
        return result


def _around(face: NDArray[np.int64], points: NDArray[np.float64]) -> NDArray[np.intp]:
    """An order in which the points of each face (its numbers ascend) go around it."""
    if not len(face):
        return np.empty(0, dtype=np.intp)
    first = np.flatnonzero(np.diff(face, prepend=-1))
    group = np.cumsum(np.diff(face, prepend=-1) > 0) - 1
    counts = np.diff(first, append=len(face))
    centre = np.add.reduceat(points, first) / counts[:, None]
    arm = points - centre[group]
    one = arm[first][group]
    # The normal: the longest product of the first arm with another one.
    across = np.cross(one, arm)
    length = np.linalg.norm(across, axis=1)
    best = np.lexsort((-length, group))[first]
    normal = across[best][group]
    two = np.cross(normal, one)
    size = np.maximum(np.linalg.norm(two, axis=1), 1e-300)
    long = np.maximum(np.linalg.norm(one, axis=1), 1e-300)
    angle = np.arctan2((arm * two).sum(axis=1) / size, (arm * one).sum(axis=1) / long)
    return np.lexsort((angle, group))
