"""The front door: all regions of a network on a domain."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

from tropicell.engines.column_store import Store
from tropicell.errors import IncompleteError, IncompleteWarning
from tropicell.geometry.arithmetic import ArithmeticName
from tropicell.network.domains import Domain
from tropicell.network.network import Network
from tropicell.network.output_sets import OutputSet
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
    where: OutputSet | None


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
    where: OutputSet | None = None,
) -> Regions | StoredRegions:
    """Find every linear region of a network.

    Parameters
    ----------
    network : Network, or what is imported as one
        A file's name, a torch module that begins with a linear layer, a Keras model or a
        scikit-learn estimator are imported; see `from_torch` for modules with other inputs.
    domain : Domain, optional
        `Box`, `Ball`, `Polytope`, `Slice` or `WholeSpace`; default: all of R^n.
    engine : {"auto", "cells", "halfspaces", "wide", "shadow", "traverse"}
        ``"cells"`` for few inputs, ``"halfspaces"`` for any number of them, ``"wide"`` for bounded
        boxes and balls in hundreds of dimensions (always exact), ``"shadow"`` for bounded boxes of
        which the network sees few combinations of the inputs, ``"traverse"``:
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
    where : Level, Sublevel, Superlevel, DecisionBoundary or DecisionRegion, optional
        Find the regions that this set meets, and no others: those that have a point in common with
        it, if only a corner. Cells on which bounds exclude it are left out early, so a level set
        costs what lies along it. ``complete`` then means: all regions that the set meets. For
        the engine ``"cells"`` in exact arithmetic, that is, for few inputs.

    Returns
    -------
    Regions or StoredRegions
        The latter with `out`. With ``complete`` False if a budget, Ctrl-C, SIGTERM or a lack of
        memory ended the search; ``stats["ended_by"]`` says what.

    Warns
    -----
    IncompleteWarning
        If a signal or a lack of memory ended the search, which the call did not ask for.

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
        where=where,
    )
    if out is not None:
        return _to_folder(network, domain, options, out)
    regions = _gathered(Search(network, domain, options))
    _say_if_cut_off(regions.stats)
    return regions


def all_regions(
    network: Network,
    domain: Domain | None = None,
    *,
    engine: EngineName = "auto",
    workers: int = 1,
    progress: bool | None = None,
) -> Regions:
    """Every linear region, for answers that some of them would make wrong: all, or an error.

    Parameters are those of `enumerate_regions`.

    Raises
    ------
    IncompleteError
        If something ended the search.
    """
    options = SearchOptions(engine=engine, workers=workers, progress=progress)
    regions = _gathered(Search(network, domain, options))
    if not regions.complete:
        raise IncompleteError(len(regions), regions.stats.get("ended_by"))
    return regions


def _gathered(search: Search) -> Regions:
    """All that a search finds."""
    store = Store(search.options.workers)
    full = False
    for batch in search.batches(store=True, settle=store.settle):
        try:
            if not full:
                store.add(batch)
        except MemoryError:
            full = True
            search.out_of_memory()
    return search.regions(store, complete=search.complete)


#: What ends a search that nobody asked to end; see `Search.stats`.
_UNASKED = ("SIGINT", "SIGTERM", "MemoryError")


def _say_if_cut_off(stats: Mapping[str, Any]) -> None:
    """Warn if regions are missing for a reason that is not in the call."""
    if stats.get("ended_by") in _UNASKED:
        advice = ""
        if stats["ended_by"] == "MemoryError":
            advice = (
                "; count_regions needs hardly any memory, out=FOLDER writes regions to the disk"
            )
        warnings.warn(
            f"{stats['ended_by']} ended the search: the result is not complete{advice}",
            IncompleteWarning,
            stacklevel=3,
        )


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
    _say_if_cut_off(search.stats)
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
    where: OutputSet | None = None,
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
        where=where,
    )
    search = Search(network, domain, options)
    if (found := search.count_at_once()) is not None:
        return found
    for _ in search.batches(store=False):
        pass
    if not search.complete:
        raise IncompleteError(search.count, search.stats.get("ended_by"))
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
    where: OutputSet | None = None,
) -> Iterator[Regions]:
    """Find the linear regions of a network batch by batch, in constant memory.

    Parameters are those of `enumerate_regions`; there are no ``max_bytes`` and ``checkpoint``.

    Yields
    ------
    Regions
        Some thousands of regions; ``complete`` is False for all but a last batch that has the rest.
        A search that is ended before it has found a region gives one batch without any.

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
        where=where,
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
    if waiting is not None or not search.complete:
        yield search.regions(waiting or Store(), complete=search.complete)
    _say_if_cut_off(search.stats)
