"""Sets of skip connections, and networks without theirs."""

from __future__ import annotations

from collections.abc import Callable

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
