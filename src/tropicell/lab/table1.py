"""Table 1: regions of random networks with and without skip connections, and the paper's tests.

The paper initialises 50 networks of both kinds for each of six shapes, counts their regions and
tests whether those with skips have more. What it does not say, its numbers tell: regions are
counted in [-10, 10]², layers are hidden layers, and the initialisation is PyTorch's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tropicell._runtime.threads import ThreadPool
from tropicell.lab.run import Experiment, Run
from tropicell.lab.statistics import power
from tropicell.lab.table1_report import draw, write_proofs, write_report
from tropicell.lab.table1_results import KINDS, PAPER_NETWORKS, PUBLISHED, Counts, Results, Row
from tropicell.lab.texts import skips_text
from tropicell.network.domains import Box, Domain, WholeSpace
from tropicell.network.network import Network
from tropicell.search.enumeration import enumerate_regions
from tropicell.search.many import count_many

#: Networks in a unit of work: what is finished with fewer networks serves with more of them.
_UNIT = 50


@dataclass(frozen=True)
class Settings:
    """How much to count.

    Attributes
    ----------
    networks : int
        Of each kind in each row.
    large : int
        Networks of each kind from which the power is resampled (at least `networks`).
    trials : int
        Tests that are resampled for the power.
    radius : float
        Regions are counted in the box [-radius, radius]².
    """

    networks: int = PAPER_NETWORKS
    large: int = 500
    trials: int = 2000
    radius: float = 10.0


def run(run: Run, settings: Settings) -> None:
    """Count, test, compare with what was published, and write it down."""
    box = Box(-settings.radius, settings.radius)
    large = max(settings.large, settings.networks)
    inside: dict[str, dict[str, Counts]] = {row.name: {} for row in PUBLISHED}
    everywhere: dict[str, dict[str, Counts]] = {row.name: {} for row in PUBLISHED}
    cells = [(row, kind) for row in PUBLISHED for kind in KINDS]
    for row, kind in run.steps(cells, "counting regions"):
        inside[row.name][kind] = _counts(run, row, kind, box, large)
        everywhere[row.name][kind] = _counts(run, row, kind, WholeSpace(), settings.networks)
    powers = {
        name: power(
            both["with"],
            both["without"],
            PAPER_NETWORKS,
            run.rng("power", name),
            trials=settings.trials,
        )
        for name, both in inside.items()
    }
    counts = {
        name: {kind: values[: settings.networks] for kind, values in both.items()}
        for name, both in inside.items()
    }
    results = Results.of(counts, everywhere, powers)
    _write_files(run, results)
    write_report(run, results, settings.radius)
    draw(run, results)
    if run.options.certify:
        _prove(run, settings, box)


def _prove(run: Run, settings: Settings, box: Box) -> None:
    """Prove the counts of the table in the box, and write down how that went."""
    proved = regions = 0
    cells = [(row, kind) for row in PUBLISHED for kind in KINDS]
    for row, kind in run.steps(cells, "proving"):
        made = [_network(run, row, kind, i) for i in range(settings.networks)]

        def compute(made: list[Network] = made) -> dict[str, Any]:
            found = _proofs(run, made, box)
            return {"proved": [ok for ok, _ in found], "regions": [n for _, n in found]}

        asked = {
            "row": [row.layers, row.neurons, row.skips],
            "kind": kind,
            "domain": repr(box),
            "networks": settings.networks,
        }
        found = run.unit(f"{row.name} {kind} proofs", asked, compute)
        proved += int(found["proved"].sum())
        regions += int(found["regions"].sum())
    write_proofs(run, proved, len(cells) * settings.networks, regions)


def _proofs(run: Run, networks: list[Network], domain: Domain) -> list[tuple[bool, int]]:
    """For each network whether its regions are proved to be all, and how many they are."""

    def prove(network: Network) -> tuple[bool, int]:
        regions = enumerate_regions(network, domain, progress=False)
        certificate = regions.certify(progress=False)
        return certificate.ok and certificate.complete, len(regions)

    with ThreadPool(run.options.workers) as pool:
        return pool.map(prove, networks)


def _network(run: Run, row: Row, kind: str, index: int) -> Network:
    """The index-th network of a cell of the table, whatever else is drawn."""
    return row.network(kind, run.rng(row.name, kind, index))


def _counts(run: Run, row: Row, kind: str, domain: Domain, networks: int) -> Counts:
    """Regions of the first networks of a cell, unit by unit."""
    parts = []
    for start in range(0, networks, _UNIT):
        indices = range(start, min(start + _UNIT, networks))

        def compute(indices: range = indices) -> dict[str, Any]:
            made = [_network(run, row, kind, index) for index in indices]
            return {"counts": count_many(made, domain, workers=run.options.workers, progress=False)}

        asked = {
            "row": [row.layers, row.neurons, row.skips],
            "kind": kind,
            "domain": repr(domain),
            "networks": [indices.start, indices.stop],
        }
        name = f"{row.name} {kind} {'box' if isinstance(domain, Box) else 'plane'} {start}"
        parts.append(run.unit(name, asked, compute)["counts"])
    return np.concatenate(parts)


def _write_files(run: Run, results: Results) -> None:
    """Counts of every network and statistics of every row, for scripts."""
    run.table(
        "counts",
        ["row", "skips", "network", "regions in the box", "regions in the plane"],
        [
            [row.name, kind, i, *pair]
            for row in PUBLISHED
            for kind in KINDS
            for i, pair in enumerate(
                zip(
                    results.counts[row.name][kind],
                    results.counts_plane[row.name][kind],
                    strict=True,
                )
            )
        ],
    )
    run.numbers["rows"] = {
        row.name: {
            "skips": row.skips,
            "published": {"means": row.means, "ks": row.ks, "u": row.u, "p": row.p},
            "power": results.power[row.name],
            "z": results.box[row.name].z(row),
            "box": results.box[row.name].numbers(),
            "plane": results.plane[row.name].numbers(),
        }
        for row in PUBLISHED
    }
    measured = [
        (row, where, found[row.name].numbers())
        for row in PUBLISHED
        for where, found in (("box", results.box), ("plane", results.plane))
    ]
    run.table(
        "table1",
        ["row", "skips", "where", *measured[0][2]],
        [[row.name, skips_text(row.skips), w, *numbers.values()] for row, w, numbers in measured],
    )


EXPERIMENT = Experiment(
    name="table1",
    title="Table 1: regions of random networks with and without skip connections",
    run=run,
    full=Settings(),
    quick=Settings(networks=20, large=40, trials=500),
)
