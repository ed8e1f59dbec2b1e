"""Threads that take tasks in turn, and never keep a program from ending."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, TypeVar

T = TypeVar("T")


class StartedThreads:
    """Threads that call a function, and start each other.

    Whoever starts a thread waits until it runs; with many threads that takes longer than a small
    search. The first one does not start others: what it does is needed first.

    Parameters
    ----------
    function : callable
        To be called once in every thread.
    count : int
        Number of threads.

    Examples
    --------
    >>> numbers = []
    >>> StartedThreads(lambda: numbers.append(1), 5).join()
    >>> sum(numbers)
    5
    """

    def __init__(self, function: Callable[[], None], count: int) -> None:
        self._function = function
        self._threads = [
            threading.Thread(target=self._run, args=(number,), daemon=True)
            for number in range(count)
        ]
        for thread in self._threads[:2]:
            thread.start()

    def join(self) -> None:
        """Wait until all have ended."""
        for thread in self._threads:  # who starts a thread comes before it
            if thread.ident is not None:
                thread.join()

    def _run(self, number: int) -> None:
        try:
            if number:
                for thread in self._threads[2 * number : 2 * number + 2]:
                    thread.start()
        except RuntimeError:  # no more threads can be started: these must do
            pass
        self._function()


class ThreadPool:
    """What `concurrent.futures.ThreadPoolExecutor` is, but with threads that nobody waits for.

    The standard library waits for its threads when Python ends. If Ctrl-C comes while one of them
    is being started, it does not know of it yet: nobody tells the thread to end, and the program
    waits for it for ever. These threads just end with the program.

    Parameters
    ----------
    workers : int
        Number of threads.

    Examples
    --------
    >>> with ThreadPool(2) as pool:
    ...     pool.map(abs, [-1, 2, -3])
    [1, 2, 3]
    """

    def __init__(self, workers: int) -> None:
        self._tasks: SimpleQueue[tuple[Future[Any], Callable[..., Any], tuple[Any, ...]] | None]
        self._tasks = SimpleQueue()
        self._workers = workers
        self._threads = StartedThreads(self._work, workers)

    def submit(self, function: Callable[..., T], *arguments: Any) -> Future[T]:
        """Call a function soon, in one of the threads."""
        future: Future[T] = Future()
        self._tasks.put((future, function, arguments))
        return future

    def map(self, function: Callable[..., T], *arguments: Iterable[Any]) -> list[T]:
        """What a function gives for each of the arguments, in order; the first error is raised."""
        futures = [self.submit(function, *each) for each in zip(*arguments, strict=True)]
        return [future.result() for future in futures]

    def shutdown(self) -> None:
        """Wait until all tasks are done, and end the threads."""
        for _ in range(self._workers):
            self._tasks.put(None)
        self._threads.join()

    def __enter__(self) -> ThreadPool:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is not None:
            self._forget()
        self.shutdown()

    def _forget(self) -> None:
        """Cancel what has not begun."""
        try:
            while (task := self._tasks.get_nowait()) is not None:
                task[0].cancel()
        except Empty:
            pass

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            future, function, arguments = task
            if future.set_running_or_notify_cancel():
                try:
                    result = function(*arguments)
                except BaseException as error:
                    future.set_exception(error)
                else:
                    future.set_result(result)
