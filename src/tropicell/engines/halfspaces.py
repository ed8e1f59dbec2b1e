"""The `halfspaces` engine: all regions in any dimension, from points, certificates and small LPs.

See `tropicell.engines._halfspaces_kernel` for the method and docs/halfspaces-proof.md for what is
proved. This module drives the kernel: buffers, budgets, batches, and exact decisions where
floats prove nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tropicell.arithmetic import ArithmeticName, get_arithmetic
from tropicell.domains import Domain
from tropicell.engines._halfspaces_search import Batch, Search, Tolerance
from tropicell.errors import InvalidInputError
from tropicell.network import Network
from tropicell.patterns import PatternArray

__all__ = ["Batch", "HalfspaceResult", "Search", "Tolerance", "enumerate_halfspaces"]


@dataclass
class HalfspaceResult:
    """What `enumerate_halfspaces` found.

    Attributes
    ----------
    count : int
        Number of regions found.
    complete : bool
        Whether these are all.
    patterns, witnesses, margins : ndarray
        One row per region (see `Batch`); empty if only counted or handed to a callback.
    stats : dict
        ``seconds``, ``lps``, ``pivots``, ``lps_avoided`` (cuts decided by known certificates, and
        splits), ``exact_decisions``, ``nodes``.
    """

    count: int
    complete: bool
    patterns: PatternArray
    witnesses: NDArray[np.float64]
    margins: NDArray[np.float64]
    stats: dict[str, float] = field(default_factory=dict)


def enumerate_halfspaces(
    network: Network,
    domain: Domain | None = None,
    *,
    arithmetic: ArithmeticName = "exact",
    tolerance: Tolerance | None = None,
    store: bool = True,
    max_regions: int | None = None,
    max_seconds: float | None = None,
    on_batch: Callable[[Batch], None] | None = None,
    prefix: PatternArray | None = None,
    share: tuple[int, int] = (0, 1),
) -> HalfspaceResult:
    """Find all regions of a network on a domain, in any dimension.

    Parameters
    ----------
    network : Network
    domain : Domain, optional
        Default: all of R^n.
    arithmetic : {"exact", "float"}
        "exact": the regions of the float64 weights taken as rationals, on every input.
        "float": decisions within `tolerance`.
    tolerance : Tolerance, optional
    store : bool
        False: count only, in constant memory.
    max_regions, max_seconds : optional
        Budgets; what was found until then is kept, with ``complete=False``. A callback may get
        some more regions than `max_regions`.
    on_batch : callable, optional
        Called with every `Batch` instead of keeping it.
    prefix : ndarray of uint8, optional
        Pieces of the neurons of the first k layers: only the regions with this prefix are looked
        for.
    share : (int, int)
        ``(k, n)``: of n calls that share the work (in threads: the kernel runs without the GIL),
        this is number k. The cells of the first layer are dealt out by a hash of their signs;
        networks with one layer are left to k = 0.

    Returns
    -------
    HalfspaceResult

    Examples
    --------
    >>> network = Network.mlp([np.eye(6), np.ones((1, 6))])
    >>> result = enumerate_halfspaces(network)
    >>> result.count, result.complete
    (64, True)
    >>> bool((network.patterns(result.witnesses) == result.patterns).all())
    True
    """
    get_arithmetic(arithmetic)
    for name, value in (("max_regions", max_regions), ("max_seconds", max_seconds)):
        if value is not None and not value >= 0:
            raise InvalidInputError(f"{name} must be at least 0, got {value}")
    if not 0 <= share[0] < share[1]:
        raise InvalidInputError(f"share must be (k, n) with 0 <= k < n, got {share}")
    search = Search(
        network,
        domain,
        arithmetic=arithmetic,
        tolerance=tolerance or Tolerance(),
        store=store,
        prefix=prefix,
        share=share,
    )
    kept: list[Batch] = []
    more = True
    while more:
        more = search.advance(max_regions, max_seconds)
        if store:
            (kept.append if on_batch is None else on_batch)(search.batch())
    most = search.count if max_regions is None else min(search.count, max_regions)
    width, d = network.n_neurons, search.network.n_inputs
    return HalfspaceResult(
        count=search.count if on_batch is not None else most,
        complete=search.complete and most == search.count,
        patterns=np.concatenate([np.empty((0, width), np.uint8), *(b.patterns for b in kept)])[
            :most
        ],
        witnesses=np.concatenate([np.empty((0, d)), *(b.witnesses for b in kept)])[:most],
        margins=np.concatenate([np.empty(0), *(b.margins for b in kept)])[:most],
        stats=search.stats(),
    )
