"""What the handlers for ATen operators share, and where they are registered.

A handler gets the builder, the arguments by their schema names (tensors are values, see
`expressions`) and the name of the node; it returns one value, or a list for operators with several
results. It is only called if an argument depends on the input: operators on constants are run by
torch itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tropicell.errors import UnsupportedOperatorError
from tropicell.importers.builder import Builder
from tropicell.importers.expressions import Expression, Value
from tropicell.importers.lowering import Window
from tropicell.importers.operators import PRODUCT_ADVICE, Registry

Args = dict[str, Any]
TorchHandler = Callable[[Builder, Args, str], "Value | list[Value | None]"]

registry: Registry[TorchHandler] = Registry("torch")
handles = registry.handles


def product_refused(operator: str, name: str) -> UnsupportedOperatorError:
    """The error for a product in which no side is constant."""
    return UnsupportedOperatorError(operator, name, PRODUCT_ADVICE)


def constant(value: Any, operator: str, what: str, name: str) -> Any:
    """An argument that must not depend on the input, or an error."""
    if isinstance(value, Expression):
        raise UnsupportedOperatorError(operator, name, f"its {what} depends on the input")
    return value


def value_of(number: Any) -> Value:
    """A tensor or a plain number as a value."""
    return number if isinstance(number, Expression) else np.asarray(number)


def axes_of(dim: Any) -> list[int] | None:
    """The axes of a reduction, or None for all of them."""
    if dim is None or dim == []:
        return None
    return [dim] if isinstance(dim, int) else list(dim)


def numbers_of(values: Any, dims: int) -> list[int]:
    """One number for every spatial axis: torch writes a single one for all."""
    numbers = [values] if isinstance(values, int) else list(values)
    return numbers * dims if len(numbers) == 1 else numbers


def window_of(a: Args, dims: int) -> Window:
    """The window that a pool moves."""
    kernel = numbers_of(a["kernel_size"], dims)
    stride = numbers_of(a["stride"], dims) if a["stride"] not in (None, []) else kernel
    pads = [(p, p) for p in numbers_of(a["padding"], dims)]
    return Window(
        kernel, stride, pads, numbers_of(a.get("dilation", 1), dims), bool(a["ceil_mode"])
    )
