"""Columns of many batches, joined at the end."""

from __future__ import annotations

from typing import Any

import numpy as np

from tropicell.columns import Ragged
from tropicell.engines.batch import Columns
from tropicell.parts import in_parts

#: Batches that a thread copies at a time, at least.
_LEAST = 8


class Store:
    """Columns of many batches, kept apart until they are joined, by several threads.

    Parameters
    ----------
    workers : int
        Number of threads.

    Examples
    --------
    >>> from tropicell.columns import PackedPatterns
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
        self.regions = 0

    def add(self, columns: Columns) -> None:
        """Regions that come next."""
        self.regions += len(columns.packed)
        self._batches.append((columns.packed.words, *columns[1:]))

    def join(self) -> dict[str, Any]:
        """All columns in one piece (patterns as "words"); None if a batch does not have it.

        Batches are let go as soon as they are copied, so that little is in memory twice.
        """
        batches, self._batches = self._batches, []
        whole: list[Any] = []
        ends: list[list[int]] = []
        for parts in zip(*batches, strict=True):
            if any(part is None for part in parts):
                whole.append(None)
                ends.append([])
                continue
            lengths = [0, *map(len, parts)]
            ends.append(np.cumsum(lengths).tolist())
            shape = (ends[-1][-1], *parts[0].shape[1:])
            whole.append(np.empty(shape, parts[0].dtype))

        def copy(rows: slice) -> None:
            for k in range(rows.start, rows.stop):
                batch, batches[k] = batches[k], ()
                for column, part, places in zip(whole, batch, ends, strict=True):
                    if column is not None:
                        column[places[k] : places[k + 1]] = part

        in_parts(copy, len(batches), self._workers, max(_LEAST, -(-len(batches) // self._workers)))
        names = ("words", *Columns._fields[1:])
        return dict(zip(names, whole or [None] * len(names), strict=True))


def ragged(values: Any, counts: Any) -> Ragged | None:
    """Rows of different lengths, if there are any columns of them."""
    return None if values is None else Ragged.from_counts(values, counts)
