"""Threads that take tasks: answers in order, errors, and programs that end."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tropicell
from children import run_python
from tropicell._runtime import threads as thread_pool
from tropicell._runtime.threads import ThreadPool


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


@pytest.mark.parametrize("workers", [1, 3])
def test_answers_come_in_order(workers: int) -> None:
    before = threading.active_count()
    with ThreadPool(workers) as pool:
        assert pool.map(divmod, range(20), [7] * 20) == [divmod(n, 7) for n in range(20)]
        assert pool.submit(len, "four").result() == 4
    assert threading.active_count() <= before + workers


def test_threads_that_can_not_be_started_are_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    start, left = threading.Thread.start, iter(range(3))

    def three_times(thread: threading.Thread) -> None:
        if next(left, None) is None:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", three_times)
    monkeypatch.setattr(thread_pool, "_waiting", [])
    calls: list[int] = []
    over = threading.Event()

    def work() -> None:
        calls.append(threading.get_ident())
        over.wait(60)  # so that nobody has time for a second call

    pool = ThreadPool(9)
    for _ in range(9):
        pool.submit(work)
    wait_until(lambda: len(calls) == 3)
    over.set()
    pool.join()
    assert len(calls) == 9
    assert len(set(calls)) == 3


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
from tropicell._runtime.threads import ThreadPool

start = threading.Thread.start

def interrupted(thread):
    start(thread)
    raise KeyboardInterrupt  # as if Ctrl-C came now

threading.Thread.start = interrupted
ThreadPool(2).submit(threading.Event().wait)
"""


def test_a_program_ends_even_if_it_is_interrupted_while_a_thread_starts() -> None:
    done = run_python("-c", INTERRUPTED, check=False)
    assert done.returncode != 0
    assert "KeyboardInterrupt" in done.stderr


def test_the_package_uses_no_other_threads_that_are_waited_for() -> None:
    """Those of `concurrent.futures` are: after a Ctrl-C at a bad moment, for ever."""
    for file in Path(tropicell.__file__).parent.rglob("*.py"):
        if file.parts[-2:] != ("_runtime", "threads.py"):
            assert "ThreadPoolExecutor" not in file.read_text("utf-8"), file


def test_threads_are_used_again_and_keep_nothing() -> None:
    class Thing:
        pass

    def threads_of(count: int) -> set[int]:
        seen: set[int] = set()
        all_there = threading.Barrier(count)

        def look() -> None:
            all_there.wait(60)
            seen.add(threading.get_ident())

        with ThreadPool(count) as pool:
            for _ in range(count):
                pool.submit(look)
        return seen

    thing = Thing()
    gone = weakref.ref(thing)
    with ThreadPool(3) as pool:
        pool.map(id, [thing] * 3)
    del thing, pool
    first = threads_of(4)
    for _ in range(100):  # a thread is free a moment after it has ended its work
        if first & threads_of(4):
            break
    else:
        raise AssertionError("all threads are new ones")
    wait_until(lambda: gone() is None)


def test_threads_that_nobody_needs_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_pool, "_PATIENCE", 0.01)
    seen: list[threading.Thread] = []
    all_there = threading.Barrier(3)

    def look() -> None:
        all_there.wait(60)
        seen.append(threading.current_thread())

    monkeypatch.setattr(thread_pool, "_waiting", [])  # new ones
    with ThreadPool(3) as pool:
        for _ in range(3):
            pool.submit(look)
    for thread in seen:
        thread.join(60)
        assert not thread.is_alive()
    assert thread_pool._waiting == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no os.fork here")
def test_a_forked_process_has_threads_of_its_own() -> None:
    code = """
import os
from tropicell._runtime.threads import ThreadPool
with ThreadPool(3) as pool:
    pool.map(abs, range(9))
child = os.fork()
if child == 0:
    with ThreadPool(3) as pool:
        os._exit(pool.map(abs, [-7])[0])
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert run_python("-W", "ignore", "-c", code).stdout.split() == ["7"]


def test_a_thread_whose_start_was_interrupted_is_waited_for_if_it_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started, let_go = threading.Event(), threading.Event()
    calls: list[str] = []

    def work() -> None:
        started.set()
        let_go.wait(60)
        calls.append("done")

    call = thread_pool._call_in_thread

    def interrupted(function: Any) -> None:
        call(function)
        assert started.wait(60)
        raise KeyboardInterrupt

    monkeypatch.setattr(thread_pool, "_call_in_thread", interrupted)
    pool = ThreadPool(2)
    with pytest.raises(KeyboardInterrupt):
        pool.submit(work)
    let_go.set()
    pool.join()
    assert calls == ["done"]
