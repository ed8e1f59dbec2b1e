"""Networks with two inputs: regions, boundaries, decision boundaries, data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell._runtime.interruption import check
from tropicell._runtime.progress import bar_of
from tropicell.errors import InvalidInputError, require
from tropicell.network.domains import Box
from tropicell.network.network import Network
from tropicell.plotting.colors import color_numbers, color_values
from tropicell.plotting.frame import (
    ON_LINE,
    check_output,
    colormap,
    new_axes,
    polygons_in,
    regions_in,
    show_frame,
    thresholds,
    window_of,
)
from tropicell.plotting.shading import shaded
from tropicell.regions.columns import Ragged
from tropicell.regions.regions import Regions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Edges between regions with the layers that they come from, and level sets of affine forms.

#: Polygons that are looked at together.
_BATCH = 4_096


def boundary_edges(
    regions: Regions, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, NDArray[np.int64]]:
    """The edges between regions in a frame, each once, and the layer that bends there.

    Returns
    -------
    segments : ndarray, shape (edges, 2, 2)
    layers : ndarray
        1 … L.
    """
    polygons, rows = polygons_in(regions, low, high)
    whole = _known_sides(regions, polygons, rows)
    known = Ragged.from_counts(
        polygons.values[polygons.places(np.flatnonzero(whole))], polygons.counts[whole]
    )
    found, layer = _edges_with_sides(regions, known, rows[whole])
    segments, layers = [found], [layer]
    facets, others = _inner_facets(regions), np.flatnonzero(~whole)
    for start in range(0, len(others), _BATCH):
        check()
        part = others[start : start + _BATCH]
        own = Ragged.from_counts(polygons.values[polygons.places(part)], polygons.counts[part])
        found, layer = _edges_of(regions, own, facets, rows[part])
        segments.append(found)
        layers.append(layer)
    return _once(np.concatenate(segments), np.concatenate(layers), float((high - low).max()))


def _known_sides(regions: Regions, polygons: Ragged, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Which polygons are regions as they are, with facets in the order of their corners."""
    if regions.stats.get("engine") != "cells":
        return np.zeros(len(rows), dtype=np.bool_)
    corners = regions.corners
    same = polygons.counts == corners.counts[rows]
    same &= regions.facet_lines.counts[rows] == polygons.counts
    some = np.flatnonzero(same)
    ours, theirs = polygons.places(some), corners.places(rows[some])
    moved = (polygons.values[ours] != corners.values[theirs, :2]).any(axis=1)
    same[some[np.repeat(np.arange(len(some)), polygons.counts[some])[moved]]] = False
    return np.asarray(same & regions.bounded[rows])


def _edges_with_sides(
    regions: Regions, polygons: Ragged, rows: NDArray[np.intp]
) -> tuple[FloatArray, NDArray[np.int64]]:
    """The same where the line of the side that starts at each corner is known."""
    lines, points = regions.lines, polygons.values
    number = regions.facet_lines.values[regions.facet_lines.places(rows)] - lines.first
    following = np.arange(1, len(points) + 1)
    following[polygons.ends - 1] = polygons.ends - polygons.counts
    inner = np.flatnonzero(number >= 0)
    edges = np.stack([points[inner], points[following[inner]]], axis=1)
    return edges, lines.layer[number[inner]].astype(np.int64)


def _inner_facets(regions: Regions) -> Ragged:
    """For every region the lines of its facets, those of neurons alone and counted from there."""
    facets, first = regions.facet_lines, regions.lines.first
    owner, line = facets.owners(), facets.values.astype(np.int64)
    owner, line = owner[line >= first], line[line >= first] - first
    order = np.lexsort((line, owner))
    return Ragged.from_counts(line[order], np.bincount(owner, minlength=len(regions)))


def pre_activations(network: Network, points: FloatArray) -> FloatArray:
    """What every neuron gets before its activation at points, shape (points, neurons)."""
    values = [points if network.float_embedding is None else network.float_embedding(points)]
    parts = [np.empty((len(points), 0))]
    for layer in network.layers:
        parts.append(layer.affine(values))
        values.append(layer.activation(parts[-1]))
    return np.concatenate(parts, axis=1)


def _edges_of(
    regions: Regions, polygons: Ragged, facets: Ragged, rows: NDArray[np.intp]
) -> tuple[FloatArray, NDArray[np.int64]]:
    """Edges of polygons that lie on a neuron's boundary: both ends are at its breakpoint."""
    lines, points, counts = regions.lines, polygons.values, polygons.counts
    before = pre_activations(regions.network, points)
    number = facets.values[facets.places(rows)]
    # every facet of a region with every corner of its polygon: the corners of a facet side by side
    polygon = np.repeat(np.arange(len(rows)), facets.counts[rows])
    pairs = Ragged.from_counts(np.empty(0), counts[polygon])
    if not len(number):
        return np.empty((0, 2, 2)), np.empty(0, dtype=np.int64)
    corner, facet = polygons.places(polygon), pairs.owners()
    starts = pairs.ends - pairs.counts
    levels = thresholds(regions.network, lines)[number]
    away = np.abs(before[corner, lines.neuron[number][facet]] - levels[facet])
    away /= np.maximum(np.maximum.reduceat(away, starts), 1e-300)[facet]
    following = np.arange(1, len(away) + 1)
    following[pairs.ends - 1] = starts
    both = np.maximum(away, away[following])
    near = np.flatnonzero(both < 1e-6)
    order = near[np.lexsort((number[facet[near]], both[near], corner[near]))]
    closest = order[np.diff(corner[order], prepend=-1) > 0]  # the first one of each corner
    ends = corner[following[closest]]
    edges = np.stack([points[corner[closest]], points[ends]], axis=1)
    return edges, lines.layer[number[facet[closest]]].astype(np.int64)


def _once(
    segments: FloatArray, layers: NDArray[np.int64], size: float
) -> tuple[FloatArray, NDArray[np.int64]]:
    """Every edge is found from both sides: keep one, the earlier layer's if they differ."""
    order = np.argsort(layers, kind="stable")
    segments, layers = segments[order], layers[order]
    first = _first_rows(np.round(segments.mean(axis=1) / (size * ON_LINE)))
    kept = first == np.arange(len(first))
    return segments[kept], layers[kept]


def _first_rows(keys: FloatArray) -> NDArray[np.intp]:
    """For every row the first one that is equal to it."""
    order = np.lexsort(keys.T)
    new = np.ones(len(keys), dtype=np.bool_)
    new[1:] = (keys[order[1:]] != keys[order[:-1]]).any(axis=1)
    first = np.empty(len(keys), dtype=np.intp)
    first[order] = order[new][np.cumsum(new) - 1]
    return first


def level_segments(polygons: Ragged, forms: FloatArray) -> FloatArray:
    """Where an affine form of each convex polygon (coefficients, then the offset) is 0.

    Returns
    -------
    ndarray, shape (segments, 2, 2)

    Examples
    --------
    >>> square = Ragged(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]), np.array([4]))
    >>> level_segments(square, np.array([[2.0, 0.0, -1.0]])).tolist()
    [[[0.5, 0.0], [0.5, 1.0]]]
    """
    points, owner, count = polygons.values, polygons.owners(), len(polygons)
    if not len(points):
        return np.empty((0, 2, 2))
    own, starts = forms[owner], polygons.ends - polygons.counts
    values = (points * own[:, :-1]).sum(axis=1) + own[:, -1]
    largest = np.maximum.reduceat(np.abs(values), starts)
    values[np.abs(values) <= 1e-12 * largest[owner]] = 0.0
    above, below, on = (
        np.bincount(owner[which], minlength=count)
        for which in (values > 0, values < 0, values == 0)
    )
    crosses = (above > 0) & (below > 0)
    passed = ((above > 0) | (below > 0)) & (crosses | (on >= 2))
    following = np.arange(1, len(points) + 1)
    following[polygons.ends - 1] = starts
    after = values[following]
    crossed = np.flatnonzero((values * after < 0) & passed[owner])
    share = values[crossed] / (values[crossed] - after[crossed])
    ends = points[crossed] + share[:, None] * (points[following] - points)[crossed]
    zero = np.flatnonzero((values == 0) & passed[owner])
    ends, place = np.concatenate([ends, points[zero]]), owner[np.concatenate([crossed, zero])]
    order = np.lexsort((ends[:, 1], ends[:, 0], place))
    ends, place = ends[order], place[order]
    first = np.flatnonzero(np.diff(place, prepend=-1))
    last = np.append(first[1:], len(place)) - 1
    first, last = first[last > first], last[last > first]
    segments = np.stack([ends[first], ends[last]], axis=1)
    # An edge on which the form is 0 may belong to two polygons.
    keys = np.round(segments.reshape(-1, 4) / (ON_LINE * float(np.abs(points).max())))
    kept = crosses[place[first]] | (_first_rows(keys) == np.arange(len(keys)))
    return np.asarray(segments[kept])


Color = Literal["pattern", "value", "gradient", "area", "neighbours"]

#: Columns that colours are made from, if they are to be worked out.
_NEEDED = {
    "value": ["affine_maps"],
    "gradient": ["affine_maps"],
    "area": ["volumes"],
    "neighbours": ["neighbours"],
}

_LABELS = {
    "value": "{output}",
    "gradient": "gradient norm of {output}",
    "area": "area (logarithm to base 10)",
    "neighbours": "number of neighbours",
}


def plot_regions(
    regions: Regions | Network,
    ax: Axes | None = None,
    *,
    color: Color = "pattern",
    output: int = 0,
    window: Box | None = None,
    cmap: str = "viridis",
    edgecolor: str = "white",
    linewidth: float | None = None,
    colorbar: bool = True,
    points: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    workers: int = 1,
    progress: bool | None = None,
) -> Axes:
    """Draw all regions of a 2-D network, as one collection of polygons.

    Parameters
    ----------
    regions : Regions or Network
        Of a network with two inputs (or on a plane). A network's regions are found in the window.
    ax : Axes, optional
        Where to draw; default: new axes.
    color : {"pattern", "value", "gradient", "area", "neighbours"}
        ``"pattern"``: neighbours have different colours, the same in every run. The others: the
        network's value, shaded as it changes within a region, the norm of its gradient, the area
        (grey where unbounded), the number of neighbours.
    output : int
        Which of the network's outputs gives value and gradient.
    window : Box, optional
        What to show. Default: the domain if it is a box, else a frame around the vertices.
        Unbounded regions are cut at the frame, exactly along their facets.
    cmap : str
        Matplotlib's name of a colour map; not used for ``"pattern"``.
    edgecolor : str
    linewidth : float, optional
        Default: thinner the more regions there are.
    colorbar : bool
        Show what the colours mean; not used for ``"pattern"``.
    points, labels : array_like, optional
        Data to draw on top; see `plot_points`.
    workers : int
        Number of threads for columns that are not known yet, see `Regions.prepare`.
    progress : bool, optional
        Show progress bars if these, or the polygons, take longer than two seconds; default: if
        standard error is a terminal. Writing the picture to a file is up to matplotlib.

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
    found = regions_in(regions, window, 2)
    collections: Any = require("matplotlib.collections", extra="plot", why="drawing regions")
    check_output(found, output)
    found.prepare(_NEEDED.get(color, ()), workers=workers, progress=progress)
    values = None if color in ("pattern", "value") else _values(found, color, output)
    low, high = window_of(found, window)
    shown, rows = polygons_in(found, low, high)
    ax = new_axes(ax, figsize=(6, 6) if color == "pattern" or not colorbar else (7, 6))
    width = min(0.6, 11 / np.sqrt(1 + len(shown))) if linewidth is None else linewidth
    style = {"edgecolors": edgecolor, "linewidths": width}
    paths = paths_of(shown, progress=progress)
    if color == "pattern":
        names = color_values(color_numbers(found)[rows])
        ax.add_collection(collections.PathCollection(paths, facecolors=names, **style))
    else:
        colors = colormap(cmap).with_extremes(bad="0.85")
        if values is None:
            cells = shaded(shown, _corner_values(found, shown, rows, output), cmap=colors)
            ax.add_collection(cells)
            edges = collections.PathCollection(paths, facecolors="none", **style)
            ax.add_collection(edges)
        else:
            array = np.ma.masked_invalid(values[rows])
            cells = collections.PathCollection(paths, array=array, cmap=colors, **style)
            ax.add_collection(cells)
        if colorbar and np.ma.count(cells.get_array()):
            label = _LABELS[color].format(output=f"y{output + 1}")
            ax.figure.colorbar(cells, ax=ax, label=label, shrink=0.8)
    show_frame(ax, found.network, low, high)
    if not found.complete and not ax.get_title():
        ax.set_title(f"at least {len(found):,} linear regions", fontsize=10)
    return ax if points is None else plot_points(points, ax, labels=labels)


def paths_of(polygons: Ragged, *, progress: bool | None = False) -> list[Any]:
    """Polygons as closed paths of matplotlib; those of equally many corners are made together."""
    collections: Any = require("matplotlib.collections", extra="plot", why="drawing regions")
    paths = np.empty(len(polygons), dtype=object)
    with bar_of(len(polygons), " polygons", progress) as bar:
        for count in np.unique(polygons.counts).tolist():
            alike = np.flatnonzero(polygons.counts == count)
            for start in range(0, len(alike), _BATCH):
                check()
                rows = alike[start : start + _BATCH]
                corners = polygons.values[polygons.places(rows)].reshape(-1, count, 2)
                paths[rows] = collections.PolyCollection(corners).get_paths()
                bar.update(len(rows))
    found: list[Any] = paths.tolist()
    return found


def _corner_values(
    regions: Regions, polygons: Ragged, rows: NDArray[np.intp], output: int
) -> FloatArray:
    """The network's value at the corners of some regions."""
    with np.errstate(over="ignore", invalid="ignore"):  # some regions are beyond float64
        maps = regions.affine_maps[:, output][rows[polygons.owners()]]
        return np.asarray((maps[:, :-1] * polygons.values).sum(axis=1) + maps[:, -1])


def _values(regions: Regions, color: str, output: int) -> FloatArray:
    """A number for every region."""
    if color == "gradient":
        return np.asarray(np.linalg.norm(regions.affine_maps[:, output, :-1], axis=1))
    if color == "area":
        areas = np.where(regions.volumes > 0, regions.volumes, np.nan)
        return np.log10(np.where(np.isfinite(areas), areas, np.nan))
    if color == "neighbours":
        pairs = regions.neighbours.pairs
        return np.bincount(pairs.ravel(), minlength=len(regions)).astype(np.float64)
    raise InvalidInputError(
        f"color must be 'pattern', 'value', 'gradient', 'area' or 'neighbours', not {color!r}"
    )


def plot_points(points: ArrayLike, ax: Axes, *, labels: ArrayLike | None = None) -> Axes:
    """Draw data points on top of regions.

    Parameters
    ----------
    points : array_like, shape (points, 2)
    ax : Axes
    labels : array_like, optional
        A class or value for every point, which gives its colour.

    Examples
    --------
    >>> from tropicell import Box, Network
    >>> ax = plot_regions(Network.mlp([[[1.0, 0.0]], [[1.0]]]), window=Box(-1, 1))
    >>> ax = plot_points([[0.5, 0.5], [-0.5, 0.0]], ax, labels=[0, 1])
    >>> len(ax.collections)
    2
    """
    x = np.asarray(points, dtype=np.float64)
    if x.ndim != 2 or x.shape[1] != 2:
        raise InvalidInputError(f"expected points of shape (points, 2), got {x.shape}")
    if labels is not None and np.shape(labels) != (len(x),):
        raise InvalidInputError(f"expected a label for each of the {len(x)} points")
    limits = ax.get_xlim(), ax.get_ylim()
    style: dict[str, Any] = {"s": 14, "linewidths": 0.6, "edgecolors": "white", "zorder": 3}
    if labels is None:
        ax.scatter(x[:, 0], x[:, 1], color="0.15", **style)
    else:
        ax.scatter(x[:, 0], x[:, 1], c=np.asarray(labels), cmap="coolwarm", **style)
    ax.set_xlim(*limits[0])
    ax.set_ylim(*limits[1])
    return ax


def plot_boundaries(
    regions: Regions | Network,
    ax: Axes | None = None,
    *,
    window: Box | None = None,
    cmap: str = "viridis",
    linewidth: float = 0.9,
    legend: bool = True,
) -> Axes:
    """Draw the boundaries between regions, coloured by the layer that bends there.

    Parameters
    ----------
    regions : Regions or Network
        Of a network with two inputs. A network's regions are found in the window.
    ax : Axes, optional
    window : Box, optional
        What to show; see `plot_regions`.
    cmap : str
        The first layer takes the colour map's dark end. Earlier layers have thicker lines.
    linewidth : float
        Of the last layer.
    legend : bool

    Returns
    -------
    Axes

    Notes
    -----
    One collection of segments a layer. Where neurons of several layers share a boundary, it is
    drawn as the first one's.

    Examples
    --------
    >>> from tropicell import Box, Network
    >>> network = Network.mlp([[[1.0, 0.0]], [[1.0]], [[1.0]]], [[0.0], [-0.5], [0.0]])
    >>> ax = plot_boundaries(network, window=Box(-1, 1))
    >>> [len(lines.get_segments()) for lines in ax.collections]
    [1, 1]
    """
    found = regions_in(regions, window, 2)
    collections: Any = require("matplotlib.collections", extra="plot", why="drawing regions")
    low, high = window_of(found, window)
    segments, layers = boundary_edges(found, low, high)
    ax = new_axes(ax, figsize=(6, 6))
    depth = found.network.depth
    for layer in range(1, depth + 1):
        lines = collections.LineCollection(
            segments[layers == layer],
            colors=[colormap(cmap)(0.85 * (layer - 1) / max(1, depth - 1))],
            linewidths=linewidth * (1 + 0.25 * (depth - layer)),
            label=f"layer {layer}",
            zorder=2 + 0.5 * (depth - layer) / depth,
        )
        lines.set_capstyle("round")
        ax.add_collection(lines)
    show_frame(ax, found.network, low, high)
    if legend and depth:
        ax.legend(loc="upper right", fontsize="small", framealpha=0.9)
    return ax


def plot_decision_boundary(
    regions: Regions | Network,
    ax: Axes | None = None,
    *,
    outputs: tuple[int, int] | None = None,
    window: Box | None = None,
    color: str = "black",
    linewidth: float = 2.0,
) -> Axes:
    """Draw where two outputs are equal, or where the only output is 0.

    Parameters
    ----------
    regions : Regions or Network
        Of a network with two inputs. A network's regions are found in the window.
    ax : Axes, optional
    outputs : pair of int, optional
        Default: 0 and 1; for networks with one output, where it is 0.
    window : Box, optional
        What to show; see `plot_regions`.
    color : str
    linewidth : float

    Returns
    -------
    Axes

    Notes
    -----
    One segment for every region that the boundary passes, in float64; `measure.decision_boundary`
    says what counts as the boundary, and decides without rounding. Regions on which the outputs are
    equal throughout are left out.

    Examples
    --------
    >>> from tropicell import Box, Network
    >>> network = Network.mlp([[[1.0, 0.0]], [[1.0]]], [[0.0], [-0.5]])
    >>> ax = plot_decision_boundary(network, window=Box(-1, 1))
    >>> ax.collections[0].get_segments()[0].tolist()
    [[0.5, -1.0], [0.5, 1.0]]
    """
    found = regions_in(regions, window, 2)
    collections: Any = require("matplotlib.collections", extra="plot", why="drawing regions")
    maps = found.affine_maps
    if outputs is None and found.network.n_outputs == 1:
        forms = maps[:, 0]
    else:
        first, second = (check_output(found, k) for k in outputs or (0, 1))
        forms = maps[:, first] - maps[:, second]
    low, high = window_of(found, window)
    shown, rows = polygons_in(found, low, high)
    ax = new_axes(ax, figsize=(6, 6))
    lines = collections.LineCollection(
        level_segments(shown, forms[rows]), colors=color, linewidths=linewidth, zorder=2.8
    )
    lines.set_capstyle("round")
    ax.add_collection(lines)
    show_frame(ax, found.network, low, high)
    return ax
