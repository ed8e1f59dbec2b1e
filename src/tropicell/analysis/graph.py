"""Which regions are neighbours, and which of them are one and the same linear piece.

Two regions are neighbours if they share a facet. If flipping the facet's neuron alone gives the
pattern of another region, that region is the neighbour: on the facet's hyperplane all later neurons
take the same values under both patterns, so both regions have the same facet. Where it does not
(several neurons share the boundary, or a neuron is constant on one side), the pattern right
behind the facet is computed exactly.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropicell._runtime.interruption import check
from tropicell._runtime.parts import check_workers, in_parts
from tropicell._runtime.progress import bar_of
from tropicell.analysis.map_bounds import largest_errors
from tropicell.analysis.residues import fingerprints, residues
from tropicell.errors import InvalidInputError, TropicellError
from tropicell.geometry.arithmetic import to_floats, to_fractions, to_rationals
from tropicell.geometry.polyhedra import Cell, Point, from_point, maximise, value_at
from tropicell.network.domains import Box, Domain, WholeSpace, resolve
from tropicell.network.flat import FlatNetwork, flatten, is_tame
from tropicell.network.inequalities import cut_by, domain_inequalities
from tropicell.network.maps import NetworkMaps
from tropicell.network.patterns import PatternArray
from tropicell.regions import exact_columns
from tropicell.regions.columns import Ragged
from tropicell.regions.given import as_regions

if TYPE_CHECKING:
    from tropicell.analysis._flips import FlipLines
    from tropicell.network.network import Network
    from tropicell.regions.region import Region
    from tropicell.regions.regions import Regions

#: Lines of regions that a thread looks at in one go.
_LINES = 1 << 18

#: Numbers of maps that are compared in one go.
_NUMBERS = 1 << 20

#: Regions whose facets are looked for at once: with many inputs each takes milliseconds.
_FACETS_AT_ONCE = 64

#: Directions in which `patterns_around` looks: more than enough to hit a region's inside.
_DIRECTIONS = 20


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Pairs of regions that share a facet.

    Attributes
    ----------
    pairs : ndarray, shape (pairs, 2)
        Indices of regions, the smaller one first.
    neurons : Ragged
        For every pair the neurons (indices in a pattern) that change across the facet.
    """

    pairs: NDArray[np.int64]
    neurons: Ragged

    def __len__(self) -> int:
        return len(self.pairs)

    def of(self, region: int) -> NDArray[np.int64]:
        """The neighbours of one region."""
        both = self.both_ways
        start, end = np.searchsorted(both[:, 0], [region, region + 1])
        return both[start:end, 1]

    @cached_property
    def both_ways(self) -> NDArray[np.int64]:
        """Every pair in both orders, sorted."""
        both = np.concatenate([self.pairs, self.pairs[:, ::-1]])
        return both[np.lexsort((both[:, 1], both[:, 0]))]


@dataclass(frozen=True, eq=False)
class Merged:
    """Maximal connected unions of regions on which the output map is one and the same.

    Attributes
    ----------
    labels : ndarray
        For every region the merged region that it belongs to.
    count : int
        Number of merged regions.
    """

    labels: NDArray[np.int64]
    count: int

    def __len__(self) -> int:
        return self.count

    def members(self, index: int) -> NDArray[np.intp]:
        """The regions that make up a merged region."""
        return np.flatnonzero(self.labels == index)


def neighbours(regions: Regions, *, workers: int = 1, progress: bool | None = None) -> Neighbours:
    """All pairs of regions that share a facet.

    Parameters
    ----------
    regions : Regions
    workers : int
        Number of threads; the pairs do not depend on it.
    progress : bool, optional
        Show a progress bar if it takes longer than two seconds; default: if standard error is a
        terminal.

    Notes
    -----
    Where the engine has found the facets, each is flipped once. Otherwise they are not needed:
    regions whose patterns differ in one neuron are looked up, and a point of the facet between them
    proves that they share one, or a linear program that they do not. What float64 can't decide is
    decided in exact arithmetic. See docs/exactness.md.

    Examples
    --------
    >>> from tropicell import Network, enumerate_regions
    >>> network = Network.mlp([[[1.0], [1.0]], [[1.0, 1.0]]], [[0.0, -1.0], [0.0]])
    >>> neighbours(enumerate_regions(network, engine="traverse")).pairs
    array([[0, 1],
           [1, 2]])
    """
    check_workers(workers)
    regions = as_regions(regions).reduced  # with the same neighbours
    network, domain = resolve(regions.network, regions.domain)
    flat = flatten(network, domain)
    with bar_of(len(regions), " regions", progress) as bar:
        found, unsure = _by_flips(regions, flat, flip_lines(regions, flat), workers, bar)
    neurons = _flipped_neurons(regions, flat, found[:, 2])
    pairs = np.ascontiguousarray(found[:, :2])
    if not len(unsure):
        return Neighbours(pairs, neurons)
    with bar_of(len(unsure), " boundaries, exactly", progress) as bar:
        extra = _behind_shared_boundaries(regions, unsure[:, 0], unsure[:, 1], bar)
    pairs = np.concatenate([pairs, extra.pairs])
    counts = np.concatenate([neurons.counts, extra.neurons.counts])
    values = np.concatenate([neurons.values, extra.neurons.values])
    return _unique(pairs, Ragged.from_counts(values, counts))


def _by_flips(
    regions: Regions, flat: FlatNetwork, flips: FlipLines, workers: int, bar: Any
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs with the line between them, sorted; and regions with lines that are left to decide."""
    from tropicell._runtime.memory import Blueprint  # noqa: PLC0415 - imports Numba
    from tropicell.analysis import _flips as kernels  # noqa: PLC0415

    packed = regions.packed
    words = np.ascontiguousarray(packed.words, dtype=np.uint64)
    known = kernels.KnownPatterns(words, packed.bits, packed.table())
    facets = regions.known("facet_lines")
    if facets is None and not is_tame(regions.network, regions.domain):
        facets = regions.facet_lines
    witnesses = np.ascontiguousarray(to_floats(np.asarray(regions.witnesses)))
    room = Blueprint(lambda free: kernels.flip_room(flat, words.shape[1], free))
    at_once = max(16, _LINES // len(flat.lines.line_row))
    found: dict[int, tuple[NDArray[np.int64], NDArray[np.int64]]] = {}
    mine = threading.local()

    def work(part: slice) -> None:
        size = (part.stop - part.start) * len(flat.lines.line_row)
        pairs, unsure = np.empty((size, 3), np.int64), np.empty((size, 2), np.int64)
        if facets is not None:
            here = (part.start, part.stop, np.zeros(words.shape[1], np.uint64))
            counts = kernels.pairs_of_facets(
                flips, known, facets.values, facets.ends, here, pairs, unsure
            )
        else:
            if not hasattr(mine, "room"):
                mine.room = room.build()
            which = (part.start, part.stop, mine.room)
            counts = kernels.pairs_of_patterns(flat, flips, known, witnesses, which, pairs, unsure)
        found[part.start] = pairs[: counts[0]].copy(), unsure[: counts[1]].copy()
        bar.update(part.stop - part.start)

    in_parts(work, len(regions), workers, at_once)
    parts = [found[start] for start in sorted(found)]
    none = np.empty((0, 3), np.int64), np.empty((0, 2), np.int64)
    pairs, unsure = (np.concatenate(column) for column in zip(none, *parts, strict=True))
    return pairs, unsure


def facet_lines(regions: Regions, *, workers: int = 1, progress: bool | None = None) -> Ragged:
    """The lines (see `tropicell.network.inequalities`) of each region's facets.

    Parameters
    ----------
    regions : Regions
    workers : int
        Number of threads; the lines do not depend on it.
    progress : bool, optional
        Show a progress bar if it takes longer than two seconds; default: if standard error is a
        terminal.

    Notes
    -----
    A point of a boundary at which all other inequalities surely hold proves a facet, weights that
    the boundary misses the region: docs/exactness.md, "Neighbours". Regions with a boundary of
    which neither is sure are looked at in exact arithmetic.

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> network = Network.mlp([[[1.0, 0.0]], [[1.0]]])
    >>> regions = enumerate_regions(network, Box(-1, 1), engine="halfspaces")
    >>> facet_lines(regions).counts
    array([4, 4])
    """
    from tropicell._runtime.memory import Blueprint  # noqa: PLC0415 - imports Numba
    from tropicell.analysis import _flips as kernels  # noqa: PLC0415

    check_workers(workers)
    regions = as_regions(regions).reduced  # with the same facets
    if not (len(regions) and is_tame(regions.network, regions.domain)):
        return exact_columns.facet_lines(regions)
    flat = flatten(*resolve(regions.network, regions.domain))
    flips = flip_lines(regions, flat)
    words = np.ascontiguousarray(regions.packed.words, dtype=np.uint64)
    witnesses = np.ascontiguousarray(to_floats(np.asarray(regions.witnesses)))
    room = Blueprint(lambda free: kernels.flip_room(flat, words.shape[1], free))
    counts, found = np.empty(len(regions), np.int64), dict[int, NDArray[np.int64]]()
    mine = threading.local()

    def work(part: slice) -> None:
        if not hasattr(mine, "room"):
            mine.room = room.build()
        lines = np.empty((part.stop - part.start) * len(flat.lines.line_row), np.int64)
        which, patterns = (part.start, part.stop, mine.room), (words, regions.packed.bits)
        total = kernels.facets_of_patterns(
            flat, flips, patterns, witnesses, which, lines, counts[part]
        )
        found[part.start] = lines[:total].copy()
        bar.update(part.stop - part.start)

    with bar_of(len(regions), " regions", progress) as bar:
        in_parts(work, len(regions), workers, _FACETS_AT_ONCE)
    left = np.flatnonzero(counts < 0)
    exactly = exact_columns.facet_lines(regions, left.tolist())
    counts[left] = exactly.counts
    own = np.ones(len(regions), dtype=np.bool_)
    own[left] = False
    values, sure = np.empty(int(counts.sum()), np.int64), np.repeat(own, counts)
    values[sure] = np.concatenate([found[start] for start in sorted(found)])
    values[~sure] = exactly.values
    return Ragged.from_counts(values, counts)


def flip_lines(regions: Regions, flat: FlatNetwork) -> FlipLines:
    """What the kernels know of lines."""
    from tropicell.analysis._flips import FlipLines  # noqa: PLC0415 - imports Numba

    lines, twin = regions.lines, flat.lines.line_twin
    members = np.argsort(twin, kind="stable")
    start = np.searchsorted(twin[members], np.arange(len(twin) + 1))
    free = np.ones(regions.network.depth + 1, dtype=np.bool_)
    for layer in regions.network.layers:
        free[list(layer.affine.terms)] = False
    bounds = np.full(flat.dimension, np.inf)
    if isinstance(regions.domain, Box):
        low, high = regions.domain.corners(flat.dimension)
        bounds = np.maximum(np.abs(low), np.abs(high)) * flat.lines.scale
    return FlipLines(
        lines.first, lines.neuron, lines.breakpoint, twin, start, members, free, bounds
    )


def _flipped_neurons(regions: Regions, flat: FlatNetwork, lines: NDArray[np.int64]) -> Ragged:
    """For lines the neurons that change across them: one, or all of some twins."""
    twin, first = flat.lines.line_twin, regions.lines.first
    if (twin == np.arange(len(twin))).all():
        return Ragged(regions.lines.neuron[lines - first], np.arange(1, len(lines) + 1))
    members = np.argsort(twin, kind="stable")
    starts = np.searchsorted(twin[members], np.arange(len(twin) + 1))
    counts = np.diff(starts)[lines]
    inner = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    places = members[np.repeat(starts[lines], counts) + inner]
    return Ragged.from_counts(regions.lines.neuron[places - first], counts)


def single_flips(
    regions: Regions,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """For each inner facet its region, its line, and the region with that one neuron flipped.

    The last is -1 where there is none: there several neurons change at once, and only `neighbours`
    knows what is behind.
    """
    facets, lines = regions.facet_lines, regions.lines
    owner, line = facets.owners(), facets.values.astype(np.int64)
    inner = line >= lines.first
    owner, line = owner[inner], line[inner]
    return owner, line, behind_one_neuron(regions, owner, line)


def behind_one_neuron(
    regions: Regions, owners: NDArray[np.int64], lines: NDArray[np.int64]
) -> NDArray[np.int64]:
    """For facets (a region and a neuron's line each) the region behind, or -1.

    It is -1, too, where more than that neuron changes.
    """
    first = regions.lines.first
    neuron, breakpoint = (
        regions.lines.neuron[lines - first],
        regions.lines.breakpoint[lines - first],
    )
    other = np.full(len(owners), -1, dtype=np.int64)
    step = max(1, 20_000_000 // max(1, regions.network.n_neurons))
    for start in range(0, len(owners), step):
        check()
        part = slice(start, start + step)
        flipped = regions.packed[owners[part]]
        rows = np.arange(len(flipped))
        piece = flipped[rows, neuron[part]]
        flipped[rows, neuron[part]] = np.where(
            piece > breakpoint[part], breakpoint[part], breakpoint[part] + 1
        )
        other[part] = regions.packed.find(flipped)
    return other


def _unique(pairs: NDArray[np.int64], neurons: Ragged) -> Neighbours:
    """Each pair once, with the smaller index first."""
    pairs = np.sort(pairs, axis=1)
    unique, first = np.unique(pairs, axis=0, return_index=True)
    counts = neurons.counts[first]
    starts = (neurons.ends - neurons.counts)[first]
    inner = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    values = neurons.values[np.repeat(starts, counts) + inner]
    return Neighbours(unique.reshape(-1, 2), Ragged.from_counts(values, counts))


def _behind_shared_boundaries(
    regions: Regions, owners: NDArray[np.int64], lines: NDArray[np.int64], bar: Any
) -> Neighbours:
    """Neighbours behind lines at which more than one neuron may change, in exact arithmetic."""
    pairs, changes = [], []
    maps, facets = regions.network.maps("exact"), regions.known("facet_lines")
    for owner in np.unique(owners):
        check()
        region = regions[int(owner)]
        cell = region.cell
        if facets is not None:  # all other inequalities can be left out
            known = [regions.lines.boundary(int(line)) for line in facets[int(owner)] if line > 0]
            cell = region.cell_of(known)
        for line in lines[owners == owner]:
            bar.update()
            pattern = _pattern_behind_line(regions, region, maps, cell, int(line))
            index = -1 if pattern is None else int(regions.packed.find(pattern[None])[0])
            if index >= 0:
                pairs.append((int(owner), index))
                changes.append(np.flatnonzero(pattern != region.pattern))
            elif pattern is not None and regions.covers:
                raise TropicellError(
                    f"region {owner} has a facet that leads to no region of the list, although "
                    "the list is marked as complete: please report this network"
                )
    values = np.concatenate(changes) if changes else np.empty(0, np.int64)
    counts = np.array([len(change) for change in changes], dtype=np.int64)
    array = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return Neighbours(array, Ragged.from_counts(values.astype(np.int64), counts))


def _pattern_behind_line(
    regions: Regions, region: Region, maps: NetworkMaps, cell: Cell, line: int
) -> PatternArray | None:
    """The pattern behind a line of a region; None if it is no facet, or the domain ends there."""
    boundary = regions.lines.boundary(line)
    if not region.has_row(boundary):
        return None
    (row,) = region.cell_of([boundary]).rows
    sides = [source for source in region.inequalities.sources if source.layer == 0]
    if row in region.cell_of([side for side in sides if region.has_row(side)]).rows:
        return None
    place = cell.rows.index(row)
    return None if _point_behind(cell, place) is None else pattern_behind(maps, cell, place)


def pattern_behind(maps: NetworkMaps, cell: Cell, row: int) -> PatternArray:
    """The pattern right behind a facet of a cell, in exact arithmetic.

    Parameters
    ----------
    maps : NetworkMaps
        Of the network, in exact arithmetic.
    cell : Cell
        The region.
    row : int
        Index of the facet among the cell's rows.

    Notes
    -----
    From the witness towards a point that violates the facet's inequality alone, the segment leaves
    the cell through the facet's relative interior, at p. Values at ``p + ε n`` for infinitesimal
    ε > 0 are pairs (value at p, derivative along n), compared lexicographically.
    """
    outside = _point_behind(cell, row)
    if outside is None:
        raise TropicellError("the inequality is redundant: nothing lies behind it")
    inside_value = Fraction(value_at(cell.rows[row], cell.witness), cell.witness[-1])
    outside_value = Fraction(value_at(cell.rows[row], outside), outside[-1])
    share = inside_value / (inside_value - outside_value)
    witness = np.array(from_point(cell.witness), dtype=object)
    direction = np.array(from_point(outside), dtype=object) - witness
    return pattern_along(maps, witness + share * direction, direction)


def _point_behind(cell: Cell, row: int) -> Point | None:
    """A point that violates one of a cell's inequalities alone; None if that is redundant."""
    others = [other for other in cell.rows if other != cell.rows[row]]
    return maximise(others, tuple(-a for a in cell.rows[row]), cell.witness)


def pattern_along(maps: NetworkMaps, point: NDArray[Any], direction: NDArray[Any]) -> PatternArray:
    """The pattern right behind a point in some direction, in exact arithmetic."""
    network = maps.network
    columns, _ = maps.values(np.stack([point, point + direction]))
    unit = maps.arithmetic.array(np.array([1.0, 0.0]))
    columns[:, 1] = columns[:, 1] - columns[:, 0]
    layers, pattern = [columns], []
    for layer in range(1, network.depth + 1):
        before = maps.before(layer, layers, unit)
        breakpoints = maps.activation(layer)[0]
        pieces = np.zeros(len(before), dtype=np.uint8)
        for neuron, (value, slope) in enumerate(before):
            passed = [t for t in breakpoints[neuron] if t is not None]
            pieces[neuron] = sum(value > t or (value == t and slope > 0) for t in passed)
        layers.append(maps.after(layer, before, pieces, unit))
        pattern.append(pieces)
    return np.concatenate(pattern)


def patterns_around(
    network: Network, point: NDArray[np.float64], domain: Domain | None = None
) -> Iterator[PatternArray]:
    """The pattern of a point, and those right behind it in some directions, in exact arithmetic.

    A point between regions may have a pattern of its own, which has no interior: one of the others
    is then that of a region that the point is on the boundary of.

    Parameters
    ----------
    network : Network
    point : ndarray, shape (inputs,)
    domain : Domain, optional
        If the point is on the boundary of this domain, all directions lead into it.

    Examples
    --------
    >>> from tropicell import Network
    >>> network = Network.mlp([[[1.0], [-1.0]], [[1.0, 1.0]]])
    >>> sorted({str(pattern) for pattern in patterns_around(network, np.array([0.0]))})
    ['[0 0]', '[0 1]', '[1 0]']
    """
    yield network.patterns(point[None], arithmetic="exact")[0]
    maps = network.maps("exact")
    exact = maps.arithmetic.public(maps.arithmetic.array(point))
    sides, inwards = _inwards(domain, exact)
    for seed in range(_DIRECTIONS):
        direction = (
            np.random.default_rng(seed).integers(-1000, 1001, size=len(point)).astype(object)
        )
        if len(sides):
            # far enough towards the inside that no side of the domain is crossed
            shares = (abs(side @ direction) / -(side @ inwards) for side in sides)
            direction = direction + inwards * (1 + max(shares))
        yield pattern_along(maps, exact, direction)


def _inwards(domain: Domain | None, point: NDArray[Any]) -> tuple[list[NDArray[Any]], NDArray[Any]]:
    """The sides of a domain that a point lies on, and a direction away from all of them."""
    if domain is None or isinstance(domain, WholeSpace):
        return [], point
    rows = domain_inequalities(domain, len(point), "exact")
    touched = to_rationals(point) @ rows.A.T == rows.b
    sides = [side for side in to_fractions(rows.A[touched]) if side.any()]
    if not sides:
        return [], point
    if isinstance(domain, Box):
        # Every side has a coordinate of its own, at whose other end there is none.
        return sides, -sum(sides, start=np.zeros(len(point), dtype=object))
    inside = cut_by(Cell.whole_space(len(point)), rows)
    if inside is None:  # the domain has no interior, and no regions
        return [], point
    return sides, np.array(from_point(inside.witness), dtype=object) - point


def path_lengths(regions: Regions, sources: ArrayLike) -> NDArray[np.int64]:
    """For every region the number of facets to cross to the nearest of some regions.

    Breadth-first search in the region graph from all sources at once, in time proportional to the
    number of regions and facets.

    Parameters
    ----------
    regions : Regions
    sources : array_like of int
        Indices of regions.

    Returns
    -------
    ndarray of int64, shape (regions,)
        0 for the sources themselves; -1 where no path leads to one (which happens only if not all
        regions were found).

    Examples
    --------
    >>> from tropicell import Network, enumerate_regions
    >>> network = Network.mlp([[[1.0], [1.0]], [[1.0, 1.0]]], [[0.0, -1.0], [0.0]])
    >>> path_lengths(enumerate_regions(network, engine="traverse"), [0])
    array([0, 1, 2])
    """
    reached = np.unique(np.asarray(sources, dtype=np.int64))
    outside = reached[(reached < 0) | (reached >= len(regions))]
    if outside.size:
        raise InvalidInputError(f"there are {len(regions)} regions, no number {outside[0]}")
    both = regions.neighbours.both_ways
    starts = np.searchsorted(both[:, 0], np.arange(len(regions) + 1))
    lengths = np.full(len(regions), -1, dtype=np.int64)
    steps = 0
    while reached.size:
        lengths[reached] = steps
        steps += 1
        counts = starts[reached + 1] - starts[reached]
        # the rows of all pairs that begin at a region just reached, one run after the other
        skipped = np.repeat(starts[reached] - (np.cumsum(counts) - counts), counts)
        behind = both[skipped + np.arange(counts.sum()), 1]
        reached = np.unique(behind[lengths[behind] < 0])
    return lengths


def merge(
    regions: Regions,
    *,
    tolerance: float | None = None,
    workers: int = 1,
    progress: bool | None = None,
) -> Merged:
    """Merge neighbours whose output maps are the same.

    Parameters
    ----------
    regions : Regions
    tolerance : float, optional
        No longer used, and to be left out: no rounding decides here.
    workers : int
        Number of threads; the merged regions do not depend on it.
    progress : bool, optional
        Show a progress bar if neighbours or maps take longer than two seconds; default: if standard
        error is a terminal.

    Notes
    -----
    Maps that bounds on rounding errors do not prove to be different are compared without rounding,
    modulo primes: see `tropicell.analysis.residues`.

    Examples
    --------
    A neuron with outgoing weight 0 makes a boundary that the output does not see:

    >>> from tropicell import Network, enumerate_regions
    >>> network = Network.mlp([[[1.0], [1.0]], [[1.0, 0.0]]], [[0.0, -1.0], [0.0]])
    >>> regions = enumerate_regions(network)
    >>> len(regions), len(merge(regions))
    (3, 2)
    """
    if tolerance is not None:
        text = "merge compares maps exactly and has no tolerance any more: leave it out"
        warnings.warn(text, DeprecationWarning, stacklevel=2)
    regions = as_regions(regions).reduced  # maps that differ do so there
    regions.prepare(["neighbours", "affine_maps"], workers=workers, progress=progress)
    pairs, maps = regions.neighbours.pairs, regions.affine_maps
    # float64 proves of nearly all maps that they differ
    slopes, offsets = largest_errors(regions.network)
    errors = np.append(np.tile(slopes, (maps.shape[2] - 1, 1)), offsets[None], axis=0).T
    alike = np.empty(len(pairs), dtype=np.bool_)

    def compare(part: slice) -> None:
        gaps = np.abs(maps[pairs[part, 0]] - maps[pairs[part, 1]])
        alike[part] = ~(gaps > 2.001 * errors).any(axis=(1, 2))

    in_parts(compare, len(pairs), workers, max(1, _NUMBERS // max(1, errors.size)))
    linked = pairs[alike]
    linked = linked[_same_maps(regions, linked)]
    from scipy.sparse import coo_array  # noqa: PLC0415 - slow to import
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    matrix = coo_array((np.ones(len(linked)), linked.T), shape=(len(regions), len(regions)))
    count, labels = connected_components(matrix, directed=False)
    return Merged(labels.astype(np.int64), int(count))


def _same_maps(regions: Regions, pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether the regions of each pair have one and the same output map: proved."""
    same = np.ones(len(pairs), dtype=np.bool_)
    if not len(pairs):
        return same
    some, place = np.unique(pairs, return_inverse=True)
    one, two = place.reshape(pairs.shape).T
    values = fingerprints(regions.network, regions.packed.take(some))
    same &= (values[one] == values[two]).all(axis=1)
    some, place = np.unique(pairs[same], return_inverse=True)
    one, two = place.reshape(-1, 2).T
    proved = np.ones(len(one), dtype=np.bool_)
    for maps in residues(regions.network, regions.packed.take(some)) if len(some) else ():
        proved &= (maps[one] == maps[two]).all(axis=(1, 2))
    same[same] = proved
    return same
