"""Proved upper bounds on norms of matrices of floats."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from tropicell._runtime.arrays import FloatArray
from tropicell.geometry.convolutions import Convolution
from tropicell.geometry.rounding import ROUND

#: Matrices whose smaller side is longer get a bound that takes less time, and is less sharp.
_LONGEST = 600

#: So often the product of a matrix with its transpose is squared.
_SQUARINGS = 5

#: Covers the roundings of sums of so many non-negative numbers, and of a root or a power.
_ROUNDED = 1e-10


def frobenius_norm(matrix: Any) -> float:
    """An upper bound on the root of the sum of all squares, which is at least the spectral norm.

    Examples
    --------
    >>> 5.0 <= frobenius_norm(np.array([[3.0], [4.0]])) < 5.00001
    True
    """
    if isinstance(matrix, Convolution):
        return _up(float(np.sqrt(np.sum(matrix.squares().sum(axis=1)))))
    return _length(matrix.data if _is_sparse(matrix) else matrix)


def euclidean(vectors: FloatArray) -> FloatArray:
    """The Euclidean norms of rows, of numbers of any size: no square under- or overflows.

    Relative to the norm the error is at most ``(n + 8) * ROUND`` for rows of n numbers, unless the
    norm itself is below 1e-300.

    Examples
    --------
    >>> euclidean(np.array([[3e-200, 4e-200], [3e200, 4e200], [0.0, 0.0]]))
    array([5.e-200, 5.e+200, 0.e+000])
    """
    largest = np.abs(vectors).max(axis=-1, initial=0.0)
    safe = np.where((largest > 0) & np.isfinite(largest), largest, 1.0)
    scaled = vectors / safe[..., None]
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(safe * np.sqrt((scaled * scaled).sum(axis=-1)))


def largest_row(matrix: Any) -> float:
    """An upper bound on the Euclidean lengths of a matrix's rows.

    Examples
    --------
    >>> 5.0 <= largest_row(np.array([[3.0, 4.0], [1.0, 1.0]])) < 5.00001
    True
    """
    if isinstance(matrix, Convolution):
        return _up(float(np.sqrt(np.max(matrix.squares().sum(axis=1)))))
    squares = matrix.multiply(matrix) if _is_sparse(matrix) else np.square(matrix)
    return _up(float(np.sqrt(np.max(squares.sum(axis=1), initial=0.0))))


def spectral_norm(matrix: Any) -> float:
    """An upper bound on the largest factor by which a matrix makes a vector longer.

    The largest singular value is the root of the norm of the symmetric matrix G = WᵀW, and the norm
    of a symmetric matrix A is the root of that of A²; a few squarings later the Frobenius norm,
    which is never too small, is almost as small. A computed product differs from the exact one by
    at most γ times the product of the factors' Frobenius norms, which is added.

    Examples
    --------
    >>> 2.0 <= spectral_norm(np.diag([2.0, 1.0])) < 2.01
    True
    """
    if isinstance(matrix, Convolution):
        return _of_filters(matrix)
    numbers = matrix.data if _is_sparse(matrix) else np.asarray(matrix, dtype=np.float64)
    if not numbers.size or not numbers.any():
        return 0.0
    scale = float(np.exp2(np.floor(np.log2(np.abs(numbers).max()))))
    sizes = abs(matrix) / scale  # by a power of two
    rows, columns = sizes.sum(axis=1).max(), sizes.sum(axis=0).max()
    simple = min(_length(numbers / scale), _up(float(np.sqrt(_up(rows) * _up(columns)))))
    if min(matrix.shape) > _LONGEST:
        return simple * scale
    dense = (matrix.toarray() if _is_sparse(matrix) else numbers) / scale
    return min(simple, _by_squaring(dense if dense.shape[0] >= dense.shape[1] else dense.T)) * scale


def _of_filters(convolution: Convolution) -> float:
    """The same for a convolution.

    With zeros around its input, and all places, it can only become longer: then it is, at each
    frequency ω, the matrix Σ W(t) exp(i ω·t) over its taps t. That is a product of the filters as
    one matrix, with the taps along its rows or its columns, axis by axis, and one whose norm is the
    root of the number of taps.
    """
    weight = convolution.weight
    axes = range(2, weight.ndim)
    found = []
    for choice in range(1 << len(axes)):
        down = [axis for axis in axes if choice >> (axis - 2) & 1]
        order = (0, *down, 1, *(axis for axis in axes if axis not in down))
        rows = weight.shape[0] * int(np.prod([weight.shape[axis] for axis in down]))
        found.append(spectral_norm(weight.transpose(order).reshape(rows, -1)))
    taps = int(np.prod(weight.shape[2:]))
    sizes = abs(convolution)
    rows, columns = float(sizes.sum(axis=1).max()), float(sizes.sum(axis=0).max())
    simple = _up(float(np.sqrt(_up(rows) * _up(columns))))
    return min(_up(float(np.sqrt(taps)) * min(found)), simple)


def _by_squaring(matrix: FloatArray) -> float:
    gamma = 2.0 * (max(matrix.shape) + 8) * ROUND
    square = matrix.T @ matrix
    errors, scales = [gamma * _length(matrix) ** 2], []
    for _ in range(_SQUARINGS):
        square = (square + square.T) / 2  # at most as far from the symmetric exact one
        scale = float(np.exp2(np.floor(np.log2(_length(square)))))
        square = square / scale
        scales.append(scale)
        errors.append(gamma * _length(square) ** 2)
        square = square @ square
    norm = _length(square)
    for error, scale in zip(errors[:0:-1], scales[::-1], strict=True):
        norm = _up(float(np.sqrt(_up(norm + error)))) * scale
    return _up(float(np.sqrt(_up(norm + errors[0]))))


def _length(matrix: FloatArray) -> float:
    return _up(float(np.sqrt(np.sum(np.square(matrix)))))


def _is_sparse(matrix: Any) -> bool:
    return bool(sp.issparse(matrix))


def _up(number: float) -> float:
    return number * (1.0 + _ROUNDED)
