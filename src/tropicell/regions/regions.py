"""`Regions`: what the engines find, as columns; a `Region` is a view of one row."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell._runtime.interruption import check
from tropicell._runtime.parts import check_workers, in_parts
from tropicell._runtime.progress import bar_of
from tropicell.errors import InvalidInputError
from tropicell.geometry.arithmetic import ArithmeticName
from tropicell.network.domains import Domain
from tropicell.network.inequalities import Lines, lines_of
from tropicell.network.maps import AffineMap
from tropicell.network.network import Network
from tropicell.network.patterns import PatternArray, PatternLike, to_texts
from tropicell.network.quotient import Quotient
from tropicell.regions import comfort
from tropicell.regions.columns import PackedPatterns, Ragged
from tropicell.regions.output_maps import packed_maps
from tropicell.regions.region import Region

if TYPE_CHECKING:
    from pathlib import Path

    import geopandas
    import networkx
    import pandas
    import polars
    import pyarrow

    from tropicell.analysis.complex import Complex
    from tropicell.analysis.graph import Merged, Neighbours
    from tropicell.analysis.meshes import PolygonMesh
    from tropicell.certificate.prover import Certificate
    from tropicell.explorer.page import Inline
    from tropicell.predict.locator import RegionFinder
    from tropicell.regions.stored.stored_regions import StoredRegions

#: Points that a thread takes at a time: at most, at least, and bytes of their patterns.
_POINTS, _LEAST_POINTS, _PATTERN_BYTES = 16_384, 256, 2**24

#: What a `RegionFinder` says where it can't tell.
_UNSURE = -2

#: The attribute that keeps a `RegionFinder`.
_FINDER = "_finder"

#: When a tree of tests pays, counted in products: what a point takes besides those with weights,
#: what a region takes while the tree is made, and what a product takes in rationals.
_PER_POINT, _PER_REGION, _EXACT_WEIGHT = 1_000, 20_000, 300


#: With more inputs, some of which are enough, no tree is made: it would have tests with all.
_FEW_INPUTS = 32


class Regions:
    """All regions that an engine found, as a handful of arrays.

    Attributes
    ----------
    network : Network
        With the slice's coordinates as inputs if the domain was a slice.
    domain : Domain
        In the network's coordinates.
    packed : PackedPatterns
        All patterns, a few bits a neuron.
    complete : bool
        Whether these are all; False if a budget or a signal ended the search.
    stats : mapping
        What the engine has to say: time, decisions, …; ``"engine"`` and ``"reason"``: which one it
        was, and why.
    certificate : Certificate or None
        What `certify` proved.
    quotient : Quotient
        Which inputs the search was in; see `reduced`.

    Parameters
    ----------
    bounded : ndarray of bool, optional
    volumes : ndarray, optional
        inf where unbounded.
    corners : Ragged, optional
        Vertices and rays of each region in homogeneous coordinates: the last one is 1 for a vertex
        and 0 for a ray.
    facet_lines : Ragged, optional
        The lines (see `tropicell.network.inequalities`) of each region's facets.

    Columns that the engine does not give are worked out when they are asked for: in float64 with
    bounds where that decides, else in rationals.

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
    >>> regions = enumerate_regions(network, Box(-1, 2))
    >>> regions
    Regions(4 of Network(2 → 2 → 1) on Box(-1.0, 2.0))
    >>> sorted(regions.texts()), len(regions.merged())
    (['00', '01', '10', '11'], 4)

    One of them:

    >>> index = regions.locate([[0.5, 0.5]])[0]
    >>> regions[index], float(regions.volumes[index]), len(regions.neighbours.of(index))
    (Region(11), 4.0, 2)
    >>> regions.affine_map(index).matrix
    array([[1., 1.]])

    All of them for other libraries, or on a page in a notebook:

    >>> len(regions.to_dataframe()), regions.to_networkx().number_of_edges()
    (4, 4)
    >>> regions.to_arrow().num_rows
    4
    >>> sum(polygon.area for polygon in regions.to_shapely())
    9.0
    >>> page = regions.explore(height=400)
    """

    def __init__(
        self,
        network: Network,
        domain: Domain,
        packed: PackedPatterns,
        witnesses: NDArray[Any] | None,
        *,
        complete: bool = True,
        stats: Mapping[str, Any] | None = None,
        bounded: NDArray[np.bool_] | None = None,
        volumes: FloatArray | None = None,
        corners: Ragged | None = None,
        facet_lines: Ragged | None = None,
    ) -> None:
        self.network = network
        self.domain = domain
        self.packed = packed
        self.complete = complete
        self.stats: dict[str, Any] = dict(stats or {})
        self.certificate: Certificate | None = None
        self.quotient = Quotient.trivial(network, domain)
        self._reduced: Regions | None = None
        given: dict[str, Any] = {
            "witnesses": witnesses,
            "bounded": bounded,
            "volumes": volumes,
            "corners": corners,
            "facet_lines": facet_lines,
        }
        vars(self).update({name: column for name, column in given.items() if column is not None})

    def known(self, column: str) -> Any:
        """A column if it is there: given by the engine, or worked out before; None if it is not.

        Examples
        --------
        >>> from tropicell import Network, enumerate_regions
        >>> regions = enumerate_regions(Network.mlp([[[1.0], [-1.0]], [[1.0, 2.0]]]))
        >>> regions.known("affine_maps") is None, len(regions.affine_maps)
        (True, 2)
        >>> len(regions.known("affine_maps"))
        2
        """
        return vars(self).get(column)

    # --- the space that matters ---------------------------------------------------------------

    @property
    def reduced(self) -> Regions:
        """The same regions, in the same order, in the inputs that are enough (or these regions).

        A network with 784 inputs and 8 neurons in its first layer has regions in R^784 that are the
        product of regions in R^8 with a linear space (see `quotient`). These are in memory; all
        that is asked of the others is worked out from them. Volumes, corners or pictures that make
        no sense in R^784 may do so here.

        Examples
        --------
        >>> from tropicell import Network, enumerate_regions
        >>> regions = enumerate_regions(Network.mlp([[[1.0, 2.0, 4.0]], [[1.0]]]))
        >>> regions
        Regions(2 of Network(3 → 1 → 1) on WholeSpace())
        >>> regions.reduced
        Regions(2 of Network(1 → 1 → 1) on WholeSpace())
        >>> regions.quotient.inputs, regions.stats["quotient"]
        (array([2]), 1)
        """
        return self if self._reduced is None else self._reduced

    def lifted(self, quotient: Quotient) -> Regions:
        """These regions of a quotient's network, as regions in all coordinates.

        Examples
        --------
        >>> from tropicell import Network, enumerate_regions
        >>> regions = enumerate_regions(Network.mlp([[[1.0, 2.0]], [[1.0]]]))
        >>> regions.reduced.lifted(regions.quotient)
        Regions(2 of Network(2 → 1 → 1) on WholeSpace())
        """
        if quotient.is_trivial:
            return self
        whole, around = quotient.whole, quotient.around
        found = Regions(whole, around, self.packed, None, complete=self.complete, stats=self.stats)
        found.quotient, found._reduced = quotient, self
        return found

    # --- one region, all regions --------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.packed)

    @overload
    def __getitem__(self, index: int | np.integer[Any]) -> Region: ...

    @overload
    def __getitem__(self, index: slice | Sequence[int] | NDArray[Any]) -> Regions: ...

    def __getitem__(self, index: Any) -> Region | Regions:
        """A view of one region; of a slice, a mask or row numbers these regions as `Regions`.

        A selection of fewer than all regions is not complete.

        Examples
        --------
        >>> from tropicell import Box, Network, enumerate_regions
        >>> network = Network.mlp([[[1.0], [2.0]], [[1.0, 1.0]]], [[0.0, 1.0], [0.0]])
        >>> regions = enumerate_regions(network, Box(-1, 1))
        >>> regions[0], len(regions[:2]), regions[:2].complete, regions[:].complete
        (Region(00), 2, False, True)
        >>> regions[regions.patterns[:, 0] == 1].texts(), regions[[2, 0]].texts()
        (['11'], ['11', '00'])
        """
        try:
            index = operator.index(index)
        except TypeError:
            return self._select(self._rows(index))
        if not -len(self) <= index < len(self):
            raise IndexError(f"there are {len(self)} regions, no number {index}")
        row = int(index) % len(self)
        return Region(
            self.network,
            self.packed[row],
            self.domain,
            hint=self.quotient.lift(self.reduced.witnesses[row]),
            neighbours=_NeighboursOf(self, row),
        )

    def _rows(self, chosen: Any) -> NDArray[np.intp]:
        """The numbers of chosen rows, each of which is there once."""
        every = np.arange(len(self))
        if not isinstance(chosen, slice):
            given = np.asarray(chosen)
            chosen = given if given.size else given.astype(np.intp)
            if chosen.dtype.kind not in "biu" or chosen.ndim != 1:
                raise InvalidInputError(
                    "regions are chosen by a number, a slice, a mask or a list of numbers, "
                    f"not by {given.dtype} of shape {given.shape}"
                )
            if chosen.dtype.kind == "b" and len(chosen) != len(self):
                raise InvalidInputError(
                    f"a mask has one value for each of {len(self)} regions, this one {len(chosen)}"
                )
            if chosen.dtype.kind != "b":
                outside = chosen[(chosen < -len(self)) | (chosen >= len(self))]
                if outside.size:
                    raise IndexError(f"there are {len(self)} regions, no number {outside[0]}")
        rows: NDArray[np.intp] = every[chosen]
        if len(np.unique(rows)) < len(rows):
            raise InvalidInputError("a region can be chosen once, and one is there several times")
        return rows

    def _select(self, rows: NDArray[np.intp]) -> Regions:
        if self._reduced is not None:
            return self._reduced._select(rows).lifted(self.quotient)
        columns = {name: self.known(name) for name in ("witnesses", "bounded", "volumes")}
        ragged = {name: self.known(name) for name in ("corners", "facet_lines")}
        chosen: dict[str, Any] = {
            name: None if column is None else column[rows] for name, column in columns.items()
        }
        for name, column in ragged.items():
            if column is not None:
                chosen[name] = column.take(rows)
        witnesses = chosen.pop("witnesses")
        complete = self.complete and len(rows) == len(self)
        return Regions(
            self.network,
            self.domain,
            self.packed.take(rows),
            witnesses,
            complete=complete,
            stats=self.stats,
            **chosen,
        )

    def __iter__(self) -> Iterator[Region]:
        return (self[i] for i in range(len(self)))

    @property
    def patterns(self) -> PatternArray:
        """All patterns, one byte a neuron, shape (regions, neurons)."""
        return self.packed.unpacked()

    def texts(self, start: int = 0, stop: int | None = None) -> list[str]:
        """All patterns as text, or those of some regions.

        Examples
        --------
        >>> from tropicell import Network, enumerate_regions
        >>> network = Network.mlp([[[1.0], [1.0]], [[1.0, 1.0]]], [[0.0, -1.0], [0.0]])
        >>> regions = enumerate_regions(network, engine="traverse")
        >>> regions.texts(), regions.texts(1, 2)
        (['00', '10', '11'], ['10'])
        """
        found: list[str] = []
        step = max(1, _PATTERN_BYTES // max(1, self.network.n_neurons))
        first, last, _ = slice(start, stop).indices(len(self))
        for at in range(first, last, step):
            check()
            found += to_texts(self.packed[at : min(at + step, last)], self.network.widths)
        return found

    @cached_property
    def lines(self) -> Lines:
        """What the numbers in `facet_lines` stand for."""
        return lines_of(self.network, self.domain)

    # --- where is it? -------------------------------------------------------------------------

    def find(self, pattern: PatternLike) -> int | None:
        """Index of the region of a pattern, or None.

        Examples
        --------
        >>> from tropicell import Network, enumerate_regions
        >>> regions = enumerate_regions(Network.mlp([[[1.0], [1.0]], [[1.0, 1.0]]], [[0, -1], [0]]))
        >>> regions[regions.find("10")], regions.find("01")
        (Region(10), None)
        """
        index = int(self.packed.find(self.network.parse_pattern(pattern)[None])[0])
        return index if index >= 0 else None

    def locate(
        self,
        points: ArrayLike,
        *,
        arithmetic: ArithmeticName = "float",
        workers: int = 1,
        progress: bool | None = None,
    ) -> NDArray[np.int64]:
        """Index of the region of each point (row); -1 if it is outside or was not found.

        A point with an infinite coordinate, or nan, lies in no region. One on a boundary belongs to
        the region of its pattern, if that is one, and else to a region that it is on the boundary
        of.

        Parameters
        ----------
        points : array_like, shape (points, inputs)
        arithmetic : {"float", "exact"}
            In float64, rounding may decide on which side of a boundary a point next to it lies.
        workers : int
            Number of threads.
        progress : bool, optional
            Show a progress bar if it takes longer than two seconds; default: if standard error is
            a terminal.

        Notes
        -----
        Few points are sent through the network. For many of them a tree of tests is built once and
        kept (see `tropicell.RegionLocator`); then a point takes about a tenth of a microsecond, and
        only those that lie next to a boundary are sent through the network.

        Examples
        --------
        >>> from tropicell import Box, Network, enumerate_regions
        >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
        >>> regions = enumerate_regions(network, Box(-1, 1))
        >>> [regions[i].text for i in regions.locate([[0.5, 0.5], [-0.5, 0.5]])]
        ['11', '01']
        >>> regions.locate([[3.0, 0.0], [float("nan"), 0.0]])
        array([-1, -1])
        """
        x = self.network.check_points(points)
        check_workers(workers)
        finder = self._finder_for(len(x), arithmetic)
        found = np.empty(len(x), dtype=np.int64)
        self.packed.table()  # before there are threads
        size = min(_POINTS, max(_LEAST_POINTS, _PATTERN_BYTES // max(1, self.network.n_neurons)))
        if finder is None and arithmetic != "float":
            size = _LEAST_POINTS  # each takes long, and the bar is to move

        def work(part: slice) -> None:
            if finder is None:
                found[part] = self.by_patterns(x[part], arithmetic=arithmetic)
            else:
                found[part] = finder.find(x[part])
                unsure = part.start + np.flatnonzero(found[part] == _UNSURE)
                if unsure.size:
                    found[unsure] = self.by_patterns(x[unsure], arithmetic=arithmetic)
            bar.update(part.stop - part.start)

        with bar_of(len(x), " points", progress) as bar:
            in_parts(work, len(x), workers, size)
        return found

    def by_patterns(self, x: FloatArray, *, arithmetic: ArithmeticName) -> NDArray[np.int64]:
        """`locate` by the network's patterns, all points at once.

        Examples
        --------
        >>> from tropicell import Box, Network, enumerate_regions
        >>> regions = enumerate_regions(Network.mlp([[[1.0]], [[1.0]]]), Box(-1, 1))
        >>> regions.by_patterns(np.array([[3.0], [float("nan")]]), arithmetic="float")
        array([-1, -1])
        """
        found = np.full(len(x), -1, dtype=np.int64)
        inside = np.flatnonzero(self.domain.contains(x))
        patterns = self.network.patterns(x[inside], arithmetic=arithmetic, progress=False)
        found[inside] = self.packed.find(patterns)
        lost = found[inside] < 0
        if lost.any():  # most of them are in regions that are not in the list
            sure = comfort.strictly_inside(self.network, x[inside][lost], patterns[lost])
            lost[lost] = ~sure
        for i in inside[lost]:
            check()
            found[i] = self._on_boundary(x[i])
        return found

    def _finder_for(self, count: int, arithmetic: ArithmeticName) -> RegionFinder | None:
        """What finds the regions of so many points faster than their patterns do, if anything."""
        finder: RegionFinder | None = vars(self).get(_FINDER)
        if finder is None and self._are_all_proved():
            weights = self.network.n_weights * (1 if arithmetic == "float" else _EXACT_WEIGHT)
            if count * (weights + _PER_POINT) > _PER_REGION * len(self):
                finder = vars(self)[_FINDER] = comfort.finder(self)
        return finder

    def _are_all_proved(self) -> bool:
        """Whether every point of the domain surely is in one of these regions."""
        exact = self.stats.get("arithmetic") == "exact"
        few = self.quotient.is_trivial or self.network.n_inputs <= _FEW_INPUTS
        return self.covers and len(self) > 0 and exact and few

    def __getstate__(self) -> dict[str, Any]:
        """All but what is quickly made anew."""
        return {name: value for name, value in vars(self).items() if name != _FINDER}

    def _on_boundary(self, point: FloatArray) -> int:
        """A region that contains a point between regions."""
        around = comfort.patterns_around(self.network, point, self.domain)
        found = (int(self.packed.find(pattern[None])[0]) for pattern in around)
        index = next((index for index in found if index >= 0), -1)
        if index >= 0 or self.covers:
            return index
        # none of the directions leads into a region that is here, but one may be there
        return self.packed.first_between(*self.network.maps("exact").pieces_at(point))

    # --- columns that are worked out when asked for -------------------------------------------

    @cached_property
    def witnesses(self) -> NDArray[Any]:
        """A point strictly inside each region, shape (regions, inputs)."""
        return self.quotient.lift(self.reduced.witnesses)

    @cached_property
    def bounded(self) -> NDArray[np.bool_]:
        """Whether each region is bounded, by its recession cone."""
        return comfort.bounded(self)

    @cached_property
    def corners(self) -> Ragged:
        """Vertices (last coordinate 1) and rays (0) of each region; lines as two opposite rays."""
        return comfort.corners(self)

    @cached_property
    def facet_lines(self) -> Ragged:
        """The lines of each region's facets; see `lines`."""
        return comfort.facet_lines(self)

    @cached_property
    def volumes(self) -> FloatArray:
        """Length, area or volume of each region, inf where unbounded."""
        return comfort.volumes(self)

    @cached_property
    def affine_maps(self) -> FloatArray:
        """The maps of all regions, shape (regions, outputs, inputs + 1), offsets last."""
        return packed_maps(self.network, self.packed, progress=None)

    def prepare(
        self,
        columns: Iterable[str] = ("affine_maps", "volumes"),
        *,
        workers: int = 1,
        progress: bool | None = None,
    ) -> Regions:
        """Work out columns now, in several threads, and keep them.

        They are the same, bit for bit, whatever the number of threads; columns that are there
        already stay.

        Parameters
        ----------
        columns : iterable of {"affine_maps", "volumes", "neighbours", "facet_lines"}
        workers : int
            Number of threads.
        progress : bool, optional
            Show a progress bar if it takes longer than two seconds; default: if standard error is
            a terminal.

        Returns
        -------
        Regions
            These.

        Examples
        --------
        >>> from tropicell import Network, enumerate_regions
        >>> network = Network.mlp([[[1.0], [-1.0]], [[1.0, 2.0]]])
        >>> enumerate_regions(network).prepare(workers=4).affine_maps.ravel()
        array([-2.,  0.,  1.,  0.])
        """
        ways: dict[str, Callable[[], Any]] = {
            "affine_maps": lambda: packed_maps(
                self.network, self.packed, workers=workers, progress=progress
            ),
            "volumes": lambda: comfort.volumes(self, workers=workers, progress=progress),
            "facet_lines": lambda: comfort.facet_lines(self, workers=workers, progress=progress),
            "neighbours": lambda: comfort.neighbours(self, workers=workers, progress=progress),
        }
        for name in columns:
            if name not in ways:
                raise InvalidInputError(f"columns are among {', '.join(ways)}, not {name!r}")
            if self.known(name) is None:
                vars(self)[name] = ways[name]()
        return self

    def affine_map(self, index: int) -> AffineMap:
        """The map of one region in float64: that of `affine_maps`, if these are worked out."""
        if self.known("affine_maps") is not None:
            columns = self.affine_maps[index]
        else:
            columns = self.network.maps("float").of_pattern(self.packed[index])
        return AffineMap(columns[:, :-1], columns[:, -1])

    @cached_property
    def neighbours(self) -> Neighbours:
        """Pairs of regions that share a facet, with the neurons that change across it."""
        return comfort.neighbours(self)

    def merged(self, *, workers: int = 1, progress: bool | None = None) -> Merged:
        """Maximal connected unions of regions with one and the same output map.

        Parameters
        ----------
        workers : int
            Number of threads.
        progress : bool, optional
            Show a progress bar if it takes longer than two seconds; default: if standard error is
            a terminal.
        """
        return comfort.merge(self, workers=workers, progress=progress)

    def to_mesh(self, *, workers: int = 1, progress: bool | None = None) -> PolygonMesh:
        """The regions of a network with two inputs as polygons with shared vertices, for files.

        See Also
        --------
        Complex.to_mesh, tropicell.surface_mesh : level sets and decision boundaries in space.

        Examples
        --------
        >>> from tropicell import Box, Network, enumerate_regions
        >>> network = Network.mlp([[[1.0, 1.0], [1.0, -1.0]], [[1.0, 1.0]]])
        >>> enumerate_regions(network, Box(-1, 1)).to_mesh()
        PolygonMesh(5 vertices, 4 polygons in the plane)
        """
        return self.complex(workers=workers, progress=progress).to_mesh()

    def complex(self, *, workers: int = 1, progress: bool | None = None) -> Complex:
        """All faces of all regions, vertices, edges and so on, with their incidences.

        Parameters
        ----------
        workers : int
            Number of threads; the complex does not depend on it.
        progress : bool, optional
            Show a progress bar if it takes longer than two seconds; default: if standard error is a
            terminal.

        Returns
        -------
        Complex
            Its cells are these regions, in their order. Sub-complexes (level sets, decision
            boundaries, …) and topology are its methods.

        Notes
        -----
        Which faces are the same is decided by the boundaries that they lie on, exactly, not by
        coordinates: see docs/exactness.md, "Faces".

        Examples
        --------
        >>> from tropicell import Box, Network, enumerate_regions
        >>> network = Network.mlp([[[1.0, 1.0], [1.0, -1.0]], [[1.0, 1.0]]])
        >>> complex = enumerate_regions(network, Box(-1, 1)).complex()
        >>> complex
        Complex(5 vertices, 8 edges, 4 cells)
        >>> complex.sublevel_set(0, 0.5).betti()
        (1, 0, 0)
        """
        return comfort.make_complex(self, workers=workers, progress=progress)

    def certify(
        self, *, volumes: bool = False, workers: int = 1, progress: bool | None = None
    ) -> Certificate:
        """Prove, in exact arithmetic, that these are regions, all different, and complete.

        Parameters
        ----------
        volumes : bool
            Prove completeness a second time, by exact volumes (bounded domains of up to 3-D).
        workers : int
            Number of threads.
        progress : bool, optional
            Show a progress bar; default: if standard error is a terminal.

        Returns
        -------
        Certificate
            Also kept as ``certificate``.

        Examples
        --------
        >>> from tropicell import Network, enumerate_regions
        >>> enumerate_regions(Network.mlp([[[1.0]], [[1.0]]])).certify().ok
        True
        """
        return comfort.certify(self, volumes=volumes, workers=workers, progress=progress)

    # --- other forms --------------------------------------------------------------------------

    def after_layer(self, layer: int) -> Regions:
        """The coarser subdivision by the first layers alone.

        Examples
        --------
        >>> from tropicell import Network, enumerate_regions
        >>> network = Network.mlp([[[1.0]], [[1.0]], [[1.0]]], [[0.0], [-1.0], [0.0]])
        >>> regions = enumerate_regions(network)
        >>> len(regions), len(regions.after_layer(1))
        (3, 2)
        """
        if not 0 <= layer <= self.network.depth:
            raise InvalidInputError(
                f"layer must be from 0 to {self.network.depth}, the network's depth, not {layer}"
            )
        if not self.quotient.is_trivial:
            network = self.network.first_layers(layer)
            quotient = Quotient(network, self.domain, self.quotient.inputs)
            return self.reduced.after_layer(layer).lifted(quotient)
        network = self.network.first_layers(layer)
        prefixes = self.packed.first_neurons(sum(self.network.widths[:layer]))
        first = prefixes.groups()[0]
        first = first[prefixes.take(first).sorted()]
        packed = prefixes.take(first).with_bits(PackedPatterns.bits_for(network.pieces))
        # that these are not all, and that they are proved, holds for their prefixes, too
        kept = ("where", "arithmetic")
        stats: dict[str, Any] = {key: self.stats[key] for key in kept if key in self.stats}
        witnesses, complete = self.witnesses[first], self.complete
        return Regions(network, self.domain, packed, witnesses, complete=complete, stats=stats)

    def to_networkx(self, *, workers: int = 1, progress: bool | None = None) -> networkx.Graph:
        """The region graph: nodes are indices of regions, edges carry the neurons that change.

        Parameters
        ----------
        workers : int
            Number of threads for the neighbours, if these are not known yet.
        progress : bool, optional
            Show a progress bar if it takes longer than two seconds; default: if standard error is
            a terminal.
        """
        from tropicell.regions.convert import to_networkx  # noqa: PLC0415 - optional dependency

        return to_networkx(self, workers=workers, progress=progress)

    def to_dataframe(self, *, workers: int = 1, progress: bool | None = None) -> pandas.DataFrame:
        """One row a region: pattern, bounded, volume, facets, witness and affine map.

        Columns that are not known yet are worked out by so many threads, see `prepare`.
        """
        from tropicell.regions.convert import to_dataframe  # noqa: PLC0415

        return to_dataframe(self, workers=workers, progress=progress)

    def to_arrow(self, *, workers: int = 1, progress: bool | None = None) -> pyarrow.Table:
        """The table of `to_dataframe` for Arrow, with corners and facets as lists.

        Columns that are not known yet are worked out by so many threads, see `prepare`.
        """
        from tropicell.regions.convert import to_arrow  # noqa: PLC0415

        return to_arrow(self, workers=workers, progress=progress)

    def to_polars(self, *, workers: int = 1, progress: bool | None = None) -> polars.DataFrame:
        """The table of `to_arrow` as a polars data frame.

        Examples
        --------
        >>> from tropicell import Box, Network, enumerate_regions
        >>> enumerate_regions(Network.mlp([[[1.0]], [[1.0]]]), Box(-1, 1)).to_polars().height
        2
        """
        from tropicell.regions.convert import to_polars  # noqa: PLC0415

        return to_polars(self, workers=workers, progress=progress)

    def to_geopandas(
        self, *, workers: int = 1, progress: bool | None = None
    ) -> geopandas.GeoDataFrame:
        """The table of `to_dataframe` with the polygons of `to_shapely` as its geometry.

        Examples
        --------
        >>> from tropicell import Box, Network, enumerate_regions
        >>> network = Network.mlp([[[1.0, 0.0]], [[1.0]]])
        >>> enumerate_regions(network, Box(-1, 1)).to_geopandas().area.sum()
        np.float64(4.0)
        """
        from tropicell.regions.convert import to_geopandas  # noqa: PLC0415

        return to_geopandas(self, workers=workers, progress=progress)

    def to_shapely(self) -> list[Any]:
        """The regions of a 2-D network on a bounded domain as shapely polygons."""
        from tropicell.regions.convert import to_shapely  # noqa: PLC0415

        return to_shapely(self)

    def explore(
        self, *, points: ArrayLike | None = None, height: int = 640, **options: Any
    ) -> Inline:
        """The explorer in a notebook; `tropicell.explore` writes it to a file.

        Parameters
        ----------
        points : array_like, shape (points, inputs), optional
            Data points that are drawn on top.
        height : int
            Height of the frame in pixels.
        **options
            More options of `tropicell.explore`.
        """
        return comfort.inline_page(self, points=points, height=height, **options)

    @staticmethod
    def open(path: str | os.PathLike[str]) -> StoredRegions:
        """The regions in a folder that ``enumerate_regions(…, out=folder)`` wrote, left there.

        Examples
        --------
        >>> import tempfile
        >>> from tropicell import Network, enumerate_regions
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = enumerate_regions(Network.mlp([[[1.0]], [[1.0]]]), out=folder)
        ...     len(Regions.open(folder))
        2
        """
        return comfort.open_folder(path)

    def save(self, path: str | Path) -> None:
        """Write network, domain and all columns that there are to one file; see `load_regions`.

        Examples
        --------
        >>> import tempfile
        >>> from tropicell import Network, enumerate_regions, load_regions
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     enumerate_regions(Network.mlp([[[1.0]], [[1.0]]])).save(folder + "/regions.npz")
        ...     len(load_regions(folder + "/regions.npz"))
        2
        """
        comfort.save(self, path)

    @property
    def covers(self) -> bool:
        """Whether these are all regions of the domain: complete, and found without ``where``.

        Examples
        --------
        >>> from tropicell import Box, Level, Network, enumerate_regions
        >>> network = Network.mlp([[[1.0], [1.0]], [[1.0, 1.0]]], [[0.0, -1.0], [0.0]])
        >>> enumerate_regions(network, Box(-2, 2)).covers
        True
        >>> some = enumerate_regions(network, Box(-2, 2), where=Level(2.0))
        >>> some.complete, some.covers
        (True, False)
        """
        return self.complete and "where" not in self.stats

    @property
    def nbytes(self) -> int:
        """Memory of the columns in bytes."""
        columns = [*vars(self).values(), *vars(self.reduced).values()]
        seen = {
            id(c): c.nbytes for c in columns if isinstance(c, (np.ndarray, Ragged, PackedPatterns))
        }
        return sum(seen.values())

    def __repr__(self) -> str:
        least = "" if self.complete else "at least "
        return f"Regions({least}{len(self)} of {self.network!r} on {self.domain!r})"

    def _repr_html_(self) -> str:
        from tropicell.regions.convert import to_html  # noqa: PLC0415

        return to_html(self)


class _NeighboursOf:
    """The neighbours of one region, worked out when asked for, with those of all others.

    A region that is pickled does not take all regions along: only the numbers of its neighbours,
    and those only if they are known.
    """

    def __init__(self, regions: Regions, row: int) -> None:
        self.regions, self.row = regions, row

    def __call__(self) -> list[int]:
        found: list[int] = self.regions.neighbours.of(self.row).tolist()
        return found

    def __deepcopy__(self, memo: object) -> _NeighboursOf:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _known_neighbours, (None if self.regions.known("neighbours") is None else self(),)


def _known_neighbours(found: list[int] | None) -> Callable[[], list[int]] | None:
    return None if found is None else partial(list, found)
