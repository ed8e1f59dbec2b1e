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
    tiny = tc.Network.mlp([w[:3, :3] for w in task.weights[:1]] + [[[1.0] * 3]])
    if tiny.n_inputs == network.n_inputs:
        function(tiny, domain, **options)  # load the compiled kernels
    best, spent, result, first = float("inf"), 0.0, None, None
    while spent < task.options.get("repeat_seconds", 1.0) or result is None:
        started = time.perf_counter()
        result = function(network, domain, max_seconds=task.seconds, progress=False, **options)
        seconds = time.perf_counter() - started
        best, spent = min(best, seconds), spent + seconds
        first = seconds if first is None else first
    if isinstance(result, int):
        report(result, best, first=first)
    else:
        report(len(result), best, first=first, complete=result.complete, bytes=result.nbytes)


if __name__ == "__main__":
    main()
