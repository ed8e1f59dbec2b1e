"""Estimates: exact where the tree is small, unbiased and honest about their spread elsewhere."""

import json
import threading
import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given

from strategies import networks
from tropicell import Box, InvalidInputError, Network, count_regions, save
from tropicell._runtime.progress import RegionBar
from tropicell.cli import main
from tropicell.search.estimate import estimate_regions


def wide(seed, sizes=(2, 60, 60, 60, 1)):
    rng = np.random.default_rng(seed)
    pairs = list(pairwise(sizes))
    weights = [3 * rng.uniform(-1, 1, (n, m)) / np.sqrt(m) for m, n in pairs]
    return Network.mlp(weights, [rng.uniform(-1, 1, n) for _, n in pairs])


@given(networks())
def test_small_trees_are_counted(network):
    found = estimate_regions(network, Box(-2, 2))
    assert found.exact
    assert found.count == found.low == found.high == count_regions(network, Box(-2, 2))
    assert found.count <= found.upper_bound


@pytest.fixture
def few(monkeypatch):
    """Few subtrees at a time, so that trees of thousands of regions are sampled."""
    monkeypatch.setattr("tropicell.search.estimate._POPULATION", 12)


@pytest.mark.usefixtures("few")
def test_right_on_average_and_inside_the_interval():
    hits, ratios = 0, []
    for seed in range(6):
        network = wide(seed)
        true = count_regions(network, Box(-1, 1))
        found = estimate_regions(network, Box(-1, 1), probes=12, max_seconds=60, seed=seed)
        hits += found.low <= true <= found.high
        ratios.append(found.count / true)
    assert not found.exact
    assert hits >= 4
    assert 0.7 < np.mean(ratios) < 1.4


@pytest.mark.usefixtures("few")
def test_the_same_seed_gives_the_same_estimate():
    network = wide(1)
    first, second = (
        estimate_regions(network, Box(-1, 1), probes=4, max_seconds=60, seed=7) for _ in range(2)
    )
    assert (first.count, first.low, first.high) == (second.count, second.low, second.high)
    assert "confidence" in str(first)


@pytest.mark.usefixtures("few")
def test_halfspaces_engine():
    network = wide(0, (6, 14, 14, 1))
    found = estimate_regions(network, Box(-1, 1), probes=6, max_seconds=60)
    true = count_regions(network, Box(-1, 1))
    assert 0.3 < found.count / true < 3


@pytest.mark.parametrize(
    ("options", "message"),
    [({"confidence": 1.5}, "between 0 and 1"), ({"probes": 2}, "at least 4")],
)
def test_bad_options(options, message):
    with pytest.raises(InvalidInputError, match=message):
        estimate_regions(wide(0), **options)


def test_command_line(tmp_path, capsys):
    save(wide(0), tmp_path / "net.npz")
    assert main(["estimate", str(tmp_path / "net.npz"), "--box", "-0.1", "0.1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["exact"]
    assert found["count"] == count_regions(wide(0), Box(-0.1, 0.1))


def test_too_little_time_gives_what_is_certain():
    found = estimate_regions(wide(0, (2, 150, 150, 150, 1)), Box(-1, 1), max_seconds=1e-9)
    assert not found.exact
    assert found.low <= found.count <= found.high == found.upper_bound
    assert str(found).startswith(f"at least {found.low} regions")
    assert "too few to estimate" in str(found)


def test_the_progress_bar_gets_an_end(monkeypatch, capsys):
    monkeypatch.setattr("tropicell._runtime.progress._PATIENCE", 0.0)
    asked = threading.Event()

    def guess() -> int:
        asked.set()
        return 123

    bar = RegionBar(True, guess)
    bar.update(1)
    assert asked.wait(30)
    while "/123 [" not in (printed := capsys.readouterr().err):
        time.sleep(0.01)
        bar.update(2)
        bar._bar.refresh()
    bar.close()
    assert "2/123 [" in printed
