"""Interior points and facets in float64, for cells of any dimension, with HiGHS.

Unlike `tropicell.geometry.polyhedra` this is not exact: every answer comes with a margin, and
answers within the tolerance are marked as not certain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tropicell._runtime.arrays import FloatArray
from tropicell.errors import TropicellError


@dataclass(frozen=True)
class Tolerance:
    """When a float answer counts as certain.

    Attributes
    ----------
    margin : float
        Smallest distance to all boundaries, relative to the size of the witness and of the
        inequalities' offsets (or 1, if they are smaller).

    noise : float
        A pre-activation on a region that is smaller than this, relative to the numbers that it is
        computed from, may be nothing but rounding errors.
    """

    margin: float = 1e-6
    noise: float = 1e-10


def interior_point(a: FloatArray, b: FloatArray) -> tuple[FloatArray, float]:
    """A point as far as possible from all boundaries of ``a x <= b``, and how far that is.

    Parameters
    ----------
    a : ndarray, shape (rows, d)
    b : ndarray, shape (rows,)

    Returns
    -------
    point : ndarray, shape (d,)
    margin : float
        Distance to the nearest boundary, at most 1, relative to the scale of the numbers;
        negative if there is no point at all.

    Examples
    --------
    >>> interior_point(np.array([[1.0], [-1.0]]), np.array([1.0, 0.0]))
    (array([0.5]), 0.5)
    """
    dimension = a.shape[1]
    norms = np.linalg.norm(a, axis=1)
    constant = norms == 0
    if (b[constant] < 0).any():
        return np.zeros(dimension), -np.inf
    a, b = a[~constant] / norms[~constant, None], b[~constant] / norms[~constant]
    if len(b) == 0:
        return np.zeros(dimension), 1.0
    scale = max(1.0, float(np.abs(b).max()))
    objective = np.append(np.zeros(dimension), 1.0)
    bounds = [(None, None)] * dimension + [(None, 1.0)]
    found = _maximise(objective, np.column_stack([a, np.ones(len(b))]), b / scale, bounds)
    point = found[:-1] * scale
    # Judge by the point itself, not by what the solver says of it.
    margin = float((b - a @ point).min()) / max(scale, float(np.abs(point).max(initial=0.0)))
    return point, margin


def irredundant(a: FloatArray, b: FloatArray, tolerance: Tolerance) -> list[int]:
    """Indices of the inequalities of ``a x <= b`` that are not redundant.

    Examples
    --------
    >>> irredundant(np.array([[1.0], [1.0]]), np.array([1.0, 2.0]), Tolerance())
    [0]
    """
    norms = np.linalg.norm(a, axis=1)
    rows = np.column_stack([a, b]) / np.where(norms > 0, norms, 1.0)[:, None]
    found: list[int] = []
    candidates = [i for i in range(len(b)) if norms[i] > 0]
    for i in list(candidates):
        same = [j for j in candidates if j != i]
        duplicate = any(np.abs(rows[j] - rows[i]).max() <= tolerance.margin for j in found)
        if duplicate:
            candidates = same
            continue
        furthest = _maximise(
            rows[i, :-1],
            np.vstack([rows[same, :-1], rows[i, :-1]]),
            np.append(rows[same, -1], rows[i, -1] + 1.0),
            [(None, None)] * a.shape[1],
        )
        if rows[i, :-1] @ furthest > rows[i, -1] + tolerance.margin:
            found.append(i)
        else:
            candidates = same
    return found


def _maximise(
    objective: FloatArray,
    a: FloatArray,
    b: FloatArray,
    bounds: Sequence[tuple[float | None, float | None]],
) -> FloatArray:
    """The point of ``a x <= b`` with the largest objective, which must be bounded."""
    from scipy.optimize import linprog  # noqa: PLC0415 - slow to import, seldom needed

    result = linprog(-objective, A_ub=a, b_ub=b, bounds=bounds, method="highs")
    if result.x is None:
        raise TropicellError(f"HiGHS found no solution ({result.message}); use arithmetic='exact'")
    return np.asarray(result.x)
