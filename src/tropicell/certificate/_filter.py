"""What floating point with error bounds can prove about regions, all at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.memory import Blueprint
from tropicell._runtime.parts import in_parts
from tropicell.certificate._program import FilterProgram, filter_program, new_state
from tropicell.regions.columns import Ragged

if TYPE_CHECKING:
    from tropicell.regions.regions import Regions


#: Regions that a thread checks at a time.
_AT_ONCE = 256

#: How many witnesses say which size is usual.
_SAMPLE = 10_000

#: Regions whose bases a thread copies at a time.
_COPIED = 1 << 14


class Filtered(NamedTuple):
    """Regions that are proved, with the columns of their proofs.

    Attributes
    ----------
    proved : ndarray of bool
        Which regions; what the other columns say about the rest means nothing.
    facets, neighbours, bases : Ragged, ndarray, Ragged
        As in `tropicell.certificate.prover.RegionProofs`.
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
        """The result of a filter that has proved no region."""
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
    lines = hinted(regions, "facet_lines")
    corners = hinted(regions, "corners") if inputs > 2 else None
    hints = lines is not None and (inputs <= 2 or corners is not None)
    exact = regions.witnesses.dtype == object  # what is proved must hold for them, not rounded ones
    if not count or exact or (regions.complete and not hints):
        return nothing
    witnesses = np.ascontiguousarray(regions.witnesses, dtype=np.float64)
    scale = _scale(witnesses[:: max(1, count // _SAMPLE)])
    program = filter_program(regions.network, regions.domain, scale)
    if program is None:
        return nothing
    job = _FilterJob(regions, program, lines or nothing.facets, witnesses, 1.0 / scale, workers)
    if not regions.complete:
        return job.witnesses(nothing)
    return job.polygons() if corners is None else job.polytopes(corners)


def hinted(regions: Regions, name: Literal["facet_lines", "corners"]) -> Ragged | None:
    """A column that the engine gave, if it makes sense: kernels do not check where they read."""
    column = regions.known(name)
    shape: tuple[int, ...] = (regions.network.n_inputs + 1,) if name == "corners" else ()
    kinds, kind = ("f", "f8") if name == "corners" else ("iu", "i4")
    if column is None or len(column) != len(regions) or column.values.shape[1:] != shape:
        return None
    fits = (column.counts >= 0).all() and column.ends[-1:].sum() == len(column.values)
    if not fits or column.values.dtype.kind not in kinds or column.ends.dtype.kind not in "iu":
        return None
    # A number that 32 bits can't hold is no line; what it becomes is checked like any other hint.
    values = np.ascontiguousarray(column.values.astype(kind, copy=False))
    return Ragged(values, np.ascontiguousarray(column.ends.astype(np.int64, copy=False)))


@dataclass
class _FilterJob:
    """The filter at work on all regions."""

    regions: Regions
    program: FilterProgram
    lines: Ragged
    points: NDArray[np.float64]
    unscale: NDArray[np.float64]
    workers: int

    def __post_init__(self) -> None:
        count, size = len(self.regions), len(self.lines.values)
        self.proved = np.zeros(count, dtype=np.bool_)
        self.words = np.ascontiguousarray(self.regions.packed.words)
        self.facets = np.empty(size, dtype=np.int64)
        self.neighbours = np.empty(size, dtype=np.int64)
        self.basis_counts = np.zeros(count, dtype=np.int64)

    def witnesses(self, nothing: Filtered) -> Filtered:
        """Check witnesses, and nothing else: for lists that are not complete."""
        from tropicell.certificate._kernels import check_witnesses  # noqa: PLC0415 - Numba

        columns = (self.points, self.unscale, self.proved)
        signs = self._run(check_witnesses, columns, lambda d, _: np.zeros(d))
        return nothing._replace(proved=self.proved, signs=signs)

    def polygons(self) -> Filtered:
        """Regions in the plane; facets come in a new order."""
        from tropicell.certificate._plane import check_polygons, new_polygon  # noqa: PLC0415 - Numba

        lines = self.lines
        bases = Ragged(np.empty((len(lines.values), len(self.unscale)), np.int64), lines.ends)
        return self._proofs(check_polygons, (lines.values, lines.ends), bases, new_polygon)

    def polytopes(self, corners: Ragged) -> Filtered:
        """Regions in three and more dimensions."""
        from tropicell.certificate._cone import check_polytopes, new_polytope  # noqa: PLC0415 - Numba

        lines = self.lines
        bases = Ragged(np.empty((len(corners.values), len(self.unscale)), np.int64), corners.ends)
        hints = (lines.values, lines.ends, corners.values, corners.ends)
        return self._proofs(check_polytopes, hints, bases, new_polytope)

    def _proofs(
        self,
        kernel: Callable[..., int],
        hints: tuple[Any, ...],
        bases: Ragged,
        new_room: Callable[[int, int], Any],
    ) -> Filtered:
        """Check all regions; `bases` is where the kernel puts theirs, with gaps in between."""
        given = (*hints, self.points, self.unscale, self.regions.packed.table())
        found = (self.proved, self.facets, self.neighbours, bases.values, self.basis_counts)
        signs = self._run(kernel, (*given, *found), new_room)
        facets = Ragged(self.facets, self.lines.ends)
        return Filtered(self.proved, facets, self.neighbours, self._without_gaps(bases), signs)

    def _without_gaps(self, bases: Ragged) -> Ragged:
        from tropicell.certificate._kernels import close_up  # noqa: PLC0415 - Numba

        ends = np.cumsum(self.basis_counts)
        if ends[-1] == len(bases.values):
            return bases
        kept = np.empty((ends[-1], bases.values.shape[1]), np.int64)
        columns = (bases.values, bases.ends, self.basis_counts, ends)

        def work(part: slice) -> None:
            close_up(*columns, part.start, part.stop, kept)

        in_parts(work, len(ends), self.workers, _COPIED)
        return Ragged(kept, ends)

    def _run(
        self,
        kernel: Callable[..., int],
        columns: tuple[Any, ...],
        new_room: Callable[[int, int], Any],
    ) -> int:
        """Run a kernel on parts of all regions, in threads; the number of signs it decided."""
        bits, mine = self.regions.packed.bits, threading.local()
        size = self.program.inputs.shape[1] - 1
        signs: list[int] = []
        room = Blueprint(lambda _: (new_state(self.program), new_room(size, self.words.shape[1])))

        def check(part: slice) -> None:
            if not hasattr(mine, "room"):
                mine.room = room.build()
            rows = (part.start, part.stop, self.words, bits)
            signs.append(kernel(self.program, *mine.room, *rows, *columns))

        in_parts(check, len(self.regions), self.workers, _AT_ONCE)
        return sum(signs)


def _scale(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Powers of two of about the size of the points."""
    sizes = np.abs(points)
    sizes[~np.isfinite(sizes)] = 1.0
    middle = np.clip(np.median(sizes, axis=0), 2.0**-40, 2.0**40)
    return np.asarray(np.exp2(np.round(np.log2(middle))), dtype=np.float64)
