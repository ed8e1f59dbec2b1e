"""Exact linear programming and double description, against Z3 and against each other."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import z3
from hypothesis import given
from hypothesis import strategies as st

from tropicell.geometry.generators import generators
from tropicell.geometry.polyhedra import Cell, from_point, integer_row, maximise, value_at


@st.composite
def systems(draw: st.DrawFn) -> tuple[int, list[tuple[int, ...]]]:
    """Small integer rows: parallel, repeated, redundant and contradictory ones are common."""
    dimension = draw(st.integers(1, 4))
    entry = st.integers(-3, 3)
    row = st.tuples(*[entry] * (dimension + 1)).filter(lambda r: any(r[:-1]))
    return dimension, [integer_row(map(Fraction, r)) for r in draw(st.lists(row, max_size=9))]


def cell_of(dimension: int, rows: list[tuple[int, ...]]) -> Cell | None:
    cell: Cell | None = Cell.whole_space(dimension)
    for row in rows:
        cell = None if cell is None else cell.cut(row)
    return cell


def strictly_feasible(dimension: int, rows: list[tuple[int, ...]]) -> bool:
    solver = z3.SimpleSolver()
    x = [*(z3.Real(f"x{i}") for i in range(dimension)), 1]
    solver.add([z3.Sum([a * xi for a, xi in zip(row, x, strict=True)]) > 0 for row in rows])
    return bool(solver.check() == z3.sat)


@given(systems())
def test_a_cell_is_found_if_and_only_if_there_is_interior(system: tuple) -> None:
    cell = cell_of(*system)
    assert (cell is not None) == strictly_feasible(*system)
    if cell is not None:
        assert all(value_at(row, cell.witness) > 0 for row in system[1])


@given(systems(), st.data())
def test_maximise_proves_or_finds(system: tuple, data: st.DataObject) -> None:
    dimension, rows = system
    cell = cell_of(dimension, rows)
    if cell is None:
        return
    objective = data.draw(st.tuples(*[st.integers(-3, 3)] * (dimension + 1)))
    point = maximise(rows, objective, cell.witness)
    if point is None:
        assert not strictly_feasible(dimension, [*rows, objective])
    else:
        assert value_at(objective, point) > 0
        assert all(value_at(row, point) >= 0 for row in rows)


@given(systems())
def test_facets_are_what_is_needed_and_no_more(system: tuple) -> None:
    dimension, rows = system
    cell = cell_of(dimension, rows)
    if cell is None:
        return
    needed = [cell.rows[i] for i in cell.facets()]
    for row in cell.rows:  # the facets alone imply every inequality
        assert not strictly_feasible(dimension, [*needed, tuple(-v for v in row)])
    for row in needed:  # and none of them follows from the others
        others = [other for other in needed if other != row]
        assert strictly_feasible(dimension, [*others, tuple(-v for v in row)])


@given(systems())
def test_generators_span_the_cell(system: tuple) -> None:
    dimension, rows = system
    cell = cell_of(dimension, rows)
    if cell is None:
        return
    found = generators(rows, dimension)
    for vertex in found.vertices:
        tight = [row[:-1] for row in rows if value_at(row, vertex) == 0]
        assert all(value_at(row, vertex) >= 0 for row in rows)
        assert np.linalg.matrix_rank(np.array(tight, float).reshape(-1, dimension)) == (
            dimension - len(found.lineality)
        )
    for ray in found.rays:
        assert all(sum(a * r for a, r in zip(row[:-1], ray, strict=True)) >= 0 for row in rows)
    for line in found.lineality:
        assert all(sum(a * r for a, r in zip(row[:-1], line, strict=True)) == 0 for row in rows)
    # Every facet is touched by enough generators to span it.
    for index in cell.facets():
        row = cell.rows[index]
        points = [v for v in found.vertices if value_at(row, v) == 0]
        flat = [r for r in found.rays if sum(a * b for a, b in zip(row, r, strict=False)) == 0]
        span = [*points, *((*r, 0) for r in flat), *((*line, 0) for line in found.lineality)]
        assert np.linalg.matrix_rank(np.array(span, float)) == dimension


def test_polygon_corners_are_in_order() -> None:
    octagon = [(a, b, c) for a, b, c in [(1, 0, 2), (-1, 0, 2), (0, 1, 2), (0, -1, 2)]]
    octagon += [(1, 1, 3), (-1, 1, 3), (1, -1, 3), (-1, -1, 3)]
    corners = [from_point(v) for v in generators(octagon, 2).vertices]
    assert len(corners) == 8
    turns = [
        (b[0] - a[0]) * (c[1] - b[1]) - (b[1] - a[1]) * (c[0] - b[0])
        for a, b, c in zip(corners, corners[1:] + corners, corners[2:] + corners, strict=False)
    ]
    assert all(turn > 0 for turn in turns)


def test_numbers_beyond_float64_are_no_problem() -> None:
    tiny = Fraction(1, 10**400)
    cell = cell_of(1, [integer_row([Fraction(1), -tiny]), integer_row([Fraction(-1), 2 * tiny])])
    assert cell is not None
    assert tiny < from_point(cell.witness)[0] < 2 * tiny
    huge = cell_of(1, [(1, -(10**400))])
    assert huge is not None
    assert from_point(huge.witness)[0] > 10**400
