"""The engines behind one interface; see `tropicell.regions.columns.EngineRun`."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tropicell._runtime.interruption import Halt, using
from tropicell._runtime.jit import is_loaded
from tropicell.engines.cells._many import count_another as _count_another
from tropicell.engines.cells._units import cone_unit, plane_unit
from tropicell.engines.cells.task import CellTask, CellTolerance
from tropicell.engines.choice import PROBED, Choice, by_probe, by_rule, by_shape
from tropicell.engines.gpu._cuda import cuda_backend
from tropicell.engines.gpu._layout import Backend
from tropicell.engines.gpu.run import DeviceRun
from tropicell.engines.halfspaces._units import run_unit
from tropicell.engines.halfspaces.task import HalfspaceTask
from tropicell.engines.shadow._points import decide_candidates
from tropicell.engines.shadow.task import ShadowTask
from tropicell.engines.units import Task
from tropicell.engines.wide._search import search as wide_search
from tropicell.engines.wide.task import WideTask
from tropicell.errors import DeviceWarning, InvalidInputError, TimeLimitError
from tropicell.geometry.arithmetic import ArithmeticName
from tropicell.geometry.polyhedra import Cell, from_point
from tropicell.network.domains import Box, Domain
from tropicell.network.network import Network
from tropicell.network.patterns import PatternArray
from tropicell.paper.algorithm2 import traverse
from tropicell.regions.columns import Columns, EngineRun, PackedPatterns

__all__ = [
    "ENGINES",
    "Choice",
    "Engine",
    "TraverseRun",
    "by_rule",
    "choose",
    "count_another",
    "device_for",
    "load",
    "probe",
    "task_of",
]

_TRAVERSE_BATCH = 1024


class TraverseRun:
    """A run of Algorithm 2 of the paper, the oracle: exact, and one region at a time."""

    def __init__(self, network: Network, domain: Domain, halt: Halt | None = None) -> None:
        self._network, self._domain = network, domain
        self._seconds = 0.0
        self._found: list[tuple[PatternArray, list[Fraction]]] = []
        self.count = self.found = 0
        self.complete = False
        self._halt = Halt() if halt is None else halt

    def halt(self) -> None:
        """End the run, even in the middle of a decision."""
        self._halt.set()

    def batches(self) -> Iterator[Columns | None]:
        started = time.perf_counter()
        for pattern, cell in self._regions():
            self.count = self.found = self.count + 1
            self._found.append((pattern, from_point(cell.witness)))
            self._seconds = time.perf_counter() - started
            if len(self._found) == _TRAVERSE_BATCH:
                yield from self.rest()
            yield None
            if self._halt.is_over():
                return
        yield from self.rest()

    def _regions(self) -> Iterator[tuple[PatternArray, Cell]]:
        """The regions, until the time is over."""
        found: Iterator[tuple[PatternArray, Cell]] | None = None
        while True:
            try:
                with using(self._halt):
                    if found is None:
                        found = traverse(self._network, self._domain)
                    region = next(found)
            except StopIteration:
                self.complete = True
                return
            except TimeLimitError:
                return
            yield region

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


@dataclass(frozen=True)
class Engine:
    """One way to find regions, and what can be done with it.

    Attributes
    ----------
    name : str
    task : callable or None
        The work on a network and a domain, which can be cut into units: so it can be shared among
        threads and machines, saved and gone on with. None: the engine has only a `run`.
    kernels : callable
        For a number of inputs, the kernel that does units.
    gpu_inputs : int or None
        The number of inputs for which there are kernels for a GPU.
    """

    name: str
    task: Callable[..., Task] | None = None
    kernels: Callable[[int], Any] | None = None
    gpu_inputs: int | None = None

    def run(
        self, network: Network, domain: Domain, arithmetic: ArithmeticName, halt: Halt | None
    ) -> EngineRun:
        """A run of an engine without units."""
        if arithmetic != "exact":
            raise InvalidInputError(f"the engine {self.name!r} works in exact arithmetic only")
        return TraverseRun(network, domain, halt)

    def on_gpu(
        self,
        network: Network,
        domain: Domain,
        arithmetic: ArithmeticName,
        backend: Backend,
        store: bool,
        halt: Halt | None,
    ) -> EngineRun:
        """A run on a GPU; see `device_for`."""
        return DeviceRun(network, domain, arithmetic, backend=backend, store=store, halt=halt)


#: All engines. A new one gets a line here.
ENGINES = {
    engine.name: engine
    for engine in (
        Engine(
            "cells",
            task=CellTask,
            kernels=lambda inputs: plane_unit if inputs == 2 else cone_unit,
            gpu_inputs=2,
        ),
        Engine("halfspaces", task=HalfspaceTask, kernels=lambda _: run_unit),
        Engine("wide", task=WideTask, kernels=lambda _: wide_search),
        Engine("shadow", task=ShadowTask, kernels=lambda _: decide_candidates),
        Engine("traverse"),
    )
}


def choose(
    name: str,
    network: Network,
    domain: Domain | None = None,
    arithmetic: ArithmeticName = "exact",
    *,
    store: bool = False,
) -> Choice | None:
    """The engine of a name; for "auto" None where a `probe` has to find out.

    `network` and `domain` (default: all of R^n) are those that engines work on.
    """
    if name != "auto":
        return Choice(name, "as asked for")
    return by_shape(network, domain, arithmetic, store=store)


def probe(
    network: Network, domain: Domain, arithmetic: ArithmeticName, halt: Halt, *, store: bool
) -> Choice:
    """What "auto" stands for where `choose` does not know; kernels must be loaded.

    The same network, domain and arithmetic give the same choice.

    Raises
    ------
    TimeLimitError
        If `halt` is over before it is known.
    """

    def make(name: str) -> Task:
        return task_of(name, network, domain, arithmetic, store=False)

    found: Choice = network.remember(
        ("engine", domain.key(network.n_inputs), arithmetic, store),
        lambda: by_probe(make, network, arithmetic, halt, store=store),
    )
    return found


def device_for(engine: Engine, network: Network) -> Backend | None:
    """The GPU, or None with a warning that says why the CPU is used."""
    inputs = engine.gpu_inputs
    if inputs is None:
        why = f"the engine {engine.name!r} has no kernels for a GPU"
    elif network.n_inputs != inputs:
        why = (
            f"the kernels are for {inputs} inputs (or slices with {inputs} directions), "
            f"not {network.n_inputs}"
        )
    elif isinstance(found := cuda_backend(), str):
        why = found
    else:
        return found
    warnings.warn(f"device='cuda' is not used, the CPU is: {why}", DeviceWarning, stacklevel=2)
    return None


def task_of(
    name: str, network: Network, domain: Domain, arithmetic: ArithmeticName, *, store: bool
) -> Task:
    """An engine's work on a network and a domain, which can be cut into units."""
    make = ENGINES[name].task
    assert make is not None, f"the engine {name!r} has no units"
    return make(network, domain, arithmetic, store=store)


def count_another(network: Network, domain: Domain, arithmetic: ArithmeticName) -> int | None:
    """The regions of a small network after others of its shape; None: it needs a search."""
    exact, tolerance = arithmetic == "exact", CellTolerance().relative
    return _count_another(network, domain, exact=exact, tolerance=tolerance)


def load(name: str | None, inputs: int, *, store: bool = True) -> None:
    """Compile an engine's kernels, or load them from the disk; None: what a `probe` needs.

    Without `store` those that only a search needs which keeps its regions are left for later.
    """
    if name is None:
        for each in PROBED:
            load(each, inputs, store=store)
        return
    engine = ENGINES[name]
    if engine.task is None or engine.kernels is None or is_loaded(engine.kernels(inputs)):
        return
    # Those of cells are compiled apart for some numbers of inputs; five stand for all others. No
    # corner of the box lies on the boundary: late kernels are left for those who need them.
    tiny = Network.mlp([0.5 ** np.arange(min(inputs, 5))[None], [[1.0]]], [[0.3], [0.0]])
    task = engine.task(tiny, Box(-1, 1), "exact", store=store)
    worker, units = task.worker(), [task.root()]
    while units:  # of one region each, so that what cuts them is there too
        units += worker.run(units.pop(), 1, lambda: False).left or []
