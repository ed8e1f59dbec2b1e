"""The affine maps of many patterns, one after the other; a layer is summed only if it changed.

Regions come in an order in which neighbours in the list mostly differ in the last layers. What a
layer's map is depends on its pattern and those before it alone, so the numbers do not depend on
where a list is cut.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tropicell._runtime.jit import kernel, lowest_bit
from tropicell.network._layer_maps import load_input, set_piece, sum_layer


@kernel
def _first_change(maps: Any, old: Any, new: Any, bits: int) -> int:
    """The first layer on which two packed patterns differ; the last one if on none before it."""
    layer, last = 1, len(maps.row_start) - 2
    for place in range(len(new)):
        different = old[place] ^ new[place]
        if different != np.uint64(0):
            neuron = (64 * place + lowest_bit(different)) // bits
            while layer < last and neuron >= maps.row_start[layer + 1] - maps.row_start[1]:
                layer += 1
            return layer
    return last


@kernel
def _unpack(words: Any, bits: int, first: int, pieces: Any) -> None:
    """The pieces of all neurons of a packed pattern from the first of these on."""
    mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    for neuron in range(first, len(pieces)):
        place, shift = (neuron * bits) >> 6, np.uint64((neuron * bits) & 63)
        piece = words[place] >> shift
        if shift + np.uint64(bits) > np.uint64(64):
            piece |= words[place + 1] << (np.uint64(64) - shift)
        pieces[neuron] = piece & mask


@kernel
def maps_of_patterns(maps: Any, words: Any, bits: int, current: Any, found: Any) -> None:
    """Maps of the last layer before its activation, for each pattern of the layers before it.

    Parameters
    ----------
    maps : MapArrays
    words : ndarray of uint64, shape (patterns, words)
        Packed patterns of all layers but the last.
    bits : int
        Bits of a neuron.
    current : LayerMaps
        Room for one pattern of all layers but the last, and for its maps.
    found : ndarray, shape (patterns, width of the last layer, inputs + 1)
        Gets the maps.
    """
    d, last = maps.dimension, len(maps.row_start) - 2
    pieces = current.pattern[: maps.row_start[last] - maps.row_start[1]]  # the last has none here
    before = current.before
    load_input(maps, current, False)
    sum_layer(maps, current, 1, False)
    for i in range(len(words)):
        first = 1 if i == 0 else _first_change(maps, words[i - 1], words[i], bits)
        _unpack(words[i], bits, maps.row_start[first] - maps.row_start[1], pieces)
        for layer in range(first, last):
            for row in range(maps.row_start[layer], maps.row_start[layer + 1]):
                piece = pieces[row - maps.row_start[1]]
                set_piece(maps, current, layer, row, piece, False)
            sum_layer(maps, current, layer + 1, False)
        at = maps.row_start[last]
        for o in range(found.shape[1]):
            for c in range(d + 1):
                found[i, o, c] = before[c, at + o]
