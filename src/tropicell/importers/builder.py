"""The layers found while walking over a model, and the `Network` that they make in the end."""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from tropicell.errors import ModelImportError
from tropicell.geometry.arithmetic import Matrix
from tropicell.importers.expressions import (
    MAX_INPUTS,
    Expression,
    Shape,
    Value,
    as_expression,
    check_shape,
    tidy,
)
from tropicell.network.activations import Activation
from tropicell.network.layers import Affine, Layer
from tropicell.network.network import Network


class Builder:
    """Collects layers; every nonlinear operator of a model appends one.

    Parameters
    ----------
    input_shape : tuple of int
        Shape of the model's input; layer 0 holds its entries in row-major order.

    Examples
    --------
    >>> from tropicell.network.activations import relu
    >>> builder = Builder((1, 2))
    >>> y = builder.activate(builder.input, relu(), "r")
    >>> builder.finish(y)
    Network(2 → 2 → 2)
    """

    def __init__(self, input_shape: Shape) -> None:
        self.n_inputs = math.prod(check_shape(input_shape))
        if self.n_inputs == 0:
            raise ModelImportError(f"the model's input of shape {input_shape} is empty")
        if self.n_inputs > MAX_INPUTS:
            raise ModelImportError(
                f"the model's input of shape {input_shape} is too large: at most {MAX_INPUTS} "
                "numbers are supported"
            )
        self.input = Expression.of_layer(0, input_shape)
        self.layers: list[Layer] = []

    def activate(self, value: Value, activation: Activation, name: str) -> Expression:
        """Append a layer with this pre-activation, and return its output."""
        before = as_expression(value)
        if before.size == 0:
            return before
        self.layers.append(Layer(_affine(before), activation, name))
        return Expression.of_layer(len(self.layers), before.shape)

    def finish(self, output: Value) -> Network:
        """The network with this output; layers that do not reach it are left out."""
        result = as_expression(output)
        if result.size == 0:
            raise ModelImportError(f"the model's output of shape {result.shape} is empty")
        affine = _affine(result)
        used = _reached(affine, self.layers)
        number = {0: 0} | {layer: i for i, layer in enumerate(sorted(used), start=1)}
        layers = [_renumbered_layer(self.layers[layer - 1], number) for layer in sorted(used)]
        return Network(self.n_inputs, layers, _renumbered(affine, number))


def _affine(value: Expression) -> Affine:
    terms: dict[int, Matrix] = {}
    for layer, matrix in value.terms.items():
        kept = tidy(matrix)
        if kept.nnz if isinstance(kept, sp.csr_array) else np.any(kept):
            terms[layer] = kept
    return Affine(terms, value.bias)


def _reached(output: Affine, layers: list[Layer]) -> set[int]:
    """The layers from which something flows to the output."""
    used: set[int] = set()
    waiting = [layer for layer in output.terms if layer]
    while waiting:
        layer = waiting.pop()
        if layer not in used:
            used.add(layer)
            waiting.extend(source for source in layers[layer - 1].affine.terms if source)
    return used


def _renumbered_layer(layer: Layer, number: dict[int, int]) -> Layer:
    affine = _renumbered(layer.affine, number)
    return layer if affine is layer.affine else Layer(affine, layer.activation, layer.name)


def _renumbered(affine: Affine, number: dict[int, int]) -> Affine:
    if all(number[layer] == layer for layer in affine.terms):
        return affine  # matrices are large: no copy where nothing was left out
    return Affine({number[layer]: matrix for layer, matrix in affine.terms.items()}, affine.bias)
