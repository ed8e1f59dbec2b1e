"""The front door: all regions of a network on a domain."""

from __future__ import annotations

import sys
import time
from fractions import Fraction
from typing import Literal

import numpy as np
from tqdm import tqdm

from tropicell.columns import PackedPatterns
from tropicell.domains import Domain, resolve
from tropicell.engines.traverse import traverse
from tropicell.errors import InvalidInputError
from tropicell.network import Network
from tropicell.patterns import PatternArray
from tropicell.polyhedra import from_point
from tropicell.regions import Regions

Engine = Literal["auto", "traverse"]


def enumerate_regions(
    network: Network,
    domain: Domain | None = None,
    *,
    engine: Engine = "auto",
    max_regions: int | None = None,
    max_seconds: float | None = None,
    progress: bool | None = None,
) -> Regions:
    """Find every linear region of a network.

    Parameters
    ----------
    network : Network
    domain : Domain, optional
        `Box`, `Polytope`, `Slice` or `WholeSpace`; default: all of R^n.
    engine : {"auto", "traverse"}
        ``"traverse"`` is Algorithm 2 of the paper in exact rational arithmetic.
    max_regions : int, optional
        Stop after so many regions; the result then is not ``complete``.
    max_seconds : float, optional
        Stop after so much time, likewise.
    progress : bool, optional
        Show a progress bar; default: if standard error is a terminal.

    Returns
    -------
    Regions
        With ``complete`` False if a budget or Ctrl-C ended the search.

    Examples
    --------
    >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [[1.0, 1.0, 1.0]]],
    ...                       [[0.0, 0.0, -1.0], [0.0]])
    >>> len(enumerate_regions(network))
    7
    """
    if engine not in ("auto", "traverse"):
        raise InvalidInputError(f"engine must be 'auto' or 'traverse', not {engine!r}")
    network, inside = resolve(network, domain)
    started = time.perf_counter()
    patterns: list[PatternArray] = []
    witnesses: list[list[Fraction]] = []
    complete = True
    show = sys.stderr.isatty() if progress is None else progress
    try:
        for pattern, cell in tqdm(traverse(network, inside), unit=" regions", disable=not show):
            seconds = time.perf_counter() - started
            if len(patterns) == max_regions or (max_seconds and seconds > max_seconds):
                complete = False
                break
            patterns.append(pattern)
            witnesses.append(from_point(cell.witness))
    except KeyboardInterrupt:
        complete = False
    stacked = np.array(patterns, dtype=np.uint8).reshape(len(patterns), network.n_neurons)
    return Regions(
        network,
        inside,
        PackedPatterns.pack(stacked, PackedPatterns.bits_for(network.pieces)),
        np.array(witnesses, dtype=object).reshape(len(witnesses), network.n_inputs),
        complete=complete,
        stats={"engine": "traverse", "seconds": time.perf_counter() - started},
    )
