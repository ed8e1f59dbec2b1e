"""What floating point with error bounds can prove about regions, all at once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell._certificate_program import plane_program
from tropicell.columns import Ragged

if TYPE_CHECKING:
    from tropicell.regions import Regions


#: Fewer regions than this are not worth a thread.
_SMALLEST_PART = 2_000


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
    """Prove as many regions as floating point can.

    Parameters
    ----------
    regions : Regions
        With patterns that are all different.
    workers : int
        Number of threads.
    """
    inputs = regions.network.n_inputs
    hints = regions.__dict__.get("facet_lines")
    if regions.complete and inputs <= 2 and hints is not None:
        return _in_the_plane(regions, hints, workers)
    return Filtered.nothing(len(regions), inputs)


def _in_the_plane(regions: Regions, hints: Ragged, workers: int) -> Filtered:
    from tropicell._certificate_plane import check_regions  # noqa: PLC0415 - Numba

    count, inputs = len(regions), regions.network.n_inputs
    points = regions.witnesses.astype(np.float64)
    scale = _scale(points)
    program = plane_program(regions.network, regions.domain, scale)
    if program is None:
        return Filtered.nothing(count, inputs)
    plane = np.zeros((count, 2))
    plane[:, :inputs] = points / scale
    words, lines = np.ascontiguousarray(regions.packed.words), hints.values.astype(np.int64)
    proved = np.zeros(count, dtype=np.bool_)
    facets, meets = np.zeros_like(lines), np.zeros(len(lines), dtype=np.bool_)
    flips = np.zeros((len(lines), words.shape[1]), dtype=np.uint64)

    def check(begin: int, end: int) -> int:
        outputs = (proved, facets, meets, flips)
        bits = regions.packed.bits
        signs = check_regions(program, begin, end, words, bits, lines, hints.ends, plane, *outputs)
        return int(signs)

    signs = sum(_shared(check, count, workers))
    neighbours = np.full(len(lines), -1, dtype=np.int64)
    inner = facets > program.domain_lines
    neighbours[inner] = regions.packed.find_words(flips[inner])
    owners = hints.owners()
    proved[owners[inner & (neighbours < 0)]] = False
    proved[hints.counts == 0] = False
    bases = _consecutive(Ragged(meets, hints.ends), inputs)
    return Filtered(proved, Ragged(facets, hints.ends), neighbours, bases, signs)


def _scale(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Powers of two of about the size of the points."""
    sizes = np.abs(points)
    sizes[~np.isfinite(sizes)] = 1.0
    middle = np.clip(np.median(sizes, axis=0), 2.0**-40, 2.0**40)
    return np.asarray(np.exp2(np.round(np.log2(middle))), dtype=np.float64)


def _shared(check: Callable[[int, int], int], count: int, workers: int) -> list[int]:
    """Run a check on parts of all regions, in threads."""
    parts = min(workers, max(1, count // _SMALLEST_PART))
    bounds = np.linspace(0, count, parts + 1).astype(int).tolist()
    if parts == 1:
        return [check(0, count)]
    with ThreadPoolExecutor(parts) as pool:
        return list(pool.map(check, bounds[:-1], bounds[1:]))


def _consecutive(meets: Ragged, inputs: int) -> Ragged:
    """Each facet with the next one as a basis, if they meet; with one input each facet alone."""
    counts = meets.counts
    starts = np.repeat(meets.ends - counts, counts)
    position = np.arange(len(meets.values)) - starts
    if inputs == 1:
        return Ragged(position[:, None], meets.ends)
    following = (position + 1) % np.repeat(counts, counts)
    pairs = np.stack([position, following], axis=1)[meets.values]
    before = np.append(0, np.cumsum(meets.values))
    return Ragged(pairs, before[meets.ends])
