"""Skip connections beyond the paper, and models of the user; small."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import data_sets
from tropicell import Box, Network, Slice, count_regions, save
from tropicell.cli import main
from tropicell.errors import InvalidInputError
from tropicell.lab import Options, Run, custom, run_experiment, skips
from tropicell.lab.custom import user_networks, user_points
from tropicell.lab.random_networks import random_network, random_parameters
from tropicell.lab.run import read_table
from tropicell.lab.skip_sets import (
    SKIP_SETS,
    distinct_sets,
    same_set,
    with_projections,
    without_skips,
)
from tropicell.lab.skips_report import crossing_bounds, fitted_law


def test_skip_sets_by_hand():
    assert SKIP_SETS["none"](5) == []
    assert SKIP_SETS["one"](5) == [(1, 3)]
    assert SKIP_SETS["residual"](5) == [(1, 3), (3, 5)]
    assert SKIP_SETS["dense"](5) == [(1, 3), (1, 4), (2, 4), (1, 5), (2, 5), (3, 5)]


def test_all_skip_sets_agree_with_one_where_they_are_the_same():
    assert SKIP_SETS["one"](3) == SKIP_SETS["residual"](3) == SKIP_SETS["dense"](3)


def test_laws_of_depth_say_how_badly_they_fit():
    rng = np.random.default_rng(0)
    depths = np.array([3.0, 4.0, 6.0, 10.0])

    def law(counts):
        return fitted_law(depths, [np.log(c) + rng.normal(0, 0.1, 200) for c in counts], rng)

    power, exponential, bounded = law(5 * depths**1.5), law(1.5**depths), law(9 - 16 / depths)
    assert power.exponent.low < 1.5 < power.exponent.high
    assert power.off < 0.05 < power.exponential_off
    assert exponential.exponential_off < 0.05 < exponential.off
    assert bounded.last.high < bounded.exponent.low  # it grows no longer
    assert bounded.errors > 4 > power.errors


@pytest.mark.parametrize("kind", ["pytorch", "he zero", "he random", "he uniform", "glorot"])
def test_initialisations_have_their_variances(kind):
    weights, biases = random_parameters([50, 400, 300], np.random.default_rng(0), kind)
    expected = {"pytorch": 1 / 3, "glorot": 1}.get(kind, 2)
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


def test_equal_sets_are_counted_once():
    depths = (3, 4, 6, 10)
    assert sum(len(distinct_sets(depth)) - 1 for depth in depths) * 2 == 18
    for depth in depths:
        for name in SKIP_SETS:
            assert SKIP_SETS[same_set(name, depth)](depth) == SKIP_SETS[name](depth)


def test_projections_are_matrices_on_the_way():
    rng = np.random.default_rng(3)
    weights, biases = random_parameters([2, 5, 4, 3, 1], rng)
    matrix = rng.normal(size=(4, 5))
    network = with_projections(weights, biases, {(1, 3): matrix})
    x = rng.normal(size=(20, 2))
    first = np.maximum(x @ weights[0].T + biases[0], 0)
    second = np.maximum(first @ weights[1].T + biases[1], 0)
    third = np.maximum((second + first @ matrix.T) @ weights[2].T + biases[2], 0)
    np.testing.assert_allclose(network(x), third @ weights[3].T + biases[3], atol=1e-12)


def test_rescaled_networks_vary_as_wanted():
    parameters = random_parameters([2, 6, 6, 6, 6, 1], np.random.default_rng(0))
    points = np.random.default_rng(1).uniform(-10, 10, size=(100, 2))
    wanted = skips.variations(Network.mlp(*parameters, skips=SKIP_SETS["dense"](4)), points)
    plain = skips.variations(Network.mlp(*parameters), points)
    assert wanted[3] > 1.5 * plain[3]
    found = skips.variations(skips.rescaled(parameters, (), wanted, points), points)
    np.testing.assert_allclose(found, wanted, rtol=1e-9)


def test_bounds_on_boundaries_by_hand():
    # σ² = 2: factor 1 a layer; residual: d = 1, 1, 2, 2, 4 times σ/√2 = 1
    bounds = crossing_bounds(2.0, SKIP_SETS["residual"](5), 4, 5, 2, 3.0)
    assert bounds == pytest.approx([4.0, *(3 * 4 * 2 / 2 * d for d in (1, 2, 2, 4))])


@pytest.mark.parametrize("name", ["none", "dense"])
def test_boundaries_on_a_segment_keep_to_the_bound(name, tmp_path):
    run = Run("skips", "", tmp_path, Options())
    shape = skips.Shape("pytorch", 2, 6, 5)
    found = skips._cross(run, shape, name, 60)["crossings"]
    assert (found.mean(axis=1) <= crossing_bounds(1 / 3, SKIP_SETS[name](5), 6, 5, 2, 20.0)).all()
    network = shape.networks(run, name, 3)[2]
    assert found[:, 2].sum() == count_regions(network, skips.SEGMENT) - 1


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("skips")
    data = tmp_path_factory.mktemp("data")
    data_sets.write_npz(data)
    small = skips.SkipSettings(
        networks=4,
        widths=(3,),
        depths=(3, 4),
        radii=(1.0, 10.0),
        radius_networks=2,
        controls=(4,),
        control_networks=3,
        trained=2,
        classifiers=2,
        epochs=10,
        step=4.0,
        images=100,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(skips, "EXPERIMENT", replace(skips.EXPERIMENT, quick=small))
        command = ["lab", "skips", "--quick", "--out", str(place), "--data", str(data)]
        assert main(command) == 0
    return place


@pytest.mark.parametrize("inputs", [2, 3])
def test_skips_counts_the_named_networks(folder, inputs):
    rows = read_table(folder, f"counts-{inputs}-inputs")
    assert len(rows) == 4 * 2 * 4
    run = Run("skips", "", folder, Options())
    for row in rows[::3]:
        kind, depth, draw = row["initialisation"], int(row["depth"]), int(row["draw"])
        shape = skips.Shape(kind, inputs, 3, depth)  # type: ignore[arg-type]
        for name in SKIP_SETS:
            if same_set(name, depth) != name:
                assert row[f"{name} all"] == ""
                continue
            network = shape.networks(run, name, 4)[draw]
            assert count_regions(network) == int(row[f"{name} all"])
            assert count_regions(network, Box(-10, 10)) == int(row[f"{name} box"])


def test_skips_uses_the_same_weights_for_all_sets(folder):
    run = Run("skips", "", folder, Options())
    shape = skips.Shape("pytorch", 2, 3, 4)
    prints = {without_skips(shape.networks(run, n, 1)[0]).fingerprint for n in SKIP_SETS}
    assert len(prints) == 1


def test_the_report_follows_from_the_tables(folder, tmp_path):
    for name in ("effects", "boundaries", "radii", "controls"):
        assert f"({name}.png)" in (folder / "report.md").read_text()
    assert main(["lab", "skips", "--tables", str(folder), "--out", str(tmp_path)]) == 0
    first, again = (json.loads((f / "numbers.json").read_text()) for f in (folder, tmp_path))
    assert first["claims"] == again["claims"]
    first["numbers"].pop("data_sets_left_out")
    assert first == again
    assert {claim["key"] for claim in first["claims"]} >= {"skips more expressive"}
    effects = read_table(folder, "effects")
    counts = read_table(folder, "counts-2-inputs")
    own = [row for row in counts if (row["initialisation"], row["depth"]) == ("glorot", "4")]
    logs = [np.log(int(row["dense box"]) / int(row["none box"])) for row in own]
    (found,) = [
        row
        for row in effects
        if (row["group"], row["networks"], row["skips"], row["where"])
        == ("2 inputs", "glorot 3 4", "dense", "box")
    ]
    assert float(found["factor"]) == pytest.approx(np.exp(np.mean(logs)), abs=1e-4)


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
    a, b = (np.array(found[kind]["r = 10"]) for kind in ("as it is", "without skips"))
    effect = run.numbers["effects"]["r = 10"]
    assert effect["factor"] == pytest.approx(np.exp(np.log(a / b).mean()))
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
