"""The piecewise-affine function as an ONNX graph: a tree of cuts, then one affine map."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from tropicell._runtime.durable import replacing
from tropicell._runtime.paths import path_of
from tropicell.errors import InvalidInputError
from tropicell.network.export import GraphWriter, Number, forward_pass
from tropicell.predict.cut_tree import CutTree, largest_size, single_precision, split_domain
from tropicell.regions.given import as_regions
from tropicell.regions.regions import Regions


def to_onnx(
    regions: Regions,
    path: str | os.PathLike[str] | None = None,
    *,
    number: Number = "double",
    forward: bool = True,
) -> Any:
    """Write the network on a domain as an ONNX graph that finds the region and applies its map.

    Parameters
    ----------
    regions : Regions
        All regions of a network on a domain.
    path : str or path-like, optional
        Where to write the model; default: it is only returned.
    number : {"double", "float"}
        The type of input and output.
    forward : bool
        Put the network itself into the graph, too; it is used if a point lies outside the domain,
        or so close to a boundary that rounding errors hide on which side it is. Without it, points
        at a boundary get the map of a region there, and points outside get nan.

    Returns
    -------
    onnx.ModelProto
        The input is ``x``, of shape (points, inputs); the outputs are ``y``, of shape (points,
        outputs), and ``region``, whole numbers, -1 outside the domain. It is -1, too, where a point
        is not finite, or so large (about 1e280; 1e27 for float) that a test could overflow. Then
        ``y`` is nan if the point is not finite or the graph has no network; else it is what the
        network gives, and nan if that overflows, too.

    Notes
    -----
    The tests of the tree (see `tropicell.predict.cut_tree`) are unrolled, level by level; every
    level gathers one row for each point. So the work is that of the tree's levels, not of all
    regions.

    Examples
    --------
    >>> from tropicell import Box, Network, enumerate_regions
    >>> network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
    >>> model = to_onnx(enumerate_regions(network, Box(-1, 1)))
    >>> [output.name for output in model.graph.output]
    ['y', 'region']
    """
    regions = as_regions(regions)
    if number not in ("double", "float"):
        raise InvalidInputError(f"number must be 'double' or 'float', not {number!r}")
    model = _Graph(regions, number, forward).model()
    if path is not None:
        with replacing(path_of(path)) as temporary:
            temporary.write_bytes(model.SerializeToString())
    return model


class _Graph:
    """The parts of the graph; every method adds nodes and returns names."""

    def __init__(self, regions: Regions, number: Number, forward: bool) -> None:
        self.regions, self.network = regions, regions.network
        self.graph = GraphWriter(number)
        self.tree = CutTree.of(regions)
        self.low, self.high, self.domain = split_domain(regions)
        self.rows = self.tree.rows
        if number == "float":
            self.rows, self.domain = single_precision(self.rows), single_precision(self.domain)
        self.forward = forward
        largest = float(np.finfo(np.float32 if number == "float" else np.float64).max) / 1e8
        self.limit = largest_size([self.rows, self.domain, regions.affine_maps], largest)
        self.sure: list[str] = []
        self.inside: list[str] = []

    def model(self) -> Any:
        graph = self.graph
        absolute = graph.add("Abs", "x")
        sizes = graph.add("ReduceMax", absolute, axes=[1], keepdims=0)
        self.size = graph.add("Max", sizes, graph.constant(1.0))
        small = graph.add("LessOrEqual", absolute, graph.constant(self.limit))  # nan is not
        self.inside.append(self.in_all_columns(small))
        self.domain_tests()
        region = self.search()
        y = self.complete(self.map_of(region))
        outside = graph.constant(-1, np.int64)
        region = graph.add("Where", self.all_of(self.inside), region, outside)
        for name, result in (("y", y), ("region", region)):
            graph.nodes.append(graph.onnx.helper.make_node("Identity", [result], [name]))
        return graph.model(
            "piecewise_affine",
            [graph.value("x", "points", self.network.n_inputs)],
            [
                graph.value("y", "points", self.network.n_outputs),
                graph.value("region", "points", dtype=np.int64),
            ],
        )

    def domain_tests(self) -> None:
        graph = self.graph
        if np.isfinite([self.low, self.high]).any():
            above = graph.add("GreaterOrEqual", "x", graph.constant(self.low[None]))
            below = graph.add("LessOrEqual", "x", graph.constant(self.high[None]))
            self.inside.append(self.in_all_columns(graph.add("And", above, below)))
        if len(self.domain):
            matrix, offset = self.domain[:, :-1].T, self.domain[None, :, -1]
            values = graph.add("Gemm", "x", graph.constant(matrix), graph.constant(offset))
            lowest = graph.add("ReduceMin", values, axes=[1], keepdims=0)
            minus = graph.add("Neg", self.size)
            self.inside.append(graph.add("GreaterOrEqual", lowest, minus))
            self.sure.append(graph.add("Greater", lowest, self.size))

    def search(self) -> str:
        """The region of every point: level by level, regions lead to themselves."""
        graph, nodes = self.graph, len(self.rows)
        shape = graph.add("Shape", "x", start=0, end=1)
        zero = graph.onnx.helper.make_tensor("zero", graph.onnx.TensorProto.INT64, [1], [0])
        node = graph.add("ConstantOfShape", shape, value=zero)
        if nodes == 0:
            return node
        count = len(self.regions)
        largest = float(np.finfo(np.float32).max) / 4
        leaves = np.arange(nodes, nodes + count)
        matrix = np.concatenate([self.rows[:, :-1], np.zeros((count, self.rows.shape[1] - 1))])
        rows = graph.constant(matrix)
        offsets = graph.constant(np.concatenate([self.rows[:, -1], np.full(count, largest)]))
        children = self.tree.children.astype(np.int64)
        inner = np.where(children >= 0, children, nodes - 1 - children)
        following = np.concatenate([inner, np.stack([leaves, leaves], axis=1)]).ravel()
        links = graph.constant(following, np.int64)
        two, axes = graph.constant(2, np.int64), graph.constant([1], np.int64)
        zero_number = graph.constant(0.0)
        for _ in range(self.tree.levels):
            products = graph.add("Mul", graph.add("Gather", rows, node), "x")
            sums = graph.add("ReduceSum", products, axes, keepdims=0)
            value = graph.add("Add", sums, graph.add("Gather", offsets, node))
            self.sure.append(graph.add("Greater", graph.add("Abs", value), self.size))
            positive = graph.add("Greater", value, zero_number)
            side = graph.add("Cast", positive, to=graph.onnx.TensorProto.INT64)
            place = graph.add("Add", graph.add("Mul", node, two), side)
            node = graph.add("Gather", links, place)
        return graph.add("Sub", node, graph.constant(nodes, np.int64))

    def map_of(self, region: str) -> str:
        """Every point's value under its region's map."""
        graph, maps = self.graph, self.regions.affine_maps
        matrices = graph.add("Gather", graph.constant(maps[:, :, :-1]), region)
        points = graph.add("Unsqueeze", "x", graph.constant([1], np.int64))
        products = graph.add("Mul", matrices, points)
        sums = graph.add("ReduceSum", products, graph.constant([2], np.int64), keepdims=0)
        return graph.add("Add", sums, graph.add("Gather", graph.constant(maps[:, :, -1]), region))

    def complete(self, y: str) -> str:
        """The network's values where the tree does not give any."""
        graph = self.graph
        needed = [*self.inside, *self.sure] if self.forward else self.inside
        good = graph.add("Unsqueeze", self.all_of(needed), graph.constant([1], np.int64))
        if not self.forward:
            return graph.add("Where", good, y, graph.constant(np.nan))
        bad = graph.add("Cast", graph.add("Not", good), to=graph.onnx.TensorProto.INT64)
        count = graph.add("ReduceSum", bad, keepdims=0)
        some = graph.add("Greater", count, graph.constant(0, np.int64))
        with_network = GraphWriter(graph.number, "network_")
        values = forward_pass(with_network, self.network, "x", watched=True)
        chosen = with_network.add("Where", good, y, values)
        without = GraphWriter(graph.number, "tree_")
        same = without.add("Identity", y)
        shape = ("points", self.network.n_outputs)
        return graph.add(
            "If",
            some,
            then_branch=with_network.finished("rest", [], [with_network.value(chosen, *shape)]),
            else_branch=without.finished("all", [], [without.value(same, *shape)]),
        )

    def all_of(self, conditions: list[str]) -> str:
        result = conditions[0]
        for condition in conditions[1:]:
            result = self.graph.add("And", result, condition)
        return result

    def in_all_columns(self, condition: str) -> str:
        graph = self.graph
        whole = graph.add("Cast", condition, to=graph.onnx.TensorProto.INT32)
        least = graph.add("ReduceMin", whole, axes=[1], keepdims=0)
        return graph.add("Cast", least, to=graph.onnx.TensorProto.BOOL)
