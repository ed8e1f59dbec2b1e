"""Cells in exact integers: they decide what the float filter of the kernels cannot.

`ExactCells` works layer by layer on single cells. Cells without a corner (with a lineality space)
never go to the kernels; all others come from the kernels' lists of unsure cells, and go back to
them as soon as a layer is finished: step 4 of docs/error-bound.md.

A cell is the cone over it in homogeneous coordinates (x, w), w >= 0: all sums of its rays with
weights >= 0, plus its lineality space (double description). A ray with w > 0 is the vertex x / w,
one with w = 0 a direction. All numbers are Python integers, rows and rays have no common divisor.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from math import gcd, lcm
from typing import Any, NamedTuple

import numpy as np
from flint import fmpz_mat
from numpy.typing import NDArray

from tropicell._runtime.interruption import check
from tropicell.engines.cells._state import MOST_SEED_FACETS
from tropicell.geometry.arithmetic import EXACT
from tropicell.network.domains import Domain
from tropicell.network.flat import FlatNetwork
from tropicell.network.network import Network

#: So many prefixes' exact maps are kept.
_REMEMBERED = 256


Vector = tuple[int, ...]


# --- the cells of a network -----------------------------------------------------------------------


@dataclass(frozen=True)
class ExactCell:
    """A cell whose pieces are known for all layers before `layer`.

    `layer` = depth + 1 stands for a finished region.
    """

    layer: int
    pattern: bytes
    cone: Cone


class _KnownRows(NamedTuple):
    """Exact maps for the pieces of some layers.

    The outputs of these layers, the pre-activations of the next one, and rows of its boundaries.
    """

    columns: list[NDArray[Any]]
    before: NDArray[Any]
    rows: dict[int, Vector]


class ExactCells:
    """Exact cutting of cells.

    Parameters
    ----------
    network : Network
    domain : Domain
        Not a slice.
    flat : FlatNetwork
        Gives the numbers of the boundaries.
    """

    def __init__(self, network: Network, domain: Domain, flat: FlatNetwork) -> None:
        self._network = network
        self._maps = network.maps("exact")
        self._flat = flat
        self._line_starts: list[int] = flat.lines.line_start.tolist()
        self._domain = [_integers(EXACT.array(row)) for row in self._domain_rows(domain)]
        self._known: OrderedDict[bytes, _KnownRows] = OrderedDict()
        self.decisions = 0

    def copy(self) -> ExactCells:
        """The same, for another run: with counters and memory of its own."""
        twin = copy(self)
        twin._known = OrderedDict()
        twin.decisions = 0
        return twin

    def _domain_rows(self, domain: Domain) -> list[NDArray[np.float64]]:
        d = self._network.n_inputs
        a, b = domain.inequalities(d)
        infinity = np.zeros(d + 1)
        infinity[-1] = 1.0
        return [infinity, *np.concatenate([-a, b[:, None]], axis=1)]

    def root(self) -> ExactCell | None:
        """The domain; None if it has no interior."""
        cone: Cone | None = whole_space(self._network.n_inputs + 1)
        for index, row in enumerate(self._domain):
            # 0 · x <= 0 holds everywhere; such a row keeps its number, and is never a facet.
            if cone is not None and any(row):
                cone = cut(cone, row, index + 1)
        return None if cone is None else ExactCell(1, b"", cone)

    def rebuild(self, layer: int, pattern: bytes, labels: list[int]) -> Cone:
        """A cell from the labels of its facets."""
        cone: Cone | None = whole_space(self._network.n_inputs + 1)
        for label in labels:
            row = self._row(abs(label) - 1, pattern)
            assert cone is not None
            cone = cut(cone, row if label > 0 else tuple(-x for x in row), label)
        assert cone is not None
        return cone

    def lines_of(self, layer: int) -> list[int]:
        """The numbers of all boundaries of a layer."""
        starts = self._flat.lines.line_start
        return list(range(int(starts[layer]), int(starts[layer + 1])))

    def finish_layer(
        self, cell: ExactCell, pieces: bytearray, lines: list[int], *, stop_when_pointed: bool
    ) -> Iterator[ExactCell]:
        """Cut a cell by the given boundaries of its layer.

        Parameters
        ----------
        cell : ExactCell
        pieces : bytearray
            Pieces of the layer's neurons as far as the other boundaries decide them.
        lines : list of int
            Numbers of the boundaries that are not decided.
        stop_when_pointed : bool
            Give cells back, within the layer, as soon as they have a corner.

        Yields
        ------
        ExactCell
            Cells of the next layer; or pointed ones of the same layer, if asked for.
        """
        first = int(self._flat.lines.row_start[cell.layer])
        stack = [(cell.cone, pieces, lines)]
        while stack:
            cone, pieces, lines = stack.pop()
            if stop_when_pointed and cone.pointed and len(cone.rows) <= MOST_SEED_FACETS:
                yield ExactCell(cell.layer, cell.pattern, cone)
                continue
            rest = list(lines)
            while rest:
                line = rest.pop()
                neuron = int(self._flat.lines.line_row[line]) - first
                row = self._row(line, cell.pattern)
                where = side(cone, row)
                self.decisions += 1
                if where > 0:
                    pieces[neuron] += 1
                elif where == 0:
                    positive, negative = halves(cone, row, line + 1)
                    above = bytearray(pieces)
                    above[neuron] += 1
                    stack.append((positive, above, rest))
                    stack.append((negative, bytearray(pieces), rest))
                    break
            else:
                yield ExactCell(cell.layer + 1, cell.pattern + bytes(pieces), cone)

    def _row(self, line: int, pattern: bytes) -> Vector:
        """Exact row of a boundary, up to a positive factor."""
        if line < len(self._domain):
            return self._domain[line]
        flat = self._flat.lines
        layer = bisect_right(self._line_starts, line) - 1
        known = self._layers(layer, pattern[: self._flat.first_neuron(layer)])
        if line not in known.rows:
            row = known.before[int(flat.line_row[line]) - int(flat.row_start[layer])]
            if flat.line_at[line] != 0.0:
                row = row.copy()
                row[-1] = row[-1] - EXACT.array([flat.line_at[line]])[0]
            known.rows[line] = _integers(row)
        return known.rows[line]

    def _layers(self, layer: int, prefix: bytes) -> _KnownRows:
        """The maps of the layers up to `layer`, of which those before have these pieces."""
        found = self._known.get(prefix)
        if found is not None and len(found.columns) == layer:
            self._known.move_to_end(prefix)
            return found
        start, unit = self._maps.coordinates()
        if layer == 1:
            columns = [start]
        else:
            width = self._network.widths[layer - 2]
            earlier = self._layers(layer - 1, prefix[: len(prefix) - width])
            pieces = np.frombuffer(prefix[len(prefix) - width :], dtype=np.uint8)
            columns = [*earlier.columns, self._maps.after(layer - 1, earlier.before, pieces, unit)]
        result = _KnownRows(columns, self._maps.before(layer, columns, unit), {})
        self._known[prefix] = result
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return result


def _integers(row: NDArray[Any]) -> Vector:
    """A rational row times a positive number, in integers without common divisor."""
    scale = lcm(*(int(x.q) for x in row))
    return reduced([int(x.p) * (scale // int(x.q)) for x in row])


# --- a cell as a cone -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Cone:
    """A full-dimensional cone.

    Attributes
    ----------
    rows, labels : lists
        Inequalities ``row · v >= 0`` and what they are called; only facets are kept.
    rays : list of vectors
        Extreme rays (modulo the lineality space).
    tight : list of int
        For every ray the facets it lies on, as bits.
    lineality : list of vectors
        A basis of the lineality space.
    """

    rows: list[Vector]
    labels: list[int]
    rays: list[Vector]
    tight: list[int]
    lineality: list[Vector]

    @property
    def pointed(self) -> bool:
        """Whether the cone contains no line."""
        return not self.lineality


def whole_space(size: int) -> Cone:
    """All of R^size."""
    lineality = [tuple(int(i == j) for j in range(size)) for i in range(size)]
    return Cone([], [], [], [], lineality)


def side(cone: Cone, row: Vector) -> int:
    """Where the cone lies: 1 row >= 0, -1 row <= 0 (0 everywhere included), 0 on both sides."""
    check()
    if any(dot(row, line) for line in cone.lineality):
        return 0
    positive = negative = False
    for ray in cone.rays:
        value = dot(row, ray)
        positive |= value > 0
        negative |= value < 0
        if positive and negative:
            return 0
    return 1 if positive else -1


def halves(cone: Cone, row: Vector, label: int) -> tuple[Cone, Cone]:
    """The two parts of a cone on both sides of a row that crosses it."""
    for index, line in enumerate(cone.lineality):
        value = dot(row, line)
        if value:
            return _halve_lineality(cone, row, label, index, value)
    return _halve_rays(cone, row, label)


def cut(cone: Cone, row: Vector, label: int) -> Cone | None:
    """The part with row >= 0; None if it has no interior."""
    where = side(cone, row)
    if where < 0:
        return None
    return cone if where > 0 else halves(cone, row, label)[0]


def _halve_lineality(
    cone: Cone, row: Vector, label: int, index: int, value: int
) -> tuple[Cone, Cone]:
    """Cut across the lineality space: one line becomes a ray, the rest is moved onto the row."""
    line = cone.lineality[index] if value > 0 else _negative(cone.lineality[index])
    value = abs(value)
    others = [x for i, x in enumerate(cone.lineality) if i != index]
    lineality = [_onto(value, x, row, line) for x in others]
    rays = [_onto(value, x, row, line) for x in cone.rays]
    bit = 1 << len(cone.rows)
    tight = [t | bit for t in cone.tight]
    everything = bit - 1
    positive = Cone(
        [*cone.rows, row], [*cone.labels, label], [*rays, line], [*tight, everything], lineality
    )
    negative = Cone(
        [*cone.rows, _negative(row)],
        [*cone.labels, -label],
        [*rays, _negative(line)],
        [*tight, everything],
        lineality,
    )
    return positive, negative


def _halve_rays(cone: Cone, row: Vector, label: int) -> tuple[Cone, Cone]:
    values = [dot(row, ray) for ray in cone.rays]
    bit = 1 << len(cone.rows)
    on = [(r, t | bit) for r, t, v in zip(cone.rays, cone.tight, values, strict=True) if v == 0]
    above = [i for i, v in enumerate(values) if v > 0]
    below = [i for i, v in enumerate(values) if v < 0]
    size = len(row) - len(cone.lineality)
    for i in above:
        check()
        for j in below:
            common = cone.tight[i] & cone.tight[j]
            if _adjacent(cone.tight, i, j, common, size):
                ray = _blend(values[i], cone.rays[j], -values[j], cone.rays[i])
                on.append((ray, common | bit))
    parts = []
    for keep, sign in ((above, 1), (below, -1)):
        both = [(cone.rays[i], cone.tight[i]) for i in keep] + on
        new_row = row if sign > 0 else _negative(row)
        parts.append(
            _only_facets(
                [*cone.rows, new_row],
                [*cone.labels, sign * label],
                [r for r, _ in both],
                [t for _, t in both],
                cone.lineality,
            )
        )
    return parts[0], parts[1]


def _adjacent(tight: list[int], i: int, j: int, common: int, size: int) -> bool:
    if common.bit_count() < size - 2:
        return False
    return all(t & common != common for k, t in enumerate(tight) if k not in (i, j))


def _only_facets(
    rows: list[Vector],
    labels: list[int],
    rays: list[Vector],
    tight: list[int],
    lineality: list[Vector],
) -> Cone:
    """Drop the inequalities that have become redundant, and renumber the bits."""
    on: list[list[int]] = [[] for _ in rows]
    for k, t in enumerate(tight):
        check()
        for f in bits(t):
            on[f].append(k)
    place: dict[int, int] = {}
    for f, mine in enumerate(on):
        if not mine:
            continue
        check()
        common = tight[mine[0]]
        for k in mine[1:]:
            common &= tight[k]
        # Others that hold all my rays hold more of them, or just these and came first.
        larger = any(len(on[g]) > len(mine) or g < f for g in bits(common) if g != f)
        if not larger:
            place[f] = len(place)
    if len(place) < len(rows):
        tight = [sum(1 << place[f] for f in bits(t) if f in place) for t in tight]
    return Cone([rows[f] for f in place], [labels[f] for f in place], rays, tight, lineality)


# --- what the kernels want to know of a cone ------------------------------------------------------


def polygon(cone: Cone) -> list[int]:
    """Facets of a pointed cone in three dimensions, in counter-clockwise order of the cell."""
    by_facet: list[list[int]] = [[] for _ in cone.rows]
    for k, t in enumerate(cone.tight):
        for f in bits(t):
            by_facet[f].append(k)
    order = [0]
    ray = by_facet[0][1]
    while True:
        following = next(f for f in bits(cone.tight[ray]) if f != order[-1])
        if following == order[0]:
            break
        order.append(following)
        ends = by_facet[following]
        ray = ends[0] if ends[1] == ray else ends[1]
    a, b = cone.rows[order[0]], cone.rows[order[1]]
    meeting = cross(a, b)
    common = 1 << order[0] | 1 << order[1]
    corner = next(r for r, t in zip(cone.rays, cone.tight, strict=True) if t & common == common)
    return order if dot(meeting, corner) > 0 else order[::-1]


def ray_basis(cone: Cone, ray: Vector, tight: int) -> tuple[list[int], float]:
    """Facets that meet in a ray alone, and the sign that makes their minors the ray.

    The minors are those with the columns 0, 1, … left out, with alternating signs.
    """
    check()
    chosen = [f for f in range(len(cone.rows)) if tight >> f & 1]
    if len(chosen) >= len(ray):  # more facets than needed meet here: keep independent ones
        candidates, chosen = chosen, []
        for f in candidates:
            rows = [cone.rows[g] for g in [*chosen, f]]
            if fmpz_mat(rows).rank() == len(rows):
                chosen.append(f)
    column = next(i for i, x in enumerate(ray) if x)
    matrix = fmpz_mat([[x for i, x in enumerate(cone.rows[f]) if i != column] for f in chosen])
    minor = int(matrix.det()) * (-1) ** column
    return chosen, 1.0 if (minor > 0) == (ray[column] > 0) else -1.0


# --- vectors of integers --------------------------------------------------------------------------


def dot(a: Vector, b: Vector) -> int:
    """Inner product."""
    return sum(x * y for x, y in zip(a, b, strict=True))


def cross(a: Vector, b: Vector) -> Vector:
    """Cross product in three dimensions."""
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


def reduced(vector: list[int]) -> Vector:
    """The vector divided by its greatest common divisor."""
    divisor = gcd(*vector)
    return tuple(x // divisor for x in vector) if divisor > 1 else tuple(vector)


def _negative(vector: Vector) -> Vector:
    return tuple(-x for x in vector)


def _blend(a: int, u: Vector, b: int, v: Vector) -> Vector:
    return reduced([a * x + b * y for x, y in zip(u, v, strict=True)])


def _onto(value: int, vector: Vector, row: Vector, line: Vector) -> Vector:
    """A vector moved along a line, on which the row has a value, to where the row is 0."""
    check()
    return _blend(value, vector, -dot(row, vector), line)


def bits(number: int) -> Iterator[int]:
    """Places of the ones of a number.

    Examples
    --------
    >>> list(bits(0b1010))
    [1, 3]
    """
    while number:
        low = number & -number
        yield low.bit_length() - 1
        number ^= low
