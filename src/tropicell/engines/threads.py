"""Units of work in threads: handed out in order, whatever the number of threads.

The first unit is done by the calling thread; threads are started when there is something to do for
them. Which units they take does not change what is handed out, only when. They take large ones
first, so that all have something to do until the end; but where regions wait for those before them,
every fourth from the front, and all once many wait, so that memory stays bounded.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from tropicell._runtime.interruption import Halt, beside, current, using
from tropicell._runtime.threads import StartedThreads
from tropicell.engines.open_units import Key, OpenPlaces, Place
from tropicell.engines.units import Outcome, Task, Unit, Worker
from tropicell.errors import TimeLimitError
from tropicell.regions.columns import Columns, size_of

#: Bytes of regions that may wait for those before them, or for the reader; then only the very
#: first unit is worked on, so that memory stays bounded.
MOST_WAITING = 256 * 2**20

#: Of so many units one is taken from the front if regions wait: not towards the end, when few are
#: open for each thread. If there are that many, all are, so that they do not become more and more.
_EVERY, _LITTLE, _MANY = 4, 4, 32

#: Seconds after which somebody who waits looks whether it is time to stop, and after which the
#: calling thread first looks whether there is something to hand out: each time twice as long, since
#: it takes the time of a thread that works.
_SECONDS, _FIRST_SECONDS = 0.05, 0.002


class UnitRun:
    """One enumeration by units; see `tropicell.regions.columns.Run`.

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
        Bytes of regions that may wait; default: `MOST_WAITING`.

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
        self._n = workers
        self._in_order = in_order
        start = [task.root()] if units is None else units
        places = [Place(unit, (k,)) for k, unit in enumerate(start)]
        for place, after in pairwise(places):
            place.after = after
        self._first = places[0] if places else None
        self._open = OpenPlaces()
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
        self._most_waiting = MOST_WAITING if most_waiting is None else most_waiting
        self._ready: deque[Columns] = deque()
        self._threads = StartedThreads(self._work)
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

    def _stopped(self) -> bool:
        return self._halt.is_over()

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
        self._open, self._ahead, self._waiting = OpenPlaces(), 0, 0
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

    def join(self) -> None:
        """Stop, and wait until nobody works any more."""
        self.halt()
        self._threads.join()

    def stats(self) -> dict[str, Any]:
        """Counters of all workers added up."""
        total: dict[str, Any] = {"seconds": self._seconds, "workers": self._n}
        for worker in self._workers:
            for key, value in worker.stats().items():
                total[key] = total.get(key, 0) + value
        return total

    def _limit(self, unit: Unit) -> int:
        return unit.limit(self._task.grain)

    def _done(self, worker: Worker, place: Place, *, watched: bool = False) -> Outcome:
        """Do a unit; `watched`: nobody else looks at the clock, and the kernels take long."""

        def run() -> Outcome:
            return worker.run(place.unit, self._limit(place.unit), self._stopped)

        if watched:
            return beside(run, self._halt)
        with using(self._halt):
            return run()

    # --- one thread ---------------------------------------------------------------------------

    def _alone(self) -> Iterator[Columns | None]:
        with using(self._halt):
            worker = self._new_worker()
        while self._open and not self._stopped():
            place = self._open.take_first()
            self._busy += 1
            outcome = self._done(worker, place, watched=self._task.slow)
            self._finish(place, outcome)
            if outcome.left is None:
                return
            yield from self._hand_out()
            yield None

    # --- several threads ----------------------------------------------------------------------

    def _together(self) -> Iterator[Columns | None]:
        try:
            if len(self._open) == 1:
                self._begin()
            else:
                self._start_threads(self._missing())
            seconds = _FIRST_SECONDS
            while not self._stopped():
                with self._lock:
                    if self._first is None or self._errors:
                        break
                    if not self._is_urgent():
                        self._to_hand_out.wait(seconds)
                        seconds = min(2 * seconds, _SECONDS)
                yield from self._hand_out()
                yield None
            if self._errors:
                raise self._errors[0]
        finally:
            self._halt.set()  # whatever ended it: nobody reads on
            with self._lock:
                self._work_to_do.notify_all()

    def _begin(self) -> None:
        """Do the first unit in the calling thread: then there is something to do for others."""
        with using(self._halt):
            worker = self._new_worker()
        place = self._take()
        if place is not None:
            outcome = self._done(worker, place, watched=self._task.slow)
            self._spare.append(worker)
            self._finish(place, outcome)

    def _missing(self) -> int:
        """How many threads should be started, so that all open units are taken; they will be."""
        if self._n == 1 or self._stopped():
            return 0
        free = self._n_started - self._busy
        missing = max(0, min(len(self._open) - free, self._n - self._n_started))
        self._n_started += missing
        return missing

    def _start_threads(self, count: int) -> None:
        try:
            self._threads.start(count)
        except RuntimeError:  # no more of them
            with self._lock:
                self._n_started -= count
                if not self._n_started:
                    raise
                self._n = self._n_started

    def _is_urgent(self) -> bool:
        """Whether regions should be handed out now: all is done, or many wait."""
        assert self._first is not None
        if self._first.outcome is None:
            return False
        return not (self._busy or self._open) or self._waiting >= self._most_waiting // 4

    def _work(self) -> None:
        try:
            worker: Worker | None = None
            with using(self._halt):
                while (place := self._take()) is not None:
                    worker = worker or self._get_worker()
                    self._finish(place, self._done(worker, place))
        except BaseException as error:
            self._errors.append(error)
            self._halt.set()
            with self._lock:
                self._work_to_do.notify_all()
                self._to_hand_out.notify_all()

    def _take(self) -> Place | None:
        """A unit that nobody has; None if there is nothing to do any more."""
        with self._lock:
            while not self._stopped() and self._first is not None:
                if (place := self._next()) is not None:
                    self._busy += 1
                    return place
                self._work_to_do.wait(_SECONDS)
        return None

    def _next(self) -> Place | None:
        """The unit that is best taken now, if there is one."""
        if not self._open:
            return None
        if self._waiting >= self._most_waiting:
            return self._open.take_first() if self._open.first() is self._first else None
        self._turn += 1
        each = len(self._open) / self._n
        if (
            self._in_order
            or (self._waiting and self._turn % _EVERY == 0 and each > _LITTLE)
            or self._waiting >= self._most_waiting // 2
            or each > _MANY
        ):
            return self._open.take_first()
        return self._open.take_large()

    # --- the order ----------------------------------------------------------------------------

    def _new_worker(self) -> Worker:
        worker = self._task.worker()
        self._workers.append(worker)
        return worker

    def _get_worker(self) -> Worker:
        try:
            return self._spare.pop()
        except IndexError:
            return self._new_worker()

    def _finish(self, place: Place, outcome: Outcome) -> None:
        """Put what is left of a unit in its place."""
        children = place.children(outcome)
        place.nbytes = sum(map(size_of, outcome.columns))
        with self._lock:
            after = place.after
            for child in reversed(children):
                child.after = after
                after = child
                self._open.add(child)
            place.after = after
            place.outcome = outcome
            self._ahead += outcome.count
            self._waiting += place.nbytes
            self._busy -= 1
            if self._first is not None and self._is_urgent():
                self._to_hand_out.notify()
            if len(children) > 1:  # one of them is for the thread that is free now
                self._work_to_do.notify(len(children) - 1)
            missing = self._missing()
        if missing:
            self._start_threads(missing)

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
