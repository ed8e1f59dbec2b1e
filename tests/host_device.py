"""The device kernels compiled for this processor: tests of the GPU engine that need no GPU."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from children import LIMIT
from tropicell.engines.gpu._cuda import LANES, SOURCE, first_rows

_TYPES = {
    np.dtype(np.int32): ctypes.c_int,
    np.dtype(np.int64): ctypes.c_longlong,
    np.dtype(np.uint64): ctypes.c_ulonglong,
}


def _argument(value: Any) -> Any:
    """A number, or a struct that is passed by value."""
    if isinstance(value, np.ndarray):
        fields = [("words", ctypes.c_longlong * (value.nbytes // 8))]
        struct = type("Struct", (ctypes.Structure,), {"_fields_": fields})
        return struct.from_buffer_copy(value.tobytes())
    return _TYPES[value.dtype](value)


def compiler() -> str | None:
    """A C++ compiler, if there is one."""
    return next((path for name in ("g++", "clang++", "c++") if (path := shutil.which(name))), None)


class HostBackend:
    """See `tropicell.engines.gpu._layout.Backend`."""

    xp = np

    def __init__(self, folder: Path) -> None:
        library = folder / "plane.so"
        command = [str(compiler()), "-x", "c++", "-std=c++17", "-O1", "-shared", "-fPIC"]
        command += ["-ffp-contract=off", "-Wall", "-Werror", "-DTROPICELL_HOST"]
        subprocess.run([*command, str(SOURCE), "-o", str(library)], check=True, timeout=LIMIT)
        self._library = ctypes.CDLL(str(library))
        self.launches = dict.fromkeys(LANES, 0)

    def pointer(self, array: Any) -> int:
        return int(array.ctypes.data)

    def upload(self, array: NDArray[Any]) -> Any:
        return np.array(array)

    def download(self, array: Any) -> NDArray[Any]:
        return np.array(array)

    def launch(self, kernel: str, items: int, *arguments: Any) -> None:
        assert items > 0
        self.launches[kernel] += 1
        getattr(self._library, kernel)(*(_argument(x) for x in arguments))

    def product(self, a: Any, b: Any, out: Any, rows: int, skip: int = 0) -> None:
        some = first_rows(a, rows, b.shape[0] + skip)[:, skip:]
        np.dot(some, b, out=first_rows(out, rows, b.shape[1]))

    def fork(self) -> None:
        pass

    def branch(self) -> AbstractContextManager[None]:
        return nullcontext()

    def shared(self, words: int) -> NDArray[np.uint64]:
        return np.zeros(words, np.uint64)

    def mark(self) -> None:
        pass

    def wait(self) -> None:
        pass

    def free_bytes(self) -> int:
        return 1 << 26
