"""The reports in the docs follow from the tables beside them: written anew, they are the same."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tropicell.cli import main
from tropicell.lab import Run

LAB = Path(__file__).parents[2] / "docs" / "lab"

#: Reports that say how many images there are, so that they need the data sets.
WITH_DATA = ("fig4", "regions784", "table2", "table2-25")
RUNS = sorted(folder.name for folder in LAB.iterdir() if (folder / "numbers.json").is_file())


def text(report: Path) -> list[str]:
    """The lines of a report, without what tells one run from another."""
    lines = report.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith(("- time: ", "- versions: "))]


@pytest.mark.parametrize("name", RUNS)
def test_a_report_follows_from_its_tables(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name in WITH_DATA and "TROPICELL_DATA" not in os.environ:
        pytest.skip("TROPICELL_DATA is not set")
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.setattr(
        Run, "picture", lambda run, _, file, caption: run.report.picture(f"{file}.png", caption)
    )
    for file in (LAB / name).glob("*.png"):  # the page with everything in it wants them
        (tmp_path / file.name).write_bytes(file.read_bytes())
    experiment = json.loads((LAB / name / "numbers.json").read_text())["experiment"]
    assert main(["lab", experiment, "--tables", str(LAB / name), "--out", str(tmp_path)]) == 0
    assert text(tmp_path / "report.md") == text(LAB / name / "report.md")
    kept, anew = (
        json.loads((folder / "numbers.json").read_text())["claims"]
        for folder in (LAB / name, tmp_path)
    )
    assert anew == kept


def test_the_lists_of_verdicts_are_those_of_the_runs() -> None:
    claims = [
        claim
        for file in sorted(LAB.glob("*/numbers.json"))
        for claim in json.loads(file.read_text()).get("claims", ())
    ]
    for page in (LAB / "README.md", LAB.parent / "paper.md"):
        lines = page.read_text(encoding="utf-8").splitlines()
        for claim in claims:
            row = next(
                line for line in lines if claim["text"] in line and claim["evidence"] in line
            )
            assert f"**{claim['verdict']}**" in row


def test_all_runs_of_a_folder_are_written_anew(tmp_path, capsys):
    kept = tmp_path / "kept"
    for name in ("fig1", "readings"):
        (kept / name).mkdir(parents=True)
        for file in ("numbers.json", "readings.csv"):
            if (LAB / name / file).is_file():
                (kept / name / file).write_bytes((LAB / name / file).read_bytes())
    pytest.importorskip("matplotlib").use("Agg")
    assert main(["lab", "all", "--tables", str(kept), "--out", str(tmp_path / "anew")]) == 0
    assert sorted(file.parent.name for file in (tmp_path / "anew").glob("*/report.md")) == [
        "fig1",
        "readings",
    ]
    assert main(["lab", "all", "--tables", str(tmp_path / "anew" / "fig1")]) == 2
    assert "no folders of earlier runs" in capsys.readouterr().err
