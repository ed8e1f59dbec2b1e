"""Facets of regions behind which a search with `where` has left out what lies there.

A facet leads to the region in which the neurons that are at a breakpoint on it are on their other
piece. If only one neuron is (with its twins), that region is known by its pattern; if it is not
among the regions of a complete search, the wanted set does not meet it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell._runtime.interruption import check
from tropicell.geometry.rounding import ROUND, TINY
from tropicell.network.flat import FlatNetwork
from tropicell.network.network import Network
from tropicell.network.patterns import PatternArray, split_layers

if TYPE_CHECKING:
    from tropicell.regions.columns import Ragged
    from tropicell.regions.regions import Regions

#: Regions whose rows are worked out at once, and numbers of rows that are compared at once.
_AT_ONCE, _NUMBERS = 512, 1 << 22


def leads_to_one_flip(
    regions: Regions, flat: FlatNetwork, facets: Ragged, some: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Which of some half-facets surely lie on the boundaries of one neuron and its twins alone.

    The row of any other boundary on the region is not a multiple of the facet's, which is proved by
    float64 with bounds on its rounding; False where that does not suffice.

    Parameters
    ----------
    regions : Regions
    flat : FlatNetwork
    facets : Ragged
        The lines of the facets of each region.
    some : ndarray of int64
        Half-facets, ascending.
    """
    lines = flat.lines
    first = int(lines.line_start[1])
    neuron = lines.line_row[first:] - lines.row_start[1]
    at, twin = lines.line_at[first:], lines.line_twin[first:]
    owner = np.searchsorted(facets.ends, some, side="right")
    found = np.zeros(len(some), np.bool_)
    batch = max(1, min(_AT_ONCE, _NUMBERS // max(1, len(neuron) * (flat.dimension + 1))))
    start = 0
    while start < len(some):
        check()
        here = np.unique(owner[start:])[:batch]
        stop = int(np.searchsorted(owner, here[-1], side="right"))
        rows, errors = _all_rows(regions.network, regions.packed[here])
        rows, errors = rows[neuron], errors[neuron]
        rows[:, :, -1] -= at[:, None]
        errors[:, :, -1] += 2 * ROUND * np.abs(at)[:, None]
        for low in range(start, stop, batch):
            part = slice(low, min(low + batch, stop))
            place = np.searchsorted(here, owner[part])
            own = facets.values[some[part]] - first
            found[part] = _is_alone(rows[:, place], errors[:, place], own, twin)
        start = stop
    return found


def _is_alone(
    rows: FloatArray,
    errors: FloatArray,
    own: NDArray[np.int64],
    twin: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Whether no other row (lines × facets × inputs + 1) is a multiple of each facet's own."""
    which = np.arange(len(own))
    normal, off = rows[own, which], np.linalg.norm(errors[own, which], axis=1)
    length = np.linalg.norm(normal, axis=1)
    sure = length > 8 * off + TINY
    length = np.where(sure, length, 1.0)
    normal, off = normal / length[:, None], off / length
    along = np.einsum("lfc,fc->lf", rows, normal)
    rest = np.linalg.norm(rows - along[:, :, None] * normal, axis=2)
    size = np.linalg.norm(rows, axis=2)
    wrong = np.linalg.norm(errors, axis=2) + 4 * size * off + 64 * ROUND * size
    same = twin[:, None] == twin[own][None, :]
    alone = sure & (same | (rest > 2 * wrong + TINY)).all(axis=0)
    return np.asarray(alone)


def _all_rows(network: Network, patterns: PatternArray) -> tuple[FloatArray, FloatArray]:
    """All neurons before their activations on some patterns, and bounds on the rounding of each.

    The shapes are (neurons, patterns, inputs + 1).
    """
    found = list(_layer_rows(network, patterns))
    return np.concatenate([rows for rows, _ in found]), np.concatenate([e for _, e in found])


def _layer_rows(
    network: Network, patterns: PatternArray
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """The same layer by layer."""
    maps = network.maps("float")
    start, one = maps.coordinates()
    count, size = len(patterns), len(one)
    columns, units = [np.tile(start, (1, count))], np.tile(one, count)
    # What is summed, in absolute values: each sum and product rounds a part of that, and a later
    # layer carries on the parts of earlier ones.
    sizes = [np.abs(columns[0])]
    summands = 8
    for layer, part in enumerate(split_layers(patterns, network.widths), start=1):
        before = maps.before(layer, columns, units)
        affine = network.affine(layer)
        total = np.abs(affine.bias)[:, None] * units
        for source, matrix in affine.terms.items():
            total = total + abs(matrix) @ sizes[source]
        summands += sum(matrix.shape[1] for matrix in affine.terms.values()) + 8
        errors = 2 * summands * ROUND * total + TINY
        yield before.reshape(-1, count, size), errors.reshape(-1, count, size)
        pieces = np.repeat(part.T, size, axis=1).astype(np.intp)
        columns.append(maps.after(layer, before, pieces, units))
        _, slopes, intercepts = maps.activation(layer)
        slope = np.take_along_axis(np.abs(slopes), pieces, axis=1)
        intercept = np.take_along_axis(np.abs(intercepts), pieces, axis=1)
        sizes.append(slope * total + intercept * units)
