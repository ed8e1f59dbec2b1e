"""Exact answers from regions: volumes, slopes, extrema, integrals, decision boundaries.

A network is affine on every region, so its largest value is at a corner, its steepest slope is
one of finitely many, and its integral is a sum over regions of volume times value at the centroid.
The answers are exact up to the rounding of these formulas in float64: nothing is sampled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from tropicell.arithmetic import nearest_float
from tropicell.arrays import FloatArray
from tropicell.columns import Ragged
from tropicell.errors import InvalidInputError
from tropicell.generators import volume
from tropicell.parts import check_workers, in_parts
from tropicell.regions import Regions

if TYPE_CHECKING:
    from scipy.spatial import ConvexHull

Norm = Literal["l1", "l2", "linf"]

#: Regions that a thread measures at a time.
_AT_ONCE = 1024

_ORDERS: dict[str, float] = {"l1": 1, "l2": 2, "linf": np.inf}


def volumes(regions: Regions, *, workers: int = 1) -> FloatArray:
    """Length, area or volume of each region, inf where unbounded.

    Parameters
    ----------
    regions : Regions
    workers : int
        Number of threads; the values do not depend on it.

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> network = Network.mlp([[[1.0, 1.0]], [[1.0]]], [[-1.0], [0.0]])
    >>> volumes(enumerate_regions(network, Box(0, 1)), workers=2)
    array([0.5, 0.5])
    """
    check_workers(workers)
    if regions.complete and regions.network.n_inputs > 2:
        sizes = _by_cells(regions, workers)
        if not np.isnan(sizes).any():
            return sizes
    sizes = _moments(regions, workers)[0]
    for i in np.flatnonzero(np.isnan(sizes)):  # floats overflow; the size itself may not
        exact = volume(regions[int(i)].cell.rows, regions.network.n_inputs)
        sizes[i] = nearest_float(int(exact.p), int(exact.q))
    return sizes


def _by_cells(regions: Regions, workers: int) -> FloatArray:
    """Volumes of all regions: the cells engine knows which corners lie on which facets.

    It finds the regions once more, which takes less time than finding the corners of each. nan
    for regions that it does not have: those of float arithmetic need not be the true ones.
    """
    from tropicell.engines.cells import CellTask  # noqa: PLC0415 - imports Numba
    from tropicell.engines.threads import UnitRun  # noqa: PLC0415

    run = UnitRun(CellTask(regions.network, regions.domain, volumes=True), workers)
    sizes, at = np.full(len(regions), np.nan), 0
    try:
        for batch in run.batches():
            if batch is not None and batch.volumes is not None:
                words = batch.packed.words
                rows = slice(at, at + len(words))
                at = rows.stop
                if np.array_equal(words, regions.packed.words[rows]):  # in the same order
                    sizes[rows] = batch.volumes
                else:
                    known = regions.packed.find_words(words)
                    sizes[known[known >= 0]] = batch.volumes[known >= 0]
    finally:
        run.join()
    return sizes


def _moments(regions: Regions, workers: int = 1) -> tuple[FloatArray, FloatArray]:
    """Volume and centroid of each region; inf and nan where unbounded."""
    corners, dimension = regions.corners, regions.network.n_inputs
    sizes = np.full(len(regions), np.inf)
    centroids = np.full((len(regions), dimension), np.nan)
    work = _flat if dimension <= 2 else _solid
    in_parts(work(corners, sizes, centroids), len(regions), workers, _AT_ONCE)
    return sizes, centroids


def _flat(corners: Ragged, sizes: FloatArray, centroids: FloatArray) -> Callable[[slice], None]:
    """What fills the moments of some regions with one or two inputs."""
    from tropicell import _moments as kernels  # noqa: PLC0415 - imports Numba

    kernel = kernels.segments if centroids.shape[1] == 1 else kernels.polygons
    values = np.ascontiguousarray(corners.values, dtype=np.float64)
    ends = np.ascontiguousarray(corners.ends, dtype=np.int64)
    return lambda part: kernel(values, ends, part.start, part.stop, sizes, centroids)


def _solid(corners: Ragged, sizes: FloatArray, centroids: FloatArray) -> Callable[[slice], None]:
    """The same for three and more inputs."""

    def work(part: slice) -> None:
        for i in range(part.start, part.stop):
            points = corners[i]
            if len(points) > centroids.shape[1] and (points[:, -1] != 0).all():
                sizes[i], centroids[i] = _polytope(points[:, :-1])

    return work


def _polytope(points: FloatArray) -> tuple[float, FloatArray]:
    """Simplices between the facets' triangles and a point inside."""
    inside = points.mean(axis=0)
    simplices = (points - inside)[_hull(points - inside).simplices]
    sizes = np.abs(np.linalg.det(simplices)) / np.prod(np.arange(1, points.shape[1] + 1))
    total = float(sizes.sum())
    centres = simplices.sum(axis=1) / (points.shape[1] + 1)
    centre = (sizes[:, None] * centres).sum(axis=0) / total if total > 0 else 0.0
    return total, inside + centre


def lipschitz(regions: Regions, norm: Norm = "l2") -> tuple[float, int]:
    """The exact Lipschitz constant over the domain, and a region where it is attained.

    Parameters
    ----------
    regions : Regions
    norm : {"l1", "l2", "linf"}
        Norm of both inputs and outputs.

    Returns
    -------
    constant : float
        The largest operator norm of a region's matrix.
    region : int

    Examples
    --------
    >>> from tropicell import Network, enumerate_regions
    >>> network = Network.mlp([[[3.0], [-2.0]], [[1.0, 1.0]]])
    >>> lipschitz(enumerate_regions(network))
    (3.0, 1)
    """
    if norm not in _ORDERS:
        raise InvalidInputError(f"norm must be 'l1', 'l2' or 'linf', not {norm!r}")
    matrices = regions.affine_maps[:, :, :-1]
    norms = np.linalg.norm(matrices, ord=_ORDERS[norm], axis=(1, 2))
    best = int(np.argmax(norms))
    return float(norms[best]), best


@dataclass(frozen=True, eq=False)
class Extrema:
    """Smallest and largest value of each output, and where.

    Attributes
    ----------
    minimum, maximum : ndarray, shape (outputs,)
        -inf and inf where the output is not bounded.
    argmin, argmax : ndarray, shape (outputs, inputs)
        Points where they are attained; nan where they are not.
    """

    minimum: FloatArray
    argmin: FloatArray
    maximum: FloatArray
    argmax: FloatArray


def extrema(regions: Regions) -> Extrema:
    """The exact minimum and maximum of each output over the domain.

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> network = Network.mlp([[[1.0], [-1.0]], [[1.0, 2.0]]])
    >>> found = extrema(enumerate_regions(network, Box(-1, 1)))
    >>> found.minimum, found.maximum, found.argmax
    (array([0.]), array([2.]), array([[-1.]]))
    """
    maximum, argmax = _maximum(regions, 1.0)
    minimum, argmin = _maximum(regions, -1.0)
    return Extrema(-minimum, argmin, maximum, argmax)


def _maximum(regions: Regions, sign: float) -> tuple[FloatArray, FloatArray]:
    corners = regions.corners
    rays = corners.values[:, -1] == 0
    # At a vertex this is the value, along a ray the slope.
    maps = regions.affine_maps[corners.owners()]
    values = sign * np.einsum("nod,nd->no", maps, corners.values)
    best = np.where(rays[:, None], -np.inf, values).argmax(axis=0)
    outputs = np.arange(values.shape[1])
    maximum, where = values[best, outputs], corners.values[best, :-1].copy()
    for output in outputs:
        rising = np.flatnonzero(rays & (values[:, output] > 0))
        if _rises(regions, corners.owners()[rising], int(output), sign):
            maximum[output], where[output] = np.inf, np.nan
    return maximum, where


def _rises(regions: Regions, owners: NDArray[np.int64], output: int, sign: float) -> bool:
    """Whether an output grows without end on one of some unbounded regions, in exact arithmetic.

    Rounding errors make a slope of 0 along a ray positive as often as not.
    """
    for owner in np.unique(owners):
        region = regions[int(owner)]
        slopes = region.affine_map.matrix[output] * int(sign)
        if any(ray @ slopes > 0 for ray in region.rays):
            return True
        if any(line @ slopes != 0 for line in region.lines):
            return True
    return False


def integral(regions: Regions) -> FloatArray:
    """The exact integral of each output over a bounded domain.

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> integral(enumerate_regions(Network.mlp([[[1.0]], [[1.0]]]), Box(-1, 1)))
    array([0.5])
    """
    sizes, centroids = _moments(regions)
    if not np.isfinite(sizes).all():
        raise InvalidInputError(
            "the domain is unbounded, so is the integral: enumerate the regions in a Box"
        )
    maps = regions.affine_maps
    values = np.einsum("nod,nd->no", maps[:, :, :-1], centroids) + maps[:, :, -1]
    return np.asarray(sizes @ values)


def mean(regions: Regions) -> FloatArray:
    """The exact mean of each output over a bounded domain.

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> mean(enumerate_regions(Network.mlp([[[1.0]], [[1.0]]]), Box(-1, 1)))
    array([0.25])
    """
    return np.asarray(integral(regions) / regions.volumes.sum())


def decision_boundary(regions: Regions, first: int = 0, second: int = 1) -> list[FloatArray]:
    """Where two outputs are equal: points (1-D), segments (2-D) or polygons (3-D).

    Parameters
    ----------
    regions : Regions
        On a bounded domain.
    first, second : int
        The two outputs.

    Returns
    -------
    list of ndarray, shape (corners, inputs)
        In 3-D the corners are in order.

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> network = Network.mlp([[[1.0, 0.0]], [[1.0], [0.0]]], [[0.0], [-0.5, 0.0]])
    >>> decision_boundary(enumerate_regions(network, Box(-1, 1)))
    [array([[ 0.5, -1. ],
           [ 0.5,  1. ]])]
    """
    if regions.network.n_inputs > 3:
        raise InvalidInputError("decision boundaries are drawn for 1 to 3 inputs; use a Slice")
    if not regions.bounded.all():
        raise InvalidInputError("the domain is unbounded: enumerate the regions in a Box")
    difference = regions.affine_maps[:, first] - regions.affine_maps[:, second]
    corners = regions.corners
    signs = np.einsum("nd,nd->n", difference[corners.owners()], corners.values)
    pieces = []
    start = 0
    for end in corners.ends:
        points, values = corners.values[start:end, :-1], signs[start:end].copy()
        start = end
        values[np.abs(values) <= 1e-12 * np.abs(values).max()] = 0.0
        # A facet on which the outputs are equal is taken from its positive side.
        facet = (values == 0).sum() >= points.shape[1]
        if (values > 0).any() and (facet or (values < 0).any()):
            pieces.append(_level_set(points, values))
    return pieces


def _level_set(points: FloatArray, values: FloatArray) -> FloatArray:
    """The zero set of an affine function on the convex hull of points, by its extreme points."""
    above, below = values > 0, values < 0
    p, vp = points[above][:, None], values[above][:, None, None]
    q, vq = points[below][None], values[below][None, :, None]
    crossings = ((p * -vq + q * vp) / (vp - vq)).reshape(-1, points.shape[1])
    found = np.concatenate([crossings, points[values == 0]])
    if points.shape[1] == 1:
        return found[:1]
    centred = found - found.mean(axis=0)
    # Directions inside the zero set, the longest first.
    plane = centred @ np.linalg.svd(centred, full_matrices=False)[2].T
    if points.shape[1] == 2:
        ends = [int(plane[:, 0].argmin()), int(plane[:, 0].argmax())]
        segment = found[ends]
        return segment[np.lexsort(segment.T[::-1])]
    return found[_hull(plane[:, :2]).vertices]


def _hull(points: FloatArray) -> ConvexHull:
    from scipy.spatial import ConvexHull, QhullError  # noqa: PLC0415 - slow to import

    try:
        return ConvexHull(points)
    except QhullError:  # nearly flat: let Qhull joggle the points by rounding errors
        return ConvexHull(points, qhull_options="QJ")
