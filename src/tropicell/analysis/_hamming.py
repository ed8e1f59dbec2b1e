"""Nearest patterns by the number of neurons that differ, compiled.

Both sides are sorted by *weight*, the number of neurons that are not on piece 0. Patterns of
weights a and b differ in at least ``|a - b|`` neurons, so the search goes outwards from the
queries' own weight and stops when that alone is too much.
"""

from __future__ import annotations

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


@kernel(allocates=True)
def _visit(
    block: int,
    first: int,
    last: int,
    queries: NDArray[np.uint64],
    query_weights: NDArray[np.int64],
    data: NDArray[np.uint64],
    data_weights: NDArray[np.int64],
    bits: int,
    best: NDArray[np.int64],
    found: NDArray[np.int64],
    total: NDArray[np.int64],
) -> tuple[bool, bool]:  # pragma: no cover - compiled
    """Compare a tile of queries with a block.

    Returns whether heavier blocks can hold something nearer for one of the queries, and whether
    lighter ones can.
    """
    low = block * BLOCK
    high = min(low + BLOCK, data.shape[1])
    heavier = lighter = False
    for q in range(first, last):
        below = data_weights[low] - query_weights[q]
        above = query_weights[q] - data_weights[high - 1]
        if below < best[q] and above < best[q]:
            _compare(queries[q], data, low, high, bits, total)
            smallest = best[q]
            for j in range(high - low):
                smallest = min(smallest, total[j])
            if smallest < best[q]:
                best[q] = smallest
                found[q] = low + np.argmin(total[: high - low])
        heavier |= below < best[q]
        lighter |= above < best[q]
    return heavier, lighter


@kernel(allocates=True)
def nearest(
    queries: NDArray[np.uint64],
    query_weights: NDArray[np.int64],
    data: NDArray[np.uint64],
    data_weights: NDArray[np.int64],
    bits: int,
    best: NDArray[np.int64],
    found: NDArray[np.int64],
) -> None:  # pragma: no cover - compiled
    """For every query the nearest pattern: its place in `found`, the distance in `best`.

    Queries are rows, the data's patterns columns; both sorted by weight. `best` must be larger than
    any distance at the start.
    """
    total = np.empty(BLOCK, np.int64)
    blocks = (data.shape[1] + BLOCK - 1) // BLOCK
    for first in range(0, len(queries), TILE):
        last = min(first + TILE, len(queries))
        middle = np.searchsorted(data_weights, query_weights[(first + last) // 2])
        up = min(middle // BLOCK, blocks - 1)
        down = up - 1
        while up < blocks or down >= 0:
            if up < blocks:
                go_on, _ = _visit(
                    up, first, last, queries, query_weights, data, data_weights, bits, best, found,
                    total,
                )  # fmt: skip
                up = up + 1 if go_on else blocks
            if down >= 0:
                _, go_on = _visit(
                    down, first, last, queries, query_weights, data, data_weights, bits, best,
                    found, total,
                )  # fmt: skip
                down = down - 1 if go_on else -1
