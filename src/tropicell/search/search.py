"""One search for regions: engine, budgets, signals, checkpoint, progress; and what it found."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast, get_args

import numpy as np

from tropicell._runtime.interruption import Halt, current, stopping, using
from tropicell._runtime.parts import check_workers
from tropicell._runtime.progress import RegionBar
from tropicell.engines.column_store import Place, Store, ragged
from tropicell.errors import (
    CheckpointError,
    InternalError,
    InvalidDomainError,
    InvalidInputError,
    TimeLimitError,
    TropicellError,
)
from tropicell.geometry.arithmetic import ArithmeticName
from tropicell.importers.models import as_network
from tropicell.network.domains import Ball, Domain, Polytope, resolve
from tropicell.network.network import Network
from tropicell.network.output_sets import OutputSet
from tropicell.network.quotient import Quotient, quotient_of, spans
from tropicell.paper.algorithm2 import start_cell
from tropicell.regions.columns import (
    Columns,
    EngineRun,
    PackedPatterns,
    Ragged,
    SharedRagged,
    first,
    size_of,
    sure_areas,
)
from tropicell.regions.regions import Regions
from tropicell.search.checkpoint import Checkpoint, CheckpointFile, begun_with, identity

if TYPE_CHECKING:
    from tropicell.engines.gpu._layout import Backend as DeviceBackend
    from tropicell.engines.scheduler import UnitRun
    from tropicell.engines.table import Choice, Engine
    from tropicell.engines.units import Task, Unit
    from tropicell.search.folder import RegionFolder

EngineName = Literal["auto", "cells", "halfspaces", "wide", "shadow", "traverse"]
Device = Literal["cpu", "cuda"]
EngineBackend = Literal["threads", "ray"]


#: Seconds for the estimate that a progress bar shows as its end.
_ESTIMATE = 0.5


@dataclass(frozen=True)
class SearchOptions:
    """What a user may choose about a search; see `tropicell.enumerate_regions`."""

    engine: EngineName = "auto"
    arithmetic: ArithmeticName = "exact"
    max_regions: int | None = None
    max_seconds: float | None = None
    max_bytes: int | None = None
    workers: int = 1
    checkpoint: str | os.PathLike[str] | Checkpoint | None = None
    device: Device = "cpu"
    out: RegionFolder | None = None
    engine_backend: EngineBackend = "threads"
    address: str | None = None
    progress: bool | None = None
    where: OutputSet | None = None

    def check(self) -> None:
        """Refuse what makes no sense, before the work starts."""
        for name in ("max_regions", "max_seconds", "max_bytes"):
            value: Any = getattr(self, name)
            if value is None:
                continue
            number: Any = Real if name == "max_seconds" else Integral
            if isinstance(value, bool) or not isinstance(value, number):
                what = "a number" if number is Real else "a whole number"
                raise InvalidInputError(f"{name} must be {what}, not {value!r}")
            if not value >= 0:
                raise InvalidInputError(f"{name} must not be negative, got {value}")
        if self.checkpoint in ("", b""):
            raise InvalidInputError("checkpoint must name a folder, not be empty")
        for name, kind in _CHOICES.items():
            value, choices = getattr(self, name), [repr(choice) for choice in get_args(kind)]
            if repr(value) not in choices:
                allowed = " or ".join([", ".join(choices[:-1]), choices[-1]])
                raise InvalidInputError(f"{name} must be {allowed}, not {value!r}")
        check_workers(self.workers)
        if self.device != "cpu":
            for name in ("checkpoint", "out"):
                if getattr(self, name) is not None:
                    raise InvalidInputError(
                        f"{name} is for the CPU: leave it out, or device={self.device!r}"
                    )
        if self.where is not None:
            self._check_where(self.where)
        if self.out is not None and self.checkpoint is not None:
            raise InvalidInputError(
                "out and checkpoint do not go together: the folder of out is a checkpoint"
            )
        if self.engine_backend == "ray" and self.checkpoint is not None:
            raise InvalidInputError(
                "engine_backend='ray' does not go together with checkpoints; use out"
            )

    def _check_where(self, where: Any) -> None:
        """Only the cells engine, in exact arithmetic on this machine, leaves cells out."""
        if not isinstance(where, OutputSet):
            raise InvalidInputError(
                "where must be a set by the outputs, such as Level(0.0) or DecisionBoundary(0, 1), "
                f"not {where!r}"
            )
        for name, value, only in (
            ("engine", self.engine, ("auto", "cells")),
            ("arithmetic", self.arithmetic, ("exact",)),
            ("device", self.device, ("cpu",)),
            ("engine_backend", self.engine_backend, ("threads",)),
        ):
            if value not in only:
                raise InvalidInputError(
                    f"where does not go together with {name}={value!r}: leave {name} out, or where"
                )


#: The options that are one of a few words.
_CHOICES = {
    "engine": EngineName,
    "arithmetic": ArithmeticName,
    "device": Device,
    "engine_backend": EngineBackend,
}


class Search:
    """One search; iterate over `batches` once.

    Attributes
    ----------
    network, domain : Network, Domain
        What is searched, in the user's coordinates (or those of a slice).
    quotient : Quotient
        The inputs that are enough: engines, checkpoints and batches know these alone.
    complete : bool
        Whether all regions were found.
    count : int
        How many.
    stats : dict
        What a user sees of the search.
    keeper : Keeper or None
        Where regions, and what is left to do, are written down.
    """

    def __init__(self, network: Network, domain: Domain | None, options: SearchOptions) -> None:
        options.check()
        network = as_network(network)
        self.options = options
        self.network, self.domain = resolve(network, domain)
        if isinstance(self.domain, Ball) and options.engine not in ("auto", "wide"):
            raise InvalidDomainError(
                f"the engine {options.engine!r} is not for balls in the norm {self.domain.norm}: "
                "they have no list of inequalities; use 'wide' or 'auto'"
            )
        if options.where is not None:
            if isinstance(self.domain, Ball):
                raise InvalidDomainError(
                    f"where is for boxes, polytopes, slices and the whole space, not for balls in "
                    f"the norm {self.domain.norm}: take a box around the ball"
                )
            options.where.parts(self.network.n_outputs)  # refuses outputs that are not there
        self._before = self._begun()
        self.quotient = self._quotient()
        self._inner, self._inside = self.quotient.network, self.quotient.domain
        self.keeper: Keeper | None = None
        self.complete = False
        self.count = 0
        self.stats: dict[str, Any] = {}
        self._driver: _Driver | None = None
        self._settle: Callable[[float], Place] | None = None

    def count_at_once(self) -> int | None:
        """The number of regions, if it can be had before a search would be ready to start.

        That is so for small networks in the plane, after others of their shape.
        """
        given = self.options
        limits = given.max_regions, given.max_seconds, given.max_bytes, given.checkpoint, given.out
        if given.engine not in ("auto", "cells") or any(one is not None for one in limits):
            return None
        if given.workers != 1 or given.device != "cpu" or given.engine_backend != "threads":
            return None
        if given.progress or given.where is not None or isinstance(self.domain, Ball):
            return None
        from tropicell.engines import table  # noqa: PLC0415 - Numba is slow to import

        found = table.count_another(self.network, self.domain, self.options.arithmetic)
        if found == 0:
            raise InternalError("the loop for small networks has counted no region")
        return found

    def batches(
        self, *, store: bool, pausing: bool = False, settle: Callable[[float], Place] | None = None
    ) -> Iterator[Columns]:
        """Run the engine until it is done, a budget is spent, or a signal comes.

        If `pausing`, signals are left alone while the caller is at work. The time begins when the
        kernels are loaded. With `settle`, which copies all batches that were handed out, their
        memory may be used again after that: see `tropicell.engines.units.Task`.
        """
        self._settle = settle
        from tropicell.engines import table  # noqa: PLC0415 - Numba is slow to import

        choice: Choice | None = None
        if self.options.engine == "auto" and self._before.get("engine") in table.ENGINES:
            choice = table.Choice(self._before["engine"], "what the search was begun with")
        arithmetic = self.options.arithmetic
        if self.options.where is not None:
            choice = table.Choice("cells", "the engine that leaves out what a set does not meet")
        choice = choice or table.choose(
            self.options.engine, self._inner, self._inside, arithmetic, store=store
        )
        on_gpu = None
        if self.options.device != "cpu":
            likely = choice or table.by_rule(self._inner, arithmetic, store=store)
            on_gpu = table.device_for(table.ENGINES[likely.engine], self._inner)
        if on_gpu is None:
            chosen = None if choice is None else choice.engine
            table.load(chosen, self._inner.n_inputs, store=store)
        ending = _Ending(self.options.max_seconds)
        with nullcontext() if pausing else stopping(ending.stop):
            yield from self._batches(choice, on_gpu, ending, store=store, pausing=pausing)

    def _begun(self) -> dict[str, Any]:
        """What the checkpoint or folder that the search goes on from says of it; if any."""
        options = self.options
        if options.checkpoint is not None:
            return begun_with(options.checkpoint)
        if options.out is not None:
            from tropicell.search import folder  # noqa: PLC0415 - an extra

            return folder.begun_with(options.out)
        return {}

    def _quotient(self) -> Quotient:
        """The inputs that are enough: those that the search was begun with, or else the fewest.

        Algorithm 2 is left as it is: it is what all others are compared with.
        """
        network, domain, kept = self.network, self.domain, self._before.get("inputs")
        reads_input = self.options.where is not None and 0 in network.output.terms
        if self.options.engine == "traverse" or reads_input:
            return Quotient.trivial(network, domain)
        if not self._before:
            return quotient_of(network, domain)
        if isinstance(kept, list) and spans(network, domain, kept):
            return Quotient(network, domain, np.array(kept, dtype=np.int64))
        return Quotient.trivial(network, domain)

    def _batches(
        self,
        choice: Choice | None,
        on_gpu: DeviceBackend | None,
        ending: _Ending,
        *,
        store: bool,
        pausing: bool,
    ) -> Iterator[Columns]:
        from tropicell.engines import table  # noqa: PLC0415 - Numba is slow to import

        options = self.options
        show = sys.stderr.isatty() if options.progress is None else options.progress
        started = time.perf_counter()
        try:
            with stopping(ending.stop) if pausing else nullcontext(), using(ending.halt):
                if isinstance(self.domain, Polytope):
                    start_cell(self._inner, self._inside)  # refuses one without interior
                if choice is None:
                    choice = table.probe(
                        self._inner, self._inside, options.arithmetic, ending.halt, store=store
                    )
                engine = table.ENGINES[choice.engine]
                run = self._start(engine, on_gpu, ending.halt, store=store, pausing=pausing)
        except TimeLimitError:  # before there was a search
            choice = choice or table.by_rule(self._inner, options.arithmetic, store=store)
            self.stats = {
                "engine": choice.engine,
                "reason": choice.reason,
                "arithmetic": options.arithmetic,
                "seconds": time.perf_counter() - started,
                "ended_by": ending.by,
            }
            return
        most = sys.maxsize if options.max_regions is None else options.max_regions
        unlimited = options.max_bytes is None or options.out is not None
        budget = _RegionBudget(most, sys.maxsize if unlimited else cast(int, options.max_bytes))
        if options.out is not None:
            budget.regions = run.count
        guess = self._guess if options.where is None else lambda: 0
        bar = RegionBar(show and engine.task is not None, guess, at_once=bool(options.progress))
        driver = _Driver(run, budget, self.keeper, ending)
        self._driver = driver
        try:
            for batch in driver.batches(pausing):
                bar.update(run.found)
                if batch is not None and (columns := budget.cut(batch)) is not None:
                    yield columns
        finally:
            run.halt()
            bar.close()
            if self.keeper is not None and options.out is None:  # a folder gets statistics yet
                self.keeper.close()
            self.complete = run.complete and not budget.is_spent_by(run.count) and not driver.lost
            self.count = budget.regions if store else min(run.count, most)
            self.stats = run.stats() | {
                "engine": choice.engine,
                "reason": choice.reason,
                "arithmetic": options.arithmetic,
                "seconds": time.perf_counter() - started,
            }
            if options.where is not None:
                self.stats["where"] = repr(options.where)
            if not self.quotient.is_trivial:
                self.stats["quotient"] = self.quotient.dimension
            if not self.complete:
                over = "max_regions" if run.count > most else ending.by
                self.stats["ended_by"] = budget.spent or over
        on_cluster = options.engine_backend == "ray"  # which hands out nothing
        self._check(run.count, budget.regions if store and not on_cluster else run.count)

    def _check(self, counted: int, handed_out: int) -> None:
        """Raise unless a search that has ended may be right: all counts and results pass here.

        Each domain has a region (but a wanted set may meet none), and what was counted is what was
        handed out. (That no cell got lost on the way is checked for every unit:
        `tropicell.engines.units.check_outcome`.)
        """
        if self.complete and counted < 1 and self.options.where is None:
            raise InternalError("the search has ended and found no region")
        if self.complete and counted != handed_out:
            raise InternalError(f"{counted} regions were counted and {handed_out} handed out")

    def out_of_memory(self) -> None:
        """Say that there is no memory for what was found: the search ends, and is not complete."""
        assert self._driver is not None
        self._driver.forget()

    def _guess(self) -> int:
        """About how many regions there are."""
        from tropicell.search.estimate import estimate_regions  # noqa: PLC0415 - Numba

        guess = estimate_regions(
            self._inner, self._inside, max_seconds=_ESTIMATE, arithmetic=self.options.arithmetic
        )
        return guess.count

    def _start(
        self,
        engine: Engine,
        on_gpu: DeviceBackend | None,
        halt: Halt,
        *,
        store: bool,
        pausing: bool,
    ) -> EngineRun:
        """The run; and `keeper`, the checkpoint or folder from which it goes on."""
        from tropicell.engines.scheduler import UnitRun  # noqa: PLC0415 - Numba is slow to import

        options, network, domain = self.options, self._inner, self._inside
        if options.engine_backend == "ray":
            return self._start_on_cluster(engine, store=store)
        if on_gpu is not None:
            return engine.on_gpu(network, domain, options.arithmetic, on_gpu, store, halt)
        if engine.task is None:
            if options.checkpoint is not None or options.out is not None:
                what = "checkpoints" if options.out is None else "folders of regions"
                raise InvalidInputError(
                    f"the engine {engine.name!r} has no {what}; use 'cells' or 'halfspaces'"
                )
            return engine.run(network, domain, options.arithmetic, halt)
        wanted: dict[str, Any] = {} if options.where is None else {"where": options.where}
        in_memory = options.checkpoint is None and options.out is None
        if options.out is None and engine.name == "cells" and network.n_inputs > 2:
            # They are worked out when somebody asks for them; folders have a column of them.
            wanted["volumes"] = False
        task = engine.task(network, domain, options.arithmetic, store=store, **wanted)
        if in_memory:
            # All will be in memory anyway, if nothing limits it.
            unlimited = options.max_regions is None and options.max_bytes is None
            most_waiting = sys.maxsize if store and not pausing and unlimited else None
            task.shared = True  # `regions` below knows what to do with them
            if options.workers == 1 and self._settle is not None:
                # Of what was written in its place no part can be left out.
                task.settle = self._settle if unlimited else _without_place(self._settle)
            return UnitRun(task, options.workers, halt=halt, most_waiting=most_waiting)
        self.keeper = keeper = self._keeper(engine, task, store=store)
        try:
            return UnitRun(
                task,
                options.workers,
                in_order=True,
                units=keeper.units,
                count=keeper.count,
                halt=halt,
                most_waiting=keeper.most_waiting,
            )
        except BaseException:
            keeper.close()
            raise

    def _start_on_cluster(self, engine: Engine, *, store: bool) -> EngineRun:
        """Tasks on a Ray cluster, and the folder that they write to."""
        options = self.options
        if engine.task is None:
            raise InvalidInputError(
                f"engine_backend='ray' does not go together with {engine.name!r}"
            )
        if store and options.out is None:
            raise InvalidInputError(
                "engine_backend='ray' writes regions to a folder that all machines see: give out"
            )
        from tropicell.search import cluster  # noqa: PLC0415 - an extra

        what = self._identity(engine.name, store=store)
        cpus = options.workers if options.workers > 1 else None
        self.keeper, run = cluster.start(self.quotient, what, options.out, options.address, cpus)
        return run

    def _identity(self, engine: str, *, store: bool) -> dict[str, Any]:
        """What is enumerated: checkpoints and folders of anything else are refused."""
        options = self.options
        return identity(self.quotient, engine, options.arithmetic, store=store, where=options.where)

    def _keeper(self, engine: Engine, task: Task, *, store: bool) -> Keeper:
        options = self.options
        what = self._identity(engine.name, store=store)
        if options.out is not None:
            from tropicell.search.folder import MAX_BYTES, FolderWriter  # noqa: PLC0415 - an extra

            most = MAX_BYTES if options.max_bytes is None else options.max_bytes
            return FolderWriter(options.out, what, task, self.quotient, most)
        checkpoint = options.checkpoint
        if not isinstance(checkpoint, Checkpoint):
            checkpoint = Checkpoint(cast("str | os.PathLike[str]", checkpoint))
        bits = PackedPatterns.bits_for(self.network.pieces)
        return CheckpointFile(checkpoint, what, task, (self.network.n_neurons, bits))

    def make_folder(self) -> None:
        """A folder without regions, or the one that is there as it is, if there was no search."""
        from tropicell.search.folder import OpenFolder  # noqa: PLC0415 - an extra

        assert self.options.out is not None
        what = self._identity(self.stats["engine"], store=True)
        with using(None):  # the time may be over, but the folder is whole
            OpenFolder(self.options.out, what, self.quotient).finish(self.stats)

    def regions(self, store: Store, *, complete: bool) -> Regions:
        """All batches as one object."""
        network = self._inner
        bits = PackedPatterns.bits_for(network.pieces)
        gathered = store.regions
        with using(None):  # what was found is handed over, whatever the time
            found = store.join()
        if store.regions < gathered:  # there was no memory for all of them in one piece
            complete, self.stats["ended_by"] = False, "MemoryError"
        words, witnesses = found["words"], found["witnesses"]
        if words is None:
            words = PackedPatterns.pack(np.empty((0, network.n_neurons), np.uint8), bits).words
            witnesses = np.empty((0, network.n_inputs))
        regions = Regions(
            network,
            self._inside,
            PackedPatterns(words, network.n_neurons, bits),
            witnesses,
            complete=complete,
            stats=self.stats,
            bounded=found["bounded"],
            volumes=sure_areas(found["volumes"], network.n_inputs),
            corners=_corners(found),
            facet_lines=ragged(found["facet_lines"], found["facet_counts"]),
        ).lifted(self.quotient)
        regions.stats["bytes"] = regions.nbytes
        return regions


def _without_place(settle: Callable[[float], Place]) -> Callable[[float], None]:
    """To copy batches, and no more."""

    def copied(expected: float) -> None:
        settle(expected)

    return copied


def _corners(found: Mapping[str, Any]) -> Ragged | None:
    """The corners of all regions, from columns that have them or share points."""
    if found["points"] is None:
        return ragged(found["corners"], found["corner_counts"])
    ends = np.cumsum(found["corner_counts"], dtype=np.int64)
    return SharedRagged(found["points"], found["corner_places"], ends)


class Keeper(Protocol):
    """Writes down what was found and what is left to do: a checkpoint, or a folder of regions."""

    count: int
    units: list[Unit] | None
    most_waiting: int | None

    @property
    def folder(self) -> object:
        """Where it writes, for messages."""

    def columns(self) -> Iterator[Columns]:
        """What was found before and is to be handed out again."""

    def add(self, columns: Columns) -> None:
        """Regions that come next."""

    def save_if_due(self, source: UnitRun) -> None:
        """Write if the last time is long enough ago; called at a good moment."""

    def save(self, source: UnitRun) -> None:
        """Write all that was found, and what is left to do."""

    def close(self) -> None:
        """Let others write there."""


class _RegionBudget:
    """How many regions, and bytes of them, may be kept."""

    def __init__(self, most: int, most_bytes: int) -> None:
        self._most, self._most_bytes = most, most_bytes
        self.regions = self._bytes = 0
        self.spent = ""

    def cut(self, columns: Columns) -> Columns | None:
        """The first regions of a batch, as far as the budget goes; None: none of them."""
        if self.spent:
            return None
        n = len(columns.packed)
        if self._most == self._most_bytes == sys.maxsize:
            self.regions += n
            return columns if n else None
        if self.regions + n > self._most:
            n, self.spent = self._most - self.regions, "max_regions"
            columns = first(columns, n)
        if self._bytes + size_of(columns) > self._most_bytes:
            self.spent = "max_bytes"
            least, beyond = 0, n
            while beyond - least > 1:
                middle = (least + beyond) // 2
                fits = self._bytes + size_of(first(columns, middle)) <= self._most_bytes
                least, beyond = (middle, beyond) if fits else (least, middle)
            n = least
            columns = first(columns, n)
        self.regions += n
        self._bytes += size_of(columns)
        return columns if n else None

    def is_spent_by(self, count: int) -> bool:
        """Whether no more regions are wanted, after so many were found."""
        return bool(self.spent) or count > self._most


class _Ending:
    """When a search has to end, and what has ended it."""

    def __init__(self, max_seconds: float | None) -> None:
        self.halt = Halt(max_seconds, current())
        self.by = "max_seconds"

    def stop(self, signal: str) -> None:
        """End the search, because a signal has come."""
        self.by = signal
        self.halt.set()


class _Driver:
    """Takes what a run finds until it is done, a budget is spent, or a signal comes."""

    def __init__(
        self, run: EngineRun, budget: _RegionBudget, file: Keeper | None, ending: _Ending
    ) -> None:
        self._run, self._budget, self._file, self._ending = run, budget, file, ending
        self.lost = False  # whether regions were found that are not in the result

    def batches(self, pausing: bool) -> Iterator[Columns | None]:
        """All that is found; nothing found is lost, whatever ends the run."""
        run, budget, file = self._run, self._budget, self._file
        if file is not None:
            try:
                yield from file.columns()
            except MemoryError:  # what is saved stays as it is
                self.forget()
                return
        try:
            for batch in self._guarded(run.batches()) if pausing else run.batches():
                if file is not None and batch is not None:
                    file.add(batch)
                yield batch
                if file is not None and batch is None:
                    file.save_if_due(cast("UnitRun", run))
                if budget.is_spent_by(run.count):
                    break
                if self._ending.halt.is_over():
                    run.halt()  # it ends by itself, and says so if an error has ended it
        except KeyboardInterrupt:
            self._ending.by = "SIGINT"
        except MemoryError:
            self._ending.by = "MemoryError"
        except TimeLimitError:
            pass
        except Exception as error:
            own = isinstance(error, InternalError)  # which a damaged unit may cause
            said = not own and isinstance(error, TropicellError | OSError)
            if file is None or not file.units or said:
                raise
            raise CheckpointError(
                f"{file.folder}: the checkpoint does not fit the network, or is damaged: {error!r}"
            ) from error
        if file is not None:
            unit_run = cast("UnitRun", run)
            for batch in unit_run.finish():
                file.add(batch)
                yield batch
            try:
                with using(None):
                    file.save(unit_run)
            except MemoryError:  # what was saved before stays, and the same call goes on from there
                self.forget()
        yield from run.rest()

    def _guarded(self, batches: Iterator[Columns | None]) -> Iterator[Columns | None]:
        """The same; Ctrl-C and SIGTERM end it while it is at work, not while the reader is."""
        while True:
            with stopping(self._ending.stop):
                try:
                    batch = next(batches)
                except StopIteration:
                    return
            yield batch

    def forget(self) -> None:
        """There is no memory for regions that were found."""
        self.lost = True
        self._ending.stop("MemoryError")
        self._run.halt()
