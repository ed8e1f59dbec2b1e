"""Sets of skip connections, and networks without theirs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import NDArray

from tropicell.network.layers import Affine, Layer
from tropicell.network.network import Network

Skips = list[tuple[int, int]]

#: Name of a set of skip connections, and its connections in a network with `depth` layers. Those
#: into the output change no region, so they are left out.
SKIP_SETS: dict[str, Callable[[int], Skips]] = {
    "none": lambda depth: [],
    "one": lambda depth: [(1, 3)],
    "residual": lambda depth: [(k, k + 2) for k in range(1, depth - 1, 2)],
    "dense": lambda depth: [(k, end) for end in range(3, depth + 1) for k in range(1, end - 1)],
}


def distinct_sets(depth: int) -> list[str]:
    """The names of the sets that differ at a depth; of equal ones the first stands for all.

    Examples
    --------
    >>> [distinct_sets(depth) for depth in (2, 3, 4, 6)]
    [['none'], ['none', 'one'], ['none', 'one', 'dense'], ['none', 'one', 'residual', 'dense']]
    """
    return list(dict.fromkeys(same_set(name, depth) for name in SKIP_SETS))


def same_set(name: str, depth: int) -> str:
    """The first set whose connections at a depth are those of a set.

    Examples
    --------
    >>> same_set("dense", 3), same_set("dense", 4), same_set("residual", 4)
    ('one', 'dense', 'one')
    """
    wanted = _inside(name, depth)
    return next(other for other in SKIP_SETS if _inside(other, depth) == wanted)


def _inside(name: str, depth: int) -> Skips:
    return [(k, end) for k, end in SKIP_SETS[name](depth) if end <= depth]


def with_projections(
    weights: Sequence[NDArray[Any]],
    biases: Sequence[NDArray[Any]],
    projections: dict[tuple[int, int], NDArray[Any]],
) -> Network:
    """A network whose skips pass through matrices, so that they join layers of different widths.

    Parameters
    ----------
    weights, biases : sequence of ndarray
        Of the layers 1 … L + 1.
    projections : dict from (k, ℓ) to ndarray
        The output of layer k, times this matrix, is added to the input of layer ℓ.

    Examples
    --------
    >>> import numpy as np
    >>> weights = [np.ones((3, 2)), np.ones((2, 3)), np.ones((2, 2)), np.ones((1, 2))]
    >>> biases = [np.zeros(len(w)) for w in weights]
    >>> with_projections(weights, biases, {(1, 3): np.ones((2, 3))})
    Network(2 → 3 → 2 → 2 → 1, skips 1→3)
    """
    affines = []
    for layer, (matrix, bias) in enumerate(zip(weights, biases, strict=True), start=1):
        terms = {layer - 1: matrix}
        for (k, end), projection in projections.items():
            if end == layer:
                terms[k] = matrix @ projection
        affines.append(Affine(terms, bias))
    layers = [Layer(affine, "relu") for affine in affines[:-1]]
    return Network(weights[0].shape[1], layers, affines[-1])


def without_skips(network: Network) -> Network:
    """The same weights without the connections that jump over layers.

    Parameters
    ----------
    network : Network

    Returns
    -------
    Network
        Where a layer is fed by skips alone, its input is nothing but its bias.

    Examples
    --------
    >>> network = Network.mlp([[[1.0]]] * 4, skips=[(1, 3)])
    >>> without_skips(network)
    Network(1 → 1 → 1 → 1 → 1)
    """
    layers = [
        Layer(_direct(layer.affine, number), layer.activation, layer.name)
        for number, layer in enumerate(network.layers, start=1)
    ]
    output = _direct(network.affine(network.depth + 1), network.depth + 1)
    slice_ = network.embedding
    width = network.n_inputs if slice_ is None else slice_.matrix.shape[0]
    return Network(width, layers, output, embedding=slice_)


def _direct(affine: Affine, layer: int) -> Affine:
    """Only what comes from the layer before."""
    terms = {source: matrix for source, matrix in affine.terms.items() if source == layer - 1}
    return Affine(terms, affine.bias)
