"""Prediction along a path: the region of the last point is tried first, then its neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell.analysis.graph import behind_one_neuron
from tropicell.errors import InvalidInputError
from tropicell.predict.locator import Outside, RegionLocator
from tropicell.regions.columns import Ragged
from tropicell.regions.regions import Regions


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
    facets = regions.__dict__.get("facet_lines")  # only if the engine gave them
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
