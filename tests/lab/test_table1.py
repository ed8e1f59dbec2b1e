"""Table 1, small."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tropicell import Box, count_regions
from tropicell.cli import main
from tropicell.lab import Options, Run, readings, run_experiment
from tropicell.lab.run import read_table
from tropicell.lab.table1 import EXPERIMENT, PUBLISHED, Table1Settings, _counts, _network

SMALL = Table1Settings(networks=6, large=8, trials=50, bootstrap=3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The command, with fewer networks than even its quick version."""
    place = tmp_path_factory.mktemp("table1")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tropicell.lab.table1.EXPERIMENT", replace(EXPERIMENT, quick=SMALL))
        assert main(["lab", "table1", "--quick", "--out", str(place), "--seed", "5"]) == 0
    return place


def test_counts_are_those_of_the_named_networks(folder):
    lines = (folder / "counts.csv").read_text().splitlines()[1:]
    assert len(lines) == 6 * 2 * 6
    run = Run("table1", "", folder, Options(seed=5))
    rows = {row.name: row for row in PUBLISHED}
    for line in lines[::7]:
        name, kind, index, inside, everywhere = line.split(",")
        network = _network(run, rows[name], kind, int(index))
        assert network.skips == (list(rows[name].skips) if kind == "with" else [])
        assert count_regions(network, Box(-10, 10)) == int(inside)
        assert count_regions(network) == int(everywhere)


def test_every_row_has_published_and_measured_numbers(folder):
    numbers = json.loads((folder / "numbers.json").read_text())["numbers"]
    for row in PUBLISHED:
        found = numbers["rows"][row.name]
        assert found["published"]["means"] == list(row.means)
        assert found["plane"]["mean_without"] >= found["box"]["mean_without"]
        assert 0 <= found["power"]["low"] <= found["power"]["value"] <= found["power"]["high"] <= 1
        assert all(0 < p <= 1 for p in found["gamma_bootstrap"])
        assert 0 <= found["box"]["u"] <= 36
    assert numbers["published_p_is_two_tailed"] == [row.name for row in PUBLISHED]


def test_more_networks_keep_the_first_ones(folder):
    run = Run("table1", "", folder, Options(seed=5))
    box = Box(-10, 10)
    six, eight = (_counts(run, PUBLISHED[5], "with", box, n) for n in (6, 8))
    assert (eight[:6] == six).all()


def test_a_report_is_there_for_people(folder):
    text = (folder / "report.md").read_text()
    assert "| 3×4, 1→3 | 52.3 |" in text
    assert "Over the whole plane" in text
    assert (folder / "report.html").exists()
    assert (folder / "box-and-plane.pdf").exists()


def test_verdicts_follow_from_the_numbers(folder):
    kept = json.loads((folder / "numbers.json").read_text())
    claims = {claim["key"]: claim for claim in kept["claims"]}
    rejected = kept["numbers"]["rejected_in_box"]
    expected = {0: "does not hold", 6: "holds"}.get(len(rejected), "holds in part")
    assert claims["table1 tests"]["verdict"] == expected
    assert f"{len(rejected)} of 6" in claims["table1 tests"]["evidence"]
    assert "judged by these numbers" in (folder / "report.md").read_text()


def test_readings_are_compared_with_what_was_published(tmp_path):
    small = replace(readings.EXPERIMENT.quick, networks=2)
    run = run_experiment(readings.EXPERIMENT, tmp_path, Options(workers=1), small)
    fits = run.numbers["fits"]
    assert len(fits) == len(readings.readings())
    assert [fit["chi_squared"] for fit in fits] == sorted(fit["chi_squared"] for fit in fits)
    rows = read_table(tmp_path, "readings")
    own = [row for row in rows if [row[n] for n in readings._NAMES] == fits[0]["reading"]]
    assert sum(float(row["z"]) ** 2 for row in own) == pytest.approx(fits[0]["chi_squared"])
    (claim,) = run.claims
    assert claim.verdict in ("holds", "holds in part", "does not hold")
