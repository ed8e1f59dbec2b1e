"""Sign vectors of faces: on which side of each boundary a face lies, or on it.

A neuron is affine on every region. So it is at a breakpoint all over a face if it is so at the
vertices of the face, and does not change along its unbounded edges. At vertices float64 decides
where a bound proves it, rationals elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.interruption import check
from tropicell.analysis.chosen import is_whole, numbers_of
from tropicell.analysis.cut_functions import ExactRows
from tropicell.analysis.graph import flip_lines
from tropicell.errors import InvalidInputError
from tropicell.network.domains import resolve
from tropicell.network.flat import flatten, is_tame
from tropicell.regions.columns import Ragged

if TYPE_CHECKING:
    from tropicell.analysis.complex import Complex

#: Vertices that are looked at in one go.
_AT_ONCE = 1 << 16


def face_signs(
    complex_: Complex, k: int, some: Sequence[int] | NDArray[Any] | None = None
) -> NDArray[np.int8]:
    """The sign vectors of faces of dimension k: see `Complex.signs`."""
    if not is_whole(k) or not 0 <= k < len(complex_.sides):
        raise InvalidInputError(f"there are no faces of dimension {k!r}")
    which = numbers_of(some, len(complex_.sides[k].ends), f"faces of dimension {k}")
    zero = _on_lines(complex_, k, which)
    signs = np.ones(zero.shape, np.int8)
    lines, regions = complex_.lines, complex_.regions
    if len(which):
        pieces = regions.packed[complex_.owners(k)[which]]
        beyond = pieces[:, lines.neuron] > lines.breakpoint
        signs[:, lines.first - 1 :] = np.where(beyond, 1, -1)
    signs[zero] = 0
    return signs


def faces_on(complex_: Complex, lines: NDArray[np.int64]) -> list[NDArray[np.bool_]]:
    """For each dimension the faces that lie on one of some lines."""
    found: list[NDArray[np.bool_]] = []
    own = lines - 1
    parts = [np.zeros((0, len(own)), np.bool_)]
    for start in range(0, len(complex_.sides[0].ends), _AT_ONCE):
        some = np.arange(start, min(start + _AT_ONCE, len(complex_.sides[0].ends)))
        parts.append(_at_vertices(complex_, some)[:, own])
    on = np.concatenate(parts)
    found.append(np.asarray(on.any(axis=1)))
    for k in range(1, len(complex_.sides)):
        ends, below, _ = complex_.sides[k]
        starts = ends - np.diff(ends, prepend=0)
        on = np.logical_and.reduceat(on[below], starts, axis=0) if len(ends) else on[:0]
        if k == 1:
            _along_rays(complex_, np.arange(len(ends)), on, lines)
        found.append(np.asarray(on.any(axis=1)))
    return found


def _on_lines(complex_: Complex, k: int, which: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which lines some faces of dimension k lie on, shape (faces, lines - 1)."""
    if k == 0:
        return _at_vertices(complex_, which)
    sides = Ragged(complex_.sides[k].faces, complex_.sides[k].ends)
    below, back = np.unique(sides.values[sides.places(which)], return_inverse=True)
    lower = _on_lines(complex_, k - 1, below)
    counts = sides.counts[which]
    starts = np.cumsum(counts) - counts
    if not len(which):
        return np.zeros((0, complex_.lines.count - 1), np.bool_)
    found = np.logical_and.reduceat(lower[back.ravel()], starts, axis=0)
    if k == 1:
        _along_rays(complex_, which, found)
    return found


def _at_vertices(complex_: Complex, which: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which lines go through some vertices."""
    from tropicell.analysis import _flips  # noqa: PLC0415 - imports Numba
    from tropicell.analysis import _sign_vectors as kernels  # noqa: PLC0415

    regions, lines = complex_.regions, complex_.lines
    found = np.zeros((len(which), lines.count), np.uint8)
    owners = complex_.owners(0)[which]
    if len(which) and complex_.faces.vertices.shape[1] and is_tame(regions.network, regions.domain):
        flat = flatten(*resolve(regions.network, regions.domain))
        flips = flip_lines(regions, flat)
        words = np.ascontiguousarray(regions.packed.words, dtype=np.uint64)
        room = _flips.flip_room(flat, words.shape[1])
        order = np.argsort(owners, kind="stable")
        for start in range(0, len(order), _AT_ONCE):
            check()
            part = order[start : start + _AT_ONCE]
            own = _carrier_lines(complex_, which[part])
            here = np.empty((len(part), lines.count), np.uint8)
            points = complex_.vertices[which[part]], complex_.radii[which[part]]
            given = owners[part], *points, own.values, own.ends
            patterns = words, regions.packed.bits
            kernels.lines_at(flat, flips, patterns, given, room, here)
            found[part] = here
    else:
        found[:] = kernels.DOUBTFUL
    rows = ExactRows(complex_)
    found[:, 0] = 0
    for i in np.flatnonzero((found == kernels.DOUBTFUL).any(axis=1)).tolist():
        check()
        point = rows.vertex(int(which[i]))
        for line in np.flatnonzero(found[i] == kernels.DOUBTFUL).tolist():
            row = rows.line(line)
            at = row is not None and row[:-1][: len(point)] @ point + row[-1] == 0
            found[i, line] = kernels.THROUGH if at else kernels.APART
    return np.asarray(found[:, 1:] == kernels.THROUGH)


def _carrier_lines(complex_: Complex, which: NDArray[np.int64]) -> Ragged:
    """The facets on which some vertices lie, as lines."""
    dims, numbers = (column[which] for column in complex_.carriers[0])
    counts = np.zeros(len(which), np.int64)
    parts: list[tuple[NDArray[np.int64], NDArray[Any]]] = []
    for dim in np.unique(dims):
        mine = np.flatnonzero(dims == dim)
        lines = complex_.faces.lines[dim]
        counts[mine] = lines.counts[numbers[mine]]
        places = lines.places(numbers[mine])
        parts.append((np.repeat(mine, counts[mine]), lines.values[places]))
    if not parts:
        return Ragged(np.empty(0, np.int64), np.empty(0, np.int64))
    owner = np.concatenate([part[0] for part in parts])
    values = np.concatenate([part[1] for part in parts])
    return Ragged.from_counts(values[np.argsort(owner, kind="stable")].astype(np.int64), counts)


def _along_rays(
    complex_: Complex,
    which: NDArray[np.int64],
    found: NDArray[np.bool_],
    lines: NDArray[np.int64] | None = None,
) -> None:
    """Of unbounded edges, leave those lines that do not change along them.

    On which facets of its region an edge lies is known; other lines through its vertex, which are
    no facets, are looked at in rationals. `lines` are those of the columns; default: all of them.
    """
    edges = np.flatnonzero(complex_.unbounded[1][which])
    edges = edges[found[edges].any(axis=1)]
    if not edges.size:
        return
    numbers = np.arange(1, found.shape[1] + 1) if lines is None else lines
    rows, twin = ExactRows(complex_), _twins(complex_)
    dims, carriers = complex_.carriers[1]
    owners, facets = complex_.owners(1), complex_.regions.facet_lines
    for i in edges.tolist():
        check()
        edge = int(which[i])
        region = int(owners[edge])
        mine = twin[complex_.faces.lines[int(dims[edge])][int(carriers[edge])]]
        others = twin[facets[region].astype(np.int64)]
        here = np.flatnonzero(found[i])
        on = np.isin(twin[numbers[here]], mine)
        found[i, here] = on
        unknown = here[~on & ~np.isin(twin[numbers[here]], others)]
        if not unknown.size:
            continue
        direction = rows.direction(edge)
        rows.load(region)
        for column in unknown.tolist():
            row = rows.line(int(numbers[column]))
            found[i, column] = row is not None and row[:-1] @ direction == 0


def _twins(complex_: Complex) -> NDArray[np.int64]:
    """For each line the first one that is the same."""
    regions = complex_.regions
    if not is_tame(regions.network, regions.domain):
        return np.arange(complex_.lines.count)
    flat = flatten(*resolve(regions.network, regions.domain))
    return np.asarray(flip_lines(regions, flat).twin, dtype=np.int64)
