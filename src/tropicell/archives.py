"""Zip archives from strangers: what reading one can raise, and how much it may unpack to."""

from __future__ import annotations

import zipfile
import zlib
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
