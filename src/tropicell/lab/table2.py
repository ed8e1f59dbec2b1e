"""Table 2: test examples that are cached, with and without skip connections.

The paper trains 50 networks of both kinds for each of three shapes on each of three data sets. A
test example is cached if a training example lies in the same region. What the paper does not say,
its numbers tell: pixels are scaled to [-1, 1], batches have 64 examples, all images are gray, and
the initialisation is PyTorch's own.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np

from tropicell.lab.caching import Cached
from tropicell.lab.data import DataSet
from tropicell.lab.image_classifiers import (
    ImageSettings,
    asked,
    load_images,
    train_and_look_up,
)
from tropicell.lab.run import Experiment, Run
from tropicell.lab.statistics import power
from tropicell.lab.table2_report import draw, write_report
from tropicell.lab.table2_results import (
    KINDS,
    PAPER_NETWORKS,
    PUBLISHED,
    QUANTITIES,
    Comparison,
    Row,
    Sample,
)
from tropicell.lab.training import Part, Task

#: Networks of each kind in a unit of work: what is finished with fewer serves with more of them.
_UNIT = 25


@dataclass(frozen=True)
class Settings(ImageSettings):
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


def run(run: Run, settings: Settings) -> None:
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
    write_report(run, results, data, missing, settings.epochs)
    draw(run, results, samples, {name: found.title for name, found in data.items()})


def _joined(parts: list[dict[str, Any]]) -> dict[str, Sample]:
    return {
        kind: {
            quantity: np.concatenate([part[f"{quantity} {kind}"] for part in parts])
            for quantity in QUANTITIES
        }
        for kind in KINDS
    }


def _unit(run: Run, settings: Settings, row: Row, data: DataSet, networks: range) -> dict[str, Any]:
    """Accuracies and cached examples of some networks of a row, with and without skips."""
    what = asked(run, settings, data) | {
        "shape": [row.shape.layers, row.shape.neurons, row.shape.skips],
        "networks": [networks.start, networks.stop],
    }
    name = f"{row.data} {row.shape.layers}x{row.shape.neurons} {networks.start}"
    return run.unit(name, what, lambda: _measure(run, settings, row, data, networks))


def _measure(
    run: Run, settings: Settings, row: Row, data: DataSet, networks: range
) -> dict[str, Any]:
    sizes = row.shape.sizes(data.x_train.shape[1], len(data.labels))
    tasks = [
        Task(
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

    def finished(part: Part, look: Cached) -> None:
        kind, place = KINDS[part.task], slice(part.networks.start, part.networks.stop)
        with writing:
            found[f"accuracy {kind}"][place] = 100 * look.right.mean(axis=1)
            found[f"cached {kind}"][place] = look.hits.sum(axis=1)
            found[f"regions {kind}"][place] = look.regions

    train_and_look_up(run, settings, data, tasks, finished)
    return found


def _comparison(run: Run, settings: Settings, row: Row, samples: dict[str, Sample]) -> Comparison:
    chance = power(
        samples["with"]["cached"],
        samples["without"]["cached"],
        PAPER_NETWORKS,
        run.rng("power", row.name),
        tail="less",
        trials=settings.trials,
    )
    return Comparison.of(row, samples, chance)


def _write_files(
    run: Run, results: list[Comparison], samples: dict[str, dict[str, Sample]]
) -> None:
    """Every network and the statistics of every row, for scripts."""
    run.table(
        "networks",
        ["row", "skips", "network", "accuracy", "cached", "regions with training examples"],
        [
            [name, kind, index, *values]
            for name, both in samples.items()
            for kind in KINDS
            for index, values in enumerate(
                zip(*(both[kind][quantity] for quantity in QUANTITIES), strict=True)
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
    full=Settings(),
    quick=Settings(networks=6, epochs=1, train=6400, test=2000, trials=500),
)
