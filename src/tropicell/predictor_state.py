"""What a `CachedPredictor` works with: its cache, and the way to find the regions of points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tropicell._point_patterns import flat_layers, point_words
from tropicell.columns import PackedPatterns
from tropicell.network import Network
from tropicell.region_cache import RegionCache, multiply

FloatArray = NDArray[np.float64]

#: With more weights and more points than these, NumPy's products beat the compiled loop.
_MANY_WEIGHTS, _MANY_POINTS = 20_000, 16


class State:
    """The cache, and what finding regions needs.

    Parameters
    ----------
    network : Network
    max_bytes, policy
        Of the cache.
    """

    def __init__(self, network: Network, max_bytes: int, policy: str) -> None:
        self.network = network
        self.bits = PackedPatterns.aligned_bits_for(network.pieces)
        self.words = max(1, -(-network.n_neurons * self.bits // 64))
        self.cache = RegionCache(self.words, network.n_outputs, network.n_inputs, max_bytes, policy)
        self.layers = flat_layers(network)
        self.widest = int(max(network.n_inputs, np.diff(self.layers.row_start).max()))
        self.multiply = multiply

    def regions_of(self, x: FloatArray) -> NDArray[np.uint64]:
        """Patterns of points, packed."""
        if len(x) > _MANY_POINTS and self.layers.weights.size > _MANY_WEIGHTS:
            return PackedPatterns.pack(self.network.patterns(x), self.bits).words
        embedding = self.network.embedding
        if embedding is not None:
            x = np.ascontiguousarray(embedding(x), dtype=np.float64)
        words = np.empty((len(x), self.words), dtype=np.uint64)
        point_words(x, self.layers, self.bits, words)
        return words
