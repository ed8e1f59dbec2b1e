"""Every error that Tropicell raises on purpose, in one small hierarchy.

All of them derive from `TropicellError`; each also derives from the built-in exception that
a caller would expect (`ValueError`, `ImportError`, …), so that ordinary ``except`` clauses work.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any


class TropicellError(Exception):
    """Base class of all errors of this package.

    Examples
    --------
    >>> from tropicell import Box, TropicellError
    >>> try:
    ...     Box(1, -1)
    ... except TropicellError as error:
    ...     print(error)
    Box: every low bound must be below its high bound, got low=1.0, high=-1.0
    """


class InvalidNetworkError(TropicellError, ValueError):
    """Weights, biases, skips or activations that do not make a network.

    Examples
    --------
    >>> from tropicell import Network
    >>> Network.mlp([[[1.0, 2.0]], [[1.0, 1.0]]])
    Traceback (most recent call last):
    tropicell.errors.InvalidNetworkError: the weights of the output have 2 columns, but ...
    """


class InvalidPatternError(TropicellError, ValueError):
    """A pattern that does not fit the network.

    Examples
    --------
    >>> from tropicell import Network
    >>> Network.mlp([[[1.0]], [[1.0]]]).parse_pattern("101")
    Traceback (most recent call last):
    tropicell.errors.InvalidPatternError: ...
    """


class InvalidDomainError(TropicellError, ValueError):
    """A box, polytope or slice that makes no sense, or does not fit the network.

    Examples
    --------
    >>> from tropicell import Box, Network, count_regions
    >>> count_regions(Network.mlp([[[1.0]], [[1.0]]]), Box([0, 0], [1, 1]))
    Traceback (most recent call last):
    tropicell.errors.InvalidDomainError: the box has 2 coordinates, the network 1 inputs
    """


class InvalidInputError(TropicellError, ValueError):
    """Points or options that a function cannot work with.

    Examples
    --------
    >>> from tropicell import Network, count_regions
    >>> count_regions(Network.mlp([[[1.0]], [[1.0]]]), workers=0)
    Traceback (most recent call last):
    tropicell.errors.InvalidInputError: workers must be a whole number from 1 on, not 0
    """


class IncompleteError(TropicellError, RuntimeError):
    """A count that a budget or a signal ended before all regions were found.

    Parameters
    ----------
    count : int
        Regions that were found until then.
    ended_by : str, optional
        What ended it, such as ``"max_seconds"``.

    Examples
    --------
    >>> from tropicell import IncompleteError, Network, count_regions
    >>> try:
    ...     count_regions(Network.mlp([[[1.0]], [[1.0]]]), max_regions=1)
    ... except IncompleteError as error:
    ...     print(error.count, error.ended_by)
    1 max_regions
    """

    def __init__(self, count: int, ended_by: str | None = None) -> None:
        self.count = count
        self.ended_by = ended_by
        super().__init__(
            f"the count is not complete: there are at least {count:,} regions; "
            "estimate_regions says roughly how many there are, and a Slice looks at a part"
        )

    def __reduce__(self) -> tuple[Any, ...]:  # what it is made from is not its text
        return type(self), (self.count, self.ended_by)


class TimeLimitError(TropicellError, RuntimeError):
    """Exact work that a time limit ended: half an answer would be none.

    Examples
    --------
    >>> from tropicell import Network, enumerate_regions, time_limit
    >>> regions = enumerate_regions(Network.mlp([[[1.0], [1.0]], [[1.0, 1.0]]]), engine="traverse")
    >>> with time_limit(0):
    ...     regions.neighbours
    Traceback (most recent call last):
    tropicell.errors.TimeLimitError: the time limit of 0 seconds is over
    """


class IncompleteWarning(UserWarning):
    """A signal, or a lack of memory, ended a search: what is returned are not all regions.

    Budgets such as ``max_seconds`` do this without a warning: they were asked for.

    Examples
    --------
    Inside of this, Ctrl-C, SIGTERM and a lack of memory end a search with an error:

    >>> import warnings
    >>> from tropicell import IncompleteWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", IncompleteWarning)
    """


class InternalError(TropicellError, RuntimeError):
    """A result that can't be right, such as a domain without regions: a mistake of Tropicell.

    It is raised instead of a wrong answer. Please report it, with the network.

    Examples
    --------
    >>> from tropicell.engines.units import Outcome, Unit, check_outcome
    >>> check_outcome(Unit(0), Outcome([], 0, []))
    Traceback (most recent call last):
    tropicell.errors.InternalError: a part of a search with at least 1 regions ended with 0 ...
    """

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(
            f"{what}, which can't be: this is a mistake of Tropicell, and no answer is better than "
            "a wrong one; please report it, with the network"
        )

    def __reduce__(self) -> tuple[Any, ...]:  # what it is made from is not its text
        return type(self), (self.what,)


class ModelImportError(TropicellError, ValueError):
    """A model of another library that could not be turned into a `Network`.

    Examples
    --------
    >>> from tropicell import from_torch
    >>> from_torch({"weight": [[1.0]]}, [[0.0]])
    Traceback (most recent call last):
    tropicell.errors.ModelImportError: expected a torch.nn.Module, got dict...
    """


class UnsupportedOperatorError(ModelImportError):
    """The model contains an operator that is not supported.

    Parameters
    ----------
    operator : str
        The operator's name as the model spells it, e.g. ``"Sigmoid"``.
    where : str
        The node or layer that uses it.
    advice : str
        What the user can do about it.

    Examples
    --------
    >>> import torch
    >>> from tropicell import from_torch
    >>> from_torch(torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.Tanh()), torch.zeros(1, 2))
    Traceback (most recent call last):
    tropicell.errors.UnsupportedOperatorError: operator 'aten.tanh' (at ...) is not supported: ...
    """

    def __init__(self, operator: str, where: str, advice: str) -> None:
        self.operator = operator
        self.where = where
        self.advice = advice
        super().__init__(f"operator {operator!r} (at {where}) is not supported: {advice}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.operator, self.where, self.advice)


class ImportMismatchError(ModelImportError):
    """The imported network and the model disagree on some input: the import is refused.

    Examples
    --------
    >>> from tropicell import Network
    >>> from tropicell.importers.check import compare
    >>> compare(Network.mlp([[[1.0]]]), lambda x: 2 * x, what="the model", tolerance=1e-9)
    Traceback (most recent call last):
    tropicell.errors.ImportMismatchError: the model and the network imported from it differ ...
    """


class WeakComparisonWarning(UserWarning):
    """An imported network could be compared with its model in float32 only, not in float64.

    Examples
    --------
    Inside of this, an import that can't be compared in float64 is refused:

    >>> import warnings
    >>> from tropicell import WeakComparisonWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", WeakComparisonWarning)
    """


class DeviceWarning(UserWarning):
    """The device that was asked for is not there, or not made for this work: the CPU does it.

    Examples
    --------
    >>> import warnings
    >>> from tropicell import Network, count_regions
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     count_regions(Network.mlp([[[1.0]], [[1.0]]]), device="cuda")
    2
    >>> [warning.category.__name__ for warning in caught]
    ['DeviceWarning']
    """


class ModelFileError(TropicellError, ValueError):
    """A file that is missing, unreadable, truncated, or not what its name says.

    Examples
    --------
    >>> from tropicell import load
    >>> load("missing.npz")
    Traceback (most recent call last):
    tropicell.errors.ModelFileError: missing.npz: no such file
    """


class FileWriteError(TropicellError, OSError):
    """A file that could not be written; what was there before is untouched.

    Parameters
    ----------
    text : str
    errno : int, optional
        The number of the system's error, such as ``errno.ENOSPC`` for a full disk.

    Examples
    --------
    >>> from tropicell import Network, save
    >>> save(Network.mlp([[[1.0]], [[1.0]]]), "no/such/folder/network.npz")
    Traceback (most recent call last):
    tropicell.errors.FileWriteError: no/such/folder/network.npz: can't be written: ...
    """

    def __init__(self, text: str = "", errno: int | None = None) -> None:
        super().__init__(text)
        self.errno = errno

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.errno)


class CheckpointError(TropicellError, ValueError):
    """A checkpoint that is damaged, or that of another enumeration.

    Examples
    --------
    >>> import tempfile
    >>> from tropicell import Box, Network, count_regions
    >>> network = Network.mlp([[[1.0]], [[1.0]]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     count_regions(network, Box(-1, 1), checkpoint=folder)
    ...     count_regions(network, Box(-2, 2), checkpoint=folder)
    Traceback (most recent call last):
    tropicell.errors.CheckpointError: ...
    """


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written; the enumeration goes on without it.

    Examples
    --------
    Inside of this, a full disk ends a search, which otherwise goes on in memory:

    >>> import warnings
    >>> from tropicell import CheckpointWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", CheckpointWarning)
    """


class MissingDependencyError(TropicellError, ImportError):
    """An optional package is needed that is not installed.

    Examples
    --------
    >>> require("no_such_package", extra="plot", why="drawing")
    Traceback (most recent call last):
    tropicell.errors.MissingDependencyError: drawing needs the package 'no_such_package', which ...
    """


def require(module: str, *, extra: str, why: str) -> ModuleType:
    """Import an optional dependency, or say which extra brings it.

    Parameters
    ----------
    module : str
        The module to import, e.g. ``"onnx"``.
    extra : str
        The extra of this package that installs it.
    why : str
        What it is needed for; the middle of the error message.

    Returns
    -------
    ModuleType
        The imported module.

    Raises
    ------
    MissingDependencyError
        If the module is not installed.

    Examples
    --------
    >>> require("json", extra="none", why="reading JSON").__name__
    'json'
    """
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.partition(".")[0] != package:
            raise
        raise MissingDependencyError(
            f"{why} needs the package {package!r}, which is not installed; "
            f"install it with: pip install 'tropicell[{extra}]'"
        ) from None
