"""Columns of many batches, joined at the end."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np

from tropicell._runtime import memory
from tropicell._runtime.parts import in_parts
from tropicell.engines import tuning
from tropicell.regions.columns import Columns, Ragged

_NAMES = ("words", *Columns._fields[1:])

#: Places among the points of a batch become places among those of all.
_POINTS, _PLACES = _NAMES.index("points"), _NAMES.index("corner_places")

#: Each time that so many bytes were added, one looks how much memory is left; so many have to be.
_LOOK_EVERY, _RESERVE = 2**26, 2**28


class Store:
    """Columns of many batches, kept apart until they are joined, by several threads.

    Parameters
    ----------
    workers : int
        Number of threads.

    Examples
    --------
    >>> from tropicell.regions.columns import PackedPatterns
    >>> packed = PackedPatterns.pack(np.array([[1, 0], [1, 1]], dtype=np.uint8), 1)
    >>> store = Store()
    >>> for number in range(3):
    ...     store.add(Columns(packed, np.full((2, 1), float(number))))
    >>> columns = store.join()
    >>> columns["witnesses"].ravel(), columns["volumes"]
    (array([0., 0., 1., 1., 2., 2.]), None)
    """

    def __init__(self, workers: int = 1) -> None:
        self._workers = workers
        self._batches: list[tuple[Any, ...]] = []
        self._unseen = 0  # bytes since the last look at memory
        self.regions = 0

    def add(self, columns: Columns) -> None:
        """Regions that come next.

        Raises
        ------
        MemoryError
            If there is hardly any memory left.
        """
        arrays = columns.packed.words, *columns[1:]
        self._unseen += sum(array.nbytes for array in arrays if array is not None)
        if self._unseen > _LOOK_EVERY:
            free = memory.free_memory()
            if free is not None and free < _RESERVE + tuning.current.spare_each * self.regions:
                raise MemoryError
            self._unseen = 0
        self._batches.append(arrays)
        self.regions += len(columns.packed)

    def join(self) -> dict[str, Any]:
        """All columns in one piece (patterns as "words"); None if a batch does not have it.

        Batches are let go as soon as they are copied, so that little is in memory twice. If there
        is no memory for that, the later half of the batches is let go instead, and again, until
        there is; `regions` says how many are left.
        """
        while True:
            try:
                whole = self._space()
                break
            except MemoryError:
                del self._batches[len(self._batches) // 2 :]
                self.regions = sum(len(batch[0]) for batch in self._batches)
        batches, self._batches = self._batches, []
        columns = list(zip(*batches, strict=True))
        ends = [
            [] if space is None else [0, *accumulate(map(len, parts))]
            for space, parts in zip(whole, columns, strict=False)
        ]
        del columns

        def copy(rows: slice) -> None:
            for column, (space, end) in enumerate(zip(whole, ends, strict=False)):
                if space is None:
                    continue
                parts = [batch[column] for batch in batches[rows]]
                if column != _PLACES:
                    np.concatenate(parts, out=space[end[rows.start] : end[rows.stop]])
                    continue
                for k, part in enumerate(parts, rows.start):
                    np.add(part, ends[_POINTS][k], out=space[end[k] : end[k + 1]])
            batches[rows] = [()] * (rows.stop - rows.start)

        now = tuning.current
        size = max(now.joined, -(-len(batches) // now.joined_parts))
        in_parts(copy, len(batches), self._workers, size)
        return dict(zip(_NAMES, whole, strict=True))

    def _space(self) -> list[Any]:
        """An array for each column, or None, that all batches fit into."""
        whole: list[Any] = [None] * len(_NAMES)
        for column, parts in enumerate(zip(*self._batches, strict=True)):
            if not any(part is None for part in parts):
                shape = (sum(map(len, parts)), *parts[0].shape[1:])
                kind = parts[0].dtype
                if column == _PLACES and len(whole[_POINTS]) > np.iinfo(kind).max:
                    kind = np.dtype(np.int64)
                whole[column] = np.empty(shape, kind)
        # What is yet to be made of them (where rows end) must find memory, too: try that here.
        np.empty(tuning.current.spare + tuning.current.spare_each * self.regions, np.uint8)
        return whole


def ragged(values: Any, counts: Any) -> Ragged | None:
    """Rows of different lengths, if there are any columns of them."""
    return None if values is None else Ragged.from_counts(values, counts)
