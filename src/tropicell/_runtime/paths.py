"""Paths that users give: whatever is wrong with one becomes an error of this package that names it.

What goes wrong while a file is read is turned into errors by `in_file`, and while one is written by
`tropicell._runtime.durable.replacing`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tropicell.errors import (
    FileWriteError,
    InvalidInputError,
    ModelFileError,
    ModelImportError,
    TropicellError,
    UnsupportedOperatorError,
)

#: Longer descriptions of what is no path are left out of messages.
_LONGEST = 80


def path_of(path: str | os.PathLike[str]) -> Path:
    """A path as an object, from whatever stands for one, bytes included.

    Examples
    --------
    >>> path_of("net.npz").suffix
    '.npz'
    >>> path_of(7)
    Traceback (most recent call last):
    tropicell.errors.InvalidInputError: expected a path as text or pathlib.Path, not 7
    >>> path_of(list(range(100)))
    Traceback (most recent call last):
    tropicell.errors.InvalidInputError: ... not an object of type list
    """
    try:
        return Path(os.fsdecode(path))
    except TypeError:
        given = repr(path)
        if len(given) > _LONGEST or not given.isprintable():
            given = f"an object of type {type(path).__name__}"
        raise InvalidInputError(f"expected a path as text or pathlib.Path, not {given}") from None


def shown(path: object) -> str:
    r"""A path for people; what can't be printed is escaped.

    Examples
    --------
    >>> shown("runs/größe"), shown("a\0b"), shown("\udcff")
    ('runs/größe', "'a\\x00b'", "'\\udcff'")
    """
    text = str(path)
    return text if text.isprintable() else ascii(text)


def reason(error: BaseException) -> str:
    """Why a file could not be read or written, in a few words, without the path.

    Examples
    --------
    >>> reason(PermissionError(13, "Permission denied", "net.npz"))
    'Permission denied'
    >>> reason(ValueError("embedded null byte"))
    'embedded null byte'
    """
    return shown(getattr(error, "strerror", None) or str(error) or type(error).__name__)


def number(error: BaseException) -> int | None:
    """The number of a system's error, if it is one."""
    return error.errno if isinstance(error, OSError) else None


def check_file(file: Path) -> None:
    """Refuse to read what is no file: nothing, a folder, a pipe, or out of reach.

    Examples
    --------
    >>> check_file(Path("/"))
    Traceback (most recent call last):
    tropicell.errors.ModelFileError: /: is a folder; expected a file
    """
    try:
        mode = file.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise ModelFileError(f"{shown(file)}: no such file") from None
    except (OSError, ValueError) as error:  # out of reach, too long, or not a path at all
        raise ModelFileError(f"{shown(file)}: can't be read: {reason(error)}") from error
    if stat.S_ISDIR(mode):
        raise ModelFileError(f"{shown(file)}: is a folder; expected a file")
    if not stat.S_ISREG(mode):
        raise ModelFileError(f"{shown(file)}: is a pipe or a device; expected a file")
    try:
        file.open("rb").close()  # libraries do not all say why they can't
    except OSError as error:
        raise ModelFileError(f"{shown(file)}: can't be read: {reason(error)}") from error


def is_folder(path: Path) -> bool:
    r"""Whether there is a folder of this name; a name that can't be one is none.

    Examples
    --------
    >>> is_folder(Path("/")), is_folder(Path("x" * 5000)), is_folder(Path("a\0b"))
    (True, False, False)
    """
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def make_folder(folder: Path) -> None:
    """Make a folder, and those that it is in, unless they are there.

    Raises
    ------
    FileWriteError

    Examples
    --------
    >>> make_folder(Path("/dev/null/x"))
    Traceback (most recent call last):
    tropicell.errors.FileWriteError: /dev/null/x: the folder can't be made: Not a directory
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        text = f"{folder}: the folder can't be made: {reason(error)}"
        raise FileWriteError(text, number(error)) from error


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
