"""What tests of searches share: random networks, small units, equality of all columns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from tropicell import Network, Regions
from tropicell.engines import tuning
from tropicell.regions.columns import Ragged

ENGINES = ("cells", "halfspaces")


def random_network(sizes: list[int], seed: int = 0) -> Network:
    rng = np.random.default_rng(seed)
    pairs = list(pairwise(sizes))
    return Network.mlp(
        [rng.normal(size=(n, m)) for m, n in pairs], [rng.normal(size=n) for _, n in pairs]
    )


@contextmanager
def small_units(limit: int) -> Iterator[None]:
    """Units of so few regions that also small networks are made of many."""
    with tuned(limits=(limit, 2 * limit), last_limit=2 * limit, few=0.05):
        yield


@contextmanager
def tuned(**changes: Any) -> Iterator[None]:
    """Searches that go by other numbers; see `tropicell.engines.tuning.Tuning`."""
    saved = tuning.current
    tuning.current = replace(saved, **changes)
    try:
        yield
    finally:
        tuning.current = saved


def assert_same_columns(found: Regions, expected: Regions) -> None:
    """Every stored column is the same, bit for bit, in the same order."""
    np.testing.assert_array_equal(found.packed.words, expected.packed.words)
    np.testing.assert_array_equal(found.witnesses, expected.witnesses)
    for name in ("bounded", "volumes", "corners", "facet_lines"):
        one, other = found.known(name), expected.known(name)
        assert (one is None) == (other is None), name
        if isinstance(one, Ragged) and isinstance(other, Ragged):
            np.testing.assert_array_equal(one.values, other.values)
            np.testing.assert_array_equal(one.ends, other.ends)
        elif one is not None:
            np.testing.assert_array_equal(one, other, err_msg=name)


def assert_same(found: Regions, expected: Regions) -> None:
    """The same columns, and both say the same of their completeness."""
    assert (found.complete, len(found)) == (expected.complete, len(expected))
    assert_same_columns(found, expected)
