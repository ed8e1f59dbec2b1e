"""Handlers for ONNX operators: piecewise-linear ones; see `onnx_node`."""

from __future__ import annotations

import numpy as np

from tropicell.errors import UnsupportedOperatorError
from tropicell.importers import nonlinear
from tropicell.importers.builder import Builder
from tropicell.importers.expressions import Value
from tropicell.importers.onnx.node import Node, axes_of, handles, window_of
from tropicell.network import activations

#: ONNX keeps numbers of attributes in float32, its defaults too.
_ALPHA = {"LeakyRelu": float(np.float32(0.01)), "HardSigmoid": float(np.float32(0.2))}


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
    axes = range(2, node.x.ndim)
    return nonlinear.reduce_extreme(builder, node.x, axes, node.name, keep=True)


@handles("ReduceMax", "ReduceMin")
def _reduce_extreme(builder: Builder, node: Node) -> Value:
    axes = axes_of(node)
    if axes == []:
        return node.x  # type: ignore[no-any-return]
    keep, largest = bool(node.get("keepdims", 1)), node.operator == "ReduceMax"
    return nonlinear.reduce_extreme(builder, node.x, axes, node.name, keep=keep, largest=largest)
