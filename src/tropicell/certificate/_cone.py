"""The filter for three and more inputs: regions by their vertices, float64 with error bounds.

For each region the kernel is told which lines may be its facets and where its vertices may be. Each
vertex must lie on exactly d facets that are surely independent; each of its d edges must lead to
another vertex, where a facet that surely falls along the edge ends it, or go to infinity. Then the
cones of the normals at all vertices have no boundary but at infinity. If every other inequality is
surely positive at all vertices and along all edges to infinity, its normal is in one of these
cones, and it follows from the facets there. The argument and the bounds: docs/certificates.md.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tropicell.certificate._jit import inner, kernel
from tropicell.certificate._kernels import (
    behind,
    bring_back,
    doubtful,
    gather,
    go_to,
    is_inside,
    scaled,
    set_aside,
)
from tropicell.geometry.rounding import ROUND

#: Regions with more facets or vertices are left to exact arithmetic.
_MOST_FACETS, _MOST_VERTICES = 64, 512

#: How near a facet a vertex must be to be taken for one of its vertices: a guess, which is checked.
_NEAR = 1e-7


class FacetTable(NamedTuple):
    """Room for one region: facets, and for each vertex its basis, inverse matrix and errors."""

    saved: NDArray[np.float64]
    facets: NDArray[np.float64]
    bases: NDArray[np.int64]
    inverses: NDArray[np.float64]
    vertices: NDArray[np.float64]
    errors: NDArray[np.float64]
    table: NDArray[np.float64]
    edge: NDArray[np.float64]
    point: NDArray[np.float64]
    flipped: NDArray[np.uint64]


def new_polytope(dimension: int, words: int) -> FacetTable:
    """Room for any region with so many inputs."""
    d = dimension
    return FacetTable(
        np.zeros(_MOST_FACETS),
        np.zeros((_MOST_FACETS, d + 2)),
        np.zeros((_MOST_VERTICES, d), np.int64),
        np.zeros((_MOST_VERTICES, d, d)),
        np.zeros((_MOST_VERTICES, d)),
        np.zeros((_MOST_VERTICES, 2)),
        np.zeros((d, 2 * d)),
        np.zeros(d),
        np.zeros(d),
        np.zeros(words, np.uint64),
    )


@inner
def _basis(facets, count, vertex, basis):  # pragma: no cover - compiled
    """The facets near a vertex, if there are d of them."""
    d = len(vertex)
    found = 0
    for k in range(count):
        value, size = facets[k, d], abs(facets[k, d])
        for i in range(d):
            value += facets[k, i] * vertex[i]
            size += abs(facets[k, i] * vertex[i])
        if abs(value) <= _NEAR * size:
            if found == d:
                return False
            basis[found] = k
            found += 1
    return found == d


@inner
def _invert(facets, basis, table):  # pragma: no cover - compiled
    """The inverse of the matrix of a basis, on the right half of a table (Gauss and Jordan)."""
    d = len(basis)
    for i in range(d):
        for j in range(d):
            table[i, j] = facets[basis[i], j]
            table[i, d + j] = 1.0 if i == j else 0.0
    for column in range(d):
        pivot = column
        for i in range(column + 1, d):
            if abs(table[i, column]) > abs(table[pivot, column]):
                pivot = i
        if not abs(table[pivot, column]) > 0.0:
            return False
        for j in range(2 * d):
            table[pivot, j], table[column, j] = table[column, j], table[pivot, j]
        scale = table[column, column]
        for j in range(2 * d):
            table[column, j] /= scale
        for i in range(d):
            factor = table[i, column]
            if i != column and factor != 0.0:
                for j in range(2 * d):
                    table[i, j] -= factor * table[column, j]
    return True


@inner
def _prove_vertex(facets, basis, table, vertex):  # pragma: no cover - compiled
    """The vertex of a basis, and error bounds.

    Returns the largest error of a coordinate of the vertex, and of the inverse; inf if in doubt.
    With X the computed inverse and B the exact matrix, R = 1 - B X: if its row sums are below 1/4,
    B is regular, and its inverse, X (1 - R)^-1, differs from X by little.
    """
    d = len(basis)
    total = 0.0
    largest = 0.0  # largest row sum of |X|
    for i in range(d):
        row = 0.0
        for j in range(d):
            row += abs(table[i, d + j])
        total += row
        largest = max(largest, row)
        vertex[i] = 0.0
        for j in range(d):
            vertex[i] -= table[i, d + j] * facets[basis[j], d]
    size = 1.0
    for i in range(d):
        size += abs(vertex[i])
    rest, residual = 0.0, 0.0
    for i in range(d):
        facet = facets[basis[i]]
        slack = facet[d + 1] + 20.0 * ROUND
        row = slack * total
        for j in range(d):
            entry = -1.0 if i == j else 0.0
            for k in range(d):
                entry += facet[k] * table[k, d + j]
            row += abs(entry)
        value = facet[d]
        for j in range(d):
            value += facet[j] * vertex[j]
        rest, residual = max(rest, row), max(residual, abs(value) + slack * size)
    if not (rest < 0.25 and largest < 1e100):
        return np.inf, np.inf
    return 1.01 * largest * residual / (1.0 - rest), 1.01 * largest * rest / (1.0 - rest)


@inner
def _sum(vector):  # pragma: no cover - compiled
    total = 0.0
    for value in vector:
        total += abs(value)
    return total


@inner
def _turns_away(facet, edge, error):  # pragma: no cover - compiled
    """Whether a facet's inequality surely falls along an edge."""
    d = len(edge)
    value, size = 0.0, 0.0
    for i in range(d):
        value += facet[i] * edge[i]
        size += abs(facet[i])
    slack = (facet[d + 1] + 20.0 * ROUND) * (_sum(edge) + d * error)
    return value < -1.01 * (size * error + slack)


@inner
def _next_vertex(bases, count, vertex, slot):  # pragma: no cover - compiled
    """The facet that ends an edge: the vertex there has all of the basis but one; -1 if none."""
    d = bases.shape[1]
    for other in range(count):
        if other == vertex:
            continue
        common, new = 0, -1
        for k in range(d):
            is_common = False
            for i in range(d):
                if i != slot and bases[vertex, i] == bases[other, k]:
                    is_common = True
            if is_common:
                common += 1
            else:
                new = bases[other, k]
        if common == d - 1:
            return new
    return -1


@inner
def _doubts(program, state, room, count):  # pragma: no cover - compiled
    """Edges that lead nowhere, and inequalities that may cut something off; and tests made."""
    vertices, bases, errors, edge = room.vertices, room.bases, room.errors, room.edge
    d = bases.shape[1]
    doubts, tests = 0, 0
    for v in range(count):
        size = _sum(vertices[v]) + 1.0
        doubts += doubtful(
            program, state, vertices[v], 1.0, errors[v, 0], 1.01 * (size + d * errors[v, 0])
        )
        tests += 1
        for slot in range(d):
            for i in range(d):
                edge[i] = room.inverses[v, i, slot]
            facet = _next_vertex(bases, count, v, slot)
            if facet >= 0:
                doubts += 0 if _turns_away(room.facets[facet], edge, errors[v, 1]) else 1
            else:
                whole = 1.01 * (_sum(edge) + d * errors[v, 1])
                doubts += doubtful(program, state, edge, 0.0, errors[v, 1], whole)
                tests += 1
        if doubts > 0:
            break
    return doubts, tests


@kernel
def check_polytopes(  # pragma: no cover - compiled
    program,
    state,
    room,
    begin,
    end,
    words,
    bits,
    candidates,
    ends,
    corners,
    corner_ends,
    witnesses,
    unscale,
    table,
    proved,
    facet_lines,
    neighbours,
    found_bases,
    basis_counts,
):
    """Check the regions from `begin` to `end`; the number of signs that were decided.

    Parameters
    ----------
    candidates, ends : ndarray
        The lines that may be each region's facets, and where they end.
    corners, corner_ends : ndarray
        Where its vertices (last coordinate not 0) may be, likewise.
    witnesses : ndarray, shape (regions, d)
    unscale : ndarray, shape (d,)
        What makes scaled coordinates of corners and witnesses.
    table : ndarray
        The hash table of all regions.
    proved : ndarray of bool, shape (regions,)
        Set where everything holds, the regions behind all facets included.
    facet_lines, neighbours : ndarray
        Filled, parallel to `candidates`: these, and the regions behind them.
    found_bases : ndarray
        Filled from the place of a region's first corner on: the facets that meet in its vertices.
    basis_counts : ndarray, shape (regions,)
        Filled: how many vertices it has.
    """
    d = program.inputs.shape[1] - 1
    facets, bases, inverse = room.facets, room.bases, room.table
    signs = 0
    for region in range(begin, end):
        first = ends[region - 1] if region else 0
        first_corner = corner_ends[region - 1] if region else 0
        lines = candidates[first : ends[region]]
        count = 0
        total = go_to(program, state, words[region], bits)
        fine = total >= 0 and len(lines) <= _MOST_FACETS
        fine = fine and corner_ends[region] - first_corner <= _MOST_VERTICES
        fine = fine and gather(program, state, lines, facets)
        scaled(witnesses[region], unscale, room.point)
        if not fine or not is_inside(facets[: len(lines)], room.point):
            continue
        for c in range(first_corner, corner_ends[region]):
            if corners[c, d] == 0.0:
                continue
            scaled(corners[c], unscale, room.point)
            fine = fine and _basis(facets, len(lines), room.point, bases[count])
            fine = fine and _invert(facets, bases[count], inverse)
            if not fine:
                break
            error, edge_error = _prove_vertex(facets, bases[count], inverse, room.vertices[count])
            room.errors[count, 0], room.errors[count, 1] = error, edge_error
            fine = error < np.inf
            for i in range(d):
                found_bases[first_corner + count, i] = bases[count, i]
                for j in range(d):
                    room.inverses[count, i, j] = inverse[i, d + j]
            count += 1
        if not fine or count == 0:
            continue
        set_aside(program, state, lines, room.saved)
        doubts, tests = _doubts(program, state, room, count)
        bring_back(program, state, lines, room.saved)
        if doubts > 0:
            continue
        signs += tests * (total - len(lines)) + len(lines) + count * d
        basis_counts[region] = count
        complete = True
        for k in range(len(lines)):
            facet_lines[first + k], neighbours[first + k] = lines[k], -1
            if lines[k] > program.domain_lines:
                other = behind(program, state, lines[k], words, region, bits, table, room.flipped)
                neighbours[first + k] = other
                complete = complete and other >= 0
        proved[region] = complete
    return signs
