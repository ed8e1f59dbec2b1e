"""What the kernels of both engines share that do with a unit all that is to be done, in one call.

Python could do most of it; but it would do so under its global lock, for which all threads wait,
and every call of a kernel gives the lock away and waits for it again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.jit import kernel

#: Why such a kernel ends, besides the reasons of the search: all is done; there is not enough room
#: to put the unit's nodes where the search wants them.
ENDED, TOO_SMALL = 100, 101

#: What is left of a unit becomes at most so many units.
MOST_CHILDREN = 16

#: Places of a kernel's results: number of groups, where they begin, and their weights (see
#: `cut_into_groups`); and for the half-spaces engine two numbers that say what is needed, and
#: whether the unit has no further regions.
GROUPS, NEEDED, COMPLETE, STARTS = 0, 1, 3, 4
WEIGHTS = STARTS + MOST_CHILDREN + 1
RESULT_SIZE = WEIGHTS + MOST_CHILDREN + 1

#: A weight is at most this.
HEAVIEST = 1e18


@kernel
def guessed_cells(lines: float, dimension: int, inside: float) -> float:
    """How many cells hyperplanes make of one that they all cross: a guess.

    1 + C(lines, 1) + C(lines, 2) p + … + C(lines, d) p^(d - 1): k hyperplanes that cross a cell
    need not meet inside, and p = `inside` is a factor for each but the first that they do. With
    p = 1 it is the most that there can be.
    """
    total, term = 1.0, 1.0
    for k in range(min(dimension, 24)):
        term = term * max(lines - k, 0.0) / (k + 1)
        total += term
        term *= inside
    return total


@kernel
def cut_into_groups(weights: Any, few: float, result: Any) -> None:
    """Cut a stack of nodes (the top one last) into groups of about equal weight, the top first.

    A weight is a guess of how many regions a node has. Sets the number of groups, where each
    begins, counted from the bottom, and their weights.
    """
    n = len(weights)
    total = 0.0
    for i in range(n):
        total += weights[i]
    parts = min(MOST_CHILDREN, max(1, int(min(total / few, 1e6))))
    count, before, group, mine = 0, 0.0, 0, 0.0
    for i in range(n - 1, -1, -1):
        number = min(int(before * parts / total), parts - 1)
        if number != group:
            result[STARTS + count] = i + 1
            result[WEIGHTS + count] = int(min(mine, HEAVIEST))
            count += 1
            group, mine = number, 0.0
        before += weights[i]
        mine += weights[i]
    result[STARTS + count] = 0
    result[WEIGHTS + count] = int(min(mine, HEAVIEST))
    result[GROUPS] = count + 1


# --- patterns -------------------------------------------------------------------------------------

_NONE, _ONE = np.uint64(0), np.uint64(1)

#: The lowest bit of each of eight bytes; eight bytes that are 0 or 1, times the other number, have
#: them as bits, the first one lowest, in the top byte.
_LOWEST, _GATHER = np.uint64(0x0101010101010101), np.uint64(0x0102040810204080)


def pattern_rows(count: int, neurons: int) -> NDArray[np.uint8]:
    """Room for unpacked patterns, a byte a neuron; a row has bytes for whole words of bits."""
    return np.empty((count, 64 * max(1, -(-neurons // 64))), np.uint8)


@kernel
def pack_pattern(pattern: Any, neurons: int, bits: int, words: Any) -> None:
    """Pack a pattern like `tropicell.regions.columns.PackedPatterns`.

    Bytes beyond the last neuron may be anything.
    """
    if bits > 1:
        for w in range(len(words)):
            words[w] = _NONE
        for j in range(neurons):
            for b in range(bits):
                if (pattern[j] >> b) & 1:
                    bit = j * bits + b
                    words[bit >> 6] |= _ONE << np.uint64(bit & 63)
        return
    eights, last = pattern.view(np.uint64), len(words) - 1
    for w in range(len(words)):
        word = _NONE
        for i in range(8):
            byte = ((eights[8 * w + i] & _LOWEST) * _GATHER) >> np.uint64(56)
            word |= byte << np.uint64(8 * i)
        words[w] = word
    tail = np.uint64(neurons - 64 * last)
    if tail < np.uint64(64):
        words[last] &= (_ONE << tail) - _ONE
