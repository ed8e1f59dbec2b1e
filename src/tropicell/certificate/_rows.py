"""Exact inequalities of patterns, and the pattern behind a facet: all from the weights."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell.geometry.arithmetic import to_rationals
from tropicell.geometry.polyhedra import Row, integer_row
from tropicell.network.domains import Domain
from tropicell.network.network import Network
from tropicell.network.patterns import PatternArray


class PatternRows:
    """The inequalities ``a·x + c >= 0`` of a network's patterns, as integers.

    Lines have the numbers of `tropicell.network.inequalities`: 1 … D for the domain, then neuron by
    neuron, breakpoint by breakpoint. Layers whose pattern did not change since the last call are
    not computed again, so an order in which neighbours have a common beginning is the fastest.

    Parameters
    ----------
    network : Network
    domain : Domain
        Not a `Slice`.
    """

    def __init__(self, network: Network, domain: Domain) -> None:
        self.network = network
        self.dimension = network.n_inputs
        self._maps = network.maps("exact")
        self._start, self._unit = self._maps.coordinates()
        a, b = domain.inequalities(self.dimension)
        pairs = zip(to_rationals(-a), to_rationals(b), strict=True)
        rows = enumerate((integer_row([*row, bound]) for row, bound in pairs), start=1)
        # A row without slope says nothing, or that the domain is empty: then no point is inside.
        self.domain: dict[int, Row] = {i: row for i, row in rows if any(row[:-1]) or row[-1] < 0}
        counts = network.pieces - 1
        self.first_line = 1 + len(b) + np.cumsum(counts) - counts
        self.ends = np.cumsum([0, *network.widths])
        # Of each neuron: its first line, how many it has, its layer, and its place there.
        layers = np.repeat(np.arange(1, network.depth + 1), network.widths)
        places = np.arange(len(layers)) - self.ends[layers - 1]
        columns = [column.tolist() for column in (self.first_line, counts, layers, places)]
        self._neurons: list[tuple[int, int, int, int]] = list(zip(*columns, strict=True))
        self._pattern: PatternArray | None = None
        self._columns: list[NDArray[Any]] = [self._start]
        self._befores: list[NDArray[Any]] = []
        self._known: list[dict[int, Row]] = []

    def of_pattern(self, pattern: PatternArray) -> dict[int, Row] | int:
        """The inequalities of a pattern by line; or the neuron that can't be on its piece.

        Neurons that are constant have no inequality: they are on their piece, or they are not.
        """
        self._go_to(pattern)
        rows = dict(self.domain)
        for neuron, piece in enumerate(pattern.tolist()):
            for breakpoint, sign in ((piece - 1, 1), (piece, -1)):
                row = self.line(neuron, breakpoint)
                if row is None:
                    continue
                if any(row[:-1]):
                    line = self._neurons[neuron][0] + breakpoint
                    rows[line] = row if sign > 0 else tuple(-value for value in row)
                elif not (row[-1] > 0 if sign > 0 else row[-1] <= 0):
                    return neuron
        return rows

    def of_lines(self, pattern: PatternArray, lines: Iterable[int]) -> list[Row]:
        """The inequalities of some lines that a pattern has."""
        self._go_to(pattern)
        rows = []
        for line in lines:
            if line in self.domain:
                rows.append(self.domain[line])
                continue
            neuron = int(np.searchsorted(self.first_line, line, side="right")) - 1
            breakpoint = line - int(self.first_line[neuron])
            row = self.line(neuron, breakpoint)
            assert row is not None
            above = pattern[neuron] > breakpoint
            rows.append(row if above else tuple(-value for value in row))
        return rows

    def line(self, neuron: int, breakpoint: int) -> Row | None:
        """``z - t`` for a breakpoint of a neuron on the current pattern; None if it has none."""
        first, count, layer, index = self._neurons[neuron]
        if not 0 <= breakpoint < count:
            return None
        known, line = self._known[layer - 1], first + breakpoint
        if line not in known:
            known[line] = self._row(layer, index, breakpoint, self._befores[layer - 1][index])
        return known[line]

    def _row(self, layer: int, index: int, breakpoint: int, before: NDArray[Any]) -> Row:
        threshold = self._maps.activation(layer)[0][index, breakpoint]
        return integer_row([*before[:-1], before[-1] - threshold])

    def _go_to(self, pattern: PatternArray) -> None:
        """Compute the layers of a pattern, from the first that differs on."""
        depth = self.network.depth
        same = 0
        if self._pattern is not None:
            different = np.flatnonzero(pattern != self._pattern)
            place = different[0] if different.size else self.ends[-1]
            same = int(np.searchsorted(self.ends[1:], place, side="right"))
            same = min(same + 1, depth)  # pre-activations of a layer do not depend on its pattern
        self._befores, self._known = self._befores[:same], self._known[:same]
        self._columns = self._columns[: max(1, same)]
        for layer in range(max(1, same), depth + 1):
            if layer > len(self._befores):
                self._befores.append(self._maps.before(layer, self._columns, self._unit))
                self._known.append({})
            pieces = pattern[self.ends[layer - 1] : self.ends[layer]]
            before = self._befores[layer - 1]
            self._columns.append(self._maps.after(layer, before, pieces, self._unit))
        self._pattern = pattern.copy()

    def behind(self, facet: Row) -> PatternArray:
        """The pattern on the other side of a facet of the current pattern's region.

        Neurons that are at a breakpoint everywhere on the facet's hyperplane go to the piece that
        their own slope behind it says, layer by layer; all others stay where they are.
        """
        assert self._pattern is not None
        opposite = tuple(-value for value in facet)
        pattern = self._pattern.copy()
        columns = [self._start]
        for layer in range(1, self.network.depth + 1):
            before = self._maps.before(layer, columns, self._unit)
            start, end = self.ends[layer - 1], self.ends[layer]
            for neuron in range(start, end):
                breakpoint = self._breakpoint_on(neuron, (facet, opposite))
                if breakpoint is not None:
                    row = self._row(layer, neuron - start, breakpoint, before[neuron - start])
                    # z - t is a multiple of the facet's row, which is negative behind the facet.
                    pattern[neuron] = breakpoint + 1 if row == opposite else breakpoint
            columns.append(self._maps.after(layer, before, pattern[start:end], self._unit))
        return pattern

    def _breakpoint_on(self, neuron: int, hyperplane: tuple[Row, Row]) -> int | None:
        """The breakpoint that a neuron is at on a whole hyperplane, or None."""
        assert self._pattern is not None
        piece = int(self._pattern[neuron])
        for breakpoint in (piece - 1, piece):
            row = self.line(neuron, breakpoint)
            if row is not None and (row in hyperplane or not any(row)):
                return breakpoint
        return None
