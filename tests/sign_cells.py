"""All faces of a network from its weights alone: slow, and on code that shares nothing with others.

A face is the set of points with given signs of the domain's inequalities, of all neurons at all
breakpoints, and of functions of the outputs. One function after the other splits every set in up to
three; Z3 says which of these have points, in rationals. A face is a side of another one if its
signs are those of the other, or 0: on the closure of a face every function is still affine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
import z3

from tropicell import Network

Row = list[Fraction]


@dataclass(frozen=True, eq=False)
class SignCell:
    """Signs, rows ``a·x + c`` that are 0 or positive, a point inside, and the layers there."""

    signs: tuple[int, ...]
    zero: tuple[Row, ...]
    positive: tuple[Row, ...]
    point: tuple[Fraction, ...]
    layers: tuple[list[Row], ...]

    @cached_property
    def dimension(self) -> int:
        return len(self.point) - len(_reduced(self.zero, len(self.point)))

    def value(self, row: Row) -> Fraction:
        return sum((a * x for a, x in zip(row, self.point, strict=False)), row[-1])

    def bounds(self, other: SignCell) -> bool:
        """Whether it is in the closure of another one."""
        return all(a in (0, b) for a, b in zip(self.signs, other.signs, strict=False))

    @cached_property
    def is_unbounded(self) -> bool:
        """Whether a direction keeps all signs."""
        x, solver = _variables(len(self.point)), z3.SimpleSolver()
        solver.add([_sum(row[:-1], x) == 0 for row in self.zero])
        solver.add([_sum(row[:-1], x) >= 0 for row in self.positive])
        solver.add(z3.Or([z3.Or(xi >= 1, xi <= -1) for xi in x]))
        return bool(solver.check() == z3.sat)


def _reduced(rows: Iterable[Row], columns: int) -> list[tuple[int, Row]]:
    """Rows in echelon form, each with the column of its pivot, where it is 1."""
    found: list[tuple[int, Row]] = []
    for row in rows:
        left = _modulo(row, found)
        pivot = next((j for j in range(columns) if left[j]), None)
        if pivot is not None:
            new = [x / left[pivot] for x in left]
            found = [(j, _modulo(old, [(pivot, new)])) for j, old in found]
            found.append((pivot, new))
    return found


def _modulo(row: Row, reduced: list[tuple[int, Row]]) -> Row:
    for pivot, other in reduced:
        if row[pivot]:
            row = [a - row[pivot] * b for a, b in zip(row, other, strict=True)]
    return row


def _variables(count: int) -> list[Any]:
    return [z3.Real(f"x{i}") for i in range(count)]


def _sum(slopes: Sequence[Fraction], x: list[Any], constant: Fraction | int = 0) -> Any:
    terms = [_real(a) * xi for a, xi in zip(slopes, x, strict=True) if a]
    return z3.Sum([*terms, _real(Fraction(constant))])


def _real(value: Fraction) -> Any:
    return z3.RatVal(value.numerator, value.denominator)


def _point(zero: Sequence[Row], positive: Sequence[Row], count: int) -> tuple[Fraction, ...] | None:
    x, solver = _variables(count), z3.SimpleSolver()
    for row in zero:
        solver.add(_sum(row[:-1], x, row[-1]) == 0)
    for row in positive:
        solver.add(_sum(row[:-1], x, row[-1]) > 0)
    answer = solver.check()
    assert answer != z3.unknown
    if answer == z3.unsat:
        return None
    values = [solver.model().eval(xi, model_completion=True) for xi in x]
    return tuple(Fraction(v.numerator_as_long(), v.denominator_as_long()) for v in values)


def split(
    cells: Iterable[SignCell],
    function: Callable[[SignCell], Row],
    kept: Sequence[int] = (1, 0, -1),
) -> list[SignCell]:
    """Split cells by the sign of a function that is affine on each of them."""
    found = []
    for cell in cells:
        row = _modulo(function(cell), _reduced(cell.zero, len(cell.point)))
        varies = any(row[:-1])
        for sign, point in _points(cell, row).items():
            zero, positive = cell.zero, cell.positive
            if varies and not sign:
                zero = (*zero, row)
            elif varies:
                positive = (*positive, [sign * x for x in row])
            if sign in kept:
                found.append(SignCell((*cell.signs, sign), zero, positive, point, cell.layers))
    return found


def _points(cell: SignCell, row: Row) -> dict[int, tuple[Fraction, ...]]:
    """The signs of a function on a cell, and where it has them."""
    value = cell.value(row)
    here = (value > 0) - (value < 0)
    if not any(row[:-1]):
        return {here: cell.point}
    found = {here: cell.point} if here else {}
    for sign in (1, -1):
        if sign != here:
            positive = (*cell.positive, [sign * x for x in row])
            point = _point(cell.zero, positive, len(cell.point))
            if point is not None:
                found[sign] = point
    if len(found) == 2:  # between the two it is 0
        a, b = (abs(_value(row, found[sign])) for sign in (1, -1))
        pairs = zip(found[1], found[-1], strict=True)
        found[0] = tuple((p * b + q * a) / (a + b) for p, q in pairs)
    return found


def _value(row: Row, point: Sequence[Fraction]) -> Fraction:
    return sum((a * x for a, x in zip(row, point, strict=False)), row[-1])


def _always(_: SignCell, row: Row) -> Row:
    return row


def _fractions(matrix: Any) -> list[Row]:
    dense = matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)
    return [[Fraction(float(x)) for x in row] for row in dense]


def _combined(cell: SignCell, terms: dict[int, list[Row]], neuron: int, bias: Fraction) -> Row:
    row = [Fraction(0)] * len(cell.point) + [bias]
    for source, matrix in terms.items():
        for weight, before in zip(matrix[neuron], cell.layers[source], strict=True):
            if weight:
                row = [a + weight * b for a, b in zip(row, before, strict=True)]
    return row


def sign_cells(network: Network, matrix: Any, right: Any) -> list[SignCell]:
    """All faces of a network where ``matrix · x <= right``."""
    inputs = network.n_inputs
    unit = [[Fraction(int(i == j)) for j in range(inputs)] + [Fraction(0)] for i in range(inputs)]
    cells = [SignCell((), (), (), (Fraction(0),) * inputs, (unit,))]
    for a, b in zip(_fractions(np.reshape(matrix, (-1, inputs))), right, strict=True):
        row = [*(-x for x in a), Fraction(float(b))]
        cells = split(cells, partial(_always, row=row), (1, 0))
    for layer in network.layers:
        terms = {k: _fractions(m) for k, m in layer.affine.terms.items()}
        bias = [Fraction(float(x)) for x in layer.affine.bias]
        activation = layer.activation.expand(layer.width)
        parts = [activation.exact_row(i) for i in range(layer.width)]
        columns = []
        for i in range(layer.width):
            own = []
            for t in parts[i][0]:
                own.append(len(cells[0].signs))
                cells = split(cells, partial(_combined, terms=terms, neuron=i, bias=bias[i] - t))
            columns.append(own)
        after = []
        for cell in cells:
            rows = []
            for i, (_, slopes, intercepts) in enumerate(parts):
                piece = sum(cell.signs[c] > 0 for c in columns[i])
                row = [slopes[piece] * x for x in _combined(cell, terms, i, bias[i])]
                rows.append([*row[:-1], row[-1] + intercepts[piece]])
            layers = (*cell.layers, rows)
            after.append(SignCell(cell.signs, cell.zero, cell.positive, cell.point, layers))
        cells = after
    return cells


def output_row(
    network: Network, weights: Sequence[float], value: float
) -> Callable[[SignCell], Row]:
    """A combination of outputs, less a value, on a cell."""
    terms = {k: _fractions(m) for k, m in network.output.terms.items()}

    def row(cell: SignCell) -> Row:
        found = [Fraction(0)] * len(cell.point) + [-Fraction(value)]
        for k, weight in enumerate(weights):
            one = _combined(cell, terms, k, Fraction(float(network.output.bias[k])))
            found = [a + Fraction(weight) * b for a, b in zip(found, one, strict=True)]
        return found

    return row


def f_vector(cells: Sequence[SignCell]) -> tuple[int, ...]:
    """How many cells there are of each dimension."""
    return tuple(np.bincount([cell.dimension for cell in cells]).tolist()) if cells else ()


def betti(cells: Sequence[SignCell], *, infinity: bool = False) -> tuple[int, ...]:
    """Betti numbers modulo 2: of cells as they are, or with a point where open edges end."""
    by_dimension: dict[int, list[SignCell]] = {}
    for cell in cells:
        by_dimension.setdefault(cell.dimension, []).append(cell)
    ranks, counts = [0], []
    for k in range(max(by_dimension, default=-1) + 1):
        here, below = by_dimension.get(k, []), by_dimension.get(k - 1, [])
        columns = []
        for cell in here:
            column = sum(1 << i for i, side in enumerate(below) if side.bounds(cell))
            if k == 1 and infinity and cell.is_unbounded:
                column |= 1 << len(below)
            columns.append(column)
        ranks += [_rank(columns)] if k else []
        counts.append(len(here))
    if infinity and any(cell.is_unbounded for cell in by_dimension.get(1, [])):
        counts[0] += 1
    ranks.append(0)
    return tuple(n - ranks[k] - ranks[k + 1] for k, n in enumerate(counts))


def _rank(columns: Iterable[int]) -> int:
    basis: dict[int, int] = {}
    for column in columns:
        left = column
        while left and left.bit_length() in basis:
            left ^= basis[left.bit_length()]
        if left:
            basis[left.bit_length()] = left
    return len(basis)
