"""The filter for one and two inputs: regions as polygons, float64 with proved error bounds.

For each region the kernel is told which lines may be its facets. It sorts them by direction; where
two that follow each other turn to the left for sure, they meet in a corner; at one gap the region
is unbounded, and there are two rays. If every other inequality is surely positive at all corners
and rays, it follows from the facets: its normal lies between those of two facets that follow each
other, and at their corner it is positive. Why the bounds hold is in docs/certificates.md.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.jit import kernel
from tropicell.certificate._flat import COVER
from tropicell.certificate._kernels import (
    ERROR,
    behind,
    bring_back,
    doubtful,
    gather,
    go_to,
    is_inside,
    scaled,
    set_aside,
)
from tropicell.geometry.rounding import ROUND

#: Parts of facets (as rows) and of corners; behind them is a bound on their errors (`ERROR`).
_X, _Y, _W = range(3)
_PARTS = 4

#: Errors of corners from here on prove nothing.
_LARGEST_ERROR = 1e-3

#: Regions with more facets are left to exact arithmetic.
_MOST = 64


class Polygon(NamedTuple):
    """Room for one region."""

    lines: NDArray[np.int64]  # of its facets
    saved: NDArray[np.float64]  # bounds of facets that are set aside
    facets: NDArray[np.float64]  # as they come
    in_order: NDArray[np.float64]  # by the direction of their normals
    order: NDArray[np.int64]
    keys: NDArray[np.float64]
    meets: NDArray[np.bool_]  # which facet in order surely meets the next one
    corners: NDArray[np.float64]
    witness: NDArray[np.float64]
    flipped: NDArray[np.uint64]  # a pattern


def new_polygon(_: int, words: int) -> Polygon:
    """Room for any region in the plane."""
    return Polygon(
        np.zeros(_MOST, np.int64),
        np.zeros(_MOST),
        np.zeros((_MOST, _PARTS)),
        np.zeros((_MOST, _PARTS)),
        np.zeros(_MOST, np.int64),
        np.zeros(_MOST),
        np.zeros(_MOST, np.bool_),
        np.zeros((_MOST + 1, _PARTS)),
        np.zeros(2),
        np.zeros(words, np.uint64),
    )


@kernel(sums="fused", inner=True)
def _direction(x, y):  # pragma: no cover - compiled
    """A number that grows with the angle of a vector, from 0 to 4."""
    share = y / (abs(x) + abs(y))
    if x < 0.0:
        return 2.0 - share
    return share if share >= 0.0 else 4.0 + share


@kernel(sums="fused", inner=True)
def _sort(facets, count, order, keys, in_order):  # pragma: no cover - compiled
    """Facets by the direction of their normals."""
    for k in range(count):
        key = _direction(facets[k, _X], facets[k, _Y])
        at = k
        while at > 0 and keys[at - 1] > key:
            keys[at], order[at] = keys[at - 1], order[at - 1]
            at -= 1
        keys[at], order[at] = key, k
    for k in range(count):
        for column in range(_PARTS):
            in_order[k, column] = facets[order[k], column]


@kernel(sums="fused", inner=True)
def _corners(facets, count, corners, meets):  # pragma: no cover - compiled
    """Corners and rays between facets in order, with error bounds; how many, or 0 if in doubt.

    `meets` says which facets surely meet the next one. docs/error-bound.md, step 2: the error
    of a determinant of two facets.
    """
    found, gaps = 0, 0
    for k in range(count):
        a, b = facets[k], facets[(k + 1) % count]
        error = 2.0 * (a[ERROR] + b[ERROR] + a[ERROR] * b[ERROR]) + 10.0 * ROUND
        w = a[_X] * b[_Y] - a[_Y] * b[_X]
        meets[k] = w > error  # they surely turn to the left
        if meets[k]:
            x, y = a[_Y] * b[_W] - a[_W] * b[_Y], a[_W] * b[_X] - a[_X] * b[_W]
            size = abs(x) + abs(y) + w
            corner = corners[found]
            corner[_X], corner[_Y], corner[_W] = x / size, y / size, w / size
            corner[ERROR] = COVER * (error / size + 4.0 * ROUND)
            found += 1
            continue
        gaps += 1
        if gaps > 1 or count < 2:
            return 0
        for side in range(2):  # along the last facet before the gap, and the first one after it
            facet, sign = (a, 1.0) if side == 0 else (b, -1.0)
            size = abs(facet[_X]) + abs(facet[_Y])
            corner = corners[found]
            corner[_X], corner[_Y] = sign * facet[_Y] / size, -sign * facet[_X] / size
            corner[_W] = 0.0
            corner[ERROR] = COVER * (facet[ERROR] / size + 4.0 * ROUND)
            found += 1
    for k in range(found):
        if not corners[k, ERROR] < _LARGEST_ERROR:
            return 0
    return found


@kernel(sums="fused")
def check_polygons(  # pragma: no cover - compiled
    flat, state, room, regions, proofs, begin, end
):
    """Check the regions from `begin` to `end`; the number of signs that were decided.

    Parameters are a `FilterNetwork`, `PatternState`, `Polygon`, `RegionColumns` and `ProofColumns`.
    """
    added = len(flat.domain) - flat.domain_lines  # lines of the second input, if it is none
    nobody = len(state.places) - 2
    lines, facets, order, corners = room.lines, room.facets, room.order, room.corners
    signs = 0
    for region in range(begin, end):
        first = regions.line_ends[region - 1] if region else 0
        count = regions.line_ends[region] - first + added
        total = go_to(flat, state, regions.patterns, region)
        if total < 0 or count > _MOST:
            continue
        for k in range(count - added):
            lines[k] = regions.lines[first + k]
        for k in range(added):
            lines[count - added + k] = nobody + k
        if not gather(flat, state, lines[:count], facets):
            continue
        _sort(facets, count, order, room.keys, room.in_order)
        found = _corners(room.in_order, count, corners, room.meets)
        scaled(regions.witnesses[region], regions.unscale, room.witness)
        if found == 0 or not is_inside(facets[:count], room.witness, flat.rounding):
            continue
        # All other inequalities must be positive at all corners: then they follow from the facets.
        set_aside(state, lines[:count], room.saved)
        doubts = 0
        for k in range(found):
            corner = corners[k]
            doubts += doubtful(state.inequalities, corner[:_W], corner[_W], corner[ERROR], 1.0)
        bring_back(state, lines[:count], room.saved)
        if doubts > 0:
            continue
        signs += found * (total - count) + count + found
        at, place, complete = first, first, True
        for k in range(count):
            line = lines[order[k]]
            if line >= nobody:
                continue
            proofs.facets[at], proofs.neighbours[at] = line, -1
            if line > flat.domain_lines:
                other = behind(flat, state.pattern, regions.patterns, region, line, room.flipped)
                proofs.neighbours[at] = other
                complete = complete and other >= 0
            if len(regions.unscale) == 1:
                proofs.bases[place, 0] = at - first
                place += 1
            elif room.meets[k]:
                proofs.bases[place, 0], proofs.bases[place, 1] = k, (k + 1) % count
                place += 1
            at += 1
        proofs.basis_counts[region] = place - first
        proofs.proved[region] = complete
    return signs
