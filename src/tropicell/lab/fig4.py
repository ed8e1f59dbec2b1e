"""Figure 4: which test images lie in a region that also holds a training image, drawn.

One network of each of three shapes is trained on each of three data sets, as for Table 2, without
skip connections. UMAP places the images in the plane; it knows nothing of networks or classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell.errors import require
from tropicell.lab.caching import Cached
from tropicell.lab.data import DataSet
from tropicell.lab.fig4_report import Panel, Place, draw, write_report
from tropicell.lab.image_classifiers import (
    ImageSettings,
    asked,
    load_images,
    train_and_look_up,
)
from tropicell.lab.run import Experiment, Run
from tropicell.lab.table2_results import SHAPES
from tropicell.lab.training import Part, Task


@dataclass(frozen=True)
class Settings(ImageSettings):
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


def run(run: Run, settings: Settings) -> None:
    """Train, look up, place the images, draw."""
    data, missing = load_images(run, settings)
    panels: list[Panel] = []
    places: dict[str, Place] = {}
    for name, found in run.steps(data.items(), "training and placing", len(data)):
        looks = _looks(run, settings, found)
        places[name] = _place(run, settings, found)
        panels += [
            Panel(found, shape, looks[f"hits {shape.name}"], looks[f"right {shape.name}"])
            for shape in SHAPES
        ]
    run.table(
        "images",
        ["data", "image", "class", "x", "y", *(f"cached {shape.name}" for shape in SHAPES)],
        _rows(panels, places),
    )
    draw(run, panels, places)
    write_report(run, panels, places, missing, settings.epochs)


def _looks(run: Run, settings: Settings, data: DataSet) -> dict[str, NDArray[Any]]:
    """For each shape, which test images are cached and which are classified rightly."""
    shapes = {"shapes": [[shape.layers, shape.neurons] for shape in SHAPES]}
    what = asked(run, settings, data) | shapes
    return run.unit(f"networks {data.name}", what, lambda: _train(run, settings, data))


def _train(run: Run, settings: Settings, data: DataSet) -> dict[str, NDArray[Any]]:
    found: dict[str, NDArray[Any]] = {}
    tasks = [
        Task(
            shape.sizes(data.x_train.shape[1], len(data.labels)),
            [run.torch_seed(data.name, shape.name)],
            data.x_train,
            data.y_train,
        )
        for shape in SHAPES
    ]

    def finished(part: Part, look: Cached) -> None:
        name = SHAPES[part.task].name
        found[f"hits {name}"] = look.hits[0]
        found[f"right {name}"] = look.right[0]

    train_and_look_up(run, settings, data, tasks, finished)
    return found


def _place(run: Run, settings: Settings, data: DataSet) -> Place:
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
    return Place(points[: len(data.x_test)], points[len(data.x_test) :])


def _rows(panels: list[Panel], places: dict[str, Place]) -> list[list[Any]]:
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
    full=Settings(),
    quick=Settings(epochs=1, train=6400, test=1000, shown=1000, rounds=100),
)
