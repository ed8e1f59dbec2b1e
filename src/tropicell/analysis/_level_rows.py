"""A kernel for the rows of one function of the outputs on many regions, with their errors."""

from __future__ import annotations

from typing import Any

from tropicell._runtime.jit import kernel
from tropicell.analysis._level_signs import (
    _MOST_CHANGES,
    _change_difference,
    _first_change,
    _sum_difference,
    _unpack,
)
from tropicell.geometry.rounding import INFLATE, ROUND
from tropicell.network._layer_maps import enter_layer


@kernel
def level_rows(
    maps: Any, output: Any, packed: Any, scale: Any, room: Any, rows: Any, errors: Any
) -> None:
    """The row of a function on regions, from one to the next.

    Parameters
    ----------
    maps : MapArrays
    output : Difference
        The function, as in `tropicell.analysis._level_signs`.
    packed : tuple
        Patterns as words, and the bits of a neuron.
    scale : ndarray
        Of each coordinate.
    room : SignRoom
    rows : ndarray, shape (regions, inputs + 1)
        Gets the rows, the offset last, in unscaled coordinates: scales are powers of two.
    errors : ndarray, shape (regions, inputs + 1)
        Gets what these numbers may be wrong by.
    """
    d, last = maps.dimension, len(maps.row_start) - 2
    words, bits = packed
    room.maps.changes[:] = -1
    for region in range(len(words)):
        changed = 0
        if region:
            changed = _first_change(maps.row_start, words[region - 1], words[region], bits)
        if changed < last or room.counts[1] > _MOST_CHANGES:
            first = max(changed, 1)
            _unpack(words[region], bits, maps.row_start[first] - maps.row_start[1], room.pieces)
            for layer in range(changed, last):
                at = maps.row_start[layer] - maps.row_start[1]
                enter_layer(maps, room.maps, layer, room.pieces, at, True)
            _sum_difference(maps, output, room)
        else:
            _change_difference(maps, output, words[region - 1], words[region], bits, room)
        share = (room.counts[0] + 24.0 + 2.0 * d) * ROUND * INFLATE
        for c in range(d + 1):
            factor = scale[c] if c < d else 1.0
            rows[region, c] = room.row[c] * factor
            errors[region, c] = (room.wrong[c] + share * room.size[c]) * INFLATE * factor
