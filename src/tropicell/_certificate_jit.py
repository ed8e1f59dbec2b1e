"""How the kernels of certificates are compiled: once, kept on disk, without the GIL.

Products and sums may be fused into one rounding; the error bounds hold either way. The kernels
allocate nothing and keep nothing, so Numba is told to leave out reference counts, which cost more
than the work. Numba compiles a kernel anew when its own file changes, but not when that of a kernel
it calls does: so all of them get the same stamp.
"""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import numba

_FOLDER = Path(__file__).parent
_SOURCES = [*sorted(_FOLDER.glob("_certificate_*.py")), _FOLDER / "_hashing.py"]
_STAMP = hashlib.sha256(b"".join(path.read_bytes() for path in _SOURCES)).hexdigest()

#: Seconds after which users are told what they are waiting for.
_PATIENCE = 2.0


def _options() -> dict[str, Any]:
    options: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
    options["fastmath"] = {"contract"}
    try:
        cast(Any, numba.njit)(_nrt=False)
    except Exception:  # whatever a later Numba raises, it means that the option is gone
        return options
    return {**options, "_nrt": False}


def _compiled(function: Callable[..., Any], **options: Any) -> Any:
    compiled = cast(Any, numba.njit)(**_options(), **options)(function)
    with suppress(AttributeError):
        compiled._cache._cache_file._source_stamp = _STAMP
    return compiled


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a kernel that Python calls."""
    return _compiled(function, no_cfunc_wrapper=True)


def inner(function: Callable[..., Any]) -> Any:
    """Compile a function that only kernels call: its entry point would take longest to compile."""
    return _compiled(function, no_cfunc_wrapper=True, no_cpython_wrapper=True)


@contextmanager
def patience(compiled: Any) -> Iterator[None]:
    """Tell the user if a kernel is compiled for the first time, and that takes long."""

    def say() -> None:
        if compiled.overloads:  # it is there, and what takes long is the work
            return
        text = "compiling the certificate's kernels, once after an installation …"
        print(f"tropicell: {text}", file=sys.stderr)

    notice = threading.Timer(_PATIENCE, say)
    notice.daemon = True
    if not compiled.overloads:
        notice.start()
    try:
        yield
    finally:
        notice.cancel()
