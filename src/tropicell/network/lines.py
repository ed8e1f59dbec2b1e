"""Numbers for all boundaries of a network: every breakpoint of every neuron is a *line*.

Line 0 is the hyperplane at infinity, lines 1 … D are the inequalities of the domain, then come the
neurons, layer by layer, with their breakpoints in increasing order. Engines and facets use
these numbers; users get `Boundary` objects.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tropicell.network.domains import Domain
from tropicell.network.inequalities import Boundary
from tropicell.network.network import Network


@dataclass(frozen=True, eq=False)
class Lines:
    """What every line stands for.

    Attributes
    ----------
    first : int
        The first line that belongs to a neuron.
    neuron : ndarray
        For the lines from `first` on: index of the neuron in a pattern.
    breakpoint : ndarray
        Which of its breakpoints.
    layer, index : ndarray
        The neuron's layer (from 1), and its index there.
    """

    first: int
    neuron: NDArray[np.int64]
    breakpoint: NDArray[np.int64]
    layer: NDArray[np.int64]
    index: NDArray[np.int64]

    @property
    def count(self) -> int:
        """Number of lines, the one at infinity included."""
        return self.first + len(self.neuron)

    def boundary(self, line: int) -> Boundary:
        """The neuron or inequality of the domain of a line.

        Examples
        --------
        >>> from tropicell import Box
        >>> network = Network.mlp([[[1.0], [2.0]], [[1.0, 1.0]]])
        >>> str(lines_of(network, Box(-1, 1)).boundary(4))
        'layer 1, neuron 1'
        """
        if line < self.first:
            return Boundary(0, line - 1)
        k = line - self.first
        return Boundary(int(self.layer[k]), int(self.index[k]), int(self.breakpoint[k]))


def lines_of(network: Network, domain: Domain) -> Lines:
    """The lines of a network on a domain."""
    bends = network.pieces - 1
    widths = np.array(network.widths, dtype=np.int64)
    layers = np.repeat(np.arange(1, network.depth + 1), widths)
    indices = np.arange(network.n_neurons) - np.repeat(np.cumsum(widths) - widths, widths)
    neurons = np.repeat(np.arange(network.n_neurons), bends)
    breakpoints = np.arange(len(neurons)) - np.repeat(np.cumsum(bends) - bends, bends)
    first = 1 + len(domain.inequalities(network.n_inputs)[1])
    return Lines(first, neurons, breakpoints, layers[neurons], indices[neurons])
