"""Arrays that every worker needs for itself: described once, then made in a few blocks of memory.

And a pause of Python's collection of garbage, for code that makes very many objects; and how much
memory is left, for code that fills it.

Workers are made while Python's global lock is held, one after the other. With dozens of arrays
each, many threads would wait longer for their workers than a small search takes. And what two
threads write to must not lie in one line of a processor's cache, or both wait for it.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.interruption import check

Arrays = TypeVar("Arrays")

#: Arrays begin at multiples of so many bytes, a line of a processor's cache; and blocks of two
#: workers are so far apart, since processors fetch lines in pairs.
_LINE, _APART = 64, 128

#: Larger arrays whose contents do not matter have memory of their own: most of it is never used.
_LARGE = 2**20

_empty = np.empty  # tests have one that makes arrays full of nonsense

#: Where an array lies: in the block of those whose contents matter, in that of the others, alone.
_KNOWN, _FREE, _ALONE = range(3)


#: Where Linux says how much memory there is; and, in a container, how much of it may be used, is.
_MEMINFO, _CONTAINER = Path("/proc/meminfo"), Path("/sys/fs/cgroup")


def free_memory() -> int | None:
    """Bytes that are still to be had, or None where nobody says so.

    Linux hands out more memory than there is, and kills the process that uses it: no error is
    raised. So whoever fills memory has to look.

    Examples
    --------
    >>> free = free_memory()
    >>> free is None or free > 0
    True
    """
    try:
        lines = _MEMINFO.read_text().splitlines()
        free = next(1024 * int(line.split()[1]) for line in lines if line[:12] == "MemAvailable")
    except (OSError, ValueError, IndexError, StopIteration):
        return None
    try:
        most = int((_CONTAINER / "memory.max").read_text())  # "max" where there is no limit
        used = int((_CONTAINER / "memory.current").read_text())
    except (OSError, ValueError):
        return free
    return max(0, min(free, most - used))


@dataclass(slots=True)
class _ArrayPlace:
    """An array, its block, where it begins there, and what it holds, if that is not 0."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    block: int
    offset: int
    contents: NDArray[Any] | None


@contextmanager
def no_collection() -> Iterator[None]:
    """In here, Python does not look for garbage that refers to itself.

    For code that makes millions of dictionaries and lists, none of which is garbage: each time
    that their number has grown by a quarter, Python would look at all of them.

    Examples
    --------
    >>> with no_collection():
    ...     lists = [[i] for i in range(10)]
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


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
        self._sizes = [0, 0, 0]
        self._form = self._described(arrays, set(map(id, marked)))

    def _described(self, given: Any, free: set[int]) -> Any:
        """The same tuples, with places instead of arrays."""
        if isinstance(given, tuple):
            return _like(given, [self._described(member, free) for member in given])
        if not isinstance(given, np.ndarray):
            return given
        check()
        block = _KNOWN
        if id(given) in free:
            block = _FREE if given.nbytes <= _LARGE else _ALONE
        begin = self._sizes[block]
        self._sizes[block] += -(-given.nbytes // _LINE) * _LINE
        contents = given if block == _KNOWN and given.any() else None
        return _ArrayPlace(given.shape, given.dtype, block, begin, contents)

    def build(self) -> Arrays:
        """New arrays."""
        blocks = []
        for new, size in zip((np.zeros, _empty), self._sizes, strict=False):
            block = new(size + 2 * _APART, np.uint8)
            blocks.append(block[-_address_of(block) % _APART :])
        return cast(Arrays, _built(self._form, blocks))


def _address_of(array: NDArray[Any]) -> int:
    """Where an array begins; `array.ctypes.data` takes several times as long."""
    return int(array.__array_interface__["data"][0])


def _like(given: tuple[Any, ...], members: list[Any]) -> Any:
    """A tuple of the same kind."""
    kind: Any = type(given)
    return kind._make(members) if hasattr(kind, "_fields") else tuple(members)


def _built(form: Any, blocks: list[NDArray[np.uint8]]) -> Any:
    if isinstance(form, tuple):
        return _like(form, [_built(member, blocks) for member in form])
    if not isinstance(form, _ArrayPlace):
        return form
    if form.block == _ALONE:
        return _empty(form.shape, form.dtype)
    array: NDArray[Any] = np.ndarray(form.shape, form.dtype, blocks[form.block], form.offset)
    if form.contents is not None:
        check()
        array[...] = form.contents
    return array
