"""Units of work as arrays and JSON, for checkpoints and for other machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tropicell.engines.units import Arrays, Task, Unit


def units_to_arrays(task: Task, units: Sequence[Unit]) -> tuple[list[dict[str, Any]], Arrays]:
    """Descriptions of units for JSON, and all their arrays under names of their own."""
    arrays: Arrays = {}
    described = []
    for k, unit in enumerate(units):
        entry, mine = task.describe(unit)
        arrays |= {f"u{k}.{name}": array for name, array in mine.items()}
        described.append(entry)
    return described, arrays


def units_from_arrays(
    task: Task, described: Sequence[dict[str, Any]], arrays: Mapping[str, Any]
) -> list[Unit]:
    """The units again, checked before a kernel sees them.

    Raises
    ------
    ValueError
        If they are damaged.
    """
    stacks: list[Arrays] = [{} for _ in described]
    for name, array in arrays.items():
        number, _, column = name.partition(".")
        if number[:1] == "u" and number[1:].isdecimal() and int(number[1:]) < len(stacks):
            stacks[int(number[1:])][column] = array
    try:
        return [task.restored(entry, stack) for entry, stack in zip(described, stacks, strict=True)]
    except (
        KeyError, ValueError, TypeError, IndexError, AttributeError, AssertionError, ArithmeticError
    ) as error:  # fmt: skip
        raise ValueError(repr(error)) from None
