"""Whether the numbers of a network are of ordinary size, as the error bounds require."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from tropicell._runtime.arrays import FloatArray
from tropicell.network.domains import Domain
from tropicell.network.network import Network

#: What numbers of ordinary size are.
SMALLEST, LARGEST = 1e-60, 1e60


def is_tame(network: Network, domain: Domain) -> bool:
    """Whether all numbers but 0 are of ordinary size, as the error bounds require.

    Where they are not, all is done in exact arithmetic.

    Examples
    --------
    >>> from tropicell import WholeSpace
    >>> is_tame(Network.mlp([[[1e-200]], [[1.0]]]), WholeSpace())
    False
    """
    arrays: list[Any] = [*domain.inequalities(network.n_inputs), embedding_of(network)]
    for layer in network.layers:
        matrices = layer.affine.terms.values()
        arrays += [m.data if isinstance(m, sp.csr_array) else m for m in matrices]
        activation = layer.activation
        arrays += [layer.affine.bias, activation.slopes, activation.intercepts]
        arrays.append(activation.breakpoints[np.isfinite(activation.breakpoints)])
    return all(map(_are_tame, arrays))


def _are_tame(numbers: Any) -> bool:
    sizes = np.abs(numbers)
    return bool(((sizes == 0) | ((sizes >= SMALLEST) & (sizes <= LARGEST))).all())


def rounds_layer_0(network: Network) -> bool:
    """Whether `embedding_of` is not layer 0 itself, but rounded.

    Examples
    --------
    >>> from tropicell import Slice
    >>> network = Network.mlp([[[1.0]], [[1.0]]]).restrict(Slice([0.0], [[0.1]]))
    >>> rounds_layer_0(network), rounds_layer_0(network.restrict(Slice([0.0], [[0.1]])))
    (False, True)
    """
    return network.embedding is not None and not network.embedding.is_float


def embedding_of(network: Network) -> FloatArray:
    """Layer 0 as a map of the inputs, offset last; rounded where float64 can't hold it."""
    embedding = network.float_embedding
    if embedding is None:
        return np.concatenate([np.eye(network.n_inputs), np.zeros((network.n_inputs, 1))], axis=1)
    columns = np.concatenate([embedding.matrix, embedding.offset[:, None]], axis=1)
    return np.ascontiguousarray(columns, dtype=np.float64)
