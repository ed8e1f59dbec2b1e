"""`Path`: the regions that segments and polylines cross, exactly, thousands of them in one call."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell._runtime.interruption import check
from tropicell._runtime.parts import check_workers, in_parts
from tropicell._runtime.progress import bar_of
from tropicell.errors import InvalidInputError, require
from tropicell.geometry.arithmetic import (
    ArithmeticName,
    get_arithmetic,
    to_floats,
    to_fractions,
    to_rationals,
)
from tropicell.network.domains import Slice, WholeSpace
from tropicell.network.flat import LARGEST, SMALLEST, flatten, is_tame
from tropicell.network.network import Network
from tropicell.network.patterns import PatternArray, to_texts
from tropicell.regions.columns import PackedPatterns

if TYPE_CHECKING:
    import pandas

#: Segments that a thread takes at a time, and intervals that it has room for at first.
_SEGMENTS, _INTERVALS = 16, 1024


@dataclass(frozen=True, eq=False)
class PathRegions:
    """The regions that a path crosses: one row for each piece of a segment within one region.

    Attributes
    ----------
    network : Network
    packed : PackedPatterns
        The pattern of each piece.
    segments : ndarray of int64, shape (pieces,)
        The segment that it is a piece of, from 0. The segments of all polylines are counted on.
    starts, ends : ndarray, shape (pieces,)
        Where it begins and ends on its segment, from 0 (its first point) to 1 (its last one):
        float64, or Fractions if exact.
    errors : ndarray, shape (pieces,)
        How far `starts` and `ends` may be from the exact numbers, at most; 0 if exact.
    lengths : ndarray, shape (pieces,)
        Euclidean lengths.
    exactly : int
        How many segments needed rational arithmetic.

    Examples
    --------
    >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
    >>> found = Path([[-1, -2], [1, 2]]).regions(network)
    >>> found.texts(), found.lengths.round(3).tolist()
    (['00', '11'], [2.236, 2.236])
    """

    network: Network
    packed: PackedPatterns
    segments: NDArray[np.int64]
    starts: NDArray[Any]
    ends: NDArray[Any]
    errors: FloatArray
    lengths: FloatArray
    exactly: int

    def __len__(self) -> int:
        return len(self.packed)

    @property
    def patterns(self) -> PatternArray:
        """The pattern of each piece, one byte a neuron."""
        return self.packed[:]

    def texts(self) -> list[str]:
        """The same as texts."""
        return to_texts(self.patterns, self.network.widths)

    def counts(self, segments: int | None = None) -> NDArray[np.int64]:
        """Number of pieces of each segment.

        Examples
        --------
        >>> network = Network.mlp([[[1.0]], [[1.0]]])
        >>> Path([[-2.0], [-1.0], [1.0]]).regions(network).counts()
        array([1, 2])
        """
        return np.bincount(self.segments, minlength=segments or 0)

    def to_dataframe(self) -> pandas.DataFrame:
        """One row for each piece.

        Examples
        --------
        >>> network = Network.mlp([[[1.0]], [[1.0]]])
        >>> Path([[-1.0], [1.0]]).regions(network).to_dataframe()["end"].tolist()
        [0.5, 1.0]
        """
        pandas: Any = require("pandas", extra="graph", why="a table of pieces")
        columns = {
            "segment": self.segments,
            "pattern": self.texts(),
            "start": self.starts,
            "end": self.ends,
            "length": self.lengths,
        }
        table: pandas.DataFrame = pandas.DataFrame(columns)
        return table


class Path:
    """A polyline, or many of them, through the input space.

    Parameters
    ----------
    points : array_like, shape (points, inputs) or (polylines, points, inputs)
        Two points make a segment.

    Examples
    --------
    Which regions lie between two points, and where does one end?

    >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
    >>> found = Path([[-1, -2], [2, 1]]).regions(network)
    >>> list(zip(found.texts(), found.starts.round(3).tolist(), found.ends.round(3).tolist()))
    [('00', 0.0, 0.333), ('10', 0.333, 0.667), ('11', 0.667, 1.0)]
    >>> Path([[-1, -2], [2, 1]]).regions(network, arithmetic="exact").ends
    array([Fraction(1, 3), Fraction(2, 3), Fraction(1, 1)], dtype=object)

    Many segments at once:

    >>> segments = np.random.default_rng(0).normal(size=(1000, 2, 2))
    >>> len(Path(segments).regions(network).counts())
    1000
    """

    def __init__(self, points: ArrayLike) -> None:
        array = np.array(points, dtype=np.float64)
        if array.ndim not in (2, 3) or array.shape[-2] < 2 or array.shape[-1] < 1:
            raise InvalidInputError(
                "Path: expected points of shape (points, inputs) or (polylines, points, inputs), "
                f"at least two points each, got shape {array.shape}"
            )
        if not np.isfinite(array).all():
            raise InvalidInputError("Path: points must be finite numbers")
        self.points = array

    @property
    def segments(self) -> tuple[FloatArray, FloatArray]:
        """The first and the last point of each segment, shape (segments, inputs) each.

        Examples
        --------
        >>> Path([[0.0], [1.0], [3.0]]).segments[1].tolist()
        [[1.0], [3.0]]
        """
        inputs = self.points.shape[-1]
        starts, ends = self.points[..., :-1, :], self.points[..., 1:, :]
        return (
            np.ascontiguousarray(starts.reshape(-1, inputs)),
            np.ascontiguousarray(ends.reshape(-1, inputs)),
        )

    def regions(
        self,
        network: Network,
        *,
        arithmetic: ArithmeticName = "float",
        workers: int = 1,
        progress: bool | None = None,
    ) -> PathRegions:
        """The regions that the path crosses, segment by segment, in order.

        Which they are, and their order, is exact in any case.

        Parameters
        ----------
        network : Network
        arithmetic : {"float", "exact"}
            How `starts` and `ends` are given: as float64 with a bound on their errors, or as
            Fractions, which takes far longer.
        workers : int
            Number of threads.
        progress : bool, optional
            Show a progress bar if it takes longer than two seconds; default: if standard error is
            a terminal.

        Returns
        -------
        PathRegions

        Notes
        -----
        A pattern is that of the network on the segment: a neuron that is constant along it, exactly
        at a breakpoint, counts as on its lower piece. So a segment that runs along a boundary may
        have a pattern that no region has. A piece has a length, unless its segment has none.

        Examples
        --------
        >>> network = Network.mlp([[[1.0]], [[1.0]]])
        >>> Path([[-1.0], [1.0]]).regions(network).patterns.tolist()
        [[0], [1]]
        """
        get_arithmetic(arithmetic)
        check_workers(workers)
        starts, ends = self.segments
        network.check_points(starts[:1])
        walker = _Walker(network, starts, ends, exact=arithmetic == "exact")
        with bar_of(len(starts), " segments", progress) as bar:

            def work(part: slice) -> None:
                walker.walk(part)
                bar.update(part.stop - part.start)

            in_parts(work, len(starts), workers, _SEGMENTS)
        return walker.result()

    def __repr__(self) -> str:
        return f"Path({len(self.segments[0])} segments in R^{self.points.shape[-1]})"


class _Walker:
    """Finds the pieces of segments, part by part."""

    def __init__(
        self, network: Network, starts: FloatArray, ends: FloatArray, *, exact: bool
    ) -> None:
        self.network, self.starts, self.ends, self.exact = network, starts, ends, exact
        self.bits = PackedPatterns.aligned_bits_for(network.pieces)
        self.words = PackedPatterns.words_for(network.n_neurons, self.bits)
        self.flat: Any = None
        if not exact and network.depth > 0 and network.embedding is None:
            line = Slice(np.zeros(network.n_inputs), np.ones((1, network.n_inputs)))
            on_line = network.restrict(line)
            if is_tame(on_line, WholeSpace()):
                self.flat = network.remember(
                    "flat on a line", lambda: flatten(on_line, WholeSpace())
                )
        self.tame = _tame_rows(starts) & _tame_rows(ends)
        #: For each part: its pieces, as patterns, segments, starts, ends, errors.
        self.parts: dict[int, list[tuple[Any, ...]]] = {}
        self.exactly = 0

    def walk(self, part: slice) -> None:
        """Find the pieces of some segments."""
        found: dict[int, tuple[Any, ...]] = {}
        left = list(range(part.start, part.stop))
        if self.flat is not None and self.tame[part].all():
            verdicts, words, places = self._compiled(part)
            owners = places[:, 3].astype(np.int64)
            ends = np.searchsorted(owners, np.arange(part.start, part.stop), side="right")
            first = np.searchsorted(owners, np.arange(part.start, part.stop), side="left")
            for k, segment in enumerate(left):
                rows = slice(int(first[k]), int(ends[k]))
                found[segment] = (words[rows], *places[rows, :3].T)
            left = [part.start + int(k) for k in np.flatnonzero(verdicts[part])]
        for segment in left:
            check()
            found[segment] = self._exactly(segment)
        self.exactly += len(left)
        self.parts[part.start] = [(segment, *found[segment]) for segment in sorted(found)]

    def _compiled(self, part: slice) -> tuple[NDArray[np.uint8], NDArray[np.uint64], FloatArray]:
        from tropicell.analysis import _paths as kernels  # noqa: PLC0415 - imports Numba

        maps = self.flat.maps
        flat = self.flat._replace(
            maps=maps._replace(
                input_rows=np.zeros_like(maps.input_rows), input_low=np.zeros_like(maps.input_low)
            )
        )
        room = kernels.path_room(flat)
        verdicts = np.zeros(len(self.starts), np.uint8)
        size, start = _INTERVALS, part.start
        all_words, all_places = [np.empty((0, self.words), np.uint64)], [np.empty((0, 4))]
        while start < part.stop:
            check()
            words, places = np.empty((size, self.words), np.uint64), np.empty((size, 4))
            piece = (start, part.stop, self.bits)
            given = flat, room, self.starts, self.ends, piece, words, places, verdicts
            reached, written = kernels.walk(*given)
            all_words.append(words[:written].copy())
            all_places.append(places[:written].copy())
            size = size if reached > start else 2 * size
            start = reached
        return verdicts, np.concatenate(all_words), np.concatenate(all_places)

    def _exactly(self, segment: int) -> tuple[Any, ...]:
        patterns, places = exact_pieces(self.network, self.starts[segment], self.ends[segment])
        words = PackedPatterns.pack(patterns, self.bits).words
        at: NDArray[Any] = to_fractions(places)
        errors = np.zeros(len(patterns))
        if not self.exact:
            at = to_floats(places)
            errors = np.full(len(patterns), 2.0**-53)
        return words, at[:-1], at[1:], errors

    def result(self) -> PathRegions:
        """All pieces."""
        rows = [row for start in sorted(self.parts) for row in self.parts[start]]
        segments = np.repeat(
            np.array([row[0] for row in rows], np.int64), [len(row[1]) for row in rows]
        )
        words, starts, ends, errors = (
            np.concatenate([row[k] for row in rows]) for k in range(1, 5)
        )
        sizes = np.linalg.norm(self.ends - self.starts, axis=1)
        lengths = to_floats(ends - starts) * sizes[segments]
        return PathRegions(
            self.network,
            PackedPatterns(words, self.network.n_neurons, self.bits),
            segments,
            starts,
            ends,
            errors,
            lengths,
            self.exactly,
        )


def _tame_rows(points: FloatArray) -> NDArray[np.bool_]:
    sizes = np.abs(points)
    return np.asarray(((sizes == 0) | ((sizes >= SMALLEST) & (sizes <= LARGEST))).all(axis=1))


def exact_pieces(
    network: Network, start: ArrayLike, end: ArrayLike
) -> tuple[PatternArray, NDArray[Any]]:
    """The pieces of one segment, in rationals.

    Parameters
    ----------
    network : Network
    start, end : array_like, shape (inputs,)
        Floats, or Fractions.

    Returns
    -------
    patterns : ndarray of uint8, shape (pieces, neurons)
    places : ndarray of flint.fmpq, shape (pieces + 1,)
        0, where the pattern changes, and 1.

    Examples
    --------
    >>> exact_pieces(Network.mlp([[[3.0]], [[1.0]]], [[-1.0], [0.0]]), [0.0], [1.0])[1].tolist()
    [0, 1/3, 1]
    """
    maps = network.maps("exact")
    ends = np.stack([to_rationals(np.asarray(start)), to_rationals(np.asarray(end))])
    values, _ = maps.values(ends)
    layer_0 = np.stack([values[:, 1] - values[:, 0], values[:, 0]], axis=1)
    one = to_rationals(np.array([0.0, 1.0]))
    patterns: list[NDArray[np.uint8]] = []
    places: list[Any] = []

    def look(columns: list[NDArray[Any]], pieces: list[Any], low: Any, high: Any) -> None:
        """Write down the pieces between two places; those of the layers so far are known."""
        check()
        layer = len(columns)
        if layer > network.depth:
            patterns.append(np.concatenate([np.empty(0, np.uint8), *pieces]))
            places.append(low)
            return
        before = maps.before(layer, columns, one)
        bends = maps.activation(layer)[0]
        crossings = {low}
        for (slope, offset), row in zip(before.tolist(), bends.tolist(), strict=True):
            if slope != 0:
                at = ((bend - offset) / slope for bend in row if bend is not None)
                crossings |= {t for t in at if low < t < high}
        ordered = [*sorted(crossings), high]
        for left, right in pairwise(ordered):
            middle = before[:, :1] * ((left + right) / 2) + before[:, 1:]
            part = maps.pattern_of(layer, middle)[:, 0]
            look([*columns, maps.after(layer, before, part, one)], [*pieces, part], left, right)

    zero, unit = to_rationals([0, 1])
    look([layer_0], [], zero, unit)
    return np.array(patterns), np.array([*places, unit], dtype=object)
