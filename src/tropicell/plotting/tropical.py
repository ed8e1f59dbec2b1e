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

#: In space, cells are drawn with so much of their size.
_SMALLER = 0.88

#: Texts in space are drawn after all faces.
_IN_FRONT = 1000


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
        In two or three variables. Of a fraction, numerator and denominator are drawn one below the
        other, and then the linear regions of the fraction: cells of both together, in one colour
        where the map is the same.
    axes : array of Axes, optional
        Two for a polynomial, five for a fraction (with three variables, in 3-D); default: a new
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
    several cells meet. In space, cells are drawn a little smaller than they are, so that one sees
    between them.

    Examples
    --------
    >>> x, y = TropicalPolynomial.variables(2)
    >>> axes = plot_tropical(0 + x + y + -1 * x * y)
    >>> [ax.get_title() for ax in axes]
    ['4 cells', 'dual subdivision: 2 polygons']
    """
    if not isinstance(source, (TropicalPolynomial, TropicalRationalFunction)):
        raise InvalidInputError(
            f"expected a tropical polynomial or fraction, got {type(source).__name__}"
        )
    if source.n_variables not in (2, 3):
        raise InvalidInputError(
            "tropical polynomials and fractions are drawn in 2 or 3 variables, this one has "
            f"{source.n_variables}"
        )
    if isinstance(source, TropicalRationalFunction):
        return _fraction(source, axes, window)
    solid = source.n_variables == 3
    panels = _new_panels(axes, 2, solid=solid)
    found = source.subdivision()
    low, high = _window([found], window)
    _side_by_side(panels, found, low, high)
    return panels


def _side_by_side(
    panels: Any, found: TropicalSubdivision, low: FloatArray, high: FloatArray, name: str = ""
) -> None:
    """The cells of a polynomial, and next to them the subdivision that is dual to them."""
    if found.polynomial.n_variables == 3:
        _hypersurface(panels[0], found, low, high, name)
        _dual_solid(panels[1], found)
    else:
        _cells(panels[0], found, low, high, name)
        _dual(panels[1], found)


def _new_panels(axes: Any, count: int, *, solid: bool = False) -> NDArray[Any]:
    if axes is not None:
        return given_panels(axes, count)
    pyplot: Any = require("matplotlib.pyplot", extra="plot", why="drawing polynomials")
    options: dict[str, Any] = {"projection": "3d"} if solid else {}
    if count == 2:
        grid = pyplot.subplots(1, 2, figsize=(9, 4.4), layout="constrained", subplot_kw=options)[1]
        return np.asarray(grid, dtype=object)
    figure = pyplot.figure(figsize=(13, 7.4), layout="constrained")
    grid = figure.add_gridspec(2, 4)
    places = [grid[0, 0], grid[0, 1], grid[1, 0], grid[1, 1], grid[:, 2:]]
    found = np.empty(5, dtype=object)
    found[:] = [figure.add_subplot(place, **options) for place in places]
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


def _many(count: int, word: str) -> str:
    return f"{count:,} {word}{'s' if count != 1 else ''}"


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
    ax.set_title(f"{name}{_many(len(f), 'cell')}")


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
    kind = _many(count, "polygon") if count else flat
    ax.set_title(f"{name}dual subdivision: {kind}")


def _fraction(source: TropicalRationalFunction, axes: Any, window: Box | None) -> NDArray[Any]:
    solid = source.n_variables == 3
    panels = _new_panels(axes, 5, solid=solid)
    parts = [part.subdivision() for part in (source.numerator, source.denominator)]
    both, labels = source.pieces()
    low, high = _window([*parts, both.subdivision()], window)
    for k, (name, found) in enumerate(zip(("F: ", "G: "), parts, strict=True)):
        _side_by_side(panels[2 * k : 2 * k + 2], found, low, high, name)
    ax = panels[4]
    pieces = int(labels.max()) + 1
    title = f"F ⊘ G: {_many(pieces, 'linear region')} in {_many(len(both), 'cell')} of both"
    if solid:
        _solids(ax, both.subdivision(), labels, low, high)
        ax.set_title(title)
        return panels
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
    ax.set_title(title)
    return panels


def _bends(polygon: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """The sides of a cell without those of the frame: points, with gaps between the lines."""
    found = []
    for start, end in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
        if not any(((start == side) & (end == side)).any() for side in (low, high)):
            found += [start, end, np.full(2, np.nan)]
    return np.array(found).reshape(-1, 2)


# --- three variables ------------------------------------------------------------------------------


def _hypersurface(
    ax: Any, found: TropicalSubdivision, low: FloatArray, high: FloatArray, name: str = ""
) -> None:
    """The cells cut to a box; the faces between them are the hypersurface."""
    _solids(ax, found, np.arange(len(found.cells)), low, high)
    cells = _many(len(found.cells), "cell")
    faces = f"{_many(len(found.pairs), 'face')} between " if found.pairs else ""
    ax.set_title(f"{name}{faces}{cells}")


def _solids(
    ax: Any,
    found: TropicalSubdivision,
    labels: NDArray[np.intp],
    low: FloatArray,
    high: FloatArray,
) -> None:
    """Unions of cells with the same label, cut to a box, each a little smaller than it is."""
    art: Any = require("mpl_toolkits.mplot3d.art3d", extra="plot", why="drawing polynomials")
    # before anything is drawn, so that matplotlib does not look for limits of its own
    for k, axis in enumerate("xyz"):
        getattr(ax, f"set_{axis}lim")(low[k], high[k])
        getattr(ax, f"set_{axis}label")(f"x{k + 1}")
        ax.locator_params(axis=axis, nbins=4)  # labels of more ticks run into each other
    ax.set_box_aspect(high - low, zoom=0.85)
    solids = _sides(found, labels, low, high)
    count = len(solids)
    for k, (color, faces) in enumerate(zip(_colors(count), solids, strict=True)):
        if not faces:  # out of the box
            continue
        middle = np.concatenate(faces).mean(axis=0)
        smaller = [middle + _SMALLER * (face - middle) for face in faces]
        ax.add_collection3d(
            art.Poly3DCollection(
                smaller, facecolors=color, edgecolors="0.3", linewidths=0.5, alpha=0.5
            )
        )
        if count <= _NUMBERED:
            ax.text(*middle, str(k), ha="center", va="center", fontsize=8, zorder=_IN_FRONT)


def _sides(
    found: TropicalSubdivision, labels: NDArray[np.intp], low: FloatArray, high: FloatArray
) -> list[list[FloatArray]]:
    """The sides of these unions, polygons in space; none of a union that is out of the box."""
    f = found.polynomial
    sides: list[list[FloatArray]] = [[] for _ in range(int(labels.max()) + 1)]
    for i, j in found.pairs:
        check()
        if labels[i] != labels[j] and len(face := _face(f, i, j, low, high)) >= 3:
            sides[labels[i]].append(face)
            sides[labels[j]].append(face)
    for i, label in enumerate(labels.tolist()):
        sides[label] += _box_sides(f, i, low, high)
    return sides


def _box_sides(
    f: TropicalPolynomial, i: int, low: FloatArray, high: FloatArray
) -> list[FloatArray]:
    """Where a cell is cut off by the sides of a box: polygons in space."""
    c, a = _numbers(f)
    found = []
    for k in range(3):
        rest = [d for d in range(3) if d != k]
        for side in (low[k], high[k]):
            polygon = rectangle(low[rest], high[rest])
            for j in range(len(c)):
                if j != i and len(polygon):
                    row = a[j] - a[i]
                    polygon = cut(polygon, row[rest], float(c[i] - c[j] - row[k] * side))
            if len(polygon) >= 3:
                found.append(np.insert(polygon, k, side, axis=1))
    return found


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
    if len(f) <= _NUMBERED:
        for k, place in enumerate(a):
            ax.text(*place, f"  {k}", fontsize=8, zorder=_IN_FRONT)
    for k, name in enumerate("xyz"):
        getattr(ax, f"set_{name}label")(f"exponent of x{k + 1}", fontsize=8)
        ax.locator_params(axis=name, nbins=4)  # labels of more ticks run into each other
    ax.set_box_aspect(None, zoom=0.75)  # else the labels on the right are cut off
    ax.set_title(f"dual subdivision: {_many(len(found.polytopes), 'polytope')}")
