"""What comes back from a device: regions as columns, and cells that need exact arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell.engines.cells._buffers import UnsureCell
from tropicell.engines.gpu._buffers import Buffers
from tropicell.engines.gpu._layout import Backend, DeviceNetwork, words_for
from tropicell.network.flat import FlatNetwork
from tropicell.regions.columns import Columns, PackedPatterns


class Reader:
    """Reads nodes, cells and regions from a device.

    Parameters
    ----------
    flat, device, buffers, backend
        Of one run.
    bits : int
        Bits a neuron in the packed patterns that are handed over.
    """

    def __init__(
        self,
        flat: FlatNetwork,
        device: DeviceNetwork,
        buffers: Buffers,
        backend: Backend,
        bits: int,
    ) -> None:
        self._flat = flat
        self._device = device
        self._buffers = buffers
        self._backend = backend
        self._bits = bits
        # In words of 32 bits; rows of packed patterns are made of words of 64.
        self._words = 2 * max(1, -(-words_for(flat.neurons, device.bits) // 2))

    def _packed(self, level: int, first: int, count: int, nodes: Any = None) -> PackedPatterns:
        """Pieces of all layers before a level, for some of its nodes."""
        backend = self._backend
        out = backend.xp.empty((count, self._words), np.uint32)
        backend.launch(
            "patterns",
            count,
            self._buffers.engine,
            np.int32(level),
            np.int32(first),
            np.int32(count),
            np.int64(0 if nodes is None else backend.pointer(nodes)),
            np.int64(backend.pointer(out)),
            np.int32(self._words),
        )
        words = backend.download(out).view(np.uint64)
        return PackedPatterns(words, self._flat.neurons, self._device.bits)

    def _labels(self, starts: NDArray[Any], counts: NDArray[Any]) -> list[list[int]]:
        """Labels of the edges of some cells."""
        ends = np.cumsum(counts)
        places = np.arange(int(counts.sum())) + np.repeat(starts - (ends - counts), counts)
        tags = self._buffers.tags[self._backend.upload(places)]
        labels = self._backend.download(tags[:, 0]).tolist()
        bounds = zip((ends - counts).tolist(), ends.tolist(), strict=True)
        return [labels[begin:end] for begin, end in bounds]

    def unsure(self, level: int, first: int, begin: int, end: int) -> list[UnsureCell]:
        """Unsure cells number begin … end - 1 of the nodes from `first` on."""
        backend, flat = self._backend, self._flat
        record = self._buffers.levels[level]
        columns = self._buffers.lists["unsure"]
        nodes = columns["node"][begin:end].astype(np.int32)
        patterns = self._packed(level, first, end - begin, nodes)[:]
        starts, counts = (
            backend.download(columns[name][begin:end]).astype(np.int64) for name in ("start", "n")
        )
        labels = self._labels(starts, counts)
        words = int(record["piece_words"])
        pieces = backend.download(columns["pieces"][begin * words : end * words])
        pieces = _unpacked(pieces.reshape(-1, words), int(record["width"]), self._device.bits)
        words = int(record["words"])
        lines = backend.download(columns["open"][begin * words : end * words])
        lines = _unpacked(lines.reshape(-1, words), int(record["lines"]), 1)
        prefix = flat.first_neuron(level)
        first_line = int(record["first_line"])
        return [
            (
                level,
                patterns[k, :prefix].tobytes(),
                bytearray(pieces[k].tobytes()),
                labels[k],
                (first_line + np.flatnonzero(lines[k])).tolist(),
            )
            for k in range(end - begin)
        ]

    def nodes(self, level: int, first: int, numbers: NDArray[Any]) -> list[tuple[bytes, list[int]]]:
        """Patterns (of the layers before) and labels of some nodes, counted from `first`."""
        buffers = self._buffers
        nodes = self._backend.upload(numbers.astype(np.int32))
        patterns = self._packed(level, first, len(numbers), nodes)[:]
        places = nodes + first
        starts, counts = (
            self._backend.download(column[level][places]).astype(np.int64)
            for column in (buffers.starts, buffers.counts)
        )
        prefix = self._flat.first_neuron(level)
        labels = self._labels(starts, counts)
        return [(patterns[k, :prefix].tobytes(), labels[k]) for k in range(len(numbers))]

    def regions(self, first: int, count: int, *, volumes: bool) -> tuple[Columns, list[UnsureCell]]:
        """Finished regions, and those whose geometry needs exact arithmetic."""
        backend, buffers = self._backend, self._buffers
        xp = backend.xp
        depth = self._flat.depth
        ends = xp.cumsum(buffers.counts[depth + 1][first : first + count], dtype=np.int64)
        total = int(ends[-1])
        witnesses, areas = xp.empty((count, 2)), xp.empty(count)
        bounded, good = xp.empty(count, np.uint8), xp.empty(count, np.uint8)
        vertices, lines = xp.empty((total, 3)), xp.empty(total, np.int32)
        pointers = (ends, witnesses, areas, bounded, good, vertices, lines)
        backend.launch(
            "emit",
            count,
            buffers.engine,
            buffers.level_arguments[depth + 1],
            np.int32(first),
            np.int32(count),
            *(np.int64(backend.pointer(array)) for array in pointers),
        )
        packed = self._packed(depth + 1, first, count)
        closed = backend.download(bounded).view(np.bool_)
        sizes = backend.download(areas)
        if not volumes:
            sizes[closed] = np.nan
        columns = Columns(
            packed,
            backend.download(witnesses),
            closed,
            sizes,
            backend.download(vertices),
            np.diff(backend.download(ends), prepend=0),
            backend.download(lines),
        )
        fine = backend.download(good).view(np.bool_)
        blunt: list[UnsureCell] = []
        if not fine.all():
            blunt = self._blunt(first, np.flatnonzero(~fine))
            columns = _some(columns, fine)
        return self._finished(columns), blunt

    def _blunt(self, first: int, numbers: NDArray[Any]) -> list[UnsureCell]:
        depth = self._flat.depth
        before = self._flat.first_neuron(depth)
        return [
            (depth, pattern[:before], bytearray(pattern[before:]), labels, [])
            for pattern, labels in self.nodes(depth + 1, first, numbers)
        ]

    def _finished(self, columns: Columns) -> Columns:
        """Facets without infinity, and patterns with the right number of bits."""
        packed, lines, counts = columns.packed, columns.facet_lines, columns.corner_counts
        assert lines is not None
        assert counts is not None
        assert columns.bounded is not None
        if not columns.bounded.all():
            finite = lines != 0
            owners = np.repeat(np.arange(len(counts)), counts)
            lines, counts = lines[finite], np.bincount(owners[finite], minlength=len(counts))
        if packed.bits != self._bits:
            packed = PackedPatterns.pack(packed[:], self._bits)
        return columns._replace(packed=packed, facet_lines=lines, facet_counts=counts)


def _unpacked(words: NDArray[np.uint32], items: int, bits: int) -> NDArray[np.uint8]:
    """Rows of packed items, a byte each."""
    even = np.zeros((len(words), 2 * max(1, -(-words.shape[1] // 2))), np.uint32)
    even[:, : words.shape[1]] = words
    return PackedPatterns(even.view(np.uint64), items, bits)[:]


def _some(columns: Columns, keep: NDArray[np.bool_]) -> Columns:
    """The regions to keep; all columns but facet counts are there."""
    packed, counts = columns.packed, columns.corner_counts
    assert counts is not None
    assert columns.bounded is not None
    assert columns.volumes is not None
    assert columns.corners is not None
    assert columns.facet_lines is not None
    corners = np.repeat(keep, counts)
    return Columns(
        PackedPatterns(packed.words[keep], packed.neurons, packed.bits),
        columns.witnesses[keep],
        columns.bounded[keep],
        columns.volumes[keep],
        columns.corners[corners],
        counts[keep],
        columns.facet_lines[corners],
    )
