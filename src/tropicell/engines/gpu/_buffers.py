"""Working memory of a run on a device: maps, nodes of every level, cells that are being cut."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from tropicell.engines.gpu._layout import (
    CORNER_BYTES,
    ENGINE,
    LOW_BYTES,
    N_COUNTERS,
    RECORD_BYTES,
    TAG_BYTES,
    Backend,
    DeviceNetwork,
)
from tropicell.network.flat import FlatNetwork

#: More memory than this is not taken unless asked for, nor more than this part of what is free.
MOST_BYTES = 32 << 30
_PART_OF_FREE = 0.6

#: So many nodes at a time keep a large GPU busy.
_MOST_NODES_AT_ONCE = 1 << 18
_MOST_CELLS = 1 << 23
_MOST_CORNERS = 1 << 27

_MOST_RECORDS = 1 << 26

#: The rows of so few nodes of a chunk are always kept.
FEW = 1024

#: What the memory is for: rows, lists of cells, nodes, corners, records.
_SHARES = (0.55, 0.13, 0.1, 0.16, 0.06)


class DeviceOptions(NamedTuple):
    """What a run is for; see `DeviceRun`."""

    exact: bool
    store: bool
    tolerance: float
    memory: int | None


class Buffers:
    """Working memory.

    Attributes
    ----------
    at_once : int
        Nodes of a level that can be done at a time.
    few : int
        Nodes whose rows can be kept in every level.
    room, arena, records, capacity : int
        Cells of a list, corners, rows of lines that cross nodes, and nodes of a level that fit.
    report : ndarray
        Counters of the chunk that was cut last, where the processor reads them.
    """

    def __init__(
        self, flat: FlatNetwork, device: DeviceNetwork, backend: Backend, options: DeviceOptions
    ) -> None:
        exact, store, tolerance, memory = options
        self._backend = backend
        self.levels = device.levels.copy()
        self._read_later = device.read_later
        self._deep = device.deep
        self._bytes = 28 if exact and not device.deep else 24
        if memory is None:
            memory = min(MOST_BYTES, int(_PART_OF_FREE * backend.free_bytes()))
        self._size(memory)
        self._take_rows(exact)
        self._take_nodes()
        self._take_engine(flat, device, exact=exact, store=store, tolerance=tolerance)

    def _size(self, memory: int) -> None:
        levels = self.levels
        rows, cells, nodes, corners, records = (int(share * memory) for share in _SHARES)
        products = levels["width"] * levels["slices"] * (levels["inputs"] > 0)
        numbers = products.sum() + (levels["inputs"] * levels["slices"]).max()
        kept = int(levels["width"][self._read_later].sum())
        node = self._bytes * int(numbers) + (56 if self._deep else 32) * kept
        node += len(levels) * 72 if self._deep else 0
        node += int((8 + 4 * (levels["piece_words"] + levels["words"])).sum())
        self.at_once = _between(rows // node, _MOST_NODES_AT_ONCE)
        self.few = min(self.at_once, FEW)
        record = RECORD_BYTES + (LOW_BYTES if self._deep else 0)
        self.records = _between(records // record, _MOST_RECORDS)
        cell = 12 + 8 * int(max(levels["piece_words"].max(), levels["words"].max()))
        self.room = max(self.at_once, _between(cells // (3 * cell), _MOST_CELLS))
        node = int((12 + 4 * (levels["done_words"] + levels["up_words"])[1:]).sum())
        self.capacity = max(self.at_once, _between(nodes // node, _MOST_CELLS))
        self.arena = _between(corners // (CORNER_BYTES + TAG_BYTES), _MOST_CORNERS)

    def _take_rows(self, exact: bool) -> None:
        empty, pointer = self._backend.xp.empty, self._backend.pointer
        at_once, deep = self.at_once, self._deep
        widest = int(self.levels["inputs"].max())
        bounded = exact and not deep
        self.outputs = empty(
            3 * at_once * int((self.levels["inputs"] * self.levels["slices"]).max())
        )
        self.bounds = empty(at_once * widest if bounded else 0, np.float32)
        self.products: list[Any] = []
        self.errors: list[Any] = []
        self.maps: list[Any] = []
        self._chunks: list[Any] = []
        for level, later in zip(self.levels, self._read_later, strict=True):
            width = int(level["width"]) if level["inputs"] else 0
            together = empty((int(level["slices"]), 3 * at_once * width))
            self.products.append([together[k] for k in range(len(together))])
            self.errors.append(empty(at_once * width if bounded else 0, np.float32))
            level["slice"] = 3 * at_once * width
            if width:
                level["products"] = pointer(together)
                level["errors"] = pointer(self.errors[-1]) if bounded else 0
                level["outputs"] = pointer(self.outputs)
                level["bounds"] = pointer(self.bounds) if bounded else 0
            kept = (7 if deep else 4) * (at_once if later else self.few)
            self.maps.append(empty(kept * int(level["width"])))
            level["maps"] = pointer(self.maps[-1])
            if deep:
                for name, numbers in (("scales", 3), ("known", 6)):
                    self._chunks.append(empty(at_once * numbers))
                    level[name] = pointer(self._chunks[-1])
            sizes = {"sure": level["piece_words"], "crossing": level["words"]}
            for name, words in {**sizes, "record": 1, "crossings": 1}.items():
                self._chunks.append(empty(max(1, at_once * int(words)), np.uint32))
                level[name] = pointer(self._chunks[-1])

    def _take_nodes(self) -> None:
        empty, pointer = self._backend.xp.empty, self._backend.pointer
        self.starts: list[Any] = [None]
        self.counts: list[Any] = [None]
        self.parents: list[Any] = [None]
        self.done: list[Any] = [None]
        self._up: list[Any] = []
        for level in self.levels[1:]:
            level["capacity"] = self.capacity
            for name, arrays in (
                ("start", self.starts),
                ("n", self.counts),
                ("parent", self.parents),
            ):
                arrays.append(empty(self.capacity, np.int32))
                level[name] = pointer(arrays[-1])
            self.done.append(empty((self.capacity, int(level["done_words"])), np.uint32))
            level["done"] = pointer(self.done[-1]) if level["done_words"] else 0
            self._up.append(empty(max(1, self.capacity * int(level["up_words"])), np.uint32))
            level["up"] = pointer(self._up[-1])

    def _take_engine(
        self,
        flat: FlatNetwork,
        device: DeviceNetwork,
        *,
        exact: bool,
        store: bool,
        tolerance: float,
    ) -> None:
        backend, levels = self._backend, self.levels
        empty, pointer = backend.xp.empty, backend.pointer
        engine = np.zeros(1, ENGINE)
        record = engine[0]
        self.counters = backend.upload(np.zeros(N_COUNTERS, np.uint64))
        self.report = backend.shared(N_COUNTERS)
        self.report_argument = np.int64(self.report.ctypes.data)
        self.corners = empty(self.arena * CORNER_BYTES, np.uint8)
        self.tags = empty((self.arena, 2), np.int32)
        self._records = empty(self.records * RECORD_BYTES, np.uint8)
        self._lows = empty(self.records * LOW_BYTES if self._deep else 8, np.uint8)
        self.device_levels = backend.upload(levels.view(np.uint8))
        record["levels"], record["counters"] = pointer(self.device_levels), pointer(self.counters)
        record["corners"], record["tags"] = pointer(self.corners), pointer(self.tags)
        record["records"], record["most_records"] = pointer(self._records), self.records
        record["lows"], record["deep"] = pointer(self._lows), self._deep
        words = {"pieces": int(levels["piece_words"].max())}
        words["up"] = words["open"] = int(levels["words"].max())
        self.lists: dict[str, dict[str, Any]] = {}
        for name in ("cells", "other_cells", "unsure"):
            self.lists[name] = {
                column: empty(self.room * words.get(column, 1), np.uint32)
                for column in ENGINE[name].names or ()
            }
            for column, array in self.lists[name].items():
                record[name][column] = pointer(array)
        lines = flat.lines
        record["arena"], record["room"] = self.arena, self.room
        record["depth"], record["exact"], record["store"] = flat.depth, exact, store
        record["bits"], record["tolerance"] = device.bits, tolerance
        record["domain"], record["n_domain"] = device.domain, len(lines.domain_rows)
        record["scale_x"], record["scale_y"] = lines.scale
        record["infinity"] = np.inf
        # Without the names of the fields: CuPy takes long over them in every launch.
        self.engine = engine.view(f"V{engine.itemsize}")
        self.level_arguments = [
            levels[k : k + 1].view(f"V{levels.itemsize}") for k in range(len(levels))
        ]


def _between(number: int, most: int) -> int:
    return max(64, min(number, most))


#: The working memory that was used last, and for what.
_kept: list[tuple[DeviceNetwork, Backend, DeviceOptions, Buffers]] = []


def buffers_for(
    flat: FlatNetwork, device: DeviceNetwork, backend: Backend, options: DeviceOptions
) -> Buffers:
    """Working memory for a run; that of the last run if it was for the same network.

    Taking it costs as much time as counting some ten thousand regions.
    """
    with suppress(IndexError):  # there is nothing, or another thread was faster
        old_device, old_backend, old_options, buffers = _kept.pop()
        if old_device is device and old_backend is backend and old_options == options:
            return buffers
        del buffers
    return Buffers(flat, device, backend, options)


def keep_buffers(
    device: DeviceNetwork, backend: Backend, options: DeviceOptions, buffers: Buffers
) -> None:
    """Working memory that a finished run does not need any more."""
    _kept[:] = [(device, backend, options, buffers)]
