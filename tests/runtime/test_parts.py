"""Rows in parts, in threads: all of them, once, and none after an error."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from interpreter import switching_often
from tropicell._runtime.parts import in_parts, in_turn
from tropicell._runtime.threads import ThreadPool


@pytest.mark.parametrize("workers", [1, 4])
def test_every_row_is_worked_on_once(workers: int) -> None:
    done: list[slice] = []
    in_parts(done.append, 23, workers, 5)
    assert sorted(i for part in done for i in range(part.start, part.stop)) == list(range(23))
    in_parts(done.append, 0, workers, 5)
    assert len(done) == 5


def test_no_more_threads_than_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    make = ThreadPool.__init__
    monkeypatch.setattr(
        ThreadPool, "__init__", lambda self, count: asked.append(count) or make(self, count)
    )
    in_parts(lambda part: None, 10, 50, 4)
    assert asked == [2]  # three parts, one of them for the calling thread


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("kind", [IndexError, KeyboardInterrupt])
def test_after_an_error_no_part_is_begun(workers: int, kind: type[BaseException]) -> None:
    begun: list[int] = []
    together = threading.Barrier(workers)

    def work(part: slice) -> None:
        begun.append(part.start)
        together.wait(60)  # each thread has one
        raise kind

    with pytest.raises(kind):
        in_parts(work, 1000, workers, 1)
    assert len(begun) == workers


@pytest.mark.parametrize("workers", [1, 6])
def test_items_are_made_by_one_thread_at_a_time(workers: int) -> None:
    def items() -> Iterator[int]:  # a generator that two threads ask at once raises ValueError
        for k in range(2000):
            sum(range(50))
            yield k

    done: list[int] = []
    with switching_often():
        in_turn(done.append, items(), workers)
    assert sorted(done) == list(range(2000))


@pytest.mark.parametrize("workers", [1, 3])
def test_an_error_of_the_items_is_raised(workers: int) -> None:
    def items() -> Iterator[int]:
        yield 1
        raise IndexError("no second one")

    done: list[int] = []
    with pytest.raises(IndexError, match="no second one"):
        in_turn(done.append, items(), workers)
    assert done == [1]


def test_the_calling_thread_works_too() -> None:
    threads: set[int] = set()
    together = threading.Barrier(3)

    def work(item: int) -> None:
        threads.add(threading.get_ident())
        together.wait(60)  # each thread has one

    in_turn(work, range(3), 3)
    assert len(threads) == 3
    assert threading.get_ident() in threads
