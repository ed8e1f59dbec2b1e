"""Exact decisions for `wide`, in rationals (FLINT), where floats prove nothing.

Rows of the neurons that a decision needs are made from the weights when they are asked for; no
other weight becomes a rational. Linear programs have few rows and many columns with two bounds
each: the dual simplex method with the least-index rule begins without any active row, and ends.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from flint import fmpq
from numpy.typing import NDArray

from tropicell._runtime.interruption import check
from tropicell.engines.wide.reduction import Frame, Reduced
from tropicell.geometry.arithmetic import to_floats, to_rationals
from tropicell.geometry.exact_programs import Numbers, maximum, square_distance, zeros
from tropicell.network.network import Network


class OpenRows:
    """The rows of open neurons on cells, without rounding.

    A row is an object array: its coefficients of x, and its offset last.
    """

    def __init__(self, network: Network, reduced: Reduced) -> None:
        self._network, self._reduced = network, reduced
        self._forms: dict[int, tuple[Numbers, Numbers]] = {}
        ends = np.concatenate([[0], np.cumsum(network.widths)]).astype(np.int64)
        self._base = [
            reduced.base[ends[k] : ends[k + 1]].astype(np.intp) for k in range(network.depth)
        ]
        self._open = []
        for layer in range(1, network.depth + 1):
            here = reduced.layers == layer
            self._open.append((reduced.neurons[here] - ends[layer - 1], np.flatnonzero(here)))

    def on_cell(self, neuron: int, pieces: NDArray[Any]) -> Numbers:
        """The row of an open neuron where the open neurons of earlier layers are on `pieces`."""
        row, links = self._form(neuron)
        row, total = row.copy(), links.copy()
        for i in range(len(total) - 1, -1, -1):
            if total[i] == 0:
                continue
            check()
            slope, intercept = self._piece(i, int(pieces[i]))
            row[-1] += total[i] * intercept
            factor = total[i] * slope
            if factor != 0:
                inner, before = self._form(i)
                row += factor * inner
                total[: len(before)] += factor * before
        return row

    def _piece(self, i: int, piece: int) -> tuple[Any, Any]:
        reduced = self._reduced
        layer = int(reduced.layers[i])
        ends = np.concatenate([[0], np.cumsum(self._network.widths)])
        at = int(reduced.neurons[i] - ends[layer - 1])
        _, slopes, intercepts = self._network.maps("exact").activation(layer)
        return slopes[at, piece], intercepts[at, piece]

    def _form(self, neuron: int) -> tuple[Numbers, Numbers]:
        """A neuron as an affine function of x and of the outputs of open neurons before it."""
        if neuron not in self._forms:
            self._forms[neuron] = self._eliminated(neuron)
        return self._forms[neuron]

    def _eliminated(self, neuron: int) -> tuple[Numbers, Numbers]:
        network, reduced = self._network, self._reduced
        layer = int(reduced.layers[neuron])
        ends = np.concatenate([[0], np.cumsum(network.widths)])
        affine = network.affine(layer)
        index = int(reduced.neurons[neuron] - ends[layer - 1])
        links = zeros(int((reduced.layers < layer).sum()))
        offset = to_rationals(affine.bias[index]).item()
        parts: dict[int, Numbers] = {}
        self._add(parts, affine, np.array([index]), np.array([fmpq(1)], dtype=object))
        for source in range(layer - 1, 0, -1):
            part = parts.pop(source, None)
            if part is None:
                continue
            check()
            inside, places = self._open[source - 1]
            links[places] = part[inside]
            part[inside] = fmpq(0)
            _, slopes, intercepts = network.maps("exact").activation(source)
            used = np.flatnonzero(part != 0)
            pieces = self._base[source - 1][used]
            offset = offset + sum(part[used] * intercepts[used, pieces], fmpq(0))
            factors = part[used] * slopes[used, pieces]
            used, factors = used[factors != 0], factors[factors != 0]
            before = network.affine(source)
            offset = offset + sum(factors * to_rationals(before.bias[used]), fmpq(0))
            self._add(parts, before, used, factors)
        row = parts.get(0)
        embedding = network.embedding
        if row is None:
            width = network.n_inputs if embedding is None else embedding.matrix.shape[0]
            row = zeros(width)
        if embedding is not None:
            offset = offset + sum(row * to_rationals(embedding.offset), fmpq(0))
            row = np.asarray(row @ to_rationals(embedding.matrix))
        return np.append(row, offset), links

    def _add(
        self, parts: dict[int, Numbers], affine: Any, used: NDArray[Any], factors: Numbers
    ) -> None:
        """Add multiples of neurons' weights to what is read of earlier layers."""
        for source, matrix in affine.terms.items():
            total = parts.setdefault(source, zeros(matrix.shape[1]))
            for u, factor in zip(used.tolist(), factors.tolist(), strict=True):
                check()
                if isinstance(matrix, sp.csr_array):
                    part = slice(matrix.indptr[u], matrix.indptr[u + 1])
                    where = matrix.indices[part]
                    total[where] += factor * to_rationals(matrix.data[part])
                else:
                    total += factor * to_rationals(matrix[u])


class ExactDomain:
    """Decides in rationals what a cell of a domain has on either side of a cut."""

    def __init__(self, frame: Frame) -> None:
        self._norm = frame.norm
        self._center = to_rationals(frame.center)
        n = len(frame.center)
        if frame.norm == "linf":
            self._low, self._high = to_rationals(frame.low), to_rationals(frame.high)
        else:
            self._radius = to_rationals(frame.scale[0]).item()
            radii = np.array([self._radius] * n, dtype=object)
            self._low, self._high = self._center - radii, self._center + radii

    def has(self, rows: list[Numbers], cut: Numbers) -> bool:
        """Whether there is a point with ``cut > 0`` in a cell, which has interior points."""
        if not (cut[:-1] != 0).any():
            return bool(cut[-1] > 0)
        if self._norm == "l2":
            around = [*rows, cut]
            shifted = np.array([row[:-1] for row in around], dtype=object)
            offsets = np.array([self._at_center(row) for row in around], dtype=object)
            found = square_distance(shifted, offsets)
            if found is None or found[0] >= self._radius * self._radius:
                return False
        matrix, offsets, low, high = self._program(rows)
        objective = self._columns(cut)
        start = self._start(cut)
        most, _ = maximum(matrix, offsets, objective, low, high, -start)
        return bool(most + start > 0)

    def inner_point(self, rows: list[Numbers]) -> Numbers | None:
        """A point strictly inside the domain where all rows are positive; None if there is none."""
        matrix, offsets, low, high = self._program(rows)
        k, n = matrix.shape
        sizes = np.array(
            [max((abs(q) for q in row), default=fmpq(0)) + 1 for row in matrix], dtype=object
        )
        if self._norm == "l1":
            sizes[0] = fmpq(0)
        wide = np.column_stack([matrix, -sizes]) if k else np.empty((0, n + 1), dtype=object)
        goal, one = zeros(n + 1), np.array([fmpq(1)], dtype=object)
        goal[n] = one[0]
        lows, highs = np.concatenate([low, zeros(1)]), np.concatenate([high, one])
        try:
            most, y = maximum(wide, offsets, goal, lows, highs, fmpq(0))
        except ArithmeticError:
            return None
        if y is None or most <= 0:
            return None
        x = self._point_of(y[:n])
        toward = self._center if self._norm != "linf" else (self._low + self._high) / 2
        if self._norm == "l2":
            shifted = np.array([row[:-1] for row in rows], dtype=object).reshape(len(rows), n)
            centers = np.array([self._at_center(row) for row in rows], dtype=object)
            nearest = square_distance(shifted, centers)
            assert nearest is not None
            start, part = self._center + nearest[1], fmpq(1, 2)
            while True:
                check()
                mixed = start + part * (x - start)
                away = mixed - self._center
                if sum(away * away, fmpq(0)) < self._radius * self._radius:
                    return np.asarray(mixed)
                part = part / 2
        part = fmpq(1, 2)
        while True:  # away from the sides of the domain
            check()
            mixed = x + part * (toward - x)
            if all(sum(row[:-1] * mixed, row[-1]) > 0 for row in rows):
                return np.asarray(mixed)
            part = part / 2

    def point(self, rows: list[Numbers]) -> Numbers:
        """A point strictly inside a cell, which has one."""
        found = self.inner_point(rows)
        if found is None:
            raise ArithmeticError("the cell has no interior")
        return found

    def _at_center(self, row: Numbers) -> Any:
        return sum(row[:-1] * self._center, row[-1])

    def _columns(self, row: Numbers) -> Numbers:
        """Coefficients of a row in the program's variables: x, or what x is ahead and behind."""
        return np.concatenate([row[:-1], -row[:-1]]) if self._norm == "l1" else row[:-1]

    def _start(self, row: Numbers) -> Any:
        return self._at_center(row) if self._norm == "l1" else row[-1]

    def _point_of(self, y: Numbers) -> Numbers:
        if self._norm != "l1":
            return y
        n = len(y) // 2
        return np.asarray(self._center + y[:n] - y[n:])

    def _program(self, rows: list[Numbers]) -> tuple[Numbers, Numbers, Numbers, Numbers]:
        """The cell as a linear program over a box."""
        n = len(self._center)
        low, high = self._low, self._high
        lines, offsets = [self._columns(row) for row in rows], [self._start(row) for row in rows]
        if self._norm == "l1":
            low = zeros(2 * n)
            high = np.array([self._radius] * (2 * n), dtype=object)
            lines.insert(0, np.array([fmpq(-1)] * (2 * n), dtype=object))
            offsets.insert(0, self._radius)
        matrix = np.array(lines, dtype=object).reshape(len(lines), len(low))
        return matrix, np.array(offsets, dtype=object), low, high


def rounded(point: Numbers) -> NDArray[np.float64]:
    """A point in float64."""
    return to_floats(point)
