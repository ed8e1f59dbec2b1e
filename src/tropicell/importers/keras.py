"""From Keras: models of Keras 3 on its torch backend, which are torch modules."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any

from tropicell.errors import ModelImportError, require
from tropicell.importers.check import FLOAT64_TOLERANCE
from tropicell.importers.torch.importer import from_torch
from tropicell.network.network import Network


def from_keras(
    model: Any, example_input: Any = None, *, tolerance: float = FLOAT64_TOLERANCE
) -> Network:
    """The network of a Keras model.

    Keras 3 must run on torch: set the environment variable ``KERAS_BACKEND=torch`` before keras is
    imported. A model that was trained on another backend is saved (``model.save("m.keras")``) and
    loaded in such a process.

    Parameters
    ----------
    model : keras.Model
        Sequential, functional or subclassed.
    example_input : array_like, optional
        What the model takes; see `from_torch`. Default: zeros in the shape of the model's inputs.
    tolerance : float
        As for `from_torch`.

    Returns
    -------
    Network
        Its inputs are the entries of one example in row-major order (channels last, where the
        model has them so).

    Raises
    ------
    UnsupportedOperatorError
        If the model uses an operator that is not piecewise linear, or not supported.
    ModelImportError
        If it is no Keras model, has no shape of its input, or Keras runs on another backend.

    Notes
    -----
    A last softmax or sigmoid is refused by name; ``keras.Model(model.inputs,
    model.layers[-1].input)`` is the model without its last layer.

    Examples
    --------
    >>> import os
    >>> os.environ["KERAS_BACKEND"] = "torch"
    >>> import keras
    >>> layers = [keras.Input((2,)), keras.layers.Dense(3, "relu"), keras.layers.Dense(1)]
    >>> from_keras(keras.Sequential(layers))
    Network(2 → 3 → 1)
    """
    keras = sys.modules.get("keras")  # whoever has a model has imported it, with its backend
    if keras is None and find_spec("keras") is None:
        keras = require("keras", extra="keras", why="importing a Keras model")
    if keras is None or not isinstance(model, keras.Layer):
        raise ModelImportError(f"expected a Keras model or layer, got {type(model).__name__}")
    backend = keras.backend.backend()
    if backend != "torch":
        raise ModelImportError(
            f"Keras runs on {backend}; set the environment variable KERAS_BACKEND=torch before "
            "keras is imported, load the model again (keras.saving.load_model), and import it"
        )
    if example_input is None:
        example_input = _example_of(model)
    return from_torch(model, example_input, tolerance=tolerance)


def _example_of(model: Any) -> Any:
    """Zeros in the shape of the model's inputs, with a batch of one."""
    torch = require("torch", extra="torch", why="importing a Keras model")
    inputs = getattr(model, "inputs", None) or []
    shapes = [tuple(value.shape) for value in inputs]
    if not shapes or any(None in shape[1:] for shape in shapes):
        raise ModelImportError(
            f"the shape of the input of the model {getattr(model, 'name', '')!r} is not known "
            f"({shapes or 'it was not built'}); give an example: "
            "tropicell.from_keras(model, example_input)"
        )
    examples = [torch.zeros((1, *shape[1:])) for shape in shapes]
    if len(examples) == 1:
        return examples[0]
    nested = isinstance(getattr(model, "_inputs_struct", None), (list, tuple))
    return (examples,) if nested else tuple(examples)
