"""Figure 4: which test images lie in a region that also holds a training image, drawn.

One network of each of three shapes is trained on each of three data sets, as for Table 2, without
skip connections. UMAP places the images in the plane; it knows nothing of networks or classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tropicell._runtime.arrays import FloatArray
from tropicell.errors import require
from tropicell.lab.data import DataSet
from tropicell.lab.run import Experiment, LabRun, literal, read_table, verdict_of
from tropicell.lab.statistics import LEVEL, Interval, holm, mean_difference
from tropicell.lab.table2 import LARGE, MEDIUM, SHAPES, ClassifierShape
from tropicell.lab.texts import figure, interval_text
from tropicell.lab.trained import (
    CachedCounts,
    ImageSettings,
    asked,
    load_images,
    train_and_look_up,
)
from tropicell.lab.training import StackPart, TrainingTask

# --- what is said and drawn about Figure 4 --------------------------------------------------------

_CACHED, _UNCACHED, _TRAINING = "#2166ac", "#d6302b", "#a9a9a9"

_PICTURE = "cached-images"
_CAPTION = (
    "UMAP pictures of the test images. Blue: a training image lies in the same region. Red: none "
    "does. Gray: training images."
)

#: Means of fewer images than this are not compared: an interval would be one of chance alone.
_FEWEST = 20


@dataclass(frozen=True, eq=False)
class ImagePanel:
    """One network: which test images are cached, and which it classifies rightly."""

    data: DataSet
    shape: ClassifierShape
    hits: NDArray[np.bool_]
    right: NDArray[np.bool_]

    @property
    def name(self) -> str:
        """Data set and shape, for people."""
        return f"{self.data.title} {self.shape.name}"

    def summary(self, place: MapPlace, run: LabRun) -> Summary:
        """What there is to say about it."""
        y, classes = self.data.y_test, len(self.data.labels)
        away = place.distances(self.data)
        means = {
            "cached": self.hits.mean(),
            "accuracy": self.right.mean(),
            "accuracy_cached": _mean(self.right[self.hits]),
            "accuracy_uncached": _mean(self.right[~self.hits]),
            "distance_cached": _mean(away[self.hits]),
            "distance_uncached": _mean(away[~self.hits]),
        }
        farther = None
        if min(self.hits.sum(), (~self.hits).sum()) >= _FEWEST:
            rng = run.rng("distances", self.name)
            farther = mean_difference(away[~self.hits], away[self.hits], rng, 500)
        return Summary(
            self.data,
            self.shape,
            {name: float(value) for name, value in means.items()},
            np.bincount(y, minlength=classes),
            np.bincount(y[self.hits], minlength=classes),
            farther,
        )


@dataclass(frozen=True, eq=False)
class Summary:
    """One network: what the report says about it, all of it in the tables.

    Attributes
    ----------
    data : DataSet
    shape : ClassifierShape
    means : dict of str to float
        Of all test images, of those that are cached, of the others.
    images, cached : ndarray of int64
        Test images of each class, and how many of these are cached.
    farther : Interval, optional
        How much farther uncached images are from the mean of their class than cached ones, in the
        picture; None if there are few of one kind.
    """

    data: DataSet
    shape: ClassifierShape
    means: Mapping[str, float]
    images: NDArray[np.int64]
    cached: NDArray[np.int64]
    farther: Interval | None

    @property
    def name(self) -> str:
        """Data set and shape, for people."""
        return f"{self.data.title} {self.shape.name}"

    def class_test(self) -> float:
        """p-value of 'all classes are cached at the same rate' (χ² test); 1 if all or none are."""
        table = np.stack([self.cached, self.images - self.cached], axis=1)[self.images > 0]
        if not table.sum(axis=0).all() or len(table) < 2:
            return 1.0
        return float(stats.chi2_contingency(table).pvalue)

    def shares(self) -> FloatArray:
        """Share of cached test images of each class; NaN for a class without images."""
        none = self.images == 0
        return np.where(none, np.nan, self.cached / np.maximum(self.images, 1))


@dataclass(frozen=True, eq=False)
class MapPlace:
    """Points in the plane: the test images, and some training images."""

    test: FloatArray
    train: FloatArray

    def centres(self, data: DataSet) -> FloatArray:
        """Mean point of the test images of each class; NaN for a class without images."""
        found = np.full((len(data.labels), 2), np.nan)
        for c in np.unique(data.y_test):
            found[c] = self.test[data.y_test == c].mean(axis=0)
        return found

    def distances(self, data: DataSet) -> FloatArray:
        """Distance of each test image to the mean of its class."""
        away = self.test - self.centres(data)[data.y_test]
        return np.asarray(np.hypot(away[:, 0], away[:, 1]))


#: Means of a network, in the order of the table's columns.
_MEANS = (
    "cached",
    "accuracy",
    "accuracy_cached",
    "accuracy_uncached",
    "distance_cached",
    "distance_uncached",
)

#: The columns of an interval in the table of networks.
_FARTHER = ("uncached less cached", "low", "high")


def write_tables(run: LabRun, found: Sequence[Summary]) -> None:
    """Everything that the report is written from."""
    run.table(
        "networks",
        ["data", "network", *_MEANS, *_FARTHER],
        [
            [s.data.name, s.shape.name]
            + [_cell(s.means[name]) for name in _MEANS]
            + [_cell(x) for x in (tuple(vars(s.farther).values()) if s.farther else (None,) * 3)]
            for s in found
        ],
    )
    run.table(
        "classes",
        ["data", "network", "class", "images", "cached"],
        [
            [s.data.name, s.shape.name, label, *counts]
            for s in found
            for label, *counts in zip(
                s.data.labels, s.images.tolist(), s.cached.tolist(), strict=True
            )
        ],
    )


def _cell(value: float | None) -> str:
    return "" if value is None or np.isnan(value) else repr(float(value))


def read_tables(folder: Path, data: Mapping[str, DataSet]) -> list[Summary]:
    """What `write_tables` wrote, for the data sets that are there."""
    networks, classes = (read_table(folder, name) for name in ("networks", "classes"))
    found = []
    for row in networks:
        if row["data"] not in data:
            continue
        kind = (row["data"], row["network"])
        counts = [
            np.array(
                [int(each[column]) for each in classes if (each["data"], each["network"]) == kind]
            )
            for column in ("images", "cached")
        ]
        interval = [float(row[name]) for name in _FARTHER if row[name]]
        found.append(
            Summary(
                data[row["data"]],
                next(shape for shape in SHAPES if shape.name == row["network"]),
                {name: float(row[name] or "nan") for name in _MEANS},
                counts[0],
                counts[1],
                Interval(*interval) if interval else None,
            )
        )
    return found


def write_report(
    run: LabRun, found: Sequence[Summary], missing: Sequence[str], settings: Fig4Settings
) -> None:
    """What the pictures show, in numbers."""
    run.report.text(
        "Blue test images lie in the same linear region of a trained network as some training "
        "image (they are *cached*), red ones do not. Training images are gray. Names of the "
        "classes stand at, or are tied to, the mean of their test images. UMAP placed the images "
        "by their pixels alone, so the three pictures of a row differ in nothing but colour."
    )
    data = {s.data.name: s.data for s in found}
    _overview(run, found)
    run.report.heading("Classes")
    for name in data:
        _classes(run, [s for s in found if s.data.name == name])
    run.report.heading("The data and the training")
    notes = [f"{each.origin}." for each in data.values()]
    if missing:
        notes.append(f"Left out: {literal('; '.join(missing))}.")
    notes.append(
        f"{settings.epochs} epoch{'' if settings.epochs == 1 else 's'} of Adam as for Table 2, "
        "networks without skip connections. "
        + "; ".join(
            f"{each.title}: {len(each.x_test)} test images and "
            f"{min(settings.shown, len(each.x_train))} of the training images are drawn"
            for each in data.values()
        )
        + "; all training images count for the cache."
    )
    run.report.bullets(notes)


def _overview(run: LabRun, found: Sequence[Summary]) -> None:
    rows = []
    for each in found:
        run.numbers[f"{each.data.name} {each.shape.name}"] = dict(each.means) | {
            "cached_by_class": dict(zip(each.data.labels, each.shares(), strict=True))
        }
        shares = [_share(each.means[key]) for key in _MEANS[:4]]
        ways = [_number(each.means[key]) for key in _MEANS[4:]]
        rows.append([each.name, *shares, *ways])
    run.report.table(
        [
            "network",
            "cached",
            "accuracy",
            "of the cached",
            "of the others",
            "distance of the cached",
            "of the others",
        ],
        rows,
        "Accuracy on all test images, and on those that are cached or not. Distance: mean distance "
        "in the picture to the mean of the image's class.",
    )
    _distances(run, found)
    _claims(run, found)


def _distances(run: LabRun, panels: Sequence[Summary]) -> None:
    """Whether uncached images are farther from the mean of their class."""
    found = {each.name: each.farther for each in panels if each.farther is not None}
    better = sum(
        each.means["accuracy_cached"] > each.means["accuracy_uncached"]
        for each in panels
        if each.farther is not None
    )
    run.numbers["uncached_less_cached_distance"] = {k: vars(v) for k, v in found.items()}
    farther = [name for name, each in found.items() if each.low > 0]
    nearer = [name for name, each in found.items() if each.high < 0]
    run.report.text(
        f"{len(found)} of {len(panels)} networks have at least {_FEWEST} images of both kinds. Of "
        f"these, uncached images lie farther from the "
        f"mean of their class than cached ones in {len(farther)} ({', '.join(farther) or 'none'}) "
        f"and nearer in {len(nearer)} ({', '.join(nearer) or 'none'}); in the others the 95 % "
        f"interval of the difference holds 0. Cached images are classified rightly more often in "
        f"{better} of {len(found)}."
    )
    middle = [panel.name for panel in panels if panel.shape == MEDIUM and panel.name in found]
    run.claim(
        "uncached far from centroids",
        "Sect. 7.1, b",
        "In the middle column uncached instances tend to appear further away from class centroids "
        "than cached ones.",
        verdict_of(sum(name in farther for name in middle), len(middle)),
        "distance of the uncached less that of the cached: "
        + ", ".join(f"{name} {interval_text(found[name], sign=True)}" for name in middle)
        + f"; farther in {len(farther)} and nearer in {len(nearer)} of all {len(found)} networks",
    )


def _claims(run: LabRun, panels: Sequence[Summary]) -> None:
    """The paper's other observations on its figure."""
    p_values = holm([panel.class_test() for panel in panels])
    uneven = sum(p < LEVEL for p in p_values)
    run.claim(
        "caching by class",
        "Sect. 7.1, a",
        "Rates of caching are not uniform across classes.",
        verdict_of(uneven, len(panels)),
        f"a χ² test rejects equal rates for {uneven} of {len(panels)} networks (Holm, {LEVEL})",
    )
    for panel in panels:
        if panel.data.name == "mnist" and panel.shape == LARGE:
            rates = dict(zip(panel.data.labels, panel.shares(), strict=True))
            mean = panel.means["cached"]
            agree = [rates["9"] > mean, rates["1"] > mean, rates["2"] < mean, rates["3"] < mean]
            run.claim(
                "caching of digits",
                "Sect. 7.1, a",
                "MNIST, 3 layers of 32: the labels 9 and 1 have high rates of caching, 2 and 3 "
                "much lower ones.",
                verdict_of(sum(agree), len(agree)),
                f"overall {_share(mean)}; "
                + ", ".join(f"{label}: {_share(rates[label])}" for label in "9123"),
            )
    cached = {(panel.data.name, panel.shape.name): panel.means["cached"] for panel in panels}
    names = list(dict.fromkeys(panel.data.name for panel in panels))
    falling = [
        name
        for name in names
        if all(cached[name, a.name] > cached[name, b.name] for a, b in pairwise(SHAPES))
    ]
    run.claim(
        "caching and size",
        "Sect. 7.1, c",
        "The larger the network, the less likely two points lie in the same region: fewer test "
        "instances are cached.",
        verdict_of(len(falling), len(names)),
        "; ".join(
            f"{name}: " + ", ".join(_share(cached[name, shape.name]) for shape in SHAPES)
            for name in names
        ),
    )
    if {"mnist", "cifar10"} <= set(names):
        more = sum(cached["mnist", s.name] > cached["cifar10", s.name] for s in SHAPES)
        run.claim(
            "caching and data",
            "Sect. 7.1, d",
            "More test data is cached on MNIST than on CIFAR-10.",
            verdict_of(more, len(SHAPES)),
            f"for {more} of {len(SHAPES)} shapes",
        )


def _classes(run: LabRun, panels: Sequence[Summary]) -> None:
    shares = [panel.shares() for panel in panels]
    labels = panels[0].data.labels
    run.report.table(
        [panels[0].data.title, *(panel.shape.name for panel in panels)],
        [[label, *(_share(column[c]) for column in shares)] for c, label in enumerate(labels)],
        "Share of cached test images of each class.",
    )


def _mean(values: NDArray[Any]) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _share(value: float) -> str:
    return f"{100 * value:.1f} %" if np.isfinite(value) else "–"


def _number(value: float) -> str:
    return f"{value:.2f}" if np.isfinite(value) else "–"


def draw(run: LabRun, panels: Sequence[ImagePanel], places: Mapping[str, MapPlace]) -> None:
    """All panels: a row for each data set, a column for each shape."""
    columns = len(panels) // len(places)
    made, axes = figure(len(places), columns, size=(4.2, 4.0))
    for ax, panel in zip(axes.ravel(), panels, strict=True):
        _panel(ax, panel, places[panel.data.name], run)
    handles = [
        axes[0, 0].scatter([], [], s=30, color=color, label=label)
        for color, label in (
            (_CACHED, "test image in the region of a training image (cached)"),
            (_UNCACHED, "test image in no such region"),
            (_TRAINING, "training image"),
        )
    ]
    made.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    run.picture(made, _PICTURE, _CAPTION)


def _panel(ax: Any, panel: ImagePanel, place: MapPlace, run: LabRun) -> None:
    low, high = _frame(place)
    # large and below the others, so that they are seen around and between them
    ax.scatter(*place.train.T, s=13, color=_TRAINING, linewidths=0, rasterized=True)
    # in a random order, so that neither colour hides the other
    order = run.rng("order", panel.name).permutation(len(place.test))
    colors = np.where(panel.hits, _CACHED, _UNCACHED)[order]
    size = 1.6 if len(order) > 4000 else 5
    ax.scatter(*place.test[order].T, s=size, c=colors, linewidths=0, alpha=0.8, rasterized=True)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    ax.set_title(f"{panel.name}: {_share(float(panel.hits.mean()))} cached", fontsize=10)
    _labels(ax, panel.data.labels, place.centres(panel.data), high - low)


def _frame(place: MapPlace) -> tuple[FloatArray, FloatArray]:
    """What to show: nearly all points; a few far ones would make the others small."""
    points = np.concatenate([place.test, place.train])
    low, high = np.quantile(points, [0.002, 0.998], axis=0)
    margin = 0.06 * (high - low)
    return low - margin, high + margin


def _labels(ax: Any, labels: Sequence[str], centres: FloatArray, extent: FloatArray) -> None:
    there = [c for c in range(len(labels)) if np.isfinite(centres[c]).all()]
    # room for a text, in shares of the panel
    room = np.array([[0.035 + 0.022 * len(labels[c]), 0.055] for c in there])
    spots = spread(centres[there] / extent, room) * extent
    for c, spot in zip(there, spots, strict=True):
        ax.annotate(
            labels[c],
            centres[c],
            spot,
            ha="center",
            va="center",
            fontsize=9,
            fontweight="bold",
            bbox={
                "boxstyle": "round,pad=0.15",
                "fc": "white",
                "ec": "0.4",
                "lw": 0.5,
                "alpha": 0.9,
            },
            arrowprops={"arrowstyle": "-", "lw": 0.8, "color": "0.2", "shrinkA": 0, "shrinkB": 0},
        )


def spread(points: FloatArray, room: FloatArray) -> FloatArray:
    """Move points apart until the boxes around them do not overlap.

    Parameters
    ----------
    points, room : ndarray, shape (points, 2)
        Middles, and widths and heights, of the boxes.

    Examples
    --------
    >>> spread(np.array([[0.0, 0.0], [0.0, 0.1]]), np.ones((2, 2))).tolist()
    [[0.0, -0.45], [0.0, 0.55]]
    """
    spots = np.array(points, dtype=np.float64)
    for _ in range(500):
        moved = False
        for i in range(len(spots)):
            for j in range(i):
                need = (room[i] + room[j]) / 2
                away = spots[i] - spots[j]
                overlap = need - np.abs(away)
                if (overlap > 1e-9).all():
                    axis = int(np.argmin(overlap / need))
                    push = 0.5 * overlap[axis] * (1 if away[axis] >= 0 else -1)
                    spots[i, axis] += push
                    spots[j, axis] -= push
                    moved = True
        if not moved:
            break
    return spots


@dataclass(frozen=True)
class Fig4Settings(ImageSettings):
    """How much to train and to draw.

    Attributes
    ----------
    shown : int
        Training images that are drawn, in gray.
    neighbours : int
        Of UMAP: how many images an image is kept close to.
    rounds : int
        Of UMAP: how long it moves the images.
    """

    shown: int = 10_000
    neighbours: int = 15
    rounds: int = 200


def run(run: LabRun, settings: Fig4Settings) -> None:
    """Train, look up, place the images, draw."""
    data, missing = load_images(run, settings)
    panels: list[ImagePanel] = []
    places: dict[str, MapPlace] = {}
    for name, found in run.steps(data.items(), "training and placing", len(data)):
        looks = _looks(run, settings, found)
        places[name] = _place(run, settings, found)
        panels += [
            ImagePanel(found, shape, looks[f"hits {shape.name}"], looks[f"right {shape.name}"])
            for shape in SHAPES
        ]
    run.table(
        "images",
        ["data", "image", "class", "x", "y", *(f"cached {shape.name}" for shape in SHAPES)],
        _rows(panels, places),
    )
    draw(run, panels, places)
    summaries = [panel.summary(places[panel.data.name], run) for panel in panels]
    write_tables(run, summaries)
    write_report(run, summaries, missing, settings)


def again(run: LabRun, settings: Fig4Settings, folder: Path) -> None:
    """The report from the tables of an earlier run, with its picture as it was.

    The data sets tell what the images are. The table with a line for every image is not needed.
    """
    data, missing = load_images(run, settings)
    found = read_tables(folder, data)
    run.keep_picture(folder, _PICTURE, _CAPTION)
    write_tables(run, found)
    write_report(run, found, missing, settings)


def _looks(run: LabRun, settings: Fig4Settings, data: DataSet) -> dict[str, NDArray[Any]]:
    """For each shape, which test images are cached and which are classified rightly."""
    shapes = {"shapes": [[shape.layers, shape.neurons] for shape in SHAPES]}
    what = asked(run, settings, data) | shapes
    return run.unit(f"networks {data.name}", what, lambda: _train(run, settings, data))


def _train(run: LabRun, settings: Fig4Settings, data: DataSet) -> dict[str, NDArray[Any]]:
    found: dict[str, NDArray[Any]] = {}
    tasks = [
        TrainingTask(
            shape.sizes(data.x_train.shape[1], len(data.labels)),
            [run.torch_seed(data.name, shape.name)],
            data.x_train,
            data.y_train,
        )
        for shape in SHAPES
    ]

    def finished(part: StackPart, look: CachedCounts) -> None:
        name = SHAPES[part.task].name
        found[f"hits {name}"] = look.hits[0]
        found[f"right {name}"] = look.right[0]

    train_and_look_up(run, settings, data, tasks, finished)
    return found


def _place(run: LabRun, settings: Fig4Settings, data: DataSet) -> MapPlace:
    """Where UMAP puts the test images and some training images."""
    seed = run.torch_seed("umap", data.name)
    count = min(settings.shown, len(data.x_train))
    chosen = np.sort(run.rng("shown", data.name).permutation(len(data.x_train))[:count])
    what = {
        "data": data.checksum,
        "shown": count,
        "neighbours": settings.neighbours,
        "rounds": settings.rounds,
    }

    def compute() -> dict[str, NDArray[Any]]:
        umap = require("umap", extra="lab", why="placing images in the plane")
        images = np.concatenate([data.x_test, data.x_train[chosen]]).astype(np.float32) / 255
        # with a seed UMAP runs in one thread: that is what makes it repeatable
        reducer = umap.UMAP(
            n_neighbors=settings.neighbours,
            n_epochs=settings.rounds,
            random_state=seed,
            n_jobs=1,
        )
        return {"points": np.asarray(reducer.fit_transform(images), dtype=np.float32)}

    points = run.unit(f"places {data.name}", what, compute)["points"]
    return MapPlace(points[: len(data.x_test)], points[len(data.x_test) :])


def _rows(panels: list[ImagePanel], places: dict[str, MapPlace]) -> list[list[Any]]:
    rows = []
    for name, place in places.items():
        own = [panel for panel in panels if panel.data.name == name]
        for i, (x, y) in enumerate(place.test):
            label = own[0].data.labels[own[0].data.y_test[i]]
            hits = (int(panel.hits[i]) for panel in own)
            rows.append([name, i, label, f"{x:.3f}", f"{y:.3f}", *hits])
    return rows


EXPERIMENT = Experiment(
    name="fig4",
    title="Figure 4: test images in the regions of training images",
    run=run,
    full=Fig4Settings(),
    quick=Fig4Settings(epochs=1, train=6400, test=1000, shown=1000, rounds=100),
    again=again,
)
