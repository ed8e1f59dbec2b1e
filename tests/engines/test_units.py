"""What a unit of work gives depends on nothing but the unit; large ones are taken first."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np
import pytest

from searching import assert_same, tuned
from tropicell import Box, Network, enumerate_regions
from tropicell.engines.cells.task import CellTask
from tropicell.engines.halfspaces.task import HalfspaceTask
from tropicell.engines.scheduler import UnitPlace, UnitRun
from tropicell.engines.table import task_of
from tropicell.engines.units import Outcome, Task
from tropicell.network.domains import WholeSpace
from tropicell.regions.columns import size_of
from tropicell.search.unit_states import units_from_arrays, units_to_arrays

TASKS: list[Callable[[Network], Task]] = [CellTask, HalfspaceTask]


def dense(sizes: list[int], seed: int = 0) -> Network:
    rng = np.random.default_rng(seed)
    shapes = list(zip(sizes[1:], sizes[:-1], strict=True))
    return Network.mlp(
        [rng.normal(size=shape) for shape in shapes], [rng.normal(size=n) for n, _ in shapes]
    )


def never() -> bool:
    return False


def summary(task: Task, outcome: Outcome) -> Any:
    """What a unit gave: regions, witnesses, and all about the units that are left."""
    assert outcome.left is not None
    arrays = [column.witnesses.tobytes() for column in outcome.columns]
    left = [(unit.generation, unit.weight, len(unit.cells)) for unit in outcome.left]
    files = [task.describe(unit) for unit in outcome.left]
    saved = [(entry, {k: v.tobytes() for k, v in mine.items()}) for entry, mine in files]
    return outcome.count, arrays, left, saved


@pytest.mark.parametrize("engine", TASKS)
def test_a_unit_gives_the_same_whoever_does_it_and_whatever_they_did_before(
    engine: Callable[[Network], Task],
) -> None:
    task = engine(dense([4, 18, 14, 1]))
    units, used, seen = [task.root()], task.worker(), 0
    while units and seen < 15:
        unit = units.pop()
        limit = unit.limit(task.grain)
        outcome = used.run(unit, limit, never)
        assert summary(task, outcome) == summary(task, task.worker().run(unit, limit, never))
        assert outcome.left is not None
        units += outcome.left
        seen += 1
    assert seen == 15


@pytest.mark.parametrize("engine", TASKS)
def test_units_from_a_file_have_the_same_limits(engine: Callable[[Network], Task]) -> None:
    task = engine(dense([4, 14, 8, 1]))
    units, worker = [task.root()], task.worker()
    for _ in range(12):
        units += worker.run(units.pop(0), 50, never).left or []
    described, arrays = units_to_arrays(task, units)
    again = units_from_arrays(task, json.loads(json.dumps(described)), arrays)
    assert len({unit.weight for unit in units}) > 2
    limits = [[unit.limit(task.grain) for unit in some] for some in (units, again)]
    assert limits[0] == limits[1]
    assert [unit.weight for unit in again] == [unit.weight for unit in units]
    for wrong in (float("nan"), -1, "many", None):
        described[-1]["weight"] = wrong
        with pytest.raises(ValueError, match=r"weight|float|many"):
            units_from_arrays(task, described, arrays)


@pytest.mark.parametrize("engine", ["cells", "halfspaces"])
@pytest.mark.parametrize("store", [False, True])
def test_a_small_search_is_one_unit_and_a_large_one_is_soon_many(engine: str, store: bool) -> None:
    small = task_of(engine, dense([3, 6, 1]), WholeSpace(), "exact", store=store)
    root = small.root()
    assert small.worker().run(root, root.limit(small.grain), never).left == []
    large = task_of(engine, dense([4, 24, 24, 1]), WholeSpace(), "exact", store=store)
    units = [large.root()]
    for _ in range(2):
        left = [large.worker().run(unit, unit.limit(large.grain), never).left for unit in units]
        units = [unit for part in left for unit in part or []]
    assert len(units) >= 8


CHANGES: list[dict[str, Any]] = [
    {"limits": (1, 3), "last_limit": 3, "few": 0.05},
    {"limits": (1, 2, 4), "few": 0.01, "front_every": 1, "few_open": 0, "many_open": 1},
    {"limits": (5,), "few": 1.0, "most_waiting": 0, "late": 1, "last_limit": 7},
    {"limits": (7,), "few": 0.05, "batch_regions": 64, "steps": 3, "visits": 3, "joined": 1},
]


@pytest.mark.parametrize("sizes", [[2, 12, 12, 1], [3, 8, 7, 1], [5, 7, 4, 1]])
@pytest.mark.parametrize("engine", ["cells", "halfspaces"])
def test_all_threads_together_give_what_one_gives_however_a_search_is_cut(
    engine: Any, sizes: list[int]
) -> None:
    network = dense(sizes)
    expected = enumerate_regions(network, Box(-2, 2), engine=engine)
    assert len(expected) > 100
    for changes in CHANGES:
        with tuned(**changes):
            alone = enumerate_regions(network, Box(-2, 2), engine=engine)
            assert sorted(alone.texts()) == sorted(expected.texts())
            for workers in (2, 4):
                found = enumerate_regions(network, Box(-2, 2), engine=engine, workers=workers)
                assert_same(found, alone)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_little_waits_for_a_slow_reader(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regions that are found and not handed out, and those handed out without a pause."""
    most, sizes, waiting, handed_out = 40_000, [0], [0], [0]
    run = UnitRun(CellTask(dense([2, 200, 200, 1])), workers, in_order=True, most_waiting=most)
    finish = UnitPlace.finish

    def watched(place: UnitPlace, outcome: Outcome) -> list[UnitPlace]:
        sizes.append(sum(map(size_of, outcome.columns)))
        return finish(place, outcome)

    monkeypatch.setattr(UnitPlace, "finish", watched)
    for batch in run.batches():
        if batch is None:
            handed_out.append(0)
            time.sleep(0.001)
        else:
            handed_out[-1] += size_of(batch)
        waiting.append(run._waiting)
    assert run.complete
    unit = max(sizes)
    assert max(waiting) <= most + (workers + 1) * unit
    assert max(handed_out) <= most // 4 + unit
    assert sum(handed_out) > 2 * (most + (workers + 1) * unit)  # all could not have waited


def test_a_run_that_was_ended_hands_out_all_that_is_done_at_the_front() -> None:
    task = CellTask(dense([2, 40, 40, 1]))
    run = UnitRun(task, 2, in_order=True, most_waiting=1000)
    found = [batch for batch in islice(run.batches(), 5) if batch is not None]
    found += run.finish()
    done = run._first
    assert done is None or done.outcome is None or done.outcome.left is None
    rest = UnitRun(task, units=run.left_to_do(), count=run.count)
    found += [batch for batch in rest.batches() if batch is not None]
    whole = [batch for batch in UnitRun(task).batches() if batch is not None]
    words = [np.concatenate([b.packed.words for b in batches]) for batches in (found, whole)]
    np.testing.assert_array_equal(*words)
