"""Models of the user: a file of a network, or a function in a Python file.

A Python file is run, with all that this means, and only because the user has named it. Files of
networks are read without running anything.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.paths import check_file
from tropicell.errors import InvalidInputError, ModelFileError, TropicellError
from tropicell.importers.files import load, read_npz
from tropicell.importers.messages import in_file
from tropicell.importers.sklearn import from_sklearn
from tropicell.importers.torch.importer import from_torch
from tropicell.network.network import Network

#: Arrays of a data file in which points are looked for.
_POINTS = ("points", "x_train", "x")


def user_networks(model: str, count: int) -> list[Network]:
    """Networks of the user's model.

    Parameters
    ----------
    model : str
        ``file.py:function``, or a file that `tropicell.load` reads.
    count : int
        How many to make, if the function takes a seed: it is called with 0, 1, ….

    Returns
    -------
    list of Network
        One, if the model is a file or the function takes no argument.

    Raises
    ------
    InvalidInputError
        If there is no such file or function, or it does not give a model.
    """
    file, colon, name = model.rpartition(":")
    if not colon or not file.endswith(".py"):
        if model.endswith(".py"):
            raise InvalidInputError(
                f"{model}: add the function that makes the model: {model}:build"
            )
        return [load(model)]
    build = _function(Path(file), name)
    seeded = bool(inspect.signature(build).parameters)
    seeds: list[tuple[int, ...]] = [(seed,) for seed in range(count)] if seeded else [()]
    return [_network(_call(build, seed, model), model) for seed in seeds]


def user_points(file: Path) -> NDArray[np.float64]:
    """Data points of an ``.npz`` file, from its array ``points``, ``x_train`` or ``x``, as rows."""
    arrays = read_npz(file)
    for name in _POINTS:
        if name in arrays:
            with in_file(file):
                points = np.asarray(arrays[name], dtype=np.float64)
            if points.ndim < 2 or not points.size or not np.isfinite(points).all():
                raise InvalidInputError(
                    f"{file}: {name} must be finite numbers of shape (points, …), "
                    f"got shape {points.shape}"
                )
            return points.reshape(len(points), -1)
    raise InvalidInputError(
        f"{file}: expected an array {', '.join(_POINTS[:-1])} or {_POINTS[-1]}, "
        f"found {', '.join(sorted(arrays)) or 'nothing'}"
    )


def _function(file: Path, name: str) -> Callable[..., Any]:
    try:
        check_file(file)
    except ModelFileError as error:
        raise InvalidInputError(str(error)) from None
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None  # noqa: PT018 - it is a .py file
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(file.absolute().parent))  # its own imports, as if it were run
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InvalidInputError(f"{file} failed: {type(error).__name__}: {error}") from error
    finally:
        sys.path.pop(0)
    build = getattr(module, name, None)
    if not callable(build):
        raise InvalidInputError(f"{file}: there is no function {name!r}")
    found: Callable[..., Any] = build
    return found


def _call(build: Callable[..., Any], seed: tuple[int, ...], model: str) -> Any:
    try:
        return build(*seed)
    except TropicellError:
        raise
    except Exception as error:
        raise InvalidInputError(f"{model} failed: {type(error).__name__}: {error}") from error


def _network(made: Any, model: str) -> Network:
    if isinstance(made, Network):
        return made
    if isinstance(made, tuple) and len(made) == 2:
        return from_torch(*made)
    if _is_torch(made):
        return from_torch(made, np.zeros((1, _inputs(made, model))))
    if hasattr(made, "get_params"):
        return from_sklearn(made)
    raise InvalidInputError(
        f"{model} gave a {type(made).__name__}; expected a tropicell.Network, a torch.nn.Module "
        "(or a pair of it and an example input) or a fitted scikit-learn estimator"
    )


def _is_torch(made: Any) -> bool:
    return any(
        c.__module__.startswith("torch.") and c.__name__ == "Module" for c in type(made).mro()
    )


def _inputs(module: Any, model: str) -> int:
    """Inputs of the first linear layer."""
    for part in module.modules():
        if hasattr(part, "in_features"):
            return int(part.in_features)
    raise InvalidInputError(
        f"{model}: the module has no linear layer that tells the number of inputs; "
        "return a pair of the module and an example input"
    )
