"""The affine maps of many patterns, one after the other; a layer is summed only if it changed.

Regions come in an order in which neighbours in the list mostly differ in the last layers. What a
layer's map is depends on its pattern and those before it alone, so the numbers do not depend on
where a list is cut.
"""

from __future__ import annotations

from typing import Any

from tropicell.engines._cells_maps import load_input, set_piece, sum_layer
from tropicell.engines._jit import kernel


@kernel
def _first_change(maps: Any, old: Any, new: Any) -> int:
    """The first layer on which two patterns differ; the one after the last if on none."""
    layer = 1
    for j in range(len(new)):
        while j >= maps.row_start[layer + 1] - maps.row_start[1]:
            layer += 1
        if old[j] != new[j]:
            return layer
    return len(maps.row_start) - 2


@kernel
def maps_of_patterns(
    maps: Any, patterns: Any, before: Any, after: Any, scratch: Any, change: Any, found: Any
) -> None:
    """Maps of the last layer before its activation, for each pattern of the layers before it.

    Parameters
    ----------
    maps : MapArrays
    patterns : ndarray of uint8, shape (patterns, neurons of all layers but the last)
    before, after, scratch, change : ndarray
        Room for the maps of one pattern, see `tropicell.engines._cells_maps`.
    found : ndarray, shape (patterns, width of the last layer, inputs + 1)
        Gets the maps.
    """
    d, last = maps.dimension, len(maps.row_start) - 2
    load_input(maps, after)
    sum_layer(maps, before, after, 1, False, scratch, change)
    for i in range(len(patterns)):
        first = 1 if i == 0 else _first_change(maps, patterns[i - 1], patterns[i])
        for layer in range(first, last):
            at = maps.row_start[layer]
            for row in range(at, maps.row_start[layer + 1]):
                piece = patterns[i, row - maps.row_start[1]]
                set_piece(maps, before, after, row, maps.gamma[layer], piece)
            sum_layer(maps, before, after, layer + 1, False, scratch, change)
        at = maps.row_start[last]
        for o in range(found.shape[1]):
            for c in range(d + 1):
                found[i, o, c] = before[c, at + o]
