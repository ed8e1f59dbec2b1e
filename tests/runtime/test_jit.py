"""Kernels that are called with the same types again and again."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from tropicell._runtime.jit import Entry


def test_only_the_first_call_looks_at_types() -> None:
    looked = []

    class Watched:
        """A compiled function that notes when it is asked to look."""

        def __init__(self) -> None:
            self._function: Any = njit(lambda x: x.sum())
            self.overloads = self._function.overloads

        def __call__(self, *arguments: Any) -> Any:
            looked.append(arguments)
            return self._function(*arguments)

    entry = Entry(Watched())
    assert [entry(np.full(n, 2.0)) for n in range(4)] == [0, 2, 4, 6]
    assert len(looked) == 1


def test_a_kernel_for_several_types_looks_every_time() -> None:
    function: Any = njit(lambda x: x + x)
    assert function(1) == 2
    entry = Entry(function)
    assert entry(1.5) == 3.0
    assert entry(2) == 4
