"""Counting the regions of many networks in one call."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import as_completed
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from tropicell.arithmetic import ArithmeticName
from tropicell.domains import Domain, resolve
from tropicell.enumeration import count_regions
from tropicell.errors import InvalidInputError, TropicellError
from tropicell.network import Network
from tropicell.parts import check_workers
from tropicell.search import Engine
from tropicell.thread_pool import ThreadPool

#: Networks that a thread counts at once, without a look at the progress bar.
_AT_ONCE = 64
#: Networks whose numbers are prepared together: bounds the memory that this takes.
_PREPARED = 4096


def count_many(
    networks: Iterable[Network],
    domain: Domain | None = None,
    *,
    workers: int = 1,
    arithmetic: ArithmeticName = "exact",
    engine: Engine = "auto",
    progress: bool | None = None,
) -> NDArray[np.int64]:
    """Count the linear regions of many networks: one call, thousands of small networks.

    Networks with two inputs that differ in weights and biases only are prepared together and
    counted in one compiled loop, ten times as fast as one call of `count_regions` for each, or
    more. All others are counted one by one.

    Parameters
    ----------
    networks : iterable of Network
    domain : Domain, optional
        Where to look, the same for all; default: all of R^n.
    workers : int
        Number of threads.
    arithmetic, engine
        As for `count_regions`.
    progress : bool, optional
        Show a progress bar; default: if standard error is a terminal.

    Returns
    -------
    ndarray of int64
        The counts, in the order of the networks.

    Raises
    ------
    InvalidInputError
        Names the index of a network that could not be counted.

    Examples
    --------
    >>> from tropicell import Box
    >>> rng = np.random.default_rng(0)
    >>> nets = [Network.mlp([rng.normal(size=(3, 2)), np.ones((1, 3))]) for _ in range(100)]
    >>> count_many(nets, Box(-10, 10))[:5]
    array([6, 6, 6, 6, 6])
    """
    networks = list(networks)
    for index, network in enumerate(networks):
        if not isinstance(network, Network):
            raise InvalidInputError(f"network {index} is a {type(network).__name__}, not a Network")
    check_workers(workers)
    counts = np.full(len(networks), -1, dtype=np.int64)
    show = sys.stderr.isatty() if progress is None else progress
    with (
        ThreadPool(workers) as pool,
        tqdm(total=len(networks), unit=" networks", disable=not show) as bar,
    ):
        if engine in ("auto", "cells") and arithmetic in ("exact", "float"):
            for group in _groups(networks, domain):
                _count_group(networks, group, domain, arithmetic, counts, pool, workers, bar)
        _count_others(networks, domain, arithmetic, engine, counts, pool, bar)
    return counts


def _groups(networks: Sequence[Network], domain: Domain | None) -> Iterator[NDArray[np.int64]]:
    """Indices of networks of equal shape, where there are several."""
    from tropicell.engines._cells_many import signature  # noqa: PLC0415 - Numba is slow to import

    groups: dict[Any, list[int]] = {}
    for index, network in enumerate(networks):
        if (key := signature(network)) is not None:
            groups.setdefault(key, []).append(index)
    for group in groups.values():
        if len(group) > 1 and resolve(networks[group[0]], domain)[0] is networks[group[0]]:
            for first in range(0, len(group), _PREPARED):
                yield np.array(group[first : first + _PREPARED])


def _count_group(
    networks: Sequence[Network],
    group: NDArray[np.int64],
    domain: Domain | None,
    arithmetic: ArithmeticName,
    counts: NDArray[np.int64],
    pool: ThreadPool,
    workers: int,
    bar: Any,
) -> None:
    """Count networks of one shape; those that the loop leaves keep the count -1."""
    from tropicell.engines import _cells_many as many  # noqa: PLC0415 - Numba is slow to import
    from tropicell.engines.cells import Tolerance  # noqa: PLC0415

    members = [networks[i] for i in group]
    counts[group[0]] = _count_one(members[0], int(group[0]), domain, arithmetic, "cells")
    shape, stack = many.prepare(members, resolve(members[0], domain)[1])
    found = np.full(len(members), many.LEFT, dtype=np.int64)
    found[0] = counts[group[0]]
    bar.update(1)
    starts = iter(range(1, len(members), _AT_ONCE))

    def work() -> Iterator[int]:
        counter = many.Counter(
            shape, stack, exact=arithmetic == "exact", tolerance=Tolerance().relative
        )
        for first in starts:
            last = min(first + _AT_ONCE, len(members))
            counter.count(first, last, found)
            yield int((found[first:last] >= 0).sum())

    for task in as_completed([pool.submit(_drain, work(), bar) for _ in range(workers)]):
        task.result()
    counts[group] = found


def _drain(done: Iterator[int], bar: Any) -> None:
    for n in done:
        bar.update(n)


def _count_others(
    networks: Sequence[Network],
    domain: Domain | None,
    arithmetic: ArithmeticName,
    engine: Engine,
    counts: NDArray[np.int64],
    pool: ThreadPool,
    bar: Any,
) -> None:
    def work(index: int) -> None:
        counts[index] = _count_one(networks[index], index, domain, arithmetic, engine)
        bar.update(1)

    tasks = [pool.submit(work, int(index)) for index in np.flatnonzero(counts < 0)]
    for task in tasks:
        task.result()


def _count_one(
    network: Network, index: int, domain: Domain | None, arithmetic: ArithmeticName, engine: Engine
) -> int:
    try:
        return count_regions(network, domain, arithmetic=arithmetic, engine=engine, progress=False)
    except TropicellError as error:
        raise InvalidInputError(f"network {index}: {error}") from error
