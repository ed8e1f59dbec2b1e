"""relucent's topology: regions, all faces, Betti numbers."""

from __future__ import annotations

import json
import sys
import time

import numpy as np
import relucent
import torch
from contestants.protocol import Task
from contestants.torch_networks import sequential
from torch import nn

WAYS = ("truncate", "one_point", "borel_moore")


def main() -> None:
    task = Task.read(sys.argv[1])
    network = sequential(task.weights, task.biases)
    torch.manual_seed(0)
    inputs = task.weights[0].shape[1]
    tiny = nn.Sequential(
        nn.Linear(inputs, 4), nn.ReLU(), nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 1)
    )
    small = relucent.Complex(tiny.double())
    small.bfs(nworkers=1, verbose=0)  # imports, licence, workers: not what we measure
    small.chain_complex(verbose=0)
    for way in WAYS:
        small.betti_numbers(compactify=way, verbose=0, nworkers=1)
    found = relucent.Complex(network)
    start = torch.from_numpy(np.full((1, inputs), 1e-3))
    times = [time.process_time()]
    found.bfs(start, nworkers=1, verbose=0, verify=True)
    times.append(time.process_time())
    levels = found.chain_complex(verbose=0)
    times.append(time.process_time())
    betti = [
        [numbers.get(k, 0) for k in range(found.dim + 1)]
        for numbers in (found.betti_numbers(compactify=way, verbose=0, nworkers=1) for way in WAYS)
    ]
    times.append(time.process_time())
    regions, faces, numbers = np.diff(times).tolist()
    figures = {
        "regions": len(found),
        "faces": [len(level) for level in levels][::-1],
        "betti": betti,
        "seconds": {"regions": regions, "faces": faces, "betti": numbers},
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
