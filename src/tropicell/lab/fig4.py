"""Figure 4: which test images lie in a region that also holds a training image, drawn.

One network of each of three shapes is trained on each of three data sets, as for Table 2, without
skip connections. UMAP places the images in the plane; it knows nothing of networks or classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell.errors import require
from tropicell.lab.data import DataSet
from tropicell.lab.run import Experiment, LabRun, literal
from tropicell.lab.table2 import SHAPES, ClassifierShape
from tropicell.lab.texts import figure
from tropicell.lab.trained import (
    CachedCounts,
    ImageSettings,
    asked,
    load_images,
    train_and_look_up,
)
from tropicell.lab.training import StackPart, TrainingTask

# --- what is said and drawn about Figure 4 --------------------------------------------------------

_CACHED, _UNCACHED, _TRAINING = "#2166ac", "#d6302b", "#c9c9c9"


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

    def shares(self) -> FloatArray:
        """Share of cached test images of each class."""
        y = self.data.y_test
        return np.array(
            [self.hits[y == c].mean() if (y == c).any() else np.nan for c in self.classes]
        )

    @property
    def classes(self) -> range:
        """The classes."""
        return range(len(self.data.labels))


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


def write_report(
    run: LabRun,
    panels: Sequence[ImagePanel],
    places: Mapping[str, MapPlace],
    missing: Sequence[str],
    epochs: int,
) -> None:
    """What the pictures show, in numbers."""
    run.report.text(
        "Blue test images lie in the same linear region of a trained network as some training "
        "image (they are *cached*), red ones do not. Training images are gray. Names of the "
        "classes stand at, or are tied to, the mean of their test images. UMAP placed the images "
        "by their pixels alone, so the three pictures of a row differ in nothing but colour."
    )
    _overview(run, panels, places)
    run.report.heading("Classes")
    for name in places:
        _classes(run, [panel for panel in panels if panel.data.name == name])
    run.report.heading("The data and the training")
    notes = [f"{_of(panels, name).origin}." for name in places]
    if missing:
        notes.append(f"Left out: {literal('; '.join(missing))}.")
    notes.append(
        f"{epochs} epoch{'' if epochs == 1 else 's'} of Adam as for Table 2, networks without "
        "skip connections. "
        + "; ".join(
            f"{_of(panels, name).title}: {len(place.test)} test images and {len(place.train)} "
            "of the training images are drawn"
            for name, place in places.items()
        )
        + "; all training images count for the cache."
    )
    run.report.bullets(notes)


def _of(panels: Sequence[ImagePanel], name: str) -> DataSet:
    return next(panel.data for panel in panels if panel.data.name == name)


def _overview(run: LabRun, panels: Sequence[ImagePanel], places: Mapping[str, MapPlace]) -> None:
    rows = []
    for panel in panels:
        away = places[panel.data.name].distances(panel.data)
        found = {
            "cached": panel.hits.mean(),
            "accuracy": panel.right.mean(),
            "accuracy_cached": _mean(panel.right[panel.hits]),
            "accuracy_uncached": _mean(panel.right[~panel.hits]),
            "distance_cached": _mean(away[panel.hits]),
            "distance_uncached": _mean(away[~panel.hits]),
        }
        run.numbers[f"{panel.data.name} {panel.shape.name}"] = found | {
            "cached_by_class": dict(zip(panel.data.labels, panel.shares(), strict=True))
        }
        shares = [_share(found[key]) for key in list(found)[:4]]
        ways = [_number(found[key]) for key in list(found)[4:]]
        rows.append([panel.name, *shares, *ways])
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
    compared = [
        found
        for panel in panels
        if (found := run.numbers[f"{panel.data.name} {panel.shape.name}"])
        and np.isfinite([found["distance_cached"], found["distance_uncached"]]).all()
    ]
    nearer = sum(found["distance_cached"] < found["distance_uncached"] for found in compared)
    better = sum(found["accuracy_cached"] > found["accuracy_uncached"] for found in compared)
    run.report.text(
        f"Cached images lie nearer to the mean of their class in {nearer} of the {len(compared)} "
        "networks that have both kinds, as the paper observes, and are classified rightly more "
        f"often in {better} of them."
    )


def _classes(run: LabRun, panels: Sequence[ImagePanel]) -> None:
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
    run.picture(
        made,
        "cached-images",
        "UMAP pictures of the test images. Blue: a training image lies in the same region. Red: "
        "none does. Gray: training images.",
    )


def _panel(ax: Any, panel: ImagePanel, place: MapPlace, run: LabRun) -> None:
    low, high = _frame(place)
    ax.scatter(*place.train.T, s=0.6, color=_TRAINING, linewidths=0, rasterized=True)
    # in a random order, so that neither colour hides the other
    order = run.rng("order", panel.name).permutation(len(place.test))
    colors = np.where(panel.hits, _CACHED, _UNCACHED)[order]
    size = 2.2 if len(order) > 4000 else 5
    ax.scatter(*place.test[order].T, s=size, c=colors, linewidths=0, alpha=0.7, rasterized=True)
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
    write_report(run, panels, places, missing, settings.epochs)


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
)
