"""relucent's local search on one network: breadth first from a point, up to a number of regions."""

from __future__ import annotations

import json
import sys
import time

import numpy as np
import relucent
import torch
from torch import nn


def main() -> None:
    with np.load(sys.argv[1]) as task:
        count = int(task["count"])
        layers: list[nn.Module] = []
        for k in range(count):
            weight, bias = task[f"W{k}"], task[f"b{k}"]
            linear = nn.Linear(weight.shape[1], weight.shape[0]).double()
            with torch.no_grad():
                linear.weight.copy_(torch.from_numpy(weight))
                linear.bias.copy_(torch.from_numpy(bias))
            layers += [linear, nn.ReLU()]
        start, limit = torch.from_numpy(task["x"][None]), int(task["limit"])
    network = nn.Sequential(*layers[:-1])
    small = relucent.Complex(nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1)).double())
    small.bfs(nworkers=1, verbose=0)  # imports, licence, workers: not what we measure
    found = relucent.Complex(network)
    begun = time.perf_counter()
    found.bfs(start, nworkers=1, verbose=0, verify=False, max_polys=limit)
    print(json.dumps({"regions": len(found), "seconds": time.perf_counter() - begun}))


if __name__ == "__main__":
    main()
