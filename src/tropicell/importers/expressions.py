"""Tensors of a model as affine expressions of the layers found so far.

An `Expression` is a tensor each of whose entries is an affine function of the layers: for every
source layer a matrix with one row per entry (in row-major order), and a bias. A tensor that does
not depend on the input is a plain NumPy array. Both together are a `Value`.

Whatever only moves entries around (reshape, transpose, slice, gather, concatenate, pad, expand)
is one row selection: apply the NumPy function to an array of positions, then take those rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeGuard
from weakref import ReferenceType, ref

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray, IndexArray
from tropicell.errors import ModelImportError, UnsupportedOperatorError
from tropicell.geometry.arithmetic import Matrix, Operator
from tropicell.geometry.convolutions import Convolution
from tropicell.network.activations import Activation

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

#: From so many values a tensor remembers how it was made.
_REMEMBERED = 4

#: What to do about a model that is too large.
SMALLER = (
    "These matrices grow with the area of an image: import the model with a smaller input, or only "
    "a part of it"
)

#: A matrix is kept dense if it is smaller than this, or at least this full.
DENSE_SIZE, DENSE_SHARE = 4_096, 0.25


class Expression:
    """A tensor of a given shape whose entries are affine functions of the layers so far.

    Parameters
    ----------
    shape : tuple of int
    terms : mapping from layer to matrix
        Matrices of shape (entries, width of the layer), dense or CSR; or large convolutions.
    bias : ndarray, shape (entries,)

    Examples
    --------
    >>> x = Expression.of_layer(0, (1, 3))
    >>> (take(x, lambda at: at[:, ::-1])).terms[0].toarray()
    array([[0., 0., 1.],
           [0., 1., 0.],
           [1., 0., 0.]])
    """

    def __init__(self, shape: Shape, terms: Mapping[int, Operator], bias: FloatArray) -> None:
        self.shape = check_shape(shape)
        self.terms = dict(terms)
        self.bias = bias
        #: The activation, and what it was applied to, if it is one piecewise function of that.
        self.function: tuple[ReferenceType[Expression], Activation] | None = None
        #: What it was made from by factors and offsets, entry by entry, newest first.
        self._made_from: list[tuple[ReferenceType[Expression], NDArray[Any], NDArray[Any]]] = []

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

    @property
    def whole(self) -> bool:
        """Whether the entries are those of a layer, or of several added up, plus constants."""
        return all(map(is_identity, self.terms.values()))

    def apply(self, operator: Operator, shape: Shape) -> Expression:
        """The linear map with this matrix, applied to the flattened entries."""
        terms = {layer: multiply(operator, matrix) for layer, matrix in self.terms.items()}
        return Expression(shape, terms, np.asarray(operator @ self.bias))

    def affine_in(self, base: Expression) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """Factors and offsets if this is known to be ``factors * base + offsets``, entry by entry.

        What is remembered is how the value was made, not the numbers that came out.

        Examples
        --------
        >>> x = Expression.of_layer(0, (2,))
        >>> add(scale(x, np.array(0.1)), np.array(3.0)).affine_in(x)
        (array([0.1, 0.1]), array([3., 3.]))
        """
        if self is base:
            return np.ones(self.shape), np.zeros(self.shape)
        for made_from, factors, offsets in self._made_from:
            if made_from() is base:
                return np.broadcast_to(factors, self.shape), np.broadcast_to(offsets, self.shape)
        return None

    def ancestors(self) -> list[Expression]:
        """The value itself, and what it was made from by factors and offsets, newest first."""
        found = [made_from() for made_from, _, _ in self._made_from]
        return [self, *(value for value in found if value is not None)]

    def remember(self, value: Expression, factors: NDArray[Any], offsets: NDArray[Any]) -> None:
        """Write down that this is ``factors * value + offsets``, entry by entry."""
        if self.shape == value.shape:
            self._made_from = [(ref(value), factors, offsets)] + [
                (older, factors * f, factors * o + offsets)
                for older, f, o in value._made_from[: _REMEMBERED - 1]
            ]

    def __repr__(self) -> str:
        return f"Expression(shape={self.shape}, of layers {sorted(self.terms)})"


class Outline(Expression):
    """A tensor that depends on the input and of which only the shape is known.

    A model is first walked with these: whatever refuses it, an operator, a shape or its size, does
    so before any matrix is made.

    Parameters
    ----------
    shape : tuple of int
    ledger : Ledger
        Where the sizes of the matrices are added up that would be made.
    whole : bool
        Whether it is the output of a layer, or such outputs added up, as far as one can tell.
    unwritten : int
        Numbers of a convolution that stays one, unless something else is done with its output.

    Examples
    --------
    >>> x = Outline((2, 3), Ledger())
    >>> take(x, np.transpose).shape, add(x, np.ones((4, 1, 1))).shape
    ((3, 2), (4, 2, 3))
    """

    def __init__(
        self, shape: Shape, ledger: Ledger, whole: bool = False, unwritten: int = 0
    ) -> None:
        size = math.prod(check_shape(shape))
        super().__init__(shape, {}, np.broadcast_to(np.float64(0.0), (size,)))
        self.ledger, self._whole, self.unwritten = ledger, whole, unwritten

    @property
    def whole(self) -> bool:
        return self._whole

    def reshape(self, shape: Sequence[int]) -> Outline:
        """The same entries in another shape; one -1 is allowed."""
        return Outline(_fill_shape(self, shape), self.ledger, self.whole, self.unwritten)

    def moved(self, shape: Shape, numbers: int = 0, unwritten: int = 0) -> Outline:
        """What a linear map with so many numbers makes of it."""
        self.ledger.add(self.unwritten)
        self.ledger.add(numbers)
        return Outline(shape, self.ledger, unwritten=unwritten)

    def apply(self, operator: Operator, shape: Shape) -> Outline:
        """A linear map, of which only the size is written down."""
        unwritten = operator.size if isinstance(operator, Convolution) else 0
        return self.moved(shape, stored_numbers(operator), unwritten)


class Ledger:
    """How many numbers the matrices of a model would have, added up before they are made.

    Examples
    --------
    >>> ledger = Ledger()
    >>> ledger.at("node 'conv'")
    >>> ledger.add(2**30)
    >>> ledger.check()
    Traceback (most recent call last):
    ...
    tropicell.errors.ModelImportError: the model is too large: its convolutions and products...
    """

    def __init__(self) -> None:
        self.numbers = 0
        self._where = ""
        self._largest = (0, "")

    def at(self, where: str) -> None:
        """What is added from here on belongs to this node."""
        self._where = where

    def add(self, numbers: int) -> None:
        """A matrix with so many numbers would be made."""
        self.numbers += numbers
        self._largest = max(self._largest, (numbers, self._where))

    def check(self) -> None:
        """Refuse a model whose matrices together need more memory than is sensible."""
        if self.numbers > MAX_TOTAL:
            numbers, where = self._largest
            raise ModelImportError(
                f"the model is too large: its convolutions and products, written as matrices, have "
                f"{self.numbers:,} numbers, and at most {MAX_TOTAL:,} (about 6 GB) are supported; "
                f"the largest of them has {numbers:,} (at {where}). {SMALLER}"
            )


Value = Expression | NDArray[Any]


class Condition:
    """What a comparison gives that depends on the input: where an expression is positive.

    It jumps, so it is no value of a network. `nonlinear.where` can choose by it where the choice
    is continuous.

    Parameters
    ----------
    difference : Expression
        The condition holds where this is positive,
    strict : bool
        and, if this is False, where it is 0.
    operator, name : str
        The comparison, and its node, for messages.
    """

    def __init__(self, difference: Expression, strict: bool, operator: str, name: str) -> None:
        self.difference, self.strict = difference, strict
        self.ancestors = difference.ancestors()  # kept: tensors are dropped after their last use
        self.operator, self.name = operator, name

    @property
    def shape(self) -> Shape:
        """Shape of the comparison."""
        return self.difference.shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.difference.ndim

    def opposite(self) -> Condition:
        """Where this one does not hold."""
        negative = scale(self.difference, np.asarray(-1.0))
        return Condition(as_expression(negative), not self.strict, self.operator, self.name)

    def refusal(self) -> UnsupportedOperatorError:
        """The error for any other use of a comparison."""
        return UnsupportedOperatorError(
            self.operator,
            self.name,
            "it jumps, so it is not continuous; where(h > 0, a, b) and (h > 0) * a are supported "
            "where they do not jump. Write it with relu, clamp, maximum or minimum",
        )


def is_constant(value: object) -> TypeGuard[NDArray[Any]]:
    """Whether a value does not depend on the input."""
    return not isinstance(value, Expression)


def check_shape(shape: Sequence[int]) -> Shape:
    """The shape as a tuple, or an error if a tensor of that shape is too large to be meant."""
    result = tuple(int(n) for n in shape)
    if any(n < 0 for n in result) or math.prod(result) > MAX_VALUES:
        raise ModelImportError(
            f"a tensor of shape {result} is too large: at most {MAX_VALUES} entries are supported; "
            "import the model with a smaller input, or only a part of it"
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


def is_identity(matrix: Operator) -> bool:
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


def written(operator: Operator) -> Matrix:
    """A convolution as a matrix, if it is not too large; matrices as they are."""
    if not isinstance(operator, Convolution):
        return operator
    check_stored(operator.size)
    return operator.tocsr(MAX_STORED)


def tidy(matrix: Operator) -> Operator:
    """Dense if small or rather full, else CSR without stored zeros; convolutions as they are."""
    if isinstance(matrix, Convolution):
        return matrix
    rows, columns = matrix.shape
    if isinstance(matrix, sp.csr_array):
        if not matrix.data.all():
            matrix = matrix.copy()  # its parts may be another matrix's, too
            matrix.eliminate_zeros()
        if rows * columns <= DENSE_SIZE or matrix.nnz >= DENSE_SHARE * rows * columns:
            return np.asarray(matrix.toarray())
        return matrix
    if rows * columns > DENSE_SIZE and np.count_nonzero(matrix) < DENSE_SHARE * rows * columns:
        return sp.csr_array(matrix)
    return matrix


def multiply(left: Operator, right: Operator) -> Operator:
    """Product of two matrices, dense or sparse."""
    if is_identity(right):
        return left
    if is_identity(left):
        return right
    left, right = written(left), written(right)
    if isinstance(left, sp.csr_array) and isinstance(right, sp.csr_array):
        return sp.csr_array(left @ right)
    check_stored(left.shape[0] * right.shape[1])
    return np.asarray(left @ right)


def check_stored(numbers: int) -> None:
    """Refuse a matrix that would not fit in memory."""
    if numbers > MAX_STORED:
        raise ModelImportError(
            f"a matrix with {numbers:,} numbers is too large: at most {MAX_STORED:,} are "
            f"supported. {SMALLER}"
        )


def stored_numbers(matrix: Operator) -> int:
    """How many numbers a matrix or a convolution keeps."""
    if isinstance(matrix, Convolution):
        return int(matrix.weight.size)
    return int(matrix.nnz) if isinstance(matrix, sp.csr_array) else int(matrix.size)


def check_alive(values: Iterable[Any]) -> None:
    """Refuse a model whose tensors need more memory at a time than is sensible.

    Examples
    --------
    >>> check_alive([Expression.of_layer(0, (1, 3)), np.zeros(5)])
    """
    seen: dict[int, int] = {}  # tensors share matrices: each is counted once
    for value in values:
        parts = [value.bias, *value.terms.values()] if isinstance(value, Expression) else [value]
        for part in parts:
            if isinstance(part, (np.ndarray, sp.csr_array, Convolution)):
                seen[id(part)] = stored_numbers(part)
    if sum(seen.values()) > MAX_TOTAL:
        raise ModelImportError(
            f"the model's tensors have more than {MAX_TOTAL:,} numbers at a time (about 6 GB), "
            f"once convolutions are written as matrices. {SMALLER}"
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
    if isinstance(value, Outline):
        return value.moved(np.shape(move(_nowhere(value.shape))))
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
    ledger = ledger_of(values)
    if ledger is not None:
        return Outline(np.shape(move([_nowhere(value.shape) for value in values])), ledger)
    parts = [as_expression(value) for value in values]
    positions, start = [], 0
    for part in parts:
        positions.append(np.arange(start, start + part.size).reshape(part.shape))
        start += part.size
    return _rows(_stacked(parts), np.asarray(move(positions)))


def ledger_of(values: Iterable[Any]) -> Ledger | None:
    """The ledger of outlines, if there is one among the values."""
    return next((value.ledger for value in values if isinstance(value, Outline)), None)


def _nowhere(shape: Shape) -> NDArray[Any]:
    """In place of an array of positions, where only its shape matters."""
    return np.broadcast_to(np.intp(0), shape)


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
    terms = {layer: _matrix_rows(written(matrix), rows) for layer, matrix in value.terms.items()}
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
            sp.csr_array(written(part.terms[layer]))
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
    ledger = ledger_of((left, right))
    if ledger is not None:
        parts = [value for value in (left, right) if isinstance(value, Expression)]
        whole = scale == 1.0 and all(part.whole and part.shape == shape for part in parts)
        unwritten = sum(part.unwritten for part in parts if isinstance(part, Outline))
        result: Expression = Outline(shape, ledger, whole, unwritten)
    else:
        a, b = as_expression(broadcast(left, shape)), as_expression(broadcast(right, shape))
        terms: dict[int, Any] = dict(a.terms)
        for layer, matrix in b.terms.items():
            scaled = matrix if scale == 1.0 else matrix * scale
            terms[layer] = _sum(terms[layer], scaled) if layer in terms else scaled
        result = Expression(shape, terms, a.bias + scale * b.bias)
    if isinstance(left, Expression) and is_constant(right):
        result.remember(left, np.ones(()), scale * right)
    elif isinstance(right, Expression) and is_constant(left):
        result.remember(right, np.asarray(scale), np.asarray(left))
    return result


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
    if isinstance(value, Outline):
        result: Expression = Outline(shape, value.ledger, unwritten=value.unwritten)
    else:
        wide = as_expression(broadcast(value, shape))
        flat = np.broadcast_to(factors, shape).ravel()
        terms = {layer: _scaled_rows(matrix, flat) for layer, matrix in wide.terms.items()}
        result = Expression(shape, terms, wide.bias * flat)
    if isinstance(value, Expression):
        result.remember(value, factors, np.zeros(()))
    return result


def _scaled_rows(matrix: Operator, factors: FloatArray) -> Operator:
    if isinstance(matrix, Convolution):
        each = factors.reshape(matrix.filters, -1)
        if (each == each[:, :1]).all():
            return matrix.scaled(each[:, 0])
        matrix = written(matrix)
    if isinstance(matrix, sp.csr_array):
        data = matrix.data * np.repeat(factors, np.diff(matrix.indptr))
        return sp.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
    return np.asarray(matrix * factors[:, None])


def _sum(left: Operator, right: Operator) -> Matrix:
    left, right = written(left), written(right)
    if isinstance(left, sp.csr_array) and isinstance(right, sp.csr_array):
        return sp.csr_array(left + right)
    a = left.toarray() if isinstance(left, sp.csr_array) else left
    b = right.toarray() if isinstance(right, sp.csr_array) else right
    return np.asarray(a + b)
