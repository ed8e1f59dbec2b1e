"""relu_edge_subdivision: how many vertices and edges its complex has, and how many lie on the zero set.

The folder of a checkout is passed in the environment variable EDGE_SUBDIVISION. It works in float32.
"""

from __future__ import annotations

import json
import os
import sys
import time

import numpy as np
import torch
from contestants.protocol import Task

sys.path.insert(0, os.environ["EDGE_SUBDIVISION"])
from edge_subdivision import skeletal_subdivision
from NN import Net


def main() -> None:
    task = Task.read(sys.argv[1])
    torch.set_num_threads(1)
    network = Net([task.weights[0].shape[1], *(len(b) for b in task.biases)])
    with torch.no_grad():
        for layer, w, b in zip(network.fcs, task.weights, task.biases, strict=True):
            layer.weight.copy_(torch.from_numpy(w).float())
            layer.bias.copy_(torch.from_numpy(b.reshape(-1)).float())
        started = time.process_time()
        _, edges, signs = skeletal_subdivision(
            network,
            bbox=(-task.box, task.box),
            device=torch.device("cpu"),
            verbose=False,
            prune=bool(task.options.get("prune")),
        )
        seconds = time.process_time() - started
    zero = np.asarray(signs)[:, -1] == 0
    ends = zero[np.asarray(edges)].all(axis=1)
    figures = {
        "all": [len(zero), len(ends)],
        "surface": [int(zero.sum()), int(ends.sum())],
        "seconds": seconds,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
