"""Tropicell's complexes: regions, all faces, Betti numbers, a level set and a persistence."""

from __future__ import annotations

import json
import resource
import sys
import time

import numpy as np
from contestants.protocol import Task

import tropicell as tc
from tropicell.analysis.complex import Unbounded

#: Inputs up to which the persistence is measured, too.
_MOST_INPUTS = 3

WAYS: tuple[Unbounded, ...] = ("truncate", "point", "open")


def main() -> None:
    task = Task.read(sys.argv[1])
    network = tc.Network.mlp(task.weights, task.biases)
    domain = None if task.box is None else tc.Box(-task.box, task.box)
    inputs = network.n_inputs
    rng = np.random.default_rng(0)
    shapes = [(6, inputs), (5, 6), (1, 5)]
    tiny = tc.Network.mlp(
        [rng.normal(size=s) for s in shapes], [rng.normal(size=s[0]) for s in shapes]
    )
    for _ in range(2):  # load the compiled kernels: not what we measure
        warm = tc.enumerate_regions(tiny, domain).complex()
        for way in WAYS:
            warm.betti(unbounded=way)
        warm.level_set(0, float(np.median(tiny(warm.vertices)))).betti()
        warm.persistence()
    times = [time.process_time()]
    regions = tc.enumerate_regions(network, domain, progress=False)
    times.append(time.process_time())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    complex_ = regions.complex(progress=False)
    times.append(time.process_time())
    betti = [complex_.betti(unbounded=way) for way in WAYS]
    times.append(time.process_time())
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    level = complex_.level_set(0, float(np.median(network(complex_.vertices[:2000]))))
    curve = level.betti()
    times.append(time.process_time())
    names = ("regions", "faces", "betti", "level set")
    figures = {
        "regions": len(regions),
        "faces": complex_.f_vector,
        "betti": betti,
        "euler": (complex_.euler_characteristic, complex_.expected_characteristic),
        "mean degree": complex_.stats["mean_degree"],
        "bytes": complex_.nbytes,
        "peak growth": (after - before) * 1024,
        "level": {"faces": level.f_vector, "betti": curve},
        "seconds": dict(zip(names, np.diff(times).tolist(), strict=True)),
    }
    if task.options.get("persistence") and inputs <= _MOST_INPUTS:
        started = time.process_time()
        found = complex_.persistence()
        figures["seconds"]["persistence"] = time.process_time() - started
        figures["classes"] = np.bincount(found.dims, minlength=inputs + 1).tolist()
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
