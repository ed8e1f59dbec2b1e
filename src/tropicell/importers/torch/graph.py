"""The graph of a torch model as plain records, from `torch.export` or from a ``.pt2`` file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from tropicell.errors import ModelImportError, UnsupportedOperatorError, require
from tropicell.importers.builder import Builder
from tropicell.importers.expressions import Shape, check_shape
from tropicell.importers.operators import CONSTANTS, OPERATORS, REFUSED, refusal
from tropicell.importers.torch import handlers
from tropicell.importers.torch.registry import registry
from tropicell.importers.walk import import_graph, numbered
from tropicell.network.network import Network


@dataclass(frozen=True)
class Ref:
    """A tensor of the graph, by name."""

    name: str


@dataclass(frozen=True)
class Call:
    """One call of an operator.

    Attributes
    ----------
    operator : Any
        The ATen operator, a ``torch._ops.OpOverload``.
    arguments : dict
        All arguments by their names in the operator's schema, defaults filled in; tensors of the
        graph are `Ref`.
    outputs : tuple of str
        Names of the results.
    where : str
        For messages.
    """

    operator: Any
    arguments: dict[str, Any]
    outputs: tuple[str, ...]
    where: str

    @property
    def name(self) -> str:
        """The operator's spelling in the table, without namespace and overload."""
        return spelling(self.operator)

    @property
    def in_place(self) -> bool:
        """Whether it overwrites its first argument."""
        return is_in_place(self.operator)

    # what a step of a walk has (`importers.walk`)

    @cached_property
    def uses(self) -> tuple[str, ...]:
        """Names of the tensors that it takes."""
        return tuple(name for value in self.arguments.values() for name in _names(value))

    @property
    def overwrites(self) -> str | None:
        """The tensor that it changes in place."""
        first = next(iter(self.arguments.values()), None)
        return first.name if self.in_place and isinstance(first, Ref) else None

    @property
    def gives_constants(self) -> bool:
        """Whether its result depends on shapes only."""
        return self.name in CONSTANTS["torch"]

    def refusal(self) -> UnsupportedOperatorError | None:
        """Why the operator can't take what depends on the input, if it can't."""
        if self.name in registry.handlers:
            return None
        return refusal("torch", self.name, f"aten.{self.name}", self.where)

    def handle(self, builder: Builder, values: Mapping[str, Any]) -> list[Any]:
        """Its results, if something that it takes depends on the input."""
        arguments = {k: _resolve(v, values, self) for k, v in self.arguments.items()}
        return handlers.run(builder, self.name, arguments, self.where)

    def fold(self, values: Mapping[str, Any]) -> list[Any]:
        """Its results on constants, run by torch itself."""
        return fold(self, {k: _resolve(v, values, self) for k, v in self.arguments.items()})


@dataclass
class Graph:
    """A whole model: constants, inputs with their shapes, calls in order, outputs by name.

    `changes` names the buffers that a call of the model changes.
    """

    constants: dict[str, Any]
    inputs: dict[str, Shape]
    calls: list[Call] = field(default_factory=list)
    outputs: dict[str, str] = field(default_factory=dict)
    changes: tuple[str, ...] = ()


def is_in_place(operator: Any) -> bool:
    """Whether an ATen operator overwrites its argument (``relu_``)."""
    name = str(operator._schema.name).rpartition("::")[2]
    return name.endswith("_") and not name.endswith("__")


def spelling(operator: Any) -> str:
    """An ATen operator's name in the table: no namespace, no overload, no trailing underscore."""
    name = str(operator._schema.name).rpartition("::")[2]
    return name[:-1] if is_in_place(operator) else name


def bind(operator: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments by name, with the defaults of the operator's schema."""
    bound: dict[str, Any] = {}
    for index, argument in enumerate(operator._schema.arguments):
        if index < len(args) and not argument.kwarg_only:
            bound[argument.name] = args[index]
        elif argument.name in kwargs:
            bound[argument.name] = kwargs[argument.name]
        else:
            bound[argument.name] = argument.default_value
    return bound


def from_exported(program: Any) -> Graph:
    """The records of an exported program (``torch.export.ExportedProgram``)."""
    signature = program.graph_signature
    constants: dict[str, Any] = {}
    inputs: dict[str, Shape] = {}
    shapes = {
        node.name: getattr(node.meta.get("val"), "shape", None)
        for node in program.graph.nodes
        if node.op == "placeholder"
    }
    for spec in signature.input_specs:
        kind = spec.kind.name
        if kind == "USER_INPUT":
            shape = shapes.get(spec.arg.name)
            if shape is None:
                raise ModelImportError(
                    f"the input {spec.arg.name!r} of the module is not a tensor; wrap the module "
                    "in one that takes tensors only"
                )
            inputs[spec.arg.name] = tuple(int(n) for n in shape)
        elif kind in ("PARAMETER", "BUFFER", "CONSTANT_TENSOR"):
            store = program.state_dict if spec.target in program.state_dict else program.constants
            constants[spec.arg.name] = store[spec.target].detach()
        else:
            raise ModelImportError(f"the module takes {kind.lower()} inputs, which are not tensors")
    outputs = [spec.arg for spec in signature.output_specs if spec.kind.name == "USER_OUTPUT"]
    graph = Graph(constants, inputs, changes=tuple(signature.buffers_to_mutate.values()))
    graph.outputs = named_outputs(
        [getattr(arg, "name", None) for arg in outputs], program.call_spec.out_spec
    )
    items: dict[str, dict[int, str]] = {}
    for node in program.graph.nodes:
        if node.op == "call_function" and getattr(node.target, "__name__", "") == "getitem":
            items.setdefault(node.args[0].name, {})[int(node.args[1])] = node.name
    assertions = _assertions_on_sizes(program.graph)
    for node in program.graph.nodes:
        if node.op != "call_function" or node in assertions:
            continue
        if getattr(node.target, "__name__", "") != "getitem":
            graph.calls.append(_call(node, items.get(node.name, {})))
    return graph


def _assertions_on_sizes(graph: Any) -> set[Any]:
    """Nodes that only check sizes, such as those that an index of constant truth values brings."""
    found: set[Any] = set()
    for node in reversed(graph.nodes):
        if node.op != "call_function":
            continue
        name = getattr(node.target, "__name__", "").partition(".")[0]
        asserts = name in ("_assert_scalar", "sym_constrain_range", "sym_constrain_range_for_size")
        sizes = name == "sym_size" or getattr(node.target, "__module__", "") == "_operator"
        if asserts or (sizes and name != "getitem" and found.issuperset(node.users)):
            found.add(node)
    return found


def _call(node: Any, items: Mapping[int, str]) -> Call:
    where = f"node {node.name!r}" + _module_of(node)
    if not hasattr(node.target, "_schema") or node.target.namespace != "aten":
        name = getattr(node.target, "__name__", str(node.target))
        if getattr(node.target, "__module__", "") == "_operator":
            raise UnsupportedOperatorError(
                f"arithmetic on sizes ({name})",
                where,
                "a size depends on the data; index with whole numbers instead of truth values",
            )
        raise refusal("torch", name, name, where)
    arguments = bind(node.target, _refs(node.args), _refs(node.kwargs))
    if items:
        names = tuple(items.get(i, f"{node.name}.{i}") for i in range(max(items) + 1))
    else:
        names = (node.name,)
    return Call(node.target, arguments, names, where)


def _module_of(node: Any) -> str:
    stack = node.meta.get("nn_module_stack") or {}
    names = [path for path, _ in stack.values() if path]
    return f" in module {names[-1]!r}" if names else ""


def _refs(value: Any) -> Any:
    """Nodes in nested arguments replaced by their names."""
    if isinstance(value, (list, tuple)):
        return type(value)(_refs(v) for v in value)
    if isinstance(value, Mapping):
        return {k: _refs(v) for k, v in value.items()}
    return Ref(value.name) if hasattr(value, "op") and hasattr(value, "target") else value


def named_outputs(names: list[str | None], structure: Any = None) -> dict[str, str]:
    """What each output is called, to the name of its tensor; what is no tensor is left out.

    Parameters
    ----------
    names : list of str or None
    structure : TreeSpec, optional
        How the outputs are nested in tuples and dictionaries: an output is called by its place
        there, such as ``[0]`` or ``['mean']``.
    """
    labels = numbered([str(name) for name in names])
    if structure is not None and structure.num_leaves == len(names):
        tree = require("torch.utils._pytree", extra="torch", why="importing a torch module")
        leaves, _ = tree.tree_flatten_with_path(tree.tree_unflatten(labels, structure))
        labels = [tree.keystr(path) for path, _ in leaves]
    outputs = {label: name for label, name in zip(labels, names, strict=True) if name}
    if not outputs:
        raise ModelImportError("the model returns no tensor")
    return {"output": next(iter(outputs.values()))} if len(outputs) == 1 else outputs


# Walks over the calls of a torch graph: once to build a network, once to run the model itself.

#: Makers and functions of constants that may be run by torch though no handler exists for them.
_FOLDED = frozenset(
    {"arange", "full", "zeros", "ones", "empty", "scalar_tensor", "eye", "linspace", "tril", "triu"}
    | {"diag", "outer", "index_put", "fill", "logical_not", "logical_and", "logical_or"}
    | {"prod", "any", "all", "diag_embed", "kron", "trace", "matrix_exp", "linalg_matrix_exp"}
    | {"linalg_inv", "inverse", "linalg_pinv", "linalg_solve", "linalg_qr", "linalg_cholesky"}
)
_RANDOM = frozenset(
    s for row in REFUSED if row.name in ("random numbers", "control flow") for s in row.torch
)
_RUNNABLE = (
    _FOLDED
    | frozenset(s for row in OPERATORS for s in row.torch)
    | frozenset(s for row in REFUSED for s in row.torch)
) - _RANDOM


def build(graph: Graph) -> Network:
    """The network of a graph."""
    values: dict[str, Any] = {name: _numpy(t) for name, t in graph.constants.items()}
    for name, value in values.items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f" and np.isnan(value).any():
            at = tuple(int(i) for i in np.argwhere(np.isnan(value))[0])
            raise ModelImportError(f"the tensor {name!r} of the model is not a number at {at}")
    return import_graph(graph.calls, graph.inputs, values, graph.outputs)


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


def evaluate(graph: Graph, inputs: list[Any]) -> list[Any]:
    """The model's own outputs: its operators run by torch, one after the other, in float64."""
    torch = require("torch", extra="torch", why="reading a torch model")
    values: dict[str, Any] = {
        name: t.double().clone() if t.is_floating_point() else t.clone()
        for name, t in graph.constants.items()
    }
    values.update(zip(graph.inputs, inputs, strict=True))
    with torch.no_grad():
        for call in graph.calls:
            if call.name not in _RUNNABLE:
                raise refusal("torch", call.name, f"aten.{call.name}", call.where)
            arguments = {k: _resolve(v, values, call) for k, v in call.arguments.items()}
            result = run_operator(call, arguments)
            results = list(result) if isinstance(result, (list, tuple)) else [result]
            values.update(zip(call.outputs, results, strict=False))
    return [values[name] for name in graph.outputs.values()]


def rounds(graph: Graph) -> bool:
    """Whether the model casts something to less than float64 on its way, also before a sum."""
    return any(
        str(value) in ("torch.float32", "torch.float16", "torch.bfloat16")
        for call in graph.calls
        if call.name in ("to", "_to_copy", "type_as")
        or (call.uses and call.name in ("sum", "mean", "cumsum", "linalg_vector_norm"))
        for value in call.arguments.values()
    )


def _names(value: Any) -> Iterator[str]:
    """The tensors of the graph in an argument."""
    if isinstance(value, Ref):
        yield value.name
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _names(part)


def _resolve(value: Any, values: Mapping[str, Any], call: Call) -> Any:
    if isinstance(value, Ref):
        result = values.get(value.name)
        if result is None:
            raise UnsupportedOperatorError(
                f"aten.{call.name}", call.where, "it uses indices that depend on the input"
            )
        return result
    if isinstance(value, (list, tuple)):
        return [_resolve(v, values, call) for v in value]
    return value


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
