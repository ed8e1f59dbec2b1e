"""The decorators of all kernels: compiled once, kept on disk, without the GIL.

The kernels allocate nothing and keep nothing, so reference counts would only cost time (they made
half of it): Numba is told to leave them out. Should a later Numba drop that option, kernels
are compiled with them.

Numba compiles a kernel anew when its own file changes, but not when that of a kernel it calls does.
So all kernels get the same stamp, made from all sources that hold kernels (their names begin with
an underscore), here and in the package, and from those of the tuples that kernels get.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from tropicell._runtime.compiling import njit

Function = TypeVar("Function", bound=Callable[..., Any])
_njit = cast(Any, njit)


def _options() -> dict[str, Any]:
    options: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
    try:
        _njit(_nrt=False)
    except Exception:  # whatever a later Numba raises, it means that the option is gone
        return options
    return {**options, "_nrt": False}


def _stamp() -> str:
    package = Path(__file__).parents[1]
    kernels = sorted(package.rglob("_[a-z]*.py"))
    sources = [*kernels, package / "network/flat.py", package / "geometry/rounding.py"]
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()


_OPTIONS = _options()
_STAMP = _stamp()


def _compiled(function: Function, **options: Any) -> Function:
    dispatcher = _njit(**(_OPTIONS | options))(function)
    with suppress(AttributeError):
        dispatcher._cache._cache_file._source_stamp = _STAMP
    return cast(Function, dispatcher)


def kernel(function: Function) -> Function:
    """Compile a kernel."""
    return _compiled(function)


def inlined_kernel(function: Function) -> Function:
    """Compile a small function that is copied into the kernels that call it."""
    return _compiled(function, fastmath={"contract"}, forceinline=True)


def fused_kernel(function: Function) -> Function:
    """Compile a kernel in which a product and a sum may be fused into one rounding."""
    return _compiled(function, fastmath={"contract"})


def inner_kernel(function: Function) -> Function:
    """Compile a kernel that only kernels call: no entry point from Python is made.

    That entry point would unpack all arrays of the arguments, and take longer to compile than many
    a kernel.
    """
    return _compiled(function, no_cfunc_wrapper=True, no_cpython_wrapper=True)


def inner_fused_kernel(function: Function) -> Function:
    """The same for a kernel in which a product and a sum may be fused into one rounding."""
    return _compiled(
        function, fastmath={"contract"}, no_cfunc_wrapper=True, no_cpython_wrapper=True
    )


def template(function: Function) -> Function:
    """A function that is copied into the kernels that call it, as if it were written there.

    So sums and products are rounded, or fused, as in the rest of the kernel; and arguments can be
    kernels, which a kernel that is kept on disk could not be given: each choice makes another one.
    """
    return _compiled(function, cache=False, inline="always")


def kernel_function(function: Callable[..., Any]) -> Any:
    """Compile a kernel in which sums may be reordered, and fused with products.

    For kernels whose proved bounds hold for any order of summation.
    """
    return _compiled(function, fastmath={"reassoc", "contract"}, no_cfunc_wrapper=True)


def inner_function(function: Callable[..., Any]) -> Any:
    """The same for functions that only kernels call: no entry point from Python is compiled.

    That entry point would unpack all arrays of the state, and take longer to compile than the
    function itself.
    """
    return _compiled(
        function,
        fastmath={"reassoc", "contract"},
        no_cfunc_wrapper=True,
        no_cpython_wrapper=True,
    )


#: Entry points of kernels that were compiled once.
_entries: dict[Callable[..., Any], Callable[..., Any]] = {}


class Entry:
    """A kernel that always gets arguments of the same types: only the first call looks at them.

    Finding out the types of some dozens of arrays takes several times longer than a call itself.

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
        result = self._function(*arguments)
        self._entry = _entry_of(self._function)
        return result


def _entry_of(function: Callable[..., Any]) -> Callable[..., Any]:
    try:
        compiled = cast(Any, function).overloads
        if len(compiled) != 1:  # it was called with several types
            return function
        if function not in _entries:
            _entries[function] = next(iter(compiled.values())).entry_point
        return _entries[function]
    except AttributeError:  # Numba has it elsewhere
        return function


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


def _copy_bytes(typing_context: Any, target: Any, source: Any, size: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = ir.IntType(8).as_pointer()
        target, source = (builder.inttoptr(address, pointer) for address in args[:2])
        cast(Any, cgutils).raw_memcpy(builder, target, source, args[2], 1)
        return context.get_dummy_value()

    return types.none(types.int64, types.int64, types.int64), generate


#: Copy so many bytes from one address to another: target, source, number.
copy_bytes = cast(Callable[[int, int, int], None], intrinsic(_copy_bytes))

#: Whether the flag of a `tropicell._runtime.interruption.Halt` is set, by another thread, too.
is_set = cast(Callable[[Any], bool], intrinsic(_is_set))

#: Number of ones of a uint64, as int64.
bit_count = cast(Callable[[Any], int], intrinsic(_bit_count))

#: Position of the lowest one of a uint64 that is not 0, as int64.
lowest_bit = cast(Callable[[Any], int], intrinsic(_lowest_bit))
