"""Open nodes of a unit as the kernels write them: a part of a block of memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from numpy.typing import NDArray

from tropicell._runtime.memory import Piece

Arrays = dict[str, NDArray[Any]]


class Layout(Protocol):
    """How an engine writes open nodes to a block."""

    def arrays(self, stack: Packed) -> Arrays:
        """The nodes as plain arrays."""

    def packed(self, arrays: Arrays) -> Packed:
        """The nodes as a block of their own."""


def source_of(stack: Packed | None, other: Piece) -> tuple[Piece, int, int, int]:
    """Where a kernel reads nodes from; if there are none, any piece of memory will do."""
    return (other, 0, 0, 0) if stack is None else (stack.piece, stack.at, stack.first, stack.last)


class Packed(Mapping[str, "NDArray[Any]"]):
    """Nodes first … last - 1 of a block; plain arrays (see `Layout`) when they are asked for.

    Units that were split off together share a block, and nothing is cut or copied until one of
    them is run, by a kernel.
    """

    __slots__ = ("_layout", "at", "first", "last", "piece")

    def __init__(self, layout: Layout, piece: Piece, at: int, first: int, last: int) -> None:
        self._layout = layout
        self.piece = piece
        self.at = at
        self.first = first
        self.last = last

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._layout.arrays(self)[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._layout.arrays(self))

    def __len__(self) -> int:
        return len(self._layout.arrays(self))

    def __bool__(self) -> bool:
        return True

    def items(self) -> Any:
        return self._layout.arrays(self).items()

    def __reduce__(self) -> Any:
        # What is handed to others is only this part of the block.
        return dict, (self._layout.arrays(self),)
