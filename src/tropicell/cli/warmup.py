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
    for inputs in (2, 3):
        complex_ = _regions(inputs).complex()
        complex_.signs(1)
        complex_.level_set().polygons()
        complex_.betti()


#: The parts: what each is for, and the work that makes it be compiled. Long ones come first.
PARTS: dict[str, tuple[str, Callable[[], Any]]] = {
    "halfspaces": ("searches with 6 inputs and more", lambda: _regions(6)),
    "cells": ("searches with 5 inputs, or 1", lambda: _regions(1)),
    "plane": ("searches with 2 inputs", lambda: _regions(2)),
    "space": ("searches with 3 inputs", lambda: _regions(3)),
    "space4": ("searches with 4 inputs", lambda: _regions(4)),
    "certify": ("certificates for 2 inputs", lambda: _regions(2).certify()),
    "certify-space": ("certificates for 3 inputs and more", _certify_space),
    "certify-far": ("certificates for 6 inputs and more", _certify_far),
    "wide": ("searches near a point", _wide),
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
