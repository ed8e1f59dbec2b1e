"""Planes through the input space of a convolutional network with residual blocks."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from tropicell import Box, Slice, enumerate_regions, from_torch


class Block(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + self.second(torch.relu(self.first(x))))


def residual_cnn() -> nn.Module:
    torch.manual_seed(0)
    return (
        nn.Sequential(
            nn.Conv2d(1, 4, 3, stride=2, padding=1),
            nn.ReLU(),
            Block(4),
            nn.Conv2d(4, 6, 3, stride=2, padding=1),
            nn.ReLU(),
            Block(6),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(6, 10),
        )
        .double()
        .eval()
    )


def test_plane_through_three_images() -> None:
    module = residual_cnn()
    network = from_torch(module, torch.zeros(1, 1, 28, 28, dtype=torch.float64))
    assert network.n_neurons > 3000
    rng = np.random.default_rng(0)
    base = rng.uniform(-1, 1, size=(28, 28))
    images = base + 0.05 * rng.normal(size=(3, 28, 28))
    plane = Slice.through(images, inside=Box(0, 1))
    regions = enumerate_regions(network, plane)
    assert regions.complete
    assert len(regions) > 1000
    np.testing.assert_allclose(regions.volumes.sum(), 1.0, rtol=1e-9)
    t = rng.uniform(0, 1, size=(1000, 2))
    found = regions.locate(t)
    assert (found >= 0).all()
    maps = regions.affine_maps[found]
    values = np.einsum("nod,nd->no", maps[:, :, :-1], t) + maps[:, :, -1]
    with torch.no_grad():
        points = torch.from_numpy(plane.embed(t)).reshape(-1, 1, 28, 28)
        np.testing.assert_allclose(values, module(points).numpy(), rtol=1e-9, atol=1e-9)
