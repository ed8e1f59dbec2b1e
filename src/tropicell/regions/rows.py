"""Some rows of regions, and several `Regions` as one, with the columns that are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell.network.domains import Domain
from tropicell.network.network import Network
from tropicell.regions.columns import PackedPatterns, Ragged
from tropicell.regions.regions import Regions

_COLUMNS = ("bounded", "volumes", "corners", "facet_lines")


def rows(regions: Regions, numbers: NDArray[np.int64]) -> Regions:
    """The regions of some numbers.

    Examples
    --------
    >>> from tropicell import enumerate_regions
    >>> regions = enumerate_regions(Network.mlp([[[1.0], [2.0]], [[1.0, 1.0]]], [[0, 1], [0]]))
    >>> rows(regions, np.array([2, 0])).texts() == [regions.texts()[2], regions.texts()[0]]
    True
    """
    columns: dict[str, Any] = {}
    for name in _COLUMNS:
        column = regions.known(name)
        if isinstance(column, Ragged):
            parts = [column[int(k)] for k in numbers]
            values = np.concatenate(parts) if parts else column.values[:0]
            columns[name] = Ragged.from_counts(values, column.counts[numbers])
        elif column is not None:
            columns[name] = column[numbers]
    packed = regions.packed
    return Regions(
        regions.network,
        regions.domain,
        PackedPatterns(packed.words[numbers], packed.neurons, packed.bits),
        regions.witnesses[numbers],
        complete=False,
        **columns,
    )


def joined(network: Network, domain: Domain, parts: Sequence[Regions]) -> Regions:
    """Batches as one object; a column that one of them does not know is left out."""
    bits = PackedPatterns.bits_for(network.pieces)
    if not parts:
        packed = PackedPatterns.pack(np.empty((0, network.n_neurons), np.uint8), bits)
        return Regions(network, domain, packed, np.empty((0, network.n_inputs)), complete=False)
    columns: dict[str, Any] = {}
    for name in _COLUMNS:
        known = [part.known(name) for part in parts]
        if any(column is None for column in known):
            continue
        if isinstance(known[0], Ragged):
            values = np.concatenate([column.values for column in known])
            counts = np.concatenate([column.counts for column in known])
            columns[name] = Ragged.from_counts(values, counts)
        else:
            columns[name] = np.concatenate(known)
    words = np.concatenate([part.packed.words for part in parts])
    return Regions(
        network,
        domain,
        PackedPatterns(words, network.n_neurons, bits),
        np.concatenate([part.witnesses for part in parts]),
        complete=False,
        **columns,
    )
