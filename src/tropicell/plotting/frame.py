"""What of the plane is shown, and regions cut to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell._runtime.interruption import check
from tropicell.errors import InvalidInputError, require
from tropicell.network.domains import Box
from tropicell.network.inequalities import Lines
from tropicell.network.network import Network
from tropicell.regions.columns import Ragged
from tropicell.regions.given import as_regions
from tropicell.regions.regions import Regions
from tropicell.search.enumeration import all_regions

if TYPE_CHECKING:
    from matplotlib.axes import Axes


#: A corner counts as on a line if it is closer than this, relative to the size of its polygon.
ON_LINE = 1e-9

#: Maps of neurons that are worked out at a time.
_NUMBERS = 2**20


def new_axes(ax: Axes | None, **options: Any) -> Axes:
    """The given axes, or new ones."""
    if ax is not None:
        return ax
    pyplot: Any = require("matplotlib.pyplot", extra="plot", why="drawing regions")
    axes: Axes = pyplot.subplots(layout="constrained", **options)[1]
    return axes


def given_panels(axes: Any, count: int) -> NDArray[Any]:
    """The axes that a caller gives for several pictures, as one row."""
    panels = np.asarray(axes, dtype=object).ravel()
    if len(panels) != count:
        raise InvalidInputError(f"expected {count} axes, one a panel, got {len(panels)}")
    return panels


def colormap(name: str) -> Any:
    """A colour map by its name."""
    try:
        return require("matplotlib", extra="plot", why="drawing regions").colormaps[name]
    except KeyError:
        raise InvalidInputError(f"matplotlib has no colour map {name!r}") from None


def regions_in(source: Regions | Network, window: Box | None, inputs: int) -> Regions:
    """The regions to draw: those given, or those of a network in the window."""
    if not isinstance(source, Network):
        source = as_regions(source)
    network = source if isinstance(source, Network) else source.network
    if network.n_inputs != inputs:
        raise InvalidInputError(
            f"this picture needs {inputs} input{'s' if inputs > 1 else ''}, the network has "
            f"{network.n_inputs}; use a Slice"
        )
    return all_regions(source, window) if isinstance(source, Network) else source


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
    >>> from tropicell import enumerate_regions
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


def cut_all(polygons: Ragged, a: FloatArray, b: FloatArray) -> Ragged:
    """`cut` for many polygons, each with a half-plane of its own.

    Parameters
    ----------
    polygons : Ragged
        Corners, shape (corners, 2).
    a : ndarray, shape (polygons, 2)
    b : ndarray, shape (polygons,)

    Examples
    --------
    >>> square = Ragged(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]), np.array([4]))
    >>> cut_all(square, np.array([[1.0, 0.0]]), np.array([0.5]))[0].tolist()
    [[0.0, 0.0], [0.5, 0.0], [0.5, 1.0], [0.0, 1.0]]
    """
    points, owner, counts = polygons.values, polygons.owners(), polygons.counts
    beyond = (points * a[owner]).sum(axis=1) - b[owner]
    some = counts > 0
    firsts, lasts = (polygons.ends - counts)[some], polygons.ends[some] - 1
    previous = np.arange(-1, len(points) - 1)
    previous[firsts] = lasts
    here, there = beyond[previous], beyond
    crossed = ((here < 0) & (there > 0)) | ((here > 0) & (there < 0))
    kept = there <= 0
    made = crossed.astype(np.int64) + kept
    place = np.cumsum(made) - made
    found = np.empty((int(made.sum()), 2))
    start, end = points[previous[crossed]], points[crossed]
    share = here[crossed] / (here[crossed] - there[crossed])
    found[place[crossed]] = start + share[:, None] * (end - start)
    found[place[kept] + crossed[kept]] = points[kept]
    left = Ragged.from_counts(found, np.bincount(owner, made, len(polygons)).astype(np.int64))
    turned = np.zeros(len(polygons), dtype=np.bool_)
    turned[some] = (beyond[firsts] <= 0) & (beyond[lasts] > 0)
    if turned.any():  # as `cut` does: the first corner stays the first one
        own = left.places(np.flatnonzero(turned))
        rolled = np.flatnonzero(turned)[left.counts[turned] > 0]
        following = own + 1
        following[np.isin(own, left.ends[rolled] - 1)] = (left.ends - left.counts)[rolled]
        found[own] = found[following]
    return left


def polygons_in(
    regions: Regions, low: FloatArray, high: FloatArray
) -> tuple[Ragged, NDArray[np.intp]]:
    """The regions of a 2-D network cut to a frame, and which regions they are.

    Notes
    -----
    A bounded region is its polygon, cut along the sides of the frame if it sticks out. An unbounded
    one (or one with a corner that float64 can't hold) is the frame itself, cut along the region's
    facets: no far-away points stand in for infinity and the pieces fill the frame. Worked out in
    float64.

    Examples
    --------
    >>> from tropicell import enumerate_regions
    >>> network = Network.mlp([[[1.0, 0.0]], [[1.0]]])
    >>> polygons, _ = polygons_in(enumerate_regions(network), np.array([-1, -1]), np.array([3, 1]))
    >>> sorted(float(np.ptp(polygons[i][:, 0])) for i in range(len(polygons)))
    [1.0, 3.0]
    """
    corners, bounded = regions.corners, regions.bounded.copy()
    points, owners = corners.values[:, :2], corners.owners()
    bounded[owners[~np.isfinite(points).all(axis=1)]] = False
    outside = (points < low).any(axis=1) | (points > high).any(axis=1)
    sticks_out = np.zeros(len(regions), dtype=np.bool_)
    sticks_out[owners[outside]] = True
    inside, framed = np.flatnonzero(bounded & ~sticks_out), np.flatnonzero(bounded & sticks_out)
    unbounded = np.flatnonzero(~bounded)
    parts = [
        _taken(Ragged(points, corners.ends), inside),
        _framed(_taken(Ragged(points, corners.ends), framed), low, high),
        _unbounded(regions, unbounded, low, high),
    ]
    joined = Ragged.from_counts(
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.counts for part in parts]),
    )
    which = np.concatenate([inside, framed, unbounded])
    order = np.argsort(which, kind="stable")
    order = order[joined.counts[order] >= 3]
    return _taken(joined, order), which[order]


def _taken(polygons: Ragged, rows: NDArray[Any]) -> Ragged:
    """Some of the polygons."""
    return Ragged.from_counts(polygons.values[polygons.places(rows)], polygons.counts[rows])


def _framed(polygons: Ragged, low: FloatArray, high: FloatArray) -> Ragged:
    for a, b in ((-np.eye(2), -low), (np.eye(2), high)):
        for k in range(2):
            check()
            count = len(polygons)
            polygons = cut_all(polygons, np.tile(a[k], (count, 1)), np.full(count, float(b[k])))
    return polygons


def _unbounded(
    regions: Regions, rows: NDArray[np.intp], low: FloatArray, high: FloatArray
) -> Ragged:
    """The frame cut along the facets of some regions."""
    step = max(1, _NUMBERS // max(1, regions.network.n_neurons))
    parts = [Ragged(np.empty((0, 2)), np.empty(0, np.int64))]
    for start in range(0, len(rows), step):
        check()
        parts.append(_cut_frames(regions, rows[start : start + step], rectangle(low, high)))
    values, counts = [part.values for part in parts], [part.counts for part in parts]
    return Ragged.from_counts(np.concatenate(values), np.concatenate(counts))


def _cut_frames(regions: Regions, rows: NDArray[np.intp], frame: FloatArray) -> Ragged:
    """A frame for each of some regions, cut along the region's facets one after the other."""
    network, lines = regions.network, regions.lines
    facets = regions.facet_lines
    line = facets.values[facets.places(rows)].astype(np.int64)
    owner = np.repeat(np.arange(len(rows)), facets.counts[rows])
    owner, line = owner[line > 0], line[line > 0]
    order = np.lexsort((line, owner))
    owner, line = owner[order], line[order]
    a, b = np.empty((len(line), 2)), np.empty(len(line))
    domain_a, domain_b = regions.domain.inequalities(2)
    of_domain = line < lines.first
    a[of_domain], b[of_domain] = domain_a[line[of_domain] - 1], domain_b[line[of_domain] - 1]
    ours = ~of_domain
    number = line[ours] - lines.first
    patterns = regions.packed[rows]
    maps = network.maps("float").pre_activations(patterns)[lines.neuron[number], owner[ours]]
    above = patterns[owner[ours], lines.neuron[number]] > lines.breakpoint[number]
    sign = np.where(above, -1.0, 1.0)
    a[ours] = sign[:, None] * maps[:, :-1]
    b[ours] = sign * (thresholds(network, lines)[number] - maps[:, -1])
    polygons = Ragged.from_counts(np.tile(frame, (len(rows), 1)), np.full(len(rows), len(frame)))
    rank = np.arange(len(owner)) - np.searchsorted(owner, owner)
    for k in range(int(rank.max(initial=-1)) + 1):
        own_a, own_b = np.zeros((len(rows), 2)), np.zeros(len(rows))
        own_a[owner[rank == k]], own_b[owner[rank == k]] = a[rank == k], b[rank == k]
        polygons = cut_all(polygons, own_a, own_b)
    return polygons


def thresholds(network: Network, lines: Lines) -> FloatArray:
    """For every neuron's line the breakpoint that it stands for."""
    found = [np.empty(0)]
    for index, layer in enumerate(network.layers, start=1):
        own = lines.layer == index
        found.append(layer.activation.breakpoints[lines.index[own], lines.breakpoint[own]])
    return np.concatenate(found)


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
