"""Options that several commands share, and what they mean."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tropicell._runtime.paths import is_folder as folder_at
from tropicell.errors import ModelFileError

if TYPE_CHECKING:  # --help is quick without
    import numpy as np
    from numpy.typing import NDArray

    from tropicell.network.domains import Ball, Domain, Slice

#: The choices of options; those of `tropicell.search.search` and `tropicell.geometry.arithmetic`,
#: which a test compares.
ARITHMETICS = ("exact", "float")
ENGINES = ("auto", "cells", "halfspaces", "wide", "shadow", "traverse")
DEVICES = ("cpu", "cuda")

SLICE_HELP = """slice files:
  FILE of --slice is an .npz with either
    origin (n), directions (k, n)   the points origin + t·directions
    points (k + 1, …)               the plane through points; the first has t = 0
  and optionally low and high, a box in the coordinates t of the slice.
  Make one with, for example,
    numpy.savez("plane.npz", points=[image_a, image_b, image_c], low=-1, high=2)
"""

DOMAIN_HELP = f"""{SLICE_HELP}
ball files:
  FILE of --ball is an .npz with center (n), radius, and optionally norm: linf (default), l1 or l2:
    numpy.savez("ball.npz", center=image, radius=0.05, norm="l2")
"""


def numbers(text: str) -> NDArray[np.float64]:
    """A number, or several separated by commas.

    Examples
    --------
    >>> numbers("-1"), numbers("0,2.5")
    (array(-1.), array([0. , 2.5]))
    """
    import numpy as np  # noqa: PLC0415

    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text.strip()!r}: expected a number, or numbers separated by commas (-1,0.5)"
        ) from None
    return np.array(values) if len(values) > 1 else np.array(values[0])


def size(text: str) -> int:
    """A number of bytes; K, M, G and T stand for powers of 1024.

    Examples
    --------
    >>> size("2G")
    2147483648
    """
    factor = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}.get(text[-1:].upper(), 1)
    try:
        return int(float(text[:-1] if factor > 1 else text) * factor)
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(
            f"expected a number of bytes such as 500000 or 2G, got {text!r}"
        ) from None


def add_domain(parser: argparse.ArgumentParser) -> None:
    """``--box``, ``--ball``, ``--whole-space`` and ``--slice``."""
    group = parser.add_argument_group("where to look (default: the whole space)")
    choice = group.add_mutually_exclusive_group()
    choice.add_argument(
        "--box",
        nargs=2,
        type=numbers,
        metavar=("LO", "HI"),
        help="between two corners; one number for all inputs, or one each: --box -1,0 1,2",
    )
    choice.add_argument("--ball", metavar="FILE", help="a ball around a point; see below")
    choice.add_argument("--whole-space", action="store_true", help="all of R^n")
    choice.add_argument("--slice", metavar="FILE", help="a line, plane or 3-space; see below")


def add_search(parser: argparse.ArgumentParser) -> None:
    """How to search, and when to stop."""
    group = parser.add_argument_group("how to search")
    group.add_argument("--workers", type=int, default=1, metavar="N", help="threads (default: 1)")
    group.add_argument("--max-regions", type=int, metavar="N", help="stop after so many regions")
    group.add_argument(
        "--max-seconds",
        type=float,
        metavar="S",
        help="stop after so many seconds; this is for the whole command, not only for the search",
    )
    group.add_argument(
        "--max-bytes",
        type=size,
        metavar="N",
        help="stop before regions take more memory; 2G is 2 * 2^30",
    )
    group.add_argument(
        "--checkpoint",
        metavar="FOLDER",
        help="save the state here every few seconds; the same command goes on from it",
    )
    group.add_argument(
        "--arithmetic",
        choices=ARITHMETICS,
        default="exact",
        help="exact (default), or float: somewhat faster, with a tolerance instead of proofs",
    )
    group.add_argument(
        "--engine",
        choices=ENGINES,
        default="auto",
        help="default: auto, the one that is likely to be fastest",
    )
    group.add_argument(
        "--device",
        choices=DEVICES,
        default="cpu",
        help="cuda: an NVIDIA GPU, for 2 inputs (default: cpu)",
    )


def search_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """The keyword arguments of `enumerate_regions` that the options stand for."""
    budgets = ("max_regions", "max_seconds", "max_bytes")
    names = ("workers", *budgets, "checkpoint", "arithmetic", "engine", "device")
    return {name: getattr(arguments, name) for name in names}


def domain_of(arguments: argparse.Namespace) -> Domain:
    """The domain that was asked for; without an option the whole space."""
    from tropicell.network.domains import Box, WholeSpace  # noqa: PLC0415

    if arguments.box is not None:
        return Box(*arguments.box)
    if arguments.ball is not None:
        return read_ball(arguments.ball)
    if arguments.slice is not None:
        return read_slice(arguments.slice)
    return WholeSpace()


def domain_text(domain: Domain) -> str:
    """A domain in words."""
    from tropicell.network.domains import WholeSpace  # noqa: PLC0415

    if isinstance(domain, WholeSpace):
        return "the whole space"
    return repr(domain)


def read_slice(path: str) -> Slice:
    """A slice from an ``.npz`` file; see the help text of ``tropicell count``."""
    from tropicell.importers.files import load_slice  # noqa: PLC0415 - keeps --help fast

    return load_slice(path)


def read_ball(path: str) -> Ball:
    """A ball from an ``.npz`` file; see the help text of ``tropicell count``."""
    from tropicell._runtime.npz import read_npz  # noqa: PLC0415
    from tropicell._runtime.paths import in_file  # noqa: PLC0415 - keeps --help fast
    from tropicell.network.domains import Ball  # noqa: PLC0415

    with in_file(Path(path)):
        arrays = read_npz(path)
        if not {"center", "radius"} <= set(arrays) <= {"center", "radius", "norm"}:
            raise ModelFileError(
                f"{path}: a ball file has center, radius and optionally norm, "
                f"this one has {', '.join(sorted(arrays)) or 'nothing'}"
            )
        if arrays["radius"].size != 1 or arrays["radius"].dtype.kind not in "fiu":
            raise ModelFileError(f"{path}: the radius of a ball file is one number")
        norm: Any = str(arrays.get("norm", "linf"))
        return Ball(arrays["center"], float(arrays["radius"].item()), norm)


def is_folder(path: str) -> bool:
    """Whether a path that may not exist yet means a folder."""
    return path.endswith(("/", "\\")) or "://" in path or folder_at(Path(path))
