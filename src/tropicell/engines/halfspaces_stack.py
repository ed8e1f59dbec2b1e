"""The frames of the `halfspaces` search as plain arrays: taken apart into units, and put back."""

from __future__ import annotations

import numpy as np

from tropicell.engines import _halfspaces_kernel as kernel
from tropicell.engines._halfspaces_search import Search
from tropicell.engines._halfspaces_work import grow
from tropicell.engines._unit_kernels import collect_frames, put_frames
from tropicell.engines.units import Arrays, Unit, groups

#: So many points of a waiting node are handed on with it; others are found anew.
_POINTS = 16


def take(search: Search, generation: int) -> list[Unit]:
    """All frames of a search that stopped between two nodes, as units, the next ones first."""
    work, program = search.work, search.program
    tree, state = work.tree, work.state
    d, words, store = search.network.n_inputs, tree.all_bits.shape[1], search.options.store
    top, layer = int(state[kernel.TOP_LAYER]), int(state[kernel.LAYER])
    n = int(tree.n_frames[top : layer + 1].sum())
    if not n:
        return []
    layers, cuts, free, ends = (np.empty(n, np.int64) for _ in range(4))
    decided = np.empty((n, 2, words), np.uint64)
    masks = np.empty((n * _POINTS, 3, words), np.uint64)
    basis = np.empty((n * _POINTS, d), np.int32)
    vertex = np.empty((n * _POINTS if store else 1, d + 1, d))
    collect_frames(
        program, tree, top, layer, _POINTS, store,
        layers, cuts, free, decided, ends, masks, basis, vertex,
    )  # fmt: skip
    pieces = work.maps.piece[: program.first_neuron[layer]].copy()
    units = []
    for part in groups(free, layers, d):
        first = int(ends[part.start - 1]) if part.start else 0
        last = int(ends[part.stop - 1])
        stack = {
            "pieces": pieces[: program.first_neuron[layers[part.stop - 1]]],
            "layers": layers[part],
            "cuts": cuts[part],
            "decided": decided[part],
            "point_ends": ends[part] - first,
            "masks": masks[first:last],
            "basis": basis[first:last],
        }
        if store:
            stack["vertex"] = vertex[first:last]
        units.append(Unit(generation, stack))
    return units


def put(search: Search, part: Arrays) -> None:
    """Bring a search to where the frames of a unit wait."""
    layers, masks = part["layers"], part["masks"]
    search.restore(int(layers[0]), int(layers[-1]), part["pieces"])
    while min(search.work.tree.masks.shape[1], search.work.tree.members.shape[1]) < len(masks):
        search.work = grow(search.work)
    tree, store = search.work.tree, search.options.store
    put_frames(
        tree,
        store,
        layers,
        part["cuts"],
        part["decided"],
        part["point_ends"],
        masks,
        part["basis"],
        part["vertex"] if store else tree.vertex[0],
    )
