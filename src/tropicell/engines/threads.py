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
        self._found: queue.Queue[Columns] = queue.Queue(_WAITING)
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
            while any(thread.is_alive() for thread in self._threads) or not self._found.empty():
                try:
                    yield self._found.get(timeout=_SECONDS)
                except queue.Empty:
                    yield None
            if self._errors:
                raise self._errors[0]
        finally:
            self._stop.set()

    def rest(self) -> Iterator[Columns]:
        self._stop.set()
        while any(thread.is_alive() for thread in self._threads) or not self._found.empty():
            try:
                yield self._found.get(timeout=_SECONDS)
            except queue.Empty:
                continue
        for run in self._runs:
            yield from run.rest()

    def stats(self) -> dict[str, Any]:
        """Counters added up; of times the longest."""
        parts = [run.stats() for run in self._runs]
        total = {key: sum(part[key] for part in parts) for key in parts[0] if key != "seconds"}
        return {"seconds": max(part["seconds"] for part in parts), **total, "workers": len(parts)}

    def _work(self, run: Run) -> None:
        try:
            for batch in run.batches():
                if batch is not None:
                    self._hand_over(batch)
                if self._stop.is_set():
                    return
        except BaseException as error:
            self._errors.append(error)
            self._stop.set()

    def _hand_over(self, batch: Columns) -> None:
        while True:
            try:
                self._found.put(batch, timeout=_SECONDS)
                return
            except queue.Full:
                continue
