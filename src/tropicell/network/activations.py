"""The activations of neural networks, each a continuous piecewise-linear function.

Any other one is made with `piecewise`; what an `Activation` is says `tropicell.network.piecewise`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tropicell.errors import InvalidNetworkError
from tropicell.network.piecewise import Activation, Row, piecewise, stacked

__all__ = [
    "Activation",
    "absolute",
    "as_activation",
    "clip",
    "hard_sigmoid",
    "hard_tanh",
    "identity",
    "leaky_relu",
    "piecewise",
    "prelu",
    "relu",
    "relu6",
    "soft_shrink",
]


def relu() -> Activation:
    """``max(z, 0)``.

    Examples
    --------
    >>> relu()(np.array([[-1.0], [2.0]])).ravel()
    array([0., 2.])
    """
    return piecewise([0.0], [0.0, 1.0], [0.0, 0.0], name="relu")


def leaky_relu(negative_slope: float = 0.01) -> Activation:
    """``z`` where positive, ``negative_slope * z`` elsewhere.

    Examples
    --------
    >>> leaky_relu(0.5)(np.array([[-1.0], [2.0]])).ravel()
    array([-0.5,  2. ])
    """
    return piecewise(
        [0.0], [negative_slope, 1.0], [0.0, 0.0], name=f"leaky_relu({negative_slope:g})"
    )


def prelu(negative_slopes: ArrayLike) -> Activation:
    """Leaky ReLU with a slope of its own for every neuron.

    Examples
    --------
    >>> prelu([0.5, -1.0])(np.array([[-1.0, -1.0]]))
    array([[-0.5,  1. ]])
    """
    slopes = np.atleast_1d(np.asarray(negative_slopes, dtype=np.float64))
    zeros = np.zeros((slopes.size, 2))
    return piecewise(
        zeros[:, :1], np.column_stack([slopes, np.ones(slopes.size)]), zeros, name="prelu"
    )


def clip(low: ArrayLike = -np.inf, high: ArrayLike = np.inf, *, name: str = "clip") -> Activation:
    """``min(max(z, low), high)``; bounds may be infinite, and may differ from neuron to neuron.

    Examples
    --------
    >>> clip(0, 2)(np.array([[-1.0], [1.5], [7.0]])).ravel()
    array([0. , 1.5, 2. ])
    """
    lows, highs = np.broadcast_arrays(
        np.atleast_1d(np.asarray(low, np.float64)), np.atleast_1d(np.asarray(high, np.float64))
    )
    if np.isnan(lows).any() or np.isnan(highs).any() or (lows > highs).any():
        raise InvalidNetworkError(f"{name}: expected low <= high, got low={low!r}, high={high!r}")
    rows: list[Row] = []
    for a, b in zip(lows.tolist(), highs.tolist(), strict=True):
        if a == b:
            rows.append(([], [0.0], [a]))
            continue
        breakpoints, slopes, intercepts = [], [1.0], [0.0]
        if np.isfinite(a):
            breakpoints, slopes, intercepts = [a], [0.0, *slopes], [a, *intercepts]
        if np.isfinite(b):
            breakpoints, slopes, intercepts = [*breakpoints, b], [*slopes, 0.0], [*intercepts, b]
        rows.append((breakpoints, slopes, intercepts))
    return stacked(rows, name)


def hard_tanh(low: float = -1.0, high: float = 1.0) -> Activation:
    """``min(max(z, low), high)``, by default between -1 and 1.

    Examples
    --------
    >>> hard_tanh()(np.array([[-3.0], [0.5]])).ravel()
    array([-1. ,  0.5])
    """
    return clip(low, high, name="hard_tanh")


def relu6() -> Activation:
    """``min(max(z, 0), 6)``.

    Examples
    --------
    >>> relu6()(np.array([[-3.0], [0.5], [8.0]])).ravel()
    array([0. , 0.5, 6. ])
    """
    return clip(0.0, 6.0, name="relu6")


def absolute() -> Activation:
    """``|z|``.

    Examples
    --------
    >>> absolute()(np.array([[-3.0], [0.5]])).ravel()
    array([3. , 0.5])
    """
    return piecewise([0.0], [-1.0, 1.0], [0.0, 0.0], name="abs")


def hard_sigmoid(slope: float = 1 / 6, offset: float = 0.5) -> Activation:
    """``min(max(slope * z + offset, 0), 1)``; the defaults are PyTorch's.

    Examples
    --------
    >>> hard_sigmoid()(np.array([[-4.0], [0.0], [4.0]])).ravel()
    array([0. , 0.5, 1. ])
    """
    if not slope > 0:
        raise InvalidNetworkError(f"hard_sigmoid: expected a positive slope, got {slope}")
    return piecewise(
        [-offset / slope, (1 - offset) / slope],
        [0.0, slope, 0.0],
        [0.0, offset, 1.0],
        name="hard_sigmoid",
    )


def soft_shrink(threshold: float = 0.5) -> Activation:
    """``z`` moved towards 0 by `threshold`, and 0 within it.

    Examples
    --------
    >>> soft_shrink()(np.array([[-2.0], [0.25], [2.0]])).ravel()
    array([-1.5,  0. ,  1.5])
    """
    if not threshold >= 0:
        raise InvalidNetworkError(f"soft_shrink: expected a threshold >= 0, got {threshold}")
    if threshold == 0:
        return identity()
    return piecewise(
        [-threshold, threshold], [1.0, 0.0, 1.0], [threshold, 0.0, -threshold], name="soft_shrink"
    )


def identity() -> Activation:
    """``z``: one piece, no bend.

    Examples
    --------
    >>> identity().pieces
    array([1])
    """
    return piecewise([], [1.0], [0.0], name="identity")


#: The activations that can be asked for by name, with their default parameters.
BY_NAME: dict[str, Callable[[], Activation]] = {
    "relu": relu,
    "leaky_relu": leaky_relu,
    "hard_tanh": hard_tanh,
    "relu6": relu6,
    "abs": absolute,
    "hard_sigmoid": hard_sigmoid,
    "soft_shrink": soft_shrink,
    "identity": identity,
}


def as_activation(activation: str | Activation | Any) -> Activation:
    """An activation from its name, or itself.

    Examples
    --------
    >>> as_activation("relu").name
    'relu'
    """
    if isinstance(activation, Activation):
        return activation
    if isinstance(activation, str) and activation in BY_NAME:
        return _named(activation)
    raise InvalidNetworkError(
        f"unknown activation {activation!r}; expected an Activation or one of "
        + ", ".join(sorted(BY_NAME))
    )


@cache
def _named(name: str) -> Activation:
    """One object for all networks that use it."""
    return BY_NAME[name]()
