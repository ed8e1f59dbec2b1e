from __future__ import annotations

import io
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from children import LIMIT
from fuzz import folders
from searching import assert_same_columns, random_network, small_units
from strategies import networks
from tropicell import (
    Box,
    CheckpointError,
    CheckpointWarning,
    FileWriteError,
    IncompleteWarning,
    InvalidInputError,
    Level,
    ModelFileError,
    Network,
    RegionFolder,
    Regions,
    Slice,
    StoredRegions,
    TimeLimitError,
    TropicellError,
    enumerate_regions,
    save,
    time_limit,
)
from tropicell._runtime import progress
from tropicell._runtime.checksums import BLOCK, CheckedStream, sums_of
from tropicell.analysis import measure
from tropicell.cli import main
from tropicell.engines.table import task_of
from tropicell.network.quotient import Quotient
from tropicell.regions import comfort
from tropicell.regions.stored.manifest import read_manifest
from tropicell.regions.stored.stored_regions import rows
from tropicell.search import folder as region_folder
from tropicell.search.folder import OpenFolder

pytest.importorskip("pyarrow", reason="the extra 'arrow' is not installed")


@pytest.fixture(scope="module")
def network() -> Network:
    return random_network([2, 50, 50, 2])


@pytest.fixture(scope="module")
def expected(network: Network) -> Regions:
    return enumerate_regions(network, Box(-2, 2))


@pytest.fixture(scope="module")
def stored(network: Network, tmp_path_factory: pytest.TempPathFactory) -> StoredRegions:
    folder = tmp_path_factory.mktemp("stored") / "run"
    return enumerate_regions(network, Box(-2, 2), out=folder, max_bytes=100_000)


@given(network=networks(), workers=st.sampled_from([1, 2]))
@settings(max_examples=25)
def test_a_folder_holds_what_an_enumeration_gives(
    network: Network, workers: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("folder")
    stored = enumerate_regions(network, out=folder, workers=workers, max_bytes=0)
    assert stored.complete
    assert_same_columns(stored.to_regions(), enumerate_regions(network))


def test_batches_come_in_order(stored: StoredRegions, expected: Regions) -> None:
    assert len(stored.files) > 1
    assert len(stored) == len(expected)
    batches = list(stored.batches(size=50))
    assert max(map(len, batches)) <= 50
    assert [text for batch in batches for text in batch.texts()] == expected.texts()
    assert_same_columns(Regions.open(Path(stored.files[0]).parent).to_regions(), expected)


def test_only_some_columns(tmp_path: Path, network: Network, expected: Regions) -> None:
    folder = RegionFolder(tmp_path / "run", columns=["volumes"])
    stored = enumerate_regions(network, Box(-2, 2), out=folder)
    (batch,) = stored.batches()
    assert "corners" not in vars(batch)
    assert np.array_equal(batch.volumes, expected.volumes)
    assert np.array_equal(stored[3].pattern, expected[3].pattern)
    with pytest.raises(InvalidInputError, match="no column 'area'"):
        RegionFolder(tmp_path, columns=["area"])


def test_filters_and_samples(stored: StoredRegions, expected: Regions) -> None:
    compute = pytest.importorskip("pyarrow.compute")
    large = expected.volumes > 0.01
    by_call = stored.filter(lambda batch: batch.volumes > 0.01)
    by_expression = stored.filter(compute.field("volume") > 0.01)
    texts = [text for text, keep in zip(expected.texts(), large, strict=True) if keep]
    assert by_call.to_regions().texts() == texts == by_expression.to_regions().texts()
    assert len(by_call) == large.sum() == len(by_expression.to_pandas(["volume"]))
    both = by_call.filter(lambda batch: batch.volumes < 0.05)
    assert len(both) == (large & (expected.volumes < 0.05)).sum()
    some = stored.sample(40, seed=1)
    numbers = expected.packed.find(some.patterns)
    assert len(set(numbers.tolist())) == 40
    assert (np.diff(numbers) > 0).all()
    assert np.array_equal(some.volumes, expected.volumes[numbers])
    assert np.array_equal(some.corners[7], expected.corners[int(numbers[7])])
    assert len(by_call.sample(10**6)) == large.sum()
    with pytest.raises(InvalidInputError, match="True or False for each"):
        len(stored.filter(lambda batch: batch.volumes))


def test_points_are_located(stored: StoredRegions, expected: Regions) -> None:
    points = np.random.default_rng(0).uniform(-2.5, 2.5, size=(100, 2))
    numbers = stored.locate(points)
    assert np.array_equal(numbers, expected.locate(points))
    assert -1 in numbers
    chosen = expected.volumes[numbers[numbers >= 0]].max()
    large = stored.filter(lambda batch: batch.volumes >= chosen)
    assert np.array_equal(
        large.locate(points) >= 0, (numbers >= 0) & (expected.volumes[numbers] >= chosen)
    )


def test_points_on_boundaries_are_located(tmp_path: Path) -> None:
    weights = [[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, -1.0]], [[1.0, -2.0, 1.0, 3.0]] * 2]
    network = Network.mlp([*weights, [[1.0, 1.0]]], [[0.0] * 4, [0.0, -1.0], [0.0]])
    stored = enumerate_regions(network, Box(-2, 2), out=tmp_path)
    points = np.stack(np.meshgrid(*[np.arange(-3.0, 4.0)] * 2), axis=-1).reshape(-1, 2)
    for point, number in zip(points, stored.locate(points), strict=True):
        assert (number >= 0) == (abs(point) <= 2).all()
        assert number < 0 or stored[int(number)].contains(point[None]).all()


def test_measures_are_those_of_all_regions(stored: StoredRegions, expected: Regions) -> None:
    assert stored.total_volume() == pytest.approx(16.0)
    assert stored.lipschitz() == measure.lipschitz(expected)
    assert np.allclose(stored.mean(), measure.mean(expected))
    found, whole = stored.extrema(), measure.extrema(expected)
    assert np.array_equal(found.maximum, whole.maximum)
    assert np.array_equal(found.argmin, whole.argmin)


@pytest.mark.parametrize("inputs", [3, 5, 6])
def test_measures_in_more_inputs(inputs: int, tmp_path: Path) -> None:
    """From corners and facets, and from patterns and witnesses alone."""
    network = random_network([inputs, 6, 3, 2])
    whole = enumerate_regions(network, Box(-1, 1))
    enumerate_regions(network, Box(-1, 1), out=tmp_path / "regions")
    stored = Regions.open(tmp_path / "regions")
    found, expected = stored.extrema(workers=2), measure.extrema(whole)
    np.testing.assert_allclose(found.maximum, expected.maximum)
    np.testing.assert_allclose(found.argmin, expected.argmin)
    np.testing.assert_allclose(stored.integral(workers=2), measure.integral(whole))
    np.testing.assert_allclose(stored.mean(), measure.mean(whole))
    np.testing.assert_allclose(stored.total_volume(), 2.0**inputs)
    assert stored.lipschitz("l1", workers=2) == measure.lipschitz(whole, "l1")
    points = np.random.default_rng(0).uniform(-1.2, 1.2, (300, inputs))
    points[::7] = np.round(points[::7])
    assert (stored.locate(points, workers=2) == whole.locate(points)).all()


def test_nothing_has_no_largest_value(stored: StoredRegions) -> None:
    nothing = stored.filter(lambda batch: np.zeros(len(batch), np.bool_))
    for ask in (nothing.extrema, nothing.lipschitz, nothing.mean):
        with pytest.raises(InvalidInputError, match="there are no regions"):
            ask()
    assert nothing.integral().tolist() == [0.0, 0.0]
    assert nothing.locate([[0.0, 0.0]]).tolist() == [-1]
    with pytest.raises(InvalidInputError, match="to_regions"):
        measure.extrema(stored)  # type: ignore[arg-type]


def test_the_tip_of_a_thin_region_is_in_it(tmp_path: Path) -> None:
    wedge = Network.mlp([[[0.0, 1.0], [-1e-9, 1.0]], [[1.0, 1.0]]])
    enumerate_regions(wedge, out=tmp_path / "wedge")
    stored = Regions.open(tmp_path / "wedge")
    some = stored.filter(lambda batch: np.array([text == "10" for text in batch.texts()]))
    assert some.locate([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0]]).tolist() == [0, 0, -1]


def test_points_in_other_regions_need_no_rationals(
    stored: StoredRegions, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = stored.filter(lambda batch: np.arange(len(batch)) < 3)
    points = np.random.default_rng(0).uniform(-1, 1, (2000, 2))

    def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(comfort, "patterns_around", never)
    numbers = some.locate(points)
    assert (numbers >= -1).all()
    assert (numbers < len(some)).all()


def test_work_on_a_folder_shows_a_bar_and_ends_in_time(
    stored: StoredRegions, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    points = np.zeros((10, 2))
    ways: list[Any] = [
        lambda **options: stored.locate(points, **options),
        *(stored.extrema, stored.lipschitz, stored.integral, stored.mean, stored.total_volume),
    ]
    for ask in ways:
        ask(progress=False)
        assert " regions" not in capsys.readouterr().err
        ask(progress=True)
        assert " regions" in capsys.readouterr().err
        with pytest.raises(TimeLimitError), time_limit(0):
            ask()
    with pytest.raises(TimeLimitError), time_limit(0):
        stored.to_regions()
    with pytest.raises(InvalidInputError, match="workers"):
        stored.locate(points, workers=0)


def test_too_many_for_memory(stored: StoredRegions) -> None:
    with pytest.raises(InvalidInputError, match="more than max_bytes=1000"):
        stored.to_regions(max_bytes=1000)


def test_all_faces_of_a_folder(
    stored: StoredRegions, expected: Regions, network: Network, tmp_path: Path
) -> None:
    found, whole = stored.complex(), expected.complex()
    assert found.f_vector == whole.f_vector
    assert (found.boundary(2) != whole.boundary(2)).nnz == 0
    assert np.array_equal(found.vertices, whole.vertices)
    assert found.betti() == (1, 0, 0)
    with pytest.raises(InvalidInputError, match="more than max_bytes=1000"):
        stored.complex(max_bytes=1000)
    with pytest.raises(InvalidInputError, match="not complete"):
        stored.filter(lambda batch: batch.volumes > 0.01).complex()
    bare = enumerate_regions(network, Box(-2, 2), out=RegionFolder(tmp_path / "run", columns=[]))
    assert bare.complex().f_vector == whole.f_vector
    along = enumerate_regions(network, Box(-2, 2), out=tmp_path / "along", where=Level(0.0))
    assert 0 < len(along) < len(stored)
    assert along.complex().level_set(0, 0.0).f_vector == whole.level_set(0, 0.0).f_vector
    nowhere = enumerate_regions(network, Box(-2, 2), out=tmp_path / "none", where=Level(1e9))
    with pytest.raises(InvalidInputError, match="there are none"):
        nowhere.complex()


def test_a_budget_ends_it_and_the_same_call_goes_on(
    tmp_path: Path, network: Network, expected: Regions
) -> None:
    lengths = []
    while True:
        budget = (lengths[-1] if lengths else 0) + 700
        stored = enumerate_regions(
            network, Box(-2, 2), out=tmp_path, max_regions=budget, max_bytes=0
        )
        lengths.append(len(stored))
        if stored.complete:
            break
        assert stored.stats["ended_by"] == "max_regions"
        assert len(stored) >= budget
        assert_same_columns(stored.take(range(budget)), rows(expected, np.arange(budget)))
    assert len(lengths) > 1
    assert_same_columns(stored.to_regions(), expected)
    assert not [file for file in tmp_path.iterdir() if file.name.startswith((".", "state"))]


_PROGRAM = """
import sys, json
import numpy as np
sys.path.insert(0, sys.argv[2])
from searching import random_network
from tropicell import Box, Network, RegionFolder, count_regions, enumerate_regions
count_regions(Network.mlp([np.ones((1, 2)), [[1.0]]]))
print("ready", flush=True)
network = random_network([2, 40, 40, 40, 1])
enumerate_regions(network, Box(-2, 2), out=sys.argv[1], max_bytes=0, workers=2)
"""


@pytest.mark.posix
def test_a_killed_writer_loses_nothing(tmp_path: Path) -> None:
    expected = enumerate_regions(random_network([2, 40, 40, 40, 1]), Box(-2, 2))
    folder = tmp_path / "run"
    for delay in (0.02, 0.1, 0.2):
        process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(folder), str(Path(__file__).parents[1])],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        limit = time.monotonic() + LIMIT
        while not (folder / "manifest.json").exists() and time.monotonic() < limit:
            time.sleep(0.002)
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.wait(LIMIT)
        process.stdout.close()
    # What a killed writer leaves behind does not count.
    (folder / "part-999999.parquet").write_bytes(b"half")
    (folder / ".half.npz").write_bytes(b"half")
    network = random_network([2, 40, 40, 40, 1])
    stored = enumerate_regions(network, Box(-2, 2), out=folder, max_bytes=0)
    assert_same_columns(stored.to_regions(), expected)
    assert sorted(map(str, folder.glob("*.parquet"))) == stored.files


def test_folders_of_others_are_refused(
    tmp_path: Path, network: Network, stored: StoredRegions
) -> None:
    folder = Path(stored.files[0]).parent
    with pytest.raises(CheckpointError, match="its network is"):
        enumerate_regions(random_network([2, 3, 1]), Box(-2, 2), out=folder)
    with pytest.raises(CheckpointError, match="its domain is"):
        enumerate_regions(network, Box(-1, 1), out=folder)
    with pytest.raises(CheckpointError, match="its columns is"):
        enumerate_regions(network, Box(-2, 2), out=RegionFolder(folder, columns=()))
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(InvalidInputError, match=r"holds 'letter.txt'"):
        enumerate_regions(network, out=tmp_path)
    with pytest.raises(ModelFileError, match="no manifest"):
        Regions.open(tmp_path)
    with pytest.raises(FileWriteError, match="can't be made a folder"):
        enumerate_regions(network, out=tmp_path / "letter.txt")
    with pytest.raises(InvalidInputError, match="do not go together"):
        enumerate_regions(network, out=tmp_path / "a", checkpoint=tmp_path / "b")
    with pytest.raises(InvalidInputError, match="no folders of regions"):
        enumerate_regions(network, out=tmp_path / "a", engine="traverse")


def test_a_full_disk_is_an_error_and_the_folder_stays_as_it_was(
    tmp_path: Path, network: Network, expected: Regions, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, calls = region_folder.write_part, []

    def full(*arguments: object) -> object:
        calls.append(arguments)
        if len(calls) > 2:
            raise OSError(28, "No space left on device")
        return write(*arguments)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(region_folder, "write_part", full)
        with pytest.raises(FileWriteError, match=r"No space left on device.*make room"):
            enumerate_regions(network, Box(-2, 2), out=tmp_path, max_bytes=0)
    broken = Regions.open(tmp_path)
    assert 0 < len(broken) < len(expected)
    assert not broken.complete
    stored = enumerate_regions(network, Box(-2, 2), out=tmp_path)
    assert_same_columns(stored.to_regions(), expected)


def forget_checksums(folder: Path) -> dict[str, Any]:
    """Make a folder what older versions wrote; the contents of its manifest."""
    manifest = folder / "manifest.json"
    data = json.loads(manifest.read_text())
    for key in ("checksum", "files", "generation", "writer"):
        del data[key]
    data["parts"] = [{k: p[k] for k in ("name", "regions", "bytes")} for p in data["parts"]]
    manifest.write_text(json.dumps(data))
    return dict(data)


def test_damaged_folders_are_refused(tmp_path: Path) -> None:
    network = random_network([2, 4, 1])
    enumerate_regions(network, out=tmp_path)
    manifest = tmp_path / "manifest.json"
    data = forget_checksums(tmp_path)
    text = manifest.read_text()
    for damage in (
        "{",
        "[]",
        "[" * 100_000,
        json.dumps(data | {"version": 2}),
        json.dumps(data | {"parts": [{"name": "../../secret.parquet", "regions": 1, "bytes": 1}]}),
        json.dumps(data | {"parts": [data["parts"][0] | {"regions": float("inf")}]}),
        json.dumps(data | {"parts": data["parts"] * 2}),
        json.dumps(data | {"state": "/etc/state-000001.npz"}),
        json.dumps(data | {"state": 3}),
        json.dumps(data | {"saved": 1e400}),
        json.dumps({k: v for k, v in data.items() if k != "identity"}),
        json.dumps(data | {"files": {}}),
    ):
        manifest.write_text(damage)
        with pytest.raises(ModelFileError, match=r"manifest\.json"):
            Regions.open(tmp_path)
    manifest.write_text(text)
    part = tmp_path / "part-000001.parquet"
    content = part.read_bytes()
    part.write_bytes(content[:-20])
    with pytest.raises(ModelFileError, match=r"part-000001\.parquet: is damaged: it has"):
        Regions.open(tmp_path)
    part.write_bytes(content[:-20] + bytes(20))
    with pytest.raises(ModelFileError, match=r"part-000001\.parquet: can't be read"):
        Regions.open(tmp_path).to_regions()
    part.unlink()
    with pytest.raises(ModelFileError, match=r"part-000001\.parquet: is missing"):
        Regions.open(tmp_path)


def test_folders_without_checksums_are_read_and_go_on(
    tmp_path: Path, network: Network, expected: Regions
) -> None:
    part = enumerate_regions(network, Box(-2, 2), out=tmp_path, max_regions=500, max_bytes=0)
    assert not part.complete
    forget_checksums(tmp_path)
    old = Regions.open(tmp_path)
    old.verify()
    assert len(old) == len(part)
    stored = enumerate_regions(network, Box(-2, 2), out=tmp_path)
    assert_same_columns(stored.to_regions(), expected)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert "sha256" in manifest["parts"][-1]
    assert "checksum" in manifest


def test_every_flipped_bit_is_noticed(tmp_path: Path) -> None:
    """Also those between the pages of Parquet files, which their own checksums do not cover."""
    folder = tmp_path / "run"
    folders.write("folder", folder, budget=60)
    truth = folders.pack(folder)
    good = folders.load_folder(folder)
    rng = random.Random(0)
    files = folders.unpacked(truth)
    refused = 0
    for number in range(120):
        name = sorted(files)[number % len(files)]
        folders.put(folder, truth)
        (folder / name).write_bytes(folders.flip(files[name], rng))
        outcome = folders.outcome(folders.load_folder, folder, good)
        assert outcome != "WRONG", (name, number)
        refused += outcome != "same"
    assert refused > 110


def test_verify_names_what_is_damaged(tmp_path: Path, network: Network) -> None:
    stored = enumerate_regions(network, Box(-2, 2), out=tmp_path, max_bytes=0)
    stored.verify()
    file = Path(stored.files[1])
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(bytes(content))
    for action in (stored.verify, stored.to_regions, lambda: stored.take(range(len(stored)))):
        with pytest.raises(ModelFileError, match=rf"{file.name}: is damaged"):
            action()
    stored.take([0])  # the first file is as it was
    with pytest.raises(CheckpointError, match=rf"{file.name}: is damaged.*delete the folder"):
        enumerate_regions(network, Box(-2, 2), out=tmp_path)


def test_pages_have_checksums_for_other_programs(tmp_path: Path) -> None:
    stored = enumerate_regions(random_network([2, 4, 1]), out=tmp_path)
    file = Path(stored.files[0])
    content = bytearray(file.read_bytes())
    found = 0
    for place in range(4, len(content) - 1000, 97):
        damaged = bytearray(content)
        damaged[place] ^= 1
        file.write_bytes(bytes(damaged))
        try:
            stored.dataset().to_table()
        except (OSError, ValueError) as error:
            found += "CRC" in str(error)
    assert found > 3


def test_checked_streams_give_what_was_written() -> None:
    content = random.Random(0).randbytes(3 * BLOCK + 17)
    sums = sums_of(io.BytesIO(content))
    stream, rng = CheckedStream(io.BytesIO(content), sums, "a file"), random.Random(1)
    for _ in range(200):
        start, size = rng.randrange(len(content) + 5), rng.choice((0, 1, 5000, BLOCK, 2 * BLOCK))
        stream.seek(start)
        assert stream.read(size) == content[start : start + size]
        assert stream.tell() == start + len(content[start : start + size])
    damaged = CheckedStream(io.BytesIO(content[:-1]), sums, "a file")
    assert damaged.read(BLOCK) == content[:BLOCK]
    with pytest.raises(ModelFileError, match="a file: is damaged"):
        damaged.read()


# --- two writers ------------------------------------------------------------------------------


def test_two_writers_are_refused(tmp_path: Path, network: Network) -> None:
    first = OpenFolder(
        RegionFolder(tmp_path), {"network": "a"}, Quotient.trivial(network, Box(-2, 2))
    )
    with pytest.raises(CheckpointError, match=r"is being written by process \d+ on"):
        OpenFolder(RegionFolder(tmp_path), {"network": "a"}, Quotient.trivial(network, Box(-2, 2)))
    first.close()
    OpenFolder(
        RegionFolder(tmp_path), {"network": "a"}, Quotient.trivial(network, Box(-2, 2))
    ).close()
    assert not (tmp_path / ".lock").exists()


def test_a_writer_whose_url_was_taken_stops(network: Network) -> None:
    pytest.importorskip("fsspec", reason="fsspec is not installed")
    url = RegionFolder("memory://runs/two")
    task = task_of("cells", network, Box(-2, 2), "exact", store=True)
    first = OpenFolder(url, {"network": "a"}, Quotient.trivial(network, Box(-2, 2)))
    first.commit(task, [task.root()], [], {})
    second = OpenFolder(url, {"network": "a"}, Quotient.trivial(network, Box(-2, 2)))
    with pytest.raises(CheckpointError, match="another process has written to this folder"):
        first.commit(task, [task.root()], [], {})
    second.commit(task, [task.root()], [], {})  # it was left alone
    assert read_manifest(second.place).writer == second.manifest.writer


def test_at_a_url_there_is_always_a_manifest(network: Network) -> None:
    """Whichever of the two is being written, the other one counts."""
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")
    url = "memory://runs/three"
    out = RegionFolder(url, every=0.0)
    stored = enumerate_regions(network, Box(-2, 2), out=out, max_bytes=0, max_regions=700)
    system = fsspec.filesystem("memory")
    whole = enumerate_regions(network, Box(-2, 2))
    contents = {
        n: system.cat_file(f"/runs/three/{n}") for n in ("manifest.json", "manifest-2.json")
    }
    for name, content in contents.items():
        system.pipe_file(f"/runs/three/{name}", content[:100])
        with pytest.warns(CheckpointWarning, match=f"{name}: can't be read"):
            again = Regions.open(url)
        assert 0 < len(again) <= len(stored)
        assert again.to_regions().texts() == whole.texts()[: len(again)]
        system.pipe_file(f"/runs/three/{name}", content)
    assert_same_columns(enumerate_regions(network, Box(-2, 2), out=out).to_regions(), whole)


# --- odd places -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a\0b", "x" * 300, "\udcff\0", "\ud800", "file/below", "file"])
def test_odd_paths_are_errors_of_ours(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    network, path = random_network([2, 3, 1]), str(tmp_path / name)
    for action in (
        lambda: enumerate_regions(network, out=path),
        lambda: enumerate_regions(network, checkpoint=path),
        lambda: Regions.open(path),
        lambda: save(network, path + ".npz") if name != "file" else Regions.open(path),
    ):
        with pytest.raises(TropicellError) as caught:
            action()
        assert str(tmp_path) in str(caught.value)
        assert str(caught.value).isprintable()


@pytest.mark.posix
def test_names_that_are_no_text_are_fine(tmp_path: Path) -> None:
    network = random_network([2, 3, 1])
    folder = os.fsencode(tmp_path) + b"/\xff"
    stored = enumerate_regions(network, out=folder)  # type: ignore[call-overload]
    assert len(Regions.open(os.fsdecode(folder))) == len(stored)
    enumerate_regions(network, checkpoint=folder + b"2")  # type: ignore[call-overload]
    with pytest.raises(InvalidInputError, match="not 3"):
        enumerate_regions(network, out=3)  # type: ignore[call-overload]
    with pytest.raises(InvalidInputError, match="can't be reached"):
        enumerate_regions(network, out="nonsense://a/b")


@pytest.mark.parametrize("name", ["manifest.json", "network.npz", "part-000001.parquet"])
def test_folders_in_the_place_of_files_are_refused(name: str, tmp_path: Path) -> None:
    network = random_network([2, 3, 1])
    enumerate_regions(network, out=tmp_path)
    (tmp_path / name).unlink()
    (tmp_path / name).mkdir()
    with pytest.raises(ModelFileError, match=name):
        Regions.open(tmp_path)
    with pytest.raises(TropicellError, match=name):
        enumerate_regions(network, out=tmp_path)


@pytest.mark.parametrize("step", ["to_table", "write_part"])
def test_no_memory_keeps_what_was_written(
    step: str,
    tmp_path: Path,
    network: Network,
    expected: Regions,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    original, calls = getattr(region_folder, step), []

    def fail(*arguments: Any) -> Any:
        calls.append(1)
        if len(calls) > 2:
            raise MemoryError
        return original(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(region_folder, step, fail)
        with pytest.warns(IncompleteWarning, match="MemoryError"):
            part = enumerate_regions(network, Box(-2, 2), out=tmp_path, max_bytes=0)
    assert not part.complete
    assert part.stats["ended_by"] == "MemoryError"
    assert 0 < len(part) < len(expected)
    stored = enumerate_regions(network, Box(-2, 2), out=tmp_path)
    assert_same_columns(stored.to_regions(), expected)


def test_with_little_memory_regions_go_to_more_files(
    tmp_path: Path, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = region_folder.to_table

    def small(batches: Any, *options: Any) -> Any:
        if len(batches) > 1:
            raise MemoryError
        return original(batches, *options)

    monkeypatch.setattr(region_folder, "to_table", small)
    with small_units(100):
        stored = enumerate_regions(network, Box(-2, 2), out=tmp_path)
        expected = enumerate_regions(network, Box(-2, 2))
    assert stored.complete
    assert len(stored.files) > 1
    assert_same_columns(stored.to_regions(), expected)


def test_slices_and_many_inputs(tmp_path: Path) -> None:
    network = random_network([6, 7, 1])
    stored = enumerate_regions(network, Box(-1, 1), out=tmp_path / "six")
    assert_same_columns(stored.to_regions(), enumerate_regions(network, Box(-1, 1)))
    assert np.isnan(stored.to_pandas(["x6"])["x6"]).sum() == 0
    plane = Slice(np.zeros(6), np.eye(6)[:2], Box(-1, 1))
    stored = enumerate_regions(network, plane, out=tmp_path / "plane")
    assert stored.network.embedding is not None
    assert_same_columns(stored.to_regions(), enumerate_regions(network, plane))


def test_a_url_is_as_good_as_a_folder() -> None:
    pytest.importorskip("fsspec", reason="fsspec is not installed")
    network = random_network([2, 8, 1])
    stored = enumerate_regions(network, out="memory://runs/one", max_regions=5, max_bytes=0)
    stored = enumerate_regions(network, out="memory://runs/one")
    assert_same_columns(stored.to_regions(), enumerate_regions(network))
    assert_same_columns(Regions.open("memory://runs/one").to_regions(), stored.to_regions())


def test_the_command_line_writes_and_shows_folders(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    network = random_network([2, 6, 1])
    save(network, tmp_path / "net.npz")
    model, folder = str(tmp_path / "net.npz"), str(tmp_path / "run") + "/"
    count = len(enumerate_regions(network))
    assert main(["enumerate", model, "--out", folder, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["regions"] == count
    assert len(Regions.open(folder)) == count
    assert main(["enumerate", model, "--out", folder]) == 0
    assert f"{count} linear regions" in capsys.readouterr().out
    assert main(["show", folder]) == 0
    assert "patterns, witnesses" in capsys.readouterr().out
    assert main(["show", folder, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["complete"]
    assert main(["show", folder, "--region", "0"]) == 2
    other = str(tmp_path / "other")
    assert main(["enumerate", model, "--out", other, "--format", "parquet"]) == 0
    assert len(Regions.open(other)) == count
