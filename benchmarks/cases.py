"""The networks that contestants are measured on, made from seeds."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np


@dataclass(frozen=True)
class Case:
    """A random network with PyTorch's default initialisation, and a box (None: all of R^n)."""

    name: str
    sizes: tuple[int, ...]
    box: float | None = 1.0
    seed: int = 0
    spread: float = 1.0

    def arrays(self) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Weights and biases, uniform in ±1/√fan-in (times `spread` for the weights)."""
        rng = np.random.default_rng(self.seed)
        weights, biases = [], []
        for m, n in pairwise(self.sizes):
            weights.append(rng.uniform(-1, 1, size=(n, m)) * self.spread / np.sqrt(m))
            biases.append(rng.uniform(-1, 1, size=n) / np.sqrt(m))
        return weights, biases


#: Cases that every contestant can try; those in a box are for edge subdivision and SplineCam too.
CASES = (
    Case("1-D 3×[64]", (1, 64, 64, 64, 1)),
    Case("2-D 5×[5]", (2, 5, 5, 5, 5, 5, 1), 10.0),
    Case("2-D 5×[5], all of R²", (2, 5, 5, 5, 5, 5, 1), None),
    Case("2-D [32,32,32]", (2, 32, 32, 32, 1)),
    Case("2-D [64,64,64]", (2, 64, 64, 64, 1)),
    Case("2-D 4×[100], many regions", (2, 100, 100, 100, 100, 1), spread=4.0),
    Case("3-D [16,16,16]", (3, 16, 16, 16, 1)),
    Case("3-D [16,16,16], all of R³", (3, 16, 16, 16, 1), None),
    Case("3-D [18,18,18]", (3, 18, 18, 18, 1), seed=101),
    Case("3-D [28,28]", (3, 28, 28, 1), seed=102),
    Case("3-D [40,20]", (3, 40, 20, 1), seed=103),
    Case("3-D 4×[12]", (3, 12, 12, 12, 12, 1), seed=104),
    Case("4-D [16,16]", (4, 16, 16, 1)),
    Case("4-D [14,14]", (4, 14, 14, 1), seed=101),
    Case("4-D [18,14]", (4, 18, 14, 1), seed=102),
    Case("4-D [10,10,10]", (4, 10, 10, 10, 1), seed=103),
    Case("4-D [20,16]", (4, 20, 16, 1), seed=104),
    Case("4-D [16,16], all of R⁴", (4, 16, 16, 1), None),
    Case("5-D [12,12], all of R⁵", (5, 12, 12, 1), None),
    Case("8-D [10,10]", (8, 10, 10, 1)),
    Case("8-D [10,10], all of R⁸", (8, 10, 10, 1), None),
    Case("10-D [16,8], all of R¹⁰", (10, 16, 8, 1), None),
)
