"""Gradients, twins, plans and frames: what the page shows is what NumPy says twice."""

from __future__ import annotations

import json
import runpy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tropicell import Affine, Box, InvalidInputError, Layer, Network, Slice, count_regions
from tropicell.playground.data import make_data, read_csv
from tropicell.playground.frames import frame_of, packed, unpacked
from tropicell.playground.keep import notebook, script
from tropicell.playground.session import Session, describe
from tropicell.playground.settings import DATA, OPTIMISERS, Settings
from tropicell.playground.training import Training, plan_of_network

ACTIVATIONS = ("relu", "leaky_relu", "hard_tanh", "abs", "relu6", "hard_sigmoid")


@st.composite
def settings(draw: st.DrawFn) -> Settings:
    widths = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    last = len(widths) + 1
    possible = [(k, to) for to in range(2, last + 1) for k in range(to - 1)]
    chosen = draw(st.sets(st.sampled_from(possible))) if possible else set()
    return Settings(
        widths=widths,
        skips=tuple(sorted(chosen)),
        activation=draw(st.sampled_from(ACTIVATIONS)),
        init=draw(st.sampled_from(["he", "xavier", "uniform", "orthogonal"])),
        seed=draw(st.integers(0, 1000)),
        data=draw(st.sampled_from(["circles", "xor", "phi2"])),
        samples=20,
    )


@given(settings())
def test_gradients_are_slopes(chosen: Settings) -> None:
    training = Training(chosen)
    data, loss = training.data, chosen.resolved_loss
    x, y = data.x / np.abs(data.x).max(), data.y
    for learner in training.learners.values():
        gradient = learner.gradient(x, y, loss)
        rng = np.random.default_rng(0)
        way, step = rng.normal(size=len(gradient)), 1e-6
        at = learner.vector.copy()
        ends = []
        for sign in (1, -1):
            learner.vector[:] = at + sign * step * way
            ends.append(learner.measure(x, y, loss)[0])
        learner.vector[:] = at
        slope = (ends[0] - ends[1]) / (2 * step)
        # at a bend of an activation both are right, and different
        patterns = [_slopes(learner, x, at, t * way) for t in (step, -step)]
        if all(np.array_equal(a, b) for a, b in zip(*patterns, strict=True)):
            assert slope == pytest.approx(gradient @ way, rel=1e-4, abs=1e-6)


def _slopes(learner: Any, x: Any, at: Any, move: Any) -> list[Any]:
    learner.vector[:] = at + move
    slopes = learner.forward(x)[1]
    learner.vector[:] = at
    return list(slopes)


@given(settings())
def test_the_network_is_the_one_that_is_trained(chosen: Settings) -> None:
    training = Training(chosen)
    training.advance(3)
    x = training.data.x
    for name, learner in training.learners.items():
        network = training.network(name)
        np.testing.assert_allclose(network(x), learner.forward(x)[2], rtol=1e-9, atol=1e-9)
        assert tuple(sorted(network.skips)) == (chosen.skips if name == "skips" else ())
        plan, vector = plan_of_network(network)
        assert plan.network(vector) == network


def test_the_skips_of_the_paper_are_these() -> None:
    training = Training(Settings(widths=(4, 4, 4), skips=((1, 3), (2, 4))))
    network = training.network()
    weights = [network.affine(i).terms[i - 1] for i in range(1, 5)]
    biases = [network.affine(i).bias for i in range(1, 5)]
    assert Network.mlp(weights, biases, skips=[(1, 3), (2, 4)]) == network


@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_the_twin_is_the_network_without_skips(optimiser: str) -> None:
    chosen = Settings(widths=(6, 6), skips=((0, 2), (1, 3)), optimiser=optimiser, penalty="l2")
    both, alone = Training(chosen), Training(replace(chosen, skips=()))
    assert both.learners["skips"].vector.tobytes() == both.learners["plain"].vector.tobytes()
    for training in (both, alone):
        before = training.measures("skips")["loss"]
        training.advance(200)
        assert training.measures("skips")["loss"] < before
    assert both.network("plain") == alone.network()
    assert both.network("plain") != both.network()


@pytest.mark.parametrize("data", DATA[:-1])
def test_data_is_inside_its_box(data: str) -> None:
    points = make_data(Settings(data=data, noise=0.0))
    again = make_data(Settings(data=data, noise=0.0))
    assert len(points.x) == len(points.y) == len(points.x_test) == 200
    assert points.x.tobytes() == again.x.tobytes()
    assert ((points.x >= points.low) & (points.x <= points.high)).all()
    assert np.isfinite(points.y).all()


def test_weights_beyond_all_bounds_are_said_and_left_out() -> None:
    training = Training(Settings(data="phi1", optimiser="sgd", learning_rate=10.0, scale=50.0))
    with pytest.raises(InvalidInputError, match="smaller learning rate"):
        training.advance(1000)
    training.network()
    json.dumps(training.measures("skips"))
    # numbers that float32 does not have are none to warn of
    training.set_weight("skips", 0, 1.0)
    training.learners["skips"].vector[1] = 1e300
    _, data = unpacked(frame_of(training))
    assert data


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"widths": [10_000]}, "10,000 neurons"),
        ({"widths": []}, "1 to 8 layers"),
        ({"widths": [4] * 9}, "1 to 8 layers"),
        ({"widths": [0]}, "1 to 64 neurons"),
        ({"widths": "8"}, "expected a list"),
        ({"widths": [4.5]}, "whole number"),
        ({"widths": [float("inf")]}, "whole number"),
        ({"learning_rate": float("nan")}, "learning_rate"),
        ({"learning_rate": None}, "learning_rate"),
        ({"learning_rate": True}, "learning_rate"),
        ({"learning_rate": 10**400}, "too large"),
        ({"scale": -1}, "scale"),
        ({"skips": [[1, 2]]}, "1→2"),
        ({"skips": [[0, 9]]}, "0→9"),
        ({"skips": [[0, 2], [0, 2]]}, "twice"),
        ({"skips": [[0]]}, "2 numbers"),
        ({"points": [[0, 0, float("inf")]]}, "points"),
        ({"data": "planets"}, "planets"),
        ({"data": 3}, "expected a name"),
        ({"compare": 1}, "true or false"),
        ({"speed": 0}, "speed"),
        ({"nonsense": 0}, "nonsense"),
    ],
)
def test_settings_that_make_no_sense(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Settings.read(values)


def test_csv_files() -> None:
    assert read_csv("x,y,label\n0,1,1\n2,3,0\n")[1] == (2.0, 3.0, -1.0)
    assert read_csv("\nx;y;label\n0;1;1\n\n2;3;0\n")[1] == (2.0, 3.0, -1.0)
    assert read_csv("0\t1\tcat\n2\t3\tdog\n")[1] == (2.0, 3.0, 1.0)
    assert read_csv("x;y;kind\n0,5;1;ja\n-2,25;3e1;nein\n")[1] == (-2.25, 30.0, 1.0)
    assert read_csv("0,1,a;b\n2,3,c\n")[0] == (0.0, 1.0, -1.0)
    assert read_csv("0,1,0.5\n2,3,0.25\n4,4,7\n")[2] == (4.0, 4.0, 7.0)
    for text, message in [
        ("", "no points"),
        ("0,0,a\n0,0,b\n0,0,c\n", "3 different labels"),
        ("0,0,1\n0,0\n", "line 2"),
        ("0,0,1\n\n0,z,1\n", "line 3"),
        ("0,0,1\n" * 6000, "more than 5,000 rows"),
        ("0,z,1\n0,0,1\n", "line 1"),
        ("0,0,1\n\0,\0,\0\n", "line 2|can't be read"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            read_csv(text)


def test_one_class_and_no_point_are_data() -> None:
    training = Training(Settings(data="own", points=((0.0, 0.0, 1.0),), widths=(3,), skips=()))
    training.advance(5)
    empty = Training(Settings(data="own", widths=(3,), skips=()))
    with pytest.raises(InvalidInputError, match="draw some"):
        empty.advance(1)
    assert unpacked(frame_of(empty))[0]["pictures"][0]["loss"] is None


def test_the_box_stays_while_somebody_draws() -> None:
    for points in ([[0.75, 0.5]], [[0.75, 0.5], [0.751, 0.5]]):
        rows = tuple((x, y, 1.0) for x, y in points)
        assert make_data(Settings(data="own", points=rows)).high.tolist() == [1.5, 1.5]
    many = tuple((0.001 * i, 0.7, 1.0) for i in range(40))  # a file of small numbers is seen
    assert make_data(Settings(data="own", points=many)).high[0] < 0.1


@pytest.mark.parametrize("widths", [(5,), (4, 4, 4)])
@pytest.mark.parametrize("activation", ["relu", "hard_tanh"])
def test_frames_say_what_the_library_says(widths: tuple[int, ...], activation: str) -> None:
    skips = ((0, len(widths) + 1),)
    training = Training(Settings(widths=widths, activation=activation, skips=skips, data="xor"))
    training.advance(30)
    header, data = unpacked(frame_of(training, running=False))
    box = Box(training.data.low, training.data.high)
    assert [picture["name"] for picture in header["pictures"]] == ["skips", "plain"]
    for picture in header["pictures"]:
        network = training.network(picture["name"])
        assert picture["regions"] == count_regions(network, box)
        assert picture["whole"] == count_regions(network)
        arrays = {}
        for key, (kind, start, length) in header["arrays"].items():
            arrays[key] = np.frombuffer(data, kind, length, start)
        name = picture["name"]
        counts, corners = arrays[f"{name}.counts"], arrays[f"{name}.corners"].reshape(-1, 2)
        assert len(counts) == picture["regions"]
        maps = arrays[f"{name}.maps"].reshape(-1, 3)
        area, at = 0.0, 0
        for region, count in enumerate(counts):
            ring = corners[at : at + count].astype(np.float64)
            at += count
            following = np.roll(ring, -1, axis=0)
            area += abs(np.sum(ring[:, 0] * following[:, 1] - ring[:, 1] * following[:, 0])) / 2
            middle = ring.mean(axis=0)
            value = maps[region, :2] @ middle + maps[region, 2]
            assert value == pytest.approx(network(middle)[0], abs=1e-3)
        assert area == pytest.approx(9.0, rel=1e-5)


def test_a_frame_that_takes_too_long_is_not_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    training = Training(Settings(widths=(6, 6), skips=()))
    for name, value in (("MOST_REGIONS", 5), ("MOST_REGIONS", 40_000), ("MOST_SECONDS", 1e-9)):
        monkeypatch.setattr(f"tropicell.playground.frames.{name}", value)
        picture = unpacked(frame_of(training))[0]["pictures"][0]
        assert picture["complete"] == picture["wholeComplete"] == (value == 40_000)


def test_a_loaded_network_with_matrices_of_its_own(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    first = Affine({0: rng.normal(size=(4, 3))}, rng.normal(size=4))
    second = Affine({1: rng.normal(size=(4, 4)), 0: rng.normal(size=(4, 3))}, rng.normal(size=4))
    whole = Network(3, [Layer(first), Layer(second)], Affine({2: rng.normal(size=(2, 4))}))
    network = whole.restrict(Slice([0.0, 0, 1], [[1.0, 0, 0], [0, 1.0, 0]]))
    training = Training(Settings(widths=(4, 4), skips=((0, 2),), data="moons"), network)
    assert training.network() == network
    before = training.measures("skips")["loss"]
    training.advance(100)
    assert training.measures("skips")["loss"] < before
    assert training.network().skips == [(0, 2)]
    assert training.network("plain").skips == []
    # its skip goes and comes back, with its own matrix; a script repeats that without its file
    assert (0, 2) in training.possible_skips
    for skips in ((), ((0, 2),)):
        training.change(replace(training.settings, skips=skips))
        training.advance(3)
        assert training.network().skips == list(skips)
    (tmp_path / "run.py").write_text(script(training), "utf-8")
    again = runpy.run_path(str(tmp_path / "run.py"))["training"]
    assert again.network() == training.network() != network


def test_skips_of_a_network_that_the_page_could_not_build() -> None:
    rng = np.random.default_rng(0)
    wide = Affine({0: rng.normal(size=(300, 2))})
    skipped = Affine({1: rng.normal(size=(3, 300)), 0: rng.normal(size=(3, 2))})
    network = Network(2, [Layer(wide), Layer(skipped)], Affine({2: np.ones((1, 3))}))
    session = Session(Settings(), network)
    try:
        assert describe(session.training)["skips"] == ((0, 2),)
        assert describe(session.training)["possible"] == []
        with pytest.raises(InvalidInputError, match="0→2 can't be switched"):
            session.do({"do": "settings", "values": {"skips": [[0, 2]]}}).result()
        session.do({"do": "settings", "values": {"seed": 9}}).result()
        session.do({"do": "reset"}).result()
        assert session.call(session.network).result() == network
    finally:
        session.close()


def test_a_loaded_network_begins_again_with_the_skips_that_are_chosen() -> None:
    rng = np.random.default_rng(0)
    first, second = Affine({0: rng.normal(size=(4, 2))}), Affine({1: rng.normal(size=(4, 4))})
    last = Affine({2: rng.normal(size=(1, 4)), 1: rng.normal(size=(1, 4))})
    network = Network(2, [Layer(first), Layer(second)], last)
    session = Session(Settings(data="xor"), network)
    try:
        assert session.training.settings.skips == ((1, 3),)
        session.do({"do": "settings", "values": {"skips": [[0, 2]]}}).result()
        session.do({"do": "step", "steps": 5}).result()
        session.do({"do": "reset"}).result()
        assert session.training.settings.skips == ((0, 2),)
        assert session.call(session.network).result().skips == [(0, 2)]
        assert (1, 3) in session.training.possible_skips  # and can be switched on again
    finally:
        session.close()


def test_a_script_repeats_the_run(tmp_path: Path, capsys: Any) -> None:
    training = Training(Settings(widths=(5, 5), skips=((0, 2),), seed=3, data="moons"))
    training.advance(20)
    training.change(replace(training.settings, skips=((1, 3),), learning_rate=0.05))
    training.advance(15)
    training.set_weight("skips", 2, 0.75)
    training.advance(7)
    (tmp_path / "run.py").write_text(script(training), "utf-8")
    again = runpy.run_path(str(tmp_path / "run.py"))["training"]
    for name in ("skips", "plain"):
        assert again.network(name) == training.network(name)
    assert f"{count_regions(training.network())} over R²" in capsys.readouterr().out
    cells = json.loads(notebook(training))["cells"]
    assert [cell["cell_type"] for cell in cells] == ["markdown", "code", "code"]


def test_messages_that_are_none() -> None:
    for data in (b"", b"\xff\xff\xff\xff", packed({}, b"")[:-2], b"\x02\0\0\0[}"):
        with pytest.raises(ValueError):  # noqa: PT011 - of json, too
            unpacked(data)
