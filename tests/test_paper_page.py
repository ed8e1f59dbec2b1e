"""The notes on the paper: statements are checked, and verdicts follow from the lab's numbers."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType

import pytest

import tropicell

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "paper.md").read_text("utf-8")


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_paper", ROOT / "docs" / "make_paper.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def between(name: str) -> str:
    return re.search(rf"<!-- {name} -->\n(.*?)<!-- end of {name} -->", PAGE, re.DOTALL)[1]


def test_what_the_page_states_was_checked(script: ModuleType) -> None:
    """Rows that a check decides are those that it gives now."""
    table = between("statements")
    decided = [(what, how) for what, _, how in script.STATEMENTS if not isinstance(how, str)]
    assert len(decided) > 10
    for what, how in decided:
        word, evidence = how()
        assert f"| {what} | " in table
        assert f"| **{word}** | {evidence} |" in table, what
    for what, _, _ in script.STATEMENTS:
        assert f"| {what} | " in table


def test_verdicts_come_from_numbers(script: ModuleType, tmp_path: Path, monkeypatch) -> None:
    claim = {
        "key": "k",
        "where": "Sect. 6",
        "text": "More.",
        "verdict": "holds",
        "evidence": "9 | 9",
    }
    (tmp_path / "lab" / "fig3").mkdir(parents=True)
    file = tmp_path / "lab" / "fig3" / "numbers.json"
    monkeypatch.setattr(script, "PLACE", tmp_path)
    file.write_text(json.dumps({"claims": [claim]}), encoding="utf-8")
    assert script.of_a_run("fig3") == ("holds", "1 claim, below")
    assert script.of_a_run("fig2")[0] == "see the report"
    assert "| More. (Sect. 6) |" in script.table(script.claim_rows())
    assert r"9 \| 9" in script.table(script.claim_rows())
    file.write_text(json.dumps({"claims": [claim, claim | {"verdict": "does not hold"}]}), "utf-8")
    assert script.of_a_run("fig3") == ("mixed", "does not hold: 1, holds: 1")
    page = "a\n<!-- claims -->\nold\n<!-- end of claims -->\nb"
    assert script.replaced(page, "claims", "new") == page.replace("old", "new")


def test_names_of_symbols_exist() -> None:
    """Files in the table of symbols are there, and so are the public names."""
    table = PAGE[PAGE.index("## Symbols") : PAGE.index("## Statement by")]
    files = re.findall(r"`(tropicell/[\w/]+\.py)`", table)
    assert len(files) > 5
    assert all((ROOT / "src" / file).is_file() for file in files)
    for name in re.findall(r"`([A-Z]\w+)\(network\)", table):
        assert hasattr(tropicell, name)
    for symbol in [
        "L",
        "A",
        "ρ",
        "ν",
        "⊕",
        "⊗",
        "⊘",
        "F",
        "G",
        "H",
        "v",
        "K",
        "σ",
        "S",
        "φ",
        "μ",
        "U",
    ]:
        assert symbol in table
