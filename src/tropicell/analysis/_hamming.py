"""Nearest patterns by the number of neurons that differ, compiled.

Both sides are sorted by *weight*, the number of neurons that are not on piece 0. Patterns of
weights a and b differ in at least ``|a - b|`` neurons, so the search goes outwards from the
queries' own weight and stops when that alone is too much.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.jit import bit_count, kernel

#: Patterns that are compared at a time: a block of a few words each stays in the fastest cache.
BLOCK = 512

#: Queries that share the way through the blocks.
TILE = 16


@kernel(allocates=True)
def fold(word: np.uint64, bits: int) -> np.uint64:  # pragma: no cover - compiled
    """One bit for every neuron of `bits` (1, 2, 4 or 8) bits that are not all 0."""
    if bits == 1:
        return word
    mask = np.uint64(0x5555555555555555)
    word |= word >> np.uint64(1)
    if bits > 2:
        word |= word >> np.uint64(2)
        mask = np.uint64(0x1111111111111111)
    if bits > 4:
        word |= word >> np.uint64(4)
        mask = np.uint64(0x0101010101010101)
    return word & mask


@kernel(allocates=True)
def weights(words: NDArray[np.uint64], bits: int) -> NDArray[np.int64]:  # pragma: no cover
    """For every pattern (row) the number of neurons that are not on piece 0."""
    found = np.zeros(len(words), np.int64)
    for i in range(len(words)):
        for word in words[i]:
            found[i] += bit_count(fold(word, bits))
    return found


@kernel(allocates=True)
def _compare(
    query: NDArray[np.uint64],
    data: NDArray[np.uint64],
    low: int,
    high: int,
    bits: int,
    total: NDArray[np.int64],
) -> None:  # pragma: no cover - compiled
    """Numbers of neurons in which a query differs from the patterns `low` … `high`."""
    count = high - low
    total[:count] = 0
    for w in range(len(query)):
        word = query[w]
        row = data[w, low:high]
        if bits == 1:  # a loop of its own, which the compiler turns into vector instructions
            for j in range(count):
                total[j] += bit_count(row[j] ^ word)
        else:
            for j in range(count):
                total[j] += bit_count(fold(row[j] ^ word, bits))


class Weighted(NamedTuple):
    """Patterns, sorted by weight; those of queries are rows of words, those of data columns."""

    words: NDArray[np.uint64]
    weights: NDArray[np.int64]


class Nearest(NamedTuple):
    """For every query the distance to the nearest pattern so far, and its place in the data."""

    distances: NDArray[np.int64]
    places: NDArray[np.int64]


@kernel(allocates=True)
def _visit(
    block: int,
    queries: Weighted,
    data: Weighted,
    bits: int,
    nearest: Nearest,
    total: NDArray[np.int64],
) -> tuple[bool, bool]:  # pragma: no cover - compiled
    """Compare some queries with a block.

    Returns whether heavier blocks can hold something nearer for one of the queries, and whether
    lighter ones can.
    """
    low = block * BLOCK
    high = min(low + BLOCK, data.words.shape[1])
    best = nearest.distances
    heavier = lighter = False
    for q in range(len(best)):
        below = data.weights[low] - queries.weights[q]
        above = queries.weights[q] - data.weights[high - 1]
        if below < best[q] and above < best[q]:
            _compare(queries.words[q], data.words, low, high, bits, total)
            smallest = best[q]
            for j in range(high - low):
                smallest = min(smallest, total[j])
            if smallest < best[q]:
                best[q] = smallest
                nearest.places[q] = low + np.argmin(total[: high - low])
        heavier |= below < best[q]
        lighter |= above < best[q]
    return heavier, lighter


@kernel(allocates=True)
def find_nearest(
    queries: Weighted, data: Weighted, bits: int, nearest: Nearest
) -> None:  # pragma: no cover - compiled
    """For every query the nearest pattern. Distances must be larger than any at the start."""
    total = np.empty(BLOCK, np.int64)
    blocks = (data.words.shape[1] + BLOCK - 1) // BLOCK
    for first in range(0, len(queries.words), TILE):
        last = min(first + TILE, len(queries.words))
        some = Weighted(queries.words[first:last], queries.weights[first:last])
        theirs = Nearest(nearest.distances[first:last], nearest.places[first:last])
        middle = np.searchsorted(data.weights, queries.weights[(first + last) // 2])
        up = min(middle // BLOCK, blocks - 1)
        down = up - 1
        while up < blocks or down >= 0:
            if up < blocks:
                go_on, _ = _visit(up, some, data, bits, theirs, total)
                up = up + 1 if go_on else blocks
            if down >= 0:
                _, go_on = _visit(down, some, data, bits, theirs, total)
                down = down - 1 if go_on else -1
