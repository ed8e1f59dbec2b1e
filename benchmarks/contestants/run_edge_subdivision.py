"""relu_edge_subdivision: sign vectors of edges in PyTorch; boxes and generic position only.

The folder of a checkout is passed in the environment variable EDGE_SUBDIVISION.
"""

from __future__ import annotations

import os
import sys
import time
from itertools import product

import numpy as np
import torch
from contestants.protocol import Task, report

sys.path.insert(0, os.environ["EDGE_SUBDIVISION"])
from edge_subdivision import skeletal_subdivision
from NN import Net


def count(signs: np.ndarray, hidden: int) -> int:
    """Patterns of the cells around the vertices: every zero of a vertex can become + or -."""
    found: set[bytes] = set()
    zeros = signs == 0
    most = int(zeros.sum(axis=1).max())
    for choice in product((-1, 1), repeat=most):
        filled = signs.copy()
        order = np.cumsum(zeros, axis=1) - 1
        filled[zeros] = np.array(choice, dtype=signs.dtype)[order[zeros]]
        inside = (filled[:, :-hidden] > 0).all(axis=1)  # the box's own hyperplanes
        found.update(row.tobytes() for row in filled[inside, -hidden:])
    return len(found)


def main() -> None:
    task = Task.read(sys.argv[1])
    if task.box is None:
        report(0, 0.0, note="boxes only")
        return
    torch.set_num_threads(1)
    sizes = [task.weights[0].shape[1], *(len(b) for b in task.biases)]

    def run(ks: list[int], weights: list[np.ndarray], biases: list[np.ndarray]) -> tuple:
        network = Net(ks)
        with torch.no_grad():
            for layer, w, b in zip(network.fcs, weights, biases, strict=True):
                layer.weight.copy_(torch.from_numpy(w).float())
                layer.bias.copy_(torch.from_numpy(b).float())
            # Its last layer counts as neurons: leave the output out.
            network.ls = network.ls[:-1]
            return skeletal_subdivision(
                network, bbox=(-task.box, task.box), device=torch.device("cpu"), verbose=False
            )

    run([2, 2, 1], [np.eye(2), np.ones((1, 2))], [np.zeros(2) + 0.1, np.zeros(1)])  # warm up
    started = time.perf_counter()
    _, _, signs = run(sizes, task.weights, task.biases)
    seconds = time.perf_counter() - started
    hidden = sum(sizes[1:-1])
    report(count(signs.numpy(), hidden), seconds)


if __name__ == "__main__":
    main()
