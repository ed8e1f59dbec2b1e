"""Planes through real classifiers: regions a second, with and without a focus on the neurons that can change.

    python -m benchmarks.slices [--seconds S] [--only NAME]
    python -m benchmarks.slices --again    the section anew from slices.json, without measuring

Set OPENBLAS_NUM_THREADS=1, and TROPICELL_MODELS and TROPICELL_DATA to the folders of networks and images (see CONTRIBUTING.md);
what is not there is left out. The ResNet-18 is made here: 64 to 512 channels, 11 million parameters, as torch initialises them.
Times are CPU seconds of one thread, exact arithmetic, counting; what is made once for a network is left out.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import tropicell
from benchmarks import sections
from tropicell import Box, Network, Slice
from tropicell.engines.cells import focus
from tropicell.engines.cells.task import CellTask
from tropicell.engines.scheduler import UnitRun

HERE = Path(__file__).parent
STORE = HERE / "slices.json"
sys.path.insert(0, str(HERE.parent / "tests"))
TITLE = "Planes through real classifiers"

#: The network that is made here.
RESNET = "ResNet-18"

#: Networks, their images, and half the side of the square, in parts of the way from one image to another.
CASES = [
    ("mnist_cnn", "mnist", 0.05),
    ("mnist_cnn", "mnist", 0.2),
    ("mnist_cnn", "mnist", 1.0),
    ("cifar_resnet_3b", "cifar10_gray", 0.02),
    ("cifar_resnet_3b", "cifar10_gray", 0.1),
    ("cifar_resnet_3b", "cifar10_gray", 1.0),
    (RESNET, "cifar10_gray", 1e-4),
    (RESNET, "cifar10_gray", 1e-3),
]

Row = dict[str, Any]


def plane(data: str, inputs: int, half: float) -> Slice | None:
    """The plane through the first three images of a test set, around the first one."""
    file = Path(os.environ.get("TROPICELL_DATA", "")) / f"{data}.npz"
    if not file.is_file():
        return None
    flat = np.load(file)["x_test"][:3].reshape(3, -1) / 255.0
    images = np.tile(flat, inputs // flat.shape[1])
    return Slice(images[0], images[1:] - images[0], Box(-half, half))


def speed(network: Network, domain: Slice, seconds: float) -> tuple[int, float, bool]:
    """Regions, CPU seconds, and whether these are all."""
    fresh = Network(network.n_inputs, network.layers, network.output)
    task = CellTask(fresh, domain, store=False)
    run = UnitRun(task, max_seconds=seconds)
    started = time.thread_time()
    for _ in run.batches():
        pass
    return run.count, time.thread_time() - started, run.complete


@cache
def network_of(name: str) -> Network | None:
    """A network of the list, if it is there."""
    if name == RESNET:
        import torch

        from model_zoo import resnet18

        torch.manual_seed(0)
        return tropicell.from_torch(resnet18(64, pool=False).eval(), (1, 3, 32, 32))
    file = Path(os.environ.get("TROPICELL_MODELS", "")) / f"{name}.onnx"
    return tropicell.load(file) if file.is_file() else None


def measured(seconds: float, only: str) -> list[Row]:
    rows = []
    for name, data, half in CASES:
        network = network_of(name) if only in name else None
        domain = None if network is None else plane(data, network.n_inputs, half)
        if network is None or domain is None:
            continue
        speed(network, domain, min(5.0, seconds))
        row: Row = {"network": name, "neurons": network.n_neurons, "half": half, "limit": seconds}
        row["regions"], row["seconds"], row["complete"] = speed(network, domain, seconds)
        with patch.object(focus, "_is_heavy", lambda _: False):
            row["plain_regions"], row["plain_seconds"], complete = speed(network, domain, seconds)
        row["equal"] = (
            row["regions"] == row["plain_regions"] if complete and row["complete"] else None
        )
        print(row, flush=True)
        rows.append(row)
    return rows


def report(data: dict[str, Any]) -> str:
    """The section."""
    about = data["about"]
    lines = [
        "Squares in the plane through the first three images of a test set, around the first one, counted exactly by one thread: by a search that looks at all neurons on every cell, and by one that "
        f"looks at those that can change (`engines/cells/focus.py`). Each search had the seconds of the last column, on a machine with other work to do; ≥: not complete then. The ResNet-18 has random weights. "
        f"tropicell {about['version']}, Python {about['python']}, {about['machine']}, load {about['load']}.",
        "",
        "| network | neurons | half the side | regions | regions/s | all neurons on every cell, regions/s | ratio | same count | seconds it had |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- | ---: |",
    ]
    for row in data["rows"]:
        now, plain = row["regions"] / row["seconds"], row["plain_regions"] / row["plain_seconds"]
        ratio = f"{now / plain:.1f}" if now and plain else "–"
        same = {None: "–", True: "yes", False: "**no**"}[row["equal"]]
        lines.append(
            f"| {row['network']} | {row['neurons']:,} | {row['half']:g} | {'' if row['complete'] else '≥ '}{row['regions']:,} | {_rate(now)} | {_rate(plain)} | {ratio} | {same} | {row['limit']:g} |"
        )
    return "\n".join(lines)


def _rate(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=20.0, help="the most for one search")
    parser.add_argument("--only", default="", help="networks whose names contain this")
    parser.add_argument("--again", action="store_true", help="write the section anew")
    arguments = parser.parse_args()
    if not arguments.again:
        about = {
            "version": tropicell.__version__,
            "python": platform.python_version(),
            "machine": platform.machine(),
            "load": round(os.getloadavg()[0], 1),
        }
        rows = measured(arguments.seconds, arguments.only)
        if arguments.only and STORE.exists():
            before = json.loads(STORE.read_text())["rows"]
            rows = [row for row in before if arguments.only not in row["network"]] + rows
        STORE.write_text(json.dumps({"about": about, "rows": rows}, indent=1) + "\n")
    sections.put(HERE / "RESULTS.md", TITLE, report(json.loads(STORE.read_text())))


if __name__ == "__main__":
    main()
