"""Draw the images of the pages; run it with ``python docs/make_pictures.py``."""

from __future__ import annotations

import re
from io import BytesIO
from itertools import pairwise
from pathlib import Path

import matplotlib as mpl
import numpy as np
from PIL import Image

import tropicell as tc
from tropicell import plotting
from tropicell.demo import DOMAIN, demo_network

mpl.use("Agg")

FOLDER = Path(__file__).parent / "images"


def random_network(sizes: list[int], seed: int, **options: object) -> tc.Network:
    """A network with normally distributed weights."""
    rng = np.random.default_rng(seed)
    pairs = list(pairwise(sizes))
    weights = [rng.normal(size=(n, m)) * np.sqrt(2 / m) for m, n in pairs]
    return tc.Network.mlp(weights, [rng.normal(size=n) for _, n in pairs], **options)


def walkthrough(bias: list[float]) -> tc.Network:
    """The network of the paper's walkthrough with one of two biases of layer 2."""
    weights = [[[-4, 1], [-4, -1]], [[-8, 3], [-21 / 4, 19 / 4]], [[1, 1]]]
    return tc.Network.mlp(weights, [[2, 3], bias, [0]])


def save(axes: object, name: str) -> None:
    """Write the figure of some axes as a small PNG."""
    ax = np.ravel(axes)[0]
    buffer = BytesIO()
    ax.figure.savefig(buffer, dpi=90)
    small = Image.open(buffer).convert("RGB").quantize(256, dither=Image.Dither.NONE)
    small.save(FOLDER / f"{name}.png", optimize=True)
    print(f"{name}.png")


def start() -> object:
    """What the first example of docs/start.md draws."""
    page = (Path(__file__).parent / "start.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    drawing = next(block for block in blocks if "plot_regions" in block)
    names: dict[str, object] = {}
    exec(blocks[0] + drawing.replace("axes.figure.savefig", "str"), names)
    return names["axes"]


def main() -> None:
    """All pictures."""
    save(start(), "start")
    regions = tc.enumerate_regions(demo_network(), DOMAIN)
    for color in ("pattern", "value", "gradient", "area", "neighbours"):
        save(plotting.plot_regions(regions, color=color), f"regions-{color}")
    save(plotting.plot_boundaries(regions), "boundaries")
    save(plotting.plot_surface(regions), "surface")

    classifier = random_network([2, 8, 8, 2], seed=2)
    everywhere = tc.enumerate_regions(classifier)
    points = np.random.default_rng(0).normal(size=(80, 2))
    labels = classifier(points).argmax(axis=1)
    window = tc.Box(-4, 4)
    ax = plotting.plot_regions(everywhere, window=window, points=points, labels=labels)
    save(plotting.plot_decision_boundary(everywhere, ax, window=window), "decision-boundary")

    curve = random_network([1, 8, 8, 2], seed=4)
    save(plotting.plot_function(curve, window=tc.Box(-3, 3)), "function")
    save(plotting.plot_slices(random_network([3, 6, 6, 1], seed=1), tc.Box(-2, 2)), "slices")
    save(plotting.plot_walkthrough(walkthrough([3, -11 / 4]), "11|10"), "walkthrough")
    save(plotting.plot_walkthrough(walkthrough([-4, 1]), "11|10"), "walkthrough-printed")


if __name__ == "__main__":
    main()
