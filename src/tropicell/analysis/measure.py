"""Exact answers from regions: volumes, slopes, extrema, integrals, decision boundaries.

A network is affine on every region, so its largest value is at a corner, its steepest slope is
one of finitely many, and its integral is a sum over regions of volume times value at the centroid.
The answers are exact up to the rounding of these formulas in float64: nothing is sampled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell._runtime.parts import check_workers, in_parts
from tropicell.analysis.growth import Growth
from tropicell.analysis.level_sets import equal_outputs, hull
from tropicell.analysis.map_bounds import largest_errors, output_bounds
from tropicell.analysis.residues import residues
from tropicell.errors import InvalidInputError
from tropicell.geometry.arithmetic import nearest_float, to_floats
from tropicell.geometry.generators import volume
from tropicell.network.patterns import split_layers
from tropicell.regions.columns import Ragged
from tropicell.regions.exact_columns import exact_vertices
from tropicell.regions.regions import Regions

Norm = Literal["l1", "l2", "linf"]

#: Regions that a thread measures at a time.
_AT_ONCE = 1024

#: Rays along which an output seems to grow most, that are looked at first.
_LIKELY = 16

#: Rounding errors that are smaller than this part of a value do not matter.
_MATTERS = 1e-9
#: Regions that are looked at in rationals for one value, besides those that are constant.
_MOST_EXACT = 32

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
    from tropicell.engines.cells.task import CellTask  # noqa: PLC0415 - imports Numba
    from tropicell.engines.scheduler import UnitRun  # noqa: PLC0415

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
    from tropicell.analysis import _moments as kernels  # noqa: PLC0415 - imports Numba

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
    simplices = (points - inside)[hull(points - inside).simplices]
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
    if norm not in _ORDERS:
        raise InvalidInputError(f"norm must be 'l1', 'l2' or 'linf', not {norm!r}")
    matrices = regions.affine_maps[:, :, :-1]
    norms = np.linalg.norm(matrices, ord=_ORDERS[norm], axis=(1, 2))
    best = int(np.argmax(norms))
    # Numbers that are off by e change each of these norms by at most the sum of all e.
    inputs = regions.network.n_inputs
    limit = norms[best] * (1 + _MATTERS) + 1e-150
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


def extrema(regions: Regions) -> Extrema:
    """The exact minimum and maximum of each output over the domain.

    Notes
    -----
    Whether an output is bounded is decided without rounding. Values are those at corners of
    regions, in float64. Where rounding errors would be a large part of a value, because it is the
    difference of much larger numbers, it is worked out in rationals and rounded once: on all
    regions that may have it or, if there are very many, on those where the output is constant and
    on the most promising ones.

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> network = Network.mlp([[[1.0], [-1.0]], [[1.0, 2.0]]])
    >>> found = extrema(enumerate_regions(network, Box(-1, 1)))
    >>> found.minimum, found.maximum, found.argmax
    (array([0.]), array([2.]), array([[-1.]]))
    """
    corners = regions.corners
    unbounded = np.unique(corners.owners()[corners.values[:, -1] == 0])
    growth = Growth(regions, unbounded)
    maximum, argmax = _maximum(regions, 1, growth)
    minimum, argmin = _maximum(regions, -1, growth)
    return Extrema(0.0 - minimum, argmin, maximum + 0.0, argmax)  # no -0


def _maximum(regions: Regions, sign: int, growth: Growth) -> tuple[FloatArray, FloatArray]:
    corners, owners = regions.corners, regions.corners.owners()
    rays = corners.values[:, -1] == 0
    # At a vertex this is the value, along a ray the slope.
    values = sign * np.einsum("nod,nd->no", regions.affine_maps[owners], corners.values)
    at_vertices = np.where(rays[:, None], -np.inf, values)
    best = at_vertices.argmax(axis=0)
    outputs = np.arange(values.shape[1])
    maximum, where = values[best, outputs], corners.values[best, :-1].copy()
    slopes = values[rays] / np.abs(corners.values[rays]).sum(axis=1, keepdims=True)
    for output in outputs.tolist():
        likely = np.argsort(-slopes[:, output], kind="stable")[:_LIKELY]
        likely = likely[slopes[likely, output] > 0]
        if rays.any() and growth.is_endless(output, sign, owners[rays][likely]):
            maximum[output], where[output] = np.inf, np.nan
            continue
        candidates = _candidates(regions, output, at_vertices[:, output])
        if candidates.size:
            maximum[output], where[output] = _without_rounding(regions, output, sign, candidates)
    return maximum, where


def _candidates(regions: Regions, output: int, values: FloatArray) -> NDArray[np.int64]:
    """Regions that may have the largest value, the most promising ones first.

    None, if rounding errors are too small to matter for the value.

    Parameters
    ----------
    values : ndarray, shape (corners,)
        What float64 says, -inf for rays.
    """
    corners, owners = regions.corners, regions.corners.owners()
    best = int(values.argmax())
    limit = values[best] + _MATTERS * abs(values[best]) + 1e-150
    sizes = np.abs(corners.values[:, :-1]).sum(axis=1)
    slopes, offsets = (error[output] for error in largest_errors(regions.network))
    with np.errstate(over="ignore", invalid="ignore"):
        there = ~(values + (slopes * sizes + offsets) <= limit)
    if not there.any():
        return np.empty(0, dtype=np.int64)
    there[best] = True
    some, place = np.unique(owners[there], return_inverse=True)
    with np.errstate(over="ignore", invalid="ignore"):
        slope_errors, offset_errors = _errors(regions, output, some)
        errors = slope_errors[place] * sizes[there] + offset_errors[place]
        errors = np.nan_to_num(errors, nan=np.inf)
        high = values[there] + errors
        if (high <= limit).all():
            return np.empty(0, dtype=np.int64)
        # One region will do of those that surely have the largest value, or less.
        sure = errors <= _MATTERS * np.abs(values[there]) + 1e-150
        known = np.where(sure, values[there], -np.inf)
        kept = ~sure & ~(high < (values[there] - errors).max())
        kept[known.argmax()] |= bool(sure.any())
    order = np.argsort(-values[there][kept], kind="stable")
    return np.array(list(dict.fromkeys(owners[there][kept][order].tolist())), dtype=np.int64)


def _errors(
    regions: Regions, output: int, some: NDArray[np.int64]
) -> tuple[FloatArray, FloatArray]:
    """Bounds on the errors of an output's slopes and offset on some regions."""
    network = regions.network
    slopes, offsets = np.zeros(len(some)), np.zeros(len(some))
    # Where all neurons that an output reads are 0, it is its bias, and there is no error.
    active = np.zeros(len(some), dtype=np.bool_)
    parts = split_layers(regions.packed[some], network.widths)
    for source, matrix in network.output.terms.items():
        weights = matrix[[output]].toarray() if sp.issparse(matrix) else matrix[[output]]
        read = np.flatnonzero(weights)
        if source == 0:
            active |= read.size > 0
            continue
        pieces, activation = parts[source - 1][:, read], network.layers[source - 1].activation
        numbers = np.abs(activation.slopes[read]) + np.abs(activation.intercepts[read])
        active |= (numbers[np.arange(read.size), pieces] != 0).any(axis=1)
    maps = output_bounds(network, regions.packed.take(some[active]))
    slopes[active], offsets[active] = maps.slope_error[:, output], maps.offset_error[:, output]
    return slopes, offsets


def _without_rounding(
    regions: Regions, output: int, sign: int, candidates: NDArray[np.int64]
) -> tuple[float, FloatArray]:
    """The largest value of an output (times the sign) on some regions, and where.

    If there are many regions, those on which the output is constant are told by residues, and one
    of each constant is looked at. Of the others, the first ones are worked out in rationals.
    """
    many = len(candidates) > _MOST_EXACT
    classes = _constants(regions, output, candidates) if many else np.full(len(candidates), -1)
    first = np.unique(classes[classes >= 0], return_index=True)[1]
    chosen = [
        *candidates[classes >= 0][first].tolist(),
        *candidates[classes < 0][:_MOST_EXACT].tolist(),
    ]
    found = []
    for index in chosen:
        affine = regions[index].affine_map
        slopes, offset = affine.matrix[output], affine.offset[output]
        vertices = exact_vertices(regions, index)
        found += [(sign * (slopes @ vertex + offset), vertex) for vertex in vertices]
    value, vertex = max(found, key=lambda item: item[0])
    return nearest_float(value.numerator, value.denominator), to_floats(vertex)


def _constants(regions: Regions, output: int, candidates: NDArray[np.int64]) -> NDArray[np.int64]:
    """A number for each region, equal where an output is the same constant; -1: not constant."""
    classes = np.zeros(len(candidates), dtype=np.int64)
    for maps in residues(regions.network, regions.packed.take(candidates)):
        constant = (maps[:, output, :-1] == 0).all(axis=1)
        pairs = np.stack([np.where(constant, classes, -1), maps[:, output, -1]], axis=1)
        pairs[pairs[:, 0] < 0] = -1
        numbers = np.unique(pairs, axis=0, return_inverse=True)[1].ravel()
        classes = np.where(pairs[:, 0] < 0, -1, numbers)
    return classes


def integral(regions: Regions) -> FloatArray:
    """The exact integral of each output over a bounded domain.

    A sum of volumes times values in float64: nothing is sampled, but sums and maps are rounded.

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


def decision_boundary(
    regions: Regions, first: int = 0, second: int = 1, *, workers: int = 1
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
        Number of threads for the maps of the regions, if these are not known yet.

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
    outputs = regions.network.n_outputs
    for output in (first, second):
        if not -outputs <= output < outputs:
            raise InvalidInputError(f"the network has {outputs} outputs, no number {output}")
    if regions.network.n_inputs > 3:
        raise InvalidInputError("decision boundaries are drawn for 1 to 3 inputs; use a Slice")
    if not regions.bounded.all():
        raise InvalidInputError("the domain is unbounded: enumerate the regions in a Box")
    regions.prepare(["affine_maps"], workers=workers)
    return equal_outputs(regions, first % outputs, second % outputs)
