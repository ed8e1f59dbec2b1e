"""Numbers at the edges of float64: engines, slices of slices and locators against exact arithmetic.

``python -m benchmarks.edges [CASES]`` draws that many cases of each kind (default: 1,000) and counts
those in which an answer is not that of the oracle, `traverse`, or of a forward pass in Fractions.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from tropicell import (
    Affine,
    Box,
    InvalidDomainError,
    LastRegionPredictor,
    Layer,
    Network,
    Polytope,
    RegionLocator,
    Slice,
    count_many,
    enumerate_regions,
)
from tropicell.network.domains import Domain

ENGINES = ("cells", "halfspaces")
EXTREME = [0.0, 1.0, -1.0, 0.1, -0.3, 5e-324, 1e-308, 1e-200, -1e-60, 1e60, 1e200, -1e300, 1.7e308]
LARGE = [0.0, 1.0, -2.5, 1e100, -1e200, 1e284, 1e294, -1e295, 1e300, -1e307, 1.7e308, -1.7e308]
TENTHS = [0.1, 0.2, 0.3, -0.1, -0.7, 1.0, 3.0, -1.0, 0.0]


def network(rng: np.random.Generator, inputs: int, numbers: list[float]) -> Network:
    """Two layers of at most three neurons."""
    layers, width = [], inputs
    for index in range(2):
        rows = int(rng.integers(1, 4))
        affine = Affine({index: rng.choice(numbers, (rows, width))}, rng.choice(numbers, rows))
        layers.append(Layer(affine, str(rng.choice(["relu", "hard_tanh"]))))
        width = rows
    return Network(inputs, layers, Affine({2: np.ones((1, width))}))


def patterns(of: Network, domain: Domain | None, engine: str) -> set[bytes] | None:
    """All patterns; None if the domain is refused."""
    try:
        found = enumerate_regions(of, domain, engine=engine)  # type: ignore[call-overload]
    except InvalidDomainError:
        return None
    return {row.tobytes() for row in found.patterns}


def engines_agree(of: Network, domain: Domain | None) -> bool:
    """Whether both engines find what the oracle finds."""
    wanted = patterns(of, domain, "traverse")
    return all(patterns(of, domain, engine) == wanted for engine in ENGINES)


def sizes(rng: np.random.Generator) -> bool:
    """Networks with numbers of every size."""
    domain = [None, Box(-1, 1), Box(-1e308, 1e308)][rng.integers(3)]
    return engines_agree(network(rng, int(rng.integers(1, 4)), EXTREME), domain)


def trivial_rows(rng: np.random.Generator) -> bool:
    """Polytopes with rows 0 · x <= b."""
    inputs = int(rng.integers(1, 4))
    one = network(rng, inputs, TENTHS)
    a = rng.choice([0.0, 0.0, 1.0, -1.0], (4, inputs)) * rng.integers(0, 2, (4, 1))
    domain = Polytope(a, rng.choice([0.0, 1.0], 4))
    wanted = patterns(one, domain, "traverse")
    if wanted is None:
        return engines_agree(one, domain)
    return engines_agree(one, domain) and set(count_many([one] * 2, domain)) == {len(wanted)}


def slices_of_slices(rng: np.random.Generator) -> bool:
    """Slices of slices whose numbers cancel: all engines, and patterns at points."""
    while True:
        rows = rng.choice(TENTHS, (3, 3)), rng.choice(TENTHS, (2, 3))
        if all(np.linalg.matrix_rank(r) == len(r) for r in rows):
            break
    outer, inner = Slice(rng.choice(TENTHS, 3), rows[0]), Slice(rng.choice(TENTHS, 3), rows[1])
    weights = rng.choice(TENTHS, (3, 3))
    bias = -(weights @ outer.embed(inner.origin[None])[0])
    layers = [Layer(Affine({0: weights}, bias)), Layer(Affine({1: rng.choice(TENTHS, (2, 3))}))]
    whole = Network(3, layers, Affine({2: np.ones((1, 2))}))
    twice = whole.restrict(outer).restrict(inner)
    exact = np.vectorize(Fraction, otypes=[object])
    t = exact(rng.integers(-4, 5, 2)) / 4
    point = t
    for part in (inner, outer):
        point = exact(part.origin) + point @ exact(part.directions)
    found = twice.patterns(t[None], arithmetic="exact")
    same = np.array_equal(found, whole.patterns(point[None], arithmetic="exact"))
    return same and engines_agree(twice, None)


def large_points(rng: np.random.Generator) -> bool:
    """Points up to the largest float64, in networks of ordinary numbers."""
    regions = enumerate_regions(network(rng, 2, TENTHS))
    points = rng.choice(LARGE, (64, 2))
    wanted = regions.locate(points, arithmetic="exact")
    locators = RegionLocator(regions), LastRegionPredictor(regions)
    return all(np.array_equal(one.locate(points), wanted) for one in locators)


KINDS: dict[str, Callable[[np.random.Generator], bool]] = {
    "numbers from 5e-324 to 1.7e308, `cells` and `halfspaces`": sizes,
    "polytopes with rows 0 · x ≤ b": trivial_rows,
    "slices of slices": slices_of_slices,
    "64 points up to 1.7e308, both locators": large_points,
}


def main() -> None:
    """Print a table."""
    cases = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print("| cases | number | different from exact arithmetic | seconds |")
    print("| --- | ---: | ---: | ---: |")
    for name, kind in KINDS.items():
        started = time.perf_counter()
        wrong = [seed for seed in range(cases) if not kind(np.random.default_rng(seed))]
        seconds = time.perf_counter() - started
        print(f"| {name} | {cases:,} | {len(wrong)} | {seconds:.0f} |", flush=True)
        if wrong:
            print(f"seeds: {wrong[:20]}", file=sys.stderr)


if __name__ == "__main__":
    main()
