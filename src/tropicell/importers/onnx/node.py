"""A node of an ONNX graph as its handler sees it, and where handlers are registered.

A handler gets the builder and a `Node`, and returns one value, or a list for several results. It
is only called if an input depends on the model's input: the rest is constant and is run by onnx.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tropicell.errors import ModelImportError, UnsupportedOperatorError
from tropicell.importers.builder import Builder
from tropicell.importers.expressions import Expression, Value
from tropicell.importers.lowering import Window
from tropicell.importers.operators import Registry


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
        return given(self.inputs[0]), given(self.inputs[1])

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


def given(value: Value | None) -> Value:
    """An input that is not optional, or an error."""
    if value is None:
        raise ModelImportError("an input that is not optional is missing")
    return value


OnnxHandler = Callable[[Builder, Node], "Value | list[Value | None]"]

registry: Registry[OnnxHandler] = Registry("onnx")
handles = registry.handles


def window_of(node: Node, kernel: Sequence[int]) -> Window:
    """The window that a convolution or pool moves."""
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
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        raise ModelImportError(f"auto_pad is {mode!r}; expected SAME_UPPER, SAME_LOWER or VALID")
    result = []
    for n, k, s, d in zip(node.x.shape[2:], kernel, stride, dilation, strict=True):
        total = max((-(-n // s) - 1) * s + d * (k - 1) + 1 - n, 0)
        small, large = total // 2, total - total // 2
        result.append((small, large) if mode == "SAME_UPPER" else (large, small))
    return result


def axes_of(node: Node) -> list[int] | None:
    """The axes of a reduction: None for all of them, [] for none."""
    axes = node.numbers("axes", 1)
    if not axes:
        return [] if node.get("noop_with_empty_axes", 0) else None
    return axes
