"""A network's layers and skips as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tropicell.network import Network

#: With more arcs side by side than this, sources are listed instead of drawn.
_MAX_LANES = 12


def draw(network: Network) -> str:
    """One line a layer; connections that jump over layers are arcs on the right.

    Examples
    --------
    See `Network.diagram`.
    """
    last = network.depth + 1
    names = ["input", *(f"  {i}" for i in range(1, last)), "output"]
    widths = [network.n_inputs, *network.widths, network.n_outputs]
    kinds = ["", *(layer.activation.name for layer in network.layers), ""]
    columns = [_padded(names), _padded([str(w) for w in widths], right=True), _padded(kinds)]
    skips = network.skips
    lanes = _lanes(skips)
    if skips and max(lanes) < _MAX_LANES:
        columns.append(_arcs(skips, lanes, last + 1))
    else:
        columns.append(["", *(_sources(network, layer) for layer in range(1, last + 1))])
    return "\n".join("  ".join(parts).rstrip() for parts in zip(*columns, strict=True))


def _padded(texts: Sequence[str], *, right: bool = False) -> list[str]:
    width = max(map(len, texts))
    return [text.rjust(width) if right else text.ljust(width) for text in texts]


def _sources(network: Network, layer: int) -> str:
    sources = sorted(network.affine(layer).terms, reverse=True)
    if sources == [layer - 1]:
        return ""
    return "← " + ", ".join("input" if source == 0 else str(source) for source in sources)


def _lanes(skips: Sequence[tuple[int, int]]) -> list[int]:
    """A column for every arc, short arcs first, so that no two share a row of a column."""
    lanes = [0] * len(skips)
    taken: list[set[int]] = []
    for index in sorted(range(len(skips)), key=lambda i: skips[i][1] - skips[i][0]):
        rows = set(range(skips[index][0], skips[index][1] + 1))
        lane = next((i for i, used in enumerate(taken) if not used & rows), len(taken))
        if lane == len(taken):
            taken.append(set())
        taken[lane] |= rows
        lanes[index] = lane
    return lanes


def _arcs(skips: Sequence[tuple[int, int]], lanes: Sequence[int], rows: int) -> list[str]:
    width = 2 * max(lanes) + 3
    picture = [[" "] * width for _ in range(rows)]
    for lane, (source, target) in sorted(zip(lanes, skips, strict=True)):
        column = 2 * lane + 2
        for row in range(source + 1, target):
            picture[row][column] = "│" if picture[row][column] == " " else "┼"
        for row, corner in ((source, "┐"), (target, "┘")):
            for i in range(column):
                crossed = picture[row][i]
                picture[row][i] = {" ": "─", "│": "┼", "┐": "┬", "┘": "┴"}.get(crossed, crossed)
            picture[row][column] = corner
    for target in {target for _, target in skips}:
        picture[target][0] = "←"
    return ["".join(line) for line in picture]
