"""The frames of the `halfspaces` search as plain arrays: taken apart into units, and put back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell.engines import _halfspaces_kernel as kernel
from tropicell.engines._halfspaces_search import Search
from tropicell.engines._halfspaces_work import grow
from tropicell.engines.units import Arrays, Unit, estimates, groups

#: So many points of a waiting node are handed on with it; others are found anew.
_POINTS = 16


def take(search: Search, generation: int) -> list[Unit]:
    """All frames of a search that stopped between two nodes, as units, the next ones first."""
    work, program = search.work, search.program
    tree, state = work.tree, work.state
    top, layer = int(state[kernel.TOP_LAYER]), int(state[kernel.LAYER])
    frames = [(k, f) for k in range(top, layer + 1) for f in range(int(tree.n_frames[k]))]
    if not frames:
        return []
    layers = np.array([k for k, _ in frames])
    cuts = np.diff(program.first_cut)
    decided = np.array([tree.frame_decided[k, f] for k, f in frames])
    known = (decided[:, 0] | decided[:, 1]).view(np.uint8)
    free = cuts[layers] - np.unpackbits(known, axis=1).sum(axis=1, dtype=np.int64)
    weights = estimates(free - 1, layers, search.network.n_inputs)
    return [Unit(generation, _part(search, frames[part])) for part in groups(weights, generation)]


def _part(search: Search, frames: list[tuple[int, int]]) -> Arrays:
    work, program = search.work, search.program
    tree = work.tree
    members, ends = [], []
    total = 0
    for k, f in frames:
        fitting = _fitting(tree, k, f)
        members.append(fitting)
        total += len(fitting)
        ends.append(total)
    layer_of = np.repeat([k for k, _ in frames], np.diff(ends, prepend=0))
    points = np.concatenate(members)
    last = frames[-1][0]
    part: Arrays = {
        "pieces": work.maps.piece[: program.first_neuron[last]].copy(),
        "layers": np.array([k for k, _ in frames], np.int64),
        "cuts": np.array([tree.frames[k, f, 0] for k, f in frames], np.int64),
        "decided": np.array([tree.frame_decided[k, f] for k, f in frames]),
        "point_ends": np.array(ends, np.int64),
        "masks": tree.masks[layer_of, points],
        "basis": tree.basis[layer_of, points],
    }
    if search.options.store:
        part["vertex"] = tree.vertex[layer_of, points]
    return part


def _fitting(tree: Any, layer: int, frame: int) -> NDArray[np.int32]:
    """Some points of a frame's node that lie on its negative side."""
    cut, start, stop = (int(x) for x in tree.frames[layer, frame, :3])
    members = tree.members[layer, start:stop]
    positive = tree.masks[layer, members, 0, cut >> 6] >> np.uint64(cut & 63) & np.uint64(1)
    return np.asarray(members[positive == 0][:_POINTS])


def put(search: Search, part: Arrays) -> None:
    """Bring a search to where the frames of a unit wait."""
    layers = part["layers"]
    search.restore(int(layers[0]), int(layers[-1]), part["pieces"])
    starts = np.concatenate([[0], part["point_ends"]])
    for k in np.unique(layers):
        mine = np.flatnonzero(layers == k)
        first, last = int(starts[mine[0]]), int(starts[mine[-1] + 1])
        n = last - first
        while search.work.tree.masks.shape[1] < n or search.work.tree.members.shape[1] < n:
            search.work = grow(search.work)
        tree = search.work.tree
        tree.masks[k, :n] = part["masks"][first:last]
        tree.basis[k, :n] = part["basis"][first:last]
        if "vertex" in part:
            tree.vertex[k, :n] = part["vertex"][first:last]
        tree.members[k, :n] = np.arange(n)
        tree.n_points[k] = n
        tree.n_frames[k] = len(mine)
        for f, place in enumerate(mine):
            tree.frames[k, f] = (
                part["cuts"][place],
                starts[place] - first,
                starts[place + 1] - first,
                n,
            )
            tree.frame_decided[k, f] = part["decided"][place]
