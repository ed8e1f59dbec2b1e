"""Arrays of workers: where they lie, what they hold, and what nobody may rely on."""

from __future__ import annotations

import gc
import pickle
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest

from strategies import random_network
from tropicell import Box, Regions, enumerate_regions
from tropicell._runtime import memory
from tropicell._runtime.memory import Blueprint
from tropicell.regions.columns import Ragged


class Pair(NamedTuple):
    left: Any
    right: Any


def made(free: Any) -> tuple[Any, ...]:
    inner = Pair(np.arange(5, dtype=np.int32), free(np.empty((300, 1000))))
    return (np.zeros((2, 3)), inner, None, free(np.empty(7, np.uint8)))


def test_every_copy_has_arrays_of_its_own() -> None:
    plan = Blueprint(made)
    first, second = plan.build(), plan.build()
    for copy in first, second:
        zeros, (left, right), nothing, few = copy
        assert isinstance(copy[1], Pair)
        assert nothing is None
        np.testing.assert_array_equal(zeros, np.zeros((2, 3)))
        np.testing.assert_array_equal(left, [0, 1, 2, 3, 4])
        assert (left.dtype, right.shape, few.shape) == (np.int32, (300, 1000), (7,))
        assert all(array.flags.c_contiguous for array in (zeros, left, right, few))
    arrays = [array for copy in (first, second) for array in (copy[0], copy[1].left, copy[3])]
    ends = sorted((array.ctypes.data, array.ctypes.data + array.nbytes) for array in arrays)
    for (_, end), (begin, _) in pairwise(ends):
        assert end // 64 < begin // 64 or end % 64 == 0  # no line of the cache is shared
    first[0][:] = 1.0
    assert not second[0].any()


def nonsense(shape: Any, dtype: Any) -> Any:
    array = np.empty(shape, dtype)
    some = array.reshape(-1).view(np.uint8)
    some[:] = np.random.default_rng(0).integers(0, 256, len(some), np.uint8)
    return array


def columns(regions: Regions) -> list[Any]:
    found = [regions.packed.words, regions.witnesses, regions.bounded]
    for name in ("corners", "facet_lines"):
        column = regions.known(name)
        found += [column.values, column.ends] if isinstance(column, Ragged) else []
    return found


@pytest.mark.parametrize(
    ("engine", "inputs"), [("cells", 1), ("cells", 2), ("cells", 3), ("halfspaces", 3)]
)
@pytest.mark.parametrize("kind", ["generic", "integer", "repeated"])
@pytest.mark.parametrize("arithmetic", ["exact", "float"])
def test_memory_that_is_not_cleared_does_not_matter(
    arithmetic: Any, kind: str, engine: Any, inputs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = random_network(7, kind, inputs, 2, 5)
    for domain in (None, Box(-1, 1)):
        options = {"engine": engine, "arithmetic": arithmetic}
        found = enumerate_regions(network, domain, **options)
        with monkeypatch.context() as patched:
            patched.setattr(memory, "_empty", nonsense)
            again = enumerate_regions(network, domain, **options)
        for one, other in zip(columns(found), columns(again), strict=True):
            np.testing.assert_array_equal(one, other)


def test_copies_of_a_blueprint_that_was_sent_elsewhere() -> None:
    plan: Any = pickle.loads(pickle.dumps(Blueprint(made)))
    np.testing.assert_array_equal(plan.build()[1].left, [0, 1, 2, 3, 4])


def test_garbage_is_collected_again_after_a_pause() -> None:
    assert gc.isenabled()
    with memory.no_collection():
        assert not gc.isenabled()
        with memory.no_collection():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
