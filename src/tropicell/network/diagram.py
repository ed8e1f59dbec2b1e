"""A network's layers and skips as text: a picture of lines, or one line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tropicell.network.network import Network

#: With more arcs side by side than this, sources are listed instead of drawn.
_MAX_LANES = 12

#: So many layers and skips are listed in one line; of more, only a summary is given.
_MOST_LAYERS, _MOST_SKIPS = 12, 6


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


def summary(network: Network) -> str:
    """Sizes, skips and unusual activations in one line.

    Examples
    --------
    >>> from tropicell import Network
    >>> summary(Network.mlp([[[1.0]]] * 4, skips=[(1, 3)], activation="abs"))
    '1 → 1 → 1 → 1 → 1, skips 1→3, activations abs'
    """
    sizes = [network.n_inputs, *network.widths, network.n_outputs]
    parts = [" → ".join(map(str, sizes))]
    if network.depth > _MOST_LAYERS:
        layers = f"{network.depth} layers of {min(sizes[1:-1])} to {max(sizes[1:-1])} neurons"
        parts = [f"{sizes[0]} → {layers} → {sizes[-1]}"]
    if skips := network.skips:
        shown = ", ".join(f"{k}→{layer}" for k, layer in skips[:_MOST_SKIPS])
        parts.append(f"skips {shown}" + (", …" if len(skips) > _MOST_SKIPS else ""))
    if kinds := sorted({layer.activation.name for layer in network.layers} - {"relu"}):
        parts.append("activations " + ", ".join(kinds))
    if network.embedding is not None:
        parts.append(f"on a slice of R^{len(network.embedding.offset)}")
    return ", ".join(parts)


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
