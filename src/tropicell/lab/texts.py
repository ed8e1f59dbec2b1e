"""Numbers and names as reports write them."""

from __future__ import annotations

import math
from collections.abc import Iterable

from tropicell.lab.statistics import Summary

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def mean_text(summary: Summary, digits: int = 1) -> str:
    """A mean with its standard error.

    Examples
    --------
    >>> mean_text(Summary(25, 12.34, 5.0))
    '12.3 ± 1.0'
    """
    if math.isnan(summary.deviation):
        return f"{summary.mean:.{digits}f}"
    return f"{summary.mean:.{digits}f} ± {summary.error:.{digits}f}"


def p_text(p: float) -> str:
    """A p-value.

    Examples
    --------
    >>> p_text(0.0412), p_text(0.0015), p_text(1.04e-11), p_text(float("nan")), p_text(0.0)
    ('0.041', '0.0015', '1.0·10⁻¹¹', '–', '< 10⁻³⁰⁰')
    """
    if math.isnan(p):
        return "–"
    if p == 0:
        return "< 10⁻³⁰⁰"
    if p >= 0.001:
        return f"{p:.3f}" if p >= 0.01 else f"{p:.4f}"
    digits, _, power = f"{p:.1e}".partition("e")
    return f"{digits}·10{str(int(power)).translate(_SUPERSCRIPTS)}"


def skips_text(skips: Iterable[tuple[int, int]]) -> str:
    """Skip connections in the paper's notation.

    Examples
    --------
    >>> skips_text([(1, 3), (2, 4)]), skips_text([])
    ('1→3, 2→4', 'none')
    """
    return ", ".join(f"{k}→{layer}" for k, layer in skips) or "none"


def yes_no(value: bool) -> str:
    """A decision.

    Examples
    --------
    >>> yes_no(True)
    'yes'
    """
    return "yes" if value else "no"


def percent(ratio: float, digits: int = 0) -> str:
    """A change, with its sign.

    Examples
    --------
    >>> percent(1.163), percent(0.98), percent(1.0)
    ('+16 %', '-2 %', '+0 %')
    """
    return f"{100 * (ratio - 1):+.{digits}f} %"
