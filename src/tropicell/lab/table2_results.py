"""Table 2 as published, and as measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell.lab.statistics import (
    RankTest,
    Summary,
    mann_whitney,
    standardised_difference,
    summary,
)

#: Networks of each kind in the paper.
PAPER_NETWORKS = 50

KINDS = ("with", "without")

#: Accuracy (%), cached test examples, regions with training examples.
QUANTITIES = ("accuracy", "cached", "regions")

#: The quantities by name, with a value for every network.
Sample = dict[str, NDArray[np.float64]]


@dataclass(frozen=True)
class Shape:
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


SMALL = Shape(4, 8, ((1, 3), (2, 4)))
MEDIUM = Shape(3, 16, ((1, 3),))
LARGE = Shape(3, 32, ((1, 3),))
SHAPES = (SMALL, MEDIUM, LARGE)


@dataclass(frozen=True)
class Row:
    """A row of the table as it was published; pairs are with and without skips.

    Attributes
    ----------
    data : str
        Name of the data set.
    shape : Shape
    accuracy : (float, float)
        Mean, in per cent.
    cached : (float, float)
        Mean number of cached test examples.
    u, p : float
        Of the Mann-Whitney test.
    """

    data: str
    shape: Shape
    accuracy: tuple[float, float]
    cached: tuple[float, float]
    u: float
    p: float

    @property
    def name(self) -> str:
        """Data set and shape."""
        return f"{self.data} {self.shape.name}"


PUBLISHED = (
    Row("mnist", SMALL, (83.8, 78.7), (9966.4, 9970.0), 1245.5, 0.489),
    Row("mnist", MEDIUM, (91.8, 91.3), (9211.6, 9349.2), 997.5, 0.041),
    Row("mnist", LARGE, (94.4, 93.9), (2140.3, 3200.6), 397.5, 2.1e-9),
    Row("cifar10", SMALL, (30.3, 29.2), (8965.6, 9125.4), 850.5, 3.0e-3),
    Row("cifar10", MEDIUM, (35.8, 35.2), (1702.2, 2436.5), 314.0, 5.6e-11),
    Row("cifar10", LARGE, (39.0, 39.0), (4.1, 7.3), 485.0, 5.7e-8),
    Row("svhn", SMALL, (52.5, 48.8), (24806.9, 24982.8), 877.0, 5.1e-3),
    Row("svhn", MEDIUM, (64.9, 63.4), (10273.2, 12532.9), 304.5, 3.6e-11),
    Row("svhn", LARGE, (72.6, 71.6), (87.3, 174.7), 289.5, 1.8e-11),
)


@dataclass(frozen=True)
class Comparison:
    """What was measured for a row; pairs are with and without skips."""

    row: Row
    accuracy: tuple[Summary, Summary]
    cached: tuple[Summary, Summary]
    regions: tuple[Summary, Summary]
    test: RankTest
    power: float

    @classmethod
    def of(cls, row: Row, samples: dict[str, Sample], power: float) -> Comparison:
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
        for quantity in QUANTITIES:
            for kind, sample in zip(KINDS, getattr(self, quantity), strict=True):
                found[f"{quantity}_{kind}"] = sample.mean
                found[f"{quantity}_{kind}_error"] = sample.error
        return found | {
            "u": self.test.u,
            "p": self.test.p,
            "reject": self.test.reject,
            "power": self.power,
        }
