"""Regions of many networks."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from tropicell.domains import Domain
from tropicell.enumeration import count_regions
from tropicell.network import Network


def count_all(
    networks: Sequence[Network], domain: Domain | None = None, *, workers: int = 2
) -> NDArray[np.int64]:
    """The number of regions of each of some networks.

    Parameters
    ----------
    networks : sequence of Network
    domain : Domain, optional
        Default: all of R^n.
    workers : int
        Threads.

    Examples
    --------
    >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
    >>> count_all([network, network])
    array([4, 4])
    """

    def count(network: Network) -> int:
        return count_regions(network, domain, progress=False)

    with ThreadPoolExecutor(workers) as pool:
        return np.fromiter(pool.map(count, networks), dtype=np.int64, count=len(networks))
