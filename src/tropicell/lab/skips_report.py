"""What is said and drawn about skip connections and regions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tropicell.lab.pictures import figure
from tropicell.lab.random_networks import Initialisation
from tropicell.lab.run import Run
from tropicell.lab.skip_sets import SKIP_SETS
from tropicell.lab.skips_results import PAPER_RADIUS, Cell, Results
from tropicell.lab.texts import percent

COLORS = {"none": "#b4561f", "one": "#7fa8d9", "residual": "#1f5fb4", "dense": "#0c2f5e"}
PLACES = {"box": "in the box [-10, 10]²", "plane": "over R²"}
NAMES: dict[Initialisation, str] = {
    "pytorch": "PyTorch default",
    "he random": "He normal, random biases",
    "he zero": "He normal, zero biases",
}
_RANDOM: list[Initialisation] = ["pytorch", "he random"]
_SETS = [name for name in SKIP_SETS if name != "none"]


def write_report(run: Run, results: Results) -> None:
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


def _findings(run: Run, results: Results) -> list[str]:
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
        results.ratio(Cell("pytorch", width, depth, "residual"), "box")
        for depth in (depths[0], depths[-1])
    )
    findings.append(
        f"**Depth**: with PyTorch's default and residual skips, width {width}, the box holds "
        f"{shallow[0]:.2f} ± {shallow[1]:.2f} times as many regions with {depths[0]} layers and "
        f"{deep[0]:.2f} ± {deep[1]:.2f} times as many with {depths[-1]}."
    )
    run.numbers["findings"] = numbers
    return findings


def _conclusion(run: Run, results: Results) -> str:
    """What the box shows, and what else has the same effect."""
    width, depth = max(results.widths), max(results.depths)
    row = results.row("box")
    mean = {
        (kind, name): float(results.counts[Cell(kind, width, depth, name)][row].mean())
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


def _range(results: Results, initialisation: Initialisation, where: str) -> dict[str, Any]:
    """Smallest and largest ratio of an initialisation, and how many are clearly above or below."""
    found = [
        results.ratio(Cell(initialisation, width, depth, name), where)
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


def _ratios(run: Run, results: Results) -> None:
    rows = []
    for initialisation, words in NAMES.items():
        width = max(results.widths_of(initialisation))
        for depth in results.depths:
            cells = [Cell(initialisation, width, depth, name) for name in _SETS]
            plain = results.counts[Cell(initialisation, width, depth, "none")].mean(axis=1)
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


def _half_radii(run: Run, results: Results) -> None:
    width = max(results.widths)
    rows = [
        [f"{NAMES[initialisation]}, {depth} layers"]
        + [_radius_text(results, Cell(initialisation, width, depth, name)) for name in SKIP_SETS]
        for initialisation in _RANDOM
        for depth in results.depths
    ]
    run.report.table(
        ["initialisation, depth", *SKIP_SETS],
        rows,
        f"Radius of the box that holds half of all regions, width {width} (between the radii that "
        "were counted, interpolated).",
    )


def _radius_text(results: Results, cell: Cell) -> str:
    radius = results.half_radius(cell)
    if not math.isnan(radius):
        return f"{radius:.2g}" if radius < 100 else f"{radius:,.0f}"
    means = results.counts[cell].mean(axis=1)
    few = means[0] > means[-1] / 2
    return f"< {results.radii[0]:g}" if few else f"> {results.radii[-1]:,.0f}"


def draw(run: Run, results: Results) -> None:
    """The figures."""
    _draw_radii(run, results)
    _draw_depths(run, results)
    _draw_layers(run, results)
    _draw_distributions(run, results)


def _draw_radii(run: Run, results: Results) -> None:
    width, depths = max(results.widths), results.depths
    made, axes = figure(len(_RANDOM), len(depths), size=(3.0, 2.7), sharex=True, sharey="col")
    end = results.radii[-1] * 100
    for row, initialisation in zip(axes, _RANDOM, strict=True):
        for ax, depth in zip(row, depths, strict=True):
            for name, color in COLORS.items():
                counts = results.counts[Cell(initialisation, width, depth, name)]
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


def _draw_depths(run: Run, results: Results) -> None:
    made, axes = figure(2, len(NAMES), size=(3.6, 2.7), sharex=True, sharey=True)
    styles = dict(zip(results.widths, (":", "-", "--", "-."), strict=False))
    for row, (where, words) in zip(axes, PLACES.items(), strict=True):
        for ax, (initialisation, title) in zip(row, NAMES.items(), strict=True):
            for name in _SETS:
                for width in results.widths_of(initialisation):
                    found = np.array(
                        [
                            results.ratio(Cell(initialisation, width, depth, name), where)
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


def _draw_layers(run: Run, results: Results) -> None:
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


def _draw_distributions(run: Run, results: Results) -> None:
    width, depth = max(results.widths), max(results.depths)
    made, axes = figure(1, 2 * len(_RANDOM), size=(3.1, 2.8), sharey=True)
    panels = [(kind, where) for kind in _RANDOM for where in PLACES]
    for ax, (kind, where) in zip(axes[0], panels, strict=True):
        for name in _SETS:
            values = np.sort(results.log_ratios(Cell(kind, width, depth, name), where))
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
