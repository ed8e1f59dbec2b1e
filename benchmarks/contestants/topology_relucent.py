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


def main() -> None:
    task = Task.read(sys.argv[1])
    network = sequential(task.weights, task.biases)
    small = relucent.Complex(nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1)).double())
    small.bfs(nworkers=1, verbose=0)  # imports, licence, workers: not what we measure
    small.chain_complex(verbose=0)
    found = relucent.Complex(network)
    start = torch.from_numpy(np.full((1, task.weights[0].shape[1]), 1e-3))
    times = [time.process_time()]
    found.bfs(start, nworkers=1, verbose=0, verify=True)
    times.append(time.process_time())
    levels = found.chain_complex(verbose=0)
    times.append(time.process_time())
    betti = [
        [numbers.get(k, 0) for k in range(found.dim + 1)]
        for numbers in (
            found.betti_numbers(compactify=way, verbose=0, nworkers=1)
            for way in ("truncate", "one_point", "borel_moore")
        )
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
