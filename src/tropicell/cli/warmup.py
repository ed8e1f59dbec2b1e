"""Compiles kernels ahead of time, in processes side by side: ``tropicell warmup``.

Each part is some small work that uses the kernels in question; what is compiled is kept on the disk
by Numba's cache, see `tropicell._runtime.jit`. A part that is there already takes a second.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed
from typing import Any

from tropicell._runtime.threads import ThreadPool

#: What is compiled unless something else is asked for.
USUAL = ("plane", "space", "predict")


def _regions(inputs: int, outputs: int = 1) -> Any:
    import numpy as np  # noqa: PLC0415 - --help is quick without

    import tropicell  # noqa: PLC0415

    rng = np.random.default_rng(0)
    sizes = [inputs, 4, 4, outputs]
    weights = [rng.normal(size=(n, m)) for m, n in itertools.pairwise(sizes)]
    network = tropicell.Network.mlp(weights, [rng.normal(size=len(w)) for w in weights])
    return tropicell.enumerate_regions(network, tropicell.Box(-2, 2))


def _search(inputs: int) -> None:
    """A search, and one with signs that float64 can't tell, whose kernels are compiled apart."""
    import numpy as np  # noqa: PLC0415

    import tropicell  # noqa: PLC0415

    _regions(inputs)
    first = np.array([[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [2, 1, 1, 0, 0], [1, 2, -1, 1, 1]])
    weights = [first[:, :inputs], np.ones((4, 4)) - 2 * np.eye(4), np.ones((1, 4))]
    biases = [[0.0, 0.0, 1.0, -1.0], [0.0, 1.0, -1.0, 1 / 3], [0.0]]
    network = tropicell.Network.mlp(weights, biases)
    tropicell.enumerate_regions(network, tropicell.Box(-3, 3))


def _large() -> None:
    """A plane through a network with so many weights that a search looks at some neurons only."""
    import numpy as np  # noqa: PLC0415
    import scipy.sparse as sp  # noqa: PLC0415

    import tropicell  # noqa: PLC0415
    from tropicell import Affine, Layer  # noqa: PLC0415

    n, band = 1600, 70
    places = (np.arange(n)[:, None] + np.arange(band)) % n
    rows = np.repeat(np.arange(n), band)
    inner = sp.csr_array((np.cos(np.arange(n * band)), (rows, places.ravel())), shape=(n, n))
    angles = np.arange(n)
    first = np.column_stack([np.cos(angles), np.sin(angles)])
    layers = [
        Layer(Affine({0: first}, np.sin(7.0 * angles))),
        Layer(Affine({1: inner}, np.cos(3.0 * angles))),
    ]
    network = tropicell.Network(2, layers, Affine({2: np.ones((1, n))}, np.zeros(1)))
    tropicell.count_regions(network, tropicell.Box(0.1, 0.11))


def _sets() -> None:
    import tropicell  # noqa: PLC0415

    for inputs in (2, 3):
        network = _regions(inputs).network
        box, where = tropicell.Box(-2, 2), tropicell.Level(0.0)
        tropicell.enumerate_regions(network, box, where=where)


def _predict() -> None:
    import tropicell  # noqa: PLC0415

    found, points = _regions(2), [[0.0, 0.5]]
    found.prepare()
    tropicell.RegionLocator(found).predict(points)
    tropicell.LastRegionPredictor(found).predict(points)
    tropicell.CachedPredictor(found.network).predict(points)
    tropicell.DataRegions(found.network, points).distance([[1.0, 1.0]])


def _analysis() -> None:
    import tropicell  # noqa: PLC0415
    from tropicell.analysis import measure  # noqa: PLC0415

    measure.decision_boundary(_regions(2, outputs=2))
    far = _regions(6)
    measure.extrema(far)
    far.volumes  # noqa: B018 - worked out when it is asked for
    tropicell.Path([[0.0] * 6, [1.0] * 6]).regions(far.network)


def _wide() -> None:
    import numpy as np  # noqa: PLC0415

    import tropicell  # noqa: PLC0415

    ball = tropicell.Ball(np.zeros(6), 0.5, norm="l2")
    tropicell.count_regions(_regions(6).network, ball, engine="wide")
    narrow = tropicell.Network.mlp([np.ones((1, 3)), [[1.0]]])
    tropicell.count_regions(narrow, tropicell.Box(0, 1), engine="shadow")


def _many() -> None:
    import tropicell  # noqa: PLC0415

    tropicell.count_many([_regions(2).network] * 2)


def _certify_space() -> None:
    _regions(3).certify()
    _regions(3).certify(volumes=True)  # by facets


def _certify_far() -> None:
    _regions(6).certify()


def _complex() -> None:
    import tropicell  # noqa: PLC0415

    for inputs in (2, 3):
        complex_ = _regions(inputs).complex()
        complex_.signs(1)
        complex_.level_set().polygons()
        complex_.betti()
        complex_.persistence()
    network = tropicell.Network.mlp(
        [[[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]], [[1.0] * 3]], [[0] * 3, [-0.5]]
    )
    tropicell.surface_mesh(network, tropicell.Box(-1, 1))


#: The parts: what each is for, and the work that makes it be compiled. Long ones come first.
PARTS: dict[str, tuple[str, Callable[[], Any]]] = {
    "halfspaces": ("searches with 6 inputs and more", lambda: _regions(6)),
    "cells": ("searches with 5 inputs, or 1", lambda: _search(1)),
    "plane": ("searches with 2 inputs", lambda: _search(2)),
    "space": ("searches with 3 inputs", lambda: _search(3)),
    "space4": ("searches with 4 inputs", lambda: _search(4)),
    "certify": ("certificates for 2 inputs", lambda: _regions(2).certify()),
    "certify-space": ("certificates for 3 inputs and more", _certify_space),
    "certify-far": ("certificates for 6 inputs and more", _certify_far),
    "wide": ("searches near a point", _wide),
    "large": ("planes through large networks", _large),
    "sets": ("searches for a level, or a boundary between classes", _sets),
    "predict": ("prediction", _predict),
    "many": ("counts of many networks", _many),
    "complex": ("faces of regions", _complex),
    "analysis": ("answers from regions", _analysis),
}


def compile_parts(parts: Sequence[str], workers: int | None = None) -> Iterator[tuple[str, str]]:
    """Compile some parts; yields each with what went wrong, when it is done.

    Parameters
    ----------
    parts : sequence of str
        Names of `PARTS`.
    workers : int, optional
        How many processes at a time; default: one for each processor.
    """
    workers = workers or os.cpu_count() or 1
    with ThreadPool(min(workers, len(parts))) as threads:
        waiting = {threads.submit(_in_a_process, name): name for name in parts}
        for done in as_completed(waiting):
            yield waiting[done], done.result()


def _in_a_process(name: str) -> str:
    """Compile one part; returns what went wrong."""
    order = [sys.executable, "-m", "tropicell.cli.warmup", name]
    done = subprocess.run(order, capture_output=True, text=True, check=False)
    return done.stderr.strip().rpartition("\n")[2] if done.returncode else ""


if __name__ == "__main__":
    PARTS[sys.argv[1]][1]()
