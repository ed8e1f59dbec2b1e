"""Facets of regions behind which a search with `where` has left out what lies there.

A facet leads to the region in which the neurons that are at a breakpoint on it are on their other
piece. If only one neuron is (with its twins), that region is known by its pattern; if it is not
among the regions of a complete search, the wanted set does not meet it.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.parts import in_parts
from tropicell.network.flat import FlatNetwork, is_tame

if TYPE_CHECKING:
    from tropicell.analysis._flips import FlipLines
    from tropicell.regions.columns import Ragged
    from tropicell.regions.regions import Regions

#: Half-facets that a thread looks at in one go.
_AT_ONCE = 1 << 14


def leads_to_one_flip(
    regions: Regions,
    flat: FlatNetwork,
    flips: FlipLines,
    facets: Ragged,
    some: NDArray[np.int64],
    *,
    workers: int = 1,
) -> NDArray[np.bool_]:
    """Which of some half-facets surely lie on the boundaries of one neuron and its twins alone.

    The row of any other boundary on the region is not a multiple of the facet's, which is proved by
    float64 with bounds on its rounding; False where that does not suffice.

    Parameters
    ----------
    regions : Regions
    flat : FlatNetwork
    flips : FlipLines
    facets : Ragged
        The lines of the facets of each region.
    some : ndarray of int64
        Half-facets, ascending.
    workers : int
        Number of threads.
    """
    from tropicell._runtime.memory import Blueprint  # noqa: PLC0415 - imports Numba
    from tropicell.analysis import _flips  # noqa: PLC0415

    found = np.zeros(len(some), np.bool_)
    if not is_tame(regions.network, regions.domain):
        return found
    words = np.ascontiguousarray(regions.packed.words, dtype=np.uint64)
    owners = np.searchsorted(facets.ends, some, side="right").astype(np.int64)
    lines = np.ascontiguousarray(facets.values[some], dtype=np.int64)
    room = Blueprint(lambda free: _flips.flip_room(flat, words.shape[1], free))
    mine = threading.local()

    def work(part: slice) -> None:
        if not hasattr(mine, "room"):
            mine.room = room.build()
        here = part.start, part.stop, mine.room
        patterns = words, regions.packed.bits
        _flips.alone_on_facets(flat, flips, patterns, (lines, owners), here, found)

    in_parts(work, len(some), workers, _AT_ONCE)
    return found
