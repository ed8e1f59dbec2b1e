"""What of the plane is shown, and regions cut to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell.errors import InvalidInputError, require
from tropicell.network.domains import Box
from tropicell.network.network import Network
from tropicell.regions.region import Region
from tropicell.regions.regions import Regions
from tropicell.search.enumeration import enumerate_regions

if TYPE_CHECKING:
    from matplotlib.axes import Axes


#: A corner counts as on a line if it is closer than this, relative to the size of its polygon.
ON_LINE = 1e-9


def new_axes(ax: Axes | None, **options: Any) -> Axes:
    """The given axes, or new ones."""
    if ax is not None:
        return ax
    pyplot: Any = require("matplotlib.pyplot", extra="plot", why="drawing regions")
    axes: Axes = pyplot.subplots(layout="constrained", **options)[1]
    return axes


def colormap(name: str) -> Any:
    """A colour map by its name."""
    try:
        return require("matplotlib", extra="plot", why="drawing regions").colormaps[name]
    except KeyError:
        raise InvalidInputError(f"matplotlib has no colour map {name!r}") from None


def regions_in(source: Regions | Network, window: Box | None, inputs: int) -> Regions:
    """The regions to draw: those given, or those of a network in the window."""
    network = source if isinstance(source, Network) else source.network
    if network.n_inputs != inputs:
        raise InvalidInputError(
            f"this picture needs {inputs} input{'s' if inputs > 1 else ''}, the network has "
            f"{network.n_inputs}; use a Slice"
        )
    return enumerate_regions(source, window) if isinstance(source, Network) else source


def check_output(regions: Regions, output: int) -> int:
    """An index of an output that there is."""
    if not 0 <= output < regions.network.n_outputs:
        raise InvalidInputError(
            f"the network has the outputs 0 to {regions.network.n_outputs - 1}, not {output}"
        )
    return output


def window_of(regions: Regions, window: Box | None = None) -> tuple[FloatArray, FloatArray]:
    """The two corners of the frame.

    Notes
    -----
    The window that is asked for; else a bounded domain; else a frame that holds nine tenths of the
    regions' vertices in each direction, with a margin of a quarter on all sides.

    Examples
    --------
    >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
    >>> window_of(enumerate_regions(network))
    (array([-1., -1.]), array([1., 1.]))
    """
    inputs = regions.network.n_inputs
    chosen = regions.domain if window is None else window
    if isinstance(chosen, Box):
        low, high = chosen.corners(inputs)
        if np.isfinite([low, high]).all():
            return low, high
        if window is not None:
            raise InvalidInputError("the window must have finite corners")
    corners = regions.corners.values
    points = corners[(corners[:, -1] != 0) & np.isfinite(corners).all(axis=1), :-1]
    bounded = bool(regions.bounded.all())
    return around(points, 0.0 if bounded else 0.05, 0.02 if bounded else 0.25)


def around(points: FloatArray, outside: float, margin: float) -> tuple[FloatArray, FloatArray]:
    """A frame around points, with equal sides, that leaves out some of them at either end."""
    if len(points) == 0:
        points = np.zeros((1, points.shape[1]))
    low, high = np.quantile(points, [outside, 1 - outside], axis=0)
    half = float((high - low).max()) / 2
    half = half * (1 + 2 * margin) if half > 0 else max(1.0, float(np.abs(low).max()))
    middle = (low + high) / 2
    return middle - half, middle + half


def cut(polygon: FloatArray, a: FloatArray, b: float) -> FloatArray:
    """The part of a convex polygon where ``a·x <= b``; corners stay in order.

    Examples
    --------
    >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> cut(square, np.array([1.0, 0.0]), 0.5).tolist()
    [[0.0, 0.0], [0.5, 0.0], [0.5, 1.0], [0.0, 1.0]]
    """
    beyond = polygon @ a - b
    if (beyond <= 0).all():
        return polygon
    corners = []
    for k in range(len(polygon)):
        here, there = beyond[k - 1], beyond[k]
        if (here < 0 < there) or (there < 0 < here):
            share = here / (here - there)
            corners.append(polygon[k - 1] + share * (polygon[k] - polygon[k - 1]))
        if there <= 0:
            corners.append(polygon[k])
    kept = np.array(corners).reshape(-1, 2)
    return np.roll(kept, -1, axis=0) if beyond[0] <= 0 and beyond[-1] > 0 else kept


def rectangle(low: FloatArray, high: FloatArray) -> FloatArray:
    """The corners of a frame, counter-clockwise."""
    return np.array([low, [high[0], low[1]], high, [low[0], high[1]]])


def polygons_in(
    regions: Regions, low: FloatArray, high: FloatArray
) -> tuple[list[FloatArray], NDArray[np.intp]]:
    """The regions of a 2-D network cut to a frame, and which regions they are.

    Notes
    -----
    A bounded region is its polygon, cut along the sides of the frame if it sticks out. An unbounded
    one (or one with a corner that float64 can't hold) is the frame itself, cut along the region's
    facets: no far-away points stand in for infinity and the pieces fill the frame. Worked out in
    float64.

    Examples
    --------
    >>> network = Network.mlp([[[1.0, 0.0]], [[1.0]]])
    >>> polygons, _ = polygons_in(enumerate_regions(network), np.array([-1, -1]), np.array([3, 1]))
    >>> sorted(float(np.ptp(polygon[:, 0])) for polygon in polygons)
    [1.0, 3.0]
    """
    corners, bounded = regions.corners, regions.bounded.copy()
    points = corners.values[:, :2]
    bounded[corners.owners()[~np.isfinite(points).all(axis=1)]] = False
    outside = (points < low).any(axis=1) | (points > high).any(axis=1)
    sticks_out = np.zeros(len(regions), dtype=np.bool_)
    sticks_out[corners.owners()[outside]] = True
    polygons, kept = [], []
    for i, polygon in enumerate(np.split(points, corners.ends[:-1])[: len(regions)]):
        if not bounded[i]:
            shown = _unbounded(regions, i, low, high)
        else:
            shown = _framed(polygon, low, high) if sticks_out[i] else polygon
        if len(shown) >= 3:
            polygons.append(shown)
            kept.append(i)
    return polygons, np.array(kept, dtype=np.intp)


def _framed(polygon: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    for a, b in ((-np.eye(2), -low), (np.eye(2), high)):
        for k in range(2):
            if len(polygon):
                polygon = cut(polygon, a[k], b[k])
    return polygon


def _unbounded(regions: Regions, index: int, low: FloatArray, high: FloatArray) -> FloatArray:
    facets = {regions.lines.boundary(int(line)) for line in regions.facet_lines[index]}
    region = Region(regions.network, regions.packed[index], regions.domain, arithmetic="float")
    rows = region.inequalities
    polygon = rectangle(low, high)
    for a, b, source in zip(rows.A, rows.b, rows.sources, strict=True):
        if source in facets and len(polygon):
            polygon = cut(polygon, a, b)
    return polygon


def show_frame(ax: Axes, network: Network, low: FloatArray, high: FloatArray) -> None:
    """Limits, labels and equal scales of axes that show a piece of the plane."""
    ax.set_xlim(low[0], high[0])
    ax.set_ylim(low[1], high[1])
    ax.set_aspect("equal")
    ax.set_xlabel(input_name(network, 0))
    ax.set_ylabel(input_name(network, 1))


def input_name(network: Network, index: int) -> str:
    """``x1``, ``x2``, …, or ``t1``, ``t2``, … for the coordinates of a slice."""
    return f"{'x' if network.embedding is None else 't'}{index + 1}"
