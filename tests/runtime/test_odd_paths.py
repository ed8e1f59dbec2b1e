"""Readers and writers given odd paths: an error of the package that names the path, each time."""

from __future__ import annotations

import contextlib
import errno
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tropicell
from children import run_python, without_rights
from strategies import random_network
from tropicell import (
    Box,
    CachedPredictor,
    FileWriteError,
    InvalidInputError,
    ModelFileError,
    RegionTracker,
    TropicellError,
    compile_to_c,
    enumerate_regions,
    explore,
    load,
    load_regions,
    save,
    to_onnx,
)
from tropicell._runtime.durable import replacing
from tropicell._runtime.paths import make_folder, shown
from tropicell.cli import main
from tropicell.cli.options import read_slice
from tropicell.lab.custom import user_networks, user_points
from tropicell.lab.data import find_data
from tropicell.lab.run import Report, ResultStore

NETWORK = random_network(3, "generic", 2, 1, 3)
REGIONS = enumerate_regions(NETWORK, Box(-1, 1))


def film(path: Any) -> None:
    tracker = RegionTracker(lambda: NETWORK, Box(-1, 1), every=1)
    tracker.record(0)
    tracker.film(path, dpi=20)


#: What reads a file, and its suffix.
READERS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "npz": (load, ".npz"),
    "safetensors": (load, ".safetensors"),
    "onnx": (load, ".onnx"),
    "pt2": (load, ".pt2"),
    "no suffix": (load, ""),
    "from_onnx": (tropicell.from_onnx, ".onnx"),
    "regions": (load_regions, ".npz"),
    "mapped": (lambda path: load_regions(path, mapped=True), ".npz"),
    "cache": (lambda path: CachedPredictor.load(path, NETWORK), ".npz"),
    "slice": (read_slice, ".npz"),
    "points": (user_points, ".npz"),
    "model": (lambda path: user_networks(f"{path}:build", 1), ".py"),
}
#: What writes a file, and its suffix.
WRITERS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "npz": (lambda path: save(NETWORK, path), ".npz"),
    "safetensors": (lambda path: save(NETWORK, path), ".safetensors"),
    "regions": (REGIONS.save, ".npz"),
    "cache": (lambda path: CachedPredictor(NETWORK).fit([[0.0, 0.0]]).save(path), ".npz"),
    "certificate": (lambda path: REGIONS.certify().save(path), ".npz"),
    "C": (lambda path: compile_to_c(REGIONS, path), ".c"),
    "ONNX": (lambda path: to_onnx(REGIONS, path), ".onnx"),
    "page": (lambda path: explore(REGIONS, path), ".html"),
    "film": (film, ".gif"),
}


def odd_paths(folder: Path, suffix: str) -> dict[str, str]:
    made = folder / f"folder{suffix}"
    made.mkdir()
    (folder / "file").write_text("x")
    return {
        "missing folder": str(folder / "no" / "such" / f"x{suffix}"),
        "below a file": str(folder / "file" / f"x{suffix}"),
        "a folder": str(made),
        "too long": str(folder / ("x" * 300 + suffix)),
        "far too long": str(folder / ("x/" * 5000 + f"x{suffix}")),
        "NUL": str(folder / f"a\0b{suffix}"),
        "NUL in the folder": str(folder / "a\0b" / f"x{suffix}"),
        "a lone surrogate": str(folder / f"a\ud800b{suffix}"),
    }


@pytest.mark.parametrize("name", READERS)
def test_readers(name: str, tmp_path: Path) -> None:
    read, suffix = READERS[name]
    for what, path in odd_paths(tmp_path, suffix).items():
        with pytest.raises((ModelFileError, InvalidInputError)) as caught:
            read(path)
        assert path in str(caught.value) or shown(path) in str(caught.value), what
        assert isinstance(
            pickle.loads(pickle.dumps(caught.value)), ModelFileError | InvalidInputError
        )
    os.mkfifo(tmp_path / f"pipe{suffix}")  # nobody waits for what never comes
    with pytest.raises((ModelFileError, InvalidInputError), match="pipe"):
        read(tmp_path / f"pipe{suffix}")


@pytest.mark.parametrize("name", WRITERS)
def test_writers(name: str, tmp_path: Path) -> None:
    write, suffix = WRITERS[name]
    paths = odd_paths(tmp_path, suffix)
    before = sorted(tmp_path.rglob("*"))
    for what, path in paths.items():
        with pytest.raises(FileWriteError) as caught:
            write(path)
        assert isinstance(caught.value, OSError), what
        assert path in str(caught.value) or shown(path) in str(caught.value), what
    assert sorted(tmp_path.rglob("*")) == before  # nothing is left behind
    target = tmp_path / f"good{suffix}"
    write(target)
    assert target.stat().st_size > 0


@pytest.mark.parametrize("path", [None, 7, ["x.npz"]])
def test_what_is_no_path(path: Any) -> None:
    for read, _ in list(READERS.values())[:-3]:
        with pytest.raises(InvalidInputError, match="expected a path"):
            read(path)
    for write, _ in WRITERS.values():
        if path is None and write in [WRITERS[name][0] for name in ("C", "ONNX", "page")]:
            continue  # there, None means that nothing is written
        with pytest.raises(InvalidInputError, match="expected a path"):
            write(path)


def test_folders(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for path in ("file/x", "a\0b/x", "x" * 300, "a\ud800b"):
        place = tmp_path / path
        with pytest.raises(FileWriteError) as caught:
            make_folder(place)
        assert str(place) in str(caught.value)
        with pytest.raises(FileWriteError):
            ResultStore(place, {}).put("unit", {}, {"a": [1]})
    with pytest.raises(FileWriteError):
        Report("x").write(tmp_path / "no", {})
    for path in ("file", "no", "a\0b", "x" * 300):
        found = None
        with contextlib.suppress(TropicellError):  # or it says what is wrong
            found = find_data("mnist", tmp_path / path)
        assert found is None


def test_the_number_of_the_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="can't be written") as caught:
        save(NETWORK, tmp_path / "no" / "x.npz")
    assert caught.value.errno == errno.ENOENT


def test_a_file_that_vanishes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the moment it is looked for and the moment it is read."""
    monkeypatch.setattr("tropicell._runtime.npz.check_file", lambda _: None)
    for name in ("x.npz", "x.safetensors", "x.onnx", "x.pt2"):
        with pytest.raises(ModelFileError, match=r"x\."):
            load(tmp_path / name)
    with pytest.raises(ModelFileError, match="No such file"):
        load_regions(tmp_path / "x.npz")
    with pytest.raises(ModelFileError, match="No such file"):
        CachedPredictor.load(tmp_path / "x.npz", NETWORK)


def test_the_folder_vanishes_while_a_file_is_written(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()

    def write() -> None:
        with replacing(tmp_path / "folder" / "x.npz") as temporary:
            temporary.unlink()
            (tmp_path / "folder").rmdir()

    with pytest.raises(FileWriteError, match="untouched"):
        write()


@pytest.mark.parametrize("command", ["count", "info", "show", "plot", "explore", "enumerate"])
def test_commands(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for what, path in odd_paths(tmp_path, ".npz").items():
        more = ["--out", str(tmp_path / "out.png")] if command == "plot" else []
        more = ["--out", str(tmp_path / "out.html")] if command == "explore" else more
        more = ["--out", str(tmp_path / "out.npz")] if command == "enumerate" else more
        assert main([command, path, *more]) == 2, what
        said = capsys.readouterr().err
        assert said.startswith("tropicell: "), what
        assert "folder" in said or "x.npz" in said or "xx" in said or "a" in said
        assert said.count("\n") == 1, what


def test_outputs_of_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(NETWORK, tmp_path / "net.npz")
    model = str(tmp_path / "net.npz")
    commands = {
        ".npz": ["enumerate", model, "--box", "-1", "1"],
        ".png": ["plot", model, "--box", "-1", "1"],
        ".html": ["explore", model, "--box", "-1", "1"],
    }
    for suffix, command in commands.items():
        folder = tmp_path / suffix
        folder.mkdir()
        for what, path in odd_paths(folder, suffix).items():
            if what == "a folder" and suffix == ".npz":
                continue  # regions can be written to a folder
            assert main([*command, "--out", path]) == 2, what
            said = capsys.readouterr().err
            assert said.startswith("tropicell: "), what
            assert said.count("\n") == 1, what


HERE = Path(__file__).parent
FULL = """
import resource, signal, sys
sys.path[:0] = {path!r}
from test_odd_paths import WRITERS, FileWriteError, Path, save, NETWORK
from tropicell._runtime.durable import replacing
folder = Path({folder!r})
for write, suffix in WRITERS.values():  # what is imported or compiled first
    write(folder / f"warm{{suffix}}")
before = {{path: path.read_bytes() for path in folder.iterdir()}}
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
for name, (write, suffix) in WRITERS.items():
    path = folder / f"warm{{suffix}}"
    try:
        write(path)
    except FileWriteError as error:
        assert str(path) in str(error), error
        assert "untouched" in str(error), error
    else:
        raise AssertionError(name)
assert {{path: path.read_bytes() for path in folder.iterdir()}} == before
"""


@pytest.mark.posix
def test_full_disks(tmp_path: Path) -> None:
    """A limit on file sizes stands for a disk without room."""
    here = [str(path) for path in (HERE, HERE.parent, HERE.parents[1] / "src")]
    done = run_python("-c", FULL.format(path=here, folder=str(tmp_path)))
    assert "Exception ignored" not in done.stderr


@pytest.mark.posix
def test_without_permission(tmp_path: Path) -> None:
    for name, (_, suffix) in READERS.items():
        file = tmp_path / f"secret {name}{suffix}"
        file.write_bytes(b"x")
        file.chmod(0)
    closed = tmp_path / "closed"
    closed.mkdir()
    closed.chmod(0)
    here = [str(path) for path in (HERE, HERE.parent, HERE.parents[1] / "src")]
    code = f"""
import sys
sys.path[:0] = {here!r}
from test_odd_paths import READERS, WRITERS, Path, TropicellError, FileWriteError
folder = Path({str(tmp_path)!r})
for name, (read, suffix) in READERS.items():
    for path in (folder / f"secret {{name}}{{suffix}}", folder / "closed" / f"x{{suffix}}"):
        try:
            read(path)
        except TropicellError as error:
            assert str(path) in str(error), (name, error)
            assert "Permission denied" in str(error) or not suffix, (name, error)
        else:
            raise AssertionError(name)
for name, (write, suffix) in WRITERS.items():
    path = folder / "closed" / f"x{{suffix}}"
    try:
        write(path)
    except FileWriteError as error:
        assert str(path) in str(error) and "Permission denied" in str(error), (name, error)
    else:
        raise AssertionError(name)
"""
    try:
        run_python("-c", code, **without_rights())
    finally:
        closed.chmod(0o700)


def test_damaged_points_of_the_command_line(tmp_path: Path) -> None:
    """Numbers of another kind than points are no points, whoever reads them."""
    np.savez(tmp_path / "x.npz", points=np.array(["a", "b"]))
    with pytest.raises(ModelFileError, match=r"x\.npz"):
        user_points(tmp_path / "x.npz")
    with pytest.raises(ModelFileError, match=r"x\.npz"):
        read_slice(str(tmp_path / "x.npz"))
