"""The threads of the package: one pool of them, which never keeps a program from ending."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from functools import partial
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
    """Call a function in a thread that waits, or in a new one: to start it takes longer."""
    try:
        helper = _waiting.pop()
    except IndexError:
        _Helper(function).start()
    else:
        helper.call(function)


class ThreadPool:
    """Calls of functions in threads that are used again by all pools, and that nobody waits for.

    The standard library waits for its threads when Python ends. If Ctrl-C comes while one of them
    is being started, it does not know of it yet: nobody tells the thread to end, and the program
    waits for it for ever. These threads just end with the program.

    Parameters
    ----------
    workers : int
        Calls that run at a time, at most; threads are started when there are calls for them. If
        only some threads can be started, these must do.

    Examples
    --------
    >>> with ThreadPool(2) as pool:
    ...     pool.map(abs, [-1, 2, -3])
    [1, 2, 3]
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._calls: deque[tuple[Future[Any], Callable[..., Any], tuple[Any, ...]]] = deque()
        self._change = threading.Condition()
        self._threads = 0  # that are at work, or about to begin

    def submit(self, function: Callable[..., T], *arguments: Any) -> Future[T]:
        """Call a function soon, in one of the threads.

        Raises
        ------
        RuntimeError
            If no thread can be started, and there is none.
        """
        future: Future[T] = Future()
        with self._change:
            self._calls.append((future, function, arguments))
            if self._threads >= self._workers:
                return future
            self._threads += 1
        begun: Future[None] = Future()
        try:
            _call_in_thread(partial(self._work, begun))
        except BaseException as error:  # Ctrl-C may have come when it was started already
            if begun.cancel():
                with self._change:
                    self._threads -= 1
                    self._change.notify_all()
                    if isinstance(error, RuntimeError) and self._threads:
                        return future
                    future.cancel()
            raise
        return future

    def map(self, function: Callable[..., T], *arguments: Iterable[Any]) -> list[T]:
        """What a function gives for each of the arguments, in order; the first error is raised."""
        futures = [self.submit(function, *each) for each in zip(*arguments, strict=True)]
        return [future.result() for future in futures]

    def join(self) -> None:
        """Wait until all calls have ended."""
        with self._change:
            while self._threads:
                self._change.wait()

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
        self.join()

    def _forget(self) -> None:
        """Cancel what has not begun."""
        with self._change:
            while self._calls:
                self._calls.popleft()[0].cancel()

    def _work(self, begun: Future[None]) -> None:
        if not begun.set_running_or_notify_cancel():
            return
        while True:
            with self._change:
                if not self._calls:
                    self._threads -= 1
                    self._change.notify_all()
                    return
                future, function, arguments = self._calls.popleft()
            if future.set_running_or_notify_cancel():
                try:
                    result = function(*arguments)
                except BaseException as error:
                    future.set_exception(error)
                else:
                    future.set_result(result)
            del future, function, arguments
