"""The affine maps of many patterns, one after the other; a layer is summed only if it changed.

Regions come in an order in which neighbours in the list mostly differ in the last layers, and there
in few neurons. What a layer's map is depends on its pattern and those before it alone, so the
numbers do not depend on where a list is cut.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tropicell._runtime.jit import kernel, lowest_bit
from tropicell.network._layer_maps import load_input, set_piece, sum_layer


@kernel
def _piece(words: Any, neuron: int, bits: int) -> int:
    """The piece of a neuron in a packed pattern."""
    place, shift = (neuron * bits) >> 6, np.uint64((neuron * bits) & 63)
    piece = words[place] >> shift
    if shift + np.uint64(bits) > np.uint64(64):
        piece |= words[place + 1] << (np.uint64(64) - shift)
    return int(piece & ((np.uint64(1) << np.uint64(bits)) - np.uint64(1)))


@kernel
def _change(maps: Any, current: Any, old: Any, new: Any, bits: int) -> int:
    """Go from one packed pattern to another, and change the outputs of the first layer that does.

    Returns that layer; the last one if none does before it.
    """
    last, base = len(maps.row_start) - 2, maps.row_start[1]
    layer, found = 1, last
    for place in range(len(new)):
        different = old[place] ^ new[place]
        while different != np.uint64(0):
            neuron = (64 * place + lowest_bit(different)) // bits
            different &= different - np.uint64(1)
            piece = _piece(new, neuron, bits)
            if piece == current.pattern[neuron]:
                continue
            current.pattern[neuron] = piece
            while neuron >= maps.row_start[layer + 1] - base:
                layer += 1
            found = min(found, layer)
            if layer == found:
                set_piece(maps, current, layer, base + neuron, piece, False)
    return found


@kernel(sums="in any order", inner=True)
def _dot(weights: Any, values: Any) -> float:
    total = 0.0
    for row in range(len(weights)):
        total += weights[row] * values[row]
    return total


@kernel
def maps_of_patterns(
    maps: Any, output: Any, words: Any, bits: int, current: Any, found: Any
) -> None:
    """Maps of the last layer before its activation, for each pattern of the layers before it.

    Parameters
    ----------
    maps : MapArrays
    output : tuple
        The last layer as one matrix, shape (its width, rows), and its first column: those before it
        are 0. A matrix without rows: the layer is summed like all others.
    words : ndarray of uint64, shape (patterns, words)
        Packed patterns of all layers but the last.
    bits : int
        Bits of a neuron.
    current : LayerMaps
        Room for one pattern of all layers but the last, and for its maps.
    found : ndarray, shape (patterns, width of the last layer, inputs + 1)
        Gets the maps.
    """
    d, last, base = maps.dimension, len(maps.row_start) - 2, maps.row_start[1]
    before, after = current.before, current.after
    weights, start = output
    at = maps.row_start[last]
    load_input(maps, current, False)
    sum_layer(maps, current, 1, False)
    for i in range(len(words)):
        first = 1
        if i > 0:
            first = _change(maps, current, words[i - 1], words[i], bits)
        else:
            for neuron in range(at - base):
                current.pattern[neuron] = _piece(words[i], neuron, bits)
        for layer in range(first, last):
            if layer > first or i == 0:
                for row in range(maps.row_start[layer], maps.row_start[layer + 1]):
                    set_piece(maps, current, layer, row, current.pattern[row - base], False)
            if layer + 1 < last:
                sum_layer(maps, current, layer + 1, False)
        whole = len(weights) > 0
        for o in range(len(weights)):
            for c in range(d + 1):
                total = _dot(weights[o], after[c, start:at])
                if c == d:
                    total += maps.bias[at + o]
                whole = whole and abs(total) < np.inf
                found[i, o, c] = total
        if not whole:  # or 0 times infinity
            sum_layer(maps, current, last, False)
            for o in range(found.shape[1]):
                for c in range(d + 1):
                    found[i, o, c] = before[c, at + o]
