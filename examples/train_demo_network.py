"""Train the small network with skip connections that `make demo` uses.

    python examples/train_demo_network.py src/tropicell/cli/data/demo_network.npz

It learns the ripple sin(r) / r (the paper's φ2, with its limit 1 at the origin) on [-10, 10]².
Needs PyTorch. The result is written in the plain layout that `tropicell.load` reads.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from torch import nn

DEPTH, WIDTH = 5, 10
SKIPS = [(1, 3), (2, 4)]
EPOCHS = 6000


class SkipNetwork(nn.Module):
    """Layers of equal width; the output of layer k is added to the input of layer ℓ."""

    def __init__(self) -> None:
        super().__init__()
        sizes = [2, *[WIDTH] * DEPTH, 1]
        self.layers = nn.ModuleList(nn.Linear(m, n) for m, n in pairwise(sizes))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        outputs = [x]
        for index, layer in enumerate(self.layers, start=1):
            value = outputs[-1]
            for source, target in SKIPS:
                if target == index:
                    value = value + outputs[source]
            value = layer(value)
            outputs.append(torch.relu(value) if index <= DEPTH else value)
        return outputs[-1]


def ripple(points: torch.Tensor) -> torch.Tensor:
    """sin(r) / r, which is 1 at the origin."""
    return torch.sinc(points.norm(dim=1, keepdim=True) / torch.pi)


def train() -> SkipNetwork:
    torch.manual_seed(1)
    axis = torch.arange(-10, 10.01, 0.25)
    points = torch.cartesian_prod(axis, axis)
    targets = ripple(points)
    network = SkipNetwork()
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
    for epoch in range(EPOCHS):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(network(points), targets)
        loss.backward()
        optimizer.step()
        schedule.step()
        if epoch % 1000 == 0 or epoch == EPOCHS - 1:
            print(f"epoch {epoch}: mean squared error {loss.item():.2e}")
    return network


def main(path: Path) -> None:
    arrays: dict[str, np.ndarray] = {"skips": np.array(SKIPS)}
    for index, layer in enumerate(train().layers):
        arrays[f"W{index}"] = layer.weight.detach().double().numpy()
        arrays[f"b{index}"] = layer.bias.detach().double().numpy()
    np.savez_compressed(path, **arrays)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
