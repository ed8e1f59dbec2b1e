"""The affine maps of many patterns: from the output back to the input, or for regions in a row.

`NetworkMaps.of_patterns` carries one column for every input through the layers. Going back from the
output carries one row for every output instead. Networks with images as inputs have few
outputs and many inputs, so this is a hundred times less work for them. Regions, of which there are
millions and which have few inputs, go through a kernel from the input on, in threads.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from tropicell._runtime.arrays import FloatArray
from tropicell._runtime.parts import in_parts
from tropicell._runtime.progress import bar_of
from tropicell.network.domains import WholeSpace
from tropicell.network.layers import Affine, Layer
from tropicell.network.network import Network
from tropicell.network.patterns import PatternArray, split_layers
from tropicell.regions.columns import PackedPatterns

if TYPE_CHECKING:  # Numba is slow to import
    from tropicell.network.flat import MapArrays

#: Patterns that a thread works on at a time.
_PART = 1024
#: The map of so few outputs is not summed like that of a layer.
_FEW_OUTPUTS = 16


def output_maps(network: Network, patterns: PatternArray) -> FloatArray:
    """The maps of patterns in float64, whichever way is shorter.

    Parameters
    ----------
    network : Network
    patterns : ndarray of uint8, shape (patterns, neurons)

    Returns
    -------
    ndarray, shape (patterns, outputs, inputs + 1)
        Offsets last, as in `Regions.affine_maps`.

    Examples
    --------
    >>> network = Network.mlp([[[1.0], [-1.0]], [[1.0, 2.0]]], [[0.0, 1.0], [5.0]])
    >>> output_maps(network, np.array([[1, 0], [1, 1]], dtype=np.uint8))
    array([[[ 1.,  5.]],
           [[-1.,  7.]]])
    """
    count, outputs = len(patterns), network.n_outputs
    if not count:
        return np.empty((0, outputs, network.n_inputs + 1))
    if network.n_inputs < outputs:
        return np.ascontiguousarray(network.maps("float").of_patterns(patterns))
    # For every layer that the output depends on: how it does, shape (patterns, outputs, width).
    reached: dict[int, FloatArray] = {}
    offset = np.tile(network.output.bias, (count, 1))
    _hand_back(network.output.operators, np.tile(np.eye(outputs), (count, 1, 1)), reached)
    parts = split_layers(patterns, network.widths)
    for index in range(network.depth, 0, -1):
        after = reached.pop(index, None)
        if after is None:
            continue
        layer, piece = network.layers[index - 1], parts[index - 1]
        rows = np.arange(layer.width)
        offset += np.einsum("pow,pw->po", after, layer.activation.intercepts[rows, piece])
        before = after * layer.activation.slopes[rows, piece][:, None, :]
        offset += before @ layer.affine.bias
        _hand_back(layer.affine.operators, before, reached)
    maps = np.zeros((count, outputs, network.n_inputs + 1))
    if 0 in reached:
        linear = reached[0]
        if network.float_embedding is not None:
            offset += linear @ network.float_embedding.offset
            linear = linear @ network.float_embedding.matrix
        maps[:, :, :-1] = linear
    maps[:, :, -1] = offset
    return maps


def packed_maps(
    network: Network, packed: PackedPatterns, *, workers: int = 1, progress: bool | None = False
) -> FloatArray:
    """The maps of packed patterns, made from the input on.

    Parameters
    ----------
    network : Network
    packed : PackedPatterns
    workers : int
        Number of threads; the maps do not depend on it.
    progress : bool, optional
        Show a progress bar if it takes longer than two seconds; None: if standard error is a
        terminal.

    Examples
    --------
    >>> network = Network.mlp([[[1.0], [-1.0]], [[1.0, 2.0]]], [[0.0, 1.0], [5.0]])
    >>> packed = PackedPatterns.pack(np.array([[1, 0], [1, 1]], dtype=np.uint8), 1)
    >>> packed_maps(network, packed, workers=2).tolist()
    [[[1.0, 5.0]], [[-1.0, 7.0]]]
    """
    from tropicell._runtime.memory import Blueprint  # noqa: PLC0415
    from tropicell.regions._pattern_maps import maps_of_patterns, pattern_room  # noqa: PLC0415

    fill: Any = maps_of_patterns
    flat = _flat_with_output(network)
    size = network.n_inputs + 1
    found = np.empty((len(packed), network.n_outputs, size))
    words, mine = np.ascontiguousarray(packed.words, dtype=np.uint64), threading.local()
    output = _output_rows(network, flat)
    room = Blueprint(lambda free: pattern_room(flat, free))

    def work(part: slice) -> None:
        if not hasattr(mine, "room"):
            mine.room = room.build()
        fill(flat, output, words[part], packed.bits, mine.room, found[part])
        bar.update(part.stop - part.start)

    with bar_of(len(packed), " maps", progress) as bar:
        in_parts(work, len(packed), workers, _PART)
    return found


def _flat_with_output(network: Network) -> MapArrays:
    """Flat arrays for a network whose output is one more layer, in the inputs' own scale."""
    from tropicell.network.flat import embedding_of, flatten  # noqa: PLC0415 - Numba

    rows = embedding_of(network)
    layers = [*network.layers, Layer(network.output)]
    last = Affine({len(layers): np.eye(network.n_outputs)})
    whole = Network(len(rows), layers, last, embedding=network.embedding)
    return flatten(whole, WholeSpace()).maps._replace(input_rows=rows)


def _output_rows(network: Network, flat: MapArrays) -> tuple[FloatArray, int]:
    """The output as one matrix, from the first row that it reads on; empty if it is wide."""
    starts = flat.row_start
    sources = sorted(network.output.terms)
    if network.n_outputs > _FEW_OUTPUTS or not sources:
        return np.empty((0, 0)), 0
    start = int(starts[sources[0]])
    rows = np.zeros((network.n_outputs, int(starts[network.depth + 1]) - start))
    for source, matrix in network.output.terms.items():
        place = slice(int(starts[source]) - start, int(starts[source + 1]) - start)
        rows[:, place] = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
    return rows, start


def _hand_back(terms: dict[int, Any], rows: FloatArray, reached: dict[int, FloatArray]) -> None:
    """From how the output depends on a sum to how it depends on the layers that are summed."""
    count, outputs, width = rows.shape
    for source, matrix in terms.items():
        part = np.asarray(rows.reshape(-1, width) @ matrix).reshape(count, outputs, -1)
        reached[source] = reached[source] + part if source in reached else part
