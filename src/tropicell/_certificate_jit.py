"""How the kernels of certificates are compiled: once, kept on disk, without the GIL.

Products and sums may be fused into one rounding; the error bounds hold either way. Numba compiles
a kernel anew when its own file changes, but not when that of a kernel it calls does: so all
of them get the same stamp.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import numba

_SOURCES = sorted(Path(__file__).parent.glob("_certificate_*.py"))
_STAMP = hashlib.sha256(b"".join(path.read_bytes() for path in _SOURCES)).hexdigest()


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a kernel."""
    compiled = cast(Any, numba.njit)(
        cache=True, nogil=True, error_model="numpy", fastmath={"contract"}
    )(function)
    with suppress(AttributeError):
        compiled._cache._cache_file._source_stamp = _STAMP
    return compiled
