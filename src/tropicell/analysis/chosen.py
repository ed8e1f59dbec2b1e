"""What callers choose of a complex: dimensions, faces, weights, values; the rest is refused."""

from __future__ import annotations

from math import isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell.errors import InvalidInputError


def is_whole(value: Any) -> bool:
    """Whether something is a whole number; True and False are none.

    Examples
    --------
    >>> is_whole(np.int64(1)), is_whole(True), is_whole(1.0)
    (True, False, False)
    """
    return isinstance(value, Integral) and not isinstance(value, bool)


def numbers_of(some: Any, count: int, what: str) -> NDArray[np.int64]:
    """The numbers of some of so many things: None for all, a mask, or numbers from 0 on.

    Examples
    --------
    >>> numbers_of([True, False, True], 3, "vertices"), numbers_of([], 3, "vertices")
    (array([0, 2]), array([], dtype=int64))
    >>> numbers_of([0.5], 3, "vertices")
    Traceback (most recent call last):
    tropicell.errors.InvalidInputError: vertices are chosen by a mask or by whole numbers, not ...
    """
    if some is None:
        return np.arange(count)
    try:
        own = np.asarray(some)
    except ValueError:  # rows of different lengths
        own = np.asarray(some, dtype=object)
    if own.dtype == np.bool_:
        if own.shape != (count,):
            raise InvalidInputError(
                f"a mask has one value for each of {count} {what}, this one has shape {own.shape}"
            )
        return np.flatnonzero(own)
    if own.size and not np.issubdtype(own.dtype, np.integer):
        raise InvalidInputError(
            f"{what} are chosen by a mask or by whole numbers, not by {type(some).__name__} of "
            f"{own.dtype}"
        )
    if own.size and not 0 <= own.min() <= own.max() < count:
        there = f"{what} are 0 to {count - 1}" if count else f"there are no {what}"
        raise InvalidInputError(f"{there}, and {own.min()} to {own.max()} were asked for")
    return own.astype(np.int64).ravel()


def finite_value(value: Any, what: str) -> float:
    """A finite number that float64 has.

    Examples
    --------
    >>> from fractions import Fraction
    >>> finite_value(Fraction(1, 4), "the value")
    0.25
    >>> finite_value(Fraction(1, 3), "the value")
    Traceback (most recent call last):
    tropicell.errors.InvalidInputError: the value must be a number that float64 has, not 1/3
    """
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise InvalidInputError(f"{what} must be a finite number, not {value!r}")
    try:
        found = float(value)
    except OverflowError:
        found = np.inf
    if not isfinite(found):
        raise InvalidInputError(f"{what} must be finite, not {value}")
    if found != value:
        raise InvalidInputError(f"{what} must be a number that float64 has, not {value}")
    return found


def weights_of(output: Any, outputs: int) -> FloatArray:
    """The weights of all outputs: of one of them, or as they are given.

    Examples
    --------
    >>> weights_of(1, 2), weights_of([1, -1], 2)
    (array([0., 1.]), array([ 1., -1.]))
    """
    if is_whole(output):
        if not 0 <= output < outputs:
            raise InvalidInputError(f"there are {outputs} outputs, no number {output}")
        found = np.zeros(outputs)
        found[output] = 1.0
        return found
    given = np.asarray(output)
    if given.dtype == np.bool_ or not np.issubdtype(given.dtype, np.number):
        raise InvalidInputError(
            f"expected the number of an output, or {outputs} weights, not {output!r}"
        )
    if given.shape != (outputs,) or np.iscomplexobj(given) or not np.isfinite(given).all():
        raise InvalidInputError(
            f"weights must be {outputs} finite numbers, one for each output, not an array of shape "
            f"{given.shape}"
        )
    return given.astype(np.float64)
