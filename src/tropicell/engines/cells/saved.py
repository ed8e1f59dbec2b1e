"""Units of the cells engine in files: checked before a kernel sees them, which checks nothing.

What is checked is that every index points to something that is there. Whether the polygons are
those of the network can't be seen cheaply; a file that lies about that gives wrong regions, not
more.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import qr

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
    RAY_END,
    RECORD_SIZE,
    SIMPLE,
    TABLE_END,
)
from tropicell.engines.cells._units import CellNodes
from tropicell.engines.units import Arrays, Nodes, need
from tropicell.geometry.rounding import INFLATE, ROUND
from tropicell.network.flat import FlatNetwork
from tropicell.network.network import Network

#: Types and numbers of columns of a unit's arrays; 0 columns: not a matrix, `_RAY`: d + 2,
#: `_BASIS`: d.
_RAY, _BASIS = -1, -2
_PLANE = {"poly": (float, POLYGON_SIZE), "labels": (int, 0), "conflicts": (int, 0)}
_OLD_CONE = {
    "rays": (float, _RAY),
    "tight": (np.uint64, 0),
    "facets": (int, 0),
    "conflicts": (int, 0),
    "table": (float, _RAY),
    "table_labels": (int, 0),
}
_CONE = _OLD_CONE | {"bases": (int, _BASIS), "places": (int, 0)}

#: Columns of records before rays were kept in a pool.
_OLD_RECORD_SIZE = 11

#: Names of a unit's arrays in files: those of `CellNodes`, in the plane and elsewhere.
_PLANE_NAMES = {"records": "records", "corners": "poly", "tags": "labels", "conflicts": "conflicts"}
_CONE_NAMES = {
    "records": "records",
    "corners": "places",
    "tags": "tight",
    "conflicts": "conflicts",
    "facets": "facets",
    "table": "table",
    "table_labels": "table_labels",
    "rays": "rays",
    "bases": "bases",
}


def no_cells(flat: FlatNetwork) -> CellNodes:
    """No cells, in arrays of the types that kernels know."""
    plane = flat.dimension == 2
    wide = POLYGON_SIZE if plane else flat.dimension + 2
    none = np.zeros(0, np.int64)
    return CellNodes(
        records=np.zeros((0, RECORD_SIZE), np.int64),
        corners=np.zeros((0, wide)) if plane else none,
        tags=none if plane else none.view(np.uint64),
        conflicts=none,
        patterns=np.zeros(0, np.uint8),
        facets=none,
        table=np.zeros((0, wide)),
        table_labels=none,
        rays=np.zeros((0, wide)),
        bases=np.zeros((0, RECORD_SIZE if plane else flat.dimension), np.int64),
        pattern=np.zeros(0, np.uint8),
    )


def cell_arrays(flat: FlatNetwork, nodes: Nodes) -> Arrays:
    """Cells that wait, as arrays with the names that they have in files."""
    part: CellNodes = nodes.arrays.part(nodes.first, nodes.last)
    last = part.records[-1].tolist()
    end = last[PIECES_AT] + flat.layer_width(last[LAYER])
    names = _PLANE_NAMES if flat.dimension == 2 else _CONE_NAMES
    return {name: getattr(part, field) for field, name in names.items()} | {
        "pieces": part.patterns[:end],
        "pattern": part.pattern[: flat.first_neuron(last[LAYER])],
    }


def cell_nodes(flat: FlatNetwork, network: Network, arrays: Arrays) -> Nodes:
    """The cells again, checked."""
    arrays = _as_now(flat, network, arrays)
    check_cells(flat, network, arrays)
    names = _PLANE_NAMES if flat.dimension == 2 else _CONE_NAMES
    names = names | {"patterns": "pieces", "pattern": "pattern"}
    own = {field: np.array(arrays[name], order="C") for field, name in names.items()}
    nodes = no_cells(flat)._replace(**own)
    return Nodes(nodes, 0, len(nodes.records))


def _as_now(flat: FlatNetwork, network: Network, arrays: Arrays) -> Arrays:
    """Cells from a file whose records have no pool of rays: every cell has rays of its own."""
    records = arrays.get("records")
    if records is None or records.shape[1:] != (_OLD_RECORD_SIZE,):
        return arrays
    check_cells(flat, network, arrays, old=True)
    now = dict(arrays)
    now["records"] = np.pad(records, [(0, 0), (0, RECORD_SIZE - _OLD_RECORD_SIZE)])
    if flat.dimension == 2:
        return now
    # Rows were divided by their largest coefficient, and errors were bounds on single numbers.
    d, root = flat.dimension, np.sqrt(flat.dimension + 1) * INFLATE
    rows, rays = arrays["table"].copy(), arrays["rays"].copy()
    lengths = np.linalg.norm(rows[:, :-1], axis=1, keepdims=True)
    rows /= np.where(lengths > 0, lengths, 1.0)
    rows[:, -1] = root * rows[:, -1] + 8 * ROUND
    rays[:, -1] *= root
    now["table"], now["rays"], now["places"] = rows, rays, np.arange(len(rays))
    now["records"][:, RAY_END] = records[:, CORNER_AT] + records[:, N_CORNERS]
    bases = np.zeros((len(rays), d), np.int64)
    for record in records.tolist():
        mine = np.abs(arrays["facets"][record[FACET_AT] : record[FACET_AT] + record[N_FACETS]]) - 1
        for k in range(record[CORNER_AT], record[CORNER_AT] + record[N_CORNERS]):
            on = [f for f in range(len(mine)) if int(arrays["tight"][k]) >> f & 1]
            need(len(on) >= d, "facets of a ray")
            with np.errstate(all="ignore"):
                chosen = mine[on]
                if len(on) > d:
                    chosen = chosen[qr(rows[chosen, :-1].T, mode="r", pivoting=True)[1][:d]]
            bases[k] = chosen
    now["bases"] = bases
    return now


def check_cells(flat: FlatNetwork, network: Network, part: Arrays, *, old: bool = False) -> None:
    """Raise ValueError if a stack of the cells engine could make a kernel leave its arrays."""
    plane = flat.dimension == 2
    kinds = (_PLANE if plane else _OLD_CONE if old else _CONE) | {
        "records": (int, _OLD_RECORD_SIZE if old else RECORD_SIZE),
        "pattern": (np.uint8, 0),
        "pieces": (np.uint8, 0),
    }
    need(set(part) == set(kinds), f"arrays {sorted(part)}")
    for name, (dtype, columns) in kinds.items():
        wide = {_RAY: flat.dimension + 2, _BASIS: flat.dimension}.get(columns, columns)
        shape = part[name].shape[1:]
        need(part[name].dtype == np.dtype(dtype), f"type of {name}")
        need(shape == ((wide,) if wide else ()), f"shape of {name}")
    records = part["records"]
    need(len(records) > 0, "no records")
    layers = records[:, LAYER]
    need(((layers >= 1) & (layers <= flat.depth)).all(), "layers")
    need((np.diff(layers) >= 0).all(), "order of layers")
    widths = np.array([flat.layer_width(k) for k in layers.tolist()])
    corners = part["poly" if plane else "rays" if old else "places"]
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
        need(((mine >= first) & (mine < last)).all(), "conflicts")
        neuron, at = flat.first_neuron(layer), record[PIECES_AT]
        mine = part["pieces"][at : at + flat.layer_width(layer)]
        need((mine < pieces[neuron : neuron + len(mine)]).all(), "pieces")
    need(len(part["pattern"]) == flat.first_neuron(int(layers[-1])), "pattern")
    need((part["pattern"] < pieces[: len(part["pattern"])]).all(), "pattern")
    labels = np.abs(part["labels" if plane else "table_labels"])
    need(((labels >= 1) & (labels <= len(flat.lines.line_row))).all(), "labels")
    if not plane:
        _check_cones(part, records)
        need(len(part["tight"]) == len(corners), "rays")
        if not old:
            _check_pool(part, records)


def _check_cones(part: Arrays, records: Any) -> None:
    _inside(records[:, FACET_AT], records[:, N_FACETS], len(part["facets"]), "facets", least=1)
    need((records[:, N_FACETS] <= MOST_FACETS).all(), "number of facets")
    need(len(part["table"]) == len(part["table_labels"]), "table")
    tables = records[:, TABLE_END]
    need(((tables >= 0) & (tables <= len(part["table"]))).all(), "table")
    need((tables[-1:] == len(part["table"])).all() and (np.diff(tables) >= 0).all(), "table")
    facets = np.abs(part["facets"])
    need(((facets >= 1) & (facets <= len(part["table"]))).all(), "facets")
    need(np.isin(records[:, SIMPLE], (0, 1)).all(), "simple")


def _check_pool(part: Arrays, records: Any) -> None:
    ends, n = records[:, RAY_END], len(part["rays"])
    need(((ends >= 0) & (ends <= n)).all() and (np.diff(ends) >= 0).all(), "rays")
    need(int(ends[-1]) == n and len(part["bases"]) == n, "rays")
    need(((part["bases"] >= 0) & (part["bases"] < max(len(part["table"]), 1))).all(), "bases")
    need((part["places"] >= 0).all(), "rays")
    mine = np.repeat(ends, records[:, N_CORNERS])
    need(len(mine) == len(part["places"]) and (part["places"] < mine).all(), "rays")
    # A layer's cells have rays of their own.
    lowest = np.minimum.reduceat(part["places"], records[:, CORNER_AT])
    others = np.flatnonzero(np.diff(records[:, LAYER])) + 1
    need(all(lowest[k:].min() >= ends[k - 1] for k in others), "rays of another layer")


def _inside(starts: Any, sizes: Any, length: int, what: str, least: int = 0) -> None:
    """Parts of an array lie in it, one after the other."""
    ends = starts + sizes
    fine = (starts >= 0).all() and (sizes >= least).all() and (ends <= length).all()
    need(fine and (starts[1:] >= ends[:-1]).all() and ends[-1] == length, what)


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
    need(1 <= layer <= flat.depth + 1, "layer of a cell")
    prefix = flat.first_neuron(layer) if layer <= flat.depth else flat.neurons
    need(len(pattern) == prefix, "pattern of a cell")
    pieces = network.pieces
    need(all(p < n for p, n in zip(pattern, pieces.tolist(), strict=False)), "pattern of a cell")
    # Within its layer, a cell may have facets on that layer's boundaries.
    most = int(flat.lines.line_start[min(layer, flat.depth) + 1])
    need(all(1 <= abs(label) <= most for label in labels), "labels of a cell")
    vectors = {
        name: [tuple(int(x, 16) for x in vector) for vector in data[name]]
        for name in ("rows", "rays", "lines")
    }
    size = network.n_inputs + 1
    need(all(len(v) == size for vs in vectors.values() for v in vs), "vectors of a cell")
    tight = [int(t, 16) for t in data["tight"]]
    cone = Cone(vectors["rows"], labels, vectors["rays"], tight, vectors["lines"])
    same = len(cone.rows) == len(labels) and len(cone.rays) == len(tight)
    if same and cone.pointed:
        again = exact.rebuild(layer, pattern, labels)
        same = again.rows == cone.rows and again.labels == labels
        same = same and sorted(zip(again.rays, again.tight, strict=True)) == sorted(
            zip(cone.rays, tight, strict=True)
        )
    need(same, "a cell is not what its facets make")
    return ExactCell(layer, pattern, cone)
