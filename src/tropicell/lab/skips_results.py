"""What was counted for the experiment on skip connections."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tropicell.lab.random_networks import Initialisation
from tropicell.lab.statistics import paired_ratio

Counts = NDArray[np.int64]

#: The box of the paper's Table 1.
PAPER_RADIUS = 10.0


@dataclass(frozen=True)
class Cell:
    """One entry of the grid."""

    initialisation: Initialisation
    width: int
    depth: int
    skips: str

    @property
    def key(self) -> tuple[str, int, int, str]:
        """What tells it from others."""
        return self.initialisation, self.width, self.depth, self.skips

    @property
    def name(self) -> str:
        """The same as text."""
        return f"{self.initialisation} {self.depth}x{self.width} {self.skips}"


@dataclass(frozen=True)
class Results:
    """All counts.

    Attributes
    ----------
    radii : tuple of float
    counts : dict from Cell
        Shape (radii + 1, networks), the last row is for R².
    layers : dict from Cell
        Shape (2, layers, networks): after the first layers, in the paper's box and over R².
    """

    radii: tuple[float, ...]
    counts: dict[Cell, Counts]
    layers: dict[Cell, Counts]

    @property
    def widths(self) -> list[int]:
        """All widths, smallest first."""
        return sorted({cell.width for cell in self.counts})

    def widths_of(self, initialisation: Initialisation) -> list[int]:
        """The widths that were counted with an initialisation."""
        return sorted({c.width for c in self.counts if c.initialisation == initialisation})

    @property
    def depths(self) -> list[int]:
        """All depths, smallest first."""
        return sorted({cell.depth for cell in self.counts})

    @property
    def networks(self) -> int:
        """Draws of weights in a cell."""
        return int(next(iter(self.counts.values())).shape[1])

    def row(self, where: str) -> int:
        """The row of counts for ``"box"``, the paper's, or ``"plane"``."""
        return -1 if where == "plane" else self.radii.index(PAPER_RADIUS)

    def ratio(self, cell: Cell, where: str) -> tuple[float, float]:
        """Regions with these skips over regions without, same weights, and the standard error."""
        row = self.row(where)
        return paired_ratio(self.counts[cell][row], self.counts[_plain(cell)][row])

    def log_ratios(self, cell: Cell, where: str) -> NDArray[np.float64]:
        """For every draw of weights log2 of its regions with skips over those without."""
        row = self.row(where)
        ratios: NDArray[np.float64] = np.log2(
            self.counts[cell][row] / self.counts[_plain(cell)][row]
        )
        return ratios

    def half_radius(self, cell: Cell) -> float:
        """The radius of the box that holds half of all regions, on average (interpolated).

        nan if the smallest box holds more, or the largest less.
        """
        means = self.counts[cell].mean(axis=1)
        shares = means[:-1] / means[-1]
        if shares[0] > 0.5 or shares[-1] < 0.5:
            return float("nan")
        return float(10 ** np.interp(0.5, shares, np.log10(self.radii)))


def _plain(cell: Cell) -> Cell:
    return Cell(cell.initialisation, cell.width, cell.depth, "none")
