"""Colours for regions: the same in every run, different for neighbours."""

from __future__ import annotations

from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell.analysis.graph import single_flips
from tropicell.errors import require
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
    from tropicell.plotting import _coloring as kernels  # noqa: PLC0415 - Numba is slow to import

    words = np.ascontiguousarray(regions.packed.words)
    pairs = _pairs(regions)
    both = np.concatenate([pairs, pairs[:, ::-1]])
    both = both[np.argsort(both[:, 0], kind="stable")]
    starts = np.searchsorted(both[:, 0], np.arange(len(regions) + 1))
    data, size = words.tobytes(), 8 * words.shape[1]
    checksums = [crc32(data[i : i + size]) for i in range(0, len(data), size)]
    numbers = np.full(len(regions), -1, dtype=np.int64)
    most = int(np.diff(starts).max(initial=0))
    kernels.choose(
        np.lexsort(words.T).astype(np.int64),
        starts.astype(np.int64),
        np.ascontiguousarray(both[:, 1]),
        np.array(checksums, dtype=np.int64),
        len(PALETTE),
        np.full(len(PALETTE) + most + 1, -1, dtype=np.int64),
        numbers,
    )
    return numbers


def _pairs(regions: Regions) -> NDArray[np.int64]:
    if regions.known("neighbours") is not None:
        return regions.neighbours.pairs
    owner, _, other = single_flips(regions)
    found = other >= 0
    if (~found).sum() <= _MOST_SHARED:
        return regions.neighbours.pairs
    return np.stack([owner[found], other[found]], axis=1)


def color_values(numbers: NDArray[np.int64]) -> FloatArray:
    """The same as numbers from 0 to 1 for red, green, blue and opacity, shape (numbers, 4)."""
    module: Any = require("matplotlib.colors", extra="plot", why="drawing regions")
    every = np.arange(int(numbers.max(initial=0)) + 1)
    colors: FloatArray = module.to_rgba_array(color_names(every))[numbers]
    return colors


def color_names(numbers: NDArray[np.int64]) -> list[str]:
    """Colours of numbers; those beyond the palette are shades of grey."""
    greys = [f"{0.45 + 0.4 * ((k * 0.618) % 1):.3f}" for k in range(int(numbers.max(initial=0)))]
    names = [*PALETTE, *greys]
    return [names[k] for k in numbers.tolist()]
