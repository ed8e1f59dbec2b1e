"""The layers found while walking over a model, and the `Network` that they make in the end."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from tropicell.errors import ModelImportError
from tropicell.geometry.arithmetic import Operator
from tropicell.importers.expressions import (
    MAX_INPUTS,
    Expression,
    Ledger,
    Outline,
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
    *input_shapes : tuple of int
        Shapes of the model's inputs; layer 0 holds the entries of one after the other, each in
        row-major order.
    ledger : Ledger, optional
        If given, nothing is built: tensors are outlines, and sizes are added up there.

    Examples
    --------
    >>> from tropicell.network.activations import relu
    >>> builder = Builder((1, 2))
    >>> y = builder.activate(builder.input, relu(), "r")
    >>> builder.finish(y)
    Network(2 → 2 → 2)
    """

    def __init__(self, *input_shapes: Shape, ledger: Ledger | None = None) -> None:
        shapes = [check_shape(shape) for shape in input_shapes]
        sizes = [math.prod(shape) for shape in shapes]
        self.n_inputs = sum(sizes)
        for shape, size in zip(shapes, sizes, strict=True):
            if size == 0:
                raise ModelImportError(f"the model's input of shape {shape} is empty")
        if self.n_inputs > MAX_INPUTS:
            raise ModelImportError(
                f"the model's input of shape {' and '.join(map(str, shapes))} is too large: at "
                f"most {MAX_INPUTS} numbers are supported; import it with a smaller input"
            )
        self.ledger = ledger
        self.inputs: list[Expression] = []
        for end, shape, size in zip(np.cumsum(sizes).tolist(), shapes, sizes, strict=True):
            if ledger is not None:
                self.inputs.append(Outline(shape, ledger, whole=len(shapes) == 1))
                continue
            rows = sp.eye_array(size, self.n_inputs, k=end - size, format="csr")
            self.inputs.append(Expression(shape, {0: sp.csr_array(rows)}, np.zeros(size)))
        self.input = self.inputs[0]
        self.layers: list[Layer] = []

    def activate(self, value: Value, activation: Activation, name: str) -> Expression:
        """Append a layer with this pre-activation, and return its output."""
        before = as_expression(value)
        if before.size == 0:
            return before
        if self.ledger is not None:
            return Outline(before.shape, self.ledger, whole=True)
        self.layers.append(Layer(_affine(before), activation, name))
        return Expression.of_layer(len(self.layers), before.shape)

    def charge(self, numbers: int) -> None:
        """Write down in the ledger, if there is one, that so many numbers would be made."""
        if self.ledger is not None:
            self.ledger.add(numbers)

    def matrices(self) -> Iterator[Operator]:
        """The matrices of all layers so far."""
        for layer in self.layers:
            yield from layer.affine.operators.values()

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
    terms: dict[int, Operator] = {}
    for layer, matrix in value.terms.items():
        kept = tidy(matrix)
        if np.any(kept if isinstance(kept, np.ndarray) else kept.data):
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
    return Affine(
        {number[layer]: matrix for layer, matrix in affine.operators.items()}, affine.bias
    )
