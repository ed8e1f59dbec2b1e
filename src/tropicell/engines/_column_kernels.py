"""Kernels that copy regions out of the engines' buffers, with their patterns packed.

NumPy could do it in a dozen steps; but between them all threads wait for Python's global lock. All
columns go to one piece of memory (`tropicell._runtime.memory.Piece`), one after the other; where
each begins is known from the numbers of regions, corners and facets.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.jit import inner_kernel, kernel
from tropicell.engines.cells._state import NONE

#: This times eight bytes that are 0 or 1 has them as bits, the first one lowest, in its top byte.
_GATHER = np.uint64(0x0102040810204080)


#: The lowest bit of each of eight bytes.
_LOWEST = np.uint64(0x0101010101010101)


def pattern_rows(count: int, neurons: int) -> NDArray[np.uint8]:
    """Room for unpacked patterns, a byte a neuron; a row has bytes for whole words of bits."""
    return np.empty((count, 64 * max(1, -(-neurons // 64))), np.uint8)


class ColumnForm(NamedTuple):
    """The form of a run's regions: neurons, bits a neuron, inputs; whether there are volumes."""

    neurons: int
    bits: int
    dimension: int
    volumes: bool


class BatchSizes(NamedTuple):
    """How many regions a batch has, and how many corners and facets these have together."""

    regions: int
    corners: int
    facets: int


class CellSections(NamedTuple):
    """Where columns begin in a piece, in bytes after the first one, and where they end."""

    patterns: int
    witnesses: int
    vertices: int
    vertex_counts: int
    volumes: int
    facet_counts: int
    lines: int
    bounded: int
    end: int


class PointSections(NamedTuple):
    """The same for patterns and witnesses alone."""

    patterns: int
    witnesses: int
    end: int


def cell_sections(sizes: BatchSizes, form: ColumnForm) -> CellSections:
    """Where the columns of a batch of the cells engine begin; all at multiples of 64 bytes."""
    n, d = sizes.regions, form.dimension
    width = max(1, (form.neurons * form.bits + 63) // 64)
    witnesses = (8 * n * width + 63) // 64 * 64
    vertices = witnesses + (8 * n * d + 63) // 64 * 64
    vertex_counts = vertices + (8 * sizes.corners * (d + 1) + 63) // 64 * 64
    volumes = vertex_counts + (8 * n + 63) // 64 * 64
    facet_counts = volumes + ((8 * n + 63) // 64 * 64 if form.volumes else 0)
    lines = facet_counts + (8 * n + 63) // 64 * 64
    bounded = lines + (4 * sizes.facets + 63) // 64 * 64
    end = bounded + (n + 63) // 64 * 64
    return CellSections(
        0, witnesses, vertices, vertex_counts, volumes, facet_counts, lines, bounded, end
    )


def point_sections(n: int, width: int, d: int) -> PointSections:
    """Where patterns (of `width` words) and witnesses begin."""
    witnesses = (8 * n * width + 63) // 64 * 64
    return PointSections(0, witnesses, witnesses + (8 * n * d + 63) // 64 * 64)


_cell_sections = inner_kernel(cell_sections)
_point_sections = inner_kernel(point_sections)


@inner_kernel
def _pack(
    patterns: Any, eights: Any, n: int, neurons: int, bits: int, width: int, words: Any, at: int
) -> None:
    """Patterns as `tropicell.regions.columns.PackedPatterns` has them; `eights` are the same bytes.

    Bytes beyond the last neuron may be anything.
    """
    most = width - 1
    tail = np.uint64(neurons - 64 * most)
    mask = (np.uint64(1) << tail) - np.uint64(1) if tail < np.uint64(64) else ~NONE
    for k in range(n):
        for w in range(width):
            word = NONE
            if bits == 1:
                for i in range(8):
                    byte = ((eights[k, 8 * w + i] & _LOWEST) * _GATHER) >> np.uint64(56)
                    word |= byte << np.uint64(8 * i)
                if w == most:
                    word &= mask
            words[at + w] = word
        if bits > 1:
            for j in range(neurons):
                for b in range(bits):
                    if (patterns[k, j] >> b) & 1:
                        bit = j * bits + b
                        words[at + (bit >> 6)] |= np.uint64(1) << np.uint64(bit & 63)
        at += width


@kernel
def copy_cells(batch: Any, sizes: Any, form: Any, piece: Any, begin: int) -> int:
    """Copy the first regions of a `CellBatch` of the cells engine to a piece, from byte `begin` on.

    Labels of facets become numbers of boundaries; infinity is none. Returns how many of these there
    are, or -1 if there is not room for all.
    """
    n, neurons, bits, d = sizes.regions, form.neurons, form.bits, form.dimension
    width = max(1, (neurons * bits + 63) // 64)
    sections = _cell_sections(sizes, form)
    if begin + sections.end > len(piece.bytes):
        return -1
    reals, words = piece.reals, piece.words
    eights = batch.patterns.view(np.uint64)
    _pack(batch.patterns, eights, n, neurons, bits, width, piece.naturals, begin >> 3)
    at = (begin + sections.witnesses) >> 3
    for k in range(n):
        for c in range(d):
            reals[at] = batch.witnesses[k, c]
            at += 1
    at = (begin + sections.vertices) >> 3
    for i in range(sizes.corners):
        for c in range(d + 1):
            reals[at] = batch.vertices[i, c]
            at += 1
    vertex_counts = (begin + sections.vertex_counts) >> 3
    volumes = (begin + sections.volumes) >> 3
    facet_counts = (begin + sections.facet_counts) >> 3
    lines = (begin + sections.lines) >> 2
    bounded = begin + sections.bounded
    label, line = 0, 0
    for k in range(n):
        words[vertex_counts + k] = batch.vertex_counts[k]
        if form.volumes:
            reals[volumes + k] = batch.volumes[k]
        piece.bytes[bounded + k] = batch.bounded[k]
        first = line
        for _ in range(batch.facet_counts[k]):
            number = abs(batch.labels[label]) - 1
            label += 1
            if number != 0:
                piece.ints[lines + line] = number
                line += 1
        words[facet_counts + k] = line - first
    return line


@kernel
def copy_points(
    patterns: Any,
    eights: Any,
    points: Any,
    n: int,
    neurons: int,
    bits: int,
    piece: Any,
    begin: int,
) -> bool:
    """Copy the first n patterns and points of the half-spaces engine to a piece, likewise.

    Returns whether there is room for them.
    """
    d = points.shape[1]
    width = max(1, (neurons * bits + 63) // 64)
    sections = _point_sections(n, width, d)
    if begin + sections.end > len(piece.bytes):
        return False
    _pack(patterns, eights, n, neurons, bits, width, piece.naturals, begin >> 3)
    at = (begin + sections.witnesses) >> 3
    for k in range(n):
        for c in range(d):
            piece.reals[at] = points[k, c]
            at += 1
    return True
