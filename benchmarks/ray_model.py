"""What a Ray task costs, and what that says about a cluster.

    python -m benchmarks.ray_model               about a minute
    python -m benchmarks.ray_model --cores 2     with more cores of this machine
    python -m benchmarks.ray_model --again       the pages anew from ray_model.json, without measuring

A folding network with a known number of regions is counted and enumerated on a local Ray, with jobs of different sizes.
By least squares, seconds on all cores = regions / rate + tasks · overhead. The model in docs/cluster.md has these numbers, and so
does the prediction for 10^12 regions on 1,000 cores. Writes RAY.md, ray_model.json and a section of
RESULTS.md next to this file.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import pickle
import platform
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import ray

from benchmarks import sections
from benchmarks.stream import folding
from tropicell import Box, count_regions, enumerate_regions
from tropicell.search import cluster

HERE = Path(__file__).parent

FOLDS = [10, 10, 10]

#: Regions after which a job ends.
LIMITS = [1024, 2048, 4096, 8192, 32_768, 1_048_576]


class Observed(cluster.RayRun):
    """A run that notes how many bytes its jobs send to the workers and back, and the driver's own time."""

    sent = back = 0
    busy = 0.0

    def _take(self, ray: Any, reference: Any, job: cluster.ClusterJob) -> None:
        Observed.sent += len(pickle.dumps(job.units))
        started = time.thread_time()
        super()._take(ray, reference, job)
        Observed.busy += time.thread_time() - started
        Observed.back += sum(len(pickle.dumps(child.units)) for child in job.children)


def one(limit: int, store: bool, folder: Path) -> dict[str, Any]:
    """One enumeration with jobs of a size."""
    network, count = folding(FOLDS), math.prod(FOLDS) ** 2
    Observed.sent = Observed.back = 0
    Observed.busy = 0.0
    runs: list[Observed] = []

    def start(*arguments: Any) -> Observed:
        runs.append(Observed(*arguments))
        return runs[-1]

    with (
        mock.patch.object(cluster, "FIRST_LIMIT", min(limit, cluster.FIRST_LIMIT)),
        mock.patch.object(cluster, "LAST_LIMIT", limit),
        mock.patch.object(cluster, "RayRun", start),
    ):
        started, driver = time.perf_counter(), time.process_time()
        if store:
            found = enumerate_regions(network, Box(0, 1), out=folder, engine_backend="ray")
            regions, disk = len(found), found.nbytes
        else:
            regions, disk = count_regions(network, Box(0, 1), engine_backend="ray"), 0
        seconds, driver = time.perf_counter() - started, time.process_time() - driver
    assert regions == count
    stats = runs[0].stats()
    return {
        "limit": limit,
        "store": store,
        "regions": regions,
        "tasks": stats["tasks"],
        "seconds": seconds,
        "task_seconds": stats["task_seconds"],
        "driver_seconds": driver,
        "bytes_sent_per_task": Observed.sent / stats["tasks"],
        "bytes_back_per_task": Observed.back / stats["tasks"],
        "disk_bytes_per_region": disk / regions,
    }


def fitted(rows: list[dict[str, Any]], cores: int) -> dict[str, float]:
    """Rate of a core and overhead of a task: cores · seconds = regions / rate + tasks · overhead."""
    a = np.array([[row["regions"], row["tasks"]] for row in rows], dtype=float)
    b = np.array([row["seconds"] * cores for row in rows])
    scale = 1 / b  # relative errors count alike
    per_region, overhead = np.linalg.lstsq(a * scale[:, None], b * scale, rcond=None)[0]
    tasks = np.array([[1.0, row["tasks"]] for row in rows])
    driver = np.linalg.lstsq(tasks, np.array([row["driver_seconds"] for row in rows]), rcond=None)[
        0
    ][1]
    # How full jobs are, where there are many of them.
    fill = min(row["regions"] / row["tasks"] / row["limit"] for row in rows if row["tasks"] > 100)
    return {
        "rate": 1 / per_region,
        "overhead": max(overhead, 0.0),
        "driver": float(driver),
        "bytes_per_task": float(
            max(r["bytes_sent_per_task"] + r["bytes_back_per_task"] for r in rows)
        ),
        "disk_bytes_per_region": rows[-1]["disk_bytes_per_region"],
        "fill": fill,
    }


def predicted(model: dict[str, float], regions: float, cores: int) -> dict[str, float]:
    """Time and efficiency; see docs/cluster.md for the formula."""
    largest = cluster.last_limit(cores)
    mean = model["fill"] * largest
    work = regions / model["rate"] / cores
    overhead = model["overhead"] * regions / mean / cores
    tail = largest / model["rate"]
    driver = model["driver"] * regions / mean
    seconds = max(work + overhead + tail, driver)
    return {
        "seconds": seconds,
        "efficiency": work / seconds,
        "driver_share": driver / seconds,
        "tasks": regions / mean,
        "regions_per_task": mean,
        "disk_bytes": regions * model["disk_bytes_per_region"],
        "disk_bytes_per_second": regions * model["disk_bytes_per_region"] / seconds,
    }


def command(data: dict[str, Any]) -> str:
    return (
        f"`python -m benchmarks.ray_model --cores {data['cores']}` on {data['machine']}, load of the machine {data['load']:.0f};\n"
        f"Ray {data['ray']}, folding network with {data['rows'][0]['regions']:,} regions."
    )


def section(data: dict[str, Any]) -> str:
    """What RESULTS.md says: the fitted model and what follows from it."""
    lines = [
        f"{command(data)} The runs that the model is fitted to are in [RAY.md](RAY.md).",
        "",
        "| | regions/s a core | ms a task | ms a task in the driver | bytes a region on the disk | 10^12 regions on 1,000 cores | efficiency |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for kind, m in data["model"].items():
        p = data["prediction"][kind]
        lines.append(
            f"| {kind} | {m['rate']:,.0f} | {m['overhead'] * 1e3:.1f} | {m['driver'] * 1e3:.1f} | {m['disk_bytes_per_region']:.1f} "
            f"| {p['seconds'] / 60:,.0f} minutes (predicted) | {p['efficiency']:.0%} |"
        )
    return "\n".join(lines)


def write(data: dict[str, Any], folder: Path) -> None:
    """Both pages."""
    (folder / "RAY.md").write_text(report(data), encoding="utf-8")
    sections.put(folder / "RESULTS.md", "Ray", section(data))


def report(data: dict[str, Any]) -> str:
    lines = [
        "# What a Ray task costs",
        "",
        f"Written by {command(data)}",
        "",
        "| what | job ends after | tasks | seconds | regions/s | bytes of units a task, there and back |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in data["rows"]:
        lines.append(
            f"| {'enumerate' if row['store'] else 'count'} | {row['limit']:,} | {row['tasks']} | {row['seconds']:.2f} | "
            f"{row['regions'] / row['seconds']:,.0f} | {row['bytes_sent_per_task']:,.0f} + {row['bytes_back_per_task']:,.0f} |"
        )
    for kind in ("count", "enumerate"):
        m, p = data["model"][kind], data["prediction"][kind]
        lines += [
            "",
            f"**{kind}**: {m['rate']:,.0f} regions/s a core, {m['overhead'] * 1e3:.1f} ms a task, {m['driver'] * 1e3:.1f} ms a task in the "
            f"driver, {m['disk_bytes_per_region']:.1f} bytes a region on the disk. 10^12 regions on 1,000 cores, in {p['tasks']:,.0f} tasks of "
            f"{p['regions_per_task']:,.0f} regions: {p['seconds'] / 60:,.0f} minutes, efficiency {p['efficiency']:.0%}, the driver busy for {p['driver_share']:.0%} of it"
            + (
                f", {p['disk_bytes'] / 1e12:.0f} TB at {p['disk_bytes_per_second'] / 1e9:.1f} GB/s."
                if kind == "enumerate"
                else "."
            ),
        ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--out", type=Path, default=HERE)
    parser.add_argument("--again", action="store_true", help="write the pages from ray_model.json")
    arguments = parser.parse_args()
    file = arguments.out / "ray_model.json"
    if arguments.again:
        write(json.loads(file.read_text(encoding="utf-8")), arguments.out)
        return
    ray.init(num_cpus=arguments.cores, include_dashboard=False, log_to_driver=False)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for store in (False, True):
            one(LIMITS[0], store, Path(folder) / f"warm{store}")  # workers load the engine
            for limit in LIMITS:
                rows.append(one(limit, store, Path(folder) / f"{store}{limit}"))
                print(json.dumps(rows[-1]), flush=True)
    ray.shutdown()
    model = {
        kind: fitted([row for row in rows if row["store"] == store], arguments.cores)
        for kind, store in (("count", False), ("enumerate", True))
    }
    data = {
        "ray": ray.__version__,
        "cores": arguments.cores,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "load": os.getloadavg()[1],
        "rows": rows,
        "model": model,
        "prediction": {kind: predicted(m, 1e12, 1000) for kind, m in model.items()},
    }
    file.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    write(data, arguments.out)
    print(report(data))


if __name__ == "__main__":
    main()
