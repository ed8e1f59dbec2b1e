"""Handlers for ONNX operators, one function each: activations, affine maps, moved entries.

What a handler gets and returns says `tropicell.importers.onnx.node`; which operators there are, and
how they are written, says the table in `tropicell.importers.operators`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tropicell.errors import ModelImportError, UnsupportedOperatorError
from tropicell.importers import lowering, nonlinear, shapes
from tropicell.importers.builder import Builder
from tropicell.importers.expressions import (
    Condition,
    Expression,
    Value,
    add,
    broadcast,
    check_shape,
    is_constant,
    join,
    scale,
    take,
)
from tropicell.importers.onnx.node import Node, axes_of, given, handles, registry, window_of
from tropicell.importers.operators import POWER_ADVICE, PRODUCT_ADVICE, REFUSED, at_node
from tropicell.network import activations

#: ONNX keeps numbers of attributes in float32, its defaults too.
_ALPHA = {"LeakyRelu": float(np.float32(0.01)), "HardSigmoid": float(np.float32(0.2))}

# --- piecewise-linear operators -------------------------------------------------------------------


@handles("Relu")
def _relu(builder: Builder, node: Node) -> Value:
    return builder.activate(node.x, activations.relu(), node.name)


@handles("LeakyRelu")
def _leaky_relu(builder: Builder, node: Node) -> Value:
    slope = float(node.get("alpha", _ALPHA["LeakyRelu"]))
    return builder.activate(node.x, activations.leaky_relu(slope), node.name)


@handles("PRelu")
def _prelu(builder: Builder, node: Node) -> Value:
    return nonlinear.prelu(builder, node.x, node.constant(1, "slope"), node.name)


@handles("Clip")
def _clip(builder: Builder, node: Node) -> Value:
    low = node.attributes["min"] if "min" in node.attributes else node.constant(1, "bound")
    high = node.attributes["max"] if "max" in node.attributes else node.constant(2, "bound")
    return nonlinear.clip(builder, node.x, low, high, node.name)


@handles("Abs")
def _abs(builder: Builder, node: Node) -> Value:
    return builder.activate(node.x, activations.absolute(), node.name)


@handles("HardSigmoid")
def _hard_sigmoid(builder: Builder, node: Node) -> Value:
    alpha = float(node.get("alpha", _ALPHA["HardSigmoid"]))
    activation = activations.hard_sigmoid(alpha, float(node.get("beta", 0.5)))
    return builder.activate(node.x, activation, node.name)


@handles("Shrink")
def _shrink(builder: Builder, node: Node) -> Value:
    threshold, bias = float(node.get("lambd", 0.5)), float(node.get("bias", 0.0))
    if threshold != bias:
        raise UnsupportedOperatorError(
            "Shrink", node.name, "it jumps unless its bias equals its lambd"
        )
    return builder.activate(node.x, activations.soft_shrink(threshold), node.name)


@handles("Max", "Min")
def _extreme(builder: Builder, node: Node) -> Value:
    pairwise = nonlinear.maximum if node.operator == "Max" else nonlinear.minimum
    values = [value for value in node.inputs if value is not None]
    # a tournament, as for pools: half as many values in each round
    while len(values) > 1:
        paired = [
            pairwise(builder, a, b, node.name)
            for a, b in zip(values[0::2], values[1::2], strict=False)
        ]
        values = paired + (values[-1:] if len(values) % 2 else [])
    return values[0]


@handles("MaxPool")
def _max_pool(builder: Builder, node: Node) -> list[Value | None]:
    window = window_of(node, node.get("kernel_shape", []))
    return [nonlinear.max_pool(builder, node.x, window, node.name), None]


@handles("GlobalMaxPool")
def _global_max(builder: Builder, node: Node) -> Value:
    return nonlinear.reduce_extreme(builder, node.x, _axes_of_places(node), node.name, keep=True)


def _axes_of_places(node: Node) -> range:
    """The axes behind batch and channels."""
    if node.x.ndim < 3:
        raise ModelImportError(
            f"it pools over the axes behind batch and channels, but shape {node.x.shape} has none"
        )
    return range(2, node.x.ndim)


@handles("ReduceMax", "ReduceMin")
def _reduce_extreme(builder: Builder, node: Node) -> Value:
    axes = axes_of(node)
    if axes == []:
        return node.x  # type: ignore[no-any-return]
    keep, largest = bool(node.get("keepdims", 1)), node.operator == "ReduceMax"
    return nonlinear.reduce_extreme(builder, node.x, axes, node.name, keep=keep, largest=largest)


@handles("ReduceL1")
def _reduce_l1(builder: Builder, node: Node) -> Value:
    axes = axes_of(node)
    if axes == []:
        return builder.activate(node.x, activations.absolute(), node.name)
    keep = bool(node.get("keepdims", 1))
    return nonlinear.vector_norm(
        builder, node.x, 1.0, axes, node.name, keep=keep, operator="ReduceL1"
    )


@handles("TopK")
def _top_k(builder: Builder, node: Node) -> list[Value | None]:
    if not node.get("sorted", 1):
        raise UnsupportedOperatorError(
            "TopK", node.name, "in which order its values come is not defined; use sorted=1"
        )
    axis = int(node.get("axis", -1))
    k = int(np.ravel(node.get("k", node.constant(1, "number of entries")))[0])
    ranks = range(node.x.shape[axis])
    order = ranks[::-1] if node.get("largest", 1) else ranks
    return [nonlinear.sort_along(builder, node.x, axis, order[:k], node.name), None]


#: Signs of comparisons.
_SIGNS = {"Greater": ">", "GreaterOrEqual": ">=", "Less": "<", "LessOrEqual": "<="}


@handles("Greater", "GreaterOrEqual", "Less", "LessOrEqual")
def _comparison(_: Builder, node: Node) -> Any:
    left, right = node.pair
    return nonlinear.compared(left, right, _SIGNS[node.operator], node.operator, node.name)


@handles("Not")
def _not(_: Builder, node: Node) -> Any:
    if not isinstance(node.x, Condition):
        raise UnsupportedOperatorError(
            "Not", node.name, "it asks whether numbers are 0, which jumps; write it with Relu"
        )
    return node.x.opposite()


# --- affine operators -----------------------------------------------------------------------------


@handles("Gemm")
def _gemm(_: Builder, node: Node) -> Value:
    left, right = node.pair
    if not (is_constant(left) or is_constant(right)):
        raise UnsupportedOperatorError("Gemm", node.name, PRODUCT_ADVICE)
    if left.ndim != 2 or right.ndim != 2:
        raise ModelImportError(f"it takes matrices, not shapes {left.shape} and {right.shape}")
    left = shapes.transpose(left, None) if node.get("transA", 0) else left
    right = shapes.transpose(right, None) if node.get("transB", 0) else right
    result = lowering.matmul(left, right)
    if node.get("alpha", 1.0) != 1.0:
        result = scale(result, np.asarray(float(node.get("alpha", 1.0))))
    offset = node.inputs[2] if len(node.inputs) > 2 else None
    return result if offset is None else add(result, offset, scale=float(node.get("beta", 1.0)))


@handles("MatMul")
def _matmul(_: Builder, node: Node) -> Value:
    left, right = node.pair
    if not (is_constant(left) or is_constant(right)):
        raise UnsupportedOperatorError("MatMul", node.name, PRODUCT_ADVICE)
    return lowering.matmul(left, right)


@handles("Conv", "ConvTranspose")
def _conv(_: Builder, node: Node) -> Value:
    weight = node.constant(1, "weight")
    transposed = node.operator == "ConvTranspose"
    kernel = tuple(node.get("kernel_shape", weight.shape[2:]))
    if kernel != weight.shape[2:]:
        raise ModelImportError(f"its kernel_shape is {kernel}, but its weight's {weight.shape[2:]}")
    fixed = "output_shape" not in node.attributes and node.get("auto_pad", "NOTSET") == "NOTSET"
    if transposed and not fixed:
        raise UnsupportedOperatorError(
            "ConvTranspose", node.name, "output_shape and auto_pad are not supported; use pads"
        )
    return lowering.convolution(
        node.x,
        weight,
        node.constant(2, "bias"),
        window_of(node, weight.shape[2:]),
        groups=int(node.get("group", 1)),
        transposed=transposed,
        output_padding=node.get("output_padding", ()),
    )


@handles("BatchNormalization")
def _batch_norm(_: Builder, node: Node) -> list[Value | None]:
    if node.get("training_mode", 0) or node.n_outputs > 1:  # of old models that train
        advice = next(row.advice for row in REFUSED if row.name.startswith("batch norm"))
        raise UnsupportedOperatorError("BatchNormalization (training mode)", node.name, advice)
    if not node.get("spatial", 1):
        raise UnsupportedOperatorError(
            "BatchNormalization (spatial=0)", node.name, "use statistics of whole channels"
        )
    weight, bias, mean, variance = (node.constant(i, "statistics") for i in range(1, 5))
    epsilon = float(node.get("epsilon", np.float32(1e-5)))
    return [
        lowering.batch_norm(
            node.x, weight=weight, bias=bias, mean=mean, variance=variance, epsilon=epsilon
        )
    ]


@handles("AveragePool")
def _average_pool(_: Builder, node: Node) -> Value:
    window = window_of(node, node.get("kernel_shape", []))
    return lowering.average_pool(
        node.x, window, count_padding=bool(node.get("count_include_pad", 0))
    )


@handles("GlobalAveragePool")
def _global_average(_: Builder, node: Node) -> Value:
    return lowering.reduce(node.x, _axes_of_places(node), keep=True, mean=True)


@handles("ReduceMean", "ReduceSum")
def _reduce(_: Builder, node: Node) -> Value:
    axes = axes_of(node)
    if axes == []:
        return node.x  # type: ignore[no-any-return]
    mean = node.operator == "ReduceMean"
    return lowering.reduce(node.x, axes, keep=bool(node.get("keepdims", 1)), mean=mean)


@handles("CumSum")
def _cumsum(_: Builder, node: Node) -> Value:
    return shapes.cumulative_sum(
        node.x,
        int(np.ravel(node.constant(1, "axis"))[0]),
        exclusive=bool(node.get("exclusive", 0)),
        reverse=bool(node.get("reverse", 0)),
    )


@handles("Add", "Sum")
def _add(_: Builder, node: Node) -> Value:
    total, *others = [value for value in node.inputs if value is not None]
    for other in others:
        total = add(total, other)
    return total


@handles("Sub")
def _sub(_: Builder, node: Node) -> Value:
    left, right = node.pair
    return add(left, right, scale=-1.0)


@handles("Einsum")
def _einsum(_: Builder, node: Node) -> Value:
    factors = [given(value) for value in node.inputs]
    if sum(not is_constant(value) for value in factors) > 1:
        raise UnsupportedOperatorError("Einsum", node.name, PRODUCT_ADVICE)
    return lowering.einsum(str(node.get("equation", "")), factors)


@handles("Mean")
def _mean(_: Builder, node: Node) -> Value:
    values = [value for value in node.inputs if value is not None]
    total = values[0]
    for value in values[1:]:
        total = add(total, value)
    return scale(total, np.asarray(1.0 / len(values)))


@handles("Resize", "Upsample")
def _resize(_: Builder, node: Node) -> Value:
    x, rank = node.x, node.x.ndim
    old = node.operator == "Upsample" or len(node.inputs) == 2  # before operator set 11
    attribute = node.attributes.get("scales")
    scales = attribute if attribute is not None else node.constant(1 if old else 2, "scale")
    sizes = None if old else node.constant(3, "size")
    axes = [int(axis) % rank for axis in node.get("axes", range(rank))]
    factors, lengths = [1.0] * rank, list(x.shape)
    if sizes is not None and np.size(sizes):
        if node.get("keep_aspect_ratio_policy", "stretch") != "stretch":
            raise UnsupportedOperatorError(
                "Resize", node.name, "keep_aspect_ratio_policy is not supported; export with sizes"
            )
        for axis, size in zip(axes, np.ravel(sizes).tolist(), strict=True):
            lengths[axis], factors[axis] = int(size), int(size) / x.shape[axis]
    elif scales is not None:
        for axis, factor in zip(axes, np.ravel(scales).tolist(), strict=True):
            length = np.float32(x.shape[axis]) * np.float32(factor)  # rounded, as in onnxruntime
            lengths[axis], factors[axis] = int(np.floor(length)), float(factor)
    check_shape(lengths)
    places = node.get("coordinate_transformation_mode", "asymmetric" if old else "half_pixel")
    if places == "tf_crop_and_resize":
        raise UnsupportedOperatorError(
            "Resize", node.name, "tf_crop_and_resize is not supported; use half_pixel"
        )
    first = next((a for a in range(rank) if lengths[a] != x.shape[a] or factors[a] != 1.0), rank)
    matrices = [
        np.eye(n)
        if m == n and factor == 1.0
        else lowering.resize_matrix(
            n,
            m,
            factor,
            mode=node.get("mode", "nearest"),
            places=places,
            nearest=node.get("nearest_mode", "floor" if old else "round_prefer_floor"),
            cubic=float(node.get("cubic_coeff_a", -0.75)),
            exclude_outside=bool(node.get("exclude_outside", 0)),
            antialias=bool(node.get("antialias", 0)),
        )
        for n, m, factor in list(zip(x.shape, lengths, factors, strict=True))[first:]
    ]
    return lowering.along_axes(x, matrices) if matrices else x


@handles("Mul")
def _mul(builder: Builder, node: Node) -> Value:
    for mask, value in (node.inputs[:2], node.inputs[1::-1]):
        if isinstance(mask, Condition):
            if isinstance(value, Condition):
                raise value.refusal()
            return nonlinear.cases(builder, mask, given(value), "Mul", node.name)
    left, right = node.pair
    if is_constant(right):
        return scale(left, right)
    if is_constant(left):
        return scale(right, left)
    raise UnsupportedOperatorError("Mul", node.name, PRODUCT_ADVICE)


@handles("Div")
def _div(_: Builder, node: Node) -> Value:
    if isinstance(node.inputs[1], Expression):
        raise UnsupportedOperatorError("Div", node.name, PRODUCT_ADVICE)
    with np.errstate(divide="ignore"):
        return scale(node.x, 1.0 / np.asarray(node.inputs[1], dtype=np.float64))


@handles("Pow")
def _power(_: Builder, node: Node) -> Value:
    base, exponent = node.pair
    if isinstance(exponent, Expression) or not np.all(np.asarray(exponent) == 1):
        raise UnsupportedOperatorError("Pow", node.name, POWER_ADVICE)
    return scale(base, np.ones(np.shape(exponent)))


@handles("Neg")
def _neg(_: Builder, node: Node) -> Value:
    return scale(node.x, np.asarray(-1.0))


@handles("RNN")
def _rnn(builder: Builder, node: Node) -> list[Value | None]:
    ways = ["forward", "reverse"] if node.get("direction", "") == "bidirectional" else [""]
    kinds = [k.decode() if isinstance(k, bytes) else k for k in node.get("activations", ["Tanh"])]
    if kinds != ["Relu"] * len(ways) or "clip" in node.attributes or node.get("layout", 0):
        raise UnsupportedOperatorError(
            "RNN", node.name, "only recurrent layers with the activation Relu are piecewise linear"
        )
    weight, recurrent = node.constant(1, "weight"), node.constant(2, "weight")
    bias, lengths = node.constant(3, "bias"), node.constant(4, "list of lengths")
    x, start = given(node.x), node.inputs[5] if len(node.inputs) > 5 else None
    steps = x.shape[0]
    if lengths is not None and not np.all(np.asarray(lengths) == steps):
        raise UnsupportedOperatorError(
            "RNN", node.name, "sequences that end early are not supported"
        )
    sequences: list[Value] = []
    ends: list[Value] = []
    for way in range(len(ways)):
        back = way == 1 or node.get("direction", "forward") == "reverse"
        hidden = None if start is None else take(start, lambda at, k=way: at[k])  # type: ignore[misc]
        found: dict[int, Value] = {}
        for step in reversed(range(steps)) if back else range(steps):
            now = take(x, lambda at, k=step: at[k])  # type: ignore[misc]
            total = lowering.matmul(now, weight[way].T)
            if bias is not None:
                total = add(total, np.add(*np.split(bias[way], 2)))
            if hidden is not None:
                total = add(total, lowering.matmul(hidden, recurrent[way].T))
            hidden = found[step] = builder.activate(total, activations.relu(), node.name)
        sequences.append(join([found[step] for step in range(steps)], np.stack))
        ends.append(given(hidden))
    return [join(sequences, lambda at: np.stack(at, axis=1)), join(ends, np.stack)]


# --- operators that move entries around -----------------------------------------------------------


@handles("Reshape")
def _reshape(_: Builder, node: Node) -> Value:
    shape = node.numbers("shape", 1) or []
    if not node.get("allowzero", 0):
        shape = [node.x.shape[i] if n == 0 else n for i, n in enumerate(shape)]
    return shapes.reshape(node.x, shape)


@handles("Flatten")
def _flatten(_: Builder, node: Node) -> Value:
    axis = int(node.get("axis", 1))
    rows = int(np.prod(node.x.shape[:axis] if axis else (), dtype=int))
    return shapes.reshape(node.x, [rows, node.x.size // max(rows, 1)])


@handles("Transpose")
def _transpose(_: Builder, node: Node) -> Value:
    return shapes.transpose(node.x, node.get("perm", None))


@handles("Squeeze")
def _squeeze(_: Builder, node: Node) -> Value:
    return shapes.squeeze(node.x, node.numbers("axes", 1))


@handles("Unsqueeze")
def _unsqueeze(_: Builder, node: Node) -> Value:
    return shapes.unsqueeze(node.x, node.numbers("axes", 1) or [])


@handles("Expand")
def _expand(_: Builder, node: Node) -> Value:
    return shapes.expand(node.x, node.numbers("shape", 1) or [])


@handles("Tile")
def _tile(_: Builder, node: Node) -> Value:
    return shapes.tile(node.x, node.numbers("repeats", 1) or [])


@handles("Concat")
def _concat(_: Builder, node: Node) -> Value:
    return shapes.concatenate([v for v in node.inputs if v is not None], int(node.get("axis", 0)))


@handles("Split")
def _split(_: Builder, node: Node) -> list[Value | None]:
    axis = int(node.get("axis", 0))
    sizes = node.numbers("split", 1)
    if sizes is None:
        length, count = node.x.shape[axis], int(node.get("num_outputs", node.n_outputs))
        sizes = shapes.chunks(length, -(-length // count))
    return [*shapes.split(node.x, sizes, axis)]


@handles("Slice")
def _slice(_: Builder, node: Node) -> Value:
    starts, ends = node.numbers("starts", 1) or [], node.numbers("ends", 2) or []
    axes = node.numbers("axes", 3) or list(range(len(starts)))
    steps = node.numbers("steps", 4) or [1] * len(starts)
    result: Value = node.x
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        # going backwards past the start is written as a very negative end
        stop = None if step < 0 and end < -result.shape[axis] else end
        result = shapes.part(result, axis, start, stop, step)
    return result


@handles("Gather")
def _gather(_: Builder, node: Node) -> Value:
    return shapes.gather(node.x, node.constant(1, "index"), int(node.get("axis", 0)))


@handles("GatherElements")
def _gather_elements(_: Builder, node: Node) -> Value:
    return shapes.gather_elements(node.x, node.constant(1, "index"), int(node.get("axis", 0)))


@handles("GatherND")
def _gather_nd(_: Builder, node: Node) -> Value:
    indices = np.asarray(node.constant(1, "index"), dtype=np.intp)
    batch = indices.shape[: int(node.get("batch_dims", 0))]
    extra = indices.ndim - 1 - len(batch)
    grid = [
        np.arange(n).reshape([-1 if a == axis else 1 for a in range(len(batch))] + [1] * extra)
        for axis, n in enumerate(batch)
    ]
    where = (*grid, *np.moveaxis(indices, -1, 0))
    return take(node.x, lambda at: at[where])


@handles("Pad")
def _pad(_: Builder, node: Node) -> Value:
    numbers = node.numbers("pads", 1) or []
    axes = node.numbers("axes", 3) or list(range(node.x.ndim))
    fill = node.attributes["value"] if "value" in node.attributes else node.constant(2, "value")
    pairs = [(0, 0)] * node.x.ndim
    for axis, before, after in zip(axes, numbers[: len(axes)], numbers[len(axes) :], strict=True):
        pairs[axis] = (before, after)
    return shapes.pad(node.x, pairs, node.get("mode", "constant"), fill)


@handles("DepthToSpace")
def _depth_to_space(_: Builder, node: Node) -> Value:
    (batch, channels, height, width), k = node.x.shape, int(node.get("blocksize", 1))
    last = channels // k**2
    if node.get("mode", "DCR") == "DCR":
        shape, axes = (batch, k, k, last, height, width), (0, 3, 4, 1, 5, 2)
    else:
        shape, axes = (batch, last, k, k, height, width), (0, 1, 4, 2, 5, 3)
    moved = take(node.x, lambda at: at.reshape(shape).transpose(axes))
    return shapes.reshape(moved, [batch, last, height * k, width * k])


@handles("SpaceToDepth")
def _space_to_depth(_: Builder, node: Node) -> Value:
    (batch, channels, height, width), k = node.x.shape, int(node.get("blocksize", 1))
    shape = (batch, channels, height // k, k, width // k, k)
    moved = take(node.x, lambda at: at.reshape(shape).transpose(0, 3, 5, 1, 2, 4))
    return shapes.reshape(moved, [batch, channels * k**2, height // k, width // k])


@handles("Trilu")
def _trilu(_: Builder, node: Node) -> Value:
    k = node.constant(1, "diagonal")
    part = np.triu if node.get("upper", 1) else np.tril
    kept = part(np.ones(node.x.shape[-2:], bool), 0 if k is None else int(np.ravel(k)[0]))
    return join([node.x, np.zeros(())], lambda at: np.where(kept, at[0], at[1]))


@handles("ScatterND", "ScatterElements")
def _scatter(builder: Builder, node: Node) -> Value:
    x, index = given(node.x), np.asarray(node.constant(1, "index"), dtype=np.intp)
    positions = np.arange(math.prod(x.shape)).reshape(x.shape)
    if node.operator == "ScatterND":
        at = positions[tuple(np.moveaxis(index, -1, 0))]
    else:
        at = np.asarray(shapes.gather_elements(positions, index, int(node.get("axis", 0))))
    updates = broadcast(given(node.inputs[2]), at.shape)
    how = node.get("reduction", "none")
    if how == "add":
        return lowering.scatter_add(x, updates, at)
    if how in ("max", "min"):
        return nonlinear.scatter_extreme(builder, x, updates, at, node.name, largest=how == "max")
    if how != "none":
        raise UnsupportedOperatorError(f"{node.operator} ({how})", node.name, PRODUCT_ADVICE)

    def move(parts: list[Any]) -> Any:
        result = parts[0].copy()
        result.ravel()[at.ravel()] = parts[1].ravel()
        return result

    return join([x, updates], move)


@handles("Col2Im")
def _col2im(_: Builder, node: Node) -> Value:
    image, kernel = node.numbers("image_shape", 1) or [], node.numbers("block_shape", 2) or []
    return lowering.fold(node.x, tuple(image), window_of(node, kernel))


@handles("Where")
def _where(builder: Builder, node: Node) -> Value:
    condition, yes, no = (given(value) for value in node.inputs)
    return nonlinear.where(builder, condition, yes, no, "Where", node.name)


@handles("Identity")
def _identity(_: Builder, node: Node) -> Value:
    return node.x  # type: ignore[no-any-return]


@handles("Dropout")
def _dropout(_: Builder, node: Node) -> list[Value | None]:
    training = node.constant(2, "training mode")
    if training is not None and bool(np.ravel(training)[0]):
        raise UnsupportedOperatorError(
            "Dropout (training mode)", node.name, "its output is random; export in eval mode"
        )
    return [node.x, None]


@handles("CastLike")
def _cast_like(_: Builder, node: Node) -> Value:
    like = node.inputs[1]
    if isinstance(like, np.ndarray) and like.dtype.kind != "f":
        raise UnsupportedOperatorError(
            "CastLike", node.name, "a cast of the input to whole numbers or truth values jumps"
        )
    return given(node.x)


@handles("Cast")
def _cast(_: Builder, node: Node) -> Value:
    if isinstance(node.x, Condition):
        return node.x  # type: ignore[return-value]
    if int(node.get("to", 1)) not in (1, 10, 11, 16):  # float32, float16, float64, bfloat16
        raise UnsupportedOperatorError(
            "Cast", node.name, "a cast of the input to whole numbers or truth values jumps"
        )
    return node.x  # type: ignore[no-any-return]


@handles("IsNaN", "IsInf")
def _never(_: Builder, node: Node) -> Value:
    return np.zeros(node.x.shape, bool)


@handles("Shape")
def _shape(_: Builder, node: Node) -> Value:
    shape = np.asarray(node.x.shape, dtype=np.int64)
    return shape[slice(node.get("start", None), node.get("end", None))]


@handles("Size")
def _size(_: Builder, node: Node) -> Value:
    return np.asarray(node.x.size, dtype=np.int64)


#: Operators that may take what a comparison gives.
_TAKE_CONDITIONS = frozenset({"Where", "Mul", "Not", "Cast", "CastLike", "Identity"})

# --- calling a handler ----------------------------------------------------------------------------


def run(builder: Builder, node: Node) -> list[Value | None]:
    """Call the handler of one node; always a list of results."""
    if node.operator not in _TAKE_CONDITIONS:
        for value in node.inputs:
            if isinstance(value, Condition):
                raise value.refusal()
    with at_node(node.name, node.operator):
        result = registry.handlers[node.operator](builder, node)
    return result if isinstance(result, list) else [result]
