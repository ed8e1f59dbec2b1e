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

from tropicell.certificate._jit import inner, kernel
from tropicell.certificate._kernels import (
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

#: Regions with more facets are left to exact arithmetic.
_MOST = 64


class Polygon(NamedTuple):
    """Room for one region: its facets as they come and in order, its corners, and a pattern."""

    lines: NDArray[np.int64]
    saved: NDArray[np.float64]
    facets: NDArray[np.float64]
    in_order: NDArray[np.float64]
    order: NDArray[np.int64]
    keys: NDArray[np.float64]
    meets: NDArray[np.bool_]
    corners: NDArray[np.float64]
    witness: NDArray[np.float64]
    flipped: NDArray[np.uint64]


def new_polygon(_: int, words: int) -> Polygon:
    """Room for any region in the plane."""
    return Polygon(
        np.zeros(_MOST, np.int64),
        np.zeros(_MOST),
        np.zeros((_MOST, 4)),
        np.zeros((_MOST, 4)),
        np.zeros(_MOST, np.int64),
        np.zeros(_MOST),
        np.zeros(_MOST, np.bool_),
        np.zeros((_MOST + 1, 4)),
        np.zeros(2),
        np.zeros(words, np.uint64),
    )


@inner
def _direction(x, y):  # pragma: no cover - compiled
    """A number that grows with the angle of a vector, from 0 to 4."""
    share = y / (abs(x) + abs(y))
    if x < 0.0:
        return 2.0 - share
    return share if share >= 0.0 else 4.0 + share


@inner
def _sort(facets, count, order, keys, sorted_facets):  # pragma: no cover - compiled
    """Facets by the direction of their normals."""
    for k in range(count):
        key = _direction(facets[k, 0], facets[k, 1])
        at = k
        while at > 0 and keys[at - 1] > key:
            keys[at], order[at] = keys[at - 1], order[at - 1]
            at -= 1
        keys[at], order[at] = key, k
    for k in range(count):
        for column in range(4):
            sorted_facets[k, column] = facets[order[k], column]


@inner
def _corners(facets, count, corners, meets):  # pragma: no cover - compiled
    """Corners and rays between facets in order, with error bounds; how many, or 0 if in doubt.

    `meets` says which facets surely meet the next one.
    """
    found, gaps = 0, 0
    for k in range(count):
        a, b = facets[k], facets[(k + 1) % count]
        error = 2.0 * (a[3] + b[3] + a[3] * b[3]) + 10.0 * ROUND
        w = a[0] * b[1] - a[1] * b[0]
        meets[k] = w > error
        if meets[k]:
            x, y = a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2]
            size = abs(x) + abs(y) + w
            corners[found, 0], corners[found, 1], corners[found, 2] = x / size, y / size, w / size
            corners[found, 3] = 1.0001 * (error / size + 4.0 * ROUND)
            found += 1
            continue
        gaps += 1
        if gaps > 1 or count < 2:
            return 0
        for side in range(2):  # along the last facet before the gap, and the first one after it
            facet, sign = (a, 1.0) if side == 0 else (b, -1.0)
            size = abs(facet[0]) + abs(facet[1])
            corners[found, 0], corners[found, 1] = sign * facet[1] / size, -sign * facet[0] / size
            corners[found, 2] = 0.0
            corners[found, 3] = 1.0001 * (facet[3] / size + 4.0 * ROUND)
            found += 1
    for k in range(found):
        if not corners[k, 3] < 1e-3:
            return 0
    return found


@kernel
def check_polygons(  # pragma: no cover - compiled
    program,
    state,
    room,
    begin,
    end,
    words,
    bits,
    candidates,
    ends,
    witnesses,
    unscale,
    table,
    proved,
    facet_lines,
    neighbours,
    found_bases,
    basis_counts,
):
    """Check the regions from `begin` to `end`; the number of signs that were decided.

    Parameters
    ----------
    candidates, ends : ndarray
        The lines that may be each region's facets, and where they end.
    witnesses : ndarray, shape (regions, inputs)
    unscale : ndarray, shape (inputs,)
        What makes scaled coordinates of them.
    table : ndarray
        The hash table of all regions.
    proved : ndarray of bool, shape (regions,)
        Set where everything holds, the regions behind all facets included.
    facet_lines, neighbours : ndarray
        Filled, parallel to `candidates`: the lines in order, and the regions behind them.
    found_bases : ndarray, shape (candidates, inputs)
        Filled from the place of a region's first facet on: the facets that meet in its corners.
    basis_counts : ndarray, shape (regions,)
        Filled: how many corners it has.
    """
    added = len(program.domain) - program.domain_lines  # lines of the second input, if it is none
    nobody = len(state.places) - 2
    lines, facets, order, corners = room.lines, room.facets, room.order, room.corners
    signs = 0
    for region in range(begin, end):
        first = ends[region - 1] if region else 0
        count = ends[region] - first + added
        total = go_to(program, state, words[region], bits)
        if total < 0 or count > _MOST:
            continue
        for k in range(count - added):
            lines[k] = candidates[first + k]
        for k in range(added):
            lines[count - added + k] = nobody + k
        if not gather(program, state, lines[:count], facets):
            continue
        _sort(facets, count, order, room.keys, room.in_order)
        found = _corners(room.in_order, count, corners, room.meets)
        scaled(witnesses[region], unscale, room.witness)
        if found == 0 or not is_inside(facets[:count], room.witness):
            continue
        set_aside(program, state, lines[:count], room.saved)
        doubts = 0
        for k in range(found):
            corner = corners[k]
            doubts += doubtful(program, state, corner[:2], corner[2], corner[3], 1.0)
        bring_back(program, state, lines[:count], room.saved)
        if doubts > 0:
            continue
        signs += found * (total - count) + count + found
        at, place, complete = first, first, True
        for k in range(count):
            line = lines[order[k]]
            if line >= nobody:
                continue
            facet_lines[at], neighbours[at] = line, -1
            if line > program.domain_lines:
                other = behind(program, state, line, words, region, bits, table, room.flipped)
                neighbours[at] = other
                complete = complete and other >= 0
            if len(unscale) == 1:
                found_bases[place, 0] = at - first
                place += 1
            elif room.meets[k]:
                found_bases[place, 0], found_bases[place, 1] = k, (k + 1) % count
                place += 1
            at += 1
        basis_counts[region] = place - first
        proved[region] = complete
    return signs
