"""What floating point with error bounds can prove about regions, all at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell.columns import Ragged

if TYPE_CHECKING:
    from tropicell.regions import Regions


class Filtered(NamedTuple):
    """Regions that are proved, with the columns of their proofs.

    Attributes
    ----------
    proved : ndarray of bool
        Which regions; what the other columns say about the rest means nothing.
    facets, neighbours, bases : Ragged, ndarray, Ragged
        As in `tropicell.certificate.RegionProofs`.
    signs : int
        Signs that were decided.
    """

    proved: NDArray[np.bool_]
    facets: Ragged
    neighbours: NDArray[np.int64]
    bases: Ragged
    signs: int

    @classmethod
    def nothing(cls, count: int, dimension: int) -> Filtered:
        """No region is proved."""
        ends = np.zeros(count, dtype=np.int64)
        none = np.empty(0, dtype=np.int64)
        bases = Ragged(np.empty((0, dimension), dtype=np.int64), ends)
        return cls(np.zeros(count, dtype=np.bool_), Ragged(none, ends), none, bases, 0)


def filter_regions(regions: Regions, workers: int) -> Filtered:
    """Prove as many regions as floating point can."""
    return Filtered.nothing(len(regions), regions.network.n_inputs)
