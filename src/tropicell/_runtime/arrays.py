"""Types of arrays that the whole package speaks of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Numbers.
FloatArray = NDArray[np.float64]

#: Counts, rows and places that kernels read.
IntArray = NDArray[np.int64]

#: Indices as NumPy returns them.
IndexArray = NDArray[np.intp]
