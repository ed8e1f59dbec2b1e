"""The front door: all regions of a network on a domain."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, TypedDict, Unpack, overload

from tropicell.engines.column_store import Store
from tropicell.errors import IncompleteError
from tropicell.geometry.arithmetic import ArithmeticName
from tropicell.network.domains import Domain
from tropicell.network.network import Network
from tropicell.regions.regions import Regions
from tropicell.search.checkpoint import Checkpoint
from tropicell.search.search import Device, EngineBackend, EngineName, Search, SearchOptions

if TYPE_CHECKING:
    from tropicell.regions.stored.stored_regions import StoredRegions
    from tropicell.search.folder import RegionFolder

#: Regions that a batch of `iter_regions` has at least, but for the last one.
_BATCH = 4096


class _KeywordOptions(TypedDict, total=False):
    """What `enumerate_regions` takes besides `out`, which decides what it returns."""

    engine: EngineName
    arithmetic: ArithmeticName
    max_regions: int | None
    max_seconds: float | None
    max_bytes: int | None
    workers: int
    checkpoint: str | os.PathLike[str] | Checkpoint | None
    device: Device
    engine_backend: EngineBackend
    address: str | None
    progress: bool | None


@overload
def enumerate_regions(
    network: Network,
    domain: Domain | None = ...,
    *,
    out: None = ...,
    **options: Unpack[_KeywordOptions],
) -> Regions: ...


@overload
def enumerate_regions(
    network: Network,
    domain: Domain | None = ...,
    *,
    out: str | os.PathLike[str] | RegionFolder,
    **options: Unpack[_KeywordOptions],
) -> StoredRegions: ...


def enumerate_regions(
    network: Network,
    domain: Domain | None = None,
    *,
    engine: EngineName = "auto",
    arithmetic: ArithmeticName = "exact",
    max_regions: int | None = None,
    max_seconds: float | None = None,
    max_bytes: int | None = None,
    workers: int = 1,
    checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
    device: Device = "cpu",
    out: str | os.PathLike[str] | RegionFolder | None = None,
    engine_backend: EngineBackend = "threads",
    address: str | None = None,
    progress: bool | None = None,
) -> Regions | StoredRegions:
    """Find every linear region of a network.

    Parameters
    ----------
    network : Network
    domain : Domain, optional
        `Box`, `Polytope`, `Slice` or `WholeSpace`; default: all of R^n.
    engine : {"auto", "cells", "halfspaces", "traverse"}
        ``"cells"`` for few inputs, ``"halfspaces"`` for any number of them, ``"traverse"``:
        Algorithm 2 of the paper in exact rational arithmetic, slow. ``"auto"`` chooses the one
        that is likely to be faster on this network and domain, from 5 to 10 inputs by a short
        probe; ``stats["engine"]`` and ``stats["reason"]`` say which one it is, and why.
    arithmetic : {"exact", "float"}
        ``"exact"``: the regions of the float64 weights taken as rationals, whatever they are.
        ``"float"``: faster, with a tolerance; right on networks in general position.
    max_regions : int, optional
        Stop after so many regions; the result then is not ``complete``.
    max_seconds : float, optional
        Stop after so much time, likewise. It begins when an engine's kernels are loaded, and stands
        still while kernels are compiled.
    max_bytes : int, optional
        Stop before the regions take more memory than this, likewise. With `out` nothing stops:
        regions are written before those that wait take more memory; default: 256 MiB.
    workers : int
        Number of threads. The result does not depend on it, nor does the order of the regions.
    checkpoint : str, path-like or Checkpoint, optional
        A folder in which the state is saved every few seconds. The same call goes on where an
        earlier one ended, however that ended, and gives the same regions in the same order. Not
        for ``engine="traverse"`` and ``device="cuda"``.
    device : {"cpu", "cuda"}
        ``"cuda"``: an NVIDIA GPU, for networks or slices with 2 inputs (extra ``cuda``); where
        there is none, the CPU is used, with a warning. The order of regions varies.
    out : str, path-like or RegionFolder, optional
        A folder to which the regions are written while they are found, as Parquet files (extra
        ``arrow``); there may be more than fit into memory. The same call goes on where an earlier
        one ended. With `max_regions` the folder may hold somewhat more. Not for
        ``engine="traverse"`` and ``device="cuda"``.
    engine_backend : {"threads", "ray"}
        Threads of this process; or tasks on a Ray cluster (extra ``ray``), which write to `out`, a
        folder or URL that all machines see.
    address : str, optional
        Of the Ray cluster, or ``"auto"``; default: a Ray on this machine, with `workers` cores if
        that is more than 1, else with all.
    progress : bool, optional
        Show a progress bar; default: if standard error is a terminal.

    Returns
    -------
    Regions or StoredRegions
        The latter with `out`. With ``complete`` False if a budget, Ctrl-C, SIGTERM or a lack of
        memory ended the search; ``stats["ended_by"]`` says what.

    Examples
    --------
    >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [[1.0, 1.0, 1.0]]],
    ...                       [[0.0, 0.0, -1.0], [0.0]])
    >>> len(enumerate_regions(network))
    7
    """
    options = SearchOptions(
        engine=engine,
        arithmetic=arithmetic,
        max_regions=max_regions,
        max_seconds=max_seconds,
        max_bytes=max_bytes,
        workers=workers,
        checkpoint=checkpoint,
        device=device,
        engine_backend=engine_backend,
        address=address,
        progress=progress,
    )
    if out is not None:
        return _to_folder(network, domain, options, out)
    search = Search(network, domain, options)
    store = Store(workers)
    full = False
    for batch in search.batches(store=True):
        try:
            if not full:
                store.add(batch)
        except MemoryError:
            full = True
            search.out_of_memory()
    return search.regions(store, complete=search.complete)


def _to_folder(
    network: Network,
    domain: Domain | None,
    options: SearchOptions,
    out: str | os.PathLike[str] | RegionFolder,
) -> StoredRegions:
    from tropicell.regions.stored.stored_regions import StoredRegions  # noqa: PLC0415
    from tropicell.regions.stored.tables import load_arrow  # noqa: PLC0415
    from tropicell.search.folder import FolderWriter, RegionFolder  # noqa: PLC0415 - an extra

    load_arrow()
    folder = out if isinstance(out, RegionFolder) else RegionFolder(out)
    search = Search(network, domain, replace(options, out=folder))
    try:
        for _ in search.batches(store=True):
            pass
        if search.keeper is None:  # the time was over before the search began
            search.make_folder()
        else:
            assert isinstance(search.keeper, FolderWriter)
            search.keeper.finish(search.stats)
    finally:
        if search.keeper is not None:
            search.keeper.close()
    return StoredRegions.open(folder.path)


def count_regions(
    network: Network,
    domain: Domain | None = None,
    *,
    engine: EngineName = "auto",
    arithmetic: ArithmeticName = "exact",
    max_regions: int | None = None,
    max_seconds: float | None = None,
    workers: int = 1,
    checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
    device: Device = "cpu",
    engine_backend: EngineBackend = "threads",
    address: str | None = None,
    progress: bool | None = None,
) -> int:
    """Count the linear regions of a network, in constant memory.

    Parameters are those of `enumerate_regions`; there are no ``max_bytes`` and ``out``.

    Raises
    ------
    IncompleteError
        If a budget, Ctrl-C or SIGTERM ended the count; its ``count`` says how many were found
        until then.

    Examples
    --------
    >>> count_regions(Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]]))
    4
    """
    options = SearchOptions(
        engine=engine,
        arithmetic=arithmetic,
        max_regions=max_regions,
        max_seconds=max_seconds,
        workers=workers,
        checkpoint=checkpoint,
        device=device,
        engine_backend=engine_backend,
        address=address,
        progress=progress,
    )
    search = Search(network, domain, options)
    for _ in search.batches(store=False):
        pass
    if not search.complete:
        raise IncompleteError(search.count)
    return search.count


def iter_regions(
    network: Network,
    domain: Domain | None = None,
    *,
    engine: EngineName = "auto",
    arithmetic: ArithmeticName = "exact",
    max_regions: int | None = None,
    max_seconds: float | None = None,
    workers: int = 1,
    device: Device = "cpu",
    progress: bool | None = None,
) -> Iterator[Regions]:
    """Find the linear regions of a network batch by batch, in constant memory.

    Parameters are those of `enumerate_regions`; there are no ``max_bytes`` and ``checkpoint``.

    Yields
    ------
    Regions
        Some thousands of regions; ``complete`` is False for all but a last batch that has the rest.

    Examples
    --------
    >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
    >>> sum(len(batch) for batch in iter_regions(network))
    4
    """
    options = SearchOptions(
        engine=engine,
        arithmetic=arithmetic,
        max_regions=max_regions,
        max_seconds=max_seconds,
        workers=workers,
        device=device,
        progress=progress,
    )
    return _batched(Search(network, domain, options))


def _batched(search: Search) -> Iterator[Regions]:
    """Batches of a search, joined until they are large enough."""
    waiting: Store | None = None
    for batch in search.batches(store=True, pausing=True):
        if waiting is not None and waiting.regions >= _BATCH:
            yield search.regions(waiting, complete=False)
            waiting = None
        waiting = waiting or Store()
        waiting.add(batch)
    if waiting is not None:
        yield search.regions(waiting, complete=search.complete)
