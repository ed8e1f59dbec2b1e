"""Several runs that share one enumeration, each in a thread of its own."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from tropicell.engines.batch import Columns, Run

#: Batches that may wait; a run that is ahead of the reader has to wait, so memory stays bounded.
_WAITING = 16
_SECONDS = 0.05


class SharedRun:
    """Runs that together find all regions; the kernels work without the GIL.

    Parameters
    ----------
    runs : sequence of Run
        Each finds regions that the others do not.
    """

    def __init__(self, runs: Sequence[Run]) -> None:
        self._runs = runs
        # Batches, and None for every thread that has ended.
        self._found: queue.Queue[Columns | None] = queue.Queue(_WAITING)
        self._busy = len(runs)
        self._stop = threading.Event()
        self._errors: list[BaseException] = []
        self._threads = [threading.Thread(target=self._work, args=(run,)) for run in runs]

    @property
    def count(self) -> int:
        return sum(run.count for run in self._runs)

    @property
    def complete(self) -> bool:
        return all(run.complete for run in self._runs)

    def batches(self) -> Iterator[Columns | None]:
        for thread in self._threads:
            thread.start()
        try:
            yield from self._until_all_are_done()
            if self._errors:
                raise self._errors[0]
        finally:
            self._stop.set()

    def rest(self) -> Iterator[Columns]:
        self._stop.set()
        yield from (batch for batch in self._until_all_are_done() if batch is not None)
        for run in self._runs:
            yield from run.rest()

    def _until_all_are_done(self) -> Iterator[Columns | None]:
        while self._busy or not self._found.empty():
            try:
                batch = self._found.get(timeout=_SECONDS)
                self._busy -= batch is None
                yield batch
            except queue.Empty:
                yield None

    def stats(self) -> dict[str, Any]:
        """Counters added up; of times the longest."""
        parts = [run.stats() for run in self._runs]
        total = {key: sum(part[key] for part in parts) for key in parts[0] if key != "seconds"}
        return {"seconds": max(part["seconds"] for part in parts), **total, "workers": len(parts)}

    def _work(self, run: Run) -> None:
        try:
            for batch in run.batches():
                if batch is not None:
                    self._found.put(batch)
                if self._stop.is_set():
                    return
        except BaseException as error:
            self._errors.append(error)
            self._stop.set()
        finally:
            self._found.put(None)
