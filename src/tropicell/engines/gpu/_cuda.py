"""The kernels of `plane.cu` on an NVIDIA GPU, through CuPy."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell.errors import MissingDependencyError, require

SOURCE = Path(__file__).with_name("plane.cu")

#: Lanes that work on one item, and threads of a block.
LANES = {
    "begin": 1,
    "follow": 1,
    "gather": 32,
    "settle": 32,
    "deep_settle": 32,
    "plant": 1,
    "scan": 32,
    "scan_plain": 32,
    "deep_scan": 32,
    "deep_scan_plain": 32,
    "cut": 8,
    "patterns": 8,
    "emit": 1,
}
_THREADS = 256

#: Blocks of a launch for each processor of the GPU. The blocks of `cut` wait for each other: two
#: fit at the same time; one leaves room for a matrix product beside it.
_MOST_BLOCKS, _BLOCKS_OF_CUT = 8, 2


class CudaBackend:
    """A GPU; see `tropicell.engines.gpu._layout.Backend`."""

    def __init__(self, cupy: Any) -> None:
        self.xp = cupy
        # The bounds hold with fused operations too; without them the results are those of any
        # processor.
        code = SOURCE.read_text(encoding="utf-8")
        module = cupy.RawModule(code=code, options=("-fmad=false", "-std=c++17"))
        self._kernels = {name: module.get_function(name).kernel for name in LANES}
        self._processors = cupy.cuda.Device().attributes["MultiProcessorCount"]
        self._aside = cupy.cuda.Stream(non_blocking=True)
        self._begin, self._end, self._mark = (
            cupy.cuda.Event(disable_timing=True) for _ in range(3)
        )
        self._branched = False
        types: tuple[Any, ...] = np.float64, np.float32
        self._products = {np.dtype(kind): _product(cupy, kind) for kind in types}

    def pointer(self, array: Any) -> int:
        return int(array.data.ptr)

    def upload(self, array: NDArray[Any]) -> Any:
        return self.xp.asarray(array)

    def download(self, array: Any) -> NDArray[Any]:
        return np.asarray(self.xp.asnumpy(array))

    def launch(self, kernel: str, items: int, *arguments: Any) -> None:
        together = kernel == "cut"
        most = _MOST_BLOCKS
        if together:
            most = _BLOCKS_OF_CUT // 2 if self._branched else _BLOCKS_OF_CUT
        blocks = min(-(-items * LANES[kernel] // _THREADS), most * self._processors)
        self._kernels[kernel]((blocks,), (_THREADS,), arguments, enable_cooperative_groups=together)

    def product(self, a: Any, b: Any, out: Any, rows: int, skip: int = 0) -> None:
        product = self._products[a.dtype]
        if product is not None:
            product(a, b, out, rows, skip)
        else:
            inputs, width = b.shape
            some = first_rows(a, rows, inputs + skip)[:, skip:]
            self.xp.dot(some, b, out=first_rows(out, rows, width))

    def fork(self) -> None:
        self._begin.record()
        self._branched = True

    @contextmanager
    def branch(self) -> Iterator[None]:
        self._aside.wait_event(self._begin)
        try:
            with self._aside:
                yield
        finally:
            # Also after an error: its memory must not be taken for other things too early.
            self._end.record(self._aside)
            self.xp.cuda.get_current_stream().wait_event(self._end)
            self._branched = False

    def shared(self, words: int) -> NDArray[np.uint64]:
        # Kernels use the same addresses for it.
        return np.frombuffer(self.xp.cuda.alloc_pinned_memory(8 * words), np.uint64, words)

    def mark(self) -> None:
        self._mark.record()

    def wait(self) -> None:
        self._mark.synchronize()

    def free_bytes(self) -> int:
        pool = self.xp.get_default_memory_pool()
        return int(self.xp.cuda.Device().mem_info[0]) + int(pool.free_bytes())


def first_rows(flat: Any, rows: int, width: int) -> Any:
    """Some rows of a matrix that is stored in a flat array."""
    return flat[: rows * width].reshape(rows, width)


class _MatrixProduct:
    """Products of float64 matrices, or of float32 in TF32, which is several times as fast.

    They are launched in fewer steps than CuPy takes.
    """

    def __init__(self, cupy: Any, kind: Any) -> None:
        cublas, runtime = cupy.cuda.cublas, cupy.cuda.runtime
        self._gemm, self._handle = cublas.gemmEx, cupy.cuda.get_cublas_handle
        self._plain = cublas.CUBLAS_OP_N
        if kind is np.float64:
            self._real, sums = runtime.CUDA_R_64F, cublas.CUBLAS_COMPUTE_64F
        else:
            self._real, sums = runtime.CUDA_R_32F, cublas.CUBLAS_COMPUTE_32F_FAST_TF32
        self._how = sums, cublas.CUBLAS_GEMM_DEFAULT
        self._scales = np.array([1, 0], kind)
        self._one = self._scales.ctypes.data
        self._zero = self._one + self._scales.itemsize

    def __call__(self, a: Any, b: Any, out: Any, rows: int, skip: int = 0) -> None:
        plain, real = self._plain, self._real
        inner, width = b.shape
        # cuBLAS stores matrices by columns: this is the transposed product.
        start = a.data.ptr + skip * a.itemsize
        first, second = (b.data.ptr, real, width), (start, real, inner + skip)
        scales, result = (self._one, self._zero), (out.data.ptr, real, width)
        sizes = width, rows, inner
        handle = self._handle()
        self._gemm(
            handle, plain, plain, *sizes, scales[0], *first, *second, scales[1], *result, *self._how
        )


def _product(cupy: Any, kind: Any) -> _MatrixProduct | None:
    """See `_MatrixProduct`; None if there is none that is right."""
    a = cupy.arange(1, 385, dtype=kind)
    b = cupy.arange(1, 129, dtype=kind).reshape(16, 8)
    out = cupy.empty(24 * 8, kind)
    try:
        product = _MatrixProduct(cupy, kind)
        product(a, b, out, 24)
    except Exception:  # whatever CuPy has there in its next versions
        return None
    right = first_rows(a, 24, 16).dot(b)
    tolerance = 0.0 if kind is np.float64 else 2.0**-9  # float64 has all digits of these integers
    return product if cupy.allclose(first_rows(out, 24, 8), right, rtol=tolerance) else None


@lru_cache(maxsize=1)
def cuda_backend() -> CudaBackend | str:
    """The GPU, or why there is none."""
    if os.environ.get("CUBLAS_EMULATE_DOUBLE_PRECISION", "0") != "0":
        return (
            "the error bounds are not for emulated float64: unset CUBLAS_EMULATE_DOUBLE_PRECISION"
        )
    try:
        cupy = require("cupy", extra="cuda", why="device='cuda'")
    except MissingDependencyError as error:
        return str(error)
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"CUDA does not work here: {error}"
    if count == 0:
        return "there is no NVIDIA GPU here"
    return CudaBackend(cupy)
