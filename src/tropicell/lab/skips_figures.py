"""Names, colours and pictures of the experiment on skip connections."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tropicell.lab.functions import RADIUS
from tropicell.lab.run import LabRun
from tropicell.lab.skip_sets import SKIP_SETS, distinct_sets, same_set
from tropicell.lab.texts import figure, layer_axis

#: Where regions are counted: the paper's box around the origin, and all inputs.
PLACES = ("box", "all")

NAMES: dict[str, str] = {
    "pytorch": "PyTorch default",
    "glorot": "Glorot, PyTorch's biases",
    "he random": "He, PyTorch's biases",
    "he zero": "He, no biases",
}
COLORS = {"none": "#b4561f", "one": "#7fa8d9", "residual": "#1f5fb4", "dense": "#0c2f5e"}
SETS = [name for name in SKIP_SETS if name != "none"]

#: A table as it was read.
Rows = list[dict[str, str]]


def draw_effects(run: LabRun, found: Sequence[Any]) -> None:
    """Effects against depth, by initialisation."""
    kinds = list(dict.fromkeys(each.key[0] for each in found))
    widths = sorted({int(each.key[1]) for each in found})
    made, axes = figure(2, len(kinds), size=(3.1, 2.7), sharex=True, sharey=True)
    styles = dict(zip(widths, (":", "-"), strict=False))
    depths = sorted({int(each.key[2]) for each in found})
    for row, where in zip(axes, PLACES, strict=True):
        for ax, kind in zip(row, kinds, strict=True):
            place = "all" if kind == "he zero" else where
            by = {(e.key, e.skips): e.effect for e in found if e.where == place}
            for name in SETS:
                for width in widths:
                    effects = [by[(kind, str(width), str(d)), same_set(name, d)] for d in depths]
                    y = np.array([e.factor for e in effects])
                    bars = [y - [e.low for e in effects], [e.high for e in effects] - y]
                    ax.errorbar(
                        depths,
                        y,
                        bars,
                        color=COLORS[name],
                        linestyle=styles.get(width, "-"),
                        marker=".",
                        label=f"{name}, width {width}",
                    )
            ax.axhline(1, color="0.7", linewidth=0.8)
            ax.set_yscale("log")
            ticks = [0.5, 1, 2, 3]
            ax.set_yticks(ticks, [f"×{t:g}" for t in ticks])
            ax.minorticks_off()
            ax.set_xticks(depths)
        row[0].set_ylabel("in the box" if where == "box" else "over R²")
    for ax, kind in zip(axes[0], kinds, strict=True):
        ax.set_title(NAMES[kind], fontsize=9)
    for ax in axes[1]:
        ax.set_xlabel("layers")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    made.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False, fontsize=8)
    run.picture(
        made,
        "effects",
        "Factor by which skips change the number of regions of the same weights, two inputs, 95 % "
        "intervals.",
    )


def draw_layers(run: LabRun, bounds: Sequence[Mapping[str, Any]]) -> None:
    """Boundaries on the segment, layer by layer."""
    kinds = list(dict.fromkeys(each["initialisation"] for each in bounds))
    made, axes = figure(1, len(kinds), size=(3.9, 3.1), sharey=True)
    for ax, kind in zip(axes[0], kinds, strict=True):
        for each in bounds:
            if each["initialisation"] == kind:
                layers = np.arange(1, each["depth"] + 1)
                color = COLORS[each["skips"]]
                ax.plot(layers, each["crossings"], color=color, marker=".", label=each["skips"])
                if each["skips"] == "none":
                    ax.plot(layers, each["bound"], color=color, linestyle=":", label="bound, none")
        ax.set_title(NAMES[kind], fontsize=9)
        ax.set_yscale("log")
        ax.set_ylim(0.01, 300)
        ax.set_xlabel("layer")
        layer_axis(ax, bounds[0]["depth"])
    axes[0, 0].set_ylabel("boundaries on the segment")
    axes[0, 0].legend(frameon=False, fontsize=8)
    run.picture(
        made,
        "boundaries",
        f"Boundaries that each layer has on a segment of length {2 * RADIUS:g}, mean over draws, "
        "and the bound of the proposition for networks without skips.",
    )


def draw_radii(run: LabRun, rows: Rows) -> None:
    """Boxes of growing radius."""
    cells: dict[tuple[str, int, str], list[tuple[float, float, float]]] = {}
    for row in rows:
        radius = float(row["radius"]) if row["radius"] else math.inf
        key = row["initialisation"], int(row["depth"]), row["skips"]
        cells.setdefault(key, []).append((radius, float(row["mean"]), float(row["standard error"])))
    kinds = list(dict.fromkeys(key[0] for key in cells))
    depths = sorted({key[1] for key in cells})
    radii = [radius for radius, *_ in next(iter(cells.values()))]
    end = radii[-2] * 100
    made, axes = figure(len(kinds), len(depths), size=(3.0, 2.5), sharex=True, sharey="col")
    for line, kind in zip(axes, kinds, strict=True):
        for ax, depth in zip(line, depths, strict=True):
            for name in distinct_sets(depth):
                values = np.array(cells[kind, depth, name])
                x = np.where(np.isinf(values[:, 0]), end, values[:, 0])
                ax.errorbar(
                    x, values[:, 1], 2 * values[:, 2], color=COLORS[name], marker=".", label=name
                )
            ax.axvline(RADIUS, color="0.8", linewidth=0.8, zorder=0)
            ax.set_xscale("log")
            ax.set_title(f"{NAMES[kind]}\n{depth} layers", fontsize=9)
        line[0].set_ylabel("regions")
    for ax in axes[-1]:
        ax.set_xticks([1, 100, end], ["1", "100", "R²"])
        ax.minorticks_off()
        ax.set_xlabel("radius of the box")
    axes[0, -1].legend(frameon=False, fontsize=8)
    width = rows[0]["width"]
    run.picture(
        made,
        "radii",
        f"Mean number of regions in boxes of growing radius, and over R² (last point). Width "
        f"{width}; bars: ± 2 standard errors. The line marks the paper's box.",
    )


def draw_controls(run: LabRun, shares: Sequence[Mapping[str, Any]]) -> None:
    """Rescaled signals."""
    made, axes = figure(1, 2, size=(5.6, 3.3), sharey=True)
    kinds = {
        "skips": ("with skips", "#1f5fb4"),
        "none scaled": ("no skips, signals as with", "#b4561f"),
        "skips scaled": ("skips, signals as without", "0.45"),
    }
    labels = [
        f"{NAMES[e['initialisation']].split()[0].rstrip(',')}\n{e['depth']}, {e['skips']}"
        for e in shares
    ]
    for ax, where in zip(axes[0], PLACES, strict=True):
        for shift, (kind, (label, color)) in zip((-0.2, 0.0, 0.2), kinds.items(), strict=True):
            effects = [e[f"{kind} {where}"] for e in shares]
            y = np.array([e.factor for e in effects])
            bars = [y - [e.low for e in effects], [e.high for e in effects] - y]
            ax.errorbar(
                np.arange(len(y)) + shift, y, bars, fmt=".", color=color, label=label, capsize=2
            )
        ax.axhline(1, color="0.7", linewidth=0.8)
        ax.set_yscale("log")
        ticks = [0.25, 0.5, 1, 2, 4]
        ax.set_yticks(ticks, [f"×{t:g}" for t in ticks])
        ax.minorticks_off()
        ax.set_xticks(range(len(labels)), labels, fontsize=6, rotation=60)
        ax.set_title("in the box" if where == "box" else "over R²", fontsize=9)
    axes[0, 0].set_ylabel("regions against no skips")
    axes[0, 0].legend(frameon=False, fontsize=8)
    run.picture(
        made,
        "controls",
        "The two controls: regions against the same weights without skips, 95 % intervals.",
    )
