"""The exact version of the cells engine: decides what the float filter cannot.

It works layer by layer on single cells, in integers. Cells without a corner (with a lineality
space) are always its business; all others come from the kernels' lists of unsure cells, and
go back to them as soon as a layer is finished.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from math import lcm
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell.engines.cells._exact_cone import (
    Cone,
    Vector,
    cut,
    halves,
    reduced,
    side,
    whole_space,
)
from tropicell.geometry.arithmetic import EXACT
from tropicell.network.domains import Domain
from tropicell.network.flat import FlatNetwork
from tropicell.network.network import Network

#: So many prefixes' exact maps are kept.
_REMEMBERED = 256

#: Cells with more facets than this stay in exact arithmetic: the kernels count facets in 64 bits.
MOST_FACETS = 56


@dataclass(frozen=True)
class ExactCell:
    """A cell whose pieces are known for all layers before `layer`.

    `layer` = depth + 1 stands for a finished region.
    """

    layer: int
    pattern: bytes
    cone: Cone


class _Known(NamedTuple):
    """Exact maps for the pieces of some layers.

    The outputs of these layers, the pre-activations of the next one, and rows of its lines.
    """

    columns: list[NDArray[Any]]
    before: NDArray[Any]
    rows: dict[int, Vector]


class ExactCells:
    """Exact cutting of cells.

    Parameters
    ----------
    network : Network
    domain : Domain
        Not a slice.
    flat : FlatNetwork
        Gives the numbers of the lines.
    """

    def __init__(self, network: Network, domain: Domain, flat: FlatNetwork) -> None:
        self._network = network
        self._maps = network.maps("exact")
        self._flat = flat
        self._line_starts: list[int] = flat.lines.line_start.tolist()
        self._domain = [_integers(EXACT.array(row)) for row in self._domain_rows(domain)]
        self._known: OrderedDict[bytes, _Known] = OrderedDict()
        self.decisions = 0

    def copy(self) -> ExactCells:
        """The same, for another run: with counters and memory of its own."""
        twin = copy(self)
        twin._known = OrderedDict()
        twin.decisions = 0
        return twin

    def _domain_rows(self, domain: Domain) -> list[NDArray[np.float64]]:
        d = self._network.n_inputs
        a, b = domain.inequalities(d)
        infinity = np.zeros(d + 1)
        infinity[-1] = 1.0
        return [infinity, *np.concatenate([-a, b[:, None]], axis=1)]

    def root(self) -> ExactCell | None:
        """The domain; None if it has no interior."""
        cone: Cone | None = whole_space(self._network.n_inputs + 1)
        for index, row in enumerate(self._domain):
            # 0 · x <= 0 holds everywhere; such a row keeps its number, and is never a facet.
            if cone is not None and any(row):
                cone = cut(cone, row, index + 1)
        return None if cone is None else ExactCell(1, b"", cone)

    def rebuild(self, layer: int, pattern: bytes, labels: list[int]) -> Cone:
        """A cell from the labels of its facets."""
        cone: Cone | None = whole_space(self._network.n_inputs + 1)
        for label in labels:
            row = self._row(abs(label) - 1, pattern)
            assert cone is not None
            cone = cut(cone, row if label > 0 else tuple(-x for x in row), label)
        assert cone is not None
        return cone

    def lines_of(self, layer: int) -> list[int]:
        """All lines of a layer."""
        starts = self._flat.lines.line_start
        return list(range(int(starts[layer]), int(starts[layer + 1])))

    def finish_layer(
        self, cell: ExactCell, pieces: bytearray, lines: list[int], *, stop_when_pointed: bool
    ) -> Iterator[ExactCell]:
        """Cut a cell by the given lines of its layer.

        Parameters
        ----------
        cell : ExactCell
        pieces : bytearray
            Pieces of the layer's neurons as far as the other lines decide them.
        lines : list of int
            The lines that are not decided.
        stop_when_pointed : bool
            Give cells back, within the layer, as soon as they have a corner.

        Yields
        ------
        ExactCell
            Cells of the next layer; or pointed ones of the same layer, if asked for.
        """
        first = int(self._flat.lines.row_start[cell.layer])
        stack = [(cell.cone, pieces, lines)]
        while stack:
            cone, pieces, lines = stack.pop()
            if stop_when_pointed and cone.pointed and len(cone.rows) <= MOST_FACETS:
                yield ExactCell(cell.layer, cell.pattern, cone)
                continue
            rest = list(lines)
            while rest:
                line = rest.pop()
                neuron = int(self._flat.lines.line_row[line]) - first
                row = self._row(line, cell.pattern)
                where = side(cone, row)
                self.decisions += 1
                if where > 0:
                    pieces[neuron] += 1
                elif where == 0:
                    positive, negative = halves(cone, row, line + 1)
                    above = bytearray(pieces)
                    above[neuron] += 1
                    stack.append((positive, above, rest))
                    stack.append((negative, bytearray(pieces), rest))
                    break
            else:
                yield ExactCell(cell.layer + 1, cell.pattern + bytes(pieces), cone)

    def _row(self, line: int, pattern: bytes) -> Vector:
        """Exact row of a line, up to a positive factor."""
        if line < len(self._domain):
            return self._domain[line]
        flat = self._flat.lines
        layer = bisect_right(self._line_starts, line) - 1
        known = self._layers(layer, pattern[: self._flat.first_neuron(layer)])
        if line not in known.rows:
            row = known.before[int(flat.line_row[line]) - int(flat.row_start[layer])]
            if flat.line_at[line] != 0.0:
                row = row.copy()
                row[-1] = row[-1] - EXACT.array([flat.line_at[line]])[0]
            known.rows[line] = _integers(row)
        return known.rows[line]

    def _layers(self, layer: int, prefix: bytes) -> _Known:
        """The maps of the layers up to `layer`, of which those before have these pieces."""
        found = self._known.get(prefix)
        if found is not None and len(found.columns) == layer:
            self._known.move_to_end(prefix)
            return found
        start, unit = self._maps.coordinates()
        if layer == 1:
            columns = [start]
        else:
            width = self._network.widths[layer - 2]
            earlier = self._layers(layer - 1, prefix[: len(prefix) - width])
            pieces = np.frombuffer(prefix[len(prefix) - width :], dtype=np.uint8)
            columns = [*earlier.columns, self._maps.after(layer - 1, earlier.before, pieces, unit)]
        result = _Known(columns, self._maps.before(layer, columns, unit), {})
        self._known[prefix] = result
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return result


def _integers(row: NDArray[Any]) -> Vector:
    """A rational row times a positive number, in integers without common divisor."""
    scale = lcm(*(int(x.q) for x in row))
    return reduced([int(x.p) * (scale // int(x.q)) for x in row])
