"""A hash table of packed patterns, compiled."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def _hash(words: NDArray[np.uint64]) -> np.uint64:  # pragma: no cover - compiled
    value = np.uint64(0x9E3779B97F4A7C15)
    for word in words:
        value = (value ^ word) * np.uint64(0xBF58476D1CE4E5B9)
        value ^= value >> np.uint64(29)
    return value * np.uint64(0x94D049BB133111EB)


@njit(cache=True, nogil=True)
def _place(
    table: NDArray[np.int64], words: NDArray[np.uint64], query: NDArray[np.uint64]
) -> np.int64:  # pragma: no cover - compiled
    """Where a pattern stands in the table, or the free place where it would."""
    mask = np.uint64(len(table) - 1)
    value = _hash(query)
    place = np.int64((value ^ (value >> np.uint64(32))) & mask)
    while table[place] >= 0:
        same = True
        for i in range(len(query)):
            if words[table[place], i] != query[i]:
                same = False
                break
        if same:
            break
        place = (place + 1) & np.int64(mask)
    return place


@njit(cache=True, nogil=True)
def build_table(words: NDArray[np.uint64]) -> NDArray[np.int64]:  # pragma: no cover - compiled
    """Open hash table of rows; of equal rows the first one is kept."""
    size = 16
    while size < 2 * len(words):
        size *= 2
    table = np.full(size, -1, np.int64)
    for row in range(len(words)):
        place = _place(table, words, words[row])
        if table[place] < 0:
            table[place] = row
    return table


@njit(cache=True, nogil=True)
def look_up(
    table: NDArray[np.int64], words: NDArray[np.uint64], queries: NDArray[np.uint64]
) -> NDArray[np.int64]:  # pragma: no cover - compiled
    """Index of each row in the table, or -1."""
    found = np.empty(len(queries), np.int64)
    for i in range(len(queries)):
        found[i] = table[_place(table, words, queries[i])]
    return found
