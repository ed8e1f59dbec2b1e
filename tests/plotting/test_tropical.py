"""Pictures of tropical polynomials show all cells, in the colours of their dual vertices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from tropicell import Box, InvalidInputError, TropicalPolynomial
from tropicell.paper.example import walkthrough
from tropicell.plotting import plot_tropical, tropical

pytest.importorskip("matplotlib").use("Agg")
to_rgb = pytest.importorskip("matplotlib.colors").to_rgb


def area(polygon: np.ndarray) -> float:
    x, y = polygon.T
    return abs(float(x @ np.roll(y, 1) - y @ np.roll(x, 1))) / 2


def test_cells_fill_the_frame_and_have_their_vertex_s_colour() -> None:
    f = walkthrough().tropical().output[0].numerator
    cells, dual = plot_tropical(f, window=Box([0, -0.5], [1.2, 1.2]))
    assert sum(area(patch.get_xy()[:-1]) for patch in cells.patches) == pytest.approx(1.2 * 1.7)
    assert len(cells.patches) == 5
    points = dual.collections[0]
    exponents = f.exponents.astype(float)
    assert (points.get_offsets() == exponents).all()
    for patch, color, slope in zip(cells.patches, points.get_facecolors(), exponents, strict=True):
        assert patch.get_facecolor() == pytest.approx(tuple(color))
        middle = patch.get_xy()[:-1].mean(axis=0)
        assert f.exponents[f.active([middle])[0]].astype(float) == pytest.approx(slope)
    assert len(dual.lines) == len(f.subdivision().pairs)


def test_a_fraction_has_five_panels() -> None:
    axes = plot_tropical(walkthrough().tropical().output[0])
    assert [ax.get_title() for ax in axes] == [
        "F: 5 cells",
        "dual subdivision: 2 polygons",
        "G: 4 cells",
        "dual subdivision: 1 polygon",
        "F ⊘ G: 8 linear regions in 8 cells of both",
    ]


def test_bends_that_both_have_are_seen_and_named() -> None:
    """Also where the first cells are out of the window."""
    f = walkthrough().tropical().output[0]
    last = plot_tropical(f, window=Box([0.4, -0.4], [1.2, 0.1]))[-1]
    assert [text.get_text() for text in last.get_legend().get_texts()] == ["F", "G"]
    widths = {line.get_color(): line.get_linewidth() for line in last.lines}
    wide, narrow = widths.values()
    assert wide > narrow  # that of G lies on that of F


def test_space() -> None:
    x, y, z = TropicalPolynomial.variables(3)
    left, right = plot_tropical(0 + x + y + z, window=Box(-1, 1))
    assert left.get_title() == "6 faces between 4 cells"
    assert right.get_title() == "dual subdivision: 1 polytope"
    # faces to which other monomials are parallel: their distance was a rounding error over another
    left, right = plot_tropical((0 + x + y + z) * (1 + -1 * x * y + 2 * z))
    assert left.get_title() == "20 faces between 10 cells"
    assert right.get_title() == "dual subdivision: 4 polytopes"
    assert np.isfinite(left.get_xlim()).all()
    with pytest.raises(InvalidInputError, match="polynomial or fraction, got str"):
        plot_tropical("x")
    with pytest.raises(InvalidInputError, match="2 or 3 variables"):
        plot_tropical(TropicalPolynomial.variables(1)[0])
    with pytest.raises(InvalidInputError, match="fractions are drawn in 2 or 3 variables"):
        plot_tropical(TropicalPolynomial.variables(4)[0] / 1)
    with pytest.raises(InvalidInputError, match="expected 2 axes"):
        plot_tropical(x + y, [None])


def corners(source: TropicalPolynomial, labels: Any, window: Box) -> list[np.ndarray]:
    """Of every solid that is drawn."""
    sides = tropical._sides(source.subdivision(), np.asarray(labels), *window.corners(3))
    return [np.concatenate(faces) for faces in sides]


def test_cells_in_space_fill_the_box_and_have_their_vertex_s_colour() -> None:
    x, y, z = TropicalPolynomial.variables(3)
    f = ((0 + x + y + z) * (1 + -1 * x * y + 2 * z)).reduced()
    window = Box(-9, 9)
    solids = corners(f, range(10), window)
    assert sum(ConvexHull(points).volume for points in solids) == pytest.approx(18.0**3)
    assert f.active([points.mean(axis=0) for points in solids]).tolist() == list(range(10))
    cells, dual = plot_tropical(f, window=window)
    dual.figure.canvas.draw()
    points = dual.collections[0]  # sorted by their depth, when they are drawn
    colors = {tuple(color[:3].round(6)) for color in points.get_facecolors()}
    drawn = [tuple(solid.get_facecolors()[0][:3].round(6)) for solid in cells.collections]
    assert drawn == [tuple(np.round(to_rgb(color), 6)) for color in tropical._colors(10)]
    assert len(colors) == 10
    assert colors == set(drawn)
    # cells that are out of the window are left out
    assert len(plot_tropical(f, window=Box(-3, 3))[0].collections) == 9


def test_a_fraction_in_space_shows_its_linear_regions() -> None:
    x, y, z = TropicalPolynomial.variables(3)
    shared = 0 + x + z
    fraction = shared * (0 + y) / (shared * (0 + z))
    window = Box(-2, 2)
    panels = plot_tropical(fraction, window=window)
    assert [ax.get_title() for ax in panels] == [
        "F: 9 faces between 6 cells",
        "dual subdivision: 1 polytope",
        "G: 4 faces between 4 cells",
        "dual subdivision: 1 polytope",
        "F ⊘ G: 4 linear regions in 8 cells of both",
    ]
    # walls that both have cancel: what is left are the four quadrants of y and z
    solids = corners(*fraction.pieces(), window)
    assert [ConvexHull(points).volume for points in solids] == pytest.approx([16.0] * 4)
    assert len(panels[-1].collections) == 4
    assert panels[0].name == panels[-1].name == "3d"
