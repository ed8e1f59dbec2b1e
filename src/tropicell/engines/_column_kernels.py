"""Kernels that copy regions out of the engines' buffers, with their patterns packed.

NumPy could do it in a dozen steps; but between them all threads wait for Python's global lock.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell.engines._cells_state import NONE
from tropicell.engines._jit import kernel

#: This times eight bytes that are 0 or 1 has them as bits, the first one lowest, in its top byte.
_GATHER = np.uint64(0x0102040810204080)


#: The lowest bit of each of eight bytes.
_LOWEST = np.uint64(0x0101010101010101)


def pattern_rows(count: int, neurons: int) -> NDArray[np.uint8]:
    """Room for unpacked patterns, a byte a neuron; a row has bytes for whole words of bits."""
    return np.empty((count, 64 * max(1, -(-neurons // 64))), np.uint8)


@kernel
def _pack(patterns: Any, eights: Any, n: int, neurons: int, bits: int, words: Any) -> None:
    """Patterns as `tropicell.columns.PackedPatterns` has them; `eights` are the same bytes.

    Bytes beyond the last neuron may be anything.
    """
    most = words.shape[1] - 1
    tail = np.uint64(neurons - 64 * most)
    mask = (np.uint64(1) << tail) - np.uint64(1) if tail < np.uint64(64) else ~NONE
    for k in range(n):
        for w in range(words.shape[1]):
            word = NONE
            if bits == 1:
                for i in range(8):
                    byte = ((eights[k, 8 * w + i] & _LOWEST) * _GATHER) >> np.uint64(56)
                    word |= byte << np.uint64(8 * i)
                if w == most:
                    word &= mask
            words[k, w] = word
        if bits > 1:
            for j in range(neurons):
                for b in range(bits):
                    if (patterns[k, j] >> b) & 1:
                        at = j * bits + b
                        words[k, at >> 6] |= np.uint64(1) << np.uint64(at & 63)


@kernel
def copy_cells(
    batch: Any,
    eights: Any,
    n: int,
    corners: int,
    neurons: int,
    bits: int,
    words: Any,
    witnesses: Any,
    bounded: Any,
    volumes: Any,
    vertices: Any,
    vertex_counts: Any,
    lines: Any,
    facet_counts: Any,
) -> int:
    """Copy the first n regions of a `Batch` of the cells engine; returns how many lines they have.

    Labels of facets become lines; infinity is none.
    """
    _pack(batch.patterns, eights, n, neurons, bits, words)
    d = witnesses.shape[1]
    label, line = 0, 0
    for k in range(n):
        for c in range(d):
            witnesses[k, c] = batch.witnesses[k, c]
        bounded[k] = batch.bounded[k]
        if len(volumes):
            volumes[k] = batch.volumes[k]
        vertex_counts[k] = batch.vertex_counts[k]
        first = line
        for _ in range(batch.facet_counts[k]):
            number = abs(batch.labels[label]) - 1
            label += 1
            if number != 0:
                lines[line] = number
                line += 1
        facet_counts[k] = line - first
    for i in range(corners):
        for c in range(d + 1):
            vertices[i, c] = batch.vertices[i, c]
    return line


@kernel
def copy_points(
    patterns: Any, eights: Any, points: Any, n: int, neurons: int, bits: int, words: Any, copy: Any
) -> None:
    """Copy the first n patterns and points of the half-spaces engine."""
    _pack(patterns, eights, n, neurons, bits, words)
    for k in range(n):
        for c in range(points.shape[1]):
            copy[k, c] = points[k, c]
