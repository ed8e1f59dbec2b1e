"""`local_complexity`: how many regions lie around every point of a data set, and boundaries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tropicell._runtime.parts import check_workers, in_turn
from tropicell._runtime.progress import bar_of
from tropicell.analysis.around import regions_around
from tropicell.analysis.nearest import nearest_boundary
from tropicell.errors import InvalidInputError, require
from tropicell.importers.models import as_network
from tropicell.network.network import Network
from tropicell.network.patterns import split_layers

if TYPE_CHECKING:
    import pandas


def local_complexity(
    network: Network,
    points: ArrayLike,
    radius: float,
    *,
    max_regions: int = 1000,
    workers: int = 1,
    progress: bool | None = None,
) -> pandas.DataFrame:
    """Regions and boundaries in a ball around every point.

    Parameters
    ----------
    network : Network
    points : array_like, shape (points, inputs)
    radius : float
        The Euclidean radius of the balls.
    max_regions : int
        Count up to so many regions around a point; ``complete`` is False where there are more.
    workers : int
        Number of threads.
    progress : bool, optional
        Show a progress bar if it takes longer than two seconds; default: if standard error is
        a terminal.

    Returns
    -------
    pandas.DataFrame
        One row for each point:

        ``regions``
            How many regions meet the ball; at least so many if not ``complete``.
        ``complete``
            Whether these are all, proved.
        ``distance``
            How far the nearest boundary is: the largest ball around the point in its own region.
        ``layer_1``, ``layer_2``, …
            How many neurons of the layer have a boundary in the ball.

    See Also
    --------
    regions_around : the regions themselves.
    nearest_boundary : distances alone, for many points.

    References
    ----------
    A. I. Humayun, R. Balestriero, R. Baraniuk: Deep networks always grok and here is why, 2024.

    Examples
    --------
    >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
    >>> table = local_complexity(network, [[0.5, 5.0], [0.1, 0.1]], 1.0)
    >>> table[["regions", "distance", "layer_1"]].values.tolist()
    [[2.0, 0.5, 1.0], [4.0, 0.1, 2.0]]
    """
    network = as_network(network)
    pandas: Any = require("pandas", extra="graph", why="a table of points")
    check_workers(workers)
    if not radius > 0:
        raise InvalidInputError(f"radius must be positive, not {radius!r}")
    x = network.check_points(points, finite=True)
    columns: dict[str, Any] = {
        "regions": np.zeros(len(x), np.int64),
        "complete": np.zeros(len(x), np.bool_),
        "distance": nearest_boundary(network, x, workers=workers, progress=False).distances,
    }
    for layer in range(1, network.depth + 1):
        columns[f"layer_{layer}"] = np.zeros(len(x), np.int64)
    with bar_of(len(x), " points", progress) as bar:

        def work(i: int) -> None:
            near = regions_around(
                network, x[i], radius=radius, max_regions=max_regions, progress=False
            )
            columns["regions"][i] = len(near)
            columns["complete"][i] = near.within >= radius
            patterns = near.patterns
            varies = (patterns != patterns[:1]).any(axis=0)
            for layer, part in enumerate(split_layers(varies, network.widths), start=1):
                columns[f"layer_{layer}"][i] = int(part.sum())
            bar.update(1)

        in_turn(work, range(len(x)), workers)
    table: pandas.DataFrame = pandas.DataFrame(columns)
    return table
