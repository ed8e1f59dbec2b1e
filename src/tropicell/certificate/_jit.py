"""How the kernels of certificates are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tropicell._runtime import jit


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a kernel that Python calls."""
    return jit.kernel(sums="fused")(function)


def inner(function: Callable[..., Any]) -> Any:
    """Compile a function that only kernels call."""
    return jit.kernel(sums="fused", inner=True)(function)
