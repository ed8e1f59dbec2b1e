"""How the kernels of certificates are compiled: once, kept on disk, without the GIL.

Products and sums may be fused into one rounding; the error bounds hold either way. The kernels
allocate nothing and keep nothing, so Numba is told to leave out reference counts, which cost more
than the work. Numba compiles a kernel anew when its own file changes, but not when that of a kernel
it calls does: so all of them get the same stamp.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from tropicell._runtime.compiling import njit

_FOLDER = Path(__file__).parent
_SOURCES = [*sorted(_FOLDER.glob("_*.py")), _FOLDER.parent / "_runtime/_hashing.py"]
_STAMP = hashlib.sha256(b"".join(path.read_bytes() for path in _SOURCES)).hexdigest()


def _options() -> dict[str, Any]:
    options: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
    options["fastmath"] = {"contract"}
    try:
        cast(Any, njit)(_nrt=False)
    except Exception:  # whatever a later Numba raises, it means that the option is gone
        return options
    return {**options, "_nrt": False}


def _compiled(function: Callable[..., Any], **options: Any) -> Any:
    compiled = cast(Any, njit)(**_options(), **options)(function)
    with suppress(AttributeError):
        compiled._cache._cache_file._source_stamp = _STAMP
    return compiled


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a kernel that Python calls."""
    return _compiled(function, no_cfunc_wrapper=True)


def inner(function: Callable[..., Any]) -> Any:
    """Compile a function that only kernels call: its entry point would take longest to compile."""
    return _compiled(function, no_cfunc_wrapper=True, no_cpython_wrapper=True)
