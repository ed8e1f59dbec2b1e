"""Counts, rates and memory of the GPU engine, and whether its regions are those of the CPU engine.

    python -m benchmarks.gpu --out benchmarks --cpu-seconds 12

writes GPU.json, and from it GPU.md and a section of RESULTS.md; ``--again`` writes the pages only. Networks with less than a million regions are counted on the CPU too (deep ones are not), if that
takes no longer than ``--cpu-seconds``; counts of folding networks are known.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import gpu_networks as networks
from benchmarks import sections
from tropicell import Network, count_regions, enumerate_regions
from tropicell.engines.gpu import _digits
from tropicell.engines.gpu._cuda import CudaBackend, cuda_backend
from tropicell.engines.gpu.run import DeviceRun
from tropicell.errors import IncompleteError


class Stopwatch:
    """A backend that notes how long every kernel takes on the GPU."""

    def __init__(self, backend: CudaBackend) -> None:
        self._backend = backend
        self._events: list[tuple[str, Any, Any]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    def launch(self, kernel: str, items: int, *arguments: Any) -> None:
        self.timed(kernel, lambda: self._backend.launch(kernel, items, *arguments))

    def product(self, a: Any, b: Any, out: Any, rows: int, skip: int = 0) -> None:
        name = "product" if a.dtype == np.float64 else "product of bounds"
        self.timed(name, lambda: self._backend.product(a, b, out, rows, skip))

    def timed(self, name: str, work: Any) -> Any:
        first, last = (self._backend.xp.cuda.Event() for _ in range(2))
        first.record()
        result = work()
        last.record()
        self._events.append((name, first, last))
        return result

    def seconds(self) -> dict[str, tuple[int, float]]:
        """Launches and seconds of every kernel."""
        between = self._backend.xp.cuda.get_elapsed_time
        total: dict[str, tuple[int, float]] = defaultdict(lambda: (0, 0.0))
        for name, first, last in self._events:
            last.synchronize()
            launches, seconds = total[name]
            total[name] = launches + 1, seconds + between(first, last) / 1e3
        return total


def finished(run: DeviceRun) -> DeviceRun:
    for _ in run.batches():
        pass
    return run


def counting(
    name: str, network: Network, domain: Any, arithmetic: Any, repeats: int
) -> dict[str, Any]:
    """Seconds of some counts (the first one sends the network), and where the time goes."""
    backend = cuda_backend()
    assert isinstance(backend, CudaBackend)
    backend.xp.get_default_memory_pool().free_all_blocks()
    seconds = []
    for _ in range(repeats):
        started = time.perf_counter()
        count = count_regions(network, domain, arithmetic=arithmetic, device="cuda", progress=False)
        seconds.append(time.perf_counter() - started)
    watch = Stopwatch(backend)
    run = finished(DeviceRun(network, domain, arithmetic, store=False, backend=watch))
    assert run.count == count
    best = min(seconds)
    row = {
        "network": name,
        "arithmetic": arithmetic,
        "regions": count,
        "seconds": best,
        "first_seconds": seconds[0],
        "million_per_second": count / best / 1e6,
        "unsure_cells": run.stats()["unsure_cells"],
        "splits": run.stats()["splits"],
        "at_once": run._buffers.at_once,
        "stages": {key: (n, round(value, 6)) for key, (n, value) in watch.seconds().items()},
    }
    print(json.dumps(row), flush=True)
    return row


def storing(name: str, network: Network, domain: Any) -> dict[str, Any]:
    """Seconds of an enumeration that keeps everything."""
    seconds = []
    for _ in range(2):
        started = time.perf_counter()
        regions = enumerate_regions(network, domain, device="cuda", progress=False)
        seconds.append(time.perf_counter() - started)
    columns = {
        "patterns": regions.packed.nbytes,
        "witnesses": regions.witnesses.nbytes,
        "bounded and volumes": regions.bounded.nbytes + regions.volumes.nbytes,
        "corners": regions.corners.nbytes,
        "facets": regions.facet_lines.nbytes,
    }
    row = {
        "network": name,
        "regions": len(regions),
        "seconds": min(seconds),
        "million_per_second": len(regions) / min(seconds) / 1e6,
        "bytes": {key: value / len(regions) for key, value in columns.items()},
        "volume": float(regions.volumes.sum()),
    }
    print(json.dumps(row), flush=True)
    return row


def on_cpu(network: Network, domain: Any, seconds: float) -> tuple[int | None, float]:
    started = time.perf_counter()
    try:
        count = count_regions(network, domain, max_seconds=seconds, progress=False)
    except IncompleteError:
        return None, time.perf_counter() - started
    return count, time.perf_counter() - started


def agreement(nets: int, *, digits: bool) -> list[dict[str, Any]]:
    """Small networks of all kinds, stored and counted, on the GPU and the CPU: the same patterns?

    `digits`: with twice the digits, which otherwise are for deep networks only.
    """
    if digits:
        limits = _digits.MOST_DOUBTS, _digits.MOST_DOUBTS_OF_LAYER
        _digits.MOST_DOUBTS, _digits.MOST_DOUBTS_OF_LAYER = -1.0, 0.0
        try:
            return [
                {**row, "kind": row["kind"] + ", twice the digits"}
                for row in agreement(nets, digits=False)
            ]
        finally:
            _digits.MOST_DOUBTS, _digits.MOST_DOUBTS_OF_LAYER = limits
    rows = []
    for kind in networks.KINDS:
        row = {"kind": kind, "networks": 0, "regions": 0, "unsure_cells": 0, "differences": 0}
        for seed in range(nets):
            network, domain = networks.small(kind, seed)
            mine = enumerate_regions(network, domain, device="cuda", progress=False)
            count = count_regions(network, domain, device="cuda", progress=False)
            other = enumerate_regions(network, domain, progress=False)
            same = len(mine) == len(other) == count
            same = same and _words(mine) == _words(other)
            same = same and np.allclose(
                np.sort(mine.volumes), np.sort(other.volumes), rtol=1e-6, atol=1e-9
            )
            row["networks"] += 1
            row["regions"] += len(other)
            row["unsure_cells"] += mine.stats["unsure_cells"]
            row["differences"] += not same
            if not same:
                print("DIFFERENT", kind, seed, len(mine), count, len(other), flush=True)
        print(json.dumps(row), flush=True)
        rows.append(row)
    return rows


def _words(regions: Any) -> set[bytes]:
    return set(map(bytes, regions.packed.words))


def page(result: dict[str, Any]) -> str:
    """GPU.md."""
    lines = [
        "# The GPU engine, measured",
        "",
        f"On one {result['device']}, with `make bench-gpu`. All numbers are in GPU.json.",
        "",
        "## Counting",
        "",
        'Best of some runs of `count_regions(..., device="cuda")`, all included but the compilation of the kernels. *Known*: by the formula for',
        "folding networks, or counted by the CPU engine (exact, one core of the same machine; the first of its times includes the",
        "compilation of its kernels). *Decided exactly*: cells that went to the CPU's integers.",
        "",
        "| network | arithmetic | regions | known | seconds | million regions/s | CPU seconds | decided exactly |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in result["counting"]:
        known = row["known"] or row.get("cpu")
        cpu = f"{row['cpu_seconds']:.2f}" if row.get("cpu") else ""
        lines.append(
            f"| {row['network']} | {row['arithmetic']} | {row['regions']:,} | {f'{known:,}' if known else ''} | {row['seconds']:.4f} "
            f"| {row['million_per_second']:.1f} | {cpu} | {row['unsure_cells']} |"
        )
    lines += ["", "## Storing", "", "Everything that the CPU engine stores, in main memory.", ""]
    lines += [
        "| network | regions | seconds | million regions/s | bytes a region | without corners and facets |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in result["storing"]:
        sizes = row["bytes"]
        few = sum(sizes[key] for key in ("patterns", "witnesses", "bounded and volumes"))
        lines.append(
            f"| {row['network']} | {row['regions']:,} | {row['seconds']:.3f} | {row['million_per_second']:.2f} | {sum(sizes.values()):.0f} | {few:.0f} |"
        )
    lines += [
        "",
        "## The same regions as on the CPU?",
        "",
        "Small networks, stored and counted in exact arithmetic, on all of R², boxes, quadrants and half-planes: patterns and volumes are compared.",
        "",
    ]
    lines += [
        "| kind | networks | regions | cells decided exactly | networks that differ |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {row['kind']} | {row['networks']} | {row['regions']} | {row['unsure_cells']} | {row['differences']} |"
        for row in result["agreement"]
    ]
    return "\n".join(lines) + "\n"


def section(result: dict[str, Any]) -> str:
    """What RESULTS.md says: counting in exact arithmetic."""
    lines = [
        f"`make bench-gpu` on one {result['device']}: counting in exact arithmetic. Storing, float arithmetic, and whether the regions are those of",
        "the CPU: [GPU.md](GPU.md).",
        "",
        "| network | regions | seconds | million regions/s |",
        "| --- | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {row['network']} | {row['regions']:,} | {row['seconds']:.4f} | {row['million_per_second']:,.1f} |"
        for row in result["counting"]
        if row["arithmetic"] == "exact"
    ]
    return "\n".join(lines)


def write(result: dict[str, Any], folder: Path) -> None:
    """Both pages."""
    (folder / "GPU.md").write_text(page(result), encoding="utf-8")
    sections.put(folder / "RESULTS.md", "GPU", section(result))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cpu-seconds", type=float, default=0.0)
    parser.add_argument("--nets", type=int, default=20)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--again", action="store_true", help="write the pages from GPU.json")
    options = parser.parse_args()
    out = options.out / "GPU.json"
    if options.again:
        write(json.loads(out.read_text(encoding="utf-8")), options.out)
        return
    backend = cuda_backend()
    if isinstance(backend, str):
        raise SystemExit(backend)
    device = backend.xp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    result: dict[str, Any] = {"device": device, "counting": [], "storing": [], "agreement": []}

    def save() -> None:
        out.write_text(json.dumps(result, indent=1), encoding="utf-8")

    for case in networks.cases():
        if options.only and case.name not in options.only:
            continue
        network = case.make()
        for arithmetic in case.arithmetics:
            row = counting(case.name, network, case.domain, arithmetic, case.repeats)
            row["known"] = case.known(network)
            if options.cpu_seconds and case.cpu and row["regions"] < 1e6 and arithmetic == "exact":
                row["cpu"], row["cpu_seconds"] = on_cpu(network, case.domain, options.cpu_seconds)
            result["counting"].append(row)
            save()
        if case.store:
            result["storing"].append(storing(case.name, network, case.domain))
            save()
    if options.nets:
        result["agreement"] = agreement(options.nets, digits=False)
        result["agreement"] += agreement(options.nets, digits=True)
    save()
    write(result, options.out)


if __name__ == "__main__":
    main()
