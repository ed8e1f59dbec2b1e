"""Work on many rows, part by part, in threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import TypeVar

from tropicell._runtime.interruption import Halt, check, current, using
from tropicell._runtime.threads import ThreadPool
from tropicell.errors import InvalidInputError

T = TypeVar("T")


def check_workers(workers: int) -> None:
    """Refuse what is not a number of threads.

    Examples
    --------
    >>> check_workers(0)
    Traceback (most recent call last):
    tropicell.errors.InvalidInputError: workers must be a whole number from 1 on, not 0
    """
    if not (isinstance(workers, int) and workers >= 1):
        raise InvalidInputError(f"workers must be a whole number from 1 on, not {workers!r}")


def in_parts(work: Callable[[slice], None], count: int, workers: int, size: int) -> None:
    """Call `work` for rows 0 … size - 1, the next ones, and so on, in several threads.

    What is a part does not depend on the number of threads, nor does what a part gives.

    Parameters
    ----------
    work : callable
        Gets the rows as a slice, and keeps what it finds.
    count : int
        Number of rows.
    workers : int
        Number of threads, the calling one included.
    size : int
        Rows of a part.

    Examples
    --------
    >>> parts = []
    >>> in_parts(parts.append, 5, 1, 2)
    >>> parts
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    parts = [slice(start, min(start + size, count)) for start in range(0, count, size)]
    in_turn(work, parts, workers)


def in_turn(work: Callable[[T], None], items: Iterable[T], workers: int) -> None:
    """Call `work` for all items, in several threads: who is free takes the next one.

    Parameters
    ----------
    work : callable
        Gets an item. If it raises, or this thread is interrupted, nobody begins another one, and
        exact work and searches of the other threads end, too.
    items : iterable
        They are asked for one by one, by one thread at a time.
    workers : int
        Number of threads, the calling one included.

    Examples
    --------
    >>> squares = set()
    >>> in_turn(lambda number: squares.add(number**2), range(4), 2)
    >>> sorted(squares)
    [0, 1, 4, 9]
    """
    check_workers(workers)
    if isinstance(items, Sized):  # no more threads than there is something to do for
        workers = min(workers, max(1, len(items)))
    if workers == 1:
        for item in items:
            check()
            work(item)
        return
    left, asking, over = iter(items), threading.Lock(), threading.Event()
    halt = Halt(outer=current())

    def taken() -> Iterator[T]:
        """Items for one thread."""
        while True:
            with asking:
                if over.is_set():
                    return
                try:
                    item = next(left)
                except StopIteration:
                    return
            yield item

    def work_on() -> None:
        try:
            with using(halt):
                for item in taken():
                    check()
                    work(item)
        except BaseException:
            over.set()
            raise

    with ThreadPool(workers - 1) as pool:
        try:
            calls = [pool.submit(work_on) for _ in range(workers - 1)]
            work_on()
            for call in calls:
                call.result()
        except BaseException:
            over.set()
            halt.set()
            raise
