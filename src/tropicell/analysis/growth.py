"""Whether outputs grow without end on unbounded regions: decided without rounding.

On an unbounded region an output is ``g·x`` plus a constant, and it grows without end if and only
if ``g·r > 0`` for a direction r of the region's recession cone ``{r : a·r >= 0}``, where the rows a
are those of the region's inequalities.

It does not if ``-g`` is a combination of d rows a with factors that are not negative. With d rows
that are linearly independent the factors are the solution of d equations: float64 finds it, and a
bound on its error (`_is_combination`) proves that all factors are positive. Where that fails, the
simplex method decides in integers.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell.analysis.map_bounds import bounded_maps
from tropicell.geometry.polyhedra import Row, grows, integer_row
from tropicell.geometry.rounding import INFLATE, ROUND
from tropicell.network.domains import WholeSpace
from tropicell.regions.exact_columns import known_rows
from tropicell.regions.regions import Regions

#: Regions whose maps of all layers are worked out at a time, times neurons.
_AT_ONCE = 2**18
#: So many regions are tried one by one before all of them are looked at.
_FEW = 3
#: Points far away that are looked at, and how far.
_SAMPLES, _FAR = 256, 1e6


class Growth:
    """How outputs behave at infinity.

    Parameters
    ----------
    regions : Regions
    unbounded : ndarray of int
        Which of them are unbounded, each once.

    Examples
    --------
    >>> from tropicell import Network, enumerate_regions
    >>> regions = enumerate_regions(Network.mlp([[[1.0], [-1.0]], [[1.0, 1.0]]]))
    >>> growth = Growth(regions, np.array([0, 1]))
    >>> growth.is_endless(0, 1), growth.is_endless(0, -1)
    (True, False)
    """

    def __init__(self, regions: Regions, unbounded: NDArray[np.int64]) -> None:
        self._regions = regions
        self._unbounded = unbounded
        self._exact: dict[int, tuple[tuple[Row, ...], NDArray[Any]]] = {}

    def is_endless(self, output: int, sign: int, likely: Iterable[int] = ()) -> bool:
        """Whether an output (times the sign) grows without end on one of the regions.

        Parameters
        ----------
        output : int
        sign : {1, -1}
        likely : iterable of int
            Regions on which it probably does, the most likely ones first: they are tried before
            the others.
        """
        tried = list(dict.fromkeys(map(int, likely)))[:_FEW]
        if any(self.grows_on(region, output, sign) for region in tried):
            return True
        others = (region for region in self._doubtful(output, sign) if region not in tried)
        return any(self.grows_on(region, output, sign) for region in others)

    def grows_on(self, index: int, output: int, sign: int) -> bool:
        """The answer for one region, in integers."""
        regions = self._regions
        if index not in self._exact:
            self._exact[index] = known_rows(regions, index), regions[index].affine_map.matrix
        rows, matrix = self._exact[index]
        return grows(rows, integer_row(matrix[output] * sign))

    def _doubtful(self, output: int, sign: int) -> list[int]:
        """The regions on which float64 does not prove that the output has an upper bound."""
        cones, slopes, errors = self._cones
        found = []
        for i, (region, (rows, row_errors)) in enumerate(zip(self._unbounded, cones, strict=True)):
            slope, error = sign * slopes[i, :, output], float(errors[i, output])
            if not (error == 0 and not slope.any()) and not _has_bound(
                rows, row_errors, slope, error
            ):
                found.append(int(region))
        return found

    @cached_property
    def _cones(self) -> tuple[list[tuple[FloatArray, FloatArray]], FloatArray, FloatArray]:
        """Rows of each region's recession cone and slopes of all outputs, with error bounds."""
        network = self._regions.network
        step = max(1, _AT_ONCE // max(1, network.n_neurons * network.n_inputs))
        cones: list[tuple[FloatArray, FloatArray]] = []
        slopes, errors = [], []
        with np.errstate(over="ignore", invalid="ignore"):  # infinities prove nothing
            for start in range(0, len(self._unbounded), step):
                some = self._unbounded[start : start + step]
                patterns = self._regions.packed[some]
                owner, layer, index, sign = self._sides(some, patterns)
                rows = np.empty((len(owner), network.n_inputs))
                row_errors = np.empty(len(owner))
                for number, maps in enumerate(bounded_maps(network, patterns), start=1):
                    here = layer == number
                    place = owner[here], slice(None), index[here]
                    if number <= network.depth:
                        rows[here] = maps.slopes[place] * sign[here, None]
                        row_errors[here] = maps.slope_error[owner[here], index[here]]
                slopes.append(maps.slopes)
                errors.append(maps.slope_error)
                a, _ = self._regions.domain.inequalities(network.n_inputs)
                domain = layer == 0
                rows[domain], row_errors[domain] = -a[index[domain]], 0.0
                ends = np.searchsorted(owner, np.arange(1, len(some)))
                cones += zip(np.split(rows, ends), np.split(row_errors, ends), strict=True)
        return cones, np.concatenate(slopes), np.concatenate(errors)

    def _sides(
        self, some: NDArray[np.int64], patterns: NDArray[np.uint8]
    ) -> tuple[NDArray[np.int64], ...]:
        """For all sides of some regions: place of the region, layer, index there, and sign.

        In the order of the regions. Where facets are not known, all inequalities are sides.
        """
        regions, lines = self._regions, self._regions.lines
        if regions.known("facet_lines") is not None:
            parts = [np.asarray(regions.facet_lines[int(i)], dtype=np.int64) for i in some]
            owner = np.repeat(np.arange(len(some)), [len(part) for part in parts])
            line = np.concatenate(parts)
        else:
            owner, line = np.divmod(np.arange(len(some) * lines.count), lines.count)
        owner, line = owner[line > 0], line[line > 0]
        inner = line >= lines.first
        k = np.where(inner, line - lines.first, 0)
        if not len(lines.neuron):
            return owner, np.zeros_like(line), line - 1, np.ones_like(line)
        piece = patterns[owner, lines.neuron[k]].astype(np.int64)
        breakpoint = lines.breakpoint[k]
        # Only the breakpoints at both ends of a neuron's piece are boundaries.
        kept = ~inner | (piece == breakpoint) | (piece == breakpoint + 1)
        layer, index = np.where(inner, lines.layer[k], 0), np.where(inner, lines.index[k], line - 1)
        sign = np.where(piece > breakpoint, 1, -1)
        return owner[kept], layer[kept], index[kept], sign[kept]


def grows_everywhere(regions: Regions) -> bool:
    """Whether it is quickly proved that all outputs grow without end, both ways.

    Points far away say where that may be; it is proved in integers, on one region for each output
    and each sign.

    Parameters
    ----------
    regions : Regions
        On all of R^n; on other domains the answer is False.

    Examples
    --------
    >>> from tropicell import Network, enumerate_regions
    >>> network = Network.mlp([[[1.0], [-1.0]], [[1.0, -1.0]]])
    >>> grows_everywhere(enumerate_regions(network))
    True
    """
    network = regions.network
    if not isinstance(regions.domain, WholeSpace) or not len(regions):
        return False
    steps = np.random.default_rng(0).normal(size=(_SAMPLES, network.n_inputs))
    found = regions.packed.find(network.patterns(_FAR * steps))
    steps, found = steps[found >= 0], found[found >= 0]
    growth = Growth(regions, np.empty(0, dtype=np.int64))
    slopes = np.einsum("noc,nc->no", regions.affine_maps[found, :, :-1], steps)
    for output in range(network.n_outputs):
        for sign in (1, -1):
            order = np.argsort(-sign * slopes[:, output], kind="stable")[:1]
            likely = found[order[sign * slopes[order, output] > 0]]
            if not likely.size or not growth.grows_on(int(likely[0]), output, sign):
                return False
    return True


def _has_bound(rows: FloatArray, row_errors: FloatArray, slope: FloatArray, error: float) -> bool:
    """Whether it is proved that ``slope·r <= 0`` wherever ``rows·r >= 0``."""
    from scipy.optimize import nnls  # noqa: PLC0415 - slow to import

    sizes = np.abs(rows).max(axis=1, initial=0.0)
    size = float(np.abs(slope).max())
    usable = np.isfinite(sizes + row_errors) & (sizes > 2 * row_errors)
    if not (0 < size < np.inf and error < size) or usable.sum() < len(slope):
        return False
    # Powers of two: this rounds nothing.
    scale, factor = np.exp2(-np.frexp(sizes[usable])[1]), float(np.exp2(-np.frexp(size)[1]))
    rows, row_errors = rows[usable] * scale[:, None], row_errors[usable] * scale
    slope, error = slope * factor, error * factor
    try:
        factors, _ = nnls(rows.T, -slope)
    except (RuntimeError, ValueError):
        return False
    chosen = np.flatnonzero(factors > 0)
    if len(chosen) != len(slope):
        return False
    return _is_combination(rows[chosen].T, row_errors[chosen], -slope, error)


def _is_combination(
    matrix: FloatArray, errors: FloatArray, vector: FloatArray, error: float
) -> bool:
    """Whether a vector is proved to be a combination of columns with positive factors.

    Parameters
    ----------
    matrix : ndarray, shape (d, d)
    errors : ndarray, shape (d,)
        Bounds on the errors of all numbers of each column.
    vector : ndarray, shape (d,)
    error : float
        The same for the vector.

    Notes
    -----
    Let M and v be the true numbers, x what was found, R near the inverse of M, and ``Q = I - R M``.
    If all absolute values of a row of Q add up to at most ``q < 1``, then M is invertible, and
    ``M⁻¹ v - x = (I - Q)⁻¹ R (v - M x)`` is at most ``max |R| |v - M x| / (1 - q)`` in absolute
    value. A sum of n products has an error of at most ``(n + 2) u`` times the sum of the absolute
    values.

    Examples
    --------
    >>> _is_combination(np.eye(2), np.zeros(2), np.array([1.0, 2.0]), 1e-3)
    True
    >>> _is_combination(np.eye(2), np.zeros(2), np.array([1.0, 1e-4]), 1e-3)
    False
    """
    d = len(vector)
    try:
        inverse = np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return False
    found = inverse @ vector
    sizes, u = np.abs(inverse), (d + 2) * ROUND
    rest = np.abs(vector - matrix @ found) + u * (np.abs(vector) + np.abs(matrix) @ np.abs(found))
    rest += error + float(errors @ np.abs(found))
    gap = np.abs(np.eye(d) - inverse @ matrix) + u * (np.eye(d) + sizes @ np.abs(matrix))
    gap += np.outer(sizes.sum(axis=1), errors)
    most = float(gap.sum(axis=1).max()) * INFLATE
    if not most < 0.5:
        return False
    bound = float((sizes @ rest).max()) / (1 - most) * INFLATE
    return bool((found > bound + 1e-200).all())
