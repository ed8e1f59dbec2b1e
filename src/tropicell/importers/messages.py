"""Errors of an import that say where in the model, and in which file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tropicell._runtime.paths import reason
from tropicell.errors import (
    ModelFileError,
    ModelImportError,
    TropicellError,
    UnsupportedOperatorError,
)


@contextmanager
def at_node(where: str, operator: str) -> Iterator[None]:
    """Whatever goes wrong while one node is read names the node.

    Examples
    --------
    >>> with at_node("node 'n'", "Add"):
    ...     raise ValueError("shapes do not fit")
    Traceback (most recent call last):
    ...
    tropicell.errors.ModelImportError: node 'n', operator 'Add': shapes do not fit
    """
    try:
        yield
    except UnsupportedOperatorError:
        raise
    except (ValueError, IndexError, TypeError, AttributeError) as error:
        raise ModelImportError(f"{where}, operator {operator!r}: {error}") from error


@contextmanager
def in_file(path: Path) -> Iterator[None]:
    """Errors of the model in a file name the file, and are errors of this package.

    Examples
    --------
    >>> with in_file(Path("net.onnx")):
    ...     raise ModelImportError("two outputs")
    Traceback (most recent call last):
    ...
    tropicell.errors.ModelImportError: net.onnx: two outputs
    """
    try:
        yield
    except UnsupportedOperatorError as error:
        where = f"{error.where} of {path.name}"
        raise UnsupportedOperatorError(error.operator, where, error.advice) from error.__cause__
    except ModelImportError as error:
        raise type(error)(f"{path}: {error}") from error.__cause__
    except ModelFileError:
        raise
    except TropicellError as error:
        if isinstance(error, ImportError):
            raise
        raise ModelFileError(f"{path}: {error}") from error.__cause__
    except MemoryError as error:
        raise ModelFileError(f"{path}: what it describes does not fit in memory") from error
    except OSError as error:
        raise ModelFileError(f"{path}: can't be read: {reason(error)}") from error
    except Exception as error:  # NumPy, SciPy, protobuf and torch raise what they like
        raise ModelFileError(
            f"{path}: damaged, or not what its suffix says ({type(error).__name__}: {error})"
        ) from error
