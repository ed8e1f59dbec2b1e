"""Work on many rows, part by part, in threads."""

from __future__ import annotations

from collections.abc import Callable

from tropicell.errors import InvalidInputError
from tropicell.thread_pool import ThreadPool


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
        Number of threads; with 1 the calling thread does it.
    size : int
        Rows of a part.

    Examples
    --------
    >>> parts = []
    >>> in_parts(parts.append, 5, 1, 2)
    >>> parts
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    check_workers(workers)
    parts = [slice(start, min(start + size, count)) for start in range(0, count, size)]
    threads = min(workers, len(parts))
    left = iter(parts)  # who is free takes the next one

    def work_on() -> None:
        try:
            for part in left:
                work(part)
        except BaseException:
            parts.clear()  # nobody begins another one
            raise

    if threads <= 1:
        work_on()
        return
    with ThreadPool(threads) as pool:
        try:
            for task in [pool.submit(work_on) for _ in range(threads)]:
                task.result()
        except BaseException:
            parts.clear()
            raise
