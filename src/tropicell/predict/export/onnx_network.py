"""ONNX graphs node by node, and a network's forward pass in one."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from tropicell.errors import require
from tropicell.network.activations import Activation
from tropicell.network.layers import Affine
from tropicell.network.network import Network

Number = Literal["double", "float"]

#: The version of the operators, and of the file format that goes with it.
OPSET, FORMAT = 17, 8


def onnx_module() -> ModuleType:
    """The package onnx, or an error that says how to install it."""
    return require("onnx", extra="onnx", why="writing ONNX")


class Graph:
    """Nodes and constants of a graph in the making; all names are made here.

    Parameters
    ----------
    number : {"double", "float"}
        Type of all numbers.
    prefix : str
        What all names begin with.
    """

    def __init__(self, number: Number, prefix: str = "") -> None:
        self.onnx = onnx_module()
        self.number, self.prefix = number, prefix
        self.dtype = np.dtype(np.float64 if number == "double" else np.float32)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """A node with one output; its name is returned."""
        name = f"{self.prefix}{operator}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def constant(self, values: Any, dtype: Any = None) -> str:
        """A constant array, by default of the graph's type of numbers; its name is returned."""
        name = f"{self.prefix}constant_{len(self.constants)}"
        array = np.array(values, dtype=self.dtype if dtype is None else dtype, order="C")
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def value(self, name: str, *shape: int | str, dtype: Any = None) -> Any:
        """An input or output of the graph."""
        helper = self.onnx.helper
        kind = helper.np_dtype_to_tensor_dtype(self.dtype if dtype is None else np.dtype(dtype))
        return helper.make_tensor_value_info(name, kind, shape)

    def finished(self, name: str, inputs: list[Any], outputs: list[Any]) -> Any:
        """The graph."""
        return self.onnx.helper.make_graph(self.nodes, name, inputs, outputs, self.constants)

    def model(self, name: str, inputs: list[Any], outputs: list[Any]) -> Any:
        """A checked model."""
        helper = self.onnx.helper
        model = helper.make_model(
            self.finished(name, inputs, outputs),
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=FORMAT,
            producer_name="tropicell",
        )
        self.onnx.checker.check_model(model)
        return model


def network_to_onnx(network: Network, *, number: Number = "double") -> Any:
    """A network as an ONNX model with the input ``x`` and the output ``y``.

    Parameters
    ----------
    network : Network
    number : {"double", "float"}

    Returns
    -------
    onnx.ModelProto

    Examples
    --------
    >>> model = network_to_onnx(Network.mlp([[[1.0]], [[2.0]]]))
    >>> [node.op_type for node in model.graph.node]
    ['Gemm', 'Relu', 'Gemm', 'Identity']
    """
    graph = Graph(number)
    graph.nodes.append(
        graph.onnx.helper.make_node("Identity", [forward_pass(graph, network, "x")], ["y"])
    )
    return graph.model(
        "network",
        [graph.value("x", "points", network.n_inputs)],
        [graph.value("y", "points", network.n_outputs)],
    )


def forward_pass(graph: Graph, network: Network, x: str, *, watched: bool = False) -> str:
    """Add a network's forward pass; the name of its output is returned.

    If `watched`, all outputs are nan for points where a number on the way is infinite or nan: a
    later neuron could hide it.
    """
    layers, lost = [x], [x]
    if network.float_embedding is not None:
        embedding = Affine({0: network.float_embedding.matrix}, network.float_embedding.offset)
        layers = [_affine(graph, embedding, layers)]
        lost.append(layers[0])
    for layer in network.layers:
        lost.append(_affine(graph, layer.affine, layers))
        layers.append(_activation(graph, layer.activation, lost[-1]))
    y = _affine(graph, network.output, layers)
    if watched:
        axes = graph.constant([1], np.int64)
        for numbers in lost:  # their differences with themselves are 0, or nan
            nothing = graph.add("ReduceSum", graph.add("Sub", numbers, numbers), axes, keepdims=1)
            y = graph.add("Add", y, nothing)
    return y


def _affine(graph: Graph, affine: Affine, layers: list[str]) -> str:
    total = graph.constant(affine.bias[None])
    terms = affine.terms or {0: np.zeros((affine.width, 0))}
    for source, matrix in terms.items():
        dense = matrix.toarray() if isinstance(matrix, sp.csr_array) else matrix
        total = graph.add("Gemm", layers[source], graph.constant(dense.T), total)
    return total


def _activation(graph: Graph, activation: Activation, z: str) -> str:
    if _is_relu(activation):
        return graph.add("Relu", z)
    value = _piece(graph, activation, 0, z)
    for index, bends in enumerate(activation.breakpoints.T, start=1):
        beyond = graph.add("Greater", z, graph.constant(bends[None]))
        value = graph.add("Where", beyond, _piece(graph, activation, index, z), value)
    return value


def _piece(graph: Graph, activation: Activation, index: int, z: str) -> str:
    slopes, offsets = activation.slopes[None, :, index], activation.intercepts[None, :, index]
    scaled = graph.add("Mul", z, graph.constant(slopes))
    return graph.add("Add", scaled, graph.constant(offsets))


def _is_relu(activation: Activation) -> bool:
    return bool(
        activation.slopes.shape[1] == 2
        and (activation.breakpoints == 0).all()
        and (activation.slopes == [0, 1]).all()
        and (activation.intercepts == 0).all()
    )
