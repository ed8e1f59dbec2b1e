"""Units from files: checked before a kernel sees them, because kernels check nothing.

What is checked is that every index points to something that is there. Whether the polygons are
those of the network can't be seen cheaply; a file that lies about that gives wrong regions, not
more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tropicell.engines.cells._exact_cells import Cone, ExactCell, ExactCells
from tropicell.engines.cells._state import (
    CONFLICT_AT,
    CORNER_AT,
    FACET_AT,
    LAYER,
    MOST_FACETS,
    N_CONFLICTS,
    N_CORNERS,
    N_FACETS,
    PIECES_AT,
    POLYGON_SIZE,
    RECORD_SIZE,
    SIMPLE,
    TABLE_END,
)
from tropicell.engines.halfspaces._flat import HalfspaceNetwork
from tropicell.engines.units import Arrays
from tropicell.network.flat import FlatNetwork
from tropicell.network.network import Network

#: Types and numbers of columns of a unit's arrays; 0 columns: not a matrix, `_RAY`: d + 2.
_RAY = -1
_PLANE = {"poly": (float, POLYGON_SIZE), "labels": (int, 0), "conflicts": (int, 0)}
_CONE = {
    "rays": (float, _RAY),
    "tight": (np.uint64, 0),
    "facets": (int, 0),
    "conflicts": (int, 0),
    "table": (float, _RAY),
    "table_labels": (int, 0),
}


def _need(fine: Any, what: str) -> None:
    if not fine:
        raise ValueError(what)


def check_cells(flat: FlatNetwork, network: Network, part: Arrays) -> None:
    """Raise ValueError if a stack of the cells engine could make a kernel leave its arrays."""
    plane = flat.dimension == 2
    kinds = (_PLANE if plane else _CONE) | {
        "records": (int, RECORD_SIZE),
        "pattern": (np.uint8, 0),
        "pieces": (np.uint8, 0),
    }
    _need(set(part) == set(kinds), f"arrays {sorted(part)}")
    for name, (dtype, columns) in kinds.items():
        wide = flat.dimension + 2 if columns == _RAY else columns
        shape = part[name].shape[1:]
        _need(part[name].dtype == np.dtype(dtype), f"type of {name}")
        _need(shape == ((wide,) if wide else ()), f"shape of {name}")
    records = part["records"]
    _need(len(records) > 0, "no records")
    layers = records[:, LAYER]
    _need(((layers >= 1) & (layers <= flat.depth)).all(), "layers")
    _need((np.diff(layers) >= 0).all(), "order of layers")
    widths = np.array([flat.layer_width(k) for k in layers.tolist()])
    corners = part["poly" if plane else "rays"]
    least = 3 if plane else 1
    _inside(records[:, CORNER_AT], records[:, N_CORNERS], len(corners), "corners", least)
    n_conflicts = len(part["conflicts"])
    _inside(records[:, CONFLICT_AT], records[:, N_CONFLICTS], n_conflicts, "conflicts")
    _inside(records[:, PIECES_AT], widths, len(part["pieces"]), "pieces")
    starts, pieces = flat.lines.line_start, network.pieces
    for record in records.tolist():
        layer, at = record[LAYER], record[CONFLICT_AT]
        mine = part["conflicts"][at : at + record[N_CONFLICTS]]
        first, last = starts[layer], starts[layer + 1]
        _need(((mine >= first) & (mine < last)).all(), "conflicts")
        neuron, at = flat.first_neuron(layer), record[PIECES_AT]
        mine = part["pieces"][at : at + flat.layer_width(layer)]
        _need((mine < pieces[neuron : neuron + len(mine)]).all(), "pieces")
    _need(len(part["pattern"]) == flat.first_neuron(int(layers[-1])), "pattern")
    _need((part["pattern"] < pieces[: len(part["pattern"])]).all(), "pattern")
    labels = np.abs(part["labels" if plane else "table_labels"])
    _need(((labels >= 1) & (labels <= len(flat.lines.line_row))).all(), "labels")
    if not plane:
        _check_cones(part, records)


def _check_cones(part: Arrays, records: Any) -> None:
    _inside(records[:, FACET_AT], records[:, N_FACETS], len(part["facets"]), "facets", least=1)
    _need((records[:, N_FACETS] <= MOST_FACETS).all(), "number of facets")
    _need(len(part["table"]) == len(part["table_labels"]), "table")
    tables = records[:, TABLE_END]
    _need(((tables >= 0) & (tables <= len(part["table"]))).all(), "table")
    _need((tables[-1:] == len(part["table"])).all() and (np.diff(tables) >= 0).all(), "table")
    facets = np.abs(part["facets"])
    _need(((facets >= 1) & (facets <= len(part["table"]))).all(), "facets")
    _need(len(part["tight"]) == len(part["rays"]), "rays")
    _need(np.isin(records[:, SIMPLE], (0, 1)).all(), "simple")


def _inside(starts: Any, sizes: Any, length: int, what: str, least: int = 0) -> None:
    """Parts of an array lie in it, one after the other."""
    ends = starts + sizes
    fine = (starts >= 0).all() and (sizes >= least).all() and (ends <= length).all()
    _need(fine and (starts[1:] >= ends[:-1]).all() and ends[-1] == length, what)


def check_halfspaces(flat: HalfspaceNetwork, part: Arrays, *, store: bool) -> None:
    """Raise ValueError if frames of the half-spaces engine could make a kernel leave its arrays."""
    d = flat.inputs.shape[1] - 1
    base = d + len(flat.domain)
    cuts = np.diff(flat.first_cut)
    depth = len(cuts)
    words = max(1, -(-int(cuts.max(initial=1)) // 64))
    layers = part["layers"]
    n, points = len(layers), len(part["masks"])
    expected: dict[str, Any] = {
        "layers": (np.int64, (n,)),
        "cuts": (np.int64, (n,)),
        "decided": (np.uint64, (n, 2, words)),
        "point_ends": (np.int64, (n,)),
        "masks": (np.uint64, (points, 3, words)),
        "basis": (np.int32, (points, d)),
        "pieces": (np.uint8, (int(flat.first_neuron[layers[-1]]),)),
    }
    if store:
        expected["vertex"] = (np.float64, (points, d + 1, d))
    _need(set(part) == set(expected), f"arrays {sorted(part)}")
    for name, (dtype, shape) in expected.items():
        _need(part[name].dtype == dtype and part[name].shape == shape, f"shape of {name}")
    _need(((layers >= 0) & (layers < depth)).all() and (np.diff(layers) >= 0).all(), "layers")
    _need(((part["cuts"] >= 0) & (part["cuts"] < cuts[layers])).all(), "cuts")
    ends = part["point_ends"]
    _need((np.diff(ends, prepend=0) >= 1).all() and ends[-1] == points, "points")
    _need((np.bincount(layers, minlength=depth) <= cuts).all(), "too many frames")
    owner = np.repeat(layers, np.diff(ends, prepend=0))
    rows = base + flat.first_cut[owner + 1]
    _need(((part["basis"] >= 0) & (part["basis"] < rows[:, None])).all(), "basis")
    for masks, mine in ((part["decided"], layers), (part["masks"], owner)):
        bits = np.unpackbits(masks.view(np.uint8), axis=-1, bitorder="little")
        beyond = np.arange(64 * words) >= cuts[mine][:, None, None]
        _need(not (bits.astype(bool) & beyond).any(), "masks")
    slopes = np.diff(flat.neuron_cut)[: len(part["pieces"])]
    _need((part["pieces"] <= slopes).all(), "pieces")


def cell_to_json(cell: ExactCell) -> dict[str, Any]:
    """An exact cell; numbers in hexadecimal digits, of any length."""
    cone = cell.cone
    return {
        "layer": cell.layer,
        "pattern": cell.pattern.hex(),
        "labels": list(cone.labels),
        "tight": [hex(t) for t in cone.tight],
        **{
            name: [[hex(x) for x in vector] for vector in vectors]
            for name, vectors in (
                ("rows", cone.rows),
                ("rays", cone.rays),
                ("lines", cone.lineality),
            )
        },
    }


def cell_from_json(
    data: dict[str, Any], flat: FlatNetwork, network: Network, exact: ExactCells
) -> ExactCell:
    """The cell again; one with corners is compared with what its facets make."""
    layer, pattern = int(data["layer"]), bytes.fromhex(data["pattern"])
    labels = [int(label) for label in data["labels"]]
    _need(1 <= layer <= flat.depth + 1, "layer of a cell")
    prefix = flat.first_neuron(layer) if layer <= flat.depth else flat.neurons
    _need(len(pattern) == prefix, "pattern of a cell")
    pieces = network.pieces
    _need(all(p < n for p, n in zip(pattern, pieces.tolist(), strict=False)), "pattern of a cell")
    # Within its layer, a cell may have facets on that layer's boundaries.
    most = int(flat.lines.line_start[min(layer, flat.depth) + 1])
    _need(all(1 <= abs(label) <= most for label in labels), "labels of a cell")
    vectors = {
        name: [tuple(int(x, 16) for x in vector) for vector in data[name]]
        for name in ("rows", "rays", "lines")
    }
    size = network.n_inputs + 1
    _need(all(len(v) == size for vs in vectors.values() for v in vs), "vectors of a cell")
    tight = [int(t, 16) for t in data["tight"]]
    cone = Cone(vectors["rows"], labels, vectors["rays"], tight, vectors["lines"])
    same = len(cone.rows) == len(labels) and len(cone.rays) == len(tight)
    if same and cone.pointed:
        again = exact.rebuild(layer, pattern, labels)
        same = again.rows == cone.rows and again.labels == labels
        same = same and sorted(zip(again.rays, again.tight, strict=True)) == sorted(
            zip(cone.rays, tight, strict=True)
        )
    _need(same, "a cell is not what its facets make")
    return ExactCell(layer, pattern, cone)
