"""Threads, and processes forked or spawned after use: right answers."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from children import run_python
from strategies import random_network
from tropicell import Box, Network, Regions, count_regions, enumerate_regions, iter_regions
from tropicell.engines import tuning


def patterns(regions: Regions) -> set[bytes]:
    assert regions.complete
    return {row.tobytes() for row in regions.patterns}


def dense(*sizes: int) -> Network:
    rng = np.random.default_rng(0)
    shapes = [(n, m) for m, n in pairwise(sizes)]
    return Network.mlp(
        [rng.normal(size=s) for s in shapes], [rng.normal(size=s[0]) for s in shapes]
    )


def run(network: Network, engine: str) -> set[bytes]:
    return patterns(enumerate_regions(network, Box(-5, 5), engine=engine))


@pytest.mark.parametrize("engine", ["cells", "halfspaces", "traverse"])
@pytest.mark.parametrize("same", [True, False], ids=["same network", "other networks"])
def test_threads(engine: str, same: bool) -> None:
    """Degenerate networks too: their exact fallbacks keep state of their own."""
    kinds = ("generic", "integer", "zero_bias", "tenths")
    tasks = [random_network(1 if same else seed, kinds[seed % 4], 2, 3, 5) for seed in range(8)]
    if same:
        tasks = [tasks[1]] * 8
    expected = [run(Network(n.n_inputs, n.layers, n.output), engine) for n in tasks]
    with ThreadPoolExecutor(4) as pool:
        # nothing was made of these networks before: the threads meet in their caches
        found = list(pool.map(run, tasks, [engine] * len(tasks)))
    assert found == expected
    assert max(map(len, expected)) > 3


def test_two_engines_on_one_network_at_once() -> None:
    network = random_network(3, "integer", 3, 3, 4)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(run, [network] * 6, ["cells", "halfspaces", "traverse"] * 2))
    assert all(part == found[0] for part in found)


def test_threads_that_use_workers_of_their_own() -> None:
    network = random_network(0, "generic", 2, 3, 12)
    expected = count_regions(network)
    with ThreadPoolExecutor(3) as pool:
        counts = list(pool.map(lambda n: count_regions(network, workers=n), [1, 2, 3, 2]))
    assert counts == [expected] * 4
    assert expected > 50


def test_one_result_read_by_many_threads() -> None:
    """Neighbours, volumes and patterns are worked out when first asked for, by whoever asks."""
    regions = enumerate_regions(random_network(5, "integer", 2, 2, 5), Box(-3, 3))
    alone = enumerate_regions(random_network(5, "integer", 2, 2, 5), Box(-3, 3))

    def read(regions: Regions) -> tuple[int, float, int]:
        volume = round(float(regions.volumes.sum()), 9)
        return len(regions.neighbours.pairs), volume, len(regions.merged())

    expected = read(alone)
    assert expected[1] == 36.0
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(read, [regions] * 8)) == {expected}


@pytest.mark.parametrize("engine", ["cells", "halfspaces"])
@pytest.mark.parametrize("waiting", [0, 20_000])
def test_memory_for_regions_that_wait(
    engine: str, waiting: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However little may wait, threads do not wait for each other for ever, and nothing is lost."""
    network = dense(2, 16, 16, 1)
    expected = enumerate_regions(network, engine=engine)
    changed = replace(tuning.current, limits=(1, 2, 8), few=0.1, most_waiting=waiting)
    monkeypatch.setattr(tuning, "current", changed)
    for most in (None, 10**6):  # with a budget it does matter what waits
        found = enumerate_regions(
            network, engine=engine, workers=4, max_seconds=60, max_regions=most
        )
        assert found.complete
        assert patterns(found) == patterns(expected)
    batches = iter_regions(network, engine=engine, workers=3)
    assert sum(len(batch) for batch in batches) == len(expected) > 300


def test_a_reader_that_stops_lets_the_threads_go() -> None:
    assert list(iter_regions(dense(2, 4, 1)))  # the first progress bar starts a thread that stays
    before = threading.active_count()
    batches = iter_regions(dense(6, 40, 40, 1), workers=3)
    assert len(next(batches)) > 0
    batches.close()
    patience = time.monotonic() + 30
    while threading.active_count() > before and time.monotonic() < patience:
        time.sleep(0.01)
    assert threading.active_count() <= before


@pytest.mark.parametrize("method", [pytest.param("fork", marks=pytest.mark.posix), "spawn"])
def test_processes_after_use(method: str) -> None:
    script = Path(__file__).with_name("processes.py")
    done = run_python(str(script), method)
    answer = json.loads(done.stdout.splitlines()[-1])
    assert answer["before"] == answer["after"]
    assert answer["again"] == answer["before"][0] > 10
