"""Compact columns for millions of regions: packed patterns with a hash table, and ragged arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell._runtime.interruption import check
from tropicell.network.patterns import PatternArray

#: Bytes of patterns that are unpacked at a time.
_UNPACKED = 2**24


@dataclass(frozen=True, eq=False)
class Ragged:
    """Rows of different lengths in one flat array.

    Attributes
    ----------
    values : ndarray
        The rows, one after the other.
    ends : ndarray of int64
        Where each row ends.

    Examples
    --------
    >>> Ragged(np.array([1, 2, 3]), np.array([1, 3]))[1]
    array([2, 3])
    """

    values: NDArray[Any]
    ends: NDArray[np.int64]

    @classmethod
    def from_counts(cls, values: NDArray[Any], counts: NDArray[Any]) -> Ragged:
        """Rows of the given lengths."""
        return cls(values, np.cumsum(counts, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, row: int) -> NDArray[Any]:
        return self.values[self.ends[row - 1] if row else 0 : self.ends[row]]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Length of every row."""
        return np.diff(self.ends, prepend=0)

    def owners(self) -> NDArray[np.int64]:
        """For every value the row that it belongs to."""
        return np.repeat(np.arange(len(self), dtype=np.int64), self.counts)

    def rows(self, some: slice) -> Ragged:
        """Some rows, one after the other; their values are views.

        Examples
        --------
        >>> Ragged(np.array([1, 2, 3]), np.array([1, 3])).rows(slice(1, 9))[0]
        array([2, 3])
        """
        first, last, _ = some.indices(len(self))
        start = int(self.ends[first - 1]) if first else 0
        ends = self.ends[first:last]
        return Ragged(self.values[start : ends[-1] if len(ends) else start], ends - start)

    def places(self, rows: NDArray[Any]) -> NDArray[np.int64]:
        """Where the values of some rows are, row after row.

        Examples
        --------
        >>> Ragged(np.array([1, 2, 3]), np.array([1, 3])).places(np.array([1, 0]))
        array([1, 2, 0])
        """
        counts = self.counts
        starts, counts = (self.ends - counts)[rows], counts[rows]
        skipped = np.repeat(starts - (np.cumsum(counts) - counts), counts)
        return skipped + np.arange(len(skipped))

    def take(self, rows: NDArray[Any]) -> Ragged:
        """Some rows, by their numbers.

        Examples
        --------
        >>> Ragged(np.array([1, 2, 3]), np.array([1, 3])).take(np.array([1]))[0]
        array([2, 3])
        """
        return Ragged.from_counts(self.values[self.places(rows)], self.counts[rows])

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return self.values.nbytes + self.ends.nbytes


class SharedRagged(Ragged):
    """Rows whose values are among points that many of them share.

    A point of space is a corner of eight regions or so, in four dimensions of sixteen: that it is
    kept once makes most of the memory of regions. `values` are put together when someone asks for
    them, and then they are kept instead.

    Parameters
    ----------
    points : ndarray
    shared : ndarray of int
        For every value its place among the points.
    ends : ndarray of int64
        See `Ragged`.

    Examples
    --------
    >>> rows = SharedRagged(np.array([0.5, 0.25]), np.array([0, 1, 0]), np.array([1, 3]))
    >>> rows[1], rows.values
    (array([0.25, 0.5 ]), array([0.5 , 0.25, 0.5 ]))
    """

    def __init__(self, points: NDArray[Any], shared: NDArray[Any], ends: NDArray[np.int64]) -> None:
        vars(self).update(ends=ends, _kept=(points, shared))

    @cached_property
    def values(self) -> NDArray[Any]:
        """The rows, one after the other."""
        values = vars(self)["values"] = self._of(slice(None))
        vars(self).pop("_kept", None)
        return values

    @property
    def _together(self) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """Points and places, as long as the values have not been put together."""
        return vars(self).get("_kept")

    def _of(self, some: Any) -> NDArray[Any]:
        kept = self._together
        if kept is None:
            return np.asarray(self.values[some])
        points, shared = kept
        return np.asarray(points.take(shared[some], axis=0))

    def __getitem__(self, row: int) -> NDArray[Any]:
        return self._of(slice(self.ends[row - 1] if row else 0, self.ends[row]))

    def rows(self, some: slice) -> Ragged:
        """Some rows, one after the other."""
        kept = self._together
        if kept is None:
            return super().rows(some)
        chosen = Ragged(kept[1], self.ends).rows(some)
        return SharedRagged(kept[0], chosen.values, chosen.ends)

    def take(self, rows: NDArray[Any]) -> Ragged:
        """Some rows, by their numbers."""
        kept = self._together
        if kept is None:
            return super().take(rows)
        chosen = Ragged(kept[1], self.ends).take(rows)
        return SharedRagged(kept[0], chosen.values, chosen.ends)

    @property
    def nbytes(self) -> int:
        """Memory in bytes, as it is now."""
        kept = self._together or (self.values,)
        return sum(int(array.nbytes) for array in kept) + self.ends.nbytes


class PackedPatterns:
    """Patterns with as few bits a neuron as its pieces need, and a hash table to find them.

    Parameters
    ----------
    words : ndarray of uint64, shape (patterns, words)
        As `pack` makes them.
    neurons : int
    bits : int
        Bits per neuron.

    Examples
    --------
    >>> packed = PackedPatterns.pack(np.array([[1, 0, 1], [0, 0, 1]], dtype=np.uint8), 1)
    >>> packed[0]
    array([1, 0, 1], dtype=uint8)
    >>> packed.find(np.array([[0, 0, 1], [1, 1, 1]], dtype=np.uint8))
    array([ 1, -1])
    """

    def __init__(self, words: NDArray[np.uint64], neurons: int, bits: int) -> None:
        self.words = words
        self.neurons = neurons
        self.bits = bits
        self._table: NDArray[np.int64] | None = None

    @classmethod
    def pack(cls, patterns: PatternArray, bits: int) -> PackedPatterns:
        """Pack an array of patterns (rows)."""
        neurons = patterns.shape[1]
        width = cls.words_for(neurons, bits)
        if bits > 1:
            planes = np.unpackbits(patterns[:, :, None], axis=2, bitorder="little")
            patterns = planes[:, :, :bits].reshape(len(patterns), neurons * bits)
        packed = np.packbits(patterns, axis=1, bitorder="little")
        data = np.zeros((len(patterns), width * 8), dtype=np.uint8)
        data[:, : packed.shape[1]] = packed
        return cls(data.view("<u8"), neurons, bits)

    @staticmethod
    def bits_for(pieces: NDArray[np.intp]) -> int:
        """Bits that a neuron needs if the neurons have so many pieces."""
        most = int(pieces.max(initial=2))
        return max(1, (most - 1).bit_length())

    @staticmethod
    def aligned_bits_for(pieces: NDArray[np.intp]) -> int:
        """The same rounded up to 1, 2, 4 or 8: then no neuron is split between two words."""
        return 1 << (PackedPatterns.bits_for(pieces) - 1).bit_length()

    @staticmethod
    def words_for(neurons: int, bits: int) -> int:
        """Words of 64 bits that a pattern takes; at least one, also without neurons."""
        return max(1, -(-neurons * bits // 64))

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, index: Any) -> PatternArray:
        """One pattern, or the patterns of a slice or an index array, unpacked."""
        words = self.words[index]
        data = np.ascontiguousarray(np.atleast_2d(words)).view(np.uint8)
        count = self.neurons * self.bits
        planes = np.unpackbits(data, axis=1, bitorder="little", count=count)
        if self.bits > 1:
            planes = np.packbits(
                planes.reshape(len(data), self.neurons, self.bits), axis=2, bitorder="little"
            )[:, :, 0]
        return planes[0] if words.ndim == 1 else planes

    def unpacked(self) -> PatternArray:
        """All patterns, one byte a neuron.

        Examples
        --------
        >>> PackedPatterns.pack(np.array([[1, 0, 1]], dtype=np.uint8), 1).unpacked()
        array([[1, 0, 1]], dtype=uint8)
        """
        found = np.empty((len(self), self.neurons), dtype=np.uint8)
        for part in self._parts():
            found[part] = self[part]
        return found

    def first_neurons(self, neurons: int) -> PackedPatterns:
        """The patterns of the first neurons alone.

        Examples
        --------
        >>> rows = np.array([[1, 0, 1], [0, 1, 1]], dtype=np.uint8)
        >>> PackedPatterns.pack(rows, 1).first_neurons(2)[:].tolist()
        [[1, 0], [0, 1]]
        """
        width = PackedPatterns.words_for(neurons, self.bits)
        words = self.words[:, :width].copy()
        if left := width * 64 - neurons * self.bits:
            words[:, -1] &= np.uint64((1 << (64 - left)) - 1)
        return PackedPatterns(words, neurons, self.bits)

    def with_bits(self, bits: int) -> PackedPatterns:
        """The same patterns with another number of bits a neuron; all pieces must fit.

        Examples
        --------
        >>> PackedPatterns.pack(np.array([[1, 0]], dtype=np.uint8), 3).with_bits(1).words
        array([[1]], dtype=uint64)
        """
        if bits == self.bits:
            return self
        words = np.empty((len(self), PackedPatterns.words_for(self.neurons, bits)), np.uint64)
        for part in self._parts():
            words[part] = PackedPatterns.pack(self[part], bits).words
        return PackedPatterns(words, self.neurons, bits)

    def sorted(self) -> NDArray[np.intp]:
        """The order in which patterns come by their first neuron, then by their second, ….

        Examples
        --------
        >>> rows = np.array([[1, 0], [0, 1], [0, 0]], dtype=np.uint8)
        >>> PackedPatterns.pack(rows, 1).sorted()
        array([2, 1, 0])
        """
        keys = np.zeros((len(self), 8 * self.words.shape[1]), np.uint8)
        for part in self._parts():
            patterns = self[part]
            if self.bits > 1:  # of each number the highest of its bits first
                planes = np.unpackbits(patterns[:, :, None], axis=2)[:, :, 8 - self.bits :]
                patterns = planes.reshape(len(patterns), -1)
            packed = np.packbits(patterns, axis=1)
            keys[part, : packed.shape[1]] = packed
        return np.lexsort(keys.view(">u8").astype(np.uint64).T[::-1])

    def _parts(self) -> Iterator[slice]:
        """Rows that are unpacked at a time."""
        step = max(1, _UNPACKED // max(1, self.neurons * self.bits))
        for start in range(0, len(self), step):
            check()
            yield slice(start, start + step)

    def take(self, rows: Any) -> PackedPatterns:
        """Some of the patterns, by their indices."""
        return PackedPatterns(self.words[rows], self.neurons, self.bits)

    def find(self, patterns: PatternArray) -> NDArray[np.int64]:
        """Index of each pattern (row), or -1."""
        return self.find_words(PackedPatterns.pack(np.ascontiguousarray(patterns), self.bits).words)

    def find_words(self, words: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Index of each pattern (row) that is packed in the same way, or -1."""
        return np.asarray(_hashing().look_up(self.table(), self.words, words))

    def first_between(self, low: PatternArray, free: NDArray[np.bool_]) -> int:
        """Index of the first pattern that is `low`, or the next piece in neurons that are free.

        -1 if there is none. All patterns are looked at.

        Examples
        --------
        >>> packed = PackedPatterns.pack(np.array([[0, 2], [1, 1]], dtype=np.uint8), 2)
        >>> packed.first_between(np.array([0, 1], np.uint8), np.array([True, False]))
        1
        """
        full = np.where(free, 0, (1 << self.bits) - 1).astype(np.uint8)[None]
        mask = PackedPatterns.pack(full, self.bits).words
        wanted = PackedPatterns.pack(np.ascontiguousarray(low)[None], self.bits).words & mask
        for part in self._parts():
            some = part.start + np.flatnonzero(((self.words[part] & mask) == wanted).all(axis=1))
            if not some.size:
                continue
            above = self[some][:, free].astype(np.int64) - low[free]
            fits = ((above == 0) | (above == 1)).all(axis=1)
            if fits.any():
                return int(some[fits.argmax()])
        return -1

    def table(self) -> NDArray[np.int64]:
        """The hash table; see `tropicell._runtime._hashing`."""
        if self._table is None:
            self.first_duplicate()
        assert self._table is not None
        return self._table

    def first_duplicate(self, workers: int = 1) -> int:
        """Index of a pattern that has come before, or -1 if all are different.

        The hash table is made anew, by so many threads: of what the patterns are now.
        """
        self._table, repeated = _hashing().build_table(self.words, workers)
        return repeated if repeated < len(self) else -1

    def groups(self) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
        """The different patterns, as np.unique gives them but in the order of their first rows.

        Returns
        -------
        first : ndarray
            For every different pattern the first row that has it.
        labels : ndarray
            For every row its pattern's place in `first`.
        counts : ndarray
            How many rows have each pattern.

        Examples
        --------
        >>> rows = np.array([[1, 0], [0, 1], [1, 0]], dtype=np.uint8)
        >>> [a.tolist() for a in PackedPatterns.pack(rows, 1).groups()]
        [[0, 1], [0, 1, 0], [2, 1]]
        """
        same_as = self.find_words(self.words)
        return np.unique(same_as, return_inverse=True, return_counts=True)

    @property
    def nbytes(self) -> int:
        """Memory in bytes, without the hash table."""
        return self.words.nbytes


def _hashing() -> ModuleType:
    """The compiled hash table: Numba is slow to import, so it is imported when needed."""
    from tropicell._runtime import _hashing as module  # noqa: PLC0415

    return module


# --- what all engines hand over: regions in batches, as columns -----------------------------------


class Columns(NamedTuple):
    """Some regions. Columns that an engine does not have are None.

    Attributes
    ----------
    packed : PackedPatterns
    witnesses : ndarray, shape (regions, inputs)
    bounded : ndarray of bool
    volumes : ndarray
        inf where unbounded.
    corners, corner_counts : ndarray
        Vertices and rays in homogeneous coordinates, region after region, and how many each has.
    facet_lines, facet_counts : ndarray
        The lines (see `tropicell.network.inequalities`) of the facets, likewise.
    points, corner_places : ndarray
        Instead of `corners`, from a task that was told to share them: points, each once, and for
        every corner its place among them.
    """

    packed: PackedPatterns
    witnesses: NDArray[Any]
    bounded: NDArray[np.bool_] | None = None
    volumes: NDArray[np.float64] | None = None
    corners: NDArray[np.float64] | None = None
    corner_counts: NDArray[np.int64] | None = None
    facet_lines: NDArray[np.int32] | None = None
    facet_counts: NDArray[np.int64] | None = None
    points: NDArray[np.float64] | None = None
    corner_places: NDArray[np.int32] | None = None


def first(columns: Columns, n: int) -> Columns:
    """The first n regions of a batch."""
    if len(columns.packed) <= n:
        return columns
    corners, facets = columns.corner_counts, columns.facet_counts
    points, places = columns.points, columns.corner_places
    if points is not None and places is not None and corners is not None:
        places = places[: corners[:n].sum()]
        points = points[: int(places.max(initial=-1)) + 1]
    return Columns(
        PackedPatterns(columns.packed.words[:n], columns.packed.neurons, columns.packed.bits),
        columns.witnesses[:n],
        None if columns.bounded is None else columns.bounded[:n],
        None if columns.volumes is None else columns.volumes[:n],
        None
        if columns.corners is None or corners is None
        else columns.corners[: corners[:n].sum()],
        None if corners is None else corners[:n],
        None
        if columns.facet_lines is None or facets is None
        else columns.facet_lines[: facets[:n].sum()],
        None if facets is None else facets[:n],
        points,
        places,
    )


def size_of(columns: Columns) -> int:
    """Bytes that a batch takes."""
    arrays = [column for column in columns[1:] if column is not None]
    return columns.packed.nbytes + sum(int(array.nbytes) for array in arrays)


def sure_areas(volumes: FloatArray | None, inputs: int) -> FloatArray | None:
    """The volumes that an engine found, if they are worth keeping; else they are worked out later.

    Where regions of the plane are unbounded, corners of others may be so far out that rounding
    leaves nothing of an area.

    Examples
    --------
    >>> sure_areas(np.array([1.0, 2.0]), 2), sure_areas(np.array([1.0, np.inf]), 2)
    (array([1., 2.]), None)
    """
    far = volumes is not None and inputs == 2 and bool(np.isinf(volumes).any())
    return None if far else volumes


class EngineRun(Protocol):
    """One enumeration by some engine."""

    @property
    def count(self) -> int:
        """Regions handed over so far, in order."""

    @property
    def found(self) -> int:
        """Regions found so far, those included that still wait to be handed over."""

    @property
    def complete(self) -> bool:
        """Whether all regions have been found."""

    def halt(self) -> None:
        """Stop soon. `batches` ends, `rest` has what is left."""

    def batches(self) -> Iterator[Columns | None]:
        """Go on, and hand over what was found; None is a chance to look at the clock."""

    def rest(self) -> Iterator[Columns]:
        """What was found and not yet handed over, after the run was broken off."""

    def stats(self) -> dict[str, Any]:
        """What the run has cost."""
