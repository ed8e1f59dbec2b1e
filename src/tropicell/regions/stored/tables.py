"""Regions as Arrow tables, one row a region, and back.

The columns are made for queries: ``pattern_0``, ``pattern_1``, … (64 bits of the pattern each, the
first neuron in the lowest bits), ``x1``, ``x2``, … (the witness), ``bounded``, ``volume``,
``corners_x1``, …, ``corners_w`` (lists; 1 for a vertex, 0 for a ray) and ``facets`` (a list of
lines, see `tropicell.network.inequalities`). Where some inputs are enough, there are only these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tropicell.errors import require
from tropicell.regions.columns import Columns, PackedPatterns, Ragged

if TYPE_CHECKING:
    import pyarrow

#: What can be stored besides the patterns.
COLUMNS = ("witnesses", "bounded", "volumes", "corners", "facet_lines")

#: Rows that are compressed together; the usual choice of those who query such files.
ROW_GROUP = 122_880


def arrow(module: str = "pyarrow") -> Any:
    """The library for Arrow and Parquet."""
    return require(module, extra="arrow", why="a folder of regions")


def axes_of(inputs: Sequence[int] | int) -> list[str]:
    """The names of some inputs, or of so many: these count from 1."""
    return [f"x{k + 1}" for k in (range(inputs) if isinstance(inputs, int) else inputs)]


def to_table(
    parts: Sequence[Columns],
    wanted: Sequence[str] = COLUMNS,
    inputs: Sequence[int] | None = None,
) -> pyarrow.Table:
    """Batches of regions as one table; a column that one of them lacks is left out.

    If `inputs` are given, witnesses and corners have these coordinates alone: all others are 0, and
    regions are unbounded along directions that are not there (`tropicell.network.quotient`).
    """
    pa = arrow()
    words = _joined([part.packed.words for part in parts])
    found: dict[str, Any] = {f"pattern_{k}": _flat(words[:, k]) for k in range(words.shape[1])}
    joined = {
        name: _joined([getattr(part, name) for part in parts]) for name in Columns._fields[1:]
    }

    def has(name: str) -> bool:
        return name in wanted and joined[name] is not None

    if has("witnesses"):
        columns = joined["witnesses"].T
        axes = axes_of(len(columns) if inputs is None else inputs)
        found |= {axis: _flat(c) for axis, c in zip(axes, columns, strict=True)}
    if has("bounded"):
        found["bounded"] = joined["bounded"] if inputs is None else np.zeros(len(words), np.bool_)
    if has("volumes"):
        found["volume"] = joined["volumes"] if inputs is None else np.full(len(words), np.inf)
    if has("corners"):
        ends = _ends(joined["corner_counts"])
        axes = axes_of(joined["corners"].shape[1] - 1 if inputs is None else inputs)
        names = [*(f"corners_{axis}" for axis in axes), "corners_w"]
        for name, column in zip(names, joined["corners"].T, strict=True):
            found[name] = pa.ListArray.from_arrays(ends, _flat(column))
    if has("facet_lines"):
        lines = joined["facet_lines"].astype(np.int32, copy=False)
        found["facets"] = pa.ListArray.from_arrays(_ends(joined["facet_counts"]), lines)
    return pa.table(found)


def load_arrow() -> None:
    """Import what the first table needs, so that nobody waits for it in the middle of a search."""
    arrow("pyarrow").table({"x": np.zeros(1)})


def names_of(wanted: Sequence[str], inputs: Sequence[int], words: int) -> list[str]:
    """The names of the table's columns that hold the patterns and what is wanted."""
    names = [f"pattern_{k}" for k in range(words)]
    axes = axes_of(inputs)
    kinds = {
        "witnesses": axes,
        "bounded": ["bounded"],
        "volumes": ["volume"],
        "corners": [*(f"corners_{axis}" for axis in axes), "corners_w"],
        "facet_lines": ["facets"],
    }
    return names + [name for kind in wanted for name in kinds[kind]]


def from_table(
    table: pyarrow.Table, neurons: int, bits: int, inputs: Sequence[int]
) -> tuple[PackedPatterns, dict[str, Any]]:
    """Patterns, and the other columns that there are.

    Raises
    ------
    ValueError
        If the table is not one of regions of such a network.
    """
    width = PackedPatterns.words_for(neurons, bits)
    there = set(table.column_names)
    count = table.num_rows
    words = np.empty((count, width), np.uint64)
    for k in range(width):
        words[:, k] = _numbers(table, f"pattern_{k}", np.uint64)
    columns: dict[str, Any] = {}
    axes = axes_of(inputs)
    if set(axes) <= there:
        columns["witnesses"] = np.empty((count, len(axes)))
        for k, axis in enumerate(axes):
            columns["witnesses"][:, k] = _numbers(table, axis, np.float64)
    if "bounded" in there:
        columns["bounded"] = _numbers(table, "bounded", np.bool_)
    if "volume" in there:
        columns["volumes"] = _numbers(table, "volume", np.float64)
    if "corners_w" in there:
        names = [*(f"corners_{axis}" for axis in axes), "corners_w"]
        lists = [_lists(table, name, np.float64) for name in names]
        if any(not np.array_equal(lists[0].ends, column.ends) for column in lists[1:]):
            raise ValueError("the corners' coordinates are not of the same number")
        columns["corners"] = Ragged(
            np.stack([column.values for column in lists], axis=1), lists[0].ends
        )
    if "facets" in there:
        columns["facet_lines"] = _lists(table, "facets", np.int32)
    return PackedPatterns(words, neurons, bits), columns


def _joined(parts: Sequence[NDArray[Any] | None]) -> Any:
    found = [part for part in parts if part is not None]
    if len(found) < len(parts):
        return None
    return found[0] if len(found) == 1 else np.concatenate(found)


def _flat(column: NDArray[Any]) -> NDArray[Any]:
    return np.ascontiguousarray(column)


def _ends(counts: NDArray[np.int64]) -> NDArray[np.int32]:
    ends = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(counts, out=ends[1:])
    return ends


def _column(table: pyarrow.Table, name: str) -> Any:
    if name not in table.column_names:
        raise ValueError(f"there is no column {name!r}")
    column = table.column(name).combine_chunks()
    if column.null_count:
        raise ValueError(f"the column {name!r} has empty places")
    return column


def _numbers(table: pyarrow.Table, name: str, dtype: Any) -> NDArray[Any]:
    found = np.asarray(_column(table, name).to_numpy(zero_copy_only=False))
    if found.dtype != dtype:
        raise ValueError(f"the column {name!r} holds {found.dtype}, not {np.dtype(dtype)}")
    return found


def _lists(table: pyarrow.Table, name: str, dtype: Any) -> Ragged:
    column = _column(table, name)
    counts = column.value_lengths().to_numpy(zero_copy_only=False)
    values = np.asarray(column.flatten().to_numpy(zero_copy_only=False))
    if values.dtype != dtype:
        raise ValueError(f"the column {name!r} holds {values.dtype}, not {np.dtype(dtype)}")
    return Ragged.from_counts(values, counts)
