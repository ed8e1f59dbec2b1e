"""Complexes and what is cut out of them, against faces that are found from the weights alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from sign_cells import SignCell, betti, f_vector, output_row, sign_cells, split
from strategies import random_network
from tropicell import (
    Box,
    DecisionBoundary,
    DecisionRegion,
    Level,
    Network,
    Polytope,
    Sublevel,
    Superlevel,
    WholeSpace,
    enumerate_regions,
)
from tropicell.analysis.complex import Complex
from tropicell.network.domains import Domain
from tropicell.network.output_sets import OutputSet

#: Where rationals take a second at most.
MOST_CELLS = 130


def check(complex_: Complex, cells: Sequence[SignCell], *, bounded: bool = False) -> None:
    """Faces, which of them are unbounded, vertices, Betti numbers."""
    assert complex_.f_vector == f_vector(cells)
    unbounded = {id(cell): not bounded and cell.is_unbounded for cell in cells}
    for k in range(len(complex_.f_vector)):
        open_ones = sum(unbounded[id(cell)] for cell in cells if cell.dimension == k)
        assert complex_.unbounded[k].sum() == open_ones
    points = sorted(cell.point for cell in cells if not cell.dimension)
    assert sorted(map(tuple, complex_.exact_vertices())) == points
    known = {
        "truncate": betti([cell for cell in cells if not unbounded[id(cell)]]),
        "point": betti(cells, infinity=not bounded),
        "open": betti(cells),
    }
    for way, numbers in known.items():
        own = complex_.betti(unbounded=way)  # type: ignore[arg-type]
        assert own == numbers + (0,) * (len(own) - len(numbers))


def check_where(
    network: Network, domain: Domain, where: OutputSet, met: Sequence[SignCell], size: int
) -> None:
    """A search for regions finds those whose closures the set meets."""
    complex_ = enumerate_regions(network, domain).complex()
    tops = complex_.signs(len(complex_.f_vector) - 1)
    signs = [np.array(cell.signs[:size]) for cell in met]
    wanted = [
        i for i, top in enumerate(tops) if any(((own == 0) | (own == top)).all() for own in signs)
    ]
    found = enumerate_regions(network, domain, where=where)
    patterns = complex_.regions.patterns[wanted]
    assert sorted(map(bytes, found.patterns)) == sorted(map(bytes, patterns))


def a_domain(inputs: int, which: int) -> Domain:
    rows = np.eye(inputs)
    corner = np.concatenate([-rows, rows, np.ones((1, inputs))])  # its last side touches a corner
    return (
        Box(-1, 1),
        WholeSpace(),
        Polytope(-rows, np.zeros(inputs)),
        Polytope(corner, [*np.ones(2 * inputs), float(inputs)]),
    )[which]


@pytest.mark.parametrize(
    ("inputs", "width", "seeds"), [(1, 4, range(8)), (2, 3, range(8)), (3, 2, range(8))]
)
def test_all_faces_and_level_sets(inputs: int, width: int, seeds: range) -> None:
    done = 0
    for seed in seeds:
        kind = ("integer", "repeated", "dead", "zero_bias", "tenths")[seed % 5]
        network, domain = random_network(seed, kind, inputs, 2, width), a_domain(inputs, seed % 4)
        complex_ = enumerate_regions(network, domain).complex()
        if not complex_.quotient.is_trivial or len(complex_) > MOST_CELLS:
            continue
        done += 1
        bounded = not complex_.unbounded[-1].any()
        cells = sign_cells(network, *domain.inequalities(inputs))
        check(complex_, cells, bounded=bounded)
        for k in range(len(complex_.f_vector)):
            own = {cell.signs for cell in cells if cell.dimension == k}
            assert set(map(tuple, complex_.signs(k).tolist())) == own
        # At the value of a vertex the level runs through faces, and it may have flat parts.
        vertex = next(cell for cell in cells if not cell.dimension)
        value = float(vertex.value(output_row(network, [1.0, 0.0], 0.0)(vertex)))
        both = split(cells, output_row(network, [1.0, 0.0], value))
        parts = {sign: [cell for cell in both if cell.signs[-1] == sign] for sign in (-1, 0, 1)}
        low, high = parts[-1] + parts[0], parts[1] + parts[0]
        check(complex_.level_set(0, value), parts[0], bounded=bounded)
        check(complex_.sublevel_set(0, value), low, bounded=bounded)
        check(complex_.superlevel_set(0, value), high, bounded=bounded)
        assert complex_.cut(0, value).f_vector == f_vector(both)
        size = len(cells[0].signs)
        sets: list[tuple[OutputSet, list[SignCell]]]
        sets = [(Level(value), parts[0]), (Sublevel(value), low), (Superlevel(value), high)]
        both = split(cells, output_row(network, [1.0, -1.0], 0.0), (1, 0))
        equal = [cell for cell in both if not cell.signs[-1]]
        check(complex_.decision_boundary(0, 1), equal, bounded=bounded)
        check(complex_.decision_region(0), both, bounded=bounded)
        sets += [(DecisionBoundary(0, 1), equal), (DecisionRegion(0), both)]
        for where, met in sets:
            check_where(network, domain, where, met, size)
    assert done >= 3
