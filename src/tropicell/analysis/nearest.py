"""`nearest_boundary`: how far points are from the boundary of their region, in closed form.

Of the hyperplanes of a region's inequalities, the one that is nearest to a point of the region is
always that of a facet, and the nearest point on it belongs to the region: no other boundary is
crossed on the way. So the distance is the smallest of as many quotients as there are inequalities.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell._runtime.interruption import check
from tropicell._runtime.parts import check_workers, in_parts
from tropicell._runtime.progress import bar_of
from tropicell.analysis._combinations import combined_exactly
from tropicell.analysis.map_bounds import bounded_maps
from tropicell.errors import InvalidInputError, require
from tropicell.geometry.arithmetic import to_floats, to_rationals
from tropicell.geometry.rounding import INFLATE, ROUND, TINY
from tropicell.importers.models import as_network
from tropicell.network.inequalities import Boundary
from tropicell.network.network import Network
from tropicell.network.patterns import PatternArray

if TYPE_CHECKING:
    import pandas

Norm = Literal["l2", "linf", "l1"]

#: Numbers of maps that a thread works out at a time.
_AT_ONCE = 2**22

#: Digits (bits) of an exact root that is rounded to float64 afterwards.
_ROOT_BITS = 120


@dataclass(frozen=True, eq=False)
class NearestBoundary:
    """The nearest boundary of each point.

    Attributes
    ----------
    distances : ndarray, shape (points,)
        How far it is; 0 if the point is on it, infinite if there is none.
    errors : ndarray, shape (points,)
        How far `distances` may be from the exact numbers, at most.
    layers, neurons, breakpoints : ndarray of int64, shape (points,)
        Whose boundary it is; layers count from 1 (0: there is none), neurons and breakpoints from
        0. Of several that are equally near, the first.
    points : ndarray, shape (points, inputs)
        The nearest point on it, rounded.
    norm : str
    exactly : int
        How many points needed rational arithmetic.

    Examples
    --------
    >>> network = Network.mlp([[[1.0, 0.0], [0.0, 2.0]], [[1.0, 1.0]]])
    >>> nearest = nearest_boundary(network, [[3.0, 1.0]])
    >>> nearest.distances, str(nearest.boundary(0)), nearest.points
    (array([1.]), 'layer 1, neuron 1', array([[3., 0.]]))
    """

    distances: FloatArray
    errors: FloatArray
    layers: NDArray[np.int64]
    neurons: NDArray[np.int64]
    breakpoints: NDArray[np.int64]
    points: FloatArray
    norm: str
    exactly: int

    def __len__(self) -> int:
        return len(self.distances)

    def boundary(self, index: int) -> Boundary | None:
        """The neuron that the nearest boundary of a point belongs to; None if there is none."""
        if not self.layers[index]:
            return None
        numbers = self.layers[index], self.neurons[index], self.breakpoints[index]
        return Boundary(*(int(number) for number in numbers))

    def to_dataframe(self) -> pandas.DataFrame:
        """One row for each point.

        Examples
        --------
        >>> network = Network.mlp([[[2.0]], [[1.0]]])
        >>> nearest_boundary(network, [[3.0]]).to_dataframe()["distance"].tolist()
        [3.0]
        """
        pandas: Any = require("pandas", extra="graph", why="a table of distances")
        columns = {
            "distance": self.distances,
            "layer": self.layers,
            "neuron": self.neurons,
            "breakpoint": self.breakpoints,
        }
        table: pandas.DataFrame = pandas.DataFrame(columns)
        return table


def nearest_boundary(
    network: Network,
    points: ArrayLike,
    *,
    norm: Norm = "l2",
    workers: int = 1,
    progress: bool | None = None,
) -> NearestBoundary:
    """The nearest boundary of the region of each point: how far, whose, and where.

    Parameters
    ----------
    network : Network
    points : array_like, shape (points, inputs)
    norm : {"l2", "linf", "l1"}
        How distances are measured.
    workers : int
        Number of threads, besides those that NumPy has.
    progress : bool, optional
        Show a progress bar if it takes longer than two seconds; default: if standard error is
        a terminal.

    Returns
    -------
    NearestBoundary

    Notes
    -----
    Which neuron it is is exact: float64 decides where a bound on its errors proves it, else
    rationals do. A point on a boundary has the distance 0.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> network = Network.mlp([rng.normal(size=(16, 50)), rng.normal(size=(16, 16)), [[1.0] * 16]])
    >>> nearest = nearest_boundary(network, rng.normal(size=(100, 50)), norm="linf")
    >>> len(nearest), bool((nearest.distances > 0).all())
    (100, True)
    """
    network = as_network(network)
    if norm not in ("l2", "linf", "l1"):
        raise InvalidInputError(f"norm must be 'l2', 'linf' or 'l1', not {norm!r}")
    check_workers(workers)
    x = network.check_points(points, finite=True)
    work = _Work(network, x, norm)
    most = max(1, *network.widths, 1) * network.n_inputs
    with bar_of(len(x), " points", progress) as bar:

        def do(part: slice) -> None:
            work.do(np.arange(part.start, part.stop), None)
            bar.update(part.stop - part.start)

        in_parts(do, len(x), workers, max(1, _AT_ONCE // most))
    return work.found


class _Work:
    """Distances of points, some at a time."""

    def __init__(self, network: Network, x: FloatArray, norm: Norm) -> None:
        self.network, self.x, self.norm = network, x, norm
        count = len(x)
        self.found = NearestBoundary(
            distances=np.full(count, np.inf),
            errors=np.zeros(count),
            layers=np.zeros(count, np.int64),
            neurons=np.zeros(count, np.int64),
            breakpoints=np.zeros(count, np.int64),
            points=x.copy(),
            norm=norm,
            exactly=0,
        )
        self.ends = np.cumsum([0, *network.widths])

    def do(self, rows: NDArray[np.int64], patterns: PatternArray | None) -> None:
        """Find the nearest boundaries of some points; exact patterns may be known."""
        network, x = self.network, self.x[rows]
        known = patterns is not None
        pieces = network.patterns(x, progress=False) if patterns is None else patterns
        count = len(rows)
        low = np.full((count, network.n_neurons, 2), np.inf)
        high = low.copy()
        best = np.full(count, np.inf)
        feet = x.copy()
        errors = np.zeros(count)
        wrong = np.zeros(count, np.bool_)
        which = np.zeros(count, np.int64)
        for layer, maps in zip(
            range(1, network.depth + 1), bounded_maps(network, pieces), strict=False
        ):
            part = slice(self.ends[layer - 1], self.ends[layer])
            gaps, gap_error = self._gaps(layer, maps, x, pieces[:, part])
            wrong |= (gaps < gap_error[..., None]).any(axis=(1, 2))  # the pattern is not proved
            sizes, size_error = self._sizes(maps)
            with np.errstate(divide="ignore", invalid="ignore"):
                least = (gaps - gap_error[..., None]) / (sizes + size_error)[..., None]
                most = (np.abs(gaps) + gap_error[..., None]) / (sizes - size_error)[..., None]
                middle = np.maximum(gaps, 0.0) / sizes[..., None]
            constant = (sizes == 0) & (size_error == 0)
            small = sizes <= size_error
            least[small & ~constant] = np.maximum(least[small & ~constant], 0.0)
            most[small] = np.inf
            least[constant] = middle[constant] = np.inf
            none = np.isinf(gaps)
            least[none] = most[none] = middle[none] = np.inf
            low[:, part], high[:, part] = least * (1 - 4 * ROUND), most * (1 + 4 * ROUND)
            with np.errstate(invalid="ignore"):
                flat = np.where(np.isnan(middle), np.inf, middle).reshape(count, -1)
            nearest = flat.argmin(axis=1)
            value = flat[np.arange(count), nearest]
            for i in np.flatnonzero(value < best).tolist():
                best[i] = value[i]
                j, side = divmod(int(nearest[i]), 2)
                which[i] = 2 * (part.start + j) + side
                slopes = maps.slopes[i, :, j]
                feet[i] = x[i] + _step(slopes, float(value[i]), side == 0, self.norm)
                errors[i] = max(
                    high[i, part.start + j, side] - value[i],
                    value[i] - low[i, part.start + j, side],
                )
        found = self.found
        found.distances[rows], found.errors[rows], found.points[rows] = best, errors, feet
        for i, row in enumerate(rows.tolist()):
            if np.isfinite(best[i]):
                self._name(row, pieces[i], int(which[i]))
        least_of, most_of = low.reshape(count, -1), high.reshape(count, -1)
        candidates = least_of <= most_of.min(axis=1, initial=np.inf)[:, None]
        candidates &= np.isfinite(least_of)
        unsure = (candidates.sum(axis=1) > 1) | (least_of.min(axis=1, initial=np.inf) <= 0)
        if not known and wrong.any():
            again = np.flatnonzero(wrong)
            self.do(rows[again], network.patterns(x[again], arithmetic="exact", progress=False))
            unsure &= ~wrong
        for k in np.flatnonzero(unsure).tolist():
            check()
            self._exactly(int(rows[k]), pieces[k], np.flatnonzero(candidates[k]))

    def _name(self, row: int, pieces: PatternArray, which: int) -> None:
        neuron, side = divmod(which, 2)
        layer = int(np.searchsorted(self.ends, neuron, side="right"))
        found = self.found
        found.layers[row], found.neurons[row] = layer, neuron - self.ends[layer - 1]
        found.breakpoints[row] = int(pieces[neuron]) - (side == 0)

    def _gaps(self, layer: int, maps: Any, x: FloatArray, pieces: PatternArray) -> Any:
        """How far neurons are above the breakpoint below, and below the one above."""
        values = np.einsum("pij,pi->pj", maps.slopes, x) + maps.offsets
        sizes = np.einsum("pij,pi->pj", np.abs(maps.slopes), np.abs(x)) + np.abs(maps.offsets)
        error = maps.slope_error * np.abs(x).sum(axis=1)[:, None] + maps.offset_error
        bends = self.network.layers[layer - 1].activation.breakpoints
        bends = np.where(np.isnan(bends), np.inf, bends)
        padded = np.concatenate(
            [np.full((len(bends), 1), -np.inf), bends, np.full((len(bends), 1), np.inf)], axis=1
        )
        neurons = np.arange(pieces.shape[1])
        below, above = padded[neurons, pieces], padded[neurons, pieces.astype(np.intp) + 1]
        gaps = np.stack([values - below, above - values], axis=2)
        finite = np.where(np.isfinite(gaps), np.abs(gaps), 0.0).max(axis=2)
        error = error + (x.shape[1] + 16) * ROUND * sizes + 2 * ROUND * finite + TINY
        return gaps, error * INFLATE

    def _sizes(self, maps: Any) -> tuple[FloatArray, FloatArray]:
        """The dual norms of slopes, and bounds on their errors."""
        inputs = maps.slopes.shape[1]
        if self.norm == "l2":
            sizes = np.sqrt(np.einsum("pij,pij->pj", maps.slopes, maps.slopes))
            error = maps.slope_error * np.sqrt(inputs)
            error = error + maps.slopes.any(axis=1) * 1e-140  # squares that underflow
        elif self.norm == "linf":
            sizes, error = np.abs(maps.slopes).sum(axis=1), maps.slope_error * inputs
        else:
            sizes, error = np.abs(maps.slopes).max(axis=1), maps.slope_error
        return sizes, (error + (inputs + 16) * ROUND * sizes) * INFLATE

    def _exactly(self, row: int, pieces: PatternArray, candidates: NDArray[np.intp]) -> None:
        """Compare some boundaries in rationals."""
        x = to_rationals(self.x[row])
        best, found = None, self.found
        for which in candidates.tolist():
            check()
            neuron, side = divmod(which, 2)
            unit = np.zeros(self.network.n_neurons)
            unit[neuron] = 1.0
            slopes, offset = combined_exactly(self.network, pieces, unit)
            size = _dual_norm(slopes, self.norm)
            if size == 0:
                continue
            layer = int(np.searchsorted(self.ends, neuron, side="right"))
            index = int(pieces[neuron]) - (side == 0)
            bend = self.network.maps("exact").activation(layer)[0][
                neuron - self.ends[layer - 1], index
            ]
            gap = abs((slopes * x).sum() + offset - bend)
            key = gap * gap / size if self.norm == "l2" else gap / size
            if best is None or key < best[0]:
                best = key, which, slopes
            if key == 0:
                break
        object.__setattr__(found, "exactly", found.exactly + 1)
        if best is None:
            found.distances[row], found.layers[row], found.errors[row] = np.inf, 0, 0.0
            found.neurons[row] = found.breakpoints[row] = 0
            found.points[row] = self.x[row]
            return
        key, which, slopes = best
        self._name(row, pieces, which)
        value = _root(key) if self.norm == "l2" else float(to_floats(np.array([key]))[0])
        found.distances[row], found.errors[row] = value, 4 * ROUND * value
        step = _step(to_floats(slopes), value, which % 2 == 0, self.norm)
        found.points[row] = self.x[row] + step


def _dual_norm(slopes: NDArray[Any], norm: Norm) -> Any:
    """The dual norm of rationals; its square for l2."""
    if norm == "l2":
        return (slopes * slopes).sum()
    return np.abs(slopes).sum() if norm == "linf" else np.abs(slopes).max()


def _root(square: Any) -> float:
    """The root of a rational, as a float."""
    numerator, denominator = int(square.p), int(square.q)
    shift = _ROOT_BITS * 2
    while (numerator << shift) // denominator < 1 << _ROOT_BITS and numerator:
        shift += _ROOT_BITS
    shift += shift % 2
    root = isqrt((numerator << shift) // denominator)
    return root / (1 << (shift // 2))


def _step(slopes: FloatArray, distance: float, down: bool, norm: Norm) -> FloatArray:
    """The shortest step of a length that changes a linear function most."""
    sign = -1.0 if down else 1.0
    if norm == "linf":
        return np.asarray(sign * distance * np.sign(slopes))
    if norm == "l2":
        length = float(np.sqrt(slopes @ slopes))
        return np.asarray(sign * distance * slopes / length) if length else np.zeros_like(slopes)
    step = np.zeros_like(slopes)
    largest = int(np.abs(slopes).argmax())
    step[largest] = sign * distance * np.sign(slopes[largest])
    return step
