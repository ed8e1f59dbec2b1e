"""Bounds on the rounding errors of the cells engine: the formulas of docs/error-bound.md, once.

Steps are the numbered sections of that page. Formulas are copied into the kernels that call them,
some of which may fuse a product and a sum into one rounding: the bounds hold either way.
"""

from __future__ import annotations

import numpy as np

from tropicell._runtime.jit import template
from tropicell.geometry.rounding import INFLATE, ROUND

#: The `roundings` of a sign in the plane: three products, two sums and R - t are four of them, and
#: these leave room for the rounding of the bound itself.
PLANE_ROUNDINGS = 8


@template
def cone_roundings(d: int) -> int:
    """Step 3: the `roundings` of a sign in d dimensions."""
    return 2 * d + 8


@template
def sign_bound(size: float, error: float, eps: float, d: int, roundings: int) -> float:
    """Step 3: a row whose value at a corner is beyond this surely has the sign of the exact one.

    The absolute coefficients of the row add up to `size`, and each may be wrong by `error`; each
    coordinate of the corner may be wrong by `eps`. So many `roundings` are covered, in units of u.
    """
    return size * (eps + roundings * ROUND) + error * (1.0001 + (d + 1) * eps)


@template
def scaled_row_error(error: float, largest: float) -> float:
    """Step 2: the error η of a facet's row that was divided by its largest coefficient."""
    return error / largest * INFLATE + 8.0 * ROUND


@template
def scaled_corner_error(bound: float, size: float) -> float:
    """Step 2: the error ε of a corner whose minors, wrong by `bound`, were divided by `size`."""
    return bound / size * INFLATE + 4.0 * ROUND


@template
def scaled_ray_error(bound: float, factor: float) -> float:
    """The same, of minors that were multiplied by a power of two."""
    return bound * factor * INFLATE + 4.0 * ROUND


@template
def inside_bound(error: float, size: float, total: float, roundings: int) -> float:
    """Step 6: a facet's row beyond this at a point is surely positive there.

    The absolute coordinates of the point and 1 add up to `size`, the absolute summands of the row
    at the point to `total`.
    """
    return error * size * INFLATE + roundings * ROUND * total


# --- cones ----------------------------------------------------------------------------------------
# Rows are at most 1 long, and errors are lengths, too: see step 2.

#: Bits of float64: the exponent; and the exponents of x and of to_below_1(x) add up to this.
_EXPONENT, _TO_BELOW_1 = 0x7FF << 52, 2045 << 52


@template
def to_below_1(size: float) -> float:
    """The power of two that brings a number to at least 1/2 and less than 1.

    What is multiplied by it is not rounded. (Read off the exponent; any number for 0 and infinity.)
    """
    exponent = np.float64(size).view(np.int64) & _EXPONENT
    return float(np.int64(_TO_BELOW_1 - exponent).view(np.float64))


@template
def unit_row_error(error: float, factor: float, root: float, divided: bool) -> float:
    """Step 2: the error η of a row that was multiplied by a power of two; `root` is √(d + 1).

    `divided`: it was first divided by its largest coefficient.
    """
    return root * error * factor * INFLATE + (8.0 if divided else 2.0) * ROUND


@template
def unit_sign_bound(weight: float, eta: float, eps: float, d: int) -> float:
    """Step 3 for a row of length at most 1 with error `eta` at a ray with error `eps`.

    `weight` is 1.0001; in float arithmetic the sum of the absolute coefficients, and `eta` is 0.
    """
    return weight * eps + eta * (1.0001 + eps) + (2 * d + 8) * ROUND


@template
def minors_error(errors: float, d: int, size: float) -> float:
    """Step 2: the error of the minors of d rows, at most 1 long, whose errors add up to `errors`.

    `size` is √(d!) times the product of their lengths. If the sum is not small, the bound is
    infinite.
    """
    return 1.01 * errors + size * (d * d + d) * (0.5 * ROUND) if errors < 0.01 else np.inf


@template
def between_error(error: float, factor: float) -> float:
    """Step 4: the error of the values of rows at a point of an edge, from those at its ends.

    `factor` is 1 / (p - q), p and q the values at the ends of the row that is 0 at the point.
    """
    return error * (1.0 + 2.01 * factor) * INFLATE + 24.0 * ROUND
