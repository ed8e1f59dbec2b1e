"""Random networks: the usual initialisations, drawn with NumPy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tropicell.errors import InvalidInputError
from tropicell.network.network import Network

Initialisation = Literal["pytorch", "glorot", "he random", "he zero", "he uniform"]

#: Variance of a weight times the number of inputs.
GAINS: dict[Initialisation, float] = {
    "pytorch": 1 / 3,
    "glorot": 1.0,
    "he random": 2.0,
    "he zero": 2.0,
    "he uniform": 2.0,
}

Parameters = tuple[list[NDArray[Any]], list[NDArray[Any]]]


def random_parameters(
    sizes: Sequence[int], rng: np.random.Generator, initialisation: Initialisation = "pytorch"
) -> Parameters:
    """Weights and biases for layers of some sizes, as numbers that float32 can hold.

    Parameters
    ----------
    sizes : sequence of int
        Inputs, hidden layers, outputs.
    rng : Generator
    initialisation : {"pytorch", "glorot", "he random", "he zero", "he uniform"}
        ``"pytorch"``: what `torch.nn.Linear` does unless told otherwise (its name there is Kaiming
        uniform with a = √5), weights and biases uniform in ±1/√inputs. ``"he zero"``: He's normal
        initialisation, weights with variance 2/inputs, biases 0. ``"he random"``: the same with
        the biases of PyTorch; ``"he uniform"``: the same with uniform weights. ``"glorot"``:
        normal weights with variance 1/inputs, which is what Glorot's rule gives between layers of
        one size, with the biases of PyTorch.

    Examples
    --------
    >>> weights, biases = random_parameters([2, 4, 1], np.random.default_rng(0))
    >>> [w.shape for w in weights], [b.shape for b in biases]
    ([(4, 2), (1, 4)], [(4,), (1,)])
    """
    if initialisation not in get_args(Initialisation):
        raise InvalidInputError(
            f"there is no initialisation {initialisation!r}; there are "
            f"{', '.join(get_args(Initialisation))}"
        )
    weights, biases = [], []
    for inputs, outputs in pairwise(sizes):
        bound = inputs**-0.5
        if initialisation in ("pytorch", "he uniform"):
            width = bound if initialisation == "pytorch" else bound * 6**0.5
            matrix = rng.uniform(-width, width, size=(outputs, inputs))
        else:
            deviation = (GAINS[initialisation] / inputs) ** 0.5
            matrix = rng.normal(scale=deviation, size=(outputs, inputs))
        bias = rng.uniform(-bound, bound, size=outputs)
        weights.append(_as_float32(matrix))
        biases.append(_as_float32(np.zeros(outputs) if initialisation == "he zero" else bias))
    return weights, biases


def random_network(
    sizes: Sequence[int],
    rng: np.random.Generator,
    *,
    skips: Iterable[tuple[int, int]] = (),
    initialisation: Initialisation = "pytorch",
) -> Network:
    """A ReLU network with random weights; parameters are those of `random_parameters`.

    Examples
    --------
    >>> random_network([2, 4, 4, 4, 1], np.random.default_rng(0), skips=[(1, 3)])
    Network(2 → 4 → 4 → 4 → 1, skips 1→3)
    """
    return Network.mlp(*random_parameters(sizes, rng, initialisation), skips=skips)


def _as_float32(values: NDArray[Any]) -> NDArray[Any]:
    """Rounded as PyTorch stores them."""
    return values.astype(np.float32).astype(np.float64)
