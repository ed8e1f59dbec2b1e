"""A network and a domain as flat arrays, the form that the Numba kernels read.

`NeuronArrays` are what all kernels need; `FlatNetwork` adds what those of the cells engine do, and
`tropicell.engines.halfspaces._flat` and `tropicell.network._point_patterns` add matrices in the
order in which they read them. (Certificates have arrays of their own, on purpose.)

Layers are counted from 0 (the input). Every neuron of every layer has a *row*; the rows of
layer ℓ are ``row_start[ℓ] : row_start[ℓ + 1]``, layer 0 included. A *line* of these arrays is a
boundary: the hyperplane ``z = t`` of one breakpoint of a neuron. They are numbered through:

- line 0 is the hyperplane at infinity, ``w = 0`` in homogeneous coordinates,
- lines 1 … D are the rows of the domain,
- then come the lines of layer 1, 2, …, neuron by neuron, breakpoints in increasing order.

Coordinates are scaled by powers of two (so nothing is rounded) such that slopes and biases
of the layers that read the input have about the same size: ``x_scaled = x * scale``.
"""

from __future__ import annotations

from fractions import Fraction
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray, IntArray
from tropicell.geometry.arithmetic import nearest_float, to_floats, to_rationals
from tropicell.geometry.convolutions import Convolution
from tropicell.geometry.norms import frobenius_norm, largest_row, spectral_norm
from tropicell.geometry.rounding import ROUND
from tropicell.network.domains import Domain
from tropicell.network.inequalities import twin_lines
from tropicell.network.layers import Affine

if TYPE_CHECKING:
    from tropicell.network.network import Network

# --- whether the numbers of a network are of ordinary size, as the error bounds require -----------

#: Kernels that add up rows may read and write whole blocks of so many neurons.
BLOCK = 8

#: What numbers of ordinary size are.
SMALLEST, LARGEST = 1e-60, 1e60


def is_tame(network: Network, domain: Domain) -> bool:
    """Whether all numbers but 0 are of ordinary size, as the error bounds require.

    Where they are not, all is done in exact arithmetic.

    Examples
    --------
    >>> from tropicell import Network, WholeSpace
    >>> is_tame(Network.mlp([[[1e-200]], [[1.0]]]), WholeSpace())
    False
    """
    arrays = [*domain.inequalities(network.n_inputs), embedding_of(network)]
    known: bool = network.remember_of_layers("tame", lambda: _are_layers_tame(network))
    return known and all(map(_are_tame, arrays))


def _are_layers_tame(network: Network) -> bool:
    arrays: list[Any] = []
    for layer in network.layers:
        matrices = layer.affine.operators.values()
        arrays += [m if isinstance(m, np.ndarray) else m.data for m in matrices]
        activation = layer.activation
        arrays += [layer.affine.bias, activation.slopes, activation.intercepts]
        arrays.append(activation.breakpoints[np.isfinite(activation.breakpoints)])
    return all(map(_are_tame, arrays))


def _are_tame(numbers: Any) -> bool:
    sizes = np.abs(numbers)
    return bool(((sizes == 0) | ((sizes >= SMALLEST) & (sizes <= LARGEST))).all())


def rounds_layer_0(network: Network) -> bool:
    """Whether `embedding_of` is not layer 0 itself, but rounded.

    Examples
    --------
    >>> from tropicell import Network, Slice
    >>> network = Network.mlp([[[1.0]], [[1.0]]]).restrict(Slice([0.0], [[0.1]]))
    >>> rounds_layer_0(network), rounds_layer_0(network.restrict(Slice([0.0], [[0.1]])))
    (False, True)
    """
    return network.embedding is not None and not network.embedding.is_float


def embedding_of(network: Network) -> FloatArray:
    """Layer 0 as a map of the inputs, offset last; rounded where float64 can't hold it."""
    embedding = network.float_embedding
    if embedding is None:
        return np.concatenate([np.eye(network.n_inputs), np.zeros((network.n_inputs, 1))], axis=1)
    columns = np.concatenate([embedding.matrix, embedding.offset[:, None]], axis=1)
    return np.ascontiguousarray(columns, dtype=np.float64)


#: A matrix with a smaller part of nonzeros than this is kept sparse.
_SPARSE_BELOW = 0.3

# Columns of `MapArrays.terms`.
SOURCE = 0  # the layer that is read
IS_SPARSE = 1  # 1 if its matrix is kept as compressed columns, `FILTERS` if it is a convolution
WEIGHTS_AT = 2  # where its numbers begin in `weights`
COLUMNS_AT = 3  # where its column pointers begin in `columns` (sparse only)

#: What a convolution has in place of compressed columns: its weights as (channel, tap, filter), and
#: in `columns` the numbers of positions, places, filters and taps, then for each position where its
#: pairs begin, then these pairs: a tap, and the place from which it sees the position.
FILTERS = 2

#: Roundings beyond one per summand that the error bound of a sum leaves room for.
EXTRA_ROUNDINGS = 160


class NeuronArrays(NamedTuple):
    """All neurons, a row for each; the first rows are the entries of layer 0.

    Attributes
    ----------
    row_start : ndarray, shape (L + 2,)
        First row of every layer, and the end.
    bias : ndarray, shape (rows,)
        Bias of every row; 0 for layer 0.
    breakpoints : ndarray, shape (rows, pieces - 1)
        Breakpoints of every row's activation, increasing; those that it does not have are inf.
    slopes, intercepts : ndarray, shape (rows, pieces)
        Its pieces, the last one repeated; the rows of layer 0 have the identity.
    """

    row_start: IntArray
    bias: FloatArray
    breakpoints: FloatArray
    slopes: FloatArray
    intercepts: FloatArray

    def real_breakpoints(self) -> tuple[IntArray, FloatArray]:
        """All breakpoints, row by row: their rows, and where they are."""
        which = np.nonzero(np.isfinite(self.breakpoints))
        return which[0], self.breakpoints[which]


def neuron_arrays(network: Network) -> NeuronArrays:
    """The neurons of a network.

    Examples
    --------
    >>> from tropicell import Network
    >>> neurons = neuron_arrays(Network.mlp([[[1.0, 2.0]], [[1.0]]]))
    >>> neurons.row_start, neurons.breakpoints.ravel()
    (array([0, 2, 3]), array([inf, inf,  0.]))
    """
    embedding = network.embedding
    inputs = network.n_inputs if embedding is None else int(embedding.matrix.shape[0])
    activations = [layer.activation for layer in network.layers]
    most = max([1, *(activation.slopes.shape[1] for activation in activations)])
    breakpoints = [np.full((inputs, most - 1), np.inf)]
    slopes, intercepts = [np.ones((inputs, most))], [np.zeros((inputs, most))]
    for activation in activations:
        # Columns beyond the last piece repeat it; behind its breakpoints there are none.
        columns = np.minimum(np.arange(most), activation.slopes.shape[1] - 1)
        slopes.append(activation.slopes[:, columns])
        intercepts.append(activation.intercepts[:, columns])
        padded = np.full((len(activation.slopes), most - 1), np.inf)
        padded[:, : activation.breakpoints.shape[1]] = activation.breakpoints
        breakpoints.append(padded)
    return NeuronArrays(
        row_start=np.concatenate([[0], np.cumsum([inputs, *network.widths])]).astype(np.int64),
        bias=np.concatenate([np.zeros(inputs), *(x.affine.bias for x in network.layers)]),
        breakpoints=np.concatenate(breakpoints),
        slopes=np.ascontiguousarray(np.concatenate(slopes)),  # kernels are compiled for one order
        intercepts=np.ascontiguousarray(np.concatenate(intercepts)),
    )


class MapArrays(NamedTuple):
    """What is needed to make the affine maps of the layers.

    Attributes
    ----------
    dimension : int
        Number d of inputs.
    row_start, bias, slopes, intercepts : ndarray
        As in `NeuronArrays`.
    input_rows : ndarray, shape (width of layer 0, d + 1)
        Layer 0 as a map of the scaled coordinates; the last column is the offset.
    term_start : ndarray, shape (L + 2,)
        The terms of layer ℓ are ``term_start[ℓ] : term_start[ℓ + 1]``.
    terms : ndarray, shape (terms, 4)
        See `SOURCE`, `IS_SPARSE`, `WEIGHTS_AT`, `COLUMNS_AT`. Matrices are
        stored by source neuron: dense ones as (source, target), sparse ones as compressed columns.
    weights, columns, targets : ndarray
        Numbers; column pointers (relative to the term's first number); target rows (relative
        to their layer) of sparse numbers.
    input_low, intercepts_low : ndarray
        What `input_rows` and `intercepts` lack where float64 can't hold the exact ones.
    whole : bool
        Whether layer 0 is as it is, and intercepts with what they lack are the exact ones.
    unit : ndarray of bool, shape (L + 1,)
        Layers in which all slopes are 0 or 1, and all intercepts 0: nothing is rounded.
    biggest_bias : ndarray, shape (L + 1,)
        Largest absolute bias of a layer.
    spectral_norm, largest_row : ndarray, shape (terms,)
        Upper bounds on the spectral norm of a term's matrix, and on the lengths of its rows.
    gamma : ndarray, shape (L + 1,)
        Relative rounding error γ of the sums that make the rows of a layer (step 8 of
        docs/error-bound.md), that of the rows of layer 0 included where these are read. The first
        one is that of layer 0 by itself.
    """

    dimension: int
    row_start: IntArray
    bias: FloatArray
    slopes: FloatArray
    intercepts: FloatArray
    input_rows: FloatArray
    term_start: IntArray
    terms: IntArray
    weights: FloatArray
    columns: IntArray
    targets: IntArray
    input_low: FloatArray
    intercepts_low: FloatArray
    whole: bool
    unit: NDArray[np.bool_]
    biggest_bias: FloatArray
    spectral_norm: FloatArray
    largest_row: FloatArray
    gamma: FloatArray


class LineArrays(NamedTuple):
    """What is needed to know the lines.

    Attributes
    ----------
    dimension, depth : int
        Number d of inputs, and number L of layers with an activation.
    row_start : ndarray, shape (L + 2,)
        First row of every layer.
    line_start : ndarray, shape (L + 2,)
        First line of every layer; ``line_start[0] = 0``, ``line_start[1]`` = 1 + domain rows.
    line_row, line_at : ndarray, shape (lines,)
        Row of a line's neuron (-1 for the domain), and its breakpoint.
    line_layer : ndarray, shape (lines,)
        Layer of a line's neuron; 0 for the domain.
    line_twin : ndarray, shape (lines,)
        The first line that is the same one on every cell, see
        `tropicell.network.inequalities.twin_lines`. Mostly the line itself.
    plain : ndarray of bool, shape (L + 1,)
        Layers in which every neuron has exactly one breakpoint, at 0.
    domain_rows : ndarray, shape (1 + domain rows, d + 1)
        Rows r with ``r · (x, 1) >= 0`` in scaled coordinates; the first is infinity.
    scale : ndarray, shape (d,)
        Powers of two.
    """

    dimension: int
    depth: int
    row_start: IntArray
    line_start: IntArray
    line_row: IntArray
    line_at: FloatArray
    line_layer: IntArray
    line_twin: IntArray
    plain: NDArray[np.bool_]
    domain_rows: FloatArray
    scale: FloatArray


class FlatNetwork(NamedTuple):
    """A network on a domain as flat arrays, in two parts: a kernel gets what it needs."""

    maps: MapArrays
    lines: LineArrays

    @property
    def dimension(self) -> int:
        """Number d of inputs."""
        return self.maps.dimension

    @property
    def depth(self) -> int:
        """Number L of layers with an activation."""
        return self.lines.depth

    @property
    def rows(self) -> int:
        """Number of rows, those of layer 0 included."""
        return int(self.maps.row_start[-1])

    @property
    def neurons(self) -> int:
        """Number of neurons."""
        return int(self.maps.row_start[-1] - self.maps.row_start[1])

    def first_neuron(self, layer: int) -> int:
        """Place of a layer's first neuron in a pattern."""
        return int(self.maps.row_start[layer] - self.maps.row_start[1])

    def layer_width(self, layer: int) -> int:
        """Number of neurons of a layer."""
        return int(self.maps.row_start[layer + 1] - self.maps.row_start[layer])

    @property
    def width(self) -> int:
        """Largest width of a layer, layer 0 included."""
        return int(np.diff(self.maps.row_start).max(initial=1))

    @property
    def most_lines(self) -> int:
        """Largest number of lines of a layer, or of domain rows."""
        return int(np.diff(self.lines.line_start).max(initial=1))


def flatten(network: Network, domain: Domain, *, filters: bool = True) -> FlatNetwork:
    """Flat arrays for a network on a domain; slices must have been resolved before.

    Parameters
    ----------
    network : Network
    domain : Domain
        Not a `Slice`; see `tropicell.network.domains.resolve`.
    filters : bool
        Whether the kernels can read convolutions (`FILTERS`); if not, these become matrices.

    Returns
    -------
    FlatNetwork

    Examples
    --------
    >>> from tropicell import Box, Network
    >>> flat = flatten(Network.mlp([[[1.0, 2.0]], [[1.0]]]), Box(-1, 1))
    >>> flat.lines.line_start.tolist()
    [0, 5, 6]
    """
    neurons = neuron_arrays(network)
    row_start, bias = neurons.row_start, neurons.bias
    scale = _scale(network) if is_tame(network, domain) else np.ones(network.n_inputs)
    domain_rows = _domain_rows(domain, scale)
    gamma = _gammas(network)
    rows, at = neurons.real_breakpoints()
    layer = np.searchsorted(row_start, rows, side="right") - 1
    none = np.zeros(len(domain_rows))
    intercepts_low, whole = _intercepts_low(network, neurons)
    maps = MapArrays(
        dimension=network.n_inputs,
        row_start=row_start,
        bias=bias,
        slopes=neurons.slopes,
        intercepts=neurons.intercepts,
        input_rows=_input_rows(network, scale),
        **network.remember_of_layers(("terms", filters), lambda: _terms(network, filters)),
        input_low=_input_low(network, scale),
        intercepts_low=intercepts_low,
        whole=whole and not rounds_layer_0(network),
        unit=np.array([True, *(_is_unit(layer.activation) for layer in network.layers)]),
        biggest_bias=np.maximum.reduceat(np.abs(np.append(bias, 0.0)), row_start[:-1]),
        **_norms(network),
        gamma=gamma,
    )
    return FlatNetwork(
        maps,
        LineArrays(
            dimension=network.n_inputs,
            depth=network.depth,
            row_start=row_start,
            line_start=np.append(0, len(none) + np.searchsorted(rows, row_start[1:])),
            line_row=np.concatenate([np.full(len(none), -1), rows]),
            line_at=np.concatenate([none, at]),
            line_layer=np.concatenate([np.zeros(len(none), np.int64), layer]),
            line_twin=np.concatenate([np.arange(len(none)), len(none) + twin_lines(network)]),
            plain=np.array([False, *(_is_plain(layer.activation) for layer in network.layers)]),
            domain_rows=domain_rows,
            scale=scale,
        ),
    )


def _input_rows(network: Network, scale: FloatArray) -> FloatArray:
    rows = embedding_of(network)
    rows[:, :-1] /= scale
    return np.ascontiguousarray(rows)


def _input_low(network: Network, scale: FloatArray) -> FloatArray:
    """What `_input_rows` lacks where the map of layer 0 is rounded."""
    rows = embedding_of(network)
    embedding = network.embedding
    if embedding is None or embedding.is_float:
        return np.zeros_like(rows)
    exact = np.concatenate([embedding.matrix, embedding.offset[:, None]], axis=1)
    low = to_floats(to_rationals(exact) - to_rationals(rows))
    low[:, :-1] /= scale
    return np.ascontiguousarray(low)


def _intercepts_low(network: Network, neurons: NeuronArrays) -> tuple[FloatArray, bool]:
    """What intercepts lack of those that follow from continuity, and whether that is all."""
    low, whole = np.zeros_like(neurons.intercepts), True
    for at, layer in zip(neurons.row_start[1:], network.layers, strict=False):
        activation = layer.activation
        for row in np.flatnonzero(activation.intercepts.any(axis=1)).tolist():
            for piece, exact in enumerate(activation.exact_row(row)[2]):
                rest = exact - Fraction(float(activation.intercepts[row, piece]))
                known = nearest_float(rest.numerator, rest.denominator)
                low[at + row, piece:] = known
                whole &= isfinite(known) and Fraction(known) == rest
    return low, whole


def _is_unit(activation: Any) -> bool:
    slopes = activation.slopes
    return bool(((slopes == 0) | (slopes == 1)).all() and not activation.intercepts.any())


#: Networks with more layers get sharp bounds on the norms of matrices, which take longer.
_DEEP = 6


#: Norms of the matrices of an affine map; networks on slices share their layers.
_known_norms: WeakKeyDictionary[Affine, dict[Any, list[float]]] = WeakKeyDictionary()


def _norms(network: Network) -> dict[str, Any]:
    deep = spectral_norm if network.depth > _DEEP else frobenius_norm

    def all_of(norm: Any) -> FloatArray:
        found: list[float] = []
        for layer in network.layers:
            known = _known_norms.setdefault(layer.affine, {})
            if norm not in known:
                known[norm] = [norm(matrix) for matrix in layer.affine.operators.values()]
            found += known[norm]
        return np.array(found)

    with np.errstate(all="ignore"):  # numbers of unusual size: infinity proves nothing
        return {"spectral_norm": all_of(deep), "largest_row": all_of(largest_row)}


def _scale(network: Network) -> FloatArray:
    """Powers of two that bring slopes to the size of the biases where the input is read."""
    columns = embedding_of(network)
    largest = np.zeros(network.n_inputs + 1)
    for layer in network.layers:
        if 0 in layer.affine.terms:
            product = np.abs(layer.affine.operators[0] @ columns)
            product[:, -1] += np.abs(layer.affine.bias)
            largest = np.maximum(largest, product.max(axis=0))
    return _powers_of_two(largest)


def _powers_of_two(largest: FloatArray) -> FloatArray:
    """Powers of two near the ratios of the largest slopes to the largest offset (the last one)."""
    slopes, offset = largest[:-1].copy(), float(largest[-1])
    offset = offset or float(slopes.max()) or 1.0
    slopes[slopes == 0] = 1.0
    ratio = np.clip(slopes / offset, 2.0**-300, 2.0**300)
    return np.asarray(np.exp2(np.round(np.log2(ratio))), dtype=np.float64)


def _domain_rows(domain: Domain, scale: FloatArray) -> FloatArray:
    a, b = domain.inequalities(scale.size)
    infinity = np.zeros((1, scale.size + 1))
    infinity[0, -1] = 1.0
    rows = np.concatenate([-a / scale, b[:, None]], axis=1)
    return np.ascontiguousarray(np.concatenate([infinity, rows]))


def _is_plain(activation: Any) -> bool:
    return bool(activation.breakpoints.shape[1] == 1 and (activation.breakpoints == 0).all())


def _gammas(network: Network) -> FloatArray:
    # Layer 0 is what it is, or rounded once: which then adds to the errors of who reads it.
    rounded = 1.001 * ROUND * rounds_layer_0(network)
    gammas = [rounded]
    for layer in network.layers:
        summands = 1 + sum(_most_per_row(m) for m in layer.affine.operators.values())
        gamma = (summands + EXTRA_ROUNDINGS) * ROUND * 1.001
        gammas.append(gamma + rounded if 0 in layer.affine.terms else gamma)
    return np.array(gammas)


def _most_per_row(matrix: Any) -> int:
    if isinstance(matrix, Convolution):
        return matrix.most_per_row
    if isinstance(matrix, sp.csr_array):
        return int(np.diff(matrix.indptr).max(initial=0))
    return int(matrix.shape[1])


def is_sparse(matrix: Any) -> bool:
    """Whether a matrix has so few nonzeros that it is kept as a sparse one."""
    nonzero = np.count_nonzero(matrix.data if isinstance(matrix, sp.csr_array) else matrix)
    return bool(nonzero < _SPARSE_BELOW * matrix.shape[0] * matrix.shape[1])


def _seen_from(convolution: Convolution) -> IntArray:
    """Who sees what: see `FILTERS`."""
    sources = convolution.sources
    places, taps = np.nonzero(sources >= 0)
    positions = sources[places, taps]
    order = np.argsort(positions, kind="stable")
    count = convolution.shape[1] // convolution.channels
    starts = np.searchsorted(positions[order], np.arange(count + 1))
    pairs = np.stack([taps[order], places[order]], axis=1).ravel()
    sizes = [count, len(sources), convolution.filters, sources.shape[1]]
    return np.concatenate([sizes, starts, pairs]).astype(np.int64)


def _terms(network: Network, filters: bool) -> dict[str, Any]:
    starts = [0, 0]
    terms: list[tuple[int, int, int, int]] = []
    weights: list[FloatArray] = []
    columns: list[IntArray] = []
    targets: list[IntArray] = []
    n_weights = n_columns = 0
    for layer in network.layers:
        operators = layer.affine.operators if filters else layer.affine.terms
        for source, matrix in operators.items():
            if isinstance(matrix, Convolution):
                terms.append((source, FILTERS, n_weights, n_columns))
                weights.append(np.ascontiguousarray(matrix.kernels.transpose(1, 2, 0)).ravel())
                targets.append(np.zeros(weights[-1].size, np.int64))
                columns.append(_seen_from(matrix))
                n_weights, n_columns = n_weights + weights[-1].size, n_columns + len(columns[-1])
                continue
            few = is_sparse(matrix)
            terms.append((source, int(few), n_weights, n_columns))
            if few:
                csc = sp.csc_array(matrix)
                csc.eliminate_zeros()
                csc.sort_indices()
                weights.append(csc.data.astype(np.float64))
                targets.append(csc.indices.astype(np.int64))
                columns.append(csc.indptr.astype(np.int64))
                n_columns += len(columns[-1])
            else:
                dense = matrix.toarray() if isinstance(matrix, sp.csr_array) else matrix
                weights.append(np.asarray(dense, dtype=np.float64).T.ravel())
                # Targets run parallel to the weights; dense matrices do not read them.
                targets.append(np.zeros(weights[-1].size, np.int64))
            n_weights += weights[-1].size
        starts.append(len(terms))
    return {
        "term_start": np.array(starts, dtype=np.int64),
        "terms": np.array(terms, dtype=np.int64).reshape(-1, 4),
        "weights": np.concatenate([*weights, np.zeros(BLOCK)]),
        "columns": np.concatenate([*columns, np.empty(0, np.int64)]),
        "targets": np.concatenate([*targets, np.empty(0, np.int64)]),
    }
