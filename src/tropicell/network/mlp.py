"""Layers from lists of matrices, with the paper's skip connections."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tropicell._runtime.arrays import FloatArray
from tropicell.errors import InvalidNetworkError
from tropicell.network.activations import Activation
from tropicell.network.layers import Affine, Layer, finite_numbers


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
    matrices = [_matrix(matrix, _ordinal(i, weights)) for i, matrix in enumerate(weights)]
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


def _matrix(matrix: ArrayLike, where: str) -> FloatArray:
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
    for skip in skips:
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
