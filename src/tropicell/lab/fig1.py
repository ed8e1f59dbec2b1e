"""Figure 1: the walkthrough, how one region comes about neuron by neuron."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tropicell.lab.run import Experiment, LabRun
from tropicell.lab.texts import figure
from tropicell.network.domains import Box
from tropicell.network.network import Network
from tropicell.paper.algorithm1 import find_region
from tropicell.plotting import plot_regions, plot_walkthrough
from tropicell.regions.region import EmptyRegion, Region
from tropicell.search.enumeration import all_regions

#: Both neurons of layer 1 active; of layer 2 the first active, the second inactive.
PATTERN = "11|10"

#: The bias of layer 2 as printed, and the one with which the other printed numbers come out.
BIASES = {"printed": (-4.0, 1.0), "mended": (3.0, -11 / 4)}

#: The inequalities a·x ≤ b of the paper's text, and the corners of its figure.
PUBLISHED_ROWS = ((4, -1, 2), (4, 1, 3), (-20, 11, -4), (2, -10, -1))
PUBLISHED_CORNERS = tuple(
    tuple(Fraction(text) for text in corner.split())
    for corner in ("51/178 14/89", "21/38 4/19", "5/8 1/2", "37/64 11/16")
)

#: What is shown of the plane: for the mended bias what the paper's figure shows; with the printed
#: one the last thing that is left lies below that.
WINDOWS = {"printed": Box(-1, 1), "mended": Box(0, 1)}


@dataclass(frozen=True)
class Fig1Settings:
    """The settings of this experiment: there is nothing to choose."""


def walkthrough(bias: tuple[float, float]) -> Network:
    """The network of the paper's Section 3 with a bias of layer 2.

    Examples
    --------
    >>> walkthrough(BIASES["printed"])
    Network(2 → 2 → 2 → 1)
    """
    weights: list[list[list[float]]] = [[[-4, 1], [-4, -1]], [[-8, 3], [-21 / 4, 19 / 4]], [[1, 1]]]
    return Network.mlp(weights, [[2, 3], bias, [0]])


def run(run: LabRun, settings: Fig1Settings) -> None:
    """Both versions of the walkthrough, in exact arithmetic."""
    report = run.report
    report.text(
        "Section 3 of the paper follows one pattern through a network of two layers: both neurons "
        "of layer 1 are active, of layer 2 the first is active and the second is not. Each neuron "
        "adds one inequality. Everything here is computed in exact fractions."
    )
    report.text(
        "The printed weights and the printed result do not belong together: with the printed bias "
        "(-4, 1) of layer 2 the recurrence gives h_b = (5, 61/4), not the printed (12, 23/2). With "
        "the bias (3, -11/4) all other printed numbers come out. Both versions are shown."
    )
    for name, bias in BIASES.items():
        network = walkthrough(bias)
        found = find_region(network, PATTERN)
        shown = f"({Fraction(bias[0])}, {Fraction(bias[1])})"
        report.heading(f"With the {name} bias {shown}")
        _say(run, name, network, found)
        _draw(run, name, network, shown)


def _say(run: LabRun, name: str, network: Network, found: Region | EmptyRegion) -> None:
    rows = Region(network, PATTERN).inequalities
    measured = [[*a, b] for a, b in zip(rows.A.tolist(), rows.b.tolist(), strict=True)]
    pairs = list(zip(rows.sources, PUBLISHED_ROWS, measured, strict=True))
    run.report.table(
        ["neuron", "published", "computed", "equal"],
        [[source, _row(a), _row(b), "yes" if list(a) == b else "**no**"] for source, a, b in pairs],
        "The inequalities of the region.",
    )
    numbers: dict[str, Any] = {"inequalities": measured, "empty": not found}
    if isinstance(found, EmptyRegion):
        numbers["empty_at_layer"] = found.layer
        run.report.text(
            f"The region is **empty**, at layer {found.layer}: no input has this pattern. "
            "The published region is not empty."
        )
    else:
        corners = sorted(tuple(corner) for corner in found.vertices.tolist())
        same = corners == sorted(PUBLISHED_CORNERS)
        numbers |= {"corners": corners, "corners_as_published": same}
        run.report.text(
            f"The region is the quadrilateral with the corners {_points(corners)}: "
            + ("exactly those" if same else f"not those ({_points(PUBLISHED_CORNERS)})")
            + " of the published figure. (The paper's last formula prints x - 10y ≤ -1; "
            "the lines before it have 2x - 10y ≤ -1.)"
        )
    run.numbers[name] = numbers


def _draw(run: LabRun, name: str, network: Network, bias: str) -> None:
    made, axes = figure(1, 4, size=(2.7, 3.1))
    plot_walkthrough(network, PATTERN, axes, window=WINDOWS[name])
    run.picture(
        made,
        f"walkthrough-{name}",
        f"Neuron by neuron, b(2) = {bias}: the line where the neuron switches, what is left "
        "(dark), and what this neuron takes away (light).",
    )
    made, axes = figure(1, 1, size=(4.2, 4.0))
    regions = all_regions(network)
    plot_regions(regions, axes[0, 0], window=Box(-1.5, 1.5))
    run.numbers[name]["regions"] = len(regions)
    run.picture(made, f"regions-{name}", f"All {len(regions)} regions of the network.")


def _row(row: Iterable[Any]) -> str:
    """An inequality ``a x + b y ≤ c``.

    Examples
    --------
    >>> _row((4, -1, 2)), _row((2, -10, Fraction(-19, 4)))
    ('4x - y ≤ 2', '2x - 10y ≤ -19/4')
    """
    a, b, c = (Fraction(x) for x in row)
    factor = "" if abs(b) == 1 else str(abs(b))
    return f"{a}x {'-' if b < 0 else '+'} {factor}y ≤ {c}"


def _points(points: Iterable[Iterable[Any]]) -> str:
    return ", ".join("(" + ", ".join(map(str, point)) + ")" for point in points)


EXPERIMENT = Experiment(
    name="fig1",
    title="Figure 1: how one region comes about",
    run=run,
    full=Fig1Settings(),
    quick=Fig1Settings(),
)
