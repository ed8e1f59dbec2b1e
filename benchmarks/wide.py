"""Neighbourhoods in hundreds of dimensions: regions of real classifiers in balls around real images.

    python -m benchmarks.wide [--quick] [--seconds S] [--only NAME …]
    python -m benchmarks.wide --again    the section anew from wide.json, without measuring

Set OPENBLAS_NUM_THREADS=1, and TROPICELL_MODELS and TROPICELL_DATA to the folders of networks and images (see
CONTRIBUTING.md); what is not there is left out, and keeps the figures of an earlier run. Times are CPU seconds of one thread:
`fixed` is for finding the neurons that can't change, `search` for all regions.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tropicell
from benchmarks import sections
from tropicell import Ball, Box, Network
from tropicell.engines import table
from tropicell.engines.scheduler import UnitRun
from tropicell.engines.wide.task import WideTask
from tropicell.network.domains import Domain, Norm

HERE = Path(__file__).parent
STORE = HERE / "wide.json"
TITLE = "Neighbourhoods"

Row = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A network, and balls around an image."""

    network: str
    data: str
    norm: Norm
    radii: tuple[float, ...]
    image: int = 0


CASES = [
    Case("mnist_fc_256x2", "mnist", "linf", (1e-6, 1e-3, 5e-3, 1e-2)),
    Case("mnist_fc_256x2", "mnist", "l2", (0.05, 0.1)),
    Case("mnist_fc_256x2", "mnist", "l1", (0.5, 1.0)),
    Case("mnist_cnn", "mnist", "linf", (1e-6, 5e-3, 1e-2, 1.5e-2, 2e-2)),
    Case("mnist_cnn", "mnist", "l2", (0.05, 0.1)),
    Case("cifar_resnet_3b", "cifar10_gray", "linf", (1e-6, 1e-4, 2e-4, 3e-4)),
    Case("cifar_resnet_3b", "cifar10_gray", "l2", (2e-3, 5e-3)),
]


def image_of(case: Case, inputs: int) -> np.ndarray | None:
    """An image of the test set with values from 0 to 1; a gray one stands for all three colours."""
    file = Path(os.environ.get("TROPICELL_DATA", "")) / f"{case.data}.npz"
    if not file.is_file():
        return None
    flat = np.load(file)["x_test"][case.image].ravel() / 255.0
    return np.tile(flat, inputs // flat.size)


def model_of(case: Case) -> Network | None:
    file = Path(os.environ.get("TROPICELL_MODELS", "")) / f"{case.network}.onnx"
    return tropicell.load(file) if file.is_file() else None


def narrow(sizes: tuple[int, ...], seed: int) -> Network:
    """PyTorch's default initialisation."""
    rng = np.random.default_rng(seed)
    weights, biases = [], []
    for m, n in itertools.pairwise(sizes):
        weights.append(rng.uniform(-1, 1, (n, m)) / np.sqrt(m))
        biases.append(rng.uniform(-1, 1, n) / np.sqrt(m))
    return Network.mlp(weights, biases)


def measure(name: str, network: Network, domain: Domain, what: str, seconds: float) -> Row:
    """One search, in CPU seconds of one thread."""
    started = time.process_time()
    task = WideTask(network, domain, store=False)
    fixed = time.process_time() - started
    run = UnitRun(task, max_seconds=seconds)
    started = time.process_time()
    for _ in run.batches():
        pass
    spent = time.process_time() - started
    stats = run.stats()
    row = {
        "network": name,
        "domain": what,
        "inputs": network.n_inputs,
        "neurons": network.n_neurons,
        "open": len(task.plan.reduced.neurons),
        "regions": run.count,
        "complete": run.complete,
        "fixed": fixed,
        "search": spent,
        "programs": stats["lps"],
        "pivots": stats["pivots"],
        "exact": stats["exact_decisions"],
    }
    print(row, flush=True)
    return row


def measured(arguments: argparse.Namespace) -> list[Row]:
    table.load("wide", 784)
    rows = []
    for case in CASES:
        if arguments.only and not case.network.startswith(tuple(arguments.only)):
            continue
        network = model_of(case)
        image = None if network is None else image_of(case, network.n_inputs)
        if network is None or image is None:
            continue
        for radius in case.radii[:2] if arguments.quick else case.radii:
            ball = Ball(image, radius, case.norm)
            what = f"{case.norm}, {radius:g}"
            rows.append(measure(case.network, network, ball, what, arguments.seconds))
    sizes = (784, 8, 8, 8, 8, 10)
    if not arguments.only or "random" in arguments.only:
        network = narrow(sizes, 0)
        name = "random " + "-".join(map(str, sizes))
        rows.append(measure(name, network, Box(0, 1), "pixel box", arguments.seconds))
    return rows


def report(data: dict[str, Any]) -> str:
    """The section."""
    about, rows = data["about"], data["rows"]
    lines = [
        "All regions of networks in balls around the first image of a test set (in [0, 1]; gray where the network wants colours), and of "
        "a network with a narrow first layer in all of the pixel box, by the engine `wide`, exactly. Seconds are CPU seconds of one thread: "
        "for finding the neurons that can't change their piece, and for the search.",
        "",
        f"tropicell {about['version']}, Python {about['python']}, {about['machine']}, load {about['load']}.",
        "",
        "| network | inputs | neurons | domain | open neurons | regions | fixed, s | search, s | µs a region | linear programs a region | exact decisions |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        regions = f"{row['regions']:,}" + ("" if row["complete"] else " (not all)")
        each = max(1, row["regions"])
        lines.append(
            f"| {row['network']} | {row['inputs']} | {row['neurons']:,} | {row['domain']} | {row['open']} | {regions} "
            f"| {row['fixed']:.3f} | {row['search']:.3f} | {1e6 * row['search'] / each:.0f} | {row['programs'] / each:.1f} | {row['exact']} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two radii each, nothing written")
    parser.add_argument("--only", nargs="+", help="networks whose names begin so")
    parser.add_argument("--seconds", type=float, default=60.0, help="for one search, at most")
    parser.add_argument("--out", type=Path, default=HERE / "RESULTS.md")
    parser.add_argument("--again", action="store_true", help="write the section from wide.json")
    arguments = parser.parse_args()
    store = arguments.out.with_name(STORE.name)
    known = json.loads(store.read_text(encoding="utf-8")) if store.exists() else {"rows": []}
    if arguments.again:
        sections.put(arguments.out, TITLE, report(known))
        return
    rows = measured(arguments)
    about = sections.about()
    about["machine"] += f", {os.cpu_count()} cores"
    if arguments.quick:
        print(report({"rows": rows, "about": about}))
        return
    new = {(row["network"], row["domain"]): row for row in rows}
    old = {(row["network"], row["domain"]): row for row in known["rows"]}
    data = {"rows": list((old | new).values()), "about": about}
    store.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    sections.put(arguments.out, TITLE, report(data))


if __name__ == "__main__":
    main()
