"""Units in one order, and those of them that wait for somebody to take them."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from tropicell.engines.units import Outcome, Unit

Key = tuple[int, ...]


@dataclass(eq=False, slots=True)
class Place:
    """A unit in the order of all: open, running, or done (`outcome`); `after` is the next one.

    Keys of open and running places are in the order of the places. The keys of what is left of a
    unit begin with the unit's key.
    """

    unit: Unit
    key: Key
    after: Place | None = None
    outcome: Outcome | None = None
    nbytes: int = 0

    def children(self, outcome: Outcome) -> list[Place]:
        """Places for what is left of the unit.

        The unit is done, so that an only child can have its key: no chain of keys grows long.
        """
        left = outcome.left or []
        keys = [self.key] if len(left) == 1 else [(*self.key, k) for k in range(len(left))]
        return [Place(unit, key) for unit, key in zip(left, keys, strict=True)]


class OpenPlaces:
    """Places that nobody has taken, to be had from the front, or the one of most weight first.

    Examples
    --------
    >>> places = OpenPlaces()
    >>> for weight, key in [(3.0, (0, 0)), (4.0, (1,)), (5.0, (2,))]:
    ...     places.add(Place(Unit(1, {}, weight=weight), key))
    >>> places.first().key, places.take_large().key, places.take_first().key, len(places)
    ((0, 0), (2,), (0, 0), 1)
    """

    def __init__(self) -> None:
        self._places: dict[Key, Place] = {}
        # Heaps of keys; those that are not in `_places` any more are skipped.
        self._front: list[Key] = []
        self._large: list[tuple[float, Key]] = []

    def __len__(self) -> int:
        return len(self._places)

    def add(self, place: Place) -> None:
        """A place that is open now."""
        self._places[place.key] = place
        heapq.heappush(self._front, place.key)
        heapq.heappush(self._large, _large_first(place))
        if len(self._front) + len(self._large) > 8 * len(self._places) + 1000:
            self._front = sorted(self._places)
            self._large = sorted(map(_large_first, self._places.values()))

    def first(self) -> Place:
        """The first one in the order; it stays."""
        while self._front[0] not in self._places:
            heapq.heappop(self._front)
        return self._places[self._front[0]]

    def take_first(self) -> Place:
        """The first one in the order."""
        return self._places.pop(self.first().key)

    def take_large(self) -> Place:
        """The one that probably has most regions."""
        while (key := heapq.heappop(self._large)[-1]) not in self._places:
            pass
        return self._places.pop(key)


def _large_first(place: Place) -> tuple[float, Key]:
    return -place.unit.weight, place.key
