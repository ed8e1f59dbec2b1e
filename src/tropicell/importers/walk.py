"""The walk over a model's graph, the same for every front end: refuse first, then build.

A front end gives the steps of a graph, in order. They are walked three times:

1. by name only: an operator that is not supported, and takes something that depends on the input,
   is refused;
2. with outlines (`expressions.Outline`), tensors of which only the shape is known: whatever its
   handler refuses is refused, and so is a model whose matrices would be too large;
3. with expressions: now the network is built.

The first two cost next to nothing, so what is refused is refused at once. Tensors are dropped
after their last use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from tropicell._runtime.progress import bar_of
from tropicell.errors import ModelFileError, ModelImportError, UnsupportedOperatorError
from tropicell.importers.builder import Builder
from tropicell.importers.expressions import (
    Condition,
    Expression,
    Ledger,
    Shape,
    Value,
    check_alive,
    join,
)
from tropicell.network.network import Network


class Step(Protocol):
    """One call of an operator.

    Attributes
    ----------
    uses, outputs : sequence of str
        Names of the tensors that it takes and gives.
    where : str
        For messages.
    overwrites : str or None
        The tensor that it changes in place.
    gives_constants : bool
        Whether its results do not depend on the input even if what it takes does (shapes).
    """

    @property
    def uses(self) -> Sequence[str]: ...
    @property
    def outputs(self) -> Sequence[str]: ...
    @property
    def where(self) -> str: ...
    @property
    def overwrites(self) -> str | None: ...
    @property
    def gives_constants(self) -> bool: ...

    def refusal(self) -> UnsupportedOperatorError | None:
        """Why the operator can't take what depends on the input, if it can't."""

    def handle(self, builder: Builder, values: Mapping[str, Any]) -> list[Any]:
        """Its results, if something that it takes depends on the input."""

    def fold(self, values: Mapping[str, Any]) -> list[Any]:
        """Its results on constants."""


def import_graph(
    steps: Sequence[Step],
    inputs: Mapping[str, Shape],
    constants: Mapping[str, Any],
    outputs: Mapping[str, str],
) -> Network:
    """The network of a graph.

    Parameters
    ----------
    steps : sequence of Step
    inputs : mapping from name to shape
    constants : mapping from name to array
    outputs : mapping from what an output is called to the name of its tensor

    Returns
    -------
    Network
        Inputs and outputs stand one after the other, each in row-major order.
    """
    refuse_operators(steps, inputs)
    ledger = Ledger()
    walk = _Walk(steps, constants, outputs)
    walk.run(Builder(*inputs.values(), ledger=ledger), inputs)
    ledger.check()
    builder = Builder(*inputs.values())
    values = walk.run(builder, inputs)
    flat = [value.reshape((-1,)) for value in values]
    network = builder.finish(flat[0] if len(flat) == 1 else join(flat, np.concatenate))
    network.input_parts = _parts(inputs, [value.size for value in builder.inputs])
    network.output_parts = _parts(outputs, [value.size for value in values])
    return network


def numbered(names: Sequence[str]) -> list[str]:
    """What outputs are called: those that are given twice get a number.

    Examples
    --------
    >>> numbered(["y", "z", "y"])
    ['y', 'z', 'y (2)']
    """
    counts = [list(names[: index + 1]).count(name) for index, name in enumerate(names)]
    pairs = zip(names, counts, strict=True)
    return [name if count == 1 else f"{name} ({count})" for name, count in pairs]


def refuse_operators(steps: Sequence[Step], inputs: Mapping[str, Shape]) -> None:
    """Refuse operators that can't take what depends on the input, by their names alone."""
    depends = set(inputs)
    for step in steps:
        if depends.isdisjoint(step.uses):
            continue
        error = step.refusal()
        if error is not None:
            raise error
        if not step.gives_constants:
            depends.update(step.outputs)
            if step.overwrites is not None:
                depends.add(step.overwrites)


class _Walk:
    """The walk with values: first outlines, then expressions."""

    def __init__(
        self, steps: Sequence[Step], constants: Mapping[str, Any], outputs: Mapping[str, str]
    ) -> None:
        self.steps, self.constants, self.outputs = steps, constants, outputs
        last = {
            name: index for index, step in enumerate(steps) for name in (*step.uses, *step.outputs)
        }
        self.dropped: dict[int, list[str]] = {}
        for name, index in last.items():
            if name not in outputs.values():
                self.dropped.setdefault(index, []).append(name)
        self.folded: dict[int, list[Any]] = {}  # what the first walk worked out

    def run(self, builder: Builder, inputs: Mapping[str, Shape]) -> list[Value]:
        values: dict[str, Any] = dict(self.constants)
        values.update(zip(inputs, builder.inputs, strict=True))
        real = builder.ledger is None
        with bar_of(len(self.steps), " operators", None if real else False) as bar:
            for index, step in enumerate(self.steps):
                if builder.ledger is not None:
                    builder.ledger.at(step.where)
                results = self.results(index, step, builder, values)
                values.update(zip(step.outputs, results, strict=False))
                if step.overwrites is not None:
                    values[step.overwrites] = results[0]
                for name in self.dropped.get(index, ()):
                    values.pop(name, None)
                if real:
                    check_alive([*values.values(), *builder.matrices()])
                bar.update(1)
        return [self.output(label, name, values) for label, name in self.outputs.items()]

    def results(
        self, index: int, step: Step, builder: Builder, values: Mapping[str, Any]
    ) -> list[Any]:
        if index in self.folded:
            return self.folded[index]
        if any(_depends(values.get(name)) or _is_lost(name, values) for name in step.uses):
            return step.handle(builder, values)
        self.folded[index] = step.fold(values)
        return self.folded[index]

    def output(self, label: str, name: str, values: Mapping[str, Any]) -> Value:
        value: Value | Condition | None = values.get(name)
        if isinstance(value, Condition):
            raise value.refusal()
        if name in values and value is None:
            step = next(step for step in self.steps if name in step.outputs)
            raise UnsupportedOperatorError(
                f"positions as the output {label!r}",
                step.where,
                "where the largest or a sorted entry stands jumps; return the values only",
            )
        if value is None:
            raise ModelFileError(f"nothing produces the output {label!r}")
        if value.size == 0:
            raise ModelImportError(f"the model's output of shape {value.shape} is empty")
        return value


def _depends(value: Any) -> bool:
    return isinstance(value, (Expression, Condition))


def _is_lost(name: str, values: Mapping[str, Any]) -> bool:
    """Whether it is a result of an operator that no network has, such as the indices of a sort."""
    return name != "" and values.get(name) is None


def _parts(names: Mapping[str, Any], sizes: Sequence[int]) -> dict[str, slice]:
    """Where each of several tensors stands among the entries of all."""
    parts, start = {}, 0
    for name, size in zip(names, sizes, strict=True):
        parts[name] = slice(start, start + size)
        start += size
    return parts
