"""The graph of a torch model as plain records, from `torch.export` or from a ``.pt2`` file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tropicell.errors import ModelImportError, UnsupportedOperatorError
from tropicell.importers.operators import refusal


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


@dataclass
class Graph:
    """A whole model: constants, the one input, calls in order, the one output."""

    constants: dict[str, Any]
    input: str
    calls: list[Call] = field(default_factory=list)
    output: str = ""


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
    inputs: list[str] = []
    for spec in signature.input_specs:
        kind = spec.kind.name
        if kind == "USER_INPUT":
            inputs.append(spec.arg.name)
        elif kind in ("PARAMETER", "BUFFER", "CONSTANT_TENSOR"):
            store = program.state_dict if spec.target in program.state_dict else program.constants
            constants[spec.arg.name] = store[spec.target].detach()
        else:
            raise ModelImportError(f"the module takes {kind.lower()} inputs, which are not tensors")
    outputs = [spec.arg for spec in signature.output_specs if spec.kind.name == "USER_OUTPUT"]
    graph = Graph(constants, one_input(inputs))
    graph.output = one_output([getattr(arg, "name", None) for arg in outputs])
    items: dict[str, dict[int, str]] = {}
    for node in program.graph.nodes:
        if node.op == "call_function" and getattr(node.target, "__name__", "") == "getitem":
            items.setdefault(node.args[0].name, {})[int(node.args[1])] = node.name
    for node in program.graph.nodes:
        if node.op == "call_function" and getattr(node.target, "__name__", "") != "getitem":
            graph.calls.append(_call(node, items.get(node.name, {})))
    return graph


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


def one_input(names: list[str]) -> str:
    """The only input, or an error."""
    if len(names) != 1:
        raise ModelImportError(
            f"the model has {len(names)} inputs ({', '.join(names)}); expected one tensor. Wrap "
            "it in a module that takes one tensor and splits it (x[:, :3], x[:, 3:])"
        )
    return names[0]


def one_output(names: list[str | None]) -> str:
    """The only output, or an error."""
    if len(names) != 1 or names[0] is None:
        raise ModelImportError(
            f"the model has {len(names)} outputs; expected one tensor. Wrap it in a module that "
            "returns the one you want, or all of them joined with torch.cat"
        )
    return names[0]
