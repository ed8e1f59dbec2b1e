"""A network as a torch module or an ONNX model: layers, skips, activations, all as they are."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.sparse as sp

from tropicell._runtime.arrays import FloatArray
from tropicell.errors import require
from tropicell.geometry.arithmetic import Matrix
from tropicell.geometry.convolutions import Convolution
from tropicell.network.activations import Activation
from tropicell.network.layers import Affine

if TYPE_CHECKING:
    from tropicell.network.network import Network

# --- torch ----------------------------------------------------------------------------------------


def network_to_torch(network: Network) -> Any:
    """A network as a torch module in float64; see `Network.to_torch`.

    Parameters
    ----------
    network : Network

    Returns
    -------
    torch.nn.Module

    Examples
    --------
    >>> from tropicell import Network
    >>> import torch
    >>> module = network_to_torch(Network.mlp([[[1.0]], [[2.0]]]))
    >>> module(torch.tensor([[3.0]], dtype=torch.float64)).tolist()
    [[6.0]]
    """
    torch = require("torch", extra="torch", why="making a torch module")

    class Filters(torch.nn.Module):  # type: ignore[name-defined, misc]
        """A convolution of flat rows."""

        def __init__(self, convolution: Convolution) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.tensor(convolution.weight))
            self.stride, self.dilation = convolution.stride, convolution.dilation
            self.pads = [n for pair in reversed(convolution.pads) for n in pair]
            self.shape = (convolution.channels, *convolution.spatial)
            axes = len(convolution.spatial)
            self.convolve = getattr(torch.nn.functional, f"conv{axes}d")

        def forward(self, x: Any) -> Any:
            padded = torch.nn.functional.pad(x.reshape(-1, *self.shape), self.pads)
            how = {"stride": self.stride, "dilation": self.dilation}
            return self.convolve(padded, self.weight, **how).flatten(1)

    class Affines(torch.nn.Module):  # type: ignore[name-defined, misc]
        """A sum of matrices applied to layers, plus a bias."""

        def __init__(self, affine: Affine) -> None:
            super().__init__()
            self.bias = torch.nn.Parameter(torch.tensor(affine.bias))
            self.terms = torch.nn.ParameterDict(
                {
                    str(source): torch.nn.Parameter(torch.tensor(_dense(matrix)))
                    for source, matrix in affine.operators.items()
                    if not isinstance(matrix, Convolution)
                }
            )
            self.filters = torch.nn.ModuleDict(
                {
                    str(source): Filters(matrix)
                    for source, matrix in affine.operators.items()
                    if isinstance(matrix, Convolution)
                }
            )

        def forward(self, values: list[Any]) -> Any:
            total = self.bias.expand(len(values[0]), -1)
            for source, matrix in self.terms.items():
                total = total + values[int(source)] @ matrix.T
            for source, filters in self.filters.items():
                total = total + filters(values[int(source)])
            return total

    class Bends(torch.nn.Module):  # type: ignore[name-defined, misc]
        """A piecewise-linear activation."""

        def __init__(self, activation: Activation) -> None:
            super().__init__()
            self.relu = _is_relu(activation)
            self.register_buffer("breakpoints", torch.tensor(_finite_breakpoints(activation)))
            self.register_buffer("slopes", torch.tensor(activation.slopes))
            self.register_buffer("intercepts", torch.tensor(activation.intercepts))

        def forward(self, z: Any) -> Any:
            if self.relu:
                return torch.relu(z)
            value = self.slopes[:, 0] * z + self.intercepts[:, 0]
            for index in range(self.breakpoints.shape[1]):
                piece = self.slopes[:, index + 1] * z + self.intercepts[:, index + 1]
                value = torch.where(z > self.breakpoints[:, index], piece, value)
            return value

    class PiecewiseLinear(torch.nn.Module):  # type: ignore[name-defined, misc]
        """Layers that are affine maps of any earlier ones, with activations."""

        def __init__(self) -> None:
            super().__init__()
            embedding = network.float_embedding
            self.embedding = None
            if embedding is not None:
                self.embedding = Affines(Affine({0: embedding.matrix}, embedding.offset))
            self.affine = torch.nn.ModuleList(Affines(layer.affine) for layer in network.layers)
            self.bends = torch.nn.ModuleList(Bends(layer.activation) for layer in network.layers)
            self.output = Affines(network.output)

        def forward(self, x: Any) -> Any:
            values = [x if self.embedding is None else self.embedding([x])]
            for affine, bends in zip(self.affine, self.bends, strict=True):
                values.append(bends(affine(values)))
            return self.output(values)

    return PiecewiseLinear()


def _dense(matrix: Matrix) -> FloatArray:
    return np.array(matrix.toarray() if isinstance(matrix, sp.csr_array) else matrix)


def _finite_breakpoints(activation: Activation) -> FloatArray:
    """Breakpoints with numbers in place of the padding, where both pieces are the same."""
    breakpoints = np.array(activation.breakpoints)
    for column in range(breakpoints.shape[1]):
        before = breakpoints[:, column - 1] if column else np.zeros(len(breakpoints))
        padded = np.isinf(breakpoints[:, column])
        breakpoints[padded, column] = (before + np.maximum(1.0, np.abs(before)))[padded]
    return breakpoints


# --- ONNX graphs node by node, and a network's forward pass in one --------------------------------

Number = Literal["double", "float"]

#: The version of the operators, and of the file format that goes with it.
OPSET, FORMAT = 17, 8


def onnx_module() -> ModuleType:
    """The package onnx, or an error that says how to install it."""
    return require("onnx", extra="onnx", why="writing ONNX")


class GraphWriter:
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
    >>> from tropicell import Network
    >>> model = network_to_onnx(Network.mlp([[[1.0]], [[2.0]]]))
    >>> [node.op_type for node in model.graph.node]
    ['Gemm', 'Relu', 'Gemm', 'Identity']
    """
    graph = GraphWriter(number)
    graph.nodes.append(
        graph.onnx.helper.make_node("Identity", [forward_pass(graph, network, "x")], ["y"])
    )
    return graph.model(
        "network",
        [graph.value("x", "points", network.n_inputs)],
        [graph.value("y", "points", network.n_outputs)],
    )


def forward_pass(graph: GraphWriter, network: Network, x: str, *, watched: bool = False) -> str:
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


def _affine(graph: GraphWriter, affine: Affine, layers: list[str]) -> str:
    total = graph.constant(affine.bias[None])
    terms = affine.operators or {0: np.zeros((affine.width, 0))}
    for source, matrix in terms.items():
        if isinstance(matrix, Convolution):
            total = graph.add("Add", _filters(graph, matrix, layers[source]), total)
            continue
        total = graph.add("Gemm", layers[source], graph.constant(_dense(matrix).T), total)
    return total


def _filters(graph: GraphWriter, convolution: Convolution, x: str) -> str:
    """A convolution of flat rows."""
    shape = graph.constant([-1, convolution.channels, *convolution.spatial], np.int64)
    found = graph.add(
        "Conv",
        graph.add("Reshape", x, shape),
        graph.constant(convolution.weight),
        strides=convolution.stride,
        dilations=convolution.dilation,
        pads=[n for side in zip(*convolution.pads, strict=True) for n in side],
    )
    return graph.add("Flatten", found, axis=1)


def _activation(graph: GraphWriter, activation: Activation, z: str) -> str:
    if _is_relu(activation):
        return graph.add("Relu", z)
    value = _piece(graph, activation, 0, z)
    for index, bends in enumerate(_finite_breakpoints(activation).T, start=1):
        beyond = graph.add("Greater", z, graph.constant(bends[None]))
        value = graph.add("Where", beyond, _piece(graph, activation, index, z), value)
    return value


def _piece(graph: GraphWriter, activation: Activation, index: int, z: str) -> str:
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
