"""The C code of `compile_to_c`, compiled, with a loop around it."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tropicell import Regions, compile_to_c

LOOP = """
void loop(const double *x, double *y, long points, long inputs, long outputs)
{
    long i;
    for (i = 0; i < points; i++)
        network(x + i * inputs, y + i * outputs);
}
"""


def compiled(regions: Regions, points: np.ndarray) -> Callable[[], np.ndarray] | None:
    """A call that runs the C function on all points, or None if there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "code.c", Path(folder) / "code.so"
        source.write_text(compile_to_c(regions) + LOOP)
        subprocess.run(
            [compiler, "-std=c99", "-O3", "-shared", "-fPIC", str(source), "-o", str(library)],
            check=True,
        )
        function = ctypes.CDLL(str(library)).loop
    sizes = (regions.network.n_inputs, regions.network.n_outputs)
    y = np.empty((len(points), sizes[1]))
    numbers = [ctypes.c_long(n) for n in (len(points), *sizes)]
    data = ctypes.c_void_p(points.ctypes.data), ctypes.c_void_p(y.ctypes.data)

    def run() -> np.ndarray:
        function(*data, *numbers)
        return y

    return run
