"""Folders for results: on this machine, or anywhere that fsspec reaches (``s3://``, ``gs://``, …).

A file in a place is either there as a whole or not at all: it is written under another name, and
then renamed.
"""

from __future__ import annotations

import io
import os
import re
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from tropicell.errors import FileWriteError, InvalidInputError, require
from tropicell.io import replacing

#: A path of Windows in a URL: ``/C:/…``.
_DRIVE = re.compile(r"/[A-Za-z]:(/|$)")


class Place(Protocol):
    """A folder of files, without folders in it."""

    url: str

    def make(self) -> None:
        """Make the folder if it is not there."""

    def names(self) -> list[str]:
        """Names of all files, in order; temporary ones begin with a dot."""

    def open(self, name: str) -> BinaryIO:
        """A file to read."""

    def local(self, name: str) -> AbstractContextManager[Path]:
        """A file under a name of this machine, to read."""

    def writing(self, name: str) -> AbstractContextManager[BinaryIO]:
        """A stream that becomes the file at the end, or nothing on an error."""

    def remove(self, name: str) -> None:
        """Remove a file if it is there."""

    def size(self, name: str) -> int:
        """Bytes of a file."""


def place_of(path: str | os.PathLike[str]) -> Place:
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
    text = os.fspath(path)
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

    def __init__(self, path: str) -> None:
        self.url = path
        self._folder = Path(path)

    def make(self) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileWriteError(f"{self._folder}: can't be made a folder: {error}") from None

    def names(self) -> list[str]:
        return sorted(p.name for p in self._folder.iterdir()) if self._folder.is_dir() else []

    def open(self, name: str) -> BinaryIO:
        return (self._folder / name).open("rb")

    @contextmanager
    def local(self, name: str) -> Iterator[Path]:
        yield self._folder / name

    @contextmanager
    def writing(self, name: str) -> Iterator[BinaryIO]:
        with replacing(self._folder / name) as temporary, temporary.open("wb") as stream:
            yield stream

    def remove(self, name: str) -> None:
        (self._folder / name).unlink(missing_ok=True)

    def size(self, name: str) -> int:
        return (self._folder / name).stat().st_size


class RemotePlace:
    """A folder that fsspec reaches."""

    def __init__(self, url: str) -> None:
        fsspec: Any = require("fsspec", extra="ray", why=f"the folder {url}")
        self.url = url
        self._system, self._folder = fsspec.core.url_to_fs(url)

    def _path(self, name: str) -> str:
        return f"{self._folder.rstrip('/')}/{name}"

    def make(self) -> None:
        self._system.makedirs(self._folder, exist_ok=True)

    def names(self) -> list[str]:
        self._system.invalidate_cache()
        if not self._system.exists(self._folder):
            return []
        return sorted(p.rsplit("/", 1)[-1] for p in self._system.ls(self._folder, detail=False))

    def open(self, name: str) -> BinaryIO:
        return self._system.open(self._path(name), "rb")  # type: ignore[no-any-return]

    @contextmanager
    def local(self, name: str) -> Iterator[Path]:
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / name
            copy.write_bytes(self._system.cat_file(self._path(name)))
            yield copy

    @contextmanager
    def writing(self, name: str) -> Iterator[BinaryIO]:
        stream = io.BytesIO()
        yield stream
        temporary = self._path(f".{uuid.uuid4().hex}")
        try:
            self._system.pipe_file(temporary, stream.getvalue())
            if self._system.exists(self._path(name)):
                self._system.rm_file(self._path(name))
            self._system.mv(temporary, self._path(name))
        except OSError as error:
            raise FileWriteError(f"{self.url}/{name}: can't be written: {error}") from error

    def remove(self, name: str) -> None:
        if self._system.exists(self._path(name)):
            self._system.rm_file(self._path(name))

    def size(self, name: str) -> int:
        return int(self._system.size(self._path(name)))
