"""What the filter's kernels read and write, as flat arrays; first of all a network on a domain.

The network is laid out here from its layers, and not by `tropicell.network.flat`, from which the
engine that hints at the facets has its arrays: a mistake there is not repeated here.

Everything here is exact: numbers are copied, and coordinates are scaled by powers of two. (Only
the map of a slice of a slice may be rounded, and intercepts that follow from continuity: they have
second halves.) A network with one input gets a second one that it does not use, between -1 and 1.
So kernels work in D dimensions, at least 2.
"""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray, IntArray
from tropicell.geometry.arithmetic import to_floats, to_fractions, to_rationals
from tropicell.geometry.norms import frobenius_norm, largest_row, spectral_norm
from tropicell.geometry.rounding import ROUND, TINY
from tropicell.network._residues import Moduli, moduli_of
from tropicell.network.domains import Domain
from tropicell.network.inequalities import twin_lines
from tropicell.network.network import Network

#: Numbers that are not 0 must be in between for the error bounds to hold without underflow.
_SMALLEST, _LARGEST = 1e-60, 1e60

#: Roundings of a row's value at a point, in up to 16 dimensions; more have one more each.
_ROUNDINGS = 20

#: Cover the roundings of bounds: of single sums, and of what is made of several of them.
COVER, COVER_MORE = 1.0001, 1.01

#: Columns of `FilterNetwork.terms`; where FIRST_WEIGHT is, and between them whether a matrix is
#: sparse (none is here), is as `tropicell.network._residues` reads it.
SOURCE, FIRST_WEIGHT, _TERM_COLUMNS = 0, 2, 4

#: Networks with more layers get sharp bounds on the norms of matrices, which take longer.
_DEEP = 6

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
    terms : ndarray, shape (terms, 4)
        Source layer, and where its matrix begins in `weights`, stored as (source, target).
    longest, norms : ndarray, shape (terms,)
        Bounds on the lengths of a matrix's rows, and on its spectral norm.
    inputs, inputs_low : ndarray, shape (width of layer 0, D + 1)
        Layer 0 as a map of the scaled coordinates, offset last; what it lacks if it is rounded.
    weights, bias : ndarray
    largest_bias : ndarray, shape (layers + 1,)
    slopes, intercepts, intercepts_low, breakpoints : ndarray
        One row for each neuron from layer 1 on.
    unit : ndarray, shape (layers + 1,)
        Layers all of whose slopes are 0 or 1, without intercepts: outputs are not rounded.
    layers : ndarray, shape (neurons,)
        Layer of each neuron.
    first_lines, neurons : ndarray
        Number of each neuron's first line; neuron of each line (0 for those of the domain).
    twins : ndarray
        For each line the first one that is the same hyperplane on every pattern.
    domain : ndarray, shape (rows, D + 1)
        Rows r with ``r · (x, 1) >= 0``; row i is line i + 1. With one input two more follow.
    domain_lines : int
        Rows that are the domain's own.
    finest : ndarray, shape (layers + 1,)
        Powers of two of which all coefficients of a layer's rows are multiples; 0 if not known.
    rounding : float
        Relative rounding error of a row's value at a point.
    homogeneous : bool
        Whether there are no offsets, biases and intercepts, and all breakpoints are at 0.
    reads, made_of : ndarray of bool, shape (layers + 1, layers + 1)
        Whether a layer is a source of another one (the first index); whether it is that one, or a
        later one that is made of the sources of that one alone.
    """

    starts: IntArray
    term_starts: IntArray
    terms: IntArray
    longest: FloatArray
    norms: FloatArray
    inputs: FloatArray
    inputs_low: FloatArray
    weights: FloatArray
    bias: FloatArray
    largest_bias: FloatArray
    slopes: FloatArray
    intercepts: FloatArray
    intercepts_low: FloatArray
    breakpoints: FloatArray
    unit: NDArray[np.bool_]
    layers: IntArray
    first_lines: IntArray
    neurons: IntArray
    twins: IntArray
    domain: FloatArray
    domain_lines: int
    finest: FloatArray
    rounding: float
    homogeneous: bool
    reads: NDArray[np.bool_]
    made_of: NDArray[np.bool_]


class WholeNumbers(NamedTuple):
    """The network as `tropicell.network._residues` reads it: rows of layer 0 come first.

    Attributes
    ----------
    dimension : int
        D.
    row_start, term_start, terms, weights : ndarray
        As `starts`, `term_starts` and so on; the second with one more 0 at its beginning.
    columns, targets : ndarray
        Empty: no matrix is sparse.
    input_rows, bias, slopes, intercepts, intercepts_low : ndarray
    """

    dimension: int
    row_start: IntArray
    term_start: IntArray
    terms: IntArray
    weights: FloatArray
    columns: IntArray
    targets: IntArray
    input_rows: FloatArray
    bias: FloatArray
    slopes: FloatArray
    intercepts: FloatArray
    intercepts_low: FloatArray


def filter_network(network: Network, domain: Domain, scale: FloatArray) -> FilterNetwork | None:
    """Flat arrays of a network, or None if the filter can't work with it.

    Parameters
    ----------
    network : Network
    domain : Domain
    scale : ndarray, shape (inputs,)
        Powers of two: the kernel's coordinates are x / scale.
    """
    inputs, inputs_low = _input_map(network)
    if not np.isfinite([inputs, inputs_low]).all():
        return None
    a, b = domain.inequalities(network.n_inputs)
    terms, starts, offset = [], [0], 0
    for layer in network.layers:
        for source, matrix in layer.affine.terms.items():
            terms.append((source, 0, offset, 0))
            offset += matrix.shape[0] * matrix.shape[1]
        starts.append(len(terms))
    if offset > _MOST_WEIGHTS or not _is_tame(network, inputs, a, b):
        return None
    matrices = [m for layer in network.layers for m in layer.affine.terms.values()]
    weights = [_dense(m).T.ravel() for m in matrices]
    activations = [layer.activation for layer in network.layers]
    most = max([1, *(x.slopes.shape[1] for x in activations)])
    counts = network.pieces - 1
    norm = spectral_norm if network.depth > _DEEP else frobenius_norm
    biases = [x.affine.bias for x in network.layers]
    central = not inputs[:, -1].any() and not inputs_low[:, -1].any()
    reads, made_of = _dependence(network)
    return FilterNetwork(
        starts=np.cumsum([0, len(inputs), *network.widths]),
        term_starts=np.array(starts),
        terms=np.array(terms, dtype=np.int64).reshape(-1, _TERM_COLUMNS),
        longest=np.array([largest_row(m) for m in matrices]),
        norms=np.array([norm(m) for m in matrices]),
        inputs=_rows(inputs[:, :-1] * scale, inputs[:, -1]),
        inputs_low=_rows(inputs_low[:, :-1] * scale, inputs_low[:, -1]),
        weights=np.concatenate([*weights, np.empty(0)]),
        bias=np.concatenate([*biases, np.empty(0)]),
        largest_bias=np.array([0.0, *(np.abs(x).max(initial=0.0) for x in biases)]),
        slopes=_stacked([x.slopes for x in activations], most),
        intercepts=_stacked([x.intercepts for x in activations], most),
        intercepts_low=_stacked([_intercepts_low(x) for x in activations], most),
        breakpoints=_stacked([x.breakpoints for x in activations], most - 1, np.inf),
        unit=np.array([True, *map(_is_unit, activations)]),
        layers=np.repeat(np.arange(1, network.depth + 1), network.widths),
        first_lines=1 + len(b) + np.cumsum(counts) - counts,
        neurons=np.append(np.zeros(1 + len(b), int), np.repeat(np.arange(len(counts)), counts)),
        twins=np.concatenate([np.arange(1 + len(b)), 1 + len(b) + twin_lines(network)]),
        domain=_domain(-a * scale, b),
        domain_lines=len(b),
        finest=np.zeros(network.depth + 1),
        rounding=max(_ROUNDINGS, network.n_inputs + _ROUNDINGS - 16) * ROUND,
        homogeneous=central and all(map(_is_homogeneous, network.layers)),
        reads=reads,
        made_of=made_of,
    )


def in_whole_numbers(flat: FilterNetwork, network: Network) -> tuple[WholeNumbers, Moduli]:
    """What rows modulo primes are made from; no primes where they can't be had."""
    inputs, size = flat.inputs.shape
    none = np.zeros(inputs)
    whole = WholeNumbers(
        dimension=size - 1,
        row_start=flat.starts,
        term_start=np.append(0, flat.term_starts),
        terms=flat.terms,
        weights=flat.weights,
        columns=np.zeros(0, np.int64),
        targets=np.zeros(0, np.int64),
        input_rows=flat.inputs,
        bias=np.concatenate([none, flat.bias]),
        slopes=np.concatenate([np.zeros((inputs, flat.slopes.shape[1])), flat.slopes]),
        intercepts=np.concatenate([np.zeros((inputs, flat.slopes.shape[1])), flat.intercepts]),
        intercepts_low=np.concatenate(
            [np.zeros((inputs, flat.slopes.shape[1])), flat.intercepts_low]
        ),
    )
    embedding = network.embedding
    known = embedding is None or embedding.is_float
    for layer in network.layers:
        known = known and _intercepts_are_known(layer.activation)
    neuron, at = np.nonzero(flat.breakpoints < np.inf)
    lines = SimpleNamespace(
        domain_rows=flat.domain, line_row=neuron + inputs, line_at=flat.breakpoints[neuron, at]
    )
    description: Any = SimpleNamespace(
        maps=SimpleNamespace(**whole._asdict(), whole=known),
        lines=lines,
        dimension=size - 1,
        rows=int(flat.starts[-1]),
        neurons=len(flat.bias),
    )
    moduli = moduli_of(description)
    if len(moduli.primes):
        flat.finest[:] = np.exp2(-np.minimum(moduli.grain, 1000).astype(np.float64))
        flat.finest[moduli.grain > 1000] = 0.0
    return whole, moduli


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
    inside : ndarray of bool, shape (regions,)
        Set if the witness is surely inside; where it is not set, that alone is left to prove.
    facets, neighbours : ndarray
        Parallel to `RegionColumns.lines`: the lines (in order, in the plane), and the regions
        behind them.
    bases : ndarray
        The facets that meet in a region's vertices, from the place of its first corner on (in the
        plane: of its first facet).
    basis_counts : ndarray, shape (regions,)
        How many vertices it has.
    spilled : ndarray of bool, shape (regions,)
        Whether there was no room for its bases; they are in the kernel's own.
    """

    proved: NDArray[np.bool_]
    inside: NDArray[np.bool_]
    facets: IntArray
    neighbours: IntArray
    bases: IntArray
    basis_counts: IntArray
    spilled: NDArray[np.bool_]


class InequalityArrays(NamedTuple):
    """The inequalities of the current pattern.

    Attributes
    ----------
    rows : ndarray, shape (D + 1, inequalities)
        Rows that are positive inside: D coefficients and an offset.
    lines : ndarray, shape (inequalities,)
        Their lines; 0 for those of the domain, which come first.
    sizes, bounds : ndarray, shape (inequalities,)
        The sum of each row's absolute values, and a bound on the error of its value at points of
        size 1 (see `bound_of`).
    begins, ends : ndarray, shape (layers + 1,)
        Where those of the domain and of each layer begin and end, each in an area of their own. An
        end of -1 means that a neuron that is constant is not on its piece.
    """

    rows: FloatArray
    lines: IntArray
    sizes: FloatArray
    bounds: FloatArray
    begins: IntArray
    ends: IntArray


class PatternState(NamedTuple):
    """What a kernel knows of the current pattern.

    Attributes
    ----------
    pattern : ndarray
    moved : ndarray, shape (neurons + 1,)
        The neurons that changed when it was unpacked.
    ready : ndarray, shape (1,)
        Layers whose arrays below belong to the current pattern; -1 at first.
    rows, lows : ndarray, shape (D + 1, neurons)
        Pre-activations as rows: D coefficients and an offset; their second halves.
    errors : ndarray, shape (layers + 1, D + 1)
        For each column of a layer's rows a bound on the length of the vector of the errors of the
        sums of both halves.
    row_errors : ndarray, shape (neurons,)
        Bounds on the errors of the coefficients of `rows` alone. 0 means that the neuron is
        constant, and exactly its bias.
    at_break : ndarray, shape (neurons,)
        The breakpoint that a neuron is surely at on the whole pattern, or -1.
    outputs, output_lows : ndarray, shape (D + 1, units)
        Outputs of all layers, layer 0 included, likewise.
    output_errors : ndarray, shape (layers + 1, D + 1)
    live : ndarray of bool, shape (units,)
        Which outputs are not surely 0.
    on : ndarray, shape (layers + 1,)
        How many neurons of a layer are on pieces with a slope; for layer 0 the dimension of what
        its rows span, with the offset.
    sources, at : ndarray
        Scratch: outputs that are summed, and where their weights begin.
    inequalities : InequalityArrays
    places : ndarray
        Where each line is among the inequalities, or -1.
    """

    pattern: IntArray
    moved: IntArray
    ready: IntArray
    rows: FloatArray
    lows: FloatArray
    errors: FloatArray
    row_errors: FloatArray
    at_break: IntArray
    outputs: FloatArray
    output_lows: FloatArray
    output_errors: FloatArray
    live: NDArray[np.bool_]
    on: IntArray
    sources: IntArray
    at: IntArray
    inequalities: InequalityArrays
    places: IntArray


def new_state(flat: FilterNetwork) -> PatternState:
    """Arrays for one thread, with the inequalities of the domain in place."""
    size = flat.inputs.shape[1]
    neurons, n_domain = len(flat.bias), len(flat.domain)
    layers, units = len(flat.starts) - 1, len(flat.inputs) + neurons
    outputs, output_lows = np.zeros((size, units)), np.zeros((size, units))
    outputs[:, : len(flat.inputs)], output_lows[:, : len(flat.inputs)] = (
        flat.inputs.T,
        flat.inputs_low.T,
    )
    output_errors = np.zeros((layers, size))
    # A second half is off by at most u² of the first: 2 covers the rounding of this sum.
    rounded = np.where(flat.inputs_low != 0.0, np.abs(flat.inputs), 0.0)
    output_errors[0] = 2.0 * ROUND * ROUND * rounded.sum(axis=0)
    live = np.zeros(units, dtype=np.bool_)
    live[: len(flat.inputs)] = True
    on = np.zeros(layers, dtype=np.int64)
    on[0] = size - 1
    summed = int(sum(np.diff(flat.starts)[flat.terms[:, SOURCE]])) + 1
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
        moved=np.zeros(neurons + 1, np.int64),
        ready=np.full(1, -1),
        rows=np.zeros((size, neurons)),
        lows=np.zeros((size, neurons)),
        errors=np.zeros((layers, size)),
        row_errors=np.zeros(neurons),
        at_break=np.full(neurons, -1),
        outputs=outputs,
        output_lows=output_lows,
        output_errors=output_errors,
        live=live,
        on=on,
        sources=np.zeros(summed, np.int64),
        at=np.zeros(summed, np.int64),
        inequalities=InequalityArrays(rows, np.zeros(most, np.int64), sizes, bounds, begins, ends),
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


def _input_map(network: Network) -> tuple[FloatArray, FloatArray]:
    """Layer 0 as a map of the inputs, offset last; and what that lacks where it is rounded."""
    embedding, size = network.float_embedding, network.n_inputs
    if embedding is None:
        return np.eye(size, size + 1), np.zeros((size, size + 1))
    rows = np.column_stack([embedding.matrix, embedding.offset]).astype(np.float64)
    exact = network.embedding
    if exact is None or exact.is_float or not np.isfinite(rows).all():
        return rows, np.zeros_like(rows)
    numbers = np.column_stack([exact.matrix, exact.offset])
    return rows, to_floats(numbers - to_fractions(to_rationals(rows)))


def _intercepts_low(activation: Any) -> FloatArray:
    """What intercepts lack of those that follow from continuity."""
    low: FloatArray = np.zeros_like(activation.intercepts)
    for row in np.flatnonzero(activation.intercepts.any(axis=1)).tolist():
        for piece, exact in enumerate(activation.exact_row(row)[2]):
            low[row, piece:] = float(exact - Fraction(float(activation.intercepts[row, piece])))
    return low


def _intercepts_are_known(activation: Any) -> bool:
    """Whether each intercept is the sum of its two halves."""
    low = _intercepts_low(activation)
    for row in np.flatnonzero(activation.intercepts.any(axis=1)).tolist():
        for piece, exact in enumerate(activation.exact_row(row)[2]):
            high = Fraction(float(activation.intercepts[row, piece]))
            if high + Fraction(float(low[row, piece])) != exact:
                return False
    return True


def _is_unit(activation: Any) -> bool:
    slopes = activation.slopes
    return bool(((slopes == 0) | (slopes == 1)).all() and not activation.intercepts.any())


def _is_homogeneous(layer: Any) -> bool:
    """Whether a layer has no bias and no intercepts, and all its breakpoints are at 0."""
    breakpoints, intercepts = layer.activation.breakpoints, layer.activation.intercepts
    at_zero = (breakpoints == 0.0) | (breakpoints == np.inf)
    return bool(at_zero.all() and not intercepts.any() and not layer.affine.bias.any())


def _dependence(network: Network) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """`FilterNetwork.reads` and `FilterNetwork.made_of`."""
    size = network.depth + 1
    reads, made_of = np.zeros((size, size), np.bool_), np.zeros((size, size), np.bool_)
    for number, layer in enumerate(network.layers, 1):
        sources = list(layer.affine.terms)
        reads[number, sources] = True
        known = reads[1:number, sources] | made_of[1:number, sources]
        made_of[1:number, number] = known.all(axis=1)
        made_of[number, number] = True
    return reads, made_of


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
    rows, at = np.empty((sum(map(len, parts)), columns)), 0
    for part in parts:
        mine, given = rows[at : at + len(part)], part.shape[1]
        mine[:, :given] = part
        mine[:, given:] = part[:, -1:] if fill is None else fill
        at += len(part)
    return rows


def _is_tame(network: Network, *arrays: FloatArray) -> bool:
    """Whether all numbers but 0 are of ordinary size."""
    numbers: list[Any] = list(arrays)
    for layer in network.layers:
        activation = layer.activation
        numbers += [layer.affine.bias, activation.slopes, activation.intercepts]
        numbers.append(activation.breakpoints[np.isfinite(activation.breakpoints)])
        numbers += [m.data if sp.issparse(m) else m for m in layer.affine.terms.values()]
    sizes = np.abs(np.concatenate([np.ravel(array) for array in numbers]))
    return bool((((sizes >= _SMALLEST) & (sizes <= _LARGEST)) | (sizes == 0.0)).all())
