"""The framework: folders, finished work, seeds, reports, the command."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from tropicell.cli import main
from tropicell.errors import IncompleteError, InvalidInputError
from tropicell.lab import EXPERIMENTS, Experiment, Options, Run, experiment, run_experiment
from tropicell.lab.run import Report, ResultStore, code, literal, verdict_of
from tropicell.lab.texts import figure


@dataclass(frozen=True)
class _Settings:
    networks: int = 3


def _experiment(calls, fail_at=None, error=KeyboardInterrupt):
    """Squares of numbers; each is a unit of work that is noted in `calls`."""

    def work(run: Run, settings: _Settings) -> None:
        values = []
        for i in run.steps(range(settings.networks), "squaring"):

            def square(i=i):
                if i == fail_at:
                    raise error
                calls.append(i)
                return {"value": i * i, "noise": run.rng("noise", i).random(2)}

            arrays = run.unit(f"square {i}", {"i": i}, square)
            values.append([int(arrays["value"]), *arrays["noise"].tolist()])
        run.numbers["values"] = values
        run.table("values", ["square", "a", "b"], values)
        run.report.text("Squares of **numbers** < `9`.")
        run.report.table(["n", "square"], [[i, v[0]] for i, v in enumerate(values)], "Squares.")
        made, axes = figure(1, 2)
        axes[0, 0].plot([v[0] for v in values])
        run.picture(made, "squares", "The squares.")

    return Experiment("toy", "A toy", work, full=_Settings(), quick=_Settings(networks=1))


def test_all_files_are_written_and_agree(tmp_path):
    run_experiment(_experiment([]), tmp_path)
    names = {file.name for file in tmp_path.iterdir()}
    assert names == {
        "finished",
        "numbers.json",
        "report.html",
        "report.md",
        "squares.pdf",
        "squares.png",
        "values.csv",
    }
    numbers = json.loads((tmp_path / "numbers.json").read_text())
    rows = (tmp_path / "values.csv").read_text().splitlines()
    assert rows[0] == "square,a,b"
    assert [float(x) for x in rows[3].split(",")] == numbers["numbers"]["values"][2]
    report = (tmp_path / "report.md").read_text()
    assert "| 2 | 4 |" in report
    assert "![The squares.](squares.png)" in report
    assert re.search(r"versions: Python .*numpy", report)


def test_html_report_needs_nothing_but_itself(tmp_path):
    run_experiment(_experiment([]), tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert "<strong>numbers</strong> &lt; <code>9</code>" in page
    assert 'src="data:image/png;base64,' in page
    assert not re.search(r"(src|href)=\"(?!data:)", page)


def test_finished_work_is_not_done_again(tmp_path):
    calls: list[int] = []
    first = run_experiment(_experiment(calls), tmp_path)
    again = run_experiment(_experiment(calls), tmp_path)
    more = run_experiment(_experiment(calls), tmp_path, networks=5)
    assert calls == [0, 1, 2, 3, 4]
    assert again.numbers == first.numbers
    assert (again.reused, again.computed) == (3, 0)
    assert (more.reused, more.computed) == (3, 2)
    assert "3 of 5 parts had been finished before" in (tmp_path / "report.md").read_text()


def test_an_interrupted_run_goes_on_and_ends_the_same(tmp_path):
    calls: list[int] = []
    for error in (KeyboardInterrupt, IncompleteError(7)):
        with pytest.raises(KeyboardInterrupt):
            run_experiment(_experiment(calls, fail_at=2, error=error), tmp_path / "a")
    resumed = run_experiment(_experiment(calls), tmp_path / "a")
    whole = run_experiment(_experiment([]), tmp_path / "b")
    assert calls == [0, 1, 2]
    assert resumed.numbers == whole.numbers
    for name in ("numbers.json", "values.csv", "squares.png", "squares.pdf"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_another_seed_is_other_work(tmp_path):
    calls: list[int] = []
    one = run_experiment(_experiment(calls), tmp_path, Options(seed=1))
    two = run_experiment(_experiment(calls), tmp_path, Options(seed=2))
    assert len(calls) == 6
    assert one.numbers != two.numbers


def test_quick_takes_the_quick_settings(tmp_path):
    run = run_experiment(_experiment([]), tmp_path, Options(quick=True))
    assert len(run.numbers["values"]) == 1


def test_claims_are_written_for_people_and_scripts(tmp_path):
    def work(run: Run, settings: _Settings) -> None:
        run.claim("big", "Sect. 1", "All are big.", verdict_of(2, 3), "two of   three")

    judge = Experiment("judge", "Judge", work, full=_Settings(), quick=_Settings())
    run_experiment(judge, tmp_path)
    kept = json.loads((tmp_path / "numbers.json").read_text())
    assert kept["claims"] == [
        {
            "key": "big",
            "where": "Sect. 1",
            "text": "All are big.",
            "verdict": "holds in part",
            "evidence": "two of three",
        }
    ]
    report = (tmp_path / "report.md").read_text()
    assert "| All are big. (Sect. 1) | **holds in part** | two of three |" in report
    with pytest.raises(InvalidInputError, match="no verdict 'maybe'"):
        Run("x", "X", tmp_path, Options()).claim("a", "b", "c", "maybe", "d")


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"colour": 1}, "no setting 'colour'; it has networks"), ({"networks": 0}, "1 or more")],
)
def test_bad_changes_are_refused(tmp_path, changes, message):
    with pytest.raises(InvalidInputError, match=message):
        run_experiment(_experiment([]), tmp_path, **changes)


def test_random_numbers_do_not_depend_on_order():
    run = Run("x", "X", Path("x"), Options(seed=3))
    a = run.rng("net", 1).random(3)
    run.rng("net", 2).random(3)
    assert (run.rng("net", 1).random(3) == a).all()
    assert not (run.rng("net", 2).random(3) == a).any()
    assert not (run.rng("other", 1).random(3) == a).any()


def test_the_store_tells_settings_apart(tmp_path):
    store = ResultStore(tmp_path, {"seed": 0})
    store.put("a/b c", {"skips": ((1, 3),)}, {"x": np.arange(3)})
    assert store.get("a/b c", {"skips": [[1, 3]]})["x"].tolist() == [0, 1, 2]  # type: ignore[index]
    assert store.get("a/b c", {"skips": []}) is None
    assert ResultStore(tmp_path, {"seed": 1}).get("a/b c", {"skips": ((1, 3),)}) is None
    assert [file.suffix for file in tmp_path.iterdir()] == [".npz"]


#: Names of files that mean something in Markdown or HTML.
NAMES = (
    "a`](https://x.org) `b.py",
    "``x` [a](b) ``.npz",
    "<script>alert(1)</script>.npz",
    "[click](javascript:alert(1)).npz",
    "![x](y.png)|a|b|.npz",
    "two\n\n# lines\r\x1b[31m.npz",
    "*a* **b** _c_ ~~d~~ &lt; \\` \\| $x$",
    " spaces ",
    "`",
    "\ue0000\ue001 \udcff é →",
)


@pytest.mark.parametrize("name", NAMES)
def test_names_of_files_stay_text(name: str, tmp_path: Path) -> None:
    """Whatever a file is called: no link, no element, no new cell or line in either version."""
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in name)
    report = Report("Files")
    report.text(f"The model {code(name)}: 2 inputs.")
    report.bullets([f"Left out: {literal(name)}."])
    report.table(["file", "size"], [[literal(name), 1]], literal(name))
    report.write(tmp_path, {"file": literal(name)})
    reader = _Reader()
    reader.feed((tmp_path / "report.html").read_text(encoding="utf-8"))
    _check(reader, shown)
    markdown = pytest.importorskip("markdown_it")
    parser = markdown.MarkdownIt("commonmark").enable(["table", "strikethrough"])
    reader = _Reader()
    reader.feed(parser.render((tmp_path / "report.md").read_text(encoding="utf-8")))
    _check(reader, shown)


class _Reader(HTMLParser):
    """The text of a page, and its elements."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open = ""
        self.texts: dict[str, list[str]] = {}

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)
        self.open = tag
        self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        self.open = ""

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts[self.open][-1] += data


def _check(reader: _Reader, shown: str) -> None:
    assert not {"a", "img", "script", "del", "strong"} & set(reader.tags)
    assert reader.tags.count("code") == 1
    assert reader.tags.count("td") == 2
    squeezed = " ".join(shown.split())
    assert " ".join(reader.texts["code"][0].split()) == squeezed
    assert reader.texts["td"][0].strip() == squeezed
    assert reader.texts["li"][0].split() == f"Left out: {shown}.".split()


def test_report_escapes_what_it_is_given(tmp_path):
    report = Report("<b>")
    report.text('<script>alert("x")</script> [a](x"y)')
    page = report.html(tmp_path, {"seed": "<0>"})
    assert "<script>" not in page
    assert "<b>" not in page
    assert "<0>" not in page
    assert 'x"y' not in page


def test_every_experiment_is_found():
    for name in EXPERIMENTS:
        found = experiment(name)
        assert found.name == name
        assert type(found.full) is type(found.quick)


def test_unknown_experiments_are_refused_by_name(capsys):
    with pytest.raises(InvalidInputError, match="fig9"):
        experiment("fig9")
    assert main(["lab", "fig9"]) == 2
    assert "fig9" in capsys.readouterr().err


def test_a_setting_that_an_experiment_lacks_is_named(tmp_path, capsys):
    assert main(["lab", "table1", "--epochs", "5", "--out", str(tmp_path)]) == 2
    assert "table1 has no setting 'epochs'" in capsys.readouterr().err


def test_all_goes_on_after_a_failure(tmp_path, capsys, monkeypatch):
    def fail(run, settings):
        raise InvalidInputError("no data here")

    toys = {
        "bad": Experiment("bad", "Bad", fail, full=_Settings(), quick=_Settings()),
        "good": _experiment([]),
    }
    monkeypatch.setattr("tropicell.cli.lab.EXPERIMENTS", dict.fromkeys(toys, ""))
    monkeypatch.setattr("tropicell.lab.experiment", toys.get)
    asked = ["lab", "all", "--quick", "--epochs", "3", "--networks", "2", "--out", str(tmp_path)]
    assert main([*asked, "--json"]) == 2
    answer = capsys.readouterr()
    assert json.loads(answer.out)["failed"] == ["bad"]
    assert len(json.loads(answer.out)["done"][0]["numbers"]["values"]) == 2
    assert "bad: no data here" in answer.err
    assert (tmp_path / "good" / "report.html").exists()


def test_an_interrupted_command_says_how_to_go_on(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("tropicell.lab.experiment", lambda name: _experiment([], fail_at=1))
    assert main(["lab", "table1", "--out", str(tmp_path)]) == 130
    assert "the same command goes on" in capsys.readouterr().err


@pytest.mark.parametrize("option", [["--seed", "-1"], ["--workers", "0"]])
def test_options_that_make_no_sense_are_refused(tmp_path, capsys, option):
    assert main(["lab", "fig1", "--out", str(tmp_path / "x"), *option]) == 2
    assert option[0] in capsys.readouterr().err
    assert not (tmp_path / "x").exists()
