"""Figures 1, 2 and 3, small."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import numpy as np
import pytest

from tropicell import Box, Network, count_regions
from tropicell.cli import main
from tropicell.lab import Options, Run, fig2, fig3, overfitting, run_experiment
from tropicell.lab.functions import FUNCTIONS, grid
from tropicell.lab.trained import ClassifierJob, trained
from tropicell.lab.training import Schedule, TrainingTask

BOX = Box(-10, 10)


def numbers_of(folder):
    return json.loads((folder / "numbers.json").read_text())["numbers"]


# --- the functions ------------------------------------------------------------------------------


def test_grids_are_the_papers():
    assert len(grid(0.1)) == 201**2
    line = np.unique(grid(0.2, 0.1)[:, 0])
    assert line[:3] == pytest.approx([-9.9, -9.7, -9.5])
    assert line[-1] == pytest.approx(9.9)


def test_points_where_a_function_is_not_defined_are_left_out():
    sizes = [len(function.samples(0.1)[0]) for function in FUNCTIONS]
    assert sizes == [201**2 - 401, 201**2, 201**2, 201**2]


@pytest.mark.parametrize(
    ("index", "point", "value"),
    [
        (0, (1.0, np.e), np.sin(1.0)),
        (1, (3.0, 4.0), np.sin(5.0) / 5.0),
        (1, (0.0, 0.0), 1.0),
        (2, (0.0, 0.0), np.sin(1.0) ** 2),
        (3, (np.pi / 2, -np.pi / 2), -(np.sin(1.0) ** 2)),
    ],
)
def test_values_by_hand(index, point, value):
    assert FUNCTIONS[index](np.array([point]))[0] == pytest.approx(value)


# --- figure 1 -----------------------------------------------------------------------------------


def test_both_walkthroughs(tmp_path):
    assert main(["lab", "fig1", "--quick", "--out", str(tmp_path)]) == 0
    numbers = numbers_of(tmp_path)
    assert numbers["printed"]["empty_at_layer"] == 2
    assert numbers["mended"]["corners_as_published"] is True
    assert numbers["h_b"]["printed"] == ["5", "61/4"]
    claims = json.loads((tmp_path / "numbers.json").read_text())["claims"]
    assert [claim["verdict"] for claim in claims] == ["does not hold", "holds"]
    assert numbers["mended"]["inequalities"][3] == ["2", "-10", "-1"]
    report = (tmp_path / "report.md").read_text()
    assert "| layer 2, neuron 2 | 2x - 10y ≤ -1 | 2x - 10y ≤ -19/4 | **no** |" in report


# --- training that is kept ----------------------------------------------------------------------


def test_finished_networks_are_not_trained_again(tmp_path, monkeypatch):
    points = grid(5.0)
    schedule = Schedule(4, 0.01, "mse", checkpoints=[0, 4])

    def jobs(seeds):
        task = TrainingTask([2, 3, 3, 3, 1], seeds, points, points[:, :1], skips=[(1, 3)])
        return [ClassifierJob("job", task, {"what": "x"})]

    run = Run("x", "X", tmp_path, Options(workers=1))
    (two,) = trained(run, jobs([5, 6]), schedule)
    assert (run.computed, run.reused) == (2, 0)
    (three,) = trained(run, jobs([5, 6, 7]), schedule)
    assert (run.computed, run.reused) == (3, 2)
    assert [n.fingerprint for n in three.networks[1][:2]] == [
        n.fingerprint for n in two.networks[1]
    ]
    assert (three.train_loss[:, :2] == two.train_loss).all()
    assert three.networks[0][0].skips == [(1, 3)]
    monkeypatch.setattr("tropicell.lab.trained.train", None)  # would fail if it were called
    (again,) = trained(run, jobs([5, 6, 7]), schedule)
    assert [n.fingerprint for n in again.networks[1]] == [n.fingerprint for n in three.networks[1]]


def test_an_interrupted_training_keeps_what_is_finished(tmp_path, monkeypatch):
    points = grid(5.0)
    schedule = Schedule(2, 0.01, "mse", checkpoints=[2])
    jobs = [
        ClassifierJob(name, TrainingTask([2, 2, 1], [seed], points, points[:, :1]), {})
        for name, seed in (("a", 1), ("b", 2))
    ]
    run = Run("x", "X", tmp_path, Options(workers=1))
    put, kept = run.store.put, []

    def interrupted(unit, *rest):
        if kept:
            raise KeyboardInterrupt
        kept.append(unit)
        put(unit, *rest)

    monkeypatch.setattr(run.store, "put", interrupted)
    with pytest.raises(KeyboardInterrupt):
        trained(run, jobs, schedule)
    monkeypatch.setattr(run.store, "put", put)
    resumed = trained(run, jobs, schedule)
    assert (run.computed, run.reused) == (1, 1)
    whole = trained(Run("x", "X", tmp_path / "other", Options(workers=1)), jobs, schedule)
    assert [t.networks[0][0].fingerprint for t in resumed] == [
        t.networks[0][0].fingerprint for t in whole
    ]


# --- figures 2 and 3 ----------------------------------------------------------------------------


def test_figure_2(tmp_path, monkeypatch):
    small = fig2.Fig2Settings(epochs=12, step=2.0, depths=(1, 2), neurons=3)
    monkeypatch.setattr(fig2, "EXPERIMENT", replace(fig2.EXPERIMENT, quick=small))
    assert main(["lab", "fig2", "--quick", "--out", str(tmp_path)]) == 0
    numbers = numbers_of(tmp_path)
    assert len(numbers) == 8
    with (tmp_path / "training.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["epoch"]) for row in rows[:3]] == [0, 10, 12]
    for row in rows[2::3]:
        found = numbers[f"{row['function']}, {row['layers']} layers"]
        assert found["regions"] == int(row["regions in the box"]) <= found["regions_plane"]
        assert found["merged"] <= found["regions"]
        assert found["explained"] == pytest.approx(1 - found["loss"] / found["variance"])
    assert len(list(tmp_path.glob("explore-phi*.html"))) == 8
    assert "epoch 12" in (tmp_path / "explore-phi4-2-layers.html").read_text()
    again = tmp_path / "again"
    assert main(["lab", "fig2", "--tables", str(tmp_path), "--out", str(again)]) == 0
    assert (again / "numbers.json").read_bytes() == (tmp_path / "numbers.json").read_bytes()
    assert (again / "training.csv").read_bytes() == (tmp_path / "training.csv").read_bytes()


def test_figure_3(tmp_path, monkeypatch):
    small = fig3.Fig3Settings(networks=2, epochs=12, step=4.0, layers=4, neurons=3, looks=2)
    monkeypatch.setattr(fig3, "EXPERIMENT", replace(fig3.EXPERIMENT, quick=small))
    assert main(["lab", "fig3", "--quick", "--out", str(tmp_path)]) == 0
    numbers = numbers_of(tmp_path)
    times = [0, 6, 10, 12]
    assert numbers["epochs"] == times
    with (tmp_path / "networks.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4 * 2 * 2 * 4

    at_end = [row for row in rows if row["skips"] == "with" and row["epoch"] == "12"]
    last = [float(row["regions in R²"]) for row in at_end]
    curve = numbers["curves"]["with"]["plane"]
    assert curve["mean"][-1] == pytest.approx(np.mean(last))
    assert curve["error"][-1] == pytest.approx(np.std(last, ddof=1) / len(last) ** 0.5)

    # the networks that were trained are those that were counted
    run = Run("fig3", "", tmp_path, Options())
    schedule = Schedule(12, 0.01, "mse", checkpoints=times)
    (found,) = trained(run, [fig3._job(run, small, FUNCTIONS[1], "with")], schedule)
    assert (run.computed, run.reused) == (0, 2)
    mine = [row for row in rows if (row["function"], row["skips"]) == ("φ2", "with")]
    for row in mine:
        network = found.networks[times.index(int(row["epoch"]))][int(row["network"])]
        assert int(row["regions in the box"]) == count_regions(network, BOX)
        assert int(row["regions in R²"]) == count_regions(network)

    again = tmp_path / "again"
    assert main(["lab", "fig3", "--tables", str(tmp_path), "--out", str(again)]) == 0
    assert (again / "numbers.json").read_bytes() == (tmp_path / "numbers.json").read_bytes()
    assert (again / "networks.csv").read_bytes() == (tmp_path / "networks.csv").read_bytes()
    assert len(numbers["spearman"]["box"]) == 4 * 3


def test_tables_of_another_experiment_are_refused(tmp_path, capsys):
    assert main(["lab", "fig1", "--out", str(tmp_path / "fig1")]) == 0
    folder = str(tmp_path / "fig1")
    assert main(["lab", "fig3", "--tables", folder, "--out", str(tmp_path / "x")]) == 2
    assert "holds a run of fig1" in capsys.readouterr().err
    assert main(["lab", "custom", "--tables", folder, "--out", str(tmp_path / "x")]) == 2
    assert "can't be written from tables" in capsys.readouterr().err
    assert main(["lab", "fig3", "--tables", str(tmp_path), "--out", str(tmp_path / "x")]) == 2
    assert "expected what an earlier run wrote" in capsys.readouterr().err


# --- overfitting ----------------------------------------------------------------------------------


def test_overfitting(tmp_path):
    small = overfitting.OverfittingSettings(
        networks=3, epochs=5, many=2.5, few=5.0, test=5.0, wide=6
    )
    run = run_experiment(overfitting.EXPERIMENT, tmp_path, Options(workers=1), small)
    with (tmp_path / "networks.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4 * 2 * 4 * 3
    own = [r for r in rows if (r["function"], r["points"]) == ("φ4", "many")]
    deep = [r for r in own if (r["layers"], r["neurons"]) == ("5", "5")]
    found = run.numbers["samples"]["φ4 many 5×5"]
    assert found["regions"] == pytest.approx(np.mean([int(r["regions"]) for r in deep]))
    assert {claim.key for claim in run.claims} >= {"regions mean overfitting", "phi4 overfits"}


def test_a_network_that_is_a_function_has_all_its_patterns():
    """φ3's hills and valleys at the right places are found, and only those."""
    (phi3,) = [function for function in FUNCTIONS if function.name == "φ3"]
    centre = np.zeros((1, 2))
    flat = Network.mlp([np.zeros((1, 2)), np.zeros((1, 1))], [[0.0], phi3(centre)])
    assert overfitting.patterns_learnt(flat, phi3) == 5  # hills, not valleys


def test_boundaries_of_folded_planes_have_several_curves():
    # | |x| - 4 | - 2: four parallel lines
    fold = [[[1.0, 0.0], [-1.0, 0.0]], [[1.0, 1.0], [-1.0, -1.0]], [[1.0, 1.0]], [[1.0]]]
    network = Network.mlp(fold, [[0.0, 0.0], [-4.0, 4.0], [-2.0], [0.0]])
    curves = overfitting.boundary_curves(network, 81)
    assert [values.tolist() for values in curves] == [[1.0, 1.0], [2.0, 2.0], [4.0]]
