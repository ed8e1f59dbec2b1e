"""Public files from the network: checked, and continued where a download was cut off."""

from __future__ import annotations

import hashlib
import http.client
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from tropicell._runtime.paths import make_folder, reason
from tropicell.errors import FileWriteError, ModelFileError
from tropicell.importers.messages import in_file

_BLOCK = 2**18
_ATTEMPTS = 3
_TIMEOUT = 30.0


@dataclass(frozen=True)
class PublicFile:
    """A file that anybody can get.

    Attributes
    ----------
    name : str
    md5 : str
        As its authors, or those who hand it on, publish it.
    addresses : tuple of str
        Tried in this order.
    """

    name: str
    md5: str
    addresses: tuple[str, ...]


def download(file: PublicFile, folder: Path, *, progress: bool = False) -> Path:
    """Get a file, unless it is there already.

    It is written to ``NAME.part`` and gets its name when it is complete and its checksum is right.
    If the connection breaks, the next attempt, or the next call, goes on from there.

    Parameters
    ----------
    file : PublicFile
    folder : Path
        Made if it is not there.
    progress : bool
        Show a bar.

    Returns
    -------
    Path

    Raises
    ------
    ModelFileError
        If no address gives the file; the message says why, and what to do.
    """
    make_folder(folder)
    target = folder / file.name
    if target.is_file():
        check(target, file.md5)
        return target
    part = folder / f"{file.name}.part"
    problems = []
    for address in file.addresses:
        for _ in range(_ATTEMPTS):
            try:
                _fetch(address, part, progress)
                check(part, file.md5)
            except (OSError, http.client.HTTPException) as error:
                problems.append(f"{address}: {error or type(error).__name__}")
                if isinstance(error, urllib.error.HTTPError):
                    break  # the server has answered: asking again would not help
            except ModelFileError as error:
                part.unlink(missing_ok=True)
                problems.append(f"{address}: {error}")
                break
            else:
                try:
                    part.replace(target)
                except OSError as error:
                    text = f"{target}: can't be written: {reason(error)}; {part} has its content"
                    raise FileWriteError(text, error.errno) from error
                return target
    raise ModelFileError(_advice(file, folder, part, problems))


def _advice(file: PublicFile, folder: Path, part: Path, problems: Sequence[str]) -> str:
    kept = (
        f"{part} holds the first {part.stat().st_size} bytes; the same command goes on from there"
        if part.is_file()
        else f"get it in another way and put it into {folder}"
    )
    return f"{file.name} could not be downloaded. {'; '.join(dict.fromkeys(problems))}. {kept}"


def _fetch(address: str, part: Path, progress: bool) -> None:
    """Append what is missing of a file."""
    have = part.stat().st_size if part.is_file() else 0
    request = urllib.request.Request(address, headers={"User-Agent": "tropicell"})
    if have:
        request.add_header("Range", f"bytes={have}-")
    try:
        response = urllib.request.urlopen(request, timeout=_TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            return  # nothing is missing, or the part is no part of this file: its checksum tells
        raise
    with response:
        if response.status != http.HTTPStatus.PARTIAL_CONTENT:
            have = 0  # the server sends the whole file
        length = response.headers.get("Content-Length")
        total = have + int(length) if length is not None else None
        with (
            part.open("ab" if have else "wb") as out,
            tqdm(
                total=total,
                initial=have,
                unit="B",
                unit_scale=True,
                desc=part.stem,
                disable=not progress,
            ) as bar,
        ):
            while block := response.read(_BLOCK):
                out.write(block)
                have += len(block)
                bar.update(len(block))
    if total is not None and have < total:
        raise ConnectionError(f"the connection broke after {have} of {total} bytes")


def check(path: Path, md5: str) -> None:
    """Refuse a file whose checksum is not the public one.

    Raises
    ------
    ModelFileError
        That names the file and both checksums.
    """
    with in_file(path), path.open("rb") as stream:
        found = hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    if found != md5:
        raise ModelFileError(
            f"{path} is unfinished or damaged: its MD5 checksum is {found}, that of the public "
            f"file is {md5}; delete it and get it again"
        )
