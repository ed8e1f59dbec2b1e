"""A network on a domain as one block of device memory, in the layout that `plane.cu` reads."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tropicell.engines.gpu._digits import (
    base_of,
    constants,
    slices_needed,
    slices_of,
)
from tropicell.geometry.norms import spectral_norm
from tropicell.geometry.rounding import INFLATE, ROUND, TINY
from tropicell.network.flat import EXTRA_ROUNDINGS, FlatNetwork
from tropicell.network.network import Network

#: BOUND_UNITS of plane.cu: error bounds are multiplied in float32, in units of 2^-50. The second
#: number covers all rounding there, that of TF32 included, for up to 100,000 summands.
_BOUND_UNITS, _ROUNDED = 2.0**50, 1.01

#: Roundings beyond one per summand that the error bound of a sum leaves room for.
_EXTRA = 20

#: In bounds, nonzero weights are at least so large, relative to the largest of their row.
_SMALLEST = 1e-6

#: Arrays begin at multiples of so many bytes.
_ALIGNED = 256

_CELLS = [(name, np.int64) for name in ("node", "start", "n", "up", "open")]
_UNSURE = [(name, np.int64) for name in ("node", "start", "n", "pieces", "open")]

#: ``struct Level`` of plane.cu; pointers are integers.
LEVEL = np.dtype(
    [(name, np.int32) for name in ("index", "width", "lines", "words", "piece_words")]
    + [(name, np.int32) for name in ("plain", "relu", "from_input")]
    + [(name, np.int32) for name in ("n_sources", "inputs", "after_last")]
    + [(name, np.int32) for name in ("first_line", "first_neuron", "pieces")]
    + [("gamma", np.float64)]
    + [(name, np.int64) for name in ("sources", "base", "base_error")]
    + [(name, np.int64) for name in ("slopes", "intercepts", "bias", "row", "at", "slack")]
    + [(name, np.int64) for name in ("weights", "outputs", "products", "bounds", "errors")]
    + [(name, np.int64) for name in ("units", "maps", "start", "n", "parent", "done", "up")]
    + [(name, np.int64) for name in ("sure", "crossing", "record", "crossings")]
    + [(name, np.int32) for name in ("done_words", "up_words", "capacity", "first")]
    + [(name, np.int32) for name in ("slices", "spare")]
    + [(name, np.int64) for name in ("deep", "base_low", "slice", "scales", "known")]
)

#: ``struct Engine`` of plane.cu.
ENGINE = np.dtype(
    [(name, np.int64) for name in ("levels", "counters", "corners", "tags", "arena")]
    + [(name, np.int64) for name in ("records", "lows", "most_records")]
    + [("cells", _CELLS), ("other_cells", _CELLS), ("unsure", _UNSURE)]
    + [("room", np.int64)]
    + [(name, np.int32) for name in ("depth", "exact", "store", "bits", "deep", "spare")]
    + [("tolerance", np.float64), ("domain", np.int64), ("n_domain", np.int64)]
    + [(name, np.float64) for name in ("scale_x", "scale_y", "infinity")]
)


class Counts(NamedTuple):
    """What came out of a chunk: the first members of ``struct Counters`` of plane.cu.

    `begun`: so many nodes of the next level have been started on.
    """

    found: int
    arena: int
    records: int
    overflow: int
    nodes: int
    unsure: int
    splits: int
    tests: int
    blunt: int
    arrived: int
    begun: int


#: ``struct Counters`` of plane.cu: 64 bits each.
N_COUNTERS = len(Counts._fields) + 3

CORNER_BYTES, TAG_BYTES, RECORD_BYTES, LOW_BYTES = 64, 8, 32, 24


class Backend(Protocol):
    """Where the kernels run: a GPU through CuPy, or, in tests, this processor.

    Attributes
    ----------
    xp : module
        numpy, or cupy.
    """

    xp: Any

    def pointer(self, array: Any) -> int:
        """Address of an array's first byte."""

    def upload(self, array: NDArray[Any]) -> Any:
        """An array of the device with the same contents."""

    def download(self, array: Any) -> NDArray[Any]:
        """A NumPy array with the same contents."""

    def launch(self, kernel: str, items: int, *arguments: Any) -> None:
        """Run a kernel on so many items."""

    def product(self, a: Any, b: Any, out: Any, rows: int, skip: int = 0) -> None:
        """The product of two matrices; that of float32 may be wrong by 2^-9 of it.

        `a` and `out` are flat, and may have room for more than so many rows. In `a`, so many
        numbers at the beginning of each row are left out.
        """

    def fork(self) -> None:
        """Set the point from which a `branch` goes its own way."""

    def branch(self) -> AbstractContextManager[Any]:
        """What is launched in this context need not wait for what was launched since `fork`.

        What is launched after it waits for both.
        """

    def shared(self, words: int) -> NDArray[np.uint64]:
        """Memory of the processor that kernels can write to."""

    def mark(self) -> None:
        """Set the moment that `wait` waits for."""

    def wait(self) -> None:
        """Wait until all that was launched before `mark` is done."""

    def free_bytes(self) -> int:
        """Memory that can be taken."""


class DeviceNetwork(NamedTuple):
    """What does not change during a run, on the device.

    Attributes
    ----------
    levels : ndarray of LEVEL
        Levels 0 … depth + 1, without the buffers.
    block : array of the device
        The memory that `levels` points to.
    weights, sizes : list of arrays of the device
        Per level the matrix of all its sources but layer 0, (neurons of the sources, width), and
        its absolute values (see `_sizes`); None where there is none.
    factors : list of lists
        With twice the digits, instead of both: see `Slices`.
    read_later : list of bool
        Which layers are read by others than the next one.
    bits : int
        Bits a neuron in patterns: a power of two.
    deep : bool
        Whether rows have twice the digits.
    domain : int
        Address of the domain's rows.
    """

    levels: NDArray[Any]
    block: Any
    weights: list[Any]
    sizes: list[Any]
    factors: list[list[Any]]
    read_later: list[bool]
    bits: int
    deep: bool
    domain: int


class _Block:
    """Collects arrays, to be sent in one piece."""

    def __init__(self) -> None:
        self._parts: list[tuple[int, NDArray[Any]]] = []
        self._size = 0

    def add(self, array: Any, dtype: Any) -> int:
        """Place of an array in the block."""
        values = np.ascontiguousarray(array, dtype=dtype)
        at = self._size
        self._parts.append((at, values))
        self._size += -(-max(values.nbytes, 1) // _ALIGNED) * _ALIGNED
        return at

    def bytes(self) -> NDArray[np.uint8]:
        block = np.zeros(max(self._size, _ALIGNED), np.uint8)
        for at, values in self._parts:
            block[at : at + values.nbytes] = values.view(np.uint8).reshape(-1)
        return block


def device_bits(pieces: NDArray[Any]) -> int:
    """Bits a neuron: a power of two, so that no piece straddles two words."""
    needed = max(1, (int(pieces.max(initial=2)) - 1).bit_length())
    return 1 << (needed - 1).bit_length()


def words_for(items: int, bits: int = 1) -> int:
    """Words of 32 bits for so many items."""
    return -(-items * bits // 32)


def device_network(
    network: Network, flat: FlatNetwork, backend: Backend, *, deep: bool
) -> DeviceNetwork:
    """Send a network to the device; `deep`: for rows with twice the digits."""
    maps, lines = flat.maps, flat.lines
    bits = device_bits(network.pieces)
    levels = np.zeros(flat.depth + 2, LEVEL)
    block = _Block()
    pointers: list[tuple[int, str, int]] = []
    matrices: list[list[tuple[int, tuple[int, int], Any]]] = [[]]
    stacked = [_stacked(layer) for layer in network.layers]
    norms = [0.0 if matrix is None else spectral_norm(matrix) for matrix in stacked] if deep else []
    counts = slices_needed(network, flat, norms) if deep else [1] * flat.depth
    read_later = [False] * (flat.depth + 2)
    for index in range(1, flat.depth + 1):
        layer, level = network.layers[index - 1], levels[index]
        begin, end = int(maps.row_start[index]), int(maps.row_start[index + 1])
        first, last = int(lines.line_start[index]), int(lines.line_start[index + 1])
        sources = sorted((k for k in layer.affine.terms if k > 0), reverse=True)
        level["index"], level["width"], level["lines"] = index, end - begin, last - first
        level["words"] = words_for(last - first)
        level["piece_words"] = words_for(end - begin, bits)
        level["plain"] = bool(lines.plain[index]) and bits == 1
        level["relu"] = level["plain"] and _is_relu(layer.activation)
        level["from_input"] = 0 in layer.affine.terms
        level["n_sources"] = len(sources)
        level["inputs"] = sum(network.widths[k - 1] for k in sources)
        level["after_last"] = index - 1 in sources
        level["slices"] = counts[index - 1]
        for source in sources:
            read_later[source] |= source < index - 1
        level["first_line"], level["first_neuron"] = first, flat.first_neuron(index)
        level["pieces"], level["gamma"] = maps.slopes.shape[1], _gamma(flat, index)
        base, base_error = _base(layer, flat, index)
        matrix, slices = stacked[index - 1], None
        if deep:
            slices = None if matrix is None else slices_of(matrix, counts[index - 1])
            wide = base_of(network, flat, index)
            base = wide.high
            pointers.append((index, "base_low", block.add(wide.low, np.float64)))
            record = constants(network, index, slices, norms[index - 1], wide)
            pointers.append((index, "deep", block.add(record.view(np.float64), np.float64)))
        at = lines.line_at[first:last]
        bias = maps.bias[lines.line_row[first:last]]
        slack = np.full(len(at), TINY)
        if not deep:
            slack += level["gamma"] * (np.abs(bias) + np.abs(at))
        rows = slice(begin, end)
        for name, array, dtype in (
            ("sources", sources, np.int32),
            ("base", base, np.float64),
            ("base_error", base_error, np.float64),
            ("slopes", maps.slopes[rows], np.float64),
            ("intercepts", maps.intercepts[rows], np.float64),
            ("bias", maps.bias[rows], np.float64),
            ("row", lines.line_row[first:last] - begin, np.int32),
            ("at", at, np.float64),
            ("slack", slack, np.float64),
        ):
            pointers.append((index, name, block.add(array, dtype)))
        parts: list[tuple[NDArray[Any], Any]] = []
        if slices is not None:
            parts = [(part, np.float64) for part in slices.factors]
        elif matrix is not None:
            sizes, units = _sizes(matrix)
            parts = [(sizes, np.float32), (matrix, np.float64)]
            pointers.append((index, "units", block.add(units, np.float64)))
        matrices.append([(block.add(part, kind), part.shape, kind) for part, kind in parts])
        if parts:
            pointers.append((index, "weights", matrices[-1][-1][0]))
    domain = block.add(lines.domain_rows, np.float64)
    memory = backend.upload(block.bytes())
    address = backend.pointer(memory)
    for index, name, place in pointers:
        levels[index][name] = address + place
    levels["done_words"][1:] = levels["piece_words"][:-1]
    levels["up_words"][1:] = levels["words"][:-1]
    levels["index"][-1] = flat.depth + 1

    def matrix_at(place: int, shape: tuple[int, int], dtype: Any) -> Any:
        size = np.dtype(dtype).itemsize * shape[0] * shape[1]
        return memory[place : place + size].view(dtype).reshape(shape)

    found = [[matrix_at(*matrix) for matrix in some] for some in matrices]
    return DeviceNetwork(
        levels,
        memory,
        [some[-1] if some else None for some in found],
        [some[0] if some else None for some in found],
        found,
        read_later,
        bits,
        deep,
        address + domain,
    )


def _stacked(layer: Any) -> NDArray[np.float64] | None:
    """The matrix of all sources of a layer but layer 0, the last one first: (neurons, width)."""
    terms = layer.affine.terms
    sources = sorted((k for k in terms if k > 0), reverse=True)
    return np.concatenate([_dense(terms[k]).T for k in sources]) if sources else None


def _sizes(matrix: NDArray[np.float64]) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Absolute weights relative to the largest of their column, and the units of products."""
    sizes = np.abs(matrix)
    largest = sizes.max(axis=0)
    sizes /= np.where(largest > 0, largest, 1.0)
    sizes[sizes > 0] = np.maximum(sizes[sizes > 0], _SMALLEST)
    return sizes.astype(np.float32), largest * (_ROUNDED / _BOUND_UNITS)


def _is_relu(activation: Any) -> bool:
    return bool((activation.slopes == [0, 1]).all() and (activation.intercepts == 0).all())


def _dense(matrix: Any) -> NDArray[np.float64]:
    return np.asarray(matrix.toarray() if isinstance(matrix, sp.csr_array) else matrix)


def _gamma(flat: FlatNetwork, index: int) -> float:
    """Relative rounding error of the sums of a layer: there are no changes of rank one here."""
    return float(flat.maps.gamma[index]) - (EXTRA_ROUNDINGS - _EXTRA) * ROUND


def _base(
    layer: Any, flat: FlatNetwork, index: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The part of a layer's rows that all cells share, bias and layer 0, and its error bound."""
    maps = flat.maps
    largest = np.abs(maps.input_rows).max(axis=1, initial=0.0)
    begin, end = maps.row_start[index], maps.row_start[index + 1]
    base = np.zeros((3, end - begin))
    error = np.zeros(end - begin)
    matrix = layer.affine.terms.get(0)
    if matrix is not None:
        base[:] = np.asarray(matrix @ maps.input_rows).T
        bounds = np.where(largest != 0, (_gamma(flat, index) * largest + TINY) * INFLATE, 0.0)
        error[:] = np.asarray(abs(matrix) @ bounds)
    base[2] += maps.bias[begin:end]
    return base, error
