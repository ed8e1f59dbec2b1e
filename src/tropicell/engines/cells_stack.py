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
from tropicell.engines.units import Arrays, Unit, groups

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
    """Empty the stack: its cells as units, those on top first. They share one copy of it."""
    top = int(state[TOP])
    if not top:
        return []
    used = records[:top].copy()
    places = _PLANE if isinstance(stack, PlaneStack) else _CONE
    last = used[-1].tolist()
    arrays = {
        name: getattr(stack, name)[: last[at] + last[size]].copy()
        for name, (at, size) in places.items()
    }
    arrays["pieces"] = stack.patterns[: last[5] + program.layer_width(last[0])].copy()
    if isinstance(stack, ConeStack):
        arrays["table"] = stack.table[: last[TABLE]].copy()
        arrays["table_labels"] = stack.table_labels[: last[TABLE]].copy()
    arrays["pattern"] = pattern[: program.first_neuron(last[0])].copy()
    lines, layers = used[:, 3].copy(), used[:, 0].copy()
    units = [
        Unit(generation, _part(program, arrays, places, used[part]), doubtful=doubtful)
        for part in groups(lines, layers, program.dimension)
    ]
    state[[TOP, CORNERS, CONFLICTS, PATTERNS, FACETS]] = 0
    return units


def _part(
    program: Program,
    arrays: Arrays,
    places: dict[str, tuple[int, int]],
    records: NDArray[np.int64],
) -> Arrays:
    """Some cells that lie on top of each other; all places in the records count from 0."""
    first, last = records[0].tolist(), records[-1].tolist()
    offset = np.zeros(records.shape[1], np.int64)
    part: Arrays = {}
    for name, (at, size) in places.items():
        part[name] = arrays[name][first[at] : last[at] + last[size]]
        offset[at] = first[at]
    part["pieces"] = arrays["pieces"][first[5] : last[5] + program.layer_width(last[0])]
    offset[5] = first[5]
    part["pattern"] = arrays["pattern"][: program.first_neuron(last[0])]
    if "table" in arrays:
        part["table"] = arrays["table"][: last[TABLE]]
        part["table_labels"] = arrays["table_labels"][: last[TABLE]]
    part["records"] = records - offset
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
