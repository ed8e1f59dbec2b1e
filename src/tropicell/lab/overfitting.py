"""Section 5's remarks on overfitting, depth and folding, with many networks and test points.

The paper shows one network a panel and no test loss. Here several networks of four sizes learn
each of the four functions, from many points and from few. Is a network with more regions one that
overfits? Do networks overfit φ4, or can't they learn it? Are φ3's nine patterns there, and does the
plane fold?
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import ndimage, stats

from tropicell._runtime.arrays import FloatArray
from tropicell.lab.functions import FUNCTIONS, RADIUS, Function
from tropicell.lab.run import Experiment, LabRun, copy_tables, read_table, verdict_of
from tropicell.lab.statistics import (
    LEVEL,
    Interval,
    holm,
    mann_whitney,
    mean_difference,
    spearman,
    summary,
)
from tropicell.lab.texts import figure, interval_text, mean_text, p_text
from tropicell.lab.trained import ClassifierJob, trained
from tropicell.lab.training import Schedule, TrainingTask
from tropicell.network.domains import Box
from tropicell.network.network import Network
from tropicell.search.enumeration import all_regions

BOX = Box(-RADIUS, RADIUS)

#: The middles of φ3's hills and valleys in the box.
CENTRES = np.array([[i, j] for i in (-1, 0, 1) for j in (-1, 0, 1)]) * 2 * np.pi

#: A difference between test and training loss, over the variance, that is called overfitting.
_NOTABLE = 0.01

#: Of a layer of the paper's networks.
_PAPER_NEURONS = 5

_COLORS = ("#8a6d00", "#5b3fb0", "#c98b00", "#9d85e0")


@dataclass(frozen=True)
class OverfittingSettings:
    """What is trained.

    Attributes
    ----------
    networks : int
        Of each size, for each function and grid.
    epochs : int
        Steps of Adam on all points.
    many, few : float
        Intervals of the two grids of training points.
    test : float
        Interval of the test points, which lie half of it beside the grid.
    wide : int
        Neurons of a layer of the wide networks; the paper's have 5.
    """

    networks: int = 20
    epochs: int = 5000
    many: float = 0.4
    few: float = 1.2
    test: float = 0.4
    wide: int = 20


@dataclass(frozen=True)
class Size:
    """Layers and neurons; wide networks learn with smaller steps."""

    layers: int
    neurons: int

    @property
    def name(self) -> str:
        """Layers × neurons."""
        return f"{self.layers}×{self.neurons}"

    @property
    def learning_rate(self) -> float:
        """The paper's for its own size."""
        return 0.01 if self.neurons <= _PAPER_NEURONS else 0.003


@dataclass(frozen=True, eq=False)
class Sample:
    """Networks of one size that learnt one function from one grid.

    Attributes
    ----------
    train, test : ndarray
        Losses, divided by the variance of the function at these points: 1 is a constant.
    regions : ndarray
        In the box.
    central : ndarray
        Share of the regions with their witness in the middle quarter of the box.
    """

    function: Function
    grid: str
    size: Size
    train: FloatArray
    test: FloatArray
    regions: FloatArray
    central: FloatArray

    @property
    def gap(self) -> FloatArray:
        """How much larger the loss is on test points: overfitting."""
        return self.test - self.train


def run(run: LabRun, settings: OverfittingSettings) -> None:
    """Train, count, compare."""
    grids = {"many": settings.many, "few": settings.few}
    sizes = [Size(2, 5), Size(5, 5), Size(2, settings.wide), Size(5, settings.wide)]
    samples, shapes = [], []
    for size in run.steps(sizes, "training"):
        cells = [(function, grid) for grid in grids for function in FUNCTIONS]
        schedule = Schedule(
            settings.epochs, size.learning_rate, "mse", checkpoints=[settings.epochs]
        )
        jobs = [_job(run, settings, f, grid, grids[grid], size) for f, grid in cells]
        for (function, grid), job, found in zip(
            cells, jobs, trained(run, jobs, schedule), strict=True
        ):
            samples.append(_sample(run, job, schedule, function, grid, size, found))
            if (function.name, grid, size.neurons) == ("φ3", "many", _PAPER_NEURONS):
                shapes += _shapes(size, function, found.networks[-1])
    _write_files(run, samples, shapes)
    again(run, settings, run.folder)


def again(run: LabRun, settings: OverfittingSettings, folder: Path) -> None:
    """The report from the tables in a folder."""
    samples = _read_samples(read_table(folder, "networks"))
    copy_tables(run, folder)
    _losses(run, settings, samples)
    _overfitting(run, samples)
    _phi4(run, samples)
    _depth(run, samples)
    _folding(run, read_table(folder, "folding"))
    _draw(run, samples)


def _job(
    run: LabRun,
    settings: OverfittingSettings,
    function: Function,
    grid: str,
    step: float,
    size: Size,
) -> ClassifierJob:
    points, values = function.samples(step)
    tests, test_values = function.samples(settings.test, settings.test / 2)
    task = TrainingTask(
        [2, *[size.neurons] * size.layers, 1],
        [run.torch_seed(function.name, grid, size.name, i) for i in range(settings.networks)],
        points,
        values,
        test_inputs=tests,
        test_targets=test_values,
    )
    name = f"{function.name} {grid} {size.layers}x{size.neurons}".replace("φ", "phi")
    about = {"function": function.formula, "step": step, "test": settings.test}
    return ClassifierJob(name, task, about)


def _sample(
    run: LabRun,
    job: ClassifierJob,
    schedule: Schedule,
    function: Function,
    grid: str,
    size: Size,
    found: Any,
) -> Sample:
    networks = found.networks[-1]

    def compute() -> dict[str, Any]:
        regions = [all_regions(network, BOX, progress=False) for network in networks]
        return {
            "regions": [len(each) for each in regions],
            "central": [
                float((np.abs(r.witnesses.astype(np.float64)) <= RADIUS / 2).all(axis=1).mean())
                for r in regions
            ],
        }

    asked = job.asked(schedule, 0) | {"seed": job.task.seeds}
    counted = run.unit(f"{job.name} regions", asked, compute)
    assert job.task.test_targets is not None
    variances = [
        float(np.asarray(values, dtype=np.float64).var())
        for values in (job.task.targets, job.task.test_targets)
    ]
    return Sample(
        function,
        grid,
        size,
        found.train_loss[-1] / variances[0],
        found.test_loss[-1] / variances[1],
        counted["regions"].astype(np.float64),
        counted["central"],
    )


_COLUMNS = ("training loss / variance", "test loss / variance", "regions", "in the middle quarter")


def _write_files(run: LabRun, samples: list[Sample], shapes: list[list[int]]) -> None:
    run.table(
        "networks",
        [*("function", "points", "layers", "neurons", "network"), *_COLUMNS],
        [
            [
                s.function.name,
                s.grid,
                s.size.layers,
                s.size.neurons,
                i,
                f"{s.train[i]:.5g}",
                f"{s.test[i]:.5g}",
                int(s.regions[i]),
                f"{s.central[i]:.4f}",
            ]
            for s in samples
            for i in range(len(s.train))
        ],
    )
    run.table("folding", _FOLDING, shapes)


def _read_samples(rows: list[dict[str, str]]) -> list[Sample]:
    """The samples whose networks are the rows of a table."""
    groups: dict[tuple[str, str, Size], list[dict[str, str]]] = {}
    for row in rows:
        size = Size(int(row["layers"]), int(row["neurons"]))
        groups.setdefault((row["function"], row["points"], size), []).append(row)
    functions = {function.name: function for function in FUNCTIONS}
    return [
        Sample(
            functions[name],
            grid,
            size,
            *(np.array([float(row[column]) for row in members]) for column in _COLUMNS),
        )
        for (name, grid, size), members in groups.items()
    ]


def _losses(run: LabRun, settings: OverfittingSettings, samples: list[Sample]) -> None:
    points = {"many": settings.many, "few": settings.few}
    counts = {grid: len(FUNCTIONS[1].samples(step)[0]) for grid, step in points.items()}
    run.report.text(
        f"Networks of {len({s.size for s in samples})} sizes learn φ1 … φ4, {settings.networks} of "
        f"each, from a grid with many points ({counts['many']:,}, at intervals of "
        f"{settings.many:g}) and from one with few ({counts['few']:,}, at {settings.few:g}); "
        f"{settings.epochs:,} steps of Adam on all points. Losses are divided by the function's "
        "variance: 0 is perfect, 1 is what a constant achieves. The paper's networks have layers "
        "of 5; they learn from 40,401 points in 20,000 epochs (`lab fig2` does that, one network a "
        "panel), and no test loss is given."
    )
    run.report.table(
        [
            "function, points",
            "network",
            "training loss",
            "test loss",
            "test less training",
            "regions",
        ],
        [
            [
                f"{s.function.name}, {s.grid}",
                s.size.name,
                *(mean_text(summary(values), 3) for values in (s.train, s.test, s.gap)),
                mean_text(summary(s.regions), 0),
            ]
            for s in sorted(samples, key=lambda s: (s.function.name, s.grid != "many"))
        ],
        "Means over networks ± standard error.",
    )
    run.numbers["samples"] = {
        f"{s.function.name} {s.grid} {s.size.name}": {
            "train": float(s.train.mean()),
            "test": float(s.test.mean()),
            "regions": float(s.regions.mean()),
            "central": float(s.central.mean()),
        }
        for s in samples
    }


def _overfitting(run: LabRun, samples: list[Sample]) -> None:
    """Whether networks with more regions overfit more."""
    run.report.heading("Are more regions a sign of overfitting?")
    rows, found, there = [], {}, []
    for function in FUNCTIONS:
        for grid in ("many", "few"):
            own = [s for s in samples if s.function is function and s.grid == grid]
            name = f"{function.name}, {grid}"
            regions = np.concatenate([s.regions for s in own])
            within = np.concatenate([stats.rankdata(s.regions) - len(s.regions) / 2 for s in own])
            values = {}
            for key, x, y in (
                ("gap", regions, np.concatenate([s.gap for s in own])),
                ("test", regions, np.concatenate([s.test for s in own])),
                (
                    "gap within",
                    within,
                    np.concatenate([stats.rankdata(s.gap) - len(s.gap) / 2 for s in own]),
                ),
            ):
                values[key] = spearman(x, y, run.rng("overfitting", name, key))
            found[name] = values
            # a larger difference is more overfitting only where there is some
            largest = max(own, key=lambda s: float(s.regions.mean()))
            gap = summary(largest.gap)
            if gap.mean - 2 * gap.error > _NOTABLE:
                there.append(name)
            rows.append(
                [
                    name,
                    len(regions),
                    *(interval_text(v, sign=True) for v in values.values()),
                    f"{largest.size.name}: {mean_text(gap, 4)}",
                ]
            )
    run.numbers["overfitting"] = {
        name: {key: vars(v) for key, v in values.items()} for name, values in found.items()
    }
    run.report.table(
        [
            "function, points",
            "networks",
            "regions and overfitting",
            "regions and test loss",
            "overfitting, among equal sizes",
            "overfitting with most regions",
        ],
        rows,
        "Spearman's rank correlation over networks with 95 % intervals. Overfitting: test loss "
        "less training loss (over the variance). Among equal sizes: ranks among networks of the "
        "same size. Last column: mean ± standard error for the size that has most regions.",
    )
    up = {
        key: [n for n, v in found.items() if v[key].low > 0]
        for key in ("gap", "test", "gap within")
    }
    down = {
        key: [n for n, v in found.items() if v[key].high < 0]
        for key in ("gap", "test", "gap within")
    }
    agree = [name for name in up["gap"] if name in there]
    run.numbers["cases_with_overfitting"] = there
    run.report.text(
        f"Networks of the size with most regions overfit by more than {100 * _NOTABLE:g} % of the "
        f"variance, less two standard errors, in {len(there)} of {len(found)} cases "
        f"({'; '.join(there) or 'none'}). The difference between the losses "
        f"grows with the regions in {len(up['gap'])} ({'; '.join(up['gap']) or 'none'}) and falls "
        f"in {len(down['gap'])}; where it grows because it is negative for networks with few "
        "regions, and not because it is positive for those with many, nothing overfits. Both, more "
        f"regions and overfitting, come together in {len(agree)}. More regions go with a larger "
        f"test loss in {len(up['test'])} and a smaller one in {len(down['test'])}. Among networks "
        f"of equal size: with more overfitting in {len(up['gap within'])}, with less in "
        f"{len(down['gap within'])}. (Cases whose interval does not hold 0.)"
    )
    run.claim(
        "regions mean overfitting",
        "abstract, Sect. 5",
        "A network that overfits divides the input space into many small regions (read as: the "
        "more regions, the larger the loss on test points less that on training points, and this "
        f"is more than {100 * _NOTABLE:g} % of the variance where there are most regions).",
        verdict_of(len(agree), len(found))
        if agree
        else ("does not hold" if down["gap"] else "not decided"),
        f"so in {len(agree)} of {len(found)} cases ({'; '.join(agree) or 'none'}); the 95 % "
        f"interval of the rank correlation is above 0 in {len(up['gap'])}, below 0 in "
        f"{len(down['gap'])}, and networks of the size with most regions overfit in {len(there)}; "
        f"among networks of equal size positive in {len(up['gap within'])}. Regions and test loss: "
        f"positive in {len(up['test'])}, negative in {len(down['test'])}",
    )


def _of(samples: list[Sample], function: str, grid: str, size: tuple[int, int]) -> Sample:
    return next(
        s
        for s in samples
        if (s.function.name, s.grid, s.size.layers, s.size.neurons) == (function, grid, *size)
    )


def _phi4(run: LabRun, samples: list[Sample]) -> None:
    """Underfitting or overfitting, and where the regions are."""
    run.report.heading("φ4: does it induce overfitting?")
    own = [s for s in samples if s.function.name == "φ4"]
    paper = [s for s in own if s.grid == "many" and s.size.neurons == 5]
    learnt = [s for s in own if s.train.mean() < 0.1]
    grids = list(dict.fromkeys(s.grid for s in own))
    explained = {
        (s.size.name, s.grid): [f"{100 * (1 - loss.mean()):.0f} %" for loss in (s.train, s.test)]
        for s in own
    }
    run.report.table(
        ["network", *(f"{grid}: {at} points" for grid in grids for at in ("training", "test"))],
        [
            [name, *(cell for grid in grids for cell in explained[name, grid])]
            for name in dict.fromkeys(name for name, _ in explained)
        ],
        "Share of φ4's variance that the networks explain, from many points and from few; "
        "negative: worse than a constant.",
    )
    run.report.text(
        "The settings in which at least 90 % of the training points' variance is learnt are "
        + (", ".join(f"{s.size.name} with {s.grid} points" for s in learnt) or "none of these")
        + "."
    )
    gaps = [mean_difference(s.test, s.train, run.rng("phi4", s.grid, s.size.name)) for s in paper]
    run.claim(
        "phi4 overfits",
        "Sect. 5",
        "φ4 leads the paper's small networks to overfit.",
        verdict_of(
            sum(g.low > 0 and s.train.mean() < 0.5 for g, s in zip(gaps, paper, strict=True)),
            len(paper),
        ),
        "; ".join(
            f"{s.size.name}: training loss {s.train.mean():.2f}, test loss {s.test.mean():.2f} of "
            "the variance"
            for s in paper
        )
        + " (to overfit is read as: learn at least half of the training points' variance, and do "
        "worse on test points); at least 90 % is learnt by "
        + (", ".join(f"{s.size.name} with {s.grid} points" for s in learnt) or "none"),
    )
    deep = {
        s.function.name: s.central for s in samples if s.grid == "many" and s.size == Size(5, 5)
    }
    run.report.table(
        ["function", "regions in the middle quarter"],
        [[name, f"{mean_text(summary(100 * values))} %"] for name, values in deep.items()],
        "Networks of the paper's deep size, many points. The middle quarter is [-5, 5]².",
    )
    others = np.concatenate([values for name, values in deep.items() if name != "φ4"])
    more = mean_difference(deep["φ4"], others, run.rng("central"))
    run.numbers["phi4_central_less_others"] = vars(more)
    points = Interval(*(100 * x for x in (more.value, more.low, more.high)))
    run.claim(
        "clusters at the centre",
        "Sect. 5",
        "For φ4 there are clusters of tiny regions near the centre (read as: more of the regions "
        "are in the middle than for the other functions).",
        "holds" if more.low > 0 else "does not hold" if more.high < 0 else "not decided",
        f"{100 * deep['φ4'].mean():.0f} % of the regions lie in the middle quarter of the box, "
        f"{100 * others.mean():.0f} % for the other functions; difference "
        f"{interval_text(points, 0, sign=True)} percentage points",
    )


def _depth(run: LabRun, samples: list[Sample]) -> None:
    """Deep against shallow networks."""
    run.report.heading("Depth")
    rows, p_values, names = [], [], []
    for function in FUNCTIONS:
        shallow, deep = (_of(samples, function.name, "many", size) for size in ((2, 5), (5, 5)))
        test = mann_whitney(deep.test, shallow.test, tail="less")
        p_values.append(test.p)
        names.append(function.name)
        rows.append(
            [
                function.name,
                *(mean_text(summary(s.test), 3) for s in (shallow, deep)),
                p_text(test.p),
            ]
        )
    run.report.table(
        ["function", "2 layers", "5 layers", "p"],
        rows,
        "Test loss over the variance, the paper's sizes, many points; p: one-tailed U test of "
        "'less with 5 layers'.",
    )
    better = [name for name, p in zip(names, holm(p_values), strict=True) if p < LEVEL]
    run.claim(
        "deeper is better",
        "Sect. 5",
        "Deeper networks place the boundaries of regions more effectively (read as: smaller test "
        "loss with 5 layers than with 2).",
        verdict_of(len(better), len(names)) if better else "not decided",
        f"surely so for {', '.join(better) or 'no function'} of {len(names)} functions (Holm)",
    )


# --- folding --------------------------------------------------------------------------------------


def boundary_curves(network: Network, points: int = 401) -> list[FloatArray]:
    """For each layer the number of separate curves of each neuron's boundary in the box.

    Counted on a grid: the connected parts of the two halves, less one. A neuron that does not
    switch on the grid has none; a straight line is one; more than one means that the plane was
    folded before.

    Examples
    --------
    >>> folded = Network.mlp([[[1.0, 0.0], [-1.0, 0.0]], [[1.0, 1.0]], [[1.0]]],
    ...                      [[0.0, 0.0], [-5.0], [0.0]])  # |x| - 5
    >>> [values.tolist() for values in boundary_curves(folded)]
    [[1.0, 1.0], [2.0]]
    """
    line = np.linspace(-RADIUS, RADIUS, points)
    x, y = np.meshgrid(line, line, indexing="ij")
    values = [np.stack([x.ravel(), y.ravel()], axis=1)]
    found = []
    for layer in network.layers:
        before = layer.affine(values)
        values.append(np.maximum(before, 0))
        found.append(
            np.array(
                [
                    sum(ndimage.label(side)[1] for side in (z > 0, z <= 0)) - 1.0
                    for z in before.T.reshape(-1, points, points)
                ]
            )
        )
    return found


def patterns_learnt(network: Network, function: Function) -> int:
    """How many of φ3's nine hills and valleys the network has, at half their height or more."""
    values, wanted = network(CENTRES)[:, 0], function(CENTRES)
    return int((values / wanted >= 0.5).sum())


#: One row a neuron; how many patterns its network has is said with each of them.
_FOLDING = ("layers", "neurons", "network", "layer", "neuron", "curves", "patterns of φ3")


def _shapes(size: Size, function: Function, networks: list[Network]) -> list[list[int]]:
    """The rows of that table."""
    return [
        [size.layers, size.neurons, index, layer, neuron, int(curves), learnt]
        for index, network in enumerate(networks)
        for learnt in [patterns_learnt(network, function)]
        for layer, values in enumerate(boundary_curves(network), start=1)
        for neuron, curves in enumerate(values)
    ]


def _folding(run: LabRun, neurons: list[dict[str, str]]) -> None:
    """φ3's nine patterns, and whether later layers repeat themselves."""
    run.report.heading("φ3: nine patterns, and folding")
    rows: list[list[Any]] = []
    learnt: dict[str, list[int]] = {}
    for layers in sorted({int(row["layers"]) for row in neurons}):
        own = [row for row in neurons if int(row["layers"]) == layers]
        name = Size(layers, int(own[0]["neurons"])).name
        patterns = {int(row["network"]): int(row["patterns of φ3"]) for row in own}
        learnt[name] = list(patterns.values())
        for layer in range(1, layers + 1):
            values = np.array([float(row["curves"]) for row in own if row["layer"] == str(layer)])
            there = values[values > 0]
            rows.append(
                [
                    f"{name}, layer {layer}",
                    f"{len(there)} of {len(values)}",
                    mean_text(summary(there)) if len(there) else "–",
                    int(values.max()),
                ]
            )
        run.numbers[f"phi3_curves_last_layer_{name}"] = float(there.mean() if len(there) else 0)
    run.report.table(
        ["networks, layer", "neurons that switch in the box", "curves of a boundary", "most"],
        rows,
        "Separate curves of the boundary of one neuron in the box, on a grid of 401 × 401 points: "
        "1 for a line, more if earlier layers have folded the plane.",
    )
    run.numbers["phi3_patterns"] = learnt
    deep = learnt["5×5"]
    most = max(deep)
    later = [float(row[3]) for row in rows if row[0].startswith("5×5") and "layer 1" not in row[0]]
    run.report.text(
        "Of φ3's nine hills and valleys (at multiples of 2π) the networks have, at half their "
        "height or more: "
        + "; ".join(f"{name}: {', '.join(map(str, sorted(v)))}" for name, v in learnt.items())
        + "."
    )
    run.claim(
        "phi3 nine patterns",
        "Sect. 5",
        "The 5-layer network makes nine patterns for φ3, one around each peak and valley.",
        verdict_of(sum(value == len(CENTRES) for value in deep), len(deep)),
        f"{sum(value == len(CENTRES) for value in deep)} of {len(deep)} networks have all nine, "
        f"the best {most}, the mean is {np.mean(deep):.1f}",
    )
    folded = [row for row in rows if row[0].startswith("5×5") and row[3] > 1]
    run.claim(
        "folding",
        "Sect. 5",
        "Early layers fold the space, so that patterns of later layers are repeated across it.",
        "holds" if folded else "does not hold",
        "boundaries of one neuron of the 5-layer networks consist of up to "
        f"{max(later, default=0):.0f} separate curves",
    )


def _draw(run: LabRun, samples: list[Sample]) -> None:
    made, axes = figure(2, len(FUNCTIONS), size=(3.2, 2.8), sharex=True, sharey="row")
    sizes = list(dict.fromkeys(s.size for s in samples))
    for row, grid in zip(axes, ("many", "few"), strict=True):
        for ax, function in zip(row, FUNCTIONS, strict=True):
            for color, size in zip(_COLORS, sizes, strict=True):
                s = _of(samples, function.name, grid, (size.layers, size.neurons))
                ax.scatter(s.regions, s.gap, s=14, color=color, label=size.name)
            ax.axhline(0, color="0.7", linewidth=0.8)
            ax.set_xscale("log")
            ax.set_yscale("symlog", linthresh=0.01)
        row[0].set_ylabel(f"{grid} points:\ntest less training loss")
    for ax, function in zip(axes[0], FUNCTIONS, strict=True):
        ax.set_title(function.name, fontsize=10)
    for ax in axes[1]:
        ax.set_xlabel("regions in the box")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    made.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    run.picture(
        made,
        "overfitting",
        "Overfitting (test loss less training loss, over the variance) against the number of "
        "regions; a point for every network.",
    )


EXPERIMENT = Experiment(
    name="overfitting",
    title="Regions, overfitting and folding",
    run=run,
    full=OverfittingSettings(),
    quick=OverfittingSettings(networks=3, epochs=60, many=2.0, few=4.0, test=2.0, wide=8),
    again=again,
)
