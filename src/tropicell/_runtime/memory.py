"""Room for many arrays, taken from the system in large pieces."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Bytes of the first piece and of the largest; each is four times as large as the one before.
_FIRST, _LARGEST = 2**16, 2**23

#: Arrays begin at multiples of so many bytes: a line of a processor's cache.
LINE = 64


class Piece(NamedTuple):
    """A piece of memory as arrays of all types that kernels write to it."""

    words: NDArray[np.int64]
    naturals: NDArray[np.uint64]
    reals: NDArray[np.float64]
    ints: NDArray[np.int32]
    bytes: NDArray[np.uint8]


def address_of(array: NDArray[Any]) -> int:
    """Where an array begins; `array.ctypes.data` takes several times as long."""
    return int(array.__array_interface__["data"][0])


def piece_of(size: int) -> Piece:
    """A new piece of at least so many bytes; it begins at a line of the processor's cache."""
    whole = np.empty(size + 2 * LINE, np.uint8)
    begin = -address_of(whole) % LINE
    part = whole[begin : begin + -(-size // LINE) * LINE]
    return Piece(
        part.view(np.int64), part.view(np.uint64), part.view(np.float64), part.view(np.int32), part
    )


class Slab:
    """Room in large pieces of memory, to be filled from the front.

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
    address : int
        Where it begins.
    used : int
        Bytes of it that are taken; who takes more adds them.

    Examples
    --------
    >>> slab = Slab(first=64)
    >>> slab.reserve(48)
    >>> slab.used += 48
    >>> slab.reserve(48)
    >>> slab.used, len(slab.piece.bytes)
    (0, 256)
    """

    def __init__(self, first: int = _FIRST, largest: int = _LARGEST) -> None:
        self._largest = largest
        self._begin(first)

    def _begin(self, size: int) -> None:
        self.piece = piece_of(size)
        self.address = address_of(self.piece.bytes)
        self.used = 0

    def reserve(self, size: int) -> None:
        """Begin a new piece if so many bytes are not left of this one."""
        if self.used + size > len(self.piece.bytes):
            self._begin(max(size, min(4 * len(self.piece.bytes), self._largest)))
