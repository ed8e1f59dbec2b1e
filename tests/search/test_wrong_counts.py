"""What would be a wrong count, or a part that is taken for all, becomes an error or is said."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from searching import ENGINES, random_network, small_units, tuned
from tropicell import (
    Box,
    IncompleteError,
    IncompleteWarning,
    InternalError,
    Network,
    TimeLimitError,
    compare,
    count_many,
    count_regions,
    enumerate_regions,
    iter_regions,
    time_limit,
)
from tropicell.engines import units
from tropicell.engines.cells import _many, worker
from tropicell.engines.cells.worker import CellWorker
from tropicell.engines.halfspaces import task as halfspaces
from tropicell.engines.halfspaces.task import HalfspaceWorker
from tropicell.engines.scheduler import UnitPlace, UnitRun
from tropicell.engines.units import Outcome, Unit, check_outcome

NETWORK = random_network([3, 6, 5, 1])
WORKERS = {"cells": CellWorker, "halfspaces": HalfspaceWorker}
MODULES = {"cells": worker, "halfspaces": halfspaces}


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("engine", ENGINES)
def test_no_search_ends_without_a_region(
    engine: str, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WORKERS[engine], "run", lambda *_: Outcome([], 0, []))
    with pytest.raises(InternalError, match="report it"):
        count_regions(NETWORK, engine=engine, workers=workers)


@pytest.mark.parametrize("engine", ENGINES)
def test_no_part_of_a_search_gets_lost(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left of a unit with several cells is forgotten, once."""
    split, forgotten = units.children, []

    def forget(nodes: Any, n: int, result: Any, generation: int, doubtful: bool) -> list[Unit]:
        made = split(nodes, n, result, generation, doubtful)
        if generation < 6 or n < 6 or forgotten:
            return made
        forgotten.extend(made)
        return []

    monkeypatch.setattr(MODULES[engine], "children", forget)
    single = {"cone_grain": (1, 1), "halfspace_grain": (1, 1), "few": 1e9, "at_once": 0}
    with tuned(limits=(1, 1), last_limit=1, **single), pytest.raises(InternalError, match="ended"):
        enumerate_regions(random_network([3, 8, 8, 1]), engine=engine)
    assert forgotten


def test_every_waiting_cell_is_a_region_at_least() -> None:
    with small_units(2):
        run = UnitRun(halfspaces.HalfspaceTask(NETWORK, store=False))
        expected = UnitRun(halfspaces.HalfspaceTask(NETWORK, store=False))
        list(expected.batches())
        for _ in run.batches():
            assert run.count + sum(unit.least for unit in run.left_to_do()) <= expected.count
    check_outcome(Unit(0), Outcome([], 0, None))  # one that was told to stop


def test_what_is_counted_is_what_is_handed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    finish = UnitPlace.finish

    def lose(self: UnitPlace, outcome: Outcome) -> Any:
        outcome.columns = outcome.columns[1:]
        return finish(self, outcome)

    monkeypatch.setattr(UnitPlace, "finish", lose)
    assert count_regions(NETWORK) > 0
    with pytest.raises(InternalError, match="handed out"):
        enumerate_regions(NETWORK)


def test_the_loop_for_small_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    networks = [random_network([2, 3, 1], seed) for seed in range(4)]
    assert (count_many(networks) > 0).all()
    count_regions(networks[0])
    monkeypatch.setattr(_many.Counter, "count", lambda _, some: np.arange(len(some))[::-1])
    with pytest.raises(InternalError, match="network 3 "):
        count_many(networks)
    monkeypatch.setattr(_many, "count_another", lambda *_, **__: 0)
    monkeypatch.setattr("tropicell.engines.table._count_another", lambda *_, **__: 0)
    with pytest.raises(InternalError, match="no region"):
        count_regions(networks[1])


def test_networks_counted_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CellWorker, "run", lambda *_: Outcome([], 0, []))
    with pytest.raises(InternalError, match="network 0: "):
        count_many([NETWORK], engine="cells")


def test_batches_say_that_the_time_was_over_before_the_first_region() -> None:
    (batch,) = iter_regions(NETWORK, max_seconds=0)
    assert len(batch) == 0
    assert not batch.complete
    found = list(iter_regions(NETWORK))
    assert [batch.complete for batch in found] == [True]


# --- a signal in the middle ----------------------------------------------------------------------


@pytest.fixture(params=["SIGINT", "SIGTERM"])
def interrupted(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """In here a signal comes with the first unit of every search."""
    number = getattr(signal, request.param)
    usual = signal.default_int_handler if request.param == "SIGINT" else signal.SIG_DFL
    before = signal.signal(number, usual)
    run = UnitRun._do

    def raise_first(self: UnitRun, *given: Any, **options: Any) -> Any:
        if signal.getsignal(number) not in (usual, before):  # somebody listens
            signal.raise_signal(number)
        return run(self, *given, **options)

    monkeypatch.setattr(UnitRun, "_do", raise_first)
    yield
    signal.signal(number, before)


ANSWERS: dict[str, Callable[[Network], Any]] = {
    "compare": lambda network: compare(network, random_network([3, 6, 5, 1], 1), Box(-1, 1)),
    "count": count_regions,
}


@pytest.mark.posix
@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.usefixtures("interrupted")
def test_no_answer_is_made_from_a_part(name: str) -> None:
    with pytest.raises(IncompleteError):
        ANSWERS[name](NETWORK)


@pytest.mark.posix
@pytest.mark.usefixtures("interrupted")
def test_users_are_told_that_regions_are_missing() -> None:
    with pytest.warns(IncompleteWarning, match="ended the search"):
        assert not enumerate_regions(NETWORK).complete
    with pytest.warns(IncompleteWarning):
        assert not list(iter_regions(NETWORK))[-1].complete


def test_volumes_are_not_those_of_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Volumes come from a second search, which a time limit may end."""
    from tropicell.analysis import measure

    regions = enumerate_regions(NETWORK, Box(-1, 1), engine="halfspaces")
    monkeypatch.setattr(CellWorker, "run", lambda *_: Outcome([], 0, None))
    with pytest.raises(InternalError, match="found again"):
        measure._by_cells(regions, 1)
    with pytest.raises(TimeLimitError), time_limit(0):
        measure._by_cells(regions, 1)
