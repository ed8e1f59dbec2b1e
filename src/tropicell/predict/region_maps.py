"""What Algorithm 3 is given here: a compiled way to find regions, and a cache with a lock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import RLock
from typing import Any

import numpy as np

from tropicell._runtime.arrays import FloatArray
from tropicell.network.network import Network
from tropicell.paper import algorithm3
from tropicell.predict._point_patterns import flatten_for_points, point_words
from tropicell.predict.cache import RegionCache, multiply
from tropicell.regions.columns import PackedPatterns

#: With more weights and more points than these, NumPy's products beat the compiled loop.
_MANY_WEIGHTS, _MANY_POINTS = 20_000, 16


class RegionMaps:
    """Finds the maps of points' regions: those that were needed before are in a cache.

    Parameters
    ----------
    network : Network
    max_bytes, policy
        Of the cache; see `tropicell.CachedPredictor`.

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
        self._flat = flatten_for_points(network)
        self.cache = RegionCache(
            self._words, network.n_outputs, network.n_inputs, max_bytes, policy
        )
        self.multiply = multiply

    def for_all(
        self, x: FloatArray, use: algorithm3.Use, without: Callable[[Any], None] | None
    ) -> tuple[int, int]:
        """Algorithm 3 for all rows of x; see `tropicell.paper.algorithm3.predict`."""
        return algorithm3.predict(
            self.network, x, self.cache, self.regions_of, use, without, self.lock
        )

    def blocks(self, x: FloatArray) -> Iterator[slice]:
        """Rows that are worked on at a time."""
        return algorithm3.blocks(self.network, x)

    def regions_of(self, x: FloatArray) -> PackedPatterns:
        """Patterns of points."""
        network = self.network
        if len(x) > _MANY_POINTS and self._flat.weights.size > _MANY_WEIGHTS:
            return PackedPatterns.pack(network.patterns(x), self._bits)
        embedding = network.float_embedding
        inner = x if embedding is None else np.ascontiguousarray(embedding(x), dtype=np.float64)
        words = np.empty((len(x), self._words), dtype=np.uint64)
        if point_words(inner, self._flat, self._bits, words):  # something overflowed
            return PackedPatterns.pack(network.patterns(x), self._bits)
        return PackedPatterns(words, network.n_neurons, self._bits)
