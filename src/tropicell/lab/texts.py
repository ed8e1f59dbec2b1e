"""Numbers and names as reports write them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.durable import replacing
from tropicell.errors import require
from tropicell.lab.statistics import Interval, Summary

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


def interval_text(found: Interval, digits: int = 2, sign: bool = False) -> str:
    """A number with its confidence interval.

    Examples
    --------
    >>> interval_text(Interval(-0.5, -0.7, -0.25)), interval_text(Interval(*[math.nan] * 3))
    ('-0.50 (-0.70 to -0.25)', '–')
    """
    if math.isnan(found.value):
        return "–"
    plus = "+" if sign else ""
    value, low, high = (f"{x:{plus}.{digits}f}" for x in (found.value, found.low, found.high))
    return f"{value} ({low} to {high})"


def share_text(found: Interval) -> str:
    """A share in per cent with its confidence interval.

    Examples
    --------
    >>> share_text(Interval(0.785, 0.7, 0.86)), share_text(Interval(1.0, 1.0, 1.0))
    ('78 % (70–86)', '100 %')
    """
    value, low, high = (f"{100 * x:.0f}" for x in (found.value, found.low, found.high))
    return f"{value} %" if low == high else f"{value} % ({low}–{high})"


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


# --- figures, made and written the same way everywhere --------------------------------------------

#: Colours of networks without and with skip connections (they differ for the colour-blind too).
WITHOUT, WITH = "#b4561f", "#1f5fb4"


def figure(
    rows: int = 1, columns: int = 1, *, size: tuple[float, float] = (4.0, 3.2), **options: Any
) -> tuple[Any, NDArray[Any]]:
    """A new figure and its axes, a matrix of them.

    Parameters
    ----------
    rows, columns : int
    size : (float, float)
        Of one panel, in inches.
    **options
        For matplotlib's ``Figure.subplots``.

    Examples
    --------
    >>> _, axes = figure(2, 3)
    >>> axes.shape
    (2, 3)
    """
    module = require("matplotlib.figure", extra="lab", why="drawing the lab's figures")
    made = module.Figure(figsize=(size[0] * columns, size[1] * rows), layout="constrained")
    axes = made.subplots(rows, columns, squeeze=False, **options)
    for ax in np.ravel(axes):
        ax.spines[["top", "right"]].set_visible(False)
    return made, axes


def epoch_axis(ax: Any, last: int) -> None:
    """Few ticks, so that the numbers of long trainings do not collide."""
    ticks = [0, last // 2, last]
    ax.set_xticks(ticks, [f"{tick:,}" for tick in ticks])


def loss_axis(ax: Any) -> None:
    """Losses on a logarithmic axis, with plain numbers."""
    from matplotlib.ticker import LogLocator, NullFormatter  # noqa: PLC0415 - an extra

    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.yaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_minor_formatter(NullFormatter())


def layer_axis(ax: Any, layers: int) -> None:
    """Whole layers only."""
    step = max(1, layers // 5)
    ax.set_xticks(range(1, layers + 1, step))


def write_figure(made: Any, folder: Path, name: str, *, dpi: int = 130) -> None:
    """Write a figure as ``name.png`` (256 colours, so that it is small) and ``name.pdf``."""
    image = require("PIL.Image", extra="lab", why="writing small pictures")
    buffer = BytesIO()
    made.savefig(buffer, format="png", dpi=dpi)
    small = image.open(buffer).convert("RGB").quantize(256, dither=image.Dither.NONE)
    with replacing(folder / f"{name}.png") as temporary:
        small.save(temporary, format="png", optimize=True)
    with replacing(folder / f"{name}.pdf") as temporary:
        made.savefig(temporary, format="pdf", metadata={"CreationDate": None})
