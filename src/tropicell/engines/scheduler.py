"""The scheduler: threads do the units of a task, and regions are handed out in one order.

All units form a list. What is left of a unit when it ends takes its place there, so the regions of
the units, one after the other, are in the order in which one thread would find them. A unit is
open, somebody works on it, or it is done and its regions wait until all units before it are done.

Which open unit a thread takes changes nothing but the time that it takes. Large ones come first, so
that all threads have something to do until the end; but where regions wait for those before them,
some come from the front, and all once many wait, so that memory stays bounded.

The first unit is done by the calling thread; threads are started when there is something to do for
them.
"""

from __future__ import annotations

import heapq
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tropicell._runtime.interruption import Halt, beside, current, using
from tropicell._runtime.threads import ThreadPool
from tropicell.engines import tuning
from tropicell.engines.units import Outcome, Task, Unit, Worker, check_outcome
from tropicell.errors import TimeLimitError
from tropicell.regions.columns import Columns, size_of

Key = tuple[int, ...]


@dataclass(eq=False, slots=True)
class UnitPlace:
    """A place in the list of all units.

    Attributes
    ----------
    unit : Unit
    key : tuple of int
        Keys of units that are not done are in the order of the list. Those of what is left of a
        unit begin with its own.
    after : UnitPlace or None
        The next one.
    outcome : Outcome or None
        What became of the unit, once it is done.
    nbytes : int
        Of its regions.
    """

    unit: Unit
    key: Key
    after: UnitPlace | None = None
    outcome: Outcome | None = None
    nbytes: int = 0

    def finish(self, outcome: Outcome) -> list[UnitPlace]:
        """Note what became of the unit, and put what is left of it behind it.

        An only child gets the key of the unit, which is done: no chain of keys grows long.
        """
        left = outcome.left or []
        keys = [self.key] if len(left) == 1 else [(*self.key, k) for k in range(len(left))]
        children = [UnitPlace(unit, key) for unit, key in zip(left, keys, strict=True)]
        for place, after in pairwise([self, *children, self.after]):
            assert place is not None
            place.after = after
        self.outcome = outcome
        return children


class OpenUnits:
    """Units that nobody has taken, to be had from the front, or the one of most weight first.

    Examples
    --------
    >>> units = OpenUnits()
    >>> for weight, key in [(3.0, (0, 0)), (4.0, (1,)), (5.0, (2,))]:
    ...     units.add(UnitPlace(Unit(1, weight=weight), key))
    >>> units.first().key, units.take_large().key, units.take_first().key, len(units)
    ((0, 0), (2,), (0, 0), 1)
    """

    def __init__(self) -> None:
        self._places: dict[Key, UnitPlace] = {}
        # Heaps of keys; those that are not in `_places` any more are skipped.
        self._front: list[Key] = []
        self._large: list[tuple[float, Key]] = []

    def __len__(self) -> int:
        return len(self._places)

    def add(self, place: UnitPlace) -> None:
        """A unit that is open now."""
        self._places[place.key] = place
        heapq.heappush(self._front, place.key)
        heapq.heappush(self._large, (-place.unit.weight, place.key))
        if len(self._front) + len(self._large) > 8 * len(self._places) + 1000:
            self._front = sorted(self._places)
            self._large = sorted((-p.unit.weight, p.key) for p in self._places.values())

    def first(self) -> UnitPlace:
        """The first one in the order; it stays."""
        while self._front[0] not in self._places:
            heapq.heappop(self._front)
        return self._places[self._front[0]]

    def take_first(self) -> UnitPlace:
        """The first one in the order."""
        return self._places.pop(self.first().key)

    def take_large(self) -> UnitPlace:
        """The one that probably has most regions."""
        while (key := heapq.heappop(self._large)[1]) not in self._places:
            pass
        return self._places.pop(key)


class UnitRun:
    """One run of a task by units; see `tropicell.regions.columns.EngineRun`.

    Parameters
    ----------
    task : Task
    workers : int
        With 1, all is done in the calling thread.
    units : iterable of Unit, optional
        Where to start instead of the task's root.
    count : int
        Regions that were found before.
    max_seconds : float, optional
        Stop after so much time, in the middle of a unit.
    halt : Halt, optional
        Instead of `max_seconds`: stop when it is over.
    in_order : bool
        Always take units from the front: less is found that is not yet handed out.
    most_waiting : int, optional
        Bytes of regions that may wait; default: that of `tropicell.engines.tuning`.

    Attributes
    ----------
    count : int
        Regions handed out so far.
    complete : bool
        Whether these are all.

    Examples
    --------
    >>> from tropicell.engines.cells.task import CellTask
    >>> from tropicell import Network
    >>> run = UnitRun(CellTask(Network.mlp([[[1.0], [-1.0]], [[1.0, 1.0]]])), workers=2)
    >>> sum(len(batch.packed) for batch in run.batches() if batch is not None), run.complete
    (2, True)
    """

    def __init__(
        self,
        task: Task,
        workers: int = 1,
        *,
        units: Iterable[Unit] | None = None,
        count: int = 0,
        max_seconds: float | None = None,
        halt: Halt | None = None,
        in_order: bool = False,
        most_waiting: int | None = None,
    ) -> None:
        self._task = task
        self._tuning = tuning.current
        self._n = workers
        self._in_order = in_order
        start = [task.root()] if units is None else units
        places = [UnitPlace(unit, (k,)) for k, unit in enumerate(start)]
        for place, after in pairwise(places):
            place.after = after
        self._first = places[0] if places else None
        self._open = OpenUnits()
        for place in places:
            self._open.add(place)
        self._turn = 0
        self._busy = 0  # units that somebody works on
        self._halt = Halt(max_seconds, current()) if halt is None else halt
        self._lock = threading.RLock()
        self._work_to_do = threading.Condition(self._lock)
        self._to_hand_out = threading.Condition(self._lock)
        self._ahead = 0  # regions that are done and not yet handed out
        self._waiting = 0  # bytes of them
        self._most_waiting = self._tuning.most_waiting if most_waiting is None else most_waiting
        self._ready: deque[Columns] = deque()
        self._pool = ThreadPool(workers)
        self._n_started = 0
        self._spare: list[Worker] = []
        self._workers: list[Worker] = []
        self._errors: list[BaseException] = []
        self._halted = False
        self._started = time.perf_counter()
        self._seconds = 0.0
        self.count = count
        self.complete = False

    @property
    def found(self) -> int:
        """Regions found so far, those included that wait to be handed out."""
        return self.count + self._ahead

    def halt(self) -> None:
        """Stop soon: workers give back what they have."""
        self._halt.set()

    def join(self) -> None:
        """Stop, and wait until nobody works any more."""
        self.halt()
        self._pool.join()

    def stats(self) -> dict[str, Any]:
        """Counters of all workers added up."""
        total: dict[str, Any] = {"seconds": self._seconds, "workers": self._n}
        for worker in self._workers:
            for key, value in worker.stats().items():
                total[key] = total.get(key, 0) + value
        return total

    # --- what is handed out -------------------------------------------------------------------

    def batches(self) -> Iterator[Columns | None]:
        """Go on, and hand out regions in order; None is a chance to look at the clock."""
        try:
            yield from self._alone() if self._n == 1 else self._together()
        except TimeLimitError:  # before a worker was ready, or in the middle of a unit
            self._halt.set()
        finally:
            self._seconds = time.perf_counter() - self._started
        self.complete = self._first is None and not self._halted

    def finish(self) -> Iterator[Columns]:
        """Stop and wait; hand out what is done at the front, so that only whole units remain."""
        self.join()
        while True:
            first = self._first
            yield from self._hand_out()
            if self._first is first:
                return

    def rest(self) -> Iterator[Columns]:
        """What was found and not yet handed out, after the run was broken off."""
        self.join()
        yield from self._take_ready()
        place, self._first = self._first, None
        self._open, self._ahead, self._waiting = OpenUnits(), 0, 0
        while place is not None:
            if place.outcome is not None:
                self.count += place.outcome.count
                yield from place.outcome.columns
                self._halted |= place.outcome.left is None
            else:
                self._halted = True
            place = place.after
        self.complete = not self._halted

    def left_to_do(self) -> list[Unit]:
        """What gives all regions that are not handed out yet, in order.

        A unit that is done and waits is to be done again, so its children do not count.
        """
        units = []
        again: Key | None = None
        with self._lock:
            place = self._first
            while place is not None:
                if again is None or place.key[: len(again)] != again:
                    units.append(place.unit)
                    again = None if place.outcome is None else place.key
                place = place.after
        return units

    def _hand_out(self) -> Iterator[Columns]:
        """The regions of units at the front that are done, if they are many a part of them."""
        with self._lock:
            place, full = self._first, self._waiting >= self._most_waiting
            enough = self._waiting - self._most_waiting // 4
            while place is not None and (outcome := place.outcome) is not None:
                if outcome.left is None:
                    break
                self._ready.extend(outcome.columns)
                self._ahead -= outcome.count
                self._waiting -= place.nbytes
                self.count += outcome.count
                done, place = place, place.after
                done.after = done.outcome = None  # a thread may keep the place for a while
                if self._waiting <= enough:
                    break
            self._first = place
            if place is None or full:
                self._work_to_do.notify_all()
        yield from self._take_ready()

    def _take_ready(self) -> Iterator[Columns]:
        while self._ready:
            yield self._ready.popleft()

    def _is_urgent(self) -> bool:
        """Whether regions should be handed out now: all is done, or many wait."""
        if self._first is None or self._first.outcome is None:
            return False
        return not (self._busy or self._open) or self._waiting >= self._most_waiting // 4

    # --- the calling thread -------------------------------------------------------------------

    def _alone(self) -> Iterator[Columns | None]:
        """Do all units, one after the other."""
        with using(self._halt):
            worker = self._new_worker()
        while (place := self._take()) is not None:
            outcome = self._do(worker, place, watched=self._task.slow)
            if outcome.left is None:
                return
            yield from self._hand_out()
            yield None

    def _together(self) -> Iterator[Columns | None]:
        """Let threads do the units, and wait for regions."""
        try:
            if len(self._open) == 1:
                self._begin()
            else:
                self._start_threads(self._missing())
            seconds = self._tuning.first_look
            while not self._halt.is_over():
                with self._lock:
                    if self._first is None or self._errors:
                        break
                    if not self._is_urgent():
                        self._to_hand_out.wait(seconds)
                        seconds = min(2 * seconds, self._tuning.look)
                yield from self._hand_out()
                yield None
            if self._errors:
                raise self._errors[0]
        finally:
            self._halt.set()  # whatever ended it: nobody reads on
            with self._lock:
                self._work_to_do.notify_all()

    def _begin(self) -> None:
        """Do the first unit: then there is something to do for others."""
        with using(self._halt):
            worker = self._new_worker()
        place = self._take()
        if place is not None:
            self._spare.append(worker)
            self._do(worker, place, watched=self._task.slow)

    # --- all threads --------------------------------------------------------------------------

    def _missing(self) -> int:
        """How many threads should be started, so that all open units are taken; they will be."""
        if self._n == 1 or self._halt.is_over():
            return 0
        free = self._n_started - self._busy
        missing = max(0, min(len(self._open) - free, self._n - self._n_started))
        self._n_started += missing
        return missing

    def _start_threads(self, count: int) -> None:
        for _ in range(count):
            self._pool.submit(self._work)

    def _work(self) -> None:
        """What a thread does: unit after unit."""
        try:
            worker: Worker | None = None
            with using(self._halt):
                while (place := self._take()) is not None:
                    worker = worker or self._get_worker()
                    self._do(worker, place)
        except BaseException as error:
            self._errors.append(error)
            self._halt.set()
            with self._lock:
                self._work_to_do.notify_all()
                self._to_hand_out.notify_all()

    def _take(self) -> UnitPlace | None:
        """A unit that nobody has; None if there is nothing to do any more."""
        with self._lock:
            while not self._halt.is_over() and self._first is not None:
                if (place := self._next()) is not None:
                    self._busy += 1
                    return place
                self._work_to_do.wait(self._tuning.look)
        return None

    def _next(self) -> UnitPlace | None:
        """The unit that is best taken now, if there is one."""
        if not self._open:
            return None
        if self._waiting >= self._most_waiting:
            return self._open.take_first() if self._open.first() is self._first else None
        self._turn += 1
        each, now = len(self._open) / self._n, self._tuning
        if (
            self._in_order
            or self._n == 1
            or (self._waiting and self._turn % now.front_every == 0 and each > now.few_open)
            or self._waiting >= self._most_waiting // 2
            or each > now.many_open
        ):
            return self._open.take_first()
        return self._open.take_large()

    def _new_worker(self) -> Worker:
        worker = self._task.worker()
        self._workers.append(worker)
        return worker

    def _get_worker(self) -> Worker:
        try:
            return self._spare.pop()
        except IndexError:
            return self._new_worker()

    def _do(self, worker: Worker, place: UnitPlace, *, watched: bool = False) -> Outcome:
        """Do a unit, and put what is left of it in its place.

        `watched`: nobody else looks at the clock, and kernels take long.
        """
        limit = place.unit.limit(self._task.grain)

        def run() -> Outcome:
            return worker.run(place.unit, limit, self._halt.is_over)

        if watched:
            outcome = beside(run, self._halt)
        else:
            with using(self._halt):
                outcome = run()
        check_outcome(place.unit, outcome)
        place.nbytes = sum(map(size_of, outcome.columns))
        with self._lock:
            children = place.finish(outcome)
            for child in children:
                self._open.add(child)
            self._ahead += outcome.count
            self._waiting += place.nbytes
            self._busy -= 1
            if self._is_urgent():
                self._to_hand_out.notify()
            if len(children) > 1:  # one of them is for the thread that is free now
                self._work_to_do.notify(len(children) - 1)
            missing = self._missing()
        self._start_threads(missing)
        return outcome
