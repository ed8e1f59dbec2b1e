"""Room for many arrays, taken from the system in large pieces."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

#: Bytes of the first piece and of the largest; each is four times as large as the one before.
_FIRST, _LARGEST = 2**16, 2**23

#: Larger arrays have memory of their own.
_SMALL = 2**12

#: Arrays begin at multiples of so many bytes: a line of a processor's cache.
LINE = 64


class Piece(NamedTuple):
    """A piece of memory as arrays of all types that kernels write to it."""

    words: NDArray[np.int64]
    naturals: NDArray[np.uint64]
    reals: NDArray[np.float64]
    ints: NDArray[np.int32]
    bytes: NDArray[np.uint8]


def piece_of(size: int) -> Piece:
    """A new piece of at least so many bytes; it begins at a line of the processor's cache."""
    whole = np.empty(size + 2 * LINE, np.uint8)
    begin = -whole.ctypes.data % LINE
    part = whole[begin : begin + -(-size // LINE) * LINE]
    return Piece(
        part.view(np.int64), part.view(np.uint64), part.view(np.float64), part.view(np.int32), part
    )


class Slab:
    """Arrays that lie one after the other in large pieces of memory.

    The system hands out memory page by page, when it is first written to. In large pieces pages are
    large, too: this is several times faster. A piece is free again when its last array is.

    Parameters
    ----------
    first, largest : int
        Bytes of the first piece and of the largest; each is four times as large as the one before.

    Attributes
    ----------
    piece : Piece
        Where the next arrays go.
    used : int
        Bytes of it that are taken.

    Examples
    --------
    >>> slab = Slab()
    >>> slab.empty((2, 3), np.float64).shape, slab.empty(5, np.int32).dtype
    ((2, 3), dtype('int32'))
    >>> slab.used
    128
    """

    def __init__(self, first: int = _FIRST, largest: int = _LARGEST) -> None:
        self._largest = largest
        self.piece = piece_of(first)
        self.used = 0

    def empty(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """A new array, as `numpy.empty` makes it."""
        kind = np.dtype(dtype)
        size = kind.itemsize * (shape if isinstance(shape, int) else prod(shape))
        self.reserve(size)
        array: NDArray[Any] = np.ndarray(shape, kind, self.piece.bytes, self.used)
        self.used += -(-size // LINE) * LINE
        return array

    def zeros(self, shape: int | tuple[int, ...], dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """A new array, as `numpy.zeros` makes it, which shares no line of a cache with others.

        Large ones come from the system, which clears memory when it is used.
        """
        size = np.dtype(dtype).itemsize * (shape if isinstance(shape, int) else prod(shape))
        if size > _SMALL:
            return np.zeros(shape, dtype)
        array = self.empty(shape, dtype)
        array.fill(0)
        return array

    def reserve(self, size: int) -> None:
        """Begin a new piece if so many bytes are not left of this one."""
        if self.used + size > len(self.piece.bytes):
            self.piece = piece_of(max(size, min(4 * len(self.piece.bytes), self._largest)))
            self.used = 0
