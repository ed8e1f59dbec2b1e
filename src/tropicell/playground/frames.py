"""A network's exact regions as bytes for the page: one frame, no polygon as text.

A frame is four bytes that say how long its header is, the header (a small JSON object: numbers of
the run, and for every array its type, place and length), and the arrays one after the other.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell.errors import IncompleteError
from tropicell.explorer.data import block
from tropicell.network.domains import Box
from tropicell.network.network import Network
from tropicell.playground.training import Training
from tropicell.regions.regions import Regions
from tropicell.search.enumeration import count_regions, enumerate_regions

#: Regions and seconds after which a frame is not complete; the page says so.
MOST_REGIONS, MOST_SECONDS = 40_000, 3.0

_LENGTH = struct.Struct("<I")


@dataclass(frozen=True, eq=False)
class Subdivision:
    """The regions of a network in a box, and their number in all of the plane.

    Attributes
    ----------
    regions : Regions
    whole : int
        How many regions there are over R²; at least, if not `whole_complete`.
    whole_complete : bool
    """

    regions: Regions
    whole: int
    whole_complete: bool


def subdivide(network: Network, box: Box) -> Subdivision:
    """All regions of a network in a box, exactly, and the number over R².

    Examples
    --------
    >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]], [[0.0, -5.0], [0.0]])
    >>> found = subdivide(network, Box(-1, 1))
    >>> len(found.regions), found.whole
    (2, 4)
    """
    limits: dict[str, Any] = {"max_regions": MOST_REGIONS, "max_seconds": MOST_SECONDS}
    regions = enumerate_regions(network, box, engine="cells", progress=False, **limits)
    try:
        return Subdivision(regions, count_regions(network, progress=False, **limits), True)
    except IncompleteError as error:
        return Subdivision(regions, error.count, False)


def arrays_of(regions: Regions) -> dict[str, NDArray[Any]]:
    """What the page draws: corners, sides, patterns, maps."""
    lines = regions.lines
    neuron = np.concatenate([np.full(lines.first, -1), lines.neuron]).astype(np.int16)
    size = -(-regions.packed.neurons * regions.packed.bits // 8)
    words = np.ascontiguousarray(regions.packed.words)
    patterns = words.view(np.uint8).reshape(len(words), 8 * words.shape[1])[:, :size]
    maps = regions.affine_maps
    value = maps[:, 0] if maps.shape[1] == 1 else maps[:, 1] - maps[:, 0]
    return {
        "corners": regions.corners.values[:, :2].astype(np.float32),
        "counts": regions.corners.counts.astype(np.uint16),
        "sides": neuron[regions.facet_lines.values],
        "patterns": patterns,
        "maps": _single(value),
    }


def frame_of(training: Training, **more: Any) -> bytes:
    """A frame of all networks of a run, as they are now.

    Parameters
    ----------
    training : Training
    **more
        For the header.
    """
    arrays: dict[str, NDArray[Any]] = {}
    pictures = []
    box = Box(training.data.low, training.data.high)
    for name, learner in training.learners.items():
        found = subdivide(training.network(name), box)
        regions = found.regions
        pictures.append(
            {
                "name": name,
                "regions": len(regions),
                "complete": regions.complete,
                "whole": found.whole,
                "wholeComplete": found.whole_complete,
                "bits": regions.packed.bits,
                "skips": learner.plan.skips,
                **{key: _finite(value) for key, value in training.measures(name).items()},
            }
        )
        arrays |= {f"{name}.{key}": array for key, array in arrays_of(regions).items()}
        arrays[f"{name}.vector"] = _single(learner.vector)
    fields, data = block(arrays)
    header = {"step": training.step, "epoch": training.epoch, "pictures": pictures, **more}
    return packed(header | {"arrays": fields}, data)


def packed(header: dict[str, Any], data: bytes) -> bytes:
    """A header and bytes in one message; the bytes begin at a multiple of 8.

    Examples
    --------
    >>> unpacked(packed({"step": 3}, b"corners"))
    ({'step': 3}, b'corners')
    """
    text = json.dumps(header, allow_nan=False, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + _LENGTH.size) % 8)
    return _LENGTH.pack(len(text)) + text + data


def unpacked(message: bytes) -> tuple[Any, bytes]:
    """The header and the bytes of a message.

    Raises
    ------
    ValueError
        If it is none.
    """
    if len(message) < _LENGTH.size:
        raise ValueError("too short")
    (length,) = _LENGTH.unpack_from(message)
    end = _LENGTH.size + length
    if end > len(message):
        raise ValueError("its header is cut off")
    return json.loads(message[_LENGTH.size : end]), message[end:]


def _single(values: NDArray[Any]) -> NDArray[np.float32]:
    """As float32, the largest one instead of infinity: weights may grow before training ends."""
    most = np.finfo(np.float32).max
    clipped: NDArray[np.float32] = np.clip(values, -most, most).astype(np.float32)
    return clipped


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
