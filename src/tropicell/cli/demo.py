"""The demo: all regions of a small trained network with skip connections, in a picture and a page.

Run it with ``python -m tropicell.cli.demo``.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np

from tropicell._runtime.durable import replacing
from tropicell._runtime.paths import make_folder
from tropicell.errors import require
from tropicell.explorer import explore
from tropicell.geometry.arithmetic import to_floats
from tropicell.importers.files import load
from tropicell.network.domains import Box
from tropicell.network.network import Network
from tropicell.plotting import plot_regions
from tropicell.regions.regions import Regions
from tropicell.search.enumeration import enumerate_regions

DOMAIN = Box(-10, 10)


def demo_network() -> Network:
    """The bundled network: 5 layers of 10 neurons, skips 1→3 and 2→4, trained on sin(r)/r.

    Examples
    --------
    >>> demo_network()
    Network(2 → 10 → 10 → 10 → 10 → 10 → 1, skips 1→3, 2→4)
    """
    with as_file(files("tropicell.cli") / "data" / "demo_network.npz") as path:
        return load(path)


def summary(regions: Regions) -> str:
    """A few lines about regions, with a check against the network's own forward pass."""
    network = regions.network
    witnesses = to_floats(regions.witnesses)
    agree = int((network.patterns(witnesses) == regions.patterns).all(axis=1).sum())
    points = np.random.default_rng(0).uniform(-10, 10, size=(100_000, 2))
    hit = len(np.unique(network.patterns(points), axis=0))
    return "\n".join(
        [
            network.diagram(),
            "",
            f"{len(regions)} linear regions in {regions.domain}, found in "
            f"{1000 * regions.stats['seconds']:.1f} ms ({regions.stats['engine']} engine, exact)",
            f"{agree} of {len(regions)} witnesses have their region's pattern in a forward pass",
            f"{hit} of them are hit by {len(points):,} random points",
        ]
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Enumerate, print a summary, write a picture and an explorer page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("demo-output"), help="folder to write to")
    out: Path = parser.parse_args(arguments).out
    require("matplotlib", extra="plot", why="the demo's picture").use("Agg")
    pyplot = require("matplotlib.pyplot", extra="plot", why="the demo's picture")
    regions = enumerate_regions(demo_network(), DOMAIN)
    print(summary(regions))
    make_folder(out)
    picture = out / "regions.png"
    ax = plot_regions(regions, color="value", colorbar=False)
    ax.set_title(f"{len(regions)} linear regions, 5 × 10 neurons, skips 1→3 and 2→4")
    with replacing(picture) as temporary:
        pyplot.savefig(temporary, dpi=200, bbox_inches="tight")
    print(f"picture: {picture}")
    print(f"explorer: {explore(regions, out / 'explorer.html')} (open it in a browser)")
    print("live: tropicell play (train a network and watch its regions; needs the extra 'play')")


if __name__ == "__main__":
    main()
