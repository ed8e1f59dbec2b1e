"""Algorithm 3 of the paper, `Predict`: the affine maps of regions, cached, for many points.

The numbers in `predict` are the lines of the paper::

    1: function Predict(x)
    2:     Find the linear region v in which x lies.
    3:     If v is not in the cache
    4:         Use the recurrences to find F_A and f_b: the network is F_A x + f_b on the region.
    5:         Append the pair (v : (F_A, f_b)) to the cache.
    6:     Use the cache to look up F_A and f_b for the current region.
    7:     return F_A x + f_b

What finds the region, and what keeps the maps, are given: `tropicell.predict` has fast ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell.network.network import Network
from tropicell.regions.columns import PackedPatterns
from tropicell.regions.output_maps import output_maps

Words = NDArray[np.uint64]

#: What is done with some points (rows) whose maps are known: that of row i is ``maps[slots[i]]``.
Use = Callable[[Any, FloatArray, NDArray[Any]], None]

#: Numbers of points, hidden layers or maps that are worked on at a time.
BATCH = 2**22


class Cache(Protocol):
    """A table from patterns to affine maps; see `tropicell.predict.cache.RegionCache`."""

    @property
    def maps(self) -> FloatArray:
        """The maps of all slots."""

    @property
    def closed(self) -> bool:
        """Whether nothing more can be appended."""

    def find(self, queries: Words) -> tuple[NDArray[Any], int]:
        """Slot of every pattern, or -1, and how many are there."""

    def append(self, words: Words, maps: FloatArray) -> None:
        """Add patterns with their maps."""


def predict(
    network: Network,
    x: FloatArray,
    cache: Cache,
    region_of: Callable[[FloatArray], PackedPatterns],
    use: Use,
    without: Callable[[Any], None] | None,
    lock: AbstractContextManager[Any],
) -> tuple[int, int]:
    """Algorithm 3 for all rows of x.

    Parameters
    ----------
    network : Network
    x : ndarray, shape (points, inputs)
    cache : Cache
    region_of : callable
        Finds the patterns of points.
    use : callable
        Gets points (rows) with their maps.
    without : callable or None
        Gets points whose regions can't be learnt any more; None: they are worked out anyway.
    lock : context manager
        Held while the cache is read or changed.

    Returns
    -------
    hits, misses : int
        Points whose region was in the cache, and regions (or, without, points) that were not.
    """
    misses = 0
    for rows in blocks(network, x):
        # 2: Find the linear region v in which x lies.
        v = region_of(x[rows])
        with lock:
            # 3: If v is not in the cache (its slot is -1; for the others, go to 6)
            slots, hits = cache.find(v.words)
            # 6, 7: Look up F_A and f_b for the current region; return F_A x + f_b.
            use(rows, cache.maps, slots)
            closed = cache.closed
        if hits == len(v):
            continue
        new = np.flatnonzero(slots < 0)
        if closed and without is not None:
            without(new + rows.start)
            misses += len(new)
            continue
        unknown = PackedPatterns(v.words[new], v.neurons, v.bits)
        first, region, _ = unknown.groups()
        order = np.argsort(region, kind="stable")
        widest = max(network.n_inputs, network.n_outputs, *network.widths, 1)
        step = max(1, BATCH // (network.n_outputs * (widest + 1)))
        for start in range(0, len(first), step):
            part = first[start : start + step]
            # 4: Use the recurrences to find the matrix F_A and the vector f_b.
            maps = output_maps(network, unknown[part])
            # 5: Append the pair (v : (F_A, f_b)) to the cache.
            with lock:
                cache.append(unknown.words[part], maps)
            # 6, 7: F_A x + f_b for all points of these regions.
            low, high = np.searchsorted(region[order], [start, start + len(part)])
            points = order[low:high]
            use(new[points] + rows.start, maps, (region[points] - start).astype(np.int32))
        misses += len(first)
    return len(x) - misses, misses


def blocks(network: Network, x: FloatArray) -> Iterator[slice]:
    """Rows that are worked on at a time."""
    step = max(1, BATCH // (network.n_inputs + network.n_neurons))
    return (slice(i, min(i + step, len(x))) for i in range(0, len(x), step))
