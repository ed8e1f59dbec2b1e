"""``tropicell paper``: the gain of each idea since Algorithm 2, and networks as polynomials."""

from __future__ import annotations

import argparse
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tropicell.cli import output
from tropicell.errors import InvalidInputError

if TYPE_CHECKING:
    from tropicell.network.network import Network

#: What can be asked for, and what it is.
NAMES = {
    "algorithm2": "what Algorithm 2 as printed costs, and what each idea since then gains",
    "tropical": "F, G and H of every neuron as tropical polynomials: how many monomials",
}
EXAMPLES = ("algorithm2", "algorithm2 net.npz --json", "tropical", "tropical net.npz --to latex")

#: Algorithm 2 is run on networks with at most so many regions.
_MOST_REGIONS = 5000

#: How polynomials can be written.
FORMATS = ("text", "latex", "polymake", "oscar", "macaulay2", "gfan")


def names_help() -> str:
    """What there is."""
    return "what to show:\n" + output.table([[f"  {name}", text] for name, text in NAMES.items()])


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("name", metavar="NAME", choices=tuple(NAMES), help="see below")
    parser.add_argument(
        "model", metavar="MODEL", nargs="?", help="a network (default: those of the paper)"
    )
    parser.add_argument("--layer", type=int, metavar="N", help="tropical: up to this layer")
    parser.add_argument(
        "--cancel", action="store_true", help="tropical: take out what F and G share"
    )
    parser.add_argument(
        "--to", choices=FORMATS, help="tropical: the polynomials themselves, written like this"
    )


def run(arguments: argparse.Namespace) -> int:
    """Show what was asked for."""
    return _algorithm2(arguments) if arguments.name == "algorithm2" else _tropical(arguments)


def _networks(model: str | None) -> dict[str, Any]:
    """The networks to look at: one of the user, or the paper's walkthrough and random ones."""
    import numpy as np  # noqa: PLC0415 - keeps --help fast

    from tropicell.importers.files import load  # noqa: PLC0415
    from tropicell.network.network import Network  # noqa: PLC0415
    from tropicell.paper.example import walkthrough  # noqa: PLC0415

    if model is not None:
        return {model: load(model)}

    def random(sizes: list[int], skips: list[tuple[int, int]]) -> Network:
        rng = np.random.default_rng(0)
        shapes = list(pairwise(sizes))
        weights = [rng.uniform(-1, 1, (n, m)) / np.sqrt(m) for m, n in shapes]
        biases = [rng.uniform(-1, 1, n) / np.sqrt(m) for m, n in shapes]
        return Network.mlp(weights, biases, skips=skips)

    def normal(sizes: list[int], seed: int) -> Network:
        rng = np.random.default_rng(seed)
        drawn = [(rng.standard_normal((n, m)), rng.standard_normal(n)) for m, n in pairwise(sizes)]
        return Network.mlp([weights for weights, _ in drawn], [bias for _, bias in drawn])

    return {
        "the walkthrough, 2-2-2-1": walkthrough(),
        "random, 2-3-3-3-3-1": normal([2, 3, 3, 3, 3, 1], 4),
        "random, 2-4-4-4-1": random([2, 4, 4, 4, 1], []),
        "the same with skip 1→3": random([2, 4, 4, 4, 1], [(1, 3)]),
        "random, 2-16-16-1": random([2, 16, 16, 1], []),
    }


def _check_size(name: str, network: Network) -> None:
    """Refuse what rational arithmetic, region by region, would not finish today."""
    from tropicell.errors import IncompleteError  # noqa: PLC0415
    from tropicell.search.enumeration import count_regions  # noqa: PLC0415

    try:
        count_regions(network, max_regions=_MOST_REGIONS)
    except IncompleteError:
        raise InvalidInputError(
            f"{name}: all ways of Algorithm 2 are run in exact arithmetic, and this network has "
            f"more than {_MOST_REGIONS:,} regions; use a smaller network, its first layers, or a "
            "slice"
        ) from None


def _algorithm2(arguments: argparse.Namespace) -> int:
    from tropicell.paper.literal import gains  # noqa: PLC0415

    tables, found = [], {}
    for name, network in _networks(arguments.model).items():
        if arguments.model is not None:
            _check_size(name, network)
        rows = gains(network)
        found[name] = rows
        shown = [
            [
                row.name,
                *(f"{n:,}" if n else "–" for n in (row.calls, row.tests, row.questions)),
                "–" if row.seconds is None else f"{row.seconds:.3f}",
            ]
            for row in rows
        ]
        header = ["", "patterns tried", "emptiness tests", "corner questions", "seconds"]
        title = f"{name}: {rows[-1].regions:,} regions"
        tables.append(f"{title}\n{output.table(shown, header=header)}")
    if arguments.json:
        output.write_json({name: [vars(row) for row in rows] for name, rows in found.items()})
    else:
        output.write("\n\n".join(tables))
    return 0


def _tropical(arguments: argparse.Namespace) -> int:
    name, network = next(iter(_networks(arguments.model).items()))
    found = network.tropical(arguments.layer, cancel=arguments.cancel)
    if arguments.json:
        output.write_json({"network": name, "sizes": found.sizes})
        return 0
    if arguments.to is None:
        output.write(str(found))
        return 0
    if not found.output:
        raise InvalidInputError("--to writes the outputs: leave out --layer")
    output.write("\n".join(_written(found.output, arguments.to)))
    return 0


def _written(fractions: Any, to: str) -> list[str]:
    from tropicell.paper import notation  # noqa: PLC0415

    if to in ("text", "latex"):
        return [str(f) if to == "text" else f.latex() for f in fractions]
    write = getattr(notation, f"to_{to}")
    return [write(part) for f in fractions for part in (f.numerator, f.denominator)]
