"""A hash table of packed patterns, compiled, and filled by several threads.

The table consists of sections. A pattern stands in the section that its hash says, so threads fill
different sections at the same time, and the table is the same whatever their number. Should a
section be full, what it has no room for goes to the next one; threads leave that to a last pass.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.jit import kernel
from tropicell._runtime.parts import in_parts

#: Places of a section, a power of two; smaller tables have but one.
_SECTION = 1 << 12

#: Rows that a thread hashes at a time.
_ROWS = 1 << 14


@kernel(allocates=True)
def _hash(words: NDArray[np.uint64]) -> np.uint64:  # pragma: no cover - compiled
    value = np.uint64(0x9E3779B97F4A7C15)
    for word in words:
        value = (value ^ word) * np.uint64(0xBF58476D1CE4E5B9)
        value ^= value >> np.uint64(29)
    return value * np.uint64(0x94D049BB133111EB)


@kernel(allocates=True)
def _start(value: np.uint64, size: int) -> np.int64:  # pragma: no cover - compiled
    """The place in a table of this size where a pattern with this hash is looked for first."""
    return np.int64((value ^ (value >> np.uint64(32))) & np.uint64(size - 1))


@kernel(allocates=True)
def _place(
    table: NDArray[np.int64],
    words: NDArray[np.uint64],
    query: NDArray[np.uint64],
    start: np.int64,
    places: int,
) -> np.int64:  # pragma: no cover - compiled
    """Where a pattern stands in the table, or the free place where it would; -1: nowhere.

    Looks at so many places: those of the section of `start`, then of the next one, and so on.
    """
    section = min(_SECTION, len(table))
    first, offset = start & ~(section - 1), start & (section - 1)
    for step in range(places):
        if step > 0 and step % section == 0:
            first = (first + section) & (len(table) - 1)
        place = first + ((offset + step) & (section - 1))
        row = table[place]
        if row < 0:
            return place
        same = True
        for i in range(len(query)):
            if words[row, i] != query[i]:
                same = False
                break
        if same:
            return place
    return np.int64(-1)


@kernel(allocates=True)
def _hash_rows(
    words: NDArray[np.uint64], begin: int, end: int, starts: NDArray[np.int64], size: int
) -> None:  # pragma: no cover - compiled
    for row in range(begin, end):
        starts[row] = _start(_hash(words[row]), size)


@kernel(allocates=True)
def _fill(
    table: NDArray[np.int64],
    words: NDArray[np.uint64],
    starts: NDArray[np.int64],
    begin: int,
    end: int,
    places: int,
) -> tuple[int, int]:  # pragma: no cover - compiled
    """Put in the rows that start at the places begin … end - 1; of equal rows the first one.

    Returns the first row that is equal to one before it (or the number of rows), and how many rows
    had no room in so many places.
    """
    repeated, left = len(words), 0
    for row in range(len(words)):
        if not begin <= starts[row] < end:
            continue
        place = _place(table, words, words[row], starts[row], places)
        if place < 0:
            left += 1
        elif table[place] < 0:
            table[place] = row
        elif table[place] != row:
            repeated = min(repeated, row)
    return repeated, left


def build_table(words: NDArray[np.uint64], workers: int = 1) -> tuple[NDArray[np.int64], int]:
    """Open hash table of rows; of equal rows the first one is kept.

    Parameters
    ----------
    words : ndarray, shape (rows, words)
    workers : int
        Number of threads.

    Returns
    -------
    table : ndarray
        Rows, or -1; see `look_up`.
    repeated : int
        The first row that is equal to one before it; the number of rows if there is none.

    Examples
    --------
    >>> build_table(np.array([[7], [8], [7]], dtype=np.uint64))[1]
    2
    """
    size = 16
    while size < 2 * len(words):
        size *= 2
    table = np.full(size, -1, np.int64)
    starts = np.empty(len(words), np.int64)
    in_parts(
        lambda part: _hash_rows(words, part.start, part.stop, starts, size),
        len(words),
        workers,
        _ROWS,
    )
    found = []
    section = min(_SECTION, size)

    def fill(part: slice) -> None:
        begin, end = part.start * section, part.stop * section
        found.append(_fill(table, words, starts, begin, end, section))

    sections = size // section
    in_parts(fill, sections, workers, -(-sections // workers))
    if any(left for _, left in found):
        found.append(_fill(table, words, starts, 0, size, size))
    return table, min(repeated for repeated, _ in found)


@kernel(allocates=True)
def find_row(
    table: NDArray[np.int64], words: NDArray[np.uint64], query: NDArray[np.uint64]
) -> np.int64:  # pragma: no cover - compiled
    """The row of the table that is equal to this one, or -1."""
    place = _place(table, words, query, _start(_hash(query), len(table)), len(table))
    return np.int64(-1) if place < 0 else table[place]


@kernel(allocates=True)
def look_up(
    table: NDArray[np.int64], words: NDArray[np.uint64], queries: NDArray[np.uint64]
) -> NDArray[np.int64]:  # pragma: no cover - compiled
    """Index of each row in the table, or -1."""
    found = np.empty(len(queries), np.int64)
    for i in range(len(queries)):
        found[i] = find_row(table, words, queries[i])
    return found
