"""Beyond the paper: when skip connections add regions, and where.

The same random weights with and without skips, for a grid of widths, depths, skip sets and
initialisations; regions counted in boxes of growing radius and over the whole plane.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell.lab.random_networks import Initialisation, random_parameters
from tropicell.lab.run import Experiment, LabRun
from tropicell.lab.skip_sets import SKIP_SETS
from tropicell.lab.statistics import paired_ratio
from tropicell.lab.texts import figure, percent
from tropicell.network.domains import Box, Domain, WholeSpace
from tropicell.network.network import Network
from tropicell.search.many import count_many

# --- what was counted for the experiment on skip connections --------------------------------------

Counts = NDArray[np.int64]

#: The box of the paper's Table 1.
PAPER_RADIUS = 10.0


@dataclass(frozen=True)
class SkipCell:
    """One entry of the grid."""

    initialisation: Initialisation
    width: int
    depth: int
    skips: str

    @property
    def key(self) -> tuple[str, int, int, str]:
        """What tells it from others."""
        return self.initialisation, self.width, self.depth, self.skips

    @property
    def name(self) -> str:
        """The key as text."""
        return f"{self.initialisation} {self.depth}x{self.width} {self.skips}"


@dataclass(frozen=True)
class SkipResults:
    """All counts.

    Attributes
    ----------
    radii : tuple of float
    counts : dict from SkipCell
        Shape (radii + 1, networks), the last row is for R².
    layers : dict from SkipCell
        Shape (2, layers, networks): after the first layers, in the paper's box and over R².
    """

    radii: tuple[float, ...]
    counts: dict[SkipCell, Counts]
    layers: dict[SkipCell, Counts]

    @property
    def widths(self) -> list[int]:
        """All widths, smallest first."""
        return sorted({cell.width for cell in self.counts})

    def widths_of(self, initialisation: Initialisation) -> list[int]:
        """The widths that were counted with an initialisation."""
        return sorted({c.width for c in self.counts if c.initialisation == initialisation})

    @property
    def depths(self) -> list[int]:
        """All depths, smallest first."""
        return sorted({cell.depth for cell in self.counts})

    @property
    def networks(self) -> int:
        """Draws of weights in a cell."""
        return int(next(iter(self.counts.values())).shape[1])

    def row(self, where: str) -> int:
        """The row of counts for ``"box"``, the paper's, or ``"plane"``."""
        return -1 if where == "plane" else self.radii.index(PAPER_RADIUS)

    def ratio(self, cell: SkipCell, where: str) -> tuple[float, float]:
        """Regions with these skips over regions without, same weights, and the standard error."""
        row = self.row(where)
        return paired_ratio(self.counts[cell][row], self.counts[_plain(cell)][row])

    def log_ratios(self, cell: SkipCell, where: str) -> NDArray[np.float64]:
        """For every draw of weights log2 of its regions with skips over those without."""
        row = self.row(where)
        ratios: NDArray[np.float64] = np.log2(
            self.counts[cell][row] / self.counts[_plain(cell)][row]
        )
        return ratios

    def half_radius(self, cell: SkipCell) -> float:
        """The radius of the box that holds half of all regions, on average (interpolated).

        nan if the smallest box holds more, or the largest less.
        """
        means = self.counts[cell].mean(axis=1)
        shares = means[:-1] / means[-1]
        if shares[0] > 0.5 or shares[-1] < 0.5:
            return float("nan")
        return float(10 ** np.interp(0.5, shares, np.log10(self.radii)))


def _plain(cell: SkipCell) -> SkipCell:
    return SkipCell(cell.initialisation, cell.width, cell.depth, "none")


# --- what is said and drawn about skip connections and regions ------------------------------------

COLORS = {"none": "#b4561f", "one": "#7fa8d9", "residual": "#1f5fb4", "dense": "#0c2f5e"}
PLACES = {"box": "in the box [-10, 10]²", "plane": "over R²"}
NAMES: dict[Initialisation, str] = {
    "pytorch": "PyTorch default",
    "he random": "He normal, random biases",
    "he zero": "He normal, zero biases",
}
_RANDOM: list[Initialisation] = ["pytorch", "he random"]
_SETS = [name for name in SKIP_SETS if name != "none"]


def write_report(run: LabRun, results: SkipResults) -> None:
    """The question, the answers, and why."""
    report = run.report
    report.text(
        "The paper finds more regions in random networks with skip connections than in those "
        "without, and concludes that skips make a network more expressive. Is that so everywhere "
        f"in the plane, at every depth, for every initialisation? Here {results.networks} draws of "
        "weights for each shape are counted with four sets of skips, **the same weights each "
        "time**, exactly, in boxes of growing size and over the whole plane."
    )
    report.bullets(
        [
            "*none*; *one*: 1→3; *residual*: 1→3, 3→5, 5→7, …; *dense*: every layer feeds all "
            "later ones. Skips into the output change no region and are left out.",
            "PyTorch's default: weights and biases uniform in ±1/√n for n inputs. He normal: "
            "weights with variance 2/n, biases zero or as PyTorch's.",
        ]
    )
    report.heading("What comes out")
    report.bullets(_findings(run, results))
    _ratios(run, results)
    _half_radii(run, results)
    report.heading("Why")
    report.text(
        "With PyTorch's default the weights have variance 1/(3n). A ReLU passes half of the mean "
        "square, so from layer to layer the part of a signal that depends on the input shrinks by "
        "a factor √6 ≈ 2.4, while biases stay as large as they were. A neuron of layer ℓ switches "
        "where its signal matches its bias, so boundaries move out by about that factor with every "
        "layer, and a fixed box misses more and more of them. A skip hands on a signal that has "
        "not shrunk, and the boundaries come back into the box: the radius that holds half of all "
        "regions grows much more slowly. He's initialisation keeps signals at their size, so there "
        "is little to bring back. What remains there, and over R² in the wider networks, is mostly "
        "a loss: a likely reason is that layers which share most of their input fold the plane in "
        "similar ways."
    )
    report.text(_conclusion(run, results))
    report.heading("Pictures")


def _findings(run: LabRun, results: SkipResults) -> list[str]:
    """One sentence for each question, from the counts."""
    findings, numbers = [], {}
    for initialisation in _RANDOM:
        parts = []
        for where, words in PLACES.items():
            found = _range(results, initialisation, where)
            numbers[f"{initialisation} {where}"] = found
            parts.append(
                f"{words} skips change the mean number of regions by {percent(found['low'])} to "
                f"{percent(found['high'])} (more in {found['more']}, fewer in {found['fewer']} of "
                f"{found['cells']} combinations, by more than two standard errors)"
            )
        findings.append(f"**{NAMES[initialisation]}**: {parts[0]}; {parts[1]}.")
    zero = _range(results, "he zero", "plane")
    numbers["he zero"] = zero
    findings.append(
        f"**{NAMES['he zero']}**: all regions are cones, so every box holds them all; skips change "
        f"their number by {percent(zero['low'])} to {percent(zero['high'])}."
    )
    width, depths = max(results.widths), results.depths
    shallow, deep = (
        results.ratio(SkipCell("pytorch", width, depth, "residual"), "box")
        for depth in (depths[0], depths[-1])
    )
    findings.append(
        f"**Depth**: with PyTorch's default and residual skips, width {width}, the box holds "
        f"{shallow[0]:.2f} ± {shallow[1]:.2f} times as many regions with {depths[0]} layers and "
        f"{deep[0]:.2f} ± {deep[1]:.2f} times as many with {depths[-1]}."
    )
    run.numbers["findings"] = numbers
    return findings


def _conclusion(run: LabRun, results: SkipResults) -> str:
    """What the box shows, and what else has the same effect."""
    width, depth = max(results.widths), max(results.depths)
    row = results.row("box")
    mean = {
        (kind, name): float(results.counts[SkipCell(kind, width, depth, name)][row].mean())
        for kind in _RANDOM
        for name in ("none", "residual")
    }
    run.numbers["box_means"] = {f"{kind} {name}": value for (kind, name), value in mean.items()}
    return (
        "So Table 1 of the paper shows **where** regions are more than how many a network can "
        "make. For data in a box around the origin that is what matters; but an initialisation "
        f"that keeps the signal does the same without skips. With {depth} layers of {width} the "
        f"paper's box holds {mean['pytorch', 'none']:.0f} regions with PyTorch's default, "
        f"{mean['pytorch', 'residual']:.0f} when residual skips are added, and "
        f"{mean['he random', 'none']:.0f} with He's weights and no skips at all."
    )


def _range(results: SkipResults, initialisation: Initialisation, where: str) -> dict[str, Any]:
    """Smallest and largest ratio of an initialisation, and how many are clearly above or below."""
    found = [
        results.ratio(SkipCell(initialisation, width, depth, name), where)
        for width in results.widths_of(initialisation)
        for depth in results.depths
        for name in _SETS
    ]
    return {
        "low": min(ratio for ratio, _ in found),
        "high": max(ratio for ratio, _ in found),
        "more": sum(ratio - 2 * error > 1 for ratio, error in found),
        "fewer": sum(ratio + 2 * error < 1 for ratio, error in found),
        "cells": len(found),
    }


def _ratios(run: LabRun, results: SkipResults) -> None:
    rows = []
    for initialisation, words in NAMES.items():
        width = max(results.widths_of(initialisation))
        for depth in results.depths:
            cells = [SkipCell(initialisation, width, depth, name) for name in _SETS]
            plain = results.counts[SkipCell(initialisation, width, depth, "none")].mean(axis=1)
            rows.append(
                [
                    f"{words}, {depth}×{width}",
                    f"{plain[results.row('box')]:.0f}",
                    *(_ratio_text(results.ratio(cell, "box")) for cell in cells),
                    f"{plain[-1]:.0f}",
                    *(_ratio_text(results.ratio(cell, "plane")) for cell in cells),
                ]
            )
    run.report.table(
        ["initialisation, layers × neurons", "box: none", *_SETS, "R²: none", *_SETS],
        rows,
        "Mean number of regions without skips, and the factor by which each set of skips changes "
        "it (± standard error, same weights). The file `counts.csv` has all shapes.",
    )


def _ratio_text(found: tuple[float, float]) -> str:
    ratio, error = found
    return f"×{ratio:.2f} ± {error:.2f}"


def _half_radii(run: LabRun, results: SkipResults) -> None:
    width = max(results.widths)
    rows = [
        [f"{NAMES[initialisation]}, {depth} layers"]
        + [
            _radius_text(results, SkipCell(initialisation, width, depth, name))
            for name in SKIP_SETS
        ]
        for initialisation in _RANDOM
        for depth in results.depths
    ]
    run.report.table(
        ["initialisation, depth", *SKIP_SETS],
        rows,
        f"Radius of the box that holds half of all regions, width {width} (between the radii that "
        "were counted, interpolated).",
    )


def _radius_text(results: SkipResults, cell: SkipCell) -> str:
    radius = results.half_radius(cell)
    if not math.isnan(radius):
        return f"{radius:.2g}" if radius < 100 else f"{radius:,.0f}"
    means = results.counts[cell].mean(axis=1)
    few = means[0] > means[-1] / 2
    return f"< {results.radii[0]:g}" if few else f"> {results.radii[-1]:,.0f}"


def draw(run: LabRun, results: SkipResults) -> None:
    """The figures."""
    _draw_radii(run, results)
    _draw_depths(run, results)
    _draw_layers(run, results)
    _draw_distributions(run, results)


def _draw_radii(run: LabRun, results: SkipResults) -> None:
    width, depths = max(results.widths), results.depths
    made, axes = figure(len(_RANDOM), len(depths), size=(3.0, 2.7), sharex=True, sharey="col")
    end = results.radii[-1] * 100
    for row, initialisation in zip(axes, _RANDOM, strict=True):
        for ax, depth in zip(row, depths, strict=True):
            for name, color in COLORS.items():
                counts = results.counts[SkipCell(initialisation, width, depth, name)]
                mean = counts.mean(axis=1)
                error = counts.std(axis=1, ddof=1) / counts.shape[1] ** 0.5
                ax.errorbar(
                    [*results.radii, end], mean, 2 * error, color=color, marker=".", label=name
                )
            ax.axvline(PAPER_RADIUS, color="0.8", linewidth=0.8, zorder=0)
            ax.set_xscale("log")
            ax.set_title(f"{NAMES[initialisation]}\n{depth} layers", fontsize=9)
        row[0].set_ylabel("regions")
    for ax in axes[-1]:
        ax.set_xticks([1, 100, 1e4, end], ["1", "100", "10⁴", "R²"])
        ax.minorticks_off()
        ax.set_xlabel("radius of the box")
    axes[0, 0].legend(frameon=False, fontsize=8)
    run.picture(
        made,
        "radii",
        f"Mean number of regions in boxes of growing radius, and over R² (last point). Width "
        f"{width}; bars: ± 2 standard errors. The line marks the paper's box.",
    )


def _draw_depths(run: LabRun, results: SkipResults) -> None:
    made, axes = figure(2, len(NAMES), size=(3.6, 2.7), sharex=True, sharey=True)
    styles = dict(zip(results.widths, (":", "-", "--", "-."), strict=False))
    for row, (where, words) in zip(axes, PLACES.items(), strict=True):
        for ax, (initialisation, title) in zip(row, NAMES.items(), strict=True):
            for name in _SETS:
                for width in results.widths_of(initialisation):
                    found = np.array(
                        [
                            results.ratio(SkipCell(initialisation, width, depth, name), where)
                            for depth in results.depths
                        ]
                    )
                    ax.errorbar(
                        results.depths,
                        found[:, 0],
                        2 * found[:, 1],
                        color=COLORS[name],
                        linestyle=styles.get(width, "-"),
                        label=f"{name}, width {width}",
                    )
            ax.axhline(1, color="0.7", linewidth=0.8)
            ax.set_title(title, fontsize=9)
        row[0].set_ylabel(f"with skips / without\n{words}")
    for ax in axes[1]:
        ax.set_xticks(results.depths)
        ax.set_xlabel("layers")
    axes[0, 0].legend(frameon=False, fontsize=7)
    run.picture(
        made,
        "depths",
        "Regions with skips over regions without, same weights, against depth (± 2 standard "
        "errors). Top: in the paper's box, bottom: over R².",
    )


def _draw_layers(run: LabRun, results: SkipResults) -> None:
    kinds = list(dict.fromkeys(cell.initialisation for cell in results.layers))
    made, axes = figure(1, 2 * len(kinds), size=(3.1, 2.8), sharey=True)
    panels = [(kind, k) for kind in kinds for k in range(2)]
    for ax, (kind, k) in zip(axes[0], panels, strict=True):
        for cell, counts in results.layers.items():
            if cell.initialisation == kind:
                means = counts[k].mean(axis=1)
                layers = np.arange(1, len(means) + 1)
                ax.plot(layers, means, color=COLORS[cell.skips], marker=".", label=cell.skips)
        ax.set_title(f"{NAMES[kind]}\n{list(PLACES.values())[k]}", fontsize=9)
        ax.set_xlabel("layers")
        ax.set_yscale("log")
    axes[0, 0].set_ylabel("regions of the first layers")
    axes[0, 0].legend(frameon=False, fontsize=8)
    cell = next(iter(results.layers))
    run.picture(
        made,
        "layers",
        f"What each layer adds: mean number of regions of the first 1, 2, … layers of networks "
        f"with {cell.depth} layers of {cell.width}. Where a curve is flat, the layer's boundaries "
        "are elsewhere.",
    )


def _draw_distributions(run: LabRun, results: SkipResults) -> None:
    width, depth = max(results.widths), max(results.depths)
    made, axes = figure(1, 2 * len(_RANDOM), size=(3.1, 2.8), sharey=True)
    panels = [(kind, where) for kind in _RANDOM for where in PLACES]
    for ax, (kind, where) in zip(axes[0], panels, strict=True):
        for name in _SETS:
            values = np.sort(results.log_ratios(SkipCell(kind, width, depth, name), where))
            shares = np.arange(1, len(values) + 1) / len(values)
            ax.step(values, shares, where="post", color=COLORS[name], label=name)
        ax.axvline(0, color="0.7", linewidth=0.8)
        ax.set_title(f"{NAMES[kind]}\n{PLACES[where]}", fontsize=9)
        ax.set_xlabel("log₂ (with skips / without)")
    axes[0, 0].set_ylabel("share of the networks")
    axes[0, 0].legend(frameon=False, fontsize=8)
    run.picture(
        made,
        "distributions",
        f"Network by network, {depth} layers of {width}: the share of the networks whose number of "
        "regions changes by at most so much.",
    )


INITIALISATIONS: tuple[Initialisation, ...] = ("pytorch", "he random", "he zero")


@dataclass(frozen=True)
class SkipSettings:
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


def run(run: LabRun, settings: SkipSettings) -> None:
    """Count everything, then say what it shows."""
    cells = [
        SkipCell(initialisation, width, depth, name)
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
    results = SkipResults(settings.radii, counts, layers)
    _write_files(run, results)
    write_report(run, results)
    draw(run, results)


def _widths(initialisation: Initialisation, settings: SkipSettings) -> Sequence[int]:
    """Without biases all boundaries meet in one point, which exact arithmetic decides slowly."""
    return (min(settings.widths),) if initialisation == "he zero" else settings.widths


def _networks(run: LabRun, cell: SkipCell, count: int) -> list[Network]:
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


def _counts(run: LabRun, cell: SkipCell, settings: SkipSettings) -> NDArray[np.int64]:
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


def _by_layer(run: LabRun, cell: SkipCell, count: int) -> NDArray[np.int64]:
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


def _count(run: LabRun, networks: Sequence[Network], domain: Domain) -> NDArray[np.int64]:
    return count_many(networks, domain, workers=run.options.workers, progress=False)


def _write_files(run: LabRun, results: SkipResults) -> None:
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
    full=SkipSettings(),
    quick=SkipSettings(
        networks=6, widths=(4,), depths=(3, 5), radii=(1.0, 10.0, 1e3), layer_networks=4
    ),
)
