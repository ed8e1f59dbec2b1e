"""The front door: all regions of a network on a domain."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from tropicell.arithmetic import ArithmeticName
from tropicell.columns import PackedPatterns, Ragged
from tropicell.domains import Domain, Polytope, resolve
from tropicell.engines.batch import Columns, Run
from tropicell.engines.traverse import start_cell
from tropicell.errors import IncompleteError, InvalidInputError
from tropicell.network import Network
from tropicell.regions import Regions

Engine = Literal["auto", "cells", "halfspaces", "traverse"]


def enumerate_regions(
    network: Network,
    domain: Domain | None = None,
    *,
    engine: Engine = "auto",
    arithmetic: ArithmeticName = "exact",
    max_regions: int | None = None,
    max_seconds: float | None = None,
    workers: int = 1,
    progress: bool | None = None,
) -> Regions:
    """Find every linear region of a network.

    Parameters
    ----------
    network : Network
    domain : Domain, optional
        `Box`, `Polytope`, `Slice` or `WholeSpace`; default: all of R^n.
    engine : {"auto", "cells", "halfspaces", "traverse"}
        ``"cells"`` for few inputs, ``"halfspaces"`` for any number of them, ``"traverse"``:
        Algorithm 2 of the paper in exact rational arithmetic, slow. ``"auto"`` chooses by the
        number of inputs.
    arithmetic : {"exact", "float"}
        ``"exact"``: the regions of the float64 weights taken as rationals, whatever they are.
        ``"float"``: faster, with a tolerance; right on networks in general position.
    max_regions : int, optional
        Stop after so many regions; the result then is not ``complete``.
    max_seconds : float, optional
        Stop after so much time, likewise.
    workers : int
        Number of threads.
    progress : bool, optional
        Show a progress bar; default: if standard error is a terminal.

    Returns
    -------
    Regions
        With ``complete`` False if a budget or Ctrl-C ended the search.

    Examples
    --------
    >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [[1.0, 1.0, 1.0]]],
    ...                       [[0.0, 0.0, -1.0], [0.0]])
    >>> len(enumerate_regions(network))
    7
    """
    job = _Job(network, domain, engine, arithmetic, max_regions, max_seconds, workers, progress)
    columns = list(job.batches(store=True))
    return job.regions(columns, complete=job.complete)


def count_regions(
    network: Network,
    domain: Domain | None = None,
    *,
    engine: Engine = "auto",
    arithmetic: ArithmeticName = "exact",
    max_regions: int | None = None,
    max_seconds: float | None = None,
    workers: int = 1,
    progress: bool | None = None,
) -> int:
    """Count the linear regions of a network, in constant memory.

    Parameters are those of `enumerate_regions`.

    Raises
    ------
    IncompleteError
        If a budget or Ctrl-C ended the count; its ``count`` says how many were found until then.

    Examples
    --------
    >>> count_regions(Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]]))
    4
    """
    job = _Job(network, domain, engine, arithmetic, max_regions, max_seconds, workers, progress)
    for _ in job.batches(store=False):
        pass
    if not job.complete:
        raise IncompleteError(job.count)
    return job.count


def iter_regions(
    network: Network,
    domain: Domain | None = None,
    *,
    engine: Engine = "auto",
    arithmetic: ArithmeticName = "exact",
    max_regions: int | None = None,
    max_seconds: float | None = None,
    workers: int = 1,
    progress: bool | None = None,
) -> Iterator[Regions]:
    """Find the linear regions of a network batch by batch, in constant memory.

    Parameters are those of `enumerate_regions`.

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
    job = _Job(network, domain, engine, arithmetic, max_regions, max_seconds, workers, progress)
    waiting: Columns | None = None
    for batch in job.batches(store=True):
        if waiting is not None:
            yield job.regions([waiting], complete=False)
        waiting = batch
    if waiting is not None:
        yield job.regions([waiting], complete=job.complete)


@dataclass
class _Job:
    """One enumeration: budgets, progress, and columns that become `Regions`."""

    network: Network
    domain: Domain | None
    engine: str
    arithmetic: ArithmeticName
    max_regions: int | None
    max_seconds: float | None
    workers: int
    progress: bool | None
    complete: bool = False
    count: int = 0
    stats: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("max_regions", "max_seconds"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise InvalidInputError(f"{name} must not be negative, got {value}")
        if self.arithmetic not in ("exact", "float"):
            raise InvalidInputError(
                f"arithmetic must be 'exact' or 'float', not {self.arithmetic!r}"
            )
        if not (isinstance(self.workers, int) and self.workers >= 1):
            raise InvalidInputError(f"workers must be a whole number from 1 on, not {self.workers}")
        self.network, self.domain = resolve(self.network, self.domain)
        if isinstance(self.domain, Polytope):
            start_cell(self.network, self.domain)  # refuses one without interior

    def batches(self, *, store: bool) -> Iterator[Columns]:
        """Run the engine until it is done, a budget is spent, or Ctrl-C is pressed."""
        from tropicell.engines import runs  # noqa: PLC0415 - Numba is slow to import

        assert self.domain is not None
        show = sys.stderr.isatty() if self.progress is None else self.progress
        name = runs.choose(self.engine, self.network)
        runs.load(name, self.network.n_inputs)
        run = runs.start(
            name,
            self.network,
            self.domain,
            self.arithmetic,
            store=store,
            workers=self.workers,
            max_seconds=self.max_seconds,
        )
        started = time.perf_counter()
        limit = sys.maxsize if self.max_regions is None else self.max_regions
        bar = tqdm(unit=" regions", disable=not show)
        kept = 0
        try:
            for batch in _until(run, limit, self.max_seconds):
                bar.update(run.found - bar.n)
                if batch is not None:
                    columns = _first(batch, limit - kept)
                    kept += len(columns.packed)
                    yield columns
        finally:
            bar.close()
            self.complete = run.complete and run.count <= limit
            self.count = min(run.count, limit)
            self.stats = run.stats() | {
                "engine": name,
                "arithmetic": self.arithmetic,
                "seconds": time.perf_counter() - started,
            }

    def regions(self, columns: list[Columns], *, complete: bool) -> Regions:
        """All batches as one object."""
        assert self.domain is not None
        network = self.network
        words = [c.packed.words for c in columns]
        bits = PackedPatterns.bits_for(network.pieces)
        none = PackedPatterns.pack(np.empty((0, network.n_neurons), dtype=np.uint8), bits)
        regions = Regions(
            network,
            self.domain,
            PackedPatterns(np.concatenate([none.words, *words]), network.n_neurons, bits),
            _joined([c.witnesses for c in columns], np.empty((0, network.n_inputs))),
            complete=complete,
            stats=self.stats,
            bounded=_optional([c.bounded for c in columns]),
            volumes=_optional([c.volumes for c in columns]),
            corners=_ragged([(c.corners, c.corner_counts) for c in columns]),
            facet_lines=_ragged([(c.facet_lines, c.facet_counts) for c in columns]),
        )
        regions.stats["bytes"] = regions.nbytes
        return regions


def _until(run: Run, most: int, max_seconds: float | None) -> Iterator[Columns | None]:
    """The batches of a run until a budget is spent or Ctrl-C is pressed; nothing found is lost."""
    started = time.perf_counter()
    try:
        for batch in run.batches():
            yield batch
            late = max_seconds is not None and time.perf_counter() - started > max_seconds
            if (late or run.count > most) and not run.complete:
                break
    except KeyboardInterrupt:
        pass
    yield from run.rest()


def _first(columns: Columns, n: int) -> Columns:
    """The first n regions of a batch."""
    if len(columns.packed) <= n:
        return columns
    corners, facets = columns.corner_counts, columns.facet_counts
    return Columns(
        PackedPatterns(columns.packed.words[:n], columns.packed.neurons, columns.packed.bits),
        columns.witnesses[:n],
        None if columns.bounded is None else columns.bounded[:n],
        None if columns.volumes is None else columns.volumes[:n],
        None
        if columns.corners is None or corners is None
        else columns.corners[: corners[:n].sum()],
        None if corners is None else corners[:n],
        None
        if columns.facet_lines is None or facets is None
        else columns.facet_lines[: facets[:n].sum()],
        None if facets is None else facets[:n],
    )


def _joined(parts: list[NDArray[Any]], empty: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate(parts) if parts else empty


def _optional(parts: list[Any]) -> Any:
    """One column, or None if a batch does not have it."""
    if not parts or any(part is None for part in parts):
        return None
    return np.concatenate(parts)


def _ragged(parts: list[tuple[Any, Any]]) -> Ragged | None:
    values = _optional([value for value, _ in parts])
    counts = _optional([count for _, count in parts])
    return None if values is None else Ragged.from_counts(values, counts)
