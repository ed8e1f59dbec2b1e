"""Whether layers make a network, and points fit it; errors that name the layer or the point."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropicell.errors import InvalidInputError, InvalidNetworkError
from tropicell.network.layers import Affine, Layer
from tropicell.network.maps import AffineMap


def check_layers(
    n_inputs: int, layers: Sequence[Layer], output: Affine, embedding: AffineMap | None
) -> None:
    """Refuse layers that do not fit together; parameters as of `Network`.

    Examples
    --------
    >>> layer = Layer(Affine({0: [[1.0, 2.0]]}))
    >>> check_layers(3, [layer], Affine({1: [[1.0]]}), None)
    Traceback (most recent call last):
    tropicell.errors.InvalidNetworkError: layer 1 expects 2 values from layer 0, which has 3
    """
    if n_inputs < 1:
        raise InvalidNetworkError("the network has no inputs")
    widths = [n_inputs]
    for index, affine in enumerate([*(layer.affine for layer in layers), output], start=1):
        where = "the output" if index == len(layers) + 1 else f"layer {index}"
        if affine.width == 0:
            raise InvalidNetworkError(f"{where} has no neurons")
        for source, matrix in affine.operators.items():
            if not 0 <= source < index:
                raise InvalidNetworkError(
                    f"{where} takes its input from layer {source}, which is not before it"
                )
            if matrix.shape[1] != widths[source]:
                raise InvalidNetworkError(
                    f"{where} expects {matrix.shape[1]} values from layer {source}, "
                    f"which has {widths[source]}"
                )
        widths.append(affine.width)
    if embedding is not None:
        matrix, offset = embedding.matrix, embedding.offset
        if matrix.ndim != 2 or {matrix.shape[:1], offset.shape} != {(n_inputs,)}:
            raise InvalidNetworkError(
                f"the embedding has a matrix of shape {matrix.shape} and an offset of shape "
                f"{offset.shape}; layer 0 has {n_inputs} neurons"
            )


def checked_points(
    points: ArrayLike, n_inputs: int, *, exact: bool = False, finite: bool = False
) -> NDArray[Any]:
    """Points as an array of shape (points, n_inputs); see `Network.check_points`.

    Examples
    --------
    >>> checked_points([1.0, 2.0], 2)
    Traceback (most recent call last):
    tropicell.errors.InvalidInputError: expected points of shape (points, 2), got (2,)
    """
    if hasattr(points, "toarray"):
        raise InvalidInputError(
            "sparse input is not supported: expected points as a dense array; use .toarray()"
        )
    try:
        x = np.asarray(points)
        if x.dtype.kind == "c":
            raise InvalidInputError("Complex data not supported: points must be real numbers")
        x = x if exact else x.astype(np.float64, copy=False)
    except InvalidInputError:
        raise
    except (TypeError, ValueError, RuntimeError) as error:  # torch: a tensor that needs gradients
        raise InvalidInputError(f"points must be numbers: {error}") from None
    if x.ndim != 2 or x.shape[1] != n_inputs:
        raise InvalidInputError(f"expected points of shape (points, {n_inputs}), got {x.shape}")
    if x.dtype.kind not in "biufO":
        raise InvalidInputError(f"points must be numbers, not an array of type {x.dtype}")
    if finite and (bad := not_finite(x)).any():
        row, column = np.argwhere(bad)[0].tolist()
        raise InvalidInputError(
            f"point {row} has the value {x[row, column]} at input {column}; expected finite numbers"
        )
    return x


def not_finite(points: NDArray[Any]) -> NDArray[np.bool_]:
    """Which numbers are infinite or nan; Fractions are neither, however large.

    Examples
    --------
    >>> not_finite(np.array([1.0, np.inf, np.nan]))
    array([False,  True,  True])
    """
    if points.dtype != object:
        return np.asarray(~np.isfinite(points))
    flat = [isinstance(x, (float, np.floating)) and not isfinite(x) for x in points.ravel()]
    return np.array(flat, dtype=np.bool_).reshape(points.shape)
