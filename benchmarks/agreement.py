"""Both fast engines against the oracle, on thousands of random and degenerate networks.

    python -m benchmarks.agreement [--networks 5400] [--first 100000] [--workers 2]

Writes AGREEMENT.md: for each family of networks how many were compared, and on how many the sets of patterns differed,
in exact and in float arithmetic.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from tqdm import tqdm

from tropicell import Box, Polytope, WholeSpace, enumerate_regions

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))
from random_networks import KINDS, random_network  # noqa: E402

#: Larger ones are left out, and those on which the oracle takes longer: it is slow.
MOST_REGIONS, MOST_SECONDS = 400, 20.0

#: Of so many networks one is deep: 6 to 20 layers.
DEEP_EVERY = 5
ENGINES = ("cells", "halfspaces")

#: So many networks come in all dimensions, and need most kernels.
_FIRST_ALONE = 20


def compare(seed: int) -> tuple[int, list[tuple[str, str]]] | None:
    """The regions of one network, and which engines in which arithmetic have others; None: too many."""
    rng = np.random.default_rng(seed)
    inputs = int(rng.integers(1, 6))
    depth, width = int(rng.integers(1, 4)), int(rng.integers(2, 6))
    if seed % DEEP_EVERY == 0:
        inputs, depth, width = min(inputs, 3), int(rng.integers(6, 21)), 3
    network = random_network(seed, kind_of(seed), inputs, depth, width, relu=bool(rng.integers(2)))
    corner = np.concatenate([-np.eye(inputs), np.ones((1, inputs))])
    domains = [WholeSpace(), Box(-1, 1), Polytope(corner, np.append(np.zeros(inputs), 1.0))]
    domain = domains[int(rng.integers(3))]
    oracle = enumerate_regions(
        network, domain, engine="traverse", max_regions=MOST_REGIONS, max_seconds=MOST_SECONDS
    )
    if not oracle.complete:
        return None
    expected, others = sorted(oracle.texts()), []
    for engine in ENGINES:
        for arithmetic in ("exact", "float"):
            found = enumerate_regions(network, domain, engine=engine, arithmetic=arithmetic)
            if sorted(found.texts()) != expected:
                others.append((engine, arithmetic))
    return len(oracle), others


def kind_of(seed: int) -> str:
    return KINDS[seed % len(KINDS)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--networks", type=int, default=5400)
    parser.add_argument("--first", type=int, default=100_000, help="the first seed")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    arguments = parser.parse_args()
    first, networks = arguments.first, arguments.networks
    compared: Counter[str] = Counter()
    different: Counter[tuple[str, str, str]] = Counter()
    regions = 0
    started = time.perf_counter()
    seeds = range(first, first + networks)
    for seed in seeds[:_FIRST_ALONE]:
        compare(seed)  # so that processes find compiled kernels
    with ProcessPoolExecutor(arguments.workers) as pool:
        results = pool.map(compare, seeds, chunksize=5)
        for seed, result in zip(seeds, tqdm(results, total=networks), strict=True):
            if result is None:
                continue
            compared[kind_of(seed)] += 1
            regions += result[0]
            different.update((kind_of(seed), *which) for which in result[1])
    rows = [
        "# Agreement with the oracle",
        "",
        f"{sum(compared.values()):,} random networks with 1 to 5 inputs, of one to three layers and every fifth of 6 to 20, random skips and activations, on R^n, boxes and simplices:",
        f"{regions:,} regions in all. Networks on which the set of patterns differs from the oracle's:",
        "",
        "| family | networks | cells, exact | halfspaces, exact | cells, float | halfspaces, float |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for kind in KINDS:
        counts = [different[kind, e, a] for a in ("exact", "float") for e in ENGINES]
        rows.append(f"| {kind} | {compared[kind]} | " + " | ".join(map(str, counts)) + " |")
    rows += ["", f"Seeds {first} to {first + networks - 1}, {time.perf_counter() - started:.0f} s."]
    (HERE / "AGREEMENT.md").write_text("\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
