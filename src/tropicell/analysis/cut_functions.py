"""What a complex is cut by: functions of the outputs, and the rows of faces in rationals."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import fmpq_mat
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell.errors import InvalidInputError
from tropicell.geometry.arithmetic import to_fractions, to_rationals

if TYPE_CHECKING:
    from tropicell.analysis.complex import Complex


@dataclass(frozen=True, eq=False)
class CutFunction:
    """A function of the outputs, minus a value: ``weights · outputs - value``.

    Attributes
    ----------
    weights : ndarray, shape (outputs,)
    value : float

    Examples
    --------
    >>> CutFunction(np.array([1.0, -1.0]), 0.5).text
    'output 0 - output 1 - 0.5'
    """

    weights: FloatArray
    value: float

    @property
    def text(self) -> str:
        """The function in words."""
        found = ""
        for k in np.flatnonzero(self.weights).tolist():
            w = float(self.weights[k])
            found += (" - " if w < 0 else " + ") if found else ("-" if w < 0 else "")
            found += f"output {k}" if abs(w) == 1 else f"{abs(w):g} * output {k}"
        if self.value:
            found += f"{' - ' if self.value > 0 else ' + '}{abs(self.value):g}"
        return found or "0"

    def negative(self) -> CutFunction:
        """The same function, times -1."""
        return CutFunction(-self.weights, -self.value)


class ExactRows:
    """Rows of faces in rationals: those of a region's facets, and of levels."""

    def __init__(self, complex_: Complex) -> None:
        self._complex = complex_
        self._region = -1
        self._rows: dict[Any, NDArray[Any]] = {}
        self._map: Any = None

    def load(self, region: int) -> None:
        """Look at a region."""
        if region == self._region:
            return
        self._region, self._map = region, None
        inequalities = self._complex.regions[region].inequalities
        self._rows = {}
        for source, a, b in zip(inequalities.sources, inequalities.A, inequalities.b, strict=True):
            self._rows[source] = np.array([*a, -b], dtype=object)

    def rows_of(self, k: int, face: int) -> tuple[int, list[NDArray[Any]]]:
        """The region of a face, and rows ``a·x + c`` that are 0 on it (c last)."""
        complex_ = self._complex
        dims, numbers = complex_.carriers[k]
        dim, number = int(dims[face]), int(numbers[face])
        region = int(complex_.faces.owners[dim][number])
        self.load(region)
        names = (complex_.lines.boundary(int(n)) for n in complex_.faces.lines[dim][number])
        rows = [self._rows[name] for name in names]
        active = int(complex_.on_levels[k][face])
        rows += [self.level_row(lv) for i, lv in enumerate(complex_.levels) if active >> i & 1]
        return region, rows

    def level_row(self, level: CutFunction) -> NDArray[Any]:
        """A level as a row of the region that was looked at last."""
        if self._map is None:
            self._map = self._complex.regions[self._region].affine_map
        weights = to_fractions(to_rationals(level.weights))
        slopes = (weights @ self._map.matrix)[: self._complex.faces.vertices.shape[1]]
        return np.array([*slopes, weights @ self._map.offset - Fraction(level.value)], dtype=object)

    def line(self, line: int) -> NDArray[Any] | None:
        """The row of a line in the region that was looked at last; None: it is far from there."""
        return self._rows.get(self._complex.lines.boundary(line))

    def row_in(self, region: int, level: CutFunction) -> NDArray[Any]:
        """A level as a row of a region."""
        self.load(region)
        return self.level_row(level)

    def vertex(self, vertex: int) -> NDArray[Any]:
        """A vertex in rationals."""
        d = self._complex.faces.vertices.shape[1]
        _, rows = self.rows_of(0, vertex)
        if not d:
            return np.empty(0, dtype=object)
        matrix = fmpq_mat([to_rationals(row).tolist() for row in rows])
        reduced, rank = matrix.rref()
        if rank != d:
            raise InvalidInputError(f"vertex {vertex} is not a point: rank {rank}")
        return to_fractions(np.array([-reduced[i, d] for i in range(d)], dtype=object))

    def direction(self, edge: int) -> NDArray[Any]:
        """The direction of an unbounded edge in rationals."""
        complex_ = self._complex
        d = complex_.faces.vertices.shape[1]
        about = complex_.directions[edge]
        if d == 1:
            return np.array([Fraction(1 if about[0] > 0 else -1)], dtype=object)
        _, rows = self.rows_of(1, edge)
        reduced, rank = fmpq_mat([to_rationals(row[:-1]).tolist() for row in rows]).rref()
        if rank != d - 1:
            raise InvalidInputError(f"edge {edge} is not a line: rank {rank}")
        pivots = [next(j for j in range(d) if reduced[i, j] != 0) for i in range(rank)]
        free = next(j for j in range(d) if j not in pivots)
        found = np.full(d, Fraction(0), dtype=object)
        found[free] = Fraction(1)
        for i, j in enumerate(pivots):
            found[j] = -to_fractions(np.array([reduced[i, free]], dtype=object))[0]
        same_way = float(found.astype(np.float64) @ about) > 0
        return found if same_way else -found
