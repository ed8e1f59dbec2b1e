"""The patterns of a few points, compiled: one pass through the network, nothing else.

NumPy needs some microseconds for every step of every layer, which is most of the time that a single
point takes in a small network.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray, IntArray
from tropicell._runtime.jit import kernel
from tropicell.network.network import Network

#: The largest float64.
_LARGEST = float(np.finfo(np.float64).max)


class Layers(NamedTuple):
    """A network as flat arrays. Every neuron has a row; the first ones are those of layer 0.

    Attributes
    ----------
    row_start : ndarray, shape (L + 2,)
        First row of every layer.
    bias : ndarray, shape (rows,)
    breakpoints, slopes, intercepts : ndarray, a row for every row
        As in `Activation`, padded.
    terms : ndarray, shape (terms, 5)
        Per matrix: its layer, its source layer, 1 if it is sparse, where its numbers begin in
        `weights`, and where its row pointers begin in `pointers` (sparse only).
    weights, sources : ndarray
        The numbers, row by row, and the source neurons of those of sparse matrices.
    pointers : ndarray
        Where the rows of sparse matrices begin, counted from the matrix's first number.
    """

    row_start: IntArray
    bias: FloatArray
    breakpoints: FloatArray
    slopes: FloatArray
    intercepts: FloatArray
    terms: IntArray
    weights: FloatArray
    sources: IntArray
    pointers: IntArray


def flat_layers(network: Network) -> Layers:
    """The layers of a network as flat arrays."""
    inputs = (
        network.n_inputs if network.float_embedding is None else len(network.float_embedding.offset)
    )
    widths = [inputs, *network.widths]
    row_start = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
    most = max([1, *(layer.activation.slopes.shape[1] for layer in network.layers)])
    breakpoints = np.full((row_start[-1], most - 1), np.inf)
    slopes, intercepts = np.zeros((row_start[-1], most)), np.zeros((row_start[-1], most))
    for index, layer in enumerate(network.layers, start=1):
        rows, function = slice(row_start[index], row_start[index + 1]), layer.activation
        pieces = function.slopes.shape[1]
        breakpoints[rows, : pieces - 1] = function.breakpoints
        slopes[rows, :pieces], intercepts[rows, :pieces] = function.slopes, function.intercepts
    return Layers(
        row_start,
        np.concatenate([np.zeros(inputs), *(layer.affine.bias for layer in network.layers)]),
        breakpoints,
        slopes,
        intercepts,
        *_matrices(network),
    )


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
    table = np.array(terms, dtype=np.int64).reshape(-1, 5)
    return table, np.concatenate(weights), np.concatenate(sources), np.concatenate(pointers)


@kernel(sums="in any order", allocates=True)
def _dot(a: FloatArray, b: FloatArray) -> float:  # pragma: no cover - compiled
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@kernel(allocates=True)
def _add_term(
    term: IntArray, layers: Layers, source: FloatArray, total: FloatArray
) -> None:  # pragma: no cover - compiled
    """Add what a source layer sends to a layer."""
    start, size = term[3], len(source)
    for row in range(len(total)):
        if term[2]:
            first = term[4] + row
            for k in range(start + layers.pointers[first], start + layers.pointers[first + 1]):
                total[row] += layers.weights[k] * source[layers.sources[k]]
        else:
            total[row] += _dot(
                layers.weights[start + row * size : start + (row + 1) * size], source
            )


@kernel(allocates=True)
def point_words(
    points: FloatArray, layers: Layers, bits: int, words: NDArray[np.uint64]
) -> bool:  # pragma: no cover - compiled
    """Packed patterns of points (rows, as values of layer 0) into `words`.

    Returns whether a number on the way is infinite or nan: then patterns may be wrong.
    """
    start = layers.row_start
    overflow = False
    values = np.empty(start[-1])
    words[:] = 0
    for i in range(len(points)):
        values[: start[1]] = points[i]
        term = 0
        for layer in range(1, len(start) - 1):
            first, last = start[layer], start[layer + 1]
            total = values[first:last]
            total[:] = layers.bias[first:last]
            while term < len(layers.terms) and layers.terms[term, 0] == layer:
                below = layers.terms[term, 1]
                source = values[start[below] : start[below + 1]]
                _add_term(layers.terms[term], layers, source, total)
                term += 1
            for row in range(first, last):
                overflow |= not abs(values[row]) <= _LARGEST
                piece = 0
                for bend in layers.breakpoints[row]:
                    piece += values[row] > bend
                values[row] = (
                    layers.slopes[row, piece] * values[row] + layers.intercepts[row, piece]
                )
                place = (row - start[1]) * bits
                words[i, place >> 6] |= np.uint64(piece) << np.uint64(place & 63)
    return overflow
