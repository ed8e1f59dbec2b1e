"""Users hear what they wait for while kernels are compiled, and only then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tropicell import compiling


def kernel_of(module: str) -> Callable[[int], int]:
    """A new kernel, not compiled yet."""

    def plus_one(n: int) -> int:
        return n + 1

    plus_one.__module__ = module
    kernel: Any = compiling.njit(plus_one)
    return kernel


def heard(work: Callable[[], object], capsys: pytest.CaptureFixture[str]) -> int:
    """How often something is said during some work."""
    capsys.readouterr()
    work()
    return capsys.readouterr().err.count("tropicell: compiling")


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing has been said yet, and will be at once."""
    monkeypatch.setattr(compiling._NOTICE, "_said", False)
    monkeypatch.setattr(compiling, "_PATIENCE", 0.0)


@pytest.mark.usefixtures("_impatient")
def test_compiling_is_announced_once(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = kernel_of("tropicell.first"), kernel_of("tropicell.second")
    assert heard(lambda: first(1), capsys) == 1
    assert heard(lambda: second(1), capsys) == 0


@pytest.mark.usefixtures("_impatient")
def test_kernels_of_others_are_not_announced(capsys: pytest.CaptureFixture[str]) -> None:
    kernel = kernel_of("tropicellular.automata")
    assert heard(lambda: kernel(1), capsys) == 0


@pytest.mark.usefixtures("_impatient")
def test_what_is_there_or_takes_no_time_is_not_announced(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "_PATIENCE", 3600.0)
    kernel = kernel_of("tropicell.quick")
    assert heard(lambda: kernel(1), capsys) == 0
    compiling._NOTICE._timer.join(60)
    assert not compiling._NOTICE._timer.is_alive()  # nobody waits for nothing
    monkeypatch.setattr(compiling, "_PATIENCE", 0.0)
    assert heard(lambda: kernel(1), capsys) == 0


@pytest.mark.usefixtures("_impatient")
def test_compiling_needs_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(compiling.threading.Timer, "start", refuse)
    assert kernel_of("tropicell.alone")(1) == 2
