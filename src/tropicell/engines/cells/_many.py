"""Counting many networks of one shape in the plane: the plane kernel in a loop without Python.

To prepare a network for the kernel takes longer than to count its hundred regions. So of networks
that differ in their numbers only, a kernel gets these numbers, and prepares and counts one network
after the other. What it cannot do (a sign in doubt, numbers of unusual size) it
leaves to the ordinary way.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from math import ldexp
from typing import Any, NamedTuple

import numpy as np

from tropicell._runtime.arrays import FloatArray, IntArray
from tropicell._runtime.interruption import check
from tropicell._runtime.jit import (
    Entry,
    is_loaded,
    kernel,
)
from tropicell._runtime.memory import Blueprint
from tropicell.engines.cells import _buffers as buffers
from tropicell.engines.cells._exact_cells import ExactCells
from tropicell.engines.cells._search import search_polygons
from tropicell.engines.cells._state import (
    BATCH_FULL,
    CONFLICTS,
    COORDINATES,
    CORNERS,
    COUNT,
    DONE,
    GROW,
    PATTERNS,
    SEED,
    TOP,
    UNSURE,
    UNSURE_CONFLICTS,
    UNSURE_CORNERS,
    CellRoom,
    Seeds,
    W,
    X,
    Y,
)
from tropicell.engines.cells._units import CellOptions
from tropicell.engines.cells._where import nowhere
from tropicell.geometry.rounding import INFLATE, ROUND, TINY
from tropicell.network.domains import Domain
from tropicell.network.flat import (
    LARGEST,
    SMALLEST,
    SOURCE,
    WEIGHTS_AT,
    FlatNetwork,
    LineArrays,
    MapArrays,
    flatten,
    is_tame,
)
from tropicell.network.layers import Affine, Layer
from tropicell.network.network import Network

#: As many regions as there are, but so many steps of one network between two looks at the clock.
_MOST_REGIONS, _MOST_STEPS = 1 << 62, 20_000

#: What a count says of a network that the loop could not count, and of one that it is at.
LEFT, PAUSED = -1, -2

#: Shapes of networks that were counted one by one lately and are remembered; and how many numbers
#: a network has at most for which that pays.
_MOST_SHAPES, _MOST_NUMBERS = 16, 2_000


# --- what networks of one shape have in common ----------------------------------------------------


class NetworkShape(NamedTuple):
    """What networks of one shape on one domain have in common."""

    flat: FlatNetwork  # of a network of that shape
    seeds: tuple[Seeds, Seeds]  # the second ones where `_load` says so
    pointed: bool  # whether the domain has a corner; then both seeds are the same
    domain: FloatArray  # rows r with r · (x, 1) >= 0, in the inputs' own scale
    numbers: int  # how many numbers a network has


def shape_of(network: Network, domain: Domain) -> NetworkShape | None:
    """What the loop must know of networks of this shape; None if it can't count them."""
    layers = [layer.affine for layer in network.layers]
    dense = all(isinstance(m, np.ndarray) for affine in layers for m in affine.terms.values())
    if not layers or 0 not in layers[0].terms or not dense:
        return None
    twin = _twin(network, np.ones((layers[0].width, 2)))
    flat = flatten(twin, domain)
    # Those that are twins in this network need not be in another one.
    apart = np.arange(len(flat.lines.line_twin))
    flat = flat._replace(lines=flat.lines._replace(line_twin=apart))
    root = ExactCells(twin, domain, flat).root()
    if root is None or not is_tame(twin, domain):
        return None
    a, b = domain.inequalities(2)
    rows = np.ascontiguousarray(np.concatenate([-a, b[:, None]], axis=1))
    numbers = sum(len(affine.numbers) for affine in layers)
    if root.cone.pointed:
        seeds = buffers.plane_seeds(flat, [root])
        return NetworkShape(flat, (seeds, seeds), True, rows, numbers)
    if len(b) or not flat.lines.plain[1] or layers[0].width < 2:
        return None
    left, right = (_parts(network, domain, flat, turned) for turned in (False, True))
    return NetworkShape(flat, (left, right), False, rows, numbers)


def _parts(network: Network, domain: Domain, flat: FlatNetwork, turned: bool) -> Seeds:
    """The four parts that the boundaries of the first layer's last two neurons make of R^2.

    Which way round their corners come depends on the sign of a determinant alone.
    """
    first = np.ones((network.widths[0], 2))
    first[-2:] = np.eye(2)[::-1] if turned else np.eye(2)
    exact = ExactCells(_twin(network, first), domain, flat)
    root = exact.root()
    assert root is not None
    pieces = bytearray(network.widths[0])
    parts = exact.finish_layer(root, pieces, exact.lines_of(1), stop_when_pointed=True)
    return buffers.plane_seeds(flat, list(parts))


def _twin(network: Network, first: FloatArray) -> Network:
    """A network of the same shape, with a given first matrix, and with ones."""
    layers = []
    for layer in network.layers:
        terms = {source: np.ones(m.shape) for source, m in layer.affine.terms.items()}
        layers.append(Layer(Affine(terms, np.ones(layer.width)), layer.activation))
    given = Affine({**layers[0].affine.terms, 0: first}, layers[0].affine.bias)
    return Network(2, [Layer(given, layers[0].activation), *layers[1:]], network.output)


# --- counting -------------------------------------------------------------------------------------


class Counting:
    """How networks of one shape are counted: what all threads read."""

    def __init__(self, shape: NetworkShape, *, exact: bool, tolerance: float) -> None:
        self.shape = shape
        self.options = CellOptions(
            exact=exact,
            tolerance=tolerance,
            store=False,
            bits=1,
            volumes=False,
            few=1.0,
            at_once=0.0,
            growth=np.ones(0),
            where=nowhere(),
        )
        self.kernel = Entry(count_some)
        self._numbers = Blueprint(lambda _: _new_numbers(shape))
        self._room = buffers.room_for(shape.flat, exact, store=False, bits=1, residues=False)

    def counter(self) -> Counter:
        """What one thread needs."""
        return Counter(self, self._numbers.build(), self._room.build())


class Counter:
    """Buffers of one thread, to count networks of one shape."""

    def __init__(self, counting: Counting, numbers: NetworkNumbers, room: CellRoom) -> None:
        self._counting = counting
        self._numbers, self._room = numbers, room

    def count(self, networks: Sequence[Network]) -> IntArray:
        """The numbers of regions of networks of the shape, `LEFT` where it can't tell."""
        counting, first = self._counting, 0
        shape, options = counting.shape, counting.options
        layers = [layer for network in networks for layer in network.layers]
        given = np.concatenate([layer.affine.numbers for layer in layers])
        rows = given.reshape(len(networks), shape.numbers)
        counts = np.full(len(networks), LEFT)
        while first < len(networks):
            check()
            room = self._room
            first = counting.kernel(shape, rows, self._numbers, room, options, first, counts)
            if first < len(networks) and counts[first] != PAUSED:
                self._room = room._replace(stack=buffers.grown(room.stack))
        return counts

    def try_one(self, network: Network) -> int:
        """The number of regions of one network; `PAUSED` if that takes long, or `LEFT`."""
        counting = self._counting
        given = np.concatenate([layer.affine.numbers for layer in network.layers])[None]
        count = np.full(1, LEFT)
        while True:
            args = counting.shape, given, self._numbers, self._room, counting.options, 0, count
            if counting.kernel(*args) or count[0] == PAUSED:
                return int(count[0])
            self._room = self._room._replace(stack=buffers.grown(self._room.stack))


class _Shapes:
    """The shapes of networks that were counted one by one lately, and counters for them.

    The first network of a shape is counted in the ordinary way: often there is only one. A counter
    belongs to one call at a time.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[Any, list[Counter]] = OrderedDict()
        self._countings: dict[Any, Counting | None] = {}

    def take(self, key: Any, network: Network, domain: Domain, tolerance: float) -> Counter | None:
        """A counter for networks of this shape, if it is not the first one, and there is a way."""
        with self._lock:
            if key not in self._known:
                self._known[key] = []
                if len(self._known) > _MOST_SHAPES:
                    old, _ = self._known.popitem(last=False)
                    self._countings.pop(old, None)
                return None
            self._known.move_to_end(key)
            spare = self._known[key]
            if spare:
                return spare.pop()
            if key not in self._countings:
                shape = shape_of(network, domain) if _is_at_hand() else None
                found = None
                if shape is not None:
                    found = Counting(shape, exact=key[-1], tolerance=tolerance)
                self._countings[key] = found
            counting = self._countings[key]
        return None if counting is None else counting.counter()

    def give_back(self, key: Any, counter: Counter | None) -> None:
        """The counter is free again; None: networks of this shape take too long for it."""
        with self._lock:
            if key in self._known and counter is not None:
                self._known[key].append(counter)
            elif key in self._known:
                self._known[key], self._countings[key] = [], None


_shapes = _Shapes()


def _is_at_hand() -> bool:
    """Whether the kernel is loaded, or on the disk: nothing has to be compiled."""
    kept = getattr(getattr(count_some, "_cache", None), "_cache_file", None)
    return is_loaded(count_some) or (kept is not None and bool(kept._load_index()))


def count_another(network: Network, domain: Domain, *, exact: bool, tolerance: float) -> int | None:
    """Count the regions of a small network, if others of its shape were counted before.

    To prepare a search takes several times longer than to count a hundred regions, and most of it
    is the same for all networks of a shape. None: it must be counted in the ordinary way.
    """
    if network.n_inputs != 2 or network.embedding is not None or not network.layers:
        return None
    if sum(layer.affine.numbers.size for layer in network.layers) > _MOST_NUMBERS:
        return None
    a, b = domain.inequalities(2)
    key = network.kind, a.tobytes(), b.tobytes(), exact
    counter = _shapes.take(key, network, domain, tolerance)
    if counter is None:
        return None
    found = counter.try_one(network)
    _shapes.give_back(key, None if found == PAUSED else counter)
    return found if found >= 0 else None


class NetworkNumbers(NamedTuple):
    """The numbers of one network as the plane kernel reads them."""

    bias: FloatArray
    weights: FloatArray
    biggest_bias: FloatArray
    norms: FloatArray
    input_rows: FloatArray
    domain_rows: FloatArray
    scale: FloatArray


def _new_numbers(shape: NetworkShape) -> NetworkNumbers:
    maps = shape.flat.maps
    return NetworkNumbers(
        np.zeros(len(maps.bias)),
        np.zeros(len(maps.weights)),
        np.zeros(len(maps.biggest_bias)),
        np.zeros(len(maps.terms)),
        np.zeros((2, COORDINATES)),
        np.zeros((1 + len(shape.domain), COORDINATES)),
        np.ones(2),
    )


# --- kernels --------------------------------------------------------------------------------------


@kernel
def count_some(
    shape: Any,
    rows: Any,
    numbers: Any,
    room: Any,
    options: Any,
    first: int,
    counts: Any,
) -> int:
    """Count the networks from `first` on; where the stack is too small, return the network.

    The same after many steps: the count is then `PAUSED`, and goes on where it was.

    Parameters
    ----------
    shape : NetworkShape
    rows : ndarray, shape (networks, numbers)
        For every network its numbers, layer by layer.
    numbers : NetworkNumbers
        Room for those of one network.
    room : CellRoom
    options : CellOptions
    first : int
    counts : ndarray
        Gets the numbers of regions.
    """
    maps, lines, state = shape.flat.maps, shape.flat.lines, room.state
    one = FlatNetwork(
        MapArrays(
            maps.dimension,
            maps.row_start,
            numbers.bias,
            maps.slopes,
            maps.intercepts,
            numbers.input_rows,
            maps.term_start,
            maps.terms,
            numbers.weights,
            maps.columns,
            maps.targets,
            maps.input_low,
            maps.intercepts_low,
            maps.whole,
            maps.unit,
            numbers.biggest_bias,
            numbers.norms,
            numbers.norms,
            maps.gamma,
        ),
        LineArrays(
            lines.dimension,
            lines.depth,
            lines.row_start,
            lines.line_start,
            lines.line_row,
            lines.line_at,
            lines.line_layer,
            lines.line_twin,
            lines.plain,
            numbers.domain_rows,
            numbers.scale,
        ),
    )
    for k in range(first, len(counts)):
        going_on = k == first and counts[k] == PAUSED
        counts[k] = LEFT
        start = _load(shape, rows[k], numbers)
        if start < 0:
            continue
        if not going_on:
            state[TOP] = state[CORNERS] = state[CONFLICTS] = state[PATTERNS] = 0
            state[SEED] = state[COUNT] = 0
            state[UNSURE] = state[UNSURE_CORNERS] = state[UNSURE_CONFLICTS] = 0
            room.maps.changes[:] = -1
        seeds = shape.seeds[0] if start == 0 else shape.seeds[1]
        code = search_polygons(one, room, seeds, options, _MOST_REGIONS, _MOST_STEPS)
        if code == BATCH_FULL:
            counts[k] = PAUSED
            return k
        if code == GROW:
            return k
        if code == DONE and state[UNSURE] == 0:
            counts[k] = state[COUNT]
    return len(counts)


@kernel(inner=True)
def _load(shape: Any, row: Any, numbers: Any) -> int:
    """Make the network ready whose numbers are in a row.

    Returns which of the seeds it starts from, or -1: leave it.
    """
    maps, domain = shape.flat.maps, shape.domain
    tame, x, y, offset = _take(maps, row, numbers)
    if not tame:
        return -1
    if offset == 0.0:
        offset = max(x, y)
    if offset == 0.0:
        offset = 1.0
    sx, sy = _power_of_two(x, offset), _power_of_two(y, offset)
    numbers.scale[X], numbers.scale[Y] = sx, sy
    numbers.input_rows[X, X], numbers.input_rows[Y, Y] = 1.0 / sx, 1.0 / sy
    numbers.domain_rows[0, W] = 1.0  # the line at infinity
    for i in range(len(domain)):
        numbers.domain_rows[i + 1, X] = domain[i, X] / sx
        numbers.domain_rows[i + 1, Y] = domain[i, Y] / sy
        numbers.domain_rows[i + 1, W] = domain[i, W]
    if shape.pointed:
        return 0
    # The last two rows of the matrix that reads the input, the first one of the first layer; their
    # determinant has three roundings.
    at = 2 * (maps.row_start[2] - maps.row_start[1]) - 4
    p, q = row[at] * row[at + 3], row[at + 1] * row[at + 2]
    if not abs(p - q) > 4.0 * ROUND * (abs(p) + abs(q)) + TINY:
        return -1
    return 0 if p > q else 1


@kernel(inner=True)
def _take(maps: Any, row: Any, numbers: Any) -> tuple[bool, float, float, float]:
    """Put the numbers of one network where they belong; whether all but 0 are of ordinary size.

    And the largest slopes, and the largest bias, of the layers that read the input.
    """
    tame, x, y, offset = True, 0.0, 0.0, 0.0
    at = 0
    for layer in range(1, len(maps.row_start) - 1):
        begin = maps.row_start[layer]
        width = maps.row_start[layer + 1] - begin
        reads = False
        for term in range(maps.term_start[layer], maps.term_start[layer + 1]):
            source, to = maps.terms[term, SOURCE], maps.terms[term, WEIGHTS_AT]
            columns = maps.row_start[source + 1] - maps.row_start[source]
            squares = 0.0
            for r in range(width):
                for c in range(columns):
                    value = row[at + r * columns + c]
                    size = abs(value)
                    squares += value * value
                    numbers.weights[to + c * width + r] = value
                    tame &= size == 0.0 or (size >= SMALLEST and size <= LARGEST)
                if source == 0:
                    x = max(x, abs(row[at + r * columns]))
                    y = max(y, abs(row[at + r * columns + 1]))
            # The Frobenius norm is at least the spectral norm, and as long as any row.
            numbers.norms[term] = np.sqrt(squares) * INFLATE
            reads |= source == 0
            at += width * columns
        numbers.biggest_bias[layer] = 0.0
        for r in range(width):
            value = row[at + r]
            size = abs(value)
            numbers.biggest_bias[layer] = max(numbers.biggest_bias[layer], size)
            numbers.bias[begin + r] = value
            tame &= size == 0.0 or (size >= SMALLEST and size <= LARGEST)
            if reads:
                offset = max(offset, size)
        at += width
    return tame, x, y, offset


@kernel(inner=True)
def _power_of_two(slope: float, offset: float) -> float:
    """A power of two near the ratio of the largest slope to the largest offset."""
    ratio = slope / offset if slope > 0.0 else 1.0 / offset
    return ldexp(1.0, int(np.round(np.log2(min(max(ratio, 2.0**-300), 2.0**300)))))
