"""Times of several contestants that take turns, so that a busy moment hits all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

#: Seconds that one measurement takes at least, if a single call is shorter.
_LEAST = 0.05
#: Threads of libraries that wait for more work actively give up after that.
_PAUSE = 0.05


def take_turns(
    functions: Mapping[str, Callable[[], object]], *, rounds: int = 7, seconds: float = 6.0
) -> dict[str, float]:
    """Seconds that one call of each function takes: the best of some rounds.

    Parameters
    ----------
    functions : mapping
        Ready to be called; they are called once before they are measured.
    rounds : int
        At most so many.
    seconds : float
        No round begins after that time.
    """
    calls = {name: _calls(function) for name, function in functions.items()}
    best = dict.fromkeys(functions, float("inf"))
    started = time.perf_counter()
    for turn in range(rounds):
        if turn > 1 and time.perf_counter() - started > seconds:
            break
        for name, function in functions.items():
            time.sleep(_PAUSE)
            best[name] = min(best[name], _time(function, calls[name]))
    return best


def _calls(function: Callable[[], object]) -> int:
    """How often to call a function for one measurement."""
    function()
    once = min(_time(function, 1) for _ in range(3))
    return max(1, int(_LEAST / max(once, 1e-7)))


def _time(function: Callable[[], object], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        function()
    return (time.perf_counter() - start) / calls
