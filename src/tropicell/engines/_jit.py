"""The decorator of all kernels: compiled once, kept on disk, without the GIL.

The kernels allocate nothing and keep nothing, so reference counts would only cost time (they made half
of it): Numba is told to leave them out. Should a later Numba drop that option, kernels are
compiled with them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def _options() -> dict[str, Any]:
    options: dict[str, Any] = {"cache": True, "nogil": True}
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
