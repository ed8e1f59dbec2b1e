"""Units of work in threads: taken in order, handed out in order, whatever the number of threads."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tropicell.engines.batch import Columns
from tropicell.engines.units import Outcome, Task, Unit, Worker

#: Finished units that may wait for the reader, for each thread; then threads wait, so that
#: memory stays bounded.
_AHEAD = 4
_SECONDS = 0.05


@dataclass(eq=False)
class Place:
    """A unit in the order of all: open, running (`taken`), or done (`outcome`)."""

    unit: Unit
    parent: Place | None = None
    taken: bool = False
    outcome: Outcome | None = None


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
        self._order = [Place(unit) for unit in ([task.root()] if units is None else units)]
        self._stop = False  # no lock: a signal handler may set it at any time
        self._changed = threading.Condition()
        self._done = 0  # places that are done and not yet handed out
        self._ahead = 0  # regions in them
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
        self.complete = not self._order and not self._halted

    def finish(self) -> Iterator[Columns]:
        """Stop and wait; hand out what is done at the front, so that only whole units remain."""
        self.join()
        yield from self._hand_out()

    def rest(self) -> Iterator[Columns]:
        """What was found and not yet handed out, after the run was broken off."""
        self.join()
        yield from self._take_ready()
        places, self._order, self._done, self._ahead = self._order, [], 0, 0
        for place in places:
            if place.outcome is not None:
                self.count += place.outcome.count
                yield from place.outcome.columns
                self._halted |= place.outcome.left is None
            else:
                self._halted = True
        self.complete = not self._halted

    def left_to_do(self) -> list[Unit]:
        """What gives all regions that are not handed out yet, in order.

        A unit that is done and waits is to be done again, so its children do not count.
        """
        again: set[Place] = set()
        units = []
        with self._changed:
            for place in self._order:
                if place.parent not in again:
                    units.append(place.unit)
                if place.parent in again or place.outcome is not None:
                    again.add(place)
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
        while self._order and not self._stopped():
            place = self._order[0]
            if place.outcome is None:
                place.taken = True
                outcome = worker.run(place.unit, self._limit(place.unit), self._stopped)
                self._finish(place, outcome)
            if place.outcome is not None and place.outcome.left is None:
                return
            yield from self._hand_out()
            yield None

    # --- several threads ----------------------------------------------------------------------

    def _together(self) -> Iterator[Columns | None]:
        if not self._threads:
            self._threads = [
                threading.Thread(target=self._work, daemon=True) for _ in range(self._n)
            ]
            for thread in self._threads:
                thread.start()
        try:
            while not self._stopped():
                with self._changed:
                    if not self._order or self._errors:
                        break
                    if self._order[0].outcome is None:
                        self._changed.wait(_SECONDS)
                yield from self._hand_out()
                yield None
            if self._errors:
                raise self._errors[0]
        finally:
            with self._changed:
                self._changed.notify_all()
            if self._errors or not self._order:
                self._stop = True

    def _work(self) -> None:
        try:
            worker = self._new_worker()
            while (place := self._take()) is not None:
                self._finish(place, worker.run(place.unit, self._limit(place.unit), self._stopped))
        except BaseException as error:
            self._errors.append(error)
            self._stop = True
            with self._changed:
                self._changed.notify_all()

    def _take(self) -> Place | None:
        """The first unit that nobody has; None if there is nothing to do any more."""
        with self._changed:
            while not self._stop:
                if not self._order:
                    return None
                for index, place in enumerate(self._order):
                    if not place.taken:
                        if index and self._done >= _AHEAD * self._n:
                            break
                        place.taken = True
                        return place
                self._changed.wait(_SECONDS)
        return None

    # --- the order ----------------------------------------------------------------------------

    def _new_worker(self) -> Worker:
        worker = self._task.worker()
        self._workers.append(worker)
        return worker

    def _finish(self, place: Place, outcome: Outcome) -> None:
        with self._changed:
            place.outcome = outcome
            self._done += 1
            self._ahead += outcome.count
            if outcome.left:
                at = self._order.index(place) + 1
                self._order[at:at] = [Place(unit, place) for unit in outcome.left]
            self._changed.notify_all()

    def _hand_out(self) -> Iterator[Columns]:
        """The regions of all units at the front that are done."""
        with self._changed:
            n = 0
            for place in self._order:
                outcome = place.outcome
                if outcome is None or outcome.left is None:
                    break
                place.parent = place.outcome = None  # its children know it, and must not keep it
                self._ready.extend(outcome.columns)
                self._ahead -= outcome.count
                self.count += outcome.count
                n += 1
            del self._order[:n]
            self._done -= n
            self._changed.notify_all()
        yield from self._take_ready()

    def _take_ready(self) -> Iterator[Columns]:
        while self._ready:
            yield self._ready.popleft()
