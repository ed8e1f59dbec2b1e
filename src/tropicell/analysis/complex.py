"""`Complex`: all faces of all regions with their incidences, and what is cut out of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell._runtime.interruption import check
from tropicell.analysis.chosen import finite_value, is_whole, numbers_of, weights_of
from tropicell.analysis.cut_functions import CutFunction, ExactRows
from tropicell.analysis.exact_vertices import exact_vertices
from tropicell.analysis.faces import Faces, Sides, all_faces
from tropicell.errors import InvalidInputError
from tropicell.geometry.arithmetic import to_fractions, to_rationals
from tropicell.network.inequalities import Lines
from tropicell.network.integer_maps import IntegerMaps
from tropicell.regions.columns import Ragged

if TYPE_CHECKING:
    from tropicell.analysis.meshes import PolygonMesh
    from tropicell.analysis.topology import Homology, Persistence, Unbounded
    from tropicell.network.quotient import Quotient
    from tropicell.regions.regions import Regions

#: At most so many cuts can be made one after the other.
_MOST_CUTS = 60


@dataclass(frozen=True, eq=False)
class Complex:
    """Faces of every dimension, and which of them bound which: see `tropicell.Regions.complex`.

    Faces of dimension k are numbered from 0; columns of one dimension are as long as there are
    faces of it. A sub-complex (`select`, `level_set`, `sublevel_set`, `decision_boundary`, …) is a
    complex again. Its faces lie in faces of the whole one: `carriers` says in which.

    Attributes
    ----------
    faces : Faces
        The whole complex that this one lies in.
    vertices : ndarray, shape (vertices, inputs)
        Coordinates, in the inputs that matter (`quotient` says which these are).
    radii : ndarray, shape (vertices, inputs)
        How far they may be off: a proved bound.
    sides : list of Sides
        For each dimension from 0 on the faces that bound each face, with signs.
    unbounded : list of ndarray of bool
        Which faces are unbounded.
    carriers : list of tuple of ndarray
        For each dimension: the dimension of the face of the whole complex that each face lies in,
        and its number.
    on_levels : list of ndarray of uint64
        For each dimension: on which of the `levels` each face lies, as bits, where a cut made it.
    directions : ndarray, shape (edges, inputs)
        Where an unbounded edge leads to; 0 for others.
    direction_errors : ndarray, shape (edges,)
        How far coordinates of that may be off; infinite where nobody knows.
    levels : tuple of CutFunction
        The functions by which this complex was cut out.

    Examples
    --------
    Two crossing lines cut a square into four regions:

    >>> from tropicell import Box, Network, enumerate_regions
    >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
    >>> complex = enumerate_regions(network, Box(-1, 1)).complex()
    >>> complex
    Complex(9 vertices, 12 edges, 4 cells)
    >>> complex.f_vector, complex.euler_characteristic
    ((9, 12, 4), 1)

    The edges of a region, with their orientations, and the vertices of these edges:

    >>> complex.boundary(2)[:, [0]].data.tolist()
    [1, 1, 1, 1]
    >>> (complex.boundary(1) @ complex.boundary(2)).nnz
    0

    Where an output has a value is a complex again:

    >>> line = complex.level_set(0, 0.5)
    >>> line, line.betti()
    (Complex(4 vertices, 3 edges), (1, 0))
    >>> line.carriers[0][0]  # its vertices lie on edges
    array([1, 1, 1, 1], dtype=int8)
    >>> len(complex.sublevel_set(0, 0.5).owners(2)), complex.superlevel_set(0, 0.5).f_vector[2]
    (4, 3)
    >>> complex.cut(0, 0.5), complex.decision_region(1, threshold=0.5).betti()
    (Complex(13 vertices, 19 edges, 7 cells), (1, 0, 0))
    >>> print(complex.homology())
    Z, 0, 0

    On all of R^n some faces are unbounded:

    >>> complex = enumerate_regions(network).complex()
    >>> [open_ones.tolist() for open_ones in complex.unbounded[:2]], complex.bounded_part()
    ([[False], [True, True, True, True]], Complex(1 vertex))
    >>> sorted(tuple(map(int, complex.exact_direction(edge))) for edge in range(4))
    [(-1, 0), (0, -1), (0, 1), (1, 0)]
    """

    faces: Faces
    vertices: FloatArray
    radii: FloatArray
    sides: list[Sides]
    unbounded: list[NDArray[np.bool_]]
    carriers: list[tuple[NDArray[np.int8], NDArray[np.int64]]]
    on_levels: list[NDArray[np.uint64]]
    directions: FloatArray
    direction_errors: FloatArray
    levels: tuple[CutFunction, ...] = field(default=())

    # --- what there is ------------------------------------------------------------------------

    @property
    def dimension(self) -> int:
        """The largest dimension of a face; -1 if there is none."""
        return len(self.f_vector) - 1

    @cached_property
    def f_vector(self) -> tuple[int, ...]:
        """How many faces there are of each dimension."""
        counts = [len(sides.ends) for sides in self.sides]
        while counts and not counts[-1]:
            counts.pop()
        return tuple(counts)

    def __len__(self) -> int:
        return sum(self.f_vector)

    def __repr__(self) -> str:
        if not len(self):
            return "Complex(empty)"
        counts, named = self.f_vector, []
        for k, count in enumerate(counts):
            top = k == self.faces.vertices.shape[1] and k > 1
            one = "cell" if top else {0: "vertex", 1: "edge"}.get(k, f"{k}-face")
            many = {"vertex": "vertices"}.get(one, one + "s")
            named.append(f"{count} {one if count == 1 else many}")
        return f"Complex({', '.join(named)})"

    @property
    def regions(self) -> Regions:
        """The regions, in the inputs that matter; cells of the whole complex have their numbers."""
        return self.faces.regions

    @property
    def quotient(self) -> Quotient:
        """Which inputs matter: the complex is that of these, times a linear space."""
        return self.faces.quotient

    @property
    def is_whole(self) -> bool:
        """Whether this is the complex of all regions of the domain."""
        return self._is_first and self.faces.whole.covers

    @property
    def _is_first(self) -> bool:
        """Whether it has all faces of the regions that it was made from."""
        return self.sides is self.faces.sides

    def boundary(self, k: int, *, infinity: bool = False) -> sp.csc_array:
        """Which faces of dimension k - 1 bound those of dimension k, with signs.

        Parameters
        ----------
        k : int
        infinity : bool
            Of edges: one more vertex, the last one, where all unbounded edges end.

        Returns
        -------
        scipy.sparse.csc_array of int8, shape (faces of dimension k - 1, faces of dimension k)
            1 and -1 where a face bounds another. The product of two following ones is 0, except
            where vertices at infinity are missing.
        """
        if not is_whole(k) or not 1 <= k < max(2, len(self.sides)):
            raise InvalidInputError(
                f"the dimension must be from 1 to {len(self.sides) - 1}, not {k!r}"
            )
        if k >= len(self.sides):
            return sp.csc_array((self._count(k - 1), 0), dtype=np.int8)
        sides = self.sides[k]
        if infinity and k == 1:
            sides = self._closed_edges()
        shape = (self._count(k - 1) + int(infinity and k == 1), self._count(k))
        starts = np.concatenate([[0], sides.ends])
        found = sp.csc_array((sides.signs, sides.faces, starts), shape=shape)
        found.sort_indices()
        return found

    def _closed_edges(self) -> Sides:
        """The ends of edges, with one vertex more for those at infinity."""
        sides, open_ones = self.sides[1], np.flatnonzero(self.unbounded[1])
        counts = np.diff(sides.ends, prepend=0)
        owner = np.concatenate([np.repeat(np.arange(len(counts)), counts), open_ones])
        order = np.argsort(owner, kind="stable")
        # An unbounded edge has one vertex.
        opposite = -sides.signs[sides.ends[open_ones] - 1]
        faces = np.concatenate([sides.faces, np.full(len(open_ones), self._count(0))])
        signs = np.concatenate([sides.signs, opposite])
        counts = counts + self.unbounded[1]
        return Sides(np.cumsum(counts), faces[order], signs[order].astype(np.int8))

    def _count(self, k: int) -> int:
        return len(self.sides[k].ends) if 0 <= k < len(self.sides) else 0

    def incidence(self, low: int, high: int) -> sp.csc_array:
        """Which faces of a lower dimension lie in which of a higher one.

        Parameters
        ----------
        low, high : int

        Returns
        -------
        scipy.sparse.csc_array of bool, shape (faces of dimension low, faces of dimension high)

        Examples
        --------
        >>> from tropicell import Box, Network, enumerate_regions
        >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
        >>> complex = enumerate_regions(network, Box(-1, 1)).complex()
        >>> complex.incidence(0, 2).sum(axis=0)
        array([4, 4, 4, 4])
        """
        whole = is_whole(low) and is_whole(high)
        if not whole or not 0 <= low <= high < max(1, len(self.sides)):
            raise InvalidInputError(
                f"dimensions must be from 0 to {len(self.sides) - 1}, the lower one first, "
                f"not {low!r} and {high!r}"
            )
        found = sp.eye_array(self._count(low), dtype=np.bool_, format="csc")
        for k in range(low + 1, high + 1):
            step = self.boundary(k)
            found = sp.csc_array(found @ step.astype(np.bool_))
        return found

    def owners(self, k: int) -> NDArray[np.int64]:
        """For every face of dimension k a region that it lies in."""
        dims, numbers = self.carriers[k]
        found = np.empty(len(dims), np.int64)
        for dim in np.unique(dims):
            which = dims == dim
            found[which] = self.faces.owners[dim][numbers[which]]
        return found

    def polygons(self) -> Ragged:
        """The vertices of each face of dimension 2, in order, as their orientation says.

        Unbounded ones have none.

        Examples
        --------
        >>> from tropicell import Box, Network, enumerate_regions
        >>> network = Network.mlp([[[1.0, 0.0]], [[1.0]]])
        >>> complex = enumerate_regions(network, Box(-1, 1)).complex()
        >>> complex.polygons().counts
        array([4, 4])
        """
        from tropicell.analysis import _faces  # noqa: PLC0415 - imports Numba

        if len(self.sides) < 3:
            return Ragged(np.empty(0, np.int64), np.empty(0, np.int64))
        closed = np.flatnonzero(~self.unbounded[2])
        sides = self.sides[2]
        own = Ragged(sides.faces, sides.ends)
        places, counts = own.places(closed), own.counts[closed]
        edges = np.zeros((self._count(1), 2), np.int64)
        ends = self.sides[1]
        edge = np.repeat(np.arange(len(ends.ends)), np.diff(ends.ends, prepend=0))
        edges[edge, (ends.signs > 0).astype(np.int64)] = ends.faces
        found = np.empty(len(places), np.int64)
        wrong = _faces.loops(
            np.cumsum(counts), sides.faces[places], sides.signs[places], edges, found
        )
        if wrong >= 0:
            raise InvalidInputError(f"face {closed[wrong]} of dimension 2 is not closed")
        all_counts = np.zeros(self._count(2), np.int64)
        all_counts[closed] = counts
        return Ragged.from_counts(found, all_counts)

    def to_mesh(self) -> PolygonMesh:
        """Its bounded faces of dimension 2 as a mesh with shared vertices, for files and programs.

        For level sets and decision boundaries in space, and for all regions in the plane.

        Examples
        --------
        >>> from tropicell import Box, Network, enumerate_regions
        >>> network = Network.mlp([[[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]], [[1.0, 1.0]]])
        >>> complex = enumerate_regions(network, Box(-1, 1)).complex()
        >>> complex.level_set(0, 0.5).to_mesh()  # two squares
        PolygonMesh(8 vertices, 2 polygons in space)
        """
        from tropicell.analysis.meshes import mesh_of  # noqa: PLC0415 - loaded when needed

        return mesh_of(self)

    # --- exact numbers ------------------------------------------------------------------------

    def exact_vertices(self, some: Sequence[int] | NDArray[Any] | None = None) -> NDArray[Any]:
        """Vertices in rationals, shape (vertices, inputs): all of them, or some.

        Some are given by their numbers, or by a mask.

        Examples
        --------
        >>> from tropicell import Box, Network, enumerate_regions
        >>> network = Network.mlp([[[3.0]], [[1.0]]], [[-1.0], [0.0]])
        >>> complex = enumerate_regions(network, Box(0, 1)).complex()
        >>> sorted(map(str, complex.exact_vertices().ravel()))
        ['0', '1', '1/3']
        """
        which = numbers_of(some, self._count(0), "vertices")
        if IntegerMaps.fits(self.regions.network):
            return exact_vertices(self, which)
        d = self.faces.vertices.shape[1]
        found = np.empty((len(which), d), dtype=object)
        order = np.argsort(self.owners(0)[which], kind="stable")
        rows = ExactRows(self)
        for i in order.tolist():
            check()
            found[i] = rows.vertex(int(which[i]))
        return found

    def exact_outputs(self, some: Sequence[int] | NDArray[Any] | None = None) -> NDArray[Any]:
        """The network's outputs at vertices in rationals, shape (vertices, outputs).

        The exact vertices are put into the network, layer by layer: whatever regions they were
        worked out from is not asked. Inputs that do not matter (`quotient`) are 0 there.

        Examples
        --------
        >>> from tropicell import Box, Network, enumerate_regions
        >>> network = Network.mlp([[[3.0]], [[1.0]]], [[-1.0], [0.0]])
        >>> level = enumerate_regions(network, Box(0, 1)).complex().level_set(0, 0.1)
        >>> level.exact_outputs().tolist() == [[Fraction(0.1)]]
        True
        """
        network, points = self.regions.network, self.exact_vertices(some)
        # The network keeps its inputs if none of them matters.
        missing = (len(points), network.n_inputs - points.shape[1])
        points = np.concatenate([points, np.full(missing, Fraction(0), dtype=object)], axis=1)
        if IntegerMaps.fits(network):
            return IntegerMaps(network).outputs_at(points)
        return to_fractions(network.maps("exact").at_points(points)[1])

    def exact_direction(self, edge: int) -> NDArray[Any]:
        """Where an unbounded edge leads to, in rationals; the largest of them is 1 or -1.

        Examples
        --------
        >>> from tropicell import Network, enumerate_regions
        >>> network = Network.mlp([[[1.0, 2.0], [3.0, -1.0]], [[1.0, 1.0]]])
        >>> complex = enumerate_regions(network).complex()
        >>> sorted("({}, {})".format(*complex.exact_direction(edge)) for edge in range(4))
        ['(-1, 1/2)', '(-1/3, -1)', '(1, -1/2)', '(1/3, 1)']
        """
        if not is_whole(edge) or not 0 <= edge < self._count(1) or not self.unbounded[1][edge]:
            raise InvalidInputError(f"only an unbounded edge leads anywhere, and not edge {edge!r}")
        direction = ExactRows(self).direction(edge)
        return cast(NDArray[Any], direction / np.abs(direction).max())

    # --- signs --------------------------------------------------------------------------------

    @property
    def lines(self) -> Lines:
        """What the columns of `signs` stand for: line i + 1 is column i."""
        return self.regions.lines

    def signs(self, k: int, some: Sequence[int] | NDArray[Any] | None = None) -> NDArray[np.int8]:
        """The sign vectors of faces: on which side of each boundary each of them lies.

        Parameters
        ----------
        k : int
            The dimension.
        some : sequence of int, optional
            Which faces of it; default: all.

        Returns
        -------
        ndarray of int8, shape (faces, lines - 1)
            1, 0 or -1: inside of the face the neuron of a line is larger than its breakpoint,
            equal to it, or smaller. The first columns are the inequalities of the domain: 0 where
            the face lies on it, else 1. See `lines`.

        Examples
        --------
        >>> from tropicell import Network, enumerate_regions
        >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
        >>> complex = enumerate_regions(network).complex()
        >>> complex.signs(0), sorted(complex.signs(1).tolist())
        (array([[0, 0]], dtype=int8), [[-1, 0], [0, -1], [0, 1], [1, 0]])
        """
        from tropicell.analysis.signs import face_signs  # noqa: PLC0415 - loaded when needed

        return face_signs(self, k, some)

    # --- figures ------------------------------------------------------------------------------

    @property
    def euler_characteristic(self) -> int:
        """The alternating sum of the numbers of faces.

        Faces that are unbounded count as open ones: the characteristic with compact support. It is
        1 for all regions of a bounded domain, and (-1)^n for those of all of R^n.

        Examples
        --------
        >>> from tropicell import Box, Network, enumerate_regions
        >>> network = Network.mlp([[[1.0]], [[1.0]]])
        >>> [enumerate_regions(network, domain).complex().euler_characteristic
        ...  for domain in (Box(-1, 1), None)]
        [1, -1]
        """
        return sum((-1) ** k * count for k, count in enumerate(self.f_vector))

    @property
    def bounded_characteristic(self) -> int:
        """The Euler characteristic of the bounded faces, which is that of the set as it is."""
        return sum(
            (-1) ** k * int((~open_ones).sum()) for k, open_ones in enumerate(self.unbounded)
        )

    @property
    def expected_characteristic(self) -> int:
        """What Euler's relation says `euler_characteristic` is, for all regions of a domain."""
        from flint import fmpz_mat  # noqa: PLC0415 - as the next one

        from tropicell.geometry.polyhedra import grows, integer_row  # noqa: PLC0415

        d = self.faces.vertices.shape[1]
        if not self.unbounded[-1].any():
            return 1
        matrix, _ = self.regions.domain.inequalities(self.regions.network.n_inputs)
        inner = [-row for row in to_fractions(to_rationals(np.asarray(matrix))) if row.any()]
        rows = [integer_row([*row, Fraction(0)]) for row in inner]
        if not rows:
            return int((-1) ** d)
        # A cone of directions that is a linear space of dimension l counts (-1)^l, any other 0.
        if grows(rows, tuple(sum(column) for column in zip(*rows, strict=True))[:-1]):
            return 0
        return int((-1) ** (d - fmpz_mat([row[:-1] for row in rows]).rank()))

    @cached_property
    def stats(self) -> Mapping[str, Any]:
        """Figures: faces, Euler's relation, and the mean number of neighbours with its bound 2 d.

        Examples
        --------
        >>> from tropicell import Network, enumerate_regions
        >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
        >>> complex = enumerate_regions(network).complex()
        >>> complex.stats["mean_degree"], complex.stats["mean_degree_bound"]
        (2.0, 4)
        """
        d = self.faces.vertices.shape[1]
        found: dict[str, Any] = {
            "faces": self.f_vector,
            "unbounded": tuple(int(open_ones.sum()) for open_ones in self.unbounded),
            "euler_characteristic": self.euler_characteristic,
            "bytes": self.nbytes,
        }
        if self.is_whole:
            found["expected_characteristic"] = self.expected_characteristic
            if d:
                inner = np.bincount(self.sides[d].faces, minlength=self._count(d - 1)) == 2
                found["mean_degree"] = 2 * int(inner.sum()) / self._count(d)
                found["mean_degree_bound"] = 2 * d
        return found

    @property
    def nbytes(self) -> int:
        """Memory of the columns, in bytes."""
        arrays: list[Any] = [self.vertices, self.radii, self.directions, *self.unbounded]
        arrays += [array for sides in self.sides for array in sides]
        arrays += [array for pair in self.carriers for array in pair] + list(self.on_levels)
        if self._is_first:
            arrays += [*self.faces.owners, *self.faces.lines]
        return sum(int(array.nbytes) for array in arrays)

    # --- sub-complexes ------------------------------------------------------------------------

    def select(self, faces: Mapping[int, ArrayLike] | ArrayLike) -> Complex:
        """The smallest sub-complex with some faces: they, and all faces of them.

        Parameters
        ----------
        faces : array_like or mapping
            Cells, as a mask or as numbers; or such an array for each dimension.

        Examples
        --------
        >>> from tropicell import Box, Network, enumerate_regions
        >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
        >>> regions = enumerate_regions(network, Box(-1, 1))
        >>> regions.complex().select(regions.patterns.sum(axis=1) == 1)
        Complex(7 vertices, 8 edges, 2 cells)
        """
        from tropicell.analysis.cuts import closure  # noqa: PLC0415 - loaded when needed

        return closure(self, faces if isinstance(faces, Mapping) else {len(self.sides) - 1: faces})

    def neuron_boundary(self, layer: int, neuron: int) -> Complex:
        """The faces on which a neuron is at a breakpoint: its boundary, bent by earlier layers.

        Parameters
        ----------
        layer : int
            From 1 on.
        neuron : int

        Examples
        --------
        >>> from tropicell import Box, Network, enumerate_regions
        >>> weights = [[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]], [[1.0]]]
        >>> network = Network.mlp(weights, [[0, 0], [-1], [0]])
        >>> complex = enumerate_regions(network, Box(-2, 2)).complex()
        >>> complex.neuron_boundary(1, 0), complex.neuron_boundary(2, 0)  # a line, and a bent one
        (Complex(4 vertices, 3 edges), Complex(4 vertices, 3 edges))
        """
        from tropicell.analysis.signs import faces_on  # noqa: PLC0415 - loaded when needed

        widths, lines = self.regions.network.widths, self.lines
        whole = is_whole(layer) and is_whole(neuron)
        if not whole or not 1 <= layer <= len(widths) or not 0 <= neuron < widths[layer - 1]:
            raise InvalidInputError(f"there is no neuron {neuron!r} in a layer {layer!r}")
        mine = (lines.layer == layer) & (lines.index == neuron)
        return self.select(dict(enumerate(faces_on(self, lines.first + np.flatnonzero(mine)))))

    def bounded_part(self) -> Complex:
        """The bounded faces: unbounded ones can be drawn back to them, so nothing is lost."""
        from tropicell.analysis.cuts import closure  # noqa: PLC0415 - loaded when needed

        return closure(self, {k: ~open_ones for k, open_ones in enumerate(self.unbounded)})

    def level_set(self, output: int | ArrayLike = 0, value: float = 0.0) -> Complex:
        """Where an output has a value; or a combination of outputs.

        Parameters
        ----------
        output : int or array_like
            An output, or the weights of all outputs.
        value : float

        Returns
        -------
        Complex
            Oriented as the boundary of the set where the function is less than the value.
        """
        from tropicell.analysis.cuts import cut  # noqa: PLC0415 - loaded when needed

        return cut(self, self._level(output, value), "zero")

    def sublevel_set(self, output: int | ArrayLike = 0, value: float = 0.0) -> Complex:
        """Where an output, or a combination of outputs, is at most some value."""
        from tropicell.analysis.cuts import cut  # noqa: PLC0415 - loaded when needed

        return cut(self, self._level(output, value), "below")

    def superlevel_set(self, output: int | ArrayLike = 0, value: float = 0.0) -> Complex:
        """Where an output, or a combination of outputs, is at least some value."""
        from tropicell.analysis.cuts import cut  # noqa: PLC0415 - loaded when needed

        return cut(self, self._level(output, value).negative(), "below")

    def cut(self, output: int | ArrayLike = 0, value: float = 0.0) -> Complex:
        """The same set, with all faces cut in two along a level set."""
        from tropicell.analysis.cuts import cut  # noqa: PLC0415 - loaded when needed

        return cut(self, self._level(output, value), "both")

    def _level(self, output: int | ArrayLike, value: float) -> CutFunction:
        weights = weights_of(output, self.regions.network.n_outputs)
        number = finite_value(value, "the value of a level set")
        if len(self.levels) >= _MOST_CUTS:
            raise InvalidInputError(f"a complex can be cut at most {_MOST_CUTS} times")
        return CutFunction(weights, number)

    def decision_region(self, label: int, *, threshold: float = 0.0) -> Complex:
        """Where an output is the largest; of a network with one output where it is on one side.

        Parameters
        ----------
        label : int
            The output; with one output 0 for values up to the threshold, 1 for values from it on.
        threshold : float
            Of a network with one output.
        """
        outputs = self.regions.network.n_outputs
        most = max(2, outputs)
        if not (is_whole(label) and 0 <= label < most):
            raise InvalidInputError(f"classes are 0 to {most - 1}, there is no {label!r}")
        if outputs == 1:
            return (self.superlevel_set if label else self.sublevel_set)(0, threshold)
        self._no_threshold(threshold)
        found = self
        for other in range(outputs):
            if other != label:
                found = found.superlevel_set(self._difference(int(label), other))
        return found

    def _no_threshold(self, threshold: float) -> None:
        if threshold != 0:
            raise InvalidInputError(
                "a threshold is for a network with one output: of several the largest one wins"
            )

    def _difference(self, first: int, second: int) -> FloatArray:
        weights = np.zeros(self.regions.network.n_outputs)
        weights[first], weights[second] = 1.0, -1.0
        return weights

    def decision_boundary(
        self, first: int | None = None, second: int | None = None, *, threshold: float = 0.0
    ) -> Complex:
        """Where two outputs are equal, and no other one is larger; or one class and any other.

        Parameters
        ----------
        first, second : int, optional
            Outputs. One of them alone: its boundary with all others, oriented as that of its
            decision region. Of two outputs none has to be named.
        threshold : float
            Of a network with one output: where that has this value.

        Examples
        --------
        >>> from tropicell import Box, Network, enumerate_regions
        >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]])
        >>> complex = enumerate_regions(network, Box(-1, 1)).complex()
        >>> complex.decision_boundary(0, 1)  # a quadrant where both are 0, and a diagonal
        Complex(5 vertices, 5 edges, 1 cell)
        >>> network = Network.mlp([[[1.0, 0.0]], [[1.0], [0.0], [-1.0]]], [[2.0], [-1.0, 0.0, 3.0]])
        >>> complex = enumerate_regions(network, Box(-1, 1)).complex()
        >>> complex.decision_boundary(0, 1), complex.decision_boundary(0, 2)
        (Complex(empty), Complex(2 vertices, 1 edge))
        >>> complex.decision_boundary(0)
        Complex(2 vertices, 1 edge)
        """
        outputs = self.regions.network.n_outputs
        if outputs == 1:
            return self.level_set(0, threshold)
        self._no_threshold(threshold)
        if first is None and second is None:
            if outputs > 2:
                raise InvalidInputError(
                    f"there are {outputs} outputs: say of which class the boundary is wanted, or "
                    "between which two"
                )
            first, second = 0, 1
        named = [k for k in (first, second) if k is not None]
        if len(set(named)) < len(named) or not all(is_whole(k) and 0 <= k < outputs for k in named):
            raise InvalidInputError(
                f"a decision boundary is that of one or between two of {outputs} outputs, not "
                f"{' and '.join(map(repr, named))}"
            )
        if len(named) == 1:
            return self._boundary_of(int(named[0]))
        one, other = map(int, named)
        found = self.level_set(self._difference(one, other))
        for third in range(outputs):
            if third not in named:
                found = found.superlevel_set(self._difference(one, third))
        return found

    def _boundary_of(self, label: int) -> Complex:
        """Where an output is the largest, together with another one."""
        from tropicell.analysis.cuts import ends_of  # noqa: PLC0415 - loaded when needed

        others = (k for k in range(self.regions.network.n_outputs) if k != label)
        levels = [CutFunction(self._difference(label, other), 0.0) for other in others]
        return ends_of(self.decision_region(label), levels)

    # --- topology -----------------------------------------------------------------------------

    def betti(self, *, unbounded: Unbounded = "truncate") -> tuple[int, ...]:
        """Betti numbers over the field with two elements, from dimension 0 on.

        Parameters
        ----------
        unbounded : {"truncate", "point", "open"}
            What becomes of unbounded faces. "truncate": the set as it is, whose unbounded faces end
            somewhere far out; "point": they all meet in one point at infinity; "open": they have no
            end (Borel and Moore's homology).

        Examples
        --------
        >>> from tropicell import Network, enumerate_regions
        >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
        >>> complex = enumerate_regions(network).complex()
        >>> [complex.betti(unbounded=way) for way in ("truncate", "point", "open")]
        [(1, 0, 0), (1, 0, 1), (0, 0, 1)]
        """
        from tropicell.analysis.topology import betti_numbers  # noqa: PLC0415 - loaded when needed

        return betti_numbers(self, unbounded=unbounded)

    def homology(self, *, unbounded: Unbounded = "truncate") -> Homology:
        """Homology over the integers, with torsion; see `tropicell.analysis.topology.homology`."""
        from tropicell.analysis.topology import homology  # noqa: PLC0415 - loaded when needed

        return homology(self, unbounded=unbounded)

    def components(self) -> NDArray[np.int64]:
        """For every vertex the connected component that it belongs to, numbered from 0.

        Examples
        --------
        >>> from tropicell import Box, Network, enumerate_regions
        >>> complex = enumerate_regions(Network.mlp([[[1.0]], [[1.0]]]), Box(-1, 1)).complex()
        >>> complex.select({0: [0, 1, 2]}).components(), complex.components()
        (array([0, 1, 2]), array([0, 0, 0]))
        """
        from tropicell.analysis.topology import components  # noqa: PLC0415 - loaded when needed

        return components(self)

    def persistence(self, output: int | ArrayLike = 0) -> Persistence:
        """How homology changes from one sublevel set of an output to the next.

        Parameters
        ----------
        output : int or array_like
            An output, or the weights of all outputs.

        Examples
        --------
        >>> from tropicell import Box, Network, enumerate_regions
        >>> network = Network.mlp([[[1.0], [-1.0], [1.0]], [[-1.0, -1.0, 2.0]]], [[0, 0, -1], [0]])
        >>> enumerate_regions(network, Box(-2, 3)).complex().persistence().pairs(0).tolist()
        [[-2.0, inf], [-1.0, 0.0]]
        """
        from tropicell.analysis.topology import persistence  # noqa: PLC0415 - loaded when needed

        return persistence(self, output)

    def persistence_of_cells(self, values: ArrayLike) -> Persistence:
        """How homology changes while cells come in: by any number that each of them has.

        See `tropicell.analysis.topology.persistence_of_cells`.

        Examples
        --------
        Cells on which a neuron is active come first:

        >>> from tropicell import Box, Network, enumerate_regions
        >>> network = Network.mlp([[[1.0], [1.0], [-1.0]], [[1.0] * 3]], [[0, -1, -1], [0]])
        >>> regions = enumerate_regions(network, Box(-2, 2))
        >>> outside = regions.patterns[:, 1] == regions.patterns[:, 2]
        >>> regions.complex().persistence_of_cells(outside).pairs(0).tolist()
        [[0.0, 1.0], [0.0, inf]]
        """
        from tropicell.analysis.topology import persistence_of_cells  # noqa: PLC0415

        return persistence_of_cells(self, values)


def complex_of(regions: Regions, *, workers: int = 1, progress: bool | None = None) -> Complex:
    """The complex of all regions: see `tropicell.Regions.complex`."""
    faces = all_faces(regions, workers=workers, progress=progress)
    carriers = [
        (np.full(len(sides.ends), k, np.int8), np.arange(len(sides.ends)))
        for k, sides in enumerate(faces.sides)
    ]
    on_levels = [np.zeros(len(sides.ends), np.uint64) for sides in faces.sides]
    return Complex(
        faces,
        faces.vertices,
        faces.radii,
        faces.sides,
        faces.unbounded,
        carriers,
        on_levels,
        faces.directions,
        faces.direction_errors,
    )
