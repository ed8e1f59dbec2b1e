"""The decorator of all kernels: compiled once, kept on disk, without the GIL.

The kernels allocate nothing and keep nothing, so reference counts would only cost time (they made
half of it): Numba is told to leave them out. Should a later Numba drop that option, kernels are
compiled with them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

Function = TypeVar("Function", bound=Callable[..., Any])


def _options() -> dict[str, Any]:
    options: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
    try:
        njit(_nrt=False)(lambda: 0)()
    except Exception:  # whatever a later Numba raises, it means that the option is gone
        return options
    return {**options, "_nrt": False}


_OPTIONS = _options()


def kernel(function: Function) -> Function:
    """Compile a kernel."""
    return cast(Function, njit(**_OPTIONS)(function))


def fused_kernel(function: Function) -> Function:
    """Compile a kernel in which a product and a sum may be fused into one rounding."""
    return cast(Function, njit(**_OPTIONS, fastmath={"contract"})(function))


def kernel_function(function: Callable[..., Any]) -> Any:
    """Compile a kernel in which sums may be reordered, and fused with products.

    For kernels whose proved bounds hold for any order of summation.
    """
    return njit(**_OPTIONS, fastmath={"reassoc", "contract"}, no_cfunc_wrapper=True)(function)


def inner_function(function: Callable[..., Any]) -> Any:
    """The same for functions that only kernels call: no entry point from Python is compiled.

    That entry point would unpack all arrays of the state, and take longer to compile than the
    function itself.
    """
    options = {**_OPTIONS, "no_cfunc_wrapper": True, "no_cpython_wrapper": True}
    return njit(**options, fastmath={"reassoc", "contract"})(function)


@intrinsic  # type: ignore[untyped-decorator]
def bit_count(typingctx: Any, bits: Any) -> Any:
    """Number of ones of a uint64, as int64."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.int64(types.uint64), generate


@intrinsic  # type: ignore[untyped-decorator]
def lowest_bit(typingctx: Any, bits: Any) -> Any:
    """Position of the lowest one of a uint64 that is not 0, as int64."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate
