"""The set that regions have to meet: as arrays for the kernels, and decided exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from tropicell._runtime.interruption import check
from tropicell.engines.cells._exact_cells import Cone, ExactCell, dot, reduced
from tropicell.engines.cells._where import Where
from tropicell.errors import InvalidInputError
from tropicell.geometry.arithmetic import EXACT
from tropicell.network.flat import LARGEST, SMALLEST, FlatNetwork
from tropicell.network.network import Network
from tropicell.network.output_sets import OutputSet

#: A ray, and the inequalities that are 0 there, as bits.
_Generator = tuple[tuple[int, ...], int]


class WantedSet:
    """A set of inputs by the outputs of a network, for the cells engine.

    Parameters
    ----------
    network : Network
    flat : FlatNetwork
    wanted : OutputSet

    Attributes
    ----------
    arrays : Where
        For the kernels.
    is_tame : bool
        Whether the numbers are of ordinary size; kernels must not be used otherwise.
    """

    def __init__(self, network: Network, flat: FlatNetwork, wanted: OutputSet) -> None:
        if not isinstance(wanted, OutputSet):
            raise InvalidInputError(
                "where must be a set by the outputs, such as Level(0.0) or DecisionBoundary(0, 1), "
                f"not {wanted!r}"
            )
        self._parts = wanted.parts(network.n_outputs)
        self._exact = [
            (EXACT.array(part.equal), EXACT.array(part.at_least)) for part in self._parts
        ]
        self._maps = network.maps("exact")
        functions = np.concatenate([np.concatenate([p.equal, p.at_least]) for p in self._parts])
        start = flat.maps.row_start
        weights = np.zeros((len(functions), int(start[-1])))
        last_reader = np.zeros(network.depth + 1, np.int64)
        for layer in range(1, network.depth + 1):
            for source in network.affine(layer).terms:
                last_reader[source] = max(last_reader[source], layer)
        numbers = [functions]
        for source, matrix in network.output.terms.items():
            known = matrix.tocsr() if hasattr(matrix, "tocsr") else matrix
            dense = known.toarray() if isinstance(known, sp.csr_array) else np.asarray(known)
            weights[:, start[source] : start[source + 1]] = functions[:, :-1] @ dense
            last_reader[source] = network.depth + 1
            numbers.append(dense)
        bias = functions[:, :-1] @ network.output.bias + functions[:, -1]
        numbers.append(network.output.bias)
        sizes = np.abs(np.concatenate([np.ravel(one) for one in numbers]))
        self.is_tame = bool(((sizes == 0) | ((sizes >= SMALLEST) & (sizes <= LARGEST))).all())
        ends = np.cumsum([0, *(len(p.equal) + len(p.at_least) for p in self._parts)])
        kinds = [[True] * len(p.equal) + [False] * len(p.at_least) for p in self._parts]
        rows = np.arange(int(start[-1]) + 1)
        self.arrays = Where(
            on=True,
            weights=np.ascontiguousarray(weights),
            bias=bias,
            part_start=ends.astype(np.int64),
            is_equal=np.array([kind for part in kinds for kind in part], np.bool_),
            first_row=int(np.flatnonzero(weights.any(axis=0))[:1].sum()),
            last_reader=last_reader,
            first_line=np.searchsorted(flat.lines.line_row, rows).astype(np.int64),
        )

    def meets(self, cell: ExactCell) -> bool:
        """Whether the set has a point in common with a finished region; nothing is rounded."""
        pattern = np.frombuffer(cell.pattern, np.uint8)
        outputs = self._maps.of_pattern(pattern)
        return any(
            _is_met(cell.cone, self._rows(equal, outputs), self._rows(at_least, outputs))
            for equal, at_least in self._exact
        )

    def _rows(self, functions: Any, outputs: Any) -> list[tuple[int, ...]]:
        """Functions of the outputs as rows of integers, each up to a positive factor."""
        from tropicell.geometry.polyhedra import integer_row  # noqa: PLC0415

        found = []
        for factors in functions:
            row = [0] * outputs.shape[1]
            row[-1] = factors[-1]
            for factor, output in zip(factors[:-1], outputs, strict=True):
                if factor:
                    row = [x + factor * y for x, y in zip(row, output, strict=True)]
            found.append(tuple(integer_row(row)))
        return found


def _is_met(cone: Cone, equal: list[tuple[int, ...]], at_least: list[tuple[int, ...]]) -> bool:
    """Whether a cell has a point where some rows are 0 and others are not negative."""
    lines = cone.lineality
    found: list[_Generator] = list(zip(cone.rays, cone.tight, strict=True))
    everywhere = (1 << len(cone.rows)) - 1  # a line lies on all facets
    for line in lines:
        found += [(line, everywhere), (tuple(-x for x in line), everywhere)]
    bit = 1 << len(cone.rows)
    for row in at_least:
        found = _cut(found, row, bit, keep=True, pointed=not lines)
        bit <<= 1
    for row in equal:
        found = _cut(found, row, bit, keep=False, pointed=not lines)
        bit <<= 1
    return any(ray[-1] > 0 for ray, _ in found)


def _cut(
    found: list[_Generator], row: tuple[int, ...], bit: int, *, keep: bool, pointed: bool
) -> list[_Generator]:
    """The part of a cone with row >= 0 (or row = 0), of any dimension, by its rays."""
    values = [dot(row, ray) for ray, _ in found]
    on = [(ray, tight | bit) for (ray, tight), v in zip(found, values, strict=True) if v == 0]
    above = [k for k, v in enumerate(values) if v > 0]
    below = [k for k, v in enumerate(values) if v < 0]
    for i in above:
        check()
        for j in below:
            common = found[i][1] & found[j][1]
            # Two rays span a face if no other ray lies on all facets that both lie on.
            if pointed and any(
                tight & common == common for k, (_, tight) in enumerate(found) if k not in (i, j)
            ):
                continue
            a, b = values[i], -values[j]
            pair = zip(found[j][0], found[i][0], strict=True)
            on.append((reduced([a * x + b * y for x, y in pair]), common | bit))
    if not pointed:
        on = list(dict.fromkeys(on))
    return ([found[k] for k in above] if keep else []) + on
