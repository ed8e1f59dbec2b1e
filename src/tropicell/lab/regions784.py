"""Every region of a real classifier: the smallest networks of Table 2, over R^n and for pixels.

They have 784 or 1,024 inputs and 8 neurons in the first layer, so their regions are those of
networks with 8 inputs (`tropicell.network.quotient`), and can be counted. How many are there, how
many of them have inputs whose pixels are between black and white (`tropicell.engines.shadow`), how
many hold an image, and are predictions worse outside of the regions of training images? The next
larger networks have too many regions; their number is estimated.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell.errors import InvalidInputError
from tropicell.lab.data import DataSet
from tropicell.lab.run import Experiment, LabRun, literal, read_table
from tropicell.lab.statistics import LEVEL, mann_whitney, summary
from tropicell.lab.table2 import KINDS, MEDIUM, SMALL, ClassifierShape
from tropicell.lab.texts import WITH, WITHOUT, figure, mean_text, p_text, skips_text
from tropicell.lab.trained import ClassifierJob, ImageSettings, asked, load_images, trained
from tropicell.lab.training import Schedule, TrainingTask
from tropicell.network.domains import Box
from tropicell.network.network import Network
from tropicell.regions.columns import PackedPatterns
from tropicell.search.enumeration import all_regions, count_regions
from tropicell.search.estimate import estimate_regions

#: Images that are sent through a network at a time.
_AT_ONCE = 4096

#: What is measured of each network, and what tables call it.
QUANTITIES = {
    "regions": "regions over Rⁿ",
    "pixels": "of these in the pixel box",
    "train": "hold a training image",
    "test": "hold a test image",
    "both": "hold both",
    "cached": "test images in regions of training images",
    "accuracy": "accuracy in %",
    "inside": "accuracy inside in %",
    "outside": "accuracy outside in %",
}


@dataclass(frozen=True)
class Regions784Settings(ImageSettings):
    """How much to train and to count.

    Attributes
    ----------
    networks : int
        Of each kind, for each data set.
    estimated : int
        Networks of each kind with 3 layers of 16 neurons, for each data set, whose regions are
        estimated.
    seconds : float
        For each estimate.
    neurons : int
        In each layer of the networks whose regions are all found; those of Table 2 have 8.
    """

    networks: int = 10
    estimated: int = 1
    seconds: float = 30.0
    neurons: int = SMALL.neurons

    @property
    def shape(self) -> ClassifierShape:
        """What the networks are like whose regions are all found."""
        return replace(SMALL, neurons=self.neurons)


#: What is known of some networks: by data set and kind, each quantity with a value per network.
Results = dict[tuple[str, str], dict[str, NDArray[Any]]]


def run(run: LabRun, settings: Regions784Settings) -> None:
    """Train as for Table 2, count, look the images up, estimate, and write it down."""
    data, missing = load_images(run, settings)
    if not data:
        raise InvalidInputError(f"no data set is there: {'; '.join(missing)}")
    schedule = Schedule(
        settings.epochs, settings.learning_rate, "cross-entropy", settings.batch_size, losses=False
    )
    found: Results = {}
    guesses: Results = {}
    for name in run.steps(data, "data sets"):
        for kind in KINDS:
            networks = _train(
                run, settings, schedule, data[name], settings.shape, kind, settings.networks
            )
            parts = [
                _count(run, settings, data[name], kind, index, network)
                for index, network in enumerate(networks)
            ]
            found[name, kind] = {key: np.array([part[key] for part in parts]) for key in parts[0]}
        for kind in KINDS if settings.estimated else ():
            networks = _train(run, settings, schedule, data[name], MEDIUM, kind, settings.estimated)
            parts = [
                _estimate(run, settings, data[name], kind, index, network)
                for index, network in enumerate(networks)
            ]
            guesses[name, kind] = {key: np.array([part[key] for part in parts]) for key in parts[0]}
    _write_files(run, found, guesses)
    run.numbers["seconds"] = {key: _seconds(found, f"seconds_{key}") for key in _TIMED}
    _report(run, settings, found, guesses, data, missing)
    _draw(run, found, data)


def again(run: LabRun, settings: Regions784Settings, folder: Path) -> None:
    """The report from the tables of an earlier run; the data sets tell what the images are."""
    data, missing = load_images(run, settings)
    numbers = json.loads((folder / "numbers.json").read_text(encoding="utf-8"))["numbers"]
    table, classes = (read_table(folder, name) for name in ("networks", "classes"))
    found: Results = {}
    guesses: Results = {}
    for name in data:
        for kind in KINDS:
            own = [row for row in table if (row["data"], row["skips"]) == (name, kind)]
            means = [row for row in classes if (row["data"], row["skips"]) == (name, kind)]
            found[name, kind] = {
                key: np.array([(int if key in _WHOLE else float)(row[key] or "nan") for row in own])
                for key in _COLUMNS
            } | {
                key: np.array([[float(row[column]) for row in means]])
                for key, column in _BY_CLASS.items()
            }
            estimates = numbers["estimates"].get(f"{name} {kind} skips")
            if estimates is not None:
                guesses[name, kind] = {key: np.array(values) for key, values in estimates.items()}
    _write_files(run, found, guesses)
    run.numbers["seconds"] = numbers["seconds"]
    _report(run, settings, found, guesses, data, missing)
    _draw(run, found, data)


def _train(
    run: LabRun,
    settings: Regions784Settings,
    schedule: Schedule,
    data: DataSet,
    shape: ClassifierShape,
    kind: str,
    networks: int,
) -> list[Network]:
    """Networks with the seeds that Table 2 gives them."""
    row = f"{data.name} {shape.name}"
    task = TrainingTask(
        shape.sizes(data.x_train.shape[1], len(data.labels)),
        [run.torch_seed(row, kind, index) for index in range(networks)],
        data.x_train,
        data.y_train,
        shape.skips if kind == "with" else (),
    )
    name = f"{data.name} {shape.layers}x{shape.neurons} {kind}"
    job = ClassifierJob(name, task, asked(run, settings, data))
    return trained(run, [job], schedule)[0].networks[-1]


def _count(
    run: LabRun,
    settings: Regions784Settings,
    data: DataSet,
    kind: str,
    index: int,
    network: Network,
) -> dict[str, Any]:
    """All regions of one network, and which of them hold images."""
    what = asked(run, settings, data) | {"network": network.fingerprint, "pixels": True}
    name = f"{data.name} regions {kind} {index}"
    return run.unit(name, what, lambda: measure(network, data, workers=run.options.workers))


def measure(network: Network, data: DataSet, *, workers: int = 1) -> dict[str, Any]:
    """All regions of a network over R^n, and which of them hold images.

    Parameters
    ----------
    network : Network
    data : DataSet
    workers : int
        Number of threads.

    Returns
    -------
    dict
        ``regions``, ``pixels`` (those with interior in the box of all images), ``train``, ``test``,
        ``both``, ``cached`` (test images), accuracies in per cent (nan where there are no images),
        ``pure`` (per cent of training images whose class is the most frequent one in their
        region), ``seconds_regions`` and ``seconds_pixels`` (of all cores together), and for each
        class the regions with training images (``train_by_class``) and with test images
        (``test_by_class``) of it.
    """
    started = time.process_time()
    regions = all_regions(network, workers=workers, progress=False)
    seconds = time.process_time() - started
    started = time.process_time()
    pixels = count_regions(network, Box(-1, 1), workers=workers, progress=False)
    seconds_pixels = time.process_time() - started
    train, _ = _look(regions.packed, network, data.x_train)
    test, predicted = _look(regions.packed, network, data.x_test)
    if min(train.min(), test.min()) < 0:
        # Rounding put an image on the wrong side of a boundary, into a pattern without a region.
        for places, images in ((train, data.x_train), (test, data.x_test)):
            lost = np.flatnonzero(places < 0)
            places[lost] = regions.locate(scaled(images[lost]), arithmetic="exact")
    known = np.zeros(len(regions), dtype=np.bool_)
    known[train] = True
    tested = np.zeros(len(regions), dtype=np.bool_)
    tested[test] = True
    right, cached = predicted == data.y_test, known[test]
    classes = range(len(data.labels))
    pairs, counts = np.unique(
        np.stack([train, data.y_train.astype(np.int64)]), axis=1, return_counts=True
    )
    most = np.zeros(len(regions), dtype=np.int64)
    np.maximum.at(most, pairs[0], counts)
    return {
        "regions": len(regions),
        "pixels": int(pixels),
        "dimension": regions.reduced.network.n_inputs,
        "train": int(known.sum()),
        "test": int(tested.sum()),
        "both": int((known & tested).sum()),
        "cached": int(cached.sum()),
        "accuracy": 100 * float(right.mean()),
        "inside": _percent(right[cached]),
        "outside": _percent(right[~cached]),
        "pure": 100 * float(most.sum()) / len(train),
        "seconds_regions": seconds,
        "seconds_pixels": seconds_pixels,
        "train_by_class": np.array([len(np.unique(train[data.y_train == c])) for c in classes]),
        "test_by_class": np.array([len(np.unique(test[data.y_test == c])) for c in classes]),
    }


def scaled(images: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Pixels as the networks see them, in the training's own float32 numbers.

    Examples
    --------
    >>> scaled(np.array([[0, 255]], dtype=np.uint8))
    array([[-1.,  1.]])
    """
    return (images.astype(np.float32) / np.float32(127.5) - np.float32(1)).astype(np.float64)


def _look(
    packed: PackedPatterns, network: Network, images: NDArray[np.uint8]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The regions of images, -1 for a pattern that has none, and the predicted classes."""
    places = np.empty(len(images), dtype=np.int64)
    classes = np.empty(len(images), dtype=np.int64)
    for start in range(0, len(images), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        points = scaled(images[part])
        places[part] = packed.find(network.patterns(points))
        classes[part] = network(points).argmax(axis=1)
    return places, classes


def _percent(right: NDArray[np.bool_]) -> float:
    return 100 * float(right.mean()) if right.size else float("nan")


def _estimate(
    run: LabRun,
    settings: Regions784Settings,
    data: DataSet,
    kind: str,
    index: int,
    network: Network,
) -> dict[str, Any]:
    what = asked(run, settings, data) | {
        "network": network.fingerprint,
        "estimate": settings.seconds,
    }

    def compute() -> dict[str, Any]:
        found = estimate_regions(network, max_seconds=settings.seconds, probes=10_000)
        return {
            "count": float(found.count),
            "low": float(found.low),
            "high": float(found.high),
            "probes": found.probes,
        }

    return run.unit(f"{data.name} estimate {kind} {index}", what, compute)


# --- what is said and drawn about it --------------------------------------------------------------


def _write_files(run: LabRun, found: Results, guesses: Results) -> None:
    columns = _COLUMNS
    run.table(
        "networks",
        ["data", "skips", "network", *columns],
        [
            [name, kind, index, *(values[key][index] for key in columns)]
            for (name, kind), values in found.items()
            for index in range(len(values["regions"]))
        ],
    )
    run.table(
        "classes",
        ["data", "skips", "class", *_BY_CLASS.values()],
        [
            [name, kind, label, *(values[key].mean(axis=0)[label] for key in _BY_CLASS)]
            for (name, kind), values in found.items()
            for label in range(values["train_by_class"].shape[1])
        ],
    )
    run.numbers["networks"] = {
        f"{name} {kind} skips": {key: values[key].tolist() for key in columns}
        for (name, kind), values in found.items()
    }
    run.numbers["estimates"] = {
        f"{name} {kind} skips": {key: column.tolist() for key, column in values.items()}
        for (name, kind), values in guesses.items()
    }


#: What is known of every network, and of every class.
_COLUMNS = (*QUANTITIES, "pure")
_WHOLE = ("regions", "pixels", "train", "test", "both", "cached")
_BY_CLASS = {
    "train_by_class": "regions with training images",
    "test_by_class": "regions with test images",
}
#: What was timed.
_TIMED = ("regions", "pixels")


def _report(
    run: LabRun,
    settings: Regions784Settings,
    found: Results,
    guesses: Results,
    data: Mapping[str, DataSet],
    missing: Sequence[str],
) -> None:
    report, names = run.report, list(data)
    n = len(found[names[0], KINDS[0]]["regions"])
    shape = settings.shape
    whole = all(len(each.x_train) >= 50_000 for each in data.values()) and settings.epochs == 5
    inputs = " and ".join(f"{m:,}" for m in sorted({d.x_train.shape[1] for d in data.values()}))
    report.text(
        ("The networks of Table 2" if shape == SMALL else "Networks")
        + f" with {shape.layers} layers of {shape.neurons} neurons have {inputs} inputs, but their "
        f"first layer sees {shape.neurons} combinations of these. So **every region over all of "
        f"Rⁿ** can be found, exactly: {n} networks with skips ({skips_text(shape.skips)}) and {n} "
        "without for each data set, trained as for Table 2."
    )
    if not whole or shape != SMALL:
        fewer = ["images or epochs"] * (not whole) + ["neurons"] * (shape.neurons < SMALL.neurons)
        report.text(
            f"**This is a small version**, with {'fewer ' if fewer else 'other neurons'}"
            f"{' and '.join(fewer)} than for Table 2: other networks than there."
        )
    report.heading("How many regions there are, and how many hold images")
    keys = ("regions", "pixels", "train", "test", "both")
    report.table(
        ["data, skips", *(QUANTITIES[key] for key in keys), "share with a training image"],
        [
            [
                _label(data[name], kind),
                *(mean_text(summary(values[key]), 0) for key in keys),
                f"{100 * float(np.mean(values['train'] / values['regions'])):.2f} %",
            ]
            for (name, kind), values in found.items()
        ],
        "Means over networks ± standard error. The pixel box: all inputs whose pixels are between "
        "black and white, images or not; a region counts if it has interior there.",
    )
    report.bullets(_findings(run, found, data))
    report.heading("Predictions inside and outside the regions of training images")
    shown = ("cached", "accuracy", "inside")
    report.table(
        [
            "data, skips",
            *(QUANTITIES[key] for key in shown),
            "accuracy outside, of so many images",
            "majority of its region in %",
        ],
        [
            [
                _label(data[name], kind),
                *(_mean(values[key]) for key in shown),
                _outside(values, len(data[name].x_test)),
                _mean(values["pure"]),
            ]
            for (name, kind), values in found.items()
        ],
        "Inside: test images in a region that holds a training image; outside: all others. There "
        "are few of these in a network, so those of all networks are taken together. Last column: "
        "training images whose class is the most frequent one in their region.",
    )
    report.heading("Classes")
    report.table(
        ["data, skips", *(f"class {label}" for label in range(10))],
        [
            [
                _label(data[name], kind),
                *(f"{value:.0f}" for value in values["train_by_class"].mean(axis=0)),
            ]
            for (name, kind), values in found.items()
        ],
        "Mean number of regions that hold training images of a class, classes in the data set's "
        "own order.",
    )
    if guesses:
        _write_guesses(run, settings, guesses, data)
    report.heading("How it was done")
    times = {key: _time_text(seconds) for key, seconds in run.numbers["seconds"].items()}
    notes = [
        "A region is counted once, whatever its size: these are all activation patterns that occur "
        "on an open set of Rⁿ, near images or not. No rounding decides whether one is there.",
        f"Finding and storing all regions of a network took {times['regions']} seconds of "
        f"processor time, all threads together; counting those in the pixel box {times['pixels']}.",
        "Images are located by their patterns in float64, with the training's own float32 inputs.",
    ]
    if missing:
        notes.append(f"Left out: {literal('; '.join(missing))}.")
    report.bullets(notes)


def _label(data: DataSet, kind: str) -> str:
    return f"{data.title}, {kind} skips"


def _mean(values: NDArray[Any]) -> str:
    kept = np.asarray(values, dtype=np.float64)
    kept = kept[np.isfinite(kept)]
    return mean_text(summary(kept), 1) if len(kept) > 1 else "–"


def _outside(values: Mapping[str, NDArray[Any]], images: int) -> str:
    """The accuracy outside, over all images of all networks, and how many these are."""
    counts = images - values["cached"]
    if not counts.sum():
        return "–"
    right = np.nan_to_num(values["outside"]) @ counts / counts.sum()
    return f"{right:.1f} % of {int(counts.sum()):,}"


def _seconds(found: Results, key: str) -> dict[str, float]:
    seconds = np.concatenate([values[key] for values in found.values()])
    return {
        "median": float(np.median(seconds)),
        "least": float(seconds.min()),
        "most": float(seconds.max()),
    }


def _time_text(seconds: Mapping[str, float]) -> str:
    return f"{seconds['median']:.1f} (median; {seconds['least']:.1f} to {seconds['most']:.1f})"


def _findings(run: LabRun, found: Results, data: Mapping[str, DataSet]) -> list[str]:
    """Sentences that follow from the numbers."""
    said = []
    run.numbers["tests"] = {}
    for name, each in data.items():
        a, b = (found[name, kind]["regions"] for kind in KINDS)
        change = 100 * (float(a.mean() / b.mean()) - 1)
        text = f"{each.title}: with skips there are {abs(change):.0f} % "
        text += f"{'more' if change > 0 else 'fewer'} regions on average"
        if len(a) > 1:
            p = two_sided(a, b, len(data))
            run.numbers["tests"][name] = p
            verdict = "a difference" if p < LEVEL else "no difference that is sure"
            text += f" (p = {p_text(p)}: {verdict} at {LEVEL})"
        share = [100 * float(np.mean(v["train"] / v["regions"])) for v in _both(found, name)]
        text += f". {share[0]:.2f} % of the regions hold a training image, {share[1]:.2f} % without"
        inside = [100 * float(np.mean(v["pixels"] / v["regions"])) for v in _both(found, name)]
        text += f" skips; {inside[0]:.1f} % are in the pixel box, {inside[1]:.1f} % without skips."
        said.append(text)
    if run.numbers["tests"]:
        said.append(
            "p: Mann-Whitney test, two-sided, since nobody said beforehand which kind has more; "
            f"times {len(data)}, because there are so many tests."
        )
    return said


def two_sided(a: NDArray[Any], b: NDArray[Any], tests: int) -> float:
    """The p-value of a difference in either direction, if it is one of so many tests.

    Examples
    --------
    >>> two_sided(np.array([4, 5, 6]), np.array([1, 2, 3]), 2)
    0.2
    """
    smaller = min(mann_whitney(a, b, tail="greater").p, mann_whitney(a, b, tail="less").p)
    return min(1.0, 2 * tests * smaller)


def _both(found: Results, name: str) -> list[dict[str, NDArray[Any]]]:
    return [found[name, kind] for kind in KINDS]


def _write_guesses(
    run: LabRun, settings: Regions784Settings, guesses: Results, data: Mapping[str, DataSet]
) -> None:
    run.report.heading(f"Networks with {MEDIUM.layers} layers of {MEDIUM.neurons} neurons")
    run.report.table(
        ["data, skips", "regions, about", "95 % confidence", "probes"],
        [
            [
                _label(data[name], kind),
                f"{values['count'][i]:.2g}",
                f"{values['low'][i]:.2g} to {values['high'][i]:.2g}",
                str(int(values["probes"][i])),
            ]
            for (name, kind), values in guesses.items()
            for i in range(len(values["count"]))
        ],
        f"Too many to find them all: estimates by `estimate_regions`, {settings.seconds:g} s each. "
        "The interval is that of Student's t for the mean of the probes: it trusts in probes that "
        "are about normal, so with few of them, it may well be too narrow. How many there are "
        "depends on the machine, and so do these numbers.",
    )


def _draw(run: LabRun, found: Results, data: Mapping[str, DataSet]) -> None:
    """Regions, and those with training images, a point for every network."""
    from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter  # noqa: PLC0415 - an extra

    made, axes = figure(1, len(data))
    for ax, (name, each) in zip(axes[0], data.items(), strict=True):
        for kind, color in zip(KINDS, (WITH, WITHOUT), strict=True):
            values = found[name, kind]
            label = f"{kind} skips"
            ax.scatter(values["regions"], values["train"], s=22, color=color, label=label)
        ax.set_xscale("log")
        ax.set_yscale("log")
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=20))
            axis.set_major_formatter(EngFormatter(sep=""))
            axis.set_minor_formatter(NullFormatter())
        # two numbers at least tell how far apart points are
        low, high = ax.get_ylim()
        if sum(low <= m * 10**e <= high for m in (1, 2, 5) for e in range(9)) < 2:
            ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 3.0, 4.0, 5.0, 7.0), numticks=20))
        ax.set_title(each.title, fontsize=10)
        ax.set_xlabel("regions over Rⁿ")
    axes[0, 0].set_ylabel("regions with training images")
    axes[0, 0].legend(frameon=False, fontsize=9)
    run.picture(
        made,
        "regions",
        "All regions, and those that hold a training image; a point for every network.",
    )


EXPERIMENT = Experiment(
    name="regions784",
    title="Every region of a real classifier",
    run=run,
    full=Regions784Settings(),
    quick=Regions784Settings(
        networks=2, epochs=1, train=3200, test=1000, estimated=1, seconds=2.0, neurons=6
    ),
    again=again,
)
