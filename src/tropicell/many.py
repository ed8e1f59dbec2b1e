"""Counting the regions of many networks in one call."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:  # Numba is slow to import
    from tropicell.engines._cells_many import Shape

#: Numbers of the networks that a thread counts at once: so few that each thread uses the same
#: memory for them again and again.
_AT_ONCE = 14_000

#: Networks that one looks at together, and before others get a turn.
_LOOKED_AT, _TURN = 128, 2048


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
            _count_alike(networks, domain, arithmetic, counts, pool, bar)
        _count_others(networks, domain, arithmetic, engine, counts, pool, bar)
    return counts


def _count_alike(
    networks: Sequence[Network],
    domain: Domain | None,
    arithmetic: ArithmeticName,
    counts: NDArray[np.int64],
    pool: ThreadPool,
    bar: Any,
) -> None:
    """Count networks that are like others; those that the loop leaves keep the count -1."""
    from tropicell.engines._cells_many import Counter  # noqa: PLC0415 - imports Numba
    from tropicell.engines.cells import Tolerance  # noqa: PLC0415
    from tropicell.engines.runs import load  # noqa: PLC0415

    mine = threading.local()

    def work(shape: Shape, block: list[int]) -> None:
        if getattr(mine, "shape", None) is not shape:
            exact, tolerance = arithmetic == "exact", Tolerance().relative
            mine.shape, mine.counter = shape, Counter(shape, exact=exact, tolerance=tolerance)
        found = mine.counter.count([networks[i] for i in block])
        counts[block] = found
        bar.update(int((found >= 0).sum()))

    tasks: list[Future[None]] = []
    for shape, block in _blocks(networks, domain):
        if not tasks:
            load("cells", 2)
        tasks.append(pool.submit(work, shape, block))
    for task in tasks:
        task.result()


@dataclass
class _Group:
    """Networks of one shape that wait until there are so many of them."""

    waiting: list[int] = field(default_factory=list)
    size: float = 2
    shape: Shape | None = None


def _blocks(
    networks: Sequence[Network], domain: Domain | None
) -> Iterator[tuple[Shape, list[int]]]:
    """Networks of one shape, some at a time, as soon as they are found."""
    groups: dict[Any, _Group] = {}
    for start in range(0, len(networks), _LOOKED_AT):
        if start % _TURN == 0:
            time.sleep(0)  # threads may be waiting for the interpreter
        for kind, alike in _alike(networks, start, min(start + _LOOKED_AT, len(networks))):
            group = groups.setdefault(kind, _Group())
            group.waiting += alike
            if len(group.waiting) >= group.size and group.shape is None:
                _prepare(group, networks, domain)
            while group.shape is not None and len(group.waiting) >= group.size:
                size = int(group.size)
                block, group.waiting = group.waiting[:size], group.waiting[size:]
                yield group.shape, block
    for group in groups.values():
        if group.shape is not None and group.waiting:
            yield group.shape, group.waiting


def _alike(
    networks: Sequence[Network], start: int, stop: int
) -> Iterator[tuple[Any, Iterable[int]]]:
    """Networks start … stop - 1 that follow each other and are of one kind; slices are left out."""
    some = networks[start:stop]
    kinds = [network.kind for network in some]
    slices = [network.embedding for network in some]
    if kinds.count(kinds[0]) == slices.count(None) == len(some):  # no more for each of them
        yield kinds[0], range(start, stop)
        return
    for kind, group in groupby(range(start, stop), key=lambda index: kinds[index - start]):
        yield kind, [index for index in group if networks[index].embedding is None]


def _prepare(group: _Group, networks: Sequence[Network], domain: Domain | None) -> None:
    """Find out what the networks of a group have in common, and how many to count at once."""
    from tropicell.engines._cells_many import shape_of  # noqa: PLC0415 - imports Numba

    index = group.waiting[0]
    if networks[index].n_inputs == 2:
        try:
            network, where = resolve(networks[index], domain)
        except TropicellError as error:
            raise InvalidInputError(f"network {index}: {error}") from error
        group.shape = shape_of(network, where) if network is networks[index] else None
    group.size = np.inf if group.shape is None else max(1, _AT_ONCE // group.shape.size)


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
