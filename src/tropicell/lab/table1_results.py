"""Table 1 as published, and as measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell.lab.random_networks import random_network
from tropicell.lab.statistics import (
    GammaFit,
    RankTest,
    Summary,
    gamma_fit,
    mann_whitney,
    ratio_of_means,
    standardised_difference,
    summary,
)
from tropicell.network.network import Network

Counts = NDArray[np.int64]

#: Networks of each kind in the paper.
PAPER_NETWORKS = 50

KINDS = ("with", "without")


@dataclass(frozen=True)
class Row:
    """A row of the table as it was published; pairs are with and without skips."""

    layers: int
    neurons: int
    skips: tuple[tuple[int, int], ...]
    ks: tuple[float, float]
    means: tuple[float, float]
    u: float
    p: float

    @property
    def name(self) -> str:
        """Layers × neurons."""
        return f"{self.layers}×{self.neurons}"

    def network(self, kind: str, rng: np.random.Generator) -> Network:
        """A random network of the row, with or without its skips."""
        sizes = [2, *[self.neurons] * self.layers, 1]
        return random_network(sizes, rng, skips=self.skips if kind == "with" else ())


PUBLISHED = (
    Row(6, 5, ((1, 3), (2, 4), (3, 5)), (0.960, 0.830), (206.8, 117.7), 2237.5, 1.0e-11),
    Row(6, 4, ((1, 3), (2, 4), (3, 5)), (0.925, 0.737), (111.6, 62.2), 2161.5, 3.4e-10),
    Row(5, 4, ((1, 3), (2, 5)), (0.801, 0.709), (96.7, 53.3), 2242.0, 8.1e-12),
    Row(4, 4, ((1, 3), (2, 5)), (0.849, 0.984), (71.5, 53.5), 1804.5, 1.3e-4),
    Row(3, 6, ((1, 3),), (0.815, 0.665), (137.6, 115.7), 1711.5, 1.5e-3),
    Row(3, 4, ((1, 3),), (0.810, 0.992), (52.3, 42.4), 1728.0, 9.9e-4),
)


@dataclass(frozen=True)
class Comparison:
    """The regions of networks with and without skips, and the tests."""

    with_: Summary
    without: Summary
    fits: tuple[GammaFit, GammaFit]
    test: RankTest

    @classmethod
    def of(cls, counts: dict[str, Counts]) -> Comparison:
        """All statistics of two samples."""
        a, b = (counts[kind] for kind in KINDS)
        return cls(summary(a), summary(b), (gamma_fit(a), gamma_fit(b)), mann_whitney(a, b))

    @property
    def ratio(self) -> tuple[float, float]:
        """Mean with skips over mean without, and its standard error."""
        return ratio_of_means(self.with_, self.without)

    def z(self, row: Row) -> tuple[float, float]:
        """Standardised differences from the published means, with and without skips."""
        a, b = (
            standardised_difference(sample, mean, PAPER_NETWORKS)
            for sample, mean in zip((self.with_, self.without), row.means, strict=True)
        )
        return a, b

    def numbers(self) -> dict[str, Any]:
        """Everything, for scripts."""
        return {
            "networks": self.with_.n,
            "mean_with": self.with_.mean,
            "error_with": self.with_.error,
            "mean_without": self.without.mean,
            "error_without": self.without.error,
            "ks_with": self.fits[0].p,
            "ks_without": self.fits[1].p,
            "u": self.test.u,
            "p": self.test.p,
            "reject": self.test.reject,
        }


@dataclass(frozen=True)
class Results:
    """All that was measured, by the rows' names.

    Attributes
    ----------
    counts, counts_plane : dict
        Regions of every network with and without skips, in the box and over R².
    box, plane : dict
        Their statistics.
    power : dict
        How often the paper's number of networks would reject the row's null hypothesis.
    """

    counts: dict[str, dict[str, Counts]]
    counts_plane: dict[str, dict[str, Counts]]
    power: dict[str, float]
    box: dict[str, Comparison]
    plane: dict[str, Comparison]

    @classmethod
    def of(
        cls,
        counts: dict[str, dict[str, Counts]],
        counts_plane: dict[str, dict[str, Counts]],
        power: dict[str, float],
    ) -> Results:
        """The statistics of counts."""
        box = {name: Comparison.of(both) for name, both in counts.items()}
        plane = {name: Comparison.of(both) for name, both in counts_plane.items()}
        return cls(counts, counts_plane, power, box, plane)
