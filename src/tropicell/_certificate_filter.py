"""What floating point with error bounds can prove about regions, all at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell._certificate_program import FilterProgram, filter_program, new_state
from tropicell.columns import Ragged
from tropicell.thread_pool import ThreadPool

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
    count, inputs = len(regions), regions.network.n_inputs
    nothing = Filtered.nothing(count, inputs)
    lines, corners = hinted(regions, "facet_lines"), hinted(regions, "corners")
    hints = lines is not None and (inputs <= 2 or corners is not None)
    exact = regions.witnesses.dtype == object  # what is proved must hold for them, not rounded ones
    if not count or exact or (regions.complete and not hints):
        return nothing
    witnesses = regions.witnesses.astype(np.float64)
    scale = _scale(witnesses)
    program = filter_program(regions.network, regions.domain, scale)
    if program is None:
        return nothing
    points = _in_plane(witnesses / scale)
    job = _Job(regions, program, lines or nothing.facets, points, workers)
    if not regions.complete:
        return job.witnesses(nothing)
    if inputs <= 2:
        return job.polygons()
    assert corners is not None
    columns = corners.values / np.append(scale, 1.0)
    return job.polytopes(Ragged(columns, corners.ends))


def hinted(regions: Regions, name: Literal["facet_lines", "corners"]) -> Ragged | None:
    """A column that the engine gave, if it makes sense: kernels do not check where they read."""
    column = regions.__dict__.get(name)
    shape: tuple[int, ...] = (regions.network.n_inputs + 1,) if name == "corners" else ()
    kinds, kind = ("f", "f8") if name == "corners" else ("iu", "i8")
    if column is None or len(column) != len(regions) or column.values.shape[1:] != shape:
        return None
    fits = (column.counts >= 0).all() and column.ends[-1:].sum() == len(column.values)
    if not fits or column.values.dtype.kind not in kinds or column.ends.dtype.kind not in "iu":
        return None
    return Ragged(column.values.astype(kind), column.ends.astype(np.int64))


@dataclass
class _Job:
    """The filter at work on all regions."""

    regions: Regions
    program: FilterProgram
    lines: Ragged
    points: NDArray[np.float64]
    workers: int

    def __post_init__(self) -> None:
        self.proved = np.zeros(len(self.regions), dtype=np.bool_)
        self.words = np.ascontiguousarray(self.regions.packed.words)
        self.flips = np.zeros((len(self.lines.values), self.words.shape[1]), dtype=np.uint64)

    def witnesses(self, nothing: Filtered) -> Filtered:
        """Witnesses alone."""
        from tropicell._certificate_kernels import check_witnesses  # noqa: PLC0415 - Numba

        signs = self._run(check_witnesses, (self.points, self.proved), int)
        return nothing._replace(proved=self.proved, signs=signs)

    def polygons(self) -> Filtered:
        """Regions in the plane; facets come in a new order."""
        from tropicell._certificate_plane import check_polygons, new_polygon  # noqa: PLC0415 - Numba

        lines = self.lines
        facets = np.zeros_like(lines.values)
        meets = np.zeros(len(lines.values), dtype=np.bool_)
        columns = (lines.values, lines.ends, self.points, self.proved, facets, meets, self.flips)
        signs = self._run(check_polygons, columns, new_polygon)
        neighbours = self._neighbours(facets)
        bases = _consecutive(Ragged(meets, lines.ends), self.regions.network.n_inputs)
        return Filtered(self.proved, Ragged(facets, lines.ends), neighbours, bases, signs)

    def polytopes(self, corners: Ragged) -> Filtered:
        """Regions in three and more dimensions."""
        from tropicell._certificate_cone import check_polytopes, new_polytope  # noqa: PLC0415 - Numba

        lines = self.lines
        bases = np.full((len(corners.values), self.points.shape[1]), -1, dtype=np.int64)
        columns = (lines.values, lines.ends, corners.values, corners.ends, self.points)
        signs = self._run(check_polytopes, (*columns, self.proved, bases, self.flips), new_polytope)
        neighbours = self._neighbours(lines.values)
        vertices = bases[:, 0] >= 0
        before = np.append(0, np.cumsum(vertices))
        kept = Ragged(bases[vertices], before[corners.ends])
        return Filtered(self.proved, lines, neighbours, kept, signs)

    def _run(
        self, kernel: Callable[..., int], columns: tuple[Any, ...], new_room: Callable[[int], Any]
    ) -> int:
        """Run a kernel on parts of all regions, in threads; the number of signs it decided."""
        from tropicell._certificate_jit import patience  # noqa: PLC0415 - Numba

        bits = self.regions.packed.bits

        def check(begin: int, end: int) -> int:
            state, room = new_state(self.program), new_room(self.points.shape[1])
            part = (begin, end, self.words, bits)
            with patience(kernel):
                return int(kernel(self.program, state, room, *part, *columns))

        count = len(self.regions)
        parts = min(self.workers, max(1, count // _SMALLEST_PART))
        if parts == 1:
            return check(0, count)
        bounds = np.linspace(0, count, parts + 1).astype(int).tolist()
        with ThreadPool(parts) as pool:
            return sum(pool.map(check, bounds[:-1], bounds[1:]))

    def _neighbours(self, facets: NDArray[np.int64]) -> NDArray[np.int64]:
        """The region behind each facet; regions that lack one are not proved."""
        inner = facets > self.program.domain_lines
        neighbours = np.full(len(facets), -1, dtype=np.int64)
        neighbours[inner] = self.regions.packed.find_words(self.flips[inner])
        self.proved[self.lines.owners()[inner & (neighbours < 0)]] = False
        return neighbours


def _in_plane(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points with a second coordinate, if they have but one."""
    missing = np.zeros((len(points), max(0, 2 - points.shape[1])))
    return np.concatenate([points, missing], axis=1)


def _scale(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Powers of two of about the size of the points."""
    sizes = np.abs(points)
    sizes[~np.isfinite(sizes)] = 1.0
    middle = np.clip(np.median(sizes, axis=0), 2.0**-40, 2.0**40)
    return np.asarray(np.exp2(np.round(np.log2(middle))), dtype=np.float64)


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
