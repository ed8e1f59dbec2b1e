"""Skip connections beyond the paper, and models of the user; small."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import numpy as np
import pytest

from tropicell import Box, Network, Slice, count_regions, save
from tropicell.cli import main
from tropicell.errors import InvalidInputError
from tropicell.lab import Options, Run, custom, run_experiment, skips
from tropicell.lab.custom import user_networks, user_points
from tropicell.lab.random_networks import random_network, random_parameters
from tropicell.lab.skip_sets import SKIP_SETS, without_skips
from tropicell.lab.skips import SkipCell, SkipResults
from tropicell.lab.statistics import paired_ratio


def test_skip_sets_by_hand():
    assert SKIP_SETS["none"](5) == []
    assert SKIP_SETS["one"](5) == [(1, 3)]
    assert SKIP_SETS["residual"](5) == [(1, 3), (3, 5)]
    assert SKIP_SETS["dense"](5) == [(1, 3), (1, 4), (2, 4), (1, 5), (2, 5), (3, 5)]


def test_all_skip_sets_agree_with_one_where_they_are_the_same():
    assert SKIP_SETS["one"](3) == SKIP_SETS["residual"](3) == SKIP_SETS["dense"](3)


@pytest.mark.parametrize("kind", ["pytorch", "he zero", "he random"])
def test_initialisations_have_their_variances(kind):
    weights, biases = random_parameters([50, 400, 300], np.random.default_rng(0), kind)
    expected = 1 / 3 if kind == "pytorch" else 2
    assert weights[1].var() * 400 == pytest.approx(expected, rel=0.02)
    assert weights[0].var() * 50 == pytest.approx(expected, rel=0.05)
    if kind == "he zero":
        assert not any(bias.any() for bias in biases)
    else:
        assert abs(biases[0]).max() <= 50**-0.5
        assert biases[0].var() * 50 == pytest.approx(1 / 3, rel=0.15)
    assert (weights[0].astype(np.float32) == weights[0]).all()


def test_unknown_initialisations_are_refused():
    with pytest.raises(InvalidInputError, match="xavier"):
        random_parameters([2, 2], np.random.default_rng(0), "xavier")  # type: ignore[arg-type]


def test_without_skips_keeps_the_weights():
    parameters = random_parameters([2, 4, 4, 4, 4, 1], np.random.default_rng(1))
    plain = Network.mlp(*parameters)
    for name in ("one", "residual", "dense"):
        network = Network.mlp(*parameters, skips=SKIP_SETS[name](4))
        assert without_skips(network).fingerprint == plain.fingerprint


def test_without_skips_on_a_slice():
    network = random_network([3, 4, 4, 4, 1], np.random.default_rng(1), skips=[(1, 3)])
    plane = Slice([0, 0, 0], [[1, 0, 1], [0, 1, 0]])
    first = without_skips(network.restrict(plane))
    assert first.fingerprint == without_skips(network).restrict(plane).fingerprint


def test_paired_ratio_by_hand():
    # means 3 and 2, ratio 3/2; a - ratio b is -1/2, 1/2 with deviation √(1/2), over √2 and 2
    ratio, error = paired_ratio([1.0, 5.0], [1.0, 3.0])
    assert ratio == 1.5
    assert error == pytest.approx(0.25)
    with pytest.raises(InvalidInputError, match="pairs"):
        paired_ratio([1.0], [1.0, 2.0])


def test_half_radius_is_interpolated():
    cell = SkipCell("pytorch", 4, 3, "none")
    counts = np.array([[10, 10], [40, 40], [80, 80], [100, 100]])  # shares .1, .4, .8
    found = SkipResults((1.0, 10.0, 100.0), {cell: counts}, {}).half_radius(cell)
    assert found == pytest.approx(10 ** (1 + 0.25))
    late = SkipResults((1.0,), {cell: np.array([[10], [100]])}, {}).half_radius(cell)
    assert np.isnan(late)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("skips")
    small = skips.SkipSettings(
        networks=3, widths=(3,), depths=(3, 4), radii=(1.0, 10.0), layer_networks=2
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(skips, "EXPERIMENT", replace(skips.EXPERIMENT, quick=small))
        assert main(["lab", "skips", "--quick", "--out", str(place)]) == 0
    return place


def test_skips_counts_the_named_networks(folder):
    with (folder / "counts.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3 * 2 * 4 * 3
    run = Run("skips", "", folder, Options())
    for row in rows[::5]:
        cell = SkipCell(
            row["initialisation"],  # type: ignore[arg-type]
            int(row["width"]),
            int(row["depth"]),
            row["skips"],
        )
        network = skips._networks(run, cell, 3)[int(row["network"])]
        assert count_regions(network) == int(row["R²"])
        assert count_regions(network, Box(-10, 10)) == int(row["r = 10"])
        assert count_regions(network, Box(-1, 1)) == int(row["r = 1"])


def test_skips_uses_the_same_weights_for_all_sets(folder):
    run = Run("skips", "", folder, Options())
    cells = [SkipCell("pytorch", 3, 4, name) for name in SKIP_SETS]
    prints = {without_skips(skips._networks(run, cell, 1)[0]).fingerprint for cell in cells}
    assert len(prints) == 1


def test_layers_end_with_the_whole_network(folder):
    with (folder / "layers.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["layer"] == "4"]
    assert len(rows) == 2 * 4
    run = Run("skips", "", folder, Options())
    cell = SkipCell("he random", 3, 4, "dense")
    expected = np.mean([count_regions(network) for network in skips._networks(run, cell, 2)])
    (row,) = [r for r in rows if (r["initialisation"], r["skips"]) == ("he random", "dense")]
    assert float(row["mean over R²"]) == pytest.approx(expected)


def test_skips_report_has_all_figures(folder):
    report = (folder / "report.md").read_text()
    for name in ("radii", "depths", "layers", "distributions"):
        assert f"({name}.png)" in report


# --- models of the user -------------------------------------------------------------------------

MODULE = """
import numpy as np
from helper import SIZES
from tropicell import Network

def build(seed):
    rng = np.random.default_rng(seed)
    weights = [rng.normal(size=(n, m)) for m, n in zip(SIZES, SIZES[1:])]
    return Network.mlp(weights, [rng.normal(size=len(w)) for w in weights], skips=[(1, 3)])

def fixed():
    return build(3)

def broken(seed):
    return 1 / seed

def wrong():
    return "a model"
"""


@pytest.fixture
def module(tmp_path):
    (tmp_path / "helper.py").write_text("SIZES = [4, 3, 3, 3, 1]\n")
    (tmp_path / "mine.py").write_text(MODULE)
    return tmp_path / "mine.py"


def test_custom_compares_with_and_without_skips(module, tmp_path):
    out = tmp_path / "out"
    points = tmp_path / "data.npz"
    np.savez(points, points=np.random.default_rng(0).normal(size=(20, 2, 2)))
    settings = custom.CustomSettings(networks=2, radii=(1.0, 10.0))
    options = Options(model=f"{module}:build", data=points, workers=1)
    run = run_experiment(custom.EXPERIMENT, out, options, settings)
    found = run.numbers["regions"]
    networks = user_networks(f"{module}:build", 2)
    view = custom._view(run, networks[0])
    for kind, members in (("as it is", networks), ("without skips", map(without_skips, networks))):
        expected = [count_regions(network, view.domain(10.0)) for network in members]
        assert found[kind]["r = 10"] == expected == run.numbers["by_layer"][kind][-1]
    assert (out / "explore.html").exists()
    again = run_experiment(custom.EXPERIMENT, out, options, settings)
    assert again.computed == 0
    assert again.numbers == run.numbers


def test_custom_takes_files_of_networks_without_skips(tmp_path):
    file = tmp_path / "net.npz"
    save(random_network([2, 3, 3, 1], np.random.default_rng(0)), file)
    out = tmp_path / "out"
    assert main(["lab", "custom", "--quick", "--model", str(file), "--out", str(out)]) == 0
    numbers = json.loads((out / "numbers.json").read_text())["numbers"]
    assert list(numbers["regions"]) == ["as it is"]
    assert "nothing to compare with" in (out / "report.md").read_text()


def test_functions_without_arguments_give_one_network(module):
    (network,) = user_networks(f"{module}:fixed", 5)
    assert network.fingerprint == user_networks(f"{module}:build", 4)[3].fingerprint


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("{}", "add the function"),
        ("{}:nothing", "no function 'nothing'"),
        ("{}:broken", "ZeroDivisionError"),
        ("{}:wrong", "gave a str; expected a tropicell.Network"),
        ("nowhere.py:build", "no such file"),
    ],
)
def test_bad_models_are_named(module, model, message):
    with pytest.raises(InvalidInputError, match=message):
        user_networks(model.format(module), 2)


def test_a_module_that_fails_is_named(tmp_path):
    file = tmp_path / "bad.py"
    file.write_text("import no_such_package")
    with pytest.raises(InvalidInputError, match=r"bad\.py failed: ModuleNotFoundError"):
        user_networks(f"{file}:build", 1)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"other": np.zeros((2, 2))}, "found other"),
        ({"points": np.zeros(3)}, "shape"),
        ({"x": np.full((2, 2), np.nan)}, "finite"),
    ],
)
def test_bad_data_files_are_named(tmp_path, arrays, message):
    file = tmp_path / "data.npz"
    np.savez(file, **arrays)
    with pytest.raises(InvalidInputError, match=message):
        user_points(file)


def test_custom_asks_for_a_model(tmp_path, capsys):
    assert main(["lab", "custom", "--out", str(tmp_path)]) == 2
    assert "--model" in capsys.readouterr().err
