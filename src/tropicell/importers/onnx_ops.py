"""Handlers for ONNX operators: nodes with their inputs as values, attributes as Python values.

A handler gets the builder and a `Node`, and returns one value, or a list for several results. It
is only called if an input depends on the model's input: the rest is constant and is run by onnx.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tropicell import activations
from tropicell.errors import ModelImportError, UnsupportedOperatorError
from tropicell.importers import lowering, nonlinear, shapes
from tropicell.importers.builder import Builder
from tropicell.importers.expressions import (
    Expression,
    Value,
    add,
    is_constant,
    scale,
)
from tropicell.importers.lowering import Window
from tropicell.importers.operators import PRODUCT_ADVICE, REFUSED, Registry


@dataclass(frozen=True)
class Node:
    """One node of a graph, with its inputs resolved."""

    operator: str
    inputs: list[Value | None]
    attributes: dict[str, Any]
    name: str
    n_outputs: int

    @property
    def x(self) -> Any:
        """The first input."""
        return self.inputs[0]

    @property
    def pair(self) -> tuple[Value, Value]:
        """The first two inputs."""
        return _given(self.inputs[0]), _given(self.inputs[1])

    def constant(self, index: int, what: str) -> Any:
        """An optional input that must not depend on the model's input."""
        value = self.inputs[index] if index < len(self.inputs) else None
        if isinstance(value, Expression):
            raise UnsupportedOperatorError(
                self.operator, self.name, f"its {what} depends on the input; it must be constant"
            )
        return value

    def numbers(self, attribute: str, index: int) -> list[int] | None:
        """Whole numbers that are an attribute in old operator sets, an input in new ones."""
        if attribute in self.attributes:
            return [int(n) for n in self.attributes[attribute]]
        value = self.constant(index, attribute)
        return None if value is None else [int(n) for n in np.ravel(value)]

    def get(self, attribute: str, default: Any) -> Any:
        """An attribute, or its default."""
        return self.attributes.get(attribute, default)


def _given(value: Value | None) -> Value:
    if value is None:
        raise ModelImportError("an input that is not optional is missing")
    return value


OnnxHandler = Callable[[Builder, Node], "Value | list[Value | None]"]

registry: Registry[OnnxHandler] = Registry("onnx")
_handles = registry.handles

#: ONNX keeps numbers of attributes in float32, its defaults too.
_ALPHA = {"LeakyRelu": float(np.float32(0.01)), "HardSigmoid": float(np.float32(0.2))}


# --- affine ---------------------------------------------------------------------------------------


@_handles("Gemm")
def _gemm(_: Builder, node: Node) -> Value:
    left, right = node.pair
    if not (is_constant(left) or is_constant(right)):
        raise UnsupportedOperatorError("Gemm", node.name, PRODUCT_ADVICE)
    left = shapes.transpose(left, None) if node.get("transA", 0) else left
    right = shapes.transpose(right, None) if node.get("transB", 0) else right
    result = lowering.matmul(left, right)
    if node.get("alpha", 1.0) != 1.0:
        result = scale(result, np.asarray(float(node.get("alpha", 1.0))))
    offset = node.inputs[2] if len(node.inputs) > 2 else None
    return result if offset is None else add(result, offset, scale=float(node.get("beta", 1.0)))


@_handles("MatMul")
def _matmul(_: Builder, node: Node) -> Value:
    left, right = node.pair
    if not (is_constant(left) or is_constant(right)):
        raise UnsupportedOperatorError("MatMul", node.name, PRODUCT_ADVICE)
    return lowering.matmul(left, right)


def _window(node: Node, kernel: Sequence[int]) -> Window:
    dims = len(kernel)
    stride = node.get("strides", [1] * dims)
    dilation = node.get("dilations", [1] * dims)
    pads = _pads(node, kernel, stride, dilation)
    return Window(kernel, stride, pads, dilation, bool(node.get("ceil_mode", 0)))


def _pads(
    node: Node, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> list[tuple[int, int]]:
    """Padding before and after every spatial axis."""
    dims = len(kernel)
    mode = node.get("auto_pad", "NOTSET")
    if mode in ("NOTSET", ""):
        pads = node.get("pads", [0] * 2 * dims)
        return list(zip(pads[:dims], pads[dims:], strict=True))
    if mode == "VALID":
        return [(0, 0)] * dims
    result = []
    for n, k, s, d in zip(node.x.shape[2:], kernel, stride, dilation, strict=True):
        total = max((-(-n // s) - 1) * s + d * (k - 1) + 1 - n, 0)
        small, large = total // 2, total - total // 2
        result.append((small, large) if mode == "SAME_UPPER" else (large, small))
    return result


@_handles("Conv", "ConvTranspose")
def _conv(_: Builder, node: Node) -> Value:
    weight = node.constant(1, "weight")
    transposed = node.operator == "ConvTranspose"
    fixed = "output_shape" not in node.attributes and node.get("auto_pad", "NOTSET") == "NOTSET"
    if transposed and not fixed:
        raise UnsupportedOperatorError(
            "ConvTranspose", node.name, "output_shape and auto_pad are not supported; use pads"
        )
    return lowering.convolution(
        node.x,
        weight,
        node.constant(2, "bias"),
        _window(node, weight.shape[2:]),
        groups=int(node.get("group", 1)),
        transposed=transposed,
        output_padding=node.get("output_padding", ()),
    )


@_handles("BatchNormalization")
def _batch_norm(_: Builder, node: Node) -> list[Value | None]:
    if node.get("training_mode", 0):
        advice = next(row.advice for row in REFUSED if row.name.startswith("batch norm"))
        raise UnsupportedOperatorError("BatchNormalization (training mode)", node.name, advice)
    weight, bias, mean, variance = (node.constant(i, "statistics") for i in range(1, 5))
    epsilon = float(node.get("epsilon", np.float32(1e-5)))
    return [
        lowering.batch_norm(
            node.x, weight=weight, bias=bias, mean=mean, variance=variance, epsilon=epsilon
        )
    ]


@_handles("AveragePool")
def _average_pool(_: Builder, node: Node) -> Value:
    window = _window(node, node.get("kernel_shape", []))
    return lowering.average_pool(
        node.x, window, count_padding=bool(node.get("count_include_pad", 0))
    )


@_handles("GlobalAveragePool")
def _global_average(_: Builder, node: Node) -> Value:
    return lowering.reduce(node.x, range(2, node.x.ndim), keep=True, mean=True)


def _axes(node: Node) -> list[int] | None:
    axes = node.numbers("axes", 1)
    if not axes:
        return [] if node.get("noop_with_empty_axes", 0) else None
    return axes


@_handles("ReduceMean", "ReduceSum")
def _reduce(_: Builder, node: Node) -> Value:
    axes = _axes(node)
    if axes == []:
        return node.x  # type: ignore[no-any-return]
    mean = node.operator == "ReduceMean"
    return lowering.reduce(node.x, axes, keep=bool(node.get("keepdims", 1)), mean=mean)


@_handles("CumSum")
def _cumsum(_: Builder, node: Node) -> Value:
    return shapes.cumulative_sum(
        node.x,
        int(np.ravel(node.constant(1, "axis"))[0]),
        exclusive=bool(node.get("exclusive", 0)),
        reverse=bool(node.get("reverse", 0)),
    )


@_handles("Add", "Sum")
def _add(_: Builder, node: Node) -> Value:
    total, *others = [value for value in node.inputs if value is not None]
    for other in others:
        total = add(total, other)
    return total


@_handles("Sub")
def _sub(_: Builder, node: Node) -> Value:
    left, right = node.pair
    return add(left, right, scale=-1.0)


@_handles("Mul")
def _mul(_: Builder, node: Node) -> Value:
    left, right = node.pair
    if is_constant(right):
        return scale(left, right)
    if is_constant(left):
        return scale(right, left)
    raise UnsupportedOperatorError("Mul", node.name, PRODUCT_ADVICE)


@_handles("Div")
def _div(_: Builder, node: Node) -> Value:
    if isinstance(node.inputs[1], Expression):
        raise UnsupportedOperatorError("Div", node.name, PRODUCT_ADVICE)
    with np.errstate(divide="ignore"):
        return scale(node.x, 1.0 / np.asarray(node.inputs[1], dtype=np.float64))


@_handles("Neg")
def _neg(_: Builder, node: Node) -> Value:
    return scale(node.x, np.asarray(-1.0))


# --- shapes ---------------------------------------------------------------------------------------


@_handles("Reshape")
def _reshape(_: Builder, node: Node) -> Value:
    shape = node.numbers("shape", 1) or []
    if not node.get("allowzero", 0):
        shape = [node.x.shape[i] if n == 0 else n for i, n in enumerate(shape)]
    return shapes.reshape(node.x, shape)


@_handles("Flatten")
def _flatten(_: Builder, node: Node) -> Value:
    axis = int(node.get("axis", 1))
    rows = int(np.prod(node.x.shape[:axis] if axis else (), dtype=int))
    return shapes.reshape(node.x, [rows, node.x.size // max(rows, 1)])


@_handles("Transpose")
def _transpose(_: Builder, node: Node) -> Value:
    return shapes.transpose(node.x, node.get("perm", None))


@_handles("Squeeze")
def _squeeze(_: Builder, node: Node) -> Value:
    return shapes.squeeze(node.x, node.numbers("axes", 1))


@_handles("Unsqueeze")
def _unsqueeze(_: Builder, node: Node) -> Value:
    return shapes.unsqueeze(node.x, node.numbers("axes", 1) or [])


@_handles("Expand")
def _expand(_: Builder, node: Node) -> Value:
    return shapes.expand(node.x, node.numbers("shape", 1) or [])


@_handles("Tile")
def _tile(_: Builder, node: Node) -> Value:
    return shapes.tile(node.x, node.numbers("repeats", 1) or [])


@_handles("Concat")
def _concat(_: Builder, node: Node) -> Value:
    return shapes.concatenate([v for v in node.inputs if v is not None], int(node.get("axis", 0)))


@_handles("Split")
def _split(_: Builder, node: Node) -> list[Value | None]:
    axis = int(node.get("axis", 0))
    sizes = node.numbers("split", 1)
    if sizes is None:
        length, count = node.x.shape[axis], int(node.get("num_outputs", node.n_outputs))
        sizes = shapes.chunks(length, -(-length // count))
    return [*shapes.split(node.x, sizes, axis)]


@_handles("Slice")
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


@_handles("Gather")
def _gather(_: Builder, node: Node) -> Value:
    return shapes.gather(node.x, node.constant(1, "index"), int(node.get("axis", 0)))


@_handles("Pad")
def _pad(_: Builder, node: Node) -> Value:
    numbers = node.numbers("pads", 1) or []
    axes = node.numbers("axes", 3) or list(range(node.x.ndim))
    fill = node.attributes["value"] if "value" in node.attributes else node.constant(2, "value")
    pairs = [(0, 0)] * node.x.ndim
    for axis, before, after in zip(axes, numbers[: len(axes)], numbers[len(axes) :], strict=True):
        pairs[axis] = (before, after)
    return shapes.pad(node.x, pairs, node.get("mode", "constant"), fill)


@_handles("Where")
def _where(_: Builder, node: Node) -> Value:
    condition, yes, no = node.inputs
    return nonlinear.where(_given(condition), _given(yes), _given(no), "Where", node.name)


@_handles("Identity")
def _identity(_: Builder, node: Node) -> Value:
    return node.x  # type: ignore[no-any-return]


@_handles("Dropout")
def _dropout(_: Builder, node: Node) -> list[Value | None]:
    training = node.constant(2, "training mode")
    if training is not None and bool(np.ravel(training)[0]):
        raise UnsupportedOperatorError(
            "Dropout (training mode)", node.name, "its output is random; export in eval mode"
        )
    return [node.x, None]


@_handles("Cast")
def _cast(_: Builder, node: Node) -> Value:
    if int(node.get("to", 1)) not in (1, 10, 11, 16):  # float32, float16, float64, bfloat16
        raise UnsupportedOperatorError(
            "Cast", node.name, "a cast of the input to whole numbers or truth values jumps"
        )
    return node.x  # type: ignore[no-any-return]


@_handles("Shape")
def _shape(_: Builder, node: Node) -> Value:
    shape = np.asarray(node.x.shape, dtype=np.int64)
    return shape[slice(node.get("start", None), node.get("end", None))]


@_handles("Size")
def _size(_: Builder, node: Node) -> Value:
    return np.asarray(node.x.size, dtype=np.int64)


# --- activations ----------------------------------------------------------------------------------


@_handles("Relu")
def _relu(builder: Builder, node: Node) -> Value:
    return builder.activate(node.x, activations.relu(), node.name)


@_handles("LeakyRelu")
def _leaky_relu(builder: Builder, node: Node) -> Value:
    slope = float(node.get("alpha", _ALPHA["LeakyRelu"]))
    return builder.activate(node.x, activations.leaky_relu(slope), node.name)


@_handles("PRelu")
def _prelu(builder: Builder, node: Node) -> Value:
    return nonlinear.prelu(builder, node.x, node.constant(1, "slope"), node.name)


@_handles("Clip")
def _clip(builder: Builder, node: Node) -> Value:
    low = node.attributes["min"] if "min" in node.attributes else node.constant(1, "bound")
    high = node.attributes["max"] if "max" in node.attributes else node.constant(2, "bound")
    return nonlinear.clip(builder, node.x, low, high, node.name)


@_handles("Abs")
def _abs(builder: Builder, node: Node) -> Value:
    return builder.activate(node.x, activations.absolute(), node.name)


@_handles("HardSigmoid")
def _hard_sigmoid(builder: Builder, node: Node) -> Value:
    alpha = float(node.get("alpha", _ALPHA["HardSigmoid"]))
    activation = activations.hard_sigmoid(alpha, float(node.get("beta", 0.5)))
    return builder.activate(node.x, activation, node.name)


@_handles("Shrink")
def _shrink(builder: Builder, node: Node) -> Value:
    threshold, bias = float(node.get("lambd", 0.5)), float(node.get("bias", 0.0))
    if threshold != bias:
        raise UnsupportedOperatorError(
            "Shrink", node.name, "it jumps unless its bias equals its lambd"
        )
    return builder.activate(node.x, activations.soft_shrink(threshold), node.name)


@_handles("Max", "Min")
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


@_handles("MaxPool")
def _max_pool(builder: Builder, node: Node) -> list[Value | None]:
    window = _window(node, node.get("kernel_shape", []))
    return [nonlinear.max_pool(builder, node.x, window, node.name), None]


@_handles("GlobalMaxPool")
def _global_max(builder: Builder, node: Node) -> Value:
    axes = range(2, node.x.ndim)
    return nonlinear.reduce_extreme(builder, node.x, axes, node.name, keep=True)


@_handles("ReduceMax", "ReduceMin")
def _reduce_extreme(builder: Builder, node: Node) -> Value:
    axes = _axes(node)
    if axes == []:
        return node.x  # type: ignore[no-any-return]
    keep, largest = bool(node.get("keepdims", 1)), node.operator == "ReduceMax"
    return nonlinear.reduce_extreme(builder, node.x, axes, node.name, keep=keep, largest=largest)


def run(builder: Builder, node: Node) -> list[Value | None]:
    """Call the handler of one node; always a list of results."""
    try:
        result = registry.handlers[node.operator](builder, node)
    except (ValueError, IndexError, TypeError, AttributeError) as error:
        if isinstance(error, ModelImportError):
            raise
        raise ModelImportError(
            f"{node.name}: operator {node.operator!r} could not be read: {error}"
        ) from error
    return result if isinstance(result, list) else [result]
