"""When work has to end: budgets of time, Ctrl-C and SIGTERM, in one mechanism.

A `Halt` is a moment and a flag. Whoever works under one (`using`) asks at short intervals whether
it is over: Python code by `check`, which raises a `TimeLimitError`; compiled code by a look at the
flag's memory. Nothing that was decided before is lost, and nothing is taken for decided that was
cut off: the error comes from the middle of it.
"""

from __future__ import annotations

import _thread
import math
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import wait
from contextlib import contextmanager
from time import perf_counter
from types import FrameType
from typing import Any, TypeVar, cast

import numpy as np

from tropicell._runtime.threads import ThreadPool
from tropicell.errors import InvalidInputError, TimeLimitError

T = TypeVar("T")

#: Seconds after which somebody who waits for another thread looks at the clock.
_LOOK = 0.02

#: Seconds after which an alarm that was not heard rings again.
_AGAIN = 0.2


class _Clock:
    """Seconds, without those in which kernels are compiled: nobody can set a budget for these.

    Attributes
    ----------
    uncounted : float
        What is to be taken off `time.perf_counter`; without end while kernels are compiled.
    """

    def __init__(self) -> None:
        self.uncounted = 0.0
        self._before = 0.0
        self._since = 0.0

    def __call__(self) -> float:
        if self.uncounted == math.inf:
            return self._since - self._before
        return perf_counter() - self.uncounted

    def stop(self) -> None:
        """Stop the clock: kernels are being compiled, and that time is nobody's."""
        self._before, self._since = self.uncounted, perf_counter()
        self.uncounted = math.inf

    def go_on(self) -> None:
        """Let the clock run again: the kernels are compiled."""
        self.uncounted = self._before + perf_counter() - self._since


clock = _Clock()


class Halt:
    """A moment at which work has to end, and a flag by which it has to end at once.

    Parameters
    ----------
    max_seconds : float, optional
        From now on; default: no limit.
    outer : Halt, optional
        What is over with it, too.

    Attributes
    ----------
    flag : ndarray of uint8, shape (1,)
        For compiled code: 1 once somebody has seen that it is over.

    Examples
    --------
    >>> halt = Halt()
    >>> halt.is_over()
    False
    >>> halt.set()
    >>> halt.is_over()
    True
    """

    __slots__ = ("_deadline", "_outer", "_over", "_unlimited", "flag")

    def __init__(self, max_seconds: float | None = None, outer: Halt | None = None) -> None:
        self.flag = np.zeros(1, np.uint8)
        self._unlimited = max_seconds is None and outer is None
        self._deadline = math.inf if max_seconds is None else clock() + max_seconds
        self._outer = outer
        self._over = False

    def set(self) -> None:
        """It is over; without a lock, so that signal handlers may do this."""
        self._over = True
        self.flag[0] = 1

    def is_over(self) -> bool:
        """Whether work has to end."""
        if self._unlimited or self._over:
            return self._over
        if perf_counter() - clock.uncounted > self._deadline or (
            self._outer is not None and self._outer.is_over()
        ):
            self.set()
        return self._over


def seconds_left() -> float:
    """Seconds until the work of this thread has to end; for solvers that have a limit of their own.

    Examples
    --------
    >>> seconds_left()
    inf
    """
    halt, left = _here.halt, math.inf
    while halt is not None:
        left = min(left, halt._deadline - clock())
        halt = halt._outer
    return max(left, 0.0)


class _Here(threading.local):
    """What the work of this thread goes by."""

    halt: Halt | None = None


_here = _Here()


def current() -> Halt | None:
    """What the work of this thread goes by, if anything."""
    return _here.halt


def check() -> None:
    """Go on, unless the work of this thread has to end.

    Raises
    ------
    TimeLimitError
        If it has.
    """
    halt = _here.halt
    if halt is not None and halt.is_over():
        raise TimeLimitError("the time is over")


class using:  # noqa: N801 - a context manager that is entered for every unit of work
    """In here, the work of this thread goes by a `Halt`; None: it goes on whatever happens.

    Not for generators that hand something out in between: the caller would go by it, too.
    """

    __slots__ = ("_before", "_halt")

    def __init__(self, halt: Halt | None) -> None:
        self._halt = halt

    def __enter__(self) -> None:
        self._before = _here.halt
        _here.halt = self._halt

    def __exit__(self, *_: object) -> None:
        _here.halt = self._before


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Limit the time of whatever is done in here, in this thread.

    Searches end and give what they have found, as with ``max_seconds``. All other exact work
    (neighbours, merged regions, volumes, extrema, certificates …) has no use for half an answer:
    there, `TimeLimitError` is raised.

    Parameters
    ----------
    seconds : float or None
        From now on; None: no limit.

    Examples
    --------
    >>> from tropicell import Network, enumerate_regions
    >>> network = Network.mlp([[[1.0], [-1.0]], [[1.0, 2.0]]])
    >>> with time_limit(60):
    ...     len(enumerate_regions(network).neighbours)
    1
    """
    if seconds is not None and not seconds >= 0:
        raise InvalidInputError(f"a time limit must not be negative, got {seconds}")
    try:
        with using(Halt(seconds, current())):
            yield
    except TimeLimitError as error:
        if seconds is None or current() is not None:
            raise
        raise TimeLimitError(_over(seconds)) from error


def _over(seconds: float) -> str:
    return f"the time limit of {seconds:g} second{'' if seconds == 1 else 's'} is over"


@contextmanager
def alarm(seconds: float | None) -> Iterator[None]:
    """The same for a whole program, which calls code that knows nothing of limits.

    To be used in the main thread, by programs and not by the library: code that never asks is
    interrupted as by Ctrl-C.
    """
    if seconds is None:
        yield
        return
    deadline = clock() + seconds + _LOOK  # those who ask are earlier
    rung, done = threading.Event(), threading.Event()

    def ring() -> None:
        while (left := deadline - clock()) > 0:
            if done.wait(min(max(left, _LOOK), 1.0)):
                return
        rung.set()
        _interrupt()
        while not done.wait(_AGAIN):  # where nobody can hand on an exception, it gets lost
            _interrupt()

    bell = threading.Thread(target=ring, daemon=True)
    bell.start()
    try:
        with time_limit(seconds):
            yield
    except KeyboardInterrupt:
        if not rung.is_set():
            raise
        raise TimeLimitError(_over(seconds)) from None
    finally:
        try:
            done.set()
            bell.join()
        except KeyboardInterrupt:
            if not rung.is_set():  # it rang too late to matter
                raise


def _interrupt() -> None:
    """Interrupt the main thread as Ctrl-C does."""
    if hasattr(signal, "pthread_kill"):  # reaches it also while it waits for something
        signal.pthread_kill(cast(int, threading.main_thread().ident), signal.SIGINT)
    else:
        _thread.interrupt_main()


def beside(function: Callable[[], T], halt: Halt) -> T:
    """Call a function in another thread, and look at the clock until it is done.

    For compiled code that runs for long: it sees the flag, which nobody else would set while this
    thread waits for the code to return, and signals reach this thread at once.

    Parameters
    ----------
    function : callable
        Must end soon when `halt` is over.
    halt : Halt
        It is set, too, if this thread is interrupted.

    Examples
    --------
    >>> beside(lambda: 1 + 1, Halt())
    2
    """

    def work() -> T:
        with using(halt):
            return function()

    call = ThreadPool(1).submit(work)
    try:
        while wait([call], _LOOK).not_done:
            halt.is_over()
    except BaseException:
        halt.set()
        wait([call])
        raise
    return call.result()


@contextmanager
def stopping(halt: Callable[[str], None]) -> Iterator[None]:
    """In here, the first Ctrl-C or SIGTERM calls `halt` with its name; a second one is as always.

    Only in the main thread, and only where nobody else has asked for these signals. What was
    there before is restored.

    Parameters
    ----------
    halt : callable
        Must return at once.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    usual: dict[signal.Signals, Any] = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGTERM: signal.SIG_DFL,
    }
    mine = [number for number, handler in usual.items() if signal.getsignal(number) is handler]

    def restore() -> None:
        for number in mine:
            signal.signal(number, usual[number])

    def handle(number: int, _: FrameType | None) -> None:
        restore()
        halt(signal.Signals(number).name)

    for number in mine:
        signal.signal(number, handle)
    try:
        yield
    finally:
        restore()
