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
from functools import cached_property

import numpy as np
from flint import fmpz_mat, nmod_mat
from numpy.typing import NDArray

from tropicell._runtime.interruption import check
from tropicell.analysis.complex import Complex, Unbounded, check_unbounded
from tropicell.errors import InternalError

#: Critical cells in a boundary to begin with.
_ROOM = 1024


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
