"""Room for many arrays, taken from the system in large pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Generic, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.interruption import check

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
        self.used = 0

    def reserve(self, size: int) -> None:
        """Begin a new piece if so many bytes are not left of this one."""
        if self.used + size > len(self.piece.bytes):
            self._begin(max(size, min(4 * len(self.piece.bytes), self._largest)))


# --------------------------------------------------------------------------------------------------
# Arrays that every worker needs for itself: laid out once, then made in a few pieces of memory.
#
# Workers are made while Python's global lock is held, one after the other. With dozens of arrays
# each, many threads would wait longer for their workers than a small search takes.
# --------------------------------------------------------------------------------------------------

Arrays = TypeVar("Arrays")

#: Bytes between what two workers write to: processors fetch lines of the cache in pairs.
_APART = 2 * LINE

#: Larger arrays whose contents do not matter have memory of their own: most of it is never used.
_LARGE = 2**20

_empty = np.empty  # tests have one that makes arrays full of nonsense

#: Where an array lies: in the block of those whose contents matter, in that of the others, alone.
_KNOWN, _FREE, _ALONE = range(3)


class _ArrayPlace(NamedTuple):
    """An array, its block, and where it begins there."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    block: int
    offset: int


class Blueprint(Generic[Arrays]):
    """Makes copies of arrays, in memory that no other copy shares a line of the cache with.

    Parameters
    ----------
    make : callable
        Returns the arrays: tuples of arrays and whatever else. It gets a function that marks an
        array whose contents do not matter, and returns it.

    Examples
    --------
    >>> plan = Blueprint(lambda free: (np.arange(3.0), free(np.empty((2, 2), np.int32)), "name"))
    >>> numbers, room, name = plan.build()
    >>> numbers, room.shape, name
    (array([0., 1., 2.]), (2, 2), 'name')
    >>> plan.build()[0] is numbers
    False
    """

    def __init__(self, make: Callable[[Callable[[Any], Any]], Arrays]) -> None:
        marked: list[Any] = []

        def free(array: Any) -> Any:
            marked.append(array)
            return array

        arrays = make(free)
        self._places: list[_ArrayPlace] = []
        self._images: list[tuple[int, NDArray[np.uint8]]] = []
        self._sizes = [0, 0, 0]
        self._form = self._laid_out(arrays, set(map(id, marked)))

    def _laid_out(self, given: Any, free: set[int]) -> Any:
        """The same tuples, without the arrays."""
        if isinstance(given, np.ndarray):
            self._lay_out(given, id(given) in free)
            return _Leaf()
        if isinstance(given, tuple):
            members = [self._laid_out(member, free) for member in given]
            flat = all(isinstance(member, _Leaf) for member in members)
            return _Form(type(given) if hasattr(given, "_fields") else None, members, flat)
        return given

    def _lay_out(self, array: NDArray[Any], free: bool) -> None:
        check()
        block = _KNOWN
        if free:
            block = _FREE if array.nbytes <= _LARGE else _ALONE
        begin = self._sizes[block]
        self._sizes[block] += -(-array.nbytes // LINE) * LINE
        self._places.append(_ArrayPlace(array.shape, array.dtype, block, begin))
        if not free and array.any():
            self._images.append((begin, np.ascontiguousarray(array).reshape(-1).view(np.uint8)))

    def build(self) -> Arrays:
        """New arrays."""
        known = np.zeros(self._sizes[_KNOWN] + 2 * _APART, np.uint8)
        free = _empty(self._sizes[_FREE] + 2 * _APART, np.uint8)
        starts = [-address_of(block) % _APART for block in (known, free)]
        for begin, image in self._images:
            check()
            at = starts[_KNOWN] + begin
            known[at : at + len(image)] = image
        arrays = [
            _empty(shape, dtype)
            if block == _ALONE
            else np.ndarray(shape, dtype, free if block else known, starts[block] + offset)
            for shape, dtype, block, offset in self._places
        ]
        return cast(Arrays, _filled(self._form, iter(arrays)))


class _Leaf:
    """Here an array goes."""


class _Form(NamedTuple):
    """A tuple, or a named one; `flat` if it has nothing but arrays."""

    kind: Any
    members: list[Any]
    flat: bool


def _filled(form: Any, arrays: Iterator[NDArray[Any]]) -> Any:
    if isinstance(form, _Leaf):  # another one, if this came from another machine
        return next(arrays)
    if not isinstance(form, _Form):
        return form
    if form.flat:
        members = list(islice(arrays, len(form.members)))
    else:
        members = [_filled(member, arrays) for member in form.members]
    return tuple(members) if form.kind is None else form.kind._make(members)
