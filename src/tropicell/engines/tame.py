"""Whether the numbers of a network are of ordinary size, as the error bounds require."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tropicell.domains import Domain
from tropicell.network import Network

FloatArray = NDArray[np.float64]

#: What numbers of ordinary size are.
_SMALLEST, _LARGEST = 1e-60, 1e60


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
    return all(bool(are_tame([np.asarray(array).reshape(1, -1)])) for array in arrays)


def are_tame(arrays: Sequence[FloatArray]) -> NDArray[np.bool_]:
    """For every network whether all its numbers but 0 are of ordinary size; first index: network.

    Examples
    --------
    >>> are_tame([np.array([[1.0, 0.0], [1.0, 1e-200]])])
    array([ True, False])
    """
    tame = np.ones(len(arrays[0]), dtype=np.bool_)
    for array in arrays:
        sizes = np.abs(array)
        tame &= ((sizes == 0) | ((sizes >= _SMALLEST) & (sizes <= _LARGEST))).all(axis=1)
    return tame


def embedding_of(network: Network) -> FloatArray:
    """Layer 0 as a map of the inputs, offset last."""
    embedding = network.embedding
    if embedding is None:
        return np.concatenate([np.eye(network.n_inputs), np.zeros((network.n_inputs, 1))], axis=1)
    columns = np.concatenate([embedding.matrix, embedding.offset[:, None]], axis=1)
    return np.ascontiguousarray(columns, dtype=np.float64)
