"""Every region of a classifier, on tiny data sets and networks."""

from __future__ import annotations

import json

import pytest

import data_sets
from tropicell.lab import Options, experiment, run_experiment

pytest.importorskip("torch")


def test_a_small_version_says_what_it_is(tmp_path) -> None:
    (tmp_path / "data").mkdir()
    data_sets.write_npz(tmp_path / "data")
    regions784 = experiment("regions784")
    options = Options(quick=True, data=tmp_path / "data", progress=False)
    changes = {"data_sets": ("mnist",), "neurons": 3, "seconds": 0.1}
    run_experiment(regions784, tmp_path / "out", options, **changes)
    report = (tmp_path / "out" / "report.md").read_text("utf-8")
    assert "Networks with 4 layers of 3 neurons have 784 inputs" in report
    assert "with fewer images or epochs and neurons than for Table 2" in report
    numbers = json.loads((tmp_path / "out" / "numbers.json").read_text("utf-8"))["numbers"]
    assert len(numbers["networks"]) == 2
    for found in numbers["networks"].values():
        for regions, pixels, train, both, cached in zip(
            *(found[key] for key in ("regions", "pixels", "train", "both", "cached")), strict=True
        ):
            assert 1 <= both <= train <= pixels <= regions <= 8**4
            assert both <= cached <= 60
    again = Options(data=tmp_path / "data", progress=False, tables=tmp_path / "out")
    run_experiment(regions784, tmp_path / "again", again)
    assert (tmp_path / "again" / "networks.csv").read_bytes() == (
        tmp_path / "out" / "networks.csv"
    ).read_bytes()
    assert "layers of 3 neurons" in (tmp_path / "again" / "report.md").read_text("utf-8")


def test_only_the_quick_version_has_other_networks_than_table_2() -> None:
    regions784 = experiment("regions784")
    assert regions784.full.neurons == regions784.full.shape.neurons == 8
    assert regions784.quick.shape.neurons < 8
