"""What the filter's kernels read and write, as flat arrays; first of all a network on a domain.

The network is laid out here from its layers, and not by `tropicell.network.flat`, from which the
engine that hints at the facets has its arrays: a mistake there is not repeated here.

Everything here is exact: numbers are copied, and coordinates are scaled by powers of two. (Only
the map of a slice of a slice may be rounded; see `gamma`.) A network
with one input gets a second one that it does not use, between -1 and 1. So kernels work in
D dimensions, at least 2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray, IntArray
from tropicell.geometry.rounding import ROUND, TINY
from tropicell.network.domains import Domain
from tropicell.network.network import Network

#: Numbers that are not 0 must be in between for the error bounds to hold without underflow.
_SMALLEST, _LARGEST = 1e-60, 1e60

#: Roundings of a row's value at a point, in up to 16 dimensions; more have one more each.
_ROUNDINGS = 20

#: Cover the roundings of bounds: of single sums, and of what is made of several of them.
COVER, COVER_MORE = 1.0001, 1.01

#: Columns of `FilterNetwork.terms`.
SOURCE, FIRST_WEIGHT = range(2)

#: Matrices are made dense: networks with more weights (and zeros) than this are left alone.
_MOST_WEIGHTS = 20_000_000


class FilterNetwork(NamedTuple):
    """What the kernel reads.

    Attributes
    ----------
    starts : ndarray, shape (layers + 2,)
        Where the neurons of layer 0, 1, … begin; layer 0 is the input.
    term_starts : ndarray, shape (layers + 1,)
        Where the terms of layer 1, 2, … begin.
    terms : ndarray, shape (terms, 2)
        Source layer, and where its matrix begins in `weights`, stored as (source, target).
    inputs : ndarray, shape (width of layer 0, D + 1)
        Layer 0 as a map of the scaled coordinates, offset last.
    weights, bias : ndarray
    slopes, intercepts, breakpoints : ndarray, one row for each neuron from layer 1 on
    first_lines, neurons : ndarray
        Number of each neuron's first line; neuron of each line (0 for those of the domain).
    domain : ndarray, shape (rows, D + 1)
        Rows r with ``r · (x, 1) >= 0``; row i is line i + 1. With one input two more follow.
    domain_lines : int
        Rows that are the domain's own.
    gamma : ndarray, shape (layers,)
        Relative rounding error of each layer's sums, and of layer 0 if that is rounded.
    rounding : float
        Relative rounding error of a row's value at a point.
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
    neurons: IntArray
    domain: FloatArray
    domain_lines: int
    gamma: FloatArray
    rounding: float


def filter_network(network: Network, domain: Domain, scale: FloatArray) -> FilterNetwork | None:
    """Flat arrays of a network, or None if the filter can't work with it.

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
    counts = network.pieces - 1
    summands = [1 + sum(m.shape[1] for m in x.affine.terms.values()) for x in network.layers]
    embedding = network.embedding  # rounded, it adds one rounding to those of who reads it
    rounded = 0 if embedding is None or embedding.is_float else 1
    return FilterNetwork(
        starts=np.cumsum([0, len(inputs), *network.widths]),
        term_starts=np.array(starts),
        terms=np.array(terms, dtype=np.int64).reshape(-1, 2),
        inputs=_rows(inputs[:, :-1] * scale, inputs[:, -1]),
        weights=np.concatenate([*weights, np.empty(0)]),
        bias=np.concatenate([*(x.affine.bias for x in network.layers), np.empty(0)]),
        slopes=_stacked([x.slopes for x in activations], most),
        intercepts=_stacked([x.intercepts for x in activations], most),
        breakpoints=_stacked([x.breakpoints for x in activations], most - 1, np.inf),
        first_lines=1 + len(b) + np.cumsum(counts) - counts,
        neurons=np.append(np.zeros(1 + len(b), int), np.repeat(np.arange(len(counts)), counts)),
        domain=_domain(-a * scale, b),
        domain_lines=len(b),
        gamma=np.array([(n + 20 + rounded) * ROUND * 1.001 for n in summands]),
        rounding=max(_ROUNDINGS, network.n_inputs + _ROUNDINGS - 16) * ROUND,
    )


class PatternTable(NamedTuple):
    """Packed patterns of all regions, bits of a neuron, and the hash table of the patterns."""

    words: NDArray[np.uint64]
    bits: int
    table: IntArray


class RegionColumns(NamedTuple):
    """What is to be proved of regions, and what is taken as a hint of where their facets are.

    Attributes
    ----------
    patterns : PatternTable
    witnesses : ndarray, shape (regions, inputs)
    unscale : ndarray, shape (inputs,)
        What makes the kernels' coordinates of corners and witnesses.
    lines, line_ends : ndarray
        The lines that may be each region's facets, and where they end.
    corners, corner_ends : ndarray
        Where its vertices (last coordinate not 0) may be, likewise; not read in the plane.
    """

    patterns: PatternTable
    witnesses: FloatArray
    unscale: FloatArray
    lines: NDArray[np.int32]
    line_ends: IntArray
    corners: FloatArray
    corner_ends: IntArray


class ProofColumns(NamedTuple):
    """What the kernels find.

    Attributes
    ----------
    proved : ndarray of bool, shape (regions,)
        Set where everything holds, the regions behind all facets included.
    facets, neighbours : ndarray
        Parallel to `RegionColumns.lines`: the lines (in order, in the plane), and the regions
        behind them.
    bases : ndarray
        The facets that meet in a region's vertices, from the place of its first corner on (in the
        plane: of its first facet).
    basis_counts : ndarray, shape (regions,)
        How many vertices it has.
    """

    proved: NDArray[np.bool_]
    facets: IntArray
    neighbours: IntArray
    bases: IntArray
    basis_counts: IntArray


class InequalityArrays(NamedTuple):
    """The inequalities of the current pattern.

    Attributes
    ----------
    rows : ndarray, shape (D + 1, inequalities)
        Rows that are positive inside: D coefficients and an offset.
    sizes, bounds : ndarray, shape (inequalities,)
        The sum of each row's absolute values, and a bound on the error of its value at points of
        size 1 (see `bound_of`).
    begins, ends : ndarray, shape (layers + 1,)
        Where those of the domain and of each layer begin and end, each in an area of their own. An
        end of -1 means that a neuron that is constant is not on its piece.
    """

    rows: FloatArray
    sizes: FloatArray
    bounds: FloatArray
    begins: IntArray
    ends: IntArray


class PatternState(NamedTuple):
    """What a kernel knows of the current pattern.

    Attributes
    ----------
    pattern : ndarray
    ready : ndarray, shape (1,)
        Layers whose arrays below belong to the current pattern; -1 at first.
    rows : ndarray, shape (D + 1, neurons)
        Pre-activations as rows: D coefficients and an offset.
    row_errors : ndarray, shape (neurons,)
        Bounds on the errors of their coefficients. 0 means that the neuron is constant, and exactly
        its bias.
    outputs, output_errors : ndarray, shapes (units, D + 1) and (units,)
        Outputs of all layers, layer 0 included, likewise.
    inequalities : InequalityArrays
    places : ndarray
        Where each line is among the inequalities, or -1.
    """

    pattern: IntArray
    ready: IntArray
    rows: FloatArray
    row_errors: FloatArray
    outputs: FloatArray
    output_errors: FloatArray
    inequalities: InequalityArrays
    places: IntArray


def new_state(flat: FilterNetwork) -> PatternState:
    """Arrays for one thread, with the inequalities of the domain in place."""
    size = flat.inputs.shape[1]
    neurons, n_domain = len(flat.bias), len(flat.domain)
    outputs = np.zeros((len(flat.inputs) + neurons, size))
    outputs[: len(flat.inputs)] = flat.inputs
    most = n_domain + 2 * neurons  # at most two for each neuron
    rows, sizes, bounds = np.zeros((size, most)), np.zeros(most), np.zeros(most)
    rows[:, :n_domain] = flat.domain.T
    sizes[:n_domain] = np.abs(flat.domain).sum(axis=1)
    bounds[:n_domain] = bound_of(0.0, sizes[:n_domain], flat.rounding)
    lines = flat.domain_lines + neurons * flat.breakpoints.shape[1]
    places = np.full(lines + 3, -1)
    places[1 : flat.domain_lines + 1] = np.arange(flat.domain_lines)
    # The last two lines belong to nobody: they bound the second input of networks with one.
    places[lines + 1 : lines + 1 + n_domain - flat.domain_lines] = np.arange(
        flat.domain_lines, n_domain
    )
    begins = n_domain + 2 * (flat.starts[:-1] - flat.starts[1])
    begins[0] = 0
    ends = np.zeros(len(begins), dtype=np.int64)
    ends[0] = n_domain
    return PatternState(
        pattern=np.full(neurons, -1),
        ready=np.full(1, -1),
        rows=np.zeros((size, neurons)),
        row_errors=np.zeros(neurons),
        outputs=outputs,
        output_errors=np.zeros(len(outputs)),
        inequalities=InequalityArrays(rows, sizes, bounds, begins, ends),
        places=places,
    )


def bound_of(error: Any, size: Any, rounding: float) -> Any:
    """Bound on the error of a row's value at a point of size 1 (the sum of its coordinates).

    Parameters
    ----------
    error, size : float or ndarray
        A bound on the errors of the row's coefficients, and the sum of their absolute values.
    rounding : float
        As in `FilterNetwork`.
    """
    return COVER_MORE * error + rounding * size + TINY


def _input_map(network: Network) -> FloatArray:
    """Layer 0 as a map of the inputs, offset last."""
    embedding, size = network.float_embedding, network.n_inputs
    if embedding is None:
        return np.eye(size, size + 1)
    return np.column_stack([embedding.matrix, embedding.offset]).astype(np.float64)


def _rows(slopes: FloatArray, offsets: FloatArray) -> FloatArray:
    """Rows in at least two dimensions, offsets last."""
    rows = np.zeros((len(slopes), max(2, slopes.shape[1]) + 1))
    rows[:, : slopes.shape[1]], rows[:, -1] = slopes, offsets
    return rows


def _domain(slopes: FloatArray, offsets: FloatArray) -> FloatArray:
    rows = _rows(slopes, offsets)
    if slopes.shape[1] > 1:
        return rows
    return np.concatenate([rows, [[0.0, 1.0, 1.0], [0.0, -1.0, 1.0]]])


def _dense(matrix: Any) -> FloatArray:
    dense = matrix.toarray() if isinstance(matrix, sp.csr_array) else matrix
    return np.asarray(dense, dtype=np.float64)


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
