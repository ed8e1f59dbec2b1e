"""Cells that wait as plain arrays, and as the block of memory that the kernels read and write."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.memory import piece_of
from tropicell.engines.cells._state import (
    CONFLICT_AT,
    CORNER_AT,
    FACET_AT,
    LAYER,
    N_CONFLICTS,
    N_CORNERS,
    N_FACETS,
    PIECES_AT,
    POLYGON_SIZE,
    RECORD_SIZE,
    TABLE_END,
)
from tropicell.engines.cells._units import BlockParts, BlockSizes, block_parts
from tropicell.engines.packed import Arrays, Packed
from tropicell.network.flat import Program


class CellLayout:
    """See `tropicell.engines.packed.Layout`, and `_units`."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._plane = program.dimension == 2
        self._wide = POLYGON_SIZE if self._plane else program.dimension + 2

    def arrays(self, stack: Packed) -> Arrays:
        """The cells as plain arrays; all places in the records count from 0."""
        program, words, wide = self._program, stack.piece.words, self._wide
        sizes = BlockSizes(*words[stack.at : stack.at + len(BlockSizes._fields)].tolist())
        starts = BlockParts(*(stack.at + start for start in block_parts(sizes, wide)))

        def part(begin: int, end: int, width: int, start: int) -> NDArray[np.int64]:
            return words[start + width * begin : start + width * end].copy()

        records = part(stack.first, stack.last, RECORD_SIZE, starts.records)
        records = records.reshape(-1, RECORD_SIZE)
        first, last = records[0].tolist(), records[-1].tolist()
        corners = first[CORNER_AT], last[CORNER_AT] + last[N_CORNERS]
        conflicts = first[CONFLICT_AT], last[CONFLICT_AT] + last[N_CONFLICTS]
        found: Arrays = {"conflicts": part(*conflicts, 1, starts.conflicts)}
        coordinates = part(*corners, wide, starts.corners).view(np.float64).reshape(-1, wide)
        tags = part(*corners, 1, starts.tags)
        if self._plane:
            found |= {"poly": coordinates, "labels": tags}
        else:
            end = last[TABLE_END]
            facets = first[FACET_AT], last[FACET_AT] + last[N_FACETS]
            found |= {
                "rays": coordinates,
                "tight": tags.view(np.uint64),
                "facets": part(*facets, 1, starts.facets),
                "table": part(0, end, wide, starts.table).view(np.float64).reshape(-1, wide),
                "table_labels": part(0, end, 1, starts.table_labels),
            }
            records[:, FACET_AT] -= first[FACET_AT]
        room, pieces, pattern = stack.piece.bytes, 8 * starts.pieces, 8 * starts.pattern
        end = last[PIECES_AT] + program.layer_width(last[LAYER])
        found["pieces"] = room[pieces + first[PIECES_AT] : pieces + end].copy()
        found["pattern"] = room[pattern : pattern + program.first_neuron(last[LAYER])].copy()
        for place in (CORNER_AT, CONFLICT_AT, PIECES_AT):
            records[:, place] -= first[place]
        found["records"] = records
        return found

    def packed(self, arrays: Arrays) -> Packed:
        """A block of its own for these cells, which were checked."""
        none = np.zeros(0, np.int64)
        corners, tags = ("poly", "labels") if self._plane else ("rays", "tight")
        parts = {
            "records": arrays["records"],
            "corners": arrays[corners],
            "tags": arrays[tags],
            "facets": arrays.get("facets", none),
            "table": arrays.get("table", none),
            "table_labels": arrays.get("table_labels", none),
            "conflicts": arrays["conflicts"],
            "pieces": arrays["pieces"],
            "pattern": arrays["pattern"],
        }
        sizes = BlockSizes(*(len(parts[name]) for name in BlockSizes._fields))
        starts = block_parts(sizes, self._wide)
        piece = piece_of(8 * starts.end)
        piece.words[: starts.records] = 0
        piece.words[: len(sizes)] = sizes
        for name, part in parts.items():
            flat = np.ascontiguousarray(part).reshape(-1).view(np.uint8)
            start = 8 * getattr(starts, name)
            piece.bytes[start : start + len(flat)] = flat
        return Packed(self, piece, 0, 0, sizes.records)
