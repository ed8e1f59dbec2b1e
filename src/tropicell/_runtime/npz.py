"""Arrays in ``.npz`` files, and what zip archives from strangers may hold and unpack to.

Nothing is unpickled; what an array claims about itself is checked before it is read; every byte is
compared with the archive's checksums; what is written is never half written.
"""

from __future__ import annotations

import errno
import math
import os
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.durable import replacing
from tropicell._runtime.paths import check_file, in_file, path_of
from tropicell.errors import ModelFileError

#: No array of a file may claim more bytes, nor may all of them together.
MAX_BYTES = 2**31

#: Smaller arrays than this are read at once, whatever is asked for.
_MAP = 2**16

#: Bytes that are read at a time where only their checksum is wanted.
_BLOCK = 2**20

#: What reading a damaged zip archive can raise.
ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    NotImplementedError,
    RuntimeError,
    UnicodeDecodeError,
)

#: An archive may unpack to so many bytes, or to so many times its own size.
UNPACKED, RATIO = 2**26, 100


def write_npz(file: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays to an ``.npz`` file that is never half written, and on the disk at the end."""
    with replacing(file) as temporary, temporary.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **arrays)


def read_npz(path: str | os.PathLike[str], *, mapped: bool = False) -> dict[str, Any]:
    """The arrays of an ``.npz`` file, without pickles, with their claimed sizes checked first.

    If `mapped`, large arrays stay on the disk until they are used (as read-only memory maps).

    Every byte of every array is compared with the zip's checksum (CRC-32), those of mapped arrays
    too: they are read once, which takes a second or less for a gigabyte, and not kept. Whatever is
    wrong with the file is a `ModelFileError` that names it.
    """
    file = path_of(path)
    check_file(file)
    with in_file(file):
        try:
            return _read_arrays(file, mapped)
        except ZIP_ERRORS as error:
            if isinstance(error, OSError) and error.errno != errno.EINVAL:
                raise  # out of reach, gone, a bad disk: no place in a file that is not there
            raise ModelFileError(
                f"{file}: not an .npz file, or a truncated or damaged one ({error})"
            ) from None
        except ValueError as error:
            if isinstance(error, ModelFileError):
                raise
            raise ModelFileError(f"{file}: an array can't be read: {error}") from None


def _read_arrays(file: Path, mapped: bool) -> dict[str, Any]:
    arrays: dict[str, Any] = {}
    with zipfile.ZipFile(file) as archive:
        refuse_bomb(archive, file)
        refuse_ambiguous(archive, file)
        total = 0
        for info in archive.infolist():
            stays = mapped and info.compress_type == zipfile.ZIP_STORED and info.file_size > _MAP
            with archive.open(info) as stream:
                total += _claimed_bytes(stream, info, file)
                if stays:
                    while stream.read(_BLOCK):  # its end compares the checksum
                        pass
            if total > MAX_BYTES and not mapped:
                raise ModelFileError(f"{file}: its arrays claim more than {MAX_BYTES} bytes")
            if stays:
                array = _memory_map(file, info)
            else:
                with archive.open(info) as stream:
                    array = np.lib.format.read_array(stream, allow_pickle=False)
            arrays[info.filename.removesuffix(".npy")] = array
    return arrays


def _memory_map(file: Path, info: zipfile.ZipInfo) -> NDArray[Any]:
    """An array of an ``.npz`` file that is not compressed, left on the disk."""
    with file.open("rb") as stream:
        # The local header: 30 bytes, with the lengths of the name and of an extra field at the end.
        stream.seek(info.header_offset + 26)
        name, extra = struct.unpack("<HH", stream.read(4))
        stream.seek(info.header_offset + 30 + name + extra)
        shape, fortran, dtype = _array_header(stream)
        order: Literal["C", "F"] = "F" if fortran else "C"
        return np.memmap(
            file, dtype=dtype, mode="r", offset=stream.tell(), shape=shape, order=order
        )


def _array_header(stream: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(stream)
    return np.lib.format.read_array_header_2_0(stream)


def _claimed_bytes(stream: Any, info: zipfile.ZipInfo, file: Path) -> int:
    """The size that an array claims in its header, checked before anything is read."""
    if not info.filename.endswith(".npy"):
        raise ModelFileError(f"{file}: holds {info.filename!r}; expected NumPy arrays only")
    shape, _, dtype = _array_header(stream)
    if dtype.hasobject:
        raise ModelFileError(
            f"{file}: the array {info.filename!r} holds Python objects, which are pickles; "
            "expected numbers"
        )
    if dtype.itemsize == 0 or dtype.kind not in "biufU":
        raise ModelFileError(
            f"{file}: the array {info.filename!r} is of type {dtype}; expected numbers or text"
        )
    entries = math.prod(shape)
    claimed = entries * dtype.itemsize
    held = info.file_size - stream.tell()
    # numbers become float64; the end of the data is where their checksum is compared
    if max(claimed, 8 * entries) > MAX_BYTES or claimed != held or min(shape, default=0) < 0:
        raise ModelFileError(
            f"{file}: the array {info.filename!r} claims {claimed} bytes, the file holds {held}; "
            f"at most {MAX_BYTES} are read"
        )
    return claimed


def refuse_bomb(archive: zipfile.ZipFile, file: Path) -> None:
    """Refuse a small archive that unpacks to a very large one, or whose entries overlap."""
    size, unpacked = file.stat().st_size, sum(info.file_size for info in archive.infolist())
    if unpacked > max(UNPACKED, RATIO * size):
        raise ModelFileError(
            f"{file}: has {size} bytes and claims to unpack to {unpacked}; at most {RATIO} times "
            "as many are read"
        )


def refuse_ambiguous(archive: zipfile.ZipFile, file: Path) -> None:
    """Refuse an archive that names an entry twice, or whose directory has lost entries.

    Checksums cover the content of entries, not the directory: a flipped bit in the length of a
    comment there can hide the entry after it.
    """
    names = Counter(info.filename for info in archive.infolist())
    twice = [name for name, count in names.items() if count > 1]
    if twice:
        raise ModelFileError(f"{file}: holds {twice[0]!r} twice; expected every name once")
    end, many = struct.Struct("<4s4H2LH"), 0xFFFF
    with file.open("rb") as stream:
        stream.seek(-end.size - len(archive.comment), 2)
        magic, _, _, _, entries, *_ = end.unpack(stream.read(end.size))
    if magic != b"PK\5\6" or entries not in (len(names), many):
        raise ModelFileError(
            f"{file}: damaged: its end is not that of an archive with {len(names)} entries"
        )
