"""Progress bars on standard error, as wide as the terminal is at the moment.

Those that nobody asked for appear after a while: what is soon done prints nothing.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from tqdm import tqdm

from tropicell._runtime.interruption import Halt, using

#: Seconds before an estimate is worth its time, and before most bars appear.
_PATIENCE = 2.0

#: Seconds before the bar of a search appears, unless it was asked for.
_SOON = 0.5


def bar_of(total: int, unit: str, show: bool | None, *, patience: float | None = None) -> Any:
    """A bar on standard error for work of known size, which appears after a while.

    Parameters
    ----------
    total : int
    unit : str
    show : bool or None
        None: if standard error is a terminal.
    patience : float, optional
        Seconds before it appears; default: two.

    Examples
    --------
    >>> with bar_of(10, " points", False) as bar:
    ...     _ = bar.update(10)
    """
    shown = sys.stderr.isatty() if show is None else show
    delay = _PATIENCE if patience is None else patience
    return tqdm(total=total, unit=unit, disable=not shown, delay=delay, dynamic_ncols=True)


def each(items: Iterable[Any], unit: str, show: bool) -> Any:
    """Some items one after the other, with a bar that appears after a while.

    Examples
    --------
    >>> list(each([1, 2], " things", False))
    [1, 2]
    """
    return tqdm(items, unit=unit, disable=not show, delay=_PATIENCE, dynamic_ncols=True)


class RegionBar:
    """Counts regions on standard error.

    Parameters
    ----------
    show : bool
    guess : callable
        About how many regions there are in all; asked once, after two seconds, in a thread beside
        the search, which never waits for it. It ends with the bar.
    at_once : bool
        Whether it was asked for, and appears at once.

    Examples
    --------
    >>> bar = RegionBar(False, lambda: 100)
    >>> bar.update(10)
    >>> bar.close()
    """

    def __init__(self, show: bool, guess: Callable[[], int], *, at_once: bool = False) -> None:
        delay = 0.0 if at_once else _SOON
        self._bar = tqdm(unit=" regions", delay=delay, dynamic_ncols=True) if show else None
        self._guess: Callable[[], int] | None = guess
        self._guessed: list[int] = []
        self._halt = Halt()
        self._started = time.perf_counter()
        self._stirred = threading.Event()
        self._clock: threading.Thread | None = None
        if self._bar is not None:
            self._clock = threading.Thread(target=self._stir, args=(self._bar,), daemon=True)
            self._clock.start()

    def _stir(self, bar: Any) -> None:
        """Let the time go on in the bar of a search that has found nothing yet."""
        while not self._stirred.wait(_PATIENCE):
            bar.refresh()

    def update(self, found: int) -> None:
        """So many regions were found until now."""
        if self._bar is None:
            return
        if found:
            self._stirred.set()
        self._bar.update(found - self._bar.n)
        if self._guess is not None and time.perf_counter() - self._started > _PATIENCE:
            guess, self._guess = self._guess, None
            threading.Thread(target=self._ask, args=(guess,), daemon=True).start()
        if self._guessed:
            self._bar.total = self._guessed.pop()
        if self._bar.total is not None and found > self._bar.total:
            self._bar.total = None  # the guess was too low: better none than a bar that is full

    def _ask(self, guess: Callable[[], int]) -> None:
        with using(self._halt), suppress(Exception):  # without a guess the bar is just shorter
            self._guessed.append(guess())

    def close(self) -> None:
        """Leave the bar as it is."""
        self._halt.set()
        self._stirred.set()
        if self._clock is not None:
            self._clock.join()
        if self._bar is not None:
            self._bar.close()
