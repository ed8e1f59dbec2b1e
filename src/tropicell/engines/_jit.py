"""How the `halfspaces` kernels are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

_OPTIONS: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract"},
    "_nrt": False,
    "no_cfunc_wrapper": True,
}


def kernel_function(function: Callable[..., Any]) -> Any:
    """Compile with Numba: cached on disk, without the GIL, division by zero gives inf.

    Sums may be reordered and fused: the proved bounds hold for any order of summation. Infinities
    are used, so nothing is assumed about them. The kernels never allocate, so references to arrays
    need not be counted (``_nrt=False``), which makes them up to twice as fast.
    """
    return njit(**_OPTIONS)(function)


def inner_function(function: Callable[..., Any]) -> Any:
    """The same for functions that only kernels call: no entry point from Python is compiled.

    That entry point would unpack all arrays of the state, and take longer to compile than the
    function itself.
    """
    options = {**_OPTIONS, "no_cpython_wrapper": True}
    return njit(**options)(function)
