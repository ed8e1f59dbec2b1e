"""The activations of neural networks, each a continuous piecewise-linear function.

Any other one is made with `piecewise`; what an `Activation` is says
`tropicell.network.activations`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropicell._runtime.arrays import FloatArray, IndexArray
from tropicell.errors import InvalidNetworkError

# `Activation`: a continuous piecewise-linear function by its breakpoints, slopes, intercepts.
#
# A function with ``P`` pieces has ``P - 1`` breakpoints ``t_1 < … < t_{P-1}``. Piece ``i`` (counted
# from 0) holds on ``t_i < z <= t_{i+1}`` (with ``t_0 = -inf``, ``t_P = inf``), where the value is
# ``slope_i * z + intercept_i``. So for ReLU piece 1 is the active one, and ``z = 0`` is inactive.
#
# The functions must be continuous. Taken exactly (as rationals), the first intercept is the given
# float and the others follow from continuity; the float intercepts are those values, rounded.

#: Patterns store piece indices in one byte.
MAX_PIECES = 256

#: Largest jump at a breakpoint, relative to the values there, that is taken for rounding.
CONTINUITY_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Activation:
    """One piecewise-linear function, or one per neuron.

    Make one with `piecewise`, or with a function of `tropicell.network.activations` (`relu`,
    `leaky_relu`, …), not directly.

    Attributes
    ----------
    breakpoints : ndarray, shape (rows, pieces - 1)
        Increasing along a row, padded with ``inf`` where a row has fewer pieces than others.
    slopes, intercepts : ndarray, shape (rows, pieces)
        Padded with copies of the last piece.
    name : str
        What the diagram prints.

    One row stands for any number of neurons; otherwise there is a row for every neuron.

    Examples
    --------
    >>> relu = piecewise([0], [0, 1], [0, 0], name="relu")
    >>> relu(np.array([[-1.0], [2.0]])).ravel()
    array([0., 2.])
    >>> relu.rows, relu.name
    (1, 'relu')
    """

    breakpoints: FloatArray
    slopes: FloatArray
    intercepts: FloatArray
    name: str

    @property
    def rows(self) -> int:
        """Number of rows: 1 (the same function for all neurons) or the number of neurons."""
        return int(self.slopes.shape[0])

    @property
    def pieces(self) -> IndexArray:
        """Number of linear pieces of each row.

        Examples
        --------
        >>> piecewise([-1, 1], [0, 1, 0], [-1, 0, 1]).pieces
        array([3])
        """
        return np.asarray(1 + np.isfinite(self.breakpoints).sum(axis=1), dtype=np.intp)

    def expand(self, width: int) -> Activation:
        """The same activation with one row for each of `width` neurons.

        Examples
        --------
        >>> piecewise([0], [0, 1], [0, 0]).expand(3).rows
        3
        """
        if self.rows == width:
            return self
        if self.rows != 1:
            raise InvalidNetworkError(
                f"activation {self.name!r} has parameters for {self.rows} neurons, "
                f"but its layer has {width}"
            )
        return _expanded(self, width)

    def pattern(self, z: FloatArray) -> NDArray[np.uint8]:
        """Index of the piece that each pre-activation falls on.

        Examples
        --------
        >>> piecewise([0], [0, 1], [0, 0]).pattern(np.array([[-1.0], [0.0], [2.0]])).ravel()
        array([0, 0, 1], dtype=uint8)
        """
        pattern = np.zeros(z.shape, dtype=np.uint8)
        for breakpoint in self.breakpoints.T:
            pattern += z > breakpoint
        return pattern

    def __call__(self, z: FloatArray) -> FloatArray:
        """Value at pre-activations `z`, whose last axis runs over the neurons.

        Examples
        --------
        >>> hard_tanh = piecewise([-1, 1], [0, 1, 0], [-1, 0, 1])
        >>> hard_tanh(np.array([[-3.0], [0.5], [7.0]])).ravel()
        array([-1. ,  0.5,  1. ])
        """
        piece = self.pattern(z)
        value = self.slopes[:, 0] * z + self.intercepts[:, 0]
        for index in range(1, self.slopes.shape[1]):
            value = np.where(
                piece == index, self.slopes[:, index] * z + self.intercepts[:, index], value
            )
        return value

    def exact_row(self, row: int) -> tuple[list[Fraction], list[Fraction], list[Fraction]]:
        """Breakpoints, slopes and intercepts of one row as exact rationals.

        Examples
        --------
        >>> relu6 = piecewise([0, 6], [0, 1, 0], [0, 0, 6])
        >>> relu6.exact_row(0)[2]
        [Fraction(0, 1), Fraction(0, 1), Fraction(6, 1)]
        """
        pieces = int(self.pieces[row])
        breakpoints = [Fraction(t) for t in self.breakpoints[row, : pieces - 1]]
        slopes = [Fraction(s) for s in self.slopes[row, :pieces]]
        return breakpoints, slopes, _continuous(breakpoints, slopes, self.intercepts[row, 0])


@lru_cache(maxsize=256)
def _expanded(activation: Activation, width: int) -> Activation:
    """One row repeated."""
    return _shared(
        np.repeat(activation.breakpoints, width, axis=0),
        np.repeat(activation.slopes, width, axis=0),
        np.repeat(activation.intercepts, width, axis=0),
        activation.name,
    )


def _continuous(
    breakpoints: list[Fraction], slopes: list[Fraction], first_intercept: float
) -> list[Fraction]:
    """Intercepts that make the function continuous, from the first one."""
    intercepts = [Fraction(first_intercept)]
    for t, left, right in zip(breakpoints, slopes, slopes[1:], strict=False):
        intercepts.append(intercepts[-1] + (left - right) * t)
    return intercepts


def piecewise(
    breakpoints: ArrayLike, slopes: ArrayLike, intercepts: ArrayLike, *, name: str = "piecewise"
) -> Activation:
    """Any continuous piecewise-linear function, or one per neuron.

    Breakpoints at which the slope does not change are dropped: they bend nothing.

    Parameters
    ----------
    breakpoints : array_like, shape (pieces - 1,) or (neurons, pieces - 1)
        Increasing. A row with fewer pieces is padded with ``inf``.
    slopes, intercepts : array_like, shape (pieces,) or (neurons, pieces)
        The linear pieces from left to right.
    name : str
        What the diagram prints.

    Returns
    -------
    Activation

    Raises
    ------
    InvalidNetworkError
        If the shapes do not fit, a number is not finite, breakpoints do not increase, or
        the function jumps.

    Examples
    --------
    A tent: 0, then up, then down, then 0 again.

    >>> tent = piecewise([0, 1, 2], [0, 1, -1, 0], [0, 0, 2, 0], name="tent")
    >>> tent(np.array([[-1.0], [0.5], [1.5], [9.0]])).ravel()
    array([0. , 0.5, 0.5, 0. ])
    """
    t = np.array(breakpoints, dtype=np.float64, ndmin=2)
    s = np.array(slopes, dtype=np.float64, ndmin=2)
    c = np.array(intercepts, dtype=np.float64, ndmin=2)
    if t.size == 0:
        t = np.empty((s.shape[0], 0))
    if s.ndim != 2 or s.shape != c.shape or t.shape != (s.shape[0], s.shape[1] - 1):
        raise InvalidNetworkError(
            f"activation {name!r}: expected breakpoints of shape (rows, pieces - 1) and slopes "
            f"and intercepts of shape (rows, pieces); got {t.shape}, {s.shape}, {c.shape}"
        )
    if s.shape[1] > MAX_PIECES:
        raise InvalidNetworkError(
            f"activation {name!r} has {s.shape[1]} pieces; at most {MAX_PIECES} are supported"
        )
    if not (np.isfinite(s).all() and np.isfinite(c).all()) or np.isnan(t).any():
        raise InvalidNetworkError(
            f"activation {name!r} has a slope, intercept or breakpoint that is not a finite number"
        )
    rows = {}
    keys = [(t[i].tobytes(), s[i].tobytes(), c[i].tobytes()) for i in range(s.shape[0])]
    for i, key in enumerate(keys):
        if key not in rows:
            rows[key] = _normal_row(t[i], s[i], c[i], name)
    return stacked([rows[key] for key in keys], name)


#: Breakpoints, slopes and intercepts of one neuron's function.
Row = tuple[list[float], list[float], list[float]]


def _normal_row(t: FloatArray, s: FloatArray, c: FloatArray, name: str) -> Row:
    """Check one row, drop padding and bends that bend nothing, and round its intercepts."""
    pieces = 1 + int(np.isfinite(t).sum())
    t, s, c = t[: pieces - 1], s[:pieces], c[:pieces]
    if not np.isfinite(t).all() or (np.diff(t) <= 0).any():
        raise InvalidNetworkError(
            f"activation {name!r}: breakpoints must increase, with inf as padding at the end "
            f"only; got {t.tolist()}"
        )
    left, right = s[:-1] * t + c[:-1], s[1:] * t + c[1:]
    scale = np.abs(s[:-1] * t) + np.abs(c[:-1]) + np.abs(s[1:] * t) + np.abs(c[1:])
    jumps = np.flatnonzero(np.abs(left - right) > CONTINUITY_TOLERANCE * scale)
    if jumps.size:
        at = int(jumps[0])
        raise InvalidNetworkError(
            f"activation {name!r} jumps from {left[at]} to {right[at]} at {t[at]}; "
            "only continuous functions are supported"
        )
    bends = np.flatnonzero(np.diff(s) != 0)
    kept = np.concatenate([[0], bends + 1])
    breakpoints, slopes = t[bends].tolist(), s[kept].tolist()
    exact = _continuous(
        [Fraction(x) for x in breakpoints], [Fraction(x) for x in slopes], float(c[0])
    )
    return breakpoints, slopes, [float(x) for x in exact]


def stacked(rows: Sequence[Row], name: str) -> Activation:
    """Rows of any number of pieces as padded arrays."""
    pieces = max(len(slopes) for _, slopes, _ in rows)
    breakpoints = np.full((len(rows), pieces - 1), np.inf)
    slopes = np.empty((len(rows), pieces))
    intercepts = np.empty((len(rows), pieces))
    for i, (row_t, row_s, row_c) in enumerate(rows):
        breakpoints[i, : len(row_t)] = row_t
        slopes[i, : len(row_s)], slopes[i, len(row_s) :] = row_s, row_s[-1]
        intercepts[i, : len(row_c)], intercepts[i, len(row_c) :] = row_c, row_c[-1]
    return _shared(breakpoints, slopes, intercepts, name)


#: The activations that somebody uses.
_USED: WeakValueDictionary[tuple[Any, ...], Activation] = WeakValueDictionary()


def _shared(
    breakpoints: FloatArray, slopes: FloatArray, intercepts: FloatArray, name: str
) -> Activation:
    """Equal activations are one object: networks share it, and it says at once that they do."""
    arrays = (breakpoints, slopes, intercepts)
    for array in arrays:
        array.setflags(write=False)
    key = (name, *((array.shape, array.tobytes()) for array in arrays))
    return _USED.setdefault(key, Activation(*arrays, name))


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
