"""relucent's local search on one network: breadth first from a point, up to a number of regions."""

from __future__ import annotations

import json
import sys
import time

import numpy as np
import relucent
import torch
from contestants.torch_networks import sequential
from torch import nn


def main() -> None:
    with np.load(sys.argv[1]) as task:
        count = int(task["count"])
        weights, biases = ([task[f"{name}{k}"] for k in range(count)] for name in "Wb")
        start, limit = torch.from_numpy(task["x"][None]), int(task["limit"])
    network = sequential(weights, biases)
    small = relucent.Complex(nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1)).double())
    small.bfs(nworkers=1, verbose=0)  # imports, licence, workers: not what we measure
    found = relucent.Complex(network)
    begun = time.perf_counter()
    found.bfs(start, nworkers=1, verbose=0, verify=False, max_polys=limit)
    print(json.dumps({"regions": len(found), "seconds": time.perf_counter() - begun}))


if __name__ == "__main__":
    main()
