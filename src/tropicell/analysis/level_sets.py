"""Where two outputs are equal, region by region; what `measure.decision_boundary` is made of.

On a region the difference of two outputs is affine. Its signs at the corners say all: where both
occur, the outputs change places inside the region; where it is 0 on a facet and nowhere else, the
facet is a piece; where it is 0 throughout, the region has none. float64 decides signs that are
beyond a bound on all errors; the rest is decided by residues and in rationals.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from flint import fmpq_mat
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell._runtime.interruption import check
from tropicell.analysis.graph import pattern_along
from tropicell.analysis.map_bounds import largest_errors, output_bounds
from tropicell.analysis.residues import fingerprints, residues
from tropicell.geometry.arithmetic import to_rationals
from tropicell.network.inequalities import domain_inequalities
from tropicell.regions.columns import Ragged
from tropicell.regions.exact_columns import exact_vertices
from tropicell.regions.regions import Regions

if TYPE_CHECKING:
    from scipy.spatial import ConvexHull

#: Stored vertices are at most so far off, for 2 inputs and for others, in the coordinates of the
#: engines; see docs/error-bound.md, step 6. Twice what is stated there.
_OFF = {2: 2e-7}
_OFF_ELSEWHERE = 2e-3


def equal_outputs(regions: Regions, first: int, second: int) -> list[FloatArray]:
    """The pieces of the boundary of the set where two outputs differ; see `decision_boundary`.

    Parameters
    ----------
    regions : Regions
        All of them bounded.
    first, second : int

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> network = Network.mlp([[[1.0]], [[1.0], [0.0]]], [[0.0], [0.0, 0.5]])
    >>> equal_outputs(enumerate_regions(network, Box(-1, 1)), 0, 1)
    [array([[0.5]])]
    """
    if not len(regions):
        return []
    corners = regions.corners
    maps = regions.affine_maps
    difference = maps[:, first] - maps[:, second]
    values = np.einsum("nd,nd->n", difference[corners.owners()], corners.values)
    crossed, doubtful = _by_signs(regions, first, second, difference, values)
    exact = _Exact(regions, first, second, np.flatnonzero(doubtful))
    found: dict[int, FloatArray] = {}
    largest = np.maximum.reduceat(np.abs(values), corners.ends - corners.counts)
    values[np.abs(values) <= 1e-12 * largest[corners.owners()]] = 0.0
    quick, left = _flat_level_sets(corners, np.flatnonzero(crossed), values)
    for region in left.tolist():
        check()
        own = slice(int(corners.ends[region] - corners.counts[region]), int(corners.ends[region]))
        found[region] = _level_set(corners.values[own, :-1], values[own])
    for region in np.flatnonzero(doubtful).tolist():
        check()
        if (piece := exact.piece(region)) is not None:
            found[region] = piece
    if not found:
        return list(quick.values)
    rows = [*quick.rows.tolist(), *found]
    pieces = [*quick.values, *found.values()]
    return [pieces[i] for i in np.argsort(rows, kind="stable").tolist()]


class _Pieces(NamedTuple):
    """Pieces of some regions, in order, shape (regions, ends, inputs)."""

    rows: NDArray[np.int64]
    values: FloatArray


def _flat_level_sets(
    corners: Ragged, crossed: NDArray[np.int64], values: FloatArray
) -> tuple[_Pieces, NDArray[np.int64]]:
    """The zero sets of affine functions on regions with one or two inputs, all at once.

    Parameters
    ----------
    corners : Ragged
        In order around each region.
    crossed : ndarray
        The regions in question.
    values : ndarray
        The function's values at all corners.

    Returns
    -------
    pieces : _Pieces
    left : ndarray
        Regions that need a closer look: three inputs, or zeros at more corners than two.
    """
    inputs = corners.values.shape[1] - 1
    if inputs > 2 or not crossed.size:
        return _Pieces(crossed[:0], np.empty((0, inputs, inputs))), crossed
    own = corners.places(crossed)
    counts = corners.counts[crossed]
    ends = np.cumsum(counts)
    owner = np.repeat(np.arange(len(crossed)), counts)
    points, value = corners.values[own, :-1], values[own]
    following = np.arange(1, len(own) + 1)
    following[ends - 1] = ends - counts
    if inputs == 1:  # an interval has one edge, not two
        following[ends - 1] = ends - 1
    after, beyond = value[following], points[following]
    edge = ((value > 0) & (after < 0)) | ((value < 0) & (after > 0))
    # the corner where the value is positive first, whichever of them comes first
    first = np.where((value > 0)[:, None], points, beyond)[edge]
    second = np.where((value > 0)[:, None], beyond, points)[edge]
    high = np.maximum(value, after)[edge][:, None]
    low = np.minimum(value, after)[edge][:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        crossings = (first * -low + second * high) / (high - low)
    zero = value == 0
    found = np.concatenate([crossings, points[zero]])
    place = np.concatenate([owner[edge], owner[zero]])
    signs = [np.bincount(owner[which], minlength=len(crossed)) for which in (value > 0, value < 0)]
    sure = (signs[0] > 0) & (signs[1] > 0)
    sure &= np.bincount(place, minlength=len(crossed)) == inputs
    found, place = found[sure[place]], place[sure[place]]
    order = np.lexsort((*found.T[::-1], place))
    pieces = found[order].reshape(-1, inputs, inputs)
    return _Pieces(crossed[sure], pieces), crossed[~sure]


def _by_signs(
    regions: Regions, first: int, second: int, difference: FloatArray, values: FloatArray
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Regions in which the outputs surely change places, and those of which nothing is sure."""
    network, corners = regions.network, regions.corners
    owners = corners.owners()
    both = [first, second]
    off = _distances(regions)
    with np.errstate(over="ignore", invalid="ignore"):
        sizes = np.abs(corners.values[:, :-1]) + off
        slopes = np.abs(difference[owners])
        # by how much corners are off, and rounding: of the maps' difference, and of the values
        known = np.einsum("nd,nd->n", slopes[:, :-1], off)
        dot = np.einsum("nd,nd->n", slopes[:, :-1], sizes) + slopes[:, -1]
        known += (network.n_inputs + 4) * 2.0**-52 * dot

        total = sizes @ np.ones(network.n_inputs)

        def signs(some: NDArray[np.bool_], slope: Any, offset: Any) -> NDArray[np.int8]:
            bound = known[some] + slope * total[some] + offset
            bound = 1.000001 * bound + 1e-150
            here = values[some]
            return np.where(here > bound, 1, np.where(here < -bound, -1, 0)).astype(np.int8)

        slope_errors, offset_errors = largest_errors(network)
        every = np.ones(len(owners), dtype=np.bool_)
        sign = signs(every, slope_errors[both].sum(), offset_errors[both].sum())
        crossed, doubtful = _verdict(sign, owners, len(regions))
        some = np.flatnonzero(doubtful)
        if some.size:  # bounds for each region, which are smaller
            maps = output_bounds(network, regions.packed.take(some))
            place = np.cumsum(doubtful) - 1
            there = doubtful[owners]
            row = place[owners[there]]
            slope_errors = maps.slope_error[:, both].sum(axis=1)[row]
            offset_errors = maps.offset_error[:, both].sum(axis=1)[row]
            sign[there] = signs(there, slope_errors, offset_errors)
            crossed, doubtful = _verdict(sign, owners, len(regions))
    return crossed, doubtful


def _verdict(
    signs: NDArray[np.int8], owners: NDArray[np.int64], count: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """From certain signs at corners (0: unknown) to regions: crossed, doubtful."""
    above, below, unknown = (
        np.bincount(owners[signs == sign], minlength=count) > 0 for sign in (1, -1, 0)
    )
    return above & below, unknown & ~(above & below)


def _distances(regions: Regions) -> FloatArray:
    """How far each coordinate of each stored corner may be from the true one."""
    from tropicell.network.flat import flatten  # noqa: PLC0415 - imports Numba

    scale = flatten(regions.network, regions.domain).lines.scale
    off = _OFF.get(regions.network.n_inputs, _OFF_ELSEWHERE)
    return np.asarray(off * (1.0 / scale + np.abs(regions.corners.values[:, :-1])))


class _Exact:
    """Pieces of regions that floats could not decide.

    Parameters
    ----------
    regions : Regions
    first, second : int
        The outputs.
    some : ndarray of int
        The regions in question: among them are all on which the outputs are equal throughout.
    """

    def __init__(self, regions: Regions, first: int, second: int, some: NDArray[np.int64]) -> None:
        self._regions = regions
        self._outputs = first, second
        self._equal = set(self._equal_throughout(some).tolist())

    def _equal_throughout(self, some: NDArray[np.int64]) -> NDArray[np.int64]:
        """The regions on which the outputs are one and the same map: proved by residues."""
        network, (first, second) = self._regions.network, self._outputs
        if some.size:
            values = fingerprints(network, self._regions.packed.take(some))
            some = some[values[:, first] == values[:, second]]
        same = np.ones(len(some), dtype=np.bool_)
        if some.size:
            for maps in residues(network, self._regions.packed.take(some)):
                same &= (maps[:, first] == maps[:, second]).all(axis=1)
        return some[same]

    def piece(self, index: int) -> FloatArray | None:
        """The piece of a region, or None."""
        if index in self._equal:
            return None
        regions, (first, second) = self._regions, self._outputs
        affine = regions[index].affine_map
        slopes = affine.matrix[first] - affine.matrix[second]
        vertices = exact_vertices(regions, index)
        values = vertices @ slopes + (affine.offset[first] - affine.offset[second])
        on = vertices[values == 0]
        if not ((values > 0).any() and (values < 0).any()):
            if _dimension(on) < regions.network.n_inputs - 1:
                return None
            outwards = -slopes if (values > 0).any() else slopes
            if not self._is_ours(index, on.mean(axis=0), outwards):
                return None
        largest = np.abs(values).max()
        signs = np.array([_kept_sign(value / largest) for value in values])
        return _level_set(vertices.astype(np.float64), signs)

    def _is_ours(self, index: int, point: NDArray[Any], outwards: NDArray[Any]) -> bool:
        """Whether a facet on which the outputs are equal counts as a piece of this region.

        Of two regions on which the outputs differ, the first one has it.
        """
        regions = self._regions
        domain = domain_inequalities(regions.domain, regions.network.n_inputs, "exact")
        exact_point, direction = to_rationals(point), to_rationals(outwards)
        for a, b in zip(domain.A, domain.b, strict=True):
            if (a * exact_point).sum() == b and (a * direction).sum() > 0:
                return True  # a side of the domain: nothing is behind it
        behind = pattern_along(regions.network.maps("exact"), point, outwards)
        other = int(regions.packed.find(behind[None])[0])
        return other < 0 or other in self._equal or index < other


def _dimension(points: NDArray[Any]) -> int:
    """Dimension of the smallest affine space through some points; -1 without points."""
    if len(points) < 2:
        return len(points) - 1
    differences = to_rationals(points[1:] - points[0])
    return int(fmpq_mat(differences.tolist()).rank())


def _kept_sign(value: Fraction) -> float:
    """A number between -1 and 1 as a float that is 0 only if the number is."""
    rounded = float(value)
    return rounded if rounded or not value else (5e-324 if value > 0 else -5e-324)


def _level_set(points: FloatArray, values: FloatArray) -> FloatArray:
    """The zero set of an affine function on the convex hull of points, by its extreme points."""
    above, below = values > 0, values < 0
    p, vp = points[above][:, None], values[above][:, None, None]
    q, vq = points[below][None], values[below][None, :, None]
    crossings = ((p * -vq + q * vp) / (vp - vq)).reshape(-1, points.shape[1])
    found = np.concatenate([crossings, points[values == 0]])
    found = found[np.lexsort(found.T[::-1])]  # the same order, whichever side is above
    if points.shape[1] == 1:
        return found[:1]
    centred = found - found.mean(axis=0)
    # Directions inside the zero set, the longest first.
    plane = centred @ np.linalg.svd(centred, full_matrices=False)[2].T
    if points.shape[1] == 2:
        ends = [int(plane[:, 0].argmin()), int(plane[:, 0].argmax())]
        segment = found[ends]
        return segment[np.lexsort(segment.T[::-1])]
    return found[hull(plane[:, :2]).vertices]


def hull(points: FloatArray) -> ConvexHull:
    """The convex hull of points, nearly flat ones included."""
    from scipy.spatial import ConvexHull, QhullError  # noqa: PLC0415 - slow to import

    try:
        return ConvexHull(points)
    except QhullError:  # nearly flat: let Qhull joggle the points by rounding errors
        return ConvexHull(points, qhull_options="QJ")
