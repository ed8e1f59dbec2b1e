"""The cells engine in the plane on a GPU; see docs/gpu.md.

Level by level, in chunks of nodes (cells that enter a layer), depth first over the chunks: the
children of a chunk are done with before the next chunk of their parents is touched, so memory
stays bounded. For every chunk: the outputs of the layers before are gathered, one matrix product
gives the rows of the layer for all nodes, a kernel finds the lines that cross each of them,
and rounds of cutting follow until no line is open.

Cells whose signs the error bound does not settle go to the exact arithmetic of `CellRun`, and
their parts come back as seeds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any, ClassVar

import numpy as np

from tropicell.columns import PackedPatterns
from tropicell.domains import resolve
from tropicell.engines._cells_buffers import plane_seeds
from tropicell.engines._cells_state import SPLITS, TESTS
from tropicell.engines._device_buffers import Options, buffers_for, keep_buffers
from tropicell.engines._device_layout import COUNTERS, Backend, device_program, words_for
from tropicell.engines._device_result import Reader
from tropicell.engines._exact_cells import ExactCell
from tropicell.engines.batch import Columns
from tropicell.engines.cells import CellRun
from tropicell.errors import InvalidInputError

#: Cells with more corners are left to the CPU; see MOST_CORNERS in plane.cu.
_MOST_CORNERS = 56

#: Further rounds of cutting between two looks at what is left.
_ROUNDS = 6

#: From few nodes on, whole warps cut in the first rounds.
_FEW, _WIDE_ROUNDS = 64, 12

_REGIONS_AT_ONCE = 1 << 20
_UNSURE_AT_ONCE = 1024

_Step = tuple[Columns | None, bool]


@dataclass
class DeviceRun(CellRun):
    """One enumeration on a device; see `CellRun` for the other parameters.

    Parameters
    ----------
    backend : Backend
        Where the kernels run.
    memory : int, optional
        Bytes to take; default: part of what is free.
    """

    backend: Backend | None = None
    memory: int | None = None

    seeds_at_once: ClassVar[int] = 1 << 14

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.program.dimension != 2 or self.backend is None or self.share is not None:
            raise InvalidInputError("a device run needs 2 inputs and a backend, and is not shared")
        self._resolved, _ = resolve(self.network, self.domain)
        self._domain_bytes = self.program.lines.domain_rows.tobytes()
        self._device: Any = None
        self._started_at = 0.0

    def batches(self) -> Iterator[Columns | None]:
        yield from super().batches()
        if self.complete and self._device is not None:
            assert self.backend is not None
            keep_buffers(self._device, self.backend, self._options, self._buffers)

    def _prepare(self) -> None:
        """Send the network, and take working memory."""
        assert self.backend is not None
        backend, program = self.backend, self.program
        key = ("device", id(backend), self._domain_bytes)
        self._device = self._resolved.remember(
            key, lambda: device_program(self._resolved, program, backend)
        )
        self._options = Options(
            self.arithmetic == "exact", self.store, self.tolerance.relative, self.memory
        )
        self._buffers = buffers_for(program, self._device, backend, self._options)
        self._reader = Reader(program, self._device, self._buffers, backend, self._bits)
        self._at_once = [self._buffers.at_once] * (program.depth + 2)

    def _launch(self, kernel: str, items: int, *arguments: Any) -> None:
        assert self.backend is not None
        self.backend.launch(kernel, items, self._buffers.engine, *arguments)

    # --- seeds ----------------------------------------------------------------------------------

    def _plant_root(self) -> None:
        """The same cells as on the CPU; they are kept for the next run."""

        def make() -> list[ExactCell] | None:
            super(DeviceRun, self)._plant_root()
            return None if self.count else list(self._seeds)

        key = ("device seeds", self._tame, self._domain_bytes)
        seeds = self._resolved.remember(key, make)
        if seeds is not None:
            self._seeds, self._started = list(seeds), True

    def _grow(self, cells: list[ExactCell], started: float) -> Iterator[_Step]:
        """Do all that is below some cells."""
        if self._device is None:
            self._prepare()
        large = [cell for cell in cells if len(cell.cone.rows) > _MOST_CORNERS]
        small = [cell for cell in cells if len(cell.cone.rows) <= _MOST_CORNERS]
        small.sort(key=lambda cell: cell.layer)
        self._started_at = started
        if large:
            yield from super()._grow(large, started)
        for layer, group in groupby(small, key=lambda cell: cell.layer):
            seeds = list(group)
            while seeds:
                some = seeds[-self._at_once[layer] :]
                counters = self._plant(layer, some)
                if counters is None:
                    if len(some) > 1:
                        self._at_once[layer] = (len(some) + 1) // 2
                        continue
                    yield from super()._grow(some, started)
                else:
                    yield from self._below(layer, 0, counters)
                del seeds[-len(some) :]

    def _plant(self, layer: int, cells: list[ExactCell]) -> Any:
        """Put cells on the device, with the maps of all layers up to theirs, and cut them."""
        assert self.backend is not None
        upload, buffers = self.backend.upload, self._buffers
        count = len(cells)
        seeds = plane_seeds(self.program, cells)
        patterns = seeds.patterns.reshape(count, -1)
        corners = len(seeds.labels)
        if corners > buffers.arena:
            return None
        for level in range(1, layer + 1):
            begin, end = self.program.first_neuron(level - 1), self.program.first_neuron(level)
            if level > 1:
                packed = PackedPatterns.pack(patterns[:, begin:end], self._device.bits).words
                words = words_for(end - begin, self._device.bits)
                pieces = np.ascontiguousarray(packed.view(np.uint32)[:, :words])
                buffers.done[level][:count] = upload(pieces)
            buffers.parents[level][:count] = self.backend.xp.arange(count, dtype=np.int32)
            self._begin(level, 0, count, corners)
            self._make_maps(level, 0, count)
        arrays = [upload(x.astype(np.int32)) for x in (seeds.labels, seeds.signs, seeds.facet_ends)]
        pointers = (np.int64(self.backend.pointer(array)) for array in arrays)
        level_argument = buffers.level_arguments[layer]
        self._launch("plant", count, level_argument, np.int64(count), *pointers)
        return self._cut(layer, 0, count)

    # --- one chunk ------------------------------------------------------------------------------

    def _begin(self, level: int, first: int, count: int, arena: int) -> None:
        self._launch(
            "begin", 1, np.int32(level), np.int64(first), np.int64(count), np.uint64(arena)
        )

    def _make_maps(self, level: int, first: int, count: int) -> None:
        """Rows of a layer for some nodes: one matrix product."""
        assert self.backend is not None
        inputs, width = (int(self._buffers.levels[level][name]) for name in ("inputs", "width"))
        if inputs == 0:
            return
        buffers, dot = self._buffers, self.backend.xp.dot
        argument = buffers.level_arguments[level]
        self._launch("gather", count, argument, np.int64(first), np.int64(count))
        outputs = buffers.outputs[: 3 * count * inputs].reshape(3 * count, inputs)
        maps = buffers.maps[level][: 3 * count * width].reshape(3 * count, width)
        dot(outputs, self._device.weights[level], out=maps)
        if self.arithmetic == "exact":
            bounds = buffers.bounds[: count * inputs].reshape(count, inputs)
            errors = buffers.errors[level][: count * width].reshape(count, width)
            dot(bounds, self._device.sizes[level], out=errors)

    def _cut(self, level: int, first: int, count: int) -> Any:
        """Cut nodes by all lines of their layer; None if there was not enough room."""
        assert self.backend is not None
        layers = self._buffers.level_arguments[level : level + 2]
        self._launch("scan", count, *layers, np.int64(first), np.int64(count))
        done, rounds = 0, self._device.rounds[level]
        wide = _WIDE_ROUNDS if count <= _FEW else 0
        while True:
            for turn in range(done, done + rounds):
                kernel = "cut_wide" if turn < wide else "cut"
                self._launch(kernel, self._buffers.room, *layers, np.int32(turn))
            done += rounds
            counters = self.backend.download(self._buffers.counters).view(COUNTERS)[0]
            if counters["overflow"]:
                return None
            if counters["open"][done & 3] == 0:
                break
            rounds = _ROUNDS
        self._device.rounds[level] = int(counters["rounds"]) + 1
        state = self._state
        state[TESTS] += int(counters["tests"])
        state[SPLITS] += int(counters["splits"])
        self.stats.tests, self.stats.splits = int(state[TESTS]), int(state[SPLITS])
        return counters

    def _below(self, level: int, first: int, counters: Any) -> Iterator[_Step]:
        """What follows from the cells of a chunk, whose counters are given."""
        self.count += int(counters["found"])
        nodes, unsure = int(counters["nodes"]), int(counters["unsure"])
        for begin in range(0, unsure, _UNSURE_AT_ONCE):
            end = min(begin + _UNSURE_AT_ONCE, unsure)
            self._decide(self._reader.unsure(level, first, begin, end))
            yield from self._exact_batches()
        if level < self.program.depth:
            yield from self._walk(level + 1, nodes, int(counters["arena"]))
        else:
            yield from self._emit(nodes)
        yield None, self._over_budget(self._started_at)

    def _walk(self, level: int, nodes: int, arena: int) -> Iterator[_Step]:
        """All nodes of a level, chunk by chunk, from the last one on."""
        while nodes:
            chunks = -(-nodes // self._at_once[level])
            count = -(-nodes // chunks)
            first = nodes - count
            self._begin(level, first, count, arena)
            self._make_maps(level, first, count)
            counters = self._cut(level, first, count)
            if counters is not None:
                yield from self._below(level, first, counters)
            elif count > 1:
                self._at_once[level] = (count + 1) // 2
                continue
            else:
                yield from super()._grow(self._as_cells(level, first), self._started_at)
            nodes = first

    def _as_cells(self, level: int, node: int) -> list[ExactCell]:
        """One node, for the CPU."""
        ((pattern, labels),) = self._reader.nodes(level, node, np.zeros(1, np.int32))
        cone = self._exact.rebuild(level, pattern, labels)
        return [ExactCell(level, pattern, cone)]

    # --- results --------------------------------------------------------------------------------

    def _emit(self, nodes: int) -> Iterator[_Step]:
        """Hand over finished regions."""
        volumes = self.volumes is None or self.volumes
        for first in range(0, nodes, _REGIONS_AT_ONCE):
            count = min(_REGIONS_AT_ONCE, nodes - first)
            columns, blunt = self._reader.regions(first, count, volumes=volumes)
            self.count += len(columns.packed)
            yield columns, self._over_budget(self._started_at)
            self._decide(blunt)
            yield from self._exact_batches()

    def _exact_batches(self) -> Iterator[_Step]:
        for batch in self._flush_exact():
            yield batch, self._over_budget(self._started_at)
        yield None, self._over_budget(self._started_at)
