"""All handlers for ONNX operators together."""

from __future__ import annotations

from tropicell.importers.builder import Builder
from tropicell.importers.expressions import Value
from tropicell.importers.onnx import activations as onnx_activations
from tropicell.importers.onnx import affine as onnx_affine
from tropicell.importers.onnx import shapes as onnx_shapes
from tropicell.importers.onnx.node import Node, registry
from tropicell.importers.operators import at_node

__all__ = ["MODULES", "Node", "registry", "run"]

#: The modules register their handlers when they are imported.
MODULES = (onnx_affine, onnx_shapes, onnx_activations)


def run(builder: Builder, node: Node) -> list[Value | None]:
    """Call the handler of one node; always a list of results."""
    with at_node(node.name, node.operator):
        result = registry.handlers[node.operator](builder, node)
    return result if isinstance(result, list) else [result]
