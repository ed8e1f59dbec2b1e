"""Linear operators as matrices on flattened tensors: products, convolutions, means, pools."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tropicell._runtime.arrays import FloatArray, IndexArray
from tropicell.errors import ModelImportError
from tropicell.geometry.arithmetic import Matrix
from tropicell.geometry.convolutions import LARGE_CONVOLUTION, Convolution
from tropicell.importers.expressions import (
    Expression,
    Outline,
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
    full = (*shape, inner)

    def matrix_of_all() -> Matrix:
        at = np.arange(x.size).reshape(rows.shape)[..., :, None, :]
        columns = np.broadcast_to(at, full).reshape(-1, inner)
        numbers = np.broadcast_to(np.swapaxes(weights, -1, -2)[..., None, :, :], full)
        return _sparse_rows(columns, numbers.reshape(-1, inner), x.size)

    return _applied(x, public, math.prod(full), matrix_of_all)


def _applied(x: Expression, shape: Shape, stored: int, make: Callable[[], Matrix]) -> Expression:
    """A linear map, of which an outline only writes down the size."""
    check_stored(stored)
    if isinstance(x, Outline):
        return x.moved(shape, stored)
    return x.apply(make(), check_shape(shape))


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
    shape = window_counts(spatial, window)
    check_stored(math.prod(shape) * math.prod(window.kernel))
    axes = [_axis_windows(axis, n, window, shape[axis]) for axis, n in enumerate(spatial)]
    flat = np.zeros((1, 1), dtype=np.intp)
    for n, axis in zip(spatial, axes, strict=True):
        rows, inside = flat.shape
        outer, inner = flat[:, None, :, None], axis[None, :, None, :]
        lowest = np.minimum(outer, inner)
        joined = np.where(lowest >= 0, outer * n + inner, lowest)
        flat = joined.reshape(rows * axis.shape[0], inside * axis.shape[1])
    return shape, flat


def window_counts(spatial: Shape, window: Window) -> Shape:
    """How many windows there are along each axis: the spatial shape of the output.

    Examples
    --------
    >>> window_counts((5, 4), Window([2, 3], [2, 1], [(0, 0), (1, 1)], [1, 1]))
    (2, 4)
    """
    counts = []
    for axis, n in enumerate(spatial):
        k, s, d = window.kernel[axis], window.stride[axis], window.dilation[axis]
        before, after = window.pads[axis]
        if min(k, s, d) < 1 or min(before, after) < 0:
            raise ModelImportError(
                f"a window needs sizes of at least 1 and padding of 0, got {window}"
            )
        room = n + before + after - d * (k - 1) - 1
        count = (-(-room // s) if window.ceil_mode else room // s) + 1
        if window.ceil_mode and (count - 1) * s >= n + before:
            count -= 1  # a window may not start in the padding on the right
        if count < 1:
            raise ModelImportError(
                f"a window of size {list(window.kernel)} does not fit on an axis of length {n}"
            )
        check_shape((count, k))
        counts.append(count)
    return check_shape(counts)


def _axis_windows(axis: int, n: int, window: Window, count: int) -> IndexArray:
    """Positions along one axis of length n, one row for each window."""
    k, s, d = window.kernel[axis], window.stride[axis], window.dilation[axis]
    before, after = window.pads[axis]
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
    filters = numbers.shape[1] * groups if transposed else numbers.shape[0]
    # every number of the kernel once for each place where it is used
    places = spatial
    if transposed:
        shape = _transposed_shape(spatial, window, output_padding or [0] * dims)
    else:
        shape = places = window_counts(spatial, window)

    def matrix_of_all() -> Matrix:
        if transposed:
            return _repeated(_transposed_matrix(spatial, shape, numbers, window, groups), batch)
        return _repeated(conv_matrix(spatial, numbers, window, groups)[1], batch)

    lead = () if batched is not x else (batch,)
    stored = batch * math.prod(places) * numbers.size
    result: Value
    if stored >= LARGE_CONVOLUTION and x.whole and batch == groups == 1 and not transposed:
        parts = numbers, spatial, window.stride, window.pads, window.dilation
        result = x.apply(Convolution(*parts), check_shape((*lead, filters, *shape)))
    else:
        result = _applied(x, (*lead, filters, *shape), stored, matrix_of_all)
    if bias is None:
        return result
    return add(result, finite(bias, "the bias of a convolution").reshape(-1, *[1] * dims))


def _transposed_shape(spatial: Shape, window: Window, extra: Sequence[int]) -> Shape:
    """Spatial output shape of a transposed convolution."""
    return check_shape(
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


def _transposed_matrix(
    spatial: Shape, shape: Shape, weight: FloatArray, window: Window, groups: int
) -> sp.csr_array:
    """A transposed convolution is the transpose of the convolution the other way."""
    counts, forward = conv_matrix(shape, weight, window, groups)
    # Output padding may make room for windows that the input does not have.
    at = np.arange(forward.shape[0]).reshape(weight.shape[0], *counts)
    kept = at[(slice(None), *(slice(0, n) for n in spatial))].ravel()
    if kept.size != weight.shape[0] * math.prod(spatial):
        raise ModelImportError("the padding of a transposed convolution does not fit its input")
    return sp.csr_array(forward[kept].T)


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

    def matrix_of_all() -> Matrix:
        _, positions = windows(spatial, window)
        counts = (positions >= (-1 if count_padding else 0)).sum(axis=1).astype(np.float64)
        if not counts.all():
            raise ModelImportError("the mean of nothing: a window lies in the padding")
        if divisor is not None:
            counts = np.full(len(positions), float(divisor))
        numbers = np.broadcast_to((1.0 / counts)[:, None], positions.shape)
        matrix = _sparse_rows(positions, numbers, math.prod(spatial))
        return _repeated(matrix, math.prod(lead))

    shape = (*lead, *window_counts(spatial, window))
    return _applied(x, shape, math.prod(shape) * math.prod(window.kernel), matrix_of_all)


def adaptive_average_pool(x: Expression, sizes: Sequence[int | None]) -> Expression:
    """Means over the last axes, in as many windows as asked for (torch's rule)."""
    matrices = []
    for n, wanted in zip(x.shape[x.ndim - len(sizes) :], sizes, strict=True):
        m = n if wanted is None else int(wanted)
        rows = np.zeros((m, n))
        for i, span in enumerate(adaptive_spans(n, m)):
            rows[i, span.start : span.stop] = 1.0 / len(span)
        matrices.append(rows)
    return along_axes(x, matrices)


def along_axes(x: Expression, matrices: Sequence[FloatArray]) -> Expression:
    """A matrix for each of the last axes, applied along it.

    Examples
    --------
    >>> along_axes(Expression.of_layer(0, (1, 2)), [np.array([[0.5, 0.5]])]).terms[0].toarray()
    array([[0.5, 0.5]])
    """
    lead = x.shape[: x.ndim - len(matrices)]
    stored = math.prod(lead) * math.prod(int(np.count_nonzero(rows)) for rows in matrices)

    def matrix_of_all() -> Matrix:
        matrix = sp.csr_array(np.eye(1))
        for rows in matrices:
            matrix = sp.csr_array(sp.kron(matrix, sp.csr_array(rows)))
        return _repeated(matrix, math.prod(lead))

    return _applied(x, (*lead, *(len(rows) for rows in matrices)), stored, matrix_of_all)


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
    kept = tuple(1 if axis in chosen else n for axis, n in enumerate(value.shape))

    def matrix_of_all() -> Matrix:
        at = np.arange(value.size).reshape(value.shape).transpose([*last, *chosen])
        columns = at.reshape(math.prod(shape), -1)
        numbers = np.full(columns.shape, 1.0 / columns.shape[1] if mean else 1.0)
        return _sparse_rows(columns, numbers, value.size)

    return _applied(value, kept if keep else shape, value.size, matrix_of_all)


def einsum(equation: str, operands: Sequence[Value]) -> Value:
    """Einstein's summation, of which one factor may depend on the input.

    Examples
    --------
    >>> x = Expression.of_layer(0, (1, 2))
    >>> einsum("bi,oi->bo", [x, np.array([[1.0, 2.0]])]).terms[0].toarray()
    array([[1., 2.]])
    """
    if all(is_constant(value) for value in operands):
        return np.asarray(np.einsum(equation, *[np.asarray(value) for value in operands]))
    places = [i for i, value in enumerate(operands) if not is_constant(value)]
    if len(places) > 1:
        raise TypeError("one factor of a product at most may depend on the input")
    inputs, output = _labels(equation, [value.ndim for value in operands])
    sizes: dict[str, int] = {}
    for labels, value in zip(inputs, operands, strict=True):
        for label, n in zip(labels, value.shape, strict=True):
            if sizes.setdefault(label, n) not in (n, 1) and n != 1:
                raise ModelImportError(
                    f"einsum: the axes {label!r} have lengths {sizes[label]}, {n}"
                )
            sizes[label] = max(sizes[label], n)
    order = [*output, *(label for label in sizes if label not in output)]
    full = [sizes[label] for label in order]
    x = as_expression(operands[places[0]])
    shape = tuple(sizes[label] for label in output)

    def spread(array: NDArray[Any], labels: str) -> NDArray[Any]:
        """An array over all labels, in one order."""
        at = np.ix_(*(np.arange(n) for n in full)) if full else ()
        index = tuple(
            at[order.index(label)] if n > 1 else 0 * at[order.index(label)]
            for label, n in zip(labels, array.shape, strict=True)
        )
        return np.broadcast_to(array[index], full)

    def matrix_of_all() -> Matrix:
        numbers = np.ones(full)
        for i, (labels, value) in enumerate(zip(inputs, operands, strict=True)):
            if i != places[0]:
                numbers = numbers * spread(finite(value, "a factor"), labels)
        columns = spread(np.arange(x.size).reshape(x.shape), inputs[places[0]])
        rows = math.prod(shape)
        return _sparse_rows(columns.reshape(rows, -1), numbers.reshape(rows, -1), x.size)

    return _applied(x, shape, math.prod(full), matrix_of_all)


def _labels(equation: str, ndims: Sequence[int]) -> tuple[list[str], str]:
    """The labels of the axes of all factors and of the result, an ellipsis spelled out."""
    left, arrow, output = equation.replace(" ", "").partition("->")
    inputs = left.split(",")
    if len(inputs) != len(ndims):
        raise ModelImportError(f"einsum {equation!r} needs {len(inputs)} factors, got {len(ndims)}")
    unused = [chr(code) for code in range(0x3B1, 0x3B1 + 64)]  # Greek letters, no letters of users
    counts = [n - len(text.replace("...", "")) for text, n in zip(inputs, ndims, strict=True)]
    longest = max([0, *(n for text, n in zip(inputs, counts, strict=True) if "..." in text)])
    dots = "".join(unused[:longest])
    inputs = [
        text.replace("...", dots[longest - n :]) for text, n in zip(inputs, counts, strict=True)
    ]
    if not arrow:
        joined = "".join(inputs)
        once = [label for label in sorted(set(joined) - set(dots)) if joined.count(label) == 1]
        return inputs, dots + "".join(once)
    return inputs, output.replace("...", dots)


def scatter_add(value: Value, source: Value, positions: IndexArray) -> Value:
    """`value` with the entries of `source` added at flat positions, several at one if need be.

    Examples
    --------
    >>> scatter_add(np.zeros(2), np.array([1.0, 2.0, 3.0]), np.array([0, 1, 0]))
    array([4., 2.])
    """
    if positions.size and not -1 < positions.min() <= positions.max() < math.prod(value.shape):
        raise ModelImportError("an index of a scattered sum is out of range")
    if is_constant(source):
        sums = np.zeros(math.prod(value.shape))
        np.add.at(sums, positions.ravel(), np.ravel(source))
        return add(value, sums.reshape(value.shape))
    x = as_expression(source)

    def matrix_of_all() -> Matrix:
        entries = (np.ones(x.size), (positions.ravel(), np.arange(x.size)))
        return sp.csr_array(entries, shape=(math.prod(value.shape), x.size))

    return add(value, _applied(x, value.shape, x.size, matrix_of_all))


def fold(value: Value, image: Shape, window: Window) -> Value:
    """Windows put back and added up where they overlap: what unfold does, transposed.

    The value has the shape (…, channels · entries of a window, windows), the result (…, channels,
    *image).

    Examples
    --------
    >>> fold(np.array([[1.0, 2.0], [3.0, 4.0]]), (3,), Window([2], [1], [(0, 0)], [1]))
    array([[1., 5., 4.]])
    """
    _, positions = windows(image, window)
    count, entries = positions.shape
    size = math.prod(image)
    *outer, rows, columns = value.shape
    if rows % entries or columns != count:
        raise ModelImportError(f"{tuple(value.shape)} are not windows of an image of shape {image}")
    shape = (*outer, rows // entries)
    check_shape((*shape, *image))
    starts = size * np.arange(math.prod(shape))[:, None, None]
    at = np.where(positions.T >= 0, starts + positions.T, -1).ravel()
    inside = np.flatnonzero(at >= 0)
    kept = take(value, lambda here: here.ravel()[inside])
    return scatter_add(np.zeros((*shape, *image)), kept, at[inside])


#: Where the place of an entry of a resized axis is on the old one: (place, old length, new length,
#: scale) to place, as ONNX defines it.
_PLACES: dict[str, Callable[[FloatArray, int, int, float], FloatArray]] = {
    "half_pixel": lambda at, n, m, scale: (at + 0.5) / scale - 0.5,
    "half_pixel_symmetric": lambda at, n, m, scale: (
        n / 2 * (1 - m / (scale * n)) + (at + 0.5) / scale - 0.5
    ),
    "pytorch_half_pixel": lambda at, n, m, scale: (at + 0.5) / scale - 0.5 if m > 1 else 0 * at,
    "align_corners": lambda at, n, m, scale: at * (n - 1) / (m - 1) if m > 1 else 0 * at,
    "asymmetric": lambda at, n, m, scale: at / scale,
    "tf_half_pixel_for_nn": lambda at, n, m, scale: (at + 0.5) / scale,
}

_NEAREST: dict[str, Callable[[FloatArray], FloatArray]] = {
    "round_prefer_floor": lambda at: np.ceil(at - 0.5),
    "round_prefer_ceil": lambda at: np.floor(at + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


def resize_matrix(
    n: int,
    m: int,
    scale: float,
    *,
    mode: str,
    places: str,
    nearest: str = "round_prefer_floor",
    cubic: float = -0.75,
    exclude_outside: bool = False,
    antialias: bool = False,
) -> FloatArray:
    """The matrix of shape (m, n) that resizes an axis of length n to m, by ONNX's rules.

    Examples
    --------
    >>> resize_matrix(2, 3, 1.5, mode="linear", places="align_corners")
    array([[1. , 0. ],
           [0.5, 0.5],
           [0. , 1. ]])
    """
    if (
        places not in _PLACES
        or nearest not in _NEAREST
        or mode not in ("nearest", "linear", "cubic")
    ):
        raise ModelImportError(f"resizing by {mode!r}, {places!r}, {nearest!r} is not supported")
    # The nearest entry may hang on rounding: float32, as in onnxruntime.
    kind: Any = np.float32 if mode == "nearest" else np.float64
    at = _PLACES[places](np.arange(m, dtype=kind), n, m, kind(scale))
    matrix: FloatArray = np.zeros((m, n))
    if antialias and mode != "nearest" and scale < 1:
        # The filter is as much wider as entries get fewer.
        beyond = math.ceil(2 / scale) + 1
        place = np.arange(-beyond, n + beyond)
        apart = np.abs(place - at[:, None]) * scale
        smooth = np.where(apart < 2, _cubic_weight(apart, cubic), 0.0)
        weights = np.maximum(1 - apart, 0) if mode == "linear" else smooth
        if exclude_outside:
            weights[:, (place < 0) | (place >= n)] = 0.0
        np.add.at(matrix.T, np.clip(place, 0, n - 1), weights.T)
        matrix /= matrix.sum(axis=1, keepdims=True)
        return matrix
    if mode == "nearest":
        matrix[np.arange(m), np.clip(_NEAREST[nearest](at), 0, n - 1).astype(int)] = 1.0
        return matrix
    start = np.floor(at)
    part = at - start
    if mode == "linear":
        taps = {0: 1 - part, 1: part}
    else:
        taps = {shift: _cubic_weight(np.abs(part - shift), cubic) for shift in (-1, 0, 1, 2)}
    for shift, weight in taps.items():
        column = (start + shift).astype(int)
        inside = (column >= 0) & (column < n)
        kept = np.where(inside, weight, 0.0) if exclude_outside else weight
        np.add.at(matrix, (np.arange(m), np.clip(column, 0, n - 1)), kept)
    return matrix / matrix.sum(axis=1, keepdims=True) if exclude_outside else matrix


def _cubic_weight(x: FloatArray, a: float) -> FloatArray:
    """Weight of a neighbour at distance x in cubic convolution."""
    near = (a + 2) * x**3 - (a + 3) * x**2 + 1
    far = a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a
    return np.where(x <= 1, near, far)


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
    spread = finite(variance, "a running variance") + epsilon
    if np.any(spread <= 0):
        raise ModelImportError("a running variance of a batch normalisation is negative")
    factor = 1.0 / np.sqrt(spread)
    if weight is not None:
        factor = factor * finite(weight, "the weight of a batch normalisation")
    offset = -finite(mean, "a running mean") * factor
    if bias is not None:
        offset = offset + finite(bias, "the bias of a batch normalisation")
    shape = (-1, *[1] * (value.ndim - 2))
    return add(scale(value, factor.reshape(shape)), offset.reshape(shape))
