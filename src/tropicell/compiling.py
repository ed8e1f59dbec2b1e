"""Numba's `njit`, and a word to users who wait while kernels are compiled.

That time is not taken from any budget: clocks stand still.
"""

from __future__ import annotations

import sys
import threading
from contextlib import suppress
from typing import Any, cast

from numba import njit
from numba.core import event

from tropicell.interruption import clock

__all__ = ["njit"]

#: Seconds of compiling after which users are told what they wait for.
_PATIENCE = 1.5


class _Notice(event.Listener):
    """Says, once, that kernels of this package are compiled, if that takes long.

    Numba tells of what it compiles, not of what it loads from the disk, and compiles in one thread
    at a time.
    """

    def __init__(self) -> None:
        self._open = 0  # kernels within kernels
        self._timer = threading.Timer(0.0, lambda: None)
        self._said = False

    def on_start(self, given: Any) -> None:
        """A kernel is being compiled."""
        if not _is_ours(given):
            return
        self._open += 1
        if self._open == 1:
            clock.stop()
        if self._open == 1 and not self._said:
            self._timer = threading.Timer(_PATIENCE, self._say)
            self._timer.daemon = True
            with suppress(RuntimeError):  # where no more threads can be started
                self._timer.start()

    def on_end(self, given: Any) -> None:
        """It is compiled, or could not be."""
        if not _is_ours(given):
            return
        self._open -= 1
        if self._open == 0:
            clock.go_on()
            self._timer.cancel()

    def _say(self) -> None:
        self._said = True
        text = "compiling kernels, once after an installation; this takes some seconds …"
        print(f"tropicell: {text}", file=sys.stderr, flush=True)


def _is_ours(given: Any) -> bool:
    """Whether an event is of a kernel of this package, and not of a user's own."""
    return bool(given.data["dispatcher"].py_func.__module__.startswith(f"{__package__}."))


_NOTICE = _Notice()
cast(Any, event).register("numba:compile", _NOTICE)
