"""Figure 1: the walkthrough, how one region comes about neuron by neuron."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tropicell._runtime.arrays import FloatArray
from tropicell.geometry.arithmetic import to_floats
from tropicell.lab.run import Experiment, LabRun, verdict_of
from tropicell.lab.texts import figure
from tropicell.network.domains import Box
from tropicell.network.network import Network
from tropicell.paper.algorithm1 import find_region
from tropicell.paper.recurrences import recurrences
from tropicell.plotting import plot_regions
from tropicell.plotting.frame import cut, rectangle
from tropicell.regions.region import EmptyRegion, Region
from tropicell.search.enumeration import all_regions

#: Both neurons of layer 1 active; of layer 2 the first active, the second inactive.
PATTERN = "11|10"

#: The bias of layer 2 as printed, and the one with which the other printed numbers come out.
BIASES = {"printed": (-4.0, 1.0), "mended": (3.0, -11 / 4)}

#: h_b of layer 2 as printed.
PUBLISHED_H_B = (Fraction(12), Fraction(23, 2))

#: The inequalities a·x ≤ b of the paper's text, and the corners of its figure.
PUBLISHED_ROWS = ((4, -1, 2), (4, 1, 3), (-20, 11, -4), (2, -10, -1))
PUBLISHED_CORNERS = tuple(
    tuple(Fraction(text) for text in corner.split())
    for corner in ("51/178 14/89", "21/38 4/19", "5/8 1/2", "37/64 11/16")
)

#: What is shown of the plane: for the mended bias what the paper's figure shows; with the printed
#: one the last thing that is left lies below that.
WINDOWS = {"printed": Box([-1, -1], [1, 1]), "mended": Box([0, 0], [1, 1])}


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
    found_b = {
        name: tuple(recurrences(walkthrough(bias), PATTERN)[1].h_b.tolist())
        for name, bias in BIASES.items()
    }
    agree = [name for name, values in found_b.items() if values == PUBLISHED_H_B]
    report.text(
        f"The paper prints h_b = {_point(PUBLISHED_H_B)} for layer 2. "
        + " ".join(
            f"With the {name} bias {_point(map(Fraction, BIASES[name]))} the recurrence gives "
            f"{_point(values)}."
            for name, values in found_b.items()
        )
        + f" So what is printed comes out with {_the(agree)} bias. "
        "Both versions are shown. Neurons are numbered from 1 here, as in the paper."
    )
    run.numbers["h_b"] = found_b
    for name, bias in BIASES.items():
        network = walkthrough(bias)
        found = find_region(network, PATTERN)
        shown = _point(map(Fraction, bias))
        report.heading(f"With the {name} bias {shown}")
        _say(run, name, network, found)
        _draw(run, name, network, shown)
    for name in BIASES:
        numbers = run.numbers[name]
        equal = numbers["rows_as_published"]
        run.claim(
            f"walkthrough, {name} bias",
            "Sect. 3, Figure 1",
            "The region of the walkthrough"
            + ("." if name == "printed" else ", with the bias that fits the printed h_b."),
            "does not hold"
            if numbers["empty"]
            else verdict_of(equal + numbers["corners_as_published"], len(PUBLISHED_ROWS) + 1),
            f"{equal} of {len(PUBLISHED_ROWS)} inequalities as printed; the region is "
            + (
                f"empty at layer {numbers['empty_at_layer']}"
                if numbers["empty"]
                else "not empty, its corners "
                + ("those" if numbers["corners_as_published"] else "not those")
                + " of the figure"
            ),
        )


def _the(names: list[str]) -> str:
    return f"the {' and the '.join(names)}" if names else "neither"


def _say(run: LabRun, name: str, network: Network, found: Region | EmptyRegion) -> None:
    rows = Region(network, PATTERN).inequalities
    measured = [[*a, b] for a, b in zip(rows.A.tolist(), rows.b.tolist(), strict=True)]
    pairs = list(zip(rows.sources, PUBLISHED_ROWS, measured, strict=True))
    run.report.table(
        ["neuron", "published", "computed", "equal"],
        [
            [
                f"layer {source.layer}, neuron {source.neuron + 1}",
                _row(a),
                _row(b),
                "yes" if list(a) == b else "**no**",
            ]
            for source, a, b in pairs
        ],
        "The inequalities of the region.",
    )
    numbers: dict[str, Any] = {
        "inequalities": measured,
        "rows_as_published": sum(list(a) == b for _, a, b in pairs),
        "empty": not found,
    }
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
            + " of the published figure. (The paper's last formula prints x - 10y ≤ -1, "
            "the lines before it 2x - 10y ≤ -1; the table above has the latter.)"
        )
    run.numbers[name] = numbers


def _draw(run: LabRun, name: str, network: Network, bias: str) -> None:
    window = WINDOWS[name]
    made, axes = figure(1, 1, size=(13.0, 5.6))
    _Walkthrough(axes[0, 0], network, window).draw()
    run.picture(
        made,
        f"walkthrough-{name}",
        f"The walkthrough in the layout of the paper's figure, b(2) = {bias}; each square shows "
        f"[{window.low[0]:g}, {window.high[0]:g}]². Blue: the inputs that are left before "
        "(pre-activation) and after (post-activation) a neuron has chosen its half; dashed red: "
        "where the neuron switches.",
    )
    made, axes = figure(1, 1, size=(4.2, 4.0))
    regions = all_regions(network)
    plot_regions(regions, axes[0, 0], window=Box(-1.5, 1.5))
    run.numbers[name]["regions"] = len(regions)
    run.picture(made, f"regions-{name}", f"All {len(regions)} regions of the network.")


class _Walkthrough:
    """The paper's Figure 1: the network from left to right, with the inputs that are left."""

    #: Side of a square, and where things are, as in the paper.
    SIDE = 2.0
    ROWS = (3.0, -3.0)

    def __init__(self, ax: Any, network: Network, window: Box) -> None:
        self.ax = ax
        self.low = np.asarray(window.low, dtype=np.float64)
        self.high = np.asarray(window.high, dtype=np.float64)
        rows = Region(network, PATTERN).inequalities
        self.halves = [
            (to_floats(rows.A[k]), float(rows.b[k]), source.layer)
            for k, source in enumerate(rows.sources)
        ]

    def draw(self) -> None:
        """Everything."""
        ax, side = self.ax, self.SIDE
        middle = [y + side / 2 for y in self.ROWS]
        last = self._left([0, 1, 2, 3])
        for i, y in enumerate(self.ROWS):
            ax.text(-4, y + side / 2 + (-0.8 if i else 0.5), f"Input {i + 1}", ha="center")
            for start, panel, after, kept in ((-0.5, 3.0, 0, []), (8.5, 12.0, 2, [0, 1])):
                self._square(start, y, self._left(kept), kept)
                self._square(panel, y, self._left([*kept, after + i]), kept, after + i)
                self._relu(start + 2.75, y + side / 2)
                for x, word in ((start + 1, "Pre-"), (panel + 1, "Post-")):
                    ax.text(x, y - 0.15, f"{word}\nactivation", ha="center", va="top", fontsize=9)
                title = f"Layer {1 if after == 0 else 2}, neuron {i + 1}"
                ax.plot([start, panel + side], [y + side + 0.35] * 2, color="0.2", linewidth=1.5)
                ax.text(start + 2.75, y + side + 0.5, title, ha="center", fontsize=11)
        for left, right in ((-4.0, -1.0), (5.5, 8.0)):
            for y in middle:
                self._node(left, y)
                self._node(right, y, "+")
                for other in middle:
                    self._arrow((left, y), (right, other))
        for y in middle:
            self._node(14.5, y)
            self._arrow((14.5, y), (16.5, 1.0))
        self._node(16.5, 1.0, "+")
        self._square(17.0, 0.0, last, [0, 1, 2, 3])
        ax.text(18, -0.15, "Resulting\nlinear region", ha="center", va="top")
        if not len(last):
            ax.text(18, 1.0, "empty", ha="center", va="center", color="0.3")
        ax.set(xlim=(-4.8, 19.3), ylim=(-4.3, 6.2), aspect="equal")
        ax.axis("off")

    def _left(self, halves: Iterable[int]) -> FloatArray:
        """The part of the window that some half-planes leave."""
        polygon = rectangle(self.low, self.high)
        for k in halves:
            a, b, _ = self.halves[k]
            if len(polygon):
                polygon = cut(polygon, a, b)
        return polygon

    def _place(self, points: FloatArray, x: float, y: float) -> FloatArray:
        return np.array([x, y]) + self.SIDE * (points - self.low) / (self.high - self.low)

    def _square(
        self, x: float, y: float, left: FloatArray, old: Iterable[int], new: int | None = None
    ) -> None:
        ax = self.ax
        if len(left):
            ax.fill(*self._place(left, x, y).T, color="#ccccff", linewidth=0)
        for k in old:
            self._line(x, y, k, {"color": "0.5", "linewidth": 0.9})
        if new is not None:
            self._line(x, y, new, {"color": "red", "linestyle": "--", "linewidth": 1.6})
        frame = self._place(rectangle(self.low, self.high), x, y)
        ax.plot(*np.vstack([frame, frame[:1]]).T, color="black", linewidth=1.4)

    def _line(self, x: float, y: float, k: int, style: dict[str, Any]) -> None:
        """Where a neuron switches, within what the layers before it leave."""
        a, b, layer = self.halves[k]
        inside = self._left(i for i, half in enumerate(self.halves) if half[2] < layer)
        if not len(inside):
            return
        values = inside @ a - b
        ends = list(inside[values == 0])
        for i in range(len(inside)):
            here, there = values[i - 1], values[i]
            if here * there < 0:
                share = here / (here - there)
                ends.append(inside[i - 1] + share * (inside[i] - inside[i - 1]))
        if len(ends) > 1:
            self.ax.plot(*self._place(np.array(ends[:2]), x, y).T, **style)

    def _node(self, x: float, y: float, text: str = "") -> None:
        self.ax.plot([x], [y], "o", markersize=13, markerfacecolor="white", color="black")
        self.ax.text(x, y, text, ha="center", va="center", fontweight="bold")

    def _relu(self, x: float, y: float) -> None:
        self._node(x, y)
        self.ax.text(x, y - 0.55, "ReLU", ha="center", va="center", fontsize=8)
        self.ax.plot([x - 0.5, x, x + 0.5], [y + 0.5, y + 0.5, y + 1.0], color="black")
        self.ax.plot([x, x], [y + 0.3, y + 1.0], color="red", linestyle="--", linewidth=0.9)

    def _arrow(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        self.ax.annotate(
            "",
            end,
            start,
            arrowprops={"arrowstyle": "-|>", "color": "black", "shrinkA": 7, "shrinkB": 7},
        )


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
    return ", ".join(map(_point, points))


def _point(point: Iterable[Any]) -> str:
    return "(" + ", ".join(map(str, point)) + ")"


EXPERIMENT = Experiment(
    name="fig1",
    title="Figure 1: how one region comes about",
    run=run,
    full=Fig1Settings(),
    quick=Fig1Settings(),
    again=lambda made, settings, _: run(made, settings),  # exact and quick: nothing is read
)
