"""The rows of layers in float64 alone, with bounds that are known before a search begins.

Most searches need no more than that: where a sign is in doubt, the rows are worked out again with
twice the digits (`_layer_maps`), for that cell alone. It is for networks whose slopes are 0 and 1,
without intercepts, so that an output is a row or nothing; and for so few layers that the bounds,
which hold for every pattern, are tiny. They are step 1 of docs/error-bound.md, too.

Loops run over whole blocks of `BLOCK` neurons. What they write behind the last neuron of a layer
belongs to later layers, whose rows are summed anew before they are read.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tropicell._runtime.jit import kernel, template
from tropicell.geometry.norms import frobenius_norm, spectral_norm
from tropicell.geometry.rounding import INFLATE, ROUND, TINY
from tropicell.network._layer_maps import enter_layer, spare
from tropicell.network.flat import (
    BLOCK,
    COLUMNS_AT,
    FILTERS,
    IS_SPARSE,
    SOURCE,
    WEIGHTS_AT,
    MapArrays,
)

#: After so many changes of single neurons a layer's rows are summed anew.
_MOST_CHANGES = 16

#: Roundings of these changes, two for each of product and sum, and some to spare.
_MORE_ROUNDINGS = 4 * _MOST_CHANGES + 8

#: Rows are summed plainly if their errors are at most this part of the size that they usually have:
#: in any domain; and on the whole space and in boxes that are not small and far from 0.
_SMALL, _SMALL_IN_BOXES = 1e-11, 1e-8

#: Bounds that are carried along should be smaller yet: they differ from cell to cell.
_SMALLER = 0.03

#: Rows in twice the digits up to a layer behind this part of all save too little.
_MOST_FINE = 0.85

#: So many points are looked at to guess how bounds grow.
_POINTS = 16

#: Matrices with more numbers get a bound on their norms that is made faster.
_LARGE_MATRIX = 1 << 16


class PlainMaps(NamedTuple):
    """The affine maps of all layers on the current cell, before activations.

    Attributes
    ----------
    before : ndarray, shape (d + 2, rows and more)
        Slopes, offset, and a bound on their errors: as in `LayerMaps`.
    pattern : ndarray of uint8, shape (neurons,)
        The pieces to which they belong.
    changes : ndarray, shape (depth + 2,)
        As in `LayerMaps`.
    active : ndarray, shape (depth + 2,)
        How many neurons that a layer reads are on.
    sources : ndarray, shape (widest layer,)
        Scratch: neurons that change.
    errors : ndarray, shape (rows,)
        Bounds on the errors of the rows, for every pattern; of layers whose bounds are carried
        along they are not used. Empty: rows are not summed plainly, and the first two arrays are
        those of `LayerMaps`.
    roundings : ndarray, shape (depth + 2,)
        Of layers whose bounds are carried along, what their sums may round, as a part of the sum of
        all absolute summands; 0 for the others.
    fine : ndarray, shape (1,)
        Up to this layer rows are those of `LayerMaps`, which are kept up to date as far as that.
    """

    before: NDArray[np.float64]
    pattern: NDArray[np.uint8]
    changes: NDArray[np.int64]
    active: NDArray[np.int64]
    sources: NDArray[np.int64]
    errors: NDArray[np.float64]
    roundings: NDArray[np.float64]
    fine: NDArray[np.int64]


def plain_maps(
    maps: MapArrays,
    *,
    exact: bool,
    free: Any = lambda array: array,
    domain: NDArray[np.float64] | None = None,
    carried: bool = False,
) -> PlainMaps:
    """Room for them; for `free` see `tropicell._runtime.memory.Blueprint`.

    `domain`: the rows of its inequalities, for how small errors have to be. `carried`: whether
    bounds may be carried along where those for every pattern are of no use.
    """
    d, row_start = maps.dimension, maps.row_start
    layers, rows = len(row_start), int(row_start[-1])
    widest = int(np.diff(row_start).max(initial=1))
    small = _small_enough(domain)
    errors = plain_errors(maps, exact=exact, small=small)
    roundings, fine = np.zeros(layers), 0
    if errors is None and carried and is_plain(maps):
        likely = likely_fine(maps, domain, _SMALLER * small)
        if likely is not None:
            fine, (errors, roundings) = likely, carried_bounds(maps)
    return PlainMaps(
        before=free(np.zeros((d + 2, rows + spare(rows)))),
        pattern=np.zeros(rows - int(row_start[1]), np.uint8),
        changes=np.full(layers, -1),
        active=np.zeros(layers, np.int64),
        sources=np.zeros(widest + 1, np.int64),
        errors=np.zeros(0) if errors is None else errors,
        roundings=roundings,
        fine=np.array([fine]),
    )


def is_plain(maps: MapArrays) -> bool:
    """Whether an output is a row or nothing, and matrices are kept as numbers."""
    return bool(maps.unit.all()) and not (maps.terms[:, IS_SPARSE] == FILTERS).any()


def _small_enough(domain: NDArray[np.float64] | None) -> float:
    """The part of their usual size that errors of rows may be.

    In a box that is small and far from 0 rows do not change much, and neither do signs: there,
    errors must be smaller. This decides about the time that a search takes, and nothing else.

    Examples
    --------
    >>> rows = np.array([[0, 1.0], [1, 3], [-1, 3]])  # infinity, and -3 <= x <= 3
    >>> _small_enough(rows), _small_enough(rows + [[0, 0], [0, -6], [0, 0.01]])  # 3 <= x <= 3.01
    (1e-08, 1e-11)
    """
    if domain is None:
        return _SMALL
    d, width = domain.shape[1] - 1, 1.0
    if not domain[:, :d].any():
        return _SMALL_IN_BOXES
    box = _box(domain)
    if box is None:
        return _SMALL
    for low, high in box.T:
        width = min(width, float((high - low) / max(abs(low), abs(high), 1e-300)))
    return max(_SMALL_IN_BOXES * width**2, _SMALL)


def _box(domain: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """The lowest and highest coordinates of a box, from its inequalities; None: it is none."""
    d = domain.shape[1] - 1
    rows, found = domain[np.abs(domain[:, :d]).sum(axis=1) > 0.0], np.zeros((2, d))
    for c in range(d):
        alone = (rows[:, c] != 0.0) & (np.count_nonzero(rows[:, :d], axis=1) == 1)
        with np.errstate(over="ignore"):
            ends = -rows[alone, d] / rows[alone, c]
        if alone.sum() != 2 or len(rows) != 2 * d or not np.isfinite(ends).all():
            return None
        found[:, c] = ends.min(), ends.max()
    return found


def plain_errors(
    maps: MapArrays, *, exact: bool, small: float = _SMALL
) -> NDArray[np.float64] | None:
    """Bounds on the errors of plain rows, whatever the pattern; None if they are of no use.

    In float arithmetic they are 0: nothing is proved.
    """
    rows = int(maps.row_start[-1])
    if not is_plain(maps):
        return None
    if not exact:
        return np.zeros(rows)
    errors, starts = np.zeros(rows), maps.row_start.tolist()
    # Of the columns of a layer's outputs: their greatest length, that of their errors, the usual.
    sizes = [_column_length(maps.input_rows)]
    wrong = [_column_length(maps.input_low)]
    usual = [sizes[0]]
    scaled = _is_scaled(maps.input_rows)
    with np.errstate(all="ignore"):  # infinity proves nothing
        for layer in range(1, len(starts) - 1):
            part = slice(starts[layer], starts[layer + 1])
            bias = np.abs(maps.bias[part])
            size, error, likely = bias.copy(), np.zeros_like(bias), np.zeros_like(bias)
            total, off, summands = float(np.linalg.norm(bias)), 0.0, 0
            mine = range(maps.term_start[layer], maps.term_start[layer + 1])
            sources = maps.terms[mine.start : mine.stop, SOURCE]
            for term in mine:
                source, matrix = int(maps.terms[term, SOURCE]), _matrix(maps, term, layer)
                lengths = np.sqrt(_squares(matrix)) * INFLATE
                norm = (spectral_norm if matrix.size < _LARGE_MATRIX else frobenius_norm)(matrix)
                summands += _summands(matrix)
                size += lengths * sizes[source]
                error += lengths * wrong[source]
                share = max(matrix.shape[1], 1) * (1 if source == 0 else 2)
                likely += (lengths * usual[source]) ** 2 / share
                total += norm * sizes[source]
                off += norm * wrong[source]
            rounding = (summands + _MORE_ROUNDINGS) * ROUND * size * INFLATE
            if scaled and summands and (sources == 0).all():
                rounding[:] = 0.0  # one product by a power of two in each sum
            errors[part] = (error + rounding + TINY) * INFLATE
            rounded = float(np.linalg.norm(rounding))
            sizes.append((total + rounded) * INFLATE)
            wrong.append((off + rounded + TINY) * INFLATE)
            usual.append(float(np.sqrt(likely.sum())))
            if not rounded and not off:
                errors[part] = 0.0
                wrong[-1] = 0.0
            if not np.median(errors[part]) <= small * np.median(np.sqrt(likely)):
                return None
    return errors


def _summands(matrix: Any) -> int:
    """So many roundings, in units of u, a sum over the columns of a matrix may have, and more."""
    return 2 * int(matrix.shape[1]) + 4


# --- bounds that are carried along ----------------------------------------------------------------


def carried_bounds(maps: MapArrays) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The errors of layer 0, and what the sums of each layer may round: see `PlainMaps`."""
    errors = np.zeros(int(maps.row_start[-1]))
    errors[: maps.row_start[1]] = _input_errors(maps)
    return errors, _sum_roundings(maps)


def _sum_roundings(maps: MapArrays) -> NDArray[np.float64]:
    """What the sums of each layer may round; 0 where they round nothing."""
    starts, found = maps.row_start.tolist(), np.zeros(len(maps.row_start))
    scaled = _is_scaled(maps.input_rows) and not maps.input_low.any()
    for layer in range(1, len(starts) - 1):
        mine = range(maps.term_start[layer], maps.term_start[layer + 1])
        sources = maps.terms[mine.start : mine.stop, SOURCE]
        if scaled and (sources == 0).all():
            continue
        summands = sum(_summands(_matrix(maps, term, layer)) for term in mine)
        found[layer] = (summands + _MORE_ROUNDINGS) * ROUND * INFLATE
    return found


def _input_errors(maps: MapArrays) -> NDArray[np.float64]:
    """Bounds on the errors of the outputs of layer 0: 0 unless its map is rounded."""
    low, rounded = np.abs(maps.input_low), maps.input_low != 0.0
    # Both halves together are off by at most 2 u² in each place.
    off = low + rounded * (2.0 * ROUND * ROUND) * np.abs(maps.input_rows)
    return np.asarray(off.max(axis=1, initial=0.0) * INFLATE)


def likely_fine(maps: MapArrays, domain: NDArray[np.float64] | None, small: float) -> int | None:
    """Up to which layer rows should be worked out with twice the digits, so that errors are small.

    The bounds that are carried along grow from there on. None: that is of no use. It is guessed
    from the patterns of some points; it decides about the time that a search takes, and no more.
    """
    starts, d = maps.row_start.tolist(), maps.dimension
    depth = len(starts) - 2
    points = _some_points(domain, d)
    homogeneous = np.concatenate([points, np.ones((len(points), 1))], axis=1)
    roundings = _sum_roundings(maps)
    # For every layer: columns of outputs, and bounds on errors, at all points.
    after = [np.repeat(maps.input_rows[:, None, :], len(points), axis=1)]
    wrong = [np.repeat(_input_errors(maps)[:, None], len(points), axis=1)]
    parts = np.zeros(depth + 1)
    with np.errstate(all="ignore"):
        for layer in range(1, depth + 1):
            bias = maps.bias[starts[layer] : starts[layer + 1]]
            rows = np.zeros((len(bias), len(points), d + 1))
            rows[..., d] = bias[:, None]
            error = np.repeat(roundings[layer] * np.abs(bias)[:, None], len(points), axis=1)
            for term in range(maps.term_start[layer], maps.term_start[layer + 1]):
                source, matrix = int(maps.terms[term, SOURCE]), _matrix(maps, term, layer)
                rows += (matrix @ after[source].reshape(matrix.shape[1], -1)).reshape(rows.shape)
                sizes = roundings[layer] * np.abs(after[source]).max(axis=2)
                error += abs(matrix) @ (wrong[source] + sizes)
            on = (rows * homogeneous).sum(axis=2) > 0.0
            after.append(rows * on[..., None])
            wrong.append(error * on)
            parts[layer] = np.median(error / np.abs(rows).max(axis=2))
        if not np.isfinite(parts).all():
            return None
        fresh = roundings.max()
        for fine in range(depth):
            grown = parts[fine + 1 :].max() / max(parts[fine], fresh) * fresh
            if (parts[1:].max() if fine == 0 else grown) <= small:
                return fine if fine <= _MOST_FINE * depth else None
    return None


def _some_points(domain: NDArray[np.float64] | None, d: int) -> NDArray[np.float64]:
    """Points of a box, or near 0."""
    rng = np.random.default_rng(0)
    ends = None if domain is None else _box(domain)
    if ends is None:
        return rng.normal(size=(_POINTS, d))
    return rng.uniform(ends[0], ends[1], size=(_POINTS, d))


def _is_scaled(rows: NDArray[np.float64]) -> bool:
    """Whether layer 0 is the input itself, each coordinate times a power of two."""
    n, d = len(rows), rows.shape[1] - 1
    if n != d or np.count_nonzero(rows) != d or not rows.diagonal().all():
        return False
    return bool((np.abs(np.frexp(rows.diagonal())[0]) == 0.5).all())


def _column_length(rows: NDArray[np.float64]) -> float:
    with np.errstate(all="ignore"):  # infinity proves nothing
        return float(np.linalg.norm(rows, axis=0).max(initial=0.0)) * INFLATE


def _squares(matrix: Any) -> NDArray[np.float64]:
    """The sums of the squares of the rows of a matrix."""
    squares = matrix.multiply(matrix) if isinstance(matrix, sp.csr_array) else matrix * matrix
    return np.asarray(squares.sum(axis=1), dtype=np.float64).ravel()


def _matrix(maps: MapArrays, term: int, layer: int) -> Any:
    """The matrix of a term."""
    starts, entry = maps.row_start, maps.terms[term]
    source, at = int(entry[SOURCE]), int(entry[WEIGHTS_AT])
    height = int(starts[layer + 1] - starts[layer])
    width = int(starts[source + 1] - starts[source])
    if not entry[IS_SPARSE]:
        return maps.weights[at : at + width * height].reshape(width, height).T
    ends = maps.columns[int(entry[COLUMNS_AT]) : int(entry[COLUMNS_AT]) + width + 1]
    numbers = slice(at, at + int(ends[-1]))
    return sp.csr_array(
        sp.csc_array((maps.weights[numbers], maps.targets[numbers], ends), shape=(height, width))
    )


# --- kernels --------------------------------------------------------------------------------------


@kernel(inner=True)
def enter_all_plainly(maps: Any, current: Any, rows: Any, pieces: Any, layers: int, d: int) -> None:
    """Make the maps of the first layers anew, from the pieces of all of them.

    What `bring_up` does later must not depend on what was there before.
    """
    for layer in range(len(current.changes)):
        current.changes[layer] = -1
    for layer in range(layers):
        rows.changes[layer + 1] = -1
        at = maps.row_start[layer] - maps.row_start[1]
        if layer < rows.fine[0]:
            enter_finely(maps, current, rows, layer, pieces, at)
        else:
            enter_plainly(maps, rows, layer, pieces, at, d)


@kernel(inner=True, inlined=True)
def enter_finely(maps: Any, current: Any, rows: Any, layer: int, pieces: Any, at: int) -> None:
    """The same with twice the digits, for the layers up to ``rows.fine``: `LayerMaps` has the rows.

    Those behind are summed with bounds that begin anew with these.
    """
    enter_layer(maps, current, layer, pieces, at, True)
    begin, target, end = maps.row_start[layer], maps.row_start[layer + 1], maps.row_start[layer + 2]
    if layer > 0:
        first = begin - maps.row_start[1]
        for j in range(target - begin):
            rows.pattern[first + j] = pieces[at + j]
    for c in range(maps.dimension + 2):
        to, own = rows.before[c, target:end], current.before[c, target:end]
        for r in range(end - target):
            to[r] = own[r]
    rows.changes[layer + 2] = -1


@kernel(inner=True, inlined=True)
def enter_plainly(maps: Any, rows: Any, layer: int, pieces: Any, at: int, d: int) -> None:
    """Fix the pieces of `layer`, and bring the rows of the next layer up to date.

    As `tropicell.network._layer_maps.enter_layer`; `d` is the dimension.
    """
    before, changes, active, sources = rows.before, rows.changes, rows.active, rows.sources
    begin, target = maps.row_start[layer], maps.row_start[layer + 1]
    width, n = target - begin, maps.row_start[layer + 2] - target
    changes[layer + 2] = -1
    if layer > 0:
        first = begin - maps.row_start[1]
        own, new = rows.pattern[first : first + width], pieces[at : at + width]
        flips = 0
        for place in range(width):
            sources[np.uint64(flips)] = place
            flips += own[place] != new[place]
        made = changes[layer + 1]
        if made >= 0 and active[layer + 1] > 0 and made + flips <= _MOST_CHANGES:
            changes[layer + 1] = made + flips
            for k in range(flips):
                j: Any = np.uint64(sources[k])
                row: Any = np.uint64(begin) + j
                sign = maps.slopes[row, new[j]] - maps.slopes[row, own[j]]
                own[j] = new[j]
                if sign != 0.0:
                    for term in range(maps.term_start[layer + 1], maps.term_start[layer + 2]):
                        if maps.terms[term, SOURCE] == layer:
                            active[layer + 1] += int(sign)
                            _add_output(maps, before, term, target, n, int(row), sign, d)
                            if rows.roundings[layer + 1] > 0.0:
                                _add_error(maps, rows, term, layer + 1, int(row), sign, d)
            if active[layer + 1] > 0:
                return
        else:
            for k in range(flips):
                own[sources[k]] = new[sources[k]]
    _sum_plainly(maps, rows, layer + 1, d)


@kernel(inner=True)
def _sum_plainly(maps: Any, rows: Any, layer: int, d: int) -> None:
    """Sum the rows of a layer anew."""
    before, bias, slopes = rows.before, maps.bias, maps.slopes
    begin, end = maps.row_start[layer], maps.row_start[layer + 1]
    for c in range(d):
        for row in range(begin, end):
            before[np.uint64(c), np.uint64(row)] = 0.0
    for row in range(begin, end):
        before[np.uint64(d), np.uint64(row)] = bias[np.uint64(row)]
    rounding = rows.roundings[layer]
    if rounding > 0.0:
        for row in range(begin, end):
            before[np.uint64(d + 1), np.uint64(row)] = rounding * abs(bias[np.uint64(row)]) + TINY
    active = 0
    for term in range(maps.term_start[layer], maps.term_start[layer + 1]):
        source = maps.terms[term, SOURCE]
        for row in range(maps.row_start[source], maps.row_start[source + 1]):
            on = source == 0 or slopes[row, rows.pattern[row - maps.row_start[1]]] != 0.0
            if on:
                active += 1
                _add_output(maps, before, term, begin, end - begin, row, 1.0, d)
                if rounding > 0.0:
                    _add_error(maps, rows, term, layer, row, 1.0, d)
    rows.active[layer] = active
    rows.changes[layer] = 0
    if rounding > 0.0 and active:
        return
    # Where nothing was added to the biases, nothing was rounded.
    for row in range(begin, end):
        before[np.uint64(d + 1), np.uint64(row)] = rows.errors[np.uint64(row)] if active else 0.0


@kernel(sums="fused", inner=True, inlined=True)
def _add_output(
    maps: Any, before: Any, term: int, begin: int, n: int, row: int, sign: float, d: int
) -> None:
    """Add the output of a neuron, times `sign`, to the rows of a layer, which begin at `begin`."""
    source = maps.terms[term, SOURCE]
    place = row - maps.row_start[source]
    if maps.terms[term, IS_SPARSE]:
        at = maps.terms[term, WEIGHTS_AT]
        column = maps.terms[term, COLUMNS_AT] + place
        for k in range(at + maps.columns[column], at + maps.columns[column + 1]):
            to, weight = begin + maps.targets[k], maps.weights[k]
            for c in range(d + 1):
                before[c, to] += weight * (sign * _output(maps, before, source, row, c))
        return
    at = maps.terms[term, WEIGHTS_AT] + place * n
    more = (n + BLOCK - 1) // BLOCK * BLOCK
    w = maps.weights[at : at + more]
    if d == 3:
        f0 = sign * _output(maps, before, source, row, 0)
        f1 = sign * _output(maps, before, source, row, 1)
        f2 = sign * _output(maps, before, source, row, 2)
        f3 = sign * _output(maps, before, source, row, 3)
        r0, r1 = before[0, begin : begin + more], before[1, begin : begin + more]
        r2, r3 = before[2, begin : begin + more], before[3, begin : begin + more]
        for r in range(more):
            r0[r] += w[r] * f0
            r1[r] += w[r] * f1
            r2[r] += w[r] * f2
            r3[r] += w[r] * f3
        return
    for c in range(d + 1):
        f = sign * _output(maps, before, source, row, c)
        out = before[c, begin : begin + more]
        for r in range(more):
            out[r] += w[r] * f


@kernel(sums="fused", inner=True, inlined=True)
def _add_error(maps: Any, rows: Any, term: int, layer: int, row: int, sign: float, d: int) -> None:
    """Carry along the bounds on the errors of a layer's rows when an output is added or taken off.

    Step 1, plain rows: what was added for the error of the output is taken off again, nearly; what
    is allowed for roundings stays.
    """
    before, source = rows.before, maps.terms[term, SOURCE]
    error = rows.errors[row] if source == 0 else before[d + 1, row]
    if sign > 0.0:
        largest = 0.0
        for c in range(d + 1):
            largest = max(largest, abs(_output(maps, before, source, row, c)))
        error = error * INFLATE + rows.roundings[layer] * largest
    else:
        error = -error
    begin, n = maps.row_start[layer], maps.row_start[layer + 1] - maps.row_start[layer]
    at, place = maps.terms[term, WEIGHTS_AT], row - maps.row_start[source]
    if maps.terms[term, IS_SPARSE]:
        column = maps.terms[term, COLUMNS_AT] + place
        for k in range(at + maps.columns[column], at + maps.columns[column + 1]):
            before[d + 1, begin + maps.targets[k]] += abs(maps.weights[k]) * error
        return
    at += place * n
    more = (n + BLOCK - 1) // BLOCK * BLOCK
    w, out = maps.weights[at : at + more], before[d + 1, begin : begin + more]
    for r in range(more):
        out[r] += abs(w[r]) * error


@template
def _output(maps: Any, before: Any, source: int, row: int, c: int) -> Any:
    """A column of the output of a neuron that is on, or of an input."""
    return maps.input_rows[row, c] if source == 0 else before[c, row]


@kernel(inner=True)
def bring_up(maps: Any, current: Any, pattern: Any, layer: int) -> None:
    """Let the rows of `LayerMaps` up to a layer be those of a pattern."""
    first = maps.row_start[1]
    for k in range(layer):
        differs = current.changes[k + 1] < 0
        for j in range(max(maps.row_start[k] - first, 0), maps.row_start[k + 1] - first):
            differs = differs or current.pattern[j] != pattern[j]
        if differs:
            enter_layer(maps, current, k, pattern, maps.row_start[k] - first, True)


@kernel(inner=True)
def catch_up(maps: Any, current: Any, rows: Any, layer: int) -> None:
    """The same for the pattern of plain rows; bounds that are carried along begin anew.

    So the cells within the cell that was in doubt have rows that are better known.
    """
    bring_up(maps, current, rows.pattern, layer)
    last, end = maps.row_start[layer], maps.row_start[layer + 1]
    bound = maps.dimension + 1
    if not (rows.roundings[layer] > 0.0 and rows.before[bound, last] > current.before[bound, last]):
        return
    first = maps.row_start[rows.fine[0] + 1]
    for c in range(maps.dimension + 2):
        to, own = rows.before[c, first:end], current.before[c, first:end]
        for r in range(end - first):
            to[r] = own[r]
    for k in range(rows.fine[0], layer + 1):
        rows.changes[k + 1] = -1
