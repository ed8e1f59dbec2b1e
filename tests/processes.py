"""Counts regions in processes that are forked or spawned after the engines were used.

    python processes.py fork|spawn

Prints, as JSON, what the parent found before, and what two children found afterwards.
"""

from __future__ import annotations

import itertools
import json
import multiprocessing
import sys

import numpy as np

from tropicell import Network, count_regions, enumerate_regions


def network(seed: int, inputs: int) -> Network:
    rng = np.random.default_rng(seed)
    sizes = [inputs, 8, 8, 1]
    weights = [rng.normal(size=(n, m)) for m, n in itertools.pairwise(sizes)]
    return Network.mlp(weights, [rng.normal(size=len(w)) for w in weights])


def count(task: tuple[int, int, str]) -> int:
    seed, inputs, engine = task
    return count_regions(network(seed, inputs), engine=engine, workers=1 + seed % 2)


#: Seconds that the children may take: a lock that was held when they were forked is held for ever.
LIMIT = 60.0

TASKS = [(seed, 2, engine) for seed in (1, 2, 3) for engine in ("cells", "halfspaces")]

if __name__ == "__main__":
    before = [count(task) for task in TASKS]
    regions = enumerate_regions(network(1, 2), workers=2)
    context = multiprocessing.get_context(sys.argv[1])
    with context.Pool(2) as pool:
        after = pool.map_async(count, TASKS, chunksize=1).get(LIMIT)
    print(json.dumps({"before": before, "after": after, "again": len(regions)}))
