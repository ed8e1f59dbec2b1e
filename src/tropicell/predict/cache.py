"""`RegionCache`: patterns and their affine maps in a few arrays that never outgrow a limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell.errors import InvalidInputError
from tropicell.network._point_patterns import flatten_for_points, point_words
from tropicell.network.network import Network
from tropicell.paper import algorithm3
from tropicell.predict import _cache_kernels as kernels
from tropicell.regions.columns import PackedPatterns

Words = NDArray[np.uint64]
Slots = NDArray[np.int32]

#: Maps of at least so many numbers are multiplied with all points of their region at once …
_LARGE_MAP = 512

#: … if there are at least so many points.
_LARGE_GROUP = 8

_FIRST_SLOTS = 8
_MOST_SLOTS = 2**30


class RegionCache:
    """A table from packed patterns to affine maps.

    Parameters
    ----------
    words : int
        64-bit words of a pattern.
    outputs, inputs : int
        Of the maps.
    max_bytes : int
        All arrays together never have more bytes.
    policy : {"lru", "fifo", "keep"}

    Notes
    -----
    A region needs its pattern, its map, 8 bytes for the order in which regions go, and 8 to 16
    bytes of the hash table. The arrays grow in place by doubling, up to what the limit allows.
    It is not thread safe: `CachedPredictor` has a lock.
    """

    def __init__(self, words: int, outputs: int, inputs: int, max_bytes: int, policy: str) -> None:
        self._width = words
        self._shape = (outputs, inputs + 1)
        self.policy = policy
        self.most = _most_slots(self._bytes, max_bytes)
        if self.most < 1:
            raise InvalidInputError(
                f"max_bytes={max_bytes} is too small: one region of this network needs "
                f"{self._bytes(1)} bytes"
            )
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        slots = min(_FIRST_SLOTS, self.most)
        self._words = np.empty((slots, self._width), dtype=np.uint64)
        self._maps = np.empty((slots, *self._shape))
        self._newer, self._older = np.empty(slots, np.int32), np.empty(slots, np.int32)
        self._table = np.zeros(_table_size(slots), dtype=np.int32)
        self._ends = np.array([-1, -1, 0], dtype=np.int32)

    def __len__(self) -> int:
        return int(self._ends[kernels.SIZE])

    @property
    def closed(self) -> bool:
        """Whether it is full and keeps what it has."""
        return self.policy == "keep" and len(self) == self.most

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays, with what is reserved for regions to come."""
        arrays = (self._words, self._maps, self._newer, self._older, self._table, self._ends)
        return sum(array.nbytes for array in arrays)

    def find(self, queries: Words, *, renew: bool = True) -> tuple[Slots, int]:
        """Slot of every pattern, or -1, and how many are there.

        If `renew`, regions that are found count as used now (which matters to "lru" only).
        """
        slots = np.empty(len(queries), dtype=np.int32)
        count = kernels.find(
            self._table, self._words, self._newer, self._older, self._ends, queries,
            renew and self.policy == "lru", slots,
        )  # fmt: skip
        return slots, count

    @property
    def maps(self) -> FloatArray:
        """The maps of all slots; they move when something is appended."""
        return self._maps

    def append(self, words: Words, maps: FloatArray) -> None:
        """Add patterns with their maps, in this order; those that are there already stay."""
        self._make_room(len(words))
        kernels.append(
            self._table, self._words, self._maps, self._newer, self._older, self._ends, words,
            maps, self.policy != "keep",
        )  # fmt: skip

    def columns(self) -> tuple[Words, FloatArray]:
        """All patterns and their maps, those that go first first."""
        slots = kernels.from_oldest(self._newer, self._ends)
        return self._words[slots], self._maps[slots]

    def _make_room(self, count: int) -> None:
        """Have free slots for so many regions more, or as many as the limit allows."""
        slots, needed = len(self._words), min(len(self) + count, self.most)
        if needed <= slots:
            return
        slots = min(max(needed, 2 * slots), self.most)
        # In place: old and new arrays together would exceed the limit for a moment.
        for array in (self._words, self._maps, self._newer, self._older):
            array.resize((slots, *array.shape[1:]), refcheck=False)
        del self._table
        self._table = np.zeros(_table_size(slots), dtype=np.int32)
        kernels.fill(self._table, self._words, len(self))

    def _bytes(self, slots: int) -> int:
        """Bytes of all arrays with so many slots."""
        row = 8 * self._width + 8 * self._shape[0] * self._shape[1] + 8
        return slots * row + 4 * _table_size(slots) + 12


def multiply(
    maps: FloatArray, slots: NDArray[np.signedinteger[Any]], points: FloatArray, values: FloatArray
) -> None:
    """The values of ``maps[slots[i]]`` at point i, one matrix product for all points of a map.

    Small maps are fetched from memory as fast as they are sorted, so their points are taken
    as they come. Points whose slot is negative are left out.
    """
    if maps[0].size < _LARGE_MAP or len(points) < _LARGE_GROUP:
        kernels.multiply(maps, slots, points, values)
        return
    order = np.argsort(slots, kind="stable")
    cuts = np.flatnonzero(np.diff(slots[order])) + 1
    bounds = np.concatenate([[0], cuts, [len(order)]])
    large = np.diff(bounds) >= _LARGE_GROUP
    for start, end in zip(bounds[:-1][large].tolist(), bounds[1:][large].tolist(), strict=True):
        group = order[start:end]
        slot = slots[group[0]]
        if slot >= 0:
            values[group] = points[group] @ maps[slot, :, :-1].T + maps[slot, :, -1]
    rest = order[np.repeat(~large, np.diff(bounds))]
    part = np.empty((len(rest), values.shape[1]))
    kernels.multiply(maps, slots[rest], points[rest], part)
    known = slots[rest] >= 0
    values[rest[known]] = part[known]


def _table_size(slots: int) -> int:
    """A power of two of which the slots take half at most."""
    return max(16, 1 << (2 * slots - 1).bit_length())


def _most_slots(size: Any, max_bytes: int) -> int:
    """The largest number of slots whose size does not exceed a limit."""
    low, high = 0, 1
    while high < _MOST_SLOTS and size(high) <= max_bytes:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if size(middle) <= max_bytes else (low, middle)
    return low


# --- what Algorithm 3 is given here: a compiled way to find regions, and a cache with a lock ------

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
            return PackedPatterns.pack(network.patterns(x, progress=False), self._bits)
        embedding = network.float_embedding
        inner = x if embedding is None else np.ascontiguousarray(embedding(x), dtype=np.float64)
        words = np.empty((len(x), self._words), dtype=np.uint64)
        if point_words(inner, self._flat, self._bits, words):  # something overflowed
            return PackedPatterns.pack(network.patterns(x, progress=False), self._bits)
        return PackedPatterns(words, network.n_neurons, self._bits)
