"""Algorithm 2 as it is printed, and what each idea since then gains, counted.

`as_printed` follows the paper to the letter: every assignment of every layer, Algorithm 1 at the
full depth, and the way back that lines 14 and 15 describe. `gains` runs it next to what came after
it, on one network, and counts how often each asks whether a set is empty:

1. every pattern: Algorithm 1 for all assignments of all neurons;
2. Algorithm 2 as printed;
3. prune per layer: a layer's assignments are tested before the next layer is looked at;
4. prune per neuron: a half-space is added only to what is left (`algorithm2`, the oracle);
5. cells: vertices and rays are kept, so their signs tell whether a boundary crosses a cell, and
   no linear program is solved;
6. conflict lists: a part of a cell is asked only for boundaries that crossed the cell.

Notes
-----
With N neurons in layers of n, L layers, R regions and at most R' cells on the way (prefixes with
interior):

- every pattern costs 2^N calls of Algorithm 1, and each up to L tests;
- as printed, a failure below the current layer ends the loop over a layer, but failures of the
  layer itself do not. So every prefix with interior tries all assignments of the next layer, and
  an empty one costs one call: 1 + Σ (2^n - 1) r calls, where r counts the regions of the first
  0, 1, …, L - 1 layers. (With four layers of three neurons and 58 such prefixes, 407 of 4,096.)
- per layer, R'·2^n tests, each a linear program with up to N inequalities in d variables;
- per neuron, at most 2·R'·N tests: nothing is exponential in n or N any more, but for R itself;
- cells, at most R'·N questions of a few additions for each corner;
- conflict lists, as many questions as cells have boundaries that cross their parent: about the size
  of the answer.

In a fixed dimension d, R is at most of the order N^d for one layer, so the last ones are polynomial
in the number of neurons where the first three are exponential.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.interruption import check
from tropicell.errors import InternalError, InvalidInputError
from tropicell.geometry.generators import generators
from tropicell.geometry.polyhedra import Cell, Row, integer_row
from tropicell.importers.models import as_network
from tropicell.network.domains import Domain
from tropicell.network.network import Network
from tropicell.paper.algorithm1 import find_region
from tropicell.paper.algorithm2 import Traversal, start_cell
from tropicell.regions.region import EmptyRegion

Pattern = tuple[int, ...]

#: Algorithm 2 as printed is not begun with more patterns than this.
MOST_PATTERNS = 2**16
#: Nor are all assignments of a layer tried one by one, if there are more.
_MOST_OF_A_LAYER = 2**12


@dataclass(frozen=True)
class Gain:
    """What one way to find all regions costs.

    Attributes
    ----------
    name : str
    calls : int
        Patterns that were handed to Algorithm 1.
    tests : int
        Sets that were tested for emptiness, each a linear program.
    questions : int
        Signs of a boundary at the corners of a cell that were asked for.
    seconds : float or None
        Processor time; None if it was only counted.
    regions : int
        Regions that were found.

    Examples
    --------
    >>> gains(Network.mlp([[[1.0], [1.0]], [[1.0, 1.0]]], [[0.0, -1.0], None]))[0]
    Gain(name='every pattern', calls=4, tests=4, questions=0, seconds=None, regions=3)
    """

    name: str
    calls: int
    tests: int
    questions: int
    seconds: float | None
    regions: int


class Printed:
    """A run of Algorithm 2 as it is printed.

    Parameters
    ----------
    network : Network
    domain : Domain, optional
        Default: all of R^n.

    Attributes
    ----------
    results : list of tuple of int
        Patterns of the regions.
    calls, tests : int
        Calls of Algorithm 1, and the tests for emptiness in them (one a layer).

    Examples
    --------
    >>> network = Network.mlp([[[-4, 1], [-4, -1]], [[-8, 3], [-21/4, 19/4]], [[1, 1]]],
    ...                       [[2, 3], [3, -11/4], [0]])
    >>> run = Printed(network)
    >>> len(run.results), run.calls
    (9, 16)
    """

    def __init__(self, network: Network, domain: Domain | None = None) -> None:
        network = as_network(network)
        patterns = prod(network.pieces.tolist())
        if patterns > MOST_PATTERNS:
            raise InvalidInputError(
                f"Algorithm 2 as printed would choose among {patterns:,} patterns, more than "
                f"{MOST_PATTERNS:,}; use enumerate_regions, or a network with fewer neurons"
            )
        self.network, self.domain = network, domain
        self.counts = [layer.activation.pieces.tolist() for layer in network.layers]
        # 1: results ← a global array
        self.results: list[Pattern] = []
        self.calls = self.tests = 0
        self._traverse(0, ())

    def _traverse(self, depth: int, v: Pattern) -> int | None:
        """2: function Traverse(depth, v); returns the index of a failure."""
        # 3: if depth == L
        if depth == self.network.depth:
            # 4: msg ← FindLinearRegion(v)
            msg = find_region(self.network, v, self.domain)
            self.calls += 1
            # 5, 6: if msg shows an empty region, return the index of failure
            if isinstance(msg, EmptyRegion):
                self.tests += msg.layer
                return msg.layer - 1  # the paper's ℓ counts from 0
            # 8, 9: append the region to the results, and return nothing
            self.tests += self.network.depth
            self.results.append(v)
            return None
        # 10, 11: for each possible assignment of a layer
        for assignment in product(*(range(count) for count in self.counts[depth])):
            check()
            # 12, 13: msg ← Traverse(depth + 1, v ∪ v')
            failure = self._traverse(depth + 1, v + assignment)
            # 14, 15: if msg contains an index of failure, and depth > that index, return it
            if failure is not None and depth > failure:
                return failure
        return None


class _CountingTraversal(Traversal):
    """The oracle, with a count of what it tests."""

    tests = 0

    def on_piece(
        self, layer: int, row: NDArray[Any], neuron: int, piece: int, cell: Cell
    ) -> Cell | None:
        self.tests += 1
        return super().on_piece(layer, row, neuron, piece, cell)


class _PerLayer(_CountingTraversal):
    """All assignments of a layer, each tested as a whole."""

    def assignments(
        self, layer: int, before: NDArray[Any], neuron: int, cell: Cell
    ) -> Iterator[Cell]:
        for assignment in product(*(range(count) for count in self.counts[layer - 1])):
            check()
            self.tests += 1
            part: Cell | None = cell
            for k, piece in enumerate(assignment):
                if part is not None:
                    part = Traversal.on_piece(self, layer, before[k], k, piece, part)
            if part is not None:
                self.pattern.extend(assignment)
                yield part
                del self.pattern[-len(assignment) :]


class _Cells:
    """Cells with their corners; with conflict lists or without."""

    def __init__(self, network: Network, *, lists: bool) -> None:
        self.network, self.lists = network, lists
        self.maps = network.maps("exact")
        start, self.one = self.maps.coordinates()
        self.columns: list[NDArray[Any]] = [start]
        self.questions = 0

    def run(self, rows: tuple[Row, ...]) -> Iterator[Pattern]:
        layer = len(self.columns)
        if layer > self.network.depth:
            yield ()
            return
        before = self.maps.before(layer, self.columns, self.one)
        breakpoints = self.maps.activation(layer)[0]
        boundaries = [
            (neuron, integer_row([*form[:-1], form[-1] - t]))
            for neuron, form in enumerate(before)
            for t in breakpoints[neuron if len(breakpoints) > 1 else 0]
            if t is not None
        ]
        for part, above in self._split(rows, boundaries, list(range(len(boundaries))), {}):
            pieces = np.zeros(len(before), dtype=np.uint8)
            for k, is_above in above.items():
                pieces[boundaries[k][0]] += is_above
            self.columns.append(self.maps.after(layer, before, pieces, self.one))
            for rest in self.run(part):
                yield (*pieces.tolist(), *rest)
            self.columns.pop()

    def _split(
        self,
        rows: tuple[Row, ...],
        boundaries: list[tuple[int, Row]],
        open_: list[int],
        above: dict[int, bool],
    ) -> Iterator[tuple[tuple[Row, ...], dict[int, bool]]]:
        """The parts of a cell on which every boundary has a side."""
        check()
        corners = generators(rows, self.network.n_inputs)
        points = [*corners.vertices, *((*ray, 0) for ray in corners.rays)]
        lines = corners.lineality
        crossing, known = [], dict(above)
        for place, k in enumerate(open_):
            self.questions += 1
            row = boundaries[k][1]
            values = [sum(a * b for a, b in zip(row, point, strict=True)) for point in points]
            both = any(sum(a * b for a, b in zip(row, line, strict=False)) for line in lines)
            if both or (max(values) > 0 and min(values) < 0):
                crossing.append(k)
                if not self.lists:
                    crossing += open_[place + 1 :]
                    break
            else:
                known[k] = max(values) > 0
        if not crossing:
            yield rows, known
            return
        k, *others = crossing
        row = boundaries[k][1]
        for is_above in (False, True):
            side = row if is_above else tuple(-a for a in row)
            yield from self._split((*rows, side), boundaries, others, known | {k: is_above})


def gains(network: Network, domain: Domain | None = None) -> list[Gain]:
    """What Algorithm 2 as printed, and each idea since then, costs on a network.

    Parameters
    ----------
    network : Network
    domain : Domain, optional
        Default: all of R^n.

    Returns
    -------
    list of Gain
        In the order of the ideas, all with the same regions. What is exponential is left out for
        networks with more than 2^16 patterns, or 2^12 in a layer.

    Examples
    --------
    >>> network = Network.mlp([[[-4, 1], [-4, -1]], [[-8, 3], [-21/4, 19/4]], [[1, 1]]],
    ...                       [[2, 3], [3, -11/4], [0]])
    >>> [(gain.calls, gain.tests, gain.questions) for gain in gains(network)]
    [(16, 32, 0), (16, 32, 0), (0, 20, 0), (0, 26, 0), (0, 0, 13), (0, 0, 14)]
    """
    network = as_network(network)
    every = prod(network.pieces.tolist())
    widest = max((prod(layer.activation.pieces.tolist()) for layer in network.layers), default=1)
    found: list[tuple[Gain, set[Pattern]]] = []

    def add(name: str, patterns: list[Pattern], start: float, **costs: int) -> None:
        every = {"calls": 0, "tests": 0, "questions": 0} | costs
        gain = Gain(name, **every, seconds=process_time() - start, regions=len(patterns))
        found.append((gain, set(patterns)))

    if every <= MOST_PATTERNS and widest <= _MOST_OF_A_LAYER:
        start = process_time()
        run = Printed(network, domain)
        add("Algorithm 2 as printed", run.results, start, calls=run.calls, tests=run.tests)
    kinds: dict[str, type[_CountingTraversal]] = {"prune per neuron": _CountingTraversal}
    if widest <= _MOST_OF_A_LAYER:
        kinds = {"prune per layer": _PerLayer} | kinds
    for name, kind in kinds.items():
        start = process_time()
        traversal = kind(network)
        patterns = [tuple(v.tolist()) for v, _ in traversal.run(start_cell(network, domain))]
        add(name, patterns, start, tests=traversal.tests)
    for name, lists in (("cells", False), ("conflict lists", True)):
        start = process_time()
        cells = _Cells(network, lists=lists)
        patterns = list(cells.run(start_cell(network, domain).rows))
        add(name, patterns, start, questions=cells.questions)
    first = found[0][1]
    for gain, own in found:
        if own != first or gain.regions != len(first):
            raise InternalError(f"'{gain.name}' finds other regions than '{found[0][0].name}'")
    brute = Gain("every pattern", every, _brute_tests(network, first), 0, None, len(first))
    return [brute, *(gain for gain, _ in found)]


def _brute_tests(network: Network, patterns: set[Pattern]) -> int:
    """Tests for emptiness if Algorithm 1 is called for every pattern: it stops at an empty prefix.

    So layer ℓ is tested for all patterns that begin like a region of the layers before.
    """
    choices = [prod(layer.activation.pieces.tolist()) for layer in network.layers]
    starts = np.cumsum([0, *network.widths])[:-1].tolist()
    prefixes = [len({pattern[:start] for pattern in patterns}) for start in starts]
    return sum(count * prod(choices[k:]) for k, count in enumerate(prefixes))
