"""What a network is, as a short text: files say with it to which network they belong."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

if TYPE_CHECKING:
    from tropicell.arithmetic import Matrix
    from tropicell.network import Network


def fingerprint(network: Network) -> str:
    """SHA-256 of everything that the network computes with, in hexadecimal digits.

    Names do not count, nor whether a matrix is stored dense or sparse; every bit of every number
    does (but -0.0 is 0.0).

    Parameters
    ----------
    network : Network

    Returns
    -------
    str
        64 hexadecimal digits.

    Examples
    --------
    >>> from tropicell import Network
    >>> fingerprint(Network.mlp([[[1.0]], [[1.0]]]))[:12]
    'de775f847571'
    """
    digest = hashlib.sha256(b"tropicell-network-1")

    def put(array: Any, kind: str) -> None:
        values = np.ascontiguousarray(array, dtype=kind)
        digest.update(np.array([values.ndim, *values.shape], dtype="<i8").tobytes())
        digest.update(values.tobytes())

    put([network.depth, network.n_inputs], "<i8")
    if network.embedding is not None:
        embedding = network.embedding.astype_float()
        put(embedding.matrix + 0.0, "<f8")
        put(embedding.offset + 0.0, "<f8")
    for index in range(1, network.depth + 2):
        affine = network.affine(index)
        put(affine.bias + 0.0, "<f8")
        for source, matrix in affine.terms.items():
            rows, columns, values = _entries(matrix)
            put([source, *matrix.shape], "<i8")
            put(np.stack([rows, columns]), "<i8")
            put(values, "<f8")
        if index <= network.depth:
            activation = network.layers[index - 1].activation
            put(activation.breakpoints + 0.0, "<f8")
            put(activation.slopes + 0.0, "<f8")
            put(activation.intercepts + 0.0, "<f8")
    return digest.hexdigest()


def _entries(matrix: Matrix) -> tuple[Any, Any, Any]:
    """Rows, columns and values that are not zero, row by row."""
    entries = sp.csr_array(matrix, copy=True)
    entries.sum_duplicates()
    entries.eliminate_zeros()
    coordinates = entries.tocoo()
    return coordinates.row, coordinates.col, coordinates.data
