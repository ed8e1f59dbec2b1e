"""Tropicell: counting or storing, in exact or float arithmetic."""

from __future__ import annotations

import sys
import time

from contestants.protocol import Task, report

import tropicell as tc


def main() -> None:
    task = Task.read(sys.argv[1])
    network = tc.Network.mlp(task.weights, task.biases)
    domain = None if task.box is None else tc.Box(-task.box, task.box)
    options = {key: task.options[key] for key in ("arithmetic", "workers") if key in task.options}
    function = tc.count_regions if task.options["mode"] == "count" else tc.enumerate_regions
    # Kernels are compiled apart for some numbers of inputs, so it has as many as the network.
    tiny = tc.Network.mlp([w[:3] for w in task.weights[:1]] + [[[1.0] * len(task.weights[0][:3])]])
    function(tiny, domain, **options)  # load the compiled kernels
    if task.options["mode"] == "graph":
        tc.enumerate_regions(tiny, domain).neighbours  # noqa: B018 - so are these kernels
        _graph(network, domain, task.seconds)
        return
    best, spent, result, first, rounds = float("inf"), 0.0, None, None, 0
    # The first run may compile kernels that the tiny network did not need: there are two at least.
    while spent < task.options.get("repeat_seconds", 1.0) or rounds < 2:
        rounds += 1
        started = time.perf_counter()
        result = function(network, domain, max_seconds=task.seconds, progress=False, **options)
        seconds = time.perf_counter() - started
        best, spent = min(best, seconds), spent + seconds
        first = seconds if first is None else first
    if isinstance(result, int):
        report(result, best, first=first)
    else:
        report(len(result), best, first=first, complete=result.complete, bytes=result.nbytes)


def _graph(network: tc.Network, domain: tc.Box | None, seconds: float) -> None:
    """All regions, and then all pairs of neighbours; best of some rounds."""
    found, paired = [], []
    for _ in range(5):
        started = time.perf_counter()
        regions = tc.enumerate_regions(network, domain, max_seconds=seconds, progress=False)
        found.append(time.perf_counter() - started)
        started = time.perf_counter()
        edges = len(regions.neighbours)
        paired.append(time.perf_counter() - started)
    more = {"graph_seconds": min(paired), "edges": edges}
    report(len(regions), min(found), complete=regions.complete, **more)


if __name__ == "__main__":
    main()
