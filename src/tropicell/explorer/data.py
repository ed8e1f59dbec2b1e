"""The columns of `Regions` as compact bytes for the page.

Every picture of the page (there are several if it is a film) is one block of arrays, compressed
with deflate, plus a small JSON object that says where each array begins. What a region costs beyond
its coordinates: its pattern (only what differs from the region before), the line and the
neighbour of each side, its number of corners, its area, and its affine map if the network has
few outputs. The page also has the network's weights, with which it finds the region of a
point and works out affine maps in float64.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime import interruption
from tropicell.analysis.graph import behind_one_neuron
from tropicell.errors import InvalidInputError
from tropicell.geometry.arithmetic import to_floats
from tropicell.network.domains import Box, Domain, Polytope
from tropicell.network.inequalities import Lines
from tropicell.network.layers import Affine
from tropicell.network.network import Network
from tropicell.regions.columns import Ragged
from tropicell.regions.regions import Regions
from tropicell.search.enumeration import all_regions

#: Room around the outermost corners when regions are unbounded, as a share of their extent.
_MARGIN = 0.1

#: Of compression: 9 takes ten times as long as 4 and saves a hundredth.
_LEVEL = 4

#: Bytes that are compressed in one go.
_PART = 2**21

#: So many affine maps a region are stored; the page works out more from the weights.
_FEW_OUTPUTS = 2


@dataclass(frozen=True, eq=False)
class Outline:
    """Regions as polygons, in the order of the regions.

    Attributes
    ----------
    corners : Ragged
        Corners in order around each region, shape (corners, 2).
    sides : ndarray
        For every corner the line (see `tropicell.network.inequalities`) of the side that starts
        there.
    lines : Lines
        What the numbers in `sides` stand for.
    """

    corners: Ragged
    sides: NDArray[np.int64]
    lines: Lines

    @property
    def extent(self) -> NDArray[np.float64]:
        """Smallest and largest coordinates, shape (2, 2)."""
        return np.stack([self.corners.values.min(axis=0), self.corners.values.max(axis=0)])


def check(regions: Regions) -> None:
    """Refuse what can't be drawn."""
    if regions.network.n_inputs != 2:
        raise InvalidInputError(
            f"the explorer shows networks with 2 inputs, this one has {regions.network.n_inputs}; "
            "enumerate its regions on a Slice"
        )
    if not len(regions):
        raise InvalidInputError("there are no regions to explore")


def outline(regions: Regions, border: Box | None = None) -> Outline:
    """The polygons of regions with two inputs; unbounded ones are cut off by a border (a `frame`).

    Examples
    --------
    >>> from tropicell import enumerate_regions
    >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
    >>> outline(enumerate_regions(network)).corners.counts
    array([4, 4, 4, 4])
    """
    check(regions)
    bounded = bool(regions.bounded.all())
    if bounded and regions.stats.get("engine") == "cells":
        return Outline(_flat(regions.corners), regions.facet_lines.values, regions.lines)
    if not regions.complete:
        raise InvalidInputError(
            "these regions are not complete, and some are unbounded or without corners in order: "
            "enumerate them in a Box with the engine 'cells'"
        )
    domain = regions.domain
    if not bounded:
        domain = _within(domain, frame([regions]) if border is None else border)
    again = all_regions(regions.network, domain, engine="cells", progress=False)
    rows = again.packed.find(regions.patterns)
    if (rows < 0).any():
        raise InvalidInputError(
            f"{(rows < 0).sum()} regions could not be cut off by a frame: enumerate them in a Box"
        )
    corners, sides = again.corners, again.facet_lines
    order = corners.places(rows)
    cut = Ragged.from_counts(corners.values[order], corners.counts[rows])
    return Outline(_flat(cut), sides.values[order], again.lines)


def _flat(corners: Ragged) -> Ragged:
    return Ragged(corners.values[:, :2].astype(np.float64), corners.ends)


def _landmarks(regions: Regions) -> NDArray[np.float64]:
    """All vertices, and the witnesses of regions without any."""
    corners = regions.corners
    vertex = corners.values[:, 2] != 0
    with_vertex = np.zeros(len(regions), dtype=np.bool_)
    with_vertex[corners.owners()[vertex]] = True
    witnesses = to_floats(regions.witnesses[~with_vertex])
    points = np.concatenate([corners.values[vertex, :2], witnesses])
    finite = np.isfinite(points).all(axis=1)  # some may be beyond what float64 can hold
    return np.asarray(points[finite])


def frame(pictures: Sequence[Regions]) -> Box:
    """A box with a point of every region, and all corners, inside."""
    points = np.concatenate([_landmarks(regions) for regions in pictures])
    low, high = points.min(axis=0), points.max(axis=0)
    room = _MARGIN * np.maximum((high - low).max(), 1.0)
    return Box(low - room, high + room)


def first_view(pictures: Sequence[Regions], extent: NDArray[np.float64]) -> NDArray[np.float64]:
    """What the page shows at first: everything, or where most corners are if there is no border.

    Two lines that are almost parallel meet far away, and the frame must reach until there.
    """
    if all(bool(regions.bounded.all()) for regions in pictures):
        return extent
    points = np.concatenate([_landmarks(regions) for regions in pictures])
    low, high = np.quantile(points, [0.1, 0.9], axis=0)
    room = np.maximum(0.5 * (high - low).max(), 1e-3 * (extent[1] - extent[0]).max())
    return np.stack([np.maximum(low - room, extent[0]), np.minimum(high + room, extent[1])])


def _within(domain: Domain, box: Box) -> Polytope:
    parts = [domain.inequalities(2), box.inequalities(2)]
    return Polytope(np.concatenate([a for a, _ in parts]), np.concatenate([b for _, b in parts]))


def neighbours_of_sides(regions: Regions, shape: Outline) -> NDArray[np.int64]:
    """For every side the region behind it, -1 where there is none."""
    owner, lines = shape.corners.owners(), shape.lines
    inner = np.flatnonzero(shape.sides >= lines.first)
    line = shape.sides[inner] - lines.first
    neuron, breakpoint = lines.neuron[line], lines.breakpoint[line]
    # the frame of the outline is a domain of its own, so neurons' lines may have other numbers
    found = behind_one_neuron(regions, owner[inner], line + regions.lines.first)
    for k in np.flatnonzero(found < 0):  # several neurons change: ask the graph
        interruption.check()
        found[k] = _behind(regions, int(owner[inner[k]]), int(neuron[k]), int(breakpoint[k]))
    result = np.full(len(owner), -1, dtype=np.int64)
    result[inner] = found
    return result


def _behind(regions: Regions, region: int, neuron: int, breakpoint: int) -> int:
    mine = int(regions.packed[region][neuron])
    for other in regions.neighbours.of(region):
        piece = int(regions.packed[int(other)][neuron])
        if min(mine, piece) <= breakpoint < max(mine, piece):
            return int(other)
    return -1


def pattern_bytes(regions: Regions) -> NDArray[np.uint8]:
    """Packed patterns, each as the bits that differ from the one before, byte columns apart.

    Regions that were found after each other differ in few neurons, so most bytes are 0.
    """
    packed = regions.packed
    size = -(-packed.neurons * packed.bits // 8)
    data = np.ascontiguousarray(packed.words).view(np.uint8)[:, :size].copy()
    data[1:] ^= data[:-1].copy()
    return np.ascontiguousarray(data.T)


def regions_after_layers(regions: Regions) -> list[int]:
    """Number of regions of the subdivisions by the first 1, 2, …, L layers.

    Examples
    --------
    >>> from tropicell import enumerate_regions
    >>> network = Network.mlp([[[1.0, 0.0]], [[1.0]], [[1.0]]], [[0.0], [-1.0], [0.0]])
    >>> regions_after_layers(enumerate_regions(network, Box(-2, 2)))
    [2, 3]
    """
    data = np.ascontiguousarray(regions.packed.words).view(np.uint8)
    counts = []
    for neurons in np.cumsum(regions.network.widths, dtype=np.int64):
        interruption.check()
        whole, rest = divmod(int(neurons) * regions.packed.bits, 8)
        prefix = data[:, : whole + (rest > 0)].copy()
        if rest:
            prefix[:, -1] &= (1 << rest) - 1
        rows = prefix.view(f"V{prefix.shape[1]}").ravel()
        counts.append(len(np.unique(rows)))
    return counts


def weights(network: Network) -> tuple[dict[str, NDArray[Any]], list[list[dict[str, Any]]]]:
    """All numbers of a network, and for each layer (the output last) its terms."""
    arrays: dict[str, NDArray[Any]] = {}
    terms = []
    for layer in range(1, network.depth + 2):
        affine = network.affine(layer)
        arrays[f"bias{layer}"] = affine.bias
        terms.append(_terms(affine, layer, arrays))
    for number, each in enumerate(network.layers, start=1):
        activation = each.activation
        arrays[f"breakpoints{number}"] = activation.breakpoints
        arrays[f"slopes{number}"] = activation.slopes
        arrays[f"intercepts{number}"] = activation.intercepts
    if network.float_embedding is not None:
        arrays["embedding"] = np.column_stack(
            [network.float_embedding.matrix, network.float_embedding.offset]
        )
    return arrays, terms


def _terms(affine: Affine, layer: int, arrays: dict[str, NDArray[Any]]) -> list[dict[str, Any]]:
    terms = []
    for source, matrix in affine.terms.items():
        name = f"matrix{layer}from{source}"
        sparse = not isinstance(matrix, np.ndarray)
        if isinstance(matrix, np.ndarray):
            arrays[name] = matrix
        else:
            arrays[name] = matrix.data
            arrays[f"{name}columns"] = matrix.indices.astype(np.uint32)
            arrays[f"{name}ends"] = matrix.indptr[1:].astype(np.uint32)
        terms.append({"source": source, "name": name, "sparse": sparse, "columns": matrix.shape[1]})
    return terms


def encode(
    regions: Regions,
    shape: Outline,
    *,
    centre: NDArray[np.float64],
    scale: float,
    label: str,
    bar: Any = None,
) -> tuple[dict[str, Any], bytes]:
    """One picture: what the page must know about it, and its arrays, compressed.

    Parameters
    ----------
    regions : Regions
    shape : Outline
        Of these regions.
    centre, scale
        Coordinates are stored as float32 numbers ``(x - centre) / scale``.
    label : str
        The picture's name in a film.
    bar : optional
        A progress bar that counts regions.
    """
    network, lines = regions.network, shape.lines
    owner = shape.corners.owners()
    behind = neighbours_of_sides(regions, shape)
    offsets = np.where(behind >= 0, behind - owner, 0)  # no region is its own neighbour
    few = lines.count <= np.iinfo(np.uint16).max
    arrays, terms = weights(network)
    arrays |= {
        "corners": ((shape.corners.values - centre) / scale).astype(np.float32),
        "counts": shape.corners.counts.astype(np.uint16),
        "sides": shape.sides.astype(np.uint16 if few else np.uint32),
        "neighbours": offsets.astype(np.int32),
        "patterns": pattern_bytes(regions),
        "areas": regions.volumes.astype(np.float32),
        "lineLayer": np.concatenate([np.zeros(lines.first, int), lines.layer]).astype(np.uint16),
        "lineIndex": np.concatenate([np.arange(-1, lines.first - 1), lines.index]).astype(np.int32),
        "lineBend": np.concatenate([np.zeros(lines.first, int), lines.breakpoint]).astype(np.uint8),
    }
    if network.n_outputs <= _FEW_OUTPUTS:
        arrays["maps"] = regions.affine_maps.astype(np.float32)
    fields, data = block(arrays)
    about = {
        "label": label,
        "regions": len(regions),
        "complete": regions.complete,
        "network": repr(network),
        "domain": repr(regions.domain),
        "widths": list(network.widths),
        "after": regions_after_layers(regions),
        "names": [layer.name for layer in network.layers],
        "activations": [layer.activation.name for layer in network.layers],
        "outputs": network.n_outputs,
        "bits": regions.packed.bits,
        "terms": terms,
        "arrays": fields,
    }
    return about, _compressed(data, len(regions), bar)


def _compressed(block: bytes, regions: int, bar: Any) -> bytes:
    """A block, compressed part by part; the bar gets its share of the regions with each."""
    compressor, parts, shown = zlib.compressobj(_LEVEL), [], 0
    for start in range(0, len(block), _PART):
        interruption.check()
        parts.append(compressor.compress(block[start : start + _PART]))
        if bar is not None:
            done = regions * min(start + _PART, len(block)) // len(block)
            bar.update(done - shown)
            shown = done
    return b"".join([*parts, compressor.flush()])


def block(arrays: dict[str, NDArray[Any]]) -> tuple[dict[str, list[Any]], bytes]:
    """Arrays one after the other, each at a multiple of 8 bytes; name: [type, offset, length]."""
    fields: dict[str, list[Any]] = {}
    parts: list[bytes] = []
    offset = 0
    for name, array in arrays.items():
        data = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).tobytes()
        fields[name] = [array.dtype.name, offset, int(array.size)]
        padding = -len(data) % 8
        parts += [data, bytes(padding)]
        offset += len(data) + padding
    return fields, b"".join(parts)
