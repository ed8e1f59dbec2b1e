"""Convolutions that stay convolutions: matrices whose rows share their numbers.

Written out, the matrix of a convolution has every number of its filters once for each place where
they are used: 37,748,736 for one of the first layers of a ResNet-18, which has 36,864 weights. A
`Convolution` keeps the filters and where they look, and multiplies without the matrix.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any
from weakref import ReferenceType, ref

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray, IntArray
from tropicell._runtime.interruption import check
from tropicell.errors import InvalidInputError, InvalidNetworkError

#: Convolutions whose matrix would have at least so many numbers stay convolutions.
LARGE_CONVOLUTION = 2**21

#: A convolution is written out as a matrix, where one is needed, up to so many numbers.
MOST_WRITTEN = 2**24

#: So many numbers are gathered at a time for a product.
_AT_ONCE = 2**22


class Convolution:
    """A convolution, or the matrix that it is on flattened tensors.

    Parameters
    ----------
    weight : array_like, shape (filters, channels, *kernel)
    spatial : sequence of int
        Shape of the input behind its channels.
    stride, dilation : sequence of int, optional
        Default: ones.
    pads : sequence of (int, int), optional
        Zeros before and after each axis; default: none.

    Attributes
    ----------
    weight : ndarray
        It can't be written to.
    spatial, stride, pads, dilation : tuple
    counts : tuple of int
        Shape of the output behind its channels.
    shape : tuple of int
        Of the matrix: (filters · places, channels · positions).

    Examples
    --------
    >>> step = Convolution([[[1.0, -1.0]]], [4])
    >>> step @ np.array([1.0, 4.0, 9.0, 16.0])
    array([-3., -5., -7.])
    >>> step.tocsr().toarray()
    array([[ 1., -1.,  0.,  0.],
           [ 0.,  1., -1.,  0.],
           [ 0.,  0.,  1., -1.]])
    """

    __array_ufunc__ = None  # so that arrays leave products with it to `__rmatmul__`

    def __init__(
        self,
        weight: Any,
        spatial: Sequence[int],
        stride: Sequence[int] | None = None,
        pads: Sequence[tuple[int, int]] | None = None,
        dilation: Sequence[int] | None = None,
    ) -> None:
        self.weight: FloatArray = np.array(weight, dtype=np.float64)
        if not np.isfinite(self.weight).all():
            raise InvalidNetworkError(
                "the filters of a convolution have numbers that are not finite"
            )
        self.weight.setflags(write=False)
        axes = self.weight.ndim - 2
        self.spatial = tuple(int(n) for n in spatial)
        self.stride = tuple(int(n) for n in stride or [1] * axes)
        self.pads = tuple((int(a), int(b)) for a, b in pads or [(0, 0)] * axes)
        self.dilation = tuple(int(n) for n in dilation or [1] * axes)
        parts = (self.spatial, self.stride, self.pads, self.dilation)
        if axes < 1 or {len(part) for part in parts} != {axes}:
            raise InvalidNetworkError(
                f"filters of shape {self.weight.shape} do not fit an input of shape {self.spatial}"
            )
        sides = zip(*parts, self.weight.shape[2:], strict=True)
        self.counts = tuple(
            (n + before + after - d * (k - 1) - 1) // s + 1
            for n, s, (before, after), d, k in sides
            if min(n, s, d, k) >= 1 and min(before, after) >= 0
        )
        if len(self.counts) < axes or min(self.counts) < 1:
            raise InvalidNetworkError(
                f"filters of shape {self.weight.shape} do not fit an input of shape {self.spatial}"
            )
        self._written: ReferenceType[sp.csr_array] | None = None

    # --- what it is made of -------------------------------------------------------------------

    @property
    def filters(self) -> int:
        """Number of filters."""
        return int(self.weight.shape[0])

    @property
    def channels(self) -> int:
        """Number of channels of the input."""
        return int(self.weight.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the matrix."""
        rows, columns = math.prod(self.counts), math.prod(self.spatial)
        return self.filters * rows, self.channels * columns

    @cached_property
    def kernels(self) -> FloatArray:
        """The filters with their axes flattened, shape (filters, channels, taps)."""
        return np.ascontiguousarray(self.weight.reshape(*self.weight.shape[:2], -1))

    @cached_property
    def sources(self) -> IntArray:
        """Which position a tap sees from a place, shape (places, taps); -1: beyond the edge."""
        found = np.zeros((1, 1), np.int64)
        for axis, n in enumerate(self.spatial):
            count, k = self.counts[axis], self.weight.shape[2 + axis]
            at = np.arange(count)[:, None] * self.stride[axis] - self.pads[axis][0]
            at = at + np.arange(k) * self.dilation[axis]
            at = np.where((at >= 0) & (at < n), at, -1)
            outer, inner = found[:, None, :, None], at[None, :, None, :]
            joined = np.where((outer >= 0) & (inner >= 0), outer * n + inner, -1)
            found = joined.reshape(len(found) * count, found.shape[1] * k)
        found.setflags(write=False)
        return found

    @property
    def size(self) -> int:
        """How many numbers the matrix has, as a sparse one."""
        return int(np.count_nonzero(self.sources >= 0)) * self.filters * self.channels

    @property
    def data(self) -> FloatArray:
        """The numbers of the filters, each once."""
        return self.weight.ravel()

    @property
    def most_per_row(self) -> int:
        """How many numbers the fullest row has."""
        taps = (self.sources >= 0).sum(axis=1).max(initial=0)
        return int(taps) * self.channels

    def squares(self) -> Convolution:
        """The same with the squares of all numbers."""
        return self._with(np.square(self.weight))

    def scaled(self, factors: FloatArray) -> Convolution:
        """Each filter times a factor of its own."""
        return self._with(self.weight * factors.reshape(-1, *[1] * (self.weight.ndim - 1)))

    def _with(self, weight: FloatArray) -> Convolution:
        return Convolution(weight, self.spatial, self.stride, self.pads, self.dilation)

    def __abs__(self) -> Convolution:
        return self._with(np.abs(self.weight))

    def __mul__(self, factor: float) -> Convolution:
        return self._with(self.weight * factor)

    def sum(self, axis: int) -> FloatArray:
        """Sums of the rows (axis 1) or columns (axis 0) of the matrix."""
        rows, columns = self.shape
        return self @ np.ones(columns) if axis == 1 else np.ones(rows) @ self

    # --- products -----------------------------------------------------------------------------

    def taps(self) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
        """For each tap: the places that see something with it, what they see, and its numbers."""
        for tap in range(self.sources.shape[1]):
            check()
            places = np.flatnonzero(self.sources[:, tap] >= 0)
            if len(places):
                yield places, self.sources[places, tap], self.kernels[:, :, tap]

    def __matmul__(self, columns: NDArray[Any]) -> FloatArray:
        """The matrix times a vector, or columns."""
        given = np.asarray(columns, dtype=np.float64)
        many = given.reshape(self.shape[1], math.prod(given.shape[1:]))
        found = np.zeros((self.shape[0], many.shape[1]))
        step = max(1, _AT_ONCE // max(self.shape))
        for start in range(0, many.shape[1], step):
            part = np.ascontiguousarray(many[:, start : start + step])
            m = part.shape[1]
            seen = part.reshape(self.channels, -1, m)
            total = np.zeros((self.filters, math.prod(self.counts), m))
            for places, sources, numbers in self.taps():
                product = numbers @ seen[:, sources].reshape(self.channels, -1)
                total[:, places] += product.reshape(self.filters, -1, m)
            found[:, start : start + step] = total.reshape(-1, m)
        return found.reshape(self.shape[0], *given.shape[1:])

    def __rmatmul__(self, rows: NDArray[Any]) -> FloatArray:
        """A vector, or rows, times the matrix."""
        given = np.asarray(rows, dtype=np.float64)
        lead = math.prod(given.shape[:-1])
        many = given.reshape(lead, self.filters, math.prod(self.counts))
        found = np.zeros((len(many), self.channels, math.prod(self.spatial)))
        for places, sources, numbers in self.taps():
            # A tap sees a position from one place at most.
            found[:, :, sources] += np.matmul(numbers.T, many[:, :, places])
        return found.reshape(*given.shape[:-1], self.shape[1])

    # --- as a matrix --------------------------------------------------------------------------

    def tocsr(self, most: int = MOST_WRITTEN) -> sp.csr_array:
        """The sparse matrix, kept as long as somebody uses it.

        Parameters
        ----------
        most : int
            How many numbers it may have.

        Raises
        ------
        InvalidInputError
            If it is too large.
        """
        known = None if self._written is None else self._written()
        if known is not None:
            return known
        if self.size > most:
            raise InvalidInputError(
                f"a convolution with {self.size:,} numbers as a matrix is too large for this: at "
                f"most {most:,} are written out. Outputs, patterns, and the regions of planes "
                "(Slice, with the engine 'cells') need no matrix"
            )
        seen = self.sources
        channel = np.arange(self.channels)[:, None] * math.prod(self.spatial)
        places = np.where(seen[:, None, :] >= 0, seen[:, None, :] + channel, -1)
        places = places.reshape(len(seen), -1)
        kept = places >= 0
        counts, columns = kept.sum(axis=1), places[kept].astype(np.int32)
        starts = np.concatenate([[0], np.cumsum(np.tile(counts, self.filters))]).astype(np.int32)
        numbers = [np.broadcast_to(row.ravel(), kept.shape)[kept] for row in self.kernels]
        parts = (np.concatenate(numbers), np.tile(columns, self.filters), starts)
        matrix = sp.csr_array(parts, shape=self.shape)
        self._written = ref(matrix)
        return matrix

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_written"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._written = None

    def __repr__(self) -> str:
        sides = "×".join(map(str, self.weight.shape[2:]))
        return f"Convolution({self.channels} → {self.filters} channels, {sides}, on {self.spatial})"
