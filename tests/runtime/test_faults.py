"""A fault while something is written: the same call goes on, and what was saved is still there.

Every seventh step here; `python -m benchmarks.damage` goes through all of them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import faults
from faults import FAULTS, KINDS, Fault, Kind

pytest.importorskip("pyarrow", reason="the extra 'arrow' is not installed")
pytest.importorskip("fsspec", reason="fsspec is not installed")

pytestmark = [
    pytest.mark.posix,
    pytest.mark.skipif(sys.platform == "darwin", reason="forks"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("kind", KINDS)
def test_faults_lose_nothing(kind: Kind, fault: Fault, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    whole = faults.run(kind, folder, 0, fault)
    assert whole["complete"]
    assert whole["steps"] > 10
    wrong = {}
    for at in range(1 + FAULTS.index(fault), whole["steps"] + 1, 7):
        found = faults.run(kind, folder, at, fault)
        if trouble := faults.check(kind, folder, found, whole["digest"]):
            wrong[at] = trouble
    assert wrong == {}
