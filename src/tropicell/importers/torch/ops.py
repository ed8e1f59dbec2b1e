"""All handlers for ATen operators together."""

from __future__ import annotations

from tropicell.importers.builder import Builder
from tropicell.importers.expressions import Value
from tropicell.importers.operators import at_node
from tropicell.importers.torch import activations as torch_activations
from tropicell.importers.torch import affine as torch_affine
from tropicell.importers.torch import shapes as torch_shapes
from tropicell.importers.torch.registry import Args, registry

__all__ = ["MODULES", "registry", "run"]

#: The modules register their handlers when they are imported.
MODULES = (torch_affine, torch_shapes, torch_activations)


def run(builder: Builder, operator: str, arguments: Args, name: str) -> list[Value | None]:
    """Call the handler of one operator; always a list of results."""
    if operator.startswith(("reflection_pad", "replication_pad")):
        mode = "reflect" if operator.startswith("refl") else "replicate"
        arguments = {**arguments, "__mode__": mode}
    with at_node(name, operator):
        result = registry.handlers[operator](builder, arguments, name)
    return result if isinstance(result, list) else [result]
