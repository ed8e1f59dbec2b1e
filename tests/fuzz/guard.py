"""What a loader may not do, watched while it runs: open other files, unpickle, start programs.

Files that native code opens escape Python's audit hooks; so the file that attacks point at is
watched by the kernel too (inotify).
"""

from __future__ import annotations

import ctypes
import os
import resource
import sys
import sysconfig
from pathlib import Path
from typing import Any

#: Address space that a loader may take on top of what the process has, in bytes.
MEMORY = 8 * 2**30

_FORBIDDEN = {
    "pickle.find_class", "os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "os.fork",
    "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.symlink", "os.link", "os.chmod",
    "socket.connect", "shutil.rmtree", "exec.file", "ctypes.dlopen",
}  # fmt: skip

#: What a loader may do in its own folder, if it is one that goes on with what it finds.
_FILES = {"os.remove", "os.rename", "os.mkdir", "os.chmod"}

#: Code may still be imported (and its cache written), from where Python and the package live.
_LIBRARIES = tuple(
    str(Path(path).resolve())
    for path in (
        *{sysconfig.get_paths()[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")},
        Path(__file__).parents[2] / "src",
        Path(__file__).parent,
        sys.base_prefix,
    )
)


class Guard:
    """Watches one process; `violations` collects what was done that must not be."""

    def __init__(self, folder: Path, canary: Path, *, writes: bool = False) -> None:
        self.folder = str(folder.resolve())
        self.writes = writes
        self.violations: list[str] = []
        self.active = False
        self._notify = _Watch(canary)
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.active:
            return
        if event in _FORBIDDEN and not (event in _FILES and self._own(arguments)):
            self.violations.append(f"{event} {arguments!r}"[:300])
        if event == "open" and isinstance(arguments[0], (str, bytes, os.PathLike)):
            path = os.path.realpath(os.fsdecode(arguments[0]))
            if not path.startswith((self.folder, *_LIBRARIES)) and path != os.devnull:
                self.violations.append(f"open {path!r} {arguments[1]!r}")

    def _own(self, arguments: tuple[Any, ...]) -> bool:
        """Whether all paths are in the folder of a loader that may write there."""
        paths = [os.path.realpath(a) for a in arguments if isinstance(a, (str, os.PathLike))]
        return self.writes and bool(paths) and all(p.startswith(self.folder) for p in paths)

    def __enter__(self) -> Guard:
        self.violations.clear()
        self._notify.drain()
        self.active = True
        return self

    def __exit__(self, *_: object) -> None:
        self.active = False
        if self._notify.drain():
            self.violations.append("the file beside the folder was opened")


class _Watch:
    """A file of which the kernel says when anybody opens it."""

    def __init__(self, path: Path) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._handle = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        opened = 0x20  # IN_OPEN
        if libc.inotify_add_watch(self._handle, os.fsencode(path), opened) < 0:
            raise OSError(ctypes.get_errno(), "inotify_add_watch", str(path))

    def drain(self) -> bool:
        """Whether it was opened since the last call."""
        try:
            return bool(os.read(self._handle, 65536))
        except BlockingIOError:
            return False


def limit_memory(extra: int = MEMORY) -> None:
    """Let this process take so much more address space than it has now."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    allowed = pages * resource.getpagesize() + extra
    resource.setrlimit(resource.RLIMIT_AS, (allowed, resource.getrlimit(resource.RLIMIT_AS)[1]))
