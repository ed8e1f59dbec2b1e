"""What a network is, as a short text: files say with it to which network they belong."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tropicell.geometry.convolutions import MOST_WRITTEN, Convolution

if TYPE_CHECKING:
    from tropicell.geometry.arithmetic import Matrix
    from tropicell.network.network import Network


def fingerprint(network: Network) -> str:
    """SHA-256 of everything that the network computes with, in hexadecimal digits.

    Names do not count, nor whether a matrix is stored dense or sparse; every bit of every number
    does (but -0.0 is 0.0). Nor does it count whether a convolution is written out as a matrix,
    unless that would be too large.

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
    for array in fingerprint_arrays(network):
        digest.update(np.array([array.ndim, *array.shape], dtype="<i8").tobytes())
        digest.update(array.tobytes())
    return digest.hexdigest()


def fingerprint_arrays(network: Network) -> Iterator[NDArray[Any]]:
    """The arrays that the fingerprint is made of, in their order, which say all of a network.

    Depth and number of inputs; matrix and offset of an embedding, if there is one (as text, where
    float64 can't hold it); then for each layer and for the output the bias and for each source: the
    source and the shape of its matrix, rows and columns of the entries that are not 0, and these
    (of a convolution that is too large for that: its input's shape, strides, padding and dilation,
    and the filters); and for each layer the breakpoints, slopes and intercepts of all its neurons.
    """
    yield np.array([network.depth, network.n_inputs], dtype="<i8")
    if network.embedding is not None:
        for part in (network.embedding.matrix, network.embedding.offset):
            yield _numbers(part) if network.embedding.is_float else _fractions(part)
    for index in range(1, network.depth + 2):
        affine = network.affine(index)
        yield _numbers(affine.bias)
        for source, matrix in affine.operators.items():
            if isinstance(matrix, Convolution) and matrix.size > MOST_WRITTEN:
                yield np.array([source, *matrix.shape], dtype="<i8")
                yield from _filters(matrix)
                continue
            rows, columns, values = _entries(affine.terms[source])
            yield np.array([source, *matrix.shape], dtype="<i8")
            yield np.ascontiguousarray(np.stack([rows, columns]), dtype="<i8")
            yield np.ascontiguousarray(values, dtype="<f8")
        if index <= network.depth:
            activation = network.layers[index - 1].activation
            yield _numbers(activation.breakpoints)
            yield _numbers(activation.slopes)
            yield _numbers(activation.intercepts)


def _filters(convolution: Convolution) -> Iterator[NDArray[Any]]:
    """What a convolution is."""
    how = [convolution.spatial, convolution.stride, *zip(*convolution.pads, strict=True)]
    yield np.array([*how, convolution.dilation], dtype="<i8")
    yield _numbers(convolution.weight)


def _numbers(array: NDArray[Any]) -> NDArray[Any]:
    return np.ascontiguousarray(array + 0.0, dtype="<f8")  # -0.0 becomes 0.0


def _fractions(array: NDArray[Any]) -> NDArray[Any]:
    """Fractions as the bytes of a text; the shape follows from that of the network."""
    text = " ".join(f"{x.numerator:x}/{x.denominator:x}" for x in array.ravel().tolist())
    return np.frombuffer(text.encode("ascii"), dtype=np.uint8)


def _entries(matrix: Matrix) -> tuple[Any, Any, Any]:
    """Rows, columns and values that are not zero, row by row."""
    entries = sp.csr_array(matrix, copy=True)
    entries.sum_duplicates()
    entries.eliminate_zeros()
    coordinates = entries.tocoo()
    return coordinates.row, coordinates.col, coordinates.data
