"""Room for many arrays, taken from the system in large pieces."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

#: Bytes of the first piece and of the largest; each is four times as large as the one before.
_FIRST, _LARGEST = 2**16, 2**23


class Slab:
    """Arrays that lie one after the other in large pieces of memory.

    The system hands out memory page by page, when it is first written to. In large pieces pages are
    large, too: this is several times faster. A piece is free again when its last array is.

    Examples
    --------
    >>> slab = Slab()
    >>> slab.empty((2, 3), np.float64).shape, slab.empty(5, np.int32).dtype
    ((2, 3), dtype('int32'))
    """

    def __init__(self) -> None:
        self._piece = np.empty(_FIRST, np.uint8)
        self._used = 0

    def empty(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """A new array, as `numpy.empty` makes it."""
        kind = np.dtype(dtype)
        size = kind.itemsize * (shape if isinstance(shape, int) else prod(shape))
        if self._used + size > len(self._piece):
            self._piece = np.empty(max(size, min(4 * len(self._piece), _LARGEST)), np.uint8)
            self._used = 0
        array: NDArray[Any] = np.ndarray(shape, kind, self._piece, self._used)
        self._used += -(-size // 64) * 64
        return array
