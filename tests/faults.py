"""Faults at every step of input and output: a kill, a power cut, a full disk, no memory.

A process of its own writes a folder (local or at a URL) or a checkpoint. Every call that changes
something on the disk is a step; at step k the fault happens. What is left is judged by `check`:
the same call goes on from there and ends with the same regions, and nothing that was reported as
saved is lost.
"""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal
from unittest import mock

import numpy as np

from fuzz.folders import BOX, digest, network, small_units
from tropicell import (
    Checkpoint,
    RegionFolder,
    Regions,
    TropicellError,
    enumerate_regions,
)
from tropicell.search.checkpoint import CheckpointFile
from tropicell.search.folder import OpenFolder

Kind = Literal["folder", "url", "checkpoint"]
Fault = Literal["kill", "power cut", "full disk", "no memory", "trouble, then kill"]

KINDS: tuple[Kind, ...] = ("folder", "url", "checkpoint")
FAULTS: tuple[Fault, ...] = ("kill", "power cut", "full disk", "no memory", "trouble, then kill")


class Disk:
    """What reaches the disk below a folder, step by step.

    Parameters
    ----------
    folder : Path
    at : int
        The step at which the fault happens; 0: at none.
    fault : str
    """

    def __init__(self, folder: Path, at: int, fault: Fault) -> None:
        self.folder, self.at, self.fault = str(folder), at, fault
        self.steps = 0
        #: Files whose contents are only in memory, by their inode.
        self.unsafe: set[int] = set()
        #: Files and names before changes that are only in memory, the newest last.
        self.undo: list[tuple[Path, bytes | None]] = []

    def step(self) -> None:
        self.steps += 1
        twice = self.fault == "trouble, then kill"
        if twice and self.at and self.steps == self.at + 1 + self.at * 7 % 11:
            os._exit(9)
        if self.steps != self.at:
            return
        if self.fault == "full disk" or twice:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if self.fault == "no memory":
            raise MemoryError
        if self.fault == "power cut":
            self._cut()
        os._exit(9)

    def _cut(self) -> None:
        """What was not flushed is gone: contents of files, and new names in a folder."""
        for file in Path(self.folder).iterdir():
            if file.is_file() and file.stat().st_ino in self.unsafe:
                os.truncate(file, 0)
        for file, content in reversed(self.undo):
            if content is None:
                file.unlink(missing_ok=True)
            else:
                file.write_bytes(content)

    def has(self, path: Any) -> bool:
        if not isinstance(path, (str, os.PathLike)):
            return False
        return os.path.abspath(path).startswith(self.folder + os.sep)

    # --- calls of the system ------------------------------------------------------------------

    @contextmanager
    def watched(self) -> Iterator[None]:
        """In here all calls are steps."""
        real_open, real_replace, real_unlink = io.open, os.replace, os.unlink
        disk = self

        class File(io.FileIO):
            def write(self, data: Any) -> int:
                disk.unsafe.add(os.fstat(self.fileno()).st_ino)
                disk.step()
                view = memoryview(data).cast("B")
                half = super().write(view[: len(view) // 2]) or 0
                disk.step()
                return half + (super().write(view[half:]) or 0)

        def open_(file: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
            if not disk.has(file) or not set(mode) & set("wxa"):
                return real_open(file, mode, *arguments, **options)
            disk.step()
            return io.BufferedWriter(File(file, mode.replace("b", "")))

        def fsync(handle: int) -> None:
            disk.step()  # nothing is flushed in a test: only what would be is written down
            node = os.fstat(handle).st_ino
            disk.unsafe.discard(node)
            if node == os.stat(disk.folder).st_ino:
                disk.undo.clear()

        def replace(source: Any, target: Any) -> None:
            if disk.has(target):
                disk.step()
                there = Path(target)
                disk.undo.append((there, there.read_bytes() if there.exists() else None))
            real_replace(source, target)

        def unlink(path: Any, **options: Any) -> None:
            if disk.has(path):
                disk.step()
            real_unlink(path, **options)

        with (
            mock.patch.object(io, "open", open_),
            mock.patch.object(os, "fsync", fsync),
            mock.patch.object(os, "replace", replace),
            mock.patch.object(os, "unlink", unlink),
        ):
            yield


def remote(step: Callable[[], None]) -> None:
    """Let ``faulty://…`` be folders of this machine in which nothing happens in one step."""
    import fsspec

    class Faulty(fsspec.AbstractFileSystem):  # type: ignore[misc]
        protocol = "faulty"
        cachable = False

        def ls(self, path: str, detail: bool = True, **_: Any) -> Any:
            files = sorted(Path(self._strip_protocol(path)).iterdir())
            sizes = [(str(f), f.stat().st_size) for f in files]
            return [{"name": n, "size": s, "type": "file"} if detail else n for n, s in sizes]

        def makedirs(self, path: str, exist_ok: bool = False) -> None:
            step()
            Path(self._strip_protocol(path)).mkdir(parents=True, exist_ok=exist_ok)

        def cat_file(self, path: str, *_: Any, **__: Any) -> bytes:
            return Path(self._strip_protocol(path)).read_bytes()

        def _open(self, path: str, mode: str = "rb", **_: Any) -> Any:
            return Path(self._strip_protocol(path)).open(mode)

        def pipe_file(self, path: str, value: Any, **_: Any) -> None:
            step()
            with Path(self._strip_protocol(path)).open("wb", buffering=0) as stream:
                step()
                stream.write(value[: len(value) // 2])
                step()
                stream.write(value[len(value) // 2 :])
            step()

        def rm_file(self, path: str) -> None:
            step()
            Path(self._strip_protocol(path)).unlink()

    fsspec.register_implementation("faulty", Faulty, clobber=True)


# --- what is done -----------------------------------------------------------------------------


def work(kind: Kind, folder: Path) -> Regions:
    """Enumerate, and write often."""
    with small_units(6), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "checkpoint":
            return enumerate_regions(network(), BOX, checkpoint=Checkpoint(folder, every=0.0))
        out = RegionFolder(_address(kind, folder), columns=["witnesses"], every=0.0)
        return enumerate_regions(network(), BOX, out=out, max_bytes=0).to_regions()


def _address(kind: Kind, folder: Path) -> str:
    return f"faulty://{folder}" if kind == "url" else str(folder)


@contextmanager
def _reported(file: Path) -> Iterator[None]:
    """Write down how many regions are said to be saved, whenever something was."""
    commit, write = OpenFolder.commit, CheckpointFile._write

    def committed(self: OpenFolder, *arguments: Any) -> None:
        commit(self, *arguments)
        file.write_text(str(self.manifest.regions))

    def written(self: CheckpointFile, *arguments: Any) -> None:
        write(self, *arguments)
        file.write_text(str(self.count))

    with (
        mock.patch.object(OpenFolder, "commit", committed),
        mock.patch.object(CheckpointFile, "_write", written),
    ):
        yield


def run(kind: Kind, folder: Path, at: int, fault: Fault) -> dict[str, Any]:
    """Write in a process of its own, with a fault; what became of it."""
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir()
    report, answer = folder.with_suffix(".saved"), folder.with_suffix(".answer")
    report.write_text("0")
    answer.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        try:
            _child(kind, folder, at, fault, report, answer)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    _, status = os.waitpid(child, 0)
    found = {"status": os.waitstatus_to_exitcode(status), "saved": int(report.read_text())}
    return found | (json.loads(answer.read_text()) if answer.exists() else {})


def _child(kind: Kind, folder: Path, at: int, fault: Fault, report: Path, answer: Path) -> None:
    disk = Disk(folder, at, fault)
    remote(disk.step)
    found: dict[str, Any] = {}
    with _reported(report):
        try:
            with disk.watched() if kind != "url" else warnings.catch_warnings():
                regions = work(kind, folder)
            found = {"complete": regions.complete, "digest": digest(regions)}
        except TropicellError as error:
            found = {"error": str(error)}
        except MemoryError:
            found = {"error": f"{folder}: no memory", "too early": True}
    answer.write_text(json.dumps(found | {"steps": disk.steps}))
    sys.stdout.flush()
    os._exit(0)


def check(kind: Kind, folder: Path, found: dict[str, Any], expected: str) -> str:
    """What is wrong after a fault; nothing if all is as it should be."""
    if found["status"] not in (0, 9):
        return f"ended with {found['status']}"
    if found.get("complete") and found["digest"] != expected:
        return "said that it was complete, with other regions"
    if "error" in found and str(folder) not in found["error"]:
        return f"names no file: {found['error']}"
    if found.get("too early") and found["saved"]:
        return "lost what it had found, for want of memory"
    remote(lambda: None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kept = _kept(kind, folder)
    if kept < found["saved"]:
        return f"{found['saved']} regions were said to be saved, {kept} are there"
    with mock.patch.object(os, "fsync"):
        again = work(kind, folder)
    return "" if digest(again) == expected else "the same call ends with other regions"


def _kept(kind: Kind, folder: Path) -> int:
    """Regions that are in the folder now."""
    if kind == "checkpoint":
        state = folder / "state.npz"
        return int(json.loads(str(np.load(state)["header"]))["count"]) if state.exists() else 0
    names = os.listdir(folder)
    if not any(name.startswith("part-") for name in names):
        return 0
    try:
        return len(Regions.open(_address(kind, folder)).to_regions())
    except TropicellError:
        return 0
