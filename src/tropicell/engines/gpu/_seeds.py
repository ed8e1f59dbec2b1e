"""Cells that a device starts from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tropicell.engines.cells._buffers import plane_seeds
from tropicell.engines.cells._exact_cells import ExactCell
from tropicell.engines.gpu._layout import Backend, DeviceNetwork, words_for
from tropicell.network.flat import FlatNetwork
from tropicell.regions.columns import PackedPatterns


class DeviceSeeds(NamedTuple):
    """Cells that enter one layer, as arrays of the device.

    Attributes
    ----------
    pieces : dict of arrays
        Pieces of the layer before each level from 2 on, packed.
    numbers : array
        0, 1, …: all levels hold the rows of these cells in the same order.
    labels, rays, ends : arrays
        Labels of the edges, whether the corner before an edge is a ray, where each cell ends.
    corners : int
        All of them.
    """

    pieces: dict[int, Any]
    numbers: Any
    labels: Any
    rays: Any
    ends: Any
    corners: int


def seeds_on_device(
    flat: FlatNetwork,
    device: DeviceNetwork,
    backend: Backend,
    layer: int,
    cells: Sequence[ExactCell],
) -> DeviceSeeds:
    """Send pointed cells that enter a layer."""
    seeds = plane_seeds(flat, cells)
    patterns = seeds.patterns.reshape(len(cells), -1)
    pieces = {}
    for level in range(2, layer + 1):
        begin, end = flat.first_neuron(level - 1), flat.first_neuron(level)
        packed = PackedPatterns.pack(patterns[:, begin:end], device.bits).words
        words = words_for(end - begin, device.bits)
        pieces[level] = backend.upload(np.ascontiguousarray(packed.view(np.uint32)[:, :words]))
    arrays = np.arange(len(cells)), seeds.labels, seeds.signs, seeds.facet_ends
    numbers, labels, rays, ends = (backend.upload(array.astype(np.int32)) for array in arrays)
    return DeviceSeeds(pieces, numbers, labels, rays, ends, len(seeds.labels))
