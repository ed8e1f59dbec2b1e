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

from tropicell._runtime.jit import kernel
from tropicell.certificate._flat import COVER_MORE
from tropicell.certificate._kernels import (
    ERROR,
    OFFSET,
    behind,
    bring_back,
    doubtful,
    gather,
    go_to,
    is_inside,
    scaled,
    set_aside,
)

#: Regions with more facets or vertices are left to exact arithmetic.
_MOST_FACETS, _MOST_VERTICES = 64, 512

#: Row sums of |1 - B X| up to this prove that B is regular; entries of X up to that one are usable.
_LARGEST_REST, _LARGEST_INVERSE = 0.25, 1e100

#: How near a facet a vertex must be to be taken for one of its vertices: a guess, which is checked.
_NEAR = 1e-7


class FacetTable(NamedTuple):
    """Room for one region."""

    saved: NDArray[np.float64]  # bounds of facets that are set aside
    facets: NDArray[np.float64]
    bases: NDArray[np.int64]  # of each vertex: its d facets
    inverses: NDArray[np.float64]  # of each vertex: the inverse of their matrix, edges as columns
    vertices: NDArray[np.float64]
    vertex_errors: NDArray[np.float64]  # of each vertex: of its coordinates
    edge_errors: NDArray[np.float64]  # of each vertex: of its edges' coordinates
    table: NDArray[np.float64]  # a matrix and its inverse
    edge: NDArray[np.float64]
    point: NDArray[np.float64]
    flipped: NDArray[np.uint64]  # a pattern


def new_polytope(dimension: int, words: int) -> FacetTable:
    """Room for any region with so many inputs."""
    d = dimension
    return FacetTable(
        np.zeros(_MOST_FACETS),
        np.zeros((_MOST_FACETS, d + 2)),
        np.zeros((_MOST_VERTICES, d), np.int64),
        np.zeros((_MOST_VERTICES, d, d)),
        np.zeros((_MOST_VERTICES, d)),
        np.zeros(_MOST_VERTICES),
        np.zeros(_MOST_VERTICES),
        np.zeros((d, 2 * d)),
        np.zeros(d),
        np.zeros(d),
        np.zeros(words, np.uint64),
    )


@kernel(sums="fused", inner=True)
def _basis(facets, count, vertex, basis):  # pragma: no cover - compiled
    """The facets near a vertex, if there are d of them."""
    d = len(vertex)
    found = 0
    for k in range(count):
        value, size = facets[k, OFFSET], abs(facets[k, OFFSET])
        for i in range(d):
            value += facets[k, i] * vertex[i]
            size += abs(facets[k, i] * vertex[i])
        if abs(value) <= _NEAR * size:
            if found == d:
                return False
            basis[found] = k
            found += 1
    return found == d


@kernel(sums="fused", inner=True)
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


@kernel(sums="fused", inner=True)
def _prove_vertex(facets, basis, table, vertex, rounding):  # pragma: no cover - compiled
    """The vertex of a basis, and error bounds.

    Returns the largest error of a coordinate of the vertex, and of the inverse; inf if in doubt.
    With X the computed inverse and B the exact matrix, R = 1 - B X: if its row sums are below 1/4,
    B is regular, and its inverse, X (1 - R)^-1, differs from X by little (docs/certificates.md, "In
    more dimensions").
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
            vertex[i] -= table[i, d + j] * facets[basis[j], OFFSET]
    size = 1.0
    for i in range(d):
        size += abs(vertex[i])
    rest, residual = 0.0, 0.0
    for i in range(d):
        facet = facets[basis[i]]
        slack = facet[ERROR] + rounding
        row = slack * total
        for j in range(d):
            entry = -1.0 if i == j else 0.0
            for k in range(d):
                entry += facet[k] * table[k, d + j]
            row += abs(entry)
        value = facet[OFFSET]
        for j in range(d):
            value += facet[j] * vertex[j]
        rest, residual = max(rest, row), max(residual, abs(value) + slack * size)
    if not (rest < _LARGEST_REST and largest < _LARGEST_INVERSE):
        return np.inf, np.inf
    error = COVER_MORE * largest * residual / (1.0 - rest)
    return error, COVER_MORE * largest * rest / (1.0 - rest)


@kernel(sums="fused", inner=True)
def _sum(vector):  # pragma: no cover - compiled
    total = 0.0
    for value in vector:
        total += abs(value)
    return total


@kernel(sums="fused", inner=True)
def _turns_away(facet, edge, error, rounding):  # pragma: no cover - compiled
    """Whether a facet's inequality surely falls along an edge."""
    d = len(edge)
    value, size = 0.0, 0.0
    for i in range(d):
        value += facet[i] * edge[i]
        size += abs(facet[i])
    slack = (facet[ERROR] + rounding) * (_sum(edge) + d * error)
    return value < -COVER_MORE * (size * error + slack)


@kernel(sums="fused", inner=True)
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


@kernel(sums="fused", inner=True)
def _doubts(flat, state, room, count):  # pragma: no cover - compiled
    """Edges that lead nowhere, and inequalities that may cut something off; and tests made."""
    vertices, bases, edge = room.vertices, room.bases, room.edge
    d = bases.shape[1]
    doubts, tests = 0, 0
    for v in range(count):
        error, edge_error = room.vertex_errors[v], room.edge_errors[v]
        size = _sum(vertices[v]) + 1.0
        whole = COVER_MORE * (size + d * error)
        doubts += doubtful(state.inequalities, vertices[v], 1.0, error, whole)
        tests += 1
        for slot in range(d):
            for i in range(d):
                edge[i] = room.inverses[v, i, slot]
            facet = _next_vertex(bases, count, v, slot)
            if facet >= 0:
                ends = _turns_away(room.facets[facet], edge, edge_error, flat.rounding)
                doubts += 0 if ends else 1
            else:
                whole = COVER_MORE * (_sum(edge) + d * edge_error)
                doubts += doubtful(state.inequalities, edge, 0.0, edge_error, whole)
                tests += 1
        if doubts > 0:
            break
    return doubts, tests


@kernel(sums="fused", inner=True)
def _find_vertices(flat, room, regions, proofs, region, count):  # pragma: no cover - compiled
    """Prove the vertices of a region with so many facets; how many, or 0 if in doubt."""
    d = flat.inputs.shape[1] - 1
    facets, bases, inverse = room.facets, room.bases, room.table
    first = regions.corner_ends[region - 1] if region else 0
    found = 0
    for c in range(first, regions.corner_ends[region]):
        if regions.corners[c, d] == 0.0:
            continue
        scaled(regions.corners[c], regions.unscale, room.point)
        fine = _basis(facets, count, room.point, bases[found])
        if not fine or not _invert(facets, bases[found], inverse):
            return 0
        error, edge_error = _prove_vertex(
            facets, bases[found], inverse, room.vertices[found], flat.rounding
        )
        if not error < np.inf:
            return 0
        room.vertex_errors[found], room.edge_errors[found] = error, edge_error
        for i in range(d):
            proofs.bases[first + found, i] = bases[found, i]
            for j in range(d):
                room.inverses[found, i, j] = inverse[i, d + j]
        found += 1
    return found


@kernel(sums="fused")
def check_polytopes(  # pragma: no cover - compiled
    flat, state, room, regions, proofs, begin, end
):
    """Check the regions from `begin` to `end`; the number of signs that were decided.

    Parameters are a `FilterNetwork`, `PatternState`, `FacetTable`, `RegionColumns` and
    `ProofColumns`.
    """
    d = flat.inputs.shape[1] - 1
    signs = 0
    for region in range(begin, end):
        first = regions.line_ends[region - 1] if region else 0
        first_corner = regions.corner_ends[region - 1] if region else 0
        lines = regions.lines[first : regions.line_ends[region]]
        total = go_to(flat, state, regions.patterns, region)
        fine = total >= 0 and len(lines) <= _MOST_FACETS
        fine = fine and regions.corner_ends[region] - first_corner <= _MOST_VERTICES
        if not fine or not gather(flat, state, lines, room.facets):
            continue
        scaled(regions.witnesses[region], regions.unscale, room.point)
        if not is_inside(room.facets[: len(lines)], room.point, flat.rounding):
            continue
        count = _find_vertices(flat, room, regions, proofs, region, len(lines))
        if count == 0:
            continue
        # All others must be positive at all vertices and along edges to infinity: then they follow.
        set_aside(state, lines, room.saved)
        doubts, tests = _doubts(flat, state, room, count)
        bring_back(state, lines, room.saved)
        if doubts > 0:
            continue
        signs += tests * (total - len(lines)) + len(lines) + count * d
        proofs.basis_counts[region] = count
        complete = True
        for k in range(len(lines)):
            at = first + k
            proofs.facets[at], proofs.neighbours[at] = lines[k], -1
            if lines[k] > flat.domain_lines:
                other = behind(
                    flat, state.pattern, regions.patterns, region, lines[k], room.flipped
                )
                proofs.neighbours[at] = other
                complete = complete and other >= 0
        proofs.proved[region] = complete
    return signs
