"""`Regions`: what the engines find, as columns; a `Region` is a view of one row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from tropicell.domains import Domain
from tropicell.network import Network
from tropicell.patterns import PatternArray, to_text
from tropicell.region import Region


@dataclass(frozen=True, eq=False)
class Regions:
    """All regions that an engine found.

    Attributes
    ----------
    network : Network
    domain : Domain
    patterns : ndarray of uint8, shape (regions, neurons)
    witnesses : ndarray, shape (regions, inputs)
        A point strictly inside each region.
    complete : bool
        Whether these are all; False if a budget ended the search.
    stats : mapping
        What the engine has to say: time, decisions, ….
    """

    network: Network
    domain: Domain
    patterns: PatternArray
    witnesses: NDArray[Any]
    complete: bool = True
    stats: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return int(self.patterns.shape[0])

    def __getitem__(self, index: int) -> Region:
        return Region(self.network, self.patterns[index], self.domain)

    def __iter__(self) -> Iterator[Region]:
        return (self[i] for i in range(len(self)))

    def texts(self) -> list[str]:
        """All patterns as text."""
        return [to_text(pattern, self.network.widths) for pattern in self.patterns]

    def __repr__(self) -> str:
        kind = "" if self.complete else ", not complete"
        return f"Regions({len(self)} of {self.network!r} on {self.domain!r}{kind})"
