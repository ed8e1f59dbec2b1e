"""The comparison of an imported network with the model that it came from: always made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell.errors import ImportMismatchError, ModelImportError
from tropicell.network.layers import Affine
from tropicell.network.network import Network

#: Largest relative difference allowed when the model is run in float64.
FLOAT64_TOLERANCE = 1e-9

#: Largest relative difference allowed when the model can only be run in float32.
FLOAT32_TOLERANCE = 1e-3

#: Random inputs are drawn at these scales, this many at each.
SCALES, POINTS = (0.1, 1.0, 10.0), 4

#: So many units of rounding, relative to the sizes of the terms that the outputs are sums of, are
#: allowed in any case: terms that cancel leave their rounding behind.
_ROUNDING = 1e3


def sample_points(
    n_inputs: int, example: NDArray[np.float64] | None = None
) -> list[tuple[str, FloatArray]]:
    """Inputs to compare at, with a name for each group.

    Examples
    --------
    >>> [name for name, _ in sample_points(3)]
    ['random inputs of scale 0.1', 'random inputs of scale 1', 'random inputs of scale 10']
    """
    rng = np.random.default_rng(0)
    groups = [
        (f"random inputs of scale {size:g}", rng.normal(size=(POINTS, n_inputs)) * size)
        for size in SCALES
    ]
    if example is not None:
        groups.append(("the example input", np.asarray(example, np.float64).reshape(1, n_inputs)))
    return groups


def compare(
    network: Network,
    model: Callable[[FloatArray], FloatArray],
    *,
    what: str,
    tolerance: float,
    precision: type[np.floating[Any]] = np.float64,
    groups: Sequence[tuple[str, FloatArray]] | None = None,
) -> None:
    """Compare a network with the model's own outputs.

    Parameters
    ----------
    network : Network
    model : callable
        Takes points (rows), returns outputs (rows).
    what : str
        The model, for the message.
    tolerance : float
        Largest allowed difference, relative to the largest output of the group of points (plus
        the rounding of terms that cancel in the outputs).
    precision : type
        The floats that the model was run in.
    groups : sequence of (name, points), optional
        Default: `sample_points`.

    Raises
    ------
    ImportMismatchError
        If the two differ by more; the message names the largest difference.

    Examples
    --------
    >>> network = Network.mlp([[[1.0]], [[2.0]]])
    >>> compare(network, lambda x: 2 * np.maximum(x, 0), what="it", tolerance=1e-9)
    >>> compare(network, lambda x: 3 * np.maximum(x, 0), what="it", tolerance=1e-9)
    Traceback (most recent call last):
    ...
    tropicell.errors.ImportMismatchError: it and the network imported from it differ ...
    """
    for name, points in sample_points(network.n_inputs) if groups is None else groups:
        expected = np.asarray(model(points), dtype=np.float64).reshape(len(points), -1)
        if not np.isfinite(expected).all():
            raise ModelImportError(f"{what} gives {_first_bad(expected)} for {name}")
        values, _ = network._forward(points)
        got = network.output(values)
        if got.shape != expected.shape:
            raise ImportMismatchError(
                f"{what} has {expected.shape[1]} outputs, the imported network {got.shape[1]}"
            )
        largest = float(np.abs(expected).max())
        rounding = _ROUNDING * float(np.finfo(precision).eps) * _term_size(network.output, values)
        difference = float(np.abs(got - expected).max())
        if not difference <= tolerance * largest + rounding:
            raise ImportMismatchError(
                f"{what} and the network imported from it differ by {difference:.3g} on {name} "
                f"(outputs up to {largest:.3g}; allowed is {tolerance:g} "
                "relative); the import is refused. Please report the model as a bug"
            )


def _term_size(output: Affine, values: Sequence[FloatArray]) -> float:
    """The largest sum of the sizes of an output's terms."""
    total = np.abs(output.bias)[None, :]
    for source, matrix in output.operators.items():
        total = total + (abs(matrix) @ np.abs(values[source]).T).T
    return float(total.max())


def _first_bad(values: FloatArray) -> float:
    return float(values[~np.isfinite(values)][0])
