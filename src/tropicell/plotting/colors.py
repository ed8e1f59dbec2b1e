"""Colours for regions: the same in every run, different for neighbours."""

from __future__ import annotations

from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from tropicell.analysis.graph import single_flips
from tropicell.regions.regions import Regions

#: Light, muted, and told apart with any kind of colour vision; more are taken from around it.
PALETTE = (
    "#8dbbdc",
    "#f6c177",
    "#a3cfa0",
    "#e79a94",
    "#c3aed6",
    "#f3e39b",
    "#94d2cc",
    "#d9bfa9",
    "#b9c4cf",
    "#f2b5d0",
)

#: More facets than this at which several neurons change, and they are not looked behind: that
#: takes exact arithmetic, and a picture should not wait for it.
_MOST_SHARED = 200


def color_numbers(regions: Regions) -> NDArray[np.int64]:
    """A number for every region, such that neighbours have different ones.

    Notes
    -----
    Regions take, in the order of their patterns, a number that none of their neighbours has yet,
    chosen among the ten of `PALETTE` by a checksum of the pattern. Neither the order in which the
    regions were found nor the run changes it. Linear in the number of pairs of neighbours. Where
    hundreds of facets belong to several neurons at once, regions on both sides of one may have the
    same number.

    Examples
    --------
    >>> from tropicell import Network, enumerate_regions
    >>> regions = enumerate_regions(Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]]))
    >>> numbers = color_numbers(regions)
    >>> any(numbers[i] == numbers[j] for i, j in regions.neighbours.pairs)
    False
    """
    words = regions.packed.words
    beside: list[list[int]] = [[] for _ in range(len(regions))]
    for i, j in _pairs(regions):
        beside[i].append(j)
        beside[j].append(i)
    numbers = np.full(len(regions), -1, dtype=np.int64)
    for i in np.lexsort(words.T).tolist():
        taken = {int(numbers[j]) for j in beside[i]}
        free = [k for k in range(len(PALETTE)) if k not in taken]
        if free:
            numbers[i] = free[crc32(words[i].tobytes()) % len(free)]
        else:
            numbers[i] = next(k for k in range(len(PALETTE), len(regions) + 1) if k not in taken)
    return numbers


def _pairs(regions: Regions) -> list[list[int]]:
    owner, _, other = single_flips(regions)
    found = other >= 0
    if (~found).sum() <= _MOST_SHARED:
        pairs: list[list[int]] = regions.neighbours.pairs.tolist()
        return pairs
    quick: list[list[int]] = np.stack([owner[found], other[found]], axis=1).tolist()
    return quick


def color_names(numbers: NDArray[np.int64]) -> list[str]:
    """Colours of numbers; those beyond the palette are shades of grey."""
    greys = [f"{0.45 + 0.4 * ((k * 0.618) % 1):.3f}" for k in range(int(numbers.max(initial=0)))]
    names = [*PALETTE, *greys]
    return [names[k] for k in numbers.tolist()]
