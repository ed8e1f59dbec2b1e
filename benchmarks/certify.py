"""What a proof costs: enumerating, certifying and verifying the same networks; writes CERTIFY.md.

    python -m benchmarks.certify [--repeat 5] [--verify 10000]

Times are CPU times, the best of some runs in one process, without compilation; the ratio is what counts.
"""

from __future__ import annotations

import argparse
import platform
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

import tropicell
from benchmarks.cases import CASES, Case
from tropicell import Box, Network, Regions, WholeSpace, enumerate_regions
from tropicell.cli.demo import DOMAIN, demo_network
from tropicell.network.domains import Domain
from tropicell.verify_certificate import verify

HERE = Path(__file__).parent
Result = TypeVar("Result")

NAMES = (
    "1-D 3×[64]",
    "2-D 5×[5]",
    "2-D 5×[5], all of R²",
    "2-D [64,64,64]",
    "3-D [16,16,16]",
    "3-D [16,16,16], all of R³",
    "4-D [16,16]",
)
LARGE = Case("2-D 4×[150], more than 100,000 regions", (2, 150, 150, 150, 150, 1), spread=4.0)


def networks() -> list[tuple[str, Network, Domain]]:
    """The demo, cases of the side-by-side benchmark, one with normal weights, and a large one."""
    found: list[tuple[str, Network, Domain]] = [("the demo network", demo_network(), DOMAIN)]
    for case in (*(c for c in CASES if c.name in NAMES), LARGE):
        domain = WholeSpace() if case.box is None else Box(-case.box, case.box)
        found.append((case.name, Network.mlp(*case.arrays()), domain))
    rng = np.random.default_rng(1)
    for sizes in ((5, 14, 14, 1), (6, 10, 6, 1), (8, 10, 8, 1), (10, 12, 6, 1)):
        weights = [rng.normal(size=(n, m)) * np.sqrt(2 / m) for m, n in pairwise(sizes)]
        network = Network.mlp(weights, [rng.normal(size=n) / 2 for n in sizes[1:]])
        name = f"{sizes[0]}-D {[*sizes[1:-1]]}"
        found += [
            (name, network, Box(-3, 3)),
            (f"{name}, all of R^{sizes[0]}", network, WholeSpace()),
        ]
    rng = np.random.default_rng(0)
    sizes = (2, 64, 64, 64, 1)
    weights = [rng.normal(size=(n, m)) for m, n in pairwise(sizes)]
    normal = Network.mlp(weights, [rng.normal(size=n) for n in sizes[1:]])
    found.append(("2-D [64,64,64], normal weights", normal, Box(-1, 1)))
    found.append(("2-D [64,64,64], normal weights, all of R²", normal, WholeSpace()))
    return found


def best(repeat: int, action: Callable[[], Result]) -> tuple[float, Result]:
    """Smallest CPU time of some runs, and what the last one returned."""
    times = []
    for _ in range(repeat):
        started = time.process_time()
        result = action()
        times.append(time.process_time() - started)
    return min(times), result


def measure(network: Network, domain: Domain, repeat: int, most: int) -> dict[str, Any]:
    """One row of the table."""
    seconds, regions = best(repeat, lambda: enumerate_regions(network, domain))
    proof, certificate = best(repeat, lambda: fresh(regions).certify())
    assert certificate.complete, str(certificate)
    row: dict[str, Any] = {
        "regions": len(regions),
        "enumerate": seconds,
        "certify": proof,
        **certificate.counts,
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "certificate.npz"
        certificate.save(path)
        row["bytes"] = path.stat().st_size / len(regions)
        if len(regions) <= most:
            row["verify"] = best(1, lambda: verify(str(path)))[0]
    return row


def fresh(regions: Regions) -> Regions:
    """The same regions without what was worked out since: a hash table of the patterns."""
    packed = regions.packed
    again = type(packed)(packed.words, packed.neurons, packed.bits)
    columns = {
        name: regions.__dict__.get(name)
        for name in ("bounded", "volumes", "corners", "facet_lines")
    }
    return Regions(regions.network, regions.domain, again, regions.witnesses, **columns)


def text(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def line(name: str, row: dict[str, Any]) -> str:
    exact = row["regions_exact"]
    verified = text(row["verify"]) if "verify" in row else "–"
    return (
        f"| {name} | {row['regions']:,} | {text(row['enumerate'])} | {text(row['certify'])} | "
        f"{row['certify'] / row['enumerate']:.2f} | {row['signs_by_filter']:,} | {row['signs_exact']:,} | {exact:,} | "
        f"{verified} | {row['bytes']:.0f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5, help="runs, of which the best counts")
    parser.add_argument(
        "--verify", type=int, default=10_000, help="verify files of up to so many regions"
    )
    parser.add_argument("--out", type=Path, default=HERE / "CERTIFY.md")
    arguments = parser.parse_args()
    rows = [
        "# What a proof costs",
        "",
        "`enumerate_regions(…)` and then `regions.certify()` on the same network, CPU time on one core, best of "
        f"{arguments.repeat} runs in one process; `python -m benchmarks.certify`.",
        "Signs: decided by floating point with error bounds, and in exact arithmetic; then the regions that exact arithmetic proved. The last columns:",
        "`tropicell.verify_certificate` on the file (plain Python, all in rationals), and the file's size.",
        "",
        f"Tropicell {tropicell.__version__}, Python {platform.python_version()}, {platform.machine()}.",
        "",
        "| network | regions | enumerate | certify | ratio | signs, filter | signs, exact | regions, exact | verify | bytes a region |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, network, domain in networks():
        rows.append(line(name, measure(network, domain, arguments.repeat, arguments.verify)))
        print(rows[-1], flush=True)
    arguments.out.write_text("\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
