"""Tensors of a model as affine expressions of the layers found so far.

An `Expression` is a tensor each of whose entries is an affine function of the layers: for every
source layer a matrix with one row per entry (in row-major order), and a bias. A tensor that does
not depend on the input is a plain NumPy array. Both together are a `Value`.

Whatever only moves entries around (reshape, transpose, slice, gather, concatenate, pad, expand)
is one row selection: apply the NumPy function to an array of positions, then take those rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray, IndexArray
from tropicell.errors import ModelImportError
from tropicell.geometry.arithmetic import Matrix

Shape = tuple[int, ...]

#: No tensor in a file may have more entries, so that a file that claims a huge shape is refused.
MAX_ENTRIES = 2**26

#: No tensor that is worked out from others may have more entries: a few bytes can ask for any size.
MAX_VALUES = 2**22

#: Nor may a model have more inputs.
MAX_INPUTS = 2**20

#: No matrix may hold more numbers: 2**27 take about 1.5 GB.
MAX_STORED = 2**27

#: Nor may all matrices of a model together: 2**29 take about 6 GB.
MAX_TOTAL = 2**29

#: A matrix is kept dense if it is smaller than this, or at least this full.
DENSE_SIZE, DENSE_SHARE = 4_096, 0.25


class Expression:
    """A tensor of a given shape whose entries are affine functions of the layers so far.

    Parameters
    ----------
    shape : tuple of int
    terms : mapping from layer to matrix
        Matrices of shape (entries, width of the layer), dense or CSR.
    bias : ndarray, shape (entries,)

    Examples
    --------
    >>> x = Expression.of_layer(0, (1, 3))
    >>> (take(x, lambda at: at[:, ::-1])).terms[0].toarray()
    array([[0., 0., 1.],
           [0., 1., 0.],
           [1., 0., 0.]])
    """

    def __init__(self, shape: Shape, terms: Mapping[int, Matrix], bias: FloatArray) -> None:
        self.shape = check_shape(shape)
        self.terms = dict(terms)
        self.bias = bias

    @classmethod
    def of_layer(cls, layer: int, shape: Shape) -> Expression:
        """The outputs of a layer themselves."""
        size = math.prod(check_shape(shape))
        return cls(shape, {layer: sp.csr_array(sp.eye_array(size, format="csr"))}, np.zeros(size))

    @property
    def size(self) -> int:
        """Number of entries."""
        return int(self.bias.size)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    def reshape(self, shape: Sequence[int]) -> Expression:
        """The same entries in another shape; one -1 is allowed."""
        return Expression(_fill_shape(self, shape), self.terms, self.bias)

    def apply(self, operator: Matrix, shape: Shape) -> Expression:
        """The linear map with this matrix, applied to the flattened entries."""
        terms = {layer: multiply(operator, matrix) for layer, matrix in self.terms.items()}
        return Expression(shape, terms, np.asarray(operator @ self.bias))

    def __repr__(self) -> str:
        return f"Expression(shape={self.shape}, of layers {sorted(self.terms)})"


Value = Expression | NDArray[Any]


def is_constant(value: object) -> TypeGuard[NDArray[Any]]:
    """Whether a value does not depend on the input."""
    return not isinstance(value, Expression)


def check_shape(shape: Sequence[int]) -> Shape:
    """The shape as a tuple, or an error if a tensor of that shape is too large to be meant."""
    result = tuple(int(n) for n in shape)
    if any(n < 0 for n in result) or math.prod(result) > MAX_VALUES:
        raise ModelImportError(
            f"a tensor of shape {result} is too large: at most {MAX_VALUES} entries are supported"
        )
    return result


def finite(values: object, what: str) -> FloatArray:
    """Constants as finite float64 numbers, or an error that names them."""
    array = np.asarray(values, dtype=np.float64)
    if not np.isfinite(array).all():
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ModelImportError(
            f"{what} has the value {array[index]} at index {index}; expected finite numbers"
        )
    return array


def is_identity(matrix: Matrix) -> bool:
    """Whether a sparse matrix is the identity (products with it are skipped)."""
    if not isinstance(matrix, sp.csr_array) or matrix.shape[0] != matrix.shape[1]:
        return False
    n = matrix.shape[0]
    return (
        matrix.nnz == n
        and bool((matrix.indices == np.arange(n)).all())
        and bool((matrix.indptr == np.arange(n + 1)).all())
        and bool((matrix.data == 1.0).all())
    )


def tidy(matrix: Matrix) -> Matrix:
    """Dense if small or rather full, else CSR without stored zeros."""
    rows, columns = matrix.shape
    if isinstance(matrix, sp.csr_array):
        matrix.eliminate_zeros()
        if rows * columns <= DENSE_SIZE or matrix.nnz >= DENSE_SHARE * rows * columns:
            return np.asarray(matrix.toarray())
        return matrix
    if rows * columns > DENSE_SIZE and np.count_nonzero(matrix) < DENSE_SHARE * rows * columns:
        return sp.csr_array(matrix)
    return matrix


def multiply(left: Matrix, right: Matrix) -> Matrix:
    """Product of two matrices, dense or sparse."""
    if is_identity(right):
        return left
    if is_identity(left):
        return right
    if isinstance(left, sp.csr_array) and isinstance(right, sp.csr_array):
        return sp.csr_array(left @ right)
    check_stored(left.shape[0] * right.shape[1])
    return np.asarray(left @ right)


def check_stored(numbers: int) -> None:
    """Refuse a matrix that would not fit in memory."""
    if numbers > MAX_STORED:
        raise ModelImportError(
            f"a matrix with {numbers} numbers is too large: at most {MAX_STORED} are supported"
        )


class SizeBudget:
    """Refuses a model whose tensors together need more memory than is sensible.

    Examples
    --------
    >>> budget = SizeBudget()
    >>> budget.add([Expression.of_layer(0, (1, 3)), np.zeros(5)])
    >>> budget.numbers
    11
    """

    def __init__(self) -> None:
        self.numbers = 0
        self._seen: dict[int, Any] = {}  # tensors share matrices: each is counted once

    def add(self, values: Sequence[Any]) -> None:
        """Count the numbers of some more tensors."""
        for value in values:
            parts = (
                [value.bias, *value.terms.values()] if isinstance(value, Expression) else [value]
            )
            for part in parts:
                if id(part) not in self._seen and isinstance(part, (np.ndarray, sp.csr_array)):
                    self._seen[id(part)] = part
                    self.numbers += part.nnz if isinstance(part, sp.csr_array) else part.size
        if self.numbers > MAX_TOTAL:
            raise ModelImportError(
                f"the model's tensors have more than {MAX_TOTAL} numbers in all, once convolutions "
                "are written as matrices"
            )


# --- entries moved around -----------------------------------------------------------------------


def take(value: Value, move: Callable[[NDArray[Any]], NDArray[Any]]) -> Value:
    """The entries of a value where `move` puts them: a NumPy function of the array of positions.

    Examples
    --------
    >>> take(np.array([[1, 2], [3, 4]]), np.transpose)
    array([[1, 3],
           [2, 4]])
    """
    if not isinstance(value, Expression):
        return np.asarray(move(value))
    positions = move(np.arange(value.size).reshape(value.shape))
    return _rows(value, np.asarray(positions))


def join(values: Sequence[Value], move: Callable[[list[NDArray[Any]]], NDArray[Any]]) -> Value:
    """Like `take`, for several values that become one.

    Examples
    --------
    >>> join([np.array([1, 2]), np.array([3])], np.concatenate)
    array([1, 2, 3])
    """
    if all(is_constant(value) for value in values):
        return np.asarray(move([np.asarray(value) for value in values]))
    parts = [as_expression(value) for value in values]
    positions, start = [], 0
    for part in parts:
        positions.append(np.arange(start, start + part.size).reshape(part.shape))
        start += part.size
    return _rows(_stacked(parts), np.asarray(move(positions)))


def broadcast(value: Value, shape: Shape) -> Value:
    """The value in a larger shape, by NumPy's rules."""
    if value.shape == shape:
        return value
    check_shape(shape)
    return take(value, lambda at: np.broadcast_to(at, shape))


def as_expression(value: Value) -> Expression:
    """A constant as an expression of no layer."""
    if isinstance(value, Expression):
        return value
    return Expression(value.shape, {}, finite(value, "a constant").ravel())


def _rows(value: Expression, positions: IndexArray) -> Expression:
    shape = check_shape(positions.shape)
    rows = positions.ravel()
    if rows.size == value.size and bool((rows == np.arange(rows.size)).all()):
        return Expression(shape, value.terms, value.bias)
    terms = {layer: _matrix_rows(matrix, rows) for layer, matrix in value.terms.items()}
    return Expression(shape, terms, value.bias[rows])


def _matrix_rows(matrix: Matrix, rows: IndexArray) -> Matrix:
    if isinstance(matrix, sp.csr_array):
        check_stored(int(np.diff(matrix.indptr)[rows].sum()))
        return sp.csr_array(matrix[rows])
    check_stored(rows.size * matrix.shape[1])
    return np.asarray(matrix[rows])


def _stacked(parts: Sequence[Expression]) -> Expression:
    """All entries of several expressions as one flat expression."""
    widths = {layer: m.shape[1] for part in parts for layer, m in part.terms.items()}
    terms: dict[int, Matrix] = {}
    for layer, width in widths.items():
        blocks = [
            sp.csr_array(part.terms[layer])
            if layer in part.terms
            else sp.csr_array((part.size, width))
            for part in parts
        ]
        terms[layer] = sp.csr_array(sp.vstack(blocks, format="csr"))
    bias = np.concatenate([part.bias for part in parts])
    return Expression((bias.size,), terms, bias)


def _fill_shape(value: Expression, shape: Sequence[int]) -> Shape:
    sizes = [int(n) for n in shape]
    known = math.prod(n for n in sizes if n != -1)
    if sizes.count(-1) == 1 and known > 0:
        sizes[sizes.index(-1)] = value.size // known
    if any(n < 0 for n in sizes) or math.prod(sizes) != value.size:
        raise ModelImportError(
            f"a tensor of shape {value.shape} cannot be reshaped to {tuple(shape)}"
        )
    return tuple(sizes)


# --- sums and multiples -------------------------------------------------------------------------


def add(left: Value, right: Value, scale: float = 1.0) -> Value:
    """``left + scale * right``, broadcast.

    Examples
    --------
    >>> x = Expression.of_layer(0, (2,))
    >>> add(x, np.array([1.0, 2.0]), scale=-1.0).bias
    array([-1., -2.])
    """
    if is_constant(left) and is_constant(right):
        return np.asarray(left + scale * right)
    shape = np.broadcast_shapes(left.shape, right.shape)
    a, b = as_expression(broadcast(left, shape)), as_expression(broadcast(right, shape))
    terms = dict(a.terms)
    for layer, matrix in b.terms.items():
        scaled = matrix if scale == 1.0 else matrix * scale
        terms[layer] = _sum(terms[layer], scaled) if layer in terms else scaled
    return Expression(shape, terms, a.bias + scale * b.bias)


def scale(value: Value, factors: NDArray[Any]) -> Value:
    """Entry by entry times a constant, broadcast.

    Examples
    --------
    >>> scale(Expression.of_layer(0, (2,)), np.array([2.0, 3.0])).terms[0].toarray()
    array([[2., 0.],
           [0., 3.]])
    """
    if is_constant(value):
        return np.asarray(value * factors)
    factors = finite(factors, "a factor")
    shape = np.broadcast_shapes(value.shape, factors.shape)
    wide = as_expression(broadcast(value, shape))
    flat = np.broadcast_to(factors, shape).ravel()
    terms = {layer: _scaled_rows(matrix, flat) for layer, matrix in wide.terms.items()}
    return Expression(shape, terms, wide.bias * flat)


def _scaled_rows(matrix: Matrix, factors: FloatArray) -> Matrix:
    if isinstance(matrix, sp.csr_array):
        data = matrix.data * np.repeat(factors, np.diff(matrix.indptr))
        return sp.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
    return np.asarray(matrix * factors[:, None])


def _sum(left: Matrix, right: Matrix) -> Matrix:
    if isinstance(left, sp.csr_array) and isinstance(right, sp.csr_array):
        return sp.csr_array(left + right)
    a = left.toarray() if isinstance(left, sp.csr_array) else left
    b = right.toarray() if isinstance(right, sp.csr_array) else right
    return np.asarray(a + b)
