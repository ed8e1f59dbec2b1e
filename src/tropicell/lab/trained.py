"""Training whose finished networks are kept: an interrupted experiment goes on where it was."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropicell.lab.data import DATA_SETS, DataSet, load_available
from tropicell.lab.run import Arrays, LabRun
from tropicell.lab.training import Examples, Schedule, Stack, StackPart, TrainingTask, torch, train
from tropicell.network.network import Network
from tropicell.network.patterns import PatternArray
from tropicell.regions.columns import PackedPatterns

# --- which test examples are cached: their pattern also occurs among the training examples --------


@dataclass(frozen=True, eq=False)
class CachedCounts:
    """What the networks of a stack do with a data set.

    Attributes
    ----------
    hits : ndarray of bool, shape (networks, test examples)
        Whether the example lies in a region that also holds a training example.
    right : ndarray of bool, shape (networks, test examples)
        Whether its class is predicted.
    regions : ndarray of int64, shape (networks,)
        Regions that hold training examples.
    """

    hits: NDArray[np.bool_]
    right: NDArray[np.bool_]
    regions: NDArray[np.int64]


def cached(
    stack: Stack,
    x_train: ArrayLike,
    y_train: ArrayLike,
    x_test: ArrayLike,
    y_test: ArrayLike,
) -> CachedCounts:
    """Look up the patterns of test examples among those of training examples.

    Patterns are those of the networks in the precision in which they were trained.

    Parameters
    ----------
    stack : Stack
    x_train, y_train, x_test, y_test : array_like
        As for `tropicell.lab.training.Task`.

    Returns
    -------
    CachedCounts

    Examples
    --------
    >>> stack = Stack([1, 2, 2], [], 1)
    >>> stack.weights[0][0] = torch.tensor([[1.0], [-1.0]])
    >>> found = cached(stack, [[1.0], [2.0]], [0, 0], [[3.0], [-3.0]], [0, 1])
    >>> found.hits, found.regions
    (array([[ True, False]]), array([1]))
    """
    known, _ = _look(stack, x_train, y_train)
    asked, right = _look(stack, x_test, y_test)
    hits, regions = [], []
    for patterns, queries in zip(known, asked, strict=True):
        packed = PackedPatterns.pack(patterns, 1)
        hits.append(packed.find(queries) >= 0)
        # of equal patterns the first is found, so every region is found once
        regions.append(np.count_nonzero(packed.find(patterns) == np.arange(len(patterns))))
    return CachedCounts(np.array(hits), right, np.array(regions, np.int64))


def _look(stack: Stack, x: ArrayLike, y: ArrayLike) -> tuple[PatternArray, NDArray[np.bool_]]:
    """Patterns (networks, examples, neurons), and whether the prediction is right."""
    examples = Examples.of(x, y, stack.sizes, stack.count, "cross-entropy")
    examples = examples.on(stack, range(stack.count))
    patterns = np.empty((stack.count, len(examples), sum(stack.sizes[1:-1])), np.uint8)
    right = np.empty(patterns.shape[:2], np.bool_)
    start = 0
    for inputs, targets in examples.chunks():
        values = stack.forward(inputs)
        part = slice(start, start + len(inputs))
        active = torch.cat([layer > 0 for layer in values.layers[1:]], dim=1)
        patterns[:, part] = active.mT.cpu().numpy()
        right[:, part] = (values.outputs.argmax(dim=1) == targets).cpu().numpy()
        start = part.stop
    return patterns, right


@dataclass(frozen=True, eq=False)
class ClassifierJob:
    """Networks of one shape that learn the same.

    Attributes
    ----------
    name : str
    task : TrainingTask
        Network i of it is kept by its own.
    settings : mapping
        What the task's examples are, in words and numbers.
    """

    name: str
    task: TrainingTask
    settings: Mapping[str, Any]

    def unit(self, index: int) -> str:
        """The name of one network's unit."""
        return f"{self.name} network {index}"

    def asked(self, schedule: Schedule, index: int) -> dict[str, Any]:
        """Everything that one network depends on."""
        return {
            "examples": dict(self.settings),
            "sizes": self.task.sizes,
            "skips": self.task.skips,
            "seed": self.task.seeds[index],
            "epochs": schedule.epochs,
            "learning rate": schedule.learning_rate,
            "loss": schedule.loss,
            "batch": schedule.batch_size,
            "checkpoints": schedule.checkpoints,
        }


@dataclass(frozen=True, eq=False)
class Trained:
    """The networks of a job.

    Attributes
    ----------
    networks : list of lists of Network
        ``networks[c][i]`` is network i at checkpoint c.
    train_loss, test_loss : ndarray, shape (checkpoints, networks)
    """

    networks: list[list[Network]]
    train_loss: NDArray[np.float64]
    test_loss: NDArray[np.float64]


def trained(run: LabRun, jobs: Sequence[ClassifierJob], schedule: Schedule) -> list[Trained]:
    """Train what is not finished yet, all of it together, and give everything.

    Parameters
    ----------
    run : LabRun
    jobs : sequence of ClassifierJob
    schedule : Schedule
        With its checkpoints.
    """
    kept = [
        [run.store.get(job.unit(i), job.asked(schedule, i)) for i in range(len(job.task.seeds))]
        for job in jobs
    ]
    missing = [[i for i, found in enumerate(row) if found is None] for row in kept]
    todo = [j for j, rows in enumerate(missing) if rows]
    clock = _TrainingClock()

    def finished(part: StackPart) -> None:
        j = todo[part.task]
        seconds = clock.lap() / len(part.networks)
        for place, index in enumerate(part.networks):
            i = missing[j][index]
            arrays = _arrays(part, place) | {"seconds": np.array(seconds)}
            run.store.put(jobs[j].unit(i), jobs[j].asked(schedule, i), arrays)
            kept[j][i] = arrays

    if todo:
        tasks = [
            replace(jobs[j].task, seeds=[jobs[j].task.seeds[i] for i in missing[j]]) for j in todo
        ]
        train_in(run, tasks, schedule, finished)
    run.computed += sum(map(len, missing))
    for row, absent in zip(kept, missing, strict=True):
        for i, found in enumerate(row):
            if i not in absent and found is not None:
                run.reuse(found)
    return [
        _trained(job.task, [found for found in row if found is not None])
        for job, row in zip(jobs, kept, strict=True)
    ]


def train_in(
    run: LabRun,
    tasks: Sequence[TrainingTask],
    schedule: Schedule,
    finished: Callable[[StackPart], None],
) -> None:
    """Train where and as a run says; `finished` gets stacks as they are done."""
    train(
        tasks,
        schedule,
        device=run.options.device,
        workers=run.options.workers,
        progress=run.shows_progress,
        finished=finished,
    )


class _TrainingClock:
    """How long each thread worked since it was last asked, or since the start."""

    def __init__(self) -> None:
        self._start = time.perf_counter()
        self._last: dict[int, float] = {}

    def lap(self) -> float:
        now, thread = time.perf_counter(), threading.get_ident()
        passed = now - self._last.get(thread, self._start)
        self._last[thread] = now
        return passed


def _arrays(part: StackPart, place: int) -> Arrays:
    """One network of a stack at all checkpoints."""
    films = [networks[place] for networks in part.training.networks]
    arrays: Arrays = {
        "train_loss": part.training.train_loss[:, place],
        "test_loss": part.training.test_loss[:, place],
    }
    for layer in range(1, films[0].depth + 2):
        parts = [network.affine(layer) for network in films]
        # A skip adds to the layer's input, so all of a layer's matrices are the same.
        arrays[f"weights{layer}"] = np.stack([np.asarray(p.terms[layer - 1]) for p in parts])
        arrays[f"bias{layer}"] = np.stack([p.bias for p in parts])
    return arrays


def _trained(task: TrainingTask, found: Sequence[Arrays]) -> Trained:
    depth = len(task.sizes) - 1
    checkpoints = len(found[0]["train_loss"])
    networks = [
        [
            Network.mlp(
                [arrays[f"weights{layer}"][c] for layer in range(1, depth + 1)],
                [arrays[f"bias{layer}"][c] for layer in range(1, depth + 1)],
                skips=task.skips,
            )
            for arrays in found
        ]
        for c in range(checkpoints)
    ]
    losses = [np.stack([arrays[name] for arrays in found], axis=1) for name in _LOSSES]
    return Trained(networks, losses[0], losses[1])


_LOSSES = ("train_loss", "test_loss")


# --- what Table 2 and Figure 4 share: training on images, and looking up what is cached -----------


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


def load_images(run: LabRun, settings: ImageSettings) -> tuple[dict[str, DataSet], list[str]]:
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


def asked(run: LabRun, settings: ImageSettings, data: DataSet) -> dict[str, Any]:
    """What the networks trained on a data set depend on, besides their shapes and seeds."""
    return {
        "data": data.checksum,
        "epochs": settings.epochs,
        "batch_size": settings.batch_size,
        "learning_rate": settings.learning_rate,
        "device": run.options.device,
    }


def train_and_look_up(
    run: LabRun,
    settings: ImageSettings,
    data: DataSet,
    tasks: Sequence[TrainingTask],
    finished: Callable[[StackPart, CachedCounts], None],
) -> None:
    """Train, and hand over each stack of networks with the test examples that are cached."""

    def look_up(part: StackPart) -> None:
        finished(part, cached(part.stack, data.x_train, data.y_train, data.x_test, data.y_test))

    schedule = Schedule(
        settings.epochs,
        settings.learning_rate,
        "cross-entropy",
        settings.batch_size,
        losses=False,
    )
    train_in(run, tasks, schedule, look_up)
