"""What the kernels of both engines share that do with a unit all that is to be done, in one call.

Python could do most of it; but it would do so under its global lock, for which all threads wait,
and every call of a kernel gives the lock away and waits for it again.
"""

from __future__ import annotations

from typing import Any

from tropicell._runtime.jit import kernel

#: Steps of what a kernel does with a unit: put its nodes on the stack, search, write columns of
#: regions, write what is left.
PUT, RUN, COLUMNS, STACK = 1, 2, 4, 8

#: Why such a kernel ends, besides the reasons of the search: all is done; the stack is too small
#: for the unit; there is no room for columns, or for what is left.
ENDED, TOO_SMALL, COLUMNS_FULL, BLOCK_FULL = 100, 101, 102, 103

#: What is left of a unit becomes at most so many units.
MOST_CHILDREN = 16

#: Places of a kernel's results: bytes of what is left, number of groups, number of lines of facets,
#: where groups begin, and their weights.
SIZE, GROUPS, LINES, STARTS = 0, 1, 2, 3
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
