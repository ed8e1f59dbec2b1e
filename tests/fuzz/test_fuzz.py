"""Some hundred damaged files, as `benchmarks/fuzz.py` runs a hundred thousand of them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fuzz.flips import CHECKED, flip
from fuzz.seeds import write_seeds
from fuzz.worker import case

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="files are watched by inotify, memory is limited by setrlimit"
)

CASES = {"npz": 120, "onnx": 120, "regions": 60, "certificate": 40}
CASES |= {"folder": 100, "checkpoint": 100}
CASES |= {"cache": 60, "slice": 100, "points": 60, "lab": 60, "idx": 60}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fuzz")
    write_seeds(path / "seeds", list(CASES))
    return path


@pytest.mark.parametrize("kind", CASES)
def test_damaged_files(kind: str, folder: Path) -> None:
    worker = Path(__file__).with_name("worker.py")
    done = subprocess.run(
        [sys.executable, str(worker), str(folder), kind, "0", str(CASES[kind])],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    *lines, peak = done.stdout.splitlines()
    assert peak.startswith("peak ")
    outcomes = [line.split(" ", 2)[1:] for line in lines]
    assert len(outcomes) == CASES[kind]
    assert [json.loads(trouble) for letter, trouble in outcomes if letter == "x"] == []
    # some damage does no harm, but hardly any is possible where all bytes have checksums
    assert {letter for letter, _ in outcomes} in ({"n", "e"}, {"e"} if kind == "folder" else set())


def test_the_same_cases_every_time(folder: Path) -> None:
    """A case that fails in one run can be run again."""
    for kind in CASES:
        seed = sorted((folder / "seeds" / kind).iterdir())[0].read_bytes()
        first, again = (case(kind, 5, [seed]) for _ in range(2))
        assert first == again
        assert any(case(kind, i, [seed])[0] != seed for i in range(5))


def test_the_guard_sees_what_is_forbidden(tmp_path: Path) -> None:
    """In a process of its own: audit hooks can't be taken out again."""
    code = f"""
import pickle, sys
sys.path.insert(0, {str(Path(__file__).resolve().parents[1])!r})
from pathlib import Path
from fuzz.guard import Guard
folder = Path({str(tmp_path)!r}) / "inside"
folder.mkdir()
(folder / "a").write_text("a")
outside = folder.parent / "canary.txt"
outside.write_text("b")
guard = Guard(folder, outside)
with guard:
    (folder / "a").read_text()
assert guard.violations == [], guard.violations
with guard:
    outside.read_text()
assert any("open" in v for v in guard.violations) and any("beside" in v for v in guard.violations)
with guard:
    pickle.loads(pickle.dumps(print))
assert any("pickle.find_class" in v for v in guard.violations)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize("kind", CHECKED)
def test_flipped_bits(kind: str, tmp_path: Path) -> None:
    """Any single bit: the same content, or an error that names the file."""
    outcomes, troubles = flip(kind, tmp_path, 60)
    assert troubles == []
    assert outcomes["refused"] > 30
    assert outcomes["refused"] + outcomes["same"] == 60
