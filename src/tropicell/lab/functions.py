"""The four functions that the paper's networks learn, and where they are sampled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tropicell._runtime.arrays import FloatArray

#: The paper's samples lie in [-RADIUS, RADIUS]².
RADIUS = 10.0


@dataclass(frozen=True)
class Function:
    """A function of the plane.

    Attributes
    ----------
    name, formula : str
    """

    name: str
    formula: str
    rule: Callable[[FloatArray, FloatArray], FloatArray]

    def __call__(self, points: FloatArray) -> FloatArray:
        """Values at points of shape (points, 2); not finite where the function is not defined."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.rule(points[:, 0], points[:, 1])

    def samples(self, step: float, offset: float = 0.0) -> tuple[FloatArray, FloatArray]:
        """Points of the grid at which the function is defined, and its values, as columns.

        Examples
        --------
        >>> [len(function.samples(1.0)[0]) for function in FUNCTIONS]
        [400, 441, 441, 441]
        """
        points = grid(step, offset)
        values = self(points)
        defined = np.isfinite(values)
        return points[defined], values[defined, None]


def _phi2(x: FloatArray, y: FloatArray) -> FloatArray:
    r = np.hypot(x, y)
    return np.where(r == 0, 1.0, np.sin(r) / r)  # its limit at the origin


FUNCTIONS = (
    Function("φ1", "sin(log|x| + log|y|)", lambda x, y: np.sin(np.log(abs(x)) + np.log(abs(y)))),
    Function("φ2", "sin(r) / r, r = √(x² + y²)", _phi2),
    Function(
        "φ3",
        "sin(cos(x/2)) sin(cos(y/2))",
        lambda x, y: np.sin(np.cos(x / 2)) * np.sin(np.cos(y / 2)),
    ),
    Function(
        "φ4",
        "sin(tan(x/2)) sin(tan(y/2))",
        lambda x, y: np.sin(np.tan(x / 2)) * np.sin(np.tan(y / 2)),
    ),
)


def grid(step: float, offset: float = 0.0) -> FloatArray:
    """Points of [-10, 10]² at intervals of `step`, shifted by `offset`, shape (points, 2).

    The points on the axes have coordinates that are exactly 0.

    Examples
    --------
    >>> grid(10.0)[:3].tolist(), len(grid(10.0)), grid(10.0, 5.0).tolist()
    ([[-10.0, -10.0], [-10.0, 0.0], [-10.0, 10.0]], 9,
     [[-5.0, -5.0], [-5.0, 5.0], [5.0, -5.0], [5.0, 5.0]])
    """
    half = round(RADIUS / step)
    line = np.arange(-half, half + 1) * step + offset
    line = line[line <= RADIUS + step / 1000]
    x, y = np.meshgrid(line, line, indexing="ij")
    return np.stack([x.ravel(), y.ravel()], axis=1)
