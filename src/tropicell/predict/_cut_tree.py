"""Kernels that build a tree of cuts from patterns, compiled; see `tropicell.predict.cut_tree`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.jit import kernel, lowest_bit


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
