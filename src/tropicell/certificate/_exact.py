"""The proof that a region is right, in exact arithmetic; for any number of inputs.

A region is proved by some of its inequalities, its *facets*: each is one of the domain, or leads to
another region of the list; and all other inequalities follow from them. That these follow is
shown by *bases*: at most d facets each, such that every other inequality is a combination of the
facets of one of them, with factors that are not negative, plus a constant that is not negative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpz_mat
from numpy.typing import NDArray

from tropicell.certificate._rows import PatternRows
from tropicell.geometry.polyhedra import Cell, Point, Row, implied_by, to_point, value_at
from tropicell.network.patterns import PatternArray

#: A stored witness may be a point of the region, rounded: so far, in units of the last place.
_ROUNDED = 4

#: Numbers from here on may have been rounded to infinity.
_LARGEST = Fraction(float(np.finfo(np.float64).max))

Find = Callable[[PatternArray], NDArray[np.int64]]


@dataclass(frozen=True)
class RegionProof:
    """What proves one region.

    Attributes
    ----------
    witness : Point
        A rational point strictly inside.
    facets : list of int
        Lines, as in `tropicell.network.inequalities`.
    neighbours : list of int
        For each facet the region behind it, -1 for the domain's boundary.
    bases : list of tuple of int
        Positions in `facets`.
    moved : bool
        Whether the witness is not the stored one, which is that point rounded.
    """

    witness: Point
    moved: bool
    facets: list[int] = field(default_factory=list)
    neighbours: list[int] = field(default_factory=list)
    bases: list[tuple[int, ...]] = field(default_factory=list)


class ProofError(Exception):
    """A region that is not right, and why."""


class RegionProver:
    """Proves regions one by one.

    Parameters
    ----------
    rows : PatternRows
        Of the network on its domain.
    find : callable
        Indices of patterns (rows of an array) in the list of regions, -1 for those not in it.
    name : callable
        What a line is called in messages.
    """

    def __init__(self, rows: PatternRows, find: Find, name: Callable[[int], str]) -> None:
        self.rows = rows
        self.signs = 0
        self._find = find
        self._name = name

    def prove(
        self,
        pattern: PatternArray,
        witness: NDArray[Any],
        hints: Iterable[int] | None,
        closed: bool,
    ) -> RegionProof:
        """The proof for one region.

        Parameters
        ----------
        pattern : ndarray
        witness : ndarray
            As stored: floats or Fractions.
        hints : iterable of int, optional
            Lines that may be the facets.
        closed : bool
            Whether to prove that all neighbours are in the list.

        Raises
        ------
        ProofError
            If the region is not right.
        """
        rows = self.rows.of_pattern(pattern)
        if isinstance(rows, int):
            neuron = self._name(int(self.rows.first_line[rows]))
            raise ProofError(f"{neuron} is constant there, and not on its piece")
        self.signs += len(rows)
        proof = self._witness(witness, list(rows.values()))
        if closed:
            self._close(proof, pattern, rows, hints)
        return proof

    def find_witness(
        self, pattern: PatternArray, witness: NDArray[Any], facets: Iterable[int]
    ) -> RegionProof:
        """The same for a region whose facets are known, and from which all else follows.

        Raises
        ------
        ProofError
            If no point that may have been rounded to the witness is inside.
        """
        rows = self.rows.of_lines(pattern, facets)
        self.signs += len(rows)
        return self._witness(witness, rows)

    def prove_claim(
        self, pattern: PatternArray, witness: NDArray[Any], line: int, path: Iterable[int]
    ) -> list[int]:
        """Lines of a path, at most d, from which another line of a region follows.

        Raises
        ------
        ProofError
            If it does not follow: there are regions behind it, and none is in the list.
        """
        point = self.prove(pattern, witness, None, closed=False).witness
        empty = range(1, int(self.rows.first_line[0]))  # those of the domain without slope
        path = [int(x) for x in path if x in self.rows.domain or x not in empty]
        (row,), rows = self.rows.of_lines(pattern, [line]), self.rows.of_lines(pattern, path)
        basis = implied_by(rows, row, point)
        if basis is None:
            raise ProofError(f"behind {self._name(line)} there is no region of the list")
        return [path[k] for k in basis]

    def _witness(self, stored: NDArray[Any], rows: list[Row]) -> RegionProof:
        """The stored witness, or a point of the region that was rounded to it.

        An infinite coordinate is that of a point beyond the largest float64, rounded; "not a
        number" is nothing that a point can be rounded to.
        """
        for i, x in enumerate(stored):
            if not isinstance(x, Fraction) and np.isnan(x):
                raise ProofError(f"its witness is no point: input {i} is {x}")
        if all(isinstance(x, Fraction) or np.isfinite(x) for x in stored):
            point = to_point(Fraction(x) for x in stored)
            if all(value_at(row, point) > 0 for row in rows):
                return RegionProof(point, moved=False)
        cell: Cell | None = Cell.whole_space(len(stored))
        for row in [*_around(stored), *rows]:
            cell = None if cell is None else cell.cut(row)
        if cell is None:
            raise ProofError("its witness is not inside")
        return RegionProof(cell.witness, moved=True)

    def _close(
        self,
        proof: RegionProof,
        pattern: PatternArray,
        rows: dict[int, Row],
        hints: Iterable[int] | None,
    ) -> None:
        """Find facets, neighbours and bases."""
        witness = proof.witness
        facets: dict[int, int] = {}
        if hints is not None:
            lines = [int(line) for line in hints if int(line) in rows]
            facets = self._with_neighbours(pattern, rows, lines)
            for line in lines:
                if line not in facets:
                    facets |= self._behind(rows, line)
        bases, left = self._bases(rows, facets, witness)
        if left:  # no hints, or not enough of them
            facets |= self._with_neighbours(pattern, rows, [x for x in rows if x not in facets])
            bases, left = self._bases(rows, facets, witness)
            for line in left:
                facets |= self._behind(rows, line)
        if left:
            bases, left = self._bases(rows, facets, witness)
        if left:
            raise ProofError(f"behind {self._name(left[0])} there is no region of the list")
        proof.facets.extend(facets)
        proof.neighbours.extend(facets.values())
        proof.bases.extend(bases)

    def _with_neighbours(
        self, pattern: PatternArray, rows: dict[int, Row], lines: list[int]
    ) -> dict[int, int]:
        """Those lines that are the domain's, or that lead to a region by one flip."""
        first = self.rows.first_line
        neurons = np.searchsorted(first, lines, side="right") - 1
        # Lines of neurons without breakpoints do not exist: the last neuron that starts there is
        # meant.
        inner = [k for k, line in enumerate(lines) if line not in self.rows.domain]
        flipped = np.repeat(pattern[None], len(inner), axis=0)
        for row, k in enumerate(inner):
            neuron, breakpoint = neurons[k], lines[k] - first[neurons[k]]
            flipped[row, neuron] = breakpoint if pattern[neuron] > breakpoint else breakpoint + 1
        found = dict.fromkeys((line for line in lines if line in self.rows.domain), -1)
        indices = self._find(flipped).tolist() if inner else []
        found |= {lines[k]: n for k, n in zip(inner, indices, strict=True) if n >= 0}
        return found

    def _behind(self, rows: dict[int, Row], line: int) -> dict[int, int]:
        """A line behind which several neurons change, with its neighbour if that is in the list."""
        index = int(self._find(self.rows.behind(rows[line])[None])[0])
        return {line: index} if index >= 0 else {}

    def _bases(
        self, rows: dict[int, Row], facets: dict[int, int], witness: Point
    ) -> tuple[list[tuple[int, ...]], list[int]]:
        """Bases that prove all other inequalities, and the lines of those that they do not."""
        given = [rows[line] for line in facets]
        waiting = [line for line in rows if line not in facets]
        bases, left = [], []
        while waiting:
            basis = implied_by(given, rows[waiting[0]], witness)
            if basis is None:
                left.append(waiting.pop(0))
                continue
            bases.append(basis)
            proved = follow([given[i] for i in basis], [rows[line] for line in waiting])
            waiting = [
                line for line, is_proved in zip(waiting, proved, strict=True) if not is_proved
            ]
        return bases, left


def _around(stored: NDArray[Any]) -> list[Row]:
    """The points that a stored one may be the rounding of, as inequalities.

    A small box; where a coordinate is infinite, all that is beyond float64. Fractions are exact.
    """
    rows = []
    for i, x in enumerate(stored):
        if not isinstance(x, Fraction) and np.isinf(x):
            sides = [(1 if x > 0 else -1, -_LARGEST)]
        else:
            exact = isinstance(x, Fraction)
            step = 0 if exact else Fraction(float(np.spacing(abs(x)))) * _ROUNDED
            sides = [(sign, step - sign * Fraction(x)) for sign in (1, -1)]
        for sign, bound in sides:
            row = [0] * len(stored)
            row[i] = sign * bound.denominator
            rows.append((*row, bound.numerator))
    return rows


def follow(basis: Sequence[Row], rows: Sequence[Row]) -> list[bool]:
    """Which rows are combinations of a basis and a constant, with no factor below 0.

    Examples
    --------
    >>> follow([(1, 0, 0), (0, 1, 0)], [(2, 3, 1), (2, 3, -1), (1, -1, 0)])
    [True, False, False]
    """
    one = (0,) * (len(rows[0]) - 1) + (1,)
    columns = [*basis, one, *rows]
    size = len(basis) + 1
    reduced, denominator, _ = fmpz_mat([list(entry) for entry in zip(*columns, strict=True)]).rref()
    sign = 1 if denominator > 0 else -1
    table = reduced.table()
    # The first columns are those of the unit matrix; below them nothing may be left.
    return [
        all(sign * int(table[k][j]) >= 0 for k in range(size))
        and all(table[k][j] == 0 for k in range(size, len(table)))
        for j in range(size, len(columns))
    ]
