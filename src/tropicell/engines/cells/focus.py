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
from tropicell.engines import tuning
from tropicell.engines.cells._focus import Focus, NarrowRoom
from tropicell.engines.cells._narrow import (
    COLUMN_PLACES,
    FORM_PLACES,
    MOST_CORNERS,
    MOST_LEVELS,
    MOST_NARROWED,
)
from tropicell.engines.cells._sparse_rows import (
    OFF,
    ROW,
    SparseRows,
    SumRoom,
    add_filters,
    add_squares,
    add_terms,
    bound,
    settle,
)
from tropicell.engines.cells._state import AT_INFINITY, ERROR, LAYER, W, X, Y
from tropicell.engines.units import Unit
from tropicell.geometry.convolutions import Convolution
from tropicell.geometry.norms import frobenius_norm, largest_row, spectral_norm
from tropicell.geometry.rounding import INFLATE, ROUND, TINY
from tropicell.network.flat import FILTERS, IS_SPARSE, SOURCE, WEIGHTS_AT, FlatNetwork
from tropicell.network.network import Network

#: Networks with fewer weights are searched as they are.
_FEW_WEIGHTS = 100_000

#: A focus has at most so many neurons, and no layer more numbers than this.
_MOST_NEURONS, _MOST_NUMBERS = 1024, 2**24

#: So many products are summed between two looks at the clock.
_SUMMED_AT_ONCE = 2**27

#: Of more corners a box is taken.
_MOST_CORNERS = 64

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


class _Rows(NamedTuple):
    """Rows of a layer or its outputs, as maps of the coordinates, 1, and the neurons in the focus.

    `error` bounds the lengths of the vectors of the errors of the columns.
    """

    numbers: SparseRows
    error: FloatArray

    def written_out(self, which: IntArray) -> tuple[FloatArray, FloatArray]:
        """Some of the rows with all of their columns, and their second halves."""
        rows, d = self.numbers, self.numbers.base.shape[1]
        high = np.zeros((len(which), len(self.error)))
        low = np.zeros_like(high)
        high[:, :d], low[:, :d] = rows.base[which], rows.base_low[which]
        counts = rows.end[which] - rows.begin[which]
        skipped = rows.begin[which] - (np.cumsum(counts) - counts)
        place = np.arange(counts.sum()) + np.repeat(skipped, counts)
        row = np.repeat(np.arange(len(which)), counts)
        high[row, d + rows.columns[place]] = rows.high[place]
        low[row, d + rows.columns[place]] = rows.low[place]
        return high, low


class _Place(NamedTuple):
    """Where some cells are: corners of a polygon around them, what these may be off by, and sizes.

    `x` bounds the absolute values of the coordinates, with 1 behind them.
    """

    corners: FloatArray
    off: float
    x: FloatArray


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
    >>> focus = maker.focus(np.array([[0.1, 0.1], [0.101, 0.1], [0.1, 0.101]]))
    >>> int(focus.start[0, -1]) < 20
    True
    """

    def __init__(self, network: Network, flat: FlatNetwork) -> None:
        self._flat = flat
        self._terms: list[list[_Term]] = network.remember_of_layers(
            "focus", lambda: _terms_of(network, flat)
        )
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
        corners: FloatArray,
        off: float = 0.0,
        pattern: NDArray[np.uint8] | None = None,
        known_layers: int = 0,
        needed: Iterable[int] = (),
    ) -> Focus | None:
        """The focus for cells inside a polygon.

        Parameters
        ----------
        corners : ndarray, shape (corners, d)
            Those of the polygon, in scaled coordinates.
        off : float
            What these may be off by.
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
        place, forms = _place(corners, off), _Forms(flat.dimension + 1)
        outputs: list[Any] = [self._input()]
        fixed = np.zeros(flat.neurons, np.uint8)
        parts: list[Any] = []
        for layer in range(1, flat.depth + 1):
            check()
            begin, end = int(starts[layer]), int(starts[layer + 1])
            rows = self._rows(layer, outputs, len(forms.factor))
            if rows is None or not np.isfinite(rows.error).all():
                return None
            mine = wanted[(wanted >= begin) & (wanted < end)] - begin
            first = begin - int(starts[1])
            low, high = _intervals(rows, place, forms)
            if layer <= known_layers and pattern is not None:
                on = pattern[first : first + end - begin] != 0
                changing, known = mine, on[mine].astype(np.float64)
                written = rows.written_out(mine)
                found = _forms(rows, written[0], place, forms)
            else:
                on = low > 0.0
                open_ = ~on & ~(high < 0.0)
                open_[mine] = True
                changing = np.flatnonzero(open_)
                if len(forms.factor) + len(changing) > 3 * _MOST_NEURONS:
                    return None
                written = rows.written_out(changing)
                found = _forms(rows, written[0], place, forms)
                on[changing] = found.low > 0.0
                keep = ~(on[changing] | (found.high < 0.0)) | np.isin(changing, mine)
                changing, found = changing[keep], found.part(keep)
                written = written[0][keep], written[1][keep]
                known = np.full(len(changing), -1.0)
            if len(forms.factor) + len(changing) > _MOST_NEURONS:
                return None
            parts.append((begin + changing, *written, rows.error))
            kind = np.where(on, ROW, OFF)
            kind[changing] = len(forms.factor) + np.arange(len(changing))
            forms.append(found.within(low[changing], high[changing]), known)
            fixed[first : first + end - begin] = kind == ROW
            error = np.append(rows.error, np.zeros(len(changing)))
            outputs.append(_Rows(rows.numbers._replace(kind=kind), error))
            for source in range(layer):
                if self._last[source] <= layer:
                    outputs[source] = None
        return self._packed(parts, fixed)

    def _input(self) -> _Rows:
        maps = self._flat.maps
        rounded = maps.input_low != 0.0
        total = (np.abs(maps.input_rows) * rounded).sum(axis=0)
        rows = _no_weights(maps.input_rows, maps.input_low)
        return _Rows(rows, 2.0 * ROUND * ROUND * total * INFLATE)

    def _rows(self, layer: int, outputs: list[Any], known: int) -> _Rows | None:
        """The rows of a layer, in twice the digits: step 1 of docs/error-bound.md."""
        maps, d = self._flat.maps, self._flat.dimension
        begin, end = int(maps.row_start[layer]), int(maps.row_start[layer + 1])
        columns = d + 1 + known
        growth, errors, most = np.zeros(columns), np.zeros(columns), 0
        for term in self._terms[layer]:
            read = outputs[term.source]
            squares, largest = np.zeros(columns), np.zeros(columns)
            alive = add_squares(read.numbers, squares, largest)
            growth += term.largest_row * (np.sqrt(squares) * INFLATE + _UNDERFLOW * (largest > 0))
            errors[: len(read.error)] += term.spectral_norm * read.error
            most += min(term.most, alive)
        bias = maps.bias[begin:end]
        total = growth.copy()
        total[d] += maps.biggest_bias[layer]
        anchors = np.ldexp(1.5, np.frexp(total * INFLATE)[1] + 2)
        high = np.tile(anchors[: d + 1], (end - begin, 1))
        low = np.zeros_like(high)
        high[:, d] += bias
        low[:, d] = bias - (high[:, d] - anchors[d])
        rows: SparseRows | None = _no_weights(high, low)
        for term in self._terms[layer]:
            rows = rows and _added(term, outputs[term.source].numbers, rows, anchors)
        if rows is None:
            return None
        settle(anchors, rows)
        rounding = 2.0 * ROUND * ROUND * anchors * (most * (0.5 * most + 4.0) + 8.0)
        errors += np.sqrt(end - begin) * np.where(growth > 0.0, rounding, 0.0)
        return _Rows(rows, np.where(errors > 0.0, (errors + TINY) * INFLATE, 0.0))

    def _packed(self, parts: list[Any], fixed: NDArray[np.uint8]) -> Focus:
        """The arrays of the kernels: level 0, and room for more."""
        d, depth = self._flat.dimension, self._flat.depth
        levels = min(MOST_LEVELS, 4 + depth)
        counts = [0, 0, *(len(rows) for rows, *_ in parts)]
        start = np.zeros((levels, depth + 2), np.int64)
        start[0] = np.cumsum(counts)[: depth + 2]
        total, widest = int(start[0, -1]), max(counts)
        weights_at = np.zeros((levels, depth + 2), np.int64)
        sizes = [len(rows) * (weights.shape[1] - d - 1) for rows, weights, *_ in parts]
        weights_at[0, 1:-1] = np.cumsum([0, *sizes[:-1]])[:depth]
        weights_at[0, -1] = sum(sizes)
        most = min(MOST_NARROWED, total)
        room = (levels - 1) * most
        base = np.zeros((2 * d + 2, total + room))
        bounds = {name: np.zeros((levels, depth + 2)) for name in ("wrong", "norm", "row")}
        base_error, largest_base = np.zeros((2, levels, depth + 2, d + 1))
        weights = np.zeros((2, sum(sizes) + room * most // 2))
        rows = np.zeros(total + room, np.int64)
        for layer, (own_rows, high, low, error) in enumerate(parts, start=1):
            own = slice(start[0, layer], start[0, layer + 1])
            rows[own] = own_rows
            base[: d + 1, own], base[d + 1 :, own] = high[:, : d + 1].T, low[:, : d + 1].T
            at = slice(weights_at[0, layer], weights_at[0, layer] + sizes[layer - 1])
            weights[0, at], weights[1, at] = high[:, d + 1 :].T.ravel(), low[:, d + 1 :].T.ravel()
            base_error[0, layer] = error[: d + 1]
            largest_base[0, layer] = np.abs(high[:, : d + 1]).max(axis=0, initial=0.0)
            bounds["wrong"][0, layer] = frobenius_norm(error[d + 1 :])
            bounds["norm"][0, layer] = frobenius_norm(high[:, d + 1 :]) * INFLATE
            bounds["row"][0, layer] = largest_row(high[:, d + 1 :]) * INFLATE
        return Focus(
            on=True,
            now=np.zeros(1, np.int64),
            cell=np.zeros(levels, np.int64),
            first=np.ones(levels, np.int64),
            tried=np.full(levels, len(rows)),
            worth=np.array(tuning.current.narrowed),
            start=start,
            rows=rows,
            fixed=fixed,
            base=base,
            weights=weights[0],
            weights_low=weights[1],
            weights_at=weights_at,
            base_error=base_error,
            weights_error=bounds["wrong"],
            weights_norm=bounds["norm"],
            largest_row=bounds["row"],
            largest_base=largest_base,
            compact=np.zeros((2 * d + 3, total + room)),
            sources=np.zeros(total, np.int64),
            factors=np.zeros((2 * d + 2, total)),
            room=NarrowRoom(
                sums=np.zeros((d + 1 + most, widest)),
                sums_low=np.zeros((d + 1 + most, widest)),
                folded=np.zeros((total, d + 1 + most)),
                folded_low=np.zeros((total, d + 1 + most)),
                extent=np.zeros(total, np.int64),
                columns=np.zeros((COLUMN_PLACES, d + 1 + most)),
                forms=np.zeros((FORM_PLACES, most)),
                own=np.zeros((FORM_PLACES, widest)),
                corners=np.zeros((2, MOST_CORNERS)),
            ),
        )


def _no_weights(base: FloatArray, low: FloatArray) -> SparseRows:
    """Rows that read no neuron in a focus."""
    n = len(base)
    begin, end, columns = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(0, np.int32)
    return SparseRows(np.full(n, ROW), base, low, begin, end, columns, np.zeros(0), np.zeros(0))


def _added(
    term: _Term, read: SparseRows, rows: SparseRows, anchors: FloatArray
) -> SparseRows | None:
    """Rows plus what a term reads, some at a time: a clock may be waiting. None: no room."""
    known = len(anchors) - rows.base.shape[1]
    if len(term.matrix) == 2:  # a convolution
        sources, numbers = term.matrix
        add: Any = add_filters
        filters, count = numbers.shape[2], len(sources)
        shape, work = (len(anchors), filters), sources.shape[1] * numbers[0].size
        high, low = np.empty(shape), np.empty(shape)
    else:
        add, filters, count, work = add_terms, 1, len(rows.kind), max(1, term.most)
        high, low = anchors[None, rows.base.shape[1] :].copy(), np.zeros((1, known))
    room = SumRoom(anchors, high, low, np.zeros(known, np.bool_))
    step = max(1, _SUMMED_AT_ONCE // (work * len(anchors)))
    n = len(rows.kind)
    size = len(rows.columns) + len(read.columns) + 4 * n + 2 * filters * len(anchors)
    weights = np.empty(size, np.int32), np.empty(size), np.empty(size)
    begin, end = np.zeros(n, np.int64), np.zeros(n, np.int64)
    new = SparseRows(rows.kind, rows.base, rows.base_low, begin, end, *weights)
    place, used = 0, 0
    while place < count:
        check()
        last = min(place + step, count)
        place, used = add(term.matrix, read, rows, new, room, used, place, last)
        if place < last:
            size *= 2
            if size > _MOST_NUMBERS:
                return None
            weights = new.columns, new.high, new.low
            new = new._replace(
                columns=np.concatenate([weights[0], np.empty_like(weights[0])]),
                high=np.concatenate([weights[1], np.empty_like(weights[1])]),
                low=np.concatenate([weights[2], np.empty_like(weights[2])]),
            )
    return new


def _terms_of(network: Network, flat: FlatNetwork) -> list[list[_Term]]:
    """What every layer reads, from layer 0 on."""
    maps, found = flat.maps, list[list[_Term]]([[]])
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
        found.append(terms)
    return found


def focus_of(maker: FocusMaker, flat: FlatNetwork, unit: Unit) -> Focus | None:
    """The focus for a unit's cells; None if too many neurons can change, or one is unbounded."""
    if unit.nodes is not None and not unit.cells:
        nodes = unit.nodes
        cells = nodes.arrays.part(nodes.first, nodes.last)
        layer, pattern = int(cells.records[0, LAYER]), cells.pattern
        polygon, labels, lines = _around(cells.corners), cells.tags, cells.conflicts
    elif unit.cells and all(cell.cone.pointed for cell in unit.cells):
        one = unit.cells[0]
        layer = one.layer if len(unit.cells) == 1 else 1
        pattern = np.frombuffer(one.pattern, np.uint8)
        rays = [ray for cell in unit.cells for ray in cell.cone.rays]
        polygon = _around_rays(rays, flat.lines.scale)
        labels = np.array([label for cell in unit.cells for label in cell.cone.labels], np.int64)
        lines = labels[:0]
    else:
        return None
    if polygon is None:
        return None
    rows = flat.lines.line_row[np.concatenate([np.abs(labels) - 1, lines])]
    return maker.focus(*polygon, pattern, layer - 1, rows[rows >= 0].tolist())


def _around(corners: FloatArray) -> tuple[FloatArray, float] | None:
    """Corners of polygons, and what they may be off by."""
    w, error = corners[:, W], corners[:, ERROR]
    if (corners[:, AT_INFINITY] != 0.0).any() or not (w > 2.0 * error).all():
        return None
    points = corners[:, [X, Y]] / w[:, None]
    # |x / w - x̂ / ŵ| <= (ε + ε |x̂ / ŵ|) / (ŵ - ε)
    off = (error / (w - error))[:, None] * (1.0 + np.abs(points)) + 4.0 * ROUND * np.abs(points)
    return points, float(off.max() * INFLATE)


def _around_rays(rays: Any, scale: FloatArray) -> tuple[FloatArray, float] | None:
    """The same for exact corners, in scaled coordinates."""
    if not all(ray[-1] for ray in rays):
        return None
    try:
        points = np.array([[x / ray[-1] for x in ray[:-1]] for ray in rays]) * scale
    except OverflowError:
        return None
    return points, float((4.0 * ROUND * np.abs(points)).max() + TINY)


def _place(corners: FloatArray, off: float) -> _Place:
    """Where cells are; of many corners, those of a box around them are taken."""
    low, high = corners.min(axis=0), corners.max(axis=0)
    if len(corners) > _MOST_CORNERS and len(low) == 2:
        corners = np.array([[x, y] for x in (low[0], high[0]) for y in (low[1], high[1])])
    x = np.append((np.maximum(np.abs(low), np.abs(high)) + off) * INFLATE, 1.0)
    return _Place(np.ascontiguousarray(corners), off, x)


def _simple_norm(matrix: Any) -> float:
    """A bound on the spectral norm: the root of the largest sums of a column and of a row."""
    sizes = abs(matrix)
    largest = [sizes.sum(axis=axis).max(initial=0.0) for axis in (0, 1)]
    return float(np.sqrt(largest[0]) * np.sqrt(largest[1]) * INFLATE)


def _is_heavy(flat: FlatNetwork) -> bool:
    """Whether most of the time of a search goes to sums: those of many weights, most of them 0."""
    terms, total = flat.maps.terms, len(flat.maps.weights)
    inner = terms[:, SOURCE] > 0  # what reads layer 0 is summed once
    sizes = np.diff(np.append(terms[:, WEIGHTS_AT], total))
    if (terms[:, IS_SPARSE] == FILTERS).any():
        return True
    return bool(terms[inner, IS_SPARSE].any() and sizes[inner].sum() >= _FEW_WEIGHTS)


# --- what neurons can be on a box -----------------------------------------------------------------


def _intervals(rows: _Rows, place: _Place, forms: _Forms) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest values of all neurons of a layer, by what the outputs can be."""
    n, outputs = len(rows.numbers.kind), np.array([forms.low, forms.high])
    low, high = np.zeros(n), np.zeros(n)
    wrong = _wrong(rows, place.x, forms.high)
    bound(rows.numbers, place.corners, place.x, place.off, outputs, wrong, low, high)
    return low, high


def _forms(rows: _Rows, own: FloatArray, place: _Place, forms: _Forms) -> _Bounds:
    """Smallest and largest values of some neurons, by forms; `own` are their rows."""
    x = place.x
    base, weights = own[:, : len(x)], own[:, len(x) :]
    steps = weights * forms.factor
    a = base + steps @ forms.rows
    a[:, -1] += weights @ forms.middle
    g = steps @ forms.generators + weights * forms.middle
    reach = np.abs(forms.rows) @ x + np.abs(forms.generators).sum(axis=1) + 2.0 * forms.middle
    reach += forms.high
    n = len(x) + len(reach)
    rounded = 8.0 * (n + 20) * ROUND * (np.abs(base) @ x + np.abs(weights) @ reach)
    wrong = np.abs(steps) @ forms.wrong + rounded + _wrong(rows, x, reach)
    values = a[:, :-1] @ place.corners.T
    low, high = (end + a[:, -1] for end in (values.min(axis=1), values.max(axis=1)))
    spread = np.abs(g).sum(axis=1)
    off = spread + np.abs(a[:, :-1]).sum(axis=1) * place.off
    off += wrong + 8.0 * (n + 20) * ROUND * (np.abs(a) @ x + spread)
    return _Bounds(low - off * INFLATE, high + off * INFLATE, a, g, wrong * INFLATE)


def _wrong(rows: _Rows, x: FloatArray, outputs: FloatArray) -> float:
    """More than what the errors of the rows can make of a neuron."""
    return 2.0 * float(rows.error[: len(x)] @ x + rows.error[len(x) :] @ outputs) + TINY
