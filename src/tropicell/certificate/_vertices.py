"""Vertices of bases, d rows that are independent: where they meet, with error bounds."""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from tropicell._runtime.jit import kernel
from tropicell.certificate._flat import COVER_MORE
from tropicell.certificate._kernels import ERROR, OFFSET

#: Row sums of |1 - B X| up to this prove that B is regular; entries of X up to that one are usable.
_LARGEST_REST, _LARGEST_INVERSE = 0.25, 1e100


@kernel(sums="fused", inner=True)
def invert(facets, basis, table, swaps, least, d):  # pragma: no cover - compiled
    """Write the inverse of the matrix of a basis to a table (Gauss and Jordan, in place).

    False if a pivot is not larger than `least`.
    """
    for i in range(d):
        for j in range(d):
            table[i, j] = facets[basis[i], j]
    for column in range(d):
        pivot, largest = column, abs(table[column, column])
        for i in range(column + 1, d):
            if abs(table[i, column]) > largest:
                pivot, largest = i, abs(table[i, column])
        if not largest > least:
            return False
        swaps[column] = pivot
        if pivot != column:
            for j in range(d):
                table[pivot, j], table[column, j] = table[column, j], table[pivot, j]
        scale = 1.0 / table[column, column]
        table[column, column] = 1.0
        for j in range(d):
            table[column, j] *= scale
        for i in range(d):
            if i != column:
                factor = table[i, column]
                table[i, column] = 0.0
                for j in range(d):
                    table[i, j] -= factor * table[column, j]
    for column in range(d - 1, -1, -1):
        pivot = swaps[column]
        if pivot != column:
            for i in range(d):
                table[i, pivot], table[i, column] = table[i, column], table[i, pivot]
    return True


@kernel(sums="fused", inner=True, inlined=True)
def prove_vertex(facets, basis, table, vertex, rounding, d):  # pragma: no cover - compiled
    """The vertex of a basis, and error bounds.

    Returns the largest error of a coordinate of the vertex, and of the inverse; inf if in doubt.
    Then whether the rounding of the inverse itself is no more than a small part of that.
    With X the computed inverse and B the exact matrix, R = 1 - B X: if its row sums are below 1/4,
    B is regular, and its inverse, X (1 - R)^-1, differs from X by little (docs/certificates.md, "In
    more dimensions").
    """
    total = 0.0
    largest = 0.0  # largest row sum of |X|
    for i in range(d):
        row = 0.0
        for j in range(d):
            row += abs(table[i, j])
        total += row
        largest = max(largest, row)
        vertex[i] = 0.0
        for j in range(d):
            vertex[i] -= table[i, j] * facets[basis[j], OFFSET]
    size = 1.0
    for i in range(d):
        size += abs(vertex[i])
    rest, residual, all_rests, sharp = 0.0, 0.0, 0.0, True
    for i in range(d):
        facet = facets[basis[i]]
        slack = facet[ERROR] + rounding
        row = 0.0
        for j in range(d):
            entry = -1.0 if i == j else 0.0
            for k in range(d):
                entry += facet[k] * table[k, j]
            row += abs(entry)
        sharp = sharp and row <= slack * total
        row += slack * total
        all_rests += row  # which is not a number if one of them is none
        value = facet[OFFSET]
        for j in range(d):
            value += facet[j] * vertex[j]
        rest, residual = max(rest, row), max(residual, abs(value) + slack * size)
    if not (rest < _LARGEST_REST and largest < _LARGEST_INVERSE and all_rests < np.inf):
        return np.inf, np.inf, False
    error = COVER_MORE * largest * residual / (1.0 - rest)
    return error, COVER_MORE * largest * rest / (1.0 - rest), sharp
