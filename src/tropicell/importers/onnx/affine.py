"""Handlers for ONNX operators: affine ones; see `onnx_node`."""

from __future__ import annotations

import numpy as np

from tropicell.errors import UnsupportedOperatorError
from tropicell.importers import lowering, shapes
from tropicell.importers.builder import Builder
from tropicell.importers.expressions import Expression, Value, add, is_constant, scale
from tropicell.importers.onnx.node import Node, axes_of, handles, window_of
from tropicell.importers.operators import PRODUCT_ADVICE, REFUSED


@handles("Gemm")
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


@handles("AveragePool")
def _average_pool(_: Builder, node: Node) -> Value:
    window = window_of(node, node.get("kernel_shape", []))
    return lowering.average_pool(
        node.x, window, count_padding=bool(node.get("count_include_pad", 0))
    )


@handles("GlobalAveragePool")
def _global_average(_: Builder, node: Node) -> Value:
    return lowering.reduce(node.x, range(2, node.x.ndim), keep=True, mean=True)


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


@handles("Mul")
def _mul(_: Builder, node: Node) -> Value:
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


@handles("Neg")
def _neg(_: Builder, node: Node) -> Value:
    return scale(node.x, np.asarray(-1.0))
