"""Beyond the paper: when skip connections add regions, and where.

The same random weights with and without skips, for a grid of widths, depths, skip sets and
initialisations; regions counted in boxes of growing radius and over the whole plane.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell.lab.random_networks import Initialisation, random_parameters
from tropicell.lab.run import Experiment, Run
from tropicell.lab.skip_sets import SKIP_SETS
from tropicell.lab.skips_report import draw, write_report
from tropicell.lab.skips_results import Cell, Results
from tropicell.network.domains import Box, Domain, WholeSpace
from tropicell.network.network import Network
from tropicell.search.many import count_many

INITIALISATIONS: tuple[Initialisation, ...] = ("pytorch", "he random", "he zero")


@dataclass(frozen=True)
class Settings:
    """The grid.

    Attributes
    ----------
    networks : int
        Draws of weights for each width, depth and initialisation; all skip sets share them.
    widths, depths : tuple of int
        Neurons of a layer (the smallest alone for networks without biases), hidden layers.
    radii : tuple of float
        Regions are counted in [-r, r]² for each of them, and over R².
    layer_networks : int
        Draws that are counted layer by layer (widest and deepest shape).
    """

    networks: int = 40
    widths: tuple[int, ...] = (4, 8)
    depths: tuple[int, ...] = (3, 4, 6, 10)
    radii: tuple[float, ...] = (1.0, 3.0, 10.0, 30.0, 100.0, 1e3, 1e4)
    layer_networks: int = 10


def run(run: Run, settings: Settings) -> None:
    """Count everything, then say what it shows."""
    cells = [
        Cell(initialisation, width, depth, name)
        for initialisation in INITIALISATIONS
        for width in _widths(initialisation, settings)
        for depth in settings.depths
        for name in SKIP_SETS
    ]
    counts = {cell: _counts(run, cell, settings) for cell in run.steps(cells, "counting regions")}
    deepest = (max(settings.widths), max(settings.depths))
    chosen = [
        cell
        for cell in cells
        if (cell.width, cell.depth) == deepest and cell.initialisation != "he zero"
    ]
    layers = {
        cell: _by_layer(run, cell, settings.layer_networks)
        for cell in run.steps(chosen, "counting layer by layer")
    }
    results = Results(settings.radii, counts, layers)
    _write_files(run, results)
    write_report(run, results)
    draw(run, results)


def _widths(initialisation: Initialisation, settings: Settings) -> Sequence[int]:
    """Without biases all boundaries meet in one point, which exact arithmetic decides slowly."""
    return (min(settings.widths),) if initialisation == "he zero" else settings.widths


def _networks(run: Run, cell: Cell, count: int) -> list[Network]:
    """The weights depend on shape and initialisation alone, so that skip sets can be compared."""
    sizes = [2, *[cell.width] * cell.depth, 1]
    skips = SKIP_SETS[cell.skips](cell.depth)
    drawn = (
        random_parameters(
            sizes,
            run.rng(cell.initialisation, cell.width, cell.depth, i),
            cell.initialisation,
        )
        for i in range(count)
    )
    return [Network.mlp(weights, biases, skips=skips) for weights, biases in drawn]


def _counts(run: Run, cell: Cell, settings: Settings) -> NDArray[np.int64]:
    """Regions in every box and over R² (last), shape (domains, networks)."""
    domains: list[Domain] = [Box(-r, r) for r in settings.radii]

    def compute() -> dict[str, Any]:
        networks = _networks(run, cell, settings.networks)
        everywhere = _count(run, networks, WholeSpace())
        if cell.initialisation == "he zero":
            # Without biases a network is homogeneous: its regions are cones, and every box
            # around the origin meets them all.
            return {"counts": np.stack([everywhere] * (len(domains) + 1))}
        inside = [_count(run, networks, domain) for domain in domains]
        return {"counts": np.stack([*inside, everywhere])}

    asked = {"cell": cell.key, "radii": settings.radii, "networks": settings.networks}
    counts: NDArray[np.int64] = run.unit(cell.name, asked, compute)["counts"]
    return counts


def _by_layer(run: Run, cell: Cell, count: int) -> NDArray[np.int64]:
    """Regions of the first 1, 2, … layers in the box of Table 1 and over R².

    Shape (2, layers, networks).
    """

    def compute() -> dict[str, Any]:
        networks = _networks(run, cell, count)
        rows = [
            [
                _count(run, [network.first_layers(layer) for network in networks], domain)
                for layer in range(1, cell.depth + 1)
            ]
            for domain in (Box(-10, 10), WholeSpace())
        ]
        return {"counts": np.array(rows)}

    name = f"{cell.name} by layer"
    counts: NDArray[np.int64] = run.unit(name, {"cell": cell.key, "n": count}, compute)["counts"]
    return counts


def _count(run: Run, networks: Sequence[Network], domain: Domain) -> NDArray[np.int64]:
    return count_many(networks, domain, workers=run.options.workers, progress=False)


def _write_files(run: Run, results: Results) -> None:
    names = [f"r = {r:g}" for r in results.radii] + ["R²"]
    run.table(
        "counts",
        ["initialisation", "width", "depth", "skips", "network", *names],
        [
            [*cell.key, i, *column]
            for cell, counts in results.counts.items()
            for i, column in enumerate(counts.T)
        ],
    )
    run.table(
        "layers",
        ["initialisation", "width", "depth", "skips", "layer", "mean in the box", "mean over R²"],
        [
            [*cell.key, layer + 1, box, plane]
            for cell, counts in results.layers.items()
            for layer, (box, plane) in enumerate(counts.mean(axis=2).T)
        ],
    )
    run.numbers["means"] = [
        dict(zip(("initialisation", "width", "depth", "skips"), cell.key, strict=True))
        | {"mean": dict(zip(names, counts.mean(axis=1), strict=True))}
        | {"half_radius": results.half_radius(cell)}
        for cell, counts in results.counts.items()
    ]


EXPERIMENT = Experiment(
    name="skips",
    title="When do skip connections add regions, and where?",
    run=run,
    full=Settings(),
    quick=Settings(
        networks=6, widths=(4,), depths=(3, 5), radii=(1.0, 10.0, 1e3), layer_networks=4
    ),
)
