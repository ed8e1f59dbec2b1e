"""Values as what JSON knows and as tables for notebooks, and names that were almost right."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from fractions import Fraction
from html import escape
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """Arrays, fractions and NumPy's numbers as what JSON knows.

    Examples
    --------
    >>> plain({"a": np.array([1.0, np.inf]), "b": Fraction(1, 3)})
    {'a': [1.0, None], 'b': '1/3'}
    """
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, str | bool | int | float):
        return value
    return str(value)


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """The end of a message about a name that is not known: the nearest one, and all there are.

    Examples
    --------
    >>> did_you_mean("cels", ["cells", "halfspaces"])
    "; did you mean 'cells'? There are: cells, halfspaces"
    >>> did_you_mean("x", ["cells", "halfspaces"])
    '; there are: cells, halfspaces'
    """
    names = list(known)
    near = get_close_matches(str(name), names, 1)
    there = f"here are: {', '.join(names)}"
    return f"; did you mean {near[0]!r}? T{there}" if near else f"; t{there}"


def html_table(title: str, rows: Mapping[str, str]) -> str:
    """Names and values as a table; values with several lines keep them.

    Examples
    --------
    >>> html_table("Box", {"low": "<0"})[:53]
    "<table><caption>Box</caption><tr><th style='text-alig"
    """
    cells = []
    for name, value in rows.items():
        text = escape(value)
        text = f"<pre style='margin:0'>{text}</pre>" if "\n" in value else text
        cells.append(f"<tr><th style='text-align:left'>{escape(name)}</th><td>{text}</td></tr>")
    return f"<table><caption>{escape(title)}</caption>{''.join(cells)}</table>"


def few(texts: Sequence[str], most: int) -> list[str]:
    """The first of some texts, and how many more there are.

    Examples
    --------
    >>> few(["a", "b", "c"], 2)
    ['a', 'b', '… 1 more']
    """
    rest = len(texts) - most
    return [*texts[:most], f"… {rest:,} more"] if rest > 0 else list(texts)


def shortened(text: str, most: int) -> str:
    """A text, or its beginning.

    Examples
    --------
    >>> shortened("pattern", 3)
    'pat…'
    """
    return text if len(text) <= most else f"{text[:most]}…"
