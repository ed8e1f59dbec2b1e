"""Do regions tell unusual inputs from usual ones? MNIST inside, other images outside.

    python examples/out_of_distribution.py --data DIR [--out DIR] [--quick]

`DIR` (or the variable TROPICELL_DATA) holds `mnist.npz` and, if they are there, `svhn_gray.npz` and
`cifar10_gray.npz`, each with uint8 arrays x_train, y_train, x_test, y_test. Fashion-MNIST is read
from the idx files of Debian's package dataset-fashion-mnist (`--fashion DIR` for another place).
`--quick` runs a small version in seconds. Results go to `--out`: all numbers as JSON, a picture,
and tables, which take the place of what is between two marks if the page is there already
(`--out docs` brings the docs page up to date). Needs PyTorch and matplotlib.

Networks are trained on MNIST as in the paper: inputs x / 127.5 - 1, batches of 64, Adam with
learning rate 5e-4, 5 epochs, every network with its own order. The score of an image is the number
of neurons to flip from its region to the nearest region with training data. It is compared with
the usual baseline, 1 - the largest softmax probability, and with one that needs no network: how
far the image's mean brightness is from that of MNIST. Images of 32 × 32 pixels are cropped to
the 28 × 28 in the middle.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
from dataclasses import dataclass
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy
from tqdm import tqdm

import tropicell as tc

FASHION = Path("/usr/share/datasets/fashion-mnist")
SCORES = {"flips": "neurons to flip", "softmax": "1 - max softmax", "brightness": "brightness"}
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"


@dataclass(frozen=True)
class Shape:
    """Hidden layers of equal width, with skips k→ℓ or without."""

    depth: int
    width: int
    skips: tuple[tuple[int, int], ...] = ()

    @property
    def size(self) -> str:
        return f"{self.depth}×{self.width}"

    @property
    def skip_text(self) -> str:
        return ", ".join(f"{k}→{layer}" for k, layer in self.skips) or "none"


SHAPES = [
    Shape(4, 8), Shape(4, 8, ((1, 3), (2, 4))),
    Shape(3, 16), Shape(3, 16, ((1, 3),)),
    Shape(3, 32), Shape(3, 32, ((1, 3),)),
    Shape(3, 128), Shape(3, 128, ((1, 3),)),
]  # fmt: skip


# --- data ---------------------------------------------------------------------------------------


def images(array: np.ndarray) -> np.ndarray:
    """The middle 28 × 28 pixels as rows of numbers from -1 to 1."""
    top = (array.shape[1] - 28) // 2
    cut = array[:, top : top + 28, top : top + 28]
    return cut.reshape(len(cut), -1).astype(np.float32) / 127.5 - 1


def read_idx(path: Path) -> np.ndarray:
    """Images of an idx file (28 × 28)."""
    with gzip.open(path) as stream:
        return np.frombuffer(stream.read(), np.uint8, offset=16).reshape(-1, 28, 28)


def outside_sets(folder: Path, fashion: Path) -> dict[str, np.ndarray]:
    """The data sets that the networks have not seen."""
    found = {}
    idx = fashion / "t10k-images-idx3-ubyte.gz"
    if idx.is_file():
        found["Fashion-MNIST"] = images(read_idx(idx))
    for name, file in [("SVHN", "svhn_gray.npz"), ("CIFAR-10", "cifar10_gray.npz")]:
        if (folder / file).is_file():
            found[name] = images(np.load(folder / file)["x_test"])
    return found


# --- training -----------------------------------------------------------------------------------


def train(shape: Shape, x: np.ndarray, y: np.ndarray, seeds: int, epochs: int) -> list[tc.Network]:
    """One network for each seed; they are trained together, side by side in one more dimension."""
    torch.manual_seed(1000 * shape.depth + shape.width + 7 * len(shape.skips))
    sizes = [x.shape[1], *[shape.width] * shape.depth, 10]
    weights, biases = [], []
    for m, n in pairwise(sizes):  # PyTorch's own start for nn.Linear
        bound = m**-0.5
        weights.append((torch.rand(seeds, m, n) * 2 - 1).mul_(bound).requires_grad_())
        biases.append((torch.rand(seeds, 1, n) * 2 - 1).mul_(bound).requires_grad_())
    optimizer = torch.optim.Adam([*weights, *biases], lr=5e-4, fused=True)
    inputs, targets = torch.from_numpy(x), torch.from_numpy(y.astype(np.int64))
    for _ in range(epochs):
        order = torch.stack([torch.randperm(len(x)) for _ in range(seeds)])
        for batch in order.split(64, dim=1):
            logits = forward(shape, weights, biases, inputs[batch])
            loss = cross_entropy(logits.flatten(0, 1), targets[batch].flatten(), reduction="none")
            optimizer.zero_grad(set_to_none=True)
            (loss.sum() / batch.shape[1]).backward()
            optimizer.step()
    return [
        tc.Network.mlp(
            [w[i].detach().double().numpy().T for w in weights],
            [b[i, 0].detach().double().numpy() for b in biases],
            skips=shape.skips,
        )
        for i in range(seeds)
    ]


def forward(
    shape: Shape, weights: list[torch.Tensor], biases: list[torch.Tensor], x: torch.Tensor
) -> torch.Tensor:
    """Logits of all networks, each at its own batch."""
    outputs = [x]
    for layer, (weight, bias) in enumerate(zip(weights, biases, strict=True), start=1):
        value = outputs[-1]
        for source, target in shape.skips:
            if target == layer:
                value = value + outputs[source]
        value = torch.baddbmm(bias, value, weight)
        outputs.append(value.relu() if layer <= shape.depth else value)
    return outputs[-1]


# --- scores -------------------------------------------------------------------------------------


def softmax_score(network: tc.Network, x: np.ndarray) -> np.ndarray:
    """1 - the largest probability, without cancellation where that is close to 1."""
    logits = network(x)
    best = logits.argmax(axis=1)
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    odds[np.arange(len(odds)), best] = 0.0
    return odds.sum(axis=1) / (1 + odds.sum(axis=1))


def measure(
    network: tc.Network, data: dict[str, Any], outside: dict[str, np.ndarray]
) -> dict[str, Any]:
    """Everything that is reported about one network."""
    known = tc.DataRegions(network, data["x_train"])
    mean = data["x_train"].mean()
    sets = {"MNIST": data["x_test"], **outside}
    flips = {name: known.distance(x) for name, x in sets.items()}
    scores = {
        "flips": flips,
        "softmax": {name: softmax_score(network, x) for name, x in sets.items()},
        "brightness": {name: abs(x.mean(axis=1) - mean) for name, x in sets.items()},
    }
    return {
        "accuracy": float((network(data["x_test"]).argmax(axis=1) == data["y_test"]).mean()),
        "data_regions": len(known),
        "in_data_regions": {name: float((d == 0).mean()) for name, d in flips.items()},
        "mean_flips": {name: float(d.mean()) for name, d in flips.items()},
        "auroc": {
            score: {name: tc.auroc(values["MNIST"], values[name]) for name in outside}
            for score, values in scores.items()
        },
        "histogram": {name: np.bincount(d).tolist() for name, d in flips.items()},
    }


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Train and measure all networks."""
    arrays = np.load(options.data / "mnist.npz")
    data = {key: images(arrays[key]) for key in ("x_train", "x_test")}
    data |= {key: arrays[key] for key in ("y_train", "y_test")}
    outside = outside_sets(options.data, options.fashion)
    shapes, epochs = SHAPES, 5
    if options.quick:
        shapes, epochs = SHAPES[:2], 1
        data = {key: values[:2000] for key, values in data.items()}
        outside = {name: x[:500] for name, x in outside.items()}
    rows = []
    for shape in tqdm(shapes, unit="row", disable=None):
        networks = train(shape, data["x_train"], data["y_train"], options.seeds, epochs)
        nets = [measure(network, data, outside) for network in networks]
        for net in nets[1:]:
            del net["histogram"]  # the picture shows one
        rows.append({"size": shape.size, "skips": shape.skip_text, "networks": nets})
    counts = {"train": len(data["x_train"]), "MNIST": len(data["x_test"])}
    return {
        "torch": torch.__version__,
        "epochs": epochs,
        "seeds": options.seeds,
        "images": counts | {name: len(x) for name, x in outside.items()},
        "rows": rows,
    }


# --- results ------------------------------------------------------------------------------------


def spread(values: list[float], digits: int) -> str:
    """Mean ± standard deviation."""
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return f"{np.mean(values):.{digits}f} ± {deviation:.{digits}f}"


def tables(results: dict[str, Any]) -> str:
    """The results as two Markdown tables."""
    sets = [name for name in results["images"] if name not in ("train", "MNIST")]
    lines = ["| network | skips | accuracy (%) | regions with training data |"]
    lines[0] += "".join(f" {name} in them (%) |" for name in ["MNIST", *sets])
    lines.append("| --- " * (4 + 1 + len(sets)) + "|")
    for row in results["rows"]:
        nets = row["networks"]
        cells = [row["size"], row["skips"], spread([100 * n["accuracy"] for n in nets], 1)]
        cells.append(f"{np.mean([n['data_regions'] for n in nets]):,.0f}")
        cells += [
            f"{np.mean([100 * n['in_data_regions'][name] for n in nets]):.1f}"
            for name in ["MNIST", *sets]
        ]
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "| network | skips | outside |" + "".join(f" {s} |" for s in SCORES.values())]
    lines.append("| --- " * (3 + len(SCORES)) + "|")
    for row in results["rows"]:
        for name in sets:
            cells = [row["size"], row["skips"], name]
            for score in SCORES:
                values = [n["auroc"][score][name] for n in row["networks"]]
                cells.append(f"{values[0]:.3f}" if score == "brightness" else spread(values, 3))
            lines.append(f"| {' | '.join(cells)} |")
    head = (
        f"{results['seeds']} networks a row, {results['epochs']} epochs; images: "
        + ", ".join(f"{count:,} {name}" for name, count in results["images"].items())
        + ". AUROC: mean ± standard deviation over the networks."
    )
    return "\n".join([head, "", *lines])


def picture(results: dict[str, Any], path: Path) -> None:
    """AUROC of the two scores for every kind of network, and how far the images are."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt
    from PIL import Image

    sets = [name for name in results["images"] if name not in ("train", "MNIST")]
    rows = results["rows"]
    fig, axes = plt.subplots(1, len(sets) + 1, figsize=(3.6 * (len(sets) + 1), 3.9))
    ticks = [f"{row['size']}{'' if row['skips'] == 'none' else ' +skips'}" for row in rows]
    for ax, name in zip(axes, sets, strict=False):
        for score, color, shift in [("flips", "C0", -0.12), ("softmax", "C1", 0.12)]:
            for i, row in enumerate(rows):
                values = [n["auroc"][score][name] for n in row["networks"]]
                label = SCORES[score] if i == 0 else None
                ax.plot(
                    values, [i + shift] * len(values), "o", c=color, ms=4, alpha=0.7, label=label
                )
        ax.axvline(0.5, color="0.6", lw=0.8, ls="--")
        ax.set(title=f"MNIST against {name}", xlabel="AUROC", yticks=range(len(rows)))
        ax.set_yticklabels(ticks if ax is axes[0] else [])
        ax.invert_yaxis()
    axes[0].legend(loc="best", fontsize=8)
    shown = rows[-1]
    for name in ["MNIST", *sets]:
        counts = np.array(shown["networks"][0]["histogram"][name], dtype=float)
        axes[-1].plot(counts / counts.sum(), drawstyle="steps-mid", label=name)
    axes[-1].set(
        title=f"{ticks[-1]}, one network", xlabel="neurons to flip", ylabel="part of images"
    )
    axes[-1].legend(fontsize=8)
    fig.tight_layout()
    buffer = BytesIO()
    fig.savefig(buffer, dpi=80)
    small = Image.open(buffer).convert("RGB").quantize(64, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


def write(results: dict[str, Any], folder: Path) -> None:
    """Numbers, picture and page."""
    (folder / "images").mkdir(parents=True, exist_ok=True)
    rows = results["rows"]
    head = json.dumps({**results, "rows": []}, ensure_ascii=False).removesuffix("]}")
    lines = [json.dumps(row, ensure_ascii=False).replace("}, {", "},\n  {") for row in rows]
    text = head + "\n" + ",\n".join(lines) + "\n]}\n"
    (folder / "out-of-distribution.json").write_text(text, encoding="utf-8")
    picture(results, folder / "images" / "out-of-distribution.png")
    page = folder / "out-of-distribution.md"
    before, _, rest = (
        page.read_text(encoding="utf-8").partition(BEGIN) if page.is_file() else [""] * 3
    )
    after = rest.partition(END)[2]
    tidy = f"{before}{BEGIN}\n\n{tables(results)}\n\n{END}{after or chr(10)}"
    page.write_text(tidy, encoding="utf-8")


def main() -> None:
    """Read the options, run, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    place = os.environ.get("TROPICELL_DATA")
    parser.add_argument("--data", type=Path, default=place, required=place is None)
    parser.add_argument("--fashion", type=Path, default=FASHION)
    parser.add_argument("--out", type=Path, default=Path("out-of-distribution"))
    parser.add_argument("--seeds", type=int, default=5, help="networks of each kind")
    parser.add_argument("--quick", action="store_true", help="a small version, in seconds")
    options = parser.parse_args()
    write(run(options), options.out)


if __name__ == "__main__":
    main()
