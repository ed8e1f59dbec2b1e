"""Cells that wait as plain arrays, and as the block of memory that the kernels read and write."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.memory import piece_of
from tropicell.engines.cells._state import FACET_AT, N_FACETS, TABLE
from tropicell.engines.cells._units import block_parts
from tropicell.engines.packed import Arrays, Packed
from tropicell.network.flat import FlatNetwork


def _seven(sizes: list[int]) -> tuple[int, int, int, int, int, int, int]:
    """The sizes in the head of a block."""
    records, corners, facets, conflicts, pieces, table, pattern = sizes
    return records, corners, facets, conflicts, pieces, table, pattern


class CellLayout:
    """See `tropicell.engines.packed.Layout`, and `_cells_units`."""

    def __init__(self, flat: FlatNetwork) -> None:
        self._flat = flat
        self._plane = flat.dimension == 2
        self._wide = 9 if self._plane else flat.dimension + 2

    def arrays(self, stack: Packed) -> Arrays:
        """The cells as plain arrays; all places in the records count from 0."""
        flat, words, wide = self._flat, stack.piece.words, self._wide
        sizes = words[stack.at : stack.at + 7].tolist()
        starts = [stack.at + start for start in block_parts(*_seven(sizes), wide)]

        def part(begin: int, end: int, width: int, start: int) -> NDArray[np.int64]:
            return words[start + width * begin : start + width * end].copy()

        records = part(stack.first, stack.last, 11, starts[0]).reshape(-1, 11)
        first, last = records[0].tolist(), records[-1].tolist()
        corners = first[2], last[2] + last[1]
        found: Arrays = {"conflicts": part(first[4], last[4] + last[3], 1, starts[6])}
        coordinates = part(*corners, wide, starts[1]).view(np.float64).reshape(-1, wide)
        tags = part(*corners, 1, starts[2])
        if self._plane:
            found |= {"poly": coordinates, "labels": tags}
        else:
            table = part(0, last[TABLE], wide, starts[4]).view(np.float64).reshape(-1, wide)
            found |= {
                "rays": coordinates,
                "tight": tags.view(np.uint64),
                "facets": part(first[FACET_AT], last[FACET_AT] + last[N_FACETS], 1, starts[3]),
                "table": table,
                "table_labels": part(0, last[TABLE], 1, starts[5]),
            }
            records[:, FACET_AT] -= first[FACET_AT]
        room, pieces, pattern = stack.piece.bytes, 8 * starts[7], 8 * starts[8]
        end = last[5] + flat.layer_width(last[0])
        found["pieces"] = room[pieces + first[5] : pieces + end].copy()
        found["pattern"] = room[pattern : pattern + flat.first_neuron(last[0])].copy()
        records[:, 2] -= first[2]
        records[:, 4] -= first[4]
        records[:, 5] -= first[5]
        found["records"] = records
        return found

    def packed(self, arrays: Arrays) -> Packed:
        """A block of its own for these cells, which were checked."""
        none = np.zeros(0, np.int64)
        records, pieces, pattern = arrays["records"], arrays["pieces"], arrays["pattern"]
        corners, tags = ("poly", "labels") if self._plane else ("rays", "tight")
        facets, table = arrays.get("facets", none), arrays.get("table", none)
        counted = (records, arrays[corners], facets, arrays["conflicts"], pieces, table, pattern)
        sizes = [len(part) for part in counted]
        starts = block_parts(*_seven(sizes), self._wide)
        piece = piece_of(8 * starts[-1])
        piece.words[: starts[0]] = 0
        piece.words[: len(sizes)] = sizes
        labels = arrays.get("table_labels", none)
        parts = (
            *(records, arrays[corners], arrays[tags], facets),
            *(table, labels, arrays["conflicts"], pieces, pattern),
        )
        for start, part in zip(starts, parts, strict=False):
            flat = np.ascontiguousarray(part).reshape(-1).view(np.uint8)
            piece.bytes[8 * start : 8 * start + len(flat)] = flat
        return Packed(self, piece, 0, 0, len(records))
