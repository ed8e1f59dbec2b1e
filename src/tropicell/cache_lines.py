"""Arrays of one thread, in memory that no other thread writes to.

NumPy gives small arrays of all threads neighbouring memory. Cores that write to one and the same
line of the cache, if to different numbers, take it from each other all the time.
"""

from __future__ import annotations

from typing import Any, TypeVar, cast

import numpy as np

Arrays = TypeVar("Arrays")

#: Bytes: two lines, since processors fetch them in pairs.
_LINE = 128


def apart(arrays: Arrays) -> Arrays:
    """The same arrays, or tuples of arrays, with lines of their own.

    Examples
    --------
    >>> array = apart((np.arange(3), 7))[0]
    >>> array, array.ctypes.data % 128
    (array([0, 1, 2]), 0)
    """
    given: Any = arrays
    if isinstance(given, np.ndarray):
        given = _copied(given)
    elif isinstance(given, tuple):
        members = map(apart, given)
        given = type(given)(*members) if hasattr(given, "_fields") else tuple(members)
    return cast(Arrays, given)


def _copied(array: Any) -> Any:
    size = -(-array.nbytes // _LINE) * _LINE
    room = np.empty(size + _LINE, dtype=np.uint8)
    start = -room.ctypes.data % _LINE
    copy = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy
