"""Every error that Tropicell raises on purpose, in one small hierarchy.

All of them derive from `TropicellError`; each also derives from the built-in exception that
a caller would expect (`ValueError`, `ImportError`, …), so that ordinary ``except`` clauses work.
"""

from __future__ import annotations

import importlib
from types import ModuleType


class TropicellError(Exception):
    """Base class of all errors of this package."""


class InvalidNetworkError(TropicellError, ValueError):
    """Weights, biases, skips or activations that do not make a network."""


class InvalidPatternError(TropicellError, ValueError):
    """A pattern that does not fit the network."""


class InvalidDomainError(TropicellError, ValueError):
    """A box, polytope or slice that makes no sense, or does not fit the network."""


class InvalidInputError(TropicellError, ValueError):
    """Points or options that a function cannot work with."""


class IncompleteError(TropicellError, RuntimeError):
    """A count that a budget or a signal ended before all regions were found.

    Parameters
    ----------
    count : int
        Regions that were found until then.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__(
            f"the count is not complete: {count:,} regions were found until it ended; "
            "estimate_regions says roughly how many there are, and a Slice looks at a part"
        )


class ModelImportError(TropicellError, ValueError):
    """A model of another library that could not be turned into a `Network`."""


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
    """

    def __init__(self, operator: str, where: str, advice: str) -> None:
        self.operator = operator
        self.where = where
        self.advice = advice
        super().__init__(f"operator {operator!r} (at {where}) is not supported: {advice}")


class ImportMismatchError(ModelImportError):
    """The imported network and the model disagree on some input: the import is refused."""


class WeakComparisonWarning(UserWarning):
    """An imported network could be compared with its model in float32 only, not in float64."""


class DeviceWarning(UserWarning):
    """The device that was asked for is not there, or not made for this work: the CPU does it."""


class ModelFileError(TropicellError, ValueError):
    """A file that is missing, unreadable, truncated, or not what its name says."""


class FileWriteError(TropicellError, OSError):
    """A file that could not be written; what was there before is untouched."""


class CheckpointError(TropicellError, ValueError):
    """A checkpoint that is damaged, or that of another enumeration."""


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written; the enumeration goes on without it."""


class MissingDependencyError(TropicellError, ImportError):
    """An optional package is needed that is not installed."""


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
