"""Columns of many batches, joined at the end."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.parts import in_parts
from tropicell.regions.columns import Columns, Ragged, placed

#: Batches that a thread copies at a time, at least, and number of parts for all threads, at most.
_LEAST, _PARTS = 8, 64

#: Bytes that must be free when all columns have their place: some, and some for each region.
_SPARE, _SPARE_EACH = 2**20, 64

_NAMES = ("words", *Columns._fields[1:])


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
        self._places = array("q")  # of all columns of all batches
        self.regions = 0

    def add(self, columns: Columns) -> None:
        """Regions that come next."""
        columns = placed(columns)
        places = len(self._places)
        try:
            self._places.extend(columns.places)
            self._batches.append((columns.packed.words, *columns[1:]))
        except MemoryError:  # all of a batch, or nothing of it
            del self._places[places:]
            raise
        self.regions += len(columns.packed)

    def join(self) -> dict[str, Any]:
        """All columns in one piece (patterns as "words"); None if a batch does not have it.

        Batches are let go as soon as they are copied, so that little is in memory twice. If there
        is no memory for that, the later half of the batches is let go instead, and again, until
        there is; `regions` says how many are left.
        """
        table = np.array(self._places, np.int64).reshape(len(self._batches), len(_NAMES), 2)
        self._places = array("q")
        while True:
            try:
                batches, moves, whole = self._batches, *self._space(table)
                break
            except MemoryError:
                half = len(self._batches) // 2
                self.regions = sum(len(batch[0]) for batch in self._batches[:half])
                del self._batches[half:]
                table = table[:half]
        self._batches = []

        def copy(rows: slice) -> None:
            copy_parts(steps[rows].reshape(-1, 3))
            batches[rows] = [()] * (rows.stop - rows.start)

        if moves:
            from tropicell.engines._column_kernels import copy_parts  # noqa: PLC0415 - Numba: slow

            steps = np.stack(moves, axis=1)
            in_parts(copy, len(batches), self._workers, max(_LEAST, -(-len(batches) // _PARTS)))
        return dict(zip(_NAMES, whole or [None] * len(_NAMES), strict=True))

    def _space(self, table: NDArray[np.int64]) -> tuple[list[NDArray[np.int64]], list[Any]]:
        """Space for all columns, some of them filled, and what is to be copied to the others."""
        batches = self._batches
        few = len(batches) < _LEAST
        whole: list[Any] = []
        moves: list[NDArray[np.int64]] = []
        for column, parts in enumerate(zip(*batches, strict=True)):
            if any(part is None for part in parts):
                whole.append(None)
                continue
            # Numbers of any length are memory that only Python may copy.
            if few or parts[0].dtype.hasobject:
                whole.append(np.concatenate(parts))
                continue
            shape = (sum(map(len, parts)), *parts[0].shape[1:])
            whole.append(np.empty(shape, parts[0].dtype))
            sources, sizes = table[:, column].T
            targets = whole[-1].ctypes.data + np.cumsum(sizes) - sizes
            moves.append(np.stack([targets, sources, sizes], axis=1))
        # What is yet to be made of them (where rows end) must find memory, too: try that here.
        np.empty(_SPARE + _SPARE_EACH * self.regions, np.uint8)
        return moves, whole


def ragged(values: Any, counts: Any) -> Ragged | None:
    """Rows of different lengths, if there are any columns of them."""
    return None if values is None else Ragged.from_counts(values, counts)
