"""The cells engine in the plane on a GPU; see docs/gpu.md.

Level by level, in chunks of nodes (cells that enter a layer), depth first over the chunks: the
children of a chunk are done with before the next chunk of their parents is touched, so memory
stays bounded. For every chunk a kernel finds the lines that cross each node, and the outputs of the
layer where none of these lines matters; rounds of cutting follow until no line is open; and one
matrix product gives the rows of the next layer, which the children of a node share but for the
lines that were cut. The device goes on to the children of a chunk by itself if they are one chunk,
so it need not wait until their number is known here.

Cells whose signs the error bound does not settle go to exact arithmetic on the CPU, and their
parts come back as seeds.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from operator import is_not
from typing import Any

import numpy as np

from tropicell._runtime.interruption import Halt, current
from tropicell.engines.cells._exact_cells import ExactCell
from tropicell.engines.cells.task import CellTask
from tropicell.engines.gpu import _digits
from tropicell.engines.gpu._buffers import DeviceOptions, buffers_for, keep_buffers
from tropicell.engines.gpu._exact import DeviceSeeds, ExactPart, seeds_on_device
from tropicell.engines.gpu._layout import Backend, Counts, device_network
from tropicell.engines.gpu._result import Reader
from tropicell.errors import InvalidInputError
from tropicell.geometry.arithmetic import ArithmeticName
from tropicell.network.domains import Domain
from tropicell.network.network import Network
from tropicell.regions.columns import Columns

#: Cells with more corners are left to the CPU; see MOST_CORNERS in plane.cu.
_MOST_CORNERS = 56

#: So few nodes have many children each: every child gets a product of its own.
_FEW_PARENTS = 16

#: The rows of any number of nodes are kept.
_ALL = (1 << 31) - 1

_REGIONS_AT_ONCE = 1 << 20
_UNSURE_AT_ONCE = 1024

#: The device starts from so many cells at a time.
_SEEDS_AT_ONCE = 1 << 14


class DeviceRun:
    """One enumeration on a device; see `tropicell.regions.columns.EngineRun`.

    Parameters
    ----------
    network : Network
    domain : Domain, optional
        Default: the whole space.
    arithmetic : {"exact", "float"}
    backend : Backend
        Where the kernels run.
    store : bool
        False: only count.
    max_seconds : float, optional
        Stop after so much time.
    halt : Halt, optional
        Instead of `max_seconds`: stop when it is over.
    memory : int, optional
        Bytes to take; default: part of what is free.

    Attributes
    ----------
    count : int
        Regions handed out so far.
    complete : bool
        Whether these are all.
    """

    def __init__(
        self,
        network: Network,
        domain: Domain | None = None,
        arithmetic: ArithmeticName = "exact",
        *,
        backend: Backend,
        store: bool = True,
        max_seconds: float | None = None,
        halt: Halt | None = None,
        memory: int | None = None,
    ) -> None:
        self._task = task = CellTask(network, domain, arithmetic, store=store)
        if not task.plane:
            raise InvalidInputError(
                f"the kernels of a device are for 2 inputs, not {task.network.n_inputs}"
            )
        self.flat = task.flat
        self._backend = backend
        self._started = time.perf_counter()
        # It does not know its run: nothing must keep a run and its memory once it is let go.
        self._halt = Halt(max_seconds, current()) if halt is None else halt
        self._exact = ExactPart(task, self._halt)
        self._options = DeviceOptions(arithmetic == "exact", store, task.tolerance, memory)
        self._domain_bytes = self.flat.lines.domain_rows.tobytes()
        self._device: Any = None
        self._root: list[ExactCell] = []
        self._tests = self._splits = 0
        self._seconds = 0.0
        self.count = 0
        self.complete = False

    @property
    def found(self) -> int:
        """Regions found so far, those included that wait to be handed out."""
        return self.count + self._exact.waiting

    def halt(self) -> None:
        """Stop after the chunk that is being cut."""
        self._halt.set()

    def batches(self) -> Iterator[Columns | None]:
        """Batches of regions, and None between them as a chance to look at the clock.

        To be called once: what a run that was stopped has on the device is lost.
        """
        try:
            for batch in self._all():
                yield batch
                if self._halt.is_over():
                    return
            self.complete = not self._exact.dropped
        finally:
            self._seconds = time.perf_counter() - self._started
        if self.complete and self._device is not None:
            keep_buffers(self._device, self._backend, self._options, self._buffers)

    def rest(self) -> Iterator[Columns]:
        """Regions found and not yet handed out, after the run was broken off."""
        for batch in self._exact_batches():
            if batch is not None:
                yield batch

    def stats(self) -> dict[str, Any]:
        """What the run has cost."""
        stats = {"seconds": self._seconds, **self._exact.stats()}
        stats["tests"] += self._tests
        stats["splits"] += self._splits
        return stats

    def _all(self) -> Iterator[Columns | None]:
        self._plant_root()
        yield from self._exact_batches()
        seeds = self._exact.seeds
        while seeds:
            some = seeds[-_SEEDS_AT_ONCE:]
            del seeds[-_SEEDS_AT_ONCE:]
            yield from self._grow(some)

    def _prepare(self) -> None:
        """Send the network, and take working memory."""
        backend, flat, network = self._backend, self.flat, self._task.network
        deep = self._options.exact
        if deep:
            doubts = network.remember(
                ("expected doubts",), lambda: _digits.expected_doubts(network, flat)
            )
            deep = doubts > _digits.MOST_DOUBTS
        self._prefix = "deep_" if deep else ""
        key = ("device", id(backend), self._domain_bytes, deep)
        self._device = network.remember(
            key, lambda: device_network(network, flat, backend, deep=deep)
        )
        self._buffers = buffers_for(flat, self._device, backend, self._options)
        self._reader = Reader(flat, self._device, self._buffers, backend, self._task.bits)
        self._at_once = [self._buffers.at_once] * (flat.depth + 2)

    def _launch(self, kernel: str, items: int, *arguments: Any) -> None:
        self._backend.launch(kernel, items, self._buffers.engine, *arguments)

    # --- seeds ----------------------------------------------------------------------------------

    def _plant_root(self) -> None:
        """The same cells as on the CPU; they are kept for the next run."""
        exact, task = self._exact, self._task

        def make() -> list[ExactCell] | None:
            exact.sort(task.root().cells)
            return None if exact.waiting or exact.dropped else list(exact.seeds)

        key = ("device seeds", task.tame, self._domain_bytes)
        seeds = task.network.remember(key, make)
        if seeds is not None:
            exact.seeds[:] = self._root = seeds

    def _grow(self, cells: list[ExactCell]) -> Iterator[Columns | None]:
        """Cut some cells by all layers that follow, until only regions are left."""
        if self._device is None:
            self._prepare()
        large = [cell for cell in cells if len(cell.cone.rows) > _MOST_CORNERS]
        small = [cell for cell in cells if len(cell.cone.rows) <= _MOST_CORNERS]
        small.sort(key=lambda cell: cell.layer)
        if large:
            yield from self._on_cpu(large)
        for layer, group in groupby(small, key=lambda cell: cell.layer):
            seeds = list(group)
            while seeds:
                some = seeds[-min(self._at_once[layer], self._buffers.few) :]
                counts = self._plant(layer, some)
                if counts is None:
                    if len(some) > 1:
                        self._at_once[layer] = (len(some) + 1) // 2
                        continue
                    yield from self._on_cpu(some)
                else:
                    yield from self._below(layer, 0, len(some), counts)
                del seeds[-len(some) :]

    def _plant(self, layer: int, cells: list[ExactCell]) -> Counts | None:
        """Put cells on the device, with the maps of all layers up to theirs, and cut them."""
        buffers = self._buffers
        count = len(cells)
        seeds = self._seeds(layer, cells)
        if seeds.corners > buffers.arena:
            return None
        for level in range(1, layer + 1):
            if level > 1:
                buffers.done[level][:count] = seeds.pieces[level]
            buffers.parents[level][:count] = seeds.numbers
            self._begin(level, 0, count, seeds.corners, 0)
            self._gather(level, level, 0, count)
            self._multiply(level, count)
            settle = self._prefix + "settle"
            self._launch(settle, count, buffers.level_arguments[level], np.int32(count))
        arrays = seeds.labels, seeds.rays, seeds.ends
        pointers = (np.int64(self._backend.pointer(array)) for array in arrays)
        level_argument = buffers.level_arguments[layer]
        self._launch("plant", count, level_argument, np.int32(count), *pointers)
        self._scan(layer, 0, count, own=True)
        return self._cut(layer, 0, count)

    def _seeds(self, layer: int, cells: list[ExactCell]) -> DeviceSeeds:
        """Cells on the device; those of the root are kept there for the next run."""
        make = partial(seeds_on_device, self.flat, self._device, self._backend, layer, cells)
        if len(cells) != len(self._root) or any(map(is_not, cells, self._root)):
            return make()
        key = ("device root", id(self._backend), self._task.tame, self._domain_bytes)
        seeds: DeviceSeeds = self._task.network.remember(key, make)
        return seeds

    # --- one chunk ------------------------------------------------------------------------------

    def _begin(self, level: int, first: int, count: int, arena: int, records: int) -> None:
        sizes = np.int32(first), np.int32(count), np.uint64(arena), np.uint64(records)
        self._launch("begin", 1, np.int32(level), *sizes)

    def _gather(self, level: int, at: int, first: int, count: int) -> None:
        """Outputs that a layer reads, for nodes of the layer before or those begun on (`at`).

        For nodes of the layer before, its own outputs have been written by `scan`. Of its own nodes
        there are at most `count`.
        """
        record = self._buffers.levels[level]
        skip = record["after_last"] if at < level else 0
        if skip < record["n_sources"]:
            where = np.int32(at), np.int32(first), np.int32(count), np.int32(skip)
            self._launch("gather", count, self._buffers.level_arguments[level], *where)

    def _multiply(self, level: int, count: int) -> None:
        """Rows of a layer from so many rows of outputs: one matrix product."""
        buffers, product = self._buffers, self._backend.product
        if buffers.levels[level]["inputs"] == 0:
            return
        products = buffers.products[level]
        if self._device.deep:
            # The last slice of outputs times the first part of the weights, and so on.
            whole = len(self._device.factors[level][-1])
            for matrix, out in zip(self._device.factors[level], products, strict=True):
                product(buffers.outputs, matrix, out, 3 * count, whole - len(matrix))
            return
        product(buffers.outputs, self._device.weights[level], products[0], 3 * count)
        if self._options.exact:
            product(buffers.bounds, self._device.sizes[level], buffers.errors[level], count)

    def _scan(self, level: int, first: int, items: int, *, own: bool) -> None:
        """Find the lines that cross the nodes that were started on, at most `items`.

        `own`: the product is that of the nodes, and not that of their parents.
        """
        layers = self._buffers.level_arguments[level - 1 : level + 2]
        kernel = self._prefix + ("scan_plain" if self._buffers.levels[level]["plain"] else "scan")
        kept = _ALL if self._device.read_later[level] else self._buffers.few
        self._launch(kernel, items, *layers, np.int32(first), np.int32(own), np.int32(kept))

    def _cut(self, level: int, first: int, count: int) -> Counts | None:
        """Cut nodes by all lines of their layer; None if there was not enough room.

        If the children are one chunk, they are begun on: what does not need their number is done.
        """
        backend, buffers = self._backend, self._buffers
        layers = buffers.level_arguments[level : level + 2]
        most = self._at_once[level + 1] if level < self.flat.depth else 0
        shared = most and not self._apart(count)
        if shared:
            backend.fork()
        self._launch("cut", buffers.room, *layers)
        self._launch("follow", 1, np.int32(level + 1), np.int32(most), buffers.report_argument)
        backend.mark()
        if shared:
            with backend.branch():
                self._gather(level + 1, level, first, count)
                self._multiply(level + 1, count)
            self._scan(level + 1, 0, most, own=False)
        elif most:
            self._gather(level + 1, level + 1, 0, most)
        backend.wait()
        counts = Counts._make(buffers.report[: len(Counts._fields)].tolist())
        if counts.overflow:
            return None
        self._tests += counts.tests
        self._splits += counts.splits
        return counts

    def _apart(self, count: int) -> bool:
        """Whether the children of so many nodes get products of their own."""
        return count <= min(_FEW_PARENTS, self._buffers.few)

    def _below(
        self, level: int, first: int, count: int, counts: Counts
    ) -> Iterator[Columns | None]:
        """What follows from the cells of a chunk, whose counters are given."""
        self.count += counts.found
        for begin in range(0, counts.unsure, _UNSURE_AT_ONCE):
            end = min(begin + _UNSURE_AT_ONCE, counts.unsure)
            self._exact.decide(self._reader.unsure(level, first, begin, end))
            yield from self._exact_batches()
        if level < self.flat.depth:
            yield from self._walk(level + 1, counts, own=self._apart(count))
        else:
            yield from self._emit(counts.nodes)
        yield None

    def _walk(self, level: int, counts: Counts, *, own: bool) -> Iterator[Columns | None]:
        """All nodes of a level, chunk by chunk, from the last one on."""
        nodes, begun = counts.nodes, counts.begun > 0
        while nodes:
            chunks = -(-nodes // self._at_once[level])
            count = -(-nodes // chunks)
            first = nodes - count
            if not begun:
                self._begin(level, first, count, counts.arena, counts.records)
                if own:
                    self._gather(level, level, first, count)
            if own:
                self._multiply(level, count)
            if own or not begun:
                self._scan(level, first, count, own=own)
            begun = False
            below = self._cut(level, first, count)
            if below is not None:
                yield from self._below(level, first, count, below)
            elif count > 1:
                self._at_once[level] = (count + 1) // 2
                continue
            else:
                yield from self._on_cpu(self._as_cells(level, first))
            nodes = first

    def _as_cells(self, level: int, node: int) -> list[ExactCell]:
        """A node of the device's tree as an exact cell, for the CPU to finish."""
        ((pattern, labels),) = self._reader.nodes(level, node, np.zeros(1, np.int32))
        cone = self._exact.cells.rebuild(level, pattern, labels)
        return [ExactCell(level, pattern, cone)]

    def _on_cpu(self, cells: Sequence[ExactCell]) -> Iterator[Columns | None]:
        """Do all that is below some cells on the CPU."""
        for outcome in self._exact.run(cells):
            self.count += outcome.count
            yield from outcome.columns
            yield None

    # --- results --------------------------------------------------------------------------------

    def _emit(self, nodes: int) -> Iterator[Columns | None]:
        """Hand over finished regions."""
        for first in range(0, nodes, _REGIONS_AT_ONCE):
            count = min(_REGIONS_AT_ONCE, nodes - first)
            columns, blunt = self._reader.regions(first, count, volumes=self._task.volumes)
            self.count += len(columns.packed)
            yield columns
            self._exact.decide(blunt)
            yield from self._exact_batches()

    def _exact_batches(self) -> Iterator[Columns | None]:
        """Regions that were finished in exact arithmetic."""
        count, columns = self._exact.take()
        self.count += count
        yield columns
