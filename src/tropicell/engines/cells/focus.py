"""Finds the few neurons of a large network that can change on some cells, and what they read.

A box around the cells is sent through the network. On it most neurons of a large network, a
convolutional one above all, surely stay on one piece; they leave the problem, and what is left is a
small network whose neurons read the coordinates and each other. Proofs are step 9 of
docs/error-bound.md: bounds on what a neuron can be hold whatever is rounded, and the small network
has twice the digits of float64, like the rows of the whole one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray, IntArray
from tropicell._runtime.interruption import check
from tropicell.engines.cells._filters import add_filters
from tropicell.engines.cells._focus import Focus, add_terms, settle
from tropicell.engines.cells._state import AT_INFINITY, ERROR, LAYER, W, X, Y
from tropicell.engines.units import Unit
from tropicell.geometry.convolutions import Convolution
from tropicell.geometry.norms import frobenius_norm, largest_row, spectral_norm
from tropicell.geometry.rounding import INFLATE, ROUND, TINY
from tropicell.network.flat import FILTERS, IS_SPARSE, SOURCE, WEIGHTS_AT, FlatNetwork
from tropicell.network.network import Network

#: Networks with fewer weights, or fewer layers, are searched as they are.
_FEW_WEIGHTS, _DEEP = 100_000, 4

#: A focus has at most so many neurons, and no layer more numbers than this.
_MOST_NEURONS, _MOST_NUMBERS = 512, 2**23

#: So many products are summed between two looks at the clock.
_SUMMED_AT_ONCE = 2**27

#: More than the length of a vector whose squares underflow.
_UNDERFLOW = 1e-140


class _Term(NamedTuple):
    """A matrix that a layer reads: its source, its compressed rows, and bounds on its norms.

    A convolution: where its taps look, and their numbers, (taps, channels, filters).
    """

    source: int
    matrix: tuple[Any, ...]
    spectral_norm: float
    largest_row: float
    most: int  # numbers in a row


class _Outputs(NamedTuple):
    """Outputs of a layer as maps of the coordinates, 1, and the neurons in the focus so far.

    `error` bounds the lengths of the vectors of the errors of the columns.
    """

    high: FloatArray
    low: FloatArray
    alive: NDArray[np.bool_]
    error: FloatArray


class _Forms:
    """What the neurons in the focus may be, as a zonotope: A (x, 1) + G e, each |e| <= 1.

    The output of one of them is λ z + μ + μ e with an e of its own. `wrong` bounds by how much z
    may differ from its form.
    """

    def __init__(self, columns: int) -> None:
        self.rows = np.zeros((0, columns))
        self.generators = np.zeros((0, 0))
        self.wrong, self.factor, self.middle = np.zeros(0), np.zeros(0), np.zeros(0)
        self.low, self.high = np.zeros(0), np.zeros(0)  # of the outputs

    def append(self, found: _Bounds, known: FloatArray) -> None:
        """Neurons join the focus; `known` is 1 or 0 where a neuron's piece is known, else -1."""
        low, high = found.low, found.high
        with np.errstate(all="ignore"):
            factor = np.clip(high / (high - low), 0.0, 1.0)
        factor = np.where(low >= 0.0, 1.0, np.where(high <= 0.0, 0.0, factor))
        factor = np.where(known >= 0.0, known, factor)
        # relu(z) - λ z is between 0 and the larger of its values at both ends.
        most = np.maximum(np.maximum(-factor * low, (1.0 - factor) * high), 0.0)
        open_ = (known < 0.0) & (low < 0.0) & (high > 0.0)
        n, k = len(self.factor), len(low)
        generators = np.zeros((n + k, n + k))
        generators[:n, :n] = self.generators
        generators[n:, :n] = found.generators
        self.generators = generators
        self.rows = np.concatenate([self.rows, found.rows])
        self.wrong = np.append(self.wrong, found.wrong)
        self.factor = np.append(self.factor, factor)
        self.middle = np.append(self.middle, np.where(open_, 0.5 * most * INFLATE, 0.0))
        self.low = np.append(self.low, np.maximum(low, 0.0))
        self.high = np.append(self.high, np.maximum(high, 0.0))


class _Bounds(NamedTuple):
    """Smallest and largest values of some neurons, and their forms."""

    low: FloatArray
    high: FloatArray
    rows: FloatArray
    generators: FloatArray
    wrong: FloatArray

    def part(self, which: NDArray[np.bool_]) -> _Bounds:
        """Some of them."""
        return _Bounds(*(array[which] for array in self))

    def within(self, low: FloatArray, high: FloatArray) -> _Bounds:
        """The same with what other bounds say, too."""
        return self._replace(low=np.maximum(self.low, low), high=np.minimum(self.high, high))


class FocusMaker:
    """Makes a `Focus` for cells of a network.

    Parameters
    ----------
    network : Network
    flat : FlatNetwork
        The same as arrays, on any domain.

    Examples
    --------
    >>> from tropicell import Box
    >>> from tropicell.network.flat import flatten
    >>> rng = np.random.default_rng(0)
    >>> network = Network.mlp([rng.normal(size=s) for s in [(99, 2), (99, 99), (1, 99)]])
    >>> maker = FocusMaker(network, flatten(network, Box(-1, 1)))
    >>> focus = maker.focus(np.array([0.1, 0.1]), np.array([0.101, 0.101]))
    >>> len(focus.rows) < 20
    True
    """

    def __init__(self, network: Network, flat: FlatNetwork) -> None:
        self._flat = flat
        maps = flat.maps
        self._terms: list[list[_Term]] = [[]]
        term = 0
        for layer in network.layers:
            terms = []
            for source, matrix in layer.affine.operators.items():
                norm, row = maps.spectral_norm[term], maps.largest_row[term]
                if isinstance(matrix, Convolution):
                    taps = np.ascontiguousarray(matrix.kernels.transpose(2, 1, 0))
                    arrays: Any = matrix.sources, taps
                    norm, most = min(norm, spectral_norm(matrix)), matrix.most_per_row
                else:
                    rows = sp.csr_array(matrix)
                    arrays = rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data
                    norm = min(norm, _simple_norm(rows))
                    most = int(np.diff(rows.indptr).max(initial=0))
                terms.append(_Term(source, arrays, norm, row, most))
                term += 1
            self._terms.append(terms)
        # Who still reads a layer, so that others can be forgotten.
        self._last = [
            max([0, *(t for t in range(flat.depth + 1) if self._reads(t, s))])
            for s in range(flat.depth + 1)
        ]

    def _reads(self, layer: int, source: int) -> bool:
        return any(term.source == source for term in self._terms[layer])

    @staticmethod
    def pays(flat: FlatNetwork) -> bool:
        """Whether a focus can be made, and may be worth it: large networks of ReLU, in the plane.

        Examples
        --------
        >>> from tropicell import Box
        >>> from tropicell.network.flat import flatten
        >>> FocusMaker.pays(flatten(Network.mlp([[[1.0, 2.0]], [[1.0]]]), Box(-1, 1)))
        False
        """
        maps, lines = flat.maps, flat.lines
        slopes = maps.slopes[maps.row_start[1] :]
        return bool(
            flat.dimension == 2
            and _is_heavy(flat)
            and lines.plain[1:].all()
            and maps.unit.all()
            and slopes.shape[1] == 2
            and (slopes == (0.0, 1.0)).all()
        )

    def focus(
        self,
        low: FloatArray,
        high: FloatArray,
        pattern: NDArray[np.uint8] | None = None,
        known_layers: int = 0,
        needed: Iterable[int] = (),
    ) -> Focus | None:
        """The focus for cells inside a box.

        Parameters
        ----------
        low, high : ndarray
            The box, in scaled coordinates.
        pattern : ndarray of uint8, optional
            Pieces of the first layers, which are known.
        known_layers : int
            How many layers these are.
        needed : iterable of int
            Rows of neurons that must be in the focus.

        Returns
        -------
        Focus or None
            None if too many neurons can change.
        """
        flat, maps = self._flat, self._flat.maps
        starts = maps.row_start
        wanted = np.unique(np.fromiter(needed, np.int64))
        corner = np.append(0.5 * (low + high), 1.0)
        half = np.append((0.5 * (high - low)) * INFLATE + TINY, 0.0)
        forms = _Forms(flat.dimension + 1)
        outputs: list[Any] = [self._input()]
        fixed = np.zeros(flat.neurons, np.uint8)
        parts: list[Any] = []
        for layer in range(1, flat.depth + 1):
            check()
            begin, end = int(starts[layer]), int(starts[layer + 1])
            rows = self._rows(layer, outputs, forms)
            if rows is None or not np.isfinite(rows.error).all():
                return None
            mine = wanted[(wanted >= begin) & (wanted < end)] - begin
            first = begin - int(starts[1])
            low_z, high_z = _intervals(rows, corner, half, forms)
            if layer <= known_layers and pattern is not None:
                on = pattern[first : first + end - begin] != 0
                changing, known = mine, on[mine].astype(np.float64)
                found = _forms(rows, corner, half, forms, mine)
            else:
                on = low_z > 0.0
                open_ = ~on & ~(high_z < 0.0)
                open_[mine] = True
                changing = np.flatnonzero(open_)
                if len(changing) > 4 * _MOST_NEURONS:
                    return None
                found = _forms(rows, corner, half, forms, changing)
                on[changing] = found.low > 0.0
                keep = ~(on[changing] | (found.high < 0.0)) | np.isin(changing, mine)
                changing, found = changing[keep], found.part(keep)
                known = np.full(len(changing), -1.0)
            if len(forms.factor) + len(changing) > _MOST_NEURONS:
                return None
            parts.append((begin + changing, rows.high[changing], rows.low[changing], rows.error))
            found = found.within(low_z[changing], high_z[changing])
            forms.append(found, known)
            fixed[first : first + end - begin] = on
            fixed[first + changing] = 0
            on[changing] = False
            outputs.append(_outputs(rows, on, changing))
            for source in range(layer):
                if self._last[source] <= layer:
                    outputs[source] = None
        return self._packed(parts, fixed)

    def _input(self) -> _Outputs:
        maps = self._flat.maps
        rounded = maps.input_low != 0.0
        total = (np.abs(maps.input_rows) * rounded).sum(axis=0)
        error = 2.0 * ROUND * ROUND * total * INFLATE
        alive = np.ones(len(maps.input_rows), np.bool_)
        return _Outputs(maps.input_rows, maps.input_low, alive, error)

    def _rows(self, layer: int, outputs: list[Any], forms: _Forms) -> _Outputs | None:
        """The rows of a layer, in twice the digits: step 1 of docs/error-bound.md."""
        maps, d = self._flat.maps, self._flat.dimension
        begin, end = int(maps.row_start[layer]), int(maps.row_start[layer + 1])
        columns = d + 1 + len(forms.factor)
        if (end - begin) * columns > _MOST_NUMBERS:
            return None
        growth, errors, most = np.zeros(columns), np.zeros(columns), 0
        for term in self._terms[layer]:
            read = outputs[term.source]
            squares = np.einsum("ij,ij->j", read.high, read.high)
            length = np.sqrt(squares) * INFLATE + _UNDERFLOW * read.high.any(axis=0)
            growth[: len(length)] += term.largest_row * length
            errors[: len(length)] += term.spectral_norm * read.error
            most += min(term.most, int(np.count_nonzero(read.alive)))
        bias = maps.bias[begin:end]
        total = growth.copy()
        total[d] += maps.biggest_bias[layer]
        anchors = np.ldexp(1.5, np.frexp(total * INFLATE)[1] + 2)
        high = np.tile(anchors, (end - begin, 1))
        low = np.zeros_like(high)
        high[:, d] += bias
        low[:, d] = bias - (high[:, d] - anchors[d])
        for term in self._terms[layer]:
            read = outputs[term.source]
            if len(term.matrix) == 2:
                _convolve(term.matrix, read, high, low)
            else:
                add_terms(term.matrix, read.alive, read.high, read.low, high, low)
        settle(anchors, high, low)
        rounding = 2.0 * ROUND * ROUND * anchors * (most * (0.5 * most + 4.0) + 8.0)
        errors += np.sqrt(end - begin) * np.where(growth > 0.0, rounding, 0.0)
        errors = np.where(errors > 0.0, (errors + TINY) * INFLATE, 0.0)
        return _Outputs(high, low, np.ones(end - begin, np.bool_), errors)

    def _packed(self, parts: list[Any], fixed: NDArray[np.uint8]) -> Focus:
        """The arrays of the kernels."""
        d, depth = self._flat.dimension, self._flat.depth
        counts = [0, 0, *(len(rows) for rows, *_ in parts)]
        start = np.cumsum(counts)[: depth + 2].astype(np.int64)
        total = int(start[-1])
        base = np.zeros((2 * d + 2, total))
        bounds = {name: np.zeros(depth + 2) for name in ("wrong", "norm", "row")}
        base_error, largest_base = np.zeros((depth + 2, d + 1)), np.zeros((depth + 2, d + 1))
        weights: list[FloatArray] = []
        weights_low: list[FloatArray] = []
        weights_at = [0]
        for layer, (_, high, low, error) in enumerate(parts, start=1):
            own = slice(start[layer], start[layer + 1])
            weights_at.append(sum(part.size for part in weights))
            base[: d + 1, own], base[d + 1 :, own] = high[:, : d + 1].T, low[:, : d + 1].T
            weights.append(np.ascontiguousarray(high[:, d + 1 :].T).ravel())
            weights_low.append(np.ascontiguousarray(low[:, d + 1 :].T).ravel())
            base_error[layer] = error[: d + 1]
            largest_base[layer] = np.abs(high[:, : d + 1]).max(axis=0, initial=0.0)
            bounds["wrong"][layer] = frobenius_norm(error[d + 1 :])
            bounds["norm"][layer] = frobenius_norm(high[:, d + 1 :]) * INFLATE
            bounds["row"][layer] = largest_row(high[:, d + 1 :]) * INFLATE
        return Focus(
            on=True,
            start=start,
            rows=np.concatenate([np.zeros(0, np.int64), *(rows for rows, *_ in parts)]),
            fixed=fixed,
            base=base,
            weights=np.concatenate([np.zeros(0), *weights]),
            weights_low=np.concatenate([np.zeros(0), *weights_low]),
            weights_at=np.array(weights_at + [0] * (depth + 2 - len(weights_at)), np.int64),
            base_error=base_error,
            weights_error=bounds["wrong"],
            weights_norm=bounds["norm"],
            largest_row=bounds["row"],
            largest_base=largest_base,
            compact=np.zeros((2 * d + 3, total)),
            sources=np.zeros(total, np.int64),
            factors=np.zeros((2 * d + 2, total)),
        )


def _convolve(filters: Any, read: _Outputs, high: FloatArray, low: FloatArray) -> None:
    """Add a convolution times rows, some places at a time: a clock may be waiting."""
    sources, numbers = filters
    width = read.high.shape[1]
    room = np.zeros((2, width, numbers.shape[2]))
    step = max(1, _SUMMED_AT_ONCE // (sources.shape[1] * numbers[0].size * width))
    arrays = read.alive, read.high, read.low
    for first in range(0, len(sources), step):
        check()
        add_filters(filters, arrays, high, low, room, first, min(first + step, len(sources)))


def focus_of(maker: FocusMaker, flat: FlatNetwork, unit: Unit) -> Focus | None:
    """The focus for a unit's cells; None if too many neurons can change, or one is unbounded."""
    if unit.nodes is not None and not unit.cells:
        nodes = unit.nodes
        cells = nodes.arrays.part(nodes.first, nodes.last)
        layer, pattern = int(cells.records[0, LAYER]), cells.pattern
        box, labels, lines = _box_of_corners(cells.corners), cells.tags, cells.conflicts
    elif unit.cells and all(cell.cone.pointed for cell in unit.cells):
        one = unit.cells[0]
        layer = one.layer if len(unit.cells) == 1 else 1
        pattern = np.frombuffer(one.pattern, np.uint8)
        box = _box_of_rays([ray for cell in unit.cells for ray in cell.cone.rays], flat.lines.scale)
        labels = np.array([label for cell in unit.cells for label in cell.cone.labels], np.int64)
        lines = labels[:0]
    else:
        return None
    if box is None:
        return None
    rows = flat.lines.line_row[np.concatenate([np.abs(labels) - 1, lines])]
    return maker.focus(*box, pattern, layer - 1, rows[rows >= 0].tolist())


def _box_of_corners(corners: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """A box around corners of polygons, whatever they are off by."""
    w, error = corners[:, W], corners[:, ERROR]
    if (corners[:, AT_INFINITY] != 0.0).any() or not (w > 2.0 * error).all():
        return None
    points = corners[:, [X, Y]] / w[:, None]
    # |x / w - x̂ / ŵ| <= (ε + ε |x̂ / ŵ|) / (ŵ - ε)
    off = (error / (w - error))[:, None] * (1.0 + np.abs(points)) + 4.0 * ROUND * np.abs(points)
    return (points - off * INFLATE).min(axis=0), (points + off * INFLATE).max(axis=0)


def _box_of_rays(rays: Any, scale: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """A box around exact corners, in scaled coordinates."""
    if not all(ray[-1] for ray in rays):
        return None
    try:
        points = np.array([[x / ray[-1] for x in ray[:-1]] for ray in rays]) * scale
    except OverflowError:
        return None
    off = 4.0 * ROUND * np.abs(points) + TINY
    return (points - off).min(axis=0), (points + off).max(axis=0)


def _simple_norm(matrix: Any) -> float:
    """A bound on the spectral norm: the root of the largest sums of a column and of a row."""
    sizes = abs(matrix)
    largest = [sizes.sum(axis=axis).max(initial=0.0) for axis in (0, 1)]
    return float(np.sqrt(largest[0]) * np.sqrt(largest[1]) * INFLATE)


def _is_heavy(flat: FlatNetwork) -> bool:
    """Whether most of the time of a search goes to sums: those of many weights, most of them 0.

    The layer after one in which a neuron changes is brought up to date by what has changed, and
    that is soon done: it is those behind it that are summed anew.
    """
    terms, total = flat.maps.terms, len(flat.maps.weights)
    inner = terms[:, SOURCE] > 0  # what reads layer 0 is summed once
    sizes = np.diff(np.append(terms[:, WEIGHTS_AT], total))
    if (terms[:, IS_SPARSE] == FILTERS).any():
        return True
    many = bool(terms[inner, IS_SPARSE].any() and sizes[inner].sum() >= _FEW_WEIGHTS)
    return many and flat.depth >= _DEEP


def _outputs(rows: _Outputs, on: NDArray[np.bool_], changing: IntArray) -> _Outputs:
    """Outputs of a layer: some rows as they are, those in the focus by themselves, others 0."""
    count, columns = rows.high.shape
    high, low = (
        np.zeros((count, columns + len(changing))),
        np.zeros((count, columns + len(changing))),
    )
    high[on, :columns], low[on, :columns] = rows.high[on], rows.low[on]
    high[changing, columns + np.arange(len(changing))] = 1.0
    alive = on.copy()
    alive[changing] = True
    return _Outputs(high, low, alive, np.append(rows.error, np.zeros(len(changing))))


# --- what neurons can be on a box -----------------------------------------------------------------


def _intervals(
    rows: _Outputs, corner: FloatArray, half: FloatArray, forms: _Forms
) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest values of all neurons of a layer, by what the outputs can be."""
    base, weights = rows.high[:, : len(corner)], rows.high[:, len(corner) :]
    sizes = np.abs(base), np.abs(weights)
    middle, radius = 0.5 * (forms.low + forms.high), 0.5 * (forms.high - forms.low)
    value = base @ corner + weights @ middle
    off = sizes[0] @ half + sizes[1] @ radius
    off += _slack(rows, sizes, np.abs(corner) + half, forms.high)
    return value - off * INFLATE, value + off * INFLATE


def _forms(
    rows: _Outputs, corner: FloatArray, half: FloatArray, forms: _Forms, which: IntArray
) -> _Bounds:
    """Smallest and largest values of some neurons, by forms."""
    own = rows.high[which]
    base, weights = own[:, : len(corner)], own[:, len(corner) :]
    steps, x = weights * forms.factor, np.abs(corner) + half
    a = base + steps @ forms.rows
    a[:, -1] += weights @ forms.middle
    g = steps @ forms.generators + weights * forms.middle
    sizes = np.abs(base), np.abs(weights)
    reach = np.abs(forms.rows) @ x + np.abs(forms.generators).sum(axis=1) + 2.0 * forms.middle
    wrong = np.abs(steps) @ forms.wrong + _slack(rows, sizes, x, reach + forms.high)
    value, off = a @ corner, np.abs(a) @ half + np.abs(g).sum(axis=1)
    n = len(x) + len(reach)
    off += wrong + 8.0 * (n + 20) * ROUND * (np.abs(a) @ x + off)
    return _Bounds(value - off * INFLATE, value + off * INFLATE, a, g, wrong * INFLATE)


def _slack(rows: _Outputs, sizes: Any, x: FloatArray, outputs: FloatArray) -> FloatArray:
    """More than what is rounded in sums of these sizes, and than what the rows are off by."""
    n = len(x) + len(outputs)
    rounded = 8.0 * (n + 20) * ROUND * (sizes[0] @ x + sizes[1] @ outputs)
    wrong = float(rows.error[: len(x)] @ x + rows.error[len(x) :] @ outputs)
    return np.asarray(rounded + 2.0 * wrong + TINY)
