"""Walks over the calls of a torch graph: once to build a network, once to run the model itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from tropicell.errors import ModelImportError, UnsupportedOperatorError, require
from tropicell.importers.builder import Builder
from tropicell.importers.expressions import Expression, Shape, SizeBudget, check_shape
from tropicell.importers.operators import OPERATORS, REFUSED, refusal
from tropicell.importers.torch import ops as torch_ops
from tropicell.importers.torch.graph import Call, Graph, Ref
from tropicell.network.network import Network

#: Makers and functions of constants that may be run by torch though no handler exists for them.
_FOLDED = frozenset(
    {"arange", "full", "zeros", "ones", "empty", "scalar_tensor", "eye", "linspace", "tril", "triu"}
    | {"diag", "outer", "index_put", "fill", "logical_not", "logical_and", "logical_or"}
    | {"prod", "any", "all"}
)
_RANDOM = frozenset(
    s for row in REFUSED if row.name in ("random numbers", "control flow") for s in row.torch
)
_RUNNABLE = (
    _FOLDED
    | frozenset(s for row in OPERATORS for s in row.torch)
    | frozenset(s for row in REFUSED for s in row.torch)
) - _RANDOM


def build(graph: Graph, input_shape: Shape) -> Network:
    """The network of a graph."""
    builder, budget = Builder(input_shape), SizeBudget()
    values: dict[str, Any] = {name: _numpy(t) for name, t in graph.constants.items()}
    for name, value in values.items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f" and np.isnan(value).any():
            at = tuple(int(i) for i in np.argwhere(np.isnan(value))[0])
            raise ModelImportError(f"the tensor {name!r} of the model is not a number at {at}")
    values[graph.input] = builder.input
    for call in graph.calls:
        arguments = {k: _resolve(v, values, call) for k, v in call.arguments.items()}
        if any(_depends(v) for v in arguments.values()):
            if call.name not in torch_ops.registry.handlers:
                raise refusal("torch", call.name, f"aten.{call.name}", call.where)
            results = torch_ops.run(builder, call.name, arguments, call.where)
        else:
            results = fold(call, arguments)
        budget.add(results)
        values.update(zip(call.outputs, results, strict=False))
        if call.in_place:
            first = next(iter(call.arguments.values()))
            if isinstance(first, Ref):
                values[first.name] = results[0]
    return builder.finish(values[graph.output])


def fold(call: Call, arguments: dict[str, Any]) -> list[Any]:
    """Run an operator on constants with torch itself."""
    torch = require("torch", extra="torch", why="reading a torch model")
    if call.name not in _RUNNABLE:
        raise refusal("torch", call.name, f"aten.{call.name}", call.where)
    size = arguments.get("size", ())
    if isinstance(size, (list, tuple)):
        check_shape([n for n in size if n != -1])
    if call.name == "arange":
        span = abs(float(arguments["end"]) - float(arguments.get("start", 0)))
        check_shape([int(span / abs(float(arguments.get("step", 1)))) + 1])
    if call.name in ("eye", "linspace"):
        check_shape([arguments.get(key) or 1 for key in ("n", "m", "steps")])
    if call.name == "repeat":
        check_shape([arguments["self"].size, *arguments["repeats"]])
    ready = {k: _tensors(v, torch) for k, v in arguments.items()}
    result = run_operator(call, ready)
    results = list(result) if isinstance(result, (list, tuple)) else [result]
    return [_numpy(r) if isinstance(r, torch.Tensor) else r for r in results]


def run_operator(call: Call, arguments: dict[str, Any]) -> Any:
    """Run one ATen operator in float64 on the CPU, whatever precision it was exported in."""
    torch = require("torch", extra="torch", why="reading a torch model")
    ready = dict(arguments)
    for key, value in ready.items():
        if key == "device" and value is not None:
            ready[key] = torch.device("cpu")
        if isinstance(value, torch.dtype) and value.is_floating_point:
            ready[key] = torch.float64
    schema = call.operator._schema.arguments
    positional = [ready[a.name] for a in schema if not a.kwarg_only]
    keywords = {a.name: ready[a.name] for a in schema if a.kwarg_only}
    try:
        result = call.operator(*positional, **keywords)
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        raise ModelImportError(f"{call.where}: torch could not run it: {error}") from error
    if isinstance(result, torch.Tensor) and result.is_floating_point():
        return result.double()
    return result


def evaluate(graph: Graph, x: Any) -> Any:
    """The model's own output: its operators run by torch, one after the other, in float64."""
    torch = require("torch", extra="torch", why="reading a torch model")
    values: dict[str, Any] = {
        name: t.double().clone() if t.is_floating_point() else t.clone()
        for name, t in graph.constants.items()
    }
    values[graph.input] = x
    with torch.no_grad():
        for call in graph.calls:
            if call.name not in _RUNNABLE:
                raise refusal("torch", call.name, f"aten.{call.name}", call.where)
            arguments = {k: _resolve(v, values, call) for k, v in call.arguments.items()}
            result = run_operator(call, arguments)
            results = list(result) if isinstance(result, (list, tuple)) else [result]
            values.update(zip(call.outputs, results, strict=False))
    return values[graph.output]


def rounds(graph: Graph) -> bool:
    """Whether the model casts something to less than float64 on its way."""
    return any(
        str(value) in ("torch.float32", "torch.float16", "torch.bfloat16")
        for call in graph.calls
        if call.name in ("to", "_to_copy", "type_as")
        for value in call.arguments.values()
    )


def _resolve(value: Any, values: dict[str, Any], call: Call) -> Any:
    if isinstance(value, Ref):
        result = values[value.name]
        if result is None:
            raise UnsupportedOperatorError(
                f"aten.{call.name}", call.where, "it uses indices that depend on the input"
            )
        return result
    if isinstance(value, (list, tuple)):
        return [_resolve(v, values, call) for v in value]
    return value


def _depends(value: Any) -> bool:
    if isinstance(value, list):
        return any(_depends(v) for v in value)
    return isinstance(value, Expression)


def _numpy(tensor: Any) -> Any:
    if tensor.is_floating_point():
        tensor = tensor.double()
    return tensor.detach().cpu().numpy()


def _tensors(value: Any, torch: Any) -> Any:
    if isinstance(value, np.ndarray):
        return torch.from_numpy(value.copy())
    if isinstance(value, list):
        return [_tensors(v, torch) for v in value]
    return value
