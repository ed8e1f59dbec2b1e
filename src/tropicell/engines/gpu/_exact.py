"""What the CPU does in a run on a device: cells in doubt, and cells that do not fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from tropicell._runtime.interruption import Halt, check, using
from tropicell.engines.cells._buffers import UnsureCell, plane_seeds
from tropicell.engines.cells._exact_cells import ExactCell
from tropicell.engines.cells._result import exact_columns
from tropicell.engines.cells.task import CellTask
from tropicell.engines.cells.worker import CellWorker
from tropicell.engines.gpu._layout import Backend, DeviceNetwork, words_for
from tropicell.engines.units import Outcome, Unit, first_generation
from tropicell.errors import TimeLimitError
from tropicell.network.flat import FlatNetwork
from tropicell.regions.columns import Columns, PackedPatterns

# --- cells that a device starts from --------------------------------------------------------------


class DeviceSeeds(NamedTuple):
    """Cells that enter one layer, as arrays of the device.

    Attributes
    ----------
    pieces : dict of arrays
        Pieces of the layer before each level from 2 on, packed.
    numbers : array
        0, 1, …: all levels hold the rows of these cells in the same order.
    labels, rays, ends : arrays
        Labels of the edges, whether the corner before an edge is a ray, where each cell ends.
    corners : int
        All of them.
    """

    pieces: dict[int, Any]
    numbers: Any
    labels: Any
    rays: Any
    ends: Any
    corners: int


def seeds_on_device(
    flat: FlatNetwork,
    device: DeviceNetwork,
    backend: Backend,
    layer: int,
    cells: Sequence[ExactCell],
) -> DeviceSeeds:
    """Send pointed cells that enter a layer."""
    seeds = plane_seeds(flat, cells)
    patterns = seeds.patterns.reshape(len(cells), -1)
    pieces = {}
    for level in range(2, layer + 1):
        begin, end = flat.first_neuron(level - 1), flat.first_neuron(level)
        packed = PackedPatterns.pack(patterns[:, begin:end], device.bits).words
        words = words_for(end - begin, device.bits)
        pieces[level] = backend.upload(np.ascontiguousarray(packed.view(np.uint32)[:, :words]))
    arrays = np.arange(len(cells)), seeds.labels, seeds.signs, seeds.facet_ends
    numbers, labels, rays, ends = (backend.upload(array.astype(np.int32)) for array in arrays)
    return DeviceSeeds(pieces, numbers, labels, rays, ends, len(seeds.labels))


class ExactPart:
    """Sorts cells: finished regions are kept, others become seeds for the device.

    Parameters
    ----------
    task : CellTask
        The same work, for the CPU.
    halt : Halt
        When to stop.

    Attributes
    ----------
    seeds : list of ExactCell
        Cells that wait for the device.
    waiting : int
        Regions that are finished and not yet taken.
    dropped : bool
        Whether cells were left aside because of `halt`.
    """

    def __init__(self, task: CellTask, halt: Halt) -> None:
        self._task = task
        self._halt = halt
        self.cells = task.exact_cells.copy()
        self._worker: CellWorker | None = None
        self._finished: list[ExactCell] = []
        self._unsure = self._unproved = 0
        self.seeds: list[ExactCell] = []
        self.waiting = 0
        self.dropped = False

    def sort(self, cells: Iterable[ExactCell]) -> None:
        """Cut cells that have no corner, or are not fit for floats, until their parts have one."""
        with self._in_time():
            self._sort(cells)

    def _sort(self, cells: Iterable[ExactCell]) -> None:
        task = self._task
        more = list(cells)
        while more:
            check()
            cell = more.pop()
            if cell.layer > task.flat.depth:
                self.waiting += 1
                if task.store:
                    self._finished.append(cell)
            elif task.tame and cell.cone.pointed:
                self.seeds.append(cell)
            else:
                pieces = bytearray(task.network.widths[cell.layer - 1])
                lines = self.cells.lines_of(cell.layer)
                more.extend(
                    self.cells.finish_layer(cell, pieces, lines, stop_when_pointed=task.tame)
                )

    def decide(self, found: Sequence[UnsureCell]) -> None:
        """Finish the layer of unsure cells exactly, and sort their parts."""
        self._unsure += len(found)
        with self._in_time():
            for layer, pattern, pieces, labels, lines in found:
                check()
                cell = ExactCell(layer, pattern, self.cells.rebuild(layer, pattern, labels))
                self._sort(self.cells.finish_layer(cell, pieces, lines, stop_when_pointed=False))

    @contextmanager
    def _in_time(self) -> Iterator[None]:
        """Leave what is done in here aside when the time is over."""
        try:
            with using(self._halt):
                yield
        except TimeLimitError:
            self.dropped = True

    def take(self) -> tuple[int, Columns | None]:
        """How many regions were finished here since the last call, and these regions."""
        count, self.waiting = self.waiting, 0
        cells, self._finished = self._finished, []
        if not cells:
            return count, None
        task = self._task
        columns, unproved = exact_columns(task.flat, cells, task.bits, volumes=task.volumes)
        if task.arithmetic == "exact":
            self._unproved += unproved
        return count, columns

    def run(self, cells: Sequence[ExactCell]) -> Iterator[Outcome]:
        """Do all that is below some cells on the CPU."""
        grain = self._task.grain
        if self._worker is None:
            self._worker = self._task.worker()
        units = [Unit(first_generation(0.0, grain), cells=tuple(cells))]
        while units:
            unit = units.pop()
            with using(self._halt):
                outcome = self._worker.run(unit, unit.limit(grain), self._halt.is_over)
            yield outcome
            if outcome.left is None:
                self.dropped = True
                return
            units += reversed(outcome.left)

    def stats(self) -> dict[str, Any]:
        """Counters, those of the CPU's kernels included."""
        total = {
            "tests": 0,
            "splits": 0,
            "unsure_cells": self._unsure,
            "exact_decisions": self.cells.decisions,
            "unproved_witnesses": self._unproved,
        }
        if self._worker is not None:
            for key, value in self._worker.stats().items():
                total[key] = total.get(key, 0) + value
        return total
