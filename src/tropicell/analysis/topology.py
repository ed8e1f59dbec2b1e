"""Homology of complexes: components, Betti numbers, torsion, critical points, persistence.

Nearly all cells of a complex go in pairs that do not matter (discrete Morse theory, by
coreductions: `_reduction`). What is left, a handful of critical cells, goes into exact linear
algebra over the integers or over the field with two elements.

References
----------
.. [1] M. Mrozek and B. Batko, "Coreduction homology algorithm", 2009.
.. [2] S. Harker, K. Mischaikow, M. Mrozek and V. Nanda, "Discrete Morse theoretic algorithms for
   computing homology of complexes and maps", 2014.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from flint import fmpz_mat, nmod_mat
from numpy.typing import ArrayLike, NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell._runtime.interruption import check
from tropicell.analysis.cut_functions import CutFunction, ExactRows
from tropicell.analysis.cuts import LevelSigns, constant_values, level_signs
from tropicell.errors import InternalError, InvalidInputError
from tropicell.geometry.arithmetic import to_floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tropicell.analysis.complex import Complex

#: What happens at infinity, where faces are unbounded.
Unbounded = Literal["truncate", "point", "open"]

#: What values of persistent homology may be wrong by, relatively.
_DIGITS = 1e-9

#: Critical cells in a boundary to begin with.
_ROOM = 1024


def check_unbounded(unbounded: str) -> None:
    """Refuse what is not a way to treat unbounded faces.

    Examples
    --------
    >>> check_unbounded("no")
    Traceback (most recent call last):
    tropicell.errors.InvalidInputError: unbounded must be 'truncate', 'point' or 'open', not 'no'
    """
    if unbounded not in get_args(Unbounded):
        raise InvalidInputError(
            f"unbounded must be 'truncate', 'point' or 'open', not {unbounded!r}"
        )


# --- chains ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Chains:
    """The cells of all dimensions, numbered together, and their boundaries.

    Attributes
    ----------
    starts : ndarray
        Where the cells of each dimension begin, and the end.
    ends, faces, signs : ndarray
        The faces of each cell.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    faces: NDArray[np.int64]
    signs: NDArray[np.int8]

    @property
    def dims(self) -> NDArray[np.int8]:
        """The dimension of each cell."""
        return np.repeat(np.arange(len(self.starts) - 1, dtype=np.int8), np.diff(self.starts))

    def cofaces(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """For each cell those that it is a face of: where they end, and which these are."""
        count = len(self.ends)
        owner = np.repeat(np.arange(count), np.diff(self.ends, prepend=0))
        order = np.argsort(self.faces, kind="stable")
        return np.cumsum(np.bincount(self.faces, minlength=count)), owner[order]


def _chains(complex_: Complex, unbounded: Unbounded) -> _Chains:
    """The cells of a complex.

    "truncate": only those that are bounded, to which the others can be drawn back. "point": one
    vertex more, where all unbounded edges end. "open": all, as they are.
    """
    check_unbounded(unbounded)
    if unbounded == "truncate" and any(open_ones.any() for open_ones in complex_.unbounded):
        complex_ = complex_.bounded_part()
    sides = list(complex_.sides)
    counts = [len(own.ends) for own in sides]
    open_edges = len(sides) > 1 and bool(complex_.unbounded[1].any())
    if unbounded == "point" and open_edges:
        sides[1] = complex_._closed_edges()
        sides[0] = sides[0]._replace(ends=np.zeros(counts[0] + 1, np.int64))
        counts[0] += 1
    starts = np.concatenate([[0], np.cumsum(counts)])
    ends = [own.ends + sum(len(o.faces) for o in sides[:k]) for k, own in enumerate(sides)]
    faces = [own.faces + starts[max(k - 1, 0)] for k, own in enumerate(sides)]
    return _Chains(
        starts,
        np.concatenate(ends),
        np.concatenate(faces),
        np.concatenate([own.signs for own in sides]),
    )


class _Morse:
    """Critical cells, and their boundaries in terms of one another.

    Parameters
    ----------
    chains : _Chains
    order, starts : ndarray, optional
        Groups of cells that are matched among themselves; default: all cells.
    """

    def __init__(
        self,
        chains: _Chains,
        order: NDArray[np.int64] | None = None,
        starts: NDArray[np.int64] | None = None,
    ) -> None:
        from tropicell.analysis import _reduction as kernels  # noqa: PLC0415 - imports Numba

        count = len(chains.ends)
        if order is None or starts is None:
            order, starts = np.arange(count), np.array([0, count])
        group = np.empty(count, np.int64)
        group[order] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        status = np.zeros(count, np.int8)
        partner, when = np.full(count, -1, np.int64), np.zeros(count, np.int64)
        self._state = status, partner, when
        room = (
            np.zeros(count, np.int64),
            np.zeros(count, np.bool_),
            np.empty(2 * count + 2, np.int64),
        )
        check()
        faces = chains.ends, chains.faces
        kernels.match(starts, order, group, faces, chains.cofaces(), self._state, room)
        check()
        self._chains = chains
        critical = np.flatnonzero(status == kernels.CRITICAL)
        #: Critical cells in the order in which they were found.
        self.cells = critical[np.argsort(when[critical], kind="stable")]
        self.dims = chains.dims[self.cells]
        cell_at = np.empty(count, np.int64)
        cell_at[when] = np.arange(count)
        self._cell_at = cell_at
        self._room = (
            np.zeros(count, np.int64),
            np.zeros(count, np.bool_),
            np.empty(count + 1, np.int64),
        )
        self._found = np.empty(_ROOM, np.int64), np.empty(_ROOM, np.int64)

    def boundary(self, cell: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Critical cells in the boundary of a critical one, and their factors."""
        from tropicell.analysis import _reduction as kernels  # noqa: PLC0415 - imports Numba

        chains = self._chains
        faces = chains.ends, chains.faces, chains.signs
        while True:
            n = kernels.trace(cell, faces, self._state, self._cell_at, self._room, self._found)
            if n >= 0:
                return self._found[0][:n].copy(), self._found[1][:n].copy()
            size = 2 * len(self._found[0])
            if size > 4 * len(chains.ends) + 4 * _ROOM:
                raise InternalError("numbers of the reduced complex became too large")
            self._found = np.empty(size, np.int64), np.empty(size, np.int64)

    @cached_property
    def matrices(self) -> list[list[dict[int, int]]]:
        """For each dimension the boundaries of its critical cells, by their places."""
        top = len(self._chains.starts) - 1
        place: dict[int, int] = {}
        for k in range(top):
            place |= {int(c): i for i, c in enumerate(self.cells[self.dims == k])}
        found = []
        for k in range(top):
            columns = []
            for cell in self.cells[self.dims == k].tolist():
                check()
                cells, factors = self.boundary(cell) if k else (np.empty(0, int),) * 2
                columns.append(
                    {place[c]: f for c, f in zip(cells.tolist(), factors.tolist(), strict=True)}
                )
            found.append(columns)
        return found


def _rank_modulo_2(columns: list[dict[int, int]], rows: int) -> int:
    """The rank of a matrix modulo 2."""
    kept = [[i for i, f in column.items() if f % 2] for column in columns]
    kept = [column for column in kept if column]
    if not (kept and rows):
        return 0
    used = {row: i for i, row in enumerate(sorted({r for column in kept for r in column}))}
    matrix = nmod_mat(len(kept), len(used), 2)
    for i, column in enumerate(kept):
        for row in column:
            matrix[i, used[row]] = 1
    return int(matrix.rank())


def betti_numbers(complex_: Complex, *, unbounded: Unbounded = "truncate") -> tuple[int, ...]:
    """Betti numbers over the field with two elements: see `tropicell.analysis.Complex.betti`."""
    chains = _chains(complex_, unbounded)
    top = max(len(complex_.sides), 1)
    if not len(chains.ends):
        return (0,) * top
    morse = _Morse(chains)
    matrices = morse.matrices
    counts = [len(columns) for columns in matrices]
    ranks = [0, *(_rank_modulo_2(matrices[k], counts[k - 1]) for k in range(1, len(counts))), 0]
    found = [n - ranks[k] - ranks[k + 1] for k, n in enumerate(counts)]
    return tuple(found + [0] * (top - len(found)))


@dataclass(frozen=True)
class Homology:
    """Homology groups over the integers.

    Attributes
    ----------
    ranks : tuple of int
        The rank of each group, from dimension 0 on.
    torsion : tuple of tuple of int
        Orders of its cyclic parts, each dividing the next.

    Examples
    --------
    >>> print(Homology((1, 2), ((), (2,))))
    Z, Z^2 + Z/2
    """

    ranks: tuple[int, ...]
    torsion: tuple[tuple[int, ...], ...]

    def __str__(self) -> str:
        names = []
        for rank, orders in zip(self.ranks, self.torsion, strict=True):
            parts = [] if not rank else ["Z" if rank == 1 else f"Z^{rank}"]
            parts += [f"Z/{order}" for order in orders]
            names.append(" + ".join(parts) or "0")
        return ", ".join(names)


def homology(complex_: Complex, *, unbounded: Unbounded = "truncate") -> Homology:
    """Homology over the integers, with torsion.

    Parameters
    ----------
    complex_ : Complex
    unbounded : {"truncate", "point", "open"}
        As for `Complex.betti`.

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> network = Network.mlp([[[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]], [[1.0] * 4]])
    >>> complex = enumerate_regions(network, Box(-2, 2)).complex()
    >>> print(homology(complex.level_set(0, 1.0)))
    Z, Z
    """
    chains = _chains(complex_, unbounded)
    top = max(len(complex_.sides), 1)
    if not len(chains.ends):
        return Homology((0,) * top, ((),) * top)
    matrices = _Morse(chains).matrices
    counts = [len(columns) for columns in matrices]
    factors: list[tuple[int, ...]] = [()]
    for k in range(1, len(counts)):
        factors.append(_invariant_factors(matrices[k], counts[k - 1]))
    factors.append(())
    ranks = [n - len(factors[k]) - len(factors[k + 1]) for k, n in enumerate(counts)]
    torsion = [tuple(f for f in factors[k + 1] if f > 1) for k in range(len(counts))]
    missing = top - len(ranks)
    return Homology(tuple(ranks + [0] * missing), tuple(torsion + [()] * missing))


def _invariant_factors(columns: list[dict[int, int]], rows: int) -> tuple[int, ...]:
    """The invariant factors of a matrix that are not 0."""
    kept = [column for column in columns if column]
    if not (kept and rows):
        return ()
    used = {row: i for i, row in enumerate(sorted({r for column in kept for r in column}))}
    matrix = fmpz_mat(len(kept), len(used))
    for i, column in enumerate(kept):
        for row, factor in column.items():
            matrix[i, used[row]] = factor
    form = matrix.snf()
    diagonal = (abs(int(form[i, i])) for i in range(min(form.nrows(), form.ncols())))
    return tuple(f for f in diagonal if f)


def components(complex_: Complex) -> NDArray[np.int64]:
    """For every vertex its connected component: see `tropicell.analysis.Complex.components`."""
    from tropicell.analysis import _reduction as kernels  # noqa: PLC0415 - imports Numba

    parent = np.arange(len(complex_.vertices))
    if len(complex_.sides) > 1 and len(parent):
        kernels.join_edges(complex_.sides[1].ends, complex_.sides[1].faces, parent)
        while (parent[parent] != parent).any():
            parent = parent[parent]
    return np.unique(parent, return_inverse=True)[1].astype(np.int64)


# --- persistence ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Persistence:
    """How the homology of sublevel sets changes from one to the next.

    A class of dimension k is born where the sublevel set gets a new component, hole or void, and
    dies where that is filled or joined to an older one.

    Attributes
    ----------
    dims : ndarray of int8
        The dimension of each class.
    births, deaths : ndarray
        Values at which it is there, and no more; a class that stays has the death inf, and one
        that always was there (the function has no lower bound) the birth -inf.
    birth_vertices, death_vertices : ndarray of int64
        Vertices where that happens: the critical points of the function; -1 at infinity.
    dimension : int
        The largest dimension that a class can have.

    Examples
    --------
    A function with a high plateau around a basin:

    >>> from tropicell import Box, Network, enumerate_regions
    >>> network = Network.mlp([[[1.0], [-1.0], [1.0]], [[-1.0, -1.0, 2.0]]], [[0, 0, -1], [0]])
    >>> found = enumerate_regions(network, Box(-2, 3)).complex().persistence()
    >>> found.pairs(0).tolist(), found.betti_curve(0, [-3, -1.5, -0.5, 5]).tolist()
    ([[-2.0, inf], [-1.0, 0.0]], [0, 1, 2, 1])
    >>> len(found.critical_points())  # two minima, and the maximum between them
    3
    >>> found.plot().get_xlabel(), found.plot_betti_curves().get_xlabel()
    ('birth', 'value')
    """

    dims: NDArray[np.int8]
    births: FloatArray
    deaths: FloatArray
    birth_vertices: NDArray[np.int64]
    death_vertices: NDArray[np.int64]
    dimension: int

    def __len__(self) -> int:
        return len(self.dims)

    def pairs(self, k: int) -> FloatArray:
        """Births and deaths of the classes of dimension k, shape (classes, 2)."""
        mine = self.dims == k
        found = np.stack([self.births[mine], self.deaths[mine]], axis=1)
        return found[np.lexsort((found[:, 1], found[:, 0]))]

    def betti_curve(self, k: int, values: ArrayLike) -> NDArray[np.int64]:
        """The Betti numbers of dimension k of the sublevel sets at some values."""
        at = np.atleast_1d(np.asarray(values, dtype=np.float64))
        found = self.pairs(k)
        born = np.searchsorted(np.sort(found[:, 0]), at, side="right")
        return np.asarray(born - np.searchsorted(np.sort(found[:, 1]), at, side="right"))

    def critical_points(self) -> NDArray[np.int64]:
        """Vertices where homology changes and their indices, shape (points, 2), sorted.

        The index is 0 for a minimum; for two inputs 1 for a saddle and 2 for a maximum. A vertex
        may be there several times. Of vertices with exactly the same value those with the smaller
        numbers come first, and classes that die at the value where they were born are left out.
        """
        born = np.stack([self.birth_vertices, self.dims], axis=1)
        dead = np.stack([self.death_vertices, self.dims + 1], axis=1)[np.isfinite(self.deaths)]
        found = np.concatenate([born, dead]).astype(np.int64)
        found = found[found[:, 0] >= 0]
        return found[np.lexsort((found[:, 1], found[:, 0]))]

    def plot(self, ax: Axes | None = None) -> Axes:
        """The persistence diagram: a point for every class, its birth and its death."""
        import matplotlib.pyplot as plt  # noqa: PLC0415 - an extra

        if ax is None:
            ax = plt.figure(figsize=(4.6, 4.4), layout="constrained").add_subplot()
        finite = np.concatenate([self.births, self.deaths])
        finite = finite[np.isfinite(finite)]
        low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
        space = 0.08 * (high - low or 1.0)
        top = high + 2 * space
        ax.plot([low - space, top], [low - space, top], color="0.6", linewidth=0.8)
        ax.axhline(top, color="0.6", linewidth=0.8, linestyle=":")
        ax.annotate("∞", (low - space, top), textcoords="offset points", xytext=(3, 3), color="0.4")
        for k in range(self.dimension + 1):
            found = self.pairs(k)
            if not len(found):
                continue
            found = np.clip(np.where(np.isinf(found) & (found > 0), top, found), low - space, None)
            label = ("components", "loops", "voids")[k] if k < 3 else f"dimension {k}"
            ax.scatter(found[:, 0], found[:, 1], s=22, alpha=0.75, label=label, linewidth=0)
        ax.set_xlabel("birth")
        ax.set_ylabel("death")
        ax.set_xlim(low - space, top)
        ax.set_ylim(low - space, top + space)
        if len(self):
            ax.legend(loc="lower right", frameon=False)
        return ax

    def plot_betti_curves(self, ax: Axes | None = None) -> Axes:
        """The Betti numbers of all sublevel sets."""
        import matplotlib.pyplot as plt  # noqa: PLC0415 - an extra

        if ax is None:
            ax = plt.figure(figsize=(5.2, 3.4), layout="constrained").add_subplot()
        finite = np.concatenate([self.births, self.deaths])
        at = np.unique(finite[np.isfinite(finite)])
        if not len(at):
            at = np.array([0.0])
        space = 0.05 * (at[-1] - at[0] or 1.0)
        at = np.concatenate([[at[0] - space], at, [at[-1] + space]])
        for k in range(self.dimension + 1):
            curve = self.betti_curve(k, at)
            if curve.any():
                ax.step(at, curve, where="post", label=f"$b_{k}$", linewidth=1.4)
        ax.set_xlabel("value")
        ax.set_ylabel("Betti number")
        if len(self):
            ax.legend(frameon=False)
        return ax


def persistence(complex_: Complex, output: int | ArrayLike = 0) -> Persistence:
    """Persistent homology of the sublevel sets of an output, over the field with two elements.

    Parameters
    ----------
    complex_ : Complex
    output : int or array_like
        An output, or the weights of all outputs.

    Returns
    -------
    Persistence

    Notes
    -----
    On a complex on whose faces the function is affine, sublevel sets change at vertices alone, by
    their *lower stars*: faces whose largest vertex they are. Unbounded faces end far out, in faces
    at infinity where the function is infinite, or what it is along their edges. The order of the
    values is exact; births and deaths have at least nine digits, where float64 has fewer by
    rationals.
    """
    level = complex_._level(output, 0.0)
    at = level_signs(complex_, level, sharp=True)
    chains, values, vertex_of = _closed_chains(complex_, at)
    n = int(chains.starts[1])
    top = max(len(complex_.sides) - 1, 0)
    none = np.empty(0, np.int64)
    if not n:
        return Persistence(none.astype(np.int8), np.empty(0), np.empty(0), none, none, top)
    classes = _exact_classes(complex_, level, at, values, vertex_of)
    order = np.lexsort((np.arange(n), classes))
    rank = np.empty(len(chains.ends), np.int64)
    rank[order] = np.arange(n)
    for k in range(1, len(chains.starts) - 1):
        first, last = int(chains.starts[k]), int(chains.starts[k + 1])
        if first == last:
            continue
        ends = chains.ends[first:last]
        begin = int(chains.ends[first - 1])
        starts = np.concatenate([[0], ends[:-1] - begin])
        rank[first:last] = np.maximum.reduceat(rank[chains.faces[begin : ends[-1]]], starts)
    cells = np.argsort(rank, kind="stable")  # by dimension within a lower star
    groups = np.searchsorted(rank[cells], np.arange(n + 1))
    morse = _Morse(chains, cells, groups)
    found = _pairs(morse)
    vertex = order[rank[morse.cells]]  # where each critical cell comes in
    values = _sharpened(complex_, level, at, values, np.unique(vertex), vertex_of)
    rows = []
    for birth, death in found:
        a, b = int(vertex[birth]), int(vertex[death]) if death >= 0 else -1
        born, dead = float(values[a]), float(values[b]) if death >= 0 else np.inf
        if (death >= 0 and classes[a] == classes[b]) or born == np.inf:
            continue
        first, last = int(vertex_of[a]), int(vertex_of[b]) if np.isfinite(dead) else -1
        rows.append((int(morse.dims[birth]), born, dead, first, last))
    return _as_persistence(rows, top)


def persistence_of_cells(complex_: Complex, values: ArrayLike) -> Persistence:
    """How homology changes while cells come in, one value after the other.

    Parameters
    ----------
    complex_ : Complex
    values : array_like
        A number for each cell (face of the largest dimension): when it comes, with all its faces.
        Those with inf never come.

    Returns
    -------
    Persistence
        Over the field with two elements; without vertices, since it is cells that change homology.

    Examples
    --------
    Cells by their distances to data:

    >>> from tropicell import Box, Network, enumerate_regions
    >>> network = Network.mlp([[[1.0], [1.0]], [[1.0, 1.0]]], [[0.5, -0.5], [0.0]])
    >>> regions = enumerate_regions(network, Box(-2, 2))
    >>> data = np.array([-1.25, 1.25])
    >>> away = np.abs(regions.witnesses - data).min(axis=1)
    >>> persistence_of_cells(regions.complex(), away).pairs(0).tolist()
    [[0.0, 1.25], [0.0, inf]]
    """
    top = max(len(complex_.sides) - 1, 0)
    try:
        given = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"values must be numbers, one for each cell: {error}") from error
    cells = len(complex_.sides[top].ends) if complex_.sides else 0
    if given.shape != (cells,) or np.isnan(given).any():
        raise InvalidInputError(
            f"values must be one number for each of {cells} cells, none of them nan, not an array "
            f"of shape {given.shape}"
        )
    chains = _closed_cells(complex_)
    known = np.full(len(chains.ends), np.inf)
    known[chains.starts[top] : chains.starts[top] + cells] = given
    for k in range(top, 0, -1):
        first, last = int(chains.starts[k]), int(chains.starts[k + 1])
        begin, end = int(chains.ends[first - 1]), int(chains.ends[last - 1]) if last else 0
        counts = np.diff(chains.ends[first:last], prepend=begin)
        np.minimum.at(known, chains.faces[begin:end], np.repeat(known[first:last], counts))
    levels, rank = np.unique(known, return_inverse=True)
    order = np.lexsort((chains.dims, rank))
    morse = _Morse(chains, order, np.searchsorted(rank[order], np.arange(len(levels) + 1)))
    rows = []
    for birth, death in _pairs(morse):
        born, dead = rank[morse.cells[birth]], rank[morse.cells[death]] if death >= 0 else -1
        if born != dead and levels[born] < np.inf:
            end_ = float(levels[dead]) if death >= 0 else np.inf
            rows.append((int(morse.dims[birth]), float(levels[born]), end_, -1, -1))
    return _as_persistence(rows, top)


def _as_persistence(rows: list[tuple[int, float, float, int, int]], top: int) -> Persistence:
    """Classes as columns: dimensions, births, deaths, and vertices of both."""
    columns = list(zip(*sorted(rows), strict=True)) if rows else [()] * 5
    return Persistence(
        np.array(columns[0], np.int8),
        np.array(columns[1], np.float64),
        np.array(columns[2], np.float64),
        np.array(columns[3], np.int64),
        np.array(columns[4], np.int64),
        top,
    )


def _closed_chains(
    complex_: Complex, at: LevelSigns
) -> tuple[_Chains, FloatArray, NDArray[np.int64]]:
    """The cells with their ends far out; values of all vertices; and which of these are finite."""
    sides, open_ones = complex_.sides, complex_.unbounded
    values, vertex_of = at.values, np.arange(len(sides[0].ends))
    if len(sides) > 1 and open_ones[1].any():
        edges = np.flatnonzero(open_ones[1])
        start = sides[1].faces[sides[1].ends[edges] - 1]
        far = np.where(at.slopes[edges] > 0, np.inf, -np.inf)
        far = np.where(at.slopes[edges] == 0, at.values[start], far)
        values = np.concatenate([values, far])
        vertex_of = np.concatenate([vertex_of, np.where(at.slopes[edges] == 0, start, -1)])
    return _closed_cells(complex_), values, vertex_of


def _closed_cells(complex_: Complex) -> _Chains:
    """The cells with their ends far out.

    An unbounded face F of dimension k + 1 ends in a face of dimension k, whose sides are the ends
    of the unbounded sides of F.
    """
    sides, open_ones = complex_.sides, complex_.unbounded
    counts = [len(own.ends) for own in sides]
    ended = [np.cumsum(mask) - 1 for mask in open_ones]  # numbers of ends
    extra = [int(mask.sum()) for mask in open_ones[1:]] + [0]
    totals = [n + e for n, e in zip(counts, extra, strict=True)]
    starts = np.concatenate([[0], np.cumsum(totals)]).astype(np.int64)
    ends, faces, signs, before = [], [], [], 0
    for k in range(len(sides)):
        owners: list[NDArray[Any]] = [np.empty(0, np.int64)]
        below: list[NDArray[Any]] = [np.empty(0, np.int64)]
        factors: list[NDArray[Any]] = [np.empty(0, np.int64)]
        if k:
            owner = np.repeat(np.arange(counts[k]), np.diff(sides[k].ends, prepend=0))
            owners.append(owner)
            below.append(sides[k].faces)
            factors.append(sides[k].signs)
            mine = np.flatnonzero(open_ones[k])
            owners.append(mine)
            below.append(counts[k - 1] + np.arange(len(mine)))
            factors.append(_turns(complex_, k)[mine])
        if k and k + 1 < len(sides):
            up = sides[k + 1]
            owner = np.repeat(np.arange(counts[k + 1]), np.diff(up.ends, prepend=0))
            some = open_ones[k + 1][owner] & open_ones[k][up.faces]
            owners.append(counts[k] + ended[k + 1][owner[some]])
            below.append(counts[k - 1] + ended[k][up.faces[some]])
            factors.append(-up.signs[some] * _turns(complex_, k)[up.faces[some]])
        owner = np.concatenate(owners)
        order = np.argsort(owner, kind="stable")
        ends.append(before + np.cumsum(np.bincount(owner, minlength=totals[k])))
        faces.append(np.concatenate(below)[order] + starts[max(k - 1, 0)])
        signs.append(np.concatenate(factors)[order].astype(np.int8))
        before += len(owner)
    return _Chains(starts, np.concatenate(ends), np.concatenate(faces), np.concatenate(signs))


def _turns(complex_: Complex, k: int) -> NDArray[np.int64]:
    """The sign of the end of each unbounded face of dimension k."""
    sides = complex_.sides[k]
    if k > 1:
        return np.ones(len(sides.ends), np.int64)
    return -sides.signs[np.maximum(sides.ends - 1, 0)].astype(np.int64)


def _exact_classes(
    complex_: Complex,
    level: CutFunction,
    at: LevelSigns,
    values: FloatArray,
    vertex_of: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Numbers of the different values of vertices in increasing order, as exact comparison says."""
    n = len(values)
    errors = np.where(vertex_of >= 0, at.errors[np.maximum(vertex_of, 0)], 0.0)
    with np.errstate(invalid="ignore"):
        low, high = values - errors, values + errors
    low, high = np.nan_to_num(low, nan=-np.inf), np.nan_to_num(high, nan=np.inf)
    low[vertex_of < 0], high[vertex_of < 0] = values[vertex_of < 0], values[vertex_of < 0]
    order = np.argsort(low, kind="stable")
    reached = np.maximum.accumulate(high[order])
    new = np.ones(n, np.bool_)
    new[1:] = low[order][1:] > reached[:-1]
    cluster = np.empty(n, np.int64)
    cluster[order] = np.cumsum(new) - 1
    sizes = np.bincount(cluster)
    unclear = np.flatnonzero((sizes[cluster] > 1) & (vertex_of >= 0))
    inner = np.zeros(n, np.int64)
    if unclear.size:
        exact = _exact_values(complex_, level, np.unique(vertex_of[unclear]))
        keys = [(int(cluster[i]), exact[int(vertex_of[i])]) for i in unclear.tolist()]
        ranks = {key: r for r, key in enumerate(sorted(set(keys)))}
        inner[unclear] = [ranks[key] for key in keys]
    return np.unique(np.stack([cluster, inner], axis=1), axis=0, return_inverse=True)[1].ravel()


def _sharpened(
    complex_: Complex,
    level: CutFunction,
    at: LevelSigns,
    values: FloatArray,
    some: NDArray[np.int64],
    vertex_of: NDArray[np.int64],
) -> FloatArray:
    """The values, those of some vertices worked out in rationals where float64 has few digits."""
    some = some[vertex_of[some] >= 0]
    own = vertex_of[some]
    vague = ~(at.errors[own] <= _DIGITS * np.abs(values[some]))
    vague &= (at.errors[own] > 0) & np.isfinite(values[some])
    exact = _exact_values(complex_, level, np.unique(own[vague])) if vague.any() else {}
    values = values.copy()
    for i, vertex in zip(some[vague].tolist(), own[vague].tolist(), strict=True):
        values[i] = float(to_floats(np.array([exact[vertex]]))[0])
    return values


def _exact_values(
    complex_: Complex, level: CutFunction, some: NDArray[np.int64]
) -> dict[int, Fraction]:
    """A function at some vertices, in rationals."""
    owners = complex_.owners(0)[some]
    constants = constant_values(complex_, level, np.unique(owners))
    rows, found = ExactRows(complex_), dict[int, Fraction]()
    for i in np.argsort(owners, kind="stable").tolist():
        check()
        vertex, owner = int(some[i]), int(owners[i])
        if owner in constants:
            found[vertex] = constants[owner]
            continue
        point = rows.vertex(vertex)
        row = rows.level_row(level)
        found[vertex] = row[:-1] @ point + row[-1]
    return found


def _pairs(morse: _Morse) -> list[tuple[int, int]]:
    """Which critical cells give birth to classes, and which of them end these (-1: none)."""
    place = {int(c): i for i, c in enumerate(morse.cells)}
    columns: dict[int, set[int]] = {}
    ends: dict[int, int] = {}
    cleared: set[int] = set()
    for k in range(int(morse.dims.max(initial=0)), 0, -1):
        by_last: dict[int, int] = {}
        for i in np.flatnonzero(morse.dims == k).tolist():
            if i in cleared:
                continue
            check()
            cells, factors = morse.boundary(int(morse.cells[i]))
            column = {place[int(c)] for c in cells[factors % 2 != 0]}
            while column:
                last = max(column)
                if last not in by_last:
                    by_last[last] = i
                    columns[i] = column
                    ends[last] = i
                    cleared.add(last)
                    break
                column = column ^ columns[by_last[last]]
    killers = set(ends.values())
    return [(i, ends.get(i, -1)) for i in range(len(morse.cells)) if i not in killers]
