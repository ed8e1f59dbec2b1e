"""Handlers for ONNX operators: those that move entries around; see `onnx_node`."""

from __future__ import annotations

import numpy as np

from tropicell.errors import UnsupportedOperatorError
from tropicell.importers import nonlinear, shapes
from tropicell.importers.builder import Builder
from tropicell.importers.expressions import Value, take
from tropicell.importers.onnx.node import Node, given, handles


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


@handles("Where")
def _where(_: Builder, node: Node) -> Value:
    condition, yes, no = node.inputs
    return nonlinear.where(given(condition), given(yes), given(no), "Where", node.name)


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


@handles("Cast")
def _cast(_: Builder, node: Node) -> Value:
    if int(node.get("to", 1)) not in (1, 10, 11, 16):  # float32, float16, float64, bfloat16
        raise UnsupportedOperatorError(
            "Cast", node.name, "a cast of the input to whole numbers or truth values jumps"
        )
    return node.x  # type: ignore[no-any-return]


@handles("Shape")
def _shape(_: Builder, node: Node) -> Value:
    shape = np.asarray(node.x.shape, dtype=np.int64)
    return shape[slice(node.get("start", None), node.get("end", None))]


@handles("Size")
def _size(_: Builder, node: Node) -> Value:
    return np.asarray(node.x.size, dtype=np.int64)
