"""What Table 2 and Figure 4 share: training on images, and looking up what is cached."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tropicell.lab.caching import Cached, cached
from tropicell.lab.data import DATA_SETS, DataSet, load_available
from tropicell.lab.run import Run
from tropicell.lab.trained import train_in
from tropicell.lab.training import Part, Schedule, Task


@dataclass(frozen=True)
class ImageSettings:
    """How much to train, and with which images.

    Attributes
    ----------
    epochs : int
    batch_size : int
    learning_rate : float
    train, test : int, optional
        Use only so many images of each data set.
    data_sets : tuple of str
    """

    epochs: int = 5
    batch_size: int = 64
    learning_rate: float = 5e-4
    train: int | None = None
    test: int | None = None
    data_sets: tuple[str, ...] = DATA_SETS


def load_images(run: Run, settings: ImageSettings) -> tuple[dict[str, DataSet], list[str]]:
    """Those data sets that are there, and for the others what was expected."""
    data, missing = load_available(
        settings.data_sets,
        run.options.data,
        fetch=run.options.download,
        progress=run.shows_progress,
    )
    return {
        name: found.first(settings.train, settings.test) for name, found in data.items()
    }, missing


def asked(run: Run, settings: ImageSettings, data: DataSet) -> dict[str, Any]:
    """What the networks trained on a data set depend on, besides their shapes and seeds."""
    return {
        "data": data.checksum,
        "epochs": settings.epochs,
        "batch_size": settings.batch_size,
        "learning_rate": settings.learning_rate,
        "device": run.options.device,
    }


def train_and_look_up(
    run: Run,
    settings: ImageSettings,
    data: DataSet,
    tasks: Sequence[Task],
    finished: Callable[[Part, Cached], None],
) -> None:
    """Train, and hand over each stack of networks with the test examples that are cached."""

    def look_up(part: Part) -> None:
        finished(part, cached(part.stack, data.x_train, data.y_train, data.x_test, data.y_test))

    schedule = Schedule(
        settings.epochs,
        settings.learning_rate,
        "cross-entropy",
        settings.batch_size,
        losses=False,
    )
    train_in(run, tasks, schedule, look_up)
