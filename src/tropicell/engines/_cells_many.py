"""Counting many networks of one shape in the plane: the plane kernel in a loop without Python.

To prepare a network for the kernel takes longer than to count its hundred regions. So networks that
differ in their numbers only are prepared together, as stacked arrays, and counted in one loop. What
the loop cannot do (a sign in doubt, numbers of unusual size) it leaves to the ordinary way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell.domains import Domain
from tropicell.engines import _cells_buffers as buffers
from tropicell.engines._cells_plane import run_plane
from tropicell.engines._cells_state import (
    CONFLICTS,
    CORNERS,
    COUNT,
    DONE,
    GROW,
    PATTERNS,
    ROUND,
    SEED,
    STATE_SIZE,
    TINY,
    TOP,
    UNSURE,
    UNSURE_CONFLICTS,
    UNSURE_CORNERS,
    Seeds,
)
from tropicell.engines._exact_cells import ExactCell, ExactCells
from tropicell.engines._jit import kernel
from tropicell.engines.program import (
    LineArrays,
    MapArrays,
    Program,
    compile_program,
    input_scales,
    is_sparse,
)
from tropicell.engines.tame import are_tame, is_tame
from tropicell.network import Network

FloatArray = NDArray[np.float64]

#: Regions of one network after which the ordinary way, which looks at the clock, takes over.
_MOST_REGIONS = 1 << 62
_MOST_STEPS = 1 << 62

#: What a count says of a network that the loop could not count.
LEFT = -1


class Stack(NamedTuple):
    """The numbers in which networks of one shape differ; the first index is the network."""

    bias: FloatArray
    weights: FloatArray
    slack: FloatArray
    input_rows: FloatArray
    domain_rows: FloatArray
    scale: FloatArray
    start: NDArray[np.int64]  # which of the seeds; -1: leave this network to the ordinary way


class Shape(NamedTuple):
    """What networks of one shape on one domain have in common."""

    program: Program  # of one of them
    seeds: tuple[Seeds, Seeds]


def signature(network: Network) -> tuple[Any, ...] | None:
    """Networks with equal signatures differ in numbers only; None: count it the ordinary way."""
    if network.n_inputs != 2 or network.embedding is not None or network.depth == 0:
        return None
    parts: list[Any] = []
    for layer in network.layers:
        activation, affine = layer.activation, layer.affine
        for source, matrix in affine.terms.items():
            if not isinstance(matrix, np.ndarray) or is_sparse(matrix):
                return None
            parts += [source, matrix.shape]
        parts += [activation.breakpoints.shape, activation.breakpoints.tobytes()]
        parts += [activation.slopes.tobytes(), activation.intercepts.tobytes()]
    return tuple(parts)


def prepare(networks: Sequence[Network], domain: Domain) -> tuple[Shape, Stack]:
    """Everything that the loop reads, for networks of equal signature."""
    first = networks[0]
    program = compile_program(first, domain)
    layers = range(first.depth)
    biases = [np.stack([n.layers[k].affine.bias for n in networks]) for k in layers]
    matrices = [
        (source, np.stack([np.asarray(n.layers[k].affine.terms[source]) for n in networks]))
        for k in layers
        for source in first.layers[k].affine.terms
    ]
    count = len(networks)
    scale = input_scales(
        [m for source, m in matrices if source == 0],
        [biases[k] for k in layers if 0 in first.layers[k].affine.terms],
    )
    bias = np.concatenate([np.zeros((count, 2)), *biases], axis=1)
    a, b = domain.inequalities(2)
    domain_rows = np.zeros((count, 1 + len(a), 3))
    domain_rows[:, 0, 2] = 1.0
    domain_rows[:, 1:, :2] = -a / scale[:, None, :]
    domain_rows[:, 1:, 2] = b
    input_rows = np.zeros((count, 2, 3))
    input_rows[:, [0, 1], [0, 1]] = 1.0 / scale
    weights = [m.transpose(0, 2, 1).reshape(count, -1) for _, m in matrices]
    stack = Stack(
        bias=bias,
        weights=np.concatenate(weights, axis=1),
        slack=_slack(program, bias),
        input_rows=input_rows,
        domain_rows=domain_rows,
        scale=scale,
        start=np.where(are_tame([*biases, *weights]), 0, -1),
    )
    if not is_tame(first, domain):  # the domain or the activations may be the reason
        stack.start[:] = -1
    return Shape(program, _seeds(networks, domain, program, stack)), stack


def _slack(program: Program, bias: FloatArray) -> FloatArray:
    lines, gamma = program.lines, program.maps.gamma
    inner = lines.line_row >= 0
    rows = lines.line_row[inner]
    layer = np.searchsorted(lines.row_start, rows, side="right") - 1
    slack = np.zeros((len(bias), len(lines.line_row)))
    slack[:, inner] = gamma[layer] * (np.abs(bias[:, rows]) + np.abs(lines.line_at[inner])) + TINY
    return slack


def _seeds(
    networks: Sequence[Network], domain: Domain, program: Program, stack: Stack
) -> tuple[Seeds, Seeds]:
    """Where to start: the domain if it has a corner, or the four parts that two lines make of R^2.

    Which way round the corners of those parts come depends on the sign of a determinant alone.
    """
    root = ExactCells(networks[0], domain, program).root()
    assert root is not None
    if root.cone.pointed:
        seeds = buffers.plane_seeds(program, [root])
        return seeds, seeds
    width = networks[0].widths[0]
    if len(program.lines.domain_rows) > 1 or not program.lines.plain[1] or width < 2:
        stack.start[:] = -1
        nothing = buffers.plane_seeds(program, [])
        return nothing, nothing
    first = np.stack([np.asarray(n.layers[0].affine.terms[0])[-2:] for n in networks])
    p, q = first[:, 0, 0] * first[:, 1, 1], first[:, 0, 1] * first[:, 1, 0]
    clear = np.abs(p - q) > 4 * ROUND * (np.abs(p) + np.abs(q)) + TINY
    stack.start[~clear] = -1
    usable = stack.start >= 0
    stack.start[usable & (p < q)] = 1
    found = []
    for side in (0, 1):
        members = np.flatnonzero(stack.start == side)
        cells = _parts(networks[members[0]], domain, program) if members.size else []
        found.append(buffers.plane_seeds(program, cells))
    return found[0], found[1]


def _parts(network: Network, domain: Domain, program: Program) -> list[ExactCell]:
    exact = ExactCells(network, domain, program)
    root = exact.root()
    assert root is not None
    pieces = bytearray(network.widths[0])
    return list(exact.finish_layer(root, pieces, exact.lines_of(1), stop_when_pointed=True))


class Counter:
    """Buffers of one thread, to count networks of one shape."""

    def __init__(self, shape: Shape, stack: Stack, *, exact: bool, tolerance: float) -> None:
        program = shape.program
        self._shape, self._all = shape, stack
        self._exact, self._tolerance = exact, tolerance
        self._stack = buffers.plane_stack(program)
        self._records = np.zeros((256, 11), np.int64)
        self._out = buffers.batch_arrays(program, False)
        self._unsure = buffers.unsure_arrays(program)
        self._state = np.zeros(STATE_SIZE, np.int64)
        self._maps = (
            np.zeros((4, program.rows)),
            np.zeros((5, program.rows)),
            np.zeros(program.neurons, np.uint8),
            np.full(program.depth + 2, -1, np.int64),
        )

    def count(self, first: int, last: int, counts: NDArray[np.int64]) -> None:
        """Write the number of regions of some networks, or `LEFT`."""
        while first < last:
            first = count_some(
                self._shape.program,
                self._all,
                self._shape.seeds[0],
                self._shape.seeds[1],
                *self._maps,
                self._stack,
                self._records,
                self._out,
                self._unsure,
                self._state,
                self._exact,
                self._tolerance,
                first,
                last,
                counts,
            )
            if first < last:
                self._stack = buffers.grown(self._stack)
                self._records = buffers.twice(self._records)


@kernel
def count_some(
    program: Any,
    networks: Any,
    seeds: Any,
    other_seeds: Any,
    before: Any,
    after: Any,
    pattern: Any,
    changes: Any,
    stack: Any,
    records: Any,
    out: Any,
    unsure: Any,
    state: Any,
    exact: bool,
    tolerance: float,
    first: int,
    last: int,
    counts: Any,
) -> int:
    """Count the networks first … last - 1; where the stack is too small, return the network."""
    maps, lines = program.maps, program.lines
    for k in range(first, last):
        counts[k] = LEFT
        if networks.start[k] < 0:
            continue
        one = Program(
            MapArrays(
                maps.dimension,
                maps.row_start,
                networks.bias[k],
                maps.slopes,
                maps.intercepts,
                networks.input_rows[k],
                maps.term_start,
                maps.terms,
                networks.weights[k],
                maps.columns,
                maps.targets,
                maps.gamma,
            ),
            LineArrays(
                lines.dimension,
                lines.depth,
                lines.row_start,
                lines.line_start,
                lines.line_row,
                lines.line_at,
                networks.slack[k],
                lines.plain,
                networks.domain_rows[k],
                networks.scale[k],
            ),
        )
        state[TOP] = state[CORNERS] = state[CONFLICTS] = state[PATTERNS] = 0
        state[SEED] = state[COUNT] = 0
        state[UNSURE] = state[UNSURE_CORNERS] = state[UNSURE_CONFLICTS] = 0
        changes[:] = -1
        code = run_plane(
            one,
            before,
            after,
            pattern,
            changes,
            stack,
            records,
            seeds if networks.start[k] == 0 else other_seeds,
            out,
            unsure,
            state,
            exact,
            tolerance,
            False,
            False,
            _MOST_REGIONS,
            _MOST_STEPS,
        )
        if code == GROW:
            return k
        if code == DONE and state[UNSURE] == 0:
            counts[k] = state[COUNT]
    return last
