"""relucent: breadth-first facet crossing, one Gurobi LP per neuron and region."""

from __future__ import annotations

import sys
import time

import numpy as np
import relucent
import torch
from contestants.protocol import Task, report
from contestants.torch_networks import sequential
from torch import nn


def main() -> None:
    task = Task.read(sys.argv[1])
    network = sequential(task.weights, task.biases)
    small = relucent.Complex(nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1)).double())
    small.bfs(nworkers=1, verbose=0)  # imports, licence, workers: not what we measure
    started = time.perf_counter()
    found = relucent.Complex(network)
    limits = {} if task.box is None else {"cube_radius": task.box, "cube_mode": "intersect"}
    start = torch.from_numpy(np.full((1, task.weights[0].shape[1]), 1e-3))
    # Its own limit is a number of regions: it is asked for ever more until the time is up.
    limit, seconds = 64, 0.0
    while True:
        found = relucent.Complex(network)
        begun = time.perf_counter()
        found.bfs(start, nworkers=1, verbose=0, verify=False, max_polys=limit, **limits)
        seconds = time.perf_counter() - begun
        complete = len(found) < limit
        if complete or time.perf_counter() - started + 3 * seconds > task.seconds:
            break
        limit *= 2
    if task.options.get("mode") != "graph":
        report(len(found), seconds, complete=complete)
        return
    begun = time.perf_counter()
    graph = found.dual_graph(require_complete=False)
    more = {"graph_seconds": time.perf_counter() - begun, "edges": graph.number_of_edges()}
    report(len(found), seconds, complete=complete, **more)


if __name__ == "__main__":
    main()
