"""Linear operators as matrices on flattened tensors: products, convolutions, means, pools."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray, IndexArray
from tropicell.errors import ModelImportError
from tropicell.importers.expressions import (
    Expression,
    Shape,
    Value,
    add,
    as_expression,
    check_shape,
    check_stored,
    finite,
    is_constant,
    scale,
    take,
)


def matmul(left: Value, right: Value) -> Value:
    """``left @ right`` by NumPy's rules, where at least one of the two is constant.

    Examples
    --------
    >>> x = Expression.of_layer(0, (1, 2))
    >>> matmul(x, np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])).terms[0]
    array([[1., 4.],
           [2., 5.],
           [3., 6.]])
    """
    if is_constant(left) and is_constant(right):
        return np.asarray(left @ right)
    if is_constant(right):
        return _times_constant(as_expression(left), finite(right, "a matrix"))
    if not is_constant(left):
        raise TypeError("one side of a product must be constant")
    # A @ x = (xᵀ @ Aᵀ)ᵀ, so that one function is enough.
    if left.ndim == 1 or right.ndim == 1:
        return matmul(_swap(right), _swap(left))
    return _swap(matmul(_swap(right), _swap(left)))


def _swap(value: Value) -> Value:
    return take(value, lambda at: np.swapaxes(at, -1, -2)) if value.ndim > 1 else value


def _times_constant(x: Expression, matrix: FloatArray) -> Expression:
    vector = matrix.ndim == 1
    weights = matrix[:, None] if vector else matrix
    rows = x.reshape((1, *x.shape)) if x.ndim == 1 else x
    inner = rows.shape[-1]
    if inner != weights.shape[-2]:
        raise ModelImportError(
            f"a product of tensors of shapes {x.shape} and {matrix.shape} does not fit"
        )
    lead = np.broadcast_shapes(rows.shape[:-2], weights.shape[:-2])
    shape = (*lead, rows.shape[-2], weights.shape[-1])
    public = shape if x.ndim > 1 else (*shape[:-2], shape[-1])
    public = public[:-1] if vector else public
    if math.prod(shape[:-1]) == 1 and x.size == inner:
        return x.apply(weights.reshape(weights.shape[-2:]).T, check_shape(public))
    at = np.arange(x.size).reshape(rows.shape)[..., :, None, :]
    full = (*shape, inner)
    check_stored(math.prod(full))
    columns = np.broadcast_to(at, full).reshape(-1, inner)
    numbers = np.broadcast_to(np.swapaxes(weights, -1, -2)[..., None, :, :], full)
    return x.apply(_sparse_rows(columns, numbers.reshape(-1, inner), x.size), public)


def _sparse_rows(columns: IndexArray, numbers: FloatArray, width: int) -> sp.csr_array:
    """A sparse matrix from the columns and numbers of each row; column -1 means nothing there."""
    kept = columns >= 0
    starts = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    # MAX_STORED keeps all of these far below 2**31
    indices, starts = columns[kept].astype(np.int32), starts.astype(np.int32)
    return sp.csr_array((numbers[kept], indices, starts), shape=(columns.shape[0], width))


# --- windows ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Window:
    """How the window of a convolution or pool moves over the last axes.

    Attributes
    ----------
    kernel, stride, dilation : sequence of int
        One number for each axis.
    pads : sequence of (int, int)
        Padding before and after each axis.
    ceil_mode : bool
        Whether the last window may reach beyond the padding.
    """

    kernel: Sequence[int]
    stride: Sequence[int]
    pads: Sequence[tuple[int, int]]
    dilation: Sequence[int]
    ceil_mode: bool = False


def windows(spatial: Shape, window: Window) -> tuple[Shape, IndexArray]:
    """Positions that each window of a convolution or pool sees.

    -1 stands for padding, -2 for what lies beyond the padding (possible with ``ceil_mode``).

    Returns
    -------
    shape : tuple of int
        Spatial shape of the output.
    positions : ndarray, shape (windows, kernel entries)
        Flat positions in the unpadded spatial grid.

    Examples
    --------
    >>> windows((3,), Window([2], [1], [(0, 0)], [1]))
    ((2,), array([[0, 1],
           [1, 2]]))
    """
    axes = [_axis_windows(axis, n, window) for axis, n in enumerate(spatial)]
    shape = check_shape([axis.shape[0] for axis in axes])
    check_stored(math.prod(shape) * math.prod(window.kernel))
    flat = np.zeros((1, 1), dtype=np.intp)
    for n, axis in zip(spatial, axes, strict=True):
        rows, inside = flat.shape
        outer, inner = flat[:, None, :, None], axis[None, :, None, :]
        lowest = np.minimum(outer, inner)
        joined = np.where(lowest >= 0, outer * n + inner, lowest)
        flat = joined.reshape(rows * axis.shape[0], inside * axis.shape[1])
    return shape, flat


def _axis_windows(axis: int, n: int, window: Window) -> IndexArray:
    """Positions along one axis of length n, one row for each window."""
    k, s, d = window.kernel[axis], window.stride[axis], window.dilation[axis]
    before, after = window.pads[axis]
    if min(k, s, d) < 1 or min(before, after) < 0:
        raise ModelImportError(f"a window needs sizes of at least 1 and padding of 0, got {window}")
    room = n + before + after - d * (k - 1) - 1
    count = (-(-room // s) if window.ceil_mode else room // s) + 1
    if window.ceil_mode and (count - 1) * s >= n + before:
        count -= 1  # a window may not start in the padding on the right
    if count < 1:
        raise ModelImportError(
            f"a window of size {list(window.kernel)} does not fit on an axis of length {n}"
        )
    check_shape((count, k))
    at = np.arange(count)[:, None] * s + np.arange(k) * d - before
    padded = np.where((at >= -before) & (at < n + after), -1, -2)
    return np.where((at >= 0) & (at < n), at, padded)


def conv_matrix(
    spatial: Shape, weight: FloatArray, window: Window, groups: int
) -> tuple[Shape, sp.csr_array]:
    """The matrix of a convolution on one flattened example, and its spatial output shape."""
    shape, positions = windows(spatial, window)
    outputs, inputs = weight.shape[0] // groups, weight.shape[1]
    size, area = math.prod(spatial), math.prod(shape)
    check_stored(weight.shape[0] * area * inputs * positions.shape[1])
    channel = np.arange(inputs)[:, None] * size
    seen = np.where(positions[:, None, :] >= 0, positions[:, None, :] + channel, -1)
    seen = seen.reshape(area, -1)
    columns = np.broadcast_to(seen, (outputs, *seen.shape)).reshape(outputs * area, -1)
    blocks = []
    for group in range(groups):
        kernel = weight[group * outputs : (group + 1) * outputs].reshape(outputs, 1, -1)
        numbers = np.broadcast_to(kernel, (outputs, area, kernel.shape[-1]))
        blocks.append(_sparse_rows(columns, numbers.reshape(outputs * area, -1), inputs * size))
    matrix = blocks[0] if groups == 1 else sp.csr_array(sp.block_diag(blocks, format="csr"))
    return shape, matrix


def convolution(
    x: Expression,
    weight: NDArray[Any],
    bias: NDArray[Any] | None,
    window: Window,
    *,
    groups: int = 1,
    transposed: bool = False,
    output_padding: Sequence[int] = (),
) -> Value:
    """A convolution in any number of dimensions, or a transposed one.

    The input has shape (batch, channels, …) or (channels, …). The window's kernel is that of the
    weight.
    """
    numbers = finite(weight, "the weight of a convolution")
    dims = numbers.ndim - 2
    batched = x if x.ndim == dims + 2 else x.reshape((1, *x.shape))
    batch, channels, spatial = batched.shape[0], batched.shape[1], batched.shape[2:]
    expected = numbers.shape[0] if transposed else numbers.shape[1] * groups
    if len(spatial) != dims or channels != expected or numbers.shape[0] % groups:
        raise ModelImportError(
            f"a convolution with weights of shape {numbers.shape} in {groups} groups does not fit "
            f"a tensor of shape {x.shape}"
        )
    if transposed:
        extra = output_padding or [0] * dims
        shape, matrix = _transposed_matrix(spatial, numbers, window, groups, extra)
        filters = numbers.shape[1] * groups
    else:
        shape, matrix = conv_matrix(spatial, numbers, window, groups)
        filters = numbers.shape[0]
    lead = () if batched is not x else (batch,)
    result: Value = x.apply(_repeated(matrix, batch), check_shape((*lead, filters, *shape)))
    if bias is None:
        return result
    return add(result, finite(bias, "the bias of a convolution").reshape(-1, *[1] * dims))


def _transposed_matrix(
    spatial: Shape, weight: FloatArray, window: Window, groups: int, extra: Sequence[int]
) -> tuple[Shape, sp.csr_array]:
    """A transposed convolution is the transpose of the convolution the other way."""
    shape = check_shape(
        [
            (n - 1) * s - before - after + d * (k - 1) + 1 + more
            for n, s, (before, after), d, k, more in zip(
                spatial,
                window.stride,
                window.pads,
                window.dilation,
                window.kernel,
                extra,
                strict=True,
            )
        ]
    )
    counts, forward = conv_matrix(shape, weight, window, groups)
    # Output padding may make room for windows that the input does not have.
    at = np.arange(forward.shape[0]).reshape(weight.shape[0], *counts)
    kept = at[(slice(None), *(slice(0, n) for n in spatial))].ravel()
    if kept.size != weight.shape[0] * math.prod(spatial):
        raise ModelImportError("the padding of a transposed convolution does not fit its input")
    return shape, sp.csr_array(forward[kept].T)


def _repeated(matrix: sp.csr_array, times: int) -> sp.csr_array:
    """The same matrix for every example or channel."""
    return matrix if times == 1 else sp.csr_array(sp.kron(sp.eye_array(times), matrix))


# --- means and sums -----------------------------------------------------------------------------


def average_pool(
    x: Expression, window: Window, *, count_padding: bool = True, divisor: int | None = None
) -> Expression:
    """Means over windows of the last axes."""
    dims = len(window.kernel)
    spatial, lead = x.shape[-dims:], x.shape[: x.ndim - dims]
    shape, positions = windows(spatial, window)
    counts = (positions >= (-1 if count_padding else 0)).sum(axis=1).astype(np.float64)
    if divisor is not None:
        counts = np.full(len(positions), float(divisor))
    numbers = np.broadcast_to((1.0 / counts)[:, None], positions.shape)
    matrix = _sparse_rows(positions, numbers, math.prod(spatial))
    return x.apply(_repeated(matrix, math.prod(lead)), (*lead, *shape))


def adaptive_average_pool(x: Expression, sizes: Sequence[int | None]) -> Expression:
    """Means over the last axes, in as many windows as asked for (torch's rule)."""
    spatial, lead = x.shape[x.ndim - len(sizes) :], x.shape[: x.ndim - len(sizes)]
    matrix = sp.csr_array(np.eye(1))
    shape = []
    for n, wanted in zip(spatial, sizes, strict=True):
        m = n if wanted is None else int(wanted)
        rows = np.zeros((m, n))
        for i, span in enumerate(adaptive_spans(n, m)):
            rows[i, span.start : span.stop] = 1.0 / len(span)
        matrix = sp.csr_array(sp.kron(matrix, sp.csr_array(rows)))
        shape.append(m)
    return x.apply(_repeated(matrix, math.prod(lead)), (*lead, *shape))


def adaptive_spans(n: int, m: int) -> list[range]:
    """The entries that each of m windows over an axis of length n sees.

    Examples
    --------
    >>> adaptive_spans(5, 2)
    [range(0, 3), range(2, 5)]
    """
    return [range((i * n) // m, -(-(i + 1) * n // m)) for i in range(m)]


def reduce(value: Value, axes: Sequence[int] | None, *, keep: bool, mean: bool) -> Value:
    """Sum or mean over axes (None: over all).

    Examples
    --------
    >>> reduce(Expression.of_layer(0, (1, 2)), [1], keep=False, mean=True).terms[0].toarray()
    array([[0.5, 0.5]])
    """
    if axes is None:
        axes = range(value.ndim)
    chosen = tuple(sorted({int(axis) % max(value.ndim, 1) for axis in axes}))
    if not isinstance(value, Expression):
        function = np.mean if mean else np.sum
        return np.asarray(function(value, axis=chosen, keepdims=keep))
    if value.ndim == 0:
        return value
    last = [axis for axis in range(value.ndim) if axis not in chosen]
    shape = tuple(value.shape[axis] for axis in last)
    at = np.arange(value.size).reshape(value.shape).transpose([*last, *chosen])
    columns = at.reshape(math.prod(shape), -1)
    numbers = np.full(columns.shape, 1.0 / columns.shape[1] if mean else 1.0)
    kept = tuple(1 if axis in chosen else n for axis, n in enumerate(value.shape))
    return value.apply(_sparse_rows(columns, numbers, value.size), kept if keep else shape)


def batch_norm(
    value: Value,
    *,
    weight: NDArray[Any] | None,
    bias: NDArray[Any] | None,
    mean: NDArray[Any],
    variance: NDArray[Any],
    epsilon: float,
) -> Value:
    """Batch normalisation with fixed statistics: one factor and one offset for every channel."""
    factor = 1.0 / np.sqrt(finite(variance, "a running variance") + epsilon)
    if weight is not None:
        factor = factor * finite(weight, "the weight of a batch normalisation")
    offset = -finite(mean, "a running mean") * factor
    if bias is not None:
        offset = offset + finite(bias, "the bias of a batch normalisation")
    shape = (-1, *[1] * (value.ndim - 2))
    return add(scale(value, factor.reshape(shape)), offset.reshape(shape))
