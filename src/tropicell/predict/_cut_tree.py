"""Kernels that build a tree of cuts from patterns, compiled; see `tropicell.predict.cut_tree`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.jit import kernel, lowest_bit
from tropicell.network._layer_maps import (
    MOST_CHANGES,
    enter_layer,
    load_input,
    set_piece,
    sum_layer,
)
from tropicell.network.flat import COLUMNS_AT, IS_SPARSE, SOURCE, WEIGHTS_AT

#: Added to sizes in every layer, against underflow.
TINY = 1e-290


@kernel(allocates=True)
def _layer_of_difference(
    bits: NDArray[np.uint64],
    members: NDArray[np.int64],
    word_start: NDArray[np.int64],
    layer: int,
) -> int:  # pragma: no cover - compiled
    """The first layer from `layer` on in which the members do not all have the same bits."""
    first = members[0]
    for candidate in range(layer, len(word_start) - 1):
        for word in range(word_start[candidate], word_start[candidate + 1]):
            for i in range(1, len(members)):
                if bits[members[i], word] != bits[first, word]:
                    return candidate
    return -1


@kernel(allocates=True)
def _most_even_bit(
    bits: NDArray[np.uint64],
    members: NDArray[np.int64],
    weights: NDArray[np.float64],
    first_word: int,
    last_word: int,
    other: NDArray[np.float64],
) -> int:  # pragma: no cover - compiled
    """The bit of a layer that cuts the members into two parts of most even weight.

    `other` is room for a number per bit: the weight of the members whose bit is not the first's.
    """
    other[: 64 * (last_word - first_word)] = 0.0
    total = 0.0
    first = members[0]
    for i in range(len(members)):
        total += weights[members[i]]
        for word in range(first_word, last_word):
            rest = bits[members[i], word] ^ bits[first, word]
            while rest:
                place = lowest_bit(rest)
                other[64 * (word - first_word) + place] += weights[members[i]]
                rest &= rest - np.uint64(1)
    best, least = -1, np.inf
    for bit in range(64 * (last_word - first_word)):
        if other[bit] > 0.0 and abs(total - 2.0 * other[bit]) < least:
            best, least = bit, abs(total - 2.0 * other[bit])
    return 64 * first_word + best


@kernel(allocates=True)
def _zeros_first(
    bits: NDArray[np.uint64], members: NDArray[np.int64], bit: int
) -> int:  # pragma: no cover - compiled
    """Reorder the members: those with bit 0 come first; their number is returned."""
    word, mask = bit // 64, np.uint64(1) << np.uint64(bit % 64)
    zeros = 0
    for i in range(len(members)):
        if not bits[members[i], word] & mask:
            members[i], members[zeros] = members[zeros], members[i]
            zeros += 1
    return zeros


@kernel(allocates=True)
def _put(
    place: NDArray[np.int64],
    first: int,
    end: int,
    layer: int,
    prefix: int,
    parent: int,
    side: int,
    level: int,
) -> None:  # pragma: no cover - compiled
    """Write a part that waits; see `build`."""
    place[0], place[1], place[2] = first, end, layer
    place[3], place[4], place[5], place[6] = prefix, parent, side, level


@kernel(allocates=True)
def build(
    bits: NDArray[np.uint64], word_start: NDArray[np.int64], weights: NDArray[np.float64]
) -> Any:  # pragma: no cover - compiled
    """Split all regions by one bit after the other until each is alone.

    Parameters
    ----------
    bits : ndarray of uint64, shape (regions, words)
        One bit for every breakpoint of every neuron; all rows are different.
    word_start : ndarray, shape (layers + 1,)
        The words of each layer.
    weights : ndarray
        How much each region counts when parts of even weight are sought; positive.

    Returns
    -------
    children : ndarray of int32, shape (regions - 1, 2)
        For bit 0 and bit 1: a later node, or ``-1 - region``.
    bit, prefix : ndarray, shape (regions - 1,)
        The bit that each node tests, and the prefix that its regions share.
    prefix_layer, prefix_region : ndarray
        For every prefix the layer that it ends before (from 0), and one of its regions.
    levels : int
        The longest way from the root to a region.
    """
    count = len(bits)
    nodes = max(0, count - 1)
    children = np.empty((nodes, 2), np.int32)
    bit = np.empty(nodes, np.int64)
    prefix = np.empty(nodes, np.int64)
    prefix_layer = np.empty(2 * count, np.int64)
    prefix_region = np.empty(2 * count, np.int64)
    order = np.arange(count)
    other = np.empty(64 * bits.shape[1], np.float64)
    # Parts that wait: first, end, layer, prefix, parent, side, level.
    stack = np.empty((count + 1, 7), np.int64)
    _put(stack[0], 0, count, 0, -1, -1, 0, 0)
    waiting, node, prefixes, levels = 1, 0, 0, 0
    while waiting:
        waiting -= 1
        first, end, layer = stack[waiting, 0], stack[waiting, 1], stack[waiting, 2]
        known, parent = stack[waiting, 3], stack[waiting, 4]
        side, level = stack[waiting, 5], stack[waiting, 6]
        if end - first == 1:
            if parent >= 0:
                children[parent, side] = -1 - order[first]
            levels = max(levels, level)
            continue
        members = order[first:end]
        differing = _layer_of_difference(bits, members, word_start, layer)
        if differing != layer or known < 0:
            known, layer = prefixes, differing
            prefix_layer[known], prefix_region[known] = layer, order[first]
            prefixes += 1
        chosen = _most_even_bit(
            bits, members, weights, word_start[layer], word_start[layer + 1], other
        )
        middle = first + _zeros_first(bits, members, chosen)
        bit[node], prefix[node] = chosen, known
        if parent >= 0:
            children[parent, side] = node
        _put(stack[waiting], middle, end, layer, known, node, 1, level + 1)
        _put(stack[waiting + 1], first, middle, layer, known, node, 0, level + 1)
        waiting += 2
        node += 1
    return children, bit, prefix, prefix_layer[:prefixes], prefix_region[:prefixes], levels


@kernel(allocates=True)
def sides(
    children: NDArray[np.int32],
    node_line: NDArray[np.int64],
    facet_line: NDArray[np.int64],
    facet_end: NDArray[np.int64],
    first_line: int,
    levels: int,
) -> Any:  # pragma: no cover - compiled
    """The tests on the way to each region that bound it.

    Every facet of a region separates it from a neighbour, so there is a node on the way to it that
    does. Where all facets are found among the nodes on the way by their lines, these nodes are
    taken, else (several neurons share a boundary, or facets are not given) all nodes on the way.

    Parameters
    ----------
    children, node_line : ndarray
        The tree, and the line of every node.
    facet_line, facet_end : ndarray
        The lines of each region's facets; those before `first_line` belong to the domain. If no
        facet is given at all, they are not known.

    Returns
    -------
    tests : ndarray of int32
        Twice the node, plus 1 if the region is on its positive side; region after region.
    ends : ndarray
        Where the tests of each region end.
    """
    count = len(children) + 1
    known = len(facet_line) > 0
    counts = np.zeros(count, np.int64)
    tests = np.empty(0, np.int32)
    ends = np.zeros(count, np.int64)
    way = np.empty(levels + 1, np.int64)
    kept = np.empty(levels + 1, np.int64)
    for filling in range(2):
        depth = 0
        way[0] = 0
        while depth >= 0:
            child = children[way[depth] >> 1, way[depth] & 1]
            if child >= 0:
                depth += 1
                way[depth] = 2 * child
                continue
            region = -1 - child
            found = 0
            wanted = 0
            if known:
                for f in range(0 if region == 0 else facet_end[region - 1], facet_end[region]):
                    if facet_line[f] >= first_line:
                        wanted += 1
                        for level in range(depth + 1):
                            if node_line[way[level] >> 1] == facet_line[f]:
                                kept[found] = way[level]
                                found += 1
            if not known or found != wanted:
                found = depth + 1
                kept[:found] = way[:found]
            if filling == 0:
                counts[region] = found
            else:
                for i in range(found):
                    tests[ends[region] - found + i] = kept[i]
            # on to the next: back up to the last negative side, and take its positive side
            while depth >= 0 and way[depth] & 1:
                depth -= 1
            if depth >= 0:
                way[depth] += 1
        if filling == 0:
            ends = np.cumsum(counts)
            tests = np.empty(ends[-1], np.int32)
    return tests, ends


# --- the rows of the cuts -------------------------------------------------------------------------


class CutRoom(NamedTuple):
    """What a worker needs to go from the pattern of one prefix to that of the next.

    Attributes
    ----------
    current : LayerMaps
        The maps of the layers.
    before, after : ndarray, shape (rows,)
        Bounds on the sizes of the numbers behind each row's map, before and after its activation.
    state : ndarray, shape (3,)
        The layers whose outputs belong to the pattern; the layers that are summed for it; the layer
        of the last prefix.
    words : ndarray of uint64
        The packed pattern of the last prefix.
    pieces : ndarray of uint8, shape (neurons,)
        Scratch: that of the next one.
    across : ndarray
        All weights of dense matrices, those of one neuron after those of another.
    """

    current: Any
    before: NDArray[np.float64]
    after: NDArray[np.float64]
    state: NDArray[np.int64]
    words: NDArray[np.uint64]
    pieces: NDArray[np.uint8]
    across: NDArray[np.float64]


@kernel
def _piece(words: Any, bits: int, neuron: int) -> int:  # pragma: no cover - compiled
    """The piece of a neuron of a packed pattern."""
    mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    place, shift = (neuron * bits) >> 6, np.uint64((neuron * bits) & 63)
    piece = words[place] >> shift
    if shift + np.uint64(bits) > np.uint64(64):
        piece |= words[place + 1] << (np.uint64(64) - shift)
    return int(piece & mask)


@kernel(inner=True)
def _sum_sizes(maps: Any, room: Any, layer: int) -> None:  # pragma: no cover - compiled
    """Sizes of a layer before its activation: absolute values where its maps add and subtract."""
    begin, end = maps.row_start[layer], maps.row_start[layer + 1]
    width = end - begin
    out = room.before[begin:end]
    for r in range(width):
        out[r] = abs(maps.bias[begin + r]) + TINY
    for term in range(maps.term_start[layer], maps.term_start[layer + 1]):
        source = maps.terms[term, SOURCE]
        first, at = maps.row_start[source], maps.terms[term, WEIGHTS_AT]
        for row in range(first, maps.row_start[source + 1]):
            size = room.after[row]
            if size == 0.0:  # a neuron that is off: nothing is rounded
                continue
            if maps.terms[term, IS_SPARSE]:
                column = maps.terms[term, COLUMNS_AT] + row - first
                for k in range(at + maps.columns[column], at + maps.columns[column + 1]):
                    out[maps.targets[k]] += abs(maps.weights[k]) * size
            else:
                weights = maps.weights[at + (row - first) * width : at + (row - first + 1) * width]
                for r in range(width):
                    out[r] += abs(weights[r]) * size


@kernel(inner=True)
def _first_change(maps: Any, old: Any, new: Any, bits: int) -> int:  # pragma: no cover - compiled
    """The first layer on which two packed patterns differ; beyond the last one if on none."""
    layer, depth = 1, len(maps.row_start) - 2
    for place in range(len(new)):
        different = old[place] ^ new[place]
        if different != np.uint64(0):
            neuron = (64 * place + lowest_bit(different)) // bits
            while layer < depth and neuron >= maps.row_start[layer + 1] - maps.row_start[1]:
                layer += 1
            return layer
    return depth + 1


@kernel(inner=True)
def _go_to(
    maps: Any, words: Any, bits: int, layer: int, room: Any
) -> None:  # pragma: no cover - compiled
    """Bring the outputs of all layers before one up to date for a packed pattern."""
    current, state, first_row = room.current, room.state, maps.row_start[1]
    begin = 1
    if state[1] == 0:
        load_input(maps, current, False)
        for row in range(first_row):
            room.after[row] = TINY
            for c in range(maps.dimension + 1):
                room.after[row] += abs(maps.input_rows[row, c])
        state[0], state[1] = 0, 1
        sum_layer(maps, current, 1, False)
        _sum_sizes(maps, room, 1)
        current.changes[1] = 0
    else:
        begin = min(_first_change(maps, room.words, words, bits), state[2], state[0] + 1)
    for place in range(len(words)):
        room.words[place] = words[place]
    state[2] = layer
    for index in range(begin, layer):
        start, end = maps.row_start[index], maps.row_start[index + 1]
        flips = 0
        for row in range(start, end):
            piece = _piece(words, bits, row - first_row)
            room.pieces[row - first_row] = piece
            flips += piece != current.pattern[row - first_row]
        known = index <= state[0]  # but for the neurons that change
        if known and flips == 0:
            continue
        if state[1] < index:
            sum_layer(maps, current, index, False)
            _sum_sizes(maps, room, index)
            current.changes[index] = 0
        few = 4 * flips <= end - start + 8
        changes = current.changes[index + 1] + flips
        if known and few and state[1] > index and changes <= min(MOST_CHANGES, end - start):
            # The rows of the next layer change by as many terms.
            _change_sizes(maps, room, index)
            enter_layer(maps, current, index, room.pieces, start - first_row, False)
            state[0], state[1] = index, index + 1
            continue
        state[0], state[1] = index, index
        for row in range(start, end):
            piece = room.pieces[row - first_row]
            if known and piece == current.pattern[row - first_row]:
                continue
            current.pattern[row - first_row] = piece
            set_piece(maps, current, index, row, piece, False)
            room.after[row] = _size(maps, room, row, piece)


@kernel(inner=True)
def _size(maps: Any, room: Any, row: int, piece: int) -> float:  # pragma: no cover - compiled
    """The size of a neuron's output on a piece."""
    slope, shift = abs(maps.slopes[row, piece]), abs(maps.intercepts[row, piece])
    return 0.0 if slope == 0.0 and shift == 0.0 else slope * room.before[row] + shift + TINY


@kernel(inner=True)
def _change_sizes(maps: Any, room: Any, layer: int) -> None:  # pragma: no cover - compiled
    """Add to the sizes of the next layer what neurons that change have added, and will add."""
    begin = maps.row_start[layer + 1]
    width = maps.row_start[layer + 2] - begin
    first = maps.row_start[layer]
    out = room.before[begin : begin + width]
    for row in range(first, maps.row_start[layer + 1]):
        piece = room.pieces[row - maps.row_start[1]]
        if piece == room.current.pattern[row - maps.row_start[1]]:
            continue
        size = room.after[row]
        room.after[row] = _size(maps, room, row, piece)
        size += room.after[row]
        for term in range(maps.term_start[layer + 1], maps.term_start[layer + 2]):
            if maps.terms[term, SOURCE] != layer:
                continue
            at = maps.terms[term, WEIGHTS_AT]
            if maps.terms[term, IS_SPARSE]:
                column = maps.terms[term, COLUMNS_AT] + row - first
                for k in range(at + maps.columns[column], at + maps.columns[column + 1]):
                    out[maps.targets[k]] += abs(maps.weights[k]) * size
            else:
                weights = maps.weights[at + (row - first) * width : at + (row - first + 1) * width]
                for r in range(width):
                    out[r] += abs(weights[r]) * size


@kernel(inner=True)
def _one_row(
    maps: Any, room: Any, layer: int, row: int, out: Any
) -> Any:  # pragma: no cover - compiled
    """The map of one row of a layer all of whose matrices are dense, and its size."""
    d, begin = maps.dimension, maps.row_start[layer]
    for c in range(d):
        out[c] = 0.0
    out[d] = maps.bias[row]
    size = abs(maps.bias[row]) + TINY
    for term in range(maps.term_start[layer], maps.term_start[layer + 1]):
        source = maps.terms[term, SOURCE]
        first, last = maps.row_start[source], maps.row_start[source + 1]
        at = maps.terms[term, WEIGHTS_AT] + (row - begin) * (last - first)
        weights = room.across[at : at + last - first]
        size += _dot_of_sizes(weights, room.after[first:last])
        for c in range(d + 1):
            out[c] += _dot(weights, room.current.after[c, first:last])
    return size


@kernel(inner=True, sums="in any order")
def _dot(a: Any, b: Any) -> float:  # pragma: no cover - compiled
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@kernel(inner=True, sums="in any order")
def _dot_of_sizes(a: Any, b: Any) -> float:  # pragma: no cover - compiled
    total = 0.0
    for i in range(len(a)):
        total += abs(a[i]) * b[i]
    return total


@kernel
def cut_rows(
    maps: Any,
    words: Any,
    bits: int,
    prefixes: Any,
    nodes: Any,
    room: Any,
    rows: NDArray[np.float64],
    sizes: NDArray[np.float64],
) -> None:  # pragma: no cover - compiled
    """The maps of the neurons that cut, and the sizes of the numbers behind them.

    A layer is summed only if the pattern before it has changed since the last prefix, and not at
    all if few of its neurons cut.

    Parameters
    ----------
    maps : MapArrays
    words, bits : ndarray, int
        Packed patterns of all regions.
    prefixes : ndarray, shape (prefixes, 4)
        The layer whose neurons cut (from 1 on), a region with the pattern of the layers before,
        and where the prefix's nodes begin and end in `nodes`.
    nodes : ndarray, shape (nodes, 2)
        A node, and the row of its neuron.
    room : CutRoom
    rows, sizes : ndarray, shape (nodes, inputs + 1) and (nodes,)
        Get the maps, and the sizes.
    """
    d, state, current = maps.dimension, room.state, room.current
    for p in range(len(prefixes)):
        layer, region = prefixes[p, 0], prefixes[p, 1]
        begin, end = prefixes[p, 2], prefixes[p, 3]
        _go_to(maps, words[region], bits, layer, room)
        dense = True
        for term in range(maps.term_start[layer], maps.term_start[layer + 1]):
            dense &= maps.terms[term, IS_SPARSE] == 0
        width = maps.row_start[layer + 1] - maps.row_start[layer]
        if state[1] < layer and (not dense or 8 * (end - begin) > width):
            sum_layer(maps, current, layer, False)
            _sum_sizes(maps, room, layer)
            state[1] = layer
            current.changes[layer] = 0
        for k in range(begin, end):
            node, row = nodes[k, 0], nodes[k, 1]
            if state[1] >= layer:
                for c in range(d + 1):
                    rows[node, c] = current.before[c, row]
                sizes[node] = room.before[row]
            else:
                sizes[node] = _one_row(maps, room, layer, row, rows[node])
