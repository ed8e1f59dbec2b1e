"""Training whose finished networks are kept: an interrupted experiment goes on where it was."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell.lab.run import Run
from tropicell.lab.store import Arrays
from tropicell.lab.training import Part, Schedule, Task, train
from tropicell.network.network import Network


@dataclass(frozen=True, eq=False)
class Job:
    """Networks of one shape that learn the same.

    Attributes
    ----------
    name : str
    task : Task
        Network i of it is kept by its own.
    settings : mapping
        What the task's examples are, in words and numbers.
    """

    name: str
    task: Task
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


def trained(run: Run, jobs: Sequence[Job], schedule: Schedule) -> list[Trained]:
    """Train what is not finished yet, all of it together, and give everything.

    Parameters
    ----------
    run : Run
    jobs : sequence of Job
    schedule : Schedule
        With its checkpoints.
    """
    kept = [
        [run.store.get(job.unit(i), job.asked(schedule, i)) for i in range(len(job.task.seeds))]
        for job in jobs
    ]
    missing = [[i for i, found in enumerate(row) if found is None] for row in kept]
    todo = [j for j, rows in enumerate(missing) if rows]
    clock = _Clock()

    def finished(part: Part) -> None:
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
    run: Run, tasks: Sequence[Task], schedule: Schedule, finished: Callable[[Part], None]
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


class _Clock:
    """How long each thread worked since it was last asked, or since the start."""

    def __init__(self) -> None:
        self._start = time.perf_counter()
        self._last: dict[int, float] = {}

    def lap(self) -> float:
        now, thread = time.perf_counter(), threading.get_ident()
        passed = now - self._last.get(thread, self._start)
        self._last[thread] = now
        return passed


def _arrays(part: Part, place: int) -> Arrays:
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


def _trained(task: Task, found: Sequence[Arrays]) -> Trained:
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
