"""The patterns of points, compiled: one pass through the network, nothing else.

NumPy needs some microseconds for every step of every layer, which is most of the time that a single
point takes in a small network. Many points go through the network some at a time, side by side, in
memory that stays in the processor's cache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray, IntArray
from tropicell._runtime.jit import kernel
from tropicell.network.flat import NeuronArrays, neuron_arrays

if TYPE_CHECKING:
    from tropicell.network.network import Network

#: Points that go through the network side by side.
SIDE_BY_SIDE = 32

#: The largest float64.
_LARGEST = float(np.finfo(np.float64).max)


#: Columns of `PointNetwork.terms`.
_LAYER, _SOURCE, _IS_SPARSE, _FIRST, _POINTERS, _TERM_SIZE = range(6)


class PointNetwork(NamedTuple):
    """A network as flat arrays, matrices by rows.

    Attributes
    ----------
    neurons : NeuronArrays
    terms : ndarray, shape (terms, 5)
        Per matrix: its layer, its source layer, 1 if it is sparse, where its numbers begin in
        `weights`, and where its row pointers begin in `pointers` (sparse only).
    weights, sources : ndarray
        The numbers, row by row, and the source neurons of those of sparse matrices.
    pointers : ndarray
        Where the rows of sparse matrices begin, counted from the matrix's first number.
    """

    neurons: NeuronArrays
    terms: IntArray
    weights: FloatArray
    sources: IntArray
    pointers: IntArray


def flatten_for_points(network: Network) -> PointNetwork:
    """A network as flat arrays."""
    return PointNetwork(neuron_arrays(network), *_matrices(network))


def _matrices(network: Network) -> tuple[IntArray, FloatArray, IntArray, IntArray]:
    terms: list[tuple[int, int, int, int, int]] = []
    weights, sources, pointers = [np.empty(0)], [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    n_weights = n_pointers = 0
    for index, layer in enumerate(network.layers, start=1):
        for source, matrix in layer.affine.terms.items():
            few = isinstance(matrix, sp.csr_array)
            terms.append((index, source, int(few), n_weights, n_pointers))
            if isinstance(matrix, sp.csr_array):
                weights.append(matrix.data)
                sources.append(matrix.indices.astype(np.int64))
                pointers.append(matrix.indptr.astype(np.int64))
                n_pointers += len(matrix.indptr)
            else:
                weights.append(matrix.ravel())
                sources.append(np.zeros(matrix.size, np.int64))  # parallel to the weights, not read
            n_weights += weights[-1].size
    table = np.array(terms, dtype=np.int64).reshape(-1, _TERM_SIZE)
    return table, np.concatenate(weights), np.concatenate(sources), np.concatenate(pointers)


@kernel(sums="in any order", allocates=True)
def _dot(a: FloatArray, b: FloatArray) -> float:  # pragma: no cover - compiled
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@kernel(allocates=True)
def _add_term(
    term: IntArray, flat: PointNetwork, source: FloatArray, total: FloatArray
) -> None:  # pragma: no cover - compiled
    """Add what a source layer sends to a layer."""
    start, size = term[_FIRST], len(source)
    for row in range(len(total)):
        if term[_IS_SPARSE]:
            first = term[_POINTERS] + row
            for k in range(start + flat.pointers[first], start + flat.pointers[first + 1]):
                total[row] += flat.weights[k] * source[flat.sources[k]]
        else:
            total[row] += _dot(flat.weights[start + row * size : start + (row + 1) * size], source)


@kernel(allocates=True)
def point_words(
    points: FloatArray, flat: PointNetwork, bits: int, words: NDArray[np.uint64]
) -> bool:  # pragma: no cover - compiled
    """Packed patterns of points (rows, as values of layer 0) into `words`.

    Returns whether a number on the way is infinite or nan: then patterns may be wrong.
    """
    neurons, start = flat.neurons, flat.neurons.row_start
    overflow = False
    values = np.empty(start[-1])
    words[:] = 0
    for i in range(len(points)):
        values[: start[1]] = points[i]
        term = 0
        for layer in range(1, len(start) - 1):
            first, last = start[layer], start[layer + 1]
            total = values[first:last]
            total[:] = neurons.bias[first:last]
            while term < len(flat.terms) and flat.terms[term, _LAYER] == layer:
                below = flat.terms[term, _SOURCE]
                source = values[start[below] : start[below + 1]]
                _add_term(flat.terms[term], flat, source, total)
                term += 1
            for row in range(first, last):
                overflow |= not abs(values[row]) <= _LARGEST
                piece = 0
                for bend in neurons.breakpoints[row]:
                    piece += values[row] > bend
                values[row] = (
                    neurons.slopes[row, piece] * values[row] + neurons.intercepts[row, piece]
                )
                place = (row - start[1]) * bits
                words[i, place >> 6] |= np.uint64(piece) << np.uint64(place & 63)
    return overflow


@kernel(sums="fused", inner=True)
def _add_block(
    term: IntArray, flat: PointNetwork, values: FloatArray, below: int, begin: int, rows: int
) -> None:  # pragma: no cover - compiled
    """Add what a source layer sends to a layer, for all points that are side by side.

    Sixteen weights at a time, for four neurons each: what is read is used four times.
    """
    start, pointers, weights = term[_FIRST], term[_POINTERS], flat.weights
    first = flat.neurons.row_start[below]
    size = flat.neurons.row_start[below + 1] - first
    if term[_IS_SPARSE]:
        for row in range(rows):
            out = (begin + row) * SIDE_BY_SIDE
            for k in range(
                start + flat.pointers[pointers + row], start + flat.pointers[pointers + row + 1]
            ):
                at = (first + flat.sources[k]) * SIDE_BY_SIDE
                for b in range(SIDE_BY_SIDE):
                    values[out + b] += weights[k] * values[at + b]
        return
    source = values[first * SIDE_BY_SIDE : (first + size) * SIDE_BY_SIDE]
    total = values[begin * SIDE_BY_SIDE : (begin + rows) * SIDE_BY_SIDE]
    whole_rows, whole = rows - rows % 4, size - size % 4
    for row in range(0, whole_rows, 4):
        t0, w0 = row * SIDE_BY_SIDE, start + row * size
        t1, w1 = t0 + SIDE_BY_SIDE, w0 + size
        t2, w2 = t1 + SIDE_BY_SIDE, w1 + size
        t3, w3 = t2 + SIDE_BY_SIDE, w2 + size
        for k in range(0, whole, 4):
            a0, a1 = weights[w0 + k], weights[w0 + k + 1]
            a2, a3 = weights[w0 + k + 2], weights[w0 + k + 3]
            b0, b1 = weights[w1 + k], weights[w1 + k + 1]
            b2, b3 = weights[w1 + k + 2], weights[w1 + k + 3]
            c0, c1 = weights[w2 + k], weights[w2 + k + 1]
            c2, c3 = weights[w2 + k + 2], weights[w2 + k + 3]
            d0, d1 = weights[w3 + k], weights[w3 + k + 1]
            d2, d3 = weights[w3 + k + 2], weights[w3 + k + 3]
            at = k * SIDE_BY_SIDE
            for b in range(SIDE_BY_SIDE):
                s0, s1 = source[at + b], source[at + SIDE_BY_SIDE + b]
                s2 = source[at + 2 * SIDE_BY_SIDE + b]
                s3 = source[at + 3 * SIDE_BY_SIDE + b]
                total[t0 + b] += (a0 * s0 + a1 * s1) + (a2 * s2 + a3 * s3)
                total[t1 + b] += (b0 * s0 + b1 * s1) + (b2 * s2 + b3 * s3)
                total[t2 + b] += (c0 * s0 + c1 * s1) + (c2 * s2 + c3 * s3)
                total[t3 + b] += (d0 * s0 + d1 * s1) + (d2 * s2 + d3 * s3)
    for row in range(rows):
        for k in range(whole if row < whole_rows else 0, size):
            weight, at, to = weights[start + row * size + k], k * SIDE_BY_SIDE, row * SIDE_BY_SIDE
            for b in range(SIDE_BY_SIDE):
                total[to + b] += weight * source[at + b]


@kernel
def point_patterns(
    points: FloatArray, flat: PointNetwork, values: FloatArray, patterns: NDArray[np.uint8]
) -> None:  # pragma: no cover - compiled
    """Patterns of points (rows, as values of layer 0), of which none is so large that it overflows.

    Parameters
    ----------
    points : ndarray, shape (points, width of layer 0)
    flat : PointNetwork
    values : ndarray, shape (rows of the network * SIDE_BY_SIDE,)
        Room.
    patterns : ndarray of uint8, shape (points, neurons)
        Gets the patterns.
    """
    neurons, start = flat.neurons, flat.neurons.row_start
    bends = neurons.breakpoints.shape[1]
    for first in range(0, len(points), SIDE_BY_SIDE):
        count = min(SIDE_BY_SIDE, len(points) - first)
        for row in range(start[1]):
            for b in range(SIDE_BY_SIDE):
                values[row * SIDE_BY_SIDE + b] = points[first + min(b, count - 1), row]
        term = 0
        for layer in range(1, len(start) - 1):
            begin, end = start[layer], start[layer + 1]
            for row in range(begin, end):
                for b in range(SIDE_BY_SIDE):
                    values[row * SIDE_BY_SIDE + b] = neurons.bias[row]
            while term < len(flat.terms) and flat.terms[term, _LAYER] == layer:
                below = flat.terms[term, _SOURCE]
                _add_block(flat.terms[term], flat, values, below, begin, end - begin)
                term += 1
            for row in range(begin, end):
                neuron, at = row - start[1], row * SIDE_BY_SIDE
                for b in range(count):
                    piece = 0
                    for k in range(bends):
                        piece += values[at + b] > neurons.breakpoints[row, k]
                    patterns[first + b, neuron] = piece
                    slope, shift = neurons.slopes[row, piece], neurons.intercepts[row, piece]
                    values[at + b] = slope * values[at + b] + shift
                for b in range(count, SIDE_BY_SIDE):
                    values[at + b] = 0.0
