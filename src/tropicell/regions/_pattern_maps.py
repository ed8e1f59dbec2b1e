"""The affine maps of many patterns, one after the other; only what changed is summed anew.

Regions come in an order in which neighbours in the list mostly differ in the last layers, and there
in few neurons. So the rows of a layer are sums of sums: one for every `BLOCK_OF_SOURCES` neurons
that it reads, of which those stay in which no neuron changed. What a layer's map is depends on
its pattern and those before it alone, so the numbers do not depend on where a list is cut.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray, IntArray
from tropicell._runtime.jit import kernel, lowest_bit
from tropicell.network._layer_maps import (
    LayerMaps,
    _add_four,
    layer_maps,
    load_input,
    set_piece,
    sum_layer,
)
from tropicell.network.flat import IS_SPARSE, SOURCE, WEIGHTS_AT, MapArrays

#: Neurons whose outputs are summed to one sum.
BLOCK_OF_SOURCES = 16

#: Numbers that the sums of all layers may be; layers that do not fit are summed without them.
_MOST_NUMBERS = 1 << 19

_ONE = np.uint64(1)


class PatternRoom(NamedTuple):
    """What one thread needs.

    Attributes
    ----------
    current : LayerMaps
        The pattern of all layers but the last, and its maps.
    sums : ndarray, shape (blocks of all layers, inputs + 1, widest layer)
        Sums of the neurons that a layer reads, in blocks.
    first_sum : ndarray, shape (layers + 1,)
        Where those of a layer begin; negative: it is summed without.
    first_block : ndarray, shape (layers + 1,)
        The number of the first block of a layer's neurons.
    changed : ndarray of bool, shape (blocks,)
        In which blocks a neuron has changed.
    """

    current: LayerMaps
    sums: FloatArray
    first_sum: IntArray
    first_block: IntArray
    changed: NDArray[np.bool_]


def pattern_room(maps: MapArrays, free: Any = lambda array: array) -> PatternRoom:
    """Room for the patterns of a network; for `free` see `tropicell._runtime.memory.Blueprint`."""
    d, starts = maps.dimension, np.asarray(maps.row_start)
    widths = np.diff(starts)
    widest = int(widths.max(initial=1))
    blocks = -(-widths // BLOCK_OF_SOURCES)
    first_block = np.concatenate([[0], np.cumsum(blocks)])
    first_sum, count = np.full(len(starts), -1), 0
    for layer in range(1, len(starts) - 2):  # not the last one
        terms = maps.terms[maps.term_start[layer] : maps.term_start[layer + 1]]
        mine = int(blocks[terms[:, SOURCE]].sum())
        if (terms[:, IS_SPARSE] == 0).all() and (count + mine) * (d + 1) * widest <= _MOST_NUMBERS:
            first_sum[layer] = count
            count += mine
    return PatternRoom(
        current=layer_maps(d, starts, exact=False, free=free),
        sums=free(np.zeros((count, d + 1, widest))),
        first_sum=first_sum,
        first_block=first_block,
        changed=np.zeros(int(blocks.sum()), np.bool_),
    )


@kernel
def maps_of_patterns(maps: Any, output: Any, words: Any, bits: int, room: Any, found: Any) -> None:
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
    room : PatternRoom
    found : ndarray, shape (patterns, width of the last layer, inputs + 1)
        Gets the maps.
    """
    d, last, base = maps.dimension, len(maps.row_start) - 2, maps.row_start[1]
    current, changed = room.current, room.changed
    before, after = current.before, current.after
    weights, start = output
    at = maps.row_start[last]
    load_input(maps, current, False)
    for i in range(len(words)):
        if i == 0:
            for neuron in range(at - base):
                current.pattern[neuron] = _piece(words[i], neuron, bits)
            changed[:] = True
            first = 0
        else:
            changed[:] = False
            first = _change(maps, room, words[i - 1], words[i], bits)
        for layer in range(first, last):
            if layer > first:
                _set_pieces(maps, current, layer)
                changed[room.first_block[layer] : room.first_block[layer + 1]] = True
            if layer + 1 < last:
                _sum_changes(maps, room, layer + 1)
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


@kernel
def _piece(words: Any, neuron: int, bits: int) -> int:
    """The piece of a neuron in a packed pattern."""
    place, shift = (neuron * bits) >> 6, np.uint64((neuron * bits) & 63)
    piece = words[place] >> shift
    if shift + np.uint64(bits) > np.uint64(64):
        piece |= words[place + 1] << (np.uint64(64) - shift)
    return int(piece & ((_ONE << np.uint64(bits)) - _ONE))


@kernel
def _change(maps: Any, room: Any, old: Any, new: Any, bits: int) -> int:
    """Go from one packed pattern to another, and change the outputs of the first layer that does.

    Returns that layer; the last one if none does before it.
    """
    current = room.current
    last, base = len(maps.row_start) - 2, maps.row_start[1]
    layer, found = 1, last
    for place in range(len(new)):
        different = old[place] ^ new[place]
        while different != np.uint64(0):
            neuron = (64 * place + lowest_bit(different)) // bits
            different &= different - _ONE
            piece = _piece(new, neuron, bits)
            if piece == current.pattern[neuron]:
                continue
            current.pattern[neuron] = piece
            while neuron >= maps.row_start[layer + 1] - base:
                layer += 1
            found = min(found, layer)
            if layer == found:
                row = base + neuron
                set_piece(maps, current, layer, row, piece, False)
                block = (row - maps.row_start[layer]) // BLOCK_OF_SOURCES
                room.changed[room.first_block[layer] + block] = True
    return found


@kernel(inner=True)
def _set_pieces(maps: Any, current: Any, layer: int) -> None:
    """The outputs of all neurons of a layer: what `set_piece` does, column by column."""
    d, before, after = maps.dimension, current.before, current.after
    begin, end = maps.row_start[layer], maps.row_start[layer + 1]
    slopes, shifts = current.factors[0], current.factors[1]
    for row in range(begin, end):
        piece = current.pattern[row - maps.row_start[1]]
        slopes[row - begin] = maps.slopes[row, piece]
        shifts[row - begin] = maps.intercepts[row, piece]
    largest = after[d + 1, begin:end]
    largest[:] = 0.0
    for c in range(d + 1):
        values, outputs = before[c, begin:end], after[c, begin:end]
        for j in range(end - begin):
            value = slopes[j] * values[j]
            if c == d:
                value += shifts[j]
            outputs[j] = value
            largest[j] = max(largest[j], abs(value))


@kernel(inner=True)
def _sum_changes(maps: Any, room: Any, layer: int) -> None:
    """The rows of a layer, after changes of the neurons that it reads."""
    current, at = room.current, room.first_sum[layer]
    if at < 0:
        sum_layer(maps, current, layer, False)
        return
    begin, end = maps.row_start[layer], maps.row_start[layer + 1]
    count = 0
    for term in range(maps.term_start[layer], maps.term_start[layer + 1]):
        source = maps.terms[term, SOURCE]
        for block in range(room.first_block[source], room.first_block[source + 1]):
            if room.changed[block]:
                first = maps.row_start[source]
                first += (block - room.first_block[source]) * BLOCK_OF_SOURCES
                _sum_block(maps, current, term, first, room.sums[at + count], end - begin)
            count += 1
    for c in range(maps.dimension + 1):
        rows = current.before[c, begin:end]
        for r in range(end - begin):
            rows[r] = maps.bias[begin + r] if c == maps.dimension else 0.0
        block = 0
        while block + 4 <= count:
            _add_sums(room.sums, at + block, c, rows)
            block += 4
        for rest in range(block, count):
            one = room.sums[at + rest, c]
            for r in range(end - begin):
                rows[r] += one[r]


@kernel(inner=True)
def _add_sums(sums: Any, first: int, c: int, rows: Any) -> None:
    """Add four sums of a column."""
    s0, s1, s2, s3 = sums[first, c], sums[first + 1, c], sums[first + 2, c], sums[first + 3, c]
    for r in range(len(rows)):
        rows[r] += (s0[r] + s1[r]) + (s2[r] + s3[r])


@kernel(inner=True)
def _sum_block(maps: Any, current: Any, term: int, first: int, sums: Any, width: int) -> None:
    """The sum of the outputs of a block of neurons, the first of which is `first`."""
    d, after, sources = maps.dimension, current.after, current.sources
    source = maps.terms[term, SOURCE]
    at = maps.terms[term, WEIGHTS_AT] - maps.row_start[source] * width
    count = 0
    for row in range(first, min(first + BLOCK_OF_SOURCES, maps.row_start[source + 1])):
        sources[count] = row
        count += after[d + 1, row] != 0.0
    for c in range(d + 1):
        sums[c, :width] = 0.0
    for i in range(0, count, 4):
        # A block that is not full repeats its last neuron, with factor 0.
        last = count - 1
        s0, s1 = sources[i], sources[min(i + 1, last)]
        s2, s3 = sources[min(i + 2, last)], sources[min(i + 3, last)]
        o1 = 1.0 if i + 1 < count else 0.0
        o2 = 1.0 if i + 2 < count else 0.0
        o3 = 1.0 if i + 3 < count else 0.0
        places = at + s0 * width, at + s1 * width, at + s2 * width, at + s3 * width
        c = 0
        while c + 3 <= d + 1:
            a0, a1, a2 = after[c], after[c + 1], after[c + 2]
            f = a0[s0], a0[s1] * o1, a0[s2] * o2, a0[s3] * o3
            g = a1[s0], a1[s1] * o1, a1[s2] * o2, a1[s3] * o3
            h = a2[s0], a2[s1] * o1, a2[s2] * o2, a2[s3] * o3
            out = sums[c, :width], sums[c + 1, :width], sums[c + 2, :width]
            _add_to_three(maps.weights, places, (f, g, h), out)
            c += 3
        while c < d + 1:
            a = after[c]
            f = a[s0], a[s1] * o1, a[s2] * o2, a[s3] * o3
            _add_four(maps.weights, places, f, sums[c, :width])
            c += 1


@kernel(sums="fused", inner=True, inlined=True)
def _add_to_three(weights: Any, at: Any, factors: Any, out: Any) -> None:
    """Add four neurons' outputs, times their weights, to three columns of the rows of a layer."""
    x, y, z = out
    width = len(x)
    (f0, f1, f2, f3), (g0, g1, g2, g3), (h0, h1, h2, h3) = factors
    w0, w1 = weights[at[0] : at[0] + width], weights[at[1] : at[1] + width]
    w2, w3 = weights[at[2] : at[2] + width], weights[at[3] : at[3] + width]
    for r in range(width):
        a, b, c, d = w0[r], w1[r], w2[r], w3[r]
        x[r] += (a * f0 + b * f1) + (c * f2 + d * f3)
        y[r] += (a * g0 + b * g1) + (c * g2 + d * g3)
        z[r] += (a * h0 + b * h1) + (c * h2 + d * h3)


@kernel(sums="in any order", inner=True)
def _dot(weights: Any, values: Any) -> float:
    total = 0.0
    for row in range(len(weights)):
        total += weights[row] * values[row]
    return total
