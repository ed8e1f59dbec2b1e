"""Where two outputs are equal, region by region; what `measure.decision_boundary` is made of.

On a region the difference of two outputs is affine. Its signs at the corners say all: where both
occur, the outputs change places inside the region; where it is 0 on a facet and nowhere else, the
facet is a piece; where it is 0 throughout, the region has none. float64 decides signs that are
beyond a bound on all errors; of the rest most by linear programs with proofs, and all others by
residues and in rationals.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from flint import fmpq_mat
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell._runtime.interruption import check
from tropicell._runtime.parts import in_parts
from tropicell._runtime.progress import bar_of
from tropicell.analysis.best_regions import has_bounds, objectives_of
from tropicell.analysis.graph import flip_lines, pattern_along
from tropicell.analysis.map_bounds import has_tame_outputs, largest_errors, output_bounds
from tropicell.analysis.residues import fingerprints, residues
from tropicell.geometry.arithmetic import to_floats, to_rationals
from tropicell.geometry.rounding import INFLATE, ROUND
from tropicell.network.flat import embedding_of, flatten, is_tame
from tropicell.network.inequalities import domain_inequalities
from tropicell.network.layers import Affine
from tropicell.network.network import Network
from tropicell.regions.columns import PackedPatterns, Ragged
from tropicell.regions.exact_columns import exact_vertices
from tropicell.regions.output_maps import packed_maps
from tropicell.regions.regions import Regions

if TYPE_CHECKING:
    from scipy.spatial import ConvexHull

#: Stored vertices are at most so far off, for 2 inputs and for others, in the coordinates of the
#: engines; see docs/error-bound.md, step 6. Twice what is stated there.
_OFF = {2: 2e-7}
_OFF_ELSEWHERE = 2e-3

#: Regions that a thread looks at in one go, and of how many it solves linear programs.
_AT_ONCE, _PROGRAMS_AT_ONCE = 8192, 256

#: Maps in float64 are made for all regions if they say enough of all but one of so many in a
#: sample of about so many.
_WORTH, _SAMPLE = 8, 256


def equal_outputs(
    regions: Regions, first: int, second: int, *, workers: int = 1, progress: bool | None = False
) -> list[FloatArray]:
    """The pieces of the boundary of the set where two outputs differ; see `decision_boundary`.

    Parameters
    ----------
    regions : Regions
        All of them bounded.
    first, second : int
    workers : int
        Number of threads.
    progress : bool, optional
        Show a progress bar if it takes longer than two seconds; None: if standard error is a
        terminal.

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> network = Network.mlp([[[1.0]], [[1.0], [0.0]]], [[0.0], [0.0, 0.5]])
    >>> equal_outputs(enumerate_regions(network, Box(-1, 1)), 0, 1)
    [array([[0.5]])]
    """
    if first == second or not len(regions):
        return []  # equal everywhere: the set where they differ is empty
    first, second = min(first, second), max(first, second)
    corners = regions.corners
    with bar_of(len(regions), " regions", progress) as bar:
        values, crossed, doubtful = _by_signs(regions, first, second, workers, bar)
    more, doubtful = _by_programs(regions, (first, second), doubtful, values, workers)
    crossed = np.union1d(crossed, more)
    exact = _Exact(regions, first, second, doubtful)
    found: dict[int, FloatArray] = {}
    quick, left = _level_sets(corners, crossed, values)
    for region in left.tolist():
        check()
        own = slice(int(corners.ends[region] - corners.counts[region]), int(corners.ends[region]))
        found[region] = _level_set(corners.values[own, :-1], values[own])
    with bar_of(len(doubtful), " regions, exactly", progress) as bar:
        for region in doubtful.tolist():
            check()
            if (piece := exact.piece(region)) is not None:
                found[region] = piece
            bar.update()
    if not found:
        return list(quick.values)
    rows = [*quick.rows.tolist(), *found]
    pieces = [*quick.values, *found.values()]
    return [pieces[i] for i in np.argsort(rows, kind="stable").tolist()]


class _Pieces(NamedTuple):
    """Pieces of some regions, in order."""

    rows: NDArray[np.int64]
    values: Iterable[FloatArray]


def _level_sets(
    corners: Ragged, crossed: NDArray[np.int64], values: FloatArray
) -> tuple[_Pieces, NDArray[np.int64]]:
    """The zero sets of affine functions on some regions, all at once; and those that are left."""
    together = _flat_level_sets if corners.values.shape[1] <= 3 else _solid_level_sets
    return together(corners, crossed, values)


def _solid_level_sets(
    corners: Ragged, crossed: NDArray[np.int64], values: FloatArray
) -> tuple[_Pieces, NDArray[np.int64]]:
    """The same as `_flat_level_sets` for three inputs."""
    from tropicell.analysis import _level_signs as kernels  # noqa: PLC0415 - imports Numba

    counts = np.zeros(len(crossed), np.int64)
    pieces: list[FloatArray] = []
    for start in range(0, len(crossed), _AT_ONCE):
        check()
        some = crossed[start : start + _AT_ONCE]
        own, sizes = corners.places(some), corners.counts[some]
        most = int(sizes.max()) * (int(sizes.max()) + 4)
        room = np.empty((most, 3)), np.empty((2 * most, 3)), np.empty(most, np.int64)
        here = counts[start : start + _AT_ONCE]
        points = np.ascontiguousarray(corners.values[own, :-1])
        # A polygon has no more corners than there are edges: fewer than three times the corners.
        found = np.empty((3 * len(own), 3))
        kernels.sections(points, np.cumsum(sizes), values[own], room, found, here)
        pieces += (
            np.split(found[: here.sum()], np.cumsum(here[here > 0])[:-1]) if here.any() else []
        )
    return _Pieces(crossed[counts > 0], pieces), crossed[counts == 0]


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
        Regions that need a closer look, with zeros at more corners than two.
    """
    inputs = corners.values.shape[1] - 1
    if not crossed.size:
        return _Pieces(crossed, ()), crossed
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
    regions: Regions, first: int, second: int, workers: int, bar: Any
) -> tuple[FloatArray, NDArray[np.int64], NDArray[np.int64]]:
    """What the difference of two outputs is at the corners of regions, in float64.

    Returns
    -------
    values : ndarray, shape (corners,)
        For regions where the outputs change places, or may do so.
    crossed, doubtful : ndarray of int
        Regions in which the outputs surely change places, and those of which nothing is sure.
    """
    from tropicell._runtime.memory import Blueprint  # noqa: PLC0415 - imports Numba
    from tropicell.analysis import _level_signs as kernels  # noqa: PLC0415

    network, corners = regions.network, regions.corners
    values = np.zeros(len(corners.values))
    if not (network.depth and is_tame(network, regions.domain) and has_tame_outputs(network)):
        bar.update(len(regions))
        return values, np.empty(0, np.int64), np.arange(len(regions))
    flat = flatten(network, regions.domain)
    where = flat.lines.scale, _OFF.get(network.n_inputs, _OFF_ELSEWHERE)
    some = _by_plain_maps(regions, (first, second), where, workers)
    bar.update(len(regions) - len(some))
    output = kernels.Difference(*_difference(network, first, second, flat.maps.row_start))
    own = corners.places(some)
    packed = regions.packed.take(some)
    words = np.ascontiguousarray(packed.words, dtype=np.uint64), packed.bits
    places = np.ascontiguousarray(corners.values[own, :-1]), np.cumsum(corners.counts[some])
    here, verdicts = np.empty(len(own)), np.empty(len(some), np.uint8)
    room = Blueprint(lambda free: kernels.sign_room(flat.maps, free))
    mine = threading.local()

    def work(part: slice) -> None:
        if not hasattr(mine, "room"):
            mine.room = room.build()
        rows = part.start, part.stop, mine.room
        kernels.signs_at_corners(flat.maps, output, words, places, where, rows, here, verdicts)
        bar.update(part.stop - part.start)

    in_parts(work, len(some), workers, _AT_ONCE)
    values[own] = here
    crossed, doubtful = (some[verdicts == k] for k in (kernels.CROSSED, kernels.DOUBTFUL))
    return values, crossed, doubtful


def _by_plain_maps(
    regions: Regions, pair: tuple[int, int], where: tuple[FloatArray, float], workers: int
) -> NDArray[np.int64]:
    """Regions in which two outputs may be equal, by maps in float64 and bounds for all patterns.

    All regions, if these bounds say little.
    """
    sample = np.arange(0, len(regions), max(1, len(regions) // _SAMPLE))
    for some in (sample, np.arange(len(regions))):
        may_be = _may_be_equal(regions, some, pair, where, workers)
        if may_be.sum() * _WORTH > len(some):
            return np.arange(len(regions))
    return np.flatnonzero(may_be)


def _may_be_equal(
    regions: Regions,
    some: NDArray[np.int64],
    pair: tuple[int, int],
    where: tuple[FloatArray, float],
    workers: int,
) -> NDArray[np.bool_]:
    """Whether the difference of two outputs does not surely have one sign on some regions."""
    from tropicell.analysis._level_signs import have_both_signs  # noqa: PLC0415 - imports Numba

    network, corners = regions.network, regions.corners
    whole = len(some) == len(regions)
    weights = {k: _row(m, pair[0]) - _row(m, pair[1]) for k, m in network.output.terms.items()}
    bias = network.output.bias[list(pair)]
    between = Network(
        len(embedding_of(network)),
        network.layers,
        Affine(weights, bias[:1] - bias[1:]),
        embedding=network.embedding,
    )
    packed = regions.packed if whole else regions.packed.take(some)
    maps = packed_maps(between, packed, workers=workers)[:, 0]
    # Twice: weights and bias of the difference were rounded once, much less than their sums.
    errors = tuple(2 * float(error[0]) for error in largest_errors(between))
    own = corners.values if whole else corners.values[corners.places(some)]
    points = np.ascontiguousarray(own, dtype=np.float64)
    ends = np.cumsum(corners.counts[some])
    found = np.empty(len(some), np.bool_)

    def work(part: slice) -> None:
        have_both_signs(maps, errors, (points, ends), where, (part.start, part.stop), found)

    in_parts(work, len(some), workers, _AT_ONCE)
    return found


def _row(matrix: Any, row: int) -> FloatArray:
    """One row of a matrix, dense."""
    found = matrix[[row]]
    return found if isinstance(found, np.ndarray) else np.asarray(found.toarray())


def _by_programs(
    regions: Regions,
    outputs: tuple[int, int],
    some: NDArray[np.int64],
    values: FloatArray,
    workers: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The same for some regions, by linear programs: they do not need the stored corners.

    Parameters
    ----------
    values : ndarray, shape (corners,)
        What the difference seems to be; values that are nearly 0 become 0 where a piece is cut out.

    Returns
    -------
    crossed, doubtful : ndarray of int
    """
    from tropicell._runtime.memory import Blueprint  # noqa: PLC0415 - imports Numba
    from tropicell.analysis import _flips, _level_signs, _programs  # noqa: PLC0415

    if not (some.size and regions.network.depth and has_bounds(regions)):
        return np.empty(0, np.int64), some
    flat = flatten(regions.network, regions.domain)
    flips, box = flip_lines(regions, flat), objectives_of(regions, flat)
    # One function, which is the difference, and its negative.
    asked = box._replace(output=np.zeros(2, np.int64), sign=np.array([1, -1]))
    packed = regions.packed.take(some)
    words = np.ascontiguousarray(packed.words, dtype=np.uint64)
    witnesses = np.ascontiguousarray(to_floats(np.asarray(regions.witnesses[some])))
    maps, errors = _difference_maps(regions.network, packed, *outputs)
    count, d = len(some), regions.network.n_inputs
    upper, lower, value = np.full((3, count, 2), np.nan)
    found = _programs.Solution(upper, lower, value, np.zeros((count, 2, d)))
    room = Blueprint(lambda free: _flips.flip_room(flat, words.shape[1], free))
    mine = threading.local()

    def work(part: slice) -> None:
        if not hasattr(mine, "room"):
            mine.room = _programs.program_room(room.build())
        which = np.arange(part.stop - part.start)
        columns = words[part], packed.bits, witnesses[part], maps[part]
        wanted = np.ones((len(which), 2), np.bool_)
        what = asked, np.zeros(2), wanted, *(error[part] for error in errors)
        here = _programs.Solution(*(column[part] for column in found))
        _programs.largest_on_regions(flat, flips, columns, what, (which, mine.room), here)

    in_parts(work, count, workers, _PROGRAMS_AT_ONCE)
    ends = np.ascontiguousarray(regions.corners.ends, dtype=np.int64)
    seen = _level_signs.both_signs(ends, some, values)
    crossed = (found.lower > 0).all(axis=1) & seen
    nothing = (found.upper < 0).any(axis=1)
    return some[crossed], some[~crossed & ~nothing]


def _difference_maps(
    network: Network, packed: PackedPatterns, first: int, second: int
) -> tuple[FloatArray, tuple[FloatArray, FloatArray]]:
    """An output less another one on some regions; what slopes and offset may be wrong by.

    The maps have one output, the errors two columns: for the difference and for its negative.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        bounds = output_bounds(network, packed)
        slopes = bounds.slopes[:, :, first] - bounds.slopes[:, :, second]
        offsets = bounds.offsets[:, first] - bounds.offsets[:, second]
        wrong = [
            (error[:, first] + error[:, second] + 2 * ROUND * size) * INFLATE
            for error, size in (
                (bounds.slope_error, np.abs(slopes).max(axis=1, initial=0.0)),
                (bounds.offset_error, np.abs(offsets)),
            )
        ]
    maps = np.concatenate([slopes, offsets[:, None]], axis=1)[:, None]
    by_slopes, by_offset = (np.ascontiguousarray(np.tile(e[:, None], (1, 2))) for e in wrong)
    return maps, (by_slopes, by_offset)


def _difference(
    network: Network, first: int, second: int, row_start: NDArray[np.int64]
) -> tuple[FloatArray, FloatArray, float]:
    """An output less another one: weights of all neurons, their length in each layer, the bias."""
    weights, lengths = np.zeros(int(row_start[-1])), np.zeros(network.depth + 1)
    for source, matrix in network.output.terms.items():
        rows = matrix[[first, second]]
        pair = rows.toarray() if sp.issparse(rows) else rows
        own = pair[0] - pair[1]
        weights[row_start[source] : row_start[source + 1]] = own
        lengths[source] = np.sqrt((own**2).sum()) * (1 + 1e-9) + 1e-140
    bias = network.output.bias
    return weights, lengths, float(bias[first] - bias[second])


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
