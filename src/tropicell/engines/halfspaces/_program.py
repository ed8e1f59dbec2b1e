"""A network and a domain as flat arrays, the form that the `halfspaces` kernels read.

*Units* are the values that neurons read: first the entries of layer 0, then all neurons, layer
after layer. All weights together are one sparse matrix (CSR) with a row for every neuron and a
column for every unit, so residual adds, concatenations and skips are no special case.

*Rows* are the affine functions that can bound a cell: first the d coordinates (never a bound,
but a start), then the domain's inequalities, then the *cuts*: one for every breakpoint of every
neuron, the function ``z - t``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from tropicell._runtime.arrays import FloatArray, IntArray
from tropicell.geometry.rounding import ROUND
from tropicell.network.domains import Domain
from tropicell.network.flat import rounds_layer_0
from tropicell.network.network import Network

#: Numbers outside these bounds could under- or overflow in products: no float proof is tried then.
_SAFE = (1e-250, 1e250)


class Program(NamedTuple):
    """What the kernels read and never write."""

    first_neuron: IntArray  # per layer, and the end
    first_cut: IntArray  # per layer, and the end; counted from 0
    neuron_cut: IntArray  # first cut of each neuron, and the end
    cut_neuron: IntArray
    cut_break: FloatArray
    slopes: FloatArray
    intercepts: FloatArray
    indptr: IntArray
    indices: IntArray
    weights: FloatArray
    bias: FloatArray
    inputs: FloatArray  # layer 0 as functions of x: offset, then d coefficients
    domain: FloatArray  # b - A x >= 0: offset, then d coefficients
    roundoff: FloatArray  # per layer: |error| <= roundoff * (running bound)
    through_first: bool  # no layer but the first one reads the input


def build_program(network: Network, domain: Domain) -> Program:
    """Flatten a network (slices already composed) and its domain.

    Parameters
    ----------
    network : Network
    domain : Domain
        Not a slice; see `tropicell.network.domains.resolve`.

    Returns
    -------
    Program

    Examples
    --------
    >>> from tropicell.network.domains import Box
    >>> program = build_program(Network.mlp([[[1.0], [-1.0]], [[1.0, 1.0]]]), Box(0, 1))
    >>> program.first_cut, program.domain
    (array([0, 2]), array([[ 1., -1.],
           [-0.,  1.]]))
    """
    d = network.n_inputs
    inputs = np.zeros((d, d + 1))
    inputs[:, 1:] = np.eye(d)
    if network.float_embedding is not None:
        inputs = np.column_stack([network.float_embedding.offset, network.float_embedding.matrix])
    a, b = domain.inequalities(d)
    widths = list(network.widths)
    first_neuron = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
    matrix = _all_weights(network, len(inputs), first_neuron)
    pieces = network.pieces.astype(np.int64)
    most = int(pieces.max(initial=1))
    breaks = np.full((len(pieces), most), np.inf)
    slopes, intercepts = np.zeros((len(pieces), most)), np.zeros((len(pieces), most))
    for start, layer in zip(first_neuron, network.layers, strict=False):
        activation, stop = layer.activation, start + layer.width
        columns = activation.slopes.shape[1]
        breaks[start:stop, : columns - 1] = activation.breakpoints
        slopes[start:stop, :columns] = activation.slopes
        intercepts[start:stop, :columns] = activation.intercepts
    neuron_cut = np.concatenate([[0], np.cumsum(pieces - 1)]).astype(np.int64)
    bias = [layer.affine.bias for layer in network.layers]
    program = Program(
        first_neuron=first_neuron,
        first_cut=neuron_cut[first_neuron],
        neuron_cut=neuron_cut,
        cut_neuron=np.repeat(np.arange(len(pieces), dtype=np.int64), pieces - 1),
        cut_break=breaks[np.isfinite(breaks)],
        slopes=slopes,
        intercepts=intercepts,
        indptr=matrix.indptr.astype(np.int64),
        indices=matrix.indices.astype(np.int64),
        weights=matrix.data.astype(np.float64),
        bias=np.concatenate([*bias, np.empty(0)]),
        inputs=np.ascontiguousarray(inputs, dtype=np.float64),
        domain=np.ascontiguousarray(np.column_stack([b, -a])),
        roundoff=np.zeros(len(widths)),
        through_first=all(0 not in layer.affine.terms for layer in network.layers[1:]),
    )
    rounded = 2.0 if rounds_layer_0(network) else 0.0
    return program._replace(roundoff=_roundoff(program, len(widths), 4.0 + rounded))


def _all_weights(network: Network, n_inputs: int, first: IntArray) -> Any:
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


def _roundoff(program: Program, depth: int, before: float) -> FloatArray:
    """Twice the bound gamma_k of the roundings on any path from the input to a layer.

    There are some `before` the first layer, that of layer 0 itself included.
    Each layer adds at most (terms + 5) roundings to a chain of products and sums: the terms of
    its scalar products, bias, breakpoint, slope, intercept, and the intercept's own rounding.
    Doubled, it also covers the roundings of the running bound itself.
    """
    numbers = np.concatenate(
        [
            program.weights,
            program.bias,
            program.slopes.ravel(),
            program.intercepts.ravel(),
            program.inputs.ravel(),
            program.domain.ravel(),
            program.cut_break,
        ]
    )
    sizes = np.abs(numbers[numbers != 0])
    fan_in = np.diff(program.indptr)
    most = max(1.0, float(sizes.max(initial=1.0)))
    least = min(1.0, float(sizes.min(initial=1.0)))
    result, roundings, log_most, log_least = np.zeros(depth), before, 0.0, 0.0
    for layer in range(depth):
        terms = fan_in[program.first_neuron[layer] : program.first_neuron[layer + 1]]
        width = float(terms.max(initial=1))
        roundings += width + 6.0
        log_most += 2 * np.log10(most) + np.log10(width + 2.0)
        log_least += 2 * np.log10(least)
        safe = log_most < np.log10(_SAFE[1]) and log_least > np.log10(_SAFE[0])
        result[layer] = 2.0 * roundings * ROUND * 1.01 if safe else np.inf
    return result
