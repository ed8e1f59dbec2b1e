"""Checksums of files and of arrays: damage is noticed before anybody works with it.

A file has the SHA-256 of all its bytes, for those who read all of it, and the CRC-32 of every MiB,
for those who read a part: no byte is handed out whose block was not checked.
"""

from __future__ import annotations

import hashlib
import io
import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell.errors import ModelFileError

#: Bytes that share a CRC-32.
BLOCK = 2**20


class Sums(NamedTuple):
    """What a file is: bytes, SHA-256, and the CRC-32 of every block, in 8 hexadecimal digits each.

    Without checksums (files of older versions) the last two are empty.
    """

    bytes: int
    sha256: str = ""
    blocks: str = ""


class SummingStream(io.RawIOBase):
    """Hands on what is written, in order, and knows its checksums.

    Examples
    --------
    >>> stream = SummingStream(io.BytesIO())
    >>> stream.write(b"some"), stream.write(b" text")
    (4, 5)
    >>> stream.sums() == sums_of(io.BytesIO(b"some text"))
    True
    """

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__()
        self._stream = stream
        self._sums = _Running()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        with memoryview(data).cast("B") as view:
            self._stream.write(view)
            self._sums.add(view)
            return len(view)

    def tell(self) -> int:
        return self._sums.size

    def sums(self) -> Sums:
        """The checksums of all that was written so far."""
        return self._sums.sums()


class _Running:
    def __init__(self) -> None:
        self.size = 0
        self._digest = hashlib.sha256()
        self._blocks: list[int] = []

    def add(self, view: memoryview) -> None:
        self._digest.update(view)
        while len(view):
            used = self.size % BLOCK
            if not used:
                self._blocks.append(0)
            piece = view[: BLOCK - used]
            self._blocks[-1] = zlib.crc32(piece, self._blocks[-1])
            self.size += len(piece)
            view = view[len(piece) :]

    def sums(self) -> Sums:
        blocks = "".join(f"{block:08x}" for block in self._blocks)
        return Sums(self.size, self._digest.hexdigest(), blocks)


def sums_of(stream: BinaryIO) -> Sums:
    """The checksums of what is left in a stream."""
    running = _Running()
    while data := stream.read(BLOCK):
        running.add(memoryview(data))
    return running.sums()


def sums_of_file(file: Path) -> Sums:
    """The checksums of a file."""
    with file.open("rb") as stream:
        return sums_of(stream)


def check(stream: BinaryIO, expected: Sums, where: str) -> None:
    """Raise ModelFileError if a file is not what it was when it was written."""
    if not expected.sha256:
        return
    found = sums_of(stream)
    check_size(found.bytes, expected, where)
    if found.sha256 != expected.sha256:
        raise ModelFileError(f"{where}: is damaged: its contents are not those that were written")


def check_size(size: int | None, expected: Sums, where: str) -> None:
    """Raise ModelFileError if a file has another size than when it was written."""
    if size is not None and size != expected.bytes:
        raise ModelFileError(
            f"{where}: is damaged: it has {size} bytes, and had {expected.bytes} when it was "
            "written"
        )


class CheckedStream(io.RawIOBase):
    """A file to read in which every block is checked before a byte of it is handed out.

    Parameters
    ----------
    stream : BinaryIO
    expected : Sums
    where : str
        The file's name for errors.

    Examples
    --------
    >>> stream = CheckedStream(io.BytesIO(b"some test"), sums_of(io.BytesIO(b"some text")), "a.txt")
    >>> stream.read(2)
    Traceback (most recent call last):
    tropicell.errors.ModelFileError: a.txt: is damaged: bytes 0 to 9 are not what was written
    """

    def __init__(self, stream: BinaryIO, expected: Sums, where: str) -> None:
        super().__init__()
        self._stream, self._where = stream, where
        self._size = expected.bytes
        self._sums = bytes.fromhex(expected.blocks)
        self._at = 0
        self._last = (-1, b"")  # readers of small pieces come back for the rest of a block

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = max(0, offset + (0, self._at, self._size)[whence])
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        end = self._size if size is None or size < 0 else min(self._size, self._at + size)
        if end <= self._at:
            return b""
        first, last = self._at // BLOCK, (end - 1) // BLOCK
        data = self._blocks(first, last)
        start, self._at = self._at - first * BLOCK, end
        return data[start : end - first * BLOCK]

    def readinto(self, buffer: Any) -> int:
        with memoryview(buffer).cast("B") as view:
            data = self.read(len(view))
            view[: len(data)] = data
        return len(data)

    def _blocks(self, first: int, last: int) -> bytes:
        number, block = self._last
        if first == number:
            data = block if first == last else block + self._fetch(first + 1, last)
        else:
            data = self._fetch(first, last)
        self._last = (last, data if first == last else data[(last - first) * BLOCK :])
        return data

    def _fetch(self, first: int, last: int) -> bytes:
        start, end = first * BLOCK, min(self._size, (last + 1) * BLOCK)
        self._stream.seek(start)
        data = self._stream.read(end - start)
        while len(data) < end - start and (more := self._stream.read(end - start - len(data))):
            data += more
        for block in range(first, last + 1):
            piece = memoryview(data)[(block - first) * BLOCK : (block - first + 1) * BLOCK]
            wanted = int.from_bytes(self._sums[4 * block : 4 * block + 4], "big")
            if zlib.crc32(piece) != wanted or len(data) < end - start:
                low = block * BLOCK
                raise ModelFileError(
                    f"{self._where}: is damaged: bytes {low} to {min(low + BLOCK, self._size)} are "
                    "not what was written"
                )
        return data


def digest_of(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    """The SHA-256 of a header and of named arrays: types, shapes and all numbers.

    Examples
    --------
    >>> one = digest_of({"a": 1}, {"x": np.zeros(2)})
    >>> one == digest_of({"a": 1}, {"x": np.zeros(2)})
    True
    >>> one == digest_of({"a": 1}, {"x": np.ones(2)})
    False
    """
    digest = hashlib.sha256(canonical(header))
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        kind = [name, array.dtype.str, list(np.shape(arrays[name]))]
        digest.update(canonical(kind))
        if array.size:
            digest.update(array.view(np.uint8).data)
    return digest.hexdigest()


def canonical(data: Any) -> bytes:
    """JSON in one form, whatever the order of keys and the spaces were.

    Examples
    --------
    >>> canonical({"b": 1, "a": [1.5]})
    b'{"a":[1.5],"b":1}'
    """
    return json.dumps(data, sort_keys=True, separators=(",", ":")).encode()
