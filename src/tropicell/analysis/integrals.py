"""Integrals of outputs over all regions at once, cell by cell of the layers before the last one.

Docs: docs/exactness.md, "Integrals". With five inputs and more, corners take longer to find than
regions. A last layer of many neurons cuts a cell of the layers before it into many regions, but its
bends can be integrated over the whole cell. So only the corners of these cells are needed, which
are few. `_bends.py` does it; cells that are not simple are left to `measure.integral`.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell._runtime.parts import in_parts
from tropicell._runtime.progress import bar_of
from tropicell.analysis.best_regions import has_bounds, objectives_of
from tropicell.analysis.graph import flip_lines
from tropicell.network.inequalities import reads_nothing
from tropicell.network.network import Network
from tropicell.regions.columns import PackedPatterns
from tropicell.regions.regions import Regions

#: Cells that a thread takes at a time.
_AT_ONCE = 64


@dataclass(frozen=True, eq=False)
class CellIntegrals:
    """Integrals over cells of all layers but the last one.

    Attributes
    ----------
    values, errors : ndarray, shape (cells, outputs)
        The integrals (nan where they are not known), and what rounding may have made of them.
    cells : ndarray, shape (regions,)
        The cell of each region.
    """

    values: FloatArray
    errors: FloatArray
    cells: NDArray[np.intp]


def can_be_integrated(regions: Regions) -> bool:
    """Whether these are all regions of a bounded box, and there is a last layer.

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> network = Network.mlp([[[1.0]], [[1.0]]])
    >>> [can_be_integrated(enumerate_regions(network, *box)) for box in ((), (Box(0, 1),))]
    [False, True]
    """
    return regions.covers and regions.network.depth > 0 and has_bounds(regions)


def cell_integrals(
    regions: Regions, *, workers: int = 1, progress: bool | None = None
) -> CellIntegrals:
    """The integrals of all outputs over the cells of the layers before the last one.

    Parameters
    ----------
    regions : Regions
        With `can_be_integrated`.
    workers : int
        Number of threads; the values do not depend on it.
    progress : bool, optional
        Show a progress bar if it takes longer than two seconds; default: if standard error is a
        terminal.

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> network = Network.mlp([[[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]], [[1.0, 1.0]]])
    >>> found = cell_integrals(enumerate_regions(network, Box(-1, 1)))
    >>> found.values.round(12), found.cells.tolist()
    (array([[4.66666667]]), [0, 0, 0, 0])
    """
    from tropicell.analysis import _bends, _vertices  # noqa: PLC0415 - imports Numba
    from tropicell.network.flat import flatten  # noqa: PLC0415

    cells, labels = _cells(regions)
    network = cells.network
    flat = flatten(network, cells.domain)
    flips, box, outputs = flip_lines(cells, flat), objectives_of(cells, flat), network.n_outputs
    still = reads_nothing(network)[cells.lines.neuron]
    patterns = np.ascontiguousarray(cells.packed.words, dtype=np.uint64), cells.packed.bits, still
    last_layer = _last_layer(regions.network)
    found = np.full((len(cells), outputs), np.nan), np.zeros((len(cells), outputs))
    new_room = _vertices.walk_rooms(flat, patterns[0].shape[1])
    mine = threading.local()
    with bar_of(len(cells), " cells", progress) as bar:

        def work(part: slice) -> None:
            if not hasattr(mine, "room"):
                mine.room = _bends.bend_room(new_room(), outputs)
            which = part.start, part.stop, mine.room
            _bends.integrate_cells(flat, flips, box, patterns, last_layer, which, found)
            bar.update(part.stop - part.start)

        in_parts(work, len(cells), workers, _AT_ONCE)
    return CellIntegrals(*found, labels)


def _cells(regions: Regions) -> tuple[Regions, NDArray[np.intp]]:
    """The cells of the layers before the last one, and the cell of each region.

    Their network is `Network.without_last_bends`.
    """
    before, bits = regions.network.without_last_bends(), regions.packed.bits
    first, labels = np.zeros(1, np.intp), np.zeros(len(regions), np.intp)
    words = regions.packed.words[:1, :0]
    if regions.network.depth > 1:
        prefixes = regions.packed.first_neurons(sum(regions.network.widths[:-1]))
        first, labels, _ = prefixes.groups()
        words = prefixes.words
    columns = np.zeros((len(first), PackedPatterns.words_for(before.n_neurons, bits)), np.uint64)
    columns[:, : words.shape[1]] = words[first]
    packed = PackedPatterns(columns, before.n_neurons, bits)
    return Regions(before, regions.domain, packed, None), labels


def _last_layer(network: Network) -> tuple[FloatArray, ...]:
    """Weights of the outputs for the last layer; its breakpoints, slopes and intercepts."""
    layer = network.layers[-1]
    weights = np.zeros((network.n_outputs, layer.width))
    if network.depth in network.output.terms:
        matrix = network.output.terms[network.depth]
        weights = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
    activation = layer.activation
    arrays = weights, activation.breakpoints, activation.slopes, activation.intercepts
    return tuple(np.array(a, dtype=np.float64, order="C") for a in arrays)
