"""How far is a point from the data? Neurons to flip, and the true path, in the plane.

    python examples/path_length.py [--out docs]

A network with a skip connection learns to tell two half moons apart. All its regions in a box
are enumerated, and each gets two numbers: the smallest number of neurons to flip to a region with
training data, and the smallest number of facets to cross to one. Both, and 1 - the largest softmax
probability, then tell fresh points of the moons from points all over the box. Writes a picture, and
the numbers between two marks of a page. Needs PyTorch and matplotlib.
"""

from __future__ import annotations

import argparse
from io import BytesIO
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from torch import nn

import tropicell as tc
from tropicell.regions.convert import polygons

BOX = tc.Box([-2.5, -2.5], [3.5, 3.0])
SIZES, SKIPS = [2, 16, 16, 16, 2], [(1, 3)]
SEEDS = 10
BEGIN, END = "<!-- paths: begin -->", "<!-- paths: end -->"


def moons(count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Two half circles that reach into each other, with noise."""
    angle = rng.uniform(0, np.pi, size=count)
    label = rng.integers(0, 2, size=count)
    x = np.where(label == 0, np.cos(angle), 1 - np.cos(angle))
    y = np.where(label == 0, np.sin(angle), 0.5 - np.sin(angle))
    return np.column_stack([x, y]) + rng.normal(size=(count, 2)) * 0.1, label


class SkipNetwork(nn.Module):
    """Layers of equal width; the output of layer k is added to the input of layer ℓ."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(m, n) for m, n in pairwise(SIZES))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        outputs = [x]
        for index, layer in enumerate(self.layers, start=1):
            extra = [outputs[k] for k, target in SKIPS if target == index]
            value = layer(sum(extra, outputs[-1]))
            outputs.append(value.relu() if index < len(self.layers) else value)
        return outputs[-1]


def train(points: np.ndarray, labels: np.ndarray, seed: int) -> tc.Network:
    """A network that tells the moons apart."""
    torch.manual_seed(seed)
    module = SkipNetwork()
    optimizer = torch.optim.Adam(module.parameters(), lr=0.01)
    x, y = torch.from_numpy(points).float(), torch.from_numpy(labels)
    for _ in range(500):
        optimizer.zero_grad()
        nn.functional.cross_entropy(module(x), y).backward()
        optimizer.step()
    return tc.from_torch(module, torch.zeros(1, 2))


def softmax_score(network: tc.Network, points: np.ndarray) -> np.ndarray:
    """1 - the larger of two probabilities."""
    logits = network(points)
    return 1 / (1 + np.exp(np.abs(logits[:, 0] - logits[:, 1])))


def measure(seed: int) -> tuple[dict[str, float], tc.Regions, np.ndarray, np.ndarray, np.ndarray]:
    """The numbers of one network; its regions with both distances; the data."""
    rng = np.random.default_rng(seed)
    points, labels = moons(300, rng)
    network = train(points, labels, seed)
    regions = tc.enumerate_regions(network, BOX)
    known = tc.DataRegions(network, points)
    paths, flips = known.path_lengths(regions), known.distance(regions.witnesses)
    fresh, _ = moons(2000, rng)
    around = rng.uniform(BOX.low, BOX.high, size=(2000, 2))
    numbers = {
        "regions": len(regions),
        "with data": len(known),
        "equal": float((paths == flips).mean()),
        "longest path": int(paths.max()),
        "most flips": int(flips.max()),
        "auroc path": tc.auroc(*(known.path_length(x, regions) for x in (fresh, around))),
        "auroc flips": tc.auroc(known.distance(fresh), known.distance(around)),
        "auroc softmax": tc.auroc(*(softmax_score(network, x) for x in (fresh, around))),
    }
    return numbers, regions, paths, flips, points


def picture(
    regions: tc.Regions, paths: np.ndarray, flips: np.ndarray, points: np.ndarray, path: Path
) -> None:
    """The regions of one network, coloured by both distances."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.collections import PolyCollection
    from PIL import Image

    fig, axes = plt.subplots(1, 2, figsize=(10, 4.4), sharey=True, layout="constrained")
    for ax, values, title in [
        (axes[0], flips, "neurons to flip to a region with data"),
        (axes[1], paths, "facets to cross to a region with data"),
    ]:
        cells = PolyCollection(
            polygons(regions), array=values, cmap="viridis", edgecolors="white", linewidths=0.3
        )
        cells.set_clim(0, max(paths.max(), flips.max()))
        ax.add_collection(cells)
        ax.plot(*points.T, ".", color="white", ms=6, mec="black", mew=0.5)
        ax.set(title=title, xlim=(BOX.low[0], BOX.high[0]), ylim=(BOX.low[1], BOX.high[1]))
        ax.set_aspect("equal")
    fig.colorbar(cells, ax=axes, shrink=0.9)
    buffer = BytesIO()
    fig.savefig(buffer, dpi=90)
    small = Image.open(buffer).convert("RGB").quantize(256, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


def table(rows: list[dict[str, float]]) -> str:
    """Mean and standard deviation of all numbers."""
    lines = ["| | mean | standard deviation |", "| --- | --- | --- |"]
    for name in rows[0]:
        values = [row[name] for row in rows]
        digits = 3 if max(values) <= 1 else 1
        lines.append(
            f"| {name} | {np.mean(values):.{digits}f} | {np.std(values, ddof=1):.{digits}f} |"
        )
    return f"{len(rows)} networks, each with its own data.\n\n" + "\n".join(lines)


def main() -> None:
    """Train, measure, draw, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("path-length"))
    folder = parser.parse_args().out
    (folder / "images").mkdir(parents=True, exist_ok=True)
    results = [measure(seed) for seed in range(SEEDS)]
    picture(*results[0][1:], folder / "images" / "path-length.png")
    text = table([numbers for numbers, *_ in results])
    print(text)
    page = folder / "out-of-distribution.md"
    if page.is_file():
        before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
        after = rest.partition(END)[2]
        page.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
