"""Ctrl-C and SIGTERM end a search, and what was found is kept."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


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
