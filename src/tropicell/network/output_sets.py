"""Sets of inputs by what the outputs are there: levels, sublevels, decisions.

A search that is given one as ``where`` reports the regions that the set meets, and no others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import combinations
from math import isfinite
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from tropicell._runtime.arrays import FloatArray
from tropicell.errors import InvalidInputError


class Part(NamedTuple):
    """Points at which some affine functions of the outputs are 0, and others are not negative.

    Attributes
    ----------
    equal : ndarray, shape (functions, outputs + 1)
        Factors of the outputs, and a constant; one function, or none.
    at_least : ndarray, shape (functions, outputs + 1)
    """

    equal: FloatArray
    at_least: FloatArray


class OutputSet(ABC):
    """Base class: a closed set of inputs that is given by the outputs there.

    A region is closed, too, so the set *meets* it if they have a point in common, if only a corner.
    """

    @abstractmethod
    def parts(self, outputs: int) -> list[Part]:
        """The sets whose union it is, for a network with so many outputs.

        Raises
        ------
        InvalidInputError
            If the network has no such output.
        """


def _row(outputs: int, factors: dict[int, float], constant: float = 0.0) -> FloatArray:
    row = np.zeros(outputs + 1)
    for output, factor in factors.items():
        row[output] = factor
    row[-1] = constant
    return row[None]


def _nothing(outputs: int) -> FloatArray:
    return np.zeros((0, outputs + 1))


def _check_output(name: str, value: Any, outputs: int) -> None:
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or not 0 <= int(value) < outputs:
        raise InvalidInputError(
            f"{name} must be an output of the network, 0 … {outputs - 1}, not {value!r}"
        )


@dataclass(frozen=True)
class _OneOutput(OutputSet):
    value: float = 0.0
    output: int = 0

    def __post_init__(self) -> None:
        given = self.value
        if isinstance(given, bool) or not isinstance(given, Real) or not isfinite(given):
            raise InvalidInputError(f"value must be a finite number, not {given!r}")
        if float(given) != given:
            raise InvalidInputError(f"value must be a number that float64 has, not {given}")
        object.__setattr__(self, "value", float(given))

    def _function(self, outputs: int, sign: float) -> FloatArray:
        _check_output("output", self.output, outputs)
        return _row(outputs, {int(self.output): sign}, -sign * self.value)


@dataclass(frozen=True)
class Level(_OneOutput):
    """The points at which an output has a value: a level set.

    Parameters
    ----------
    value : float
    output : int

    Examples
    --------
    The surface of a shape, of which a network has learnt the distance to it, is where that is 0:

    >>> from tropicell import Box, Network, count_regions
    >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]], [[0.0, 0.0], [-1.0]])
    >>> count_regions(network, Box(-2, 2)), count_regions(network, Box(-2, 2), where=Level(0.5))
    (4, 3)
    """

    def parts(self, outputs: int) -> list[Part]:
        """One: the output less the value is 0.

        Examples
        --------
        >>> Level(0.5).parts(2)[0].equal
        array([[ 1. ,  0. , -0.5]])
        """
        return [Part(self._function(outputs, 1.0), _nothing(outputs))]


@dataclass(frozen=True)
class Sublevel(_OneOutput):
    """The points at which an output is at most a value: a sublevel set.

    Parameters
    ----------
    value : float
    output : int

    Examples
    --------
    >>> from tropicell import Box, Network, count_regions
    >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]], [[1.0, 0.0], [0.0]])
    >>> count_regions(network, Box(0, 2), where=Sublevel(0.5))
    0
    """

    def parts(self, outputs: int) -> list[Part]:
        """One: the value less the output is not negative.

        Examples
        --------
        >>> Sublevel(0.5).parts(2)[0].at_least
        array([[-1. ,  0. ,  0.5]])
        """
        return [Part(_nothing(outputs), self._function(outputs, -1.0))]


@dataclass(frozen=True)
class Superlevel(_OneOutput):
    """The points at which an output is at least a value.

    Parameters
    ----------
    value : float
    output : int

    Examples
    --------
    >>> Superlevel(2.5)
    Superlevel(value=2.5, output=0)
    """

    def parts(self, outputs: int) -> list[Part]:
        """One: the output less the value is not negative.

        Examples
        --------
        >>> Superlevel(0.5).parts(2)[0].at_least
        array([[ 1. ,  0. , -0.5]])
        """
        return [Part(_nothing(outputs), self._function(outputs, 1.0))]


@dataclass(frozen=True)
class DecisionBoundary(OutputSet):
    """The points at which two classes win together: their outputs are equal, and none is larger.

    Parameters
    ----------
    first, second : int, optional
        The classes; one of them alone: its boundary with all others; none: all boundaries. For a
        network with one output, whose sign decides, take `Level`.

    Examples
    --------
    >>> from tropicell import Box, Network, count_regions
    >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]])
    >>> count_regions(network, Box(-1, 1), where=DecisionBoundary(0, 1))
    4
    """

    first: int | None = None
    second: int | None = None

    def parts(self, outputs: int) -> list[Part]:
        """One for each pair of classes.

        Examples
        --------
        >>> [part.equal.tolist() for part in DecisionBoundary(1).parts(3)]
        [[[1.0, -1.0, 0.0, 0.0]], [[0.0, 1.0, -1.0, 0.0]]]
        """
        if outputs < 2:
            raise InvalidInputError(
                "a decision boundary needs at least two outputs, and this network has one: use "
                "Level(0) if its sign decides"
            )
        wanted = [one for one in (self.first, self.second) if one is not None]
        for name, one in (("first", self.first), ("second", self.second)):
            if one is not None:
                _check_output(name, one, outputs)
        if len(wanted) == 2 and wanted[0] == wanted[1]:
            raise InvalidInputError(f"first and second must be two classes, not {wanted[0]} twice")
        pairs = [pair for pair in combinations(range(outputs), 2) if set(wanted) <= set(pair)]
        return [self._between(a, b, outputs) for a, b in pairs]

    def _between(self, a: int, b: int, outputs: int) -> Part:
        others = [_row(outputs, {a: 1.0, c: -1.0}) for c in range(outputs) if c not in (a, b)]
        return Part(
            _row(outputs, {a: 1.0, b: -1.0}), np.concatenate([_nothing(outputs), *others], axis=0)
        )


@dataclass(frozen=True)
class DecisionRegion(OutputSet):
    """The points at which a class wins, alone or together with others.

    Parameters
    ----------
    winner : int
        The class whose output is the largest.

    Examples
    --------
    >>> from tropicell import Box, Network, count_regions
    >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]],
    ...                       [[0.0, 0.0], [1.0, 0.0]])
    >>> count_regions(network, Box(-1, 0.5), where=DecisionRegion(1))
    0
    """

    winner: int

    def parts(self, outputs: int) -> list[Part]:
        """One: the winner's output less each other one is not negative.

        Examples
        --------
        >>> DecisionRegion(0).parts(3)[0].at_least
        array([[ 1., -1.,  0.,  0.],
               [ 1.,  0., -1.,  0.]])
        """
        if outputs < 2:
            raise InvalidInputError(
                "a class wins among at least two outputs, and this network has one: use "
                "Superlevel(0) if its sign decides"
            )
        _check_output("winner", self.winner, outputs)
        w = int(self.winner)
        others = [_row(outputs, {w: 1.0, c: -1.0}) for c in range(outputs) if c != w]
        return [Part(_nothing(outputs), np.concatenate(others, axis=0))]
