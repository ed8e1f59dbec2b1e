"""A hash table of patterns that forgets: find, append, drop the oldest, multiply; compiled.

The table holds slots + 1, and 0 where it is free; collisions go to the next place. Slots form
a doubly linked list from the newest to the oldest; ``ends`` is (newest, oldest, size).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime._hashing import _hash
from tropicell._runtime.arrays import FloatArray
from tropicell._runtime.jit import kernel

Words = NDArray[np.uint64]
Slots = NDArray[np.int32]
NEWEST, OLDEST, SIZE = 0, 1, 2


@kernel(allocates=True)
def _home(query: Words, size: int) -> np.int64:  # pragma: no cover - compiled
    """Where in a table of that size a pattern would stand if there were no collisions."""
    value = _hash(query)
    return np.int64((value ^ (value >> np.uint64(32))) & np.uint64(size - 1))


@kernel(allocates=True)
def _place(table: Slots, words: Words, query: Words) -> np.int64:  # pragma: no cover - compiled
    """Where a pattern stands in the table, or the free place where it would."""
    place = _home(query, len(table))
    while table[place] > 0:
        slot = table[place] - 1
        same = True
        for i in range(len(query)):
            same &= words[slot, i] == query[i]
        if same:
            break
        place = (place + 1) & (len(table) - 1)
    return place


@kernel(allocates=True)
def _take_out(table: Slots, words: Words, slot: int) -> None:  # pragma: no cover - compiled
    """Remove a slot from the table; what was pushed on by a collision moves back."""
    mask = len(table) - 1
    hole = _place(table, words, words[slot])
    place = (hole + 1) & mask
    while table[place] > 0:
        home = _home(words[table[place] - 1], len(table))
        # It may stand anywhere from its home on: move it unless its home lies behind the hole.
        if ((place - home) & mask) >= ((place - hole) & mask):
            table[hole] = table[place]
            hole = place
        place = (place + 1) & mask
    table[hole] = 0


@kernel(allocates=True)
def _unlink(newer: Slots, older: Slots, ends: Slots, slot: int) -> None:  # pragma: no cover
    if newer[slot] >= 0:
        older[newer[slot]] = older[slot]
    else:
        ends[NEWEST] = older[slot]
    if older[slot] >= 0:
        newer[older[slot]] = newer[slot]
    else:
        ends[OLDEST] = newer[slot]


@kernel(allocates=True)
def _link(newer: Slots, older: Slots, ends: Slots, slot: int) -> None:  # pragma: no cover
    """Make a slot the newest."""
    newer[slot] = -1
    older[slot] = ends[NEWEST]
    if ends[NEWEST] >= 0:
        newer[ends[NEWEST]] = slot
    else:
        ends[OLDEST] = slot
    ends[NEWEST] = slot


@kernel(allocates=True)
def find(
    table: Slots,
    words: Words,
    newer: Slots,
    older: Slots,
    ends: Slots,
    queries: Words,
    renew: bool,
    slots: Slots,
) -> int:  # pragma: no cover - compiled
    """Slot of every pattern, or -1; returns how many are there. `renew` makes them the newest."""
    count = 0
    for i in range(len(queries)):
        slot = table[_place(table, words, queries[i])] - 1
        slots[i] = slot
        if slot >= 0:
            count += 1
            if renew and ends[NEWEST] != slot:
                _unlink(newer, older, ends, slot)
                _link(newer, older, ends, slot)
    return count


@kernel(allocates=True)
def append(
    table: Slots,
    words: Words,
    maps: FloatArray,
    newer: Slots,
    older: Slots,
    ends: Slots,
    new_words: Words,
    new_maps: FloatArray,
    replace: bool,
) -> None:  # pragma: no cover - compiled
    """Add patterns with their maps. If all slots are in use the oldest go, or nothing is added."""
    for i in range(len(new_words)):
        if table[_place(table, words, new_words[i])] > 0:
            continue
        if ends[SIZE] < len(words):
            slot = ends[SIZE]
            ends[SIZE] += 1
        elif replace:
            slot = ends[OLDEST]
            _take_out(table, words, slot)
            _unlink(newer, older, ends, slot)
        else:
            return
        words[slot] = new_words[i]
        maps[slot] = new_maps[i]
        _link(newer, older, ends, slot)
        table[_place(table, words, words[slot])] = slot + 1


@kernel(allocates=True)
def fill(table: Slots, words: Words, size: int) -> None:  # pragma: no cover - compiled
    """Enter the first slots into an empty table."""
    for slot in range(size):
        table[_place(table, words, words[slot])] = slot + 1


@kernel(allocates=True)
def from_oldest(newer: Slots, ends: Slots) -> Slots:  # pragma: no cover - compiled
    """All slots, the oldest first."""
    slots = np.empty(ends[SIZE], np.int32)
    slot = ends[OLDEST]
    for i in range(ends[SIZE]):
        slots[i] = slot
        slot = newer[slot]
    return slots


@kernel(sums="in any order", allocates=True)
def multiply(
    maps: FloatArray, slots: NDArray[np.signedinteger], points: FloatArray, values: FloatArray
) -> None:  # pragma: no cover - compiled
    """The values of maps at points; points whose slot is negative are left out."""
    outputs, inputs = maps.shape[1], maps.shape[2] - 1
    for i in range(len(slots)):
        if slots[i] < 0:
            continue
        for o in range(outputs):
            row = maps[slots[i], o]
            total = row[inputs]
            for k in range(inputs):
                total += row[k] * points[i, k]
            values[i, o] = total
