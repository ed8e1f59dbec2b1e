"""The kernels of `plane.cu` on an NVIDIA GPU, through CuPy."""

from __future__ import annotations

import os
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
    "gather": 32,
    "settle": 32,
    "plant": 1,
    "scan": 32,
    "scan_plain": 32,
    "cut": 8,
    "patterns": 8,
    "emit": 1,
}
_THREADS = 256

#: Blocks of a launch for each processor of the GPU. The blocks of `cut` wait for each other: so many
#: fit at the same time.
_BLOCKS = {"cut": 2}
_MOST_BLOCKS = 8


class CudaBackend:
    """A GPU; see `tropicell.engines._device_layout.Backend`."""

    def __init__(self, cupy: Any) -> None:
        self.xp = cupy
        # The bounds hold with fused operations too; without them the results are those of any
        # processor.
        code = SOURCE.read_text(encoding="utf-8")
        module = cupy.RawModule(code=code, options=("-fmad=false", "-std=c++17"))
        self._kernels = {name: module.get_function(name).kernel for name in LANES}
        processors = cupy.cuda.Device().attributes["MultiProcessorCount"]
        self._most = {name: processors * _BLOCKS.get(name, _MOST_BLOCKS) for name in LANES}

    def pointer(self, array: Any) -> int:
        return int(array.data.ptr)

    def upload(self, array: NDArray[Any]) -> Any:
        return self.xp.asarray(array)

    def download(self, array: Any) -> NDArray[Any]:
        return np.asarray(self.xp.asnumpy(array))

    def launch(self, kernel: str, items: int, *arguments: Any) -> None:
        blocks = min(-(-items * LANES[kernel] // _THREADS), self._most[kernel])
        together = kernel == "cut"
        self._kernels[kernel](
            (blocks,), (_THREADS,), arguments, enable_cooperative_groups=together
        )

    def free_bytes(self) -> int:
        pool = self.xp.get_default_memory_pool()
        return int(self.xp.cuda.Device().mem_info[0]) + int(pool.free_bytes())


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
