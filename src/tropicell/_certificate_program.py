"""A network with one or two inputs as flat arrays, for the filter's kernel.

Everything here is exact: numbers are copied, and coordinates are scaled by powers of two. A network
with one input gets a second one that it does not use, between -1 and 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tropicell.domains import Domain
from tropicell.network import Network

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Numbers that are not 0 must be in between for the error bounds to hold without underflow.
_SMALLEST, _LARGEST = 1e-60, 1e60

#: Matrices are made dense: networks with more weights (and zeros) than this are left alone.
_MOST_WEIGHTS = 20_000_000

#: Unit roundoff of float64.
ROUND = 2.0**-53


class PlaneProgram(NamedTuple):
    """What the kernel reads.

    Attributes
    ----------
    starts : ndarray, shape (layers + 2,)
        Where the neurons of layer 0, 1, … begin; layer 0 is the input.
    term_starts : ndarray, shape (layers + 1,)
        Where the terms of layer 1, 2, … begin.
    terms : ndarray, shape (terms, 2)
        Source layer, and where its matrix begins in `weights`, stored as (source, target).
    inputs : ndarray, shape (width of layer 0, 3)
        Layer 0 as a map of the scaled coordinates, offset last.
    weights, bias : ndarray
    slopes, intercepts, breakpoints : ndarray, one row for each neuron from layer 1 on
    first_lines : ndarray
        Number of each neuron's first line.
    domain : ndarray, shape (rows, 3)
        Rows r with ``r · (x, y, 1) >= 0``; row i is line i + 1. With one input two more follow.
    domain_lines : int
        Rows that are the domain's own.
    gamma : ndarray, shape (layers,)
        Relative rounding error of each layer's sums.
    """

    starts: IntArray
    term_starts: IntArray
    terms: IntArray
    inputs: FloatArray
    weights: FloatArray
    bias: FloatArray
    slopes: FloatArray
    intercepts: FloatArray
    breakpoints: FloatArray
    first_lines: IntArray
    domain: FloatArray
    domain_lines: int
    gamma: FloatArray


def plane_program(network: Network, domain: Domain, scale: FloatArray) -> PlaneProgram | None:
    """Flat arrays of a network with 1 or 2 inputs, or None if the filter can't work with it.

    Parameters
    ----------
    network : Network
    domain : Domain
    scale : ndarray, shape (inputs,)
        Powers of two: the kernel's coordinates are x / scale.
    """
    inputs = _input_map(network)
    a, b = domain.inequalities(network.n_inputs)
    terms, starts, offset = [], [0], 0
    for layer in network.layers:
        for source, matrix in layer.affine.terms.items():
            terms.append((source, offset))
            offset += matrix.shape[0] * matrix.shape[1]
        starts.append(len(terms))
    if offset > _MOST_WEIGHTS or not _is_tame(network, inputs, a, b):
        return None
    matrices = [m for layer in network.layers for m in layer.affine.terms.values()]
    weights = [_dense(m).T.ravel() for m in matrices]
    activations = [layer.activation for layer in network.layers]
    most = max([1, *(x.slopes.shape[1] for x in activations)])
    bends = network.pieces - 1
    summands = [1 + sum(m.shape[1] for m in x.affine.terms.values()) for x in network.layers]
    return PlaneProgram(
        starts=np.cumsum([0, len(inputs), *network.widths]),
        term_starts=np.array(starts),
        terms=np.array(terms, dtype=np.int64).reshape(-1, 2),
        inputs=_in_plane(inputs[:, :-1] * scale, inputs[:, -1]),
        weights=np.concatenate([*weights, np.empty(0)]),
        bias=np.concatenate([*(x.affine.bias for x in network.layers), np.empty(0)]),
        slopes=_stacked([x.slopes for x in activations], most),
        intercepts=_stacked([x.intercepts for x in activations], most),
        breakpoints=_stacked([x.breakpoints for x in activations], most - 1, np.inf),
        first_lines=1 + len(b) + np.cumsum(bends) - bends,
        domain=_domain(-a * scale, b),
        domain_lines=len(b),
        gamma=np.array([(n + 20) * ROUND * 1.001 for n in summands]),
    )


def _input_map(network: Network) -> FloatArray:
    """Layer 0 as a map of the inputs, offset last."""
    embedding, size = network.embedding, network.n_inputs
    if embedding is None:
        return np.eye(size, size + 1)
    return np.column_stack([embedding.matrix, embedding.offset]).astype(np.float64)


def _in_plane(slopes: FloatArray, offsets: FloatArray) -> FloatArray:
    rows = np.zeros((len(slopes), 3))
    rows[:, : slopes.shape[1]], rows[:, 2] = slopes, offsets
    return rows


def _domain(slopes: FloatArray, offsets: FloatArray) -> FloatArray:
    rows = _in_plane(slopes, offsets)
    if slopes.shape[1] == 2:
        return rows
    return np.concatenate([rows, [[0.0, 1.0, 1.0], [0.0, -1.0, 1.0]]])


def _dense(matrix: Any) -> FloatArray:
    return np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix, dtype=np.float64)


def _stacked(parts: list[FloatArray], columns: int, fill: float | None = None) -> FloatArray:
    """Rows of all layers, filled up with a number or with copies of their last entry."""
    rows = [np.empty((0, columns))]
    for part in parts:
        pad = ((0, 0), (0, columns - part.shape[1]))
        if fill is None:
            rows.append(np.pad(part, pad, mode="edge"))
        else:
            rows.append(np.pad(part, pad, constant_values=fill))
    return np.concatenate(rows)


def _is_tame(network: Network, *arrays: FloatArray) -> bool:
    """Whether all numbers but 0 are of ordinary size."""
    numbers: list[Any] = list(arrays)
    for layer in network.layers:
        activation = layer.activation
        numbers += [layer.affine.bias, activation.slopes, activation.intercepts]
        numbers.append(activation.breakpoints[np.isfinite(activation.breakpoints)])
        numbers += [m.data if sp.issparse(m) else m for m in layer.affine.terms.values()]
    for array in numbers:
        sizes = np.abs(array[array != 0])
        if not ((sizes >= _SMALLEST) & (sizes <= _LARGEST)).all():
            return False
    return True
