"""Algorithm 2 of the paper, `Traverse`, in exact rational arithmetic: the oracle.

It walks the tree of patterns layer by layer. Where the paper tries every assignment of a layer and
tests for emptiness at the full depth, this one assigns neuron by neuron and turns back as soon as
the region of a prefix is empty: the same regions, without the exponential blow-up.

The numbers in the code are the lines of the paper::

     1: results ← a global array
     2: function Traverse(depth, v)
     3:     if depth = L
     4:         msg ← FindLinearRegion(v)
     5:         if msg shows an empty region
     6:             return the index of failure
     7:         else
     8:             append the region to the results
     9:             return nothing
    10:     else
    11:         for each possible assignment of a layer's neurons
    12:             v' ← the assignment
    13:             msg ← Traverse(depth + 1, v ∪ v')
    14:             if msg contains an index of failure below the current depth
    15:                 return the index of failure

Every decision is exact (see `tropicell.geometry.polyhedra`): slow, and right on every network.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell.errors import InvalidDomainError
from tropicell.geometry.polyhedra import Cell, integer_row
from tropicell.network.domains import Domain, WholeSpace
from tropicell.network.inequalities import cut_by, domain_inequalities
from tropicell.network.network import Network
from tropicell.network.patterns import PatternArray


def traverse(network: Network, domain: Domain | None = None) -> Iterator[tuple[PatternArray, Cell]]:
    """All regions of a network, one by one, in lexicographic order of their patterns.

    Parameters
    ----------
    network : Network
        Restrict it first if you want the regions on a slice.
    domain : Domain, optional
        Default: all of R^n.

    Yields
    ------
    pattern : ndarray of uint8
    cell : Cell
        The region's inequalities as integers, and a witness strictly inside.

    Examples
    --------
    >>> network = Network.mlp([[[1.0], [1.0]], [[1.0, -1.0]]], [[0.0, -1.0], [0.0]])
    >>> [pattern.tolist() for pattern, _ in traverse(network)]
    [[0, 0], [1, 0], [1, 1]]
    """
    return Traversal(network).run(start_cell(network, domain))


def start_cell(network: Network, domain: Domain | None) -> Cell:
    """The domain as a cell.

    Examples
    --------
    >>> from tropicell import Box
    >>> len(start_cell(Network.mlp([[[1.0, 1.0]]]), Box(0, 1)).rows)
    4
    """
    dimension = network.n_inputs
    rows = domain_inequalities(domain or WholeSpace(), dimension, "exact")
    cell = cut_by(Cell.whole_space(dimension), rows)
    if cell is None:
        raise InvalidDomainError(f"the domain {domain!r} has no interior points")
    return cell


class Traversal:
    """A walk through the tree of patterns; the layers and pieces so far are its state."""

    def __init__(self, network: Network) -> None:
        self.depth = network.depth
        self.maps = network.maps("exact")
        start, self.one = self.maps.coordinates()
        self.columns: list[NDArray[Any]] = [start]
        self.counts = [layer.activation.pieces.tolist() for layer in network.layers]
        self.pattern: list[int] = []

    def run(self, cell: Cell) -> Iterator[tuple[PatternArray, Cell]]:
        """The paper's Traverse(depth, v), with v = `self.pattern` and depth = layers in it."""
        layer = len(self.columns)
        # 3: at the full depth (4, 5: the cell was found on the way, and is not empty) …
        if layer > self.depth:
            # 1, 8: … hand the region over.
            yield np.array(self.pattern, dtype=np.uint8), cell
            return
        # 10 to 12: for each assignment of the next layer's neurons whose region is not empty …
        before = self.maps.before(layer, self.columns, self.one)
        for part in self.assignments(layer, before, 0, cell):
            pieces = np.array(self.pattern[-len(before) :], dtype=np.uint8)
            self.columns.append(self.maps.after(layer, before, pieces, self.one))
            # 13: … go one layer deeper.
            yield from self.run(part)
            self.columns.pop()

    def assignments(
        self, layer: int, before: NDArray[Any], neuron: int, cell: Cell
    ) -> Iterator[Cell]:
        """Every assignment of pieces to the neurons of a layer whose region is not empty.

        The assignment is left in `self.pattern`; what is yielded is its cell.
        """
        if neuron == len(before):
            yield cell
            return
        for piece in range(self.counts[layer - 1][neuron]):
            part = self.on_piece(layer, before[neuron], neuron, piece, cell)
            # 5, 6 and 14, 15: turn back where the region is empty, here after every neuron.
            if part is not None:
                self.pattern.append(piece)
                yield from self.assignments(layer, before, neuron + 1, part)
                self.pattern.pop()

    def on_piece(
        self, layer: int, row: NDArray[Any], neuron: int, piece: int, cell: Cell
    ) -> Cell | None:
        """The part of a cell where a neuron's pre-activation z lies on one piece."""
        breakpoints = self.maps.activation(layer)[0][neuron]
        part: Cell | None = cell
        if piece > 0:  # z > t
            t = breakpoints[piece - 1]
            part = cell.cut(integer_row([*row[:-1], row[-1] - t]))
        if part is not None and piece < self.counts[layer - 1][neuron] - 1:  # z <= t
            t = breakpoints[piece]
            part = part.cut(integer_row([*(-row[:-1]), t - row[-1]]), closed=True)
        return part
