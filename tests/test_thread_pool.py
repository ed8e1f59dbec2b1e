"""Threads that take tasks: answers in order, errors, and programs that end."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import tropicell
from children import run_python
from tropicell.thread_pool import StartedThreads, ThreadPool


@pytest.mark.parametrize("workers", [1, 3])
def test_answers_come_in_order(workers: int) -> None:
    with ThreadPool(workers) as pool:
        assert pool.map(divmod, range(20), [7] * 20) == [divmod(n, 7) for n in range(20)]
        assert pool.submit(len, "four").result() == 4
    assert threading.active_count() < 20


def test_threads_that_can_not_be_started_are_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    start, left = threading.Thread.start, iter(range(3))

    def three_times(thread: threading.Thread) -> None:
        if next(left, None) is None:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", three_times)
    calls: list[int] = []
    StartedThreads(lambda: calls.append(threading.get_ident()), 9).join()
    assert len(calls) == 3


def test_an_error_is_raised() -> None:
    with ThreadPool(2) as pool, pytest.raises(ZeroDivisionError):
        pool.map(divmod, [1, 1], [1, 0])


def test_after_an_error_what_has_not_begun_is_cancelled() -> None:
    begun, cancelled = threading.Event(), threading.Event()
    futures = []

    def first() -> bool:
        begun.set()
        return cancelled.wait(60)

    def break_off() -> None:
        with ThreadPool(1) as pool:
            futures.extend([pool.submit(first), pool.submit(first)])
            futures[1].add_done_callback(lambda _: cancelled.set())
            assert begun.wait(60)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        break_off()
    assert futures[0].result(60)
    assert futures[1].cancelled()


INTERRUPTED = """
import threading
from tropicell.thread_pool import ThreadPool

class Interrupted(threading.Thread):
    def start(self):
        super().start()
        raise KeyboardInterrupt  # as if Ctrl-C came now

threading.Thread = Interrupted
ThreadPool(2)
"""


def test_a_program_ends_even_if_it_is_interrupted_while_a_thread_starts() -> None:
    done = run_python("-c", INTERRUPTED, check=False)
    assert done.returncode != 0
    assert "KeyboardInterrupt" in done.stderr


def test_the_package_uses_no_other_threads_that_are_waited_for() -> None:
    """Those of `concurrent.futures` are: after a Ctrl-C at a bad moment, for ever."""
    for file in Path(tropicell.__file__).parent.rglob("*.py"):
        if file.name != "thread_pool.py":
            assert "ThreadPoolExecutor" not in file.read_text("utf-8"), file
