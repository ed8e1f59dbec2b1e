"""Columns of many batches, joined at the end, or while they come."""

from __future__ import annotations

from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime import memory
from tropicell._runtime.parts import in_parts
from tropicell.engines import tuning
from tropicell.regions.columns import Columns, Ragged

_NAMES = ("words", *Columns._fields[1:])

#: Places among the points of a batch become places among those of all.
_POINTS, _PLACES = _NAMES.index("points"), _NAMES.index("corner_places")

#: Columns that are joined while they come get room for so many times as many as are expected, at
#: least so many times as many as there are, so that they are seldom copied to a larger place: it
#: takes no memory before it is used. They get the least if it were more than so many bytes, and
#: hardly any if it can't be had. (And not much more than is used: large pieces of memory are handed
#: out in large pages, which small results do not fill.)
_FAR_AHEAD, _AHEAD, _LITTLE_AHEAD, _FAR = 4, 4, 1.25, 2**28

#: Each time that so many bytes were added, one looks how much memory is left; so many have to be.
_LOOK_EVERY, _RESERVE = 2**26, 2**28


class Place(NamedTuple):
    """Columns that were settled, behind which others may be written.

    Whoever does so adds what he wrote as a batch: views of these arrays, right behind what is used,
    with corner places that count from the first point of all. Such a batch is not copied. Nothing
    else is added in between, or the place is given up.

    Attributes
    ----------
    arrays : dict of str to ndarray or None
        All columns, with room for more (patterns as "words"); None: a batch did not have it.
    used : dict of str to int
        How many rows of each are in use.
    """

    arrays: dict[str, Any]
    used: dict[str, int]


class Store:
    """Columns of many batches, kept apart until they are joined, by several threads.

    Parameters
    ----------
    workers : int
        Number of threads.

    Examples
    --------
    >>> from tropicell.regions.columns import PackedPatterns
    >>> packed = PackedPatterns.pack(np.array([[1, 0], [1, 1]], dtype=np.uint8), 1)
    >>> store = Store()
    >>> for number in range(3):
    ...     store.add(Columns(packed, np.full((2, 1), float(number))))
    >>> columns = store.join()
    >>> columns["witnesses"].ravel(), columns["volumes"]
    (array([0., 0., 1., 1., 2., 2.]), None)
    """

    def __init__(self, workers: int = 1) -> None:
        self._workers = workers
        self._batches: list[tuple[Any, ...]] = []
        # What was settled: columns with room for more (None: a batch did not have it), rows in use.
        self._settled: list[Any] = []
        self._used = [0] * len(_NAMES)
        self._unseen = 0  # bytes since the last look at memory
        self.regions = 0

    def add(self, columns: Columns) -> None:
        """Regions that come next.

        Raises
        ------
        MemoryError
            If there is hardly any memory left.
        """
        arrays = columns.packed.words, *columns[1:]
        self._unseen += sum(array.nbytes for array in arrays if array is not None)
        if self._unseen > _LOOK_EVERY:
            free = memory.free_memory()
            if free is not None and free < _RESERVE + tuning.current.spare_each * self.regions:
                raise MemoryError
            self._unseen = 0
        self._batches.append(arrays)
        self.regions += len(columns.packed)

    def settle(self, expected: float = 0.0) -> Place:
        """Copy the batches behind those before: their memory may be used for others then.

        What is read soon after it was written is still in the processor's cache, and memory that
        is used again need not be asked for: that is quicker than joining all batches at the end.
        Batches that lie there already (see `Place`) stay as they are.

        Parameters
        ----------
        expected : float
            How many regions are likely to come yet: a guess.

        Returns
        -------
        Place
            Where they are now.

        Raises
        ------
        MemoryError
            If there is no memory for that; then all is as it was.

        Examples
        --------
        >>> from tropicell.regions.columns import PackedPatterns
        >>> buffer, store = np.zeros((1, 2)), Store()
        >>> for number in range(3):
        ...     buffer[:] = number
        ...     store.add(Columns(PackedPatterns(np.zeros((1, 1), np.uint64), 8, 1), buffer))
        ...     place = store.settle()
        >>> place.used["witnesses"], store.join()["witnesses"].tolist()
        (3, [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
        """
        self._take_in_place()
        if self._batches:
            self._copy_batches(_FAR_AHEAD * (1.0 + expected / max(self.regions, 1)))
        return Place(
            dict(zip(_NAMES, self._settled or [None] * len(_NAMES), strict=True)),
            dict(zip(_NAMES, self._used, strict=True)),
        )

    def _take_in_place(self) -> None:
        """Take down the first batches, as far as they lie where they would be copied to."""
        taken = 0
        for batch in self._batches:
            words = self._settled[0] if self._settled else None
            if words is None or _address(batch[0]) != _address(words[self._used[0] :]):
                break
            for column, array in enumerate(batch):
                if array is None:
                    self._settled[column] = None
                else:
                    self._used[column] += len(array)
            taken += 1
        del self._batches[:taken]

    def _copy_batches(self, ahead: float) -> None:
        """Copy the other batches, for which room is made: so many times as much as they need."""
        columns = [
            () if any(part is None for part in parts) else parts
            for parts in zip(*self._batches, strict=True)
        ]
        added = [sum(map(len, parts)) for parts in columns]
        known = self._settled or [parts[0] if parts else None for parts in columns]
        points = self._used[_POINTS]
        # All room first, so that nothing has changed if there is none.
        whole = []
        for column, (array, more, used) in enumerate(zip(known, added, self._used, strict=True)):
            if array is not None and columns[column]:
                kind = array.dtype
                if column == _PLACES:
                    kind = _kind_for(points + added[_POINTS], kind)
                array = _with_room(array, used, used + more, kind, ahead)  # noqa: PLW2901
            whole.append(array if columns[column] else None)
        for column, (array, used) in enumerate(zip(whole, self._used, strict=True)):
            if array is None:
                continue
            for k, part in enumerate(columns[column]):
                space = array[used : used + len(part)]
                if column == _PLACES:
                    np.add(part, points, out=space)
                    points += len(columns[_POINTS][k])
                else:
                    space[...] = part
                used += len(part)  # noqa: PLW2901
        self._used = [used + more for used, more in zip(self._used, added, strict=True)]
        self._settled, self._batches = whole, []

    def join(self) -> dict[str, Any]:
        """All columns in one piece (patterns as "words"); None if a batch does not have it.

        Batches are let go as soon as they are copied, so that little is in memory twice. If there
        is no memory for that, the later half of the batches is let go instead, and again, until
        there is; `regions` says how many are left.
        """
        if self._settled:
            return self._join_settled()
        while True:
            try:
                whole = self._space()
                break
            except MemoryError:
                del self._batches[len(self._batches) // 2 :]
                self.regions = sum(len(batch[0]) for batch in self._batches)
        batches, self._batches = self._batches, []
        columns = list(zip(*batches, strict=True))
        ends = [
            [] if space is None else [0, *accumulate(map(len, parts))]
            for space, parts in zip(whole, columns, strict=False)
        ]
        del columns

        def copy(rows: slice) -> None:
            for column, (space, end) in enumerate(zip(whole, ends, strict=False)):
                if space is None:
                    continue
                parts = [batch[column] for batch in batches[rows]]
                if column != _PLACES:
                    np.concatenate(parts, out=space[end[rows.start] : end[rows.stop]])
                    continue
                for k, part in enumerate(parts, rows.start):
                    np.add(part, ends[_POINTS][k], out=space[end[k] : end[k + 1]])
            batches[rows] = [()] * (rows.stop - rows.start)

        now = tuning.current
        size = max(now.joined, -(-len(batches) // now.joined_parts))
        in_parts(copy, len(batches), self._workers, size)
        return dict(zip(_NAMES, whole, strict=True))

    def _space(self) -> list[Any]:
        """An array for each column, or None, that all batches fit into."""
        whole: list[Any] = [None] * len(_NAMES)
        for column, parts in enumerate(zip(*self._batches, strict=True)):
            if not any(part is None for part in parts):
                shape = (sum(map(len, parts)), *parts[0].shape[1:])
                kind = parts[0].dtype
                if column == _PLACES:
                    kind = _kind_for(len(whole[_POINTS]), kind)
                whole[column] = np.empty(shape, kind)
        self._try_for_more()
        return whole

    def _join_settled(self) -> dict[str, Any]:
        """The same, after some were settled."""
        while True:
            try:
                self.settle()
                self._try_for_more()
                break
            except MemoryError:
                if self._batches:
                    del self._batches[len(self._batches) // 2 :]
                else:
                    self._keep(self._used[0] // 2)
                self.regions = self._used[0] + sum(len(batch[0]) for batch in self._batches)
        whole, self._settled = self._settled, []
        for array, used in zip(whole, self._used, strict=True):
            if array is not None:  # what was not used goes back; nobody else knows the array yet
                array.resize((used, *array.shape[1:]), refcheck=False)
        self._used = [0] * len(_NAMES)
        return dict(zip(_NAMES, whole, strict=True))

    def _keep(self, regions: int) -> None:
        """Forget all regions that were settled but the first ones."""
        used = dict.fromkeys(_NAMES, regions)
        settled = dict(zip(_NAMES, self._settled, strict=True))
        for name, counts in (
            ("corners", "corner_counts"),
            ("corner_places", "corner_counts"),
            ("facet_lines", "facet_counts"),
        ):
            if settled[counts] is not None:
                used[name] = int(settled[counts][:regions].sum())
        if settled["corner_places"] is not None:
            places = settled["corner_places"][: used["corner_places"]]
            used["points"] = int(places.max(initial=-1)) + 1
        self._used = [used[name] for name in _NAMES]

    def _try_for_more(self) -> None:
        """What is yet to be made of columns (where rows end) must find memory, too: try that."""
        np.empty(tuning.current.spare + tuning.current.spare_each * self.regions, np.uint8)


def _address(array: NDArray[Any]) -> int:
    """Where the numbers of an array begin."""
    return int(array.__array_interface__["data"][0])


def _kind_for(points: int, kind: np.dtype[Any]) -> np.dtype[Any]:
    """Integers that can be places among so many points: of a kind, or larger ones."""
    return np.dtype(np.int64) if points > np.iinfo(kind).max else kind


def _with_room(array: Any, used: int, needed: int, kind: np.dtype[Any], ahead: float) -> Any:
    """An array with room for so many rows that begins with the rows of another that are in use.

    Raises
    ------
    MemoryError
        If there is no memory for that.
    """
    if used and needed <= len(array) and array.dtype == kind:
        return array
    row = kind.itemsize * int(np.prod(array.shape[1:]))
    ahead = ahead if ahead > _AHEAD and ahead * needed * row <= _FAR else _AHEAD
    try:
        larger = np.empty((int(ahead * needed), *array.shape[1:]), kind)
    except MemoryError:
        larger = np.empty((int(_LITTLE_AHEAD * needed), *array.shape[1:]), kind)
    larger[:used] = array[:used]
    return larger


def ragged(values: Any, counts: Any) -> Ragged | None:
    """Rows of different lengths, if there are any columns of them."""
    return None if values is None else Ragged.from_counts(values, counts)
