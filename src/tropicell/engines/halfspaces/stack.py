"""Frames that wait as plain arrays, and as the block of memory that kernels read and write."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.memory import piece_of
from tropicell.engines.halfspaces._flat import HalfspaceNetwork
from tropicell.engines.halfspaces._units import block_parts
from tropicell.engines.packed import Arrays, Packed


class FrameLayout:
    """See `tropicell.engines.packed.Layout`, and `_units`."""

    def __init__(self, flat: HalfspaceNetwork, *, store: bool) -> None:
        self._flat = flat
        self._store = store
        self._d = flat.dimension
        most = int(np.diff(flat.first_cut).max(initial=1))
        self._words = max(1, -(-most // 64))

    def arrays(self, stack: Packed) -> Arrays:
        """The frames as plain arrays."""
        d, words, memory = self._d, self._words, stack.piece.words
        frames, points, pieces = memory[stack.at : stack.at + 3].tolist()
        parts = block_parts(frames, points, pieces, self._store, words, d)
        starts = [stack.at + start for start in parts]

        def part(begin: int, end: int, width: int, start: int) -> NDArray[np.int64]:
            return memory[start + width * begin : start + width * end].copy()

        mine = stack.first, stack.last
        layers, ends = part(*mine, 1, starts[0]), part(*mine, 1, starts[2])
        before = int(memory[starts[2] + stack.first - 1]) if stack.first else 0
        theirs = before, int(ends[-1])
        piece = 8 * starts[7]
        prefix = int(self._flat.first_neuron[layers[-1]])
        found: Arrays = {
            "pieces": stack.piece.bytes[piece : piece + prefix].copy(),
            "layers": layers,
            "cuts": part(*mine, 1, starts[1]),
            "decided": part(*mine, 2 * words, starts[3]).view(np.uint64).reshape(-1, 2, words),
            "point_ends": ends - before,
            "masks": part(*theirs, 3 * words, starts[4]).view(np.uint64).reshape(-1, 3, words),
            "basis": part(*theirs, d, starts[5]).astype(np.int32).reshape(-1, d),
        }
        if self._store:
            vertex = part(*theirs, d * (d + 1), starts[6]).view(np.float64)
            found["vertex"] = vertex.reshape(-1, d + 1, d)
        return found

    def packed(self, arrays: Arrays) -> Packed:
        """A block of its own for these frames, which were checked."""
        layers, masks, pieces = arrays["layers"], arrays["masks"], arrays["pieces"]
        sizes = len(layers), len(masks), len(pieces)
        starts = block_parts(*sizes, self._store, self._words, self._d)
        piece = piece_of(8 * starts[-1])
        piece.words[: starts[0]] = 0
        piece.words[:4] = *sizes, self._store
        vertex = arrays["vertex"] if self._store else np.zeros(0)
        parts = (
            *(layers, arrays["cuts"], arrays["point_ends"], arrays["decided"]),
            *(masks, arrays["basis"].astype(np.int64), vertex, pieces),
        )
        for start, part in zip(starts, parts, strict=False):
            flat = np.ascontiguousarray(part).reshape(-1).view(np.uint8)
            piece.bytes[8 * start : 8 * start + len(flat)] = flat
        return Packed(self, piece, 0, 0, len(layers))
