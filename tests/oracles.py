"""Slow, obviously right versions of what the package does fast, on independent code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import product
from math import inf
from typing import Any

import numpy as np
import z3
from flint import fmpq_mat

from tropicell import Network, Region
from tropicell.geometry.arithmetic import to_rationals
from tropicell.network.domains import Domain
from tropicell.network.output_sets import Part


def has_interior(region: Region) -> bool:
    """Whether a region has interior points, decided by Z3's exact rational arithmetic.

    A convex set given by inequalities has interior if and only if they can all be strict; those of
    neurons that are constant on the region are decided by themselves.
    """
    solver = z3.SimpleSolver()
    x = [z3.Real(f"x{i}") for i in range(region.network.n_inputs)]
    rows = region.inequalities
    for row, bound, closed in zip(rows.A, rows.b, rows.closed, strict=True):
        if not row.any():
            if bound < 0 or (bound == 0 and not closed):
                return False
            continue
        left = z3.Sum([_real(a) * xi for a, xi in zip(row, x, strict=True)])
        solver.add(left < _real(bound))
    answer = solver.check()
    assert answer != z3.unknown
    return bool(answer == z3.sat)


def _real(value: Fraction) -> z3.RatNumRef:
    return z3.RatVal(value.numerator, value.denominator)


def brute_force(network: Network, domain: Domain) -> set[bytes]:
    """Patterns of all regions: every possible pattern is tried."""
    found = set()
    for pieces in product(*(range(count) for count in network.pieces.tolist())):
        pattern = np.array(pieces, dtype=np.uint8)
        if has_interior(Region(network, pattern, domain)):
            found.add(pattern.tobytes())
    return found


def polygon_area(vertices: np.ndarray) -> Fraction:
    """Exact area of a polygon whose vertices are in order."""
    x, y = vertices[:, 0], vertices[:, 1]
    return abs(sum(x * np.roll(y, -1) - y * np.roll(x, -1))) / 2


def shared_facets(regions: list[Region]) -> set[tuple[int, int]]:
    """Pairs of 2-D or 1-D regions that meet in more than a point: exact, every pair is tried."""
    found = set()
    for i, a in enumerate(regions):
        for j in range(i):
            b = regions[j]
            corners = [x for x in a.vertices if b.contains([x]).all()]
            corners += [x for x in b.vertices if a.contains([x]).all()]
            if len({tuple(x) for x in corners}) >= a.network.n_inputs:
                found.add((j, i))
    return found


def largest_value(regions: Iterable[Region], output: int, sign: int = 1) -> Fraction | float:
    """The largest value of an output (times the sign) on regions, in rationals; inf if none."""
    best: Fraction | float = -inf
    for region in regions:
        slopes = sign * region.affine_map.matrix[output]
        offset = sign * region.affine_map.offset[output]
        if any(ray @ slopes > 0 for ray in region.rays) or any(
            line @ slopes != 0 for line in region.lineality
        ):
            return inf
        best = max(best, *(vertex @ slopes + offset for vertex in region.vertices))
    return best


def merged_labels(regions: Sequence[Region], pairs: Iterable[tuple[int, int]]) -> list[int]:
    """For each region the first one that it is merged with, by exact maps."""
    labels = list(range(len(regions)))
    maps = [(region.affine_map.matrix, region.affine_map.offset) for region in regions]
    for i, j in pairs:
        if all((one == two).all() for one, two in zip(maps[i], maps[j], strict=True)):
            old, new = max(labels[i], labels[j]), min(labels[i], labels[j])
            labels = [new if label == old else label for label in labels]
    return labels


def equal_pieces(regions: Iterable[Region], first: int, second: int) -> set[frozenset[Any]]:
    """Pieces of the boundary of the set where two outputs differ, by their exact end points.

    For one and two inputs, on bounded regions.
    """
    pieces = set()
    for region in regions:
        affine = region.affine_map
        slopes = affine.matrix[first] - affine.matrix[second]
        values = region.vertices @ slopes + affine.offset[first] - affine.offset[second]
        if not values.any():
            continue
        ends = {tuple(x) for x in region.vertices[values == 0]}
        for x, v in zip(region.vertices, values, strict=True):
            for y, w in zip(region.vertices, values, strict=True):
                if v > 0 > w:
                    ends.add(tuple((x * -w + y * v) / (v - w)))
        if len(ends) >= len(slopes):
            pieces.add(frozenset([min(ends), max(ends)]))  # all of them lie on one line
    return pieces


def is_met(region: Region, part: Part) -> bool:
    """Whether a closed region has a point where functions of the outputs are 0, or not negative."""
    solver = z3.SimpleSolver()
    x = [z3.Real(f"x{i}") for i in range(region.network.n_inputs)]

    def linear(row: Any, constant: Fraction) -> Any:
        return z3.Sum([_real(a) * xi for a, xi in zip(row, x, strict=True)] + [_real(constant)])

    rows, affine = region.inequalities, region.affine_map
    for row, bound in zip(rows.A, rows.b, strict=True):
        if row.any():
            solver.add(linear(row, -bound) <= 0)
    for functions, holds in ((part.equal, lambda z: z == 0), (part.at_least, lambda z: z >= 0)):
        for function in functions:
            factors = [Fraction(float(factor)) for factor in function]
            slopes = sum(
                (f * row for f, row in zip(factors, affine.matrix, strict=False)),
                np.array([Fraction(0)] * len(x), dtype=object),
            )
            constant = sum(f * b for f, b in zip(factors, affine.offset, strict=False))
            solver.add(holds(linear(slopes, constant + factors[-1])))
    answer = solver.check()
    assert answer != z3.unknown
    return bool(answer == z3.sat)


def sign_vectors(regions: Sequence[Region]) -> list[set[tuple[int, ...]]]:
    """The sign vectors of all faces of regions, by dimension: from rationals, the slow way.

    A face is the convex hull of some corners plus a cone of some rays; inside of it lies the mean
    of the corners plus the sum of the rays. Signs are those of the domain's inequalities, and of
    all neurons at all breakpoints.
    """
    dimension = regions[0].network.n_inputs
    found: list[set[tuple[int, ...]]] = [set() for _ in range(dimension + 1)]
    for region in regions:
        points = [(tuple(v), True) for v in region.vertices] + [
            (tuple(r), False) for r in region.rays
        ]
        assert not len(region.lineality)
        rows = [
            (a, b)
            for a, b in zip(region.inequalities.A, region.inequalities.b, strict=True)
            if any(a)
        ]
        on = [
            frozenset(
                i
                for i, (x, finite) in enumerate(points)
                if sum(p * q for p, q in zip(a, x, strict=True)) == (b if finite else 0)
            )
            for a, b in rows
        ]
        faces = {frozenset(range(len(points)))}
        ahead = list(faces)
        while ahead:
            face = ahead.pop()
            for side in on:
                if face & side not in faces:
                    faces.add(face & side)
                    ahead.append(face & side)
        for face in faces:
            corners = [points[i][0] for i in face if points[i][1]]
            rays = [points[i][0] for i in face if not points[i][1]]
            if not corners:
                continue
            spanned = [[p - q for p, q in zip(x, corners[0], strict=True)] for x in corners[1:]]
            spanned += [list(ray) for ray in rays]
            k = int(fmpq_mat(to_rationals(np.array(spanned)).tolist()).rank()) if spanned else 0
            inside = [sum(x) / Fraction(len(corners)) for x in zip(*corners, strict=True)]
            inside = [x + sum(ray[i] for ray in rays) for i, x in enumerate(inside)]
            found[k].add(signs_at(region, inside))
    return found


def signs_at(region: Region, point: Sequence[Fraction]) -> tuple[int, ...]:
    """On which sides of the domain's inequalities and of all breakpoints a point lies."""
    network = region.network
    matrix, offset = region.domain.inequalities(network.n_inputs)
    signs = []
    for a, b in zip(matrix, offset, strict=True):
        value = Fraction(float(b)) - sum(
            Fraction(float(p)) * x for p, x in zip(a, point, strict=True)
        )
        signs.append((value > 0) - (value < 0))
    maps = network.maps("exact")
    columns, unit = maps.values(np.array([point], dtype=object))
    layers = [columns]
    for layer in range(1, network.depth + 1):
        before = maps.before(layer, layers, unit)
        pieces = np.zeros(len(before), dtype=np.uint8)
        for neuron, breakpoints in enumerate(maps.activation(layer)[0]):
            own = [t for t in breakpoints if t is not None]
            value = before[neuron, 0]
            signs += [int(value > t) - int(value < t) for t in own]
            pieces[neuron] = sum(value > t for t in own)
        layers.append(maps.after(layer, before, pieces, unit))
    return tuple(signs)
