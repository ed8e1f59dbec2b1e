"""Tropical polynomials: their cells, hypersurfaces and dual subdivisions, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell._runtime.interruption import check
from tropicell.errors import InvalidInputError, require
from tropicell.geometry.arithmetic import to_floats
from tropicell.network.domains import Box
from tropicell.paper.polynomials import (
    TropicalPolynomial,
    TropicalRationalFunction,
    TropicalSubdivision,
)
from tropicell.plotting.colors import PALETTE
from tropicell.plotting.frame import around, colormap, cut, given_panels, rectangle

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Up to so many cells are numbered.
_NUMBERED = 30

#: A plane whose normal is this close to another one's, relatively, is parallel to it.
_PARALLEL = 1e-9


def plot_tropical(
    source: TropicalPolynomial | TropicalRationalFunction,
    axes: Any = None,
    *,
    window: Box | None = None,
) -> NDArray[Any]:
    """Draw where a tropical polynomial is affine, next to the subdivision that is dual to it.

    Parameters
    ----------
    source : TropicalPolynomial or TropicalRationalFunction
        In two variables, or a polynomial in three. Of a fraction, numerator and denominator are
        drawn one below the other, and then the linear regions of the fraction: cells of both
        together, in one colour where the map is the same.
    axes : array of Axes, optional
        Two for a polynomial (with three variables, in 3-D), five for a fraction; default: a new
        figure.
    window : Box, optional
        What to show; default: a frame around the vertices of the hypersurface.

    Returns
    -------
    ndarray of Axes

    Notes
    -----
    A cell and the vertex that is dual to it have the same colour (and number, if there are few):
    the vertex is the monomial's exponents, the slope on the cell. An edge of the subdivision is
    perpendicular to the line between the two cells; a polygon of it belongs to a point in which
    several cells meet.

    Examples
    --------
    >>> x, y = TropicalPolynomial.variables(2)
    >>> axes = plot_tropical(0 + x + y + -1 * x * y)
    >>> [ax.get_title() for ax in axes]
    ['4 cells', 'dual subdivision: 2 polygons']
    """
    if isinstance(source, TropicalRationalFunction):
        return _fraction(source, axes, window)
    if not isinstance(source, TropicalPolynomial):
        raise InvalidInputError(
            f"expected a tropical polynomial or fraction, got {type(source).__name__}"
        )
    if source.n_variables not in (2, 3):
        raise InvalidInputError(
            f"tropical polynomials are drawn in 2 or 3 variables, this one has {source.n_variables}"
        )
    solid = source.n_variables == 3
    panels = _new_panels(axes, 2, solid=solid)
    found = source.subdivision()
    low, high = _window([found], window)
    if solid:
        _hypersurface(panels[0], found, low, high)
        _dual_solid(panels[1], found)
    else:
        _cells(panels[0], found, low, high)
        _dual(panels[1], found)
    return panels


def _new_panels(axes: Any, count: int, *, solid: bool = False) -> NDArray[Any]:
    if axes is not None:
        return given_panels(axes, count)
    pyplot: Any = require("matplotlib.pyplot", extra="plot", why="drawing polynomials")
    if count == 2:
        options = {"projection": "3d"} if solid else {}
        grid = pyplot.subplots(1, 2, figsize=(9, 4.4), layout="constrained", subplot_kw=options)[1]
        return np.asarray(grid, dtype=object)
    figure = pyplot.figure(figsize=(13, 7.4), layout="constrained")
    grid = figure.add_gridspec(2, 4)
    places = [grid[0, 0], grid[0, 1], grid[1, 0], grid[1, 1], grid[:, 2:]]
    found = np.empty(5, dtype=object)
    found[:] = [figure.add_subplot(place) for place in places]
    return found


def _window(found: list[TropicalSubdivision], window: Box | None) -> tuple[FloatArray, FloatArray]:
    dimension = found[0].polynomial.n_variables
    if window is not None:
        return window.corners(dimension)
    points = [[float(x) for x in point] for one in found for point in one.points]
    if dimension == 2:
        return around(np.array(points).reshape(-1, 2), 0.0 if len(points) < 20 else 0.15, 0.4)
    places = np.array(points or [[0.0] * dimension])
    size = max(1.0, float(np.ptp(places, axis=0).max()))
    middle = (places.min(axis=0) + places.max(axis=0)) / 2
    return middle - 0.8 * size, middle + 0.8 * size


def _colors(count: int) -> list[Any]:
    if count <= len(PALETTE):
        return list(PALETTE[:count])
    shades = colormap("turbo")(np.linspace(0.05, 0.95, count))
    shades[:, :3] = 0.35 + 0.65 * shades[:, :3]
    return list(shades)


def _numbers(f: TropicalPolynomial) -> tuple[FloatArray, FloatArray]:
    return to_floats(f.coefficients), to_floats(f.exponents)


def _polygons(f: TropicalPolynomial, low: FloatArray, high: FloatArray) -> list[FloatArray]:
    """The cells of a polynomial in two variables, cut to a frame."""
    c, a = _numbers(f)
    found = []
    for i in range(len(c)):
        check()
        polygon = rectangle(low, high)
        for j in range(len(c)):
            if j != i and len(polygon):
                polygon = cut(polygon, a[j] - a[i], float(c[i] - c[j]))
        found.append(polygon)
    return found


def _fill(ax: Axes, polygons: list[FloatArray], colors: list[Any], *, edge: str = "0.15") -> None:
    for polygon, color in zip(polygons, colors, strict=True):
        if len(polygon) >= 3:
            ax.fill(polygon[:, 0], polygon[:, 1], facecolor=color, edgecolor=edge, linewidth=1.0)


def _frame(ax: Axes, low: FloatArray, high: FloatArray) -> None:
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel="x1", ylabel="x2")
    ax.set_aspect("equal")


def _cells(
    ax: Axes, found: TropicalSubdivision, low: FloatArray, high: FloatArray, name: str = ""
) -> None:
    f = found.polynomial
    polygons = _polygons(f, low, high)
    _fill(ax, polygons, _colors(len(f)))
    if len(f) <= _NUMBERED:
        for k, polygon in enumerate(polygons):
            if len(polygon) >= 3:
                ax.annotate(str(k), polygon.mean(axis=0), ha="center", va="center", fontsize=8)
    _frame(ax, low, high)
    ax.set_title(f"{name}{len(f):,} cell{'s' if len(f) > 1 else ''}")


def _dual(ax: Axes, found: TropicalSubdivision, name: str = "") -> None:
    f = found.polynomial
    _, a = _numbers(f)
    for i, j in found.pairs:
        ax.plot(a[[i, j], 0], a[[i, j], 1], color="0.35", linewidth=1.0, zorder=1)
    ax.scatter(
        a[:, 0], a[:, 1], c=_colors(len(f)), edgecolors="0.15", s=70, linewidths=0.8, zorder=2
    )
    if len(f) <= _NUMBERED:
        for k, place in enumerate(a):
            ax.annotate(
                str(k), place, xytext=(6, 6), textcoords="offset points", fontsize=8, zorder=3
            )
    ax.margins(0.15)
    ax.set_aspect("equal", adjustable="datalim")  # so that what is perpendicular looks so
    ax.set(xlabel="exponent of x1", ylabel="exponent of x2")
    count = len(found.polytopes) if len(found.pairs) >= len(f) else 0
    flat = "a path" if found.pairs else "a point"
    kind = f"{count:,} polygon{'s' if count != 1 else ''}" if count else flat
    ax.set_title(f"{name}dual subdivision: {kind}")


def _fraction(source: TropicalRationalFunction, axes: Any, window: Box | None) -> NDArray[Any]:
    if source.n_variables != 2:
        raise InvalidInputError(
            f"fractions are drawn in 2 variables, this one has {source.n_variables}"
        )
    panels = _new_panels(axes, 5)
    parts = [part.subdivision() for part in (source.numerator, source.denominator)]
    both, labels = source.pieces()
    low, high = _window([*parts, both.subdivision()], window)
    for k, (name, found) in enumerate(zip(("F: ", "G: "), parts, strict=True)):
        _cells(panels[2 * k], found, low, high, name)
        _dual(panels[2 * k + 1], found)
    ax = panels[4]
    pieces = int(labels.max()) + 1
    colors = [_colors(pieces)[k] for k in labels.tolist()]
    _fill(ax, _polygons(both, low, high), colors, edge="none")
    # Where both bend, the narrow line of G lies on the wide one of F.
    styles = (("F", "#1f4e9c", 3.0), ("G", "#e8431f", 1.4))
    for found, (name, color, width) in zip(parts, styles, strict=True):
        label: str | None = name
        for polygon in _polygons(found.polynomial, low, high):
            if len(polygon) >= 3:
                lines = _bends(polygon, low, high).T
                ax.plot(*lines, color=color, linewidth=width, label=label)
                label = None  # one line of each kind is enough for the legend
    _frame(ax, low, high)
    ax.legend(frameon=True, loc="upper right", title="bends of")
    ax.set_title(f"F ⊘ G: {pieces:,} linear regions in {len(both):,} cells of both")
    return panels


def _bends(polygon: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """The sides of a cell without those of the frame: points, with gaps between the lines."""
    found = []
    for start, end in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
        if not any(((start == side) & (end == side)).any() for side in (low, high)):
            found += [start, end, np.full(2, np.nan)]
    return np.array(found).reshape(-1, 2)


# --- three variables ------------------------------------------------------------------------------


def _hypersurface(ax: Any, found: TropicalSubdivision, low: FloatArray, high: FloatArray) -> None:
    """The faces between cells, cut to a box."""
    art: Any = require("mpl_toolkits.mplot3d.art3d", extra="plot", why="drawing polynomials")
    colors = _colors(len(found.polynomial))
    faces, shades = [], []
    for i, j in found.pairs:
        check()
        face = _face(found.polynomial, i, j, low, high)
        if len(face) >= 3:
            faces.append(face)
            shades.append(colors[i])
    ax.add_collection3d(
        art.Poly3DCollection(faces, facecolors=shades, edgecolors="0.3", linewidths=0.6, alpha=0.55)
    )
    for k, name in enumerate("xyz"):
        getattr(ax, f"set_{name}lim")(low[k], high[k])
        getattr(ax, f"set_{name}label")(f"x{k + 1}")
    ax.set_box_aspect(high - low, zoom=0.85)
    ax.set_title(f"{len(found.pairs):,} faces between {len(found.cells):,} cells")


def _face(f: TropicalPolynomial, i: int, j: int, low: FloatArray, high: FloatArray) -> FloatArray:
    """Where two monomials are equal and largest, in a box: a polygon in space."""
    c, a = _numbers(f)
    normal, offset = a[i] - a[j], float(c[i] - c[j])
    middle = (low + high) / 2
    origin = middle - normal * (normal @ middle + offset) / (normal @ normal)
    basis = np.linalg.svd(normal[None])[2][1:]
    reach = 2.0 * float(np.linalg.norm(high - low)) + float(np.linalg.norm(origin - middle))
    polygon = rectangle(np.full(2, -reach), np.full(2, reach))
    sides = [
        (sign * np.eye(3)[k], sign * end[k])
        for sign, end in ((1, high), (-1, low))
        for k in range(3)
    ]
    rows = [(a[k] - a[i], float(c[i] - c[k])) for k in range(len(c)) if k not in (i, j)]
    for number, (row, bound) in enumerate([*sides, *rows]):
        within, room = basis @ row, float(bound - row @ origin)
        if np.linalg.norm(within) <= _PARALLEL * np.linalg.norm(row):
            # A side of the box that is parallel to the face shows it or not. Monomials that are
            # equal on a parallel plane do not reach a face, which is known to be there.
            if number < len(sides) and room < -_PARALLEL * max(1.0, abs(bound)):
                return np.empty((0, 3))
        elif len(polygon):
            polygon = cut(polygon, within, room)
    return np.asarray(origin + polygon @ basis) if len(polygon) else np.empty((0, 3))


def _dual_solid(ax: Any, found: TropicalSubdivision) -> None:
    f = found.polynomial
    _, a = _numbers(f)
    for i, j in found.pairs:
        ax.plot(*a[[i, j]].T, color="0.4", linewidth=0.9)
    ax.scatter(*a.T, c=_colors(len(f)), edgecolors="0.15", s=55, depthshade=False)
    for k, name in enumerate("xyz"):
        getattr(ax, f"set_{name}label")(f"exponent of x{k + 1}")
        ax.locator_params(axis=name, nbins=4)  # labels of more ticks run into each other
    ax.set_box_aspect(None, zoom=0.85)
    count = len(found.polytopes)
    ax.set_title(f"dual subdivision: {count:,} polytope{'s' if count != 1 else ''}")
