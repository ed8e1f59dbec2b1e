"""`Region`: one linear region, which works out its inequalities, map and corners when asked."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropicell._runtime.parts import in_parts
from tropicell._runtime.plain import few, html_table, shortened
from tropicell.errors import InvalidInputError, InvalidPatternError
from tropicell.geometry import float_geometry
from tropicell.geometry.arithmetic import ArithmeticName, to_floats, to_fractions, to_rationals
from tropicell.geometry.containment import satisfy
from tropicell.geometry.float_geometry import Tolerance
from tropicell.geometry.generators import Generators, generators
from tropicell.geometry.polyhedra import (
    Cell,
    Row,
    from_point,
    integer_row,
    is_bounded,
    to_point,
    value_at,
)
from tropicell.network.checks import not_finite
from tropicell.network.domains import Domain, WholeSpace
from tropicell.network.inequalities import (
    Boundary,
    Inequalities,
    cut_by,
    domain_inequalities,
    joined,
    layer_inequalities,
)
from tropicell.network.maps import AffineMap
from tropicell.network.network import Network
from tropicell.network.patterns import PatternArray, PatternLike, split_layers, to_text
from tropicell.network.quotient import Quotient, quotient_of

#: Inputs and outputs, and characters of a pattern, that a notebook shows.
_MOST_SHOWN, _LONGEST_TEXT = 8, 80

#: Values of inequalities at points that are worked out at a time, and in rationals.
_VALUES, _EXACT_VALUES = 2**20, 2**14

#: Bytes of a number that float64 holds.
_FLOAT64 = 8


@dataclass(frozen=True)
class Facet:
    """A side of a region: the set of its points where ``a x = b``.

    Attributes
    ----------
    a : ndarray, shape (inputs,)
    b : Fraction or float
    sources : tuple of Boundary
        Every neuron (or inequality of the domain) that has an inequality with this boundary.
    row : int
        Index of the inequality among the rows of the region's `cell`.

    Examples
    --------
    >>> region = Region(Network.mlp([[[2.0]], [[1.0]]], [[-1.0], [0.0]]), "1")
    >>> facet = region.facets[0]
    >>> print(f"{facet.a[0]} x <= {facet.b}, {facet.sources[0]}")
    -2 x <= -1, layer 1, neuron 0
    """

    a: NDArray[Any]
    b: Any
    sources: tuple[Boundary, ...]
    row: int


@dataclass(frozen=True)
class EmptyRegion:
    """The answer for a pattern that has no region: no input with interior around it has it.

    Attributes
    ----------
    pattern : ndarray of uint8
    layer : int
        The layer at which it became empty; 0 if the domain itself has no interior.
    certain : bool
        False if float arithmetic could not tell for sure.

    Examples
    --------
    >>> from tropicell import find_region
    >>> found = find_region(Network.mlp([[[1.0], [-1.0]], [[1.0, 1.0]]]), "11")
    >>> bool(found), found.layer
    (False, 1)
    """

    pattern: PatternArray
    layer: int
    certain: bool = True

    def __bool__(self) -> bool:
        return False


class Region:
    """One linear region: the closed convex set of inputs of one pattern.

    Parameters
    ----------
    network : Network
    pattern : str, flat sequence or one sequence per layer
    domain : Domain, optional
        Default: all of R^n.
    arithmetic : {"exact", "float"}
        Exact rationals (`fractions.Fraction`), or float64.
    tolerance : Tolerance
        For float arithmetic: when an answer counts as certain.
    cell : Cell, optional
        The region's inequalities and witness, where an engine has them already.
    hint : array_like, optional
        A point that may lie strictly inside; it is checked, and spares the search for one.
    neighbours : callable, optional
        Where the region belongs to `Regions`: gives the indices of its neighbours.

    Use `tropicell.find_region` to find out whether a pattern has a region at all.

    A region of `Regions` that is pickled takes its neighbours along if they were asked for before.

    Examples
    --------
    >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
    >>> quadrant = Region(network, "11")
    >>> quadrant.vertices
    array([[Fraction(0, 1), Fraction(0, 1)]], dtype=object)
    >>> quadrant.bounded
    False
    """

    def __init__(
        self,
        network: Network,
        pattern: PatternLike,
        domain: Domain | None = None,
        *,
        arithmetic: ArithmeticName = "exact",
        tolerance: Tolerance | None = None,
        cell: Cell | None = None,
        hint: ArrayLike | None = None,
        neighbours: Callable[[], list[int]] | None = None,
    ) -> None:
        self.network = network
        self.pattern = network.parse_pattern(pattern)
        self.domain = WholeSpace() if domain is None else domain
        self.arithmetic: ArithmeticName = arithmetic
        self.tolerance = Tolerance() if tolerance is None else tolerance
        self._neighbours = neighbours
        self._hint = hint
        if cell is not None:
            self._cell = cell

    @property
    def text(self) -> str:
        """The pattern as text, layers separated by bars."""
        return to_text(self.pattern, self.network.widths)

    @property
    def certain(self) -> bool:
        """Whether the region is known for sure to have interior points."""
        if self.arithmetic == "exact":
            return self._cell is not None
        return self._float_witness[1] > self.tolerance.margin and not self.noisy().any()

    @cached_property
    def inequalities(self) -> Inequalities:
        """All inequalities, domain first, then neuron by neuron."""
        rows = [domain_inequalities(self.domain, self.network.n_inputs, self.arithmetic)]
        maps = self.network.maps(self.arithmetic)
        start, unit = maps.coordinates()
        columns = [start]
        for layer, pieces in enumerate(split_layers(self.pattern, self.network.widths), start=1):
            before = maps.before(layer, columns, unit)
            rows.append(layer_inequalities(self.network, layer, before, pieces, self.arithmetic))
            columns.append(maps.after(layer, before, pieces, unit))
        return joined(rows, self.arithmetic)

    @cached_property
    def affine_map(self) -> AffineMap:
        """The map that the network is here."""
        return self.network.affine_map(self.pattern, arithmetic=self.arithmetic)

    @property
    def witness(self) -> NDArray[Any]:
        """A point strictly inside."""
        if self.arithmetic == "float":
            return self._float_witness[0]
        return np.array(from_point(self._require_cell().witness), dtype=object)

    @cached_property
    def facets(self) -> list[Facet]:
        """The sides of the region: inequalities that are not redundant, with their neurons."""
        inequalities = self.inequalities
        indices = self._rows[1]
        if self.arithmetic == "float":
            a, b = inequalities.A[indices], inequalities.b[indices]
            kept = float_geometry.irredundant(a, b, self.tolerance)
        else:  # whichever coordinates: the rows are the same ones
            kept = (self._reduced or self).cell.facets()
        return [
            Facet(inequalities.A[indices[i]], inequalities.b[indices[i]], self._same_boundary(i), i)
            for i in kept
        ]

    @property
    def cell(self) -> Cell:
        """The inequalities that are not constant as integers, and a witness, for exact geometry."""
        return Cell(self._rows[0], self._require_cell().witness)

    def has_row(self, boundary: Boundary) -> bool:
        """Whether a boundary's inequality is there, and is not constant on the region.

        Examples
        --------
        >>> region = Region(Network.mlp([[[1.0, 0.0], [0.0, 0.0]], [[1.0, 1.0]]]), "10")
        >>> region.has_row(Boundary(1, 0)), region.has_row(Boundary(1, 1))
        (True, False)
        """
        sources = self.inequalities.sources
        return any(sources[i] == boundary for i in self._rows[1])

    def cell_of(self, boundaries: Sequence[Boundary]) -> Cell:
        """The cell of some of the inequalities, in the order of their boundaries.

        Examples
        --------
        >>> region = Region(Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]]), "11")
        >>> region.cell_of([Boundary(1, 1)]).rows
        ((0, 1, 0),)
        """
        rows, indices = self._rows
        sources = self.inequalities.sources
        found = {sources[i]: row for row, i in zip(rows, indices, strict=True)}
        return Cell(tuple(found[boundary] for boundary in boundaries), self._require_cell().witness)

    @cached_property
    def vertices(self) -> NDArray[Any]:
        """The corners, shape (vertices, inputs); in 2-D in counter-clockwise order if bounded."""
        if self._reduced is not None:
            return self._quotient.lift(self._reduced.vertices)
        points = [from_point(vertex) for vertex in self._generators.vertices]
        return self._numbers(points)

    @cached_property
    def rays(self) -> NDArray[Any]:
        """Directions in which the region is unbounded, shape (rays, inputs)."""
        if self._reduced is not None:
            return self._quotient.lift(self._reduced.rays)
        return self._numbers([[Fraction(x) for x in ray] for ray in self._generators.rays])

    @cached_property
    def lineality(self) -> NDArray[Any]:
        """Directions along which the region is unbounded both ways, shape (directions, inputs)."""
        if self._reduced is not None:
            own = self._quotient.lift(self._reduced.lineality)
            return np.concatenate([own, self._quotient.kernel])
        found = self._generators.lineality
        return self._numbers([[Fraction(x) for x in direction] for direction in found])

    @property
    def lines(self) -> NDArray[Any]:
        """The former name of `lineality`."""
        warnings.warn("Region.lines is now Region.lineality", DeprecationWarning, stacklevel=2)
        return self.lineality

    @property
    def bounded(self) -> bool:
        """Whether the region's recession cone is a point: no rays, no lineality."""
        return self._reduced is None and is_bounded(self._rows[0], self.network.n_inputs)

    @property
    def neighbours(self) -> list[int]:
        """Indices of the regions that share a facet with this one, in the `Regions` it is from."""
        if self._neighbours is None:
            raise InvalidInputError(
                "a region by itself has no known neighbours: take it from Regions, regions[i]; one "
                "that was pickled has them if they were asked for before"
            )
        return self._neighbours()

    def contains(self, points: ArrayLike) -> NDArray[np.bool_]:
        """Which points (rows) lie in the region, boundary included.

        A point with an infinite coordinate, or nan, lies in no region.

        Examples
        --------
        >>> Region(Network.mlp([[[1.0]], [[1.0]]]), "1").contains([[-1.0], [0.0], [2.0]])
        array([False,  True,  True])
        """
        exact = self.arithmetic == "exact"
        x = self.network.check_points(points, exact=exact)
        rows = self.inequalities
        if exact and x.dtype.kind == "f" and x.dtype.itemsize <= _FLOAT64:
            return satisfy(rows.A, rows.b, x.astype(np.float64, copy=False))
        found = np.asarray(~not_finite(x).any(axis=1))
        finite = np.flatnonzero(found)

        def work(part: slice) -> None:
            own = x[finite[part]]
            own = to_fractions(to_rationals(own)) if exact else own
            found[finite[part]] = (own @ rows.A.T <= rows.b).all(axis=1)

        most = _VALUES if not exact else _EXACT_VALUES
        in_parts(work, len(finite), 1, max(64, most // max(1, len(rows))))
        return found

    def noisy(self) -> NDArray[np.bool_]:
        """Which inequalities may be nothing but rounding errors of float64.

        Those of neurons whose pre-activation cancels on the region: it is tiny against the sum of
        the absolute values that it is computed from. Always False in exact arithmetic.

        Examples
        --------
        The second layer sees 0.1 + 0.2 - 0.3, which float64 rounds to 5.6e-17:

        >>> network = Network.mlp([[[1.0]] * 3, [[0.1, 0.2, -0.3]], [[1.0]]])
        >>> Region(network, "111|1", arithmetic="float").noisy()
        array([False, False, False,  True])
        """
        rows = self.inequalities
        if self.arithmetic == "exact":
            return np.zeros(len(rows), dtype=np.bool_)
        sizes = self.network.maps("float").magnitudes(self.pattern)
        limits = np.zeros(len(rows))
        for i, source in enumerate(rows.sources):
            if source.layer > 0:
                limits[i] = self.tolerance.noise * sizes[source.layer - 1][source.neuron]
        norms = np.linalg.norm(rows.A, axis=1)
        small = np.where(norms > 0, norms <= limits, np.abs(rows.b) <= limits)
        neurons = [source.layer > 0 for source in rows.sources]  # the domain is not computed
        return np.asarray(small & np.array(neurons, dtype=np.bool_))

    def __repr__(self) -> str:
        return f"Region({self.text})"

    def _repr_html_(self) -> str:
        """A short table for notebooks."""
        here = self.network.affine_map(self.pattern, arithmetic="float")
        outputs = [
            _formula(row, float(offset), f"y{k}")
            for k, (row, offset) in enumerate(zip(here.matrix, here.offset, strict=True), start=1)
        ]
        point = [f"{float(x):.6g}" for x in self.witness]
        rows = {
            "pattern": shortened(self.text, _LONGEST_TEXT),
            "domain": repr(self.domain),
            "a point inside": ", ".join(few(point, _MOST_SHOWN)),
            "the network there": "\n".join(few(outputs, _MOST_SHOWN)),
        }
        return html_table("Region", rows)

    @cached_property
    def _rows(self) -> tuple[tuple[Row, ...], list[int]]:
        """Integer rows of the inequalities that are not constant, and their indices."""
        rows = [integer_row([*(-a), b]) for a, b in self._rationals()]
        indices = [i for i, row in enumerate(rows) if any(row[:-1])]
        return tuple(rows[i] for i in indices), indices

    @cached_property
    def _cell(self) -> Cell | None:
        hint = [] if self._hint is None else np.asarray(self._hint).tolist()
        if self._hint is not None and all(-inf < x < inf for x in hint):  # not those left out: nan
            point = to_point(map(Fraction, hint))
            if all(value_at(row, point) > 0 for row in self._rows[0]) and self._constants_hold():
                return Cell(self._rows[0], point)
        if self._reduced is None:
            return cut_by(Cell.whole_space(self.network.n_inputs), self.inequalities)
        found = self._reduced._cell
        if found is None:
            return None
        witness = np.array(from_point(found.witness), dtype=object)
        return Cell(self._rows[0], to_point(self._quotient.lift(witness).tolist()))

    @cached_property
    def _quotient(self) -> Quotient:
        """The inputs that are enough."""
        if self.arithmetic == "float":
            return Quotient.trivial(self.network, self.domain)
        return quotient_of(self.network, self.domain)

    @cached_property
    def _reduced(self) -> Region | None:
        """The region in these inputs alone, if some are not needed."""
        quotient = self._quotient
        if quotient.is_trivial:
            return None
        inner: NDArray[Any] | None = None
        if self._hint is not None:
            hint = np.asarray(self._hint)
            inner = hint[quotient.inputs]
            if (hint != quotient.lift(inner)).any():
                inner = None
        return Region(quotient.network, self.pattern, quotient.domain, hint=inner)

    def _constants_hold(self) -> bool:
        """Whether the inequalities without the input, which `_rows` leaves out, are true."""
        rows = self.inequalities
        kept = set(self._rows[1])
        constants = [i for i in range(len(rows)) if i not in kept]
        return all(rows.b[i] > 0 or (rows.closed[i] and rows.b[i] == 0) for i in constants)

    def _rationals(self) -> Iterator[tuple[NDArray[Any], Any]]:
        inequalities = self.inequalities
        return zip(to_rationals(inequalities.A), to_rationals(inequalities.b), strict=True)

    def _require_cell(self) -> Cell:
        if self._cell is None:
            raise InvalidPatternError(f"the pattern {self.text} has no region: it is empty")
        return self._cell

    @cached_property
    def _float_witness(self) -> tuple[NDArray[np.float64], float]:
        return float_geometry.interior_point(self.inequalities.A, self.inequalities.b)

    @cached_property
    def _generators(self) -> Generators:
        return generators(self._rows[0], self.network.n_inputs)

    def _same_boundary(self, index: int) -> tuple[Boundary, ...]:
        """Sources of all inequalities that have the boundary of this one."""
        rows, indices = self._rows
        row = rows[index]
        opposite = tuple(-value for value in row)
        sources = self.inequalities.sources
        found = [sources[i] for r, i in zip(rows, indices, strict=True) if r in (row, opposite)]
        return tuple(found)

    def _numbers(self, vectors: list[list[Fraction]]) -> NDArray[Any]:
        array = np.empty((len(vectors), self.network.n_inputs), dtype=object)
        for i, vector in enumerate(vectors):
            array[i] = vector
        return array if self.arithmetic == "exact" else to_floats(array)


def _formula(row: NDArray[np.float64], offset: float, name: str) -> str:
    """An affine function as one reads it.

    Examples
    --------
    >>> _formula(np.array([1.0, 0.0, -0.5]), 2.0, "y1")
    'y1 = 2 + x1 - 0.5 x3'
    """
    text = f"{offset:.4g}"
    terms = [(k, a) for k, a in enumerate(row.tolist(), start=1) if a]
    for k, a in terms[:_MOST_SHOWN]:
        size = "" if abs(a) == 1.0 else f"{abs(a):.4g} "
        text += f" {'-' if a < 0 else '+'} {size}x{k}"
    return f"{name} = {text}" + (" + …" if len(terms) > _MOST_SHOWN else "")
