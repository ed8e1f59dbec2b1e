"""What is said and drawn about Table 2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tropicell.lab.data import DataSet
from tropicell.lab.pictures import WITH, WITHOUT, figure
from tropicell.lab.report import literal
from tropicell.lab.run import Run
from tropicell.lab.statistics import LEVEL
from tropicell.lab.table2_results import KINDS, PAPER_NETWORKS, PUBLISHED, Comparison, Sample
from tropicell.lab.texts import mean_text, p_text, percent, skips_text, yes_no

_CAPTIONS = {
    "accuracy": "Mean accuracy on the test images in per cent",
    "cached": "Mean number of cached test images",
}

#: A test decides the same way in nearly all samples beyond these shares of rejections.
_SURE = (0.05, 0.95)

#: Published p-values that are close to the level at which a test rejects.
_CLOSE = (0.01, 0.2)


def write_report(
    run: Run,
    results: Sequence[Comparison],
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
    run.report.heading("The data and the training")
    _protocol(run, data, missing, epochs)


def _label(found: Comparison, titles: Mapping[str, str]) -> str:
    shape = found.row.shape
    return f"{titles[found.row.data]} {shape.name}, {skips_text(shape.skips)}"


def _quantity(
    run: Run,
    results: Sequence[Comparison],
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


def _tests(run: Run, results: Sequence[Comparison], titles: Mapping[str, str]) -> None:
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
                f"{100 * found.power:.0f} %",
            ]
            for found in results
        ],
        "U: Mann-Whitney test, one-tailed, of 'fewer cached with skips', rejected at "
        f"{LEVEL}. Power: how often {PAPER_NETWORKS} + {PAPER_NETWORKS} networks reject, resampled "
        "from the measured ones.",
    )


def _direction(run: Run, results: Sequence[Comparison]) -> None:
    fewer = sum(found.fewer_cached for found in results)
    better = sum(found.more_accurate for found in results)
    run.numbers["rows_with_fewer_cached"] = fewer
    run.numbers["rows_with_higher_accuracy"] = better
    run.report.text(
        f"With skips, fewer test images are cached on average in {fewer} of {len(results)} rows, "
        f"and the accuracy is higher in {better} of {len(results)}."
    )


def _verdicts(run: Run, results: Sequence[Comparison], titles: Mapping[str, str]) -> None:
    names = {
        found.row.name: f"{titles[found.row.data]} {found.row.shape.name}" for found in results
    }
    differ = [f for f in results if f.test.reject != (f.row.p < LEVEL)]
    unsure = [f for f in results if _SURE[0] < f.power < _SURE[1]]
    run.numbers["verdicts_that_differ"] = [found.row.name for found in differ]
    run.numbers["verdicts_that_depend_on_the_sample"] = [found.row.name for found in unsure]
    rejected = sum(found.test.reject for found in results)
    text = f"{rejected} of {len(results)} null hypotheses are rejected. "
    if unsure:
        text += (
            "Some verdicts depend on the sample: "
            + ", ".join(f"{names[f.row.name]} ({100 * f.power:.0f} %)" for f in unsure)
            + f" reject only in that share of all runs with {PAPER_NETWORKS} + {PAPER_NETWORKS} "
            "networks, so one run, the published one included, says little there. "
        )
    if any(found.row is PUBLISHED[0] for found in unsure):
        text += (
            "With 4 layers of 8 neurons nearly all test images of MNIST are cached either way, so "
            "there is little to tell the two kinds apart. "
        )
    close = [f for f in results if f not in unsure and _CLOSE[0] < f.row.p < _CLOSE[1]]
    if close:
        text += (
            "The power is resampled from these networks and so shares their luck: "
            + ", ".join(f"{names[f.row.name]} (p = {p_text(f.row.p)})" for f in close)
            + " was a close call in the published run, and may be one again with other seeds. "
        )
    if differ:
        text += (
            "Here the verdict differs from the published one in "
            + ", ".join(names[found.row.name] for found in differ)
            + ". "
        )
    text += "The seed was not chosen for its verdicts."
    run.report.text(text)


def _regions(run: Run, results: Sequence[Comparison], titles: Mapping[str, str]) -> None:
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
    run.report.text(
        f"With skips the same images fall into more regions in {more} of {len(results)} rows: the "
        "more regions, the fewer test images meet a training image. The paper does not give these "
        "numbers."
    )


def _protocol(run: Run, data: Mapping[str, DataSet], missing: Sequence[str], epochs: int) -> None:
    notes = [f"{found.origin}." for found in data.values()]
    if missing:
        notes.append(f"Left out: {literal('; '.join(missing))}.")
    notes += [
        f"Training: {epochs} epoch{'' if epochs == 1 else 's'} of Adam with learning rate 5·10⁻⁴ "
        "and cross-entropy, batches of 64 (the last one of an epoch is shorter), a fresh order of "
        "the images for every network and epoch, pixels as x / 127.5 - 1, PyTorch's "
        "default initialisation, float32. The paper leaves batch size, scaling and colours open; "
        "these fit its numbers.",
        "A neuron is active where its pre-activation is positive, computed in float32 as in the "
        "training.",
    ]
    run.report.bullets(notes)


def draw(
    run: Run,
    results: Sequence[Comparison],
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
    handles, labels = axes[0, 0].get_legend_handles_labels()
    made.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    run.picture(
        made,
        "cached-and-accuracy",
        "Cached test images and accuracy, a point for every network; crosses are the published "
        "means, circles the measured ones.",
    )
