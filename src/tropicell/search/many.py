"""Counting the regions of many networks in one call."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.interruption import check
from tropicell._runtime.parts import check_workers, in_turn
from tropicell._runtime.progress import bar_of
from tropicell.errors import (
    IncompleteError,
    InternalError,
    InvalidInputError,
    ModelFileError,
    TropicellError,
)
from tropicell.geometry.arithmetic import ArithmeticName
from tropicell.importers.models import as_network
from tropicell.network.domains import Domain, resolve
from tropicell.network.network import Network
from tropicell.search.enumeration import count_regions
from tropicell.search.search import EngineName

if TYPE_CHECKING:  # Numba is slow to import
    from tropicell.engines.cells._many import Counting

#: A thread takes so many networks at once that each could have as many so many times: towards the
#: end fewer and fewer, so that all have something to do until then. But not more than have so many
#: numbers together, nor less than have so many.
_TIMES, _MOST_NUMBERS, _FEWEST_NUMBERS = 3, 42_000, 7_000

#: Networks that one looks at together.
_LOOKED_AT = 128


def count_many(
    networks: Iterable[Network],
    domain: Domain | None = None,
    *,
    workers: int = 1,
    arithmetic: ArithmeticName = "exact",
    engine: EngineName = "auto",
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
    if not isinstance(networks, Iterable):
        raise InvalidInputError(f"expected a list of networks, not {type(networks).__name__}")
    networks = _as_networks(list(networks))
    check_workers(workers)
    workers = min(workers, max(1, len(networks)))
    counts = np.full(len(networks), -1, dtype=np.int64)
    patience = 0.0 if progress else None
    with bar_of(len(networks), " networks", progress, patience=patience) as bar:
        if engine in ("auto", "cells") and arithmetic in ("exact", "float"):
            _count_alike(networks, domain, arithmetic, counts, workers, bar)
        _count_others(networks, domain, arithmetic, engine, counts, workers, bar)
    return counts


def _as_networks(networks: Sequence[Any]) -> Sequence[Network]:
    """Models of other libraries become networks; what is no model is refused."""
    if all(issubclass(kind, Network) for kind in set(map(type, networks))):
        return networks  # most of the time; one by one they would take as long as some counts
    found = []
    for index, network in enumerate(networks):
        try:
            found.append(as_network(network))
        except (InvalidInputError, ModelFileError) as error:
            raise type(error)(f"network {index}: {error}") from None
    return found


def _count_alike(
    networks: Sequence[Network],
    domain: Domain | None,
    arithmetic: ArithmeticName,
    counts: NDArray[np.int64],
    workers: int,
    bar: Any,
) -> None:
    """Count networks that are like others; those that the loop leaves keep the count -1."""
    mine = threading.local()

    def work(block: tuple[Counting, list[int]]) -> None:
        counting, indices = block
        if getattr(mine, "counting", None) is not counting:
            mine.counting, mine.counter = counting, counting.counter()
        found = mine.counter.count([networks[index] for index in indices])
        if not found.all():
            index = indices[int(np.argmin(abs(found)))]
            raise InternalError(f"network {index} was counted to have no region")
        counts[indices] = found
        bar.update(int(np.count_nonzero(found >= 0)))

    in_turn(work, _blocks(networks, domain, arithmetic, workers), workers)


@dataclass
class _Group:
    """Networks of one shape that wait until there are so many of them."""

    waiting: list[int] = field(default_factory=list)
    counting: Counting | None = None
    tried: bool = False  # whether somebody has looked for a way to count them together

    def size(self, wish: int) -> int:
        """How many of them a thread takes at once."""
        assert self.counting is not None
        numbers = self.counting.shape.numbers
        return max(1, min(max(wish, _FEWEST_NUMBERS // numbers), _MOST_NUMBERS // numbers))


def _blocks(
    networks: Sequence[Network], domain: Domain | None, arithmetic: ArithmeticName, workers: int
) -> Iterator[tuple[Counting, list[int]]]:
    """Networks of one shape, some at a time, as soon as they are found."""
    groups: dict[Any, _Group] = {}
    for start in range(0, len(networks), _LOOKED_AT):
        for kind, alike in _alike(networks, start, min(start + _LOOKED_AT, len(networks))):
            group = groups.setdefault(kind, _Group())
            group.waiting += alike
            if len(group.waiting) >= 2 and not group.tried:
                _prepare(group, networks, domain, arithmetic)
            if group.counting is None:
                continue
            size = group.size((len(networks) - start) // (_TIMES * workers))
            while len(group.waiting) >= size:
                block, group.waiting = group.waiting[:size], group.waiting[size:]
                yield group.counting, block
    for group in groups.values():
        if group.counting is not None and group.waiting:
            yield group.counting, group.waiting


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


def _prepare(
    group: _Group, networks: Sequence[Network], domain: Domain | None, arithmetic: ArithmeticName
) -> None:
    """Find out what the networks of a group have in common, and how to count them."""
    from tropicell.engines.cells._many import Counting, shape_of  # noqa: PLC0415 - imports Numba
    from tropicell.engines.cells.task import CellTolerance  # noqa: PLC0415
    from tropicell.engines.table import load  # noqa: PLC0415

    group.tried = True
    index = group.waiting[0]
    if networks[index].n_inputs != 2:
        return
    try:
        network, where = resolve(networks[index], domain)
    except TropicellError as error:
        raise InvalidInputError(f"network {index}: {error}") from error
    shape = shape_of(network, where) if network is networks[index] else None
    if shape is not None:
        load("cells", 2)
        exact, tolerance = arithmetic == "exact", CellTolerance().relative
        group.counting = Counting(shape, exact=exact, tolerance=tolerance)


def _count_others(
    networks: Sequence[Network],
    domain: Domain | None,
    arithmetic: ArithmeticName,
    engine: EngineName,
    counts: NDArray[np.int64],
    workers: int,
    bar: Any,
) -> None:
    def work(index: int) -> None:
        counts[index] = _count_one(networks[index], index, domain, arithmetic, engine)
        bar.update(1)

    in_turn(work, np.flatnonzero(counts < 0).tolist(), workers)


def _count_one(
    network: Network,
    index: int,
    domain: Domain | None,
    arithmetic: ArithmeticName,
    engine: EngineName,
) -> int:
    try:
        return count_regions(network, domain, arithmetic=arithmetic, engine=engine, progress=False)
    except IncompleteError:
        check()
        raise KeyboardInterrupt from None  # a signal: half of the counts are of no use
    except InternalError as error:
        raise InternalError(f"network {index}: {error.what}") from error
    except TropicellError as error:
        raise InvalidInputError(f"network {index}: {error}") from error
