"""Rows with twice the digits on a device: when they are needed, and what bounds them.

All numbers here go into bounds that are proved in docs/gpu.md; they are rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell.geometry.norms import largest_row
from tropicell.geometry.rounding import ROUND
from tropicell.network.activations import Activation
from tropicell.network.flat import FlatNetwork, rounds_layer_0
from tropicell.network.network import Network

#: Rows have twice the digits where more cells are expected to be in doubt with plain ones; and
#: every layer reads so many slices that not more are expected because of its rounding.
MOST_DOUBTS, MOST_DOUBTS_OF_LAYER = 1.5, 0.005

#: So many times as large as they could be are the bounds B of docs/gpu.md, about.
_LOOSE = 8

#: Covers rounding, wherever that is relative.
_ABOVE = 1 + 1e-9

#: ``struct Deep`` of plane.cu.
DEEP = np.dtype(
    [(name, np.float64) for name in ("norm", "row", "rest", "terms")]
    + [(name, np.float64) for name in ("root", "swing", "slope", "rounding", "grid", "finer")]
    + [(name, np.float64, 3) for name in ("base_most", "base_norm", "base_error")]
    + [(name, np.float64, 3) for name in ("intercept", "inexact")]
)


def _doubts(network: Network) -> float:
    """About how many cells in doubt a bound makes, over its size relative to the rows.

    It grows with the number of regions. The factor was measured on the plane, for networks of 8 to
    12 layers and 64 to 128 neurons.
    """
    return 300.0 * sum(network.widths) ** 2


def expected_doubts(network: Network, flat: FlatNetwork) -> float:
    """About how many cells are in doubt with plain rows.

    As if all weights of a layer were independent, and pieces equally likely. This decides what is
    done, and nothing that is found.
    """
    maps = flat.maps
    inputs = math.sqrt(float(np.mean(maps.input_rows**2))) if maps.input_rows.size else 0.0
    sizes, errors = [inputs], [0.0]  # of outputs
    largest = 0.0
    for index, layer in enumerate(network.layers, 1):
        square, error = float(np.mean(layer.affine.bias**2)), 0.0
        for source, matrix in layer.affine.terms.items():
            weights: Any = abs(matrix)
            square += float((weights**2).sum()) / matrix.shape[0] * sizes[source] ** 2
            sums = float(weights.sum()) / matrix.shape[0]
            error += sums * (errors[source] + float(maps.gamma[index]) * sizes[source])
        size = math.sqrt(square)
        largest = max(largest, error / size if size > 0 else 0.0)
        slopes = abs(layer.activation.slopes)
        sizes.append(size * math.sqrt(float(np.mean(slopes**2))))
        errors.append(error * float(np.mean(slopes)))
    return largest * _doubts(network)


def slices_needed(network: Network, flat: FlatNetwork, norms: Sequence[float]) -> list[int]:
    """For each layer, into how many slices the outputs that it reads are cut: 1, 2 or 3.

    As few as can be, by an estimate as in `expected_doubts` of what the rounding of this layer adds
    to the bounds of its rows and of those of later ones. `norms` are those of the layers' matrices.
    """
    maps = flat.maps
    most = MOST_DOUBTS_OF_LAYER / _doubts(network)
    outputs = [math.sqrt(float(np.mean(maps.input_rows**2))) if maps.input_rows.size else 0.0]
    sizes, rows, slopes, below = [], [], [], []
    for layer in network.layers:
        square, row, read, total = float(np.mean(layer.affine.bias**2)), 0.0, 0.0, 0
        for source, matrix in layer.affine.terms.items():
            weights: Any = abs(matrix)
            mean = float((weights**2).sum()) / matrix.shape[0]
            square += mean * outputs[source] ** 2
            if source:
                row, total = row + mean, total + matrix.shape[1]
                read += matrix.shape[1] * outputs[source] ** 2
        each = abs(layer.activation.slopes)
        outputs.append(math.sqrt(square * float(np.mean(each**2))))
        sizes.append(math.sqrt(square) or 1.0)
        rows.append(math.sqrt(row))
        slopes.append(float(each.max()))
        below.append((total, math.sqrt(read)))
    found = []
    for k, (n, size) in enumerate(below):
        # What a rounding becomes, relative to rows: that of all neurons of layer k, in later ones.
        largest, error = 1 / sizes[k], math.sqrt(network.widths[k])
        for later in range(k + 1, network.depth):
            error *= slopes[later - 1]
            largest = max(largest, rows[later] * error / sizes[later])
            error *= norms[later]
        enough = (
            count for count in (1, 2) if largest * rows[k] * size * _rounding(n, count) <= most
        )
        found.append(next(enough, 3))
    return found


def _rounding(n: int, count: int) -> float:
    """About the bound on the rounding of a sum of n products, relative to the norms of factors."""
    if count == 1:
        return 1.5 * (n + 8) * ROUND
    return _LOOSE * (2 * n + 8) * ROUND * _rest(n, count)


def _rest(n: int, count: int) -> float:
    """What the last product has at most, relative to B V of docs/gpu.md."""
    finer = math.ldexp(1.0, -_most_bits(n, count))
    return (1.5 * math.sqrt(n) + n / 4) * finer**2 if count == 3 else 1.5 * math.sqrt(n) * finer


class Slices(NamedTuple):
    """A matrix in parts whose products with parts of rows are exact.

    Attributes
    ----------
    factors : tuple of ndarrays
        What the slices of rows are multiplied by: the last slice, the last two, and so on. The
        last one begins with the matrix itself.
    bits : int
        p of docs/gpu.md.
    scale : float
        A power of two above the norms of all columns.
    """

    factors: tuple[FloatArray, ...]
    bits: int
    scale: float


def slices_of(matrix: FloatArray, count: int) -> Slices:
    """One, two or three slices of a matrix, (neurons of the sources, width)."""
    bits = _most_bits(len(matrix), count)
    scale = _power_above(max(largest_row(matrix.T), 1e-60))
    if count == 1:
        return Slices((matrix,), bits, scale)
    unit = math.ldexp(scale, -bits)
    first = np.rint(matrix / unit) * unit
    rest = matrix - first
    if count == 2:
        return Slices((first, np.concatenate([matrix, rest])), bits, scale)
    unit = math.ldexp(unit, -bits)
    second = np.rint(rest / unit) * unit
    factors = (
        first,
        np.concatenate([first, second]),
        np.concatenate([matrix, rest, rest - second]),
    )
    return Slices(factors, bits, scale)


def _most_bits(n: int, count: int) -> int:
    """The largest p such that products are exact: all but the last one."""
    return math.floor((53 - math.log2(1.01 * (math.sqrt(n) if count == 3 else 1.0))) / 2)


def _power_above(x: float) -> float:
    return math.ldexp(1.0, math.frexp(x)[1])


class Base(NamedTuple):
    """The part of a layer's rows that all cells share, as sums of two floats, (3, width) each.

    `error` bounds what is missing.
    """

    high: FloatArray
    low: FloatArray
    error: FloatArray


def base_of(network: Network, flat: FlatNetwork, index: int) -> Base:
    """Bias and layer 0: step 8 of docs/error-bound.md."""
    maps = flat.maps
    begin, end = maps.row_start[index], maps.row_start[index + 1]
    high = np.zeros((3, end - begin))
    high[2] = maps.bias[begin:end]
    low, error = np.zeros_like(high), np.zeros_like(high)
    matrix = network.layers[index - 1].affine.terms.get(0)
    if matrix is None:
        return Base(high, low, error)
    weights: Any = matrix.toarray() if hasattr(matrix, "toarray") else matrix
    sizes = np.abs(weights) @ np.abs(maps.input_rows)
    for column, row in zip(np.asarray(weights).T, maps.input_rows, strict=True):
        product, rest = _product(column[None, :], row[:, None])
        high, more = _sum(high, product)
        low += rest + more
    high, low = _sum(high, low)
    terms = len(maps.input_rows) + 4
    error = 4.01 * terms**2 * ROUND**2 * (sizes.T + np.abs(maps.bias[begin:end]))
    if rounds_layer_0(network):
        error += 1.01 * ROUND * sizes.T
    return Base(high, low, error)


def _sum(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A sum without error (Knuth)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def _product(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A product without error (Dekker)."""
    p = a * b
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    return p, ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low


def _halves(a: FloatArray) -> tuple[FloatArray, FloatArray]:
    c = 134217729.0 * a
    high = c - (c - a)
    return high, a - high


def constants(
    network: Network, index: int, slices: Slices | None, norm: float, base: Base
) -> NDArray[Any]:
    """What bounds the rows of a layer, whose matrix has that norm: a `DEEP` record."""
    deep = np.zeros(1, DEEP)
    record = deep[0]
    width = base.high.shape[1]
    record["root"] = math.sqrt(width) * _ABOVE
    if slices is not None:
        count, n = len(slices.factors), len(slices.factors[0])
        record["norm"], record["row"] = norm, largest_row(slices.factors[-1][:n].T)
        finer = math.ldexp(1.0, -slices.bits)
        record["rest"] = 1.02 * (record["row"] if count == 1 else _rest(n, count) * slices.scale)
        record["terms"] = count * n + 8
        record["grid"], record["finer"] = 1.5 * 2.0**52 * finer, finer
    activation = network.layers[index - 1].activation.expand(width)
    record["slope"] = np.abs(activation.slopes).max(initial=0.0)
    pieces = activation.slopes.shape[1]
    record["swing"] = 2 * pieces - 1
    record["base_most"] = (np.abs(base.high) + np.abs(base.low)).max(axis=1, initial=0.0) * _ABOVE
    record["base_norm"] = np.linalg.norm(base.high, axis=1) * _ABOVE
    record["base_error"] = np.linalg.norm(base.error, axis=1) * _ABOVE
    simple = (activation.intercepts == 0).all() and np.isin(activation.slopes, [0, 1]).all()
    if not (simple and (activation.breakpoints == 0).all()):
        rounding = 64 * pieces * ROUND**2
        at = np.abs(np.where(np.isfinite(activation.breakpoints), activation.breakpoints, 0))
        at_norm = np.linalg.norm(at.max(axis=1, initial=0.0))
        record["rounding"] = rounding
        record["intercept"][2] = np.linalg.norm(np.abs(activation.intercepts).max(axis=1)) * _ABOVE
        inexact = 2 * pieces * np.linalg.norm(_inexact(activation))
        record["inexact"][2] = (inexact + rounding * record["slope"] * at_norm) * _ABOVE
    return deep


def _inexact(activation: Activation) -> FloatArray:
    """For every neuron, how far its intercepts may be from those that make it continuous."""
    table = np.concatenate(
        [activation.breakpoints, activation.slopes, activation.intercepts], axis=1
    )
    _, places, which = np.unique(table, axis=0, return_index=True, return_inverse=True)
    found = np.zeros(len(places))
    for k, row in enumerate(places.tolist()):
        exact = activation.exact_row(row)[2]
        floats = activation.intercepts[row, : len(exact)].tolist()
        found[k] = max(abs(float(x - type(x)(y))) for x, y in zip(exact, floats, strict=True))
    return np.asarray(found[which.ravel()] * 1.01)
