"""Units of the half-spaces engine in files: checked before a kernel sees them.

What is checked is that every index points to something that is there; see
`tropicell.engines.cells.saved`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tropicell.engines.halfspaces._flat import SIDES, SIGNS, HalfspaceNetwork
from tropicell.engines.halfspaces._units import FrameNodes
from tropicell.engines.units import Arrays, Nodes, need


def frames(flat: HalfspaceNetwork, n: int, points: int, *, store: bool) -> FrameNodes:
    """Room for so many frames and points, with numbers that mean nothing yet."""
    d = flat.dimension
    words = max(1, -(-int(np.diff(flat.first_cut).max(initial=1)) // 64))
    return FrameNodes(
        layers=np.empty(n, np.int64),
        cuts=np.empty(n, np.int64),
        point_ends=np.empty(n, np.int64),
        decided=np.empty((n, SIDES, words), np.uint64),
        masks=np.empty((points, SIGNS, words), np.uint64),
        basis=np.empty((points, d), np.int32),
        vertex=np.empty((points if store else 0, d + 1, d)),
        pieces=np.empty(len(flat.bias), np.uint8),
    )


def frame_arrays(flat: HalfspaceNetwork, nodes: Nodes) -> Arrays:
    """Frames that wait, as arrays with the names that they have in files."""
    part: FrameNodes = nodes.arrays.part(nodes.first, nodes.last)
    prefix = int(flat.first_neuron[part.layers[-1]])
    return part._replace(pieces=part.pieces[:prefix])._asdict()


def frame_nodes(flat: HalfspaceNetwork, arrays: Arrays, *, store: bool) -> Nodes:
    """The frames again, checked."""
    check_halfspaces(flat, arrays, store=store)
    own = {name: np.array(array, order="C") for name, array in arrays.items()}
    nodes = frames(flat, 0, 0, store=store)._replace(**own)
    return Nodes(nodes, 0, len(nodes.layers))


def check_halfspaces(flat: HalfspaceNetwork, part: Arrays, *, store: bool) -> None:
    """Raise ValueError if frames of the half-spaces engine could make a kernel leave its arrays."""
    d = flat.dimension
    base = flat.cuts_at
    cuts = np.diff(flat.first_cut)
    depth = len(cuts)
    words = max(1, -(-int(cuts.max(initial=1)) // 64))
    layers = part["layers"]
    n, points = len(layers), len(part["masks"])
    expected: dict[str, Any] = {
        "layers": (np.int64, (n,)),
        "cuts": (np.int64, (n,)),
        "decided": (np.uint64, (n, SIDES, words)),
        "point_ends": (np.int64, (n,)),
        "masks": (np.uint64, (points, SIGNS, words)),
        "basis": (np.int32, (points, d)),
        "pieces": (np.uint8, (int(flat.first_neuron[layers[-1]]),)),
    }
    if store:
        expected["vertex"] = (np.float64, (points, d + 1, d))
    need(set(part) == set(expected), f"arrays {sorted(part)}")
    for name, (dtype, shape) in expected.items():
        need(part[name].dtype == dtype and part[name].shape == shape, f"shape of {name}")
    need(((layers >= 0) & (layers < depth)).all() and (np.diff(layers) >= 0).all(), "layers")
    need(((part["cuts"] >= 0) & (part["cuts"] < cuts[layers])).all(), "cuts")
    ends = part["point_ends"]
    need((np.diff(ends, prepend=0) >= 1).all() and ends[-1] == points, "points")
    need((np.bincount(layers, minlength=depth) <= cuts).all(), "too many frames")
    owner = np.repeat(layers, np.diff(ends, prepend=0))
    rows = base + flat.first_cut[owner + 1]
    need(((part["basis"] >= 0) & (part["basis"] < rows[:, None])).all(), "basis")
    for masks, mine in ((part["decided"], layers), (part["masks"], owner)):
        bits = np.unpackbits(masks.view(np.uint8), axis=-1, bitorder="little")
        beyond = np.arange(64 * words) >= cuts[mine][:, None, None]
        need(not (bits.astype(bool) & beyond).any(), "masks")
    slopes = np.diff(flat.neuron_cut)[: len(part["pieces"])]
    need((part["pieces"] <= slopes).all(), "pieces")
