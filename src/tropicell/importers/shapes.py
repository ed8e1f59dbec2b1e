"""Operators that move entries around and are the same for every front end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tropicell.errors import ModelImportError
from tropicell.importers.expressions import Value, check_shape, is_constant, join, take
from tropicell.importers.lowering import matmul

#: Names of padding modes in torch and ONNX, and NumPy's.
PAD_MODES = {
    "constant": "constant",
    "reflect": "reflect",
    "replicate": "edge",
    "edge": "edge",
    "circular": "wrap",
    "wrap": "wrap",
}


def reshape(value: Value, shape: Sequence[int]) -> Value:
    """The same entries in another shape."""
    if is_constant(value):
        return np.asarray(value.reshape([int(n) for n in shape]))
    return value.reshape(shape)


def flatten(value: Value, start: int, stop: int) -> Value:
    """The axes `start` … `stop` (included) as one."""
    if value.ndim == 0:
        return reshape(value, (1,))
    first, last = start % value.ndim, stop % value.ndim
    middle = math.prod(value.shape[first : last + 1])
    return reshape(value, (*value.shape[:first], middle, *value.shape[last + 1 :]))


def squeeze(value: Value, axes: Sequence[int] | None) -> Value:
    """Without the given axes of length 1 (None: all such); others are left alone."""
    chosen = range(value.ndim) if axes is None else [a % max(value.ndim, 1) for a in axes]
    return reshape(value, [n for a, n in enumerate(value.shape) if n != 1 or a not in chosen])


def unsqueeze(value: Value, axes: Sequence[int]) -> Value:
    """With new axes of length 1."""
    return take(value, lambda at: np.expand_dims(at, tuple(int(a) for a in axes)))


def transpose(value: Value, axes: Sequence[int] | None) -> Value:
    """With its axes in another order (None: reversed)."""
    return take(value, lambda at: np.transpose(at, axes))


def concatenate(values: Sequence[Value], axis: int) -> Value:
    """One after the other along an axis."""
    ndim = max(value.ndim for value in values)
    # torch lets an empty 1-D tensor take part in any concatenation
    kept = [v for v in values if not (v.ndim == 1 < ndim and 0 in v.shape)]
    return join(kept, lambda at: np.concatenate(at, axis=axis))


def part(value: Value, axis: int, start: int | None, stop: int | None, step: int = 1) -> Value:
    """A slice along one axis, by Python's rules.

    Examples
    --------
    >>> part(np.arange(5), 0, -2, None)
    array([3, 4])
    """
    index = [slice(None)] * value.ndim
    index[axis] = slice(start, stop, step)
    return take(value, lambda at: at[tuple(index)])


def split(value: Value, sizes: Sequence[int], axis: int) -> list[Value]:
    """Pieces of the given lengths along an axis."""
    if sum(sizes) != value.shape[axis]:
        raise ModelImportError(f"an axis of length {value.shape[axis]} can't be split in {sizes}")
    ends = np.cumsum(sizes).tolist()
    return [part(value, axis, end - size, end) for size, end in zip(sizes, ends, strict=True)]


def chunks(length: int, size: int) -> list[int]:
    """Lengths of pieces of one size, the last one perhaps shorter."""
    return [min(size, length - start) for start in range(0, length, size)] or [0]


def expand(value: Value, shape: Sequence[int]) -> Value:
    """Broadcast by torch's and ONNX's rules: -1 (and 1) keeps the length of an axis."""
    wanted = [int(n) for n in shape]
    offset = len(wanted) - value.ndim
    for axis, n in enumerate(wanted):
        if n == -1 or (n == 1 and axis >= offset):
            wanted[axis] = value.shape[axis - offset]
    full = check_shape(np.broadcast_shapes(value.shape, tuple(wanted)))
    return take(value, lambda at: np.broadcast_to(at, full))


def tile(value: Value, repeats: Sequence[int]) -> Value:
    """Repeated along every axis."""
    counts = [int(n) for n in repeats]
    sizes = [1] * (len(counts) - value.ndim) + list(value.shape)
    check_shape([n * k for n, k in zip(sizes, counts, strict=True)])
    return take(value, lambda at: np.tile(at, counts))


def gather(value: Value, indices: Any, axis: int) -> Value:
    """Entries at constant indices along an axis."""
    at_indices = np.asarray(indices, dtype=np.intp)
    check_shape((*value.shape[:axis], *at_indices.shape))
    return take(value, lambda at: np.take(at, at_indices, axis=axis))


def gather_elements(value: Value, indices: Any, axis: int) -> Value:
    """One entry for every constant index, along an axis; other axes may be shorter there.

    Examples
    --------
    >>> gather_elements(np.array([[1, 2], [3, 4]]), [[1, 0, 1]], 1)
    array([[2, 1, 2]])
    """
    at_indices = np.asarray(indices, dtype=np.intp)
    axis %= value.ndim
    corner = [slice(0, n) for n in at_indices.shape]
    corner[axis] = slice(None)
    return take(value, lambda at: np.take_along_axis(at[tuple(corner)], at_indices, axis))


def pad(value: Value, pairs: Sequence[tuple[int, int]], mode: str, fill: Any) -> Value:
    """Padded at both ends of every axis; negative numbers cut entries off.

    Examples
    --------
    >>> pad(np.array([1, 2, 3]), [(1, -1)], "constant", 0)
    array([0, 1, 2])
    """
    if mode not in PAD_MODES:
        raise ModelImportError(f"padding mode {mode!r}: expected one of {sorted(PAD_MODES)}")
    for axis, (before, after) in enumerate(pairs):
        if before < 0 or after < 0:
            stop = value.shape[axis] + min(after, 0)
            value = part(value, axis, max(-before, 0), stop)
    widths = [(max(before, 0), max(after, 0)) for before, after in pairs]
    check_shape([n + a + b for n, (a, b) in zip(value.shape, widths, strict=True)])
    if mode == "constant":
        number = np.asarray(0 if fill is None else fill, dtype=np.float64).reshape(())
        return join(
            [value, number],
            lambda at: np.pad(at[0], widths, mode="constant", constant_values=at[1].item()),
        )
    numpy_mode: Any = PAD_MODES[mode]
    return take(value, lambda at: np.pad(at, widths, mode=numpy_mode))


def cumulative_sum(
    value: Value, axis: int, *, exclusive: bool = False, reverse: bool = False
) -> Value:
    """Sums of all entries up to each, along an axis."""
    n = value.shape[axis]
    matrix = np.triu(np.ones((n, n)), 1 if exclusive else 0)
    summed = matmul(
        take(value, lambda at: np.moveaxis(at, axis, -1)), matrix.T if reverse else matrix
    )
    return take(summed, lambda at: np.moveaxis(at, -1, axis))
