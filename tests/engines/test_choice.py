"""Which engine `auto` stands for: by the shape of a network, or by a probe without a clock."""

from __future__ import annotations

import copy
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from benchmarks.deep_networks import DeepCase, Kind

from searching import assert_same_columns, random_network
from tropicell import Ball, Box, Network, Polytope, WholeSpace, count_regions, enumerate_regions
from tropicell._runtime.interruption import Halt
from tropicell.engines import choice, table
from tropicell.errors import TimeLimitError
from tropicell.network.domains import Domain
from tropicell.search.estimate import estimate_regions


def he(sizes: list[int], seed: int = 0, *, biases: bool = True) -> Network:
    rng = np.random.default_rng(seed)
    weights = [rng.normal(size=(n, m)) * np.sqrt(2 / m) for m, n in pairwise(sizes)]
    return Network.mlp(weights, [rng.normal(size=n) / 2 * biases for n in sizes[1:]])


#: Five inputs, a layer: worth a probe.
PROBED = he([5, 24, 1])


def prefer(monkeypatch: pytest.MonkeyPatch, engine: str) -> None:
    """Let a probe end in favour of an engine, as if the other one had become slow."""
    dear = {"cells": {"cubes": 1e9}, "halfspaces": {"nodes": 1e12}}
    prices = {key: dear[key[0]] if key[0] != engine else {} for key in choice.COSTS}
    monkeypatch.setattr(choice, "COSTS", prices)
    never = {key: {5: 0.0} for key in choice._LEAST_FOR_CELLS}
    monkeypatch.setattr(choice, "_LEAST_FOR_CELLS", never)


@pytest.mark.parametrize(
    ("sizes", "biases", "engine"),
    [
        ([1, 300, 1], True, "cells"),
        ([3, 60, 60, 1], True, "cells"),
        ([11, 4, 1], True, "halfspaces"),
        ([784, 9, 1], True, "halfspaces"),
        ([4, 24, 24, 1], True, "cells"),
        ([7, 5, 1], True, "halfspaces"),
        ([5, 8, 6, 1], True, "halfspaces"),
        ([6, 8, 5, 1], False, "halfspaces"),
    ],
)
def test_no_probe_where_the_shape_decides(sizes: list[int], biases: bool, engine: str) -> None:
    network = he(sizes, biases=biases)
    found = table.choose("auto", network)
    assert found is not None
    assert found.engine == engine
    assert found.reason


def test_bounded_boxes_with_many_inputs_and_balls() -> None:
    few, many = he([12, 8, 8, 1]), he([32, 8, 1])
    inf = np.inf
    for network, domain, engine in [
        (few, Box(-1, 1), "halfspaces"),
        (few, Box(0.5, 0.5 + 1e-9), "wide"),
        (many, Box(-1, 1), "wide"),
        (many, Box(0, inf), "halfspaces"),
        (many, None, "halfspaces"),
        (he([2, 3, 1]), Ball([0, 0], 1, "l2"), "wide"),
    ]:
        found = table.choose("auto", network, domain)
        assert found is not None
        assert found.engine == engine


@pytest.mark.parametrize(
    ("kind", "arithmetic", "counted", "stored"),
    [
        ("he", "exact", "halfspaces", "halfspaces"),
        ("he", "float", "halfspaces", "halfspaces"),
        ("zero biases", "exact", "halfspaces", "cells"),
        ("zero biases", "float", "cells", "cells"),
        ("integers", "exact", "halfspaces", "cells"),
        ("integers", "float", "cells", "cells"),
        ("twins", "float", "halfspaces", "cells"),
        ("tenths", "float", "halfspaces", "cells"),
    ],
)
def test_small_networks_are_not_probed(
    kind: Kind, arithmetic: str, counted: str, stored: str
) -> None:
    """Where boundaries meet, half-spaces count well but find witnesses in rationals."""
    network = DeepCase("", (5, 5, 4, 3, 1), kind, seed=1).network()
    for store, engine in ((False, counted), (True, stored)):
        found = table.choose("auto", network, None, arithmetic, store=store)
        assert found is not None
        assert found.engine == engine
        assert found.reason


def test_few_regions_in_all_of_four_dimensions_are_counted_by_halfspaces() -> None:
    small, large = he([4, 6, 4, 1]), he([4, 12, 10, 1])
    for network, domain, store, engine in (
        (small, WholeSpace(), False, "halfspaces"),
        (small, None, False, "halfspaces"),
        (small, WholeSpace(), True, "cells"),
        (small, Box(-3, 3), False, "cells"),
        (large, WholeSpace(), False, "cells"),
    ):
        found = table.choose("auto", network, domain, "exact", store=store)
        assert found is not None
        assert found.engine == engine


def test_larger_networks_in_between_are_probed() -> None:
    for sizes in ([5, 26, 1], [6, 10, 10, 1], [8, 20, 1], [10, 20, 1]):
        for store in (False, True):
            assert table.choose("auto", he(sizes), store=store) is None
    one_layer = table.choose("auto", he([5, 26, 1]), Box(-1, 1))
    assert one_layer is not None
    assert one_layer.engine == "cells"


def test_neurons_with_one_boundary_count_once() -> None:
    once, twice = (
        DeepCase("", (5, n, n, 1), kind).network() for n, kind in ((8, "he"), (16, "twins"))
    )
    assert choice._expected(twice) == choice._expected(once)


def test_without_biases_activations_that_break_elsewhere_are_no_reason() -> None:
    from tropicell import Affine, Layer
    from tropicell.network.activations import hard_tanh, relu

    rng = np.random.default_rng(0)
    layers = [Layer(Affine({0: rng.normal(size=(30, 5))}), f()) for f in (relu, hard_tanh)]
    central, other = (Network(5, [layer], Affine({1: np.ones((1, 30))})) for layer in layers)
    assert table.choose("auto", central, store=True) is not None
    assert table.choose("auto", other, store=True) is None


def test_a_probe_finds_what_is_far_better() -> None:
    deep, wide = he([5, *[8] * 8, 1]), he([8, 14, 1])
    found = enumerate_regions(deep, Box(-3, 3), arithmetic="float", max_regions=9)
    assert found.stats["engine"] == "cells"
    assert enumerate_regions(wide, Box(-3, 3), max_regions=9).stats["engine"] == "halfspaces"


@pytest.mark.parametrize("domain", [Box(-1, 1), WholeSpace(), Polytope(np.ones((1, 5)), [1.0])])
@pytest.mark.parametrize("arithmetic", ["exact", "float"])
def test_the_same_call_gives_the_same_choice(domain: Domain, arithmetic: str) -> None:
    found = {
        table.probe(copy.copy(PROBED), domain, arithmetic, Halt(), store=False) for _ in range(3)
    }
    assert len(found) == 1
    assert found.pop().reason.startswith("a probe: ")


def test_it_is_probed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    network = copy.copy(PROBED)
    first = table.probe(network, Box(-1, 1), "exact", Halt(), store=False)
    monkeypatch.setattr(table, "by_probe", None)
    assert table.probe(network, Box(-1, 1), "exact", Halt(), store=False) == first
    with pytest.raises(TypeError):
        table.probe(network, Box(-2, 1), "exact", Halt(), store=False)


@pytest.mark.parametrize("engine", ["cells", "halfspaces"])
@pytest.mark.parametrize("workers", [1, 2])
def test_what_is_chosen_is_used_and_said(
    monkeypatch: pytest.MonkeyPatch, engine: str, workers: int
) -> None:
    prefer(monkeypatch, engine)
    network = he([5, 12, 1], 1)
    monkeypatch.setattr(choice, "_FEW_REGIONS", 10.0)
    found = enumerate_regions(copy.copy(network), Box(-1, 1), workers=workers)
    asked = enumerate_regions(network, Box(-1, 1), engine=engine)
    assert_same_columns(found, asked)
    assert found.stats["engine"] == asked.stats["engine"] == engine
    assert asked.stats["reason"] == "as asked for"
    assert "a region" in found.stats["reason"]
    assert count_regions(copy.copy(network), Box(-1, 1), workers=workers) == len(asked)


def test_a_checkpoint_goes_on_with_its_engine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(choice, "_FEW_REGIONS", 10.0)
    network, where = random_network([5, 9, 4, 1]), tmp_path / "run"
    prefer(monkeypatch, "halfspaces")
    begun = enumerate_regions(network, Box(-1, 1), max_regions=20, checkpoint=where)
    prefer(monkeypatch, "cells")
    again = enumerate_regions(copy.copy(network), Box(-1, 1), checkpoint=where)
    assert begun.stats["engine"] == again.stats["engine"] == "halfspaces"
    assert again.stats["reason"] == "what the search was begun with"
    assert again.complete
    assert_same_columns(again, enumerate_regions(network, Box(-1, 1), engine="halfspaces"))


def test_a_folder_goes_on_with_its_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(choice, "_FEW_REGIONS", 10.0)
    network, where = random_network([5, 9, 4, 1]), tmp_path / "run"
    prefer(monkeypatch, "halfspaces")
    enumerate_regions(network, Box(-1, 1), max_regions=20, out=where)
    prefer(monkeypatch, "cells")
    again = enumerate_regions(copy.copy(network), Box(-1, 1), out=where)
    assert again.complete
    assert again.stats["engine"] == "halfspaces"
    assert len(again) == count_regions(network, Box(-1, 1), engine="cells")


@pytest.mark.parametrize("contents", [None, b"", b"PK\x03\x04 no archive"])
def test_what_is_not_a_checkpoint_names_no_engine(contents: bytes | None, tmp_path: Path) -> None:
    from tropicell.search.checkpoint import begun_with

    if contents is not None:
        (tmp_path / "state.npz").write_bytes(contents)
    assert begun_with(tmp_path) == {}


def test_no_time_for_a_probe() -> None:
    network = copy.copy(PROBED)
    found = enumerate_regions(network, Box(-1, 1), max_seconds=0)
    assert not found.complete
    assert found.stats["engine"] in choice.PROBED
    assert found.stats["ended_by"] == "max_seconds"
    over = Halt()
    over.set()
    with pytest.raises(TimeLimitError):
        table.probe(network, Box(-1, 1), "exact", over, store=False)


def test_probes_count_what_they_are_for() -> None:
    for engine in choice.PROBED:
        task = table.task_of(engine, PROBED, Box(-1, 1), "exact", store=False)
        probe = choice.look(engine, task, 5, Halt())
        found = choice.features(engine, PROBED, probe)
        assert probe.regions > 0
        assert (probe.corners > 5) == (engine == "cells")
        names = {
            name for key, prices in choice.COSTS.items() if key[0] == engine for name in prices
        }
        assert names <= set(found)
        assert found["exact"] == 0


def test_a_probe_of_few_regions_sees_all_of_them() -> None:
    for engine in choice.PROBED:
        task = table.task_of(engine, he([5, 3, 1]), WholeSpace(), "exact", store=False)
        probe = choice.look(engine, task, 5, Halt())
        assert probe.complete
        assert probe.regions == 8


def test_an_estimate_uses_the_chosen_engine() -> None:
    estimate = estimate_regions(PROBED, Box(-1, 1), max_seconds=20, probes=4)
    assert estimate.low <= count_regions(PROBED, Box(-1, 1)) * 2
