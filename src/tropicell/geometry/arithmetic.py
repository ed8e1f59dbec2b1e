"""Two kinds of numbers, chosen by an explicit object: float64 and exact rationals.

Code that is written with NumPy arrays works with both: an exact array is an object array of
``flint.fmpq``. Only what NumPy can't do alike for both goes through an `Arithmetic`: turning
floats into numbers, products with large or sparse matrices, and turning results into numbers
for the user (floats, or `fractions.Fraction`).
"""

from __future__ import annotations

from fractions import Fraction
from math import inf
from typing import Any, Literal, Protocol

import numpy as np
import scipy.sparse as sp
from flint import fmpq, fmpq_mat
from numpy.typing import ArrayLike, NDArray

from tropicell._runtime.interruption import check
from tropicell.errors import InvalidInputError
from tropicell.geometry.convolutions import Convolution

Matrix = NDArray[np.float64] | sp.csr_array
#: What a layer applies to another one: a matrix, or a convolution that stands for one.
Operator = Matrix | Convolution
ArithmeticName = Literal["exact", "float"]

#: From this many scalar products on, FLINT's matrix product beats NumPy's loop over objects.
_FLINT_PAYS = 32

#: So many numbers are converted, and so many products summed up in FLINT, between two looks at
#: the clock: some hundredths of a second, if the numbers are of ordinary length.
_AT_ONCE, _PRODUCTS_AT_ONCE = 20_000, 2_000_000


#: Sizes of coordinates for which a witness is looked for where the middle of a region is beyond
#: float64: such that sums of products with ordinary weights do not overflow, and the largest.
FAR = (2**500, 2**1023)


class Arithmetic(Protocol):
    """What the rest of the package asks of a kind of number."""

    name: ArithmeticName

    def array(self, values: ArrayLike) -> NDArray[Any]:
        """Float or rational numbers as an array of this arithmetic, without rounding if exact."""

    def matrix(self, matrix: Operator) -> Any:
        """A float64 matrix, or a convolution, in the form that `matmul` is fast with."""

    def matmul(self, matrix: Any, columns: NDArray[Any]) -> NDArray[Any]:
        """Product of what `matrix` made and an array of this arithmetic."""

    def public(self, values: NDArray[Any]) -> NDArray[Any]:
        """The array as it is handed to the user."""


class FloatArithmetic:
    """Ordinary float64 numbers."""

    name: ArithmeticName = "float"

    def array(self, values: ArrayLike) -> NDArray[Any]:
        return np.asarray(values, dtype=np.float64)

    def matrix(self, matrix: Operator) -> Any:
        return matrix

    def matmul(self, matrix: Any, columns: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(matrix @ columns)

    def public(self, values: NDArray[Any]) -> NDArray[Any]:
        return values


class ExactArithmetic:
    """Rational numbers: float64 numbers are taken as the rationals that they are."""

    name: ArithmeticName = "exact"

    def array(self, values: ArrayLike) -> NDArray[Any]:
        return to_rationals(values)

    def matrix(self, matrix: Operator) -> Any:
        if isinstance(matrix, Convolution):
            return _RationalConvolution(matrix)
        if isinstance(matrix, sp.csr_array):
            return _SparseRationals(matrix)
        rationals = to_rationals(matrix)
        if matrix.size * 2 < _FLINT_PAYS:
            return rationals
        return _DenseRationals(rationals)

    def matmul(self, matrix: Any, columns: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(matrix @ columns)

    def public(self, values: NDArray[Any]) -> NDArray[Any]:
        return to_fractions(values)


class _DenseRationals:
    """A matrix of FLINT, in blocks of rows; it only knows how to multiply."""

    def __init__(self, rationals: NDArray[Any]) -> None:
        self._shape = rationals.shape
        rows, inner = self._shape
        size = max(1, _AT_ONCE // max(1, inner))
        self._blocks = [
            fmpq_mat(len(part), inner, part.ravel().tolist())
            for part in (rationals[start : start + size] for start in range(0, rows, size))
        ]

    def __matmul__(self, columns: NDArray[Any]) -> NDArray[Any]:
        rows, inner = self._shape
        result = np.empty((rows, columns.shape[1]), dtype=object)
        size = max(1, _PRODUCTS_AT_ONCE // max(1, min(rows * inner, _AT_ONCE)))
        for start in range(0, columns.shape[1], size):
            part = columns[:, start : start + size]
            right = fmpq_mat(inner, part.shape[1], part.ravel().tolist())
            top = 0
            for block in self._blocks:
                check()
                product = np.empty((block.nrows(), part.shape[1]), dtype=object)
                product.ravel()[:] = (block * right).entries()
                result[top : top + len(product), start : start + size] = product
                top += len(product)
        return result


class _SparseRationals:
    """A CSR matrix of rationals; it only knows how to multiply."""

    def __init__(self, matrix: sp.csr_array) -> None:
        self._matrix = matrix
        self._data = to_rationals(matrix.data)

    def __matmul__(self, columns: NDArray[Any]) -> NDArray[Any]:
        starts, indices = self._matrix.indptr, self._matrix.indices
        result = to_rationals(np.zeros((self._matrix.shape[0], columns.shape[1])))
        filled = np.flatnonzero(np.diff(starts))
        size = max(1, _AT_ONCE // max(1, columns.shape[1] * int(np.diff(starts).max(initial=1))))
        for begin in range(0, filled.size, size):
            check()
            rows = filled[begin : begin + size]
            first, last = starts[rows[0]], starts[rows[-1] + 1]
            products = self._data[first:last, None] * columns[indices[first:last]]
            result[rows] = np.add.reduceat(products, starts[rows] - first, axis=0)
        return result


class _RationalConvolution:
    """A convolution with rational filters; it only knows how to multiply."""

    def __init__(self, convolution: Convolution) -> None:
        self._convolution = convolution
        self._taps = [
            (places, sources, _DenseRationals(to_rationals(taps)))
            for places, sources, taps in convolution.taps()
        ]

    def __matmul__(self, columns: NDArray[Any]) -> NDArray[Any]:
        filters, channels = self._convolution.filters, self._convolution.channels
        places, m = self._convolution.shape[0] // filters, columns.shape[1]
        seen = columns.reshape(channels, len(columns) // channels, m)
        total = to_rationals(np.zeros((filters, places, m)))
        for at, sources, taps in self._taps:
            product = taps @ seen[:, sources].reshape(channels, len(sources) * m)
            total[:, at] += product.reshape(filters, len(sources), m)
        return total.reshape(filters * places, m)


FLOAT: Arithmetic = FloatArithmetic()
EXACT: Arithmetic = ExactArithmetic()


def get_arithmetic(name: ArithmeticName) -> Arithmetic:
    """The arithmetic of that name.

    Examples
    --------
    >>> get_arithmetic("exact").public(get_arithmetic("exact").array([0.75]))
    array([Fraction(3, 4)], dtype=object)
    """
    if name == "exact":
        return EXACT
    if name == "float":
        return FLOAT
    raise InvalidInputError(f"arithmetic must be 'exact' or 'float', not {name!r}")


def _to_rational(value: Any) -> fmpq:
    if isinstance(value, fmpq):
        return value
    if isinstance(value, Fraction):
        return fmpq(value.numerator, value.denominator)
    if isinstance(value, (int, np.integer)):
        return fmpq(int(value))
    return fmpq(*float(value).as_integer_ratio())


def to_rationals(values: ArrayLike) -> NDArray[Any]:
    """Floats, integers or Fractions as an object array of ``flint.fmpq``.

    Examples
    --------
    >>> to_rationals([0.5, 3])
    array([1/2, 3], dtype=object)
    """
    source = np.asarray(values)
    result = np.empty(source.shape, dtype=object)
    flat = result.ravel()
    given = source.ravel()
    if given.size <= _AT_ONCE:
        flat[:] = [_to_rational(value) for value in given.tolist()]
        return result
    for start in range(0, given.size, _AT_ONCE):
        check()
        part = slice(start, start + _AT_ONCE)
        flat[part] = [_to_rational(value) for value in given[part].tolist()]
    return result


def to_fractions(values: NDArray[Any]) -> NDArray[Any]:
    """An array of ``flint.fmpq`` as an object array of `fractions.Fraction`.

    Examples
    --------
    >>> to_fractions(to_rationals([0.5]))
    array([Fraction(1, 2)], dtype=object)
    """
    result = np.empty(values.shape, dtype=object)
    result.ravel()[:] = [Fraction(int(q.p), int(q.q)) for q in values.ravel().tolist()]
    return result


def nearest_float(numerator: int, denominator: int) -> float:
    """A quotient of whole numbers rounded to float64: infinite beyond the largest of them.

    Examples
    --------
    >>> nearest_float(1, 3), nearest_float(-(10**400), 7)
    (0.3333333333333333, -inf)
    """
    try:
        return numerator / denominator
    except OverflowError:
        return inf if (numerator > 0) == (denominator > 0) else -inf


def to_floats(values: NDArray[Any]) -> NDArray[np.float64]:
    """Rationals rounded to float64, correctly whatever the size of numerator and denominator.

    Those beyond the largest float64 become infinite. Floats stay what they are.

    Examples
    --------
    >>> to_floats(to_rationals([0.5, 3]))
    array([0.5, 3. ])
    >>> to_floats(np.array([Fraction(10) ** 400, Fraction(1, 3)]))
    array([       inf, 0.33333333])
    """
    if values.dtype != object:
        return values.astype(np.float64, copy=False)
    flat = [_to_float(value) for value in values.ravel().tolist()]
    return np.array(flat, dtype=np.float64).reshape(values.shape)


def _to_float(value: Any) -> float:
    if isinstance(value, fmpq):
        return nearest_float(int(value.p), int(value.q))
    if isinstance(value, (Fraction, int)):
        return nearest_float(value.numerator, value.denominator)
    return float(value)
