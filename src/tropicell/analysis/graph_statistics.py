"""Regions in figures: degrees, distances and spectrum of their graph; faces, layer by layer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell._runtime.interruption import check
from tropicell.errors import InvalidInputError
from tropicell.regions.given import as_regions

if TYPE_CHECKING:
    from tropicell.regions.regions import Regions

#: Graphs with more regions get bounds on their diameter instead of all distances.
_ALL_PAIRS = 4096

#: From so many regions at once distances are worked out.
_AT_ONCE = 64

#: Graphs with fewer regions have all of their eigenvalues worked out.
_DENSE = 400


@dataclass(frozen=True, eq=False)
class GraphStatistics:
    """Regions as a graph, with an edge between two that share a facet: see `graph_statistics`.

    Attributes
    ----------
    adjacency : scipy.sparse.csr_array of int64, shape (regions, regions)
        1 between regions that share a facet.
    dimension : int
        Of the inputs that matter.

    Examples
    --------
    >>> from tropicell import Network, enumerate_regions
    >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
    >>> graph = graph_statistics(enumerate_regions(network))  # four quadrants: a square
    >>> graph.mean_degree, graph.degree_bound, graph.diameter
    (2.0, 4, (2, 2))
    """

    adjacency: sp.csr_array
    dimension: int

    def __len__(self) -> int:
        return int(self.adjacency.shape[0])

    @cached_property
    def degrees(self) -> NDArray[np.int64]:
        """How many neighbours each region has."""
        return np.diff(self.adjacency.indptr).astype(np.int64)

    @property
    def degree_counts(self) -> NDArray[np.int64]:
        """How many regions have 0, 1, 2, … neighbours."""
        return np.bincount(self.degrees)

    @property
    def mean_degree(self) -> float:
        """How many neighbours a region has on average."""
        return float(self.degrees.mean())

    @property
    def degree_bound(self) -> int:
        """Twice the dimension: the mean degree of the regions of a ReLU network is at most that."""
        return 2 * self.dimension

    @cached_property
    def components(self) -> int:
        """How many connected components there are; 1 for all regions of a domain."""
        from scipy.sparse import csgraph  # noqa: PLC0415 - slow to import

        return int(csgraph.connected_components(self.adjacency, directed=False)[0])

    def distances(self, start: int) -> NDArray[np.int64]:
        """How many facets one crosses from a region to each other one; -1: no way leads there.

        Examples
        --------
        >>> from tropicell import Network, enumerate_regions
        >>> network = Network.mlp([[[1.0], [1.0]], [[1.0, 1.0]]], [[0.0, -1.0], [0.0]])
        >>> sorted(graph_statistics(enumerate_regions(network)).distances(0).tolist())
        [0, 1, 2]
        """
        if not 0 <= start < len(self):
            raise InvalidInputError(f"regions are 0 to {len(self) - 1}, there is no {start!r}")
        return np.asarray(self._distances(np.array([start]))[0])

    def _distances(self, starts: NDArray[np.int64]) -> NDArray[np.int64]:
        from scipy.sparse import csgraph  # noqa: PLC0415 - slow to import

        check()
        found = csgraph.dijkstra(self.adjacency, directed=False, indices=starts, unweighted=True)
        return np.where(np.isfinite(found), found, -1).astype(np.int64)

    @cached_property
    def distance_counts(self) -> NDArray[np.int64] | None:
        """How many pairs of regions have distance 0, 1, 2, …; None if there are too many pairs."""
        if len(self) > _ALL_PAIRS:
            return None
        counts = np.zeros(1, np.int64)
        for first in range(0, len(self), _AT_ONCE):
            rows = self._distances(np.arange(first, min(first + _AT_ONCE, len(self))))
            own = np.bincount(rows[rows >= 0])
            size = max(len(counts), len(own))
            counts = np.pad(counts, (0, size - len(counts))) + np.pad(own, (0, size - len(own)))
        counts[1:] //= 2
        return counts

    @cached_property
    def diameter(self) -> tuple[int, int]:
        """The largest distance, from below and from above: equal where all distances are known.

        Of large graphs: the eccentricity of a region far from all others, and twice the smallest
        one that was seen. Of what is reachable, if the graph is not connected.

        Examples
        --------
        >>> from tropicell import Network, enumerate_regions
        >>> network = Network.mlp([[[1.0], [1.0]], [[1.0, 1.0]]], [[0.0, -1.0], [0.0]])
        >>> graph_statistics(enumerate_regions(network)).diameter
        (2, 2)
        """
        counts = self.distance_counts
        if counts is not None:
            return len(counts) - 1, len(counts) - 1
        start, low, high = 0, 0, 2 * len(self)
        for _ in range(4):  # from the farthest region to the one farthest from it, and so on
            found = self._distances(np.array([start]))[0]
            start, far = int(found.argmax()), int(found.max())
            low, high = max(low, far), min(high, 2 * far)
            # A region half way is more central than both ends.
            back = self._distances(np.array([start]))[0]
            middle = int(np.abs(back - far // 2 + (found + back > far) * len(self)).argmin())
            high = min(high, 2 * int(self._distances(np.array([middle]))[0].max()))
        return low, high

    def spectrum(self, count: int = 6) -> FloatArray:
        """The smallest eigenvalues of the graph's Laplacian, in float64, ascending.

        The first is 0; the second, the algebraic connectivity, is positive if and only if the graph
        is connected, and the larger, the harder it falls into two parts.

        Parameters
        ----------
        count : int
            How many; at most as many as there are regions.

        Examples
        --------
        >>> from tropicell import Network, enumerate_regions
        >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
        >>> graph_statistics(enumerate_regions(network)).spectrum(4).round(6) + 0.0
        array([0., 2., 2., 4.])
        """
        if not isinstance(count, int | np.integer) or count < 1:
            raise InvalidInputError(f"count must be a positive whole number, not {count!r}")
        laplacian = sp.diags_array(self.degrees.astype(np.float64)) - self.adjacency
        if len(self) <= max(_DENSE, 2 * count):
            return np.linalg.eigvalsh(laplacian.toarray())[:count]
        from scipy.sparse.linalg import eigsh  # noqa: PLC0415 - slow to import

        # Near a number below 0 the matrix can be inverted, and these are the eigenvalues near it.
        found = eigsh(
            sp.csc_array(laplacian), k=count, sigma=-1e-3, v0=np.ones(len(self)), which="LM"
        )[0]
        return np.maximum(np.sort(found), 0.0)

    def summary(self) -> dict[str, Any]:
        """The figures as plain numbers.

        Examples
        --------
        >>> from tropicell import Network, enumerate_regions
        >>> network = Network.mlp([[[1.0], [1.0]], [[1.0, 1.0]]], [[0.0, -1.0], [0.0]])
        >>> graph_statistics(enumerate_regions(network)).summary()["edges"]
        2
        """
        return {
            "regions": len(self),
            "edges": int(self.adjacency.nnz // 2),
            "components": self.components,
            "mean_degree": self.mean_degree,
            "degree_bound": self.degree_bound,
            "largest_degree": int(self.degrees.max()),
            "diameter": self.diameter,
        }


def graph_statistics(
    regions: Regions, *, workers: int = 1, progress: bool | None = None
) -> GraphStatistics:
    """Degrees, distances and spectrum of the graph in which regions that share a facet are joined.

    Parameters
    ----------
    regions : Regions
        All regions of a network on a domain.
    workers : int
        Number of threads.
    progress : bool, optional
        Show a progress bar if it takes longer than two seconds; default: if standard error is a
        terminal.

    Raises
    ------
    InvalidInputError
        If regions are missing: figures of a part say nothing of the whole.

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> network = Network.mlp([[[1.0], [1.0]], [[1.0, 1.0]]], [[0.0, -1.0], [0.0]])
    >>> graph = graph_statistics(enumerate_regions(network, Box(-2, 2)))
    >>> graph.degree_counts, graph.distance_counts
    (array([0, 2, 1]), array([3, 2, 1]))
    """
    regions = as_regions(regions)
    _check_all(regions)
    regions.prepare({"neighbours"}, workers=workers, progress=progress)
    pairs, n = regions.neighbours.pairs, len(regions)
    pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    both = np.concatenate([pairs, pairs[:, ::-1]])
    ones = np.ones(len(both), np.int64)
    adjacency = sp.csr_array((ones, (both[:, 0], both[:, 1])), shape=(n, n))
    return GraphStatistics(adjacency, regions.quotient.dimension)


def _check_all(regions: Regions) -> None:
    """Refuse a part of the regions."""
    if not (regions.covers and len(regions)):
        raise InvalidInputError(
            "these figures need all regions of the domain: enumerate them without a budget and "
            "without where"
        )


def f_vectors(
    regions: Regions, *, workers: int = 1, progress: bool | None = None
) -> list[tuple[int, ...]]:
    """The numbers of faces of every dimension, layer by layer: how each layer refines them.

    Parameters
    ----------
    regions : Regions
        All regions of a network on a domain.
    workers : int
        Number of threads.
    progress : bool, optional
        Show progress bars if it takes longer than two seconds; default: if standard error is a
        terminal.

    Returns
    -------
    list of tuple of int
        For the subdivisions by the first 1, 2, … layers, vertices first. In the inputs that matter
        to these layers: over all of R^n, few neurons may see fewer of them than there are.

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> network = Network.mlp([[[1.0, 0.0]], [[1.0]], [[1.0]]], [[0.0], [-0.5], [0.0]])
    >>> f_vectors(enumerate_regions(network, Box(-1, 1)))
    [(6, 7, 2), (8, 10, 3)]
    """
    regions = as_regions(regions)
    _check_all(regions)
    found = []
    for layer in range(1, regions.network.depth + 1):
        whole = layer == regions.network.depth
        part = regions if whole else regions.after_layer(layer)
        found.append(part.complex(workers=workers, progress=progress).f_vector)
    return found
