"""Point location: the region of a point, and the network's value there, without the network."""

from __future__ import annotations

import os
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell._runtime.parts import check_workers, in_parts
from tropicell.analysis.graph import behind_one_neuron
from tropicell.errors import InvalidInputError
from tropicell.geometry.arithmetic import to_floats
from tropicell.predict.cut_tree import CutTree, domain_table
from tropicell.regions.columns import Ragged
from tropicell.regions.given import as_regions
from tropicell.regions.regions import Regions

Outside = Literal["network", "nan", "error"]

#: What a locator does not pickle: views, and modules.
_READY = ("_shape", "_outputs", "_links", "_kernels", "_predict_one", "_tables")

#: Points that a thread takes at a time: they and their answers stay in the processor's cache.
_CHUNK = 16_384


class RegionFinder:
    """Finds the regions of points; what `Regions.locate` uses for many points.

    Parameters
    ----------
    regions : Regions
        All regions of a network on a domain.
    weights : array_like, optional
        As in `RegionLocator`.

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
    >>> finder = RegionFinder(enumerate_regions(network, Box(-1, 1)))
    >>> finder.find(np.array([[3.0, 0.0], [0.0, 0.5]]))
    array([-1, -2])
    """

    def __init__(self, regions: Regions, weights: ArrayLike | None = None) -> None:
        self.regions = regions
        self.tree = CutTree.of(regions, weights)
        self._table = domain_table(regions, self.tree, self._own_maps())
        self._get_ready()

    def _own_maps(self) -> FloatArray | None:
        """Maps that must not overflow where a region is found."""
        return None

    def _get_ready(self) -> None:
        """What follows from the rest, or can't be pickled."""
        from tropicell.predict import _locating  # noqa: PLC0415 - Numba is slow to import

        self._links = self._table.view(np.int32)
        self._kernels = _locating

    def find(self, x: FloatArray) -> NDArray[np.int64]:
        """The region of each point (row); -1 outside the domain, -2 where no test can tell.

        Examples
        --------
        >>> from tropicell import Box, Network, enumerate_regions
        >>> finder = RegionFinder(enumerate_regions(Network.mlp([[[1.0]], [[1.0]]]), Box(-1, 1)))
        >>> finder.find(np.array([[0.0], [3.0]]))
        array([-2, -1])
        """
        found = np.empty(len(x), np.int64)
        self._locate(np.ascontiguousarray(x), found)
        found[found == self._kernels.NOWHERE] = -1
        return found

    def _locate(self, x: FloatArray, found: NDArray[np.int64]) -> None:
        lanes = self._kernels.LANES
        room = np.empty(lanes, np.int64), np.empty(lanes), np.empty(lanes, np.bool_)
        self._kernels.locate_many(x, self._table, self._links, *room, found)


class RegionLocator(RegionFinder):
    """Finds the regions of points, and so the network's values, with a few dot products each.

    Worth it for few inputs (1 to about 5), where all regions can be listed: a point then
    passes about as many tests as the number of regions has binary digits, whatever the size of the
    network. See the page "When does caching pay?".

    Parameters
    ----------
    regions : Regions
        All regions of a network on a domain.
    outside : {"network", "nan", "error"}
        What `predict` gives for points outside the domain: what the network gives, nan, or an
        `InvalidInputError`. Points with an infinite coordinate, or nan, lie in no region: `locate`
        gives -1 for them, `predict` nan (or the error).
    weights : array_like, optional
        How often each region will be asked for, e.g. the number of data points in it: those that
        come up more often are found sooner. Default: their volumes, if they are all finite.

    Attributes
    ----------
    tree : CutTree
        The tests.

    Notes
    -----
    The answers are right, at boundaries too. Every test has a bound on its rounding error. Points
    for which a test can't tell, those within about 1e-12 of a boundary, are given to the network,
    and in `locate` to exact arithmetic. So are points that are so large (beyond about 1e280) that a
    test could overflow; if the network overflows there, too, its value is worked out exactly, and
    rounded.

    Memory per region: a test of ``inputs + 2`` and a map of ``outputs * (inputs + 1)`` numbers of 8
    bytes; so 56 bytes for 2 inputs and 1 output, 72 for 3 inputs.

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
    >>> locator = RegionLocator(enumerate_regions(network, Box(-1, 1)))
    >>> locator.predict([[0.5, 0.25], [-0.5, 0.25]])
    array([[0.75],
           [0.25]])
    >>> locator.predict_one([0.5, 0.25])
    array([0.75])
    >>> locator.locate([[3.0, 0.0]])
    array([-1])
    """

    def __init__(
        self,
        regions: Regions,
        *,
        outside: Outside = "network",
        weights: ArrayLike | None = None,
    ) -> None:
        regions = as_regions(regions)
        if outside not in ("network", "nan", "error"):
            raise InvalidInputError(f"outside must be 'network', 'nan' or 'error', not {outside!r}")
        self.outside: Outside = outside
        self._maps = np.ascontiguousarray(regions.affine_maps)
        super().__init__(regions, weights)

    def _own_maps(self) -> FloatArray | None:
        return self._maps

    def _get_ready(self) -> None:
        super()._get_ready()
        self._shape = (self.regions.network.n_inputs,)
        self._outputs = self.regions.network.n_outputs
        self._predict_one = self._kernels.predict_one

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key not in _READY}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._get_ready()

    def locate(self, points: ArrayLike, *, workers: int | None = None) -> NDArray[np.int64]:
        """Index of the region of each point (row); -1 outside the domain.

        Parameters
        ----------
        points : array_like, shape (points, inputs)
        workers : int, optional
            Number of threads for large batches; default: one for each processor.

        Returns
        -------
        ndarray of int64, shape (points,)
            A point between regions belongs to one of them, the same as in exact `Regions.locate`.

        Examples
        --------
        >>> from tropicell import Box, Network, enumerate_regions
        >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
        >>> regions = enumerate_regions(network, Box(-1, 1))
        >>> locator = RegionLocator(regions)
        >>> [regions[i].text for i in locator.locate([[0.5, 0.5], [-0.5, 0.5]])]
        ['11', '01']
        """
        x = self._points(points)
        found = np.empty(len(x), np.int64)
        in_parts(lambda part: self._locate(x[part], found[part]), len(x), _threads(workers), _CHUNK)
        return self._sure(x, found)

    def predict(self, points: ArrayLike, *, workers: int | None = None) -> FloatArray:
        """What the network gives at points (rows).

        Parameters
        ----------
        points : array_like, shape (points, inputs)
        workers : int, optional
            Number of threads for large batches; default: one for each processor.

        Returns
        -------
        ndarray, shape (points, outputs)

        Raises
        ------
        InvalidInputError
            For a point outside the domain, if that is what ``outside`` says.

        Examples
        --------
        >>> from tropicell import Box, Network, enumerate_regions
        >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
        >>> regions = enumerate_regions(network, Box(-1, 1))
        >>> locator = RegionLocator(regions)
        >>> locator.predict([[0.5, 0.25], [9.0, 9.0]])
        array([[ 0.75],
               [18.  ]])
        """
        if workers is not None:
            check_workers(workers)
        x = self._points(points)
        found = np.empty(len(x), np.int64)
        out = np.empty((len(x), self._outputs))

        def work(part: slice) -> None:
            self._locate(x[part], found[part])
            self._kernels.evaluate_many(x[part], self._maps, found[part], out[part])

        in_parts(work, len(x), _threads(workers), _CHUNK)
        self._complete(x, found, out)
        return out

    def predict_one(self, point: ArrayLike) -> FloatArray:
        """What the network gives at one point, with as little ado as possible.

        Parameters
        ----------
        point : array_like, shape (inputs,)
            Fastest if it is an array of float64.

        Returns
        -------
        ndarray, shape (outputs,)

        Examples
        --------
        >>> from tropicell import Box, Network, enumerate_regions
        >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
        >>> regions = enumerate_regions(network, Box(-1, 1))
        >>> locator = RegionLocator(regions)
        >>> locator.predict_one([0.5, 0.25])
        array([0.75])
        """
        x = np.ascontiguousarray(point, np.float64)
        if x.shape != self._shape:
            self._points(x[None])
        out = np.empty(self._outputs)
        region = self._predict_one(x, self._table, self._links, self._maps, out)
        if region < 0:
            self._complete(x[None], np.array([region]), out[None])
        return out

    __call__ = predict_one

    @property
    def first_node(self) -> int:
        """The row of the kernels' table where the tree begins."""
        return len(self._table) - len(self.tree.rows)

    @property
    def nbytes(self) -> int:
        """Memory in bytes, without that of the regions themselves."""
        return self._table.nbytes + self._maps.nbytes

    def __repr__(self) -> str:
        size = self.nbytes / max(1, len(self.regions))
        return (
            f"{type(self).__name__}({len(self.regions)} regions of {self.regions.network!r}, "
            f"at most {self.tree.levels} tests, {size:.0f} bytes a region)"
        )

    def _points(self, points: ArrayLike) -> FloatArray:
        return np.ascontiguousarray(self.regions.network.check_points(points))

    def _sure(self, x: FloatArray, found: NDArray[np.int64]) -> NDArray[np.int64]:
        """What the kernels found, with exact answers where they were unsure."""
        unsure = np.flatnonzero(found == self._kernels.UNSURE)
        if unsure.size:
            found[unsure] = self.regions.by_patterns(x[unsure], arithmetic="exact")
        found[found == self._kernels.NOWHERE] = -1
        return found

    def _complete(self, x: FloatArray, found: NDArray[np.int64], out: FloatArray) -> None:
        """Values of the points that the tree has not found."""
        rest = np.flatnonzero(found < 0)
        if rest.size == 0:
            return
        nowhere = found == self._kernels.NOWHERE
        outside = np.flatnonzero((found == self._kernels.OUTSIDE) | nowhere)
        if outside.size and self.outside == "error":
            raise InvalidInputError(
                f"point {outside[0]}, {x[outside[0]].tolist()}, lies outside the domain "
                f"{self.regions.domain!r}; enumerate a larger one, or use outside='network'"
            )
        network = self.regions.network
        lost = network.overflows(x[rest])
        out[rest[~lost]] = network(x[rest[~lost]])
        large = rest[lost & ~nowhere[rest]]
        if large.size:
            out[large] = to_floats(network.evaluate(x[large]))
        out[nowhere] = np.nan
        if self.outside == "nan":
            out[outside] = np.nan


def _threads(workers: int | None) -> int:
    """The number of threads that is meant; None: as many as there are cores."""
    return workers or os.cpu_count() or 1


# Prediction along a path: the region of the last point is tried first, then its neighbours.


class LastRegionPredictor(RegionLocator):
    """A `RegionLocator` for points that come one after the other along a path.

    For control loops, ray marching and other inputs that move little from one call to the next. The
    inequalities of the last point's region are tested first; if one is violated, the search goes
    through that facet into the neighbour, and so on for some steps; then the tree is asked.

    Parameters
    ----------
    regions : Regions
        All regions of a network on a domain.
    steps : int
        Neighbours to go through before the tree is asked.
    outside, weights
        As in `RegionLocator`.

    Notes
    -----
    It remembers the last point, so every thread and every path needs one of its own. The sides of a
    region are nodes of the tree, so that 8 bytes a side come on top of the locator's memory: in the
    plane that is about 4 sides a region.

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
    >>> predictor = LastRegionPredictor(enumerate_regions(network, Box(-1, 1)))
    >>> path = np.linspace([-0.9, -0.5], [0.9, 0.8], 10)
    >>> bool(np.allclose(predictor.predict(path), network(path)))
    True
    >>> predictor.walked, predictor.searched
    (9, 1)
    """

    def __init__(
        self,
        regions: Regions,
        *,
        steps: int = 8,
        outside: Outside = "network",
        weights: ArrayLike | None = None,
    ) -> None:
        super().__init__(regions, outside=outside, weights=weights)
        if steps < 0:
            raise InvalidInputError(f"steps must not be negative, got {steps}")
        self.steps = steps
        self._sides, self._ends = _sides(self)
        self._state = np.array([-1, 0, 0], dtype=np.int64)
        self._join()

    def _join(self) -> None:
        """The tables as kernels take them."""
        self._tables = (
            self._table,
            self._links,
            self._sides,
            self._ends,
            self._maps,
            self._state,
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._state = self._state.copy()  # a copy goes a way of its own
        self._join()

    def reset(self) -> None:
        """Forget the path so far.

        Examples
        --------
        >>> from tropicell import Box, Network, enumerate_regions
        >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
        >>> predictor = LastRegionPredictor(enumerate_regions(network, Box(-1, 1)))
        >>> _ = predictor.predict_one([0.5, 0.5])
        >>> predictor.reset()
        >>> predictor.last
        -1
        """
        self._state[:] = -1, 0, 0

    @property
    def last(self) -> int:
        """The region of the last point that is in one; -1 at the start."""
        return int(self._state[0])

    @property
    def walked(self) -> int:
        """Points that were found by walking."""
        return int(self._state[1])

    @property
    def searched(self) -> int:
        """Points that the tree was asked for."""
        return int(self._state[2])

    def locate(self, points: ArrayLike, *, workers: int | None = None) -> NDArray[np.int64]:
        x = self._points(points)
        found, _ = self._follow(x)
        return self._sure(x, found)

    def predict(self, points: ArrayLike, *, workers: int | None = None) -> FloatArray:
        """What the network gives at the points (rows) of a path, in one thread.

        Examples
        --------
        >>> from tropicell import Box, Network, enumerate_regions
        >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
        >>> predictor = LastRegionPredictor(enumerate_regions(network, Box(-1, 1)))
        >>> predictor.predict([[0.5, 0.25], [-0.5, 0.25]])
        array([[0.75],
               [0.25]])
        """
        x = self._points(points)
        found, out = self._follow(x)
        self._complete(x, found, out)
        return out

    def predict_one(self, point: ArrayLike) -> FloatArray:
        """What the network gives at the next point of the path.

        Examples
        --------
        >>> from tropicell import Box, Network, enumerate_regions
        >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
        >>> predictor = LastRegionPredictor(enumerate_regions(network, Box(-1, 1)))
        >>> predictor.predict_one([0.5, 0.25])
        array([0.75])
        """
        x = np.ascontiguousarray(point, np.float64)
        if x.shape != self._shape:
            self._points(x[None])
        out = np.empty(self._outputs)
        region = self._kernels.follow_one(x, *self._tables, self.steps, out)
        if region < 0:
            self._complete(x[None], np.array([region]), out[None])
        return out

    __call__ = predict_one

    @property
    def nbytes(self) -> int:
        """Memory in bytes, without that of the regions themselves."""
        return super().nbytes + self._sides.nbytes + self._ends.nbytes

    def _follow(self, x: FloatArray) -> tuple[NDArray[np.int64], FloatArray]:
        found = np.empty(len(x), np.int64)
        out = np.empty((len(x), self._outputs))
        self._kernels.follow_many(x, *self._tables, self.steps, found, out)
        return found, out


def _sides(locator: RegionLocator) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Tests that bound each region, with the regions behind them, and where they end."""
    from tropicell.predict import _cut_tree  # noqa: PLC0415 - Numba is slow to import

    regions, tree = locator.regions, locator.tree
    if len(tree.rows) == 0:
        return np.empty((0, 2), np.int32), np.zeros(1, dtype=np.int64)
    facets = regions.known("facet_lines")
    if facets is None:
        facets = Ragged(np.empty(0, np.int64), np.zeros(len(regions), np.int64))
    tests, ends = _cut_tree.sides(
        tree.children,
        tree.lines,
        facets.values.astype(np.int64),
        facets.ends,
        regions.lines.first,
        tree.levels,
    )
    owners = Ragged(tests, ends).owners()
    behind = behind_one_neuron(regions, owners, tree.lines[tests >> 1])
    return np.stack([tests + 2 * locator.first_node, behind], axis=1).astype(np.int32), ends
