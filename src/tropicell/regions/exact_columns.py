"""Columns that an engine did not give: worked out region by region, in exact arithmetic."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.interruption import check
from tropicell.geometry.arithmetic import to_floats
from tropicell.geometry.generators import generators
from tropicell.geometry.polyhedra import Row, from_point, integer_row, is_bounded
from tropicell.network.domains import Ball, Box
from tropicell.network.inequalities import domain_inequalities
from tropicell.regions.columns import Ragged

if TYPE_CHECKING:
    from tropicell.regions.regions import Regions


def ends_everywhere(regions: Regions) -> bool:
    """Whether the domain is bounded, and so are all regions.

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> network = Network.mlp([[[1.0]], [[1.0]]])
    >>> [ends_everywhere(enumerate_regions(network, box)) for box in (None, Box(0, 1))]
    [False, True]
    """
    domain, dimension = regions.domain, regions.network.n_inputs
    if isinstance(domain, Ball):
        return True
    if isinstance(domain, Box):
        return bool(np.isfinite(domain.corners(dimension)).all())
    rows = domain_inequalities(domain, dimension, "exact")
    integers = [integer_row([*(-a), b]) for a, b in zip(rows.A, rows.b, strict=True)]
    return is_bounded(integers, dimension)


def bounded(regions: Regions, some: Iterable[int] | None = None) -> NDArray[np.bool_]:
    """Whether each region, or some of them, is bounded, by its recession cone."""
    some = range(len(regions)) if some is None else list(some)
    found = np.zeros(len(some), dtype=np.bool_)
    if not regions.quotient.is_trivial:
        return found
    for place, index in enumerate(some):
        check()
        found[place] = regions[index].bounded
    return found


def corners(regions: Regions, some: Iterable[int] | None = None) -> Ragged:
    """Vertices (last coordinate 1) and rays (0) of each region; lines as two opposite rays.

    A coordinate of a vertex that is too large for float64 is infinite.
    """
    if not regions.quotient.is_trivial and some is None:
        return _lifted_corners(regions)
    rows, counts = [], []
    for index in range(len(regions)) if some is None else some:
        check()
        region = regions[index]
        rays = _directions(np.concatenate([region.rays, region.lineality, -region.lineality]))
        vertices = to_floats(region.vertices)
        ones, zeros = np.ones((len(vertices), 1)), np.zeros((len(rays), 1))
        rows += [np.hstack([vertices, ones]), np.hstack([rays, zeros])]
        counts.append(len(vertices) + len(rays))
    values = np.concatenate(rows) if rows else np.empty((0, regions.network.n_inputs + 1))
    return Ragged.from_counts(values, np.array(counts, dtype=np.int64))


def _lifted_corners(regions: Regions) -> Ragged:
    """Those of the reduced regions, and the directions in which nothing changes, both ways."""
    inner, quotient = regions.reduced.corners, regions.quotient
    kernel = _directions(quotient.kernel)
    around = np.concatenate([kernel, -kernel])
    around = np.hstack([around, np.zeros((len(around), 1))])
    values = np.empty((len(inner.values) + len(regions) * len(around), around.shape[1]))
    counts = inner.counts + len(around)
    ends = np.cumsum(counts)
    own = np.ones(len(values), dtype=np.bool_)
    own[(ends[:, None] - np.arange(1, len(around) + 1)).ravel()] = False
    values[own, :-1] = quotient.lift(inner.values[:, :-1])
    values[own, -1] = inner.values[:, -1]
    values[~own] = np.tile(around, (len(regions), 1))
    return Ragged(values, ends)


def _directions(rays: NDArray[Any]) -> NDArray[np.float64]:
    """Directions in float64; those with a number that is too large are made shorter."""
    floats = to_floats(rays)
    for i in np.flatnonzero(~np.isfinite(floats).all(axis=1)):
        floats[i] = to_floats(rays[i] / np.abs(rays[i]).max())
    return floats


def facet_lines(regions: Regions, some: Iterable[int] | None = None) -> Ragged:
    """The lines (see `tropicell.network.inequalities`) of the facets of all regions, or of some."""
    if not regions.quotient.is_trivial:
        return facet_lines(regions.reduced, some)
    lines = regions.lines
    numbers = {lines.boundary(i): i for i in range(1, lines.count)}
    rows = []
    for index in range(len(regions)) if some is None else some:
        check()
        rows.append([numbers[facet.sources[0]] for facet in regions[index].facets])
    counts = np.array([len(row) for row in rows], dtype=np.int64)
    values = np.fromiter(chain.from_iterable(rows), dtype=np.int64)
    return Ragged.from_counts(values, counts)


def known_rows(regions: Regions, index: int) -> tuple[Row, ...]:
    """The inequalities of a region as integers: those of its facets, if these are known."""
    rows = regions[index].inequalities
    chosen = list(range(len(rows)))
    if regions.known("facet_lines") is not None:
        places = {source: i for i, source in enumerate(rows.sources)}
        lines = regions.facet_lines[index]
        chosen = [places[regions.lines.boundary(int(line))] for line in lines if line > 0]
    return tuple(integer_row([*(-rows.A[i]), rows.b[i]]) for i in chosen if rows.A[i].any())


def exact_vertices(regions: Regions, index: int) -> NDArray[Any]:
    """The corners of a region in rationals, shape (vertices, inputs).

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> regions = enumerate_regions(Network.mlp([[[3.0]], [[1.0]]], [[-1.0], [0.0]]), Box(0, 1))
    >>> sorted(map(str, exact_vertices(regions, 0).ravel()))
    ['0', '1/3']
    """
    rows = known_rows(regions, index)
    found = [from_point(v) for v in generators(rows, regions.network.n_inputs).vertices]
    return np.array(found, dtype=object).reshape(len(found), regions.network.n_inputs)
