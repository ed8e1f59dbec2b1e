"""What the `halfspaces` kernels read (a network on a domain) and what they write, as flat arrays.

*Units* are the values that neurons read: first the entries of layer 0, then all neurons, layer
after layer. All weights together are one sparse matrix (CSR) with a row for every neuron and a
column for every unit, so residual adds, concatenations and skips are no special case.

*Rows* are the affine functions that can bound a cell: first the d coordinates (never a bound,
but a start), then the domain's inequalities, then the *cuts*: one for every breakpoint of every
neuron, the function ``z - t``. A row is an offset (`OFFSET`) and d coefficients (from `SLOPE` on).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray, IntArray
from tropicell.engines._unit_kernels import RESULT_SIZE, pattern_rows
from tropicell.geometry.rounding import ROUND
from tropicell.network._residues import Moduli, ResidueRows, moduli_of
from tropicell.network.domains import Domain
from tropicell.network.flat import (
    FlatNetwork,
    MapArrays,
    embedding_of,
    flatten,
    neuron_arrays,
    rounds_layer_0,
)
from tropicell.network.inequalities import twin_lines
from tropicell.network.network import Network

#: Parts of a row: its offset, and the first of its coefficients.
OFFSET, SLOPE = 0, 1

#: The column of a dictionary (see `_lp`) with the rows' values at its vertex.
VALUE = 0

#: What a mask of cuts says: they are positive, they are negative, they vanish and both sides are
#: in reach. Cuts are decided to be on one of the first two.
POSITIVE, NEGATIVE, BOTH = range(3)
SIDES, SIGNS = 2, 3

#: Where the current node's list of points starts and stops.
NODE_START, NODE_STOP, NODE_SIZE = range(3)

#: A frame: the cut that was split, the node's list of points, and how many points there were.
FRAME_CUT, FRAME_START, FRAME_STOP, FRAME_POINTS, FRAME_SIZE = range(5)

#: Slots of Work.state: where the search is; regions counted, and written to the batch; the cut and
#: the side that exact arithmetic is asked for; the layer where the search began; and counters.
(
    LAYER,
    PHASE,
    COUNT,
    EMITTED,
    CUT,
    SIDE,
    TOP_LAYER,
    LPS,
    PIVOTS,
    SPLITS,
    BY_FARKAS,
    VISITS,
    COST,
    FINER,
    STATE_SIZE,
) = range(15)

#: What `LayerTable.drift` is where a dictionary must be made anew from the rows.
STALE = 1 << 40

#: Numbers outside these bounds could under- or overflow in products: no float proof is tried then.
_SAFE = (1e-250, 1e250)

#: Farkas vectors kept for each side of each cut (fewer in very wide layers); the newest replace
#: the oldest.
RING = 64
#: Points kept per layer at first; grows where needed.
POINTS = 1024


# --------------------------------------------------------------------------------------------------
# What kernels read.
# --------------------------------------------------------------------------------------------------


class HalfspaceNetwork(NamedTuple):
    """A network on a domain: what the kernels read and never write.

    Neurons are those of `tropicell.network.flat.NeuronArrays`, without the rows of layer 0.
    """

    dimension: int  # number d of inputs
    width_0: int  # entries of layer 0; more than d, or fewer, on a slice
    cuts_at: int  # the row of cut 0, after the coordinates and the domain
    first_neuron: IntArray  # per layer, and the end
    first_cut: IntArray  # per layer, and the end; counted from 0
    neuron_cut: IntArray  # first cut of each neuron, and the end
    cut_neuron: IntArray
    cut_break: FloatArray
    slopes: FloatArray  # neuron, piece
    intercepts: FloatArray
    indptr: IntArray
    indices: IntArray
    weights: FloatArray
    bias: FloatArray
    inputs: FloatArray  # layer 0 as rows
    domain: FloatArray  # b - A x >= 0 as rows
    roundoff: FloatArray  # per layer: |error| <= roundoff * (running bound), in float64
    fine: FloatArray  # the same for sums with twice the digits
    twin: IntArray  # the first cut that is the same on every cell; mostly the cut itself
    opposite: NDArray[np.bool_]  # it has the other sign
    whole: WholeRows


class WholeRows(NamedTuple):
    """What rows modulo primes are made from, see `_finer`."""

    maps: MapArrays
    moduli: Moduli
    scale: FloatArray  # of the coordinates that `maps` is written in
    cuts_at: int
    domain_rows: FloatArray
    exponent: IntArray  # rows before the cuts times these powers of two are whole
    cut_row: IntArray  # the neuron of a cut, counted as in `maps`, and its layer, counted from 1
    cut_layer: IntArray
    cut_break: FloatArray
    fine: FloatArray


class HalfspaceOptions(NamedTuple):
    """Fixed choices of one run."""

    exact: bool
    store: bool  # regions, not only their number
    relative: float  # with floats, a smaller value (relative to its terms) counts as 0
    pivot: float  # the smallest coefficient that the simplex method reacts to
    bits: int  # of a packed neuron
    few: float  # see `units`
    growth: Any  # see `units`
    snap: Any  # per layer: a smaller coefficient (relative to its bound) is 0


def flatten_for_halfspaces(network: Network, domain: Domain) -> HalfspaceNetwork:
    """Flatten a network (slices already composed) and its domain.

    Parameters
    ----------
    network : Network
    domain : Domain
        Not a slice; see `tropicell.network.domains.resolve`.

    Returns
    -------
    HalfspaceNetwork

    Examples
    --------
    >>> from tropicell.network.domains import Box
    >>> flat = flatten_for_halfspaces(Network.mlp([[[1.0], [-1.0]], [[1.0, 1.0]]]), Box(0, 1))
    >>> flat.first_cut, flat.domain
    (array([0, 2]), array([[ 1., -1.],
           [-0.,  1.]]))
    """
    d = network.n_inputs
    layer_0 = embedding_of(network)
    a, b = domain.inequalities(d)
    neurons = neuron_arrays(network)
    n_in = len(layer_0)  # the first rows, which are no neurons
    first_neuron = neurons.row_start[1:] - n_in
    rows, cut_break = neurons.real_breakpoints()
    cut_neuron = rows - n_in
    neuron_cut = np.searchsorted(cut_neuron, np.arange(first_neuron[-1] + 1))
    matrix = _all_weights(network, n_in)
    flat = HalfspaceNetwork(
        dimension=d,
        width_0=n_in,
        cuts_at=d + len(b),
        first_neuron=first_neuron,
        first_cut=neuron_cut[first_neuron],
        neuron_cut=neuron_cut,
        cut_neuron=cut_neuron,
        cut_break=cut_break,
        slopes=neurons.slopes[n_in:],
        intercepts=neurons.intercepts[n_in:],
        indptr=matrix.indptr.astype(np.int64),
        indices=matrix.indices.astype(np.int64),
        weights=matrix.data.astype(np.float64),
        bias=neurons.bias[n_in:],
        inputs=np.ascontiguousarray(np.column_stack([layer_0[:, -1], layer_0[:, :-1]])),
        domain=np.ascontiguousarray(np.column_stack([b, -a])),
        roundoff=np.zeros(network.depth),
        fine=np.zeros(network.depth),
        twin=np.arange(len(cut_break)),
        opposite=np.zeros(len(cut_break), np.bool_),
        whole=None,  # type: ignore[arg-type]
    )
    rounded = 2.0 if rounds_layer_0(network) else 0.0
    roundoff = _roundoff(flat, network.depth, 4.0 + rounded)
    fine = _fine(network, flat, roundoff)
    whole = _whole_rows(flatten(network, domain), flat, fine)
    twin = twin_lines(network)
    opposite = _opposite(flat, twin)
    return flat._replace(roundoff=roundoff, fine=fine, twin=twin, opposite=opposite, whole=whole)


def _opposite(flat: HalfspaceNetwork, twin: IntArray) -> NDArray[np.bool_]:
    """For every cut whether it is a negative multiple of its twin."""
    negative = np.zeros(len(twin), np.bool_)
    for cut, j in enumerate(flat.cut_neuron.tolist()):
        weights = flat.weights[flat.indptr[j] : flat.indptr[j + 1]]
        numbers = np.append(weights, [flat.bias[j], flat.cut_break[cut]])
        negative[cut] = numbers[(numbers != 0).argmax()] < 0
    return np.not_equal(negative, negative[twin])


def _whole_rows(exact: FlatNetwork, flat: HalfspaceNetwork, fine: FloatArray) -> WholeRows:
    """The same network for rows modulo primes."""
    lines, moduli, d = exact.lines, moduli_of(exact), flat.dimension
    first = flat.cuts_at - d + 1  # lines before the cuts: infinity, then the domain
    exponent = np.frexp(lines.scale)[1] - 1
    of_domain = moduli.grain[0] - np.log2(_domain_scale(flat)[:, 0])
    return WholeRows(
        maps=exact.maps,
        moduli=moduli,
        scale=lines.scale,
        cuts_at=flat.cuts_at,
        domain_rows=np.ascontiguousarray(lines.domain_rows[1:]),
        exponent=np.concatenate([exponent, of_domain]).astype(np.int64),
        cut_row=np.ascontiguousarray(lines.line_row[first:]),
        cut_layer=np.ascontiguousarray(lines.line_layer[first:]),
        cut_break=flat.cut_break,
        fine=fine,
    )


def _domain_scale(flat: HalfspaceNetwork) -> FloatArray:
    """Powers of two by which the rows of the domain are scaled."""
    if not len(flat.domain):
        return np.ones((0, 1))
    largest = np.abs(flat.domain[:, SLOPE:]).max(axis=1, initial=0.0, keepdims=True)
    exponent = np.floor(np.log2(np.where(largest > 0, largest, 1.0)))
    scale: FloatArray = np.exp2(-np.clip(exponent, -1000, 1000))  # powers of two that are finite
    return scale


def _fine(network: Network, flat: HalfspaceNetwork, roundoff: FloatArray) -> FloatArray:
    """The error of rows with twice the digits, as a part of the running bound, for each layer.

    A layer of sums of n terms adds 4 (n + 4)² u², its activation 16 u²; what float64 can't hold
    (the map of layer 0, intercepts) is rounded once. Doubled, as `_roundoff`.
    """
    terms = np.diff(flat.indptr)
    total, found = 2.0 * ROUND if rounds_layer_0(network) else 0.0, np.zeros(network.depth)
    for layer in range(network.depth):
        here = terms[flat.first_neuron[layer] : flat.first_neuron[layer + 1]]
        total += (4.0 * (float(here.max(initial=0)) + 4.0) ** 2 + 16.0) * ROUND * ROUND
        found[layer] = 2.02 * total if np.isfinite(roundoff[layer]) else np.inf
        total += 2.0 * ROUND * bool(network.layers[layer].activation.intercepts.any())
    return found


def _all_weights(network: Network, n_inputs: int) -> Any:
    """The matrices of all layers as one; see `HalfspaceNetwork`."""
    rows = []
    for layer in network.layers:
        row: list[Any] = [None] * (network.depth + 1)
        for source, matrix in layer.affine.terms.items():
            row[source] = sp.csr_array(matrix)
        sizes = [n_inputs, *network.widths]
        rows.append(
            [
                sp.csr_array((layer.width, n)) if m is None else m
                for m, n in zip(row, sizes, strict=True)
            ]
        )
    if not rows:
        return sp.csr_array((0, n_inputs))
    matrix = sp.csr_array(sp.block_array(rows, format="csr"))
    matrix.eliminate_zeros()
    return matrix


def _roundoff(flat: HalfspaceNetwork, depth: int, before: float) -> FloatArray:
    """Twice the bound gamma_k of the roundings on any path from the input to a layer.

    There are some `before` the first layer, that of layer 0 itself included.
    Each layer adds at most (terms + 5) roundings to a chain of products and sums: the terms of
    its scalar products, bias, breakpoint, slope, intercept, and the intercept's own rounding.
    Doubled, it also covers the roundings of the running bound itself.
    """
    numbers = np.concatenate(
        [
            flat.weights,
            flat.bias,
            flat.slopes.ravel(),
            flat.intercepts.ravel(),
            flat.inputs.ravel(),
            flat.domain.ravel(),
            flat.cut_break,
        ]
    )
    sizes = np.abs(numbers[numbers != 0])
    fan_in = np.diff(flat.indptr)
    most = max(1.0, float(sizes.max(initial=1.0)))
    least = min(1.0, float(sizes.min(initial=1.0)))
    result, roundings, log_most, log_least = np.zeros(depth), before, 0.0, 0.0
    for layer in range(depth):
        terms = fan_in[flat.first_neuron[layer] : flat.first_neuron[layer + 1]]
        width = float(terms.max(initial=1))
        roundings += width + 6.0
        log_most += 2 * np.log10(most) + np.log10(width + 2.0)
        log_least += 2 * np.log10(least)
        safe = log_most < np.log10(_SAFE[1]) and log_least > np.log10(_SAFE[0])
        result[layer] = 2.0 * roundings * ROUND * 1.01 if safe else np.inf
    return result


# --------------------------------------------------------------------------------------------------
# What kernels write, in preallocated arrays.
# --------------------------------------------------------------------------------------------------


class FarkasSpace(NamedTuple):
    """Scratch space for the proof of a Farkas vector, see `_proof.proves`."""

    coef: Any  # the rows of the support, then the cut; offsets last
    bound: Any  # the sizes of their terms
    columns: Any  # as many coordinates as there are rows
    marked: Any  # units: scratch space of `_proof._span`, all False before and after
    taken: Any  # coordinates
    matrix: Any  # the square system, its inverse, and the room where that is computed
    inverse: Any
    full: Any
    multipliers: Any
    sizes: Any  # sums of absolute values of the inverse's rows


class Finer(NamedTuple):
    """Room for one linear program: the rows of `Maps`, and one more (`_finer._load`)."""

    high: Any  # the dictionary: column (`VALUE`, then the nonbasic rows), row
    low: Any
    modular: Any  # the same modulo the first prime
    rows: Any  # row, (offset, coefficients), scaled by powers of two: high and low halves
    rows_low: Any
    bounds: Any  # on the errors of their sums
    whole: Any  # exponents: rows times these powers of two are whole
    nonbasic: Any  # the row of each column but the first
    column_of: Any  # the column of each row that is nonbasic, else 0
    sign: Any  # what the cell asks of each row
    sums: Any  # of the absolute values of the inverse, for each column
    slack: Any  # bounds on the errors of a row of the dictionary
    matrix: Any  # vectors modulo a prime
    claims: Any  # rows whose zeros are to be proved
    entries: Any  # for each, which of its numbers
    prime: Any  # the first prime, and 1 / prime


class Maps(NamedTuple):
    """Affine functions of x on the current cell."""

    rows: Any  # row, (offset, coefficients)
    bounds: Any  # running bounds on the sizes of the terms summed up in `rows`
    row_error: Any  # |error of rows| <= row_error * bounds
    constant: Any  # rows that are constant on the cell
    ignored: Any  # these, and rows that have the sign of another one, or the opposite
    z: Any  # pre-activations as rows
    z_low: Any  # second halves, in exact arithmetic
    z_bound: Any
    y: Any  # units (inputs, then outputs of neurons) as rows
    y_low: Any
    y_bound: Any
    constant_output: Any  # neurons whose active piece has slope 0
    piece: Any  # the active piece of each neuron


class LayerTable(NamedTuple):
    """Dictionaries of the simplex method, and its scratch space. Leading index: the layer."""

    T: Any  # layer, column (`VALUE`, then the nonbasic rows), row
    nonbasic: Any  # the row of each column but the first
    column_of: Any  # the column of each row that is nonbasic, else 0
    sign: Any  # what the cell asks of each row: >= 0 (1), <= 0 (-1) or nothing (0)
    drift: Any  # pivots since the dictionary was made from the rows
    start: Any  # the basis with which a layer begins
    basis: Any  # a basis
    wanted: Any  # scratch space of `_lp.go_to_basis`
    x: Any  # a point
    delta: Any  # bounds on the errors of its coordinates, or a direction
    support: Any  # rows that hold a cut at its minimum
    halt: Any  # not 0: give up, the time is over


class Tree(NamedTuple):
    """Nodes, points and Farkas vectors. Leading index of most arrays: the layer, counted from 0."""

    decided: Any  # masks: cuts known `POSITIVE`, known `NEGATIVE`
    known: Any  # masks: cuts with a known point on the positive, on the negative side
    masks: Any  # per point: cuts that are `POSITIVE`, `NEGATIVE`, `BOTH` there
    basis: Any  # per point: d rows that pin it down
    vertex: Any  # per point: its coordinates, and the edges that leave it; if regions are stored
    n_points: Any
    members: Any  # stack of lists of points
    node: Any  # where the current list starts and stops (`NODE_START`, `NODE_STOP`)
    frames: Any  # nodes whose negative side waits (`FRAME_CUT`, …)
    frame_decided: Any  # what was decided there
    n_frames: Any
    farkas: Any  # per side of a cut: masks of decided cuts that force it there
    n_farkas: Any  # how many were found; the newest ones are kept
    all_bits: Any  # mask of all cuts of the layer that are not twins of others
    found: Any  # masks of the point, or of the Farkas vector, that was just found
    pending: Any  # a mask of cuts


class Out(NamedTuple):
    """Regions found since the last batch."""

    patterns: Any
    witnesses: Any
    margins: Any  # how clearly the witnesses are inside; see `HalfspaceBatch`


class Work(NamedTuple):
    """All that a search writes."""

    state: Any  # integers at `LAYER`, `PHASE`, …
    result: Any  # what a call says of a unit; see `_unit_kernels`
    maps: Maps
    table: LayerTable
    tree: Tree
    farkas: FarkasSpace
    finer: Finer
    residues: ResidueRows
    out: Out


def make_work(
    flat: HalfspaceNetwork,
    store: bool,
    batch: int,
    free: Callable[[Any], Any] = lambda array: array,
) -> Work:
    """The state of a search in which nothing has happened yet.

    Parameters
    ----------
    flat : HalfspaceNetwork
    store : bool
        Whether regions are written, not only counted.
    batch : int
        So many regions have room.
    free : callable
        Marks arrays whose contents do not matter; see `tropicell._runtime.memory.Blueprint`.
    """
    zeros = np.zeros
    depth = len(flat.first_neuron) - 1
    n_in, d = flat.width_0, flat.dimension
    n_neurons = len(flat.bias)
    n_rows = flat.cuts_at + len(flat.cut_break)
    most = int(np.diff(flat.first_cut).max(initial=1))
    words = max(1, (most + 63) // 64)
    points = POINTS + 4 * most
    ring = max(4, min(RING, 2**22 // (most * words)))
    rows = zeros((n_rows, d + 1))
    rows[:d, SLOPE:] = np.eye(d)
    with np.errstate(over="ignore"):  # an offset that is infinite is larger than all else
        rows[d : flat.cuts_at] = flat.domain * _domain_scale(flat)
    y = zeros((n_in + n_neurons, d + 1))
    y[:n_in] = flat.inputs
    all_bits = zeros((depth, words), np.uint64)
    for layer, n in enumerate(np.diff(flat.first_cut).tolist()):
        for b in range(n):
            if flat.twin[flat.first_cut[layer] + b] == flat.first_cut[layer] + b:
                all_bits[layer, b >> 6] |= np.uint64(1 << (b & 63))
    kept = points if store else 1
    return Work(
        state=zeros(STATE_SIZE, np.int64),
        result=zeros(RESULT_SIZE, np.int64),
        maps=Maps(
            rows=rows,
            bounds=np.abs(rows),
            row_error=zeros(n_rows),
            constant=zeros(n_rows, np.bool_),
            ignored=zeros(n_rows, np.bool_),
            z=zeros((n_neurons, d + 1)),
            z_low=zeros((n_neurons, d + 1)),
            z_bound=zeros((n_neurons, d + 1)),
            y=y,
            y_low=np.zeros_like(y),
            y_bound=np.abs(y),
            constant_output=zeros(n_neurons, np.bool_),
            piece=zeros(n_neurons, np.uint8),
        ),
        table=LayerTable(
            T=free(zeros((depth, d + 1, n_rows))),
            nonbasic=zeros((depth, d + 1), np.int64),
            column_of=zeros((depth, n_rows), np.int64),
            sign=zeros((depth, n_rows)),
            drift=zeros(depth, np.int64),
            start=zeros((depth, d), np.int32),
            basis=zeros(d, np.int32),
            wanted=zeros(n_rows, np.bool_),
            x=zeros(d),
            delta=zeros(d),
            support=zeros(d + 1, np.int64),
            halt=zeros(1, np.uint8),
        ),
        tree=Tree(
            decided=zeros((depth, SIDES, words), np.uint64),
            known=zeros((depth, SIDES, words), np.uint64),
            masks=zeros((depth, points, SIGNS, words), np.uint64),
            basis=zeros((depth, points, d), np.int32),
            vertex=free(np.empty((depth, kept, d + 1, d))),
            n_points=zeros(depth, np.int64),
            members=zeros((depth, 8 * points), np.int32),
            node=zeros((depth, NODE_SIZE), np.int64),
            frames=zeros((depth, most + 1, FRAME_SIZE), np.int64),
            frame_decided=zeros((depth, most + 1, SIDES, words), np.uint64),
            n_frames=zeros(depth, np.int64),
            farkas=free(zeros((depth, SIDES * most, ring, SIDES, words), np.uint64)),
            n_farkas=zeros((depth, SIDES * most), np.int64),
            all_bits=all_bits,
            found=zeros((SIGNS, words), np.uint64),
            pending=zeros(words, np.uint64),
        ),
        farkas=_farkas_space(flat),
        finer=_finer_room(flat, free),
        residues=_residue_room(flat, free),
        out=Out(
            patterns=free(pattern_rows(batch if store else 0, n_neurons)),
            witnesses=free(np.empty((batch if store else 0, d))),
            margins=free(np.empty(batch if store else 0)),
        ),
    )


def _farkas_space(flat: HalfspaceNetwork) -> FarkasSpace:
    zeros, d = np.zeros, flat.dimension
    return FarkasSpace(
        coef=zeros((d + 1, d + 1)),
        bound=zeros((d + 1, d + 1)),
        columns=zeros(d + 1, np.int64),
        marked=zeros(flat.width_0 + len(flat.bias), np.bool_),
        taken=zeros(d, np.bool_),
        matrix=zeros((d, d)),
        inverse=zeros((d, d)),
        full=zeros((d, 2 * d)),
        multipliers=zeros(d),
        sizes=zeros(d),
    )


def _finer_room(flat: HalfspaceNetwork, free: Callable[[Any], Any] = lambda array: array) -> Finer:
    """Room for linear programs; for `free` see `tropicell._runtime.memory.Blueprint`."""
    d, n, zeros = flat.dimension, flat.cuts_at + len(flat.cut_break) + 1, np.zeros
    if not len(flat.whole.moduli.primes):
        n = 0  # none is solved
    return Finer(
        high=free(zeros((d + 1, n))),
        low=free(zeros((d + 1, n))),
        modular=free(zeros((d + 1, n))),
        rows=free(zeros((n, d + 1))),
        rows_low=free(zeros((n, d + 1))),
        bounds=free(zeros((n, d + 1))),
        whole=free(zeros(n, np.int64)),
        nonbasic=free(zeros(d + 1, np.int64)),
        column_of=free(zeros(n, np.int64)),
        sign=free(zeros(n)),
        sums=free(zeros(d + 1)),
        slack=free(zeros(d + 1)),
        matrix=free(zeros((n + d, d + 1))),
        claims=free(zeros(n, np.int64)),
        entries=free(zeros((n, d + 1), np.bool_)),
        prime=zeros(2),
    )


def _residue_room(flat: HalfspaceNetwork, free: Callable[[Any], Any]) -> ResidueRows:
    count, maps, zeros = len(flat.whole.moduli.primes), flat.whole.maps, np.zeros
    first, n_rows = int(maps.row_start[1]), int(maps.row_start[-1])
    widest = int(np.diff(maps.row_start).max(initial=1))
    nothing = zeros(0)
    return ResidueRows(
        before=free(zeros((count, flat.dimension + 1, n_rows))),
        after=free(zeros((count, flat.dimension + 1, n_rows))),
        pattern=zeros((count, n_rows - first), np.uint8),
        known=zeros(count, np.int64),
        weights=free(zeros(widest)),
        corner=zeros((0, 0)),
        corners=zeros(0, np.int64),
        minors=nothing,
        values=nothing,
        digits=nothing,
    )


def with_flag(work: Work, halt: Any | None) -> Work:
    """The same state with the flag of who may halt it."""
    return work if halt is None else work._replace(table=work.table._replace(halt=halt))


def grow(work: Work) -> Work:
    """The same state with twice the room for points and lists of points."""

    def twice(array: Any) -> Any:
        larger = np.zeros((array.shape[0], 2 * array.shape[1], *array.shape[2:]), array.dtype)
        larger[:, : array.shape[1]] = array
        return larger

    tree = work.tree
    return work._replace(
        tree=tree._replace(
            masks=twice(tree.masks),
            basis=twice(tree.basis),
            vertex=twice(tree.vertex) if tree.vertex.shape[1] > 1 else tree.vertex,
            members=twice(tree.members),
        )
    )
