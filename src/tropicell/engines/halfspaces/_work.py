"""Everything that the `halfspaces` kernel writes, in preallocated arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tropicell.engines._unit_kernels import pattern_rows
from tropicell.engines.halfspaces._kernel import STATE_SIZE
from tropicell.engines.halfspaces._program import Program

#: Certificates kept for each side of each cut (fewer in very wide layers); the newest replace
#: the oldest.
RING = 64
#: Points kept per layer at first; grows where needed.
POINTS = 1024


class Options(NamedTuple):
    """Fixed choices of one run.

    `bits` of a packed neuron; for `few` and `growth` see `units`.
    """

    exact: bool
    store: bool
    relative: float
    pivot: float
    bits: int
    few: float
    growth: Any


class CertificateSpace(NamedTuple):
    """Scratch space of `_halfspaces_proof.certify`."""

    coef: Any
    bound: Any
    columns: Any
    matrix: Any
    inverse: Any
    full: Any
    multipliers: Any
    sizes: Any


class Maps(NamedTuple):
    """Affine functions of x on the current cell."""

    rows: Any  # row, (offset, coefficients)
    bounds: Any  # running bounds on the sizes of the terms summed up in `rows`
    row_error: Any  # |error of rows| <= row_error * bounds
    constant: Any  # rows that are constant on the cell
    z: Any  # pre-activations as functions of x
    z_bound: Any
    y: Any  # units (inputs, then outputs of neurons)
    y_bound: Any
    flat: Any  # neurons whose active piece has slope 0
    piece: Any
    formal: Any  # pre-activations as functions of those of the first layer
    formal_bound: Any
    formal_ready: Any  # per layer


class Table(NamedTuple):
    """Dictionaries of the simplex method, and its scratch space. Leading index: the layer."""

    T: Any
    nonbasic: Any
    column_of: Any
    sign: Any
    drift: Any  # pivots since the dictionary was made from the rows
    start: Any
    wanted: Any
    x: Any
    delta: Any
    support: Any
    halt: Any  # not 0: give up, the time is over


class Tree(NamedTuple):
    """Nodes, points and certificates. Leading index of most arrays: the layer, counted from 0."""

    decided: Any  # masks: cuts known positive, known negative
    known: Any  # masks: cuts with a known point on the positive, on the negative side
    masks: Any  # of points
    basis: Any
    vertex: Any
    n_points: Any
    members: Any  # stack of lists of points
    node: Any  # where the current list starts and stops
    frames: Any
    frame_decided: Any
    n_frames: Any
    certificates: Any
    n_certificates: Any
    all_bits: Any
    found: Any
    pending: Any


class Out(NamedTuple):
    """Regions found since the last batch."""

    patterns: Any
    witnesses: Any
    margins: Any


class Work(NamedTuple):
    """State of the search."""

    state: Any
    maps: Maps
    table: Table
    tree: Tree
    out: Out


def make_work(
    program: Program, store: bool, batch: int, free: Callable[[Any], Any] = lambda array: array
) -> Work:
    """The state for a program; nothing has happened yet. For `free` see `Blueprint`."""
    zeros = np.zeros
    depth = len(program.first_neuron) - 1
    n_in, d = program.inputs.shape[0], program.inputs.shape[1] - 1
    n_neurons = len(program.bias)
    n_first = int(program.first_neuron[1]) if depth else 0
    n_domain = len(program.domain)
    n_rows = d + n_domain + len(program.cut_break)
    most = int(np.diff(program.first_cut).max(initial=1))
    words = max(1, (most + 63) // 64)
    points = POINTS + 4 * most
    ring = max(4, min(RING, 2**22 // (most * words)))
    rows = zeros((n_rows, d + 1))
    rows[:d, 1:] = np.eye(d)
    domain_scale = np.ones((n_domain, 1))
    if n_domain:
        largest = np.abs(program.domain[:, 1:]).max(axis=1, initial=0.0, keepdims=True)
        exponent = np.floor(np.log2(np.where(largest > 0, largest, 1.0)))
        domain_scale = np.exp2(-np.clip(exponent, -1000, 1000))  # powers of two that are finite
    with np.errstate(over="ignore"):  # an offset that is infinite is larger than all else
        rows[d : d + n_domain] = program.domain * domain_scale
    y = zeros((n_in + n_neurons, d + 1))
    y[:n_in] = program.inputs
    all_bits = zeros((depth, words), np.uint64)
    for layer, n in enumerate(np.diff(program.first_cut).tolist()):
        for b in range(n):
            all_bits[layer, b >> 6] |= np.uint64(1 << (b & 63))
    kept = points if store else 1
    return Work(
        state=zeros(STATE_SIZE, np.int64),
        maps=Maps(
            rows=rows,
            bounds=np.abs(rows),
            row_error=zeros(n_rows),
            constant=zeros(n_rows, np.bool_),
            z=zeros((n_neurons, d + 1)),
            z_bound=zeros((n_neurons, d + 1)),
            y=y,
            y_bound=np.abs(y),
            flat=zeros(n_neurons, np.bool_),
            piece=zeros(n_neurons, np.uint8),
            formal=free(zeros((n_neurons, n_first + 1))),
            formal_bound=free(zeros((n_neurons, n_first + 1))),
            formal_ready=zeros(depth, np.bool_),
        ),
        table=Table(
            T=free(zeros((depth, d + 1, n_rows))),
            nonbasic=zeros((depth, d + 1), np.int64),
            column_of=zeros((depth, n_rows), np.int64),
            sign=zeros((depth, n_rows)),
            drift=zeros(depth, np.int64),
            start=zeros((depth, d), np.int32),
            wanted=zeros(n_rows, np.bool_),
            x=zeros(d),
            delta=zeros(d),
            support=zeros(d + 1, np.int64),
            halt=zeros(1, np.uint8),
        ),
        tree=Tree(
            decided=zeros((depth, 2, words), np.uint64),
            known=zeros((depth, 2, words), np.uint64),
            masks=zeros((depth, points, 3, words), np.uint64),
            basis=zeros((depth, points, d), np.int32),
            vertex=free(np.empty((depth, kept, d + 1, d))),
            n_points=zeros(depth, np.int64),
            members=zeros((depth, 8 * points), np.int32),
            node=zeros((depth, 2), np.int64),
            frames=zeros((depth, most + 1, 4), np.int64),
            frame_decided=zeros((depth, most + 1, 2, words), np.uint64),
            n_frames=zeros(depth, np.int64),
            certificates=free(zeros((depth, 2 * most, ring, 2, words), np.uint64)),
            n_certificates=zeros((depth, 2 * most), np.int64),
            all_bits=all_bits,
            found=zeros((3, words), np.uint64),
            pending=zeros(words, np.uint64),
        ),
        out=Out(
            patterns=free(pattern_rows(batch if store else 0, n_neurons)),
            witnesses=free(np.empty((batch if store else 0, d))),
            margins=free(np.empty(batch if store else 0)),
        ),
    )


def make_certificate_space(program: Program) -> CertificateSpace:
    """Scratch space for certificates of a program."""
    zeros = np.zeros
    n_in, d = program.inputs.shape[0], program.inputs.shape[1] - 1
    width = d + n_in + len(program.bias) + 1
    return CertificateSpace(
        coef=zeros((d + 2, width)),
        bound=zeros((d + 2, width)),
        columns=zeros(d + 1, np.int64),
        matrix=zeros((d, d)),
        inverse=zeros((d, d)),
        full=zeros((d, 2 * d)),
        multipliers=zeros(d),
        sizes=zeros(d),
    )


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
