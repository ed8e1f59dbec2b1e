"""What a network is made of: affine maps of earlier layers, and activations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from tropicell._runtime.arrays import FloatArray
from tropicell.errors import InvalidNetworkError
from tropicell.geometry.arithmetic import Matrix
from tropicell.network.activations import Activation, as_activation


class Affine:
    """A sum of matrices applied to earlier layers, plus a bias.

    Parameters
    ----------
    terms : mapping from layer to matrix
        For every source layer (0 is the input) a matrix of shape (outputs, width of the source),
        dense or `scipy.sparse`.
    bias : array_like, shape (outputs,), optional
        Default: zeros.

    Attributes
    ----------
    terms, bias : dict, ndarray
        As given; they can't be written to.
    numbers : ndarray
        All dense matrices, one after the other, and the bias: the others are views of it.

    Examples
    --------
    The sum of layer 1 and layer 3, both of width 2:

    >>> Affine({1: np.eye(2), 3: np.eye(2)}).width
    2
    """

    def __init__(
        self, terms: Mapping[int, ArrayLike | sp.sparray], bias: ArrayLike | None = None
    ) -> None:
        matrices = {int(source): _matrix(matrix) for source, matrix in sorted(terms.items())}
        if bias is None:
            if not matrices:
                raise InvalidNetworkError("an affine map needs a matrix or a bias")
            bias = np.zeros(next(iter(matrices.values())).shape[0])
        offsets = finite_numbers(bias, "bias")
        if offsets.ndim != 1:
            raise InvalidNetworkError(f"a bias must be flat, got shape {offsets.shape}")
        self.numbers = _joined([*matrices.values(), offsets])
        self.terms: dict[int, Matrix] = {}
        start = 0
        for source, matrix in matrices.items():
            own = matrix
            if not sp.issparse(matrix):
                own = self.numbers[start : start + matrix.size].reshape(matrix.shape)
                start += matrix.size
            self.terms[source] = own
        self.bias: FloatArray = self.numbers[start:]
        for source, matrix in matrices.items():
            if matrix.shape[0] != self.width:
                raise InvalidNetworkError(
                    f"the matrix from layer {source} has {matrix.shape[0]} rows, "
                    f"but the bias has {self.width} entries"
                )

    @property
    def width(self) -> int:
        """Number of outputs."""
        return int(self.bias.size)

    def __call__(self, values: Sequence[FloatArray]) -> FloatArray:
        """Value for the outputs of the layers 0, 1, …, each of shape (points, width)."""
        total = np.broadcast_to(self.bias, (values[0].shape[0], self.width))
        for source, matrix in self.terms.items():
            total = total + (matrix @ values[source].T).T
        return np.asarray(total)


class Layer:
    """An affine map of earlier layers, then an activation.

    Parameters
    ----------
    affine : Affine
        The pre-activation.
    activation : str or Activation
        One function for all neurons, or one per neuron.
    name : str
        What diagrams and messages call it, e.g. the node of the model it was imported from.

    Attributes
    ----------
    kind : tuple
        Equal for layers that differ in weights and biases only.

    Examples
    --------
    >>> Layer(Affine({0: [[1.0, -1.0]]}, [0.5]), "relu").width
    1
    """

    def __init__(
        self, affine: Affine, activation: str | Activation = "relu", name: str = ""
    ) -> None:
        self.affine = affine
        self.activation = as_activation(activation).expand(affine.width)
        self.name = name
        sources = [(source, m.shape, type(m)) for source, m in affine.terms.items()]
        self.kind = shared((self.activation, *sources))

    @property
    def width(self) -> int:
        """Number of neurons."""
        return self.affine.width


@lru_cache(maxsize=4096)
def shared(kind: tuple[Any, ...]) -> tuple[Any, ...]:
    """Equal kinds of layers or networks as one object, if there are not too many of them."""
    return kind


def _joined(arrays: Sequence[Matrix]) -> FloatArray:
    """A copy of the numbers of all dense arrays that can't be written to."""
    joined = np.concatenate([np.ravel(a) for a in arrays if not sp.issparse(a)])
    joined.setflags(write=False)
    return joined


def finite_numbers(values: ArrayLike, what: str) -> FloatArray:
    """Finite float64 numbers, or an error that names them.

    Examples
    --------
    >>> finite_numbers([1, 2], "bias")
    array([1., 2.])
    """
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidNetworkError(f"the {what} is not an array of numbers: {error}") from None
    if not np.isfinite(array).all():
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise InvalidNetworkError(f"the {what} has the value {array[index]} at index {index}")
    return array


def _check_rows(matrix: sp.csr_array) -> None:
    """Refuse a sparse matrix whose parts contradict each other: compiled code relies on them.

    SciPy's own check leaves out most of it where the last row claims to end at 0 or before.
    """
    ends, columns = matrix.indptr, matrix.indices
    rising = ends[0] == 0 and bool((ends[1:] >= ends[:-1]).all())
    if not rising or ends[-1] > min(len(columns), len(matrix.data)):
        raise InvalidNetworkError("the rows of a sparse matrix are not one after the other")
    used = columns[: ends[-1]]
    if used.size and not 0 <= used.min() <= used.max() < matrix.shape[1]:
        raise InvalidNetworkError("a sparse matrix has entries beyond its last column")


def _matrix(matrix: ArrayLike | sp.sparray) -> Matrix:
    if sp.issparse(matrix):
        result = sp.csr_array(matrix).astype(np.float64)
        _check_rows(result)
        result.sum_duplicates()
        finite_numbers(result.data, "matrix")
        return result
    dense = finite_numbers(cast(ArrayLike, matrix), "matrix")
    if dense.ndim != 2:
        raise InvalidNetworkError(f"expected a matrix, got an array of shape {dense.shape}")
    return dense
