"""Regions to the disk in bounded memory: speed, bytes a region, peak memory.

    python -m benchmarks.stream                          one million regions
    python -m benchmarks.stream --regions 100000000      needs about 3 GB of disk
    python -m benchmarks.stream --again                  the pages anew from stream.json, without measuring

The network folds the unit square again and again, as Montúfar's does, but with hinges and heights
moved a little, so that it is in general position. Its regions are a grid of rectangles, so their number is known:
(p1 · p2 ···)² for p1, p2, … folds. Afterwards the folder is opened, counted, measured, and points are located in it.
Writes STREAM.md, stream.json and a section of RESULTS.md next to this file.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import resource
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import sections
from tropicell import Box, Network, Regions, enumerate_regions

HERE = Path(__file__).parent


def folding(folds: list[int], inputs: int = 2, seed: int = 0) -> Network:
    """Every layer folds every axis of the unit cube so many times, at places of its own."""
    rng = np.random.default_rng(seed)
    weights, biases = [], []
    back, offset = np.eye(inputs), np.zeros(inputs)  # from the layer before to the folded cube
    low, high = 0.0, 1.0
    for count in folds:
        forth, shift = np.zeros((inputs, inputs * count)), np.zeros(inputs)
        for axis in range(inputs):
            hinges = 0.05 + 0.9 * (np.arange(count) + rng.uniform(-0.2, 0.2, count)) / count
            hinges[0] = -0.1  # always active
            odd = np.arange(count + 1) % 2 == 1
            jitter = rng.uniform(0, 1e-6, count + 1)
            heights = np.where(odd, 0.95 + jitter, 0.05 - jitter)
            slopes = np.diff(heights) / np.diff([low, *hinges[1:], high])
            forth[axis, axis * count : (axis + 1) * count] = np.diff(slopes, prepend=0.0)
            shift[axis] = heights[0] - slopes[0] * (low - hinges[0])
            weights_here = np.tile(back[axis], (count, 1))
            if axis == 0:
                weights.append(weights_here)
                biases.append(offset[axis] - hinges)
            else:
                weights[-1] = np.concatenate([weights[-1], weights_here])
                biases[-1] = np.concatenate([biases[-1], offset[axis] - hinges])
        back, offset, low, high = forth, shift, 0.05, 0.95
    return Network.mlp([*weights, back], [*biases, offset])


def folds_for(regions: int) -> list[int]:
    """About equal folds whose product squared is about the number of regions."""
    side = max(2, round(math.sqrt(regions)))
    layers = max(1, round(math.log(side, 10)))
    folds = [max(2, int(side ** (1 / layers) + 1e-9))] * layers
    folds[0] = max(2, round(side / math.prod(folds[1:])))
    return folds


def peak() -> int:
    """Largest resident memory of this process so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def run(regions: int, workers: int, max_bytes: int, folder: Path) -> dict[str, Any]:
    """Stream, then read back."""
    folds = folds_for(regions)
    network, expected = folding(folds), math.prod(folds) ** 2
    enumerate_regions(folding([2]), Box(0, 1), out=folder / "warm")
    before = peak()
    started = time.perf_counter()
    stored = enumerate_regions(
        network, Box(0, 1), out=folder / "run", workers=workers, max_bytes=max_bytes
    )
    seconds = time.perf_counter() - started
    cpu = time.process_time()
    result: dict[str, Any] = {
        "folds": folds,
        "network": repr(network),
        "regions": len(stored),
        "expected": expected,
        "complete": stored.complete,
        "workers": workers,
        "max_bytes": max_bytes,
        "seconds": seconds,
        "regions_per_second": len(stored) / seconds,
        "disk_bytes": stored.nbytes,
        "bytes_per_region": stored.nbytes / len(stored),
        "files": len(stored.files),
        "peak_before_bytes": before,
        "peak_bytes": peak(),
        "load": os.getloadavg()[1],
    }
    result |= _reading(folder / "run")
    result["peak_after_reading_bytes"] = peak()
    result["cpu_seconds_reading"] = time.process_time() - cpu
    if not (result["complete"] and result["regions"] == expected):
        raise SystemExit(f"expected {expected} regions, found {result['regions']}")
    return result


def _reading(folder: Path) -> dict[str, Any]:
    """Seconds of what can be done with the folder."""
    regions = Regions.open(folder)
    points = np.random.default_rng(1).uniform(0, 1, size=(1000, 2))
    found: dict[str, Any] = {}
    for name, action in (
        ("total_volume", regions.total_volume),
        ("sample_1000", lambda: len(regions.sample(1000))),
        ("locate_1000_points", lambda: int((regions.locate(points) >= 0).sum())),
    ):
        started = time.perf_counter()
        found[name] = action()
        found[f"{name}_seconds"] = time.perf_counter() - started
    return found


def command(result: dict[str, Any]) -> str:
    return f"`python -m benchmarks.stream --regions {result['expected']}` on {result['machine']}"


def table(result: dict[str, Any]) -> str:
    mega = 2**20
    rows = {
        "network": f"{result['network']}, folds {result['folds']}",
        "regions": f"{result['regions']:,} (all; known: {result['expected']:,})",
        "time": f"{result['seconds']:,.0f} s with {result['workers']} thread(s), "
        f"{result['regions_per_second']:,.0f} regions/s (load of the machine: {result['load']:.0f})",
        "disk": f"{result['disk_bytes'] / mega:,.0f} MiB in {result['files']:,} files, "
        f"{result['bytes_per_region']:.1f} bytes a region",
        "peak memory": f"{result['peak_bytes'] / mega:,.0f} MiB, of which {result['peak_before_bytes'] / mega:,.0f} "
        f"MiB before the start (max_bytes: {result['max_bytes'] / mega:,.0f} MiB); "
        f"{result['peak_after_reading_bytes'] / mega:,.0f} MiB after reading",
        "sum of all areas": f"{result['total_volume']!r} in {result['total_volume_seconds']:.1f} s",
        "1,000 regions at random": f"{result['sample_1000_seconds']:.1f} s",
        "1,000 points located": f"{result['locate_1000_points']} found in {result['locate_1000_points_seconds']:.1f} s",
    }
    return "| | |\n| --- | --- |\n" + "\n".join(
        f"| {key} | {value} |" for key, value in rows.items()
    )


def report(result: dict[str, Any]) -> str:
    return f"# Regions streamed to the disk\n\nWritten by {command(result)}.\n\n{table(result)}\n"


def write(result: dict[str, Any], folder: Path) -> None:
    """Both pages."""
    (folder / "STREAM.md").write_text(report(result), encoding="utf-8")
    section = f"{command(result)}; also in [STREAM.md](STREAM.md).\n\n{table(result)}"
    sections.put(folder / "RESULTS.md", "Regions streamed to the disk", section)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--regions", type=int, default=10**6)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--max-bytes", type=int, default=256 * 2**20)
    parser.add_argument("--folder", type=Path, help="where to stream to (default: a temporary one)")
    parser.add_argument("--out", type=Path, default=HERE)
    parser.add_argument("--again", action="store_true", help="write the pages from stream.json")
    arguments = parser.parse_args()
    store = arguments.out / "stream.json"
    if arguments.again:
        write(json.loads(store.read_text(encoding="utf-8")), arguments.out)
        return
    folder = arguments.folder or Path(tempfile.mkdtemp())
    try:
        result = run(arguments.regions, arguments.workers, arguments.max_bytes, folder)
    finally:
        if arguments.folder is None:
            shutil.rmtree(folder)
    result["machine"] = f"{platform.machine()}, {os.cpu_count()} cores"
    store.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    write(result, arguments.out)
    print(report(result))


if __name__ == "__main__":
    main()
