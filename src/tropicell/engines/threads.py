"""Units of work in threads: taken in order, handed out in order, whatever the number of threads.

Threads work at the front: of all open units each takes the one whose regions come first. So few
units are open at a time, and few regions wait for those before them.
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

from tropicell.engines.batch import Columns, size_of
from tropicell.engines.units import Outcome, Task, Unit, Worker

#: Bytes of regions that may wait for those before them, or for the reader; then only the very
#: first unit is worked on, so that memory stays bounded.
MOST_WAITING = 256 * 2**20

#: Seconds after which somebody who waits looks whether it is time to stop.
_SECONDS = 0.05


@dataclass(eq=False, slots=True)
class Place:
    """A unit in the order of all: open, running, or done (`outcome`); `after` is the next one.

    Keys of open and running places are in the order of the places. The keys of what is left of a
    unit begin with the unit's key.
    """

    unit: Unit
    key: tuple[int, ...]
    after: Place | None = None
    outcome: Outcome | None = None
    nbytes: int = 0


class UnitRun:
    """One enumeration by units; see `tropicell.engines.batch.Run`.

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

    Attributes
    ----------
    count : int
        Regions handed out so far.
    complete : bool
        Whether these are all.

    Examples
    --------
    >>> from tropicell.engines.cells import CellTask
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
    ) -> None:
        self._task = task
        self._n = workers
        start = [task.root()] if units is None else units
        places = [Place(unit, (k,)) for k, unit in enumerate(start)]
        for place, after in pairwise(places):
            place.after = after
        self._first = places[0] if places else None
        self._open = [(place.key, place) for place in places]  # a heap
        self._stop = False  # no lock: a signal handler may set it at any time
        self._lock = threading.RLock()
        self._work_to_do = threading.Condition(self._lock)
        self._first_is_done = threading.Condition(self._lock)
        self._ahead = 0  # regions that are done and not yet handed out
        self._waiting = 0  # bytes of them
        self._ready: deque[Columns] = deque()
        self._threads: list[threading.Thread] = []
        self._workers: list[Worker] = []
        self._errors: list[BaseException] = []
        self._halted = False
        self._started = time.perf_counter()
        self._deadline = None if max_seconds is None else self._started + max_seconds
        self._seconds = 0.0
        self.count = count
        self.complete = False

    @property
    def found(self) -> int:
        """Regions found so far, those included that wait to be handed out."""
        return self.count + self._ahead

    def halt(self) -> None:
        """Stop soon: workers give back what they have."""
        self._stop = True

    def _stopped(self) -> bool:
        if self._deadline is not None and time.perf_counter() > self._deadline:
            self._stop = True
        return self._stop

    def batches(self) -> Iterator[Columns | None]:
        """Go on, and hand out regions in order; None is a chance to look at the clock."""
        try:
            yield from self._alone() if self._n == 1 else self._together()
        finally:
            self._seconds = time.perf_counter() - self._started
        self.complete = self._first is None and not self._halted

    def finish(self) -> Iterator[Columns]:
        """Stop and wait; hand out what is done at the front, so that only whole units remain."""
        self.join()
        yield from self._hand_out()

    def rest(self) -> Iterator[Columns]:
        """What was found and not yet handed out, after the run was broken off."""
        self.join()
        yield from self._take_ready()
        place, self._first = self._first, None
        self._open, self._ahead, self._waiting = [], 0, 0
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
        again: tuple[int, ...] | None = None
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
        for thread in self._threads:
            thread.join()

    def stats(self) -> dict[str, Any]:
        """Counters of all workers added up."""
        total: dict[str, Any] = {"seconds": self._seconds, "workers": self._n}
        for worker in self._workers:
            for key, value in worker.stats().items():
                total[key] = total.get(key, 0) + value
        return total

    def _limit(self, unit: Unit) -> int:
        return unit.limit * self._task.grain

    # --- one thread ---------------------------------------------------------------------------

    def _alone(self) -> Iterator[Columns | None]:
        worker = self._new_worker()
        while self._open and not self._stopped():
            place = heapq.heappop(self._open)[1]
            outcome = worker.run(place.unit, self._limit(place.unit), self._stopped)
            self._finish(place, outcome)
            if outcome.left is None:
                return
            yield from self._hand_out()
            yield None

    # --- several threads ----------------------------------------------------------------------

    def _together(self) -> Iterator[Columns | None]:
        try:
            for _ in range(self._n):
                thread = threading.Thread(target=self._work, daemon=True)
                thread.start()
                self._threads.append(thread)
            while not self._stopped():
                with self._lock:
                    if self._first is None or self._errors:
                        break
                    if self._first.outcome is None:
                        self._first_is_done.wait(_SECONDS)
                yield from self._hand_out()
                yield None
            if self._errors:
                raise self._errors[0]
        finally:
            self._stop = True  # whatever ended it: nobody reads on
            with self._lock:
                self._work_to_do.notify_all()

    def _work(self) -> None:
        try:
            worker: Worker | None = None
            while (place := self._take()) is not None:
                worker = worker or self._new_worker()
                self._finish(place, worker.run(place.unit, self._limit(place.unit), self._stopped))
        except BaseException as error:
            self._errors.append(error)
            self._stop = True
            with self._lock:
                self._work_to_do.notify_all()
                self._first_is_done.notify_all()

    def _take(self) -> Place | None:
        """The first unit that nobody has; None if there is nothing to do any more."""
        with self._lock:
            while not self._stopped():
                if self._first is None:
                    return None
                if self._open and (self._waiting < MOST_WAITING or self._open[0][1] is self._first):
                    return heapq.heappop(self._open)[1]
                self._work_to_do.wait(_SECONDS)
        return None

    # --- the order ----------------------------------------------------------------------------

    def _new_worker(self) -> Worker:
        worker = self._task.worker()
        self._workers.append(worker)
        return worker

    def _finish(self, place: Place, outcome: Outcome) -> None:
        """Put what is left of a unit in its place."""
        left = outcome.left or []
        # The parent is done, so that an only child can have its key: no chain of keys grows long.
        keys = [place.key] if len(left) == 1 else [(*place.key, k) for k in range(len(left))]
        children = [Place(unit, key) for unit, key in zip(left, keys, strict=True)]
        place.nbytes = sum(map(size_of, outcome.columns))
        with self._lock:
            after = place.after
            for child in reversed(children):
                child.after = after
                after = child
                heapq.heappush(self._open, (child.key, child))
            place.after = after
            place.outcome = outcome
            self._ahead += outcome.count
            self._waiting += place.nbytes
            if place is self._first:
                self._first_is_done.notify()
            if len(children) > 1:  # one of them is for the thread that is free now
                self._work_to_do.notify(len(children) - 1)

    def _hand_out(self) -> Iterator[Columns]:
        """The regions of all units at the front that are done."""
        with self._lock:
            place, full = self._first, self._waiting >= MOST_WAITING
            while place is not None and (outcome := place.outcome) is not None:
                if outcome.left is None:
                    break
                self._ready.extend(outcome.columns)
                self._ahead -= outcome.count
                self._waiting -= place.nbytes
                self.count += outcome.count
                done, place = place, place.after
                done.after = done.outcome = None  # a thread may keep the place for a while
            self._first = place
            if place is None or full:
                self._work_to_do.notify_all()
        yield from self._take_ready()

    def _take_ready(self) -> Iterator[Columns]:
        while self._ready:
            yield self._ready.popleft()
