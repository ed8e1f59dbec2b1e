"""Files that are whole or not there, also after a power cut; and folders with one writer at a time.

A file is written under another name, brought to the disk, renamed, and then its folder is brought
to the disk. Until the last step is done nothing is reported as saved.
"""

from __future__ import annotations

import errno
import os
import platform
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tropicell._runtime.paths import number, reason, shown
from tropicell.errors import CheckpointError, FileWriteError, TropicellError

#: The file that the writer of a folder has locked.
LOCK = ".lock"

#: Systems of files without this operation say one of these; all else is trouble.
_NOT_OFFERED = (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EBADF, errno.EACCES, errno.EPERM)


@contextmanager
def explained(
    path: object, verb: str, kind: type[TropicellError] = FileWriteError
) -> Iterator[None]:
    """What the system refuses in here becomes an error of this package that names the path.

    Examples
    --------
    >>> with explained("no/such/file", "read", CheckpointError):
    ...     open("no/such/file")
    Traceback (most recent call last):
    tropicell.errors.CheckpointError: no/such/file: can't be read: No such file or directory
    """
    try:
        yield
    except (OSError, ValueError) as error:  # names with a NUL, or that can't be encoded
        if isinstance(error, TropicellError):
            raise
        raise kind(f"{shown(path)}: can't be {verb}: {reason(error)}") from error


@contextmanager
def replacing(file: Path) -> Iterator[Path]:
    """A temporary file beside `file` that takes its place at the end, or vanishes on an error.

    Who may read it is as for any new file, or as it was for the one that is replaced. At the end
    the file is on the disk: a power cut leaves it as it is now. Whatever goes wrong, in the
    libraries that write the file too, is a `FileWriteError` that names it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "a.txt") as temporary:
    ...         _ = temporary.write_text("new")
    ...     (Path(folder) / "a.txt").read_text()
    'new'
    """
    temporary = file.absolute().parent / f".{secrets.token_hex(8)}{file.suffix}"
    try:
        if file.is_dir():
            raise IsADirectoryError(errno.EISDIR, "there is a folder of this name")
        if b"\0" in os.fsencode(file):
            raise ValueError("a NUL in the name")
        temporary.open("xb").close()
        if file.exists():
            shutil.copymode(file, temporary)
    except (OSError, ValueError) as error:
        with suppress(OSError, ValueError):
            temporary.unlink()
        text = f"{shown(file)}: can't be written: {reason(error)}"
        raise FileWriteError(text, number(error)) from error
    try:
        yield temporary
        flush(temporary)
        os.replace(temporary, file)
    except BaseException as error:
        with suppress(OSError):  # its folder may be gone, or out of reach
            temporary.unlink()
        if isinstance(error, TropicellError) or not isinstance(error, Exception):
            raise
        # Libraries that write have errors of their own.
        text = f"{shown(file)}: can't be written: {reason(error)}"
        text += "; what was there before is untouched"
        raise FileWriteError(text, number(error)) from error
    try:
        flush_folder(temporary.parent)
    except OSError as error:
        text = f"{shown(file)}: was written, but the system does not say that it is on the disk: "
        raise FileWriteError(text + reason(error), number(error)) from error


def flush(file: Path) -> None:
    """Bring a file to the disk."""
    # Windows flushes only what is open for writing.
    handle = os.open(file, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        _sync(handle)
    finally:
        os.close(handle)


def flush_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk, where the system offers that."""
    if os.name == "nt":
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
    except PermissionError:  # one may write to a folder that one may not list
        return
    try:
        _sync(handle)
    except OSError as error:
        if error.errno not in _NOT_OFFERED:
            raise
    finally:
        os.close(handle)


def _sync(handle: int) -> None:
    if sys.platform == "darwin":  # there, fsync does not empty the disk's own memory
        import fcntl  # noqa: PLC0415

        with suppress(OSError):
            fcntl.fcntl(handle, fcntl.F_FULLFSYNC)
            return
    os.fsync(handle)


class FolderLock:
    """One writer at a time in a folder of this machine.

    The lock is the system's, on a file in the folder: it ends with the process, however that ends.
    Where the system has no locks, or the folder can't be written to, there is none.

    Parameters
    ----------
    folder : Path

    Raises
    ------
    CheckpointError
        If somebody else writes there.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lock = FolderLock(Path(folder))
    ...     FolderLock(Path(folder))
    Traceback (most recent call last):
    tropicell.errors.CheckpointError: ...: is being written by process ...
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / LOCK
        self._handle: int | None = None
        while True:
            try:
                handle = _open_lock(self._path)
            except OSError:
                return  # nothing else can be written there either
            try:
                _take(handle)
            except (BlockingIOError, PermissionError):
                owner = _owner(handle)
                os.close(handle)
                raise CheckpointError(
                    f"{shown(folder)}: is being written by {owner}; wait until that is done, or "
                    "give another folder: two writers would spoil each other's work"
                ) from None
            except OSError:  # there are no locks here
                os.close(handle)
                return
            if self._is_there(handle):
                break
            os.close(handle)  # it was removed by its owner in the meantime
        self._handle = handle
        with suppress(OSError):  # for whoever is refused; a full disk does not matter here
            os.ftruncate(handle, 0)
            os.write(
                handle, f"process {os.getpid()} on {platform.node() or 'this machine'}".encode()
            )

    def _is_there(self, handle: int) -> bool:
        try:
            return os.path.samestat(os.fstat(handle), self._path.lstat())
        except OSError:
            return False

    def release(self) -> None:
        """Let others write; a second time this does nothing."""
        handle, self._handle = self._handle, None
        if handle is None:
            return
        try:
            if os.name != "nt":  # as long as it is locked, so that nobody has just taken it
                self._remove()
        finally:
            os.close(handle)
        if os.name == "nt":  # where it can't be removed while anybody has it open
            self._remove()

    def _remove(self) -> None:
        with suppress(OSError, MemoryError):  # a file that nobody has locked does no harm
            self._path.unlink()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.release()


def _open_lock(path: Path) -> int:
    # a link in a folder from a stranger must not lead elsewhere
    options = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | options, 0o666)
    except PermissionError:  # somebody else's, and readable
        return os.open(path, os.O_RDONLY | options)


def _take(handle: int) -> None:
    """Lock a file; raises BlockingIOError or PermissionError if somebody else has it."""
    if sys.platform == "win32":
        import msvcrt  # noqa: PLC0415

        locking: Any = msvcrt.locking
        os.lseek(handle, 2**30, os.SEEK_SET)  # what is written in it can still be read
        locking(handle, msvcrt.LK_NBLCK, 1)
        os.lseek(handle, 0, os.SEEK_SET)
    else:
        import fcntl  # noqa: PLC0415

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _owner(handle: int) -> str:
    with suppress(OSError):
        os.lseek(handle, 0, os.SEEK_SET)
        text = os.read(handle, 200).decode(errors="replace")
        if text.startswith("process "):
            return shown(text)
    return "another process"
