"""What the runner and the contestants tell each other: a file with arrays, a line of JSON.

A contestant is a script that is started in a process of its own, with the task's file as its argument, by
the Python that has the contestant's packages; it needs NumPy only.
"""

from __future__ import annotations

import json
import resource
from dataclasses import dataclass

import numpy as np


@dataclass
class Task:
    """Weights, biases, the box's half-width (None: all of R^n) and the time limit."""

    weights: list[np.ndarray]
    biases: list[np.ndarray]
    box: float | None
    seconds: float
    options: dict[str, object]

    @classmethod
    def read(cls, path: str) -> Task:
        with np.load(path, allow_pickle=False) as file:
            header = json.loads(str(file["header"]))
            weights = [file[f"W{i}"] for i in range(header["layers"])]
            biases = [file[f"b{i}"] for i in range(header["layers"])]
        return cls(weights, biases, header["box"], header["seconds"], header["options"])

    def write(self, path: str) -> None:
        header = {
            "layers": len(self.weights),
            "box": self.box,
            "seconds": self.seconds,
            "options": self.options,
        }
        arrays = {f"W{i}": w for i, w in enumerate(self.weights)}
        arrays |= {f"b{i}": b for i, b in enumerate(self.biases)}
        np.savez(path, header=json.dumps(header), **arrays)


def report(regions: int, seconds: float, *, complete: bool = True, **more: object) -> None:
    """Print the answer as the last line of standard output."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        json.dumps(dict(regions=regions, seconds=seconds, complete=complete, peak_mb=peak) | more)
    )
