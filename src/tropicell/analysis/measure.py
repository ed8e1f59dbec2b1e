"""Exact answers from regions: volumes, slopes, extrema, integrals, decision boundaries.

A network is affine on every region, so its largest value is at a corner, its steepest slope is
one of finitely many, and its integral is a sum over regions of volume times value at the centroid.
The answers are exact up to the rounding of these formulas in float64: nothing is sampled.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from math import comb
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell._runtime.interruption import check
from tropicell._runtime.parts import check_workers, in_parts
from tropicell._runtime.progress import bar_of
from tropicell.analysis.best_regions import (
    MATTERS,
    exact_best,
    has_bounds,
    largest_values,
    objectives_of,
    output_errors,
)
from tropicell.analysis.graph import flip_lines
from tropicell.analysis.growth import Growth, grows_everywhere
from tropicell.analysis.integrals import can_be_integrated, cell_integrals
from tropicell.analysis.level_sets import equal_outputs, hull
from tropicell.analysis.map_bounds import largest_errors, output_bounds
from tropicell.errors import InternalError, InvalidInputError
from tropicell.geometry.arithmetic import nearest_float, to_floats
from tropicell.geometry.generators import volume
from tropicell.network.domains import Box
from tropicell.network.inequalities import reads_nothing
from tropicell.regions import exact_columns
from tropicell.regions.columns import Columns, PackedPatterns, Ragged
from tropicell.regions.exact_columns import ends_everywhere, exact_vertices
from tropicell.regions.given import as_regions
from tropicell.regions.region import Region
from tropicell.regions.regions import Regions

Norm = Literal["l1", "l2", "linf"]

#: Regions that a thread measures at a time.
_AT_ONCE = 1024

#: Regions that a thread measures at a time from corner to corner.
_WALKS_AT_ONCE = 128

#: What rounding may make of a volume: this part of it, or that part of all volumes together.
_ACCURATE, _NEGLIGIBLE = 1e-10, 1e-14

#: What rounded corners are off by, relative to the largest coordinate; sizes that would be
#: off by more than this part of themselves, and of all sizes, are worked out in rationals.
_CORNERS, _PLAIN, _LITTLE = 64 * 2.0**-53, 1e-6, 1e-12

#: In rationals a region takes as long as so many in the cells engine, or longer.
_RATIONALS = 100

#: So many regions with at most so many inputs are found again for their corners.
_MANY, _FEW_INPUTS = 512, 8

#: Bounds on the errors of an integral that are no larger than this part of it do not matter: the
#: errors themselves are much smaller.
_TRUSTED = 1e-6

#: If cells can't be integrated at once, at most one region in so many is looked at by itself.
_FEW = 8

#: Regions whose values are worked out in rationals at a time.
_EXACT_AT_ONCE = 64

#: Rays along which an output seems to grow most, that are looked at first.
_LIKELY = 16

#: Regions that are looked at in rationals for one value, besides those that are constant.
_MOST_EXACT = 32

_ORDERS: dict[str, float] = {"l1": 1, "l2": 2, "linf": np.inf}


def volumes(regions: Regions, *, workers: int = 1, progress: bool | None = None) -> FloatArray:
    """Length, area or volume of each region, inf where unbounded.

    Parameters
    ----------
    regions : Regions
    workers : int
        Number of threads; the values do not depend on it.
    progress : bool, optional
        Show a progress bar if it takes longer than two seconds; default: if standard error is a
        terminal.

    Notes
    -----
    Sums in float64, from corners and facets. Regions with corners on more facets than there are
    inputs are found once more by the cells engine, or measured in rationals, if they are few.

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> network = Network.mlp([[[1.0, 1.0]], [[1.0]]], [[-1.0], [0.0]])
    >>> volumes(enumerate_regions(network, Box(0, 1)), workers=2)
    array([0.5, 0.5])
    """
    regions = as_regions(regions)
    check_workers(workers)
    if not regions.quotient.is_trivial:
        return np.full(len(regions), np.inf)
    with bar_of(len(regions), " regions", progress) as bar:
        sizes = _moments(regions, workers, bar, centred=False)[0]
    if _cells_know_more(regions, sizes):
        unknown = np.isnan(sizes)
        sizes[unknown] = _by_cells(regions, workers)[unknown]
    for i in np.flatnonzero(np.isnan(sizes) | _are_thin(regions, sizes)).tolist():
        check()
        sizes[i] = _exact_volume(regions[i])
    return sizes


def bounded(
    regions: Regions, *, workers: int = 1, progress: bool | None = None
) -> NDArray[np.bool_]:
    """Whether each region is bounded.

    Parameters
    ----------
    regions : Regions
    workers : int
        Number of threads; the answers do not depend on it.
    progress : bool, optional
        Show a progress bar if it takes longer than two seconds; default: if standard error is a
        terminal.

    Examples
    --------
    >>> from tropicell import Network, enumerate_regions
    >>> network = Network.mlp([[[1.0], [1.0]], [[1.0, 1.0]]], [[0.0, -1.0], [0.0]])
    >>> bounded(enumerate_regions(network, engine="halfspaces")).sum()
    np.int64(1)
    """
    regions = as_regions(regions)
    check_workers(workers)
    if not regions.quotient.is_trivial:
        return np.zeros(len(regions), dtype=np.bool_)
    if not len(regions) or ends_everywhere(regions):
        return np.ones(len(regions), dtype=np.bool_)
    found, known = np.zeros((2, len(regions)), dtype=np.bool_)
    with bar_of(len(regions), " regions", progress) as bar:
        if _soon_found_again(regions):
            for rows, batch in _found_again(regions, workers, volumes=False):
                assert batch.bounded is not None
                own = rows >= 0
                found[rows[own]], known[rows[own]] = batch.bounded[own], True
                bar.update(int(own.sum()))
        for index in np.flatnonzero(~known).tolist():
            found[index] = exact_columns.bounded(regions, [index])[0]
            bar.update()
    return found


def corners(regions: Regions, *, workers: int = 1, progress: bool | None = None) -> Ragged:
    """Vertices (last coordinate 1) and rays (0) of each region; lines as two opposite rays.

    Parameters
    ----------
    regions : Regions
    workers : int
        Number of threads; the corners do not depend on it.
    progress : bool, optional
        Show a progress bar if it takes longer than two seconds; default: if standard error is a
        terminal.

    Notes
    -----
    Many regions with few inputs are found once more by the cells engine, which has their corners,
    rounded. Other corners are worked out in rationals, and rounded once.

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> regions = enumerate_regions(Network.mlp([[[1.0]], [[1.0]]]), Box(-1, 1), engine="traverse")
    >>> sorted(corners(regions).values[:, 0].tolist())
    [-1.0, 0.0, 0.0, 1.0]
    """
    regions = as_regions(regions)
    check_workers(workers)
    if not regions.quotient.is_trivial:
        return exact_columns.corners(regions)
    width = regions.network.n_inputs + 1
    parts, known = [np.empty((0, width))], np.zeros(len(regions), dtype=np.bool_)
    order, counts = [np.empty(0, np.int64)], [np.empty(0, np.int64)]

    def keep(rows: NDArray[np.int64], some: Ragged) -> None:
        own = rows >= 0
        parts.append(np.asarray(some.values, dtype=np.float64)[np.repeat(own, some.counts)])
        order.append(rows[own])
        counts.append(some.counts[own])
        known[rows[own]] = True
        bar.update(int(own.sum()))

    with bar_of(len(regions), " regions", progress) as bar:
        if _soon_found_again(regions):
            for rows, batch in _found_again(regions, workers, volumes=False):
                keep(rows, _ragged(batch.corners, batch.corner_counts))
        for index in np.flatnonzero(~known).tolist():
            keep(np.array([index]), exact_columns.corners(regions, [index]))
    found = Ragged.from_counts(np.concatenate(parts), np.concatenate(counts))
    del parts[:]
    places = np.argsort(np.concatenate(order), kind="stable")
    return Ragged.from_counts(found.values[found.places(places)], found.counts[places])


def _soon_found_again(regions: Regions) -> bool:
    """Whether to find all regions once more rather than look at each in rationals."""
    many = len(regions) >= _MANY and regions.network.n_inputs <= _FEW_INPUTS
    return many and _can_be_found_again(regions)


def _exact_volume(region: Region) -> float:
    """The volume of a region, worked out in rationals; inf if it is unbounded."""
    if not region.bounded:
        return np.inf
    exact = volume(region.cell.rows, region.network.n_inputs)
    return nearest_float(int(exact.p), int(exact.q))


def _cells_know_more(regions: Regions, sizes: FloatArray) -> bool:
    """Whether to find all regions once more rather than some of them in rationals."""
    many = np.isnan(sizes).sum() * _RATIONALS > len(sizes)
    return bool(many and regions.network.n_inputs > 2 and _can_be_found_again(regions))


def _can_be_found_again(regions: Regions) -> bool:
    """Whether the cells engine would find these regions, and no others."""
    return regions.covers and all(count > 0 for count in regions.packed.words.shape)


def _by_cells(regions: Regions, workers: int) -> FloatArray:
    """Volumes of all regions: the cells engine knows which corners lie on which facets.

    nan for regions that it does not have: those of float arithmetic need not be the true ones.
    """
    sizes = np.full(len(regions), np.nan)
    for rows, batch in _found_again(regions, workers, volumes=True):
        assert batch.volumes is not None
        sizes[rows[rows >= 0]] = batch.volumes[rows >= 0]
    return sizes


def _found_again(
    regions: Regions, workers: int, *, volumes: bool
) -> Iterator[tuple[NDArray[np.int64], Columns]]:
    """All regions once more, by the cells engine, and which ones they are (-1: none of these).

    That takes less time than finding the corners of each.
    """
    from tropicell.engines.cells.task import CellTask  # noqa: PLC0415 - imports Numba
    from tropicell.engines.scheduler import UnitRun  # noqa: PLC0415

    run, at = UnitRun(CellTask(regions.network, regions.domain, volumes=volumes), workers), 0
    try:
        for batch in run.batches():
            check()
            if batch is not None:
                words = batch.packed.words
                rows = np.arange(at, at + len(words))
                at += len(words)
                if not np.array_equal(words, regions.packed.words[rows[0] : at]):  # another order
                    rows = regions.packed.find_words(words)
                yield rows, batch
        check()
        if not run.complete:
            raise InternalError("regions could not be found again")
    finally:
        run.join()


def _moments(
    regions: Regions, workers: int, bar: Any, *, centred: bool
) -> tuple[FloatArray, FloatArray]:
    """Volume and centroid of each region; inf and nan where unbounded, nan where not known."""
    dimension = regions.network.n_inputs
    sizes = np.full(len(regions), np.inf)
    centroids = np.full((len(regions) if centred or dimension <= 2 else 0, dimension), np.nan)
    doubts = np.zeros(len(regions))
    if dimension <= 2:
        _flat(regions.corners, sizes, centroids, workers)
        sizes[_cancelled(regions.corners, sizes)] = np.nan
    elif regions.known("corners") is not None and regions.known("facet_lines") is not None:
        columns = regions.packed, regions.corners, regions.facet_lines
        _solid(regions, columns, (sizes, centroids, doubts), workers, centred, bar)
    elif has_bounds(regions):
        _by_walks(regions, (sizes, centroids, doubts), workers, centred, bar)
        if centred and _cells_know_more(regions, sizes):
            _of_cells(regions, (sizes, centroids, doubts), workers, centred, bar)
    elif _can_be_found_again(regions):
        sizes[:] = np.nan
        _of_cells(regions, (sizes, centroids, doubts), workers, centred, bar)
    else:
        sizes[:] = np.nan
    with np.errstate(over="ignore"):
        total = sizes[np.isfinite(sizes)].sum()
    sizes[(doubts > _ACCURATE * sizes) & ~(doubts <= _NEGLIGIBLE * total)] = np.nan
    return sizes, centroids


def _of_cells(
    regions: Regions,
    found: tuple[FloatArray, FloatArray, FloatArray],
    workers: int,
    centred: bool,
    bar: Any,
) -> None:
    """The same for regions that are not known yet, from the corners that the cells engine finds."""
    for rows, batch in _found_again(regions, workers, volumes=False):
        if not (rows >= 0).all():  # regions of float arithmetic that are none
            continue
        corners = _ragged(batch.corners, batch.corner_counts)
        if batch.facet_lines is None:  # not known beyond 3-D where exact arithmetic had to help
            regions.prepare(["facet_lines"], workers=workers, progress=False)
            facets = regions.facet_lines.take(rows)
        else:
            facets = _ragged(batch.facet_lines, batch.facet_counts)
        n, dimension = len(rows), regions.network.n_inputs
        middles = np.full((n if centred else 0, dimension), np.nan)
        parts = np.full(n, np.inf), middles, np.zeros(n)
        _solid(regions, (batch.packed, corners, facets), parts, workers, centred)
        mine = (rows >= 0) & np.isnan(found[0][rows])
        bar.update(int(mine.sum()))
        for column, part in zip(found, parts, strict=True):
            if len(column):
                column[rows[mine]] = part[mine]
    check()


def _ragged(values: NDArray[Any] | None, counts: NDArray[np.int64] | None) -> Ragged:
    """A column that the cells engine always gives."""
    assert values is not None
    assert counts is not None
    return Ragged.from_counts(values, counts)


def _are_thin(regions: Regions, sizes: FloatArray) -> NDArray[np.bool_]:
    """Which volumes in 3-D and more say little; see `_cancelled`. In most boxes none can."""
    if regions.network.n_inputs <= 2 or regions.known("corners") is None:
        return np.zeros(len(sizes), np.bool_)
    if regions.covers and isinstance(regions.domain, Box):
        low, high = regions.domain.corners(regions.network.n_inputs)
        far = float(np.abs([low, high]).max(initial=0.0))
        if np.isfinite(far) and (_CORNERS * far <= _LITTLE * (high - low) / len(low)).all():
            return np.zeros(len(sizes), np.bool_)
    return _cancelled(regions.corners, sizes)


def _cancelled(corners: Ragged, sizes: FloatArray) -> NDArray[np.bool_]:
    """Which sizes say little, since rounded corners are far out and the cells thin.

    Errors of corners move the boundary: a region is off by about as much as these times the surface
    of the box around it.
    """
    values = np.asarray(corners.values, dtype=np.float64)
    doubtful = np.zeros(len(sizes), np.bool_)
    if not len(values):
        return doubtful
    starts = np.minimum(corners.ends - corners.counts, len(values) - 1)
    points = values[:, :-1]
    with np.errstate(over="ignore", invalid="ignore"):
        far = np.maximum.reduceat(np.abs(points).max(axis=1), starts)
        spread = np.maximum.reduceat(points, starts) - np.minimum.reduceat(points, starts)
        axes = range(points.shape[1])
        surface = sum(np.prod(np.delete(spread, axis, axis=1), axis=1) for axis in axes)
        errors = _CORNERS * far * surface
        known = np.isfinite(sizes)
        doubtful = known & (errors > _PLAIN * sizes) & (errors > _LITTLE * sizes[known].sum())
    return np.asarray(doubtful)


def _flat(corners: Ragged, sizes: FloatArray, centroids: FloatArray, workers: int) -> None:
    """The moments of regions with one or two inputs."""
    from tropicell.analysis import _moments as kernels  # noqa: PLC0415 - imports Numba

    kernel = kernels.segments if centroids.shape[1] == 1 else kernels.polygons
    values = np.ascontiguousarray(corners.values, dtype=np.float64)
    ends = np.ascontiguousarray(corners.ends, dtype=np.int64)

    def work(part: slice) -> None:
        kernel(values, ends, part.start, part.stop, sizes, centroids)

    in_parts(work, len(sizes), workers, _AT_ONCE)


def _solid(
    regions: Regions,
    columns: tuple[PackedPatterns, Ragged, Ragged],
    found: tuple[FloatArray, FloatArray, FloatArray],
    workers: int,
    centred: bool,
    bar: Any = None,
) -> None:
    """The same for three and more inputs, from corners and facets of some regions."""
    from tropicell._runtime.memory import Blueprint  # noqa: PLC0415 - imports Numba
    from tropicell.analysis import _moments as kernels  # noqa: PLC0415
    from tropicell.network.flat import flatten  # noqa: PLC0415

    packed, corners, facets = columns
    if not len(packed):
        return
    flat, lines = flatten(regions.network, regions.domain), regions.lines
    most = int(corners.counts.max())
    d = regions.network.n_inputs
    faces = min(most * comb(d, d // 2), kernels.MOST_FACES)
    room = Blueprint(lambda free: kernels.moment_room(flat, min(most, faces), faces, free))
    words = np.ascontiguousarray(packed.words, dtype=np.uint64)
    patterns = words, packed.bits, lines.neuron, lines.breakpoint
    ends = (np.ascontiguousarray(column.ends, dtype=np.int64) for column in (corners, facets))
    points = np.ascontiguousarray(corners.values, dtype=np.float64), next(ends)
    sides = np.ascontiguousarray(facets.values, dtype=np.int32), next(ends)
    mine = threading.local()

    def work(part: slice) -> None:
        if not hasattr(mine, "room"):
            mine.room = room.build()
        which = part.start, part.stop, centred, mine.room
        kernels.polytopes(flat, lines.first, patterns, points, sides, which, found)
        if bar is not None:
            bar.update(part.stop - part.start)

    # Small ones take less time than a call of a kernel with so many arrays.
    in_parts(work, len(packed), workers, _AT_ONCE * (4 if d <= 4 else 1))


def _by_walks(
    regions: Regions,
    found: tuple[FloatArray, FloatArray, FloatArray],
    workers: int,
    centred: bool,
    bar: Any,
) -> None:
    """The same for regions of a box of which only the patterns are known."""
    from tropicell.analysis import _vertices  # noqa: PLC0415 - imports Numba
    from tropicell.network.flat import flatten  # noqa: PLC0415

    flat = flatten(regions.network, regions.domain)
    flips, box = flip_lines(regions, flat), objectives_of(regions, flat)
    words = np.ascontiguousarray(regions.packed.words, dtype=np.uint64)
    still = reads_nothing(regions.network)[regions.lines.neuron]
    patterns = words, regions.packed.bits, still
    new_room = _vertices.walk_rooms(flat, words.shape[1])
    mine = threading.local()

    def work(part: slice) -> None:
        if not hasattr(mine, "room"):
            mine.room = new_room()
        which = part.start, part.stop, centred, mine.room
        _vertices.measure_patterns(flat, flips, box, patterns, which, found)
        bar.update(int((~np.isnan(found[0][part])).sum()))

    in_parts(work, len(regions), workers, _WALKS_AT_ONCE)


def _hull(points: FloatArray) -> tuple[float, FloatArray]:
    """The size and the centroid of the hull of some points, all sides of it seen equally large."""
    low, sides = points.min(axis=0), np.ptp(points, axis=0)
    sides[sides == 0] = 1.0
    size, centre = _polytope((points - low) / sides)
    return size * float(np.prod(sides)), low + sides * centre


def _polytope(points: FloatArray) -> tuple[float, FloatArray]:
    """The size and the centroid of the hull of some points: pyramids over its facets.

    Facets with more corners than they need are hulls themselves. (Qhull also cuts them into
    simplices, but in five dimensions and more these may overlap: one region in hundreds of a
    network without biases came out 0.7 % too large.)
    """
    d = points.shape[1]
    if d == 1:
        low, high = points.min(axis=0), points.max(axis=0)
        return float(high[0] - low[0]), 0.5 * (low + high)
    inside = points.mean(axis=0)
    found = hull(points - inside)
    equations, facet_of = np.unique(found.equations, axis=0, return_inverse=True)
    total, moment = 0.0, np.zeros(d)
    for facet, (*normal, offset) in enumerate(equations):
        corners = found.points[np.unique(found.simplices[facet_of.ravel() == facet])]
        base = np.linalg.svd(np.array([normal]))[2][1:].T
        flat = corners @ base
        if len(corners) == d:
            size = abs(np.linalg.det(flat[1:] - flat[0])) / math.factorial(d - 1)
            centre = flat.mean(axis=0)
        else:
            size, centre = _polytope(flat)
        size *= -offset / d
        total += size
        moment += size * d / (d + 1) * (base @ centre - offset * np.array(normal))
    return total, inside + (moment / total if total > 0 else 0.0)


def lipschitz(
    regions: Regions, norm: Norm = "l2", *, workers: int = 1, progress: bool | None = None
) -> tuple[float, int]:
    """The exact Lipschitz constant over the domain, and a region where it is attained.

    Of regions that are not all of them (`Regions.covers`), over these regions alone.

    Parameters
    ----------
    regions : Regions
    norm : {"l1", "l2", "linf"}
        Norm of both inputs and outputs.
    workers : int
        Number of threads for the maps of the regions, if these are not known yet.
    progress : bool, optional
        Show a progress bar for these if it takes longer than two seconds; default: if standard
        error is a terminal.

    Returns
    -------
    constant : float
        The largest operator norm of a region's matrix.
    region : int

    Notes
    -----
    In float64. Where rounding errors would be a large part of the constant, the matrices of the
    most promising regions are worked out in rationals and rounded once.

    Examples
    --------
    >>> from tropicell import Network, enumerate_regions
    >>> network = Network.mlp([[[3.0], [-2.0]], [[1.0, 1.0]]])
    >>> lipschitz(enumerate_regions(network))
    (3.0, 1)
    """
    regions = as_regions(regions)
    _require_regions(regions)
    if norm not in _ORDERS:
        raise InvalidInputError(f"norm must be 'l1', 'l2' or 'linf', not {norm!r}")
    regions.prepare(["affine_maps"], workers=workers, progress=progress)
    norms = _norms(regions.affine_maps[:, :, :-1], norm)
    best = int(np.argmax(norms))
    # Numbers that are off by e change each of these norms by at most the sum of all e.
    inputs = regions.network.n_inputs
    limit = norms[best] * (1 + MATTERS) + 1e-150
    with np.errstate(over="ignore", invalid="ignore"):
        there = ~(norms + inputs * largest_errors(regions.network)[0].sum() <= limit)
        if there.any():
            there[best] = True
            some = np.flatnonzero(there)
            maps = output_bounds(regions.network, regions.packed.take(some))
            errors = np.nan_to_num(inputs * maps.slope_error.sum(axis=1), nan=np.inf)
            if not (norms[some] + errors <= limit).all():
                kept = ~(norms[some] + errors < (norms[some] - errors).max())
                return _exact_norm(regions, some[kept], norms, norm)
    return float(norms[best]), best


def _require_regions(regions: Regions) -> None:
    if not len(regions):
        raise InvalidInputError("there are no regions, and so no largest value")


def _norms(matrices: FloatArray, norm: Norm) -> FloatArray:
    """Norms of matrices, or upper bounds that are less than the largest of all norms.

    The length of all numbers of a matrix (its Frobenius norm) is an upper bound on its l2 norm; the
    length of a row is a lower one, and so is the first divided by the root of the rank. Singular
    values are worked out only where the upper bound reaches the largest lower one.
    """
    if norm != "l2":
        axis = 1 if norm == "l1" else 2
        return np.asarray(np.abs(matrices).sum(axis=axis).max(axis=1))
    lengths = np.sqrt(np.einsum("noc,noc->n", matrices, matrices))
    rank = min(matrices.shape[1:])
    if rank <= 1:
        return np.asarray(lengths)
    with np.errstate(over="ignore", invalid="ignore"):
        rows = np.sqrt(np.einsum("noc,noc->no", matrices, matrices).max(axis=1))
        least = np.maximum(rows, lengths / rank**0.5).max(initial=0.0) * (1 - 1e-12)
        some = np.flatnonzero(~(lengths < least))
    for start in range(0, len(some), _AT_ONCE):
        check()
        part = some[start : start + _AT_ONCE]
        lengths[part] = np.linalg.norm(matrices[part], ord=2, axis=(1, 2))
    return np.asarray(lengths)


def _exact_norm(
    regions: Regions, candidates: NDArray[np.int64], norms: FloatArray, norm: Norm
) -> tuple[float, int]:
    """The largest norm of the matrices of some regions, these rounded once."""
    order = candidates[np.argsort(-norms[candidates], kind="stable")][:_MOST_EXACT]
    found = []
    for index in order.tolist():
        matrix = regions[index].affine_map.astype_float().matrix
        found.append(float(np.linalg.norm(matrix, ord=_ORDERS[norm])))
    best = int(np.argmax(found))
    return found[best], int(order[best])


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


def extrema(regions: Regions, *, workers: int = 1, progress: bool | None = None) -> Extrema:
    """The exact minimum and maximum of each output over the domain.

    Of regions that are not all of them (`Regions.covers`), over these regions alone.

    Parameters
    ----------
    regions : Regions
    workers : int
        Number of threads; the values do not depend on it.
    progress : bool, optional
        Show a progress bar if it takes longer than two seconds; default: if standard error is a
        terminal.

    Notes
    -----
    Whether an output is bounded is decided without rounding. Values are those at corners of
    regions, in float64. Where rounding errors would be a large part of a value, because it is the
    difference of much larger numbers, it is worked out in rationals and rounded once: on all
    regions that may have it or, if there are very many, on those where the output is constant and
    on the most promising ones.

    Where the engine has found no corners, they are not needed: see
    `tropicell.analysis.best_regions`.

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> network = Network.mlp([[[1.0], [-1.0]], [[1.0, 2.0]]])
    >>> found = extrema(enumerate_regions(network, Box(-1, 1)))
    >>> found.minimum, found.maximum, found.argmax
    (array([0.]), array([2.]), array([[-1.]]))
    """
    regions = as_regions(regions)
    _require_regions(regions)
    check_workers(workers)
    if not regions.quotient.is_trivial:
        return _lifted_extrema(regions, workers, progress)
    regions.prepare(["affine_maps"], workers=workers, progress=progress)
    outputs, inputs = regions.network.n_outputs, regions.network.n_inputs
    if regions.known("corners") is None:
        if has_bounds(regions):
            best = largest_values(regions, workers=workers, progress=progress)
            return _extrema(best.value, best.point)
        if grows_everywhere(regions):
            return _extrema(np.full(2 * outputs, np.inf), np.full((2 * outputs, inputs), np.nan))
    return _extrema(*_largest_at_corners(regions, workers))


def _lifted_extrema(regions: Regions, workers: int, progress: bool | None) -> Extrema:
    """Those in the inputs that are enough, but for outputs that change along all other ones."""
    found, quotient = extrema(regions.reduced, workers=workers, progress=progress), regions.quotient
    endless = np.zeros(len(found.minimum), dtype=np.bool_)
    direct = regions.network.output.terms.get(0)
    if direct is not None:
        endless = quotient.moves(direct)
    argmin, argmax = quotient.lift(found.argmin), quotient.lift(found.argmax)
    for points in (argmin, argmax):
        points[np.isnan(points).any(axis=1) | endless] = np.nan
    return Extrema(
        np.where(endless, -np.inf, found.minimum),
        argmin,
        np.where(endless, np.inf, found.maximum),
        argmax,
    )


def _extrema(values: FloatArray, points: FloatArray) -> Extrema:
    """From the largest values of all outputs, and of their negatives."""
    n = len(values) // 2
    return Extrema(0.0 - values[n:], points[n:], values[:n] + 0.0, points[:n])  # no -0


def _largest_at_corners(regions: Regions, workers: int) -> tuple[FloatArray, FloatArray]:
    """The largest values of all outputs, and of their negatives, and where they are."""
    from tropicell.analysis._programs import values_at_corners  # noqa: PLC0415 - imports Numba

    corners, maps = regions.corners, regions.affine_maps
    points = np.ascontiguousarray(corners.values, dtype=np.float64)
    shape = len(regions), regions.network.n_outputs
    high, low, reach = np.empty(shape), np.empty(shape), np.empty(len(regions))
    high_at, low_at = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.int64)
    found = high, high_at, low, low_at, reach
    columns = points, np.ascontiguousarray(corners.ends, dtype=np.int64)

    def work(part: slice) -> None:
        values_at_corners(maps, columns, (part.start, part.stop), found)

    in_parts(work, len(regions), workers, _AT_ONCE)
    rays = np.flatnonzero(points[:, -1] == 0)
    owners = corners.owners()[rays] if rays.size else rays
    growth = Growth(regions, np.unique(owners))
    # Along a ray this is the slope.
    slopes = np.einsum("nod,nd->no", maps[owners], points[rays])
    slopes /= np.abs(points[rays]).sum(axis=1, keepdims=True)
    values, where = [], []
    for sign, largest, at in ((1, high, high_at), (-1, -low, low_at)):
        for output in range(shape[1]):
            likely = np.argsort(-sign * slopes[:, output], kind="stable")[:_LIKELY]
            likely = likely[sign * slopes[likely, output] > 0]
            if rays.size and growth.is_endless(output, sign, owners[likely]):
                values.append(np.inf)
                where.append(np.full(regions.network.n_inputs, np.nan))
                continue
            best = int(largest[:, output].argmax())
            value, point = float(largest[best, output]), points[at[best, output], :-1]
            candidates = _candidates(regions, output, largest[:, output], reach)
            if candidates.size:
                value, point = exact_best(regions, output, sign, candidates)
            values.append(value)
            where.append(point)
    return np.array(values), np.array(where).reshape(2 * shape[1], -1)


def _candidates(
    regions: Regions, output: int, values: FloatArray, reach: FloatArray
) -> NDArray[np.int64]:
    """Regions that may have the largest value, the most promising ones first.

    None, if rounding errors are too small to matter for the value.

    Parameters
    ----------
    values : ndarray, shape (regions,)
        What float64 says is the largest one at a corner of each region.
    reach : ndarray, shape (regions,)
        The largest sum of the absolute coordinates of one of its corners.
    """
    best = int(values.argmax())
    limit = values[best] + MATTERS * abs(values[best]) + 1e-150
    slopes, offsets = (error[output] for error in largest_errors(regions.network))
    with np.errstate(over="ignore", invalid="ignore"):
        there = ~(values + (slopes * reach + offsets) <= limit)
        if not there.any():
            return np.empty(0, dtype=np.int64)
        there[best] = True
        some = np.flatnonzero(there)
        slope_errors, offset_errors = (error[:, output] for error in output_errors(regions, some))
        errors = np.nan_to_num(slope_errors * reach[some] + offset_errors, nan=np.inf)
        here = values[some]
        high = here + errors
        if (high <= limit).all():
            return np.empty(0, dtype=np.int64)
        # One region will do of those that surely have the largest value, or less.
        sure = errors <= MATTERS * np.abs(here) + 1e-150
        known = np.where(sure, here, -np.inf)
        kept = ~sure & ~(high < (here - errors).max())
        kept[known.argmax()] |= bool(sure.any())
    return np.asarray(some[kept][np.argsort(-here[kept], kind="stable")])


def integral(regions: Regions, *, workers: int = 1, progress: bool | None = None) -> FloatArray:
    """The exact integral of each output over a bounded domain.

    A sum in float64: nothing is sampled. Of regions that are not all of them, the integral over
    these.

    Parameters
    ----------
    regions : Regions
    workers : int
        Number of threads; the values do not depend on it.
    progress : bool, optional
        Show a progress bar if it takes longer than two seconds; default: if standard error is a
        terminal.

    Notes
    -----
    A sum of volumes times values at centroids. With three inputs and more, where no corners are
    known, all regions of a box are integrated cell by cell of the layers before the last one
    (`tropicell.analysis.integrals`), which takes about as long as finding them.

    Where rounding errors of the maps might be more than a millionth of the integral of the absolute
    value, because they are differences of much larger numbers, values are worked out in rationals.

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> integral(enumerate_regions(Network.mlp([[[1.0]], [[1.0]]]), Box(-1, 1)))
    array([0.5])
    """
    regions = as_regions(regions)
    check_workers(workers)
    unbounded = InvalidInputError(
        "the domain is unbounded, so is the integral: enumerate the regions in a Box"
    )
    if not regions.quotient.is_trivial or _are_unbounded(regions):
        raise unbounded
    if regions.network.n_inputs > (4 if regions.known("corners") is not None else 2):
        found = _integral_of_cells(regions, workers, progress)
        if found is not None:
            return found
    with bar_of(len(regions), " regions", progress) as bar:
        sizes, centroids = _moments(regions, workers, bar, centred=True)
        for i, points in _corners_where_unknown(regions, sizes, workers):
            bounded = len(points) > regions.network.n_inputs and (points[:, -1] != 0).all()
            sizes[i], centroids[i] = _hull(points[:, :-1]) if bounded else (np.inf, np.nan)
    if not np.isfinite(sizes).all():
        raise unbounded
    regions.prepare(["affine_maps"], workers=workers, progress=progress)
    maps = regions.affine_maps
    values = np.einsum("nod,nd->no", maps[:, :, :-1], centroids) + maps[:, :, -1]
    for some in _doubtful_values(regions, sizes, centroids, values, progress):
        values[some] = to_floats(regions.network.evaluate(centroids[some]))
    return np.asarray(sizes @ values)


def _integral_of_cells(regions: Regions, workers: int, progress: bool | None) -> FloatArray | None:
    """The integral over cells of all layers but the last one; None if rounding spoils it."""
    if not can_be_integrated(regions):
        return None
    found = cell_integrals(regions, workers=workers, progress=progress)
    unknown = np.asarray(np.isnan(found.values).any(axis=1))
    left = unknown[found.cells]
    if left.sum() * _FEW > len(left):
        return None
    values = found.values[~unknown]
    total, limit = values.sum(axis=0), _TRUSTED * np.abs(values).sum(axis=0) + 1e-150
    if left.any():
        rest = integral(regions[left], workers=workers, progress=progress)
        total, limit = total + rest, limit + _TRUSTED * np.abs(rest)
    return total if (found.errors[~unknown].sum(axis=0) <= limit).all() else None


def _are_unbounded(regions: Regions) -> bool:
    """Whether it is soon known that some regions are unbounded."""
    known = regions.known("bounded")
    if known is not None:
        return not known.all()
    return regions.covers and len(regions) > 0 and not ends_everywhere(regions)


def _doubtful_values(
    regions: Regions,
    sizes: FloatArray,
    centroids: FloatArray,
    values: FloatArray,
    progress: bool | None,
) -> Iterator[NDArray[np.intp]]:
    """Regions, a part at a time, whose maps are too inaccurate for a sum of sizes times values."""
    network, reach = regions.network, np.abs(centroids).sum(axis=1)[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        limit = _TRUSTED * (sizes @ np.abs(values)) + 1e-150
        slopes, offsets = largest_errors(network)
        if (sizes @ (reach * slopes + offsets) <= limit).all():
            return
        maps = output_bounds(network, regions.packed)
        errors = sizes[:, None] * (reach * maps.slope_error + maps.offset_error)
        if (errors.sum(axis=0) <= limit).all():
            return
        doubtful = np.flatnonzero(~(errors <= limit / len(errors)).all(axis=1))
    with bar_of(len(doubtful), " regions, exactly", progress) as bar:
        for start in range(0, len(doubtful), _EXACT_AT_ONCE):
            check()
            yield doubtful[start : start + _EXACT_AT_ONCE]
            bar.update(min(_EXACT_AT_ONCE, len(doubtful) - start))


def _corners_where_unknown(
    regions: Regions, sizes: FloatArray, workers: int
) -> Iterator[tuple[int, FloatArray]]:
    """The corners of regions whose sizes are nan."""
    known = regions.known("corners") is not None
    if not known and _cells_know_more(regions, sizes):
        for rows, batch in _found_again(regions, workers, volumes=False):
            corners = _ragged(batch.corners, batch.corner_counts)
            for place in np.flatnonzero((rows >= 0) & np.isnan(sizes[rows])).tolist():
                check()
                yield int(rows[place]), np.asarray(corners[place])
    for i in np.flatnonzero(np.isnan(sizes)).tolist():
        check()
        if known:
            yield i, np.asarray(regions.corners[i])
        elif regions[i].bounded:
            points = to_floats(exact_vertices(regions, i))
            yield i, np.hstack([points, np.ones((len(points), 1))])
        else:
            yield i, np.zeros((1, regions.network.n_inputs + 1))  # a ray


def mean(regions: Regions, *, workers: int = 1, progress: bool | None = None) -> FloatArray:
    """The exact mean of each output over a bounded domain.

    Parameters
    ----------
    regions : Regions
    workers : int
        Number of threads; the mean does not depend on it.
    progress : bool, optional
        Show a progress bar if it takes longer than two seconds; default: if standard error is a
        terminal.

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> mean(enumerate_regions(Network.mlp([[[1.0]], [[1.0]]]), Box(-1, 1)))
    array([0.25])
    """
    regions = as_regions(regions)
    if not len(regions):
        raise InvalidInputError("there are no regions, and so no mean")
    total = integral(regions, workers=workers, progress=progress)
    if can_be_integrated(regions):
        low, high = cast(Box, regions.domain).corners(regions.network.n_inputs)
        return np.asarray(total / np.prod(high - low))
    regions.prepare(["volumes"], workers=workers, progress=progress)
    return np.asarray(total / regions.volumes.sum())


def decision_boundary(
    regions: Regions,
    first: int = 0,
    second: int = 1,
    *,
    workers: int = 1,
    progress: bool | None = None,
) -> list[FloatArray]:
    """Where two outputs are equal: points (1-D), segments (2-D) or polygons (3-D).

    That is the boundary of the set where they differ: all points at which the outputs are equal,
    but not so all around. The outputs may change places there (a change of the decision) or only
    touch, as the absolute value of x and 0 do at 0. Where they are equal on a whole region, that
    region is not a part of it, but its facets towards regions on which they differ are. Which of
    the two outputs is the first one makes no difference.

    Parameters
    ----------
    regions : Regions
        On a bounded domain.
    first, second : int
        The two outputs.
    workers : int
        Number of threads; the pieces do not depend on it.
    progress : bool, optional
        Show a progress bar if it takes longer than two seconds; default: if standard error is a
        terminal.

    Returns
    -------
    list of ndarray, shape (corners, inputs)
        Each piece once; pieces with fewer dimensions (a corner of a region in 2-D) are left out. In
        3-D the corners are in order.

    Notes
    -----
    Which regions have a piece, and whether it is one of their facets, is decided without rounding;
    the corners are rounded.

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> network = Network.mlp([[[1.0, 0.0]], [[1.0], [0.0]]], [[0.0], [-0.5, 0.0]])
    >>> decision_boundary(enumerate_regions(network, Box(-1, 1)))
    [array([[ 0.5, -1. ],
           [ 0.5,  1. ]])]

    The absolute value and 0 touch:

    >>> network = Network.mlp([[[1.0], [-1.0]], [[1.0, 1.0], [0.0, 0.0]]])
    >>> regions = enumerate_regions(network, Box(-1, 1))
    >>> decision_boundary(regions, 0, 1), decision_boundary(regions, 1, 0)
    ([array([[0.]])], [array([[0.]])])
    """
    regions = as_regions(regions)
    outputs = regions.network.n_outputs
    for output in (first, second):
        if not -outputs <= output < outputs:
            raise InvalidInputError(f"the network has {outputs} outputs, no number {output}")
    if regions.network.n_inputs > 3:
        raise InvalidInputError("decision boundaries are drawn for 1 to 3 inputs; use a Slice")
    if not regions.bounded.all():
        raise InvalidInputError("the domain is unbounded: enumerate the regions in a Box")
    check_workers(workers)
    pair = first % outputs, second % outputs
    return equal_outputs(regions, *pair, workers=workers, progress=progress)
