"""What all engines hand over: regions in batches, as columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.memory import address_of
from tropicell.regions.columns import PackedPatterns


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
        The lines (see `tropicell.network.lines`) of the facets, likewise.
    """

    packed: PackedPatterns
    witnesses: NDArray[Any]
    bounded: NDArray[np.bool_] | None = None
    volumes: NDArray[np.float64] | None = None
    corners: NDArray[np.float64] | None = None
    corner_counts: NDArray[np.int64] | None = None
    facet_lines: NDArray[np.int32] | None = None
    facet_counts: NDArray[np.int64] | None = None


class PlacedColumns(Columns):
    """Columns whose places are known: they are joined by their addresses.

    Finding out the address of an array takes Python longer than all else that is done with a batch.

    Attributes
    ----------
    places : tuple of int
        Address and bytes of every column, one after the other; 0 and 0 where there is none.
        Nothing if some columns were replaced.
    """

    places: tuple[int, ...] = ()


def placed(columns: Columns) -> PlacedColumns:
    """The same columns, each in one piece of memory."""
    if isinstance(columns, PlacedColumns) and columns.places:
        return columns
    packed = columns.packed
    words = np.ascontiguousarray(packed.words)
    given: tuple[Any, ...] = columns[1:]
    others = [None if array is None else np.ascontiguousarray(array) for array in given]
    found = PlacedColumns._make([PackedPatterns(words, packed.neurons, packed.bits), *others])
    found.places = tuple(number for array in (words, *others) for number in _place(array))
    return found


def _place(array: NDArray[Any] | None) -> tuple[int, int]:
    return (0, 0) if array is None else (address_of(array), array.nbytes)


def first(columns: Columns, n: int) -> Columns:
    """The first n regions of a batch."""
    if len(columns.packed) <= n:
        return columns
    corners, facets = columns.corner_counts, columns.facet_counts
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
    )


def size_of(columns: Columns) -> int:
    """Bytes that a batch takes."""
    if isinstance(columns, PlacedColumns) and columns.places:
        return sum(columns.places[1::2])
    arrays = [column for column in columns[1:] if column is not None]
    return columns.packed.nbytes + sum(int(array.nbytes) for array in arrays)


class Run(Protocol):
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
