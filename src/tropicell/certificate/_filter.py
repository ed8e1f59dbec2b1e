"""What floating point with error bounds can prove about regions, all at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.parts import in_parts
from tropicell._runtime.progress import bar_of
from tropicell.certificate._flat import (
    FilterNetwork,
    PatternTable,
    ProofColumns,
    RegionColumns,
    WholeNumbers,
    filter_network,
    in_whole_numbers,
    new_state,
)
from tropicell.geometry.arithmetic import to_floats
from tropicell.network._residues import Moduli
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
    inside : ndarray of bool
        Whether the witness is inside, too; where it is not, that alone is left to prove.
    facets, neighbours, bases : Ragged, ndarray, Ragged
        As in `tropicell.certificate.prover.RegionProofs`.
    signs : int
        Signs that were decided.
    """

    proved: NDArray[np.bool_]
    inside: NDArray[np.bool_]
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
        no = np.zeros(count, dtype=np.bool_)
        return cls(no, no, Ragged(none, ends), none, bases, 0)


@dataclass(frozen=True, eq=False)
class Ground:
    """What the filters stand on, worked out once for all of them when one asks for it.

    Attributes
    ----------
    regions : Regions
    """

    regions: Regions

    @cached_property
    def witnesses(self) -> NDArray[np.float64]:
        """Witnesses, rounded if they are exact."""
        return np.ascontiguousarray(to_floats(self.regions.witnesses))

    @cached_property
    def scale(self) -> NDArray[np.float64]:
        """Powers of two: the kernels' coordinates are x / scale."""
        return usual_scale(self.witnesses)

    @cached_property
    def flat(self) -> FilterNetwork | None:
        """The network as the kernels' arrays, or None if filters can't work with it."""
        return filter_network(self.regions.network, self.regions.domain, self.scale)

    @cached_property
    def whole(self) -> tuple[WholeNumbers, Moduli]:
        """What rows modulo primes are made from."""
        assert self.flat is not None
        return in_whole_numbers(self.flat, self.regions.network)

    @cached_property
    def facet_lines(self) -> Ragged | None:
        """The lines that the engine takes for facets, if they make sense."""
        return hinted(self.regions, "facet_lines")

    @cached_property
    def corners(self) -> Ragged | None:
        """The corners that the engine found, if they make sense."""
        return hinted(self.regions, "corners")


def filter_regions(
    regions: Regions, workers: int, progress: bool | None = False, ground: Ground | None = None
) -> Filtered:
    """Prove as many regions as floating point can.

    Parameters
    ----------
    regions : Regions
        With patterns that are all different.
    workers : int
        Number of threads.
    progress : bool, optional
        Show a progress bar if it takes longer than two seconds; None: if standard error is a
        terminal.
    ground : Ground, optional
        That of the regions, if there is one.
    """
    ground = ground or Ground(regions)
    count, inputs = len(regions), regions.network.n_inputs
    nothing = Filtered.nothing(count, inputs)
    lines = ground.facet_lines
    corners = ground.corners if inputs > 2 else None
    hints = lines is not None and (inputs <= 2 or corners is not None)
    exact = regions.witnesses.dtype == object  # what is proved must hold for them, not rounded ones
    if not count or exact or (regions.covers and not hints):
        return nothing
    flat = ground.flat
    if flat is None:
        return nothing
    if lines is None:
        lines = Ragged(np.empty(0, np.int32), nothing.facets.ends)
    if corners is None:
        corners = Ragged(np.empty((0, inputs + 1)), nothing.bases.ends)
    packed = regions.packed
    words = np.ascontiguousarray(packed.words)
    columns = RegionColumns(
        patterns=PatternTable(words, packed.bits, packed.table()),
        witnesses=ground.witnesses,
        unscale=1.0 / ground.scale,
        lines=lines.values,
        line_ends=lines.ends,
        corners=corners.values,
        corner_ends=corners.ends,
    )
    with bar_of(count, " regions", progress) as bar:
        job = _FilterJob(flat, *ground.whole, columns, workers, bar)
        if not regions.covers:
            return job.witnesses(nothing)
        return job.polygons() if inputs <= 2 else job.polytopes()


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


class Spilled(NamedTuple):
    """Bases for which there was no room in the columns: regions, where each ends, and bases."""

    regions: NDArray[np.int64]
    ends: NDArray[np.int64]
    bases: NDArray[np.int64]


@dataclass
class _FilterJob:
    """The filter at work on all regions."""

    flat: FilterNetwork
    whole: WholeNumbers
    moduli: Moduli
    regions: RegionColumns
    workers: int
    bar: Any
    spilled: list[Spilled] = field(default_factory=list)

    def witnesses(self, nothing: Filtered) -> Filtered:
        """Check witnesses, and nothing else: for lists that are not complete."""
        from tropicell.certificate._kernels import check_witnesses  # noqa: PLC0415 - Numba

        proved = np.zeros(len(self.regions.witnesses), dtype=np.bool_)
        size = self.flat.inputs.shape[1] - 1
        signs = self._run(check_witnesses, proved, lambda: np.zeros(size))
        return nothing._replace(proved=proved, inside=proved, signs=signs)

    def polygons(self) -> Filtered:
        """Regions in the plane; facets come in a new order."""
        from tropicell.certificate._plane import check_polygons, new_polygon  # noqa: PLC0415 - Numba

        return self._proofs(check_polygons, self._room(new_polygon), self.regions.line_ends)

    def polytopes(self) -> Filtered:
        """Regions in three and more dimensions."""
        from tropicell.certificate._cone import check_polytopes, new_polytope  # noqa: PLC0415 - Numba

        return self._proofs(check_polytopes, self._room(new_polytope), self.regions.corner_ends)

    def _room(self, new_room: Callable[..., Any]) -> Callable[[], Any]:
        """What makes the room of a thread."""
        from tropicell.certificate._signs import fine_signs  # noqa: PLC0415 - Numba

        words = self.regions.patterns.words.shape[1]

        def made() -> Any:
            return new_room(self.flat, words, fine_signs(self.flat, self.whole, self.moduli))

        return made

    def _proofs(
        self,
        kernel: Callable[..., int],
        new_room: Callable[[], Any],
        basis_ends: NDArray[np.int64],
    ) -> Filtered:
        """Check all regions; `basis_ends` is where those of the bases end, with gaps in between."""
        count, size = len(self.regions.witnesses), len(self.regions.lines)
        found = ProofColumns(
            proved=np.zeros(count, dtype=np.bool_),
            inside=np.zeros(count, dtype=np.bool_),
            facets=np.empty(size, dtype=np.int64),
            neighbours=np.empty(size, dtype=np.int64),
            bases=np.empty((basis_ends[-1], len(self.regions.unscale)), np.int64),
            basis_counts=np.zeros(count, dtype=np.int64),
            spilled=np.zeros(count, dtype=np.bool_),
        )
        signs = self._run(kernel, found, new_room)
        facets = Ragged(found.facets, self.regions.line_ends)
        bases = self._without_gaps(found, basis_ends)
        return Filtered(found.proved, found.inside, facets, found.neighbours, bases, signs)

    def _without_gaps(self, found: ProofColumns, basis_ends: NDArray[np.int64]) -> Ragged:
        from tropicell.certificate._kernels import close_up  # noqa: PLC0415 - Numba

        ends = np.cumsum(found.basis_counts)
        if not self.spilled and ends[-1] == len(found.bases):
            return Ragged(found.bases, basis_ends)
        kept = np.empty((ends[-1], found.bases.shape[1]), np.int64)
        columns = (found.bases, basis_ends, found.basis_counts, ends, found.spilled)

        def work(part: slice) -> None:
            close_up(*columns, part.start, part.stop, kept)

        in_parts(work, len(ends), self.workers, _COPIED)
        for regions, spill_ends, bases in self.spilled:
            counts = found.basis_counts[regions]
            shift = np.repeat(ends[regions] - spill_ends, counts)
            kept[shift + np.arange(len(shift))] = bases
        return Ragged(kept, ends)

    def _run(self, kernel: Callable[..., int], found: Any, new_room: Callable[[], Any]) -> int:
        """Run a kernel on parts of all regions, in threads; the number of signs it decided."""
        from tropicell._runtime.jit import Entry  # noqa: PLC0415 - Numba

        mine, words, entry = threading.local(), self.regions.patterns.words, Entry(kernel)
        signs: list[int] = []

        def check(part: slice) -> None:
            if not hasattr(mine, "room"):
                mine.room = new_state(self.flat), new_room()
            signs.append(entry(self.flat, *mine.room, self.regions, found, part.start, part.stop))
            self._collect(mine.room[1])
            self.bar.update(part.stop - part.start)

        in_parts(check, len(words), self.workers, _AT_ONCE)
        return sum(signs)

    def _collect(self, room: Any) -> None:
        """Take what a kernel has spilled."""
        spill = getattr(room, "spill", None)
        if spill is not None and spill.counts[0]:
            regions, rows = spill.counts
            self.spilled.append(
                Spilled(
                    spill.regions[:regions].copy(),
                    spill.ends[:regions].copy(),
                    spill.bases[:rows].copy(),
                )
            )
            spill.counts[:] = 0


def usual_scale(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Powers of two of about the size of some of the points."""
    sizes = np.abs(points[:: max(1, len(points) // _SAMPLE)])
    sizes[~np.isfinite(sizes)] = 1.0
    sizes.sort(axis=0)
    zeros = np.count_nonzero(sizes == 0.0, axis=0)  # which say nothing, and come first
    sizes[-1] = np.where(zeros == len(sizes), 1.0, sizes[-1])
    zeros = np.minimum(zeros, len(sizes) - 1)
    two = np.stack([(zeros + len(sizes) - 1) // 2, (zeros + len(sizes)) // 2])
    exponents = np.round(np.log2(np.take_along_axis(sizes, two, axis=0)).mean(axis=0))
    return np.asarray(np.exp2(np.clip(exponents, -40, 40)), dtype=np.float64)
