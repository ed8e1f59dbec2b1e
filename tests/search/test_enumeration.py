"""The front door: engines agree, budgets and interruptions keep what was found."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from searching import ENGINES, assert_same, small_units
from strategies import KINDS, default_network, domains, networks, random_network
from tropicell import (
    Box,
    IncompleteError,
    IncompleteWarning,
    InvalidDomainError,
    InvalidInputError,
    Network,
    Polytope,
    Slice,
    count_regions,
    enumerate_regions,
    iter_regions,
)
from tropicell._runtime import memory
from tropicell.engines import column_store
from tropicell.engines import table as runs
from tropicell.engines.cells import task as cells


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=60)
@given(st.data())
def test_every_engine_finds_the_regions_of_the_oracle(engine: str, data: st.DataObject) -> None:
    network = data.draw(networks(max_inputs=4, max_depth=3, max_width=4))
    domain = data.draw(domains(network.n_inputs))
    expected = sorted(enumerate_regions(network, domain, engine="traverse").texts())
    found = enumerate_regions(network, domain, engine=engine)
    assert found.complete
    assert sorted(found.texts()) == expected
    assert count_regions(network, domain, engine=engine) == len(expected)


@pytest.mark.parametrize("kind", KINDS)
def test_engines_agree_on_larger_networks(kind: str) -> None:
    for inputs, width in ((1, 12), (2, 8), (3, 6)):
        network = random_network(7, kind, inputs, 3, width, relu=True)
        cells = enumerate_regions(network, engine="cells")
        halfspaces = enumerate_regions(network, engine="halfspaces")
        assert sorted(cells.texts()) == sorted(halfspaces.texts())


@pytest.mark.parametrize("sizes", [[3, 16, 16, 16, 1], [4, 16, 16, 1], [5, 12, 12, 1]])
def test_both_engines_count_the_same(sizes: list[int]) -> None:
    network = default_network(sizes)
    box = Box(-1, 1)
    assert count_regions(network, box, engine="cells") == count_regions(
        network, box, engine="halfspaces"
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_witnesses_have_their_patterns(engine: str) -> None:
    network = default_network([3, 12, 12, 1])
    regions = enumerate_regions(network, engine=engine)
    exact = network.patterns(regions.witnesses, arithmetic="exact")
    np.testing.assert_array_equal(exact, regions.patterns)


def test_columns_of_the_cells_engine_are_those_of_exact_geometry() -> None:
    network = random_network(3, "generic", 2, 3, 5, relu=True)
    fast = enumerate_regions(network, Box(-1, 1))
    for index, region in enumerate(fast):
        facets = {source for facet in region.facets for source in facet.sources}
        lines = {fast.lines.boundary(int(line)) for line in fast.facet_lines[index]}
        assert lines <= facets
        assert len(lines) == len(region.facets)
        corners = {tuple(np.round(v.astype(float), 9)) for v in region.vertices}
        assert {tuple(np.round(v[:-1], 9)) for v in fast.corners[index]} == corners
    np.testing.assert_allclose(fast.volumes.sum(), 4.0, rtol=1e-12)


def test_mean_number_of_facets_is_at_most_twice_the_dimension() -> None:
    for inputs in (1, 2, 3, 4):
        regions = enumerate_regions(default_network([inputs, 14, 14, 1]))
        assert regions.facet_lines.counts.mean() <= 2 * inputs


@pytest.mark.parametrize("engine", ["cells", "halfspaces", "traverse"])
def test_budgets_keep_what_was_found(engine: str) -> None:
    network = default_network([3, 8, 8, 1])
    whole = enumerate_regions(network, engine=engine)
    assert whole.complete
    part = enumerate_regions(network, engine=engine, max_regions=5)
    assert (len(part), part.complete) == (5, False)
    assert set(part.texts()) <= set(whole.texts())
    assert len(part.witnesses) == 5
    assert enumerate_regions(network, engine=engine, max_regions=len(whole)).complete
    assert len(enumerate_regions(network, engine=engine, max_regions=0)) == 0
    with pytest.raises(IncompleteError) as caught:
        count_regions(network, engine=engine, max_regions=7)
    assert caught.value.count == 7


@pytest.mark.parametrize("engine", ENGINES)
def test_time_runs_out(engine: str) -> None:
    network = default_network([5, 40, 40, 1])
    regions = enumerate_regions(network, engine=engine, max_seconds=0.2)
    assert not regions.complete
    assert len(regions) > 100


@pytest.mark.parametrize("engine", ENGINES)
def test_batches_are_the_regions(engine: str) -> None:
    network = default_network([2, 30, 30, 1])
    whole = enumerate_regions(network, engine=engine)
    batches = list(iter_regions(network, engine=engine))
    assert [batch.complete for batch in batches] == [False] * (len(batches) - 1) + [True]
    texts = [text for batch in batches for text in batch.texts()]
    assert sorted(texts) == sorted(whole.texts())


@pytest.mark.parametrize("arithmetic", ["exact", "float"])
@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=20)
@given(st.data())
def test_the_result_does_not_depend_on_the_workers(
    engine: str, arithmetic: str, data: st.DataObject
) -> None:
    network = data.draw(networks(max_inputs=4, max_depth=3, max_width=5))
    domain = data.draw(domains(network.n_inputs))
    options = {"engine": engine, "arithmetic": arithmetic}
    whole = enumerate_regions(network, domain, **options)
    with small_units(data.draw(st.integers(1, 9))):
        alone = enumerate_regions(network, domain, **options)
        for workers in (2, 3, 8):
            assert_same(enumerate_regions(network, domain, workers=workers, **options), alone)
        assert count_regions(network, domain, workers=2, **options) == len(whole)
        budget = data.draw(st.integers(0, len(whole)))
        part = enumerate_regions(network, domain, workers=2, max_regions=budget, **options)
    assert alone.complete
    assert part.complete == (budget == len(whole))
    assert part.texts() == alone.texts()[:budget]
    if arithmetic == "exact":
        assert sorted(alone.texts()) == sorted(whole.texts())


@pytest.mark.parametrize("sizes", [[2, 30, 30, 1], [3, 12, 12, 1], [6, 9, 9, 1]])
def test_workers_share_larger_networks(sizes: list[int]) -> None:
    network = default_network(sizes)
    alone = count_regions(network)
    assert count_regions(network, workers=2) == alone
    part = enumerate_regions(network, workers=2, max_regions=20)
    assert (len(part), part.complete) == (20, False)
    assert enumerate_regions(network, workers=2).packed.first_duplicate() == -1


def test_an_error_in_a_worker_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: cells.CellWorker, *_: object) -> object:
        raise ArithmeticError

    monkeypatch.setattr(cells.CellWorker, "run", fail)
    with pytest.raises(ArithmeticError):
        count_regions(default_network([2, 30, 30, 1]), workers=2)


def test_ctrl_c_keeps_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    original = runs.TraverseRun.batches

    def interrupted(self: runs.TraverseRun) -> object:
        for i, batch in enumerate(original(self)):
            if i == 25:
                raise KeyboardInterrupt
            yield batch

    monkeypatch.setattr(runs.TraverseRun, "batches", interrupted)
    with pytest.warns(IncompleteWarning, match="SIGINT"):
        regions = enumerate_regions(default_network([2, 8, 8, 1]), engine="traverse")
    assert not regions.complete
    assert len(regions) == 26


def test_float_arithmetic_agrees_on_generic_networks() -> None:
    for engine in ENGINES:
        network = default_network([2, 20, 20, 1])
        exact = enumerate_regions(network, Box(-1, 1), engine=engine)
        rounded = enumerate_regions(network, Box(-1, 1), engine=engine, arithmetic="float")
        assert sorted(exact.texts()) == sorted(rounded.texts())


def test_regions_on_a_plane_through_a_high_dimensional_space() -> None:
    rng = np.random.default_rng(0)
    network = default_network([50, 20, 20, 3])
    plane = Slice.through(rng.normal(size=(3, 50)), inside=Box(-1, 2))
    regions = enumerate_regions(network, plane)
    np.testing.assert_allclose(regions.volumes.sum(), 9.0, rtol=1e-9)
    t = rng.uniform(-1, 2, size=(1000, 2))
    found = regions.locate(t)
    assert (found >= 0).all()
    maps = regions.affine_maps[found]
    values = np.einsum("nod,nd->no", maps[:, :, :-1], t) + maps[:, :, -1]
    np.testing.assert_allclose(values, network(plane.embed(t)), rtol=1e-9, atol=1e-9)


def test_two_threads_at_once() -> None:
    nets = [default_network([2, 24, 24, 1], seed) for seed in range(4)]
    expected = [count_regions(network) for network in nets]
    found = [0] * len(nets)

    def work(i: int) -> None:
        found[i] = count_regions(nets[i])

    threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(len(nets))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert found == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "fast"}, "engine must be"),
        ({"arithmetic": "double"}, "arithmetic must be"),
        ({"engine": "traverse", "arithmetic": "float"}, "exact arithmetic only"),
        ({"max_regions": -1}, "max_regions must not be negative"),
        ({"max_regions": 2.5}, "max_regions must be a whole number, not 2.5"),
        ({"max_seconds": "x"}, "max_seconds must be a number, not 'x'"),
        ({"max_bytes": True}, "max_bytes must be a whole number"),
        ({"checkpoint": ""}, "checkpoint must name a folder"),
        ({"device": "gpu"}, "device must be 'cpu' or 'cuda', not 'gpu'"),
        ({"engine_backend": "dask"}, "engine_backend must be 'threads' or 'ray', not 'dask'"),
        ({"workers": 0}, "workers must be"),
    ],
)
def test_bad_options_are_refused(options: dict, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        enumerate_regions(Network.mlp([[[1.0]], [[1.0]]]), **options)


def test_refusals_come_at_the_call() -> None:
    with pytest.raises(InvalidInputError, match="engine must be"):
        iter_regions(Network.mlp([[[1.0]], [[1.0]]]), engine="fast")
    with pytest.raises(InvalidInputError, match="expected a Network, not list"):
        count_regions([[1.0]])


@pytest.mark.parametrize("engine", ["cells", "halfspaces", "traverse"])
def test_domains_without_interior_are_refused(engine: str) -> None:
    flat = Polytope([[1.0, 0.0], [-1.0, 0.0]], [0.0, 0.0])
    with pytest.raises(InvalidDomainError, match="no interior"):
        enumerate_regions(Network.mlp([np.eye(2), np.eye(2)]), flat, engine=engine)


@pytest.mark.parametrize("workers", [1, 2])
def test_memory_that_is_nearly_full_ends_an_enumeration(
    workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = default_network([2, 16, 16, 1], seed=3)
    left = [2**40, 2**40, 2**20]
    monkeypatch.setattr(column_store, "_LOOK_EVERY", 1000)
    monkeypatch.setattr(memory, "free_memory", lambda: left.pop(0) if left else 2**20)
    with small_units(20), pytest.warns(IncompleteWarning, match="count_regions needs hardly any"):
        regions = enumerate_regions(network, workers=workers)
    assert not regions.complete
    assert regions.stats["ended_by"] == "MemoryError"
    assert 0 < len(regions) < count_regions(network)


def test_free_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    meminfo = tmp_path / "meminfo"
    monkeypatch.setattr(memory, "_MEMINFO", meminfo)
    monkeypatch.setattr(memory, "_CONTAINER", tmp_path)
    assert memory.free_memory() is None
    meminfo.write_text("MemTotal:  9000 kB\nMemAvailable:  5000 kB\n")
    assert memory.free_memory() == 5000 * 1024
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("4000\n")
    assert memory.free_memory() == 5000 * 1024
    (tmp_path / "memory.max").write_text("5000\n")
    assert memory.free_memory() == 1000


def test_a_budget_of_bytes_holds_some_regions_that_share_corners() -> None:
    """Points of regions that are left out do not count, though a batch has them all."""
    network, box = default_network([3, 7, 6, 1], seed=3), Box(-3, 3)
    every = enumerate_regions(network, box, engine="cells")
    some = enumerate_regions(network, box, engine="cells", max_bytes=10_000)
    assert 0 < len(some) < len(every)
    assert some.nbytes < 12_000
    np.testing.assert_array_equal(
        some.corners.values, every.corners.values[: every.corners.ends[len(some) - 1]]
    )
