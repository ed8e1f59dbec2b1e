"""How kernels are compiled: once, kept on disk, without the GIL; and a word to users who wait.

`kernel` is the one decorator. Most kernels allocate nothing and keep nothing, so reference counts
would only cost time (they made half of it): Numba is told to leave them out. Should a later Numba
drop that option, kernels are compiled with them.

**The stamp.** Numba compiles a kernel anew when its own file changes, but not when that of a kernel
that it calls does. So a kernel's stamp is made from its own file and from all that this file
imports, directly or not, among the files that hold kernels (their names begin with an underscore)
and those of the constants and tuples that kernels use.

**The cache.** Compiled kernels are kept on disk by Numba's own cache. By itself that cache raises
where nothing can be written (``import`` fails in a container whose files are read-only), where the
disk is full, and where one of its files is cut short; and it runs whatever machine code a flipped
bit leaves. Here a cache that can't be used costs time and nothing else: its files carry a checksum
and what they are of, a file that is damaged counts as missing, and kernels that can't be kept are
compiled anew in each process, which users are told once.

The time that compiling takes is not taken from any budget: clocks stand still.

**Late kernels.** Numba compiles a kernel with all that it may call. Kernels that few searches need
(such as those for signs that float64 can't tell) would make everyone wait for them. They are marked
as `late`: the code of their callers asks for them when they are called for the first time, and they
are compiled, kept and loaded by themselves.

**Debuggers.** With ``NUMBA_DISABLE_JIT=1`` kernels are plain Python functions, slow and open to
every breakpoint.
"""

from __future__ import annotations

import ctypes
import gc
import hashlib
import importlib
import os
import pickle
import re
import shutil
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from functools import cache
from math import isfinite
from pathlib import Path
from time import monotonic
from typing import Any, Literal, TypeVar, cast, overload

import llvmlite.binding as llvm
import numba
import numpy as np
from llvmlite import ir
from numba import _dispatcher, types
from numba.core import caching, cgutils, codegen, event, serialize, targetconfig
from numba.core.compiler_lock import global_compiler_lock
from numba.core.typing.templates import make_concrete_template
from numba.extending import intrinsic

from tropicell._runtime import bundles as _bundles  # noqa: F401 - tells Numba of tuples
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
_unliteral: Any = types.unliteral
_numba_dispatcher: Any = _dispatcher
_cgutils: Any = cgutils
_serialize: Any = serialize
_make_template: Any = make_concrete_template
_llvm: Any = llvm

#: Seconds of compiling after which users are told what they wait for.
_PATIENCE = 1.5

#: Seconds between two updates of what they are told.
_PAUSE = 0.2

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


_PACKAGE = Path(__file__).parents[1]

#: ``from tropicell.room import _names`` and ``from tropicell.room._module import …``.
_IMPORT = re.compile(r"^ *from tropicell\.([\w.]+) import (\([^)]*\)|.*)$", re.MULTILINE)


@cache
def _sources() -> dict[Path, tuple[bytes, frozenset[Path]]]:
    """The files of kernels and of what kernels use: their bytes, and which of these they import."""
    files = {*_PACKAGE.rglob("_[a-z]*.py"), *(_PACKAGE / name for name in _CONSTANTS)}
    found = {}
    for file in files:
        content = file.read_bytes()
        imported = set()
        for module, names in _IMPORT.findall(content.decode()):
            place = _PACKAGE.joinpath(*module.split("."))
            imported.add(place.with_suffix(".py"))
            imported.update(place / f"{name}.py" for name in re.findall(r"\w+", names))
        found[file] = content, frozenset(imported & files)
    return found


def _made_of(file: Path) -> set[Path]:
    """The sources of all that a kernel in this file may call or use."""
    sources, found, ahead = _sources(), set[Path](), [file]
    while ahead:
        one = ahead.pop()
        if one in sources and one not in found:
            found.add(one)
            ahead.extend(sources[one][1])
    return found


@cache
def _stamp(file: Path) -> str:
    made_of = sorted(_made_of(file))
    return hashlib.sha256(b"".join(_sources()[one][0] for one in made_of)).hexdigest()


#: What kernels use of files without kernels: instructions, tuples, the constants of rounding.
_CONSTANTS = (
    "_runtime/bundles.py",
    "_runtime/jit.py",
    "network/flat.py",
    "geometry/rounding.py",
)

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
_WITHOUT_COUNTS = _without_counts()


@overload
def kernel(function: Function, /) -> Function: ...


@overload
def kernel(
    *,
    sums: Sums = ...,
    inner: bool = ...,
    inlined: bool = ...,
    late: bool = ...,
    allocates: bool = ...,
) -> Callable[[Function], Function]: ...


def kernel(
    function: Callable[..., Any] | None = None,
    /,
    *,
    sums: Sums = "as written",
    inner: bool = False,
    inlined: bool = False,
    late: bool = False,
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
    late : bool
        Only kernels call it, and most searches never do: it is compiled when it is called for the
        first time. Its result is what its annotation says: ``int``, ``float``, ``bool``, ``None``.
        A call takes as long as handing over all arrays in its arguments, some 100 ns.
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
        return lambda function: _compiled(function, sums, inner, inlined, late, allocates)
    return _compiled(function, sums, inner, inlined, late, allocates)


def _compiled(
    function: Callable[..., Any],
    sums: Sums,
    inner: bool,
    inlined: bool,
    late: bool,
    allocates: bool,
) -> Any:
    if not _COMPILED:
        return np.errstate(all="ignore")(function)  # what overflows is silent in compiled code
    options = dict(_OPTIONS)
    if _FASTMATH[sums]:
        options["fastmath"] = _FASTMATH[sums]
    if inner or late:
        options["no_cpython_wrapper"] = True
    if inlined:
        options["forceinline"] = True
    if not allocates:
        options |= _WITHOUT_COUNTS
    dispatcher = cast(Any, numba.njit)(**options)(function)
    dispatcher.is_inner = inner
    if inner:
        _forget_literals(dispatcher, dispatcher)
        return dispatcher
    # What calls it is kept, with all of it.
    dispatcher._cache = _cache_of(function)
    with suppress(AttributeError):
        dispatcher._cache._cache_file._source_stamp = _stamp(Path(function.__code__.co_filename))
    dispatcher.compile = _with_room(dispatcher.compile)
    if late:
        _make_late(dispatcher)
        return dispatcher
    # Kernels that call it need no entry point from Python.
    twin = cast(Any, numba.njit)(**options, no_cpython_wrapper=True)(function)
    twin.is_inner = True
    _forget_literals(dispatcher, twin)
    return dispatcher


def _forget_literals(dispatcher: Any, called: Any) -> None:
    """Say which kernel is compiled where another one calls this, and for which types.

    A number that is written into a call is an argument like others: Numba would compile the kernel
    once for each.
    """
    found = called.get_call_template, called.get_overload

    def get_call_template(args: Any, kws: Any) -> Any:
        named = {name: _unliteral(one) for name, one in kws.items()}
        return found[0](tuple(map(_unliteral, args)), named)

    dispatcher.get_call_template = get_call_template
    dispatcher.get_overload = lambda signature: found[1](tuple(map(_unliteral, signature)))


def _with_room(method: Callable[..., Any]) -> Callable[..., Any]:
    """Call a method that calls many others, on a stack that has room for all of them.

    Python's stack consists of pieces of 16 KB, and the last one is given back to the system when it
    is empty. A loop that calls functions just where a new one begins takes and gives it each time,
    which made up a quarter of the time of compiling. A frame that is large gets a large piece, with
    room behind it.
    """

    def call(*given: Any) -> Any:
        return method(*given)

    with suppress(Exception):  # what does not help does not hurt
        call.__code__ = call.__code__.replace(co_stacksize=_LARGE_FRAME)
    return call


#: Numbers in a frame; Python rounds their size, here 0.8 MB, up to a power of two.
_LARGE_FRAME = 100_000


# --- late kernels ---------------------------------------------------------------------------------

#: The result of a late kernel, by its annotation.
_RESULTS = {"int": types.int64, "float": types.float64, "bool": types.boolean, "None": types.none}

#: What `_find_late` returns in place of an address: an error, or Ctrl-C, while it was compiled.
_FAILED, _INTERRUPTED = 0, 1

#: The name by which machine code knows `_find_late`.
_FIND = "tropicell_find_late_kernel"


def _make_late(dispatcher: Any) -> None:
    """Where other kernels call this one, have it looked for instead of compiling it."""
    known = set()
    annotation = dispatcher.py_func.__annotations__["return"]
    result = _RESULTS[getattr(annotation, "__name__", str(annotation))]

    def get_call_template(args: Any, kws: Any) -> Any:
        named = {name: _unliteral(one) for name, one in kws.items()}
        pysig, args = dispatcher._compiler.fold_argument_types(tuple(map(_unliteral, args)), named)
        name = f"CallTemplate({dispatcher.py_func.__name__})"
        one = _make_template(name, name, [result(*args)])
        return one, pysig, args, {}

    def get_overload(signature: Any) -> Any:
        args = tuple(map(_unliteral, signature))
        key = dispatcher, args
        if key not in known:
            known.add(key)
            dispatcher.targetctx.insert_func_defn([(_late_call(dispatcher, args), key, args)])
        return key

    dispatcher.result = result
    dispatcher.get_call_template = get_call_template
    dispatcher.get_overload = get_overload


def _late_call(dispatcher: Any, args: Any) -> Any:
    """What a call of a late kernel becomes: its address is asked for once, and then remembered."""
    function = dispatcher.py_func
    what = _serialize.dumps((function.__module__, function.__qualname__, args))

    def lowered(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        module, number, call = builder.module, ir.IntType(64), context.call_conv
        slot: Any = ir.GlobalVariable(module, number, module.get_unique_name(f"{_FIND}.slot"))
        slot.linkage, slot.initializer = "internal", ir.Constant(number, _FAILED)
        address = builder.load_atomic(slot, "acquire", 8)
        place = _cgutils.alloca_once_value(builder, address)
        with _cgutils.if_unlikely(builder, _cgutils.is_null(builder, address)):
            text = context.insert_const_bytes(module, what)
            kind = ir.FunctionType(number, [text.type, number])
            find = _cgutils.get_or_insert_function(module, kind, _FIND)
            found = builder.call(find, [text, ir.Constant(number, len(what))])
            for code, error in ((_FAILED, RuntimeError), (_INTERRUPTED, KeyboardInterrupt)):
                failed = builder.icmp_unsigned("==", found, ir.Constant(number, code))
                with _cgutils.if_unlikely(builder, failed):
                    told = (f"{function.__qualname__} could not be compiled",)
                    call.return_user_exc(builder, error, told if error is RuntimeError else None)
            builder.store_atomic(found, slot, "release", 8)
            builder.store(found, place)
        kind = call.get_function_type(signature.return_type, signature.args)
        pointer = builder.inttoptr(builder.load(place), kind.as_pointer())
        status, value = call.call_function(
            builder, pointer, signature.return_type, signature.args, values
        )
        with _cgutils.if_unlikely(builder, status.is_error):
            call.return_status_propagate(builder, status)
        return value

    return lowered


def _find_late(text: int, length: int) -> int:
    """The address of a late kernel, compiled or loaded; called by the code of other kernels."""
    try:
        module, name, args = pickle.loads(ctypes.string_at(text, length))
        dispatcher: Any = importlib.import_module(module)
        for part in name.split("."):
            dispatcher = getattr(dispatcher, part)
        with cast(Any, global_compiler_lock), _once.machine_code():
            dispatcher.compile(dispatcher.result(*args))
            compiled = dispatcher.overloads[args]
            address = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
        return int(address)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BaseException:
        sys.excepthook(*cast(Any, sys.exc_info()))
        return _FAILED


#: Kept, since machine code calls it.
_FINDER: Any = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(_find_late)
_llvm.add_symbol(_FIND, ctypes.cast(_FINDER, ctypes.c_void_p).value)


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
    """Says that kernels of this package are compiled, which and how far it is, if that takes long.

    In a terminal that is one line, which is kept up to date and then wiped out; elsewhere it is
    said once. Numba tells of what it compiles, not of what it loads from the disk, and compiles in
    one thread at a time.
    """

    def __init__(self) -> None:
        self._open = 0  # kernels within kernels
        self._timer = threading.Timer(0.0, lambda: None)
        self._said = False
        self._line = ""  # what the terminal shows now
        self._updated = 0.0
        self._what = ""
        self._parts: set[Any] = set()
        self._done: set[Any] = set()
        self._collecting = gc.isenabled()

    def on_start(self, given: Any) -> None:
        """A kernel is being compiled."""
        if not _is_ours(given):
            return
        self._open += 1
        if self._open > 1:
            return
        clock.stop()
        # Compiling makes millions of objects that live on: looking for garbage among them again
        # and again takes a tenth of the time.
        self._collecting = gc.isenabled()
        gc.disable()
        function = given.data["dispatcher"].py_func
        self._what, self._parts, self._done = _purpose(function), _parts_of(function), set()
        if not self._said or _is_terminal():
            self._timer = threading.Timer(_PATIENCE, self._say)
            self._timer.daemon = True
            with suppress(RuntimeError):  # where no more threads can be started
                self._timer.start()

    def on_end(self, given: Any) -> None:
        """A kernel is compiled, or could not be."""
        if not _is_ours(given):
            return
        self._open -= 1
        self._done.add(given.data["dispatcher"].py_func)
        if self._open == 0:
            if self._collecting:
                if gc.get_freeze_count() == 0:
                    # All of it goes to the oldest objects: else the next object that anyone makes
                    # would have all of these looked at, which takes half a second.
                    gc.freeze()
                    gc.unfreeze()
                gc.enable()
            clock.go_on()
            self._timer.cancel()
            self._show("")
        elif self._line and monotonic() > self._updated + _PAUSE:
            self._show(self._text())

    def _text(self) -> str:
        """What is said: all of it if there is room, in a narrow terminal the figures."""
        when = "" if _said_not_kept.is_set() else ", once after an installation"
        done = f"{len(self._done & self._parts)} of {len(self._parts)}"
        texts = (
            f"tropicell: compiling kernels, {done}, for {self._what}{when} …",
            f"tropicell: compiling kernels, {done}, for {self._what} …",
            f"tropicell: compiling kernels, {done} …",
            f"compiling {done} …",
        )
        room = shutil.get_terminal_size().columns if _is_terminal() else len(texts[0]) + 1
        return next((text for text in texts if len(text) < room), texts[-1])

    def _say(self) -> None:
        self._said = True
        if _is_terminal():
            self._show(self._text())
        else:
            print(self._text(), file=sys.stderr, flush=True)

    def _show(self, line: str) -> None:
        """Write a line over the one that the terminal shows; shorter than the terminal is wide."""
        if line == self._line:
            return
        self._updated = monotonic()
        line = line[: max(shutil.get_terminal_size().columns - 1, 1)]
        blank = " " * (len(self._line) - len(line))
        with suppress(Exception):  # standard error may be closed
            back = "" if line else "\r"
            print(f"\r{line}{blank}{back}", end="", file=sys.stderr, flush=True)
        self._line = line


def _is_terminal() -> bool:
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # there is none, or it is closed
        return False


#: What kernels are for, by where they are: the names of modules begin with these.
_PURPOSES = {
    "engines.cells._units.plane_unit": "searches with 2 inputs",
    "engines.cells._units.focus_unit": "searches of large networks with 2 inputs",
    "engines.cells._units.cone_unit": "searches with few inputs, but not 2",
    "engines.cells": "searches with few inputs",
    "engines.halfspaces": "searches with many inputs",
    "engines.wide": "searches near a point",
    "engines": "searches",
    "certificate": "certificates",
    "predict": "prediction",
    "network": "patterns of points",
    "_runtime": "patterns of points",
    "geometry": "corners",
    "plotting": "pictures",
    "analysis": "answers from regions",
    "regions": "answers from regions",
}


def _purpose(function: Callable[..., Any]) -> str:
    """What a kernel is for, in words."""
    place = f"{function.__module__}.{function.__qualname__}".removeprefix("tropicell.")
    return next((text for begin, text in _PURPOSES.items() if place.startswith(begin)), place)


def _parts_of(function: Callable[..., Any]) -> set[Any]:
    """A kernel and all kernels that it may call, as functions; those that are copied are left out.

    Kernels stand in the globals of a function, by name or in a tuple of kernels.
    """
    found, seen, ahead = {function}, set[Any](), [function]
    while ahead:
        one = ahead.pop()
        if one in seen:
            continue
        seen.add(one)
        for name in _names_in(one.__code__):
            value = one.__globals__.get(name)
            for kernel_ in value if isinstance(value, tuple) else (value,):
                inner = getattr(kernel_, "py_func", None)
                if inner is not None and not hasattr(kernel_, "result"):
                    ahead.append(inner)
                    if not kernel_.targetoptions.get("inline"):
                        found.add(inner)
    return found


def _names_in(code: Any) -> set[str]:
    nested = (one for one in code.co_consts if isinstance(one, type(code)))
    return set(code.co_names).union(*map(_names_in, nested))


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
        dispatcher = given.data["dispatcher"]
        # Numba's own functions are never called by themselves, either.
        part = bool(self._open) and dispatcher.py_func.__module__.startswith("numba.")
        self._open.append(part or getattr(dispatcher, "is_inner", False))

    def on_end(self, given: Any) -> None:
        """It is compiled, or could not be."""
        self._open.pop()


_once = _Once()
cast(Any, event).register("numba:compile", _once)


def _compare_options_quickly() -> None:
    """Have Numba compare the options of what it compiles without asking for all of them first.

    It does so each time it looks up the type of a call, which is a tenth of the time of compiling.
    What is equal stays the same, and so do the numbers by which it is found.
    """
    options: Any = targetconfig.TargetConfig
    equal = options.__eq__

    def is_equal(self: Any, other: Any) -> Any:
        if type(self) is type(other) and self._values == other._values:
            return True
        return equal(self, other)

    @cache
    def number_of(kind: Any) -> int:
        return hash(tuple(sorted(kind.options)))

    empty = options()
    if hasattr(empty, "_values") and hash(empty) == number_of(options):
        number: Any = number_of
        options.__eq__, options.__hash__ = is_equal, lambda self: number(type(self))


_compare_options_quickly()


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
