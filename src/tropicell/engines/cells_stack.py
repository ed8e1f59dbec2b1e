"""The kernels' stacks of cells as plain arrays: taken apart into units, and put back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell.engines import _cells_buffers as buffers
from tropicell.engines._cells_state import (
    CONFLICTS,
    CORNERS,
    FACET_AT,
    FACETS,
    N_FACETS,
    PATTERNS,
    TABLE,
    TOP,
    ConeStack,
    PlaneStack,
)
from tropicell.engines.program import Program
from tropicell.engines.units import Arrays, Unit, estimates, groups

Stack = PlaneStack | ConeStack

#: For each kind of stack, its arrays with the places (in a record) of where a cell's part begins
#: and how long it is.
_PLANE = {"poly": (2, 1), "labels": (2, 1), "conflicts": (4, 3)}
_CONE = {"rays": (2, 1), "tight": (2, 1), "facets": (FACET_AT, N_FACETS), "conflicts": (4, 3)}


def take(
    program: Program,
    stack: Stack,
    records: NDArray[np.int64],
    pattern: NDArray[np.uint8],
    state: NDArray[np.int64],
    generation: int,
    doubtful: bool,
) -> list[Unit]:
    """Empty the stack: its cells as units, those on top first."""
    used = records[: int(state[TOP])]
    weights = estimates(used[:, 3], used[:, 0], program.dimension)
    units = [
        Unit(generation, _part(program, stack, used[part], pattern), doubtful=doubtful)
        for part in groups(weights, generation)
    ]
    state[[TOP, CORNERS, CONFLICTS, PATTERNS, FACETS]] = 0
    return units


def _part(
    program: Program, stack: Stack, records: NDArray[np.int64], pattern: NDArray[np.uint8]
) -> Arrays:
    """Some cells that lie on top of each other; all places in the records count from 0."""
    first, last = records[0], records[-1]
    layer = int(last[0])
    records = records.copy()
    part: Arrays = {"pattern": pattern[: program.first_neuron(layer)].copy()}
    places = _PLANE if isinstance(stack, PlaneStack) else _CONE
    for name, (at, size) in places.items():
        part[name] = getattr(stack, name)[first[at] : last[at] + last[size]].copy()
    end = int(last[5]) + program.layer_width(layer)
    part["pieces"] = stack.patterns[first[5] : end].copy()
    if isinstance(stack, ConeStack):
        part["table"] = stack.table[: last[TABLE]].copy()
        part["table_labels"] = stack.table_labels[: last[TABLE]].copy()
    for at in {at for at, _ in places.values()} | {5}:
        records[:, at] -= first[at]
    part["records"] = records
    return part


def put(
    program: Program, stack: Any, records: NDArray[np.int64], part: Arrays, state: NDArray[np.int64]
) -> tuple[Any, NDArray[np.int64]]:
    """Fill the empty stack with the cells of a unit; the stack and records may become larger."""
    plane = isinstance(stack, PlaneStack)
    used = part["records"]
    names = [*(_PLANE if plane else _CONE), *([] if plane else ["table", "table_labels"])]
    wanted = {name: part[name] for name in names} | {"patterns": part["pieces"]}
    while any(len(getattr(stack, name)) < len(a) for name, a in wanted.items()):
        stack = buffers.grown(stack)
    while len(records) < len(used) + 2:
        records = buffers.twice(records)
    for name, array in wanted.items():
        getattr(stack, name)[: len(array)] = array
    records[: len(used)] = used
    last = used[-1]
    state[TOP] = len(used)
    state[CORNERS] = last[2] + last[1]
    state[CONFLICTS] = last[4] + last[3]
    state[PATTERNS] = last[5] + program.layer_width(int(last[0]))
    state[FACETS] = 0 if plane else last[FACET_AT] + last[N_FACETS]
    return stack, records
