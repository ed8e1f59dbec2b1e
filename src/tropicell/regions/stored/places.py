"""Folders for results: on this machine, or anywhere that fsspec reaches (``s3://``, ``gs://``, …).

On this machine a file is either there as a whole or not at all, and on the disk as soon as it is
there. Elsewhere nothing of the kind can be relied on: a file that is being written may be found in
any state, so nobody may look at one before another file has named it, with its checksum.
"""

from __future__ import annotations

import io
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from tropicell._runtime.durable import FolderLock, explained, replacing
from tropicell._runtime.paths import path_of, reason, shown
from tropicell.errors import (
    FileWriteError,
    InvalidInputError,
    ModelFileError,
    TropicellError,
    require,
)

#: A path of Windows in a URL: ``/C:/…``.
_DRIVE = re.compile(r"/[A-Za-z]:(/|$)")


class FolderPlace(Protocol):
    """A folder of files, without folders in it.

    What can't be read is a ModelFileError, what can't be written a FileWriteError.
    """

    url: str

    #: Whether a file is replaced in one step, and only one process writes at a time.
    atomic: bool

    def make(self) -> None:
        """Make the folder if it is not there."""

    def lock(self) -> FolderLock | None:
        """Keep other writers out, where that is possible."""

    def names(self) -> list[str]:
        """Names of all files, in order; temporary ones begin with a dot."""

    def sizes(self) -> dict[str, int | None]:
        """Bytes of all files; None where that is not known."""

    def open(self, name: str) -> BinaryIO:
        """A file to read."""

    def read(self, name: str) -> bytes | None:
        """All of a file; None if it is not there."""

    def local(self, name: str) -> AbstractContextManager[Path]:
        """A file under a name of this machine, to read."""

    def writing(self, name: str) -> AbstractContextManager[BinaryIO]:
        """A stream that becomes the file at the end, or nothing on an error."""

    def remove(self, name: str) -> None:
        """Remove a file if it is there."""


def place_of(path: str | os.PathLike[str]) -> FolderPlace:
    """The folder that a path or URL stands for.

    Examples
    --------
    >>> place_of("runs/one").url
    'runs/one'
    >>> place_of("file:///data/runs").url
    '/data/runs'
    >>> place_of("file:///C:/runs").url
    'C:/runs'
    """
    text = path if isinstance(path, str) else str(path_of(path))
    if not text:
        raise InvalidInputError("the name of the folder is empty")
    protocol, separator, rest = text.partition("://")
    if not separator:
        return LocalPlace(text)
    if protocol != "file":
        return RemotePlace(text)
    return LocalPlace(rest[1:] if _DRIVE.match(rest) else rest)


class LocalPlace:
    """A folder of this machine, or one that is mounted here."""

    atomic = True

    def __init__(self, path: str) -> None:
        self.url = path
        self._folder = Path(path)

    def make(self) -> None:
        with explained(self._folder, "made a folder"):
            self._folder.mkdir(parents=True, exist_ok=True)

    def lock(self) -> FolderLock | None:
        return FolderLock(self._folder)

    def names(self) -> list[str]:
        return sorted(self.sizes())

    def sizes(self) -> dict[str, int | None]:
        with explained(self._folder, "read", ModelFileError):
            try:
                with os.scandir(self._folder) as entries:
                    return {entry.name: _size(entry) for entry in entries}
            except (FileNotFoundError, NotADirectoryError):
                return {}

    def open(self, name: str) -> BinaryIO:
        with explained(self._folder / name, "read", ModelFileError):
            return (self._folder / name).open("rb")

    def read(self, name: str) -> bytes | None:
        with explained(self._folder / name, "read", ModelFileError):
            try:
                return (self._folder / name).read_bytes()
            except (FileNotFoundError, NotADirectoryError):
                return None

    @contextmanager
    def local(self, name: str) -> Iterator[Path]:
        yield self._folder / name

    @contextmanager
    def writing(self, name: str) -> Iterator[BinaryIO]:
        with replacing(self._folder / name) as temporary, temporary.open("wb") as stream:
            yield stream

    def remove(self, name: str) -> None:
        with explained(self._folder / name, "removed"):
            (self._folder / name).unlink(missing_ok=True)


def _size(entry: os.DirEntry[str]) -> int | None:
    try:
        return entry.stat().st_size
    except OSError:  # a link to nowhere
        return None


class RemotePlace:
    """A folder that fsspec reaches."""

    atomic = False

    def __init__(self, url: str) -> None:
        fsspec: Any = require("fsspec", extra="ray", why=f"the folder {shown(url)}")
        self.url = url
        try:
            self._system, self._folder = fsspec.core.url_to_fs(url)
        except Exception as error:  # whatever the system behind it says
            raise InvalidInputError(f"{shown(url)}: can't be reached: {reason(error)}") from error

    def _path(self, name: str) -> str:
        return f"{self._folder.rstrip('/')}/{name}"

    @contextmanager
    def _explained(self, name: str, verb: str, kind: type[TropicellError]) -> Iterator[None]:
        """Systems behind fsspec have errors of their own, of any kind."""
        try:
            yield
        except (TropicellError, MemoryError):
            raise
        except Exception as error:
            where = shown(f"{self.url}/{name}" if name else self.url)
            raise kind(f"{where}: can't be {verb}: {reason(error)}") from error

    def make(self) -> None:
        with self._explained("", "made a folder", FileWriteError):
            self._system.makedirs(self._folder, exist_ok=True)

    def lock(self) -> FolderLock | None:
        return None

    def names(self) -> list[str]:
        return sorted(self.sizes())

    def sizes(self) -> dict[str, int | None]:
        with self._explained("", "read", ModelFileError):
            self._system.invalidate_cache()
            try:
                entries = self._system.ls(self._folder, detail=True)
            except FileNotFoundError:
                return {}
            # a store of objects may list the folder itself
            files = [entry for entry in entries if entry.get("type") != "directory"]
            return {str(f["name"]).rsplit("/", 1)[-1]: f.get("size") for f in files}

    def open(self, name: str) -> BinaryIO:
        with self._explained(name, "read", ModelFileError):
            return self._system.open(self._path(name), "rb")  # type: ignore[no-any-return]

    def read(self, name: str) -> bytes | None:
        with self._explained(name, "read", ModelFileError):
            try:
                return bytes(self._system.cat_file(self._path(name)))
            except FileNotFoundError:
                return None

    @contextmanager
    def local(self, name: str) -> Iterator[Path]:
        content = self.read(name)
        if content is None:
            raise ModelFileError(f"{shown(self.url)}/{name}: is missing")
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / name
            copy.write_bytes(content)
            yield copy

    @contextmanager
    def writing(self, name: str) -> Iterator[BinaryIO]:
        stream = io.BytesIO()
        yield stream
        with self._explained(name, "written", FileWriteError):
            self._system.pipe_file(self._path(name), stream.getvalue())

    def remove(self, name: str) -> None:
        with self._explained(name, "removed", FileWriteError):
            try:
                self._system.rm_file(self._path(name))
            except FileNotFoundError:
                return
