"""Figure 3: regions and loss during training, with and without skip connections."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tropicell._runtime.arrays import FloatArray
from tropicell.lab.functions import FUNCTIONS, RADIUS, Function
from tropicell.lab.run import Experiment, LabRun, read_table, verdict_of
from tropicell.lab.statistics import Interval, holm, mann_whitney, spearman, summary
from tropicell.lab.texts import (
    WITH,
    WITHOUT,
    epoch_axis,
    figure,
    interval_text,
    loss_axis,
    mean_text,
    p_text,
    skips_text,
)
from tropicell.lab.trained import ClassifierJob, Trained, trained
from tropicell.lab.training import Schedule, TrainingTask
from tropicell.network.domains import Box, WholeSpace
from tropicell.search.many import count_many

#: Of the paper's Figure 2.
PAPER_EPOCHS = 20_000

SKIPS = ((1, 3), (2, 4))
KINDS = {"with": SKIPS, "without": ()}
COLORS = {"with": WITH, "without": WITHOUT}
DOMAINS = {"box": Box(-RADIUS, RADIUS), "plane": WholeSpace()}
MEASURES = {
    "box": "regions in the box",
    "plane": "regions in R²",
    "train": "training loss (MSE)",
    "test": "test loss (MSE)",
}


@dataclass(frozen=True)
class Fig3Settings:
    """What is trained.

    Attributes
    ----------
    networks : int
        Trials for each function, with and without skips.
    epochs : int
        Steps of Adam on all points.
    learning_rate : float
    step : float
        Interval of the training points; the test points lie half of it beside them.
    layers, neurons : int
    looks : int
        How often regions and loss are recorded, at equal intervals (and a few times early on).
    """

    networks: int = 10
    epochs: int = PAPER_EPOCHS
    learning_rate: float = 0.01
    step: float = 0.2
    layers: int = 5
    neurons: int = 4
    looks: int = 40


@dataclass(frozen=True)
class Curves:
    """A measure during training, all networks of one kind.

    Attributes
    ----------
    values : dict
        For each of `MEASURES` an array of shape (functions, checkpoints, networks).
    """

    values: dict[str, FloatArray]

    def mean_and_error(self, measure: str) -> tuple[FloatArray, FloatArray]:
        """Mean over all functions and trials, and its standard error, at each checkpoint."""
        functions, times, networks = self.values[measure].shape
        rows = self.values[measure].transpose(1, 0, 2).reshape(times, functions * networks)
        if rows.shape[1] < 2:
            return rows.mean(axis=1), np.zeros(times)
        return rows.mean(axis=1), rows.std(axis=1, ddof=1) / rows.shape[1] ** 0.5


def checkpoints(settings: Fig3Settings) -> list[int]:
    """When to look.

    Examples
    --------
    >>> checkpoints(Fig3Settings(epochs=400, looks=4))
    [0, 10, 30, 100, 200, 250, 300, 400]
    """
    regular = np.linspace(0, settings.epochs, settings.looks + 1).round().astype(int).tolist()
    early = {step for step in (10, 30, 100, 250) if step < settings.epochs}
    return sorted(set(regular) | early)


def run(run: LabRun, settings: Fig3Settings) -> None:
    """Train, count at every checkpoint, average."""
    times = checkpoints(settings)
    schedule = Schedule(settings.epochs, settings.learning_rate, "mse", checkpoints=times)
    kinds = [(function, kind) for function in FUNCTIONS for kind in KINDS]
    jobs = [_job(run, settings, function, kind) for function, kind in kinds]
    results = trained(run, jobs, schedule)
    measured: dict[str, list[dict[str, Any]]] = {kind: [] for kind in KINDS}
    for (_, kind), job, found in run.steps(
        list(zip(kinds, jobs, results, strict=True)), "counting regions"
    ):
        measured[kind].append(_measure(run, job, schedule, found))
    curves = {
        kind: Curves({name: np.stack([m[name] for m in rows]) for name in MEASURES})
        for kind, rows in measured.items()
    }
    _write_files(run, curves, times)
    _report(run, settings, curves, times)
    _draw(run, curves, times)


def again(run: LabRun, settings: Fig3Settings, folder: Path) -> None:
    """The report from the table of an earlier run."""
    rows = read_table(folder, "networks")
    times = sorted({int(row["epoch"]) for row in rows})
    networks = 1 + max(int(row["network"]) for row in rows)
    shape = (len(FUNCTIONS), len(times), networks)
    values: dict[str, dict[str, Any]] = {
        kind: {
            measure: np.empty(shape, np.int64 if measure in DOMAINS else np.float64)
            for measure in MEASURES
        }
        for kind in KINDS
    }
    names = [function.name for function in FUNCTIONS]
    for row in rows:
        place = names.index(row["function"]), times.index(int(row["epoch"])), int(row["network"])
        for measure, column in MEASURES.items():
            kind = int if measure in DOMAINS else float
            values[row["skips"]][measure][place] = kind(row[column])
    curves = {kind: Curves(found) for kind, found in values.items()}
    _write_files(run, curves, times)
    _report(run, settings, curves, times)
    _draw(run, curves, times)


def _job(run: LabRun, settings: Fig3Settings, function: Function, kind: str) -> ClassifierJob:
    points, values = function.samples(settings.step)
    tests, test_values = function.samples(settings.step, settings.step / 2)
    task = TrainingTask(
        [2, *[settings.neurons] * settings.layers, 1],
        [run.torch_seed(function.name, kind, i) for i in range(settings.networks)],
        points,
        values,
        skips=KINDS[kind],
        test_inputs=tests,
        test_targets=test_values,
    )
    name = f"{function.name} {kind}".replace("φ", "phi")
    return ClassifierJob(name, task, {"function": function.formula, "step": settings.step})


def _measure(run: LabRun, job: ClassifierJob, schedule: Schedule, found: Trained) -> dict[str, Any]:
    """Counts and losses of a job's networks, shape (checkpoints, networks)."""
    flat = [network for networks in found.networks for network in networks]

    def compute() -> dict[str, Any]:
        return {
            name: count_many(flat, domain, workers=run.options.workers, progress=False).reshape(
                found.train_loss.shape
            )
            for name, domain in DOMAINS.items()
        }

    asked = job.asked(schedule, 0) | {"seed": job.task.seeds}
    counts = run.unit(f"{job.name} counts", asked, compute)
    return counts | {"train": found.train_loss, "test": found.test_loss}


def _write_files(run: LabRun, curves: dict[str, Curves], times: list[int]) -> None:
    run.table(
        "networks",
        ["function", "skips", "network", "epoch", *MEASURES.values()],
        [
            [function.name, kind, i, time, *(found.values[m][f, t, i] for m in MEASURES)]
            for kind, found in curves.items()
            for f, function in enumerate(FUNCTIONS)
            for i in range(found.values["box"].shape[2])
            for t, time in enumerate(times)
        ],
    )
    run.numbers["epochs"] = times
    run.numbers["curves"] = {
        kind: {
            measure: dict(zip(("mean", "error"), found.mean_and_error(measure), strict=True))
            for measure in MEASURES
        }
        for kind, found in curves.items()
    }


def _report(
    run: LabRun, settings: Fig3Settings, curves: dict[str, Curves], times: list[int]
) -> None:
    total = settings.networks * len(FUNCTIONS)
    run.report.text(
        f"Networks with {settings.layers} hidden layers of {settings.neurons} neurons learn "
        f"φ1 … φ4, {settings.networks} trials each with the skips {skips_text(SKIPS)} and "
        f"{settings.networks} without: {total} + {total} networks. Training points at intervals of "
        f"{settings.step:g}, test points half an interval beside them (where φ1 is not defined, "
        f"points are left out). Adam, learning rate {settings.learning_rate:g}, "
        f"{settings.epochs:,} epochs of one step on all points. The paper gives neither the number "
        "of epochs for this figure nor a batch size; "
        + (
            "both are those of Figure 2."
            if settings.epochs == PAPER_EPOCHS
            else f"its Figure 2 has {PAPER_EPOCHS:,} epochs, which is another run than this one."
        )
    )
    rows = []
    for name, t in (("before training", 0), ("after training", -1)):
        for measure, label in MEASURES.items():
            samples = {k: found.values[measure][:, t].ravel() for k, found in curves.items()}
            more = measure in DOMAINS
            test = mann_whitney(
                samples["with"], samples["without"], tail="greater" if more else "less"
            )
            digits = 1 if more else 4
            rows.append(
                [f"{label}, {name}"]
                + [mean_text(summary(samples[kind]), digits) for kind in KINDS]
                + ["more" if more else "less", f"{test.u:.1f}", p_text(test.p)]
            )
            run.numbers.setdefault("tests", {})[f"{measure} {name}"] = {"u": test.u, "p": test.p}
    run.report.table(
        ["mean over all networks", "with skips", "without", "hypothesis", "U", "p"],
        rows,
        "± standard error. One-tailed Mann-Whitney U test of 'with skips more' or 'less'.",
    )
    run.report.bullets(_observations(run, curves, times))
    _correlations(run, curves)


def _correlations(run: LabRun, curves: dict[str, Curves]) -> None:
    """Regions against test loss after training, network by network."""
    found: dict[str, dict[str, Interval]] = {place: {} for place in DOMAINS}
    rows = []
    for f, function in enumerate(FUNCTIONS):
        for kind in (*KINDS, "both"):
            kinds = list(KINDS) if kind == "both" else [kind]
            losses = np.concatenate([curves[k].values["test"][f, -1] for k in kinds])
            name = f"{function.name}, {'all' if kind == 'both' else kind + ' skips'}"
            for place in DOMAINS:
                counts = np.concatenate([curves[k].values[place][f, -1] for k in kinds])
                found[place][name] = spearman(counts, losses, run.rng("spearman", name, place))
            rows.append([name, len(losses), *(interval_text(found[p][name]) for p in DOMAINS)])
    run.report.heading("Regions and test loss")
    run.report.table(
        ["networks", "number", *(MEASURES[place] for place in DOMAINS)],
        rows,
        "Spearman's rank correlation of the number of regions and the test loss after training, "
        "with a 95 % interval (resampled networks). Negative: the more regions, the smaller the "
        "loss.",
    )
    run.numbers["spearman"] = {
        place: {name: vars(each) for name, each in values.items()}
        for place, values in found.items()
    }
    each = [found["box"][f"{function.name}, all"] for function in FUNCTIONS]
    below, above = sum(x.high < 0 for x in each), sum(x.low > 0 for x in each)
    run.report.text(
        f"Over all networks of a function, the correlation in the box is surely negative for "
        f"{below} of {len(each)} functions and surely positive for {above}."
    )
    run.claim(
        "regions mean overfitting, figure 3",
        "abstract, Sect. 5",
        "A network that overfits divides the input space into many small regions (read as: among "
        "networks that learn the same function, those with more regions have the larger test "
        "loss).",
        _overfitting(below, above, len(each)),
        "Spearman's correlation of regions in the box and test loss: "
        + ", ".join(
            f"{function.name} {interval_text(x)}"
            for function, x in zip(FUNCTIONS, each, strict=True)
        ),
    )


def _overfitting(below: int, above: int, cases: int) -> str:
    """The verdict, if the correlation is surely negative or positive in so many cases."""
    if above:
        return verdict_of(above, cases)
    return "does not hold" if below == cases else "not decided"


def _observations(run: LabRun, curves: dict[str, Curves], times: list[int]) -> list[str]:
    """The paper's claims about its figure, which prints no numbers, against these networks."""
    notes = []
    for place, words in (("box", "in the box"), ("plane", "over R²")):
        a, b = (curves[kind].mean_and_error(place)[0] for kind in ("with", "without"))
        above = int((a > b).sum())
        run.numbers[f"more_{place}"] = [above, len(times)]
        notes.append(
            f"*Published: with skips there are more regions at all stages of training.* Measured "
            f"{words}: at {above} of {len(times)} recorded epochs; at the end "
            f"{100 * (a[-1] / b[-1] - 1):+.0f} %, at the start {100 * (a[0] / b[0] - 1):+.0f} %."
        )
    total = sum(run.numbers[f"more_{place}"][0] for place in DOMAINS)
    tests = run.numbers["tests"]
    ends = holm([tests[f"{place} after training"]["p"] for place in DOMAINS])
    run.claim(
        "more regions during training",
        "Sect. 6.1, Figure 3",
        "Networks with skips have more linear regions throughout all stages of training.",
        verdict_of(total, 2 * len(times)),
        f"the mean is larger at {run.numbers['more_box'][0]} of {len(times)} recorded epochs in "
        f"the box and at {run.numbers['more_plane'][0]} over R²; after training p = "
        + " and ".join(p_text(p) for p in ends)
        + " (one-tailed U tests, corrected for two)",
    )
    most = {
        kind: [curves[kind].values[place][:, -1].max(axis=-1) for place in DOMAINS]
        for kind in KINDS
    }
    greater = [a > b for a, b in zip(*(np.concatenate(most[k]) for k in KINDS), strict=True)]
    run.claim(
        "greater maximum after training",
        "Sect. 6.3",
        "Networks with skips achieve a greater maximum when training finishes (read as: of the "
        "networks that learnt a function, one with skips has most regions).",
        verdict_of(sum(greater), len(greater)),
        f"in {sum(greater[: len(FUNCTIONS)])} of {len(FUNCTIONS)} functions in the box, in "
        f"{sum(greater[len(FUNCTIONS) :])} over R²",
    )
    losses = {kind: curves[kind].mean_and_error("test") for kind in KINDS}
    (a, a_error), (b, b_error) = losses["with"], losses["without"]
    apart = abs(a[-1] - b[-1]) > 2 * np.hypot(a_error[-1], b_error[-1])
    notes.append(
        f"The mean test loss at the end is {a[-1]:.4f} with skips and {b[-1]:.4f} without: "
        + ("a clear difference." if apart else "no clear difference for so many networks.")
    )
    return notes


def _draw(run: LabRun, curves: dict[str, Curves], times: list[int]) -> None:
    made, axes = figure(2, 2, size=(4.6, 3.2), sharex=True)
    places = {"box": axes[0, 0], "plane": axes[0, 1], "train": axes[1, 0], "test": axes[1, 1]}
    for measure, ax in places.items():
        for kind, found in curves.items():
            mean, error = found.mean_and_error(measure)
            ax.plot(times, mean, color=COLORS[kind], label=f"{kind} skips")
            ax.fill_between(
                times, mean - 2 * error, mean + 2 * error, color=COLORS[kind], alpha=0.2, lw=0
            )
        ax.set_ylabel(MEASURES[measure])
        if measure in ("train", "test"):
            loss_axis(ax)
        epoch_axis(ax, times[-1])
    axes[0, 0].legend(frameon=False)
    for ax in axes[1]:
        ax.set_xlabel("epoch")
    run.picture(
        made,
        "fig3",
        "Means over all functions and trials during training; bands: ± 2 standard errors.",
    )
    made, axes = figure(2, len(FUNCTIONS), size=(3.0, 2.5), sharex=True, sharey="row")
    for f, function in enumerate(FUNCTIONS):
        for kind, found in curves.items():
            for ax, measure in zip(axes[:, f], ("box", "test"), strict=True):
                values = found.values[measure][f]
                ax.plot(times, values, color=COLORS[kind], alpha=0.2, linewidth=0.7)
                mean = values.mean(axis=1)
                ax.plot(times, mean, color=COLORS[kind], linewidth=1.6, label=f"{kind} skips")
        axes[0, f].set_title(function.name, fontsize=10)
        axes[1, f].set_xlabel("epoch")
        axes[1, f].set_yscale("log")
        epoch_axis(axes[1, f], times[-1])
    axes[0, 0].set_ylabel(MEASURES["box"])
    axes[1, 0].set_ylabel(MEASURES["test"])
    handles, labels = axes[0, 0].get_legend_handles_labels()
    made.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    run.picture(
        made, "functions", "Function by function: every network (thin) and the mean (thick)."
    )


EXPERIMENT = Experiment(
    name="fig3",
    title="Figure 3: regions and loss during training, with and without skip connections",
    run=run,
    full=Fig3Settings(),
    quick=Fig3Settings(networks=2, epochs=200, step=1.0, looks=4),
    again=again,
)
