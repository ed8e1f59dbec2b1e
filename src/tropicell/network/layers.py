"""What a network is made of: affine maps of earlier layers, and activations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from tropicell._runtime.arrays import FloatArray
from tropicell.errors import InvalidNetworkError
from tropicell.geometry.arithmetic import Matrix, Operator
from tropicell.geometry.convolutions import Convolution
from tropicell.network.activations import Activation, as_activation


class Affine:
    """A sum of matrices applied to earlier layers, plus a bias.

    Parameters
    ----------
    terms : mapping from layer to matrix
        For every source layer (0 is the input) a matrix of shape (outputs, width of the source),
        dense or `scipy.sparse`, or a `tropicell.geometry.convolutions.Convolution`.
    bias : array_like, shape (outputs,), optional
        Default: zeros.

    Attributes
    ----------
    operators, bias : dict, ndarray
        As given; they can't be written to.
    terms : mapping from layer to matrix
        The same, where convolutions are written out as sparse matrices when they are asked for.
    numbers : ndarray
        All dense matrices, one after the other, and the bias: the others are views of it.

    Examples
    --------
    The sum of layer 1 and layer 3, both of width 2:

    >>> Affine({1: np.eye(2), 3: np.eye(2)}).width
    2
    """

    def __init__(
        self,
        terms: Mapping[int, ArrayLike | sp.sparray | Convolution],
        bias: ArrayLike | None = None,
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
        self.operators: dict[int, Operator] = {}
        start = 0
        for source, matrix in matrices.items():
            own = matrix
            if isinstance(matrix, np.ndarray):
                own = self.numbers[start : start + matrix.size].reshape(matrix.shape)
                start += matrix.size
            self.operators[source] = own
        self.bias: FloatArray = self.numbers[start:]
        written = any(isinstance(m, Convolution) for m in matrices.values())
        kept = _Matrices(self.operators) if written else self.operators
        self._matrices = cast(Mapping[int, Matrix], kept)
        for source, matrix in matrices.items():
            if matrix.shape[0] != self.width:
                raise InvalidNetworkError(
                    f"the matrix from layer {source} has {matrix.shape[0]} rows, "
                    f"but the bias has {self.width} entries"
                )

    @property
    def terms(self) -> Mapping[int, Matrix]:
        """For every source layer its matrix."""
        return self._matrices

    @property
    def width(self) -> int:
        """Number of outputs."""
        return int(self.bias.size)

    @property
    def n_numbers(self) -> int:
        """How many numbers are stored, zeros of dense matrices and the bias included."""
        stored = [m if isinstance(m, np.ndarray) else m.data for m in self.operators.values()]
        return int(self.bias.size + sum(numbers.size for numbers in stored))

    def __call__(self, values: Sequence[FloatArray]) -> FloatArray:
        """Value for the outputs of the layers 0, 1, …, each of shape (points, width)."""
        total = np.broadcast_to(self.bias, (values[0].shape[0], self.width))
        for source, matrix in self.operators.items():
            total = total + (matrix @ values[source].T).T
        return np.asarray(total)


class _Matrices(Mapping[int, Matrix]):
    """Operators as matrices: convolutions are written out when they are asked for."""

    def __init__(self, operators: Mapping[int, Operator]) -> None:
        self._operators = operators

    def __getitem__(self, source: int) -> Matrix:
        operator = self._operators[source]
        return operator.tocsr() if isinstance(operator, Convolution) else operator

    def __iter__(self) -> Iterator[int]:
        return iter(self._operators)

    def __len__(self) -> int:
        return len(self._operators)

    def __contains__(self, source: object) -> bool:
        return source in self._operators


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
        sources = [(source, m.shape, type(m)) for source, m in affine.operators.items()]
        self.kind = shared((self.activation, *sources))

    @property
    def width(self) -> int:
        """Number of neurons."""
        return self.affine.width


@lru_cache(maxsize=4096)
def shared(kind: tuple[Any, ...]) -> tuple[Any, ...]:
    """Equal kinds of layers or networks as one object, if there are not too many of them."""
    return kind


def _joined(arrays: Sequence[Operator]) -> FloatArray:
    """A copy of the numbers of all dense arrays that can't be written to."""
    joined = np.concatenate([np.ravel(a) for a in arrays if isinstance(a, np.ndarray)])
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


def _matrix(matrix: ArrayLike | sp.sparray | Convolution) -> Operator:
    if isinstance(matrix, Convolution):
        return matrix
    if sp.issparse(matrix):
        result = sp.csr_array(cast(Any, matrix)).astype(np.float64)
        _check_rows(result)
        result.sum_duplicates()
        finite_numbers(result.data, "matrix")
        return result
    dense = finite_numbers(cast(ArrayLike, matrix), "matrix")
    if dense.ndim != 2:
        raise InvalidNetworkError(f"expected a matrix, got an array of shape {dense.shape}")
    return dense


# --- layers from lists of matrices, with the paper's skip connections -----------------------------


def mlp_parts(
    weights: Sequence[ArrayLike],
    biases: Sequence[ArrayLike | None] | None,
    skips: Iterable[tuple[int, int]],
    activation: str | Activation | Sequence[str | Activation],
) -> tuple[int, list[Layer], Affine]:
    """Number of inputs, layers and output of a network; see `Network.mlp`.

    Examples
    --------
    >>> inputs, layers, output = mlp_parts([[[1.0, 2.0]], [[1.0]]], None, [], "relu")
    >>> inputs, len(layers), output.width
    (2, 1, 1)
    """
    if len(weights) == 0:
        raise InvalidNetworkError(
            "the network is empty: expected the hidden layers' matrices and the output's"
        )
    matrices = [_weights(matrix, _ordinal(i, weights)) for i, matrix in enumerate(weights)]
    vectors = list(biases) if biases is not None else [None] * len(matrices)
    if len(vectors) != len(matrices):
        raise InvalidNetworkError(
            f"expected as many biases as weights, got {len(vectors)} and {len(matrices)}"
        )
    sources = _skip_sources(skips, matrices)
    affine = []
    for index, (matrix, vector) in enumerate(zip(matrices, vectors, strict=True)):
        bias = _bias(vector, matrix, _ordinal(index, matrices))
        affine.append(Affine(dict.fromkeys(sources[index], matrix), bias))
    if matrices[0].shape[1] == 0:
        raise InvalidNetworkError("the network has no inputs")
    activations = _activations(activation, len(matrices) - 1)
    layers = [Layer(a, f) for a, f in zip(affine[:-1], activations, strict=True)]
    return matrices[0].shape[1], layers, affine[-1]


def _weights(matrix: ArrayLike, where: str) -> FloatArray:
    numbers = finite_numbers(matrix, f"weights of {where}")
    if numbers.ndim != 2:
        raise InvalidNetworkError(f"the weights of {where} are not a matrix")
    return numbers


def _bias(vector: ArrayLike | None, matrix: FloatArray, where: str) -> FloatArray:
    if vector is None:
        return np.zeros(matrix.shape[0])
    bias = finite_numbers(vector, f"bias of {where}")
    if bias.shape != matrix.shape[:1]:
        raise InvalidNetworkError(
            f"the bias of {where} has shape {bias.shape}, its matrix {matrix.shape}"
        )
    return bias


def _activations(
    activation: str | Activation | Sequence[str | Activation], hidden: int
) -> list[str | Activation]:
    if isinstance(activation, (str, Activation)):
        return [activation] * hidden
    if len(activation) != hidden:
        raise InvalidNetworkError(
            f"expected one activation for each of the {hidden} hidden layers, got {len(activation)}"
        )
    return list(activation)


def _ordinal(index: int, weights: Sequence[Any]) -> str:
    return "the output" if index == len(weights) - 1 else f"layer {index + 1}"


def _skip_sources(
    skips: Iterable[tuple[int, int]], matrices: Sequence[FloatArray]
) -> list[list[int]]:
    """For every matrix the layers that feed it: the previous one, and those of its skips."""
    widths = [m.shape[-1] for m in matrices[:1]] + [m.shape[0] for m in matrices]
    names = ["the input", *(_ordinal(i, matrices) for i in range(len(matrices)))]
    for index, matrix in enumerate(matrices):
        if matrix.shape[1] != widths[index]:
            raise InvalidNetworkError(
                f"the weights of {names[index + 1]} have {matrix.shape[1]} columns, "
                f"but {names[index]} has {widths[index]} neurons"
            )
    sources = [[index] for index in range(len(matrices))]
    try:
        pairs = list(skips)
    except TypeError:
        raise InvalidNetworkError(f"skips: expected pairs (k, ℓ), not {skips!r}") from None
    for skip in pairs:
        try:
            k, target = (int(part) for part in skip)
        except (TypeError, ValueError):
            raise InvalidNetworkError(f"skip {skip!r}: expected a pair (k, ℓ)") from None
        if not 0 <= k < target - 1 <= len(matrices) - 1:
            raise InvalidNetworkError(
                f"skip {k}→{target}: expected 0 ≤ k, k + 2 ≤ ℓ ≤ {len(matrices)} "
                f"(0 is the input, {len(matrices)} the output)"
            )
        if k in sources[target - 1]:
            raise InvalidNetworkError(f"skip {k}→{target} is given twice")
        if widths[k] != widths[target - 1]:
            raise InvalidNetworkError(
                f"skip {k}→{target}: {names[k]} has {widths[k]} neurons, but "
                f"{names[target]} takes {widths[target - 1]} (the width of {names[target - 1]})"
            )
        sources[target - 1].append(k)
    return sources
