"""How the command line writes: tables for people, JSON for scripts, one line for errors."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from tropicell._runtime.plain import plain


def printable(text: str) -> str:
    r"""Text from files or their names with control characters spelled out: they stay text.

    Examples
    --------
    >>> printable("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def write(text: str) -> None:
    """A text to standard output."""
    print(printable(text))


def note(text: str) -> None:
    """One line to standard error."""
    print("tropicell: " + printable(" ".join(text.split())), file=sys.stderr)


def write_json(value: Any) -> None:
    """A value to standard output as JSON; infinite and undefined numbers become null."""
    print(json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False))


def table(rows: Sequence[Sequence[str]], *, header: Sequence[str] | None = None) -> str:
    """Rows as columns of equal width; columns of numbers are aligned on the right.

    Examples
    --------
    >>> print(table([["a", "1"], ["bb", "12"]], header=["name", "size"]))
    name  size
    a        1
    bb      12
    """
    lines = [list(header), *rows] if header is not None else [list(row) for row in rows]
    if not rows:
        return "  ".join(header or [])
    columns = range(len(lines[0]))
    widths = [max(len(line[k]) for line in lines) for k in columns]
    right = [k > 0 and all(_is_number(row[k]) for row in rows) for k in columns]
    return "\n".join(
        "  ".join(
            line[k].rjust(widths[k]) if right[k] else line[k].ljust(widths[k]) for k in columns
        ).rstrip()
        for line in lines
    )


def _is_number(text: str) -> bool:
    if text == "–":  # none
        return True
    try:
        float(text.replace(",", ""))
    except ValueError:
        return False
    return True


def shortened(text: str, width: int = 40) -> str:
    """A long text with its middle left out.

    Examples
    --------
    >>> shortened("0123456789", 6)
    '012…89'
    """
    if len(text) <= width:
        return text
    end = (width - 1) // 2
    return f"{text[: width - 1 - end]}…{text[-end:]}"


def regions_text(count: int, *, complete: bool = True) -> str:
    """How many regions.

    Examples
    --------
    >>> regions_text(1), regions_text(1234, complete=False)
    ('1 linear region', 'at least 1,234 linear regions')
    """
    return f"{'' if complete else 'at least '}{count:,} linear region{'' if count == 1 else 's'}"


def number_text(value: Any, *, exact: bool = False) -> str:
    """A number for people: short fractions as they are, long ones rounded unless exact.

    Examples
    --------
    >>> number_text(Fraction(1, 3)), number_text(Fraction(10**12, 10**12 + 1)), number_text(0.25)
    ('1/3', '1', '0.25')
    """
    if isinstance(value, Fraction):
        text = str(value)
        if exact or len(text) <= 8:
            return text
    return f"{float(value):.8g}"


def point_text(point: Any, *, exact: bool = False) -> str:
    """Coordinates of a point, some of them if there are many.

    Examples
    --------
    >>> point_text([0.5, Fraction(1, 3)])
    '(0.5, 1/3)'
    """
    parts = [number_text(x, exact=exact) for x in point]
    if len(parts) > 12 and not exact:
        parts = [*parts[:6], "…", *parts[-3:]]
    return f"({', '.join(parts)})"


def form_text(coefficients: Any, offset: Any, *, exact: bool = False) -> str:
    """An affine form ``a·x + c`` as text.

    Examples
    --------
    >>> form_text([Fraction(2), Fraction(-1, 2)], Fraction(0))
    '2·x1 - 1/2·x2'
    """
    terms = [
        f"{number_text(value, exact=exact)}·x{k + 1}"
        for k, value in enumerate(coefficients)
        if value != 0
    ]
    if offset != 0 or not terms:
        terms.append(number_text(offset, exact=exact))
    return " + ".join(terms).replace("+ -", "- ")
