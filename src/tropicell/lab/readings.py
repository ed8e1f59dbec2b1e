"""What the paper's Table 1 does not say: which reading of it fits its numbers.

The table says neither where regions were counted, nor which of the initialisations that go by the
name of Kaiming He was used, nor whether the output counts as a layer. Each reading gives twelve
means; the published ones are compared with them by χ².
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell.lab.random_networks import Initialisation, random_network
from tropicell.lab.run import Experiment, LabRun, copy_tables, read_table
from tropicell.lab.statistics import LEVEL, chi_squared, standardised_difference, summary
from tropicell.lab.table1 import KINDS, PAPER_NETWORKS, PUBLISHED, Table1Row
from tropicell.lab.texts import p_text
from tropicell.network.domains import Box, Domain, WholeSpace
from tropicell.network.network import Network
from tropicell.search.enumeration import all_regions
from tropicell.search.many import count_many

Counts = NDArray[np.int64]

#: Initialisations that the paper's words may mean.
STARTS: dict[Initialisation, str] = {
    "pytorch": "PyTorch's default",
    "he random": "He normal, PyTorch's biases",
    "he uniform": "He uniform, PyTorch's biases",
    "he zero": "He normal, no biases",
    "glorot": "Glorot normal, PyTorch's biases",
}

#: Where regions may have been counted.
PLACES: dict[str, Domain] = {
    "[0, 1]²": Box([0, 0], [1, 1]),
    "[-1, 1]²": Box(-1, 1),
    "[-10, 10]²": Box(-10, 10),
    "[-100, 100]²": Box(-100, 100),
    "R²": WholeSpace(),
}

#: What a layer may be, and how many of so many layers are hidden.
LAYERS = {"hidden layers": 0, "the output is a layer": 1}


@dataclass(frozen=True)
class ReadingSettings:
    """How much to count.

    Attributes
    ----------
    networks : int
        Of each kind in each row, for each reading.
    """

    networks: int = 100


@dataclass(frozen=True)
class Reading:
    """One way to read the table."""

    start: Initialisation
    place: str
    layers: str
    merged: bool = False

    @property
    def words(self) -> list[str]:
        """For people."""
        what = "merged regions" if self.merged else "patterns"
        return [STARTS[self.start], self.place, self.layers, what]


_NAMES = ("initialisation", "where", "layers", "counted")


def readings() -> list[Reading]:
    """All readings; without biases every box around the origin is like R²."""
    found = [
        Reading(start, place, layers)
        for start in STARTS
        for place in PLACES
        for layers in LAYERS
        if start != "he zero" or place in ("R²", "[0, 1]²")
    ]
    return [*found, Reading("pytorch", "[-10, 10]²", "hidden layers", merged=True)]


def run(run: LabRun, settings: ReadingSettings) -> None:
    """Count under every reading, write it down, then compare."""
    rows = []
    for reading in run.steps(readings(), "reading the table"):
        for row in PUBLISHED:
            for kind, published in zip(KINDS, row.means, strict=True):
                found = summary(_counts(run, reading, row, kind, settings.networks))
                z = standardised_difference(found, published, PAPER_NETWORKS)
                rows.append([*reading.words, row.name, kind, published, found.mean, found.error, z])
    run.table(
        "readings",
        [*_NAMES, "row", "skips", "published", "mean", "standard error", "z"],
        rows,
    )
    again(run, settings, run.folder)


def again(run: LabRun, settings: ReadingSettings, folder: Path) -> None:
    """The report from the table in a folder."""
    by_words = {tuple(reading.words): reading for reading in readings()}
    differences: dict[Reading, list[float]] = {}
    for row in read_table(folder, "readings"):
        reading = by_words[tuple(row[name] for name in _NAMES)]
        differences.setdefault(reading, []).append(float(row["z"] or "nan"))
    copy_tables(run, folder)
    fits: list[tuple[float, float, int, Reading]] = []
    for reading, values in differences.items():
        finite = [z for z in values if np.isfinite(z)]
        fits.append((*chi_squared(finite), len(finite), reading))
    _write(run, settings, sorted(fits, key=lambda fit: fit[0]))


def _network(run: LabRun, reading: Reading, row: Table1Row, kind: str, index: int) -> Network:
    depth = row.layers - LAYERS[reading.layers]
    skips = [pair for pair in row.skips if pair[1] <= depth + 1] if kind == "with" else []
    return random_network(
        [2, *[row.neurons] * depth, 1],
        run.rng(reading.start, depth, row.neurons, kind, index),
        skips=skips,
        initialisation=reading.start,
    )


def _counts(run: LabRun, reading: Reading, row: Table1Row, kind: str, networks: int) -> Counts:
    what = {"reading": reading.words, "row": [row.layers, row.neurons, row.skips], "n": networks}
    name = f"{' '.join(reading.words)} {row.name} {kind}"
    counts: Counts = run.unit(
        name, what | {"kind": kind}, partial(_count, run, reading, row, kind, networks)
    )["counts"]
    return counts


def _count(
    run: LabRun, reading: Reading, row: Table1Row, kind: str, networks: int
) -> dict[str, Any]:
    made = [_network(run, reading, row, kind, index) for index in range(networks)]
    domain = PLACES[reading.place]
    if reading.merged:
        return {
            "counts": [
                len(all_regions(network, domain, progress=False).merged()) for network in made
            ]
        }
    return {"counts": count_many(made, domain, workers=run.options.workers, progress=False)}


def _write(
    run: LabRun, settings: ReadingSettings, fits: list[tuple[float, float, int, Reading]]
) -> None:
    report = run.report
    report.text(
        "Table 1 of the paper says neither where regions were counted, nor which of the "
        "initialisations that bear He's name was meant, nor whether the output is one of the "
        f"layers. Here are {len(fits)} readings, {settings.networks} networks for each of their "
        "twelve means. z: how far a published mean is from the reading's, in standard errors (its "
        f"own, of {PAPER_NETWORKS} networks, included); χ²: the sum of their squares."
    )
    report.table(
        ["initialisation", "counted in", "layers are", "counted are", "χ²", "means", "p"],
        [
            [*reading.words, f"{statistic:,.1f}", degrees, p_text(p)]
            for statistic, p, degrees, reading in fits
        ],
        "All readings, best first. The file `readings.csv` has every mean.",
    )
    fitting = [reading for _, p, _, reading in fits if p > LEVEL]
    words = ["; ".join(reading.words) for reading in fitting]
    best, second = fits[0], fits[1]
    report.text(
        f"At {LEVEL}, {len(fitting)} of {len(fits)} readings fit"
        + (f": {' and '.join(words)}" if words else "")
        + f". The best has χ² = {best[0]:.1f} on {best[2]}, the next one {second[0]:,.1f} "
        f"({'; '.join(second[3].words)})."
    )
    run.numbers["fits"] = [
        {"reading": reading.words, "chi_squared": statistic, "p": p, "degrees": degrees}
        for statistic, p, degrees, reading in fits
    ]
    run.claim(
        "table1 reading",
        "Sect. 6.2, Table 1",
        "“Kaiming He initialisation” (read as: PyTorch's default, hidden layers, patterns counted "
        "in [-10, 10]², and nothing else fits).",
        "holds"
        if fitting == [Reading("pytorch", "[-10, 10]²", "hidden layers")]
        else ("does not hold" if not fitting else "holds in part"),
        f"readings that fit at {LEVEL}: {' and '.join(words) or 'none'}; best χ² {best[0]:.1f}, "
        f"next {second[0]:,.1f} on {best[2]} means",
    )


EXPERIMENT = Experiment(
    name="readings",
    title="Which reading of Table 1 fits its numbers?",
    run=run,
    full=ReadingSettings(),
    quick=ReadingSettings(networks=8),
    again=again,
)
