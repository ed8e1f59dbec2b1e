"""Numbers and tables in C."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tropicell.errors import InvalidInputError

Number = Literal["double", "float"]


def table(name: str, rows: NDArray[Any], number: Number) -> str:
    """A constant array of numbers, one row a line.

    Examples
    --------
    >>> print(table("a", np.array([[1.0, 0.5]]), "double"))
    static const double a[1][2] = {
        {1.0, 0.5},
    };
    """
    limit = np.finfo(np.float32 if number == "float" else np.float64).max
    if not (np.abs(rows) <= limit).all():
        raise InvalidInputError(f"a number of the table {name!r} does not fit into a {number}")
    body = "".join(
        f"    {{{', '.join(literal(value, number) for value in row)}}},\n" for row in rows
    )
    return f"static const {number} {name}[{rows.shape[0]}][{rows.shape[1]}] = {{\n{body}}};"


def integers(name: str, rows: NDArray[Any]) -> str:
    """A constant array of whole numbers, of the smallest type that is sure to hold them.

    Examples
    --------
    >>> print(integers("a", np.array([[1, -2]])))
    static const short a[1][2] = {
        {1, -2},
    };
    """
    kind = "short" if np.abs(rows).max(initial=0) < 2**15 else "long"
    body = "".join(f"    {{{', '.join(map(str, row.tolist()))}}},\n" for row in rows)
    return f"static const {kind} {name}[{rows.shape[0]}][{rows.shape[1]}] = {{\n{body}}};"


def literal(value: float, number: Number) -> str:
    """A number that is read back as it was, rounded to single precision if float.

    Examples
    --------
    >>> literal(0.1, "double"), literal(0.1, "float")
    ('0.1', '0.1f')
    """
    return repr(float(value)) if number == "double" else f"{np.float32(value)!s}f"
