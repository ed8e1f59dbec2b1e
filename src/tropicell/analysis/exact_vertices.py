"""Vertices of complexes in rationals, all of them in one go.

A vertex is where some boundaries meet: their rows, in the region that it belongs to, are integers,
and so it is a quotient of determinants. Regions are looked at in the order of their patterns: what
the first layers do is worked out once for all regions that share it.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import fmpq, fmpz, fmpz_mat
from numpy.typing import NDArray

from tropicell._runtime.interruption import check
from tropicell.errors import InvalidInputError
from tropicell.geometry.arithmetic import to_fractions, to_rationals
from tropicell.geometry.polyhedra import integer_row
from tropicell.network.integer_maps import IntegerMaps, ScaledColumns
from tropicell.network.patterns import PatternArray, split_layers

if TYPE_CHECKING:
    from tropicell.analysis.complex import Complex
    from tropicell.analysis.cut_functions import CutFunction


def exact_vertices(complex_: Complex, which: NDArray[np.int64]) -> NDArray[Any]:
    """Vertices in rationals, shape (vertices, inputs); the network's matrices must be dense."""
    d = complex_.faces.vertices.shape[1]
    found = np.empty((len(which), d), dtype=object)
    if not d or not len(which):
        return found
    owners = complex_.owners(0)[which]
    regions, region_of = np.unique(owners, return_inverse=True)
    patterns = np.ascontiguousarray(complex_.regions.patterns[regions])
    texts = [pattern.tobytes() for pattern in patterns]
    rank = np.empty(len(regions), np.int64)
    rank[sorted(range(len(regions)), key=texts.__getitem__)] = np.arange(len(regions))
    rows, last = _Rows(complex_), -1
    dims, numbers = (column[which] for column in complex_.carriers[0])
    levels = complex_.on_levels[0][which]
    for i in np.argsort(rank[region_of], kind="stable").tolist():
        check()
        if region_of[i] != last:
            last = region_of[i]
            rows.look_at(patterns[last])
        lines = complex_.faces.lines[dims[i]][int(numbers[i])]
        equations = [rows.line(line) for line in lines.tolist()]
        active = int(levels[i])
        equations += [rows.level(lv) for k, lv in enumerate(complex_.levels) if active >> k & 1]
        reduced, below, rank_found = fmpz_mat(equations).rref()
        if rank_found != d or not reduced[d - 1, d - 1]:
            raise InvalidInputError(f"vertex {which[i]} is not a point: rank {rank_found}")
        point = [fmpq(-reduced[k, d], below) for k in range(d)]
        found[i] = to_fractions(np.array(point, dtype=object))
    return found


class _Rows:
    """Boundaries and levels as integer rows ``a·x + c`` (c last) on one region after the other."""

    def __init__(self, complex_: Complex) -> None:
        network = complex_.regions.network
        self._maps, self._lines = IntegerMaps(network), complex_.lines
        start, self._one = self._maps.coordinates()
        #: For the layers of the pattern that were looked at: outputs, and what is before them.
        self._columns, self._before = [start], list[ScaledColumns]()
        self._parts: list[PatternArray] = []
        a, b = complex_.regions.domain.inequalities(network.n_inputs)
        rationals = to_rationals(np.concatenate([a, -b[:, None]], axis=1))
        self._domain = [[fmpz(x) for x in integer_row(row)] for row in rationals]
        self._levels: dict[CutFunction, tuple[Any, Any]] = {}

    def look_at(self, pattern: PatternArray) -> None:
        """Look at the region of a pattern; what it shares with the one before is kept."""
        parts = split_layers(pattern, self._maps.network.widths)
        same = 0
        for mine, known in zip(parts, self._parts, strict=False):
            if not np.array_equal(mine, known):
                break
            same += 1
        self._parts = parts
        del self._columns[same + 1 :], self._before[same + 1 :]

    def line(self, line: int) -> list[Any]:
        """The row of a line."""
        lines = self._lines
        if line < lines.first:
            return self._domain[line - 1]
        k = line - lines.first
        layer = int(lines.layer[k])
        place = int(lines.index[k]), int(lines.breakpoint[k])
        return self._maps.boundary(layer, *place, self._layer(layer))

    def level(self, level: CutFunction) -> list[Any]:
        """The row of a level."""
        if level not in self._levels:
            numbers = integer_row(map(Fraction, (*level.weights.tolist(), level.value)))
            self._levels[level] = fmpz_mat([list(numbers[:-1])]), fmpz(numbers[-1])
        weights, value = self._levels[level]
        outputs = self._layer(self._maps.network.depth + 1)
        row: list[Any] = (weights * outputs.numbers).entries()
        row[-1] -= value * outputs.scale
        return row

    def _layer(self, layer: int) -> ScaledColumns:
        """What is before the activation of a layer."""
        while len(self._before) < layer:
            at = len(self._before)
            if at == len(self._columns):
                before, pieces = self._before[-1], self._parts[at - 1]
                self._columns.append(self._maps.after(at, before, pieces, self._one))
            self._before.append(self._maps.before(at + 1, self._columns, self._one))
        return self._before[layer - 1]
