"""Kernels that measure polytopes from their corners alone.

Docs: docs/exactness.md, "Volumes". Let d facets meet at each corner v of a polytope, A_v be the
slopes of their rows, and g_1, …, g_d how fast a function h = u·x + c falls along the edges that
begin there: these are the columns of the inverse of A_v. With φ(h) = h^d / d! the volume is

    Σ_v φ(h_v) / (|det A_v| Π g_i)

(Lawrence's formula). The same with max(h, 0)^(d + 1) / (d + 1)! is the integral of max(h, 0), and
with the centroids of the cones at the corners it gives the centroid. That is a sum over corners,
where `_moments` needs all faces: there are many more of them, the more so the more inputs.

Terms are large, and cancel, where an edge is nearly level. So what rounding makes of each is summed
up as well, and where that is too much for all of some directions u, this is not the way.

References
----------
.. [1] J. Lawrence, "Polytope volume computation", 1991.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tropicell._runtime.arrays import FloatArray
from tropicell._runtime.jit import kernel
from tropicell.geometry.rounding import ROUND

#: What rounding may make of a volume, or of a moment: this part of the volume, times the spread.
LIMIT = 1e30

#: Directions that are tried.
_DIRECTIONS = 8


class ConeRoom(NamedTuple):
    """What one thread needs.

    Attributes
    ----------
    directions : ndarray, shape (some, inputs)
        Of length 1.
    height, blur : ndarray, shape (corners,)
        Values of a function, and about what rounding makes of them.
    slope : ndarray, shape (inputs,)
        1 divided by how fast it falls along the edges of a corner.
    """

    directions: FloatArray
    height: FloatArray
    blur: FloatArray
    slope: FloatArray


def cone_room(corners: int, d: int) -> ConeRoom:
    """Room for polytopes with so many corners."""
    # As far from each other and from the axes as multiples of roots are.
    roots = np.sqrt([2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0, 19.0, 23.0, 29.0])
    places = np.outer(np.arange(1, _DIRECTIONS + 1), roots[np.arange(d) % 10] + np.arange(d))
    directions = (0.25 + places % 1.0) * np.where(np.arange(d) % 2, -1.0, 1.0)
    return ConeRoom(
        np.ascontiguousarray(directions / np.linalg.norm(directions, axis=1, keepdims=True)),
        height=np.zeros(corners),
        blur=np.zeros(corners),
        slope=np.zeros(d),
    )


@kernel(inner=True)
def cone_share(walk: Any, cones: Any, v: int, direction: Any, length: float) -> tuple[float, float]:
    """1 / (|det A_v| Π g_i), and what part of that rounding may make.

    The slopes of the function are the direction, which has that length.
    """
    inverse, slope, d = walk.inverses[v], cones.slope, len(cones.slope)
    for i in range(d):
        slope[i] = 0.0
    for c in range(d):
        for i in range(d):
            slope[i] += direction[c] * inverse[c, i]
    factor, part = 1.0 / walk.area[v], 0.0
    for i in range(d):
        slope[i] = -1.0 / slope[i]
        factor *= slope[i]
        part += abs(slope[i])
    return factor, part * length * walk.slant[v] + walk.turned[v]


@kernel(inner=True)
def measure_cones(walk: Any, cones: Any, n: int, accuracy: float) -> tuple[float, float]:
    """Volume of a polytope, and what rounding may make of it; 0.0 if that is a larger part of it.

    Its moment goes to the room. Rounding may make as much of that, times the largest distance of a
    corner from the first one.
    """
    d, limit = len(cones.slope), np.inf
    for k in range(len(cones.directions)):
        spread = _find_heights(walk, cones, n, cones.directions[k])
        volume, doubt = 0.0, 0.0
        for c in range(d):
            walk.moment[c] = 0.0
        for v in range(n):
            height, blur = cones.height[v], cones.blur[v]
            factor, part = cone_share(walk, cones, v, cones.directions[k], 1.0)
            rise = max(abs(height), blur)
            for c in range(d):
                factor *= height / (c + 1)
            part += d * (blur / rise if rise > 0.0 else 0.0) + 4.0 * d * ROUND
            volume += factor
            doubt += abs(factor) * part * _add_moment(walk, cones, v, factor, spread)
            if doubt > limit:
                break
        if doubt <= min(limit, accuracy * volume):
            for c in range(d):
                walk.moment[c] += walk.moments.points[0, c] * volume
            return volume, doubt
        if doubt <= min(limit, 0.1 * volume):  # the next one can end as soon as it is no better
            limit = 2.0 * accuracy * volume
    return 0.0, 0.0


@kernel(inner=True)
def _find_heights(walk: Any, cones: Any, n: int, direction: Any) -> float:
    """How high the corners are in a direction, as seen from the middle; how far they are away."""
    points, d, low, high, spread = walk.moments.points, len(direction), np.inf, -np.inf, 0.0
    height, blur = cones.height, cones.blur
    for v in range(n):
        value, terms = 0.0, 0.0
        for c in range(d):
            step = points[v, c] - points[0, c]
            value += direction[c] * step
            terms += abs(direction[c] * step)
            spread = max(spread, abs(step))
        height[v] = value
        blur[v] = walk.apart[v] + walk.apart[0] + 2.0 * ROUND * terms
        low, high = min(low, value), max(high, value)
    for v in range(n):
        height[v] -= 0.5 * (low + high)
    return spread


@kernel(inner=True)
def _add_moment(walk: Any, cones: Any, v: int, factor: float, spread: float) -> float:
    """Add the moment of a corner; returns how much larger its errors are than the volume's."""
    points, inverse, d = walk.moments.points, walk.inverses[v], len(cones.slope)
    height, largest = cones.height[v], 1.0
    for c in range(d):
        shift, size = 0.0, 0.0
        for i in range(d):
            step = inverse[c, i] * cones.slope[i]
            shift += step
            size += abs(step)
        place = points[v, c] - points[0, c]
        walk.moment[c] += factor * (place + shift * height / (d + 1))
        largest = max(largest, (abs(place) + size * abs(height) / (d + 1)) / spread)
    return largest
