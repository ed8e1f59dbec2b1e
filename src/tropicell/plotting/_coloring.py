"""A greedy colouring of the region graph, compiled; see `tropicell.plotting.colors`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.jit import kernel


@kernel
def choose(
    order: NDArray[np.int64],
    starts: NDArray[np.int64],
    beside: NDArray[np.int64],
    checksums: NDArray[np.int64],
    palette: int,
    taken: NDArray[np.int64],
    numbers: NDArray[np.int64],
) -> None:  # pragma: no cover - compiled
    """Give every region, in some order, a number that none of its neighbours has yet.

    Parameters
    ----------
    order : ndarray
        The regions.
    starts, beside : ndarray
        The neighbours of region i are ``beside[starts[i] : starts[i + 1]]``.
    checksums : ndarray
        By which a region chooses among the numbers of the palette that are free.
    palette : int
        Numbers that are taken if one of them is free.
    taken : ndarray, shape (palette + most neighbours + 1,)
        Room, all -1.
    numbers : ndarray
        Gets the numbers; all -1.
    """
    for i in order:
        for k in range(starts[i], starts[i + 1]):
            if numbers[beside[k]] >= 0:
                taken[numbers[beside[k]]] = i
        free = 0
        for number in range(palette):
            free += taken[number] != i
        if free > 0:
            left = checksums[i] % free
            for number in range(palette):
                if taken[number] != i:
                    if left == 0:
                        numbers[i] = number
                        break
                    left -= 1
        else:
            number = palette
            while taken[number] == i:
                number += 1
            numbers[i] = number
