"""Table 2: test examples that are cached, with and without skip connections.

The paper trains 50 networks of both kinds for each of three shapes on each of three data sets. A
test example is cached if a training example lies in the same region. What the paper does not say,
its numbers tell: pixels are scaled to [-1, 1], batches have 64 examples, all images are gray, and
the initialisation is PyTorch's own.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell.lab.data import DataSet
from tropicell.lab.run import Experiment, LabRun, literal, read_table, verdict_of
from tropicell.lab.statistics import (
    LEVEL,
    Interval,
    RankTest,
    Summary,
    holm,
    mann_whitney,
    mean_difference,
    power,
    spearman,
    standardised_difference,
    summary,
)
from tropicell.lab.texts import (
    WITH,
    WITHOUT,
    figure,
    interval_text,
    mean_text,
    p_text,
    percent,
    share_text,
    skips_text,
    yes_no,
)
from tropicell.lab.trained import (
    CachedCounts,
    ImageSettings,
    asked,
    load_images,
    train_and_look_up,
)
from tropicell.lab.training import StackPart, TrainingTask

# --- table 2 as published, and as measured --------------------------------------------------------

#: Networks of each kind in the paper.
PAPER_NETWORKS = 50

KINDS = ("with", "without")

#: What is measured of every network: accuracy (%), cached test examples, regions with training
#: examples, cached test examples that are classified rightly; and the tables' names for them.
QUANTITIES = {
    "accuracy": "accuracy",
    "cached": "cached",
    "regions": "regions with training examples",
    "right_cached": "right among the cached",
}

#: The quantities by name, with a value for every network.
Sample = dict[str, NDArray[np.float64]]


@dataclass(frozen=True)
class ClassifierShape:
    """Hidden layers of one size, and the skips of the networks that have them."""

    layers: int
    neurons: int
    skips: tuple[tuple[int, int], ...]

    @property
    def name(self) -> str:
        """Layers × neurons."""
        return f"{self.layers}×{self.neurons}"

    def sizes(self, inputs: int, outputs: int) -> tuple[int, ...]:
        """Inputs, neurons of all hidden layers, outputs."""
        return (inputs, *[self.neurons] * self.layers, outputs)


SMALL = ClassifierShape(4, 8, ((1, 3), (2, 4)))
MEDIUM = ClassifierShape(3, 16, ((1, 3),))
LARGE = ClassifierShape(3, 32, ((1, 3),))
SHAPES = (SMALL, MEDIUM, LARGE)


@dataclass(frozen=True)
class Table2Row:
    """A row of the table as it was published; pairs are with and without skips.

    Attributes
    ----------
    data : str
        Name of the data set.
    shape : ClassifierShape
    accuracy : (float, float)
        Mean, in per cent.
    cached : (float, float)
        Mean number of cached test examples.
    u, p : float
        Of the Mann-Whitney test.
    """

    data: str
    shape: ClassifierShape
    accuracy: tuple[float, float]
    cached: tuple[float, float]
    u: float
    p: float

    @property
    def name(self) -> str:
        """Data set and shape."""
        return f"{self.data} {self.shape.name}"


PUBLISHED = (
    Table2Row("mnist", SMALL, (83.8, 78.7), (9966.4, 9970.0), 1245.5, 0.489),
    Table2Row("mnist", MEDIUM, (91.8, 91.3), (9211.6, 9349.2), 997.5, 0.041),
    Table2Row("mnist", LARGE, (94.4, 93.9), (2140.3, 3200.6), 397.5, 2.1e-9),
    Table2Row("cifar10", SMALL, (30.3, 29.2), (8965.6, 9125.4), 850.5, 3.0e-3),
    Table2Row("cifar10", MEDIUM, (35.8, 35.2), (1702.2, 2436.5), 314.0, 5.6e-11),
    Table2Row("cifar10", LARGE, (39.0, 39.0), (4.1, 7.3), 485.0, 5.7e-8),
    Table2Row("svhn", SMALL, (52.5, 48.8), (24806.9, 24982.8), 877.0, 5.1e-3),
    Table2Row("svhn", MEDIUM, (64.9, 63.4), (10273.2, 12532.9), 304.5, 3.6e-11),
    Table2Row("svhn", LARGE, (72.6, 71.6), (87.3, 174.7), 289.5, 1.8e-11),
)


@dataclass(frozen=True)
class CachingComparison:
    """What was measured for a row; pairs are with and without skips."""

    row: Table2Row
    accuracy: tuple[Summary, Summary]
    cached: tuple[Summary, Summary]
    regions: tuple[Summary, Summary]
    test: RankTest
    power: Interval

    @classmethod
    def of(cls, row: Table2Row, samples: dict[str, Sample], power: Interval) -> CachingComparison:
        """All statistics of the networks of a row."""
        a, b = (samples[kind] for kind in KINDS)
        return cls(
            row,
            (summary(a["accuracy"]), summary(b["accuracy"])),
            (summary(a["cached"]), summary(b["cached"])),
            (summary(a["regions"]), summary(b["regions"])),
            mann_whitney(a["cached"], b["cached"], tail="less"),
            power,
        )

    def z(self, quantity: str) -> tuple[float, float]:
        """Differences of the means from the published ones, in standard errors."""
        measured: tuple[Summary, Summary] = getattr(self, quantity)
        published: tuple[float, float] = getattr(self.row, quantity)
        a, b = (
            standardised_difference(sample, mean, PAPER_NETWORKS)
            for sample, mean in zip(measured, published, strict=True)
        )
        return a, b

    @property
    def fewer_cached(self) -> bool:
        """Whether networks with skips have fewer cached test examples, on average."""
        return self.cached[0].mean < self.cached[1].mean

    @property
    def more_accurate(self) -> bool:
        """Whether networks with skips are more accurate, on average."""
        return self.accuracy[0].mean > self.accuracy[1].mean

    def numbers(self) -> dict[str, Any]:
        """Everything, for scripts."""
        found: dict[str, Any] = {"networks": self.cached[0].n}
        for quantity in ("accuracy", "cached", "regions"):
            for kind, sample in zip(KINDS, getattr(self, quantity), strict=True):
                found[f"{quantity}_{kind}"] = sample.mean
                found[f"{quantity}_{kind}_error"] = sample.error
        return found | {
            "u": self.test.u,
            "p": self.test.p,
            "reject": self.test.reject,
            "power": self.power.value,
            "power_low": self.power.low,
            "power_high": self.power.high,
        }


# --- what is said and drawn about Table 2 ---------------------------------------------------------

_CAPTIONS = {
    "accuracy": "Mean accuracy on the test images in per cent",
    "cached": "Mean number of cached test images",
}

#: A test decides the same way in nearly all samples beyond these shares of rejections.
_SURE = (0.05, 0.95)

#: Published p-values that are close to the level at which a test rejects.
_CLOSE = (0.01, 0.2)


def write_report(
    run: LabRun,
    results: Sequence[CachingComparison],
    samples: Mapping[str, Mapping[str, Sample]],
    data: Mapping[str, DataSet],
    missing: Sequence[str],
    epochs: int,
) -> None:
    """Published and measured side by side."""
    titles = {name: found.title for name, found in data.items()}
    n = results[0].cached[0].n
    whole = all(len(found.x_train) >= 50_000 for found in data.values()) and epochs == 5
    run.report.text(
        f"Networks learn to classify images: {n} with skip connections and {n} without for each "
        "row, all with their own initialisation and order of examples. A test image is **cached** "
        "if it lies in the same linear region as a training image. Are fewer of them cached in "
        "networks with skips, and is their accuracy higher?"
    )
    if not whole:
        run.report.text(
            "**This is a small version**, with fewer images or epochs than in the paper: its "
            "numbers can't agree with the published ones."
        )
    run.report.heading("Accuracy")
    _quantity(run, results, titles, "accuracy", whole)
    run.report.heading("Cached test images")
    _quantity(run, results, titles, "cached", whole)
    _tests(run, results, titles)
    _direction(run, results)
    _verdicts(run, results, titles)
    run.report.heading("Regions with training images")
    _regions(run, results, titles)
    tests = {name: len(found.x_test) for name, found in data.items()}
    if all("right_cached" in sample for both in samples.values() for sample in both.values()):
        run.report.heading("Do skips generalise? Cached and uncached images")
        _generalisation(run, results, samples, tests, titles)
    else:
        run.report.heading("Regions and accuracy")
        run.report.text("This run did not keep the accuracy on cached and uncached images apart.")
    _correlations(run, results, samples, titles)
    run.report.heading("The data and the training")
    fits = whole and not (run.numbers["accuracy_far"] or run.numbers["cached_far"])
    _protocol(run, data, missing, epochs, fits)


def _label(found: CachingComparison, titles: Mapping[str, str]) -> str:
    shape = found.row.shape
    return f"{titles[found.row.data]} {shape.name}, {skips_text(shape.skips)}"


def _quantity(
    run: LabRun,
    results: Sequence[CachingComparison],
    titles: Mapping[str, str],
    quantity: str,
    whole: bool,
) -> None:
    """Means of a quantity, and whether they fit the published ones."""
    rows = []
    far = []
    digits = 2 if quantity == "accuracy" else 1
    for found in results:
        cells = [_label(found, titles)]
        for kind, published, measured, z in zip(
            KINDS,
            getattr(found.row, quantity),
            getattr(found, quantity),
            found.z(quantity),
            strict=True,
        ):
            away = (
                f"{measured.mean - published:+.1f}"
                if quantity == "accuracy"
                else percent(measured.mean / published)
            )
            cells += [f"{published:.1f}", mean_text(measured, digits), away, f"{z:+.1f}"]
            if abs(z) > 3:
                far.append(f"{_label(found, titles)}, {kind} skips ({away}, z = {z:+.1f})")
        rows.append(cells)
    header = ["data, layers × neurons, skips", "with skips: published", "measured", "off by", "z"]
    header += ["without: published", "measured", "off by", "z"]
    run.report.table(
        header,
        rows,
        f"{_CAPTIONS[quantity]} ± standard error. z: the difference in standard errors, those of "
        f"the published mean of {PAPER_NETWORKS} networks included.",
    )
    run.numbers[f"{quantity}_far"] = far
    if not whole:
        return
    if far:
        run.report.text(
            f"More than three standard errors from the published mean: {'; '.join(far)}."
        )
    else:
        run.report.text("All means lie within three standard errors of the published ones.")


def _tests(run: LabRun, results: Sequence[CachingComparison], titles: Mapping[str, str]) -> None:
    run.report.table(
        [
            "row",
            "U: published",
            "measured",
            "p: published",
            "measured",
            "rejected: published",
            "measured",
            "power",
        ],
        [
            [
                f"{titles[found.row.data]} {found.row.shape.name}",
                f"{found.row.u:.1f}",
                f"{found.test.u:.1f}",
                p_text(found.row.p),
                p_text(found.test.p),
                yes_no(found.row.p < LEVEL),
                yes_no(found.test.reject),
                share_text(found.power),
            ]
            for found in results
        ],
        "U: Mann-Whitney test, one-tailed, of 'fewer cached with skips', rejected at "
        f"{LEVEL}. Power: how often {PAPER_NETWORKS} + {PAPER_NETWORKS} networks reject, resampled "
        "from the measured ones, with a 95 % interval for their own luck.",
    )


def _direction(run: LabRun, results: Sequence[CachingComparison]) -> None:
    fewer = sum(found.fewer_cached for found in results)
    better = sum(found.more_accurate for found in results)
    run.numbers["rows_with_fewer_cached"] = fewer
    run.numbers["rows_with_higher_accuracy"] = better
    run.report.text(
        f"With skips, fewer test images are cached on average in {fewer} of {len(results)} rows, "
        f"and the accuracy is higher in {better} of {len(results)}."
    )
    rejected = sum(found.test.reject for found in results)
    agree = sum(found.test.reject == (found.row.p < LEVEL) for found in results)
    run.claim(
        "table2 tests",
        "Sect. 7.2, Table 2",
        "Fewer test images are cached with skips: the null hypothesis is rejected for all but one "
        "model and data set.",
        verdict_of(agree, len(results)),
        f"{rejected} of {len(results)} are rejected, and {agree} verdicts are as published",
    )
    run.claim(
        "table2 accuracy",
        "Sect. 7.2",
        "Networks with skips have greater or equal average accuracy.",
        verdict_of(better, len(results)),
        f"the mean accuracy is higher with skips in {better} of {len(results)} rows",
    )


def _verdicts(run: LabRun, results: Sequence[CachingComparison], titles: Mapping[str, str]) -> None:
    names = {
        found.row.name: f"{titles[found.row.data]} {found.row.shape.name}" for found in results
    }
    differ = [f for f in results if f.test.reject != (f.row.p < LEVEL)]
    unsure = [f for f in results if _SURE[0] < f.power.value < _SURE[1]]
    run.numbers["verdicts_that_differ"] = [found.row.name for found in differ]
    run.numbers["verdicts_that_depend_on_the_sample"] = [found.row.name for found in unsure]
    rejected = sum(found.test.reject for found in results)
    text = f"{rejected} of {len(results)} null hypotheses are rejected. "
    if unsure:
        text += (
            "Some verdicts depend on the sample: "
            + ", ".join(f"{names[f.row.name]} ({share_text(f.power)})" for f in unsure)
            + f" reject only in that share of all runs with {PAPER_NETWORKS} + {PAPER_NETWORKS} "
            "networks, so one run, the published one included, says little there. "
        )
    close = [f for f in results if f not in unsure and _CLOSE[0] < f.row.p < _CLOSE[1]]
    if close:
        text += (
            "The power is resampled from these networks and so shares their luck: "
            + ", ".join(f"{names[f.row.name]} (p = {p_text(f.row.p)})" for f in close)
            + f" {'was' if len(close) == 1 else 'were'} close to the level in the published run, "
            "and may be again with other seeds. "
        )
    if differ:
        text += (
            "Here the verdict differs from the published one in "
            + ", ".join(names[found.row.name] for found in differ)
            + ". "
        )
    text += "The seed was not chosen for its verdicts."
    run.report.text(text)


def _regions(run: LabRun, results: Sequence[CachingComparison], titles: Mapping[str, str]) -> None:
    run.report.table(
        ["row", "with skips", "without", "change"],
        [
            [
                f"{titles[found.row.data]} {found.row.shape.name}",
                *(mean_text(sample, 0) for sample in found.regions),
                percent(found.regions[0].mean / found.regions[1].mean),
            ]
            for found in results
        ],
        "Mean number of regions that hold at least one training image: the size of the cache.",
    )
    more = sum(found.regions[0].mean > found.regions[1].mean for found in results)
    run.numbers["rows_with_more_regions_with_images"] = more
    run.report.text(
        f"With skips the training images fall into more regions in {more} of {len(results)} rows. "
        "The paper does not give these numbers."
    )


def parts_of(sample: Mapping[str, NDArray[np.float64]], tests: int) -> dict[str, Any]:
    """Accuracies of every network on cached and on uncached images, where there are any.

    Parameters
    ----------
    sample : mapping
        Values of `QUANTITIES`.
    tests : int
        Number of test images.

    Returns
    -------
    dict
        ``cached`` and ``uncached``: accuracies in per cent, without the networks that have no such
        images; ``from_uncached``: share of the right predictions that are on uncached images.

    Examples
    --------
    >>> sample = {"accuracy": np.array([70.0]), "cached": np.array([50.0]),
    ...           "right_cached": np.array([40.0])}
    >>> found = parts_of(sample, 100)
    >>> {name: float(values[0]) for name, values in found.items()}
    {'cached': 80.0, 'uncached': 60.0, 'from_uncached': 42.857142857142854}
    """
    right = np.rint(sample["accuracy"] * tests / 100)
    cached, hits = sample["cached"], sample["right_cached"]
    inside, outside = cached > 0, cached < tests
    return {
        "cached": 100 * hits[inside] / cached[inside],
        "uncached": 100 * (right - hits)[outside] / (tests - cached)[outside],
        "from_uncached": 100 * (right - hits) / np.maximum(right, 1),
    }


def _generalisation(
    run: LabRun,
    results: Sequence[CachingComparison],
    samples: Mapping[str, Mapping[str, Sample]],
    tests: Mapping[str, int],
    titles: Mapping[str, str],
) -> None:
    """Accuracy of cached and uncached images, with and without skips."""
    rows, numbers = [], {}
    p_values: dict[str, list[float]] = {"cached": [], "uncached": []}
    differences: dict[str, list[Interval]] = {"cached": [], "uncached": []}
    gaps, shares = [], []
    for found in results:
        name, total = found.row.name, tests[found.row.data]
        parts = {kind: parts_of(samples[name][kind], total) for kind in KINDS}
        cells = [f"{titles[found.row.data]} {found.row.shape.name}"]
        about: dict[str, Any] = {}
        for part, p_list in p_values.items():
            a, b = (parts[kind][part] for kind in KINDS)
            cells += [mean_text(summary(x)) if len(x) else "–" for x in (a, b)]
            if min(len(a), len(b)) < 2:
                cells.append("–")
                continue
            away = mean_difference(a, b, run.rng("generalisation", name, part))
            test = min(mann_whitney(a, b, tail=tail).p for tail in ("greater", "less"))
            p_list.append(min(1.0, 2 * test))
            differences[part].append(away)
            cells.append(interval_text(away, 1, sign=True))
            about[part] = {"with": a.mean(), "without": b.mean(), "difference": vars(away)}
        shares.append(float(np.mean(parts["with"]["from_uncached"])))
        about["from_uncached"] = shares[-1]
        cells.append(f"{shares[-1]:.1f} %")
        known, new = (np.concatenate([parts[k][p] for k in KINDS]) for p in ("cached", "uncached"))
        if min(len(known), len(new)) > 1:
            gaps.append(mean_difference(known, new, run.rng("gap", name)))
            about["cached_less_uncached"] = vars(gaps[-1])
        numbers[name] = about
        rows.append(cells)
    run.numbers["generalisation"] = numbers
    run.report.table(
        [
            "row",
            "cached: with skips",
            "without",
            "difference",
            "uncached: with skips",
            "without",
            "difference",
            "right predictions on uncached images, with skips",
        ],
        rows,
        "Accuracy in per cent on the test images that are cached and on the others, mean over "
        "networks ± standard error, and the difference with a 95 % interval (resampled networks). "
        "Last column: share of all right predictions.",
    )
    sure = {
        part: [
            away.value
            for away, p in zip(differences[part], holm(p_values[part]), strict=True)
            if p < LEVEL
        ]
        for part in p_values
        if p_values[part]
    }
    text = ""
    for part, values in sure.items():
        text += (
            f"On {part} images networks with skips are more accurate in "
            f"{sum(value > 0 for value in values)} of {len(differences[part])} rows and less "
            f"accurate in {sum(value < 0 for value in values)}, by two-sided U tests corrected for "
            f"their number (Holm, {LEVEL}). "
        )
    higher = sum(gap.low > 0 for gap in gaps)
    text += (
        f"With and without skips together, cached images are classified better than uncached ones "
        f"in {higher} of {len(gaps)} rows (95 % intervals), worse in "
        f"{sum(gap.high < 0 for gap in gaps)}."
    )
    run.report.text(text)
    half = sum(share > 50 for share in shares)
    run.claim(
        "accuracy from uncached",
        "Sect. 7.2",
        "The accuracy of networks with skips comes from uncached data.",
        verdict_of(half, len(shares)),
        f"more than half of the right predictions are on uncached images in {half} of "
        f"{len(shares)} rows ({min(shares):.1f} to {max(shares):.1f} %)",
    )
    gained = sum(value > 0 for value in sure.get("uncached", []))
    lost = sum(value < 0 for value in sure.get("uncached", []))
    run.claim(
        "skips generalise",
        "Sect. 7.2, conclusion",
        "Skips allow a network to generalise to unseen data more effectively.",
        verdict_of(gained, len(differences["uncached"])) if gained or lost else "not decided",
        f"accuracy on uncached images is surely higher with skips in {gained} of "
        f"{len(differences['uncached'])} rows and lower in {lost}; differences "
        + ", ".join(f"{away.value:+.1f}" for away in differences["uncached"])
        + " percentage points",
    )


def _correlations(
    run: LabRun,
    results: Sequence[CachingComparison],
    samples: Mapping[str, Mapping[str, Sample]],
    titles: Mapping[str, str],
) -> None:
    """Regions with training images against accuracy, network by network."""
    rows, found = [], {}
    for result in results:
        name = result.row.name
        values = {}
        for kind in KINDS:
            each = samples[name][kind]
            rng = run.rng("spearman", name, kind)
            values[kind] = spearman(each["regions"], each["accuracy"], rng)
        found[name] = {kind: vars(value) for kind, value in values.items()}
        rows.append(
            [
                f"{titles[result.row.data]} {result.row.shape.name}",
                *(interval_text(values[kind]) for kind in KINDS),
            ]
        )
    run.numbers["spearman"] = found
    run.report.table(
        ["row", "with skips", "without"],
        rows,
        "Spearman's rank correlation of the number of regions that hold training images and the "
        "accuracy on test images, over networks of the same kind, with 95 % intervals.",
    )
    correlations = [value for both in found.values() for value in both.values()]
    up, down = sum(v["low"] > 0 for v in correlations), sum(v["high"] < 0 for v in correlations)
    run.claim(
        "regions mean overfitting, table 2",
        "abstract, Sect. 5",
        "A network that overfits divides the input space into many small regions (read as: among "
        "networks of one kind, those with more regions are less accurate).",
        verdict_of(down, len(correlations)) if down else ("does not hold" if up else "not decided"),
        f"of {len(correlations)} rank correlations of regions and test accuracy {up} are surely "
        f"positive and {down} surely negative",
    )


def _protocol(
    run: LabRun, data: Mapping[str, DataSet], missing: Sequence[str], epochs: int, fits: bool
) -> None:
    notes = [f"{found.origin}." for found in data.values()]
    if missing:
        notes.append(f"Left out: {literal('; '.join(missing))}.")
    notes += [
        f"Training: {epochs} epoch{'' if epochs == 1 else 's'} of Adam with learning rate 5·10⁻⁴ "
        "and cross-entropy, batches of 64 (the last one of an epoch is shorter), a fresh order of "
        "the images for every network and epoch, pixels as x / 127.5 - 1, PyTorch's "
        "default initialisation, float32. The paper leaves batch size, scaling and colours open"
        + ("; with these, all means fit its numbers." if fits else "."),
        "A neuron is active where its pre-activation is positive, computed in float32 as in the "
        "training.",
    ]
    run.report.bullets(notes)


def draw(
    run: LabRun,
    results: Sequence[CachingComparison],
    samples: Mapping[str, Mapping[str, Sample]],
    titles: Mapping[str, str],
) -> None:
    """Cached images against accuracy, a point for every network."""
    sets = list(dict.fromkeys(found.row.data for found in results))
    columns = max(sum(f.row.data == name for f in results) for name in sets)
    made, axes = figure(len(sets), columns)
    for i, name in enumerate(sets):
        for ax, found in zip(axes[i], [f for f in results if f.row.data == name], strict=False):
            for k, (kind, color) in enumerate(zip(KINDS, (WITH, WITHOUT), strict=True)):
                both = samples[found.row.name][kind]
                ax.scatter(
                    both["cached"],
                    both["accuracy"],
                    s=12,
                    color=color,
                    alpha=0.55,
                    linewidths=0,
                    label=f"{kind} skips",
                )
                ax.scatter(
                    found.row.cached[k],
                    found.row.accuracy[k],
                    s=110,
                    marker="+",
                    color=color,
                    linewidths=2,
                    label=f"published mean, {kind}",
                )
                ax.scatter(
                    np.mean(both["cached"]),
                    np.mean(both["accuracy"]),
                    s=60,
                    marker="o",
                    facecolors="none",
                    edgecolors=color,
                    linewidths=2,
                    label=f"measured mean, {kind}",
                )
            ax.set_title(f"{titles[name]} {found.row.shape.name}", fontsize=10)
            ax.set_xlabel("cached test images")
        axes[i, 0].set_ylabel("accuracy in %")
    handles, labels = (  # a line for each kind
        [both[i] for i in (0, 3, 1, 4, 2, 5)] for both in axes[0, 0].get_legend_handles_labels()
    )
    made.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    run.picture(
        made,
        "cached-and-accuracy",
        "Cached test images and accuracy, a point for every network; crosses are the published "
        "means, circles the measured ones.",
    )


#: Networks of each kind in a unit of work: what is finished with fewer serves with more of them.
_UNIT = 25


@dataclass(frozen=True)
class Table2Settings(ImageSettings):
    """How much to train.

    Attributes
    ----------
    networks : int
        Of each kind in each row.
    trials : int
        Tests that are resampled for the power.
    """

    networks: int = PAPER_NETWORKS
    trials: int = 2000


def run(run: LabRun, settings: Table2Settings) -> None:
    """Train, look up, test, compare with what was published, and write it down."""
    data, missing = load_images(run, settings)
    rows = [row for row in PUBLISHED if row.data in data]
    units = [(row, start) for row in rows for start in range(0, settings.networks, _UNIT)]
    parts: dict[str, list[dict[str, Any]]] = {row.name: [] for row in rows}
    for row, start in run.steps(units, "training"):
        networks = range(start, min(start + _UNIT, settings.networks))
        parts[row.name].append(_unit(run, settings, row, data[row.data], networks))
    samples = {name: _joined(found) for name, found in parts.items()}
    results = [_comparison(run, settings, row, samples[row.name]) for row in rows]
    _write_files(run, results, samples)
    write_report(run, results, samples, data, missing, settings.epochs)
    draw(run, results, samples, {name: found.title for name, found in data.items()})


def again(run: LabRun, settings: Table2Settings, folder: Path) -> None:
    """The report from the table of an earlier run; the data sets tell what the images are."""
    data, missing = load_images(run, settings)
    table = read_table(folder, "networks")
    there = {line["row"] for line in table}
    rows = [row for row in PUBLISHED if row.data in data and row.name in there]
    samples: dict[str, dict[str, Sample]] = {}
    for row in rows:
        samples[row.name] = {}
        for kind in KINDS:
            own = [line for line in table if (line["row"], line["skips"]) == (row.name, kind)]
            samples[row.name][kind] = {
                quantity: np.array([float(line[column]) for line in own])
                for quantity, column in QUANTITIES.items()
                if own and column in own[0]
            }
    results = [_comparison(run, settings, row, samples[row.name]) for row in rows]
    _write_files(run, results, samples)
    write_report(run, results, samples, data, missing, settings.epochs)
    draw(run, results, samples, {name: found.title for name, found in data.items()})


def _joined(parts: list[dict[str, Any]]) -> dict[str, Sample]:
    return {
        kind: {
            quantity: np.concatenate([part[f"{quantity} {kind}"] for part in parts])
            for quantity in QUANTITIES
        }
        for kind in KINDS
    }


def _unit(
    run: LabRun, settings: Table2Settings, row: Table2Row, data: DataSet, networks: range
) -> dict[str, Any]:
    """Accuracies and cached examples of some networks of a row, with and without skips."""
    what = asked(run, settings, data) | {
        "shape": [row.shape.layers, row.shape.neurons, row.shape.skips],
        "networks": [networks.start, networks.stop],
        "quantities": list(QUANTITIES),
    }
    name = f"{row.data} {row.shape.layers}x{row.shape.neurons} {networks.start}"
    return run.unit(name, what, lambda: _measure(run, settings, row, data, networks))


def _measure(
    run: LabRun, settings: Table2Settings, row: Table2Row, data: DataSet, networks: range
) -> dict[str, Any]:
    sizes = row.shape.sizes(data.x_train.shape[1], len(data.labels))
    tasks = [
        TrainingTask(
            sizes,
            [run.torch_seed(row.name, kind, index) for index in networks],
            data.x_train,
            data.y_train,
            row.shape.skips if kind == "with" else (),
        )
        for kind in KINDS
    ]
    found = {
        f"{quantity} {kind}": np.empty(len(networks)) for quantity in QUANTITIES for kind in KINDS
    }
    writing = threading.Lock()

    def finished(part: StackPart, look: CachedCounts) -> None:
        kind, place = KINDS[part.task], slice(part.networks.start, part.networks.stop)
        with writing:
            found[f"accuracy {kind}"][place] = 100 * look.right.mean(axis=1)
            found[f"cached {kind}"][place] = look.hits.sum(axis=1)
            found[f"regions {kind}"][place] = look.regions
            found[f"right_cached {kind}"][place] = (look.right & look.hits).sum(axis=1)

    train_and_look_up(run, settings, data, tasks, finished)
    return found


def _comparison(
    run: LabRun, settings: Table2Settings, row: Table2Row, samples: dict[str, Sample]
) -> CachingComparison:
    chance = power(
        samples["with"]["cached"],
        samples["without"]["cached"],
        PAPER_NETWORKS,
        run.rng("power", row.name),
        tail="less",
        trials=settings.trials,
    )
    return CachingComparison.of(row, samples, chance)


def _write_files(
    run: LabRun, results: list[CachingComparison], samples: dict[str, dict[str, Sample]]
) -> None:
    """Every network and the statistics of every row, for scripts."""
    known = list(next(iter(samples.values()))[KINDS[0]])
    run.table(
        "networks",
        ["row", "skips", "network", *(QUANTITIES[quantity] for quantity in known)],
        [
            [name, kind, index, *values]
            for name, both in samples.items()
            for kind in KINDS
            for index, values in enumerate(
                zip(*(both[kind][quantity] for quantity in known), strict=True)
            )
        ],
    )
    run.numbers["rows"] = {
        found.row.name: {
            "published": {
                "accuracy": found.row.accuracy,
                "cached": found.row.cached,
                "u": found.row.u,
                "p": found.row.p,
            },
            "z_accuracy": found.z("accuracy"),
            "z_cached": found.z("cached"),
            **found.numbers(),
        }
        for found in results
    }
    run.table(
        "table2",
        ["row", *results[0].numbers()],
        [[found.row.name, *found.numbers().values()] for found in results],
    )


EXPERIMENT = Experiment(
    name="table2",
    title="Table 2: cached test examples with and without skip connections",
    run=run,
    full=Table2Settings(),
    quick=Table2Settings(networks=6, epochs=1, train=6400, test=2000, trials=500),
    again=again,
)
