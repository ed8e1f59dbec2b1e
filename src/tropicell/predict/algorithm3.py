"""The paper's Algorithm 3 for many points at a time: the affine maps of their regions, cached."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell.network.network import Network
from tropicell.predict._point_patterns import flat_layers, point_words
from tropicell.predict.cache import RegionCache, multiply
from tropicell.regions.columns import PackedPatterns
from tropicell.regions.output_maps import output_maps

Words = NDArray[np.uint64]
#: What is done with some points (rows) whose maps are known: that of row i is ``maps[slots[i]]``.
Use = Callable[[Any, FloatArray, NDArray[Any]], None]

#: With more weights and more points than these, NumPy's products beat the compiled loop.
_MANY_WEIGHTS, _MANY_POINTS = 20_000, 16

#: Numbers of points, hidden layers or maps that are worked on at a time.
_BATCH = 2**22


class RegionMaps:
    """Finds the maps of points' regions: those that were needed before are in a cache.

    Parameters
    ----------
    network : Network
    max_bytes, policy
        Of the cache; see `CachedPredictor`.

    Attributes
    ----------
    cache : RegionCache
    lock : RLock
        Whoever reads or changes the cache holds it.
    """

    def __init__(self, network: Network, max_bytes: int, policy: str) -> None:
        self.network = network
        self.lock = RLock()
        self._bits = PackedPatterns.aligned_bits_for(network.pieces)
        self._words = PackedPatterns.words_for(network.n_neurons, self._bits)
        self._layers = flat_layers(network)
        self._widest = int(max(network.n_inputs, np.diff(self._layers.row_start).max()))
        self.cache = RegionCache(
            self._words, network.n_outputs, network.n_inputs, max_bytes, policy
        )
        self.multiply = multiply

    def for_all(
        self, x: FloatArray, use: Use, without: Callable[[Any], None] | None
    ) -> tuple[int, int]:
        """Algorithm 3; the numbers are the lines of the paper.

        Parameters
        ----------
        x : ndarray, shape (points, inputs)
        use : callable
            Gets points (rows) with their maps.
        without : callable or None
            Gets points whose regions can't be learnt any more; None: they are worked out anyway.

        Returns
        -------
        hits, misses : int
        """
        total = 0
        for rows in self.blocks(x):
            # 2: Find the linear region v in which x lies.
            v = self.regions_of(x[rows])
            with self.lock:
                # 3: If v is not in the cache (its slot is -1; for the others, go to 7)
                slots, hits = self.cache.find(v)
                # 7, 8: Look up F_A and f_b for the current region; return F_A x + f_b.
                use(rows, self.cache.maps, slots)
                closed = self.cache.closed
            if hits < len(v):
                new = np.flatnonzero(slots < 0)
                if closed and without is not None:
                    without(new + rows.start)
                    total += len(new)
                else:
                    total += self._learn(v[new], new + rows.start, use)
        return len(x) - total, total

    def _learn(self, v: Words, rows: NDArray[Any], use: Use) -> int:
        """Lines 4 to 8 for points whose regions v are not in the cache; how many regions it was."""
        packed = PackedPatterns(v, self.network.n_neurons, self._bits)
        first, region, _ = packed.groups()
        order = np.argsort(region, kind="stable")
        step = max(1, _BATCH // (self.network.n_outputs * (self._widest + 1)))
        for start in range(0, len(first), step):
            part = first[start : start + step]
            # 4: Use the recurrences to find the matrix F_A and the vector f_b.
            maps = output_maps(self.network, packed[part])
            # 5: Append the pair (v : (F_A, f_b)) to the cache.
            with self.lock:
                self.cache.append(v[part], maps)
            # 7, 8: F_A x + f_b for all points of these regions.
            low, high = np.searchsorted(region[order], [start, start + len(part)])
            points = order[low:high]
            use(rows[points], maps, (region[points] - start).astype(np.int32))
        return len(first)

    def blocks(self, x: FloatArray) -> Iterator[slice]:
        """Rows that are worked on at a time."""
        step = max(1, _BATCH // (self.network.n_inputs + self.network.n_neurons))
        return (slice(i, min(i + step, len(x))) for i in range(0, len(x), step))

    def regions_of(self, x: FloatArray) -> Words:
        """Patterns of points, packed."""
        if len(x) > _MANY_POINTS and self._layers.weights.size > _MANY_WEIGHTS:
            return PackedPatterns.pack(self.network.patterns(x), self._bits).words
        embedding = self.network.float_embedding
        inner = x if embedding is None else np.ascontiguousarray(embedding(x), dtype=np.float64)
        words = np.empty((len(x), self._words), dtype=np.uint64)
        if point_words(inner, self._layers, self._bits, words):  # something overflowed
            return PackedPatterns.pack(self.network.patterns(x), self._bits).words
        return words
