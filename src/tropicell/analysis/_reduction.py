"""Kernels for homology: an acyclic matching by coreductions, and what it leaves of a complex.

Cells of all dimensions are numbered together, by dimension. A pair (a, b) is a coreduction if a is
the only face of b that is left: both can be taken away without changing homology. Where there is no
such pair, a cell of the smallest dimension that is left is kept as *critical*. The boundary of a
critical cell in terms of others follows the pairs back, from the last one taken away to the first.
"""

from __future__ import annotations

from typing import Any

from tropicell._runtime.jit import kernel

#: What became of a cell.
ALIVE, CRITICAL, LOWER, UPPER = 0, 1, 2, 3


@kernel
def match(
    starts: Any, order: Any, group_of: Any, faces: Any, cofaces: Any, state: Any, room: Any
) -> int:
    """Match the cells of each group, group after group.

    Parameters
    ----------
    starts : ndarray
        Where each group begins in `order`, and the end.
    order : ndarray
        The cells, group by group, and by dimension in each of them.
    group_of : ndarray
        The group of each cell. Faces of a cell are in its group, or in one before.
    faces, cofaces : tuple
        The faces of each cell (ends, numbers), and the cells that it is a face of.
    state : tuple
        Of each cell: what became of it, its partner, and when.
    room : tuple
        Of each cell: the number of faces that are left, and whether it waits; and a queue.

    Returns
    -------
    int
        How many cells are critical.
    """
    face_ends, face = faces
    coface_ends, coface = cofaces
    status, partner, when = state
    left, waits, queue = room
    critical, clock = 0, 0
    for g in range(len(starts) - 1):
        head, tail = 0, 0
        for i in range(starts[g], starts[g + 1]):
            c = order[i]
            n = 0
            for j in range(face_ends[c - 1] if c else 0, face_ends[c]):
                n += group_of[face[j]] == g
            left[c] = n
            waits[c] = n == 1
            if n == 1:
                queue[tail] = c
                tail += 1
        at = starts[g]
        while True:
            if head < tail:
                b = queue[head]
                head += 1
                waits[b] = False
                if status[b] != ALIVE or left[b] != 1:
                    continue
                a = -1
                for j in range(face_ends[b - 1] if b else 0, face_ends[b]):
                    if group_of[face[j]] == g and status[face[j]] == ALIVE:
                        a = face[j]
                status[a], status[b] = LOWER, UPPER
                partner[a], partner[b] = b, a
                when[a], when[b] = clock, clock + 1
                clock += 2
                first, second = a, b
            else:
                head, tail = 0, 0
                while at < starts[g + 1] and status[order[at]] != ALIVE:
                    at += 1
                if at == starts[g + 1]:
                    break
                first = order[at]
                second = -1
                status[first], when[first] = CRITICAL, clock
                clock += 1
                critical += 1
            for turn in range(2):
                x = first if turn == 0 else second
                if x < 0:
                    continue
                for j in range(coface_ends[x - 1] if x else 0, coface_ends[x]):
                    y = coface[j]
                    if group_of[y] != g or status[y] != ALIVE:
                        continue
                    left[y] -= 1
                    if left[y] == 1 and not waits[y]:
                        waits[y] = True
                        queue[tail] = y
                        tail += 1
    return critical


@kernel(inner=True)
def _push(heap: Any, size: int, value: int) -> int:
    i = size
    heap[i] = value
    while i and heap[(i - 1) >> 1] < heap[i]:
        heap[i], heap[(i - 1) >> 1] = heap[(i - 1) >> 1], heap[i]
        i = (i - 1) >> 1
    return size + 1


@kernel(inner=True)
def _pop(heap: Any, size: int) -> int:
    """Take the largest number away: it is then behind the others."""
    size -= 1
    heap[0], heap[size] = heap[size], heap[0]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] > heap[child]:
            child += 1
        if heap[child] <= heap[i]:
            break
        heap[i], heap[child] = heap[child], heap[i]
        i = child
    return size


@kernel
def trace(cell: int, faces: Any, state: Any, cell_at: Any, room: Any, found: Any) -> int:
    """The boundary of a critical cell in terms of critical cells.

    Parameters
    ----------
    cell : int
    faces : tuple
        The faces of each cell: ends, numbers, signs.
    state : tuple
        See `match`.
    cell_at : ndarray
        Which cell was taken away at a time.
    room : tuple
        A factor for each time, all of them 0; whether a time waits; a heap of times.
    found : tuple
        Gets critical cells, and their factors.

    Returns
    -------
    int
        How many there are; -1: there was no room, or a factor became too large.
    """
    ends, face, signs = faces
    status, partner, when = state
    factor, waits, heap = room
    cells, factors = found
    size, n = 0, 0
    for j in range(ends[cell - 1] if cell else 0, ends[cell]):
        t = when[face[j]]
        factor[t] += signs[j]
        if not waits[t]:
            waits[t] = True
            size = _push(heap, size, t)
    good = True
    while size:
        size = _pop(heap, size)
        t = heap[size]
        waits[t] = False
        value = factor[t]
        factor[t] = 0
        if value == 0 or not good:
            continue
        a = cell_at[t]
        if status[a] == CRITICAL:
            if n == len(cells):
                good = False
                continue
            cells[n], factors[n] = a, value
            n += 1
        elif status[a] == LOWER:
            b = partner[a]
            own = 0
            for j in range(ends[b - 1] if b else 0, ends[b]):
                if face[j] == a:
                    own = signs[j]
            for j in range(ends[b - 1] if b else 0, ends[b]):
                if face[j] == a:
                    continue
                s = when[face[j]]
                factor[s] -= value * own * signs[j]
                if abs(factor[s]) > 2**40:
                    good = False
                if not waits[s]:
                    waits[s] = True
                    size = _push(heap, size, s)
    return n if good else -1


@kernel
def join_edges(ends: Any, faces: Any, parent: Any) -> None:
    """Join the vertices of all edges; the smaller number stands for both."""
    for edge in range(len(ends)):
        begin, end = ends[edge - 1] if edge else 0, ends[edge]
        if end - begin < 2:
            continue
        i, j = faces[begin], faces[end - 1]
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        while parent[j] != j:
            parent[j] = parent[parent[j]]
            j = parent[j]
        if i < j:
            parent[j] = i
        else:
            parent[i] = j
    for i in range(len(parent)):
        parent[i] = parent[parent[i]]
