"""A tree of cuts: finds the region of a point with a few dot products, without the network.

Every node tests on which side of one neuron's boundary a point lies, and every leaf is a region.
The tree is built from the patterns alone. Take some regions whose patterns agree up to layer ℓ - 1
and differ in layer ℓ. On all of them a neuron of layer ℓ is an affine map of the input, and the
same one. So a neuron that is active on some of them and inactive on others cuts the set in two, by
one hyperplane. No region is ever cut itself, so there is one node less than regions, in any
dimension, bounded or not.

Numbers are rounded, so a point that is very close to a cut may be sent to the wrong side. Every
node's row is scaled such that the error of its value is less than ``max(1, |x|)`` (largest
coordinate): a value that is larger than that has the right sign for sure, and a point all of whose
values are has been found for sure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell._runtime.parts import in_parts
from tropicell.errors import InvalidInputError
from tropicell.geometry.rounding import ROUND
from tropicell.network.domains import Box, WholeSpace
from tropicell.network.network import Network
from tropicell.regions.columns import PackedPatterns
from tropicell.regions.regions import Regions

if TYPE_CHECKING:  # Numba is slow to import
    from tropicell.network.flat import MapArrays

#: Added to error bounds, and to sizes in every layer, against underflow.
_TINY = 1e-290
#: Well below the largest float64.
_LARGE = 1e300
#: Bits of patterns that are looked at at a time.
_BATCH = 20_000_000
#: Prefixes of patterns whose cuts are worked out at a time.
_PREFIXES = 4096


@dataclass(frozen=True, eq=False)
class CutTree:
    """Cuts as arrays.

    Attributes
    ----------
    rows : ndarray, shape (nodes, inputs + 1)
        Coefficients and offset of every node's cut; positive means bit 1. Scaled by powers of two
        such that the error of a value at x is less than ``max(1, |x|)``.
    children : ndarray of int32, shape (nodes, 2)
        For a negative and a positive value: a later node, or ``-1 - region``.
    lines : ndarray, shape (nodes,)
        The line (see `tropicell.network.inequalities`) of every node.
    levels : int
        The most tests that a point needs.
    """

    rows: FloatArray
    children: NDArray[np.int32]
    lines: NDArray[np.int64]
    levels: int

    @property
    def root(self) -> int:
        """Where to begin: node 0, or the only region."""
        return 0 if len(self.rows) else -1

    @classmethod
    def of(cls, regions: Regions, weights: ArrayLike | None = None) -> CutTree:
        """The tree of all regions.

        Parameters
        ----------
        regions : Regions
            Complete.
        weights : ndarray, optional
            How often each region will be asked for; those that are more often are found with fewer
            tests. Default: by volume where all are known and finite, and evenly.

        Examples
        --------
        >>> from tropicell import enumerate_regions
        >>> network = Network.mlp([[[1.0], [1.0]], [[1.0, 1.0]]], [[0.0, -1.0], [0.0]])
        >>> tree = CutTree.of(enumerate_regions(network))
        >>> len(tree.rows), tree.levels
        (2, 2)
        """
        from tropicell.predict import _cut_tree  # noqa: PLC0415 - Numba is slow to import

        if not regions.covers or len(regions) == 0:
            raise InvalidInputError(
                "points can be located among all regions only, and these are not complete: "
                "enumerate them without a budget, and without where"
            )
        network = regions.network
        bits, word_start = _layer_bits(regions)
        shares = _weights(regions) if weights is None else _checked(weights, len(regions))
        children, bit, prefix, layer, region, levels = _cut_tree.build(bits, word_start, shares)
        rows = np.empty((len(bit), network.n_inputs + 1))
        lines, neurons = np.empty(len(bit), np.int64), np.empty(len(bit), np.int64)
        breakpoints = np.empty(len(bit))
        for index, each in enumerate(network.layers):
            nodes = np.flatnonzero(layer[prefix] == index)
            places = bit[nodes] - 64 * word_start[index]
            first = np.searchsorted(regions.lines.layer, index + 1)
            lines[nodes] = regions.lines.first + first + places
            pieces = each.activation.pieces
            own = np.repeat(np.arange(len(pieces)), pieces - 1)[places]
            neurons[nodes] = sum(network.widths[:index]) + own
            breakpoints[nodes] = each.activation.breakpoints[own, _bends(pieces)[places]]
        sizes = _fill_rows(regions, np.stack([layer + 1, region], axis=1), prefix, neurons, rows)
        rows[:, -1] -= breakpoints
        errors = _rounding(network) * (sizes + np.abs(breakpoints)) + _TINY
        return cls(scaled(rows, errors), children, lines, int(levels))

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return self.rows.nbytes + self.children.nbytes


def domain_table(regions: Regions, tree: CutTree, maps: FloatArray | None = None) -> FloatArray:
    """Domain and tree as one table, the form that the kernels of `_locating` read.

    Points for which these maps might overflow, too, are not sure there.
    """
    d = regions.network.n_inputs
    low, high, rows = split_domain(regions)
    shift = 2 + len(rows)
    table = np.zeros((shift + len(tree.rows), d + 2))
    largest = np.finfo(np.float64).max  # so that infinite points are outside
    table[0, :d], table[1, :d] = np.maximum(low, -largest), np.minimum(high, largest)
    table[0, d] = largest_size([rows, tree.rows, *([] if maps is None else [maps])], _LARGE)
    table[2:shift, :-1] = rows
    table[shift:, :-1] = tree.rows
    links = table.view(np.int32)[:, -2:]
    links[0] = len(rows), tree.root + shift if len(tree.rows) else tree.root
    links[shift:] = np.where(tree.children >= 0, tree.children + shift, tree.children)
    return table


def largest_size(tables: Sequence[FloatArray], largest: float) -> float:
    """A size of coordinates for which no sum of a row times a point is beyond `largest`.

    It is 0 where not even a point of size 1 is sure to be fine.

    Examples
    --------
    >>> largest_size([np.array([[3.0, -4.0, 1.0]])], 1e300)
    1.25e+299
    """
    sums = [np.abs(rows).sum(axis=-1).max(initial=1.0) for rows in tables]
    size = largest / float(max(sums))
    return size if size >= 1.0 else 0.0


def split_domain(regions: Regions) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The corners of a box (infinite otherwise), and scaled rows that are positive inside."""
    d = regions.network.n_inputs
    if isinstance(regions.domain, Box):
        low, high = regions.domain.corners(d)
        return low, high, np.empty((0, d + 1))
    a, b = regions.domain.inequalities(d)
    a, b = a[a.any(axis=1)], b[a.any(axis=1)]  # 0 · x <= 0 says nothing, and no test could tell
    rows = np.concatenate([-a, b[:, None]], axis=1)
    errors = 2.0 * (d + 8) * ROUND * np.abs(rows).sum(axis=1) + _TINY
    return np.full(d, -np.inf), np.full(d, np.inf), scaled(rows, errors)


def _checked(weights: ArrayLike, count: int) -> FloatArray:
    """Weights that a user gives; 0 is raised a little, so that the tree stays flat there too."""
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (count,) or not (np.isfinite(values).all() and (values >= 0).all()):
        raise InvalidInputError(
            f"weights must be {count} finite numbers, none negative: one for each region"
        )
    return np.asarray(values / max(values.sum(), 1e-300) + 1e-3 / count)


def _weights(regions: Regions) -> FloatArray:
    count = len(regions)
    volumes = regions.known("volumes")
    if volumes is None or not np.isfinite(volumes).all() or not volumes.sum() > 0:
        return np.ones(count)
    return _checked(volumes, count)


def _split(values: NDArray[Any], widths: Sequence[int]) -> list[NDArray[Any]]:
    """Numbers of all neurons, cut into layers."""
    return np.split(values, np.cumsum(widths)[:-1]) if len(widths) else []


def _layer_bits(regions: Regions) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """One bit per breakpoint (is the neuron beyond it?), every layer in words of its own."""
    widths, parts, starts = regions.network.widths, [], [0]
    if regions.packed.bits == 1 and (regions.network.pieces == 2).all():
        return _shifted_bits(regions.packed.words, widths)
    for layer, pieces in enumerate(_split(regions.network.pieces, widths)):
        neurons = np.repeat(np.arange(len(pieces)), pieces - 1) + sum(widths[:layer])
        bends = _bends(pieces)
        words = max(1, -(-len(bends) // 64))
        part = np.empty((len(regions), words), np.uint64)
        step = max(1, _BATCH // max(1, len(bends)))
        for start in range(0, len(regions), step):
            patterns = regions.packed[start : start + step]
            beyond = (patterns[:, neurons] > bends).astype(np.uint8)
            part[start : start + step] = PackedPatterns.pack(beyond, 1).words
        parts.append(part)
        starts.append(starts[-1] + words)
    none = np.empty((len(regions), 0), np.uint64)
    return np.concatenate([none, *parts], axis=1), np.array(starts, dtype=np.int64)


def _shifted_bits(
    words: NDArray[np.uint64], widths: Sequence[int]
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """The same from packed patterns with one bit a neuron."""
    starts = np.concatenate([[0], np.cumsum([-(-width // 64) for width in widths])])
    found = np.empty((len(words), int(starts[-1])), np.uint64)
    at = 0
    for width, start, end in zip(widths, starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        for k in range(end - start):
            place, shift = divmod(at + 64 * k, 64)
            column = words[:, place] >> np.uint64(shift)
            if shift and place + 1 < words.shape[1]:
                column |= words[:, place + 1] << np.uint64(64 - shift)
            if (left := width - 64 * k) < 64:
                column &= np.uint64((1 << left) - 1)
            found[:, start + k] = column
        at += width
    return found, starts.astype(np.int64)


def _bends(pieces: NDArray[Any]) -> NDArray[np.int64]:
    """For every breakpoint of a layer its index within its neuron."""
    counts = pieces - 1
    bends = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.asarray(bends, dtype=np.int64)


def _fill_rows(
    regions: Regions,
    prefixes: NDArray[np.int64],
    prefix: NDArray[np.int64],
    neurons: NDArray[np.int64],
    rows: FloatArray,
) -> FloatArray:
    """The maps of the neurons that cut, and the sizes of the numbers behind them.

    Parameters
    ----------
    regions : Regions
    prefixes : ndarray, shape (prefixes, 2)
        For every prefix the layer of its cuts, and one of its regions.
    prefix, neurons : ndarray
        For every node its prefix, and the neuron that cuts.
    rows : ndarray, shape (nodes, inputs + 1)
        Gets the maps before the activation.

    Returns
    -------
    ndarray, shape (nodes,)
        Absolute values are added up where maps add and subtract, over all coefficients.
    """
    from tropicell.network._layer_maps import layer_maps  # noqa: PLC0415 - Numba
    from tropicell.network.flat import embedding_of, flatten  # noqa: PLC0415
    from tropicell.predict import _cut_tree as kernels  # noqa: PLC0415

    network, sizes = regions.network, np.empty(len(rows))
    if not len(rows):
        return sizes
    maps = flatten(network, WholeSpace(), filters=False).maps._replace(
        input_rows=embedding_of(network)
    )
    order = np.argsort(prefix, kind="stable")
    ends = np.searchsorted(prefix[order], np.arange(len(prefixes) + 1))
    table = np.column_stack([prefixes, ends[:-1], ends[1:]])
    nodes = np.stack([order, neurons[order] + maps.row_start[1]], axis=1)
    words = np.ascontiguousarray(regions.packed.words, dtype=np.uint64)
    bits, height = regions.packed.bits, int(maps.row_start[-1])
    room = kernels.CutRoom(
        current=layer_maps(network.n_inputs, maps.row_start, exact=False),
        before=np.zeros(height),
        after=np.zeros(height),
        state=np.zeros(3, np.int64),
        words=np.zeros(words.shape[1], np.uint64),
        pieces=np.zeros(network.n_neurons, np.uint8),
        across=_across(maps),
    )
    fill: Any = kernels.cut_rows
    in_parts(
        lambda part: fill(maps, words, bits, table[part], nodes, room, rows, sizes),
        len(table),
        1,
        _PREFIXES,
    )
    return sizes


def _across(maps: MapArrays) -> FloatArray:
    """All weights, those of dense matrices by the neurons that read instead of those read."""
    weights = maps.weights.copy()
    for layer in range(1, len(maps.row_start) - 1):
        width = int(maps.row_start[layer + 1] - maps.row_start[layer])
        for term in range(maps.term_start[layer], maps.term_start[layer + 1]):
            source, is_sparse, at = maps.terms[term, :3].tolist()
            if not is_sparse:
                count = int(maps.row_start[source + 1] - maps.row_start[source])
                block = slice(at, at + count * width)
                weights[block] = maps.weights[block].reshape(count, width).T.ravel()
    return weights


def scaled(rows: FloatArray, errors: FloatArray) -> FloatArray:
    """Rows divided by powers of two that are not less than their errors."""
    exponents = np.frexp(errors)[1][:, None]
    return np.asarray(np.where(np.isfinite(errors)[:, None], np.ldexp(rows, -exponents), 0.0))


def single_precision(rows: FloatArray) -> FloatArray:
    """Scaled rows, scaled anew for values that are computed in single precision."""
    errors = 1.0 + 2.0 * rows.shape[1] * 2.0**-23 * np.abs(rows).sum(axis=1)
    return scaled(rows, errors)


def _rounding(network: Network) -> float:
    """Error of a layer's value at a point, relative to the sum of absolute values behind it."""
    summands = network.n_inputs + 8
    embedding = network.float_embedding
    if embedding is not None and network.embedding is not embedding:
        # Rounded once, if it is of ordinary size.
        summands += 1
        if max(np.abs(embedding.matrix).max(), np.abs(embedding.offset).max()) > _LARGE:
            return np.inf
    for affine in (layer.affine for layer in network.layers):
        # Twice: rows are corrected as often as they have summands before they are summed anew.
        summands += 8 + 2 * sum(matrix.shape[1] for matrix in affine.terms.values())
    return 2.0 * summands * ROUND
