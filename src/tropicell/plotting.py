"""Pictures with matplotlib. Every function takes Axes (or makes them) and returns them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tropicell.convert import polygons
from tropicell.domains import Box
from tropicell.errors import require
from tropicell.regions import Regions

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_regions(regions: Regions, ax: Axes | None = None, *, output: int = 0) -> Axes:
    """Draw all regions of a 2-D network, coloured by the network's value at their witnesses.

    Parameters
    ----------
    regions : Regions
        On a bounded domain.
    ax : Axes, optional
        Where to draw; default: new axes.
    output : int
        Which of the network's outputs gives the colour.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> network = Network.mlp([[[1.0, 0.0]], [[1.0]]])
    >>> ax = plot_regions(enumerate_regions(network, Box(-1, 1)))
    >>> len(ax.collections[0].get_paths())
    2
    """
    pyplot: Any = require("matplotlib.pyplot", extra="plot", why="drawing regions")
    collections: Any = require("matplotlib.collections", extra="plot", why="drawing regions")
    if ax is None:
        ax = pyplot.subplots(figsize=(6, 6))[1]
    values = regions.network(regions.witnesses.astype(np.float64))[:, output]
    cells = collections.PolyCollection(
        polygons(regions), array=values, cmap="viridis", edgecolors="white", linewidths=0.3
    )
    ax.add_collection(cells)
    ax.autoscale_view()
    if isinstance(regions.domain, Box):
        low, high = regions.domain.corners(2)
        ax.set_xlim(low[0], high[0])
        ax.set_ylim(low[1], high[1])
    ax.set_aspect("equal")
    return ax
