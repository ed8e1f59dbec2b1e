"""Designs for point location that were compared: a tree of cuts, a grid, walking from a witness, the network."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numba import njit
from scipy.spatial import cKDTree

from benchmarks.cases import Case
from benchmarks.timing import take_turns
from tropicell import Box, LastRegionPredictor, Network, RegionLocator, Regions, enumerate_regions
from tropicell.predict._locating import _walk

BATCH = 100_000
#: Cells of a grid for each region.
CELLS = 4


@njit(nogil=True, error_model="numpy")
def _candidates(low, high, cells, count, fill, ends, lists):  # type: ignore[no-untyped-def]
    """Put every region into the lists of all cells that its bounding box meets."""
    d = low.shape[1]
    place = np.empty(d, np.int64)
    for region in range(len(low)):
        place[:] = low[region]
        while True:
            cell = 0
            for j in range(d):
                cell = cell * cells + place[j]
            if fill:
                lists[ends[cell] - count[cell]] = region
                count[cell] -= 1
            else:
                count[cell] += 1
            j = d - 1
            while j >= 0 and place[j] == high[region, j]:
                place[j] = low[region, j]
                j -= 1
            if j < 0:
                break
            place[j] += 1


@njit(nogil=True, error_model="numpy")
def _search(x, cells, ends, lists, table, sides, side_ends, found):  # type: ignore[no-untyped-def]
    """The first region of the point's cell whose sides all have the point inside."""
    d = x.shape[1]
    for i in range(len(x)):
        cell = 0
        for j in range(d):
            cell = cell * cells + min(cells - 1, int((x[i, j] + 1) * 0.5 * cells))
        found[i] = -1
        for k in range(ends[cell - 1] if cell else 0, ends[cell]):
            region, inside = lists[k], True
            for s in range(side_ends[region - 1] if region else 0, side_ends[region]):
                row = sides[s, 0] >> 1
                value = table[row, d]
                for j in range(d):
                    value += table[row, j] * x[i, j]
                if (value > 0) != (sides[s, 0] & 1):
                    inside = False
                    break
            if inside:
                found[i] = region
                break


@njit(nogil=True, error_model="numpy")
def _walk_all(x, start, table, links, sides, ends, found):  # type: ignore[no-untyped-def]
    for i in range(len(x)):
        found[i] = _walk(x[i], table, links, sides, ends, start[i], 1000)


class Grid:
    """A uniform grid over the box [-1, 1]^d; every cell lists the regions that may meet it."""

    def __init__(self, regions: Regions, follower: LastRegionPredictor) -> None:
        d = regions.network.n_inputs
        self.cells = max(1, round((CELLS * len(regions)) ** (1 / d)))
        corners, starts = (
            regions.corners.values[:, :d],
            regions.corners.ends - regions.corners.counts,
        )
        low = np.minimum.reduceat(corners, starts)
        high = np.maximum.reduceat(corners, starts)
        low, high = (
            np.clip(((c + 1) / 2 * self.cells).astype(np.int64), 0, self.cells - 1)
            for c in (low, high)
        )
        count = np.zeros(self.cells**d, np.int64)
        none = np.empty(0, np.int64)
        _candidates(low, high, self.cells, count, False, none, none)
        self.ends = np.cumsum(count)
        self.lists = np.empty(self.ends[-1], np.int32)
        _candidates(low, high, self.cells, count, True, self.ends, self.lists)
        self.tests = (follower._table, follower._sides, follower._ends)

    def locate(self, x: np.ndarray) -> np.ndarray:
        found = np.empty(len(x), np.int64)
        _search(x, self.cells, self.ends, self.lists, *self.tests, found)
        return found

    @property
    def nbytes(self) -> int:
        return self.ends.nbytes + self.lists.nbytes + sum(part.nbytes for part in self.tests)


class NearestWitness:
    """The nearest witness by a k-d tree; from its region the walk begins."""

    def __init__(self, regions: Regions, follower: LastRegionPredictor) -> None:
        self.tree = cKDTree(regions.witnesses)
        self.follower = follower

    def locate(self, x: np.ndarray) -> np.ndarray:
        follower, found = self.follower, np.empty(len(x), np.int64)
        tables = (follower._table, follower._links, follower._sides, follower._ends)
        _walk_all(x, self.tree.query(x)[1], *tables, found)
        return found

    @property
    def nbytes(self) -> int:
        # the tree keeps the points and an index for each; its nodes come on top
        follower = self.follower
        own = self.tree.data.nbytes + self.tree.indices.nbytes
        return own + follower._table.nbytes + follower._sides.nbytes + follower._ends.nbytes


def compare_designs(case: Case) -> dict[str, Any]:
    """Time per point in one thread, memory and time to build, for every design."""
    regions = enumerate_regions(Network.mlp(*case.arrays()), Box(-1, 1))
    x = np.random.default_rng(2).uniform(-1, 1, size=(BATCH, case.sizes[0]))
    follower = LastRegionPredictor(regions)
    _ = regions.corners
    designs: dict[str, tuple[Any, float]] = {}
    for name, make in (
        ("tree of cuts", lambda: RegionLocator(regions)),
        ("grid with lists of candidates", lambda: Grid(regions, follower)),
        ("walk from the nearest witness", lambda: NearestWitness(regions, follower)),
    ):
        make()
        started = time.perf_counter()
        designs[name] = make(), time.perf_counter() - started
    calls = {
        "tree of cuts": lambda: designs["tree of cuts"][0].locate(x, workers=1),
        "grid with lists of candidates": lambda: designs["grid with lists of candidates"][0].locate(
            x
        ),
        "walk from the nearest witness": lambda: designs["walk from the nearest witness"][0].locate(
            x
        ),
        "forward pass and hash table": lambda: regions.locate(x),
    }
    want = regions.locate(x)
    for name, call in calls.items():
        assert (call() == want).all(), name
    times = take_turns(calls, rounds=5)
    return {
        "case": case.name,
        "regions": len(regions),
        "designs": {
            name: {
                "seconds a point": seconds / BATCH,
                "bytes a region": designs[name][0].nbytes / len(regions)
                if name in designs
                else None,
                "seconds to build": designs[name][1] if name in designs else None,
            }
            for name, seconds in times.items()
        },
    }


def design_table(raw: list[dict[str, Any]]) -> list[str]:
    lines = ["### Designs for point location", ""]
    for entry in raw:
        lines += [
            f"{entry['case']}, {entry['regions']:,} regions, one thread, {BATCH:,} points:",
            "",
            "| design | per point | bytes a region | seconds to build |",
            "| --- | --- | --- | --- |",
        ]
        for name, result in entry["designs"].items():
            built = result["seconds to build"]
            cells = [f"{result['seconds a point'] * 1e9:,.0f} ns"]
            cells += (
                ["", ""] if built is None else [f"{result['bytes a region']:.0f}", f"{built:.2g}"]
            )
            lines.append(f"| {name} | {' | '.join(cells)} |")
        lines.append("")
    return lines
