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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime import interruption
from tropicell.analysis.graph import behind_one_neuron
from tropicell.explorer.shapes import Outline
from tropicell.network.layers import Affine
from tropicell.network.network import Network
from tropicell.regions.regions import Regions

#: Of compression: 9 takes ten times as long as 4 and saves a hundredth.
_LEVEL = 4

#: Bytes that are compressed in one go.
_PART = 2**21

#: So many affine maps a region are stored; the page works out more from the weights.
_FEW_OUTPUTS = 2


def neighbours_of_sides(regions: Regions, shape: Outline) -> NDArray[np.int64]:
    """For every side the region behind it, -1 where there is none."""
    owner, lines = shape.owners(), shape.lines
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
    >>> from tropicell import Box, enumerate_regions
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
    owner = shape.owners()
    behind = neighbours_of_sides(regions, shape)
    offsets = np.where(behind >= 0, behind - owner, 0)  # no region is its own neighbour
    few = lines.count <= np.iinfo(np.uint16).max
    arrays, terms = weights(network)
    arrays |= shape.arrays() | {
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
        with np.errstate(over="ignore"):  # the panel computes maps from the weights
            arrays["maps"] = regions.affine_maps.astype(np.float32)
    fields, data = block(arrays)
    about = {
        "label": label,
        "regions": len(regions),
        "complete": regions.complete,
        "network": repr(network),
        "domain": repr(regions.domain),
        "inputs": network.n_inputs,
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


def compressed_block(arrays: dict[str, NDArray[Any]]) -> tuple[dict[str, list[Any]], bytes]:
    """Arrays as one compressed block, and where each of them is in it."""
    fields, data = block(arrays)
    return fields, _compressed(data, 0, None)


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
