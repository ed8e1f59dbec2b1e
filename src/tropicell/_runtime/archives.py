"""Zip archives from strangers: what reading one can raise, and how much it may unpack to."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections import Counter
from pathlib import Path

from tropicell.errors import ModelFileError

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
