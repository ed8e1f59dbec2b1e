"""Numba's `njit` with a cache that can fail, and a word to users who wait for kernels.

Compiled kernels are kept on disk by Numba's own cache. By itself that cache raises where nothing
can be written (``import`` fails in a container whose files are read-only), where the disk is full,
and where one of its files is cut short; and it runs whatever machine code a flipped bit leaves.
Here a cache that can't be used costs time and nothing else: its files carry a checksum and what
they are of, a file that is damaged counts as missing, and kernels that can't be kept are compiled
anew in each process, which users are told once.

The time that compiling takes is not taken from any budget: clocks stand still.
"""

from __future__ import annotations

import os
import pickle
import sys
import threading
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast, overload

import numba
from numba.core import caching, event

from tropicell._runtime.interruption import clock

__all__ = ["njit"]

_numba: Any = caching

#: Seconds of compiling after which users are told what they wait for.
_PATIENCE = 1.5

#: Bytes of the checksum at the end of what the cache writes.
_CHECK = 4


Function = TypeVar("Function", bound=Callable[..., Any])


@overload
def njit(function: Function, /) -> Function: ...


@overload
def njit(**options: Any) -> Callable[[Function], Function]: ...


def njit(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Numba's `njit`; with ``cache=True`` what is compiled is kept on disk, wherever that works.

    Parameters
    ----------
    function : callable, optional
        Default: a decorator is returned.
    **options
        As Numba's.

    Examples
    --------
    >>> njit(lambda x: x + 1)(2)
    3
    """
    if function is not None:
        return njit(**options)(function)
    kept = options.pop("cache", False)
    decorate = cast(Any, numba.njit)(**options)

    def compiled(function: Callable[..., Any]) -> Any:
        dispatcher = decorate(function)
        if kept:
            dispatcher._cache = _cache_of(function)
        return dispatcher

    return compiled


def _cache_of(function: Callable[..., Any]) -> Any:
    """Where a kernel is kept; nowhere, if there is no place for it."""
    try:
        return _KernelCache(function)
    except (RuntimeError, OSError) as error:  # Numba has found no folder
        return _NoCache(error)


def _damaged(content: bytes) -> bool:
    return zlib.crc32(content[:-_CHECK]).to_bytes(_CHECK, "little") != content[-_CHECK:]


class _CheckedFile(_numba.IndexDataCacheFile):  # type: ignore[misc]  # Numba has no types
    """The files of one kernel. What can't be trusted is not there.

    Each holds a checksum, and the data say what they are of: two processes that write at the same
    time may both choose a name, and the index of one then points at the data of the other.
    """

    def save(self, key: Any, data: Any) -> None:
        super().save(key, (self._source_stamp, key, data))

    def load(self, key: Any) -> Any:
        found = super().load(key)
        if found is None or found[:2] != (self._source_stamp, key):
            return None
        return found[2]

    def _dump(self, obj: Any) -> bytes:
        content: bytes = super()._dump(obj)
        return content + zlib.crc32(content).to_bytes(_CHECK, "little")

    def _load_index(self) -> dict[Any, str]:
        try:
            with open(self._index_path, "rb") as stream:
                version, content = pickle.load(stream), stream.read()
            if version != self._version or _damaged(content):
                return {}
            stamp, known = pickle.loads(content)
        except Exception:  # a damaged pickle may raise anything
            return {}
        return known if stamp == self._source_stamp else {}

    def _load_data(self, name: str) -> Any:
        content = Path(self._data_path(name)).read_bytes()
        return None if _damaged(content) else pickle.loads(content)


def _read_only(kind: Any) -> Any:
    """A kind of place for caches that may be one to read from only, such as in an image."""

    class ReadOnly(kind):  # type: ignore[misc]
        def ensure_cache_path(self) -> None:
            if not os.path.isdir(self.get_cache_path()):
                raise FileNotFoundError(f"there is no folder {self.get_cache_path()}")

    return ReadOnly


_IMPLEMENTATION: Any = _numba.FunctionCache._impl_class


class _Places(_IMPLEMENTATION):  # type: ignore[misc]
    """Where kernels are kept: Numba's places that can be written to, then those that are there."""

    _locator_classes = [  # noqa: RUF012 - as Numba has it
        *_IMPLEMENTATION._locator_classes,
        *(_read_only(kind) for kind in _IMPLEMENTATION._locator_classes[:3]),
    ]


class _KernelCache(_numba.FunctionCache):  # type: ignore[misc]
    """The cache of one kernel, which never raises."""

    _impl_class = _Places
    _cache_file: Any

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = _CheckedFile(
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=self._cache_file._source_stamp,
        )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # whatever is wrong with it, the kernel can be compiled
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception as error:
            _say_not_kept(error)


class _NoCache(_numba.NullCache):  # type: ignore[misc]
    """For a kernel that can't be kept."""

    def __init__(self, reason: Exception) -> None:
        self._reason = reason

    def save_overload(self, sig: Any, cres: Any) -> None:
        _say_not_kept(self._reason)


_said_not_kept = threading.Event()


def _say_not_kept(reason: Exception) -> None:
    """Say, once in a process, that kernels are compiled again next time."""
    if _said_not_kept.is_set():
        return
    _said_not_kept.set()
    why = reason.strerror if isinstance(reason, OSError) and reason.strerror else str(reason)
    text = (
        f"compiled kernels can't be kept ({why}), so each process compiles them anew; to keep "
        "them, set NUMBA_CACHE_DIR to a folder that can be written to"
    )
    with suppress(Exception):  # standard error may be closed
        print(f"tropicell: {text}", file=sys.stderr, flush=True)


class _Notice(event.Listener):
    """Says, once, that kernels of this package are compiled, if that takes long.

    Numba tells of what it compiles, not of what it loads from the disk, and compiles in one thread
    at a time.
    """

    def __init__(self) -> None:
        self._open = 0  # kernels within kernels
        self._timer = threading.Timer(0.0, lambda: None)
        self._said = False

    def on_start(self, given: Any) -> None:
        """A kernel is being compiled."""
        if not _is_ours(given):
            return
        self._open += 1
        if self._open == 1:
            clock.stop()
        if self._open == 1 and not self._said:
            self._timer = threading.Timer(_PATIENCE, self._say)
            self._timer.daemon = True
            with suppress(RuntimeError):  # where no more threads can be started
                self._timer.start()

    def on_end(self, given: Any) -> None:
        """It is compiled, or could not be."""
        if not _is_ours(given):
            return
        self._open -= 1
        if self._open == 0:
            clock.go_on()
            self._timer.cancel()

    def _say(self) -> None:
        self._said = True
        when = "" if _said_not_kept.is_set() else ", once after an installation"
        text = f"compiling kernels{when}; this takes some seconds …"
        print(f"tropicell: {text}", file=sys.stderr, flush=True)


def _is_ours(given: Any) -> bool:
    """Whether an event is of a kernel of this package, and not of a user's own."""
    return bool(given.data["dispatcher"].py_func.__module__.startswith("tropicell."))


_NOTICE = _Notice()
cast(Any, event).register("numba:compile", _NOTICE)
