"""Checkpoints: nothing is lost when a process is killed, and other people's files are refused."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from children import LIMIT, run_python
from fuzz import folders
from searching import ENGINES, assert_same, small_units
from strategies import default_network, domains, networks
from tropicell import (
    Box,
    Checkpoint,
    CheckpointError,
    CheckpointWarning,
    FileWriteError,
    IncompleteError,
    IncompleteWarning,
    InvalidInputError,
    TropicellError,
    count_regions,
    enumerate_regions,
    iter_regions,
    load_regions,
)
from tropicell._runtime import durable
from tropicell._runtime.checksums import sums_of_file
from tropicell._runtime.durable import FolderLock
from tropicell._runtime.interruption import stopping
from tropicell.engines.column_store import Store
from tropicell.engines.scheduler import UnitPlace
from tropicell.engines.units import Unit
from tropicell.search import checkpoint

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.kill_test import disturb, undisturbed


def often(folder: Path) -> Checkpoint:
    return Checkpoint(folder / "run", every=0.0)


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_run_that_is_broken_off_goes_on(
    engine: str, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    network = data.draw(networks(max_inputs=4, max_depth=3, max_width=5))
    domain = data.draw(domains(network.n_inputs))
    folder = tmp_path_factory.mktemp("checkpoint")
    with small_units(data.draw(st.integers(1, 6))):
        whole = enumerate_regions(network, domain, engine=engine)
        budget = 0
        while True:
            budget += max(data.draw(st.integers(10, 80)), len(whole) // 8)  # not for ever
            part = enumerate_regions(
                network, domain, engine=engine, checkpoint=often(folder), max_regions=budget
            )
            if part.complete:
                break
            assert part.texts() == whole.texts()[:budget]
        assert_same(part, whole)
        again = enumerate_regions(network, domain, engine=engine, checkpoint=often(folder))
        assert_same(again, whole)


#: Sizes, threads, whether weights are integers, what is done.
KILLED = [2, 40, 40, 40, 1], 2, False, "enumerate"


@cache
def quiet() -> dict[str, Any]:
    return undisturbed(*KILLED)


@pytest.mark.posix
@pytest.mark.parametrize(
    "number", [getattr(signal, "SIGKILL", None), signal.SIGTERM, signal.SIGINT]
)
def test_a_killed_process_ends_with_the_same_regions(number: signal.Signals) -> None:
    found = disturb(*KILLED, number, kills=2, quiet=quiet())
    assert (found["kills"], found["same"]) == (2, True)


def test_counts_have_checkpoints(tmp_path: Path) -> None:
    network = default_network([2, 30, 30, 30, 1])
    total = count_regions(network)
    with pytest.raises(IncompleteError) as caught:
        count_regions(network, checkpoint=often(tmp_path), max_regions=1500)
    assert caught.value.count == 1500
    assert count_regions(network, checkpoint=often(tmp_path), workers=2) == total
    assert count_regions(network, checkpoint=often(tmp_path)) == total


def test_other_checkpoints_are_refused(tmp_path: Path) -> None:
    network, box = default_network([2, 8, 8, 1]), Box(-1, 1)
    place = tmp_path / "run"
    enumerate_regions(network, box, checkpoint=place)
    for other, domain, options, word in [
        (default_network([2, 8, 8, 1], 1), box, {}, "network"),
        (network, Box(-1, 2), {}, "domain"),
        (network, box, {"engine": "halfspaces"}, "engine"),
        (network, box, {"arithmetic": "float"}, "arithmetic"),
    ]:
        with pytest.raises(CheckpointError, match=f"another enumeration: its {word}"):
            enumerate_regions(other, domain, checkpoint=place, **options)
    with pytest.raises(CheckpointError, match="its kind is regions, this one's count"):
        count_regions(network, box, checkpoint=place)
    with pytest.raises(InvalidInputError, match="traverse"):
        enumerate_regions(network, box, checkpoint=tmp_path / "t", engine="traverse")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("")
    with pytest.raises(CheckpointError, match=r"thesis\.tex"):
        enumerate_regions(network, box, checkpoint=tmp_path / "mine")
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="folder"):
        enumerate_regions(network, box, checkpoint=tmp_path / "file")


@pytest.mark.parametrize("sizes", [[2, 20, 20, 1], [3, 10, 10, 1], [6, 8, 8, 1]])
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_hostile_checkpoints_are_refused_or_harmless(
    sizes: list[int], tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Numbers in the units are changed: an error of ours, or some regions, but never a crash."""
    network = default_network(sizes)
    folder = tmp_path_factory.mktemp("checkpoint")
    with small_units(20):
        enumerate_regions(network, checkpoint=often(folder), max_regions=60)
        file = folder / "run" / "state.npz"
        arrays = dict(np.load(file))
        names = sorted(name for name, a in arrays.items() if name != "header" and a.size)
        name = data.draw(st.sampled_from(names))
        saved = arrays[name]
        array = saved.copy()
        place = data.draw(st.integers(0, array.size - 1))
        wrong = data.draw(st.sampled_from([0, 1, 2, 63, 1000, 2**31 - 1, -1, -7]))
        array.flat[place] = np.array(wrong, dtype=np.int64).astype(array.dtype)
        arrays[name] = array if data.draw(st.booleans()) else array[: array.shape[0] // 2]
        np.savez(file, **arrays)
        if not np.array_equal(arrays[name], np.asarray(saved), equal_nan=saved.dtype.kind == "f"):
            with pytest.raises(CheckpointError, match="the checkpoint is damaged: its checksum"):
                enumerate_regions(network, checkpoint=often(folder))
        # as if it were from a version without checksums
        arrays["header"] = forget_checksums(arrays["header"])
        np.savez(file, **arrays)
        with suppress(TropicellError):
            enumerate_regions(network, checkpoint=often(folder), max_seconds=0.3)


def forget_checksums(header: Any) -> Any:
    """The header of a checkpoint as older versions wrote it."""
    data = json.loads(str(header))
    del data["checksum"]
    data["parts"] = [{k: part[k] for k in ("name", "regions")} for part in data["parts"]]
    return np.array(json.dumps(data))


def test_checkpoints_without_checksums_go_on(tmp_path: Path) -> None:
    network = default_network([2, 30, 30, 1])
    file = tmp_path / "run" / "state.npz"
    with small_units(20):
        enumerate_regions(network, checkpoint=often(tmp_path), max_regions=300)
        arrays = dict(np.load(file))
        np.savez(file, **arrays | {"header": forget_checksums(arrays["header"])})
        found = enumerate_regions(network, checkpoint=often(tmp_path))
        assert_same(found, enumerate_regions(network))
    assert "checksum" in json.loads(str(np.load(file)["header"]))


@pytest.mark.parametrize("budget", [60, None])
def test_every_flipped_bit_is_noticed(budget: int | None, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folders.write("checkpoint", folder, budget)
    truth = folders.pack(folder)
    good = folders.load_checkpoint(folder)
    files, rng = folders.unpacked(truth), random.Random(0)
    for number in range(60):
        name = sorted(files)[number % len(files)]
        folders.put(folder, truth)
        (folder / name).write_bytes(folders.flip(files[name], rng))
        assert folders.outcome(folders.load_checkpoint, folder, good) != "WRONG", (name, number)


def test_two_writers_are_refused(tmp_path: Path) -> None:
    network = default_network([2, 8, 8, 1])
    lock = FolderLock(tmp_path)
    with pytest.raises(CheckpointError, match=r"is being written by process \d+ on"):
        enumerate_regions(network, checkpoint=tmp_path)
    lock.release()
    assert enumerate_regions(network, checkpoint=tmp_path).complete
    assert enumerate_regions(network, checkpoint=tmp_path).complete
    assert not (tmp_path / ".lock").exists()


LOCKED = """
import sys
from pathlib import Path
from tropicell._runtime.durable import FolderLock
lock = FolderLock(Path(sys.argv[1]))
print("locked", flush=True)
sys.stdin.read()
"""


def test_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", LOCKED, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "locked\n"
    with pytest.raises(CheckpointError, match=f"process {process.pid} "):
        FolderLock(tmp_path)
    process.kill()
    process.communicate(timeout=LIMIT)
    assert (tmp_path / ".lock").exists()
    FolderLock(tmp_path).release()
    assert not (tmp_path / ".lock").exists()


def test_an_error_after_the_state_was_written_does_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part that the state on the disk names is not written again with other contents."""
    network = default_network([2, 30, 30, 1])
    original, calls = durable.flush_folder, []

    def fail(folder: Path) -> None:
        original(folder)
        calls.append(1)
        if len(calls) == 4:
            raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch, small_units(20):
        patch.setattr(durable, "flush_folder", fail)
        with pytest.warns(CheckpointWarning, match="Input/output error"):
            enumerate_regions(network, checkpoint=often(tmp_path), max_regions=900)
        state = json.loads(str(np.load(tmp_path / "run" / "state.npz")["header"]))
        assert [p["sha256"] for p in state["parts"]] == [
            sums_of_file(tmp_path / "run" / p["name"]).sha256 for p in state["parts"]
        ]
    with small_units(20):
        found = enumerate_regions(network, checkpoint=often(tmp_path))
        assert_same(found, enumerate_regions(network))


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    network = default_network([2, 30, 30, 1])
    enumerate_regions(network, checkpoint=often(tmp_path))
    state, part = tmp_path / "run" / "state.npz", tmp_path / "run" / "part-000001.npz"
    for file in (part, state):
        good = file.read_bytes()
        for bad in (b"", good[: len(good) // 2], b"nonsense"):
            file.write_bytes(bad)
            with pytest.raises(CheckpointError, match=file.name):
                enumerate_regions(network, checkpoint=often(tmp_path))
        file.unlink()
        file.mkdir()
        with pytest.raises(CheckpointError, match=file.name):
            enumerate_regions(network, checkpoint=often(tmp_path))
        file.rmdir()
        file.write_bytes(good)
    part.unlink()
    with pytest.raises(CheckpointError, match=r"part-000001\.npz: is missing"):
        enumerate_regions(network, checkpoint=often(tmp_path))
    np.savez(part, words=np.zeros((2, 1), np.uint64))
    with pytest.raises(CheckpointError, match="does not hold regions"):
        enumerate_regions(network, checkpoint=often(tmp_path))
    header = json.dumps({"format": "tropicell-checkpoint", "version": 99})
    np.savez(state, header=np.array(header))
    with pytest.raises(CheckpointError, match="version 99"):
        enumerate_regions(network, checkpoint=often(tmp_path))


FULL_DISK = """
import resource, sys, warnings
import numpy as np
from tropicell import Checkpoint, CheckpointWarning, FileWriteError, Network, enumerate_regions
rng = np.random.default_rng(0)
sizes = [2, 40, 40, 1]
network = Network.mlp([rng.normal(size=(n, m)) for m, n in zip(sizes, sizes[1:])],
                      [rng.normal(size=n) for n in sizes[1:]])
few = enumerate_regions(network, max_regions=3)
few.save(sys.argv[1] + "/regions.npz")
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    regions = enumerate_regions(network, checkpoint=Checkpoint(sys.argv[1] + "/run", every=0.0))
assert regions.complete and len(regions) > 1000
messages = [str(w.message) for w in caught if w.category is CheckpointWarning]
assert len(messages) == 1 and "goes on in memory" in messages[0], messages
try:
    regions.save(sys.argv[1] + "/regions.npz")
except FileWriteError as error:
    print(error)
"""


@pytest.mark.posix
def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    # the child sets RLIMIT_FSIZE: the kernel refuses to let files grow, as if the disk were full
    done = run_python("-c", FULL_DISK, str(tmp_path))
    assert "regions.npz: can't be written" in done.stdout
    assert "untouched" in done.stdout
    assert len(load_regions(tmp_path / "regions.npz")) == 3
    assert not [file for file in tmp_path.iterdir() if file.name.startswith(".")]


def test_saving_where_there_is_no_folder(tmp_path: Path) -> None:
    regions = enumerate_regions(default_network([2, 3, 1]))
    with pytest.raises(FileWriteError, match="No such file"):
        regions.save(tmp_path / "missing" / "regions.npz")


@pytest.fixture
def usual_signals() -> Iterator[None]:
    """What a program in the foreground has: one that is started with & may ignore Ctrl-C."""
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in usual.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.usefixtures("usual_signals")
def test_signals_end_the_search_and_handlers_are_restored(
    number: signal.Signals, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = threading.Event()
    original = UnitPlace.finish

    def finish(self: UnitPlace, outcome: Any) -> Any:
        try:
            return original(self, outcome)
        finally:
            found.set()

    def send() -> None:
        if found.wait(60):
            signal.raise_signal(number)

    monkeypatch.setattr(UnitPlace, "finish", finish)
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    enumerate_regions(default_network([6, 2, 1]))  # what is to be compiled is compiled by now
    found.clear()
    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    network = default_network([6, 60, 60, 1])
    with pytest.warns(IncompleteWarning, match=number.name):
        regions = enumerate_regions(network, workers=workers, max_seconds=60)
    sender.join(60)
    assert not regions.complete
    assert len(regions) > 0
    assert regions.stats["ended_by"] == number.name
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_signals_that_are_ignored_are_left_alone() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with stopping(pytest.fail):
            signal.raise_signal(signal.SIGINT)
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("usual_signals")
def test_a_reader_of_batches_gets_its_own_signals() -> None:
    batches = iter_regions(default_network([6, 60, 60, 1]), max_seconds=60)
    next(batches)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    batches.close()


@pytest.mark.parametrize("engine", [*ENGINES, "traverse"])
def test_memory_budget(engine: str) -> None:
    network = default_network([3, 5, 4, 1])
    whole = enumerate_regions(network, engine=engine)
    part = enumerate_regions(network, engine=engine, max_bytes=whole.nbytes // 3)
    assert not part.complete
    assert part.stats["ended_by"] == "max_bytes"
    assert whole.nbytes // 6 < part.nbytes <= whole.nbytes // 3
    assert part.texts() == whole.texts()[: len(part)]
    assert enumerate_regions(network, engine=engine, max_bytes=whole.nbytes).complete
    assert len(enumerate_regions(network, engine=engine, max_bytes=0)) == 0
    with pytest.raises(InvalidInputError, match="max_bytes"):
        enumerate_regions(network, max_bytes=-1)


@pytest.mark.parametrize("workers", [1, 2])
def test_no_memory_keeps_what_was_found(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    network = default_network([2, 30, 30, 1])
    original = Unit.limit
    calls: list[int] = []

    def fail(self: Unit, grain: int) -> int:
        calls.append(1)
        if len(calls) == 4:
            raise MemoryError
        return original(self, grain)

    monkeypatch.setattr(Unit, "limit", fail)
    with small_units(20), pytest.warns(IncompleteWarning, match="MemoryError"):
        regions = enumerate_regions(network, workers=workers)
    assert not regions.complete
    assert regions.stats["ended_by"] == "MemoryError"
    assert len(regions) > 0


def test_no_memory_for_one_more_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    network = default_network([2, 30, 30, 1])
    whole = enumerate_regions(network)
    original, calls = Store.add, []

    def fail(self: Store, columns: Any) -> None:
        calls.append(1)
        if len(calls) == 4:
            raise MemoryError
        original(self, columns)

    monkeypatch.setattr(Store, "add", fail)
    with small_units(20), pytest.warns(IncompleteWarning, match="MemoryError"):
        regions = enumerate_regions(network)
    assert not regions.complete
    assert regions.stats["ended_by"] == "MemoryError"
    assert 0 < len(regions) < len(whole)
    assert regions.texts() == whole.texts()[: len(regions)]


def test_no_memory_for_all_regions_in_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    network = default_network([2, 30, 30, 1])
    whole = enumerate_regions(network)
    original = Store._space

    def fail(self: Store) -> Any:
        if len(self._batches) > 10:
            raise MemoryError
        return original(self)

    monkeypatch.setattr(Store, "_space", fail)
    with small_units(20), pytest.warns(IncompleteWarning, match="MemoryError"):
        regions = enumerate_regions(network)
    assert not regions.complete
    assert regions.stats["ended_by"] == "MemoryError"
    assert 0 < len(regions) < len(whole)
    assert regions.texts() == whole.texts()[: len(regions)]


@pytest.mark.parametrize(("name", "fails"), [("_joined", 2), ("read_npz", 3)])
def test_no_memory_for_a_checkpoint(
    name: str, fails: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = default_network([2, 30, 30, 1])
    with small_units(20):
        whole = enumerate_regions(network)
        enumerate_regions(network, checkpoint=often(tmp_path), max_regions=300)
        original, calls = getattr(checkpoint, name), []

        def fail(*arguments: Any) -> Any:
            calls.append(1)
            if len(calls) == fails:  # the first two read which engine it was, and the state
                raise MemoryError
            return original(*arguments)

        with monkeypatch.context() as patch, warnings.catch_warnings():
            warnings.simplefilter("ignore", CheckpointWarning)
            warnings.simplefilter("ignore", IncompleteWarning)
            patch.setattr(checkpoint, name, fail)
            found = enumerate_regions(network, checkpoint=often(tmp_path))
        assert found.complete == (name == "_joined")  # without the file all goes on in memory
        assert found.complete or found.stats["ended_by"] == "MemoryError"
        assert_same(enumerate_regions(network, checkpoint=often(tmp_path)), whole)


def test_files_are_flushed_before_they_get_their_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    sync, replace = os.fsync, os.replace

    def fsync(handle: int) -> None:
        steps.append("folder" if os.path.samestat(os.fstat(handle), tmp_path.stat()) else "file")
        sync(handle)

    def renamed(source: Any, target: Any) -> None:
        steps.append("rename")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", renamed)
    enumerate_regions(default_network([2, 3, 1])).save(tmp_path / "regions.npz")
    assert steps == ["file", "rename"] + (["folder"] if os.name != "nt" else [])
