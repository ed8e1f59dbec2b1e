"""The engines behind one interface; see `tropicell.engines.batch.Run`."""

from __future__ import annotations

import sys
import threading
import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict
from fractions import Fraction
from typing import Any

import numpy as np

from tropicell.arithmetic import ArithmeticName
from tropicell.columns import PackedPatterns
from tropicell.domains import Box, Domain
from tropicell.engines._cells_cone import run_cones
from tropicell.engines._cells_plane import run_plane
from tropicell.engines._device_cuda import cuda_backend
from tropicell.engines._device_layout import Backend
from tropicell.engines._halfspaces_kernel import run as run_halfspaces
from tropicell.engines.batch import Columns, Run
from tropicell.engines.cells import CellRun
from tropicell.engines.device import DeviceRun
from tropicell.engines.halfspaces import Search
from tropicell.engines.halfspaces import Tolerance as HalfspaceTolerance
from tropicell.engines.threads import SharedRun
from tropicell.engines.traverse import traverse
from tropicell.errors import DeviceWarning, InvalidInputError
from tropicell.network import Network
from tropicell.patterns import PatternArray
from tropicell.polyhedra import from_point

#: Up to this many inputs the cells engine is the fastest.
MOST_INPUTS_FOR_CELLS = 4

#: Seconds after which the half-spaces engine comes back to look at the clock.
_TICK = 0.1

_TRAVERSE_BATCH = 1024

#: Seconds after which a kernel that is not there yet is taken to be compiled, not loaded.
_PATIENCE = 1.5

#: So many cells for each worker even out their shares.
_CELLS_PER_WORKER = 100


class CellsRun:
    """The cells engine."""

    def __init__(
        self,
        network: Network,
        domain: Domain,
        arithmetic: ArithmeticName,
        *,
        store: bool,
        share: tuple[int, int, int] | None = None,
        backend: Backend | None = None,
    ) -> None:
        self._run = (
            CellRun(network, domain, arithmetic, store=store, share=share)
            if backend is None
            else DeviceRun(network, domain, arithmetic, store=store, backend=backend)
        )

    @property
    def count(self) -> int:
        return self._run.count

    @property
    def complete(self) -> bool:
        return self._run.complete

    def batches(self) -> Iterator[Columns | None]:
        return self._run.batches()

    def rest(self) -> Iterator[Columns]:
        return self._run.rest()

    def stats(self) -> dict[str, Any]:
        return asdict(self._run.stats)


class HalfspacesRun:
    """The half-spaces engine."""

    def __init__(
        self,
        network: Network,
        domain: Domain,
        arithmetic: ArithmeticName,
        *,
        store: bool,
        share: tuple[int, int] = (0, 1),
    ) -> None:
        self._store = store
        self._unproved = 0
        self._bits = PackedPatterns.bits_for(network.pieces)
        self._search = Search(
            network,
            domain,
            arithmetic=arithmetic,
            tolerance=HalfspaceTolerance(),
            store=store,
            share=share,
        )

    @property
    def count(self) -> int:
        return self._search.count

    @property
    def complete(self) -> bool:
        return self._search.complete

    def batches(self) -> Iterator[Columns | None]:
        while not self._search.complete:
            self._search.advance(None, self._search.stats()["seconds"] + _TICK)
            yield from self.rest()
            yield None

    def rest(self) -> Iterator[Columns]:
        batch = self._search.batch()
        # A margin of 0: the witness is a rounded exact point, which may not be inside any more.
        self._unproved += int((batch.margins == 0).sum())
        if self._store and len(batch.patterns):
            yield Columns(PackedPatterns.pack(batch.patterns, self._bits), batch.witnesses)

    def stats(self) -> dict[str, Any]:
        return self._search.stats() | {"unproved_witnesses": self._unproved}


class TraverseRun:
    """The oracle."""

    def __init__(self, network: Network, domain: Domain) -> None:
        self._network, self._domain = network, domain
        self._seconds = 0.0
        self._found: list[tuple[PatternArray, list[Fraction]]] = []
        self.count = 0
        self.complete = False

    def batches(self) -> Iterator[Columns | None]:
        started = time.perf_counter()
        for pattern, cell in traverse(self._network, self._domain):
            self.count += 1
            self._found.append((pattern, from_point(cell.witness)))
            self._seconds = time.perf_counter() - started
            if len(self._found) == _TRAVERSE_BATCH:
                yield from self.rest()
            yield None
        self.complete = True
        yield from self.rest()

    def rest(self) -> Iterator[Columns]:
        if self._found:
            patterns, witnesses = zip(*self._found, strict=True)
            self._found = []
            shape = (len(witnesses), self._network.n_inputs)
            stacked = np.array(patterns, dtype=np.uint8).reshape(len(patterns), -1)
            packed = PackedPatterns.pack(stacked, PackedPatterns.bits_for(self._network.pieces))
            yield Columns(packed, np.array(witnesses, dtype=object).reshape(shape))

    def stats(self) -> dict[str, Any]:
        return {"seconds": self._seconds}


def choose(engine: str, network: Network) -> str:
    """The engine that "auto" stands for, or the given one if there is such an engine."""
    if engine not in ("auto", "cells", "halfspaces", "traverse"):
        raise InvalidInputError(
            f"engine must be 'auto', 'cells', 'halfspaces' or 'traverse', not {engine!r}"
        )
    if engine != "auto":
        return engine
    return "cells" if network.n_inputs <= MOST_INPUTS_FOR_CELLS else "halfspaces"


def start(
    engine: str,
    network: Network,
    domain: Domain,
    arithmetic: ArithmeticName,
    *,
    store: bool,
    workers: int,
    device: str = "cpu",
) -> Run:
    """A run of an engine."""
    runs: list[Run]
    backend = None if device == "cpu" else device_for(engine, network)
    if backend is not None:
        return CellsRun(network, domain, arithmetic, store=store, backend=backend)
    if engine == "cells":
        layer = _layer_to_share(network, domain, workers)
        runs = [
            CellsRun(network, domain, arithmetic, store=store, share=share)
            for share in ([(layer, k, workers) for k in range(workers)] if layer else [None])
        ]
    elif engine == "halfspaces":
        n = workers if network.depth > 1 else 1
        runs = [
            HalfspacesRun(network, domain, arithmetic, store=store, share=(k, n)) for k in range(n)
        ]
    else:
        if arithmetic != "exact":
            raise InvalidInputError("the engine 'traverse' works in exact arithmetic only")
        runs = [TraverseRun(network, domain)]
    return runs[0] if len(runs) == 1 else SharedRun(runs)


def device_for(engine: str, network: Network) -> Backend | None:
    """The GPU, or None with a warning that says why the CPU is used."""
    found = cuda_backend()
    if isinstance(found, str):
        why = found
    elif engine != "cells":
        why = f"the engine {engine!r} has no kernels for a GPU"
    elif network.n_inputs != 2:
        why = f"the kernels are for 2 inputs (or slices with 2 directions), not {network.n_inputs}"
    else:
        return found
    warnings.warn(f"device='cuda' is not used, the CPU is: {why}", DeviceWarning, stacklevel=2)
    return None


def _layer_to_share(network: Network, domain: Domain, workers: int) -> int:
    """The first layer after which there are enough cells to deal out; 0: don't share."""
    if workers == 1:
        return 0
    enough = _CELLS_PER_WORKER * workers
    for layer in range(1, network.depth):
        run = CellRun(network.first_layers(layer), domain, store=False, max_regions=enough)
        for _ in run.batches():
            pass
        if run.count >= enough:
            return layer
    return max(0, network.depth - 1)


def load(engine: str, inputs: int) -> None:
    """Compile an engine's kernels, or load them from the disk, and say so if it takes long."""
    kernel: Any = run_plane if inputs == 2 else run_cones
    if engine == "halfspaces":
        kernel = run_halfspaces
    if engine == "traverse" or kernel.overloads:
        return
    notice = threading.Timer(_PATIENCE, _say_that_it_compiles)
    notice.daemon = True
    notice.start()
    try:
        tiny = Network.mlp([np.ones((1, inputs)), [[1.0]]])
        for _ in start(engine, tiny, Box(-1, 1), "exact", store=True, workers=1).batches():
            pass
    finally:
        notice.cancel()


def _say_that_it_compiles() -> None:
    print(
        "tropicell: compiling the engine, once after an installation; this takes some seconds …",
        file=sys.stderr,
        flush=True,
    )
