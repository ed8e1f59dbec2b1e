"""Enumerations on many machines with Ray: units of work as tasks, results in a folder all can see.

A *job* is a run of consecutive units. A task does a job until it has found many regions, writes
them to files whose names depend on the job alone, and hands back what is left, as new jobs. So a
task that dies is simply done again, and the regions come in the order in which one process finds
them.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tropicell.engines.scheduler import UnitRun
from tropicell.engines.table import load, task_of
from tropicell.engines.units import Task, Unit
from tropicell.errors import CheckpointError, InvalidInputError, TropicellError, require
from tropicell.geometry.arithmetic import ArithmeticName
from tropicell.network.domains import Domain
from tropicell.network.network import Network
from tropicell.network.quotient import Quotient
from tropicell.regions.columns import Columns, size_of
from tropicell.regions.stored.manifest import RegionFile
from tropicell.regions.stored.places import place_of
from tropicell.search.folder import FolderWriter, RegionFolder, write_part

#: A job of generation g ends after so many regions times 4^g, but never more than the second
#: number: work spreads quickly at first, and later a task is worth its overhead.
FIRST_LIMIT, LAST_LIMIT = 16_384, 4_194_304

#: The second number is for so many cores; with more of them jobs are larger, because one process
#: hands them all out.
_CORES = 128

#: What is left of a job becomes at most so many jobs, early and later.
_MOST_CHILDREN, _MOST_LATER = 32, 8
_EARLY = 4

#: Bytes of regions that a task gathers before it writes a file.
PART_BYTES = 64 * 2**20

#: Tasks that are given to Ray at a time, for each core: one at work, one that waits.
_IN_FLIGHT = 2

#: How often a task that died with its machine is given to Ray again, after Ray's own retries.
_RETRIES = 5

#: Seconds to wait for a task before looking at the clock, and between two looks at the cluster.
_SECONDS, _LOOK = 0.2, 2.0

#: Seconds to wait for a cluster that has no cores at all: machines may be on their way.
_NO_CORES = 600.0

#: Seconds after which a result that Ray said is there is taken to be lost, and waited for again.
_PATIENCE = 10.0


class ClusterPlan(NamedTuple):
    """What all tasks share; it goes to every machine once.

    `key` tells plans apart; `url` is where to write, None if regions are only counted. `token`
    is in the names of files, so that tasks of a program that was killed do not write to them.
    `inputs` are those of the network among the user's; None: all.
    """

    key: str
    network: Network
    domain: Domain
    engine: str
    arithmetic: ArithmeticName
    url: str | None
    columns: tuple[str, ...]
    token: str = ""
    inputs: tuple[int, ...] | None = None


class JobOutcome(NamedTuple):
    """What became of a job: regions, the files with them, what is left, seconds at work."""

    regions: int
    parts: list[RegionFile]
    left: list[Unit]
    seconds: float


@dataclass(eq=False)
class ClusterJob:
    """A run of consecutive units; once it is done, its parts and the jobs that are left of it."""

    key: str
    generation: int
    units: list[Unit]
    parts: list[RegionFile] = field(default_factory=list)
    children: list[ClusterJob] = field(default_factory=list)
    done: bool = False
    tries: int = 0

    def limit(self, cores: int) -> int:
        """Regions after which the job ends, on a cluster of so many cores."""
        return min(FIRST_LIMIT << min(2 * self.generation, 40), last_limit(cores))

    def finish(self, outcome: JobOutcome) -> None:
        """Take over what a task has found."""
        self.done, self.units, self.parts = True, [], outcome.parts
        most = _MOST_CHILDREN if self.generation < _EARLY else _MOST_LATER
        left = outcome.left
        # The units that come last are from higher up in the tree, and the larger ones.
        first = max(1, len(left) - most + 1) if left else 0
        groups = [left[:first], *([unit] for unit in left[first:])] if left else []
        self.children = [
            ClusterJob(_child_key(self.key, k), self.generation + 1, group)
            for k, group in enumerate(groups)
        ]


def last_limit(cores: int) -> int:
    """The largest number of regions after which a job ends, on a cluster of so many cores."""
    return LAST_LIMIT * max(1, cores // _CORES)


def _child_key(key: str, number: int) -> str:
    return hashlib.sha256(f"{key}/{number}".encode()).hexdigest()[:16]


def first_job(task: Task) -> ClusterJob:
    """The first job of a search: all of it."""
    return ClusterJob(_child_key("", 0), 0, [task.root()])


#: The work of the plan that a process was last asked for: building it takes time.
_tasks: dict[str, Task] = {}


def do_job(plan: ClusterPlan, key: str, units: list[Unit], limit: int) -> JobOutcome:
    """Do a job on whatever machine this is. The same job gives the same files, whoever does it.

    Examples
    --------
    >>> from tropicell import WholeSpace
    >>> network = Network.mlp([[[1.0], [-1.0]], [[1.0, 1.0]]], [[0.0, -1.0], [0.0]])
    >>> plan = ClusterPlan("plan", network, WholeSpace(), "cells", "exact", None, ())
    >>> units = [task_of("cells", network, plan.domain, "exact", store=False).root()]
    >>> do_job(plan, "0", units, 100)[:3]
    (3, [], [])
    """
    started = time.perf_counter()
    task = _tasks.get(plan.key)
    if task is None:
        load(plan.engine, plan.network.n_inputs)
        _tasks.clear()
        task = _tasks[plan.key] = task_of(
            plan.engine, plan.network, plan.domain, plan.arithmetic, store=plan.url is not None
        )
    parts: list[RegionFile] = []
    waiting: list[Columns] = []

    def write() -> None:
        if plan.url is not None and waiting:
            name = f"part-{key}{len(parts):06x}{plan.token}.parquet"
            parts.append(write_part(place_of(plan.url), name, waiting, plan.columns, plan.inputs))
        waiting.clear()

    run = UnitRun(task, units=units)
    gathered = 0
    batches = run.batches()
    for batch in batches:
        if batch is not None:
            waiting.append(batch)
            gathered += size_of(batch)
        elif gathered >= PART_BYTES:
            write()
            gathered = 0
        if batch is None and run.count >= limit:
            break
    batches.close()  # type: ignore[attr-defined]
    write()
    return JobOutcome(run.count, parts, run.left_to_do(), time.perf_counter() - started)


class RayRun:
    """One enumeration on a Ray cluster; see `tropicell.regions.columns.EngineRun`.

    Parameters
    ----------
    plan : ClusterPlan
    jobs : list of ClusterJob
        In order; those that are done keep their places.
    address : str, optional
        Of a cluster, ``"auto"`` for the one that this machine belongs to; None: a Ray of its own
        on this machine, or the one that the program has already started.
    cpus : int, optional
        Cores of a Ray of its own; default: all.
    """

    def __init__(
        self,
        plan: ClusterPlan,
        jobs: list[ClusterJob],
        address: str | None = None,
        cpus: int | None = None,
    ) -> None:
        self._plan, self._address, self._cpus = plan, address, cpus
        self._root = ClusterJob("", 0, [], children=jobs, done=True)
        self._open = [job for job in reversed(jobs) if not job.done]
        self._stop = False
        self._tasks = 0
        self._seconds = 0.0
        self.count = sum(part.regions for job in jobs for part in job.parts)
        self.complete = False

    @property
    def found(self) -> int:
        """Regions found so far."""
        return self.count

    def halt(self) -> None:
        """Stop soon; tasks that are at work are given up."""
        self._stop = True

    def batches(self) -> Iterator[Columns | None]:
        """Go on. Regions go from the tasks to the folder, so there is nothing to hand out."""
        if not self._open:
            self.complete = True
            return
        ray = _ray()
        mine = not ray.is_initialized()
        if mine:
            _connect(ray, self._address, self._cpus)
        running: dict[Any, ClusterJob] = {}
        try:
            yield from self._work(ray, running)
        finally:
            for reference in running:
                ray.cancel(reference, force=False)
            if mine:
                ray.shutdown()

    def _work(self, ray: Any, running: dict[Any, ClusterJob]) -> Iterator[None]:
        remote = ray.remote(num_cpus=1, max_retries=3, scheduling_strategy="SPREAD")(do_job)
        plan = ray.put(self._plan)
        cores, looked, had_cores = 1, 0.0, time.perf_counter()
        while (self._open or running) and not self._stop:
            if time.perf_counter() > looked + _LOOK:  # machines come and go
                looked = time.perf_counter()
                cores = int(ray.cluster_resources().get("CPU", 0))
                had_cores = looked if cores else had_cores
                if looked > had_cores + _NO_CORES:
                    raise TropicellError(
                        f"the Ray cluster has had no cores for {_NO_CORES / 60:g} minutes; give it "
                        "a machine, and call again"
                    )
            while self._open and len(running) < _IN_FLIGHT * max(1, cores):
                job = self._open.pop()
                running[remote.remote(plan, job.key, job.units, job.limit(cores))] = job
            done, rest = ray.wait(list(running), num_returns=1, timeout=_SECONDS)
            if done and rest:
                more, _ = ray.wait(rest, num_returns=len(rest), timeout=0)
                done += more
            for reference in done:
                job = running.pop(reference)
                if not self._take(ray, reference, job):
                    running[reference] = job
            yield None
        self.complete = not self._open and not running

    def _take(self, ray: Any, reference: Any, job: ClusterJob) -> bool:
        """Take over what a task found; False if Ray does not have it at hand."""
        try:
            # A result that was lost with its machine is made anew: no reason to wait for it here.
            outcome = ray.get(reference, timeout=_PATIENCE)
        except ray.exceptions.GetTimeoutError:
            return False
        except ray.exceptions.RayTaskError as error:
            cause = error.cause if isinstance(error.cause, Exception) else error
            raise cause from None
        except ray.exceptions.RayError as error:  # a machine or a worker that died
            job.tries += 1
            if job.tries > _RETRIES:
                raise TropicellError(
                    f"a task died {job.tries} times, each time with its worker: {error}"
                ) from None
            self._open.append(job)
            return True
        job.finish(outcome)
        self.count += outcome.regions
        self._tasks += 1
        self._seconds += outcome.seconds
        self._open.extend(reversed(job.children))
        return True

    def finish(self) -> Iterator[Columns]:
        """Nothing: tasks that are at work are given up."""
        return iter(())

    def rest(self) -> Iterator[Columns]:
        """What was found and not handed over: nothing, since tasks write to the folder."""
        return iter(())

    def stats(self) -> dict[str, Any]:
        """Tasks, and their time added up."""
        return {"tasks": self._tasks, "task_seconds": self._seconds, "backend": "ray"}

    def jobs(self) -> Iterator[ClusterJob]:
        """All jobs, in the order of their regions."""
        stack = [self._root]
        while stack:
            job = stack.pop()
            yield job
            stack.extend(reversed(job.children))


class JobWriter(FolderWriter):
    """Writes down which jobs are done and which are left; the regions are already there."""

    def jobs(self) -> list[ClusterJob]:
        """The jobs that were written down; at first, one with all units."""
        if self.units is None:
            return [first_job(self._task)]
        parts, units = self._folder.manifest.parts, self.units
        jobs, part, unit = [], 0, 0
        try:
            for entry in self.more.get("jobs", []):
                before, size = int(entry["before"]), int(entry["units"])
                jobs.append(ClusterJob("", 0, [], parts[part : part + before], done=True))
                jobs.append(
                    ClusterJob(
                        str(entry["key"]), int(entry["generation"]), units[unit : unit + size]
                    )
                )
                part, unit = part + before, unit + size
        except (KeyError, TypeError, ValueError, ArithmeticError) as error:
            raise CheckpointError(f"{self.folder}: its state is damaged: {error!r}") from None
        return [*jobs, ClusterJob("", 0, [], parts[part:], done=True)]

    def save_if_due(self, source: Any) -> None:
        """Write if it was not written for some time."""
        if time.perf_counter() >= self._due:
            self.save(source)

    def save(self, source: Any) -> None:
        """Write which parts are valid, and what is left to do."""
        if self._folder.manifest.complete:
            return
        parts: list[RegionFile] = []
        units: list[Unit] = []
        entries, written = [], 0
        for job in source.jobs():
            parts += job.parts
            if not job.done:
                entry = {"key": job.key, "generation": job.generation, "units": len(job.units)}
                entries.append(entry | {"before": len(parts) - written})
                written = len(parts)
                units += job.units
        self._commit(units, parts, {"jobs": entries})


def start(
    quotient: Quotient,
    identity: dict[str, Any],
    out: RegionFolder | None,
    address: str | None,
    cpus: int | None,
) -> tuple[JobWriter | None, RayRun]:
    """A run on a cluster, and the folder that it writes to; without one, regions are counted."""
    _ray()
    what = identity | {"kind": identity["kind"] + ", by ray"}
    engine, arithmetic = identity["engine"], identity["arithmetic"]
    network, domain = quotient.network, quotient.domain
    inputs = None if quotient.is_trivial else tuple(quotient.inputs.tolist())
    task = task_of(engine, network, domain, arithmetic, store=out is not None)
    if out is None:
        plan = ClusterPlan(json.dumps(what), network, domain, engine, arithmetic, None, ())
        return None, RayRun(plan, [first_job(task)], address, cpus)
    writer = JobWriter(out, what, task, quotient)
    columns = tuple(out.columns)
    token = secrets.token_hex(4)
    key = json.dumps([what, writer.folder, columns, token])
    plan = ClusterPlan(
        key, network, domain, engine, arithmetic, writer.folder, columns, token, inputs
    )
    try:
        return writer, RayRun(plan, writer.jobs(), address, cpus)
    except BaseException:
        writer.close()
        raise


def _ray() -> Any:
    return require("ray", extra="ray", why='engine_backend="ray"')


def _connect(ray: Any, address: str | None, cpus: int | None) -> None:
    """Connect to a cluster, or start a small Ray on this machine."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        if address is None:
            ray.init(num_cpus=cpus, include_dashboard=False, log_to_driver=False)
        else:
            ray.init(address=address, log_to_driver=False)
    except (ConnectionError, ValueError) as error:
        raise InvalidInputError(
            f"address={address!r}: no Ray cluster answers there ({error}); start one with "
            "'ray start --head', or leave the address out"
        ) from None
    finally:
        # Ray makes SIGTERM end the program, and leaves it so.
        if before is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)
