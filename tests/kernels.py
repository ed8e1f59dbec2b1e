"""Compiles the package's kernels before tests run in several processes.

    python kernels.py plane|space

On a machine where nothing is compiled yet, each process that runs tests would compile all kernels
for itself, in the middle of some test. Two processes do half of it each, and all others load what
they have compiled.
"""

from __future__ import annotations

import hashlib
import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np

import tropicell as tc

#: Seconds after which it is left to the tests; it takes about one minute.
LIMIT = 400.0


def stamp() -> str:
    """Changes with the package's code, and so when something may have to be compiled anew."""
    files = sorted(Path(tc.__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def compile_all() -> None:
    """Both halves at once, in processes of their own."""
    parts = [subprocess.Popen([sys.executable, __file__, half]) for half in ("plane", "space")]
    for part in parts:
        try:
            part.wait(LIMIT)
        except subprocess.TimeoutExpired:
            part.kill()


def regions(inputs: int) -> tc.Regions:
    rng = np.random.default_rng(0)
    sizes = [inputs, 4, 4, 1]
    weights = [rng.normal(size=(n, m)) for m, n in itertools.pairwise(sizes)]
    network = tc.Network.mlp(weights, [rng.normal(size=len(w)) for w in weights])
    return tc.enumerate_regions(network, tc.Box(-2, 2))


def plane() -> None:
    found, points = regions(2), [[0.0, 0.5]]
    found.certify()
    found.prepare()
    tc.RegionLocator(found).predict(points)
    tc.LastRegionPredictor(found).predict(points)
    tc.CachedPredictor(found.network).predict(points)
    tc.DataRegions(found.network, points).distance([[1.0, 1.0]])
    tc.count_many([found.network] * 2)


def space() -> None:
    regions(6)
    for inputs in (1, 4):  # those of cones are compiled for three and for four inputs apart
        regions(inputs)
    regions(3).certify()


if __name__ == "__main__":
    {"plane": plane, "space": space}[sys.argv[1]]()
