"""Figure 2: all regions of networks that learnt four functions.

The paper trains with Adam for 20,000 epochs on a grid of 40,401 points. It does not say how many
points make a batch; here an epoch is one step on all of them.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tropicell.errors import ModelFileError
from tropicell.explorer import explore
from tropicell.lab.functions import FUNCTIONS, RADIUS, Function, grid
from tropicell.lab.run import Experiment, LabRun, read_table, verdict_of
from tropicell.lab.texts import figure
from tropicell.lab.trained import ClassifierJob, Trained, trained
from tropicell.lab.training import Schedule, TrainingTask
from tropicell.network.domains import Box
from tropicell.network.network import Network
from tropicell.plotting import plot_regions
from tropicell.regions.regions import Regions
from tropicell.search.enumeration import all_regions
from tropicell.search.many import count_many

BOX = Box(-RADIUS, RADIUS)

#: Colours of the shallow and the deep networks.
_COLORS = ("#8a6d00", "#5b3fb0")


@dataclass(frozen=True)
class Fig2Settings:
    """What is trained.

    Attributes
    ----------
    epochs : int
        Steps of Adam on all points.
    learning_rate : float
    step : float
        Interval of the grid.
    depths : tuple of int
        Hidden layers of the two networks.
    neurons : int
        Of each layer.
    """

    epochs: int = 20_000
    learning_rate: float = 0.01
    step: float = 0.1
    depths: tuple[int, int] = (2, 5)
    neurons: int = 5


@dataclass(frozen=True, eq=False)
class FunctionPanel:
    """One network of the figure, during and after its training."""

    function: Function
    depth: int
    loss: Any
    counts: Any
    counts_plane: Any
    merged: int
    central: float
    film: list[Network] | None = None
    regions: Regions | None = None

    @property
    def name(self) -> str:
        """Function and depth."""
        return f"{self.function.name}, {self.depth} layers"

    @property
    def file(self) -> str:
        """The explorer page."""
        number = FUNCTIONS.index(self.function) + 1
        return f"explore-phi{number}-{self.depth}-layers.html"


def central(regions: Regions) -> float:
    """Share of the regions that have their witness in the middle quarter of the box."""
    inside = (np.abs(regions.witnesses.astype(np.float64)) <= RADIUS / 2).all(axis=1)
    return float(inside.mean())


def checkpoints(epochs: int) -> list[int]:
    """When to look: 0, 10, 20, 50, 100, …, and at the end.

    Examples
    --------
    >>> checkpoints(120)
    [0, 10, 20, 50, 100, 120]
    """
    steps = {first * 10**power for power in range(1, 8) for first in (1, 2, 5)}
    return sorted({0, epochs} | {step for step in steps if step < epochs})


def run(run: LabRun, settings: Fig2Settings) -> None:
    """Train, find all regions, draw."""
    times = checkpoints(settings.epochs)
    schedule = Schedule(settings.epochs, settings.learning_rate, "mse", checkpoints=times)
    kinds = [(function, depth) for function in FUNCTIONS for depth in settings.depths]
    jobs = [_job(run, settings, function, depth) for function, depth in kinds]
    results = trained(run, jobs, schedule)
    panels = [
        _panel(run, function, depth, found, job)
        for (function, depth), found, job in run.steps(
            list(zip(kinds, results, jobs, strict=True)), "finding regions"
        )
    ]
    for panel in panels:
        pictures = [all_regions(network, BOX, progress=False) for network in panel.film or ()]
        explore(pictures, run.folder / panel.file, labels=[f"epoch {t:,}" for t in times])
    _write(run, settings, panels, times)
    _draw(run, settings, panels)
    _draw_training(run, settings, panels, times)


def again(run: LabRun, settings: Fig2Settings, folder: Path) -> None:
    """The report from the tables of an earlier run, and its picture of the regions."""
    rows = read_table(folder, "training")
    numbers = json.loads((folder / "numbers.json").read_text(encoding="utf-8"))["numbers"]
    times = sorted({int(row["epoch"]) for row in rows})
    panels = []
    for function in FUNCTIONS:
        for depth in settings.depths:
            own = [r for r in rows if (r["function"], r["layers"]) == (function.name, str(depth))]
            kept = numbers[f"{function.name}, {depth} layers"]
            panels.append(
                FunctionPanel(
                    function,
                    depth,
                    np.array([float(row["loss"]) for row in own]),
                    np.array([int(row["regions in the box"]) for row in own]),
                    np.array([int(row["regions in the plane"]) for row in own]),
                    kept["merged"],
                    kept["central"],
                )
            )
    _write(run, settings, panels, times)
    picture = folder / "fig2.png"
    if not picture.is_file():
        raise ModelFileError(f"{picture}: expected the picture of an earlier run")
    if picture.resolve() != (run.folder / picture.name).resolve():
        shutil.copyfile(picture, run.folder / picture.name)
    run.report.picture(picture.name, _caption(settings))
    _draw_training(run, settings, panels, times)


def _job(run: LabRun, settings: Fig2Settings, function: Function, depth: int) -> ClassifierJob:
    points, values = function.samples(settings.step)
    name = f"{function.name} {depth} layers"
    seed = run.torch_seed(function.name, depth)
    sizes = [2, *[settings.neurons] * depth, 1]
    about = {"function": function.formula, "step": settings.step}
    return ClassifierJob(
        name.replace("φ", "phi"), TrainingTask(sizes, [seed], points, values), about
    )


def _panel(
    run: LabRun, function: Function, depth: int, found: Trained, job: ClassifierJob
) -> FunctionPanel:
    film = [networks[0] for networks in found.networks]
    workers = run.options.workers
    regions = all_regions(film[-1], BOX, progress=False)
    return FunctionPanel(
        function,
        depth,
        found.train_loss[:, 0],
        count_many(film, BOX, workers=workers, progress=False),
        count_many(film, workers=workers, progress=False),
        len(regions.merged()),
        central(regions),
        film,
        regions,
    )


def _write(
    run: LabRun, settings: Fig2Settings, panels: list[FunctionPanel], times: list[int]
) -> None:
    run.table(
        "training",
        ["function", "layers", "epoch", "loss", "regions in the box", "regions in the plane"],
        [
            [panel.function.name, panel.depth, *row]
            for panel in panels
            for row in zip(times, panel.loss, panel.counts, panel.counts_plane, strict=True)
        ],
    )
    variances = {f.name: float(f.samples(settings.step)[1].var()) for f in FUNCTIONS}
    rows = []
    for panel in panels:
        variance = variances[panel.function.name]
        explained = 1 - panel.loss[-1] / variance
        run.numbers[panel.name] = {
            "loss": panel.loss[-1],
            "variance": variance,
            "explained": explained,
            "regions": panel.counts[-1],
            "regions_plane": panel.counts_plane[-1],
            "merged": panel.merged,
            "central": panel.central,
        }
        rows.append(
            [
                panel.name,
                f"{panel.loss[-1]:.2g}",
                f"{100 * explained:.0f} %",
                panel.counts[-1],
                panel.merged,
                panel.counts_plane[-1],
                f"{100 * panel.central:.0f} %",
            ]
        )
    points = len(grid(settings.step))
    run.report.text(
        f"Networks with {settings.depths[0]} and {settings.depths[1]} hidden layers of "
        f"{settings.neurons} neurons learn each of four functions from {points:,} points of "
        f"[-10, 10]² (Adam, learning rate {settings.learning_rate:g}, {settings.epochs:,} epochs; "
        "an epoch is one step on all points, since the paper names no batch size and 20,000 epochs "
        "of small batches would be millions of steps). φ1 is not defined on the axes, these points "
        "are left out; φ2 has its limit 1 at the origin."
    )
    run.report.table(
        [
            "function, network",
            "loss (MSE)",
            "variance explained",
            "regions in the box",
            "merged",
            "regions in R²",
            "in the middle quarter",
        ],
        rows,
        "One network each, as in the paper; the seed was not chosen. Merged: neighbours with the "
        "same affine map count once. Middle quarter: regions around points of [-5, 5]², a quarter "
        "of the area. The paper prints pictures only, no numbers to compare with.",
    )
    run.report.bullets(_observations(run, settings, panels))


def _observations(run: LabRun, settings: Fig2Settings, panels: list[FunctionPanel]) -> list[str]:
    """The paper's remarks on its figure, against these networks."""
    by = {(panel.function.name, panel.depth): panel for panel in panels}
    shallow, deep = settings.depths
    better = [f.name for f in FUNCTIONS if by[f.name, deep].loss[-1] < by[f.name, shallow].loss[-1]]
    middle = {f.name: by[f.name, deep].central for f in FUNCTIONS}
    most = max(middle, key=lambda name: middle[name])
    explained = {
        depth: 1
        - run.numbers[by["φ4", depth].name]["loss"] / run.numbers[by["φ4", depth].name]["variance"]
        for depth in settings.depths
    }
    run.claim(
        "figure 2, depth",
        "Sect. 5, Figure 2",
        "Deeper networks position the boundaries of regions more effectively (read as: smaller "
        f"training loss with {deep} layers than with {shallow}).",
        verdict_of(len(better), len(FUNCTIONS)),
        f"for {', '.join(better) or 'no function'}; one network a panel",
    )
    run.claim(
        "figure 2, overfitting",
        "Sect. 5, Figure 2",
        "The networks overfit φ4 (which needs that they learn it: at least half of the training "
        "points' variance).",
        "does not hold" if max(explained.values()) < 0.5 else "not decided",
        ", ".join(f"{depth} layers explain {100 * x:.0f} %" for depth, x in explained.items()),
    )
    return [
        f"*Deeper networks place boundaries better.* Here the {deep}-layer network has the smaller "
        f"loss for {', '.join(better) or 'no function'}"
        + (f" ({len(better)} of {len(FUNCTIONS)})." if better else "."),
        "*φ4 gives clusters of tiny regions near the centre, and irregular ones near the edges.* "
        f"Here {100 * middle['φ4']:.0f} % of its regions are in the middle quarter of the box with "
        f"{deep} layers; the function with the largest share is {most} "
        f"({100 * middle[most]:.0f} %).",
        "*φ4 is expected to induce overfitting.* Here "
        + " and ".join(f"{100 * x:.0f} % ({depth} layers)" for depth, x in explained.items())
        + " of its variance at the training points are explained: "
        + ("that is underfitting." if max(explained.values()) < 0.5 else "it is learnt."),
        "One network a panel is a small sample; `tropicell lab overfitting` trains several of each "
        "size, with test points.",
    ]


def _caption(settings: Fig2Settings) -> str:
    return (
        f"Left: the functions. Middle and right: all regions after {settings.epochs:,} epochs. "
        "Colours are arbitrary."
    )


def _draw(run: LabRun, settings: Fig2Settings, panels: list[FunctionPanel]) -> None:
    made, axes = figure(len(FUNCTIONS), 3, size=(3.6, 3.6))
    pairs = iter(panels)
    for row, function in zip(axes, FUNCTIONS, strict=True):
        line = np.linspace(-RADIUS, RADIUS, 400)
        x, y = np.meshgrid(line, line)
        values = function(np.stack([x.ravel(), y.ravel()], axis=1)).reshape(x.shape)
        row[0].imshow(values, origin="lower", extent=(-10, 10, -10, 10), cmap="viridis")
        row[0].set_title(f"{function.name} = {function.formula}", fontsize=9)
        for ax in row[1:]:
            panel = next(pairs)
            if panel.regions is not None:
                plot_regions(panel.regions, ax)
            ax.set_title(f"{panel.depth} layers: {panel.counts[-1]} regions", fontsize=9)
        for ax in row:
            ax.set_xlabel("")
            ax.set_ylabel("")
    run.picture(made, "fig2", _caption(settings))


def _draw_training(
    run: LabRun, settings: Fig2Settings, panels: list[FunctionPanel], times: list[int]
) -> None:
    made, axes = figure(2, len(FUNCTIONS), size=(3.0, 2.5), sharex=True, sharey="row")
    for k, function in enumerate(FUNCTIONS):
        for panel in panels:
            if panel.function is function:
                color = _COLORS[settings.depths.index(panel.depth)]
                axes[0, k].plot(times, panel.loss, color=color, label=f"{panel.depth} layers")
                axes[1, k].plot(times, panel.counts, color=color)
        axes[0, k].set_title(function.name, fontsize=10)
        axes[0, k].set_xscale("symlog", linthresh=10)
        axes[1, k].set_xlabel("epoch")
    axes[0, 0].set_yscale("log")
    axes[0, 0].set_ylabel("loss (MSE)")
    axes[1, 0].set_ylabel("regions in the box")
    axes[0, 0].legend(frameon=False, fontsize=9)
    run.picture(made, "training", "Loss and number of regions in the box during training.")
    run.report.heading("To explore")
    run.report.text(
        "A page for each network, with a slider over the training: "
        + ", ".join(f"`{panel.file}`" for panel in panels)
        + "."
    )


EXPERIMENT = Experiment(
    name="fig2",
    title="Figure 2: all regions of networks trained on four functions",
    run=run,
    full=Fig2Settings(),
    quick=Fig2Settings(epochs=300, step=0.5),
    again=again,
)
