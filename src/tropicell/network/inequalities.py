"""`Inequalities`: what bounds a region, each row with the neuron that it comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tropicell.geometry.arithmetic import ArithmeticName, to_fractions, to_rationals
from tropicell.geometry.polyhedra import Cell, integer_row
from tropicell.network.domains import Domain
from tropicell.network.layers import Layer
from tropicell.network.patterns import PatternArray

if TYPE_CHECKING:
    from tropicell.network.network import Network


@dataclass(frozen=True, order=True)
class Boundary:
    """Where an inequality comes from.

    Attributes
    ----------
    layer : int
        1 … L; 0 means the domain.
    neuron : int
        Index of the neuron in its layer, from 0; for the domain the index of its inequality.
    breakpoint : int
        Which of the activation's breakpoints, from 0 (ReLU has one).

    Examples
    --------
    >>> str(Boundary(1, 2)), str(Boundary(0, 3))
    ('layer 1, neuron 2', 'domain, inequality 3')
    """

    layer: int
    neuron: int
    breakpoint: int = 0

    def __str__(self) -> str:
        if self.layer == 0:
            return f"domain, inequality {self.neuron}"
        text = f"layer {self.layer}, neuron {self.neuron}"
        return text if self.breakpoint == 0 else f"{text}, breakpoint {self.breakpoint}"


@dataclass(frozen=True, eq=False)
class Inequalities:
    """The inequalities ``A x <= b``, each with the neuron that it comes from.

    Attributes
    ----------
    A : ndarray, shape (rows, inputs)
    b : ndarray, shape (rows,)
        float64, or objects of type `fractions.Fraction`.
    sources : tuple of Boundary
    closed : ndarray of bool
        Whether ``0 <= 0`` would do. Only matters for a neuron that is constant on the region: at a
        breakpoint it is on the lower piece.

    Examples
    --------
    >>> from tropicell import Network, Region
    >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
    >>> print(Region(network, "10").inequalities)
    -1·x1 ≤ 0    (layer 1, neuron 0)
    1·x2 ≤ 0    (layer 1, neuron 1)
    """

    A: NDArray[Any]
    b: NDArray[Any]
    sources: tuple[Boundary, ...]
    closed: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.sources)

    def __str__(self) -> str:
        lines = []
        for row, bound, source in zip(self.A, self.b, self.sources, strict=True):
            terms = [f"{value}·x{i + 1}" for i, value in enumerate(row) if value != 0]
            left = " + ".join(terms).replace("+ -", "- ") or "0"
            lines.append(f"{left} ≤ {bound}    ({source})")
        return "\n".join(lines)


def domain_inequalities(domain: Domain, dimension: int, arithmetic: ArithmeticName) -> Inequalities:
    """The inequalities of a domain, with their sources."""
    a, b = domain.inequalities(dimension)
    sources = tuple(Boundary(0, i) for i in range(len(b)))
    closed = np.ones(len(b), dtype=np.bool_)
    if arithmetic == "exact":
        return Inequalities(to_rationals(a), to_rationals(b), sources, closed)
    return Inequalities(a, b, sources, closed)


def cut_by(cell: Cell | None, inequalities: Inequalities) -> Cell | None:
    """The part of a cell where inequalities hold, or None if that has no interior."""
    for a, b, closed in zip(inequalities.A, inequalities.b, inequalities.closed, strict=True):
        if cell is None:
            return None
        cell = cell.cut(integer_row([*(-a), b]), closed=bool(closed))
    return cell


def layer_inequalities(
    network: Network,
    layer: int,
    before: NDArray[Any],
    pieces: PatternArray,
    arithmetic: ArithmeticName,
) -> Inequalities:
    """The inequalities that say: every neuron of a layer is on the given piece.

    Parameters
    ----------
    before : ndarray, shape (neurons, inputs + 1)
        The layer's pre-activations as maps of the input, offset last, in `arithmetic`'s numbers.
    pieces : ndarray of uint8
    """
    breakpoints, _, _ = network.maps(arithmetic).activation(layer)
    counts = network.layers[layer - 1].activation.pieces
    rows, bounds, sources, closed = [], [], [], []
    for neuron, piece in enumerate(pieces.tolist()):
        slope, offset = before[neuron, :-1], before[neuron, -1]
        if piece > 0:  # α·x + β ≥ t
            rows.append(-slope)
            bounds.append(offset - breakpoints[neuron, piece - 1])
            sources.append(Boundary(layer, neuron, piece - 1))
            closed.append(False)
        if piece < counts[neuron] - 1:  # α·x + β ≤ t
            rows.append(slope)
            bounds.append(breakpoints[neuron, piece] - offset)
            sources.append(Boundary(layer, neuron, piece))
            closed.append(True)
    a = np.array(rows, dtype=before.dtype).reshape(len(rows), before.shape[1] - 1)
    b = np.array(bounds, dtype=before.dtype)
    return Inequalities(a, b, tuple(sources), np.array(closed, dtype=np.bool_))


def joined(parts: list[Inequalities], arithmetic: ArithmeticName) -> Inequalities:
    """Several sets of inequalities as one, with the numbers that users get."""
    a = np.concatenate([part.A for part in parts])
    b = np.concatenate([part.b for part in parts])
    sources = tuple(source for part in parts for source in part.sources)
    closed = np.concatenate([part.closed for part in parts])
    if arithmetic == "exact":
        a, b = to_fractions(a), to_fractions(b)
    return Inequalities(a, b, sources, closed)


# --- numbers for all boundaries of a network: every breakpoint of every neuron is a *line* --------

# Line 0 is the hyperplane at infinity, lines 1 … D are the inequalities of the domain, then come
# the neurons, layer by layer, with their breakpoints in increasing order. Engines and facets use
# these numbers; users get `Boundary` objects.


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
        >>> from tropicell import Box, Network
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
    counts = network.pieces - 1
    widths = np.array(network.widths, dtype=np.int64)
    layers = np.repeat(np.arange(1, network.depth + 1), widths)
    indices = np.arange(network.n_neurons) - np.repeat(np.cumsum(widths) - widths, widths)
    neurons = np.repeat(np.arange(network.n_neurons), counts)
    breakpoints = np.arange(len(neurons)) - np.repeat(np.cumsum(counts) - counts, counts)
    first = 1 + len(domain.inequalities(network.n_inputs)[1])
    return Lines(first, neurons, breakpoints, layers[neurons], indices[neurons])


# --- lines that are the same on every cell --------------------------------------------------------

#: In layers with more weights nobody looks for twins.
_LARGE = 1 << 22

#: Rows of integers of at most so many bits are divided by what divides them all.
_SHORT = 30


def reads_nothing(network: Network) -> NDArray[np.bool_]:
    """For each neuron whether all its weights are 0.

    Examples
    --------
    >>> from tropicell import Network
    >>> reads_nothing(Network.mlp([[[1.0], [0.0]], [[1.0, 1.0]]]))
    array([False,  True])
    """
    parts = [np.zeros(0)]
    for layer in network.layers:
        terms: list[Any] = list(layer.affine.terms.values())  # arrays, some of them sparse
        parts.append(sum((abs(m).sum(axis=1) for m in terms), start=np.zeros(layer.width)))
    return np.asarray(np.concatenate(parts) == 0)


def twin_lines(network: Network) -> NDArray[np.int64]:
    """For every line of a neuron the first one that is the same hyperplane, whatever the pattern.

    So it is where the weights, the bias and the breakpoint of a neuron are those of another one in
    its layer, times a factor. Factors that are powers of two, with any sign, are all found; others,
    where the numbers are integers of at most 30 bits, up to a power of two.

    Returns
    -------
    ndarray
        Numbers from 0 on, for the line `Lines.first`; mostly the line itself.

    Examples
    --------
    >>> from tropicell import Network
    >>> weights = [[[1.0, 3.0], [0.5, 0.1], [-3.0, -9.0]], [[1.0, 1.0, 1.0]]]
    >>> twin_lines(Network.mlp(weights, [[1.0, 0.1, -3.0], [0.0]]))
    array([0, 1, 0])
    """
    twins: list[NDArray[np.int64]] = [np.zeros(0, np.int64)]
    total = 0
    for layer in network.layers:
        if layer not in _known_twins:
            _known_twins[layer] = _twins_of(layer)
        twins.append(total + _known_twins[layer])
        total += len(twins[-1])
    return np.concatenate(twins)


#: What `twin_lines` found for a layer; networks on slices share their layers.
_known_twins: WeakKeyDictionary[Layer, NDArray[np.int64]] = WeakKeyDictionary()


def _twins_of(layer: Layer) -> NDArray[np.int64]:
    affine, breakpoints = layer.affine, layer.activation.breakpoints
    rows, which = np.nonzero(np.isfinite(breakpoints))
    if affine.width * sum(m.shape[1] for m in affine.operators.values()) > _LARGE:
        return np.arange(len(rows))
    parts = [m.toarray() if isinstance(m, sp.csr_array) else m for m in affine.terms.values()]
    numbers = np.concatenate([*parts, affine.bias[:, None]], axis=1)[rows]
    keys = _up_to_factors(np.concatenate([numbers, breakpoints[rows, which][:, None]], axis=1))
    seen: dict[bytes, int] = {}
    return np.array([seen.setdefault(key, k) for k, key in enumerate(keys)], dtype=np.int64)


def _up_to_factors(rows: NDArray[np.float64]) -> list[bytes]:
    """Keys of rows, the same for rows that are multiples of each other: see `twin_lines`."""
    present = rows != 0
    leading = present.argmax(axis=1)[:, None]
    mantissas, exponents = np.frexp(rows)
    mantissas *= np.where(np.take_along_axis(rows, leading, 1) < 0, -1.0, 1.0)
    digits = np.ldexp(mantissas, 53).astype(np.int64)
    last = exponents + np.frexp((digits & -digits).astype(np.float64))[1] - 54  # of the last digit
    lowest = np.where(present, last, np.iinfo(np.int32).max).min(axis=1, keepdims=True)
    highest = np.where(present, exponents, np.iinfo(np.int32).min).max(axis=1, keepdims=True)
    short = (present.any(axis=1, keepdims=True) & (highest - lowest <= _SHORT))[:, 0]
    whole = np.ldexp(mantissas[short], (exponents - lowest)[short]).astype(np.int64)
    whole //= np.gcd.reduce(whole, axis=1, keepdims=True)
    relative = np.where(present, exponents - np.take_along_axis(exponents, leading, 1), 0)
    keys = [m.tobytes() + e.tobytes() for m, e in zip(mantissas + 0.0, relative, strict=True)]
    for place, row in zip(np.nonzero(short)[0].tolist(), whole, strict=True):
        keys[place] = row.tobytes()
    return keys
