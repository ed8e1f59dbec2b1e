"""Table 2 and Figure 4 on tiny data sets, and one row on MNIST itself."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import data_sets
from tropicell.cli import main
from tropicell.lab import Options, experiment, fig4, run_experiment
from tropicell.lab.fig4 import spread
from tropicell.lab.statistics import Interval
from tropicell.lab.table2 import KINDS, PUBLISHED, CachingComparison, parts_of

pytest.importorskip("torch")


@pytest.fixture
def folder(tmp_path) -> Path:
    made = tmp_path / "data"
    made.mkdir()
    data_sets.write_npz(made)
    return made


@pytest.fixture(scope="session")
def real_data() -> Path:
    default = Path(__file__).resolve().parents[3] / "shared" / "data"
    found = Path(os.environ.get("TROPICELL_DATA", default))
    if not (found / "mnist.npz").is_file():
        pytest.skip("no MNIST: set TROPICELL_DATA to a folder with mnist.npz to run this test")
    return found


def test_quick_table2_on_the_command_line(folder, tmp_path, capsys) -> None:
    out = tmp_path / "out"
    command = ["lab", "table2", "--quick", "--data", str(folder), "--out", str(out), "--json"]
    assert main([*command, "--networks", "3"]) == 0
    capsys.readouterr()
    first = (out / "numbers.json").read_bytes()
    rows = json.loads(first)["numbers"]["rows"]
    assert list(rows) == [row.name for row in PUBLISHED]
    for row in rows.values():
        assert row["networks"] == 3
        for kind in KINDS:
            assert 0 <= row[f"cached_{kind}"] <= 60
            assert 1 <= row[f"regions_{kind}"] <= 300
    report = (out / "report.md").read_text()
    assert "This is a small version" in report
    assert "not compared with the original files" in report
    assert (out / "cached-and-accuracy.png").stat().st_size > 5000
    assert len((out / "networks.csv").read_text().splitlines()) == 1 + 9 * 2 * 3
    before = {file: file.stat().st_mtime_ns for file in (out / "finished").iterdir()}
    assert main([*command, "--networks", "3"]) == 0
    assert {file: file.stat().st_mtime_ns for file in (out / "finished").iterdir()} == before
    assert (out / "numbers.json").read_bytes() == first
    again = tmp_path / "again"
    command = ["lab", "table2", "--tables", str(out), "--data", str(folder), "--out", str(again)]
    assert main(command) == 0
    assert (again / "numbers.json").read_bytes() == first
    found = json.loads(first)
    parts = found["numbers"]["generalisation"]["mnist 3×32"]
    assert 0 <= parts["from_uncached"] <= 100
    assert {claim["key"] for claim in found["claims"]} >= {"skips generalise", "table2 tests"}


def test_accuracies_inside_and_outside_add_up() -> None:
    rng = np.random.default_rng(0)
    cached = rng.integers(1, 60, size=20).astype(float)
    hits = np.floor(cached * rng.random(20))
    right = hits + np.floor((60 - cached) * rng.random(20))
    sample = {"accuracy": 100 * right / 60, "cached": cached, "right_cached": hits}
    found = parts_of(sample, 60)
    total = found["cached"] * cached + found["uncached"] * (60 - cached)
    np.testing.assert_allclose(total / 60, sample["accuracy"])


def test_networks_learn_and_the_seed_decides(folder, tmp_path) -> None:
    table = experiment("table2")
    settings = replace(
        table.quick, data_sets=("mnist",), networks=2, epochs=8, batch_size=16, learning_rate=0.003
    )
    runs = [
        run_experiment(table, tmp_path / str(i), Options(data=folder, seed=seed), settings)
        for i, seed in enumerate([0, 0, 1])
    ]
    tables = [(run.folder / "networks.csv").read_text() for run in runs]
    assert tables[0] == tables[1] != tables[2]
    assert runs[0].numbers["rows"]["mnist 3×32"]["accuracy_with"] > 90


def test_missing_data_sets_are_left_out_or_said(folder, tmp_path, capsys) -> None:
    (folder / "svhn_gray.npz").unlink()
    (folder / "cifar10_gray.npz").unlink()
    table = experiment("table2")
    options = Options(data=folder)
    settings = replace(table.quick, networks=1, train=100)
    done = run_experiment(table, tmp_path / "out", options, settings)
    assert len(done.numbers["rows"]) == 3
    assert "Left out: " in (tmp_path / "out" / "report.md").read_text()
    (folder / "mnist.npz").unlink()
    assert main(["lab", "table2", "--data", str(folder), "--out", str(tmp_path / "none")]) == 2
    assert "holds no MNIST" in capsys.readouterr().err


def test_statistics_of_a_row_by_hand() -> None:
    def sample(cached: list[float]) -> dict[str, np.ndarray]:
        values = np.array(cached)
        return {
            "accuracy": values / 10,
            "cached": values,
            "regions": values + 1,
            "right_cached": values,
        }

    row = PUBLISHED[0]
    found = CachingComparison.of(
        row, {"with": sample([1, 2, 3]), "without": sample([2, 4, 6])}, Interval(0.5, 0.4, 0.6)
    )
    # pairs in which 'with' is larger: 3 > 2; ties: 2 = 2
    assert found.test.u == 1.5
    assert found.fewer_cached
    assert not found.more_accurate
    error = 1.0 * (1 / 3 + 1 / 50) ** 0.5
    assert found.z("cached")[0] == pytest.approx((2 - 9966.4) / error)
    assert found.numbers()["accuracy_without"] == pytest.approx(0.4)


def test_quick_fig4(folder, tmp_path, monkeypatch) -> None:
    pytest.importorskip("umap")
    figure = experiment("fig4")
    settings = replace(figure.quick, data_sets=("mnist",), shown=80, rounds=20)
    options = Options(data=folder)
    done = run_experiment(figure, tmp_path / "out", options, settings)
    again = run_experiment(figure, tmp_path / "again", options, settings)
    for name in ("images.csv", "numbers.json"):
        assert (done.folder / name).read_bytes() == (again.folder / name).read_bytes()
    for shape in ("4×8", "3×16", "3×32"):
        numbers = done.numbers[f"mnist {shape}"]
        shares = np.array(list(numbers["cached_by_class"].values()))
        counts = np.bincount(data_sets.parts((28, 28))["y_test"], minlength=10)
        assert (shares * counts).sum() / 60 == pytest.approx(numbers["cached"])
    assert (tmp_path / "out" / "cached-images.png").stat().st_size > 10_000

    # from its tables, without training and without the table of images
    (done.folder / "images.csv").unlink()
    monkeypatch.setattr(fig4, "_train", None)
    anew = tmp_path / "anew"
    command = ["lab", "fig4", "--tables", str(done.folder), "--data", str(folder)]
    assert main([*command, "--out", str(anew)]) == 0
    for name in ("numbers.json", "networks.csv", "classes.csv", "cached-images.png"):
        assert (anew / name).read_bytes() == (done.folder / name).read_bytes()
    first, second = (
        [line for line in (f / "report.md").read_text().splitlines() if "- time: " not in line]
        for f in (done.folder, anew)
    )
    assert first == second


def test_labels_are_moved_apart() -> None:
    points = np.random.default_rng(0).normal(0, 0.02, size=(10, 2))
    room = np.tile([0.2, 0.05], (10, 1))
    spots = spread(points, room)
    for i in range(10):
        for j in range(i):
            assert (np.abs(spots[i] - spots[j]) >= room[0] - 1e-6).any()
    far = np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(spread(far, np.ones((3, 2)) * 0.5), far)


def test_two_networks_on_mnist(real_data, tmp_path) -> None:
    """A quarter of an epoch on the real images: they are read rightly and can be learnt."""
    table = experiment("table2")
    settings = replace(
        table.full, data_sets=("mnist",), networks=2, epochs=1, train=15_000, test=2000
    )
    done = run_experiment(table, tmp_path, Options(data=real_data), settings)
    rows = done.numbers["rows"]
    assert 60 < rows["mnist 3×32"]["accuracy_with"] < 95
    assert rows["mnist 3×32"]["cached_with"] < rows["mnist 4×8"]["cached_with"] <= 2000
    assert "MNIST, read from mnist.npz" in (tmp_path / "report.md").read_text()
