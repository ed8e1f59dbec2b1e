"""Threads that take tasks in turn, and never keep a program from ending."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, TypeVar

T = TypeVar("T")


#: Seconds that a thread waits for something new to do before it ends.
_PATIENCE = 5.0


class _Helper(threading.Thread):
    """A thread that calls one function after the other, and waits in between."""

    def __init__(self, function: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self._function: Callable[[], None] | None = function
        self._called = threading.Lock()
        self._called.acquire()

    def call(self, function: Callable[[], None]) -> None:
        """Call a function: this thread was waiting."""
        self._function = function
        self._called.release()

    def run(self) -> None:
        while self._function is not None:
            function, self._function = self._function, None
            function()
            del function  # nothing that it needs is kept while this thread waits
            _waiting.append(self)
            if not self._called.acquire(timeout=_PATIENCE):
                try:
                    _waiting.remove(self)
                except ValueError:  # just now somebody has taken it
                    self._called.acquire()


#: Threads that have nothing to do; the last one has waited least.
_waiting: list[_Helper] = []

if hasattr(os, "register_at_fork"):  # threads are not there any more in a child
    os.register_at_fork(after_in_child=_waiting.clear)


def _call_in_thread(function: Callable[[], None]) -> None:
    try:
        helper = _waiting.pop()
    except IndexError:
        _Helper(function).start()
    else:
        helper.call(function)


class StartedThreads:
    """Calls of a function in threads of their own.

    Whoever starts a thread waits until it runs; with many threads that takes longer than a small
    search. So threads are used again, if they are soon needed; and new ones start each other.

    Parameters
    ----------
    function : callable
        To be called in every thread. It must not raise.

    Examples
    --------
    >>> numbers = []
    >>> threads = StartedThreads(lambda: numbers.append(1))
    >>> threads.start(5)
    >>> threads.join()
    >>> sum(numbers)
    5
    """

    def __init__(self, function: Callable[[], None]) -> None:
        self._function = function
        self._change = threading.Condition()
        self._asked = self._ended = 0
        self._begun: set[object] = set()
        self._given_up: set[object] = set()

    def start(self, count: int) -> None:
        """So many further calls.

        If only some threads can be started, these must do; if none can be, that is an error.
        """
        waiting = min(count, len(_waiting))
        for _ in range(waiting):
            self._ask_for(1)
        if waiting < count:
            # The first one does not start others: what it does is needed first.
            self._ask_for(1)
            with suppress(RuntimeError):
                self._ask_for(count - waiting - 1)

    def join(self) -> None:
        """Wait until all have ended."""
        with self._change:
            while self._ended < self._asked:
                self._change.wait()

    def _ask_for(self, calls: int) -> None:
        with self._change:
            self._asked += calls
        self._launch(calls)

    def _launch(self, calls: int) -> None:
        """Start a thread that makes one of so many calls, and lets others make the rest."""
        if not calls:
            return
        token = object()
        try:
            _call_in_thread(partial(self._run, token, calls - 1))
        except BaseException:  # Ctrl-C may have come when it was started already
            with self._change:
                if token not in self._begun:
                    self._given_up.add(token)
                    self._asked -= calls
            raise

    def _run(self, token: object, others: int) -> None:
        with self._change:
            if token in self._given_up:
                return
            self._begun.add(token)
        for part in others - others // 2, others // 2:
            with suppress(RuntimeError):  # no more threads can be started: these must do
                self._launch(part)
        try:
            self._function()
        finally:
            with self._change:
                self._ended += 1
                self._change.notify_all()


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
        self._threads = StartedThreads(self._work)
        self._threads.start(workers)

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
