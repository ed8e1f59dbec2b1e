"""One square of `benchmarks.slices`, counted by whichever tropicell is on the path: also by an old one.

    python benchmarks/slice_of.py NETWORK DATA HALF SECONDS

Prints regions, CPU seconds, and whether these are all, as JSON; or why the network was refused. Short counts are repeated, and the fastest is taken.
Only names that have been there for long are used.
"""

from __future__ import annotations

import json
import os
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import tropicell
from tropicell import Box, Network, Slice

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

#: The network that is made here.
RESNET = "ResNet-18"


def plane(data: str, inputs: int, half: float) -> Slice | None:
    """The plane through the first three images of a test set, around the first one."""
    file = Path(os.environ.get("TROPICELL_DATA", "")) / f"{data}.npz"
    if not file.is_file():
        return None
    flat = np.load(file)["x_test"][:3].reshape(3, -1) / 255.0
    images = np.tile(flat, inputs // flat.shape[1])
    return Slice(images[0], images[1:] - images[0], Box(-half, half))


@cache
def network_of(name: str) -> Network | None:
    """A network of the list, if it is there."""
    if name == RESNET:
        import torch

        from model_zoo import resnet18

        torch.manual_seed(0)
        return tropicell.from_torch(resnet18(64, pool=False).eval(), torch.zeros(1, 3, 32, 32))
    file = Path(os.environ.get("TROPICELL_MODELS", "")) / f"{name}.onnx"
    return tropicell.load(file) if file.is_file() else None


def counted(network: Network, domain: Slice, seconds: float) -> dict[str, Any]:
    """What the front door finds in so many seconds."""
    started, complete = time.process_time(), True
    try:
        regions = tropicell.count_regions(network, domain, max_seconds=seconds)
    except tropicell.IncompleteError as error:
        regions, complete = error.count, False
    return {
        "regions": regions,
        "seconds": time.process_time() - started,
        "complete": complete,
    }


def main() -> None:
    name, data, half, seconds = sys.argv[1:]
    try:
        network = network_of(name)
    except tropicell.TropicellError as error:
        print(json.dumps({"refused": str(error)}))
        return
    domain = None if network is None else plane(data, network.n_inputs, float(half))
    if network is None or domain is None:
        raise SystemExit("the network or its images are not there")
    counted(network, domain, 1.0)  # so that all is compiled, and made that is made once
    runs = [counted(network, domain, float(seconds))]
    while len(runs) < 7 and sum(run["seconds"] for run in runs) < 1.0:
        runs.append(counted(network, domain, float(seconds)))
    print(json.dumps(min(runs, key=lambda run: run["seconds"])))


if __name__ == "__main__":
    main()
