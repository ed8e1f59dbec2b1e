"""relucent on one network of the zoo, as its documentation shows: `Complex(network).bfs()`, all checks on."""

from __future__ import annotations

import json
import resource
import sys
from importlib.metadata import version

import numpy as np
import relucent
import torch
from contestants.protocol import Task, report
from contestants.torch_networks import sequential

#: Random points that are tried.
STARTS = 20


def used() -> float:
    """Seconds of processor time, those of workers that have ended included."""
    parts = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(part.ru_utime + part.ru_stime for part in parts)


def main() -> None:
    task = Task.read(sys.argv[1])
    limits = {} if task.box is None else {"cube_radius": task.box, "cube_mode": "intersect"}
    size = 1.0 if task.box is None else task.box
    inputs = task.weights[0].shape[1]
    # The default start is the origin; where that lies on a boundary, random points are tried.
    points = np.random.default_rng(0).uniform(-size, size, (STARTS, 1, inputs))
    starts = [None, *torch.from_numpy(points)]
    said = ""
    for start in starts:
        begun = used()
        found = relucent.Complex(sequential(task.weights, task.biases))
        try:
            result = found.bfs(start, nworkers=1, verbose=0, **limits)
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
            if "Start point" in said:
                continue
            break
        report(
            len(found),
            used() - begun,
            complete=bool(result.complete),
            verified=result.verified,
            version=version("relucent"),
        )
        return
    print(json.dumps({"error": said[:300], "version": version("relucent")}))


if __name__ == "__main__":
    main()
