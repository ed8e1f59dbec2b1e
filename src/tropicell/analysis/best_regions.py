"""The largest value of each output over regions whose corners are not known.

Corners of regions with five and more inputs are many, and nobody needs them all to know where an
output is largest. Five bounds, each cheaper than the next one, leave few regions:

1. what a region's map is at its witness is a lower bound;
2. its largest value on the whole box is an upper bound;
3. a linear program bounds an output on all regions that differ in the last layer alone
   (`_group_bounds.py`);
4. one for each region that is left gives both bounds, with proofs (`_programs.py`);
5. the simplex method in integers gives the value itself, where these are too far apart.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell._runtime.interruption import check
from tropicell._runtime.parts import in_parts
from tropicell._runtime.progress import bar_of
from tropicell.analysis.graph import flip_lines
from tropicell.analysis.map_bounds import largest_errors, output_bounds
from tropicell.analysis.residues import residues
from tropicell.geometry.arithmetic import nearest_float, to_floats
from tropicell.geometry.polyhedra import from_point, integer_row, largest
from tropicell.network.domains import Box
from tropicell.network.flat import FlatNetwork, flatten, is_tame, neuron_arrays
from tropicell.network.patterns import split_layers
from tropicell.regions.exact_columns import known_rows
from tropicell.regions.regions import Regions

if TYPE_CHECKING:
    from tropicell.analysis._programs import Objectives

#: Rounding errors that are smaller than this part of a value do not matter.
MATTERS = 1e-9

#: Regions that seem to be best, which are looked at first.
_LIKELY = 16
#: Regions that are looked at in rationals for one value, besides those that are constant.
_MOST_EXACT = 32
#: Regions that a thread looks at in one go, and for which it makes simpler bounds.
_AT_ONCE, _SAMPLED_AT_ONCE = 1024, 8192


@dataclass(frozen=True, eq=False)
class Best:
    """What is known of the largest values of some objectives.

    Attributes
    ----------
    value : ndarray, shape (objectives,)
    point : ndarray, shape (objectives, inputs)
    """

    value: FloatArray
    point: FloatArray


def has_bounds(regions: Regions) -> bool:
    """Whether `largest_values` can be asked: numbers of ordinary size, on a bounded box.

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> network = Network.mlp([[[1.0]], [[1.0]]])
    >>> has_bounds(enumerate_regions(network)), has_bounds(enumerate_regions(network, Box(0, 1)))
    (False, True)
    """
    if not isinstance(regions.domain, Box) or not len(regions):
        return False
    low, high = regions.domain.corners(regions.network.n_inputs)
    bounded = bool(np.isfinite(low).all() and np.isfinite(high).all())
    return bounded and is_tame(regions.network, regions.domain)


def largest_values(regions: Regions, *, workers: int = 1, progress: bool | None = None) -> Best:
    """The largest value of each output, and of the negative of each output.

    Parameters
    ----------
    regions : Regions
        With `has_bounds`.
    workers : int
        Number of threads; the values do not depend on it.
    progress : bool, optional
        Show a progress bar; default: if standard error is a terminal.

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> network = Network.mlp([[[1.0], [-1.0]], [[1.0, 2.0]]])
    >>> found = largest_values(enumerate_regions(network, Box(-1, 1)))
    >>> found.value, found.point.ravel().tolist()
    (array([2., 0.]), [-1.0, 0.0])
    """
    race = _Race(regions, workers)
    race.look_at(race.likely())
    race.bound_groups()
    race.look_at(race.promising())
    left = race.left()
    with bar_of(len(left), " regions", progress) as bar:
        race.look_at(left, bar)
    return race.finish()


def objectives_of(regions: Regions, flat: FlatNetwork) -> Objectives:
    """All outputs, and their negatives, on a box."""
    from tropicell.analysis._programs import Objectives  # noqa: PLC0415 - imports Numba

    low, high = cast(Box, regions.domain).corners(regions.network.n_inputs)
    outputs, scale = regions.network.n_outputs, flat.lines.scale
    return Objectives(
        np.tile(np.arange(outputs), 2), np.repeat([1, -1], outputs), low * scale, high * scale
    )


class _Race:
    """Regions that may still have the largest value of an objective.

    Objectives are all outputs, then the negatives of all outputs.
    """

    def __init__(self, regions: Regions, workers: int) -> None:
        from tropicell._runtime.memory import Blueprint  # noqa: PLC0415 - imports Numba
        from tropicell.analysis import _flips, _programs  # noqa: PLC0415

        self._regions, self._workers = regions, workers
        self._kernels = _programs
        network, outputs = regions.network, regions.network.n_outputs
        regions.prepare(["affine_maps"], workers=workers)
        self._flat = flatten(network, regions.domain)
        self._flips = flip_lines(regions, self._flat)
        words = np.ascontiguousarray(regions.packed.words, dtype=np.uint64)
        self._witnesses = np.ascontiguousarray(to_floats(np.asarray(regions.witnesses)))
        maps = regions.affine_maps
        self._columns = words, regions.packed.bits, self._witnesses, maps
        self._room = Blueprint(lambda free: _flips.flip_room(self._flat, words.shape[1], free))
        slopes, offsets = largest_errors(network)
        self._objectives = objectives_of(regions, self._flat)
        count = len(regions), 2 * outputs
        self._start, self.upper = np.empty(count), np.empty(count)
        self._sample((slopes, offsets))
        self.lower = self._start.max(axis=0)
        self._errors = np.tile(slopes, 2), np.tile(offsets, 2)
        self._known = np.zeros(count, dtype=np.bool_)
        self._value = np.full(count, np.nan)
        self._point: dict[tuple[int, int], FloatArray] = {}

    def _sample(self, errors: tuple[FloatArray, FloatArray]) -> None:
        """Bounds from witnesses and from the box."""
        from tropicell.analysis._group_bounds import sample_regions  # noqa: PLC0415

        maps = self._regions.affine_maps
        corners = cast(Box, self._regions.domain).corners(self._regions.network.n_inputs)
        box = tuple(np.ascontiguousarray(corner, dtype=np.float64) for corner in corners)

        def work(part: slice) -> None:
            some = part.start, part.stop
            sample_regions(maps, self._witnesses, box, errors, some, self._start, self.upper)

        in_parts(work, len(self._regions), self._workers, _SAMPLED_AT_ONCE)

    def bound_groups(self) -> None:
        """Bounds for regions with the same pieces in all layers but the last, all at once."""
        from tropicell.analysis import _group_bounds as kernels  # noqa: PLC0415 - imports Numba

        network = self._regions.network
        depth = network.depth
        if not depth:
            return
        width, objectives = network.widths[-1], len(self._objectives.output)
        weights: Any = network.output.terms.get(depth, np.zeros((network.n_outputs, width)))
        dense = weights.toarray() if isinstance(weights, sp.csr_array) else weights
        output = kernels.LastLayer(
            np.ascontiguousarray(dense, dtype=np.float64),
            np.ascontiguousarray(neuron_arrays(network).breakpoints[-width:]),
        )
        mine = threading.local()

        def work(part: slice) -> None:
            if not hasattr(mine, "room"):
                room = self._room.build()
                mine.room = kernels.group_room(room, width, objectives, _SAMPLED_AT_ONCE)
            asked = self._objectives, self.lower, *self._errors
            which = part.start, part.stop, mine.room
            fixed = self._flat, self._flips, self._columns
            kernels.bound_groups(*fixed, asked, output, which, self.upper)

        in_parts(work, len(self._regions), self._workers, _SAMPLED_AT_ONCE)

    def likely(self) -> NDArray[np.int64]:
        """Regions in which the largest values may be."""
        few = min(_LIKELY, len(self._regions))
        return np.unique(np.argpartition(-self._start, few - 1, axis=0)[:few])

    def promising(self) -> NDArray[np.int64]:
        """Regions whose bounds are highest."""
        few = min(_LIKELY, len(self._regions))
        return np.unique(np.argpartition(-self.upper, few - 1, axis=0)[:few])

    def left(self) -> NDArray[np.int64]:
        """Regions that may have a larger value than all that is known."""
        return np.flatnonzero((~self._known & ~(self.upper < self.lower)).any(axis=1))

    def look_at(
        self,
        some: NDArray[np.int64],
        bar: Any = None,
        errors: tuple[FloatArray, FloatArray] | None = None,
    ) -> None:
        """Solve the linear programs of some regions, with bounds on the errors of their maps."""
        mine = threading.local()
        kernels, objectives = self._kernels, len(self._objectives.output)
        lock = threading.Lock()

        def work(part: slice) -> None:
            if not hasattr(mine, "room"):
                mine.room = kernels.program_room(self._room.build())
            which = some[part]
            enough = self.lower.copy()
            wanted = ~self._known[which] & ~(self.upper[which] < enough)
            shape = len(which), objectives
            if errors is None:
                wrong = [np.tile(error, (len(which), 1)) for error in self._errors]
            else:
                wrong = [np.ascontiguousarray(error[part]) for error in errors]
            found = kernels.Solution(
                *(np.full(shape, np.nan) for _ in range(3)),
                np.zeros((*shape, self._regions.network.n_inputs)),
            )
            kernels.largest_on_regions(
                self._flat, self._flips, self._columns, (self._objectives, enough, wanted, *wrong),
                (which, mine.room), found,
            )  # fmt: skip
            with lock:
                self._take(which, wanted, found)
            if bar is not None:
                bar.update(len(which))

        in_parts(work, len(some), self._workers, _AT_ONCE)

    def _take(self, which: NDArray[np.int64], wanted: NDArray[np.bool_], found: Any) -> None:
        """Keep what was found of some regions."""
        i, k = np.nonzero(wanted)
        rows = which[i]
        self._known[rows, k] = True
        self.upper[rows, k] = np.fmin(self.upper[rows, k], found.upper[i, k])
        self._value[rows, k] = found.value[i, k]
        lower = np.where(wanted & ~np.isnan(found.lower), found.lower, -np.inf)
        self.lower = np.maximum(self.lower, lower.max(axis=0, initial=-np.inf))
        solved = ~np.isnan(found.value[i, k]) & ~(found.upper[i, k] < self.lower[k])
        for at, region, objective in zip(i[solved], rows[solved], k[solved], strict=True):
            self._point[int(region), int(objective)] = found.point[at, objective].copy()

    def finish(self) -> Best:
        """The values, in integers where float64 does not know them well enough."""
        doubtful = self._doubtful()
        if doubtful.size:  # bounds for each region, which are smaller
            some = np.flatnonzero(self._alive()[:, doubtful].any(axis=1))
            maps = output_errors(self._regions, some)
            self._known[some[:, None], doubtful] = False
            slopes, offsets = (np.tile(error, (1, 2)) for error in maps)
            self.look_at(some, errors=(slopes, offsets))
            doubtful = self._doubtful()
        objectives, alive = len(self._objectives.output), self._alive()
        best = Best(np.empty(objectives), np.empty((objectives, self._regions.network.n_inputs)))
        for k in range(objectives):
            order = np.argsort(-self.upper[alive[:, k], k], kind="stable")
            some = np.flatnonzero(alive[:, k])[order]
            if k in doubtful:
                output, sign = int(self._objectives.output[k]), int(self._objectives.sign[k])
                best.value[k], best.point[k] = exact_best(self._regions, output, sign, some)
            else:
                at = int(some[np.nanargmax(self._value[some, k])])
                best.value[k], best.point[k] = self._value[at, k], self._point[at, k]
        return best

    def _alive(self) -> NDArray[np.bool_]:
        return np.asarray(~(self.upper < self.lower))

    def _doubtful(self) -> NDArray[np.int64]:
        """Objectives whose largest value is not known well enough."""
        alive = self._alive()
        most = np.where(alive, self.upper, -np.inf).max(axis=0)
        values = np.where(alive & ~np.isnan(self._value), self._value, -np.inf).max(axis=0)
        with np.errstate(invalid="ignore"):
            sure = most - self.lower <= MATTERS * np.abs(values) + 1e-150
        return np.flatnonzero(~(sure & np.isfinite(values)))


def output_errors(regions: Regions, some: NDArray[np.int64]) -> tuple[FloatArray, FloatArray]:
    """Bounds on the errors of all outputs' slopes and offsets on some regions.

    Where all neurons that an output reads are 0, it is its bias, and there is no error.

    Parameters
    ----------
    regions : Regions
    some : ndarray of int

    Returns
    -------
    slopes, offsets : ndarray, shape (regions, outputs)

    Examples
    --------
    >>> from tropicell import Network, enumerate_regions
    >>> regions = enumerate_regions(Network.mlp([[[1.0]], [[0.1]]], [[0.0], [0.1]]))
    >>> output_errors(regions, np.array([regions.find("0")]))
    (array([[0.]]), array([[0.]]))
    """
    network = regions.network
    active = np.zeros((len(some), network.n_outputs), dtype=np.bool_)
    parts = split_layers(regions.packed[some], network.widths)
    for source, matrix in network.output.terms.items():
        reads: Any = matrix != 0
        if source == 0:
            active |= np.asarray(reads.sum(axis=1)).ravel() > 0
            continue
        pieces, activation = parts[source - 1], network.layers[source - 1].activation
        numbers = np.abs(activation.slopes) + np.abs(activation.intercepts)
        on = numbers[np.arange(pieces.shape[1]), pieces] != 0
        active |= np.asarray(on.astype(np.float64) @ reads.T.astype(np.float64)) > 0
    maps = output_bounds(network, regions.packed.take(some))
    return np.where(active, maps.slope_error, 0.0), np.where(active, maps.offset_error, 0.0)


def exact_best(
    regions: Regions, output: int, sign: int, candidates: NDArray[np.int64]
) -> tuple[float, FloatArray]:
    """The largest value of an output (times the sign) on some regions, rounded once, and where.

    If there are many regions, those on which the output is constant are told by residues, and one
    of each constant is looked at. Of the others, the first ones are worked out, in integers.

    Parameters
    ----------
    regions : Regions
    output : int
    sign : {1, -1}
    candidates : ndarray of int
        The most promising ones first. On none of them the output grows without end.

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> regions = enumerate_regions(Network.mlp([[[1.0]], [[3.0]]]), Box(-1, 1))
    >>> exact_best(regions, 0, 1, np.arange(2))
    (3.0, array([1.]))
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
        check()
        region = regions[index]
        affine, cell = region.affine_map, region.cell
        slopes, offset = affine.matrix[output] * sign, affine.offset[output] * sign
        rows = known_rows(regions, index)
        end = largest(rows, (*integer_row(slopes), 0), cell.witness)
        assert end is not None, "an output that grows without end has no largest value"
        point = np.array(from_point(end), dtype=object)
        found.append((slopes @ point + offset, point))
    value, point = max(found, key=lambda item: item[0])
    return nearest_float(value.numerator, value.denominator), to_floats(point)


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
