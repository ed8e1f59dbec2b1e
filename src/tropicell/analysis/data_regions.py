"""Which regions hold data, and how far other points are from them.

The paper suggests to tell unusual inputs from the rest by the way from their region to the nearest
region that holds training data. There are two ways to measure it:

- the number of neurons to flip (Hamming distance of the patterns): works for any network;
- the length of the path in the region graph: needs all regions, so few inputs.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropicell._runtime.arrays import FloatArray, IntArray
from tropicell._runtime.parts import check_workers, in_parts, in_turn
from tropicell._runtime.progress import bar_of
from tropicell.analysis import graph
from tropicell.errors import InvalidInputError, require
from tropicell.importers.models import as_network
from tropicell.network.network import Network
from tropicell.network.patterns import to_texts
from tropicell.regions.columns import PackedPatterns

if TYPE_CHECKING:
    import pandas

    from tropicell.regions.regions import Regions


#: Values of hidden layers that are worked out at a time.
_BATCH = 2**23

#: Pairs of patterns that are compared in one go, at most.
_COMPARISONS = 2**28


class DataRegions:
    """The regions of a network that hold data points.

    Parameters
    ----------
    network : Network
    points : array_like, shape (points, inputs)
        The data, usually what the network was trained with.
    workers : int
        Number of threads.
    progress : bool, optional
        Show a progress bar if it takes longer than two seconds; default: if standard error is a
        terminal.

    Attributes
    ----------
    network : Network
    packed : PackedPatterns
        The regions' patterns, in the order in which the data reach them.
    counts : ndarray of int
        How many points each region holds.
    points : ndarray, shape (regions, inputs)
        The first data point in each region.

    Notes
    -----
    Patterns of points are those of `Network.patterns` in float64: rounding may decide on which side
    of a boundary a point next to it lies.

    Examples
    --------
    Two neurons, with bends at 0 and 1; all data lie left of 0:

    >>> network = Network.mlp([[[1.0], [1.0]], [[1.0, 1.0]]], [[0.0, -1.0], [0.0]])
    >>> known = DataRegions(network, [[-3.0], [-2.0], [-1.0]])
    >>> len(known), known.counts
    (1, array([3]))
    >>> known.distance([[-9.0], [0.5], [7.0]])
    array([0, 1, 2])
    """

    def __init__(
        self,
        network: Network,
        points: ArrayLike,
        *,
        workers: int = 1,
        progress: bool | None = None,
    ) -> None:
        network = as_network(network)
        x = network.check_points(points, finite=True)
        if not len(x):
            raise InvalidInputError("there are no data points; expected at least one row")
        packed = _pack_points(network, x, workers, progress)
        first, _, counts = packed.groups()
        self.network = network
        self.packed = PackedPatterns(packed.words[first], packed.neurons, packed.bits)
        self.counts = counts.astype(np.int64)
        self.points = x[first]

    def __len__(self) -> int:
        return len(self.packed)

    def __repr__(self) -> str:
        return f"DataRegions({len(self)} of {self.network!r} with {self.counts.sum()} points)"

    def distance(
        self, points: ArrayLike, *, workers: int = 1, progress: bool | None = None
    ) -> IntArray:
        """The smallest number of neurons to flip from each point's pattern to a data region's.

        A neuron with more than two pieces counts once if it is on another piece.

        Parameters
        ----------
        points : array_like, shape (points, inputs)
        workers : int
            Number of threads.
        progress : bool, optional
            Show a progress bar if it takes longer than two seconds; default: if standard error is
            a terminal.

        Returns
        -------
        ndarray of int64, shape (points,)
            0 where a point is in a region that holds data.

        Notes
        -----
        Equal patterns are compared once, on both sides. In the worst case all different patterns
        are compared with all others, 64 neurons at a time; see `tropicell.analysis._hamming`.

        Examples
        --------
        >>> network = Network.mlp([[[1.0], [1.0]], [[1.0, 1.0]]], [[0.0, -1.0], [0.0]])
        >>> known = DataRegions(network, [[-3.0]])
        >>> known.distance([[-9.0], [0.5], [7.0]])
        array([0, 1, 2])
        """
        return self._nearest(points, workers, progress)[1]

    def nearest(
        self, points: ArrayLike, *, workers: int = 1, progress: bool | None = None
    ) -> IntArray:
        """Index of a data region whose pattern is nearest to that of each point.

        If several are equally near it is one of them, always the same one.

        Examples
        --------
        >>> network = Network.mlp([[[1.0], [1.0]], [[1.0, 1.0]]], [[0.0, -1.0], [0.0]])
        >>> DataRegions(network, [[-1.0], [3.0]]).nearest([[-5.0], [8.0]])
        array([0, 1])
        """
        return self._nearest(points, workers, progress)[0]

    def _nearest(
        self, points: ArrayLike, workers: int, progress: bool | None
    ) -> tuple[IntArray, IntArray]:
        check_workers(workers)
        x = self.network.check_points(points, finite=True)
        queries = _pack_points(self.network, x, workers, progress)
        first, labels, _ = queries.groups()
        found = self.packed.find_words(queries.words[first])
        distances = np.zeros(len(first), dtype=np.int64)
        elsewhere = np.flatnonzero(found < 0)
        with bar_of(len(elsewhere), " patterns", progress) as bar:
            words = queries.words[first[elsewhere]]
            found[elsewhere], distances[elsewhere] = self._search(words, workers, bar)
        return found[labels], distances[labels]

    def _search(
        self, words: NDArray[np.uint64], workers: int, bar: Any
    ) -> tuple[IntArray, IntArray]:
        """Nearest data region and its distance, for patterns without data."""
        from tropicell.analysis import _hamming as kernels  # noqa: PLC0415 - Numba is slow to import

        bits = self.packed.bits
        order, data, data_weights = self._by_weight
        weights = kernels.weights(words, bits)
        queries = np.argsort(weights, kind="stable")
        found = np.full(len(words), -1, dtype=np.int64)
        best = np.full(len(words), self.packed.neurons + 1, dtype=np.int64)
        parts = max(workers, -(-len(words) * max(1, len(data_weights)) // _COMPARISONS))

        def search(start: int) -> None:
            # every part has queries of all weights, since some take longer than others
            part = queries[start::parts]
            part_best, part_found = best[part], found[part]
            some = kernels.Weighted(words[part], weights[part])
            nearest = kernels.Nearest(part_best, part_found)
            kernels.find_nearest(some, kernels.Weighted(data, data_weights), bits, nearest)
            best[part], found[part] = part_best, order[part_found]
            bar.update(len(part))

        in_turn(search, range(min(parts, len(words))), workers)
        return found, best

    @cached_property
    def _by_weight(self) -> tuple[NDArray[np.intp], NDArray[np.uint64], IntArray]:
        """Order of the data regions by weight, and their words (as columns) and weights in it."""
        from tropicell.analysis import _hamming as kernels  # noqa: PLC0415

        weights = kernels.weights(self.packed.words, self.packed.bits)
        order = np.argsort(weights, kind="stable")
        return order, np.ascontiguousarray(self.packed.words[order].T), weights[order]

    def path_length(self, points: ArrayLike, regions: Regions) -> IntArray:
        """The number of facets to cross from each point's region to the nearest data region.

        Parameters
        ----------
        points : array_like, shape (points, inputs)
        regions : Regions
            Of the same network. If they are not complete, the paths through those that were found
            are measured, so lengths may be too large.

        Returns
        -------
        ndarray of int64, shape (points,)
            -1 for points outside of the regions' domain, and where no path is known.

        Notes
        -----
        Where every boundary belongs to one neuron, crossing a facet flips one, so the length is at
        least `distance`. Neurons that share a boundary are flipped by one step.

        Examples
        --------
        >>> from tropicell import enumerate_regions
        >>> network = Network.mlp([[[1.0], [1.0]], [[1.0, 1.0]]], [[0.0, -1.0], [0.0]])
        >>> known = DataRegions(network, [[-3.0]])
        >>> known.path_length([[-9.0], [0.5], [7.0]], enumerate_regions(network))
        array([0, 1, 2])
        """
        x = self.network.check_points(points, finite=True)
        lengths = self.path_lengths(regions)
        found = regions.locate(x)
        return np.where(found >= 0, lengths[found], -1)

    def path_lengths(self, regions: Regions) -> IntArray:
        """For each of the regions the number of facets to cross to the nearest data region.

        Examples
        --------
        >>> from tropicell import enumerate_regions
        >>> network = Network.mlp([[[1.0], [1.0]], [[1.0, 1.0]]], [[0.0, -1.0], [0.0]])
        >>> known = DataRegions(network, [[-3.0]])
        >>> known.path_lengths(enumerate_regions(network, engine="traverse"))
        array([0, 1, 2])
        """
        if regions.network.fingerprint != self.network.fingerprint:
            raise InvalidInputError(
                f"the regions are those of another network, {regions.network!r}; expected regions "
                f"of {self.network!r}"
            )
        sources = regions.locate(self.points)
        if not (sources >= 0).any():
            raise InvalidInputError(
                f"none of the {len(self)} data regions is among the regions in {regions.domain!r}"
            )
        return graph.path_lengths(regions, sources[sources >= 0])


def occupancy(
    network: Network, points: ArrayLike, labels: ArrayLike | None = None, *, by: str = "region"
) -> pandas.DataFrame:
    """How data points are spread over the regions, as a table.

    Parameters
    ----------
    network : Network
    points : array_like, shape (points, inputs)
    labels : array_like, shape (points,), optional
        The points' classes.
    by : {"region", "class"}
        What a row stands for.

    Returns
    -------
    pandas.DataFrame
        By region, those with most points first: ``pattern``, ``points``, and with labels ``class``
        (the most frequent one), ``purity`` (its part of the points), and a column with the number
        of points of every class. By class: ``points``, ``regions`` that hold one of them, ``own``
        (regions that hold no other class), and ``purity`` (the part of the points that are in
        regions where their class is the most frequent one).

    Examples
    --------
    >>> network = Network.mlp([[[1.0]], [[1.0]]])
    >>> points, labels = [[-2.0], [-1.0], [1.0], [-3.0]], ["a", "b", "b", "a"]
    >>> print(occupancy(network, points, labels).to_string(index=False))
    pattern  points class   purity  a  b
          0       3     a 0.666667  2  1
          1       1     b 1.000000  0  1
    >>> print(occupancy(network, points, labels, by="class"))
           points  regions  own  purity
    class
    a           2        1    0     1.0
    b           2        2    1     0.5
    """
    network = as_network(network)
    module: Any = require("pandas", extra="graph", why="a table of regions")
    if by not in ("region", "class"):
        raise InvalidInputError(f"by must be 'region' or 'class', not {by!r}")
    x = network.check_points(points, finite=True)
    packed = _pack_points(network, x)
    first, region, counts = packed.groups()
    order = np.argsort(-counts, kind="stable")
    texts = to_texts(packed[first[order]], network.widths)
    columns: dict[Any, Any] = {"pattern": texts, "points": counts[order]}
    if labels is None:
        if by == "class":
            raise InvalidInputError("a table by class needs the points' labels")
        return module.DataFrame(columns)
    y = np.asarray(labels)
    if y.shape != (len(x),):
        raise InvalidInputError(f"expected one label for each of {len(x)} points, got {y.shape}")
    classes, label = np.unique(y, return_inverse=True)
    table = np.zeros((len(first), len(classes)), dtype=np.int64)
    np.add.at(table, (region, label), 1)
    if by == "class":
        return _by_class(module, classes, table)
    table = table[order]
    if len(table):
        columns["class"] = classes[table.argmax(axis=1)]
        columns["purity"] = table.max(axis=1) / table.sum(axis=1)
    columns.update({name: table[:, k] for k, name in enumerate(classes.tolist())})
    return module.DataFrame(columns)


def _by_class(module: Any, classes: NDArray[Any], table: IntArray) -> pandas.DataFrame:
    present = table > 0
    own = present & (present.sum(axis=1, keepdims=True) == 1)
    first = np.arange(len(classes)) == table.argmax(axis=1, keepdims=True)
    columns = {
        "points": table.sum(axis=0),
        "regions": present.sum(axis=0),
        "own": own.sum(axis=0),
        "purity": (table * first).sum(axis=0) / table.sum(axis=0),
    }
    return module.DataFrame(columns, index=module.Index(classes, name="class"))


def auroc(inside: ArrayLike, outside: ArrayLike) -> float:
    """How well a score tells two sets apart: the area under the ROC curve.

    Parameters
    ----------
    inside, outside : array_like
        Scores of the two sets; those of `outside` should be larger.

    Returns
    -------
    float
        The probability that a random score of `outside` is larger than one of `inside`, equal ones
        counted half: 1 is perfect, 0.5 chance.

    Examples
    --------
    >>> auroc([0, 0, 1], [1, 2])
    0.9166666666666666
    """
    from scipy.stats import rankdata  # noqa: PLC0415 - slow to import

    low = np.asarray(inside, dtype=np.float64).ravel()
    high = np.asarray(outside, dtype=np.float64).ravel()
    for name, scores in (("inside", low), ("outside", high)):
        if not scores.size or np.isnan(scores).any():
            raise InvalidInputError(f"{name}: expected at least one score, and no nan")
    ranks = rankdata(np.concatenate([low, high]))[low.size :].sum()
    return float((ranks - high.size * (high.size + 1) / 2) / (low.size * high.size))


def _pack_points(
    network: Network, points: FloatArray, workers: int = 1, progress: bool | None = False
) -> PackedPatterns:
    """The patterns of points, in the form that `tropicell.analysis._hamming` compares.

    Besides them, memory does not grow with the number of points.
    """
    bits = PackedPatterns.aligned_bits_for(network.pieces)
    none = PackedPatterns.pack(np.empty((0, network.n_neurons), np.uint8), bits).words
    words = np.empty((len(points), none.shape[1]), np.uint64)
    step = max(1, _BATCH // max(1, network.n_inputs, network.n_neurons))

    def work(part: slice) -> None:
        words[part] = PackedPatterns.pack(
            network.patterns(points[part], progress=False), bits
        ).words
        bar.update(part.stop - part.start)

    with bar_of(len(points), " points", progress) as bar:
        in_parts(work, len(points), workers, step)
    return PackedPatterns(words, network.n_neurons, bits)
