"""Point location: the region of a point, and the network's value there, without the network."""

from __future__ import annotations

import os
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell._runtime.parts import in_parts
from tropicell.errors import InvalidInputError
from tropicell.geometry.arithmetic import to_floats
from tropicell.predict.cut_tree import CutTree, domain_table
from tropicell.regions.regions import Regions

Outside = Literal["network", "nan", "error"]

#: What a locator does not pickle: views, and modules.
_READY = ("_shape", "_outputs", "_links", "_kernels", "_predict_one", "_tables")

#: Points that a thread takes at a time: they and their answers stay in the processor's cache.
_CHUNK = 16_384


class RegionLocator:
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
        if outside not in ("network", "nan", "error"):
            raise InvalidInputError(f"outside must be 'network', 'nan' or 'error', not {outside!r}")
        self.regions = regions
        self.outside: Outside = outside
        self.tree = CutTree.of(regions, weights)
        self._table = domain_table(regions, self.tree)
        self._maps = np.ascontiguousarray(regions.affine_maps)
        self._get_ready()

    def _get_ready(self) -> None:
        """What follows from the rest, or can't be pickled."""
        from tropicell.predict import _locating  # noqa: PLC0415 - Numba is slow to import

        self._shape = (self.regions.network.n_inputs,)
        self._outputs = self.regions.network.n_outputs
        self._links = self._table.view(np.int32)
        self._kernels = _locating
        self._predict_one = _locating.predict_one

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

    def _locate(self, x: FloatArray, found: NDArray[np.int64]) -> None:
        lanes = self._kernels.LANES
        room = np.empty(lanes, np.int64), np.empty(lanes), np.empty(lanes, np.bool_)
        self._kernels.locate_many(x, self._table, self._links, *room, found)

    def _sure(self, x: FloatArray, found: NDArray[np.int64]) -> NDArray[np.int64]:
        """What the kernels found, with exact answers where they were unsure."""
        unsure = np.flatnonzero(found == self._kernels.UNSURE)
        if unsure.size:
            found[unsure] = self.regions.locate(x[unsure], arithmetic="exact")
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
