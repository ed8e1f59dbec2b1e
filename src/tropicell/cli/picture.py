"""The pictures of ``tropicell plot``."""

from __future__ import annotations

import argparse
from typing import Any

from tropicell._runtime.durable import replacing
from tropicell._runtime.npz import read_npz
from tropicell._runtime.paths import in_file, path_of
from tropicell.errors import InvalidInputError, ModelFileError, require
from tropicell.network.domains import Box
from tropicell.regions.regions import Regions


def check(inputs: int, arguments: argparse.Namespace) -> None:
    """Refuse what can't be drawn, before there is anything to draw."""
    pyplot = _pyplot()
    kind = _kind(inputs, arguments.kind)
    suffixes = pyplot.figure().canvas.get_supported_filetypes()
    pyplot.close()
    if arguments.out.rpartition(".")[2].lower() not in suffixes:
        raise InvalidInputError(
            f"--out {arguments.out}: unknown kind of picture; use .png, .pdf or .svg"
        )
    if arguments.points is not None and kind not in ("regions", "boundaries"):
        raise InvalidInputError(f"--points does not fit --kind {kind}")


def draw(regions: Regions, arguments: argparse.Namespace) -> None:
    """Draw what the options ask for and write it to a file."""
    pyplot = _pyplot()
    ax = _axes(regions, _kind(regions.network.n_inputs, arguments.kind), arguments)
    try:
        if arguments.title:
            ax.set_title(arguments.title, parse_math=False)
        with replacing(path_of(arguments.out)) as temporary:
            ax.figure.savefig(temporary, dpi=arguments.dpi)
    finally:
        pyplot.close(ax.figure)


def _pyplot() -> Any:
    require("matplotlib", extra="plot", why="drawing regions").use("Agg")
    return require("matplotlib.pyplot", extra="plot", why="drawing regions")


def _kind(inputs: int, kind: str) -> str:
    if inputs > 2:
        raise InvalidInputError(
            f"the network has {inputs} inputs, pictures are of 1 or 2: cut along a line or plane "
            "with --slice"
        )
    chosen = {1: "function", 2: "regions"}[inputs] if kind == "auto" else kind
    if (chosen == "function") != (inputs == 1):
        raise InvalidInputError(f"--kind {chosen} does not fit a network with {inputs} input(s)")
    return chosen


def _axes(regions: Regions, kind: str, arguments: argparse.Namespace) -> Any:
    from tropicell import plotting  # noqa: PLC0415 - after the backend is chosen

    window = None if arguments.window is None else Box(*arguments.window)
    if kind == "function":
        return plotting.plot_function(regions, output=arguments.output, window=window)
    if kind == "surface":
        return plotting.plot_surface(regions, output=arguments.output, window=window)
    if kind == "boundaries":
        ax = plotting.plot_boundaries(regions, window=window)
    else:
        ax = plotting.plot_regions(
            regions, color=arguments.color, output=arguments.output, window=window
        )
    if arguments.points is not None:
        _add_points(arguments.points, ax)
    if arguments.decision:
        plotting.plot_decision_boundary(regions, ax, window=window)
    return ax


def _add_points(path: str, ax: Any) -> None:
    from tropicell.plotting import plot_points  # noqa: PLC0415

    arrays = read_npz(path)
    if "points" not in arrays or set(arrays) - {"points", "labels"}:
        raise ModelFileError(f"{path}: expected an array 'points' and maybe 'labels', no others")
    with in_file(path_of(path)):
        plot_points(arrays["points"], ax, labels=arrays.get("labels"))
