"""Graphs of networks: curves over one input, surfaces over two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell.errors import require
from tropicell.network.domains import Box
from tropicell.network.network import Network
from tropicell.plotting.colors import color_names, color_numbers
from tropicell.plotting.frame import (
    check_output,
    colormap,
    input_name,
    new_axes,
    polygons_in,
    regions_in,
    window_of,
)
from tropicell.regions.regions import Regions

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_function(
    regions: Regions | Network,
    ax: Axes | None = None,
    *,
    output: int | None = None,
    window: Box | None = None,
    breakpoints: bool = True,
) -> Axes:
    """Draw the graph of a network with one input, and its breakpoints.

    Parameters
    ----------
    regions : Regions or Network
        Of a network with one input (or on a line). A network's regions are found in the window.
    ax : Axes, optional
    output : int, optional
        Which output; default: all.
    window : Box, optional
        Which inputs to show. Default: the domain if it is a box, else a range around the
        breakpoints.
    breakpoints : bool
        Mark where one region ends and the next begins.

    Returns
    -------
    Axes

    Notes
    -----
    The graph is drawn from corner to corner, so it is exact: nothing is sampled.

    Examples
    --------
    >>> from tropicell import Box, Network
    >>> network = Network.mlp([[[1.0], [1.0]], [[1.0, -2.0]]], [[0.0, -1.0], [0.0]])
    >>> ax = plot_function(network, window=Box(-1, 3))
    >>> ax.lines[0].get_xydata().tolist()
    [[-1.0, 0.0], [0.0, 0.0], [1.0, 1.0], [3.0, -1.0]]
    """
    found = regions_in(regions, window, 1)
    network = found.network
    shown = range(network.n_outputs) if output is None else [check_output(found, output)]
    low, high = window_of(found, window)
    corners = found.corners.values
    vertices = np.unique(corners[corners[:, -1] != 0, 0])
    inner = vertices[(vertices > low[0]) & (vertices < high[0])]
    x = np.concatenate([low, inner, high]) + 0.0  # no -0
    y = network(x[:, None])
    ax = new_axes(ax, figsize=(7, 4))
    for k in shown:
        label = f"y{k + 1}" if len(shown) > 1 else None
        line = ax.plot(x, y[:, k], label=label, linewidth=1.6)[0]
        if breakpoints:
            ax.plot(x[1:-1], y[1:-1, k], "o", color=line.get_color(), markersize=3.5)
    ax.set_xlim(low[0], high[0])
    ax.set_xlabel(input_name(network, 0))
    ax.set_ylabel("output" if len(shown) > 1 else f"y{shown[0] + 1}")
    if len(shown) > 1:
        ax.legend(fontsize="small")
    return ax


def plot_surface(
    regions: Regions | Network,
    ax: Axes | None = None,
    *,
    output: int = 0,
    color: Literal["value", "pattern"] = "value",
    window: Box | None = None,
    cmap: str = "viridis",
) -> Axes:
    """Draw the affine pieces of a network with two inputs as a surface.

    Parameters
    ----------
    regions : Regions or Network
        Of a network with two inputs. A network's regions are found in the window.
    ax : Axes, optional
        With ``projection="3d"``; default: new ones.
    output : int
        Which output is the height.
    color : {"value", "pattern"}
        By the mean height of the piece's corners, or neighbours in different colours.
    window : Box, optional
        What to show; see `plot_regions`.
    cmap : str

    Returns
    -------
    Axes

    Examples
    --------
    >>> from tropicell import Box, Network
    >>> network = Network.mlp([[[1.0, 0.0]], [[1.0]]])
    >>> ax = plot_surface(network, window=Box(-1, 1))
    >>> ax.get_zlabel()
    'y1'
    """
    found = regions_in(regions, window, 2)
    art3d: Any = require("mpl_toolkits.mplot3d.art3d", extra="plot", why="drawing surfaces")
    low, high = window_of(found, window)
    pieces, rows = surface_pieces(found, check_output(found, output), low, high)
    axes: Any = new_axes(ax, figsize=(7, 6), subplot_kw={"projection": "3d"})
    heights = np.array([piece[:, 2].mean() for piece in pieces])
    lowest = min((piece[:, 2].min() for piece in pieces), default=0.0)
    highest = max((piece[:, 2].max() for piece in pieces), default=0.0)
    if color == "pattern":
        colors: Any = color_names(color_numbers(found)[rows])
    else:
        share = (heights - lowest) / (highest - lowest) if highest > lowest else heights * 0 + 0.5
        colors = colormap(cmap)(share)
    axes.add_collection3d(
        art3d.Poly3DCollection(pieces, facecolors=colors, edgecolors="white", linewidths=0.15)
    )
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[1], high[1])
    if highest > lowest:
        axes.set_zlim(lowest, highest)
    axes.set_xlabel(input_name(found.network, 0))
    axes.set_ylabel(input_name(found.network, 1))
    axes.set_zlabel(f"y{output + 1}")
    return axes  # type: ignore[no-any-return]


def surface_pieces(
    regions: Regions, output: int, low: FloatArray, high: FloatArray
) -> tuple[list[FloatArray], NDArray[np.intp]]:
    """The regions in a frame, lifted to the height of an output, and which regions they are."""
    shown, rows = polygons_in(regions, low, high)
    forms = regions.affine_maps[rows, output]
    own = forms[shown.owners()]
    heights = (shown.values * own[:, :-1]).sum(axis=1) + own[:, -1]
    lifted = np.column_stack([shown.values, heights])
    return np.split(lifted, shown.ends[:-1])[: len(shown)], rows
