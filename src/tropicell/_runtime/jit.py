"""How kernels are compiled: once, kept on disk, without the GIL; and a word to users who wait.

`kernel` is the one decorator. Most kernels allocate nothing and keep nothing, so reference counts
would only cost time (they made half of it): Numba is told to leave them out. Should a later Numba
drop that option, kernels are compiled with them.

**The stamp.** Numba compiles a kernel anew when its own file changes, but not when that of a kernel
that it calls does. So all kernels have one stamp, made from all sources that hold kernels (their
names begin with an underscore) and from those of the constants and tuples that kernels use.

**The cache.** Compiled kernels are kept on disk by Numba's own cache. By itself that cache raises
where nothing can be written (``import`` fails in a container whose files are read-only), where the
disk is full, and where one of its files is cut short; and it runs whatever machine code a flipped
bit leaves. Here a cache that can't be used costs time and nothing else: its files carry a checksum
and what they are of, a file that is damaged counts as missing, and kernels that can't be kept are
compiled anew in each process, which users are told once.

The time that compiling takes is not taken from any budget: clocks stand still.

**Debuggers.** With ``NUMBA_DISABLE_JIT=1`` kernels are plain Python functions, slow and open to
every breakpoint.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from math import isfinite
from pathlib import Path
from typing import Any, Literal, TypeVar, cast, overload

import numba
import numpy as np
from llvmlite import ir
from numba import _dispatcher, types
from numba.core import caching, codegen, event
from numba.extending import intrinsic

from tropicell._runtime.interruption import clock

__all__ = [
    "Entry",
    "bit_count",
    "fma",
    "is_loaded",
    "is_set",
    "kernel",
    "lowest_bit",
    "template",
]

_numba: Any = caching
_numba_event: Any = event
_numba_dispatcher: Any = _dispatcher

#: Seconds of compiling after which users are told what they wait for.
_PATIENCE = 1.5

#: Bytes of the checksum at the end of what the cache writes.
_CHECK = 4

#: Whether kernels are compiled; without, they are what one reads.
_COMPILED = not cast(Any, numba.config).DISABLE_JIT

Function = TypeVar("Function", bound=Callable[..., Any])

#: What may happen to the products and sums of a kernel, and what Numba calls it. Proved bounds say
#: which of it they allow: a fused product and sum has one rounding instead of two, and sums in any
#: order are what vector code needs.
Sums = Literal["as written", "fused", "in any order"]
_FASTMATH: dict[Sums, set[str]] = {
    "as written": set(),
    "fused": {"contract"},
    "in any order": {"contract", "reassoc"},
}


def _without_counts() -> dict[str, Any]:
    """The option that leaves out reference counts, where Numba has it."""
    try:
        cast(Any, numba.njit)(_nrt=False)
    except Exception:  # whatever a later Numba raises, it means that the option is gone
        return {}
    return {"_nrt": False}


def _stamp() -> str:
    package = Path(__file__).parents[1]
    kernels = sorted(package.rglob("_[a-z]*.py"))
    sources = [*kernels, *(package / name for name in _CONSTANTS)]
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()


#: What kernels use of files without kernels: instructions, tuples, the constants of rounding.
_CONSTANTS = ("_runtime/jit.py", "network/flat.py", "geometry/rounding.py")

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
_WITHOUT_COUNTS = _without_counts()
_STAMP = _stamp()


@overload
def kernel(function: Function, /) -> Function: ...


@overload
def kernel(
    *, sums: Sums = ..., inner: bool = ..., inlined: bool = ..., allocates: bool = ...
) -> Callable[[Function], Function]: ...


def kernel(
    function: Callable[..., Any] | None = None,
    /,
    *,
    sums: Sums = "as written",
    inner: bool = False,
    inlined: bool = False,
    allocates: bool = False,
) -> Any:
    """Compile a kernel with Numba, and keep what was compiled wherever that works.

    Parameters
    ----------
    function : callable, optional
        Default: a decorator is returned.
    sums : {"as written", "fused", "in any order"}
        What the compiler may do with products and sums: nothing; make one rounding of a product
        and a sum; or also sum in another order, for kernels whose bounds hold for any.
    inner : bool
        Only kernels call it: no entry point from Python is compiled. That would unpack all arrays
        of the state, and take longer to compile than the function itself.
    inlined : bool
        It is small, and copied into the kernels that call it.
    allocates : bool
        It makes arrays, so reference counts are kept.

    Examples
    --------
    >>> @kernel
    ... def plus_one(x):
    ...     return x + 1
    >>> plus_one(2)
    3
    """
    if function is None:
        chosen: Any = {"sums": sums, "inner": inner, "inlined": inlined, "allocates": allocates}
        return lambda function: _compiled(function, **chosen)
    return _compiled(function, sums, inner, inlined, allocates)


def _compiled(
    function: Callable[..., Any], sums: Sums, inner: bool, inlined: bool, allocates: bool
) -> Any:
    if not _COMPILED:
        return np.errstate(all="ignore")(function)  # what overflows is silent in compiled code
    options = dict(_OPTIONS)
    if _FASTMATH[sums]:
        options["fastmath"] = _FASTMATH[sums]
    if inner:
        options["no_cpython_wrapper"] = True
    if inlined:
        options["forceinline"] = True
    if not allocates:
        options |= _WITHOUT_COUNTS
    dispatcher = cast(Any, numba.njit)(**options)(function)
    dispatcher.is_inner = inner
    if not inner:  # what calls it is kept, with all of it
        dispatcher._cache = _cache_of(function)
        with suppress(AttributeError):
            dispatcher._cache._cache_file._source_stamp = _STAMP
    return dispatcher


def template(function: Function) -> Function:
    """A function that is copied into the kernels that call it, as if it were written there.

    So sums and products are rounded, or fused, as in the rest of the kernel; and arguments can be
    kernels, which a kernel that is kept on disk could not be given: each choice makes another one.
    """
    return cast(
        Function, cast(Any, numba.njit)(**_OPTIONS, **_WITHOUT_COUNTS, inline="always")(function)
    )


def is_loaded(function: Callable[..., Any]) -> bool:
    """Whether a kernel is ready to run, without being compiled or loaded from the disk."""
    return not _COMPILED or bool(cast(Any, function).overloads)


#: Entry points of kernels that were compiled once, by kernel and kinds of arguments.
_entries: dict[tuple[Callable[..., Any], bytes], Callable[..., Any]] = {}


class Entry:
    """A kernel that always gets arguments of the same types: only the first call looks at them.

    Finding out the types of some dozens of arrays takes several times longer than a call itself.
    What was found out is known to the process, so that the first call of the next run looks at
    little more than the names of the tuples that it is given.

    Parameters
    ----------
    function : callable
        A compiled kernel.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._entry: Callable[..., Any] | None = None

    def __call__(self, *arguments: Any) -> Any:
        if self._entry is not None:
            return self._entry(*arguments)
        kinds = _kinds(arguments)
        self._entry = _entries.get((self._function, kinds))
        if self._entry is not None:
            return self._entry(*arguments)
        result = self._function(*arguments)
        self._entry = _entry_of(self._function, arguments)
        if kinds:
            _entries[self._function, kinds] = self._entry
        return result


def _kinds(arguments: tuple[Any, ...]) -> bytes:
    """What Numba itself looks at to know the types of arguments; nothing, if it can't tell."""
    try:
        return bytes(_numba_dispatcher.compute_fingerprint(arguments))
    except (AttributeError, NotImplementedError):
        return b""


def _entry_of(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Callable[..., Any]:
    try:
        types = tuple(map(cast(Any, function).typeof_pyval, arguments))
        return cast("Callable[..., Any]", cast(Any, function).overloads[types].entry_point)
    except (AttributeError, KeyError):  # Numba has it elsewhere
        return function


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
            with _once.machine_code():
                return super().load_overload(sig, target_context)
        except Exception:  # whatever is wrong with it, the kernel can be compiled
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception as error:
            _say_not_kept(error)


class _NoCache(_numba.NullCache):  # type: ignore[misc]
    """The cache of a kernel that can't be kept on disk: nothing is in it."""

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
        """A kernel is compiled, or could not be."""
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


class _Once(_numba_event.Listener):  # type: ignore[misc]
    """Leaves it to entry points to make machine code of what they call.

    Numba puts the code of a kernel into each one that calls it, optimises all of that again, and
    makes machine code of it, at every level of calls. Inner kernels are never called by themselves:
    so their code is left as it is until it is part of an entry point, and not kept on the disk.
    Should a later Numba do this in another way, all is compiled as ever.
    """

    def __init__(self) -> None:
        self._open: list[bool] = []
        library: Any = getattr(codegen, "JITCodeLibrary", None)
        machine: Any = getattr(codegen, "JITCPUCodegen", None)
        parts = "_optimize_final_module", "_finalize_final_module"
        if all(hasattr(library, part) for part in parts) and hasattr(machine, "set_env"):
            for part in parts:
                setattr(library, part, self._unless_inner(getattr(library, part)))
            machine.set_env = self._unless_inner(machine.set_env)

    def _unless_inner(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def instead(mine: Any, *given: Any) -> Any:
            if not (self._open and self._open[-1]):
                return method(mine, *given)
            if method.__name__ == "_finalize_final_module":
                mine._finalize_dynamic_globals()
                mine._finalized = True
            return None

        return instead

    @contextmanager
    def machine_code(self) -> Iterator[None]:
        """What is loaded here is machine code, even if an inner kernel that calls it is open."""
        self._open.append(False)
        try:
            yield
        finally:
            self._open.pop()

    def on_start(self, given: Any) -> None:
        """A function is being compiled, perhaps in the middle of another one."""
        self._open.append(getattr(given.data["dispatcher"], "is_inner", False))

    def on_end(self, given: Any) -> None:
        """It is compiled, or could not be."""
        self._open.pop()


_once = _Once()
cast(Any, event).register("numba:compile", _once)


def _bit_count(typing_context: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.int64(types.uint64), generate


def _is_set(typing_context: Any, flag: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        # Atomic: a loop must not read it once and for all.
        value = builder.load_atomic(array.data, "monotonic", 1)
        return builder.icmp_unsigned("!=", value, ir.Constant(value.type, 0))

    return types.boolean(flag), generate


def _lowest_bit(typing_context: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate


def _fma(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fma(*args)

    return types.float64(types.float64, types.float64, types.float64), generate


def _plain_fma(a: float, b: float, c: float) -> float:
    if not (isfinite(a) and isfinite(b) and isfinite(c)):
        return a * b + c
    total = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    return float(total) if total else a * b + c


def _in_kernels(lowered: Any, plain: Callable[..., Any]) -> Any:
    """An instruction of the processor in kernels; without compiling, Python that does the same."""
    return intrinsic(lowered) if _COMPILED else plain


#: Whether the flag of a `tropicell._runtime.interruption.Halt` is set, by another thread, too.
is_set: Callable[[Any], bool] = _in_kernels(_is_set, lambda flag: bool(flag.flat[0]))

#: Number of ones of a uint64, as int64.
bit_count: Callable[[Any], int] = _in_kernels(_bit_count, lambda bits: int(bits).bit_count())

#: Position of the lowest one of a uint64 that is not 0, as int64.
lowest_bit: Callable[[Any], int] = _in_kernels(
    _lowest_bit, lambda bits: (int(bits) & -int(bits)).bit_length() - 1
)

#: ``a * b + c`` of float64 numbers, rounded once.
fma: Callable[[Any, Any, Any], Any] = _in_kernels(_fma, _plain_fma)
