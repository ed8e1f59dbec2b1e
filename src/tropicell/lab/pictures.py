"""Figures, made and written the same way everywhere."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.durable import replacing
from tropicell.errors import require

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
