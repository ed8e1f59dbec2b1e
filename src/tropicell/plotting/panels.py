"""Several panels: the paper's walkthrough neuron by neuron, and stacks of slices."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell.errors import InvalidInputError, require
from tropicell.geometry.arithmetic import to_floats
from tropicell.geometry.polyhedra import Cell
from tropicell.importers.models import as_network
from tropicell.network.domains import Box, Slice
from tropicell.network.inequalities import Inequalities, cut_by
from tropicell.network.network import Network
from tropicell.network.patterns import PatternLike
from tropicell.plotting.colors import PALETTE
from tropicell.plotting.frame import around, cut, given_panels, rectangle, show_frame
from tropicell.plotting.plane import Color, plot_regions
from tropicell.regions.region import Region
from tropicell.search.enumeration import all_regions


def plot_walkthrough(
    network: Network,
    pattern: PatternLike,
    axes: Any = None,
    *,
    window: Box | None = None,
    columns: int = 4,
) -> NDArray[Any]:
    r"""Draw how a region comes about, one panel a neuron: Figure 1 of the paper.

    Parameters
    ----------
    network : Network
        With two inputs.
    pattern : str, flat sequence or one sequence per layer
        It need not have a region: from the neuron on at which nothing is left, the panels say so.
    axes : array of Axes, optional
        One for each inequality; default: a new figure.
    window : Box, optional
        What to show; default: a frame around the crossings of the neurons' lines.
    columns : int
        Panels in a row of a new figure.

    Returns
    -------
    ndarray of Axes
        One for each neuron (for activations with several breakpoints, each inequality).

    Notes
    -----
    In each panel the solid line is where the neuron is at its breakpoint, the dark region is what
    is left, and the light one what the neuron takes away. Whether something is left is decided
    in exact arithmetic.

    Examples
    --------
    >>> network = Network.mlp([[[-4, 1], [-4, -1]], [[-8, 3], [-21/4, 19/4]], [[1, 1]]],
    ...                       [[2, 3], [3, -11/4], [0]])
    >>> axes = plot_walkthrough(network, "11|10")
    >>> [ax.get_title() for ax in axes]
    ['layer 1, neuron 0\nactive', 'layer 1, neuron 1\nactive',
     'layer 2, neuron 0\nactive', 'layer 2, neuron 1\ninactive']
    """
    network = as_network(network)
    if network.n_inputs != 2:
        raise InvalidInputError(f"the walkthrough needs 2 inputs, not {network.n_inputs}")
    region = Region(network, pattern)
    rows = region.inequalities
    low, high = _window(rows, window)
    panels = _panels(axes, len(rows), columns)
    polygon, cell = rectangle(low, high), Cell.whole_space(2)
    left: Cell | None = cell
    pieces = dict(_piece_names(network, region))
    for k, (ax, source) in enumerate(zip(panels, rows.sources, strict=True)):
        a, b = to_floats(rows.A[k]), float(to_floats(rows.b[k : k + 1])[0])
        left = cut_by(left, _one(rows, k))
        smaller = cut(polygon, a, b) if left is not None and len(polygon) else np.empty((0, 2))
        _fill(ax, polygon, "0.9")
        _fill(ax, smaller, PALETTE[0])
        _line(ax, a, b, low, high)
        for earlier in range(k):
            old = to_floats(rows.A[earlier])
            _line(ax, old, float(rows.b[earlier]), low, high, faint=True)
        note = pieces[source.layer, source.neuron]
        ax.set_title(f"{source}\n{note if left is not None else note + ': empty'}", fontsize=10)
        show_frame(ax, network, low, high)
        polygon = smaller
    return panels


def _one(rows: Inequalities, k: int) -> Inequalities:
    part = slice(k, k + 1)
    return Inequalities(rows.A[part], rows.b[part], rows.sources[part], rows.closed[part])


def _window(rows: Inequalities, window: Box | None) -> tuple[FloatArray, FloatArray]:
    """The window that is asked for, or one around the points where two lines cross."""
    if window is not None:
        return window.corners(2)
    points = []
    for i, j in combinations(range(len(rows)), 2):
        (a, b), (c, d) = rows.A[i], rows.A[j]
        determinant: Fraction = a * d - b * c
        if determinant != 0:
            x = (rows.b[i] * d - b * rows.b[j]) / determinant
            y = (a * rows.b[j] - rows.b[i] * c) / determinant
            points.append([float(x), float(y)])
    return around(np.array(points).reshape(-1, 2), 0.0 if len(points) < 20 else 0.2, 0.25)


def _panels(axes: Any, count: int, columns: int) -> NDArray[Any]:
    if axes is not None:
        return given_panels(axes, count)
    pyplot: Any = require("matplotlib.pyplot", extra="plot", why="drawing regions")
    across = max(1, min(columns, count))
    down = max(1, -(-count // across))
    figure, grid = pyplot.subplots(
        down, across, squeeze=False, figsize=(3 * across, 3.4 * down), layout="constrained"
    )
    for unused in grid.ravel()[count:]:
        figure.delaxes(unused)
    return np.asarray(grid.ravel()[:count], dtype=object)


def _piece_names(network: Network, region: Region) -> Any:
    """For each layer and neuron the name of its piece."""
    start = 0
    for number, layer in enumerate(network.layers, start=1):
        for neuron in range(layer.width):
            piece = int(region.pattern[start + neuron])
            relu = layer.activation.name == "relu"
            name = ("inactive", "active")[piece] if relu else f"piece {piece}"
            yield (number, neuron), name
        start += layer.width


def _fill(ax: Any, polygon: FloatArray, color: str) -> None:
    if len(polygon) >= 3:
        ax.fill(polygon[:, 0], polygon[:, 1], color=color, linewidth=0)


def _line(
    ax: Any, a: FloatArray, b: float, low: FloatArray, high: FloatArray, *, faint: bool = False
) -> None:
    """The part of a line in the frame."""
    half = cut(rectangle(low, high), a, b)
    size = np.abs(a).sum() * float((high - low).max())
    ends = half[np.abs(half @ a - b) <= 1e-9 * size] if len(half) else half
    if len(ends) >= 2:
        ends = ends[np.lexsort(ends.T)][[0, -1]]
        style = {"color": "0.6", "linewidth": 0.8} if faint else {"color": "0.1", "linewidth": 1.8}
        ax.plot(ends[:, 0], ends[:, 1], **style)


def plot_slices(
    network: Network,
    window: Box,
    axes: Any = None,
    *,
    levels: ArrayLike | None = None,
    axis: int = 2,
    color: Color = "pattern",
    columns: int = 4,
) -> NDArray[Any]:
    """Draw the regions of a network with three inputs as a stack of slices.

    Parameters
    ----------
    network : Network
        With three inputs.
    window : Box
        What to show of the three inputs.
    axes : array of Axes, optional
        One for each level; default: a new figure.
    levels : array_like, optional
        Where to cut; default: four levels, evenly inside the window.
    axis : int
        Which input is held fixed, from 0.
    color : str
        See `plot_regions`. The same pattern need not have the same colour in all panels.
    columns : int
        Panels in a row of a new figure.

    Returns
    -------
    ndarray of Axes

    Examples
    --------
    >>> from tropicell import Box, Network
    >>> network = Network.mlp([[[1.0, 1.0, 1.0]], [[1.0]]])
    >>> axes = plot_slices(network, Box(-1, 1), levels=[-3, 0])
    >>> [len(ax.collections[0].get_paths()) for ax in axes]
    [1, 2]
    """
    network = as_network(network)
    if network.n_inputs != 3:
        raise InvalidInputError(f"slices are drawn for 3 inputs, not {network.n_inputs}")
    if axis not in (0, 1, 2):
        raise InvalidInputError(f"axis must be 0, 1 or 2, not {axis}")
    low, high = window.corners(3)
    others = [k for k in range(3) if k != axis]
    inside = Box(low[others], high[others])
    shares = np.arange(1, 5) / 5
    heights = low[axis] + shares * (high[axis] - low[axis]) if levels is None else levels
    cuts = np.atleast_1d(np.asarray(heights, dtype=np.float64))
    panels = _panels(axes, len(cuts), columns)
    for ax, height in zip(panels, cuts.tolist(), strict=True):
        plane = Slice(height * np.eye(3)[axis], np.eye(3)[others], inside)
        plot_regions(all_regions(network, plane), ax, color=color, colorbar=False)
        ax.set_title(f"x{axis + 1} = {height:g}", fontsize=10)
        ax.set_xlabel(f"x{others[0] + 1}")
        ax.set_ylabel(f"x{others[1] + 1}")
    return panels
