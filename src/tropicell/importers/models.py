"""Whatever is given where a network is expected: a model of another library, or a file."""

from __future__ import annotations

import os
import sys
from typing import Any

from tropicell.errors import InvalidInputError
from tropicell.importers.files import load
from tropicell.network.network import Network


def as_network(model: Any) -> Network:
    """A network: itself, or what a file, a torch module or an estimator is imported as.

    Parameters
    ----------
    model : Network, str, path-like, torch.nn.Module, keras.Model or scikit-learn estimator
        The input of a torch module must be known from its first layer, a linear one.

    Returns
    -------
    Network

    Raises
    ------
    InvalidInputError
        For anything else; the message says what makes a network of it.

    Examples
    --------
    >>> import torch
    >>> as_network(torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU()))
    Network(2 → 3 → 3)
    """
    if isinstance(model, Network):
        return model
    if isinstance(model, (str, os.PathLike)):
        return load(model)
    if _is_a(model, "keras", "Layer"):
        from tropicell.importers.keras import from_keras  # noqa: PLC0415 - imports much

        return from_keras(model)
    if _is_a(model, "torch.nn", "Module"):
        from tropicell.importers.torch.importer import from_torch  # noqa: PLC0415

        return from_torch(model)
    if _is_a(model, "sklearn.base", "BaseEstimator"):
        from tropicell.importers.sklearn import from_sklearn  # noqa: PLC0415

        return from_sklearn(model)
    advice = "from_torch, from_onnx, from_keras, from_sklearn, load and Network.mlp make one"
    if _is_a(model, "onnx", "ModelProto"):
        advice = "write the model with onnx.save, and give the file's name"
    raise InvalidInputError(f"expected a Network, not {type(model).__name__}; {advice}")


def _is_a(model: Any, module: str, name: str) -> bool:
    """Whether it is an object of a library; one that is not loaded has no objects."""
    library = sys.modules.get(module)
    kind = getattr(library, name, None)
    return isinstance(kind, type) and isinstance(model, kind)
